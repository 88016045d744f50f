"""Question-level results that were published, as a small committed file: benchmarks that no simulated model made.

The file `data/published_results.npz` holds counts of right answers and of generations for five benchmarks. The results
were published with "Measuring all the noises of LLM evals" (Wang 2025) in the repository of eval-arena
(github.com/crux-eval/eval-arena, data of all-the-noises).

| benchmark | models | questions | generations | temperature |
|---|---:|---:|---:|---|
| math500_cot | 48 | 500 | 1,100 of most cells | 0.7 |
| aime2024_cot | 50 | 30 | 1,100 of most cells | 0.7 |
| CRUXEval-output-T0.8 | 31 | 800 | 10 | 0.8 |
| humaneval+ | 49 | 164 | 1 | - |
| swebench-lite | 84 | 300 | 1 | - |

`bench/published_results.py` at commit 7fa9a03e made the file from the published tables.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from howsure.stats.core.cells import Cells

__all__ = ["BENCHMARKS", "MANY_GENERATIONS", "load_published"]

FILE = Path(__file__).resolve().parent / "data" / "published_results.npz"

BENCHMARKS = ("math500_cot", "aime2024_cot", "CRUXEval-output-T0.8", "humaneval+", "swebench-lite")

#: Benchmarks whose question means rest on so many generations that they can stand for the true P(correct).
MANY_GENERATIONS = ("math500_cot", "aime2024_cot")


def load_published(name: str) -> Cells:
    """Return the cells of one published benchmark: counts of right answers of M models on N questions.

    The questions of swebench-lite have their repository as cluster.
    """
    with np.load(FILE) as data:
        n, total = data[f"{name}/n"].astype(np.int64), data[f"{name}/total"].astype(float)
        models, questions = (tuple(data[f"{name}/{axis}"].tolist()) for axis in ("models", "questions"))
    clusters = tuple(question.split("__")[0] for question in questions) if name == "swebench-lite" else None
    return Cells(name, models, questions, n, total, total, clusters=clusters)
