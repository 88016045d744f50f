"""Read logs of lm-evaluation-harness: `samples_TASK_DATE.jsonl` with the results json beside it, or samples inside it.

A line is one question under one filter, with all K completions and the score of what the filter made of the first. So
one filter is read; its score is that of generation 1, and the other K - 1 completions are rows without a score. A
filter that takes a majority vote, and a metric of all K completions together, score no single completion. A
multiple-choice question has one generation, whose answer is the letter of the most likely choice.

A results json with samples inside, as `simple_evaluate(log_samples=True)` returns, has the lines of several tasks, each
of which is a benchmark. Lines are read twice: a first fast pass finds filters, metrics and repeated lines. The record
of `--columns` is a line: `doc.subject`, `doc_id`, `prompt_hash`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    N_DIGESTED,
    LogInfo,
    LogReader,
    LogRow,
    QuestionDigest,
    ReadOptions,
    RowBuilder,
    RowFields,
    RowKey,
    digest_text,
)
from howsure.logs.completions import CompletionRows
from howsure.logs.file_formats import (
    DECODE_ERRORS,
    AddNote,
    FileHead,
    decode_json,
    hash_file,
    ignore_note,
    read_json,
    read_records,
)
from howsure.logs.lm_eval.run_metadata import TOTALS_KEYS, LmEvalRun, Totals, find_run
from howsure.logs.values import encode_text, format_choice, hash_text, list_messages, parse_score
from howsure.store.manifest import ModelRecord
from howsure.store.schema import UNSCORED

#: Keys that a samples line has for every task.
SAMPLE_KEYS = frozenset({"doc", "resps", "filtered_resps"})
#: The metric of runs that only predicted.
BYPASS = "bypass"
_FIXED_KEYS = SAMPLE_KEYS | {
    *("doc_id", "target", "arguments", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash"),
}

Line = dict[str, msgspec.Raw]


class DocumentId(NamedTuple):
    """A document of the task, by undecoded JSON: lines of one document under several filters agree in both."""

    hash: bytes
    id: bytes

    def __str__(self) -> str:
        """Return the hash, which does not shift with the documents that were left out; else the number."""
        text = decode_json(self.hash)
        return text if isinstance(text, str) and text else bytes(self.id).decode(errors="replace").strip('"')


def read_lines(lines: Iterable[Line], note: AddNote) -> Iterator[tuple[DocumentId, str, Line]]:
    """Yield document, filter and keys of each line; one without question or filter is left out."""
    for line in lines:
        document, filter_name = _find_document(line), _find_filter(line)
        if document is None or not filter_name:
            note("log-left-out", 1, what="question or filter")
        else:
            yield document, filter_name, line


def _find_document(line: Line) -> DocumentId | None:
    """Return the document that a line is about; None where the line does not state it."""
    document = DocumentId(bytes(line.get("doc_hash", b"")), bytes(line.get("doc_id", b"")))
    return document if any(document) else None


def _find_filter(line: Line) -> str:
    """Return the name of the filter; older versions had none."""
    name = decode_json(line["filter"]) if "filter" in line else "none"
    return name if isinstance(name, str) else ""


class SampleSurvey:
    """The result of a first fast pass over the file, which decodes only filter, question and metrics of each line.

    Attributes
    ----------
    metrics
        Number of lines that have a number, by (filter, metric).
    lines
        For each filter the number of lines by document: the largest part in memory, some 0.2 kB for a document.
    n_questions
        Number of documents under any filter.
    is_unscored
        Whether the run only predicted.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines: dict[str, Counter[DocumentId]] = {}
        documents: dict[DocumentId, DocumentId] = {}
        self.metrics: Counter[tuple[str, str]] = Counter()
        for document, name, line in read_lines(lines, ignore_note):
            self.lines.setdefault(name, Counter())[documents.setdefault(document, document)] += 1
            for metric in _list_metrics(line):
                self.metrics[name, metric] += _is_number(line.get(metric))
        self.is_unscored = BYPASS in {metric for _, metric in self.metrics}
        self.metrics = +self.metrics  # those that are a number somewhere
        self.n_questions = len(documents)


def _list_metrics(line: Line) -> Sequence[str]:
    """Return the names of the metrics of a line; in older versions every key that is nothing else."""
    names = decode_json(line.get("metrics"))
    if isinstance(names, list) and all(isinstance(metric, str) for metric in names):
        return names
    return [metric for metric in line if metric not in _FIXED_KEYS]


