"""Read promptfoo's results: `-o results.json` (versions 2 and 3), its exports, and `-o results.jsonl`.

One file holds several providers (our models) and prompts (our variants). A question is the vars and the description of
a test: the start of a text and a hash. promptfoo writes no number of the repeat, so rows with equal question, prompt
and provider are generations, in the order of the file.

The record of `--columns` is a result: `vars.passage`, `testCase.metadata.topic`, `provider.id`.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    COUNTED_AS_WRONG,
    UNSCORED,
    LogInfo,
    LogReader,
    LogRow,
    Note,
    PromptFields,
    RowBuilder,
    RowKey,
    ScoreFields,
    UsageFields,
    as_mapping,
    encode_text,
)
from howsure.logs.file_formats import DECODE_ERRORS, FileHead, open_file, read_json, read_json_lines
from howsure.safe_text import inflect_text
from howsure.store.manifest import ModelRecord

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
        results = _open_results(path)
        survey = _ResultSurvey(results)
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
        results = _open_results(path)
        survey = _ResultSurvey(results)
        scorer = build.choose_scorer(survey.scorers)
        if results.file is None or not results.file.config.description:
            build.note(
                f"it does not name what was evaluated: the benchmark is called {results.benchmark!r} after the file"
            )
        if results.file is not None and not survey.replaying:
            build.expect_mean(f"a mean of {scorer!r} of", results.file.results.find_mean(scorer))
        texts: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
        n_replayed = n_copies = 0
        for place, (record, result) in enumerate(results.read(build.note)):
            if survey.last[result.identify(place)] != place:
                build.count("[row was|rows were] run again: the last of each is read")
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
            response = result.response if isinstance(result.response, _ProviderResponse) else _ProviderResponse()
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
            build.count(
                "[row was replayed from a cache: no generation of its own beside the run it repeats|rows were replayed "
                f"from a cache: no generations of their own beside the run they repeat]{left_out}",
                n_replayed,
            )
        _note_collisions(build, results)


def _score_result(result: _PromptfooResult, scorer: str, build: RowBuilder) -> ScoreFields:
    """Return the score of a result, or why there is none."""
    if result.has_failed:
        build.count(f"[error|errors] of providers that promptfoo {COUNTED_AS_WRONG}")
        message = " ".join(str(result.error or "no answer").split())[:300]
        return {"status": "error", "error": f"provider: {message}"}
    if not result.is_judged:
        build.count(
            "[row has|rows have] no assertion, which promptfoo counts as passed: [it is|they are] kept without a score"
        )
        return {"status": UNSCORED}
    values = {**(result.named_scores or {}), "score": result.score, "success": result.success}
    fields = build.score_fields(values.get(scorer))
    build.count(f"[row has|rows have] no score {scorer!r}: [it is|they are] missing", values.get(scorer) is None)
    if "score" in fields:
        reason = result.response.finish_reason if isinstance(result.response, _ProviderResponse) else None
        fields["status"] = _STATUS.get(str(reason), "ok")
    return fields


def _usage_fields(result: _PromptfooResult, response: _ProviderResponse) -> UsageFields:
    """Return tokens and latency."""
    usage = as_mapping(response.token_usage)
    n_read, n_written = usage.get("prompt"), usage.get("completion")
    return {
        "prompt_tokens": n_read if isinstance(n_read, int) else None,
        "completion_tokens": float(n_written) if isinstance(n_written, (int, float)) else None,
        "seconds": result.latency_ms / 1000 if isinstance(result.latency_ms, (int, float)) else None,
    }


def _prompt_fields(result: _PromptfooResult) -> PromptFields:
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


def _note_collisions(build: RowBuilder, results: _ResultsFile) -> None:
    """Note questions with too many rows: tests with equal vars are one question, and their rows look like repeats."""
    most = results.repeats or min(build.n_generations.values(), default=0)
    questions = {question for (_, _, question, _), n in build.n_generations.items() if n > most}
    if questions:
        build.count(
            f"[question has|questions have] more rows than {most} repeats: tests with equal vars are one question; "
            "--columns question=FIELD separates them",
            len(questions),
        )


class _Provider(msgspec.Struct, frozen=True):
    id: str = ""
    label: str | None = None


class _Prompt(msgspec.Struct, frozen=True):
    raw: object = ""
    label: str | None = None


class _ProviderResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The reply of the provider, all of it optional."""

    output: object = None
    cached: object = False
    token_usage: object = None
    finish_reason: object = None


