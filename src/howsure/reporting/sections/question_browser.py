"""Section 10 of the page: one question at a time, with its prompts and generations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any
from urllib.parse import quote

import numpy as np

from howsure.reporting.assets import build_policy, load_templates, read_scripts, read_template
from howsure.reporting.elements import clean_json, dump_json
from howsure.reporting.formatting import format_count
from howsure.reporting.report_data import ReviewVerdict
from howsure.reporting.sections.score_table import mean_question_scores
from howsure.results.answers import AnswerGroup, group_answers
from howsure.results.texts import QuestionGenerations, QuestionText, QuestionTexts
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.store.schema import Response

#: Scores of models on questions that are stored one by one; of more, only the mean over the models is.
_MAX_CELLS = 250_000

#: Largest number of characters of a completion, of a message of a prompt, and of an answer or another short text.
MAX_COMPLETION, MAX_MESSAGE, MAX_SHORT = 4_000, 6_000, 400

#: Largest number of generations of a question with their texts, and of groups of answers.
MAX_GENERATIONS, MAX_GROUPS = 24, 30

#: Largest number of prompt variants of a question besides the default one, and of choices.
MAX_VARIANTS, MAX_CHOICES = 6, 50

#: Number of characters of a question that tooltips, lists and the text search have.
MAX_OPENING = 160

#: Number of questions that are read at once; a log is read through once for each such batch.
_BATCH = 500


@dataclass(frozen=True, kw_only=True)
class TextLimits:
    """Limits for the prompts and generations of a report.

    Attributes
    ----------
    page_bytes
        Bytes of texts in the page.
    file_bytes
        Bytes of texts in each further file.
    file_name
        Name of the page, which further files link to.
    max_files
        Largest number of further files. They lie in the folder `NAME_files`, where NAME is the page's name without its
        suffix.

    Examples
    --------
    >>> TextLimits(file_name="mine.html").divide(4).page_bytes
    500000
    """

    page_bytes: int = 2_000_000
    file_bytes: int = 4_000_000
    file_name: str = "report.html"
    max_files: int = 0

    def divide(self, n_benchmarks: int) -> TextLimits:
        """Return the limits of each benchmark on a page with several."""
        return replace(self, page_bytes=self.page_bytes // n_benchmarks)


@dataclass(frozen=True)
class QuestionBrowser:
    """Content of `question.html`; the page shows it with `{{ one_question(browser, level) }}`.

    Attributes
    ----------
    part
        Id of the benchmark on the page, such as `b1`.
    scripts
        JSON by the id of its script element.
    text_files
        Further pages with texts, by their path relative to the page.
    left_out
        Texts that are missing, with the reason.
    """

    part: str
    benchmark: str
    lead: str
    scripts: Mapping[str, str]
    text_files: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    name: str = "question"
    title: str = "One question"
    link: str = "One question"


def build_question_browser(
    cells: Cells,
    part: str,
    *,
    texts: QuestionTexts | None = None,
    label_errors: Mapping[str, str] | None = None,
    verdicts: Mapping[str, ReviewVerdict] | None = None,
    limits: TextLimits | None = None,
) -> QuestionBrowser:
    """Build the section of a benchmark in which every question can be opened."""
    limits = limits or TextLimits()
    label_errors = {name: why for name, why in (label_errors or {}).items() if name in cells.questions}
    names = _order_questions(cells, tuple(label_errors))
    sizes = [limits.page_bytes, *[limits.file_bytes] * limits.max_files]
    openings: dict[str, str] = {}
    contents = fill_pages(texts, cells.benchmark, names, sizes, openings) if texts is not None else [{}]
    place = {name: i for i, name in enumerate(names)}
    page_of = {place[name]: i for i, questions in enumerate(contents) for name in questions}
    folder = f"{limits.file_name.rsplit('.', 1)[0]}_files"
    files = [f"{part}-{i}.html" for i in range(1, len(contents))]
    index = _build_index(cells, names, label_errors, verdicts or {}) | {"part": part, "page": page_of}
    index["openings"] = {place[name]: text for name, text in openings.items()}

    def build_scripts(i: int, addresses: Sequence[str]) -> dict[str, str]:
        scripts = {f"questions-{part}": dump_json(clean_json(index | {"here": i, "files": addresses}))}
        return scripts | {f"question-{part}-{place[name]}": text for name, text in contents[i].items()}

    text_files = {}
    back = f"../{quote(limits.file_name, safe='')}"
    for i, file in enumerate(files, 1):
        count = format_count(len(contents[i]), "question")
        lead = f"Prompts and generations of {count} for which the report has no space."
        browser = QuestionBrowser(part, cells.benchmark, lead, build_scripts(i, [back, *files]))
        text_files[f"{folder}/{file}"] = render_text_file(browser, back)
    addresses = ["", *(f"{quote(folder, safe='')}/{file}" for file in files)]
    missing = len(names) - len(page_of)
    reason = "no texts were read" if texts is None else "they are not in this page, or none are stored"
    left_out = (f"prompts and generations of {format_count(missing, 'question')} ({reason})",) if missing else ()
    lead = _describe_contents(cells, [len(one) for one in contents], folder, texts, has_label_errors=bool(label_errors))
    return QuestionBrowser(part, cells.benchmark, lead, build_scripts(0, addresses), text_files, left_out)


def _order_questions(cells: Cells, label_errors: Sequence[str]) -> list[str]:
    """Return the suspected label errors, then the other questions by decreasing disagreement."""
    spread = np.nan_to_num(score_variance(cells), nan=-1.0)
    rest = [cells.questions[i] for i in np.argsort(-spread, kind="stable")]
    return [*label_errors, *(name for name in rest if name not in set(label_errors))]


def score_variance(cells: Cells) -> FloatArray:
    """Return the variance of a generation's score on each question, shape (N,); NaN without any answer.

    Models have equal weight, and so have the generations of a model.
    """
    models = cells.answered.sum(axis=0)
    n = np.where(cells.answered, cells.n, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = (cells.total_sq / n).sum(axis=0) / models
        mean = (cells.total / n).sum(axis=0) / models
    variance: FloatArray = np.maximum(square - mean**2, 0)  # rounding can make it -1e-17
    return variance


def _build_index(
    cells: Cells, names: Sequence[str], label_errors: Mapping[str, str], verdicts: Mapping[str, ReviewVerdict]
) -> dict[str, Any]:
    """Return what the page stores of every question, in the order of `names`."""
    at = {name: i for i, name in enumerate(cells.questions)}
    order = np.array([at[name] for name in names], dtype=int)
    by_model = cells.n.size <= _MAX_CELLS
    return {
        "benchmark": cells.benchmark,
        "names": list(names),
        "models": list(cells.models),
        "n": [_shorten_counts(row) for row in cells.n[:, order]] if by_model else None,
        "total": [_round_values(row) for row in cells.total[:, order]] if by_model else None,
        "score": _round_values(mean_question_scores(cells)[order]),
        "suspects": {i: label_errors[name] for i, name in enumerate(names) if name in label_errors},
        "verdicts": {
            i: [verdict.verdict, verdict.note, verdict.reviewer, verdict.when[:10]]
            for i, name in enumerate(names)
            if (verdict := verdicts.get(name)) is not None
        },
        **{
            kind: {} if counts is None else {i: int(n) for i, n in enumerate(counts.sum(axis=0)[order]) if n}
            for kind, counts in (("unparsed", cells.unparsed), ("failed", cells.failed))
        },
    }


def _shorten_counts(counts: IntArray) -> int | list[int]:
    """Return a single number if all counts are equal."""
    values: list[int] = counts.tolist()
    return values[0] if len(set(values)) == 1 else values


def _round_values(values: FloatArray) -> list[float | None]:
    """Return the values with 5 significant digits, whole ones as int, and NaN as None."""
    listed: list[float] = values.tolist()
    return [None if math.isnan(v) else int(v) if v.is_integer() else float(f"{v:.5g}") for v in listed]


def _describe_contents(
    cells: Cells, counts: Sequence[int], folder: str, texts: QuestionTexts | None, *, has_label_errors: bool
) -> str:
    """Return how many questions have texts, where these are, and the order of the questions."""
    N = len(cells.questions)
    first = "suspected label errors first, then those" if has_label_errors else "first those"
    order = f"Questions come in this order: {first} on which generations agree least."
    if texts is None or not sum(counts):
        reason = "no texts were read" if texts is None else "none are stored, or the page has no space for one"
        return (
            "The page shows the score of each model on a question; prompts and generations are not in this page "
            f"({reason}). {order}"
        )
    what = f"The page shows the prompt and up to {MAX_GENERATIONS} generations grouped by answer"
    if counts[0] == N:
        return f"{what}, of {'the one question' if N == 1 else f'all {N:,} questions'}. {order}"
    text = f"{what}: of {counts[0]:,} of {N:,} questions in this page"
    in_files = sum(counts[1:])
    if in_files:
        text += f", of {in_files:,} more in {format_count(len(counts) - 1, 'file')} beside it ({folder})"
    rest = N - sum(counts)
    if rest:
        text += f"; of {format_count(rest, 'question')} only the scores of the models"
    return f"{text}. {order}"


def render_text_file(browser: QuestionBrowser, back: str) -> str:
    """Return a page beside the report with the texts of some questions; `back` is the address of the report."""
    style = "\n".join(map(read_template, ("page.css", "question.css")))
    script = read_scripts(["question.js"])
    html: str = (
        load_templates()
        .get_template("text_file.html")
        .render(browser=browser, back=back, style=style, script=script, policy=build_policy([style], [script]))
    )
    return html


def fill_pages(
    texts: QuestionTexts,
    benchmark: str,
    order: Sequence[str],
    limits: Sequence[int],
    openings: dict[str, str] | None = None,
) -> list[dict[str, str]]:
    """Return the texts of the questions as JSON by name, for one page after the other."""
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
        if openings is not None and (text_start := _shorten_question(generations.question)):
            openings[generations.question.question] = text_start
        size += len(text)
    return pages


def _shorten_question(question: QuestionText) -> str:
    """Return the first words of a question in one line, with an ellipsis where it goes on; empty without a text."""
    text = " ".join(question.text[: 2 * MAX_OPENING].split())
    return text if len(text) <= MAX_OPENING else f"{text[:MAX_OPENING].rstrip()}…"


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
