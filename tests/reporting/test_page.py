"""The page as a parser sees it: numbers, names, safety, size. What a browser makes of it: tests/browser."""

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers.parsed_page import HOSTILE, Page

from howsure.errors import InputError, UnknownNameError
from howsure.reporting import assets, benchmark_report
from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData, ReportOptions
from howsure.reporting.sections import comparisons
from howsure.reporting.sections.heatmap import LEVELS, bin_questions, draw_heatmap, encode_digits
from howsure.safe_text import HASH
from howsure.stats.comparisons.pairs import pairs
from howsure.stats.core.cells import Cells
from howsure.stats.scores.score import score


def simulated(models, n_questions=20, generations=4, seed=1, benchmark="bench"):
    rng = np.random.default_rng(seed)
    scores = [
        [(rng.random(generations) < rng.beta(1, 1)).astype(float).tolist() for _ in range(n_questions)] for _ in models
    ]
    return Cells.from_scores(benchmark, models, [f"q{i}" for i in range(n_questions)], scores)


@pytest.fixture(scope="module")
def cells():
    return simulated(["m1", "m2", "m2:greedy", "m3"])


@pytest.fixture(scope="module")
def parsed(cells):
    return Page(
        build_page(
            ReportData([cells], manifests=[{"created": "2026-01-02T03:04:05", "seed": 7, "share": float("nan")}])
        ).html
    )


def test_tables_hold_the_numbers_of_stats(cells, parsed):
    sampled = cells.select(["m1", "m2", "m3"])  # a greedy run is no rival
    for name, result in (("b1-scores", score(cells)), ("b1-pairs", pairs(sampled))):
        found, expected = parsed.json(f"table-{name}"), result.columns()
        if name == "b1-pairs":
            note = expected.pop("note")
            needed = {"questions_for_power": result.questions_for_power, "note": note}
            expected |= {"wins_a": result.wins_a, "wins_b": result.wins_b, **needed}
        assert list(found) == list(expected)
        for column, values in expected.items():
            if values.dtype == object:
                assert found[column] == values.tolist()
            else:
                told = np.array([np.nan if v is None else v for v in found[column]], float)
                np.testing.assert_allclose(told, values.astype(float), rtol=1e-8)


def test_figures_hold_the_numbers_of_stats(cells, parsed):
    cells = cells.select(["m1", "m2", "m3"])
    result, rows = pairs(cells), parsed.json("table-b1-forest")
    best = cells.models[int(np.argmax(score(cells).score))]
    names, at = result.models, result.models.index(best)
    for a, b, difference in zip(result.a, result.b, result.difference, strict=True):
        if at in {a, b}:
            row = rows["model"].index(names[b if a == at else a])
            assert rows["difference"][row] == pytest.approx(-difference if a == at else difference, rel=1e-6)
            assert rows["low"][row] < rows["difference"][row] < rows["high"][row]
    spec = parsed.json("b1-difficulty-spec")
    (data,) = [rows[0] for rows in spec["datasets"].values()]
    by_hand = sorted(np.mean(cells.mean, axis=0))
    digits = np.array([[LEVELS.index(d) for d in row] for row in data["digits"]]) / 20
    assert np.abs(digits.mean(axis=0) - by_hand).max() <= 0.025 + 1e-9


