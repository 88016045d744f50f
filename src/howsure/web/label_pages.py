"""Pages on which a person labels a random sample of completions, without seeing the judge's verdict or the model."""

from __future__ import annotations

import hmac
import secrets
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qsl

import jinja2
import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from howsure.errors import HowsureError
from howsure.judging.random_labels import LabelFile, LabelTask, append_lines, read_labels
from howsure.review.verdicts import moment
from howsure.web.review_pages import BODY_LENGTH, get_user, write_redirect
from howsure.web.server import AccessGuard, bind_port, derive_form_secret, format_address, serve_until_interrupted

__all__ = ["LabelSession", "create_label_app", "serve_labels"]

_HERE = Path(__file__).parent


class LabelSession:
    """One session of a reviewer: the drawn completions, the words of verdicts, and the file of labels."""

    def __init__(
        self,
        tasks: Sequence[LabelTask],
        choices: Mapping[str, float],
        file: Path,
        *,
        reviewer: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.tasks, self.choices, self.file, self.reviewer = list(tasks), dict(choices), file, reviewer
        self._clock, self._turn = clock, threading.Lock()

    def read(self) -> LabelFile:
        """Read all labels again, because another reviewer may have added some."""
        return read_labels(self.file, missing=True)

    def list_verdicts(self) -> list[str]:
        """Return the verdict of this reviewer on each completion; empty where there is none."""
        labels = self.read().labels
        return [
            labels[task.drawn.completion_key, self.reviewer].verdict
            if (task.drawn.completion_key, self.reviewer) in labels
            else ""
            for task in self.tasks
        ]

    def give(self, place: int, word: str) -> None:
        """Store a verdict on a completion; "undone" removes it."""
        drawn = self.tasks[place].drawn
        label = msgspec.structs.replace(
            drawn,
            inclusion=None,
            verdict=word,
            score=self.choices.get(word),
            reviewer=self.reviewer,
            when=moment(self._clock()),
        )
        with self._turn:
            append_lines(self.file, [label])


def create_label_app(session: LabelSession, *, port: int, token: str) -> Starlette:
    """Return the web application of a session, which only the browser with the printed address can use."""
    pages = _LabelPages(session, derive_form_secret(token))
    return Starlette(
        routes=[
            Route("/", pages.completion),
            Route("/label", pages.label, methods=["POST"]),
            Mount("/static", StaticFiles(directory=_HERE / "static")),
        ],
        middleware=[Middleware(AccessGuard, port=port, token=token)],
        exception_handlers={HTTPException: pages.problem, HowsureError: pages.problem},
    )


class _LabelPages:
    def __init__(self, session: LabelSession, secret: str) -> None:
        self._session, self._secret = session, secret
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )

    def completion(self, request: Request) -> Response:
        """Return the page of one completion: that of the address, or the first without a verdict."""
        verdicts = self._session.list_verdicts()
        n = len(verdicts)
        wanted = request.query_params.get("n", "")
        if wanted:
            place = int(wanted) - 1 if wanted.isascii() and wanted.isdecimal() and len(wanted) < 8 else -1
            if not 0 <= place < n:
                raise HTTPException(404, "There is no such completion in this sample.")
        else:
            place = verdicts.index("") if "" in verdicts else n
        return self._page(
            "label.html",
            task=self._session.tasks[place] if place < n else None,
            number=place + 1,
            n=n,
            done=n - verdicts.count(""),
            verdict=verdicts[place] if place < n else "",
            words=list(self._session.choices),
        )

    async def label(self, request: Request) -> Response:
        """Store a verdict, and redirect to the next completion without one."""
        fields = await self._form(request)
        word, number = fields.get("verdict", ""), fields.get("n", "")
        if word not in {*self._session.choices, "undone"}:
            raise HTTPException(422, f"A verdict is one of {', '.join(self._session.choices)}.")
        if not (number.isascii() and number.isdecimal() and 1 <= int(number[:8]) <= len(self._session.tasks)):
            raise HTTPException(404, "There is no such completion in this sample.")
        await run_in_threadpool(self._session.give, int(number) - 1, word)
        return RedirectResponse(f"/?n={number}" if word == "undone" else "/", 303)

    def problem(self, _: Request, error: Exception) -> Response:
        """Return a page with the message of an error."""
        if isinstance(error, HTTPException):
            return self._page("label_problem.html", error.status_code, what=error.detail)
        return self._page("label_problem.html", 500, what=str(error))

    def _page(self, name: str, status: int = 200, **values: object) -> Response:
        return HTMLResponse(self._environment.get_template(name).render(values | {"secret": self._secret}), status)

    async def _form(self, request: Request) -> dict[str, str]:
        """Return the fields of a form, after checking that a page of this session sent it."""
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
        if not hmac.compare_digest(fields.get("secret", "").encode(), self._secret.encode()):
            raise HTTPException(403, "The form belongs to another session: open the page again.")
        return fields


def serve_labels(
    tasks: Sequence[LabelTask],
    choices: Mapping[str, float],
    file: Path,
    *,
    port: int = 8765,
    open_browser: bool = True,
    reviewer: str | None = None,
    write_line: Callable[[str], None] = print,
) -> None:
    """Serve the labelling of a sample on 127.0.0.1 until Ctrl-C.

    Parameters
    ----------
    tasks
        The completions of the sample, in the order in which they are shown.
    choices
        Score of each verdict.
    file
        File to which labels are appended.
    port, open_browser, reviewer, write_line
        As for `web.review_pages.serve_review`.

    Raises
    ------
    InputError
        If the file cannot be read, or the port is in use.
    """
    session = LabelSession(tasks, choices, file, reviewer=get_user() if reviewer is None else reviewer)
    open_tasks = session.list_verdicts().count("")
    token = secrets.token_urlsafe(24)
    with bind_port(port, remedy="name another with --port, or 0 for any") as bound:
        number = bound.getsockname()[1]
        address = format_address(number, token)

        def announce() -> None:
            write_line(f"{open_tasks} of {len(session.tasks)} completions to label; labels go to {file}")
            write_line(f"open {address} (Ctrl-C ends it)")
            if open_browser:
                threading.Thread(target=webbrowser.open, args=(redirect.as_uri(),), daemon=True).start()

        with tempfile.TemporaryDirectory(prefix="howsure-") as private:
            redirect = write_redirect(Path(private), address)
            try:
                serve_until_interrupted(create_label_app(session, port=number, token=token), bound, announce)
            except KeyboardInterrupt:
                write_line("ended; every label is stored")
