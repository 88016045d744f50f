"""Read results at paths and in frames once, and return them as cells, cubes, runs, answers or texts."""

from __future__ import annotations

import copy
import math
import shlex
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.notes import Note, merge_notes, warn
from howsure.results.merging import compare_sources, find_shared_cells, join_runs, merge_cubes, share_clusters
from howsure.results.run_source import is_judged
from howsure.results.sources import Data, check_no_mapping, find_sources
from howsure.rows.columns import TableOptions
from howsure.rows.frames import is_frame
from howsure.rows.mapping import GivenMap, Shape
from howsure.rows.source import Source
from howsure.rows.to_cells import flatten_cube, make_cells, make_cubes, make_runs, merge_cells
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.repeats import describe_dependence

if TYPE_CHECKING:
    from howsure.results.texts import QuestionTexts
    from howsure.stats.core.cells import IntArray
    from howsure.stats.prompts import VariantAnswers
    from howsure.stats.questions import AnswerCounts

Part = TypeVar("Part", Cells, Cube)


def read(
    given: Data,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    map: GivenMap | None = None,  # noqa: A002  # as the option --map
    shape: Shape | None = None,
    scorer: str | None = None,
    generations: int | None = None,
    dimensions: Sequence[str] = (),
    benchmark: str | None = None,
    benchmarks: Sequence[str] = (),
    model: str | None = None,
    scale: float | None = None,
) -> Evaluations:
    """Read run folders, logs of other programs, tables and frames.

    The call finds the sources at the paths; each source is read when its results are first needed.

    Parameters
    ----------
    given
        Paths and frames, one or several. A folder that is neither a run nor a log is searched for both and for tables;
        a name may be a glob, or an address such as s3://bucket/rows.parquet. Frames are those of pandas, polars,
        pyarrow, DuckDB and PySpark; a lazy one is collected.
    columns
        Mapping from our column names to the columns of tables, where these have other names than
        `rows.words.ALIASES`, or to the fields of a log, such as `metadata.passage`. Several columns make one name:
        `{"model": ["strategy", "method"]}`.
    map
        A mapping of tables and of names of files, as YAML, a file of it or a dict; see `rows.mapping.TableMap`.
    shape
        What the rows and columns of tables are; None finds it. "models", "repeats", "variants" and "questions" are
        tables with a column for each of these; "variants" has a row per variant and a column per model.
    scorer
        Name of the score to read from logs with several scores, and from run folders that were scored again.
    generations
        Largest number of generations to read for each model, question and variant: those with the lowest numbers. None
        reads all. Which are the first of two sources with the same questions of a model is not known.
    dimensions
        Columns of tables with the values of the variants. Without a column for the variant, each combination of values
        is a variant. Run folders store their dimensions.
    benchmark
        One name for the benchmark of everything that is read, whatever files and logs call it: question ids that agree
        are the same questions.
    benchmarks
        Names of the benchmarks that are read; () reads all of them. With `benchmark`, the names that files and logs
        have, as of a folder with several benchmarks of which one is to be joined with that of another program.
    model
        Name of the model of tables without a column that names it; None takes the name of the file or its folder.
    scale
        What scores of tables are divided by, such as 100; None divides scores that look like percent by 100, and says
        so.

    Returns
    -------
    Evaluations
        The results, which every public function accepts; as a sequence, the `Cells` of each benchmark.

    Raises
    ------
    InputError
        When there is nothing to read at a path, or `benchmarks` is a text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"benchmark": ["b"] * 3, "model": ["m"] * 3, "question": ["1", "2", "3"], "score": [1, 0, 1]})
    >>> [(cells.benchmark, cells.models, cells.n.tolist()) for cells in read(frame)]
    [('b', ('m',), [[1, 1, 1]])]
    """
    if isinstance(benchmarks, str):
        raise InputError(f"benchmarks is the text {benchmarks!r}", remedy=f"give a list: [{benchmarks!r}]")
    sources = find_sources(
        given,
        columns=columns,
        map=map,
        shape=shape,
        scorer=scorer,
        generations=generations,
        benchmark=benchmark,
        selects=bool(benchmarks),
        model=model,
        scale=scale,
    )
    by_variant = bool(dimensions) or any(_has_variant_rows(source) for source in sources)
    return Evaluations(
        sources, dimensions=dimensions, by_variant=by_variant, benchmark=benchmark, benchmarks=benchmarks
    )


def _has_variant_rows(source: Source) -> bool:
    """Return whether the user said that rows of a table are prompt variants."""
    options = getattr(source, "options", None)
    return isinstance(options, TableOptions) and options.map.shape == "variants"


