"""Read logs of Inspect: `.eval`, `.json`, and incomplete files of a run that was stopped.

A generation is an epoch of a sample. Where a request has several completions (`num_choices`), Inspect scores the first
one, and the others are not read.

Without texts, the summaries are read. They shorten an answer of more than 1,000 characters, turn its whitespace into
single spaces, and do not state why a model stopped. So the statuses "length" and "filtered" occur with texts only,
except where the sample's own limit of tokens was reached.

The record of `--columns` is a sample (`metadata.passage`, `input`, `target`), with `eval` of the header beside its
fields (`eval.task_args.template`). Fields of a sample are read from the complete one, since summaries leave long values
out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    N_COMPARED,
    LogInfo,
    LogReader,
    LogRow,
    QuestionDigest,
    ReadOptions,
    RowBuilder,
    RowFields,
    RowKey,
    digest_text,
)
from howsure.logs.inspect.log_file import (
    InspectLog,
    Sample,
    SampleKey,
    SampleOutput,
    SampleSummary,
    Usage,
    decode_record,
)
from howsure.logs.inspect.samples import (
    ScorerPlace,
    find_grades,
    first_messages,
    list_scorers,
    read_completion,
    resolve_attachment,
    score_sample,
    text_fields,
)
from howsure.logs.settings import DECODING, list_conditions, list_decoding
from howsure.logs.spec_functions import time
from howsure.logs.values import as_mapping, hash_text, parse_number
from howsure.store.manifest import ModelRecord
from howsure.store.schema import UNSCORED

_CUT, _FILTERED = frozenset({"max_tokens", "model_length", "length"}), frozenset({"content_filter"})
#: Limits of a sample that cut off its last completion.
_CUTTING_LIMITS = frozenset({"token", "context"})
#: Number of characters of a text of a question that are compared, which every summary keeps.
_MAX_CHARACTERS = 900
#: Number of samples of a log whose prompts and completions are compared with those of other logs.
_N_PROMPTS = 5
_LETTER = re.compile("[A-Z]")
_LOCAL_HOST = re.compile(r"localhost|127\..*|0\.0\.0\.0|::1|10\..*|192\.168\..*|172\.(1[6-9]|2\d|3[01])\..*")
#: Largest number of epochs of a question that are compared if texts are read for the comparison only.
_N_EPOCHS_COMPARED = 10
_STATUS = {"started": "has not ended", "cancelled": "was cancelled", "error": "was ended by an error"}


class InspectReader(LogReader):
    """Reads a log of Inspect, one row for each completion."""

    name = "Inspect"
    has_answers_with_texts = True

    def describe(self, path: Path) -> LogInfo:
        """Return task, data set, model and settings, from the header."""
        with InspectLog(path) as log:
            spec = log.header.eval
            n_epochs = max([spec.epochs, *(epoch for _, epoch in log.summaries)])
            model = ModelRecord(
                name=spec.model,
                kind=self.name,
                base_url=spec.model_base_url or "",
                settings=_list_settings(log),
                generations=n_epochs,
            )
            source: dict[str, object] = {
                "dataset": spec.dataset.name,
                "location": spec.dataset.location,
                "samples": spec.dataset.samples,
                "task": spec.task,
                "task_version": spec.task_version,
                "task_args": spec.task_args,
            }
            identity = hash_text(spec.task, spec.model, spec.created, path.stat().st_size)
            return LogInfo(
                run=spec.eval_id or spec.run_id or identity,
                models={spec.model: model},
                benchmarks={
                    _name_benchmark(log): {name: value for name, value in source.items() if value not in (None, "", {})}
                },
                scorers=tuple(list_scorers(log)),
                created=spec.created,
                conditions=_list_conditions(log),
                prompts=_list_prompt_arguments(log),
                task_id=spec.task_id if isinstance(spec.task_id, str) else "",
                is_complete=log.header.status == "success",
            )

    def list_samples(self, path: Path) -> dict[tuple[str, int], str]:
        """Return the unique id of each sample; a run that is continued copies the samples that are complete."""
        with InspectLog(path) as log:
            return {key: str(summary.uuid or "") for key, summary in log.summaries.items()}

    def digest_questions(self, path: Path, options: ReadOptions) -> dict[tuple[str, str, str], QuestionDigest]:
        """Return digests of all questions, from the summaries, and of the prompts of two of them."""
        if options.columns:
            return super().digest_questions(path, options)
        with InspectLog(path) as log:
            return _digest_samples(log)

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield each generation, in the order in which the samples ended."""
        with InspectLog(path) as log:
            _note_state(log, build)
            scorers = list_scorers(log)
            needs_scorer = scorers or build.options.scorer is not None
            scorer = scorers[build.choose_scorer(list(scorers))] if needs_scorer else None
            _expect_mean(log, scorer, build)
            columns, grades = _Columns(log, build), find_grades(log, scorer)
            for key, summary in log.summaries.items():
                if key in build.options.superseded:
                    build.note("log-superseded", 1)
                    continue
                sample = log.read(key, Sample) if build.texts else None
                if build.texts and sample is None:
                    build.note("log-texts-lost", 1)
                fields = score_sample(sample or summary, scorer, build, grades=grades)
                fields |= _usage_fields(sample or summary, log.header.eval.model)
                fields |= text_fields(sample) if sample else {}
                fields["status"] = _status_at_end(fields["status"], sample or summary, fields.get("finish_reason"))
                if sample and len(sample.output.choices) > 1:
                    build.note("log-extra", len(sample.output.choices) - 1, completions=1)
                text = read_completion(sample) if sample else None
                yield build.row(columns.key(key), completion=text, generation=key[1], **fields)
            if not build.texts:
                _compare_texts(log, build)


