"""MT-Bench: turns are questions in the cluster of their conversation; means are those of its show_result.py."""

import json
from pathlib import Path

import pytest

from howsure.errors import HowsureWarning, InputError
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.results.evaluations import read

EXAMPLE = Path(__file__).parent / "examples" / "mt_bench" / "gpt-4_single.jsonl"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def test_turns_are_questions_in_clusters():
    read_rows, notes = rows(EXAMPLE, texts=True)
    vicuna = {row.question: row.score for row in read_rows if row.model == "vicuna-13b"}
    assert vicuna == {
        "81-turn-1": 8, "82-turn-1": 6, "83-turn-1": 9, "81-turn-2": 4, "82-turn-2": None, "83-turn-2": 7.5,
    }  # fmt: skip
    assert all(row.cluster == row.question.partition("-")[0] for row in read_rows)
    assert all(row.generation == 1 for row in read_rows)
    assert any("as in the program's own numbers" in note for note in notes)


def test_a_failed_judge_is_missing_and_no_score():
    (failed,) = [row for row in rows(EXAMPLE)[0] if row.score is None]
    assert (failed.question, failed.status) == ("82-turn-2", "error")
    assert "-1" in failed.error


def test_answers_are_those_that_the_judge_was_shown():
    by_question = {row.question: row for row in rows(EXAMPLE, texts=True)[0] if row.model == "vicuna-13b"}
    assert by_question["81-turn-1"].completion == "Answer 81"
    assert by_question["81-turn-1"].messages == ({"role": "user", "content": "Write about 81."},)
    assert by_question["81-turn-2"].completion == "Short 81"
    assert [turn["role"] for turn in by_question["81-turn-2"].messages] == ["user", "assistant", "user"]


def test_two_judges_are_two_scorers(tmp_path):
    judgments = [
        {"question_id": 81, "model": "m", "judge": [judge, "single-v1"], "score": score, "turn": 1}
        for judge, score in (("gpt-4", 8), ("claude", 6), ("gpt-4", -1))
    ]
    judgments[2]["question_id"] = 82
    judgments.append({**judgments[1], "question_id": 82, "score": 3})
    path = tmp_path / "all_single.jsonl"
    path.write_text("\n".join(map(json.dumps, judgments)))
    assert [row.score for row in rows(path, scorer="gpt-4")[0]] == [8, None]
    assert [row.score for row in rows(path, scorer="claude")[0]] == [6, 3]


def test_judgments_of_pairs_are_refused(tmp_path):
    path = tmp_path / "gpt-4_pair.jsonl"
    pair = {
        "question_id": 81,
        "model_1": "a",
        "model_2": "b",
        "g1_winner": "model_1",
        "g2_winner": "tie",
        "judge": ["j", "pair-v2"],
    }
    path.write_text(json.dumps(pair))
    with pytest.raises(InputError, match="judgments of pairs of models"):
        rows(path)


def test_the_turns_of_a_conversation_are_a_cluster_of_the_cells():
    with pytest.warns(HowsureWarning, match="as in the program's own numbers"):
        (cells,) = read(EXAMPLE)
    assert cells.clusters is not None
    names = dict(zip(cells.questions, cells.clusters, strict=True))
    assert names["81-turn-1"] == names["81-turn-2"] != names["82-turn-1"]
