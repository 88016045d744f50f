"""Logs of lighteval: `details_TASK|SHOTS_DATE.parquet`, with the results json of the run.

A row is one question with its K completions and the metrics of all of them together: avg@n, pass@k. So with K = 1 a
metric is the generation's score, and with more it is nobody's. Three layouts are read: columns doc, model_response and
metric; the same between underscores; and the flat one of 2023-24 (full_prompt, predictions, gold, metrics). Nested
parts are structs, or text of JSON or of Python's literals. Fields that `columns` names start at the row: `doc.id`,
`doc.specific.subject`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError, UnknownNameError
from howsure.readers.logs.base import (
    UNSCORED,
    LogInfo,
    LogRow,
    Note,
    ReadOptions,
    choose_scorer,
    get_field,
    parse_score,
)
from howsure.readers.logs.copies import Copies
from howsure.readers.logs.file_head import FileHead
from howsure.readers.logs.lighteval.records import Record, completions, likeliest, part, prompt, records
from howsure.readers.logs.lighteval.run import TOTALS, Run, run_of
from howsure.store.manifest import Model

__all__ = ["NAME", "describe", "members", "recognises", "rows"]

NAME = "lighteval"

_NESTED, _FLAT = frozenset({"doc", "model_response", "metric"}), frozenset({"full_prompt", "predictions", "metrics"})


def recognises(head: FileHead) -> bool:
    """Details by their columns, or the results json that stands for those of its run."""
    if head.kind == "json":
        return head.keys >= TOTALS
    names = {name.strip("_") for name in head.keys}
    return head.kind == "parquet" and (names >= _NESTED or names >= _FLAT)


def members(path: Path) -> Sequence[Path]:
    """The file itself; of a results json, the details of its run."""
    if FileHead(path).kind != "json":
        return (path,)
    path = path.resolve()
    found = set(path.parent.glob("*.parquet")) | set(path.parent.glob("*/*.parquet"))
    for above in path.parents:
        if above.name == "results":
            found |= set((above.parent / "details" / path.parent.relative_to(above)).glob("*/*.parquet"))
            break
    details = [file for file in sorted(found) if recognises(FileHead(file)) and _run(file).results == path]
    if not details:
        raise InputError("these are totals without details", where=str(path), remedy="run it with --save-details")
    return details


def describe(path: Path) -> LogInfo:
    """Who and what the log is about."""
    run, first = _run(path), _first(path)
    return LogInfo(
        run=run.id,
        models={
            run.model: Model(name=run.model, kind=NAME, settings=run.settings, generations=len(completions(first)) or 1)
        },
        benchmarks={run.benchmark: run.source},
        scorers=tuple(_scorers(first)),
        created=run.created,
    )


def rows(path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
    """Each generation once, in the order of the log."""
    run, first = _run(path), _first(path)
    for told in run.told:
        tell(told)
    scorers = _scorers(first)
    if not scorers:
        raise InputError("it has no metric that is a number for each question", where=str(path))
    metric = choose_scorer(scorers, asked.scorer, where=str(path), tell=tell)
    reading = _Reading(path, asked, run, metric)
    for record in records(path, asked, tell):
        yield from reading.rows(record)
    reading.tell(tell)


def _run(path: Path) -> Run:
    task = part(_first(path), "doc").get("task_name")
    return run_of(path, task if isinstance(task, str) else "")


def _first(path: Path) -> Record:
    first = next(records(path, ReadOptions(), lambda _: None), None)
    if first is None:
        raise InputError("there is no question in it", where=str(path), remedy="is the file whole?")
    return first


def _scorers(record: Record) -> list[str]:
    """Metrics that are a number, or nothing, of the first question."""
    found = []
    for name, value in part(record, "metric").items():
        try:
            parse_score(value)
        except (ValueError, OverflowError):
            continue
        found.append(str(name))
    return found


class _Reading:
    """Questions to rows, and what is to be told of them in the end."""

    def __init__(self, path: Path, asked: ReadOptions, run: Run, metric: str) -> None:
        self._path, self._asked, self._run, self._metric = path, asked, run, metric
        n = re.search(r"\bn=(\d+)", metric)
        #: avg@n:n=1 beside a metric that needs more completions is of the first one only.
        self._is_of_first = n is not None and int(n[1]) == 1
        self._tally: Counter[str] = Counter()
        self._copies = Copies()
        self._kept: Counter[int] = Counter()
        self._most = 0
        self._taken: set[tuple[str, ...]] = set()

    def rows(self, record: Record) -> Iterator[LogRow]:
        """The generations of one question."""
        where = self._where(record)
        outcome = self._outcome(record)
        texts = completions(record)
        doc = part(record, "doc")
        self._kept[len(texts)] += 1
        wanted = doc.get("num_samples")
        self._most = max(self._most, len(texts), wanted if isinstance(wanted, int) and texts else 0)
        parts = prompt(record) if self._asked.texts else {}
        for text in texts:
            self._copies.add((where["question"], where["variant"]), text if isinstance(text, str) else None)
        if len(texts) > 1 and not self._is_of_first:
            if self._asked.scorer is not None:
                self._tally[f"scores ({self._metric}) are of all completions: each is read as one generation"] += 1
                yield LogRow(**where, **parts, generation=1, **outcome)
                return
            outcome = {"status": UNSCORED}
        if not texts:
            yield LogRow(**where, **parts, generation=1, **outcome, answer=likeliest(record, outcome.get("score")))
        for generation, text in enumerate(texts, 1):
            found = outcome
            if not isinstance(text, str):
                found = {"status": "error", "error": "empty: no completion was kept"}
                self._tally["completions are missing, which the harness scored all the same: they are errors"] += 1
            elif not text:
                self._tally["completions are empty; a failed request looks the same in this log"] += 1
            completion = text if self._asked.texts and isinstance(text, str) else None
            yield LogRow(**where, **parts, generation=generation, completion=completion, **found)
            outcome = {"status": UNSCORED}

    def _outcome(self, record: Record) -> dict[str, Any]:
        try:
            score, why = parse_score(part(record, "metric").get(self._metric)), "there is none"
        except (ValueError, OverflowError) as error:
            score, why = None, str(error)[:120]
        if score is not None:
            return {"score": score}
        self._tally[f"questions have no {self._metric!r} that is a number: they are errors"] += 1
        return {"status": "error", "error": f"scoring: {self._metric}: {why}"}

    def _where(self, record: Record) -> dict[str, Any]:
        """The key of the question's rows; another question under a key that is taken becomes NAME-2."""
        doc = part(record, "doc")
        name = doc.get("id")
        if name is None or name == "":
            name = hashlib.sha256(repr(doc.get("query")).encode(errors="replace")).hexdigest()[:16]
        found = {"benchmark": self._run.benchmark, "model": self._run.model, "question": str(name)}
        found["variant"] = "default"
        for ours, field in self._asked.columns.items():
            value = get_field(record, field)
            if value is None and not self._taken:
                parts = [*record, *(f"doc.{name}" for name in doc)]
                raise UnknownNameError("field", field, parts, where=str(self._path))
            if value is None:
                self._tally[f"questions have no {field}: their {ours} stays what it is without it"] += 1
            else:
                found[ours] = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        question, n = found["question"], 1
        while (key := (found["benchmark"], found["model"], found["question"], found["variant"])) in self._taken:
            n += 1
            found["question"] = f"{question}-{n}"
        self._taken.add(key)
        if n > 1:
            self._tally["questions come again under the same name: they are told apart as NAME-2, NAME-3, ..."] += 1
        return found

    def tell(self, tell: Note) -> None:
        """What the questions do not say."""
        for what, n in self._tally.items():
            tell(f"{n} {what}")
        if self._most > 1 and self._is_of_first:
            tell(f"only the first of {self._most} completions was scored: howsure rescore scores the others")
        elif self._most > 1 and self._asked.scorer is None:
            tell(f"only {self._metric} of {self._most} completions is kept: howsure rescore scores each")
        if fewer := sum(n for size, n in self._kept.items() if size < self._most):
            tell(f"{fewer} of {self._kept.total()} questions have fewer than {self._most} completions")
        if self._most > 1 and self._run.is_greedy:
            tell(f"decoding was greedy: the {self._most} completions of a question are copies")
        if copies := self._copies.told():
            tell(copies)
        if (missing := self._run.n_questions - self._kept.total()) > 0:
            tell(f"{missing} of the {self._run.n_questions} questions of the run are not in it")
