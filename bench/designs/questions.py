"""Statements about single questions: P(correct) of each, and which labels are wrong.

P(correct): k generations of each question are drawn for every model of math500_cot and aime2024_cot, whose question
means of about 1,100 generations are the truth. A question mean is known to the nearest 1/1,100 (46 % of those of
aime2024_cot are 0), so an interval that comes within half of that holds it.

Label errors: simulated benchmarks of 100 or 400 questions with 2, 4 or 10 options or a free answer. The logit of
P(correct) is the ability of a model, the ease of a question (sd 1.6) and their interaction (sd .7); abilities are
spread evenly over 2.4 logits. A wrong answer comes from a distribution over the wrong options that is part the
question's (.6, so that errors of models are correlated) and part the model's own. Planted on 2, 5 or 10 %:

- random: the label is moved to any other option;
- popular: it is moved to the most frequent wrong answer;
- easy, hard: it is moved to any other option, on questions of the easier or the harder half only;
- unsolvable: answers are spread at random, and the label is any option;
- two right: two answers are right, in any proportion, and the label is one of them: no wrong label;
- traps: the label is right, and models give one wrong option with a chance of .9 (Beta(9, 1)): no wrong label;
- random + traps: both, each on the given share.

The old rule took exp(evidence) times the odds of a share of .033 as the odds that a label is wrong. The new one gives
the range from 0 to `p_wrong_max`. On real difficulties, P(correct) are the question means of published results.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from designs.data import Array, ask, covers
from designs.engine import LEVEL, Table, guarantee
from howsure.stats.questions import AnswerCounts, estimate_p_correct, find_label_errors
from published_results import MANY_GENERATIONS, load_published

Flags = NDArray[np.bool_]


@guarantee(
    {"P(correct) of a question: average coverage of the interval at .95":
     "benchmark | k | coverage | ± | worst model | mean width"},
    quick={"draws": 2},
    full={"draws": 20},
)  # fmt: skip
def p_correct(table: Table, draws: int, resolution: float = 0.5 / 1100) -> None:
    for name, k in product(MANY_GENERATIONS, (2, 5, 10)):
        truth = load_published(name).mean
        rng, covered, width = np.random.default_rng([k, truth.shape[1]]), np.zeros((draws, len(truth))), np.zeros(draws)
        for i in range(draws):
            result = estimate_p_correct(ask(truth, k, rng), level=LEVEL)
            covered[i] = covers(result.low - resolution, result.high + resolution, truth).mean(axis=1)
            width[i] = np.mean(result.high - result.low)
        error = float(covered.mean(axis=1).std() / np.sqrt(draws))
        table.check(covered.mean() >= 0.93 - 3 * error, f"{name}, k = {k}: covers {covered.mean():.3f} ± {error:.3f}")
        table.add(name, k, float(covered.mean()), error, f"{covered.mean(axis=0).min():.2f}", float(width.mean()))


# ---- label errors

KINDS = ("none", "random", "popular", "easy", "hard", "unsolvable", "two right", "traps", "random + traps")
#: Bins of a stated probability.
BINS = (0, 0.02, 0.1, 0.3, 0.6, 0.9, 1.01)


class Audited(NamedTuple):
    """What the audit says of the questions of some benchmarks, shape (N,), and what is true."""

    where: NDArray[np.int64]  # the place of the benchmark among all
    wrong: Flags  # the label is no right answer
    broken: Flags  # the same, or a question with two right answers
    suspected: Flags
    old: Array  # probability by the old rule
    limit: Array  # upper limit by the new one
    rank: NDArray[np.int64]  # by evidence, 0 is the most suspicious
    rank_by_p: NDArray[np.int64]  # by P(correct)

    def describe(self) -> list[str]:
        """Return what a row says."""
        sure = self.old > 0.5
        return [
            f"{self.suspected.mean():.3f}",
            find_mean(self.wrong, self.suspected),
            f"{find_mean(self.old, sure)} ({int(sure.sum())})",
            find_mean(self.wrong, sure),
            find_mean(self.old, self.suspected),
            f"0 to {find_mean(self.limit, self.suspected)}",
            *("–" if np.isnan(share) else f"{share:.2f}" for share in self.find_precision()),
        ]

    def find_precision(self) -> list[float]:
        """Return the share of errors, by evidence and by P(correct), in as many first places as there are errors."""
        errors = np.bincount(self.where, self.broken)[self.where]
        found = [self.broken[rank < errors] for rank in (self.rank, self.rank_by_p)]
        return [float(first.mean()) if first.size else np.nan for first in found]

    def check_limits(self, table: Table, cell: str) -> None:
        """Check that in each bin of the limit the share of wrong labels is at most the mean limit."""
        for some, (low, high) in product((np.ones(len(self.where), bool), self.suspected), pairwise(BINS)):
            here = some & (self.limit >= low) & (self.limit < high)
            if (n := int(here.sum())) >= 10:
                stated, observed = float(self.limit[here].mean()), float(self.wrong[here].mean())
                most = stated + 3 * np.sqrt(stated * (1 - stated) / n)
                table.check(observed <= most, f"{cell}: {stated:.2f} stated, {observed:.2f} observed of {n}")


def find_mean(values: Array | Flags, where: Flags) -> str:
    return f"{values[where].mean():.2f}" if where.any() else "–"


def pool(audited: Sequence[Audited]) -> Audited:
    """Put the questions of several benchmarks together."""
    return Audited(*(np.concatenate(parts) for parts in zip(*audited, strict=True)))


def plant(
    rng: np.random.Generator, p: Array, k: int, kind: str, options: int, share: float
) -> tuple[AnswerCounts, Flags, Flags]:
    """Answer a benchmark with planted errors k times, P(correct) of each model and question with the right label.

    Beside the answers: of each question, whether the label is no right answer; or also whether there are two right
    ones. 0 options are a free answer, one of 60.
    """
    (M, N), A = p.shape, options or 60
    concentration = np.full(A - 1, 0.5 if options else 0.05)
    lure = rng.dirichlet(concentration, N)
    wrong_options = 0.6 * lure + 0.4 * rng.dirichlet(concentration, (M, N))
    # Option 0 is the right one
    chance: Array = np.concatenate([p[..., None], (1 - p)[..., None] * wrong_options], axis=2)
    favourite, at = 1 + lure.argmax(axis=1), np.arange(N)
    u = rng.random(N)
    chosen: Flags = np.asarray(u < share)
    label, two = np.zeros(N, np.int64), np.zeros(N, bool)
    if kind in {"easy", "hard"}:
        is_hard = p.mean(axis=0) < np.median(p.mean(axis=0))
        chosen = (u < 2 * share) & (is_hard == (kind == "hard"))
    if kind in {"random", "easy", "hard", "random + traps"}:
        label[chosen] = rng.integers(1, A, int(chosen.sum()))
    if kind == "popular":
        label[chosen] = favourite[chosen]
    if kind == "unsolvable":
        chance[:, chosen] = rng.dirichlet(np.full(A, 1.0 if options else 0.3), (M, int(chosen.sum())))
        label[chosen] = rng.integers(0, A, int(chosen.sum()))
    if kind == "two right":
        two, part = chosen, rng.random(N) * chosen
        chance[:, at, favourite] += part * chance[:, :, 0]
        chance[:, :, 0] *= 1 - part
        label[chosen] = np.where(rng.random(int(chosen.sum())) < 0.5, favourite[chosen], 0)
    if kind in {"traps", "random + traps"}:
        start = 0 if kind == "traps" else share
        fooled = np.where((u >= start) & (u < start + share), rng.beta(9, 1, N), 0)
        chance *= (1 - fooled)[:, None]
        chance[:, at, favourite] += fooled
    wrong: Flags = chosen if kind == "unsolvable" else np.asarray((label > 0) & ~two)
    counts = rng.multinomial(k, chance / chance.sum(axis=2, keepdims=True))
    shown = rng.permuted(np.tile(np.arange(A), (N, 1)), axis=1)
    model, question, option = np.nonzero(counts)
    n = counts[model, question, option]
    texts, questions = [f"{i:02d}" for i in range(A)], [f"q{i:05d}" for i in range(N)]
    answers = AnswerCounts.of(
        "simulated",
        ([f"m{i:02d}" for i in range(M)], questions, texts),
        (model, question, shown[question, option]),
        n=n,
        scored=n,
        total=n * (option == label[question]),
        targets={one: texts[shown[i, label[i]]] for i, one in enumerate(questions)},
    )
    return answers, wrong, wrong | two


def audit(where: int, answers: AnswerCounts, wrong: Flags, broken: Flags) -> Audited:
    """Audit one benchmark; questions come in the order of the audit."""
    audited = find_label_errors(answers)
    N = len(audited.questions)
    at = np.array([int(question[1:]) for question in audited.questions])
    rank_by_p = np.empty(N, np.int64)
    rank_by_p[np.argsort(audited.p_correct, kind="stable")] = np.arange(N)
    old = expit(audited.evidence + logit(0.033))
    return Audited(np.full(N, where), wrong[at], broken[at], audited.suspected, old, audited.p_wrong_max,
                   np.arange(N), rank_by_p)  # fmt: skip


SAID = (
    "share of suspected questions | of them wrong | old rule: probability above .5 | of them wrong"
    " | old rule: mean probability of suspected questions | new rule: their mean range | precision by evidence"
    " | by P(correct)"
)


@guarantee(
    {"Label errors that were planted: the suspected questions of the audit": f"kind | models x generations | {SAID}",
     "Label errors that were planted: share of wrong labels by the stated probability (number of questions)":
     f"rule | stated | {' | '.join(KINDS)}"},
    quick={"designs": ((3, 1), (6, 5)), "options": (4, 0), "sizes": (200,), "shares": (0.1,)},
    full={"designs": ((1, 10), (3, 1), (6, 5), (10, 1), (15, 2)), "options": (2, 4, 10, 0), "sizes": (400, 100, 400),
          "shares": (0.02, 0.05, 0.1)},
)  # fmt: skip
def planted(
    suspects: Table,
    reliability: Table,
    designs: tuple[tuple[int, int], ...],
    options: tuple[int, ...],
    sizes: tuple[int, ...],
    shares: tuple[float, ...],
) -> None:
    """Over options, shares and two levels of difficulty, by kind of error, models and generations."""
    of_kind: dict[str, list[Audited]] = {kind: [] for kind in KINDS}
    for kind, (models, k) in product(KINDS, designs):
        parts: list[Audited] = []
        for A in options:
            if kind in {"popular", "two right"} and A == 2:
                continue  # there is one wrong option
            cell = []
            for i, share in enumerate((0.0,) if kind == "none" else shares):
                rng = np.random.default_rng([KINDS.index(kind), models, k, A, i])
                ability = np.linspace(-1.2, 1.2, models)[:, None] if models > 1 else np.zeros((1, 1))
                ease = rng.normal(0, 1.6, sizes[i])
                own = rng.normal(0, 0.7, (models, sizes[i]))
                p = np.asarray(expit(1.0 - 0.7 * (i % 2) + ability + ease + own))
                cell.append(audit(len(parts) + i, *plant(rng, p, k, kind, A, share)))
            pool(cell).check_limits(suspects, f"{kind}, {models} models x {k}, {A} options")
            parts += cell
        audited = pool(parts)
        of_kind[kind].append(audited)
        suspects.add(kind, f"{models} x {k}", *audited.describe())
    for kind in ("random", "popular", "two right"):
        apart = [one._replace(where=one.where + 1000 * i) for i, one in enumerate(of_kind[kind])]
        by_evidence, by_p = pool(apart).find_precision()
        suspects.check(by_evidence > by_p, f"{kind}: precision {by_evidence:.3f}, by P(correct) {by_p:.3f}")
    for rule, (low, high) in product(("old", "limit"), pairwise(BINS)):
        cells = []
        for stated, wrong in ((getattr(one, rule), one.wrong) for one in map(pool, of_kind.values())):
            here = (stated >= low) & (stated < high)
            cells.append(f"{find_mean(wrong, here)} ({int(here.sum())})")
        stated_range = f"{low:g} to {min(high, 1):g}"
        named = ("old", stated_range) if rule == "old" else ("new", f"at most {stated_range}")
        reliability.add(*named, *cells)


@guarantee(
    {"Label errors planted on the difficulties of published results":
     f"benchmark, kind | models x generations | {SAID}"},
    quick={"kinds": ("random", "traps"), "repetitions": 1},
    full={"kinds": KINDS, "repetitions": 2},
)  # fmt: skip
def planted_on_published(table: Table, kinds: tuple[str, ...], repetitions: int) -> None:
    """Six models of each, evenly from the weakest to the best."""
    for name, A in (("math500_cot", 0), ("CRUXEval-output-T0.8", 0), ("math500_cot", 4)):
        cells = load_published(name)
        mean = cells.mean[:, np.all(cells.n > 0, axis=0)]
        order = np.argsort(mean.mean(axis=1))[np.linspace(0, len(mean) - 1, 6).round().astype(int)]
        p, answer = np.clip(mean[order], 0, 1), f"{A} options" if A else "free answer"
        for kind in kinds:
            seeds = ([i, A, KINDS.index(kind)] for i in range(repetitions))
            audited = pool([audit(i, *plant(np.random.default_rng(seed), p, 5, kind, A, 0.05))
                            for i, seed in enumerate(seeds)])  # fmt: skip
            audited.check_limits(table, f"{name}, {kind}, {A} options")
            table.add(f"{name} ({answer}), {kind}", "6 x 5", *audited.describe())
