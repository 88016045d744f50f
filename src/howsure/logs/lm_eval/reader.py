"""Read logs of lm-evaluation-harness: `samples_TASK_DATE.jsonl` with the results json beside it.

A line is one question under one filter, with all K completions and the score of what the filter made of the first. So
one filter is read; its score is that of generation 1, and the other K - 1 completions are rows without a score. A
filter that takes a majority vote, and a metric of all K completions together, score no single completion. A
multiple-choice question has one generation, whose answer is the letter of the most likely choice.

The file is read twice: a first fast pass finds its filters, metrics and repeated lines. The record of `--columns` is a
line: `doc.subject`, `doc_id`, `prompt_hash`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from howsure.errors import InputError
from howsure.logs.base import (
    ONLY_FIRST_SCORED,
    UNSCORED,
    LogInfo,
    LogReader,
    LogRow,
    PromptFields,
    QuestionDigest,
    ReadOptions,
    RowBuilder,
    RowKey,
    ScoreFields,
    digest_text,
)
from howsure.logs.file_formats import FileHead, decode_json, read_json
from howsure.logs.lm_eval.records import (
    BYPASS,
    SAMPLE_KEYS,
    DocumentId,
    Line,
    SampleSurvey,
    most_likely_choice,
    parse_prompt,
    parse_replies,
    read_lines,
)
from howsure.logs.lm_eval.run_metadata import TOTALS_KEYS, LmEvalRun, find_run
from howsure.store.manifest import ModelRecord

#: The text that its regular expressions return when nothing matches.
_INVALID = "[invalid]"
#: Number of lines whose questions are compared with those of other logs.
_N_DIGESTED = 1000
_OF_ALL = "[score is|scores are] of all completions together"


class LmEvalReader(LogReader):
    """Reads samples of lm-evaluation-harness, one row for each completion."""

    name = "lm-evaluation-harness"

    def recognises(self, head: FileHead) -> bool:
        """Return whether it is samples, or the results json that stands for those beside it and has none inside."""
        is_results = head.keys >= TOTALS_KEYS and "samples" not in head.keys
        return head.kind == "json" and (head.keys >= SAMPLE_KEYS or is_results)

    def members(self, path: Path) -> Sequence[Path]:
        """Return the file itself; for a results json, its samples files."""
        if not FileHead(path).keys >= TOTALS_KEYS:
            return (path,)
        results = read_json(path, dict[str, Any])["results"]
        samples = []
        for file in sorted(path.parent.iterdir()):
            if file.is_file() and (head := FileHead(file)).kind == "json" and head.keys >= SAMPLE_KEYS:
                totals = _find_run(file).totals
                if totals is not None and totals.results == results:
                    samples.append(file)
        if not samples:
            remedy = "run lm-eval with --log_samples"
            raise InputError("these are totals without samples", where=str(path), remedy=remedy)
        return samples

    def describe(self, path: Path) -> LogInfo:
        """Return what the results json states; the file is read through only for what it does not state."""
        run = _find_run(path)
        model = ModelRecord(name=run.model, kind=self.name, settings=run.settings, generations=max(run.repeats, 1))
        scorers = run.scorers or tuple(_sort_scorers(SampleSurvey(path), run))
        return LogInfo(
            run=run.identify(run.task_hash or SampleSurvey(path).task_hash),
            models={run.model: model},
            benchmarks={run.task: run.source},
            scorers=tuple(name for name in scorers if not name.startswith(BYPASS)),
            created=run.created,
            conditions=run.conditions,
            prompts=run.prompts,
        )

    def digest_questions(self, path: Path, options: ReadOptions) -> dict[tuple[str, str, str], QuestionDigest]:
        """Return digests of the questions of the first lines, from the hashes that the harness writes."""
        if options.columns:
            return super().digest_questions(path, options)
        task, digests = _find_run(path).task, dict[tuple[str, str, str], QuestionDigest]()
        for document, _, line in islice(read_lines(path, lambda _: None), _N_DIGESTED):
            target, prompt = (digest_text(decode_json(line.get(name))) for name in ("target_hash", "prompt_hash"))
            digest = QuestionDigest(target=target, prompt=prompt, completion=hash(bytes(line.get("resps", b""))))
            digests.setdefault((task, str(document), "default"), digest)
        return digests

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield the completions of each question, under the filter that is read."""
        survey = SampleSurvey(path)
        run = find_run(path, lambda: survey.task_hash)
        for note in run.notes:
            build.note(note)
        scorers = _sort_scorers(survey, run)
        if not scorers and survey.is_unscored:
            filter_name = next(iter(survey.lines))
            scorers = {f"{BYPASS},{filter_name}": (BYPASS, filter_name)}
        if not scorers:
            raise InputError("it has no metric that is a number for each question", where=str(path))
        metric, filter_name = scorers[build.choose_scorer(list(scorers))]
        build.expect_mean(f"{metric},{filter_name}", run.find_mean(metric, filter_name))
        questions = _QuestionReader(build, run, metric, filter_name)
        remaining = {document: n for document, n in survey.lines[filter_name].items() if n > 1}
        for document, name, line in read_lines(path, build.note):
            if name != filter_name:
                continue
            if remaining.get(document, 1) > 1:
                remaining[document] -= 1
                build.count("[line comes|lines come] again for the same question: the last one of each is read")
                continue
            yield from questions.read(line, document)
        questions.note_counts()
        if n_missing := survey.n_questions - len(survey.lines[filter_name]):
            build.count(
                f"[question has|questions have] no line of filter {filter_name!r} and [is|are] missing", n_missing
            )
        if (n_missing := run.n_questions - questions.n_questions) > 0:
            build.note(f"{n_missing} of the {run.n_questions} questions of the run are not in it")


