"""Every sentence of pages of questions in clusters, computed again with numpy and scipy alone from the scores as planted.

With G clusters of equal size the squared standard error of a mean is G / (G - 1) times the sum of the squared sums of
residuals over clusters, over N squared, with G - 1 degrees of freedom (CR2 and Satterthwaite, for equal sizes).
"""

import re
from functools import cache

import numpy as np
import pytest
from helpers.long_cases import mark_long
from helpers.planted_scores import NUMBER, Planted, check_sentences, draw, near, number, rounds_to, sentences
from helpers.sentence_checks import COMPUTED, STATIC
from scipy import stats

from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData


class PlantedClusters(Planted):
    """Scores of questions in clusters of equal size that follow each other."""

    def __init__(self, scores, size):
        N = len(scores[0])
        self.cluster = np.arange(N) // size
        self.G = int(self.cluster.max()) + 1
        super().__init__(scores, clusters=tuple(f"passage {c}" for c in self.cluster))

    def variance_of_mean(self, values):
        if self.G < 2:
            return np.nan
        residuals = values - values.mean()
        sums = np.array([residuals[self.cluster == c].sum() for c in range(self.G)])
        return self.G / (self.G - 1) * np.sum(sums**2) / len(values) ** 2

    def error(self, name, k):
        """The standard error of a score with k generations of each question; `None` for those at hand."""
        m = self.names.index(name)
        now = int(self.k[m, 0])
        E = self.within[m].mean() / self.k.shape[1]
        square = self.variance_of_mean(self.mean[m]) + E * ((1 / k if k else 1 / now) - 1 / now)
        return np.sqrt(max(square, 0))

    def p_of_pair(self, i, j):
        d = self.mean[i] - self.mean[j]
        se = np.sqrt(self.variance_of_mean(d))
        return 2 * stats.t.sf(abs(d.mean()) / se, self.G - 1) if se > 0 else np.nan


RNG = np.random.default_rng(55)
PASSAGES = np.repeat(RNG.beta(0.5, 0.5, 20), 6)
ALONE = RNG.beta(0.8, 0.8, 120)
PAGES = {
    "clusters that share their difficulty": PlantedClusters(draw(np.array([[1.0], [0.6]]) * PASSAGES, 3, seed=56), 6),
    "clusters of independent questions": PlantedClusters(draw(np.array([[1.0], [0.6]]) * ALONE, 3, seed=57), 6),
    "a question in each cluster": PlantedClusters(draw(np.array([[1.0], [0.6]]) * ALONE, 3, seed=58), 1),
    "one generation": PlantedClusters(draw(np.array([[1.0], [0.9]]) * PASSAGES, 1, seed=59), 6),
    "one model": PlantedClusters(draw(PASSAGES[None], 4, seed=60), 6),
    "all in one cluster": PlantedClusters(draw(np.array([[1.0], [0.6]]) * ALONE[:40], 3, seed=61), 40),
    "one cluster, one model": PlantedClusters(draw(ALONE[None, :40], 3, seed=62), 40),
}


def check_ends(x, name, value, low, high):
    """The interval is near that of t with G - 1 degrees of freedom."""
    m = x.names.index(name)
    assert name == x.best
    assert near(value, x.score[m])
    half = stats.t.ppf(0.975, x.G - 1) * np.sqrt(x.variance_of_mean(x.mean[m]))
    assert (number(high) - number(low)) / 2 == pytest.approx(half, rel=0.25)
    assert number(low) < x.score[m] < number(high)


def check_widths(x, least, most):
    widths = [2 * stats.t.ppf(0.975, x.G - 1) * np.sqrt(x.variance_of_mean(row)) for row in x.mean]
    assert number(least) == pytest.approx(min(widths), rel=0.25)
    assert number(most or least) == pytest.approx(max(widths), rel=0.25)


def check_unknown_error(x, name, value):
    assert x.G == 1
    assert name == x.best
    assert near(value, x.score.max())