def test_nothing_is_loaded_and_the_policy_allows_only_what_is_there(parsed):
    for tag, attrs in parsed.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert not attrs.get("src")
        assert attrs.get("href", "#").startswith("#")
        assert "style" not in attrs
        assert not [name for name in attrs if name.startswith("on")]
    (policy,) = [a["content"] for t, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy
    run = [(tag, text) for tag, attrs, text in parsed.scripts if "json" not in attrs.get("type", "")]
    assert len(run) == 3
    for tag, text in run:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in next(p for p in policy.split(";") if p.strip().startswith(tag))
    own = [text for _, attrs, text in parsed.scripts if len(text) < 500_000 and not attrs.get("type")]
    assert not [text for text in own if re.search(r"innerHTML|https?://|@import|url\(", text)]


def test_hostile_names_are_text():
    made = simulated(HOSTILE, benchmark="</title><script>alert(3)</script>")
    made = Cells(
        made.benchmark,
        made.models,
        tuple(f"</script><b>{q}" for q in made.questions),
        made.n,
        made.total,
        made.total_sq,
    )
    html = build_page(ReportData([made], manifests=[{"</pre><script>": "</script>"}]), ReportOptions(title="<i>&")).html
    read = Page(html)  # asserts that tags are balanced
    assert sum(tag == "script" for tag, _ in read.tags) == html.count("<script")
    assert len([1 for tag, a in read.tags if tag == "script" and "json" not in a.get("type", "")]) == 2
    assert not [tag for tag, _ in read.tags if tag in {"img", "i"}]
    assert sorted(read.json("table-b1-scores")["model"]) == sorted(HOSTILE)
    for name in [*HOSTILE, "<i>&", "</pre><script>"]:
        assert name in read.text
    assert "7 * 7" in read.text
    # names never reach an expression of a drawing
    for _, attrs, text in read.scripts:
        if attrs.get("id", "").endswith("-spec"):
            spec = json.loads(text)
            spec.pop("datasets")
            expressions = re.findall(
                r'"(?:calculate|filter|test|expr|signal)":"(.*?)"', json.dumps(spec, separators=(",", ":"))
            )
            assert not [e for e in expressions if "alert" in e or "7 * 7" in e]


def test_headings_are_in_order_and_ids_are_unique(cells, parsed):
    several = Page(build_page(ReportData([cells, simulated(["m1", "m9"], benchmark="other")])).html)
    for read in (parsed, several):
        levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch(r"h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b <= a + 1 for a, b in pairwise(levels))
        ids = [a["id"] for _, a in read.tags if "id" in a]
        assert len(set(ids)) == len(ids)
        links = [a["href"][1:] for t, a in read.tags if t == "a"]
        assert set(links) <= set(ids)
        labelled = [a["aria-labelledby"] for _, a in read.tags if "aria-labelledby" in a]
        assert set(labelled) <= set(ids)
        assert dict(read.tags[0][1]) or read.tags[0][0] == "html"
    assert several.text.count("2 benchmarks, 4 models") == 1


def test_each_figure_has_a_question_a_conclusion_a_description_and_a_table(parsed):
    figures = [a for t, a in parsed.tags if t == "figure"]
    assert [f["id"] for f in figures] == [
        f"b1-{n}"
        for n in (
            *(
                "score-intervals",
                "forest",
                "matrix",
                "errors",
                "disagreement",
                "noise",
                "growing",
                "errors-k",
                "frontier",
            ),
            *("difficulty", "densities", "cumulative"),
        )
    ]
    tables = {a["id"] for _, a, _ in parsed.scripts if a.get("id", "").startswith("table-")}
    asked = [f"table-{a['data-table']}" for _, a in parsed.tags if "data-table" in a]
    assert set(asked) == tables
    for figure in figures:
        assert parsed.json(f"{figure['id']}-spec")["description"]


def test_manifest_level_and_dates_are_shown(parsed):
    assert '"seed": 7' in parsed.text
    assert '"share": null' in parsed.text
    assert "2026-01-02" in parsed.text


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        (
            [{"created": "2026-11-20T10:00:00Z"}, {"created": "2026-11-22T10:00:00Z"}],
            {"Run": "2026-11-20 to 2026-11-22"},
        ),
        ([{"created": "2026-11-23T10:00:00Z", "sampled": None}], {"Run": "2026-11-23"}),
        (
            [{"created": "2026-11-23T10:00:00Z", "sampled": ["2025-03-01", "2025-04-02"]}],
            {"Run": "2025-03-01 to 2025-04-02", "Converted": "2026-11-23"},
        ),
        ([{"created": "2026-11-23T10:00:00Z", "sampled": []}], {"Converted": "2026-11-23"}),
        ([{"created": "yesterday"}, {"created": None}, {}], {}),
    ],
)
def test_the_date_of_the_run_is_that_of_the_generations(manifests, expected):
    """A folder that was made of logs later has the days of the logs, and its own day apart."""
    made = Cells.from_scores("b", ["m"], ["q1", "q2"], [[[1], [0]]])
    html = build_page(ReportData([made], manifests=manifests)).html
    facts = dict(re.findall(r"<dt>(Run|Converted)</dt><dd>(.*?)</dd>", html))
    assert facts == expected
    two = build_page(ReportData([made, replace(made, benchmark="c")], manifests=manifests)).html
    verdict = re.search(r"is judged on its own\.(.*?)</p>", two)[1]
    assert verdict == "".join(f" {name} {text}." for name, text in expected.items())


