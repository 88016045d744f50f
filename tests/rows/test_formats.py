"""Tables by their names: csv larger than memory, globs, folders with keys, addresses, torn lines and what types hide."""

import gzip
import json
import os
from pathlib import Path

import duckdb
import polars as pl
import pytest
from helpers.long_cases import mark_long

import howsure as hs
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.rows import formats
from howsure.rows.read_table import open_table, read_cells, read_cubes, read_runs

ROWS = "model,question,run,score\na,q1,1,1\na,q2,1,0\nb,q1,1,0.5\nb,q2,1,\n"


def write(tmp_path, text, name="some.csv"):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_a_csv_that_is_too_large_for_memory_is_read_the_same(tmp_path, monkeypatch, packed):
    """Independent: the sums of the lines that were written, in many blocks of the parser."""
    lines = [f"m{i % 3},q{i % 7},{i},{i % 2}" for i in range(42_000)]
    path = write(tmp_path, "\n".join(["model,question,run,score", *lines]))
    if packed:
        (tmp_path / "some.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / "some.csv.gz"
    whole = read_cells(path)[0]
    monkeypatch.setattr(formats, "_MAX_IN_MEMORY", 1000)
    monkeypatch.setattr(formats, "_BLOCK_SIZE", 10_000)
    [cells] = read_cells(path)
    assert cells.n.tolist() == whole.n.tolist() == [[2000] * 7] * 3
    assert cells.total.sum() == whole.total.sum() == 21_000
    with pytest.raises(InputError, match="some.csv, line 42002: cannot be read: 2 fields where the header has 4"):
        read_cells(write(tmp_path, "\n".join(["model,question,run,score", *lines, "m9,q1"])))


def test_a_row_of_other_width_is_named_by_its_line_in_the_file_that_was_given(tmp_path):
    """In Latin-1, so that a copy is parsed; a row of two lines, an empty line, and then a field too many."""
    path = tmp_path / "some.csv"
    path.write_bytes('model;question;score;text\na;1;1;"x\ny"\n\na;2;1;\xe9;ff\n'.encode("latin-1"))
    what = "5 fields where the header has 4; quote fields that hold semicolons"
    with pytest.warns(HowsureWarning, match="no UTF-8"), pytest.raises(InputError, match=what) as caught:
        read_cells(path)
    assert str(caught.value).startswith(f"{path}, line 5: ")


def test_a_quote_that_never_ends_swallows_no_rows(tmp_path):
    text = 'model,question,score,text\na,q1,1,fine\na,q2,0,"he said\na,q3,1,more\n'
    with pytest.raises(InputError, match="cannot be read: a quote never ends"):
        read_cells(write(tmp_path, text))
    [cells] = read_cells(write(tmp_path, text.replace("more\n", 'more"\n')))
    assert cells.questions == ("q1", "q2")
    [cells] = read_cells(write(tmp_path, '"mo\ndel",question,score\na,q1,1\n'), {"model": "mo\ndel"})
    assert cells.models == ("a",)
    with pytest.raises(InputError, match="line 1.*field larger than field limit"):
        read_cells(write(tmp_path, '"' + "x" * 200_000 + ",question,score\na,q1,1\n"))


def test_a_damaged_gzip_is_told(tmp_path):
    whole = gzip.compress((ROWS * 500).encode())
    for damaged in (whole[:-20], whole[:30] + bytes(40) + whole[70:]):
        path = tmp_path / "t.csv.gz"
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="t.csv.gz: cannot be read: .*is the file whole"):
            read_cells(path)


FORMS = {
    "csv": lambda frame, path: frame.write_csv(path),
    "parquet": lambda frame, path: frame.write_parquet(path),
    "jsonl": lambda frame, path: frame.write_ndjson(path),
}


