"""Read Every Eval Ever's `ID_samples.jsonl`: a row for each sample and metric, beside `ID.json` with the totals.

The files are converted from logs of other programs, and some converters lose information. The converter of Inspect
writes the score reduced over epochs into the row of each epoch; such scores are left out.

The number of the epoch is a text in `metadata.epoch`; without it, rows of a sample with different texts are
generations, in the order of the file.

The record of `--columns` is a row: `metadata.subject`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
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
    get_field,
    parse_score,
)
from howsure.logs.file_formats import FileHead, read_json, read_json_lines
from howsure.safe_text import inflect_text
from howsure.store.manifest import ModelRecord

_ROW_KEYS = {"schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id"}
_TOTALS_KEYS = {"schema_version", "evaluation_id", "model_info", "evaluation_results"}
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
    def metric(self) -> str:
        """The name of the metric; empty if the row does not name it."""
        return self.evaluation_result_id or ""

    @property
    def sample(self) -> tuple[str, str, str]:
        """The key that the repeats and metrics of a sample share."""
        return self.evaluation_name, self.model_id, str(self.sample_id)

    @property
    def epoch(self) -> int | None:
        """The number of the repeat; None if the row does not state it."""
        epoch: Any = get_field(self.metadata, "epoch")
        try:
            return max(int(epoch), 1)
        except (TypeError, ValueError):
            return None

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The completions, at least one; the completion of a conversation is its last turn."""
        raw = get_field(self.output, "raw")
        texts = raw if isinstance(raw, list) else [raw]
        if raw is None and isinstance(self.messages, list) and self.messages:
            texts = [get_field(self.messages[-1], "content")]
        return tuple(text if isinstance(text, str) else None for text in texts) or (None,)


class _EpochScores:
    """The scores and texts of the epochs of one sample under one metric."""

    __slots__ = ("high", "low", "n", "n_texts", "text")

    def __init__(self) -> None:
        self.low, self.high, self.n = float("inf"), float("-inf"), 0
        self.text: int | None = None
        self.n_texts = 0

    def add(self, score: float, text: int) -> None:
        """Add the score and the hash of the text of one epoch."""
        self.low, self.high, self.n = min(self.low, score), max(self.high, score), self.n + 1
        self.n_texts += self.text != text
        self.text = text


class _Survey:
    """The result of a first pass over the file.

    Attributes
    ----------
    metrics
        Names of the metrics of each benchmark, in the order of the file.
    models
        The models, in the order of the file.
    run
        The id of the evaluation.
    n_same
        Number of samples with several epochs if all of these have one score in every epoch; 0 otherwise.
    is_reduced
        Whether these scores are means over the epochs.
    """

    def __init__(self, path: Path) -> None:
        self.metrics: dict[str, dict[str, None]] = {}
        self.models: dict[str, None] = {}
        self.run = ""
        epochs: dict[tuple[str | None, ...], _EpochScores] = {}
        for line in read_json_lines(path, _Line, lambda _: None):
            self.run = self.run or line.evaluation_id
            self.models[line.model_id] = None
            self.metrics.setdefault(line.evaluation_name, {})[line.metric] = None
            if line.epoch is None:
                continue
            try:
                score = parse_score(line.evaluation.score)
            except ValueError:
                continue
            if score is not None:
                epochs.setdefault((*line.sample, line.metric), _EpochScores()).add(score, hash(line.texts))
        repeated = [each for each in epochs.values() if each.n > 1]
        self.n_same = len(repeated) if all(each.low == each.high for each in repeated) else 0
        # If all epochs have the same fraction although their texts differ, it is a mean and not the score of any epoch.
        self.is_reduced = bool(self.n_same) and any(each.low not in (0, 1) and each.n_texts > 1 for each in repeated)

    @property
    def scorers(self) -> tuple[str, ...]:
        """The names of the metrics, if a benchmark has several."""
        return tuple(dict.fromkeys(name for names in self.metrics.values() if len(names) > 1 for name in names))


