"""The texts of a question as the page keeps them: generations grouped by answer, cut to what a reader reads.

Whatever a model wrote is hostile: here it becomes JSON in a script element, and the page shows it as text only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

from howsure.readers.answers import AnswerGroup, group_answers
from howsure.readers.texts import QuestionGenerations
from howsure.reporting.elements import dump_json
from howsure.store.schema import Response

#: Characters of a completion, of a message of a prompt, and of an answer or anything else that is meant to be short.
COMPLETION, MESSAGE, SHORT = 4_000, 6_000, 400
#: Generations of a question that are kept with their texts, and groups of answers that are told apart.
SHOWN, GROUPS = 24, 30
#: Prompt variants of a question besides the default one, and choices.
VARIANTS, CHOICES = 6, 50
#: Questions that are asked of the source at once: a log is read through once for each such lot.
_LOT = 500


class Texts(Protocol):
    """Where texts come from: `readers.texts.QuestionTexts`, or anything like it."""

    def read(self, benchmark: str, questions: Sequence[str]) -> Iterable[QuestionGenerations]:
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
        text = dump_json(kept(one))
        if size + len(text) > limits[len(found) - 1] and (len(found) == 1 or found[-1]):
            if len(found) == len(limits):
                return found
            found.append({})
            size = 0
        found[-1][one.question.question] = text
        size += len(text)
    return found


def _read(texts: Texts, benchmark: str, order: Sequence[str]) -> Iterator[QuestionGenerations]:
    names = iter(order)
    while lot := list(islice(names, _LOT)):
        yield from texts.read(benchmark, lot)


def kept(one: QuestionGenerations) -> dict[str, Any]:
    """What the page keeps of a question, for JSON; a text that was cut is [beginning, characters more]."""
    question, rows = one.question, one.generations
    groups = group_answers(rows, question.target)
    shown = _spread(groups[:GROUPS])
    used = {row.variant for own in shown for row in own}
    default = question.prompts[:1]
    others = sorted(question.prompts[1:], key=lambda prompt: prompt.variant not in used)[:VARIANTS]
    return {
        "target": _cut(question.target, SHORT),
        "choices": [_cut(text, SHORT) for text in question.choices[:CHOICES]],
        "variants": [
            {"name": prompt.variant, "messages": [[role, _cut(text, MESSAGE)] for role, text in prompt.messages]}
            for prompt in (*default, *others)
        ],
        "more_variants": len(question.prompts) - len(default) - len(others),
        "several_variants": len({row.variant for row in rows}) > 1,
        "status": dict(Counter(row.status for row in rows)),
        "generations": len(rows),
        "groups": [
            _describe_group(group) | {"shown": [_generation(row) for row in own]}
            for group, own in zip(groups[:GROUPS], shown, strict=True)
        ],
        "more_groups": [len(groups[GROUPS:]), sum(len(group.rows) for group in groups[GROUPS:])],
    }


def _describe_group(group: AnswerGroup) -> dict[str, Any]:
    """Return a group for JSON, without its generations."""
    return {
        "kind": group.kind,
        "answer": _cut(group.answer, SHORT),
        "n": len(group.rows),
        "share": round(group.share, 4),
        "right": group.is_correct,
        "models": [list(one) for one in sorted(group.models.items(), key=lambda one: (-one[1], one[0]))],
    }


def _spread(groups: Sequence[AnswerGroup]) -> list[list[Response]]:
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
