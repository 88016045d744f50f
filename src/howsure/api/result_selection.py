"""Results without the questions that reviewers rejected, and the cubes of benchmarks with several prompt variants."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.notes import Note, warn
from howsure.results.evaluations import Evaluations, open_or_list, read
from howsure.results.run_source import RunSource
from howsure.results.sources import Data
from howsure.rows.source import Source
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.questions import AnswerCounts
from howsure.store.scorer_files import read_name_and_time, split_name

if TYPE_CHECKING:
    from howsure.review.verdicts import Decision

#: Results of models on one or several benchmarks.
CellsLike: TypeAlias = Data | Evaluations | Cells | Iterable[Cells]
#: Results of one benchmark, of which questions can be selected.
Part = TypeVar("Part", Cells, Cube, AnswerCounts)
#: Results of one benchmark, or of its prompt variants.
WithModels = TypeVar("WithModels", bound=Cells | Cube)


def check_two_models(a: str | None, b: str | None, *, where: str) -> None:
    """Raise InputError if both models have one name: the difference of a model from itself is 0, and says nothing."""
    if a is not None and a == b:
        remedy = "name another model as a or b; howsure repeats compares runs of one model"
        raise InputError(f"{a} is compared with itself", where=where, remedy=remedy)


def select_with_models(parts: Sequence[WithModels], models: Sequence[str]) -> list[WithModels]:
    """Return the results that have all these models; raise InputError if none has."""
    all_models = sorted({model for part in parts for model in part.models})
    for model in models:
        if model not in all_models:
            raise UnknownNameError("model", model, all_models)
    selected = [part for part in parts if set(models) <= set(part.models)]
    if not selected:
        what, remedy = describe_benchmarks([part for part in parts if not set(models).isdisjoint(part.models)])
        raise InputError(f"no benchmark has both {' and '.join(map(repr, models))}: {what}", remedy=remedy)
    return selected


def describe_benchmarks(parts: Sequence[Cells | Cube]) -> tuple[str, str]:
    """Return which models and questions benchmarks without common models have, and how they can be made one."""
    described = [
        f"{part.benchmark} has {list_first(part.models)} (questions {list_first(part.questions)})" for part in parts
    ]
    listed = "; ".join(described[:3]) + "; ..." * (len(described) > 3)
    if len(parts) < 2:
        return listed, "compare models run on the same questions"
    if any(set(a.questions) & set(b.questions) for a, b in combinations(parts, 2)):
        remedy = "question ids that agree are the same questions with --as-benchmark NAME"
        return listed, f"if these are one benchmark: {remedy}"
    remedy = (
        "name a column with the same ids in each with --columns question=COLUMN, and the benchmark by --as-benchmark"
    )
    return f"{listed}; no question id is in two of them", f"if these are the same questions: {remedy}"


def warn_of_left_out(parts: Sequence[Cells | Cube], models: Sequence[str], *, stacklevel: int) -> None:
    """Name the benchmarks that do not have all these models, and what they have: one may have another name there."""
    others = [part for part in parts if not set(models) <= set(part.models)]
    if others:
        described = [f"{part.benchmark} (has {list_first(part.models)})" for part in others]
        which = "both models" if len(models) > 1 else models[0]
        facts = {"models": which, "benchmarks": list_first(described)}
        warn(Note("benchmarks-without-models", facts=facts), stacklevel=stacklevel + 1)


def warn_of_unparsed(benchmarks: Iterable[Cells], *, stacklevel: int = 2) -> None:
    """Say of each benchmark how many answers of which models are unread, where scores are given with a bound."""
    for cells in benchmarks:
        models = [model for model, is_bounded in zip(cells.models, cells.is_bounded, strict=True) if is_bounded]
        if models and cells.unparsed is not None:
            worst = int(np.nanargmax(cells.unparsed_share))
            facts = {"models": list_first(models), "model": cells.models[worst]}
            facts["share"] = f"{cells.unparsed_share[worst]:.1%}"
            n = int(cells.unparsed[cells.is_bounded].sum())
            warn(Note("unparsed-bound", benchmarks=(cells.benchmark,), n=n, facts=facts), stacklevel=stacklevel + 1)


def list_first(names: Sequence[str]) -> str:
    """Return the first three names, and "..." where there are more."""
    return f"{', '.join(names[:3])}{', ...' * (len(names) > 3)}"


class ReviewedEvaluations(Evaluations):
    """Results without the questions that reviewers rejected.

    Where all scores are those of a scorer NAME+corrected, questions stay whose right answer they are for.

    Parameters
    ----------
    results
        The results with all questions.
    file
        Verdicts, as ``howsure review`` writes them.
    """

    def __init__(self, results: Evaluations, file: str | Path) -> None:
        super().__init__(
            results.sources,
            dimensions=results.dimensions,
            by_variant=results.by_variant,
            benchmark=results.benchmark,
            benchmarks=results.benchmarks,
        )
        self.all_questions, self._file = results, file
        from howsure.review import verdicts  # an extra, which no other results need

        self._verdicts = verdicts.load(Path(file))

    def cells(self) -> list[Cells]:
        """Return the cells of each benchmark without the rejected questions."""
        return list(self._selection[0])

    def count_passes(self, pass_at: float) -> ReviewedEvaluations:
        """Return these results with scores of 1 and 0; see `Evaluations.count_passes`."""
        return ReviewedEvaluations(self.all_questions.count_passes(pass_at), self._file)

    def cubes(self) -> list[Cube]:
        """Return the cells of each prompt variant without the rejected questions."""
        return [self._select(cube) for cube in self.all_questions.cubes()]

    def runs(self) -> dict[str, list[Cells]]:
        """Return the runs of each benchmark without the rejected questions."""
        return {name: [self._select(run) for run in runs] for name, runs in self.all_questions.runs().items()}

    def answers(self) -> dict[str, AnswerCounts]:
        """Return how often each model gave each answer to the questions that are not rejected."""
        return {name: self._select(one) for name, one in self.all_questions.answers().items()}

    def notes(self, benchmark: str | None = None, *, has_folders: bool = True) -> list[Note]:
        """Return the notes of the results, and on the questions that are excluded; see `Evaluations.notes`."""
        excluded = [note for note in self._selection[1] if benchmark in {None, *note.benchmarks}]
        return [*self.all_questions.notes(benchmark, has_folders=has_folders), *excluded]

    def verdicts(self) -> dict[str, dict[str, Decision]]:
        """Return what the reviewers together say of each question, by benchmark."""
        result: dict[str, dict[str, Decision]] = {}
        for decision in sorted(self._verdicts.values(), key=lambda one: one.when):
            result.setdefault(decision.benchmark, {})[decision.question] = decision
        return result

    @cached_property
    def _selection(self) -> tuple[list[Cells], list[Note]]:
        """Cells without the rejected questions, and notes on each benchmark."""
        from howsure.review import verdicts

        cells, notes = verdicts.exclude(
            self.all_questions.cells(), self._verdicts, corrected_at=_find_correction_time(self.sources)
        )
        for note in notes:
            warn(note, stacklevel=4)
        return cells, notes

    def _select(self, part: Part) -> Part:
        """Return the part with the questions that the cells of its benchmark have."""
        remaining = next((set(one.questions) for one in self.cells() if one.benchmark == part.benchmark), set())
        return part.select(questions=[question for question in part.questions if question in remaining])


def _find_correction_time(sources: Sequence[Source]) -> str:
    """Return when the first of the sources was scored for right answers of reviewers; empty if one was not."""
    from howsure.review import verdicts

    times = []
    for source in sources:
        if not isinstance(source, RunSource) or source.scorer is None:
            return ""
        name, written = read_name_and_time(source.path, source.scorer)
        if not split_name(name)[0].endswith("+corrected"):
            return ""
        times.append(verdicts.moment(written))
    return min(times, default="")


def open_results(data: Data | Evaluations, exclude: str | Path | None = None) -> Evaluations:
    """Return the results as `read` does, without the questions that the verdicts in a file reject."""
    results = data if isinstance(data, Evaluations) else read(data)
    return results if exclude is None else ReviewedEvaluations(results, exclude)


def count_passes(data: CellsLike, pass_at: float | None) -> CellsLike:
    """Return results with a score of 1 where it is `pass_at` or more, and of 0 where not; None changes nothing.

    Raises
    ------
    InputError
        As for `Evaluations.count_passes`, and for cells, which have no single scores.
    """
    if pass_at is None:
        return data
    opened = open_or_list(data)
    if not isinstance(opened, Evaluations):
        remedy = "give the files, frames or results of howsure.read"
        raise InputError("cells are sums of scores, which do not say how many pass", where="pass_at", remedy=remedy)
    return opened.count_passes(pass_at)


def read_corrections(file: str | Path) -> Callable[[Path], dict[tuple[str, str], str]]:
    """Return a function from a run folder to the right answers that reviewers gave, by benchmark and question.

    Raises
    ------
    InputError
        When the file holds no right answer on which the reviewers agree.
    """
    from howsure.review import verdicts

    decisions = verdicts.load(Path(file))
    answers = {key: one.answer for key, one in decisions.items() if one.answer}
    if not answers:
        remedy = "write the right answer beside the verdict mislabeled in howsure review"
        raise InputError("no mislabeled question has a right answer that is agreed on", where=str(file), remedy=remedy)

    def find_targets(folder: Path) -> dict[tuple[str, str], str]:
        from howsure.review.queue import RunTexts

        views = RunTexts([folder]).questions()
        targets = {(one.benchmark, one.question): answers[one.key] for one in views if one.key in answers}
        if not targets:
            remedy = "is it the right file of verdicts? A question whose text or target has changed needs a new verdict"
            raise InputError(f"no right answer in {file} is for a question here", where=str(folder), remedy=remedy)
        n_elsewhere = len(answers.keys() - {one.key for one in views})
        where = str(folder)
        warn(Note("targets-replaced", where, n=len(targets), facts={"total": len(views)}))
        if n_elsewhere:
            warn(Note("answers-elsewhere", where, n=n_elsewhere))
        others = [decisions[one.key] for one in views if one.key in decisions and one.key not in answers]
        n_differ = sum(one.needs_adjudication for one in others)
        if n_without := sum(one.is_rejected and not one.needs_adjudication for one in others):
            warn(Note("rejected-without-answer", where, n=n_without))
        if n_differ:
            warn(Note("reviewers-differ-in-answer", where, n=n_differ))
        if n_rejected := sum(one.is_rejected for one in others):
            warn(Note("rejected-keep-target", where, n=n_rejected))
        return targets

    return find_targets


def select_variant_cubes(results: Evaluations) -> dict[str, Cube]:
    """Return the cubes of the benchmarks that have several prompt variants."""
    if not results.dimensions and all(len(cells.variants) < 2 for cells in results.cells()):
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)  # reading the cells has raised the same warnings
        cubes = results.cubes()
    return {cube.benchmark: cube for cube in cubes if len(cube.variants) > 1}
