"""The gate from Python: which models are compared, what it says in words, and the forms it is written in."""

import io
import re
import warnings
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import howsure as hs
from howsure.errors import HowsureWarning, InputError, UnknownNameError


def _frame(rights, k=5, benchmark="demo"):
    """Return a table: for each model the number of right generations of each question."""
    rows = [
        (benchmark, model, f"q{i}", generation, int((generation + i) % k < right))
        for model, counts in rights.items()
        for i, right in enumerate(counts)
        for generation in range(k)
    ]
    names = ["benchmark", "model", "question", "generation", "score"]
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


RIGHT = [5] * 200
BROKEN = [0, *[5] * 199]


def test_two_results_with_one_model_each_are_compared_whatever_their_labels():
    result = hs.gate(_frame({"new": BROKEN}), baseline=_frame({"old": RIGHT}), margin=0.05)
    assert (result.verdict, result.exit_code) == ("fail", 1)
    assert result["model"].tolist() == ["new"]
    assert result["baseline"].tolist() == ["old"]
    assert result.questions["baseline"].tolist() == ["5/5"]
    assert result.questions["candidate"].tolist() == ["0/5"]


def test_equal_labels_are_told_apart():
    result = hs.gate(_frame({"m": BROKEN}), baseline=_frame({"m": RIGHT}))
    assert result["baseline"].tolist() == ["m (baseline)"]


def test_every_label_of_the_baseline_is_compared():
    new = _frame({"a": RIGHT, "b": BROKEN, "c": RIGHT})
    with pytest.warns(HowsureWarning, match="no model c"):
        result = hs.gate(new, baseline=_frame({"a": RIGHT, "b": RIGHT}), margin=0.05)
    assert result["model"].tolist() == ["a", "b"]
    assert result["verdict"].tolist() == ["pass", "fail"]
    assert result.verdict == "fail"


def test_a_benchmark_that_the_baseline_lacks_is_not_left_out_in_silence():
    new = pa.concat_tables([_frame({"m": RIGHT}), _frame({"m": RIGHT}, benchmark="other")])
    with pytest.warns(HowsureWarning, match="no benchmark other"):
        result = hs.gate(new, baseline=_frame({"m": RIGHT}))
    assert result["benchmark"].tolist() == ["demo"]


def test_missing_generations_of_the_baseline_are_counted():
    old = _frame({"m": RIGHT})
    scores = [None if i < 3 else score for i, score in enumerate(old["score"].to_pylist())]
    old = old.set_column(4, "score", pa.array(scores))
    text = str(hs.gate(_frame({"m": RIGHT}), baseline=old))
    assert "3 generations of the baseline are missing" in text
    assert "of the baseline" not in str(hs.gate(_frame({"m": RIGHT}), baseline=_frame({"m": RIGHT})))


def test_one_source_with_both_models():
    both = _frame({"a": RIGHT, "b": BROKEN})
    assert hs.gate(both, a="b", b="a").verdict == "fail"
    assert hs.gate(both, a="a", b="b", margin=0.05).verdict == "pass"


@pytest.mark.parametrize(
    ("data", "baseline", "arguments", "message"),
    [
        ({"a": RIGHT, "b": RIGHT}, None, {}, "only one of candidate and baseline"),
        ({"a": RIGHT, "b": RIGHT}, {"c": RIGHT}, {}, "no model 'c'"),
        ({"a": RIGHT}, {"b": RIGHT, "c": RIGHT}, {}, "no model 'b'"),
        ({"a": RIGHT}, {"b": RIGHT, "c": RIGHT}, {"a": "a"}, "--b"),
        ({"a": RIGHT}, {"a": RIGHT}, {"at_least": 0.9}, "not both"),
        ({"a": RIGHT}, {"b": RIGHT}, {"a": "c"}, "unknown model 'c'"),
        ({"a": RIGHT}, None, {"a": "x", "at_least": 0.5}, "unknown model 'x'"),
    ],
)
def test_what_cannot_be_matched_is_refused(data, baseline, arguments, message):
    with pytest.raises(InputError, match=message):
        hs.gate(_frame(data), baseline=None if baseline is None else _frame(baseline), **arguments)


def test_a_benchmark_that_the_candidate_lacks_is_no_pass():
    old = pa.concat_tables([_frame({"m": RIGHT}), _frame({"m": RIGHT}, benchmark="other")])
    with pytest.raises(InputError, match="no result on other"):
        hs.gate(_frame({"m": RIGHT}), baseline=old)


