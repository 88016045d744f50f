"""Size of a report and the time until a browser has drawn it, beside a plain Plotly page of the same data.

Where the published tables are not at hand, simulated ones of the same size stand in. Needs chromium; Plotly is compared
where it can be imported.

python bench/report.py [NAME ...]
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData
from howsure.reporting.sections.score_table import mean_question_scores
from howsure.results.evaluations import read
from howsure.stats.comparisons import pairs
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


def plotly(cells: Cells) -> str | None:
    """The same numbers as anybody would draw them first: heatmap, errors of pairs, matrix, histograms."""
    try:
        import plotly.graph_objects as go  # type: ignore[import-not-found,unused-ignore]  # compared where it is there
        import plotly.io as pio  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:
        return None
    result = pairs(cells)
    names = list(cells.models)
    order = np.argsort(mean_question_scores(cells), kind="stable")
    matrix = np.full((len(names), len(names)), np.nan)
    matrix[result.a, result.b], matrix[result.b, result.a] = result.difference, -result.difference
    N = np.where(result.n_questions > 0, result.n_questions, np.nan)
    drawings = [
        go.Figure(go.Heatmap(z=cells.mean[:, order].tolist(), x=[cells.questions[i] for i in order], y=names)),
        go.Figure(
            go.Scatter(
                x=((result.score_a + result.score_b) / 2).tolist(),
                y=np.sqrt(result.total / N).tolist(),
                text=[f"{names[a]} / {names[b]}" for a, b in zip(result.a, result.b, strict=True)],
                mode="markers",
            )
        ),
        go.Figure(go.Heatmap(z=matrix.tolist(), x=names, y=names)),
        go.Figure(
            [go.Histogram(x=row[~np.isnan(row)].tolist(), name=n) for n, row in zip(names, cells.mean, strict=True)]
        ),
    ]
    parts = [pio.to_html(one, include_plotlyjs=i == 0, full_html=False) for i, one in enumerate(drawings)]
    return f"<!doctype html><meta charset=utf-8><body>{''.join(parts)}"


def picture() -> Any:
    """docs/picture.py, which talks to the browser."""
    location = importlib.util.spec_from_file_location("picture", ROOT / "docs" / "picture.py")
    assert location is not None
    assert location.loader is not None
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    return module


async def drawn(file: Path, wait: Callable[[Any], Any]) -> tuple[float, float]:
    """Seconds until the top of the page is there, and until everything is drawn."""
    async with picture().browser() as tab:
        start = time.perf_counter()
        await tab.open(file.as_uri())
        first = time.perf_counter() - start
        await wait(tab)
        return first, time.perf_counter() - start


async def _all_of_ours(tab: Any) -> None:
    await tab.draw_all()


async def _all_of_plotly(tab: Any) -> None:
    await tab.until(
        "[...document.querySelectorAll('.js-plotly-plot')].filter(p => p.querySelector('.main-svg')).length >= 4"
    )


def measured(html: str, wait: Callable[[Any], Any]) -> tuple[float, float, float]:
    """Megabytes, seconds until the top, seconds until all: the best of three browsers."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html").resolve()
        file.write_text(html, encoding="utf-8")
        times = [asyncio.run(drawn(file, wait)) for _ in range(3)]
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
        rows = [("howsure", html, _all_of_ours, built)]
        if (other := plotly(cells)) is not None:
            rows.append(("plotly", other, _all_of_plotly, float("nan")))
        for program, text, wait, seconds in rows:
            size, first, last = (
                measured(text, wait) if picture().chromium() else (len(text.encode()) / 1e6, float("nan"), float("nan"))
            )
            target = f"< {most:g} MB{f', < {soon:g} s' if soon else ''}" if program == "howsure" else ""
            lines.append(
                f"{name:17} {source:9} {program:9} {size:6.2f} {seconds:7.1f} {first:7.2f} {last:7.2f}  {target}"
            )
            print(lines[-1], file=sys.stderr)
            if program == "howsure" and (size >= most or (soon and last >= soon)):
                failed.append(name)
        specs = sorted(((len(str(one.spec)), one.id) for one in page.figures), reverse=True)[:4]
        lines.append(f"{'':17} largest figures: {', '.join(f'{id_} {size / 1e3:.0f} kB' for size, id_ in specs)}")
    print(f"{'benchmark':17} {'data':9} {'page':9} {'MB':>6} {'build s':>7} {'top s':>7} {'all s':>7}  promised")
    print("\n".join(lines))
    print("all s: until every figure is drawn at once; a reader waits for those in sight only")
    if failed:
        print(f"not as promised: {', '.join(failed)}")


if __name__ == "__main__":
    main()
