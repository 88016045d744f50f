"""Generations of one request that share its deployment. Kind of truth: the error over runs that are drawn again."""

import warnings

import numpy as np
import pytest
from helpers.stored_rows import open_run, row

import howsure as hs


def sample(rng, spread, n_requests=2, n_choices=10):
    """Return scores (questions, requests, choices): each request goes to one of two deployments, `spread` apart."""
    ease = np.linspace(0.3, 0.7, 50)[:, None]
    chance = ease + spread * np.where(rng.random((50, n_requests)) < 0.5, 0.5, -0.5)
    return (rng.random((50, n_requests, n_choices)) < chance[..., None]).astype(float)


def store(path, scores, request="r{q}-{r}"):
    with open_run(path) as folder:
        folder.append(
            [
                row(
                    f"q{q}",
                    r * scores.shape[2] + j + 1,
                    score=score,
                    request=request.format(q=q, r=r),
                    created=float(q),
                )
                for q, requests in enumerate(scores)
                for r, choices in enumerate(requests)
                for j, score in enumerate(choices.tolist())
            ]
        )
    return path


def test_the_error_is_that_of_running_again_where_a_router_has_two_deployments(tmp_path):
    rng = np.random.default_rng(4)
    again = np.std([sample(rng, 0.5).mean() for _ in range(2000)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = hs.score(store(tmp_path / "run", sample(rng, 0.5)), claim="these-questions")
    assert found["se"][0] == pytest.approx(again, rel=0.25)  # ten generations of a request were ten
    assert found["n_generations"].tolist() == [100]
    assert any("each request counts as one" in str(one.message) for one in caught)


@pytest.mark.parametrize(("spread", "request_id"), [(0.0, "r{q}-{r}"), (0.5, "same")])
def test_independent_generations_and_requests_without_ids_stay_as_they_are(tmp_path, spread, request_id):
    scores = sample(np.random.default_rng(5), spread)
    found = hs.score(store(tmp_path / "run", scores, request_id), claim="these-questions")
    assert found["n_generations"].tolist() == [1000]
    assert found["score"][0] == pytest.approx(scores.mean())
