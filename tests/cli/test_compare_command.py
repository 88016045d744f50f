"""`howsure compare` as it is typed: what it compares without names, and its sentence on data made to be undecided."""

import json

import pytest
from helpers.scored_runs import response, run_of


def write(path, scores, benchmark="sums", model="m"):
    """Write the scores of generations by question, of one model."""
    lines = [
        f"{benchmark},{model},{question},{g},{score}"
        for question, each in scores.items()
        for g, score in enumerate(each)
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["benchmark,model,question,generation,score", *lines]) + "\n")
    return path


def rates(right, n=40, k=2):
    """Return the scores of n questions, of which the first are right."""
    return {f"q{i}": [int(i < right)] * k for i in range(n)}


def first_line(howsure, *arguments):
    code, out, err = howsure("compare", *arguments, "--format", "wide")
    assert code == 0, err
    return out.splitlines()[0]


def test_the_second_of_two_paths_is_compared_with_the_first(howsure, tmp_path):
    old, new = write(tmp_path / "old.csv", rates(10), model="z"), write(tmp_path / "new.csv", rates(30), model="a")
    for paths, sign in (((old, new), 1), ((new, old), -1)):
        [row] = json.loads(howsure("compare", *paths, "--format", "json")[1])
        assert row["difference"] == pytest.approx(sign * 0.5)
        assert first_line(howsure, *paths).startswith("a is better than z on sums: +0.500 (95 % interval 0.")
    [row] = json.loads(howsure("compare", f"base={old}", f"ours={new}", "--format", "json")[1])
    assert (row["model_a"], row["model_b"]) == ("ours", "base")


def test_one_model_at_two_paths_is_tested_on_these_questions(howsure, tmp_path):
    """The columns and numbers of `providers`, whose claim has no error of the questions."""
    first, second = write(tmp_path / "a/r.csv", rates(20)), write(tmp_path / "b/r.csv", {**rates(20), "q0": [1, 0]})
    for how in (["--method", "stratified"], ["--a", "m"]):
        [row] = json.loads(howsure("compare", first, second, *how, "--format", "json")[1])
        assert row["difference"] == pytest.approx(-0.5 / 40)  # the second less the first
        assert row["method"] == "stratified"
        assert "drift_p_a" in row
    code, _, err = howsure("compare", first, second, "--a", "m", "--claim", "new-questions")
    assert (code, "--claim with one model in two places" in err) == (2, True)
    runs = [
        run_of(
            tmp_path / f"run-{f}",
            [response(f"q{q}", g, completion="x", score=float(q < 9)) for q in range(20) for g in (1, 2)],
        )
        for f in "ab"
    ]
    assert "drift_p_a" in json.loads(howsure("compare", *runs, "--format", "json")[1])[0]


def test_files_of_one_name_in_two_folders_are_two_models(howsure, tmp_path):
    """Each alone is called after its file, and is no run of one model: the refusal says how they are read."""
    for folder, right in (("base", 10), ("new", 30)):
        (tmp_path / folder).mkdir()
        rows = [f"q{q},{int(q < right)}" for q in range(40)]
        (tmp_path / folder / "results.csv").write_text("\n".join(["question,score", *rows]) + "\n")
    paths = [tmp_path / folder / "results.csv" for folder in ("base", "new")]
    code, _, err = howsure("compare", *paths)
    assert (code, "--as-benchmark" in err) == (2, True)
    paths += ["--as-benchmark", "sums"]
    assert first_line(howsure, *paths).startswith("new is better than base on ")
    [row] = json.loads(howsure("compare", *paths, "--format", "json")[1])
    assert (row["model_a"], row["model_b"], row["method"]) == ("new", "base", "adjusted-t")


def test_more_than_two_models_are_compared_in_pairs(howsure, tmp_path):
    paths = [write(tmp_path / f"{m}.csv", rates(r), model=m) for m, r in {"a": 10, "b": 20, "c": 30}.items()]
    rows = json.loads(howsure("compare", *paths, "--format", "json")[1])
    assert [(row["model_a"], row["model_b"]) for row in rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(row["p_holm"] >= row["p_value"] for row in rows)
    code, _, err = howsure("compare", *paths, "--unpaired")
    assert (code, "--unpaired with more than two models; name two of them" in err) == (2, True)


def test_several_benchmarks_are_tested_together(howsure, tmp_path):
    paths = [
        write(tmp_path / f"{b}-{m}.csv", {f"{b}{q}": s for q, s in rates(r).items()}, b, m)
        for b in "xy"
        for m, r in (("old", 15), ("new", 22))
    ]
    _, out, _ = howsure("compare", *paths, "--a", "new", "--b", "old")
    assert "(combined)" in out
    [*_, last] = json.loads(howsure("compare", *paths, "--weight", "equal", "--format", "json")[1])
    assert last["benchmark"] == "(combined)"


# The sentence, on data made so that "is better" must not be said.


def test_models_with_the_same_scores_cannot_be_told_apart(howsure, tmp_path):
    paths = [write(tmp_path / f"{m}.csv", rates(20), model=m) for m in "ab"]
    assert "cannot be told apart on sums: both scored the same (" in first_line(howsure, *paths)


def test_one_question_can_not_be_tested(howsure, tmp_path):
    paths = [write(tmp_path / f"{m}.csv", {"q": [int(m == "a")] * 2}, model=m) for m in "ab"]
    assert first_line(howsure, *paths) == "no test of a and b is possible on sums"


def test_a_few_questions_that_differ_are_no_finding(howsure, tmp_path):
    """Three of forty questions differ, all in one direction: the sign test has p = .25."""
    paths = [write(tmp_path / f"{m}.csv", rates(r, k=1), model=m) for m, r in (("a", 20), ("b", 23))]
    assert first_line(howsure, *paths).startswith("b and a cannot be told apart on sums: b is ahead by 0.075 (")


def test_other_questions_are_refused(howsure, tmp_path):
    paths = [write(tmp_path / f"{m}.csv", {f"{m}{q}": s for q, s in rates(20).items()}, model=m) for m in "ab"]
    assert first_line(howsure, *paths) == "no test of b and a is possible on sums"


def test_a_difference_that_unread_answers_decide_is_undecided(howsure, tmp_path):
    """The answers of b that were not read, scored 0, are as many as the difference."""
    unread = {"score": 0.0, "status": "unparsed", "answer": None}
    rows = [response(f"q{q}", 1, completion="x", model="a", score=float(q < 30)) for q in range(40)]
    rows += [
        response(f"q{q}", 1, completion="x", model="b", **({"score": 1.0} if q < 15 else unread)) for q in range(40)
    ]
    path = run_of(tmp_path / "run", rows)
    line = first_line(howsure, path)
    assert line.startswith("unread answers decide whether a or b is better on ")
    assert "a is ahead by 0.375" in line


def test_the_level_decides(howsure, tmp_path):
    paths = [write(tmp_path / f"{m}.csv", rates(r, k=1), model=m) for m, r in (("a", 20), ("b", 26))]
    assert "b is better than a" in first_line(howsure, *paths, "--level", "0.9")
    assert "(99.9 % interval -0." in first_line(howsure, *paths, "--level", "0.999")
    assert "cannot be told apart" in first_line(howsure, *paths, "--level", "0.999")
