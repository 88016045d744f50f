"""Every sentence and number of the index of a site, computed again with numpy and scipy alone from the scores as planted."""

import csv
import html
import re
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from helpers.long_cases import mark_long
from helpers.planted_scores import NUMBER, Planted, PlantedWithGreedy, check_sentences, draw, near
from helpers.sentence_checks import COMPUTED, STATIC
from scipy import special, stats

import howsure as hs
from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData, ReportOptions
from howsure.reporting.site import write_report

RNG = np.random.default_rng(50)
HARD = {name: RNG.beta(0.8, 0.8, size) for name, size in (("algebra", 90), ("law", 70), ("maps", 50))}
SKILLS = np.array([1.0, 0.9, 0.75, 0.7, 0.6, 0.5])[:, None]
NAMES = ["Ada", "Bob", "Cleo", "Dan", "Eve", "Finn"]


def plant(benchmark, models, k, seed, scale=1.0):
    rows = [NAMES.index(name) for name in models]
    scores = draw(SKILLS[rows] * HARD[benchmark], k, seed)
    return Planted([[scale * q for q in row] for row in scores], models)


def plant_greedy():
    """Scores on law of two models, of which one has a greedy run that is right on all."""
    return PlantedWithGreedy(draw(SKILLS[:2] * HARD["law"], 3, seed=75), {"Bob": np.ones(70)})


TIED = [[1], [0], [1], [1], [0]] * 10, [[0], [1], [1], [1], [0]] * 10
SITES = {
    "six models on three benchmarks": {b: plant(b, NAMES, 4, seed) for seed, b in enumerate(HARD, 60)},
    "one generation": {b: plant(b, NAMES[:3], 1, seed) for seed, b in enumerate(HARD, 63)},
    "models that lack benchmarks": {
        "algebra": plant("algebra", ["Ada", "Bob", "Cleo", "Dan"], 3, 66),
        "law": plant("law", ["Cleo", "Ada", "Eve", "Dan"], 2, 67),
        "maps": plant("maps", ["Ada", "Bob", "Dan"], 2, 68),
    },
    "no model on all": {
        "algebra": plant("algebra", ["Ada", "Bob"], 2, 69),
        "law": plant("law", ["Bob", "Cleo"], 2, 70),
        "maps": plant("maps", ["Cleo", "Ada"], 2, 71),
    },
    "one model": {b: plant(b, ["Ada"], 3, seed) for seed, b in enumerate(HARD, 72)},
    "two models that tie on both": {"algebra": Planted(TIED), "law": Planted(TIED[::-1])},
    "all right and all wrong": {
        "algebra": Planted([[[1, 1]] * 40, [[0, 0]] * 40]),
        "law": Planted([[[1, 1]] * 30, [[0, 0]] * 30]),
    },
    "scales that differ": {"algebra": plant("algebra", NAMES[:3], 2, 76), "law": plant("law", NAMES[:3], 2, 77, 100.0)},
    "more noise of sampling than of questions": {
        "algebra": Planted([[[1, 0, 0], [1, 1, 0]] * 40, [[1, 1, 0], [1, 0, 0]] * 40]),
        "law": plant("law", ["Ada", "Bob"], 3, 78),
    },
    "one benchmark with clear and one without difference": {
        "algebra": plant("algebra", ["Ada", "Finn"], 5, 79),
        "law": Planted([[[1, 1]] * 30, [[1, 1]] * 30], ["Ada", "Finn"]),
        "maps": plant("maps", ["Ada", "Finn"], 5, 80),
    },
    "a greedy run above all": {"algebra": plant("algebra", ["Ada", "Bob"], 3, 74), "law": plant_greedy()},
}
SITE_NAMES = mark_long(SITES, after=4)


