"""Sentences on results: data are made so that a strong sentence would be wrong, or so that it has to be there.

Kind of truth: by hand. What is asserted is who is named, whether a difference is claimed, and the numbers.
"""

import itertools

import numpy as np
import pytest
from helpers.scored_runs import response, run_of

import howsure as hs
from howsure.api.result_sentences import describe_result
from howsure.errors import HowsureWarning, InputError
from howsure.stats.core.multiplicity import group_by_letters

CLAIMS_ONE = ("better", "best")


def cells_of(rates, n=40, k=2, *, seed=None, benchmark="sums"):
    """Return models that answer the first of n questions right; with a seed, each question with that chance."""
    rng = np.random.default_rng(seed)
    scores = {
        model: [
            [int(rng.random() < rate) if seed is not None else int(q < rate * n) for _ in range(k)] for q in range(n)
        ]
        for model, rate in rates.items()
    }
    return hs.Cells.from_scores(benchmark, list(scores), [f"q{q}" for q in range(n)], list(scores.values()))


def say(result):
    description = describe_result(result)
    assert description is not None
    return " ".join(description.above)


def claims_one(text):
    return any(word in text for word in CLAIMS_ONE)


def test_a_clear_difference_names_the_better_model_first_whatever_the_order():
    cells = cells_of({"low": 0.2, "high": 0.8})
    for a, b in (("low", "high"), ("high", "low")):
        text = say(hs.compare(cells, a, b))
        assert text.startswith("high is better than low on sums: +0.600")
        assert "p < .001" in text


def test_two_models_on_several_benchmarks_together():
    clear = [cells_of({"low": 0.3, "high": 0.6}, benchmark=name) for name in ("sums", "words")]
    equal = [cells_of({"low": 0.5, "high": 0.5}, seed=i, benchmark=f"b{i}") for i in range(3)]
    opposed = [
        cells_of(dict(zip(("low", "high"), two, strict=True)), benchmark=f"b{two[0]}")
        for two in ((0.3, 0.6), (0.6, 0.3))
    ]
    assert say(hs.combine(clear, "low", "high")).startswith("high is better than low on 2 benchmarks together: by 0.30")
    text = say(hs.combine(equal, "low", "high"))
    assert "cannot be told apart" in text
    assert not claims_one(text)
    text = say(hs.combine(opposed, "low", "high"))
    assert text.startswith(
        "no model is better on all benchmarks: high is better on b0.3 (+0.300), and low is better on b0.6"
    )
    assert "cannot be told apart on 2 benchmarks together" in text
    assert not claims_one(
        say(hs.combine([clear[0], cells_of({"low": 0, "high": 1}, n=1, benchmark="one")], "low", "high"))
    )


@pytest.mark.parametrize(
    ("scores", "claim"),
    [
        ([[[1], [0], [1]], [[1], [0], [1]]], "new-questions"),  # equal models
        ([[[1]], [[0]]], "new-questions"),  # one question
        ([[[1, 1]] * 9 + [[0, 1]], [[1, 1]] * 8 + [[0, 1]] * 2], "new-questions"),  # one answer of twenty
        ([[[1], [], []], [[], [0], [0]]], "new-questions"),  # no question in common
        ([[[], []], [[1], [0]]], "new-questions"),  # all generations of one failed
        ([[[1], [1], [0], [0]], [[0], [0], [1], [1]]], "new-questions"),  # a tie on different questions
        ([[[1], [0], [1]], [[1], [0], [1]]], "these-questions"),
    ],
)
def test_what_the_data_do_not_show_is_not_said(scores, claim):
    names = [f"q{i}" for i in range(len(scores[0]))]
    text = say(hs.compare(hs.Cells.from_scores("b", ["m", "n"], names, scores), "m", "n", claim=claim))
    assert not claims_one(text)
    assert "cannot be told apart" in text or "no test" in text


def test_unread_answers_that_decide_leave_the_difference_open(tmp_path):
    """With every unread answer right, the order is the other way round."""
    rows = [response(f"q{q}", completion="x", model="m", score=float(q < 30), answer="A") for q in range(40)]
    rows += [response(f"q{q}", completion="x", model="n", score=1.0, answer="A") for q in range(10)]
    rows += [response(f"q{q}", completion="x", model="n", score=0.0, status="unparsed") for q in range(10, 40)]
    with pytest.warns(UserWarning, match="unread|unparsed|not be read"):
        result = hs.compare(run_of(tmp_path / "run", rows), "m", "n")
    assert result["verdict"].tolist() == ["undecided"]
    assert say(result).startswith("unread answers decide")