def _list_settings(log: InspectLog) -> dict[str, object]:
    """Return the decoding settings of the model, over which those of the task are; others may be secret."""
    settings = {**(log.header.eval.model_generate_config or {}), **(log.header.plan.config or {})}
    settings = {name: value for name, value in settings.items() if value is not None}
    relevant = list_decoding(settings)
    return {name: value for name, value in settings.items() if name in relevant or list_conditions({name: value})}


def _list_conditions(log: InspectLog) -> dict[str, object]:
    """Return what distinguishes the model, the solver, the limits and the scoring of a run from others, by name."""
    spec = log.header.eval
    settings = {name: value for name, value in _list_settings(log).items() if name not in DECODING}
    conditions: dict[str, object] = {
        **list_conditions(spec.config),
        **list_conditions(settings),
        "solver": spec.solver,
        **as_mapping(spec.model_args),
    }
    conditions |= {f"solver.{name}": value for name, value in as_mapping(spec.solver_args).items()}
    if spec.solver is None:
        conditions["solver"] = " ".join(name for name, _ in _list_steps(log)) or None
    host = urlsplit(spec.model_base_url or "").hostname or ""
    if host and not _LOCAL_HOST.fullmatch(host):
        conditions["endpoint"] = host
    conditions |= {role: _name_model(model) for role, model in as_mapping(spec.model_roles).items()}
    for scorer in spec.scorers if isinstance(spec.scorers, list) else []:
        options = as_mapping(as_mapping(scorer).get("options"))
        name = str(as_mapping(scorer).get("name", "scorer")).rpartition("/")[2]
        conditions |= {
            f"{name}.{option}": _name_model(value)
            for option, value in options.items()
            if as_mapping(spec.task_args).get(option) != value
        }
    return {name: value for name, value in conditions.items() if value not in (None, "", {}, [])}


def _list_prompt_arguments(log: InspectLog) -> dict[str, object]:
    """Return the arguments of the task and of its steps, which may distinguish prompts."""
    arguments = dict(as_mapping(log.header.eval.task_args))
    values = [value for value in arguments.values() if isinstance(value, str)]
    for solver, parameters in _list_steps(log):
        arguments |= {f"{solver}.{name}": value for name, value in parameters.items() if value not in values}
    return arguments


