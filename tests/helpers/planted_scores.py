"""Scores as planted, the sentences of a page about them, and what follows from the scores by numpy and scipy alone."""

import html
import re
from dataclasses import replace
from functools import wraps

import numpy as np
import pytest
from scipy import optimize, special

from howsure.stats.core.cells import Cells
from howsure.stats.planning import ModelUsage

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


def remember(method):
    """A method whose results each object keeps."""

    @wraps(method)
    def kept(self, *arguments):
        results = self.__dict__.setdefault(f"_{method.__name__}", {})
        if arguments not in results:
            results[arguments] = method(self, *arguments)
        return results[arguments]

    return kept


class Planted:
    """Scores as lists [model][question][generation], and what follows from them."""

    def __init__(self, scores, names=None, **of_cells):
        self.names = list(names or NAMES[: len(scores)])
        #: the names on the page, further arrays of the cells, and further data of the report
        self.shown_as, self.of_cells, self.report = {}, of_cells, {}
        self.scores = [[np.array(q, float) for q in row] for row in scores]
        self.mean = np.array([[q.mean() if len(q) else np.nan for q in row] for row in self.scores])
        self.k = np.array([[len(q) for q in row] for row in self.scores])
        self.within = np.array([[q.var(ddof=1) if len(q) > 1 else 0.0 for q in row] for row in self.scores])
        self.score = np.array([np.nanmean(row) if np.any(~np.isnan(row)) else np.nan for row in self.mean])
        self.binary = all(set(q.tolist()) <= {0.0, 1.0} for row in self.scores for q in row)
        self.pairs = [(i, j) for i in range(len(self.names)) for j in range(i + 1, len(self.names))]
        self.best = self.names[int(np.nanargmax(self.score))]

    @property
    def cells(self):
        names = [self.shown_as.get(name, name) for name in self.names]
        questions = [f"q{i}" for i in range(self.k.shape[1])]
        scores = [[q.tolist() for q in row] for row in self.scores]
        return replace(Cells.from_scores("bench", names, questions, scores), **self.of_cells)

    def components(self, m):
        """E and the two versions of D: of a variance that divides by N, and by N - 1."""
        there = self.k[m] > 0
        several = self.k[m] > 1
        E = self.within[m, several].mean() if several.any() else np.nan
        noise = np.where(several, self.within[m], E)[there] / self.k[m, there]
        p = self.mean[m, there]
        if len(p) < 2:
            return E, np.nan, np.nan
        return E, p.var() - noise.mean(), p.var(ddof=1) - noise.mean()

    def pseudo_size(self, i, j):
        """The squared size of the pseudo-questions of a difference."""
        both = (self.k[i] > 0) & (self.k[j] > 0)
        d = (self.mean[i] - self.mean[j])[both]
        if np.all(self.k[[i, j]][:, both] == 1) and self.binary:
            return 1.0
        if self.binary:
            c = 0.25 * (1 if len(d) < 15 else np.mean([np.mean(1 / self.k[m][self.k[m] > 0]) for m in (i, j)]))
            return 1.0 if np.sum(d**2) > 400 else (np.sum(d**4) + c) / (np.sum(d**2) + c)
        return np.sum(d**4) / np.sum(d**2) if np.any(d) else 1.0

    @remember
    def parts_of_pair(self, i, j, level=0.95):
        """N, difference, p, correlation, total variance and detectable difference, by the formulas of the docs."""
        both = (self.k[i] > 0) & (self.k[j] > 0)
        d = (self.mean[i] - self.mean[j])[both]
        N = len(d)
        if N < 2:
            disagree = np.nan
            if N:
                pa, pb = self.mean[[i, j]][:, both]
                disagree = np.mean(pa * (1 - pb) + pb * (1 - pa))
            known = {"N": N, "d": d.mean() if N else np.nan, "disagree": disagree}
            return known | dict.fromkeys(("p", "r", "T", "detectable", "half"), np.nan)
        S = np.sum((d - d.mean()) ** 2)
        size = self.pseudo_size(i, j)
        whole = S + 2 * size + 2 * N * d.mean() ** 2 / (N + 2)
        se = np.sqrt(whole / ((N + 2) * (N + 1)))
        df = (N - 1) * (whole / S) ** 2 if S > 0 else np.inf
        t = N * d.mean() / (N + 2) / se
        rest = sum((self.within[m, both] * (1 - 1 / self.k[m, both])).mean() for m in (i, j))
        pa, pb = self.mean[i, both], self.mean[j, both]
        varies = pa.std() > 1e-12 and pb.std() > 1e-12
        tails = special.stdtrit(df, (1 + level) / 2) + special.stdtrit(df, 0.8)  # of 20,000 pairs: stats.t is slow
        return {
            "N": N,
            "d": d.mean(),
            "p": 2 * special.stdtr(df, -abs(t)),
            "r": np.corrcoef(pa, pb)[0, 1] if varies else np.nan,
            "T": d.var() + rest,
            "disagree": np.mean(pa * (1 - pb) + pb * (1 - pa)),
            "half": special.stdtrit(df, (1 + level) / 2) * se * (N + 2) / N,
            "detectable": tails * se * (N + 2) / N if S > 0 else np.nan,
        }

    @remember
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

    @remember
    def fit_beta(self, m):
        """The Beta distribution of P(correct) of a model: maximum Beta-binomial likelihood; None if there is none."""
        there = self.k[m] > 0
        n, c = self.k[m, there], (self.mean[m] * self.k[m])[there].round()
        if not self.binary or len(n) < 2 or n.max() == 1 or c.sum() in {0, n.sum()}:
            return None

        def loss(theta):
            mean, size = special.expit(theta[0]), np.exp(theta[1])
            a, b = mean * size, (1 - mean) * size
            return -np.sum(special.betaln(a + c, b + n - c) - special.betaln(a, b))

        starts = [(special.logit(c.sum() / n.sum()), size) for size in (-3.0, 0.0, 5.0)]
        bounds = [(-14, 14), (np.log(1e-3), np.log(1e5))]
        best = min((optimize.minimize(loss, start, bounds=bounds, tol=1e-12) for start in starts), key=lambda r: r.fun)
        mean, size = special.expit(best.x[0]), np.exp(best.x[1])
        return mean * size, (1 - mean) * size

    @remember
    def stable_shares(self, m, margin=0.1):
        """Shares of questions that a model almost always fails and solves, with the sampling noise taken out."""
        a, b = self.fit_beta(m)
        there = self.k[m] > 0
        n, c = self.k[m, there], (self.mean[m] * self.k[m])[there].round()
        fails = special.betainc(a + c, b + n - c, margin)
        return fails.mean(), special.betainc(b + n - c, a + c, margin).mean()

    @remember
    def distance_of_beta(self, m):
        """The farthest that the fitted Beta is from the observed means, in shares of questions."""
        (a, b), there = self.fit_beta(m), self.k[m] > 0
        n, p = self.k[m, there], self.mean[m, there]
        x, expected = np.linspace(0, 1, 101), np.zeros(101)
        for k, count in zip(*np.unique(n, return_counts=True), strict=True):
            below = np.cumsum(
                [
                    special.binom(k, c) * np.exp(special.betaln(a + c, b + k - c) - special.betaln(a, b))
                    for c in range(k + 1)
                ]
            )
            expected += count / len(n) * below[np.floor(x * k + 1e-9).astype(int)]
        return np.max(np.abs([np.mean(p <= at + 1e-9) for at in x] - expected))

    def against(self, name, pairs):
        """The models that these pairs have beside `name`."""
        m = self.names.index(name)
        return {self.names[j if i == m else i] for i, j in pairs if m in (i, j)}


