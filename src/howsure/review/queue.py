"""What a review shows: the questions of run folders and logs, the most suspicious first, and their generations."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, Protocol, Self
from urllib.parse import urlencode

from howsure.errors import InputError
from howsure.logs.log_source import LogSource
from howsure.notes import Note, warn
from howsure.results.answers import AnswerGroup, AnswerKind, count_answers, group_answers
from howsure.results.run_source import RunSource
from howsure.results.sources import find_sources
from howsure.results.texts import PromptText, QuestionText, QuestionTexts
from howsure.review.verdicts import VERDICTS, Verdict, content_key
from howsure.stats.questions import AnswerCounts, find_label_errors
from howsure.stats.scores import clopper_pearson
from howsure.store.schema import Response

#: The questions and the verdicts that a reviewer can select.
SHOWS = ("suspected", "random", "all")

#: Questions of a benchmark that are drawn at random, whatever the models answered.
N_CONTROLS = 100

STATES = ("open", "any", *VERDICTS)

#: Number of generations that are open at first, number listed for each answer, and characters of a completion.
MAX_OPEN, MAX_GENERATIONS, MAX_TEXT = 3, 12, 20_000

_TITLES: dict[AnswerKind, str] = {
    "unparsed": "no answer was extracted",
    "unscored": "not scored yet",
    "failed": "the request failed",
}

#: Number of questions of logs that are kept in memory.
_REMEMBERED = 64

_REMEDY = "a review reads run folders and logs: howsure convert LOGS -o DIR makes a run folder of logs"


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question as a reviewer sees it."""

    benchmark: str
    question: str
    key: str
    text: str
    """Text of the question; empty if no prompt was stored."""
    choices: tuple[str, ...] = ()
    """Texts of the choices, if they are stored separately from the text; otherwise empty."""
    target: str | None = None
    solution: str = ""
    """Reference solution, where the benchmark has one."""


class Texts(Protocol):
    """A source of the questions, answers, prompts and generations of a review."""

    def questions(self) -> list[QuestionView]:
        """Return every question that has a generation, for all benchmarks."""
        ...

    def count_answers(self, benchmark: str) -> AnswerCounts | None:
        """Return how often each model gave each answer, without failed generations; None without any."""
        ...

    def prompts(self, benchmark: str, question: str) -> list[PromptText]:
        """Return the prompts that were sent for the question, the default variant first."""
        ...

    def generations(self, benchmark: str, question: str) -> list[Response]:
        """Return all generations of the question, sorted by key."""
        ...


