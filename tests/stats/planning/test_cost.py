"""Cost of generations, and scores beside it: sums by hand, and loops over all pairs of models."""

import math

import numpy as np
import pytest

from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons.pairs import pairs
from howsure.stats.core.cells import Cells
from howsure.stats.planning.cost import Cost, ModelUsage, compare_costs, cost_per_cell
from howsure.stats.scores.score import score

PRICED = Cost(prompt_tokens=400, completion_tokens=100, input_price=3, output_price=15, generations_per_request=4)


def cells_of(shares, N=60):
    """A model for each share, which answers so many of N questions correctly, the first ones."""
    right = np.arange(N) < np.round(np.array(shares)[:, None] * N)
    names = tuple("abcdefgh"[: len(shares)]), tuple(f"q{j}" for j in range(N))
    return Cells("b", *names, np.ones(right.shape, int), right.astype(float), right.astype(float))


def test_what_generations_cost_by_hand():
    """Nine generations, four to a request, take three requests: 3 x 400 + 9 x 100 tokens, at 3 and 15 dollars a million."""
    assert PRICED.cell([4, 5, 9], "calls").tolist() == [1, 2, 3]
    assert PRICED.cell([4, 5, 9], "tokens").tolist() == [800, 1300, 2100]
    assert PRICED.cell(9, "cost") == pytest.approx((1200 * 3 + 900 * 15) / 1e6)
    single = Cost(prompt_tokens=10, completion_tokens=1)
    assert single.cell(9, "tokens") == 99
    assert cost_per_cell([PRICED, single], [4, 9], "tokens").tolist() == [844, 2199]
    assert math.isnan(single.cell(9, "cost"))
    assert Cost().cell([[1, 2]], "calls").tolist() == [[1, 2]]
    assert Cost(prompt_tokens=0, completion_tokens=0).cell(3, "tokens") == 0
    for unit in (PRICED.request, PRICED.generation):
        with pytest.raises(UnknownNameError):
            unit("dollars")
    for wrong in ({"prompt_tokens": -1}, {"input_price": math.inf}, {"generations_per_request": 0}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} is"):
            Cost(**wrong)
    with pytest.raises(InputError, match="generations_per_request is 1.5"):
        Cost(generations_per_request=1.5)


def test_who_is_better_for_less_by_a_loop_over_all_pairs():
    """a, b and c are better than d, e and f; costs of .1 + .2 and .3 are equal; the use of c is not recorded."""
    cells = cells_of([0.9, 0.95, 0.9, 0.3, 0.25, 0.3])
    dollars = {"a": 0.1 + 0.2, "b": 0.4, "d": 0.3, "e": 0.6, "f": 0.2}
    usage = {name: ModelUsage(60, 61, tokens=math.nan, cost=60 * each) for name, each in dollars.items()}
    found = compare_costs(cells, usage, level=0.9)
    assert found.unit == "cost"
    assert found.cost == pytest.approx([0.3, 0.4, math.nan, 0.3, 0.6, 0.2], nan_ok=True)
    assert found.better_for_less == ((), (), (), ("a",), ("a", "b"), ())
    test = pairs(cells, level=0.9)
    for i, worse in enumerate(cells.models):
        expected = [
            better
            for j, better in enumerate(cells.models)
            if {better, worse} <= set(dollars) and dollars[better] <= dollars[worse] + 1e-9
            for row, pair in enumerate(zip(test.a, test.b, strict=True))
            if set(pair) == {i, j} and test.p_holm[row] < 0.1 and found.score[j] > found.score[i]
        ]
        assert found.better_for_less[i] == tuple(expected)
    columns = found.columns()
    assert columns["better_for_less"].tolist() == ["", "", "", "a", "a, b", ""]
    assert columns["cost_per_generation"] == pytest.approx(found.cost, nan_ok=True)
    assert found.level == 0.9
    assert [bool(note) for note in columns["note"]] == [model == "c" for model in cells.models]
    between = score(cells).interval(0.9)
    assert (found.low.tolist(), found.high.tolist()) == (between.low.tolist(), between.high.tolist())
    assert found.score.tolist() == pytest.approx([0.9, 0.95, 0.9, 0.3, 0.25, 0.3])
    few, alike = cells_of([0.9, 0.3], N=10), dict.fromkeys("ab", ModelUsage(10, 10))
    assert compare_costs(few, alike).better_for_less == ((), ("a",))
    assert compare_costs(few, alike, level=1 - 1e-6).better_for_less == ((), ())  # six of ten are not so sure


def test_the_unit_is_the_last_that_is_known_for_every_model_whose_use_is_recorded():
    cells = cells_of([0.5, 0.9, 0.5])
    dear = ModelUsage(4, 5, tokens=1000, cost=0.02)
    assert compare_costs(cells, {"a": dear, "b": dear}).unit == "cost"
    tokens = compare_costs(cells, {"a": dear, "b": ModelUsage(10, 10, tokens=500)})
    assert (tokens.unit, tokens.cost.tolist()[:2]) == ("tokens", [250, 50])
    calls = compare_costs(cells, {"a": dear, "b": ModelUsage(10, 15)})
    assert (calls.unit, calls.cost.tolist()[:2]) == ("calls", [1.25, 1.5])
    assert math.isnan(ModelUsage(0, 3).per_generation("calls"))
    assert np.isnan(compare_costs(cells, {}).cost).all()