class Evaluations(Sequence[Cells]):
    """Results of several sources, where those of the same benchmark are added up.

    Each form (cells, cubes, runs, answers) is read once, when it is first needed. As a sequence it
    holds the `Cells` of each benchmark.

    Parameters
    ----------
    sources
        Run folders, logs, tables and frames, as `find_sources` returns them.
    dimensions, benchmark, benchmarks
        As for `read`.
    by_variant
        Whether tables may hold one score per variant for a whole benchmark.

    Warns
    -----
    HowsureWarning
        While results are read, for everything that limits their interpretation, such as generations that seem to be
        copies of each other or retries until one was right (`stats.repeats.describe_dependence`).

    Examples
    --------
    >>> import pyarrow as pa
    >>> results = read(pa.table({"model": ["m", "m"], "question": ["1", "2"], "score": [1, 0]}))
    >>> [cells.total.tolist() for cells in results]
    [[[1.0, 0.0]]]
    """

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        dimensions: Sequence[str] = (),
        by_variant: bool = False,
        benchmark: str | None = None,
        benchmarks: Sequence[str] = (),
    ) -> None:
        self.sources, self.dimensions, self.benchmark = tuple(sources), tuple(dimensions), benchmark
        self.by_variant = by_variant
        self.benchmarks = tuple(benchmarks)
        self._doubts: defaultdict[int, list[Note]] = defaultdict(list)  # by the index of the source
        self._benchmarks_of: dict[int, set[str]] = {}  # by the index of the source, once scores have been read
        self._stored_names: list[set[str]] = [set()] * len(sources)  # as the sources name them, and read or not
        self._emitted: set[Note] = set()

    def __repr__(self) -> str:
        return f"Evaluations({', '.join(str(source.path) for source in self.sources)})"

    def __len__(self) -> int:
        return len(self.cells())

    @overload
    def __getitem__(self, index: int) -> Cells: ...

    @overload
    def __getitem__(self, index: slice) -> list[Cells]: ...

    def __getitem__(self, index: int | slice) -> Cells | list[Cells]:
        return self.cells()[index]

    def cells(self) -> list[Cells]:
        """Return the cells of each benchmark, pooled over prompt variants.

        Tables of scores of whole benchmarks, a row per variant, have cells through their cubes.
        """
        return [cube.cells() for cube in self._cubes] if self._holds_benchmark_scores else list(self._cells)

    def count_passes(self, pass_at: float) -> Evaluations:
        """Return these results for `cells`, with a score of 1 where it is `pass_at` or more, and of 0 where not.

        `cubes` and `runs` of them are refused, because they would hold the scores as they are.

        Raises
        ------
        InputError
            When no score can be so large, or those of single generations are not known.
        """
        if not 0 < pass_at < math.inf:
            raise InputError(f"pass_at is {pass_at:g}", remedy="allowed: above 0, such as 0.7")
        if self._holds_benchmark_scores:
            raise InputError("scores of whole benchmarks do not pass or fail", remedy="give the scores of questions")
        if pass_at > 1 and all(cells.unit for cells in self.cells()):
            raise InputError(f"scores are from 0 to 1, and none is {pass_at:g}", remedy="name one such as 0.7")
        sources = [copy.copy(source) for source in self.sources]
        for source in sources:
            source.pass_at = pass_at
        names: dict[str, Any] = {name: getattr(self, name) for name in ("dimensions", "benchmark", "benchmarks")}
        passes = Evaluations(sources, by_variant=self.by_variant, **names)
        passes._emitted |= self._emitted
        return passes

    def cubes(self) -> list[Cube]:
        """Return the cells of each prompt variant, one cube per benchmark."""
        self._refuse_passes()
        return list(self._cubes)

    def runs(self) -> dict[str, list[Cells]]:
        """Return the runs of each benchmark; each generation number of each source is one run.

        Sources with other questions of the same models hold parts of the same runs. A table without a column for the
        generation is one run. Scores of whole benchmarks have no runs.
        """
        self._refuse_passes()
        if self._holds_benchmark_scores:
            return {}
        return {benchmark: list(runs) for benchmark, runs in self._runs.items()}

    def _refuse_passes(self) -> None:
        """Raise InputError where scores were to be counted as passed or not, which only `cells` does."""
        if any(source.pass_at is not None for source in self.sources):
            raise InputError("scores are counted as passed for cells alone", where="pass_at", remedy="leave it out")

    def answers(self) -> dict[str, AnswerCounts]:
        """Return how often each model gave each answer, by benchmark; see `results.answers.count_answers`."""
        return dict(self._answers)

    def texts(self) -> QuestionTexts | None:
        """Return prompts and generations of single questions; None where no source keeps texts."""
        from howsure.results.texts import QuestionTexts

        # Texts are looked up by the names that their sources use.
        return None if self.benchmark is not None else QuestionTexts(self.sources) or None

    def count_unparsed(self, cubes: Iterable[Cube]) -> dict[str, IntArray]:
        """Count the answers that could not be parsed, by benchmark; see `results.answers.count_unparsed`."""
        from howsure.results.answers import count_unparsed

        return {} if self.benchmark is not None else count_unparsed(self.sources, cubes)

    def count_variant_answers(self, cubes: Iterable[Cube]) -> dict[str, VariantAnswers]:
        """Count the answers under each prompt variant; see `results.answers.count_variant_answers`."""
        from howsure.results.answers import count_variant_answers

        return {} if self.benchmark is not None else count_variant_answers(self.sources, cubes)

    def split_cells(self) -> list[list[Cells]]:
        """Return the cells of the benchmarks of each source, pooled with those of the other sources."""
        cells = self.cells()
        names = [self._benchmarks_of.get(i, set()) for i in range(len(self.sources))]
        return [[each for each in cells if each.benchmark in own] for own in names]

    def find_pooled_paths(self) -> tuple[str, str, str] | None:
        """Return a model and two paths, given apart, that both have answers of it to a question; None without such."""
        if len({source.given_at for source in self.sources}) < 2:
            return None
        self.cells()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HowsureWarning)  # reading the cells has raised the same warnings
            parts = self._limit([source.group(make_cells) or [] for source in self.sources])
        for model, first, source in find_shared_cells(parts, self.sources):
            if first.given_at != source.given_at:
                return model, str(first.path), str(source.path)
        return None

    def list_differences(self, earlier: Evaluations) -> list[Note]:
        """Return a note on each benchmark that is not the one of this name in earlier results, by its questions."""
        old, new = earlier.split_cells(), self.split_cells()
        within = [*compare_sources(old, earlier.sources), *compare_sources(new, self.sources)]
        notes = compare_sources([*old, *new], [*earlier.sources, *self.sources])
        return [note for note in notes if note not in within]

    def manifests(self) -> list[dict[str, object]]:
        """Return the manifests of run folders and logs."""
        return [manifest for source in self.sources if (manifest := source.manifest()) is not None]

    def notes(self, benchmark: str | None = None, *, has_folders: bool = True) -> list[Note]:
        """Return the notes of all sources that have been read: one for each code; see `notes.merge_notes`.

        Parameters
        ----------
        benchmark
            Name of a benchmark: notes of sources that hold others only are left out, and so are notes on others. None
            takes all benchmarks that are read.
        has_folders
            False names files without their folders, for a page that others read.
        """
        return merge_notes(self._list_notes(benchmark, has_folders=has_folders))

    def _list_notes(self, benchmark: str | None = None, *, has_folders: bool = True) -> Iterator[Note]:
        """Yield the notes of each source, with its path."""
        for i, source in enumerate(self.sources):
            if self.benchmarks and self._benchmarks_of and i not in self._benchmarks_of:
                continue  # it holds other benchmarks only
            if benchmark is not None and benchmark not in self._benchmarks_of.get(i, {benchmark}):
                continue
            path = str(source.path)
            if not has_folders:
                path = Path(path).name or path
            names = self._stored_names[i]
            wanted = set(self.benchmarks) or names
            if benchmark is not None and self.benchmark is None:
                wanted = {benchmark}
            stated = (one for one in source.notes if not one.benchmarks or not wanted or wanted & {*one.benchmarks})
            doubts = (one for one in self._doubts[i] if benchmark in {None, *one.benchmarks})
            for note in (*stated, *doubts):
                yield replace(note, where=f"{path}: {note.where}" if note.where else path)

    @property
    def _holds_benchmark_scores(self) -> bool:
        """Whether the tables have one score per variant for a whole benchmark, and none per question."""
        return self.by_variant and any(cube.is_whole for cube in self._cubes)

    @cached_property
    def _cells(self) -> tuple[Cells, ...]:
        parts = self._limit([source.group(make_cells) or [] for source in self.sources])
        self._benchmarks_of = {i: {cells.benchmark for cells in part} for i, part in enumerate(parts) if part}
        shared, unclustered = share_clusters([cells for part in parts for cells in part])
        merged = merge_cells(shared)
        self._find_doubts(parts, merged)
        self._warn([*compare_sources(parts, self.sources), *unclustered, *_find_equal_questions(merged)])
        return tuple(merged)

    @cached_property
    def _cubes(self) -> tuple[Cube, ...]:
        parts = self._limit([source.group(make_cubes, dimensions=self.dimensions) or [] for source in self.sources])
        # Each question is sampled independently under each variant.
        flat = [[flatten_cube(cube) for cube in part if not cube.is_whole] for part in parts]
        self._find_doubts(flat, flat[0] if len(flat) == 1 else [])
        shared, unclustered = share_clusters([cube for part in parts for cube in part])
        merged = merge_cubes(shared)
        nested = [cube.benchmark for cube in merged if cube.nested]
        self._warn([*unclustered, *(Note("nested-variants", name, benchmarks=(name,)) for name in nested)])
        return tuple(merged)

    @cached_property
    def _runs(self) -> dict[str, list[Cells]]:
        each = [source.group(make_runs) or {} for source in self.sources]
        parts = self._limit([[run for runs in own.values() for run in runs.values()] for own in each])
        self._warn([])
        return join_runs(parts)

    @cached_property
    def _answers(self) -> dict[str, AnswerCounts]:
        from howsure.results.answers import count_answers

        if any(source.most_generations is not None for source in self.sources):
            self.cells()  # which refuses sources that share cells
        answers = count_answers([source for source in self.sources if not is_judged(source)])
        answers = {name: each for name, each in answers.items() if each.answers}  # rows of a table have none
        if self.benchmarks:
            answers = {name: each for name, each in answers.items() if name in self.benchmarks}
        if self.benchmark is None or not answers:
            return answers
        return {self.benchmark: reduce(add, [replace(each, benchmark=self.benchmark) for each in answers.values()])}

    def _limit(self, parts: list[list[Part]]) -> list[list[Part]]:
        """Return the parts of each source under the names that are read.

        Raises
        ------
        InputError
            When no source could be read, or first generations are read and two sources have some of a model.
        """
        faults = [fault for source in self.sources if (fault := source.fault) is not None]
        if faults and not any(parts):
            raise faults[0]
        self._stored_names = [{part.benchmark for part in each} for each in parts]
        if self.benchmarks:
            parts = self._select_benchmarks(parts)
        if self.benchmark is not None:
            parts = [self._rename(source, part) for source, part in zip(self.sources, parts, strict=True)]
        if len(parts) > 1 and any(source.most_generations is not None for source in self.sources):
            for model, first, source in find_shared_cells(parts, self.sources):
                what = f"{first.path} has generations of {model} on the same questions: which are first is not known"
                remedy = "join them in a run folder with howsure convert, which numbers them, and give that"
                raise InputError(what, where=str(source.path), remedy=remedy)
        return parts

    def _select_benchmarks(self, parts: list[list[Part]]) -> list[list[Part]]:
        """Return the parts of each source that are of the benchmarks that are read.

        Raises
        ------
        UnknownNameError
            Where no source has one of them.
        """
        names = {part.benchmark for each in parts for part in each}
        for name in self.benchmarks:
            if name not in names:
                where = f"--benchmark (--as-benchmark {name} would give everything that is read this name)"
                where = where if self.benchmark is None else "--benchmark, which takes the names of the files"
                raise UnknownNameError("benchmark", name, names, where=where)
        return [[part for part in each if part.benchmark in self.benchmarks] for each in parts]

    def _rename(self, source: Source, parts: list[Part]) -> list[Part]:
        """Return the parts of a source with the name of the one benchmark."""
        names = sorted({part.benchmark for part in parts})
        if len(names) > 1:
            raise build_benchmarks_error(names, source.path)
        changed: dict[str, Any] = {"benchmark": self.benchmark}
        return [replace(part, **changed) for part in parts]

    def _find_doubts(self, parts: Sequence[Sequence[Cells]], merged: Sequence[Cells]) -> None:
        """Store the evidence against independent generations with the first source of each benchmark."""
        for total in merged:
            own = [(i, cells) for i, part in enumerate(parts) for cells in part if cells.benchmark == total.benchmark]
            doubts = self._doubts[own[0][0]]
            doubts += [note for note in describe_dependence([cells for _, cells in own], total) if note not in doubts]

    def _warn(self, more: Iterable[Note]) -> None:
        """Issue warnings for the notes that are new, and for more notes."""
        new = [note for note in self._list_notes() if note not in self._emitted]
        self._emitted.update(new)
        for note in (*merge_notes(new), *more):
            warn(note, stacklevel=5)


