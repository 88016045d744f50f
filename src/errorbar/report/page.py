"""Results to one self-contained HTML file: the sections and their order.

The file loads nothing: scripts, styles and data are in it, and its content security policy allows only those, by hash.
Whatever a name or a manifest says is text: escaped by the template, or data in JSON that scripts show as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from errorbar.errors import InputError, UnknownNameError
from errorbar.report import answer, sentences
from errorbar.report.legend import COLUMNS, TERMS
from errorbar.stats.cells import Cells
from errorbar.stats.components import CLAIMS, Scores, score
from errorbar.stats.pairs import POWER, Pairs, pairs
from errorbar.stats.results import Columns

if TYPE_CHECKING:
    from errorbar.report.charts import Chart

__all__ = ["DRAWN", "PAIRS", "build", "write"]

#: Models that a figure with a row per model shows at most; the tables hold all.
DRAWN = 60

#: Pairs that a page carries and a scatter plot draws at most.
PAIRS = 12_000

#: Models whose distribution of P(correct) is drawn.
_DISTRIBUTIONS = 12

#: Marks from which a figure is drawn on a canvas with its text in SVG; below, all of it is SVG, sharp on paper.
_SVG_MARKS = 2_000


def write(
    path: str | Path,
    runs: Sequence[Cells],
    *,
    manifests: Sequence[Mapping[str, object]] = (),
    title: str | None = None,
    level: float = 0.95,
    reference: str | None = None,
) -> None:
    """Write the report of `build` to a file."""
    html = build(runs, manifests=manifests, title=title, level=level, reference=reference)
    try:
        Path(path).write_text(html, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(path)) from error


def build(
    runs: Sequence[Cells],
    *,
    manifests: Sequence[Mapping[str, object]] = (),
    title: str | None = None,
    level: float = 0.95,
    reference: str | None = None,
) -> str:
    """One HTML page on these benchmarks.

    Parameters
    ----------
    runs
        Cells, one per benchmark.
    manifests
        What the run folders say about themselves, shown as they are.
    title
        Title of the page; default: the name of the benchmark, or how many there are.
    level
        Level of all intervals, in (0, 1); 1 - level is the chance of any false claim among the pairs of a benchmark.
    reference
        Model that the others are compared with, on the benchmarks that have it; default: the highest score of each.

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
    bundle = _bundle()  # before the statistics: a missing extra is told at once
    parts = [
        _Benchmark(cells, f"b{i}", level, reference)
        for i, cells in enumerate(runs, 1)
        if cells.models and cells.questions
    ]
    name = title or (parts[0].cells.benchmark if len(parts) == 1 else f"{len(parts)} benchmarks")
    style, script = _template_text("page.css"), _template_text("page.js")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashed(bundle)} {_hashed(script)}",
            f"style-src {_hashed(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    template = _environment().get_template("page.html")
    html: str = template.render(
        title=name,
        parts=parts,
        level=f"{100 * level:g}",
        claims=CLAIMS,
        power=f"{POWER:.0%}",
        manifests=[json.dumps(_clean(m), indent=2, ensure_ascii=False, default=str) for m in manifests],
        dates=_dates(manifests),
        columns=COLUMNS,
        terms=TERMS,
        labels=_json({name: heading for name, (heading, _) in COLUMNS.items()}),
        version=version("errorbar"),
        models=len(known),
        generations=sum(int(part.cells.n.sum()) for part in parts),
        policy=policy,
        style=style,
        script=script,
        bundle=bundle,
    )
    return html


@dataclass(frozen=True)
class _Figure:
    """A drawing, the question it answers, its conclusion, and the numbers behind it."""

    id: str
    title: str
    caption: str
    description: str
    spec: str
    renderer: str
    table: str  # id of the table behind it
    height: int  # pixels kept free until it is drawn


