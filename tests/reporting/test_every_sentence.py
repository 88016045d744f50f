"""Every sentence of pages of different data, computed again with numpy and scipy alone, from the scores as planted.

The sentences are read from the page. One that fits no pattern below is a failure, so that no new sentence goes
unchecked. `STATIC` lists those without numbers, and `NOT_COMPUTED` those that are only recognised: what they say is not
computed again here.
"""

import html
import re

import numpy as np
import pytest
from scipy import stats

from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData
from howsure.stats.core.cells import Cells

NAMES = [
    "Ada",
    "Bob",
    "Cleo",
    "Dan",
    "Eve",
    "Finn",
    "Gus",
    "Hal",
    "Ida",
    "Jan",
    "Kim",
    "Leo",
    "Mia",
    "Ned",
    "Oda",
    "Pat",
]
NUMBER = r"(−?[\d,]*\.?\d+)"
SHARE = r"([<>]?[\d.]+)%"


class Planted:
    """Scores as lists [model][question][generation], and what follows from them."""

    def __init__(self, scores, names=None):
        self.names = list(names or NAMES[: len(scores)])
        self.scores = [[np.array(q, float) for q in row] for row in scores]
        self.mean = np.array([[q.mean() if len(q) else np.nan for q in row] for row in self.scores])
        self.k = np.array([[len(q) for q in row] for row in self.scores])
        self.within = np.array([[q.var(ddof=1) if len(q) > 1 else 0.0 for q in row] for row in self.scores])
        self.score = np.nanmean(self.mean, axis=1)
        self.binary = all(set(q.tolist()) <= {0.0, 1.0} for row in self.scores for q in row)
        self.pairs = [(i, j) for i in range(len(self.names)) for j in range(i + 1, len(self.names))]
        self.best = self.names[int(np.argmax(self.score))]

    @property
    def cells(self):
        return Cells.from_scores(
            "bench",
            self.names,
            [f"q{i}" for i in range(self.k.shape[1])],
            [[q.tolist() for q in r] for r in self.scores],
        )

    def components(self, m):
        """E and the two versions of D: of a variance that divides by N, and by N - 1."""
        there = self.k[m] > 0
        several = self.k[m] > 1
        E = self.within[m, several].mean() if several.any() else np.nan
        noise = np.where(several, self.within[m], E)[there] / self.k[m, there]
        p = self.mean[m, there]
        return E, p.var() - noise.mean(), p.var(ddof=1) - noise.mean()

    def parts_of_pair(self, i, j, level=0.95):
        """N, difference, p, correlation, total variance and detectable difference, by the formulas of the docs."""
        both = (self.k[i] > 0) & (self.k[j] > 0)
        d = (self.mean[i] - self.mean[j])[both]
        N = len(d)
        if N < 2:
            return {"N": N, "d": d.mean() if N else np.nan, "p": np.nan}
        S = np.sum((d - d.mean()) ** 2)
        if np.all(self.k[[i, j]][:, both] == 1) and self.binary:
            size = 1.0
        elif self.binary:
            size = 1.0 if np.sum(d**2) > 400 else (np.sum(d**4) + 0.25) / (np.sum(d**2) + 0.25)
        else:
            size = np.sum(d**4) / np.sum(d**2) if np.any(d) else np.nan
        whole = S + 2 * size + 2 * N * d.mean() ** 2 / (N + 2)
        se = np.sqrt(whole / ((N + 2) * (N + 1)))
        df = (N - 1) * (whole / S) ** 2 if S > 0 else np.inf
        t = N * d.mean() / (N + 2) / se
        rest = sum((self.within[m, both] * (1 - 1 / self.k[m, both])).mean() for m in (i, j))
        pa, pb = self.mean[i, both], self.mean[j, both]
        varies = pa.std() > 1e-12 and pb.std() > 1e-12
        tails = stats.t.ppf((1 + level) / 2, df) + stats.t.ppf(0.8, df)
        return {
            "N": N,
            "d": d.mean(),
            "p": 2 * stats.t.sf(abs(t), df),
            "r": np.corrcoef(pa, pb)[0, 1] if varies else np.nan,
            "T": d.var() + rest,
            "disagree": np.mean(pa * (1 - pb) + pb * (1 - pa)),
            "detectable": tails * se * (N + 2) / N if S > 0 else np.nan,
        }

    def rejected(self):
        """Pairs that Holm's rule rejects among all pairs, and those with p below .05."""
        p = {pair: self.parts_of_pair(*pair)["p"] for pair in self.pairs}
        tested = sorted((pair for pair in p if not np.isnan(p[pair])), key=lambda pair: p[pair])
        holm = set()
        for place, pair in enumerate(tested):
            if p[pair] * (len(tested) - place) >= 0.05:
                break
            holm.add(pair)
        return holm, {pair for pair in tested if p[pair] < 0.05}, len(tested)

    def against(self, name, pairs):
        """The models that these pairs have beside `name`."""
        m = self.names.index(name)
        return {self.names[j if i == m else i] for i, j in pairs if m in (i, j)}


