"""Figures as files: what a parser of each format finds in them, and the numbers beside them."""

import csv
import io
import struct
import sys
import xml.etree.ElementTree as ET
import zlib
from dataclasses import replace

import numpy as np
import pytest
from helpers.drawing_texts import find_faults
from helpers.parsed_page import HOSTILE, Page
from helpers.planted_prompts import planted

from howsure.errors import InputError, UnknownNameError
from howsure.reporting import figure_files
from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData, ReportOptions
from howsure.stats.core.cells import Cells

NAMES = ["difficulty", "errors", "forest", "matrix", "noise"]


def cells(models, benchmark="bench"):
    scores = [[[int((q * 7 + m * 3 + g) % 5 < 3) for g in range(4)] for q in range(12)] for m in range(len(models))]
    return Cells.from_scores(benchmark, models, [f"q{i}" for i in range(12)], scores)


@pytest.fixture(scope="module")
def page():
    return build_page(ReportData([cells(["a", "=b", "c"])]))


@pytest.fixture(scope="module")
def folder(page, tmp_path_factory):
    made = tmp_path_factory.mktemp("figures") / "new"
    figure_files.write_figures(made, page.figures)
    return made


def pixels(png):
    """Width, height and the different rows of a PNG."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    data, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += 12 + size
    raw = zlib.decompress(data)
    step = len(raw) // height
    return width, height, {raw[i * step : (i + 1) * step] for i in range(height)}


def test_every_figure_of_the_page_is_there_with_its_numbers(page, folder):
    ids = [a["id"] for t, a in Page(page.html).tags if t == "figure"]
    assert [figure.id for figure in page.figures] == ids
    assert {f"b1-{name}" for name in NAMES} <= set(ids)
    found = sorted(file.name for file in folder.iterdir())
    assert found == sorted(f"{id_[3:]}.{form}" for id_ in ids for form in ("svg", "csv"))


def test_numbers_are_those_of_the_page(page, folder):
    table = Page(page.html).json("table-b1-scores")  # of noise
    with (folder / "noise.csv").open(newline="", encoding="utf-8") as file:
        heading, *rows = csv.reader(file)
    assert heading == list(table)
    models = [row[heading.index("model")] for row in rows]
    assert sorted(models) == ["'=b", "a", "c"]  # no formula
    for name in ("score", "se"):
        told = [float(row[heading.index(name)]) for row in rows]
        assert told == pytest.approx(table[name], rel=1e-8)


def test_svg_has_its_names_as_text_and_a_light_background(folder):
    root = ET.fromstring((folder / "forest.svg").read_text(encoding="utf-8"))
    texts = {"".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"=b", "c"} & texts
    assert "distinguishable" in texts
    (back,) = [node for node in root if node.get("fill") == "white"]
    assert back.get("width")
    assert int(float(root.get("width"))) >= 600


def test_png_has_300_dots_an_inch_and_is_not_blank(page):
    (figure,) = [one for one in page.figures if one.id == "b1-noise"]
    svg = ET.fromstring(figure_files.render_spec(figure.spec, file_format="svg"))
    width, height, rows = pixels(figure_files.render_spec(figure.spec, file_format="png"))
    assert (width, height) == pytest.approx(
        (300 / 72 * float(svg.get("width")), 300 / 72 * float(svg.get("height"))), abs=3
    )
    assert len(rows) > 10
    clear = ET.fromstring(figure_files.render_spec(figure.spec, file_format="svg", background="transparent"))
    assert not [node for node in clear if node.get("fill") == "white"]
    assert figure_files.render_spec(figure.spec, file_format="pdf").startswith(b"%PDF-")


def test_hostile_names_are_text_in_files_too(tmp_path):
    names = [*HOSTILE, "a,b\nc"]
    written = figure_files.write_figures(tmp_path, build_page(ReportData([cells(names, benchmark="../../x")])).figures)
    assert {file.parent for file in written} == {tmp_path}
    root = ET.parse(tmp_path / "noise.svg").getroot()
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert not list(root.iter("{http://www.w3.org/2000/svg}image"))
    with (tmp_path / "noise.csv").open(newline="", encoding="utf-8") as file:
        models = [row["model"] for row in csv.DictReader(file)]
    assert sorted(models) == sorted(f"'{name}" if name == "=1+1" else name for name in names)


def test_files_of_figures_of_several_benchmarks_have_their_number(page, tmp_path, monkeypatch):
    monkeypatch.setattr(figure_files, "render_spec", lambda *_, **__: b"drawn")
    others = [replace(figure, id=figure.id.replace("b1-", "b2-")) for figure in page.figures]
    ids = [figure.id for figure in (*page.figures, *others)]
    assert [file.stem for file in figure_files.write_figures(tmp_path, [*page.figures, *others])] == ids
    assert [file.stem for file in figure_files.write_figures(tmp_path, others)] == [
        one[3:] for one in ids[len(others) :]
    ]


@pytest.mark.long
def test_figures_of_several_benchmarks_on_one_page_keep_its_number(tmp_path):
    found = figure_files.write_figures(
        tmp_path, build_page(ReportData([cells(["a"]), cells(["a"], benchmark="other")])).figures
    )
    assert {file.name[:3] for file in found} == {"b1-", "b2-"}
    assert len(set(found)) == len(found)


def test_csv_is_what_pythons_own_reader_reads():
    columns = {"text": ['say "x"', "a,b", "-1", ""], "value": [0.1, None, 12345678.25, 3], "flag": [True, False, 1, 2]}
    rows = list(csv.reader(io.StringIO(figure_files.format_csv(columns), newline="")))
    assert rows == [
        ["text", "value", "flag"],
        ['say "x"', "0.1", "True"],
        ["a,b", "", "False"],
        ["'-1", "12345678.2", "1"],
        ["", "3", "2"],
    ]


def test_legends_get_as_many_columns_as_fit():
    spec = {"usermeta": {"longest": 30, "widest": 300}, "width": "container", "config": {"legend": {"orient": "top"}}}
    fixed = figure_files.fix_width(spec, "white", 640)
    assert fixed["config"]["legend"] == {"orient": "top", "columns": 2}  # 640 / (7 * 30 + 44)
    assert fixed["width"] == 300
    assert spec["config"] == {"legend": {"orient": "top"}}  # what was given stays


def test_wrong_use_is_told(page, tmp_path, monkeypatch):
    with pytest.raises(UnknownNameError, match="--format: unknown format 'gif'"):
        figure_files.write_figures(tmp_path, page.figures, file_format="gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        figure_files.write_figures(tmp_path / "file" / "below", page.figures)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(InputError, match=r"the report needs vl_convert; pip install 'howsure\[report\]'"):
        figure_files.write_figures(tmp_path, page.figures)


def test_a_page_without_figures_writes_none(tmp_path):
    assert figure_files.write_figures(tmp_path, []) == []


@pytest.mark.parametrize("file_format", ["svg", pytest.param("png", marks=pytest.mark.long)])
def test_names_with_characters_that_no_drawing_can_hold_are_drawn(tmp_path, file_format):
    """vl-convert ended the whole process at a control character, U+FFFE or U+FFFF in a name."""
    names = ["\x00\x07\x1b[2J", "\x0b\x7f\x85\x9f", "\ufffe\uffff\ufdd0\U0001fffe", "line\nbreak\ttab", "\u202e😀é"]
    page = build_page(ReportData([cells(names)]))
    paths = figure_files.write_figures(tmp_path, page.figures[:3], file_format=file_format)
    assert len(paths) == 3
    if file_format == "svg":
        text = "".join(ET.fromstring(paths[0].read_text()).itertext())  # our own file
        assert "😀" in text


@pytest.mark.long
def test_a_figure_for_a_column_of_a_paper_is_as_wide_as_the_column_with_text_of_7_to_9_points(tmp_path):
    """The PDF as pypdf reads it: the width of the page, and the size of each text on it."""
    pypdf = pytest.importorskip("pypdf", reason="pypdf reads what was drawn")
    names = ["google_gemma_3_27b_it", "google_gemma_3_12b_it", "deepseek_r1_distill_qwen_32b"]
    figures = build_page(ReportData([cells(names)])).figures
    style = figure_files.FigureStyle(width=3.3, font_size=8)
    written = figure_files.write_figures(tmp_path, figures, file_format="pdf", style=style)
    for path in written:
        (page,) = pypdf.PdfReader(path).pages
        assert float(page.mediabox.width) <= 3.3 * 72 + 14, path.name
        sizes = []

        def note(text, matrix, text_matrix, _, size, sizes=sizes):
            if text.strip():
                turned = [abs(m[0] * m[3] - m[1] * m[2]) ** 0.5 for m in (matrix, text_matrix)]
                sizes.append(size * turned[0] * turned[1])

        text = page.extract_text(visitor_text=note)
        assert sizes
        assert 7 <= min(sizes) <= max(sizes) <= 9, path.name
        if path.stem == "score-intervals":
            # Names that begin alike stay different.
            assert "27b_it" in text
            assert "12b_it" in text


#: Names that are alike at both ends, as those of one family are.
FAMILY = [
    *(f"simulated llama-3.1-{size}b-instruct" for size in (8, 70, 405)),
    *(f"Qwen/Qwen2.5-Coder-{size}B-Instruct-GPTQ" for size in (3, 7, 14, 32)),
    "WWWWWWWW-MMMMMMMMMM-wide-letters-000",
    "g",
]


def draw_family():
    """A table of nine models with long names, three generations, tokens of them, and scores from .1 to .9."""
    rng = np.random.default_rng(5)
    p = rng.beta(np.linspace(0.4, 3, 9), 1, (60, 9)).T
    return Cells.from_scores("b", FAMILY, [f"q{i}" for i in range(60)], rng.binomial(1, p[..., None], (9, 60, 3)))


@pytest.fixture(scope="module")
def papers():
    """Figures of many models and of prompt variants, as a report has them."""
    cube, lost = planted(effect=0.1, failing=0.2, models=3)
    cube = replace(cube, models=tuple(FAMILY[:3]))
    prompts = ReportData([cube.cells()], cubes=[cube], unparsed={"b": lost})
    return {"models": build_page(ReportData([draw_family()])).figures, "prompts": build_page(prompts).figures}


@pytest.mark.parametrize(
    ("width", "font_size"),
    [(3.3, 7), *(pytest.param(*size, marks=pytest.mark.long) for size in ((3.3, 8), (4.5, 8), (6.9, 9)))],
)
@pytest.mark.parametrize("data", ["models", pytest.param("prompts", marks=pytest.mark.long)])
def test_no_text_of_any_figure_is_cut_or_on_another_one(papers, data, width, font_size):
    """By hand: boxes of the texts from their letters, as the font's published metrics have them."""
    style = figure_files.FigureStyle(width=width, font_size=font_size)
    figures = papers[data]
    assert len(figures) > 7
    faults = {
        figure.id: found
        for figure in figures
        if (
            found := find_faults(
                figure_files.render_spec(figure.spec, style=style).decode(),
                smallest=font_size - 1e-6,
                largest=font_size + 1,
                width=72 * width + 14,
            )
        )
    }
    assert faults == {}


