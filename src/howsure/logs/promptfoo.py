"""Read promptfoo's results: `-o results.json` (versions 2 and 3), its exports, and `-o results.jsonl`.

One file holds several providers (our models) and prompts (our variants). A question is the vars and the description of
a test: the start of a text and a hash. promptfoo writes no number of the repeat, so rows with equal question, prompt
and provider are generations, in the order of the file.

The record of `--columns` is a result: `vars.passage`, `testCase.metadata.topic`, `provider.id`.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.logs.base import LogInfo, RowBuilder, as_mapping, encode_text, get_field, list_messages
from howsure.logs.file_formats import DECODE_ERRORS, FileHead, read_json, read_json_lines
from howsure.logs.record_reader import Record, RecordedRun, RecordReader, ReportedMean, get_number, get_text

#: Settings of a provider that influence its completions; the others may contain secret keys.
# Not formatted: one name a line would fill a page.
_SETTINGS = (
    "temperature", "top_p", "top_k", "seed", "max_tokens", "max_completion_tokens", "max_output_tokens", "n", "stop",
    "presence_penalty", "frequency_penalty", "reasoning_effort", "reasoning",
)  # fmt: skip
_STATUS = {"length": "length", "max_tokens": "length", "content_filter": "filtered"}
#: Assertions whose value is the expected answer.
_TARGET_ASSERTIONS = ("equals", "contains", "icontains")
#: `failureReason` of a row if the provider failed, in contrast to a wrong answer.
_ERROR = 2
#: The longest label of a prompt that names a variant, and the number of characters of the hash that names it otherwise.
_N_LABEL, _N_HASH = 60, 12


class _Result(NamedTuple):
    """A row: the answer of one provider to one prompt with the vars of one test."""

    record: Mapping[str, Any]
    question: str
    provider: str
    """The label that the user set, or else the id."""
    prompt_hash: str
    output: str | None
    is_cached: bool
    """Whether the answer came from promptfoo's cache."""

    @property
    def column(self) -> int | None:
        """The column of promptfoo's table."""
        column = self.record.get("promptIdx")
        return column if isinstance(column, int) else None

    @property
    def has_failed(self) -> bool:
        """Whether the provider failed, and not its answer."""
        reason = self.record.get("failureReason")
        return reason == _ERROR if reason is not None else bool(self.record.get("error")) and self.output is None

    @property
    def is_judged(self) -> bool:
        """Whether it has an assertion: promptfoo passes a row without one, whatever the answer is."""
        graded = get_field(self.record, "gradingResult.componentResults")
        return bool(graded or get_field(self.record, "testCase.assert") or not self.record.get("success"))


