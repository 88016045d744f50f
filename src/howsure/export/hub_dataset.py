"""Write a run folder as a data set for Hugging Face's `datasets`: a configuration per benchmark, and the prompts.

::

    folder/
      README.md              a card with the configurations as YAML
      data/BENCHMARK/        00000.parquet, 00001.parquet, ... of at most 500 MB
      prompts/               the prompts, in the same form
      manifest.json          models, settings, versions and dates of the run

Endpoints, the names of keys, machines and ids of requests are left out. So is the value of every environment variable
that is named as a key, a token, a secret or a password.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
import yaml

from howsure.errors import InputError
from howsure.export.run_folder import write_folder
from howsure.safe_text import is_secret, is_unsayable
from howsure.store import manifest, scorer_files
from howsure.store.lookup import read_clusters
from howsure.store.responses import read_prompts, stream
from howsure.store.schema import COLUMNS, TEXTS

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

#: Size in bytes after which a shard ends; with one more row group it is still smaller than 500 MB.
SHARD = 480_000_000
#: Columns that are left out.
_PRIVATE = ("request",)
#: Columns of what a model said.
_MODEL_TEXTS = (*TEXTS, "answer")
#: Names of environment variables, and of fields of a manifest, that are secrets; `eos_token` is no secret.
_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_FIELD = re.compile(
    r"(api|access|auth|private|hf|bearer)[_-]?(key|token)$|^(key|token|headers?)$|secret|password|authorization|credential",
    re.IGNORECASE,
)
_TYPES = {"string": "string", "int64": "int64", "double": "float64"}
_SPLIT = "test"

#: Largest number of rows of a row group, and of bytes.
ROW_GROUP, _GROUP_BYTES = 16_384, 16 << 20

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


@dataclass
class _Config:
    """One configuration of the data set."""

    name: str
    folder: str
    schema: pa.Schema
    n: int = 0
    size: int = 0


def write_dataset(path: Path, output: Path, *, scorer: str | None = None) -> int:
    """Write the data set of a run folder.

    It has all rows of the folder, also the failed and the unscored ones, which `status` and `error` describe.

    Parameters
    ----------
    path
        The run folder.
    output
        A folder that does not exist or is empty.
    scorer
        Name of the scorer; None for the scores of the run itself.

    Returns
    -------
    int
        Number of generations.

    Raises
    ------
    InputError
        When `output` is not empty, or the run has no row.
    """
    secrets = _read_secrets()
    with write_folder(output) as folder:
        batches = stream_rows(path, [name for name in COLUMNS if name not in _PRIVATE], scorer=scorer)
        configs = _write_benchmarks(folder, (_redact_batch(batch, secrets) for batch in batches))
        if not configs:
            raise InputError("the run has no generation", where=str(path))
        prompts = read_prompts(path)
        if len(prompts):
            config = _Config(_unused_name("prompts", configs), "prompts", prompts.schema)
            with _Shards(folder, config) as shards:
                for batch in prompts.to_batches(max_chunksize=4096):
                    shards.write(_redact_batch(batch, secrets))
            configs.append(config)
        public = _redact(json.dumps(_public_manifest(path), indent=2, ensure_ascii=False), secrets)
        (folder / manifest.NAME).write_text(public + "\n", encoding="utf-8")
        (folder / "README.md").write_text(_format_card(configs, json.loads(public)), encoding="utf-8")
    return sum(config.n for config in configs if config.folder != "prompts")


class _Shards:
    """Writer of the Parquet files of one configuration."""

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
        """Write rows, to a new file if the last one is full."""
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


def _write_benchmarks(folder: Path, batches: Iterator[pa.RecordBatch]) -> list[_Config]:
    """Write the rows, which are sorted by benchmark, and return the configurations."""
    schema = next(batches).schema
    configs: list[_Config] = []
    shards: dict[str, _Shards] = {}
    with ExitStack() as open_now:
        for part in _split_by_benchmark(batches):
            benchmark = part["benchmark"][0].as_py()
            if benchmark not in shards:
                open_now.close()
                name = _unused_name(_safe_name(benchmark), configs)
                configs.append(_Config(name, f"data/{name}", schema))
                shards[benchmark] = open_now.enter_context(_Shards(folder, configs[-1]))
            shards[benchmark].write(part)
    return configs


def _split_by_benchmark(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the parts of the batches that are of one benchmark."""
    import pyarrow.compute as pc

    for batch in batches:
        start = 0
        for end in pc.run_end_encode(batch["benchmark"]).run_ends.to_pylist():
            yield batch.slice(start, end - start)
            start = end


