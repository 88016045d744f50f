"""Select generations of run folders and logs by what became of them, and read them with their texts."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from howsure.errors import UnknownNameError
from howsure.logs.base import LogRow
from howsure.logs.log_source import LogSource
from howsure.results.answers import GENERATION_KINDS, GenerationKind, classify_generations
from howsure.results.run_source import RunSource, has_answers
from howsure.results.texts import parse_messages
from howsure.rows.to_cells import keep_first_rows
from howsure.store import lookup
from howsure.store.schema import COLUMNS, KEY, UNSCORED, Response

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["GenerationNames", "StoredGeneration", "StoredGenerations"]

#: Number of rows of a log that are converted to Arrow at a time.
_BATCH = 20_000
#: Columns from which kinds are computed.
_LIGHT = (*KEY, "score", "status", "answer", "error")
_PLACE = "place"


@dataclass(frozen=True, kw_only=True)
class GenerationNames:
    """Names by which generations are selected; an empty tuple selects all.

    Attributes
    ----------
    benchmark, model, question, variant
        Names as commands print them. A model is its label, such as ``"m (temperature=0)"``.

    Examples
    --------
    >>> GenerationNames(model=("m",)).given()
    {'model': ('m',)}
    """

    benchmark: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    question: tuple[str, ...] = ()
    variant: tuple[str, ...] = ()

    def given(self) -> dict[str, tuple[str, ...]]:
        """Return the names of each column for which there are any."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if getattr(self, name)}


@dataclass(frozen=True)
class StoredGeneration:
    """A generation with its texts.

    Attributes
    ----------
    row
        The generation as the run folder or the log has it.
    kind
        What became of it.
    source
        The run folder or the log.
    messages
        Role and text of each message of the prompt; empty if it is not stored or was not read.
    is_verdict
        Whether it is what a judge replied, which has no target.
    """

    row: Response
    kind: GenerationKind
    source: Path
    messages: tuple[tuple[str, str], ...] = ()
    is_verdict: bool = False


class _Part(NamedTuple):
    """The selected generations of one source: index in `GENERATION_KINDS` of each, in the order of the source."""

    source: RunSource | LogSource
    kinds: NDArray[np.uint8]
    in_first: NDArray[np.bool_] | None
    """Of a log of which only the first generations count: whether each generation of the log is one of them."""


