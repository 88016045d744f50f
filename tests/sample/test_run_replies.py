"""What becomes of replies as eight providers write them, from the socket to the row.

Kind of truth: written by hand from the providers' API references: the reply, and the status and score it must have. The
target of the only question is 42, and every text that is no answer says 42, so that a wrong reading shows as a score of 1.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import warnings

import pytest
from aiohttp import web
from helpers.servers import serving

import howsure
from howsure.sample.experiment import parse_experiment
from howsure.sample.run import run
from howsure.store import manifest
from howsure.store.responses import read

COLUMNS = ["status", "score", "completion", "finish_reason", "error", "attempts", "answer", "reasoning"]
SAID = "The answer is 42."


def openai(message, finish="stop", **more):
    """A chat completion with one choice."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 9, "completion_tokens": 7}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage} | more


def anthropic(*blocks, stop="end_turn", **more):
    """A message of Anthropic's API."""
    usage = {"input_tokens": 9, "output_tokens": 7}
    return {"id": "msg", "type": "message", "content": list(blocks), "stop_reason": stop, "usage": usage} | more


def gemini(*parts, finish="STOP", **more):
    """A response of generateContent."""
    candidate = {"finishReason": finish} | ({"content": {"parts": list(parts), "role": "model"}} if parts else {})
    return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 7}} | more


def completions(choice):
    """A response of the text completions protocol."""
    choices = [{"index": 0, "logprobs": None, "finish_reason": "stop"} | choice]
    return {"id": "r", "object": "text_completion", "choices": choices, "usage": {"prompt_tokens": 9}}


