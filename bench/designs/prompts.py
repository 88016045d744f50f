"""Prompt variants: components, means over few of them, how many are enough, quantiles, agreement.

Components: cubes with known ones, balanced and with 15 % of the cells missing, one model per trial; in crossed and in
nested variants, and differences of two models. *Normal*: every effect is normal; *heavy*: variants have t effects with
5 degrees of freedom, questions are either easy or hard; *right or wrong*: uniform effects on P(correct).

Quantiles: 100 questions x 100 prompts, of which 10 % or 30 % of the cells are asked once (balanced):

    P(Y_sq = 1) = sigma(theta_s - beta_q + gamma_sq)

with theta ~ N(0, sd^2), beta ~ N(0, 1.5^2), gamma ~ N(0, interaction^2), all on the logit scale. The truth of a prompt
is its mean P over the questions. In the second table six of 60 prompts break the format and are 2 logits lower. The old
rule is PromptEval as published, with penalty 1: quantiles of the estimated scores.

Flips: the true share of prompts that put two models the other way round. One is .3 logits better, prompts move each by
a normal effect, or one prompt in ten breaks one of them. The truth of each draw is the share among 2,000 more prompts
on its 100 questions; a share that is withheld says nothing wrong.

Sampling noise in the number that is enough: prompts of sd .02 on P(correct), no interaction with the questions;
questions uniform with sd .18 around .5. The space of prompts needs n = (z sd/epsilon)^2 variants for a mean within
epsilon = .01 with delta = .1, which is 16 (z = 1.96, since the percentile is 1 - delta/2).

Agreement: scores of models are evenly spaced on [0, 1], plus normal noise of each model and prompt; the truth is the
mean rank correlation of 4,000 other prompts; coverage is of W with that correlation. Tests are of equal models. Four
answers per question have probabilities from a symmetric Dirichlet(.5), which each prompt raises to a power exp(.5 z);
the true consistency is the mean over 200,000 questions of two prompts.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import special

import howsure
from designs.data import Array, covers, make_cube, names
from designs.engine import ALPHA, LEVEL, LOWEST, Table, guarantee, slack
from howsure.stats.core.claims import PROMPT_CLAIMS, PROMPT_COMPONENTS, PromptComponent
from howsure.stats.core.cube import Cube, Layout
from howsure.stats.core.intervals import variance_limits
from howsure.stats.prompts import (
    FEW_VARIANTS,
    VariantAnswers,
    estimate_components,
    estimate_concordance,
    estimate_prompt_consistency,
    estimate_rank_flips,
    prompteval,
    required_for_space,
    required_variants,
    summarize_variants,
)

Shape = tuple[int, int, int, int]

# ---- components

#: Standard deviations of the effects of question, variant and interaction, and of a generation.
PROCESSES = {
    "normal": (0.22, 0.05, 0.1, 0.35),
    "heavy": (0.22, 0.05, 0.1, 0.35),
    "right or wrong": (0.17, 0.05, 0.05, 0.0),
}


def draw_effect(process: str, name: str, size: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Return draws with variance 1."""
    if process == "right or wrong":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), size)
    if process == "heavy" and name == "variant":
        return np.asarray(rng.standard_t(5, size) / np.sqrt(5 / 3))
    if process == "heavy" and name == "question":
        return np.where(rng.random(size) < 0.5, -1.0, 1.0)
    return np.asarray(rng.standard_normal(size))


