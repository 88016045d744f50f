"""Models that are asked through another library, any-llm: Bedrock, Azure, Vertex, Cohere and others.

It comes with the extra `howsure[providers]`. It was chosen because it hands each provider's own SDK the request
unchanged, lets retries be turned off, keeps the status of every failure and fetches nothing when imported.
An SDK costs ten times the CPU of `Endpoint`: what speaks a dialect of ours is better asked by its `base_url`.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import msgspec

from howsure.errors import EndpointError, FatalEndpointError, InputError, UnknownNameError
from howsure.models.client import time_allowed
from howsure.models.failures import refusal, shorten
from howsure.models.model import Choice, Reply, Request

__all__ = ["ALIASES", "PROVIDERS", "Provider", "is_provider"]

#: Names before the slash, and any-llm's own name where it is another.
ALIASES = {"azure": "azureopenai", "azureai": "azure", "vertex_ai": "vertexai"}
#: What any-llm knows and an experiment may name; a list, so that a file is read without the library.
KNOWN = """
atlascloud azureanthropic azureopenai bedrock cerebras cohere dashscope databricks deepinfra deepseek
fireworks github groq huggingface inception llama minimax mistral moonshot nebius openrouter perplexity
sagemaker sambanova together vertexai vertexaianthropic watsonx xai zai
"""
PROVIDERS = frozenset(KNOWN.split()) | frozenset(ALIASES)
INSTALL = 'pip install "howsure[providers]"'
#: Providers that want max_tokens in every request, and what they get where the experiment has none.
BOUNDED, TOKENS = ("azureanthropic", "vertexaianthropic"), 8192
#: The status that each of the library's failures stands for where the SDK told none.
STATUS = {
    "AuthenticationError": 401,
    "ContentFilterError": 400,
    "ContextLengthExceededError": 400,
    "GatewayTimeoutError": 504,
    "InsufficientFundsError": 402,
    "InvalidRequestError": 400,
    "ModelNotFoundError": 404,
    "RateLimitError": 429,
    "UnsupportedParameterError": 400,
    "UpstreamProviderError": 502,
}
#: A 400 with one of these is about the key or the account; a word such as "author" elsewhere is not.
ABOUT_KEY = ("api key not valid", "invalid api key", "api_key_invalid", "incorrect api key")
ABOUT_MONEY = ("credit balance", "insufficient_quota", "insufficient quota")
#: Secrets that a provider takes from the environment beside its key.
SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_OPENAI_AD_TOKEN")
#: Seconds after which we stop waiting for an SDK that has not kept to the time it was given.
GRACE = 1.0


def is_provider(name: str) -> bool:
    """Whether the part of a model's name before the slash is a provider.

    >>> is_provider("bedrock"), is_provider("org")
    (True, False)
    """
    return name in PROVIDERS


class Provider:
    """A model behind a provider's own protocol. One request, no retries; one choice where the provider has no `n`.

    Parameters
    ----------
    name
        PROVIDER/MODEL, such as `mistral/mistral-small`.
    key
        Without it the provider's own variable is read, such as MISTRAL_API_KEY. Never shown, and blanked out of all
        that comes back.
    base_url
        Instead of the provider's own address.
    timeout
        Seconds for a whole request instead of `client.time_allowed`.

    Raises
    ------
    InputError
        When there is no such provider, the extra is not installed, or there is no key.
    """

    def __init__(
        self,
        name: str,
        *,
        key: str = "",
        base_url: str | None = None,
        timeout: float | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        prefix, _, self.name = name.partition("/")
        if not is_provider(prefix) or not self.name:
            raise UnknownNameError("provider", prefix, PROVIDERS, where=name)
        self.provider, self._timeout = ALIASES.get(prefix, prefix), timeout
        self._llm = _opened(self.provider, key, base_url, where=name)
        variables = (*str(getattr(self._llm, "ENV_API_KEY_NAME", "")).split("/"), *SECRETS)
        self._secrets = [secret for secret in (key, *(environ.get(v, "").strip() for v in variables)) if secret]

    def __repr__(self) -> str:
        return f"Provider({self.provider!r}, {self.name!r})"

    async def generate(self, request: Request) -> Reply:
        """Ask for `len(request.generations)` generations.

        Raises
        ------
        EndpointError
            When no usable reply came, `reason` says why; n_rejected, with nothing sent, when the provider has no `n`.
        """
        n = len(request.generations)
        seconds = self._timeout or time_allowed(request.settings)
        started = time.perf_counter()
        try:
            async with asyncio.timeout(seconds + GRACE):
                told = await self._llm.acompletion(model=self.name, **self._asked(request, n, seconds))
        except TimeoutError:
            raise EndpointError(f"no whole reply within {seconds:g} s", reason="timeout") from None
        except Exception as error:  # noqa: BLE001  an SDK may fail in any way; the run goes on
            # Unchained: the foreign error may hold the request's headers, and with them the key.
            raise self._failure(error, n, seconds) from None
        return self._reply(told, n, time.perf_counter() - started)

    async def close(self) -> None:
        """Close the SDK's connections."""
        client = getattr(self._llm, "client", None)
        for owner, method in ((getattr(client, "aio", None), "aclose"), (client, "close")):
            close = getattr(owner, method, None)
            if close is not None:
                with contextlib.suppress(Exception):
                    closing = close()
                    if inspect.isawaitable(closing):
                        await closing
                return

    def _asked(self, request: Request, n: int, seconds: float) -> dict[str, object]:
        settings = request.settings
        asked: dict[str, object] = {"messages": [dict(message) for message in request.messages]}
        for field in ("temperature", "top_p", "max_tokens"):
            if (value := getattr(settings, field)) is not None:
                asked[field] = value
        if settings.stop is not None:
            asked["stop"] = list(settings.stop)
        if self.provider in BOUNDED:
            asked.setdefault("max_tokens", TOKENS)
        if n > 1:
            asked["n"] = n
        if getattr(self._llm, "TIMEOUT_SUPPORT", "unsupported") != "unsupported":
            asked["timeout"] = seconds
        return asked | settings.extra

    def _reply(self, told: Any, n: int, seconds: float) -> Reply:
        """The library's ChatCompletion to ours."""
        choices = told.choices or []
        if not choices:
            raise EndpointError("the list of choices is empty", reason="empty", status=200)
        usage = told.usage
        return Reply(
            choices=tuple(Choice(self._text(choice), choice.finish_reason) for choice in choices[:n]),
            request=told.id or None,
            model=told.model or None,
            fingerprint=getattr(told, "system_fingerprint", None),
            prompt_tokens=usage and usage.prompt_tokens,
            completion_tokens=usage and usage.completion_tokens,
            seconds=seconds,
            surplus=max(0, len(choices) - n),
        )

    def _text(self, choice: Any) -> str | None:
        text = choice.message.content
        # An empty text of a filtered choice is no text: the library writes "" where nothing came.
        return self._blanked(text) if text or (text is not None and choice.finish_reason != "content_filter") else None

    def _blanked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _failure(self, error: Exception, n: int, seconds: float) -> EndpointError:
        """Any failure of the library or an SDK to ours: by its status, or where it has none by its kind."""
        kind = type(error).__name__
        if kind == "UnsupportedParameterError" and getattr(error, "parameter_name", None) == "n":
            return EndpointError("the provider has no n", reason="n_rejected", most=1)
        origin = getattr(error, "original_exception", None) or error
        text = self._blanked(str(getattr(error, "message", None) or error or kind))
        status = getattr(error, "status_code", None) or _status(origin) or STATUS.get(kind)
        if not isinstance(status, int) or status < 300:
            return _silence(origin, shorten(text), seconds)
        for reason, words in (("unauthorized", ABOUT_KEY), ("quota", ABOUT_MONEY)):
            if status in {400, 429} and any(word in text.lower() for word in words):
                return FatalEndpointError(f"HTTP {status}: {shorten(_said(text))}", reason=reason, status=status)
        headers = getattr(getattr(origin, "response", None), "headers", None)
        if headers is None and (wait := getattr(error, "retry_after", None)):
            headers = {"Retry-After": str(wait)}
        codes = {"code": getattr(error, "code", None), "type": getattr(error, "error_type", None)}
        body = msgspec.json.encode({"error": {"message": _said(text)} | codes})
        return refusal(status, headers or {}, body, n=n)