class PromptfooReader(RecordReader):
    """Reads results of promptfoo, one row for each result that is no copy of an earlier one."""

    name = "promptfoo"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the keys are those of a results file, or of a line of results.jsonl."""
        if head.kind != "json":
            return False
        is_file = {"results", "config"} <= head.keys and bool({"evalId", "shareableUrl", "createdAt"} & head.keys)
        return is_file or {"promptIdx", "testIdx", "vars", "provider", "namedScores"} <= head.keys

    def describe(self, path: Path) -> LogInfo:
        """Return the providers, each with the settings of the config."""
        info = super().describe(path)
        if "results" not in FileHead(path).keys:
            return info
        settings = _read_settings(get_field(read_json(path, dict[str, Any]), "config.providers"))
        # Of `name` and `name (2)`, the second is the same provider.
        names = {label: name if (name := label.rpartition(" (")[0]) in info.models else label for label in info.models}
        models = {
            label: msgspec.structs.replace(model, name=names[label], settings=settings.get(names[label]) or {})
            for label, model in info.models.items()
        }
        return msgspec.structs.replace(info, models=models)

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the results of all providers and prompts."""
        is_lines = "results" not in FileHead(path).keys
        file = {} if is_lines else read_json(path, dict[str, Any])
        lines = read_json_lines(path, dict[str, Any], build.note) if is_lines else get_field(file, "results.results")
        results = list(_list_results(lines, build))
        if not results:
            raise InputError("it holds no result", where=str(path), remedy="did the evaluation run?")
        # The row of a test that was run again is written again.
        last = {_identify(result, place): place for place, result in enumerate(results)}
        if len(last) < len(results):
            build.note("log-again", len(results) - len(last), what="test, which was run again")
        description = " ".join((get_text(file, "config.description") or "").split())
        if not description:
            build.note("log-names-benchmark", benchmark=path.stem)
        labels, variants = _label_providers(results), _name_variants(results)
        replaying = _find_replaying(results)
        scorers = dict.fromkeys(
            ["score", "success", *(name for one in results for name in as_mapping(one.record.get("namedScores")))]
        )
        records: list[Record] = []
        texts: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for place in sorted(last.values()):
            result = results[place]
            cell = labels[result.column, result.provider], result.question, variants[result.prompt_hash]
            if result.output is not None and result.is_cached:
                if result.provider in replaying and result.output in texts[cell]:
                    build.note("log-replayed-out", 1)
                    continue
                build.note("log-replayed", 1)
            texts[cell].update([result.output] if result.output is not None else [])
            records.append(_make_record(result, cell, build))
        repeats = get_field(file, "runtimeOptions.repeat")
        _note_collisions(records, repeats, build)
        means = {name: _find_mean(get_field(file, "results.prompts"), name) for name in ("score", "success")}
        return RecordedRun(
            benchmark=description or path.stem,
            model=records[0].model,
            records=records,
            scorers=tuple(scorers),
            source={"prompts": sorted(set(variants.values()))},
            reported=[
                ReportedMean(name=f"a mean of {name!r} of", value=value, scorer=name) for name, value in means.items()
            ]
            if not replaying
            else [],
            run=get_text(file, "evalId") or "",
            created=get_text(file, "results.timestamp") or "",
            generations=repeats if isinstance(repeats, int) else 1,
        )


def _list_results(lines: object, build: RowBuilder) -> Iterator[_Result]:
    """Yield the rows that are results."""
    for record in lines if isinstance(lines, (Iterator, list)) else ():
        own = record.get("vars") if isinstance(record, Mapping) else None
        provider = record.get("provider") if isinstance(record, Mapping) else None
        provider = provider if isinstance(provider, str) else get_text(provider, "label", "id")
        if not isinstance(own, Mapping) or provider is None or "score" not in record:
            build.note("log-no-record", 1)
            continue
        own = {name: value for name, value in own.items() if not name.startswith("_") and name != "sessionId"}
        description = get_text(record, "testCase.description")
        text = description or next((value for value in own.values() if isinstance(value, str)), "")
        key = _hash_text(msgspec.json.encode([own, description], order="sorted").decode())[:8]
        label = get_text(record, "prompt.label")
        response = record.get("response")
        output = response.get("output") if isinstance(response, Mapping) else response
        yield _Result(
            record,
            f"{' '.join(text.split())[:32]} {key}".strip(),
            provider,
            get_text(record, "promptId") or (_hash_text(label) if label else "default"),
            None if output is None else encode_text(output),
            get_field(response, "cached") is True,
        )


def _identify(result: _Result, place: int) -> tuple[object, ...]:
    """Return the key that a row shares with an earlier run of the same row; its place if it has no key."""
    test = result.record.get("testIdx")
    return (result.column, test, result.provider) if isinstance(test, int) else (place,)


def _make_record(result: _Result, cell: tuple[str, str, str], build: RowBuilder) -> Record:
    """Return a result with all of its scores."""
    record = result.record
    model, question, variant = cell
    failure = ""
    if result.has_failed:
        failure = f"provider: {' '.join((get_text(record, 'error') or 'no answer').split())}"
    is_unscored = not failure and not result.is_judged
    if is_unscored:
        build.note("log-no-assertion", 1)
    reason = get_text(record, "response.finishReason")
    asserted = get_field(record, "testCase.assert")
    targets = [
        one["value"]
        for one in (asserted if isinstance(asserted, list) else ())
        if as_mapping(one).get("type") in _TARGET_ASSERTIONS and isinstance(one.get("value"), str)
    ]
    n_read, latency = get_number(record, "response.tokenUsage.prompt"), get_number(record, "latencyMs")
    return Record(
        question=question,
        model=model,
        variant=variant,
        scores={**as_mapping(record.get("namedScores")), "score": record["score"], "success": record.get("success")},
        source=record,
        failure=failure,
        is_unscored=is_unscored,
        status=_STATUS.get(str(reason), "ok"),
        completion=result.output,
        fields={
            "target": targets[0] if len(targets) == 1 else None,
            "messages": _parse_messages(get_text(record, "prompt.raw")) if build.texts else None,
            "finish_reason": reason,
            "prompt_tokens": None if n_read is None else int(n_read),
            "completion_tokens": get_number(record, "response.tokenUsage.completion"),
            "seconds": None if latency is None else latency / 1000,
        },
    )


