"""Several benchmarks as a folder: numbers of the index, names of files, links, and what is refused."""

import asyncio
import base64
import csv
import hashlib
import importlib.util
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from helpers.parsed_page import HOSTILE, Page

import howsure as hs
from howsure.errors import InputError, UnknownNameError
from howsure.notes import Note
from howsure.reporting import page, site
from howsure.reporting.report_data import JudgeSummary, ReportData, ReportOptions
from howsure.reporting.site import choose_file_names, render_index, summarize_benchmark, write_report
from howsure.results.evaluations import read
from howsure.stats.core import multiplicity
from howsure.stats.core.cells import Cells
from howsure.stats.judges import JudgedCompletions

ROOT = Path(__file__).resolve().parents[2]
NOISES = ROOT / "../shared/data/all_the_noises"


def cells(benchmark, models=("a", "b", "c"), n_questions=40, generations=5, seed=1):
    rng = np.random.default_rng(seed)
    p = np.clip(rng.beta(1, 1, n_questions) + np.arange(len(models))[:, None] * 0.05, 0, 1)
    n = np.full(p.shape, generations)
    total = rng.binomial(n, p).astype(float)
    questions = tuple(f"{benchmark} {i}" for i in range(n_questions))
    return Cells(benchmark, tuple(models), questions, n, total, total.copy())


@pytest.fixture
def bare(monkeypatch):
    """Pages without figures, where a test is about the folder around them; and what they were asked for."""
    asked = []

    def built(data, options, **how):
        asked.append((data, options, how))
        return page.Page("<!doctype html><body><header></header>", verdicts=["one verdict"], pair_counts=[(0, 0)])

    monkeypatch.setattr(site, "build_page", built)
    return asked


@pytest.mark.parametrize(
    ("labelled", "models", "said"),
    [
        ([], "ab", None),
        (["one"], "ab", "on the page of one; here and in the combined test they are the judge's own"),
        (["one", "two"], "ab", "on the pages of one and two; here and in the combined test they are the judge's own"),
        (["one"], "a", "on the page of one; here they are the judge's own"),
    ],
)
@pytest.mark.usefixtures("bare")
def test_the_matrix_of_scores_says_that_labels_correct_other_scores_than_these(tmp_path, labelled, models, said):
    """All judged completions have a label, or none."""
    parts = {name: cells(name, tuple(models), generations=1, seed=i) for i, name in enumerate(("one", "two"))}
    judges = {}
    for name, one in parts.items():
        model, question = np.indices(one.n.shape)
        scores = one.total.ravel()
        labels = scores if name in labelled else np.full(scores.shape, np.nan)
        completions = JudgedCompletions(
            name, one.models, one.questions, model.ravel(), question.ravel(), scores, labels
        )
        judges[name] = JudgeSummary(completions=completions)
    path = write_report(tmp_path / "site", ReportData(list(parts.values()), judges=judges))
    text = path.read_text(encoding="utf-8").replace("&#39;", "'")
    matrix = text[text.index("How good is each model") : text.index("Who is ahead?")]
    assert said in matrix if said else "People's labels" not in text


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    runs = [cells("one"), cells("two/three", ("a", "d"), 10, 1, seed=2), cells("lone", ("a",), 10, 1)]
    manifests = [{"benchmarks": {"one": {}}, "seed": 111}, {"benchmarks": {"lone": {}}, "seed": 222}, {"seed": 333}]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            site,
            "write_figures",
            lambda place, some, file_format, **_: drawn.append((place, len(some) > 1, file_format)),
        )
        drawn = []
        path = write_report(
            folder / "report.html",
            ReportData(runs, manifests=manifests, source_notes=[Note("run-warning", facts={"text": "<b>told</b>"})]),
            figures="figures",
            figure_format="pdf",
        )
    assert drawn == [(Path("figures", name), True, "pdf") for name in ("one", "two-three", "lone")]
    return path, runs


