"""Reports on several benchmarks as a folder: a sortable index and a page per benchmark, joined by relative links."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from howsure.errors import InputError
from howsure.notes import Note
from howsure.reporting.assets import build_policy, load_templates, read_template
from howsure.reporting.elements import clean_json
from howsure.reporting.figure_files import FigureStyle, format_csv, write_figures
from howsure.reporting.formatting import format_count, format_number, format_share, join_names
from howsure.reporting.page import Page, build_page, names_benchmark, write_text_file
from howsure.reporting.report_data import ReportData, ReportOptions
from howsure.reporting.sections.score_table import split_greedy_runs
from howsure.reporting.sections.summary import describe_verdict, group_by_verdict, judge_reference
from howsure.stats.comparisons import Pairs, ReferenceComparisons, compare_with_reference, pairs
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.strata import join_strata
from howsure.stats.core.text_table import choose_decimals
from howsure.stats.planning import FEWEST_MODELS_FOR_TAU
from howsure.stats.questions import compute_question_tau
from howsure.stats.scores import score

#: Name of the index page.
INDEX = "index.html"

#: Name of the file with the numbers of the index.
NUMBERS = "benchmarks.csv"

#: Suffixes of an output that is a single file.
_FILE_SUFFIXES = {".html", ".htm"}

#: File names that Windows reserves for devices, and the index.
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10)), "index"}

#: Columns of the index: heading and meaning. All errors are with one generation per question.
HEADINGS: dict[str, tuple[str, str]] = {
    "questions": ("Questions", "Questions of the benchmark, where scores of single questions are recorded."),
    "models": ("Models", "Models with a score."),
    "se_score": ("SE(A)", "Standard error of the score of a model."),
    "se_difference": (
        "SE(A − B)",
        (
            "Standard error of the difference of two models on the questions that both answered. Near 1.4 times SE(A) "
            "when the models have nothing in common; smaller when they find the same questions hard."
        ),
    ),
    "se_data": (
        "Data",
        (
            "Its part that comes from which questions were drawn: only more questions make it smaller. 0 where it is "
            "estimated below 0."
        ),
    ),
    "se_prediction": (
        "Prediction",
        "Its part that comes from sampling each model once: more questions or more generations make it smaller.",
    ),
    "correlation": ("Correlation", "Of two models' mean scores over the common questions: mean over the pairs."),
    "unsolved": ("Unsolved", "Questions that no generation of any model scored on; of scores in [0, 1]."),
    "negative": (
        "Negative tau",
        (
            "Share, among the questions on which models differ, of those that better models fail more (Kendall's tau "
            "with the score on the other questions is below 0), of benchmarks with five models or more. Wrong labels "
            "are among them; so is chance, which with few models makes up to half of all."
        ),
    ),
    "decided": ("Told apart", "Pairs of models with an adjusted p-value (Holm) below 1 − level."),
}


@dataclass(frozen=True)
class IndexRow:
    """Numbers of one benchmark in the index; NaN where the data do not provide one.

    Shares are in [0, 1], errors in units of the score.
    """

    benchmark: str
    file: str
    questions: float
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


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of all models on all benchmarks, and what all benchmarks say together.

    Attributes
    ----------
    benchmarks
        Name and file of each benchmark.
    rows
        Model, its scores as text and number by benchmark, its mean over all benchmarks, and the p-value of the combined
        test, each as text and as the number that it is sorted by; None where it is unknown.
    statement
        What all benchmarks say together, or why nothing is said; empty for a single model.
    correction
        That these scores are a judge's own, where people's labels correct those on pages of benchmarks; else empty.
    """

    benchmarks: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[tuple[str, float | None], ...]], ...]
    statement: str
    correction: str = ""


