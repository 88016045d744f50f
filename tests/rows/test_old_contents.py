"""Files of every form that hold one table: written by other programs, read under any name; the values are set by hand."""

from __future__ import annotations

import gzip
import json
import zipfile

import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError

ROWS = [
    {"model": "gpt-4", "question": "q1", "score": 1},
    {"model": "gpt-4", "question": "q2", "score": 0},
    {"model": "çelik", "question": "q1", "score": 1},
    {"model": "çelik", "question": "q2", "score": 1},
]
CSV = "model,question,score\n" + "".join("{model},{question},{score}\n".format(**row) for row in ROWS)
LINES = "\n".join(map(json.dumps, ROWS))


def frame():
    import pandas as pd

    return pd.DataFrame(ROWS)


def check(path):
    [cells] = hs.read(path)
    assert (cells.models, cells.questions) == (("gpt-4", "çelik"), ("q1", "q2"))
    assert cells.total.tolist() == [[1, 0], [1, 1]]


JSON = {
    "an array": json.dumps(ROWS),
    "lines": LINES,
    "results in an object": json.dumps({"version": 2, "results": ROWS}),
    "a list of another name": json.dumps({"date": "today", "evaluations": ROWS}, indent=2),
    "columns of lists": json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}),
}


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.txt", "results", "t.log"])
@pytest.mark.parametrize("form", JSON)
def test_json_of_any_shape_under_any_name(tmp_path, name, form):
    path = tmp_path / name
    path.write_text(JSON[form])
    check(path)


@pytest.mark.parametrize("orient", ["records", "split", "columns", "index", "list"])
def test_json_that_pandas_writes(tmp_path, orient):
    path = tmp_path / "t.json"
    table = frame()
    if orient == "index":
        path.write_text(table.to_json(orient="records", lines=True))
    else:
        path.write_text(json.dumps(table.to_dict("list")) if orient == "list" else table.to_json(orient=orient))
    check(path)


@pytest.mark.parametrize("name", ["t.csv", "t.txt", "scores", "t.tsv"])
def test_delimited_text_under_any_name(tmp_path, name):
    path = tmp_path / name
    path.write_text(CSV.replace(",", "\t") if name.endswith("tsv") else CSV)
    check(path)


@pytest.mark.parametrize(("encoding", "said"), [("utf-16", "UTF-16"), ("latin-1", "Windows-1252"), ("utf-8-sig", None)])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_encodings_are_read_and_said(tmp_path, encoding, said, form):
    path = tmp_path / f"t.{form}"
    text = CSV if form == "csv" else "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS)
    path.write_bytes(text.encode(encoding))
    if said is None:
        check(path)
    else:
        with pytest.warns(HowsureWarning, match=said):
            check(path)


def test_a_letter_that_is_not_utf8_far_below(tmp_path):
    path = tmp_path / "t.csv"
    filler = "".join(f"m{i % 2},{i},1\n" for i in range(20_000))
    path.write_bytes(("model,question,score\n" + filler + "é,1,1\n").encode("latin-1"))
    with pytest.warns(HowsureWarning, match="Windows-1252"):
        [cells] = hs.read(path)
    assert "é" in cells.models


def test_a_spreadsheet(tmp_path):
    path = tmp_path / "t.xlsx"
    frame().to_excel(path, index=False)
    check(path)


def test_a_sheet_per_model(tmp_path):
    import pandas as pd

    with pd.ExcelWriter(tmp_path / "two.xlsx") as writer:
        for model, rows in frame().groupby("model"):
            rows.drop(columns="model").to_excel(writer, sheet_name=model, index=False)
    with pytest.warns(HowsureWarning, match="2 sheets are one table, with the model of each"):
        check(tmp_path / "two.xlsx")


def test_a_sheet_per_benchmark_with_a_column_for_each_model(tmp_path):
    import pandas as pd

    with pd.ExcelWriter(tmp_path / "two.xlsx") as writer:
        for name in ("law", "tax"):
            pd.DataFrame({"question": ["q1", "q2"], "gpt-4": [1, 0], "o3": [1, 1]}).to_excel(
                writer, sheet_name=name, index=False
            )
    with pytest.warns(HowsureWarning) as caught:
        cells = hs.read(tmp_path / "two.xlsx").cells()
    assert "2 sheets are one table, with the benchmark of each" in str(caught[0].message)
    assert [(each.benchmark, each.models) for each in cells] == [("law", ("gpt-4", "o3")), ("tax", ("gpt-4", "o3"))]


def test_merged_cells_of_a_spreadsheet_have_their_value_in_each(tmp_path):
    """As pandas writes an index, or columns, of two levels; a header of two rows was read as models and questions."""
    import pandas as pd

    rows = frame().set_index(["model", "question"])
    rows.to_excel(tmp_path / "t.xlsx")
    check(tmp_path / "t.xlsx")
    runs = pd.concat([rows.assign(run=run) for run in (1, 2)]).reset_index()
    runs.pivot_table("score", "question", ["model", "run"]).to_excel(tmp_path / "two.xlsx")
    with pytest.raises(InputError, match="two columns have the same name"):
        hs.read(tmp_path / "two.xlsx").cells()


def test_sheets_per_model_with_other_names_and_other_columns(tmp_path):
    import pandas as pd

    with pd.ExcelWriter(tmp_path / "two.xlsx") as writer:
        for i, (model, rows) in enumerate(frame().groupby("model")):
            sheet = rows.drop(columns="model")
            if i:
                names = {"question": "Question ID", "score": "Correct", "id": "Question ID"}
                sheet = sheet.rename(columns=names).assign(remark="x", latency=3)
            sheet.to_excel(writer, sheet_name=model, index=False)
    with pytest.warns(HowsureWarning, match="2 sheets are one table, with the model of each"):
        check(tmp_path / "two.xlsx")