# Another program's output, as printed: unsolved questions and those with negative tau, NOISE's summary tables.
@pytest.mark.shared
@pytest.mark.parametrize("part", ["main/gsm8k", "main/humaneval+", "main/swebench-lite", "highk_temp0.7/math500_cot"])
def test_unsolved_and_negative_tau_are_those_published(part):
    folder, name = part.split("/")
    table = NOISES / folder / f"input_table_{name}.csv"
    if not table.exists():
        pytest.skip("the tables of ../shared/data/all_the_noises are not here")
    with (NOISES / folder / "summary.csv").open(newline="") as file:
        (printed,) = [row for row in csv.DictReader(file) if row["benchmark_id"] == name]
    (runs,) = read(str(table))
    found = summarize_benchmark(runs, "x.html")
    assert found.questions == int(printed["size"])
    assert found.models == int(printed["models"])
    assert found.unsolved == int(printed["no_solve"])
    # ours leaves the question itself out of the ability: a borderline question or two may change sign
    known = found.questions - found.unsolved
    assert found.negative * known == pytest.approx(int(printed["tau-"]), abs=3)


# An independent slow version: loops over pairs and questions.
def test_errors_of_the_index_are_those_of_loops():
    made = cells("slow", n_questions=25, generations=4)
    found = summarize_benchmark(made, "x.html")
    total, data, prediction, correlation = [], [], [], []
    for a, b in combinations(range(3), 2):
        d, within, kept = [], [], []
        for q in range(25):
            pa, pb = made.total[a, q] / 4, made.total[b, q] / 4
            s2 = (4 / 3) * (pa * (1 - pa) + pb * (1 - pb))  # of generations scored 0 or 1
            d.append(pa - pb)
            within.append(s2)
            kept.append(s2 / 4)
        spread = sum((x - sum(d) / 25) ** 2 for x in d) / 25
        total.append((spread + sum(within) / 25 - sum(kept) / 25) / 25)
        data.append((spread - sum(kept) / 25) / 25)
        prediction.append(sum(within) / 25 / 25)
        correlation.append(np.corrcoef(made.total[a], made.total[b])[0, 1])
    # var over questions may be with N or N - 1: within 1/N
    assert found.se_prediction == pytest.approx(math.sqrt(sum(prediction) / 3), rel=1e-9)
    assert found.se_difference == pytest.approx(math.sqrt(sum(total) / 3), rel=0.03)
    assert found.se_data == pytest.approx(math.sqrt(max(sum(data) / 3, 0)), rel=0.2)
    assert found.correlation == pytest.approx(sum(correlation) / 3, rel=1e-9)
    # theory: variances add up
    assert found.se_difference**2 == pytest.approx(found.se_data**2 + found.se_prediction**2, rel=1e-9)
    assert found.unsolved == sum(all(made.total[m, q] == 0 for m in range(3)) for q in range(25))


def test_one_benchmark_is_a_file_and_several_are_a_folder(written, tmp_path):
    path, _ = written
    assert path.name == "index.html"
    assert path.parent.name == "report"
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "benchmarks.csv", "index.html", "lone.html", "one.html", "two-three.html",
    ]  # fmt: skip
    one = write_report(
        tmp_path / "one.html",
        ReportData([cells("one", ("a",), 5)]),
        ReportOptions(title="<T>"),
        figures=tmp_path / "f",
        figure_format="png",
    )
    assert one == tmp_path / "one.html"
    assert "<T>" in Page(one.read_text(encoding="utf-8")).text
    assert (tmp_path / "f" / "noise.png").exists()


@pytest.mark.usefixtures("bare")
def test_a_name_without_an_ending_is_a_folder(tmp_path):
    asked = write_report(tmp_path / "folder", ReportData([cells("one")]))
    assert sorted(file.name for file in asked.parent.iterdir()) == ["benchmarks.csv", "index.html", "one.html"]