def test_the_baseline_is_given_by_its_name_since_the_command_has_it_first():
    with pytest.raises(TypeError, match="positional"):
        hs.gate(_frame({"m": RIGHT}), _frame({"m": BROKEN}))


def test_files_without_a_benchmark_are_matched_by_their_questions(tmp_path):
    for name, right in (("old", 1), ("new", 0)):
        rows = "".join(f"m,q{i},{int(i % 3 > 0 or right)}\n" for i in range(60))
        (tmp_path / f"{name}.csv").write_text("model,question,score\n" + rows)
    with pytest.warns(HowsureWarning, match="60 question ids in common"):
        result = hs.gate(tmp_path / "new.csv", baseline=tmp_path / "old.csv")
    assert result["benchmark"].tolist() == ["old"]
    assert result.verdict == "fail"


def test_one_question_has_no_limits_and_no_nan_in_words():
    text = str(hs.gate(_frame({"a": [1]}, k=1), baseline=_frame({"a": [1]}, k=1)))
    assert "nan" not in text
    assert "no limits" in text


def test_limits_without_0_beside_an_inconclusive_verdict_are_explained():
    """By hand: 3 of 3 before and 0 of 3 now has 1 of 20 orders; the other 49 questions are all right."""
    new, old = _frame({"m": [0, *[3] * 49]}, k=3), _frame({"m": [3] * 50}, k=3)
    assert hs.gate(new, baseline=old).verdict == "fail"  # a p of 1/20 is not above .05
    gated = hs.gate(new, baseline=old, alpha=0.04)
    assert gated.verdict == "inconclusive"
    assert gated["high"][0] < 0
    assert "no loss is shown: over all tests that are made here, the p-value is 0.05, above 0.04." in str(gated)
    same = hs.gate(_frame({"m": [3, 2, 3]}, k=3), baseline=_frame({"m": [3, 3, 3]}, k=3))
    assert "no loss is shown" not in str(same)


def test_words_say_the_numbers_of_the_table():
    result = hs.gate(_frame({"new": [4] * 60}), baseline=_frame({"old": [5] * 60}), margin=0.02)
    text = str(result)
    assert text.startswith("FAIL\n")
    assert "0.800" in text
    assert "-0.200" in text
    assert f"{result['low'][0]:+.3f}" in text


def test_inconclusive_says_what_would_decide():
    result = hs.gate(_frame({"new": [3] * 20}), baseline=_frame({"old": [3] * 20}))
    assert (result.verdict, result.exit_code) == ("inconclusive", 3)
    needed = re.search(r"([\d,]+) generations per question of both", str(result))
    assert needed
    assert int(needed[1].replace(",", "")) > 5


def test_junit_is_read_by_a_parser():
    root = ET.fromstring(hs.gate(_frame({"<new>&": BROKEN}), baseline=_frame({"old": RIGHT})).to_junit())
    assert root.tag == "testsuites"
    (suite,) = root
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["skipped"]) == ("2", "2", "0")
    assert [case.attrib["name"] for case in suite] == ["<new>&", "<new>&: q0"]
    skipped = ET.fromstring(hs.gate(_frame({"a": [1] * 3}), baseline=_frame({"a": [1] * 3})).to_junit())
    assert skipped[0].attrib["skipped"] == "1"
    assert skipped[0][0].find("skipped") is not None


def test_what_an_inconclusive_gate_counts_as():
    result = hs.gate(_frame({"a": [1] * 3}), baseline=_frame({"a": [1] * 3}))
    assert result.verdict == "inconclusive"
    (failed,) = ET.fromstring(result.to_junit(inconclusive="fail"))
    assert (failed.attrib["failures"], failed.attrib["skipped"]) == ("1", "0")
    assert failed[0].find("failure").attrib["message"] == "inconclusive"
    (passed,) = ET.fromstring(result.to_junit(inconclusive="pass"))
    assert (passed.attrib["failures"], passed.attrib["skipped"], len(passed[0])) == ("0", "0", 0)
    assert "counts as fail" in result.to_markdown(inconclusive="fail")
    assert "counts as" not in result.to_markdown()