class PlantedWithCosts(Planted):
    """Scores of models of which some have a recorded cost: so many tokens and dollars for all of their generations."""

    def __init__(self, scores, tokens, dollars=None):
        super().__init__(scores)
        count = dict(zip(self.names, self.k.sum(axis=1).tolist(), strict=True))
        spent = tokens if dollars is None else dollars
        self.unit = "tokens" if dollars is None else "$"
        self.cost = {name: spent[name] / count[name] for name in spent}
        usage = {
            name: ModelUsage(count[name], count[name], tokens[name], *(() if dollars is None else (dollars[name],)))
            for name in tokens
        }
        self.report = {"usage": {"bench": usage}}

    def cheaper_and_better(self, name):
        """Models that cost no more and score higher, by a pair that Holm's rule rejects."""
        m = self.names.index(name)
        better = [i for i in range(len(self.names)) if {(i, m), (m, i)} & self.rejected()[0]]
        names = [self.names[i] for i in better if self.score[i] > self.score[m]]
        return [other for other in names if other in self.cost and self.cost[other] <= self.cost[name]]


class PlantedReview(Planted):
    """Scores of the questions that are left where reviewers rejected others."""

    def __init__(self, scores, rejected):
        self.left = [q for q in range(len(scores[0])) if q not in rejected]
        super().__init__([[row[q] for q in self.left] for row in scores])
        self.every = Planted(scores)
        self.report = {"unreviewed_cells": [self.every.cells]}

    @property
    def cells(self):
        return self.every.cells.select(questions=[f"q{q}" for q in self.left])


