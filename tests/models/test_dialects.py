"""Vendors' dialects, ours and those of the library's SDKs, against a real server on 127.0.0.1 that speaks them.

Kinds of truth: another program's output (the vendors' SDKs send the same request and read the same reply), and theory
(what must become of each answer that the vendors document).
"""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import web
from helpers.scripted_model import sums

from howsure.errors import EndpointError, FatalEndpointError
from howsure.models.anthropic import AnthropicEndpoint
from howsure.models.any_llm import AnyLLMModel
from howsure.models.gemini import GeminiEndpoint
from howsure.models.model import Request, Settings

KEY = "sk-planted-0123456789"
ASKED = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is 1+0?"},
    {"role": "assistant", "content": "= 1"},
    {"role": "user", "content": "What is 1+1?"},
]
FULL = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 77, "stop": ("END", "\n\n")}


def request(n=1, **settings):
    return Request("sums", sums(1).questions[0].id, "v", ASKED, tuple(range(1, n + 1)), Settings(**settings))


def anthropic(text="= 2", stop_reason="end_turn", thoughts=False, **usage):
    content = [{"type": "text", "text": text}] if text is not None else []
    if thoughts:
        content.insert(0, {"type": "thinking", "thinking": "1+1 is 3?", "signature": "s"})
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-1", "content": content,
        "stop_reason": stop_reason, "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 4} | usage,
    }  # fmt: skip


def gemini(*texts, reason="STOP", **usage):
    candidates = [
        {"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": reason, "index": i}
        for i, text in enumerate(texts or ["= 2"])
    ]
    for candidate in candidates:
        if candidate["content"]["parts"][0]["text"] is None:
            del candidate["content"]
    counts = {"promptTokenCount": 11, "candidatesTokenCount": 4, "totalTokenCount": 15} | usage
    return {"candidates": candidates, "usageMetadata": counts, "modelVersion": "gemini-x-1", "responseId": "r1"}


def azure(n=1):
    choices = [
        {"index": i, "message": {"role": "assistant", "content": "= 2"}, "finish_reason": "stop"} for i in range(n)
    ]
    usage = {"prompt_tokens": 11, "completion_tokens": 4 * n, "total_tokens": 11 + 4 * n}
    return {
        "id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-x-1", "system_fingerprint": "fp",
        "choices": choices, "usage": usage,
    }  # fmt: skip


def bedrock():
    message = {"role": "assistant", "content": [{"text": "= 2"}]}
    usage = {"inputTokens": 11, "outputTokens": 4, "totalTokens": 15}
    return {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}


ANSWERS = {"anthropic": anthropic, "gemini": gemini, "azure": azure, "azureanthropic": anthropic, "bedrock": bedrock}
OURS = ["anthropic", "gemini"]
ALL = list(ANSWERS)


