"""`stop` and the confidence sequence: theory, the slow oracle, guarantees by seeded simulation, what cannot be said."""

import math

import numpy as np
import pytest
from oracles import stopping as oracle
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import STOPPING_RULES
from howsure.stats.scores.score import score
from howsure.stats.sequential import VARIANCE_FLOOR, check_stopping, required_rounds
from howsure.stats.sequential.confidence_sequences import confidence_boundary, confidence_sequence


def cells_of(total, k, models=None):
    M, N = total.shape
    names = models or tuple(f"m{i:04}" for i in range(M)), tuple(f"q{j:03}" for j in range(N))
    total = total.astype(float)
    return Cells("drawn", *names, np.broadcast_to(k, total.shape).copy(), total, total)


# ---- the confidence sequence


@pytest.mark.parametrize(("level", "best_at"), [(0.95, 10), (0.9, 1), (0.99, 400)])
def test_boundary_against_the_oracle(level, best_at):
    """A slow version by somebody else, with r found by search."""
    r = oracle.best_r(best_at, 1 - level)
    t = [1, 2, 7, 10, 300, 100_000]
    expected = [oracle.half_width(1.0, x, 1 - level, r) for x in t]
    assert confidence_boundary(t, level=level, best_at=best_at) == pytest.approx(expected, rel=1e-6)
    assert math.isnan(confidence_boundary(0.5))


def test_boundary_is_narrowest_where_asked_and_nearly_so_around():
    """Theory: the documented 7 % from 3 to 100 rounds."""
    for t in (3, 10, 30, 100):
        best = min(confidence_boundary(t, best_at=b) for b in np.geomspace(0.5, 2000, 400))
        assert confidence_boundary(t, best_at=t) <= best * (1 + 1e-12)
        assert confidence_boundary(t) <= 1.07 * best


def test_running_mean_and_sd_against_a_loop():
    """A slow version: numpy's mean and std of each prefix; far from 0 too."""
    rng = np.random.default_rng(1)
    for shift in (0, 1e6):
        x = rng.normal(shift, 1, (3, 40))
        ours = confidence_sequence(x)
        for t in (2, 3, 40):
            mean, sd = x[:, :t].mean(axis=1), x[:, :t].std(axis=1, ddof=1)
            assert ours.mean[:, t - 1] == pytest.approx(mean)
            half = np.array([oracle.half_width(s, t, 0.05, oracle.best_r(10, 0.05)) for s in sd])
            assert ours.high[:, t - 1] - mean == pytest.approx(half, rel=1e-6, abs=1e-8 if shift else 0)
        assert np.all(np.isnan(ours.low[:, 0]))
    assert np.all(np.isnan(confidence_sequence([1.0, 1.0, 1.0]).low))


def test_the_sequence_covers_at_every_look_at_once():
    """Guarantee: 2,000 streams of 400 skewed observations, all looks from 50 on; the interval of one look does not."""
    rng = np.random.default_rng(2)
    x = rng.binomial(1, 0.3, (2000, 400)).astype(float)
    ours = confidence_sequence(x, best_at=100)
    outside = ~((ours.low <= 0.3) & (ours.high >= 0.3))
    assert np.mean(np.any(outside[:, 49:], axis=1)) < 0.05
    t = np.arange(1, 401)
    once = np.abs(ours.mean - 0.3) > 1.96 * np.sqrt(ours.mean * (1 - ours.mean) / t)
    assert np.mean(np.any(once[:, 49:], axis=1)) > 0.15


