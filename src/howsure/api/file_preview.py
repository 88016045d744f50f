"""Show how a file is understood: what each column is taken for and why, what follows, and the command to run next."""

from __future__ import annotations

import re
import shlex
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from howsure.errors import HowsureWarning, InputError
from howsure.logs.log_source import LogSource
from howsure.notes import note_omission
from howsure.results.evaluations import Evaluations
from howsure.results.sources import find_sources
from howsure.results.table_source import TableSource
from howsure.rows.frames import is_frame
from howsure.rows.mapping import GivenMap, Shape, TableMap
from howsure.rows.source import Source
from howsure.rows.table import TableContent, apply_options, describe_table
from howsure.rows.to_cells import make_cells
from howsure.safe_text import escape_control_characters, shorten_hash
from howsure.stats.core.results import Columns, Result, make_columns

__all__ = ["FilePreview", "preview"]

#: Largest number of names that a line lists.
_N_NAMED = 5
#: Largest number of files of a folder that are read.
_N_READ = 100
#: Digits of a name that are compared as a number.
_DIGITS = re.compile(r"(\d{1,18})")


@dataclass(frozen=True)
class FilePreview(Result):
    """How a file is understood.

    Attributes
    ----------
    path
        The file or folder.
    shape
        The shape that the first table is read as; empty for logs.
    taken_as
        For each column of that table what it is taken for, an example of its values, and why; empty for logs.
    lines
        What follows: rows, benchmarks, models, questions, scores, and what was decided.
    command
        The command line that reads it.
    mapping
        The mapping by which the table is read, as YAML with a reason on each line; empty for logs.
    """

    path: str
    shape: str
    taken_as: tuple[tuple[str, str, str, str], ...]
    lines: tuple[str, ...]
    command: str
    mapping: str = ""

    def columns(self) -> Columns:
        """Return column, taken_as, example and reason, a row for each column of the table."""
        rows = list(zip(*self.taken_as, strict=True)) or [(), (), (), ()]
        names = ("column", "taken_as", "example", "reason")
        return make_columns(len(self.taken_as), **{name: list(each) for name, each in zip(names, rows, strict=True)})

    def format_rows(self, _width: int | None) -> str:
        """Return what each column is taken for, what follows from it, and the command that reads it."""
        table: list[str] = []
        if self.taken_as:
            rows = [("column", "taken as", "first value", "why"), *self.taken_as]
            cells = [[escape_control_characters(cell) for cell in row] for row in rows]
            widths = [max(len(row[i]) for row in cells) for i in range(3)]
            table = [
                "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip()
                for row in cells
            ]
        lines = [escape_control_characters(line) for line in (*self.lines, "", self.command)]
        return "\n".join([*table, *([""] if table else []), *lines])


def preview(
    path: str | PathLike[str],
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    map: GivenMap | None = None,  # noqa: A002  # as the option --map
    shape: Shape | None = None,
    scorer: str | None = None,
    benchmark: str | None = None,
    model: str | None = None,
    scale: float | None = None,
) -> FilePreview:
    r"""Show how a table, a log or a run folder is understood, before it is scored.

    A table that is refused is shown as the command of its refusal reads it, and a line says so.

    Parameters
    ----------
    path
        What `howsure.read` takes: a table, a log, a run folder, or a folder of these, of which the first 100 are read.
    columns, map, shape, scorer, benchmark, model, scale
        As for `howsure.read`.

    Returns
    -------
    FilePreview
        What each column is taken for and why, what follows, the command line that reads the file, and the mapping.

    Raises
    ------
    InputError
        When it cannot be read, where the message says which column is missing; or `path` is no path.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "t.csv")
    >>> _ = file.write_text("llm,task_id,passed\na,1,1\na,2,0\n")
    >>> preview(file)["taken_as"].tolist()
    ['model', 'question', 'score']
    """
    if is_frame(path):
        remedy = "give the path of a file or folder; howsure.read takes frames"
        raise InputError("a frame is no path", where="preview", remedy=remedy)
    given: dict[str, Any] = {"columns": columns, "map": map, "shape": shape, "scorer": scorer}
    sources = find_sources(path, benchmark=benchmark, model=model, scale=scale, **given)
    lines = [_count_kinds(sources)] if len(sources) > 1 else []
    if len(sources) > _N_READ:
        lines.append(f"the first {_N_READ} were read for what follows")
        sources = sources[:_N_READ]
    options = _find_options(sources, lines)
    # Of these names the refusal named the columns, and not the user.
    proposed = dict.fromkeys((value.partition("=")[0] for value in options), "the options below")
    tables, sources, left_out = _describe_tables(sources)
    tables = [(one, content._replace(reasons={**content.reasons, **proposed})) for one, content in tables]
    lines += left_out
    if tables:
        if len(sources) > 1:
            lines.append(f"the columns are those of {tables[0][0].path}")
        n_rows = sum(content.n_rows for _, content in tables)
        lines.append(f"{n_rows} rows of {'a table' if len(tables) == 1 else f'{len(tables)} tables'}")
    elif len(sources) == 1:
        lines.append(f"a {_name_kind(sources[0])}")
    without_scores = [(source, content) for source, content in tables if content.needs_scores]
    scored = [source for source in sources if all(source is not other for other, _ in without_scores)]
    for source, content in without_scores:
        lines += _describe_completions(content, source)
    lines += _describe_scores(scored, benchmark) if scored else []
    action = ["score", str(path)]
    if not scored:
        action = ["rescore", str(path), "-o", "run", *_choose_scorer(without_scores[0][1])]
    flags = {"shape": shape, "scorer": scorer, "as-benchmark": benchmark, "model": model, "scale": scale}
    options = [*_write_options(columns, map, flags), *options]
    first = tables[0] if tables else None
    return FilePreview(
        str(path),
        first[1].shape if first else "",
        _list_columns(first[1], first[0].options.map) if first else (),
        tuple(dict.fromkeys(lines)),
        shlex.join(["howsure", *action, *options]),
        _write_mapping(first[1], first[0].options.map) if first else "",
    )