def build_benchmarks_error(names: Sequence[str], path: str | Path, *, may_select: bool = True) -> InputError:
    """Return the error of a source with several benchmarks that are to have one name."""
    listed = ", ".join(names[:3]) + ", ..." * (len(names) > 3)
    what = f"{len(names)} benchmarks ({listed}), and --as-benchmark names one"
    remedy = f"select what is to be one with --benchmark, such as --benchmark {shlex.quote(names[0])}, beside it"
    if not may_select:
        remedy = (
            f"leave it out, and give --benchmark {shlex.quote(names[0])} --as-benchmark NAME to commands that read it"
        )
    return InputError(what, where=str(path), remedy=remedy)


def _find_equal_questions(cells: Sequence[Cells]) -> Iterator[Note]:
    """Yield a note on benchmarks of different names and models with the same question ids."""
    by_questions: defaultdict[frozenset[str], list[Cells]] = defaultdict(list)
    for one in cells:
        by_questions[frozenset(one.questions)].append(one)
    for questions, same in by_questions.items():
        models = [set(one.models) for one in same]
        if len(same) > 1 and len(questions) > 1 and sum(map(len, models)) == len(set().union(*models)):
            names = tuple(one.benchmark for one in same)
            listed = ", ".join(names[:3]) + ", ..." * (len(names) > 3)
            yield Note("equal-question-ids", benchmarks=names, n=len(questions), facts={"names": listed})