@pytest.mark.long
@pytest.mark.parametrize(
    ("width", "font_size", "height"),
    [(3.3, 8, 2), *(pytest.param(*size, marks=pytest.mark.long) for size in ((4.5, 8, 3), (6.9, 9, 5)))],
)
def test_no_text_is_cut_at_a_given_height(papers, width, font_size, height):
    """By hand, as above: nine names in 2 inches were on top of each other; the figure is as high as they need."""
    style = figure_files.FigureStyle(width=width, font_size=font_size, height=height)
    limits = {"smallest": font_size - 1e-6, "largest": font_size + 1, "width": 72 * width + 14}
    for figure in papers["models"]:
        svg = figure_files.render_spec(figure.spec, style=style).decode()
        assert find_faults(svg, **limits) == [], figure.id
        high = float(ET.fromstring(svg).get("height"))
        if "spec" not in figure.spec:  # one panel for each model
            names = 90 if figure.id == "b1-matrix" else 0  # above its columns
            assert 72 * height - 14 <= high <= max(72 * height, 20.5 * font_size) + names + 14, figure.id


@pytest.mark.long
@pytest.mark.parametrize("n_models", [1, *(pytest.param(n, marks=pytest.mark.long) for n in (2, 4))])
def test_no_text_is_cut_where_some_of_the_models_are_drawn(n_models):
    """By hand, as above: the models from the last one on, one of which has a single letter as name."""
    some = draw_family().select(FAMILY[-n_models:])
    figures = build_page(ReportData([some])).figures
    assert len(figures) > 5
    for width, height in ((3.3, None), (3.3, 2.5)):
        style = figure_files.FigureStyle(width=width, height=height, font_size=8, theme="dark")
        for figure in figures:
            svg = figure_files.render_spec(figure.spec, style=style).decode()
            assert find_faults(svg, smallest=8 - 1e-6, largest=9, width=72 * width + 14) == [], figure.id


