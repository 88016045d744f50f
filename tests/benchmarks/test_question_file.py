"""Kinds of truth: hand-written files and the messages that people should see; what GSM8K says of itself (shared)."""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from howsure.benchmarks import BENCHMARKS, load
from howsure.benchmarks.question_file import from_file
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.sample.experiment import load_experiment
from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.scorer_parts import ScoringItem

GSM8K = Path(__file__).resolve().parents[2] / "../shared/data/gsm8k"

ROWS = [
    {"q": "One and one?", "a": "So #### 2", "n": "x1"},
    {"q": "Ten and\nten?", "a": "That, #### 1 #### 20.0", "n": "x2"},
]
MAP = {"question": "q", "target": "a", "target_after": "####", "answer": "numeric"}


def write(path, rows):
    if path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n", encoding="utf-8")
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8-sig") as f:
            writer = csv.DictWriter(f, rows[0])
            writer.writeheader()
            writer.writerows(rows)
            f.write("\r\n")
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize(
    ("targets", "scorer"),
    [
        (["18", "1,250", "-0.5"], "numeric"),
        ([3, 4.5], "numeric"),
        (["yes", "No", "yes"], "yes-no"),
        (["True", "false"], "yes-no"),
        (["18", "eighteen"], None),
        (["18", "3,5"], None),
        (["yes", "no", "Oslo"], None),
    ],
)
def test_a_file_whose_targets_are_numbers_or_yes_and_no_without_a_scorer_says_so(tmp_path, targets, scorer):
    write(tmp_path / "t.jsonl", [{"question": f"Which is {i}?", "answer": one} for i, one in enumerate(targets)])
    spec = {"file": "t.jsonl", "question": "question", "target": "answer"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HowsureWarning)
        for more in ({}, {"scorer": "normalised"}, {"answer": "contains"}):
            load(spec | more, base=tmp_path)
    lines = [str(one.message) for one in caught]
    kind = {"numeric": "a number", "yes-no": "yes or no"}.get(scorer)
    what = f"t.jsonl: every right answer is {kind}, and no scorer is named: contains reads an answer as a text"
    assert lines == ([f"{what}; write scorer: {scorer}, or scorer: contains to keep it"] if scorer else [])


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_the_three_formats_say_the_same(tmp_path, suffix):
    write(tmp_path / f"sums{suffix}", ROWS)
    benchmark = load({"file": f"sums{suffix}", **MAP}, base=tmp_path)
    assert benchmark.name == "sums"
    assert [(q.text, q.target) for q in benchmark.questions] == [("One and one?", "2"), ("Ten and\nten?", "20")]
    assert benchmark.questions[0].id == hashlib.sha256(b"One and one?\x002").hexdigest()[:12]
    assert benchmark.extract("I get 20.") == "20"
    assert benchmark.source["sha256"] == hashlib.sha256((tmp_path / f"sums{suffix}").read_bytes()).hexdigest()
    assert benchmark.source["file"] == f"sums{suffix}"
    assert str(tmp_path) not in str(benchmark.source)


def test_every_key_of_a_spec(tmp_path):
    write(tmp_path / "sums.jsonl", ROWS)
    spec = {"file": str(tmp_path / "sums.jsonl"), **MAP, "id": "n", "cluster": "q", "name": "addition"}
    benchmark = load(spec | {"system": "Be brief.", "template": "Q: {question}"})
    assert benchmark.name == benchmark.source["name"] == "addition"
    assert [q.id for q in benchmark.questions] == ["x1", "x2"]
    assert list(benchmark.clusters) == ["One and one?", "Ten and\nten?"]
    assert benchmark.prompt.messages(benchmark.questions[0]) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Q: One and one?"},
    ]
    assert str(tmp_path) not in str(benchmark.source)


def test_the_language_of_a_file_decides_how_its_numbers_are_read(tmp_path):
    rows = [
        {"q": "Wie viel ist 1,5 + 2?", "a": "3,5"},
        {"q": "Was kostet es?", "a": "1.234"},
        {"q": "Und?", "a": "2,500"},
    ]
    write(tmp_path / "de.jsonl", rows)
    spec = {"file": "de.jsonl", "question": "q", "target": "a", "scorer": "numeric", "language": "de"}
    benchmark = load(spec, base=tmp_path)
    assert [question.target for question in benchmark.questions] == ["3.5", "1234", "2500"]
    assert benchmark.source["language"] == "de"
    context = CompletionContext(language=benchmark.language)
    assert benchmark.extract_in_context("Antwort: 1.234,50", context=context) == "1234.5"
    with pytest.raises(InputError, match="language is 'German'"):
        load(spec | {"language": "German"}, base=tmp_path)


