"""deepeval: `test_run_DATE.json`, a list of test cases, each with the scores of several metrics.

Nothing numbers the repeats (`--repeat` makes more cases, each with another name): cases with equal input, expected
output and context are generations in the order of the file. Scores are a metric's value (`NAME`), whether it passed
its threshold (`NAME/success`), and whether the case passed all (`success`), which deepeval's pass rate counts.

Dots of `--columns` start at a test case, as in `metadata.topic` or `tags.0`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import (
    UNSCORED,
    LogInfo,
    LogRow,
    MappedColumns,
    Note,
    ReadOptions,
    choose_scorer,
    get_field,
    parse_score,
)
from howsure.readers.logs.copies import Copies
from howsure.readers.logs.file_head import FileHead
from howsure.readers.logs.json_files import read_json
from howsure.store.manifest import Model

__all__ = ["NAME", "describe", "members", "recognises", "rows"]

NAME = "deepeval"

_KEYS = {
    "testFile", "testCases", "conversationalTestCases", "metricsScores", "traceMetricsScores", "identifier",
    "hyperparameters", "prompts", "testPassed", "testFailed", "runDuration", "evaluationCost", "datasetAlias",
    "datasetId", "datasetVersion", "official",
}  # fmt: skip
_MODEL = ("model", "modelname", "llm", "llmmodel", "generator", "generationmodel")
#: Settings that decide what a model writes; other hyperparameters may be anything.
_SETTINGS = ("temperature", "topp", "topk", "maxtokens", "seed", "n", "reasoningeffort")
_PASSED = "success"


class _Metric(msgspec.Struct):
    name: str
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
    run_duration: Any = None
    completion_time: Any = None
    output_token_count: Any = None
    input_token_count: Any = None
    # a conversation has these in place of input and outputs
    turns: list[Any] | None = None
    scenario: str | None = None
    expected_outcome: str | None = None


class _File(msgspec.Struct, rename="camel"):
    test_cases: list[msgspec.Raw]
    conversational_test_cases: list[msgspec.Raw] = []
    test_file: str | None = None
    dataset_alias: str | None = None
    identifier: str | None = None
    hyperparameters: Any = None
    test_passed: Any = None


def recognises(head: FileHead) -> bool:
    """By its keys, of which a long file shows but the first."""
    return head.kind == "json" and "testCases" in head.keys and head.keys <= _KEYS and len(head.keys) > 1


def members(path: Path) -> Sequence[Path]:
    """The file itself."""
    return [path]


def describe(path: Path) -> LogInfo:
    """Who and what, from the hyperparameters that were logged."""
    file = read_json(path, _File)
    cases = _cases(file, path)
    given = _plain(file.hyperparameters)
    whole_run = msgspec.json.encode([file.test_cases, file.conversational_test_cases, file.hyperparameters])
    return LogInfo(
        run=hashlib.sha256(whole_run).hexdigest()[:16],
        models={
            _model(file): Model(name=_model(file), kind=NAME, settings={n: given[n] for n in _SETTINGS if n in given})
        },
        benchmarks={_benchmark(file): {"identifier": file.identifier} if file.identifier else {}},
        scorers=_scorers(cases),
    )


def rows(path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
    """A row per test case.

    Raises
    ------
    InputError
        When the file cannot be read, or holds no case.
    """
    file = read_json(path, _File)
    cases = _cases(file, path)
    scorer = choose_scorer(_scorers(cases), asked.scorer, where=str(path), tell=tell)
    model, benchmark = _model(file), _benchmark(file)
    mapped, copies = MappedColumns(asked.columns, where=str(path)), Copies()
    generations: Counter[tuple[str, ...]] = Counter()
    names: Counter[str] = Counter()
    count: Counter[str] = Counter()
    if model == "unknown":
        tell("no hyperparameter names the model, which is called 'unknown': log it with log_hyperparameters")
    for case, raw in cases:
        keys: dict[str, Any] = {
            "benchmark": benchmark,
            "model": model,
            "question": _question(case),
            "variant": "default",
            "cluster": None,
        }
        if mapped:
            record = msgspec.json.decode(raw)
            keys = {name: mapped.of(record, name) or value for name, value in keys.items()}
        key = tuple(str(keys[name]) for name in ("benchmark", "model", "question", "variant"))
        generations[key] += 1
        names[case.name] += 1
        made = _score(case, scorer)
        count[made.get("status", "ok")] += 1
        completion = _completion(case)
        copies.add(key, completion)
        yield LogRow(
            **keys,
            **made,
            generation=generations[key],
            completion=completion if asked.texts else None,
            target=(case.expected_output or case.expected_outcome) if asked.texts else None,
            messages=_messages(case) if asked.texts else None,
            prompt_tokens=case.input_token_count if isinstance(case.input_token_count, int) else None,
            completion_tokens=case.output_token_count if isinstance(case.output_token_count, (int, float)) else None,
            seconds=case.completion_time if isinstance(case.completion_time, (int, float)) else None,
        )
    again = sum(n - 1 for name, n in names.items() if n > 1 and name.startswith("test_") and file.test_file)
    if count["error"]:
        counted = " that deepeval counted as failed are missing here; --missing as-zero counts them as 0"
        tell(f"{count['error']} errors of a metric{counted if scorer == _PASSED else ' left no score'}")
    if count[UNSCORED]:
        tell(f"{count[UNSCORED]} cases have no score of {scorer!r}")
    if again:
        tell(f"{again} cases come again under one name: reruns of what failed would make the score too high")
    if copies.told():
        tell(f"{copies.told()}; where the outputs were made beforehand, only the judge was asked again")


def _cases(file: _File, path: Path) -> list[tuple[_Case, msgspec.Raw]]:
    raws = [*file.test_cases, *file.conversational_test_cases]
    if not raws:
        raise InputError("it holds no test case", where=str(path))
    try:
        return [(msgspec.json.decode(raw, type=_Case), raw) for raw in raws]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        what = f"a test case cannot be read: {str(error)[:120]}"
        raise InputError(what, where=str(path), remedy="is the file whole?") from error


def _scorers(cases: Sequence[tuple[_Case, msgspec.Raw]]) -> tuple[str, ...]:
    names = dict.fromkeys(metric.name for case, _ in cases for metric in case.metrics_data or ())
    return (*names, *(f"{name}/{_PASSED}" for name in names), _PASSED)


def _plain(given: Any) -> dict[str, Any]:
    """Hyperparameters by their names without case and marks."""
    found = given.items() if isinstance(given, dict) else ()
    return {"".join(filter(str.isalnum, name)).lower(): value for name, value in found}


def _model(file: _File) -> str:
    given = _plain(file.hyperparameters)
    said = next((given[name] for name in _MODEL if given.get(name)), None)
    said = get_field(said, "name") or said
    return said if isinstance(said, str) else "unknown"


def _benchmark(file: _File) -> str:
    return file.dataset_alias or (Path(file.test_file).stem if file.test_file else NAME)


def _question(case: _Case) -> str:
    """A hash of what was asked: of a conversation its scenario, or else its first turn."""
    turns = case.turns or []
    asked = case.input if case.input is not None else case.scenario or (turns[0] if turns else case.name)
    said = [asked, case.expected_output or case.expected_outcome, case.context]
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()[:12]


def _score(case: _Case, scorer: str) -> dict[str, Any]:
    """The score, or why there is none; a case with an error of any metric failed for that."""
    metrics = {metric.name: metric for metric in case.metrics_data or ()}
    if scorer == _PASSED:
        error = next((metric.error for metric in metrics.values() if metric.error), None)
        value: Any = case.success
    else:
        metric = metrics.get(scorer) or metrics.get(scorer.removesuffix(f"/{_PASSED}"))
        error = metric.error if metric else None
        value = (metric.score if scorer in metrics else metric.success) if metric else None
    if error:
        return {"status": "error", "error": f"scoring: {error[:200]}"}
    try:
        score = parse_score(value)
    except ValueError as fault:
        return {"status": "error", "error": f"scoring: {str(fault)[:200]}"}
    return {"score": score} if score is not None else {"status": UNSCORED}


def _completion(case: _Case) -> str | None:
    if case.turns:
        said = get_field(case.turns[-1], "content")
        return said if isinstance(said, str) else None
    return case.actual_output


def _messages(case: _Case) -> tuple[dict[str, str], ...] | None:
    if case.turns:
        return tuple(
            {name: str(get_field(turn, name) or "") for name in ("role", "content")} for turn in case.turns[:-1]
        )
    asked = case.input
    if asked is None:
        return None
    return ({"role": "user", "content": asked if isinstance(asked, str) else msgspec.json.encode(asked).decode()},)
