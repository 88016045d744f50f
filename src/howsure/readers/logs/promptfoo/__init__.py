"""promptfoo's results: `-o results.json` (versions 2 and 3), its exports, and `-o results.jsonl`.

One file holds several providers (our models) and prompts (our variants). A question is the test's vars and
description: the start of a text and a hash. promptfoo writes no number of the repeat, so rows with equal question,
prompt and provider are generations in the order of the file. `columns` names fields of a result, such as
`vars.passage`, `testCase.metadata.topic` or `provider.id`.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from howsure.readers.logs.base import (
    UNSCORED,
    LogInfo,
    LogRow,
    MappedColumns,
    Note,
    ReadOptions,
    choose_scorer,
    parse_score,
)
from howsure.readers.logs.copies import Copies
from howsure.readers.logs.file_head import FileHead, open_file
from howsure.readers.logs.promptfoo.file import Log, Response, Result, load, survey
from howsure.store.manifest import Model

__all__ = ["NAME", "describe", "members", "recognises", "rows"]

NAME = "promptfoo"

#: Settings of a provider that decide what it writes; the others may hold keys.
_SETTINGS = (
    "temperature", "top_p", "top_k", "seed", "max_tokens", "max_completion_tokens", "max_output_tokens", "n", "stop",
    "presence_penalty", "frequency_penalty", "reasoning_effort", "reasoning",
)  # fmt: skip
_STATUS = {"length": "length", "max_tokens": "length", "content_filter": "filtered"}
#: Asserts whose value is the answer that was wanted.
_WANTED = ("equals", "contains", "icontains")


def recognises(head: FileHead) -> bool:
    """By the keys of the file, or of its first line."""
    if head.kind != "json":
        return False
    is_whole = {"results", "config"} <= head.keys and bool({"evalId", "shareableUrl", "createdAt"} & head.keys)
    return is_whole or {"promptIdx", "testIdx", "vars", "provider", "namedScores"} <= head.keys


def members(path: Path) -> Sequence[Path]:
    """The file itself."""
    return [path]


def describe(path: Path) -> LogInfo:
    """Providers with the settings that the config states."""
    log = load(path)
    seen = survey(log)
    stated = _settings(log.file.config.providers if log.file else None)
    models: dict[str, Model] = {}
    for names in seen.labels.values():
        for name, label in names.items():
            models[label] = Model(name=name, kind=NAME, settings=stated.get(name, {}), generations=log.repeats or 1)
    with open_file(path) as file:
        start = hashlib.sha256(file.read(1 << 16)).hexdigest()[:16]
    return LogInfo(
        run=(log.file.eval_id if log.file else "") or start,
        models=models,
        benchmarks={log.benchmark: {"prompts": sorted(set(seen.variants.values()))}},
        scorers=tuple(seen.scorers),
        created=log.file.results.timestamp if log.file else "",
    )


def rows(path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
    """A row per result that is no copy of an earlier one.

    Raises
    ------
    InputError
        When the file cannot be read or holds no result.
    """
    log = load(path)
    mapped = MappedColumns(asked.columns, where=str(path))
    seen = survey(log)
    scorer = choose_scorer(seen.scorers, asked.scorer, where=str(path), tell=tell)
    if log.file is None or not log.file.config.description:
        tell(f"it does not name what was evaluated: the benchmark is called {log.benchmark!r} after the file")
    count: Counter[str] = Counter()
    cells: Counter[tuple[str, ...]] = Counter()
    texts: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
    copies, fault = Copies(), ""
    for place, (record, result) in enumerate(log.results(tell)):
        if seen.newest[result.column(place)] != place:
            count["again"] += 1
            continue
        name, output = result.provider_name, result.output
        cell = (
            mapped.of(record, "benchmark") or log.benchmark,
            mapped.of(record, "model") or seen.labels[result.prompt_idx][name],
            mapped.of(record, "question") or result.question,
            mapped.of(record, "variant") or seen.variants[result.prompt_hash],
        )
        if output is not None:
            count["cached"] += result.is_cached
            if result.is_cached and name in seen.replays and hash(output) in texts[cell]:
                count["copies"] += 1
                continue
            texts[cell].add(hash(output))
            copies.add(cell, output)
        cells[cell] += 1
        scored = _scored(result, scorer)
        count[scored.why] += 1
        if scored.why == "fault":
            fault = fault or scored.error or ""
        row = _row(result, cell, cells[cell], scored, mapped.of(record, "cluster"))
        yield _with_texts(row, result) if asked.texts else row
    told = [*_told(count, scorer, fault), _collisions(cells, log), copies.told()]
    for line in filter(None, told):
        tell(line)


class _Scored(NamedTuple):
    score: float | None
    status: str
    error: str | None = None
    why: str = ""
    """What is counted and told of it."""


def _scored(result: Result, scorer: str) -> _Scored:
    if result.has_failed:
        said = " ".join(str(result.error or "no answer").split())[:300]
        return _Scored(None, "error", f"provider: {said}", "error")
    if not result.is_judged:
        return _Scored(None, UNSCORED, why="unasked")
    values = {**(result.named_scores or {}), "score": result.score, "success": result.success}
    try:
        score = parse_score(values.get(scorer))
    except ValueError as error:
        return _Scored(None, "error", f"scoring: {error}"[:300], "fault")
    if score is None:
        return _Scored(None, UNSCORED, why="unnamed")
    reason = result.response.finish_reason if isinstance(result.response, Response) else None
    return _Scored(score, _STATUS.get(str(reason), "ok"))


def _row(
    result: Result, cell: tuple[str, str, str, str], generation: int, scored: _Scored, cluster: str | None
) -> LogRow:
    response = result.response if isinstance(result.response, Response) else Response()
    usage = response.token_usage if isinstance(response.token_usage, dict) else {}
    prompt, completion = usage.get("prompt"), usage.get("completion")
    reason = response.finish_reason
    return LogRow(
        benchmark=cell[0],
        model=cell[1],
        question=cell[2],
        variant=cell[3],
        generation=generation,
        score=scored.score,
        status=scored.status,
        error=scored.error,
        cluster=cluster,
        prompt_tokens=prompt if isinstance(prompt, int) else None,
        completion_tokens=float(completion) if isinstance(completion, (int, float)) else None,
        finish_reason=reason if isinstance(reason, str) else None,
        seconds=result.latency_ms / 1000 if isinstance(result.latency_ms, (int, float)) else None,
    )


def _with_texts(row: LogRow, result: Result) -> LogRow:
    raw = result.prompt.raw if isinstance(result.prompt.raw, str) else msgspec.json.encode(result.prompt.raw).decode()
    asserts = result.test_case.asserts if result.test_case else None
    wanted = [
        one["value"]
        for one in (asserts if isinstance(asserts, list) else ())
        if isinstance(one, dict) and one.get("type") in _WANTED and isinstance(one.get("value"), str)
    ]
    return msgspec.structs.replace(
        row,
        completion=result.output,
        target=wanted[0] if len(wanted) == 1 else None,
        messages=_messages(raw) if raw else None,
    )


def _messages(raw: str) -> tuple[dict[str, str], ...]:
    """A chat where the prompt is one written as JSON, else one message."""
    if raw.lstrip().startswith("["):
        try:
            return tuple(msgspec.json.decode(raw, type=list[dict[str, str]]))
        except (msgspec.DecodeError, RecursionError):
            pass
    return ({"role": "user", "content": raw},)


def _settings(providers: object) -> dict[str, dict[str, object]]:
    """Decoding settings by the provider's label and id: an entry is a name, a mapping with `id`, or {id: mapping}."""
    stated: dict[str, dict[str, object]] = {}
    for given in providers if isinstance(providers, list) else []:
        if not isinstance(given, dict):
            continue
        entry = given
        if "id" not in given and len(given) == 1:
            [(id_, below)] = given.items()
            entry = {"id": id_, **below} if isinstance(below, dict) else {}
        config = entry.get("config")
        kept = {key: config[key] for key in _SETTINGS if key in config} if isinstance(config, dict) else {}
        for name in (entry.get("label"), entry.get("id")):
            if isinstance(name, str):
                stated.setdefault(name, kept)
    return stated


