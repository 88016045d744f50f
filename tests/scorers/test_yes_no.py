"""Yes and no: cases judged by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.awkward_answers import cases, read_table, score_or_none, scored
from helpers.cpu_time import LONGEST, measure_best

from howsure.extraction import open_answers
from howsure.extraction.completion_context import CompletionContext
from howsure.scorers.yes_no import read_yes_no

#: Characters that are searched for an abbreviation, for each full stop of a text.
MOST_SEARCHED = 60
AWKWARD = Path(__file__).with_name("awkward_yes_no.tsv")


@pytest.mark.parametrize(("spec", "question", "target", "completion", "wanted"), cases("yes-no"))
def test_awkward_answers(spec, question, target, completion, wanted):
    assert score_or_none(spec, completion, target, question) == wanted


def read_awkward_case(question, completion):
    """Return what is read from a completion of the table, or "-"."""
    text = completion.removeprefix("cut:").replace("⏎", "\n")
    answer = scored("yes-no", text, "yes", question, truncated=completion.startswith("cut:")).answer
    return "-" if answer is None else answer


def test_awkward_completions_are_read_as_a_person_reads_them():
    rows = read_table(AWKWARD, 3)
    assert {row for row in rows if read_awkward_case(*row[1:3]) != row[0]} == {row for row in rows if row[3]}


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("Oui, bien sûr.", "yes"),
        ("はい。", "yes"),
        ("¡Sí! Desde 1960.", "yes"),
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


@pytest.mark.parametrize(
    ("question", "completion", "answer"),
    [
        ("Would it be common?", "It wouldn't be common.", "no"),
        ("Can it rain in May?", "It can rain in May.", "yes"),
        ("Do they need one?", "Longer stays need a visa, so yes, they'd need one.", "yes"),
        ("Is it normal?", "Not at all! It is hot there.", "no"),
        ("Is it allowed?", "The passage says that it is allowed. → Yes.", "yes"),
        ("Does it help?", "**Final decision:** no", "no"),
        ("Does it help?", "To conclude: yes, they play a role.", "yes"),
        ("Did he do it on purpose?", "He did not care. A typical person would say no, he did not.", "no"),
        ("Would people say so?", "Some would say no.", None),
        ("True or false: The Moon is bigger than the Sun.", "The Moon is bigger than the Sun.", "yes"),
        ("True or false: The Moon is bigger than the Sun.", "The Moon is not bigger than the Sun.", "no"),
        ("True or false: The Moon is bigger than the Sun.", "The Sun is bigger than the Moon.", None),
        ("Is it legal?", "No, it is not. This answer is correct.", "no"),
        ("Is it legal?", "Yes, I can help with that! Rules vary a lot.", None),
        ("Is it legal?", "Yes, that's a good question. It is not legal.", "no"),
        ("Is it legal?", "No, I'd rather not answer this.", None),
        ("Is it legal?", "Yes, I can answer that: it is legal.", "yes"),
        ("Will it work?", "I hope it will work.", None),
    ],
)
def test_conclusions_in_other_forms_are_read(question, completion, answer):
    """Judged by hand before they were read."""
    assert scored("yes-no", completion, "yes", question).answer == answer


@pytest.mark.parametrize("unit", ["A. ", "so A. ", "Mr. ", "a.b.c. ", "... ", "it is A. "])
def test_the_search_for_abbreviations_takes_linear_time(unit, monkeypatch):
    """Kind of truth: the characters that are searched, counted. A line of initials once took the square of its length."""
    searched = []

    class CountedPattern:
        def search(self, text, pattern=open_answers._ABBREVIATION):
            searched.append(len(text))
            return pattern.search(text)

    monkeypatch.setattr(open_answers, "_ABBREVIATION", CountedPattern())
    text = "Yes. " + unit * (16_000 // len(unit)) + "so A"
    assert read_yes_no(text)[0] == "yes"
    assert searched
    assert sum(searched) <= MOST_SEARCHED * text.count(".")


@pytest.mark.parametrize(
    ("question", "completion", "answer"),
    [
        ("Did the ship reach the port?", "Unfortunately, it didn't. RMS Star sank on the way.", "no"),
        ("Would a master beat a beginner?", "Almost certainly. Masters rarely lose.", "yes"),
        ("Can a fish climb trees?", "Fish have no limbs. So no, they cannot. Some jump.", "no"),
        ("Can a man born in 1985 have voted in 2000?", "He was 15 then, so the man couldn't have voted.", "no"),
        ("What do 3 books cost?", "Sure! They cost $15.", None),
        ("Do cats drink milk in the wild?", "Milk is rare there. Thus, cats drink no milk in the wild.", "no"),
        ("Do goats feed some animals?", "Wolves hunt goats. So goats feed some animals, although few.", "yes"),
        ("Did the guard open the gate?", "Some say that the guard did not open the gate.", None),
        ("Did the guard open the gate?", "The guard was there. The cook opened the gate.", None),
        ("Did the guard open the gate?", "It rained. The guard only opened the gate of the garden.", None),
        ("Is the bridge longer than the tunnel?", "Both are old. The tunnel is longer than the bridge.", None),
        ("Is the bridge longer than the tunnel?", "Both are old. The bridge may be longer than the tunnel.", None),
        ("Do all goats eat grass?", "Goats differ. Some goats eat grass.", None),
        ("Was the tower built before the bridge was opened?", "The bridge was opened in 1886. It was rebuilt.", None),
        ("Do whales eat fish?", "Fish are rich in fat. Few whales eat fish.", None),
        ("Do whales eat fish?", "Fish are rich in fat. Whales used to eat fish.", None),
        ("Is bamboo used to make paper?", "It is strong. Bamboo is used to make paper.", "yes"),
        ("Did he cause it?", "Some would say yes. The typical judgement is *No*.", "no"),
        ("Is the moon made of cheese?", "No. Is the sun made of rock? Yes. Is the earth flat? No.", "no"),
    ],
)
def test_answers_in_the_words_of_the_question(question, completion, answer):
    """Kind of truth: readings by hand."""
    assert scored("yes-no", completion, "yes", question).answer == answer


@pytest.mark.parametrize(
    ("question", "completion", "answer"),
    [
        ("Do all insects have wings?", "Not all insects have wings: fleas and silverfish have none.", "no"),
        ("Do insects have wings?", "Not all insects have wings: fleas and silverfish have none.", None),
        ("Do all insects have wings?", "Not everyone knows, and I had to look it up.", None),
        ("Would it be possible to row from Oslo to Bergen?", "Both lie on the coast. It would be possible.", "yes"),
        ("Would it be possible to row from Oslo to Chur?", "Chur has no coast. So it is impossible.", "no"),
        ("Could Bach have met Handel?", "They were born in the same year. It is possible.", None),
        ("Is it possible that Bach met Handel?", "It is possible that he did, but nobody knows.", None),
        ("Could I read this book in a day?", "It has 90 pages. That's definitely doable.", "yes"),
        ("Could I read this book in a day?", "It has 900 pages. That's doable only if you skip parts.", None),
        ("Would the guest come again?", "From what she wrote, it is very unlikely.", "no"),
        ("Would the guest come again?", "It is likely to rain.", None),
        ("Is iron heavier than gold?", "Gold is denser, so the estimates point to **no**.", "no"),
        ("Is iron heavier than gold?", "Some say **yes**, some say **no**.", None),
        ("If a quorn is a blim, can a quorn be a zell?", "It can't. No blim is a zell.", "no"),
        ("Is Quito north of Lima?", "Quito lies north of Lima.", "yes"),
        ("Does Ann tell the truth?", "Bob tells the truth and Ann lies.", None),
        ("Is a shark a mammal?", "It's a common belief, but a shark is not a mammal.", "no"),
        ("Is a shark a mammal?", "A shark is not a mammal. (Whales are.)", "no"),
        ("Is a shark a mammal?", "Many think a shark is a mammal, but opinions differ.", None),
    ],
)
def test_answers_by_all_or_likely_or_in_bold(question, completion, answer):
    context = CompletionContext(question=question)
    assert read_yes_no(completion, context)[0] == answer


@pytest.mark.parametrize("unit", [". ", "since ", "since, ", "I say ", "no, "])
def test_a_repeated_sign_takes_linear_time_where_the_question_is_known(unit):
    """Kind of truth: processor time. What stands before a clause was searched for in the square of the length."""
    context = CompletionContext(question="Is Mars the planet with the shortest day?")
    text = unit * (20_000 // len(unit))
    assert measure_best(lambda some: read_yes_no(some, context), text) < LONGEST
