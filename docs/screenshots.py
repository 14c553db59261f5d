"""Make the pictures of the pages in the documentation: ``python docs/screenshots.py``.

The corpus is the one that dcot ships, its own labels answer, and the seed is fixed, so the pictures
change only when the pages do. Needs Chromium and the extra ``dev``.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from dcot import datasets
from dcot.web.api import label_app
from dcot.web.documents import Documents
from dcot.web.explore.api import explore_app
from dcot.web.explore.explorer import Explorer
from dcot.web.explore.subject import Corpus, learn_subject
from dcot.web.labels import LabelStore
from dcot.web.security import Access
from dcot.web.server import listen, serve, server_of
from dcot.web.session import Session

IMAGES = Path(__file__).parent / "images"
TOPICS = ("banking", "cinema", "cooking", "energy", "farming", "football", "weather")
LABELS = 80
CONFIDENT = 60  # percent: a picture of a typical document, not of a doubtful one


def label_pictures(folder: Path) -> None:
    corpus = datasets.load("everyday")
    pairs = [(text, str(name)) for text, name in zip(corpus.texts, corpus.labels, strict=True)]
    pairs = [(text, name) for text, name in pairs if name in TOPICS]
    documents = Documents.of([text for text, _ in pairs], name="everyday.csv")
    truth = [name for _, name in pairs]
    store = LabelStore(folder / "labels.csv", documents)
    session = Session(documents, store, folder / "model", TOPICS)
    session.start()
    while session.phase == "learning":
        time.sleep(0.1)
    while len(session.labels) < LABELS:
        for row, how in session.next_rows("pictures", 5):
            session.label({row: truth[row]}, how)
        while session.learned.revision < session._revision:
            time.sleep(0.05)
    listening = listen("127.0.0.1", 0)
    access = Access(port=listening.getsockname()[1])
    server = server_of(label_app(session, access))
    thread = threading.Thread(target=serve, args=(server, listening))
    thread.start()
    try:
        take_pictures(access.address)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
        session.close()


def take_pictures(address: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--headless", "--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 820})
        page.goto(address)
        page.locator(".prediction b").wait_for()
        page.locator(".chart").wait_for()
        while int(page.locator(".prediction .muted").inner_text().split()[0]) < CONFIDENT:
            page.keyboard.press("s")
            page.wait_for_timeout(400)
        page.wait_for_timeout(1500)
        page.screenshot(path=IMAGES / "label.png")
        page.goto(re.sub(r"/\?.*", "/doubtful", address))
        page.locator("article").first.wait_for()
        page.screenshot(path=IMAGES / "label-doubtful.png")
        browser.close()


def explore_pictures() -> None:
    corpus = datasets.load("everyday")
    known = np.random.default_rng(0).random(len(corpus.labels)) < 0.5
    labels = [
        str(name) if has else None for name, has in zip(corpus.labels, known.tolist(), strict=True)
    ]
    documents = Documents.of(list(corpus.texts), name="everyday.csv")
    explorer = Explorer(learn_subject(Corpus(documents, labels)))
    explorer.prepare()
    listening = listen("127.0.0.1", 0)
    access = Access(port=listening.getsockname()[1])
    server = server_of(explore_app(explorer, access))
    thread = threading.Thread(target=serve, args=(server, listening))
    thread.start()
    views = {
        "write": "/write?text=The+referee+blew+the+whistle+after+the+storm",
        "words": "/words?word=goal&beside=rain",
        "map": "/map",
        "documents": "/documents?q=penalty+for+the+home+team",
        "model": "/model",
    }
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--headless", "--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1280, "height": 820})
            page.goto(access.address)
            for name, path in views.items():
                page.goto(f"http://127.0.0.1:{access.port}{path}")
                page.wait_for_load_state("networkidle")
                page.wait_for_timeout(500)
                page.screenshot(path=IMAGES / f"explore-{name}.png")
            browser.close()
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


if __name__ == "__main__":
    explore_pictures()
    with tempfile.TemporaryDirectory() as temporary:
        label_pictures(Path(temporary))
