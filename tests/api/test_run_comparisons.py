"""Checkpoints, providers, greedy runs and unpaired comparisons: against scipy's tests, and by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import howsure as hs
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.store.responses import RunFolder
from howsure.store.schema import Response


def draw_cells(models, questions=60, k=4, seed=5):
    """Draw 0/1 scores; `models` gives each model's shift of the probability."""
    draw = np.random.default_rng(seed)
    p = draw.beta(2, 2, questions)
    scores = [
        (draw.random((questions, k)) < np.clip(p + shift, 0, 1)[:, None]).astype(int) for shift in models.values()
    ]
    return hs.Cells.from_scores("demo", list(models), [f"q{q}" for q in range(questions)], [s.tolist() for s in scores])


def test_a_change_beyond_sampling_noise_is_noted_in_a_narrow_table():
    cells = draw_cells({"m step 10": -0.3, "m step 50": 0.2, "m step 200": 0.2}, seed=6)
    result = hs.curve(cells)
    assert [verdict.partition(" ")[0] for verdict in result["verdict"]] == ["", "beyond", "within"]
    assert ["beyond sampling noise" in note for note in result["note"]] == [False, True, False]
    assert "the change since the checkpoint before is beyond sampling noise" in " ".join(result.fit_text(80).split())


def test_a_curve_is_the_scores_and_the_paired_differences():
    cells = draw_cells({"m step 200": 0.1, "m step 10": -0.3, "m step 50": 0.0, "other": 0.2})
    with pytest.warns(HowsureWarning, match="no checkpoint of a curve, left out: other"):
        result = hs.curve(cells)
    names = ["m step 10", "m step 50", "m step 200"]
    assert result["checkpoint"].tolist() == names
    expected = hs.compare(cells, "m step 10", "m step 200")
    for column, of in (("difference", "difference"), ("low_difference", "low"), ("p_value", "p_value")):
        assert result[column][0] == pytest.approx(expected[of][0])
    step = hs.compare(cells, "m step 50", "m step 10", claim="these-questions")
    assert result["change"][1] == pytest.approx(step["difference"][0])
    assert result["p_change"][1] <= 2 * step["p_value"][0] + 1e-15


@pytest.mark.parametrize("order", [None, ["m step 10"]])
def test_one_checkpoint_is_no_curve(order):
    with pytest.raises(InputError, match="only one checkpoint: m step 10; give the results of at least two"):
        hs.curve(draw_cells({"m step 10": 0.0}), order=order)


def test_a_change_within_sampling_noise_is_called_so_and_a_large_one_beyond_it():
    same = draw_cells({"s 1": 0.0, "s 2": 0.0}, questions=200, seed=7)
    assert hs.curve(same)["verdict"].tolist() == ["", "within sampling noise"]
    apart = draw_cells({"s 1": -0.3, "s 2": 0.3}, questions=200)
    assert hs.curve(apart)["verdict"].tolist() == ["", "beyond sampling noise"]


@pytest.mark.long
def test_equal_checkpoints_are_rarely_called_beyond_noise():
    """The verdict is a test at 5 %, Holm-adjusted over the curve: of 300 curves without any change at most 8 %."""
    wrong = 0
    for seed in range(300):
        cells = draw_cells({f"s {i}": 0.0 for i in range(4)}, questions=40, k=3, seed=seed)
        wrong += "beyond sampling noise" in hs.curve(cells)["verdict"]
    assert wrong / 300 < 0.08


def test_one_generation_per_question_gives_no_verdict():
    result = hs.curve(draw_cells({"s 1": 0.0, "s 2": 0.4}, k=1))
    assert result["verdict"].tolist() == ["", ""]
    assert "whether the change is beyond sampling noise is unknown" in result["note"][1]


def test_curve_takes_an_order_and_a_reference():
    cells = draw_cells({"final": 0.1, "start": -0.3, "middle": 0.0})
    result = hs.curve(cells, order=["start", "middle", "final"], reference="start")
    assert result["checkpoint"].tolist() == ["start", "middle", "final"]
    assert result["difference"][0] == 0
    with pytest.raises(UnknownNameError, match="end"):
        hs.curve(cells, order=["start", "end"])
    with pytest.raises(InputError, match="--order"):
        hs.curve(cells)


