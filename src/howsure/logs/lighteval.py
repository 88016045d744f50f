"""Read logs of lighteval: `details_TASK|SHOTS_DATE.parquet`, with the results json of the run.

A row of the file is one question with its K completions and the metrics of all of them together: avg@n, pass@k. So
with K = 1 a metric is the score of the generation, and with more it is the score of none. Its columns are doc,
model_response and metric, perhaps between underscores, which are structs.

Details are in `details/MODEL/DATE/`, totals in `results/MODEL/`. In a repository of details on the Hub, which has the
model in its name, totals are above the folders with dates. Files in one folder are found too.

The record of `--columns` is a row: `doc.id`, `doc.specific.subject`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from howsure.errors import InputError
from howsure.logs.base import LogInfo, LogReader, LogRow, ReadOptions, RowBuilder, RowFields, RowKey
from howsure.logs.completions import CompletionRows
from howsure.logs.file_formats import AddNote, FileHead, ignore_note, read_totals
from howsure.logs.settings import list_conditions
from howsure.logs.values import (
    as_mapping,
    format_choice,
    format_file_time,
    get_field,
    get_text,
    hash_text,
    list_messages,
    parse_score,
)
from howsure.store.manifest import ModelRecord

if TYPE_CHECKING:
    import pyarrow as pa

#: Fields that are read of each part; token ids and logits, the largest part of a file, are never read.
_LEAVES = {
    "doc": ("id", "task_name", "query", "choices", "gold_index", "num_samples"),
    "model_response": ("input", "text"),
}
#: Fields of these that are read only if texts are read.
_TEXTS = frozenset({"model_response.input"})
#: Number of rows that are read at once.
_BATCH = 256
_Record = dict[str, Any]
#: Keys of a results json; that of lm-evaluation-harness has no config_general.
_TOTALS_KEYS = frozenset({"config_general", "results"})
_DATE = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_FILE_NAME = re.compile(rf"details_(?P<task>.+)_(?P<date>{_DATE})\.parquet")
_RENAMED = {"max_new_tokens": "max_tokens"}


class LightevalReader(LogReader):
    """Reads details of lighteval, one row for each completion."""

    name = "lighteval"

    def members(self, path: Path) -> Sequence[Path]:
        """Return the file itself; for a results json, the details of its run."""
        if FileHead(path).kind != "json":
            return (path,)
        path = path.resolve()
        files = set(path.parent.glob("*.parquet")) | set(path.parent.glob("*/*.parquet"))
        for above in path.parents:
            if above.name == "results":
                files |= set((above.parent / "details" / path.parent.relative_to(above)).glob("*/*.parquet"))
                break
        details = [
            file
            for file in sorted(files)
            if self.recognises(FileHead(file)) and _find_run(file, ignore_note).results == path
        ]
        if not details:
            remedy = "run it with --save-details"
            raise InputError("these are totals without details", where=str(path), remedy=remedy)
        return details

    def describe(self, path: Path) -> LogInfo:
        """Return what the results json states, and the metrics and the number of completions of the first question."""
        run, first = _find_run(path, ignore_note), _read_first(path)
        n_completions = len(_list_completions(first)) or 1
        model = ModelRecord(name=run.model, kind=self.name, settings=run.settings, generations=n_completions)
        general = as_mapping(run.totals.get("config_general"))
        return LogInfo(
            run=hash_text(run.task, run.model, general.get("start_time"), run.date, run.settings),
            models={run.model: model},
            benchmarks={run.benchmark: run.source},
            scorers=tuple(_list_scorers(first)),
            created=format_file_time(run.date),
            conditions=list_conditions(
                general.get("model_config"), without=["model_name", "generation_parameters*", "model_parallel*"]
            ),
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield the completions of each question."""
        run = _find_run(path, build.note)
        scorers = _list_scorers(_read_first(path))
        if not scorers:
            raise InputError("it has no metric that is a number for each question", where=str(path))
        metric = build.choose_scorer(scorers)
        n = re.search(r"\bn=(\d+)", metric)
        #: The metric avg@n:n=1, beside a metric that needs more completions, scores only the first completion.
        is_of_first = n is not None and int(n[1]) == 1
        completions = CompletionRows(build)
        for record in _read_records(path, build.options, build.note):
            name, n_wanted = get_field(record, "doc.id"), get_field(record, "doc.num_samples")
            if name is None or name == "":
                name = hash_text(repr(get_field(record, "doc.query")))
            key = build.rename_duplicate(build.map_columns(RowKey(run.benchmark, run.model, str(name)), record))
            score = build.score_fields(as_mapping(record.get("metric")).get(metric), metric)
            fields = _parse_prompt(record) if build.texts else RowFields()
            texts = _list_completions(record)
            n_wanted = n_wanted if isinstance(n_wanted, int) else 0
            yield from completions.list_rows(key, texts, score, fields, n_wanted=n_wanted, is_of_all=not is_of_first)
        completions.note_counts(run.n_questions, is_greedy=run.settings.get("temperature") in (0, 0.0))