def test_links_are_relative_and_lead_somewhere_and_back(written):
    path, _ = written
    index = Page(path.read_text(encoding="utf-8"))
    links = {a["href"] for t, a in index.tags if t == "a"}
    assert links == {"#content", "benchmarks.csv", "one.html", "two-three.html", "lone.html"}
    for link in links - {"#content"}:
        assert (path.parent / link).exists()
    for name in ("one.html", "two-three.html", "lone.html"):
        other = Page((path.parent / name).read_text(encoding="utf-8"))
        assert [a["href"] for t, a in other.tags if t == "a" and not a["href"].startswith("#")] == ["index.html"]


def test_each_page_has_the_manifests_that_speak_of_it(written):
    path, _ = written
    one = (path.parent / "one.html").read_text(encoding="utf-8")
    assert ("111" in Page(one).text, "222" in Page(one).text, "333" in Page(one).text) == (True, False, True)


def test_index_loads_nothing_and_its_policy_allows_only_what_is_there(written):
    index = Page(written[0].read_text(encoding="utf-8"))
    (policy,) = [a["content"] for t, a in index.tags if a.get("http-equiv")]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert len(index.scripts) == 2
    for tag, _, text in index.scripts:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not [a for t, a in index.tags if "src" in a or "style" in a]
    ids = [a["id"] for _, a in index.tags if "id" in a]
    assert {a["aria-labelledby"] for _, a in index.tags if "aria-labelledby" in a} <= set(ids)


def test_what_is_unknown_is_a_dash_and_sorts_last(written):
    path, _ = written
    with (path.parent / "benchmarks.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["benchmark"]: row for row in csv.DictReader(file)}
    assert rows["lone"]["se_difference"] == rows["lone"]["negative"] == ""
    assert float(rows["one"]["se_difference"]) > 0
    index = Page(path.read_text(encoding="utf-8"))
    assert "–" in index.text
    assert "nan" not in index.text.lower().split()
    assert "<b>told</b>" in index.text


@pytest.mark.usefixtures("bare")
def test_hostile_names_make_safe_files(tmp_path):
    names = [*HOSTILE, "../../up", "/etc/x", "CON", "index", ".hidden", "ÜBER", "", "a" * 300, "A.b", "a.B"]
    files = choose_file_names(names)
    assert len({file.casefold() for file in files.values()}) == len(names)
    for file in files.values():
        assert len(file) <= 90
        assert set(file) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
        assert file[0] not in ".-_"
        assert file.casefold().split(".")[0] not in {"con", "index"}
    path = write_report(
        tmp_path / "s",
        ReportData([cells(name, HOSTILE[:2], n_questions=3) for name in HOSTILE[:3]]),
        ReportOptions(title="<i>"),
    )
    index = Page(path.read_text(encoding="utf-8"))
    assert all(name in index.text for name in HOSTILE[:3])
    assert not [t for t, _ in index.tags if t in {"img", "i"}]


@pytest.mark.parametrize(
    "scores", [[[[1]]], [[[1, 1]], [[0, 0]]], [[[], []]], [[[5.5, -3], [100]], [[], [2.0]]], [[[1], []], [[], [0]]]]
)
def test_edge_cases_have_a_row(scores):
    made = Cells.from_scores(
        "e", [f"m{i}" for i in range(len(scores))], [f"q{i}" for i in range(len(scores[0]))], scores
    )
    html = render_index([summarize_benchmark(made, "e.html")], models=1)
    assert "nan" not in Page(html).text.lower().split()


def test_nothing_to_report_is_told(tmp_path):
    with pytest.raises(InputError, match="nothing to report"):
        write_report(tmp_path / "s.html", ReportData([]))


@pytest.mark.usefixtures("bare")
def test_wrong_use_is_told(tmp_path):
    with pytest.raises(InputError, match="nothing to report"):
        write_report(tmp_path / "s", ReportData([]))
    two = [cells("x"), cells("y")]
    with pytest.raises(UnknownNameError, match="reference: unknown model 'z'"):
        write_report(tmp_path / "s", ReportData(two), ReportOptions(reference="z"))
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "index.html").write_text("<h1>mine</h1>")
    with pytest.raises(InputError, match=r"has an index.html that howsure did not make; name another folder"):
        write_report(tmp_path / "taken", ReportData(two))
    assert (tmp_path / "taken" / "index.html").read_text() == "<h1>mine</h1>"
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be a folder"):
        write_report(tmp_path / "file", ReportData(two))
    with pytest.raises(InputError, match="cannot be a folder"):
        write_report(tmp_path / "file" / "one.html", ReportData(two[:1]))
    assert write_report(tmp_path / "new" / "folder" / "one.html", ReportData(two[:1])).is_file()
    assert write_report(tmp_path / "again", ReportData(two[:1]), ReportOptions(reference="a")) == write_report(
        tmp_path / "again", ReportData(two[:1])
    )