def _parse_messages(prompt: str | None) -> tuple[dict[str, str], ...] | None:
    """Return the messages of a prompt that is a chat written as JSON; another prompt is one message."""
    if prompt and prompt.lstrip().startswith("["):
        try:
            return tuple(msgspec.json.decode(prompt, type=list[dict[str, str]]))
        except DECODE_ERRORS:
            pass
    return list_messages(prompt)


def _find_replaying(results: Sequence[_Result]) -> set[str]:
    """Return the providers whose cache holds one answer per prompt and not one per repeat."""
    cached: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for result in results:
        if result.is_cached and result.output is not None:
            cached[result.provider, result.prompt_hash, result.question].add(result.output)
    # A cache of one answer per prompt never has two texts for a cell. Newer versions cache one per repeat.
    several = {provider for (provider, *_), texts in cached.items() if len(texts) > 1}
    return {provider for provider, *_ in cached} - several


def _find_mean(prompts: object, scorer: str) -> float | None:
    """Return the mean over all rows that the totals of the prompts state; errors count as 0."""
    name = {"score": "score", "success": "testPassCount"}[scorer]
    total = n_rows = 0.0
    for prompt in prompts if isinstance(prompts, list) else ():
        keys = (name, "testPassCount", "testFailCount", "testErrorCount")
        numbers = [number for key in keys if (number := get_number(prompt, f"metrics.{key}")) is not None]
        if len(numbers) < len(keys):
            return None
        total, n_rows = total + numbers[0], n_rows + sum(numbers[1:])
    return total / n_rows if n_rows else None


def _read_settings(providers: object) -> dict[str, dict[str, object]]:
    """Return decoding settings by label and id: a provider is a name, a mapping with `id`, or {id: mapping}."""
    settings: dict[str, dict[str, object]] = {}
    for provider in providers if isinstance(providers, list) else []:
        options = as_mapping(provider)
        if "id" not in options and len(options) == 1:
            [(id_, inside)] = options.items()
            options = {"id": id_, **as_mapping(inside)}
        config = as_mapping(options.get("config"))
        for name in (options.get("label"), options.get("id")):
            if isinstance(name, str):
                settings.setdefault(name, {key: config[key] for key in _SETTINGS if key in config})
    return settings


def _note_collisions(records: Sequence[Record], repeats: object, build: RowBuilder) -> None:
    """Note questions with too many rows: tests with equal vars are one question, and their rows look like repeats."""
    sizes = Counter((one.model, one.question, one.variant) for one in records)
    most = repeats if isinstance(repeats, int) else min(sizes.values())
    if questions := {question for (_, question, _), n in sizes.items() if n > most}:
        build.note("log-collisions", len(questions), most=most)


def _label_providers(results: Sequence[_Result]) -> dict[tuple[int | None, str], str]:
    """Return labels of providers; where columns of one name have the same prompt they are `name`, `name (2)`."""
    columns = {(one.column, one.provider): one.prompt_hash for one in results}
    n_columns: Counter[tuple[str, str]] = Counter()
    labels = {}
    for column, name in sorted(columns, key=lambda key: -1 if key[0] is None else key[0]):
        own = name, columns[column, name]
        n_columns[own] += 1
        labels[column, name] = f"{name} ({n_columns[own]})" if n_columns[own] > 1 else name
    return labels


def _name_variants(results: Sequence[_Result]) -> dict[str, str]:
    """Return the names of variants by hash of the prompt: a short label that no other prompt has, or the hash."""
    prompts = {one.prompt_hash: " ".join((get_text(one.record, "prompt.label") or "").split()) for one in results[::-1]}
    n_labels = Counter(prompts.values())
    return {
        key: label if label and n_labels[label] == 1 and len(label) <= _N_LABEL else key[:_N_HASH]
        for key, label in prompts.items()
    }


def _hash_text(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
