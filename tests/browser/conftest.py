"""A real Chromium, and servers to look at with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading

import pytest
from tests.unit.web.conftest import texts_and_topics, wait

from dcot.web.api import label_app
from dcot.web.documents import Documents
from dcot.web.explore.api import explore_app
from dcot.web.labels import LabelStore
from dcot.web.security import Access
from dcot.web.server import listen, serve, server_of
from dcot.web.session import Session
from dcot.web.space import learn_space

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def browser():
    """Chromium. Not for the whole session: other tests need playwright's event loop to be gone."""
    missing = pytest.fail if os.environ.get("CI") else pytest.skip  # CI has to run these tests
    try:
        import playwright.sync_api as playwright
    except ImportError:
        missing("playwright is not installed: pip install playwright")
    path = chromium()
    if path is None:
        missing("no Chromium here: apt-get install chromium, or set CHROMIUM to its path")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=path, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture
def page(browser):
    """A new page; errors of its scripts, and anything it asks of another host, fail the test."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    found = context.new_page()
    found.set_default_timeout(40_000)
    wrong: list[str] = []
    watch(found, wrong)
    yield found
    context.close()
    assert not wrong, wrong


def watch(page, wrong):
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))

    def check(request):
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:", "file:")):
            wrong.append(f"asked for {request.url}")

    page.on("request", check)


@pytest.fixture(scope="session")
def corpus():
    texts, topics = texts_and_topics()
    return Documents.of(texts, name="news"), topics


@pytest.fixture(scope="session")
def space(corpus):
    return learn_space(corpus[0].texts)


class Running:
    """A labelling server in a thread."""

    def __init__(self, session):
        self.session = session
        self.listening = listen("127.0.0.1", 0)
        self.access = Access(port=self.listening.getsockname()[1])
        self.server = server_of(label_app(session, self.access))
        self.thread = threading.Thread(target=serve, args=(self.server, self.listening))
        session.start()
        self.thread.start()
        wait(lambda: self.server.started and (session.learned.plan or session.phase == "wordless"))

    @property
    def address(self):
        return self.access.address

    def at(self, path):
        """The address of a view, with the token."""
        return self.address.replace("/?", f"{path}?")

    def stop(self):
        self.server.should_exit = True
        self.thread.join()
        self.listening.close()
        self.session.close()


@pytest.fixture
def serving(corpus, space, tmp_path):
    """Starts a server for a corpus, by default the small one."""
    started = []

    def start(documents=None, known=None, **options):
        documents = documents or corpus[0]
        store = LabelStore(tmp_path / "labels.csv", documents)
        own = known or (space if documents is corpus[0] else learn_space(documents.texts))
        own = None if "given" in options else own
        session = Session(documents, store, tmp_path / "model", space=own, **options)
        started.append(Running(session))
        return started[-1]

    yield start
    for one in started:
        one.stop()


class Exploring:
    """An exploring server in a thread."""

    def __init__(self, explorer):
        self.explorer = explorer
        self.listening = listen("127.0.0.1", 0)
        self.access = Access(port=self.listening.getsockname()[1])
        self.server = server_of(explore_app(explorer, self.access))
        self.thread = threading.Thread(target=serve, args=(self.server, self.listening))
        self.thread.start()
        wait(lambda: self.server.started)

    def at(self, path):
        """The address of a view, with the token."""
        mark = "&" if "?" in path else "?"
        return f"http://127.0.0.1:{self.access.port}{path}{mark}token={self.access.token}"

    def stop(self):
        self.server.should_exit = True
        self.thread.join()
        self.listening.close()


@pytest.fixture(scope="module")
def exploring():
    """Starts servers for explorers."""
    started = []

    def start(explorer):
        started.append(Exploring(explorer))
        return started[-1]

    yield start
    for one in started:
        one.stop()


class Command:
    """A command that serves a page, in a process of its own."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dcot", *arguments, "--no-open"],
            cwd=folder,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = ""
        for line in self.process.stderr:
            if found := re.search(r"http://\S+", line):
                self.address = found.group()
                break

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def command(tmp_path):
    """Starts ``dcot label``, or another command that serves a page, in an empty folder."""
    started = []

    def start(*arguments, name="label"):
        started.append(Command(tmp_path, name, *arguments))
        assert started[-1].address, started[-1].process.communicate()
        return started[-1]

    yield start
    for one in started:
        one.kill()
