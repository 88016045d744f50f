"""Data map and suspects on the page: what is drawn and said is what stats found."""

import asyncio
import importlib.util
import json
import math
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from helpers.parsed_page import HOSTILE

from howsure.reporting.benchmark_report import BenchmarkReport
from howsure.reporting.elements import ElementBuilder, TextTable, dump_json
from howsure.reporting.glossary import list_report_columns
from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData
from howsure.reporting.sections.data_map import (
    KINDS,
    _format_limit,
    build_data_map_section,
    describe_label_errors,
    draw_data_map,
    is_dense,
)
from howsure.reporting.sections.data_map import describe_data_map as caption
from howsure.stats.core.cells import Cells
from howsure.stats.questions.consistency import AnswerCounts
from howsure.stats.questions.label_errors import find_label_errors


def planted(n_questions=40, k=6, seed=0, names=None, moved=3):
    """Three models, mostly right; the first labels are moved to a number that nobody says."""
    rng = np.random.default_rng(seed)
    names = names or [f"q{i:02d}" for i in range(n_questions)]
    given = {m: {q: [str(x) for x in rng.choice([7, 7, 7, 7, 7, 7, 8, 9], k)] for q in names} for m in ("m", "n", "o")}
    for own in given.values():
        own.update({q: ["7"] * k for q in names[:moved]})
    return AnswerCounts.from_generations("b", given, {q: "1" if i < moved else "7" for i, q in enumerate(names)})


def made(answers):
    sheet = ElementBuilder("b1")
    return build_data_map_section(answers, sheet), sheet


def drawn(spec, layer=-1):
    name = spec["layer"][layer]["data"]["name"]
    return spec["datasets"][name][0]


# stats, in another form


def test_every_question_has_its_place_and_suspects_lie_on_top():
    answers = planted()
    found = find_label_errors(answers)
    data = drawn(draw_data_map(found))
    assert sum(data["n_here"]) == 40
    at = dict(zip(found.questions, zip(found.p_correct, found.consistency, found.suspected, strict=True), strict=True))
    for question, p, s, part in zip(
        data["question"], data["p_correct"], data["consistency"], data["part"], strict=True
    ):
        assert (p, s) == (pytest.approx(at[question][0], abs=1e-4), pytest.approx(at[question][1], abs=1e-4))
        assert part == KINDS[int(at[question][2])]
    assert data["part"] == sorted(data["part"])
    assert data["part"].count("Suspected label error") == 1  # three of them in one place
    assert data["n_here"][-1] == 3


def test_rows_are_the_suspects_and_lead_to_their_questions():
    section, sheet = made(planted())
    listing = section.items[1]
    assert isinstance(listing, TextTable)
    assert sorted(row[0] for row in listing.rows) == ["q00", "q01", "q02"]
    assert listing.rows[0][1:7] == ("1", "7", "0.00", "0.00", "1", "3 of 3")
    assert listing.rows[0][8] == f"{find_label_errors(planted()).p_wrong_max[0]:.2f}"
    assert listing.links[0] == f"#q={listing.rows[0][0]}&b=b1"
    table = sheet.tables["b1-suspects"]
    assert table["question"] == [row[0] for row in listing.rows]
    assert set(table["suspected_by"]) == {"data map and models"}
    assert set(table) - {"question", "n_models"} <= set(list_report_columns())


def test_a_click_and_a_legend_are_asked_of_the_page():
    section, _ = made(planted())
    spec = section.items[0].spec
    assert spec["usermeta"]["click"] == "question"
    assert section.items[0].title.endswith("?")
    assert "holds 3 of 40 questions" in section.items[0].description


# names are data


def test_hostile_names_stay_data():
    names = [*HOSTILE, *(f"q{i}" for i in range(20))]
    section, sheet = made(planted(names=names, moved=len(HOSTILE)))
    assert sorted(row[0] for row in section.items[1].rows) == sorted(HOSTILE)
    for row, link in zip(section.items[1].rows, section.items[1].links, strict=True):
        assert unquote(link.removeprefix("#q=").removesuffix("&b=b1")) == row[0]
        assert not set(link) & set("<>\"' ")
    spec = dump_json(section.items[0].spec)
    assert "<" not in spec
    whole = json.loads(spec)
    del whole["datasets"], whole["description"]
    assert not any(name in json.dumps(whole, ensure_ascii=False) for name in HOSTILE)
    assert "<" not in sheet.packed_tables["b1-suspects"]


