"""Pages on which a person labels a random sample of completions, without seeing the judge's verdict or the model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from howsure.errors import HowsureError
from howsure.judging.random_labels import LabelFile, LabelTask, append_lines, read_labels
from howsure.review.verdicts import moment
from howsure.web.form_pages import build_environment, build_static_route, get_user, read_form, serve_in_browser
from howsure.web.server import AccessGuard, derive_form_secret


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
            labels[task.label.completion_key, self.reviewer].verdict
            if (task.label.completion_key, self.reviewer) in labels
            else ""
            for task in self.tasks
        ]

    def give(self, place: int, word: str) -> None:
        """Store a verdict on a completion; "undone" removes it."""
        label = self.tasks[place].label
        label = msgspec.structs.replace(
            label,
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
            build_static_route(),
        ],
        middleware=[Middleware(AccessGuard, port=port, token=token)],
        exception_handlers={HTTPException: pages.problem, HowsureError: pages.problem},
    )


class _LabelPages:
    def __init__(self, session: LabelSession, secret: str) -> None:
        self._session, self._secret = session, secret
        self._environment = build_environment()

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
        fields = await read_form(request, self._secret)
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
    serve_in_browser(
        lambda number, token: create_label_app(session, port=number, token=token),
        port=port,
        open_browser=open_browser,
        write_line=write_line,
        first_line=f"{open_tasks} of {len(session.tasks)} completions to label; labels go to {file}",
        last_line="ended; every label is stored",
    )
