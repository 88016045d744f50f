"""Logs of lm-evaluation-harness: `samples_TASK_DATE.jsonl` with the results json beside it.

A line is one question under one filter, with all K completions and the score of what the filter made of the first. So
one filter is read, its score is generation 1, and the other K - 1 completions are rows without a score. A filter that
votes, and a metric that takes all K at once, score no single completion. Multiple choice has one generation, whose
answer is the letter of the likeliest choice, as the canonical answer of a question with choices is everywhere.

The file is read twice: a first light pass finds its filters, metrics and repeated lines. Fields that `columns` names
start at the line: `doc.subject`, `doc_id`, `prompt_hash`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
from howsure.readers.logs.json_files import read_json
from howsure.readers.logs.lm_eval.lines import (
    BYPASS,
    KEYS,
    Line,
    Question,
    Scan,
    decoded,
    filter_of,
    likeliest,
    lines,
    prompt,
    question,
    repeats,
)
from howsure.readers.logs.lm_eval.run import TOTALS, Run, run_of
from howsure.store.manifest import Model

__all__ = ["NAME", "describe", "members", "recognises", "rows"]

NAME = "lm-evaluation-harness"

#: What its regular expressions return when nothing matches.
_INVALID = "[invalid]"
_ALL_AT_ONCE = "scores are of all completions together"


def recognises(head: FileHead) -> bool:
    """Samples, or the results json that stands for those beside it."""
    return head.kind == "json" and (head.keys >= KEYS or head.keys >= TOTALS)


def members(path: Path) -> Sequence[Path]:
    """The file itself; of a results json, its samples files."""
    if not FileHead(path).keys >= TOTALS:
        return (path,)
    results = read_json(path, dict[str, Any])["results"]
    samples = []
    for file in sorted(path.parent.iterdir()):
        if file.is_file() and (head := FileHead(file)).kind == "json" and head.keys >= KEYS:
            totals = _run(file).totals
            if totals is not None and totals.results == results:
                samples.append(file)
    if not samples:
        raise InputError("these are totals without samples", where=str(path), remedy="run lm-eval with --log_samples")
    return samples


def describe(path: Path) -> LogInfo:
    """Who and what the log is about; the file is read through only where the results json does not say it."""
    run = _run(path)
    task_hash = run.task_hash or Scan(path).task_hash
    return LogInfo(
        run=run.id(task_hash),
        models={run.model: Model(name=run.model, kind=NAME, settings=run.settings, generations=max(run.repeats, 1))},
        benchmarks={run.task: run.source},
        scorers=run.scorers or tuple(_scorers(Scan(path), run)),
        created=run.created,
    )


def rows(path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
    """Each generation once, in the order of the log."""
    scan = Scan(path)
    run = run_of(path, lambda: scan.task_hash)
    for told in run.told:
        tell(told)
    scorers = _scorers(scan, run)
    if not scorers:
        raise InputError("it has no metric that is a number for each question", where=str(path))
    metric, filtered = scorers[choose_scorer(list(scorers), asked.scorer, where=str(path), tell=tell)]
    reading = _Reading(path, asked, run, metric, filtered)
    left = {about: n for about, n in scan.lines[filtered].items() if n > 1}
    for line in lines(path, tell):
        about = question(line)
        if about is None or filter_of(line) != filtered:
            continue
        if left.get(about, 1) > 1:
            left[about] -= 1
            reading.tally["lines come again for the same question: the last one of each is read"] += 1
            continue
        yield from reading.rows(line, about)
    reading.tell(tell)
    if missing := scan.n_questions - len(scan.lines[filtered]):
        tell(f"{missing} questions have no line of filter {filtered!r} and are missing")
    if reading.n_questions < run.n_questions:
        tell(f"{run.n_questions - reading.n_questions} of the {run.n_questions} questions of the run are not in it")


def _run(path: Path) -> Run:
    return run_of(path, lambda: Scan(path).task_hash)


def _scorers(scan: Scan, run: Run) -> dict[str, tuple[str, str]]:
    """`metric,filter` to the two, the harness's own first choice first; filters that vote last."""
    known = {name: place for place, name in enumerate(run.scorers)}
    pairs = {f"{metric},{filtered}": (metric, filtered) for filtered, metric in scan.metrics}

    def place(name: str) -> tuple[bool, int, int]:
        metric, filtered = pairs[name]
        return run.votes(filtered), known.get(name, len(known)), -scan.metrics[filtered, metric]

    return {name: pairs[name] for name in sorted(pairs, key=place)}


