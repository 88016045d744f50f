"""Kinds of truth: files and prompts written by hand; identities of draws that must hold for every question."""

from __future__ import annotations

import json
import re

import pytest
from helpers.prompt_questions import benchmark

from howsure.benchmarks.question import Question
from howsure.errors import HowsureWarning, InputError
from howsure.prompts import draw_variants
from howsure.prompts.instructions import load_question_paraphrases
from howsure.prompts.prompt_texts import load_passages
from howsure.prompts.rendering import choose_passage

SPEC = {
    "space": "multiple-choice", "sample": 40, "seed": 3,
    "dimensions": {"instruction": [{"mine": "Give the label."}], "enumerator": ["capitals"], "order": ["shuffle"], "separator": ["newline"], "wrapper": ["A."]},
}  # fmt: skip


def write(folder, *rows):
    path = folder / "paraphrases.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def drawn(asked, paraphrases=None, **dimensions):
    spec = SPEC | {"dimensions": SPEC["dimensions"] | dimensions}
    return draw_variants(spec, asked, paraphrases=paraphrases)


def test_paraphrases_are_read_by_question(tmp_path):
    rows = [{"id": "q0", "text": "One?", "reviewed": True}, {"id": "q1", "text": "Two?", "reviewed": True}]
    path = write(tmp_path, *rows, {"id": "q0", "text": " Another? ", "reviewed": "true"})
    assert load_question_paraphrases(path) == {"q0": ("One?", "Another?"), "q1": ("Two?",)}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "q0", "text": "One?"}, "nobody has reviewed this paraphrase of question q0; read it and set reviewed"),
        ({"id": "q0", "text": "One?", "reviewed": False}, "nobody has reviewed this paraphrase of question q0"),
        ({"id": "q0", "reviewed": True}, "the row has no text; add text"),
        ({"text": "One?", "reviewed": True}, "the row has no id; add id"),
        ({"id": "x", "text": "Same?", "reviewed": True}, "question x has this paraphrase twice; remove one"),
    ],
)
def test_rows_that_cannot_be_used_are_refused(tmp_path, row, message):
    path = write(tmp_path, {"id": "x", "text": "Same?", "reviewed": True}, row)
    with pytest.raises(InputError, match=message):
        load_question_paraphrases(path)
    with pytest.raises(InputError, match="cannot read the paraphrases: No such file"):
        load_question_paraphrases(tmp_path / "none.jsonl")


def test_each_question_has_one_of_its_wordings_and_the_same_answers():
    asked = benchmark(n=20)
    texts = {question.id: (f"{question.id} anew?", f"{question.id} once more?") for question in asked.questions}
    found = drawn(asked, texts, wording=["original", "paraphrase"])
    plain = drawn(asked)
    counts = {"original": 0, "paraphrase": 0}
    for variant in found.variants:
        kind = variant.values["wording"].split()[0]
        shown = [variant.messages(q)[0]["content"].split("\n\n")[1].split("\n")[0] for q in asked.questions]
        counts[kind] += 1
        for question, text in zip(asked.questions, shown, strict=True):
            assert text in ((question.text,) if kind == "original" else texts[question.id])
            assert variant.read(question, variant.write_answer(question, question.target)).answer == question.target
        if kind == "paraphrase":
            assert len({text.partition(" ")[2] for text in shown}) == 2
            assert variant.record(asked.questions[0])["wording"] == "paraphrase"
    assert min(counts.values()) > 8
    # The other dimensions are drawn as without it, and the ids depend on the texts.
    for one, other in zip(plain.variants, found.variants, strict=True):
        assert one.values == {name: other.values[name] for name in one.values}
    more = drawn(asked, texts | {"q0": ("Other?",)}, wording=["paraphrase"])
    assert {v.id for v in more.variants}.isdisjoint(v.id for v in drawn(asked, texts, wording=["paraphrase"]).variants)


def test_questions_without_a_paraphrase_keep_their_text_and_are_counted():
    asked = benchmark(n=3)
    with pytest.warns(
        HowsureWarning, match="2 of 3 questions have no paraphrase and keep their own text, such as 'q1'"
    ):
        found = drawn(asked, {"q0": ("Anew?",)}, wording=["paraphrase"])
    assert found.variants[0].record(asked.questions[1])["wording"] == "original"
    assert asked.questions[1].text in found.variants[0].messages(asked.questions[1])[0]["content"]
    for texts, dimensions, message in (
        (
            None,
            {"wording": ["paraphrase"]},
            "dimension wording: there are no paraphrases of the questions; name a file",
        ),
        ({"q0": ("x",)}, {}, "dimension wording: paraphrases are given and none is drawn; add dimensions"),
        (
            {"zz": ("x",)},
            {"wording": ["paraphrase"]},
            "none of the questions has a paraphrase; the first .* is of 'zz'",
        ),
    ):
        with pytest.raises(InputError, match=message):
            drawn(asked, texts, **dimensions)


def test_packaged_passages_have_no_numbers_names_or_questions():
    passages = load_passages()
    assert len(set(passages)) == len(passages) >= 20
    for passage in passages:
        assert not re.search(r"\d|[?!:;{}\"]", passage)
        assert not re.search(
            r"\b(?:one|two|three|four|five|ten|hundred|answer|choice|label|you|your)\b", passage.lower()
        )
        inner = re.findall(r"(?<![.] )(?<!^)\b[A-Z]\w+", passage)
        assert inner == [], inner
        assert 80 < len(passage) < 200


def test_a_passage_stands_before_the_question_and_shares_no_word_with_its_answers():
    asked = benchmark(n=8)
    found = drawn(asked, context=["none", "passage"])
    chosen = set()
    for variant in found.variants:
        content = variant.messages(asked.questions[0])[0]["content"]
        parts = content.split("\n\n")
        if variant.values["context"] == "none":
            assert len(parts) == 2
        else:
            assert parts[0] == "Give the label."
            assert parts[1] in load_passages()
            assert parts[2].startswith(asked.questions[0].text)
            chosen |= {variant.messages(q)[0]["content"].split("\n\n")[1] for q in asked.questions}
    assert len(chosen) > 15
    garden = Question("x", "What is between two gardens?", "A", choices=("a fence", "a train", "a bakery"))
    passages = ("They painted the fence.", "The train stopped.", "A kettle whistles.")
    assert {choose_passage(garden, passages, key) for key in "abcdef"} == {"A kettle whistles."}
    assert choose_passage(garden, passages[:2], "a") == ""
    own = drawn(asked, context=[{"mine": ["First one.", "Second one."]}])
    assert {v.messages(asked.questions[0])[0]["content"].split("\n\n")[1] for v in own.variants} == {
        "First one.",
        "Second one.",
    }
    with pytest.raises(InputError, match="3 is no list of texts; write"):
        drawn(asked, context=[{"mine": 3}])