@pytest.mark.parametrize("form", FORMS)
def test_files_of_a_glob_are_one_table_named_by_their_folder(tmp_path, form):
    folder = tmp_path / "gsm8k"
    folder.mkdir()
    columns = {"model": ["a", "a"], "question": ["q1", "q2"], "run": [1, 1], "score": [1.0, 0.0]}
    FORMS[form](pl.DataFrame(columns), folder / f"1.{form}")
    FORMS[form](
        pl.DataFrame(columns | {"run": [2, 2]}).select("score", "run", "question", "model"), folder / f"2.{form}"
    )
    (folder / "notes.txt").write_text("no table")
    [cells] = read_cells(f"{folder}/*.{form}")
    assert (cells.benchmark, cells.n.tolist(), cells.total.tolist()) == ("gsm8k", [[2, 2]], [[2.0, 0.0]])
    assert len(read_runs(f"{folder}/*")["gsm8k"]) == 2
    FORMS[form](pl.DataFrame(columns), folder / f"3.{form}")
    with pytest.raises(InputError, match="2 duplicate keys"):
        read_cells(f"{folder}/*.{form}")


def test_globs_that_are_no_table(tmp_path):
    write(tmp_path, ROWS, "rows/a.csv")
    with pytest.raises(InputError, match="no table here; tables are .csv"):
        read_cells(f"{tmp_path}/rows/*.parquet")
    write(tmp_path, "model,question,points\n", "rows/b.csv")
    with pytest.raises(InputError, match=r"b.csv: columns model, question, points, but model, question, run, score in"):
        read_cells(f"{tmp_path}/rows/*.csv")
    write(tmp_path, "{}", "rows/c.jsonl")
    with pytest.raises(InputError, match="files of several types: csv, json; name one type"):
        read_cells(f"{tmp_path}/rows/*")
    starred = write(tmp_path, ROWS, "rows/[1].csv")
    assert not formats.is_glob(str(starred))
    assert read_cells(starred)[0].benchmark == "[1]"


@pytest.mark.filterwarnings("ignore:.*not from 0 to 1")
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_folders_that_are_keys_stay_text(tmp_path, form):
    for model in ("007", "7"):
        (tmp_path / f"model={model}").mkdir()
        FORMS[form](
            pl.DataFrame({"question": ["q"], "score": [float(model)]}), tmp_path / f"model={model}" / f"x.{form}"
        )
    [cells] = read_cells(f"{tmp_path}/model=*/*.{form}")
    assert (cells.models, cells.total.tolist()) == (("007", "7"), [[7.0], [7.0]])


@pytest.mark.parametrize(
    "address", ["s3://bucket/rows/*.parquet", "hf://datasets/a/b.csv", "https://127.0.0.1:1/a.jsonl"]
)
def test_an_address_without_the_extension_is_told_in_one_line(address, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))  # where DuckDB keeps its extensions: there are none
    assert formats.is_remote(address)
    with pytest.raises(
        InputError, match="needs DuckDB's extension httpfs, which is not installed; install it once: pyth"
    ) as told:
        read_cells(address)
    assert "\n" not in str(told.value)


def test_an_address_whose_form_is_unknown(monkeypatch):
    monkeypatch.setattr(formats, "_load_extension", lambda *_: None)
    with pytest.raises(UnknownNameError, match="unknown file type '.docx'"):
        read_cells("https://host/t.docx?download=true")


def test_text_at_an_address_is_copied_and_parsed_as_any_other(tmp_path):
    """The copying alone: DuckDB reads a local file the same way."""
    path = write(tmp_path, ROWS)
    (tmp_path / "scratch").mkdir()
    with duckdb.connect() as connection:
        copy = formats._download(connection, str(path), tmp_path / "scratch")
        assert copy.read_text() == ROWS
        write(tmp_path, ROWS, "other.csv")
        with pytest.raises(InputError, match="2 files; a csv is read one at a time"):
            formats._download(connection, f"{tmp_path}/*.csv", tmp_path / "scratch")