def _list_steps(log: InspectLog) -> list[tuple[str, Mapping[str, object]]]:
    """Return name and parameters of each step of the plan."""
    steps = log.header.plan.steps if isinstance(log.header.plan.steps, list) else []
    return [
        (str(step.get("solver", "?")).rpartition("/")[2], as_mapping(step.get("params")))
        for step in steps
        if isinstance(step, dict)
    ]


def _name_model(value: object) -> object:
    """Return the name of a model that is described by a mapping, or the value itself."""
    name = as_mapping(value).get("model")
    return name if isinstance(name, str) else value


def _digest_samples(log: InspectLog) -> dict[tuple[str, str, str], QuestionDigest]:
    """Return the digest of each question."""
    benchmark = _name_benchmark(log)
    digests: dict[tuple[str, str, str], QuestionDigest] = {}
    try:
        for texts in log.read_texts():
            choices = texts.choices if isinstance(texts.choices, list) else []
            target: Any = texts.target
            is_choice = isinstance(target, str) and _LETTER.fullmatch(target) is not None
            if is_choice and (place := ord(target) - ord("A")) < len(choices):
                target, is_choice = choices[place], False
            digests[benchmark, str(texts.id), "default"] = QuestionDigest(
                input=digest_text(_cut_input(texts.input)), target=digest_text(_cut_input(target)), is_choice=is_choice
            )
    except (InputError, ValueError):
        digests = {}
    for key in log.summaries:
        digests.setdefault((benchmark, key[0], "default"), QuestionDigest())
    for name in sorted(digests)[:_N_PROMPTS]:
        sample = log.read((name[1], 1), Sample)
        if sample is not None and (prompt := digest_text(first_messages(sample))):
            text = read_completion(sample) if not sample.error else None
            digests[name] = digests[name]._replace(prompt=prompt, completion=digest_text(text))
    return digests


def _cut_input(value: object) -> list[str]:
    """Return the beginnings of texts, which are the same in a summary and in the sample, or in older versions."""
    parts = value if isinstance(value, list) else [value]
    texts = [part if isinstance(part, str) else as_mapping(part).get("content") for part in parts]
    return [" ".join(text.split())[:_MAX_CHARACTERS] for text in texts if isinstance(text, str) and text]


class _Columns:
    """The keys of samples, by the fields that `--columns` maps to our names."""

    def __init__(self, log: InspectLog, build: RowBuilder) -> None:
        self._log, self._build = log, build
        self._benchmark, self._model = _name_benchmark(log), log.header.eval.model
        self._roots = {field.partition(".")[0] for field in build.options.columns.values()}
        self._header = {"eval": log.read_task()} if "eval" in self._roots else {}

    def key(self, sample_key: SampleKey) -> RowKey:
        """Return the key of a sample."""
        key = RowKey(self._benchmark, self._model, sample_key[0])
        if not self._roots:
            return key
        fields: dict[str, msgspec.Raw] = {}
        if self._roots != {"eval"}:
            fields = self._log.read(sample_key, dict[str, msgspec.Raw]) or {}
        record: dict[str, Any] = dict.fromkeys(fields)
        record |= {root: _decode_field(fields[root]) for root in self._roots if root in fields}
        record |= self._header
        key = self._build.map_columns(key, record, check=bool(fields) or self._roots == {"eval"})
        if "attachments" in fields:
            attachments: Mapping[str, Any] = as_mapping(_decode_field(fields["attachments"]))
            texts = {name: resolve_attachment(text, attachments) for name, text in key._asdict().items() if text}
            key = key._replace(**texts)
        return key


def _decode_field(data: msgspec.Raw) -> Any:
    """Return the value of a field; None where it is damaged."""
    try:
        return decode_record(data, Any)
    except ValueError:
        return None


def _name_benchmark(log: InspectLog) -> str:
    """Return the task without the package that it comes from."""
    return log.header.eval.task.rpartition("/")[2] or log.header.eval.task or "inspect"