@dataclass(frozen=True)
class StoredGenerations:
    """The generations of several sources that have some names and kinds.

    All generations are counted without their texts when something is first read. Texts are read in the order of the
    sources, and only as far as they are needed.

    Parameters
    ----------
    sources
        Run folders and logs.
    names
        The names of the generations.
    only
        The kinds that are selected; empty for all.

    Raises
    ------
    UnknownNameError
        When something is read, and no generation of any source has one of the names.
    """

    sources: Sequence[RunSource | LogSource]
    names: GenerationNames = field(default_factory=GenerationNames)
    only: tuple[GenerationKind, ...] = ()

    def count(self) -> dict[GenerationKind, int]:
        """Return the number of generations with these names of each kind, selected or not."""
        counts: Counter[int] = Counter()
        for part in self._parts:
            counts.update(dict(enumerate(np.bincount(part.kinds, minlength=len(GENERATION_KINDS)).tolist())))
        return {kind: counts[i] for i, kind in enumerate(GENERATION_KINDS)}

    def __len__(self) -> int:
        counts = self.count()
        return sum(counts[kind] for kind in self.only or GENERATION_KINDS)

    def read(
        self, limit: int | None = None, *, seed: int | None = None, prompts: bool = False
    ) -> Iterator[StoredGeneration]:
        """Yield the selected generations with their texts, in the order of the sources.

        Parameters
        ----------
        limit
            The largest number; None for all.
        seed
            With a limit: the generations are drawn at random with this seed; None takes the first ones.
        prompts
            Whether the messages of the prompts are read, too.
        """
        total = len(self)
        number = total if limit is None else min(limit, total)
        drawn = None if seed is None else sorted(random.Random(seed).sample(range(total), number))  # noqa: S311  # a draw to look at
        places = iter(range(number) if drawn is None else drawn)
        allowed = np.array([kind in (self.only or GENERATION_KINDS) for kind in GENERATION_KINDS])
        place, before = next(places, None), 0
        for part in self._parts:
            at = np.flatnonzero(allowed[part.kinds])
            wanted = []
            while place is not None and place < before + len(at):
                wanted.append(int(at[place - before]))
                place = next(places, None)
            before += len(at)
            if wanted:
                yield from self._read_part(part, wanted, prompts=prompts)

    def _read_part(self, part: _Part, places: Sequence[int], *, prompts: bool) -> Iterator[StoredGeneration]:
        """Yield the generations at some places, in increasing order, among those of the source with the names."""
        if isinstance(part.source, LogSource):
            rows: Iterator[Response] = self._read_log_rows(part.source, part.in_first, places)
        else:
            rows = self._read_run_rows(part.source, places)
        stored = _PromptReader(part.source.path) if prompts and isinstance(part.source, RunSource) else None
        judged = _list_judged_benchmarks(part.source)
        for place, stored_row in zip(places, rows, strict=False):
            messages: tuple[tuple[str, str], ...] = ()
            is_verdict = stored_row.benchmark in judged
            # The stored target of a verdict is what a simulated judge takes for right.
            row = structs.replace(stored_row, target=None) if is_verdict else stored_row
            if stored is not None:
                messages = stored.read(row)
            elif prompts and isinstance(row, LogRow):
                messages = parse_messages(row.messages or ())
            yield StoredGeneration(row, GENERATION_KINDS[part.kinds[place]], part.source.path, messages, is_verdict)

    def _read_run_rows(self, source: RunSource, places: Sequence[int]) -> Iterator[Response]:
        """Yield the generations at some places of a run folder."""
        wanted, before = np.array(places), 0
        for table in self._select_tables(source, COLUMNS):
            here = wanted[(wanted >= before) & (wanted < before + len(table))] - before
            before += len(table)
            for row in table.take(here).to_pylist() if len(here) else ():
                yield Response(**row)
            if before > places[-1]:
                return

    def _read_log_rows(
        self, source: LogSource, in_first: NDArray[np.bool_] | None, places: Sequence[int]
    ) -> Iterator[LogRow]:
        """Yield the generations at some places of a log."""
        names = {name: frozenset(values) for name, values in self.names.given().items()}
        wanted, n = iter(places), -1
        place = next(wanted, None)
        for i, row in enumerate(source.generations()):
            if place is None:
                return
            if (in_first is None or in_first[i]) and all(getattr(row, name) in own for name, own in names.items()):
                n += 1
                if n == place:
                    yield row
                    place = next(wanted, None)

    @cached_property
    def _parts(self) -> tuple[_Part, ...]:
        """The kinds of the generations of each source that have the names."""
        names_seen: dict[str, set[str]] = {name: set() for name in self.names.given()}
        parts = []
        for source in self.sources:
            if isinstance(source, LogSource):
                table, in_first = _read_light_rows(source)
                answers = table["answer"]
                kinds = classify_generations(
                    table.filter(self._match(table, names_seen)), has_answers=answers.null_count < len(answers)
                )
                parts.append(_Part(source, kinds, in_first))
                continue
            # Whether a generation without an answer is unparsed is known only when all rows have been read.
            either: tuple[list[NDArray[np.uint8]], ...] = ([], [])
            keeps = False
            for table in self._select_tables(source, _LIGHT, names_seen):
                keeps = keeps or has_answers(table)
                for i, kinds_of in enumerate(either):
                    kinds_of.append(classify_generations(table, has_answers=bool(i)))
            parts.append(_Part(source, np.concatenate([np.zeros(0, np.uint8), *either[keeps]]), None))
        for column, wanted in self.names.given().items():
            for name in wanted:
                if name not in names_seen[column]:
                    raise UnknownNameError(column, name, names_seen[column])
        return tuple(parts)

    def _select_tables(
        self, source: RunSource, columns: Sequence[str], names_seen: dict[str, set[str]] | None = None
    ) -> Iterator[pa.Table]:
        """Yield the rows of a run folder with the names; add the names that occur to `names_seen`."""
        table = self._look_up(source, columns)
        # Without a row, all rows are read once, so that an error can name the questions that there are.
        tables = source.read_rows(columns) if table is None or (names_seen is not None and not len(table)) else [table]
        for part in tables:
            yield part.filter(self._match(part, names_seen))

    def _look_up(self, source: RunSource, columns: Sequence[str]) -> pa.Table | None:
        """Return the rows of the one question that is named, by the index; None if it cannot be used."""
        is_whole = (
            source.scorer is None and source.most_generations is None and not source.earlier and not source.labels
        )
        benchmarks = (source.manifest() or {}).get("benchmarks")
        if len(self.names.question) != 1 or not is_whole or not isinstance(benchmarks, dict) or len(benchmarks) != 1:
            return None
        [question], [benchmark] = self.names.question, benchmarks
        return lookup.find_generations(source.path, benchmark, question, columns=columns)

    def _match(self, table: pa.Table, names_seen: dict[str, set[str]] | None) -> pa.Array:
        """Return whether each row has the names; add the names that occur to `names_seen`."""
        import pyarrow as pa
        from pyarrow import compute

        given = self.names.given()
        if names_seen is not None:
            for name in given:
                names_seen[name].update(compute.unique(table[name]).to_pylist())
        each = [compute.is_in(table[name], value_set=pa.array(own, pa.string())) for name, own in given.items()]
        return reduce(compute.and_, each) if each else pa.array(np.ones(len(table), bool))