def test_a_torn_line_of_json_is_named_and_nothing_is_dropped(tmp_path):
    lines = [json.dumps({"model": "a", "id": i, "score": 1}) for i in range(9)]
    for place in (0, 4, 8):
        torn = [line[:-4] if i == place else line for i, line in enumerate(lines)]
        with pytest.raises(
            InputError, match=rf"t.jsonl: cannot be read: line {place + 1} is no JSON .*fix the line or"
        ):
            read_cells(write(tmp_path, "\n".join(torn), "t.jsonl"))
    with pytest.raises(InputError, match="line 10 is no JSON"):
        read_cells(write(tmp_path, "\n".join([*lines, "[" * 100_000]), "t.jsonl"))
    twice = '{"model": "a", "id": 1, "score": 1, "score": 0}'  # which DuckDB refuses and others take for the last
    deep = tmp_path / ("long" * 40)  # its name must not leave too little room for what is wrong
    deep.mkdir()
    with pytest.raises(InputError, match="t.jsonl: cannot be read: .*duplicate key"):
        read_cells(write(deep, twice, "t.jsonl"))


def test_texts_of_json_stay_what_they_are(tmp_path):
    ids = ["2024-01-01T10:00:00Z", "2024-01-02T11:30:00Z"]
    lines = [json.dumps({"model": "2024-01-01", "id": i, "score": 1, "when": {"at": "2024-01-01"}}) for i in ids]
    [cells] = read_cells(write(tmp_path, "\n".join(lines), "t.jsonl"))
    assert (cells.models, cells.questions) == (("2024-01-01",), tuple(ids))
    mixed = [
        {"model": "a", "id": 1, "score": True},
        {"model": "a", "id": "x", "score": "0.5"},
        {"model": "a", "id": "y"},
    ]
    [cells] = read_cells(write(tmp_path, "\n".join(map(json.dumps, mixed)), "t.jsonl"))
    assert (cells.questions, cells.total.tolist(), cells.n.tolist()) == (("1", "x", "y"), [[1, 0.5, 0]], [[1, 1, 0]])


@pytest.mark.filterwarnings("ignore:.*not from 0 to 1")
def test_numbers_of_typed_columns(tmp_path):
    frame = pl.DataFrame({
        "model": [3, 3, 3, 3], "question": [10, 9, 8, 7], "run": [0, 0, 0, 0],
        "score": [1.0, None, float("nan"), 0.25], "right": [True, False, None, True], "points": [3, 0, -1, None],
    })  # fmt: skip
    frame.write_parquet(path := tmp_path / "t.parquet")
    [cells] = read_cells(path)
    assert (cells.models, cells.questions) == (("3",), ("10", "7", "8", "9"))
    assert (cells.n.tolist(), cells.total.tolist()) == ([[1, 1, 0, 0]], [[1, 0.25, 0, 0]])
    assert read_cells(path, {"score": "right"})[0].total.tolist() == [[1, 1, 0, 0]]
    assert read_cells(path, {"score": "points"})[0].total.tolist() == [[3, 0, -1, 0]]
    frame.with_columns(score=pl.Series([1.0, float("-inf"), 0, 0])).write_parquet(path)
    with pytest.raises(InputError, match="row 2, column 'score': '-inf' is not a score, which is a finite number"):
        read_cells(path)
    frame.with_columns(question=pl.Series([1, None, 2, 3])).write_parquet(path)
    with pytest.raises(InputError, match="row 2, column 'question': the question is empty; fill it in"):
        read_cells(path)


def test_names_that_are_neither_text_nor_whole_numbers_are_text_as_duckdb_writes_it(tmp_path):
    frame = pl.DataFrame({"model": [True, False], "question": [1.5, 2.0], "score": [1, 0]})
    frame.with_columns(pl.col("score").cast(pl.Decimal(5, 2))).write_parquet(path := tmp_path / "t.parquet")
    [cells] = read_cells(path)
    assert (cells.models, cells.questions) == (("false", "true"), ("1.5", "2.0"))
    assert cells.total.sum() == 1


def test_the_columns_of_promptsuite(tmp_path):
    text = (
        "variation_index,original_row_index,run_number,unique_run_id,model_name,prompt,model_response,gold_answer,is_correct\n"
        "1,0,1,u1,m,p one,A,A,True\n1,0,2,u2,m,p one,B,A,False\n2,0,1,u3,m,p two,A,A,True\n2,0,2,u4,m,p two,,A,\n"
    )
    [cube] = read_cubes(write(tmp_path, text))
    assert (cube.models, cube.questions, cube.variants) == (("m",), ("0",), ("1", "2"))
    assert (cube.n.tolist(), cube.total.tolist()) == ([[[2, 1]]], [[[1.0, 1.0]]])


