"""Sets of equal answers."""

import itertools
import math

import numpy as np
import pytest
from oracles import suspects as slow

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.questions.attempts import _majority_exactly, _VoteCounts
from howsure.stats.questions.consistency import (
    AnswerCounts,
    estimate_consistency,
    min_generations,
    modal_answers,
)


def planted(seed, *, n_questions=12, models=4, letters="ABCD", missing=True):
    """{question: {model: answers}} and targets, with unread answers, unequal counts and missing cells."""
    rng = np.random.default_rng(seed)
    answers, target = {}, {}
    for q in range(n_questions):
        target[f"q{q}"] = str(rng.choice(list(letters)))
        answers[f"q{q}"] = {}
        for m in range(models):
            k = int(rng.integers(1, 6))
            pool = [*letters, target[f"q{q}"], target[f"q{q}"]] + [None] * missing
            if not missing or rng.random() < 0.9 or m == 0:
                answers[f"q{q}"][f"m{m}"] = [pool[i] for i in rng.integers(0, len(pool), k)]
    return answers, target


def of(answers, target):
    models = sorted({m for own in answers.values() for m in own})
    given = {m: {q: own[m] for q, own in answers.items() if m in own} for m in models}
    return AnswerCounts.from_generations("b", given, target)


# an independent slow version


@pytest.mark.parametrize("seed", range(3))
def test_cells_are_what_loops_over_generations_say(seed):
    answers, target = planted(seed)
    made = of(answers, target)
    s, most = estimate_consistency(made), modal_answers(made)
    for i, model in enumerate(made.models):
        for j, question in enumerate(made.questions):
            own = answers[question].get(model, [])
            read = [x for x in own if x is not None]
            np.testing.assert_allclose(s[i, j], slow.consistency(own), atol=1e-12)
            counts = sorted(((read.count(x), x) for x in set(read)), reverse=True)
            alone = counts and (len(counts) == 1 or counts[0][0] > counts[1][0])
            assert (made.answers[most[i, j]] if most[i, j] >= 0 else None) == (counts[0][1] if alone else None)
            right = sum(x == target[question] for x in own) / len(own) if own else math.nan
            np.testing.assert_allclose(made.p_correct[i, j], right)


def test_plugin_is_the_sum_over_sets():
    # GEN, appendix E: of 8 generations 1 and 7, or 4 and 4
    given = {"m": {"q": ["a"] + ["b"] * 7, "r": ["a", "b"] * 4}}
    s = estimate_consistency(AnswerCounts.from_generations("b", given, {}), "plugin")
    np.testing.assert_allclose(s, [[math.log(1 / 8) / 8 + 7 / 8 * math.log(7 / 8), -math.log(2)]])


# theory


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_correction_leaves_only_the_tail_of_the_series(n):
    p = {"a": 0.5, "b": 0.3, "c": 0.2}
    draws = list(itertools.product(p, repeat=n))
    chance = np.array([math.prod(p[x] for x in draw) for draw in draws])
    names = [f"q{i}" for i in range(len(draws))]
    made = AnswerCounts.from_generations("b", {"m": dict(zip(names, draws, strict=True))}, {})
    order = [made.questions.index(name) for name in names]
    truth = sum(x * math.log(x) for x in p.values())
    tail = sum(x * (1 - x) ** j / j for x in p.values() for j in range(n, 400))
    corrected = float(chance @ estimate_consistency(made)[0, order])
    assert corrected == pytest.approx(truth + tail, abs=1e-12)
    assert abs(corrected - truth) < abs(float(chance @ estimate_consistency(made, "plugin")[0, order]) - truth)


@pytest.mark.long
def test_what_few_generations_do_to_consistency():
    """The docstring's numbers: 50 answers of equal chance, and a threshold that one differing generation decides."""
    rng = np.random.default_rng(0)
    for n, mean in ((5, -2.00), (10, -2.66)):
        draws = {f"q{i}": [str(a) for a in rng.integers(0, 50, n)] for i in range(2000)}
        assert estimate_consistency(AnswerCounts.from_generations("b", {"m": draws}, {})).mean() == pytest.approx(
            mean, abs=0.02
        )
    for n in range(2, 30):
        one_differs = AnswerCounts.from_generations("b", {"m": {"q": ["a"] * (n - 1) + ["b"]}}, {})
        for threshold in (-0.8, -0.5, -0.3):
            assert (estimate_consistency(one_differs)[0, 0] >= threshold) == (n >= min_generations(threshold))
    with pytest.raises(InputError, match="threshold is 0; allowed: below 0"):
        min_generations(0)


