"""Select generations of run folders and logs by what became of them, and read them with their texts."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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

#: Number of rows of a log that are converted to Arrow at a time.
_BATCH = 20_000
#: Columns from which kinds are computed.
_LIGHT = (*KEY, "score", "status", "answer", "error")
_PLACE = "place"


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
    """The generations of one source that have the names."""

    source: RunSource | LogSource
    kinds: NDArray[np.uint8]
    """The kind of each, as its index in `GENERATION_KINDS`."""
    places: NDArray[np.int64]
    """The place of each in the order of the source."""


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
        The names that are selected of each of benchmark, model, question and variant, as commands print them; of a
        column that is not there, all.
    only
        The kinds that are selected; empty for all.

    Raises
    ------
    UnknownNameError
        When something is read, and no generation of any source has one of the names.
    """

    sources: Sequence[RunSource | LogSource]
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
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
                yield from self._read_part(part, np.array(wanted), prompts=prompts)

    def _read_part(self, part: _Part, wanted: NDArray[np.int64], *, prompts: bool) -> Iterator[StoredGeneration]:
        """Yield some of the generations of a source."""
        path, question, stored = part.source.path, ("", ""), dict[str, tuple[tuple[str, str], ...]]()
        judged = _list_judged_benchmarks(part.source)
        for kind, stored_row in zip(part.kinds[wanted], self._read_rows(part, part.places[wanted]), strict=True):
            messages: tuple[tuple[str, str], ...] = ()
            is_verdict = stored_row.benchmark in judged
            # The stored target of a verdict is what a simulated judge takes for right.
            row = structs.replace(stored_row, target=None) if is_verdict else stored_row
            if prompts and isinstance(row, LogRow):
                messages = parse_messages(row.messages or ())
            elif prompts:
                if question != (row.benchmark, row.question):
                    question = row.benchmark, row.question
                    prompt_rows = lookup.find_prompts(path, *question).to_pylist()
                    stored = {one["variant"]: parse_messages(json.loads(one["messages"])) for one in prompt_rows}
                messages = stored.get(row.variant, ())
            yield StoredGeneration(row, GENERATION_KINDS[kind], path, messages, is_verdict)

    def _read_rows(self, part: _Part, places: NDArray[np.int64]) -> Iterator[Response]:
        """Yield the generations at some places of a source, in increasing order."""
        if isinstance(part.source, LogSource):
            chosen = set(places.tolist())
            rows = enumerate(part.source.generations())
            yield from islice((row for i, row in rows if i in chosen), len(chosen))
            return
        before = 0
        for table in self._read_tables(part.source, COLUMNS):
            here = places[(places >= before) & (places < before + len(table))] - before
            before += len(table)
            yield from (Response(**row) for row in table.take(here).to_pylist())
            if before > places[-1]:
                return

    @cached_property
    def _parts(self) -> tuple[_Part, ...]:
        """The kinds of the generations of each source that have the names."""
        names_seen: dict[str, set[str]] = {name: set() for name in self.names}
        parts = []
        for source in self.sources:
            # Whether a generation without an answer is unparsed is known only when all rows have been read.
            either: tuple[list[NDArray[np.uint8]], ...] = ([np.zeros(0, np.uint8)], [np.zeros(0, np.uint8)])
            places = [np.zeros(0, np.int64)]
            keeps, before = False, 0
            for table in self._read_tables(source, _LIGHT, is_first=True):
                is_named = self._match(table, names_seen)
                named = table.filter(is_named)
                is_log = isinstance(source, LogSource)
                keeps = keeps or (table["answer"].null_count < len(table) if is_log else has_answers(named))
                for has, kinds in enumerate(either):
                    kinds.append(classify_generations(named, has_answers=bool(has)))
                own = table[_PLACE].to_numpy() if is_log else np.arange(before, before + len(table))
                places.append(own[is_named.to_numpy(zero_copy_only=False)])
                before += len(table)
            parts.append(_Part(source, np.concatenate(either[keeps]), np.concatenate(places)))
        for column, wanted in self.names.items():
            for name in wanted:
                if name not in names_seen[column]:
                    raise UnknownNameError(column, name, names_seen[column])
        return tuple(parts)

    def _read_tables(
        self, source: RunSource | LogSource, columns: Sequence[str], *, is_first: bool = False
    ) -> Iterator[pa.Table]:
        """Yield the rows of a source; of a run folder by its index, where one question is named and has a row."""
        if isinstance(source, LogSource):
            yield _read_light_rows(source)
            return
        table = self._look_up(source, columns)
        # Without a row, all rows are read once, so that an error can name the questions that there are.
        if table is None or (is_first and not len(table)):
            yield from source.read_rows(columns)
        else:
            yield table

    def _look_up(self, source: RunSource, columns: Sequence[str]) -> pa.Table | None:
        """Return the rows of the one question that is named, by the index; None if it cannot be used."""
        is_whole = (
            source.scorer is None and source.most_generations is None and not source.earlier and not source.labels
        )
        benchmarks = (source.manifest() or {}).get("benchmarks")
        questions = self.names.get("question", ())
        if len(questions) != 1 or not is_whole or not isinstance(benchmarks, dict) or len(benchmarks) != 1:
            return None
        [question], [benchmark] = questions, benchmarks
        return lookup.find_generations(source.path, benchmark, question, columns=columns)

    def _match(self, table: pa.Table, names_seen: Mapping[str, set[str]]) -> pa.Array:
        """Return whether each row has the names; add the names that occur to `names_seen`."""
        import pyarrow as pa
        from pyarrow import compute

        is_named = pa.array(np.ones(len(table), bool))
        for name, own in self.names.items():
            names_seen[name].update(compute.unique(table[name]).to_pylist())
            column = table[name].combine_chunks()
            is_named = compute.and_(is_named, compute.is_in(column, value_set=pa.array(own, pa.string())))
        return is_named


def _list_judged_benchmarks(source: RunSource | LogSource) -> set[str]:
    """Return the names of the benchmarks whose generations are the verdicts of a judge."""
    benchmarks = (source.manifest() or {}).get("benchmarks") if isinstance(source, RunSource) else None
    stated = benchmarks if isinstance(benchmarks, Mapping) else {}
    return {name for name, about in stated.items() if about.get("kind") == "judge"}


def _read_light_rows(source: LogSource) -> pa.Table:
    """Return the generations of a log that are read, without texts, and their places among all of them."""
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
    table = table.append_column(_PLACE, pa.array(np.arange(len(table))))
    if source.most_generations is None:
        return table
    scored = table.filter(compute.not_equal(table["status"], UNSCORED))
    return keep_first_rows(scored, source.most_generations, str(source.path))