@pytest.fixture(autouse=True)
def aws(monkeypatch):
    for name, value in {"ACCESS_KEY_ID": "id", "SECRET_ACCESS_KEY": KEY, "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)


def opened(dialect, base_url, **keys):
    """A model that speaks it."""
    if dialect in OURS:
        return (AnthropicEndpoint if dialect == "anthropic" else GeminiEndpoint)(
            base_url, f"{dialect}-x", key=KEY, **keys
        )
    pytest.importorskip("any_llm", reason="the extra howsure[providers] is not installed")
    if dialect == "bedrock":
        pytest.importorskip("boto3", reason="any-llm-sdk[bedrock] is not installed")
    # Over plain HTTP its SDK signs with the secret of the environment, and sends no key.
    key = "" if dialect == "bedrock" else KEY
    return AnyLLMModel(f"{dialect}/{dialect}-x", key=key, base_url=base_url, **keys)


def asking(call, *, answer=None, status=200, headers=None, wait=0.0, raw=None):
    """What `call(base_url)` makes of an answer, and (path, headers, body) of each request that the server got."""
    seen = []

    async def answers(incoming):
        seen.append((incoming.raw_path, dict(incoming.headers), await incoming.json()))
        await asyncio.sleep(wait)
        if raw is not None:
            return web.Response(text=raw, status=status, headers=headers, content_type="application/json")
        return web.json_response(answer, status=status, headers=headers)

    async def go():
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", answers)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        try:
            return await call(f"http://{host}:{port}")
        finally:
            await runner.cleanup()

    return asyncio.run(go()), seen


def told(dialect, *, asked=None, base_url=None, timeout=None, **server):
    """The reply, or the failure, of one request in a dialect, and what the server got."""

    async def call(here):
        model = opened(dialect, base_url or here, timeout=timeout)
        try:
            return await model.generate(asked or request())
        except EndpointError as error:
            return error
        finally:
            await model.close()

    return asking(call, **server)


@pytest.mark.parametrize("dialect", ALL)
def test_a_reply_keeps_text_usage_and_what_the_provider_said_it_is(dialect):
    reply, seen = told(dialect, answer=ANSWERS[dialect]())
    assert not isinstance(reply, Exception), reply
    assert [(choice.text, choice.finish_reason) for choice in reply.choices] == [("= 2", "stop")]
    assert (reply.prompt_tokens, reply.completion_tokens, reply.surplus) == (11, 4, 0)
    assert dialect == "bedrock" or reply.model.endswith("-x-1")
    assert reply.seconds > 0
    assert len(seen) == 1


def test_anthropic_is_asked_as_its_sdk_asks():
    sdk = pytest.importorskip("anthropic")

    async def call(base_url):
        async with sdk.AsyncAnthropic(api_key=KEY, base_url=base_url) as client:
            return await client.messages.create(
                model="anthropic-x", max_tokens=77, system="Be brief.", messages=ASKED[1:], temperature=0.5, top_p=0.9,
                stop_sequences=["END", "\n\n"], thinking={"type": "adaptive"},
            )  # fmt: skip

    usage = {"cache_read_input_tokens": 5, "cache_creation_input_tokens": 7}
    answer = anthropic("= ", "max_tokens", thoughts=True, **usage)
    theirs, [(path, headers, body)] = asking(call, answer=answer)
    asked = request(**FULL, extra={"thinking": {"type": "adaptive"}})
    ours, [(our_path, our_headers, our_body)] = told("anthropic", answer=answer, asked=asked)
    assert (our_path, our_body) == (path, body)
    for name in ("X-Api-Key", "anthropic-version"):
        assert {k.lower(): v for k, v in our_headers.items()}[name.lower()] == headers[name]
    assert [choice.text for choice in ours.choices] == [b.text for b in theirs.content if b.type == "text"]
    assert (ours.request, ours.model) == (theirs.id, theirs.model)
    used = theirs.usage
    prompt = used.input_tokens + used.cache_read_input_tokens + used.cache_creation_input_tokens
    assert (ours.prompt_tokens, ours.completion_tokens) == (prompt, used.output_tokens) == (23, 4)


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
def test_gemini_is_asked_as_its_sdk_asks():
    genai = pytest.importorskip("google.genai")
    contents = [
        {"role": "model" if message["role"] == "assistant" else "user", "parts": [{"text": message["content"]}]}
        for message in ASKED[1:]
    ]
    config = {
        "system_instruction": {"parts": [{"text": "Be brief."}]}, "temperature": 0.5, "top_p": 0.9, "candidate_count": 2,
        "max_output_tokens": 77, "stop_sequences": ["END", "\n\n"], "top_k": 5,
    }  # fmt: skip

    async def call(base_url):
        client = genai.Client(api_key=KEY, http_options={"base_url": base_url}).aio
        try:
            return await client.models.generate_content(model="gemini-x", contents=contents, config=config)
        finally:
            await client.aclose()

    answer = gemini("= 2", "= 3", thoughtsTokenCount=9)
    answer["candidates"][0]["content"]["parts"].insert(0, {"text": "Hm.", "thought": True})
    theirs, [(path, headers, body)] = asking(call, answer=answer)
    extra = {"generationConfig": {"topK": 5}}
    ours, [(our_path, our_headers, our_body)] = told("gemini", answer=answer, asked=request(2, **FULL, extra=extra))
    assert (our_path, our_headers["x-goog-api-key"]) == (path, headers["x-goog-api-key"]) == (path, KEY)
    assert our_body == body
    said = ["".join(part.text for part in one.content.parts if not part.thought) for one in theirs.candidates]
    assert [choice.text for choice in ours.choices] == said == ["= 2", "= 3"]
    used = theirs.usage_metadata
    assert (ours.prompt_tokens, ours.completion_tokens) == (
        used.prompt_token_count,
        used.candidates_token_count + used.thoughts_token_count,
    )
    assert (ours.request, ours.model) == (theirs.response_id, theirs.model_version)


def test_what_nobody_set_is_not_sent():
    _, [(_, _, body)] = told("anthropic", answer=anthropic(), asked=request())
    assert set(body) == {"model", "messages", "system", "max_tokens"}
    assert body["max_tokens"] == 8192
    _, [(_, _, body)] = told("gemini", answer=gemini())
    assert set(body) == {"contents", "systemInstruction"}


@pytest.mark.parametrize(
    ("dialect", "address", "path"),
    [("anthropic", "/gate/v1/", "/gate/v1/messages"), ("gemini", "/v1beta", "/v1beta/models/gemini-x:generateContent")],
)
def test_an_address_may_end_in_the_version(dialect, address, path):
    async def call(base_url):
        model = opened(dialect, base_url + address)
        try:
            return await model.generate(request())
        finally:
            await model.close()

    _, [(asked, _, _)] = asking(call, answer=ANSWERS[dialect]())
    assert asked == path


@pytest.mark.parametrize("dialect", ["anthropic", "azureanthropic"])
def test_a_provider_without_n_says_so_before_anything_is_sent(dialect):
    error, seen = told(dialect, asked=request(2))
    assert (error.reason, error.most) == ("n_rejected", 1)
    assert not seen


def test_a_provider_with_n_is_asked_for_all_at_once():
    reply, [(_, _, body)] = told("azure", answer=azure(3), asked=request(3))
    assert body["n"] == 3
    assert [choice.text for choice in reply.choices] == ["= 2"] * 3
    assert (reply.fingerprint, reply.request, reply.completion_tokens) == ("fp", "c1", 12)


@pytest.mark.parametrize(("dialect", "answer"), [("azure", azure(3)), ("gemini", gemini("= 2", "= 2", "= 2"))])
def test_choices_nobody_asked_for_are_counted_and_left(dialect, answer):
    reply, _ = told(dialect, answer=answer, asked=request(2))
    assert (len(reply.choices), reply.surplus) == (2, 1)


@pytest.mark.parametrize(
    ("dialect", "answer", "text", "reason"),
    [
        ("anthropic", anthropic("= ", "max_tokens"), "= ", "length"),
        ("anthropic", anthropic(None, "max_tokens", thoughts=True), None, "length"),
        ("anthropic", anthropic("= ", "model_context_window_exceeded"), "= ", "length"),
        ("anthropic", anthropic(None, "refusal"), None, "refusal"),
        ("anthropic", anthropic("= 2", "stop_sequence"), "= 2", "stop"),
        ("anthropic", anthropic("", "end_turn"), "", "stop"),
        ("anthropic", anthropic("= 2", "pause_turn"), "= 2", "pause_turn"),
        ("anthropic", anthropic("= 2", None), "= 2", None),
        ("azureanthropic", anthropic("= ", "max_tokens"), "= ", "length"),
        ("azureanthropic", anthropic(None, "refusal"), None, "content_filter"),
        ("gemini", gemini("= ", reason="MAX_TOKENS"), "= ", "length"),
        ("gemini", gemini(None, reason="MAX_TOKENS"), None, "length"),
        ("gemini", gemini(None, reason="SAFETY"), None, "content_filter"),
        ("gemini", gemini("= ", reason="RECITATION"), "= ", "content_filter"),
        ("gemini", gemini(None, reason="OTHER"), None, "other"),
        ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, None, "content_filter"),
    ],
)
def test_finish_reasons_are_those_that_scoring_knows(dialect, answer, text, reason):
    reply, _ = told(dialect, answer=answer)
    assert [(choice.text, choice.finish_reason) for choice in reply.choices] == [(text, reason)]


