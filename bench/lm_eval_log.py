"""How fast 1 GB of lm-evaluation-harness samples is read, and in how much memory.

Two filters, ten completions of 2 kB, as a run with `--log_samples` and `repeats: 10` leaves them. Memory must not grow
with the texts: what is held is some bytes of every question, so 1 GB has to do with 100 MB, interpreter included.

    python bench/lm_eval_log.py [GB]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

FILTERS, K, LENGTH = ("strict-match", "flexible-extract"), 10, 2000
#: Seconds for 1 GB that would be a nuisance; megabytes at the peak.
MOST_SECONDS, MOST_MB = 30.0, 100.0
WORDS = ("we ", "add ", "the ", "two ", "and ", "then ", "take ", "away ", "what ", "was ", "given ", "before ")


def write(path: Path, gigabytes: float, *, rng: np.random.Generator) -> int:
    """Rows as the harness writes them, filter after filter; returns how many questions there are."""
    n = int(gigabytes * 1e9 / (len(FILTERS) * (K * LENGTH + 1900)))
    with path.open("w", encoding="utf-8") as file:
        for name in FILTERS:
            for i in range(n):
                order = rng.integers(0, len(WORDS), (K, LENGTH // 5))
                texts = [f"{''.join([WORDS[j] for j in row])[: LENGTH - 12]}\n#### {i % 90}" for row in order]
                line = {
                    "doc_id": i,
                    "doc": {"question": f"Question {i}? " + "x" * 240, "answer": "y" * 300},
                    "target": "y" * 300,
                    "arguments": {"gen_args_0": {"arg_0": f"Question {i}? " + "z" * 600, "arg_1": {"until": ["Q:"]}}},
                    "resps": [texts],
                    "filtered_resps": [str(i % 90)],
                    "filter": name,
                    "metrics": ["exact_match"],
                    "doc_hash": f"{i:064x}",
                    "prompt_hash": f"{i:064x}",
                    "target_hash": f"{i:064x}",
                    "exact_match": float(i % 3 == 0),
                }
                file.write(json.dumps(line) + "\n")
    return n


def read(path: Path, *, texts: bool) -> None:
    """Read it, in a process of its own so that its memory is its own; prints rows, seconds and peak megabytes."""
    from howsure.logs.base import ReadOptions
    from howsure.logs.lm_eval.reader import LmEvalReader

    start = time.perf_counter()
    rows = sum(1 for _ in LmEvalReader().rows(path, ReadOptions(texts=texts), lambda _: None))
    seconds = time.perf_counter() - start
    print(rows, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measured(path: Path, *, texts: bool) -> tuple[int, float, float]:
    """Rows, seconds and peak megabytes of `read` in a new process."""
    command = [sys.executable, __file__, "--read", str(path), str(int(texts))]
    rows, seconds, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(rows), float(seconds), float(peak)


def main(gigabytes: float) -> None:
    print(f"{'file GB':>8} {'texts':>6} {'rows':>8} {'seconds':>8} {'MB/s':>7} {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples_made_2026-01-01T00-00-00.000000.jsonl"
        for part in (gigabytes / 10, gigabytes):
            n = write(path, part, rng=np.random.default_rng(1))
            size = path.stat().st_size
            for texts in (False, True):
                rows, seconds, peak = measured(path, texts=texts)
                print(f"{size / 1e9:8.2f} {texts!s:>6} {rows:8} {seconds:8.2f} {size / 1e6 / seconds:7.0f} {peak:8.0f}")
                assert rows == n * K
                assert seconds < MOST_SECONDS * max(part, 0.1)
                assert peak < MOST_MB


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(Path(sys.argv[2]), texts=sys.argv[3] == "1")
    else:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
