"""The cases of tools/try_files.py: result files, and what is right, from tests/rows/cases.yaml and the shared data."""

from __future__ import annotations

import itertools
import json
import shutil
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "tests/rows/cases.yaml"
#: Data that several checkouts share; cases of them are left out where they are not there.
SHARED = ROOT / "../shared/data"


@dataclass(frozen=True)
class Case:
    """A case: its files, and what is right.

    `expect` has `means` (by system: words that occur in the label or the benchmark; "*" is the only one), `questions`
    (of each system, over all benchmarks), `generations` (with a score, in all), `benchmarks` (their number), `also`
    (a list of other right readings) and `by_command` (readings that are right if a user has typed what the refusal
    says); `refuse: true` says that a refusal needs no command. Without `means` only a refusal is right.
    """

    name: str
    files: Mapping[str, str] = field(default_factory=dict)
    copy: Path | None = None
    paths: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    expect: Mapping[str, Any] = field(default_factory=dict)
    at_once: bool = False
    text_only: bool = False
    encoding: str = "utf-8"
    is_first: bool = True

    def write(self, folder: Path) -> list[str]:
        """Write the files, and return the arguments that name them."""
        if self.copy is not None:
            shutil.copytree(self.copy, folder / self.copy.name) if self.copy.is_dir() else shutil.copy(
                self.copy, folder
            )
            return [self.copy.name]
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_workbook(path, text) if path.suffix == ".xlsx" else path.write_text(text, encoding=self.encoding)
        tops = {name.partition("/")[0] for name in self.files}
        return [*(self.paths or (tops if len(tops) == 1 else self.files))]


def write_workbook(path: Path, text: str) -> None:
    """Write sheets of text, each after a line `# NAME`, numbers as numbers."""
    book = import_module("openpyxl").Workbook()
    book.remove(book.active)
    for line in text.splitlines():
        if line.startswith("# "):
            sheet = book.create_sheet(line[2:])
            continue
        cells = [cell.strip() for cell in line.split(",")]
        sheet.append([float(one) if one.replace(".", "", 1).isdigit() else one or None for one in cells])
    book.save(path)


def read_cases(data: Path, only: Sequence[str] = ()) -> list[Case]:
    """Return the cases; those of the shared data only where these are there."""
    cases = [case for entry in yaml.safe_load(CASES.read_text("utf-8")) for case in _read_entry(entry, data)]
    files = data / "result_files"
    if (files / "expected.json").exists():
        for name, right in json.loads((files / "expected.json").read_text("utf-8")).items():
            expect = {"refuse": True} if right == "refuse" else right
            at_once = name.startswith("controls/")
            cases.append(Case(f"shared/{name}", copy=files / name, expect=expect, at_once=at_once))
    return [case for case in cases if not only or case.name.startswith(tuple(only))]


def _read_entry(entry: Mapping[str, Any], data: Path) -> Iterator[Case]:
    """Yield the cases of an entry: one for each value of `each`, which stands for @1 (a list: @1, @2, ...)."""
    entry = dict(entry)
    for i, value in enumerate(entry.pop("each", [None])):
        values = [str(one) for one in value] if isinstance(value, list) else [str(value)] * (value is not None)
        one = _fill(entry, values)
        if values:
            one["name"] += f" {' '.join(values)[:50].strip()}"
        if isinstance(one.get("at_once"), list):
            one["at_once"] = values[0] in one["at_once"]
        if "grid" in one:
            one["files"], one["expect"] = make_grid(**one.pop("grid"))
        if (shared := one.pop("shared", None)) is not None:
            if not (data / shared).exists():
                continue
            one["copy"] = data / shared
        files = {"results.csv": one.pop("csv")} if "csv" in one else one.get("files", {})
        one["files"] = {name: _split_rows(text) if name.endswith(".csv") else text for name, text in files.items()}
        for key in ("paths", "options"):
            one[key] = tuple(map(str, one.get(key, ())))
        yield Case(**one, is_first=i == 0)


def _split_rows(text: str) -> str:
    """Return rows that stand in one line, with " | " between them, as lines."""
    return text if "\n" in text else "".join(f"{row}\n" for row in text.split(" | "))


def _fill(value: Any, values: Sequence[str]) -> Any:
    """Return a structure whose texts have values in place of @1, @2, ..."""
    if isinstance(value, dict):
        return {_fill(key, values): _fill(one, values) for key, one in value.items()}
    if isinstance(value, list):
        return [_fill(one, values) for one in value]
    for i, text in enumerate(values if isinstance(value, str) else (), start=1):
        value = value.replace(f"@{i}", text)
    return value


def make_grid(
    path: str,
    *,
    models: Sequence[str] = ("llama-3-8b", "qwen2.5-7b"),
    benchmarks: Sequence[str] = ("",),
    runs: Sequence[object] = ("",),
    ids: str = "q{i}",
    columns: Sequence[str] = ("question_id", "correct"),
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return a file for each model, benchmark and run at `path`, and the means; `ids` may name {benchmark} and {i}."""
    files, scores = {}, Counter[str]()
    n = 8
    for (m, model), (b, benchmark), run in itertools.product(enumerate(models), enumerate(benchmarks), runs):
        rows = [[*columns]]
        for i in range(n):
            draw = zlib.crc32(f"{benchmark} {model} {i} {run}".encode()) % 100
            score = int(draw < 30 + 35 * m + 15 * b)
            scores[f"{benchmark} {model}".strip()] += score
            row = {columns[0]: ids.format(i=i, benchmark=benchmark), columns[1]: str(score), "model": model}
            row |= {"response": f"text {draw} of {model}", "target": f"{benchmark}{i * 7}", "benchmark": benchmark}
            rows.append([row[name] for name in columns])
        text = "".join(",".join(row) + "\n" for row in rows)
        if path.endswith(".jsonl"):
            text = "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows[1:])
        files[path.format(model=model, benchmark=benchmark, run=run)] = text
    means = {name: scores[name] / n / len(runs) for name in scores}
    n_rows = n * len(models) * len(benchmarks) * len(runs)
    return files, {"means": means, "questions": n, "generations": n_rows, "benchmarks": len(benchmarks)}
