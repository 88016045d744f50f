"""Read deepeval's `test_run_DATE.json`: a list of test cases, each with the scores of several metrics.

`.deepeval/.latest_test_run.json` holds the same under `testRunData`, or, where the run was sent to a server, a link
only.

Repeats have no number (`--repeat` writes more cases under other names), so cases with equal input, expected output and
context are generations, in the order of the file. The scorers are each metric's value (`NAME`), whether it passed its
threshold (`NAME/success`), and whether the case passed all metrics (`success`), which deepeval's pass rate counts.

The record of `--columns` is a test case: `metadata.topic`, `tags.0`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    COUNTED_AS_WRONG,
    LogInfo,
    LogReader,
    LogRow,
    PromptFields,
    RowBuilder,
    RowKey,
    ScoreFields,
    encode_text,
    get_field,
)
from howsure.logs.file_formats import DECODE_ERRORS, FileHead, read_json
from howsure.store.manifest import ModelRecord

# Not formatted: one name a line would fill a page.
_KEYS = {
    "testFile", "testCases", "conversationalTestCases", "metricsScores", "traceMetricsScores", "identifier",
    "hyperparameters", "prompts", "testPassed", "testFailed", "runDuration", "evaluationCost", "datasetAlias",
    "datasetId", "datasetVersion", "official",
}  # fmt: skip
#: Hyperparameters that name the model, and those that influence its completions; others may contain anything.
_MODEL = ("model", "modelname", "llm", "llmmodel", "generator", "generationmodel")
_SETTINGS = ("temperature", "topp", "topk", "maxtokens", "seed", "n", "reasoningeffort")
_PASSED = "success"
#: Keys of the file of the latest run: the run, or a link to where it was sent.
_LATEST_KEYS = {"testRunData", "testRunLink"}
#: Files of the folder `.deepeval`: of two that hold the same run, the complete one first.
_LATEST_FILES = (".latest_run_full.json", ".latest_test_run.json")


class _Metric(msgspec.Struct):
    name: str
    score: Any = None
    success: bool | None = None
    error: str | None = None


class _OldMetric(msgspec.Struct):
    metric: str
    score: Any = None
    success: bool | None = None
    error: str | None = None


class _Case(msgspec.Struct, rename="camel"):
    name: str = ""
    input: Any = None
    actual_output: str | None = None
    expected_output: str | None = None
    context: Any = None
    success: bool | None = None
    metrics_data: list[_Metric] | None = None
    metrics_metadata: list[_OldMetric] | None = None
    """The metrics in the files of versions before 1.1."""
    completion_time: Any = None
    output_token_count: Any = None
    input_token_count: Any = None
    # A conversation has these fields instead of the input and the outputs.
    turns: list[Any] | None = None
    scenario: str | None = None
    expected_outcome: str | None = None


class _TestRun(msgspec.Struct, rename="camel"):
    test_cases: list[msgspec.Raw]
    conversational_test_cases: list[msgspec.Raw] = []
    test_file: str | None = None
    dataset_alias: str | None = None
    identifier: str | None = None
    hyperparameters: Any = None


class _LatestRun(msgspec.Struct, rename="camel"):
    test_run_data: _TestRun | None = None


class DeepEvalReader(LogReader):
    """Reads a test run of deepeval, one row for each test case."""

    name = "deepeval"

    def recognises(self, head: FileHead) -> bool:
        """Return whether it is a test run, alone or as that of the latest run, or a folder with the latter."""
        if head.kind == "folder":
            return any(name in head.keys for name in _LATEST_FILES)
        if head.kind != "json" or not head.keys:
            return False
        return head.keys <= _LATEST_KEYS or ("testCases" in head.keys and head.keys <= _KEYS and len(head.keys) > 1)

    def members(self, path: Path) -> Sequence[Path]:
        """Return the file itself; of the folder `.deepeval`, the file of the latest run."""
        return [next(path / name for name in _LATEST_FILES if (path / name).is_file())] if path.is_dir() else [path]

    def describe(self, path: Path) -> LogInfo:
        """Return the model and its settings, from the hyperparameters that were logged."""
        run = _read_run(path)
        parameters = _normalise_names(run.hyperparameters)
        settings = {name: parameters[name] for name in _SETTINGS if name in parameters}
        content = msgspec.json.encode([run.test_cases, run.conversational_test_cases, run.hyperparameters])
        return LogInfo(
            run=hashlib.sha256(content).hexdigest()[:16],
            models={_find_model(run): ModelRecord(name=_find_model(run), kind=self.name, settings=settings)},
            benchmarks={_name_benchmark(run): {"identifier": run.identifier} if run.identifier else {}},
            scorers=_list_scorers([case for case, _ in _parse_cases(run, path)]),
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield one row for each test case."""
        run = _read_run(path)
        cases = _parse_cases(run, path)
        scorer = build.choose_scorer(_list_scorers([case for case, _ in cases]))
        benchmark, model = _name_benchmark(run), _find_model(run)
        if model == "unknown":
            build.note("no hyperparameter names the model, which is called 'unknown': log it with log_hyperparameters")
        names: Counter[str] = Counter()
        for case, raw in cases:
            key = RowKey(benchmark, model, _hash_question(case))
            if build.options.columns:
                key = build.map_columns(key, msgspec.json.decode(raw))
            names[case.name] += 1
            score = _score_case(case, scorer, build)
            n_written, seconds = case.output_token_count, case.completion_time
            yield build.row(
                key,
                completion=_completion(case),
                prompt_tokens=case.input_token_count if isinstance(case.input_token_count, int) else None,
                completion_tokens=n_written if isinstance(n_written, (int, float)) else None,
                seconds=seconds if isinstance(seconds, (int, float)) else None,
                **score,
                **(_prompt_fields(case) if build.texts else PromptFields()),
            )
        n_again = sum(n - 1 for name, n in names.items() if n > 1 and name.startswith("test_") and run.test_file)
        build.count(
            "[case repeats|cases repeat] an earlier name: reruns of failed cases would make the score too high", n_again
        )
        if build.identical.describe():
            build.note("outputs are identical: if they were generated beforehand, only the judge was run again")


