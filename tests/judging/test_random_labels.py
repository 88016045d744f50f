"""Random samples of judged completions, and the file of their labels.

Kind of truth: frequencies of repeated draws, hand-computed agreement, and damaged files.
"""

import collections
import contextlib
import re

import msgspec
import pytest
from helpers.judged_runs import write_judged_run

import howsure as hs
from howsure.api.judged_results import describe_labels
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.judging.random_labels import Label, append_lines, draw_sample, read_labels, read_tasks


@pytest.mark.long
def test_each_completion_is_drawn_as_often_as_its_inclusion_says(tmp_path):
    """Two models, one of which is right in 5 of 60 completions; 400 draws of 20."""
    run = write_judged_run(tmp_path / "run", n_questions=30, generations=2, wrong={"a": 55, "b": 20})
    counts, inclusion = collections.Counter(), {}
    for seed in range(400):
        drawn = draw_sample(run, "judge:correct", 20, seed=seed)
        assert len({one.completion_key for one in drawn}) == len(drawn) == 20
        for one in drawn:
            counts[one.completion_key] += 1
            inclusion[one.completion_key] = one.inclusion
    assert len(counts) == 120
    strata = {(key[1], share) for key, share in inclusion.items()}
    assert len(strata) == 4
    for model, share in strata:
        of = [counts[key] for key in counts if key[1] == model and inclusion[key] == share]
        assert sum(of) / len(of) / 400 == pytest.approx(share, rel=0.02)
        assert max(abs(n / 400 - share) for n in of) < 5 * (share * (1 - share) / 400) ** 0.5
    # The rare verdict is drawn with a larger probability.
    rare, common = sorted({share for model, share in strata if model == "a"}, reverse=True)
    assert rare > 4 * common


def test_a_sample_is_spread_over_questions(tmp_path):
    run = write_judged_run(tmp_path / "run", n_questions=10, generations=6, wrong={"a": 0, "b": 0})
    for seed in range(20):
        drawn = [one for one in draw_sample(run, "judge:correct", 20, seed=seed) if one.model == "a"]
        assert len(drawn) == 10
        assert max(collections.Counter(one.question for one in drawn).values()) <= 3


def test_a_sample_larger_than_the_run_is_all_of_it(tmp_path):
    run = write_judged_run(tmp_path / "run", n_questions=5, generations=1, wrong={"a": 1, "b": 2})
    drawn = draw_sample(run, "judge:correct", 1000)
    assert len(drawn) == 10
    assert {one.inclusion for one in drawn} == {1.0}
    tasks = read_tasks(run, drawn)
    assert {task.question for task in tasks} == {f"Question {i}?" for i in range(5)}
    assert {task.target for task in tasks} == {"yes"}
    with pytest.raises(UnknownNameError, match="judge:none"):
        draw_sample(run, "judge:none", 10)


def make(question, verdict="", reviewer="", **more):
    score = {"GOOD": 1.0, "BAD": 0.0}.get(verdict)
    return Label(
        benchmark="b", model="m", question=question, variant="v", generation=1, verdict=verdict, score=score,
        reviewer=reviewer, **more,
    )  # fmt: skip


def test_the_newest_label_of_each_reviewer_counts_and_their_mean_is_the_score(tmp_path):
    file = tmp_path / "labels.jsonl"
    append_lines(file, [make(q, inclusion=0.25) for q in "pqrs"])
    append_lines(file, [make("p", "BAD", "ann"), make("p", "GOOD", "ann"), make("p", "BAD", "bo")])
    append_lines(file, [make("q", "GOOD", "ann"), make("q", "undone", "ann"), make("r", "GOOD", "bo")])
    labels = read_labels(file)
    assert {key[2]: score for key, score in labels.scores().items()} == {"p": 0.5, "r": 1.0}
    assert set(labels.inclusion().values()) == {0.25}
    assert len(labels.sample) == 4


def test_agreement_of_two_reviewers_by_hand(tmp_path):
    """8 of 10 alike; margins 6/10 and 6/10 right: chance .52, kappa (.8 - .52)/.48."""
    file = tmp_path / "labels.jsonl"
    first, second = "GGGGGGBBBB", "GGGGGBGBBB"
    words = {"G": "GOOD", "B": "BAD"}
    append_lines(file, [make(f"q{i}", words[w], "ann") for i, w in enumerate(first)])
    append_lines(file, [make(f"q{i}", words[w], "bo") for i, w in enumerate(second)])
    (one,) = read_labels(file).agreements()
    assert (one.n, one.agreement) == (10, 0.8)
    assert one.kappa == pytest.approx((0.8 - 0.52) / 0.48)
    assert str(one).startswith("ann and bo agree on 0.800 [0.490, 0.943] of 10 completions")