class EveryEvalEverReader(LogReader):
    """Reads samples of Every Eval Ever, one row for each text."""

    name = "Every Eval Ever"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the keys are those of a row, or of the totals."""
        return head.kind == "json" and (head.keys >= _ROW_KEYS or head.keys >= _TOTALS_KEYS)

    def members(self, path: Path) -> Sequence[Path]:
        """Return the file of samples; for a file of totals, the file of samples beside it if it exists."""
        if FileHead(path).keys >= _ROW_KEYS:
            return [path]
        beside = path.with_name(f"{path.name.removesuffix('.json')}_samples.jsonl")
        return [beside] if beside.is_file() else [path]

    def describe(self, path: Path) -> LogInfo:
        """Return models and benchmarks, with the settings of the totals beside the samples."""
        samples = self._find_samples(path)
        survey, totals = _Survey(samples), _read_totals(samples)
        arguments = as_mapping(get_field(totals, "evaluation_results.0.generation_config.generation_args"))
        settings = {name: arguments[name] for name in _SETTINGS if arguments.get(name) is not None}
        library = get_field(totals, "eval_library.name")
        return LogInfo(
            run=survey.run or samples.stem,
            models={name: ModelRecord(name=name, kind=self.name, settings=settings) for name in survey.models},
            benchmarks={name: {"library": library} if library else {} for name in survey.metrics},
            scorers=survey.scorers,
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield one row for each text of each row of the metric that is read."""
        samples = self._find_samples(path)
        survey = _Survey(samples)
        needs_scorer = survey.scorers or build.options.scorer is not None
        scorer = build.choose_scorer(survey.scorers) if needs_scorer else None
        if not survey.is_reduced:
            _expect_means(_read_totals(samples), scorer, build)
        identities: set[tuple[object, ...]] = set()
        n_lines = 0
        for line in read_json_lines(samples, _Line, build.note):
            n_lines += 1
            if len(survey.metrics[line.evaluation_name]) > 1 and line.metric != scorer:
                continue
            identity = (*line.sample, line.epoch, hash(line.texts))
            if identity in identities:
                build.count("[row repeats|rows repeat] a sample with the same text: its first score is read")
                continue
            identities.add(identity)
            yield from _read_line(line, build, is_reduced=survey.is_reduced)
        _note_counts(build, survey, n_lines, get_field(_read_totals(samples), "detailed_evaluation_results.total_rows"))

    def _find_samples(self, path: Path) -> Path:
        """Return the file of samples."""
        samples = self.members(path)
        if FileHead(samples[0]).keys >= _TOTALS_KEYS:
            what = "this file has totals without samples: the score of each question is not known"
            raise InputError(what, where=str(path), remedy="put its ..._samples.jsonl beside it")
        return samples[0]


def _expect_means(totals: object, scorer: str | None, build: RowBuilder) -> None:
    """Compare the scores of each benchmark with the one that the totals state, where they state one."""
    results = get_field(totals, "evaluation_results")
    results = results if isinstance(results, list) else []
    names = [get_field(result, "evaluation_name") for result in results]
    for name, result in zip(names, results, strict=True):
        metric = get_field(result, "evaluation_result_id")
        if isinstance(name, str) and (names.count(name) == 1 or (scorer is not None and metric == scorer)):
            build.expect_mean(f"{name}", get_field(result, "score_details.score"), benchmark=name)


def _read_line(line: _Line, build: RowBuilder, *, is_reduced: bool) -> Iterator[LogRow]:
    """Yield the text that was scored, and the other texts of the row without a score."""
    key = RowKey(line.evaluation_name, line.model_id, str(line.sample_id))
    if build.options.columns:
        key = build.map_columns(key, msgspec.to_builtins(line))
    score = _score_line(line, build, is_reduced=is_reduced)
    prompt = _prompt_fields(line) if build.texts else PromptFields()
    answer = None if score.get("status") == "error" else _answer(line)
    usage = _usage_fields(line)
    for text in line.texts:
        build.count(
            "[generation is|generations are] kept without a score of [its|their] own", score.get("status") == UNSCORED
        )
        yield build.row(key, completion=text, answer=answer, **score, **prompt, **usage)
        score, answer, usage = {"status": UNSCORED}, None, {}


