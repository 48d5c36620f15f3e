"""Lets in who may look, and keeps out the other pages of the same browser.

Theory. The server listens on this machine only, but every page that a browser shows may send requests to it. So:

- The ``Host`` must be one that the server was started under. A page that has rebound its own name to 127.0.0.1 sends
  its own name.
- A caller must have a key (``keys``), which is given for the token in the printed address. That request answers with
  a redirect, so that the token stays in no history. The key is a cookie that is ``SameSite=Strict``, cannot be read by
  a script, and is of an address at which nothing else is served (``keys``).
- A write must name this server as its ``Origin`` and carry the form's own token.
- A page may load nothing but what this server sends it, runs no inline script and stands in no other page's frame.

It knows of no session or task.
"""

import hmac
from collections.abc import Collection
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from musician.web.keys import Keys, digest

ENTRANCE = "/enter"
READS = frozenset({"GET", "HEAD"})

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # with no-referrer, a form's Origin is null
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_IN_SCOPE = "musician.form"
_COOKIE_S = 30 * 24 * 3600


class Guard:
    """ASGI middleware. Whoever knows the ``token`` may enter, and gets a key of their own."""

    def __init__(
        self, app: ASGIApp, *, keys: Keys, token: str, port: int, hosts: Collection[str], read_only: bool
    ) -> None:
        self._app, self._keys, self.token, self._read_only = app, keys, token, read_only
        self._hosts = frozenset(f"{host}:{port}" for host in hosts)
        self._cookie = f"musician-{port}"  # cookies know no ports: two servers would share one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        key = self._key(Headers(scope=scope))
        answer = self._entrance(scope) or self._refusal(scope, key)
        scope[_IN_SCOPE] = digest(key, "form")
        await (answer or self._app)(scope, receive, send_guarded)

    def _entrance(self, scope: Scope) -> RedirectResponse | None:
        """Return the answer that gives a key; None for any other request, or a wrong token."""
        if scope["path"] != ENTRANCE or not self._is_host(scope):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return None
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(
            self._cookie, self._keys.mint(), max_age=_COOKIE_S, httponly=True, samesite="strict", path="/"
        )
        return answer

    def _refusal(self, scope: Scope, key: str) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if not self._is_host(scope):
            return PlainTextResponse("This server does not answer to that name.\n", status_code=421)
        if not self._keys.knows(key):
            return PlainTextResponse(
                "Open the address that `musician dashboard` has printed: it has a token in it.\n",
                status_code=403,
            )
        if scope["method"] in READS:
            return None
        if self._read_only:
            return PlainTextResponse("This dashboard only shows (--read-only).\n", status_code=403)
        if headers.get("origin") != f"http://{headers['host']}":
            return PlainTextResponse("Only this server's own pages may send orders.\n", status_code=403)
        return None

    def _is_host(self, scope: Scope) -> bool:
        return Headers(scope=scope).get("host", "") in self._hosts

    def _key(self, headers: Headers) -> str:
        # Unlike SimpleCookie it reads on after a cookie of another server that it cannot read.
        return cookie_parser(headers.get("cookie", "")).get(self._cookie, "")


def form_token(scope: Scope) -> str:
    """Return the token that a form on a page for this browser carries."""
    token: str = scope[_IN_SCOPE]
    return token


def is_form_token(scope: Scope, given: str) -> bool:
    return hmac.compare_digest(given.encode(), form_token(scope).encode())