def _safe_name(name: str) -> str:
    """Return a name that a configuration and a folder can have."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "benchmark"


def _unused_name(name: str, configs: Iterable[_Config]) -> str:
    """Return the name, with a number if another configuration has it."""
    used = {config.name.lower() for config in configs}
    numbered = (f"{name}-{i}" for i in count(2))
    return next(one for one in chain([name], numbered) if one.lower() not in used)


def _public_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest without endpoints, names of keys and machines."""
    if not (path / manifest.NAME).is_file():
        return {}
    content: dict[str, Any] = msgspec.to_builtins(manifest.load(path))
    for model in content["models"].values():
        del model["base_url"], model["key_env"]
    for session in content["sessions"]:
        del session["platform"]
    public: dict[str, Any] = _drop_secret_fields(content)
    return public


def _drop_secret_fields(value: Any) -> Any:
    """Return a value without the fields whose names are those of secrets."""
    if isinstance(value, Mapping):
        return {name: _drop_secret_fields(one) for name, one in value.items() if not _FIELD.search(str(name))}
    return [_drop_secret_fields(one) for one in value] if isinstance(value, (list, tuple)) else value


def _read_secrets() -> tuple[str, ...]:
    """Return the values of the environment variables that are secrets."""
    values = {value for name, value in os.environ.items() if _VARIABLE.search(name)}
    return tuple(sorted(value for value in values if is_secret(value)))


def _redact(text: str, secrets: Iterable[str]) -> str:
    """Return a text with the secrets replaced."""
    for secret in secrets:
        text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], "[key]").replace(secret, "[key]")
    return text


def _redact_batch(batch: pa.RecordBatch, secrets: Sequence[str]) -> pa.RecordBatch:
    """Return rows with the secrets in their texts replaced; in completions those that no model can have written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(batch.schema):
        if field.type != pa.string():
            continue
        for secret in secrets if field.name not in _MODEL_TEXTS else filter(is_unsayable, secrets):
            if pc.any(pc.match_substring(batch.column(i), secret)).as_py():
                batch = batch.set_column(i, field, pc.replace_substring(batch.column(i), secret, "[key]"))
    return batch


def _format_card(configs: Sequence[_Config], content: Mapping[str, Any]) -> str:
    """Return the card of the data set; `content` is the public manifest."""
    front = {
        "pretty_name": "Generations of language models",
        "tags": ["howsure", "evaluation"],
        "configs": [
            {"config_name": one.name, "data_files": [{"split": _SPLIT, "path": f"{one.folder}/*.parquet"}]}
            | ({"default": True} if one is configs[0] else {})
            for one in configs
        ],
        "dataset_info": [
            {
                "config_name": one.name,
                "features": [{"name": field.name, "dtype": _TYPES[str(field.type)]} for field in one.schema],
                "splits": [{"name": _SPLIT, "num_bytes": one.size, "num_examples": one.n}],
            }
            for one in configs
        ],
    }
    table = "\n".join(f"| {one.name} | {one.n:,} |" for one in configs)
    labels = ", ".join(f"`{label}`" for label in content.get("models", {}))
    n = sum(one.n for one in configs if one.folder != "prompts")
    text = _CARD.format(n=n, table=table, models=f"\nModels: {labels}.\n" if labels else "")
    return f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---\n\n{text.rstrip()}\n"


def stream_rows(path: Path, columns: Sequence[str], *, scorer: str | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a run folder sorted by key, with the cluster of their question where the run has clusters.

    The first batch is empty and has the schema of all. The others have about the size of a row group.
    """
    import pyarrow as pa

    of_question = read_clusters(path)
    batches = stream(path, columns) if scorer is None else scorer_files.stream_rows(path, columns, scorer)
    with batches:
        yield _add_clusters(pa.RecordBatch.from_pylist([], schema=batches.schema), of_question)
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            for start in range(0, len(batch), ROW_GROUP):
                waiting.append(batch.slice(start, ROW_GROUP))
                if sum(map(len, waiting)) >= ROW_GROUP or sum(part.nbytes for part in waiting) >= _GROUP_BYTES:
                    yield _add_clusters(pa.concat_batches(waiting), of_question)
                    waiting = []
        if waiting:
            yield _add_clusters(pa.concat_batches(waiting), of_question)


def _add_clusters(batch: pa.RecordBatch, of_question: Mapping[tuple[str, str], str]) -> pa.RecordBatch:
    """Return a batch with the column of clusters, if there are any."""
    import pyarrow as pa

    if not of_question:
        return batch
    keys = zip(batch["benchmark"].to_pylist(), batch["question"].to_pylist(), strict=True)
    return batch.append_column("cluster", pa.array([of_question.get(key) for key in keys], pa.string()))