def test_no_name_makes_a_line_of_its_own():
    """A question called "q" and, below it, "PASS" wrote a line PASS into the output of a failure."""
    rows = [{"model": "m", "question": "q\nPASS", "generation": i, "score": 1} for i in range(1, 13)]
    worse = [row | {"score": 0} for row in rows]
    text = str(hs.gate(pa.Table.from_pylist(worse), baseline=pa.Table.from_pylist(rows)))
    assert text.startswith("FAIL")
    assert "PASS" not in text.splitlines()
    assert r"q\nPASS" in text


def test_markdown_of_hostile_names_is_text():
    text = hs.gate(_frame({"a|b<img src=x>\x1b[31m`": BROKEN}), baseline=_frame({"[x](y)": RIGHT})).to_markdown()
    assert "<img" not in text
    assert "\x1b" not in text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {9}
    assert "❌" in text


def test_bars():
    assert hs.gate(_frame({"a": RIGHT}), at_least=0.9).verdict == "pass"
    assert hs.gate(_frame({"a": [1] * 200}), at_least=0.9).verdict == "fail"
    result = hs.gate(_frame({"a": RIGHT, "b": [1] * 200}), at_least=0.9)
    assert result["verdict"].tolist() == ["pass", "fail"]
    assert "the bar is 0.9" in str(result)
    assert "97.5 %, because 2 scores are gated together" in str(result)


def test_a_bar_refuses_results_of_one_model_that_were_given_twice(tmp_path):
    """One of them may be the baseline, and pooled scores would be the candidate's; parts of one result are no two."""
    right, wrong = _frame({"m": [3, 4, 5, 4] * 50}), _frame({"m": [0, 1] * 100})
    for data in ([right, wrong], hs.read([right, wrong])):
        with pytest.raises(InputError, match=r"answers of m to the same questions.*a='m'"):
            hs.gate(data, at_least=0.4)
    assert hs.gate([right, wrong], a="m", at_least=0.4)["score"] == pytest.approx([0.45])
    apart = hs.gate([right, _frame({"m": [0, 1] * 100}, benchmark="other")], at_least=0.4)
    assert apart["score"] == pytest.approx([0.8, 0.1])
    (tmp_path / "runs").mkdir()
    for name, table in (("one", right), ("two", wrong)):
        csv.write_csv(table, tmp_path / "runs" / f"{name}.csv")
    for data in (tmp_path / "runs", [tmp_path / "runs" / "one.csv", tmp_path / "runs" / "two.csv"]):
        with pytest.raises(InputError, match=r"one.csv and .*two.csv") as caught:
            hs.gate(data, at_least=0.4)
        assert caught.value.code == "names"


def test_false_alarms_of_several_models():
    result = hs.measure_false_alarms(_frame({"a": [2, 3, 4] * 5, "b": [5] * 15}), splits=20)
    assert result["model"].tolist() == ["a", "b"]
    assert result["n_splits"].tolist() == [20, 20]
    with pytest.raises(UnknownNameError):
        hs.measure_false_alarms(_frame({"a": [2]}), b="x")


def test_trials_stop_when_the_rate_is_decided():
    calls = []

    def succeed():
        calls.append(1)
        return True

    test = hs.at_least(succeed, 0.8, budget=500)
    assert len(calls) == test.n_trials < 50
    with pytest.raises(AssertionError, match="below 0.8: 0 of"):
        hs.at_least(lambda: False, 0.8, budget=500)


def test_trials_that_decide_nothing():
    with pytest.raises(AssertionError, match="after 5 trials it is not shown"):
        hs.at_least(lambda: True, 0.9, budget=5)
    assert hs.at_least(lambda: True, 0.9, budget=5, inconclusive="pass").n_trials == 5
    for budget in (0, "a", True):
        with pytest.raises(InputError, match="budget"):
            hs.at_least(lambda: True, 0.9, budget=budget)
    with pytest.raises(InputError, match="cannot be called"):
        hs.at_least(5, 0.9)
    with pytest.raises(UnknownNameError):
        hs.at_least(lambda: True, 0.9, inconclusive="inconclusive")


def test_failed_assertions_are_failures_and_other_errors_end_the_test():
    def refuse():
        raise AssertionError("no")

    with pytest.raises(AssertionError, match="below 0.8"):
        hs.at_least(refuse, 0.8)
    with pytest.raises(ZeroDivisionError):
        hs.at_least(lambda: 1 / 0, 0.8)