def build_score_matrix(
    benchmarks: Sequence[Cells],
    files: Mapping[str, str],
    *,
    reference: str | None = None,
    level: float = 0.95,
    corrected: Sequence[str] = (),
) -> ScoreMatrix:
    """Return the scores of all models on several benchmarks, and the combined test against a reference."""
    models = tuple(dict.fromkeys(model for cells in benchmarks for model in cells.models))
    table = np.full((len(models), len(benchmarks)), np.nan)
    for column, cells in enumerate(benchmarks):
        table[[models.index(model) for model in cells.models], column] = cells.average_questions()
    has_means = all(cells.unit for cells in benchmarks)
    means = np.mean(table, axis=1) if has_means else np.full(len(models), np.nan)
    chosen_by_scores = reference not in models
    best = [] if np.all(np.isnan(means)) else np.flatnonzero(means >= np.nanmax(means) - 1e-12).tolist()
    if chosen_by_scores:
        reference = models[best[0]] if best else None
    p_of, statement = {}, ""
    if reference is None or not has_means:
        why = (
            "No model has a score on all benchmarks"
            if has_means
            else "Scores of some benchmarks are not between 0 and 1, so means over several say nothing"
        )
        statement = f"{why}: there is no mean over them, and no combined test."
    elif len(models) > 1 and len(benchmarks) > 1:
        joined = join_strata(benchmarks, "macro")
        compared = compare_with_reference(pairs(joined, level=level), reference, chosen_by_scores=chosen_by_scores)
        p_of = dict(zip(compared.models, compared.p_holm.tolist(), strict=True))
        mean = means[models.index(reference)]
        of_several = f"one of {len(best)} with" if len(best) > 1 else "which has"
        why = f", {of_several} the highest mean score ({format_number(mean, 3)})," if chosen_by_scores else ""
        is_whole = ~np.isnan(table).any(axis=1)
        tested = [models.index(model) for model, p in p_of.items() if not math.isnan(p)]
        on_all = bool(np.all(is_whole[[models.index(reference), *tested]]))
        statement = _describe_reference(f"{reference}{why}", compared, on_all=on_all)
    order = sorted(range(len(models)), key=lambda m: (np.isnan(means[m]), -np.nan_to_num(means[m]), models[m]))
    rows = []
    for m in order:
        p = p_of.get(models[m], math.nan)
        texts = [*(format_number(value, 3) for value in table[m]), format_number(means[m], 3)]
        texts.append(
            "reference" if models[m] == reference else "–" if math.isnan(p) else "<0.0001" if p < 1e-4 else f"{p:.4f}"
        )
        numbers = [*table[m].tolist(), float(means[m]), p]
        cells_of_row = [(text, None if math.isnan(x) else x) for text, x in zip(texts, numbers, strict=True)]
        rows.append((models[m], tuple(cells_of_row)))
    return ScoreMatrix(
        tuple((cells.benchmark, files[cells.benchmark]) for cells in benchmarks),
        tuple(rows),
        statement,
        _describe_correction(corrected, has_test=bool(p_of)),
    )


def _describe_correction(corrected: Sequence[str], *, has_test: bool) -> str:
    """Return which scores people's labels correct on pages of benchmarks and not here; empty without such scores."""
    if not corrected:
        return ""
    pages = f"the {'page' if len(corrected) == 1 else 'pages'} of {join_names(corrected)}"
    here = "here and in the combined test" if has_test else "here"
    return f"People's labels correct the scores on {pages}; {here} they are the judge's own."


def _describe_reference(reference: str, compared: ReferenceComparisons, *, on_all: bool) -> str:
    """Return what the benchmarks together say of a reference, which is named with the reason why it is one.

    `on_all` states whether each test is on all benchmarks, rather than on those that two models have in common.
    """
    counts = Counter(judge_reference(compared))
    n_untested = counts.pop("not testable", 0)
    why = "no benchmark has both, or an error is unknown"
    untested = f"{format_count(n_untested, 'model')} cannot be tested against it: {why}"
    n_tested = counts.total()
    if not n_tested:
        return f"All benchmarks together say nothing of {reference.rstrip(',')}: {untested}."
    which = "All benchmarks together" if on_all else "The benchmarks that two models have in common, taken together"
    groups = group_by_verdict(compared, compared.models)
    worse = f" and behind {len(groups['above']):,}" if groups["above"] else ""
    rest = f"; {n_open:,} cannot be told apart from it" if (n_open := counts["not distinguishable"]) else ""
    rest += f"; {counts['undecided']:,} may be, by answers that could not be read" if counts["undecided"] else ""
    return (
        f"{which}, by the mean of their differences: {reference} is ahead of {len(groups['below']):,} of "
        f"{format_count(n_tested, 'model')} tested{worse}{rest}{f'; {untested}' if n_untested else ''}."
    )


