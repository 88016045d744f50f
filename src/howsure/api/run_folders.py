"""Run an experiment, report on results, convert logs to run folders, and score stored completions again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeAlias, cast

from howsure.api.choices import CONVERSION_TARGETS, FIGURE_FORMATS, ConversionTarget, FigureFormat
from howsure.api.report_facts import count_usage, list_facts
from howsure.api.result_selection import ReviewedEvaluations, open_results, read_corrections, select_variant_cubes
from howsure.benchmarks import is_inspect_task
from howsure.errors import HowsureWarning, InputError
from howsure.notes import Note, ignore_notes, warn
from howsure.results.evaluations import Evaluations, read
from howsure.results.sources import Data
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import MeanClaim, check_choice, check_level
from howsure.stats.core.results import Result, Results

if TYPE_CHECKING:
    from howsure.reporting.report_data import ReportData
    from howsure.sample.experiment import Experiment

#: Results of models on one or several benchmarks.
CellsLike: TypeAlias = Data | Evaluations | Cells | Iterable[Cells]

#: Exit code of a run that was interrupted.
INTERRUPTED = 130


def run(
    experiment: str | Path,
    output: str | Path | None = None,
    *,
    retry: bool = False,
    shard: str | None = None,
    simulate: bool = False,
) -> Evaluations:
    """Sample, score and store what an experiment file describes.

    Running it again continues where it stopped: only missing generations are requested. Progress is printed on stderr.
    It works in a notebook too, where an event loop already runs.

    Parameters
    ----------
    experiment
        YAML file of the experiment; docs/experiment_keys.md describes its keys.
    output
        Run folder; None takes the name of the experiment without its suffix.
    retry
        True requests again what failed in earlier sessions.
    shard
        ``"I/N"``: only the I-th of N parts of the questions. Each part needs a folder of its own.
    simulate
        True puts simulated models in place of all models, and the folder's name ends in ``-simulated``.

    Returns
    -------
    Evaluations
        The results in the run folder, as `howsure.read` returns them.

    Raises
    ------
    InputError
        If the file does not describe an experiment.
    StoreError
        If the folder cannot be written, or belongs to another experiment.
    KeyboardInterrupt
        If the run was interrupted; what arrived is stored.

    Examples
    --------
    >>> import howsure as hs
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "exp.yaml")
    >>> _ = file.write_text("{benchmark: directions-small, models: [simulated/medium], generations: 2}")
    >>> results = hs.run(file)
    >>> hs.score(results)["n_questions"].tolist()
    [100]
    """
    experiment = Path(experiment)
    folder = Path(output) if output is not None else name_folder(experiment, simulate=simulate)
    code = sample_experiment(experiment, folder, retry=retry, shard=shard, simulate=simulate).exit_code
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return read(folder)


def name_folder(experiment: Path, *, simulate: bool = False) -> Path:
    """Return the run folder of an experiment without `output`: the name of the file without its suffix.

    With simulated models the name ends in "-simulated", so that they never stand beside real ones.

    Raises
    ------
    InputError
        If the path cannot be that of a file.

    Examples
    --------
    >>> name_folder(Path("studies/exp.yaml")).as_posix()
    'studies/exp'
    """
    if not experiment.name or experiment.is_dir():
        raise InputError("a folder, not an experiment", where=str(experiment), remedy="give a YAML file")
    return experiment.with_name(f"{experiment.stem}-simulated") if simulate else experiment.with_suffix("")


class SampledExperiment(NamedTuple):
    """How sampling an experiment ended, and how its scores are printed."""

    exit_code: int
    reference: list[Cells] | None = None
    """The reference results that the experiment borrows from."""
    claim: MeanClaim = "new-questions"
    """What the interval is about that ended the run; the usual claim without `until`."""
    level: float = 0.95
    """Coverage of that interval."""


def sample_experiment(
    experiment: Path,
    folder: Path,
    *,
    retry: bool = False,
    shard: str | None = None,
    simulate: bool = False,
    lines: TextIO | None = None,
) -> SampledExperiment:
    """Run an experiment and return its exit code, the results it borrows from, and claim and level of its rule to stop.

    `simulate` puts simulated models in place of its models. `lines` receives progress as JSON lines for a program, in
    place of the progress for a person.
    """
    from howsure.sample.reference_variants import select_reference
    from howsure.sample.run import load_shard, run_experiment

    described = load_shard(experiment, shard)
    if simulate:
        from howsure.sample.simulated_experiment import simulate_models

        described = simulate_models(described)
    if any(is_inspect_task(part.benchmark) for part in described.parts):
        from howsure.inspect_runs.task_run import run_inspect_task

        return SampledExperiment(run_inspect_task(described, folder, retry=retry, lines=lines))
    if described.judge is not None:
        return SampledExperiment(_sample_and_judge(described, folder, retry=retry, lines=lines))
    stopping = described.stopping
    # With one generation, such as a greedy one, the error for these questions is not known.
    is_repeated = all(config.generations > 1 for config in described.models)
    claim = stopping.claim if stopping is not None and is_repeated else "new-questions"
    level = stopping.level if stopping is not None else 0.95
    first = select_reference(described)
    if first is not None:
        code = _sample_reference_first(described, first, folder, retry=retry, lines=lines)
        return SampledExperiment(code, claim=claim, level=level)
    borrow = stopping.borrow if stopping is not None else None
    reference = read(_resolve(described.base, borrow)).cells() if borrow is not None else None
    code = run_experiment(described, folder, retry=retry, reference=reference, lines=lines)
    return SampledExperiment(code, reference, claim, level)


def _sample_reference_first(
    experiment: Experiment, first: Experiment, folder: Path, *, retry: bool, lines: TextIO | None
) -> int:
    """Sample the reference models in all variants, then the others in as many as were enough; return the exit code."""
    from howsure.sample.reference_variants import find_enough_variants, limit_other_models
    from howsure.sample.run import run_experiment

    code = run_experiment(first, folder, retry=retry, lines=lines)
    if code == INTERRUPTED or not (folder / "manifest.json").is_file():
        return code
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)  # the run has just printed them
        n_star_of, sentences = find_enough_variants(experiment, read(folder))
    for sentence in sentences:
        warn(Note("enough-variants", facts={"text": sentence}), stacklevel=3)
    rest = limit_other_models(experiment, n_star_of)
    return code if rest is None else max(code, run_experiment(rest, folder, retry=retry, lines=lines))


def _sample_and_judge(experiment: Experiment, folder: Path, *, retry: bool, lines: TextIO | None) -> int:
    """Sample an experiment, then ask its judge for the verdicts; return the exit code."""
    import msgspec

    from howsure.judging import judge_run
    from howsure.sample.run import run_experiment

    judge = experiment.judge
    assert judge is not None
    judge_run.check_judge(judge, experiment.budget)
    limits = experiment.budget
    if judge.budget is None:
        # One budget for both: what the judge has spent in earlier sessions is not there for completions.
        for place in judge_run.find_judge_folders(folder):
            limits = judge_run.limit_budget(limits, place) or limits
    code = run_experiment(msgspec.structs.replace(experiment, budget=limits), folder, retry=retry, lines=lines)
    if code == INTERRUPTED or not (folder / "manifest.json").is_file():
        return code
    rest = judge_run.limit_budget(experiment.budget, folder) if judge.budget is None else experiment.budget
    if rest is None:
        warn(Note("budget-spent", str(folder)), stacklevel=3)
        return code
    judged, _ = judge_run.judge_folder(folder, judge, rest, is_default=True, retry=retry, lines=lines)
    return judged if judged == INTERRUPTED else max(code, judged)


def _resolve(base: Path, path: str) -> str:
    """Return a path of the experiment file relative to the folder of that file; addresses such as s3://... stay."""
    return path if "://" in path else str(base / path)