def test_a_warning_of_a_sampled_candidate_is_issued_once(tmp_path):
    """By hand: 1, 2 and 4 generations under another prompt than the baseline's; a warning that is new in a round."""
    from howsure.api.regression_gate import sample_until_decided

    bank = tmp_path / "bank.csv"
    bank.write_text("id,question,answer\n" + "".join(f"{i},What is {i} + 1?,{i + 1}\n" for i in range(20)))
    files = []
    for name, template in (("base", "Q: {question}"), ("new", "{question} Answer:")):
        files.append(tmp_path / f"{name}.yaml")
        source = (
            f'{{file: {bank}, id: id, question: question, target: answer, scorer: numeric, template: "{template}"}}'
        )
        files[-1].write_text(f"benchmark: {source}\nmodels: [simulated/medium]\ngenerations: 4\n")
    baseline = hs.run(files[0])
    rounds = []

    def judge(data, alpha):
        rounds.append(int(data.cells()[0].n.max()))
        warnings.warn(f"at least {min(rounds[-1], 2)}", HowsureWarning, stacklevel=2)
        return hs.gate(data, baseline=baseline, margin=0.001, alpha=alpha)

    with pytest.warns(HowsureWarning) as caught:
        sample_until_decided(files[1], tmp_path / "new", judge)
    assert rounds == [1, 2, 4]
    lines = [getattr(one.message.note, "code", str(one.message)) for one in caught]
    assert lines == ["at least 1", "no-common-variant", "at least 2"]


def _write(folder, model, generations=8, more=""):
    file = folder / f"{model}.yaml"
    file.write_text(
        f"benchmark: directions-small\nmodels: [{{model: simulated/{model}, label: m}}]\n"
        f"generations: {generations}\n{more}"
    )
    return file


def test_a_candidate_is_sampled_until_it_is_decided(tmp_path):
    """A much worse candidate fails before all its generations are sampled; the other samples all of them."""
    from howsure.api.regression_gate import sample_until_decided

    baseline = hs.run(_write(tmp_path, "large"))

    def judge(data, alpha):
        return hs.gate(data, baseline=baseline, alpha=alpha)

    result = sample_until_decided(_write(tmp_path, "small"), tmp_path / "small", judge)
    assert (result.verdict, result.n_analyses) == ("fail", 4)
    assert result["n_generations"][0] < 8
    assert result["alpha"][0] == 0.05 / 4
    with pytest.raises(InputError, match="until"):
        sample_until_decided(_write(tmp_path, "medium", more="until: {width: 0.1}\n"), tmp_path / "x", judge)
    with pytest.raises(UnknownNameError):
        sample_until_decided(tmp_path / "small.yaml", tmp_path / "x", judge, label="other")


def test_results_that_the_experiment_does_not_name_are_not_judged_as_the_candidate(tmp_path):
    """The file named a good model, then a bad one: the good one's rows in the folder are not those of the candidate."""
    from howsure.api.regression_gate import sample_until_decided

    def write(models, benchmark="{name: population, size: 60}"):
        file = tmp_path / "evaluation.yaml"
        file.write_text(f"benchmark: {benchmark}\nmodels: {models}\ngenerations: 4\n")
        return file

    def judge(data, alpha):
        return hs.gate(data, baseline=baseline, alpha=alpha, margin=0.1)

    baseline = hs.run(write("[simulated/medium]"))
    folder = tmp_path / "candidate"
    assert sample_until_decided(write("[simulated/medium]"), folder, judge).verdict == "pass"
    with pytest.raises(
        InputError, match=r"results of simulated/medium, which evaluation\.yaml does not name.*--output"
    ):
        sample_until_decided(write("[simulated/small]"), folder, judge)
    assert [cells.models for cells in hs.read(folder)] == [("simulated/medium",)]  # nothing was sampled

    def judge_small(data, alpha):
        return hs.gate(data, baseline=baseline, a="simulated/small", b="simulated/medium", alpha=alpha, margin=0.1)

    named = sample_until_decided(write("[simulated/small]"), folder, judge_small, label="simulated/small")
    assert named.verdict == "fail"
    with pytest.raises(InputError, match="results of population, which"):
        sample_until_decided(
            write("[simulated/small]", "directions-small"), folder, judge_small, label="simulated/small"
        )
    relabelled = write("[simulated/medium, simulated/small]", "{name: population, size: 60, label: other}")
    with pytest.raises(InputError, match="results of population, which"):
        sample_until_decided(relabelled, folder, judge)


