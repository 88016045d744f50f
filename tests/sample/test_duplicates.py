"""Whether K generations are K. Kinds of truth: written by hand (a table of endpoints and what is to be said of them),
a slow independent count of repeats, and a guarantee by simulation that honest models raise no alarm."""

from __future__ import annotations

import asyncio
import hashlib
import math
import random
from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pytest

from howsure.benchmarks import load
from howsure.models.model import Choice, Reply, Request, Settings
from howsure.models.simulated import SimulatedModel
from howsure.sample.duplicates import DuplicateDetector, find_repeated_texts, is_same_model

REFUSAL = "I'm sorry, but I can't help with that request. " * 6


class At(NamedTuple):
    """Question, variant, request and choice from 0, and the reply from 1."""

    q: int
    v: int
    r: int
    i: int
    k: int


def words(*of, length=600):
    """A text of its own for each `of`."""
    rng = random.Random(repr(of))
    return "".join(rng.choice("etaoin shrdlu") for _ in range(length))


def watched(say, *, n=1, requests=4, questions=40, variants=1, temperature=1.0, asked="m", **reply):
    """A watch that saw `requests` replies of n texts to each prompt; `say` and the reply's fields are told where."""
    watch = DuplicateDetector(questions, variants, temperature=temperature, requested_name=asked)
    count = 0
    for request in range(requests):
        for question in range(questions):
            for variant in range(variants):
                count += 1
                places = [At(question, variant, request, i, count) for i in range(n)]
                fields = {"request": f"id-{count}", "model": "m"} | {
                    name: value(places[0]) if callable(value) else value for name, value in reply.items()
                }
                choices = tuple(Choice(say(at)) for at in places)
                watch.record_reply(question, variant, Reply(choices, **fields))
    return watch


def honest(at):
    return words(*at)


def short(at):
    return random.Random(repr(at)).choices("ABCD", [8, 1, 1, 1])[0]