def test_a_question_keeps_its_id_wherever_it_stands(tmp_path):
    ids = []
    for rows in (ROWS, ROWS[::-1]):
        write(tmp_path / "sums.jsonl", rows)
        ids.append({q.text: q.id for q in load({"file": "sums.jsonl", **MAP}, base=tmp_path).questions})
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("answer", "targets", "read", "alternatives"),
    [
        ("numeric", [3, 2.5], ["3", "2.5"], ()),
        ("direction", ["NW", "east"], ["north-west", "east"], 7),
        ("direction", ["West.", "east"], ["west", "east"], ("north", "east", "south")),
        ("choice", ["b", "(E)"], ["B", "E"], ("A", "C", "D", "E")),
        ("exact", [True, False, True], ["true", "false", "true"], ("false",)),
        ("exact", ["New  York", "Oslo"], ["New  York", "Oslo"], ()),
    ],
)
def test_kinds_of_answers(tmp_path, answer, targets, read, alternatives):
    write(tmp_path / "b.jsonl", [{"q": f"Q{i}: (A) one, (B) two", "a": target} for i, target in enumerate(targets)])
    benchmark = load({"file": "b.jsonl", "question": "q", "target": "a", "answer": answer}, base=tmp_path)
    assert [q.target for q in benchmark.questions] == read
    first = benchmark.questions[0]
    if isinstance(alternatives, int):
        assert len(first.alternatives) == alternatives
        assert first.target not in first.alternatives
    else:
        assert first.alternatives == alternatives
    canonical = [" ".join(q.target.split()).casefold() if answer == "exact" else q.target for q in benchmark.questions]
    assert [benchmark.extract(q.target) for q in benchmark.questions] == canonical


GOOD = '{"q": "1 + 1", "a": 2}\n'
BROKEN = {
    "bad json": (GOOD + "{'q': 1}", "b.jsonl, line 2: not JSON: .*; correct or remove the line"),
    "deep json": (GOOD + "[" * 100_000, "b.jsonl, line 2: not JSON"),
    "no object": (GOOD + "\n[1]", "b.jsonl, line 3: not a JSON object"),
    "missing field": (GOOD + '{"q": "x", "b": 2}', "b.jsonl, line 2: unknown field 'a'; known: b, q"),
    "null": ('{"q": null, "a": 2}', "b.jsonl, line 1: empty field 'q'; fill it in"),
    "blank": ('{"q": " ", "a": 2}', "b.jsonl, line 1: empty field 'q'"),
    "list": ('{"q": "x", "a": [2]}', "b.jsonl, line 1: field 'a' holds no text"),
    "nan": ('{"q": "x", "a": NaN}', "b.jsonl, line 1: field 'a' holds no text"),
    "words": (
        GOOD + '{"q": "x", "a": "two"}',
        "b.jsonl, line 2: target 'two' is not a number; correct the row, or name",
    ),
    "long target": ('{"q": "x", "a": "' + "two " * 50 + '"}', r"target 'two two .*\.\.\.' is not a number"),
    "empty": ("", "b.jsonl: no questions in the file"),
    "blank lines": ("\n\n", "b.jsonl: no questions in the file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_jsonl_says_where_and_what_to_do(tmp_path, name):
    content, message = BROKEN[name]
    (tmp_path / "b.jsonl").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message) as raised:
        load({"file": "b.jsonl", "question": "q", "target": "a", "answer": "numeric"}, base=tmp_path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q,a\n1 + 1,2\n1 + 2,3,4\n", "b.csv, line 3: 3 fields where the header has 2; quote fields"),
        ('q,a\n1 + 1,2\n"1 + 2,3\n', "b.csv, line 3: not CSV"),
        ("q,b\n1 + 1,2\n", "b.csv, line 2: unknown field 'a'; known: b, q"),
        ("q,a\n1 + 1,\n", "b.csv, line 2: empty field 'a'"),
        ("q,a\n", "b.csv: no questions in the file"),
        ("", "b.csv: no header; give a table with a header"),
    ],
)
def test_broken_csv(tmp_path, content, message):
    (tmp_path / "b.csv").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load({"file": "b.csv", "question": "q", "target": "a", "answer": "numeric"}, base=tmp_path)


def test_truncated_parquet(tmp_path):
    path = write(tmp_path / "b.parquet", ROWS * 1)
    whole = path.read_bytes()
    for size in (0, 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="b.parquet: not a whole parquet file: .*; write or download it again"):
            load({"file": "b.parquet", **MAP}, base=tmp_path)


def test_parquet_names_the_row(tmp_path):
    write(tmp_path / "b.parquet", [*ROWS, {"q": "x", "a": "5"}])
    with pytest.raises(InputError, match=r"b.parquet, row 3: no '####' before the target in '5'; correct target_after"):
        load({"file": "b.parquet", **MAP}, base=tmp_path)


def test_rows_that_repeat_a_question_are_kept_with_one_warning(tmp_path):
    """Six rows by hand: two repeat the first one, in other words than the JSON."""
    rows = [
        {"q": "1 + 1", "a": 2},
        {"q": "x", "a": 2},
        {"a": 2, "q": "1 + 1"},
        {"q": "1 + 1", "a": 2},
        {"q": "1 + 1", "a": 3},
    ]
    write(tmp_path / "b.jsonl", rows)
    with pytest.warns(HowsureWarning) as raised:
        loaded = load({"file": "b.jsonl", "question": "q", "target": "a", "answer": "numeric"}, base=tmp_path)
    (message,) = [str(warning.message) for warning in raised]
    assert message == "b.jsonl: kept, but odd: 2 that repeat a question (line 3, line 4)"
    texts = [("1 + 1", "2"), ("x", "2"), ("1 + 1", "2"), ("1 + 1", "2"), ("1 + 1", "3")]
    assert [(q.text, q.target) for q in loaded.questions] == texts
    first = loaded.questions[0].id
    assert [loaded.questions[i].id for i in (2, 3)] == [f"{first}-2", f"{first}-3"]
    assert message.endswith(loaded.source["odd"])