def report(
    data: CellsLike,
    output: str | Path = "report.html",
    *,
    title: str | None = None,
    reference: str | None = None,
    level: float = 0.95,
    epsilon: float = 0.01,
    delta: float = 0.1,
    texts: bool = True,
    static_figures: bool = True,
    figures: str | Path | None = None,
    figure_format: FigureFormat = "svg",
    figure_style: str | None = None,
    exclude: str | Path | None = None,
    calibrate: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write a report that works offline: one HTML file, or a folder of them.

    Parameters
    ----------
    data
        Results of `howsure.read`, anything that it takes, or one or several `Cells`, whose report has no section on
        prompt variants, repeats, answers and texts.
    output
        The HTML file. For several benchmarks, or a name without ``.html``, a folder with an index and a page for each.
    title
        Title of the page, or of the index.
    reference
        Model that the others are compared with; by default the best.
    level
        Coverage of the intervals, between 0 and 1.
    epsilon, delta
        As for `variants`.
    texts
        Whether the page has prompts and generations.
    static_figures
        Whether the page has the drawings that are shown where scripts are off and where it is printed before its
        figures were on the screen; figures with thousands of marks have none.
    figures, figure_format
        Folder to which every figure and its numbers are exported, and the format: svg, png or pdf.
    figure_style
        Their width and height in inches, the size of their text in points, and light or dark, such as
        ``"width=3.3,height=4,font_size=8,theme=dark"``; each may be left out.
    exclude
        File of verdicts, as ``howsure review`` writes it: rejected questions are left out.
    calibrate
        File of people's labels of completions that a judge scored, as ``howsure review --random N`` makes it: the
        headline, the table of scores and the section on the judge have the scores that people would have given.
    progress
        Function that is called with the name of each step before it begins, such as ``"reading answers"``.

    Returns
    -------
    Path
        The file to open.

    Raises
    ------
    InputError
        If there is nothing to report, or a file cannot be written.

    Examples
    --------
    >>> import howsure as hs
    >>> import pyarrow as pa, tempfile, pathlib
    >>> frame = pa.table({"model": ["a", "a", "b", "b"], "question": ["1", "2", "1", "2"], "score": [1, 1, 0, 1]})
    >>> hs.report(frame, pathlib.Path(tempfile.mkdtemp(), "report.html")).name
    'report.html'
    """
    from howsure.api.judged_results import warn_of_correction
    from howsure.reporting.figure_files import parse_style
    from howsure.reporting.report_data import ReportData, ReportOptions
    from howsure.reporting.site import prepare_output, write_report

    check_level(level)
    check_choice("figure format", figure_format, FIGURE_FORMATS)
    style = parse_style(figure_style or "")
    prepare_output(output)
    notify = progress or (lambda _: None)
    cells = [data] if isinstance(data, Cells) else data
    if isinstance(cells, list | tuple) and cells and all(isinstance(one, Cells) for one in cells):
        if calibrate is not None:
            remedy = "give the run folder that the judge scored"
            raise InputError("labels are of completions, and cells have none", where=str(calibrate), remedy=remedy)
        report_data = ReportData(cells)
    else:
        results = open_results(cast("Data | Evaluations", data), exclude)
        with nullcontext() if calibrate is None else ignore_notes("judge-opinion"):
            report_data = _collect_report_data(results, texts=texts, labels=calibrate, notify=notify)
        if calibrate is not None:
            warn_of_correction(results, report_data.judges)
        if len(report_data.cells) > 1:
            _check_site_folder(Path(output), results)
    options = ReportOptions(
        title=title, level=level, reference=reference, epsilon=epsilon, delta=delta, static_figures=static_figures
    )
    notify("computing the statistics and writing the page" + " with prompts and generations" * bool(report_data.texts))
    return write_report(output, report_data, options, figures=figures, figure_format=figure_format, figure_style=style)


def _check_site_folder(output: Path, results: Evaluations) -> None:
    """Refuse NAME.html, which of several benchmarks is the folder NAME, where that folder has the results."""
    folder = output.with_suffix("")
    if output.suffix.lower() not in {".html", ".htm"} or not folder.is_dir():
        return
    for source in results.sources:
        path = Path(source.path).resolve()
        if path.is_relative_to(folder.resolve()):
            what = f"of several benchmarks this is the folder {folder}, which has results that are read: {source.path}"
            raise InputError(what, where=str(output), remedy="give another name with -o")


def build_live_page(folder: str) -> str:
    """Return the report of a run folder as it is now, as HTML."""
    from howsure.reporting.page import build_page

    return build_page(_collect_report_data(read(folder), texts=False, facts=False)).html


def _collect_report_data(
    results: Evaluations,
    *,
    texts: bool,
    facts: bool = True,
    labels: str | Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> ReportData:
    """Return the results as a report takes them; the warnings come last, when everything has been read."""
    from howsure.api.judged_results import state_correction, summarize_judges
    from howsure.reporting.report_data import ReportData

    notify("reading scores")
    judges = summarize_judges(results, labels) if facts else {}
    reviewed = results if isinstance(results, ReviewedEvaluations) else None
    cubes = list(select_variant_cubes(results).values())
    manifests = results.manifests()
    notify("reading runs")
    runs = results.runs()
    notify("reading answers")
    cells = results.cells()
    return ReportData(
        cells,
        cubes=cubes,
        unparsed=results.count_unparsed(cubes) if cubes and reviewed is None else {},
        variant_answers=results.count_variant_answers(cubes) if cubes and reviewed is None else {},
        repeats=runs,
        answers=results.answers(),
        texts=results.texts() if texts else None,
        verdicts=reviewed.verdicts() if reviewed else {},
        unreviewed_cells=reviewed.all_questions.cells() if reviewed else (),
        judges=judges,
        manifests=manifests,
        facts=list(list_facts(results.sources, manifests, results.benchmarks)) if facts else (),
        usage=count_usage(results.sources) if facts else {},
        source_notes=state_correction(results.notes(has_folders=False), judges),
        notes_by_benchmark={
            name: state_correction(
                results.notes(name, has_folders=False), {name: judges[name]} if name in judges else {}
            )
            for name in (one.benchmark for one in cells)
        },
    )


def rescore(
    data: Data | Evaluations,
    scorer: str | None = None,
    output: str | Path | None = None,
    *,
    base: str | Path | None = None,
    override: str | Path | None = None,
    level: float = 0.95,
) -> Results:
    """Score stored completions again, and show how far the new scores agree with those that were stored.

    Nothing stored is changed: the scores are a new column, which ``howsure.read(folder)`` reads from then on, with the
    own scores of rows that have none of these; ``scorer="run"`` reads the scores of the run, and a name older ones.

    Parameters
    ----------
    data
        Run folders, or logs that keep completions.
    scorer
        ``"numeric"``, ``"contains"``, ``"exact"``, ``"choice"``, ``"choice:KIND"``, ``"maths"``, ``"regex:PATTERN"``,
        ``"regex-first:PATTERN"``, or ``"own"``: the scorer of the run's own benchmark as it is now. By default it is
        chosen by the targets: ``"choice"`` where prompts have choices, else ``"numeric"``, ``"yes-no"`` or
        ``"contains"``.
    output
        For logs: the run folder that they are converted to first.
    base
        With ``"own"``: the folder from which the run's experiment named the file of its benchmark, or the folder of its
        tasks. By default it is looked for beside the run folder and in the current folder, but tasks, which may hold
        code, are not.
    override
        Verdicts of ``howsure review``: the right answers that reviewers gave replace the targets of mislabeled
        questions, and the scores are those of the scorer ``NAME+corrected``.
    level
        Coverage of the interval of the agreement, between 0 and 1.

    Returns
    -------
    Results
        A row per benchmark and model with the agreement; ``.of("disagreements")`` gives examples.

    Raises
    ------
    InputError
        If there are logs but no `output`, no completions, or no right answers in `override`.
    UnknownNameError
        If there is no such scorer.

    Examples
    --------
    >>> import howsure as hs
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "exp.yaml")
    >>> _ = file.write_text("{benchmark: directions-small, models: [simulated/medium], generations: 1}")
    >>> hs.rescore(hs.run(file), "own")["agreement"].tolist()
    [1.0]
    """
    from howsure.export import conversion

    check_level(level)
    folder = Path(output) if output is not None else None
    near = Path(base) if base is not None else None
    find_targets = None if override is None else read_corrections(override)
    result, _ = conversion.rescore_sources(
        open_results(data), scorer, folder, level=level, base=near, find_targets=find_targets
    )
    return result


def convert(data: Data | Evaluations, output: str | Path, to: ConversionTarget | None = None) -> Result:
    r"""Convert logs and tables to a run folder, or a run folder to another form.

    Parameters
    ----------
    data
        Results of `howsure.read`, or anything that it takes, of files.
    output
        A folder or file that does not exist yet.
    to
        ``"run"``: a run folder with all texts, of any logs. ``"eval-arena"``: counts as JSON lines. ``"parquet"`` and
        ``"csv"``: a tidy table of one run folder.
        By default a table where the name ends in ``.parquet`` or ``.csv``, else a run folder.

    Returns
    -------
    Result
        What was written.

    Raises
    ------
    InputError
        If the output exists, or the results have no such form.

    Examples
    --------
    >>> import howsure as hs
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "results.csv").write_text("model,question,score\na,1,1\na,2,0\n")
    >>> _ = hs.convert(folder / "results.csv", folder / "counts.jsonl", to="eval-arena")
    >>> (folder / "counts.jsonl").exists()
    True
    """
    from howsure.export import conversion

    if to is not None:
        check_choice("form", to, CONVERSION_TARGETS)
    results = open_results(data)
    if isinstance(results, ReviewedEvaluations):
        raise InputError("a conversion keeps every question", remedy="give the results without verdicts")
    return conversion.convert_sources(results, Path(output), to)
