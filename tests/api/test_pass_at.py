"""Thresholds of graded scores: the same rows with scores of 1 and 0 written out, scored and attempted."""

from __future__ import annotations

import csv
import json
import warnings

import numpy as np
import pytest
from helpers.noted import noted
from helpers.scored_runs import response, run_of

import howsure as hs
from howsure.cli import cli
from howsure.errors import HowsureWarning, InputError

GRADES = [0.0, 0.3, 0.69, 0.7, 0.9, 1.0]


def draw(seed=1):
    """Scores of two models on 12 questions, 4 generations of each; one generation failed."""
    rng = np.random.default_rng(seed)
    scores = {(m, f"q{q:02}", g): float(rng.choice(GRADES)) for m in "ab" for q in range(12) for g in range(1, 5)}
    return scores | {("a", "q03", 2): None}


def write_csv(path, scores):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "question", "generation", "score"])
        writer.writerows([*key, "" if score is None else score] for key, score in scores.items())
    return path


def write_run(path, scores):
    rows = [
        response(q, g, completion="t", model=m, score=score, status="error" if score is None else "ok", answer="x")
        for (m, q, g), score in sorted(scores.items())
    ]
    return run_of(path, rows)


def at(scores, threshold):
    return {key: None if score is None else float(score >= threshold) for key, score in scores.items()}


def rows_of(result):
    """The rows without the names of the file."""
    return [{k: v for k, v in one.items() if k not in {"benchmark", "note"}} for one in result]


@pytest.mark.parametrize("write", [write_csv, write_run])
@pytest.mark.parametrize("threshold", [0.3, 0.7, 1.0])
def test_scores_at_a_threshold(tmp_path, write, threshold):
    """A score at the threshold passes; a generation without a score is left out and neither passes nor fails."""
    scores = draw()
    graded = write(tmp_path / "graded.csv", scores)
    passed = write(tmp_path / "passed.csv", at(scores, threshold))
    expected, attempted = rows_of(hs.score(passed)), rows_of(hs.attempts(passed))
    np.testing.assert_equal(rows_of(hs.score(graded, pass_at=threshold)), expected)
    np.testing.assert_equal(rows_of(hs.attempts(graded, pass_at=threshold)), attempted)
    results = hs.read(graded)
    before = rows_of(hs.score(results))
    np.testing.assert_equal(rows_of(hs.score(results, pass_at=threshold)), expected)
    np.testing.assert_equal(rows_of(hs.score(results)), before)  # the results themselves have not changed


def test_attempts_at_graded_scores_are_right_at_1(tmp_path):
    """With a note; scores of 0 and 1 have none."""
    scores = draw()
    graded, passed = write_csv(tmp_path / "graded.csv", scores), write_csv(tmp_path / "passed.csv", at(scores, 1))
    with noted() as notes:
        result = hs.attempts(graded)
    assert [note.code for note in notes] == ["right-at-1"]
    with noted() as notes:
        expected = hs.attempts(passed)
    assert notes == []
    np.testing.assert_equal(rows_of(result), rows_of(expected))


def test_frames_have_thresholds_and_counts_have_none():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"model": ["a"] * 3, "question": ["p", "q", "r"], "score": [0.2, 0.7, 0.9]})
    assert hs.score(frame, pass_at=0.7)["score"].tolist() == [pytest.approx(2 / 3)]
    counts = pl.DataFrame({"model": ["a"] * 2, "question": ["p", "q"], "right": [2, 1], "attempts": [4, 4]})
    with pytest.raises(InputError, match="counts of scores"):
        hs.score(counts, pass_at=0.7)


def test_what_has_no_threshold_is_refused(tmp_path):
    """Sums of scores, a threshold that no score reaches or that all do, and scores that are corrected otherwise."""
    graded = write_csv(tmp_path / "graded.csv", draw())
    cells = hs.read(graded).cells()
    for data, threshold, options, message in (
        (cells, 0.7, {}, "cells are sums"),
        (graded, 70.0, {}, "scores are from 0 to 1"),
        (graded, 0.0, {}, "above 0"),
        (graded, float("nan"), {}, "above 0"),
        (graded, 0.7, {"borrow": graded}, "pass_at with borrow"),
        (graded, 0.7, {"calibrate": "labels.jsonl"}, "pass_at with calibrate"),
    ):
        with pytest.raises(InputError, match=message):
            hs.score(data, pass_at=threshold, **options)
    with pytest.raises(InputError, match="majority"):
        hs.attempts(graded, pass_at=0.7, majority=True)


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_scores_on_another_scale(tmp_path):
    """A threshold in the unit of the scores; without one nothing is taken as right."""
    points = write_csv(tmp_path / "points.csv", {("a", f"q{q}", 1): float(q) for q in range(1, 9)})
    assert hs.score(points, pass_at=5)["score"].tolist() == [0.5]
    with pytest.raises(InputError, match="needs scores of 0 and 1.*--pass-at"):
        hs.attempts(points)


def test_excluded_questions_stay_out(tmp_path):
    """A review's verdicts hold for the thresholded scores, too."""
    run = write_run(tmp_path / "run", draw())
    from howsure.api.result_selection import ReviewedEvaluations

    [cells] = hs.read(run).cells()
    line = {"benchmark": cells.benchmark, "verdict": "ambiguous", "reviewer": "ann", "note": "", "answer": ""}
    line |= {"question": cells.questions[0], "key": "", "when": "2026-11-23T00:00:00.000000Z"}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(line) + "\n")
    reviewed = ReviewedEvaluations(hs.read(run), tmp_path / "verdicts.jsonl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        assert reviewed.count_passes(0.7).cells()[0].questions == cells.questions[1:] == reviewed.cells()[0].questions


def test_commands(tmp_path, capsys):
    scores = draw()
    graded = str(write_csv(tmp_path / "graded.csv", scores))
    expected = hs.score(write_csv(tmp_path / "passed.csv", at(scores, 0.7)))
    cli.main(["score", graded, "--pass-at", "0.7", "--format", "json"], standalone_mode=False)
    assert [one["score"] for one in json.loads(capsys.readouterr().out)] == expected["score"].tolist()
    cli.main(["attempts", graded, "--pass-at", "0.7", "--k", "1", "--format", "json"], standalone_mode=False)
    assert {one["score"] for one in json.loads(capsys.readouterr().out) if one["measure"] == "pass@k"} == set(
        expected["score"].tolist()
    )
