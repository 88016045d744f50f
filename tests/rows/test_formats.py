"""Files of each format: a table of cases; then globs, folders with keys, addresses, workbooks, and rows one by one."""

import datetime as dt
import gzip
import json
import os
import random
import shutil
import tempfile
import warnings
import zipfile
from pathlib import Path

import duckdb
import openpyxl
import polars as pl
import pytest
import yaml
from helpers.long_cases import mark_long
from helpers.tables import read_cells, read_cubes, read_runs

import howsure as hs
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.rows import formats
from howsure.rows.table import open_table

CASES = yaml.safe_load(Path(__file__).with_name("format_cases.yaml").read_text(encoding="utf-8"))
ROWS = "model,question,run,score\na,q1,1,1\na,q2,1,0\nb,q1,1,0.5\nb,q2,1,\n"

#: What a note says is tested by its code in tests/rows/test_table.py.
pytestmark = pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")


def write(tmp_path, text, name="some.csv"):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def make(case, folder):
    """The file of a case."""
    content = case["text"].encode(case.get("encoding", "utf-8")) + b"[" * 100_000 * case.get("deep", False)
    path = folder / case["file"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if case.get("gzip") else content)
    return path


def open_file(path, **options):
    """Columns and rows of a table, in DuckDB."""
    with formats.open_database() as connection, tempfile.TemporaryDirectory() as scratch:
        rows = formats.open_rows(connection, path, Path(scratch), **options)
        return rows.columns, [list(row) for row in rows.fetchall()]


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_read_or_refused_with_what_reads_it(tmp_path, name):
    case = CASES[name]
    path = make(case, tmp_path)
    if "code" in case:
        with pytest.raises(InputError, match=case.get("message", "t.csv: ")) as told:
            open_file(path)
        assert told.value.code == case["code"]
        assert told.value.options == (("--map", case["option"]) if "option" in case else ())
        with pytest.raises(InputError):
            list(formats.read_rows(path))
        if not {"option", "read_by"} & case.keys():
            return
    options = yaml.safe_load(case.get("option") or case.get("read_by", "{}"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns, rows = open_file(path, **options)
    assert columns == case["columns"]
    assert rows == case.get("read", case.get("rows"))
    assert [one.message.note.code for one in caught] == ([case["note"]] if "note" in case else [])


def test_csv_is_read_alike_row_by_row_and_in_duckdb(tmp_path):
    """Independent: two readers, of files drawn at random; a file that one refuses the other refuses, or it is empty.

    DuckDB lost all rows below lines with different ends, and took lines that begin with # for comments.
    """
    draw = random.Random(7)
    cells = ["x", "5", "", "#", " ", '"q"', '"a,b"', '"a\nb"', '"a\r\nb"', '"a""b"', 'a"b', "é", "\t", '""', '"']
    for number in range(300):
        ends = draw.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"]])
        above = [draw.choice(["title", "# x", '"a\nb"']) for _ in range(draw.choice([0, 0, 1, 2]))]
        lines = ["", *above, draw.choice(["alpha,beta,gamma", '"al\npha",beta,gamma'])][draw.choice([0, 1]) :]
        for _ in range(draw.randint(1, 6)):
            width = draw.choices([3, 2, 4, 0], [30, 1, 1, 2])[0]
            lines.append(",".join(draw.choices(cells, [9] * (len(cells) - 1) + [0.1], k=width)))
        path = tmp_path / f"{number}.csv"
        text = "".join(line + draw.choice(ends) for line in lines)
        path.write_bytes(text.encode(draw.choice(["utf-8", "utf-8", "utf-8-sig", "cp1252"])))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                one_by_one = [
                    [cell or None for cell in row.values()] for _, row in formats.read_rows(path, header=len(above))
                ]
            except InputError:
                with pytest.raises(InputError):
                    open_file(path, header=len(above))
                continue
            assert one_by_one == (open_file(path, header=len(above))[1] if one_by_one else []), text


@pytest.mark.parametrize("packed", [False, True])
def test_a_csv_that_is_kept_on_the_disk_is_read_the_same(tmp_path, monkeypatch, packed):
    """Independent: the sums of the lines that were written."""
    lines = [f"m{i % 3},q{i % 7},{i},{i % 2}" for i in range(42_000)]
    path = write(tmp_path, "\n".join(["model,question,run,score", *lines]))
    if packed:
        (tmp_path / "some.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / "some.csv.gz"
    monkeypatch.setattr(formats, "_MOST_IN_MEMORY", 1000)
    columns, rows = open_file(path)
    assert [",".join(row) for row in rows] == lines
    assert columns == ["model", "question", "run", "score"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_letter_that_is_not_utf8_far_below(tmp_path, form):
    """Independent: the rows that were written, of which the last has the letter, in more than two blocks of bytes."""
    rows = [["m" * 50, str(i)] for i in range(60_000)] + [["é", "1"]]
    lines = ["a,b", *map(",".join, rows)] if form == "csv" else [f'{{"a": "{a}", "b": "{b}"}}' for a, b in rows]
    path = tmp_path / f"t.{form}"
    path.write_bytes("\n".join(lines).encode("cp1252"))
    with pytest.warns(HowsureWarning, match="not UTF-8, and is read as Windows-1252"):
        assert open_file(path)[1] == rows


def test_long_lines(tmp_path):
    """Independent: the lengths that were written; csv.field_size_limit and DuckDB's longest line are shorter."""
    path = write(tmp_path, f"model,text\na,{'x' * 3_000_000}\nb,y\n")
    assert [len(text) for _, text in open_file(path)[1]] == [3_000_000, 1]
    assert [len(row["text"]) for _, row in formats.read_rows(path)] == [3_000_000, 1]


def test_places_and_cells_of_rows(tmp_path):
    path = write(tmp_path, 'a,b\n007,x\n\n1.0,"y\nz"\n')
    assert list(formats.read_rows(path)) == [("line 2", {"a": "007", "b": "x"}), ("line 5", {"a": "1.0", "b": "y\nz"})]
    assert formats.name_row(str(path), 2) == f"{path}, line 5"
    path = write(tmp_path, '{"a": 1}\n\n{"a": [true]}\n', "t.jsonl")
    assert list(formats.read_rows(path)) == [("line 1", {"a": 1}), ("line 3", {"a": [True]})]
    pl.DataFrame({"a": [1, None], "b": [[1], []]}).write_parquet(tmp_path / "t.parquet")
    assert list(formats.read_rows(tmp_path / "t.parquet")) == [
        ("row 1", {"a": 1, "b": [1]}),
        ("row 2", {"a": None, "b": []}),
    ]
    path = write(tmp_path, "PAR1", "u.parquet")
    with pytest.raises(InputError, match="u.parquet: not a whole parquet file"):
        list(formats.read_rows(path))
    with pytest.raises(UnknownNameError, match="unknown file type '.docx'; known: .csv, .json"):
        list(formats.read_rows(write(tmp_path, "", "t.docx")))


def test_a_key_that_stands_twice_in_a_line_is_refused(tmp_path):
    path = write(tmp_path, '{"a": 1, "a": 2}\n', "t.jsonl")
    with pytest.raises(InputError, match="line 1: not JSON: duplicate key 'a'"):
        list(formats.read_rows(path))
    with pytest.raises(InputError, match="duplicate key"), open_table(path) as rows:
        rows.fetchall()


def write_book(path, **sheets):
    """A workbook with these sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_a_workbook(tmp_path):
    path = tmp_path / "t.xlsx"
    rows = [["question", "score", "day"], ["q1", 1.0, dt.date(2026, 1, 2)], [None], ["q2", 0.5, None]]
    write_book(path, Details=rows, notes=[["nothing"], ["here"]])
    expected = [["q1", 1.0, "2026-01-02"], ["q2", 0.5, None]]
    assert open_file(path) == (["question", "score", "day"], expected)
    assert [place for place, _ in formats.read_rows(path)] == ["row 2", "row 4"]
    shutil.copy(path, tmp_path / "book")
    assert open_file(tmp_path / "book")[1] == expected
    write_book(path, Summary=[["model", "mean"], ["a", 1]], **{"The rows": [["Our results"], [], *rows]})
    with pytest.raises(InputError, match="2 sheets have rows: Summary, The rows") as told:
        open_file(path)
    assert (told.value.code, told.value.options) == ("sheets", ())
    assert open_file(path, sheet="Summary")[1] == [["a", 1]]
    with pytest.raises(InputError, match="the first line is no header, but 'Our results'") as told:
        open_file(path, sheet="The rows")
    assert told.value.options == ("--map", "header: 1")
    assert open_file(path, sheet="The rows", header=1)[1] == expected
    with pytest.raises(InputError, match="no sheet 'Other'; its sheets are Summary, The rows"):
        open_file(path, sheet="Other")
    path.write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(InputError, match="t.xlsx: cannot be read: .*; save the table as csv"):
        open_file(path)


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
    with pytest.raises(InputError, match="no column tells them apart"):
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


@pytest.mark.filterwarnings("ignore:.*taken as they are")
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


@pytest.mark.filterwarnings("ignore:.*taken as they are")
def test_numbers_of_typed_columns(tmp_path):
    frame = pl.DataFrame({
        "model": [3, 3, 3, 3], "question": [10, 9, 8, 7], "run": [0, 0, 0, 0],
        "score": [1.0, None, float("nan"), 0.25], "right": [True, False, None, True], "points": [3, 0, -2, None],
    })  # fmt: skip
    frame.write_parquet(path := tmp_path / "t.parquet")
    [cells] = read_cells(path)
    assert (cells.models, cells.questions) == (("3",), ("10", "7", "8", "9"))
    assert (cells.n.tolist(), cells.total.tolist()) == ([[1, 1, 0, 0]], [[1, 0.25, 0, 0]])
    assert read_cells(path, {"score": "right"})[0].total.tolist() == [[1, 1, 0, 0]]
    assert read_cells(path, {"score": "points"})[0].total.tolist() == [[3, 0, -2, 0]]
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


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
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


@pytest.mark.parametrize("name", ["log.eval", "table.xlsx", "files.zip"])
def test_a_zip_with_a_damaged_name_of_a_file_is_refused_in_one_line(tmp_path, name):
    """A name that says that it is UTF-8 and is not, as after damage."""
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("é.json", "{}")
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content.replace("é".encode(), b"\xf3\xf3"))
    with pytest.raises(InputError, match=name) as caught:
        list(hs.read(tmp_path / name))
    assert "\n" not in str(caught.value)


def write_workbook(path, sheet):
    """A workbook as small as possible, with this XML as its only sheet."""
    ns = "http://schemas.openxmlformats.org"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{ns}/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{ns}/package/2006/relationships"><Relationship Id="r1" '
        f'Type="{ns}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{ns}/spreadsheetml/2006/main" '
        f'xmlns:r="{ns}/officeDocument/2006/relationships"><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{ns}/package/2006/relationships"><Relationship Id="r1" '
        f'Type="{ns}/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(name, text)
        with book.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as file:
            file.write(f'<worksheet xmlns="{ns}/spreadsheetml/2006/main"><sheetData>'.encode())
            for part in sheet:
                file.write(part)
            file.write(b"</sheetData></worksheet>")


def row_of(number, *values):
    cells = "".join(f'<c r="{chr(65 + i)}{number}" t="str"><v>{value}</v></c>' for i, value in enumerate(values))
    return f'<row r="{number}">{cells}</row>'.encode()


SHEET = [row_of(1, "model", "question", "score"), row_of(2, "a", "q1", 1), row_of(3, "a", "q2", 0)]


@pytest.mark.long
def test_a_workbook_that_is_too_large_when_it_is_read_is_refused(tmp_path):
    path = tmp_path / "t.xlsx"
    write_workbook(path, SHEET)
    assert hs.score(path)["score"].tolist() == [0.5]
    write_workbook(path, [*SHEET, b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'])
    with pytest.raises(InputError, match="a sheet of 1,048,576 rows and 16,384 columns"):
        hs.score(path)
    write_workbook(path, [*SHEET, *[b" " * (1 << 20)] * 300])
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InputError, match="expands to more than 200 times its size"):
        hs.score(path)
