"""The file of verdicts: its state, its merges, its damage, and what is left out by it."""

from __future__ import annotations

import random
import shutil
import subprocess

import msgspec
import pytest
from helpers.stored_files import sealed
from hypothesis import given
from hypothesis import strategies as st

from howsure.errors import HowsureWarning, InputError
from howsure.review.verdicts import (
    Verdict,
    append,
    check_writable,
    compare_reviewers,
    content_key,
    decide,
    exclude,
    excluded,
    history,
    load,
    moment,
    select_verdicts,
)
from howsure.stats.core.cells import Cells


def verdict(word="mislabeled", *, key="k1", when=0.0, question="q1", benchmark="b", note="", reviewer="ada"):
    return Verdict(
        benchmark=benchmark, question=question, key=key, verdict=word, note=note, reviewer=reviewer, when=moment(when)
    )


def write(path, verdicts):
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in verdicts))
    return path


# another program's output: printf '["Where is Z\\u00fcrich?\\n", null]' | sha256sum; date -u -d @1700000000


def test_a_key_is_a_hash_that_any_program_can_make():
    assert content_key("Where is Zürich?\n", None) == "4a9736845bc43ce5"
    assert content_key("a", "b") != content_key("ab", "")


def test_a_moment_is_utc():
    assert moment(1_700_000_000.5) == "2023-11-14T22:13:20.500000Z"


# theory: a set of lines has one state, whatever its order


LINES = st.lists(
    st.builds(
        verdict,
        st.sampled_from(["mislabeled", "ambiguous", "fine", "undone"]),
        key=st.sampled_from(["k1", "k2"]),
        when=st.sampled_from([0.0, 1.0, 2.0]),
        note=st.sampled_from(["", "line\nline\u2028", "é"]),
    ),
    max_size=8,
)


@given(LINES, st.randoms(use_true_random=False))
def test_lines_in_any_order_and_doubled_give_the_same_state(tmp_path_factory, lines, rng):
    path = tmp_path_factory.mktemp("v") / "v.jsonl"
    once = history(write(path, lines), missing=True) if lines else []
    other = [*lines, *rng.sample(lines, rng.randint(0, len(lines)))]
    rng.shuffle(other)
    assert (history(write(path, other)) if lines else []) == once
    slow = {}
    for one in lines:
        best = slow.get(one.key)
        if best is None or (one.when, msgspec.json.encode(one)) >= (best.when, msgspec.json.encode(best)):
            slow[one.key] = one
    assert select_verdicts(once, "ada") == {key: one for key, one in slow.items() if one.verdict != "undone"}


# another program's output


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_merges_two_reviews_by_union(tmp_path):
    base = [verdict("fine", key=f"k{i}", when=i) for i in range(3)]
    a, b = [verdict("ambiguous", key="k1", when=10)], [verdict("undone", key="k2", when=11), verdict(key="k9", when=9)]
    files = [write(tmp_path / name, lines) for name, lines in [("a", base + a), ("base", base), ("b", base + b)]]
    merged = subprocess.run(["git", "merge-file", "-p", "--union", *files], capture_output=True, check=True).stdout
    (tmp_path / "merged").write_bytes(merged)
    state = {key: one.verdict for key, one in load(tmp_path / "merged").items()}
    assert state == {"k0": "fine", "k1": "ambiguous", "k9": "mislabeled"}


# independent: the file, by hand


def test_only_the_owner_reads_the_file_of_verdicts(tmp_path):
    append(tmp_path / "v.jsonl", verdict())
    assert (tmp_path / "v.jsonl").stat().st_mode & 0o777 == 0o600


def test_append_adds_a_line_and_changes_none(tmp_path):
    path, lines = tmp_path / "v.jsonl", []
    for i in range(3):
        written = append(path, verdict(key=f"k{i}", when=i, note="a\nb"))
        lines.append(msgspec.json.encode(written) + b"\n")
        assert path.read_bytes() == b"".join(lines)


def test_a_clock_that_went_back_does_not_lose_the_newer_verdict(tmp_path):
    path = tmp_path / "v.jsonl"
    append(path, verdict("fine", when=100))
    append(path, verdict("fine", key="other", when=500))
    assert append(path, verdict("ambiguous", when=50)).when == "1970-01-01T00:01:40.000001Z"
    assert load(path)["k1"].verdict == "ambiguous"


