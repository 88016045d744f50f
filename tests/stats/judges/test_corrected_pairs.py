"""Tests of all pairs of models in scores corrected by labels. Truth: a slow version by loops, and Holm's by hand."""

import numpy as np
import pytest
from oracles import judging, pairs

from howsure.stats.judges import JudgedCompletions, calibrate_difference, compare_corrected


def judged_models(seed, n_models=4, n_questions=60, n_labels=25):
    """Rows (judged, label or None) of each model and question; a judge that errs more on some models."""
    rng = np.random.default_rng(seed)
    models = []
    for i in range(n_models):
        truth = rng.random(n_questions) < 0.3 + 0.15 * i
        judged = np.where(rng.random(n_questions) < 0.1 + 0.1 * i, 1 - truth, truth)
        labelled = set(rng.choice(n_questions, n_labels, replace=False).tolist())
        models.append([(float(judged[q]), float(truth[q]) if q in labelled else None) for q in range(n_questions)])
    return models


def build(models):
    names = tuple("abcdefgh"[: len(models)])
    n_questions = len(models[0])
    flat = [row for rows in models for row in rows]
    return JudgedCompletions(
        "demo",
        names,
        tuple(map(str, range(n_questions))),
        np.repeat(range(len(models)), n_questions),
        np.tile(range(n_questions), len(models)),
        [judged for judged, _ in flat],
        [np.nan if person is None else person for _, person in flat],
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_tests_are_those_of_a_version_by_loops(seed):
    models = judged_models(seed)
    at = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    expected = pairs.holm([judging.corrected_difference_p(models[i], models[j]) for i, j in at])
    found = compare_corrected(build(models))
    assert [found[i, j] for i, j in at] == pytest.approx(expected, rel=1e-9)
    np.testing.assert_array_equal(found, found.T)
    assert np.isnan(np.diag(found)).all()


def test_of_two_models_the_p_value_is_that_of_the_difference():
    data = build(judged_models(9, n_models=2))
    assert compare_corrected(data)[0, 1] == calibrate_difference(data, "a", "b")["p_value"][0]


def test_a_model_without_labels_or_common_questions_has_no_test_and_is_none_in_the_adjustment():
    """Of the four models c has no labels and d is on other questions: one test is left, and it is not adjusted."""
    models = judged_models(3)
    models[2] = [(judged, None) for judged, _ in models[2]]
    data = build(models)
    other = JudgedCompletions(
        "demo",
        data.models,
        tuple(map(str, range(120))),
        data.model,
        data.question + 60 * (data.model == 3),
        data.judged,
        data.label,
    )
    found = compare_corrected(other)
    assert found[0, 1] == calibrate_difference(data, "a", "b")["p_value"][0]
    assert np.isnan(found[:, 2:]).all()


def test_one_model_has_no_pair():
    assert np.isnan(compare_corrected(build(judged_models(1, n_models=1)))).all()
