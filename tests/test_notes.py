"""Notes as values: merged by code, rendered by templates, printed by the command line."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.noted import noted

import howsure
from howsure.cli import main
from howsure.notes import Note, ignore_notes, merge_notes, read_templates, warn
from howsure.store.manifest import StoredNote

#: Functions that take the code of a note first, and its facts by name.
TAKE_FACTS = {"note", "_make_note", "_note_stages", "_warn_of_variants"}


class Anything:
    """A fact that takes every format, and writes its name."""

    def __init__(self, name):
        self.name = name

    def __format__(self, _form):
        return f"<{self.name}>"

    def __repr__(self):
        return f"<{self.name}>"


def list_sites():
    """Yield the file, the codes and the names of the facts of each call in src that makes a note; None if computed."""
    for file in sorted(Path(howsure.__file__).parent.rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or not call.args:
                continue
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            first = call.args[0]
            given = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
            codes = [one.value for one in given if isinstance(one, ast.Constant)]
            codes = [code for code in codes if isinstance(code, str) and code.replace("-", "").isalpha()]
            if name == "Note" and codes:
                given = [*(one.value for one in call.keywords if one.arg == "facts"), *call.args[4:5]]
                facts = set() if not given else None
                if given and isinstance(given[0], ast.Dict) and None not in given[0].keys:
                    facts = {key.value for key in given[0].keys}
                yield file, codes, facts
            elif name in TAKE_FACTS and codes:
                yield file, codes, None


def test_each_code_that_is_used_has_a_template_and_each_template_is_used():
    codes = {code for _, used, _ in list_sites() for code in used}
    texts = [file.read_text(encoding="utf-8") for file in Path(howsure.__file__).parent.rglob("*.py")]
    assert codes <= read_templates().keys()
    assert [code for code in read_templates() if not any(f'"{code}"' in text for text in texts)] == []


def test_facts_of_each_site_are_the_words_in_braces_of_its_template():
    for file, codes, facts in list_sites():
        for code in codes if facts is not None else ():
            assert (file.name, code, facts) == (file.name, code, set(read_templates()[code].fields) - {"n"})


@pytest.mark.parametrize("code", read_templates())
def test_each_template_is_a_sentence_for_one_and_for_several(code):
    template = read_templates()[code]
    facts = {name: Anything(name) for name in template.fields if name != "n"}
    for n in (1, 2):
        text = Note(code, n=n, facts=facts).text
        assert not set("{}|") & set(text)
        assert all(f"<{name}>" in text for name in facts)
    assert template.severity in {1, 2, 3}
    assert template.help.endswith(".")


def test_notes_of_one_code_are_one_with_the_sum_and_the_first_place():
    notes = [Note("graded-cells", name, (name,), n) for name, n in (("a", 3), ("b", 1), ("b", 1), ("c", 1))]
    [note] = merge_notes([*notes, Note("graded-cells", "d", ("d",), 2)])
    assert str(note) == "a and 3 more: 7 cells have scores that are not 0 or 1: only their mean is kept"
    assert (note.n, note.benchmarks, len(note.parts)) == (7, ("a", "b", "c", "d"), 4)
    assert merge_notes([note, notes[0]]) == [note]
    assert replace(note, parts=()).where == "a"


def test_a_sentence_with_other_facts_is_that_of_the_first():
    notes = [Note("cells-without-score", where, n=n, facts={"total": 10 * n}) for where, n in (("a", 1), ("b", 2))]
    end = "of 10 cells have no score, but eval-arena needs all of them"
    assert [str(note) for note in merge_notes(notes)] == [f"a and 1 more: 1 {end} (in the first)"]
    same = [replace(note, where="a") for note in notes]
    assert [str(note) for note in merge_notes(same)] == [f"a: 1 {end} (and 1 more of this kind)"]
    example = [Note("no-paraphrase", n=n, facts={"total": 5, "example": str(n)}) for n in (1, 2)]
    assert merge_notes(example)[0].text.startswith("3 of 5 questions")


def test_texts_of_other_writers_are_notes_of_their_own():
    assert [
        str(note) for note in merge_notes([Note("run-warning", facts={"text": text}) for text in ("few", "old", "few")])
    ] == ["few", "old"]


def test_a_note_is_stored_with_its_sentence_and_one_of_no_known_code_is_read_as_that():
    note = Note("same-run", "b.log", ("x",), 2, {"other": "a.log"})
    stored = StoredNote.of_note(note)
    assert stored.to_note() == note
    unknown = StoredNote(code="of-the-future", where="b.log", text="it is new").to_note()
    assert str(unknown) == "b.log: it is new"


def test_a_code_can_be_ignored_and_other_notes_stay():
    with noted() as notes, ignore_notes("no-samples"):
        warn(Note("no-samples"))
        warn(Note("given-twice", "a"))
    assert notes == [Note("given-twice", "a")]


@pytest.fixture
def five_notes(tmp_path):
    """A run folder whose manifest has a note of each of five codes, one of them twice."""
    from helpers.stored_rows import open_run, row

    codes = ("given-twice", "no-samples", "no-samples", "lost-journal", "same-model", "not-binary")
    facts = {"model": "m", "what": "it", "others": "m"}
    with open_run(tmp_path / "run") as folder:
        folder.append([row(f"q{i}", score=float(i % 2)) for i in range(4)])
    notes = [
        {"code": code, "where": f"{i}.log", "facts": {name: facts[name] for name in read_templates()[code].fields}}
        for i, code in enumerate(codes)
    ]
    (tmp_path / "run/manifest.json").write_text(json.dumps({"schema": 2, "source_notes": notes}))
    return str(tmp_path / "run")


def run_command(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    assert ended.value.code == 0
    return out, err


def test_the_command_line_prints_a_line_for_each_of_the_three_most_severe_codes(five_notes, capsys):
    _, err = run_command(capsys, "score", five_notes)
    lines = [line.removeprefix(f"howsure: warning: {five_notes}: ") for line in err.splitlines()]
    assert [line.partition(": ")[0] for line in lines] == ["3.log", "5.log", "1.log and 1 more", "howsure"]
    assert lines[-1] == "howsure: and 2 more: --verbose"


def test_verbose_prints_every_note_with_its_code(five_notes, capsys):
    _, err = run_command(capsys, "score", five_notes, "--verbose")
    codes = [line.rpartition(" [")[2] for line in err.splitlines()]
    assert codes == ["lost-journal]", "not-binary]", "no-samples]", "no-samples]", "same-model]", "given-twice]"]


def test_json_has_notes_as_records(five_notes, capsys):
    out, err = run_command(capsys, "score", five_notes, "--format", "json")
    assert json.loads(out)[0]["n_questions"] == 4
    records = json.loads(err)["notes"]
    assert list(records[0]) == ["code", "where", "benchmarks", "n", "facts", "text"]
    assert [(one["code"], one["where"]) for one in records][:2] == [
        ("lost-journal", f"{five_notes}: 3.log"),
        ("not-binary", f"{five_notes}: 5.log"),
    ]


def test_codes_are_explained(capsys):
    out, _ = run_command(capsys, "explain", "lost-journal")
    assert " ".join(out.split()).startswith("lost-journal: SQLite keeps its last rows in a file beside the database")
    out, _ = run_command(capsys, "explain", "notes", "--format", "json")
    assert [row["column"] for row in json.loads(out)] == sorted(read_templates())
