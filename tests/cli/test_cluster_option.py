"""--cluster in every command whose error depends on it, and clusters that a run folder keeps."""

import csv
import io
import json
import re
import warnings

import numpy as np
import pytest
from helpers.stored_rows import open_run

import howsure as hs
from howsure.errors import HowsureWarning, InputError
from howsure.sample.run import load_shard, run_experiment
from howsure.store.lookup import read_clusters
from howsure.store.schema import Response

SIZES = {"django": 12, "sympy": 8, "flask": 3, "click": 2}
TOPICS = [name for name, size in SIZES.items() for _ in range(size)]


def rows_of(seed=3, benchmark="b"):
    """Two models, 25 questions of 4 topics, two prompts, two generations."""
    rng = np.random.default_rng(seed)
    topic = {name: rng.normal(0, 2) for name in SIZES}
    for model, skill in (("big", 0.5), ("small", -0.5)):
        own = {name: rng.normal(0, 1) for name in SIZES}
        for q, name in enumerate(TOPICS):
            p = 1 / (1 + np.exp(-(topic[name] + own[name] + skill)))
            for variant in "vw":
                for generation in (1, 2):
                    yield benchmark, model, f"q{q}", variant, generation, int(rng.random() < p), name


def write_table(path, rows):
    lines = ["benchmark,model,question,variant,generation,score,topic", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "t.csv", rows_of())


@pytest.fixture
def ask(howsure):
    def call(*arguments):
        code, out, err = howsure(*arguments, "--format", "json")
        # A simulated model leaves some answers unread.
        assert {note["code"] for note in json.loads(err or '{"notes": []}')["notes"]} <= {"unparsed-bound"}
        assert code == 0
        return json.loads(out)

    return call


PAIR = ("--a", "big", "--b", "small")


@pytest.mark.parametrize(
    "command",
    [
        ("score",),
        ("compare", *PAIR),
        ("compare",),
        ("rank",),
        ("compare", *PAIR, "--weight", "precision"),
        ("plan", "--a", "big", "--detect", "0.1", "--questions", "100000"),
        ("variants",),
    ],
    ids=" ".join,
)
def test_every_command_with_an_error_takes_clusters(ask, table, command):
    name, *more = command
    alone, clustered = (ask(name, table, *more, *how) for how in ((), ("--cluster", "topic")))
    changed = {column for a, b in zip(alone, clustered, strict=True) for column in a if a[column] != b[column]}
    if command[:1] == ("variants",):
        assert {"low", "high"} <= changed
        assert "variance" not in changed
        assert "var_question" not in changed
    elif name == "rank":
        assert "p_best" in changed
    elif "--weight" in more:
        assert {"se", "z", "p_value"} <= changed
    elif name == "plan":
        assert "planned for new clusters of the same sizes" in clustered[0]["note"]
        assert clustered[0]["n_questions"] > alone[0]["n_questions"]
    else:
        assert {"se", "low", "high", "df"} <= changed
        assert all(row["df"] < 3 for row in clustered)
        assert "score" not in changed
    if "note" in clustered[0]:
        assert "in clusters" in clustered[0]["note"]


@pytest.mark.parametrize("command", [("score",), ("compare", *PAIR), ("rank",)], ids=lambda each: each[0])
def test_averages_over_the_clusters_of_a_benchmark(ask, table, command):
    """By hand: the mean over topics of the means; the error is for these topics, and smaller than that for new ones."""
    name, *more = command
    found, clustered = (ask(name, table, *more, "--cluster", "topic", *how) for how in (("--average", "macro"), ()))
    (cells,) = hs.read(table).cells()
    topics = np.array(TOPICS)[[int(q[1:]) for q in cells.questions]]
    means = np.array([cells.mean[:, topics == topic].mean(axis=1) for topic in SIZES]).mean(axis=0)
    if name in {"score", "rank"}:
        assert {row["model"]: row["score"] for row in found} == pytest.approx(
            dict(zip(cells.models, means, strict=True))
        )
    else:
        assert found[0]["difference"] == pytest.approx(means[0] - means[1])
    assert {row["benchmark"] for row in found} == {"b, macro mean of 4 clusters"}
    assert all(a["se"] < b["se"] for a, b in zip(found, clustered, strict=True))
    new = ask(name, table, *more, "--cluster", "topic", "--average", "macro", "--claim", "new-benchmarks")
    assert all(a["se"] > b["se"] for a, b in zip(new, found, strict=True))


def test_claims_about_these_questions_take_clusters_and_do_not_use_them(ask, table):
    alone, clustered = (ask("repeats", table, *how) for how in ((), ("--cluster", "topic")))
    assert alone == clustered
    for name, more in (("score", ()), ("compare", PAIR)):
        alone, clustered = (
            ask(name, table, *more, "--claim", "these-questions", *how) for how in ((), ("--cluster", "topic"))
        )
        for a, b in zip(alone, clustered, strict=True):
            assert a | {"note": ""} == b | {"note": ""}
            assert "clusters do not enter the error on these questions" in b["note"]


