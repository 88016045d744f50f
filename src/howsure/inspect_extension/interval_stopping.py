"""Early stopping of a task of Inspect: when the interval of its score, or of a difference to a log, is narrow enough.

Inspect schedules the samples epoch by epoch. An analysis is made when all samples of an epoch have ended, from complete
epochs only: of an epoch that is going on, the samples that are answered fast would come first. The confidence sequence
of `stats.sequential` accounts for the analyses, so that there may be one after each epoch.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from inspect_ai.dataset import Sample
from inspect_ai.hooks import Hooks, SampleEnd, hooks
from inspect_ai.log import EvalSpec
from inspect_ai.scorer import SampleScore, Value, ValueToFloat, value_to_float
from inspect_ai.util import EarlyStop
from pydantic import JsonValue

from howsure.errors import InputError

if TYPE_CHECKING:
    from howsure.stats.core.cells import Cells

__all__ = ["IntervalStopping"]

#: What is left out when a task is stopped: later epochs of all samples, or samples of the first epoch too.
StoppingUnit: TypeAlias = Literal["epochs", "samples"]
#: What the interval is about.
StoppingClaim: TypeAlias = Literal["these-questions", "new-questions"]

#: Samples before the first analysis of a stream of samples: the guarantee is asymptotic.
FIRST_SAMPLES = 30

_logger = logging.getLogger(__name__)
_default_value = value_to_float()


class IntervalStopping:
    """End a task when the interval of its score, or of its difference to a log, is narrow enough.

    It follows Inspect's protocol of early stopping: ``Task(..., early_stopping=IntervalStopping(width=0.04))``.

    Parameters
    ----------
    width
        Width to be reached, upper minus lower limit, above 0.
    level
        Coverage of the interval at all analyses at once, in (0, 1).
    claim
        "these-questions": the expected score on the samples of the task; "new-questions": on all samples of their kind,
        whose width epochs alone reduce only as far as the data noise.
    over
        "epochs": an analysis after each epoch from the second on. "samples": an analysis after each sample of the first
        epoch in the order of the data set, which has to be random (``--sample-shuffle``); the claim is then
        "new-questions", and further epochs are run only if the first one was not enough.
    compare_to
        Log of Inspect, run folder or table with one other model on the same samples: the interval is that of the
        difference. None: that of the score.
    scorer
        Scorer whose scores count, and after a slash the key of its value where that is a dict; None: the first one.
    to_float
        Function from the value of a score to a number; Inspect's by default.
    clock
        Function that returns the time in seconds, for the time that decisions take.

    Attributes
    ----------
    seconds
        Time that each analysis took.

    Raises
    ------
    InputError
        When an argument is out of range, or `compare_to` cannot be read or holds several models.

    Examples
    --------
    >>> import asyncio
    >>> from types import SimpleNamespace
    >>> stopping = IntervalStopping(width=3.0)
    >>> samples = [SimpleNamespace(id="q1"), SimpleNamespace(id="q2")]
    >>> asyncio.run(stopping.start_task(SimpleNamespace(eval_id="e"), samples, 9))
    'howsure interval stopping'
    >>> asyncio.run(stopping.schedule_sample("q1", 3)) is None
    True
    """

    def __init__(
        self,
        width: float,
        *,
        level: float = 0.95,
        claim: StoppingClaim = "these-questions",
        over: StoppingUnit = "epochs",
        compare_to: str | Path | None = None,
        scorer: str | None = None,
        to_float: ValueToFloat = _default_value,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        _check_arguments(width, level, claim, over)
        self.width, self.level, self.over = width, level, over
        self.claim: StoppingClaim = "new-questions" if over == "samples" else claim
        self._scorer, self._to_float, self._clock = scorer, to_float, clock
        self._reference = None if compare_to is None else _read_reference(str(compare_to))
        self._task = ""
        self._forget()

    def _forget(self) -> None:
        """Begin without samples."""
        self.seconds: list[float] = []
        self._ids: list[str] = []
        self._sums = _Sums([])
        self._epochs = 0
        self._values: list[dict[str, float]] = []  # of each epoch
        self._open: list[set[str]] = []  # samples of each epoch that have not ended
        self._analysed = 0  # epochs that were analysed, or samples of the first one
        self._result: dict[str, JsonValue] = {}
        self._reason: str | None = None
        self._notes: list[str] = []
        self._n_stopped = 0

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Register the samples of a task, and return the name of this manager.

        Parameters
        ----------
        task, samples, epochs
            As Inspect gives them.

        Raises
        ------
        InputError
            When it already watches a task that has not ended.
        """
        if self._task:
            what = "this IntervalStopping already watches a task"
            raise InputError(what, where="early_stopping", remedy="give each task and model its own, or run one by one")
        self._forget()
        self._task, self._epochs = task.eval_id, epochs
        self._ids = list(dict.fromkeys(str(sample.id) for sample in samples))
        self._sums = _Sums(self._ids)
        self._values = [{} for _ in range(epochs)]
        self._open = [set(self._ids) for _ in range(epochs)]
        if epochs == 1 and self.over == "epochs":
            self._note("the task has one epoch, so that there is nothing to stop: run it with --epochs 2 or more")
        if self._reference is not None and not set(self._ids) & set(self._reference.questions):
            self._note(f"no sample id of the task is in {self._reference.benchmark} of compare_to: no difference")
        _watch_errors(self)
        import_module("howsure.stats.sequential")  # here, so that the first decision does not wait for it
        return "howsure interval stopping"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:  # noqa: A002  # Inspect's name
        """Return why a sample is left out, or None to run it.

        Parameters
        ----------
        id, epoch
            Id of the sample, and epoch from 1.
        """
        if self._reason is None:
            return None
        self._n_stopped += 1
        return EarlyStop(id=id, epoch=epoch, reason=self._reason)

    async def complete_sample(
        self,
        id: str | int,  # noqa: A002  # Inspect's name
        epoch: int,
        scores: dict[str, SampleScore],
    ) -> None:
        """Take the scores of a sample, and analyse when its epoch is complete.

        Parameters
        ----------
        id, epoch
            Id of the sample, and epoch from 1.
        scores
            Scores by scorer; a sample without a score, or with NaN, does not count.
        """
        value = self._find_value(scores) if scores else None
        self._end_sample(str(id), epoch, value)

    async def complete_task(self) -> dict[str, JsonValue]:
        """Return the last analysis, as the log stores it under ``results.early_stopping.metadata``."""
        _unwatch_errors(self)
        self._task = ""
        stopped: dict[str, JsonValue] = {"stopped": self._reason is not None, "samples_left_out": self._n_stopped}
        timing: dict[str, JsonValue] = {"longest_decision_ms": round(1000 * max(self.seconds, default=0.0), 3)}
        request: dict[str, JsonValue] = {"width": self.width, "level": self.level, "claim": self.claim}
        return {**stopped, **request, **self._result, **timing, "notes": list(self._notes)}

    def lose_sample(self, sample: str | int, epoch: int) -> None:
        """Record that a sample ended with an error and has no score.

        Parameters
        ----------
        sample, epoch
            Id of the sample, and epoch from 1.
        """
        self._end_sample(str(sample), epoch, None)

    def _end_sample(self, name: str, epoch: int, value: float | None) -> None:
        """Record the end of a sample, and analyse what is complete."""
        if not 1 <= epoch <= self._epochs:
            return
        if value is not None:
            self._values[epoch - 1][name] = value
        self._open[epoch - 1].discard(name)
        if self._reason is None:
            start = self._clock()
            if self._analyse():
                self.seconds.append(self._clock() - start)

    def _analyse(self) -> bool:
        """Make an analysis if there is a new complete part; return whether there was one."""
        if self.over == "samples":
            left = self._open[0]
            n = next((i for i, name in enumerate(self._ids) if name in left), len(self._ids))
            if n <= self._analysed or n < FIRST_SAMPLES:
                return False
            self._analysed = n
            self._decide_samples(self._ids[:n])
            return True
        t = next((i for i, left in enumerate(self._open) if left), self._epochs)
        if t <= self._analysed or t < 2:
            return False
        for epoch in self._values[self._analysed : t]:
            self._sums.add_epoch(epoch)
        self._analysed = t
        self._decide_epochs(t)
        return True

    def _decide_epochs(self, t: int) -> None:
        """Decide after t complete epochs."""
        from howsure.stats.sequential import check_fixed_reference, check_stopping

        cells = self._sums.make_cells()
        if not cells.questions:
            return
        if self._reference is None:
            decision = check_stopping(cells, self.width, level=self.level, rule="sequence", claim=self.claim)
        else:
            decision = check_fixed_reference(cells, self._reference, self.width, level=self.level, claim=self.claim)
        if note := str(decision.reasons[0]):
            self._note(note)
        numbers = (float(decision.score[0]), float(decision.low[0]), float(decision.high[0]))
        self._settle(numbers, bool(decision.stop[0]), f"{t} of {self._epochs} epochs", int(decision.n_questions[0]))

    def _decide_samples(self, names: list[str]) -> None:
        """Decide after the first samples of the first epoch."""
        from howsure.stats.sequential import confidence_boundary, confidence_sequence

        values = [(name, self._values[0][name]) for name in names if name in self._values[0]]
        if self._reference is not None:
            means = dict(zip(self._reference.questions, self._reference.mean[0].tolist(), strict=True))
            values = [
                (name, value - means[name]) for name, value in values if not math.isnan(means.get(name, math.nan))
            ]
        if len(values) < FIRST_SAMPLES:
            return
        # Narrowest where it is expected to be narrow enough, with the largest standard deviation of scores in [0, 1].
        sd = 0.5 if self._reference is None else math.sqrt(0.5)
        best_at = max((2 * sd * float(confidence_boundary(1, level=self.level, best_at=1)) / self.width) ** 2, 1.0)
        sequence = confidence_sequence([value for _, value in values], level=self.level, best_at=best_at)
        numbers = (float(sequence.mean[-1]), float(sequence.low[-1]), float(sequence.high[-1]))
        self._settle(
            numbers, numbers[2] - numbers[1] < self.width, f"{len(names)} of {len(self._ids)} samples", len(values)
        )

    def _settle(self, numbers: tuple[float, float, float], stop: bool, done: str, n_samples: int) -> None:
        """Keep the numbers of an analysis, and the reason to stop if it is one."""
        score, low, high = (None if math.isnan(number) else round(number, 6) for number in numbers)
        name = "score" if self._reference is None else "difference"
        self._result = {name: score, "low": low, "high": high, "after": done, "n_samples": n_samples}
        if stop:
            what = f"{name} {numbers[0]:.4g} in [{numbers[1]:.4g}, {numbers[2]:.4g}]"
            how = f"{100 * self.level:g} %, {self.claim.replace('-', ' ')}, all analyses accounted for"
            self._reason = f"after {done}: {what} is narrower than {self.width:g} ({how})"

    def _find_value(self, scores: Mapping[str, SampleScore]) -> float | None:
        """Return the number of the scorer that counts; None, with a note, where there is none."""
        wanted = self._scorer or next(iter(scores))
        name, _, key = (wanted, "", "") if wanted in scores else wanted.partition("/")
        if name not in scores:
            self._note(f"there is no scorer {name!r}: no analysis; scorers are {', '.join(scores)}")
            return None
        if self._scorer is None and len(scores) > 1:
            others = ", ".join(list(scores)[1:])
            self._note(f"scorer {name!r} counts; name another with scorer=...: {others}")
        value: Value | None = scores[name].score.value
        if isinstance(value, Mapping):
            if key not in value:
                keys = ", ".join(f"{name}/{one}" for one in value)
                self._note(
                    f"scorer {name!r} has several values, so that there is no analysis: give scorer, one of {keys}"
                )
                return None
            value = value[key]
        elif not isinstance(value, str | float | int):
            self._note(f"scorer {name!r} has lists of values: no analysis; name another scorer")
            return None
        if value is None:
            return None
        number = self._to_float(value)
        return None if math.isnan(number) else number

    def _note(self, line: str) -> None:
        """Warn of something once, and store it with the log."""
        if line not in self._notes:
            self._notes.append(line)
            _logger.warning("howsure: %s", line)

    @property
    def eval_id(self) -> str:
        """Id of the task that it watches; empty before and after."""
        return self._task