#: Replies with thoughts in a field, or a block, of their own: they are stored beside the completion, and not read.
IN_A_FIELD = {
    *("openrouter, reasoning field", "openrouter, reasoning only", "deepseek, reasoning field"),
    *("deepseek, reasoning to the limit", "anthropic, thinking only", "anthropic, thinking"),
    *("gemini, thought", "gemini, thought only"),
}
CALL = {"id": "t", "type": "function", "function": {"name": "answer", "arguments": '{"answer": 42}'}}
THINK = {"type": "thinking", "thinking": [{"type": "text", "text": SAID}]}
#: name: (dialect, body, status, score, completion). Where the status is "error" the reply is a failure.
REPLIES = {
    "completions, text": ("completions", completions({"text": SAID}), "ok", 1.0, SAID),
    "completions, empty": ("completions", completions({"text": ""}), "empty", 0.0, ""),
    "completions, null": ("completions", completions({"text": None}), "error", None, None),
    "completions, not a text": ("completions", completions({"text": 42}), "error", None, None),
    "completions, error beside": (
        "completions",
        completions({"text": SAID, "error": {"code": 5}}),
        "error",
        None,
        None,
    ),
    "openai, text": ("openai", openai({"content": SAID, "refusal": None}), "ok", 1.0, SAID),
    "openai, refusal": ("openai", openai({"content": None, "refusal": SAID}), "refused", 0.0, SAID),
    "openai, refusal beside empty": ("openai", openai({"content": "", "refusal": SAID}), "refused", 0.0, SAID),
    "openai, refusal after text": ("openai", openai({"content": SAID, "refusal": "I cannot"}), "refused", 0.0, SAID),
    "openai, refusal part": (
        "openai",
        openai({"content": [{"type": "refusal", "refusal": SAID}]}),
        "refused",
        0.0,
        SAID,
    ),
    "openai, tool call": (
        "openai",
        openai({"content": None, "tool_calls": [CALL]}, "tool_calls"),
        "tool-call",
        0.0,
        None,
    ),
    "openai, old function call": (
        "openai",
        openai({"content": None, "function_call": CALL["function"]}, "function_call"),
        "tool-call",
        0.0,
        None,
    ),
    "openai, text and tool call": (
        "openai",
        openai({"content": SAID, "tool_calls": [CALL]}, "tool_calls"),
        "ok",
        1.0,
        SAID,
    ),
    "openai, empty": ("openai", openai({"content": ""}), "empty", 0.0, ""),
    "openai, null": ("openai", openai({"content": None}), "empty", 0.0, None),
    "openai, blank": ("openai", openai({"content": " \n"}), "empty", 0.0, " \n"),
    "openai, absent": ("openai", openai({}), "empty", 0.0, None),
    "openai, empty and cut": ("openai", openai({"content": ""}, "length"), "length", 0.0, ""),
    "openai, null and cut": ("openai", openai({"content": None}, "length"), "length", 0.0, None),
    "openai, cut": ("openai", openai({"content": "It may be"}, "length"), "length", 0.0, "It may be"),
    "openai, filtered": ("openai", openai({"content": None}, "content_filter"), "filtered", 0.0, None),
    "openai, parts": (
        "openai",
        openai({"content": [{"type": "text", "text": "The answer "}, {"type": "output_text", "text": "is 42."}]}),
        "ok",
        1.0,
        SAID,
    ),
    "openai, parts as strings": ("openai", openai({"content": ["The answer ", "is 42."]}), "ok", 1.0, SAID),
    "azure, error beside choices": (
        "openai",
        openai({"content": SAID}, error={"code": "500", "message": "stream ended"}),
        "error",
        None,
        None,
    ),
    "openrouter, finish error": ("openai", openai({"content": SAID}, "error"), "error", None, None),
    "openrouter, error in a choice": (
        "openai",
        openai({"content": SAID})
        | {"choices": [{"message": {"content": SAID}, "error": {"code": 502, "message": "no"}}]},
        "error",
        None,
        None,
    ),
    "openrouter, reasoning field": (
        "openai",
        openai({"content": "It is 7.", "reasoning": SAID}),
        "ok",
        0.0,
        "It is 7.",
    ),
    "openrouter, reasoning only": ("openai", openai({"content": "", "reasoning": SAID}), "empty", 0.0, ""),
    "openrouter, no error": ("openai", openai({"content": SAID}, error={"code": 0, "message": ""}), "ok", 1.0, SAID),
    "deepseek, reasoning field": (
        "openai",
        openai({"content": "It is 7.", "reasoning_content": SAID}),
        "ok",
        0.0,
        "It is 7.",
    ),
    "deepseek, reasoning to the limit": (
        "openai",
        openai({"content": "", "reasoning_content": SAID}, "length"),
        "unfinished",
        0.0,
        "",
    ),
    "deepseek, out of resources": (
        "openai",
        openai({"content": SAID}, "insufficient_system_resource"),
        "error",
        None,
        None,
    ),
    "vllm, thinking closed": (
        "openai",
        openai({"content": "<think>It is 7.</think>The answer is 42."}),
        "ok",
        1.0,
        "<think>It is 7.</think>The answer is 42.",
    ),
    "vllm, thinking unclosed": ("openai", openai({"content": "<think>" + SAID}), "unfinished", 0.0, "<think>" + SAID),
    "vllm, thinking opened by the template": (
        "openai",
        openai({"content": SAID + "</think>It is 7."}),
        "ok",
        0.0,
        SAID + "</think>It is 7.",
    ),
    "vllm, thinking cut": (
        "openai",
        openai({"content": "<think>" + SAID}, "length"),
        "unfinished",
        0.0,
        "<think>" + SAID,
    ),
    "vllm, aborted": ("openai", openai({"content": SAID}, "abort"), "error", None, None),
    "vllm, NaN among log-probabilities": ("openai", openai({"content": SAID}, logprobs=float("nan")), "ok", 1.0, SAID),
    "mistral, thinking part": (
        "openai",
        openai({"content": [THINK, {"type": "text", "text": "It is 7."}]}),
        "ok",
        0.0,
        "It is 7.",
    ),
    "mistral, thinking part only": ("openai", openai({"content": [THINK]}), "empty", 0.0, None),
    "mistral, reasoning part": (
        "openai",
        openai({"content": [{"type": "reasoning", "text": SAID}, {"type": "text", "text": "Sorry."}]}),
        "unparsed",
        0.0,
        "Sorry.",
    ),
    "mistral, model length": ("openai", openai({"content": "It may be"}, "model_length"), "length", 0.0, "It may be"),
    "mistral, error": ("openai", openai({"content": SAID}, "error"), "error", None, None),
    "zhipu, sensitive": ("openai", openai({"content": ""}, "sensitive"), "filtered", 0.0, ""),
    "zhipu, network error": ("openai", openai({"content": SAID}, "network_error"), "error", None, None),
    "anthropic, text": ("anthropic", anthropic({"type": "text", "text": SAID}), "ok", 1.0, SAID),
    "anthropic, thinking": (
        "anthropic",
        anthropic({"type": "thinking", "thinking": SAID}, {"type": "text", "text": "It is 7."}),
        "ok",
        0.0,
        "It is 7.",
    ),
    "anthropic, thinking only": ("anthropic", anthropic({"type": "thinking", "thinking": SAID}), "empty", 0.0, None),
    "anthropic, redacted thinking cut": (
        "anthropic",
        anthropic({"type": "redacted_thinking", "data": "42"}, stop="max_tokens"),
        "length",
        0.0,
        None,
    ),
    "anthropic, refusal": (
        "anthropic",
        anthropic({"type": "text", "text": SAID}, stop="refusal"),
        "refused",
        0.0,
        SAID,
    ),
    "anthropic, tool use": (
        "anthropic",
        anthropic({"type": "tool_use", "name": "answer", "input": {"answer": 42}}, stop="tool_use"),
        "tool-call",
        0.0,
        None,
    ),
    "anthropic, empty": ("anthropic", anthropic(), "empty", 0.0, None),
    "anthropic, error": (
        "anthropic",
        anthropic({"type": "text", "text": SAID}) | {"type": "error", "error": {"type": "overloaded_error"}},
        "error",
        None,
        None,
    ),
    "gemini, text": ("gemini", gemini({"text": SAID}), "ok", 1.0, SAID),
    "gemini, thought": ("gemini", gemini({"text": SAID, "thought": True}, {"text": "It is 7."}), "ok", 0.0, "It is 7."),
    "gemini, thought only": ("gemini", gemini({"text": SAID, "thought": True}), "empty", 0.0, None),
    "gemini, nothing": ("gemini", gemini(), "empty", 0.0, None),
    "gemini, cut in thoughts": ("gemini", gemini(finish="MAX_TOKENS"), "length", 0.0, None),
    "gemini, safety": ("gemini", gemini(finish="SAFETY"), "filtered", 0.0, None),
    "gemini, recitation": ("gemini", gemini(finish="RECITATION"), "filtered", 0.0, None),
    "gemini, blocked prompt": (
        "gemini",
        {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}},
        "filtered",
        0.0,
        None,
    ),
    "gemini, other": ("gemini", gemini({"text": SAID}, finish="OTHER"), "error", None, None),
    "gemini, function call": (
        "gemini",
        gemini({"functionCall": {"name": "answer", "args": {"answer": 42}}}, finish="MALFORMED_FUNCTION_CALL"),
        "tool-call",
        0.0,
        None,
    ),
}


