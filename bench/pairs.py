"""All pairs of models: math500 from a file to a table, and 1,000 models x 14,000 questions.

Against a loop over pairs and the bare matrix product in the same run, since these machines are noisy.
"""

from __future__ import annotations

import contextlib
import csv
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import howsure as hs
from howsure import read as read_cells
from howsure.stats.comparisons import pairs
from howsure.stats.core.cells import Cells

MATH500 = (
    Path(__file__).resolve().parents[1] / "../shared/data/all_the_noises/highk_temp0.7/input_table_math500_cot.csv"
)
REPEATS = 3
T = TypeVar("T")


def best(ask: Callable[[], T]) -> tuple[float, T]:
    """Shortest wall time of a few calls, in seconds, and the last answer."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        answer = ask()
        times.append(time.perf_counter() - start)
    return min(times), answer


def loop(cells: Cells, rows: NDArray[np.integer]) -> list[float]:
    """SE(A-B) of the chosen pairs, one pair at a time: what everybody writes first."""
    mean, n, s2 = cells.mean, cells.n, cells.within
    out = []
    for a, b in rows:
        common = (n[a] > 0) & (n[b] > 0)
        d = mean[a, common] - mean[b, common]
        several = (n[a, common] > 1) & (n[b, common] > 1)
        lost = np.sum((s2[a, common] * (1 - 1 / n[a, common]) + s2[b, common] * (1 - 1 / n[b, common]))[several])
        out.append(float(np.sqrt((d.var() + lost / len(d)) / len(d))))
    return out


def drawn(M: int, N: int, k: int, missing: float = 0) -> Cells:
    """Binary generations of M models on N questions, k each."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 0.4, N)
    n = np.full((M, N), k, dtype=np.int32)
    total = np.empty((M, N))
    for row in range(M):  # by rows, so that drawing is not what needs the memory
        n[row, rng.random(N) < missing] = 0
        total[row] = rng.binomial(n[row], p)
    return Cells("drawn", tuple(map(str, range(M))), tuple(map(str, range(N))), n, total, total)


def math500(folder: Path) -> Path:
    """The published table, or one of its size where it is absent."""
    if MATH500.is_file():
        return MATH500
    cells = drawn(48, 500, 1100)
    path = folder / "as-large-as-math500.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "example_id", "count", "pass1"])
        for i, model in enumerate(cells.models):
            writer.writerows((model, q, 1100, cells.mean[i, j]) for j, q in enumerate(cells.questions))
    return path


def small() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = math500(Path(folder))

        def from_file_to_table() -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                print(hs.pairs(read_cells(path)))

        seconds_of_all, _ = best(from_file_to_table)
        [cells] = read_cells(path)
        ours, result = best(lambda: pairs(cells))
        rows = np.column_stack([result.a, result.b])
        looped, expected = best(lambda: loop(cells, rows))
    assert np.allclose(np.sqrt(result.total / result.n_questions), expected, rtol=1e-9), "the loop says something else"
    print(f"{path.name}: {len(cells.models)} models x {len(cells.questions)} questions, {len(rows)} pairs")
    print(f"  from file to printed table  {seconds_of_all:8.3f} s   (target 0.5 s besides imports)")
    print(f"  all pairs                   {ours * 1e3:8.2f} ms")
    print(f"  a loop over pairs           {looped * 1e3:8.2f} ms   {looped / ours:.0f} x")


def large() -> None:
    M, N, sample = 1000, 14000, 1000
    rng = np.random.default_rng(1)
    X = rng.random((M, N))
    other = X[::-1].copy()
    print(f"{M} models x {N} questions, {M * (M - 1) // 2} pairs")
    for k, missing in ((1, 0.0), (10, 0.0), (10, 0.1)):
        cells = drawn(M, N, k, missing)
        product, _ = best(lambda: X @ other.T)
        ours, result = best(lambda cells=cells: pairs(cells))  # type: ignore[misc]
        start = time.perf_counter()
        result.columns()
        table = time.perf_counter() - start
        chosen = rng.choice(len(result.a), sample, replace=False)
        looped, expected = best(lambda c=cells, r=result, i=chosen: loop(c, np.column_stack([r.a[i], r.b[i]])))  # type: ignore[misc]
        assert np.allclose(np.sqrt(result.total / result.n_questions)[chosen], expected, rtol=1e-9)
        looped *= len(result.a) / sample
        print(f"  {k} generations, {missing:.0%} of cells missing")
        print(f"    bare matrix product       {product:8.3f} s")
        times = f"{ours / product:.2f} x the product"
        print(f"    all pairs                 {ours:8.3f} s   {times} (target 1.5 x on complete data)")
        print(f"    their table of columns    {table:8.3f} s")
        print(f"    a loop over pairs         {looped:8.1f} s   {looped / ours:.0f} x, from {sample} pairs")
        del cells, result
    memory = subprocess.run([sys.executable, __file__, "memory"], check=True, capture_output=True, text=True).stdout
    print(f"  peak memory                 {memory.strip()} (target under 1 GB), the cells and Python included")


def memory() -> None:
    """All pairs of repeated, ragged cells in a process of its own."""
    pairs(drawn(1000, 14000, 10, 0.1))
    # The high-water mark of this program: ru_maxrss would also hold what the process that started it had.
    marks = [line.split() for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    print(f"{int(marks[0][1]) * 1024 / 1e9:8.2f} GB")


def main() -> int:
    with threadpool_limits(1, user_api="blas"):
        if sys.argv[1:] == ["memory"]:
            memory()
        else:
            small()
            large()
    return 0


if __name__ == "__main__":
    sys.exit(main())
