"""`battles` and `rank --battles`: tables of battles, their words for the winner, and sentences."""

import json

import numpy as np
import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError


def write(path, rows, header="model_a,model_b,winner"):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


ROWS = ["x,y,model_a", "y,x,model_a", "x,y,tie", "x,y,model_a", "y,x,model_b", "x,y,model_b"] * 10


def test_words_for_the_winner_and_names_are_the_same(tmp_path):
    words = {"model_a": 0, "model_b": 1}
    named = [
        ",".join([*row.split(",")[:2], row.split(",")[words[w]] if (w := row.split(",")[2]) in words else "Draw"])
        for row in ROWS
    ]
    first = hs.battles(write(tmp_path / "a.csv", ROWS))
    second = hs.battles(write(tmp_path / "b.csv", named))
    assert first["rating"].tolist() == second["rating"].tolist()
    assert first["win_share"].tolist() == pytest.approx([(10 + 10 + 5 + 10 + 0) / 60, 1 - 35 / 60])


def test_a_column_of_questions_makes_clusters(tmp_path):
    """Each battle written four times says four times as much alone, and the same with its question."""
    alone = hs.battles(write(tmp_path / "a.csv", ROWS))
    four = [f"{row},{i}" for i, row in enumerate(ROWS) for _ in range(4)]
    clustered = hs.battles(write(tmp_path / "b.csv", four, "model_a,model_b,winner,question_id"))
    plain = hs.battles(write(tmp_path / "c.csv", [row for row in ROWS for _ in range(4)]))
    assert clustered["se"].tolist() == pytest.approx(alone["se"].tolist())
    assert plain["se"][0] < 0.55 * alone["se"][0]


def test_rows_without_a_winner_are_left_out_and_counted(tmp_path):
    path = write(tmp_path / "a.csv", [*ROWS, "x,y,", "y,x,"])
    with pytest.warns(HowsureWarning) as caught:
        result = hs.battles(path)
    assert [(one.message.note.code, one.message.note.n) for one in caught] == [("battles-without-winner", 2)]
    assert result["n_battles"].tolist() == [60, 60]


@pytest.mark.parametrize(
    ("rows", "header", "match"),
    [
        (ROWS, "left,right,winner", "model_a"),
        ([*ROWS, "x,y,z"], "model_a,model_b,winner", "winner 'z'"),
        (["x,x,tie"], "model_a,model_b,winner", "itself"),
        (["x,y,tie", "u,v,tie"], "model_a,model_b,winner", "never met"),
    ],
)
def test_what_is_no_battle_is_refused(tmp_path, rows, header, match):
    with pytest.raises(InputError, match=match):
        hs.battles(write(tmp_path / "a.csv", rows, header))


def test_the_sentence_names_who_may_be_the_best_and_the_place(tmp_path):
    rng = np.random.default_rng(1)
    rows = [
        f"m{i},m{j},{'model_a' if rng.random() < 0.75 else 'model_b'}"
        for i in range(3)
        for j in range(3)
        if i != j
        for _ in range(60)
    ]
    lines = str(hs.battles(write(tmp_path / "a.csv", rows))).replace("\n  ", " ").splitlines()
    assert lines[0] == "each of the 3 models may be the best on a"
    assert lines[1].startswith("of two equal models the first wins 7")
    assert lines[1].endswith("which the battles show")


def test_the_command_names_columns_and_a_table_of_battles_names_the_command(howsure, tmp_path):
    path = write(tmp_path / "a.csv", ROWS, "left,right,preferred")
    columns = [part for pair in ("model_a=left", "model_b=right", "winner=preferred") for part in ("--columns", pair)]
    code, out, err = howsure("rank", "--battles", path, *columns, "--format", "json")
    assert code == 0, err
    assert [row["model"] for row in json.loads(out)] == ["x", "y"]
    code, _, err = howsure("rank", write(tmp_path / "b.csv", ROWS))
    assert code == 2
    assert "rank --battles" in err
