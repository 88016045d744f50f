"""Printed pages: none is nearly empty, and nothing is wider than the sheet.

Truths: Chromium's PDF, read by pypdf, and a page of blocks whose heights are known.
"""

import pytest
from helpers.chromium_pages import simulated
from helpers.printed_pages import count_nearly_empty, measure_heights

from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData

pytest.importorskip("pypdf", reason="pypdf reads what was printed")

BLOCKS = """<!doctype html><style>@page { size: 216mm 279mm; margin: 14mm } body { margin: 0 }
div { break-after: page; width: 50mm; border-bottom: 1mm solid black; box-sizing: border-box }
div.empty { border: none }</style>
<div style="height: 50.2mm"></div><div style="height: 200.8mm"></div><div class="empty" style="height: 90mm"></div>
<div style="height: 100.4mm"></div><p>the end"""


def test_heights_are_those_of_the_blocks_on_the_sheets(window, tmp_path):
    # by hand: 251 mm between the margins
    path = tmp_path / "blocks.html"
    path.write_text(BLOCKS, encoding="utf-8")
    window.show(path.as_uri())
    heights = measure_heights(window.paper())
    assert heights[:4] == pytest.approx([0.2, 0.8, 0, 0.4], abs=0.006)
    assert heights[4] < 0.05
    assert count_nearly_empty(heights) == 2  # the last page ends where it may


@pytest.mark.parametrize(
    "is_drawn",
    [pytest.param(True, marks=pytest.mark.long, id="drawn by scripts"), pytest.param(False, id="static drawings")],
)
def test_no_page_of_many_models_is_nearly_empty(window, tmp_path, is_drawn):
    cells = simulated([f"organisation/model-{i:02d}-instruct" for i in range(48)], 80, 3)
    path = tmp_path / "report.html"
    build_page(ReportData([cells])).save(path)
    window.call("Emulation.setScriptExecutionDisabled", value=not is_drawn)
    try:
        window.open(path.as_uri())
        if is_drawn:
            window.draw_all()
        heights = measure_heights(window.paper())
    finally:
        window.call("Emulation.setScriptExecutionDisabled", value=False)
    assert count_nearly_empty(heights) == 0, heights
    assert len(heights) < 18


def test_marks_of_a_tall_figure_are_as_wide_as_its_axes_on_paper(window, tmp_path):
    """Marks are on a canvas and names and axes beside them: on paper the canvas alone was made narrower."""
    cells = simulated([f"m{i}" for i in range(12)], 40, 3)
    path = tmp_path / "report.html"
    build_page(ReportData([cells])).save(path)
    window.open(path.as_uri())
    window.draw_all()
    window.call("Emulation.setEmulatedMedia", media="print")
    try:
        widths = window.value("""[...document.querySelectorAll(".drawing")].filter(d => d.querySelector("canvas"))
          .map(d => ["canvas", "svg"].map(tag => d.querySelector(tag).getBoundingClientRect().width))""")
    finally:
        window.call("Emulation.setEmulatedMedia", media="")
    assert widths
    for canvas, svg in widths:
        assert canvas == pytest.approx(svg, abs=1)


@pytest.mark.long
def test_nothing_on_paper_is_wider_than_the_sheet(window, tmp_path):
    """A browser makes the whole page smaller, text and all, where one element is wider than the sheet."""
    cells = simulated([f"organisation/model-{i:02d}-instruct" for i in range(48)], 80, 3)
    path = tmp_path / "report.html"
    build_page(ReportData([cells])).save(path)
    window.show(path.as_uri())
    window.draw_all()
    window.call("Emulation.setEmulatedMedia", media="print")
    try:
        window.look(width=725)  # a sheet of 216 mm with its margins of 12 mm, at 96 points per inch
        assert window.value("document.documentElement.scrollWidth") <= 725
    finally:
        window.call("Emulation.setEmulatedMedia", media="")