@contextlib.contextmanager
def endpoint(answer):
    """A server for every path; `answer(body, number)` returns the reply to the request with this number."""
    seen = []

    async def respond(request):
        body = json.loads(await request.read())
        seen.append(body)
        reply = answer(body, len(seen))
        return reply if isinstance(reply, web.Response) else web.Response(text=json.dumps(reply))

    app = web.Application()
    app.router.add_post("/{path:.*}", respond)
    with serving(app) as base_url:
        yield base_url, seen


def sample(tmp_path, base_url, dialect="openai", *, questions=1, generations=1, more=""):
    """Run and return the rows, in the order of questions and generations."""
    lines = [
        json.dumps({"id": f"q{i:04}", "question": f"Number {i}: 6 x 7?", "target": "42"}) for i in range(questions)
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(lines))
    text = f"""
benchmark: {{file: questions.jsonl, question: question, target: target, id: id, scorer: numeric}}
generations: {generations}
models: [{{model: m, base_url: "{base_url}", dialect: {dialect}, max_tokens: 99 {more}}}]
"""
    experiment = parse_experiment(text, base=tmp_path)

    def quick(seconds):
        return asyncio.sleep(seconds / 1000)

    outcome = asyncio.run(run(experiment, tmp_path / "run", sleep=quick))
    table = read(tmp_path / "run", ["question", "generation", *COLUMNS]).to_pylist()
    return outcome, sorted(table, key=lambda row: (row["question"], row["generation"]))


@pytest.mark.parametrize("name", REPLIES)
def test_the_table_of_replies(tmp_path, name):
    """The reply in question comes first, a whole one later: a failure is asked for again, anything else is not."""
    dialect, body, status, score, completion = REPLIES[name]
    whole = {"openai": openai({"content": SAID}), "anthropic": anthropic({"type": "text", "text": SAID})}
    whole |= {"gemini": gemini({"text": SAID}), "completions": completions({"text": SAID})}

    with endpoint(lambda _, number: body if number == 1 else whole[dialect]) as (base_url, seen):
        _, (row,) = sample(tmp_path, base_url, dialect)
    if status == "error":
        assert len(seen) == 2
        assert (row["status"], row["score"], row["completion"], row["attempts"]) == ("ok", 1.0, SAID, 2)
    else:
        assert len(seen) == 1
        assert (row["status"], row["score"], row["completion"]) == (status, score, completion)
        assert row["error"] is None
        assert (row["answer"] is None) == (status != "ok")
        assert row["reasoning"] == (SAID if name in IN_A_FIELD else None)


def test_the_choices_of_a_reply_that_failed_are_asked_for_again(tmp_path):
    """Of ten choices three failed: seven are kept with their generations, three are asked for by the next request."""

    def answer(body, number):
        reply = openai({"content": SAID})
        texts = [f"Try {number}, choice {i}. {SAID}" for i in range(body.get("n", 1))]
        reply["choices"] = [{"message": {"content": text}, "finish_reason": "stop"} for text in texts]
        if number == 1:
            for i in (0, 4, 9):
                reply["choices"][i]["finish_reason"] = "error"
        return reply

    with endpoint(answer) as (base_url, seen):
        _, rows = sample(tmp_path, base_url, generations=10)
    assert [body.get("n", 1) for body in seen] == [10, 3]
    expected = [f"Try 1, choice {i}" for i in range(10)]
    for i, generation in enumerate((0, 4, 9)):
        expected[generation] = f"Try 2, choice {i}"
    assert [row["completion"].partition(".")[0] for row in rows] == expected


