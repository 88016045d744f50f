"""Every sentence on repeated runs, computed again with numpy and scipy alone from the scores as planted."""

import re

import numpy as np
import pytest
from helpers.long_cases import mark_long
from helpers.planted_runs import drawn, runs_of
from helpers.planted_scores import NUMBER, names_in, near, number, sentences
from scipy import stats

from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData

NAMES = ["Ada", "Bob", "Cleo"]
RNG = np.random.default_rng(70)
HARD = RNG.beta(0.8, 0.8, 80)


def plant(*chances, runs=5, seed=71):
    return drawn(np.stack(chances), runs, seed)


def plant_drift():
    """Three models of which the second is much better in the last two of six runs."""
    scores = plant(HARD, 0.5 * HARD, 0.8 * HARD, runs=6, seed=72)
    scores[1, :, 4:] = drawn(np.sqrt(HARD)[None], 2, 73)[0]
    return scores


def drop_questions(scores, dropped):
    """The scores without the questions from the first to the second number of each run."""
    scores = scores.copy()
    for run, (first, last) in enumerate(dropped):
        scores[:, first:last, run] = np.nan
    return scores


PAGES = {
    "three models": plant(HARD, 0.9 * HARD, 0.7 * HARD),
    "one model": plant(HARD),
    "two runs": plant(HARD, 0.6 * HARD, runs=2, seed=74),
    "a model that drifts": plant_drift(),
    "one model that drifts": plant_drift()[1:2],
    "runs of equally many other questions": drop_questions(plant(HARD, runs=3, seed=75), [(0, 20), (20, 40), (40, 60)]),
    "runs that lack questions": drop_questions(
        plant(HARD, 0.8 * HARD, runs=4, seed=76), [(0, 0), (0, 0), (0, 30), (5, 9)]
    ),
    "all runs alike": np.repeat(plant(HARD, 0.5 * HARD, runs=1, seed=77), 3, axis=2),
    "runs of equal luck": np.stack([np.roll(np.eye(4)[np.arange(40) % 4], shift, axis=0) for shift in (0, 1)]),
}


class PlantedRuns:
    def __init__(self, scores):
        self.scores, self.names = scores, NAMES[: len(scores)]
        self.means = np.nanmean(scores, axis=1)  # (M, R)
        self.luck = self.means.max(axis=1) - self.means.mean(axis=1)
        self.p = np.array([self.cochran(rows) for rows in scores])
        self.best = self.names[int(np.argmax(np.nanmean(np.nanmean(scores, axis=2), axis=1)))]

    @staticmethod
    def cochran(rows):
        """The p-value of Cochran's Q, in the form of Cochran, Mantel and Haenszel where questions are missing."""
        there = ~np.isnan(rows)
        k = there.sum(axis=1)
        there = there[k > 1]
        x, k = np.where(there, rows[np.sum(~np.isnan(rows), axis=1) > 1], 0), k[k > 1]
        p = x.sum(axis=1) / k
        U = (x - there * p[:, None]).sum(axis=0)
        weight = p * (1 - p) * k / (k - 1)
        C = sum(w * (np.diag(t.astype(float)) - np.outer(t, t) / n) for w, t, n in zip(weight, there, k, strict=True))
        rank = np.linalg.matrix_rank(C, tol=1e-9) if np.any(C) else 0
        return stats.chi2.sf(U @ np.linalg.pinv(C, rcond=1e-9) @ U, rank) if rank else np.nan

    @property
    def adjusted(self):
        order, out, largest = np.argsort(self.p), np.full(len(self.p), np.nan), 0.0
        tested = int(np.sum(~np.isnan(self.p)))
        for place, m in enumerate(order[:tested]):
            largest = max(largest, min(1, (tested - place) * self.p[m]))
            out[m] = largest
        return out

    @property
    def drifted(self):
        return [name for name, p in zip(self.names, self.adjusted, strict=True) if p < 0.05]


def p_is(text, value):
    """The printed p-value, after "=", "<" or "at most"."""
    limit = re.fullmatch(r"(?:= |at most )?(<? ?)([\d.]+)", text)
    return value < float(limit[2]) + 1e-12 if "<" in limit[1] else float(limit[2]) == pytest.approx(value, rel=0.06)


def check_scored(x, name, worst, best, count, which, low=None, high=None):
    m = x.names.index(name)
    assert name == x.best
    assert near(worst, x.means[m].min())
    assert near(best or worst, x.means[m].max())
    assert int(count) == x.means.shape[1]
    there = ~np.isnan(x.scores[m])
    sizes, distinct = there.sum(axis=0), int(there.any(axis=1).sum())
    if which == "of the same questions":
        assert there[there.any(axis=1)].all()
    else:
        least, most, of = re.fullmatch(r"that have (\d+)(?: to (\d+))? of (\d+) questions each", which).groups()
        assert (int(least), int(most or least), int(of)) == (sizes.min(), sizes.max(), distinct)
        assert sizes.min() < distinct
    if low is not None:
        assert number(low) <= x.means[m].mean() <= number(high)
        E = np.nanmean(np.nanvar(x.scores[m], axis=1, ddof=1))
        if there.all() and not x.drifted and E > 0 and np.ptp(x.means[m]) > 0:
            R, N = x.means.shape[1], len(there)
            half = stats.norm.ppf(0.975) * np.sqrt(E / N * (1 + 1 / R))
            # of few runs the variance is not known well: the interval of t is wider, by a tenth at most here
            assert 0.95 * half < (number(high) - number(low)) / 2 < 1.15 * half


def check_no_interval(x, name, worst, best, count, which):
    check_scored(x, name, worst, best, count, which)
    assert np.ptp(x.means[x.names.index(name)]) == 0


