"""Kind of truth: hand-written files and replies."""

from __future__ import annotations

import tomllib

import pytest

from howsure.errors import InputError
from howsure.prompts import (
    Instruction,
    build_paraphrase_request,
    parse_paraphrases,
    parse_space,
)
from howsure.prompts.instructions import FILES, format_instructions, load_packaged, parse_instructions, require_reviewed

MINE = Instruction("mine", "Pick one of {labels}.", style="terse", asks="label", reviewed=True)


@pytest.mark.parametrize("name", FILES)
def test_packaged_phrasings_are_reviewed_distinct_and_varied(name):
    entries = load_packaged(name)
    assert len(entries) >= 12
    assert len({" ".join(e.text.casefold().split()) for e in entries}) == len(entries)
    assert len({e.style for e in entries}) >= 6
    assert all(e.reviewed and e.style for e in entries)
    assert require_reviewed(entries) == entries


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[instruction", "f.toml: not TOML: .*; correct the line"),
        ("", "f.toml: no instructions; write"),
        ("instruction = 3", "f.toml: no instructions"),
        ('[[instruction]]\nid = "a"', "f.toml, instruction 1: it has no text; write text"),
        ('[[instruction]]\ntext = "a"', "it has no id"),
        ('[[instruction]]\nid = "a"\ntext = "b"\nstile = "c"', "unknown key 'stile'; did you mean 'style'"),
        ('[[instruction]]\nid = "a"\ntext = "b"\nasks = "c"', "asks is 'c'; write one of label, working, brief"),
        ('[[instruction]]\nid = "a"\ntext = "b"\ntranslations.xx = "c"', "instruction 1: unknown language 'xx'"),
        ('[[instruction]]\nid = "a"\ntext = "b"\ntranslations = "c"', "translations is no table of texts; write"),
        ('[[instruction]]\nid = "a"\ntext = "b"\n[[instruction]]\nid = "c"\ntext = " B"', "instruction 2: the same as 'a'; remove one"),
    ],
)  # fmt: skip
def test_broken_files_of_instructions(text, message):
    with pytest.raises(InputError, match=message):
        parse_instructions(text, where="f.toml")


def test_files_are_read_back_as_they_were_written():
    odd = Instruction("odd", 'A "quoted" \\ line\nand 7 – \x7f é.', after="x", translations={"de": "Größe", "zh": "量"})
    entries = (MINE, odd)
    assert parse_instructions(format_instructions(entries)) == entries
    assert tomllib.loads(format_instructions(entries))["instruction"][1]["reviewed"] is False


def test_no_run_asks_what_nobody_has_read():
    waiting = parse_instructions(format_instructions([MINE, Instruction("new", "Choose.")]))
    with pytest.raises(InputError, match="not reviewed: new; read them and set reviewed = true"):
        parse_space("multiple-choice", instructions=waiting)
    kept = parse_space("multiple-choice", instructions=waiting[:1]).dimension("instruction").values
    assert [(v.name, v.content, v.asks) for v in kept] == [("mine", "Pick one of {labels}.", "label")]


def test_a_request_for_paraphrases_says_what_must_stay():
    (message,) = build_paraphrase_request(MINE.text, 5)
    assert message["role"] == "user"
    assert "Write 5 other ways" in message["content"]
    assert "Keep {labels} as it stands" in message["content"]
    assert "in braces" not in build_paraphrase_request("Answer.", 5)[0]["content"]
    for text, n, why in (("x", 0, "0 phrasings; ask for 1 to 100"), (" ", 3, "the instruction is empty")):
        with pytest.raises(InputError, match=why):
            build_paraphrase_request(text, n)


def test_paraphrases_wait_for_review_and_repeat_nothing():
    reply = (
        'Here you are:\n1. Choose among {labels}.\n2) "Say {labels}, please."\n3. choose some of {LABEL}\n'
        "4. Pick ONE of {labels}!\n- choose among {labels}\n5. " + "{labels} " * 100 + "\n6. See\u200b {labels}.\n7. Known {labels}."
    )  # fmt: skip
    found = parse_paraphrases(reply, MINE, [Instruction("k", "known {labels}")])
    assert [e.text for e in found.phrasings] == [
        "Choose among {labels}.",
        "Say {labels}, please.",
    ]
    assert all((e.of, e.style, e.asks, e.reviewed) == ("mine", "terse", "label", False) for e in found.phrasings)
    assert len({e.id for e in found.phrasings} | {"mine"}) == 3
    assert [why.split(":")[0] for why in found.refused] == [
        "not a line of the list",
        "it has other fields in braces",
        "there already",
        "there already",
        "longer than 600 characters",
        "it has characters that cannot be seen",
        "there already",
    ]
    thought = parse_paraphrases("<think>\n1. A draft.\n</think>\n1. Pick {labels} now.", MINE)
    assert [e.text for e in thought.phrasings] == ["Pick {labels} now."]
    with pytest.raises(InputError, match="no new phrasing: not a line of the list: 'Sorry.'; request phrasings again"):
        parse_paraphrases("Sorry.", MINE)
    with pytest.raises(InputError, match="no new phrasing: it is empty"):
        parse_paraphrases("", MINE)


LISTS = [
    '["One of {labels}?", "Say {labels}."]',
    '```json\n["One of {labels}?",\n "Say {labels}."]\n```',
    "```\n1. One of {labels}?\n2. Say {labels}.\n```",
    '```json\n[\n  "One of {labels}?",\n  "Say {labels}.",\n',
    "<think>[1]</think>\n* One of {labels}?\n* **Say {labels}.**",
]


@pytest.mark.parametrize("reply", LISTS)
def test_replies_in_json_and_in_fences_are_read(reply):
    found = parse_paraphrases(reply, MINE)
    assert [e.text for e in found.phrasings] == ["One of {labels}?", "Say {labels}."]
    assert found.refused == ()