def test_damaged_files(tmp_path):
    file = tmp_path / "labels.jsonl"
    append_lines(file, [make("p", "GOOD", "ann")])
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:30])  # a crash cut the last line
    assert len(read_labels(file).labels) == 1
    append_lines(file, [make("q", "BAD", "ann")])
    assert {key[2]: score for key, score in read_labels(file).scores().items()} == {"p": 1.0, "q": 0.0}
    file.write_bytes(whole[:-1])  # only the line break is missing
    append_lines(file, [make("q", "BAD", "ann")])
    assert {key[2]: score for key, score in read_labels(file).scores().items()} == {"p": 1.0, "q": 0.0}
    file.write_bytes(whole[:30])  # nothing but a line that was cut off
    append_lines(file, [make("q", "BAD", "ann")])
    assert len(read_labels(file).labels) == 1
    file.write_bytes(whole[:30] + b"\n" + whole)
    with pytest.raises(InputError, match="line 1: no label"):
        read_labels(file)
    file.write_bytes(msgspec.json.encode(make("p", inclusion=1.5)) + b"\n\n")
    with pytest.raises(InputError, match="inclusion is 1.5"):
        read_labels(file)
    with pytest.raises(InputError, match="--random"):
        read_labels(tmp_path / "none.jsonl")
    assert read_labels(tmp_path / "none.jsonl", missing=True).labels == {}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "question,human,generation\nq,1,1\nq,1,one\n", "a.csv, line 3: generation is 'one'; give the whole"),
        ("a.csv", "question,human,inclusion\nq,1,all\n", "a.csv, line 2: inclusion is 'all'; give the probability"),
        ("a.jsonl", '{"question": "q", "score": "maybe"}\n', "a.jsonl, line 1: score is 'maybe'; give a number such"),
        ("a.jsonl", '{"question": "q", "score": 1, "generation": 1.5}\n', "line 1: generation is 1.5; give the whole"),
    ],
)
def test_a_field_of_a_label_that_is_no_number_is_named_with_its_value(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_labels(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        (
            {"question": "q1", "score": 1},
            "add model and generation to the labels (generations are counted from 1, or all from 0)",
        ),
        (
            {"question": "q1", "model": "a", "score": 1},
            "add generation to the labels (generations are counted from 1, or all from 0)",
        ),
        ({"question": "q1", "generation": 2, "score": 1}, "add model to the labels"),
    ],
)
def test_a_label_of_several_completions_says_which_fields_tell_them_apart(tmp_path, line, remedy):
    """By hand: two models with two generations of one question."""
    keys = {("b", model, "q1", "v", generation) for model in "ab" for generation in (1, 2)}
    path = tmp_path / "labels.jsonl"
    path.write_bytes(msgspec.json.encode(line) + b"\n")
    with pytest.raises(InputError) as caught:
        read_labels(path).resolve(keys, {})
    assert str(caught.value).endswith(remedy)


