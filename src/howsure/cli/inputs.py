"""What a command reads: opened once, however many ways it is looked at."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from howsure.errors import HowsureWarning, InputError

if TYPE_CHECKING:
    from howsure.readers.evaluations import Evaluations
    from howsure.readers.sources import Source
    from howsure.readers.texts import QuestionTexts
    from howsure.review.verdicts import Verdict
    from howsure.stats.core.cells import Cells, IntArray
    from howsure.stats.core.cube import Cube
    from howsure.stats.questions import AnswerCounts

__all__ = ["Inputs"]


class Inputs:
    """Paths, and how they are to be read."""

    def __init__(
        self,
        paths: Sequence[str],
        *,
        columns: Sequence[str] = (),
        cluster: str | None = None,
        scorer: str | None = None,
        generations: int | None = None,
        engine: str | None = None,
        master: str | None = None,
        exclude: Path | None = None,
        dimensions: Sequence[str] = (),
        wide: bool = False,
    ) -> None:
        self.paths, self.exclude = paths, exclude
        self.dimensions, self.wide = tuple(dimensions), wide
        self.columns = _named(columns) | ({"cluster": cluster} if cluster else {})
        self.generations = generations
        self.how = {"scorer": scorer, "engine": engine, "master": master}
        self.told: list[str] = []

    def reference(self, paths: Sequence[str]) -> list[Cells]:
        """Cells of other paths, read in the same way but without clusters: what `--borrow` names."""
        columns = [f"{name}={column}" for name, column in self.columns.items() if name != "cluster"]
        scorer, engine, master = (self.how[name] for name in ("scorer", "engine", "master"))
        found = Inputs(paths, columns=columns, scorer=scorer, engine=engine, master=master, exclude=self.exclude).cells
        names = {one.benchmark for one in self.cells} if self.exclude is not None and self else set()
        if names and (other := [one.benchmark for one in found if one.benchmark not in names]):
            what = f"--exclude: the reference is of {other[0]!r}, the results are of {', '.join(sorted(names))}"
            raise InputError(what, remedy="name the benchmark alike, or leave the questions out of both")
        return found

    def __bool__(self) -> bool:
        return bool(self.paths)

    @cached_property
    def evaluations(self) -> Evaluations:
        """The results at the paths."""
        from howsure.readers.evaluations import read

        return read(
            self.paths,
            columns=self.columns,
            generations=self.generations,
            dimensions=self.dimensions,
            wide=self.wide,
            **self.how,
        )

    @property
    def sources(self) -> Sequence[Source]:
        """What there is at the paths."""
        return self.evaluations.sources

    @cached_property
    def cells(self) -> list[Cells]:
        """Cells, one per benchmark, without the questions that a review rejected."""
        found = self.everything
        if self.exclude is None:
            return found
        from howsure.review import verdicts

        kept, told = verdicts.exclude(found, verdicts.load(self.exclude))
        for line in told:
            warnings.warn(line, HowsureWarning, stacklevel=2)
        self.told += told
        return kept

    @property
    def everything(self) -> list[Cells]:
        """Cells with the rejected questions too; those of the cubes, where these hold scores of whole benchmarks."""
        return [cube.cells() for cube in self._cubes] if self._whole else self.evaluations.cells()

    @property
    def _cubes(self) -> list[Cube]:
        return self.evaluations.cubes()

    @property
    def _whole(self) -> bool:
        return (self.wide or bool(self.dimensions)) and any(cube.is_whole for cube in self._cubes)

    def runs(self) -> dict[str, list[Cells]]:
        """Runs of the same thing, by benchmark; scores of whole benchmarks say nothing of them."""
        if self._whole:
            return {}
        found = self.evaluations.runs()
        if self.exclude is None:
            return found
        return {name: [run.select(questions=self._left(run)) for run in runs] for name, runs in found.items()}

    def cubes(self) -> list[Cube]:
        """Cells of each prompt variant."""
        found = self._cubes
        return found if self.exclude is None else [cube.select(questions=self._left(cube)) for cube in found]

    def several(self) -> dict[str, Cube]:
        """Cubes of the benchmarks that have several prompt variants."""
        if not self.dimensions and all(len(one.variants) < 2 for one in self.cells):
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HowsureWarning)  # the same as of the cells
            found = self.cubes()
        return {cube.benchmark: cube for cube in found if len(cube.variants) > 1}

    def pilot(self) -> list[Cells | Cube]:
        """Cells of each benchmark, or its cube where it has several prompt variants."""
        cubes = self.several()
        return [cubes.get(one.benchmark, one) for one in self.cells]

    def unread(self, cubes: Sequence[Cube]) -> dict[str, IntArray] | None:
        """Answers that could not be read, in the shape of the cubes."""
        return self.evaluations.count_unparsed(cubes) if cubes and self.exclude is None else None

    def answers(self) -> dict[str, AnswerCounts]:
        """How often each model gave each answer, by benchmark."""
        found = self.evaluations.answers()
        if self.exclude is None:
            return found
        return {name: one.select(questions=self._left(one)) for name, one in found.items()}

    def texts(self) -> QuestionTexts | None:
        """Prompts and generations of single questions; None where no source keeps them."""
        return self.evaluations.texts()

    def verdicts(self) -> dict[str, dict[str, Verdict]]:
        """What reviewers said, by benchmark and question."""
        if self.exclude is None:
            return {}
        from howsure.review import verdicts

        found: dict[str, dict[str, Verdict]] = {}
        for one in verdicts.load(self.exclude).values():
            found.setdefault(one.benchmark, {})[one.question] = one
        return found

    def _left(self, part: Cells | Cube | AnswerCounts) -> list[str]:
        kept = next((set(one.questions) for one in self.cells if one.benchmark == part.benchmark), set())
        return [question for question in part.questions if question in kept]


def _named(columns: Sequence[str]) -> dict[str, str]:
    named = {}
    for pair in columns:
        name, equals, column = pair.partition("=")
        if not equals or not column:
            raise InputError(f"--columns {pair!r}", remedy="write NAME=COLUMN, such as --columns question=task_id")
        named[name] = column
    return named
