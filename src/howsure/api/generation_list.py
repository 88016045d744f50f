"""Single generations with their completions, what was read of them, and by which rule."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from howsure.api.result_selection import open_results
from howsure.errors import InputError
from howsure.logs.base import LogRow, ReadOptions
from howsure.logs.log_names import DistinctLog
from howsure.logs.log_source import LogSource
from howsure.notes import Note, warn
from howsure.results.answers import GENERATION_KINDS, GenerationKind
from howsure.results.evaluations import Evaluations
from howsure.results.run_source import RunSource
from howsure.results.sources import Data
from howsure.results.stored_generations import StoredGeneration, StoredGenerations
from howsure.results.table_log import TableLogReader, has_completions
from howsure.results.table_source import TableSource
from howsure.rows.source import Source
from howsure.safe_text import escape_json
from howsure.stats.core.claims import check_choice
from howsure.stats.core.results import Columns, Result, make_columns
from howsure.store.schema import COLUMNS

#: One name, or several.
Names: TypeAlias = str | Iterable[str] | None

#: Columns of a terminal that a generation is written for.
WIDTH = 80
_INDENT = "    "
#: Lines of a completion that are written, at its beginning and at its end, where the answer mostly is.
_HEAD, _TAIL = 24, 16
_REMEDY = "give run folders, logs, or tables with a column of completions (--columns completion=COLUMN)"
#: Columns with a number where there is one.
_NUMBERS = frozenset({"score", "prompt_tokens", "completion_tokens", "created", "seconds"})


@dataclass(frozen=True, eq=False, repr=False)
class GenerationList(Result):
    """Single generations; printed, each has its names, its score and its completion in 80 columns.

    Attributes
    ----------
    generations
        The generations.
    counts
        Number of generations with the names that were given, by kind, selected or not.
    only
        The kinds that were selected; empty for all.
    full
        Whether completions are printed whole.
    """

    generations: tuple[StoredGeneration, ...]
    counts: Mapping[GenerationKind, int]
    only: tuple[GenerationKind, ...] = ()
    full: bool = False

    def columns(self) -> Columns:
        """Return the columns of a run folder and `kind`, one row per generation."""
        rows = [one.row for one in self.generations]
        columns: dict[str, object] = {}
        for name in COLUMNS:
            values = [getattr(row, name) for row in rows]
            if name in _NUMBERS:
                columns[name] = np.array([np.nan if value is None else value for value in values], float)
            else:
                columns[name] = np.array(values, np.int64 if name in {"generation", "attempts"} else object)
        kinds = np.array([one.kind for one in self.generations], object)
        return make_columns(len(rows), kind=kinds, **columns)

    def format_rows(self, _width: int | None) -> str:
        """Return the generations as text, and how many there are."""
        texts = [format_generation(one, full=self.full) for one in self.generations]
        return "\n\n".join([*texts, self._describe_counts()])

    def _describe_counts(self) -> str:
        """Return how many generations there are of each kind, and how many of them are shown."""
        total = sum(self.counts.values())
        if not total:
            return "there are no generations"
        of_kinds = ", ".join(f"{n:,} {kind}" for kind, n in self.counts.items() if n)
        selected = sum(self.counts[kind] for kind in self.only or GENERATION_KINDS)
        kinds = f" {' or '.join(self.only)}" if self.only else ""
        number = len(self.generations)
        some = "all" if number == selected and selected else f"{number:,} of"
        what = f"{some} {selected:,}{kinds} generation{'s' * (selected != 1)}" if selected else f"none{kinds}"
        line = f"{what}; in all {total:,}: {of_kinds}"
        if self.counts["in-between"]:
            line += "; in-between is a score above 0 and below 1"
        if any(one.is_verdict for one in self.generations) and (self.counts["correct"] or self.counts["wrong"]):
            line += "; of verdicts, correct is a score of 1, and wrong a score of 0"
        return "\n".join(_wrap(line, WIDTH))


def show(
    data: Data | Evaluations,
    *,
    only: Names = None,
    benchmark: Names = None,
    model: Names = None,
    question: Names = None,
    variant: Names = None,
    limit: int | None = 20,
    seed: int | None = None,
    prompts: bool = False,
    full: bool = False,
) -> GenerationList:
    r"""Show single generations: the completion, the target, what was read as the answer, and by which rule.

    Parameters
    ----------
    data
        Run folders, logs that keep completions, and tables with a column of completions; or what `howsure.read`
        returned for them.
    only
        Kinds of generations, by default all: ``"correct"`` (a score of 1), ``"in-between"``, ``"wrong"`` (of 0),
        ``"unparsed"``, ``"unscored"``, ``"failed"``; one or several.
    benchmark, model, question, variant
        Only generations of this name; one or several.
    limit
        The largest number of generations; None for all, which have to fit in memory.
    seed
        A number with which the generations are drawn at random; by default the first ones are taken.
    prompts
        Whether the prompts are shown, too.
    full
        Whether completions are printed whole; otherwise, of a long one, only the beginning and the end.

    Returns
    -------
    GenerationList
        The generations. Printed, control characters are escapes such as ``\x1b``, so that no completion can command
        the terminal; columns, rows and frames hold the texts as they are.

    Raises
    ------
    InputError
        If there are no completions, or `limit` is below 1.
    UnknownNameError
        If no generation has one of the names.

    Examples
    --------
    >>> import howsure as hs
    >>> import pyarrow as pa, pyarrow.csv, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "demo.csv")
    >>> texts = ["It is 4.", "It is 5."]
    >>> columns = {"model": ["a", "b"], "question": ["q", "q"], "target": ["4", "4"], "score": [1, 0]}
    >>> pyarrow.csv.write_csv(pa.table({**columns, "completion": texts}), file)
    >>> print(hs.show(file, only="wrong"))
    demo · b · q · default · generation 1
    wrong, score 0 · target 4
        It is 5.
    <BLANKLINE>
    all 1 wrong generation; in all 2: 1 correct, 1 wrong
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit {limit}", where="show", remedy="allowed: 1 or more")
    stored = select_generations(data, only=only, benchmark=benchmark, model=model, question=question, variant=variant)
    generations = tuple(stored.read(limit, seed=seed, prompts=prompts))
    return GenerationList(generations, stored.count(), stored.only, full=full)