def test_few_rows_with_empty_last_choices_are_named_and_many_are_not(tmp_path):
    spec = {"file": "b.csv", "question": "q", "correct": "r", "incorrect": ["w1", "w2", "w3"]}
    lines = [f"q{i},1,2,3,{'' if i == 7 else 4}" for i in range(20)]
    (tmp_path / "b.csv").write_text("\n".join(["q,r,w1,w2,w3", *lines]))
    with pytest.warns(HowsureWarning, match=r"kept, but odd: 1 with fewer choices than the others.*\(line 9\)"):
        loaded = load(spec, base=tmp_path)
    assert [len(q.choices) for q in loaded.questions].count(3) == 1
    lines = [f"q{i},1,2,3,{'' if i % 2 else 4}" for i in range(20)]
    (tmp_path / "b.csv").write_text("\n".join(["q,r,w1,w2,w3", *lines]))
    assert [len(q.choices) for q in load(spec, base=tmp_path).questions].count(3) == 10


def test_rows_with_equal_choices_are_kept_with_a_warning_and_genotypes_are_not_equal(tmp_path):
    choices = [["Rome", "Oslo"], ["Rome", "rome."], ["AA", "Aa", "aa"], ["x²", "x2"], ["No", " No"]]
    write(tmp_path / "b.jsonl", [{"q": f"q{i}", "c": c, "a": 0} for i, c in enumerate(choices)])
    with pytest.warns(HowsureWarning, match=r"kept, but odd: 2 with two equal choices \(line 2, line 5\)"):
        loaded = load({"file": "b.jsonl", "question": "q", "choices": "c", "target": "a"}, base=tmp_path)
    assert [q.text for q in loaded.questions] == [f"q{i}" for i in range(5)]


def test_rows_that_cannot_be_read_are_left_out_when_asked(tmp_path):
    rows = [{"q": "x", "c": ["1", "2"], "a": "B"}, {"q": " ", "c": ["1", "2"], "a": "A"}, {"q": "y", "c": ["1", "2"], "a": "Z"}, {"q": "z", "c": [], "a": "A"}]  # fmt: skip
    write(tmp_path / "b.jsonl", rows)
    spec = {"file": "b.jsonl", "question": "q", "choices": "c", "target": "a"}
    with pytest.raises(InputError, match="b.jsonl, line 2: empty field 'q'"):
        load(spec, base=tmp_path)
    with pytest.warns(
        HowsureWarning, match=r"3 of 4 rows are left out: 2 cannot be read \(line 2, line 4\); 1 with a target"
    ):
        loaded = load(spec | {"skip_invalid": True}, base=tmp_path)
    assert [(q.text, q.target, q.alternatives) for q in loaded.questions] == [("x", "B", ("A",))]
    with pytest.raises(InputError, match="unknown field 'z'"):
        load(spec | {"skip_invalid": True, "question": "z"}, base=tmp_path)
    with pytest.raises(InputError, match="skip_invalid is 'yes'; give true or false"):
        load(spec | {"skip_invalid": "yes"}, base=tmp_path)


def test_duplicate_ids(tmp_path):
    write(tmp_path / "b.jsonl", [{**row, "n": 7} for row in ROWS])
    with pytest.raises(InputError, match="b.jsonl: same id '7' in line 1 and line 2; give each row its own id"):
        load({"file": "b.jsonl", **MAP, "id": "n"}, base=tmp_path)


def test_missing_and_unknown_files(tmp_path):
    with pytest.raises(
        InputError, match="b.jsonl: cannot read the benchmark: No such file .*; paths start from the exp"
    ):
        load({"file": "b.jsonl", **MAP}, base=tmp_path)
    with pytest.raises(InputError, match="give another path"):
        load({"file": str(tmp_path / "b.jsonl"), **MAP})
    (tmp_path / "b.docx").write_text("")
    with pytest.raises(InputError, match=r"b.docx: unknown file type '.docx'; known: .csv, .json"):
        load({"file": "b.docx", **MAP}, base=tmp_path)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"file": "", "question": "q", "target": "a"}, "needs 'file'; add file: PATH"),
        ({"file": "b.jsonl", **MAP, "targt": "a"}, "unknown key 'targt'; did you mean 'target'"),
        ({"file": "b.jsonl", **MAP, "answer": "number"}, "unknown scorer 'number'"),
        ({"file": "b.jsonl", **MAP, "template": "hi"}, "the template has no place for the question"),
        ({"file": "b.jsonl", **MAP, "id": 5}, "id is 5; give text"),
        ({"file": ["b.jsonl"], **MAP}, "file is .*; give text"),
        ({"size": 3}, "neither a name nor a file"),
        ({"name": 3}, "neither a name nor a file"),
        ("test.jsonl", "'test.jsonl' is a file, not a name; name the fields"),
        ({"name": "population", "sized": 3}, "unknown option of benchmark population 'sized'; did you mean 'size'"),
        ({"name": "population", "size": 0}, "size is 0; give 1 to 1,000,000"),
        ({"name": "population", "size": True}, "size is True; give a whole number"),
        ({"name": "population", "seed": "x"}, "seed is 'x'; give a whole number"),
        ({"name": "directions-small", "size": 3}, "unknown option of benchmark directions-small 'size'; there is no"),
    ],
)
def test_wrong_specs(spec, message):
    with pytest.raises(InputError, match=message):
        load(spec)


def test_unknown_benchmark():
    with pytest.raises(UnknownNameError, match="unknown benchmark 'directions-smal'; did you mean 'directions-small'"):
        load("directions-smal")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_built_in_reads_its_own_answers(name):
    benchmark = load(name)
    assert benchmark.name == benchmark.source["name"] == name
    assert len({q.id for q in benchmark.questions}) == len(benchmark.questions)
    for question in benchmark.questions:
        assert benchmark.extract(question.target) == question.target
        assert question.target not in question.alternatives


