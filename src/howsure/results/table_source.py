"""A table as a source of cells, cubes and runs, and the names that tables in files get by their paths."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from howsure.errors import InputError
from howsure.logs.settings import is_harmless
from howsure.notes import Note
from howsure.rows.columns import TableOptions
from howsure.rows.formats import is_glob, match_pattern, name_table
from howsure.rows.frames import FrameLike
from howsure.rows.naming import FileFacts, Layout, name_files
from howsure.rows.score_column import drop_summaries
from howsure.rows.source import Source
from howsure.rows.table import describe_table, read_table
from howsure.rows.to_cells import make_cubes, map_parts

T = TypeVar("T")


class TableSource(Source):
    """A table: a file, a glob of files, an address, or a frame.

    Parameters
    ----------
    table
        The path or the frame.
    options
        The mapping, and what no column states.
    path
        The name that messages use for a frame.
    label
        The NAME of `NAME=PATH`.

    Attributes
    ----------
    renames
        New labels of the models in the table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from howsure.rows.mapping import read_map
    >>> from howsure.rows.to_cells import make_cells
    >>> frame = pa.table({"method": ["m", "m"], "question": ["1", "2"], "score": [1, 0]})
    >>> TableSource(frame, TableOptions(read_map("model: method"))).group(make_cells)[0].models
    ('m',)
    """

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
        name = path if path is not None else table if isinstance(table, (str, Path)) else "the frame"
        super().__init__(name, most_generations, is_optional=is_optional)
        self.table, self.options, self.label = table, options, label
        self.renames: Mapping[str, str] = {}

    def group(self, make: Callable[..., T], dimensions: Sequence[str] = ()) -> T | None:
        """Return what a function of `to_cells` makes of the rows; None where an optional table cannot be read."""
        where, options = str(self.path), self.options

        def add(note: Note) -> None:
            self.note(replace(note, where="") if note.where == where else note)

        if options.map.text:
            add(Note("mapping", facts={"digest": options.map.digest, "mapping": options.map.text}))
        if make is make_cubes:
            options = replace(options, dimensions=tuple(dimensions), by_variant=True)
        own: Callable[..., Any] = partial(make, generations=self.most_generations)
        try:
            result: Any = drop_summaries(read_table(self.table, own, where, options, add), where, add)
            if self.pass_at is not None:  # which rows sum up others, the scores as they are say
                rows = read_table(self.table, partial(own, pass_at=self.pass_at), where, options, add)
                passes = {one.benchmark: one for one in rows}
                result = [passes[one.benchmark].select(one.models, one.questions) for one in result]
        except InputError as error:
            self.leave_out(error)
            return None
        return cast("T", map_parts(result, self._rename) if self.renames else result)

    def _rename(self, part: Any) -> Any:
        """Return cells or a cube with the new labels of the models."""
        names = self.renames
        changes: dict[str, Any] = {"models": tuple(names.get(model, model) for model in part.models)}
        for by_model in ("variants_of", "days"):
            if own := getattr(part, by_model, None):
                changes[by_model] = {names.get(model, model): value for model, value in own.items()}
        return replace(part, **changes)


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