def test_a_known_sd_makes_it_hold_from_the_first_look():
    """Guarantee: round means over 100 questions with their pooled sd, looks from 1 to 100; 2,000 streams."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.6, 0.4, 100)
    rounds = (rng.random((2000, 100, 100)) < p).mean(axis=2)
    sd = np.sqrt(np.mean(p * (1 - p)) / 100)
    ours = confidence_sequence(rounds, sd=sd)
    missed = np.any((ours.low > p.mean()) | (ours.high < p.mean()), axis=1)
    assert np.mean(missed) < 0.05
    with_own_sd = confidence_sequence(rounds)
    missed = np.any((with_own_sd.low > p.mean()) | (with_own_sd.high < p.mean()), axis=1)
    assert np.mean(missed) > 0.1  # asymptotic: the sd of two run means is worth nothing


# ---- stopping


def misses(p, width, rounds, rules, *, truth=None):
    """Share that missed at the stop and at any look up to it, and the mean round of stopping, per rule and claim."""
    rng = np.random.default_rng(4)
    total = np.zeros(p.shape)
    stopped = {rule: np.zeros(len(p), int) for rule in rules}
    missed = {rule: np.zeros(len(p), bool) for rule in rules}
    ever = {rule: np.zeros(len(p), bool) for rule in rules}
    for k in range(1, rounds + 1):
        total += rng.random(p.shape) < p
        if k == 1:
            continue
        cells = cells_of(total, k)
        for rule in rules:
            look = check_stopping(cells, width, rule=rule[0], claim=rule[1])
            true = p.mean(axis=1) if truth is None else truth
            miss = np.abs(look.score - true) > look.half + 1e-12
            ever[rule] |= miss
            new = look.stop & (stopped[rule] == 0)
            stopped[rule][new], missed[rule][new] = k, miss[new]
    assert all(np.mean(s > 0) > 0.9 for s in stopped.values())
    return {rule: (np.mean(missed[rule]), np.mean(ever[rule]), np.mean(stopped[rule])) for rule in rules}


THESE = (("sequence", "these-questions"), ("pooled", "these-questions"))


@pytest.mark.long
def test_pooled_keeps_its_level_and_the_sequence_covers_at_every_look():
    """Guarantee, and a table of the design: N = 100, width .02; 500 models."""
    p = np.random.default_rng(5).beta(0.6, 0.4, (500, 100))
    found = misses(p, 0.02, 150, THESE)
    miss, ever, rounds = found[THESE[1]]
    assert miss == pytest.approx(0.05, abs=3.3 * math.sqrt(0.05 * 0.95 / 500))
    assert rounds == pytest.approx(47, abs=2)
    assert ever > 0.2  # not a guarantee at every look
    miss, ever, rounds = found[THESE[0]]
    assert miss < 0.01
    assert ever < 0.05
    assert rounds > 100


@pytest.mark.long
def test_near_the_ceiling_the_sequence_still_covers():
    """Guarantee: p = .995, N = 100, where most questions never vary: about 6 % at any look, and few at the stop."""
    found = misses(np.full((1000, 100), 0.995), 0.02, 20, THESE)
    assert found[THESE[0]][1] < 0.08
    assert found[THESE[0]][0] < 0.02


@pytest.mark.long
def test_new_questions_are_covered_at_every_look():
    """Guarantee: the score of the population, 1,000 sets of 100 questions."""
    p = np.random.default_rng(6).beta(0.6, 0.4, (1000, 100))
    rules = (("sequence", "new-questions"), ("pooled", "new-questions"))
    found = misses(p, 0.25, 20, rules, truth=0.6)
    assert found[rules[0]][1] < 0.05
    assert found[rules[1]][0] == pytest.approx(0.05, abs=3.3 * math.sqrt(0.05 * 0.95 / 1000))


def published(x, width, *, future):
    """PI's rule written out with scipy: stops at the first narrow interval of the run means `x`."""
    for n in range(2, len(x) + 1):
        half = stats.t.ppf(0.975, n - 1) * np.std(x[:n], ddof=1) * math.sqrt((2 if future else 1) / n)
        if 2 * half < width:
            return n, np.mean(x[:n]), half
    return None


def test_the_published_rule_against_the_oracle_and_written_out():
    """A slow version by somebody else: run by run on 30 runs."""
    rng = np.random.default_rng(7)
    p = rng.beta(0.6, 0.4, 50)
    scores = rng.random((30, 50)) < p
    runs = [cells_of(s[None], 1) for s in scores]
    means = [float(s.mean()) for s in scores]
    for rule, ahead in (("prediction", None), ("run-means", math.inf)):
        looks = [check_stopping(runs[:n], 0.06, rule=rule).stop[0] for n in range(2, 31)]
        when = oracle.run_mean_rule(means, 0.06, 0.95, ahead)
        assert 2 + looks.index(True) == when
        n, mean, half = published(means, 0.06, future=rule == "prediction")
        last = check_stopping(runs[:n], 0.06, rule=rule)
        assert (n, last.score[0], last.half[0]) == (when, pytest.approx(mean), pytest.approx(half))
        assert last.n_rounds[0] == n