class PlantedSite:
    """What follows from the scores of several benchmarks."""

    def __init__(self, benchmarks):
        self.benchmarks = benchmarks
        self.models = list(dict.fromkeys(name for x in benchmarks.values() for name in x.names))
        self.table = {
            model: [x.score[x.names.index(model)] if model in x.names else np.nan for x in benchmarks.values()]
            for model in self.models
        }
        comparable = all(q.min() >= 0 and q.max() <= 1 for x in benchmarks.values() for row in x.scores for q in row)
        self.mean = {model: np.mean(row) if comparable else np.nan for model, row in self.table.items()}
        self.comparable = comparable

    @property
    def cells(self):
        return [replace(x.cells, benchmark=name) for name, x in self.benchmarks.items()]

    @property
    def best(self):
        top = np.nanmax([*self.mean.values(), -np.inf])
        return [model for model in self.models if abs(self.mean[model] - top) < 1e-12]

    def combined(self, reference):
        """The p-value of the mean difference over the benchmarks that two models share, its sign, and their number."""
        out = {}
        for other in self.models:
            shared = [x for x in self.benchmarks.values() if {reference, other} <= set(x.names)] * self.comparable
            if other == reference:
                continue
            d = [x.mean[x.names.index(reference)] - x.mean[x.names.index(other)] for x in shared]
            out[other] = np.nan, np.nan, len(shared)
            if not d:
                continue
            rows = [
                [
                    q
                    for x in self.benchmarks.values()
                    for q in (x.scores[x.names.index(name)] if name in x.names else [[]] * x.k.shape[1])
                ]
                for name in (reference, other)
            ]
            N = len(d) ** 2 / sum(1 / len(each) for each in d)  # of equal questions, worth as much
            parts = np.array([each.var(ddof=1) / len(each) / len(d) ** 2 for each in d])
            mean = np.mean([each.mean() for each in d])
            square = np.sum(parts) * N * (N - 1)
            whole = square + 2 * Planted(rows).pseudo_size(0, 1) + 2 * N * mean**2 / (N + 2)
            df = np.sum(parts) ** 2 / np.sum(parts**2 / [len(each) - 1 for each in d]) if square else np.inf
            df *= (whole / square) ** 2 if square else 1
            t = N * mean / (N + 2) / np.sqrt(whole / ((N + 2) * (N + 1)))
            out[other] = 2 * special.stdtr(df, -abs(t)), np.sign(mean), len(shared)
        return out

    def adjusted(self, reference, *, chosen):
        """p-values adjusted by Holm for the tests with the reference, or for those of all pairs that can be tested."""
        tests = [
            (first, second) for first, second in combinations(self.models, 2) if chosen or reference in {first, second}
        ]
        p = {pair: self.combined(pair[0])[pair[1]][0] for pair in tests}
        p = {pair: value for pair, value in p.items() if not np.isnan(value)}
        out, largest = {}, 0.0
        for place, pair in enumerate(sorted(p, key=p.get)):
            largest = max(largest, min(1.0, (len(p) - place) * p[pair]))
            out |= {model: largest for model in pair if reference in pair and model != reference}
        return out

    def row(self, name):
        """The numbers of a row of the index."""
        x, out = self.benchmarks[name], {}
        split = [pair for pair in x.pairs if all(x.k[m].max() > 1 for m in pair)] or x.pairs
        within = np.array([x.components(m)[0] for m in range(len(x.names))])

        def root(squares):
            known = [each for each in squares if not np.isnan(each)]
            return np.sqrt(max(np.mean(known), 0)) if known else np.nan

        N = x.k.shape[1]
        rest = (x.within * (1 - 1 / x.k)).mean(axis=1)
        out["SE(A)"] = root((x.mean.var(axis=1) + rest) / N)
        d = {(i, j): x.mean[i] - x.mean[j] for i, j in split}
        total = {pair: d[pair].var() + rest[list(pair)].sum() for pair in split}
        out["SE(A − B)"] = root([total[pair] / N for pair in split])
        out["Prediction"] = root([within[list(pair)].sum() / N for pair in split])
        out["Data"] = root([(total[pair] - within[list(pair)].sum()) / N for pair in split])
        r = [np.corrcoef(x.mean[[i, j]])[0, 1] for i, j in x.pairs if min(x.mean[i].std(), x.mean[j].std()) > 1e-12]
        out["Correlation"] = np.mean(r) if r else np.nan
        out["Unsolved"] = np.sum(~np.any(x.mean > 0, axis=0)) if self.comparable or x.binary else np.nan
        out["Negative tau"] = share_of_negative_tau(x)
        return out


