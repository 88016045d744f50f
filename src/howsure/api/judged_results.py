"""Scores that a judge gave: its noise and its errors, and what people would have said."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from howsure.api.result_selection import CellsLike, ReviewedEvaluations
from howsure.errors import HowsureWarning, InputError
from howsure.notes import Note, ignore_notes, warn
from howsure.results.evaluations import Evaluations, read
from howsure.results.run_source import list_judged_sources
from howsure.results.sources import Data
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import CalibrationMethod, check_level
from howsure.stats.core.results import Result, Results
from howsure.stats.scores import Scores

if TYPE_CHECKING:
    from howsure.judging.random_labels import LabelFile, LabelTask
    from howsure.reporting.report_data import JudgeSummary
    from howsure.results.run_source import RunSource
    from howsure.stats.judges import JudgedCompletions, JudgeNoise, VerdictPlan, VerdictTable

__all__ = [
    "LabelSample",
    "add_judge_error",
    "calibrate_difference",
    "calibrate_scores",
    "describe_labels",
    "describe_positions",
    "judge_errors",
    "judge_noise",
    "measure_repeated_verdicts",
    "open_judged",
    "open_sample",
    "plan_verdicts",
    "state_correction",
    "summarize_judges",
    "warn_of_correction",
]

#: Code of the note on scores that a judge gave.
_OPINION = "judge-opinion"
#: Judged completions, or verdicts on them, of one benchmark.
OfQuestions = TypeVar("OfQuestions", "JudgedCompletions", "VerdictTable")


def judge_noise(data: Data | Evaluations, *, level: float = 0.95) -> Results:
    """Separate the noise of judged scores into questions, generations and verdicts.

    Parameters
    ----------
    data
        Run folders that a judge has scored, or results of `howsure.read` of them.
    level
        Coverage of the interval of the flip rate, between 0 and 1.

    Returns
    -------
    Results
        A row per benchmark and model: the errors ``se_judge``, ``se_generation`` and ``se_data``, and ``flip_rate``,
        the probability that two verdicts on the same completion differ, with its limits. NaN where each completion has
        one verdict.

    Raises
    ------
    InputError
        If no judge has scored the completions, or the level is not allowed.

    Examples
    --------
    >>> import howsure as hs
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "exp.yaml")
    >>> _ = file.write_text("{benchmark: directions-small, models: [simulated/medium], generations: 1, limit: 20, "
    ...     "judge: {model: simulated/large, repeats: 2}}")
    >>> noise = hs.judge_noise(hs.run(file))
    >>> noise["n_verdicts"].tolist()
    [40]
    """
    check_level(level)
    return Results(tuple(_measure_noise(_require_judged(data), data, level)))


def measure_repeated_verdicts(data: Data | Evaluations, *, level: float = 0.95) -> Results | None:
    """Return `judge_noise` where completions have several verdicts of a judge; None for all other results."""
    results = data if isinstance(data, Evaluations) else read(data)
    judged = _measure_noise(list_judged_sources(results.sources), results, level)
    each = [noise for noise in judged if np.any(noise.flip_n > 0)]
    return Results(tuple(each)) if each else None


def judge_errors(data: Data | Evaluations, labels: str | Path, *, level: float = 0.95) -> Results:
    """Test whether a judge errs alike on all models and on completions of all lengths.

    Parameters
    ----------
    data
        Run folders that a judge has scored.
    labels
        File of people's labels, as ``howsure review --random N`` makes it.
    level
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    Results
        A row per benchmark and test: ``self-preference`` for each model, the judge's error on it less that on the
        others, and ``length``, the change of the error when a completion is twice as long.

    Raises
    ------
    InputError
        If no judge has scored the completions, or the labels cannot be read or are of other completions.
    """
    from howsure.stats.judges import examine_judge

    check_level(level)
    return Results(tuple(examine_judge(one, level=level) for one in _read_labelled(data, labels)))


def calibrate_scores(
    data: CellsLike, labels: str | Path, *, method: CalibrationMethod = "ppi", level: float = 0.95
) -> Results:
    """Estimate the scores that people would have given, from a judge's scores and people's labels of a sample."""
    from howsure.stats.judges import calibrate

    check_level(level)
    return Results(tuple(calibrate(one, method=method, level=level) for one in _read_labelled(data, labels)))


def calibrate_difference(
    data: CellsLike,
    a: str,
    b: str,
    labels: str | Path,
    *,
    method: CalibrationMethod = "ppi",
    level: float = 0.95,
) -> Results:
    """Estimate the difference of two models that people would have found; arguments as of `calibrate_scores`."""
    from howsure.stats.judges import calibrate_difference as calibrate_one

    check_level(level)
    each = _read_labelled(data, labels)
    both = [one for one in each if {a, b} <= set(one.models)] or each
    return Results(tuple(calibrate_one(one, a, b, method=method, level=level) for one in both))


def describe_labels(data: Data | Evaluations, labels: str | Path, *, level: float = 0.95) -> list[str]:
    """Return a line for each test of the judge, for its accuracy, and for each pair of reviewers."""
    from howsure.judging.random_labels import read_labels
    from howsure.reporting.formatting import format_count
    from howsure.stats.judges import examine_judge, measure_accuracy

    file = read_labels(Path(labels))
    lines = [str(one) for one in file.agreements(level=level)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)  # the scores that the lines stand below came with the same
        each = _read_labelled(data, labels)
    for one in each:
        prefix = f"{one.benchmark}: " if len(each) > 1 else ""
        accuracy = measure_accuracy(one)
        if described := accuracy.describe(level):
            lines.append(f"{prefix}{described} ({format_count(accuracy.n_labels, 'label')})")
        if accuracy.n_between:
            lines.append(
                f"{prefix}labels between wrong and right, which are not counted in that, for example because "
                f"reviewers differ: {accuracy.n_between}"
            )
        lines += [prefix + line for line in examine_judge(one, level=level).sentences()]
    return lines


class LabelSample(NamedTuple):
    """A random sample of completions of one run, as people label it."""

    tasks: list[LabelTask]
    choices: dict[str, float]
    """Score of each verdict."""
    file: Path

    def describe(self) -> list[str]:
        """Return lines on the number of labels, and on the agreement of reviewers."""
        from howsure.judging.random_labels import read_labels

        labels = read_labels(self.file)
        return [
            f"{len(labels.scores())} of {len(self.tasks)} completions are labelled in {self.file}",
            *map(str, labels.agreements()),
        ]


def open_sample(path: Path, n: int, file: Path, *, scorer: str | None = None, seed: int = 0) -> LabelSample:
    """Return the sample in a file of labels as it is; a new file gets a new sample of n completions.

    Parameters
    ----------
    path
        A run folder that a judge scored.
    n
        Number of completions.
    file
        The file of labels; it need not exist.
    scorer
        The judge, such as ``judge:correct``; None for the one whose scores are those of the run, or the last one.
    seed
        Seed of the draw.

    Raises
    ------
    InputError
        If no judge has scored the run, or the file has fewer than n completions and the run has more: those of a larger
        sample would have other probabilities.
    """
    from howsure.judging.judge_run import find_judge, find_judge_folders, read_completions
    from howsure.judging.random_labels import append_lines, draw_sample, read_labels, read_tasks
    from howsure.results.run_source import RunSource
    from howsure.store.responses import is_run

    if not is_run(path):
        remedy = "give a run folder; howsure rescore LOGS --judge FILE -o FOLDER makes one of logs"
        raise InputError("no run folder", where=str(path), remedy=remedy)
    if scorer is None:
        own = RunSource(path, columns={}).scorer
        folders = find_judge_folders(path)
        if own is None and not folders:
            remedy = "judge it first: howsure rescore FOLDER --judge FILE"
            raise InputError("no judge has scored this run", where=str(path), remedy=remedy)
        scorer = own if own is not None else read_completions(folders[0])[0].scorer
    judge = find_judge(path, scorer).judge
    labels = read_labels(file, missing=True)
    sample = list(labels.sample)
    if not sample:
        sample = draw_sample(path, judge.scorer, n, seed=seed)
        append_lines(file, sample)
    elif len(sample) < n and any(one.inclusion != 1 for one in sample):
        remedy = f"label these, or name another file with --verdicts for a sample of {n}"
        raise InputError(f"the sample in it has {len(sample)} completions", where=str(file), remedy=remedy)
    return LabelSample(read_tasks(path, sample), judge.choices, file)


def describe_positions(data: Data | Evaluations) -> list[str]:
    """Return a line on the position effect of each pairwise judge on each benchmark of the results."""
    results = data if isinstance(data, Evaluations) else read(data)
    benchmarks = [cells.benchmark for cells in results.cells()]
    lines = []
    for source in list_judged_sources(results.sources):
        # Imported only where a judge has scored: the catalogue of benchmarks is slow to import.
        from howsure.judging.judge_run import find_judge
        from howsure.judging.stored_verdicts import read_position_effects

        scorer = str(source.scorer)
        if find_judge(source.path, scorer).judge.models is not None:
            effects = read_position_effects(source.path, scorer)
            named = [benchmark for benchmark in benchmarks if benchmark in effects]
            for benchmark in named:
                name = f"{scorer} on {benchmark}" if len(named) > 1 else scorer
                lines.append(f"{name}: {effects[benchmark]}")
    return lines


def summarize_judges(data: Evaluations, labels: str | Path | None = None) -> dict[str, JudgeSummary]:
    """Return what is known of the judge of each benchmark, for the report.

    Parameters
    ----------
    data
        Results; those that no judge scored have no summary. The scores of a table are a judge's where labels are given.
    labels
        File of people's labels, or None.

    Returns
    -------
    dict
        Summary by benchmark. A benchmark that judges scored in several run folders has none.

    Raises
    ------
    InputError
        When labels are given, and no judge scored the results of a run folder, or they are of other completions.
    """
    from howsure.judging.judge_run import find_judge
    from howsure.judging.random_labels import read_labels
    from howsure.judging.stored_verdicts import (
        read_judged_completions,
        read_position_effects,
        read_verdict_tables,
    )
    from howsure.reporting.report_data import JudgeSummary
    from howsure.stats.judges import measure_judge_noise

    file, labelled = None, None
    if labels is not None:
        file, labelled = read_labels(Path(labels)), _read_labelled(data, labels)
        if not list_judged_sources(data.sources):
            # A table: it has the judge's scores, and does not say which judge gave them.
            return {one.benchmark: JudgeSummary(completions=one, agreements=file.agreements()) for one in labelled}
    summaries: dict[str, list[JudgeSummary]] = {}
    for source in list_judged_sources(data.sources):
        scorer = str(source.scorer)
        judge = find_judge(source.path, scorer).judge
        positions = {} if judge.models is None else read_position_effects(source.path, scorer)
        noise = {
            table.benchmark: measure_judge_noise(table)
            for table in _select_questions(read_verdict_tables(source), data)
        }
        own = _select_questions(read_judged_completions(source, None), data) if labelled is None else labelled
        for completions in own:
            summary = JudgeSummary(
                model=judge.judge,
                template=judge.template,
                completions=completions,
                noise=noise.get(completions.benchmark),
                positions=positions.get(completions.benchmark),
                agreements=() if file is None else file.agreements(),
            )
            summaries.setdefault(completions.benchmark, []).append(summary)
    return {benchmark: each[0] for benchmark, each in summaries.items() if len(each) == 1}


def state_correction(notes: Sequence[Note], judges: Mapping[str, JudgeSummary]) -> list[Note]:
    """Return the notes of results, with what labels correct in place of the one that scores are a judge's opinion.

    Parameters
    ----------
    notes
        Notes of the results. A table has none on its judge; one is added where people labelled its rows.
    judges
        The judges of the benchmarks that the notes are of.
    """
    from howsure.reporting.formatting import join_names

    if any(one.is_table and one.completions.n_labels.any() for one in judges.values()):
        notes = [*notes, Note(_OPINION)]
    corrected = [name for name, one in judges.items() if one.is_corrected]
    if not corrected:
        if not any(one.completions.n_labels.any() for one in judges.values()):
            return list(notes)
        code, facts = "too-few-labels", {}
    else:
        code = "judge-corrected"
        facts = {"where": f"on {join_names(corrected)}, " if len(corrected) < len(judges) else ""}
    return [replace(note, code=code, facts=facts, parts=()) if note.code == _OPINION else note for note in notes]


def warn_of_correction(results: Evaluations, judges: Mapping[str, JudgeSummary]) -> None:
    """Raise the warning that scores are a judge's opinion, with what a report with these judges corrects."""
    for note in state_correction([note for note in results.notes() if note.code == _OPINION], judges):
        warn(note, stacklevel=3)


