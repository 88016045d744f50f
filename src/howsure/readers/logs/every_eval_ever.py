"""Every Eval Ever: `ID_samples.jsonl`, a row per sample and metric, beside `ID.json` with totals and settings.

The files are converted from other programs' logs, and some converters lose what matters here: Inspect's writes the
score reduced over epochs in each epoch's row, and such scores are left out. The number of the epoch is a text in
`metadata.epoch`; without it, rows of a sample with other texts are generations in the order of the file.

Dots of `--columns` start at a row, as in `metadata.subject`.
"""

from __future__ import annotations

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
from howsure.readers.logs.json_files import read_json, read_json_lines
from howsure.store.manifest import Model

__all__ = ["NAME", "describe", "members", "recognises", "rows"]

NAME = "Every Eval Ever"

_ROW = {"schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id"}
_TOTALS = {"schema_version", "evaluation_id", "model_info", "evaluation_results"}
_SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "seed", "reasoning", "prompt_template")


class _Evaluation(msgspec.Struct):
    score: Any = None


class _Line(msgspec.Struct):
    model_id: str
    evaluation_name: str
    sample_id: str | int
    evaluation_id: str = ""
    evaluation_result_id: str | None = None
    evaluation: _Evaluation = msgspec.field(default_factory=_Evaluation)
    input: Any = None
    output: Any = None
    messages: Any = None
    answer_attribution: Any = None
    token_usage: Any = None
    performance: Any = None
    error: Any = None
    metadata: Any = None

    @property
    def sample(self) -> tuple[str, str, str]:
        """What its repeats and metrics share."""
        return self.evaluation_name, self.model_id, str(self.sample_id)

    @property
    def epoch(self) -> int | None:
        """The number of the repeat, where it is told."""
        try:
            return max(int(get_field(self.metadata, "epoch")), 1)
        except (TypeError, ValueError):
            return None


class _Repeats:
    """What a first pass sees of one sample under one metric."""

    __slots__ = ("high", "low", "n", "text", "texts")

    def __init__(self) -> None:
        self.low, self.high, self.n = float("inf"), float("-inf"), 0
        self.text: int | None = None
        self.texts = 0

    def add(self, score: float, text: int) -> None:
        """One row."""
        self.low, self.high, self.n = min(self.low, score), max(self.high, score), self.n + 1
        self.texts += self.text != text
        self.text = text


class _Seen:
    """What a first pass over the file sees."""

    def __init__(self, path: Path) -> None:
        self.metrics: dict[str, dict[str, None]] = {}
        self.models: dict[str, None] = {}
        self.run = ""
        repeats: dict[tuple[Any, ...], _Repeats] = {}
        for line in read_json_lines(path, _Line, lambda _: None):
            self.run = self.run or line.evaluation_id
            self.models[line.model_id] = None
            self.metrics.setdefault(line.evaluation_name, {})[line.evaluation_result_id or ""] = None
            if line.epoch is None:
                continue
            try:
                score = parse_score(line.evaluation.score)
            except ValueError:
                continue
            if score is not None:
                key = (*line.sample, line.evaluation_result_id)
                repeats.setdefault(key, _Repeats()).add(score, hash(_texts(line)))
        several = [each for each in repeats.values() if each.n > 1]
        self.same = len(several) if all(each.low == each.high for each in several) else 0
        # A share in every epoch of a sample is no score of any of them.
        self.reduced = bool(self.same) and any(each.low not in (0, 1) and each.texts > 1 for each in several)

    @property
    def scorers(self) -> tuple[str, ...]:
        """Names of metrics, where a benchmark has several."""
        return tuple(dict.fromkeys(name for names in self.metrics.values() if len(names) > 1 for name in names))


def recognises(head: FileHead) -> bool:
    """By the keys of the first row, or of the totals."""
    return head.kind == "json" and (head.keys >= _ROW or head.keys >= _TOTALS)


