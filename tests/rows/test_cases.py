"""Result files as people have them: read right, or refused with a command that reads them right.

Kind of truth: cases.yaml, whose means are counted by hand or by plain Python. Every table is also given as csv, json
lines, parquet and frames, with its columns in another order, and must be read to the same cells.
"""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import yaml
from file_cases import SHARED, read_cases
from pyarrow import parquet
from try_files import AT_ONCE, GOOD, try_case

import howsure
from howsure.errors import InputError

CASES = read_cases(SHARED.resolve())
#: The cases that do not end as they should, and how they end instead; the list only gets shorter.
KNOWN = yaml.safe_load(Path(__file__).with_name("known_ends.yaml").read_text("utf-8"))
#: Words of csv that are a value of its own in other formats; a column is of one type.
KINDS = (
    ({"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}).__getitem__,
    int,
    float,
)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=() if case.is_first else pytest.mark.long) for case in CASES],
)
@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_a_file_is_read_right_or_refused_with_a_command_that_reads_it(case, monkeypatch):
    monkeypatch.setattr("warnings.showwarning", None)  # the command sets it: give it back afterwards
    end, shown = try_case(case)
    known = KNOWN.get(case.name)
    if known is not None:  # so that a case that ends better leaves the list
        assert end == known, f"{case.name} ends in {end!r}, and is in known_ends.yaml for {known!r}: {shown}"
        return
    assert end in GOOD, shown
    assert end == AT_ONCE or not case.at_once, shown


def read_columns(text, suffix):
    """The columns of a table, typed as another program would type them."""
    if suffix == "csv":
        names, *rows = csv.reader(io.StringIO(text))
        rows = [row for row in rows if row]
        return {name: convert([row[i] for row in rows]) for i, name in enumerate(names)}
    rows = [json.loads(line) for line in text.splitlines()]
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}


def convert(texts):
    """The values of a column: numbers or truth values where writing these gives the same texts, None for empty ones."""
    for kind in KINDS:
        try:
            values = [kind(text) if text else None for text in texts]
        except (ValueError, KeyError):
            continue
        if kind not in {int, float} or all(re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", text) for text in texts if text):
            return values
    return [text or None for text in texts]


def read_options(options):
    """The arguments of `howsure.read` for options of the command."""
    named = {}
    for option, value in zip(options[::2], options[1::2], strict=True):
        if option == "--columns":
            ours, _, column = value.partition("=")
            named.setdefault("columns", {})[ours] = column
        elif option == "--map":
            named["map"] = yaml.safe_load(value)
        else:
            named[option.removeprefix("--")] = float(value) if option == "--scale" else value
    return named


def read_cells(given, options):
    """What the cells of a table are, whatever it is called; or the code of the refusal."""
    try:
        cells = [*howsure.read(given, **options)]
    except InputError as error:
        return f"refused: {error.code}"
    found = []
    for each in cells:
        for i, j in np.argwhere(each.n):
            model = each.models[i] if len(each.models) > 1 else "*"  # else it may be the name of the file
            found.append((model, each.questions[j], each.n[i, j].item(), round(each.total[i, j].item(), 9)))
    return sorted(found)


def is_table(case):
    """Whether a case is one table with a header, as text that other formats can hold, and the first of its like."""
    is_one = len(case.files) == 1 and next(iter(case.files)).endswith((".csv", ".jsonl"))
    return is_one and not case.text_only and case.is_first


def write_form(form, columns, path):
    """Write a table in a format and return its path; or return a frame."""
    match form:
        case "csv":
            pd.DataFrame(columns, dtype=object).to_csv(path, index=False)
        case "jsonl":
            rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case "parquet":
            parquet.write_table(pa.table(columns), path)
        case "pandas":
            return pd.DataFrame(columns)
        case "polars":
            return pl.DataFrame(columns)
        case "pyarrow":
            return pa.table(columns)
    return path


@pytest.mark.parametrize("case", [case for case in CASES if is_table(case)], ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_a_table_is_the_same_in_every_format(case, tmp_path):
    [name] = case.write(tmp_path)
    columns = read_columns(case.files[name], name.rpartition(".")[2])
    order = sorted(columns, key=lambda column: (len(column), column), reverse=True)
    options = read_options(case.options)
    read = {"as it is": read_cells(tmp_path / name, options)}
    is_nested = any(isinstance(value, dict | list) for values in columns.values() for value in values)
    for form in ["csv", "jsonl", "parquet", "pandas", "polars", "pyarrow"][is_nested:]:  # csv holds no records
        path = (tmp_path / form / name).with_suffix(f".{form}")  # of the same stem, which may name the model
        path.parent.mkdir()
        given = write_form(form, {column: columns[column] for column in order}, path)
        # A frame has no name.
        read[form] = read_cells(given, options if given is path else {"model": path.stem} | options)
    assert read == dict.fromkeys(read, read["as it is"])