@pytest.mark.long
def test_the_published_rule_misses_about_15_percent():
    """A table of the design: the rule on run means at a nominal 5 %, 1,500 models, vectorised."""
    rng = np.random.default_rng(8)
    p = rng.beta(0.6, 0.4, (1500, 100))
    runs, left = [], np.ones(1500, bool)
    missed = np.zeros(1500, bool)
    rounds = [cells_of(rng.random(p.shape) < p, 1) for _ in range(80)]
    means = np.array([r.total.mean(axis=1) for r in rounds])
    for n in range(2, 81):
        runs = means[:n]
        half = stats.t.ppf(0.975, n - 1) * runs.std(axis=0, ddof=1) / math.sqrt(n)
        new = left & (2 * half < 0.02)
        missed |= new & (np.abs(runs.mean(axis=0) - p.mean(axis=1)) > half)
        left &= ~new
        if n in {2, 20}:  # ours agrees with what is written out here
            ours = check_stopping(rounds[:n], 0.02, rule="run-means")
            assert ours.half == pytest.approx(half, abs=1e-12)
            assert ours.stop.tolist() == (2 * half < 0.02).tolist()
    assert not np.any(left)
    assert 0.11 < np.mean(missed) < 0.18


def test_pooled_rule_is_the_interval_of_the_score():
    """Theory: where all within-variances are equal, the degrees of freedom are their count."""
    total = np.tile([1, 2], (1, 50))
    look = check_stopping(cells_of(total, 3), 1, rule="pooled")
    between = score(cells_of(total, 3), claim="these-questions", method="t").interval()
    assert (look.low, look.high) == (pytest.approx(between.low), pytest.approx(between.high))
    new = check_stopping(cells_of(total, 3), 1, rule="pooled", claim="new-questions")
    between = score(cells_of(total, 3), method="t").interval()
    assert (new.low, new.high) == (pytest.approx(between.low), pytest.approx(between.high))


def test_sequence_by_hand():
    """Theory: 20 questions, k = 4, two right: s2 = 1/3, sd of a round sqrt(1/60); new questions add the data noise."""
    cells = cells_of(np.tile([1, 3, 2, 2], (1, 5)), 4)
    look = check_stopping(cells, 0.5, rule="sequence")
    E = np.mean([0.25, 0.25, 1 / 3, 1 / 3])
    assert look.n_rounds[0] == pytest.approx(4)
    assert look.half[0] == pytest.approx(float(confidence_boundary(4)) * math.sqrt(E / 20))
    new = check_stopping(cells, 0.5, rule="sequence", claim="new-questions")
    D = max(np.var(np.tile([1, 3, 2, 2], 5) / 4, ddof=1) - E / 4, 0)
    expected = float(confidence_boundary(4, level=0.975)) * math.sqrt(E / 20) + stats.t.ppf(0.9875, 19) * math.sqrt(
        D / 20
    )
    assert new.half[0] == pytest.approx(expected)


def test_unfinished_rounds_count_their_harmonic_mean():
    cells = Cells.from_scores("b", ["a"], ["1", "2"], [[[1, 0, 1], [1, 0]]])
    assert check_stopping(cells, 1, rule="sequence").n_rounds[0] == pytest.approx(2 / (1 / 3 + 1 / 2))


def test_a_pair_stops_on_its_difference():
    rng = np.random.default_rng(9)
    p = rng.beta(1, 1, (1, 80))
    total = rng.binomial(6, np.repeat(p, 2, axis=0))
    cells = cells_of(total, 6, ("a", "b"))
    look = check_stopping(cells, 0.3, rule="sequence", pair=("a", "b"))
    s2 = cells.within
    assert look.score[0] == pytest.approx(float(np.diff(cells.mean.mean(axis=1))[0]) * -1)
    assert look.half[0] == pytest.approx(float(confidence_boundary(6)) * math.sqrt(s2.sum() / 80**2))
    assert look.names == ("a - b",)
    assert look.bounds == (-1, 1)
    assert check_stopping(cells, 0.3, rule="sequence", pair=("b", "a")).score[0] == -look.score[0]
    runs = [cells_of(rng.random((2, 80)) < p, 1, ("a", "b")) for _ in range(5)]
    differences = [float(run.total[0].mean() - run.total[1].mean()) for run in runs]
    by_runs = check_stopping(runs, 0.3, rule="run-means", pair=("a", "b"))
    assert by_runs.half[0] == pytest.approx(stats.t.ppf(0.975, 4) * np.std(differences, ddof=1) / math.sqrt(5))
    assert check_stopping(runs, 0.3, pair=("a", "b")).n_rounds[0] == pytest.approx(5)