def plan_verdicts(
    data: Data | Evaluations,
    *,
    budget: float,
    verdict_cost: float,
    model: str | None = None,
    questions: int | None = None,
) -> Results:
    """List designs that trade completions of cost 1 against verdicts, the one with the smallest error of a score first.

    `model` is the model whose noise is used, None for the mean over models; `questions` are those that exist, None for
    those of the pilot.
    """
    from howsure.stats.judges import plan_verdicts as plan_one

    plans: list[Result] = []
    for noise in _measure_noise(_require_judged(data), data, 0.95):
        rows = range(len(noise.models)) if model is None else [_find_model(noise, model)]
        components = noise.average_components(rows)
        plan: VerdictPlan = plan_one(
            data=components.data,
            generation=components.generation,
            judge=components.judge,
            questions=questions or int(max(noise.n_questions[i] for i in rows)),
            budget=budget,
            verdict_cost=verdict_cost,
        )
        plans.append(replace(plan, benchmark=noise.benchmark, model=model or "mean of the models"))
    return Results(tuple(plans))


def _find_model(noise: JudgeNoise, model: str) -> int:
    """Return the row of a model."""
    from howsure.errors import UnknownNameError

    if model not in noise.models:
        raise UnknownNameError("model", model, noise.models, where=noise.benchmark)
    return noise.models.index(model)


