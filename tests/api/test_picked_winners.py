"""`winner` and `--winner`: what it picks from, its sentences on hostile data, and what is refused."""

import json

import numpy as np
import pytest

import howsure as hs
from howsure.errors import InputError


def cells_of(*rows, models=None, benchmark="demo"):
    """Return cells of rows of scores, one generation each; None where there is none."""
    scores = [[[] if x is None else [x] for x in row] for row in rows]
    names = models or [f"m{i}" for i in range(len(rows))]
    return hs.Cells.from_scores(benchmark, names, [f"q{i}" for i in range(len(rows[0]))], scores)


def say(result):
    return str(result).replace("\n  ", " ").splitlines()


def test_each_benchmark_has_its_winner():
    one, other = cells_of([1, 1, 0] * 10, [1, 0, 0] * 10), cells_of([0] * 30, [1, 0] * 15, benchmark="other")
    result = hs.winner([one, other])
    assert list(zip(result["benchmark"].tolist(), result["model"].tolist(), strict=True)) == [
        ("demo", "m0"),
        ("other", "m1"),
    ]
    assert result["luck"] == pytest.approx(result["score"] - result["corrected"])
    assert set(result["claim"].tolist()) == {"new-questions"}


def test_prompts_of_each_model_are_its_candidates():
    """The scores are those of the prompts as if each were a model."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, (2, 40, 5)).astype(float)
    names = [f"v{s}" for s in range(5)], [f"q{i}" for i in range(40)]
    cube = hs.Cube.from_scores("demo", ["a", "b"], names[1], names[0], [[[[x] for x in c] for c in m] for m in y])
    result = hs.winner(cube, of="variants")
    assert result["n_models"].tolist() == [5, 5]
    for m, name in enumerate("ab"):
        alone = hs.winner(cells_of(*y[m].T, models=names[0], benchmark=f"demo, {name}"))
        for column in ("model", "score", "corrected", "low", "high"):
            assert result[column][m] == alone[column][0]


def test_checkpoints_of_each_run_are_its_candidates():
    labels = ["a step 1", "a step 20", "b step 1", "b step 9", "c"]
    rows = [[0, 0, 1] * 9, [1, 0, 1] * 9, [1, 1, 1] * 9, [1, 1, 0] * 9, [1, 1, 1] * 9]
    result = hs.winner(cells_of(*rows, models=labels), of="checkpoints")
    assert result["model"].tolist() == ["a step 20", "b step 1"]
    assert result["n_models"].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("rows", "begins", "luck"),
    [
        pytest.param([[1, 0] * 20] * 3, "m0 shares the highest score of 3", None, id="equal models"),
        pytest.param([[1], [0]], "m0 has the highest score of 2", None, id="one question"),
        pytest.param([[1] * 40, [0] * 40], "m0 has the highest score of 2", "nothing", id="no overlap"),
        pytest.param([[1, None], [None, 1]], "no question of demo was answered by all 2", None, id="nothing common"),
        pytest.param([[None] * 4, [1, 0, 1, 0]], "no question of demo", None, id="all failed"),
    ],
)
def test_sentences_hold_of_hostile_results(rows, begins, luck):
    lines = say(hs.winner(cells_of(*rows)))
    assert lines[0].startswith(begins)
    said = [line for line in lines if "luck by this estimate" in line]
    assert len(said) == (luck is not None)
    assert all(luck in line for line in said)


def test_luck_of_equal_prompts_is_most_of_the_lead():
    y = np.random.default_rng(5).integers(0, 2, (40, 100))
    result = hs.winner(cells_of(*y.tolist()))
    share = 1 - result["lead_corrected"][0] / result["lead"][0]
    assert share > 0.5
    assert any("may be luck" in line for line in say(result))
    assert result["low"][0] < 0.5 < result["high"][0]


def test_the_share_of_luck_is_named_where_the_lead_is_shown():
    """One of three models is far ahead: what luck adds to its lead is little, and is said as a share."""
    rng = np.random.default_rng(6)
    y = (rng.random((3, 200)) < np.array([0.9, 0.5, 0.5])[:, None]).astype(int)
    result = hs.winner(cells_of(*y.tolist()))
    share = min(max(1 - result["lead_corrected"][0] / result["lead"][0], 0), 1)
    [line] = [line for line in say(result) if "luck by this estimate" in line]
    assert (f"about {100 * share:.0f} %" if share > 0 else "nothing") in line


@pytest.mark.parametrize("of", ["models", "variants", "checkpoints"])
def test_one_candidate_is_no_pick(of):
    one = hs.Cube.from_scores("demo", ["a"], ["p"], ["v"], [[[[1]]]]) if of == "variants" else cells_of([1, 0])
    with pytest.raises(InputError, match="winner"):
        hs.winner(one, of=of)


def test_scores_of_whole_benchmarks_are_refused():
    with pytest.raises(InputError):
        hs.winner(hs.Cube.from_means("demo", ["a"], ["v", "w"], np.array([[0.5, 0.6]])), of="variants")


@pytest.mark.parametrize(
    ("command", "column"), [("compare", "model"), ("rank", "model"), ("curve", "model"), ("variants", "variant")]
)
def test_each_command_prints_the_winner_of_its_candidates(howsure, tmp_path, command, column):
    rng = np.random.default_rng(1)
    rows = [f"s step {i},q{q},{rng.integers(0, 2)}" for i in range(4) for q in range(30)]
    (tmp_path / "t.csv").write_text("\n".join([f"{column},question,score", *rows]))
    code, out, err = howsure(command, tmp_path / "t.csv", "--winner", "--format", "json", "--level", "0.9")
    assert code == 0, err
    [row] = json.loads(out)
    assert row["model"].startswith("s step")
    assert (row["n_models"], row["level"]) == (4, 0.9)


def test_options_of_the_other_table_are_refused(howsure, tmp_path):
    (tmp_path / "t.csv").write_text("model,question,score\na,p,1\nb,p,0\n")
    assert howsure("compare", tmp_path / "t.csv", "--winner", "--a", "a")[0] == 2
