"""Who may access the server, and what a browser may do with the pages.

The server listens on this computer only, unless asked otherwise. Other pages that the same browser
shows could still send requests to it, so every request is checked: the Host header (against DNS
rebinding), the Origin header (against other sites), and a secret token. The token is in the
address that is opened; a cookie then takes its place.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_BODY_BYTES = 64 << 20
MAX_SECONDS = 60.0

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Access:
    """Where the server listens, and the token that grants access."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def loopback(self) -> bool:
        return self.host in LOOPBACK

    @property
    def cookie(self) -> str:
        """Cookies are shared by all ports of a host, so the name has the port."""
        return f"dcot-{self.port}"

    @property
    def address(self) -> str:
        """What to open in a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        if self.host in ("0.0.0.0", "::"):
            host = "127.0.0.1"
        return f"http://{host}:{self.port}/?token={self.token}"

    def knows_host(self, header: str) -> bool:
        """Whether a Host header names this server.

        >>> Access(port=80).knows_host("localhost:80"), Access(port=80).knows_host("evil.org:80")
        (True, False)
        """
        try:
            parts = urlsplit(f"//{header}")
            name, port = parts.hostname, parts.port or 80
        except ValueError:
            return False
        if port != self.port or name is None:
            return False
        return name in (*LOOPBACK, self.host) or not self.loopback

    def admits(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


class Guard:
    """Checks every request before the application sees it, and limits size and time."""

    def __init__(self, app: App, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if scope["method"] == "GET" and any(name == "token" for name, _ in query):
            await self._move_token_to_cookie(scope, send, query)
            return
        await self._limited(scope, receive, send)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        access = self.access
        host = headers.get("host", "")
        if not access.knows_host(host):
            return 421, "this server does not have that name"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return 403, "requests from other sites are refused"
        elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if elsewhere and (scope["method"] != "GET" or scope["path"].startswith("/api")):
            return 403, "requests from other sites are refused"
        if not any(access.admits(given) for given in _tokens(scope, headers, access.cookie)):
            return 401, "open the address that the command printed: it has a token"
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > MAX_BODY_BYTES:
            return 413, f"a request has at most {MAX_BODY_BYTES:,} bytes"
        return None

    async def _move_token_to_cookie(
        self, scope: Scope, send: Send, query: list[tuple[str, str]]
    ) -> None:
        """Send the browser to the same address without the token, which then is not shared."""
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        path = "/" + scope["path"].lstrip("/")  # never another host
        target = quote(path) + (f"?{rest}" if rest else "")
        cookie = f"{self.access.cookie}={self.access.token}; HttpOnly; SameSite=Lax; Path=/"
        await _answer(send, 303, "", {"location": target, "set-cookie": cookie})

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        size, started = 0, False

        async def counted() -> MutableMapping[str, Any]:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MAX_BODY_BYTES:
                raise _TooLargeError
            return message

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message["headers"], *_raw(HEADERS)]
            await send(message)

        try:
            async with asyncio.timeout(MAX_SECONDS):
                await self.app(scope, counted, with_headers)
        except TimeoutError:
            if not started:
                await _answer(send, 503, f"no answer within {MAX_SECONDS:.0f} seconds")
        except _TooLargeError:
            if not started:
                await _answer(send, 413, f"a request has at most {MAX_BODY_BYTES:,} bytes")


class _TooLargeError(Exception):
    pass


def _tokens(scope: Scope, headers: dict[str, str], cookie: str) -> list[str]:
    """Every token that a request gives: in its address, its cookies, or its authorization."""
    query = parse_qsl(scope["query_string"].decode("latin-1"))
    given = [value for name, value in query if name == "token"]
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        given.append(value.strip())
    # Other servers on this computer share the cookies, and http.cookies gives up at odd ones.
    cookies = (one.partition("=") for one in headers.get("cookie", "").split(";"))
    return given + [value.strip() for name, _, value in cookies if name.strip() == cookie]


async def _answer(
    send: Send, status: int, message: str, headers: dict[str, str] | None = None
) -> None:
    body = message.encode()
    about_body = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body))}
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": _raw({**HEADERS, **about_body, **(headers or {})})})
    await send({"type": "http.response.body", "body": body})


def _raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
