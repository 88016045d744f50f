"""Size of a report and the time until a browser has drawn it.

Where the published tables are not at hand, simulated ones of the same size stand in. Needs chromium.

python bench/report.py [NAME ...]
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData
from howsure.results.evaluations import read
from howsure.stats.core.cells import Cells

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT / "../shared/data"

#: Table, models, questions, generations, and what is promised: megabytes, and seconds until all is drawn.
BENCHMARKS: dict[str, tuple[str, int, int, int, float, float | None]] = {
    "math500": ("all_the_noises/highk_temp0.7/input_table_math500_cot.csv", 48, 500, 1000, 2, 2),
    "gsm8k": ("all_the_noises/main/input_table_gsm8k.csv", 37, 1319, 1, 5, None),
    "livebench": ("", 93, 1136, 1, 5, None),
    "14,000 questions": ("", 20, 14_000, 5, 5, None),
}


def simulated(name: str, M: int, N: int, k: int) -> Cells:
    """Binary generations of M models of different skill on N questions of different difficulty."""
    rng = np.random.default_rng(0)
    skill, hardness = np.linspace(-1.5, 1.5, M)[:, None], rng.normal(0, 2, N)
    total = rng.binomial(k, 1 / (1 + np.exp(hardness - skill))).astype(float)
    models, questions = (tuple(f"{word}-{i:05d}" for i in range(count)) for word, count in (("model", M), ("q", N)))
    return Cells(name, models, questions, np.full((M, N), k), total, total)


def taken(name: str) -> tuple[Cells, str]:
    """The cells of a benchmark, and where they are from."""
    table, M, N, k, *_ = BENCHMARKS[name]
    if table and (SHARED / table).exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(str(SHARED / table))[0], "published"
    return simulated(name, M, N, k), "simulated"


def picture() -> Any:
    """docs/picture.py, which talks to the browser."""
    location = importlib.util.spec_from_file_location("picture", ROOT / "docs" / "picture.py")
    assert location is not None
    assert location.loader is not None
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    return module


async def drawn(file: Path) -> tuple[float, float]:
    """Seconds until the top of the page is there, and until everything is drawn."""
    async with picture().browser() as tab:
        start = time.perf_counter()
        await tab.open(file.as_uri())
        first = time.perf_counter() - start
        await tab.draw_all()
        return first, time.perf_counter() - start


def measured(html: str) -> tuple[float, float, float]:
    """Megabytes, seconds until the top, seconds until all: the best of three browsers."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html").resolve()
        file.write_text(html, encoding="utf-8")
        times = [asyncio.run(drawn(file)) for _ in range(3)]
    return len(html.encode()) / 1e6, min(first for first, _ in times), min(last for _, last in times)


def main() -> None:
    """Print one row a page, and which pages are larger or slower than promised."""
    if picture().chromium() is None:
        print("chromium is not installed: sizes only")
    lines, failed = [], []
    for name in sys.argv[1:] or BENCHMARKS:
        cells, source = taken(name)
        start = time.perf_counter()
        page = build_page(ReportData([cells]))
        html = page.html
        built = time.perf_counter() - start
        most, soon = BENCHMARKS[name][4:]
        nothing = len(html.encode()) / 1e6, float("nan"), float("nan")
        size, first, last = measured(html) if picture().chromium() else nothing
        target = f"< {most:g} MB{f', < {soon:g} s' if soon else ''}"
        lines.append(f"{name:17} {source:9} {size:6.2f} {built:7.1f} {first:7.2f} {last:7.2f}  {target}")
        print(lines[-1], file=sys.stderr)
        if size >= most or (soon and last >= soon):
            failed.append(name)
        specs = sorted(((len(str(one.spec)), one.id) for one in page.figures), reverse=True)[:4]
        lines.append(f"{'':17} largest figures: {', '.join(f'{id_} {size / 1e3:.0f} kB' for size, id_ in specs)}")
    print(f"{'benchmark':17} {'data':9} {'MB':>6} {'build s':>7} {'top s':>7} {'all s':>7}  promised")
    print("\n".join(lines))
    print("all s: until every figure is drawn at once; a reader waits for those in sight only")
    if failed:
        print(f"not as promised: {', '.join(failed)}")


if __name__ == "__main__":
    main()