def test_a_choice_that_always_fails_is_a_row_with_its_reason(tmp_path):
    def answer(body, _):
        reply = openai({"content": SAID})
        reply["choices"] *= body.get("n", 1)
        reply["choices"][-1] = {"message": {"content": SAID}, "finish_reason": "abort"}
        return reply

    with endpoint(answer) as (base_url, _):
        _, rows = sample(tmp_path, base_url, questions=30, generations=3)
    failed = [row for row in rows if row["score"] is None]
    assert len(rows) == 90
    assert 0 < len(failed) <= 30
    assert {row["error"].partition(":")[0] for row in failed} == {"failed_reply"}
    assert {row["completion"] for row in failed} == {None}


def test_what_has_no_answer_and_what_is_not_known_is_said_in_one_line_each(tmp_path):
    kinds = [({"content": ""}, "stop"), ({"content": None, "refusal": "No."}, "stop"), ({"content": SAID}, "sleepy")]

    def answer(body, _):
        message, finish = kinds[int(body["messages"][-1]["content"].split("Number ")[1].split(":")[0]) % 3]
        return openai(message, finish)

    with endpoint(answer) as (base_url, _):
        outcome, rows = sample(tmp_path, base_url, questions=30)
    assert sum(row["score"] for row in rows) == 10
    for what in ("10 generations have no text", "10 generations are refusals", "10 generations ended", "'sleepy' (10)"):
        assert sum(what in warning for warning in outcome.warnings) == 1
        [line] = [line for line in manifest.load(tmp_path / "run").warnings if what in line]
        assert manifest.load(tmp_path / "run").warned_benchmarks[line] == ("questions",)


def test_generations_that_are_not_whole_are_said_and_scored(tmp_path):
    """By hand: of 30 texts 10 are cut off and 10 filtered, and all of them say the right answer."""
    finishes = ["length", "content_filter", "stop"]

    def answer(body, _):
        return openai(
            {"content": SAID}, finishes[int(body["messages"][-1]["content"].split("Number ")[1].split(":")[0]) % 3]
        )

    with endpoint(answer) as (base_url, _):
        outcome, rows = sample(tmp_path, base_url, questions=30)
    assert sum(row["score"] for row in rows) == 30
    rest = "they are scored by what was said, their rows have the status"
    for what in (
        f"10 generations were cut off by the limit of tokens; {rest} 'length'",
        f"10 generations were stopped by a content filter; {rest} 'filtered'",
    ):
        assert sum(what in warning for warning in outcome.warnings) == 1
        assert sum(what in line for line in manifest.load(tmp_path / "run").warnings) == 1


def test_a_text_completion_is_sent_as_one_text(tmp_path):
    with endpoint(lambda *_: completions({"text": SAID, "finish_reason": "length"})) as (base_url, seen):
        _, (row,) = sample(tmp_path, base_url, "completions")
    assert (row["status"], row["score"], row["completion"]) == ("length", 1.0, SAID)
    (body,) = seen
    assert body["prompt"] == "Number 0: 6 x 7?\n\nEnd your reply with your answer in this form:\nAnswer: <answer>"
    assert body.keys() == {"model", "prompt", "max_tokens"}


@pytest.mark.parametrize("chained", [True, False])
def test_a_server_whose_seeds_begin_anew_with_each_request_is_told(tmp_path, chained):
    """By construction: choice i of every reply is drawn with seed i, as where a fixed seed is counted up; a server that
    goes on with its seeds raises no warning."""
    right = {i: 0.2 + 0.6 * i / 99 for i in range(100)}
    fresh = random.Random(3)

    def answer(body, _):
        i = int(re.search(r"Number (\d+)", body["messages"][0]["content"])[1])
        draws = [(random.Random(40 + choice) if chained else fresh).random() for choice in range(body["n"])]
        choices = [
            {"index": k, "message": {"content": "42" if u < right[i] else f"4{u:.6f}"}, "finish_reason": "stop"}
            for k, u in enumerate(draws)
        ]
        return {"id": f"r{i}", "choices": choices}

    with endpoint(answer) as (base_url, _):
        sample(tmp_path, base_url, questions=100, generations=5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        howsure.read(tmp_path / "run").cells()
    lines = [str(one.message) for one in caught if "questions share seeds" in str(one.message)]
    assert len(lines) == chained
