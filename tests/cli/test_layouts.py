"""All commands on files read a layout alike. Kind of truth: the scores of two models, written in ten forms by hand."""

from __future__ import annotations

import json
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import howsure as hs
from howsure.cli import main
from howsure.errors import HowsureWarning, InputError

#: Scores of two models on four questions, two generations each.
SCORES = {
    "gpt": {"a1": (1, 1), "b2": (0, 1), "c3": (0, 0), "d4": (1, 1)},
    "llama": {"a1": (0, 1), "b2": (0, 0), "c3": (0, 0), "d4": (1, 0)},
}
ROWS = [(m, q, g, s) for m, own in SCORES.items() for q, each in own.items() for g, s in enumerate(each, 1)]
WORDS = {0: "fail", 1: "pass"}


def lines(rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def one_table(folder):
    (folder / "quiz.csv").write_text("model,question,generation,score\n" + lines(ROWS))


def a_file_per_model(folder):
    for model in SCORES:
        rows = [(q, g, s, q) for m, q, g, s in ROWS if m == model]
        (folder / f"{model}.csv").write_text("question_id,run,correct,target\n" + lines(rows))


def a_folder_per_model(folder):
    for model in SCORES:
        (folder / model).mkdir()
        rows = [{"id": q, "seed": g, "passed": bool(s), "target": "4"} for m, q, g, s in ROWS if m == model]
        (folder / model / "quiz.json").write_text(json.dumps(rows))


def words_and_other_names(folder):
    rows = [(m, q, g - 1, WORDS[s]) for m, q, g, s in ROWS]
    (folder / "quiz.csv").write_text("Model Name,Task ID,Epoch,Result\n" + lines(rows))


def percent(folder):
    rows = [(m, q, g, 100 * s) for m, q, g, s in ROWS]
    (folder / "quiz.csv").write_text("model,question,generation,score\n" + lines(rows))


def nested_records(folder):
    rows = [{"meta": {"model": m}, "doc": {"id": q}, "trial": g, "metrics": {"acc": s}} for m, q, g, s in ROWS]
    (folder / "quiz.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def with_completions(folder):
    rows = [
        {"model": m, "question": q, "generation": g, "completion": "4" if s else "5", "target": "4", "score": WORDS[s]}
        for m, q, g, s in ROWS
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "quiz.parquet")


def completions_in_a_file_per_model(folder):
    for model in SCORES:
        rows = [
            {"question_id": q, "prediction": gold if s else "5", "gold": gold, "is_correct": 100 * s, "run": g}
            for m, q, g, s in ROWS
            for gold in [str(int(q, 36))]
            if m == model
        ]
        (folder / f"{model}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def lists_of_scores(folder):
    rows = [{"model": m, "question": q, "score": list(s)} for m, own in SCORES.items() for q, s in own.items()]
    (folder / "quiz.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


LAYOUTS = [
    one_table,
    a_file_per_model,
    a_folder_per_model,
    words_and_other_names,
    percent,
    nested_records,
    with_completions,
    completions_in_a_file_per_model,
    lists_of_scores,
]
#: Layouts whose paths may be models or benchmarks: they are read where the benchmark is named.
AMBIGUOUS = [a_folder_per_model]
#: Layouts that are read every day, and whether the benchmark is named.
EVERYDAY = [(a_folder_per_model, True), (completions_in_a_file_per_model, True)]


def cells_of(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        return {
            (one.benchmark, model): dict(zip(one.questions, zip(n.tolist(), total.tolist(), strict=True), strict=True))
            for one in hs.read(data, **options).cells()
            for model, n, total in zip(one.models, one.n, one.total, strict=True)
        }


EXPECTED = {model: {q: (2, float(sum(each))) for q, each in own.items()} for model, own in SCORES.items()}


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
@pytest.mark.parametrize(
    ("write", "named"),
    [
        pytest.param(
            *(write, named),
            id=f"{write.__name__}-{named}",
            marks=[] if (write, named) in EVERYDAY else pytest.mark.long,
        )
        for write in LAYOUTS
        for named in (False, True)
        if named or write not in AMBIGUOUS
    ],
)
def test_all_commands_read_a_layout_alike(tmp_path, write, named, capsys):
    folder = tmp_path / "quiz"
    folder.mkdir()
    write(folder)
    names = {"benchmark": "exam"} if named else {}
    options = [part for name, value in names.items() for part in (f"--as-{name}", value)]
    scored = cells_of(folder, **names)
    benchmark = "exam" if named else "quiz"
    assert scored == {(benchmark, model): own for model, own in EXPECTED.items()}

    assert run("convert", folder, "-o", tmp_path / "run", *options) == 0
    assert cells_of(tmp_path / "run") == scored
    if "completions" in write.__name__:
        assert run("rescore", folder, "-o", tmp_path / "again", "--scorer", "numeric", *options) == 0
        assert cells_of(tmp_path / "again") == scored
        assert cells_of(tmp_path / "again", scorer="numeric") == scored
    assert run("convert", folder, "-o", tmp_path / "counts.jsonl", "--to", "eval-arena", *options) == 0
    assert cells_of(tmp_path / "counts.jsonl") == scored
    capsys.readouterr()
    assert run("preview", folder, *options) == 0
    assert f"benchmark {benchmark}:" in capsys.readouterr().out
    assert run("report", folder, "-o", tmp_path / "report.html", "--no-static", *options) == 0
    assert all(model in (tmp_path / "report.html").read_text() for model in SCORES)


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_the_model_and_the_scale_of_a_table_that_does_not_state_them(tmp_path):
    file = tmp_path / "quiz.csv"
    file.write_text("question,score,completion,target\nq,3,x,y\nr,4,y,y\n")
    names = ["--model", "gpt", "--as-benchmark", "exam", "--scale", "4"]
    assert run("convert", file, "-o", tmp_path / "run", *names) == 0
    assert run("rescore", file, "-o", tmp_path / "again", "--scorer", "exact", *names) == 0
    expected = {("exam", "gpt"): {"q": (1, 0.75), "r": (1, 1.0)}}
    assert cells_of(file, model="gpt", benchmark="exam", scale=4) == expected
    assert cells_of(tmp_path / "run") == cells_of(tmp_path / "again", scorer="run") == expected
    assert cells_of(tmp_path / "again", scorer="exact") == {("exam", "gpt"): {"q": (1, 0.0), "r": (1, 1.0)}}


def run(*arguments):
    try:
        main([str(one) for one in arguments])
    except SystemExit as end:
        return end.code or 0
    return 0


def test_a_table_of_several_scorers_is_refused_with_the_option_that_reads_it(tmp_path):
    rows = [(m, q, g, name, v) for m, q, g, s in ROWS for name, v in (("accuracy", s), ("length", 0.5))]
    (tmp_path / "quiz.csv").write_text("model,question,generation,scorer,value\n" + lines(rows))
    with pytest.raises(InputError) as caught:
        cells_of(tmp_path / "quiz.csv")
    assert (caught.value.code, caught.value.options) == ("repeated-key", ("--scorer", "accuracy"))
    scored = cells_of(tmp_path / "quiz.csv", scorer="accuracy")
    assert scored == {("quiz", model): own for model, own in EXPECTED.items()}