def test_dove_comes_as_one_generation_under_each_variant(tmp_path):
    names = ["dataset", "sample_index", "model", "dimensions_1: enumerator", "dimensions_2: separator",
             "dimensions_3: choices_order", "dimensions_4: instruction_phrasing_text", "dimensions_5: shots", "score"]  # fmt: skip
    rows = [("mmlu", 0, "m", e, " ", "none", "Answer:", 0, s) for e, s in (("A", 1.0), ("1", 0.0))]
    pl.DataFrame(rows, schema=names, orient="row").write_parquet(path := tmp_path / "t.parquet")
    with pytest.warns(HowsureWarning, match="t.parquet: one generation under each variant"):
        [cube] = read_cubes(path)
    assert (cube.benchmark, cube.models, cube.n.tolist()) == ("mmlu", ("m",), [[[1, 1]]])
    assert sorted(cube.values["enumerator"]) == ["1", "A"]
    with pytest.warns(HowsureWarning, match="one generation under each variant"):
        [cells] = hs.read(path)
    assert (cells.n.tolist(), cells.total.tolist()) == ([[2]], [[1.0]])


BAD_HEADERS = {
    "a name twice": ("i,m,M \n1,.5,.6\n", "columns 2 and 3 have the same name, 'M '; give each column its own name"),
    "no header": ("1,.5,.5\n2,.4,.6\n", "the first line holds values and no names of columns: 1, .5, .5; add a first"),
    "no header with names": ("a,.5,.25\nb,.4,.6\n", "the first line holds values and no names of columns: a, .5, .25"),
    "percent": ("a,50%,25 %\n", "the first line holds values"),
}


@pytest.mark.parametrize("kind", BAD_HEADERS)
def test_a_header_that_is_none_is_refused(tmp_path, kind):
    content, message = BAD_HEADERS[kind]
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message), open_table(path) as rows:
        rows.fetchall()


def test_columns_without_a_name_are_columns_of_their_own(tmp_path):
    (tmp_path / "t.csv").write_text("a,,b,\n1,x,2,y\n")
    with open_table(tmp_path / "t.csv") as rows:
        assert rows.fetchall() == [("1", "x", "2", "y")]
        assert len(set(rows.columns)) == 4
    (tmp_path / "years.csv").write_text("model,2023,2024\na,1,2\n")
    with open_table(tmp_path / "years.csv") as rows:
        assert rows.columns == ["model", "2023", "2024"]


