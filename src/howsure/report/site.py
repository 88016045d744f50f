"""Several benchmarks as a folder: an index that can be sorted, and a page for each, joined by relative links."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from howsure.errors import InputError, UnknownNameError
from howsure.report import figure_files, page
from howsure.report.assets import environment, hashed, template_text
from howsure.report.elements import clean
from howsure.report.sentences.formatting import choose_decimals, format_count, format_number, format_share
from howsure.report.sentences.summary import describe_verdict, judge_pairs
from howsure.stats.comparisons import Pairs, pairs
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.questions import compute_question_tau
from howsure.stats.scores import score

#: The page that leads to all others.
INDEX = "index.html"

#: Its numbers for a program.
NUMBERS = "benchmarks.csv"

#: Endings of an output that is to be one file.
_FILES = {".html", ".htm"}

#: Names that Windows keeps for devices, and ours.
_TAKEN = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10)), "index"}

#: Models from which on the sign of a question's tau says something.
_FEWEST = 5

#: Columns of the index: heading and meaning. All errors are with one generation per question.
HEADINGS: dict[str, tuple[str, str]] = {
    "questions": ("Questions", "Questions of the benchmark."),
    "models": ("Models", "Models with a score."),
    "se_score": ("SE(A)", "Standard error of the score of a model."),
    "se_difference": (
        "SE(A − B)",
        (
            "Standard error of the difference of two models on the questions that both answered. Near 1.4 times SE(A) "
            "when the models have nothing in common; smaller when they find the same questions hard."
        ),
    ),
    "se_data": ("Data", "Its part that comes from which questions were drawn: only more questions make it smaller."),
    "se_prediction": ("Prediction", "Its part that comes from sampling each model once: more generations do, too."),
    "correlation": ("Correlation", "Of two models' mean scores over the common questions: mean over the pairs."),
    "unsolved": ("Unsolved", "Questions that no generation of any model scored on; of scores in [0, 1]."),
    "negative": (
        "Negative tau",
        (
            "Share of the questions that better models fail more (Kendall's tau with the score on the other questions "
            "is below 0), of benchmarks with five models or more. Wrong labels are among them; so is chance, which "
            "with few models makes up to half of all."
        ),
    ),
    "decided": ("Told apart", "Pairs of models with an adjusted p-value (Holm) below 1 − level."),
}


@dataclass(frozen=True)
class Row:
    """One benchmark; numbers are NaN where the data do not say. Shares are in [0, 1], errors in units of the score."""

    benchmark: str
    file: str
    questions: int
    models: int
    se_score: float
    se_difference: float
    se_data: float
    se_prediction: float
    correlation: float
    unsolved: float
    negative: float
    decided: int
    n_pairs: int
    verdict: str


def write(
    output: str | Path,
    runs: Sequence[Cells],
    *,
    title: str | None = None,
    level: float = 0.95,
    manifests: Sequence[Mapping[str, object]] = (),
    told: Sequence[str] = (),
    figures: str | Path | None = None,
    form: str = "svg",
    **how: Any,
) -> Path:
    """Write the report of any number of benchmarks: one file, or a folder.

    Parameters
    ----------
    output
        `NAME.html` is one file when there is one benchmark, and the folder NAME when there are several; a name without
        this ending, or a folder that is there, is a folder. A folder gets `index.html` and a page for each benchmark.
    runs
        Cells, one per benchmark.
    title
        Of the file, or of the index.
    level, manifests, told
        As for `page.made`. Each page has the manifests that name its benchmark, or no benchmark.
    figures, form
        Folder to which every figure is exported, and the file format (`figure_files.FORMATS`). With several benchmarks,
        each has a folder of its own there.
    how
        Everything else that `page.made` takes.

    Returns
    -------
    Path
        The file to open.

    Raises
    ------
    InputError
        When there is nothing to report, or a file cannot be written or is somebody else's.
    """
    output = Path(output)
    some = [cells for cells in runs if cells.models and cells.questions]
    names = file_names([cells.benchmark for cells in some])
    is_file = output.suffix.lower() in _FILES and not output.is_dir()
    if len(some) < 2 and is_file:
        alone = page.made(runs, name=output.name, title=title, level=level, manifests=manifests, told=told, **how)
        alone.save(output)
        if figures is not None:
            figure_files.write(figures, alone.html, form=form)
        return output
    if not some:
        raise InputError("there is nothing to report: no benchmark with a model and a question")
    known = {model for cells in some for model in cells.models}
    if (reference := how.pop("reference", None)) is not None and reference not in known:
        raise UnknownNameError("model", reference, known, where="reference")
    how.pop("facts", None)  # of all benchmarks together: they would be wrong on the page of one
    folder = output.with_suffix("") if is_file else output
    _claim(folder)
    for cells in some:
        own = [manifest for manifest in manifests if _speaks_of(manifest, cells.benchmark)]
        there = reference in {None, *cells.models}
        strange = [] if there else [f"{reference} was not run on this benchmark: the reference is the highest score."]
        file = f"{names[cells.benchmark]}.html"
        made = page.made(
            [cells],
            name=file,
            level=level,
            manifests=own,
            told=[*told, *strange],
            reference=reference if there else None,
            **how,
        )
        replace(made, html=_with_way_back(made.html)).save(folder / file)
        if figures is not None:
            figure_files.write(Path(figures) / names[cells.benchmark], made.html, form=form)
    rows = [row(cells, f"{names[cells.benchmark]}.html", level=level) for cells in some]
    _save(folder / NUMBERS, figure_files.csv(_columns(rows)), newline="")
    # Last: a site that could not be finished has no new index.
    _save(folder / INDEX, index(rows, models=len(known), level=level, title=title, told=told))
    return folder / INDEX


def file_names(benchmarks: Sequence[str]) -> dict[str, str]:
    """A file name for each benchmark, without its ending, that every file system and every server takes as it is.

    >>> file_names(["gsm8k", "a/b c", "../x", "GSM8K"])
    {'gsm8k': 'gsm8k-0eb1f54b', 'a/b c': 'a-b-c', '../x': 'x', 'GSM8K': 'GSM8K-c601f806'}
    """
    plain = {name: re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:80].strip("-._") or "benchmark" for name in benchmarks}
    often = [one.casefold() for one in plain.values()]
    return {
        name: f"{one}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        if often.count(one.casefold()) > 1 or one.casefold().partition(".")[0] in _TAKEN
        else one
        for name, one in plain.items()
    }


def row(cells: Cells, file: str, *, level: float = 0.95) -> Row:
    """The numbers of one benchmark."""
    scores = score(cells, level=level)
    compared = pairs(cells, level=level) if len(cells.models) > 1 else None
    words = judge_pairs(compared) if compared is not None else []
    answering = int(np.sum(cells.answered.any(axis=1)))
    tau = compute_question_tau(cells).tau if answering >= _FEWEST else np.zeros(0)
    tau = tau[~np.isnan(tau)]
    answered = cells.answered.any(axis=0)
    unsolved = int(np.sum(answered & ~np.any(cells.total > 0, axis=0))) if cells.unit else math.nan
    return Row(
        benchmark=cells.benchmark,
        file=file,
        questions=len(cells.questions),
        models=answering,
        se_score=_typical(score(cells, claim="single-run").variance),
        **_errors(compared),
        unsolved=unsolved,
        negative=float(np.mean(tau < 0)) if len(tau) else math.nan,
        decided=words.count("distinguishable"),
        n_pairs=len(words),
        verdict=describe_verdict(scores, compared),
    )


def _errors(compared: Pairs | None) -> dict[str, float]:
    """Errors of a difference, root mean square over the pairs that can be split, or over all where none can be."""
    names = ("se_difference", "se_data", "se_prediction", "correlation")
    if compared is None:
        return dict.fromkeys(names, math.nan)
    N = np.where(compared.n_questions > 0, compared.n_questions, np.nan)
    split = ~np.isnan(compared.prediction) if np.any(~np.isnan(compared.prediction)) else np.full(len(N), True)
    squares = (compared.total / N, compared.data / N, compared.prediction / N)
    if compared.n_clusters is not None:  # the noise of questions is that of their clusters
        single = pairs(compared.cells, claim="single-run").variance
        squares = (single, single - compared.prediction / N, compared.prediction / N)
    known = compared.correlation[np.isfinite(compared.correlation)]
    correlation = float(np.mean(known)) if len(known) else math.nan
    return dict(zip(names, [*(_typical(square[split]) for square in squares), correlation], strict=True))


def _typical(squares: FloatArray) -> float:
    """Root of the mean of squared errors, so that data and prediction add up to the total as they do in one pair."""
    known = squares[np.isfinite(squares)]
    return math.sqrt(max(float(np.mean(known)), 0)) if len(known) else math.nan


def index(
    rows: Sequence[Row], *, models: int, level: float = 0.95, title: str | None = None, told: Sequence[str] = ()
) -> str:
    """The index as HTML: complete without scripts, which sort it.

    Parameters
    ----------
    models
        Different models of all benchmarks.
    """
    style, script = template_text("page.css") + template_text("site.css"), template_text("site.js")
    policy = (
        f"default-src 'none'; script-src {hashed(script)}; style-src {hashed(style)}; base-uri 'none'; "
        "form-action 'none'"
    )
    html: str = (
        environment()
        .get_template("site.html")
        .render(
            title=title or "Benchmarks",
            rows=[(one, _texts(one)) for one in rows],
            headings=HEADINGS,
            counts=f"{format_count(len(rows), 'benchmark')} and {format_count(models, 'model')}",
            numbers=NUMBERS,
            level=f"{100 * level:g}",
            sources_told=told,
            style=style,
            script=script,
            policy=policy,
            version=version("howsure"),
        )
    )
    return html


def _texts(one: Row) -> dict[str, tuple[str, float | None]]:
    """Each column as it is read, and the number that it is sorted by."""
    errors = np.array([one.se_score, one.se_difference, one.se_data, one.se_prediction])
    places = choose_decimals(errors)
    written = {
        "questions": f"{one.questions:,}",
        "models": f"{one.models:,}",
        **{
            name: format_number(getattr(one, name), places)
            for name in ("se_score", "se_difference", "se_data", "se_prediction")
        },
        "correlation": format_number(one.correlation, 2),
        "unsolved": "–" if math.isnan(one.unsolved) else f"{one.unsolved:,.0f}",
        "negative": format_share(one.negative),
        "decided": f"{one.decided:,} of {one.n_pairs:,}" if one.n_pairs else "–",
    }
    by = {name: float(getattr(one, name)) for name in HEADINGS}
    by["decided"] = one.decided / one.n_pairs if one.n_pairs else math.nan
    return {name: (text, None if math.isnan(by[name]) else by[name]) for name, text in written.items()}


def _columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    columns = {field.name: [getattr(one, field.name) for one in rows] for field in fields(Row)}
    return {name: [clean(value) for value in values] for name, values in columns.items()}


def _with_way_back(html: str) -> str:
    """A page of the site leads to its index."""
    way = f'<p class="kind"><a href="{INDEX}">All benchmarks</a></p>'
    return html.replace("<header>", f"<header>\n{way}", 1)


def _speaks_of(manifest: Mapping[str, object], benchmark: str) -> bool:
    """Whether a manifest names the benchmark, or does not say which it is about."""
    named = manifest.get("benchmarks")
    return not isinstance(named, Mapping) or benchmark in named


def _claim(folder: Path) -> None:
    """Make the folder; an index there that howsure did not make stays."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = (folder / INDEX).read_text(encoding="utf-8", errors="replace") if (folder / INDEX).exists() else None
    except OSError as error:
        raise InputError(f"cannot be a folder: {error.strerror}", where=str(folder), remedy="name another") from error
    if there is not None and '<meta name="generator" content="howsure' not in there[:4000]:
        raise InputError(f"has an {INDEX} that howsure did not make", where=str(folder), remedy="name another folder")


def _save(file: Path, text: str, *, newline: str = "\n") -> None:
    try:
        file.write_text(text, encoding="utf-8", newline=newline)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(file)) from error