def test_a_reference_of_one_benchmark_is_no_error_for_another(tmp_path, bare):
    write_report(
        tmp_path / "s",
        ReportData([cells("x"), cells("y", ("d", "e"))], source_notes=[Note("no-samples")]),
        ReportOptions(reference="d", delta=0.2),
    )
    assert [options.reference for _, options, _ in bare] == [None, "d"]
    first, second = (data for data, _, _ in bare)
    assert first.source_notes == [Note("no-samples"), Note("no-reference", facts={"model": "d"})]
    assert second.source_notes == [Note("no-samples")]
    assert [options.delta for _, options, _ in bare] == [0.2, 0.2]
    assert [how["file_name"] for _, _, how in bare] == ["x.html", "y.html"]
    assert [[cells.benchmark for cells in data.cells] for data in (first, second)] == [["x"], ["y"]]


def test_a_browser_sorts_the_index(written):
    location = importlib.util.spec_from_file_location("picture", ROOT / "docs" / "picture.py")
    picture = importlib.util.module_from_spec(location)
    location.loader.exec_module(picture)
    if picture.chromium() is None:
        pytest.skip("chromium is not installed")
    names = "[...document.querySelector('table.index').querySelectorAll('tbody th')].map(c => c.textContent)"

    async def look():
        async with picture.browser() as tab:
            await tab.open(written[0].as_uri(), width=390)
            orders = [await tab.value(names)]
            for at in (0, 0, 4, 4):
                await tab.value(f"document.querySelectorAll('thead button')[{at}].click()")
                orders.append(await tab.value(names))
            sorts = await tab.value("[...document.querySelectorAll('[aria-sort]')].map(c => c.ariaSort)")
            return orders, sorts, await tab.value("document.documentElement.scrollWidth"), tab.complaints()

    orders, sorts, wide, complaints = asyncio.run(look())
    assert complaints == []
    assert wide <= 390
    assert sorts == ["ascending"]
    assert orders[0] == ["one", "two/three", "lone"]
    assert orders[1] == ["lone", "one", "two/three"]
    assert orders[2] == ["two/three", "one", "lone"]
    assert orders[3] == [*orders[4][1::-1], "lone"]  # SE(A - B), unknown of a lone model, which stays last


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_a_warning_stays_with_its_benchmark_and_names_no_folder(tmp_path):
    """By hand: a line of the reader of x.csv is on the page of x and on the index, not on the page of y."""
    folder_of_the_maker = tmp_path / "secret place"
    folder_of_the_maker.mkdir()
    rows = "".join(f"m,q{i},{i % 2}\n" for i in range(6))
    (folder_of_the_maker / "x.csv").write_text("model,question,score\n" + rows)
    (folder_of_the_maker / "y.csv").write_text("model,question,score\n" + rows.replace("q", "p"))
    data = hs.read([folder_of_the_maker / "x.csv", folder_of_the_maker / "y.csv"])
    cells = data.cells()
    assert sorted(one.benchmark for one in cells) == ["x", "y"]
    data.sources[0].notes.append(Note("unscored-not-exported", n=3))
    assert data.notes("x")[-1] == Note("unscored-not-exported", str(folder_of_the_maker / "x.csv"), n=3)
    written = hs.report(data, tmp_path / "site")
    pages = {page.stem: page.read_text() for page in written.parent.glob("*.html")}
    assert "x.csv: 3 completions without a score" in pages["x"]
    assert "x.csv: 3 completions without a score" in pages["index"]
    assert "completions without a score" not in pages["y"]
    assert '"code":"unscored-not-exported"' in pages["x"]
    assert not [name for name, page in pages.items() if "secret place" in page]


