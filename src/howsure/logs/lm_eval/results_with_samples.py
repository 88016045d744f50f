"""Read a results json of lm-evaluation-harness with the samples inside, as `simple_evaluate(log_samples=True)` returns.

`samples` has the lines of each task, which are those of a `samples_*.jsonl`: one for each question and filter. Each
task is a benchmark, and each metric under each filter a scorer; unless one is named, the first of each task is read.
Only the first of several completions was scored. A task whose metrics are no numbers for a question, such as
perplexity, is left out. The record of `--columns` is a line: `doc.subject`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from howsure.errors import InputError
from howsure.logs.base import PromptFields, RowBuilder, as_mapping
from howsure.logs.file_formats import FileHead, read_json
from howsure.logs.lm_eval.records import BYPASS, Line, most_likely_choice, parse_prompt, parse_replies
from howsure.logs.lm_eval.run_metadata import TOTALS_KEYS, LmEvalRun, Totals
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    ReportedMean,
    get_number,
    get_text,
    name_by_place,
    parse_records,
)

SAMPLES = "samples"
#: The text that regular expressions of the harness return when nothing matches.
_INVALID = "[invalid]"
#: Metrics whose value for a task is the mean over its questions.
_MEANS = ("acc", "acc_norm", "exact_match")


class LmEvalResultsReader(RecordReader):
    """Reads the samples inside of a results json, one row for each completion."""

    name = "lm-evaluation-harness"

    def recognises(self, head: FileHead) -> bool:
        """Return whether it is a results json with samples inside."""
        return head.kind == "json" and head.keys >= TOTALS_KEYS | {SAMPLES}

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the questions of all tasks."""
        content = read_json(path, dict[str, object])
        try:
            totals = msgspec.convert(content, Totals)
        except msgspec.ValidationError as error:
            raise InputError(str(error), where=str(path), remedy="is the file complete?") from error
        model = totals.model or name_by_place(path, build)
        records: list[Record] = []
        scorers: dict[str, None] = {}
        defaults: dict[str, str] = {}
        reported: list[ReportedMean] = []
        runs: list[LmEvalRun] = []
        for task, lines in as_mapping(content.get(SAMPLES)).items():
            run = LmEvalRun(task=task, model=model, totals=totals)
            own = _parse_task(run, list(parse_records(lines, build)), build)
            names = _sort_scorers(run, own)
            if not names and not any(record.is_unscored for record in own):
                build.count(
                    "[task has|tasks have] no metric that is a number for each question, and [is|are] left out",
                    example=task,
                )
                continue
            runs.append(run)
            records.extend(own)
            scorers.update(dict.fromkeys(names))
            defaults.update({task: names[0]} if names else {})
            for name in names:
                value = get_number(as_mapping(totals.results.get(task)), name)
                if value is not None and name.partition(",")[0] in _MEANS:
                    reported.append(ReportedMean(name=name, value=value, scorer=name, benchmark=task))
        return RecordedRun(
            benchmark=runs[0].task if runs else "unknown",
            model=model,
            settings=runs[0].settings if runs else {},
            records=records,
            scorers=tuple(scorers) or (BYPASS,),
            default_scorers=defaults,
            reported=reported,
            source=runs[0].source if len(runs) == 1 else {},
            created=runs[0].created if runs else "",
            generations=max([1, *(run.repeats for run in runs)]),
        )


def _parse_task(run: LmEvalRun, lines: Sequence[Mapping[str, object]], build: RowBuilder) -> list[Record]:
    """Return the completions of a task, each question with its scores under all filters."""
    by_question: dict[str, list[Mapping[str, object]]] = {}
    for line in lines:
        question = get_text(line, "doc_hash", "doc_id")
        if question is None:
            build.count("[line names|lines name] no question and [is|are] left out")
        else:
            by_question.setdefault(question, []).append(line)
    return [record for name, own in by_question.items() for record in _make_records(run, name, own, build)]


def _make_records(
    run: LmEvalRun, question: str, lines: Sequence[Mapping[str, object]], build: RowBuilder
) -> Iterator[Record]:
    """Yield the scored completion of a question, and the others, which nobody scored."""
    first = lines[0]
    scores: dict[str, object] = {}
    for line in lines:
        name = get_text(line, "filter") or "none"
        metrics = line.get("metrics")
        for metric in metrics if isinstance(metrics, list) else ():
            if isinstance(metric, str) and get_number(line, metric) is not None:
                if f"{metric},{name}" in scores:
                    build.count("[line comes|lines come] again for the same question: the last one of each is read")
                scores[f"{metric},{name}"] = line[metric]
    encoded = _encode(first)
    replies = parse_replies(encoded)
    prompt = parse_prompt(encoded) if build.texts else PromptFields()
    texts = [text for text in replies[0] if isinstance(text, str)] if replies else []
    metric = next(iter(scores), "").partition(",")[0]
    metrics = first.get("metrics")
    is_predicted = isinstance(metrics, list) and BYPASS in metrics
    if is_predicted:
        build.count("[question was|questions were] only predicted, not scored: howsure rescore scores [it|them]")
    yield Record(
        benchmark=run.task,
        question=question,
        scores=scores,
        source=first,
        is_unscored=is_predicted,
        answer=_find_answer(first) if texts else most_likely_choice(encoded, replies, metric),
        completion=texts[0] if texts else None,
        prompt=prompt,
    )
    for text in texts[1:]:
        build.count(
            "[completion|completions] after the first of a question [was|were] not scored: "
            "howsure rescore scores [it|them]"
        )
        yield Record(
            benchmark=run.task,
            question=question,
            scores={},
            source=first,
            is_unscored=True,
            completion=text,
            prompt=prompt,
        )


def _find_answer(line: Mapping[str, object]) -> str | None:
    """Return what the filter made of the first completion; None where nothing matched."""
    answer = get_text(line, "filtered_resps.0")
    return None if answer == _INVALID else answer


def _encode(line: Mapping[str, object]) -> Line:
    """Return a line as undecoded JSON by key, as the readers of its parts take it."""
    return {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in line.items()}


def _sort_scorers(run: LmEvalRun, records: Sequence[Record]) -> list[str]:
    """Return the scorers of a task in the order of the harness, majority votes last."""
    names = dict.fromkeys(name for record in records for name in record.scores)
    order = [name for name in run.scorers if name in names]
    others = [name for name in names if name not in order]
    return [*order, *sorted(others, key=lambda name: run.is_majority_vote(name.partition(",")[2]))]