def share_of_negative_tau(x):
    """The share of negative Kendall's tau with the mean over the other questions, of five models or more."""
    if len(x.names) < 5:
        return np.nan
    N, tau = x.k.shape[1], []
    for q in range(N):
        others = np.round(np.delete(x.mean, q, axis=1).mean(axis=1), 12)
        tau.append(stats.kendalltau(np.round(x.mean[:, q], 12), others).statistic)
    tau = np.array(tau)
    return np.mean(tau[~np.isnan(tau)] < 0)


@pytest.fixture(scope="module")
def write_site(tmp_path_factory):
    """A function that writes a site once, and returns what is planted in it and its index."""

    @cache
    def write(name, reference=None):
        site = PlantedSite(SITES[name])
        folder = tmp_path_factory.mktemp("site")
        return site, write_report(folder, ReportData(site.cells), ReportOptions(reference=reference))

    return write


def tables_of(page):
    """The two tables of an index as rows of texts, their first cell as key."""
    tables = []
    for table in re.findall(r'<table class="index">.*?</table>', page, flags=re.DOTALL):
        cells = [
            [" ".join(html.unescape(re.sub("<[^>]+>", " ", cell)).split()) for cell in row]
            for row in (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("</tr>"))
            if row
        ]
        tables.append({row[0]: dict(zip(cells[0][1:], row[1:], strict=True)) for row in cells[1:]})
    return tables


@pytest.mark.parametrize("name", SITE_NAMES)
def test_every_number_of_the_index_is_that_of_the_scores(name, write_site):
    """Theory: the formulas of the head of each column, by numpy."""
    site, path = write_site(name)
    rows = tables_of(path.read_text())[0]
    with (path.parent / "benchmarks.csv").open(newline="") as file:
        exact = {row["benchmark"]: row for row in csv.DictReader(file)}
    in_file = {
        "SE(A)": "se_score",
        "SE(A − B)": "se_difference",
        "Data": "se_data",
        "Prediction": "se_prediction",
        "Correlation": "correlation",
        "Unsolved": "unsolved",
        "Negative tau": "negative",
    }
    assert list(rows) == list(site.benchmarks)
    for benchmark, x in site.benchmarks.items():
        texts, row = rows[benchmark], exact[benchmark]
        assert (texts["Questions"], texts["Models"]) == (str(x.k.shape[1]), str(len(x.names)))
        for heading, value in site.row(benchmark).items():
            got = float(row[in_file[heading]] or "nan")
            assert got == pytest.approx(value, rel=1e-8, abs=1e-9, nan_ok=True), heading
            if np.isnan(value):
                assert texts[heading] == "–"
            elif heading == "Negative tau":
                assert near(texts[heading].strip("%<>"), 100 * value)
            else:
                assert near(texts[heading], value)
        pairs = f"{len(x.rejected()[0])} of {len(x.pairs)}" if x.pairs else "–"
        assert texts["Told apart"] == pairs
        share = re.match(r"(\d+)%", texts["Split"])
        parts = np.square([site.row(benchmark)[part] for part in ("Data", "Prediction")])
        assert (share is None) == (not parts.sum() > 0)
        if share:
            assert near(share[1], 100 * parts[0] / parts.sum())


@pytest.mark.parametrize("name", SITE_NAMES)
def test_every_verdict_of_the_index_is_true(name, write_site):
    site, path = write_site(name)
    page = path.read_text()
    verdicts = re.findall(r"<dt><a href=[^>]*><bdi>([^<]*)</bdi></a></dt><dd>(.*?)</dd>", page)
    assert [benchmark for benchmark, _ in verdicts] == list(site.benchmarks)
    for benchmark, text in verdicts:
        check_sentences(f'<p class="verdict">{text}</p>', site.benchmarks[benchmark], COMPUTED, STATIC, at_least=1)
    first = re.search(r'<p class="verdict">(\d+) benchmarks and (\d+) models?\. Each benchmark has a page', page)
    assert (int(first[1]), int(first[2])) == (len(site.benchmarks), len(site.models))