def test_the_unpaired_comparison_of_single_answers_is_welchs():
    """Another program: scipy's Welch test; the printed error has variances that divide by N, as all that are printed."""
    cells = draw_cells({"a": 0.2, "b": -0.1}, k=1)
    result = hs.compare(cells, "a", "b", paired=False)
    a, b = cells.mean
    expected = stats.ttest_ind(a, b, equal_var=False)
    N = len(a)
    assert result["difference"][0] == pytest.approx(a.mean() - b.mean())
    assert result["se"][0] == pytest.approx(np.sqrt((np.var(a) + np.var(b)) / N))
    assert (result["df"][0], result["p_value"][0]) == pytest.approx((expected.df, expected.pvalue))
    assert (result["low"][0], result["high"][0]) == pytest.approx(tuple(expected.confidence_interval()))
    paired = hs.compare(cells, "a", "b")
    for column in ("se", "low", "high", "p_value"):
        assert result[f"{column}_paired"][0] == pytest.approx(paired[column][0])
    assert result["variance_ratio"][0] == pytest.approx((result["se"][0] / paired["se"][0]) ** 2)


def test_models_on_different_questions_can_only_be_compared_unpaired():
    scores = [[[1], [1], [0], [1], [], [], []], [[], [], [], [], [0], [1], [0]]]
    cells = hs.Cells.from_scores("demo", ["a", "b"], [f"q{q}" for q in range(7)], scores)
    result = hs.compare(cells, "a", "b", paired=False)
    assert result["difference"][0] == pytest.approx(0.75 - 1 / 3)
    assert np.isnan(result["se_paired"][0])
    assert "only the unpaired comparison is possible" in result["note"][0]


@pytest.mark.parametrize(
    ("arguments", "message"), [({"method": "t"}, "without pairing"), ({"b": "a"}, "a is compared with itself")]
)
def test_unpaired_refuses_what_it_has_not(arguments, message):
    cells = draw_cells({"a": 0.2, "b": -0.1})
    with pytest.raises(InputError, match=message):
        hs.compare(cells, "a", **({"b": "b"} | arguments), paired=False)


def test_pairs_has_wins_ties_and_rules_of_thumb():
    cells = draw_cells({"a": 0.2, "b": -0.1}, k=1)
    a, b = cells.mean
    result = hs.pairs(cells, every_column=True)
    N, p = len(a), (a.mean() + b.mean()) / 2
    assert result["wins_a"][0] == pytest.approx(np.mean(a > b))
    assert result["wins_b"][0] == pytest.approx(np.mean(a < b))
    assert result["ties"][0] == pytest.approx(np.mean(a == b))
    assert result["se_rule_of_thumb"][0] == pytest.approx(np.sqrt(p * (1 - p) / N))
    assert result["se_independent"][0] == pytest.approx(np.sqrt(2 * p * (1 - p) / N))
    assert "wins_a" not in hs.pairs(cells).columns()


def test_rank_has_the_chances_of_neighbours():
    cells = draw_cells({"low": -0.2, "high": 0.2, "middle": 0.0})
    result = hs.rank(cells, k=1)
    assert result["model"].tolist() == ["high", "middle", "low"]
    between = hs.compare(cells, "high", "middle")
    z = between["difference"][0] / between["se"][0]
    assert result["p_above_next"][0] == pytest.approx(stats.norm.cdf(z))
    assert np.isnan(result["p_above_next"][2])
    single = hs.compare(cells, "high", "middle", claim="single-run")
    assert result["p_wrong_next"][0] == pytest.approx(
        stats.norm.cdf(-single["difference"][0] / single["se"][0]), rel=0.05
    )
    assert "p_wrong_next" not in hs.rank(cells).columns()


def test_repeats_has_the_gap_of_ten_single_runs():
    """Against single runs that are simulated from the true probabilities."""
    draw = np.random.default_rng(8)
    p = draw.beta(2, 2, 300)
    runs = (draw.random((10_000, 300)) < p).mean(axis=1).reshape(1000, 10)
    expected = np.ptp(runs, axis=1).mean()
    scores = [(draw.random((300, 40)) < p[:, None]).astype(int).tolist()]
    cells = hs.Cells.from_scores("demo", ["a"], [f"q{q}" for q in range(300)], scores)
    assert hs.repeats([cells])["gap"][0] == pytest.approx(expected, rel=0.05)


