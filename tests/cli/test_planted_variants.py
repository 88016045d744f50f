"""A prompt that makes answers worse, and one whose answers cannot be read: rows tell them apart.

Kind of truth: a guarantee by seeded simulation; what differs between variants was planted.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from pathlib import Path

import msgspec
import numpy as np
import pytest

from howsure.benchmarks import load
from howsure.models.simulated import UNREADABLE, SimulatedModel, truth
from howsure.prompts import draw_variants
from howsure.sample.experiment import load_experiment
from howsure.sample.run import run
from howsure.store.manifest import load as load_manifest
from howsure.store.responses import read

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CAPITALS = load(
    {"file": "capitals.jsonl", "id": "id", "question": "question", "choices": "choices", "target": "answer"},
    base=EXAMPLES,
)
EXPERIMENT = msgspec.structs.replace(
    load_experiment(EXAMPLES / "prompts.yaml"), variants={"space": "multiple-choice", "sample": 36, "seed": 7}
)
SPACE = draw_variants(EXPERIMENT.variants, CAPITALS)
SPELLED = dict(zip("αβγδ", ("alpha", "beta", "gamma", "delta"), strict=True))


class Speller:
    """Answers as another model does; but under Greek labels every other answer has the label in letters."""

    def __init__(self, model):
        self.model = model

    async def generate(self, request):
        reply = await self.model.generate(request)
        if request.prompt_variant.values["enumerator"] != "greek":
            return reply
        choices = [
            msgspec.structs.replace(choice, text=spelled(choice.text)) if generation % 2 else choice
            for generation, choice in zip(request.generations, reply.choices, strict=True)
        ]
        return msgspec.structs.replace(reply, choices=tuple(choices))

    async def close(self):
        await self.model.close()


def spelled(text):
    for label, name in SPELLED.items():
        text = text.replace(label, name).replace(label.upper(), name)
    return text


def rows_of(folder, open_model):
    asyncio.run(run(EXPERIMENT, folder, open_model=open_model))
    return read(folder).to_pylist(), load_manifest(folder).prompts


@pytest.fixture(scope="module")
def worse(tmp_path_factory):
    """Rows of a run in which Greek labels take 3 from the logit of a right answer."""
    effects = {("enumerator", "greek"): -3.0}
    return rows_of(tmp_path_factory.mktemp("worse"), lambda e, b: SimulatedModel(e.name, b, effects=effects))


@pytest.fixture(scope="module")
def unread(tmp_path_factory):
    """Rows of a run in which Greek labels change no answer, but 3 of 5 given so cannot be read."""
    return rows_of(tmp_path_factory.mktemp("unread"), lambda e, b: Speller(unchanged(e.name, b)))


def unchanged(name, benchmark):
    return SimulatedModel(name, benchmark, effects={("enumerator", "greek"): 0.0})


def by(sampled_rows, dimension, number):
    """Value of a dimension to the mean of a number over the rows."""
    rows, prompts = sampled_rows
    found = defaultdict(list)
    for row in rows:
        if (x := number(row)) is not None:
            # the name of a value, without the key of what it draws
            found[prompts[row["variant"]][dimension].partition(" ")[0]].append(x)
    return {value: float(np.mean(each)) for value, each in found.items()}


def is_unparsed(row):
    assert (row["status"] == "unparsed") == (row["answer"] is None)
    return row["status"] == "unparsed"


def score(row):
    return row["score"]


def score_if_read(row):
    return None if is_unparsed(row) else row["score"]


def drop(sampled_rows, number):
    """How much less Greek labels have than the mean of the others."""
    each = by(sampled_rows, "enumerator", number)
    return np.mean([x for value, x in each.items() if value != "greek"]) - each["greek"]


@pytest.mark.long
def test_scores_alone_cannot_tell_them_apart(worse, unread):
    assert drop(worse, score) > 0.25
    assert drop(unread, score) > 0.25
    assert abs(drop(worse, score) - drop(unread, score)) < 0.05


@pytest.mark.long
def test_the_share_of_unparsed_answers_tells_them_apart(worse, unread):
    for dimension in ("enumerator", "wrapper", "separator", "order"):
        # binomial limits of UNREADABLE: the smallest group has over 1000 rows
        assert max(by(worse, dimension, is_unparsed).values()) < UNREADABLE + 5 * math.sqrt(UNREADABLE / 1000)
    shares = by(unread, "enumerator", is_unparsed)
    # generations 1, 3 and 5 of 5
    assert abs(shares.pop("greek") - 0.6) < 0.02
    assert max(shares.values()) < UNREADABLE + 5 * math.sqrt(UNREADABLE / 1000)


@pytest.mark.long
def test_variant_by_variant(worse, unread):
    for found, high in ((worse, 0.05), (unread, 0.7)):
        rows, prompts = found
        counts = defaultdict(list)
        for row in rows:
            counts[row["variant"]].append(is_unparsed(row))
        assert len(counts) == 36
        for variant, each in counts.items():
            assert len(each) == 2 * 5 * len(CAPITALS.questions)
            if prompts[variant]["enumerator"] == "greek" and high > 0.5:
                assert 0.5 < np.mean(each) < high
            else:
                assert np.mean(each) < 0.05


@pytest.mark.long
def test_the_answers_that_were_read_show_which_one_is_worse(worse, unread):
    assert drop(worse, score_if_read) > 0.25
    assert abs(drop(unread, score_if_read)) < 0.05
    known = [unchanged(name, CAPITALS) for name in ("small", "medium")]
    scores = defaultdict(list)
    for point in SPACE.variants:
        scores[point.values["enumerator"]] += [truth(model, variant=point).mean() for model in known]
    means = {value: np.mean(each) / (1 - UNREADABLE) for value, each in scores.items()}
    read_well = by(unread, "enumerator", score_if_read)
    assert set(read_well) == set(means)
    for value, mean in means.items():
        n = sum(prompt["enumerator"] == value for prompt in unread[1].values()) * 2 * 2 * len(CAPITALS.questions)
        assert abs(read_well[value] - mean) < 4 * 0.5 / math.sqrt(n)


@pytest.mark.long
def test_the_rule_says_how_each_answer_was_read_or_why_not(unread):
    rows, prompts = unread
    why = defaultdict(set)
    for row in rows:
        is_greek = prompts[row["variant"]]["enumerator"] == "greek"
        why[is_greek, is_unparsed(row)].add(row["rule"])
    assert why[False, True] == {"none"}  # "I am not sure."
    assert why[True, True] == {"none"}
    assert why[False, False] == why[True, False] == {"last line", "statement"}


@pytest.mark.long
def test_the_example_asks_what_it_says(tmp_path):
    """Kind of truth: written by hand, from the example's text."""
    assert len(CAPITALS.questions) == 42
    assert all(len(set(question.choices)) == 4 for question in CAPITALS.questions)
    right = {q.id: q.choices["ABCD".index(q.target)] for q in CAPITALS.questions}
    assert [right[land] for land in ("brazil", "turkey", "myanmar", "united-states", "kazakhstan")] == [
        *("Brasília", "Ankara", "Naypyidaw", "Washington", "Astana")
    ]
    assert {sum(q.target == letter for q in CAPITALS.questions) for letter in "ABCD"} == {10, 11}
    asyncio.run(run(load_experiment(EXAMPLES / "prompts.yaml"), tmp_path))
    rows, prompts = read(tmp_path).to_pylist(), load_manifest(tmp_path).prompts
    assert len(rows) == 2 * 42 * 21 * 5
    assert set(prompts[CAPITALS.prompt.id]) == {"system", "template"}
    assert {row["variant"] for row in rows} == set(prompts)
    assert {row["completion"] for row in rows if is_unparsed(row)} == {"I am not sure."}