@pytest.mark.parametrize("name", SITE_NAMES)
def test_the_matrix_has_the_scores_the_means_and_the_combined_tests(name, write_site):
    """Theory: the default test of a difference, of the mean over benchmarks, and Holm's rule, by numpy and scipy."""
    site, path = write_site(name)
    rows = tables_of(path.read_text())[1]
    order = sorted(site.models, key=lambda m: (np.isnan(site.mean[m]), -np.nan_to_num(site.mean[m]), m))
    assert list(rows) == order
    reference = site.best[0] if site.best else None
    adjusted = site.adjusted(reference, chosen=True) if reference else {}
    for model, texts in rows.items():
        for benchmark, value in zip(site.benchmarks, site.table[model], strict=True):
            assert texts[benchmark] == "–" if np.isnan(value) else near(texts[benchmark], value)
        assert texts["Mean"] == "–" if np.isnan(site.mean[model]) else near(texts["Mean"], site.mean[model])
        if "p, combined" not in texts:
            assert len(site.models) == 1
        elif model == reference:
            assert texts["p, combined"] == "reference"
        elif model not in adjusted:
            assert texts["p, combined"] == "–"
        elif texts["p, combined"].startswith("<"):
            assert adjusted[model] < 1e-4
        else:
            assert near(texts["p, combined"], adjusted[model])


def check_statement(site, text, reference=None, level=0.95):
    """The statement of a matrix has the reference, why it is one, the counts and on which benchmarks they rest."""
    best = site.best
    if not site.comparable or (reference is None and not best):
        why = "No model has a score on all benchmarks" if site.comparable else "Scores of some benchmarks are not"
        assert text.startswith(why)
        assert text.endswith("there is no mean over them, and no combined test.")
        return
    who, chosen = reference or best[0], reference is None
    combined, adjusted = site.combined(who), site.adjusted(who, chosen=chosen)
    untested = len(combined) - len(adjusted)
    if chosen:
        of = f"one of {len(best)} with" if len(best) > 1 else "which has"
        said = re.search(rf"{who}, {of} the highest mean score \({NUMBER}\)", text)
        assert near(said[1], site.mean[who])
    cannot = re.search(
        r"(\d+) models? cannot be tested against it: no benchmark has both, or an error is unknown", text
    )
    assert int(cannot[1] if cannot else 0) == untested
    if not adjusted:
        assert text.startswith(f"All benchmarks together say nothing of {who}")
        return
    on_all = {combined[model][2] for model in adjusted} == {len(site.benchmarks)}
    start = "All benchmarks" if on_all else "The benchmarks that two models have in common, taken"
    assert text.startswith(f"{start} together, by the mean of their differences: {who}")
    sign = {model: combined[model][1] for model in adjusted if adjusted[model] < 1 - level}
    ahead, behind = (sum(value == side for value in sign.values()) for side in (1, -1))
    said = re.search(r"is ahead of (\d+) of (\d+) models? tested(?: and behind (\d+))?", text)
    assert (int(said[1]), int(said[2]), int(said[3] or 0)) == (ahead, len(adjusted), behind)
    open_ = re.search(r"(\d+) cannot be told apart from it", text)
    assert int(open_[1] if open_ else 0) == len(adjusted) - ahead - behind


def statement_of(path):
    page = path.read_text().partition('<h2 id="matrix">')[2]
    found = re.search(r'<p class="lead">(.*?)</p>', page.partition("</section>")[0])
    return html.unescape(found[1]) if found else ""


@pytest.mark.parametrize(
    "name", [one for one, x in zip(SITE_NAMES, SITES.values(), strict=True) if len(PlantedSite(x).models) > 1]
)
def test_the_statement_on_all_benchmarks_is_true(name, write_site):
    site, path = write_site(name)
    check_statement(site, statement_of(path))