def test_a_blocked_prompt_brings_no_generation_of_it():
    answer = {"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": {"promptTokenCount": 5}}
    reply, _ = told("gemini", answer=answer, asked=request(3))
    assert [choice.finish_reason for choice in reply.choices] == ["content_filter"] * 3
    assert (reply.prompt_tokens, reply.completion_tokens) == (5, 0)


@pytest.mark.parametrize(
    ("dialect", "usage", "tokens"),
    [
        ("anthropic", {"input_tokens": "many"}, (None, None)),
        ("anthropic", {"input_tokens": -1, "output_tokens": 4}, (None, 4)),
        ("gemini", {"promptTokenCount": {}}, (None, None)),
    ],
)
def test_usage_that_cannot_be_read_loses_no_text(dialect, usage, tokens):
    answer = ANSWERS[dialect]()
    answer["usage" if dialect == "anthropic" else "usageMetadata"] = usage
    reply, _ = told(dialect, answer=answer)
    assert reply.choices[0].text == "= 2"
    assert (reply.prompt_tokens, reply.completion_tokens) == tokens


def refused(dialect, status, message, kind="api_error"):
    if dialect.endswith("anthropic"):
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    if dialect == "bedrock":
        return {"message": message}
    return {"error": {"code": status, "message": message, "status": kind.upper()}}


