"""A log as the cells, cubes and runs of it: parsed once, kept without its texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howsure.errors import InputError
from howsure.readers.logs.base import UNSCORED, LogInfo, LogReader, LogRow, ReadOptions
from howsure.tables import grouping, rows_to_cells

__all__ = ["LogSource", "label_models"]

if TYPE_CHECKING:
    import pyarrow as pa

    from howsure.stats.core.cells import Cells
    from howsure.stats.core.cube import Cube


#: Rows that become Arrow at a time.
_BATCH = 20_000
_COLUMNS = ("benchmark", "model", "question", "variant", "generation", "score", "answer", "cluster")


class LogSource:
    """One log of another program.

    Attributes
    ----------
    path
        The file or folder.
    reader
        Who reads it.
    labels
        Our labels of its models, where they are not the log's own (`labels.distinct`).
    most_generations
        Only the first so many generations of each question are read; None is all.
    told, heard
        What the log cannot say, a line each, once its rows have been read; and how many of them were passed on.
    """

    def __init__(self, path: Path, reader: LogReader, asked: ReadOptions, generations: int | None = None) -> None:
        self.path, self.reader, self.asked, self.most_generations = path, reader, asked, generations
        self.labels: Mapping[str, str] = {}
        self.told: list[str] = []
        self.heard = 0

    @cached_property
    def described(self) -> LogInfo:
        """Who and what it is about."""
        return self.reader.describe(self.path)

    def cells(self) -> list[Cells]:
        """See `store.tables.cells`."""
        return rows_to_cells.cells(self.rows, where=str(self.path))

    def runs(self) -> dict[str, list[Cells]]:
        """Each generation is a run."""
        return rows_to_cells.cells_by_run(self.rows, where=str(self.path))

    def cubes(self, dimensions: Sequence[str] = (), *, wide: bool = False) -> list[Cube]:
        """Cells of each prompt variant; a log says no values of theirs."""
        if dimensions or wide:
            what = "--wide is of tables" if wide else f"a log has no dimension {dimensions[0]!r}"
            raise InputError(what, where=str(self.path), remedy="howsure convert makes a run folder of it")
        return rows_to_cells.cubes(self.rows, where=str(self.path))

    def manifest(self) -> dict[str, object]:
        """What the log says of itself, as the manifest of a run folder would."""
        import msgspec

        about = self.described
        models = {self.labels.get(label, label): msgspec.to_builtins(model) for label, model in about.models.items()}
        return {"created": about.created, "benchmarks": about.benchmarks, "models": models, "source": self.reader.NAME}

    def generations(self, *, texts: bool = True) -> Iterator[LogRow]:
        """Every row with its texts, under our labels."""
        asked = ReadOptions(scorer=self.asked.scorer, columns=self.asked.columns, texts=texts)
        for row in self.reader.rows(self.path, asked, lambda _: None):
            yield self._labelled(row)

    @cached_property
    def rows(self) -> pa.Table:
        """The rows that cells are made of, without texts."""
        import pyarrow as pa

        types = {"generation": pa.int64(), "score": pa.float64()}
        schema = pa.schema([(name, types.get(name, pa.string())) for name in _COLUMNS])
        told: list[str] = []
        each = self.reader.rows(self.path, self.asked, told.append)
        scored = (self._labelled(row) for row in each if row.status != UNSCORED)
        batches = []
        while some := list(islice(scored, _BATCH)):
            columns: dict[str, Any] = {name: [getattr(row, name) for row in some] for name in _COLUMNS}
            batches.append(pa.RecordBatch.from_pydict(columns, schema=schema))
        self.told += told
        table = grouping.first_rows(
            pa.Table.from_batches(batches, schema=schema), self.most_generations, str(self.path)
        )
        if not table.num_rows:
            remedy = "howsure rescore scores the completions that it keeps"
            raise InputError("the log has no score", where=str(self.path), remedy=remedy)
        if table["answer"].null_count == table.num_rows:
            table = table.drop_columns("answer")  # it says of none whether it could be read
        return table if "cluster" in self.asked.columns else table.drop_columns("cluster")

    def _labelled(self, row: LogRow) -> LogRow:
        import msgspec

        label = self.labels.get(row.model, row.model)
        return row if label == row.model else msgspec.structs.replace(row, model=label)


#: Settings that decide what a model writes. A seed does not make another model, nor does a time limit.
_DECIDE = frozenset(
    {
        *("temperature", "top_p", "top_k", "min_p", "do_sample", "num_beams", "stop", "until"),
        *("max_tokens", "max_completion_tokens", "max_gen_toks", "max_new_tokens"),
        *("frequency_penalty", "presence_penalty", "repetition_penalty"),
        *("reasoning_effort", "reasoning_tokens", "effort", "system_message", "system_instruction"),
    }
)


def label_models(logs: Sequence[LogInfo]) -> list[dict[str, str]]:
    """For each log the new label of each model: the old one, unless logs of a benchmark have it at other settings.

    >>> from howsure.store.manifest import Model
    >>> cold, hot = (Model(name="m", kind="log", settings={"temperature": t, "seed": t}) for t in (0, 1))
    >>> logs = [LogInfo(run=str(i), models={"m": model}, benchmarks={"b": {}}) for i, model in enumerate((cold, hot))]
    >>> label_models(logs)
    [{'m': 'm (temperature=0)'}, {'m': 'm (temperature=1)'}]
    """
    several: defaultdict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
    for log in logs:
        for benchmark, label in product(log.benchmarks, log.models):
            several[benchmark, label].append(_deciding(log.models[label].settings))
    differing: defaultdict[str, set[str]] = defaultdict(set)
    for (_, label), each in several.items():
        differing[label].update(_differing(each))
    return [
        {
            label: _named(label, _deciding(model.settings), sorted(differing[label]))
            for label, model in log.models.items()
        }
        for log in logs
    ]


def _deciding(settings: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in settings.items() if name in _DECIDE and value is not None}


def _differing(each: Sequence[Mapping[str, object]]) -> list[str]:
    names = sorted(set().union(*each))
    return [name for name in names if len({repr(settings.get(name)) for settings in each}) > 1]


def _named(label: str, settings: Mapping[str, object], names: Sequence[str]) -> str:
    told = [f"{name}={settings.get(name, 'default')}" for name in names]
    return f"{label} ({', '.join(told)})" if told else label
