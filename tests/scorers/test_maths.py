"""Kinds of truth: another program's output, that of math-verify, through our subprocess; hand-read cases."""

from __future__ import annotations

import pytest
from helpers.scored_runs import context, judged

from howsure.errors import InputError
from howsure.rescoring.rescore import build_run_scorer
from howsure.scorers import maths
from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.scorer_parts import ScoringItem

GSM8K = "She makes 9 * 2 = $<<9*2=18>>18 every day.\n#### 18"


@pytest.mark.parametrize(
    ("completion", "target", "score"),
    [
        (r"So it is $\boxed{\frac{1}{2}}$.", "0.5", 1.0),
        (r"$x=\frac{\sqrt2}{2}$", r"\frac{1}{\sqrt{2}}", 1.0),
        ("The answer is $(x+1)^2$", "x^2+2x+1", 1.0),
        ("The answer is $1+x$", "$x + 2$", 0.0),
        (r"\boxed{\{1,2\}}", r"\{2,1\}", 1.0),
        ("The answer is 18", GSM8K, 1.0),
        ("The answer is 17", GSM8K, 0.0),
        (r"\boxed{(1,2]}", r"The interval is $\boxed{(1,2]}$.", 1.0),
        ("Answer: Evelyn", r"\text{Evelyn}", 1.0),
        (r"Answer: 45^\circ", "45", 1.0),
        ("x = 5", "5", 1.0),
    ],
)
def test_maths(completion, target, score):
    pytest.importorskip("math_verify")
    answer, found = maths.compare_maths(completion.replace("\\n", "\n"), target)
    assert (found, answer is not None) == (score, True)


def test_what_is_too_long_or_cut_has_no_answer():
    pytest.importorskip("math_verify")
    assert judged("maths", "The answer is " + "(" * 2000, "1") == (0.0, None)
    assert judged("maths", "Then $x = 3$ and", "3", known=CompletionContext(truncated=True)) == (0.0, None)
    assert judged("maths", "", "3") == (0.0, None)


def test_maths_of_nothing_is_no_answer_and_a_target_of_nothing_is_told():
    pytest.importorskip("math_verify")
    assert maths.compare_maths("Who knows?", "18") == (None, 0.0)
    with pytest.raises(ValueError, match="the target '' is no mathematics"):
        maths.compare_maths("18", "")


@pytest.mark.long
def test_maths_that_never_ends_is_an_error_of_the_row_in_any_thread(monkeypatch):
    pytest.importorskip("math_verify")
    import threading

    monkeypatch.setattr(maths, "SECONDS", 0.5)
    found = []

    def run():
        chosen = build_run_scorer("maths", context())
        asked = ScoringItem("b", "q", "v", "3")
        for completion in ("$9^{9^{9^{9}}}$", "$3$", "$3$", "nothing at all"):
            try:
                found.append(chosen.score(completion, asked))
            except Exception as error:  # noqa: BLE001  whatever comes
                found.append(str(error))
        try:
            chosen.score("$3$", ScoringItem("b", "q", "v", ""))
        except ValueError as error:
            found.append(str(error))
        chosen.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(120)
    assert found[0].startswith("it took more than 0.5 s")
    assert found[1:] == [
        (1.0, "3", "whole"),
        (1.0, "3", "whole"),
        (0.0, None, "no mathematics"),
        "the target '' is no mathematics",
    ]


def test_maths_names_the_library_in_its_version_and_the_extra_where_it_is_absent(monkeypatch):
    monkeypatch.setattr(maths.metadata, "version", lambda _: "0.9.0")
    monkeypatch.setattr(maths.util, "find_spec", lambda _: object())
    assert build_run_scorer("maths", context()).version.startswith("math-verify-0.9.0-")
    monkeypatch.setattr(maths.util, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r'not installed; pip install "howsure\[maths\]"'):
        build_run_scorer("maths", context())
