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

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    UNSCORED,
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
from howsure.logs.lm_eval.records import (
    BYPASS,
    SAMPLE_KEYS,
    Line,
    SampleSurvey,
    most_likely_choice,
    parse_prompt,
    parse_replies,
    read_lines,
)
from howsure.logs.lm_eval.run_metadata import TOTALS_KEYS, LmEvalRun, Totals, find_run
from howsure.logs.values import hash_text
from howsure.store.manifest import ModelRecord

_SAMPLES = "samples"
#: The text that its regular expressions return when nothing matches.
_INVALID = "[invalid]"
#: Number of lines whose questions are compared with those of other logs.
_N_DIGESTED = 1000


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
            surveys = [(part, survey, _sort_scorers(survey, part.run)) for part in parts if (survey := part.survey())]
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
        for document, _, line in islice(read_lines(part.read(ignore_note), ignore_note), _N_DIGESTED):
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
