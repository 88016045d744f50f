"""Planning: theory by hand, another program's normal law, exhaustive search against calculus."""

import math
from itertools import pairwise

import pytest
from oracles import planning as oracle
from scipy import stats

Z = 1.959963984540054 + 0.8416212335729143


def test_detectable_by_hand():
    # D = 1/9, E = 1/3, N = 100, k = 3: SE^2 = (2/9)/100
    se = oracle.se_of_design(1 / 9, 1 / 3, 100, 3)
    assert se == pytest.approx(math.sqrt(2 / 9) / 10)
    assert oracle.detectable(se, 0.05, 0.8) == pytest.approx(Z * se, rel=1e-12)
    assert oracle.se_of_design(-0.5, 1 / 3, 100, 3) == pytest.approx(1 / 30)


@pytest.mark.parametrize("difference", [0.0, 0.01, -0.03, 0.2])
def test_power_against_scipy(difference):
    law, critical = stats.norm(abs(difference) / 0.02), stats.norm.isf(0.05)
    assert oracle.power_of(difference, 0.02, 0.1) == pytest.approx(law.sf(critical) + law.cdf(-critical), rel=1e-10)
    assert oracle.power_of(difference, 0.02, 0.1, both_sides=False) == pytest.approx(law.sf(critical), rel=1e-10)


def test_power_at_the_detectable_difference():
    for power in (0.5, 0.8, 0.99):
        difference = oracle.detectable(0.013, 0.05, power)
        assert oracle.power_of(difference, 0.013, 0.05, both_sides=False) == pytest.approx(power, rel=1e-9)
    excess = oracle.power_of(oracle.detectable(0.013, 0.05, 0.8), 0.013, 0.05) - 0.8
    assert 0 < excess < 1e-6
    assert oracle.power_of(0, 0.013, 0.05) == pytest.approx(0.05)


def test_smallest_n_by_hand():
    # N >= Z^2 (D + E/k)/target^2
    assert oracle.smallest_n(0.03, 1 / 9, 0.0, 1, 0.05, 0.8) == math.ceil(Z**2 / 9 / 0.03**2) == 969
    assert oracle.smallest_n(0.03, 1 / 9, 1 / 3, 1, 0.05, 0.8) == math.ceil(Z**2 * 4 / 9 / 0.03**2)
    assert oracle.smallest_n(0.03, 1 / 9, 1 / 3, 1, 0.05, 0.8, limit=1000) is None


def test_smallest_k_by_hand():
    # k >= E/(N (target/Z)^2 - D): N = 1000, target = .04: 1000 * 2.03858e-4 - 1/9 = 0.0927466
    room = 1000 * (0.04 / Z) ** 2 - 1 / 9
    assert oracle.smallest_k(0.04, 1 / 9, 1 / 3, 1000, 0.05, 0.8) == math.ceil(1 / 3 / room) == 4
    assert oracle.smallest_k(0.02, 1 / 9, 1 / 3, 1000, 0.05, 0.8) is None  # data noise alone: Z sqrt(D/N) = .0295
    assert oracle.smallest_k(0.5, 1 / 9, 1 / 3, 1000, 0.05, 0.8) == 1


def test_cost_by_hand():
    whole = oracle.Price(request=2, generation=3)
    assert oracle.cost_of(whole, 2, 3, 5) == {"requests": 6, "generations": 30, "cost": 102}
    pieces = oracle.Price(request=2, generation=3, per_request=2)
    assert oracle.cost_of(pieces, 2, 3, 5) == {"requests": 18, "generations": 30, "cost": 126}
    assert oracle.cost_of(oracle.Price(2, 3, 1), 2, 3, 5)["requests"] == 30


def test_crossed_se_by_hand():
    v = oracle.Variances(question=1, variant=0.5, interaction=0.6, generation=1.2)
    assert oracle.se_of_crossed(v, 10, 5, 2) == pytest.approx(math.sqrt(0.1 + 0.1 + 0.012 + 0.012))


V = oracle.Variances(question=0.05, variant=0.002, interaction=0.02, generation=0.12)
PRICE = oracle.Price(request=5, generation=1)
LIMITS = (12, 6, 8)


def test_cheapest_by_hand():
    only_generations = oracle.Variances(0, 0, 0, 1)
    got = oracle.cheapest(only_generations, oracle.Price(10, 1), (3, 3, 8), 0.5)  # N S K >= 4, one request
    assert got == [oracle.Design(14, 0.5, 1, 1, 4)]
    got = oracle.cheapest(only_generations, oracle.Price(0, 1), (3, 3, 8), 0.5)  # requests are free: any 4
    assert {(d.N, d.S, d.K) for d in got} == {(1, 1, 4), (1, 2, 2), (2, 1, 2), (2, 2, 1)}
    assert oracle.cheapest(only_generations, oracle.Price(0, 1), (1, 1, 3), 0.5) == []
    assert oracle.most_precise(only_generations, oracle.Price(10, 1), (3, 3, 8), 10) == []


def test_the_two_searches_agree():
    """Theory: what a budget buys at best cannot be had for less, and a larger budget never buys a larger SE."""
    found = [oracle.most_precise(V, PRICE, LIMITS, budget) for budget in (6, 30, 100, 300)]
    for designs in found:
        again = oracle.cheapest(V, PRICE, LIMITS, designs[0].se)
        assert again[0].cost == min(d.cost for d in designs)
    assert all(later[0].se < earlier[0].se for earlier, later in pairwise(found))


@pytest.mark.parametrize(
    ("N", "price"), [(10, oracle.Price(5, 1)), (40, oracle.Price(1, 4)), (3, oracle.Price(100, 1))]
)
def test_best_k_is_that_of_two_stage_sampling(N, price):
    """Theory: sqrt((c_in/c_out) ve/(vQS + N vS)), which calculus gives."""
    closed = math.sqrt(price.request / price.generation * V.generation / (V.interaction + N * V.variant))
    assert oracle.best_k(V, price, N) == pytest.approx(closed, rel=1e-6)


def test_best_k_next_to_exhaustive_search():
    """For fixed N and a large budget, the best whole K is next to the continuous one."""
    N, budget, best = 4, 4000, []
    for K in range(1, 16):
        S = int(budget / oracle.cost_of(PRICE, N, 1, K)["cost"])
        best.append((oracle.se_of_crossed(V._replace(question=0), N, S, K), K))
    assert abs(min(best)[1] - oracle.best_k(V, PRICE, N)) < 1
