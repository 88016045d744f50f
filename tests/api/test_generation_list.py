"""Single generations: a folder, a log and a table written by hand, of which every row is known."""

import json
import unicodedata

import pytest

import howsure as hs
from howsure.store.responses import RunFolder
from howsure.store.schema import Response

HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202eright to left\u202c \x9b31m\x7f \ud7ff\ue000 a\rb"


def response(question, generation=1, *, model="m", variant="v", **rest):
    fields = {"score": 1.0, "answer": "4", "completion": f"{question} {generation}", "target": "4", "rule": "statement"}
    return Response("sums", model, question, variant, generation, **{**fields, **rest})


ROWS = [
    response("q1"),
    response("q1", 2, score=0.0, answer="5"),
    response("q2", score=0.0, answer=None, status="unparsed", rule="no statement", completion="Who knows?"),
    response("q2", 2, score=None, answer=None, status="error", completion=None, error="timeout: 60 s"),
    response("q3", variant="w", score=None, answer=None, status="unscored"),
    response("q1", model="n", score=0.5),
    response("q2", model="n", score=0.4, answer="3"),
]
KINDS = ["correct", "wrong", "unparsed", "failed", "unscored", "in-between", "in-between"]


@pytest.fixture
def folder(tmp_path):
    with RunFolder(tmp_path / "run") as run:
        run.append(ROWS)
        prompts = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 2 + 2?"}]
        run.put_prompts(("sums", q, v, prompts, "4", None) for q in ("q1", "q2", "q3") for v in ("v", "w"))
    return tmp_path / "run"


def keys(result):
    return [(row["model"], row["question"], row["generation"]) for row in result]


def test_kinds(folder):
    """Each row is of the kind that its score, status and answer say, in the order of the folder."""
    result = hs.show(folder, limit=None)
    assert result["kind"].tolist() == KINDS
    assert [one.row for one in result.generations] == ROWS
    assert dict(result.counts) == {"correct": 1, "in-between": 2, "wrong": 1, "unparsed": 1, "unscored": 1, "failed": 1}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"only": "wrong"}, [1]),
        ({"only": "in-between"}, [5, 6]),
        ({"only": ["unparsed", "failed"]}, [2, 3]),
        ({"model": "n"}, [5, 6]),
        ({"question": "q2"}, [2, 3, 6]),
        ({"question": ["q1", "q3"]}, [0, 1, 4, 5]),
        ({"variant": "w"}, [4]),
        ({"model": "m", "question": "q1", "only": "wrong"}, [1]),
        ({"benchmark": "sums", "limit": 2}, [0, 1]),
        ({"only": "unscored", "model": "n"}, []),
    ],
)
def test_selection(folder, options, expected):
    """Names and kinds select; the limit takes the first."""
    result = hs.show(folder, **options)
    assert [one.row for one in result.generations] == [ROWS[i] for i in expected]


@pytest.mark.parametrize("name", ["benchmark", "model", "question", "variant"])
def test_unknown_names(folder, name):
    with pytest.raises(hs.UnknownNameError, match=f"unknown {name} 'qq'"):
        hs.show(folder, **{name: "qq"})


def test_wrong_use(folder):
    with pytest.raises(hs.UnknownNameError, match="did you mean 'unparsed'"):
        hs.show(folder, only="unpased")
    with pytest.raises(hs.InputError, match="limit 0"):
        hs.show(folder, limit=0)


def test_one_that_another_source_has(folder, tmp_path):
    """A question of the second folder only is found there, and is not unknown."""
    with RunFolder(tmp_path / "other") as run:
        run.append([response("q9", model="o")])
    assert keys(hs.show([folder, tmp_path / "other"], question="q9")) == [("o", "q9", 1)]


def test_random_selection(folder):
    """The same seed draws the same rows, another one others; all have the same chance."""
    drawn = [tuple(keys(hs.show(folder, limit=2, seed=seed))) for seed in range(60)]
    assert drawn[:5] == [tuple(keys(hs.show(folder, limit=2, seed=seed))) for seed in range(5)]
    assert len({key for pair in drawn for key in pair}) == len(ROWS)


