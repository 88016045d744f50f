"""Who may ask: only a page of this app, in the browser that was given this session's token.

A page elsewhere cannot reach the app: the name it was reached by and the origin of the request must be this machine's
loopback and this port (DNS rebinding, cross-site posts). Another user of the machine cannot: nothing is answered
without a cookie that only the URL printed at the start gives. Another program on this machine that the browser also
visits sees that cookie, for cookies know no ports; so a post needs a second secret, which is in the pages only.
"""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["POLICY", "Guard", "form_secret"]

#: The browser loads scripts and styles of the app, and nothing else at all.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # no-referrer would have posts say "Origin: null"
    "Cache-Control": "no-store",
}


def _derived(token: str, use: str) -> str:
    return hmac.new(token.encode(), use.encode(), hashlib.sha256).hexdigest()


def form_secret(token: str) -> str:
    """What a form must send back."""
    return _derived(token, "form")


class Guard:
    """Answers only what may be asked; every answer carries the security headers."""

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._cookie = f"howsure-review-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":  # there is nothing to start, and no other way to talk
            await send({"type": f"{scope['type']}.close"})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await (self._refusal(scope) or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """What is answered in the app's place, or None."""
        headers = Headers(scope=scope)
        if (hosts := headers.getlist("host")) != hosts[:1] or not self._hosts.issuperset(hosts) or not hosts:
            return PlainTextResponse("This app answers on 127.0.0.1 only.", 421)
        origins = headers.getlist("origin")
        if not {f"http://{host}" for host in self._hosts}.issuperset(origins):
            return PlainTextResponse("This request comes from another page.", 403)
        if scope["method"] not in {"GET", "HEAD"} and not origins:
            return PlainTextResponse("This request does not say which page it comes from.", 403)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if given and scope["path"] == "/" and hmac.compare_digest(given[0].encode(), self._token.encode()):
            answer = RedirectResponse("/", 303)
            value = _derived(self._token, "cookie")
            answer.set_cookie(self._cookie, value, httponly=True, samesite="strict")
            return answer
        session = HTTPConnection(scope).cookies.get(self._cookie, "")
        if not hmac.compare_digest(session.encode(), _derived(self._token, "cookie").encode()):
            return PlainTextResponse("Open the address that howsure review printed when it started.", 403)
        return None
