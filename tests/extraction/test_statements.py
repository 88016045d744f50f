"""Where a completion states its answer. Kind of truth: an independent slow version, the markers one by one."""

from __future__ import annotations

import random
import re

import pytest

from howsure.extraction import statements

PARTS = [
    *("#", "####", "#####", "\\boxed{", "\\BOXED {", "\\fbox{", "<answer>", "<ANSWER>", "</answer>", "A:", "A", "*A*:"),
    *(
        "**A**:",
        "__A:",
        "    A:",
        "     A:",
        "\t\t**A**:",
        "\n",
        "\n",
        "\n",
        " ",
        "answer",
        "Answer",
        "anſwer",
        "answers",
    ),
    *(" is", " would be", " isn't", "are", ":", "=", " (x y)", " (####)", " (<answer>)", " (A:)", " to", " of x y"),
    *("ans:", "Final:", "[[5]]", "<choice>", "final_", "_"),
    *(" to answer to answer", " 5", "B", "}", ".", "é", "*", "_", '"', "x" * 250),
]


def by_every_marker(text):
    """The last marker that is no heading, of all from the left."""
    last = None
    for marker in statements._MARKER.finditer(text):
        below = text[marker.end() : marker.end() + statements.LONGEST].partition("\n")
        if not (marker["hashes"] and statements._HEADING.match(below[0]) and below[2].strip()):
            last = marker
    return last


@pytest.mark.parametrize("seed", [1, 7, 20, 100])
def test_the_last_marker_is_the_one_that_a_search_from_the_left_ends_with(seed):
    rng = random.Random(seed)
    found = 0
    for _ in range(2000):
        text = "".join(rng.choices(PARTS, k=rng.randint(1, 14)))
        wanted = by_every_marker(text)
        got = (statements._find_markers(text) or [None])[-1]
        assert (wanted and (wanted.end(), wanted.groups())) == (got and (got.end(), got.groups())), text
        found += got is not None
    assert 500 < found < 1900


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("The answer is 7.\nThe answer is ...", "7"),
        ("The answer is (E).\nThe answer is", "(E)"),
        ("The answer is ... H", "H"),
        (r"Answer: $\frac{11}{2}$" + "\n\n" + r"Answer: $\frac{11}{2", r"$\frac{11}{2}$"),
        (r"\boxed{5} or so. \boxed{1", "5"),
        (r"\boxed{5", "5"),
        ("The answer is", ""),
        ('{"answer": "B", "explanation": "The answer A, is wrong"}', "B"),
        ('{"reasoning": "3 + 4", "final_answer": 7, "sure": true}', "7"),
        ("I compared both.\n[[B]]", "B"),
        ("Ans: B", "B"),
        ("Final: B", "B"),
        ("<choice>B</choice>", "B"),
        ("the_answer = 5", None),
        ("x[[0]", None),
        ("semifinal: B. Plans: C", None),
    ],
)
def test_a_statement_with_content_counts_in_each_of_its_forms(text, statement):
    assert statements.find_statement(text) == statement


ENDS = ("answer is", "Answer is", "answer:", "#### ", "wrong answer is", "WRONG answer:", "answer to the answer is", "18")  # fmt: skip
WORDS = ("18", "$5", "(B)", "west", "not", "1,5", "B.", "3.5", "A:", "18.", "is", "answer", "#", "éanswer is", "\n", "  ", ".")  # fmt: skip


def test_the_commonest_ends_are_read_as_all_others(monkeypatch):
    rng = random.Random(3)
    texts = [
        " ".join([*rng.choices(ENDS + WORDS, k=rng.randint(0, 4)), rng.choice(ENDS), *rng.choices(WORDS, k=2)])
        for _ in range(4000)
    ] + [" ".join([*rng.choices(ENDS + WORDS, k=2), rng.choice(ENDS), rng.choice(WORDS)]) for _ in range(2000)]
    short = sum(statements._PLAIN.fullmatch(text, max(text.rfind("answer"), 0)) is not None for text in texts)
    got = [statements.find_statement(text) for text in texts]
    monkeypatch.setattr(statements, "_PLAIN", re.compile("(?!)"))
    assert got == [statements.find_statement(text) for text in texts]
    assert short > 500


def test_what_is_said_after_the_last_thought_counts():
    assert statements.remove_reasoning("a</think>b</THOUGHT>c<think>d") == "c"
    assert statements.remove_reasoning("a < b > c") == "a < b > c"
    assert statements.remove_reasoning("</think>" * 20_000 + "x") == "x"


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 11. The answer is 28. I'm not sure which one it is.",
        "It's either 6 or 2, depending on how you read it.",
        "The answer is either B or C.",
        "Yes. So the answer is yes. No, birds differ. So the answer is no. Both answers are possible.",
        "\\boxed{3}\n\nOr \\boxed{5}. It can be either of the two.",
        "The answer is A. The answer is B. I can't decide which.",
        "3, or perhaps 4. Either of them could be meant.",
        "The answer is 4. The answer is 5. It is impossible to say which of them is right.",
        "It must be either yes or no.",
        "The answer is $3$. The answer is $4$. I am unable to tell which is meant.",
    ],
)
def test_an_end_that_leaves_the_answer_open(text):
    assert statements.ends_undecided(text)


@pytest.mark.parametrize(
    "text",
    [
        "It is either 11 or 28. Rows are multiplied, so it is 28.",
        "It is either 11 or 28, but rows are multiplied: 28",
        "I'm not sure which one is meant, but I'd go with B.",
        "The answer is C. It is either a solid or a liquid at that temperature.",
        "The answer is B, since both answers above are wrong.",
        "The number is smaller than either of the two. The answer is 3.",
        "The answer is D: both methods are possible.",
        "Both A and B are correct.",
        "The doctor can't tell which organ it is. The answer is A.",
        "If you roll a die, it is either odd or even. The answer is 1/2.",
        "The answer is 7. Are you sure?",
        "It is hard to tell which is older, so the answer is C.",
        "The answer is yes.",
        "",
    ],
)
def test_an_end_that_does_not_leave_the_answer_open(text):
    assert not statements.ends_undecided(text)
