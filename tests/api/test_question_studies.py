"""Attempts and questions from tables: against counting all subsets, numpy's correlations, and by hand."""

import itertools
import math

import numpy as np
import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError, UnknownNameError


@pytest.fixture
def ragged():
    """Three models, 12 questions, one to nine generations each, and a question that one model did not answer."""
    draw = np.random.default_rng(3)
    scores = [
        [
            [] if (m, q) == (1, 4) else (draw.random(draw.integers(1, 10)) < skill).astype(int).tolist()
            for q, skill in enumerate(draw.beta(2, 1 + m, 12))
        ]
        for m in range(3)
    ]
    return scores, hs.Cells.from_scores("demo", ["a", "b", "c"], [f"q{q}" for q in range(12)], scores)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_attempts_are_the_share_of_all_subsets_that_succeed(ragged, k):
    scores, cells = ragged
    result = hs.attempts(cells, k=k)
    columns = zip(
        result["model"], result["measure"], result["score"], result["n_questions"], result["n_short"], strict=True
    )
    for model, measure, score, n_questions, n_short in columns:
        rule = {"pass@k": any, "pass^k": all}[measure]
        own = [s for s in scores["abc".index(model)] if s]
        shares = [np.mean([rule(subset) for subset in itertools.combinations(s, k)]) for s in own if len(s) >= k]
        assert score == pytest.approx(np.mean(shares))
        assert (n_questions, n_short) == (len(shares), len(own) - len(shares))


def test_attempts_with_k_1_are_the_score_and_its_error(ragged):
    _, cells = ragged
    result = hs.attempts(cells, k=1)
    expected = hs.score(cells, method="t")
    for measure in ("pass@k", "pass^k"):
        rows = result["measure"] == measure
        assert result["score"][rows] == pytest.approx(expected["score"])
        assert result["se"][rows] == pytest.approx(expected["se"])


def test_attempts_takes_as_many_as_there_are_generations(ragged):
    _, cells = ragged
    assert sorted(set(hs.attempts(cells)["k"].tolist())) == [1, 2, 5]


def test_errors_of_attempts_are_those_of_clusters():
    """Three passages of questions that are always right together: three values, whatever the number of questions."""
    scores = [[[1, 1, 1]] * 4 + [[0, 0, 0]] * 4 + [[1, 1, 0]] * 4]
    cells = hs.Cells.from_scores("demo", ["a"], [f"q{q}" for q in range(12)], scores)
    from dataclasses import replace

    clustered = replace(cells, clusters=tuple("xxxxyyyyzzzz"))
    of_clusters, alone = (hs.attempts(one, k=2) for one in (clustered, cells))
    # equal clusters: the variance of three cluster means over three
    means = {"pass@k": [1, 0, 1], "pass^k": [1, 0, 1 / 3]}
    for i, measure in enumerate(of_clusters["measure"]):
        assert of_clusters["se"][i] == pytest.approx(np.std(means[measure], ddof=1) / math.sqrt(3))
        assert of_clusters["high"][i] - of_clusters["low"][i] > 1.5 * (alone["high"][i] - alone["low"][i])
    assert "clusters" in of_clusters["note"][0]


