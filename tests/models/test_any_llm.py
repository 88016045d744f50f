"""Models behind any-llm: how it is opened, and what it does that no server can show. See test_dialects.py as well.

Kind of truth: theory (what must become of each case).
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import types

import pytest
from helpers.scripted_model import sums

from howsure.errors import EndpointError, InputError, UnknownNameError
from howsure.models.any_llm import ALIASES, PROVIDERS, AnyLLMModel, is_provider
from howsure.models.model import Request, Settings

KEY = "sk-planted-0123456789"


def request():
    return Request("sums", sums(1).questions[0].id, "v", [{"role": "user", "content": "1+1?"}], (1,), Settings())


def test_the_providers_own_variable_is_read_and_blanked_too(monkeypatch):
    pytest.importorskip("any_llm", reason="the extra howsure[providers] is not installed")
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    model = AnyLLMModel("openrouter/claude-x")
    assert KEY not in repr(model)
    assert model._redact(f"x {KEY}") == "x ***"
    asyncio.run(model.close())


def test_no_key_is_told_with_the_variable(monkeypatch):
    pytest.importorskip("any_llm", reason="the extra howsure[providers] is not installed")
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(InputError, match="no key for openrouter; export OPENROUTER_API_KEY"):
        AnyLLMModel("openrouter/claude-x")


def test_azure_without_an_address_is_told(monkeypatch):
    pytest.importorskip("any_llm", reason="the extra howsure[providers] is not installed")
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(InputError, match="azureopenai cannot be called: .*AZURE_OPENAI_ENDPOINT"):
        AnyLLMModel("azure/gpt-x", key=KEY)


def test_an_unknown_provider_is_told():
    with pytest.raises(UnknownNameError, match="unknown provider 'mistal'; did you mean 'mistral'"):
        AnyLLMModel("mistal/small", key=KEY)
    assert not is_provider("mistal")


def test_without_the_extra_the_remedy_is_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "any_llm", None)
    with pytest.raises(
        InputError, match=r'openrouter models need the library any-llm; pip install "howsure\[providers\]"'
    ):
        AnyLLMModel("openrouter/claude-x", key=KEY)


def test_a_provider_whose_sdk_is_not_installed_is_told(monkeypatch):
    pytest.importorskip("any_llm", reason="the extra howsure[providers] is not installed")
    monkeypatch.setitem(sys.modules, "ibm_watsonx_ai", None)
    with pytest.raises(InputError, match=r"watsonx models need a library .*any-llm-sdk\[watsonx\]"):
        AnyLLMModel("watsonx/granite", key=KEY)


def test_every_name_that_a_file_may_use_is_known_to_the_library():
    any_llm = pytest.importorskip("any_llm", reason="the extra howsure[providers] is not installed")
    known = set(any_llm.AnyLLM.get_supported_providers())
    assert {ALIASES.get(name, name) for name in PROVIDERS} <= known


def test_reading_an_experiment_does_not_import_the_library():
    code = "import sys, howsure.models.any_llm; sys.exit('any_llm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class RateLimitError(Exception):
    """As the library's, of an SDK that keeps no response."""

    retry_after = "7"


class Canned:
    """In the place of the library: answers by a function."""

    def __init__(self, answer):
        self.answer = answer

    async def acompletion(self, **asked):
        return await self.answer(asked)


def canned(answer, **keys):
    pytest.importorskip("any_llm", reason="the extra howsure[providers] is not installed")
    model = AnyLLMModel("openrouter/claude-x", key=KEY, **keys)
    model._llm = Canned(answer)

    async def go():
        try:
            return await model.generate(request())
        except EndpointError as error:
            return error
        finally:
            await model.close()

    return asyncio.run(go())


def raising(error):
    async def answer(_):
        raise error

    return answer


class SignedError(Exception):
    """As botocore's: its response is a dictionary."""

    def __init__(self, message):
        super().__init__(message)
        self.response = {"Error": {"Code": "Throttled"}, "ResponseMetadata": {"HTTPStatusCode": 429}}


@pytest.mark.parametrize(
    ("error", "reason", "wait"),
    [
        (RateLimitError(f"slow down, {KEY}"), "rate_limit", 7.0),
        (SignedError("slow down"), "rate_limit", None),
        (ConnectionResetError("reset"), "connection", None),
        (ValueError("not JSON"), "malformed", None),
        (RuntimeError("something else"), "server", None),
    ],
)
def test_failures_without_a_status_go_by_their_kind(error, reason, wait):
    told = canned(raising(error))
    assert (told.reason, told.retry_after) == (reason, wait)
    assert KEY not in str(told)


def test_an_sdk_that_does_not_keep_to_its_time_is_left(monkeypatch):
    monkeypatch.setattr("howsure.models.any_llm.GRACE_SECONDS", 0.01)
    assert canned(lambda _: asyncio.sleep(30), timeout=0.01).reason == "timeout"


def test_a_reply_without_choices_is_empty():
    async def answer(_):
        return types.SimpleNamespace(choices=[], usage=None)

    assert canned(answer).reason == "empty"


def test_an_sdk_without_a_switch_for_retries_is_opened_without_it(monkeypatch):
    any_llm = pytest.importorskip("any_llm", reason="the extra howsure[providers] is not installed")
    from any_llm.exceptions import UnsupportedParameterError

    given = []

    def create(provider, **keys):
        given.append((provider, keys))
        if "max_retries" in keys:
            raise UnsupportedParameterError("max_retries", provider)
        return object()

    monkeypatch.setattr(any_llm.AnyLLM, "create", create)
    config = types.ModuleType("botocore.config")
    config.Config = dict
    monkeypatch.setitem(sys.modules, "botocore", types.ModuleType("botocore"))
    monkeypatch.setitem(sys.modules, "botocore.config", config)
    asyncio.run(AnyLLMModel("bedrock/claude-x").close())
    asyncio.run(AnyLLMModel("mistral/small", key=KEY).close())
    assert given[1][1]["config"] == {"retries": {"total_max_attempts": 1}}
    assert "config" not in given[3][1]