def draw_layout(
    process: str, kind: str, shape: Shape, missing: float, rng: np.random.Generator
) -> tuple[Cube | Layout, dict[PromptComponent, float]]:
    """Return a cube with `shape` = (trials, N, S, K), or differences of two of them, and the true components."""
    trials, N, S, K = shape
    if kind == "difference":
        both, true = draw_layout(process, "crossed", (2 * trials, N, S, K), missing, rng)
        assert isinstance(both, Cube)
        return both.difference(both.models[:trials], both.models[trials:]), {name: 2 * v for name, v in true.items()}
    nested = kind == "nested"
    sizes: dict[PromptComponent, tuple[int, ...]] = {
        "question": (trials, N, 1),
        "variant": (trials, N if nested else 1, S),
        "interaction": (trials, N, S),
    }
    sd: dict[PromptComponent, float] = dict(zip(PROMPT_COMPONENTS, PROCESSES[process], strict=True))
    effects = [draw_effect(process, name, size, rng) * sd[name] for name, size in sizes.items()]
    p = 0.5 + effects[0] + effects[1] + effects[2]
    n = np.where(rng.random(p.shape) < missing, 0, K)
    true = {name: value**2 for name, value in sd.items()}
    if process == "right or wrong":
        total = square = rng.binomial(n, p).astype(float)
        true["generation"] = 0.25 - true["question"] - true["variant"] - true["interaction"]
    else:
        y = p[..., None] + sd["generation"] * rng.standard_normal((*p.shape, K))
        total, square = y.sum(axis=3) * (n > 0), (y**2).sum(axis=3) * (n > 0)
    if nested:
        true["variant"] += true.pop("interaction")
    return make_cube(n, total, square, nested=nested), true


def measure_components(
    table: Table, kind: str, designs: list[tuple[int, int, int, float]], trials: int, lowest: float
) -> None:
    """Add bias and coverage of every component, and of the mean on new questions in new variants."""
    center = 0.0 if kind == "difference" else 0.5
    for process, (N, S, K, missing) in product(PROCESSES, designs):
        rng = np.random.default_rng([N, S, K, int(100 * missing), len(process)])
        drawn, true = draw_layout(process, kind, (trials, N, S, K), missing, rng)
        fitted, claim = estimate_components(drawn), PROMPT_CLAIMS[-1]
        design = f"{N} x {S} x {K}" + (f", {missing:.0%} missing" if missing else "")
        between = fitted.interval(claim, LEVEL)
        found = [(name, getattr(fitted, name), fitted.limits(name, LEVEL), true[name]) for name in true]
        found = [one for one in found if not np.all(np.isnan(one[1]))]
        for what, estimate, limits, truth in (
            *found,
            (f"mean, {claim}", fitted.mean, (between.low, between.high), center),
        ):
            covered, off = float(covers(*limits, truth).mean()), estimate - truth
            bias, error = float(off.mean()), float(off.std(ddof=1) / np.sqrt(trials))
            table.check(abs(bias) < 4.5 * error, f"{process}, {design}, {what}: bias {bias:+.5f} ± {error:.5f}")
            table.check(covered > lowest, f"{process}, {design}, {what}: covers {covered:.3f}")
            table.add(process, design, what, f"{truth:.5f}", f"{bias:+.5f}", f"{error:.5f}", covered)


COMPONENTS = "process | questions x variants x generations | what | truth | bias | ± | coverage"
CROSSED = [(100, 10, 2, 0.0), (100, 10, 2, 0.15)]
MORE = [(50, 5, 5, 0.0), (100, 30, 2, 0.15), (200, 20, 1, 0.15)]


@guarantee(
    {f"Prompt variants: components of {kind}": COMPONENTS for kind in (
        "a crossed design", "a nested design, where each question draws its own", "the difference of two models")},
    quick={"more": [], "trials": 200, "lowest": 0.85},
    full={"more": MORE, "trials": 1000, "lowest": 0.885},  # the lowest: 30 heavy-tailed variants
)  # fmt: skip
def components(
    crossed: Table,
    nested: Table,
    difference: Table,
    more: list[tuple[int, int, int, float]],
    trials: int,
    lowest: float,
) -> None:
    measure_components(crossed, "crossed", CROSSED + more, trials, lowest)
    measure_components(nested, "nested", [(100, 4, 2, 0.0), (100, 4, 2, 0.15)], trials, lowest)
    measure_components(difference, "difference", CROSSED, trials, lowest)


# ---- means over few variants, and how many are enough


