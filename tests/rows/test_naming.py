"""What files are named by their paths. Kind of truth: cases by hand, each right or refused with the command that reads it."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import pytest
import yaml

from howsure.errors import InputError
from howsure.rows.naming import FileFacts, name_files

CASES = yaml.safe_load((Path(__file__).parent / "naming_cases.yaml").read_text())
#: Ids of the questions of the k-th benchmark b.
IDS = {
    "own": lambda b, _: [f"{b}-{i}" for i in range(9)],
    "shared": lambda *_: ["apples", "two trains", "well"],
    "long": lambda *_: ["How many apples are left?", "When do the trains meet?"],
    "counted": lambda *_: [str(i) for i in range(9)],
    "sizes": lambda _, k: [str(i) for i in range(9 + 4 * k)],
}


def make_files(case):
    """Return the facts of the files of a case, with the benchmark, model and run that each is of."""
    models = case.get("models", ["gpt-4o", "llama-3-8b"] if "{model}" in case["form"] else [""])
    benchmarks = case.get("benchmarks", ["gsm8k", "triviaqa"] if "{benchmark}" in case["form"] else [""])
    runs = case.get("runs", [1, 2, 3] if "{run}" in case["form"] else [None])
    files, expected = [], []
    for n, (m, (k, b), run) in enumerate(itertools.product(models, enumerate(benchmarks), runs)):
        questions = IDS[case.get("ids", "own")](b, k)
        targets = {q: f"{b} {q}" for q in questions} if case.get("texts") else {}
        values = {"model": m, "benchmark": b, "run": run, "date": f"2026-10-{n + 11}", "hash": f"{n}0a1b2c3"}
        path = f"/data/all/{case['form'].format(**values)}.csv"
        files.append(FileFacts(path, questions=frozenset(questions), targets=targets))
        names = [case.get("benchmarks_are", "{benchmark}"), case.get("models_are", "{model}")]
        expected.append(
            (case.get("benchmark") or names[0].format(**values), case.get("model") or names[1].format(**values), run)
        )
    return files, expected


def name(files, **options):
    return [(one.benchmark, one.model, one.run) for one in name_files(files, **options)[0]]


def parse(options):
    """Return the arguments of `name_files` that options of the command line are."""
    key, value = options
    return {"layout": yaml.safe_load(value)["files"]} if key == "--map" else {"benchmark": value}


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: " ".join([case["form"], case.get("ids", "own"), "texts" * case.get("texts", False)])
)
def test_conventions_of_folders(case):
    files, expected = make_files(case)
    if case["result"] == "right":
        assert name(files) == expected
        return
    with pytest.raises(InputError) as caught:
        name(files)
    if case["result"] == "refused, no way":
        assert caught.value.code == "names"
        return
    ways = [shlex.split(way) for way in caught.value.remedy.removeprefix("say what they are: ").split(", or ")]
    assert (caught.value.code, list(caught.value.options)) == ("names", ways[0])
    assert expected in [name(files, **parse(way)) for way in ways]


def facts(path, **stated):
    return FileFacts(f"/data/{path}", questions=frozenset(["1", "2", "3"]), **stated)


BENCHMARK = {"benchmarks": frozenset({"b"})}


def stated(model, **more):
    return {"models": frozenset({model}), **BENCHMARK, **more}


TARGETS = {"1": "x", "2": "y", "3": "z"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # what files state beats their paths
        ([("x/a", stated("m")), ("y/b", stated("n"))], [(None, None, None)] * 2),
        ([("gpt/law", {"models": frozenset({"m"})})], [("law", None, None)]),
        # paths of other depths
        (
            [("gpt/law", BENCHMARK), ("o3/run1/law", BENCHMARK), ("o3/run2/law", BENCHMARK)],
            [(None, "gpt", None), (None, "o3", 1), (None, "o3", 2)],
        ),
        # two parts that both differ with the model are one label
        ([("gpt/azure", BENCHMARK), ("o3/vertex", BENCHMARK)], [(None, "gpt", None), (None, "o3", None)]),
        (
            [("gpt/cot", BENCHMARK), ("gpt/direct", BENCHMARK), ("o3/cot", BENCHMARK)],
            [(None, "gpt/cot", None), (None, "gpt/direct", None), (None, "o3/cot", None)],
        ),
        # settings that differ
        (
            [("a", stated("m", settings={"adapter": None})), ("b", stated("m", settings={"adapter": "x"}))],
            [(None, None, None)] * 2,
        ),
        # NAME=PATH
        ([("a", {"label": "gpt"}), ("b", {"label": "o3"})], [("data", "gpt", None), ("data", "o3", None)]),
        # other targets under the same ids
        (
            [("law", {"targets": TARGETS}), ("tax", {"targets": dict.fromkeys("123", "q")})],
            [("law", "data", None), ("tax", "data", None)],
        ),
        # models in columns, which are not in doubt
        ([("a", {"models": frozenset({"m"})}), ("b", {"models": frozenset({"n"})})], [("data", None, None)] * 2),
    ],
)
def test_what_files_state(files, expected):
    assert name([facts(path, **stated) for path, stated in files]) == expected


def test_settings_are_in_the_label():
    names, _ = name_files([facts(n, **stated("m", settings={"adapter": n})) for n in "ab"])
    assert [one.renames for one in names] == [{"m": "m (adapter=a)"}, {"m": "m (adapter=b)"}]


@pytest.mark.parametrize(
    ("files", "code", "message"),
    [
        ([("a", stated("m")), ("b", stated("m"))], "names", "files: {model: 0}"),
        ([("2026-11-01", stated("m")), ("2026-11-02", stated("m"))], "names", "files: {generation: 0}"),
        (
            [("a", stated("m", content="1")), ("b", stated("n", content="1"))],
            "equal-files",
            "it has the same rows as /data/a",
        ),
        ([("results", BENCHMARK), ("results (1)", BENCHMARK)], "names", "may be models, or runs of fewer"),
        ([("gpt", BENCHMARK), ("gpt_run2", BENCHMARK)], "names", "files: {generation: 0}"),
        (
            [("x/a", {"models": frozenset("mn")}), ("x/b", {"models": frozenset("mn")})],
            "names",
            "files: {benchmark: 0}",
        ),
    ],
)
def test_what_is_refused(files, code, message):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        name([facts(path, **stated) for path, stated in files])
    assert caught.value.code == code


def test_a_corrected_target_is_refused():
    questions = frozenset(map(str, range(20)))
    both = [dict.fromkeys(questions, "t"), dict.fromkeys(questions, "t") | {"3": "u"}]
    with pytest.raises(InputError, match="1 of 20 questions have other targets than in /data/0.csv") as caught:
        name([FileFacts(f"/data/{i}.csv", questions=questions, targets=own) for i, own in enumerate(both)])
    assert caught.value.code == "other-targets"