def build_matrix(*benchmarks, **options):
    return site.build_score_matrix(
        benchmarks, {one.benchmark: f"{one.benchmark}.html" for one in benchmarks}, **options
    )


def test_the_matrix_has_the_scores_and_the_combined_test_of_each_model():
    """Kind of truth: `hs.score` and `hs.compare`, one model at a time."""
    one, two = cells("one", n_questions=300), cells("two", ("c", "a", "d"), 200, seed=3)
    matrix = build_matrix(one, two, reference="a")
    rows = {model: [number for _, number in each] for model, each in matrix.rows}
    for column, part in enumerate((one, two)):
        table = hs.score(part)
        scores = dict(zip(table["model"].tolist(), table["score"].tolist(), strict=True))
        assert all(
            rows[model][column] == pytest.approx(scores[model]) if model in scores else rows[model][column] is None
            for model in rows
        )
    p_c = hs.compare([one, two], "a", "c", average="macro")["p_value"][0]
    p = [hs.compare(one, "a", "b").p_value, p_c, hs.compare(two, "a", "d").p_value]  # the reference was named
    assert [rows[model][3] for model in "bcd"] == pytest.approx(multiplicity.holm(np.array(p)).tolist())
    assert (rows["b"][2], rows["d"][2]) == (None, None)
    assert rows["a"][2] == pytest.approx((rows["a"][0] + rows["a"][1]) / 2)
    assert [model for model, _ in matrix.rows][2:] == ["b", "d"]  # without a mean, last


def test_a_reference_that_the_scores_chose_is_tested_against_all_pairs():
    parts = [cells(name, ("a", "b", "c"), 200, seed=seed) for seed, name in enumerate(("one", "two", "three"))]
    matrix = build_matrix(*parts)
    numbers = {model: [number for _, number in each] for model, each in matrix.rows}
    best = matrix.rows[0][0]
    assert numbers[best][3] == max(each[3] for each in numbers.values())
    others = [other for other in numbers if other != best]
    single = sorted(hs.compare(parts, best, other, average="macro")["p_value"][0] for other in others)
    adjusted = sorted(each[4] for model, each in numbers.items() if model != best)
    every = [*single, hs.compare(parts, *others, average="macro")["p_value"][0]]
    assert adjusted == pytest.approx(sorted(multiplicity.holm(np.array(every))[:2]))
    decided = sum(p < 0.05 for p in adjusted)
    assert f"is ahead of {decided} of 2 models tested" in matrix.statement


def test_the_model_with_the_highest_mean_is_not_behind_another_one():
    """y loses a little for sure on 2,000 questions and gains much on 24: equal weights of z put it behind x."""
    sure, unsure = np.zeros((2, 2000)), np.zeros((2, 24))
    sure[0, :1160], sure[1, :1000] = 1, 1
    unsure[0, ::3], unsure[1, 1::2] = 1, 1
    unsure[1, ::4] = 1
    parts = [
        Cells(
            name,
            ("x", "y"),
            tuple(f"{name} {i}" for i in range(right.shape[1])),
            np.ones(right.shape, int),
            right,
            right,
        )
        for name, right in (("sure", sure), ("unsure", unsure))
    ]
    assert hs.combine(parts, "y", "x", weights="equal")["p_value"][-1] < 0.05
    statement = build_matrix(*parts).statement
    assert statement.startswith(
        "All benchmarks together, by the mean of their differences: y, which has the highest mean"
    )
    assert "behind" not in statement


