"""Name the benchmark, the model and the run of tables in files, by what they state and by their paths."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from howsure.errors import InputError
from howsure.logs.settings import is_harmless
from howsure.notes import Note
from howsure.rows.columns import TableOptions
from howsure.rows.formats import is_glob, match_pattern
from howsure.rows.naming import FileFacts, Layout, name_alone, name_files
from howsure.rows.table import describe_table

if TYPE_CHECKING:
    from howsure.results.sources import TableSource

__all__ = ["list_files_of_models", "name_tables"]


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
        name = name_alone(str(source.path))
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
        matched = set(describe_table(files[0], options).columns)
    except InputError:
        return []  # reading it says what is wrong
    is_one_table = "model" in matched and ("benchmark" in matched or has_benchmark)
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
                    settings={name: value for name, value in content.constants.items() if not is_harmless(name)},
                    content=hashlib.sha256(path.read_bytes()).hexdigest() if is_twin else "",
                    label=source.label,
                ),
            )
