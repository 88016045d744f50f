"""What a reader does on a page: choose two models, sort and search tables, open a question from a figure.

Truths: the results of `howsure.compare`, which are computed apart from the page, and counts made by hand.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.chromium_pages import MODELS, simulated

from howsure import read
from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData, ReportOptions
from howsure.stats.comparisons import compare
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube


@pytest.fixture(scope="module")
def cells():
    return simulated([name for name in MODELS if not name.endswith(":greedy")], 60, 8)


@pytest.fixture
def page(window, cells, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(build_page(ReportData([cells])).html, encoding="utf-8")
    window.show(path.as_uri())
    return window


def _choose(page, a, b):
    """The facts of the section on two models, by name, after a choice."""
    page.value(f"""(() => {{
      const [first, second] = document.querySelectorAll(".two-models select");
      first.value = {json.dumps(a)}; second.value = {json.dumps(b)};
      second.dispatchEvent(new Event("change"));
    }})()""")
    facts = page.value(
        "[...document.querySelectorAll('.two-models dl div')].map(d => [...d.children].map(c => c.textContent))"
    )
    return {name: text.replace("−", "-") for name, text in facts}


def test_two_models_have_the_numbers_of_compare(page, cells):
    for a in cells.models:
        for b in cells.models:
            if a == b:
                continue
            facts, result = _choose(page, a, b), compare(cells, a, b)
            low, high = map(float, facts["95% interval"].split(" to "))
            difference = float(np.mean(cells.mean[cells.index(a)] - cells.mean[cells.index(b)]))
            assert float(facts["Difference, first − second"]) == pytest.approx(difference, abs=6e-4)
            ends = [float(result.interval().low[0]), float(result.interval().high[0])]
            assert [low, high] == pytest.approx(ends, abs=6e-4)
            p = facts["p, this pair alone"]
            expected = float(result.interval().p_value[0])
            assert expected < 0.001 if p == "<0.001" else float(p) == pytest.approx(expected, abs=6e-4)
            # by hand: the expected shares of one generation of each model
            x, y = cells.mean[cells.index(a)], cells.mean[cells.index(b)]
            shares = {
                "Both right": x * y,
                "Only the first right": x * (1 - y),
                "Only the second right": (1 - x) * y,
                "Neither right": (1 - x) * (1 - y),
            }
            for name, values in shares.items():
                assert float(facts[name].rstrip("%")) == pytest.approx(100 * values.mean(), abs=0.06)


def test_shares_of_two_models_say_where_generations_are_in_several_prompts(window, cells, tmp_path):
    """By hand: under either prompt both models are right or both wrong; mixed, each is right half of the time."""
    y = [[[[1], [0]]] * 12] * 2
    of_prompts = Cube.from_scores("bench", ["a", "b"], [f"q{i}" for i in range(12)], ["v", "w"], y)
    said = {}
    for name, data in (
        ("one", ReportData([cells])),
        ("two", ReportData([of_prompts.cells()], cubes=[of_prompts])),
    ):
        path = tmp_path / f"{name}.html"
        path.write_text(build_page(data).html, encoding="utf-8")
        window.show(path.as_uri())
        said[name] = window.value("document.querySelector('.two-models p.kind').textContent")
    assert said["one"] == "Expected shares of the common questions, with one generation of each model:"
    assert said["two"].endswith("with one generation of each model, each in a prompt of its own:")


def test_no_mark_of_direction_changes_a_name_in_a_figure(window, tmp_path):
    """By hand: "a", the mark and "evil" are shown as "alive" where the mark acts."""
    data = ReportData([simulated(["a\u202eevil", "b"], 20, 3)])
    path = tmp_path / "report.html"
    path.write_text(build_page(data, ReportOptions(static_figures=True)).html, encoding="utf-8")
    drawn = [line for line in path.read_text(encoding="utf-8").splitlines() if 'class="static"' in line]
    assert drawn
    assert not any("\u202e" in line for line in drawn)
    window.show(path.as_uri())
    window.value("document.querySelector('#b1-score-intervals').scrollIntoView({block: 'center'})")
    window.wait_for("document.querySelectorAll('#b1-score-intervals .drawing svg text').length > 3")
    names = window.value(
        "[...document.querySelectorAll('#b1-score-intervals .drawing svg text')].map(t => t.textContent)"
    )
    assert "a\ufffdevil" in names


def test_names_of_wide_letters_keep_the_end_that_tells_them_apart(window, tmp_path):
    """The axis cut the end of what had lost its middle: of capitals nothing different was left."""
    names = [f"DEEPSEEK-DISTILL-QWEN-MATHEMATICS-WWW-INSTRUCT-{i}" for i in (7, 14, 32)]
    path = tmp_path / "report.html"
    path.write_text(build_page(ReportData([simulated(names, 20, 3)])).html, encoding="utf-8")
    window.show(path.as_uri())
    window.value("document.querySelector('#b1-score-intervals').scrollIntoView({block: 'center'})")
    window.wait_for("document.querySelectorAll('#b1-score-intervals .drawing svg text').length > 3")
    texts = window.value(
        "[...document.querySelectorAll('#b1-score-intervals .drawing svg text')].map(t => t.textContent)"
    )
    assert sorted(text.partition("…")[2].rpartition("-")[2] for text in texts if "…" in text) == ["14", "32", "7"]


def test_the_questions_that_decide_are_those_with_the_largest_differences(page, cells):
    a, b = cells.models[0], cells.models[1]
    _choose(page, a, b)
    lists = page.value(
        "[...document.querySelectorAll('.two-models ol')].map(l => [...l.children].map(c => c.textContent))"
    )
    d = cells.mean[0] - cells.mean[1]
    for texts, sign in zip(lists, (1, -1), strict=True):
        expected = np.sort(sign * d)[::-1][: len(texts)]
        values = [sign * float(text.split()[-1].replace("−", "-")) for text in texts]
        assert values == pytest.approx(expected.tolist(), abs=6e-4)
        for text, value in zip(texts, values, strict=True):
            assert sign * d[cells.questions.index(text.split()[0])] == pytest.approx(value, abs=6e-4)


@pytest.mark.parametrize(
    ("a", "b", "clusters", "sentence"),
    [
        ([1, 0, 1, 1], [0, 1, 1, 1], None, "cannot be said: no difference was seen."),
        ([1, 1, 1, 1], [0, 0, 0, 0], None, "differ by the same amount on every common question"),
        ([1, 1, 1, 0], [0, 1, 0, 0], ["x", "x", "y", "z"], "cannot be said: questions come in clusters."),
        ([1, 0, 1, None], [None, None, None, 1], None, "cannot be said: no question is common to both."),
        ([1, 0, 1, None], [None, None, 0, 1], None, "cannot be said: only one question is common to both."),
        ([1, 1, 1, 0], [0, 1, 0, 0], None, "questions like these find it"),
    ],
)
def test_the_reason_why_a_number_of_questions_is_missing_is_the_one_that_holds(
    window, tmp_path, a, b, clusters, sentence
):
    """By hand: four questions, one generation each; None is no answer."""
    scores = [[[] if value is None else [value] for value in row] for row in (a, b)]
    cells = Cells.from_scores("small", ["a", "b"], ["q1", "q2", "q3", "q4"], scores)
    path = tmp_path / "small.html"
    path.write_text(build_page(ReportData([replace(cells, clusters=clusters and tuple(clusters))])).html, "utf-8")
    window.show(path.as_uri())
    text = window.value("document.querySelector('.two-models .result > .lead').textContent")
    assert sentence in text
    reasons = ("no difference", "same amount", "clusters", "common to both")
    assert sum(reason in text for reason in reasons) == ("cannot be said" in text)


def test_a_model_without_a_partner_asks_for_another(page):
    page.value("""(() => { const [a, b] = document.querySelectorAll(".two-models select");
      a.value = b.value; a.dispatchEvent(new Event("change")); })()""")
    assert page.value("document.querySelector('.two-models .result').textContent") == "Choose two different models."


def test_a_table_of_ten_thousand_rows_opens_with_200_and_can_be_searched_and_sorted(window, tmp_path):
    names = [f"model {i:03d}" for i in range(60)]
    rng = np.random.default_rng(1)
    right = (rng.random((60, 12, 1)) < np.linspace(0.2, 0.9, 60)[:, None, None]).astype(float)
    cells = Cells.from_scores("many", names, [f"q{i}" for i in range(12)], right.tolist())
    path = tmp_path / "report.html"
    path.write_text(build_page(ReportData([cells])).html, encoding="utf-8")
    window.show(path.as_uri())
    table = "document.querySelector('details.numbers[data-table=b1-pairs]')"
    window.value(f"{table}.open = true")
    window.wait_for(f"{table}.querySelector('tbody tr')")
    assert window.value(f"{table}.querySelectorAll('tbody tr').length") == 200
    assert "200 of 1,770 rows" in window.value(f"{table}.querySelector('.status').textContent")
    window.value(f"""(() => {{ const input = {table}.querySelector("input"); input.value = "model 007";
      input.dispatchEvent(new Event("input")); }})()""")
    assert window.value(f"{table}.querySelectorAll('tbody tr').length") == 59
    difference = f"[...{table}.querySelectorAll('thead button')].find(b => b.textContent === 'Difference')"
    window.value(f"{difference}.click()")
    place = window.value(f"[...{table}.querySelectorAll('thead button')].indexOf({difference})")
    values = window.value(
        f"[...{table}.querySelectorAll('tbody tr')].map(r => Number(r.cells[{place}].textContent.replace('−', '-')))"
    )
    assert values == sorted(values, reverse=True)


def test_a_table_of_a_first_part_can_show_all_rows(window, tmp_path):
    models = [f"model {i:02d}" for i in range(25)]
    runs = [simulated(models, 12, 1, seed=seed) for seed in range(3)]
    path = tmp_path / "report.html"
    data = ReportData([sum(runs[1:], runs[0])], repeats={runs[0].benchmark: runs})
    path.write_text(build_page(data).html, encoding="utf-8")
    window.show(path.as_uri())
    assert window.value("document.querySelectorAll('#b1-repeats > .scroll tbody tr').length") == 20
    assert "Show all 25 rows" in window.value("document.querySelector('#b1-repeats summary').textContent")
    window.value("document.querySelector('#b1-repeats details').open = true")
    window.wait_for("document.querySelector('#b1-repeats details table')")
    texts = "[...document.querySelectorAll('#b1-repeats details tbody td')].map(cell => cell.textContent)"
    assert set(models) <= set(window.value(texts))
    # the table of scores names as many models as it shows
    window.value("document.querySelector('button.more[aria-controls=b1-rows]').click()")
    assert window.value("document.querySelector('button.more[aria-controls=b1-rows]').textContent") == (
        "Show the first 12 models"
    )
    window.value("document.querySelector('button.more[aria-controls=b1-rows]').click()")
    visible = "[...document.querySelectorAll('#b1-rows tbody tr')].filter(row => row.offsetHeight).length"
    assert window.value(visible) == 12


def test_models_are_found_by_a_part_of_their_name(window, tmp_path):
    cells = simulated([f"{maker}-{i}" for maker in ("apple", "pear") for i in range(15)], 12, 2)
    path = tmp_path / "report.html"
    path.write_text(build_page(ReportData([cells])).html, encoding="utf-8")
    window.show(path.as_uri())
    visible = "[...document.querySelectorAll('table.answer tbody tr')].filter(r => r.offsetParent).length"
    assert window.value(visible) == 12
    window.call("Emulation.setEmulatedMedia", media="print")
    assert window.value(visible) == 30  # paper has all models
    window.call("Emulation.setEmulatedMedia", media="")
    window.value("document.querySelector('button.more').click()")
    assert window.value(visible) == 30
    window.value("document.querySelector('button.more').click()")
    assert window.value(visible) == 12
    window.value("""(() => { const input = document.querySelector("#b1-answer .search input"); input.value = "pear";
      input.dispatchEvent(new Event("input")); })()""")
    assert window.value(visible) == 15


def test_the_interval_of_a_score_is_in_sight_on_a_phone(window, tmp_path):
    """The score without its error would say more than the data: both are there before anyone scrolls."""
    path = tmp_path / "report.html"
    names = [f"laboratory/assistant-large-2026-01-{day}:temperature=0.7" for day in range(10, 24)]
    path.write_text(build_page(ReportData([simulated(names, 1200, 1)])).html, encoding="utf-8")
    window.show(path.as_uri(), width=390)
    edges = window.value("""(() => { const table = document.querySelector("#b1-rows");
      const column = [...table.tHead.rows[0].cells].findIndex(c => c.textContent.includes("interval"));
      return [...table.tBodies[0].rows].map(r => r.cells[column].getBoundingClientRect().right); })()""")
    assert len(edges) == 14
    assert max(edges) <= 390
    assert window.value("document.documentElement.scrollWidth") <= 390


def test_numbers_of_an_axis_stand_apart_on_a_phone(window, tmp_path):
    """The scores of the example logs have nine ticks of four characters, which touched."""
    path = tmp_path / "report.html"
    logs = read([Path(__file__).resolve().parents[2] / "examples/logs"])
    path.write_text(build_page(ReportData(logs)).html, encoding="utf-8")
    window.read(path.as_uri(), width=390)
    gaps = window.value("""(() => { const labels = [...document.querySelectorAll(
        "#b1-score-intervals .role-axis-label text, #b1-forest .role-axis-label text")]
      .filter(t => Number(getComputedStyle(t).opacity) > 0).map(t => t.getBoundingClientRect()).filter(b => b.width > 0);
      return labels.flatMap(a => labels.filter(b => b.left > a.left && Math.abs(a.top - b.top) < 2).map(b => b.left - a.right)); })()""")
    assert len(gaps) > 3
    assert min(gaps) >= 5


def test_figures_of_second_rank_are_folded_and_printed(window, tmp_path):
    names = [f"model-{i:02d}" for i in range(16)]
    path = tmp_path / "report.html"
    path.write_text(build_page(ReportData([simulated(names, 20, 3)])).html, encoding="utf-8")
    window.show(path.as_uri())
    closed = "[...document.querySelectorAll('details.fold:not([open])')].map(d => d.closest('figure').id)"
    assert {"b1-matrix", "b1-densities", "b1-cumulative", "b1-errors"} <= set(window.value(closed))
    # the question and the conclusion are outside of what is folded
    assert window.value(
        "[...document.querySelectorAll('figure.figure')].every(f => !f.querySelector('details figcaption'))"
    )
    window.value("window.dispatchEvent(new Event('beforeprint'))")
    assert window.value(closed) == []
    window.wait_for("document.querySelector('#b1-matrix .drawing').querySelector('svg, canvas')")


def test_a_click_on_the_heatmap_opens_the_question_of_that_column(page, cells):
    page.value("document.querySelector('#b1-difficulty').scrollIntoView({block: 'center'})")
    page.wait_for("document.querySelector('#b1-difficulty svg .mark-rect path, #b1-difficulty svg path[d]')")
    means = cells.mean.mean(axis=0)
    hardest = cells.questions[int(np.argsort(means, kind="stable")[0])]
    box = page.value("""(() => { const marks = [...document.querySelectorAll("#b1-difficulty svg .mark-rect path")];
      const b = marks[0].getBoundingClientRect(); return [b.left + b.width / 3, b.top + b.height / 2]; })()""")
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        if kind == "mouseMoved":
            page.wait_for("!document.getElementById('tip').hidden")
            assert hardest in page.value("document.getElementById('tip').textContent")
            assert "NaN" not in page.value("document.getElementById('tip').textContent")
    page.wait_for(f"location.hash.includes({json.dumps(hardest)})")
