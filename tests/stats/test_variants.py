"""How many prompt variants are enough."""

from itertools import combinations

import numpy as np
import pytest

from errorbar.errors import InputError
from errorbar.stats.variants import enough_variants


def by_enumeration(x, epsilon, delta):
    """A slow version: every subset of every size."""
    found = []
    for moment in (np.mean, np.var):
        for n in range(1, len(x) + 1):
            off = [abs(moment(subset) - moment(x)) for subset in combinations(x, n)]
            if np.quantile(off, 1 - delta / 2) <= epsilon:
                found.append(n)
                break
    return found


@pytest.mark.parametrize("seed", range(4))
def test_against_all_subsets(seed):
    x = np.random.default_rng(seed).normal(0.6, 0.03, 11)
    ours = enough_variants(("m",), x, epsilon=0.011, draws=20_000).n_star[0]
    assert np.abs(ours - by_enumeration(x, 0.011, 0.1)).max() <= 1
    tight = enough_variants(("m",), x, epsilon=0.0005, draws=20_000).n_star[0]
    assert np.abs(tight - by_enumeration(x, 0.0005, 0.1)).max() <= 1


@pytest.mark.parametrize(("sd", "published", "space"), [(0.02, 13, 16), (0.03, 26, 35), (0.05, 48, 97)])
def test_the_bias_of_the_published_number(sd, published, space):
    """A printed table: statistics.md section 6, N = 100."""
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (40, 100))
    x = 0.5 + sd * (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    ours = enough_variants(tuple(map(str, range(40))), x)
    assert ours.n_star[:, 0].mean() == pytest.approx(published, abs=1.5)
    assert set(ours.n_star_space[:, 0]) == {space}


def test_variants_that_do_not_matter_need_one():
    result = enough_variants(("same", "wild"), [[0.5] * 20, [0, 1] * 10])
    assert result.n_star[0].tolist() == [1, 1]
    columns = result.columns()
    assert columns["moment"].tolist() == ["mean", "variance"] * 2
    assert "biased low" in columns["note"][2]
    assert columns["note"][0] == ""


def test_wrong_use():
    with pytest.raises(
        InputError, match=r"scores have shape \(1, 3\); allowed: finite, \(models, variants\) = \(2, 2 or more\)"
    ):
        enough_variants(("a", "b"), [[1, 2, 3]])
    with pytest.raises(InputError, match="epsilon 0"):
        enough_variants(("a",), [[1, 2]], epsilon=0)