def test_a_line_cut_off_is_told_and_costs_no_other(tmp_path):
    path = write(tmp_path / "v.jsonl", [verdict("fine", key="k0"), verdict(key="k1")])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.warns(HowsureWarning, match=r"v.jsonl, line 2: 1 line is no verdict .* left out: the line is cut off"):
        assert set(load(path)) == {"k0"}
    append(path, verdict(key="k2"))
    with pytest.warns(HowsureWarning, match="line 2: 1 line is no verdict"):
        assert set(load(path)) == {"k0", "k2"}


def test_marks_of_a_conflict_are_told_and_both_sides_kept(tmp_path):
    path = tmp_path / "v.jsonl"
    sides = [msgspec.json.encode(verdict(key=key)) for key in ("k0", "k1")]
    path.write_bytes(b"\n".join([b"<<<<<<< ours", sides[0], b"=======", sides[1], b">>>>>>> theirs", b"\xff", b""]))
    notes = []
    assert {one.key for one in history(path, note=notes.append)} == {"k0", "k1"}
    assert [(note.code, note.where, note.n) for note in notes] == [("no-verdict", f"{path}, line 1", 4)]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"benchmark": "b"}', "missing required field"),
        ('{"benchmark":"b","question":"q","key":"k","verdict":"wrong","when":"2026-01-01T00:00:00.000000Z"}', "wrong"),
        ('{"benchmark":"b","question":"q","key":"k","verdict":"fine","when":"yesterday"}', "yesterday"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, line, why):
    path = tmp_path / "v.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=f"line 1: no line is a verdict: .*{why}"):
        load(path)
    with pytest.raises(InputError, match="no line is a verdict"):
        append(path, verdict())