def test_long_answers_are_cut():
    long = "x\ny" * 300
    given = {m: {"q": [long] * 3, **{f"r{i}": ["7"] * 3 for i in range(4)}} for m in "mn"}
    section, sheet = made(AnswerCounts.from_generations("b", given, {"q": "7"} | {f"r{i}": "7" for i in range(4)}))
    assert len(section.items[1].rows[0][2]) == 48
    assert section.items[1].rows[0][2].endswith("…")
    assert len(sheet.tables["b1-suspects"]["answer"][0]) == 200


# edges


def test_many_places_become_squares_that_hold_all_but_suspects():
    found = find_label_errors(planted(300, k=20))
    assert not is_dense(found)
    assert is_dense(found, most=50)
    spec = draw_data_map(found, most=50)
    assert len(spec["layer"]) == 3
    assert sum(drawn(spec, 1)["n_here"]) == 297
    assert set(drawn(spec)["part"]) == {"Suspected label error"}
    assert "The stronger the colour" in caption(found, binned=True)


def test_what_is_missing_is_named():
    assert made(None)[0].left_out == ("data map and suspected labels (answers are not recorded)",)
    silent = AnswerCounts.from_generations("b", {"m": {"q": [None, None]}}, {"q": "A"})
    assert made(silent)[0].left_out == ("data map and suspected labels (no answer was extracted)",)
    single, _ = made(planted(k=1))
    assert [item.id for item in single.items] == ["b1-suspects"]
    assert single.left_out == ("data map (no model has two generations with an answer to a question)",)
    right, _ = made(AnswerCounts.from_generations("b", {"m": {"q": ["A"]}, "n": {"q": ["A"]}}, {"q": "A"}))
    assert not right.items
    assert right.left_out[1] == "suspected labels (there is none)"


@pytest.mark.parametrize(("answer", "word"), [("7", "right"), ("8", "wrong")])
def test_all_alike_is_drawn_and_said(answer, word):
    given = {"m": {q: [answer] * 4 for q in ("q", "r")}}
    section, _ = made(AnswerCounts.from_generations("b", given, dict.fromkeys(("q", "r"), "7")))
    assert f"All questions are {word} at least half of the time: consistency is 0.00." in section.items[0].caption
    assert "Means over" not in section.items[0].caption
    assert ("none of 2 questions" if word == "right" else "holds 2 of 2") in section.items[0].caption
    assert len(section.items) == (1 if word == "right" else 2)


def test_questions_without_consistency_are_counted_not_drawn():
    given = {"m": {"q": ["A", "A"], "r": ["A"]}}
    found = find_label_errors(AnswerCounts.from_generations("b", given, {"q": "A", "r": "A"}))
    assert "1 question with fewer than two read answers of any model is not drawn" in caption(found, binned=False)
    assert drawn(draw_data_map(found))["question"] == ["q"]


def test_the_caption_counts_reasons_and_rows():
    found = find_label_errors(planted())
    told = describe_label_errors(found, 2)
    assert told.startswith("3 of 40 questions (8%) are worth a look: 3 in the corner of the data map")
    assert "and 3 where most models, two at least, give the same other answer, some for both reasons." in told
    assert "is wrong lies between 0 and the last column, if at most 10% of all targets are wrong" in told
    assert told.endswith("The first 2 are listed; the download has more.")


def test_it_renders():
    vl_convert = pytest.importorskip("vl_convert")
    for most in (5_000, 10):
        png = vl_convert.vegalite_to_png(draw_data_map(find_label_errors(planted(100)), most=most) | {"width": 600})
        assert png.startswith(b"\x89PNG")
        assert len(png) > 5_000


# a browser


ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def picture():
    location = importlib.util.spec_from_file_location("picture", ROOT / "docs" / "picture.py")
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    if module.chromium() is None:
        pytest.skip("chromium is not installed")
    return module


