"""Score the stored completions of a run folder again: a new column of scores, and how far it agrees with the old one.

What a harness kept and never scored gets its first score here. Nothing that is stored is changed (`store.scores`).
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from howsure.benchmarks.question import Benchmark
from howsure.errors import InputError
from howsure.scorers.agreement import Tally, agreement
from howsure.scorers.base import Asked, Place, Scorer
from howsure.scorers.registry import scorer
from howsure.stats.core.results import Results
from howsure.store import scores
from howsure.store.responses import stream
from howsure.store.schema import KEY
from howsure.store.scores import UNSCORED, Rescored

__all__ = ["rescore"]

_COLUMNS = (*KEY, "score", "status", "answer", "completion", "target", "error", "created")
#: Statuses that say something of a completion, whoever reads it.
_CUT = ("length", "filtered")


def rescore(
    path: Path | str,
    spec: str,
    *,
    benchmarks: Mapping[str, Benchmark] | None = None,
    base: Path | None = None,
    level: float = 0.95,
    examples: int = 5,
    clock: Callable[[], float] = time.time,
) -> Results:
    """Score every row of a run folder that has a completion, and write the scores beside the rows.

    A row whose generation failed stays failed. One whose completion was not kept has no score, and one that the scorer
    cannot score, as its target is of another kind, has an error that says so.

    Parameters
    ----------
    spec
        A scorer's name: see `scorers.registry`.
    benchmarks
        For the scorer `own`: benchmarks by name that the folder itself does not lead to.
    base
        For the scorer `own`: folder of the benchmark's file; by default it is looked for around the run folder.
    level
        Of the interval of the agreement.
    examples
        How many disagreements of each kind and model are kept, the first ones.
    clock
        Seconds since the epoch, for the file.

    Returns
    -------
    Results
        An `Agreement` for each benchmark; `.of("disagreements")` has examples.

    Raises
    ------
    UnknownNameError
        When there is no such scorer.
    InputError
        When no row can be scored, or the scorer lacks something; nothing is written.
    StoreError
        When the folder is not a run, or cannot be read or written.
    """
    path = Path(path)
    tallies: defaultdict[str, dict[str, Tally]] = defaultdict(dict)
    chosen = scorer(spec, Place(path, benchmarks or {}, base))
    try:
        with closing(_rows(path, chosen, tallies, examples)) as rows:
            scores.write(path, chosen.name, chosen.version, rows, clock=clock)
    finally:
        chosen.close()
    column = f"{chosen.name}@{chosen.version}"
    return Results(tuple(agreement(name, column, models, level=level) for name, models in tallies.items()))


def _rows(
    path: Path, chosen: Scorer, tallies: defaultdict[str, dict[str, Tally]], examples: int
) -> Generator[Rescored, None, None]:
    """Each row of the run scored again and counted; in the end, whether any was scored."""
    some, fault = False, ""
    with stream(path, _COLUMNS) as batches:
        for batch in batches:
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                *key, theirs, _, answer, completion, target, _, _ = row
                ours = _scored(chosen, row)
                benchmark, model = key[:2]
                tally = tallies[benchmark].get(model)
                if tally is None:
                    tally = tallies[benchmark][model] = Tally(examples)
                tally.add(ours, None if completion is None else theirs, answer, target or "", completion or "")
                some = some or (ours.score is not None and completion is not None)
                fault = fault or (ours.error or "")
                yield ours
    if not tallies:
        raise InputError("the run has no rows", where=str(path), remedy="give a folder with responses")
    if not some:
        what = f"no row can be scored by {chosen.name}; {fault or 'no completion is kept'}"
        raise InputError(what, where=str(path), remedy="name another scorer, or convert the logs with their texts")


def _scored(chosen: Scorer, row: tuple[Any, ...]) -> Rescored:
    benchmark, model, question, variant, generation, score, status, _, completion, target, error, created = row

    def said(score: float | None, status: str, *rest: str | None) -> Rescored:
        answer, rule, error = rest or (None, None, None)
        return Rescored(benchmark, model, question, variant, generation, score, status, answer, rule, error, created)

    if status == "error" and not (error or "").startswith("scoring:"):
        return said(None, "error", None, None, error)
    if completion is None:
        # Cut or filtered before its first word: there is nothing to read, by any rule.
        return said(0.0, status) if status in _CUT and score == 0 else said(None, UNSCORED)
    if target is None:
        return said(None, "error", None, None, "scoring: no target is kept")
    try:
        found = chosen.score(completion, Asked(benchmark, question, variant, target))
    except InputError:
        raise
    except Exception as e:  # noqa: BLE001  a benchmark's own code may fail in any way; the others are scored
        why = " ".join((str(e) if type(e) is ValueError else f"{type(e).__name__}: {e}").split())[:300]
        return said(None, "error", None, None, f"scoring: {why}")
    if not math.isfinite(found.score):
        return said(None, "error", found.answer, found.rule, f"scoring: the score is {found.score}")
    status = status if status in _CUT else "unparsed" if found.answer is None else "ok"
    return said(found.score, status, found.answer, found.rule, None)