def check_distinguishable(x, *_):
    assert x.p_of_pair(0, 1) < 0.05


def check_not_distinguishable(x, *_):
    assert x.p_of_pair(0, 1) > 0.05


def check_lead(x, value, name, low, high):
    d = x.mean[x.names.index(x.best)] - x.mean[x.names.index(name)]
    half = stats.t.ppf(0.975, x.G - 1) * np.sqrt(x.variance_of_mean(d))
    assert near(value, d.mean())
    assert (number(high) - number(low)) / 2 == pytest.approx(half, rel=0.25)


def check_untested(x, *_):
    assert x.G == 1


def check_detectable(x, value):
    d, df = x.mean[0] - x.mean[1], x.G - 1
    size = (stats.t.ppf(0.975, df) + stats.t.ppf(0.8, df)) * np.sqrt(x.variance_of_mean(d))
    assert number(value) == pytest.approx(size, rel=0.15)


def check_larger_at_hand(x, data, prediction):
    N = x.k.shape[1]
    sampling = [x.within[m].mean() / x.k[m, 0] / N for m in range(len(x.names))]
    share = [1 - s / x.variance_of_mean(x.mean[m]) for m, s in enumerate(sampling)]
    assert (int(data), int(prediction)) == (sum(s > 0.5 for s in share), sum(s < 0.5 for s in share))


def check_range_at_hand(x, one, now, rest):
    """The outer band is the interval of the table, scaled by the ratio of the standard errors."""
    ratio = x.error(x.best, 1) / x.error(x.best, None)
    assert number(one) / number(now) == pytest.approx(ratio, rel=0.01)
    m = x.names.index(x.best)
    data = x.error(x.best, None) ** 2 - x.within[m].mean() / x.k[m, 0] / x.k.shape[1]
    assert not rest or data > x.error(x.best, None) ** 2 / 2


def check_errors(x, name, one, now, k, least):
    assert near(one, x.error(name, 1))
    assert near(now, x.error(name, None))
    assert int(k) == x.k[0, 0]
    assert near(least, x.error(name, 1e12))


def check_run(x, calls, error):
    assert number(calls) == x.k[x.names.index(x.best)].sum()
    assert rounds_to(error, x.error(x.best, None))


def check_designs(x, text):
    """A design of n questions in as many more clusters has n / N of the squared error of this one."""
    N, found = x.k.shape[1], re.findall(r"(0\.\d+) with [^(]*\((\d+) questions × (\d+) generations?\)", text)
    assert found
    for error, n, k in found:
        assert rounds_to(error, x.error(x.best, int(k)) * np.sqrt(N / int(n)))


def check_count(x, count):
    assert int(count) == x.G > 1


def check_only_cluster(x):
    assert x.G == 1


