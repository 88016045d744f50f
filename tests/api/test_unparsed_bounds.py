"""Bounds of scores with unread answers: a slow version that scores each of them 1, and planted cases."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from helpers.judged_runs import write_judged_run
from helpers.noted import noted
from helpers.scored_runs import response, run_of

import howsure as hs
from howsure.cli import cli
from howsure.stats.core.multiplicity import holm

pytestmark = pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")

UNREAD = {"score": 0.0, "status": "unparsed", "answer": None}


def row(model, question, generation, outcome):
    """A row whose answer is right ("1"), wrong ("0"), unread ("u") or refused ("r")."""
    fields = {
        "1": {"score": 1.0, "answer": "A"},
        "0": {"score": 0.0, "answer": "B"},
        "u": UNREAD,
        "r": {"score": 0.0, "status": "refused"},
    }[outcome]
    return response(question, generation, completion="text", model=model, **fields)


def folder(path, outcomes):
    """A run folder; `outcomes` has for each model a text for each question, with a letter for each generation."""
    rows = [
        row(model, f"q{q:03}", generation, letter)
        for model, questions in outcomes.items()
        for q, letters in enumerate(questions)
        for generation, letter in enumerate(letters, start=1)
    ]
    return run_of(path, rows)


def draw(rng, n, right, unread):
    return ["".join(rng.choice(["u", "1", "0"], 3, p=[unread, right, 1 - unread - right])) for _ in range(n)]


def test_bound_is_the_score_with_unread_answers_right(tmp_path):
    """Computed by hand; refusals are no unread answers, and a share of .5 % or less has no bound."""
    run = folder(tmp_path / "run", {"m": ["1u", "00", "ru", "1"], "none": ["1", "0", "1", "r"]})
    with noted() as notes:
        result = hs.score(run)
    columns = {one["model"]: one for one in result}
    assert columns["m"]["score"] == pytest.approx((0.5 + 0 + 0 + 1) / 4)
    assert columns["m"]["unparsed"] == pytest.approx((0.5 + 0 + 0.5 + 0) / 4)
    assert columns["m"]["score_bound"] == pytest.approx((1 + 0 + 0.5 + 1) / 4)
    assert columns["none"]["unparsed"] == 0
    assert math.isnan(columns["none"]["score_bound"])
    [note] = [note for note in notes if note.code == "unparsed-bound"]
    assert (note.n, note.facts) == (2, {"models": "m", "model": "m", "share": "25.0%"})


@pytest.mark.parametrize(("n_unread", "is_bounded"), [(1, False), (2, True)])
def test_share_from_which_a_bound_is_given(tmp_path, n_unread, is_bounded):
    """One of 200 answers is .5 %, which is not above it; without a bound the table does not have its columns."""
    run = folder(tmp_path / "run", {"m": ["u"] * n_unread + ["1"] * (100 - n_unread) + ["0"] * 100})
    with noted() as notes:
        result = hs.score(run)
    assert np.isfinite(result["score_bound"]).tolist() == [is_bounded]
    assert any(note.code == "unparsed-bound" for note in notes) == is_bounded
    for printed in (result, hs.score(run, missing="bounds")):
        assert ("score_bound" in printed.fit_text(120)) == is_bounded


def test_cube_counts_the_same(tmp_path):
    """The counts by prompt variant leave out refusals, too."""
    results = hs.read(folder(tmp_path / "run", {"m": ["1u", "00", "ru", "1"]}))
    [counts] = results.count_unparsed(results.cubes()).values()
    assert counts.sum() == sum(int(cells.unparsed.sum()) for cells in results.cells()) == 2


def test_unreadable_verdict_of_a_judge_is_missing(tmp_path):
    """It leaves a completion without a score, and no bound; refusals, which score 0 without a judge, have none either."""
    run = write_judged_run(tmp_path / "run", n_questions=9, generations=2, wrong={"m": 4}, refused=2, unreadable=3)
    [cells] = hs.read(run).cells()
    assert (int(cells.n.sum()), int(cells.failed.sum()), int(cells.unparsed.sum())) == (15, 3, 0)
    assert np.isnan(hs.score(run)["score_bound"]).all()


@pytest.mark.parametrize("seed", range(12))
def test_verdict_is_that_of_four_comparisons(tmp_path, seed):
    """Slow version: each combination of unread answers scored 0 or 1 is a run folder of its own, compared alone."""
    rng = np.random.default_rng(seed)
    outcomes = {
        "a": draw(rng, 40, 0.5, rng.choice([0, 0.1, 0.3])),
        "b": draw(rng, 40, rng.choice([0.2, 0.4, 0.5]), rng.choice([0.02, 0.2])),
    }
    signs = []
    for i, corner in enumerate(itertools.product("01", repeat=2)):
        filled = {
            model: [letters.replace("u", score) for letters in outcomes[model]]
            for model, score in zip("ab", corner, strict=True)
        }
        [each] = hs.compare(folder(tmp_path / str(i), filled), "a", "b")
        signs.append(np.sign(each["difference"]) * (each["p_value"] < 0.05))
        if corner == ("0", "0"):
            expected = each
        elif corner == ("1", "1"):
            bounds = each["score_a"], each["score_b"]
    with noted() as notes:
        [result] = hs.compare(folder(tmp_path / "run", outcomes), "a", "b")
    shown = "distinguishable" if signs[0] else "not distinguishable"
    assert result["verdict"] == (shown if len(set(signs)) == 1 else "undecided")
    assert any(note.code == "undecided-by-unparsed" for note in notes) == (result["verdict"] == "undecided")
    assert result["p_value"] == expected["p_value"]
    if np.isfinite(result["score_bound_a"]):
        assert result["score_bound_a"] == pytest.approx(bounds[0])
    assert result["score_bound_b"] == pytest.approx(bounds[1])
    with noted() as notes:
        [pair] = hs.pairs(folder(tmp_path / "again", outcomes))
    assert pair["verdict"] == result["verdict"]
    assert "unparsed-bound" in {note.code for note in notes}


def test_each_verdict_occurs(tmp_path):
    """Planted: the unread answers of b may close the gap, or not; the text of the note is of the first alone."""
    right, wrong = ["1"] * 30, ["0"] * 30
    cases = {
        "undecided": {"a": right + wrong, "b": ["0"] * 15 + ["1"] * 15 + ["u"] * 10 + ["0"] * 20},
        "distinguishable": {"a": right + wrong, "b": ["0"] * 57 + ["u"] * 3},
        "not distinguishable": {"a": right + wrong, "b": ["0"] + right + ["u"] + ["0"] * 28},
    }
    for verdict, outcomes in cases.items():
        [result] = hs.compare(folder(tmp_path / verdict, outcomes), "a", "b")
        assert result["verdict"] == verdict


def test_scores_outside_0_to_1_have_no_bound(tmp_path):
    """What a right answer would score is not known: no number is made up, and a test is not decided by it."""
    rows = [response(f"q{q}", completion="text", model="m", score=5.0 + q % 3, answer="A") for q in range(30)]
    rows += [response(f"q{q}", completion="text", model="w", score=1.0, answer="A") for q in range(28)]
    rows += [response(f"q{q}", completion="text", model="w", **UNREAD) for q in (28, 29)]
    run = run_of(tmp_path / "run", rows)
    assert np.isnan(hs.score(run)["score_bound"]).all()
    [result] = hs.compare(run, "m", "w")
    assert (result["verdict"], math.isnan(result["score_bound_b"])) == ("undecided", True)


def test_commands_have_the_bounds(tmp_path, capsys):
    """In 80 columns, too, and as JSON."""
    run = str(folder(tmp_path / "run", {"a": ["1", "0", "1", "1"], "b": ["u", "0", "1", "1"]}))
    cli.main(["score", run], standalone_mode=False)
    assert "score_bound" in capsys.readouterr().out.partition("left out")[0]
    cli.main(["compare", run, "--a", "a", "--b", "b", "--format", "json"], standalone_mode=False)
    [result] = json.loads(capsys.readouterr().out)
    assert (result["score_bound_a"], result["score_bound_b"], result["verdict"]) == (None, 0.75, "not distinguishable")


def test_verdicts_on_all_pairs_are_adjusted(tmp_path):
    """Slow version for three models: each case of a pair is tested among all pairs of that case (Holm)."""
    rng = np.random.default_rng(7)
    outcomes = {"a": draw(rng, 40, 0.6, 0.05), "b": draw(rng, 40, 0.42, 0.1), "c": draw(rng, 40, 0.4, 0.02)}
    signs = {}
    for i, corner in enumerate(itertools.product("01", repeat=2)):
        # A case of all pairs at once: the first model of each pair is scored by one rule, the second by the other.
        ps, differences = [], []
        for a, b in itertools.combinations("abc", 2):
            filled = {
                name: [letters.replace("u", score) for letters in outcomes[name]]
                for name, score in zip((a, b), corner, strict=True)
            }
            [each] = hs.compare(folder(tmp_path / f"{i}{a}{b}", filled), a, b)
            ps.append(each["p_value"])
            differences.append(each["difference"])
        signs[corner] = np.sign(differences) * (holm(np.array(ps)) < 0.05)
    result = hs.pairs(folder(tmp_path / "run", outcomes))
    agree = np.all([one == signs["0", "0"] for one in signs.values()], axis=0)
    shown = np.where(signs["0", "0"] != 0, "distinguishable", "not distinguishable")
    assert result["verdict"].tolist() == np.where(agree, shown, "undecided").tolist()