def test_population_is_right_distinct_and_extensible():
    few, many = (
        load({"name": "population", "size": 50, "seed": 3}),
        load({"name": "population", "size": 3000, "seed": 3}),
    )
    assert few.questions == many.questions[:50]
    assert len({q.text for q in many.questions}) == 3000
    for question in many.questions:
        words = question.text.removeprefix("What is ").removesuffix("?").split(" + ")
        assert sum(map(int, words)) == int(question.target)
    other = load({"name": "population", "size": 3000, "seed": 4})
    assert len({q.id for q in many.questions} & {q.id for q in other.questions}) < 5


def test_population_goes_on_after_a_repeated_sum():
    """Some of 40,000 draws from 98 million sums repeat: about 8 are expected, and none is kept twice."""
    assert len({q.id for q in load({"name": "population", "size": 40_000}).questions}) == 40_000


def test_import_stays_light():
    code = "import sys, howsure.benchmarks; print([m for m in ('numpy', 'scipy', 'pyarrow', 'duckdb') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.shared
@pytest.mark.skipif(not GSM8K.exists(), reason="needs the data folder ../shared")
def test_gsm8k_as_it_stands_in_an_experiment():
    text = "{file: test.jsonl, question: question, target: answer, target_after: '####', answer: numeric, name: gsm8k}"
    benchmark = load(yaml.safe_load(text), base=GSM8K)
    assert len(benchmark.questions) == 1319
    assert [q.target for q in benchmark.questions[:4]] == ["18", "3", "70000", "540"]
    lines = (GSM8K / "test.jsonl").read_text(encoding="utf-8").splitlines()
    for question, row in zip(benchmark.questions, map(json.loads, lines), strict=True):
        assert benchmark.extract(row["answer"]) == question.target


# Choices

LIST = [
    {"q": "Capital of Italy?", "c": ["Paris", "Rome", "Oslo"], "a": 1},
    {"q": "Of Peru?", "c": ["Lima", "Bern"], "a": 0},
]
CHOICES = {"file": "b.jsonl", "question": "q", "choices": "c", "target": "a"}


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".csv"])
def test_choices_in_a_list(tmp_path, suffix):
    rows = [row | ({"c": json.dumps(row["c"])} if suffix == ".csv" else {}) for row in LIST]
    write(tmp_path / f"b{suffix}", rows)
    benchmark = load(CHOICES | {"file": f"b{suffix}"}, base=tmp_path)
    first, second = benchmark.questions
    assert (first.choices, first.target, first.alternatives) == (("Paris", "Rome", "Oslo"), "B", ("A", "C"))
    assert (second.choices, second.target, second.alternatives) == (("Lima", "Bern"), "A", ("B",))
    assert benchmark.prompt.messages(first)[0]["content"] == "Capital of Italy?\nA. Paris\nB. Rome\nC. Oslo"
    assert benchmark.extract("The answer is (B).") == "B"
    assert benchmark.source["choices"] == "c"
    assert benchmark.source["scorer"] == "choice"


@pytest.mark.parametrize(
    ("targets", "spec"),
    [
        (["B", "A"], {}),
        (["b", "a"], {}),
        (["Rome", "Lima"], {}),
        (["So: Rome", "So: Lima"], {"target_after": "So:"}),
        (["2", "1"], {"target_is": "number"}),
        ([1, 0], {"target_is": "index"}),
    ],
)
def test_a_target_is_a_letter_a_place_or_a_text(tmp_path, targets, spec):
    write(tmp_path / "b.jsonl", [row | {"a": target} for row, target in zip(LIST, targets, strict=True)])
    assert [q.target for q in load(CHOICES | spec, base=tmp_path).questions] == ["B", "A"]


def test_places_counted_from_one_are_told_by_the_last(tmp_path):
    """3 of 3 choices is no place counted from 0."""
    write(tmp_path / "b.jsonl", [row | {"a": target} for row, target in zip(LIST, ["3", "1"], strict=True)])
    assert [q.target for q in load(CHOICES, base=tmp_path).questions] == ["C", "A"]