def write_report(
    output: str | Path,
    data: ReportData,
    options: ReportOptions | None = None,
    *,
    figures: str | Path | None = None,
    figure_format: str = "svg",
    figure_style: FigureStyle | None = None,
) -> Path:
    """Write the report on any number of benchmarks to a file or a folder.

    Parameters
    ----------
    output
        `NAME.html` is a file for one benchmark, and stands for the folder NAME with several. A name without this
        suffix, or an existing folder, is a folder. A folder contains `index.html` and a page for each benchmark.
    data
        Results to show. In a folder, each page shows the manifests that name its benchmark, or no benchmark.
    options
        Options of the report; the title is that of the file or of the index.
    figures
        Folder to which every figure is written; with several benchmarks, each has a folder of its own there.
    figure_format
        File format of the figures, one of `figure_files.FIGURE_FORMATS`.
    figure_style
        Size, font size and theme of these figures.

    Returns
    -------
    Path
        The file to open.

    Raises
    ------
    InputError
        If the reference is unknown, a file cannot be written, or `index.html` exists and is not of howsure.
    """
    output, options = prepare_output(output), options or ReportOptions()
    benchmarks = [cells for cells in data.cells if cells.models and cells.questions]
    names = choose_file_names([cells.benchmark for cells in benchmarks])
    is_file = _is_file(output)
    if len(benchmarks) == 1 and is_file:
        page = build_page(data, options, file_name=output.name)
        page.save(output)
        if figures is not None:
            write_figures(figures, page.figures, file_format=figure_format, style=figure_style)
        return output
    data.check_reference(options.reference)
    folder = output.with_suffix("") if is_file else output
    _create_folder(folder)
    rows = []
    without_questions = {cube.benchmark for cube in data.cubes if cube.is_whole}
    for cells in benchmarks:
        name = names[cells.benchmark]
        page = _build_site_page(data, options, cells, f"{name}.html")
        page.save(folder / f"{name}.html")
        if figures is not None:
            write_figures(Path(figures) / name, page.figures, file_format=figure_format, style=figure_style)
        row = summarize_benchmark(
            cells, f"{name}.html", level=options.level, has_questions=cells.benchmark not in without_questions
        )
        decided, n_pairs = page.pair_counts[0]  # the page may compare prompt by prompt
        rows.append(replace(row, verdict=page.verdicts[0], decided=decided, n_pairs=n_pairs))
    write_text_file(folder / NUMBERS, format_csv(_tabulate_rows(rows)), newline="")
    # The index is last: a site that could not be finished has no new index.
    write_text_file(
        folder / INDEX,
        render_index(
            rows,
            models=len({model for cells in benchmarks for model in split_greedy_runs(cells)[0].models}),
            level=options.level,
            title=options.title,
            source_notes=data.source_notes,
            matrix=build_score_matrix(
                [split_greedy_runs(cells)[0] for cells in benchmarks],
                {name: f"{file}.html" for name, file in names.items()},
                reference=options.reference,
                level=options.level,
                corrected=[
                    cells.benchmark
                    for cells in benchmarks
                    if cells.benchmark in data.judges and data.judges[cells.benchmark].is_corrected
                ],
            ),
        ),
    )
    return folder / INDEX