FAILURES = [
    ("anthropic", 401, f"invalid x-api-key {KEY}", "unauthorized"),
    ("anthropic", 403, "your key has no permission", "unauthorized"),
    ("anthropic", 404, "model: claude-x", "not_found"),
    ("anthropic", 400, "max_tokens: the author is wrong", "bad_request"),
    ("anthropic", 400, "Your credit balance is too low", "quota"),
    ("anthropic", 413, "Request exceeds the maximum size", "too_large"),
    ("anthropic", 429, "rate limit", "rate_limit"),
    ("anthropic", 500, "Internal server error", "server"),
    ("anthropic", 504, "took too long", "timeout"),
    ("anthropic", 529, "Overloaded", "server"),
    ("gemini", 400, f"API key not valid: {KEY}", "unauthorized"),
    ("gemini", 400, "temperature is out of range", "bad_request"),
    ("gemini", 403, "permission denied", "unauthorized"),
    ("gemini", 404, "models/gemini-x is not found", "not_found"),
    ("gemini", 429, "Resource has been exhausted", "rate_limit"),
    ("gemini", 503, "The model is overloaded", "server"),
    ("azure", 401, f"Access denied, {KEY}", "unauthorized"),
    ("azure", 404, "The deployment does not exist", "not_found"),
    ("azure", 429, "Too many requests", "rate_limit"),
    ("azure", 500, "The server had an error", "server"),
    ("azureanthropic", 400, "max_tokens: the author is wrong", "bad_request"),
    ("azureanthropic", 400, "Your credit balance is too low", "quota"),
    ("azureanthropic", 401, f"invalid key {KEY}", "unauthorized"),
    ("azureanthropic", 529, "Overloaded", "server"),
    ("bedrock", 400, "The provided model identifier is invalid.", "bad_request"),
    ("bedrock", 403, f"the security token {KEY} is invalid", "unauthorized"),
    ("bedrock", 429, "Too many tokens, please wait", "rate_limit"),
    ("bedrock", 503, "Bedrock is unable to process your request", "server"),
]


@pytest.mark.parametrize(("dialect", "status", "message", "reason"), FAILURES)
def test_refusals_become_ours_are_sent_once_and_hold_no_key(dialect, status, message, reason):
    error, seen = told(dialect, answer=refused(dialect, status, message), status=status)
    assert isinstance(error, EndpointError)
    assert (error.reason, error.status) == (reason, status)
    assert isinstance(error, FatalEndpointError) == (reason in {"unauthorized", "not_found", "quota"})
    assert len(seen) == 1, "it was tried again"
    assert KEY not in str(error)
    assert message.replace(KEY, "***") in str(error)
    assert "{" not in str(error)
    assert error.__context__ is None or error.__suppress_context__


