"""Every sentence of the section on a judge, computed again with numpy and scipy alone from scores and labels as planted."""

import re

import numpy as np
import pytest
from helpers.long_cases import mark_long
from helpers.planted_scores import NUMBER, SHARE, is_share, names_in, near, number, sentences
from scipy import stats

from howsure.reporting.page import build_page
from howsure.reporting.report_data import JudgeSummary, ReportData
from howsure.stats.core.cells import Cells
from howsure.stats.judges import (
    JudgedCompletions,
    VerdictTable,
    measure_agreement,
    measure_judge_noise,
    measure_position_effect,
)

MODELS = ("Ada", "Bob", "Cleo")
N = 240


class Judged:
    """One completion of each model and question: what people say of it, and what a judge says who errs as planted."""

    def __init__(self, lenient, strict, *, labels=120, unreadable=0, lengths=(60, 1500), longer=0.0, seed=0):
        rng = np.random.default_rng(seed)
        M = len(lenient)
        self.names = MODELS[:M]
        self.truth = (rng.random((M, N)) < np.linspace(0.7, 0.45, M)[:, None]).astype(float)
        self.length = np.exp(rng.uniform(*np.log(lengths), (M, N)))
        wrong = np.where(self.truth == 1, np.reshape(strict, (M, 1)), np.reshape(lenient, (M, 1)))
        wrong = wrong + np.where((self.truth == 0) & (self.length > np.median(self.length)), longer, 0)
        self.score = np.where(rng.random((M, N)) < wrong, 1 - self.truth, self.truth)
        self.score[-1, :unreadable] = np.nan
        self.label = np.where(np.arange(N) >= N - labels, self.truth, np.nan)
        self.parts = {}

    @property
    def report(self):
        M = len(self.names)
        questions = tuple(f"q{i}" for i in range(N))
        completions = JudgedCompletions(
            "bench",
            self.names,
            questions,
            np.repeat(np.arange(M), N),
            np.tile(np.arange(N), M),
            self.score.ravel(),
            self.label.ravel(),
            np.ones(M * N),
            None,
            self.length.ravel(),
        )
        scores = [[[] if np.isnan(v) else [v] for v in row] for row in self.score.tolist()]
        summary = JudgeSummary(model="the-judge", template="correct", completions=completions, **self.parts)
        return ReportData([Cells.from_scores("bench", self.names, questions, scores)], judges={"bench": summary})


def verdicts(x, right):
    """Two verdicts on a completion of each question: `right` (M, 100) of both say right."""
    right = np.array(right)
    M, n = right.shape
    table = VerdictTable(
        "bench",
        x.names,
        tuple(f"q{i}" for i in range(n)),
        np.repeat(np.arange(M), n),
        np.tile(np.arange(n), M),
        np.arange(M * n),
        np.stack([right.ravel(), 2 - right.ravel()], axis=1),
        [1.0, 0.0],
    )
    x.flip = np.mean(right == 1, axis=1)  # two verdicts that differ
    x.parts["noise"] = measure_judge_noise(table)
    return x


def in_both_orders(x, scores):
    x.places = np.array(scores, float)
    x.parts["positions"] = measure_position_effect(scores, tuple(f"q{i}" for i in range(len(scores))))
    return x


def reviewed(x, first, second):
    x.words = np.array(list(first)), np.array(list(second))
    x.parts["agreements"] = [measure_agreement(list(first), list(second), reviewers=("Ann", "Bo"))]
    return x


RNG = np.random.default_rng(60)
PAGES = {
    "no labels": Judged([0.2, 0.2], [0.1, 0.1], labels=0),
    "a judge that is never wrong": Judged([0, 0], [0, 0]),
    "lenient to one": Judged([0.6, 0.1], [0, 0], unreadable=5, seed=1),
    "lenient to all": Judged([0.4, 0.4, 0.4], [0, 0, 0], labels=200, seed=2),
    "strict to one of three": Judged([0.1, 0.1, 0.1], [0, 0, 0.6], labels=200, seed=3),
    "long completions": Judged([0, 0], [0, 0], longer=0.9, labels=240, seed=4),
    "one length": Judged([0.3, 0.3], [0.1, 0.1], lengths=(300, 300), seed=5),
    "few labels": Judged([0.5, 0.1], [0, 0], labels=12, seed=6),
    "one model": Judged([0.3], [0.05], unreadable=1, seed=7),
    "verdicts that flip": verdicts(Judged([0.2, 0.2], [0, 0], seed=8), RNG.choice([0, 1, 2], (2, 100))),
    "verdicts that flip alike": verdicts(
        Judged([0.2, 0.2], [0, 0], seed=9), [[1] * 25 + [2] * 75, [2] * 75 + [1] * 25]
    ),
    "verdicts of one model": verdicts(Judged([0.2], [0], seed=10), [[1] * 10 + [0] * 90]),
    "first places": in_both_orders(Judged([0.2, 0.2], [0, 0], labels=0, seed=11), [[1, 1]] * 25 + [[1, 0]] * 15),
    "no place": in_both_orders(Judged([0.2, 0.2], [0, 0], labels=0, seed=12), [[1, 1], [0, 0]] * 5 + [[1, 0]] * 15),
    "two reviewers": reviewed(Judged([0.2, 0.2], [0, 0], seed=13), "CCCCWWWWCW", "CCCWWWWWCC"),
}
ENDS = rf"\[{NUMBER}, {NUMBER}\]"


