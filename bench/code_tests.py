"""Seconds that 1,640 executions of tests in the sandbox take: 10 completions to each of 164 problems as HumanEval has.

The problems are those of the tests, repeated; a third of the completions is wrong. Each completion differs by a
comment, so that none is answered from memory. `python bench/code_tests.py 200` runs so many.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

from howsure.sandbox.isolation import find_isolation
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import ScoringItem

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
PROBLEMS = import_module("helpers.code_problems").PROBLEMS


def main(count: int) -> None:
    """Print seconds, executions and how many of them had the score that they should have."""
    scorer = build_scorer("unit-tests", "bench")
    work = []
    for i in range(count):
        problem = PROBLEMS[i % len(PROBLEMS)]
        is_right = i // len(PROBLEMS) % 3 > 0
        body = problem.solution if is_right else problem.broken[0]
        target = json.dumps({key: problem.row[key] for key in ("prompt", "test", "entry_point")})
        work.append((f"{body}    # {i}\n", ScoringItem("humaneval", str(i), "", target), is_right))
    start = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        scores = list(executor.map(lambda one: scorer.score(one[0], one[1]).score, work))
    seconds = time.perf_counter() - start
    scorer.close()
    right = sum(score == is_right for score, (_, _, is_right) in zip(scores, work, strict=True))
    per_execution = 1000 * seconds / count
    print(f"{count} executions by {find_isolation()} on {os.cpu_count()} processors: {seconds:.1f} s,", end=" ")
    print(f"{per_execution:.0f} ms each; {right} with the right score; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1640)