def test_choices_with_labels_of_their_own_and_in_columns(tmp_path):
    rows = [{"q": "Capital of Italy?", "c": {"text": ["Paris", "Rome"], "label": ["1", "2"]}, "a": "2"}]
    write(tmp_path / "b.jsonl", rows)
    assert load(CHOICES, base=tmp_path).questions[0].target == "B"
    rows = [{"q": "Capital of Italy?", "x": "Paris", "y": "Rome", "z": "", "a": "Rome"}]
    write(tmp_path / "b.csv", rows)
    benchmark = load(CHOICES | {"file": "b.csv", "choices": ["x", "y", "z"]}, base=tmp_path)
    assert (benchmark.questions[0].choices, benchmark.questions[0].target) == (("Paris", "Rome"), "B")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": 7}, "b.jsonl, line 1: target '7' is none of the choices; correct the row"),
        (
            {"c": ["1", "2", "3"], "a": "2"},
            "the targets can be read in several ways: index, number, text; say which: target_is: index",
        ),
        ({"c": "Paris"}, "b.jsonl, line 1: field 'c' holds no list of choices; give a list, or several fields"),
        ({"c": {"A": "Rome", "B": "Oslo"}}, "holds no list of choices; .* several fields: choices: \\[c.A, c.B\\]"),
        ({"c": ["Rome", None]}, "line 1: a choice is empty or no text"),
        ({"c": ["Rome"]}, "line 1: 1 choices; give 2 to 26"),
    ],
)
def test_broken_choices(tmp_path, change, message):
    write(tmp_path / "b.jsonl", [LIST[0] | change])
    with pytest.raises(InputError, match=message):
        load(CHOICES, base=tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"choices": 3}, "choices is 3; name a field, or list several"),
        ({"choices": "d"}, "b.jsonl, line 1: unknown field 'd'"),
        ({"answer": "exact"}, "answers to choices are read as 'exact'; leave answer out"),
        ({"template": "{question}"}, "the template has no place for the choices; write {choices}"),
        ({"target_is": "letters"}, "unknown kind of target 'letters'; did you mean 'letter'"),
    ],
)
def test_wrong_specs_of_choices(tmp_path, change, message):
    write(tmp_path / "b.jsonl", LIST)
    with pytest.raises(InputError, match=message):
        load(CHOICES | change, base=tmp_path)
    with pytest.raises(InputError, match="target_is goes with choices; name the field"):
        load({"file": "b.jsonl", "question": "q", "target": "a", "target_is": "text"}, base=tmp_path)


def _load(tmp_path, rows, **keys):
    write(tmp_path / "b.jsonl", rows)
    return load({"file": "b.jsonl", "question": "q", "target": "a", **keys}, base=tmp_path)


def _score(benchmark, completion, i=0):
    question = benchmark.questions[i]
    item = ScoringItem("b", question.id, "v", question.stored_target, CompletionContext(question.text))
    return benchmark.scorer.score(completion, item).score


def test_open_answers_are_searched_where_no_scorer_is_named(tmp_path):
    benchmark = _load(tmp_path, [{"q": "Who wrote Emma?", "a": "Jane Austen"}])
    assert benchmark.source["scorer"] == "contains"
    assert benchmark.questions[0].target == "Jane Austen"
    assert [_score(benchmark, text) for text in ("**Jane Austen**", "The answer is Jane Austen.", "Brontë")] == [
        1,
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("rows", "keys"),
    [
        ([{"q": "Which country?", "a": ["USA", "United States"]}], {}),
        ([{"q": "Which country?", "a": '["USA", "United States"]'}], {}),
        ([{"q": "Which country?", "a": {"text": ["USA", "United States"], "answer_start": [1, 2]}}], {}),
        ([{"q": "Which country?", "a": "USA", "b": "United States", "c": ""}], {"target": ["a", "b", "c"]}),
    ],
)
def test_several_answers_may_be_right(tmp_path, rows, keys):
    benchmark = _load(tmp_path, rows, **keys)
    question = benchmark.questions[0]
    assert (question.target, question.accepted) == ("USA", ("United States",))
    assert question.stored_target == '["USA", "United States"]'
    assert [_score(benchmark, text) for text in ("the U.S.A.", "The United States.", "Canada")] == [1, 1, 0]


@pytest.mark.parametrize(
    ("scorer", "target", "right", "wrong"),
    [
        ("f1", "Jane Austen", "Jane Austen", "Emma"),
        ("list", ["red", "blue"], "blue and red", "red"),
        ("list:ordered", "red, blue", "red, blue", "blue, red"),
        ("yes-no", True, "Yes, because it is.", "No."),
        ("contains", "Austen", "I would say Jane Austen wrote it", "Emma"),
        ("regex:#### (.*)", "x", "so\n#### X", "so\n#### y"),
        ("maths", "\\frac{1}{2}", "It is $0.5$", "It is $2$"),
        ("exact", "x", "X", "x."),
    ],
)
def test_every_scorer_scores_a_benchmark(tmp_path, scorer, target, right, wrong):
    benchmark = _load(tmp_path, [{"q": "What?", "a": target}], scorer=scorer)
    try:
        assert (_score(benchmark, right), _score(benchmark, wrong)) == (1, 0)
    finally:
        benchmark.scorer.close()


def test_demonstrations_of_lists_show_items(tmp_path):
    rows = [{"q": "Which?", "a": ["red", "blue"]}, {"q": "Who?", "a": ["Trinidad and Tobago", "Cuba"]}]
    assert [q.target for q in _load(tmp_path, rows, scorer="list").questions] == [
        "red, blue",
        '["Trinidad and Tobago", "Cuba"]',
    ]


@pytest.mark.parametrize(
    ("rows", "keys", "message"),
    [
        ([{"q": "?", "a": "x"}], {"scorer": "normalized"}, "benchmark, scorer: .*; did you mean 'normalised'"),
        ([{"q": "?", "a": "x"}], {"scorer": "regex:("}, "benchmark, scorer: the pattern '\\(' cannot be read"),
        ([{"q": "?", "a": "x"}], {"scorer": "f1", "answer": "exact"}, "scorer is 'f1' and answer is 'exact'"),
        ([{"q": "?", "a": "blue"}], {"scorer": "yes-no"}, "b.jsonl, line 1: the target 'blue' is neither yes nor no"),
        ([{"q": "?", "a": "1", "b": "2"}], {"scorer": "numeric", "target": ["a", "b"]}, "the scorer numeric takes one"),
        ([{"q": "?", "a": "1"}], {"target": [3]}, "target is \\[3\\]; name a field, or list several"),
        ([{"q": "?", "a": "1", "c": [1, 2]}], {"choices": "c", "scorer": "f1"}, "answers to choices are read as 'f1'"),
    ],
)
def test_scorers_that_do_not_fit(tmp_path, rows, keys, message):
    with pytest.raises(InputError, match=message):
        _load(tmp_path, rows, **keys)