def signed(text):
    return number(text.replace("+", ""))


def check_unreadable(x, missing, of, share):
    assert (number(missing), number(of)) == (np.sum(np.isnan(x.score)), x.score.size)
    assert is_share(share, np.mean(np.isnan(x.score)))
    assert np.isnan(x.score).any()


def check_flips(x, least, low, high, alike, most):
    assert near(least, x.flip.min())
    assert bool(low) == (len(x.flip) == 1)
    assert low is None or number(low) <= x.flip[0] <= number(high)
    assert bool(alike) == (len(x.flip) > 1 and np.ptp(x.flip) < 1e-12)
    assert most is None or near(most, x.flip.max())


def check_one_verdict(x):
    assert "noise" not in x.parts
    assert "positions" not in x.parts


def advantage(x):
    """Mean of what the first place gets above one half in both orders, and the ends by Student's t over pairs."""
    each = x.places.mean(axis=1) - 0.5
    half = 2.02 * each.std(ddof=1) / np.sqrt(len(each))
    return each.mean(), half


def check_place(x, place, size, low, high, pairs):
    mean, half = advantage(x)
    assert int(pairs) == len(x.places)
    assert signed(size) == pytest.approx(mean, abs=0.0006)
    assert signed(high) - signed(low) == pytest.approx(2 * half, rel=0.15)
    assert (place == "first") == (mean > 0)
    assert abs(mean) > half


def check_no_place(x, size, *_):
    mean, half = advantage(x)
    assert signed(size) == pytest.approx(mean, abs=0.0006)
    assert abs(mean) < half


def check_labels(x, count, *figures):
    """Several models answer a question, so that the limits lie outside those of labels that are all independent."""
    there = ~np.isnan(x.label) & ~np.isnan(x.score)
    assert number(count) in {there.sum(), np.sum(~np.isnan(x.label))}
    for value, (share, low, high) in enumerate((figures[3:], figures[:3])):
        agrees = (1 - x.score if value == 0 else x.score)[there & (x.label == value)]
        assert near(share, np.mean(agrees), 1e-9)
        widest = stats.binomtest(round(agrees.sum()), len(agrees)).proportion_ci(0.95, "exact")
        assert 0 <= number(low) <= widest.low + 5e-4
        assert widest.high - 5e-4 <= number(high) <= 1


def labelled_errors(x):
    """Errors of the judge on the labelled completions of each model."""
    return [(s - t)[~np.isnan(s - t)] for s, t in zip(x.score, x.label, strict=True)]


def difference_from_others(x, name):
    """The error on a model less that on the others, and a standard error with both as independent samples."""
    errors, m = labelled_errors(x), x.names.index(name)
    own, others = errors[m], np.concatenate([e for i, e in enumerate(errors) if i != m])
    return own.mean() - others.mean(), np.sqrt(own.var() / len(own) + others.var() / len(others))


def check_favour(x, side, name, size, low, high):
    d, se = difference_from_others(x, name)
    assert (side == "in favour of") == (d > 0)
    assert abs(d) > 2 * se
    assert signed(size) == pytest.approx(d, abs=0.02)
    assert signed(low) < d < signed(high)
    assert signed(low) * signed(high) > 0


def length_slope(x):
    there = ~np.isnan(x.score - x.label)
    error, length = (x.score - x.label)[there], np.log2(x.length[there])
    model = np.repeat(np.arange(len(x.names)), N).reshape(x.score.shape)[there]
    of_model = [model == m for m in range(len(x.names))]
    a, b = (values - sum(rows * values[rows].mean() for rows in of_model) for values in (length, error))
    slope = (a @ b) / (a @ a)
    return slope, np.sqrt(np.sum((b - slope * a) ** 2) / len(b) / (a @ a))


def check_length(x, size, low, high):
    slope, se = length_slope(x)
    assert abs(slope) > 2 * se
    assert signed(size) == pytest.approx(slope, abs=0.01)
    assert signed(low) < slope < signed(high)


def check_no_favour(x, what):
    fewest = np.min(np.sum(~np.isnan(x.label), axis=1))
    assert ("a model" in what) == (len(x.names) > 1 and fewest >= 20)
    assert ("length" in what) == (np.ptp(x.length) > 1e-9)
    for name in x.names if "a model" in what else ():
        d, se = difference_from_others(x, name)
        assert abs(d) < 3 * se or se == 0


