"""What a reader's browser makes of a report, over results of every kind.

Truths: Chromium, asked over DevTools, and what axe-core, the accessibility checker of Deque, finds serious or critical.
"""

import io
import re
import unicodedata

import pytest
from helpers.chromium_window import mark_pages

#: Pages that differ in their elements, not only in what these say; in the dark and on a phone fewer rules may differ.
KINDS = pytest.mark.parametrize(
    "made", mark_pages(["one", "certain", "five", "many", "prompts", "run", "several", "hostile"]), indirect=True
)
SOME = pytest.mark.parametrize("made", mark_pages(["five", "prompts", "run", "several"]), indirect=True)
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def seen(window, made):
    """The page, read through at 1280 pixels in light."""
    window.read(made)
    return window


def test_every_figure_is_drawn_without_complaint_or_request(window, made):
    assert window.read(made) == []
    assert window.complaints() == []  # the console, the policy, and any request
    asked = [e["params"]["request"]["url"] for e in window.events if e["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [made]
    empty = window.value(
        "[...document.querySelectorAll('.drawing')].filter(d => !d.querySelector('svg path[d], svg rect, canvas')).length"
    )
    assert empty == 0


def test_nothing_planted_ran(seen):
    assert seen.value("typeof window.planted") == "undefined"
    assert "owned" not in seen.value("document.title")
    assert seen.value("document.images.length") == 0


def test_things_in_sight_stay_where_they_are(seen):
    assert [shift for shift in seen.shifts if shift[0] >= 0.05] == []


def test_no_label_lies_on_another_or_is_cut(seen):
    assert seen.probe("collisions") == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_of_a_figure_can_be_read(seen, dark):
    seen.look(dark=dark)
    assert seen.probe("faint") == []


def _findings(window, **only):
    # One table of numbers: they are all made alike, and each cell takes its time.
    window.value("document.querySelectorAll('details.numbers').forEach((d, i) => d.open = i === 0)")
    window.value("document.querySelectorAll('details:not(.numbers)').forEach(d => d.open = true)")
    return window.axe(**only)


@KINDS
def test_axe_finds_nothing_serious(seen):
    assert _findings(seen) == []


@SOME
def test_axe_finds_nothing_serious_in_the_dark(seen):
    seen.look(dark=True)
    assert _findings(seen, only=["color-contrast"]) == []


@pytest.mark.parametrize("made", mark_pages(["prompts"]), indirect=True)
def test_the_widest_table_of_scores_fits_a_window_of_1000_pixels(window, made):
    """With several prompts it has nine columns; the last ones were beyond the edge of its box."""
    window.read(made, width=1000)
    box = "document.querySelector('table.answer').parentElement"
    assert window.value("document.querySelectorAll('table.answer thead th').length") >= 9
    assert window.value(f"{box}.scrollWidth") <= window.value(f"{box}.clientWidth")


def test_a_phone_shows_all_of_it(window, made):
    assert window.read(made, **PHONE) == []
    window.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    window.wait_for("[...document.querySelectorAll('details.numbers')].every(d => d.querySelector('table'))")
    assert window.probe("wide") == []
    assert window.probe("collisions") == []
    assert window.complaints() == []


@SOME
def test_axe_finds_nothing_serious_on_a_phone(window, made):
    window.read(made, **PHONE)
    assert _findings(window, only=["scrollable-region-focusable", "target-size", "meta-viewport"]) == []


@pytest.mark.long
@pytest.mark.parametrize("made", mark_pages(["certain", "many", "prompts", "hostile"]), indirect=True)
def test_paper_shows_all_of_it_as_text(window, made):
    pypdf = pytest.importorskip("pypdf", reason="pypdf reads what was printed")
    window.show(made)
    figures = window.value("[...document.querySelectorAll('figure h2, figure h3, figure h4')].map(h => h.textContent)")
    printed = pypdf.PdfReader(io.BytesIO(window.paper()))
    found = _letters("".join(sheet.extract_text() for sheet in printed.pages))
    assert len(figures) == window.value("document.querySelectorAll('.drawing svg').length")
    left_to_right = [title for title in figures if "\u202e" not in title]
    assert [title for title in left_to_right if _letters(title) not in found] == []
    titles = window.value(
        "[...document.querySelectorAll('.drawing')].map(d => [...d.querySelectorAll('svg text')].map(t => t.textContent).filter(Boolean))"
    )
    missing = [texts for texts in titles if not any(_letters(text) in found for text in texts if len(text) > 4)]
    assert missing == []  # drawn, each with some text of its own
    assert "Download CSV" not in found


def _letters(text):
    """Letters and digits only: where lines break, and how glyphs are joined, differs on paper."""
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFKD", text))