def prepare_output(output: str | Path) -> Path:
    """Make the folder that an output is to lie in, so that a name that cannot be written is reported before any work.

    Raises
    ------
    InputError
        If the folder cannot be made, or nothing can be written to it.
    """
    output = Path(output)
    folder = output.parent if _is_file(output) else output
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be a folder: {error.strerror}", where=str(folder), remedy="name another") from error
    if not os.access(folder, os.W_OK | os.X_OK) or (output.is_file() and not os.access(output, os.W_OK)):
        raise InputError("cannot be written: Permission denied", where=str(output), remedy="name another with -o")
    return output


def _is_file(output: Path) -> bool:
    """Return whether an output is named like a single file."""
    return output.suffix.lower() in _FILE_SUFFIXES and not output.is_dir()


def _build_site_page(data: ReportData, options: ReportOptions, cells: Cells, file_name: str) -> Page:
    """Return the page of one benchmark of a site."""
    has_reference = options.reference in {None, *cells.models}
    strange = Note("no-reference", facts={"model": options.reference})
    own = replace(
        data,
        cells=[cells],
        manifests=[manifest for manifest in data.manifests if names_benchmark(manifest, cells.benchmark)],
        facts=(),  # they are of all benchmarks together
        source_notes=[
            *data.notes_by_benchmark.get(cells.benchmark, data.source_notes),
            *([] if has_reference else [strange]),
        ],
    )
    own_options = replace(options, title=None, reference=options.reference if has_reference else None)
    return build_page(own, own_options, file_name=file_name, index_address=INDEX)


def choose_file_names(benchmarks: Sequence[str]) -> dict[str, str]:
    """Return a file name without suffix for each benchmark that every file system and server accepts.

    >>> choose_file_names(["gsm8k", "a/b c", "../x", "GSM8K"])
    {'gsm8k': 'gsm8k-0eb1f54b', 'a/b c': 'a-b-c', '../x': 'x', 'GSM8K': 'GSM8K-c601f806'}
    """
    plain = {name: re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:80].strip("-._") or "benchmark" for name in benchmarks}
    folded = [file.casefold() for file in plain.values()]
    return {
        name: f"{file}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        if folded.count(file.casefold()) > 1 or file.casefold().partition(".")[0] in _RESERVED
        else file
        for name, file in plain.items()
    }


def summarize_benchmark(cells: Cells, file: str, *, level: float = 0.95, has_questions: bool = True) -> IndexRow:
    """Return the numbers of one benchmark for the index; `has_questions`: scores of single questions are recorded."""
    cells, _ = split_greedy_runs(cells)
    scores = score(cells, level=level)
    compared = pairs(cells, level=level) if len(cells.models) > 1 else None
    verdicts = list(compared.verdict) if compared is not None else []
    answering = int(np.sum(cells.answered.any(axis=1)))
    tau = compute_question_tau(cells).tau if answering >= FEWEST_MODELS_FOR_TAU else np.zeros(0)
    tau = tau[~np.isnan(tau)]
    answered = cells.answered.any(axis=0)
    unsolved = int(np.sum(answered & ~np.any(cells.total > 0, axis=0))) if cells.unit and has_questions else math.nan
    return IndexRow(
        benchmark=cells.benchmark,
        file=file,
        questions=len(cells.questions) if has_questions else math.nan,
        models=answering,
        se_score=_root_mean(score(cells, claim="single-run").variance),
        **_average_errors(compared),
        unsolved=unsolved,
        negative=float(np.mean(tau < 0)) if len(tau) else math.nan,
        decided=verdicts.count("distinguishable"),
        n_pairs=len(verdicts),
        verdict=describe_verdict(scores, compared),
    )