def open_judged(data: CellsLike) -> Evaluations | None:
    """Return results that can say which judge scored them; None for cells, which cannot."""
    if isinstance(data, Evaluations):
        return data
    if isinstance(data, str | Path):
        return read(data)
    if not isinstance(data, list | tuple) or any(isinstance(one, Cells) for one in data):
        return None
    return read(data)


def add_judge_error(results: Results, data: Evaluations) -> Results:
    """Return scores with a column ``se_judge`` where completions have several verdicts, else as they are."""
    errors: dict[tuple[str, str], list[float]] = {}
    for noise in _measure_noise(list_judged_sources(data.sources), data, 0.95):
        for model, se in zip(noise.models, noise.se_judge.tolist(), strict=True):
            errors.setdefault((noise.benchmark, model), []).append(se)
    if not any(not np.isnan(se) for each in errors.values() for se in each):
        return results

    def add(part: Result) -> Result:
        if not isinstance(part, Scores):
            return part
        # Several folders with the same model: the error of their mean is not known from its parts.
        each = [errors.get((part.benchmark, model), [np.nan]) for model in part.models]
        return replace(part, judge_error=np.array([one[0] if len(one) == 1 else np.nan for one in each]))

    return Results(tuple(add(part) for part in results.parts))


def _require_judged(data: CellsLike) -> list[RunSource]:
    """Return the judged run folders among results; raise InputError without one."""
    results = open_judged(data)
    if results is None:
        raise InputError(
            "labels and verdicts need a run folder", remedy="give the folder that a judge scored, not cells"
        )
    sources = list_judged_sources(results.sources)
    if not sources:
        remedy = "judge them first: howsure rescore FOLDER --judge FILE, then --scorer judge:NAME"
        raise InputError("no judge has scored these results", remedy=remedy)
    return sources