@pytest.mark.long
@pytest.mark.parametrize("data", [pytest.param("models", marks=pytest.mark.long), "prompts"])
def test_every_text_on_a_dark_ground_is_light(papers, data):
    """Theory: contrast of 4.5 or more with the ground, by the formula of WCAG 2."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    style = figure_files.FigureStyle(width=3.3, font_size=8, theme="dark")
    for figure in papers[data]:
        svg = ET.fromstring(figure_files.render_spec(figure.spec, style=style))
        colours = {text.get("fill") for text in svg.iter("{http://www.w3.org/2000/svg}text")}
        for colour in colours:
            assert (luminance(colour) + 0.05) / (luminance("#14171c") + 0.05) >= 4.5, (figure.id, colour)


def test_names_of_one_family_stay_different_in_a_column(papers):
    style = figure_files.FigureStyle(width=3.3, font_size=8)
    for figure in papers["models"]:
        if figure.id.endswith(("score-intervals", "difficulty", "noise")):
            svg = ET.fromstring(figure_files.render_spec(figure.spec, style=style))
            texts = ["".join(one.itertext()) for one in svg.iter("{http://www.w3.org/2000/svg}text")]
            names = [text for text in texts if "…" in text]
            assert len(set(names)) == len(names) >= 8, figure.id


def test_the_measure_finds_what_is_wrong():
    """By hand: a text that leaves the drawing, one below another, one that is too small."""
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 50"><g transform="translate(10,20)">{}</g></svg>'
    ).format
    text = '<text font-size="8px" transform="translate({},{})">{}</text>'.format
    limits = {"smallest": 7, "largest": 9, "width": 100}
    assert find_faults(svg(text(0, 0, "abc") + text(0, 10, "abc")), **limits) == []
    assert find_faults(svg(text(80, 0, "abcdef")), **limits) == ["'abcdef' is cut"]
    assert find_faults(svg(text(0, 0, "abc") + text(5, 3, "xyz")), **limits) == ["'xyz' is on 'abc'"]
    assert find_faults(svg(text(0, 0, "abc").replace("8px", "6px")), **limits) == ["'abc' has 6.0 points"]


def test_a_figure_has_the_height_and_the_colours_that_are_given():
    (figure, *_) = build_page(ReportData([cells(["a", "b"])])).figures
    style = figure_files.FigureStyle(width=4, height=2, theme="dark")
    svg = ET.fromstring(figure_files.render_spec(figure.spec, file_format="svg", style=style))
    assert [float(svg.get(name)) for name in ("width", "height")] == pytest.approx([288, 144], abs=14)
    colours = {text.get("fill") for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert colours == {"#e6e9ee"}


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"width": 0.1}, "figure width: 0.1; give 2 to 40 inches"),
        ({"height": 99}, "figure height: 99; give 1 to 40 inches"),
        ({"font_size": 1}, "font size: 1; give 4 to 40 points"),
    ],
)
def test_a_size_that_no_paper_has_is_refused(size, message):
    with pytest.raises(InputError, match=message):
        figure_files.FigureStyle(**size)


def draw_scores_of(*names):
    """The figure of the scores of models with these names, as a page has it."""
    rng = np.random.default_rng(1)
    scores = [[[float(x) for x in rng.integers(0, 2, 2)] for _ in range(9)] for _ in names]
    cells = Cells.from_scores("b", list(names), [f"q{i}" for i in range(9)], scores)
    return build_page(ReportData([cells]), ReportOptions(static_figures=True))


def test_the_drawing_of_a_page_is_well_formed_and_has_nothing_that_its_policy_forbids():
    page = draw_scores_of("a", "</svg><script>x</script>", 'b"&<b>', "c'; d")
    drawn = [figure for figure in page.figures if figure.renderer == "svg"]
    ids = []
    for figure in drawn:
        svg = figure_files.draw_page_svg(figure)
        root = ET.fromstring(svg.replace("<svg ", '<svg xmlns:xlink="x" ', 1))
        assert svg in page.html
        assert len(svg) < 60_000
        ids += [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
        assert not [element for element in root.iter() if element.tag in {"script", "style", "foreignObject"}]
        assert not [
            name for element in root.iter() for name in element.attrib if name == "style" or name.startswith("on")
        ]
        x, _, width, height = map(int, root.attrib["viewBox"].split())
        assert (x < 0, int(root.attrib["width"]), int(root.attrib["height"])) == (True, width, height)
    assert len(ids) == len(set(ids))
    assert "<script>x</script>" not in page.html


@pytest.mark.long
def test_the_drawing_of_a_page_has_every_text_of_the_exported_figure():
    """Another program's output: the SVG as vl-convert writes it."""
    figures = draw_scores_of("first-model", "second-model").figures
    for figure in figures:
        whole = ET.fromstring(figure_files.render_spec(figure.spec).decode())
        part = ET.fromstring(figure_files.draw_page_svg(figure).replace("<svg ", '<svg xmlns:xlink="x" ', 1))
        texts = [[e.text for e in root.iter() if e.tag.endswith("text")] for root in (whole, part)]
        assert texts[0] == texts[1]
        assert any(texts[0])


@pytest.mark.long
def test_figures_with_thousands_of_marks_are_not_drawn_twice_and_the_page_says_so():
    models, questions = [f"m{i:02}" for i in range(40)], [f"q{i:03}" for i in range(120)]
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 2, (40, 120, 1)).astype(float).tolist()
    page = build_page(
        ReportData([Cells.from_scores("b", models, questions, scores)]), ReportOptions(static_figures=True)
    )
    many = [figure for figure in page.figures if figure.renderer != "svg"]
    assert many
    assert not any(map(figure_files.draw_page_svg, many))
    assert page.html.count("only a script draws") == len(many)


def test_without_drawings_the_page_says_that_figures_need_scripts():
    cells = Cells.from_scores("b", ["m"], ["p", "q"], [[[1.0], [0.0]]])
    assert "figures are not shown" in build_page(ReportData([cells])).html
    assert (
        "figures are drawn without tooltips" in build_page(ReportData([cells]), ReportOptions(static_figures=True)).html
    )
