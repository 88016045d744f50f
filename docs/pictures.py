# ruff: noqa: INP001  docs is not a package
"""Draw the four pictures of docs/error_bars.md, from simulated evaluations with a seed: python docs/pictures.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import howsure as hs
from howsure.stats.core.cells import Cells

HERE = Path(__file__).parent
QUESTIONS, GENERATIONS = 100, 5
BLUE, GREY, RED = "#1f5fa8", "#8a8a8a", "#c0392b"


def draw_cells(rng: np.random.Generator, models: dict[str, np.ndarray[Any, Any]], k: int) -> Cells:
    """Return an evaluation with k generations of each question, from the chance of each to be right."""
    p = np.array(list(models.values()))
    right = rng.binomial(k, p).astype(float)
    names = tuple(f"q{i}" for i in range(p.shape[1]))
    return Cells("exam", tuple(models), names, np.full(p.shape, k), right, right)


def save(chart: alt.Chart | alt.LayerChart | alt.HConcatChart, name: str) -> None:
    """Write a picture."""
    chart.configure(background="white").configure_view(stroke=None).save(HERE / f"{name}.png", scale_factor=1.5)


def dots(rows: list[dict[str, Any]], y: str, title: str, domain: list[float]) -> alt.LayerChart:
    """Return points with their intervals, a line per row."""
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y(f"{y}:N", sort=None, title=None), color=alt.Color("color:N", scale=None)
    )
    scale = alt.Scale(domain=domain)
    lines = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title, scale=scale), x2="high:Q")
    return lines + base.mark_point(filled=True, size=45, opacity=1).encode(x=alt.X("value:Q", scale=scale))


def draw_repeats(rng: np.random.Generator, population: np.ndarray[Any, Any]) -> None:
    """Twenty evaluations of one model, each on questions of its own, with their intervals."""
    truth, rows = float(population.mean()), []
    for i in range(20):
        cells = draw_cells(rng, {"m": rng.choice(population, QUESTIONS)}, 1)
        score = hs.score(cells).to_dicts()[0]
        misses = not score["low"] <= truth <= score["high"]
        rows.append({"draw": f"draw {i + 1}", "value": score["score"], **{end: score[end] for end in ("low", "high")}})
        rows[-1]["color"] = RED if misses else BLUE
    line = alt.Chart(alt.Data(values=[{"truth": truth}])).mark_rule(strokeDash=[4, 3]).encode(x="truth:Q")
    save((dots(rows, "draw", "score", [0.4, 0.9]) + line).properties(width=460, height=300), "error_bars_draws")


def draw_sources(rng: np.random.Generator, population: np.ndarray[Any, Any]) -> None:
    """The error of a score, by source, for more and more generations of the same questions."""
    p, rows = rng.choice(population, 300), []
    for k in (1, 2, 5, 10, 50):
        data = float(np.var(p)) / len(p)
        sampling = float(np.mean(p * (1 - p))) / (k * len(p))
        for source, part in (("sampling", sampling), ("questions", data)):
            rows.append({"k": str(k), "source": source, "share": part * 1e4})
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("k:N", sort=None, title="generations of each question", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("share:Q", title="squared error (points²)"),
            color=alt.Color("source:N", scale=alt.Scale(range=[BLUE, GREY]), title="from"),
        )
        .properties(width=380, height=220)
    )
    save(chart, "error_bars_sources")


def draw_pairs(rng: np.random.Generator, population: np.ndarray[Any, Any]) -> None:
    """A difference with each model's own error, and paired on the questions."""
    p = rng.choice(population, QUESTIONS)
    better = np.clip(p + 0.06 + 0.04 * rng.standard_normal(QUESTIONS), 0, 1)
    cells = draw_cells(rng, {"old": p, "new": better}, GENERATIONS)
    old, new = (hs.score(cells).to_dicts()[i] for i in (0, 1))
    paired = hs.compare(cells, "new", "old").to_dicts()[0]
    difference, se = paired["difference"], float(np.hypot(old["se"], new["se"]))
    rows = [
        {"how": "as if they had other questions", "low": difference - 1.96 * se, "high": difference + 1.96 * se},
        {"how": "paired on the same questions", "low": paired["low"], "high": paired["high"]},
    ]
    rows = [row | {"value": difference, "color": color} for row, color in zip(rows, (GREY, BLUE), strict=True)]
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(strokeDash=[4, 3]).encode(x="zero:Q")
    chart = dots(rows, "how", "difference, new - old", [-0.1, 0.22]) + zero
    save(chart.properties(width=440, height=70), "error_bars_pairs")


def draw_claims(rng: np.random.Generator, population: np.ndarray[Any, Any]) -> None:
    """One score with the intervals of three claims."""
    cells = draw_cells(rng, {"m": rng.choice(population, QUESTIONS)}, GENERATIONS)
    names = {"these-questions": "these questions, asked again", "new-questions": "other questions like these"}
    names["single-run"] = "one generation of other questions"
    rows = []
    for claim, name in names.items():
        score = hs.score(cells, claim=claim).to_dicts()[0]  # type: ignore[arg-type]  # names of claims
        rows.append({"claim": name, "value": score["score"], "low": score["low"], "high": score["high"], "color": BLUE})
    save(dots(rows, "claim", "score", [0.45, 0.85]).properties(width=440, height=100), "error_bars_claims")


if __name__ == "__main__":
    QUESTIONS_OF_ALL = np.random.default_rng(3).beta(0.9, 0.5, 20_000)
    for i, draw in enumerate((draw_repeats, draw_sources, draw_pairs, draw_claims)):
        draw(np.random.default_rng([7, i]), QUESTIONS_OF_ALL)