@guarantee(
    {"Prompt variants: the mean over few of them": "prompts | questions | variants | coverage | width | noted"},
    quick={"trials": 200},
    full={"trials": 2000},
)
def few(table: Table, trials: int) -> None:
    """One in ten breaks the format or none does: the mean covers, or a note says that variants are few."""
    draws = np.random.default_rng(1).standard_normal((2, 1_000_000))
    for broken, N, S in product((0.0, 0.1), (100, 500), (3, 5, 10, 20, 30)):

        def effect(size: tuple[int, ...], rng: np.random.Generator, broken: float = broken) -> Array:
            return np.asarray(0.1 * rng.standard_normal(size) - 2 * (rng.random(size) < broken))

        ease = 0.5 + 1.5 * draws[0] + 0.3 * draws[1] + effect(draws[0].shape, np.random.default_rng(2))
        truth = float(np.mean(1 / (1 + np.exp(-ease))))
        rng, size = np.random.default_rng([N, S, int(100 * broken)]), (trials, N, S)
        logit = 0.5 + 1.5 * rng.standard_normal((trials, N, 1)) + 0.3 * rng.standard_normal(size)
        u = rng.random(size)
        right = (u < 1 / (1 + np.exp(-logit - effect((trials, 1, S), rng)))).astype(float)
        found = summarize_variants(make_cube(1, right))
        low, high = found["low"], found["high"]
        covered = float(covers(low, high, truth).mean())
        noted = bool(np.all([FEW_VARIANTS in str(note) for note in found["note"]]))
        kind = "one in ten is broken" if broken else "none is broken"
        table.check(noted or covered > LOWEST - slack(LOWEST, trials), f"{kind}, {N} x {S}: covers {covered:.3f}")
        table.add(kind, N, S, covered, float(np.mean(high - low)), f"{noted:d}")