class RunTexts:
    """Read the texts of run folders and logs, and join generations of the same benchmark in several of them.

    A log is read once for each question that is opened; the last questions are kept in memory.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        sources = _find_texts(paths)
        self._texts = QuestionTexts(sources)
        self.folders = [folder.path for folder in self._texts.folders]
        self._answers = count_answers(sources)
        read = self._texts.read_question
        self._read = lru_cache(maxsize=_REMEMBERED)(read) if self._texts.logs else read

    def questions(self) -> list[QuestionView]:
        """Return every question that has a generation; its text is that of the default variant or the first one."""
        texts = self._texts.questions()
        names = sorted((name, question) for name, counts in self._answers.items() for question in counts.questions)
        return [_view(*name, texts.get(name)) for name in names]

    def count_answers(self, benchmark: str) -> AnswerCounts | None:
        """Return how often each model gave each answer; None for a benchmark that is not in the sources."""
        return self._answers.get(benchmark)

    def prompts(self, benchmark: str, question: str) -> list[PromptText]:
        """Return the prompts that were sent for the question."""
        result = self._read(benchmark, question)
        return [] if result is None else list(result.question.prompts)

    def generations(self, benchmark: str, question: str) -> list[Response]:
        """Return all generations of the question."""
        result = self._read(benchmark, question)
        return [] if result is None else list(result.generations)


def _view(benchmark: str, question: str, text: QuestionText | None) -> QuestionView:
    """Return a question with the key of its content, to which verdicts belong."""
    if text is None:
        # Without a text, all questions with the same target would have the same key, so the key is made of the id.
        return QuestionView(benchmark, question, content_key(f"{benchmark}\0{question}", None), "")
    key = content_key("\n".join([text.text, *text.choices]), text.target)
    return QuestionView(benchmark, question, key, text.text, text.choices, text.target, text.solution)


def _find_texts(paths: Iterable[Path]) -> list[RunSource | LogSource]:
    """Return the run folders and logs at or below the paths."""
    given = list(paths)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            sources = find_sources(given)
        except InputError as error:
            what = "no run folder here" if Path(error.where).exists() else error.what
            raise InputError(what, where=error.where, remedy=_REMEDY) from error
    for one in caught:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    selected = [source for source in sources if isinstance(source, (RunSource, LogSource))]
    without = [str(source.path) for source in sources if source not in selected]
    if not selected:
        what = "no run folder here, and tables hold no texts"
        raise InputError(what, where=", ".join(map(str, given)), remedy=_REMEDY)
    if without:
        warn(Note("tables-without-texts", ", ".join(without), n=len(without)), stacklevel=3)
    return selected


@dataclass(frozen=True, slots=True)
class LabelEvidence:
    """A question and the evidence against its label; numbers that are not known are NaN."""

    benchmark: str
    question: str
    target: str | None
    answer: str | None
    """The wrong answer with the most evidence; None if every answer is right, or no answer was extracted."""
    p_correct: float
    consistency: float
    n_sets: int
    n_models: int
    models_agreeing: int
    """Number of models that gave `answer` more often than any other answer."""
    evidence: float
    """Weighted votes for `answer` minus those for the target; it is used for sorting and is not a log-odds."""
    is_on_map: bool
    """Whether the question is in the corner of the data map: rarely right, and nearly always answered alike."""
    is_suspected: bool
    """Whether it is in that corner, or most models (at least two) prefer another answer."""
    is_outvoted: bool = False
    """Whether most models, at least two, prefer another answer."""


def rank_label_errors(answers: AnswerCounts) -> list[LabelEvidence]:
    """Return all questions of a benchmark, the most suspicious first.

    Examples
    --------
    >>> given = {model: {"q1": ["4", "4"], "q2": ["7", "7"]} for model in ("m", "n")}
    >>> answers = AnswerCounts.from_generations("sums", given, {"q1": "4", "q2": "8"})
    >>> [(one.question, one.answer, one.is_suspected) for one in rank_label_errors(answers)]
    [('q2', '7', True), ('q1', None, False)]
    """
    errors = find_label_errors(answers)
    columns = (
        errors.questions,
        errors.target,
        errors.answer,
        errors.p_correct.tolist(),
        errors.consistency.tolist(),
        errors.n_sets.tolist(),
        errors.n_models.tolist(),
        errors.models_agreeing.tolist(),
        errors.evidence.tolist(),
        errors.on_map.tolist(),
        errors.suspected.tolist(),
        errors.outvoted.tolist(),
    )
    return [LabelEvidence(answers.benchmark, *row) for row in zip(*columns, strict=True)]


class Entry(NamedTuple):
    """A question of the queue, as the reviewer sees it and with the evidence against its label."""

    view: QuestionView
    evidence: LabelEvidence
    control: int = -1
    """Place in the random sample of its benchmark, from 0; -1 if it was not drawn."""


class WrongLabelShare(NamedTuple):
    """Share of wrong labels among questions that were drawn at random; NaN without a reviewed one.

    Examples
    --------
    >>> WrongLabelShare(40, 2, 0.006, 0.169, 0.95, 500).n_wrong
    2
    """

    n: int
    """Reviewed questions: the first of the random sample, up to the first without a verdict; equal ones count once."""
    n_wrong: int
    """Those of them with the verdict "mislabeled"."""
    low: float
    high: float
    level: float
    n_questions: int
    """Different questions of the benchmark."""


class QueueFilter(NamedTuple):
    """The selection of questions, which is part of every address of the review.

    Examples
    --------
    >>> choice = QueueFilter.of({"show": "all", "find": " north ", "state": "no such state"})
    >>> choice.show, choice.state, choice.find
    ('all', 'open', 'north')
    >>> choice.address("/", page="2")
    '/?page=2&show=all&find=north'
    """

    show: str = "suspected"
    state: str = "open"
    within: str = ""
    """Name of a benchmark; empty for all benchmarks."""
    find: str = ""
    """Text that the id or the question must contain; empty for all questions."""

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Self:
        """Return the selection of an address or a form; unknown values are replaced by the default."""
        show, state = fields.get("show", ""), fields.get("state", "")
        return cls(
            show if show in SHOWS else SHOWS[0],
            state if state in STATES else STATES[0],
            fields.get("within", ""),
            fields.get("find", "").strip()[:200],
        )

    def fields(self) -> dict[str, str]:
        """Return the fields that differ from the default."""
        return {name: value for name, value in self._asdict().items() if value != self._field_defaults[name]}

    def address(self, path: str, **more: str) -> str:
        """Return an address within the application that keeps the selection."""
        query = urlencode(more | self.fields())
        return f"{path}?{query}" if query else path

    def takes(self, entry: Entry, verdicts: Mapping[str, Verdict]) -> bool:
        """Return whether the question is selected."""
        return self.holds(entry) and self.state in {"any", get_verdict(entry, verdicts)}

    def holds(self, entry: Entry) -> bool:
        """Return whether the question is selected, whatever its verdict."""
        if self.show == "suspected" and not entry.evidence.is_suspected:
            return False
        if self.show == "random" and entry.control < 0:
            return False
        if self.within not in {"", entry.view.benchmark}:
            return False
        find = self.find.casefold()
        return find in entry.view.question.casefold() or find in entry.view.text.casefold()


def get_verdict(entry: Entry, verdicts: Mapping[str, Verdict]) -> str:
    """Return the verdict on a question, or "open"."""
    return verdicts[entry.view.key].verdict if entry.view.key in verdicts else "open"


def build_queue(texts: Texts) -> list[Entry]:
    """Return every question: those that both rules suspect first, and within these and the others by the evidence."""
    queue: list[Entry] = []
    for benchmark, views in groupby(sorted(texts.questions(), key=attrgetter("benchmark")), attrgetter("benchmark")):
        answers, view_of = texts.count_answers(benchmark), {view.question: view for view in views}
        if answers is None:
            continue
        answers = replace(answers, targets=tuple(view_of[question].target for question in answers.questions))
        place_of = _draw_controls([view.key for view in view_of.values()])
        for one in rank_label_errors(answers):
            view = view_of[one.question]
            queue.append(Entry(view, one, place_of.get(view.key, -1)))
    return sorted(queue, key=_rank_entry)


def _rank_entry(entry: Entry) -> tuple[bool, bool, float]:
    """Return the key by which the queue is sorted; evidence of few answers is compared with that of many."""
    one = entry.evidence
    is_unknown = math.isnan(one.evidence)
    return not (one.is_on_map and one.is_outvoted), is_unknown, 0.0 if is_unknown else -one.evidence


def _draw_controls(keys: Sequence[str]) -> dict[str, int]:
    """Return the place of each drawn question in the random sample; the same in each session, whatever was answered."""
    order = sorted(set(keys), key=lambda key: hashlib.sha256(f"control {key}".encode()).digest())
    return {key: place for place, key in enumerate(order[:N_CONTROLS])}


def sort_queue(queue: Sequence[Entry], choice: QueueFilter) -> list[Entry]:
    """Return the queue in the order in which the selection is reviewed: random controls in the order of their draw."""
    return sorted(queue, key=lambda entry: entry.control) if choice.show == "random" else list(queue)


def estimate_wrong_share(
    queue: Sequence[Entry], benchmark: str, verdicts: Mapping[str, Verdict], *, level: float = 0.95
) -> WrongLabelShare:
    """Estimate the share of wrong labels of a benchmark from the verdicts on its random controls.

    Only the first controls count, up to the first one without a verdict, so that a reviewer who picks among them does
    not bias the share. The share and its interval hold for a number of controls that was fixed before the first
    verdict; a reviewer who stops because of what the verdicts are biases the share (see Notes). The verdicts
    "ambiguous", "unsure" and "fine" count as not wrong.

    Parameters
    ----------
    queue
        Result of `build_queue`.
    benchmark
        Name of the benchmark.
    verdicts
        Verdicts by key.
    level
        Coverage of the interval, in (0, 1).

    Returns
    -------
    WrongLabelShare
        Counts, and the interval of the share.

    Notes
    -----
    The interval is that of Clopper and Pearson (1934), for questions drawn from the benchmark; for a small benchmark it
    is too wide. Where all questions are reviewed the share is known, and both limits are the share. Questions with the
    same text and target share their verdict and count once. With a share p of wrong labels, a reviewer who stops at the
    first wrong one reports 1 / n after n controls, on average p log(1 / p) / (1 - p): .158 instead of .05.

    References
    ----------
    Clopper, Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the binomial.
    Biometrika 26.
    """
    here = {entry.view.key: entry for entry in queue if entry.view.benchmark == benchmark}
    controls = sorted((entry for entry in here.values() if entry.control >= 0), key=lambda entry: entry.control)
    words = [get_verdict(entry, verdicts) for entry in controls]
    n = words.index("open") if "open" in words else len(words)
    n_wrong = words[:n].count("mislabeled")
    if n == 0:
        return WrongLabelShare(0, 0, math.nan, math.nan, level, len(here))
    low, high = (n_wrong / n,) * 2 if n == len(here) else clopper_pearson(n_wrong, n, level)
    return WrongLabelShare(n, n_wrong, float(low), float(high), level, len(here))


def describe_wrong_share(share: WrongLabelShare) -> str:
    """Describe the share of wrong labels in a sentence; empty before the first verdict.

    >>> describe_wrong_share(WrongLabelShare(40, 2, 0.0061, 0.1692, 0.95, 500)).partition(", an ")[2]
    'estimate of 5.0% of all labels (95% interval 0.6% to 16.9%).'
    >>> describe_wrong_share(WrongLabelShare(40, 1, 0.025, 0.025, 0.95, 40))
    '1 of all 40 questions is mislabeled (2.5%).'
    >>> describe_wrong_share(WrongLabelShare(1, 0, 0.0, 0.0, 0.95, 1))
    'The only question is not mislabeled.'
    """
    if share.n == 0:
        return ""
    verb, estimate = "is" if share.n_wrong == 1 else "are", f"{share.n_wrong / share.n:.1%}"
    if share.n == share.n_questions:
        if share.n == 1:
            return f"The only question is{'' if share.n_wrong else ' not'} mislabeled."
        return f"{share.n_wrong} of all {share.n} questions {verb} mislabeled ({estimate})."
    interval = f"{100 * share.level:g}% interval {share.low:.1%} to {share.high:.1%}"
    which = f"{share.n_wrong} of the first {share.n} random questions {verb}"
    if share.n == 1:
        which = f"The first random question is{'' if share.n_wrong else ' not'}"
    return f"{which} mislabeled, an estimate of {estimate} of all labels ({interval})."


def find_neighbours(
    queue: Sequence[Entry], place: int, choice: QueueFilter, verdicts: Mapping[str, Verdict]
) -> tuple[Entry | None, Entry | None]:
    """Return the nearest selected questions before and after a place in the queue."""
    before = (entry for entry in reversed(queue[:place]) if choice.takes(entry, verdicts))
    after = (entry for entry in queue[place + 1 :] if choice.takes(entry, verdicts))
    return next(before, None), next(after, None)


@dataclass(frozen=True, slots=True)
class ReviewGeneration:
    """One generation, with its completion cut to `MAX_TEXT` characters."""

    row: Response
    text: str | None
    n_cut: int
    """Number of characters that were cut off."""
    is_open: bool


@dataclass(frozen=True, slots=True)
class ReviewGroup:
    """Generations with the same answer."""

    title: str
    answer: str | None
    is_correct: bool
    n: int
    share: float
    """Mean over models of the share of their generations in this group."""
    models: tuple[tuple[str, int, int], ...]
    """Model, its generations here, and all of its generations; the largest share first."""
    n_favourite: int
    """Number of models that gave no other answer more often."""
    generations: tuple[ReviewGeneration, ...]


def group_generations(
    rows: Iterable[Response], target: str | None, *, expanded: int | None = None
) -> list[ReviewGroup]:
    """Return the generations of one question in groups of equal answers; see `results.answers.group_answers`.

    Parameters
    ----------
    rows
        Generations of one question.
    target
        Its target, where it is known.
    expanded
        Index of the group that is listed completely.
    """
    groups = group_answers(rows, target)
    n_open = _count_open([len(group.rows) for group in groups])
    return [
        ReviewGroup(
            title=str(group.answer) if group.kind == "answer" else _TITLES[group.kind],
            answer=group.answer,
            is_correct=group.is_correct,
            n=len(group.rows),
            share=group.share,
            models=_order_models(group),
            n_favourite=group.n_favourite,
            generations=tuple(
                _shorten_generation(row, is_open=j < n_open[i])
                for j, row in enumerate(group.rows if expanded == i else group.rows[:MAX_GENERATIONS])
            ),
        )
        for i, group in enumerate(groups)
    ]


def _order_models(group: AnswerGroup) -> tuple[tuple[str, int, int], ...]:
    """Return each model with its generations here and in all groups that count, the largest share first."""
    counts = group.kind in {"answer", "unparsed"}
    models = [(model, n, group.n_by_model[model] if counts else n) for model, n in group.models.items()]
    return tuple(sorted(models, key=lambda one: (-one[1] / one[2], one[0])))


def _count_open(sizes: list[int]) -> list[int]:
    """Return how many generations of each group are open at first: one of each group in turn."""
    n_open = [0] * len(sizes)
    for _ in range(min(MAX_OPEN, sum(sizes))):
        i = min((i for i, size in enumerate(sizes) if n_open[i] < size), key=lambda i: (n_open[i], i))
        n_open[i] += 1
    return n_open


def _shorten_generation(row: Response, *, is_open: bool) -> ReviewGeneration:
    """Return a generation with its completion cut."""
    text = row.completion
    return ReviewGeneration(row, text and text[:MAX_TEXT], max(0, len(text or "") - MAX_TEXT), is_open)