def _average_errors(compared: Pairs | None) -> dict[str, float]:
    """Return the root mean square errors of a difference and the mean correlation.

    The mean is over the pairs whose data and prediction noise are known, or over all pairs if there are none.
    """
    names = ("se_difference", "se_data", "se_prediction", "correlation")
    if compared is None:
        return dict.fromkeys(names, math.nan)
    N = np.where(compared.n_questions > 0, compared.n_questions, np.nan)
    split = ~np.isnan(compared.prediction) if np.any(~np.isnan(compared.prediction)) else np.full(len(N), True)
    squares = (compared.total / N, compared.data / N, compared.prediction / N)
    if compared.n_clusters is not None:  # the noise of questions is that of their clusters
        single = pairs(compared.cells, claim="single-run").variance
        squares = (single, single - compared.prediction / N, compared.prediction / N)
    available = compared.correlation[np.isfinite(compared.correlation)]
    correlation = float(np.mean(available)) if len(available) else math.nan
    return dict(zip(names, [*(_root_mean(square[split]) for square in squares), correlation], strict=True))


def _root_mean(squares: FloatArray) -> float:
    """Return the root of the mean of squared errors, for which data and prediction add up to the total as in a pair."""
    available = squares[np.isfinite(squares)]
    return math.sqrt(max(float(np.mean(available)), 0)) if len(available) else math.nan


def render_index(
    rows: Sequence[IndexRow],
    *,
    models: int,
    level: float = 0.95,
    title: str | None = None,
    source_notes: Sequence[Note] = (),
    matrix: ScoreMatrix | None = None,
) -> str:
    """Return the index as HTML, which is complete without scripts; a script sorts it."""
    style, script = read_template("page.css") + read_template("site.css"), read_template("site.js")
    html: str = (
        load_templates()
        .get_template("site.html")
        .render(
            title=title or "Benchmarks",
            rows=[(row, _format_row(row)) for row in rows],
            headings=HEADINGS,
            counts=f"{format_count(len(rows), 'benchmark')} and {format_count(models, 'model')}",
            numbers=NUMBERS,
            level=f"{100 * level:g}",
            source_notes=source_notes,
            matrix=matrix,
            style=style,
            script=script,
            policy=build_policy([style], [script]),
            version=version("howsure"),
        )
    )
    return html


def _format_row(row: IndexRow) -> dict[str, tuple[str, float | None]]:
    """Return the text of each column and the number that it is sorted by."""
    places = choose_decimals(np.array([row.se_score, row.se_difference, row.se_data, row.se_prediction]))
    errors = ("se_score", "se_difference", "se_data", "se_prediction")
    texts = {
        "questions": _format_whole(row.questions),
        "models": f"{row.models:,}",
        **{name: format_number(getattr(row, name), places) for name in errors},
        "correlation": format_number(row.correlation, 2),
        "unsolved": _format_whole(row.unsolved),
        "negative": format_share(row.negative),
        "decided": f"{row.decided:,} of {row.n_pairs:,}" if row.n_pairs else "–",
    }
    numbers = {name: float(getattr(row, name)) for name in HEADINGS}
    numbers["decided"] = row.decided / row.n_pairs if row.n_pairs else math.nan
    return {name: (text, None if math.isnan(numbers[name]) else numbers[name]) for name, text in texts.items()}


def _format_whole(count: float) -> str:
    """Return a count, or a dash where it is unknown.

    >>> _format_whole(1200), _format_whole(math.nan)
    ('1,200', '–')
    """
    return "–" if math.isnan(count) else f"{count:,.0f}"


def _tabulate_rows(rows: Sequence[IndexRow]) -> dict[str, list[Any]]:
    """Return the columns of the index's CSV file."""
    return {field.name: [clean_json(getattr(row, field.name)) for row in rows] for field in fields(IndexRow)}


def _create_folder(folder: Path) -> None:
    """Create the folder; raise an error if it has an index that howsure did not write."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        index = (folder / INDEX).read_text(encoding="utf-8", errors="replace") if (folder / INDEX).exists() else None
    except OSError as error:
        raise InputError(f"cannot be a folder: {error.strerror}", where=str(folder), remedy="name another") from error
    if index is not None and '<meta name="generator" content="howsure' not in index[:4000]:
        raise InputError(f"has an {INDEX} that howsure did not make", where=str(folder), remedy="name another folder")