CLUSTERED = [
    (rf"(\w+) has the highest score, {NUMBER} \(95% interval {NUMBER} to {NUMBER}\)\.", check_ends),
    (rf"(\w+) scores {NUMBER} \(95% interval {NUMBER} to {NUMBER}\)\.", check_ends),
    (
        rf"(\w+) (?:has the highest score,|scores) {NUMBER}, with an error that these data cannot estimate\.",
        check_unknown_error,
    ),
    (r"It is clearly better than the other model\.", check_distinguishable),
    (rf"It is {NUMBER} ahead of (\w+) \(95% interval {NUMBER} to {NUMBER}\)\.", check_lead),
    (r"Compared with \w+: 1 model is clearly below it\.", check_distinguishable),
    (r"It cannot be told apart from the other model at this sample size\.", check_not_distinguishable),
    (r"Compared with \w+: 1 model cannot be told apart from it at this sample size\.", check_not_distinguishable),
    (r"No test was possible against \w+\.", check_untested),
    (r"(\d+) models? (?:has|have) no interval\.", check_untested),
    (r"Compared with \w+: 1 model cannot be tested against it\.", check_untested),
    (rf"A true difference of {NUMBER} would be found with 80% power by this test\.", check_detectable),
    (
        (
            r"Bars are 95% intervals for the expected score on new questions in new clusters like these, "
            rf"{NUMBER}(?: to {NUMBER})? wide\."
        ),
        check_widths,
    ),
    (
        rf"The interval for new questions \(outer band\) goes from a width of {NUMBER} to one of {NUMBER}(: the rest is mostly data noise)?\.",
        check_range_at_hand,
    ),
    (
        (
            rf"(\w+) has a standard error of {NUMBER} with one generation per question, {NUMBER} with (\d+) \(the point\) and "
            rf"{NUMBER} with any number of them: only more questions in more clusters go below\."
        ),
        check_errors,
    ),
    (rf"This run took {NUMBER} calls for a standard error of {NUMBER} \(cross\)\.", check_run),
    (r"For as much, the best with equally many generations for every question is (.+)\.", check_designs),
    (r"Questions come in (\d+) clusters: intervals and tests are for new clusters; the parts .+", check_count),
    (
        r"All questions are in one cluster: what other clusters would give is unknown, so there are no .+",
        check_only_cluster,
    ),
]
STILL = [
    *STATIC,
    r"The interval is for the expected score on new questions in new clusters like these\.",
    r"More questions are planned in more clusters of the same sizes\.",
]


@cache
def html_of(name):
    x = PAGES[name]
    return build_page(ReportData([x.cells])).html


@pytest.mark.parametrize("name", mark_long(PAGES, after=3))
def test_every_sentence_on_clusters_is_true(name):
    check_sentences(html_of(name), PAGES[name], [*CLUSTERED, *COMPUTED], STILL)


def test_no_page_of_one_cluster_speaks_of_intervals_that_it_has():
    """By hand: there is no other cluster, so nothing is drawn again; the page said that bars are 95% intervals."""
    for name in ("all in one cluster", "one cluster, one model"):
        text = " ".join(sentences(html_of(name)))
        assert "Thick bars" not in text
        assert "are for new clusters" not in text
        assert "All questions are in one cluster" in text


def test_clusters_that_share_their_difficulty_widen_the_interval_on_the_page():
    """The counter-case: the same scores without clusters have half the error or less."""
    x = PAGES["clusters that share their difficulty"]
    alone = Planted([[q.tolist() for q in row] for row in x.scores])
    pattern = r"has the highest score, \S+ \(95% interval (\S+) to (\S+?)\)\."
    pages = html_of("clusters that share their difficulty"), build_page(ReportData([alone.cells])).html
    clustered, single = (number(high) - number(low) for page in pages for low, high in re.findall(pattern, page)[:1])
    assert clustered > 1.5 * single
    assert "clusters" not in " ".join(sentences(pages[1]))


def test_figures_of_single_questions_say_that_clusters_are_not_in_them():
    """The counter-case: the errors there were half of those of the tests, and two of three pairs above the curve."""
    x = PlantedClusters(draw(np.array([[1.0], [0.8], [0.6]]) * PASSAGES, 2, seed=63), 6)
    alone = Planted([[q.tolist() for q in row] for row in x.scores])
    said = "Here questions count as independent; the errors and tests for new clusters are in the table of pairs."
    for planted, count in ((x, 2), (alone, 0)):
        assert list(sentences(build_page(ReportData([planted.cells])).html)).count(said) == count


def test_the_methods_of_a_page_name_clusters_where_there_are_some():
    x = PAGES["one generation"]
    alone = Planted([[q.tolist() for q in row] for row in x.scores])
    methods = [
        page.partition('id="methods"')[2]
        for page in (html_of("one generation"), build_page(ReportData([alone.cells])).html)
    ]
    assert ["(CR2), for new clusters" in text for text in methods] == [True, False]
    assert not any("enters a standard error as 0" in text for text in methods)