def select_generations(
    data: Data | Evaluations,
    *,
    only: Names = None,
    benchmark: Names = None,
    model: Names = None,
    question: Names = None,
    variant: Names = None,
) -> StoredGenerations:
    """Return the generations that `show` shows, which are read one at a time; the parameters are those of `show`."""
    kinds = tuple(check_choice("kind of generation", kind, GENERATION_KINDS) for kind in _list_names(only))
    results = open_results(data)
    given = {"benchmark": benchmark or results.benchmarks, "model": model, "question": question, "variant": variant}
    names = {column: own for column, one in given.items() if (own := _list_names(one))}
    return StoredGenerations(_find_texts(results.sources), names, tuple(dict.fromkeys(kinds)))


def encode_generation(generation: StoredGeneration) -> str:
    """Return a generation as one line of JSON; characters that could command a terminal are escapes in it."""
    row = generation.row
    values: dict[str, object] = {"kind": generation.kind, **{name: getattr(row, name) for name in COLUMNS}}
    if isinstance(row, LogRow) and row.choices:
        values["choices"] = row.choices
    if generation.messages:
        values["messages"] = [{"role": role, "content": text} for role, text in generation.messages]
    values["source"] = str(generation.source)
    return escape_json(json.dumps(values, ensure_ascii=False))


