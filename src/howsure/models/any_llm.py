"""Call models through the library any-llm: Bedrock, Azure, Vertex, Cohere and others.

The library comes with the extra `howsure[providers]`. It was chosen because it passes the request to each provider's
own SDK unchanged, lets retries be turned off, keeps the status of every failure and downloads nothing when imported. An
SDK takes ten times the CPU time of `Endpoint`, so a provider with an OpenAI-compatible API is better called by its
`base_url`.
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
from howsure.models.client import compute_timeout
from howsure.models.failures import build_http_error, shorten
from howsure.models.model import Choice, Reply, Request
from howsure.models.reply import build_choice, drop_uncounted
from howsure.safe_text import redact, redact_completion

#: Providers whose name before the slash differs from their name in any-llm, with any-llm's name.
ALIASES = {"azure": "azureopenai", "azureai": "azure", "vertex_ai": "vertexai"}
#: Providers of any-llm that an experiment may name. They are listed here to read an experiment without the library.
PROVIDER_NAMES = """
atlascloud azureanthropic azureopenai bedrock cerebras cohere dashscope databricks deepinfra deepseek
fireworks github groq huggingface inception llama minimax mistral moonshot nebius openrouter perplexity
sagemaker sambanova together vertexai vertexaianthropic watsonx xai zai
"""
PROVIDERS = frozenset(PROVIDER_NAMES.split()) | frozenset(ALIASES)
INSTALL = 'pip install "howsure[providers]"'
#: Providers that require max_tokens in every request, and the value that is sent if the experiment sets none.
NEED_MAX_TOKENS, DEFAULT_MAX_TOKENS = ("azureanthropic", "vertexaianthropic"), 8192
#: HTTP status for each of the library's errors; it is used if the SDK reports no status.
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
#: Texts of a response with status 400 that concerns the key or the account.
ABOUT_KEY = ("api key not valid", "invalid api key", "api_key_invalid", "incorrect api key")
ABOUT_MONEY = ("credit balance", "insufficient_quota", "insufficient quota")
#: Variables with other secrets that a provider reads from the environment, beside its key.
SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_OPENAI_AD_TOKEN")
#: Seconds that an SDK may exceed its timeout before the request is cancelled.
GRACE_SECONDS = 1.0


def is_provider(name: str) -> bool:
    """Return whether the part of a model's name before the slash is a provider.

    >>> is_provider("bedrock"), is_provider("org")
    (True, False)
    """
    return name in PROVIDERS


class AnyLLMModel:
    """Call a model by its provider's SDK without retries; a reply has one choice if the provider does not support `n`.

    Parameters
    ----------
    name
        PROVIDER/MODEL, such as `mistral/mistral-small`.
    key
        Without it the provider's own variable is read, such as MISTRAL_API_KEY. Never shown, and redacted from all
        responses.
    base_url
        Instead of the provider's own address.
    timeout
        Seconds for a whole request instead of `client.compute_timeout`.

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
        self._llm = _create_client(self.provider, key, base_url, where=name)
        variables = (*str(getattr(self._llm, "ENV_API_KEY_NAME", "")).split("/"), *SECRETS)
        self._secrets = [secret for secret in (key, *(environ.get(v, "").strip() for v in variables)) if secret]

    def __repr__(self) -> str:
        return f"AnyLLMModel({self.provider!r}, {self.name!r})"

    async def generate(self, request: Request) -> Reply:
        """Request `len(request.generations)` generations.

        Raises
        ------
        EndpointError
            When there is no usable reply; `reason` says why. If the provider does not support `n`, the reason is
            "n_rejected" and no request is sent.
        """
        n = len(request.generations)
        seconds = self._timeout or compute_timeout(request.settings)
        started = time.perf_counter()
        try:
            async with asyncio.timeout(seconds + GRACE_SECONDS):
                completion = await self._llm.acompletion(model=self.name, **self._build_arguments(request, n, seconds))
        except TimeoutError:
            raise EndpointError(f"no whole reply within {seconds:g} s", reason="timeout") from None
        except Exception as error:  # noqa: BLE001  # an SDK may raise anything; the run continues
            # Do not chain the original error: it may contain the request's headers, and with them the key.
            raise self._translate_error(error, n, seconds) from None
        return self._build_reply(completion, n, time.perf_counter() - started)

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

    def _build_arguments(self, request: Request, n: int, seconds: float) -> dict[str, object]:
        """Return the arguments of `acompletion`."""
        settings = request.settings
        arguments: dict[str, object] = {"messages": [dict(message) for message in request.messages]}
        for field in ("temperature", "top_p", "max_tokens"):
            if (value := getattr(settings, field)) is not None:
                arguments[field] = value
        if settings.stop is not None:
            arguments["stop"] = list(settings.stop)
        if self.provider in NEED_MAX_TOKENS:
            arguments.setdefault("max_tokens", DEFAULT_MAX_TOKENS)
        if n > 1:
            arguments["n"] = n
        if getattr(self._llm, "TIMEOUT_SUPPORT", "unsupported") != "unsupported":
            arguments["timeout"] = seconds
        return arguments | settings.extra

    def _build_reply(self, completion: Any, n: int, seconds: float) -> Reply:
        """Return the library's ChatCompletion as a `Reply`."""
        choices = completion.choices or []
        if not choices:
            raise EndpointError("the list of choices is empty", reason="empty", status=200)
        usage = completion.usage
        received = tuple(self._read_choice(choice) for choice in choices[:n])
        prompt_tokens, completion_tokens = drop_uncounted(
            usage and usage.prompt_tokens, usage and usage.completion_tokens, received
        )
        return Reply(
            choices=received,
            request=completion.id or None,
            model=completion.model or None,
            fingerprint=getattr(completion, "system_fingerprint", None),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            seconds=seconds,
            surplus=max(0, len(choices) - n),
        )

    def _read_choice(self, choice: Any) -> Choice:
        """Return one choice; the text of a refusal that is in a field of its own is its text."""
        text, refusal = self._read_text(choice), getattr(choice.message, "refusal", None)
        # For a filtered choice the library writes a refusal of its own, which the model did not.
        if isinstance(refusal, str) and refusal and choice.finish_reason != "content_filter":
            return Choice(self._redact_completion(text if text and text.strip() else refusal), "refusal")
        thoughts = getattr(getattr(choice.message, "reasoning", None), "content", None)
        thoughts = self._redact_completion(thoughts) if isinstance(thoughts, str) and thoughts else None
        return build_choice(text, choice.finish_reason, reasoning=thoughts)

    def _read_text(self, choice: Any) -> str | None:
        """Return the text of a choice, without secrets."""
        text = choice.message.content
        # For a filtered choice "" means that there is no text: the library writes it if the provider sent nothing.
        return (
            self._redact_completion(text)
            if text or (text is not None and choice.finish_reason != "content_filter")
            else None
        )

    def _redact(self, text: str) -> str:
        """Return a text without the secrets."""
        for secret in self._secrets:
            text = redact(text, secret)
        return text

    def _redact_completion(self, text: str) -> str:
        """Return a completion without the secrets that no model can have said."""
        for secret in self._secrets:
            text = redact_completion(text, secret)
        return text

    def _translate_error(self, error: Exception, n: int, seconds: float) -> EndpointError:
        """Convert an error of the library or an SDK to EndpointError, by its status or else by its type."""
        kind = type(error).__name__
        if kind == "UnsupportedParameterError" and getattr(error, "parameter_name", None) == "n":
            return EndpointError("the provider has no n", reason="n_rejected", most=1)
        origin = getattr(error, "original_exception", None) or error
        text = self._redact(str(getattr(error, "message", None) or error or kind))
        status = getattr(error, "status_code", None) or _find_aws_status(origin) or STATUS.get(kind)
        if not isinstance(status, int) or status < 300:
            return _classify_without_status(origin, shorten(text), seconds)
        for reason, words in (("unauthorized", ABOUT_KEY), ("quota", ABOUT_MONEY)):
            if status in {400, 429} and any(word in text.lower() for word in words):
                return FatalEndpointError(
                    f"HTTP {status}: {shorten(_extract_message(text))}", reason=reason, status=status
                )
        headers = getattr(getattr(origin, "response", None), "headers", None)
        if headers is None and (wait := getattr(error, "retry_after", None)):
            headers = {"Retry-After": str(wait)}
        codes = {"code": getattr(error, "code", None), "type": getattr(error, "error_type", None)}
        body = msgspec.json.encode({"error": {"message": _extract_message(text)} | codes})
        return build_http_error(status, headers or {}, body, n=n)