def test_what_never_varies_is_not_certain_at_once_but_stops():
    """Five differing pairs are assumed: sum of squares 2.5 over N (k-1)."""
    sure = cells_of(np.full((1, 50), 2), 2)
    look = check_stopping(sure, 0.02, rule="pooled")
    assert not look.stop[0]
    assert look.half[0] == pytest.approx(stats.t.ppf(0.975, 50) * math.sqrt(VARIANCE_FLOOR / 50 / 2 / 50))
    assert (look.high[0], look.columns()["stop"][0]) == (1.0, "no")
    assert "five pairs" in look.columns()["note"][0]
    assert check_stopping(cells_of(np.full((1, 50), 20), 20), 0.02).stop[0]
    # Scores that are not 0 and 1 have no such bound.
    partial = Cells.from_scores("b", ["a"], ["1", "2"], [[[0.5, 0.5], [0.25, 0.25]]])
    assert not check_stopping(partial, 5).stop[0]
    assert "no variation was seen" in check_stopping(partial, 5).columns()["note"][0]
    # The published rule stops at once, as published.
    assert check_stopping([cells_of(np.ones((1, 5)), 1)] * 2, 0.01, rule="prediction").stop[0]


def test_data_noise_that_no_generation_lessens():
    cells = cells_of(np.tile([0, 10, 1, 9], (1, 5)), 10)
    look = check_stopping(cells, 0.1, rule="sequence", claim="new-questions")
    assert not look.reachable[0]
    assert "data noise alone is wider" in look.columns()["note"][0]
    assert check_stopping(cells, 0.1, rule="sequence").reachable[0]


def test_what_cells_cannot_say():
    once = check_stopping(cells_of(np.array([[1, 0, 1]]), 1), 0.5)
    assert not once.stop[0]
    assert "prediction noise is unknown" in once.columns()["note"][0]
    # For new questions one generation is enough, looked at once.
    assert check_stopping(cells_of(np.array([[1, 0, 1]]), 1), 0.5, rule="pooled", claim="new-questions").half[0] > 0
    empty = check_stopping(Cells.from_scores("b", ["a"], ["1"], [[[]]]), 0.5)
    assert "no scores" in empty.columns()["note"][0]
    assert not check_stopping([cells_of(np.ones((1, 3)), 1)], 5, rule="run-means").stop[0]
    real = Cells.from_scores("b", ["a"], ["1", "2"], [[[3, 4], [5, 6]]])
    assert check_stopping(real, 0.1).high[0] > 4.5
    assert check_stopping(real, 0.1).low[0] < 4.5


# ---- when to look next


@pytest.mark.parametrize("rule", STOPPING_RULES)
@pytest.mark.parametrize("width", [0.01, 0.05, 0.3])
def test_rounds_needed_against_a_search(rule, width):
    """A slow version: one round after the other, each half-width written out with scipy."""
    sd, level = 0.035, 0.9
    half = {
        "sequence": lambda t: oracle.half_width(sd, t, 1 - level, oracle.best_r(10, 1 - level)),
        "pooled": lambda t: stats.norm.ppf((1 + level) / 2) * sd / math.sqrt(t),
        "run-means": lambda t: stats.t.ppf((1 + level) / 2, t - 1) * sd / math.sqrt(t),
        "prediction": lambda t: stats.t.ppf((1 + level) / 2, t - 1) * sd * math.sqrt(2 / t),
    }[rule]
    expected = next(t for t in range(2, 5000) if 2 * half(t) < width)
    assert required_rounds(width, sd, level=level, rule=rule) == expected


def test_rounds_needed_for_new_questions():
    """Theory: the half-width at one round fewer is too wide, at the answer narrow enough."""
    sd, d, N = 0.05, 0.02, 40
    t = float(required_rounds(0.06, sd, claim="new-questions", data=d, N=N, rule="sequence"))
    wide, narrow = (2 * (d + sd * float(confidence_boundary(k, level=0.975))) for k in (t - 1, t))
    assert wide >= 0.06 > narrow
    t = float(required_rounds(0.06, sd, rule="pooled", claim="new-questions", data=d, N=N))
    wide, narrow = (2 * math.sqrt(d**2 + stats.t.ppf(0.975, N - 1) ** 2 * sd**2 / k) for k in (t - 1, t))
    assert wide >= 0.06 > narrow