def test_one_generation_says_nothing_of_the_next():
    made = AnswerCounts.from_generations("b", {"m": {"q": ["A"], "r": ["A", None], "s": [None, None]}}, {"q": "A"})
    assert np.isnan(estimate_consistency(made)).all()


def test_the_majority_of_one_generation_is_p_correct():
    answers, target = planted(5, n_questions=8, models=1, missing=False)
    made = of(answers, target)
    n, total = made.n_cell.astype(int), made.at_cells(made.total)
    cells = Cells("b", made.models, made.questions, n, total, total.copy())
    one = _majority_exactly(_VoteCounts.of(cells, made.cell, made.n, made.correct), 1)
    np.testing.assert_allclose(one, made.p_correct)


@pytest.mark.parametrize("seed", range(2))
def test_counts_add_up_however_rows_are_divided(seed):
    answers, target = planted(seed)
    whole = of(answers, target)
    halves = [
        of({q: {m: x[i::2] for m, x in own.items() if x[i::2]} for q, own in answers.items()}, target) for i in (0, 1)
    ]
    for both in (halves[0] + halves[1], halves[1] + halves[0]):
        assert (both.models, both.questions, both.answers) == (whole.models, whole.questions, whole.answers)
        assert both.targets == whole.targets
        for name in ("model", "question", "answer", "n", "scored", "total"):
            np.testing.assert_array_equal(getattr(both, name), getattr(whole, name))


def entry(answer, *, n=1, scored=1, total=0.0, target=None):
    targets = {} if target is None else {"q": target}
    return AnswerCounts.of(
        "b", (["m"], ["q"], [answer]), ([0], [0], [0]), n=[n], scored=[scored], total=[total], targets=targets
    )


def test_scores_say_what_is_right_and_targets_where_there_are_none():
    assert entry("A", total=1.0, target="B").correct.tolist() == [True]  # an equivalent spelling
    assert entry("B", total=0.0, target="B").correct.tolist() == [False]
    assert entry("B", scored=0, target="B").correct.tolist() == [True]
    assert entry("A", scored=0, target="B").p_correct.tolist() == [[0.0]]
    assert entry("B", scored=0, target="B").p_correct.tolist() == [[1.0]]
    assert np.isnan(entry("B", scored=0).p_correct).all()
    assert entry("A", n=4, scored=4, total=2.6).p_correct[0, 0] == pytest.approx(0.65)


def test_targets_of_a_merge_are_those_known_first():
    assert (entry("A", target="B") + entry("A", target="C")).targets == ("B",)
    assert (entry("A") + entry("A", target="C")).targets == ("C",)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="cannot be added"):
        entry("A") + AnswerCounts.from_generations("c", {"m": {"q": ["A"]}}, {})
    with pytest.raises(InputError, match="a model is there twice"):
        AnswerCounts.of("b", (["m", "m"], ["q"], []), ([0], [0], [-1]), n=[1], scored=[1], total=[0])
    with pytest.raises(InputError, match="unknown method .exact."):
        estimate_consistency(entry("A"), "exact")
    assert entry("A").__add__(3) is NotImplemented


def test_nothing_is_nothing():
    made = AnswerCounts.from_generations("b", {}, {})
    assert made.shape == estimate_consistency(made).shape == (0, 0)
    assert repr(made) == "Answers('b', 0 models x 0 questions, 0 generations, 0 answers)"


def test_unknown_questions_are_refused():
    counts = of({"p": {"a": ["x", "y"]}, "q": {"a": ["x"]}}, {"p": "x", "q": "y"})
    assert counts.select(["q"]).questions == ("q",)
    with pytest.raises(UnknownNameError, match="unknown question 'r'"):
        counts.select(["q", "r"])


def test_a_question_without_a_parsed_answer_has_no_most_frequent_one():
    counts = AnswerCounts.from_generations("b", {"m": {"p": [None, None], "q": [None, "A"]}}, {"p": "A", "q": "A"})
    modes = dict(zip(counts.questions, modal_answers(counts)[0].tolist(), strict=True))
    assert modes["p"] == -1
    assert modes["q"] >= 0
