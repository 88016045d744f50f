"""Agreement of two scorers: counts, kappa, interval, examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from howsure.rescoring.agreement import Agreement, AgreementCounter
from howsure.store.scorer_files import RescoredRow


def ours(score, question="q", generation=1, answer="a", model="m"):
    return RescoredRow("b", model, question, "v", generation, score, answer=answer, rule="r")


def tally_of(rows, examples=5):
    """Rows of (question, our score, their score)."""
    tally = AgreementCounter(examples)
    for i, (question, mine, theirs) in enumerate(rows):
        tally.add(ours(mine, question, i + 1), theirs, "x", "target", "completion")
    return tally


# a printed table: Cohen's kappa of the grant proposals, 20 both yes, 5 and 10 apart, 15 both no, is 0.4


def test_kappa_of_the_printed_example():
    pairs = [(1.0, 1.0)] * 20 + [(1.0, 0.0)] * 5 + [(0.0, 1.0)] * 10 + [(0.0, 0.0)] * 15
    tally = tally_of([(f"q{i}", *pair) for i, pair in enumerate(pairs)])
    found = Agreement("b", "s@1", {"m": tally})
    assert found["kappa"][0] == pytest.approx(0.4)
    assert [int(found[x][0]) for x in ("n_both", "n_agree", "only_ours", "only_theirs")] == [50, 35, 5, 10]
    assert found["agreement"][0] == pytest.approx(0.7)


def test_kappa_of_independent_scores_is_exactly_0():
    # by hand: 9 = (1 + 2)(1 + 2) pairs in the ratio of their margins, in every multiple
    for k in range(1, 40):
        pairs = [(1.0, 1.0)] * k + [(1.0, 0.0)] * 2 * k + [(0.0, 1.0)] * 2 * k + [(0.0, 0.0)] * 4 * k
        tally = tally_of([(f"q{i}", *pair) for i, pair in enumerate(pairs)])
        assert tally.kappa() == 0


def test_the_interval_of_one_row_per_question_is_wilsons():
    # another program's output: scipy's binomtest
    for agree, total in [(8, 10), (30, 30), (0, 4), (497, 500)]:
        tally = tally_of([(f"q{i}", float(i < agree), 1.0) for i in range(total)])
        wanted = stats.binomtest(agree, total).proportion_ci(0.9, method="wilson")
        assert tally.interval(0.9) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_copies_of_rows_make_no_interval_narrower():
    # theory: K copies of each row are no more information than one
    pairs = [(1.0, float(i % 5 > 0)) for i in range(60)]
    low, high = tally_of([(f"q{i:03d}", *pair) for i, pair in enumerate(pairs)]).interval(0.95)
    for k in (2, 10):
        more = [(f"q{i:03d}", *pair) for i, pair in enumerate(pairs) for _ in range(k)]
        wider = tally_of(more).interval(0.95)
        assert wider[0] <= low
        assert wider[1] >= high
        assert wider[1] - wider[0] == pytest.approx(high - low, rel=0.06)


def test_the_interval_of_several_rows_per_question_covers():
    # a guarantee by seeded simulation: questions differ in how often the two agree
    rng = np.random.default_rng(5)
    truth, hits, runs = 0.8, 0, 300
    for _ in range(runs):
        rates = rng.beta(4, 1, 50)
        rows = [
            (f"q{i:02d}", 1.0, float(hit))
            for i, rate in enumerate(rates)
            for hit in rng.random(rng.integers(1, 7)) < rate
        ]
        low, high = tally_of(rows).interval(0.95)
        hits += low <= truth <= high
    assert 0.92 <= hits / runs <= 0.985


# theory: what is counted, and what cannot be said


def test_rows_without_one_of_the_scores_are_counted_and_not_compared():
    tally = AgreementCounter(5)
    tally.add(ours(None), 1.0, None, "t", "c")
    tally.add(ours(1.0), None, None, "t", "c")
    tally.add(ours(0.0, answer=None), None, None, "t", "c")
    found = Agreement("b", "s@1", {"m": tally})
    columns = found.columns()
    assert [int(columns[name][0]) for name in ("n_scored", "n_unread", "n_missing", "n_both")] == [2, 1, 1, 0]
    for name in ("agreement", "agreement_low", "agreement_high", "kappa"):
        assert math.isnan(columns[name][0])
    assert columns["note"][0] == (
        "no row was scored before, so there is no agreement; rows are missing, the first of question q: no completion "
        "is kept"
    )
    assert "no row was scored before" in str(found)


def test_rows_that_cannot_be_scored_say_why_in_a_note():
    tallies = {"x": AgreementCounter(5), "y": AgreementCounter(5), "z": tally_of([("q1", 1.0, 1.0), ("q2", 0.0, 0.0)])}
    for name, faults in (("x", ["scoring: a; b", "scoring: c"]), ("y", ["scoring: c"])):
        for i, fault in enumerate(faults):
            said = ours(None, f"q{i}", model=name)._replace(error=fault, status="error")
            tallies[name].add(said, 1.0, None, "t", "c")
    found = Agreement("b", "s@1", tallies)
    assert found.columns()["note"].tolist() == [
        "rows are missing, the first of question q0: scoring: a, b",
        "rows are missing, the first of question q0: scoring: c",
        "",
    ]
    assert found.columns()["n_missing"].tolist() == [2, 1, 0]


def test_partial_scores_agree_where_they_are_equal_and_have_no_kappa():
    tally = tally_of([("q1", 0.5, 0.5), ("q2", 0.5, 0.25), ("q3", 1.0, 0.1 + 0.9), ("q4", 0.2, 0.9)])
    found = Agreement("b", "s@1", {"m": tally})
    assert [int(found[x][0]) for x in ("n_agree", "only_ours", "only_theirs")] == [2, 1, 1]
    assert math.isnan(found["kappa"][0])
    assert found.columns()["note"][0] == "kappa is for scores of 0 and 1, of which both occur"


def test_all_alike_has_no_kappa_and_one_question_no_interval():
    tally = tally_of([("q", 1.0, 1.0), ("q", 1.0, 1.0), ("q", 1.0, 1.0)])
    found = Agreement("b", "s@1", {"m": tally})
    assert math.isnan(found["kappa"][0])
    assert math.isnan(found["agreement_low"][0])
    assert "one question with several rows: no interval" in found.columns()["note"][0]


def test_examples_are_the_first_of_each_kind_and_fit_a_line():
    tally = AgreementCounter(2)
    for i in range(9):
        kind = i % 3
        mine = ours(float(kind == 0), f"q{i}", answer=None if kind == 2 else "a")
        tally.add(mine, float(kind != 0), None, "the\ntarget", f"start {i}\n" + "x" * 5000 + " end")
    found = Agreement("b", "s@1", {"m": tally}).disagreements.columns()
    assert list(zip(found["question"], found["kind"], strict=True)) == [
        ("q0", "only ours"),
        ("q1", "only theirs"),
        ("q2", "only theirs, unread"),
        ("q3", "only ours"),
        ("q4", "only theirs"),
        ("q5", "only theirs, unread"),
    ]
    assert found["target"][0] == "the target"
    assert found["completion"][0].startswith("start 0 xxx")
    assert found["completion"][0].endswith("x end")
    assert len(found["completion"][0]) < 130
    assert (found["their_answer"][0], found["our_answer"][2], found["our_score"][0]) == ("", "", 1.0)


def test_frames_and_tables_of_several_models():
    each = {name: tally_of([("q1", 1.0, 1.0), ("q2", 0.0, score)]) for name, score in (("x", 0.0), ("y", 1.0))}
    found = Agreement("b", "s@1", each, level=0.9)
    frame = found.to_frame()
    assert list(frame["model"]) == ["x", "y"]
    assert list(frame["n_agree"]) == [2, 1]
    assert set(frame["level"]) == {0.9}
    assert len(found.disagreements.to_frame()) == 1
    assert str(Agreement("b", "s@1", {"x": each["x"]}).disagreements) == "no rows"