@pytest.mark.long
def test_a_run_that_was_interrupted_is_judged_at_the_looks_that_it_would_have_had(tmp_path):
    """The folder holds more generations than the first looks take: they see the first ones, as without interruption."""
    from howsure.api.regression_gate import sample_until_decided

    baseline = hs.run(_write(tmp_path, "large"))
    alphas, sizes = [], {}

    def gate_in(folder):
        def judge(data, alpha):
            result = hs.gate(data, baseline=baseline, alpha=alpha, margin=0.001)
            sizes.setdefault(folder, []).append((result["n_generations"].tolist(), result["difference"].tolist()))
            alphas.append(alpha)
            return result

        return judge

    file = _write(tmp_path, "large")
    sample_until_decided(file, tmp_path / "whole", gate_in("whole"))
    hs.run(_write(tmp_path, "large", generations=3), tmp_path / "killed")
    sample_until_decided(_write(tmp_path, "large"), tmp_path / "killed", gate_in("killed"))
    assert sizes["killed"] == sizes["whole"]
    assert len(sizes["whole"]) > 1
    assert set(alphas) == {0.05 / 4}


def test_a_spent_budget_ends_the_rounds(tmp_path):
    from howsure.api.regression_gate import sample_until_decided

    baseline = hs.run(_write(tmp_path, "medium"))
    file = _write(tmp_path, "medium", more="budget: {calls: 150}\nseed: 1\n")
    stream = io.StringIO()
    result = sample_until_decided(
        file,
        tmp_path / "candidate",
        lambda data, alpha: hs.gate(data, baseline=baseline, alpha=alpha, margin=0),
        stream=stream,
    )
    assert result["n_generations"][0] <= 2
    assert "after 2 generations per question" in stream.getvalue()
    assert "after 8 generations per question" not in stream.getvalue()  # no question has so many


def _write_variants(path, rights, generations=5):
    """Write a table of ten questions; `rights` has the number of right generations by variant."""
    rows = [
        f"demo,m,q{q},{variant},{k + 1},{int((k + q) % generations < right)}"
        for variant, right in rights.items()
        for q in range(10)
        for k in range(generations)
    ]
    path.write_text("\n".join(["benchmark,model,question,variant,generation,score", *rows]) + "\n")
    return path


@pytest.mark.long
def test_variants_are_paired_where_both_have_them(tmp_path):
    """The candidate is right in variant a, where it has no generation of b: not a pass, since b is missing."""
    base = _write_variants(tmp_path / "base.csv", {"a": 5, "b": 2})
    same = _write_variants(tmp_path / "same.csv", {"a": 5, "b": 2})
    result = hs.gate(same, baseline=base, margin=0.2)
    assert (result.verdict, result["n_questions"].tolist()) == ("pass", [20])
    assert "20 common question-variant pairs" in str(result)
    easy = _write_variants(tmp_path / "easy.csv", {"a": 5})
    with pytest.warns(HowsureWarning, match="only the baseline has are missing .*: b"):
        result = hs.gate(easy, baseline=base, margin=0.2)
    assert (result.verdict, result["n_missing"].tolist()) == ("inconclusive", [50])
    with pytest.warns(HowsureWarning, match="demo: .* only the candidate has are not compared: b"):
        result = hs.gate(base, baseline=easy, margin=0.2)
    assert (result.verdict, result["difference"].tolist()) == ("pass", [0.0])
    other = _write_variants(tmp_path / "other.csv", {"c": 5})
    with pytest.warns(HowsureWarning, match="demo: no prompt variant is common"):
        assert hs.gate(other, baseline=base)["difference"].tolist() == [pytest.approx(0.3)]


def test_a_variant_that_broke_on_one_question_is_named(tmp_path):
    base = _write_variants(tmp_path / "base.csv", {"a": 5, "b": 5})
    worse = tmp_path / "worse.csv"
    lines = base.read_text().splitlines()
    worse.write_text("\n".join(line[:-1] + "0" if ",q3,b," in line else line for line in lines) + "\n")
    result = hs.gate(worse, baseline=base, margin=0.2)
    assert (result.verdict, result.questions["question"].tolist()) == ("fail", ["q3 [b]"])


