"""What files are named by their paths. Kind of truth: cases by hand, each right or refused with the command that reads it."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path

import pytest
import yaml

from howsure.errors import InputError
from howsure.rows.naming import FileFacts, name_files

CASES = yaml.safe_load((Path(__file__).parent / "naming_cases.yaml").read_text())
IDS = {
    "own": lambda b, k: [f"{b}-{i}" for i in range(9)],
    "shared": lambda b, k: ["apples", "two trains", "well"],
    "long": lambda b, k: ["How many apples are left?", "When do the trains meet?"],
    "counted": lambda b, k: [str(i) for i in range(9)],
    "sizes": lambda b, k: [str(i) for i in range(9 + 4 * k)],
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
    try:
        names = name(files)
    except InputError as error:
        assert case["result"] == "refused", error
        ways = [shlex.split(way) for way in error.remedy.removeprefix("say what they are: ").split(", or ")]
        assert ways[0] == list(error.options)
        read = [name(files, **parse(way)) for way in ways]
        assert expected in read, error
        return
    assert names == expected
    assert case["result"] == "right"