@pytest.mark.long
def test_equal_models_are_seldom_called_different_on_all_benchmarks_together():
    """Guarantee by seeded simulation: four equal models, the reference chosen by its scores."""
    wrong = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        parts = []
        for name in ("one", "two", "three"):
            p = np.tile(rng.beta(1, 1, 60), (4, 1))
            total = rng.binomial(2, p).astype(float)
            names = tuple("abcd"), tuple(f"q{i}" for i in range(60))
            parts.append(Cells(name, *names, np.full(p.shape, 2), total, np.array(total)))
        wrong += "is ahead of 0 of" not in build_matrix(*parts).statement
    assert wrong <= 18  # .05 of 200 with three standard errors


def test_no_statement_where_no_model_has_all_benchmarks():
    matrix = build_matrix(cells("one", ("a", "b")), cells("two", ("b", "c")), cells("three", ("c", "a")))
    assert "no combined test" in matrix.statement
    assert "No model has a score on all benchmarks" in render_index([], models=3, matrix=matrix)


def test_the_index_of_one_benchmark_has_no_matrix():
    assert "matrix" not in render_index([], models=3, matrix=build_matrix(cells("one"))).partition("<body>")[2]


def test_equal_means_and_tiny_p_values_are_said_as_they_are():
    same = [Cells.from_scores(name, ["a", "b"], ["p", "q"], [[[1], [0]], [[0], [1]]]) for name in ("one", "two")]
    assert "one of 2 with the highest mean score (0.500)" in build_matrix(*same).statement
    wide = [cells(name, ("a", "b"), 400, 20, seed) for seed, name in enumerate(("one", "two"))]
    far = [
        Cells(
            c.benchmark,
            c.models,
            c.questions,
            c.n,
            np.array([c.total[0] * 0, c.n[1] * 1.0]),
            np.array([c.total[0] * 0, c.n[1] * 1.0]),
        )
        for c in wide
    ]
    assert dict(build_matrix(*far).rows)["a"][-1][0] == "<0.0001"
    # One question of each says nothing of others: that is said, and not that b is ahead of none.
    matrix = build_matrix(*(c.select(questions=c.questions[:1]) for c in far))
    assert dict(matrix.rows)["a"][-1][0] == "–"
    assert matrix.statement.startswith(
        "All benchmarks together say nothing of b, which has the highest mean score (1.000)"
    )
    assert "1 model cannot be tested against it" in matrix.statement
    texts = [each[-1][0] for _, each in build_matrix(*wide).rows]
    assert "0.0000" not in texts


def test_models_without_a_test_are_counted_apart():
    one, two = cells("one", ("a", "b", "c"), 200, seed=1), cells("two", ("a", "b", "c"), 200, seed=2)
    only = Cells(
        "one", (*one.models, "d"), one.questions, *(np.vstack([x, x[:1]]) for x in (one.n, one.total, one.total_sq))
    )
    statement = build_matrix(only, two, reference="a").statement
    assert "of 3 models tested" in statement
    assert "cannot be tested" not in statement
    apart = Cells(
        "two", (*two.models, "e"), two.questions, *(np.vstack([x, 0 * x[:1]]) for x in (two.n, two.total, two.total_sq))
    )
    statement = build_matrix(one, apart, reference="a").statement
    assert "of 2 models tested" in statement
    assert "1 model cannot be tested against it" in statement


def test_scores_of_several_scales_have_no_mean_and_choose_no_reference():
    one, two = cells("one"), cells("two", seed=3)
    percent = Cells("two", two.models, two.questions, two.n, two.total * 100, two.total_sq * 10_000)
    matrix = build_matrix(one, percent)
    assert "not between 0 and 1" in matrix.statement
    column = len(matrix.benchmarks)
    assert {each[column][1] for _, each in matrix.rows} == {None}
    assert build_matrix(one, percent, reference="a").statement == matrix.statement