def _score_line(line: _Line, build: RowBuilder, *, is_reduced: bool) -> ScoreFields:
    """Return the score of a row, or its error."""
    if line.error is not None:
        build.count(f"[error|errors] that the harness {COUNTED_AS_WRONG}", line.evaluation.score is not None)
        return {"status": "error", "error": f"harness: {str(line.error)[:300]}"}
    build.count(
        "[generation has|generations have] no score: [it is|they are] missing",
        line.evaluation.score is None and not is_reduced,
    )
    return {"status": UNSCORED} if is_reduced else build.score_fields(line.evaluation.score)


def _answer(line: _Line) -> str | None:
    """Return the answer that was extracted last."""
    attributions = line.answer_attribution if isinstance(line.answer_attribution, list) else []
    last = next((each for each in reversed(attributions) if get_field(each, "is_terminal")), None)
    answer = get_field(last, "extracted_value")
    return answer if isinstance(answer, str) else None


def _note_counts(build: RowBuilder, survey: _Survey, n_lines: int, n_stated: object) -> None:
    """Note rows that are lost, an unusual number of generations, and scores that were reduced over epochs."""
    if isinstance(n_stated, int) and n_stated != n_lines:
        build.note(f"there are {n_lines} rows, but the totals count {n_stated}: some are lost")
    sizes = Counter(build.n_generations.values())
    if len(sizes) > 1:
        usual, n = sizes.most_common(1)[0]
        of = inflect_text(f"{usual} [generation|generations]", usual)
        build.note(f"{sizes.total() - n} of {sizes.total()} samples do not have {of}")
    if survey.is_reduced:
        build.note(
            "each repeat carries the mean of its sample's repeats, as Inspect's converter writes it: these scores are "
            "left out; the log that was converted has the real ones"
        )
    elif survey.n_same > 2:
        build.note(
            f"all repeats of each of {survey.n_same} samples have the same score, as if a converter wrote a reduced "
            "one: compare the log that was converted"
        )


def _read_totals(samples: Path) -> Any:
    """Return the totals beside the samples; None if there are none, or another program wrote them."""
    beside = samples.with_name(samples.name.removesuffix(".jsonl").removesuffix("_samples") + ".json")
    if beside == samples or not beside.is_file() or not FileHead(beside).keys >= _TOTALS_KEYS:
        return None
    try:
        return read_json(beside, dict[str, Any])
    except InputError:
        return None


def _prompt_fields(line: _Line) -> PromptFields:
    """Return target, choices and messages."""
    references, choices = get_field(line.input, "reference"), get_field(line.input, "choices")
    messages: tuple[dict[str, str], ...] | None = None
    prompt = get_field(line.input, "formatted") or get_field(line.input, "raw")
    if isinstance(line.messages, list):
        turns = line.messages[:-1]
        messages = tuple({name: str(get_field(turn, name) or "") for name in ("role", "content")} for turn in turns)
    elif isinstance(prompt, str):
        messages = ({"role": "user", "content": prompt},)
    return {
        "target": " | ".join(map(str, references)) if isinstance(references, list) else None,
        "messages": messages,
        "choices": tuple(map(str, choices)) if isinstance(choices, list) else (),
    }


def _usage_fields(line: _Line) -> UsageFields:
    """Return tokens and latency of the request."""
    n_read, n_written = get_field(line.token_usage, "input_tokens"), get_field(line.token_usage, "output_tokens")
    latency = get_field(line.performance, "latency_ms")
    return {
        "prompt_tokens": n_read if isinstance(n_read, int) else None,
        "completion_tokens": n_written if isinstance(n_written, (int, float)) else None,
        "seconds": latency / 1000 if isinstance(latency, (int, float)) else None,
    }
