"""Restrict the local web application to the browser that opened the printed address.

Pages of other sites cannot reach the application: host and origin of each request must be the loopback address and the
port of the server (against DNS rebinding and cross-site requests). Other users of the machine cannot: every response
needs a cookie, which only the address printed at the start gives. Cookies do not distinguish ports, so another local
program that the browser visits could see the cookie; a POST therefore needs a second secret, which only the pages have.
"""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Content security policy of pages without one of their own: scripts and styles come from the application only.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

#: Headers of every response.
_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer a POST would have "Origin: null"
    "Cache-Control": "no-store",
}

#: Headers of responses that do not set them.
_DEFAULT_HEADERS = {"Content-Security-Policy": POLICY, "X-Frame-Options": "DENY"}


def _derive_secret(token: str, use: str) -> str:
    """Return a secret for one use, from which the token cannot be computed."""
    return hmac.new(token.encode(), use.encode(), hashlib.sha256).hexdigest()


def derive_form_secret(token: str) -> str:
    """Return the secret that every form must send back."""
    return _derive_secret(token, "form")


def format_address(port: int, token: str) -> str:
    """Return the address that gives a browser access."""
    return f"http://127.0.0.1:{port}/?token={token}"


class AccessGuard:
    """ASGI middleware that rejects requests without access and adds the security headers to every response.

    Parameters
    ----------
    app
        The application behind the guard.
    port
        Port of the server.
    token
        Secret in the printed address.
    """

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._cookie = f"howsure-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await send({"type": f"{scope['type']}.close"})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                for name, value in _DEFAULT_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (self._check_access(scope) or self._app)(scope, receive, send_with_headers)

    def _check_access(self, scope: Scope) -> Response | None:
        """Return the response that takes the application's place, or None if the request may pass."""
        headers = Headers(scope=scope)
        if (hosts := headers.getlist("host")) != hosts[:1] or not self._hosts.issuperset(hosts) or not hosts:
            return PlainTextResponse("This application answers on 127.0.0.1 only.", 421)
        origins = headers.getlist("origin")
        if not {f"http://{host}" for host in self._hosts}.issuperset(origins):
            return PlainTextResponse("This request comes from another page.", 403)
        if scope["method"] not in {"GET", "HEAD"} and not origins:
            return PlainTextResponse("This request does not name the page it comes from.", 403)
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if token and scope["path"] == "/" and hmac.compare_digest(token[0].encode(), self._token.encode()):
            response = RedirectResponse("/", 303)
            value = _derive_secret(self._token, "cookie")
            response.set_cookie(self._cookie, value, httponly=True, samesite="strict")
            return response
        cookie = HTTPConnection(scope).cookies.get(self._cookie, "")
        if not hmac.compare_digest(cookie.encode(), _derive_secret(self._token, "cookie").encode()):
            return PlainTextResponse("Open the address that howsure printed when it started.", 403)
        return None
