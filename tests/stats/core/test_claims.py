"""Arguments are checked when a function is called, not when its result is printed."""

import pytest

from howsure.errors import InputError, UnknownNameError
from howsure.stats import borrowing
from howsure.stats.comparisons.curve import curve
from howsure.stats.comparisons.pairs import compare, pairs
from howsure.stats.comparisons.providers import providers
from howsure.stats.comparisons.ranking import rank
from howsure.stats.core import claims
from howsure.stats.core.cells import Cells
from howsure.stats.core.intervals import interval
from howsure.stats.repeats.prediction_intervals import repeats
from howsure.stats.repeats.resampling import convergence, run_gap
from howsure.stats.scores.beta import posterior
from howsure.stats.scores.score import score

CELLS = Cells.from_scores("demo", ["a", "b"], ["p", "q"], [[[1, 0], [1, 1]], [[0, 1], [0, 0]]])

CALLS = {
    "interval": lambda level: interval(0.5, 0.1, 10, level=level),
    "score": lambda level: score(CELLS, level=level),
    "compare": lambda level: compare(CELLS, "a", "b", level=level),
    "pairs": lambda level: pairs(CELLS, level=level),
    "rank": lambda level: rank(CELLS, level=level),
    "curve": lambda level: curve(CELLS, level=level),
    "providers": lambda level: providers([CELLS], [CELLS], level=level),
    "repeats": lambda level: repeats([CELLS, CELLS], level=level),
    "convergence": lambda level: convergence(CELLS, level=level),
    "run_gap": lambda level: run_gap(CELLS, runs=2, level=level),
    "posterior": lambda level: posterior(CELLS, level=level),
    "borrowed score": lambda level: borrowing.score(CELLS, CELLS, level=level),
    "borrowed difference": lambda level: borrowing.compare(CELLS, "a", "b", CELLS, level=level),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_percentage_is_refused_at_the_call(name):
    with pytest.raises(InputError, match=r"level is 95; did you mean 0\.95\?"):
        CALLS[name](95)


@pytest.mark.parametrize("level", [0, 1, 1.5, 49, 100, 100.5, -0.95, float("nan")])
def test_a_level_outside_of_0_and_1_is_refused(level):
    with pytest.raises(InputError, match=f"level is {level:g}; allowed: between 0 and 1"):
        claims.check_level(level)


def test_names_are_checked_with_the_nearest_ones():
    with pytest.raises(UnknownNameError, match="did you mean 'new-questions'"):
        claims.check_claim("new-question")
    with pytest.raises(UnknownNameError, match="unknown claim 'single-run'"):
        claims.check_mean_claim("single-run")
    assert claims.check_claim("single-run") == "single-run"


def test_tuples_hold_each_name_once():
    tuples = {name: value for name, value in vars(claims).items() if name.isupper() and isinstance(value, tuple)}
    assert len(tuples) > 10
    assert all(len(set(value)) == len(value) > 1 for value in tuples.values())
    assert set(claims.CLAIM_TEXTS) == set(claims.CLAIMS)


@pytest.mark.parametrize("level", [50, 80, 95, 99.9])
def test_a_level_in_percent_is_answered_with_the_share(level):
    with pytest.raises(InputError, match=f"level is {level:g}; did you mean {level / 100:g}\\?"):
        claims.check_level(level)


@pytest.mark.parametrize("level", ["0.95", None])
def test_a_level_that_is_no_number_is_an_input_error(level):
    with pytest.raises(InputError, match=r"level is .*; give a number between 0 and 1, such as 0\.95"):
        claims.check_level(level)


def test_a_model_given_as_a_number_is_named_in_the_suggestion():
    cells = Cells.from_scores("demo", ["1", "2"], ["p"], [[[1, 0]], [[0, 1]]])
    with pytest.raises(UnknownNameError, match="unknown model 1; did you mean '1'"):
        compare(cells, 1, "2")