def number(text):
    return float(text.replace(",", "").replace("−", "-"))


def near(text, value, slack=0.0):
    """The printed number is the value, rounded to its decimals."""
    decimals = len(text.partition(".")[2])
    return abs(number(text) - value) <= 0.5001 * 10**-decimals + slack


def rounds_to(text, value):
    """The printed number is the value in two significant digits."""
    return number(text) == pytest.approx(value, rel=0.06, abs=1e-12)


def is_share(text, value):
    if text[0] in "<>":
        return value < 0.001 if text[0] == "<" else 0.99 < value < 1
    return near(text, 100 * value)


def names_in(text):
    return [word for word in re.findall(r"[A-Z][a-z]+(?:2|3|4)?", text) if word in set(NAMES)]


# the first sentences


def check_interval(x, name, low, high):
    """One generation per question: Jeffreys' interval; several: near Wilson's for as many independent answers."""
    m = x.names.index(name)
    p, N = x.score[m], int(np.sum(x.k[m] > 0))
    if x.binary and np.all(x.k[m] <= 1):
        right = round(p * N)
        law = stats.beta(right + 0.5, N - right + 0.5)
        ends = (0.0 if right == 0 else law.ppf(0.025), 1.0 if right == N else law.ppf(0.975))
        return near(low, ends[0]) and near(high, ends[1])
    se = np.sqrt(np.nanvar(x.mean[m], ddof=1) / N)
    if se == 0:
        return number(low) <= p <= number(high)
    if N < 10:
        return number(low) < p < number(high)
    half = stats.t.ppf(0.975, N - 1) * se
    return abs((number(high) - number(low)) / 2 - half) < 0.25 * half and number(low) < p < number(high)


def width_of_jeffreys(p, n):
    """The width of Jeffreys' interval of n independent answers, of which a share p is right."""
    law = stats.beta(p * n + 0.5, (1 - p) * n + 0.5)
    return (1.0 if p == 1 else law.ppf(0.975)) - (0.0 if p == 0 else law.ppf(0.025))


def check_widths_of_scores(x, least, most):
    """Exact with one generation per question; of several, near those of Student's t.

    Where no question mean differs or questions are fewer than ten, t is good for nothing: a width then lies between
    those of as many independent answers as generations, and as questions.
    """
    bounds = []  # the smallest and the largest width that each model may have
    for m in range(len(x.names)):
        p, N = x.score[m], int(np.sum(x.k[m] > 0))
        se = np.sqrt(np.nanvar(x.mean[m], ddof=1) / N)
        if x.binary and x.k[m].max() <= 1:
            width = width_of_jeffreys(round(p * N) / N, N)
            bounds.append((0.94 * width, 1.06 * width))  # two digits are printed
        elif se > 0 and N >= 10:
            width = 2 * stats.t.ppf(0.975, N - 1) * se
            bounds.append((0.75 * width, 1.25 * width))
        else:
            assert x.binary, f"no width is computed for {x.names[m]}"
            bounds.append((0.94 * width_of_jeffreys(p, x.k[m].sum()), 1.06 * width_of_jeffreys(p, N)))
    smallest, largest = np.array(bounds).T
    assert smallest.min() <= float(least) <= largest.min()
    assert smallest.max() <= float(most or least) <= largest.max()


def check_highest(x, name, value, low, high):
    assert name == x.best
    assert near(value, x.score.max())
    assert check_interval(x, name, low, high)