def _status(origin: BaseException) -> object:
    """What botocore knows of an answer; other SDKs' errors have a status that the library passes on."""
    response = getattr(origin, "response", None)
    told = response.get("ResponseMetadata") if isinstance(response, dict) else None
    return told.get("HTTPStatusCode") if isinstance(told, dict) else None


def _said(text: str) -> str:
    """The sentence inside what an SDK makes of a refusal: "Error code: 401 - {'error': {'message': 'it'}}"."""
    _, mark, rest = text.partition("'message': ")
    quote = rest[:1]
    end = rest.find(quote, 1) if quote in {"'", '"'} else -1
    return rest[1:end] if mark and end > 0 else text


def _silence(origin: BaseException, text: str, seconds: float) -> EndpointError:
    """No status: nothing came, or what came is not a reply."""
    kinds = " ".join(kind.__name__ for kind in type(origin).__mro__).lower()
    if "timeout" in kinds:
        return EndpointError(f"no whole reply within {seconds:g} s", reason="timeout")
    if "connect" in kinds or "network" in kinds or isinstance(origin, OSError):
        return EndpointError(f"no connection: {text}", reason="connection")
    if any(word in kinds for word in ("validation", "decode", "valueerror", "protocol", "typeerror", "attributeerror")):
        return EndpointError(f"the reply is not of the expected shape: {text}", reason="malformed")
    return EndpointError(text, reason="server")


def _opened(provider: str, key: str, base_url: str | None, *, where: str) -> Any:
    """The library's object for one provider, without retries of its own."""
    try:
        create = import_module("any_llm").AnyLLM.create
        errors = import_module("any_llm.exceptions")
    except ImportError:
        what = f"{provider} models need the library any-llm"
        raise InputError(what, where=where, remedy=INSTALL) from None
    given: dict[str, Any] = {"api_key": key or None, "api_base": base_url, "unified_exceptions": True}
    try:
        try:
            return create(provider, max_retries=0, **given)
        except errors.UnsupportedParameterError:
            return create(provider, **given, **_no_retries(provider))
    except ImportError:
        what = f"{provider} models need a library that is not installed"
        raise InputError(what, where=where, remedy=f'{INSTALL} "any-llm-sdk[{provider}]"') from None
    except errors.MissingApiKeyError as error:
        variable = error.env_var_name.replace("/", " or ")
        remedy = f"export {variable}=..., or name another variable with key_env"
        raise InputError(f"no key for {provider}", where=where, remedy=remedy) from None
    except (errors.AnyLLMError, ValueError) as error:
        text = shorten(str(error), key)
        raise InputError(f"{provider} cannot be asked: {text}", where=where, remedy="set what it names") from None


def _no_retries(provider: str) -> dict[str, Any]:
    """What turns off the retries of an SDK that the library has no switch for."""
    if provider in {"bedrock", "sagemaker"}:
        return {"config": import_module("botocore.config").Config(retries={"total_max_attempts": 1})}
    return {}
