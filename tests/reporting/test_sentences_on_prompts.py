"""Every sentence of pages on prompt variants, greedy runs and scores of whole benchmarks, computed again with numpy."""

import json
import re
from itertools import combinations

import numpy as np
import pytest
from helpers.long_cases import mark_long
from helpers.planted_scores import (
    NUMBER,
    SHARE,
    Planted,
    check_sentences,
    is_share,
    names_in,
    near,
    number,
    remember,
    rounds_to,
)
from helpers.sentence_checks import COMPUTED as OF_SCORES
from helpers.sentence_checks import STATIC as STATIC_OF_SCORES
from scipy import optimize, stats

from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData
from howsure.stats.core.cube import Cube

STYLES = ("roman", "greek", "capitals", "lower")
MARKS = ("dot", "bracket", "colon")


class PlantedPrompts(Planted):
    """Scores y[model][question][variant][generation], NaN for none, of variants that cross four styles and three marks."""

    def __init__(self, y, *, default=None, nested=False):
        self.y, self.default, self.nested = y, default, nested
        there = ~np.isnan(y)
        super().__init__([[q[t].tolist() for q, t in zip(*rows, strict=True)] for rows in zip(y, there, strict=True)])
        self.drawn = np.array([s for s in range(y.shape[2]) if s != default])
        self.cell_means = y[:, :, self.drawn].mean(
            axis=3
        )  # NaN where a cell has no generation: it then has none at all
        self.by_prompt = self.cell_means.mean(axis=1) if not nested else None

    @property
    def cube(self):
        names = self.names, [f"q{i}" for i in range(self.y.shape[1])], [f"v{s:02d}" for s in range(self.y.shape[2])]
        values = (
            {}
            if self.nested
            else {
                "style": [STYLES[s % 4] for s in range(self.y.shape[2])],
                "mark": [MARKS[s // 4 % 3] for s in range(self.y.shape[2])],
            }
        )
        scores = [[[g[~np.isnan(g)].tolist() for g in q] for q in rows] for rows in self.y]
        return Cube.from_scores("bench", *names, scores, values=values, default=self.default, nested=self.nested)


class PlantedTable(Planted):
    """Scores of the whole benchmark, y[model][variant]."""

    def __init__(self, y):
        self.by_prompt = y
        super().__init__([[[] if np.isnan(score) else [score] for score in row] for row in y])

    @property
    def cube(self):
        return Cube.from_means(
            "bench", self.names, [f"v{s:02d}" for s in range(self.by_prompt.shape[1])], self.by_prompt
        )


def generations(n_models, k, *, effect=0.0, variants=12, questions=30, seed=0, step=0.08):
    """Generations (M, N, S, k): easier for the first models, and shifted by the style and a little by the mark."""
    rng = np.random.default_rng(seed)
    ease = rng.beta(1.5, 1.5, questions)[None, :, None] - step * np.arange(n_models)[:, None, None]
    shift = effect * np.array([(-1.5, -0.5, 0.5, 1.5)[s % 4] + 0.3 * (s // 4 % 3 - 1) for s in range(variants)])
    p = np.clip(ease + shift, 0, 1)
    return (rng.random((*p.shape, k)) < p[..., None]).astype(float)


def without(y, model, variants):
    y[model][:, variants] = np.nan
    return y


def alike(questions):
    """Generations (1, N, 12, k) that no prompt changes."""
    return np.repeat(questions, 12, axis=2)


def ratings(seed):
    """Ratings (1, 10, 12, 2) about 5 whose prompts, and what suits one question only, vary by more than 1."""
    rng = np.random.default_rng(seed)
    y = 5 + rng.normal(0, 1, (1, 10, 1, 1)) + 0.5 * rng.normal(0, 1, (1, 1, 12, 1))
    return y + 1.8 * rng.normal(0, 1, (1, 10, 12, 1)) + 1.8 * rng.normal(0, 1, (1, 10, 12, 2))


RNG = np.random.default_rng(50)
OF_RAGGED = np.random.default_rng(51)
#: Fifteen scores, and nine of another model; n* of either is below the number that it has.
RAGGED = np.array([OF_RAGGED.normal(0.6, 0.02, 15), [*OF_RAGGED.normal(0.5, 0.01, 9), *[np.nan] * 6]])
PAGES = {
    "four models, an effect": PlantedPrompts(generations(4, 3, effect=0.12, seed=1)),
    "opposite effects": PlantedPrompts(
        np.concatenate([generations(1, 3, effect=sign * 0.15, seed=20) for sign in (1, -1)])
    ),
    "one generation": PlantedPrompts(generations(3, 1, effect=0.12, seed=2)),
    "one model": PlantedPrompts(generations(1, 2, effect=0.1, seed=3)),
    "no effect": PlantedPrompts(generations(3, 3, seed=4)),
    "a default prompt": PlantedPrompts(generations(3, 2, effect=0.1, variants=13, seed=5), default=12),
    "models that are equal": PlantedPrompts(np.repeat(generations(1, 2, effect=0.1, seed=6), 3, axis=0)),
    "prompts that change nothing": PlantedPrompts(np.repeat(generations(2, 1, variants=1, seed=7), 12, axis=2)),
    "a model without two prompts": PlantedPrompts(without(generations(3, 2, effect=0.1, seed=8), 2, [10, 11])),
    "prompts of each question": PlantedPrompts(generations(2, 2, variants=5, seed=9), nested=True),
    "two prompts": PlantedPrompts(generations(2, 2, effect=0.1, variants=2, seed=10)),
    "a table of scores": PlantedTable(RNG.normal([[0.6], [0.57], [0.4]], 0.03, (3, 15))),
    "a table with equal rows": PlantedTable(np.repeat(RNG.normal(0.5, 0.04, (1, 15)), 2, axis=0)),
    "no effect of one model": PlantedPrompts(generations(1, 3, seed=16)),
    "prompts change one of two models": PlantedPrompts(
        np.concatenate([generations(1, 2, effect=0.1, seed=3), alike(generations(1, 2, variants=1, seed=7))])
    ),
    "a model without eight prompts": PlantedPrompts(
        without(generations(2, 3, effect=0.12, seed=12), 1, list(range(4, 12)))
    ),
    "a small effect without four prompts": PlantedPrompts(
        without(generations(2, 3, effect=0.02, seed=12), 1, [8, 9, 10, 11])
    ),
    "ratings of many points": PlantedPrompts(ratings(3)),
    "a table without six scores": PlantedTable(RAGGED),
    "a table of one model": PlantedTable(RNG.normal([[0.6]], 0.03, (1, 15))),
}


class Components:
    """Variances of the model's question, prompt, interaction and generation by mean squares: no cell is missing."""

    def __init__(self, cells, within):
        self.N, self.S = cells.shape
        E, self.k = within
        q, s = cells.mean(axis=1), cells.mean(axis=0)
        rest = cells - q[:, None] - s + cells.mean()
        self.residual = np.sum(rest**2) / ((self.N - 1) * (self.S - 1))
        self.question = q.var(ddof=1) - self.residual / self.S
        self.prompt = s.var(ddof=1) - self.residual / self.N
        self.interaction, self.generation = self.residual - E / self.k, E
        self.f = s.var(ddof=1) * self.N / self.residual if self.residual > 0 else np.nan

    def parts(self, k):
        """Parts of the squared error of the mean with k generations, of question, prompt, interaction and sampling."""
        parts = np.maximum([self.question, self.prompt, self.interaction, self.generation], 0)
        return parts / [self.N, self.S, self.N * self.S, self.N * self.S * k]


def components(x, m):
    """The components of a model over the prompts that it has."""
    y = x.y[m][:, x.drawn]
    there = ~np.isnan(y).all(axis=(0, 2))
    y = y[:, there]
    E = y.var(axis=2, ddof=1).mean() if y.shape[2] > 1 else np.nan
    return Components(y.mean(axis=2), (E, y.shape[2]))


def prompts_of(x, m):
    """The scores of a model under the prompts that it has."""
    return x.by_prompt[m][~np.isnan(x.by_prompt[m])]


def ranges(x):
    each = np.array([np.ptp(prompts_of(x, m)) for m in range(len(x.names))])
    return np.where(each < 1e-12, 0, each)


def check_parts(x, median, *shares):
    each = [np.maximum([c.question, c.prompt, c.interaction, c.generation], 0) for c in all_components(x)]
    assert bool(median) == (len(each) > 1)
    parts = np.median([one / one.sum() for one in each], axis=0)
    assert all(is_share(text, part, slack=1e-9) for text, part in zip(shares, parts, strict=True))


def all_components(x):
    return [components(x, m) for m in range(len(x.names))]


def check_share_of_prompts(x, share, median):
    each = []
    for c in all_components(x):
        if np.isnan(c.generation):
            parts = np.maximum([c.question, c.prompt, c.residual], 0) / [c.N, c.S, c.N * c.S]
        else:
            parts = c.parts(c.k)
        each.append(parts[1] / parts.sum())
    assert is_share(share, np.median(each), slack=1e-9)
    assert bool(median) == (len(each) > 1)


def effects_of_models(x, dimension):
    """What each value adds to the score of each model; prompts cross all values."""
    values = (STYLES, [s % 4 for s in x.drawn]) if dimension == "style" else (MARKS, [s // 4 % 3 for s in x.drawn])
    names, place = values[0], np.array(values[1])
    means = []
    for row in x.by_prompt:
        there = ~np.isnan(row)
        if set(place[there]) == set(place):  # a model without one of the values has no effect on the dimension
            means.append([row[there & (place == v)].mean() for v in range(len(names))])
    means = np.array(means)
    return dict(zip(names, (means - means.mean(axis=1, keepdims=True)).T, strict=True))


def effects(x, dimension):
    """Mean over the models of what each value adds to the score."""
    return {name: each.mean() for name, each in effects_of_models(x, dimension).items()}


def check_extremes(x, best, high, worst, low, *_):
    each = next(e for e in (effects(x, "style"), effects(x, "mark")) if best in e)
    slack = 0.02 if np.isnan(x.by_prompt).any() else 1e-6  # least squares over the prompts that a model has
    assert near(high.replace("+", ""), max(each.values()), slack)
    assert near(low.replace("+", ""), min(each.values()), slack)
    assert each[best] > max(each.values()) - slack - 1e-9
    assert each[worst] < min(each.values()) + slack + 1e-9
    assert max(each.values()) > min(each.values()) + 1e-9


def check_alike(x, *_):
    assert min(max(e.values()) - min(e.values()) for e in (effects(x, "style"), effects(x, "mark"))) < 1e-9


def check_chance_of_intervals(x, outside, intervals, by_chance):
    of_all = [~np.isnan(row) for row in x.by_prompt]
    assert int(intervals) in {
        len(values) * sum(len(np.unique(place[x.drawn[there]])) == len(values) for there in of_all)
        for values, place in ((STYLES, PLACES["style"]), (MARKS, PLACES["mark"]))
    }
    assert rounds_to(by_chance, 0.05 * int(intervals))
    assert int(outside) <= int(intervals)


#: The values of a dimension under each variant.
PLACES = {"style": np.arange(40) % 4, "mark": np.arange(40) // 4 % 3}


def rest_of_fit(y, dummies):
    """Sum of squares that the least-squares fit on a constant and these dummies leaves, and the rank of the fit."""
    X = np.column_stack([np.ones(len(y)), *dummies])
    return float(np.sum((y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2)), int(np.linalg.matrix_rank(X))


def over_questions(cells, place):
    """Variance over questions of the effects of values, by N, and its squared error: by pairs of prompts.

    Two residuals of a question have a larger product where both prompts have the same value.
    """
    N, S = cells.shape
    r = cells - cells.mean(axis=1, keepdims=True) - cells.mean(axis=0) + cells.mean()
    same, different = [], []
    for row in r:
        products = np.outer(row, row)[~np.eye(S, dtype=bool)]
        equal = (place[:, None] == place)[~np.eye(S, dtype=bool)]
        same.append(products[equal].mean())
        different.append(products[~equal].mean())
    each = np.array(same) - np.array(different)
    n = np.unique(place, return_counts=True)[1]
    c = np.sum(n * (n - 1) * (1 - 2 * n / S)) / np.sum(n * (n - 1))
    c += 2 / S * np.sum(n**2 * (S - n)) / (S**2 - np.sum(n**2))
    L = len(n)
    scale = (L - 1) / L / (N - 1) / c
    return scale * each.mean(), scale**2 * each.var(ddof=1) / N


def of_dimension(x, m, name, level=0.95):
    """Share, limits, p and smallest share that the test finds: docs/methods/prompt_variants.md; None where untested."""
    there = np.flatnonzero(~np.isnan(x.by_prompt[m]))
    y, drawn = x.by_prompt[m][there], x.drawn[there]
    places = {each: place[drawn] for each, place in PLACES.items()}
    values = {each: np.unique(PLACES[each][x.drawn]) for each in PLACES}
    if len(y) < 2 or set(places[name]) != set(values[name]):
        return None
    dummies = {each: (places[each][:, None] == values[each]).astype(float) for each in PLACES}
    all_there = all(set(places[each]) == set(values[each]) for each in PLACES)
    _, rank = rest_of_fit(y, dummies.values())
    together = all_there and len(y) - rank >= sum(len(v) - 1 for v in values.values())
    others = [dummies[each] for each in PLACES if each != name] if together else []
    (without_it, few), (left, many) = rest_of_fit(y, others), rest_of_fit(y, [*others, dummies[name]])
    S, L, df = len(y), len(values[name]), many - few
    if S in {L, many}:
        return None
    base = np.column_stack([np.ones(S), *others])
    own = dummies[name] - base @ np.linalg.lstsq(base, dummies[name], rcond=None)[0]
    k = L / (L - 1) * np.sum(own**2)
    within = rest_of_fit(y, [dummies[name]])[0] / (S - L)
    ss, W = without_it - left, left / (S - many)
    if np.ptp(y) < 1e-12:
        return {"share": np.nan, "low": np.nan, "high": np.nan, "p": 1.0, "detectable": np.nan}
    D, of_D = over_questions(x.cell_means[m][:, there], places[name])
    D, of_D = (D, of_D) if D > 0 else (0.0, 0.0)
    E = W + k / df * D
    df_E = 2 * E**2 / (2 * W**2 / (S - many) + (k / df) ** 2 * of_D)
    F = ss / df / E
    noise = max(components(x, m).residual / x.y.shape[1] - D, 0)
    limits = []
    for tail, factor in (
        ((1 + level) / 2, (S - L) / stats.chi2.ppf((1 - level) / 2, S - L)),
        ((1 - level) / 2, (S - L) / stats.chi2.ppf((1 + level) / 2, S - L)),
    ):
        ratio, rest = noncentrality(df, df_E, F, tail) / k, max(within * factor - noise, 0) / E
        limits.append(ratio / (ratio + rest) if ratio > 0 else 0.0)
    A, R = max((ss - df * E) / k, 0), max(within - noise, 0)
    found = noncentrality(df, df_E, stats.f.ppf(level, df, df_E), 0.2) / k
    return {
        "share": A / (A + R) if A + R > 0 else np.nan,
        "low": limits[0],
        "high": limits[1],
        "p": stats.f.sf(F, df, df_E),
        "detectable": found / (found + (within - noise) / E) if within > noise else np.nan,
    }


def noncentrality(df, df_E, F, probability):
    """The noncentrality at which F is below this value with this probability; 0 where there is none."""
    if stats.f.cdf(F, df, df_E) <= probability:
        return 0.0
    high = 1.0
    while stats.ncf.cdf(F, df, df_E, high) > probability:
        high *= 2
    return optimize.brentq(lambda nc: stats.ncf.cdf(F, df, df_E, nc) - probability, 1e-9, high, xtol=1e-9)


@remember
def dimensions(x):
    """Of each model, the results of both dimensions, with p adjusted by Holm and whether the variants are too few."""
    rows = []
    for m in range(len(x.names)):
        row = {name: of_dimension(x, m, name) for name in PLACES}
        tested = sorted((each for each in row.values() if each), key=lambda each: each["p"])
        largest = 0.0
        for place, each in enumerate(tested):
            largest = each["holm"] = max(largest, min(each["p"] * (len(tested) - place), 1))
        for each in tested:
            each["unclear"] = each["holm"] >= 0.05 and each["high"] > 0.5
            each["share"] = np.nan if each["unclear"] else each["share"]
        rows.append(row)
    return rows


def says_dimension(x, name, share, rest):
    results = [row[name] for row in dimensions(x)]
    known = [m for m, each in enumerate(results) if each and not np.isnan(each["share"])]
    if not known or not is_share(share, np.median([results[m]["share"] for m in known]), slack=1e-6):
        return False
    if len(results) == 1:
        found = re.fullmatch(rf" \(95% interval {SHARE} to {SHARE}\)", rest)
        return all(
            is_share(text, results[0][end], slack=1e-6)
            for text, end in zip(found.groups(), ("low", "high"), strict=True)
        )
    if len(known) == len(results):
        return rest == " (median over models)"
    expected = f" (median of {len(known)} models)" if len(known) > 1 else f" of {x.names[known[0]]}"
    noise = sum(bool(each) and np.isnan(each["share"]) and not each["unclear"] for each in results)
    of = f"of {len(results)} models"
    if few := len(results) - len(known) - noise:
        expected += f"; for {few} {of} there are too few variants to tell"
    if noise:
        expected += f"; for {noise} {of} the prompts differ by no more than the noise of the scores"
    return rest == expected


def check_range(x, prompts, name, low, high, _, others):
    m, each = x.names.index(name), ranges(x)
    scores = prompts_of(x, m)
    assert int(prompts) == len(scores)
    assert near(low, scores.min(), 1e-9)
    assert near(high, scores.max(), 1e-9)
    assert each[m] == pytest.approx(each.max(), abs=1e-12)
    assert bool(others) == (len(each) > 1)


def check_same(x, _):
    assert ranges(x).max() == 0


def check_sd(x, sd, median):
    each = []
    for m in range(len(x.names)):
        y = x.y[m][:, x.drawn]
        y = y[:, ~np.isnan(y).all(axis=(0, 2))]
        noise = (y.var(axis=2, ddof=1) / y.shape[2]).mean(axis=0) / len(y)
        each.append(np.sqrt(max(y.mean(axis=(0, 2)).var(ddof=1) - noise.mean(), 0)))
    assert near(sd, np.median(each), 1e-9)
    assert bool(median) == (len(each) > 1)


def check_default(x, better, models):
    default = x.y[:, :, x.default].mean(axis=(1, 2))
    assert int(models) == len(x.names)
    assert int(better) == np.sum(np.sum(x.by_prompt < default[:, None], axis=1) > x.by_prompt.shape[1] / 2)


def n_star(x, m, moment, epsilon=0.01, delta=0.1):
    """The number of prompts from which on a moment stays within epsilon of that over all: all subsets are tried."""
    scores = prompts_of(x, m)
    of = np.mean if moment == "mean" else np.var
    least = 1 if moment == "mean" else 2
    for n in range(len(scores), least - 1, -1):
        subsets = scores[np.array(list(combinations(range(len(scores)), n)))]
        deviation = np.abs(of(subsets, axis=1) - of(scores))
        if np.mean(deviation > epsilon * (1 + 1e-9)) > delta / 2 + 1e-12:
            return n + 1
    return least


def clear_models(x, moment):
    """Models for which epsilon = .01 is below the moment that is sought."""
    return [m for m in range(len(x.names)) if moment == "mean" or np.var(prompts_of(x, m)) > 0.01]


def check_n_star(x, moment, text):
    """The first models need the most prompts; each has the number that all subsets give."""
    each = {m: n_star(x, m, moment) for m in clear_models(x, moment) if len(prompts_of(x, m)) > 1}
    reached = {m: n for m, n in each.items() if n < len(prompts_of(x, m))}
    named = {x.names.index(name): (int(n), int(N)) for name, n, N in re.findall(r"(\w+) (\d+) of (\d+)", text)}
    assert named == {m: (reached[m], len(prompts_of(x, m))) for m in named}
    more = re.search(r"and (\d+) more", text)
    assert len(named) + (int(more[1]) if more else 0) == len(reached)
    assert [n for n, _ in named.values()] == sorted(reached.values(), reverse=True)[: len(named)]


def check_not_reached(x, names):
    """For some models of one of the two moments no number of prompts below all is enough."""
    for moment in ("mean", "variance"):
        several = [m for m in clear_models(x, moment) if len(prompts_of(x, m)) > 1]
        missed = [x.names[m] for m in several if n_star(x, m, moment) >= len(prompts_of(x, m))]
        if names_in(names, x.names) == missed[:4]:
            return
    raise AssertionError(names)


def check_vague(x, names):
    vague = [name for m, name in enumerate(x.names) if np.var(prompts_of(x, m)) <= 0.01]
    assert names_in(names, x.names) == vague[:4]


def check_flips(x, count, pairs):
    n = 0
    for i, j in x.pairs:
        d = (x.by_prompt[i] - x.by_prompt[j])[~np.isnan(x.by_prompt[i] - x.by_prompt[j])]
        n += bool(np.any(np.sign(np.where(np.abs(d) < 1e-12, 0, d)) != np.sign(d.mean())) or np.all(np.abs(d) < 1e-12))
    assert (int(count), int(pairs)) == (n, len(x.pairs))


def tau(x, pair):
    """Standard deviation of the difference of two models under a prompt by questions and generations."""
    cells = x.cell_means[pair[0]] - x.cell_means[pair[1]]
    return np.sqrt(Components(cells[:, ~np.isnan(cells).any(axis=0)], (np.nan, 1)).residual / len(cells))


def check_noted_pairs(x, holds, count, pairs, one, other):
    """A note on pairs: it holds for the two that it names, or for as many as it says."""
    if one:
        assert holds((x.names.index(one), x.names.index(other)))
    else:
        assert (int(count), int(pairs)) == (sum(map(holds, x.pairs)), len(x.pairs))


def check_equal_differences(x, *pairs):
    check_noted_pairs(x, lambda pair: np.nanstd(x.by_prompt[pair[0]] - x.by_prompt[pair[1]]) < 1e-12, *pairs)


def check_noiseless(x, *pairs):
    check_noted_pairs(x, lambda pair: tau(x, pair) < 1e-12, *pairs)


def check_sure_flips(x, sure):
    """Gail and Simon's test of each pair, adjusted by Holm."""
    p = []
    for pair in x.pairs:
        d = x.by_prompt[pair[0]] - x.by_prompt[pair[1]]
        d, scale = d[~np.isnan(d)], tau(x, pair)
        if scale < 1e-12:
            p.append(1.0)
            continue
        least = min(np.sum(d[d > 0] ** 2), np.sum(d[d < 0] ** 2)) / scale**2
        h = np.arange(1, len(d))
        p.append(np.sum(stats.binom.pmf(h, len(d) - 1, 0.5) * stats.chi2.sf(least, h)))
    p = np.sort(np.nan_to_num(p, nan=1.0))
    rejected = np.cumprod(p * np.arange(len(p), 0, -1) < 0.05).sum()
    assert rejected == (0 if sure in {"none", "not sure"} else 1 if sure == "sure" else int(sure.split()[0]))


def check_concordance(x, models, w, low, high, correlation):
    scores = x.by_prompt[:, ~np.isnan(x.by_prompt).any(axis=0)]
    M, S = scores.shape
    ranks = np.array([stats.rankdata(np.round(column, 12)) for column in scores.T])
    ties = sum(np.sum(c**3 - c) for row in ranks for c in [np.unique(row, return_counts=True)[1]])
    top = 12 * np.sum(ranks.sum(axis=0) ** 2) - 3 * S**2 * M * (M + 1) ** 2
    expected = top / (S**2 * M * (M**2 - 1) - S * ties)
    assert int(models) == M
    assert near(w, expected)
    assert near(correlation, (S * expected - 1) / (S - 1))
    assert low is None or float(low) <= expected <= float(high)


def space(x, m, variance=None):
    """Numbers of prompts drawn from the space for the mean and for the variance."""
    scores, z = prompts_of(x, m), stats.norm.ppf(0.975)
    S, v = len(scores), scores.var(ddof=1) if variance is None else variance
    fourth = np.mean((scores - scores.mean()) ** 4) - scores.var() ** 2
    spread = fourth * S**2 / ((S - 1) * (S - 2)) if S > 2 else np.nan
    return max(np.ceil(z**2 * v / 0.01**2 - 1e-9), 1), z**2 * spread / 0.01**2


def check_space(x, name, needed, low, high, others, prompts):
    m = x.names.index(name)
    each = np.array([np.nanmax(space(x, i)) for i in range(len(x.names))])
    assert number(needed) == pytest.approx(each[m], rel=0.01, abs=1)
    assert each[m] == pytest.approx(each.max(), rel=0.01, abs=1)
    assert int(prompts) == len(prompts_of(x, m))
    assert low is None or number(low) <= number(needed) <= number(high)
    assert bool(others) == (len(each) > 1)


def error(x, m, k):
    """Standard error for new questions in new prompts."""
    if not x.nested:
        return np.sqrt(components(x, m).parts(k).sum())
    y = x.y[m]
    cells, E = y.mean(axis=2), y.var(axis=2, ddof=1).mean()
    N, S = cells.shape
    within = cells.var(axis=1, ddof=1).mean()
    question, prompt = cells.mean(axis=1).var(ddof=1) - within / S, within - E / y.shape[2]
    return np.sqrt(max(question, 0) / N + (max(prompt, 0) + E / k) / (N * S))


def check_errors(x, name, one, now, k, least):
    m = x.names.index(name)
    assert int(k) == x.y.shape[3]
    for text, generations_ in ((one, 1), (now, int(k)), (least, np.inf)):
        assert near(text, error(x, m, generations_), 1e-9)


def check_cost(x, calls, _, default, se):
    m = x.names.index(x.best)
    assert number(calls) == np.sum(~np.isnan(x.y[m][:, x.drawn]))
    assert number(default or "0") == (0 if x.default is None else np.sum(~np.isnan(x.y[m][:, x.default])))
    assert rounds_to(se, error(x, m, x.y.shape[3]))


def check_prompt_designs(x, text):
    c = components(x, x.names.index(x.best))
    for se, N, S, k in re.findall(
        r"([\d.]+) with [^()]+ \(([\d,]+) questions?(?: × (\d+) prompts)? × ([\d,]+) generations?\)", text
    ):
        parts = np.maximum([c.question, c.prompt, c.interaction, c.generation], 0)
        n, s = number(N), number(S or "1")
        assert rounds_to(se, np.sqrt(np.sum(parts / [n, s, n * s, n * s * number(k)])))


def check_counts(x, least, most, own, names):
    counts = np.sum(~np.isnan(x.y).all(axis=(1, 3)), axis=1)
    assert (int(least), int(most or least)) == (counts.min(), counts.max())
    assert bool(own) == x.nested
    assert names_in(names or "", x.names) == [n for n, c in zip(x.names, counts, strict=True) if c < counts.max()]


def check_pair_counts(x, pairs, every, first, second, few, many):
    """Of as many pairs as it says, the model with fewer prompts has `few`, the other one `many`."""
    counts = np.sum(~np.isnan(x.y).all(axis=(1, 3)), axis=1)
    expected = sorted((int(few), int(many or few)))
    of_pairs = [sorted(map(int, pair)) for pair in combinations(counts, 2)]
    if pairs is None:
        assert sorted(int(counts[x.names.index(name)]) for name in (first, second)) == expected
        assert of_pairs.count(expected) == 1
    else:
        assert (of_pairs.count(expected), len(of_pairs)) == (int(pairs), int(every))


def check_table(x, prompts):
    assert int(prompts) == x.by_prompt.shape[1]


def check_widths_over_prompts(x, least, most):
    each = [prompts_of(x, m) for m in range(len(x.names))]
    widths = np.array([2 * stats.t.ppf(0.975, len(y) - 1) * y.std(ddof=1) / np.sqrt(len(y)) for y in each])
    assert rounds_to(least, widths.min())
    assert rounds_to(most or least, widths.max())


def check_generations_from(x, model, least, most, each):
    numbers = [int(np.sum(~np.isnan(y).all(axis=(0, 2)))) for y in x.y]
    assert model == (x.names[0] if len(x.names) == 1 else "each model")
    assert (int(least), int(most or least)) == (min(numbers), max(numbers))
    assert bool(most) == (min(numbers) < max(numbers))
    assert bool(each) == x.nested


def check_effects(x, text):
    """The dimensions that the quasi F test finds, adjusted by Holm, and for how many models."""
    counts = {name: sum(bool(row[name]) and row[name]["holm"] < 0.05 for row in dimensions(x)) for name in PLACES}
    if not any(counts.values()):
        assert text == "No dimension has a significant effect"
    for name, count in counts.items():
        found = re.search(rf"{name} has an effect(?: for (\d+) models?)?", text)
        assert bool(found) == bool(count)
        assert not found or int(found[1] or 1) == count


def unclear_rows(x):
    """Rows without a significant effect whose share may be above a half."""
    return [(m, name) for m, row in enumerate(dimensions(x)) for name in PLACES if row[name] and row[name]["unclear"]]


def check_rows(x, some, rows):
    assert int(rows) == 2 * len(x.names)
    assert int(some) == len(unclear_rows(x))


def check_unclear(x, names):
    assert len(x.names) == 1
    assert sorted(names.split(" and ")) == sorted(name for _, name in unclear_rows(x))


def check_inseparable(x, names):
    """Models with a dimension that the prompts do not separate from others: a value or the residual is missing."""
    assert names_in(names, x.names) == [
        name for name, row in zip(x.names, dimensions(x), strict=True) if None in row.values()
    ]


def check_not_drawn(x):
    assert any(None in row.values() for row in dimensions(x))


def check_negative(x, name, in_table):
    """The error in new prompts of the table of scores contains an interaction that is estimated below 0."""
    c = components(x, x.names.index(name))
    assert c.interaction < 0
    assert near(in_table, np.sqrt(c.question / c.N + max(c.prompt, 0) / c.S + c.residual / (c.N * c.S)), 1e-9)


def check_models(x, names, *_):
    assert set(names_in(names, x.names)) <= set(x.names)
    assert names_in(names, x.names) or "pair" in names


OTHERS = r"((?:, (?:the widest range|the most) of all models)?)"
#: A number of pairs, or the names of one.
PAIRS = r"(?:(\d+) of (\d+) pairs in the table|(\w+) and (\w+))"
COMPUTED = [
    (
        (
            rf"Of the variance of one generation( \(median over models\))?: the question {SHARE}, the prompt {SHARE}, prompts that "
            rf"suit one question and not another {SHARE} and sampling again {SHARE}\."
        ),
        check_parts,
    ),
    (
        (
            r"In the squared error of the mean for new questions in new prompts, the choice of prompts is "
            rf"{SHARE}( \(median\))?\."
        ),
        lambda x, *said: x.nested or check_share_of_prompts(x, *said),
    ),
    (r"(\w+) scores highest \((\S+?)(?:, mean over models)?\) and (\w+) lowest \((\S+)\)()\.", check_extremes),
    (r"All of its values score alike( in the mean over models)?\.", check_alike),
    (
        r"(\d+) of (\d+) intervals leaves? out 0, where about (\S+) would by chance alone\.",
        check_chance_of_intervals,
    ),
    (
        (
            rf"Over (\d+) prompts the score of (\w+) goes from {NUMBER} to {NUMBER}(){OTHERS}; a range grows with the number of "
            r"prompts\."
        ),
        check_range,
    ),
    (r"Over (\d+) prompts the score of every model is the same under each of them\.", check_same),
    (
        rf"The standard deviation over prompts, without the noise of sampling, is {NUMBER}( \(median over models\))?\.",
        check_sd,
    ),
    (
        (
            r"The default prompt \(diamond\), which was chosen and not drawn, scores higher than half of those that were drawn for "
            r"(\d+) of (\d+) models\."
        ),
        check_default,
    ),
    (
        r"From n\* prompts on \(a point\), the (mean|variance) is with 95% chance within 0\.01 of that over all: (.+)\.",
        check_n_star,
    ),
    (r"The number n\* is not reached \(a hollow point\) for (.+)\.", check_not_reached),
    (r"ε = 0\.01 is not below the variance of (.+), so that n\* says nothing there: choose a smaller ε\.", check_vague),
    (r"The order of (\d+) of (\d+) pairs? flips, or is a tie, under at least one prompt\.", check_flips),
    (
        r"Noise flips orders, too: a true flip is sure for (\d+) of \d+ pairs? \(test of Gail and Simon, .+\)\.",
        check_sure_flips,
    ),
    (rf"{PAIRS}: all variants have the same difference: no interval of the true share\.", check_equal_differences),
    (
        rf"{PAIRS}: no noise was seen, or questions share too few variants: no test of a true flip\.",
        check_noiseless,
    ),
    (
        (
            rf"Over all (\d+) models Kendall's W is {NUMBER} \(1: every prompt gives the same order(?:, 95% interval {NUMBER} to "
            rf"{NUMBER})?\); the mean rank correlation of two prompts is {NUMBER}\."
        ),
        check_concordance,
    ),
    (
        (
            rf"For new prompts from the same space, (\w+) needs {NUMBER}(?: \({NUMBER} to {NUMBER}\))? for both moments{OTHERS}; "
            r"the data have (\d+)\."
        ),
        check_space,
    ),
    (
        (
            rf"(\w+) has a standard error of {NUMBER} with one generation per question and prompt, {NUMBER} with (\d+) \(the "
            rf"point\) and {NUMBER} with any number of them: only more questions and prompts go below\."
        ),
        check_errors,
    ),
    (
        (
            rf"This run took {NUMBER} calls( with prompts that were drawn \((\d+) more with the default prompt\))? for a standard "
            rf"error of {NUMBER} \(cross\)\."
        ),
        check_cost,
    ),
    (
        r"For as much, (the best with equally many generations for every question is .+)\.",
        check_prompt_designs,
    ),
    (
        (
            r"Scores are averaged over (\d+)(?: to (\d+))? prompt variants( of each question's own)?(?:, over the fewest for (.+): a "
            r"difference of two models is then in part one of prompts)?; the noise of choosing these variants is not in the "
            r"errors of the scores; see Spread over prompts\."
        ),
        check_counts,
    ),
    (
        (
            r"(?:(\d+) of (\d+) pairs in the table|(\w+) and (\w+)): averaged over (\d+)(?: and (\d+))? prompt variants, "
            r"whose noise is not in the error\."
        ),
        check_pair_counts,
    ),
    (
        r"Scores are of the whole benchmark under (\d+) prompts: what other questions would change is not known, .+",
        check_table,
    ),
    (
        (
            r"Bars are 95% intervals for the mean score in new prompts of the same kind, on the questions at hand, "
            rf"{NUMBER}(?: to {NUMBER})? wide\."
        ),
        check_widths_over_prompts,
    ),
    (
        r"Generations of (each model|\w+) are from (\d+)(?: to (\d+))? prompts( of each question)?\.",
        check_generations_from,
    ),
    (r"(.+) \(quasi F test, adjusted for .+ by Holm, at 95%\)\.", check_effects),
    (r"For (\d+) of (\d+) rows there are too few variants to tell\.", check_rows),
    (
        r"((?:(?:Ada|Bob|Cleo|Dan)(?:, | and )?)+): (?:one generation per cell|interaction is lost|variance of the prompt is lost) ?.*\.",
        check_models,
    ),
    (
        r"((?:(?:Ada|Bob|Cleo|Dan)(?:, | and )?)+|\d+ of \d+ pairs in the table): (?:n\*|the |too few|two variants|epsilon|no two|no smaller|for the whole|noise|dimension|drawn) ?.*\.",
        check_models,
    ),
    (
        (
            rf"The interaction of question and prompt of (\w+) is estimated below 0 and counts as 0 here; the table of scores, "
            rf"whose error in new prompts contains the estimate, has {NUMBER}\."
        ),
        check_negative,
    ),
    (
        r"An effect that cannot be separated from others, because of too few draws, is not drawn\.",
        check_not_drawn,
    ),
    (r"(.+): cannot be separated from other (?:dimensions|values): draw more variants\.", check_inseparable),
    (r"For ((?:style|mark)(?: and (?:style|mark))?) there are too few variants to tell\.", check_unclear),
    *OF_SCORES,
]
STATIC = [
    *STATIC_OF_SCORES,
    r"Lines are intervals; the scale is of square roots, so that distance from 0 is a standard deviation\.",
    r"Boxes go from quartile to quartile, with the median; lines to the extremes\.",
    r"A curve ends at 0 by construction, so that n\* is too small where it is not far below all prompts\.",
    r"Share: of the variance over prompts, .+",
    r"Detectable: the share that this test finds with a probability of 80%\.",
    r"True: the share of the space's prompts, .+",
    r"Column n\*: the number from which on the prompts at hand are enough; ε too large: not below the variance itself\.",
    r"Space: what new prompts from the space take, .+",
    r"Noise-free: the same if the score of each prompt had no noise of its own; –: unknown\. ε = 0\.01, δ = 0\.1\.",
    r"Intervals and tests are for the mean score in new prompts of the same kind, on the questions at hand\.",
    r"The interval is for the mean score in new prompts of the same kind, on the questions at hand\.",
    r"Each question has variants of its own: what the prompt adds is seen within questions only\.",
    r"With one generation in each question and prompt, sampling again and prompts that suit one question .+",
    r"How much of this is the noise of sampling is not known from one generation per question and prompt\.",
    r"The noise of one prompt's score is unknown here, so true flips and flips by chance cannot be separated\.",
]


def make_page(x):
    return build_page(ReportData([x.cube.cells()], cubes=[x.cube])).html


@pytest.mark.parametrize("name", mark_long(PAGES, after=6))
def test_every_sentence_is_true(name):
    x = PAGES[name]
    check_sentences(make_page(x), x, COMPUTED, STATIC)


@pytest.mark.parametrize(
    "name",
    mark_long(
        ["no effect", "one generation", "prompts change one of two models", "a small effect without four prompts"],
        after=1,
    ),
)
def test_the_table_of_dimensions_is_computed_again(name):
    """Share, interval, adjusted p and detectable share of each model and dimension."""
    x = PAGES[name]
    page = make_page(x)
    start = page.index('<section id="b1-dimensions"')
    rows = re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", page[start : page.index("</section>", start)])
    cells = [re.findall(r">([^<>]+)<", row) for row in rows]
    if len(x.names) == 1:
        cells = [[x.names[0], *row] for row in cells]
    assert len(cells) == len(PLACES) * len(x.names)
    for model, dimension, *_, share, interval, p, detectable in cells:
        each = dimensions(x)[x.names.index(model)][dimension]
        low, _, high = interval.partition(" to ")
        if each is None:
            assert (share, low, p, detectable) == ("–", "–", "–", "–")
            continue
        for text, value in (
            (share, each["share"]),
            (low, each["low"]),
            (high or low, each["high"]),
            (detectable, each["detectable"]),
        ):
            assert (
                text == "–"
                if np.isnan(value)
                else is_share(text.removesuffix("%").replace("&lt;", "<").replace("&gt;", ">"), value, slack=1e-6)
            )
        assert each["holm"] < 0.001 if p == "&lt;0.001" else near(p, each["holm"], 1e-6)


@pytest.mark.parametrize(
    "name", mark_long(["one generation", "a small effect without four prompts", "a table without six scores"], after=1)
)
@pytest.mark.parametrize("moment", ["mean", "variance"])
def test_the_curves_of_prompts_are_percentiles_over_all_subsets(name, moment):
    """A curve is the 95th percentile of 2,000 orders: all subsets have it within 4.5 standard errors, .022."""
    x = PAGES[name]
    data = json.loads(re.search(rf'id="table-b1-convergence-{moment}"[^>]*>(.*?)</script>', make_page(x), re.DOTALL)[1])
    of_model = np.array(data["model"]["names"])[data["model"]["at"]]
    of = np.mean if moment == "mean" else np.var
    for m, model in enumerate(x.names):
        scores = prompts_of(x, m)
        curve = np.array(data["deviation"])[of_model == model].tolist()
        assert len(curve) == len(scores)
        for n, drawn in enumerate(curve, start=1):
            subsets = scores[np.array(list(combinations(range(len(scores)), n)))]
            far = np.abs(of(subsets, axis=1) - of(scores))
            slack = 1e-5 * far.max() + 1e-12  # the page has rounded numbers
            assert np.mean(far <= drawn + slack) > 0.95 - 0.022
            assert np.mean(far < drawn - slack) < 0.95 + 0.022
