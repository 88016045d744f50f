"""The data map of a model: S(consistency) and P(correct) by loops from GEN's text, and the corner of one model or of a mean."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.special import digamma

from howsure.errors import UnknownNameError
from howsure.stats.questions.consistency import AnswerCounts
from howsure.stats.questions.question_map import MEAN_OF_MODELS, map_questions

TARGETS = {f"q{i}": "A" for i in range(40)}


def draw_answers(seed=0):
    """Answers of two models and a greedy run: the first questions are wrong and consistent for the strong one."""
    rng = np.random.default_rng(seed)
    answers = {"strong": {}, "weak": {}, "strong:greedy": {}}
    for i, question in enumerate(TARGETS):
        wrong = i < 6
        p = [0.03, 0.94, 0.02, 0.01] if wrong else [0.8, 0.1, 0.05, 0.05]
        answers["strong"][question] = rng.choice(list("ABCD"), 12, p=p).tolist()
        answers["weak"][question] = [str(one) if rng.random() > 0.1 else None for one in rng.choice(list("ABCD"), 12)]
        answers["strong:greedy"][question] = ["B" if wrong else "A"]
    return answers


def consistency(given, method):
    """GEN: the sum of p log p over the sets of equal answers; digamma in place of log where it is corrected."""
    counts = Counter(one for one in given if one is not None)
    n = sum(counts.values())
    log = math.log if method == "plugin" else digamma
    return sum(c / n * (log(c) - log(n)) for c in counts.values()) if n > 1 else math.nan


@pytest.mark.parametrize("method", ["plugin", "corrected"])
def test_against_loops(method):
    answers = draw_answers()
    counts = AnswerCounts.from_generations("demo", answers, TARGETS)
    rows = list(map_questions(counts, method=method, in_corner_only=False))
    assert {row["model"] for row in rows} == {"strong", "weak"}  # the greedy run is no model of its own
    assert len(rows) == 80
    for row in rows:
        given = answers[row["model"]][row["question"]]
        S, p = consistency(given, method), given.count("A") / len(given)
        assert row["consistency"] == pytest.approx(S)
        assert row["p_correct"] == pytest.approx(p)
        assert row["n_sets"] == len({one for one in given if one is not None})
        assert isinstance(row["n_sets"], int)
        assert row["in_corner"] == int(p <= 0.1 and S >= -0.8)
    listed = map_questions(counts, method=method)
    assert len(listed) == sum(row["in_corner"] for row in rows) >= 3
    assert set(listed["answer"].tolist()) == {"B"}


def test_the_corner_of_one_model_is_not_that_of_the_mean():
    answers = draw_answers()
    counts = AnswerCounts.from_generations("demo", answers, TARGETS)
    one = set(map_questions(counts, models=["strong"])["question"].tolist())
    mean = map_questions(counts, over_models=True, in_corner_only=False)
    assert set(mean["model"].tolist()) == {MEAN_OF_MODELS}
    assert one > {row["question"] for row in mean if row["in_corner"]}
    row = next(row for row in mean if row["question"] == "q0")
    both = [answers[model]["q0"] for model in ("strong", "weak")]
    assert row["p_correct"] == pytest.approx(np.mean([given.count("A") / 12 for given in both]))
    assert row["consistency"] == pytest.approx(np.mean([consistency(given, "corrected") for given in both]))
    assert row["n_sets"] == len({a for given in both for a in given if a is not None})


def test_a_greedy_run_that_is_named_and_names_that_do_not_exist():
    counts = AnswerCounts.from_generations("demo", draw_answers(), TARGETS)
    greedy = map_questions(counts, models=["strong:greedy"], in_corner_only=False)
    assert np.isnan(greedy["consistency"]).all()
    assert "fewer than two answers" in greedy["note"][0]
    assert greedy["in_corner"].sum() == 0
    with pytest.raises(UnknownNameError, match="strong"):
        map_questions(counts, models=["stron"])