def check_luck(x, whose, value, most):
    assert x.luck.max() > 1e-12
    assert near(value, x.luck.max())
    luckiest = [name for name, luck in zip(x.names, x.luck, strict=True) if abs(luck - x.luck.max()) < 1e-9]
    if len(luckiest) == len(x.names):
        assert whose in (None, "of each model")
        assert not most
    else:
        assert names_in(whose, x.names) == luckiest
        assert most


def check_other_questions(x):
    assert np.isnan(x.scores).any()


def check_drifted(x, names, p, tested=None):
    assert names_in(names, x.names) == x.drifted
    assert int(tested or 1) == np.sum(~np.isnan(x.p))
    assert p_is(p, max(value for value in x.adjusted if value < 0.05))


def check_noted(x, names):
    assert names_in(names, x.names) == x.drifted


def check_none_drifted(x, count, p):
    assert not x.drifted
    assert int(count) == np.sum(~np.isnan(x.p))
    assert p_is(p, np.nanmin(x.adjusted))


def check_mixed(x):
    assert x.drifted


def check_alike(x, names):
    alike = [name for name, rows in zip(x.names, x.scores, strict=True) if np.all(np.ptp(rows, axis=1) == 0)]
    assert names_in(names, x.names) == alike


def check_untestable(x):
    assert np.isnan(x.p).all()


def check_lack(x, names):
    lack = [name for name, rows in zip(x.names, np.isnan(x.scores), strict=True) if rows.any()]
    assert names_in(names, x.names) == lack


def check_agree(x, names):
    """The variance of the run means is below that of independent generations in all but a few of a hundred cases."""
    for name in names_in(names, x.names):
        rows = x.scores[x.names.index(name)]
        expected = rows.var(axis=1, ddof=1).mean() / len(rows)
        R = rows.shape[1]
        assert stats.chi2.cdf((R - 1) * rows.mean(axis=0).var(ddof=1) / expected, R - 1) < 0.05


RUNS = rf"(\w+) scored (?:from )?{NUMBER}(?: to {NUMBER})? in (\d+) runs ([^;]+)"
TEST = r"p (= [\d.]+|< [\d.]+|at most [\d.]+)"
COMPUTED = [
    (
        rf"{RUNS}; the next run will fall between {NUMBER} and {NUMBER} with 95% probability \(bar\)\.",
        check_scored,
    ),
    (rf"{RUNS}; no interval for the next run is known\.", check_no_interval),
    (
        (
            rf"The best run (of [^.]+?)?\s?lies {NUMBER} above the mean of all its runs: to report only the best run adds "
            r"that much luck(, the most of all models)?\."
        ),
        check_luck,
    ),
    (r"Runs with different questions differ by those, too, and not by luck alone\.", check_other_questions),
    (
        (
            rf"The runs of (.+) differ by more than (?:is usual for independent generations|sampling usually explains) "
            rf"\({TEST}(?:, adjusted for (\d+) models \(Holm\))?\): something may have changed between them\."
        ),
        check_drifted,
    ),
    (
        (
            r"For none of (\d+) models? do runs differ by more than is usual for independent generations \(smallest p, "
            r"adjusted by Holm: ([<\d.]+)\)\."
        ),
        check_none_drifted,
    ),
    (r"A mean over such runs may mix different conditions\.", check_mixed),
    (
        r"All runs of (.+) are the same score for score: either .+, or they are copies of one run .+ are the intervals of the scores right\.",
        check_alike,
    ),
    (r"No question was answered differently in two runs, so drift cannot be tested\.", check_untestable),
]
COMPUTED += [
    (
        r"(.+): the runs differ by more than is usual for independent generations, something may have changed: .+",
        check_noted,
    ),
    (r"(.+): no variation was seen: the interval is from how many generations may differ all the same\.", check_alike),
    (r"(.+): some runs lack questions\.", check_lack),
    (r"(.+): the run means agree more than independent generations would .+", check_agree),
    (r"The runs of (.+) agree more than independent generations would: a shared seed, or a cache\?", check_agree),
]
STATIC = [
    r"The test is Cochran's Q, with questions as strata, which tests for any difference, not for a trend\.",
    r"The mean of all runs, and where a single further run of the same questions will fall\.",
]


def read_sentences(name):
    """The sentences of the section on repeats, and the warnings on runs."""
    scores = PAGES[name]
    runs = runs_of(scores, NAMES[: len(scores)])
    whole = runs[0]
    for run in runs[1:]:
        whole += run
    page = build_page(ReportData([whole], repeats={"b": runs})).html
    section = re.search(
        r'<section id="b1-repeats-part".*?</section>\s*(?=<section id="b1-|<p class="made"|</article)', page, re.DOTALL
    )
    warnings = [text for text in sentences(page) if re.match(r"The runs of|All runs of|Some runs of", text)]
    return [*sentences(section[0]), *warnings]


@pytest.mark.parametrize("name", mark_long(PAGES, after=3))
def test_every_sentence_on_repeats_is_true(name):
    x, n_computed = PlantedRuns(PAGES[name]), 0
    for sentence in read_sentences(name):
        for pattern, check in COMPUTED:
            if match := re.fullmatch(pattern, sentence):
                check(x, *match.groups())
                n_computed += 1
                break
        else:
            assert any(re.fullmatch(pattern, sentence) for pattern in STATIC), sentence
    assert n_computed >= 2


def test_runs_of_equally_many_other_questions_are_not_called_runs_of_the_same_questions():
    """By hand: each of three runs lacks 20 other questions of 80; the page called them runs of the same questions."""
    text = " ".join(read_sentences("runs of equally many other questions"))
    assert "in 3 runs that have 60 of 80 questions each;" in text
    assert "Runs with different questions differ by those, too" in text
