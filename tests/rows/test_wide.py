"""Tables with a column per model, as spreadsheets have them: the scores are those that a person reads in the file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.long_cases import mark_long

import howsure as hs
from howsure.errors import HowsureWarning, InputError


def read_one(path, **options):
    with pytest.warns(HowsureWarning) as caught:
        [cells] = hs.read(path, **options)
    scores = {
        model: dict(zip(cells.questions, (cells.total[i] / np.maximum(cells.n[i], 1)).tolist(), strict=True))
        for i, model in enumerate(cells.models)
    }
    return scores, [str(one.message) for one in caught]


def test_a_row_per_question_and_a_column_per_model(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text("id,gpt-4,llama 3.1\nq1,1,0\nq2,1,1\nq3,0,NA\n")
    scores, [line] = read_one(path)
    assert scores == {"gpt-4": {"q1": 1, "q2": 1, "q3": 0}, "llama 3.1": {"q1": 0, "q2": 1, "q3": 0}}
    assert "a column per model" in line
    with pytest.warns(HowsureWarning):
        [cells] = hs.read(path)
    assert cells.failed.tolist() == [[0, 0, 0], [0, 0, 1]]


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
@pytest.mark.parametrize(
    "text",
    mark_long(
        [
            "question,a,b\n1,pass,fail\n2,pass,pass\n",
            ",a,b\n1,C,I\n2,C,C\n",
            "task,a_correct,b_correct\n1,yes,no\n2,yes,yes\n",
            "question,category,a,a_stderr,b,b_stderr,tokens,difficulty\n1,x,1,.1,0,.1,17,2\n2,y,1,.2,1,.3,19,3\n",
            "question,a (%),b (%)\n1,100,0\n2,100,100\n",
            "model,1,2\na,1,1\nb,0,1\n",
            "question,a,b\n1,1,0\n2,1,1\nmean,1,0.5\n",
            "question,a,b\n1,1,0\n2,1,1\nTotal,2,1\n",
            "question,a,b\n1,100%,0%\n2,100%,100%\nAverage,100%,50%\n",
            "question,a,b\n1,1,0\n2,1,1\nAverage,1,0.5\nStd,0,0.5\nn,2,2\n",
            "question,acc_a,acc_b\n1,1,0\n2,1,1\n",
            "question,a_acc,b_acc,a_f1,b_f1\n1,1,0,.3,.4\n2,1,1,.5,.6\n",
            "question,acc.a,f1.a,acc.b,f1.b\n1,1,.3,0,.4\n2,1,.5,1,.6\n",
            "question,a,b\n1,1,0\n2,1,1\n3,error,timeout\n",
        ],
        after=5,
    ),
)
def test_shapes_that_say_the_same(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    [cells] = hs.read(path)
    assert (cells.models, cells.questions[:2]) == (("a", "b"), ("1", "2"))
    assert cells.total[:, :2].tolist() == [[1, 1], [0, 1]]
    assert not cells.n[:, 2:].any()
    assert hs.pairs(hs.read(path))["difference"].tolist() == [0.5]


def test_a_question_named_mean_that_is_no_mean_stays(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("word,a,b\nkind,1,0\nrude,1,1\nmean,0,1\n")
    scores, _ = read_one(path)
    assert scores["a"]["mean"] == 0


def test_fields_of_a_nested_column_are_models_with_dots_in_their_names(tmp_path):
    path = tmp_path / "n.jsonl"
    rows = [{"id": i, "scores": {"gpt-4.1": i % 2, "llama-3.1": 1}} for i in range(4)]
    path.write_text("\n".join(map(json.dumps, rows)))
    scores, _ = read_one(path)
    assert scores == {"gpt-4.1": {"0": 0, "1": 1, "2": 0, "3": 1}, "llama-3.1": dict.fromkeys("0123", 1)}


def test_models_whose_names_have_dots_keep_them(tmp_path):
    path = tmp_path / "n.csv"
    path.write_text("id,gpt-3.5,gpt-3.6\n1,1,0\n2,0,0\n")
    assert set(read_one(path)[0]) == {"gpt-3.5", "gpt-3.6"}


def test_scores_of_whole_benchmarks_are_no_questions(tmp_path):
    path = tmp_path / "leaderboard.csv"
    path.write_text("model,mmlu,gsm8k\na,0.71,0.82\nb,0.64,0.9\n")
    with pytest.raises(
        InputError, match="scores such as those in mmlu, gsm8k, and no column for the question; error bars"
    ):
        list(hs.read(path))


def test_columns_of_metrics_are_no_models(tmp_path):
    path = tmp_path / "ragas.csv"
    path.write_text("user_input,faithfulness,answer_relevancy\nx,0.5,0.6\ny,0.1,0.2\n")
    with pytest.raises(InputError, match="name them with --columns question=COLUMN"):
        list(hs.read(path))


def test_rows_of_questions_are_refused_where_variants_are_expected(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("question_id,a,b\n1,1,0\n2,0,0\n")
    with pytest.raises(
        InputError, match="names questions, and with --wide a row is a prompt variant; leave --wide out"
    ):
        hs.read(path, wide=True).cubes()


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_errors_and_the_last_row_are_no_variants(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("prompt,a_acc,a_acc_stderr,b_acc\np1,.5,.01,.25\np2,.7,.02,.35\nmean,.6,.015,.3\n")
    [cube] = hs.read(path, wide=True).cubes()
    assert (cube.models, cube.variants) == (("a", "b"), ("p1", "p2"))


PROMPTS = "Prompt;Llama 8B;Qwen 14B\nkurz;63,7;68,3\nlang;44,1;71,2\nCoT;50,0;66,0\n"


def test_means_of_prompt_wordings_are_no_questions_without_a_word(tmp_path):
    path = tmp_path / "means.csv"
    path.write_text(PROMPTS)
    _, lines = read_one(path)
    assert any("variants --wide" in line for line in lines)
    assert "variants --wide" in str(hs.preview(path))
    path.write_text("Prompt,a,b\np1,1,0\np2,0,1\n")
    _, lines = read_one(path)
    assert not any("--wide" in line for line in lines), "scores of 0 and 1 are those of questions"


def test_the_first_column_as_that_of_the_variants(tmp_path):
    path = tmp_path / "means.csv"
    path.write_text(PROMPTS)
    for options in ({"columns": {"variant": "Prompt"}}, {"wide": True}):
        with pytest.warns(HowsureWarning):
            means = hs.variants(hs.read(path, **options))["mean"]
        assert means.tolist() == pytest.approx([(0.637 + 0.441 + 0.5) / 3, 2.055 / 3])
    with pytest.raises(InputError, match="no column names the question; howsure variants --wide"):
        hs.read(path, columns={"variant": "Prompt"}).cells()
    with pytest.warns(HowsureWarning), pytest.raises(InputError, match="or --wide where"):
        hs.variants(path)


@pytest.mark.filterwarnings("ignore:.*several rows:howsure.errors.HowsureWarning")
def test_a_row_per_model_and_question_with_columns_of_prompt_variants(tmp_path):
    """A sheet per model with a row per question, as people write them by hand."""
    path = tmp_path / "sheet.csv"
    rows = {"A": [(0.25, 0.5), (0.75, 1)], "B": [(0, 0.5), (1, 1)]}
    lines = [f"{m},{i + 1},{short},{long}" for m, each in rows.items() for i, (short, long) in enumerate(each)]
    path.write_text("\n".join(["model,Frage-Nr,kurz,lang", *lines]) + "\n")
    for columns in ({}, {"question": "Frage-Nr"}):
        with pytest.warns(HowsureWarning, match="the prompt variants are the columns kurz, lang"):
            [cube] = hs.read(path, columns=columns).cubes()
        assert (cube.models, cube.questions, cube.variants) == (("A", "B"), ("1", "2"), ("kurz", "lang"))
        assert cube.total.tolist() == [[[0.25, 0.5], [0.75, 1]], [[0, 0.5], [1, 1]]]
    with pytest.raises(InputError, match="howsure variants reads columns that are prompt variants"):
        hs.read(path).cells()
    path.write_text("model,Frage,kurz,lang\nA,F1,1,0\nA,F2,1,1\nB,F1,0,0\nB,F2,1,0\n")
    with pytest.warns(HowsureWarning, match="howsure variants --columns question=Frage"):
        assert hs.read(path)[0].questions == ("kurz", "lang")
    with pytest.warns(HowsureWarning):
        assert hs.read(path, columns={"question": "Frage"}).cubes()[0].questions == ("F1", "F2")


def test_a_thousand_columns_are_read(tmp_path):
    rng = np.random.default_rng(3)
    scores = (rng.random((50, 1000)) < 0.6).astype(int)
    lines = ["id," + ",".join(f"m{i}" for i in range(1000))]
    lines += [f"q{i}," + ",".join(map(str, row)) for i, row in enumerate(scores)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    with pytest.warns(HowsureWarning, match="a column per model"):
        [cells] = hs.read(path)
    order = [cells.models.index(f"m{i}") for i in range(1000)]
    questions = [cells.questions.index(f"q{i}") for i in range(50)]
    assert np.array_equal(cells.total[order][:, questions], scores.T)


#: Two questions with two generations of a model: 1 and 0, and 1 and 1.
REPEATS = [
    "question,run1,run2\na,1,0\nb,1,1\n",
    "question,seed_42,seed_1337\na,1,0\nb,1,1\n",
    "id,score_1,score_2\na,1,0\nb,1,1\n",
    "id,0,1\na,1,0\nb,1,1\n",
    "id,Trial 1 (%),Trial 2 (%)\na,100,0\nb,100,100\n",
    "id,run1_correct,run2_correct,mean,std\na,yes,no,0.5,0.7\nb,yes,yes,1,0\n",
    "question,score,run_1,run_2\na,0.5,1,0\nb,1,1,1\n",
    "model,question,run1,run2\nmine,a,1,0\nmine,b,1,1\n",
    "question,category,mine_run1,mine_run2\na,x,1,0\nb,x,1,1\n",
    "question,run1_mine,run2_mine\na,1,0\nb,1,1\n",
]


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
@pytest.mark.parametrize("text", REPEATS)
def test_columns_with_the_number_of_a_repeat_are_generations_of_one_model(tmp_path, text):
    """They were five models that were compared, or refused with advice by which one of them was read."""
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.warns(HowsureWarning, match="a column per generation.*1"):
        [cells] = hs.read(path)
    assert (cells.models, cells.questions) == (("mine",), ("a", "b"))
    assert (cells.total.tolist(), cells.n.tolist(), cells.total_sq.tolist()) == ([[1, 2]], [[2, 2]], [[1, 2]])
    with pytest.warns(HowsureWarning):
        assert [run.total.tolist() for run in hs.read(path).runs()["mine"]] == [[[1, 1]], [[0, 1]]]


@pytest.mark.parametrize(
    "columns", ["gpt4,gpt5", "llama-7b,llama-8b", "model1,model2", "step100,step200", "v1,v2", "2,4", "run1,baseline"]
)
def test_other_columns_with_numbers_are_models(tmp_path, columns):
    path = tmp_path / "mine.csv"
    path.write_text(f"id,{columns}\na,1,0\nb,1,1\n")
    with pytest.warns(HowsureWarning, match="a column per model"):
        [cells] = hs.read(path)
    assert set(cells.models) == set(columns.split(","))


def test_generations_of_several_models_in_columns(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text("id,gpt-4 run 1,gpt-4 run 2,llama 3 run 1,llama 3 run 2\na,1,0,0,0\nb,1,1,0,1\n")
    with pytest.warns(HowsureWarning, match="a column per generation of gpt-4, llama 3"):
        [cells] = hs.read(path)
    assert (cells.models, cells.total.tolist()) == (("gpt-4", "llama 3"), [[1, 2], [0, 1]])


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_generations_in_nested_columns_and_with_missing_scores(tmp_path):
    path = tmp_path / "nested.jsonl"
    rows = [{"id": "a", "scores": {"run1": 1, "run2": None}}, {"id": "b", "scores": {"run1": 0, "run2": 1}}]
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.warns(HowsureWarning, match="a column per generation"):
        [cells] = hs.read(path)
    assert (cells.n.tolist(), cells.failed.tolist(), cells.total.tolist()) == ([[1, 2]], [[1, 0]], [[1, 1]])


def test_one_generation_that_is_named_as_the_score_is_said_to_be_one_of_several(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("model,question,run1,run2,run3\nm,a,1,0,0\nm,b,1,1,0\n")
    with pytest.warns(HowsureWarning, match="only column 'run1' is read, and not run2, run3"):
        [cells] = hs.read(path, columns={"score": "run1"})
    assert cells.n.tolist() == [[1, 1]]


def test_generations_without_a_column_for_the_question_are_refused(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("run1,run2,run3\n1,0,0\n0,1,0\n")
    with pytest.raises(InputError, match="no column for"):
        hs.read(path).cells()


@pytest.mark.parametrize("columns", ["prompt1,prompt2", "prompt_a,prompt_b", "gpt variant 1,gpt variant 2"])
def test_columns_with_the_number_of_a_prompt_are_variants_of_one_model(tmp_path, columns):
    """A question of two variants has the mean of both; the cube has each, and nothing is said of rows that repeat."""
    path = tmp_path / "gpt.csv"
    path.write_text(f"question,{columns}\nq1,1,0\nq2,1,1\nq3,0,0\n")
    scores, lines = read_one(path)
    assert scores == {"gpt": {"q1": 0.5, "q2": 1, "q3": 0}}
    assert "a column per prompt variant" in lines[0]
    assert not any("several rows" in line for line in lines)
    with pytest.warns(HowsureWarning):
        [cube] = hs.read(path).cubes()
    assert cube.total.tolist() == [[[1, 0], [1, 1], [0, 0]]]
    assert [name[-1] for name in cube.variants] == [columns.split(",")[0][-1], columns[-1]]


def test_prompt_variants_of_several_models_in_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("question,a_prompt1,a_prompt2,b_prompt1,b_prompt2\nq1,1,0,1,1\nq2,1,1,0,0\n")
    scores, [line] = read_one(path)
    assert scores == {"a": {"q1": 0.5, "q2": 1}, "b": {"q1": 1, "q2": 0}}
    assert "of a, b" in line


@pytest.mark.parametrize(
    "columns", ["prompt1,gpt", "gpt prompt1,llama prompt1", "prompts,promptly", "a_prompt1,prompt2"]
)
def test_columns_that_do_not_all_number_prompts_are_models(tmp_path, columns):
    path = tmp_path / "t.csv"
    path.write_text(f"question,{columns}\nq1,1,0\nq2,1,1\n")
    scores, [line] = read_one(path)
    assert len(scores) == 2
    assert "a column per model" in line


@pytest.mark.parametrize(
    "columns", ["rater1,rater2,rater3", "annotator_a,annotator_b,annotator_c", "Judge 1,Judge 2,Judge 3"]
)
def test_columns_of_people_who_score_the_same_answers_are_no_models(tmp_path, columns):
    path = tmp_path / "t.csv"
    path.write_text(f"question,{columns}\nq1,1,0,0\nq2,1,1,0\n")
    with pytest.raises(InputError, match="who score the same answers; --columns .*score=.* reads one of them"):
        hs.read(path).cells()
    first = columns.split(",")[0]
    scores, _ = read_one(path, columns={"score": first})
    assert scores == {"t": {"q1": 1, "q2": 1}}


@pytest.mark.parametrize("metric", ["acc", "pass", "Accuracy"])
def test_of_accuracies_at_several_numbers_of_tries_that_of_one_is_the_score(tmp_path, metric):
    path = tmp_path / "t.csv"
    path.write_text(f"question,{metric}@1,{metric}@5\nq1,1,1\nq2,0,1\n")
    scores, lines = read_one(path)
    assert scores == {"t": {"q1": 1, "q2": 0}}
    assert f"from column '{metric}@1', not from '{metric}@5'" in lines[0]


def test_metrics_at_a_number_are_no_models(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("question,recall@5,ndcg@10\nq1,1,1\nq2,0,1\n")
    with pytest.raises(InputError, match="no column for 'score'; the columns are .* --columns"):
        hs.read(path).cells()


def test_metrics_beside_completions_and_targets_are_no_models(tmp_path):
    """An export of one experiment, whose two scorers were two models."""
    path = tmp_path / "t.csv"
    path.write_text("Input,Output,Expected,Factuality,Style\nWhat is 1?,one,1,1,.5\nWhat is 2?,two,2,0,.75\n")
    with pytest.raises(InputError, match="Factuality, Style are scores of the completions in column 'Output'"):
        hs.read(path).cells()
    [cells] = hs.read(path, columns={"score": "Factuality"}, model="t")
    assert (cells.models, cells.total.tolist()) == (("t",), [[1, 0]])


@pytest.mark.parametrize("columns", ["winner_model_a,winner_model_b,winner_tie", "score_a,score_b,rounds"])
def test_votes_between_two_models_are_no_scores_of_one(tmp_path, columns):
    path = tmp_path / "votes.csv"
    path.write_text(f"id,model_a,model_b,{columns}\n1,gpt,claude,1,0,0\n2,claude,gpt,0,1,0\n")
    with pytest.raises(InputError, match="a row is a comparison of two models"):
        list(hs.read(path))


def test_counts_and_errors_of_a_leaderboard_are_no_models(tmp_path):
    path = tmp_path / "leaderboard.csv"
    path.write_text(",win_rate,standard_error,n_wins,n_draws,n_total\ngpt,95.2,0.7,760,9,805\nx,90.1,0.9,720,9,805\n")
    with pytest.raises(InputError, match="no column for 'question' and 'score'"):
        list(hs.read(path))
