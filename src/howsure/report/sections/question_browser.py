"""One question: which ones come first, whose texts the page has room for, and pages beside it for more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np

from howsure.report.assets import environment, hashed, template_text
from howsure.report.elements import clean, to_json
from howsure.report.sections.score_table import difficulty
from howsure.report.sentences.formatting import format_count
from howsure.report.texts import SHOWN, Texts, pages
from howsure.stats.core.cells import Cells, FloatArray

#: Bytes of texts in the page, and in each of the pages beside it.
BUDGET, _SIBLING = 2_000_000, 4_000_000
#: Scores of models on questions that are kept one by one; of more, only the mean over the models is.
_CELLS = 250_000


class Said(Protocol):
    """What a reviewer said: `review.verdicts.Verdict`, or anything like it."""

    @property
    def verdict(self) -> str:
        """A word."""

    @property
    def note(self) -> str:
        """What they noted."""

    @property
    def reviewer(self) -> str:
        """Who it was."""

    @property
    def when(self) -> str:
        """When, as ISO 8601."""


@dataclass(frozen=True)
class OneQuestion:
    """What `question.html` shows; its macro is `one_question(part.question, level)`.

    Attributes
    ----------
    part
        Id of the benchmark's part of the page, such as b1.
    scripts
        JSON by the id of its script element.
    siblings
        Pages that lie beside this one, by their path from it.
    left_out
        What there is no text of, each with the reason.
    """

    part: str
    benchmark: str
    lead: str
    scripts: Mapping[str, str]
    siblings: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    name: str = "question"
    title: str = "One question"
    link: str = "One question"


def question_section(
    cells: Cells,
    part: str,
    *,
    texts: Texts | None = None,
    suspects: Mapping[str, str] | None = None,
    verdicts: Mapping[str, Said] | None = None,
    budget: int = BUDGET,
    page: str = "report.html",
    most_siblings: int = 0,
) -> OneQuestion:
    """The last section of a benchmark, where every question can be opened.

    Parameters
    ----------
    part
        Id of the benchmark's part of the page.
    texts
        Where prompts and generations come from; without, a question shows what the models scored on it.
    suspects
        Questions whose label may be wrong, the most suspicious first, each with the reason in a few words.
    verdicts
        What reviewers said, by question.
    budget
        Bytes of texts that the page has room for.
    page
        Name of the page's file: pages beside it link back to it.
    most_siblings
        Pages beside it for texts that it has no room for, at most. They go to the folder `page` without its suffix,
        followed by `_files`.
    """
    suspects = {name: why for name, why in (suspects or {}).items() if name in cells.questions}
    names = _order(cells, tuple(suspects))
    limits = [budget, *[_SIBLING] * most_siblings]
    found = pages(texts, cells.benchmark, names, limits) if texts is not None else [{}]
    place = {name: i for i, name in enumerate(names)}
    held = {place[name]: i for i, page_texts in enumerate(found) for name in page_texts}
    folder = f"{page.rsplit('.', 1)[0]}_files"
    files = [f"{part}-{i}.html" for i in range(1, len(found))]
    index = _index(cells, names, suspects, verdicts or {}) | {"part": part, "page": held}

    def scripts(i: int, addresses: Sequence[str]) -> dict[str, str]:
        told = to_json(clean(index | {"here": i, "files": addresses}))
        return {f"questions-{part}": told} | {f"question-{part}-{place[name]}": text for name, text in found[i].items()}

    siblings = {}
    back = f"../{quote(page, safe='')}"
    for i, file in enumerate(files, 1):
        told = (
            f"Prompts and generations of {format_count(len(found[i]), 'question')}, which the report has no room for."
        )
        one = OneQuestion(part, cells.benchmark, told, scripts(i, [back, *files]))
        siblings[f"{folder}/{file}"] = _page(one, back)
    there = ["", *(f"{quote(folder, safe='')}/{file}" for file in files)]
    missing = len(names) - len(held)
    left_out = (f"prompts and generations of {format_count(missing, 'question')} ({_why(texts)})",) if missing else ()
    lead = _lead(cells, [len(page_texts) for page_texts in found], folder, texts, suspects=bool(suspects))
    return OneQuestion(part, cells.benchmark, lead, scripts(0, there), siblings, left_out)


def _why(texts: Texts | None) -> str:
    return "scores alone were read" if texts is None else "they are not in this page, or nothing is kept of them"


def _order(cells: Cells, suspects: Sequence[str]) -> list[str]:
    """Suspects as they are given; then where generations agree least; what nobody answered at the end."""
    spread = np.nan_to_num(disagreement(cells), nan=-1.0)
    rest = [cells.questions[i] for i in np.argsort(-spread, kind="stable")]
    return [*suspects, *(name for name in rest if name not in set(suspects))]


def disagreement(cells: Cells) -> FloatArray:
    """Variance of a generation's score on each question, over models of equal weight and their generations, shape (N,).

    NaN where nobody answered.
    """
    models = cells.answered.sum(axis=0)
    n = np.where(cells.answered, cells.n, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = (cells.total_sq / n).sum(axis=0) / models
        mean = (cells.total / n).sum(axis=0) / models
    spread: FloatArray = np.maximum(square - mean**2, 0)  # 1e-17 below 0 by rounding
    return spread


def _index(
    cells: Cells, names: Sequence[str], suspects: Mapping[str, str], verdicts: Mapping[str, Said]
) -> dict[str, Any]:
    """What the page knows of every question, in the order of `names`."""
    at = {name: i for i, name in enumerate(cells.questions)}
    order = np.array([at[name] for name in names], dtype=int)
    whole = cells.n.size <= _CELLS
    return {
        "benchmark": cells.benchmark,
        "names": list(names),
        "models": list(cells.models),
        "n": [_short(row) for row in cells.n[:, order]] if whole else None,
        "total": [_numbers(row) for row in cells.total[:, order]] if whole else None,
        "score": _numbers(difficulty(cells)[order]),
        "suspects": {i: suspects[name] for i, name in enumerate(names) if name in suspects},
        "verdicts": {
            i: [said.verdict, said.note, said.reviewer, said.when[:10]]
            for i, name in enumerate(names)
            if (said := verdicts.get(name)) is not None
        },
        **{
            kind: {} if counts is None else {i: int(n) for i, n in enumerate(counts.sum(axis=0)[order]) if n}
            for kind, counts in (("unparsed", cells.unparsed), ("failed", cells.failed))
        },
    }


def _short(counts: Any) -> int | list[int]:
    """One number where all are the same."""
    found: list[int] = counts.tolist()
    return found[0] if len(set(found)) == 1 else found


def _numbers(values: FloatArray) -> list[float | None]:
    """At 5 significant digits, whole ones without a point; NaN as None."""
    found: list[float] = values.tolist()
    return [None if math.isnan(v) else int(v) if v.is_integer() else float(f"{v:.5g}") for v in found]


def _lead(cells: Cells, counts: Sequence[int], folder: str, texts: Texts | None, *, suspects: bool) -> str:
    """What can be read of how many questions, and in which order they come."""
    N = len(cells.questions)
    first = "suspects first, then those" if suspects else "first those"
    order = f"Questions come in this order: {first} on which generations agree least."
    if texts is None or not sum(counts):
        why = "scores alone were read" if texts is None else "none are kept, or the page has no room for one"
        return f"What each model scored on a question; its prompt and generations are not in this page ({why}). {order}"
    what = f"The prompt, and up to {SHOWN} generations grouped by answer"
    if counts[0] == N:
        return f"{what}, of {'the one question' if N == 1 else f'all {N:,} questions'}. {order}"
    told = f"{what}: of {counts[0]:,} of {N:,} questions in this page"
    beside = sum(counts[1:])
    if beside:
        told += f", of {beside:,} more in {format_count(len(counts) - 1, 'file')} beside it ({folder})"
    left = N - sum(counts)
    if left:
        told += f"; of {format_count(left, 'question')} only what the models scored"
    return f"{told}. {order}"


def policy(style: str, *scripts: str) -> str:
    """A content security policy that allows these texts and nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(hashed, scripts))}",
            f"style-src {hashed(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _page(one: OneQuestion, back: str) -> str:
    """A page beside the report with the texts of some questions."""
    style = "\n".join(map(template_text, ("page.css", "question.css")))
    script = template_text("question.js")
    shell = environment().from_string(_SHELL)
    html: str = shell.render(one=one, back=back, style=style, script=script, policy=policy(style, script))
    return html


_SHELL = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{{ one.benchmark }}, questions – howsure</title>
<style>{{ style|safe }}</style>
</head>
{% from "question.html" import one_question, question_scripts %}
<body>
<header><p class="kind"><a href="{{ back }}">Evaluation report</a></p><h1>{{ one.benchmark }}</h1></header>
<main id="content">
{{ one_question(one, 2) }}
</main>
{{ question_scripts(one) }}
<script>{{ script|safe }}</script>
</body>
</html>
"""
