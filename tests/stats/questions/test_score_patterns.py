"""Questions with unusual scores. Kind of truth: tables written by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

import howsure as hs
from howsure.errors import InputError
from howsure.stats.questions import audit_scores, find_unusual_questions


def cells(scores, names=None):
    models = names or [f"m{i}" for i in range(len(scores))]
    return hs.Cells.from_scores("bench", models, [f"q{i}" for i in range(len(scores[0]))], scores)


def flags(result):
    return {
        question: (bool(a), bool(b), bool(c))
        for question, a, b, c in zip(
            result.questions, result.is_unsolved, result.is_reversed, result.is_solved_by_worst, strict=True
        )
    }


def test_unsolved_and_solved_by_the_worst_alone():
    """q3: no model; q2: the worst, m2, and not the best, m0. With three models no tau has a p-value of .05."""
    result = find_unusual_questions(
        cells([[[1], [1], [0], [0], [1]], [[1], [1], [0], [0], [0]], [[0], [0], [1], [0], [0]]])
    )
    assert flags(result) == {
        "q2": (False, False, True), "q3": (True, False, False),
        "q0": (False,) * 3, "q1": (False,) * 3, "q4": (False,) * 3,
    }  # fmt: skip
    assert set(result.questions[:2]) == {"q2", "q3"}


def test_better_models_do_worse_on_a_question_with_its_label_reversed():
    """Twelve models of rising skill: model i solves q0 to q(i-1); the last question is solved by the six worst."""
    scores = [[[int(q < i)] for q in range(12)] + [[int(i < 6)]] for i in range(12)]
    result = find_unusual_questions(cells(scores))
    reversed_ones = [question for question, (_, b, _) in flags(result).items() if b]
    assert reversed_ones == ["q12"]
    assert result.tau[result.questions.index("q12")] < -0.5
    assert flags(result)["q12"] == (False, True, True)
    assert flags(result)["q11"] == (True, False, False)


@pytest.mark.parametrize(("models", "is_reversed"), [(4, False), (5, True)])
def test_a_reversed_question_of_few_models_needs_an_exact_p_value_of_05(models, is_reversed):
    """By hand: the reverse of all 4! orders has p = 2/24, of all 5! p = 2/120; the normal approximation says .04, .01."""
    skilled = [[int(g < m) for g in range(models)] for m in range(models)]
    result = find_unusual_questions(cells([[row, row, row, skilled[-1 - m]] for m, row in enumerate(skilled)]))
    assert flags(result)["q3"][1] is is_reversed
    assert result.p_value[result.questions.index("q3")] == pytest.approx(2 / math.factorial(models))


def test_few_questions_of_honest_models_are_called_reversed():
    """Scores drawn from a logistic model without wrong labels: at most 2.5 % below by chance, here fewer."""
    rng = np.random.default_rng(4)
    skill, difficulty = rng.normal(0, 1, 20), rng.normal(0, 1, 400)
    right = rng.random((20, 400)) < 1 / (1 + np.exp(difficulty - skill[:, None]))
    result = find_unusual_questions(cells(right[:, :, None].astype(int).tolist()))
    assert result.is_reversed.mean() <= 0.025


def test_what_cannot_be_shown_is_not_claimed():
    """Equal scores have no best and no worst model; scores beyond [0, 1] have no solved questions; tau needs a spread."""
    tie = find_unusual_questions(cells([[[1], [0]], [[0], [1]]]))
    assert tie.looked_for == ("unsolved by all", "better models do worse")
    assert not tie.is_solved_by_worst.any()
    large = find_unusual_questions(cells([[[250], [0]], [[30], [0]]]))
    assert large.looked_for == ()
    assert not large.suspected.any()
    text = str(audit_scores([cells([[[1], [0]], [[0], [1]]])]))
    assert "These scores cannot show: solved by the worst, never by the best." in text


def test_greedy_runs_are_no_models_of_their_own():
    scores = [[[1], [0]], [[0], [0]], [[0], [1]]]
    result = find_unusual_questions(cells(scores, ["a", "b", "b:greedy"]))
    assert flags(result)["q1"] == (True, False, False)
    with pytest.raises(InputError, match="there are no answers to audit"):
        audit_scores([cells(scores[:2], ["a", "a:greedy"])])


def test_audit_of_a_table_lists_the_patterns(tmp_path, howsure):
    rows = [f"{m},q{q},{s}" for m, row in {"a": "1101", "b": "1001", "c": "0010"}.items() for q, s in enumerate(row)]
    (tmp_path / "t.csv").write_text("model,question,score\n" + "\n".join(rows) + "\n")
    table = hs.audit(tmp_path / "t.csv")
    assert dict(zip(table["question"].tolist(), table["suspected_by"].tolist(), strict=True)) == {
        "q2": "solved by the worst, never by the best"
    }
    code, out, _ = howsure("audit", tmp_path / "t.csv")
    assert code == 0
    assert "were not looked for: that takes run folders, logs, or tables with answers" in " ".join(out.split())
    assert len(hs.audit(tmp_path / "t.csv", every=True)["question"]) == 4


def test_benchmarks_are_named_only_where_they_could_not_be_searched_alike():
    """Two models of one score have no best and no worst."""
    even, uneven = cells([[[1], [0], [1]], [[0], [1], [1]]]), cells([[[1], [0], [1]], [[0], [0], [1]]])
    alone, both = str(audit_scores([uneven])), str(audit_scores([uneven, replace(even, benchmark="other")]))
    assert "looked for in the scores: " in alone
    assert "bench: no answers" in both
    assert "other: no answers" in both