def test_prompts(folder):
    [one] = hs.show(folder, question="q3", prompts=True).generations
    assert one.messages == (("system", "Be brief."), ("user", "What is 2 + 2?"))
    assert not hs.show(folder, question="q3").generations[0].messages


def test_printed(folder):
    """What stands on the terminal of the first rows, as somebody would write it by hand."""
    assert str(hs.show(folder, model="m", question="q2")) == (
        "sums · m · q2 · v · generation 1\n"
        "unparsed, score 0 · rule no statement · target 4\n"
        "    Who knows?\n"
        "\n"
        "sums · m · q2 · v · generation 2\n"
        "failed · rule statement · target 4 · error timeout: 60 s\n"
        "    (there is no completion)\n"
        "\n"
        "all 2 generations; in all 2: 1 unparsed, 1 failed"
    )


def test_folder_of_scores_only(tmp_path):
    """Where no answer was ever parsed, as in a converted table, a wrong generation is not called unparsed."""
    with RunFolder(tmp_path / "run") as run:
        run.append([response(f"q{i}", score=float(i), answer=None, completion=None, rule=None) for i in range(2)])
    assert hs.show(tmp_path / "run")["kind"].tolist() == ["wrong", "correct"]


def test_scores_only(tmp_path):
    table = tmp_path / "scores.csv"
    table.write_text("model,question,score\nm,q,1\n")
    with pytest.raises(hs.InputError, match="scores without completions; give run folders"):
        hs.show(table)


def test_table_beside_folder(folder, tmp_path):
    table = tmp_path / "scores.csv"
    table.write_text("model,question,score\nm,q,1\n")
    with pytest.warns(hs.HowsureWarning, match="left out"):
        assert len(hs.show([folder, table])) == len(ROWS)


def test_first_generations(folder):
    """`generations` of `read` counts scored ones, as in `score`."""
    result = hs.show(hs.read(folder, generations=1))
    assert keys(result) == [("m", "q1", 1), ("m", "q2", 1), ("n", "q1", 1), ("n", "q2", 1)]


def columns_of(character):
    """The columns of a terminal that a character takes, by the Unicode database."""
    return 0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1


def write_table(path, completion):
    row = {"model": "m\x1b[2J", "question": "q", "completion": completion, "target": "t\x1b]8;;x\x07", "score": 0}
    path.write_text(json.dumps(row) + "\n")
    return path


@pytest.mark.parametrize(
    "completion",
    [
        HOSTILE,
        "中文" * 300,
        "A" * 100_000,
        "word " * 5_000,
        "\n".join(map(str, range(900))),
        "\t\t\tx" * 50,
        "e\u0301" * 500,
    ],
    ids=["escapes", "wide", "unbroken", "long", "lines", "tabs", "accents"],
)
@pytest.mark.parametrize("full", [False, True])
def test_terminal(tmp_path, completion, full):
    """Nothing but printed characters and line ends, in 80 columns; a long text begins and ends as it does."""
    text = str(hs.show(write_table(tmp_path / "t.jsonl", completion), full=full))
    lines = text.split("\n")
    assert all(line.isprintable() for line in lines)
    assert max(sum(map(columns_of, line)) for line in lines) <= 80
    if not full:
        assert len(lines) < 50
    shown = "".join(line.strip() for line in lines[2:-2])
    if full and completion.isprintable() and " " not in completion:
        assert shown == completion
    if not full and len(completion) > 8_000:
        assert "characters left out" in shown


def test_escapes_of_the_terminal(tmp_path):
    text = str(hs.show(write_table(tmp_path / "t.jsonl", HOSTILE)))
    assert r"\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202eright to left\u202c" in text
    assert r"m\x1b[2J" in text
    assert r"t\x1b]8;;x\x07" in text