@guarantee(
    {"Prompt variants: how many are enough, epsilon .01, delta .1":
     "variants | distribution | sd | space needs | n* as published (mean) | n_star_space (median) | coverage"},
    quick={"trials": 100, "lowest": 0.8},
    full={"trials": 2000, "lowest": 0.9},
)  # fmt: skip
def enough(table: Table, trials: int, lowest: float) -> None:
    """n* as published from N reference variants against what the space needs, with the interval for that."""
    n_designs = min(40, trials // 10)  # n* takes longer than its interval for the space
    kinds = {"normal": "normal", "uniform": "right or wrong", "heavy": "heavy"}
    for N, kind, sd in product((20, 100), kinds, (0.02, 0.03, 0.05)):
        rng = np.random.default_rng([int(100 * sd), N])
        x = 0.5 + sd * draw_effect(kinds[kind], "variant", (trials, N), rng)
        found = required_variants(names(n_designs), x[:n_designs])
        needed = float(required_for_space(sd**2, found.epsilon, found.delta))
        s2 = x.var(axis=1, ddof=1)
        low, high = (required_for_space(v, 0.01, 0.1) for v in variance_limits(s2, x, LEVEL))
        covered = float(covers(low, high, needed).mean())
        table.check(covered > lowest, f"{N} {kind} variants of sd {sd}: covers {covered:.3f}")
        published, space = found.n_star[:, 0].mean(), np.median(required_for_space(s2, 0.01, 0.1))
        table.add(N, kind, f"{sd:g}", f"{needed:.0f}", f"{published:.1f}", f"{space:.0f}", covered)


@guarantee(
    {"How many prompt variants are enough: scores with sampling noise, prompts of sd 0.02":
     "questions x generations | variants | space needs | n_star_space (median) | (z s/epsilon)^2 | corrected (median)"
     " | 10 to 90 % | none | mean squares (median) | none"},
    quick={"trials": 10},
    full={"trials": 80},
)  # fmt: skip
def enough_with_noise(table: Table, trials: int, z: float = 1.959964) -> None:
    truth = float(np.ceil((z * 0.02 / 0.01) ** 2))
    for S, (N, K) in product((30, 100), ((50, 1), (100, 1), (100, 5), (500, 1))):
        rng = np.random.default_rng([N, S, K])
        question, variant = (rng.uniform(-1, 1, size) * np.sqrt(3) for size in ((trials, N, 1), (trials, 1, S)))
        cube = make_cube(K, rng.binomial(K, 0.5 + 0.18 * question + 0.02 * variant).astype(float))
        p = cube.mean
        raw = np.ceil(z**2 * p.mean(axis=1).var(axis=1, ddof=1) / 0.01**2)
        # From the variance over variants without its sampling noise, by mean squares; NaN below 0.
        rest = p - p.mean(axis=1, keepdims=True) - p.mean(axis=2, keepdims=True) + p.mean(axis=(1, 2), keepdims=True)
        noise = (rest**2).sum(axis=(1, 2)) / ((N - 1) * (S - 1)) / N
        v = p.mean(axis=1).var(axis=1, ddof=1) - noise
        squares = np.where(v > 0, np.ceil(z**2 * v / 0.01**2), np.nan)
        columns = howsure.variants(cube, epsilon=0.01, delta=0.1).columns()
        plain, printed = (np.asarray(columns[name], float) for name in ("n_star_space", "n_star_space_corrected"))
        corrected = np.nan_to_num(printed)  # nothing was measured of the prompts: 0
        row = f"{N} x {K}, {S} variants"
        off, off_raw = (np.median(np.abs(value - truth)) for value in (corrected, raw))
        table.check(off <= off_raw, f"{row}: the corrected number is off by {off:.0f}, the other by {off_raw:.0f}")
        median = np.median(corrected)
        if S == 100 and N * K >= 500:
            table.check(truth / 2 <= median <= 2 * truth, f"{row}: corrected {median:.0f}, not {truth:.0f}")
        low, high = np.nanquantile(printed, [0.1, 0.9]) if np.any(~np.isnan(printed)) else (np.nan, np.nan)
        table.add(f"{N} x {K}", S, *(f"{value:.0f}" for value in (truth, np.median(plain), np.median(raw), median)),
                  f"{low:.0f} to {high:.0f}", f"{np.mean(np.isnan(printed)):.2f}",
                  f"{np.median(np.nan_to_num(squares)):.0f}", f"{np.mean(np.isnan(squares)):.2f}")  # fmt: skip


# ---- quantiles

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SHOWN = "rms error | bias of 5 % | bias of 95 % | spread/true"


def draw_sparse(p: Array, share: float, rng: np.random.Generator) -> Cube:
    """Return a cube of one model, of which as many cells of each question and of each prompt are asked once."""
    width = round(share * 100)
    asked: NDArray[np.bool_] = (np.arange(100) - np.arange(100)[:, None]) % 100 < width
    asked = asked[np.ix_(rng.permutation(100), rng.permutation(100))][:, : p.shape[1]]
    total = np.where(asked, rng.binomial(1, p), 0).astype(float)
    return make_cube(asked[None].astype(int), total[None])


@guarantee(
    {"Quantiles over prompts from 10 % and 30 % of 100 x 100 cells (prompteval)":
     f"sd of prompts, logit | interaction | asked | {SHOWN} | old: {SHOWN}"},
    quick={"trials": 6},
    full={"trials": 60},
)  # fmt: skip
def quantiles(table: Table, trials: int) -> None:
    for sd, interaction, share in product((0.1, 0.3, 0.6, 1.0), (0.0, 0.5), (0.1, 0.3)):
        rng = np.random.default_rng([int(10 * sd), int(10 * interaction), int(10 * share)])
        true, new, old = np.zeros((3, trials, len(QUANTILES)))
        for i in range(trials):
            logits = sd * rng.standard_normal(100) - 1.5 * rng.standard_normal((100, 1))
            p = special.expit(logits + interaction * rng.standard_normal((100, 100)))
            cube = draw_sparse(p, share, rng)
            true[i] = np.quantile(p.mean(axis=0), QUANTILES)
            new[i] = prompteval(cube, quantiles=QUANTILES).values[0]
            old[i] = np.quantile(prompteval(cube, penalty=1, draws=1).scores[0], QUANTILES)
        squares = [((rule - true) ** 2).mean(axis=1) for rule in (new, old)]
        texts, spreads = [], []
        for rule, square in zip((new, old), squares, strict=True):
            bias, spread = (rule - true).mean(axis=0), np.ptp(rule.mean(axis=0)) / np.ptp(true.mean(axis=0))
            spreads.append(spread)
            texts += [f"{np.sqrt(square.mean()):.3f}", f"{bias[0]:+.3f}", f"{bias[-1]:+.3f}", f"{spread:.2f}"]
        worse, row = squares[0] - squares[1], f"sd {sd}, interaction {interaction}, {share:.0%} asked"
        is_no_worse = worse.mean() <= 3 * worse.std() / np.sqrt(trials) + 1e-12
        table.check(is_no_worse, f"{row}: rms error {texts[0]}, the old rule {texts[4]}")
        table.check(sd < 0.3 or 0.75 <= spreads[0] <= 1.25, f"{row}: spread {spreads[0]:.2f} of the true one")
        table.add(f"{sd}", f"{interaction}", f"{share:.0%}", *texts)


@guarantee(
    {"Quantiles over 60 prompts on 100 questions of which six break the format (prompteval)":
     " | ".join(["asked", *(f"{what} {q:.0%}" for what in ("bias of", "covers") for q in QUANTILES)])},
    quick={"trials": 6},
    full={"trials": 200},
)  # fmt: skip
def broken(table: Table, trials: int) -> None:
    for share in (1.0, 0.3):
        rng = np.random.default_rng([10, int(10 * share)])
        true, low, high, new = np.zeros((4, trials, len(QUANTILES)))
        for i in range(trials):
            theta = 0.1 * rng.standard_normal(60) - 2 * (np.arange(60) < 6)
            p = special.expit(0.5 + theta - 1.5 * rng.standard_normal((100, 1)))
            found = prompteval(draw_sparse(p, share, rng), quantiles=QUANTILES)
            true[i] = np.quantile(p.mean(axis=0), QUANTILES)
            new[i], low[i], high[i] = found.values[0], found.low[0], found.high[0]
        covered = covers(low, high, true).mean(axis=0)
        least = float(covered[[0, 1, 4]].min())
        table.check(trials < 30 or least >= 0.88, f"one prompt in ten broken, {share:.0%} asked: covers {least:.2f}")
        bias = np.mean(new - true, axis=0)
        table.add(f"{share:.0%}", *(f"{one:+.3f}" for one in bias), *(f"{one:.2f}" for one in covered))


@guarantee(
    {"Share of prompts that truly swap two models":
     "effects of prompts | sd, logit | prompts | true share | mean printed | withheld | covered | wrong"},
    quick={"trials": 10},
    full={"trials": 400},
)  # fmt: skip
def flips(table: Table, trials: int) -> None:
    kinds = (("normal", 0.3, 0.0), ("normal", 0.6, 0.0), ("one in ten breaks", 0.1, 1.5))
    for (name, sd, loss), S in product(kinds, (20, 50)):
        rng = np.random.default_rng([11, int(10 * sd), int(10 * loss), S])
        found, truth = np.zeros((3, trials)), np.zeros(trials)
        for i in range(trials):
            effects = sd * rng.standard_normal((2, 1, 2000 + S))
            effects[0] += 0.3 - loss * (rng.random(2000 + S) < 0.1)
            p = special.expit(effects - 1.5 * rng.standard_normal((100, 1)))
            difference = np.subtract(*p[:, :, S:].mean(axis=1))
            truth[i] = np.mean(difference * difference.mean() < 0)
            one = estimate_rank_flips(make_cube(1, rng.binomial(1, p[:, :, :S]).astype(float)))
            found[:, i] = one.true_low[0], one.swapped_true[0], one.true_high[0]
        withheld, right = np.isnan(found[1]), covers(found[0], found[2], truth) > 0
        covered = float(right[~withheld].mean())
        shares = withheld.mean(), covered, np.mean(~withheld & ~right)
        table.add(name, f"{sd:g}", S, float(truth.mean()), float(np.nanmean(found[1])), *map(float, shares))
        if not loss:
            table.check(covered >= LOWEST - slack(LOWEST, trials), f"true flips, sd {sd}, {S} prompts: {covered:.3f}")


# ---- agreement


@guarantee(
    {"Agreement of prompts on the order of models (Kendall's W)":
     "models | prompts | noise | mean rank correlation | interval covers | no interval | test errs"},
    quick={"trials": 100},
    full={"trials": 2000},
)  # fmt: skip
def concordance(table: Table, trials: int) -> None:
    for M, S, sd in ((3, 10, 0.5), (4, 10, 0.3), (5, 20, 1.0), (10, 20, 0.5), (10, 20, 2.0), (10, 100, 1.0)):
        rng, models = np.random.default_rng([M, S, int(10 * sd)]), names(M)
        ability = np.linspace(0, 1, M)[:, None]
        truth = estimate_concordance("b", models, ability + rng.normal(0, sd, (M, 4000))).mean_correlation
        covered, errs = [], []
        for _ in range(trials):
            between = estimate_concordance("b", models, ability + rng.normal(0, sd, (M, S))).interval()
            if not np.isnan(between.low[0]):
                covered.append(between.low[0] <= (1 + (S - 1) * truth) / S <= between.high[0])
            errs.append(estimate_concordance("b", models, rng.normal(0, sd, (M, S))).p_value < ALPHA)
        error, share, size = slack(LEVEL, trials), float(np.mean(covered)), float(np.mean(errs))
        table.check(share > LOWEST - error, f"{M} models under {S} prompts: the interval of W covers {share:.3f}")
        table.check(
            np.mean(errs) < ALPHA + error, f"{M} models under {S} prompts: the test errs in {np.mean(errs):.3f}"
        )
        table.add(str(M), str(S), f"{sd:g}", float(truth), share, 1 - len(covered) / trials, size)


def draw_probabilities(M: int, N: int, S: int, rng: np.random.Generator) -> Array:
    """Return probabilities of four answers, shape (M, N, S, 4)."""
    p = rng.dirichlet([0.5] * 4, (M, N))[:, :, None, :] ** np.exp(rng.normal(0, 0.5, (M, 1, S, 1)))
    return np.asarray(p / p.sum(axis=3, keepdims=True))


@guarantee(
    {"Consistency of answers over prompts":
     "questions x prompts x generations | consistency rate | bias | ± | interval covers"},
    quick={"trials": 100},
    full={"trials": 1000},
)  # fmt: skip
def consistency(table: Table, trials: int) -> None:
    rng = np.random.default_rng(1)
    pairs = draw_probabilities(20_000, 10, 2, rng)
    truth = float(np.mean(np.sum(pairs[:, :, 0] * pairs[:, :, 1], axis=2)))
    for N, S, K in ((50, 5, 1), (30, 10, 2), (100, 20, 1), (100, 20, 3), (500, 20, 1)):
        counts = rng.multinomial(K, draw_probabilities(trials, N, S, rng))
        m, q, s, a = np.nonzero(counts)
        n, cells = np.full((trials, N, S), K), (m, q, s, a, counts[m, q, s, a])
        found = estimate_prompt_consistency(VariantAnswers("b", names(trials), names(N), names(S), n, *cells))
        between = found.interval()
        covered = float(covers(between.low, between.high, truth).mean())
        off, error = float(np.mean(found.rate) - truth), float(found.rate.std() / np.sqrt(trials))
        table.check(covered > LOWEST - slack(LEVEL, trials), f"{N} x {S} x {K}: covers {covered:.3f}")
        table.check(abs(off) < 4.5 * error + 0.002, f"{N} x {S} x {K}: bias {off:.4f}")
        table.add(f"{N} x {S} x {K}", truth, f"{off:+.4f}", f"{error:.4f}", covered)