def test_greedy_stands_beside_sampling():
    cells = draw_cells({"a": 0.0, "a:greedy": 0.1, "b": 0.2})
    result = hs.greedy(cells)
    assert result["model"].tolist() == ["b", "a"]
    scores = hs.score(cells)
    by_name = {name: (scores["score"][i], scores["se"][i]) for i, name in enumerate(scores["model"])}
    assert (result["greedy"][1], result["se_greedy"][1]) == pytest.approx(by_name["a:greedy"])
    assert (result["sampled"][1], result["se_sampled"][1]) == pytest.approx(by_name["a"])
    between = hs.compare(cells, "a:greedy", "a")
    assert result["difference"][1] == pytest.approx(between["difference"][0])
    assert np.isnan(result["greedy"][0])
    assert result["note"].tolist() == ["no greedy run", ""]
    with pytest.raises(InputError, match="greedy: true"):
        hs.greedy(draw_cells({"a": 0.0}))


def test_greedy_and_sampling_are_compared_on_the_questions_that_both_have():
    """By hand: without q3, which only sampling has, greedy scores 1/2 and sampling 3/4."""
    scores = [[[1, 0], [1, 1], [0, 0]], [[1], [0], []], [[0], [1], [1]]]
    names = ["a", "a:greedy", "h:greedy"]
    with pytest.warns(HowsureWarning, match="h:greedy has no sampled generations of the same model beside it"):
        row = hs.greedy(hs.Cells.from_scores("demo", names, ["q1", "q2", "q3"], scores))
    assert (row["greedy"][0], row["sampled"][0], row["n_questions"][0]) == (0.5, 0.75, 2)
    assert row["difference"][0] == row["greedy"][0] - row["sampled"][0]
    assert row["note"][0].split("; ")[0] == "on the questions that both answered"
    assert row["model"].tolist() == ["a"]


def test_greedy_names_what_has_no_partner():
    cells = draw_cells({"a": 0.0, "a:greedy": 0.1})
    other = hs.Cells.from_scores("other", ["a"], ["q1"], [[[1, 0]]])
    with pytest.warns(HowsureWarning, match="no model has a greedy run beside its sampled ones on other"):
        assert hs.greedy([cells, other])["benchmark"].tolist() == [cells.benchmark]
    with pytest.raises(InputError, match="h:greedy has no sampled generations"):
        hs.greedy(hs.Cells.from_scores("demo", ["h:greedy"], ["q1"], [[[1]]]))


def test_gap_of_scores_in_the_unit_interval_is_at_most_one():
    """By hand: of one question that is answered right half of the time, ten runs differ by 1 at most."""
    one = hs.Cells.from_scores("demo", ["a"], ["q1"], [[[1, 0, 1, 0]]])
    for result in (hs.repeats([one]), hs.greedy(one + hs.Cells.from_scores("demo", ["a:greedy"], ["q1"], [[[1]]]))):
        assert result["gap"][0] == 1
        assert "so few questions: the gap is limited to the range of the scores" in result["note"][0]
    hundred = hs.Cells.from_scores("demo", ["a"], ["q1"], [[[100, 0, 100, 0]]])
    assert hs.repeats([hundred])["gap"][0] > 100  # of other scores the range is not known


def test_providers_compares_runs_of_two_labels_or_of_two_sources():
    cells = draw_cells({"m at x": 0.0, "m at y": 0.15}, k=3)
    result = hs.providers(cells, "m at x", "m at y")
    a, b = cells.mean
    within = [np.sum(m * (1 - m) * 3 / 2 / 3) / 60**2 for m in (a, b)]
    assert result["difference"][0] == pytest.approx(a.mean() - b.mean())
    assert result["se"][0] == pytest.approx(np.sqrt(sum(within)))
    first = hs.Cells.from_scores("demo", ["m"], ["1", "2"], [[[1, 1], [0, 1]]])
    second = hs.Cells.from_scores("demo", ["m"], ["1", "2"], [[[0, 1], [0, 1]]])
    assert hs.providers(first, "m", other=second)["difference"][0] == pytest.approx(0.25)
    with pytest.raises(InputError, match="same runs on both sides"):
        hs.providers(first, "m")
    with pytest.raises(UnknownNameError, match="n"):
        hs.providers(first, "m", "n")


