"""Define the key `until` of an experiment (when a run is precise enough) and the verdict with which a run ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import msgspec

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.claims import MEAN_CLAIMS, STOPPING_RULES

__all__ = ["StoppingConfig", "StoppingReason", "StoppingVerdict"]

#: Why a run ended: the interval is narrow enough; the interval excludes 0; no number of rounds could make it narrow
#: enough; all rounds are done; the other model of the pair was given up, so this one sampled all its rounds.
StoppingReason = Literal["narrow", "different", "unreachable", "all", "alone"]


class StoppingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rule that says when a run is precise enough; the user gives either `width` or `detect`.

    Raises
    ------
    InputError
        When a value or a combination of values is not allowed.
    """

    width: float | None = None
    """Width of each model's interval, high - low."""
    detect: float | None = None
    """Smallest true difference of a pair of models that the run must detect with probability `power`."""
    level: float = 0.95
    claim: str = "these-questions"
    rule: str = "sequence"
    """One of `stats.core.claims.STOPPING_RULES`."""
    models: tuple[str, str] | None = None
    """The pair of models for `detect`; required unless there are exactly two models."""
    power: float = 0.8
    borrow: str | None = None
    """Path of results of other models on all questions; the run samples some of the questions (`limit`)."""

    def __post_init__(self) -> None:
        if (self.width is None) == (self.detect is None):
            self._fail("give either width or detect", "until: {width: 0.02} or until: {detect: 0.01}")
        for name, value in (("width", self.width), ("detect", self.detect)):
            if value is not None and not 0 < value < math.inf:
                self._fail(f"{name} is {value!r}", "allowed: above 0, such as 0.02")
        if not 0 < self.level < 1:
            self._fail(f"level is {self.level!r}", "allowed: between 0 and 1, such as 0.95")
        if not 0.5 <= self.power < 1:
            self._fail(f"power is {self.power!r}", "allowed: from 0.5 to below 1, such as 0.8")
        self._check_names()
        if self.models is not None and self.detect is None:
            self._fail("models without detect", "name a pair for detect only; width applies to each model")
        if self.models is not None and self.models[0] == self.models[1]:
            self._fail(f"models is {self.models[0]!r} twice", "name two models")

    def _check_names(self) -> None:
        """Raise InputError for an unknown rule or claim, or a combination that does not exist."""
        if self.rule not in STOPPING_RULES:
            raise UnknownNameError("rule", self.rule, STOPPING_RULES, where="until")
        if self.claim not in MEAN_CLAIMS:
            raise UnknownNameError("claim", self.claim, MEAN_CLAIMS, where="until")
        if self.claim == "new-questions" and self.rule not in {"sequence", "pooled"}:
            self._fail(f"rule {self.rule!r} cannot claim 'new-questions'", "use the rule sequence or pooled")
        if self.borrow is not None and self.rule not in {"sequence", "pooled"}:
            self._fail(f"rule {self.rule!r} cannot borrow", "use the rule sequence or pooled")

    def _fail(self, what: str, remedy: str) -> None:
        raise InputError(what, where="until", remedy=remedy)

    def find_pair(self, generations: Mapping[str, int]) -> tuple[str, str] | None:
        """Return the pair of models for `detect`, or None for `width`; raise InputError if the pair must be named.

        Parameters
        ----------
        generations
            Generations of each model, by label. If other models have several generations, a greedy model, which has
            one, is not chosen unless it is named.
        """
        if self.detect is None:
            return None
        if self.models is None:
            labels = [label for label, most in generations.items() if most > 1] or list(generations)
            if len(labels) != 2:
                self._fail(f"detect with {len(labels)} models", "name the pair: until: {detect: ..., models: [a, b]}")
            return labels[0], labels[1]
        for label in self.models:
            if label not in generations:
                raise UnknownNameError("model", label, generations, where="until")
        return self.models

    def check_adaptive(self) -> None:
        """Raise InputError if the rule cannot be used with adaptive allocation."""
        if self.rule not in {"sequence", "pooled"}:
            self._fail(
                f"rule {self.rule!r} needs rounds in which all questions are sampled, and adaptive allocation has none",
                "use the rule sequence or pooled",
            )

    @property
    def target(self) -> float:
        """Return the width at which the interval is narrow enough.

        A two-sided test detects D with this power if its standard error is at most D / (z_{(1+level)/2} + z_power),
        as for `detectable` of a comparison. So the half-width z_{(1+level)/2} SE must be at most
        D z_{(1+level)/2} / (z_{(1+level)/2} + z_power). Other rules have a wider interval for the same error, so that
        the power is larger.
        """
        if self.detect is None:
            assert self.width is not None
            return self.width
        from scipy import special

        z = float(special.ndtri((1 + self.level) / 2))
        return 2 * self.detect * z / (z + float(special.ndtri(self.power)))


class StoppingVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Why the sampling of one model, or a pair of models, ended; `str()` returns the sentence for the user."""

    models: tuple[str, ...]
    reason: StoppingReason
    n_rounds: int
    """Rounds that were requested."""
    generations: int
    """Rounds of the experiment."""
    width: float
    """The width that the interval had to reach."""
    score: float | None
    """Score, or difference of the pair; None where unknown."""
    half_width: float | None
    """Half the width of the interval; None where unknown."""
    least_width: float | None
    """Narrowest width that more generations could reach; above 0 for the claim about new questions."""
    needed: float | None
    """Rounds expected to be needed; None where unknown, or where no number of them suffices."""
    rule: str
    level: float
    claim: str
    n_questions: int = 0
    """Questions with scores."""
    borrowed_questions: int = 0
    """Number of questions of the reference, for which the score is estimated; 0 if `borrow` is not used."""
    is_adaptive: bool = False
    """Whether generations are allocated in stages, so that rounds mean the average generations per question."""

    @property
    def is_early(self) -> bool:
        """Return whether the run stopped before all rounds were done."""
        return self.n_rounds < self.generations

    def __str__(self) -> str:
        who = " - ".join(self.models)
        claim = self.claim.replace("-", " ")
        if self.borrowed_questions:
            these = self.claim == "these-questions"
            claim = (
                f"{'all' if these else 'new questions like the'} {self.borrowed_questions:,} questions of the reference"
            )
        how = f"{self.rule}, {100 * self.level:g} %, {claim}"
        result = "no interval"
        if self.score is not None and self.half_width is not None:
            # The half-width is printed with two significant digits.
            digits = min(max(3, 1 - math.floor(math.log10(self.half_width))), 6) if self.half_width > 0 else 3
            result = f"{self.score:.{digits}f} ± {self.half_width:.{digits}f} ({how})"
        unit = "generations per question" if self.is_adaptive else "rounds"
        done = f"{self.n_rounds} of {self.generations} {unit}"
        if self.reason == "alone":
            return f"{who}: all {self.n_rounds} {unit}, as the other model of the pair was given up"
        if self.reason == "unreachable":
            return (
                f"{who}: stopped after {done}: {result}; more generations cannot make it narrower than "
                f"± {(self.least_width or 0) / 2:.3g}, more questions can: {self._describe_questions()}"
            )
        if self.reason == "all":
            likely = f" yet, about {self.needed:,.0f} {unit} would do it" if self.needed else " yet"
            if self.generations == 1:
                likely = ": one generation cannot measure the noise; request several"
            return f"{who}: all {self.n_rounds} {unit}: {result}; not within ± {self.width / 2:.3g}{likely}"
        # This stop depends on the score itself and not only on its variance, so an ordinary interval is too narrow.
        why = "; it excludes 0; an interval for one analysis, such as that of compare, would be too narrow here"
        return f"{who}: stopped after {done}: {result}{why if self.reason == 'different' else ''}"

    def _describe_questions(self) -> str:
        """Return how many questions are needed: the width from data noise falls with their square root."""
        least = math.floor(self.n_questions * ((self.least_width or 0) / self.width) ** 2) + 1
        return f"over {least:,} in place of {self.n_questions:,}"
