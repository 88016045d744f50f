"""Snapshots to JSON lines. Kind of truth: written by hand."""

from __future__ import annotations

import io
import json

import pytest

from howsure.sample.progress import JsonLines
from howsure.sample.snapshot import ModelState, Outcome, Snapshot

MODEL = ModelState(
    label="m", wanted=1000, there=100, done=400, failed=3, mean=0.5, low=0.25, high=0.75, tokens=77,
    cost=1_250_000_000_000, requests=40, in_flight=6, window=8, note="round 6", may_stop=True, trouble="slow\n\x1b[2J",
)  # fmt: skip


def written(*calls):
    stream = io.StringIO()
    with JsonLines(stream) as lines:
        for call in calls:
            call(lines)
    return [json.loads(text) for text in stream.getvalue().splitlines()]


def shown(seconds, *models, final=False):
    return lambda lines: lines(Snapshot(seconds=seconds, models=models, final=final))


def test_a_whole_line():
    (told,) = written(shown(10.0, MODEL))
    assert told == {
        "event": "progress",
        "seconds": 10.0,
        "final": False,
        "models": [
            {
                "label": "m", "wanted": 1000, "there": 100, "done": 400, "failed": 3,
                "mean": 0.5, "low": 0.25, "high": 0.75, "tokens": 77, "cost": 1.25, "requests": 40,
                "in_flight": 6, "window": 8, "rate": pytest.approx(40.3), "left_seconds": pytest.approx(497 / 40.3),
                "may_stop": True, "is_over": False, "note": "round 6", "trouble": "slow\n\x1b[2J", "lost": 0, "outage": 0,
                "stopped": None, "spent": None, "is_enough": False, "saved_tokens": 0,
            }
        ],
    }  # fmt: skip


def test_what_is_not_known_is_null():
    (told,) = written(shown(0.0, ModelState(label="m", wanted=5)))
    (model,) = told["models"]
    assert {name for name, value in model.items() if value is None} == {
        *("mean", "low", "high", "cost", "left_seconds", "stopped", "spent")
    }


def test_lines_come_every_two_seconds_and_at_the_end():
    told = written(*(shown(tick / 10, MODEL) for tick in range(41)), shown(4.1, MODEL, final=True))
    assert [(line["seconds"], line["final"]) for line in told] == [(0, False), (2, False), (4, False), (4.1, True)]


def test_the_default_is_standard_output(capsys):
    with JsonLines() as lines:
        lines(Snapshot(seconds=0.0, models=()))
    assert json.loads(capsys.readouterr().out) == {"event": "progress", "seconds": 0.0, "final": False, "models": []}


@pytest.mark.parametrize(
    ("told", "word"),
    [
        ({"done": 10}, "complete"),
        ({"done": 8, "failed": 2}, "incomplete"),
        ({"done": 8, "stopped": "no key"}, "stopped"),
        ({"done": 10, "stopped": "late"}, "complete"),
        ({"done": 8, "spent": "9 of 9 calls made"}, "spent"),
        ({"done": 8, "is_stopped_early": True}, "complete"),
        ({"done": 10, "lost": 1}, "incomplete"),
    ],
)
def test_the_end(told, word):
    # The key of the line is older than the name of the field.
    expected = {"is_enough" if key == "is_stopped_early" else key: value for key, value in told.items()}
    model = ModelState(**{"label": "m", "wanted": 12, "there": 2, "failed": 0, "cost": 2_500_000_000_000} | told)
    outcome = Outcome(models=(model,), verdicts=("v",), warnings=("m: beware",), seconds=3.5)
    (line,) = written(lambda lines: lines.end(2, outcome, folder="r"))
    (state,) = line.pop("models")
    assert line == {
        "event": "end", "outcome": word, "exit_code": 2, "seconds": 3.5, "done": told["done"],
        "failed": told.get("failed", 0), "verdicts": ["v"], "warnings": ["m: beware"], "folder": "r",
    }  # fmt: skip
    assert state.items() >= {
        "label": "m", "wanted": 12, "there": 2, "failed": 0, "lost": 0, "outage": 0, "stopped": None, "spent": None,
        "is_enough": False, "tokens": 0, "saved_tokens": 0, "cost": 2.5, **expected,
    }.items()  # fmt: skip


def test_the_end_of_what_was_interrupted_is_that():
    model = ModelState(label="m", wanted=12, there=2, done=10, failed=0)
    outcome = Outcome(models=(model,), is_interrupted=True)
    (line,) = written(lambda lines: lines.end(outcome.exit_code, outcome))
    assert (line["outcome"], line["exit_code"], line["models"][0]["cost"]) == ("interrupted", 130, None)


def test_the_end_of_what_did_not_end():
    told = written(lambda lines: lines.end(130), lambda lines: lines.end(2, error="no key"))
    assert told == [
        {"event": "end", "outcome": "interrupted", "exit_code": 130},
        {"event": "end", "outcome": "error", "exit_code": 2, "error": "no key"},
    ]