class _Test(msgspec.Struct, frozen=True, rename={"assertions": "assert"}):
    description: str | None = None
    assertions: object = None


class _Grading(msgspec.Struct, frozen=True, rename="camel"):
    component_results: object = None


class _PromptfooResult(msgspec.Struct, rename="camel"):
    """A row: the answer of one provider to one prompt with the vars of one test."""

    vars: dict[str, object]
    provider: _Provider | str
    score: object
    success: object = None
    prompt: _Prompt = _Prompt()
    prompt_id: str | None = None
    prompt_idx: int | None = None
    test_idx: int | None = None
    test_case: _Test | None = None
    named_scores: dict[str, object] | None = None
    grading_result: _Grading | None = None
    response: _ProviderResponse | str | None = None
    failure_reason: int | None = None
    error: object = None
    latency_ms: object = None

    @property
    def provider_name(self) -> str:
        """The label that the user set, or else the id."""
        if isinstance(self.provider, str):
            return self.provider
        return self.provider.label or self.provider.id

    @property
    def prompt_hash(self) -> str:
        """Different for different prompts."""
        return self.prompt_id or (_hash_text(self.prompt.label) if self.prompt.label else "default")

    @property
    def output(self) -> str | None:
        """The answer as a text, or as JSON."""
        output = self.response.output if isinstance(self.response, _ProviderResponse) else self.response
        return None if output is None else encode_text(output)

    @property
    def is_cached(self) -> bool:
        """Whether the answer came from promptfoo's cache."""
        return isinstance(self.response, _ProviderResponse) and self.response.cached is True

    @property
    def has_failed(self) -> bool:
        """Whether the provider failed, and not its answer."""
        if self.failure_reason is not None:
            return self.failure_reason == _ERROR
        return bool(self.error) and self.output is None

    @property
    def is_judged(self) -> bool:
        """Whether it has an assertion: promptfoo passes a row without one, whatever the answer is."""
        graded = self.grading_result is not None and self.grading_result.component_results
        return bool(graded or (self.test_case is not None and self.test_case.assertions) or not self.success)

    @property
    def question(self) -> str:
        """The start of a text by which a person recognises the test, and a hash of its vars and description."""
        own_vars = {
            name: value for name, value in self.vars.items() if not name.startswith("_") and name != "sessionId"
        }
        description = self.test_case.description if self.test_case else None
        text = description or next((value for value in own_vars.values() if isinstance(value, str)), "")
        key = _hash_text(msgspec.json.encode([own_vars, description], order="sorted").decode())[:8]
        return f"{' '.join(text.split())[:32]} {key}".strip()

    def identify(self, place: int) -> int | tuple[int | None, int, str]:
        """Return the key that a row shares with an earlier run of the same row; its place if it has no key."""
        return place if self.test_idx is None else (self.prompt_idx, self.test_idx, self.provider_name)


class _Results(msgspec.Struct):
    results: list[Any]
    timestamp: str = ""
    prompts: object = None

    def find_mean(self, scorer: str) -> float | None:
        """Return the mean over all rows that the totals of the prompts state; errors count as 0."""
        name = {"score": "score", "success": "testPassCount"}.get(scorer, "")
        total = n_rows = 0.0
        for prompt in self.prompts if isinstance(self.prompts, list) and name else ():
            metrics = as_mapping(as_mapping(prompt).get("metrics"))
            values = [metrics.get(key) for key in (name, "testPassCount", "testFailCount", "testErrorCount")]
            numbers = [float(value) for value in values if isinstance(value, (int, float))]
            if len(numbers) < len(values):
                return None
            total, n_rows = total + numbers[0], n_rows + sum(numbers[1:])
        return total / n_rows if n_rows else None


class _Config(msgspec.Struct, frozen=True):
    description: str | None = None
    providers: object = None


class _Options(msgspec.Struct, frozen=True):
    repeat: int | None = None


