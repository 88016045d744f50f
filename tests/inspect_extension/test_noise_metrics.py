"""Noise components as metrics of Inspect.

Kind of truth: values computed by hand, the formulas written as loops, and Inspect's own `stderr` on the same scores.
"""

import math
import statistics
from importlib import metadata

import numpy as np
import pytest

pytest.importorskip("inspect_ai", reason="the extra inspect is not installed")

from inspect_ai.scorer import SampleScore, Score, mean_score, stderr
from inspect_ai.util import registry_info

from howsure.inspect_extension.noise_metrics import NOISE_METRICS


def make_scores(by_sample):
    return [
        SampleScore(score=Score(value=value), sample_id=name) for name, values in by_sample.items() for value in values
    ]


def compute(by_sample):
    return {name: metric()(make_scores(by_sample)) for name, metric in NOISE_METRICS.items()}


def loop_components(by_sample):
    """D and E over N, by plain loops."""
    N = len(by_sample)
    means = [statistics.fmean(values) for values in by_sample.values()]
    within = [statistics.variance(values) for values in by_sample.values()]
    E = statistics.fmean(within)
    D = statistics.variance(means) - statistics.fmean(
        s2 / len(values) for s2, values in zip(within, by_sample.values(), strict=True)
    )
    return max(D, 0) / N, E / N


def test_four_samples_by_hand():
    # p = 1/2, 1, 0, 1: variance 11/48 * ... = 0.2291667; s2 = 1/2, 0, 0, 0: E = 1/8; D = .2291667 - .0625 = .1666667
    result = compute({"a": [1, 0], "b": [1, 1], "c": [0, 0], "d": [1, 1]})
    assert result["prediction_stderr"] == pytest.approx(math.sqrt(0.125 / 4))
    assert result["data_stderr"] == pytest.approx(math.sqrt((1 / 6) / 4))
    assert result["total_stderr"] == pytest.approx(math.sqrt((0.125 + 1 / 6) / 4))


@pytest.mark.parametrize("seed", range(5))
def test_random_scores_equal_the_loops(seed):
    rng = np.random.default_rng(seed)
    by_sample = {f"q{i}": rng.random(rng.integers(2, 6)).tolist() for i in range(rng.integers(2, 40))}
    D, E = loop_components(by_sample)
    result = compute(by_sample)
    assert result["data_stderr"] == pytest.approx(math.sqrt(D), abs=1e-9)
    assert result["prediction_stderr"] == pytest.approx(math.sqrt(E))
    assert result["total_stderr"] == pytest.approx(math.sqrt(D + E))


def test_with_one_epoch_only_the_total_is_known_and_equals_the_standard_error_of_inspect():
    by_sample = {f"q{i}": [float(i % 3 == 0)] for i in range(20)}
    result = compute(by_sample)
    assert result["total_stderr"] == pytest.approx(stderr()(make_scores(by_sample)))
    assert math.isnan(result["data_stderr"])
    assert math.isnan(result["prediction_stderr"])


def test_the_components_give_the_standard_error_of_the_mean_over_epochs():
    rng = np.random.default_rng(7)
    by_sample = {f"q{i}": rng.integers(0, 2, 4).tolist() for i in range(30)}
    reduced = [
        SampleScore(score=mean_score()([Score(value=v) for v in values]), sample_id=name)
        for name, values in by_sample.items()
    ]
    result = compute(by_sample)
    D, E = loop_components(by_sample)
    if D > 0:
        expected = math.sqrt(result["data_stderr"] ** 2 + result["prediction_stderr"] ** 2 / 4)
        assert stderr()(reduced) == pytest.approx(expected)
    assert E > 0


@pytest.mark.long
def test_the_estimates_are_right_on_average():
    # Questions Beta(2, 2): D = 1/20, E = E[p (1 - p)] = 1/5; 30 questions, 3 epochs.
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        p = rng.beta(2, 2, 30)
        draws = rng.random((3, 30)) < p
        result = compute({str(i): draws[:, i].astype(float).tolist() for i in range(30)})
        found.append([result["total_stderr"] ** 2 * 30, result["prediction_stderr"] ** 2 * 30])
    assert np.mean(found, axis=0) == pytest.approx([0.25, 0.2], abs=0.006)


@pytest.mark.parametrize(
    "by_sample", [{}, {"a": [1.0]}, {"a": [math.nan]}, {"a": [math.nan, math.nan], "b": [math.nan]}]
)
def test_what_cannot_be_said_is_nan(by_sample):
    assert all(math.isnan(value) for value in compute(by_sample).values())


def test_letters_have_the_values_of_inspect_and_unscored_epochs_are_left_out():
    letters = {"a": ["C", "I"], "b": ["C", "C", math.nan], "c": ["I", "N"], "d": ["C", "C"]}
    numbers = {"a": [1, 0], "b": [1, 1], "c": [0, 0], "d": [1, 1]}
    assert compute(letters) == compute(numbers)


def test_dicts_and_lists_of_values_have_a_number_for_each():
    values = {"a": [1, 0], "b": [1, 1], "c": [0, 0]}
    dicts = {name: [{"x": v, "y": 1 - v, "z": None} for v in some] for name, some in values.items()}
    lists = {name: [[v, 0] for v in some] for name, some in values.items()}
    expected = compute(values)
    assert compute(dicts)["total_stderr"]["x"] == pytest.approx(expected["total_stderr"])
    assert compute(dicts)["total_stderr"]["y"] == pytest.approx(expected["total_stderr"])
    assert math.isnan(compute(dicts)["total_stderr"]["z"])
    assert compute(lists)["data_stderr"] == pytest.approx([expected["data_stderr"], 0])


def test_ids_of_different_types_are_different_samples():
    scores = [SampleScore(score=Score(value=v), sample_id=name) for name, v in ((1, 1), ("1", 0), (1, 1), ("1", 0))]
    assert NOISE_METRICS["prediction_stderr"]()(scores) == 0
    assert NOISE_METRICS["data_stderr"]()(scores) == pytest.approx(math.sqrt(0.5 / 2))


def test_they_are_registered_for_the_scores_of_all_epochs():
    for name, metric in NOISE_METRICS.items():
        info = registry_info(metric())
        assert info.name == f"howsure/{name}"
        assert info.metadata["scores"] == "unreduced"


def test_the_entry_point_loads_them():
    entries = [entry for entry in metadata.entry_points(group="inspect_ai") if entry.name == "howsure"]
    if not entries:
        pytest.skip("howsure was installed before it had an entry point: install it again")
    assert set(entries[0].load().__all__) >= set(NOISE_METRICS)
