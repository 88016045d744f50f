"""Figures of the page, held against the schema of Vega-Lite that Altair carries, and against the sources."""

import re
from dataclasses import replace
from pathlib import Path

import altair as alt
import jsonschema
import numpy as np
import pytest
from helpers.planted_prompts import planted
from helpers.planted_runs import drawn, pooled, runs_of

from howsure import reporting
from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData
from howsure.stats.core.cells import Cells
from howsure.stats.planning import ModelUsage
from howsure.stats.questions.consistency import AnswerCounts

NAME = re.compile(r'build_figure\(\s*f?"([a-z0-9-]+)')


def with_prompts():
    cube, lost = planted(effect=0.1, failing=0.6, models=3)
    return ReportData([cube.cells()], cubes=[cube], unparsed={"b": lost})


def with_runs():
    """Three models in four runs, on two days, with their costs and answers, of which three contradict the target."""
    rng = np.random.default_rng(7)
    scores = drawn(rng.beta(0.8, 0.8, (3, 60)), 4)
    days = ["2026-11-02", "2026-11-02", "2026-11-09", "2026-11-09"]
    runs = [replace(run, days=dict.fromkeys(run.models, day)) for run, day in zip(runs_of(scores), days, strict=True)]
    questions = runs[0].questions
    given = {
        model: {q: ["7" if score else "8" for score in scores[i, j]] for j, q in enumerate(questions)}
        for i, model in enumerate(runs[0].models)
    }
    answers = AnswerCounts.from_generations("b", given, dict.fromkeys(questions, "7"))
    usage = {model: ModelUsage(240, 240, tokens=900.0 * (i + 1)) for i, model in enumerate(runs[0].models)}
    return ReportData([pooled(runs)], repeats={"b": runs}, answers={"b": answers}, usage={"b": usage})


def with_checkpoints():
    """Three checkpoints of one training run, each better than the one before."""
    scores = (np.arange(30)[None, :, None] < np.array([10, 15, 25])[:, None, None]).astype(float)
    names = [f"m step {step}" for step in (100, 200, 1000)]
    return ReportData([Cells.from_scores("b", names, [f"q{i}" for i in range(30)], scores.tolist())])


@pytest.fixture(scope="module")
def specs():
    pages = [build_page(data) for data in (with_prompts(), with_runs(), with_checkpoints())]
    return {figure.id.removeprefix("b1-"): figure.spec for page in pages for figure in page.figures}


def find_faults(spec):
    """The first fault of a figure by the schema; it is a layered, a faceted or a plain chart."""
    kind = alt.LayerChart if "layer" in spec else alt.FacetChart if "facet" in spec else alt.Chart
    schema = {**alt.Chart._rootschema, **kind._schema}
    return [error.message[:200] for error in jsonschema.Draft7Validator(schema).iter_errors(spec)][:1]


def test_every_figure_that_the_sources_build_is_valid_by_the_schema(specs):
    files = Path(reporting.__file__).parent.rglob("*.py")
    names = {name for file in files for name in NAME.findall(file.read_text(encoding="utf-8"))}
    assert len(names) > 20
    assert not [
        name for name in names if not any(id_ == name or (name[-1] == "-" and id_.startswith(name)) for id_ in specs)
    ]
    assert {id_: faults for id_, spec in specs.items() if (faults := find_faults(spec))} == {}


def test_a_fault_in_a_figure_is_seen(specs):
    """Planted: a mark and a channel that Vega-Lite does not know."""
    for id_ in ("forest", "growing"):
        assert find_faults(specs[id_] | {"config": {"axis": {"labelFontSize": "large"}}})
    assert find_faults(specs["frontier"] | {"layer": [{"mark": "blob"}]})
    assert find_faults(specs["errors"] | {"encoding": {"z": {"field": "x"}}, "mark": "point"})