class _Content(msgspec.Struct, rename="camel"):
    results: _Results
    eval_id: str = ""
    config: _Config = _Config()
    runtime_options: _Options | None = None


class _ResultsFile(NamedTuple):
    """An opened results file."""

    path: Path
    file: _Content | None
    """None for a file with a row per line."""
    benchmark: str

    @property
    def repeats(self) -> int | None:
        """How often each test was run; None where an older version did not write it."""
        return self.file.runtime_options.repeat if self.file and self.file.runtime_options else None

    def read(self, note: Note) -> Iterator[tuple[Mapping[str, object], _PromptfooResult]]:
        """Yield the rows, each as its record and as what is read of it."""
        records = read_json_lines(self.path, dict[str, Any], note) if self.file is None else self.file.results.results
        n_left_out, first = 0, ""
        for record in records:
            try:
                yield record, msgspec.convert(record, _PromptfooResult)
            except msgspec.ValidationError as error:
                n_left_out, first = n_left_out + 1, first or str(error)[:120]
        if n_left_out:
            what = "[row is no result of promptfoo and is|rows are no results of promptfoo and are] left out"
            note(f"{n_left_out} {inflect_text(what, n_left_out)}; {first}")


def _open_results(path: Path) -> _ResultsFile:
    """Open a results file, or one with a row per line.

    Raises
    ------
    InputError
        When it cannot be read.
    """
    if "results" not in FileHead(path).keys:
        return _ResultsFile(path, None, path.stem)
    file = read_json(path, _Content)
    return _ResultsFile(path, file, (file.config.description or path.stem).strip() or path.stem)


class _ResultSurvey:
    """The result of a first pass over the rows.

    Attributes
    ----------
    last
        Place of the last row by `Result.identify`: the row of a test that was run again is written again.
    scorers
        Names of the scores.
    labels
        Label of the model by column of promptfoo's table and name of the provider.
    variants
        Variant by hash of the prompt.
    replaying
        Providers whose cache holds one answer per prompt and not one per repeat.
    """

    def __init__(self, results: _ResultsFile) -> None:
        self.last: dict[Any, int] = {}
        scorers = {"score": None, "success": None}
        columns: dict[int | None, dict[str, str]] = {}
        prompts: dict[str, str] = {}
        cached: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        for place, (_, result) in enumerate(results.read(lambda _: None)):
            self.last[result.identify(place)] = place
            scorers.update(dict.fromkeys(result.named_scores or ()))
            columns.setdefault(result.prompt_idx, {})[result.provider_name] = result.prompt_hash
            prompts.setdefault(result.prompt_hash, " ".join((result.prompt.label or "").split()))
            if result.is_cached and result.output is not None:
                cached[result.provider_name, result.prompt_hash, result.question].add(result.output)
        if not self.last:
            raise InputError("it holds no result", where=str(results.path), remedy="did the evaluation run?")
        self.scorers = list(scorers)
        self.labels = _label_providers(columns)
        self.variants = _name_variants(prompts)
        # A cache of one answer per prompt never has two texts for a cell. Newer versions cache one per repeat.
        several = {provider for (provider, *_), texts in cached.items() if len(texts) > 1}
        self.replaying = {provider for provider, *_ in cached} - several


def _label_providers(columns: Mapping[int | None, Mapping[str, str]]) -> dict[int | None, dict[str, str]]:
    """Return labels of providers; where columns of one name have the same prompt they are `name`, `name (2)`."""
    n_columns: Counter[tuple[str, str]] = Counter()
    labels: dict[int | None, dict[str, str]] = {}
    for index in sorted(columns, key=lambda index: -1 if index is None else index):
        for name, prompt in columns[index].items():
            n_columns[name, prompt] += 1
            n = n_columns[name, prompt]
            labels.setdefault(index, {})[name] = f"{name} ({n})" if n > 1 else name
    return labels


def _name_variants(prompts: Mapping[str, str]) -> dict[str, str]:
    """Return the names of variants by hash of the prompt: a short label that no other prompt has, or the hash."""
    n_labels = Counter(prompts.values())
    return {
        key: label if label and n_labels[label] == 1 and len(label) <= _N_LABEL else key[:_N_HASH]
        for key, label in prompts.items()
    }


def _hash_text(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
