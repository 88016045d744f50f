"""What applications with forms have in common: templates, checked forms, and a server that opens the browser."""

from __future__ import annotations

import getpass
import hmac
import os
import secrets
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl

import jinja2
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from howsure.safe_text import replace_invisible
from howsure.web.server import bind_port, format_address, serve_until_interrupted

#: Longest form, in bytes.
BODY_LENGTH = 64_000
_HERE = Path(__file__).parent


def build_environment() -> jinja2.Environment:
    """Return the templates: values are escaped, without control characters; a name without a value is an error."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=replace_invisible,
    )


def build_static_route() -> Mount:
    """Return the route of styles and scripts."""
    return Mount("/static", StaticFiles(directory=_HERE / "static"))


async def read_form(request: Request, secret: str) -> dict[str, str]:
    """Return the fields of a form, after checking that a page of this session sent it.

    Parameters
    ----------
    request
        The POST request.
    secret
        `server.derive_form_secret` of the session's token, which the pages send in the field `secret`.

    Raises
    ------
    HTTPException
        When the form is of another type, too long, unreadable, or of another session.
    """
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPException(415, "Only the forms of these pages are accepted.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY_LENGTH:
            raise HTTPException(413, f"The form has more than {BODY_LENGTH:,} bytes.")
    try:
        fields = dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=20, errors="strict"))
    except ValueError:
        raise HTTPException(400, "The form cannot be read.") from None
    if not hmac.compare_digest(fields.get("secret", "").encode(), secret.encode()):
        raise HTTPException(403, "The form belongs to another session: open the page again.")
    return fields


def serve_in_browser(
    create_app: Callable[[int, str], ASGIApp],
    *,
    port: int,
    open_browser: bool,
    write_line: Callable[[str], None],
    first_line: str,
    last_line: str,
) -> None:
    """Serve an application on 127.0.0.1 until Ctrl-C, and open the browser with its address.

    Parameters
    ----------
    create_app
        Function of the port and of the secret that the printed address contains.
    port
        Port; 0 chooses a free one.
    open_browser
        Whether to open the default browser.
    write_line
        Function that shows a line.
    first_line, last_line
        Lines that are shown before the address, and at the end.

    Raises
    ------
    InputError
        If the port is in use.
    """
    token = secrets.token_urlsafe(24)
    with bind_port(port, remedy="name another with --port, or 0 for any") as bound:
        number = bound.getsockname()[1]
        address = format_address(number, token)

        def announce() -> None:
            write_line(first_line)
            write_line(f"open {address} (Ctrl-C ends it)")
            if open_browser:
                # In a thread, because a browser on the terminal returns only when it is closed.
                threading.Thread(target=webbrowser.open, args=(redirect.as_uri(),), daemon=True).start()

        with tempfile.TemporaryDirectory(prefix="howsure-") as private:
            redirect = _write_redirect(Path(private), address)
            try:
                serve_until_interrupted(create_app(number, token), bound, announce)
            except KeyboardInterrupt:
                write_line(last_line)


def _write_redirect(folder: Path, address: str) -> Path:
    """Write a page, which only this user can read, that leads to the address; return its path.

    The browser is started with the name of this file. Its command line, which all users of the machine can read, does
    not contain the token.
    """
    file = folder / "review.html"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as page:
        page.write(
            f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>howsure</title>'
            f'<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">Open the review</a>'
        )
    return file


def get_user() -> str:
    """Return the name of the user; empty if the user has none, as in a container."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
