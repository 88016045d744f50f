"""Estimates: by hand, and bounds against tokenizers that make the most tokens there can be."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.models.model import Settings
from howsure.sample.estimate import Estimate, estimate_model
from howsure.sample.model_config import ModelConfig
from howsure.sample.prices import Price, bound_prompt_tokens, estimate_prompt_tokens

SAY = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 1+1?"}]
PRICE = Price(150_000, 600_000)


#: 3 + 4 + 13 tokens by the estimate, 128 + 16 + 52 at most.
PROMPT = [{"role": "user", "content": "x" * 52}]


def one(prompts=((PROMPT, 3),) * 30, *, max_tokens=None, label="m", wanted=100, there=10, rates=None, **given_):
    settings = Settings(max_tokens=max_tokens)
    config = ModelConfig(label, label, "endpoint", settings=settings, generations=3, **(rates or {}))
    return estimate_model(config, prompts, wanted=wanted, there=there, **given_)


# Theory: a tokenizer over bytes cannot do worse than one token for each byte.


@given(st.lists(st.text(max_size=200), min_size=1, max_size=4))
def test_prompt_tokens_are_bounded_for_a_tokenizer_of_single_bytes(contents):
    messages = [{"role": "user", "content": content} for content in contents]
    marks = len(b"<|start_header_id|>user<|end_header_id|>") // 4
    tokens = sum(len(c.encode("utf-8", "surrogatepass")) + marks for c in contents)
    assert bound_prompt_tokens(messages) >= tokens
    assert estimate_prompt_tokens(messages) <= bound_prompt_tokens(messages)


def test_by_hand():
    assert estimate_prompt_tokens(SAY) == 3 + (4 + 3) + (4 + 3)
    assert bound_prompt_tokens(SAY) == 128 + (16 + 9) + (16 + 12)
    assert bound_prompt_tokens([{"role": "user", "content": "é€😀\ud800"}]) == 128 + 16 + 2 + 3 + 4 + 3


def test_one_model_by_hand():
    got = one(choices=2, max_tokens=256, mean_tokens=100.5, price=PRICE, rates={"concurrency": 8})
    assert (got.cells, got.there, got.missing) == (100, 10, 90)
    # 3 missing at 2 a request: 2 requests for each of 30 prompts.
    assert got.requests == 60
    assert (got.prompt_tokens, got.prompt_tokens_most) == (1200, 60 * 196)
    assert (got.completion_tokens, got.completion_tokens_most) == (9045, 23_040)
    assert got.cost == 1200 * 150_000 + 9045 * 600_000
    assert got.cost_most == 60 * 196 * 150_000 + 23_040 * 600_000
    assert got.seconds == 8 * (1 + 100.5 / 50)
    assert got.note.startswith("time assumes 8 requests at once")


def test_all_of_a_prompt_in_one_request_where_nothing_else_is_said():
    assert one().requests == 30
    assert one([(PROMPT, 4)]).requests == 1


def test_what_is_assumed_is_said():
    got = one()
    assert got.completion_tokens == 90 * 500
    assert got.completion_tokens_most is None
    assert got.cost is got.cost_most is None
    assert got.note.split("; ") == [
        "completions are assumed to take 500 tokens",
        "no price is known",
        "completions have no bound: no max_tokens",
        # 90 generations in 30 requests of 1 + 500/50 s, all at once: 11 s; one after the other 330 s.
        "time assumes 30 requests at once, each of 1 s and 50 tokens per s (5m 30s one by one)",
    ]
    assert one(rates={"concurrency": 1}).note.endswith("time assumes requests of 1 s and 50 tokens per s")
    # Where another limit takes longer, one by one is no slower.
    assert one(rates={"requests_per_minute": 1.0}).note.endswith("each of 1 s and 50 tokens per s")
    # No longer than they may be.
    assert one(max_tokens=64).completion_tokens == 90 * 64
    assert one(max_tokens=64, mean_tokens=80.0).completion_tokens == 90 * 64


def test_a_price_without_a_bound_has_no_worst_case():
    got = one(price=PRICE)
    assert got.cost == 600 * 150_000 + 45_000 * 600_000
    assert got.cost_most is None


def test_a_fee_for_each_request():
    got = one(price=Price(0, 0, 7), max_tokens=9, choices=1)
    assert got.cost == got.cost_most == 7 * 90


def test_time_is_the_tightest_limit():
    assert one(mean_tokens=10.0).seconds == 1.2
    assert one(mean_tokens=10.0, rates={"requests_per_minute": 10.0}).seconds == 180.0
    both = {"requests_per_minute": 10.0, "tokens_per_minute": 100.0}
    assert one(mean_tokens=10.0, rates=both).seconds == 60 * (600 + 900) / 100


def test_columns_tell_what_nobody_knows_as_nan():
    got = Estimate((one([(PROMPT, 1)], label="a", max_tokens=5, price=PRICE), one([], label="b")))
    columns = got.columns()
    assert list(columns) == [
        "model", "cells", "there", "missing", "requests", "prompt_tokens", "prompt_tokens_most", "completion_tokens",
        "completion_tokens_most", "cost", "cost_most", "seconds", "note",
    ]  # fmt: skip
    assert columns["completion_tokens_most"][0] == 5
    assert isinstance(columns["completion_tokens_most"][0], int)
    assert math.isnan(columns["completion_tokens_most"][1])
    assert columns["cost"][0] == pytest.approx((20 * 150_000 + 5 * 600_000) / 1e12)
    assert math.isnan(columns["cost"][1])
    assert len(got.to_frame()) == 2


def test_sums_over_models():
    a = one([(PROMPT, 2)], label="a", max_tokens=5, price=PRICE)
    b = one([(PROMPT, 3)] * 99, label="b", max_tokens=5, price=PRICE)
    known = Estimate((a, b))
    assert known.cost == a.cost + b.cost
    assert known.cost_most == a.cost_most + b.cost_most
    assert known.seconds == b.seconds > a.seconds
    assert Estimate((a, one([], label="c"))).cost is None
    # A model on two benchmarks takes the time of both.
    assert Estimate((a, a)).seconds == 2 * a.seconds


def test_printed_for_a_person():
    a = one([(PROMPT, 100)], label="a", max_tokens=5, price=Price(10**9, 10**9), wanted=2000, there=0, mean_tokens=4.0)
    b = one([(PROMPT, 2)], label="b", wanted=3, there=1, mean_tokens=6.0)
    lines = str(Estimate((a, b))).splitlines()
    assert [" ".join(line.split()) for line in lines[:4]] == [
        "model cells there missing requests prompt prompt ≤ completion completion ≤ cost cost ≤",
        "a 2,000 0 100 1 20 196 400 500 $0.42 $0.70 [1]",
        "b 3 1 2 1 20 196 12 ? ? ? [1][2][3]",
        "all 2,003 1 102 2 40 392 412 ? ? ?",
    ]
    assert str(Estimate(())) == "no rows"
    assert Estimate(()).seconds == 0