def check_shared(x, names, value):
    top = {n for n, s in zip(x.names, x.score, strict=True) if s > x.score.max() - 1e-12}
    assert set(names_in(names)) <= top
    assert len(top) > 1
    assert near(value, x.score.max())


def check_single(x, name, value, low, high):
    assert x.names == [name]
    check_highest(x, name, value, low, high)


def check_all_below(x, *_):
    assert len(x.against(x.best, x.rejected()[0])) == len(x.names) - 1


def check_none_below(x, *_):
    assert not x.against(x.best, x.rejected()[0])


def check_some_below(x, count, others, rest):
    below = x.against(x.best, x.rejected()[0])
    assert (int(count), number(others)) == (len(below), len(x.names) - 1)
    listed = names_in(rest.partition(" and more")[0])
    assert not below & set(listed)
    scores = [x.score[x.names.index(name)] for name in listed]
    assert scores == sorted(scores, reverse=True)
    more = re.search(r"and (\d+) more", rest)
    assert len(listed) + (int(more[1]) if more else 0) == len(x.names) - 1 - len(below)
    common = [x.parts_of_pair(x.names.index(x.best), i)["N"] for i in range(len(x.names)) if x.names[i] != x.best]
    for name, few in re.findall(r"([A-Z][a-z]+) \((\d+) common questions?\)", rest):
        N = x.parts_of_pair(x.names.index(x.best), x.names.index(name))["N"]
        assert int(few) == N
        assert max(common) > 2 * N


def check_each_by_itself(x, single, tests, adjusted):
    holm, by_itself, count = x.rejected()
    assert (int(single), number(tests), int(adjusted)) == (
        len(x.against(x.best, by_itself)),
        count,
        len(x.against(x.best, holm)),
    )


# warnings


def check_missing(x, models, share):
    assert int(models) == int(np.sum(np.any(x.k == 0, axis=1)))
    assert near(share, 100 * np.mean(x.k == 0))


def check_all_once(x):
    assert x.k.max() == 1


def check_few_questions(x, count):
    assert int(count) == x.k.shape[1] < 30


# comparisons


def check_forest(x, reference, groups):
    below, above = x.against(x.best, x.rejected()[0]), 0
    assert reference == x.best
    counts = {what: int(n) for n, what in re.findall(r"(\d+) models? (?:is|are) (distinguishably below|not)", groups)}
    assert counts.get("distinguishably below", 0) == len(below)
    assert counts.get("not", 0) == len(x.names) - 1 - len(below) - above


def check_adjusted(x, tests, single):
    _, by_itself, count = x.rejected()
    assert (number(tests), int(single)) == (count, len(x.against(x.best, by_itself)))


def check_detectable(x, value, *_):
    m, tests = x.names.index(x.best), x.rejected()[2]
    sizes = [x.parts_of_pair(m, j, 1 - 0.05 / tests)["detectable"] for j in range(len(x.names)) if j != m]
    sizes = [size for size in sizes if not (x.binary and size > 1)]  # larger than scores allow
    assert rounds_to(value, np.nanmedian(sizes))


def check_bars(x, tests=None):
    assert tests is None or number(tests) == x.rejected()[2]


def check_matrix(x, decided, pairs):
    assert (number(decided), number(pairs)) == (len(x.rejected()[0]), len(x.pairs))


def check_median_error(x, value):
    each = [x.parts_of_pair(*pair) for pair in x.pairs]
    assert rounds_to(value, np.median([np.sqrt(one["T"] / one["N"]) for one in each if one["N"] > 1]))


def check_correlated(x, positive, pairs):
    r = np.array([x.parts_of_pair(*pair).get("r", np.nan) for pair in x.pairs])
    assert (number(positive), number(pairs)) == (int(np.sum(r > 0)), int(np.sum(~np.isnan(r))))


def check_common(x, least, most):
    N = [x.parts_of_pair(*pair)["N"] for pair in x.pairs]
    assert (number(least), number(most)) == (min(n for n in N if n), max(N))


def thresholds(x):
    z = stats.norm.ppf(0.975)
    each = [x.parts_of_pair(*pair) for pair in x.pairs]
    return each, np.array([z * np.sqrt(one["disagree"] / (one["N"] + z**2)) for one in each])


