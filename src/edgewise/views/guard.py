"""Who may ask the server: this machine, this page, with this start's token; others are refused before any work."""

import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["Guard", "refusal"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LARGEST = 1 << 20
"""Bytes of a request's body."""
NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
# The page shows what a model says of any text: nothing in it may load or send anything.
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data: blob:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Guard:
    """An application behind its door.

    Args:
        inner: what answers those who may ask.
        token: what a request must carry: in the address of the page, in a header of everything under /api.
    """

    def __init__(self, inner: Any, token: str) -> None:
        self._inner, self._token = inner, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._inner(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is not None:
            await refusal(send, *refused)
            return
        await self._inner(scope, receive, _with_headers(send))

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        if urlsplit(f"//{host}").hostname not in NAMES:
            return 403, f"this server answers as localhost alone; asked as {host!r}"
        origin = headers.get(b"origin")
        if origin is not None and origin != f"http://{host}":
            return 403, f"this server answers its own page alone; asked from {origin!r}"
        if headers.get(b"sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "this server answers its own page alone; asked from another site"
        length = headers.get(b"content-length", "0")
        if not length.isdigit() or int(length) > LARGEST or b"transfer-encoding" in headers:
            return 413, f"a request has at most {LARGEST:,} bytes, told in advance"
        if scope["path"].startswith("/static/"):
            return None
        if scope["path"].startswith("/api/"):
            given = headers.get(b"x-edgewise-token", "")
        else:
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            return 403, "wanted the token of this start: open the address that edgewise view printed"
        return None


async def refusal(send: Send, status: int, why: str) -> None:
    """Answer with an error, as JSON."""
    body = json.dumps({"error": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
        await send(message)

    return sending