def _read_first(path: Path) -> _Record:
    """Return the first question."""
    first = next(_read_records(path, ReadOptions(), ignore_note), None)
    if first is None:
        raise InputError("there is no question in it", where=str(path), remedy="is the file complete?")
    return first


def _list_scorers(record: _Record) -> list[str]:
    """Return the metrics that are a number, or nothing, for the question."""
    scorers = []
    for name, value in as_mapping(record.get("metric")).items():
        try:
            parse_score(value)
        except ValueError:
            continue
        scorers.append(str(name))
    return scorers


def _read_records(path: Path, options: ReadOptions, note: AddNote) -> Iterator[_Record]:
    """Yield the rows by their parts; a file that breaks off is noted, and an error where no row can be read."""
    import pyarrow as pa
    from pyarrow import parquet

    n_read = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH, columns=_list_leaves(file.schema_arrow, options)):
                for record in batch.to_pylist():
                    n_read += 1
                    yield {name.strip("_"): as_mapping(value) for name, value in record.items()}
            if n_read != file.metadata.num_rows:
                note("log-counts-differ", stated=file.metadata.num_rows, what="questions", own=n_read)
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        why = " ".join(str(error).split())[:120]
        if not n_read:
            raise InputError(f"cannot be read: {why}", where=str(path), remedy="is the file complete?") from error
        note("log-breaks-off", n_read, file=path.name, why=why)


def _list_leaves(schema: pa.Schema, options: ReadOptions) -> list[str]:
    """Return the leaves to read: those of the metrics, and of the other parts those that are needed."""
    leaves: list[str] = []
    for column in schema:
        name = column.name.strip("_")
        wanted = {f"{name}.{leaf}" for leaf in _LEAVES.get(name, ())} - (frozenset() if options.texts else _TEXTS)
        wanted |= {field for field in options.columns.values() if field.startswith(f"{name}.")}
        parts = [f"{column.name}.{field.partition('.')[2]}" for field in sorted(wanted)]
        leaves += parts if name in _LEAVES else [column.name]
    return leaves


def _list_completions(record: _Record) -> list[object]:
    """Return the K texts before any post-processing; none where likelihoods were compared."""
    texts = as_mapping(record.get("model_response")).get("text")
    return texts if isinstance(texts, list) else [texts] if isinstance(texts, str) else []


def _parse_prompt(record: _Record) -> RowFields:
    """Return messages, choices and target; the choices of a question with a written answer are its right answers."""
    doc = as_mapping(record.get("doc"))
    texts = doc.get("choices")
    choices = [str(text).strip() for text in texts] if isinstance(texts, list) else []
    is_choice = not _list_completions(record)
    gold = doc.get("gold_index")
    gold = gold if isinstance(gold, list) else [gold]
    indices = [index for index in gold if isinstance(index, int) and 0 <= index < len(choices)]
    prompt = get_field(record, "model_response.input") or doc.get("query")
    if not (isinstance(prompt, list) and all(isinstance(turn, Mapping) and "content" in turn for turn in prompt)):
        prompt = str(prompt) if prompt else None
    return {
        "messages": list_messages(prompt),
        "choices": tuple(choices) if is_choice else (),
        "target": " | ".join(format_choice(i) if is_choice else choices[i] for i in indices) or None,
    }