def _told(count: Counter[str], scorer: str, fault: str) -> Iterable[str]:
    if n := count["again"]:
        yield f"{n} rows were run again: the last of each is read"
    if n := count["error"]:
        yield (
            f"{n} errors of providers that promptfoo counted as failed are missing here; "
            "--missing as-zero counts them as 0"
        )
    if n := count["unasked"]:
        yield f"{n} rows have no assertion, which promptfoo counts as passed: they are kept without a score"
    if n := count["unnamed"]:
        yield f"{n} rows have no score {scorer!r}: they are kept without a score"
    if n := count["fault"]:
        yield f"{n} scores are no numbers and are missing; {fault[:120]}"
    if n := count["cached"]:
        left = f"; {count['copies']} that repeat an earlier row are left out" if count["copies"] else ""
        yield f"{n} rows were replayed from a cache: no generations of their own beside the run they repeat{left}"


def _collisions(cells: Counter[tuple[str, ...]], log: Log) -> str | None:
    """Tests with equal vars are one question, and their rows look like repeats."""
    most = log.repeats or min(cells.values(), default=0)
    questions = {question for (_, _, question, _), n in cells.items() if n > most}
    if not questions:
        return None
    return (
        f"{len(questions)} questions have more rows than {most} repeats: tests with equal vars are one question; "
        "--columns question=FIELD tells them apart"
    )