def test_fields_of_a_file_fill_the_question_and_a_template_that_names_them_is_refused(tmp_path):
    write(tmp_path / "b.jsonl", [{"story": "Ann has {x}.", "meta": {"q": "Who?"}, "a": "Ann"}])
    spec = {"file": "b.jsonl", "question": "{story}\n\n{meta.q}", "target": "a"}
    assert load(spec, base=tmp_path).questions[0].text == "Ann has {x}.\n\nWho?"
    with pytest.raises(
        InputError, match=r"the template has no field \{story\}; put fields of the file into the question"
    ):
        load(spec | {"template": "{story} {question}"}, base=tmp_path)
    plain = '{question} Put it in \\boxed{answer}, or as {{json}}: {"a": 1}.'
    assert load(spec | {"template": plain}, base=tmp_path).prompt.template == plain
    with pytest.raises(InputError, match="unknown field 'meta.p'"):
        load(spec | {"question": "{meta.p}"}, base=tmp_path)


def test_the_right_choice_may_have_a_field_of_its_own_and_then_stands_anywhere(tmp_path):
    """GPQA's form: the right answer is published first, so an order that is kept would be answered by "A"."""
    rows = [
        {"Q": f"{i}?", "Right": f"r{i}", "W 1": f"w{i}", "W 2": f"v{i}", "W 3": "None of the above"} for i in range(200)
    ]
    write(tmp_path / "b.csv", rows)
    spec = {"file": "b.csv", "question": "Q", "correct": "Right", "incorrect": ["W 1", "W 2", "W 3"]}
    questions = load(spec, base=tmp_path).questions
    for question, row in zip(questions, rows, strict=True):
        assert question.choices[ord(question.target) - ord("A")] == row["Right"]
        assert set(question.choices) == set(row.values()) - {row["Q"]}
        assert question.choices[3] == "None of the above"
    counts = [sum(question.target == letter for question in questions) for letter in "ABC"]
    assert all(45 <= count <= 90 for count in counts)
    assert load(spec, base=tmp_path).questions == questions
    others = load(spec | {"shuffle": 1}, base=tmp_path).questions
    assert 80 < sum(a.target != b.target for a, b in zip(questions, others, strict=True)) < 180


@pytest.mark.parametrize("value", [["wrong", "bad"], "['wrong', 'bad']", '["wrong", "bad"]'])
def test_one_field_may_hold_all_wrong_choices(tmp_path, value):
    (tmp_path / "b.jsonl").write_text(json.dumps({"Q": "Which?", "Right": "right", "W": value}) + "\n")
    for wrong in ("W", ["W"]):
        spec = {"file": "b.jsonl", "question": "Q", "correct": "Right", "incorrect": wrong}
        (question,) = load(spec, base=tmp_path).questions
        assert set(question.choices) == {"right", "wrong", "bad"}
        assert question.choices[ord(question.target) - ord("A")] == "right"


def test_a_wrong_choice_that_looks_like_a_list_is_one_choice(tmp_path):
    (tmp_path / "b.jsonl").write_text(json.dumps({"Q": "Which vector?", "Right": "[1, 3]", "W": "[1, 2]"}) + "\n")
    spec = {"file": "b.jsonl", "question": "Q", "correct": "Right", "incorrect": ["W"]}
    (question,) = load(spec, base=tmp_path).questions
    assert set(question.choices) == {"[1, 3]", "[1, 2]"}


def test_several_right_choices_in_a_list_are_refused(tmp_path):
    row = {"Q": "Which?", "Right": ["right", "also right"], "W": ["wrong"]}
    (tmp_path / "b.jsonl").write_text(json.dumps(row) + "\n")
    spec = {"file": "b.jsonl", "question": "Q", "correct": "Right", "incorrect": "W"}
    with pytest.raises(InputError, match="a choice is empty or no text"):
        load(spec, base=tmp_path)


def test_white_space_around_choices_does_not_tell_them_apart(tmp_path):
    row = {"Q": "Which?", "Right": "right\n", "W": [" wrong", "bad"]}
    (tmp_path / "b.jsonl").write_text(json.dumps(row) + "\n")
    spec = {"file": "b.jsonl", "question": "Q", "correct": "Right", "incorrect": "W"}
    benchmark = load(spec, base=tmp_path)
    lines = benchmark.prompt.messages(benchmark.questions[0])[0]["content"].splitlines()
    assert sorted(line[3:] for line in lines[1:4]) == ["bad", "right", "wrong"]
    assert lines[1:4] == [line.strip() for line in lines[1:4]]


@pytest.mark.parametrize("value", ["['Ann', \"Bo's\"]", '["Ann", "Bo\'s"]', "('Ann', \"Bo's\")"])
def test_choices_may_be_a_list_as_text(tmp_path, value):
    write(tmp_path / "b.csv", [{"q": "Who?", "c": value, "a": 1}, {"q": "Who else?", "c": value, "a": 0}])
    spec = {"file": "b.csv", "question": "q", "choices": "c", "target": "a"}
    first, second = load(spec, base=tmp_path).questions
    assert (first.choices, first.target, second.target) == (("Ann", "Bo's"), "B", "A")


