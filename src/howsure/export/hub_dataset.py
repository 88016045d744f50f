"""A run folder as a data set that Hugging Face's `datasets` loads: one configuration per benchmark, and the prompts.

::

    folder/
      README.md              a card: what it is, and the configurations as YAML
      data/BENCHMARK/        00000.parquet, 00001.parquet, ... of at most 500 MB
      prompts/               the same of what was asked
      manifest.json          what it takes to repeat the run

Endpoints, the names of keys, machines and ids of requests stay at home, and so does the value of every environment
variable that is called a key, a token, a secret or a password.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
import yaml

from howsure.errors import InputError
from howsure.export.run_folder import making
from howsure.export.tabular import rows
from howsure.store import manifest
from howsure.store.manifest import SECRET_LENGTH
from howsure.store.responses import read_prompts
from howsure.store.schema import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["dataset"]

#: Bytes of a shard; what comes after one row group more stays under 500 MB.
SHARD = 480_000_000
#: Left out of the rows.
_PRIVATE = ("request",)
#: Environment variables, and fields of a manifest, that are secrets; `eos_token` is none.
_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_FIELD = re.compile(
    r"(api|access|auth|private|hf|bearer)[_-]?(key|token)$|^(key|token|headers?)$|secret|password|authorization|credential",
    re.IGNORECASE,
)
_TYPES = {"string": "string", "int64": "int64", "double": "float64"}
_SPLIT = "test"


@dataclass
class _Config:
    """One configuration of the data set."""

    name: str
    folder: str
    schema: pa.Schema
    n: int = 0
    size: int = 0


def dataset(path: Path, output: Path, *, scorer: str | None = None) -> int:
    """Write the data set of a run folder; the number of its generations.

    Rows are those of the folder, also the failed and the unscored ones: `status` and `error` say which they are.

    Parameters
    ----------
    output
        A folder that is not there or empty.
    scorer
        Whose scores; None is those that the run was made with.

    Raises
    ------
    InputError
        When there is something at `output`, or the run has no row.
    """
    hidden = _hidden()
    with making(output) as half:
        batches = rows(path, [name for name in COLUMNS if name not in _PRIVATE], scorer=scorer)
        configs = _benchmarks(half, (_without(batch, hidden) for batch in batches))
        if not configs:
            raise InputError("the run has no generation", where=str(path))
        prompts = read_prompts(path)
        if len(prompts):
            config = _Config(_free("prompts", configs), "prompts", prompts.schema)
            with _Shards(half, config) as shards:
                for batch in prompts.to_batches(max_chunksize=4096):
                    shards.write(_without(batch, hidden))
            configs.append(config)
        about = _blotted(json.dumps(_about(path), indent=2, ensure_ascii=False), hidden)
        (half / manifest.NAME).write_text(about + "\n", encoding="utf-8")
        (half / "README.md").write_text(_card(configs, json.loads(about)), encoding="utf-8")
    return sum(config.n for config in configs if config.folder != "prompts")


class _Shards:
    """The Parquet files of one configuration."""

    def __init__(self, place: Path, config: _Config) -> None:
        self._folder, self._config = place / config.folder, config
        self._folder.mkdir(parents=True)
        self._open = ExitStack()
        self._number = 0
        self._sink: pa.NativeFile | None = None
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows, in a file of their own where the last one is full."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._sink is None or self._sink.tell() >= SHARD:
            self._open.close()
            self._sink = self._open.enter_context(pa.OSFile(str(self._folder / f"{self._number:05d}.parquet"), "wb"))
            self._writer = self._open.enter_context(
                pq.ParquetWriter(self._sink, self._config.schema, compression="zstd")
            )
            self._number += 1
        assert self._writer is not None
        self._writer.write_batch(batch)
        self._config.n += len(batch)
        self._config.size += batch.nbytes


def _benchmarks(place: Path, batches: Iterator[pa.RecordBatch]) -> list[_Config]:
    """Write the rows, which are sorted by benchmark."""
    schema = next(batches).schema
    configs: list[_Config] = []
    shards: dict[str, _Shards] = {}
    with ExitStack() as open_now:
        for part in _by_benchmark(batches):
            benchmark = part["benchmark"][0].as_py()
            if benchmark not in shards:
                open_now.close()
                name = _free(_safe(benchmark), configs)
                configs.append(_Config(name, f"data/{name}", schema))
                shards[benchmark] = open_now.enter_context(_Shards(place, configs[-1]))
            shards[benchmark].write(part)
    return configs


def _by_benchmark(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow.compute as pc

    for batch in batches:
        start = 0
        for end in pc.run_end_encode(batch["benchmark"]).run_ends.to_pylist():
            yield batch.slice(start, end - start)
            start = end


def _safe(name: str) -> str:
    """A name that a configuration and a folder can have."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "benchmark"


