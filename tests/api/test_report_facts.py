"""What the generations of a run folder took, beside the scores. Kind of truth: sums by hand."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import howsure as hs
from howsure.api.report_facts import count_usage
from howsure.cli import cli
from howsure.errors import InputError
from howsure.results.sources import find_sources
from howsure.store.manifest import Manifest, ModelRecord, begin, finish
from howsure.store.responses import RunFolder
from howsure.store.schema import Response

N = 40


@pytest.fixture
def examples_of_logs():
    """The logs of the tutorial, which state their tokens."""
    return Path(__file__).resolve().parents[2] / "examples/logs"


def folder_of(path, prices, right, *, tokens=True, failed=0):
    """A run folder of two generations of one request per question; prompts of 300 and completions of 50 tokens."""
    models = {
        name: ModelRecord(name=name, kind="openai", base_url="http://127.0.0.1:1/v1", price=price)
        for name, price in prices.items()
    }
    with RunFolder(path) as run:
        begin(path, Manifest(benchmarks={"sums": {}}, models=models))
        run.append(
            [
                Response(
                    benchmark="sums",
                    model=name,
                    question=f"q{q}",
                    variant="v",
                    generation=g,
                    attempts=1,
                    score=float(q < right[name]),
                    prompt_tokens=300 if tokens and g == 1 else None,
                    completion_tokens=50.0 if tokens else None,
                )
                for name in prices
                for q in range(N)
                for g in (1, 2)
            ]
        )
        run.append(
            [
                Response(
                    benchmark="sums",
                    model=name,
                    question=f"q{q}",
                    variant="v",
                    generation=3,
                    attempts=2,
                    status="error",
                    error="timeout: 60 s",
                )
                for name in prices
                for q in range(failed)
            ]
        )
    finish(path)
    return path


def text_of(file):
    return re.sub(
        r"\s+", " ", re.sub(r"<[^>]*>", " ", re.sub(r"<script.*?</script>", "", file.read_text(), flags=re.DOTALL))
    )


def test_prices_of_the_experiment_make_dollars(tmp_path):
    """40 x (300 + 2 x 50) tokens: 12,000 of prompts at $2 and 4,000 of completions at $10 a million are $0.064."""
    prices = {"a": {"prompt": 2.0, "completion": 10.0}, "b": {"prompt": 20.0, "completion": 100.0}}
    folder = folder_of(tmp_path / "run", prices, {"a": 30, "b": 10}, failed=4)
    used = count_usage(find_sources(folder))["sums"]
    assert (used["a"].n_generations, used["a"].calls, used["a"].tokens) == (80, 80, 16_000)
    assert used["a"].cost == pytest.approx(0.064)
    assert used["b"].cost == pytest.approx(0.64)
    table = hs.cost_scores(folder)
    assert table["unit"].tolist() == ["cost", "cost"]
    assert table["cost_per_generation"] == pytest.approx([0.0008, 0.008])
    assert table["better_for_less"].tolist() == ["", "a"]


def test_a_plan_takes_tokens_and_prices_of_each_model_from_the_run(tmp_path):
    """By hand: a request of 300 tokens and two completions of 50 costs a 300 x $2 + 100 x $10, a million, b ten times."""
    prices = {"a": {"prompt": 2.0, "completion": 10.0}, "b": {"prompt": 20.0, "completion": 100.0}}
    folder = folder_of(tmp_path / "run", prices, {"a": 30, "b": 10}, failed=4)
    pair = {"detect": 0.5, "a": "a", "b": "b"}
    both = hs.plan(folder, **pair, unit="cost").parts[0]
    requests = both.n_questions * np.ceil(both.n_generations / 2)
    each = (requests * 300 * 2 + both.n_questions * both.n_generations * 50 * 10) / 1e6
    assert both.cost == pytest.approx(11 * each)
    assert both.tokens == pytest.approx(2 * (requests * 300 + both.n_questions * both.n_generations * 50))
    assert both.calls == pytest.approx(2 * requests)
    [single] = hs.plan(folder, width=0.5, a="b", unit="cost").parts
    assert single.cost == pytest.approx(
        (
            single.n_questions * np.ceil(single.n_generations / 2) * 6000
            + single.n_questions * single.n_generations * 5000
        )
        / 1e6
    )
    # what is given stands, whatever the run states
    own = hs.plan(folder, **pair, unit="cost", cost=hs.Cost(input_price=0, output_price=4)).parts[0]
    assert own.cost == pytest.approx(2 * own.n_questions * own.n_generations * 50 * 4 / 1e6)
    single = hs.Cost(generations_per_request=1)  # the run had two completions of a request
    alone = hs.plan(folder, **pair, unit="cost", cost=single).parts[0]
    assert alone.cost == pytest.approx(11 * alone.n_questions * alone.n_generations * (300 * 2 + 50 * 10) / 1e6)
    calls = hs.plan(folder, **pair).parts[0]
    assert np.isnan(calls.cost).all()
    assert calls.calls == pytest.approx(2 * calls.n_questions * calls.n_generations)
    steps = hs.plan(folder, budget=1.0, a="a", b="b", unit="cost").parts[0]
    assert steps.cost == pytest.approx(
        11 * steps.n_questions * (np.ceil(steps.n_generations / 2) * 600 + steps.n_generations * 500) / 1e6
    )


def test_a_plan_without_prices_or_tokens_of_a_model_says_that_its_cost_is_unknown(tmp_path):
    prices = {"a": {"prompt": 2.0, "completion": 10.0}, "b": None}
    one = folder_of(tmp_path / "one", prices, {"a": 30, "b": 10})
    bare = folder_of(tmp_path / "bare", prices, {"a": 30, "b": 10}, tokens=False)
    every = "--cost prompt_tokens=N,completion_tokens=N,input_price=N,output_price=N"
    for folder, options in ((one, "--cost input_price=N,output_price=N"), (bare, every)):
        with pytest.raises(InputError, match=f"the cost of a generation is unknown; give {options} .in Python"):
            hs.plan(folder, detect=0.5, unit="cost")
    assert hs.plan(one, detect=0.5, unit="tokens").parts[0].tokens[0] > 0
    assert hs.plan(one, detect=0.5, a="a", unit="cost").parts[0].cost[0] > 0


def test_a_plan_in_money_keeps_the_cost_in_a_narrow_table(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    prices = {"a": {"prompt": 2.0, "completion": 10.0}, "b": {"prompt": 20.0, "completion": 100.0}}
    folder = folder_of(tmp_path / "run", prices, {"a": 30, "b": 10})
    result = CliRunner().invoke(cli, ["plan", str(folder), "--detect", "0.5", "--unit", "cost"])
    assert result.exit_code == 0, result.output
    header = next(line.split() for line in result.output.splitlines() if "n_generations" in line)
    assert {"n_generations", "cost"} <= set(header)


def test_without_a_price_of_every_model_the_unit_is_tokens_and_without_tokens_calls(tmp_path):
    one = {"a": {"prompt": 2.0, "completion": 10.0}, "b": None}
    assert hs.cost_scores(folder_of(tmp_path / "one", one, {"a": 9, "b": 9}))["unit"].tolist() == ["tokens"] * 2
    bare = folder_of(tmp_path / "bare", one, {"a": 9, "b": 9}, tokens=False)
    assert hs.cost_scores(bare)["cost_per_generation"].tolist() == [1.0, 1.0]
    hs.report(bare, tmp_path / "bare.html", static_figures=False)
    assert "scores against costs (tokens are not recorded for every model" in text_of(tmp_path / "bare.html")


def test_the_page_names_who_is_better_for_less_only_where_scores_are_distinguishable(tmp_path):
    prices = {"a": {"prompt": 2.0, "completion": 10.0}, "b": {"prompt": 20.0, "completion": 100.0}}
    hs.report(folder_of(tmp_path / "far", prices, {"a": 30, "b": 10}), tmp_path / "far.html", static_figures=False)
    page = text_of(tmp_path / "far.html")
    assert "A generation cost from $0.0008 (a) to $0.008 (b) on average" in page
    assert "For 1 of 2 models another costs no more and scores clearly higher" in page
    assert ": b (a)." in page
    # the dearer one is better, or the cheaper one by one question of 40: no one is better for less
    for name, right in (("dear", {"a": 10, "b": 30}), ("near", {"a": 31, "b": 30})):
        hs.report(folder_of(tmp_path / name, prices, right), tmp_path / f"{name}.html", static_figures=False)
        page = text_of(tmp_path / f"{name}.html")
        assert "No model is clearly better than one that costs as much or more" in page
        assert "another costs no more" not in page


def test_the_figure_has_the_numbers_of_the_table(tmp_path):
    prices = {"a": {"prompt": 2.0, "completion": 10.0}, "b": {"prompt": 20.0, "completion": 100.0}}
    result = hs.cost_scores(folder_of(tmp_path / "run", prices, {"a": 30, "b": 10}))
    spec = hs.figures.costs(result).to_dict()
    drawn = next(rows[0] for rows in spec["datasets"].values() if "kind" in rows[0])
    assert drawn["cost"] == pytest.approx([0.8, 8.0])
    assert drawn["score"] == pytest.approx([0.75, 0.25])
    assert drawn["kind"] == ["no model is better for less", "another is better for less"]
    with pytest.raises(InputError):
        hs.figures.costs(result, ["c"])


def test_tables_have_no_costs(tmp_path):
    (tmp_path / "t.csv").write_text("model,question,score\nm,q1,1\n")
    with pytest.raises(InputError, match="no costs are recorded"):
        hs.cost_scores(tmp_path / "t.csv")


def test_logs_that_record_tokens_have_costs(examples_of_logs, tmp_path):
    """The tokens that each log states as its total in `stats`, over its 240 samples."""
    table = hs.cost_scores(examples_of_logs)
    for path in examples_of_logs.glob("*.json"):
        ((model, usage),) = json.loads(path.read_text())["stats"]["model_usage"].items()
        row = table["model"].tolist().index(model)
        assert table["cost_per_generation"][row] == pytest.approx(usage["total_tokens"] / 240)
    hs.report(examples_of_logs, tmp_path / "r.html", static_figures=False)
    page = text_of(tmp_path / "r.html")
    assert "A generation cost from 115 tokens (lab/assistant-1) to 265 tokens (lab/assistant-2) on average" in page
    assert "10,416 of prompts, 80,722 of completions" in page


def test_logs_without_the_tokens_of_each_completion_have_no_costs(examples_of_logs, tmp_path):
    """One sample of one log has no usage: that model has no cost, and calls are not counted in place of tokens."""
    paths = sorted(examples_of_logs.glob("*.json"))
    for n, path in enumerate(paths):
        log = json.loads(path.read_text())
        if n == 0:
            del log["samples"][7]["model_usage"]
        (tmp_path / path.name).write_text(json.dumps(log))
    table = hs.cost_scores(tmp_path)
    assert np.isnan(table["cost_per_generation"]).tolist() == [True, False]
    with pytest.raises(InputError, match="no costs are recorded"):
        hs.cost_scores(tmp_path / paths[0].name)


def test_a_completion_whose_judge_failed_does_not_hide_the_tokens_of_the_others(tmp_path):
    """By hand: 9 scored completions of 100 tokens and one without a verdict, which were 1,000 tokens for 10 completions."""
    with RunFolder(tmp_path / "run") as run:
        begin(tmp_path / "run", Manifest(benchmarks={"b": {}}, models={"m": ModelRecord(name="m", kind="openai")}))
        run.append(
            [
                Response(
                    benchmark="b",
                    model="m",
                    question=f"q{q}",
                    variant="v",
                    generation=1,
                    prompt_tokens=60,
                    completion_tokens=40.0,
                    **({"score": 1.0} if q else {"status": "error", "error": "scoring: no verdict"}),
                )
                for q in range(10)
            ]
        )
    finish(tmp_path / "run")
    used = count_usage(find_sources(tmp_path / "run"))["b"]["m"]
    assert (used.n_generations, used.tokens) == (10, 1000)
    assert used.per_generation("tokens") == 100


def test_models_of_equal_cost_stay_equal_where_a_scorer_failed_and_the_better_one_is_named(tmp_path):
    """By hand: each of 160 completions has 60 tokens, and one of model b has no score."""
    right = {"a": 36, "b": 8}
    with RunFolder(tmp_path / "run") as run:
        models = {name: ModelRecord(name=name, kind="openai") for name in right}
        begin(tmp_path / "run", Manifest(benchmarks={"sums": {}}, models=models))
        run.append(
            [
                Response(
                    benchmark="sums",
                    model=name,
                    question=f"q{q}",
                    variant="v",
                    generation=g,
                    prompt_tokens=40,
                    completion_tokens=20.0,
                    **(
                        {"status": "error", "error": "scoring: no verdict"}
                        if (name, q, g) == ("b", 3, 1)
                        else {"score": float(q < right[name])}
                    ),
                )
                for name in right
                for q in range(N)
                for g in (1, 2)
            ]
        )
    finish(tmp_path / "run")
    table = hs.cost_scores(tmp_path / "run")
    assert table["cost_per_generation"].tolist() == [60, 60]
    assert table["better_for_less"].tolist() == ["", "a"]
    hs.report(tmp_path / "run", tmp_path / "r.html", static_figures=False)
    page = text_of(tmp_path / "r.html")
    assert "A generation of each model cost 60 tokens" in page
    assert "No model is clearly better than one that costs as much or more" not in page


def test_models_whose_use_is_not_recorded_have_a_note():
    """By hand: b is absent from the use, so that it has no cost, and is no rival of a."""
    from howsure.stats.planning import ModelUsage, compare_costs

    cells = hs.Cells.from_scores("demo", ["a", "b"], [f"q{i}" for i in range(20)], [[[0]] * 20, [[1]] * 20])
    result = compare_costs(cells, {"a": ModelUsage(20, 20, tokens=900)})
    assert np.isnan(result.cost).tolist() == [False, True]
    assert result.better_for_less == ((), ())
    assert result.columns()["note"].tolist() == ["", "the use of this model is not recorded"]
