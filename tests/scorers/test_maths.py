"""Kinds of truth: another program's output, that of math-verify, through our subprocess; hand-read cases in a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.cpu_time import LONGEST, measure_best
from helpers.long_cases import mark_long
from helpers.scored_runs import context

from howsure.errors import InputError
from howsure.extraction.completion_context import CompletionContext
from howsure.rescoring.rescore import build_run_scorer
from howsure.scorers import maths
from howsure.scorers.formula_conclusion import find_conclusion
from howsure.scorers.formula_text import write_formula
from howsure.scorers.scorer_parts import ScoringItem

AWKWARD = Path(__file__).parents[1] / "extraction" / "awkward_maths.tsv"
GSM8K = "She makes 9 * 2 = $<<9*2=18>>18 every day.\n#### 18"


@pytest.mark.parametrize(
    ("completion", "target", "score"),
    [
        (r"So it is $\boxed{\frac{1}{2}}$.", "0.5", 1.0),
        (r"$x=\frac{\sqrt2}{2}$", r"\frac{1}{\sqrt{2}}", 1.0),
        ("$(x+1)^2$", "x^2+2x+1", 1.0),
        ("The answer is $1+x$", "$x + 2$", 0.0),
        (r"\boxed{\{1,2\}}", r"\{2,1\}", 1.0),
        ("The answer is 18", GSM8K, 1.0),
        ("The answer is 17", GSM8K, 0.0),
        (r"\boxed{(1,2]}", r"The interval is $\boxed{(1,2]}$.", 1.0),
        ("$1,250.50", "$1,250.50", 1.0),
    ],
)
def test_maths(completion, target, score):
    pytest.importorskip("math_verify")

    found, answer = maths.compare_maths(completion, target)[::-1]
    assert (found, answer is not None) == (score, True)


def read_awkward_cases():
    """The lines of the table: a target, 1 where the completion is right, 0 where not, "-" where unread, a completion."""
    lines = AWKWARD.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def compare_awkward_case(target, completion):
    """Return the score of a completion of the table, or "-" where no answer is read."""
    answer, score = maths.compare_maths(completion.replace("⏎", "\n"), target)
    return "-" if answer is None else f"{score:.0f}"


@pytest.mark.parametrize("part", mark_long(range(4), after=1))
def test_awkward_cases_are_compared_as_a_person_compares_them(part):
    """Every fourth case each day."""
    pytest.importorskip("math_verify")
    scores = [(case, compare_awkward_case(case[0], case[2])) for case in read_awkward_cases()[part::4]]
    assert [(case, got) for case, got in scores if got != case[1]] == []


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
        (1.0, "3", "math-verify"),
        (1.0, "3", "math-verify"),
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


@pytest.fixture(scope="module")
def maths_scorer():
    """The scorer `maths`."""
    scorer = maths.build_maths_scorer("maths", "test")
    yield scorer
    scorer.close()


@pytest.mark.parametrize("repeated", ["(", "\\frac", "x=", "1 and ", "-", "\\boxed{"])
def test_a_sign_over_and_over_is_too_long_to_parse(repeated, maths_scorer):
    """Kind of truth: the reason that is documented. Without it math-verify takes more than its 5 seconds."""
    text = repeated * (16_000 // len(repeated))
    item = ScoringItem("b", "q", "v", "5", CompletionContext())
    assert maths_scorer.score(f"${text}$", item).rule == "too long to parse"


@pytest.mark.parametrize(
    ("completion", "target"),
    [
        (r"So $x = \boxed{3}$ or $x = \boxed{5}$.", "3, 5"),
        (r"The roots are \(\boxed{2}\) and \(\boxed{-\frac{1}{2}}\).", r"2, -\frac{1}{2}"),
        ("So x > 1 and x ≤ 3.", "(1, 3]"),
        ("So $x > 1$, $x < 3$.", "(1, 3)"),
        ("We need 0 < x and x ≤ 4.\n\nThe domain is **(0, 4]**.", "(0, 4]"),
    ],
)
def test_several_boxes_and_an_interval_in_bold_are_one_answer(completion, target, maths_scorer):
    """Kind of truth: readings by hand."""
    assert maths_scorer.score(completion, ScoringItem("b", "q", "v", target, CompletionContext())).score == 1


@pytest.mark.parametrize(
    ("completion", "question", "target", "score"),
    [
        ("The area is 25π cm². Its circumference is 10π cm.", "What is the area of the circle?", r"25\pi", 1.0),
        ("The area is 25π cm². Its circumference is 10π cm.", "What is the area of the circle?", r"10\pi", 0.0),
        ("The area is 25π cm². Its circumference is 10π cm.", "Find the circumference.", r"10\pi", 1.0),
        ("The slope is $-2$. The intercept is $7$.", "What is the slope of the line?", "-2", 1.0),
        ("The slope is $-2$. The intercept is $7$.", "What is the slope of the line?", "7", 0.0),
    ],
)
def test_a_sentence_on_a_quantity_that_the_question_does_not_name_is_left_out(
    completion, question, target, score, maths_scorer
):
    """Kind of truth: readings by hand."""
    item = ScoringItem("b", "q", "v", target, CompletionContext(question))
    assert maths_scorer.score(completion, item).score == score


@pytest.mark.parametrize("repeated", ["x = 1, y = 2, ", "\n", "\\[ a ", "1 and ", "$1 ", "(1 a", "the aa ", "≈ 1 "])
def test_a_conclusion_is_found_in_time_that_grows_with_the_length_of_the_text(repeated):
    """Kind of truth: the processor time of what would be quadratic, far above that of what is linear."""
    text = repeated * (100_000 // len(repeated))
    assert measure_best(find_conclusion, text) < LONGEST
    assert measure_best(write_formula, text[:10_000]) < LONGEST


@pytest.mark.parametrize(
    ("question", "target", "completion", "score"),
    [
        ("Expand (x + 1)(x + 2).", "x^2+3x+2", "The final result can be written as (x + 1)(x + 2).", 0.0),
        ("Expand (x + 1)(x + 2).", "x^2+3x+2", "(x + 1)(x + 2) = x^2 + 3x + 2", 1.0),
        ("What is the value of 3^2 + 1?", "10", "The sum of 3^2 + 1 is indeed 3^2 + 1.", 0.0),
        ("Simplify 6/8.", "\\frac{3}{4}", "\\boxed{6/8}", 0.0),
        ("Simplify 6/8.", "\\frac{3}{4}", "\\boxed{3/4}", 1.0),
        ("Factor x^2 - 9.", "(x-3)(x+3)", "The answer is x^2 - 9.", 0.0),
        ("Simplify x + 1.", "x+1", "It is x + 1.", 1.0),
    ],
)
def test_the_formula_that_the_question_gives_is_no_answer(question, target, completion, score, maths_scorer):
    """Kind of truth: readings by hand; all of these formulas are equal to their targets."""
    context = CompletionContext(question)
    assert maths_scorer.score(completion, ScoringItem("b", "q", "v", target, context)).score == score


def test_a_formula_before_a_further_question_is_whole_though_the_completion_was_cut(maths_scorer):
    context = CompletionContext("Solve for y: 3y = 21.", truncated=True, stops=("\nQuestion:",))
    item = ScoringItem("b", "q", "v", "7", context)
    assert maths_scorer.score("y = 7.\n\nQuestion: Solve for x: 4x = 8.\nAnswer: x =", item).score == 1
    assert maths_scorer.score("y = 7.\n\nSo, to find", item).answer is None