def _find_run(path: Path) -> LmEvalRun:
    """Return the run of a samples file."""
    return find_run(path, lambda: SampleSurvey(path).task_hash)


def _sort_scorers(survey: SampleSurvey, run: LmEvalRun) -> dict[str, tuple[str, str]]:
    """Return metric and filter by `metric,filter`: in the order of the harness, majority votes last."""
    places = {name: place for place, name in enumerate(run.scorers)}
    pairs = {f"{metric},{filter_name}": (metric, filter_name) for filter_name, metric in survey.metrics}

    def rank(name: str) -> tuple[bool, int, int]:
        """Return the sort key of a scorer."""
        metric, filter_name = pairs[name]
        return run.is_majority_vote(filter_name), places.get(name, len(places)), -survey.metrics[filter_name, metric]

    return {name: pairs[name] for name in sorted(pairs, key=rank)}


class _QuestionReader:
    """Turns lines of one filter into rows."""

    def __init__(self, build: RowBuilder, run: LmEvalRun, metric: str, filter_name: str) -> None:
        self._build, self._run, self._metric = build, run, metric
        self._is_vote = run.is_majority_vote(filter_name)
        self._column_roots = {field.partition(".")[0] for field in build.options.columns.values()}
        #: Number of questions by their number of completions.
        self._sizes: Counter[int] = Counter()
        self._has_scores_of_all = False
        self.n_questions = 0

    def read(self, line: Line, document: DocumentId) -> Iterator[LogRow]:
        """Yield the generations of one question."""
        build = self._build
        key = self._key(line, document)
        self.n_questions += 1
        score = self._score(line)
        replies = parse_replies(line)
        prompt = parse_prompt(line) if build.texts else PromptFields()
        if not replies:
            build.count("[question has|questions have] completions that cannot be read: only their score is")
            yield build.row(key, generation=1, **score, **prompt)
        elif isinstance(replies[0][0], str):
            yield from self._read_completions(line, key, score, prompt, replies[0])
        else:
            build.count(
                "[question repeats|questions repeat] log-likelihoods, which are copies: one generation of each is read",
                len(replies[0]) > 1,
            )
            answer = most_likely_choice(line, replies, self._metric)
            yield build.row(key, generation=1, answer=answer, **score, **prompt)

    def _read_completions(
        self, line: Line, key: RowKey, score: ScoreFields, prompt: PromptFields, texts: Sequence[object]
    ) -> Iterator[LogRow]:
        """Yield the generations of a question that was answered with texts."""
        build = self._build
        self._sizes[len(texts)] += 1
        filtered = decode_json(line.get("filtered_resps"))
        answer = filtered[0] if isinstance(filtered, list) and filtered else None
        if len(texts) > 1 and (self._is_vote or isinstance(answer, list)):
            self._has_scores_of_all = True
            if build.options.scorer is not None:
                build.count(f"{_OF_ALL}: it is read as one generation of the question")
                for text in texts:
                    build.identical.add(key[:4], text if isinstance(text, str) else None)
                yield build.row(key, generation=1, **score)
                return
            build.count(f"{_OF_ALL} and not of one generation: howsure rescore scores each")
            score, answer = {"status": UNSCORED}, None
        elif answer == _INVALID and score.get("score") == 0:
            score, answer = {"score": 0.0, "status": "unparsed"}, None
        answer = answer if isinstance(answer, str) else None
        for generation, text in enumerate(texts, 1):
            if text == "":
                build.count("[completion is|completions are] empty; a failed request looks the same in this log")
            completion = text if isinstance(text, str) else None
            yield build.row(key, completion=completion, generation=generation, answer=answer, **score, **prompt)
            score = {"status": UNSCORED}

    def _score(self, line: Line) -> ScoreFields:
        """Return the score of what the filter made of the first completion."""
        if self._metric == BYPASS:
            self._build.count(
                "[question was|questions were] only predicted, not scored: howsure rescore scores [it|them]"
            )
            return {"status": UNSCORED}
        return self._build.metric_fields(self._metric, decode_json(line.get(self._metric)))

    def _key(self, line: Line, document: DocumentId) -> RowKey:
        """Return the key of the rows of a line."""
        if not decode_json(document.hash):
            self._build.count(
                "[question has|questions have] no doc_hash: [it goes|they go] by doc_id, [its|their] "
                "number in what was run"
            )
        key = RowKey(self._run.task, self._run.model, str(document))
        if self._column_roots:
            record = {**line, **{root: decode_json(line[root]) for root in self._column_roots if root in line}}
            key = self._build.map_columns(key, record)
        return self._build.rename_duplicate(key)

    def note_counts(self) -> None:
        """Note what the lines do not contain."""
        note, n_questions = self._build.note, self._sizes.total()
        most = max(self._run.repeats, *self._sizes) if self._sizes else 0
        if most > 1 and not self._has_scores_of_all:
            note(
                f"{most} completions of each question are kept and {ONLY_FIRST_SCORED}: "
                "howsure rescore scores the others"
            )
        if n_fewer := sum(n for size, n in self._sizes.items() if size < most):
            note(f"{n_fewer} of {n_questions} questions have fewer than {most} completions")
        if most > 1 and self._run.is_greedy:
            note(f"decoding was greedy: the {most} completions of a question are copies, no generations of their own")
