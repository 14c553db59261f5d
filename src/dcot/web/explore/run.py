"""Serve the exploring page."""

from __future__ import annotations

from collections.abc import Callable

from dcot.web.explore.api import ExploreApi
from dcot.web.explore.explorer import Explorer
from dcot.web.security import Access, App
from dcot.web.server import application, listen, serve, server_of

VIEWS = ("/", "/write", "/words", "/map", "/documents", "/model")


def explore_app(explorer: Explorer, access: Access) -> App:
    """The application for an explorer."""
    return application(ExploreApi(explorer).operations(), "explore.html", VIEWS, access)


def run_explore(
    explorer: Explorer,
    host: str = "127.0.0.1",
    port: int | None = None,
    ready: Callable[[Access], None] = lambda access: None,
) -> None:
    """Serve the page until interrupted; ``ready`` is called when it can be opened."""
    listening = listen(host, port)
    try:
        access = Access(host, listening.getsockname()[1])
        explorer.start()
        serve(server_of(explore_app(explorer, access)), listening, lambda: ready(access))
    finally:
        explorer.close()
        listening.close()