def members(path: Path) -> Sequence[Path]:
    """The samples; of a file of totals those beside it, if they are there."""
    if FileHead(path).keys >= _ROW:
        return [path]
    beside = path.with_name(f"{path.name.removesuffix('.json')}_samples.jsonl")
    return [beside] if beside.is_file() else []


def describe(path: Path) -> LogInfo:
    """Who and what, with the settings of the totals beside the samples."""
    samples = _samples(path)
    seen = _Seen(samples)
    totals = _totals(samples)
    args = get_field(totals, "evaluation_results.0.generation_config.generation_args")
    settings = {name: args[name] for name in _SETTINGS if args.get(name) is not None} if isinstance(args, dict) else {}
    library = get_field(totals, "eval_library.name")
    return LogInfo(
        run=seen.run or samples.stem,
        models={name: Model(name=name, kind=NAME, settings=settings) for name in seen.models},
        benchmarks={name: {"library": library} if library else {} for name in seen.metrics},
        scorers=seen.scorers,
    )


def rows(path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
    """A row for each text.

    Raises
    ------
    InputError
        When the file cannot be read, or holds totals without samples.
    """
    samples = _samples(path)
    seen = _Seen(samples)
    needed = seen.scorers or asked.scorer is not None
    scorer = choose_scorer(seen.scorers, asked.scorer, where=str(samples), tell=tell) if needed else None
    reading = _Reading(seen, scorer, asked, str(samples))
    for line in read_json_lines(samples, _Line, tell):
        if reading.is_wanted(line):
            yield from reading.rows(line)
    for text in reading.told(get_field(_totals(samples), "detailed_evaluation_results.total_rows")):
        tell(text)


class _Reading:
    """Lines to rows, and what is to be told in the end."""

    def __init__(self, seen: _Seen, scorer: str | None, asked: ReadOptions, where: str) -> None:
        self._seen, self._scorer, self._texts = seen, scorer, asked.texts
        self._mapped, self._copies = MappedColumns(asked.columns, where=where), Copies()
        self._generations: Counter[tuple[str, ...]] = Counter()
        self._known: set[tuple[Any, ...]] = set()
        self._count: Counter[str] = Counter()

    def is_wanted(self, line: _Line) -> bool:
        """Whether it is of the metric that is read, and the first of its text."""
        self._count["lines"] += 1
        if len(self._seen.metrics[line.evaluation_name]) > 1 and (line.evaluation_result_id or "") != self._scorer:
            return False
        again = (*line.sample, line.epoch, hash(_texts(line)))
        self._count["again"] += again in self._known
        wanted = again not in self._known
        self._known.add(again)
        return wanted

    def rows(self, line: _Line) -> Iterator[LogRow]:
        """The text that was scored, and those that came with it."""
        keys: dict[str, Any] = {
            "benchmark": line.evaluation_name,
            "model": line.model_id,
            "question": str(line.sample_id),
            "variant": "default",
            "cluster": None,
        }
        if self._mapped:
            record = msgspec.to_builtins(line)
            keys = {name: self._mapped.of(record, name) or value for name, value in keys.items()}
        key = tuple(str(keys[name]) for name in ("benchmark", "model", "question", "variant"))
        made = _score(line, reduced=self._seen.reduced)
        self._count["error"] += line.error is not None and line.evaluation.score is not None
        expected = get_field(line.input, "reference")
        for at, text in enumerate(_texts(line)):
            self._generations[key] += 1
            self._copies.add(key, text)
            self._count[UNSCORED] += at > 0 or made.get("status") == UNSCORED
            yield LogRow(
                **keys,
                **(made if at == 0 else {"status": UNSCORED}),
                generation=self._generations[key],
                completion=text if self._texts else None,
                target=" | ".join(map(str, expected)) if self._texts and isinstance(expected, list) else None,
                messages=_messages(line) if self._texts else None,
                choices=_choices(line) if self._texts else (),
                **_tokens(line, at),
            )

    def told(self, rows: Any) -> Iterator[str]:
        """What the file cannot say, and what was left out, where the totals count so many rows."""
        if isinstance(rows, int) and rows != self._count["lines"]:
            yield f"{self._count['lines']} rows, where the totals count {rows}: some are lost"
        times = Counter(self._generations.values())
        if len(times) > 1:
            (usual, n), _ = times.most_common(2)
            yield f"{times.total() - n} of {times.total()} samples have other than {usual} generations"
        if self._seen.reduced:
            yield _REDUCED
        elif self._seen.same > 2:
            yield _SAME.format(self._seen.same)
        for name, told in _TOLD.items():
            if self._count[name]:
                yield told.format(self._count[name])
        yield from filter(None, (self._copies.told(),))


_REDUCED = (
    "each repeat carries the mean of its sample's repeats, as Inspect's converter writes it: these scores are left "
    "out; the log that was converted has the real ones"
)
_SAME = (
    "all repeats of each of {} samples have the same score, as where a converter wrote a reduced one: compare the log "
    "that was converted"
)
#: What was counted, and how it is told.
_TOLD = {
    "again": "{} rows repeat a sample with the same text: its first score is read",
    "error": "{} errors that the harness counted as a score are missing here; --missing as-zero counts them as 0",
    UNSCORED: "{} generations are kept without a score of their own",
}


def _samples(path: Path) -> Path:
    found = members(path)
    if not found:
        what = "totals without samples: nothing says what each question scored"
        raise InputError(what, where=str(path), remedy="put its ..._samples.jsonl beside it")
    return found[0]


def _totals(samples: Path) -> Any:
    """The file of totals beside the samples; None where it is not there, or is of another evaluation."""
    beside = samples.with_name(samples.name.removesuffix(".jsonl").removesuffix("_samples") + ".json")
    if beside == samples or not beside.is_file() or not FileHead(beside).keys >= _TOTALS:
        return None
    try:
        return read_json(beside, dict[str, Any])
    except InputError:
        return None


def _score(line: _Line, *, reduced: bool) -> dict[str, Any]:
    if line.error is not None:
        return {"status": "error", "error": f"harness: {str(line.error)[:300]}"}
    attributed = line.answer_attribution if isinstance(line.answer_attribution, list) else []
    said = [each for each in attributed if isinstance(each, dict)]
    last = next((each for each in reversed(said) if each.get("is_terminal")), {}).get("extracted_value")
    answer = last if isinstance(last, str) else None
    try:
        score = None if reduced else parse_score(line.evaluation.score)
    except ValueError as error:
        return {"status": "error", "error": f"scoring: {str(error)[:200]}"}
    return {"answer": answer, **({"score": score} if score is not None else {"status": UNSCORED})}


def _texts(line: _Line) -> tuple[str | None, ...]:
    """The completions: of a conversation the last turn."""
    raw = get_field(line.output, "raw")
    found = raw if isinstance(raw, list) else [raw]
    if raw is None and isinstance(line.messages, list) and line.messages:
        found = [get_field(line.messages[-1], "content")]
    return tuple(text if isinstance(text, str) else None for text in found) or (None,)


def _messages(line: _Line) -> tuple[dict[str, str], ...] | None:
    if isinstance(line.messages, list):
        return tuple(
            {name: str(get_field(turn, name) or "") for name in ("role", "content")} for turn in line.messages[:-1]
        )
    asked = get_field(line.input, "formatted") or get_field(line.input, "raw")
    return ({"role": "user", "content": asked},) if isinstance(asked, str) else None


def _choices(line: _Line) -> tuple[str, ...]:
    found = get_field(line.input, "choices")
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _tokens(line: _Line, at: int) -> dict[str, Any]:
    prompt, completion = get_field(line.token_usage, "input_tokens"), get_field(line.token_usage, "output_tokens")
    latency = get_field(line.performance, "latency_ms")
    first = at == 0
    return {
        "prompt_tokens": prompt if first and isinstance(prompt, int) else None,
        "completion_tokens": completion if first and isinstance(completion, (int, float)) else None,
        "seconds": latency / 1000 if first and isinstance(latency, (int, float)) else None,
    }