def to_cells(data: Data | Evaluations | Cells | Iterable[Cells]) -> list[Cells]:
    """Return the cells of each benchmark, of results in any form that the public functions take.

    Parameters
    ----------
    data
        What `read` returned, or whatever it takes; or cells, one object or several.
    """
    opened = open_or_list(data)
    return opened.cells() if isinstance(opened, Evaluations) else opened


def open_or_list(data: Data | Evaluations | Cells | Iterable[Cells]) -> Evaluations | list[Cells]:
    """Return results in any form that the public functions take, not yet read; or cells, one or several, as a list."""
    if isinstance(data, Evaluations):
        return data
    items, are_cells = _list_items(data, Cells)
    return items if are_cells else read(items)


def to_cubes(data: Data | Evaluations | Cube | Iterable[Cube]) -> list[Cube]:
    """Return the cubes of each benchmark, of results in any form that the public functions take."""
    if isinstance(data, Evaluations):
        return data.cubes()
    items, are_cubes = _list_items(data, Cube)
    return items if are_cubes else read(items).cubes()


def to_runs(
    data: Data | Evaluations | Cells | Iterable[Cells] | Mapping[str, Sequence[Cells]],
) -> dict[str, list[Cells]]:
    """Return the runs of each benchmark, of results in any form that the public functions take.

    Cells in a sequence are the runs of their benchmarks, in order.
    """
    if isinstance(data, Mapping):
        if not all(
            isinstance(runs, Iterable) and all(isinstance(run, Cells) for run in runs) for runs in data.values()
        ):
            check_no_mapping(data)
        return {benchmark: list(runs) for benchmark, runs in data.items()}
    if not isinstance(data, Evaluations):
        items, are_cells = _list_items(data, Cells)
        if are_cells:
            return {one.benchmark: [run for run in items if run.benchmark == one.benchmark] for one in items}
        return read(items).runs()
    return data.runs()


def to_answers(data: Data | Evaluations | AnswerCounts | Mapping[str, AnswerCounts]) -> dict[str, AnswerCounts]:
    """Return the answers of each benchmark, of results in any form that the public functions take."""
    from howsure.stats.questions import AnswerCounts

    if isinstance(data, AnswerCounts):
        return {data.benchmark: data}
    if isinstance(data, Mapping):
        if not all(isinstance(counts, AnswerCounts) for counts in data.values()):
            check_no_mapping(data)
        return dict(data)
    return (data if isinstance(data, Evaluations) else read(data)).answers()


def _list_items(data: Any, kind: type[Cells | Cube]) -> tuple[list[Any], bool]:
    """Return one or several objects as a list, and whether all of them are of this kind."""
    check_no_mapping(data)
    one = isinstance(data, (kind, str)) or not isinstance(data, Iterable) or is_frame(data)
    items = [data] if one else list(data)
    return items, bool(items) and all(isinstance(item, kind) for item in items)
