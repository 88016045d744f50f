"""Estimates: by hand, and bounds against tokenizers that make the most tokens there can be."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.sample.estimate import ModelDemand, PromptDemand, estimate_costs
from howsure.sample.prices import Price, bound_prompt_tokens, estimate_prompt_tokens

SAY = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 1+1?"}]
PRICE = Price(150_000, 600_000)


def one(**given_):
    base = {"model": "m", "wanted": 100, "there": 10, "missing": [PromptDemand(20, 180, 3)] * 30}
    return estimate_costs([ModelDemand(**(base | given_))]).models[0]


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
    assert PromptDemand.build(SAY, 7) == (estimate_prompt_tokens(SAY), bound_prompt_tokens(SAY), 7)


def test_one_model_by_hand():
    got = one(
        choices=2, max_completion_tokens=256, mean_completion_tokens=100.5, price=PRICE, seconds=2.0, concurrency=8
    )
    assert (got.cells, got.there, got.missing) == (100, 10, 90)
    # 3 missing at 2 a request: 2 requests for each of 30 prompts.
    assert got.requests == 60
    assert (got.prompt_tokens, got.prompt_tokens_most) == (1200, 10_800)
    assert (got.completion_tokens, got.completion_tokens_most) == (9045, 23_040)
    assert got.cost == 1200 * 150_000 + 9045 * 600_000
    assert got.cost_most == 10_800 * 150_000 + 23_040 * 600_000
    assert got.seconds == 8 * 2.0
    assert got.note == ""


def test_all_of_a_prompt_in_one_request_where_nothing_else_is_said():
    assert one().requests == 30
    assert one(missing=[PromptDemand(1, 1, 0), PromptDemand(5, 9, 4)]).requests == 1


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
    assert one(concurrency=1).note.endswith("time assumes requests of 1 s and 50 tokens per s")
    assert "10 requests at once" in one(concurrency=10).note
    # Where another limit takes longer, one by one is no slower.
    assert one(requests_per_minute=1.0).note.endswith(
        "time assumes 30 requests at once, each of 1 s and 50 tokens per s"
    )
    # No longer than they may be.
    assert one(max_completion_tokens=64).completion_tokens == 90 * 64
    assert one(max_completion_tokens=64, mean_completion_tokens=80.0).completion_tokens == 90 * 64


def test_a_price_without_a_bound_has_no_worst_case():
    got = one(price=PRICE)
    assert got.cost == 600 * 150_000 + 45_000 * 600_000
    assert got.cost_most is None


def test_a_fee_for_each_request():
    assert one(price=Price(0, 0, 7), max_completion_tokens=9, choices=1).cost == 7 * 90
    assert one(price=Price(0, 0, 7), max_completion_tokens=9, choices=1).cost_most == 7 * 90


def test_time_is_the_tightest_limit():
    fast = {"seconds": 0.5, "mean_completion_tokens": 10.0, "concurrency": 100}
    assert one(**fast).seconds == 0.5
    assert one(**fast, requests_per_minute=10.0).seconds == 180.0
    assert one(**fast, requests_per_minute=10.0, tokens_per_minute=100.0).seconds == 60 * (600 + 900) / 100
    assert one(mean_completion_tokens=100.0).seconds == 1 + 100 / 50


def test_columns_tell_what_nobody_knows_as_nan():
    got = estimate_costs(
        [
            ModelDemand(
                model="a", wanted=1, there=0, missing=[PromptDemand(1, 2, 1)], max_completion_tokens=5, price=PRICE
            ),
            ModelDemand(model="b", wanted=1, there=1, missing=[]),
        ]
    )
    columns = got.columns()
    assert list(columns) == [
        "model", "cells", "there", "missing", "requests", "prompt_tokens", "prompt_tokens_most", "completion_tokens",
        "completion_tokens_most", "cost", "cost_most", "seconds", "note",
    ]  # fmt: skip
    assert columns["completion_tokens_most"][0] == 5
    assert isinstance(columns["completion_tokens_most"][0], int)
    assert math.isnan(columns["completion_tokens_most"][1])
    assert columns["cost"][0] == pytest.approx((150_000 + 5 * 600_000) / 1e12)
    assert math.isnan(columns["cost"][1])
    assert len(got.to_frame()) == 2


def test_sums_over_models():
    a = ModelDemand(
        model="a", wanted=2, there=0, missing=[PromptDemand(1, 2, 2)], max_completion_tokens=5, price=PRICE, seconds=1.0
    )
    b = ModelDemand(
        model="b", wanted=3, there=0, missing=[PromptDemand(1, 2, 3)], max_completion_tokens=5, price=PRICE, seconds=9.0
    )
    known = estimate_costs([a, b])
    assert known.cost == 2 * 150_000 + 25 * 600_000
    assert known.cost_most == 4 * 150_000 + 25 * 600_000
    assert known.seconds == 9.0
    assert estimate_costs([a, ModelDemand(model="c", wanted=1, there=0, missing=[])]).cost is None


def test_printed_for_a_person():
    price = Price(10**9, 10**9)
    a = ModelDemand(
        model="a",
        wanted=2000,
        there=0,
        missing=[PromptDemand(20, 180, 2000)],
        max_completion_tokens=5,
        price=price,
        seconds=90.0,
    )
    b = ModelDemand(
        model="b", wanted=3, there=1, missing=[PromptDemand(20, 180, 2)], seconds=1.0, mean_completion_tokens=6.0
    )
    lines = str(estimate_costs([a, b])).splitlines()
    assert [" ".join(line.split()) for line in lines[:4]] == [
        "model cells there missing requests prompt prompt ≤ completion completion ≤ cost cost ≤ time",
        "a 2,000 0 2,000 1 20 180 10,000 10,000 $10.02 $10.18 1m 30s [1]",
        "b 3 1 2 1 20 180 12 ? ? ? 1s [2][3]",
        "all 2,003 1 2,002 2 40 360 10,012 ? ? ? 1m 30s",
    ]
    assert "no price is known" in lines[-2] or "no price is known" in lines[-3]
    assert str(estimate_costs([])) == "no rows"
    assert estimate_costs([]).seconds == 0
