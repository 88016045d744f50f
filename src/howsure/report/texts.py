"""The texts of a question as the page keeps them: generations grouped by answer, cut to what a reader reads.

Whatever a model wrote is hostile: here it becomes JSON in a script element, and the page shows it as text only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

from howsure.report.elements import to_json
from howsure.store.schema import Response

#: Characters of a completion, of a message of a prompt, and of an answer or anything else that is meant to be short.
COMPLETION, MESSAGE, SHORT = 4_000, 6_000, 400
#: Generations of a question that are kept with their texts, and groups of answers that are told apart.
SHOWN, GROUPS = 24, 30
#: Prompt variants of a question besides the default one, and choices.
VARIANTS, CHOICES = 6, 50
#: Questions that are asked of the source at once: a log is read through once for each such lot.
_LOT = 500


class Prompt(Protocol):
    """What was sent under one variant."""

    @property
    def variant(self) -> str:
        """Its name."""

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """Role and text of each message."""


class Asked(Protocol):
    """A question without its generations."""

    @property
    def question(self) -> str:
        """Its name."""

    @property
    def choices(self) -> tuple[str, ...]:
        """Texts to choose from, in the order of their letters."""

    @property
    def target(self) -> str | None:
        """The right answer."""

    @property
    def prompts(self) -> Sequence[Prompt]:
        """The default variant first."""


class QuestionText(Protocol):
    """A question and all its generations."""

    @property
    def asked(self) -> Asked:
        """What was asked."""

    @property
    def generations(self) -> tuple[Response, ...]:
        """What was written."""


class Texts(Protocol):
    """Where texts come from: `readers.texts.Texts`, or anything like it."""

    def read(self, benchmark: str, questions: Sequence[str]) -> Iterable[QuestionText]:
        """The questions in the order given; those that nothing is kept of are left out."""


def pages(texts: Texts, benchmark: str, order: Sequence[str], limits: Sequence[int]) -> list[dict[str, str]]:
    """Texts of the questions as JSON by name, for one page after the other, each filled in the order given.

    Parameters
    ----------
    order
        Questions, the most interesting first; reading stops when the last page is full.
    limits
        Bytes that each page may hold. A page after the first has at least one question.
    """
    found: list[dict[str, str]] = [{}]
    size = 0
    for one in _read(texts, benchmark, order):
        text = to_json(kept(one))
        if size + len(text) > limits[len(found) - 1] and (len(found) == 1 or found[-1]):
            if len(found) == len(limits):
                return found
            found.append({})
            size = 0
        found[-1][one.asked.question] = text
        size += len(text)
    return found


def _read(texts: Texts, benchmark: str, order: Sequence[str]) -> Iterator[QuestionText]:
    names = iter(order)
    while lot := list(islice(names, _LOT)):
        yield from texts.read(benchmark, lot)


def kept(one: QuestionText) -> dict[str, Any]:
    """What the page keeps of a question, for JSON; a text that was cut is [beginning, characters more]."""
    asked, rows = one.asked, one.generations
    groups = _groups(rows, asked.target)
    shown = _spread(groups[:GROUPS])
    used = {row.variant for own in shown for row in own}
    default, others = asked.prompts[:1], asked.prompts[1:]
    others = sorted(others, key=lambda prompt: prompt.variant not in used)[:VARIANTS]
    return {
        "target": _cut(asked.target, SHORT),
        "choices": [_cut(text, SHORT) for text in asked.choices[:CHOICES]],
        "variants": [
            {"name": prompt.variant, "messages": [[role, _cut(text, MESSAGE)] for role, text in prompt.messages]}
            for prompt in (*default, *others)
        ],
        "more_variants": len(asked.prompts) - len(default) - len(others),
        "several_variants": len({row.variant for row in rows}) > 1,
        "status": dict(Counter(row.status for row in rows)),
        "generations": len(rows),
        "groups": [
            group.kept() | {"shown": [_generation(row) for row in own]}
            for group, own in zip(groups[:GROUPS], shown, strict=True)
        ],
        "more_groups": [len(groups[GROUPS:]), sum(len(group.rows) for group in groups[GROUPS:])],
    }


#: Kinds of group, in the order in which they stand.
_ANSWERED, _UNREAD, _FAILED = "answer", "unread", "failed"
_KINDS = (_ANSWERED, _UNREAD, _FAILED)


class _Group:
    """Generations with the same answer, or without any."""

    def __init__(self, kind: str, answer: str | None, rows: Sequence[Response], target: str | None) -> None:
        self.kind, self.answer, self.rows = kind, answer, rows
        self.models = Counter(row.model for row in rows)
        self.share = 0.0  # mean over models of the share of their generations that are here
        scores = [row.score for row in rows if row.score is not None]
        # By the scores where there are some, which see two ways to write the same.
        right = sum(scores) >= len(scores) / 2 if scores else answer == target
        self.right = kind == _ANSWERED and right

    def kept(self) -> dict[str, Any]:
        told = sorted(self.models.items(), key=lambda one: (-one[1], one[0]))
        return {
            "kind": self.kind,
            "answer": _cut(self.answer, SHORT),
            "n": len(self.rows),
            "share": round(self.share, 4),
            "right": self.right,
            "models": [list(one) for one in told],
        }


def _groups(rows: Sequence[Response], target: str | None) -> list[_Group]:
    """By share, the largest first; then what has no answer, and what failed, which has no share."""
    parts: defaultdict[tuple[str, str | None], list[Response]] = defaultdict(list)
    for row in rows:
        kind = _FAILED if row.status == "error" else _UNREAD if row.answer is None else _ANSWERED
        parts[kind, row.answer if kind == _ANSWERED else None].append(row)
    groups = [_Group(kind, answer, own, target) for (kind, answer), own in parts.items()]
    totals = sum((group.models for group in groups if group.kind != _FAILED), Counter[str]())
    for group in groups:
        if group.kind != _FAILED:
            group.share = sum(n / totals[model] for model, n in group.models.items()) / len(totals)
    return sorted(groups, key=lambda group: (_KINDS.index(group.kind), -group.share, group.answer or ""))


def _spread(groups: Sequence[_Group]) -> list[list[Response]]:
    """Generations to show of each group: one of each group in turn, in each group one of each model in turn."""
    waiting = [_in_turn(group.rows) for group in groups]
    shown: list[list[Response]] = [[] for _ in groups]
    left = SHOWN
    while left and any(waiting):
        for own, rest in zip(shown, waiting, strict=True):
            if left and rest:
                own.append(rest.pop(0))
                left -= 1
    return shown


def _in_turn(rows: Sequence[Response]) -> list[Response]:
    """The first rows, one of each model in turn."""
    seen: Counter[str] = Counter()
    ranked = []
    for i, row in enumerate(rows):
        ranked.append((seen[row.model], i))
        seen[row.model] += 1
    return [rows[i] for _, i in sorted(ranked)[:SHOWN]]


def _generation(row: Response) -> dict[str, Any]:
    """One generation, without what is not known."""
    told = {
        "model": row.model,
        "variant": row.variant,
        "generation": row.generation,
        "score": row.score,
        "status": None if row.status == "ok" else row.status,
        "rule": _cut(row.rule, SHORT),
        "finish": _cut(row.finish_reason, SHORT),
        "tokens": None if row.completion_tokens is None else round(row.completion_tokens),
        "text": _cut(row.completion, COMPLETION),
        "error": _cut(row.error, SHORT),
    }
    return {name: value for name, value in told.items() if value is not None}


def _cut(text: str | None, most: int) -> str | list[str | int] | None:
    return text if text is None or len(text) <= most else [text[:most], len(text) - most]