def _list_judged_benchmarks(source: RunSource | LogSource) -> set[str]:
    """Return the names of the benchmarks whose generations are the verdicts of a judge."""
    benchmarks = (source.manifest() or {}).get("benchmarks") if isinstance(source, RunSource) else None
    stated = benchmarks if isinstance(benchmarks, Mapping) else {}
    return {name for name, about in stated.items() if about.get("kind") == "judge"}


class _PromptReader:
    """Reads the prompts of a run folder, a question at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._question: tuple[str, str] | None = None
        self._messages: Mapping[str, tuple[tuple[str, str], ...]] = {}

    def read(self, row: Response) -> tuple[tuple[str, str], ...]:
        """Return the messages to which a generation is the reply."""
        if self._question != (row.benchmark, row.question):
            prompts = lookup.find_prompts(self._path, row.benchmark, row.question).to_pylist()
            self._messages = {one["variant"]: parse_messages(json.loads(one["messages"])) for one in prompts}
            self._question = row.benchmark, row.question
        return self._messages.get(row.variant, ())


def _read_light_rows(source: LogSource) -> tuple[pa.Table, NDArray[np.bool_] | None]:
    """Return the generations of a log without texts, and which of all generations they are; None for all."""
    import pyarrow as pa
    from pyarrow import compute

    types = {"generation": pa.int64(), "score": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in _LIGHT])
    rows = source.generations(texts=False)
    batches = []
    while batch := list(islice(rows, _BATCH)):
        columns = {name: [getattr(row, name) for row in batch] for name in _LIGHT}
        batches.append(pa.RecordBatch.from_pydict(columns, schema=schema))
    table = pa.Table.from_batches(batches, schema=schema)
    if source.most_generations is None:
        return table, None
    numbered = table.append_column(_PLACE, pa.array(np.arange(len(table))))
    scored = numbered.filter(compute.not_equal(numbered["status"], UNSCORED))
    places = keep_first_rows(scored, source.most_generations, str(source.path))[_PLACE].to_numpy()
    return table.take(places), np.isin(np.arange(len(table)), places)
