"""Attempts and questions from tables: against counting all subsets, numpy's correlations, and by hand."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats

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


def test_the_p_value_of_tau_of_a_few_models_is_exact():
    """By hand: two of the 24 orders of four models have tau 1 or -1; the normal approximation says .04."""
    scores = [[[int(g < m) for g in range(4)]] * 3 for m in range(1, 5)]
    result = hs.questions(hs.Cells.from_scores("demo", list("abcd"), ["p", "q", "r"], scores))
    assert result["tau"].tolist() == [1] * 3
    assert result["p_value"] == pytest.approx([2 / 24] * 3)
    assert not any("p-value" in note for note in result["note"])


def test_attempts_say_what_is_missing_and_that_prompts_differ(ragged):
    from dataclasses import replace

    _, cells = ragged
    result = hs.attempts(replace(cells, variants=("x", "y")), k=1)
    assert result["n_missing"].tolist() == [0, 0, 1, 1, 0, 0]
    assert "of 2 prompt variants" in result["note"][0]
    assert "variants" not in hs.attempts(cells, k=1)["note"][0]


@pytest.fixture
def two_ranges():
    """Models of two Beta distributions, each with questions that nobody answers, drawn by numpy."""
    draw = np.random.default_rng(12)
    p = [np.where(np.arange(3000) < 600, 0, draw.beta(*ab, 3000)) for ab in ((1.5, 4.5), (1.5, 4.5), (2.0, 0.25))]
    counts = [draw.binomial(20, one) for one in p]
    return hs.Cells(
        "demo",
        ("a", "b", "c"),
        tuple(f"q{q}" for q in range(3000)),
        np.full((3, 3000), 20),
        np.array(counts, float),
        np.array(counts, float),
    )


def test_beta_fits_pool_the_models_of_a_range_and_find_the_mass_at_0(two_ranges):
    """Guarantee by simulation: Beta(1.5, 4.5) and Beta(2, .25) on 80 % of the questions, 20 % that are never right."""
    fits = hs.beta_fits(two_ranges, by="model", zero=True)
    assert fits["a"] == pytest.approx([1.5, 1.5, 2.0], rel=0.2)
    assert fits["b"] == pytest.approx([4.5, 4.5, 0.25], rel=0.2)
    assert fits["zero"] == pytest.approx([0.2] * 3, abs=0.03)
    assert hs.beta_fits(two_ranges)["zero"].tolist() == [0, 0, 0]
    pooled = hs.beta_fits(two_ranges, by="score", zero=True, edges=(0, 0.5, 1))
    assert pooled["model"].tolist() == ["0 to 0.5 (2 models)", "0.5 to 1 (1 model)"]
    assert pooled["a"][1] == pytest.approx(fits["a"][2])
    # a generation of a model drawn at random: the mean of two independent Betas is less spread than each
    assert pooled["mean"][0] == pytest.approx(0.25, abs=0.02)
    assert pooled["concentration"][0] > 1.3 * fits["concentration"][0]


def test_beta_fits_are_the_maximum_of_the_likelihood_of_scipy(two_ranges):
    """Another program's output: scipy's betabinom at the fit and around it."""
    fits = hs.beta_fits(two_ranges, zero=True)

    def log_likelihood(m, a, b, zero):
        c = two_ranges.total[m]
        return np.sum(np.log((1 - zero) * stats.betabinom.pmf(c, 20, a, b) + zero * (c == 0)))

    for m in range(3):
        best = [float(fits[name][m]) for name in ("a", "b", "zero")]
        assert log_likelihood(m, *best) == pytest.approx(fits["log_likelihood"][m])
        for change in itertools.product((0.97, 1, 1.03), repeat=3):
            point = [x * factor for x, factor in zip(best, change, strict=True)]
            assert log_likelihood(m, *point) <= log_likelihood(m, *best) + 1e-6


def test_beta_fits_name_what_is_wrong(two_ranges):
    with pytest.raises(InputError, match="leave out 'c' with score"):
        hs.beta_fits(two_ranges, by="score", edges=(0, 0.5))
    with pytest.raises(UnknownNameError, match="by"):
        hs.beta_fits(two_ranges, by="range")


def test_the_command_prints_the_fits_and_refuses_options_that_would_do_nothing(howsure, tmp_path, two_ranges):
    path = tmp_path / "scores.csv"
    draw = np.random.default_rng(1)
    lines = [
        f"{model},{question},{i + 1},{int(g < count)}"
        for model, counts in zip(two_ranges.models, two_ranges.total[:, ::10], strict=True)
        for question, count in zip(two_ranges.questions[::10], counts, strict=True)
        for i, g in enumerate(draw.permutation(20))
    ]
    path.write_text("\n".join(["model,question,generation,score", *lines]) + "\n")
    options = ("--beta", "score", "--zero", "--format", "json")
    code, out, err = howsure("questions", path, *options)
    assert (code, err) == (0, "")
    expected = hs.beta_fits(hs.read(path), by="score", zero=True)
    assert [row["a"] for row in json.loads(out)] == pytest.approx(expected["a"])
    for refused, words in {
        ("--zero",): "--zero",
        ("--beta", "score", "--by", "model"): "--by with --beta score",
    }.items():
        code, out, err = howsure("questions", path, *refused)
        assert (code, out) == (2, ""), refused
        assert words in err
        assert len(err.splitlines()) == 1


def test_one_model_with_other_scores_leaves_the_others():
    scores = [[[1, 0], [1, 1]], [[0.5, 0.2], [1, 0.1]]]
    cells = hs.Cells.from_scores("b", ["a", "judged"], ["1", "2"], scores)
    with pytest.warns(HowsureWarning, match="pass@k needs scores of 0 and 1; not so for judged on b: left out"):
        assert set(hs.attempts(cells, k=1)["model"]) == {"a"}


def test_majority_of_a_table_says_how_to_name_the_answers(tmp_path):
    """By hand: of three answers, two are right, so the most frequent of three is."""
    path = tmp_path / "rows.csv"
    rows = ["m,q,1,1,T", "m,q,2,1,T", "m,q,3,0,A", "m,r,1,0,A", "m,r,2,0,B", "m,r,3,0,B"]
    path.write_text("\n".join(["model,question,generation,score,answer", *rows]))
    with pytest.raises(InputError, match="--columns answer=COLUMN"):
        hs.attempts(path, k=3, majority=True)
    result = hs.attempts(hs.read(path, columns={"answer": "answer"}), k=3, majority=True)
    assert dict(zip(result["measure"], result["score"], strict=True))["majority@k"] == 0.5


def test_an_audit_of_a_run_without_answers_looks_at_its_scores(tmp_path):
    """A run folder that was made of a table with scores and completions has the table's scores, without answers."""
    path, run = tmp_path / "sums.csv", tmp_path / "run"
    rows = [f"{m},q{i},it is {i},{i + (i < 4)},{int(i >= 4)}" for m in "abc" for i in range(20)]
    path.write_text("model,question,completion,target,score\n" + "\n".join(rows) + "\n")
    hs.rescore(path, "numeric", run)
    assert hs.read(run, scorer="run").answers() == {}
    suspects = hs.audit(hs.read(run, scorer="run"))
    assert sorted(suspects["question"].tolist()) == ["q0", "q1", "q2", "q3"]
    assert set(suspects["suspected_by"].tolist()) == {"unsolved by all"}
    assert sorted(hs.audit(hs.read(run, scorer="numeric"))["answer"].tolist()) == ["0", "1", "2", "3"]
