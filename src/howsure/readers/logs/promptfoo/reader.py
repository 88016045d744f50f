"""Read promptfoo's results: `-o results.json` (versions 2 and 3), its exports, and `-o results.jsonl`.

One file holds several providers (our models) and prompts (our variants). A question is the vars and the description of
a test: the start of a text and a hash. promptfoo writes no number of the repeat, so rows with equal question, prompt
and provider are generations, in the order of the file.

The record of `--columns` is a result: `vars.passage`, `testCase.metadata.topic`, `provider.id`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

from howsure.readers.logs.base import (
    COUNTED_AS_WRONG,
    UNSCORED,
    LogInfo,
    LogReader,
    LogRow,
    PromptFields,
    RowBuilder,
    RowKey,
    ScoreFields,
    UsageFields,
    as_mapping,
    encode_text,
)
from howsure.readers.logs.file_head import FileHead, open_file
from howsure.readers.logs.json_files import DECODE_ERRORS
from howsure.readers.logs.promptfoo.records import (
    PromptfooResult,
    ProviderResponse,
    ResultsFile,
    ResultSurvey,
    open_results,
)
from howsure.store.manifest import ModelRecord

#: Settings of a provider that influence its completions; the others may contain secret keys.
_SETTINGS = (
    "temperature", "top_p", "top_k", "seed", "max_tokens", "max_completion_tokens", "max_output_tokens", "n", "stop",
    "presence_penalty", "frequency_penalty", "reasoning_effort", "reasoning",
)  # fmt: skip
_STATUS = {"length": "length", "max_tokens": "length", "content_filter": "filtered"}
#: Assertions whose value is the expected answer.
_TARGET_ASSERTIONS = ("equals", "contains", "icontains")


class PromptfooReader(LogReader):
    """Reads results of promptfoo, one row for each result that is no copy of an earlier one."""

    name = "promptfoo"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the keys are those of a results file, or of a line of results.jsonl."""
        if head.kind != "json":
            return False
        is_file = {"results", "config"} <= head.keys and bool({"evalId", "shareableUrl", "createdAt"} & head.keys)
        return is_file or {"promptIdx", "testIdx", "vars", "provider", "namedScores"} <= head.keys

    def describe(self, path: Path) -> LogInfo:
        """Return the providers, with the settings of the config."""
        results = open_results(path)
        survey = ResultSurvey(results)
        settings = _read_settings(results.file.config.providers if results.file else None)
        models: dict[str, ModelRecord] = {}
        for labels in survey.labels.values():
            for name, label in labels.items():
                models[label] = ModelRecord(
                    name=name, kind=self.name, settings=settings.get(name, {}), generations=results.repeats or 1
                )
        with open_file(path) as file:
            start = hashlib.sha256(file.read(1 << 16)).hexdigest()[:16]
        return LogInfo(
            run=(results.file.eval_id if results.file else "") or start,
            models=models,
            benchmarks={results.benchmark: {"prompts": sorted(set(survey.variants.values()))}},
            scorers=tuple(survey.scorers),
            created=results.file.results.timestamp if results.file else "",
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield one row for each result that is no copy of an earlier one."""
        results = open_results(path)
        survey = ResultSurvey(results)
        scorer = build.choose_scorer(survey.scorers)
        if results.file is None or not results.file.config.description:
            build.note(
                f"it does not name what was evaluated: the benchmark is called {results.benchmark!r} after the file"
            )
        texts: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
        n_replayed = n_copies = 0
        for place, (record, result) in enumerate(results.read(build.note)):
            if survey.last[result.identify(place)] != place:
                build.count("rows were run again: the last of each is read")
                continue
            provider, output = result.provider_name, result.output
            model, variant = survey.labels[result.prompt_idx][provider], survey.variants[result.prompt_hash]
            key = build.map_columns(RowKey(results.benchmark, model, result.question, variant), record)
            if output is not None:
                n_replayed += result.is_cached
                if result.is_cached and provider in survey.replaying and hash(output) in texts[key[:4]]:
                    n_copies += 1
                    continue
                texts[key[:4]].add(hash(output))
            response = result.response if isinstance(result.response, ProviderResponse) else ProviderResponse()
            reason = response.finish_reason
            yield build.row(
                key,
                completion=output,
                finish_reason=reason if isinstance(reason, str) else None,
                **_score_result(result, scorer, build),
                **_usage_fields(result, response),
                **(_prompt_fields(result) if build.texts else PromptFields()),
            )
        if n_replayed:
            left_out = f"; {n_copies} that repeat an earlier row are left out" if n_copies else ""
            build.note(
                f"{n_replayed} rows were replayed from a cache: no generations of their own beside the run they "
                f"repeat{left_out}"
            )
        _note_collisions(build, results)


def _score_result(result: PromptfooResult, scorer: str, build: RowBuilder) -> ScoreFields:
    """Return the score of a result, or why there is none."""
    if result.has_failed:
        build.count(f"errors of providers that promptfoo {COUNTED_AS_WRONG}")
        message = " ".join(str(result.error or "no answer").split())[:300]
        return {"status": "error", "error": f"provider: {message}"}
    if not result.is_judged:
        build.count("rows have no assertion, which promptfoo counts as passed: they are kept without a score")
        return {"status": UNSCORED}
    values = {**(result.named_scores or {}), "score": result.score, "success": result.success}
    fields = build.score_fields(values.get(scorer))
    build.count(f"rows have no score {scorer!r}: they are kept without a score", fields.get("status") == UNSCORED)
    if "score" in fields:
        reason = result.response.finish_reason if isinstance(result.response, ProviderResponse) else None
        fields["status"] = _STATUS.get(str(reason), "ok")
    return fields


def _usage_fields(result: PromptfooResult, response: ProviderResponse) -> UsageFields:
    """Return tokens and latency."""
    usage = as_mapping(response.token_usage)
    n_read, n_written = usage.get("prompt"), usage.get("completion")
    return {
        "prompt_tokens": n_read if isinstance(n_read, int) else None,
        "completion_tokens": float(n_written) if isinstance(n_written, (int, float)) else None,
        "seconds": result.latency_ms / 1000 if isinstance(result.latency_ms, (int, float)) else None,
    }


def _prompt_fields(result: PromptfooResult) -> PromptFields:
    """Return the messages, and the target where one assertion states it."""
    prompt = encode_text(result.prompt.raw)
    assertions = result.test_case.assertions if result.test_case else None
    targets = [
        assertion["value"]
        for assertion in (assertions if isinstance(assertions, list) else ())
        if as_mapping(assertion).get("type") in _TARGET_ASSERTIONS and isinstance(assertion.get("value"), str)
    ]
    return {
        "target": targets[0] if len(targets) == 1 else None,
        "messages": _parse_messages(prompt) if prompt else None,
    }


def _parse_messages(prompt: str) -> tuple[dict[str, str], ...]:
    """Return the messages of a prompt that is a chat written as JSON; another prompt is one message."""
    if prompt.lstrip().startswith("["):
        try:
            return tuple(msgspec.json.decode(prompt, type=list[dict[str, str]]))
        except DECODE_ERRORS:
            pass
    return ({"role": "user", "content": prompt},)


def _read_settings(providers: object) -> dict[str, dict[str, object]]:
    """Return decoding settings by label and id: a provider is a name, a mapping with `id`, or {id: mapping}."""
    settings: dict[str, dict[str, object]] = {}
    for provider in providers if isinstance(providers, list) else []:
        if not isinstance(provider, dict):
            continue
        options = provider
        if "id" not in provider and len(provider) == 1:
            [(id_, inside)] = provider.items()
            options = {"id": id_, **inside} if isinstance(inside, dict) else {}
        config = as_mapping(options.get("config"))
        for name in (options.get("label"), options.get("id")):
            if isinstance(name, str):
                settings.setdefault(name, {key: config[key] for key in _SETTINGS if key in config})
    return settings


def _note_collisions(build: RowBuilder, results: ResultsFile) -> None:
    """Note questions with too many rows: tests with equal vars are one question, and their rows look like repeats."""
    most = results.repeats or min(build.n_generations.values(), default=0)
    questions = {question for (_, _, question, _), n in build.n_generations.items() if n > most}
    if questions:
        build.note(
            f"{len(questions)} questions have more rows than {most} repeats: tests with equal vars are one question; "
            "--columns question=FIELD separates them"
        )