def test_a_target_may_flag_the_right_choice(tmp_path):
    rows = [{"q": "1?", "t": {"choices": ["x", "y", "z"], "labels": [0, 0, 1]}}, {"q": "2?", "t": {"choices": ["x", "y"], "labels": [1, 0]}}]  # fmt: skip
    write(tmp_path / "b.jsonl", rows)
    spec = {"file": "b.jsonl", "question": "q", "choices": "t.choices", "target": "t.labels"}
    assert [q.target for q in load(spec, base=tmp_path).questions] == ["C", "A"]
    rows[1]["t"]["labels"] = [1, 1]
    write(tmp_path / "b.jsonl", rows)
    with pytest.raises(InputError, match="is none of the choices"):
        load(spec, base=tmp_path)


def test_strata_and_the_rows_that_are_asked_for(tmp_path):
    rows = [{"q": f"{i}?", "a": "x", "subject": "abc"[i % 3], "level": i % 2} for i in range(12)]
    write(tmp_path / "b.jsonl", rows)
    spec = {"file": "b.jsonl", "question": "q", "target": "a", "strata": ["subject", "level"]}
    loaded = load(spec | {"where": {"subject": ["a", "c"], "level": 1}}, base=tmp_path)
    assert {name: list(values) for name, values in loaded.strata.items()} == {
        "subject": ["a", "c", "a", "c"],
        "level": ["1"] * 4,
    }
    with pytest.raises(InputError, match="unknown value of subject 'd'"):
        load(spec | {"where": {"subject": "d"}}, base=tmp_path)


def test_questions_of_another_file_are_shown_with_their_answers(tmp_path):
    test = [{"q": f"test {i}", "a": "#### 1", "s": "xy"[i % 2]} for i in range(2)]
    dev = [{"q": f"dev {i}", "a": f"so <<1+1=2>>{i}\n#### {i}", "s": "xyz"[i % 3]} for i in range(12)]
    write(tmp_path / "test.jsonl", test)
    write(tmp_path / "dev.jsonl", dev)
    spec = {
        "file": "test.jsonl",
        "question": "q",
        "target": "a",
        "target_after": "####",
        "scorer": "numeric",
        "template": "Q: {question}",
        "shots": 2,
        "shots_file": "dev.jsonl",
        "shots_by": "s",
        "shots_answer": "{a}",
        "shots_replace": [["<<.*?>>", ""], ["^#### ", "Answer: "]],
    }
    benchmark = load(spec, base=tmp_path)
    x, y = (benchmark.prompt.messages(question) for question in benchmark.questions)
    assert x == [
        {"role": "user", "content": "Q: dev 0"},
        {"role": "assistant", "content": "so 0\nAnswer: 0"},
        {"role": "user", "content": "Q: dev 3"},
        {"role": "assistant", "content": "so 3\nAnswer: 3"},
        {"role": "user", "content": "Q: test 0"},
    ]
    assert [turn["content"] for turn in y[::2]] == ["Q: dev 1", "Q: dev 4", "Q: test 1"]
    assert benchmark.prompt.id != load(spec | {"shots": 1}, base=tmp_path).prompt.id
    with pytest.raises(InputError, match="dev.jsonl: 4 questions of 'x' for 5 shots"):
        load(spec | {"shots": 5}, base=tmp_path)
    with pytest.raises(InputError, match="shots without shots_file"):
        load({key: value for key, value in spec.items() if key != "shots_file"}, base=tmp_path)


def test_a_demonstration_never_is_the_question_itself(tmp_path):
    write(tmp_path / "b.jsonl", [{"q": f"q{i}", "a": f"a{i}"} for i in range(3)])
    benchmark = load(
        {"file": "b.jsonl", "question": "q", "target": "a", "shots": 2, "shots_file": "b.jsonl"}, base=tmp_path
    )
    assert [[turn["content"] for turn in benchmark.prompt.messages(q)] for q in benchmark.questions] == [
        ["q1", "a1", "q0"],
        ["q0", "a0", "q1"],
        ["q0", "a0", "q1", "a1", "q2"],
    ]


def test_fields_with_usual_names_need_not_be_named(tmp_path):
    (tmp_path / "q.jsonl").write_text('{"ID": "7", "Question": "1 + 1?", "answer": "2"}\n')
    for spec in ({}, {"question": "Question"}, {"target": "answer"}):
        with pytest.warns(HowsureWarning, match="fields are taken by their names: "):
            benchmark = from_file({"file": "q.jsonl", "scorer": "numeric", **spec}, base=tmp_path)
        (question,) = benchmark.questions
        assert (question.id, question.text, question.target) == ("7", "1 + 1?", "2")
        assert json.loads(benchmark.source["spec"])["target"] == "answer"
    given = {"file": "q.jsonl", "question": "Question", "target": "answer", "scorer": "numeric"}
    assert from_file(given, base=tmp_path).questions[0].id != "7"  # a complete spec stays as it is


def test_fields_of_choices_with_usual_names(tmp_path):
    (tmp_path / "q.jsonl").write_text(
        '{"prompt": "Which?", "options": ["red", "blue"], "label": "B", "right": "green"}\n'
    )
    with pytest.warns(HowsureWarning, match="choices: options"):
        benchmark = from_file({"file": "q.jsonl"}, base=tmp_path)
    assert benchmark.questions[0].choices == ("red", "blue")
    with pytest.warns(HowsureWarning, match="by their names: question: prompt"):
        benchmark = from_file({"file": "q.jsonl", "correct": "right", "incorrect": "options"}, base=tmp_path)
    assert benchmark.questions[0].choices[ord(benchmark.questions[0].target) - ord("A")] == "green"