def write_run(path, answers):
    """Write an Inspect-like table of answers with their scores: model, question, generation, answer, score."""
    lines = ["model,question,generation,answer,target,score"]
    lines += [
        f"{model},{question},{g},{answer},{target},{int(answer == target)}"
        for model, question, target, given in answers
        for g, answer in enumerate(given)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_majority_is_the_share_of_subsets_whose_most_frequent_answer_is_right():
    from howsure.stats.questions import AnswerCounts, estimate_majority_of_answers

    given = {"q1": ["A", "A", "B", "C", "B"], "q2": ["D", "A", "D", "D", "D"], "q3": ["B", "B", "C", "C", "A"]}
    targets = {"q1": "A", "q2": "D", "q3": "A"}
    counts = AnswerCounts.from_generations("demo", {"m": given}, targets)
    for k in (1, 3, 5):
        shares = []
        for question, answers in given.items():
            each = []
            for subset in itertools.combinations(answers, k):
                most = max(map(subset.count, subset))
                leaders = {answer for answer in subset if subset.count(answer) == most}
                each.append((targets[question] in leaders) / len(leaders))
            shares.append(np.mean(each))
        assert estimate_majority_of_answers(counts, [k]).score[0] == pytest.approx(np.mean(shares))


def test_majority_needs_answers(ragged):
    with pytest.raises(InputError, match="no answers"):
        hs.attempts(ragged[1], majority=True)


def test_benchmarks_with_other_scores_are_left_out_with_a_line(ragged):
    _, cells = ragged
    graded = hs.Cells.from_scores("graded", ["a"], ["q"], [[[0.5]]])
    with pytest.warns(HowsureWarning, match="pass@k needs scores of 0 and 1; not so on graded: left out"):
        result = hs.attempts([cells, graded], k=1)
    assert set(result["benchmark"]) == {"demo"}
    with pytest.raises(InputError, match="graded"):
        hs.attempts(graded)
    with pytest.raises(InputError, match="graded"):
        hs.questions(graded)


def test_questions_correlate_with_the_score_on_the_others(ragged):
    """numpy's correlation over the models that answered the question, with their means on their other questions."""
    scores, cells = ragged
    result = hs.questions(cells)
    for i, question in enumerate(result["question"]):
        q = int(question[1:])
        own = [m for m in range(3) if scores[m][q]]
        x = [np.mean(scores[m][q]) for m in own]
        y = [np.mean([np.mean(s) for j, s in enumerate(scores[m]) if s and j != q]) for m in own]
        alike = len(own) < 3 or np.ptp(x) == 0
        expected = float("nan") if alike else np.corrcoef(x, y)[0, 1]
        assert result["discrimination"][i] == pytest.approx(expected, nan_ok=True)
        assert result["n_solved"][i] == sum(any(scores[m][q]) for m in own)
        assert result["score"][i] == pytest.approx(np.mean(x))


def test_questions_are_listed_from_the_hardest_and_unsolved_ones_are_named():
    scores = [[[1, 1], [0, 0], [1, 0]], [[1, 1], [0, 0], [0, 0]], [[1, 0], [0, 0], [1, 0]]]
    result = hs.questions(hs.Cells.from_scores("demo", ["a", "b", "c"], ["easy", "unsolved", "hard"], scores))
    assert result["question"].tolist() == ["unsolved", "hard", "easy"]
    assert result["note"][0].startswith("no model answered it right")


def test_p_correct_by_model_has_the_interval_of_the_prior():
    from scipy.stats import beta

    cells = hs.Cells.from_scores("demo", ["a"], ["p", "q"], [[[1, 1, 1], [1, 0, 0]]])
    result = hs.questions(cells, by="model", prior="uniform", level=0.9)
    assert result["low"] == pytest.approx([beta(4, 1).ppf(0.05), beta(2, 3).ppf(0.05)])
    assert result["high"] == pytest.approx([beta(4, 1).ppf(0.95), beta(2, 3).ppf(0.95)])


@pytest.mark.parametrize("arguments", [{"by": "answer"}, {"prior": "flat"}])
def test_questions_refuses_unknown_names(ragged, arguments):
    with pytest.raises(UnknownNameError, match=next(iter(arguments.values()))):
        hs.questions(ragged[1], **arguments)


@pytest.mark.parametrize("k", [0, -2, [1, 0]])
def test_attempts_refuses_numbers_below_1(ragged, k):
    with pytest.raises(InputError, match="k is"):
        hs.attempts(ragged[1], k=k)


def test_the_commands_print_what_the_functions_return(howsure, tmp_path):
    answers = [
        ("m", "q1", "A", "AABCB"),
        ("m", "q2", "D", "DADDD"),
        ("n", "q1", "A", "AAAAA"),
        ("n", "q2", "D", "ABCDA"),
    ]
    table = write_run(tmp_path / "table.csv", answers)
    code, out, err = howsure("attempts", str(table), "--k", "1,2", "--format", "csv")
    assert (code, err) == (0, "")
    rows = [line.split(",") for line in out.splitlines()]
    column = {name: i for i, name in enumerate(rows[0])}
    found = {(r[column["model"]], r[column["measure"]], r[column["k"]]): r[column["score"]] for r in rows[1:]}
    assert float(found["n", "pass@k", "2"]) == pytest.approx(np.mean([1, 1 - 6 / 10]))
    assert float(found["m", "pass^k", "2"]) == pytest.approx(np.mean([1 / 10, 6 / 10]))
    code, out, err = howsure("questions", str(table), "--by", "model")
    assert (code, err) == (0, "")
    assert "p_correct" in out
    code, _, err = howsure("attempts", str(table), "--k", "1;2")
    assert code == 2
    assert "--k 1,5,10" in err


def test_a_few_models_give_no_p_value_of_tau():
    """With four models the exact p-value of tau 1 is 2/24, and the normal approximation says .04."""
    draw = np.random.default_rng(0)
    for models, expected in ((4, False), (12, True)):
        scores = [[[int(draw.random() < m / models)] for _ in range(8)] for m in range(models)]
        cells = hs.Cells.from_scores("demo", [f"m{m}" for m in range(models)], [f"q{q}" for q in range(8)], scores)
        result = hs.questions(cells)
        assert bool(np.any(np.isfinite(result["p_value"]))) is expected
        assert ("no p-value of tau" in result["note"][0]) is not expected


def test_attempts_say_what_is_missing_and_that_prompts_differ(ragged):
    from dataclasses import replace

    _, cells = ragged
    result = hs.attempts(replace(cells, variants=("x", "y")), k=1)
    assert result["n_missing"].tolist() == [0, 0, 1, 1, 0, 0]
    assert "of 2 prompt variants" in result["note"][0]
    assert "variants" not in hs.attempts(cells, k=1)["note"][0]
