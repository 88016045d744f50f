"""What it takes to find all generations of one question in a compacted folder of 10 million rows.

20 models, 10,000 questions, 50 generations, completions of about 200 characters. The folder is asked in a process of
its own: the first call reads the footer. What a second of waiting for the disk would add is not in it: the file was
just written. `--quick` is a tenth of the rows.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute  # imports are no part of the first call
import pyarrow.parquet

from howsure.store import lookup, parquet_files
from howsure.store.database import RESPONSES
from howsure.store.manifest import Manifest
from howsure.store.responses import stream

MODELS, GENERATIONS = 20, 50
CALLS = 30


def rows(questions: int) -> Iterator[pa.Table]:
    """The rows of all models in the order of the key, 100,000 at a time."""
    rng = np.random.default_rng(5)
    words = np.array(["".join(rng.choice(list("etaoinshrdlu"), 2 + i % 8)) for i in range(4000)])
    texts = pa.array([" ".join(words[rng.integers(0, 4000, 31)]) for _ in range(100_000)])
    schema = parquet_files.build_arrow_schema(RESPONSES, list(RESPONSES.types))
    for start in range(0, MODELS * questions * GENERATIONS, 100_000):
        place = np.arange(start, min(start + 100_000, MODELS * questions * GENERATIONS))
        question, size = place // GENERATIONS % questions, len(place)
        right = rng.random(size) < 0.6
        values: dict[str, Any] = {
            "benchmark": np.full(size, "made"),
            "model": np.char.add("model-", (place // GENERATIONS // questions + 10).astype(str)),
            "question": np.char.add("q", (question + 100_000).astype(str)),
            "variant": np.full(size, "default"),
            "generation": place % GENERATIONS + 1,
            "score": right.astype(float),
            "status": np.full(size, "ok"),
            "answer": (question % 97 + ~right).astype(str),
            "completion": texts.take(pa.array(rng.integers(0, len(texts), size))),
            "target": (question % 97).astype(str),
            "attempts": np.ones(size, np.int64),
            "prompt_tokens": 80 + question % 60,
            "completion_tokens": rng.integers(30, 90, size).astype(float),
            "created": 1.7e9 + place / 10,
            "seconds": rng.random(size),
        }
        arrays = [
            pa.array(values[field.name], field.type) if field.name in values else pa.nulls(size, field.type)
            for field in schema
        ]
        yield pa.Table.from_arrays(arrays, schema=schema)


def written(folder: Path, questions: int) -> dict[str, float]:
    """Write the folder; CPU seconds of writing alone, and bytes."""
    folder.mkdir()
    Manifest().save(folder)
    making = 0.0

    def timed() -> Iterator[pa.Table]:
        nonlocal making
        source = rows(questions)
        while True:
            start = time.process_time()
            table = next(source, None)
            making += time.process_time() - start
            if table is None:
                return
            yield table

    start = time.process_time()
    parquet_files.write_file(folder, RESPONSES, timed())
    spent = time.process_time() - start - making
    return {"write_s": spent, "megabytes": (folder / "responses.parquet").stat().st_size / 1e6}


def milliseconds(call: Callable[[], pa.Table], wanted: int) -> float:
    """Of one call, which must find as many rows."""
    start = time.perf_counter()
    rows = call()
    spent = (time.perf_counter() - start) * 1e3
    assert len(rows) == wanted, f"{len(rows)} rows, not {wanted}"
    return spent


def resident() -> float:
    """Megabytes that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def measure_folder(folder: Path, questions: int) -> dict[str, float]:
    """First and later calls, and what reading all scores takes."""
    rng = np.random.default_rng(6)
    before = resident()
    figures = {
        "first_ms": milliseconds(lambda: lookup.find_generations(folder, "made", "q100007"), MODELS * GENERATIONS)
    }
    figures["footer_megabytes"] = resident() - before
    some = [f"q{100_000 + i}" for i in rng.integers(0, questions, CALLS)]
    one, every = [], []
    for i, question in enumerate(some):
        find = partial(lookup.find_generations, folder, "made", question)
        one.append(milliseconds(partial(find, models=[f"model-{10 + i % MODELS}"]), GENERATIONS))
        every.append(milliseconds(find, MODELS * GENERATIONS))
    for name, spent in (("one_model", one), ("all_models", every)):
        figures |= {f"{name}_ms": float(np.median(spent)), f"{name}_worst_ms": max(spent)}
    start = time.perf_counter()
    count = sum(len(batch) for batch in stream(folder, ["benchmark", "model", "question", "variant", "score"]))
    assert count == MODELS * questions * GENERATIONS
    return figures | {"scan_s": time.perf_counter() - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    questions = 1_000 if options.quick else 10_000
    if options.measure:
        print(json.dumps(measure_folder(Path(options.measure), questions)))
        return
    with tempfile.TemporaryDirectory(prefix="howsure-lookup-") as place:
        folder = Path(place, "run")
        figures = written(folder, questions)
        command = [sys.executable, __file__, "--measure", str(folder), *(["--quick"] if options.quick else [])]
        figures |= json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(f"{MODELS * questions * GENERATIONS:,} rows")
    for name, value in figures.items():
        print(f"{name:24}{value:>12.1f}")


if __name__ == "__main__":
    main()
