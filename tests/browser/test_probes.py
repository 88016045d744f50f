"""The probes, and axe, see what is planted for them, and only that. Truth: a page whose faults are known."""

import pytest

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>
<style>body {{ margin: 0; background: #fff }} svg {{ display: block }}</style>
<main>{body}</main></html>"""
FIGURE = '<figure id="f"><div class="drawing"><svg width="200" height="60" font-size="12">{texts}</svg></div></figure>'
APART = '<text x="10" y="20">one</text><text x="10" y="38">two</text>'


@pytest.fixture
def probe(window, tmp_path):
    def show(name, body):
        path = tmp_path / "page.html"
        path.write_text(PAGE.format(body=body), encoding="utf-8")
        window.show(path.as_uri(), width=390)
        return window.probe(name)

    return show


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (APART, []),
        ('<text x="10" y="20">one</text><text x="20" y="24">two</text>', ['f: "one" lies on "two"']),
        ('<text x="10" y="20">one</text><text x="20" y="24" opacity="0">two</text>', []),
        ('<text x="180" y="20">a long one</text>', ['f: "a long one" is cut']),
        # turned: their upright boxes lie on each other, they do not
        (
            '<text transform="translate(20,50) rotate(-45)">turned</text><text transform="translate(40,50) rotate(-45)">too</text>',
            [],
        ),
        (
            '<text transform="translate(20,50) rotate(-45)">turned</text><text x="30" y="40">level</text>',
            ['f: "turned" lies on "level"'],
        ),
    ],
)
def test_collisions(probe, texts, found):
    assert probe("collisions", FIGURE.format(texts=texts)) == found


@pytest.mark.parametrize(
    ("fill", "opacity", "found"),
    [
        ("#767676", 1, []),  # 4.54 and 4.48 on white, by the tables of the WCAG
        ("#777777", 1, ['f: "pale" has 4.5 (opacity 1)']),
        ("#000", 0.5, ['f: "pale" has 21.0 (opacity 0.5)']),
    ],
)
def test_faint(probe, fill, opacity, found):
    texts = f'<text x="10" y="20" fill="{fill}" opacity="{opacity}">pale</text>'
    assert probe("faint", FIGURE.format(texts=texts)) == found


@pytest.mark.parametrize(
    ("body", "n_found"),
    [
        ("<p>fits</p>", 0),
        ('<p style="width: 500px">too wide</p>', 2),  # the page, and the paragraph
        ('<div style="overflow-x: auto"><p style="width: 500px">scrolls</p></div>', 0),
    ],
)
def test_wide(probe, body, n_found):
    assert len(probe("wide", body)) == n_found


def test_a_figure_that_is_not_drawn_is_told(probe):
    assert probe("readThrough", '<figure id="f"><div class="drawing">could not be drawn</div></figure>') == ["f"]


def test_what_pushes_text_in_sight_is_told(probe, window):
    probe("shift", '<div id="late"></div><p id="pushed" style="height: 300px">text</p>')
    window.value("document.getElementById('late').style.height = '200px'")
    window.wait_for("probes.shift().length")
    assert max(value for value, _ in window.probe("shift")) > 0.1


def test_axe_finds_what_is_planted(window, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><html lang=en><title>t</title><main><h1>t</h1><p style='color:#bbb'>pale</p><img src='data:,'><button></button></main></html>"
    )
    window.show(page.as_uri())
    assert {line.split(":")[0] for line in window.axe()} == {"color-contrast", "image-alt", "button-name"}