class _Benchmark:
    """What the template shows of one benchmark; all text is plain."""

    def __init__(self, cells: Cells, id_: str, level: float, reference: str | None) -> None:
        self.cells, self.id = cells, id_
        self.scores: Scores = score(cells, level=level)
        self.pairs: Pairs | None = pairs(cells, level=level) if len(cells.models) > 1 else None
        self.order = answer.ordered(self.scores)
        self.verdict = sentences.verdict(self.scores, self.pairs)
        self.warnings = list(sentences.warnings(cells))
        if reference is not None and reference not in cells.models:
            self.warnings.append(f"{reference} was not run on this benchmark: the reference is the highest score.")
            reference = None
        self.reference = reference or next(iter(sentences.best(self.scores)), self.order[0])
        self.answer = answer.table(self.scores, self.order)
        self.tables: dict[str, str] = {
            f"{id_}-scores": _json(_plain(self.scores.columns())),
            f"{id_}-questions": _json(_plain(answer.questions(cells))),
        }
        if self.pairs is not None:
            self.tables[f"{id_}-pairs"] = _json(_plain(self._pair_rows(self.pairs)))
        self.comparisons = list(self._comparisons())
        self.noise = list(self._noise())
        self.difficulty = list(self._difficulty())

    def _pair_rows(self, pairs: Pairs) -> Columns:
        columns = pairs.columns()
        if len(pairs.a) <= PAIRS:
            return columns
        first = set(self.order[:DRAWN])
        kept = np.array(
            [
                {a, b} <= first or self.reference in {a, b}
                for a, b in zip(columns["model_a"].tolist(), columns["model_b"].tolist(), strict=True)
            ]
        )
        self.warnings.append(
            f"{len(pairs.a):,} pairs are too many for one page: its table of pairs has those among the first {DRAWN} "
            f"models and with {self.reference}."
        )
        return {name: values[kept] for name, values in columns.items()}

    def facts(self) -> Iterator[tuple[str, str]]:
        """What was run, in counts."""
        cells = self.cells
        yield "Models", f"{len(cells.models):,}"
        yield "Questions", f"{len(cells.questions):,}"
        yield "Generations scored", f"{int(cells.n.sum()):,}"
        counts = cells.n[cells.answered]
        if len(counts):
            low, high = int(counts.min()), int(counts.max())
            yield "Generations per question", f"{low:,}" if low == high else f"{low:,} to {high:,}"
        if cells.variants:
            yield "Prompt variants", f"{len(cells.variants):,}"
        yield "Scores", "0 or 1" if cells.binary else "between 0 and 1" if cells.unit else "any number"

    def methods(self) -> str:
        """How the intervals of the scores were made."""
        between = self.scores.interval()
        names = {
            "posterior": "the posterior of a proportion worth as many independent answers",
            "wilson-effective": "Wilson's for as many independent answers",
            "t": "Student's t",
            "clt": "normal (central limit theorem)",
        }
        counts = {m: int(np.sum((between.method == m) & ~np.isnan(between.low))) for m in np.unique(between.method)}
        told = [f"{names.get(m, m)} for {sentences.plural(count, 'model')}" for m, count in counts.items() if count]
        return "; ".join(told) or "none: no standard error is known"

    def decided(self) -> str:
        """Decided pairs out of all."""
        if self.pairs is None:
            return "–"
        words = sentences.verdicts(self.pairs)
        return f"{words.count('distinguishable'):,} of {len(words):,}"

    def _comparisons(self) -> Iterator[_Figure]:
        from errorbar.report import charts

        if self.pairs is None:
            return
        words, shown = sentences.verdicts(self.pairs), self.order[:DRAWN]
        others = [m for m in self.order if m != self.reference][:DRAWN]
        caption = sentences.forest(self.pairs, self.reference)
        if len(others) < len(self.order) - 1:
            caption += (
                f" Drawn for the first {len(others)} of {len(self.order) - 1:,} other models; the counts are over all."
            )
        description = f"Points with intervals: difference in score of each model from {self.reference}. {caption}"
        chart = charts.forest(self.pairs, self.reference, others, verdicts=words, description=description)
        yield self._figure(
            "forest", f"How far is each model from {self.reference}?", caption, chart, marks=3 * len(others)
        )
        if len(self.order) > 2:
            caption = sentences.matrix(self.pairs, len(shown))
            chart = charts.matrix(self.pairs, shown, verdicts=words, description=f"Grid of pairs of models. {caption}")
            title = "Which pairs of models can be told apart?"
            yield self._figure("matrix", title, caption, chart, table="pairs", marks=len(shown) ** 2)
        if len(self.pairs.a) > 2:
            every = -(-len(self.pairs.a) // PAIRS)
            caption = sentences.pair_errors(self.pairs, binary=self.cells.binary, every=every)
            chart = charts.pair_errors(
                self.pairs,
                binary=self.cells.binary,
                every=every,
                description=f"Scatter plot, one point per pair of models. {caption}",
            )
            title = "How large is the error of a difference, and what does theory expect?"
            yield self._figure("errors", title, caption, chart, table="pairs", marks=len(self.pairs.a))

    def _noise(self) -> Iterator[_Figure]:
        from errorbar.report import charts

        shown = self.order[:DRAWN]
        caption = sentences.components(self.scores, len(shown))
        chart = charts.components(self.scores, shown, description=f"Stacked bars, one per model. {caption}")
        title = "How much noise comes from the questions, how much from sampling?"
        yield self._figure("noise", title, caption, chart, table="scores", marks=2 * len(shown))

    def _difficulty(self) -> Iterator[_Figure]:
        from errorbar.report import charts

        cells = self.cells
        bins = charts.question_bins(answer.difficulty(cells), len(cells.models))
        if bins.max() >= 0:
            caption = sentences.difficulty(cells, bins)
            chart = charts.difficulty(
                cells,
                self.order,
                description=f"Heatmap of scores, models by skill and questions by difficulty. {caption}",
            )
            marks = len(cells.models) * (int(bins.max()) + 1)
            title = "Which questions are hard, and for whom?"
            yield self._figure("difficulty", title, caption, chart, table="questions", marks=marks)
        answered = [m for m in self.order if cells.answered[cells.index(m)].any()]
        if cells.unit and answered and (int(cells.n.max()) > 1 or not cells.binary):
            places = np.unique(np.linspace(0, len(answered) - 1, min(_DISTRIBUTIONS, len(answered))).astype(int))
            shown = [answered[i] for i in places]
            caption = sentences.distributions(cells, shown)
            chart = charts.distributions(cells, shown, description=f"Histograms, one per model. {caption}")
            title = "Are questions solved always, never or sometimes?"
            yield self._figure("distributions", title, caption, chart, marks=11 * len(shown))

    def _figure(
        self, name: str, title: str, caption: str, chart: Chart, *, table: str | None = None, marks: int
    ) -> _Figure:
        spec = chart.to_dict()
        if table is None:
            table = name
            self.tables[f"{self.id}-{name}"] = _json(_datum(spec))
        return _Figure(
            id=f"{self.id}-{name}",
            title=title,
            caption=caption,
            description=spec["description"],
            spec=_json(spec),
            renderer="svg" if marks < _SVG_MARKS else "hybrid",
            table=f"{self.id}-{table}",
            height=320,
        )


def _datum(spec: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The columns that a chart draws: the longest of its data."""
    found: list[dict[str, list[Any]]] = [
        rows[0] for rows in spec["datasets"].values() if all(isinstance(column, list) for column in rows[0].values())
    ]
    return max(found, key=lambda columns: len(next(iter(columns.values()))))


def _dates(manifests: Sequence[Mapping[str, object]]) -> str:
    """First and last day on which a run was begun, as the manifests say."""
    days = sorted({str(m["created"])[:10] for m in manifests if m.get("created")})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""


def _plain(columns: Columns) -> dict[str, list[Any]]:
    """Lists for JSON: numbers at 9 significant digits, NaN as null."""
    return {name: [_clean(v) for v in values.tolist()] for name, values in columns.items()}


def _clean(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.9g}") if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _clean(v) for key, v in value.items()}
    return [_clean(v) for v in value] if isinstance(value, (list, tuple)) else value


def _json(value: Any) -> str:
    """JSON that can stand in a script element: nothing in it opens or closes a tag."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII: no line separators of U+2028 either
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _template_text(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, of the version that Altair writes for."""
    try:
        import altair as alt
        import jinja2  # noqa: F401  told here with the others
        import vl_convert
    except ModuleNotFoundError as error:
        raise InputError(f"the report needs {error.name}", remedy="pip install 'errorbar[report]'") from error
    release = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    code: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", release)
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r", "")


def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