@pytest.mark.parametrize(
    ("question", "targets", "warns"),
    [
        ("Capital of {}?", "ABCD", True),
        ("Capital of {}? A) Rome B) Oslo C) Bern D) Riga", "ABCD", False),
        ("Capital of {}?\na. Rome\nb. Oslo\nc. Bern", "ABCD", False),
        ("Capital of {}?", "AAAA", False),  # one letter is no key of choices
        ("Capital of {}?", ["A", "B", "Bern", "C"], False),
    ],
)
def test_letters_as_right_answers_without_choices_are_warned_of(tmp_path, question, targets, warns):
    """By hand: no model sees the choices where neither a field nor the question has them."""
    rows = [{"q": question.format(i), "a": target} for i, target in enumerate(targets)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from_file({"file": "q.jsonl", "question": "q", "target": "a"}, base=tmp_path)
    assert ["choices: [A, B, C, D]" in str(one.message) for one in caught] == [True] * warns


@pytest.mark.parametrize(
    ("marks", "target", "right"),
    [
        (("option_1", "option_2", "option_3"), "0", "Rome"),  # a place from 0, though the fields count from 1
        (("A", "B", "C"), "(b)", "Oslo"),
        (("a", "b", "c"), "C.", "Bern"),
        (("Option A", "Option B", "Option C"), "Oslo", "Oslo"),
    ],
)
def test_fields_with_a_choice_each_are_taken_where_the_first_target_names_one(tmp_path, marks, target, right):
    cities = dict(zip(marks, ("Rome", "Oslo", "Bern"), strict=True))
    write(tmp_path / "q.csv", [{"question": "Where?", "answer": target} | cities])
    with pytest.warns(HowsureWarning, match=rf"choices: \[{marks[0]}, "):
        (question,) = from_file({"file": "q.csv"}, base=tmp_path).questions
    assert question.choices[ord(question.target) - ord("A")] == right


@pytest.mark.parametrize(
    ("row", "change", "what"),
    [
        ({"A": "Rome", "B": "Oslo", "answer": "A,B"}, {}, "choices: [A, B], or name a scorer"),
        ({"A": "Rome", "B": "Oslo", "answer": "A) Rome"}, {}, "choices: [A, B], or name a scorer"),
        ({"A": "Rome", "B": "Oslo", "answer": "1"}, {"question": "question", "target": "answer"}, "choices: [A, B]"),
        ({"answer": "Rome", "wrong_1": "Oslo", "wrong_2": "Bern"}, {}, "incorrect: [wrong_1, wrong_2]"),
        ({"answer": "Rome", "Incorrect Answer 1": "Oslo"}, {}, "incorrect: [Incorrect Answer 1]"),
        ({"A": "Rome", "B": "Oslo", "answer": "A,B"}, {"scorer": "normalised"}, None),
        ({"A": "Rome", "B": "Oslo", "answer": "A,B"}, {"question": "{question}\n{A} or {B}?"}, None),
        ({"A": "Rome", "answer": "Rome"}, {}, None),
    ],
)
def test_fields_of_choices_that_no_model_sees_are_warned_of(tmp_path, row, change, what):
    """By hand: such a row was asked as an open question, without a word, and its target was a letter or a number."""
    write(tmp_path / "q.csv", [{"question": "Where?"} | row])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from_file({"file": "q.csv"} | change, base=tmp_path)
    told = [str(one.message) for one in caught if "models do not see them" in str(one.message)]
    assert len(told) == (what is not None)
    assert all(what in text for text in told)


@pytest.mark.parametrize(
    ("change", "warns"),
    [
        ({}, True),
        ({"scorer": "contains"}, True),
        ({"target": "answer.value", "scorer": "numeric"}, False),
        ({"scorer": "drop"}, False),  # whose published targets are objects
    ],
)
def test_right_answers_that_are_objects_are_warned_of(tmp_path, change, warns):
    """By hand: 1200 was wrong where the target is {"value": 1200}, as no answer is this text."""
    answer = {"value": 1200} if change.get("scorer") != "drop" else {"number": "1200", "spans": [], "date": {}}
    write(tmp_path / "q.jsonl", [{"question": "600 + 600?", "answer": answer}])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from_file({"file": "q.jsonl", "question": "question", "target": "answer"} | change, base=tmp_path)
    assert ["name a field of theirs: target: answer.value" in str(one.message) for one in caught] == [True] * warns


def test_fields_without_usual_names_are_listed_at_the_line_of_the_experiment(tmp_path):
    (tmp_path / "q.jsonl").write_text('{"frage": "1 + 1?", "antw": "2"}\n')
    file = tmp_path / "exp.yaml"
    file.write_text("models: [simulated/medium]\nbenchmark: {file: q.jsonl}\n")
    fields = "no field is called question or target; its fields are frage, antw"
    with pytest.raises(InputError, match=rf"exp.yaml:2: benchmark: .*q.jsonl: {fields}; .*question: FIELD"):
        load_experiment(file)
    file.write_text("models: [simulated/medium]\nbenchmark: {file: q.jsonl, targt: antw}\n")
    with pytest.raises(UnknownNameError, match=r"exp.yaml:2: benchmark: unknown key 'targt'; did you mean 'target'"):
        load_experiment(file)
