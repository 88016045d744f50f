"""What `until` of an experiment says, and how that ended: when a run is good enough."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import msgspec

from howsure.errors import InputError, UnknownNameError

__all__ = ["Until", "Verdict"]

#: Claims that can be stopped on, as they are told.
CLAIMS = {"these-questions": "these questions", "new-questions": "new questions"}


class Until(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a run is good enough; either `width` or `detect`.

    Raises
    ------
    InputError
        When a value or a combination makes no sense.
    """

    width: float | None = None
    """Of each model's interval, high - low."""
    detect: float | None = None
    """Smallest true difference of a pair of models that is to be found with `power`."""
    level: float = 0.95
    claim: str = "these-questions"
    rule: str = "sequence"
    """One of `stopping.RULES`."""
    models: tuple[str, str] | None = None
    """The pair that `detect` is about; needed where there are not exactly two models."""
    power: float = 0.8
    borrow: str | None = None
    """Results of other models on all questions, any readable path; the run asks some of them (`limit`)."""

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
            self._fail("models without detect", "name a pair for detect only; width is about each model")
        if self.models is not None and self.models[0] == self.models[1]:
            self._fail(f"models is {self.models[0]!r} twice", "name two models")

    def _check_names(self) -> None:
        from howsure.stats.core.claims import STOPPING_RULES

        if self.rule not in STOPPING_RULES:
            raise UnknownNameError("rule", self.rule, STOPPING_RULES, where="until")
        if self.claim not in CLAIMS:
            raise UnknownNameError("claim", self.claim, CLAIMS, where="until")
        if self.claim == "new-questions" and self.rule not in {"sequence", "pooled"}:
            self._fail(f"rule {self.rule!r} cannot claim 'new-questions'", "use the rule sequence or pooled")
        if self.borrow is not None and self.rule not in {"sequence", "pooled"}:
            self._fail(f"rule {self.rule!r} cannot borrow", "use the rule sequence or pooled")

    def _fail(self, what: str, remedy: str) -> None:
        raise InputError(what, where="until", remedy=remedy)

    def pair(self, generations: Mapping[str, int]) -> tuple[str, str] | None:
        """The two models that `detect` is about, None for `width`; InputError where they are not named.

        Parameters
        ----------
        generations
            Of each model, by label. Greedy ones, which have one where others have several, have to be named.
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
        """InputError where the rule cannot be asked of a run in stages (`allocate: adaptive`)."""
        if self.rule not in {"sequence", "pooled"}:
            self._fail(
                f"rule {self.rule!r} needs rounds of all questions alike, and adaptive allocation has none",
                "use the rule sequence or pooled",
            )

    @property
    def target(self) -> float:
        """Width of the interval that is narrow enough.

        A two-sided test finds D with this power where its standard error is at most D / (z_{(1+level)/2} + z_power),
        as `pairs.Comparison.detectable` has it, so the half-width z_{(1+level)/2} SE is to be at most
        D z_{(1+level)/2} / (z_{(1+level)/2} + z_power). Other rules have a wider interval for the same error, which
        errs to the safe side.
        """
        if self.detect is None:
            assert self.width is not None
            return self.width
        from scipy import special

        z = float(special.ndtri((1 + self.level) / 2))
        return 2 * self.detect * z / (z + float(special.ndtri(self.power)))


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How one model, or a pair of models, ended: for the user by `str()`, for the manifest as it is."""

    models: tuple[str, ...]
    ended: Literal["narrow", "different", "unreachable", "all", "alone"]
    """Narrow enough; the interval excludes 0; no number of rounds could do it; all rounds are done; the other model of
    the pair was given up, so that this one went through all its rounds."""
    rounds: int
    """Rounds asked for."""
    generations: int
    """Rounds that there could have been."""
    width: float
    """That was to be reached."""
    score: float | None
    """Score, or difference of the pair; None where unknown."""
    half: float | None
    """Half the width of the interval; None where unknown."""
    least: float | None
    """Narrowest width that more generations could reach: of new questions, not 0."""
    needed: float | None
    """Rounds expected to be needed; None where unknown or no number of them would do."""
    rule: str
    level: float
    claim: str
    n_questions: int = 0
    """With scores."""
    borrowed: int = 0
    """Questions of the reference that the score is about; 0 where nothing is borrowed."""
    is_adaptive: bool = False
    """Whether rounds are generations per question on average, allocated in stages."""

    @property
    def is_early(self) -> bool:
        """Whether generations were saved."""
        return self.rounds < self.generations

    def __str__(self) -> str:
        who = " - ".join(self.models)
        claim = CLAIMS[self.claim]
        if self.borrowed:
            these = self.claim == "these-questions"
            claim = f"{'all' if these else 'new questions like the'} {self.borrowed:,} questions of the reference"
        how = f"{self.rule}, {100 * self.level:g} %, {claim}"
        result = "no interval"
        if self.score is not None and self.half is not None:
            # Two digits of the half-width that still matter.
            digits = min(max(3, 1 - math.floor(math.log10(self.half))), 6) if self.half > 0 else 3
            result = f"{self.score:.{digits}f} ± {self.half:.{digits}f} ({how})"
        unit = "generations per question" if self.is_adaptive else "rounds"
        done = f"{self.rounds} of {self.generations} {unit}"
        if self.ended == "alone":
            return f"{who}: all {self.rounds} {unit}, as the other model of the pair was given up"
        if self.ended == "unreachable":
            return (
                f"{who}: stopped after {done}: {result}; more generations cannot make it narrower than "
                f"± {(self.least or 0) / 2:.3g}, more questions can: {self._questions()}"
            )
        if self.ended == "all":
            likely = f" yet, about {self.needed:,.0f} {unit} would do it" if self.needed else " yet"
            if self.generations == 1:
                likely = ": one generation tells nothing of the noise; ask for several"
            return f"{who}: all {self.rounds} {unit}: {result}; not within ± {self.width / 2:.3g}{likely}"
        # Such a stop depends on the score, not on its variance alone, and leaves an interval for one look too narrow.
        why = "; it excludes 0; an interval made for one look, as of compare, misses too often here"
        return f"{who}: stopped after {done}: {result}{why if self.ended == 'different' else ''}"

    def _questions(self) -> str:
        """How many it takes at least: the width that data noise leaves falls with their square root."""
        least = math.floor(self.n_questions * ((self.least or 0) / self.width) ** 2) + 1
        return f"over {least:,} in place of {self.n_questions:,}"