def test_several_metrics_are_one_family():
    """p of Fisher's exact test of 5 of 5 against 0 of 5 is 1/252; Holm doubles it for two metrics, and one fails."""
    names = ["p"]
    same = hs.Cells.from_scores("demo", ["m"], names, [[[1, 1, 1, 1, 1]]])
    worse = hs.Cells.from_scores("demo", ["m"], names, [[[0, 0, 0, 0, 0]]])
    alone = hs.gate(worse, baseline=same)
    both = hs.gate({"exact": worse, "loose": same}, baseline={"exact": same, "loose": same})
    assert both["benchmark"].tolist() == ["demo, exact", "demo, loose"]
    assert both["p_fail"].tolist()[0] == pytest.approx(2 * alone["p_fail"].tolist()[0])
    assert [part.verdict for part in both.gates] == ["fail", "inconclusive"]
    bars = hs.gate({"exact": same, "loose": worse}, at_least=0.5)
    assert [part.n_together for part in bars.gates] == [2, 2]
    with pytest.raises(InputError, match="metrics exact, loose of the candidate and exact of the baseline"):
        hs.gate({"exact": worse, "loose": same}, baseline={"exact": same})
    with pytest.raises(InputError, match="none of the baseline"):
        hs.gate({"exact": worse}, baseline=same)


def test_scores_on_other_scales_are_refused():
    names = [f"q{i}" for i in range(5)]
    rated = hs.Cells.from_scores("demo", ["m"], names, [[[7, 8]] * 5])
    unit = hs.Cells.from_scores("demo", ["m"], names, [[[0.7, 0.8]] * 5])
    for new, old in ((rated, unit), (unit, rated)):
        with pytest.raises(InputError, match="give both on one scale"):
            hs.gate(new, baseline=old)
    assert hs.gate(rated, baseline=rated).verdict in {"pass", "inconclusive"}


def test_ratings_from_one_upwards_are_one_scale():
    """A baseline with the lowest rating throughout lies in [0, 1] by chance."""
    names = [f"q{i}" for i in range(12)]
    lowest = hs.Cells.from_scores("demo", ["m"], names, [[[1, 1]] * 12])
    better = hs.Cells.from_scores("demo", ["m"], names, [[[1 + i % 4, 2] for i in range(12)]])
    assert hs.gate(better, baseline=lowest).verdict in {"pass", "inconclusive"}


def test_questions_with_variants_of_their_own_are_compared_by_their_means(tmp_path):
    """Each of 60 questions drew 3 of 20 variants on each side: few pairs are common, and nothing is missing or new."""
    for seed, name in enumerate(["base", "cand"]):
        rng = np.random.default_rng(seed)
        rows = [
            f"demo,m,q{q},v{variant},{k + 1},{int(k < (3, 3, 1, 2)[place + q % 2])}"
            for q in range(60)
            for place, variant in enumerate(rng.choice(20, 3, replace=False))
            for k in range(3)
        ]
        (tmp_path / f"{name}.csv").write_text(
            "\n".join(["benchmark,model,question,variant,generation,score", *rows]) + "\n"
        )
    with pytest.warns(HowsureWarning, match="demo: each question has prompt variants of its own") as warned:
        result = hs.gate(tmp_path / "cand.csv", baseline=tmp_path / "base.csv")
    assert len(warned) == 1
    assert (result["n_questions"].tolist(), result["n_missing"].tolist()) == ([60], [0])
    assert result["difference"].tolist() == [pytest.approx(0, abs=1e-12)]
    assert "pair" not in str(result)
    with warnings.catch_warnings():  # one draw on both sides: every pair is common
        warnings.simplefilter("error")
        (tmp_path / "again.csv").write_text((tmp_path / "base.csv").read_text())
        same = hs.gate(tmp_path / "again.csv", baseline=tmp_path / "base.csv")
    assert same["n_questions"].tolist() == [180]


def test_a_loss_that_cannot_be_is_not_said_to_be_found():
    text = str(hs.gate(_frame({"a": [1, 2, 1, 0]}), baseline=_frame({"a": [1, 0, 0, 0]})))
    assert "No loss that is possible would have been found" in text
    assert "would have been found" not in str(
        hs.gate(_frame({"a": [3] * 20}, k=3), baseline=_frame({"a": [3] * 20}, k=3))
    )
    assert "A loss of 0." in str(hs.gate(_frame({"a": [3] * 20}), baseline=_frame({"a": [3] * 20})))