def test_the_sheet_of_questions_is_read_and_not_the_summary(tmp_path):
    import pandas as pd

    with pd.ExcelWriter(tmp_path / "t.xlsx") as writer:
        summary = pd.DataFrame({"Model": ["gpt-4", "çelik"], "Accuracy": [0.9, 0.1]})
        summary.to_excel(writer, sheet_name="Summary", index=False)
        frame().to_excel(writer, sheet_name="Details", index=False)
    with pytest.warns(HowsureWarning, match="sheet 'Details' is read; other sheets have other columns: Summary"):
        check(tmp_path / "t.xlsx")


def test_rows_without_any_value_below_a_table(tmp_path):
    """As spreadsheets write them; a row with a score and no model is refused as before."""
    path = tmp_path / "t.csv"
    content = frame().assign(remark="").to_csv(index=False)
    path.write_text(content + ",,,\n , ,,\n")
    with pytest.warns(HowsureWarning, match="2 rows without any value are left out"):
        check(path)
    path.write_text(content + ",,1,\n")
    with pytest.raises(InputError, match="is empty; fill it in"):
        list(hs.read(path))


def test_a_spreadsheet_with_a_column_per_model_and_a_title(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Results of today"], [], ["Question ID", "gpt-4", "çelik"], ["q1", 1, 1], ["q2", 0, True]):
        sheet.append(row)
    book.create_sheet("notes").append(["nothing", "here"])
    book.save(tmp_path / "t.xlsx")
    with pytest.warns(HowsureWarning, match="a column per model"):
        check(tmp_path / "t.xlsx")


def test_a_model_that_stands_once_beside_the_records(tmp_path):
    path = tmp_path / "run.json"
    records = [{"id": i, "passed": i % 2 == 0} for i in range(3)]
    path.write_text(json.dumps({"model": "m", "dataset": "d", "temperature": 0.5, "results": records}))
    [cells] = hs.read(path)
    assert (cells.benchmark, cells.models, cells.total.tolist()) == ("d", ("m",), [[1, 0, 1]])


def test_json_in_a_folder_that_is_no_table_is_named(tmp_path):
    (tmp_path / "t.json").write_text(JSON["an array"])
    (tmp_path / "package.json").write_text('{"name": "x", "version": "1"}')
    (tmp_path / "numbers.json").write_text("[1, 2, 3]")
    with pytest.warns(HowsureWarning, match="1 file that no reader recognises: package.json"):
        check(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.json", b"{}", "t.json: JSON without a list of records"),
        ("t.json", b'[{"model": "a"', "line 1 is no JSON"),
        ("t.xlsx", b"PK\x03\x04 torn", "t.xlsx: cannot be read: .*; save it as csv"),
        ("t.bin", b"\x00\x01\x02", "no reader recognises this file, and it is no table"),
        ("t.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:-12], "cannot be read"),
        ("t.csv", b"model,score,question,score\na,1,q,0\n", "columns 2 and 4 have the same name, 'score'"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        list(hs.read(path))
    assert "\n" not in str(caught.value)


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
    with pytest.raises(InputError, match="expands to more than 256 MB and 200 times its size"):
        hs.score(path)


@pytest.mark.parametrize(
    ("content", "scores"),
    [
        ({f"task/{i}": {"passed": i < 1, "time": 1.5} for i in range(3)}, {"t": [1, 0, 0]}),
        ({f"task/{i}": {"completion": "It is 1.", "score": i / 2} for i in range(3)}, {"t": [0, 0.5, 1]}),
        ({f"task/{i}": [{"passed": i < 1}, {"passed": i < 2}] for i in range(3)}, {"t": [1, 0.5, 0]}),
        ({f"task/{i}": {"gpt": i < 1, "claude": i < 2} for i in range(3)}, {"gpt": [1, 0, 0], "claude": [1, 1, 0]}),
    ],
)
def test_keys_of_an_object_that_are_ids_of_questions(tmp_path, content, scores):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(content))
    with pytest.warns(HowsureWarning) as caught:
        [cells] = hs.read(path)
    assert any("its keys (task/0, task/1, ...) are read as ids of questions" in str(one.message) for one in caught)
    assert cells.questions == ("task/0", "task/1", "task/2")
    means = (cells.total / cells.n).tolist()
    assert dict(zip(cells.models, means, strict=True)) == scores


def test_scores_by_model_and_then_by_question_are_those_of_models(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({model: {f"q{i}": i < n for i in range(4)} for model, n in (("gpt", 1), ("x", 3))}))
    with pytest.warns(HowsureWarning, match="a column per model"):
        [cells] = hs.read(path)
    assert dict(zip(cells.models, cells.total.sum(axis=1), strict=True)) == {"gpt": 1, "x": 3}


@pytest.mark.parametrize(
    ("columns", "row"),
    [("task_id,completion,result,passed", "{i},x,failed: assert,false"), ("task_id,eval_name,score", "{i},a,0")],
)
def test_columns_as_other_programs_call_them(tmp_path, columns, row):
    path = tmp_path / "t.csv"
    rows = "\n".join(f"{name},{row.format(i=i)}" for name in ("a/b", "a/c") for i in range(3))
    path.write_text(f"model_name_or_path,{columns}\n{rows}\n")
    [cells] = hs.read(path)
    assert (cells.models, cells.total.tolist()) == (("a/b", "a/c"), [[0, 0, 0], [0, 0, 0]])
