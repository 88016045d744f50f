"""Sums over the questions that two models both answered, by loops over the pairs and the questions."""

import numpy as np
import pytest

from howsure.stats.core.cells import Cells
from howsure.stats.core.pair_sums import answer_patterns, common_sums


@pytest.mark.parametrize(
    ("models", "counts"),
    [(3, [1]), (3, [2, 3]), (6, [0, 1]), (12, [0, 2, 4]), (5, [0, 1, 2, 5]), (4, [1, 2]), (4, [1, 3]), (3, [0])],
)
def test_sums_by_loops(models, counts):
    """Complete and with gaps, of single generations, of several, and of both; with few patterns of gaps and with many."""
    rng = np.random.default_rng(len(counts) + models)
    N = 11
    scores = [[rng.normal(3, 1, rng.choice(counts)).tolist() for _ in range(N)] for _ in range(models)]
    cells = Cells.from_scores("b", [f"m{i}" for i in range(models)], [f"q{j}" for j in range(N)], scores)
    found = common_sums(cells)
    mean = [[np.mean(x) if x else 0.0 for x in row] for row in scores]
    center = [sum(p) / max(sum(bool(x) for x in row), 1) for p, row in zip(mean, scores, strict=True)]
    assert found.center == pytest.approx(center)
    for a in range(models):
        for b in range(models):
            both = [q for q in range(N) if scores[a][q] and scores[b][q]]
            several = [q for q in both if len(scores[a][q]) > 1]
            s2 = [float(np.var(scores[a][q], ddof=1)) for q in several]
            assert found.common[a, b] == len(both)
            assert found.p[a, b] == pytest.approx(sum(mean[a][q] for q in both))
            assert found.xx[a, b] == pytest.approx(sum((mean[a][q] - center[a]) ** 2 for q in both))
            assert found.s2[a, b] == pytest.approx(sum(s2))
            extra = sum(v * (1 - 1 / len(scores[a][q])) for v, q in zip(s2, several, strict=True))
            assert found.s2_extra[a, b] == pytest.approx(extra)
            product = sum((mean[a][q] - center[a]) * (mean[b][q] - center[b]) for q in both)
            assert found.product[a, b] == pytest.approx(product)
            if max(counts) > 1:  # without several generations of any question it is not computed
                assert found.several[a, b] == len(several)


def test_patterns_lead_back_to_the_answered_questions():
    answered = np.random.default_rng(1).random((9, 17)) < 0.5
    answered[4] = answered[7] = answered[0]
    patterns, pattern_of = answer_patterns(answered)
    assert len(patterns) == 7
    assert patterns[pattern_of].tolist() == answered.astype(float).tolist()