def _is_number(raw: msgspec.Raw | None) -> bool:
    """Return whether the JSON is a score."""
    try:
        return parse_score(decode_json(raw)) is not None
    except ValueError:
        return False


def parse_replies(line: Line) -> list[list[object]]:
    """Return for each request of the question its K replies, texts or [log-likelihood, greedy]; empty if unreadable."""
    replies = decode_json(line.get("resps"))
    if isinstance(replies, list) and replies and all(isinstance(each, list) and each for each in replies):
        return replies
    return []


def parse_prompt(line: Line) -> RowFields:
    """Return messages, choices and target of a line; the target of a question with choices is a letter if possible.

    The choices are the continuations whose likelihoods were compared; or the contexts, where these differ and the
    continuation does not.
    """
    requests = _parse_requests(line)
    first = requests[0][0] if requests and isinstance(requests[0], list) and requests[0] else None
    choices = _parse_choices(requests)
    target = decode_json(line.get("target"))
    target = None if target is None else encode_text(target)
    if choices and target is not None:
        # A number is an index even where it is a choice as well: so the harness reads it.
        if target in (numbers := list(map(str, range(len(choices))))):
            target = format_choice(numbers.index(target))
        elif target.strip() in choices:
            target = format_choice(choices.index(target.strip()))
    return {"messages": _parse_messages(first), "choices": choices, "target": target}


def _parse_requests(line: Line) -> list[Any]:
    """Return the list of arguments of each request: `gen_args_0: {arg_0, arg_1}`, or lists in older versions."""
    arguments = decode_json(line.get("arguments"))
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(requests, list):
        return []
    return [list(request.values()) if isinstance(request, dict) else request for request in requests]


def _parse_choices(requests: Sequence[Any]) -> tuple[str, ...]:
    """Return the choices of a question, none where a single request was made."""
    pairs = [request[:2] for request in requests if isinstance(request, list) and len(request) > 1]
    if len(pairs) < 2 or not all(isinstance(text, str) for pair in pairs for text in pair):
        return ()
    contexts, continuations = zip(*pairs, strict=True)
    choices = contexts if len(set(continuations)) == 1 else continuations
    return tuple(text.strip() for text in choices)


def _parse_messages(context: Any) -> tuple[dict[str, str], ...] | None:
    """Return chat messages, which are logged as JSON within a list or a text; another text is one user message."""
    context = context[0] if isinstance(context, list) and len(context) == 1 else context
    return list_messages(context) if isinstance(context, str) else None


def most_likely_choice(line: Line, requests: Sequence[Sequence[object]], metric: str) -> str | None:
    """Return the letter of the choice with the largest log-likelihood; per character where the metric normalises.

    None where there is nothing to compare, or the log does not contain what this metric compares.
    """
    replies_of: Sequence[Sequence[Any]] = requests
    try:
        logs = [float(replies[0][0]) for replies in replies_of]
    except (ValueError, TypeError, LookupError, OverflowError):
        return None
    if metric == "acc_norm":
        lengths = [len(text) for text in _parse_choices(_parse_requests(line))]
        if len(lengths) != len(logs) or not all(lengths):
            return None
        logs = [log / length for log, length in zip(logs, lengths, strict=True)]
    elif metric not in ("acc", "exact_match", "f1", "mcc"):
        return None
    return format_choice(max(range(len(logs)), key=logs.__getitem__)) if len(logs) > 1 else None


_SAMPLES = "samples"
#: The text that its regular expressions return when nothing matches.
_INVALID = "[invalid]"


class _Part(NamedTuple):
    """One task of a log: its metadata, and its lines."""

    run: LmEvalRun
    read: Callable[[AddNote], Iterator[Line]]

    def survey(self) -> SampleSurvey:
        """Return the result of a first pass over the lines."""
        return SampleSurvey(self.read(ignore_note))


class _Inside(msgspec.Struct):
    samples: dict[str, list[msgspec.Raw]]


