"""Keys, control characters and formulas in texts that others wrote.

Kinds of truth: keys in the forms that vendors document, placeholders that local servers document, and what a
spreadsheet or a terminal runs.
"""

import base64
import itertools

import pytest

from howsure import safe_text
from howsure.safe_text import redact

PLACEHOLDERS = ["none", "EMPTY", "ollama", "lm-studio", "dummy", "x", "answer", "content", "1", '"', "tokens"]
WORDS = [*PLACEHOLDERS, "sk-no-key-required", "not-needed", "token-abc123", "the quick brown fox 12"]


@pytest.mark.parametrize("key", WORDS)
def test_what_a_model_may_say_is_never_changed(key):
    said = f"the answer is {key}, or {key}{key}"
    assert safe_text.redact_completion(said, key) == said


@pytest.mark.parametrize("key", PLACEHOLDERS)
def test_a_placeholder_is_no_secret(key):
    assert safe_text.redact(f"wrong: {key}", key) == f"wrong: {key}"


@pytest.mark.parametrize("key", ["sk-planted-0123456789", "sk-planted/0123456789+abc=xyz", "0f" * 20, "A1" + "b" * 30])
def test_a_real_key_is_redacted_everywhere(key):
    assert safe_text.redact(f"wrong: {key}", key) == "wrong: ***"
    assert safe_text.redact_completion(f"I got {key}", key) == "I got ***"


SECRETS = [
    {"x-api-key": "1234"},
    {"X-API-KEY": "1234"},
    {"access_token": "1234"},
    {"accessToken": "1234"},
    {"bearer": "1234"},
    {"headers": {"Authorization": "1234"}},
    {"extra_headers": {"api-key": "1234"}},
    {"extra_headers": {"Ocp-Apim-Subscription-Key": "1234"}},
    {"provider": {"apiKey": "1234"}},
    {"provider": [{"deep": [{"client_secret": "1234"}]}]},
    {"tools": [{"type": "mcp", "authorization": "1234"}]},
    {"auth": {"user": "a", "password": "b"}},
    {"cookie": "session=1"},
    {"token": "1234"},
    {"refresh_token": "1234"},
    {"hf_token": "1234"},
    {"user": "Bearer 0123456789abcdef"},
    {"metadata": {"note": "sk-proj-0123456789abcdefghij"}},
    {"metadata": ["hf_0123456789abcdefghijklmnop"]},
    {"metadata": {"aws": "AKIA0123456789ABCDEF"}},
    {"metadata": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0"},
]
HARMLESS = [
    {"logit_bias": {"50256": -100}},
    {"eos_token": "</s>", "pad_token": "<pad>", "stop_token": "x", "image_token": "<i>"},
    {"max_completion_tokens": 100, "min_tokens": 5, "stop_token_ids": [1, 2], "token_type_ids": [0]},
    {"key": None, "token": "", "use_cache": True},
    {"reasoning": {"effort": "high"}, "chat_template_kwargs": {"enable_thinking": False}},
    {"response_format": {"type": "json_object"}, "guided_regex": "[A-D]"},
    {"user": "sk-learn user", "metadata": {"task": "bearer of news"}, "author": "someone", "keyword": "a"},
    {"prompt_cache_key": 1, "top_k": 5, "repetition_penalty": 1.1, "tokenizer": "name", "monkey": "a"},
]


@pytest.mark.parametrize("extra", SECRETS, ids=str)
def test_a_secret_is_found_at_any_depth(extra):
    assert list(safe_text.find_secret_fields(extra))


@pytest.mark.parametrize("extra", HARMLESS, ids=str)
def test_settings_of_the_decoding_are_no_secrets(extra):
    assert not list(safe_text.find_secret_fields(extra))


def test_an_extra_without_end_is_searched_without_recursion():
    nested: dict = {"authorization": "1234"}
    for _ in range(100_000):
        nested = {"a": nested}
    [(place, name)] = safe_text.find_secret_fields(nested)
    assert (len(place), name) == (100_001, "authorization")


@pytest.mark.parametrize(
    "text", ["\x1b[2J", "\x1b]52;c;YQ==\x07", "a\rb", "a\nb", "\x9b31m", "\x7f", "\u202e", "\u200b", "\ud800", "\x00"]
)
def test_nothing_that_steers_a_terminal_remains(text):
    safe = safe_text.escape_control_characters(text)
    assert safe.isprintable()
    assert safe.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("@SUM(1)", "'@SUM(1)"),
        ("+1+cmd|'x'", "'+1+cmd|'x'"),
        ("-2+3+cmd", "'-2+3+cmd"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("＝1", "'＝1"),
        ("-0.5", "-0.5"),
        ("+3", "+3"),
        ("-inf", "-inf"),
        ("gpt-4", "gpt-4"),
        ("", ""),
    ],
)
def test_a_spreadsheet_runs_no_cell(text, expected):
    assert safe_text.neutralise_formula(text) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("http://me:secret@host/v1", "http://host/v1"),
        ("me:secret@host/v1", "host/v1"),
        ("https://host/v1?api_key=secret#secret", "https://host/v1"),
        ("https://host/v1;key=secret/x", "https://host/v1/x"),
        ("https://host/sk-planted-0123456789/v1", "https://host/***/v1"),
        ("https://host/v1/3a7bd3e2360a3d29eea436fcfb7e44c7/openai", "https://host/v1/***/openai"),
        ("https://r.openai.azure.com/openai/deployments/gpt-4o-2024-08-06", None),
        ("https://generativelanguage.googleapis.com/v1beta/openai", None),
        ("http://[::1]:8000/v1", None),
    ],
)
def test_an_address_is_shown_without_secrets(address, expected):
    assert safe_text.mask_address(address) == (expected or address)


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("key", ["sk-0123456789", "sk-abcdefgh12345678ijkl", "??>>~~0123456789ÿ"])
def test_a_key_in_base64_is_redacted_whatever_stands_before_and_behind_it(key, encode):
    for before, behind in itertools.product(("", ":", "me", "user:", "{'a': "), ("", "\n", "x", "'}")):
        sent = encode(f"{before}{key}{behind}".encode()).decode()
        assert redact(f"bad key {sent}, sent to us", key) == "bad key ***, sent to us"
        assert redact(f"bad key {sent.rstrip('=')}", key) == "bad key ***"
    other = encode(b"sk-another-key-of-somebody").decode()
    assert redact(f"bad key {other}", key) == f"bad key {other}"