def test_a_label_without_the_fields_of_which_there_is_one_is_of_the_completion(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_bytes(b'{"question": "q1", "score": 1}\n')
    key = ("b", "a", "q1", "v", 1)
    assert read_labels(path).resolve({key, ("b", "a", "q2", "v", 1)}, {}).scores() == {key: 1.0}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_generations_of_labels_are_counted_from_0_or_1_as_those_of_tables_are(tmp_path, first, form):
    """The label of the first generation is of the first one in the run, whichever number it has elsewhere."""
    rows = [
        {"question": "q1", "model": "a", "generation": first, "score": 1.0},
        {"question": "q1", "model": "a", "generation": first + 1, "score": 0.0},
    ]
    path = tmp_path / f"labels.{form}"
    if form == "csv":
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    else:
        path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    keys = {("b", model, "q1", "v", generation) for model in "ab" for generation in (1, 2)}
    assert read_labels(path).resolve(keys, {}).scores() == {("b", "a", "q1", "v", 1): 1, ("b", "a", "q1", "v", 2): 0}


@pytest.mark.parametrize("first", [0, 1])
def test_a_table_is_corrected_by_its_own_labels_whatever_its_first_generation_is(tmp_path, first):
    rows = [(m, f"q{i}", g, (i + g) % 2, i % 2 if i < 8 else "") for m in "ab" for i in range(12) for g in (0, 1)]
    path = tmp_path / "judged.csv"
    lines = [f"{m},{q},{g + first},{j},{h}" for m, q, g, j, h in rows]
    path.write_text("\n".join(["model,question,generation,judge_score,human", *lines]) + "\n")
    result = hs.score(hs.read(path, columns={"score": "judge_score"}), calibrate=path)
    assert result["n_labels"].tolist() == [16, 16]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_labels_of_one_generation_are_of_the_generation_of_that_number_in_the_table(tmp_path, first):
    """By hand: people agree with the judge in each second generation, and in no first one."""
    rows = [(m, f"q{i}", g, i % 2 if g else 1 - i % 2, i % 2) for m in "ab" for i in range(12) for g in (0, 1)]
    judged, labels = tmp_path / "judged.csv", tmp_path / "labels.csv"
    lines = [f"{m},{q},{g + first},{j}" for m, q, g, j, _ in rows]
    judged.write_text("\n".join(["model,question,generation,judge_score", *lines]) + "\n")
    lines = [f"{m},{q},{g + first},{h}" for m, q, g, _, h in rows if g == 1]
    labels.write_text("\n".join(["model,question,generation,human", *lines]) + "\n")
    (line, *_) = describe_labels(hs.read(judged, columns={"score": "judge_score"}), labels)
    assert (
        "right of 1.000 [0.541, 1.000] of what people score right, and wrong of 1.000 [0.541" in line
    )  # of 6 questions


def test_generations_that_are_not_read_are_named_as_such(tmp_path, howsure):
    """Generations 1 and 5 of a table and its labels: all labels count, and half of them with the first ones alone."""
    rows = [(f"q{i}", g, i % 2, int(i % 3 > 0)) for i in range(20) for g in (1, 5)]
    path = tmp_path / "judged.csv"
    lines = [f"a,{q},{g},{j},{h}" for q, g, j, h in rows]
    path.write_text("\n".join(["model,question,generation,score,human", *lines]) + "\n")
    _, out, err = howsure("score", path, "--calibrate", path)
    assert re.search(r"n_labels +40", out)
    assert "left out" not in err
    _, out, err = howsure("score", path, "--calibrate", path, "--generations", "1")
    assert re.search(r"n_labels +20", out)
    assert "judged.csv with --generations 1 has no completion of model 'a', question 'q0', generation 5" in err


def test_people_gave_the_column_human_where_a_table_has_the_judges_scores_beside_it(tmp_path):
    """The judge says 1 of each completion, people 0 of those that they labelled."""
    path = tmp_path / "judged.csv"
    rows = [f"a,q{i},1,{0 if i < 30 else ''}" for i in range(60)]
    path.write_text("\n".join(["model,question,score,human", *rows]) + "\n")
    result = hs.score(path, calibrate=path)
    assert result["n_labels"].tolist() == [30]
    assert result["high"][0] < 0.3
    path.write_text("\n".join(["model,question,score,label", *rows]) + "\n")
    with pytest.raises(InputError, match="label and score could both.*human"):
        hs.score(path, calibrate=path)
    path.write_text("model,question,score\n" + "".join(f"a,q{i},{i % 2}\n" for i in range(60)))
    with pytest.raises(InputError, match="the label of every row is its own score.*human"):
        hs.score(path, calibrate=path)


def test_a_word_in_the_column_of_scores_is_named_with_its_column(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("model,question,human\na,q1,1\na,q2,maybe\n")
    with pytest.raises(InputError, match=r"line 3: the column human has 'maybe', which is no number.*verdict"):
        read_labels(path)


@pytest.mark.parametrize("is_run", [True, False])
def test_labels_of_completions_that_do_not_exist_are_counted_and_named(tmp_path, howsure, is_run):
    """Of 42 labels one has another question and one another model; the others count."""
    path = tmp_path / "judged.csv"
    rows = [("a", f"q{i}") for i in range(60)]
    path.write_text("model,question,score\n" + "".join(f"{m},{q},{i % 2}\n" for i, (m, q) in enumerate(rows)))
    if is_run:
        path = write_judged_run(tmp_path / "run", n_questions=60, generations=1, wrong={"a": 10})
    labels = tmp_path / "labels.csv"
    labelled = [*rows[:40], ("a", "q999"), ("ghost", "q1")]
    labels.write_text("model,question,human\n" + "".join(f"{m},{q},1\n" for m, q in labelled))
    code, out, err = howsure("score", path, "--calibrate", labels)
    assert code == 0
    assert re.search(r"n_labels +40", out)
    assert err.count("2 of 42 labels left out") == 1
    assert "no completion of model 'a', question 'q999'" in err
    with pytest.warns(HowsureWarning) as caught:
        hs.report(path, tmp_path / "page.html", texts=False, static_figures=False, calibrate=labels)
    assert sum("2 of 42 labels left out" in str(one.message) for one in caught) == 1


def test_labels_on_another_scale_than_the_judges_scores_are_refused(tmp_path):
    """Labels of 0 and 100 beside scores of 0 and 1, or beside percent that were divided by 100."""
    path = tmp_path / "judged.csv"
    for scale, is_refused in ((100, True), (1, False)):
        rows = [f"a,q{i},{i % 2},{i % 2 * scale}" for i in range(60)]
        path.write_text("\n".join(["model,question,judge_score,human", *rows]) + "\n")
        judged = hs.read(path, columns={"score": "judge_score"})
        with pytest.raises(InputError, match="a label is 100") if is_refused else contextlib.nullcontext():
            hs.score(judged, calibrate=path)
    rows = [f"a,q{i},{100 * (i % 2)},{100 * (i % 3 > 0)}" for i in range(60)]
    path.write_text("\n".join(["model,question,judge_score,human", *rows]) + "\n")
    percent = hs.read(path, columns={"score": "judge_score"})
    with pytest.warns(HowsureWarning, match="percent"), pytest.raises(InputError, match="--scale 1 leaves them"):
        hs.score(percent, calibrate=path)
    whole = hs.read(path, columns={"score": "judge_score"}, scale=1)
    assert hs.score(whole, calibrate=path)["score"][0] == pytest.approx(200 / 3)


@pytest.mark.parametrize("form", ["own", "csv", "lines", "draws"])
@pytest.mark.parametrize("is_run", [True, False])
def test_labels_made_elsewhere_are_weighted_by_their_inclusion(tmp_path, is_run, form):
    """10 labels right, drawn with 1/4, and 10 wrong, drawn with 1/2: 40 of 60 are right."""
    path = tmp_path / "judged.csv"
    if is_run:
        path = write_judged_run(tmp_path / "run", n_questions=60, generations=1, wrong={"a": 20})
    else:
        path.write_text("model,question,score\n" + "".join(f"a,q{i},{i % 2}\n" for i in range(60)))
    rows = [(f"q{i}", int(i < 10), 0.25 if i < 10 else 0.5) for i in range(20)]
    labels = tmp_path / ("labels.csv" if form in {"own", "csv"} else "labels.jsonl")
    if form == "own":
        rest = "".join(f"q{i},,0.25\n" for i in range(20, 60))
        labels.write_text("question,human,inclusion\n" + "".join(f"{q},{y},{p}\n" for q, y, p in rows) + rest)
    elif form == "csv":
        labels.write_text("question,human,inclusion\n" + "".join(f"{q},{y},{p}\n" for q, y, p in rows))
    elif form == "lines":
        append_lines(labels, [Label(question=q, score=y, inclusion=p) for q, y, p in rows])
    else:
        append_lines(labels, [Label(question=q, inclusion=p) for q, _, p in rows])
        append_lines(labels, [Label(question=q, score=y, reviewer="ann") for q, y, _ in rows])
    assert hs.score(path, calibrate=labels, method="labels")["score"][0] == pytest.approx(40 / 60)


def test_labels_of_which_some_have_no_inclusion_are_refused(tmp_path):
    path = tmp_path / "judged.csv"
    path.write_text("model,question,score\n" + "".join(f"a,q{i},{i % 2}\n" for i in range(60)))
    labels = tmp_path / "labels.csv"
    labels.write_text("question,human,inclusion\nq1,1,0.2\nq2,0,\nq3,1,0.4\n")
    with pytest.raises(InputError, match="'q2' has a label without inclusion"):
        hs.score(path, calibrate=labels)
    labels.write_text("question,human,inclusion\nq1,1,0.2\nghost,0,\nq3,1,0.4\n")
    with pytest.warns(HowsureWarning, match="1 of 3 labels left out"):
        assert hs.score(path, calibrate=labels)["n_labels"][0] == 2


def test_labels_of_nobody_that_contradict_are_counted(tmp_path):
    """Of the lines without a reviewer one repeats and one contradicts; those of a reviewer are changes of mind."""
    labels = tmp_path / "labels.csv"
    labels.write_text("model,question,human\na,q1,1\na,q1,1\na,q2,1\na,q2,0\n")
    with pytest.warns(HowsureWarning, match="1 label is replaced by a later line that differs.*column reviewer"):
        assert list(read_labels(labels).scores().values()) == [1, 0]
    labels.write_text("model,question,human,reviewer\na,q2,1,ann\na,q2,0,ann\n")
    assert list(read_labels(labels).scores().values()) == [0]


def test_true_and_false_of_a_table_are_labels(tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("model,question,human\na,q1,True\na,q2,false\na,q3,\n")
    assert [one.score for one in read_labels(labels).labels.values()] == [1, 0]
