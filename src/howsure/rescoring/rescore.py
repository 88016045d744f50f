"""Score the stored completions of a run folder again, and compare the new scores with the old ones.

The new scores are another column (`store.scorer_files`); nothing that is stored is changed. Completions that a
harness stored without a score get their first score here.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import string
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from howsure.benchmarks.question import Benchmark
from howsure.errors import InputError
from howsure.rescoring.agreement import Agreement, AgreementCounter, Agreements
from howsure.rescoring.choice_scorer import build_choice_scorer
from howsure.rescoring.own_benchmark import build_lm_eval_scorer, build_own_scorer
from howsure.rescoring.run_context import PromptIndex, RunContext
from howsure.scorers.numerals import canonical_number
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import Scorer, ScoringItem, clean_first
from howsure.scorers.targets import parse_targets
from howsure.scorers.yes_no import is_yes_or_no
from howsure.stats.core.results import Results
from howsure.store import scorer_files
from howsure.store.responses import iterate_batches, iterate_rows, stream
from howsure.store.schema import KEY, UNSCORED, WITHOUT_ANSWER, Response, has_scoring_error
from howsure.store.scorer_files import RescoredRow

#: Most threads that wait for subprocesses.
_MOST_THREADS = 8
_COLUMNS = (*KEY, "score", "status", "answer", "completion", "target", "error", "created")
#: Statuses of completions that were cut off, which every scorer keeps.
_CUT = ("length", "filtered")


#: Scorers that need the run folder: name before the colon -> function of the whole name and the context.
RUN_SCORERS: dict[str, Callable[[str, RunContext], Scorer]] = {
    "choice": build_choice_scorer,
    "own": build_own_scorer,
    "lm_eval": build_lm_eval_scorer,
}


def build_run_scorer(spec: str, context: RunContext) -> Scorer:
    """Return a scorer for the stored completions of a run folder.

    choice, choice:letter, choice:index, choice:number, choice:text
        The choice that a completion gives, by its label or its text (`scorers.multiple_choice`). The target may be a
        letter, a place counted from 0 (index) or from 1 (number), or the text of a choice. Name the kind where the
        targets of a benchmark can be read in several ways.
    own
        The benchmark's own extraction and grading in its present version, for run folders that howsure sampled.
    lm_eval, lm_eval:FILTER, lm_eval:FILTER/METRIC
        A filter and metric of the task, for runs of tasks of lm-evaluation-harness.
    others
        As in `scorers.registry`.

    Raises
    ------
    UnknownNameError
        When no scorer has this name.
    InputError
        When a pattern is not valid, a package is missing, or the folder lacks what the scorer needs.
    """
    name, _, argument = spec.partition(":")
    if name == "judge":
        remedy = "describe it in a file: howsure rescore FOLDER --judge judge.yaml"
        raise InputError("a judge is a model, and none is named", where="--scorer", remedy=remedy)
    if name not in RUN_SCORERS:
        return build_scorer(spec, "--scorer", RUN_SCORERS)
    if argument and name == "own":
        raise InputError(f"{name} has no argument, got {argument!r}", where="--scorer", remedy=f"write {name}")
    return clean_first(RUN_SCORERS[name](spec, context))


def choose_scorer(path: Path) -> str:
    """Return the scorer for the targets of a run: choices, else only numbers, else only yes and no, else open answers.

    Returns
    -------
    str
        `choice`, `numeric`, `yes-no` or `contains`.

    Raises
    ------
    InputError
        When the run has no targets, or its benchmarks need different scorers.
    """
    prompts = PromptIndex(path)
    with_choices = {name[0] for name, _ in prompts if prompts.find_choices(*name) is not None}
    targets: defaultdict[str, set[str]] = defaultdict(set)
    for row in iterate_rows(stream(path, [*KEY, "target"])):
        if row.target is not None:
            targets[row.benchmark].add(row.target)
    names = {
        benchmark: "choice" if benchmark in with_choices else choose_by_targets(own)
        for benchmark, own in targets.items()
    }
    if len(set(names.values())) == 1:
        return next(iter(names.values()))
    listed = ", ".join(f"{name} for {benchmark}" for benchmark, name in sorted(names.items()))
    what = f"the benchmarks need different scorers: {listed}" if names else "the run has no targets"
    raise InputError(what, where=str(path), remedy="name the scorer: --scorer NAME")


def choose_by_targets(targets: Iterable[str]) -> str:
    """Return the scorer for targets without choices: labels, all numbers, all yes or no, or else texts.

    >>> choose_by_targets(["A", "C"]), choose_by_targets(["12", "3/4"]), choose_by_targets(["Paris"])
    ('choice', 'numeric', 'contains')
    """
    accepted = [one for target in targets for one in parse_targets(target)]
    if all(len(letter := one.strip("()")) == 1 and letter in string.ascii_uppercase for one in accepted):
        return "choice"
    if all(canonical_number(one.rpartition("####")[2].strip()) is not None for one in accepted):
        return "numeric"
    return "yes-no" if all(is_yes_or_no(one) is not None for one in accepted) else "contains"


def rescore(
    path: Path | str,
    spec: str,
    *,
    benchmarks: Mapping[str, Benchmark] | None = None,
    base: Path | None = None,
    targets: Mapping[tuple[str, str], str] | None = None,
    level: float = 0.95,
    examples: int = 5,
    clock: Callable[[], float] = time.time,
) -> Results:
    """Score every row of a run folder that has a completion, and write the scores beside the rows.

    A row whose generation failed stays failed. A row whose completion was not stored has no score, and a row that the
    scorer cannot score, for instance because its target is of another kind, has an error with the reason.

    Parameters
    ----------
    path
        The run folder.
    spec
        Name of a scorer: a key of `RUN_SCORERS` or of `scorers.registry.SCORERS`.
    benchmarks
        For the scorer `own`: benchmarks by name, for run folders that do not describe them.
    base
        For the scorer `own`: folder of the benchmark's file; by default it is searched around the run folder.
    targets
        Targets by (benchmark, question) that replace the stored ones. The scorer is then named NAME+corrected.
    level
        Confidence level of the interval of the agreement.
    examples
        Number of disagreements of each kind and model that the result keeps, the first ones.
    clock
        Function that returns the seconds since the epoch, for the time in the file.

    Returns
    -------
    Results
        An `Agreement` for each benchmark; `.of("disagreements")` has the examples.

    Raises
    ------
    UnknownNameError
        When there is no such scorer.
    InputError
        When no row can be scored, the scorer lacks something, or it has its own targets and `targets` are given;
        nothing is written then.
    StoreError
        When the folder is not a run, or cannot be read or written.
    """
    path = Path(path)
    scorer = build_run_scorer(spec, RunContext(path, benchmarks or {}, base))
    if targets is not None:
        scorer = _rename_corrected(scorer, targets)
    try:
        scorer.prepare()
        with closing(_score_rows(path, scorer, targets or {})) as rows:
            scorer_files.write_scores(path, scorer.name, scorer.version, rows, replaced=targets or (), clock=clock)
    finally:
        scorer.close()
    return compare_scores(path, f"{scorer.name}@{scorer.version}", level=level, examples=examples, targets=targets)


def _rename_corrected(scorer: Scorer, targets: Mapping[tuple[str, str], str]) -> Scorer:
    """Return the scorer under another name and version, so that its scores stand beside those for stored targets."""
    if scorer.has_own_targets:
        remedy = "name a scorer that compares with the target, such as numeric"
        raise InputError(f"{scorer.name} has its own targets, which --override cannot replace", remedy=remedy)
    digest = hashlib.sha256(json.dumps(sorted(targets.items())).encode()).hexdigest()[:8]
    return replace(scorer, name=f"{scorer.name}+corrected", version=f"{scorer.version}-{digest}")


def compare_scores(
    path: Path,
    scorer: str,
    *,
    level: float = 0.95,
    examples: int = 5,
    targets: Mapping[tuple[str, str], str] | None = None,
) -> Results:
    """Compare scores that were written beside the rows of a run folder with those of its rows.

    Parameters
    ----------
    path
        The run folder.
    scorer
        NAME@VERSION of the scores.
    level, examples, targets
        As for `rescore`.

    Returns
    -------
    Results
        An `Agreement` for each benchmark.
    """
    counters: defaultdict[str, dict[str, AgreementCounter]] = defaultdict(dict)
    columns = (*KEY, "score", "status", "answer", "rule", "error", "created")
    old_columns = (*KEY, "score", "answer", "completion", "target")
    scored = iterate_rows(scorer_files.stream_rows(path, columns, scorer))
    for ours, row in zip(scored, iterate_rows(stream(path, old_columns)), strict=True):
        counter = counters[row.benchmark].setdefault(row.model, AgreementCounter(examples))
        theirs = None if row.completion is None else row.score
        target = (targets or {}).get((row.benchmark, row.question), row.target) or ""
        counter.add(RescoredRow.copy(ours), theirs, row.answer, target, row.completion or "")
    return Agreements(tuple(Agreement(name, scorer, models, level) for name, models in counters.items()))


def _score_rows(
    path: Path, scorer: Scorer, targets: Mapping[tuple[str, str], str]
) -> Generator[RescoredRow, None, None]:
    """Yield the new score of each row of a run; raise in the end if no row could be scored."""
    prompts = PromptIndex(path)
    any_row, any_scored, error = False, False, ""
    for batch in iterate_batches(stream(path, _COLUMNS)):
        rows = [_replace_target(row, targets) for row in batch] if targets else batch
        for row, new in zip(rows, _score_batch(scorer, rows, prompts), strict=True):
            any_row = True
            any_scored = any_scored or (new.score is not None and row.completion is not None)
            error = error or (new.error or "")
            yield new
    if not any_row:
        raise InputError("the run has no rows", where=str(path), remedy="give a folder with responses")
    if not any_scored:
        what = f"no row can be scored by {scorer.name}; {error or 'no completion is kept'}"
        raise InputError(what, where=str(path), remedy="name another scorer, or convert the logs with their texts")


def _replace_target(row: Response, targets: Mapping[tuple[str, str], str]) -> Response:
    """Return the row with the target of its question that was given, if one was."""
    target = targets.get((row.benchmark, row.question), row.target)
    return row if target == row.target else msgspec.structs.replace(row, target=target)


def _score_batch(scorer: Scorer, rows: Sequence[Response], prompts: PromptIndex) -> Generator[RescoredRow, None, None]:
    """Yield the new score of each row; a thread for each processor computes those that wait for subprocesses."""
    if not scorer.in_subprocess:
        yield from (_score_row(scorer, row, prompts) for row in rows)
        return
    executor = ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS))
    try:
        yield from executor.map(lambda row: _score_row(scorer, row, prompts), rows)
    finally:
        executor.shutdown(cancel_futures=True)


def _score_row(scorer: Scorer, row: Response, prompts: PromptIndex) -> RescoredRow:
    """Return the new score of one row."""
    build = partial(RescoredRow.of_response, row)
    status, completion = row.status, row.completion
    if status == "error" and not has_scoring_error(row.error):
        return build(None, "error", error=row.error)
    if status in WITHOUT_ANSWER and scorer.reads_all_texts:
        completion = completion or ""
    elif completion is None or status in WITHOUT_ANSWER:
        # A completion that was cut or filtered before its first word has no answer by any rule, and so has a refusal.
        has_none = status in {*_CUT, *WITHOUT_ANSWER} and row.score == 0
        return build(0.0, status) if has_none else build(None, UNSCORED)
    if row.target is None:
        return build(None, "error", error="scoring: no target is kept")
    try:
        context = prompts.build_context(row.benchmark, row.question, row.variant, truncated=status == "length")
        item = ScoringItem(row.benchmark, row.question, row.variant, row.target, context)
        scored = scorer.score(completion, item)
    except InputError:
        raise
    except Exception as e:  # noqa: BLE001  # a benchmark's own code may raise any error; the other rows are still scored
        why = " ".join((str(e) if type(e) is ValueError else f"{type(e).__name__}: {e}").split())[:300]
        return build(None, "error", error=f"scoring: {why}")
    answer, rule = scored.answer, scored.rule
    if not math.isfinite(scored.score):
        return build(None, "error", answer=answer, rule=rule, error=f"scoring: the score is {scored.score}")
    status = status if status in {*_CUT, *WITHOUT_ANSWER} else "ok"
    if answer is None and rule == "unfinished":
        status = "unfinished"
    elif answer is None and status == "ok":
        status = "unparsed"
    return build(scored.score, status, answer=answer, rule=rule)