def format_generation(generation: StoredGeneration, *, full: bool = False, width: int = WIDTH) -> str:
    """Return a generation as lines for a terminal, without control characters."""
    row = generation.row
    names = [row.benchmark, row.model, row.question, row.variant, f"generation {row.generation}"]
    kind = f"verdict {_shorten(row.answer)}" if generation.is_verdict and row.answer is not None else generation.kind
    facts = [kind if row.score is None else f"{kind}, score {row.score:g}"]
    read = {"read": row.answer, "rule": row.rule, "target": row.target, "error": row.error}
    if generation.is_verdict:
        read = {"error": row.error}
    facts += [f"{name} {_shorten(value)}" for name, value in read.items() if value is not None]
    if row.status not in {"ok", "unparsed", "unscored", "error"}:
        facts.append(f"status {row.status}")
    lines = [*_wrap(" · ".join(map(_shorten, names)), width), *_wrap(" · ".join(facts), width)]
    for role, text in generation.messages:
        lines += [f"{_shorten(role)}:", *_wrap_text(text, width, full=full)]
    if generation.messages:
        lines.append("completion:")
    if row.completion is None:
        what = "no completion is stored" if row.error is None else "there is no completion"
        return "\n".join([*lines, f"{_INDENT}({what})"])
    return "\n".join([*lines, *(_wrap_text(row.completion, width, full=full) or [f"{_INDENT}(empty)"])])


def _list_names(names: Names) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


def _find_texts(sources: Sequence[Source]) -> list[RunSource | LogSource]:
    """Return the run folders, the logs, and tables with completions as logs."""
    selected: list[RunSource | LogSource] = []
    without = []
    for source in sources:
        if isinstance(source, (RunSource, LogSource)):
            selected.append(source)
        elif isinstance(source, TableSource) and (log := _open_completions(source)) is not None:
            selected.append(log)
        else:
            without.append(str(source.path))
    if without and not selected:
        raise InputError("scores without completions", where=", ".join(without), remedy=_REMEDY)
    if without:
        warn(Note("no-completions", ", ".join(without)), stacklevel=4)
    return selected


def _open_completions(source: TableSource) -> LogSource | None:
    """Return a file of a table as a log; None if it has no completions."""
    path = source.table
    if not isinstance(path, Path) or not path.is_file() or not has_completions(path, source.options):
        return None
    reader = TableLogReader(source.options)
    log = DistinctLog(reader, path, reader.describe(path), ReadOptions(texts=True))
    return LogSource(log, most_generations=source.most_generations)


def _wrap_text(text: str, width: int, *, full: bool) -> list[str]:
    """Return the lines of a text, indented; of a long one the first and the last lines, unless all are wanted."""
    head, left_out, tail = text, 0, ""
    size = 2 * width * (_HEAD + _TAIL)
    if not full and len(text) > 2 * size:
        head, left_out, tail = text[:size], len(text) - 2 * size, text[-size:]
    first, last = (_wrap_paragraphs(part, width - len(_INDENT)) for part in (head, tail))
    if not full and (left_out or len(first) > _HEAD + _TAIL):
        last = last[-_TAIL:] if left_out else first[-_TAIL:]
        first = first[:_HEAD]
        number = len(text) - sum(map(len, (*first, *last)))
        first = [*first, f"[... about {number:,} characters left out ...]"]
    return [f"{_INDENT}{line}".rstrip() for line in (*first, *last)]


def _wrap_paragraphs(text: str, width: int) -> list[str]:
    """Return the lines of a text, wrapped, with control characters as escapes."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n") if text else []
    return [part for line in lines for part in _wrap(_escape(line.expandtabs(4)), width)]


def _wrap(line: str, width: int) -> list[str]:
    """Return a line as lines of so many columns of a terminal, in which some characters take two."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    if cell_len(line) <= width:
        return [line]
    console = Console(width=width, file=None, force_terminal=False)
    return [part.plain.rstrip() for part in Text(line, overflow="fold").wrap(console, width)]


def _shorten(text: str, most: int = 300) -> str:
    """Return a text on one line without control characters, and without its middle if it is long."""
    line = _escape(" ".join(text.split())) or "''"
    return line if len(line) <= most else f"{line[: most // 2]} [...] {line[-most // 2 :]}"


def _escape(text: str) -> str:
    r"""Return a text with control characters, and others that are not printed, as escapes.

    >>> print(_escape("\x1b[31mred \u202eright \x9b"))
    \x1b[31mred \u202eright \x9b
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def iterate_lines(stored: StoredGenerations, limit: int | None, *, seed: int | None, prompts: bool) -> Iterator[str]:
    """Yield the generations as lines of JSON, one at a time."""
    return map(encode_generation, stored.read(limit, seed=seed, prompts=prompts))
