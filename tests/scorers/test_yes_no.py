"""Yes and no: cases judged by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.awkward_answers import cases, read_table, score_or_none, scored

AWKWARD = Path(__file__).with_name("awkward_yes_no.tsv")


@pytest.mark.parametrize(("spec", "question", "target", "completion", "wanted"), cases("yes-no"))
def test_awkward_answers(spec, question, target, completion, wanted):
    assert score_or_none(spec, completion, target, question) == wanted


@pytest.mark.parametrize(("answer", "question", "completion"), read_table(AWKWARD, 3))
def test_awkward_completions_are_read_as_a_person_reads_them(answer, question, completion):
    text = completion.removeprefix("cut:").replace("⏎", "\n")
    read = scored("yes-no", text, "yes", question, truncated=completion.startswith("cut:")).answer
    assert read == (None if answer == "-" else answer)


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("Oui, bien sûr.", "yes"),
        ("はい。", "yes"),
        ("不是", "no"),
        ("No one knows.", None),
        ("No doubt about it", None),
        ("Yes/No", None),
        ("maybe", "maybe"),
        ("\\boxed{\\text{no}}", "no"),
        ("That is not true.", "no"),
        ("Yes. On reflection, the answer is no.", "no"),
        ("true or false", None),
        ("Noah", None),
        ("yesterday", None),
    ],
)
def test_what_is_read(completion, answer):
    assert scored("yes-no", completion, "yes").answer == answer


def test_a_target_that_is_neither_is_refused():
    with pytest.raises(ValueError, match="the target 'blue' is neither yes nor no"):
        scored("yes-no", "Yes", "blue")
