"""Every public function takes paths, frames, results of `read`, and the objects that these become."""

import functools

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from helpers.long_cases import mark_long
from helpers.noted import noted

import howsure as hs
from howsure.errors import InputError, UnknownNameError

ROWS = [
    {"model": model, "question": f"q{q}", "variant": variant, "generation": g, "score": (q * 7 + v + g + m) % 3 != 0}
    for m, model in enumerate("ab")
    for q in range(6)
    for v, variant in enumerate(("short", "long"))
    for g in range(2)
]
COLUMNS = {name: [float(row[name]) if name == "score" else row[name] for row in ROWS] for name in ROWS[0]}


@pytest.fixture(params=mark_long(["path", "pyarrow", "read", "text", "paths", "polars"], after=3))
def data(request, tmp_path):
    frame = pa.table(COLUMNS)
    file = tmp_path / "rows.csv"
    pl.DataFrame(COLUMNS).write_csv(file)
    return {
        "path": lambda: file,
        "text": lambda: str(file),
        "paths": lambda: [file],
        "pyarrow": lambda: frame,
        "polars": lambda: pl.DataFrame(COLUMNS),
        "read": lambda: hs.read(file),
    }[request.param]()


QUESTIONS = {
    "score": hs.score,
    "compare": lambda data: hs.compare(data, "a", "b"),
    "pairs": hs.pairs,
    "rank": hs.rank,
    "combine": lambda data: hs.combine(data, "a", "b"),
    "repeats": hs.repeats,
    "variants": hs.variants,
    "order": lambda data: hs.variants(data, show="order"),
    "reference": lambda data: hs.variants(data, show="reference"),
    "plan": lambda data: hs.plan(data, se=0.05),
}


def values(result):
    return {name: [str(value) for value in column] for name, column in result.columns().items() if name != "benchmark"}


@functools.cache
def values_of_frame(name):
    return values(QUESTIONS[name](hs.read(pa.table(COLUMNS))))


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_function_takes_each_form(name, data):
    assert values(QUESTIONS[name](data)) == values_of_frame(name)


def test_cells_and_cubes_are_taken_as_they_are(data):
    results = data if isinstance(data, hs.Evaluations) else hs.read(data)
    assert values(hs.score(results.cells())) == values(hs.score(data))
    assert values(hs.score(results.cells()[0])) == values(hs.score(data))
    assert values(hs.variants(results.cubes()[0])) == values(hs.variants(data))
    assert values(hs.plan(results.cubes()[0], se=0.05)) == values(hs.plan(data, se=0.05))


def test_other_models_are_borrowed_from_a_path_too(tmp_path):
    reference = pl.DataFrame([
        {"benchmark": "b", "model": f"m{m}", "question": f"q{q}", "score": float((q * (m + 3)) % 5 != 0)}
        for m in range(6) for q in range(40)
    ])  # fmt: skip
    new = reference.filter(pl.col("model") == "m0").head(20).with_columns(model=pl.lit("new"))
    reference.write_csv(tmp_path / "reference.csv")
    from_path = hs.score(new, borrow=tmp_path / "reference.csv")
    assert values(from_path) == values(hs.score(hs.read(new), borrow=hs.read(reference)))
    assert "score_plain" in from_path.columns()


CALLS = {
    "score": lambda **arguments: hs.score("no file", **arguments),
    "compare": lambda **arguments: hs.compare("no file", "a", "b", **arguments),
    "pairs": lambda **arguments: hs.pairs("no file", **arguments),
    "rank": lambda **arguments: hs.rank("no file", **arguments),
    "repeats": lambda **arguments: hs.repeats("no file", **arguments),
    "variants": lambda **arguments: hs.variants("no file", **arguments),
    "order": lambda **arguments: hs.variants("no file", show="order", **arguments),
    "plan": lambda **arguments: hs.plan("no file", se=0.1, **arguments),
    "report": lambda **arguments: hs.report("no file", **arguments),
    "rescore": lambda **arguments: hs.rescore("no file", "own", **arguments),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_level_is_checked_at_the_call_before_anything_is_read(name):
    with pytest.raises(InputError, match="level is 95; did you mean 0.95"):
        CALLS[name](level=95)


@pytest.mark.parametrize("name", ["score", "compare", "pairs", "rank"])
def test_claim_and_method_are_checked_at_the_call(name):
    with pytest.raises(UnknownNameError, match="unknown claim 'new-question'; did you mean 'new-questions'"):
        CALLS[name](claim="new-question")
    with pytest.raises(UnknownNameError, match="unknown method 'ctl'; did you mean 'clt'"):
        CALLS[name](method="ctl")


def test_rules_are_checked_at_the_call():
    with pytest.raises(UnknownNameError, match="unknown rule for missing generations 'as-one'"):
        hs.score("no file", missing="as-one")
    with pytest.raises(UnknownNameError, match="unknown form 'runs'; did you mean 'run'"):
        hs.convert("no file", "output", to="runs")
    with pytest.raises(UnknownNameError, match="unknown figure format 'gif'"):
        hs.report("no file", figure_format="gif")


def test_cells_are_the_runs_of_their_benchmark():
    runs = next(iter(hs.read(pa.table(COLUMNS)).runs().values()))
    assert values(hs.repeats(runs)) == values(hs.repeats({"frame": runs}))


def test_a_report_of_cells_alone(tmp_path):
    cells = hs.read(pa.table(COLUMNS)).cells()
    assert hs.report(cells, tmp_path / "page.html", static_figures=False).exists()
    assert hs.report(cells[0], tmp_path / "one.html", static_figures=False).exists()


def test_what_cannot_be_read_is_named():
    with pytest.raises(InputError, match="data of type float cannot be read; give paths or frames"):
        hs.score([1.5])


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_data_is_refused_at_the_call(name):
    with pytest.raises(InputError, match="no data is given"):
        QUESTIONS[name]([])


@pytest.mark.parametrize(
    "read",
    [
        hs.score,
        hs.read,
        hs.repeats,
        hs.audit,
        lambda data: hs.score([data]),
        lambda data: hs.gate(data, at_least=0.5),
        lambda data: hs.gate(data, baseline=data),
        lambda data: hs.gate(hs.Cells.from_scores("x", ["a"], ["q"], [[[1]]]), baseline=data),
        lambda data: hs.gate({name: np.array(values) for name, values in data.items()}, a="a", b="b"),
    ],
)
def test_a_mapping_of_columns_is_refused_with_the_way_to_make_a_frame(read):
    """Its keys were taken for paths."""
    with pytest.raises(InputError, match=r"the keys model, question, score is no frame; .*pandas.DataFrame\(data\)"):
        read({"model": ["a"], "question": ["q"], "score": [1]})


def test_a_mapping_of_numbers_is_refused_in_one_line():
    with pytest.raises(InputError, match="the keys model, score is no frame"):
        hs.repeats({"model": 1, "score": 0.5})


def test_a_doubt_about_a_frame_names_it():
    """Four copies of each generation: a doubt about the benchmark, which is called as the frame is."""
    ids = [f"q{i // 8}" for i in range(160)]
    rows = {"model": ["m"] * 160, "question": ids, "score": [i // 4 % 3 % 2 for i in range(160)]}
    rows["generation"] = [i % 8 for i in range(160)]
    with noted() as notes:
        hs.read(pa.table(rows)).cells()
    [note] = notes
    assert (note.code, note.where, note.facts["times"]) == ("stored-several-times", "the frame", 4)