def _measure_noise(sources: Sequence[RunSource], data: CellsLike, level: float) -> list[JudgeNoise]:
    """Return the noise of the judge on each benchmark of each folder, on the questions that are read."""
    if not sources:
        return []
    # Imported only where a judge has scored: the catalogue of benchmarks is slow to import.
    from howsure.judging.stored_verdicts import read_verdict_tables
    from howsure.stats.judges import measure_judge_noise

    return [
        measure_judge_noise(table, level=level)
        for source in sources
        for table in _select_questions(read_verdict_tables(source), data)
    ]


def _read_labelled(data: CellsLike, labels: str | Path) -> list[JudgedCompletions]:
    """Return the judged completions of each benchmark with people's labels."""
    from howsure.judging.random_labels import read_labels
    from howsure.judging.stored_verdicts import find_first_generation, read_judged_completions, read_judged_table
    from howsure.results.table_source import TableSource
    from howsure.rows.to_cells import make_runs

    results = open_judged(data)
    tables = [one for one in results.sources if isinstance(one, TableSource)] if results is not None else []
    is_table = results is not None and len(tables) == len(results.sources)
    sources = [] if is_table else _require_judged(data)
    runs = (tables[0].group(make_runs) or {}) if is_table and tables else {}
    file: LabelFile = read_labels(Path(labels), first_generation=find_first_generation(runs))
    if not file.labels:
        remedy = "label some completions first: howsure review --random N --verdicts FILE FOLDER"
        raise InputError("no line has a score or a verdict", where=str(labels), remedy=remedy)
    if len(sources) + len(tables) * is_table > 1:
        what = f"{len(tables)} tables" if is_table else f"{len(sources)} run folders"
        remedy = "give one at a time: labels are of the completions of one run"
        raise InputError(f"{what} with labels", where=str(labels), remedy=remedy)
    if is_table and results is not None:
        results.cells()  # says what was decided while the table was read, such as that its scores are percent
        judged = read_judged_table(tables[0], runs, file)
        is_same = (
            "score" not in tables[0].options.map.columns and Path(tables[0].path).resolve() == Path(labels).resolve()
        )
        if is_same and all(np.array_equal(one.label, one.judged) for one in judged):
            remedy = "call the column of people's scores human, and name the judge's with --columns score=COLUMN"
            raise InputError("the label of every row is its own score", where=str(labels), remedy=remedy)
    else:
        judged = read_judged_completions(sources[0], file)
    for one in judged:
        _check_scales(one, labels)
    return _select_questions(judged, data)


