"""Logs of Inspect: `.eval`, `.json`, and what is left of a run that was stopped.

A generation is an epoch of a sample. Where a request asked for C completions (`num_choices`), Inspect scores the first
and keeps the others: completion i from 0 of epoch e is generation (e - 1) C + i + 1 throughout the log, and the others
are unscored. Summaries do not tell how many there are: where C > 1, each sample is read whole.

Without texts the summaries are read. They shorten an answer of more than 1,000 characters, make one
space of its blanks, and do not know why a model stopped: "length" and "filtered" are told with texts only, save where
the sample's own limit of tokens was reached.

`columns` takes fields of a sample (`metadata.passage`, `input`, `target`) and of the header, such as
`eval.task_args.template`. Those of a sample are read from the whole one: summaries leave long values out.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from howsure.errors import InputError, UnknownNameError
from howsure.readers.logs.base import UNSCORED, LogInfo, LogRow, Note, ReadOptions, choose_scorer
from howsure.readers.logs.copies import MOST, Copies
from howsure.readers.logs.file_head import FileHead
from howsure.readers.logs.inspect.columns import Columns
from howsure.readers.logs.inspect.file import Log, open_log
from howsure.readers.logs.inspect.records import Choice, Key, Outcome, Sample, Summary
from howsure.readers.logs.inspect.scores import judged, scorers, text_of
from howsure.readers.logs.inspect.texts import choices, completion, messages, target
from howsure.readers.logs.inspect.told import lines
from howsure.readers.logs.inspect.zipped import Zipped
from howsure.store.manifest import Model

__all__ = ["NAME", "describe", "members", "recognises", "rows"]

NAME = "Inspect"

#: Settings that change what a model writes; headers and connections are left where they are.
_DECODING = frozenset({
    "system_message", "max_tokens", "top_p", "temperature", "stop_seqs", "best_of", "frequency_penalty", "top_k",
    "presence_penalty", "logit_bias", "seed", "num_choices", "logprobs", "top_logprobs", "effort", "reasoning_effort",
    "reasoning_tokens", "reasoning_summary", "verbosity", "response_schema",
})  # fmt: skip
_CUT, _FILTERED = frozenset({"max_tokens", "model_length", "length"}), frozenset({"content_filter"})
#: Limits of a sample that cut its last completion.
_CUTTING = frozenset({"token", "context"})
#: Epochs of a question that are compared at most where texts are read for that alone.
_COMPARED = 10


def recognises(head: FileHead) -> bool:
    """By the members of the zip file, or the first keys of the JSON object."""
    if head.kind == "json":
        return {"eval", "plan", "status"} <= head.keys or {"eval", "version", "status"} <= head.keys
    return head.kind == "zip" and bool({"header.json", "_journal/start.json"} & (head.keys or _found(head.path)))


def _found(path: Path) -> set[str]:
    """Members of a zip file whose table of contents is lost."""
    try:
        with Zipped(path) as archive:
            return set(archive.names)
    except InputError:
        return set()


def members(path: Path) -> Sequence[Path]:
    """The log is one file."""
    return [path]


def describe(path: Path) -> LogInfo:
    """Who and what the log is about."""
    with open_log(path) as log:
        spec, plan = log.header.eval, log.header.plan
        settings = {**(spec.model_generate_config or {}), **(plan.config or {})}
        model = Model(
            name=spec.model,
            kind=NAME,
            base_url=spec.model_base_url or "",
            settings={name: value for name, value in settings.items() if name in _DECODING and value is not None},
            generations=_epochs(log) * _width(log),
        )
        source = {
            "dataset": spec.dataset.name,
            "location": spec.dataset.location,
            "samples": spec.dataset.samples,
            "task": spec.task,
            "task_version": spec.task_version,
            "task_args": spec.task_args,
        }
        known: dict[str, object] = {name: value for name, value in source.items() if value not in (None, "", {})}
        what = f"{spec.task}\0{spec.model}\0{spec.created}\0{path.stat().st_size}"
        return LogInfo(
            run=spec.eval_id or spec.run_id or hashlib.sha256(what.encode()).hexdigest()[:16],
            models={spec.model: model},
            benchmarks={_benchmark(log): known},
            scorers=tuple(scorers(log)),
            created=spec.created,
        )


def rows(path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
    """Each generation once, in the order in which the samples ended."""
    with open_log(path) as log:
        known = scorers(log)
        if asked.scorer is not None and not known:
            raise UnknownNameError("scorer", asked.scorer, (), where=str(path))
        place = known[choose_scorer(list(known), asked.scorer, where=str(path), tell=tell)] if known else None
        columns = Columns(log, asked.columns, benchmark=_benchmark(log))
        width = _width(log)
        count: Counter[str] = Counter()
        copies = Copies()
        type_ = Sample if asked.texts else Outcome
        for key, summary in log.keys.items():
            whole = log.read(key, type_) if asked.texts or width > 1 else None
            sample = whole or summary
            count["lost texts"] += whole is None and (asked.texts or width > 1)
            score, status, answer, error = judged(sample, place, count)
            named = columns.of(key)
            written = whole.output.choices if whole else []
            count["further"] += max(len(written) - width, 0)
            for i in range(max(min(len(written), width), 1)):
                choice = written[i] if i < len(written) else None
                text = completion(whole, i) if whole else None
                copies.add((named.model, named.question, named.variant), text)
                count["unscored choices"] += i > 0
                yield LogRow(
                    benchmark=named.benchmark,
                    model=named.model,
                    question=named.question,
                    variant=named.variant,
                    generation=columns.free(named, (key[1] - 1) * width + i + 1),
                    cluster=named.cluster,
                    score=None if i else score,
                    status=UNSCORED if i and status != "error" else _ended(status, sample, choice),
                    answer=None if i else answer,
                    error=error,
                    completion=text if asked.texts else None,
                    target=target(whole) if isinstance(whole, Sample) else None,
                    messages=messages(whole) if isinstance(whole, Sample) else None,
                    choices=choices(whole) if isinstance(whole, Sample) else (),
                    finish_reason=choice.stop_reason if choice else None,
                    endpoint_model=text_of(whole.output.model) if whole else None,
                    **_cost(sample, log.header.eval.model, i, max(len(written), 1)),
                )
        if not asked.texts and width == 1:
            _compare(log, copies)
        columns.told(tell)
        for line in lines(log, count, width):
            tell(line)
        if (copied := copies.told()) is not None:
            tell(copied)


def _benchmark(log: Log) -> str:
    """The task without the package that it comes from."""
    return log.header.eval.task.rpartition("/")[2] or log.header.eval.task or "inspect"


def _epochs(log: Log) -> int:
    return max([log.header.eval.config.epochs or 1, *(epoch for _, epoch in log.keys)])


def _width(log: Log) -> int:
    """Completions of each request: as the solver, the task or the model was told, or else as the first that is there.

    The same whether texts are asked for or not, since the numbers of the generations hang on it.
    """
    steps = log.header.plan.steps
    stated = [step.get("params") for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    for settings in [*stated, log.header.plan.config, log.header.eval.model_generate_config]:
        if isinstance(settings, dict) and isinstance(n := settings.get("num_choices"), int) and n > 1:
            return n
    for key, summary in log.keys.items():
        if not summary.error and (whole := log.read(key, Outcome)) is not None:
            return max(len(whole.output.choices), 1)
    return 1


def _ended(status: str, sample: Summary, choice: Choice | None) -> str:
    """Why the text ends where it ends goes before how it was read."""
    if status in ("error", UNSCORED):
        return status
    reason = choice.stop_reason if choice else None
    limit = sample.limit.get("type") if isinstance(sample.limit, dict) else sample.limit
    if reason in _CUT or limit in _CUTTING:
        return "length"
    return "filtered" if reason in _FILTERED else status


def _cost(sample: Summary, model: str, i: int, n: int) -> dict[str, Any]:
    """Tokens, times and tries; of n completions the first carries the prompt, and each an equal share of the rest."""
    used = sample.model_usage or {}
    usage = used.get(model) or (next(iter(used.values())) if len(used) == 1 else None)
    prompt, written = (usage.input_tokens, usage.output_tokens) if usage else (None, None)
    again = sample.retries if isinstance(sample.retries, int) else len(sample.error_retries or ())
    try:
        created = datetime.fromisoformat(sample.completed_at).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        created = None
    return {
        "prompt_tokens": (0 if i else prompt) if isinstance(prompt, int) else None,
        "completion_tokens": written / n if isinstance(written, int) else None,
        "attempts": again + 1,
        "created": created,
        "seconds": float(sample.total_time) if isinstance(sample.total_time, (int, float)) else None,
    }


def _compare(log: Log, copies: Copies) -> None:
    """Texts of up to 100 questions spread over the log, and no more of them than it takes to see that they differ."""
    epochs: dict[str, list[Key]] = {}
    for key in log.keys:
        epochs.setdefault(key[0], []).append(key)
    repeated = [keys for keys in epochs.values() if len(keys) > 1]
    for keys in repeated[:: max(-(-len(repeated) // MOST), 1)]:
        first = None
        for key in keys[:_COMPARED]:
            whole = log.read(key, Outcome)
            text = completion(whole, 0) if whole and not whole.error else None
            copies.add(key[0], text)
            if first is not None and text is not None and text != first:
                break
            first = text if first is None else first
        if copies.is_over:
            return
