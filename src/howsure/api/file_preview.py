"""Show how a file is understood: what each column is taken for, what follows, and the command to run next."""

from __future__ import annotations

import re
import shlex
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from howsure.errors import HowsureWarning, InputError
from howsure.logs.log_source import LogSource
from howsure.notes import as_note, note_omission
from howsure.results.evaluations import Evaluations
from howsure.results.sources import Source, TableSource, find_sources
from howsure.rows.columns import normalise_name
from howsure.rows.frames import is_frame
from howsure.rows.read_table import TableContent, TableNames, describe_table
from howsure.safe_text import shorten_hash
from howsure.stats.core.results import Columns, Result, make_columns

__all__ = ["FilePreview", "preview"]

#: Targets that are numbers, and those that are letters of choices.
_NUMBER, _LETTER = re.compile(r"[$-]?\d[\d,.]*%?"), re.compile(r"\(?[A-J]\)?")
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
    taken_as
        For each column of a table (of the first one in a folder) what it is taken for, an example of its values, and
        why; empty for logs.
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
        What `howsure.read` takes: a table, a log, a run folder, or a folder of these, of which the first 100 are read.
    columns, scorer, benchmark, model, scale
        As for `howsure.read`.

    Returns
    -------
    FilePreview
        What each column is taken for and why, what follows, and the command line that reads the file.

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
    sources = find_sources(path, columns=columns, scorer=scorer, benchmark=benchmark, model=model, scale=scale)
    lines = [_count_kinds(sources)] if len(sources) > 1 else []
    if len(sources) > _N_READ:
        lines.append(f"the first {_N_READ} were read for what follows")
        sources = sources[:_N_READ]
    tables, sources, left_out = _describe_tables(sources)
    lines += left_out
    taken_as: tuple[tuple[str, str, str, str], ...] = ()
    if tables:
        table, content = tables[0]
        taken_as = _list_columns(content, table.columns)
        if len(sources) > 1:
            lines.append(f"the columns are those of {table.path}")
        n_rows = sum(content.n_rows for _, content in tables)
        lines.append(f"{n_rows} rows of {'a table' if len(tables) == 1 else f'{len(tables)} tables'}")
    elif len(sources) == 1:
        lines.append(f"a {_name_kind(sources[0])}")
    without_scores = [(source, content) for source, content in tables if content.needs_scores]
    scored = [source for source in sources if all(source is not other for other, _ in without_scores)]
    for source, content in without_scores:
        lines += _describe_completions(content, source.names)
    lines += _describe_scores(scored, benchmark) if scored else []
    action = ["score", shlex.quote(str(path))]
    if not scored:
        action = ["rescore", shlex.quote(str(path)), "-o", "run", *_choose_scorer(without_scores[0][1])]
    options = [f"--columns {name}={shlex.quote(column)}" for name, column in (columns or {}).items()]
    options += [f"--scorer {shlex.quote(scorer)}"] if scorer else []
    given = {"as-benchmark": benchmark, "model": model, "scale": None if scale is None else f"{scale:g}"}
    options += [f"--{name} {shlex.quote(value)}" for name, value in given.items() if value is not None]
    return FilePreview(str(path), taken_as, tuple(dict.fromkeys(lines)), " ".join(["howsure", *action, *options]))


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
                tables.append((source, describe_table(source.path, source.columns, source.names)))
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
    notes = [getattr(one.message, "note", None) or as_note(str(one.message)) for one in caught]
    return lines + [note.text if note.where == path else str(note) for note in notes]


def _describe_completions(content: TableContent, names: TableNames) -> list[str]:
    """Return a line on the benchmarks of a table of completions without scores, and one on what it lacks."""
    benchmarks = ", ".join(content.benchmarks or [names.benchmark or ""])
    models = content.models or ([names.model] if names.model else [])
    counts = f"{_count(models, 'model')}, {_count(content.questions, 'question')}"
    what = f"completions in column {content.columns['completion']!r}, and no score"
    lines = [f"benchmark {benchmarks}: {counts}, {what}", *content.notes]
    if not content.models and names.is_model_of_file:
        lines.append(f"no column names the model: it is called {names.model!r}, after its file or folder")
    if "target" not in content.columns:
        lines.append("no column for the target: name it with --columns target=COLUMN, or let a model judge (--judge)")
    return lines


def _choose_scorer(content: TableContent) -> list[str]:
    """Return the options that name a scorer for the targets of a table."""
    targets = [target for _, target in content.targets]
    if not targets:
        return ["--judge", "judge.yaml"] if "target" not in content.columns else ["--scorer", "normalised"]
    if all(_NUMBER.fullmatch(target) for target in targets):
        return ["--scorer", "numeric"]
    return ["--scorer", "choice" if all(_LETTER.fullmatch(target) for target in targets) else "normalised"]


def _list_columns(content: TableContent, columns: Mapping[str, str]) -> tuple[tuple[str, str, str, str], ...]:
    """Return what each column of a table is taken for, an example of its values, and why."""
    ours = {column: name for name, column in reversed(list(content.columns.items()))}
    rows = []
    for column, example in content.every.items():
        fields = [name for name in (content.meanings or ours) if name == column or name.startswith(f"{column}.")]
        if content.meanings:
            meaning = _join_meanings([content.meanings[field] for field in fields])
            rows.append((column.strip() or "(no name)", meaning or "-", example, "" if meaning else "not used"))
            continue
        name = ", ".join(ours[field] for field in fields)
        remark = "not used"
        if name:
            is_named = any(one in columns for one in name.split(", "))
            is_same = normalise_name(name) == normalise_name(column)
            remark = "as --columns says" if is_named else "" if is_same else "by its name"
            remark = f"its field {fields[0]}" if fields[0] != column else remark
        rows.append((column.strip() or "(no name)", name or "-", example, remark))
    return tuple(rows)


def _join_meanings(meanings: Sequence[str]) -> str:
    """Return what the fields of a column hold; of many the first."""
    return ", ".join(meanings[:_N_NAMED]) + (", ..." if len(meanings) > _N_NAMED else "")


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
