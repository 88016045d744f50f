"""Read logs of lighteval: `details_TASK|SHOTS_DATE.parquet`, with the results json of the run.

A row of the file is one question with its K completions and the metrics of all of them together: avg@n, pass@k. So
with K = 1 a metric is the score of the generation, and with more it is the score of none. Three layouts are read:
columns doc, model_response and metric; the same between underscores; and the flat one of 2023-24 (full_prompt,
predictions, gold, metrics). Nested parts are structs, or text of JSON or of Python literals.

The record of `--columns` is a row: `doc.id`, `doc.specific.subject`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from howsure.errors import InputError
from howsure.readers.logs.base import (
    UNSCORED,
    LogInfo,
    LogReader,
    LogRow,
    PromptFields,
    ReadOptions,
    RowBuilder,
    RowKey,
    as_mapping,
    parse_score,
)
from howsure.readers.logs.file_head import FileHead
from howsure.readers.logs.lighteval.records import (
    Record,
    list_completions,
    most_likely_choice,
    parse_prompt,
    read_records,
)
from howsure.readers.logs.lighteval.run_metadata import TOTALS_KEYS, LightevalRun, find_run
from howsure.store.manifest import ModelRecord

_NESTED = frozenset({"doc", "model_response", "metric"})
_FLAT = frozenset({"full_prompt", "predictions", "metrics"})


class LightevalReader(LogReader):
    """Reads details of lighteval, one row for each completion."""

    name = "lighteval"

    def recognises(self, head: FileHead) -> bool:
        """Return whether it has the columns of details, or is the results json that stands for those of its run."""
        if head.kind == "json":
            return head.keys >= TOTALS_KEYS
        names = {name.strip("_") for name in head.keys}
        return head.kind == "parquet" and (names >= _NESTED or names >= _FLAT)

    def members(self, path: Path) -> Sequence[Path]:
        """Return the file itself; for a results json, the details of its run."""
        if FileHead(path).kind != "json":
            return (path,)
        path = path.resolve()
        files = set(path.parent.glob("*.parquet")) | set(path.parent.glob("*/*.parquet"))
        for above in path.parents:
            if above.name == "results":
                files |= set((above.parent / "details" / path.parent.relative_to(above)).glob("*/*.parquet"))
                break
        details = [
            file for file in sorted(files) if self.recognises(FileHead(file)) and _find_run(file).results == path
        ]
        if not details:
            remedy = "run it with --save-details"
            raise InputError("these are totals without details", where=str(path), remedy=remedy)
        return details

    def describe(self, path: Path) -> LogInfo:
        """Return what the results json states, and the metrics and the number of completions of the first question."""
        run, first = _find_run(path), _read_first(path)
        n_completions = len(list_completions(first)) or 1
        return LogInfo(
            run=run.id,
            models={
                run.model: ModelRecord(name=run.model, kind=self.name, settings=run.settings, generations=n_completions)
            },
            benchmarks={run.benchmark: run.source},
            scorers=tuple(_list_scorers(first)),
            created=run.created,
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield the completions of each question."""
        run = _find_run(path)
        for line in run.notes:
            build.note(line)
        scorers = _list_scorers(_read_first(path))
        if not scorers:
            raise InputError("it has no metric that is a number for each question", where=str(path))
        questions = _QuestionReader(build, run, build.choose_scorer(scorers))
        for record in read_records(path, build.options, build.note):
            yield from questions.read(record)
        questions.note_counts()


def _find_run(path: Path) -> LightevalRun:
    """Return the run of a file of details."""
    task = as_mapping(_read_first(path).get("doc")).get("task_name")
    return find_run(path, task if isinstance(task, str) else "")


def _read_first(path: Path) -> Record:
    """Return the first question."""
    first = next(read_records(path, ReadOptions(), lambda _: None), None)
    if first is None:
        raise InputError("there is no question in it", where=str(path), remedy="is the file complete?")
    return first


def _list_scorers(record: Record) -> list[str]:
    """Return the metrics that are a number, or nothing, for the question."""
    scorers = []
    for name, value in as_mapping(record.get("metric")).items():
        try:
            parse_score(value)
        except ValueError:
            continue
        scorers.append(str(name))
    return scorers


class _QuestionReader:
    """Turns questions into rows."""

    def __init__(self, build: RowBuilder, run: LightevalRun, metric: str) -> None:
        self._build, self._run, self._metric = build, run, metric
        n = re.search(r"\bn=(\d+)", metric)
        #: The metric avg@n:n=1, beside a metric that needs more completions, scores only the first completion.
        self._is_of_first = n is not None and int(n[1]) == 1
        #: Number of questions by their number of completions.
        self._sizes: Counter[int] = Counter()
        self._most = 0

    def read(self, record: Record) -> Iterator[LogRow]:
        """Yield the generations of one question."""
        build = self._build
        key = build.rename_duplicate(build.map_columns(self._key(record), record))
        score = build.metric_fields(self._metric, as_mapping(record.get("metric")).get(self._metric))
        texts = list_completions(record)
        n_wanted = as_mapping(record.get("doc")).get("num_samples")
        self._sizes[len(texts)] += 1
        self._most = max(self._most, len(texts), n_wanted if isinstance(n_wanted, int) and texts else 0)
        prompt = parse_prompt(record) if build.texts else PromptFields()
        if len(texts) > 1 and not self._is_of_first:
            if build.options.scorer is not None:
                build.count(f"scores ({self._metric}) are of all completions: each is read as one generation")
                for text in texts:
                    build.identical.add(key[:4], text if isinstance(text, str) else None)
                yield build.row(key, generation=1, **score, **prompt)
                return
            score = {"status": UNSCORED}
        if not texts:
            answer = most_likely_choice(record, score.get("score"))
            yield build.row(key, generation=1, answer=answer, **score, **prompt)
        for generation, text in enumerate(texts, 1):
            completion = text if isinstance(text, str) else None
            if completion is None:
                score = {"status": "error", "error": "empty: no completion was kept"}
                build.count("completions are missing, which the harness scored all the same: they are errors")
            elif not completion:
                build.count("completions are empty; a failed request looks the same in this log")
            yield build.row(key, completion=completion, generation=generation, **score, **prompt)
            score = {"status": UNSCORED}

    def _key(self, record: Record) -> RowKey:
        """Return the key of the rows of a question."""
        doc = as_mapping(record.get("doc"))
        name = doc.get("id")
        if name is None or name == "":
            name = hashlib.sha256(repr(doc.get("query")).encode(errors="replace")).hexdigest()[:16]
        return RowKey(self._run.benchmark, self._run.model, str(name))

    def note_counts(self) -> None:
        """Note what the questions do not contain."""
        note, n_questions = self._build.note, self._sizes.total()
        if self._most > 1 and self._is_of_first:
            note(f"only the first of {self._most} completions was scored: howsure rescore scores the others")
        elif self._most > 1 and self._build.options.scorer is None:
            note(f"only {self._metric} of {self._most} completions is kept: howsure rescore scores each")
        if n_fewer := sum(n for size, n in self._sizes.items() if size < self._most):
            note(f"{n_fewer} of {n_questions} questions have fewer than {self._most} completions")
        if self._most > 1 and self._run.is_greedy:
            note(f"decoding was greedy: the {self._most} completions of a question are copies")
        if (n_missing := self._run.n_questions - n_questions) > 0:
            note(f"{n_missing} of the {self._run.n_questions} questions of the run are not in it")