class LmEvalReader(LogReader):
    """Reads samples of lm-evaluation-harness, one row for each completion."""

    name = "lm-evaluation-harness"

    def members(self, path: Path) -> Sequence[Path]:
        """Return the file itself; for a results json without samples, the samples files of its run."""
        keys = FileHead(path).keys
        if _SAMPLES in keys or not keys >= TOTALS_KEYS:
            return (path,)
        results = read_json(path, dict[str, Any])["results"]
        samples = []
        for file in sorted(path.parent.iterdir()):
            if file.is_file() and (head := FileHead(file)).kind == "json" and head.keys >= SAMPLE_KEYS:
                totals = _list_parts(file, ignore_note)[0].run.totals
                if totals is not None and totals.results == results:
                    samples.append(file)
        if not samples:
            remedy = "run lm-eval with --log_samples"
            raise InputError("these are totals without samples", where=str(path), remedy=remedy)
        return samples

    def describe(self, path: Path) -> LogInfo:
        """Return what the results json states; the file is read through only for what it does not state."""
        parts = _list_parts(path, ignore_note)
        if _SAMPLES in FileHead(path).keys:
            surveys = [(part, survey, _sort_scorers(survey, part.run)) for part in parts for survey in [part.survey()]]
            parts = [part for part, survey, own in surveys if own or survey.is_unscored] or parts
            scorers = dict.fromkeys(name for *_, own in surveys for name in own)
        else:
            own_run = parts[0].run
            scorers = dict.fromkeys(own_run.scorers or _sort_scorers(parts[0].survey(), own_run))
        runs = [part.run for part in parts]
        first = runs[0]
        digest = hash_file(path)
        identities = [run.identify(digest) for run in runs]
        generations = max([1, *(run.repeats for run in runs)])
        model = ModelRecord(name=first.model, kind=self.name, settings=first.settings, generations=generations)
        return LogInfo(
            run=identities[0] if len(identities) == 1 else hash_text(*identities),
            models={first.model: model},
            benchmarks={run.task: run.source for run in runs},
            scorers=tuple(name for name in scorers if not name.startswith(BYPASS)),
            created=first.created,
            conditions=first.conditions,
            prompts=first.prompts if len(runs) == 1 else {},
        )

    def digest_questions(self, path: Path, options: ReadOptions) -> dict[tuple[str, str, str], QuestionDigest]:
        """Return digests of the questions of the first lines, from the hashes that the harness writes."""
        if options.columns or _SAMPLES in FileHead(path).keys:
            return super().digest_questions(path, options)
        (part,) = _list_parts(path, ignore_note)
        digests: dict[tuple[str, str, str], QuestionDigest] = {}
        for document, _, line in islice(read_lines(part.read(ignore_note), ignore_note), N_DIGESTED):
            target, prompt = (digest_text(decode_json(line.get(name))) for name in ("target_hash", "prompt_hash"))
            digest = QuestionDigest(target=target, prompt=prompt, completion=hash(bytes(line.get("resps", b""))))
            digests.setdefault((part.run.task, str(document), "default"), digest)
        return digests

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield the completions of each question, under the filter that is read."""
        parts = _list_parts(path, build.note)
        surveys = [part.survey() for part in parts]
        scorers = [_sort_scorers(survey, part.run) for survey, part in zip(surveys, parts, strict=True)]
        named = list(dict.fromkeys(name for each in scorers for name in each))
        wanted = None
        if len(parts) > 1 and build.options.scorer is None and len(named) > 1:
            build.note("log-scorer-each", scorers=len(named), benchmark=parts[0].run.task, scorer=named[0])
        elif named and not all(name.startswith(BYPASS) for name in named):
            wanted = build.choose_scorer(named)
        elif build.options.scorer is not None:
            build.choose_scorer(named)
        if not named and not any(survey.is_unscored for survey in surveys):
            raise InputError("it has no metric that is a number for each question", where=str(path))
        for part, survey, own in zip(parts, surveys, scorers, strict=True):
            if not own and survey.is_unscored:
                metric, filter_name = BYPASS, next(iter(survey.lines))
            elif not own:
                build.note("log-task-left-out", 1, example=part.run.task)
                continue
            elif wanted is not None and wanted not in own:
                build.note("log-other-scorers", survey.n_questions, scorer=wanted)
                continue
            else:
                metric, filter_name = own[wanted or next(iter(own))]
            yield from _read_part(part, survey, metric, filter_name, build)


def _list_parts(path: Path, note: AddNote) -> list[_Part]:
    """Return the task of a samples file, or the tasks of a results json with samples inside."""
    if _SAMPLES not in FileHead(path).keys:
        return [_Part(find_run(path, note), partial(read_records, path, Line))]
    totals, inside = read_json(path, Totals), read_json(path, _Inside).samples
    if not any(inside.values()):
        raise InputError("these are totals without samples", where=str(path), remedy="run lm-eval with --log_samples")
    model = totals.find_model(path, note)
    runs = {task: LmEvalRun(task=task, model=model, totals=totals) for task, lines in inside.items() if lines}
    return [_Part(run, partial(_decode_lines, inside[task])) for task, run in runs.items()]


def _decode_lines(lines: Sequence[msgspec.Raw], note: AddNote) -> Iterator[Line]:
    """Yield the lines of a task that are inside a results json."""
    decoder = msgspec.json.Decoder(Line)
    for line in lines:
        try:
            yield decoder.decode(line)
        except DECODE_ERRORS:
            note("log-no-record", 1)


def _sort_scorers(survey: SampleSurvey, run: LmEvalRun) -> dict[str, tuple[str, str]]:
    """Return metric and filter by `metric,filter`: in the order of the harness, majority votes last."""
    places = {name: place for place, name in enumerate(run.scorers)}
    pairs = {f"{metric},{filter_name}": (metric, filter_name) for filter_name, metric in survey.metrics}

    def rank(name: str) -> tuple[bool, int, int]:
        """Return the sort key of a scorer."""
        metric, filter_name = pairs[name]
        return run.is_majority_vote(filter_name), places.get(name, len(places)), -survey.metrics[filter_name, metric]

    return {name: pairs[name] for name in sorted(pairs, key=rank)}


def _read_part(part: _Part, survey: SampleSurvey, metric: str, filter_name: str, build: RowBuilder) -> Iterator[LogRow]:
    """Yield the completions of each question of a task."""
    run, completions = part.run, CompletionRows(build)
    build.expect_mean(f"{metric},{filter_name}", run.find_mean(metric, filter_name), benchmark=run.task)
    is_vote = run.is_majority_vote(filter_name)
    roots = {field.partition(".")[0] for field in build.options.columns.values()}
    remaining = {document: n for document, n in survey.lines[filter_name].items() if n > 1}
    n_again = 0
    for document, name, line in read_lines(part.read(build.note), build.note):
        if name != filter_name:
            continue
        if remaining.get(document, 1) > 1:
            remaining[document] -= 1
            n_again += 1
            continue
        key = RowKey(run.task, run.model, str(document))
        if not decode_json(document.hash):
            build.note("log-by-number", 1)
        if roots:
            record = {**line, **{root: decode_json(line[root]) for root in roots if root in line}}
            key = build.map_columns(key, record)
        score = _read_score(line, metric, build)
        fields = parse_prompt(line) if build.texts else RowFields()
        texts, answer = _read_replies(line, metric, build)
        is_of_all = is_vote or isinstance(answer, list)
        if texts and answer == _INVALID and score.get("score") == 0:
            score = {"score": 0.0, "status": "unparsed"}
        elif isinstance(answer, str) and not (is_of_all and len(texts) > 1):
            fields["answer"] = answer
        key = build.rename_duplicate(key)
        yield from completions.list_rows(key, texts, score, fields, n_wanted=run.repeats, is_of_all=is_of_all)
    if n_again:
        build.note("log-again", n_again, what="question and filter")
    completions.note_counts(max(survey.n_questions, run.n_questions), is_greedy=run.is_greedy)


def _read_score(line: Line, metric: str, build: RowBuilder) -> RowFields:
    """Return the score of a line; none where the run only predicted."""
    if metric == BYPASS:
        build.note("log-not-scored", 1)
        return {"status": UNSCORED}
    return build.score_fields(decode_json(line.get(metric)), metric)


def _read_replies(line: Line, metric: str, build: RowBuilder) -> tuple[Sequence[object], object]:
    """Return the completions of a question, and what was extracted from them; or the choice that is most likely."""
    replies = parse_replies(line)
    if not replies:
        build.note("log-unreadable-replies", 1)
        return (), None
    if isinstance(replies[0][0], str):
        filtered = decode_json(line.get("filtered_resps"))
        return replies[0], filtered[0] if isinstance(filtered, list) and filtered else None
    if len(replies[0]) > 1:
        build.note("log-likelihood-copies", 1)
    return (), most_likely_choice(line, replies, metric)
