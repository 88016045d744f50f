"""A table as a source of cells, cubes and runs, and the names that tables in files get by their paths."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from howsure.errors import InputError
from howsure.logs.settings import is_harmless
from howsure.notes import Note, note_omission
from howsure.rows.columns import TableOptions
from howsure.rows.formats import is_glob, match_pattern, name_table
from howsure.rows.frames import FrameLike
from howsure.rows.naming import FileFacts, Layout, name_files
from howsure.rows.table import describe_table, read_cells, read_cubes, read_runs

if TYPE_CHECKING:
    from howsure.stats.core.cells import Cells
    from howsure.stats.core.cube import Cube

Part = TypeVar("Part")


class TableSource:
    """A table: a file, a glob of files, an address, or a frame.

    Parameters
    ----------
    table
        The path or the frame.
    options
        The mapping, and what no column states.
    path
        The name that messages use for a frame.
    most_generations
        Only the first so many generations of each cell are read; None reads all.
    is_optional
        Whether a table that cannot be read is left out with a note, such as one of many files of a folder.
    label
        The NAME of `NAME=PATH`.

    Attributes
    ----------
    notes
        What was decided while the table was read, or why it is left out.
    renames
        New labels of the models in the table.
    fault
        Why an optional table was left out; None where it was read.
    given_at
        Index, among the paths and frames that were given, of the one that it was found at.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from howsure.rows.mapping import read_map
    >>> frame = pa.table({"method": ["m", "m"], "question": ["1", "2"], "score": [1, 0]})
    >>> TableSource(frame, TableOptions(read_map("model: method"))).cells()[0].models
    ('m',)
    """

    given_at = 0
    pass_at: float | None = None

    def __init__(
        self,
        table: str | Path | FrameLike,
        options: TableOptions,
        *,
        path: str | Path | None = None,
        most_generations: int | None = None,
        is_optional: bool = False,
        label: str = "",
    ) -> None:
        self.table, self.options, self.most_generations = table, options, most_generations
        self.is_optional, self.label = is_optional, label
        self.renames: Mapping[str, str] = {}
        self.fault: InputError | None = None
        self.notes: list[Note] = []
        self.path: str | Path = path if path is not None else table if isinstance(table, (str, Path)) else "the frame"

    def cells(self) -> list[Cells]:
        """Return the cells; see `rows.table.read_cells`."""
        return self._read(partial(read_cells, pass_at=self.pass_at)) or []

    def runs(self) -> dict[str, dict[str, Cells]]:
        """Return the cells of each generation with its number or name; see `rows.table.read_runs`."""
        return self._read(read_runs) or {}

    def cubes(self, dimensions: Sequence[str] = ()) -> list[Cube]:
        """Return the cells of each prompt variant; see `rows.table.read_cubes`."""
        return self._read(partial(read_cubes, dimensions=dimensions)) or []

    def _read(self, read: Callable[..., Part]) -> Part | None:
        """Return what a function of `rows.table` reads; None where an optional table cannot be read."""

        def add(note: Note) -> None:
            own = replace(note, where="") if note.where == str(self.path) else note
            if own not in self.notes:
                self.notes.append(own)

        if self.options.map.text:
            facts = {"digest": self.options.map.digest, "mapping": self.options.map.text}
            add(Note("mapping", facts=facts))
        options: dict[str, Any] = {"generations": self.most_generations, "options": self.options, "note": add}
        try:
            result = read(self.table, name=str(self.path), **options)
            return _rename_models(result, self.renames) if self.renames else result
        except InputError as error:
            if not self.is_optional:
                raise
            if self.fault is None:
                add(note_omission(error))
            self.fault = error
            return None

    def manifest(self) -> None:
        """Return None, because a table has no manifest."""


def _rename_models(result: Any, names: Mapping[str, str]) -> Any:
    """Return cells or cubes, or lists and mappings of them, with new labels of models."""
    if isinstance(result, list):
        return [_rename_models(one, names) for one in result]
    if isinstance(result, dict):
        return {key: _rename_models(one, names) for key, one in result.items()}
    changes: dict[str, Any] = {"models": tuple(names.get(model, model) for model in result.models)}
    for by_model in ("variants_of", "days"):
        if own := getattr(result, by_model, None):
            changes[by_model] = {names.get(model, model): value for model, value in own.items()}
    return replace(result, **changes)


def name_tables(
    sources: Sequence[TableSource],
    *,
    benchmark: str | None = None,
    model: str | None = None,
    layout: Layout | None = None,
) -> list[Note]:
    """Set the names of tables in files where no column states them, and return notes on their paths.

    Parameters
    ----------
    sources
        Tables in files, in the order in which they are read.
    benchmark, model
        Names that the user gave.
    layout
        Parts of paths that the user named; see `rows.naming`.
    """
    for source in sources:
        name = name_table(str(source.path))
        source.options = replace(
            source.options, benchmark=benchmark or name, model=model or name, is_model_of_file=model is None
        )
    if len(sources) < 2 and not layout and not any(source.label for source in sources):
        return []
    described = list(_describe_tables(sources))
    names, notes = name_files([facts for _, facts in described], benchmark=benchmark, model=model, layout=layout)
    for (source, _), own in zip(described, names, strict=True):
        source.renames = own.renames
        source.options = replace(
            source.options,
            benchmark=own.benchmark or source.options.benchmark,
            model=own.model or source.options.model,
            is_model_of_file=False,
        )
    return notes


def list_files_of_models(pattern: str, options: TableOptions, *, has_benchmark: bool) -> list[Path]:
    """Return the files that a pattern matches; empty where they are one table, whose columns name what they hold.

    Parameters
    ----------
    pattern
        A glob of tables, or any other name.
    options
        How the tables are read.
    has_benchmark
        Whether the user named the benchmark.
    """
    files = match_pattern(pattern) if is_glob(pattern) else []
    if len(files) < 2:
        return []
    try:
        named = set(describe_table(files[0], options).columns)
    except InputError:
        return []  # reading it says what is wrong
    is_one_table = "model" in named and ("benchmark" in named or has_benchmark)
    return [] if is_one_table else [Path(file) for file in files]


def _describe_tables(sources: Sequence[TableSource]) -> Iterator[tuple[TableSource, FileFacts]]:
    """Yield each table that can be read and has questions, with what it states."""
    sizes = Counter(path.stat().st_size for source in sources if (path := Path(str(source.path))).is_file())
    for source in sources:
        path = Path(str(source.path))
        table = source.table if isinstance(source.table, (str, Path)) else path
        try:
            content = describe_table(table, replace(source.options, model="", is_model_of_file=False))
        except InputError:
            continue  # reading it says what is wrong
        is_twin = path.is_file() and sizes[path.stat().st_size] > 1
        if content.questions:
            yield (
                source,
                FileFacts(
                    str(path),
                    models=frozenset(content.models) if "model" in content.columns else None,
                    benchmarks=frozenset(content.benchmarks) if "benchmark" in content.columns else None,
                    keys=frozenset(content.keys),
                    questions=frozenset(content.questions),
                    targets=dict(content.targets),
                    inputs=dict(content.inputs),
                    settings={name: value for name, value in content.constants.items() if not is_harmless(name)},
                    content=hashlib.sha256(path.read_bytes()).hexdigest() if is_twin else "",
                    label=source.label,
                ),
            )