#: name: (what the endpoint writes, how it is asked, the beginnings of what is said, in order)
SCENARIOS = {
    "honest": (honest, {}, []),
    "honest, many in one request": (honest, {"n": 8, "requests": 1}, []),
    "honest, both": (honest, {"n": 4, "requests": 3, "variants": 3}, []),
    "one generation each": (honest, {"requests": 1}, []),
    "a fixed seed or cache": (
        lambda at: words(at.q, at.v),
        {},
        ["40 of 40 prompts with several requests got the same text every time: a fixed seed or a cache; copies are not generations"],
    ),
    "the same, by variant": (lambda at: words(at.q, at.v), {"variants": 3}, ["120 of 120 prompts with several requests"]),
    "the same, temperature unknown": (
        lambda at: words(at.q, at.v),
        {"temperature": None},
        ["40 of 40 prompts with several requests got the same text every time: a fixed seed, a cache, or the endpoint's own temperature is near 0 (none was asked for)"],
    ),
    "the same, temperature low": (
        lambda at: words(at.q, at.v, length=3000),
        {"temperature": 0.2},
        ["40 of 40 prompts with several requests got the same text every time: a fixed seed, a cache, or the low temperature 0.2"],
    ),
    "n copies of one": (
        lambda at: words(at.q, at.v, at.r),
        {"n": 5},
        ["40 of 40 prompts with several generations in one reply got the same text every time: the endpoint copies one generation, or a fixed seed"],
    ),
    "a seed of its own for each choice, the same in each request": (
        lambda at: words(at.q, at.v, at.i),
        {"n": 5},
        ["40 of 40 prompts with several requests"],
    ),
    "copies, and again": (
        lambda at: words(at.q, at.v),
        {"n": 5},
        ["40 of 40 prompts with several generations in one reply", "40 of 40 prompts with several requests"],
    ),
    "a cache that two servers fill": (
        lambda at: words(at.q, at.v, at.r % 2),
        {"requests": 5},
        ["40 of 40 prompts with several requests got the same text at least every second time"],
    ),
    "a cache of some questions": (
        lambda at: words(at.q, at.v, at.r if at.q % 4 else 0, length=2000),
        {},
        ["10 of 40 prompts with several requests"],
    ),
    "a cache with four texts for each prompt": (
        lambda at: words(at.q, at.v, at.r % 4, length=1500),
        {"requests": 10},
        ["40 of 40 prompts with several requests got their first text again, beside others: a fixed seed or a cache, such as a cache with several texts for each prompt; copies are not generations"],
    ),
    "three copies of each short program": (lambda at: words(at.q, at.v, at.r % 4, length=250), {"requests": 10}, []),
    "a fixed seed on few prompts": (lambda at: words(at.q, at.v), {"questions": 4}, []),
    "a stray copy": (lambda at: words(at.q, at.v, at.r if at.q > 5 else 0), {}, []),
    "letters": (short, {"requests": 10}, []),
    "letters in one reply": (short, {"n": 10}, []),
    "short copies within each reply": (
        lambda at: words(at.q, at.r, length=60),
        {"n": 5},
        ["generations of one reply repeat each other: 100.0% of the generations of a reply equal its first, 0.0% of those"],
    ),
    "short copies within each of two replies to few prompts": (
        lambda at: short(at._replace(i=0, k=0)) + words(at.r, length=20),
        {"n": 5, "requests": 2, "questions": 5},
        ["5 prompts got other texts in later replies, and each reply to them holds one text in all its generations"],
    ),
    "letters, ten copies of one in each of two replies": (
        lambda at: short(at._replace(i=0, k=0)),
        {"n": 10, "requests": 2, "questions": 20},
        [" prompts got other texts in later replies, and each reply to them holds one text in all its generations"],
    ),
    "pairs in two replies to few prompts": (lambda at: short(at._replace(i=0, k=0)), {"n": 2, "requests": 2, "questions": 8}, []),
    "five copies in the only reply to each prompt": (
        lambda at: words(at.q, length=60),
        {"n": 5, "requests": 1},
        ["not one of 160 repeats on 40 prompts gave another text than the first: a fixed seed or a cache, or a model"],
    ),
    "ten copies in the only reply to each of 20 prompts": (
        lambda at: words(at.q, length=60),
        {"n": 10, "requests": 1, "questions": 20},
        ["not one of 180 repeats on 20 prompts gave another text than the first"],
    ),
    "five copies but for one": (lambda at: words(at.q, at.i == 4 and at.q == 3, length=60), {"n": 5, "requests": 1}, []),
    "five letters in the only reply to each prompt": (lambda at: "ABCD"[at.q % 4], {"n": 5, "requests": 1}, ["not one of 160 repeats on 40 prompts"]),
    "letters, each reply with a seed of its own for all its generations": (
        lambda at: short(at._replace(i=0, k=0)),
        {"n": 5, "requests": 10},
        ["generations of one reply repeat each other: 100.0% of the generations"],
    ),
    "letters, half of the generations of a reply copied": (
        lambda at: short(at._replace(i=0 if at.i % 2 else at.i, k=0)),
        {"n": 8, "requests": 10, "questions": 200},
        ["generations of one reply repeat each other: "],
    ),
    "letters, the same seed for each reply": (
        lambda at: short(at._replace(r=0, k=0)),
        {"n": 5, "requests": 5, "questions": 100},
        ["replies repeat each other: "],
    ),
    "letters, many in one reply and many replies": (short, {"n": 8, "requests": 6, "questions": 300}, []),
    "the same prompts with other tokens later": (
        honest,
        {"prompt_tokens": lambda at: 20 + at.q if at.r < 2 else 23 + at.q},
        ["40 of 40 prompts that were sent again had other numbers of tokens than before: another model or prompt template"],
    ),
    "tokens counted once for each generation": (honest, {"prompt_tokens": lambda at: 30 * (1 + at.r)}, []),
    "a stray count of tokens": (honest, {"prompt_tokens": lambda at: 30 + (at.k in {60, 61, 62})}, []),
    "letters that are always the same, 19 prompts": (lambda at: "ABCD"[at.q % 4], {"questions": 19}, []),
    "letters that are always the same, few": (lambda at: "ABCD"[at.q % 4], {}, ["not one of 120 repeats on 40 prompts"]),
    "only the first reply differs, at temperature 0": (
        lambda at: words(at.q, at.r == 0),
        {"temperature": 0.0},
        ["temperature 0: repeats measure", "the first reply to 40 of 40 prompts differs from the later ones, which are equal"],
    ),
    "letters that are always the same, many": (
        lambda at: "ABCD"[at.q % 4],
        {"questions": 200},
        ["not one of 600 repeats on 200 prompts gave another text than the first: a fixed seed or a cache, or a model without any doubt"],
    ),
    "letters that are nearly always the same": (
        lambda at: "A" if (at.q, at.r) == (7, 2) else "ABCD"[at.q % 4],
        {"questions": 200},
        [],
    ),
    "letters that are always the same, low temperature": (
        lambda at: "ABCD"[at.q % 4],
        {"questions": 200, "temperature": 0.3},
        [],
    ),
    "letters that are always the same, temperature unknown": (
        lambda at: "ABCD"[at.q % 4],
        {"questions": 200, "temperature": None},
        ["not one of 600 repeats"],
    ),
    "one word for all": (lambda *_: "ok", {"questions": 200}, []),
    "one-line programs": (lambda at: f"return sorted(x{at.q}, key=len)[:{at.q}]" + "  # done" * (at.r == 3), {}, []),
    "functions at a low temperature": (
        lambda at: words(at.q, at.v, length=350) + ("x" * at.r if (at.q + at.r) % 3 else ""),
        {"temperature": 0.2},
        [],
    ),
    "nothing": (lambda *_: "", {"questions": 200}, []),
    "no text": (lambda *_: None, {"n": 4, "questions": 200}, []),
    "some refuse in the same words": (lambda at: REFUSAL if at.q % 3 == 0 else words(at.q, at.v, at.r, at.i), {"n": 3}, []),
    "all refuse in the same words": (
        lambda *_: REFUSAL,
        {"n": 3},
        [f"one text of {len(REFUSAL)} characters is the reply to 40 of 40 questions"],
    ),
    "one question in the same words under every variant": (
        lambda at: words(at.q) if at.q == 0 else words(at.q, at.v, at.r, at.i),
        {"questions": 2, "variants": 20, "requests": 2},
        ["20 of 40 prompts with several requests"],
    ),
    "temperature 0": (
        lambda at: words(at.q, at.v, at.r == 3),
        {"temperature": 0},
        ["temperature 0: repeats measure the endpoint's nondeterminism, not sampling; 80 of 120 repeats were the same text"],
    ),
    "temperature almost 0": (
        lambda at: words(at.q, at.v),
        {"temperature": 0.01, "n": 2, "requests": 1},
        ["temperature 0.01: repeats measure the endpoint's nondeterminism, not sampling; 40 of 40 repeats were the same text"],
    ),
    "temperature 0, once": (lambda at: words(at.q, at.v), {"temperature": 0, "requests": 1}, []),
    "a cache that says so": (
        honest,
        {"cached": lambda at: at.k <= 12},
        ["12 of 160 replies came from a cache; a replayed one is no new generation"],
    ),
    "a cache with the same id": (
        lambda at: "A" if at.q < 7 else short(at),
        {"request": lambda at: f"first-{at.q}" if at.q < 7 else f"id-{at.k}", "requests": 2},
        ["7 of 80 replies had the id and the text of an earlier one: a cache replays it"],
    ),
    "a cache with the same id, for other questions": (
        lambda at: words(at.q // 2, at.r),
        {"request": lambda at: f"{at.q // 2} {at.r}", "requests": 1},
        ["20 of 40 replies had the id and the text of an earlier one"],
    ),
    "a few with the same id": (lambda at: "A" if at.k <= 4 else short(at), {"request": lambda at: f"{max(at.k, 4)}", "requests": 1}, []),
    "a constant id": (honest, {"request": "chatcmpl-0"}, []),
    "a constant id, for short answers": (short, {"request": "chatcmpl-0"}, []),
    "an id for each question": (short, {"request": lambda at: f"q{at.q}"}, []),
    "ids of three digits": (
        short,
        {"request": lambda at: f"chatcmpl-{int(hashlib.sha256(b'%d' % at.k).hexdigest(), 16) % 999}", "questions": 300},
        [],
    ),
    "no ids": (short, {"request": None}, []),
    "another model": (
        honest,
        {"asked": "gpt-4o-mini", "model": "llama-3"},
        ["asked for gpt-4o-mini, answered as llama-3 in 160 of 160 replies"],
    ),
    "its date": (honest, {"asked": "openai/gpt-4o-mini", "model": "gpt-4o-mini-2024-07-18"}, []),
    "no name": (honest, {"model": None}, []),
    "a model that changes": (
        honest,
        {"asked": "gpt-4o", "model": lambda at: "gpt-4o-2024-05-13" if at.k <= 100 else "gpt-4o-2024-08-06"},
        ["the model's name changed during the run: 2 values: gpt-4o-2024-05-13 (from reply 1, 100 in all), gpt-4o-2024-08-06 (from reply 101, 60 in all); scores may mix models"],
    ),
    "an alias and its date": (
        honest,
        {"asked": "gpt-4o", "model": lambda at: "gpt-4o" if at.k % 2 else "gpt-4o-2024-08-06"},
        [],
    ),
    "a router": (
        honest,
        {"asked": "auto", "model": lambda at: f"model-{at.k % 7}"},
        ["asked for auto, answered as model-1, model-2, model-3, model-4 and 3 more in 160 of 160 replies", "the model's name changed during the run: 7 values: model-1 (from reply 1, 23 in all), "],
    ),
    "fingerprints that change": (
        honest,
        {"fingerprint": lambda at: "fp_a" if at.k < 31 else "fp_b"},
        ["system_fingerprint or provider changed during the run: 2 values: fp_a (from reply 1, 30 in all), fp_b (from reply 31, 130 in all); scores may mix versions"],
    ),
    "one fingerprint": (honest, {"fingerprint": "fp_a"}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_said(name):
    say, how, expected = SCENARIOS[name]
    said = watched(say, **how).notes()
    assert len(said) == len(expected), said
    for note, beginning in zip(said, expected, strict=True):
        assert note.startswith(beginning) or (beginning[0] == " " and beginning in note)
        assert "\n" not in note


def test_notes_are_said_once_each_and_looking_changes_nothing():
    watch = watched(lambda at: words(at.q))
    assert watch.notes() == watch.notes()
    assert watched(lambda at: words(at.q), requests=0).notes() == []
    assert DuplicateDetector(0, 0, temperature=1.0, requested_name="m").notes() == []


def test_a_reply_without_choices_counts_for_its_name_only():
    watch = DuplicateDetector(1, 1, temperature=1.0, requested_name="m")
    watch.record_reply(0, 0, Reply((), model="other"))
    assert watch.notes() == ["asked for m, answered as other in 1 of 1 replies"]


def test_prompts_beyond_the_most_are_not_watched(monkeypatch):
    monkeypatch.setattr("howsure.sample.duplicates.MOST_PROMPTS", 30)
    (said,) = watched(lambda at: words(at.q)).notes()
    assert said.startswith("30 of 30 prompts")


def test_names_without_end_are_not_kept_and_cannot_write_on_a_terminal():
    named = {"model": lambda at: f"\x1b[2J{at.k}" + "x" * 10_000, "fingerprint": lambda at: f"{at.k}"}
    watch = watched(short, questions=100, requests=3, asked="m", **named)
    assert len(watch._names) <= 101
    assert len(watch._fingerprints) <= 101
    assert max(map(len, watch._names)) <= 80
    said = watch.notes()
    assert len(said) == 3
    assert sum(n for n, _ in watch._fingerprints.values()) == 300
    assert "97 more" in said[-1]
    assert all(note.isprintable() and len(note) < 700 for note in said)


def test_a_long_name_is_one_name():
    watch = watched(honest, model="x" * 500, asked="x" * 500)
    assert watch._names == {"x" * 80: [160, 1]}


def test_counts_equal_a_slow_count():
    """Independent: texts kept in lists, compared one by one."""
    rng = random.Random(5)
    watch = DuplicateDetector(30, 2, temperature=1.0, requested_name="m")
    texts = defaultdict(list)
    for _ in range(500):
        question, variant, n = rng.randrange(30), rng.randrange(2), rng.randrange(1, 6)
        said = [words(question, variant, rng.randrange(3), length=250) for _ in range(n)]
        texts[question, variant].append(said)
        watch.record_reply(question, variant, Reply(tuple(map(Choice, said))))
    within = prompts_within = across = prompts_across = 0
    for replies in texts.values():
        beside = [text == reply[0] for reply in replies for text in reply[1:]]
        later = [reply[0] == replies[0][0] for reply in replies[1:]]
        prompts_within += bool(beside)
        prompts_across += bool(later)
        within += bool(beside) and sum(beside) >= len(beside) / 2
        across += bool(later) and sum(later) >= len(later) / 2
    asked = np.arange(60) // 2
    for compared, equal, same, prompts in (
        (watch._n_beside, watch._n_copies, within, prompts_within),
        (watch._n_later, watch._n_repeated, across, prompts_across),
    ):
        telling = compared > 0
        assert (int((telling & (2 * equal >= compared)).sum()), int(telling.sum())) == (same, prompts)
        # Long enough that chance plays no part: the verdict is about the counts alone.
        found = find_repeated_texts(asked, watch._text, np.full(60, 10**6), compared, equal)
        if same >= max(5, 0.2 * prompts):
            assert (found.same, found.prompts, found.always) == (same, prompts, False)
        else:
            assert found is None


@pytest.mark.parametrize("name", ["small", "medium", "large"])
@pytest.mark.parametrize("temperature", [0.3, 1.0])
def test_simulated_models_raise_no_alarm(name, temperature):
    benchmark = load("directions-small")
    model = SimulatedModel(name, benchmark)
    watch = DuplicateDetector(len(benchmark.questions), 1, temperature=temperature, requested_name=f"simulated/{name}")
    for start in (1, 6):
        for i, question in enumerate(benchmark.questions):
            asked = tuple(range(start, start + 5))
            request = Request(benchmark.name, question.id, "v", [], asked, Settings(temperature=temperature))
            watch.record_reply(i, 0, asyncio.run(model.generate(request)))
    assert watch.notes() == []


@pytest.mark.parametrize(
    ("length", "temperature"), [(200, 1.0), (400, 1.0), (1000, 1.0), (3000, 0.7), (1000, 0.2), (4000, 0.1)]
)
def test_models_as_sharp_as_is_granted_raise_false_alarms_rarely(length, temperature):
    """Guarantee: prompts repeat independently with exp(-L / 400), less sharply when colder; below 1 in 100 runs."""
    rng = np.random.default_rng(3)
    chance = math.exp(-length / 400 * min(temperature / 0.5, 1))
    p = np.arange(200)
    alarms = sum(
        find_repeated_texts(
            p, p + 1, np.full(200, length), np.ones(200, int), rng.random(200) < chance, temperature=temperature
        )
        is not None
        for _ in range(2000)
    )
    assert alarms <= 20


@pytest.mark.parametrize(("length", "share"), [(400, 0.5), (1000, 0.2), (4000, 0.2)])
def test_copies_on_a_share_of_the_prompts_are_found(length, share):
    """By hand: with 200 prompts and chance p, 200 p + 3 sqrt(200 p (1 - p)) is 94, 28 and 0; but 40 at least."""
    p = np.arange(200)
    found = find_repeated_texts(p, p + 1, np.full(200, length), np.ones(200, int), p < 200 * share)
    assert (found.same, found.prompts, found.always) == (200 * share, 200, True)
    assert find_repeated_texts(p, p + 1, np.full(200, length), np.ones(200, int), p < 200 * share * 0.9) is None


@pytest.mark.parametrize(("length", "later"), [(400, 9), (1000, 4), (1500, 9), (3000, 30)])
def test_sharp_models_with_many_later_texts_raise_false_alarms_rarely(length, later):
    """Guarantee: the first text of a prompt has a probability of its own, exp(-L / 400) on average over the prompts."""
    rng = np.random.default_rng(5)
    mean = math.exp(-length / 400)
    p = np.arange(200)
    alarms = 0
    for _ in range(1000):
        equal = rng.binomial(later, rng.beta(mean, 1 - mean, 200))
        found = find_repeated_texts(p, p + 1, np.full(200, length), np.full(200, later), equal, are_few_enough=True)
        alarms += found is not None
    assert alarms <= 10


SAME = [
    ("gpt-4o", "gpt-4o"),
    ("gpt-4o", "gpt-4o-2024-08-06"),
    ("gpt-4", "gpt-4-0613"),
    ("openai/gpt-4o-mini", "gpt-4o-mini-2024-07-18"),
    ("gpt-4o-mini", "azure/gpt-4o-mini"),
    ("ft:gpt-4o-mini:acme::1a2b", "ft:gpt-4o-mini-2024-07-18:acme::1a2b"),
    ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
    ("claude-3-5-sonnet", "claude-3-5-sonnet@20240620"),
    ("us.anthropic.claude-3-5-sonnet-20240620-v1:0", "claude-3-5-sonnet-20240620-v1:0"),
    ("anthropic.claude-3-5-sonnet-20240620-v1:0", "claude-3-5-sonnet"),
    ("gemini-1.5-pro", "models/gemini-1.5-pro-002"),
    ("mistral-large-latest", "mistral-large-2407"),
    ("meta-llama/llama-3.1-8b-instruct:free", "meta-llama/llama-3.1-8b-instruct"),
    ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b-instruct"),
    ("local/llama-3.1-8b", "/srv/models/Llama-3.1-8B.gguf"),
    ("llama3:8b", "llama3:8b"),
    ("llama3", "llama3:latest"),
    ("accounts/fireworks/models/qwen3-8b", "qwen3-8b"),
    ("C:\\models\\phi-4.gguf", "phi-4"),
]
OTHERS = [
    ("gpt-4o-mini", "llama-3"),
    ("gpt-4o", "gpt-4o-mini"),
    ("gpt-4", "gpt-4.1"),
    ("gpt-4", "gpt-4-32k"),
    ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
    ("mistral-large-2402", "mistral-large-2407"),
    ("claude-3", "claude-3-5"),
    ("llama-3", "llama-3-70b"),
    ("llama3:8b", "llama3:70b"),
    ("llama-3.1-8b", "llama-3.1-8b.Q4_K_M.gguf"),
    ("deepseek-chat", "deepseek-v3"),
]


@pytest.mark.parametrize(("asked", "told"), SAME)
def test_names_of_one_model(asked, told):
    assert is_same_model(asked, told)
    assert is_same_model(told, asked)


@pytest.mark.parametrize(("asked", "told"), OTHERS)
def test_names_of_two_models(asked, told):
    assert not is_same_model(asked, told)
    assert not is_same_model(told, asked)


def test_a_name_is_read_in_a_time_that_grows_as_it():
    """A hostile name: no catastrophic backtracking."""
    assert not is_same_model("m", "-20" * 20_000 + "-2024-01-01x")


@pytest.mark.parametrize(("prompts", "n", "replies"), [(12, 5, 4), (40, 10, 2), (100, 2, 5), (300, 10, 5)])
def test_independent_short_answers_raise_no_false_alarm_within_and_across_replies(prompts, n, replies):
    """500 runs of a model that gives one of four answers with chances of its own for each prompt; p is 1e-6."""
    rng = np.random.default_rng(prompts)
    alarms = []
    for _ in range(500):
        watch = DuplicateDetector(prompts, 1, temperature=1.0, requested_name="m")
        chances = rng.dirichlet([0.3] * 4, prompts)
        answers = (rng.random((replies, prompts, n, 1)) > chances.cumsum(1)[None, :, None, :-1]).sum(-1)
        equal = answers == answers[:, :, :1]
        watch._text[:] = answers[0, :, 0] + 1
        watch._n_beside[:], watch._n_copies[:] = replies * (n - 1), (equal.sum(2) - 1).sum(0)
        watch._n_later[:], watch._n_repeated[:] = replies - 1, (answers[1:, :, 0] == answers[0, :, 0]).sum(0)
        alarms += [*watch._note_unequal_repeats(), *watch._note_uniform_replies()]
    assert alarms == []


def test_tokens_of_earlier_sessions_are_compared():
    """The folder holds 25 tokens for each prompt; this session's model counts 31."""
    for tokens, said in ((31, 1), (25, 0)):
        watch = DuplicateDetector(
            20, 2, temperature=1.0, requested_name="m", prompt_tokens={(q, v): 25 for q in range(20) for v in range(2)}
        )
        for question in range(20):
            watch.record_reply(question, 1, Reply((Choice(words(question)),), prompt_tokens=tokens))
        assert sum("20 of 20 prompts that were sent again" in note for note in watch.notes()) == said