def _write_options(
    columns: Mapping[str, str | Sequence[str]] | None, table_map: object, flags: Mapping[str, object]
) -> list[str]:
    """Return the options of the command line that say the same as arguments."""
    options: list[str] = []
    for name, column in (columns or {}).items():
        options += ["--columns", f"{name}={column if isinstance(column, str) else ','.join(column)}"]
    for each in table_map if isinstance(table_map, (list, tuple)) else [table_map] if table_map is not None else []:
        options += ["--map", str(each)]
    for flag, value in flags.items():
        if value is not None:
            options += [f"--{flag}", f"{value:g}" if isinstance(value, float) else str(value)]
    return options


def _find_options(sources: Sequence[Source], lines: list[str]) -> list[str]:
    """Return the options of the first refusal of a table, after they were given to all tables."""
    for source in sources:
        if not isinstance(source, TableSource):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HowsureWarning)
                source.group(make_cells)
        except InputError as error:
            if not error.options or not error.options[0].startswith("-"):
                continue
            lines.append(f"refused as it is: {error.what}; what follows is read with the options below")
            for each in sources:
                if isinstance(each, TableSource):
                    each.options = apply_options(each.options, error.options)
                    each.notes.clear()
            return list(error.options)
    return []


def _describe_tables(
    sources: Sequence[Source],
) -> tuple[list[tuple[TableSource, TableContent]], list[Source], list[str]]:
    """Return what the tables hold, the sources that can be read, and a line on each table of a folder that cannot."""
    tables: list[tuple[TableSource, TableContent]] = []
    readable: list[Source] = []
    faults: list[InputError] = []
    for source in sources:
        if isinstance(source, TableSource) and isinstance(source.path, Path):
            try:
                tables.append((source, describe_table(source.path, source.options)))
            except InputError as error:
                if not source.is_optional:
                    raise
                faults.append(error)
                continue
        readable.append(source)
    if faults and not readable:
        raise faults[0]
    return tables, readable, [f"{error.where}: {note_omission(error).text}" for error in faults]


def _name_kind(source: Source) -> str:
    """Return what a source is."""
    if isinstance(source, LogSource):
        return f"log of {source.reader.name}"
    return "table" if isinstance(source, TableSource) else "run folder"


def _count_things(n: int, what: str) -> str:
    """Return a number of things, such as 2 logs of Inspect."""
    head, of, rest = what.partition(" of ")
    return f"{n} {head}{'s' * (n != 1)}{of}{rest}"


def _count_kinds(sources: Sequence[Source]) -> str:
    """Return how many sources of each kind there are."""
    kinds = Counter(map(_name_kind, sources))
    return f"a folder of {len(sources)}: {', '.join(_count_things(n, kind) for kind, n in kinds.items())}"


