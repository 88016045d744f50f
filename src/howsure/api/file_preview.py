"""Show how a file is understood: what each column is taken for, what follows, and the command to run next."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from howsure.errors import HowsureWarning
from howsure.readers.evaluations import Evaluations
from howsure.readers.logs.log_source import LogSource
from howsure.readers.sources import TableSource, find_sources
from howsure.stats.core.results import Columns, Result, make_columns
from howsure.tables.columns import normalise_name
from howsure.tables.read_table import TableContent, describe_table

__all__ = ["FilePreview", "preview"]

#: Largest number of names that a line lists.
_N_NAMED = 5


@dataclass(frozen=True)
class FilePreview(Result):
    """How a file is understood.

    Attributes
    ----------
    path
        The file or folder.
    taken_as
        For each column of a table what it is taken for, an example of its values, and why; empty for logs.
    lines
        What follows: rows, benchmarks, models, questions, scores, and what was decided.
    command
        The command line that reads it.
    """

    path: str
    taken_as: tuple[tuple[str, str, str, str], ...]
    lines: tuple[str, ...]
    command: str

    def columns(self) -> Columns:
        """Return column, taken_as, example and remark, a row for each column of the table."""
        rows = list(zip(*self.taken_as, strict=True)) or [(), (), (), ()]
        names = ("column", "taken_as", "example", "remark")
        return make_columns(len(self.taken_as), **{name: list(each) for name, each in zip(names, rows, strict=True)})

    def __str__(self) -> str:
        table: list[str] = []
        if self.taken_as:
            rows = [("column", "taken as", "first value", ""), *self.taken_as]
            widths = [max(len(row[i]) for row in rows) for i in range(3)]
            table = [
                "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip()
                for row in rows
            ]
        return "\n".join([*table, *([""] if table else []), *self.lines, "", self.command])


def preview(
    path: str | PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    scorer: str | None = None,
    benchmark: str | None = None,
    model: str | None = None,
    scale: float | None = None,
) -> FilePreview:
    r"""Show how a table, a log or a run folder is understood, before it is scored.

    Parameters
    ----------
    path
        What `howsure.read` takes: a table, a log, a run folder, or a folder of these, of which the first is shown.
    columns, scorer, benchmark, model, scale
        As for `howsure.read`.

    Returns
    -------
    FilePreview
        What each column is taken for and why, what follows, and the command line that reads the file.

    Raises
    ------
    InputError
        When it cannot be read; the message says which column is missing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "t.csv")
    >>> _ = file.write_text("llm,task_id,passed\na,1,1\na,2,0\n")
    >>> preview(file)["taken_as"].tolist()
    ['model', 'question', 'score']
    """
    sources = find_sources(path, columns=columns, scorer=scorer, benchmark=benchmark, model=model, scale=scale)
    source = sources[0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HowsureWarning)
        cells = Evaluations([source], benchmark=benchmark).cells()
    warned = [str(one.message).removeprefix(f"{source.path}: ") for one in caught]
    lines = [f"{len(sources)} files or folders; the first is {source.path}"] if len(sources) > 1 else []
    taken_as: tuple[tuple[str, str, str, str], ...] = ()
    if isinstance(source, TableSource) and isinstance(source.path, Path):
        content = describe_table(source.path, source.columns, source.names)
        taken_as = _list_columns(content, source.columns)
        lines.append(f"{content.n_rows} rows of a table")
    elif isinstance(source, LogSource):
        lines.append(f"a log of {source.reader.name}")
    else:
        lines.append("a run folder")
    for one in cells:
        n, total = int(one.n.sum()), float(one.total.sum())
        lines.append(
            f"benchmark {one.benchmark}: {_count(one.models, 'model')}, {_count(one.questions, 'question')}, "
            f"{n} scores with mean {total / n:.4g}"
            if n
            else f"benchmark {one.benchmark}: no score"
        )
    options = [f"--columns {name}={shlex.quote(column)}" for name, column in (columns or {}).items()]
    options += [f"--scorer {shlex.quote(scorer)}"] if scorer else []
    given = {"benchmark": benchmark, "model": model, "scale": None if scale is None else f"{scale:g}"}
    options += [f"--{name} {shlex.quote(value)}" for name, value in given.items() if value is not None]
    command = " ".join(["howsure", "score", shlex.quote(str(path)), *options])
    return FilePreview(str(path), taken_as, (*lines, *dict.fromkeys(warned)), command)


def _list_columns(content: TableContent, columns: Mapping[str, str]) -> tuple[tuple[str, str, str, str], ...]:
    """Return what each column of a table is taken for, an example of its values, and why."""
    ours = {column: name for name, column in reversed(list(content.columns.items()))}
    rows = []
    for column, example in content.every.items():
        fields = [name for name in ours if name == column or name.startswith(f"{column}.")]
        name = ", ".join(ours[field] for field in fields)
        remark = "not used"
        if name:
            is_named = any(one in columns for one in name.split(", "))
            is_same = normalise_name(name) == normalise_name(column)
            remark = "as --columns says" if is_named else "" if is_same else "by its name"
            remark = f"its field {fields[0]}" if fields[0] != column else remark
        rows.append((column.strip() or "(no name)", name or "-", example, remark))
    return tuple(rows)


def _count(names: Sequence[str], what: str) -> str:
    """Return how many names there are, and the first of them."""
    listed = ", ".join(names[:_N_NAMED]) + (", ..." if len(names) > _N_NAMED else "")
    return f"{len(names)} {what}{'s' * (len(names) != 1)} ({listed})"
