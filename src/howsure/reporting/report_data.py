"""The input of a report: results of one or several benchmarks, and the options of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from howsure.errors import InputError, UnknownNameError
from howsure.notes import Note
from howsure.results.texts import QuestionTexts
from howsure.stats.core.cells import Cells, IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.judges import JudgedCompletions, JudgeNoise, LabelAgreement, PositionEffect, calibrate
from howsure.stats.planning import ModelUsage
from howsure.stats.prompts import VariantAnswers
from howsure.stats.questions import AnswerCounts


class ReviewVerdict(Protocol):
    """Verdict of a reviewer on a question; `review.verdicts.Verdict` has these attributes."""

    @property
    def verdict(self) -> str:
        """One word, such as "mislabeled"."""

    @property
    def note(self) -> str:
        """Free text of the reviewer."""

    @property
    def reviewer(self) -> str:
        """Name of the reviewer."""

    @property
    def when(self) -> str:
        """Time of the verdict in ISO 8601."""


@dataclass(frozen=True, kw_only=True)
class JudgeSummary:
    """What is known of the judge that scored a benchmark.

    Attributes
    ----------
    completions
        The judged completions, with people's labels where there are some.
    model, template
        Label of the model that judges, and name of its template; None for the judge's scores of a table.
    noise
        Noise of the verdicts; None for a judge of pairs.
    positions
        Position effect of a judge of pairs; None for others.
    agreements
        Agreement of each pair of reviewers.
    """

    completions: JudgedCompletions
    model: str | None = None
    template: str | None = None
    noise: JudgeNoise | None = None
    positions: PositionEffect | None = None
    agreements: Sequence[LabelAgreement] = ()

    @property
    def is_table(self) -> bool:
        """Whether the judge's scores were read from a table, which does not say whose they are."""
        return self.model is None

    @cached_property
    def is_corrected(self) -> bool:
        """Whether there are labels enough to correct the judge's score of any model."""
        has_labels = bool(self.completions.n_labels.any())
        return has_labels and bool(np.any(np.isfinite(calibrate(self.completions).score)))


@dataclass(frozen=True, kw_only=True)
class BenchmarkData:
    """What is known of one benchmark; see `ReportData` for the fields."""

    cells: Cells
    cube: Cube | None = None
    unparsed: IntArray | None = None
    variant_answers: VariantAnswers | None = None
    repeats: Sequence[Cells] = ()
    answers: AnswerCounts | None = None
    texts: QuestionTexts | None = None
    verdicts: Mapping[str, ReviewVerdict] = field(default_factory=dict)
    unreviewed_cells: Cells | None = None
    judge: JudgeSummary | None = None
    usage: Mapping[str, ModelUsage] = field(default_factory=dict)


@dataclass(frozen=True)
class ReportData:
    """Results that a report shows.

    Parameters
    ----------
    cells
        Cells, one per benchmark.
    cubes
        Cells by prompt variant, for the benchmarks that have several variants.
    unparsed
        Counts of answers that could not be parsed, by benchmark, in the shape of its cube. They are included in `n` of
        the cube and score 0.
    variant_answers
        Counts of the answers under each prompt variant, by benchmark.
    repeats
        Repeated runs by benchmark, in the order in which they were made.
    answers
        Counts of each model's answers, by benchmark.
    texts
        Source of the prompts and generations of single questions.
    verdicts
        Verdicts of reviewers by benchmark and question.
    unreviewed_cells
        Cells that include the questions which a review rejected and `cells` leaves out.
    judges
        The judge of each benchmark that one scored.
    usage
        Calls, tokens and cost of each model, by benchmark.
    manifests
        Manifests of the run folders, shown as they are.
    facts
        Further entries of the page's header: name and value.
    source_notes
        Notes of the readers, shown above all benchmarks.
    notes_by_benchmark
        Those of them that concern a benchmark, shown on its page of a site; default: all.

    Raises
    ------
    InputError
        If no benchmark has both a model and a question.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], [[[1, 1], [1, 0]], [[0, 1], [0, 0]]])
    >>> data = ReportData([cells])
    >>> sorted(data.models), [benchmark.cells.benchmark for benchmark in data.benchmarks()]
    (['a', 'b'], ['demo'])
    """

    cells: Sequence[Cells]
    cubes: Sequence[Cube] = ()
    unparsed: Mapping[str, IntArray] = field(default_factory=dict)
    variant_answers: Mapping[str, VariantAnswers] = field(default_factory=dict)
    repeats: Mapping[str, Sequence[Cells]] = field(default_factory=dict)
    answers: Mapping[str, AnswerCounts] = field(default_factory=dict)
    texts: QuestionTexts | None = None
    verdicts: Mapping[str, Mapping[str, ReviewVerdict]] = field(default_factory=dict)
    unreviewed_cells: Sequence[Cells] = ()
    judges: Mapping[str, JudgeSummary] = field(default_factory=dict)
    usage: Mapping[str, Mapping[str, ModelUsage]] = field(default_factory=dict)
    manifests: Sequence[Mapping[str, object]] = ()
    facts: Sequence[tuple[str, str]] = ()
    source_notes: Sequence[Note] = ()
    notes_by_benchmark: Mapping[str, Sequence[Note]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not any(cells.models and cells.questions for cells in self.cells):
            raise InputError("there is nothing to report: no benchmark with a model and a question")

    @property
    def models(self) -> set[str]:
        """Models of all benchmarks."""
        return {model for cells in self.cells for model in cells.models}

    def benchmarks(self) -> Iterator[BenchmarkData]:
        """Yield the data of each benchmark that has a model and a question."""
        cubes = {cube.benchmark: cube for cube in self.cubes}
        unreviewed = {cells.benchmark: cells for cells in self.unreviewed_cells}
        for cells in self.cells:
            if cells.models and cells.questions:
                name = cells.benchmark
                yield BenchmarkData(
                    cells=cells,
                    cube=cubes.get(name),
                    unparsed=self.unparsed.get(name),
                    variant_answers=self.variant_answers.get(name),
                    repeats=self.repeats.get(name, ()),
                    answers=self.answers.get(name),
                    texts=self.texts,
                    verdicts=self.verdicts.get(name, {}),
                    unreviewed_cells=unreviewed.get(name),
                    judge=self.judges.get(name),
                    usage=self.usage.get(name, {}),
                )

    def check_reference(self, reference: str | None) -> None:
        """Raise an error if no benchmark has the reference model."""
        if reference is not None and reference not in self.models:
            raise UnknownNameError("model", reference, self.models, where="reference")


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Options of a report.

    Parameters
    ----------
    title
        Title of the page; default: the name of the benchmark, or the number of benchmarks.
    level
        Level of all intervals, in (0, 1). The probability of any false positive among the pairs of a benchmark is
        1 - level.
    reference
        Model that the others are compared with; default: on each benchmark the model with the highest score.
    epsilon, delta
        Acceptable deviation of a mean or variance over prompts, and the probability of a larger one.
    static_figures
        Whether the page holds a drawing of each figure, which is shown where scripts are off, and on paper.

    Examples
    --------
    >>> ReportOptions(title="Release candidate", level=0.9).level
    0.9
    """

    title: str | None = None
    level: float = 0.95
    reference: str | None = None
    epsilon: float = 0.01
    delta: float = 0.1
    static_figures: bool = False