@pytest.mark.parametrize("reference", mark_long(["Dan", "Eve", "Bob"], after=1))
def test_the_statement_on_a_named_reference_is_true(reference, write_site):
    site, path = write_site("models that lack benchmarks", reference)
    check_statement(site, statement_of(path), reference)


def test_a_statement_of_other_counts_is_refused(write_site):
    """The check is none where it accepts every number."""
    site, path = write_site("six models on three benchmarks")
    text = statement_of(path)
    ahead = int(re.search(r"ahead of (\d+)", text)[1])
    for wrong in (text.replace(f"ahead of {ahead}", f"ahead of {ahead - 1}"), text.replace("All benchmarks", "Both")):
        with pytest.raises(AssertionError):
            check_statement(site, wrong)


@pytest.mark.parametrize("name", ["six models on three benchmarks", "a greedy run above all"])
def test_links_of_the_index_lead_to_pages_of_their_benchmark(name, write_site):
    site, path = write_site(name)
    page = path.read_text()
    for benchmark in site.benchmarks:
        addresses = set(re.findall(rf'<a href="([^"]+)"><bdi>{benchmark}</bdi></a>', page))
        assert len(addresses) == 1
        own = (path.parent / addresses.pop()).read_text()
        assert re.search(r"<h1>(.*?)</h1>", own)[1] == benchmark


def write_scores_of_prompts(folder):
    """Two files with a score of each whole benchmark in 60 prompts, which three models share; and the differences."""
    rng, found = np.random.default_rng(81), {}
    for name, drop in (("algebra", 0), ("law", 0.1)):
        base = rng.normal(0, 0.03, 60)
        scores = np.array([0.7, 0.66, 0.6])[:, None] - drop + base + rng.normal(0, 0.01, (3, 60))
        rows = [f"v{v},{','.join(f'{score:.6f}' for score in scores[:, v])}" for v in range(60)]
        (folder / f"{name}.csv").write_text("prompt,Ada,Bob,Cleo\n" + "\n".join(rows))
        found[name] = scores
    return found


def test_scores_of_whole_benchmarks_have_no_questions_and_the_pairs_of_the_pages(tmp_path):
    """Theory: paired t tests over prompts; the index said 1 question, 0 unsolved and 0 of 3 pairs of such files."""
    planted = write_scores_of_prompts(tmp_path)
    data = hs.read([tmp_path / f"{name}.csv" for name in planted], shape="variants")
    path = hs.report(data, tmp_path / "site", static_figures=False)
    rows, matrix = tables_of(path.read_text())
    for name, scores in planted.items():
        p = sorted(stats.ttest_rel(scores[i], scores[j]).pvalue for i, j in combinations(range(3), 2))
        decided = sum(all(p[at] * (3 - at) < 0.05 for at in range(place + 1)) for place in range(3))
        assert rows[name]["Told apart"] == f"{decided} of 3"
        assert {rows[name][heading] for heading in ("Questions", "Unsolved", "SE(A)", "Split")} == {"–"}
        assert all(near(matrix[m][name], scores[i].mean()) for i, m in enumerate(("Ada", "Bob", "Cleo")))
    assert "2 models cannot be tested against it" in statement_of(path)
    with (path.parent / "benchmarks.csv").open(newline="") as file:
        assert [(row["questions"], row["unsolved"]) for row in csv.DictReader(file)] == [("", "")] * 2
    one_page = tables_of(build_page(ReportData(data.cells(), cubes=data.cubes())).html)[0]
    assert [row["Questions"] for row in one_page.values()] == ["–", "–"]
    assert all(one_page[name]["Pairs told apart"] == rows[name]["Told apart"] for name in planted)


def test_a_greedy_reference_is_not_called_a_model_that_was_not_run():
    page = build_page(ReportData([plant_greedy().cells]), ReportOptions(reference="Bob:greedy")).html
    assert "Bob:greedy is a mark in the row of its model: the reference is the highest score." in page
    assert "Bob:greedy was not run" not in page