def test_a_comparison_with_a_difference_of_another_quantity_says_nothing_of_it():
    """The limits of rank flips are those of their share: no sentence may take them for those of a difference."""
    scores = np.array([[[0.2, 0.4, 0.6]] * 4, [[0.3, 0.3, 0.5]] * 4])
    cube = hs.Cube("b", ("m", "n"), tuple("pqrs"), ("v1", "v2", "v3"), np.ones(scores.shape, int), scores, scores**2)
    assert describe_result(hs.variants(cube, show="order").tables["rank_flips"]) is None


def test_groups_are_those_of_the_adjusted_decisions():
    """Truth: all pairs. Two models have a letter in common if and only if Holm's test does not tell them apart."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        cells = cells_of({f"m{i}": rng.uniform(0.2, 0.8) for i in range(6)}, n=60, seed=int(rng.integers(1000)))
        result = hs.pairs(cells)
        table = describe_result(result).tables[0]
        letters = dict(zip(table["model"].tolist(), table["group"].tolist(), strict=True))
        for row in result:
            shared = {*letters[row["model_a"]]} & {*letters[row["model_b"]]}
            assert bool(shared) == (row["verdict"] != "distinguishable")
        assert (np.diff(table["score"]) <= 0).all()


def test_letters_cover_every_pair_that_does_not_differ_and_are_maximal():
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 9):
        apart = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.5]
        letters = group_by_letters(n, apart)
        for i, j in itertools.combinations(range(n), 2):
            assert bool({*letters[i]} & {*letters[j]}) == ((i, j) not in apart)
        groups = [{i for i in range(n) if one in letters[i]} for one in sorted({*"".join(letters)})]
        assert not any(one < other for one in groups for other in groups)


def test_the_first_of_many_is_better_only_if_each_pair_says_so():
    clear = say(hs.pairs(cells_of({"a": 0.9, "b": 0.5, "c": 0.1})))
    assert "a is better than each of the 2 others" in clear
    close = say(hs.pairs(cells_of({"a": 0.525, "b": 0.5, "c": 0.1})))
    assert not claims_one(close)
    assert "b cannot be told apart" in close
    alike = say(hs.pairs(cells_of({"a": 0.5, "b": 0.5, "c": 0.5})))
    assert not claims_one(alike)


def test_the_highest_score_of_easier_questions_is_not_called_better():
    """b answers 20 hard and 20 easy questions, a the easy ones alone: a scores more and is worse on each of them."""
    a = [[0], [1]] * 10
    scores = [[*([[]] * 20), *a], [*([[0]] * 20), *([[1]] * 20)], [[0]] * 40]
    text = say(hs.pairs(hs.Cells.from_scores("b", ["a", "b", "c"], [f"q{i}" for i in range(40)], scores)))
    assert "a is better" not in text


def test_adjusted_intervals_are_wider_and_cover_all_differences_at_once():
    """By hand: Bonferroni, the interval of each pair at 1 - .05/3. Coverage of all three in 400 draws: .95 or more."""
    cells = cells_of({"a": 0.7, "b": 0.5, "c": 0.4}, n=30, seed=3)
    result = hs.pairs(cells)
    alone = hs.pairs(cells, level=1 - 0.05 / 3)
    assert result["low_all"].tolist() == pytest.approx(alone["low"].tolist())
    assert result["high_all"].tolist() == pytest.approx(alone["high"].tolist())
    rng, covered = np.random.default_rng(8), 0
    for _ in range(400):
        drawn = hs.pairs(cells_of({"a": 0.7, "b": 0.5, "c": 0.4}, n=60, k=1, seed=int(rng.integers(2**31))))
        truth = np.array([0.2, 0.3, 0.1])
        covered += bool(np.all((drawn["low_all"] <= truth) & (truth <= drawn["high_all"])))
    assert covered / 400 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)


def test_level_and_claim_are_columns_of_every_interval():
    cells = cells_of({"a": 0.7, "b": 0.5, "c": 0.4}, n=30, seed=3)
    runs = {"sums": [cells_of({"a": 0.5}, k=1, seed=i) for i in range(3)]}
    results = [hs.score(cells), hs.compare(cells, "a", "b"), hs.pairs(cells), hs.attempts(cells), hs.repeats(runs)]
    results += [hs.compare(cells, "a", "b", level=0.9, claim="these-questions")]
    for result in results:
        assert {"level", "claim"} <= set(result.to_frame("pandas").columns)
    assert (results[-1][0]["level"], results[-1][0]["claim"]) == (0.9, "these-questions")


def test_scores_beside_each_other_are_no_ranking():
    assert not claims_one(say(hs.score(cells_of({"a": 0.9, "b": 0.1}))))
    tie = say(hs.score(cells_of({"a": 0.5, "b": 0.5, "c": 0.1})))
    assert "a and b share the highest score" in tie
    nothing = hs.Cells.from_scores("b", ["a"], ["p"], [[[]]])
    assert "no model has a score" in say(hs.score(nothing))


def test_ranks_name_every_model_that_may_be_the_best():
    clear, open_ = hs.rank(cells_of({"a": 0.9, "b": 0.5, "c": 0.1})), hs.rank(cells_of({"a": 0.5, "b": 0.5, "c": 0.1}))
    assert "a is the best of 3" in say(clear)
    assert "2 of 3 models may be the best" in say(open_)
    assert "each of the 2 models may be the best" in say(hs.rank(cells_of({"a": 0.5, "b": 0.5})))


def test_drift_is_said_after_adjustment_for_all_models():
    """One of 20 models without drift has a p-value below .05 in most draws; none of them is said to drift."""
    rng = np.random.default_rng(4)
    models = [f"m{i}" for i in range(20)]
    runs = [
        hs.Cells.from_scores("b", models, [f"q{q}" for q in range(30)], (rng.random((20, 30, 1)) < 0.5).astype(int))
        for _ in range(4)
    ]
    result = hs.repeats({"b": runs})
    assert result["drift_p"].min() < 0.05
    assert "drifted" not in say(result)
    moved = [cells_of({"m": rate}, k=1, seed=i) for i, rate in enumerate((0.1, 0.1, 0.9, 0.9))]
    assert "drifted" in say(hs.repeats({"b": moved}))


def test_a_plan_that_cannot_reach_its_goal_says_so():
    cells = cells_of({"a": 0.6, "b": 0.5}, n=20, k=3, seed=4)
    assert "cannot find a difference of 0.01 in 80 % of cases" in say(hs.plan(cells, a="a", b="b", detect=0.01))
    design = hs.plan(cells, a="a", b="b", detect=0.4)
    text, best = say(design), design.parts[0].best
    assert f"{best.n_questions} questions x {best.n_generations} generation" in text
    assert best.detectable <= 0.4


def test_prompts_that_do_not_differ_have_no_spread():
    """Every prompt gets the same answers: worst and best are one score, and the sd between prompts is 0."""
    scores = np.repeat((np.arange(30) % 2).astype(float)[None, :, None], 4, axis=2)
    names = tuple(f"q{i}" for i in range(30))
    cube = hs.Cube("b", ("m",), names, tuple("abcd"), np.full(scores.shape, 2), 2 * scores, 2 * scores)
    text = say(hs.variants(cube))
    assert "0.500 (worst) to 0.500 (best)" in text
    assert "sd 0.000" in text


def test_pictures_have_the_limits_at_their_places():
    lines = describe_result(hs.compare(cells_of({"low": 0.2, "high": 0.8}), "high", "low")).above
    zero, picture = lines[1], lines[2]
    assert picture.index("●") > picture.index("├") > zero.index("0")
    close = describe_result(hs.compare(cells_of({"a": 0.5, "b": 0.475}), "a", "b")).above
    assert close[2].index("├") <= close[1].index("0") <= close[2].rindex("┤")


def test_documents_have_every_row_and_escape_what_their_language_reads():
    cells = cells_of({"a_1|x": 0.7, "b%": 0.5, "c": 0.4}, n=30, seed=3)
    markdown, latex = hs.score(cells).to_markdown(), hs.score(cells).to_latex()
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert len(rows) == 4
    assert len({line.replace(r"\|", "").count("|") for line in rows}) == 1
    body = latex[latex.index(r"\midrule") : latex.index(r"\bottomrule")].splitlines()[1:]
    assert len(body) == 3
    assert any(line.startswith(r"a\_1|x & ") for line in body)
    assert any(line.startswith(r"b\% & ") for line in body)
    assert "●" not in markdown + latex
    assert hs.compare(cells, "a_1|x", "c").to_latex().startswith("% ")


def test_plot_is_the_figure_of_the_result_or_says_that_there_is_none():
    cells = cells_of({"a": 0.7, "b": 0.5}, n=30, seed=3)
    assert hs.score(cells).plot().to_dict() == hs.figures.scores(hs.score(cells)).to_dict()
    with pytest.raises(hs.InputError, match="no chart"):
        hs.repeats({"b": [cells_of({"a": 0.5}, k=1, seed=i) for i in range(3)]}).plot()


def test_names_that_are_near_or_removed_are_answered():
    with pytest.raises(AttributeError, match=r"did you mean howsure\.score"):
        _ = hs.scorez
    with pytest.raises(AttributeError, match="plan"):
        _ = hs.frontier


def test_the_order_of_models_is_that_of_common_questions():
    """`easy` answers the easy half only, where the better model is ahead of it."""
    n = 40
    strong = [[1] * 4 for _ in range(n // 2)] + [[1, 1, 0, 0] for _ in range(n // 2)]
    easy = [[1, 1, 1, 0] for _ in range(n // 2)] + [[] for _ in range(n // 2)]
    weak = [[1, 1, 0, 0] for _ in range(n // 2)] + [[0, 0, 0, 1] for _ in range(n // 2)]
    cells = hs.Cells.from_scores("sums", ["easy", "strong", "weak"], [f"q{i}" for i in range(n)], [easy, strong, weak])
    described = describe_result(hs.pairs(cells))
    text = " ".join(described.above)
    assert "strong is better than each of the 2 others on sums" in text
    assert described.tables[0]["model"].tolist() == ["strong", "easy", "weak"]
    alike = hs.Cells.from_scores("sums", ["a", "b"], ["p", "q"], [[[1], [0]], [[1], [0]]])
    assert "questions of its own" not in say(hs.pairs(alike))


def test_failed_generations_are_counted_beside_a_difference():
    whole = [[1, 1]] * 20 + [[0, 0]] * 20
    broken = [[1, 1]] * 21 + [[0, 0]] * 4 + [[None, None]] * 15
    cells = hs.Cells.from_scores("sums", ["a", "b"], [f"q{i}" for i in range(40)], [whole, broken])
    text = say(hs.compare(cells, "a", "b"))
    assert "30 of 80 answers of b are missing and left out" in text
    assert "would be ahead" not in text  # 21 questions of b are right in any case
    hasty = [[1, None]] * 25 + [[0, 0]] * 15  # right on five more questions, and every other request was lost
    cells = hs.Cells.from_scores("sums", ["a", "b"], [f"q{i}" for i in range(40)], [whole, hasty])
    text = say(hs.compare(cells, "a", "b"))
    assert "b is ahead by 0.125" in text
    assert "25 of 80 answers of b are missing and left out; counted as wrong, a would be ahead" in text
    assert "missing" not in say(hs.compare(cells_of({"a": 0.2, "b": 0.4}), "a", "b"))


def test_two_models_need_no_names():
    cells = cells_of({"low": 0.2, "high": 0.8})
    assert str(hs.compare(cells)) == str(hs.compare(cells, "low", "high"))
    assert hs.compare(cells, "high")["model_b"].tolist() == ["low"]
    assert hs.compare(cells, b="high")["model_a"].tolist() == ["low"]
    with pytest.raises(InputError, match="3 models: .*hs.pairs"):
        hs.compare(cells_of({"low": 0.2, "high": 0.8, "other": 0.5}))
    with pytest.raises(InputError, match="in a list"):
        hs.compare(cells, cells)


def test_missing_generations_count_as_wrong_on_request():
    whole = [[1, 1]] * 20 + [[0, 0]] * 20
    broken = [[1, 1]] * 18 + [[0, 0]] * 7 + [[None, None]] * 15
    cells = hs.Cells.from_scores("sums", ["a", "b"], [f"q{i}" for i in range(40)], [whole, broken])
    filled = hs.Cells.from_scores(
        "sums", ["a", "b"], [f"q{i}" for i in range(40)], [whole, [[x or 0 for x in q] for q in broken]]
    )
    with pytest.warns(HowsureWarning, match="30 missing generations of b are counted as wrong"):
        compared = hs.compare(cells, "a", "b", missing="as-zero")
    assert str(compared) == str(hs.compare(filled, "a", "b"))
    assert compared["score_b"].tolist() == [18 / 40]
    with pytest.warns(HowsureWarning, match="counted as wrong"):
        assert hs.rank(cells, missing="as-zero")["model"].tolist() == ["a", "b"]
    with pytest.warns(HowsureWarning, match="counted as wrong"):
        assert str(hs.pairs(cells, missing="as-zero")) == str(hs.pairs(filled))
    with pytest.raises(InputError, match="bounds"):
        hs.compare(cells, "a", "b", missing="bounds")


def test_documents_of_results_without_rows_or_limits():
    """One model has no pair; models without a score have no group; a bar has limits without a level."""
    alone = cells_of({"a": 0.5})
    hs.gate(alone, a="a", at_least=0.4).to_latex()
    none = hs.Cells.from_scores("sums", ["a", "b"], ["p", "q"], [[[None], [None]], [[None], [None]]])
    for result in (hs.pairs(none), hs.pairs(hs.Cells.from_scores("sums", ["a", "b"], ["p"], [[[1]], [[None]]]))):
        assert "model" in result.to_markdown()
        result.to_latex()
    ratings = hs.Cells.from_scores("sums", ["a"], ["p"], [[[7]]])
    assert "nan" not in hs.gate(ratings, a="a", at_least=0.8).to_markdown()
