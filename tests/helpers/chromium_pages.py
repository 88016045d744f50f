"""Results of every kind that a report is made of, small and large, tame and hostile."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import planted_prompts, planted_review

from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData, ReportOptions
from howsure.stats.core.cells import Cells

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT / "../shared/data/all_the_noises/highk_temp0.7/input_table_math500_cot.csv"

#: Names that try to be more than text. A script among them would leave a mark: `window.planted`.
HOSTILE = (
    "</script><script>window.planted = 1</script>",
    '"><img src=x onerror="window.planted = 2">',
    "{{ 7 * 7 }}<!--",
    "x" * 60,
    "=1+1",
    "\u202eright to left\u2028javascript:window.planted=3",
)


def simulated(models, n_questions, generations, *, seed=1, benchmark="directions", levels=None):
    """Models of rising skill on questions of Beta difficulty; `levels` are the scores that a right answer may get."""
    rng = np.random.default_rng(seed)
    ease = rng.beta(0.8, 0.7, n_questions)
    scores = []
    for i, _ in enumerate(models):
        right = rng.random((n_questions, generations)) < np.clip(ease + 0.04 * i, 0, 1)[:, None]
        got = right.astype(float) if levels is None else np.where(right, rng.choice(levels, right.shape), 0.0)
        scores.append(got.tolist())
    return Cells.from_scores(benchmark, models, [f"q{i:03d}" for i in range(n_questions)], scores)


def _prompts(names=None):
    cube, lost = planted_prompts.planted(effect=0.1, failing=0.6, models=3)
    if names:
        cube = replace(cube, models=tuple(names[:3]), values={names[1]: cube.values["enumerator"]})
    return cube, lost


def _hostile():
    few = simulated(HOSTILE, 20, 3, benchmark="</title><script>window.planted = 4</script>")
    tame = (few.n, few.total, few.total_sq)
    few = Cells(few.benchmark, few.models, tuple(f"</script><b>{q}" for q in few.questions), *tame)
    cube, lost = _prompts(HOSTILE)
    manifests = [{"</pre><script>window.planted = 5</script>": "</script>", "created": "2026-01-02"}]
    return build_page(
        ReportData([few, cube.cells()], cubes=[cube], unparsed={"b": lost}, manifests=manifests),
        ReportOptions(title=HOSTILE[0]),
    ).html


def _prompted():
    cube, lost = _prompts()
    return build_page(ReportData([cube.cells()], cubes=[cube], unparsed={"b": lost})).html


def _several():
    two = [
        simulated(["large", "small"], 40, 4, benchmark=name, seed=i) for i, name in enumerate(("directions", "sums"))
    ]
    return build_page(
        ReportData([*two, simulated(["large"], 5, 1, benchmark="one model")], manifests=[{"created": "2026-01-02"}])
    ).html


def _math500():
    if not SHARED.exists():
        pytest.skip("the tables of ../shared/data/all_the_noises are not here")
    from howsure import read

    return build_page(ReportData(read([SHARED]))).html


#: The command, as a shell starts it.
HOWSURE = [sys.executable, "-m", "howsure"]


def planted_run(path):
    """A run folder whose questions, choices and completions carry scripts; one that ran would set the title."""
    planted_review.folder(path)


def _run():
    """What the command makes of a run folder."""
    with tempfile.TemporaryDirectory() as folder:
        planted_run(Path(folder, "run"))
        made = Path(folder, "report.html")
        subprocess.run([*HOWSURE, "report", Path(folder, "run"), "-o", made], check=True, stdout=subprocess.DEVNULL)
        return made.read_text(encoding="utf-8")


def _many():
    """More models than are shown at first."""
    return build_page(ReportData([simulated([f"model {i:02d}" for i in range(30)], 12, 2)])).html


MODELS = ("gpt-large", "gpt-large:greedy", "llama-3.2-1B-instruct", "google_gemma_3_27b_it", "qwen3-32b")

#: A page of each, made when it is asked for.
PAGES: dict[str, Callable[[], str]] = {
    "one": lambda: build_page(ReportData([simulated(["only"], 1, 1)])).html,
    "two": lambda: build_page(ReportData([simulated(["large", "small"], 30, 4)])).html,
    "five": lambda: build_page(ReportData([simulated(MODELS, 60, 8)])).html,
    "real": lambda: build_page(ReportData([simulated(MODELS[:3], 30, 4, levels=[37.5, 1250.25, -3.0])])).html,
    "certain": lambda: (
        build_page(ReportData([Cells.from_scores("easy", ["a", "b"], ["q1", "q2"], [[[1, 1], [1]], [[1], [1]]])])).html
    ),
    "many": _many,
    "prompts": _prompted,
    "run": _run,
    "several": _several,
    "hostile": _hostile,
    "math500": _math500,
}
