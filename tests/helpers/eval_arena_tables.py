"""Small tables in the eval-arena shape, made here: what the published question-level tables look like, without them.

A row is one (benchmark, model, question): `pass1` the mean score, `count` the number of generations. Two habits of the
published files are kept: those of single and ten generations write `count` as a float ("10.0") and have no `correct`;
those of 1,100 write it as an int, add `correct`, and round `pass1` to ten digits.
"""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def single(seed: int = 0, *, models: int = 4, questions: int = 24) -> list[Row]:
    """One generation for every question: prediction noise cannot be known."""
    return _rows("single", seed, models, questions, lambda _model, _rng: 1)


def ten(seed: int = 0, *, models: int = 4, questions: int = 24) -> list[Row]:
    """Ten generations for every question."""
    return _rows("ten", seed, models, questions, lambda _model, _rng: 10)


def many(seed: int = 0, *, models: int = 3, questions: int = 12) -> list[Row]:
    """1,100 generations for every question, with `correct` and a rounded `pass1`."""
    return _rows("many", seed, models, questions, lambda _model, _rng: 1100, correct=True)


def between(seed: int = 0, *, questions: int = 12) -> list[Row]:
    """Models that differ in their count, each the same for all its questions: 1, 10, 35 and 1,100."""
    return _rows("between", seed, 4, questions, lambda model, _rng: (1, 10, 35, 1100)[model], correct=True)


def mixed(seed: int = 0, *, models: int = 4, questions: int = 24) -> list[Row]:
    """Counts that differ from question to question within a model; the last model never repeats."""
    return _rows(
        "mixed", seed, models, questions, lambda model, rng: 1 if model == models - 1 else rng.choice((1, 2, 3, 10))
    )


def ragged(seed: int = 0, *, models: int = 4, questions: int = 24) -> list[Row]:
    """Ten generations, but about a third of the (model, question) rows is missing; question 0 is never."""
    rows = _rows("ragged", seed, models, questions, lambda _model, _rng: 10)
    rng = random.Random(f"ragged rows {seed}")
    return [row for row in rows if row["example_id"].endswith("/0") or rng.random() < 2 / 3]


#: Name to generator; each is the same for the same seed, on every machine.
KINDS: dict[str, Callable[..., list[Row]]] = {
    "single": single,
    "ten": ten,
    "many": many,
    "between": between,
    "mixed": mixed,
    "ragged": ragged,
}


def scores(rows: Iterable[Row]) -> tuple[list[str], list[str], list[list[list[int]]]]:
    """(models, questions, scores[model][question]), names sorted: each row as its single scores, as oracles want."""
    cells = {(row["model"], row["example_id"]): row for row in rows}
    models, questions = (sorted({key[part] for key in cells}) for part in (0, 1))

    def generations(model: str, question: str) -> list[int]:
        row = cells.get((model, question))
        if row is None:
            return []
        count = int(row["count"])
        right = round(row["pass1"] * count)
        return [1] * right + [0] * (count - right)

    return models, questions, [[generations(model, question) for question in questions] for model in models]


def write(rows: list[Row], folder: Path, *, formats: Iterable[str] = ("csv", "jsonl", "parquet")) -> dict[str, Path]:
    """One `input_table_BENCHMARK.FORMAT` per format; returns format to path."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name in formats:
        paths[name] = folder / f"input_table_{rows[0]['benchmark_id']}.{name}"
        WRITERS[name](rows, paths[name])
    return paths


def write_csv(rows: list[Row], path: Path) -> None:
    """As pandas leaves it: a first column without a name, which does not start at 0, and empty columns."""
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["", *rows[0], "date", "hyperparams"])
        for index, row in enumerate(rows, start=224):
            out.writerow([index, *row.values(), "", ""])


def write_jsonl(rows: list[Row], path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_parquet(rows: list[Row], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), path)


WRITERS: dict[str, Callable[[list[Row], Path], None]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}


def _rows(
    kind: str,
    seed: int,
    models: int,
    questions: int,
    count: Callable[[int, random.Random], int],
    *,
    correct: bool = False,
) -> list[Row]:
    """Questions whose difficulty all models share, one that nobody can answer and one that everybody can.

    P(correct) is the logistic of (ease of the question + ability of the model), so models correlate as real ones do.
    """
    rng = random.Random(f"{kind} {seed}")
    ease = [rng.gauss(0.0, 2.0) for _ in range(questions)]
    rows = []
    for model in range(models):
        for question in range(questions):
            k = count(model, rng)
            p = 1 / (1 + math.exp(-ease[question] - 0.5 * model))
            p = {1: 0.0, 2: 1.0}.get(question, p)
            right = sum(rng.random() < p for _ in range(k))
            row: Row = {
                "benchmark_id": f"extract-{kind}",
                "model": f"model-{model}",
                "example_id": f"extract-{kind}/{question}",
                "pass1": round(right / k, 10) if correct else right / k,
                "count": k if correct else float(k),
            }
            rows.append(row | {"correct": right} if correct else row)
    return rows
