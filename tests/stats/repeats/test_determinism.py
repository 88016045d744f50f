"""Whether completions repeat: a slow count of texts, the exact interval of scipy, and what cannot be said."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from howsure.errors import InputError
from howsure.stats.repeats.determinism import CompletionCounts, measure_determinism


def count(texts):
    """Counts of {(model, question, variant): completions}; answers are first letters, scores whether that is a."""
    models, questions = (sorted({cell[i] for cell in texts}) for i in (0, 1))
    cells = list(texts)
    each = [texts[cell] for cell in cells]
    return CompletionCounts(
        "demo",
        tuple(models),
        tuple(questions),
        model=np.array([models.index(cell[0]) for cell in cells]),
        question=np.array([questions.index(cell[1]) for cell in cells]),
        n=np.array([len(one) for one in each]),
        n_distinct=np.array([len(set(one)) for one in each]),
        n_answers=np.array([len({text[0] for text in one}) for one in each]),
        n_scores=np.array([len({text[0] == "a" for text in one}) for one in each]),
        same_pairs=np.array([sum(n * (n - 1) // 2 for n in Counter(one).values()) for one in each]),
    )


def test_against_a_slow_count():
    rng = np.random.default_rng(0)
    texts = {
        (model, f"q{q}", variant): [str(rng.choice(["ax", "ay", "b", "c"], p=p)) for _ in range(1 + (q + v) % 4)]
        for model, p in (("loose", [0.4, 0.3, 0.2, 0.1]), ("tight", [0.97, 0.01, 0.01, 0.01]))
        for q in range(40)
        for v, variant in enumerate(("v", "w"))
    }
    result = measure_determinism(count(texts), level=0.9)
    for row in result:
        own = {cell: one for cell, one in texts.items() if cell[0] == row["model"] and len(one) > 1}
        questions = {cell[1] for cell in own}
        varied = {cell[1] for cell, one in own.items() if len(set(one)) > 1}
        assert (row["n_questions"], row["n_varied"]) == (len(questions), len(varied))
        assert row["n_answers_varied"] == len({cell[1] for cell, one in own.items() if len({t[0] for t in one}) > 1})
        exact = stats.binomtest(len(varied), len(questions)).proportion_ci(0.9, method="exact")
        assert (row["low"], row["high"]) == pytest.approx((exact.low, exact.high))
        differ = {}
        for cell, one in own.items():
            pairs = [a != b for a, b in itertools.combinations(one, 2)]
            differ.setdefault(cell[1], []).append(sum(pairs) / len(pairs))
        assert row["p_differ"] == pytest.approx(np.mean([np.mean(values) for values in differ.values()]))
        assert "different numbers of completions" in row["note"]


def test_identical_repeats_have_an_upper_limit_and_no_error_of_sampling():
    """By hand: the upper limit of 0 of N at level .95 is 1 - .025^(1/N)."""
    [row] = measure_determinism(count({("m", f"q{q}", "v"): ["a"] * 30 for q in range(100)}))
    assert (row["share"], row["low"], row["verdict"]) == (0, 0, "no difference seen")
    assert row["high"] == pytest.approx(1 - 0.025 ** (1 / 100))
    assert "no error of sampling" in row["note"]


def test_one_completion_each_says_nothing():
    [row] = measure_determinism(count({("m", "p", "v"): ["a"], ("m", "q", "v"): ["b"]}))
    assert row["n_questions"] == 0
    assert np.isnan([row["share"], row["low"], row["high"], row["p_differ"]]).all()
    assert row["verdict"] == "unknown"


def test_words_that_differ_without_a_change_of_score():
    [row] = measure_determinism(count({("m", "p", "v"): ["ax", "ay"], ("m", "q", "v"): ["b", "b"]}))
    assert (row["n_varied"], row["n_scores_varied"], row["verdict"]) == (1, 0, "not deterministic")
    assert "no variation was seen in the scores" in row["note"]
    with pytest.raises(InputError):
        measure_determinism(count({}))


def test_the_most_completions_of_a_prompt_are_a_column():
    columns = measure_determinism(count({("m", "p", "v"): ["a", "b", "a"], ("m", "q", "v"): ["a", "a"]})).columns()
    assert columns["n_completions"].tolist() == [3]