def test_providers_of_two_sources_with_one_model_each_need_no_names():
    """By hand: 3/4 against 1/2, under equal names, under two names, and beside a further model."""
    first = hs.Cells.from_scores("demo", ["m"], ["1", "2"], [[[1, 1], [0, 1]]])
    second = hs.Cells.from_scores("demo", ["n"], ["1", "2"], [[[0, 1], [0, 1]]])
    both = hs.Cells.from_scores("demo", ["k", "m"], ["1", "2"], [[[1, 1], [1, 1]], [[0, 1], [0, 1]]])
    for other, name in ((replace(second, models=("m",)), "m"), (second, "n"), (both, "m")):
        [row] = hs.providers(first, other=other)
        assert (row["model_a"], row["model_b"], row["difference"]) == ("m", name, 0.25)
    [row] = hs.providers(both, other=first)  # k is on one side only
    assert (row["model_a"], row["model_b"], row["difference"]) == ("m", "m", -0.25)
    with pytest.raises(InputError, match="no model is named as a; name one of k, m"):
        hs.providers(both, other=both)
    for one, other, words in ((both, second, "k, m, and n"), (second, both, "n, and k, m")):
        with pytest.raises(InputError, match=f"no model is on both sides: {words}; name one of each"):
            hs.providers(one, other=other)
    with pytest.raises(InputError, match="no model is named as b; name one of k, m"):
        hs.providers(second, "n", other=both)


def test_providers_takes_one_benchmark_of_two_names_as_the_same():
    """By hand: on questions 1 and 2, 3/4 against 1/2; two tables of one benchmark are named after their files."""
    first = hs.Cells.from_scores("one", ["m"], ["1", "2", "3"], [[[1, 1], [0, 1], [1, 1]]])
    second = hs.Cells.from_scores("two", ["m"], ["1", "2"], [[[0, 1], [0, 1]]])
    with pytest.warns(HowsureWarning, match="one and two have 2 question ids in common, and are compared as one"):
        [row] = hs.providers(first, "m", other=second)
    assert (row["benchmark"], row["n_questions"], row["difference"]) == ("one", 2, 0.25)
    other = hs.Cells.from_scores("two", ["m"], ["7", "8"], [[[0, 1], [0, 1]]])
    for unlike in (other, [second, replace(other, benchmark="three")]):  # no common question; two benchmarks
        with pytest.raises(InputError, match="no benchmark is on both sides; .*--as-benchmark NAME"):
            hs.providers(first, "m", other=unlike)


def test_the_commands_print_what_the_functions_return(howsure, tmp_path):
    draw = np.random.default_rng(2)
    lines = ["model,question,generation,score"]
    for model in ("m-10", "m-200", "m-200:greedy"):
        for q in range(20):
            generations = range(1 if model.endswith("greedy") else 3)
            lines += [f"{model},q{q},{g},{int(draw.random() < 0.6)}" for g in generations]
    table = tmp_path / "runs.csv"
    table.write_text("\n".join(lines) + "\n")
    for arguments, column in [
        (("curve", "--order", "m-10,m-200"), "p_change"),
        (("compare", "--greedy"), "gap"),
        (("compare", "--a", "m-10", "--b", "m-200", "--method", "stratified"), "drift_p_a"),
        (("compare", str(table), "--a", "m-10"), "drift_p_a"),
        (("compare", "--a", "m-10", "--b", "m-200", "--unpaired"), "variance_ratio"),
        (("compare",), "se_independent"),
        (("rank", "--k", "2"), "p_wrong_next"),
        (("repeats",), "gap"),
    ]:
        code, out, err = howsure(arguments[0], str(table), *arguments[1:], "--format", "csv")
        assert (code, err) == (0, ""), arguments
        assert column in out.splitlines()[0].split(","), arguments


@pytest.mark.parametrize("width", ["60", "80"])
def test_the_table_of_checkpoints_names_the_command_that_says_which_to_take(howsure, tmp_path, monkeypatch, width):
    """Of the rates .2, .5 and .9 the last one alone may be the best by `rank`; programs read no sentence."""
    monkeypatch.setenv("COLUMNS", width)
    rates = {"run-step1000": 0.2, "run-step2000": 0.5, "run-step4000": 0.9}
    rows = [
        f"{m},q{q},{g},{int((7 * q + 3 * g) % 10 < 10 * p)}"
        for m, p in rates.items()
        for q in range(40)
        for g in (1, 2)
    ]
    table = tmp_path / "train.csv"
    table.write_text("\n".join(["model,question,generation,score", *rows]) + "\n")
    code, out, _ = howsure("curve", table)
    assert code == 0
    assert "howsure rank" in out.splitlines()[-1] + out.splitlines()[-2]
    assert max(map(len, out.splitlines())) <= int(width)
    _, ranked, _ = howsure("rank", table, "--format", "json")
    assert [row["model"] for row in json.loads(ranked) if row["rank_low"] == 1] == ["run-step4000"]
    assert "howsure rank" not in howsure("curve", table, "--format", "csv")[1]