class _Reading:
    """Lines of one filter to rows, and what is to be told of them in the end."""

    def __init__(self, path: Path, asked: ReadOptions, run: Run, metric: str, filtered: str) -> None:
        self._path, self._asked, self._run = path, asked, run
        self._metric, self._votes = metric, run.votes(filtered)
        self.tally: Counter[str] = Counter()
        self.n_questions = 0
        self._copies = Copies()
        self._kept: Counter[int] = Counter()
        self._taken: set[tuple[str, ...]] = set()

    def rows(self, line: Line, about: Question) -> Iterator[LogRow]:
        """The generations of one question."""
        where = self._where(line, about)
        self.n_questions += 1
        outcome = self._outcome(line)
        replies = repeats(line)
        parts: dict[str, Any] = prompt(line)._asdict() if self._asked.texts else {}
        if not replies:
            self.tally["questions have completions that cannot be read: only their score is"] += 1
            yield LogRow(**where, **parts, generation=1, **outcome)
        elif isinstance(replies[0][0], str):
            yield from self._completions(line, where | parts, outcome, replies[0])
        else:
            if len(replies[0]) > 1:
                self.tally["questions repeat log-likelihoods, which are copies: one generation of each is read"] += 1
            yield LogRow(**where, **parts, generation=1, **outcome, answer=likeliest(line, replies, self._metric))

    def _completions(
        self, line: Line, where: dict[str, Any], outcome: dict[str, Any], texts: Sequence[Any]
    ) -> Iterator[LogRow]:
        self._kept[len(texts)] += 1
        key = (where["question"], where["variant"])
        for text in texts:
            self._copies.add(key, text if isinstance(text, str) else None)
            if text == "":
                self.tally["completions are empty; a failed request looks the same in this log"] += 1
        made = decoded(line.get("filtered_resps"))
        answer = made[0] if isinstance(made, list) and made else None
        if len(texts) > 1 and (self._votes or isinstance(answer, list)):
            if self._asked.scorer is not None:
                self.tally[f"{_ALL_AT_ONCE}: it is read as one generation of the question"] += 1
                yield LogRow(**where, generation=1, **outcome)
                return
            self.tally[f"{_ALL_AT_ONCE} and no generation's: howsure rescore scores each"] += 1
            outcome, answer = {"status": UNSCORED}, None
        elif answer == _INVALID and outcome.get("score") == 0:
            outcome, answer = outcome | {"status": "unparsed"}, None
        outcome["answer"] = answer if isinstance(answer, str) else None
        for generation, text in enumerate(texts, 1):
            completion = text if self._asked.texts and isinstance(text, str) else None
            yield LogRow(**where, generation=generation, completion=completion, **outcome)
            outcome = {"status": UNSCORED}

    def _outcome(self, line: Line) -> dict[str, Any]:
        """Score, status and error of what the filter made of the first completion."""
        if self._metric == BYPASS:
            self.tally["questions were only predicted, not scored: howsure rescore scores them"] += 1
            return {"status": UNSCORED}
        value = decoded(line.get(self._metric))
        try:
            score, why = parse_score(value), "there is none"
        except (ValueError, OverflowError) as error:
            score, why = None, str(error)[:120]
        if score is not None:
            return {"score": score}
        self.tally[f"questions have no {self._metric!r} that is a number: they are errors"] += 1
        return {"status": "error", "error": f"scoring: {self._metric}: {why}"}

    def _where(self, line: Line, about: Question) -> dict[str, Any]:
        """The key of the line's rows; another document under a key that is taken becomes NAME-2."""
        if not decoded(about.hash):
            self.tally["questions have no doc_hash: they go by doc_id, their number in what was run"] += 1
        found = {"benchmark": self._run.task, "model": self._run.model, "question": str(about), "variant": "default"}
        for name, field in self._asked.columns.items():
            root = field.partition(".")[0]
            value = get_field({root: decoded(line.get(root))}, field)
            if value is None and not self.n_questions:
                doc = decoded(line.get("doc"))
                fields = [*line, *(f"doc.{name}" for name in (doc if isinstance(doc, Mapping) else ()))]
                raise UnknownNameError("field", field, fields, where=str(self._path))
            if value is None:
                self.tally[f"questions have no {field}: their {name} stays what it is without it"] += 1
            else:
                found[name] = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        name, n = found["question"], 1
        while (key := (found["benchmark"], found["model"], found["question"], found["variant"])) in self._taken:
            n += 1
            found["question"] = f"{name}-{n}"
        self._taken.add(key)
        if n > 1:
            self.tally["questions come again as other documents: they are told apart as NAME-2, NAME-3, ..."] += 1
        return found

    def tell(self, tell: Note) -> None:
        """What the lines that were read do not say."""
        for what, n in self.tally.items():
            tell(f"{n} {what}")
        most = max(self._run.repeats, *self._kept) if self._kept else 0
        if most > 1 and not any(what.startswith(_ALL_AT_ONCE) for what in self.tally):
            tell(
                f"{most} completions of each question are kept and only the first was scored: "
                "howsure rescore scores the others"
            )
        if fewer := sum(n for size, n in self._kept.items() if size < most):
            tell(f"{fewer} of {self._kept.total()} questions have fewer than {most} completions")
        if most > 1 and self._run.is_greedy:
            tell(f"decoding was greedy: the {most} completions of a question are copies, no generations of their own")
        if copies := self._copies.told():
            tell(copies)
