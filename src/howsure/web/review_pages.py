"""The review in the browser: the queue of questions, one question, and the forms that store a verdict."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from howsure.errors import HowsureError
from howsure.review.queue import (
    SHOWS,
    STATES,
    Entry,
    QuestionView,
    QueueFilter,
    RunTexts,
    Texts,
    build_queue,
    describe_wrong_share,
    estimate_wrong_share,
    find_neighbours,
    get_verdict,
    group_generations,
    sort_queue,
)
from howsure.review.verdicts import (
    ANSWER_LENGTH,
    FINAL_VERDICTS,
    NOTE_LENGTH,
    REJECTED,
    VERDICTS,
    Decision,
    Role,
    Verdict,
    Word,
    append,
    check_writable,
    compare_reviewers,
    decide,
    history,
    moment,
    select_verdicts,
)
from howsure.safe_text import replace_invisible, shorten_hash
from howsure.web.form_pages import build_environment, build_static_route, get_user, read_form, serve_in_browser
from howsure.web.server import AccessGuard, derive_form_secret

#: Largest size of a form in bytes, questions on a page of the queue, and prompts shown besides the default one.
PAGE, PROMPTS = 100, 10


class _GivenVerdict(NamedTuple):
    """A verdict of this session, and the verdict of the same reviewer that it replaced."""

    entry: Entry
    now: str
    before: Verdict | None


class ReviewSession:
    """One session of a reviewer: the queue of questions, the file of verdicts, and the verdicts that can be undone.

    The verdicts are those of this reviewer. In an adjudication those of others are shown, the queue has the questions
    on which reviewers differ, and the verdicts are final ones.
    """

    def __init__(
        self,
        texts: Texts,
        verdicts: Path,
        *,
        blind: bool,
        reviewer: str,
        adjudicates: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.texts, self.file, self.blind, self.reviewer = texts, verdicts, blind, reviewer
        self.adjudicates = adjudicates
        self.role: Role = "adjudication" if adjudicates else "review"
        self.words = FINAL_VERDICTS if adjudicates else VERDICTS
        self.queue = build_queue(texts)
        self.places = {_name(entry.view): i for i, entry in enumerate(self.queue)}
        self.given: list[_GivenVerdict] = []
        self.warnings: list[str] = []
        self._clock, self._turn = clock, threading.Lock()

    def history(self) -> list[Verdict]:
        """Read all verdicts from the file again, because a merge or another session may have changed it."""
        warnings: list[str] = []
        verdicts = history(self.file, missing=True, note=lambda note: warnings.append(str(note)))
        self.warnings = warnings
        return verdicts

    def select_verdicts(self, past: Sequence[Verdict]) -> dict[str, Verdict]:
        """Return the verdicts of this reviewer by key; in an adjudication the final ones, whoever gave them."""
        if not self.adjudicates:
            return select_verdicts(past, self.reviewer)
        return {key: one.adjudications[-1] for key, one in decide(past).items() if one.adjudications}

    def list_entries(self, past: Sequence[Verdict], choice: QueueFilter) -> list[Entry]:
        """Return the questions in the order of the selection; in an adjudication, those on which reviewers differ."""
        ordered = sort_queue(self.queue, choice)
        if not self.adjudicates:
            return ordered
        differing = {key for key, one in decide(past).items() if one.reviewers_differ}
        return [entry for entry in ordered if entry.view.key in differing]

    def give(self, entry: Entry, word: str, note: str, answer: str = "") -> None:
        """Store a verdict; the verdict "undone" withdraws an earlier one of the same reviewer."""
        with self._turn:
            before = select_verdicts(self.history(), self.reviewer, self.role).get(entry.view.key)
            self._append(entry, word, note, answer)
            self.given.append(_GivenVerdict(entry, word, before))

    def undo(self) -> Entry | None:
        """Undo the last verdict of this session by storing again the verdict that it replaced; return its question."""
        with self._turn:
            if not self.given:
                return None
            entry, _, before = self.given.pop()
            self._append(
                entry, *(("undone", "", "") if before is None else (before.verdict, before.note, before.answer))
            )
            return entry

    def _append(self, entry: Entry, word: str, note: str, answer: str) -> None:
        append(
            self.file,
            Verdict(
                benchmark=entry.view.benchmark,
                question=entry.view.question,
                key=entry.view.key,
                verdict=msgspec.convert(word, Word),
                note=note,
                reviewer=self.reviewer,
                answer=answer,
                role=self.role,
                when=moment(self._clock()),
            ),
        )


def create_review_app(review: ReviewSession, *, port: int, token: str) -> Starlette:
    """Return the web application of a session, which only the browser with the printed address can use.

    Parameters
    ----------
    port
        Port of the server; requests with another host or origin are refused.
    token
        Secret that the printed address contains.
    """
    pages = _Pages(review, derive_form_secret(token))
    return Starlette(
        routes=[
            Route("/", pages.queue),
            Route("/question", pages.question),
            Route("/verdict", pages.verdict, methods=["POST"]),
            Route("/undo", pages.undo, methods=["POST"]),
            build_static_route(),
        ],
        middleware=[Middleware(AccessGuard, port=port, token=token)],
        exception_handlers={HTTPException: pages.problem, HowsureError: pages.problem},
    )


class _Pages:
    def __init__(self, review: ReviewSession, secret: str) -> None:
        self._review, self._secret = review, secret
        self._environment = build_environment()
        self._environment.filters["number"] = _number
        self._environment.filters["short_id"] = shorten_hash

    def queue(self, request: Request) -> Response:
        """Return one page of the selected questions, with the progress of the review."""
        review, choice = self._review, self._choose(request.query_params)
        past = review.history()
        verdicts = review.select_verdicts(past)
        matching = [entry for entry in review.list_entries(past, choice) if choice.holds(entry)]
        listed = [entry for entry in matching if choice.takes(entry, verdicts)]
        pages = max(1, -(-len(listed) // PAGE))
        page = min(max(1, _integer(request.query_params.get("page"), 1)), pages)
        return self._page(
            "queue.html",
            choice,
            entries=[(entry, get_verdict(entry, verdicts)) for entry in listed[(page - 1) * PAGE : page * PAGE]],
            n_listed=len(listed),
            n_matching=len(matching),
            done=sum(entry.view.key in verdicts for entry in matching),
            rejected=sum(get_verdict(entry, verdicts) in REJECTED for entry in matching),
            page=page,
            pages=pages,
            benchmarks=sorted({entry.view.benchmark for entry in review.queue}),
            shows=SHOWS,
            shares=[
                (name, text)
                for name in sorted({entry.view.benchmark for entry in matching if entry.control >= 0})
                if (text := describe_wrong_share(estimate_wrong_share(review.queue, name, verdicts)))
            ],
            states=[state for state in STATES if state in {"open", "any", *review.words}],
            agreements=self._compare_reviewers(past),
            reviews=self._list_reviews(past),
        )

    def question(self, request: Request) -> Response:
        """Return the page of one question; `reveal` shows the target in blind mode, `all` lists a group completely."""
        review, fields = self._review, request.query_params
        choice, entry, past = self._choose(fields), self._find_entry(fields), review.history()
        verdicts, view = review.select_verdicts(past), entry.view
        ordered = review.list_entries(past, choice)
        if entry not in ordered:
            raise HTTPException(404, "Reviewers do not differ on this question.")
        before, after = find_neighbours(ordered, ordered.index(entry), choice, verdicts)
        matching = [one for one in ordered if choice.holds(one)]
        lines = [
            one for one in past if review.adjudicates or (one.reviewer, one.role) == (review.reviewer, review.role)
        ]
        rows = review.texts.generations(view.benchmark, view.question)
        prompts = review.texts.prompts(view.benchmark, view.question)
        return self._page(
            "question.html",
            choice,
            entry=entry,
            view=view,
            hidden=review.blind and "reveal" not in fields,
            groups=group_generations(rows, view.target, expanded=_integer(fields.get("all"), -1)),
            n_variants=len({row.variant for row in rows}),
            default=prompts[0] if prompts else None,
            others=prompts[1 : PROMPTS + 1],
            more_prompts=max(0, len(prompts) - 1 - PROMPTS),
            verdict=verdicts.get(view.key),
            past=[one for one in lines if one.key == view.key],
            older=[one for one in lines if one.key != view.key and _name(one) == _name(view)],
            reviews=self._list_reviews(past).get(view.key, ()),
            position=matching.index(entry) + 1 if entry in matching else None,
            n_matching=len(matching),
            before=before,
            after=after,
            note_length=NOTE_LENGTH,
            answer_length=ANSWER_LENGTH,
        )

    async def verdict(self, request: Request) -> Response:
        """Store a verdict, and redirect to the next question."""
        fields = await read_form(request, self._secret)
        review, choice, entry = self._review, self._choose(fields), self._find_entry(fields)
        word, note = fields.get("verdict", ""), fields.get("note", "").replace("\r\n", "\n").strip()
        if word not in {*review.words, "undone"}:
            raise HTTPException(422, f"A verdict is one of {', '.join(review.words)}.")
        if len(note) > NOTE_LENGTH:
            raise HTTPException(413, f"The note has {len(note):,} characters; at most {NOTE_LENGTH:,} are allowed.")
        answer = _parse_answer(fields.get("answer", ""), word, entry.view)
        if entry not in review.list_entries(review.history(), choice):
            raise HTTPException(409, "Reviewers do not differ on this question any more.")
        await run_in_threadpool(review.give, entry, word, note, answer)
        past = review.history()
        ordered = review.list_entries(past, choice)
        place = ordered.index(entry) if entry in ordered else -1
        _, after = find_neighbours(ordered, place, choice, review.select_verdicts(past))
        stay = word == "undone"
        return RedirectResponse(
            _to(entry, choice) if stay else _to(after, choice) if after else choice.address("/"), 303
        )

    async def undo(self, request: Request) -> Response:
        """Undo the last verdict of this session, and redirect to its question."""
        choice = self._choose(await read_form(request, self._secret))
        entry = await run_in_threadpool(self._review.undo)
        if entry is None:
            raise HTTPException(409, "No verdict of this session is left to undo.")
        return RedirectResponse(_to(entry, choice), 303)

    def problem(self, _: Request, error: Exception) -> Response:
        """Return a page with the message of an error."""
        if isinstance(error, HTTPException):
            return self._page("problem.html", QueueFilter(), error.status_code, what=error.detail)
        return self._page("problem.html", QueueFilter(), 500, what=str(error))  # a file that cannot be read or written

    def _page(self, name: str, choice: QueueFilter, status: int = 200, **values: Any) -> Response:
        values |= {"choice": choice, "to": _to, "secret": self._secret, "blind": self._review.blind}
        values |= {"review": self._review, "words": self._review.words, "warnings": self._review.warnings}
        values["last"] = self._review.given[-1] if self._review.given else None
        return HTMLResponse(self._environment.get_template(name).render(values), status)

    def _choose(self, fields: Mapping[str, str]) -> QueueFilter:
        """Return the selection of an address or a form; an adjudication has questions of any kind."""
        choice = QueueFilter.of(fields)
        return choice._replace(show="all") if self._review.adjudicates else choice

    def _find_entry(self, fields: Mapping[str, str]) -> Entry:
        """Return the question that an address or a form names."""
        places = self._review.places
        replaced = {tuple(map(replace_invisible, name)): i for name, i in places.items()}  # in the fields of forms
        name = fields.get("benchmark", ""), fields.get("question", "")
        if (place := places.get(name, replaced.get(name))) is None:
            raise HTTPException(404, "There is no such question in this review.")
        return self._review.queue[place]

    def _list_reviews(self, past: Sequence[Verdict]) -> dict[str, tuple[Verdict, ...]]:
        """Return the verdict of each reviewer by key, for an adjudication; empty otherwise."""
        return {key: one.reviews for key, one in decide(past).items()} if self._review.adjudicates else {}

    def _compare_reviewers(self, past: Sequence[Verdict]) -> list[str]:
        """Return a sentence on each pair of reviewers, where the session shows the verdicts of others."""
        if not self._review.adjudicates:
            return []
        keys = {entry.view.key for entry in self._review.queue}
        decisions: list[Decision] = [one for key, one in decide(past).items() if key in keys]
        return [f"{one}." for one in compare_reviewers(decisions)]


def _name(one: QuestionView | Verdict) -> tuple[str, str]:
    return one.benchmark, one.question


def _to(entry: Entry, choice: QueueFilter, **more: str) -> str:
    """Return the address of a question."""
    return choice.address("/question", benchmark=entry.view.benchmark, question=entry.view.question, **more)


def _parse_answer(text: str, word: str, view: QuestionView) -> str:
    """Return the right answer of a mislabeled question; of choices it names one as the target does."""
    answer = " ".join(text.split())
    if not answer or word == "undone":
        return ""
    if word != "mislabeled":
        raise HTTPException(
            422, f"A right answer goes with the verdict mislabeled, not with {word}: remove one of them."
        )
    if len(answer) > ANSWER_LENGTH:
        what = f"The right answer has {len(answer):,} characters; at most {ANSWER_LENGTH:,} are allowed."
        raise HTTPException(413, what)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(view.choices)]
    if view.choices and view.target is not None and view.target in letters:
        answer = answer.upper()
        if answer not in list(letters):
            raise HTTPException(422, f"The right answer of a question with choices is one of {', '.join(letters)}.")
    elif view.choices and view.target is not None:
        texts = {" ".join(choice.split()): choice for choice in view.choices}
        # The places of choices are counted from 0 or from 1.
        has_place = all(name.isdecimal() and int(name) <= len(view.choices) for name in (view.target, answer))
        is_place = view.target.isdecimal() and int(view.target) <= len(view.choices)
        if (is_place or view.target in view.choices) and not has_place and answer not in texts:
            form = "text" if view.target in view.choices else "place"
            raise HTTPException(422, f"The right answer of this question is the {form} of one of its choices.")
        answer = texts.get(answer, answer)
    if answer == view.target:
        raise HTTPException(422, "The right answer is the target, so the question is not mislabeled.")
    return answer


def _integer(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 7 else otherwise


def _number(value: float, digits: int = 2) -> str:
    """Return a number with the minus sign U+2212; an en dash for NaN."""
    if math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not float(text) else text.replace("-", "−")


def serve_review(
    paths: Iterable[str | Path],
    *,
    verdicts: Path,
    port: int = 8765,
    blind: bool = False,
    open_browser: bool = True,
    reviewer: str | None = None,
    adjudicate: bool = False,
    write_line: Callable[[str], None] = print,
) -> None:
    """Serve the review of run folders and logs on 127.0.0.1 until Ctrl-C.

    Parameters
    ----------
    paths
        Run folders and logs, or folders that contain some.
    verdicts
        File that verdicts are appended to; it need not exist.
    port
        Port; 0 chooses a free one.
    blind
        Whether targets are hidden until the reviewer requests them.
    open_browser
        Whether to open the default browser.
    reviewer
        Name that verdicts are signed with; default: the name of the user. Each reviewer has an own queue.
    adjudicate
        Whether to show the questions on which reviewers differ, with their verdicts, for final ones.
    write_line
        Function that shows a line, such as the address with the token of this session.

    Raises
    ------
    InputError
        If a path contains no run folder or log, the verdicts cannot be read or written, or the port is in use.
    """
    texts = RunTexts(map(Path, paths))
    session = ReviewSession(
        texts,
        verdicts,
        blind=blind,
        reviewer=(get_user() if reviewer is None else reviewer).strip(),
        adjudicates=adjudicate,
    )
    past = session.history()  # an unreadable file is reported before anything is served
    check_writable(verdicts)
    if adjudicate:
        n_open = sum(one.needs_adjudication for one in decide(past).values())
        count = f"{n_open} questions on which reviewers differ have no final verdict"
    else:
        n_suspected = sum(entry.evidence.is_suspected for entry in session.queue)
        count = f"{n_suspected} suspected label errors among {len(session.queue)} questions"
    serve_in_browser(
        lambda number, token: create_review_app(session, port=number, token=token),
        port=port,
        open_browser=open_browser,
        write_line=write_line,
        first_line=f"{count}; verdicts go to {verdicts}",
        last_line="ended; every verdict is stored",
    )