def test_labels_that_may_be_no_checkpoints_are_not_sent_to_rank(howsure, tmp_path):
    """Sizes of a model are ordered by their number, and names without one are refused with what would be read."""
    rows = [f"{{}}-{size},q{q},{g},{(q + g + size) % 2}" for size in (7, 13) for q in range(9) for g in (1, 2)]
    table = tmp_path / "sizes.csv"
    table.write_text("\n".join(["model,question,generation,score", *(row.format("llama") for row in rows)]) + "\n")
    _, out, _ = howsure("curve", table)
    assert "howsure compare" in out
    assert "howsure rank" not in out
    assert "howsure rank" in howsure("curve", table, "--order", "llama-13,llama-7")[1]
    table.write_text(table.read_text().replace("llama-7", "otter").replace("llama-13", "heron"))
    code, _, err = howsure("curve", table)
    assert code == 2
    assert {"m-step100", "--order", "compare"} <= set(err.split())


def test_determinism_of_stored_completions(tmp_path, howsure):
    """By hand: of model m, q1 got two texts with one answer, q2 one text; of n all are equal; a failed one has no text."""
    texts = {"m": {"q1": ["four", "Four.", "four"], "q2": ["5", "5", "5"]}, "n": {"q1": ["4", "4"], "q2": ["5", None]}}
    rows = [
        Response("sums", model, question, "v", i, score=None if text is None else 1.0, answer="4", completion=text)
        for model, questions in texts.items()
        for question, each in questions.items()
        for i, text in enumerate(each, start=1)
    ]
    with RunFolder(tmp_path / "run") as run:
        run.append(rows)
    m, n = hs.determinism(tmp_path / "run")
    assert (m["n_questions"], m["n_varied"], m["n_answers_varied"], m["verdict"]) == (2, 1, 0, "not deterministic")
    assert m["p_differ"] == pytest.approx((2 / 3 + 0) / 2)
    assert (n["n_questions"], n["n_varied"], n["verdict"]) == (1, 0, "no difference seen")
    code, out, _ = howsure("repeats", str(tmp_path / "run"), "--show", "determinism")
    assert code == 0
    assert "no error of sampling can be computed" in " ".join(out.split())
    code, _, err = howsure("repeats", str(tmp_path / "run"), "--show", "determinism", "--future", "2")
    assert code == 2
    assert "--future with --show determinism" in err


def test_a_table_without_completions_cannot_show_determinism(tmp_path):
    (tmp_path / "t.csv").write_text("model,question,generation,score\na,q,1,1\na,q,2,0\n")
    with pytest.raises(InputError, match="completions"):
        hs.determinism(tmp_path / "t.csv")


def test_run_widths_of_a_table(tmp_path, howsure):
    rows = [f"a,q{q},{g},{(q + g) % 2}" for q in range(10) for g in range(1, 5)]
    (tmp_path / "t.csv").write_text("\n".join(["model,question,generation,score", *rows]))
    table = hs.run_widths(tmp_path / "t.csv", goal=0.5)
    assert table["n_runs"].tolist() == [2, 3, 4]
    code, out, _ = howsure("repeats", str(tmp_path / "t.csv"), "--show", "widths")
    assert code == 0
    assert "is_narrow" in out
    with pytest.raises(InputError, match="goal"):
        hs.run_widths(tmp_path / "t.csv", goal=0)


@pytest.mark.filterwarnings("ignore:.*are named by their paths:howsure.errors.HowsureWarning")
@pytest.mark.filterwarnings("ignore:.*are read by the mapping:howsure.errors.HowsureWarning")
def test_tables_of_a_day_each_are_runs_where_the_mapping_says_so(tmp_path):
    for i, day in enumerate(("11-01", "11-02", "11-03")):
        lines = [f"m,{q},{(q + (q == i)) % 2}" for q in range(6)]
        (tmp_path / f"2026-{day}.csv").write_text("\n".join(["model,question,score", *lines]) + "\n")
    with pytest.raises(InputError) as caught:
        hs.repeats(tmp_path)
    assert (caught.value.code, caught.value.options) == ("names", ("--map", "files: {generation: 0}"))
    assert hs.repeats(hs.read(tmp_path, map=caught.value.options[1]))["n_runs"].tolist() == [3]