def corrected(x, m):
    """PPI: the mean of the judge's scores less the mean error on the labelled ones, times the best weight; roughly."""
    s, t = x.score[m], x.label[m]
    there, labelled = ~np.isnan(s), ~np.isnan(s - t)
    weight = (
        np.cov(s[labelled], t[labelled])[0, 1]
        / max(np.var(s[there], ddof=1), 1e-12)
        / (1 + labelled.sum() / there.sum())
    )
    return t[labelled].mean() + weight * (s[there].mean() - s[labelled].mean())


def check_outside(x, names, side):
    for name in names_in(names, x.names):
        m = x.names.index(name)
        shift = np.nanmean(x.score[m]) - corrected(x, m)
        assert (side == "above") == (shift > 0)
        assert abs(shift) > 0.02


def check_few(x, names, fewest):
    few = [name for name, row in zip(x.names, x.label, strict=True) if np.sum(~np.isnan(row)) < int(fewest)]
    assert names_in(names, x.names) == few


def check_too_few(x, names, labels):
    counts = np.sum(~np.isnan(x.label), axis=1)
    assert names_in(names, x.names) == [
        name for name, count in zip(x.names, counts, strict=True) if count == int(labels)
    ]
    assert int(labels) < 20


def check_unreadable_of(x, names, missing):
    counts = np.sum(np.isnan(x.score), axis=1)
    assert names_in(names, x.names) == [
        name for name, count in zip(x.names, counts, strict=True) if count == int(missing)
    ]


def check_agreement(x, share, low, high, count, kappa):
    a, b = x.words
    observed = np.mean(a == b)
    chance = sum(np.mean(a == word) * np.mean(b == word) for word in "CW")
    assert near(share, observed)
    assert number(low) < observed < number(high)
    assert int(count) == len(a)
    assert near(kappa, (observed - chance) / (1 - chance))


CHECKS = [
    (r"The judge is the-judge, with the template correct\.", lambda _: None),
    (
        rf"{NUMBER} completions? of {NUMBER} \({SHARE}\) (?:is|are) without a readable verdict and without a score\.",
        check_unreadable,
    ),
    (
        r"Each completion has one verdict, so that the noise of the judge is unknown \(repeats: 2 shows it\)\.",
        check_one_verdict,
    ),
    (
        (
            rf"Two verdicts on the same completion differ with a probability of {NUMBER}(?: \(95% interval {NUMBER} to {NUMBER}\))?"
            rf"(, for each model)?(?: to {NUMBER}, depending on the model)?\."
        ),
        check_flips,
    ),
    (
        (
            r"The judge favours the (first|second) completion of a pair: the first place gets (\S+) \[(\S+), (\S+)\] more than half of "
            r"the score, over (\d+) pairs in both orders\."
        ),
        check_place,
    ),
    (
        r"No preference for a place was detected: the first place gets (\S+) \[(\S+), (\S+)\] more than half .+",
        check_no_place,
    ),
    (
        r"No labels by people were given, so that these scores are the judge's opinion: .+",
        lambda x: np.isnan(x.label).all() or pytest.fail("there are labels"),
    ),
    (
        (
            rf"People labelled ([\d,]+) completions: the judge says right of {NUMBER} \[{NUMBER}, {NUMBER}\] of what people score right, "
            rf"and wrong of {NUMBER} \[{NUMBER}, {NUMBER}\] of what people score wrong\."
        ),
        check_labels,
    ),
    (rf"Ann and Bo agree on {NUMBER} \[{NUMBER}, {NUMBER}\] of (\d+) completions, kappa {NUMBER}\.", check_agreement),
    (r"The judge's score of (.+) is (above|below) the interval of the corrected score\.", check_outside),
    (
        r"The judge errs (in favour of|against) (\w+): its error there differs by (\S+) \[(\S+), (\S+)\] from that on the others\.",
        check_favour,
    ),
    (r"The judge's error changes by (\S+) \[(\S+), (\S+)\] when a completion is twice as long\.", check_length),
    (r"The tests detected no favour for (.+), which small ones would escape\.", check_no_favour),
    (
        r"([^:]+): (?:only )?(\d+) labels?(?:: too few to correct the judge's score|, fewer than 20: the interval is wide, .+)\.",
        check_too_few,
    ),
    (r"([^:]+): completions without a readable verdict, left out: (\d+)\.", check_unreadable_of),
    (r"(.+) ha(?:s|ve) fewer than (\d+) labels: too few .+", check_few),
]


@pytest.mark.parametrize("name", mark_long(PAGES, after=5))
def test_every_sentence_on_the_judge_is_true(name):
    x = PAGES[name]
    html = build_page(x.report).html
    table = html[html.index('id="b1-judge-table"') :].partition("</section>")[0]
    unknown, n_checked = [], 0
    for sentence in sentences(f'<section id="b1-judge-table" class="listing"{table}</section>'):
        for pattern, check in CHECKS:
            if match := re.fullmatch(pattern, sentence):
                check(x, *match.groups())
                n_checked += 1
                break
        else:
            unknown.append(sentence)
    assert unknown == []
    assert n_checked >= 2