def _describe_scores(sources: Sequence[Source], benchmark: str | None) -> list[str]:
    """Return a line on each benchmark of the sources, and what is said when they are read."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HowsureWarning)
        cells = Evaluations(sources, benchmark=benchmark).cells()
    lines = []
    for one in cells:
        n, total = int(one.n.sum()), float(one.total.sum())
        lines.append(
            f"benchmark {one.benchmark}: {_count(one.models, 'model')}, {_count(one.questions, 'question')}, "
            f"{n} scores with mean {total / n:.4g}"
            if n
            else f"benchmark {one.benchmark}: no score"
        )
    path = str(sources[0].path) if len(sources) == 1 else None
    notes = [note for one in caught if (note := getattr(one.message, "note", None)) is not None]
    return lines + [note.text if note.where == path else str(note) for note in notes]


def _describe_completions(content: TableContent, source: TableSource) -> list[str]:
    """Return a line on the benchmarks of a table of completions without scores, and one on what it lacks."""
    benchmarks = ", ".join(content.benchmarks or [source.options.benchmark or Path(str(source.path)).stem])
    models = content.models or ([source.options.model] if source.options.model else [])
    counts = f"{_count(models, 'model')}, {_count(content.questions, 'question')}"
    what = f"completions in column {content.columns['completion'][0]!r}, and no score"
    lines = [f"benchmark {benchmarks}: {counts}, {what}", *(note.text for note in content.notes)]
    if "target" not in content.columns:
        lines.append("no column for the target: name it with --columns target=COLUMN, or let a model judge (--judge)")
    return lines


def _choose_scorer(content: TableContent) -> list[str]:
    """Return the options that name a scorer for the targets of a table."""
    targets = [target for _, target in content.targets]
    if not targets:
        return ["--judge", "judge.yaml"] if "target" not in content.columns else ["--scorer", "contains"]
    from howsure.rescoring.rescore import choose_by_targets

    return ["--scorer", choose_by_targets(targets)]


def _list_columns(content: TableContent, table_map: TableMap) -> tuple[tuple[str, str, str, str], ...]:
    """Return what each column of a table is taken for, an example of its values, and the rule by which it was."""
    ours = {column: name for name, columns in reversed(list(content.columns.items())) for column in columns}
    melted = {"models": "score of a model", "repeats": "score of a generation", "variants": "score of a model"}
    rows = []
    for column, example in content.every.items():
        fields = [name for name in ours if name == column or name.startswith(f"{column}.")]
        name = ", ".join(dict.fromkeys(ours[field] for field in fields))
        reason = ", ".join(dict.fromkeys(content.reasons.get(ours[field], "its name") for field in fields))
        if not name and column in content.melted:
            name, reason = melted.get(content.shape, "score of a question"), f"shape {content.shape}"
        if not name:
            reason = "drop: by --map" if column in table_map.drop else "not read"
        rows.append((column.strip() or "(no name)", name or "-", example, reason))
    return tuple(rows)


def _write_mapping(content: TableContent, table_map: TableMap) -> str:
    """Return the mapping by which a table is read, as YAML with a reason on each line."""
    import yaml

    def dump(value: object) -> str:
        return (
            yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6)
            .removesuffix("...\n")
            .strip()
        )

    lines = [f"# The shape is {content.shape}: see docs/formats.md."]
    if content.shape != "generations":
        lines.append(f"shape: {content.shape}" if content.shape != "cells" else "# shape: cells")
    for name, columns in content.columns.items():
        if set(columns) <= content.every.keys():
            value = columns[0] if len(columns) == 1 else list(columns)
            lines.append(f"{name}: {dump(value)}  # {content.reasons.get(name, 'its name')}")
    given = {key: getattr(table_map, key) for key in ("percent", "fraction", "fill", "missing", "header", "sheet")}
    lines += [
        f"{key}: {dump(list(one) if isinstance(one, tuple) else one)}  # by --map" for key, one in given.items() if one
    ]
    taken = {column for columns in content.columns.values() for column in columns} | {*content.melted}
    unread = [column for column in content.every if column not in taken]
    if content.melted and unread:
        lines.append(f"drop: {dump(unread)}  # no scores of a model")
    if not content.melted:
        lines += [f"# not read: {dump(column)} (such as {dump(content.every[column])})" for column in unread]
    alternatives = {"models": "repeats", "repeats": "models"}
    if content.shape in alternatives:
        lines.append(f"# shape: {alternatives[content.shape]}")
    return "\n".join(lines) + "\n"


def _count(names: Sequence[str], what: str) -> str:
    """Return how many names there are, and the first of them; numbers in names are in their order."""
    first = map(shorten_hash, sorted(names, key=_split_numbers)[:_N_NAMED])
    listed = ", ".join(first) + (", ..." if len(names) > _N_NAMED else "")
    return f"{len(names)} {what}{'s' * (len(names) != 1)} ({listed})"


def _split_numbers(name: str) -> list[tuple[bool, int, str]]:
    """Return the sort key of a name in which numbers count as numbers: step-200 is before step-1000, but for hashes."""
    if shorten_hash(name) != name:
        return [(True, 0, name)]
    return [(i % 2 == 0, int(part) if i % 2 else 0, part) for i, part in enumerate(_DIGITS.split(name))]