@pytest.mark.parametrize(
    "scores",
    [
        [[[1]]],  # one model, one question, one generation
        [[[1, 1]], [[0, 0]]],
        [[[1, 1], [1, 1]], [[1, 1], [1, 1]], [[1], [1]]],  # all right
        [[[0], [0]], [[0], [0]]],  # all wrong
        [[[5.5, -3], [100]], [[], [2.0]], [[], []]],  # real, ragged, a model without any
        [[[1], []], [[], [0]], [[0.5], [0.5]]],  # no question in common
        [[[], []]],  # nothing
        [[[7.0], [7.0]], [[7.0], [7.0]]],  # real and constant
    ],
)
def test_edge_cases_make_a_page(scores):
    models = [f"m{i}" for i in range(len(scores))]
    made = Cells.from_scores("edge", models, [f"q{i}" for i in range(len(scores[0]))], scores)
    read = Page(build_page(ReportData([made])).html)
    assert "nan" not in read.text.lower().split()
    assert "0 of 0" not in read.text
    assert ("only one model" in read.text) == (len(models) == 1)


def test_many_models_are_cut_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(benchmark_report, "MAX_PAIRS", 2000)
    monkeypatch.setattr(comparisons, "MAX_PAIRS", 2000)
    made = simulated([f"m{i:02d}" for i in range(70)], n_questions=6)
    read = Page(build_page(ReportData([made])).html)
    assert "2,415 pairs are too many for one page" in read.text
    assert "Drawn for 60 of 69 models" in read.text
    assert "Drawn for 60 of 70 models" in read.text
    assert "Drawn for one pair in 2" in read.text
    assert len(read.json("table-b1-pairs")["z"]) == 60 * 59 // 2 + 10
    assert len(read.json("table-b1-scores")["model"]) == 70
    assert "Show all 70 models" in read.text


def test_reference_is_chosen_or_given(cells):
    read = Page(
        build_page(ReportData([cells, simulated(["m9"], benchmark="other")]), ReportOptions(reference="m1")).html
    )
    assert "How far is each model from m1?" in read.text
    assert "m1 was not run on this benchmark" in read.text
    with pytest.raises(UnknownNameError, match="reference: unknown model 'm8'; known: m1, m2"):
        build_page(ReportData([cells]), ReportOptions(reference="m8"))


def test_nothing_to_report():
    with pytest.raises(InputError, match="nothing to report"):
        build_page(ReportData([]))


def test_missing_extra_is_told_with_the_remedy(cells, monkeypatch):
    assets.bundle_vega.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(InputError, match=r"the report needs vl_convert; pip install 'howsure\[report\]'"):
        build_page(ReportData([cells]))


def test_unwritable_path_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        build_page(ReportData([simulated(["m"], 1, 1)])).save(tmp_path / "no" / "report.html")


def test_too_many_cells_are_grouped():
    assert bin_questions(np.linspace(0, 1, 1000), 100).max() == 499
    made = simulated(["a", "b"], n_questions=30)
    means = np.array([[0.0, np.nan, 1.0]])
    assert encode_digits(means, 0, 1) == ["0-K"]
    assert encode_digits(np.array([[7.0]]), 7, 7) == ["0"]
    assert len(draw_heatmap(made, ["a", "b"])["datasets"]) == 1


def test_48_models_and_500_questions_stay_below_5_mb(tmp_path):
    rng = np.random.default_rng(5)
    n = np.full((48, 500), 100)
    total = rng.binomial(n, rng.beta(0.6, 0.4, (48, 500))).astype(float)
    made = Cells("big", tuple(f"model-{i}" for i in range(48)), tuple(map(str, range(500))), n, total, total.copy())
    build_page(ReportData([made])).save(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 5e6


@pytest.mark.parametrize("name", ["page.js", "pair.js", "question.js"])
def test_scripts_have_the_pattern_of_hashes(name):
    """One pattern for Python and for the scripts of pages."""
    script = assets.read_template(name)
    assert f"/^{HASH}$/" in script
    assert "%HASH%" not in script


def test_a_page_that_cannot_be_written_whole_leaves_the_one_before(tmp_path, monkeypatch):
    """The disk is full after the first half, as in `tests/store/test_atomic.py`."""
    page = build_page(ReportData([simulated(["a", "b"])]))
    path, link = tmp_path / "report.html", tmp_path / "link.html"
    path.write_text("the page before")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text = Path.write_text

    def fill_disk(self, text, **options):
        write_text(self, text[: len(text) // 2], **options)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", fill_disk)
        with pytest.raises(InputError, match=r"report\.html: cannot be written: No space left on device"):
            page.save(path)
    assert path.read_text() == "the page before"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.html", "report.html"]
    page.save(link)
    assert (link.is_symlink(), path.read_text(), path.stat().st_mode & 0o777) == (True, page.html, 0o640)


def test_a_page_is_written_to_a_device():
    page = build_page(ReportData([simulated(["a", "b"])]))
    page.save("/dev/null")
    assert Path("/dev/null").is_char_device()