def test_a_report_has_the_intervals_of_score(howsure, ask, tmp_path):
    table = write_table(tmp_path / "t.csv", (row for row in rows_of() if row[3] == "v"))
    [compared] = ask("compare", table, "--cluster", "topic", "--a", "small", "--b", "big")
    code, _, _ = howsure("report", table, "--no-static", "--cluster", "topic", "-o", tmp_path / "r.html", "--figures", tmp_path / "f",
                         "--reference", "big")  # fmt: skip
    assert code == 0
    html = (tmp_path / "r.html").read_text()
    assert "Questions come in 4 clusters: intervals and tests are for new clusters" in html
    for name, expected in (("noise", ask("score", table, "--cluster", "topic")), ("forest", [compared])):
        lines = list(csv.DictReader((tmp_path / "f" / f"{name}.csv").read_text().splitlines()))
        assert len(lines) == len(expected)
        for mine, theirs in zip(lines, expected, strict=True):
            found = float(mine["low"]), float(mine["high"])
            assert found == pytest.approx((theirs["low"], theirs["high"]), abs=1e-6)


def test_a_conversion_keeps_clusters_and_the_folder_uses_them(ask, howsure, table, tmp_path):
    assert howsure("convert", table, "--cluster", "topic", "-o", tmp_path / "run")[0] == 0
    for mine, theirs in zip(ask("score", tmp_path / "run"), ask("score", table, "--cluster", "topic"), strict=True):
        assert "questions in clusters" in mine["note"]
        assert mine | {"note": ""} == theirs | {"note": ""}
    assert ask("score", tmp_path / "run", "--cluster", "cluster") == ask("score", tmp_path / "run")
    for name, more in (("variants", ()), ("plan", (*PAIR, "--budget", "1000")), ("rank", ())):
        for mine, theirs in zip(
            ask(name, tmp_path / "run", *more), ask(name, table, *more, "--cluster", "topic"), strict=True
        ):
            assert "in clusters" in mine["note"]
            assert mine | {"note": ""} == theirs | {"note": ""}
    assert howsure("convert", table, "-o", tmp_path / "plain")[0] == 0
    assert ask("score", tmp_path / "plain")[0]["se"] == ask("score", table)[0]["se"]
    code, _, err = howsure("score", tmp_path / "plain", "--cluster", "cluster")
    assert (code, "a run folder has no column 'cluster'" in err) == (2, True)


def test_a_run_of_a_file_with_clusters_keeps_them(ask, tmp_path):
    lines = [
        {"id": f"q{i}", "text": f"Question {i}?", "label": "yes" if i % 3 else "no", "passage": f"p{i // 4}"}
        for i in range(12)
    ]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, lines)))
    fields = "file: b.jsonl, id: id, question: text, target: label, scorer: yes-no"
    for name, more in (("with", ", cluster: passage"), ("without", "")):
        text = f"{{benchmark: {{{fields}{more}}}, models: [simulated/medium], generations: 2}}"
        (tmp_path / "e.yaml").write_text(text)
        assert run_experiment(load_shard(tmp_path / "e.yaml"), tmp_path / name, stream=io.StringIO()) == 0
    assert read_clusters(tmp_path / "with") == {("b", f"q{i}"): f"p{i // 4}" for i in range(12)}
    assert read_clusters(tmp_path / "without") == {}
    [mine], [plain] = hs.read(tmp_path / "with"), hs.read(tmp_path / "without")
    assert mine.clusters == tuple(f"p{int(q[1:]) // 4}" for q in mine.questions)
    assert plain.clusters is None
    [row] = ask("score", tmp_path / "with")
    assert "questions in clusters" in row["note"]
    assert row["df"] == pytest.approx(2)


def folder_of(path, questions, of):
    with open_run(path) as run:
        run.put_prompts(
            [("b", q, "v", [], "", {"cluster": of[q]} if q in of else None) for q in questions]
            + [("other", "x", "v", [], "", None)]
        )
        answer = {"variant": "v", "generation": 1, "score": 1.0}
        run.append([Response(benchmark="b", model=path.name, question=q, **answer) for q in questions])
        run.append([Response(benchmark="other", model=path.name, question="x", **answer)])
    return path


def test_a_folder_with_the_clusters_of_some_questions_only(tmp_path):
    """Of two benchmarks one may have clusters; of one benchmark all questions have one, or none is used."""
    whole = folder_of(tmp_path / "whole", ["q1", "q2"], {"q1": "a", "q2": "b"})
    assert {one.benchmark: one.clusters for one in hs.read(whole)} == {"b": ("a", "b"), "other": None}
    part = folder_of(tmp_path / "part", ["q1", "q2"], {"q1": "a"})
    with pytest.warns(HowsureWarning, match="b: only some questions have a cluster: the clusters are left out"):
        found = hs.read(part).cells()
    assert [one.clusters for one in found] == [None, None]


def test_clusters_of_several_sources(tmp_path):
    known = folder_of(tmp_path / "known", ["q1", "q2"], {"q1": "a", "q2": "b"})
    same = folder_of(tmp_path / "same", ["q1"], {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = hs.read([known, same]).cells()
        cubes = hs.read([known, same]).cubes()
    assert found[0].clusters == cubes[0].clusters == ("a", "b")
    more = folder_of(tmp_path / "more", ["q2", "q3"], {})
    with pytest.warns(HowsureWarning, match="b: only some of its sources have clusters of its questions"):
        assert hs.read([known, more])[0].clusters is None
    with pytest.warns(HowsureWarning, match="b: only some of its sources have clusters of its questions"):
        assert hs.read([known, more]).cubes()[0].clusters is None
    moved = folder_of(tmp_path / "moved", ["q1"], {"q1": "z"})
    for form in ("cells", "cubes"):
        with pytest.raises(InputError, match=re.escape("question 'q1' is in cluster 'a' and in 'z'")):
            getattr(hs.read([known, moved]), form)()