class _LightevalRun(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of one task of a run."""

    task: str
    """With the number of examples in the prompt: `gsm8k|5`."""
    model: str
    results: Path | None = None
    totals: Mapping[str, Any] = {}
    date: str = ""

    @property
    def benchmark(self) -> str:
        """The task without the number of examples in the prompt and the flag that older versions added to it."""
        return re.sub(r"(\|\d+)+$", "", self.task) or self.task

    @property
    def source(self) -> dict[str, object]:
        """The metadata of the source of the benchmark."""
        names = ("hf_repo", "hf_subset", "evaluation_splits", "version")
        source = {name: self._config.get(name) for name in names}
        source |= {"task": self.task, "lighteval": get_field(self.totals, "config_general.lighteval_sha")}
        if shots := re.search(r"\|(\d+)", self.task.removeprefix(self.benchmark)):
            source["num_fewshot"] = int(shots[1])
        return {name: value for name, value in source.items() if value is not None}

    @property
    def settings(self) -> dict[str, object]:
        """Decoding settings of the results json."""
        places = ("config_general.model_config.generation_parameters", "config_general.generation_parameters")
        parameters = next((match for place in places if (match := as_mapping(get_field(self.totals, place)))), {})
        return {_RENAMED.get(name, name): value for name, value in parameters.items() if value is not None}

    @property
    def n_questions(self) -> int:
        """Number of questions that were evaluated; 0 where it is not known."""
        n = self._config.get("effective_num_docs")
        return n if isinstance(n, int) else 0

    @property
    def _config(self) -> Mapping[str, Any]:
        """The configuration of the task."""
        configs = as_mapping(self.totals.get("config_tasks"))
        return as_mapping(configs.get(self.task) or configs.get(self.benchmark))


def _find_run(path: Path, note: AddNote) -> _LightevalRun:
    """Return the run of a file of details, by the task that the first question names and the date in the path."""
    task, match, folder = (
        get_text(_read_first(path), "doc.task_name"),
        _FILE_NAME.fullmatch(path.name),
        path.resolve().parent,
    )
    dated = re.fullmatch(_DATE, folder.name)
    date = match["date"] if match else folder.name if dated else ""
    if task is None and match is None:
        note("log-names-benchmark", benchmark=path.stem)
    task = task or (match["task"] if match else path.stem)
    files = [file for folder in _list_folders(path) for file in sorted(folder.glob("*.json"))]
    candidates = [pair for pair in read_totals(files, _TOTALS_KEYS, dict[str, Any]) if task in _list_tasks(pair[1])]
    candidates = [pair for pair in candidates if date and date in pair[0].name] or candidates
    results, totals = candidates[0] if len({_find_model(totals) for _, totals in candidates}) == 1 else (None, {})
    if len(candidates) > 1:
        what = "the first is read" if results else "none is read"
        note("log-metadata", what=f"{len(candidates)} results json could be its own: {what}")
    model = _find_model(totals)
    if not model:
        model = (folder.parent if dated else folder).name or "model"
        note("log-names-model", model=model)
    return _LightevalRun(task=task, model=model, results=results, totals=totals, date=date)


def _list_folders(path: Path) -> Iterator[Path]:
    """Yield where totals of these details may be: beside them, above the date, or in the parallel tree of results."""
    path = path.resolve()
    yield path.parent
    yield path.parent.parent
    for above in path.parents:
        if above.name == "details":
            yield above.parent / "results" / path.parent.parent.relative_to(above)
            return


def _list_tasks(totals: Mapping[str, Any]) -> set[str]:
    """Return the tasks of a results json."""
    return {name for part in ("results", "config_tasks") for name in as_mapping(totals.get(part))} - {"all"}


def _find_model(totals: Mapping[str, Any]) -> str:
    """Return the model that a results json names; empty where it names none."""
    return get_text(totals, "config_general.model_name", "config_general.model_config.model_name") or ""