class PlantedWithGreedy(Planted):
    """Scores of models of which some have a greedy run beside their sampled ones: one generation of each question."""

    def __init__(self, scores, greedy):
        super().__init__(scores)
        self.greedy = {name: np.array(run, float) for name, run in greedy.items()}

    @property
    def cells(self):
        sampled = super().cells
        names = [*self.names, *(f"{name}:greedy" for name in self.greedy)]
        scores = [[q.tolist() for q in row] for row in self.scores]
        scores += [[[score] for score in run.tolist()] for run in self.greedy.values()]
        return Cells.from_scores("bench", names, sampled.questions, scores)


def number(text):
    return float(text.replace(",", "").replace("−", "-"))


def near(text, value, slack=0.0):
    """The printed number is the value, rounded to its decimals."""
    decimals = len(text.partition(".")[2])
    return abs(number(text) - value) <= 0.5001 * 10**-decimals + slack


def rounds_to(text, value):
    """The printed number is the value in two significant digits."""
    return number(text) == pytest.approx(value, rel=0.06, abs=1e-12)


def is_share(text, value, slack=0.0):
    """The printed percentage is the share, up to `slack`."""
    if text[0] in "<>":
        return value < 0.001 + slack if text[0] == "<" else 0.99 - slack < value < 1 + slack
    return near(text, 100 * value, 100 * slack)


def names_in(text, names):
    """The names in a text, in their order."""
    return [word for word in re.findall(r"[A-Z][a-z]+", text) if word in set(names)]


def sentences(page, shown_as=()):
    """The sentences of the verdict, the warnings, the captions, the leads of tables, and the notes of numbers.

    Names that are more than a word are put back to those of `shown_as`, which maps a word to the name on the page.
    """
    texts = re.findall(r'<p class="verdict">(.*?)</p>', page, flags=re.DOTALL)
    texts += re.findall(r"<figcaption>.*?<p>(.*?)</p>", page, flags=re.DOTALL)
    for table in re.findall(r'<section id="[^"]*" class="listing".*?</section>', page, flags=re.DOTALL):
        texts += re.findall(r'<p class="lead">(.*?)</p>', table, flags=re.DOTALL)
    for aside in re.findall(r'<aside class="warnings" aria-label="Read with care".*?</aside>', page, flags=re.DOTALL):
        texts += re.findall(r"<li>(.*?)</li>", aside, flags=re.DOTALL)
    for aside in re.findall(r'<ul class="notes">.*?</ul>', page, flags=re.DOTALL):
        texts += [f"{text}." for text in re.findall(r"<li>(.*?)</li>", aside, flags=re.DOTALL)]
    for text in texts:
        plain = " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())
        for word, name in dict(shown_as).items():
            plain = plain.replace(name, word)
        yield from re.split(r"(?<=\.) (?=[A-Z\d])", plain)


def check_sentences(page, x, computed, static, *, at_least=2):
    """Each sentence is true by the first pattern of `computed` that it fits, or stands in `static`."""
    unknown, n_computed = [], 0
    for sentence in sentences(page, x.shown_as):
        for pattern, check in computed:
            if match := re.fullmatch(pattern, sentence):
                try:
                    check(x, *match.groups())
                except AssertionError as error:
                    raise AssertionError(f"false: {sentence}") from error
                n_computed += 1
                break
        else:
            if not any(re.fullmatch(pattern, sentence) for pattern in static):
                unknown.append(sentence)
    assert unknown == [], unknown
    assert n_computed >= at_least


def draw(p, k, seed=0):
    """Scores of 0 and 1 with the chances p (M, N) and k generations: a number, or one of each model and question."""
    rng = np.random.default_rng(seed)
    k = np.broadcast_to(np.asarray(k), p.shape)
    return [[(rng.random(n) < q).astype(float) for q, n in zip(*row, strict=True)] for row in zip(p, k, strict=True)]