def _check_scales(judged: JudgedCompletions, labels: str | Path) -> None:
    """Raise InputError where a judge's scores are from 0 to 1 and people's labels are not, such as percent."""
    low, high = (float(select(judged.label, initial=0, where=~np.isnan(judged.label))) for select in (np.min, np.max))
    own = judged.judged[~np.isnan(judged.judged)]
    if (low < 0 or high > 1) and np.all((own >= 0) & (own <= 1)):
        what = f"a label is {low if low < 0 else high:g}, and the scores of the judge are from 0 to 1"
        remedy = (
            "give labels on that scale; where scores in percent were divided by 100, --scale 1 leaves them as they are"
        )
        raise InputError(what, where=str(labels), remedy=remedy)


def _select_questions(parts: Sequence[OfQuestions], data: CellsLike) -> list[OfQuestions]:
    """Return those of the benchmarks that are read, without the questions that reviewers rejected."""
    selected = _select_benchmarks(parts, data)
    if not isinstance(data, ReviewedEvaluations):
        return selected
    with ignore_notes(_OPINION):  # reading the cells says what is left out
        questions = {cells.benchmark: set(cells.questions) for cells in data.cells()}
    return [part.keep_questions(questions.get(part.benchmark, ())) for part in selected]


def _select_benchmarks(parts: Sequence[OfQuestions], data: CellsLike) -> list[OfQuestions]:
    """Return those of the parts that are of the benchmarks that are read."""
    names = data.benchmarks if isinstance(data, Evaluations) else ()
    return [part for part in parts if not names or part.benchmark in names]