@pytest.mark.parametrize(
    ("message", "most"),
    [
        ("Multiple candidates is not enabled for this model", None),
        ("Only one candidate can be specified", None),
        ("candidateCount must be 1 but the entered value was 3.", None),
        ("generation_config.candidate_count: must be in the range [1, 2].", 2),
    ],
)
def test_gemini_models_without_candidates_are_known_by_what_they_say(message, most):
    error, _ = told("gemini", answer=refused("gemini", 400, message), status=400, asked=request(3))
    assert (error.reason, error.most) == ("n_rejected", most)
    one, _ = told("gemini", answer=refused("gemini", 400, message), status=400)
    assert one.reason == "bad_request"


def exhausted(quota):
    """A 429 in the shape of google.rpc.Status."""
    return {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
            ],
        }
    }


def test_gemini_says_in_the_body_how_long_to_wait_and_that_the_day_is_over():
    error, _ = told("gemini", answer=exhausted("GenerateRequestsPerMinutePerProjectPerModel"), status=429)
    assert (error.reason, error.retry_after) == ("rate_limit", 34.5)
    error, _ = told("gemini", answer=exhausted("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), status=429)
    assert isinstance(error, FatalEndpointError)
    assert error.reason == "quota"


@pytest.mark.parametrize("dialect", ["anthropic", "gemini", "azureanthropic"])
@pytest.mark.parametrize("status", [429, 529])
def test_the_wait_that_is_asked_for_is_kept(dialect, status):
    body = refused(dialect, status, "later")
    error, _ = told(dialect, answer=body, status=status, headers={"Retry-After": "17"})
    assert error.retry_after == 17.0


def test_anthropic_tells_its_limits_per_minute():
    headers = {"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-tokens-limit": "80000"}
    reply, _ = told("anthropic", answer=anthropic(), headers=headers)
    assert (reply.limits.requests, reply.limits.tokens) == (50, 80000)


@pytest.mark.parametrize("dialect", ALL)
def test_a_hung_answer_is_a_timeout(dialect):
    error, _ = told(dialect, answer=ANSWERS[dialect](), wait=0.6, timeout=0.2)
    assert error.reason == "timeout"
    assert "0.2 s" in str(error)


@pytest.mark.parametrize("dialect", ALL)
def test_nobody_there_is_a_connection_failure(dialect):
    error, _ = told(dialect, base_url="http://127.0.0.1:9")
    assert error.reason == "connection", error


@pytest.mark.parametrize("raw", ['{"content": [', '{"unknown": 1}', '{"content": 1, "candidates": 1}', "<html>"])
@pytest.mark.parametrize("dialect", ALL)
def test_a_malformed_answer_is_a_failure_that_may_pass(dialect, raw):
    error, _ = told(dialect, raw=raw)
    assert isinstance(error, EndpointError), error
    assert not isinstance(error, FatalEndpointError)
    assert error.reason in {"malformed", "empty", "server"}


@pytest.mark.parametrize("dialect", OURS)
def test_an_error_that_comes_with_status_200(dialect):
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    error, _ = told(dialect, answer=body)
    assert (error.reason, str(error)) == ("server", "HTTP 500: Overloaded")


@pytest.mark.parametrize("dialect", OURS)
def test_a_reply_in_too_many_parts_is_not_cut(dialect):
    answer = ANSWERS[dialect]()
    parts = answer["content"] if dialect == "anthropic" else answer["candidates"][0]["content"]["parts"]
    parts *= 257
    error, _ = told(dialect, answer=answer)
    assert error.reason == "malformed"


@pytest.mark.parametrize("dialect", ALL)
def test_a_key_in_a_completion_is_blanked(dialect):
    raw = json.dumps(ANSWERS[dialect]()).replace("= 2", f"my key is {KEY}")
    # JSON can write it so that no search in the body finds it.
    for body in (raw, raw.replace("sk-planted", "\\u0073k-planted")):
        reply, _ = told(dialect, raw=body)
        assert reply.choices[0].text == "my key is ***"