def test_rounds_that_no_number_of_would_do():
    needed = required_rounds(0.02, [[0.01, 0.0], [math.nan, 1e9]], rule="sequence")
    assert needed.shape == (2, 2)
    assert needed[0, 1] == 2
    assert math.isnan(needed[1, 0])
    assert math.isinf(needed[1, 1])
    assert math.isinf(required_rounds(0.02, 0.01, data=0.01, rule="sequence"))
    assert math.isnan(required_rounds(0.02, 0.01, data=math.nan, rule="sequence"))
    with pytest.raises(UnknownNameError, match="unknown rule 'all'"):
        required_rounds(0.1, 0.1, rule="all")


def test_a_look_tells_the_rounds_that_it_would_take():
    """Theory: by the sd of one round's mean, whichever the rule; for a pair both add up."""
    cells = cells_of(np.tile([1, 3, 2, 2], (2, 5)), 4, ("a", "b"))
    sd = math.sqrt(np.mean([0.25, 0.25, 1 / 3, 1 / 3]) / 20)
    assert check_stopping(cells, 0.1).needed.tolist() == [required_rounds(0.1, sd)] * 2
    assert check_stopping(cells, 0.1, pair=("a", "b")).needed[0] == required_rounds(0.1, sd * math.sqrt(2))
    scores = np.random.default_rng(10).random((6, 1, 40)) < 0.5
    runs = [cells_of(each, 1) for each in scores]
    sd = math.sqrt(np.mean(scores.var(axis=0, ddof=1)) / 40)
    assert check_stopping(runs, 0.1, rule="prediction").needed[0] == required_rounds(0.1, sd, rule="prediction")
    assert check_stopping(runs, 0.1, rule="pooled").least[0] == 0
    never = check_stopping(cells_of(np.tile([0, 10, 1, 9], (1, 5)), 10), 0.1, claim="new-questions")
    assert math.isinf(never.needed[0])
    assert never.least[0] >= 0.1


def test_a_floor_that_is_given():
    """Theory: sum of squares within questions is at least the floor, here of scores that are not 0 and 1."""
    cells = Cells.from_scores("b", ["a"], ["1", "2"], [[[0.5, 0.5], [0.25, 0.25]]])
    look = check_stopping(cells, 5, rule="sequence", variance_floor=0.3)
    assert look.half[0] == pytest.approx(float(confidence_boundary(2)) * math.sqrt(0.15 / 2))
    assert "five pairs" in look.columns()["note"][0]
    sure = cells_of(np.full((1, 50), 2), 2)
    assert math.isnan(check_stopping(sure, 0.02, rule="sequence", variance_floor=0.0).half[0])


CELLS = cells_of(np.array([[1, 2, 1]]), 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"width": 0}, "width is 0; allowed: above 0"),
        ({"rule": "sequences"}, "unknown rule 'sequences'; did you mean 'sequence'"),
        ({"claim": "all"}, "unknown claim 'all'"),
        ({"claim": "single-run"}, "rule 'pooled' cannot claim 'single-run'; allowed: these-questions, new-questions"),
        ({"rule": "prediction", "claim": "new-questions"}, "cannot claim 'new-questions'; allowed: these-questions"),
        ({"rule": "prediction"}, "rule 'prediction' needs the runs one by one; give one Cells per run"),
        ({"level": 1}, "level is 1; allowed"),
        ({"rule": "sequence", "best_at": 0}, "best_at is 0"),
        ({"pair": ("m0000", "m0000")}, "pair is 'm0000' twice; name two models"),
        ({"pair": ("m0000", "x")}, "unknown model 'x'"),
    ],
)
def test_wrong_use(wrong, message):
    with pytest.raises((InputError, UnknownNameError), match=message):
        check_stopping(CELLS, **{"width": 0.1} | wrong)


def test_wrong_streams():
    with pytest.raises(InputError, match="not a sequence of finite numbers"):
        confidence_sequence([0.1, math.nan])
    with pytest.raises(InputError, match="level is 2"):
        confidence_boundary(1, level=2)
