"""The figures of the pages on methods that stand in no table of docs/guarantees.md: simulations and exact values.

`python bench/page_figures.py` prints each as the words of its page; a test finds these words there. Every simulation
has a seed. Models answer with P(correct) from Beta(.6, .4) where nothing else is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy import stats

from designs.data import ask, make_cells
from howsure.stats.comparisons import combine, compare, pairs
from howsure.stats.core.claims import WeightRule
from howsure.stats.core.intervals import interval
from howsure.stats.core.multiplicity import holm
from howsure.stats.gate import compare_with_baseline
from howsure.stats.questions.items import fit_one_parameter
from howsure.stats.repeats import repeats
from howsure.stats.scores import score
from published_results import load_published


def _format(share: float, digits: int = 3) -> str:
    """Return a share without the 0 before the point."""
    return f"{share:.{digits}f}".lstrip("0")


def few_clusters() -> str:
    """20 clusters of 5 questions of mean .9, 5 generations: the default, and Satterthwaite's df alone."""
    rng = np.random.default_rng(21)
    clusters = tuple(str(j // 5) for j in range(100))
    found = score(ask(np.repeat(rng.beta(1.8, 0.2, (4000, 20)), 5, axis=1), 5, rng, clusters=clusters))
    errors, df = np.sqrt(found.variance), np.asarray(found.df, float)
    by_size = interval(found.score, errors, df + 1, method="wilson-effective", df=df, bounds=(0, 1))
    ours, alone = (float(np.mean((each.low <= 0.9) & (each.high >= 0.9))) for each in (found.interval(), by_size))
    return f"with 20 clusters of 5 questions of mean .9 it covers {_format(ours)} ({_format(alone)} without)"


def few_varying_questions() -> str:
    """Student's t for these questions, where 3 of 100 have P(correct) .5 and the others never vary: 500 evaluations."""
    covered = []
    for k in (2, 3, 5, 10):
        rng = np.random.default_rng(k)
        p = np.r_[np.full(3, 0.5), np.repeat([0.0, 1.0], [40, 57])]
        count = 0
        for _ in range(500):
            found = compare(ask(np.array([p, p]), k, rng), "0", "1", claim="these-questions", method="t").interval()
            count += bool(found.low[0] <= 0 <= found.high[0])
        covered.append(count / 500)
    return f"t alone covers {_format(min(covered), 2)} to {_format(max(covered), 2)} where 3 of 100 questions vary"


def chosen_reference() -> str:
    """Ten equal models on 200 questions: whether one is called worse than the highest, by M - 1 tests and by all."""
    rng = np.random.default_rng(10)
    few = all_pairs = 0
    for _ in range(600):
        cells = ask(np.tile(rng.beta(0.6, 0.4, 200), (10, 1)), 1, rng)
        found, best = pairs(cells), int(np.argmax(cells.mean.mean(axis=1)))
        with_best = (found.a == best) | (found.b == best)
        few += bool(np.any(holm(found.interval().p_value[with_best]) < 0.05))
        all_pairs += bool(np.any(found.p_holm[with_best] < 0.05))
    return (
        f"M - 1 tests called some model worse than the best in {_format(few / 600)} of 600 simulated evaluations,"
        f" all pairs in {_format(all_pairs / 600)}"
    )


def twelve_questions() -> str:
    """12 questions that all differ in one direction: p of the default and of the sign test."""
    scores = np.repeat([[1.0], [0.0]], 12, axis=1)
    p = float(compare(make_cells(1, scores), "0", "1").interval().p_value[0])
    return f"that of the default is {_format(p, 5)}, that of the sign test 2/2^12 = {_format(2 / 2**12, 4)}"


def _combined(sizes: int, number: int, weights: WeightRule, clusters: int = 0) -> float:
    """Return how often 800 sets of benchmarks without a difference show one."""
    rng = np.random.default_rng([sizes, number, clusters])
    names = tuple(str(j % clusters) for j in range(sizes)) if clusters else None
    rejected = 0
    for _ in range(800):
        rows = []
        for i in range(number):
            p = rng.beta(0.6, 0.4, (2, sizes))
            if clusters:
                shift = rng.normal(0, 1, (2, clusters))[:, np.arange(sizes) % clusters]
                p = 1 / (1 + np.exp(-shift - rng.normal(0, 1, sizes)))
            rows.append(compare(replace(ask(p, 2, rng, clusters=names), benchmark=f"b{i}"), "0", "1"))
        rejected += bool(combine(rows, weights=weights).p_meta < 0.05)
    return rejected / 800


def benchmarks_of_few_clusters() -> str:
    """Five benchmarks of 3 clusters of 10 questions, weighed by precision."""
    return f"({_format(_combined(30, 5, 'precision', clusters=3))} with 5 benchmarks of 3 clusters)"


def drift_of_four_models() -> str:
    """600 tables of 4 models x 50 questions x 3 runs without drift: a model whose test rejects, alone and adjusted."""
    rng = np.random.default_rng(44)
    alone = adjusted = 0
    for _ in range(600):
        p = 1 / (1 + np.exp(rng.normal(0, 1.5, 50) - np.array([[1.2], [1.0], [0.4], [-0.3]])))
        found = repeats([ask(p, 1, rng) for _ in range(3)], n_future=1)
        alone += bool(np.any(found.drift_p < 0.05))
        adjusted += bool(np.any(found.method == "run-means"))
    return (
        f"of four models without drift, one had the wider interval in {100 * alone / 600:.0f} % of simulated tables by"
        f" its own test, in {100 * adjusted / 600:.0f} % by the adjusted one"
    )


def counted_degrees_of_freedom() -> str:
    """96 sure questions and 4 coins, 3 runs: t with k - 1 degrees of freedom for each question."""
    rng = np.random.default_rng(4)
    p = np.tile(np.r_[np.full(4, 0.5), np.ones(96)], (2000, 1))
    found = repeats([ask(p, 1, rng) for _ in range(3)], alpha=0, n_future=math.inf)
    seen = found.variance > 0
    miss = np.abs(found.mean - 0.98)[seen] / np.sqrt(found.variance[seen])
    share = 100 * np.mean(miss <= stats.t.ppf(0.975, 200))
    return f"the count alone covers {share:.0f} % where 4 of 100 questions vary"


def power_with_few_clusters() -> str:
    """Power of a t test with 3 degrees of freedom at the distance that gives .80 with many."""
    distance = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    quantile = stats.t.ppf(0.975, 3)
    power = stats.nct.sf(quantile, 3, distance) + stats.nct.cdf(-quantile, 3, distance)
    return f"{_format(power, 2)} in place of .80 with 3 degrees of freedom"


def consistency_of_many_answers() -> str:
    """50 even answers: the expected estimate, by the bias that `estimate_consistency` states."""
    expected = [-math.log(50) + sum(0.98**j / j for j in range(n, 20_000)) for n in (5, 10)]
    return (
        f"50 even answers have {-math.log(50):.2f}, and the estimate is {expected[0]:.2f} from 5 generations and"
        f" {expected[1]:.2f} from 10"
    )


def one_parameter_model() -> str:
    """Abilities and difficulties from few generations of ten models of MATH-500, beside those from 1,100 of them."""
    published = load_published("math500_cot")
    p = published.total / np.maximum(published.n, 1)
    scores = np.where((published.n > 0).all(axis=1), p.mean(axis=1), 0.0)
    among = [i for i in np.argsort(scores) if 0.05 < scores[i] < 0.95]
    p = p[[among[round(place)] for place in np.linspace(0, len(among) - 1, 10)]]
    truth = fit_one_parameter(ask(p, 1100, np.random.default_rng(0)))
    varied = (p.mean(axis=0) >= 0.05) & (p.mean(axis=0) <= 0.95)
    spreads, covered = [], []
    for k in (1, 3, 10):
        fits = [fit_one_parameter(ask(p, k, np.random.default_rng([k, seed]))) for seed in range(5)]
        spreads.append(_format(float(np.mean([fit.ability.std() for fit in fits]) / truth.ability.std()), 2))
        off = [np.abs(fit.difficulty - truth.difficulty) <= 1.96 * fit.se for fit in fits]
        covered.append(float(np.mean(np.array(off)[:, varied])))
    return (
        f"abilities of ten models of MATH-500 have {spreads[0]}, {spreads[1]} and {spreads[2]} of their spread at 1, 3"
        f" and 10 generations, and intervals of difficulties cover {_format(min(covered), 2)} to"
        f" {_format(max(covered), 2)}"
    )


def heavy_tails_of_prompts() -> str:
    """The chi-square interval of a variance of 20 effects that follow t with 5 degrees of freedom: 20,000 draws."""
    variance = stats.t.rvs(5, size=(20_000, 20), random_state=np.random.default_rng(5)).var(axis=1, ddof=1)
    low, high = stats.chi2.ppf([0.025, 0.975], 19)
    covered = np.mean((19 * variance / high <= 5 / 3) & (19 * variance / low >= 5 / 3))
    return f"where effects of 20 prompts follow t with 5 degrees of freedom, it covers {_format(covered, 2)}"


def stopping_at_the_first_wrong_label() -> str:
    """The expected share of wrong labels, 5 %, where the review stops at the first one: p log(1/p) / (1 - p)."""
    return f"stopping at the first wrong one reports {_format(0.05 * math.log(20) / 0.95)} on average"


def prompts_of_their_own() -> str:
    """1,000 unchanged candidates whose questions drew 3 of 20 prompts, as those of the baseline: how many fail."""
    shares = []
    for effect in (0.1, 0.2, 0.3):
        rng = np.random.default_rng(5)
        fails = 0
        for _ in range(1000):
            p = np.clip(rng.beta(2, 2, (60, 1)) + rng.normal(0, effect, (60, 20)), 0, 1)
            right = []
            for _ in range(2):
                prompts = np.argsort(rng.random(p.shape), axis=1)[:, :3]
                right.append(rng.binomial(3, np.take_along_axis(p, prompts, axis=1)).sum(axis=1))
            cells = make_cells(9, np.array(right, float))
            fails += compare_with_baseline(cells, "1", "0", own_variants=True).verdict == "fail"
        shares.append(f"{fails / 10:.1f}")
    return (
        "effects of a standard deviation of .1, .2 and .3 on P(correct) made"
        f" {shares[0]}, {shares[1]} and {shares[2]} % of 1,000 unchanged candidates fail"
    )


#: Page below docs, and the function that prints what the page says.
FIGURES: tuple[tuple[str, Callable[[], str]], ...] = (
    ("methods/scores.md", few_clusters),
    ("methods/differences.md", few_varying_questions),
    ("methods/differences.md", chosen_reference),
    ("methods/differences.md", twelve_questions),
    ("methods/differences.md", benchmarks_of_few_clusters),
    ("methods/repeats.md", drift_of_four_models),
    ("methods/repeats.md", counted_degrees_of_freedom),
    ("methods/plans.md", power_with_few_clusters),
    ("methods/questions.md", consistency_of_many_answers),
    ("methods/questions.md", one_parameter_model),
    ("methods/prompt_variants.md", heavy_tails_of_prompts),
    ("gate.md", prompts_of_their_own),
    ("review.md", stopping_at_the_first_wrong_label),
)


#: Figures that are exact, and take no time.
EXACT = (
    twelve_questions,
    power_with_few_clusters,
    consistency_of_many_answers,
    stopping_at_the_first_wrong_label,
)


def list_figures() -> Iterator[tuple[str, str]]:
    """Yield each page with the words that it has."""
    for page, figure in FIGURES:
        yield page, figure()


if __name__ == "__main__":
    for page, words in list_figures():
        print(f"{page}: {words}")