def _read_run(path: Path) -> _TestRun:
    """Return the test run of a file, which is wrapped in the file of the latest run."""
    if not FileHead(path).keys <= _LATEST_KEYS:
        return read_json(path, _TestRun)
    latest = read_json(path, _LatestRun)
    if latest.test_run_data is None:
        remedy = "give .deepeval/.latest_run_full.json, or export the run with DEEPEVAL_RESULTS_FOLDER"
        raise InputError("it holds only the link to a run that was sent to a server", where=str(path), remedy=remedy)
    return latest.test_run_data


def _parse_cases(run: _TestRun, path: Path) -> list[tuple[_Case, msgspec.Raw]]:
    """Return the test cases, each with its JSON."""
    raws = [*run.test_cases, *run.conversational_test_cases]
    if not raws:
        raise InputError("it holds no test case", where=str(path))
    try:
        cases = [msgspec.json.decode(raw, type=_Case) for raw in raws]
    except DECODE_ERRORS as error:
        what = f"a test case cannot be read: {str(error)[:120]}"
        raise InputError(what, where=str(path), remedy="is the file complete?") from error
    for case in cases:
        if case.metrics_data is None and case.metrics_metadata is not None:
            case.metrics_data = [
                _Metric(old.metric, old.score, old.success, old.error) for old in case.metrics_metadata
            ]
    return list(zip(cases, raws, strict=True))


def _list_scorers(cases: Sequence[_Case]) -> tuple[str, ...]:
    """Return the names of the metrics, whether each one passed, and whether all did."""
    names = dict.fromkeys(metric.name for case in cases for metric in case.metrics_data or ())
    return (*names, *(f"{name}/{_PASSED}" for name in names), _PASSED)


def _normalise_names(parameters: object) -> dict[str, Any]:
    """Return the hyperparameters by their names in lower case, without spaces and punctuation."""
    items = parameters.items() if isinstance(parameters, Mapping) else ()
    return {"".join(filter(str.isalnum, name)).lower(): value for name, value in items}


def _find_model(run: _TestRun) -> str:
    """Return the model that a hyperparameter names."""
    parameters = _normalise_names(run.hyperparameters)
    model = next((parameters[name] for name in _MODEL if parameters.get(name)), None)
    model = get_field(model, "name") or model
    return model if isinstance(model, str) else "unknown"


def _name_benchmark(run: _TestRun) -> str:
    """Return the alias of the data set, or else the name of the test file."""
    return run.dataset_alias or (Path(run.test_file).stem if run.test_file else DeepEvalReader.name)


def _hash_question(case: _Case) -> str:
    """Return a hash of the question, which is the scenario or the first turn of a conversation."""
    turns = case.turns or []
    question = case.input if case.input is not None else case.scenario or (turns[0] if turns else case.name)
    parts = [question, case.expected_output or case.expected_outcome, case.context]
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:12]


def _score_case(case: _Case, scorer: str, build: RowBuilder) -> ScoreFields:
    """Return the score of a case; a case fails with the error of any of its metrics."""
    metrics = {metric.name: metric for metric in case.metrics_data or ()}
    value: Any = None
    if scorer == _PASSED:
        error = next((metric.error for metric in metrics.values() if metric.error), None)
        value = case.success
    else:
        metric = metrics.get(scorer) or metrics.get(scorer.removesuffix(f"/{_PASSED}"))
        error = metric.error if metric else None
        if metric:
            value = metric.score if scorer in metrics else metric.success
    if error:
        build.count(f"[error|errors] of a metric {COUNTED_AS_WRONG if scorer == _PASSED else 'left no score'}")
        return {"status": "error", "error": f"scoring: {error[:200]}"}
    score = build.score_fields(value)
    build.count(f"[case has|cases have] no score of {scorer!r}", value is None)
    return score


def _completion(case: _Case) -> str | None:
    """Return the output, or the last turn of a conversation."""
    if case.turns:
        content = get_field(case.turns[-1], "content")
        return content if isinstance(content, str) else None
    return case.actual_output


def _prompt_fields(case: _Case) -> PromptFields:
    """Return the expected output and the messages before the completion."""
    messages: tuple[dict[str, str], ...] | None = None
    if case.turns:
        turns = case.turns[:-1]
        messages = tuple({name: str(get_field(turn, name) or "") for name in ("role", "content")} for turn in turns)
    elif case.input is not None:
        messages = ({"role": "user", "content": encode_text(case.input)},)
    return {"target": case.expected_output or case.expected_outcome, "messages": messages}
