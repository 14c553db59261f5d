"""The server of a page: its application, its address, and running it until it is stopped."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Sequence
from importlib.resources import files

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dcot.errors import InvalidParameterError, OutputError
from dcot.runtime.resources import one_thread_each
from dcot.web.routes import Operation, routes
from dcot.web.security import Access, App, Guard

DEFAULT_PORT = 8765
SWITCH_SECONDS = 0.0005
_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


def application(
    operations: Sequence[Operation], page: str, views: Sequence[str], access: Access
) -> App:
    """A page with views and an API.

    Parameters
    ----------
    operations : of the API
    page : name of the HTML file among the static ones
    views : paths that all show the page, which reads its own address
    access : who may talk to it
    """
    static = _static_files()
    html = static[page][0]

    async def shown(request: Request) -> Response:
        return Response(html, media_type="text/html")

    async def asset(request: Request) -> Response:
        found = static.get(request.path_params["name"])
        if found is None:
            return Response("not found", 404, media_type="text/plain")
        return Response(found[0], media_type=found[1])

    app = Starlette(
        routes=[
            *(Route(view, shown, methods=["GET"]) for view in views),
            Route("/static/{name}", asset, methods=["GET"]),
            *routes(operations),
        ]
    )
    return Guard(app, access)


def _static_files() -> dict[str, tuple[bytes, str]]:
    """Every static file, read once: no path of a request touches the file system."""
    found = {}
    for entry in files("dcot.web").joinpath("static").iterdir():
        ending = "." + entry.name.rpartition(".")[2]
        if ending in _TYPES:
            found[entry.name] = (entry.read_bytes(), _TYPES[ending])
    return found


def listen(host: str, port: int | None) -> socket.socket:
    """A socket that listens there; None takes the usual port, or a free one if that is in use."""
    if not host:  # would be every address of this computer
        raise InvalidParameterError("host is empty: name an address, such as 127.0.0.1")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    wanted = [DEFAULT_PORT, 0] if port is None else [port]
    # elsewhere the port of a server that has just ended is free again; on Windows, SO_REUSEADDR
    # would let two servers listen on the same port
    reuse = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
    for number in wanted:
        # asyncio sends small answers at once (TCP_NODELAY) only if the protocol is named here
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, reuse, 1)
        try:
            found.bind((host, number))
            found.listen(128)
        except socket.gaierror as error:
            found.close()
            raise InvalidParameterError(
                f"host {host!r} is not an address of this computer: {error.strerror}"
            ) from error
        except (OSError, OverflowError) as error:
            found.close()
            if number == wanted[-1]:
                raise OutputError(
                    f"cannot listen on {host}, port {number}: {error}; choose another port, or 0 "
                    "for any that is free"
                ) from error
        else:
            return found
    raise AssertionError("one of the ports was tried last")


def server_of(app: App) -> uvicorn.Server:
    """A server that logs only errors."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=3,
        lifespan="off",
        ws="none",
    )
    return uvicorn.Server(config)


def serve(
    server: uvicorn.Server, listening: socket.socket, ready: Callable[[], None] = lambda: None
) -> None:
    """Answer requests until interrupted; ``ready`` is called when the server is ready.

    A request is handed from thread to thread a few times. Each time it may wait for a thread that
    computes in Python: 5 ms by default, much less here. Answers and the work in the background are
    computed at the same time, each on one thread.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)

    async def run() -> None:
        task = asyncio.ensure_future(server.serve(sockets=[listening]))
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        if server.started:
            ready()
        await task

    try:
        with one_thread_each():
            asyncio.run(run())
    finally:
        sys.setswitchinterval(before)