def _gate_twice(n_lost, n_kept):
    """Return the gates of one metric, and of two alike, where the candidate lost so many questions and won none."""
    old, new = _frame({"m": [1] * (n_lost + n_kept)}, k=1), _frame({"m": [0] * n_lost + [1] * n_kept}, k=1)
    return hs.gate(new, baseline=old), hs.gate({"x": new, "y": new}, baseline={"x": old, "y": old})


def test_words_say_that_p_is_adjusted_for_several_scores():
    """McNemar's exact test of n lost and none won has p = 2^-n, and Holm doubles it for two scores."""
    alone, both = _gate_twice(6, 54)
    assert alone.verdict == both.verdict == "fail"
    assert "p = 0.016, one-sided; up to 0.05" in str(alone)
    assert str(both).count("p = 0.031, one-sided, adjusted because 2 scores are gated together; up to 0.05") == 2
    alone, both = _gate_twice(5, 55)
    assert (alone.verdict, both.verdict) == ("fail", "inconclusive")
    assert str(both).count("Alone this would be a failure (p = 0.031)") == 2
    assert str(both).count("p = 0.062 is above 0.05") == 2
    alone, both = _gate_twice(4, 56)
    assert (alone.verdict, both.verdict) == ("inconclusive", "inconclusive")
    assert "Alone" not in str(both) + str(alone)


def test_words_on_broken_questions_are_adjusted_for_several_scores():
    """Fisher's p of 5 of 5 and 0 of 5 is 1/252 = .00397, of the one question that changed; Holm doubles it for two."""
    old, new = _frame({"m": RIGHT}), _frame({"m": BROKEN})
    alone = str(hs.gate(new, baseline=old, margin=0.05))
    assert "(exact tests, adjusted for all questions):" in alone
    assert "(adjusted p = 0.004)" in alone
    both = str(hs.gate({"x": new, "y": old}, baseline={"x": old, "y": old}, margin=0.05))
    assert "adjusted for all questions, and because 2 scores are gated together" in both
    assert "(adjusted p = 0.0079)" in both


@pytest.mark.long
def test_a_loss_within_the_margin_is_sure_after_the_adjustment():
    """p = 2^-5 shows a loss of one score; of two, .0625 shows none."""
    old, new = _frame({"m": [1] * 2000}, k=1), _frame({"m": [0] * 5 + [1] * 1995}, k=1)
    assert "surely lower (p = 0.031, one-sided), and within" in str(hs.gate(new, baseline=old))
    assert "surely lower" not in str(hs.gate({"x": new, "y": new}, baseline={"x": old, "y": old}))
    worse = _frame({"m": [0] * 7 + [1] * 1993}, k=1)
    text = str(hs.gate({"x": worse, "y": worse}, baseline={"x": old, "y": old}))
    assert "surely lower (p = 0.016, one-sided, adjusted because 2 scores are gated together)" in text


@pytest.mark.parametrize(("counts", "verdict"), [(RIGHT, "pass"), (BROKEN, "fail")])
def test_a_gate_is_neither_true_nor_false(counts, verdict):
    """An object without a truth of its own would be true, so that `assert hs.gate(...)` passed with each verdict."""
    result = hs.gate(_frame({"old": RIGHT, "new": counts}), a="new", b="old", margin=0.05)
    with pytest.raises(InputError, match=f"this one is {verdict}; compare .verdict with 'pass'"):
        bool(result)


@pytest.mark.parametrize(
    ("unread", "wanted"),
    [((0, 0), "pass"), ((0, 30), "inconclusive"), ((30, 0), "pass"), ((1, 1), "pass")],
)
def test_no_pass_that_unread_answers_decide(unread, wanted):
    # theory: with all unread answers of the baseline right, it is far better than the candidate
    rng = np.random.default_rng(3)
    rates = np.repeat(rng.choice([0.0, 1.0], (1, 400, 1), p=[0.3, 0.7]), 2, axis=0)
    cells = hs.Cells.from_scores("b", ["new", "old"], [f"q{i}" for i in range(400)], rates)
    counts = np.zeros((2, 400), dtype=np.int64)
    for row, n in enumerate(unread):
        counts[row, np.flatnonzero(rates[row, :, 0] == 0)[:n]] = 1
    result = hs.gate(replace(cells, unparsed=counts), a="new", b="old", margin=0.02)
    assert result.verdict == wanted
    bar = hs.gate(replace(cells, unparsed=counts).select(["old"]), at_least=float(rates.mean()) + 0.06)
    assert bar.verdict == ("inconclusive" if unread[1] == 30 else "fail")
