"""`slices` and `compare --by`: columns, difficulty and length, and sentences on hostile data."""

import json

import numpy as np
import pytest

import howsure as hs
from howsure.errors import InputError, UnknownNameError


def write(path, *, loss=0.8, models="abcd", seed=3):
    """Write 200 questions in 10 subjects, of which b loses in the one called s3; their size is a number."""
    rng = np.random.default_rng(seed)
    rows = [
        f"{model},q{q},s{q // 20},{q % 20},{int(rng.random() < 0.9 - loss * (q // 20 == 3) * (model == 'b'))}"
        for model in models
        for q in range(200)
    ]
    path.write_text("\n".join(["model,question,subject,size,score", *rows]))
    return path


def say(result):
    return str(result).replace("\n  ", " ").splitlines()


def test_a_slice_of_a_column_is_the_first_sentence(tmp_path):
    path = write(tmp_path / "t.csv")
    result = hs.slices(path, "a", "b", by=["subject"])
    assert [row["slice"] for row in result if row["verdict"] == "different"] == ["s3"]
    line = say(result)[0]
    assert line.startswith(f"a - b on t is {result['difference'][0]:+.2f} on subject s3 (20 questions) and ")
    assert "adjusted for 10 slices" in line


def test_numbers_are_cut_into_quarters_and_columns_share_one_family(tmp_path):
    result = hs.slices(write(tmp_path / "t.csv"), "a", "b", by=["subject", "size"])
    sizes = {row["slice"]: row["n_questions"] for row in result if row["by"] == "size"}
    assert sizes == {"0 to 4": 50, "5 to 9": 50, "10 to 14": 50, "15 to 19": 50}
    assert len(result) == 14


def test_difficulty_is_measured_by_other_models(tmp_path):
    """The answers of a and b may be anything: the slices are those of c and d."""
    first = hs.slices(write(tmp_path / "t.csv"), "a", "b", by=["difficulty"])
    cells = hs.read(tmp_path / "t.csv").cells()[0]
    mean = np.nanmean(cells.select(["c", "d"]).mean, axis=0)
    assert sorted(first["n_questions"].tolist()) == sorted(np.unique(mean, return_counts=True)[1].tolist())
    with pytest.raises(InputError, match="other models"):
        hs.slices(write(tmp_path / "u.csv", models="ab"), "a", "b", by=["difficulty"])


def test_length_is_that_of_the_stored_question(tmp_path):
    with pytest.raises(InputError, match="no texts"):
        hs.slices(write(tmp_path / "t.csv"), "a", "b", by=["length"])


def test_results_that_were_read_have_the_slices_of_their_clusters(tmp_path):
    path = write(tmp_path / "t.csv")
    read = hs.read(path, columns={"cluster": "subject"})
    assert hs.slices(read, "a", "b", by=["cluster"])["p_all"].tolist() == pytest.approx(
        hs.slices(path, "a", "b", by=["subject"])["p_all"].tolist()
    )
    with pytest.raises(InputError, match="subject"):
        hs.slices(hs.read(path), "a", "b", by=["subject"])


def test_equal_models_have_no_slice(tmp_path):
    lines = say(hs.slices(write(tmp_path / "t.csv", loss=0.0), "a", "b", by=["subject"]))
    assert lines[0].startswith("no slice of t shows another difference of a and b than the rest (10 slices, least p = ")


def test_simpsons_case_is_said(tmp_path):
    rows = [("a", f"e{i}", "easy", 1) for i in range(10)] + [("a", f"h{i}", "hard", int(i < 12)) for i in range(40)]
    rows += [("b", f"e{i}", "easy", int(i < 35)) for i in range(40)] + [("b", f"h{i}", "hard", 0) for i in range(8)]
    (tmp_path / "t.csv").write_text("\n".join(["model,question,topic,score", *(",".join(map(str, r)) for r in rows)]))
    [line] = [x for x in say(hs.slices(tmp_path / "t.csv", "a", "b", by=["topic"])) if "Simpson" in x]
    assert line.startswith("b has the higher score over all that each answered, 0.729 and 0.440, but a has it in every")


@pytest.mark.parametrize("rows", [["a,p,u,1", "a,q,v,0", "b,p,u,0", "b,q,v,0"], ["a,p,u,1", "b,q,v,0"]])
def test_one_question_or_none_in_a_slice_says_that_nothing_can_be_tested(tmp_path, rows):
    (tmp_path / "t.csv").write_text("\n".join(["model,question,topic,score", *rows]))
    assert say(hs.slices(tmp_path / "t.csv", "a", "b", by=["topic"]))[0] == "no slice of t can be tested"


def test_unknown_models_and_columns_are_refused(tmp_path):
    path = write(tmp_path / "t.csv")
    with pytest.raises(UnknownNameError):
        hs.slices(path, "a", "nobody", by=["subject"])
    with pytest.raises(InputError, match="nothing"):
        hs.slices(path, "a", "b", by=["nothing"])


def test_the_command_has_the_numbers_of_the_function(howsure, tmp_path):
    path = write(tmp_path / "t.csv")
    code, out, err = howsure(
        "compare", path, "--a", "b", "--b", "a", "--by", "subject", "--by", "difficulty", "--format", "json"
    )
    assert code == 0, err
    expected = hs.slices(path, "b", "a", by=["subject", "difficulty"])
    assert [row["p_all"] for row in json.loads(out)] == expected["p_all"].tolist()
    assert howsure("compare", path, "--by", "subject")[0] == 2
    assert howsure("compare", path, "--a", "a", "--b", "b", "--by", "subject", "--claim", "these-questions")[0] == 2
