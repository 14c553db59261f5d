"""A small corpus of two topics, and sessions on it."""

from __future__ import annotations

import asyncio
import time

import pytest

from dcot.web.api import label_app
from dcot.web.documents import Documents
from dcot.web.labels import LabelStore
from dcot.web.security import Access
from dcot.web.session import Session
from dcot.web.space import learn_space

OIL = ["crude oil prices rose", "opec cut its oil output", "oil exports of opec", "barrel of crude"]
GRAIN = ["wheat harvest in kansas", "corn and wheat exports", "grain harvest fell", "corn prices"]


def texts_and_topics(copies: int = 12):
    texts, topics = [], []
    for copy in range(copies):
        for topic, own in (("oil", OIL), ("grain", GRAIN)):
            texts += [f"{text} on day {copy}" for text in own]
            topics += [topic] * len(own)
    return texts, topics


@pytest.fixture(scope="session")
def corpus():
    texts, topics = texts_and_topics()
    return Documents.of(texts, name="news"), topics


@pytest.fixture(scope="session")
def space(corpus):
    return learn_space(corpus[0].texts)


@pytest.fixture
def session(corpus, space, tmp_path):
    """A session whose representation is there; its background thread is not running."""
    store = LabelStore(tmp_path / "labels.csv", corpus[0])
    session = Session(corpus[0], store, tmp_path / "model", space=space)
    session.phase = "ready"
    yield session
    session.close()


@pytest.fixture
def running(session):
    """The same with the background thread."""
    session.start()
    wait(lambda: session.learned.plan)
    return session


def wait(condition, seconds=60.0):
    """Until a condition holds; what it gives."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
    return found


class Client:
    """Requests to an application without a socket between."""

    def __init__(self, app, access, headers):
        httpx = pytest.importorskip("httpx")
        self.access = access
        self.runner = asyncio.Runner()
        transport = httpx.ASGITransport(app)
        self.client = httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8765", headers=headers
        )

    def request(self, method, path, **options):
        return self.runner.run(self.client.request(method, path, **options))

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)

    def close(self):
        self.runner.run(self.client.aclose())
        self.runner.close()


@pytest.fixture
def client_of():
    """Makes clients of a session, with or without the token."""
    made = []

    def make(session, token=True):
        access = Access(port=8765)
        headers = {"authorization": f"Bearer {access.token}"} if token else {}
        made.append(Client(label_app(session, access), access, headers))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(session, client_of):
    return client_of(session)