def test_a_click_opens_the_question_and_headings_sort(tmp_path, monkeypatch, picture):
    answers = planted(names=["<b>&/?#q", *(f"q{i:02d}" for i in range(30))], moved=4)
    n, total = answers.n_cell.astype(int), answers.at_cells(answers.total)
    before = BenchmarkReport.__init__

    def with_map(self, *args, **more):
        before(self, *args, **more)
        self.sections = (build_data_map_section(answers, self.builder),)

    monkeypatch.setattr(BenchmarkReport, "__init__", with_map)
    build_page(ReportData([Cells("b", answers.models, answers.questions, n, total, total.copy())])).save(
        tmp_path / "r.html"
    )

    async def walk():
        async with picture.browser() as tab:
            await tab.open((tmp_path / "r.html").as_uri())
            await tab.draw_all()
            point = "[...document.querySelectorAll('#b1-map .mark-symbol.role-mark path')].at(-1)"
            x, y = await tab.value(
                f"(() => {{ const p = {point}; p.scrollIntoView({{block: 'center'}}); const r = p.getBoundingClientRect();"
                " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
            )
            for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
                await tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
            await tab.wait_for("document.activeElement.closest('.one-question')")  # an opened question takes the focus
            first = await tab.value("location.hash")
            button = "document.querySelector('#b1-suspects button.sort')"
            await tab.value(f"{button}.focus()")
            orders = []
            for order in ("ascending", "descending"):
                await tab.press("Enter", code=13, text="\r")
                await tab.wait_for(f"{button}.closest('th').getAttribute('aria-sort') === '{order}'")
                shown = "[...document.querySelectorAll('#b1-suspects tbody tr')].map(row => row.cells[0].textContent)"
                state = f"[{button}.closest('th').getAttribute('aria-sort'), {shown}]"
                orders.append(await tab.value(state))
            return first, orders, tab.complaints()

    first, (up, down), complaints = asyncio.run(walk())
    assert complaints == []
    assert unquote(first.removeprefix("#q=").removesuffix("&b=b1")) == "<b>&/?#q"  # the first by name of those there
    assert up == ["ascending", ["<b>&/?#q", "q00", "q01", "q02"]]
    assert down == ["descending", up[1][::-1]]


@pytest.mark.parametrize(("limit", "text"), [(0.1234, "0.12"), (0.997, ">0.99"), (1.0, "no limit"), (math.nan, "–")])
def test_a_limit_that_excludes_nothing_is_none(limit, text):
    assert _format_limit(limit) == text


def test_one_model_prefers_and_several_prefer_another_answer():
    """By hand: of three models one gives 7 most often, or two do; the page said "1 of 3 models prefer"."""
    given = {
        "a": {"q1": ["7"] * 4, "q2": ["4"] * 4},
        "b": {"q1": ["8"] * 4, "q2": ["4"] * 4},
        "c": {"q1": ["9"] * 4, "q2": ["4"] * 4},
    }
    answers = AnswerCounts.from_generations("s", given, {"q1": "5", "q2": "4"})
    scores = [
        [[float(answer == target) for answer in given[m][q]] for q, target in (("q1", "5"), ("q2", "4"))] for m in "abc"
    ]
    cells = Cells.from_scores("s", list("abc"), ["q1", "q2"], scores)
    html = build_page(ReportData([cells], answers={"s": answers})).html
    assert "1 of 3 models prefers another answer" in html
    assert "1 of 3 models prefer another" not in html


def test_an_id_that_is_a_hash_shows_its_first_digits_with_the_whole_id_as_title():
    """By hand: lm-evaluation-harness names documents by 64 hexadecimal digits; another id is shown whole."""
    long, short = "0b8f8bbd8e9b3d87" * 4, "0b8f8bbd8e9b"
    given = {m: {long: ["7"] * 4, "plain-id": ["8"] * 4} for m in "ab"}
    answers = AnswerCounts.from_generations("s", given, {long: "5", "plain-id": "4"})
    cells = Cells.from_scores("s", ["a", "b"], [long, "plain-id"], [[[0] * 4] * 2] * 2)
    html = build_page(ReportData([cells], answers={"s": answers})).html
    table = html.partition('class="listing"')[2].partition("</table>")[0]
    assert f'title="{long}"><bdi>{short}…</bdi></a>' in table
    assert long not in table.replace(f'title="{long}"', "").replace(f"q={long}", "")
    assert '"><bdi>plain-<wbr>id</bdi></a>' in table
    assert 'title="plain-id"' not in table