def _free(name: str, taken: Iterable[_Config]) -> str:
    names = {config.name.lower() for config in taken}
    others = (f"{name}-{i}" for i in count(2))
    return next(one for one in chain([name], others) if one.lower() not in names)


def _about(path: Path) -> dict[str, Any]:
    """The manifest without what is nobody else's business."""
    if not (path / manifest.NAME).is_file():
        return {}
    told: dict[str, Any] = msgspec.to_builtins(manifest.load(path))
    for model in told["models"].values():
        del model["base_url"], model["key_env"]
    for session in told["sessions"]:
        del session["platform"]
    public: dict[str, Any] = _public(told)
    return public


def _public(value: Any) -> Any:
    """The value without fields that are called a key, a token or the like."""
    if isinstance(value, Mapping):
        return {name: _public(one) for name, one in value.items() if not _FIELD.search(str(name))}
    return [_public(one) for one in value] if isinstance(value, (list, tuple)) else value


def _hidden() -> tuple[str, ...]:
    """Values of the environment that must not get out."""
    values = {value for name, value in os.environ.items() if _VARIABLE.search(name)}
    return tuple(sorted(value for value in values if len(value) >= SECRET_LENGTH))


def _blotted(text: str, hidden: Iterable[str]) -> str:
    for secret in hidden:
        text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], "[key]").replace(secret, "[key]")
    return text


def _without(batch: pa.RecordBatch, hidden: Iterable[str]) -> pa.RecordBatch:
    """The rows with secrets blotted out of their texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(batch.schema):
        if field.type != pa.string():
            continue
        for secret in hidden:
            told = pc.match_substring(batch.column(i), secret)
            if pc.any(told).as_py():
                batch = batch.set_column(i, field, pc.replace_substring(batch.column(i), secret, "[key]"))
    return batch


_CARD = """\
# Generations of language models, one by one

{n:,} generations, with their scores, completions and prompts, as howsure keeps
them. `manifest.json` says how they were made: models, settings, versions, dates.

| configuration | rows |
|---|---|
{table}

A row is one generation: `generation` counts the repeats of the same prompt from 1. Where `score` is null, `status` and
`error` say why: the request failed, or nobody scored the completion (`unscored`). Ids of requests are left out.
{models}
"""


def _card(configs: Iterable[_Config], about: Mapping[str, Any]) -> str:
    each = list(configs)
    front = {
        "pretty_name": "Generations of language models",
        "tags": ["howsure", "evaluation"],
        "configs": [
            {"config_name": one.name, "data_files": [{"split": _SPLIT, "path": f"{one.folder}/*.parquet"}]}
            | ({"default": True} if one is each[0] else {})
            for one in each
        ],
        "dataset_info": [
            {
                "config_name": one.name,
                "features": [{"name": field.name, "dtype": _TYPES[str(field.type)]} for field in one.schema],
                "splits": [{"name": _SPLIT, "num_bytes": one.size, "num_examples": one.n}],
            }
            for one in each
        ],
    }
    table = "\n".join(f"| {one.name} | {one.n:,} |" for one in each)
    labels = ", ".join(f"`{label}`" for label in about.get("models", {}))
    n = sum(one.n for one in each if one.folder != "prompts")
    text = _CARD.format(n=n, table=table, models=f"\nModels: {labels}.\n" if labels else "")
    return f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---\n\n{text.rstrip()}\n"
