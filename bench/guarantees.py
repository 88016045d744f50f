"""Does each interval cover, and does each test keep its size? By simulation, into docs/guarantees.

The designs are declared in bench/designs, each beside what it simulates and what has to hold; here they are run on two
processors, written, and drawn. A claim that does not hold ends the command with exit code 1, after all tables.

Full: `make guarantees` (an hour). Some modules of bench/designs: `--only copies,borrow`. Reduced: `--quick`, which
prints the tables and writes nothing.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from designs.engine import DESIGNS, LEVEL, Table
from designs.every import summarize

TABLES = Path(__file__).resolve().parents[1] / "docs" / "guarantees"
#: Modules of bench/designs; those that take longest come first, so that both processors are busy to the end.
MODULES = (
    "prompts",
    "judged_scores",
    "small_designs",
    "notes",
    "every",
    "borrow",
    "plans",
    "prompt_dimensions",
    "few_differences",
    "rank_sets",
    "counts",
    "averages",
    "clustered",
    "questions",
    "copies",
    "runs",
    "gate",
    "winner",
    "slices",
    "battles",
    "series",
)
EVERY = "Every design"


def run_part(module: str, place: int, sizes: dict[str, Any]) -> list[Table]:
    """Return the tables of one part of a design, in a process of its own."""
    start = time.perf_counter()
    import_module(f"designs.{module}")
    design = [one for one in DESIGNS if one.module == module][place]
    tables = design.run(sizes)
    print(f"{module}, {tables[0].title}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return tables


def run(modules: list[str], *, quick: bool) -> list[Table]:
    """Return the tables of all designs of some modules: the parts of a table are put together in their order."""
    for module in modules:
        import_module(f"designs.{module}")
    with ProcessPoolExecutor(2) as pool:
        tasks = []
        for module in modules:
            for place, design in enumerate(one for one in DESIGNS if one.module == module):
                tasks += [pool.submit(run_part, module, place, sizes) for sizes in design.parts(quick=quick)]
        parts = [table for task in tasks for table in task.result()]
    tables: dict[str, Table] = {}
    for part in parts:
        table = tables.setdefault(part.title, Table(part.title, part.columns, note=part.note))
        table.rows += part.rows
        table.failed += part.failed
    if EVERY in tables:
        tables = {"": summarize(tables[EVERY].rows), **tables}
    return [table for table in tables.values() if table.rows]


def write_tables(tables: list[Table]) -> None:
    """Write each table as a CSV, beside index.csv with their titles; tables of other titles stay as they are."""
    index = {row["title"]: row for row in read_csv(TABLES / "index.csv")}
    for table in tables:
        columns, last = [], ""
        for name in table.columns:  # one of several columns "mean width" belongs to the column before it
            is_own = name != "±" and table.columns.count(name) == 1
            last = name if is_own else last
            columns.append((name if is_own else f"{last}: {name}").strip() or "design")
        file = f"{re.sub('[^a-z0-9]+', '-', table.title.lower())[:60].strip('-')}.csv"
        write_csv(TABLES / file, columns, table.texts())
        row = {"title": table.title, "file": file, "rows": str(len(table.rows)), "note": table.note}
        index[table.title] = row
    write_csv(TABLES / "index.csv", ["title", "file", "rows", "note"], [list(row.values()) for row in index.values()])


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_csv(path: Path, names: list[str], rows: list[list[str]]) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])


def draw() -> None:
    """Write docs/guarantees.png: the coverage of each interval in each design."""
    alt: Any = import_module("altair")
    names = {"default": "howsure", "t": "t", "clt": "normal (CLT)"}
    rows = [
        {
            "interval": f"{names[row['interval']]}, {'difference' if 'diff' in row['claim'] else 'score'}",
            "coverage": float(row["coverage"]),
            "N": int(row["N"]),
        }
        for row in read_csv(TABLES / "every-design.csv")
        if "these" not in row["claim"] and row["interval"] in names
    ]
    scale = alt.Scale(domain=[0.4, 1], nice=False)
    x = alt.X("coverage:Q", scale=scale, axis=alt.Axis(format=".0%", values=[0.4, 0.6, 0.8, 0.95]), title=None)
    ticks = (
        alt.Chart(alt.Data(values=rows))
        .mark_tick(thickness=1.5, opacity=0.6, size=22)
        .encode(
            x=x,
            y=alt.Y("interval:N", sort=None, title=None),
            color=alt.Color("N:O", scale=alt.Scale(scheme="viridis"), legend=alt.Legend(title="questions")),
        )
    )
    rule = alt.Chart(alt.Data(values=[{"coverage": LEVEL}])).mark_rule(strokeDash=[4, 3]).encode(x=x)
    picture = (rule + ticks).properties(width=480, height=210).configure(background="white")
    picture.save(TABLES.with_suffix(".png"), scale_factor=1.5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: prints the tables and writes nothing")
    parser.add_argument("--only", default=",".join(MODULES), help="modules of bench/designs, with commas")
    parser.add_argument("--draw", action="store_true", help="draw docs/guarantees.png from the tables, and no more")
    args, start = parser.parse_args(), time.perf_counter()
    if args.draw:
        draw()
        return 0
    tables = run(args.only.split(","), quick=args.quick)
    if args.quick:
        for table in tables:
            lines = [table.columns, ["---"] * len(table.columns), *table.texts()]
            print(f"\n{table.title}\n")
            print("\n".join("| " + " | ".join(line) + " |" for line in lines))
    else:
        write_tables(tables)
        draw()
    failed = [claim for table in tables for claim in table.failed]
    print("\n".join(failed), f"{len(tables)} tables, {time.perf_counter() - start:.0f} s", sep="\n", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