class _Sums:
    """Sums of the scores of each sample over complete epochs."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self._index = {name: i for i, name in enumerate(names)}
        self.n = np.zeros(len(names), np.int64)
        self.total, self.total_sq = np.zeros(len(names)), np.zeros(len(names))
        self.low, self.high = np.full(len(names), np.nan), np.full(len(names), np.nan)

    def add_epoch(self, values: Mapping[str, float]) -> None:
        """Add the scores of an epoch."""
        at = np.array([self._index[name] for name in values if name in self._index], int)
        scores = np.array([value for name, value in values.items() if name in self._index])
        self.n[at] += 1
        self.total[at] += scores
        self.total_sq[at] += scores**2
        self.low[at], self.high[at] = np.fmin(self.low[at], scores), np.fmax(self.high[at], scores)

    def make_cells(self) -> Cells:
        """Return the cells of the samples that have a score."""
        from howsure.stats.core.cells import Cells

        at = np.flatnonzero(self.n)
        names = tuple(self.names[i] for i in at)
        return Cells(
            "inspect",
            ("model",),
            names,
            self.n[None, at],
            self.total[None, at],
            self.total_sq[None, at],
            minimum=self.low[None, at],
            maximum=self.high[None, at],
        )


def _check_arguments(width: float, level: float, claim: str, over: str) -> None:
    """Raise InputError for an argument that is out of range."""
    from howsure.stats.core.claims import check_choice, check_level

    if not 0 < width < math.inf:
        raise InputError(f"width is {width!r}", where="IntervalStopping", remedy="allowed: above 0, such as 0.04")
    check_level(level)
    check_choice("claim", claim, ("these-questions", "new-questions"))
    check_choice("over", over, ("epochs", "samples"))


def _read_reference(path: str) -> Cells:
    """Return the cells of the one model at a path."""
    from howsure.results.evaluations import read

    parts = read(path).cells()
    models = [(part, model) for part in parts for model in part.models]
    if len(models) != 1:
        names = ", ".join(f"{model} on {part.benchmark}" for part, model in models) or "none"
        remedy = "give a log of one model on one task"
        raise InputError(f"{len(models)} models to compare to ({names})", where=path, remedy=remedy)
    return models[0][0]


#: Tasks that are watched, by id: samples that end with an error are reported by a hook only.
_watched: dict[str, IntervalStopping] = {}
_hook_names: list[str] = []


def _watch_errors(stopping: IntervalStopping) -> None:
    """Report samples of the task that end with an error; the hook is registered with the first task that needs it."""
    _watched[stopping.eval_id] = stopping
    if not _hook_names:
        # Registered here and not by the entry point: Inspect prints every hook at the start of each evaluation.
        hooks(name="interval_stopping", description="Ends of samples with an error")(_ErrorHook)
        _hook_names.append("interval_stopping")


def _unwatch_errors(stopping: IntervalStopping) -> None:
    """Report no more samples of the task."""
    _watched.pop(stopping.eval_id, None)


class _ErrorHook(Hooks):
    """Report samples that ended with an error to the early stopping of their task."""

    def enabled(self) -> bool:
        """Return whether any task is watched."""
        return bool(_watched)

    async def on_sample_end(self, data: SampleEnd) -> None:
        """Report a sample that has an error; others are reported by Inspect with their scores."""
        stopping = _watched.get(data.eval_id)
        if stopping is not None and data.sample.error is not None:
            stopping.lose_sample(data.sample.id, data.sample.epoch)