def check_above_curve(x, above, pairs):
    each, limit = thresholds(x)
    d = np.array([abs(one["d"]) for one in each])
    assert number(pairs) == len(each)
    assert abs(number(above) - np.sum(d >= limit)) <= np.sum(np.abs(d - limit) < 1e-9)


def check_typical(x, share, needed):
    each, limit = thresholds(x)
    disagreement = [one["disagree"] for one in each]
    middle = int(np.argsort(disagreement, kind="stable")[len(each) // 2])
    assert is_share(share, disagreement[middle])
    assert rounds_to(needed, limit[middle])


def check_never(x, count):
    assert number(count) == sum(one["disagree"] <= 1e-12 for one in thresholds(x)[0])


# noise


def check_larger(x, data, prediction, models, *_):
    parts = [x.components(m)[:2] for m in range(len(x.names))]
    known = [(E, D) for E, D in parts if not np.isnan(E)]
    assert (int(data), int(prediction), int(models)) == (
        sum(D > E + 1e-12 for E, D in known),
        sum(D < E - 1e-12 for E, D in known),
        len(known),
    )


def check_larger_at_hand(x, data, prediction):
    shares = []
    for m in range(len(x.names)):
        there, several = x.k[m] > 0, x.k[m] > 1
        E = x.components(m)[0]
        if np.isnan(E):
            continue
        sampling = (np.where(several, x.within[m], E)[there] / x.k[m, there]).mean()
        variance = x.mean[m, there].var()
        shares += [1 - min(sampling / variance, 1)] if variance > 0 else []
    assert abs(int(data) - sum(s > 0.5 for s in shares)) <= sum(abs(s - 0.5) < 0.02 for s in shares)
    assert abs(int(prediction) - sum(s < 0.5 for s in shares)) <= sum(abs(s - 0.5) < 0.02 for s in shares)


def check_settle(x, name, low, high, k, low_k, high_k):
    m = x.names.index(name)
    E, N, z = x.components(m)[0], int(np.sum(x.k[m] > 0)), stats.norm.ppf(0.975)
    assert int(k) == int(np.median(x.k[m][x.k[m] > 0]))
    for count, ends in ((1, (low, high)), (int(k), (low_k, high_k))):
        half = z * np.sqrt(E / (N * count))
        ours = (x.score[m] - half, x.score[m] + half)
        ours = np.clip(ours, 0, 1) if x.binary or np.nanmax(x.mean) <= 1 else ours
        assert near(ends[0], ours[0], 1e-6)
        assert near(ends[1], ours[1], 1e-6)


def check_widths(x, first, last, mostly):
    m = x.names.index(x.best)
    E, D, _ = x.components(m)
    k = np.median(x.k[m][x.k[m] > 0])
    if np.ptp(x.k[m]) == 0 and D > 0:  # the widths are as the standard errors, where no end is cut
        assert number(first) / number(last) <= np.sqrt((D + E) / (D + E / k)) * 1.02
    assert not mostly or E / k < D


def check_standard_errors(x, name, one, now, k, _, least):
    m = x.names.index(name)
    (E, D, _), N = x.components(m), int(np.sum(x.k[m] > 0))
    assert near(one, np.sqrt((max(D, 0) + E) / N), 1e-9)
    assert near(now, np.sqrt(np.nanvar(x.mean[m]) / N), 1e-9)  # as the table of scores has it
    assert near(least, np.sqrt(max(D, 0) / N), 1e-9)
    assert number(k) == pytest.approx(x.k[m][x.k[m] > 0].mean(), rel=0.01)


def check_tenth(x, generations):
    E, D, _ = x.components(x.names.index(x.best))
    k = int(generations.replace(",", ""))
    within = [np.sqrt(D + E / each) <= 1.1 * np.sqrt(D) * (1 + 1e-6) for each in (k, max(k - 1, 1))]
    assert within[0]
    assert k == 1 or not within[1]


def check_run_cost(x, calls, se):
    m = x.names.index(x.best)
    n = x.k[m][x.k[m] > 0]
    assert number(calls) == n.sum()
    assert rounds_to(se, np.sqrt(np.nanvar(x.mean[m]) / len(n)))


def check_designs(x, text):
    E, D, _ = x.components(x.names.index(x.best))
    for se, questions, k in re.findall(r"([\d.]+) with [\w\s,]+ \(([\d,]+) questions? × ([\d,]+) generations?\)", text):
        assert rounds_to(se, np.sqrt((max(D, 0) + E / number(k)) / number(questions)))
        assert number(questions) * number(k) <= x.k[x.names.index(x.best)].sum()


def check_solved(x, never, questions, always):
    p = [[v for v in column if not np.isnan(v)] for column in x.mean.T]
    assert (int(never), int(questions), int(always)) == (
        sum(all(v == 0 for v in column) for column in p if column),
        sum(bool(column) for column in p),
        sum(all(v == 1 for v in column) for column in p if column),
    )


def check_means(x, name, below, questions, above):
    p = x.mean[x.names.index(name)]
    p = p[~np.isnan(p)]
    assert is_share(below, np.mean(p < 0.05))
    assert is_share(above, np.mean(p >= 0.95))
    assert int(questions) == len(p)


def check_beta(_, __, a, b, share):
    law = stats.beta(float(a), float(b))
    value = law.cdf(0.1) + law.sf(0.9)
    assert share[0] in "<>" or abs(float(share) - 100 * value) < 2


COMPUTED = [
    (rf"(\w+) has the highest score, {NUMBER} \(95% interval {NUMBER} to {NUMBER}\)\.", check_highest),
    (rf"(.+) share the highest score, {NUMBER}\.", check_shared),
    (rf"(\w+) scores {NUMBER} \(95% interval {NUMBER} to {NUMBER}\)\.", check_single),
    (r"\w+ is distinguishable from (each of )?(the other model|the \d+ others)\.", check_all_below),
    (
        r"\w+ is not distinguishable from (any of )?(the other model|the \d+ others) at this sample size\.",
        check_none_below,
    ),
    (
        r"\w+ is distinguishable from ([\d,]+) of the ([\d,]+) others; it is not distinguishable at this sample size from (.+)\.",
        check_some_below,
    ),
    (
        r"Each tested by itself, it differs from (\d+); after adjusting for all ([\d,]+) pairs \(Holm\), from (\d+)\.",
        check_each_by_itself,
    ),
    (
        rf"(\d+) models? did not answer every question: {NUMBER}% of the scores of all models with any are missing\.",
        check_missing,
    ),
    (r"One generation per question: data and prediction noise cannot be separated\.", check_all_once),
    (
        r"Only (\d+) questions?: intervals and tests assume scores that are roughly normal over questions\.",
        check_few_questions,
    ),
    (
        rf"Bars are 95% intervals for the expected score on new questions like these, {NUMBER}(?: to {NUMBER})? wide\.",
        check_widths_of_scores,
    ),
    (r"Compared with (\w+): (.+)\.", check_forest),
    (
        (
            r"Verdicts are adjusted for all ([\d,]+) pairs \(Holm\), because the scores chose the reference; each tested by "
            r"itself, (\d+) differs?\."
        ),
        check_adjusted,
    ),
    (
        (
            rf"A true difference of {NUMBER}( \(median over models\))? would be found with 80% power (or more by these tests|by "
            r"this test)\."
        ),
        check_detectable,
    ),
    (
        (
            r"Thick bars are 95% intervals of single differences(?:; thin bars hold for all ([\d,]+) tests at once "
            r"\(Bonferroni\))?\."
        ),
        check_bars,
    ),
    (r"([\d,]+) of ([\d,]+) pairs? (?:is|are) distinguishable, adjusted for all pairs \(Holm\)\.", check_matrix),
    (rf"With one generation per question the median standard error of a difference is {NUMBER}\.", check_median_error),
    (
        r"In ([\d,]+) of ([\d,]+) pairs? the scores of the two models are positively correlated over questions: .+",
        check_correlated,
    ),
    (r"Pairs have ([\d,]+) to ([\d,]+) common questions, and the error falls .+", check_common),
    (
        (
            r"([\d,]+) of ([\d,]+) pairs? (?:is|are) on or above the curve: a difference of that size in one generation per "
            r"question has p ≤ 0\.05, for this pair alone\."
        ),
        check_above_curve,
    ),
    (
        rf"Models that differ on {SHARE} of the questions, as a typical pair here, need a difference of {NUMBER}\.",
        check_typical,
    ),
    (r"([\d,]+) pairs? never disagreed\.", check_never),
    (
        (
            r"Of the variance of one generation per question, data noise \(which questions\) is the larger part for (\d+) and "
            r"prediction noise \(sampling again\) for (\d+) of (\d+) models?( whose parts are known)?\."
        ),
        check_larger,
    ),
    (
        (
            r"With the generations at hand \(thin bars, the shares of the table of scores\) data noise is the larger part for "
            r"(\d+) and prediction noise for (\d+)\."
        ),
        check_larger_at_hand,
    ),
    (
        (
            rf"On these questions, 95% of the runs of (\w+) with one generation per question score from {NUMBER} to {NUMBER}, "
            rf"with (\d+) from {NUMBER} to {NUMBER} \(inner band\)\."
        ),
        check_settle,
    ),
    (
        (
            rf"The interval for new questions \(outer band\) goes from a width of {NUMBER} to one of {NUMBER}"
            r"(: the rest is mostly data noise)?\."
        ),
        check_widths,
    ),
    (
        (
            rf"(\w+) has a standard error of {NUMBER} with one generation per question, {NUMBER} with {NUMBER}( \(the point\))? "
            rf"and {NUMBER} with any number of them: only more questions go below\."
        ),
        check_standard_errors,
    ),
    (r"([\d,]+) generations? comes? within a tenth of that\.", check_tenth),
    (rf"This run took {NUMBER} calls for a standard error of {NUMBER} \(cross\)\.", check_run_cost),
    (
        r"(?:For as much, the best is|No design with equally many generations .+ the best of those is) (.+)\.",
        check_designs,
    ),
    (
        r"Every generation of every model that answered scored 0 on (\d+) of (\d+) questions?, and 1 on (\d+)\.",
        check_solved,
    ),
    (
        rf"For (\w+), the mean score is below 0\.05 on {SHARE} of (\d+) questions and at least 0\.95 on {SHARE}\.",
        check_means,
    ),
    (
        rf"For (\w+) it is Beta\({NUMBER}, {NUMBER}\), which has {SHARE} of the questions within 0\.1 of 0 or 1\.",
        check_beta,
    ),
]

#: What a sentence without a number of the data may say.
STATIC = [
    r"Bars of two models that overlap do not mean that the models are alike: see their difference\.",
    r"The interval is for the expected score on new questions.+",
    r"A score is over the questions that the model answered; a difference is over those that both did\.",
    r"Blue: the row's model scores higher; orange: lower; a grey dot: not distinguishable or not testable\.",
    r"The curves are drawn for the median number\.",
    r"More questions lower the curve; .+",
    r"Pairs have different numbers of common questions: the curve is for the median, the count for each\.",
    r"More generations per question shrink the prediction part only\.",
    r"A negative estimate of data noise is drawn as 0\.",
    r"The bars are the variance of one generation on one question\.",
    r"With one generation per question its parts, data and prediction, cannot be separated\.",
    r"Both bands are computed from .+",
    r"Each point is the best design for its budget, .+",
    r"Where a model has no score the cell is grey\.",
    r"Colours are rounded to 21 levels\.",
    r"Grey: the observed means, which sampling spreads; blue: their distribution without that noise\.",
    r"Pink lines: what the fitted Beta distribution expects of means of as many generations\.",
]

#: Known sentences whose numbers are not computed again here; tests of their sections are.
NOT_COMPUTED = [
    r"(\w+) almost always fails .+",
    r"Chance decides .+",
    r"The fitted Beta is never farther than .+",
    r"No Beta .+",
    r"For \w+ all questions are about equally hard\.",
    r"It takes more than a thousand to come within a tenth of that\.",
    r"\w+ has a standard error of \S+ with one generation per question(, \S+ with \S+( \(the point\))?)?, and no noise .+",
    r"Drawn for (the first )?\d+ of \d+ .+",
    r"\d+ models? (has|have) no interval\.",
    r"\d+ models? with one generation per question (is|are) left out\.",
]


def sentences(page):
    """The sentences of the verdict, the warnings and the captions."""
    texts = re.findall(r'<p class="verdict">(.*?)</p>', page, flags=re.DOTALL)
    texts += re.findall(r"<figcaption>.*?<p>(.*?)</p>", page, flags=re.DOTALL)
    for aside in re.findall(r'<aside class="warnings".*?</aside>', page, flags=re.DOTALL):
        texts += re.findall(r"<li>(.*?)</li>", aside, flags=re.DOTALL)
    for text in texts:
        yield from re.split(r"(?<=\.) (?=[A-Z\d])", " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split()))


def draw(p, k, seed=0):
    """Scores of 0 and 1 with the chances p (M, N) and k generations: a number, or one of each model and question."""
    rng = np.random.default_rng(seed)
    k = np.broadcast_to(np.asarray(k), p.shape)
    return [[(rng.random(n) < q).astype(float) for q, n in zip(*row, strict=True)] for row in zip(p, k, strict=True)]


RNG = np.random.default_rng(20)
DIFFICULTY = RNG.beta(0.8, 0.8, 120)
SKILLS = np.linspace(1.0, 0.6, 6)[:, None]
PAGES = {
    "two models, one generation": Planted(draw(np.stack([DIFFICULTY, 0.8 * DIFFICULTY]), 1)),
    "an exact tie": Planted([[[1], [0], [1]] * 20, [[0], [1], [1]] * 20]),
    "one model": Planted(draw(DIFFICULTY[None], 5)),
    "many models, unequal k": Planted(
        draw(np.linspace(1, 0.5, 16)[:, None] * DIFFICULTY, RNG.integers(2, 7, (16, 1)), seed=3)
    ),
    "all right": Planted([[[1, 1]] * 40, [[1, 1]] * 40]),
    "all wrong": Planted([[[0, 0]] * 40, [[0, 0]] * 40, [[0, 0]] * 40]),
    "three questions": Planted(draw(np.array([[0.9, 0.5, 0.2], [0.4, 0.4, 0.6]]), 6, seed=4)),
    "six models, several generations": Planted(draw(SKILLS * DIFFICULTY, 4, seed=5)),
    "mostly prediction noise": Planted(draw(np.full((3, 80), 0.5), 3, seed=6)),
    "equal models": Planted([[[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0]] * 12] * 2),
    "all right and all wrong": Planted([[[1, 1]] * 30, [[0, 0]] * 30]),
    "graded scores": Planted([[RNG.beta(2, 2, 3) * q for q in DIFFICULTY] for _ in range(3)]),
    "missing generations": Planted(draw(SKILLS * DIFFICULTY, np.where(RNG.random((6, 120)) < 0.3, 0, 2), seed=7)),
    "few common questions": Planted(
        draw(SKILLS[:4] * DIFFICULTY, np.array([[1] * 120, [1] * 120, [1] * 20 + [0] * 100, [1] * 120]), seed=8)
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_every_sentence_is_true(name):
    x = PAGES[name]
    unknown, computed = [], 0
    for sentence in sentences(build_page(ReportData([x.cells])).html):
        for pattern, check in COMPUTED:
            if match := re.fullmatch(pattern, sentence):
                try:
                    check(x, *match.groups())
                except AssertionError as error:
                    raise AssertionError(f"false: {sentence}") from error
                computed += 1
                break
        else:
            if not any(re.fullmatch(pattern, sentence) for pattern in [*STATIC, *NOT_COMPUTED]):
                unknown.append(sentence)
    assert unknown == []
    assert computed >= 2


@pytest.mark.parametrize("name", [name for name, x in PAGES.items() if len(x.names) > 1])
def test_no_width_of_scores_goes_unchecked(name):
    """The check refuses widths of a third and of three times those of the page, whatever the data."""
    pattern = next(pattern for pattern, check in COMPUTED if check is check_widths_of_scores)
    page = build_page(ReportData([PAGES[name].cells])).html
    (widths,) = [match.groups() for sentence in sentences(page) if (match := re.fullmatch(pattern, sentence))]
    for factor in (1 / 3, 3):
        with pytest.raises(AssertionError):
            check_widths_of_scores(PAGES[name], *(w and str(factor * float(w)) for w in widths))
