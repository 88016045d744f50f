"""The command `variants`, and plans with prompt variants: on small tables by hand, and on published ones."""

import csv
import json
import math
import re
import statistics
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from helpers.parsed_page import Page
from oracles import variants as oracle
from scipy.stats import f as f_distribution

import howsure as hs
from howsure.api.choices import PROMPT_VIEWS
from howsure.errors import HowsureWarning, InputError

SHARED = Path(__file__).resolve().parents[2] / "../shared/data"
COMPONENTS = ["var_question", "var_variant", "var_interaction", "var_generation"]
PROMISED = ["benchmark", "model", "n_variants", "mean", "variance", "n_star", "n_star_space", *COMPONENTS]


@pytest.fixture
def rows(howsure):
    def call(*arguments):
        code, out, err = howsure(*arguments, "--format", "json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


TONES = ("kind", "cold", "kind", "cold", "kind", "cold", "cold", "kind")
SHOTS = ("0", "0", "4", "4", "4", "0", "4", "0")


def scores_of(model, seed=1):
    """y[q][s]: two generations of 30 questions under 8 variants; a cold tone hurts."""
    rng = np.random.default_rng([seed, len(model)])
    ease = rng.normal(0.2, 1, 30)
    harm = np.array([0.8 if tone == "cold" else 0.0 for tone in TONES]) + rng.normal(0, 0.1, 8)
    p = 1 / (1 + np.exp(-(ease[:, None] - harm * (len(model) - 2))))
    return [[(rng.random(2) < p[q, s]).astype(int).tolist() for s in range(8)] for q in range(30)]


Y = {model: scores_of(model) for model in ("big", "tiny")}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "demo.csv"
    lines = [
        f"{model},q{q:02},v{s},{g + 1},{score},{TONES[s]},{SHOTS[s]}"
        for model, y in Y.items()
        for q in range(30)
        for s in range(8)
        for g, score in enumerate(y[q][s])
    ]
    path.write_text("\n".join(["model,question,variant,generation,score,tone,shots", *lines]) + "\n")
    return path


@pytest.fixture
def wide(tmp_path):
    path = tmp_path / "scores.csv"
    cells = ["1,.50,.10,.30", "2,.51,.20,.30", "3,.50,.30,.30", "4,.51,.40,.30", "5,.50,.50,.30", "6,.51,.60,.30"]
    path.write_text("\n".join(["idx,calm,wild,same", *cells]) + "\n")
    return path


def variant_means(y):
    return [statistics.mean(statistics.mean(y[q][s]) for q in range(30)) for s in range(8)]


def test_the_table_against_the_oracles(rows, table):
    """A slow version: mean squares and moments by their definitions."""
    for row in rows("variants", table):
        y = Y[row["model"]]
        expected = oracle.balanced_crossed(y)
        assert [name for name in row if name in PROMISED] == PROMISED
        assert (row["benchmark"], row["n_variants"], row["level"]) == ("demo", 8, 0.95)
        assert row["mean"] == pytest.approx(expected["mean"])
        assert row["low"] < row["mean"] < row["high"]
        assert row["variance"] == pytest.approx(statistics.pvariance(variant_means(y)))
        for name in ("question", "variant", "interaction", "generation"):
            assert row[f"var_{name}"] == pytest.approx(expected[name])
        stars = oracle.n_star(variant_means(y), 0.01, 0.1)
        assert row["n_star"] == (None if max(stars) == 8 else max(stars))


def test_what_is_not_reached_is_said_in_words(howsure, rows, wide):
    """By hand: a mean of .505 ± .005 needs one variant, its variance two; .1 to .6 in steps of .1 all six."""
    code, out, err = howsure("variants", wide, "--shape", "variants", "--format", "wide")
    assert (code, err) == (0, "")
    shown = {line.split()[0]: line for line in out.splitlines() if line[:4] in {"wild", "calm", "same"}}
    assert set(shown) == {"calm", "same", "wild"}
    words = " ".join(out.split())
    assert "no smaller number of these variants is enough" in words
    assert "what is the prompt's and what is the questions' cannot be separated" in words
    calm, same, wild = rows("variants", wide, "--shape", "variants")
    assert (calm["model"], calm["n_star"], same["n_star"], wild["n_star"]) == ("calm", 2, 2, None)
    assert "no smaller number of these variants" in wild["note"]
    assert calm["var_variant"] is None
    _, text, _ = howsure("variants", wide, "--shape", "variants", "--format", "csv")
    assert [line["n_star"] for line in csv.DictReader(text.splitlines())] == ["2.0", "2.0", ""]
    of_one = hs.read(wide, shape="variants").cubes()[0].select(["calm"])
    assert hs.variants(of_one).to_frame("polars")["n_star"].to_list() == [2]


def test_epsilon_delta_and_level_are_used(rows, wide):
    wild = rows("variants", wide, "--shape", "variants", "--epsilon", "0.15", "--delta", "0.4")[-1]
    assert wild["n_star"] == max(oracle.n_star([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 0.15, 0.4))
    assert rows("variants", wide, "--shape", "variants", "--level", "0.5")[-1]["low"] > wild["low"]


def test_shares_of_dimensions(rows, table):
    """A slow version: F tests by comparison of fits, with the error of single questions from all pairs of variants."""
    shown = rows("variants", table, "--show", "dimensions", "--dimension", "tone", "--dimension", "shots")
    found = [row for row in shown if row["table"] == "shares"]
    assert [(row["model"], row["dimension"]) for row in found] == [
        (model, dimension) for model in ("big", "tiny") for dimension in ("tone", "shots")
    ]
    for row in found:
        y, values = Y[row["model"]], {"tone": TONES, "shots": SHOTS}
        test = oracle.dimension_test(variant_means(y), values, row["dimension"], alone=False)
        cells = np.mean(y, axis=2)
        residuals = cells - cells.mean(axis=0) - cells.mean(axis=1, keepdims=True) + cells.mean()
        extra = max(oracle.question_variance(residuals.tolist(), values[row["dimension"]]), 0) / 30
        # variance = (F - 1) df W / weight without the error of the questions
        mean_square = test["variance"] * test["weight"] / test["df"] / (test["statistic"] - 1)
        error = mean_square + extra * test["weight"] / test["df"]
        assert row["low"] <= (0 if row["share"] is None else row["share"]) <= row["high"]
        statistic = test["statistic"] * mean_square / error
        # the degrees of freedom of a sum of mean squares (Satterthwaite): here about the 5 of the variants
        below, above = (f_distribution.sf(statistic, 1, df) for df in (1e9, test["df_residual"] - 1))
        assert below - 1e-9 <= row["p_value"] <= above + 1e-9
        assert (row["share"] is None) == (row["p_holm"] >= 0.05 and row["high"] > 0.5)
    sure = {(row["model"], row["dimension"]) for row in found if row["p_holm"] < 0.05}
    assert sure == {("big", "tone"), ("tiny", "tone")}
    assert {row["value"] for row in found if row["dimension"] == "tone"} <= {"kind", "cold"}


def test_effects_of_dimensions(rows, table):
    """A slow version: least squares on dummies."""
    shown = rows("variants", table, "--show", "dimensions", "--dimension", "tone", "--dimension", "shots")
    found = [row for row in shown if row["table"] == "effects"]
    for model, y in Y.items():
        expected = oracle.effects(variant_means(y), {"tone": TONES, "shots": SHOTS})
        mine = {(row["dimension"], row["value"]): row["effect"] for row in found if row["model"] == model}
        assert mine == pytest.approx(expected)


def test_swaps_of_two_models(rows, table):
    shown = rows("variants", table, "--show", "order")
    [pair] = [row for row in shown if row["table"] == "rank_flips"]
    means = {model: variant_means(y) for model, y in Y.items()}
    assert (pair["model_a"], pair["model_b"]) == ("big", "tiny")
    assert pair["difference"] == pytest.approx(statistics.mean(means["big"]) - statistics.mean(means["tiny"]))
    assert pair["swapped"] == oracle.swapped(means["big"], means["tiny"])
    expected = oracle.crossed_difference(Y["big"], Y["tiny"])
    for name in ("question", "variant", "interaction", "generation"):
        assert pair[f"var_{name}"] == pytest.approx(expected[name])


VIEWS = {
    "prompts": (["moments", "components", "scores"], "unparsed"),
    "dimensions": (["shares", "effects"], None),
    "order": (["rank_flips", "concordance"], "consistency"),
    "reference": (["n_star", "proxies", "quantiles"], None),
}


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_has_its_tables_and_says_what_is_missing(howsure, rows, table, view):
    """The answers of a table of scores are not kept; csv and json hold the tables below each other."""
    command = ("variants", table, "--show", view, "--dimension", "tone", "--dimension", "shots")
    names, missing = VIEWS[view]
    found = rows(*command)
    assert list(dict.fromkeys(row["table"] for row in found)) == names
    assert {row["benchmark"] for row in found} == {"demo"}
    for name, part in hs.variants(hs.read(table, dimensions=["tone", "shots"]), show=view).tables.items():
        joined = [row for row in found if row["table"] == name]
        for column, values in part.to_columns().items():
            for row, value in zip(joined, values.tolist(), strict=True):
                assert row[column] == (None if isinstance(value, float) and math.isnan(value) else value)
    _, out, _ = howsure(*command)
    for name in names:
        assert f"\n{name}\n" in f"\n{out}"
    assert missing is None or f"no {missing}: demo: answers are not kept" in out
    numbers = [line for line in out.splitlines() if line.startswith(("model", "big", "tiny"))]
    assert max(map(len, numbers)) <= 120
    assert "-0.0000" not in out
    for form, heading in {"markdown": "**{}**\n\n|", "latex": "% {}\n\\begin"}.items():
        code, out, _ = howsure(*command, "--format", form)
        assert (code, [name for name in names if heading.format(name) not in out]) == (0, [])


def test_a_proxy_with_variants_that_the_other_model_lacks_is_checked_in_common_ones_only(rows, tmp_path):
    """As in a run with `reference`: nothing is said of the variants that the other model was not asked in."""
    scores = [f"v{i},{0.5 + 0.001 * (i % 3)},{'' if i > 5 else 0.6 + 0.001 * (i % 2)}" for i in range(12)]
    path = tmp_path / "part.csv"
    path.write_text("\n".join(["prompt,cheap,other", *scores]))
    shown = rows("variants", str(path), "--shape", "variants", "--show", "reference")
    cheap, other = [row for row in shown if row["table"] == "proxies"]
    assert (cheap["proxy"], cheap["n_variants"]) == ("cheap", 6)
    assert "n_star_proxy is of the variants that both models have" in cheap["note"]
    assert "both models have" not in other["note"]


def test_a_proxy_is_checked(rows, wide):
    """By hand: of the wild model two variants are seldom within .01 of .35 (.3 and .4, .2 and .5, .1 and .6: 3 of 15)."""
    shown = rows("variants", wide, "--shape", "variants", "--show", "reference")
    checks = {(row["proxy"], row["model"]): row for row in shown if row["table"] == "proxies"}
    assert len(checks) == 6
    same, wild = checks["calm", "same"], checks["calm", "wild"]
    assert (same["n_star_proxy"], same["bounded"], same["chance"]) == (2, "yes", 0)
    assert (wild["bounded"], wild["chance"], wild["n_star"]) == ("no", pytest.approx(12 / 15), None)
    calm = checks["wild", "calm"]
    assert (calm["bounded"], calm["chance"], calm["n_star_proxy"]) == ("unknown", None, None)
    assert "it bounds nothing" in calm["note"]


WRONG = {
    "one variant": (["ONE"], "one: only one prompt variant; sample several, or say which column"),
    "one model to swap": (["SINGLE", "--show", "order"], "single: only one model; give the results of at least two"),
    "nothing known of variants": (["TABLE", "--show", "dimensions"], "demo: nothing is known of what the variants are made of"),
    "a value for each variant": (["TABLE", "--show", "dimensions", "--dimension", "VARIANT2"], "no dimension has an effect that can be estimated"),
    "an epsilon of 0": (["TABLE", "--epsilon", "0"], "epsilon is 0.0; allowed: above 0"),
    "a delta of 1": (["TABLE", "--delta", "1"], "delta is 1.0; allowed: between 0 and 1"),
    "a plan of no variants": (["plan", "TABLE", "--a", "big", "--width", ".1", "--max-variants", "0"], "max_variants is 0; allowed: 1, 2, 3"),
    "a plan of no questions": (["plan", "TABLE", "--a", "big", "--width", ".1", "--questions", "0"], "available is 0; allowed: 1, 2, 3"),
    "a level of 95": (["TABLE", "--level", "95"], "level is 95; did you mean 0.95?"),
    "variants from one": (["plan", "ONE", "--detect", ".1", "--max-variants", "4"], "cannot be estimated from one prompt variant"),
    "variants from an accuracy": (["plan", "--accuracy", ".5", "--detect", ".1", "--max-variants", "4"], "does not follow from an accuracy"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_is_one_line_and_exit_code_2(howsure, table, tmp_path, case):
    arguments, message = WRONG[case]
    one, single = tmp_path / "one.csv", tmp_path / "single.csv"
    one.write_text("model,question,variant,score\nm,q1,a,1\nm,q2,a,0\nm,q3,a,1\n")
    single.write_text("model,question,variant,score\nm,q1,a,1\nm,q2,a,0\nm,q1,b,0\nm,q2,b,0\n")
    table.write_text("\n".join(f"{line},{line.split(',')[2]}x" for line in table.read_text().splitlines()) + "\n")
    table.write_text(table.read_text().replace("variantx", "variant2"))
    places = {"TABLE": table, "ONE": one, "SINGLE": single, "VARIANT2": "variant2"}
    command = [] if arguments[0] == "plan" else ["variants"]
    code, out, err = howsure(*command, *(places.get(a, a) for a in arguments))
    assert (code, out) == (2, "")
    [line] = [line for line in err.splitlines() if "are named by their paths" not in line]
    assert line.startswith("howsure: ")
    assert message in line


def test_a_benchmark_of_one_variant_is_left_out_and_told(howsure, table, tmp_path):
    one = tmp_path / "one.csv"
    one.write_text("model,question,variant,score\nm,q1,a,1\nm,q2,a,0\n")
    code, out, err = howsure("variants", table, one)
    assert code == 0
    assert "one: only one prompt variant: left out" in err
    assert "on one:" not in out


def test_effects_leave_the_default_prompt_out():
    scores = np.array([[0.9, 0.5, 0.6, 0.5, 0.6]])
    values = {"tone": ("", "kind", "cold", "kind", "cold")}
    cube = hs.Cube(
        "b", ("m",), ("all",), tuple("dabce"), np.ones((1, 1, 5), int), scores[None], scores[None] ** 2, values
    )
    found = hs.variants(cube, show="dimensions").tables["effects"].columns()
    assert found["effect"].tolist() == pytest.approx([0.05, -0.05])
    assert found["value"].tolist() == ["cold", "kind"]


def test_nested_variants_have_components_but_no_effect():
    y = [[[1, 0], [1, 1]], [[0, 0], [0, 1]], [[1, 1], [1, 1]]]
    cube = hs.Cube.from_scores("b", ["m", "n"], ["1", "2", "3"], ["1", "2"], [y, y[::-1]], nested=True)
    row = {name: values[0] for name, values in hs.variants(cube).columns().items()}
    assert row["var_question"] == pytest.approx(oracle.nested(y)["question"])
    assert row["var_variant"] == pytest.approx(oracle.nested(y)["variant"])
    assert np.isnan(row["n_star"])
    with pytest.raises(InputError, match="b: each question has variants of its own: they have no effect"):
        hs.variants(cube, show="dimensions")
    assert "no variant orders models" in hs.variants(cube, show="order").left_out["rank_flips"]


def test_a_plan_with_variants(rows, howsure, table):
    """Theory: the squared error of each row is vQ/N + vS/S + vQS/(NS) + ve/(NSK) of the oracle's components."""
    asked = ("plan", table, "--budget", "2000", "--a", "big", "--questions", "500")
    found = rows(*asked, "--assurance", "0.5")
    c = oracle.balanced_crossed(Y["big"])
    for row in found:
        N, S, K = row["n_questions"], row["n_variants"], row["n_generations"]
        parts = c["question"] / N, c["variant"] / S, max(c["interaction"], 0) / (N * S), c["generation"] / (N * S * K)
        assert row["se"] ** 2 == pytest.approx(sum(parts))
        assert row["calls"] == N * S * K <= 2000
    assert max(row["n_variants"] for row in found) == 8  # those of the pilot
    assert found[0]["se"] == min(row["se"] for row in found)
    more = rows(*asked, "--max-variants", "40", "--assurance", "0.5")
    assert more[0]["n_variants"] > 8
    assert more[0]["se"] < found[0]["se"]
    assured, plain, *_ = rows(*asked)
    promised = {"note": "", "se_assured": 0, "detectable": 0}  # the upper limit, and what it makes detectable
    assert {**plain, **promised} == {**found[0], **promised}
    assert (found[0]["se_assured"], found[0]["se"]) == (plain["se"], plain["se"])
    assert plain["note"].startswith("plain plan: the smallest error for 2000 calls if the noise were exactly as estim")
    assert plain["se"] < assured["se_assured"]
    assert assured["note"].startswith("the smallest error for 2000 calls, with the upper 80 % limit of its variance")
    assert assured["se_low"] < assured["se"] < assured["se_assured"] < assured["se_high"]
    single = rows("plan", table, "--budget", "2000", "--max-variants", "1")
    assert {row["n_variants"] for row in single} == {1}
    code, out, err = howsure("plan", table, "--budget", "2000")
    assert (code, err) == (0, "")
    assert "n_variants" in out


@pytest.mark.long
def test_a_pilot_of_one_variant_is_planned_as_ever(rows, table, tmp_path):
    """Theory: pooled over generations alone, a cube of one variant is its cells."""
    one = tmp_path / "one.csv"
    header, *lines = table.read_text().splitlines()
    one.write_text("\n".join([header, *(line for line in lines if ",v3," in line)]) + "\n")
    [cells], [cube] = hs.read(one), hs.read(one).cubes()
    assert str(hs.plan(cells, budget=900)) == str(hs.plan(cube, budget=900))
    assert rows("plan", one, "--budget", "900")[0]["n_variants"] == 1


def test_a_pilot_that_was_read_twice_is_told_once(howsure, tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"m,q{q},{v},{(q + i) % 3 % 2}" for q in range(40) for v in "ab" for i in range(2)]
    path.write_text("\n".join(["model,question,variant,score", *lines]) + "\n")
    code, _, err = howsure("plan", path, "--budget", "900")
    assert code == 0
    assert err.count("40 cells have several rows that no column tells apart") == 1
    mixed = tmp_path / "prompts.csv"  # a prompt of its own for each question is no variant
    mixed.write_text(
        "model,question,prompt,generation,score\n"
        + "".join(f"m,q{q},p{q},{g},{(q + g) % 2}\n" for q in range(40) for g in range(2))
    )
    assert howsure("plan", mixed, "--budget", "900")[0] == 0


# Published scores, one per paraphrase and model.


def paraphrases(task):
    path = SHARED / "prompt_paraphrases" / task
    if not path.exists():
        pytest.skip("the published scores of ../shared/data/prompt_paraphrases are not here")
    return path


TASKS = {  # variants, models; model: mean, sd over variants, as Python's statistics has them
    "BBH/causal_judgement.csv": (187, 11),
    "BBH/geometric_shapes.csv": (178, 11),
    "BBH/navigate.csv": (170, 11),
    "BBH/snarks.csv": (162, 11),
    "LMentry/first_alphabetically.csv": (234, 16),
    "LMentry/homophones.csv": (265, 16),
    "LMentry/rhyming_word.csv": (245, 16),
}


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize(
    "task", [next(iter(TASKS)), *(pytest.param(name, marks=pytest.mark.long) for name in [*TASKS][1:])]
)
def test_paraphrases_against_plain_statistics(rows, task, tmp_path):
    """A slow version: moments of all variants; n* of the first seven, by all subsets, of the mean of the first forty, by
    counting subsets; swaps of one pair.
    """
    path = paraphrases(task)
    with path.open() as file:
        table = list(csv.DictReader(file))
    models = {
        name.removesuffix("_acc"): [float(line[name]) for line in table]
        for name in table[0]
        if name != "paraphrase idx"
    }
    assert (len(table), len(models)) == TASKS[task]
    found = rows("variants", path, "--shape", "variants", "--show", "prompts")
    assert {
        row["model"]: (row["mean"], row["variance"], row["min"], row["max"])
        for row in found
        if row["table"] == "moments"
    } == {
        model: pytest.approx((statistics.mean(x), statistics.pvariance(x), min(x), max(x)))
        for model, x in models.items()
    }
    few = tmp_path / "few.csv"
    few.write_text("\n".join(path.read_text().splitlines()[:8]) + "\n")
    for row in rows("variants", few, "--shape", "variants"):
        [star] = {max(oracle.n_star(models[row["model"]][:7], 0.01, 0.1))}
        assert row["n_star"] == (None if star == 7 else star), row["model"]
    few.write_text("\n".join(path.read_text().splitlines()[:41]) + "\n")
    shown = rows("variants", few, "--shape", "variants", "--show", "reference")
    for row in [row for row in shown if row["table"] == "n_star"][::2]:
        star = oracle.n_star_of_counts([round(100 * score) for score in models[row["model"]][:40]], 1, 0.1)
        assert row["n_star"] == (None if star == 40 else star), row["model"]
    shown = rows("variants", path, "--shape", "variants", "--show", "order")
    [pair] = [row for row in shown if (row["model_a"], row["model_b"]) == ("flan-t5-xl", "vicuna-13b")]
    off = np.round(np.subtract(models["flan-t5-xl"], models["vicuna-13b"]), 6)
    against = off * np.sign(off.mean()) < 0
    # a tie counts half; to the last digit of a fit it may be none
    assert against.mean() <= pair["swapped"] <= np.mean(against | (off == 0))
    assert pair["swapped"] == pytest.approx(oracle.swapped(*map(models.get, ("flan-t5-xl", "vicuna-13b"))), abs=0.02)


@pytest.mark.long
@pytest.mark.shared
def test_n_star_of_published_scores(rows):
    """A guarantee by seeded simulation: 20,000 orders of 170 variants, cut where the deviation of the mean is allowed."""
    path = paraphrases("BBH/navigate.csv")
    found = {row["model"]: row for row in rows("variants", path, "--shape", "variants")}
    assert {model: row["n_star"] for model, row in found.items()} == NAVIGATE
    x = np.array([float(line["t0pp_acc"]) for line in csv.DictReader(path.read_text().splitlines())])
    orders = np.random.default_rng(5).permuted(np.tile(x, (20_000, 1)), axis=1)
    for n, within in ((found["t0pp"]["n_star"] + 1, True), (found["t0pp"]["n_star"] - 2, False)):
        far = np.abs(orders[:, :n].mean(axis=1) - x.mean()) > 0.01 + 1e-12
        assert (far.mean() <= 0.05) == within
    # z^2 var / epsilon^2 with z = 1.96 (docs/methods/prompt_variants.md)
    assert found["t0pp"]["n_star_space"] == np.ceil(1.959964**2 * x.var(ddof=1) / 0.01**2)


NAVIGATE = {
    "airoboros-13b": 150,
    "alpaca-13b": 108,
    "falcon-7b-instruct": 96,
    "flan-t5-xl": 127,
    "flan-t5-xxl": 130,
    "minotaur-15b": 27,
    "mpt-7b-instruct": 136,
    "nous-hermes-13b": 64,
    "t0pp": 75,
    "ultralm-13b": 4,
    "vicuna-13b": 111,
}


@pytest.mark.shared
def test_published_formats_through_the_components(tmp_path):
    """A slow version: templates crossed with sets of demonstrations, and most cells missing, of each model and task."""
    path = SHARED / "prompt_formats" / "non_ensemble_runs.csv"
    if not path.exists():
        pytest.skip("the published scores of ../shared/data/prompt_formats are not here")
    import polars as pl

    runs = pl.read_csv(path).filter(
        (pl.col("prediction_method") == "direct_False")
        & (pl.col("selection_method") == "random")
        & (pl.col("n_shots") > 0)
    )
    each = runs.with_columns(pl.col("scores").str.json_decode(pl.List(pl.Float64)), place=pl.int_ranges(0, 10))
    tidy = each.explode("scores", "place").select(
        benchmark="dataset",
        model="model",
        question=pl.format("seed {}, {} shots", "seed", "n_shots"),
        variant=pl.format("{}/{}", "template_seed", "place"),
        score="scores",
    )
    tidy.write_parquet(tmp_path / "formats.parquet")
    cubes = hs.read(tmp_path / "formats.parquet").cubes()
    assert [(cube.benchmark, cube.n.shape) for cube in cubes] == [
        (name, (20, 6, 30)) for name in ("agnews", "dbpedia", "sst2", "trec")
    ]
    assert all(np.all(cube.n.sum(axis=(1, 2)) == 100) for cube in cubes)
    rows = hs.variants(cubes).to_frame("polars")
    for benchmark, model in (("agnews", "llama-7b"), ("sst2", "bloom-1.7b"), ("trec", "opt-66b")):
        mine = tidy.filter((pl.col("benchmark") == benchmark) & (pl.col("model") == model))
        known = {(q, v): score for _, _, q, v, score in mine.iter_rows()}
        questions, variants = (sorted({key[i] for key in known}) for i in (0, 1))
        y = [[[known[q, v]] if (q, v) in known else [] for v in variants] for q in questions]
        expected, fitted = oracle.crossed(y), oracle.fitted_scores(y)
        [row] = rows.filter((pl.col("benchmark") == benchmark) & (pl.col("model") == model)).to_dicts()
        assert row["var_question"] == pytest.approx(expected["question"], abs=1e-12)
        assert row["var_variant"] == pytest.approx(expected["variant"], abs=1e-12)
        assert (row["mean"], row["variance"]) == pytest.approx((statistics.mean(fitted), statistics.pvariance(fitted)))
        n_missing = sum(not cell for cells in y for cell in cells)
        assert f"{n_missing} of 180 cells are missing and are filled" in row["note"]


def test_the_command_shows_what_python_shows(howsure):
    _, out, _ = howsure("variants", "--help")
    assert f"[{'|'.join(PROMPT_VIEWS)}]" in out
    cube = hs.Cube.from_means("b", ["m"], ["v", "w"], np.array([[0.5, 0.25]]))
    with pytest.raises(InputError, match="unknown show 'orders'; did you mean 'order'?"):
        hs.variants(cube, show="orders")


def test_warnings_of_python_users_name_what_is_left_out():
    one = hs.Cube.from_scores("one", ["m"], ["q"], ["v"], [[[[1]]]])
    two = hs.Cube.from_means("two", ["m"], ["a", "b"], np.array([[0.5, 0.25]]))
    with pytest.warns(HowsureWarning, match="one: only one prompt variant: left out"):
        assert hs.variants([one, two]).columns()["benchmark"].tolist() == ["two"]


def page_of(path):
    return re.sub(
        r"\s+", " ", unescape(re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", path.read_text(), flags=re.DOTALL))
    )


@pytest.mark.long
def test_a_report_reads_what_the_command_reads(howsure, rows, table, wide, tmp_path):
    """By hand: a column per model, or dimensions in columns; intervals, n* and effects are those of the command."""
    html = tmp_path / "wide.html"
    code, _, err = howsure("report", wide, "--shape", "variants", "--no-static", "-o", html)
    assert (code, err) == (0, "")
    page = page_of(html)
    wild = rows("variants", wide, "--shape", "variants")[-1]
    assert f"wild 0.350 {wild['low']:.3f} to {wild['high']:.3f} – – –" in page
    assert "ε = 0.01, δ = 0.1." in page
    assert "Prompt variants 6" in page
    assert "Who beats whom Two models are compared on the prompts that both were given" in page  # not by question
    html = tmp_path / "dimensions.html"
    assert howsure("report", table, "--dimension", "tone", "--dimension", "shots", "--no-static", "-o", html)[0] == 0
    page = page_of(html)
    assert "Which values of tone score higher?" in page
    assert "Who beats whom" in page  # its questions are known
    assert "Questions 30 Generations scored 960" in page
    bare = tmp_path / "bare.csv"  # the combinations of two columns are the variants, of whole benchmarks
    bare.write_text(
        "model,tone,shots,score\n" + "".join(f"m,{t},{s},.{i}\n" for i, (t, s) in enumerate(["k0", "k4", "c0", "c4"]))
    )
    assert howsure("report", bare, "--dimension", "tone", "--dimension", "shots", "--no-static", "-o", html)[0] == 0
    assert "Prompt variants 4" in page_of(html)
    code, _, err = howsure("plan", wide, "--shape", "variants", "--a", "wild", "--width", "0.1")
    assert (code, err.count("\n")) == (2, 1)
    assert "there is no noise to plan with: one question" in err
    [planned, *_] = rows("plan", table, "--dimension", "tone", "--dimension", "shots", "--a", "big", "--width", ".4")
    assert planned["n_variants"] <= 8


def test_a_run_with_its_default_prompt(howsure, rows, tmp_path):
    """The page and the command say the same to the last digit; by hand: 12 prompts were drawn and one was chosen."""
    (tmp_path / "v.yaml").write_text(
        "benchmark: directions-small\nlimit: 30\nmodels: [simulated/small, simulated/large]\ngenerations: 2\n"
        "variants: {space: open, sample: 12, seed: 7, default: true}\n"
    )
    run = tmp_path / "run"
    assert howsure("run", tmp_path / "v.yaml", "-o", run)[0] == 0
    shown = {view: rows("variants", run, "--show", view) for view in ("prompts", "dimensions", "order", "reference")}

    def of(view, table):
        return [row for row in shown[view] if row["table"] == table]

    [large, small] = of("prompts", "moments")
    assert (large["n_variants"], small["n_variants"]) == (12, 12)
    [cube] = hs.read(run).cubes()
    means = cube.mean.mean(axis=1)
    assert [large["default"], small["default"]] == pytest.approx(means[:, cube.default])
    assert large["max"] == pytest.approx(np.delete(means[0], cube.default).max())
    assert {row["n_variants"] for row in of("reference", "n_star")} == {12}
    assert [row["n_variants"] for row in of("order", "rank_flips")] == [12]
    effects = of("dimensions", "effects")
    times = {
        name: sum(row["n_variants"] for row in effects if row["dimension"] == name) for name in ("markers", "casing")
    }
    assert set(times.values()) == {24}
    unread = of("prompts", "unparsed")
    assert [row["dimension"] for row in unread if row["p_parsed"] is not None] == ["all prompts"] * 2
    by_prompt = [row for row in unread if row["dimension"] == "prompt"]
    assert len(by_prompt) == 24
    for row in unread:
        if row["dimension"] == "all prompts":
            own = [each["unparsed"] for each in by_prompt if each["model"] == row["model"]]
            assert row["unparsed"] == pytest.approx(statistics.mean(own))
    for row in of("order", "consistency"):
        assert 0 < row["low"] < row["consistency_rate"] < row["high"] < 1
        assert row["unanimous"] <= row["consistency_rate"]
        assert row["n_variants"] == 12
    [order] = of("order", "concordance")
    assert (order["n_models"], order["n_variants"]) == (2, 12)
    assert howsure("report", run, "-o", tmp_path / "page.html", "--no-texts", "--no-static")[0] == 0
    page = page_of(tmp_path / "page.html")
    assert "Prompt variants 12, and the default prompt" in page
    assert "Over 12 prompts" in page
    spec = Page((tmp_path / "page.html").read_text()).json("b1-spread-spec")
    [boxes] = [each[0] for each in spec["datasets"].values() if "median" in each[0]]
    for row in (large, small):
        i = boxes["model"].index(row["model"])
        for name, here in {"min": "min", "q25": "low", "median": "median", "max": "max", "default": "default"}.items():
            assert boxes[here][i] == pytest.approx(row[name], rel=1e-6)  # seven digits are drawn


def test_pairs_without_a_common_question_are_no_table_of_dashes(howsure, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("model,question,score\n" + "".join(f"{m},{m}{q},{q % 2}\n" for m in "abc" for q in range(9)))
    code, out, err = howsure("compare", table)
    assert (code, out) == (2, "")
    assert "no two models have a question in common" in err