def test_a_file_that_cannot_be_read_or_written_is_one_line(tmp_path):
    with pytest.raises(InputError, match="none.jsonl: cannot be read: No such file"):
        load(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        history(tmp_path, missing=True)
    with pytest.raises(InputError, match="cannot be written: No such file"):
        append(tmp_path / "no" / "v.jsonl", verdict())
    assert history(tmp_path / "none.jsonl", missing=True) == []


# theory: what is left out


def cells(questions=("q1", "q2", "q3"), benchmark="b"):
    return Cells.from_scores(benchmark, ["m"], questions, [[[i % 2] for i, _ in enumerate(questions)]])


def state(*verdicts):
    return decide(verdicts)


def test_only_rejected_questions_are_excluded_and_the_newest_content_counts():
    found = state(
        verdict("mislabeled", key="k1", question="q1"),
        verdict("ambiguous", key="k2", question="q2", benchmark="c"),
        verdict("fine", key="k3", question="q3"),
        verdict("mislabeled", key="old", question="q4", when=1),
        verdict("fine", key="new", question="q4", when=2),
    )
    assert excluded(found.values()) == {"b": {"q1"}, "c": {"q2"}}


def test_exclude_takes_rejected_questions_out_and_says_so():
    other = cells(["q1"], "other")
    kept, told = exclude(
        [cells(), other],
        state(verdict(), verdict("ambiguous", key="k2", question="q2"), verdict(key="k8", question="gone")),
    )
    assert [one.questions for one in kept] == [("q3",), ("q1",)]
    assert kept[1] is other
    assert [(note.code, note.where, note.n) for note in told] == [
        ("questions-excluded", "b", 2),
        ("rejected-elsewhere", "b", 1),
        ("questions-excluded", "other", 0),
    ]
    why = "(1 mislabeled, 1 ambiguous; 2 on one vote); the mean score of the models goes from 0.333 to 0.000"
    assert str(told[0]) == f"b: 2 of 3 questions left out {why}"


def test_exclude_knows_a_question_by_its_content_under_another_id():
    kept, told = exclude([cells()], state(verdict(question="old id")), keys={("b", "q2"): "k1"})
    assert kept[0].questions == ("q1", "q3")
    # by hand: 0, 1 and 0 of which the 1 is left out
    why = "(1 mislabeled; 1 on one vote); the mean score of the models goes from 0.333 to 0.000"
    assert str(told[0]) == f"b: 1 of 3 questions left out {why}"


def test_the_mean_score_without_rejected_questions_is_of_the_models_that_have_one():
    """By hand: a has 0 and 1, b has 1 on the second question alone, c has nothing: .75, and 1 without the first."""
    some = Cells.from_scores("b", ["a", "b", "c"], ["q1", "q2"], [[[0], [1]], [[], [1]], [[], []]])
    assert exclude([some], state(verdict()))[1][0].text.endswith(
        "; the mean score of the models goes from 0.750 to 1.000"
    )


def test_the_mean_score_without_rejected_questions_compares_the_same_models():
    """By hand: a has 0 and 1; b has 1 on the rejected question alone, so that its 1 is in neither mean."""
    some = Cells.from_scores("b", ["a", "b"], ["q1", "q2"], [[[0], [1]], [[1], []]])
    line = exclude([some], state(verdict()))[1][0].text
    assert line.endswith("; the mean score of the models that still have a score goes from 0.500 to 1.000")


def test_exclude_warns_where_the_content_has_changed():
    with pytest.warns(
        HowsureWarning, match="b: 1 rejected question reviewed with another text or target, and left out: 'q1'"
    ):
        kept, _ = exclude([cells()], state(verdict()), keys={("b", "q1"): "another", ("b", "q2"): "k2"})
    assert kept[0].questions == ("q2", "q3")


def test_exclude_keeps_a_question_whose_new_content_was_found_fine():
    found = state(verdict(when=5), verdict("fine", key="another", question="q0", when=1))
    kept, told = exclude([cells()], found, keys={("b", "q1"): "another"})
    assert kept[0].questions == ("q1", "q2", "q3")
    assert [str(note) for note in told] == ["b: 0 of 3 questions left out"]


def test_exclude_refuses_to_leave_nothing():
    with pytest.raises(InputError, match="b: the verdicts reject every question"):
        exclude([cells(["q1"])], state(verdict()))


def test_scores_after_exclude_are_those_of_the_questions_left():
    rng = random.Random(1)
    scores = {f"q{i}": [rng.random() < 0.5 for _ in range(4)] for i in range(20)}
    whole = Cells.from_scores("b", ["m"], list(scores), [list(scores.values())])
    out = {f"q{i}" for i in range(0, 20, 3)}
    kept, _ = exclude([whole], state(*(verdict(key=q, question=q) for q in out)))
    left = [s for q, values in scores.items() if q not in out for s in values]
    assert kept[0].total.sum() == sum(left)
    assert kept[0].n.sum() == len(left)


# several reviewers, by hand


def decision(*lines):
    """The decision on one question, from (reviewer, word, answer) in the order of time."""
    written = [
        msgspec.structs.replace(
            verdict(word, reviewer=name.removesuffix("!"), when=i),
            answer=answer,
            role="adjudication" if name.endswith("!") else "review",
        )
        for i, (name, word, answer) in enumerate(lines)
    ]
    return decide(written).get("k1")


@pytest.mark.parametrize(
    ("lines", "basis", "rejected", "differ", "answer"),
    [
        ([("ada", "mislabeled", "4")], "one vote", True, False, "4"),
        ([("ada", "mislabeled", "4"), ("bob", "fine", "")], "disagreement", False, True, ""),
        ([("bob", "fine", ""), ("ada", "mislabeled", "4")], "disagreement", False, True, ""),
        ([("ada", "mislabeled", "4"), ("bob", "mislabeled", "")], "agreement", True, False, "4"),
        ([("ada", "mislabeled", "4"), ("bob", "mislabeled", "5")], "agreement", True, True, ""),
        ([("ada", "mislabeled", "4"), ("bob", "ambiguous", "")], "agreement", True, True, ""),
        ([("ada", "fine", ""), ("bob", "fine", "")], "agreement", False, False, ""),
        ([("ada", "mislabeled", "4"), ("bob", "unsure", "")], "one vote", True, True, "4"),
        ([("ada", "unsure", ""), ("bob", "unsure", "")], "unsure", False, True, ""),
        ([("ada", "unsure", "")], "unsure", False, False, ""),
        ([("ada", "mislabeled", "4"), ("ada", "fine", "")], "one vote", False, False, ""),
        ([("ada", "mislabeled", "4"), ("bob", "fine", ""), ("bob", "undone", "")], "one vote", True, False, "4"),
        ([("ada", "mislabeled", "4"), ("bob", "fine", ""), ("eve!", "fine", "")], "adjudication", False, True, ""),
        ([("ada", "fine", ""), ("bob", "fine", ""), ("ada!", "mislabeled", "9")], "adjudication", True, False, "9"),
        ([("ada", "mislabeled", "4"), ("bob", "fine", ""), ("eve!", "mislabeled", "")], "adjudication", True, True, ""),
        (
            [("ada", "mislabeled", "4"), ("bob", "fine", ""), ("eve!", "fine", ""), ("eve!", "undone", "")],
            *("disagreement", False, True, ""),
        ),
        (
            [("ada", "fine", ""), ("eve!", "mislabeled", "4"), ("ada", "ambiguous", ""), ("joe!", "undone", "")],
            *("adjudication", True, False, "4"),
        ),
    ],
)
def test_reviewers_together(lines, basis, rejected, differ, answer):
    one = decision(*lines)
    assert (one.basis, one.is_rejected, one.reviewers_differ, one.answer) == (basis, rejected, differ, answer)
    assert one.needs_adjudication == (differ and basis != "adjudication")


def test_withdrawn_verdicts_are_no_decision():
    assert decision(("ada", "fine", ""), ("ada", "undone", "")) is None


def test_exclude_says_on_what_questions_are_left_out_and_keeps_those_on_which_reviewers_differ():
    lines = {
        "q1": [("ada", "mislabeled"), ("bob", "mislabeled")],
        "q2": [("ada", "mislabeled"), ("bob", "fine")],
        "q3": [("ada", "ambiguous")],
        "q4": [("ada", "mislabeled"), ("bob", "fine"), ("eve!", "mislabeled")],
        "q5": [("ada", "unsure")],
        "q6": [("ada", "fine"), ("eve!", "fine"), ("joe!", "ambiguous")],
    }
    written = [
        msgspec.structs.replace(
            verdict(word, key=f"k {name}", question=name, reviewer=who.removesuffix("!"), when=i),
            role="adjudication" if who.endswith("!") else "review",
        )
        for name, given in lines.items()
        for i, (who, word) in enumerate(given)
    ]
    kept, told = exclude([cells([*lines, "q7"])], decide(written))
    assert kept[0].questions == ("q2", "q5", "q7")
    why = "(2 mislabeled, 2 ambiguous; 1 on one vote, 1 on agreement, 2 on adjudication)"
    assert told[0].text == f"4 of 7 questions left out {why}; the mean score of the models goes from 0.429 to 0.333"
    codes = ["questions-excluded", "reviewers-differ", "reviewers-unsure", "adjudicators-differ"]
    assert [(note.code, note.n) for note in told] == list(zip(codes, (4, 1, 1, 1), strict=True))


def test_agreement_counts_the_questions_that_both_reviewed():
    """By hand: 3 of 4 alike; chance (2 x 1 + 2 x 2 + 0 x 1)/16 = .375, kappa = .375/.625."""
    ada = ["mislabeled", "mislabeled", "fine", "fine", "fine"]
    bob = ["mislabeled", "unsure", "fine", "fine", None]
    written = [verdict(word, key=f"k{i}", question=f"q{i}") for i, word in enumerate(ada)]
    written += [verdict(word, key=f"k{i}", question=f"q{i}", reviewer="bob") for i, word in enumerate(bob) if word]
    (one,) = compare_reviewers(decide(written).values())
    assert (one.reviewers, one.n, one.agreement) == (("ada", "bob"), 4, 0.75)
    assert one.kappa == pytest.approx(0.6)
    assert str(one).endswith("of 4 questions, kappa 0.60")


def test_a_file_of_an_earlier_version_is_read(tmp_path):
    """Lines as version 0.1 wrote them, without answer and role: each counts for its reviewer."""
    line = '{"benchmark":"b","question":"q1","key":"k","verdict":"%s","note":"n","reviewer":"%s","when":"%s"}\n'
    path = tmp_path / "v.jsonl"
    path.write_text(line % ("mislabeled", "ada", moment(1)) + line % ("fine", "bob", moment(2)))
    (one,) = load(path).values()
    assert (one.basis, one.is_rejected) == ("disagreement", False)


@pytest.mark.parametrize("exists", [False, True])
def test_a_file_in_a_folder_that_nobody_may_write_takes_no_verdict(tmp_path, exists):
    (tmp_path / "own").mkdir()
    if exists:
        (tmp_path / "own" / "v.jsonl").write_text("")
    with sealed(tmp_path / "own") as folder:
        with pytest.raises(
            InputError, match="v.jsonl: cannot be written: Permission denied; name a file with --verdicts"
        ):
            check_writable(folder / "v.jsonl")
        assert (folder / "v.jsonl").exists() == exists


def test_a_check_of_the_file_leaves_no_trace(tmp_path):
    check_writable(tmp_path / "v.jsonl")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "v.jsonl").write_text("{}\n")
    check_writable(tmp_path / "v.jsonl")
    assert (tmp_path / "v.jsonl").read_text() == "{}\n"
