"""Replies to rows. Kind of truth: written by hand, field by field."""

from __future__ import annotations

import math

import pytest

from howsure.benchmarks import Benchmark, Prompt, Question
from howsure.errors import EndpointError
from howsure.models.model import Choice, Reply, Request, Settings
from howsure.sample.scored_rows import build_failed_rows, score_reply
from howsure.store.schema import Response

QUESTION = Question("q", "1+1?", "2")


def extract(text):
    if text == "crash":
        raise RuntimeError("two\nlines")
    return text.rpartition("= ")[2] or None if "= " in text else None


BENCHMARK = Benchmark("b", [QUESTION], Prompt(), extract)


def rows(*choices, benchmark=BENCHMARK, **reply):
    request = Request("b", "q", "v", [], tuple(range(3, 3 + len(choices))), Settings())
    return score_reply(benchmark, QUESTION, "m", request, Reply(choices, **reply), attempts=2, created=5.0)


def test_a_whole_row():
    reply = {
        "request": "r",
        "model": "m-1",
        "fingerprint": "f",
        "prompt_tokens": 9,
        "completion_tokens": 7,
        "seconds": 0.5,
    }
    first, second = rows(Choice("so = 2", "stop"), Choice("so = 3", "stop"), **reply)
    assert first == Response(
        benchmark="b", model="m", question="q", variant="v", generation=3, score=1.0, status="ok", answer="2",
        rule="benchmark",
        completion="so = 2", target="2", error=None, attempts=2, prompt_tokens=9, completion_tokens=3.5,
        finish_reason="stop", endpoint_model="m-1", fingerprint="f", request="r", created=5.0, seconds=0.5,
    )  # fmt: skip
    # The prompt was billed once for both.
    assert (second.generation, second.score, second.prompt_tokens, second.completion_tokens) == (4, 0.0, None, 3.5)


def test_the_same_text_of_a_reply_is_judged_once_for_each_way_it_ended():
    read = []

    def counted(text):
        read.append(text)
        return extract(text)

    choices = [Choice("= 2", "stop"), Choice("= 3", "stop"), Choice("= 2", "stop"), Choice("= 2", "length")]
    found = rows(*choices, benchmark=Benchmark("b", [QUESTION], Prompt(), counted))
    assert [(row.generation, row.score, row.status) for row in found] == [
        (3, 1.0, "ok"), (4, 0.0, "ok"), (5, 1.0, "ok"), (6, 1.0, "length"),
    ]  # fmt: skip
    assert read == ["= 2", "= 3", "= 2"]


def test_dropped_choices_had_their_share_of_the_tokens():
    (row,) = rows(Choice("= 2"), completion_tokens=9, surplus=2)
    assert row.completion_tokens == 3.0


@pytest.mark.parametrize(
    ("text", "finish", "score", "status", "answer", "error"),
    [
        ("= 2", "stop", 1.0, "ok", "2", None),
        ("= 2", None, 1.0, "ok", "2", None),
        ("no idea", "stop", 0.0, "unparsed", None, None),
        ("", "stop", 0.0, "empty", None, None),
        ("thinking", "length", 0.0, "length", None, None),
        ("", "length", 0.0, "length", None, None),
        (None, "length", 0.0, "length", None, None),
        ("= 2 and", "length", 0.0, "length", "2 and", None),
        ("= 2", "length", 1.0, "length", "2", None),
        ("", "content_filter", 0.0, "filtered", None, None),
        (None, "content_filter", 0.0, "filtered", None, None),
        ("I", "content_filter", 0.0, "filtered", None, None),
        (None, "stop", 0.0, "empty", None, None),
        (None, "tool_calls", 0.0, "tool-call", None, None),
        ("= 2", "refusal", 0.0, "refused", None, None),
        ("<think>= 2", "stop", 0.0, "unfinished", None, None),
        ("crash", "stop", None, "error", None, "scoring: RuntimeError: two lines"),
    ],
)
def test_each_status(text, finish, score, status, answer, error):
    (row,) = rows(Choice(text, finish))
    assert (row.score, row.status, row.answer, row.error) == (score, status, answer, error)
    assert (row.completion, row.finish_reason) == (text, finish)


@pytest.mark.parametrize("score", [math.nan, math.inf, "x", None])
def test_a_grade_that_is_no_number_is_a_failure_and_not_a_score(score):
    broken = Benchmark("b", [QUESTION], Prompt(), extract, lambda *_: score)
    (row,) = rows(Choice("= 2"), benchmark=broken)
    assert (row.score, row.status) == (None, "error")
    assert row.error.startswith("scoring: ")


def test_fewer_choices_make_fewer_rows():
    request = Request("b", "q", "v", [], (1, 4, 9), Settings())
    made = score_reply(BENCHMARK, QUESTION, "m", request, Reply((Choice("= 2"), Choice("= 1"))))
    assert [(row.generation, row.score) for row in made] == [(1, 1.0), (4, 0.0)]
    assert score_reply(BENCHMARK, QUESTION, "m", request, Reply((), completion_tokens=0)) == []


def test_failures_are_rows_without_a_score():
    request = Request("b", "q", "v", [], (2, 5), Settings())
    made = build_failed_rows(
        QUESTION, "m", request, EndpointError("HTTP 500: oh", reason="server"), attempts=8, created=1.0
    )
    assert [(row.generation, row.score, row.status, row.error, row.attempts) for row in made] == [
        (g, None, "error", "server: HTTP 500: oh", 8) for g in (2, 5)
    ]
    assert {(row.target, row.completion, row.created) for row in made} == {("2", None, 1.0)}