def _status_at_end(status: str, sample: SampleSummary, reason: str | None) -> str:
    """Return the status of a scored completion: why the text ended, or else how it was parsed."""
    limit = sample.limit.get("type") if isinstance(sample.limit, dict) else sample.limit
    if status in ("error", UNSCORED):
        return status
    if reason in _CUT or limit in _CUTTING_LIMITS:
        return "length"
    return "filtered" if reason in _FILTERED else status


def _usage_fields(sample: SampleSummary, model: str) -> RowFields:
    """Return tokens, times and attempts of a sample."""
    usages = sample.model_usage or {}
    usage = usages.get(model) or (next(iter(usages.values())) if len(usages) == 1 else Usage())
    n_retries = sample.retries if isinstance(sample.retries, int) else len(sample.error_retries or ())
    return {
        "prompt_tokens": usage.input_tokens if isinstance(usage.input_tokens, int) else None,
        "completion_tokens": parse_number(usage.output_tokens),
        "attempts": n_retries + 1,
        "created": time(sample.completed_at),
        "seconds": parse_number(sample.total_time),
    }


def _compare_texts(log: InspectLog, build: RowBuilder) -> None:
    """Compare the texts of up to 100 questions of the log, and read no more texts than the comparison needs."""
    epochs: dict[str, list[SampleKey]] = {}
    for key in log.summaries:
        epochs.setdefault(key[0], []).append(key)
    repeated = [keys for keys in epochs.values() if len(keys) > 1]
    for keys in repeated[:: max(-(-len(repeated) // N_COMPARED), 1)]:
        first = None
        for key in keys[:_N_EPOCHS_COMPARED]:
            sample = log.read(key, SampleOutput)
            text = read_completion(sample) if sample and not sample.error else None
            build.identical.add(key[0], text)
            if first is not None and text is not None and text != first:
                break
            first = text if first is None else first
        if build.identical.is_decided:
            return


def _expect_mean(log: InspectLog, scorer: ScorerPlace | None, build: RowBuilder) -> None:
    """Compare the scores with the mean that the log states for the scorer, over epochs that were reduced by a mean."""
    if log.header.results is None or scorer is None:
        return
    name = scorer[1] or scorer[0]
    for reported in log.header.results.scores:
        is_same = reported.name == name and (reported.scorer or scorer[0]) == scorer[0]
        has_epochs = any(epoch > 1 for _, epoch in log.summaries)
        if is_same and reported.mean is not None and (not has_epochs or reported.reducer in (None, "mean")):
            build.expect_mean(*reported.mean)
            return


def _note_state(log: InspectLog, build: RowBuilder) -> None:
    """Add notes on damaged and missing data, and on statements of the header that affect the scores."""
    for code in log.notes:
        build.note(code)
    if log.n_lost:
        build.note("log-damaged", log.n_lost)
    n_samples, n_planned, status = len(log.summaries), _count_planned(log), log.header.status
    if log.header.eval.config.get("log_samples") is False and not n_samples:
        build.note("log-no-samples")
    elif status != "success":
        how = _STATUS.get(status, f"ended as {status[:20]!r}")
        build.note("log-run-ended", n_samples, how=how, total=max(n_planned, n_samples))
    elif n_samples < n_planned:
        build.note("log-planned", n_planned - n_samples, total=n_planned)
    if log.header.invalidated:
        build.note("log-invalidated")
    if log.n_repeated:
        build.note("log-again", log.n_repeated, what="id and epoch")
    reducers = log.header.eval.config.get("epochs_reducer")
    if isinstance(reducers, list) and reducers and reducers[0] != "mean":
        build.note("log-reducer", names=", ".join(str(name)[:40] for name in reducers[:4]))


def _count_planned(log: InspectLog) -> int:
    """Return samples times epochs, or 0 where the log does not state it."""
    if log.header.results and log.header.results.total_samples:
        return log.header.results.total_samples
    dataset = log.header.eval.dataset
    return (len(dataset.sample_ids) if dataset.sample_ids else dataset.samples or 0) * log.header.eval.epochs
