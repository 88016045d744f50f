"""Results to one self-contained HTML file.

The file loads nothing: scripts, styles and data are in it, and its content security policy allows only those, by hash.
Whatever a name or a manifest says is text: escaped by the template, or data in JSON that scripts show as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from howsure.errors import InputError, UnknownNameError
from howsure.report.assets import bundle, environment, hashed, template_text
from howsure.report.benchmark_report import Benchmark, Beside, Room
from howsure.report.elements import clean, to_json
from howsure.report.glossary import COLUMNS, TERMS
from howsure.report.sections import data_map, distributions, generations, rejected_questions
from howsure.report.sections import repeats as repeats_section
from howsure.report.sections.question_browser import BUDGET, Said
from howsure.report.texts import Texts
from howsure.stats.comparisons import POWER
from howsure.stats.core.cells import Cells, IntArray
from howsure.stats.core.claims import CLAIM_TEXTS
from howsure.stats.core.cube import Cube
from howsure.stats.questions import AnswerCounts

#: Every column of every table: heading and meaning.
_COLUMNS = COLUMNS
for _section in (generations, distributions, data_map, rejected_questions, repeats_section):
    _COLUMNS = _COLUMNS | _section.COLUMNS


@dataclass(frozen=True)
class Page:
    """A page, and the pages beside it that hold more texts, by their path from it."""

    html: str
    siblings: Mapping[str, str] = field(default_factory=dict)

    def save(self, path: str | Path) -> None:
        """Write all of them."""
        path = Path(path)
        for name, text in {path.name: self.html, **self.siblings}.items():
            file = path.parent / name
            try:
                if name != path.name:
                    file.parent.mkdir(exist_ok=True)
                file.write_text(text, encoding="utf-8", newline="\n")
            except OSError as error:
                raise InputError(f"cannot be written: {error.strerror}", where=str(file)) from error


def write(path: str | Path, runs: Sequence[Cells], **how: Any) -> None:
    """Write the report of `made` to a file, and to a folder beside it the texts that it has no room for."""
    made(runs, **{"name": Path(path).name} | how).save(path)


def build(runs: Sequence[Cells], **how: Any) -> str:
    """One HTML page; parameters as of `made`. Texts that it has no room for are left out."""
    return made(runs, **{"most_siblings": 0} | how).html


def made(
    runs: Sequence[Cells],
    *,
    cubes: Sequence[Cube] = (),
    unparsed: Mapping[str, IntArray] | None = None,
    repeats: Mapping[str, Sequence[Cells]] | None = None,
    answers: Mapping[str, AnswerCounts] | None = None,
    texts: Texts | None = None,
    verdicts: Mapping[str, Mapping[str, Said]] | None = None,
    everything: Sequence[Cells] = (),
    manifests: Sequence[Mapping[str, object]] = (),
    facts: Sequence[tuple[str, str]] = (),
    told: Sequence[str] = (),
    name: str = "report.html",
    most_siblings: int = 4,
    title: str | None = None,
    level: float = 0.95,
    reference: str | None = None,
    epsilon: float = 0.01,
    delta: float = 0.1,
) -> Page:
    """The page on these benchmarks.

    Parameters
    ----------
    runs
        Cells, one per benchmark.
    cubes
        The same by prompt variant, for the benchmarks that have several.
    unparsed
        Answers that could not be read, by benchmark, in the shape of its cube; they are among its `n` and score 0.
    repeats
        Runs of the same thing, by benchmark; in order.
    answers
        How often each model gave each answer, by benchmark.
    texts
        Where prompts and generations of single questions come from.
    verdicts
        What reviewers said, by benchmark and question.
    everything
        Cells with the questions that a review rejected and `runs` leave out.
    name, most_siblings
        Name of the file, for pages beside it to lead back to, and how many of these each benchmark may have.
    manifests
        What the run folders say about themselves, shown as they are.
    facts
        What else the header says of how all this was made: name and value.
    told
        What the sources could not say, a line each: shown above all benchmarks.
    title
        Title of the page; default: the name of the benchmark, or how many there are.
    level
        Level of all intervals, in (0, 1); 1 - level is the chance of any false claim among the pairs of a benchmark.
    reference
        Model that the others are compared with, on the benchmarks that have it; default: the highest score of each.
    epsilon, delta
        Deviation of a moment over prompts that is acceptable, and the probability of a larger one.

    Raises
    ------
    InputError
        When there is no benchmark or model at all, the reference is unknown, or the `report` extra is not installed.
    """
    runs = list(runs)
    if not any(cells.models and cells.questions for cells in runs):
        raise InputError("there is nothing to report: no benchmark with a model and a question")
    known = {model for cells in runs for model in cells.models}
    if reference is not None and reference not in known:
        raise UnknownNameError("model", reference, known, where="reference")
    script_bundle = bundle()  # before the statistics: a missing extra is told at once
    by_name = {cube.benchmark: cube for cube in cubes}
    parts = [
        Benchmark(
            cells,
            f"b{i}",
            level=level,
            reference=reference,
            beside=Beside(
                cube=by_name.get(cells.benchmark),
                unparsed=(unparsed or {}).get(cells.benchmark),
                runs=(repeats or {}).get(cells.benchmark, ()),
                answers=(answers or {}).get(cells.benchmark),
                texts=texts,
                verdicts=(verdicts or {}).get(cells.benchmark, {}),
                whole=next((one for one in everything if one.benchmark == cells.benchmark), None),
            ),
            room=Room(budget=BUDGET // sum(1 for one in runs if one.models), page=name, most_siblings=most_siblings),
            epsilon=epsilon,
            delta=delta,
        )
        for i, cells in enumerate(runs, 1)
        if cells.models and cells.questions
    ]
    heading = title or (parts[0].cells.benchmark if len(parts) == 1 else f"{len(parts)} benchmarks")
    style, script = (
        "\n".join(template_text(f"{part}.{kind}") for part in ("page", "question")) for kind in ("css", "js")
    )
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {hashed(script_bundle)} {hashed(script)}",
            f"style-src {hashed(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    template = environment().get_template("page.html")
    html: str = template.render(
        title=heading,
        parts=parts,
        level=f"{100 * level:g}",
        claims=CLAIM_TEXTS,
        power=f"{POWER:.0%}",
        manifests=[json.dumps(clean(m), indent=2, ensure_ascii=False, default=str) for m in manifests],
        sources_told=told,
        facts_of_all=facts,
        dates=_dates(manifests),
        columns=_COLUMNS,
        terms=TERMS,
        labels=to_json({name: label for name, (label, _) in _COLUMNS.items()}),
        version=version("howsure"),
        models=len(known),
        generations=sum(int(part.cells.n.sum()) for part in parts),
        policy=policy,
        style=style,
        script=script,
        bundle=script_bundle,
    )
    return Page(html, {path: text for part in parts if part.question for path, text in part.question.siblings.items()})


def _dates(manifests: Sequence[Mapping[str, object]]) -> str:
    """First and last day on which a run was begun, as the manifests say."""
    days = sorted({str(m["created"])[:10] for m in manifests if m.get("created")})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""