NAMED = ["run[1]", "q?", "a*b", "[!a]", "x]y", "d[2]/e[3]", "it's[1]", "**", "~home[0]", "fold=7/r[1]"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", mark_long(NAMED, after=4))
def test_the_file_that_is_named_is_the_file_that_is_read(tmp_path, form, name, monkeypatch):
    """Independent: each file holds its own name. Beside it lie the files that the name would match as a pattern."""
    monkeypatch.chdir(tmp_path)
    near = ["run1", "qa", "axb", "b", "d2/e3", "it's1", "a/b", "home0", "fold=7/r1"]
    for i, one in enumerate([*near, name]):
        path = tmp_path / f"{one}.{form}"
        path.parent.mkdir(parents=True, exist_ok=True)
        score = 1.0 if one == name else 0.0
        FORMS[form](pl.DataFrame({"model": [f"m{i}"], "question": ["q"], "score": [score]}), path)
    for given in (f"{name}.{form}", tmp_path / f"{name}.{form}"):
        [cells] = hs.read(given).cells()
        assert (cells.total / cells.n).tolist() == [[1.0]]
        assert cells.models == (f"m{len(near)}",)


@pytest.mark.filterwarnings("ignore:.* have the same question ids:howsure.errors.HowsureWarning")
@pytest.mark.filterwarnings("ignore:.* are read as one table of one benchmark:howsure.errors.HowsureWarning")
@pytest.mark.parametrize("form", FORMS)
def test_files_of_a_folder_and_of_a_pattern_are_read_by_their_names(tmp_path, form):
    for i, name in enumerate(["r[1]", "r1"]):
        FORMS[form](pl.DataFrame({"model": [f"m{i}"], "question": ["q"], "score": [1.0]}), tmp_path / f"{name}.{form}")
    for given in (tmp_path, f"{tmp_path}/*.{form}"):
        names = sorted({model for cells in hs.read(given).cells() for model in cells.models})
        assert names == ["m0", "m1"]


def test_no_extension_is_installed_or_loaded_because_a_name_asks_for_it(tmp_path):
    """Independent: DuckDB's own list of what it loaded."""
    with formats.open_database() as connection:
        settings = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
        assert settings["autoinstall_known_extensions"] == settings["autoload_known_extensions"] == "false"
        with pytest.raises(duckdb.Error):
            connection.execute("FROM read_parquet('http://127.0.0.1:9/rows.parquet')")
        with pytest.raises(duckdb.Error):
            connection.execute("FROM 'https://127.0.0.1:9/rows.csv'")
    address = "http://127.0.0.1:9/rows.parquet"
    text = f'model,question,score,"{address}"\n{address},s3://b/q,1,"{address}"\n'
    [cells] = read_cells(write(tmp_path, text))
    assert (cells.models, cells.questions) == ((address,), ("s3://b/q",))


def test_tables_share_one_database_and_a_damaged_one_is_replaced(tmp_path):
    """Independent: DuckDB's own list of databases, and one that is closed."""
    path = write(tmp_path, "model,question,score\na,q,1\n")
    with formats.open_database() as first, formats.open_database() as second:
        first.execute("CREATE TABLE seen AS SELECT 1 AS one")
        assert second.execute("FROM seen").fetchall() == [(1,)]
        [(scratch,)] = second.execute("SELECT current_setting('temp_directory')").fetchall()
    assert Path(scratch).stat().st_mode & 0o777 == 0o700
    formats._start_database(os.getpid()).close()
    assert read_cells(path)[0].models == ("a",)
    with formats.open_database() as third, pytest.raises(duckdb.CatalogException):
        third.execute("FROM seen")


@pytest.mark.parametrize(
    ("text", "title", "line"),
    [
        ("\ufeffOur results, 2026\n\nmodel;question;score\nm;a;1\nm;b;0\n", "Our results, 2026", 3),
        ("Our results\nmodel,question,score\nm,a,1\nm,b,0\n", "Our results", 2),
        ("Results; all\nmodel\tquestion\tscore\nm\ta\t1\nm\tb\t0\n", "Results; all", 2),
    ],
)
def test_a_title_above_the_header_is_named_with_the_line_where_the_columns_begin(tmp_path, text, title, line):
    """The parser's words were "Expected 2 columns, got 1", and the file was said to be damaged."""
    path = tmp_path / "sheet.csv"
    path.write_text(text, encoding="utf-8")
    what = f"line 1 is no header: it is '{title}', and 3 columns begin in line {line}; remove what stands above"
    with pytest.raises(InputError, match=what):
        hs.read(path).cells()
    path.write_text("\n".join(text.splitlines()[line - 1 :]) + "\n")
    assert hs.read(path)[0].questions == ("a", "b")


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_separators_in_the_texts_of_a_table_make_no_title_of_its_header(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("model,question,score\nm,a;1,1\nm,b;2,0\n")
    assert hs.read(path)[0].questions == ("a;1", "b;2")


@pytest.mark.parametrize("more", ["n,stderr", "n,ci_low,ci_high", "Rank"])
def test_mean_scores_of_models_are_refused_without_a_column_that_could_be_named(tmp_path, more):
    path = tmp_path / "leaderboard.csv"
    path.write_text(f"model,score,{more}\na,.887,{'1,' * more.count(',')}1\nb,.795,{'2,' * more.count(',')}2\n")
    with pytest.raises(InputError, match="error bars need the score of each question") as caught:
        hs.read(path).cells()
    assert "--columns question" not in str(caught.value)
