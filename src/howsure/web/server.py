"""`howsure review`: serve the app on this machine until it is interrupted."""

from __future__ import annotations

import getpass
import secrets
import socket
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path

from howsure.errors import InputError

__all__ = ["review"]


def review(
    paths: Iterable[str | Path],
    *,
    verdicts: Path,
    port: int = 8765,
    blind: bool = False,
    open_browser: bool = True,
    reviewer: str | None = None,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve the review of run folders and logs on 127.0.0.1 until Ctrl-C.

    Parameters
    ----------
    paths
        Run folders and logs, or folders with some below.
    verdicts
        The file that verdicts are added to; it need not exist.
    port
        0 is any that is free.
    blind
        Whether targets are hidden until they are asked for.
    open_browser
        Whether to open the default browser.
    reviewer
        Who signs the verdicts; default: the name of the user.
    tell
        Hears the address, which carries this session's token.

    Raises
    ------
    InputError
        When the extra is not installed, a path holds no run folder, the verdicts cannot be read, or the port is taken.
    """
    try:
        import uvicorn

        from howsure.web.review_app import Review, create
    except ModuleNotFoundError as error:
        raise InputError(f"the review needs {error.name}", remedy="pip install 'howsure[review]'") from error
    from howsure.review.texts import RunTexts

    session = Review(
        RunTexts(map(Path, paths)), verdicts, blind=blind, reviewer=_user() if reviewer is None else reviewer
    )
    session.history()  # an unreadable file is told before anything is served
    token = secrets.token_urlsafe(24)
    with _bound(port) as listening:
        number = listening.getsockname()[1]
        app = create(session, port=number, token=token)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="off",
        )
        address = f"http://127.0.0.1:{number}/?token={token}"
        suspects = sum(entry.suspect.is_suspect for entry in session.entries)

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                # Now it answers, and Ctrl-C ends it as it should.
                tell(f"{suspects} suspects among {len(session.entries)} questions; verdicts go to {verdicts}")
                tell(f"open {address} (Ctrl-C ends it)")
                if open_browser:
                    webbrowser.open(address)

        try:
            Server(config).run(sockets=[listening])
        except KeyboardInterrupt:
            tell("ended; every verdict is kept")


def _bound(port: int) -> socket.socket:
    """A socket on the loopback."""
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"port {port}: {why}", remedy="name another with --port, or 0 for any") from error
    return listening


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no such user, as in a container
        return ""
