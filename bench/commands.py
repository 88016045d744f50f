"""CPU seconds and peak memory of every command that reads results, on data that is made here.

Four kinds of data: a log of lm-evaluation-harness with texts, a Parquet file with a row per generation, a table of many
questions, and a run folder with texts. The default sizes take a minute or two; `--full` is 1 GB of logs, 100 million
rows, 220,000 questions and 140,000 generations with texts. Each command is a process of its own, imports included.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from howsure.store.schema import Response

#: Sizes by their option: of a short run, of a full one, and what is counted.
SIZES = {
    "log": (0.02, 1.0, "GB of an lm-eval log"),
    "rows": (1_000_000, 100_000_000, "rows of Parquet"),
    "questions": (10_000, 220_000, "questions x 3 models x 2 generations"),
    "texts": (5_000, 140_000, "generations with texts of 1 kB"),
}
#: Commands for each kind of data; OUT is a new path.
COMMANDS = {
    "log": ("score", "show --only wrong", "audit", "convert -o OUT", "report -o OUT.html"),
    "rows": ("score", "score --method t", "score --format json", "compare --format csv", "repeats"),
    "questions": ("score", "compare", "repeats", "convert -o OUT", "report -o OUT.html"),
    "texts": (
        "score",
        "audit",
        "show --only wrong",
        "show --format jsonl",
        "rescore --scorer numeric",
        "convert --to parquet -o OUT.parquet",
        "report -o OUT.html",
    ),
}
#: Largest peak in MB that is promised at full size.
PROMISED = {("questions", "report"): 1000, ("texts", "report"): 600, ("rows", "score"): 1000}


class Figures(NamedTuple):
    """What a process took."""

    seconds: float
    cpu: float
    megabytes: float


def make(kind: str, size: float, path: Path) -> None:
    """Write data of a kind; runs in a process of its own, whose memory is not that of the commands."""
    if kind == "log":
        write_log(path, int(size * 1e9 / (2 * (10 * 2000 + 1900))))
    elif kind == "rows":
        import duckdb

        # Five benchmarks, 20 models and 100 generations; the generations of a cell follow one another.
        names = (
            "'benchmark-' || c % 5 AS benchmark, 'model-' || c // 5 % 20 AS model, 'question-' || c // 100 AS question"
        )
        score = "CAST((c * 31 + i % 100 * 17) % 10 < c % 11 AS DOUBLE) AS score"
        cells = f"(SELECT i, i // 100 AS c FROM range({int(size)}) AS t(i))"
        rows = f"SELECT {names}, CAST(i % 100 + 1 AS INTEGER) AS generation, {score} FROM {cells}"
        duckdb.sql(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")
    elif kind == "questions":
        import duckdb

        score = "CAST(hash(m * 7919 + q * 31 + g) % 100 < 20 + hash(q) % 60 + m * 5 AS DOUBLE)"
        cells = f"range({int(size)}) AS q(q), range(3) AS m(m), range(1, 3) AS g(g)"
        rows = f"SELECT 'model-' || m AS model, 'q' || q AS question, g AS generation, {score} AS score FROM {cells}"
        duckdb.sql(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")
    else:
        write_run(path, int(size))


def write_log(path: Path, n: int) -> None:
    """Write samples of lm-evaluation-harness: two filters, ten completions of 2 kB to each of n questions."""
    rng = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for name, i in itertools.product(("strict-match", "flexible-extract"), range(n)):
            words = (f"add {rng.randrange(10**9)} to what was given before and then take two away " for _ in range(10))
            prompt = {"arg_0": f"Question {i}? " + "z" * 600, "arg_1": {"until": ["Q:"]}}
            texts = [f"{(one * 30)[:1988]}\n#### {i % 90}" for one in words]
            line = {
                "doc_id": i, "doc": {"question": f"Question {i}? " + "x" * 240, "answer": "y" * 300}, "filter": name,
                "target": "y" * 300, "arguments": {"gen_args_0": prompt}, "resps": [texts], "metrics": ["exact_match"],
                "filtered_resps": [str(i % 90)], "doc_hash": f"{i:064x}", "prompt_hash": f"{i:064x}",
                "target_hash": f"{i:064x}", "exact_match": float(i % 3 == 0),
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")


def write_run(path: Path, size: int) -> None:
    """Write a run folder of two models with five generations for each question."""
    from howsure.store.manifest import Manifest
    from howsure.store.responses import RunFolder

    rng = random.Random(3)
    with RunFolder(path) as run:
        Manifest().save(path)
        for start in range(0, size // 10, 100):
            questions = range(start, min(start + 100, size // 10))
            run.append([row for question in questions for row in make_rows(question, rng)])
            run.put_prompts(
                (
                    "made",
                    f"q{q:06d}",
                    "default",
                    [{"role": "user", "content": f"How much is {q} + 1? " * 10}],
                    f"{q + 1}",
                    None,
                )
                for q in questions
            )
        run.compact()


def make_rows(question: int, rng: random.Random) -> Iterator[Response]:
    """Yield the generations of a question."""
    from howsure.store.schema import Response

    for model in ("large", "small"):
        for generation in range(1, 6):
            answer = question + 1 if rng.random() < (0.8 if model == "large" else 0.5) else rng.randrange(9)
            words = " ".join(f"step {rng.randrange(1000)} of {generation}," for _ in range(60))
            yield Response(
                "made",
                model,
                f"q{question:06d}",
                "default",
                generation,
                score=float(answer == question + 1),
                answer=str(answer),
                rule="statement",
                completion=f"Let me see: {words}\nThe answer is {answer}.",
                target=str(question + 1),
                completion_tokens=250.0,
            )


def measure(arguments: list[str]) -> Figures:
    """Return what a process took; peak memory is that of the process alone, since this one is small."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            errors.seek(0)
            raise SystemExit(f"{' '.join(arguments)} failed:\n{errors.read().decode()[-2000:]}")
    return Figures(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the sizes that are promised")
    for kind, (short, full, what) in SIZES.items():
        parser.add_argument(
            f"--{kind}", type=float, metavar="N", help=f"{what}: {short:g}, and {full:g} with --full; 0: none"
        )
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.make[0], float(given.make[1]), Path(given.make[2]))
        return
    broken = []
    print(f"{'':<60}{'seconds':>9}{'CPU s':>8}{'peak MB':>9}")
    for kind, (short, full, what) in SIZES.items():
        size = getattr(given, kind)
        size = (full if given.full else short) if size is None else size
        if not size:
            continue
        print(f"{size:,g} {what}" if size < 1 else f"{size:,.0f} {what}")
        with tempfile.TemporaryDirectory(prefix="howsure-bench-") as folder:
            name = {"log": "samples_made_2026-01-01T00-00-00.000000.jsonl", "texts": "run"}.get(kind, "rows.parquet")
            path = Path(folder, name)
            measure([__file__, "--make", kind, str(size), str(path)])
            for i, command in enumerate(COMMANDS[kind]):
                name, *options = command.split()
                options = [option.replace("OUT", f"{folder}/out{i}") for option in options]
                figures = measure(["-m", "howsure", name, str(path), *options])
                print(
                    f"    {command:<56}{figures.seconds:>9.1f}{figures.cpu:>8.1f}{figures.megabytes:>9.0f}", flush=True
                )
                if figures.megabytes > PROMISED.get((kind, name), 1e9):
                    broken.append(f"{kind}: {command}")
    if broken:
        raise SystemExit(f"more memory than promised: {', '.join(broken)}")


if __name__ == "__main__":
    main()
