"""Prompts and generations of a question as JSON for the page: generations grouped by answer, long texts shortened.

Texts of models are hostile input: they become JSON in a script element, and the page shows them as text only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from howsure.readers.answers import AnswerGroup, group_answers
from howsure.readers.texts import QuestionGenerations, QuestionTexts
from howsure.reporting.elements import dump_json
from howsure.store.schema import Response

#: Largest number of characters of a completion, of a message of a prompt, and of an answer or another short text.
MAX_COMPLETION, MAX_MESSAGE, MAX_SHORT = 4_000, 6_000, 400

#: Largest number of generations of a question with their texts, and of groups of answers.
MAX_GENERATIONS, MAX_GROUPS = 24, 30

#: Largest number of prompt variants of a question besides the default one, and of choices.
MAX_VARIANTS, MAX_CHOICES = 6, 50

#: Number of questions that are read at once; a log is read through once for each such batch.
_BATCH = 500


def fill_pages(
    texts: QuestionTexts, benchmark: str, order: Sequence[str], limits: Sequence[int]
) -> list[dict[str, str]]:
    """Return the texts of the questions as JSON by name, for one page after the other.

    Parameters
    ----------
    texts
        Source of the texts.
    benchmark
        Name of the benchmark.
    order
        Questions, the most interesting first; reading stops when the last page is full.
    limits
        Bytes that each page may hold. A page after the first has at least one question.
    """
    pages: list[dict[str, str]] = [{}]
    size = 0
    for generations in _read_questions(texts, benchmark, order):
        text = dump_json(describe_question(generations))
        if size + len(text) > limits[len(pages) - 1] and (len(pages) == 1 or pages[-1]):
            if len(pages) == len(limits):
                return pages
            pages.append({})
            size = 0
        pages[-1][generations.question.question] = text
        size += len(text)
    return pages


def _read_questions(texts: QuestionTexts, benchmark: str, order: Sequence[str]) -> Iterator[QuestionGenerations]:
    """Yield the questions in the order given, read in batches."""
    names = iter(order)
    while batch := list(islice(names, _BATCH)):
        yield from texts.read(benchmark, batch)


def describe_question(generations: QuestionGenerations) -> dict[str, object]:
    """Return what the page stores of a question, for JSON; a shortened text is [beginning, further characters]."""
    question, rows = generations.question, generations.generations
    groups = group_answers(rows, question.target)
    selected = _select_generations(groups[:MAX_GROUPS])
    used = {row.variant for own in selected for row in own}
    default = question.prompts[:1]
    others = sorted(question.prompts[1:], key=lambda prompt: prompt.variant not in used)[:MAX_VARIANTS]
    return {
        "target": _shorten(question.target, MAX_SHORT),
        "choices": [_shorten(text, MAX_SHORT) for text in question.choices[:MAX_CHOICES]],
        "variants": [
            {
                "name": prompt.variant,
                "messages": [[role, _shorten(text, MAX_MESSAGE)] for role, text in prompt.messages],
            }
            for prompt in (*default, *others)
        ],
        "more_variants": len(question.prompts) - len(default) - len(others),
        "several_variants": len({row.variant for row in rows}) > 1,
        "status": dict(Counter(row.status for row in rows)),
        "generations": len(rows),
        "groups": [
            _describe_group(group) | {"shown": [_describe_generation(row) for row in own]}
            for group, own in zip(groups[:MAX_GROUPS], selected, strict=True)
        ],
        "more_groups": [len(groups[MAX_GROUPS:]), sum(len(group.rows) for group in groups[MAX_GROUPS:])],
    }


def _describe_group(group: AnswerGroup) -> dict[str, Any]:
    """Return a group for JSON, without its generations."""
    return {
        "kind": group.kind,
        "answer": _shorten(group.answer, MAX_SHORT),
        "n": len(group.rows),
        "share": round(group.share, 4),
        "right": group.is_correct,
        "models": [list(one) for one in sorted(group.models.items(), key=lambda one: (-one[1], one[0]))],
    }


def _select_generations(groups: Sequence[AnswerGroup]) -> list[list[Response]]:
    """Return the generations of each group with texts: one of each group in turn, and of each model in turn."""
    waiting = [_take_in_turn(group.rows) for group in groups]
    selected: list[list[Response]] = [[] for _ in groups]
    left = MAX_GENERATIONS
    while left and any(waiting):
        for own, rest in zip(selected, waiting, strict=True):
            if left and rest:
                own.append(rest.pop(0))
                left -= 1
    return selected


def _take_in_turn(rows: Sequence[Response]) -> list[Response]:
    """Return the first rows, one of each model in turn."""
    counts: Counter[str] = Counter()
    ranked = []
    for i, row in enumerate(rows):
        ranked.append((counts[row.model], i))
        counts[row.model] += 1
    return [rows[i] for _, i in sorted(ranked)[:MAX_GENERATIONS]]


def _describe_generation(row: Response) -> dict[str, Any]:
    """Return one generation without unknown fields."""
    fields = {
        "model": row.model,
        "variant": row.variant,
        "generation": row.generation,
        "score": row.score,
        "status": None if row.status == "ok" else row.status,
        "rule": _shorten(row.rule, MAX_SHORT),
        "finish": _shorten(row.finish_reason, MAX_SHORT),
        "tokens": None if row.completion_tokens is None else round(row.completion_tokens),
        "text": _shorten(row.completion, MAX_COMPLETION),
        "error": _shorten(row.error, MAX_SHORT),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _shorten(text: str | None, most: int) -> str | list[str | int] | None:
    """Return the text, or its beginning and the number of further characters."""
    return text if text is None or len(text) <= most else [text[:most], len(text) - most]