def _find_aws_status(origin: BaseException) -> object:
    """Return the HTTP status of a botocore error; the library passes on the status of other SDKs' errors."""
    response = getattr(origin, "response", None)
    metadata = response.get("ResponseMetadata") if isinstance(response, dict) else None
    return metadata.get("HTTPStatusCode") if isinstance(metadata, dict) else None


def _extract_message(text: str) -> str:
    """Return the message inside the text of an SDK's error: "Error code: 401 - {'error': {'message': 'it'}}"."""
    _, mark, rest = text.partition("'message': ")
    quote = rest[:1]
    end = rest.find(quote, 1) if quote in {"'", '"'} else -1
    return rest[1:end] if mark and end > 0 else text


def _classify_without_status(origin: BaseException, text: str, seconds: float) -> EndpointError:
    """Return the error of a request without a status: there was no response, or the response is not a reply."""
    kinds = " ".join(kind.__name__ for kind in type(origin).__mro__).lower()
    if "timeout" in kinds:
        return EndpointError(f"no whole reply within {seconds:g} s", reason="timeout")
    if "connect" in kinds or "network" in kinds or isinstance(origin, OSError):
        return EndpointError(f"no connection: {text}", reason="connection")
    if any(word in kinds for word in ("validation", "decode", "valueerror", "protocol", "typeerror", "attributeerror")):
        return EndpointError(f"the reply is not of the expected shape: {text}", reason="malformed")
    return EndpointError(text, reason="server")


