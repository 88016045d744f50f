"""Tables of right answers and all answers, made before their reader, with means that are computed by hand."""

from __future__ import annotations

import polars as pl
import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError
from howsure.rows.table import read_cells, read_cubes

#: Right answers and all answers of model a and then b, of three questions each.
COUNTS = ((3, 4), (0, 5), (2, 2), (1, 4), (5, 5), (0, 2))
#: The mean of the questions' shares, by hand: (3/4 + 0 + 1) / 3 and (1/4 + 1 + 0) / 3.
MEANS = [7 / 12, 5 / 12]


def write(tmp_path, header, rows, name="table.csv"):
    path = tmp_path / name
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def write_counts(tmp_path, right, total, counts=COUNTS):
    rows = [("ab"[i // 3], f"q{i % 3}", *pair) for i, pair in enumerate(counts)]
    return write(tmp_path, f"model,question,{right},{total}", rows)


@pytest.mark.parametrize(
    ("right", "total"),
    [
        ("correct", "total"),
        ("correct", "count"),
        ("n_correct", "n_total"),
        ("Num Correct", "Num Samples"),
        ("passes", "attempts"),
        ("passed", "n_attempts"),
        ("successes", "trials"),
        ("hits", "n"),
    ],
)
def test_counts_of_right_answers_are_read_as_generations(tmp_path, right, total):
    path = write_counts(tmp_path, right, total)
    with pytest.warns(HowsureWarning) as caught:
        [cells] = read_cells(path)
    line = f"{right!r} counts right answers among {total!r} (2 to 5): each row is read as so many generations"
    assert [str(one.message) for one in caught] == [f"{path}: {line} of its question"]
    assert cells.n.tolist() == [[4, 5, 2], [4, 5, 2]]
    assert cells.total.tolist() == [[3, 0, 2], [1, 5, 0]]
    assert hs.score(cells)["score"].tolist() == pytest.approx(MEANS)


def test_counts_give_what_a_row_for_each_answer_gives(tmp_path):
    rows = [
        ("ab"[i // 3], f"q{i % 3}", run, int(run < right))
        for i, (right, total) in enumerate(COUNTS)
        for run in range(total)
    ]
    with pytest.warns(HowsureWarning, match="counts right answers"):
        [counted] = read_cells(write_counts(tmp_path, "total", "correct", [pair[::-1] for pair in COUNTS]))
    [single] = read_cells(write(tmp_path, "model,question,generation,score", rows, "single.csv"))
    for name in ("score", "se", "low", "high", "se_data", "se_prediction"):
        assert hs.score(counted)[name].tolist() == pytest.approx(hs.score(single)[name].tolist()), name


def test_preview_says_which_columns_are_counts(tmp_path):
    shown = hs.preview(write_counts(tmp_path, "correct", "total"))
    taken_as = dict(zip(shown["column"].tolist(), shown["taken_as"].tolist(), strict=True))
    assert (taken_as["correct"], taken_as["total"]) == ("correct", "count")
    assert any("'correct' counts right answers among 'total' (2 to 5)" in line for line in shown.lines)
    assert any("22 scores with mean 0.5" in line for line in shown.lines)  # 11 right of 22


def test_frames_have_counts_too(tmp_path):
    frame = pl.read_csv(write_counts(tmp_path, "correct", "total"))
    for each in (frame, frame.lazy(), frame.to_arrow().to_reader()):
        with pytest.warns(HowsureWarning, match="counts right answers"):
            [cells] = read_cells(each)
        assert cells.total.tolist() == [[3, 0, 2], [1, 5, 0]]


@pytest.mark.parametrize("column", ["score", "rating", "grade"])
def test_a_graded_score_beside_a_number_of_raters_is_no_count(tmp_path, column):
    """Whole grades from 0 to 10, of 10 raters: the numbers would do, and the name of the column says it is a score."""
    grades = ((7, 10), (0, 10), (10, 10), (4, 10), (2, 10), (9, 10))
    with pytest.warns(HowsureWarning) as caught:
        [cells] = read_cells(write_counts(tmp_path, column, "count", grades))
    assert cells.n.tolist() == [[1] * 3] * 2
    assert cells.total.tolist() == [[7, 0, 10], [4, 2, 9]]
    assert not any("counts right answers" in str(one.message) for one in caught)


def test_a_score_of_0_or_1_beside_a_number_of_tokens_is_no_count(tmp_path):
    tokens = ((1, 310), (0, 220), (1, 90), (0, 55), (1, 120), (1, 70))
    [cells] = read_cells(write_counts(tmp_path, "correct", "count", tokens))
    assert cells.total.tolist() == [[1, 0, 1], [0, 1, 1]]
    path = write_counts(tmp_path, "correct", "total", tokens)
    with pytest.warns(HowsureWarning, match="read as the score of one answer"):
        [cells] = read_cells(path)
    assert cells.n.tolist() == [[1] * 3] * 2
    # The command of the line reads them as counts.
    with pytest.warns(HowsureWarning, match="counts right answers"):
        [cells] = read_cells(path, {"correct": "correct", "count": "total"})
    assert cells.n.tolist() == [[310, 220, 90], [55, 120, 70]]


def test_a_table_with_its_mean_is_read_by_it(tmp_path):
    rows = [("a", "q1", 3, 4, 0.75), ("a", "q2", 1, 2, 0.5)]
    [cells] = read_cells(write(tmp_path, "model,question,correct,count,pass1", rows))
    assert (cells.n.tolist(), cells.total.tolist()) == ([[4, 2]], [[3, 1]])


def test_rows_that_number_generations_have_their_share_as_score(tmp_path):
    rows = [("a", "q1", 1, 3, 4), ("a", "q1", 2, 4, 4), ("a", "q2", 1, 0, 5), ("a", "q2", 2, 1, 5)]
    with pytest.warns(HowsureWarning, match="the score of a row is its share of right answers"):
        [cells] = read_cells(write(tmp_path, "model,question,run,passed,total", rows))
    assert cells.n.tolist() == [[2, 2]]
    assert cells.total.ravel().tolist() == pytest.approx([1.75, 0.2])


def test_whole_benchmarks_of_variants_have_their_share_as_score(tmp_path):
    rows = [("v1", "a", 30, 40), ("v2", "a", 10, 40), ("v1", "b", 20, 40), ("v2", "b", 36, 40)]
    with pytest.warns(HowsureWarning, match="the score of a row is its share of right answers"):
        [cube] = read_cubes(write(tmp_path, "variant,model,correct,total", rows))
    assert cube.total.ravel().tolist() == pytest.approx([0.75, 0.25, 0.5, 0.9])


@pytest.mark.parametrize(
    ("header", "value", "says"),
    [
        ("model,question,n_correct", 3, "column 'n_correct' counts right answers, and no column says of how many"),
        ("model,question,correct", 3, "column 'correct' has whole numbers up to 3, such as counts"),
        ("model,question,passed", 12, "column 'passed' has whole numbers up to 12, such as counts"),
    ],
)
def test_right_answers_of_an_unknown_number_are_refused(tmp_path, header, value, says):
    path = write(tmp_path, header, [("a", "q1", value), ("a", "q2", 1)])
    column = header.rpartition(",")[2]
    for table in (path, pl.read_csv(path).lazy()):
        with pytest.raises(InputError, match=says) as caught:
            read_cells(table, name="frame")
        assert "\n" not in str(caught.value)
        assert f"--columns score={column}" in str(caught.value)
    with pytest.warns(HowsureWarning, match="not from 0 to 1|percent"):
        read_cells(path, {"score": column})


def test_fractions_above_1_in_a_column_called_correct_are_scores(tmp_path):
    with pytest.warns(HowsureWarning, match="from 0.5 to 2"):
        [cells] = read_cells(write(tmp_path, "model,question,correct", [("a", "q1", 0.5), ("a", "q2", 2)]))
    assert cells.total.tolist() == [[0.5, 2]]


@pytest.mark.parametrize("right", ["correct", "n_correct"])
def test_more_right_answers_than_answers_are_refused_with_the_row(tmp_path, right):
    path = write_counts(tmp_path, right, "total", ((3, 4), (6, 5), *COUNTS[2:]))
    with pytest.raises(InputError, match=f"line 3, column '{right}': more right answers than 'total' says") as caught:
        read_cells(path)
    assert f"--columns score={right}" in str(caught.value)


def test_a_row_without_answers_is_refused(tmp_path):
    path = write_counts(tmp_path, "correct", "total", ((3, 4), (0, 0), *COUNTS[2:]))
    with pytest.warns(HowsureWarning, match="counts right"), pytest.raises(InputError, match="line 3"):
        read_cells(path)
