"""Kind of truth: hand-written files and replies."""

from __future__ import annotations

import pytest

from howsure.errors import InputError
from howsure.prompts import Instruction, parse_space
from howsure.prompts.instructions import FILES, load_packaged, parse_instructions, require_reviewed

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


def test_a_file_is_read_as_it_is_written():
    text = """
[[instruction]]
id = "odd"
text = 'A "quoted" \\ line é.'
after = "x"
translations.de = "Größe"
reviewed = true
"""
    (odd,) = parse_instructions(text)
    assert odd == Instruction("odd", 'A "quoted" \\ line é.', after="x", translations={"de": "Größe"}, reviewed=True)


def test_no_run_asks_what_nobody_has_read():
    waiting = (MINE, Instruction("new", "Choose."))
    with pytest.raises(InputError, match="not reviewed: new; read them and set reviewed = true"):
        parse_space("multiple-choice", instructions=waiting)
    (one,) = parse_space("multiple-choice", instructions=waiting[:1]).dimension("instruction").values
    assert (one.name, one.content, one.asks) == ("mine", "Pick one of {labels}.", "label")