def _create_client(provider: str, key: str, base_url: str | None, *, where: str) -> Any:
    """Return the library's client of one provider, without retries of its own."""
    try:
        create = import_module("any_llm").AnyLLM.create
        errors = import_module("any_llm.exceptions")
    except ImportError:
        what = f"{provider} models need the library any-llm"
        raise InputError(what, where=where, remedy=INSTALL) from None
    options: dict[str, Any] = {"api_key": key or None, "api_base": base_url, "unified_exceptions": True}
    try:
        try:
            return create(provider, max_retries=0, **options)
        except errors.UnsupportedParameterError:
            return create(provider, **options, **_turn_off_retries(provider))
    except ImportError:
        what = f"{provider} models need a library that is not installed"
        raise InputError(what, where=where, remedy=f'{INSTALL} "any-llm-sdk[{provider}]"') from None
    except errors.MissingApiKeyError as error:
        variable = error.env_var_name.replace("/", " or ")
        remedy = f"export {variable}=..., or name another variable with key_env"
        raise InputError(f"no key for {provider}", where=where, remedy=remedy) from None
    except (errors.AnyLLMError, ValueError) as error:
        text = shorten(str(error), key)
        raise InputError(f"{provider} cannot be called: {text}", where=where, remedy="set what it names") from None


def _turn_off_retries(provider: str) -> dict[str, Any]:
    """Return the options that turn off the retries of an SDK, for providers where the library cannot do this."""
    if provider in {"bedrock", "sagemaker"}:
        return {"config": import_module("botocore.config").Config(retries={"total_max_attempts": 1})}
    return {}
