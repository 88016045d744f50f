"""The models of an experiment: each line of `models` to the entries that are sampled."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from howsure.benchmarks.question import Benchmark
from howsure.errors import InputError
from howsure.models.anthropic import BASE_URL as ANTHROPIC
from howsure.models.anthropic import TOKENS
from howsure.models.gemini import BASE_URL as GEMINI
from howsure.models.gemini import CANDIDATES
from howsure.models.model import Model, Settings
from howsure.sample.yaml_source import Source

__all__ = ["Count", "ModelEntry", "ModelLine", "PriceLine", "Rate", "entries", "open_model"]

#: Fields of a request body that the sampler itself decides, as each dialect calls them.
RESERVED = {
    *("model", "messages", "n", "stream", "temperature", "top_p", "max_tokens", "stop"),
    *("system", "stop_sequences"),
    *("contents", "systemInstruction", "topP", "maxOutputTokens", "stopSequences", "candidateCount"),
}
SECRETS = ("api_key", "apikey", "api-key", "key", "authorization", "password", "secret", "token")

Count = Annotated[int, msgspec.Meta(ge=1)]
Rate = Annotated[float, msgspec.Meta(gt=0)]
Temperature = Annotated[float, msgspec.Meta(ge=0, le=100)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Kind = Literal["simulated", "replay", "transformers", "endpoint", "anthropic", "gemini", "provider"]
#: Model names that begin so run in this process, when no base_url is given.
KINDS: dict[str, Kind] = {"simulated": "simulated", "replay": "replay", "transformers": "transformers"}
#: What an endpoint speaks; OpenAI's chat completions are what most do.
DIALECTS: dict[str, Kind] = {"openai": "endpoint", "anthropic": "anthropic", "gemini": "gemini"}
#: Model names that begin so are asked at the vendor's own address: dialect, address, variable of the key.
VENDORS = {
    "openai": ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": ("anthropic", ANTHROPIC, "ANTHROPIC_API_KEY"),
    "gemini": ("gemini", GEMINI, "GEMINI_API_KEY"),
    "google": ("gemini", GEMINI, "GEMINI_API_KEY"),
}
#: Generations per request at most, where a dialect has a bound that is known.
CHOICES: dict[Kind, int] = {"anthropic": 1, "gemini": CANDIDATES}


class PriceLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dollars per million tokens."""

    prompt: Dollars
    completion: Dollars


class ModelLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a line of `models` may say."""

    model: str
    label: str | None = None
    base_url: str | None = None
    dialect: Literal["openai", "anthropic", "gemini"] | None = None
    key_env: str | None = None
    temperature: Temperature | list[Temperature] | None = None
    top_p: Share | list[Share] | None = None
    max_tokens: Count | None = None
    stop: str | list[str] | None = None
    max_concurrent: Count | None = None
    requests_per_minute: Rate | None = None
    tokens_per_minute: Rate | None = None
    timeout: Rate | None = None
    choices: Count | None = None
    price: PriceLine | None = None
    mode: Literal["live", "batch"] = "live"
    extra: dict[str, object] = {}


class ModelEntry(msgspec.Struct, frozen=True):
    """One model to sample: everything but its key, which stays in the environment variable `key_env`."""

    label: str
    name: str
    """As the endpoint, or the simulator, knows it."""
    kind: Kind
    base_url: str = ""
    key_env: str = ""
    """Name of the environment variable that holds the key; empty when none is needed."""
    settings: Settings = Settings()
    generations: int = 1
    """Per question and variant."""
    concurrency: int = 64
    """Requests in flight at most."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float | None = None
    """Seconds for a request; None: by the tokens that may come."""
    choices: int | None = None
    """Generations per request at most; None: found out."""
    price: PriceLine | None = None
    mode: Literal["live", "batch"] = "live"

    @property
    def is_billed(self) -> bool:
        """Whether somebody else runs it; if not it runs in this process."""
        return self.kind not in KINDS.values()

    @property
    def longest(self) -> int | None:
        """Tokens of a completion at most, or None where nothing bounds them."""
        if self.kind in {"simulated", "replay"}:
            return 64 if self.settings.max_tokens is None else self.settings.max_tokens
        said = self.settings.max_tokens or self.settings.extra.get("max_completion_tokens")
        return said if isinstance(said, int) and said > 0 else None


def entries(
    line: str | ModelLine, i: int, source: Source, *, generations: int, concurrency: int, greedy: bool
) -> Iterator[ModelEntry]:
    """Line i of `models` to its models: one for each point of its grid of settings, and a greedy one when asked for."""
    spec = ModelLine(line) if isinstance(line, str) else line
    label = spec.label if spec.label is not None else spec.model
    if not label.strip() or not label.isprintable() or not spec.model.strip():
        source.fail("a model without a readable name", "models", i, remedy="write for example simulated/medium")
    _check_extra(spec, i, generations, source)
    kind, name, base_url, key_env = _address(spec, i, source)
    if spec.mode == "batch" and kind != "endpoint":
        remedy = "remove mode, or name an endpoint that has OpenAI's batch API"
        source.fail(f"{label} has no batch mode", "models", i, "mode", remedy=remedy)
    if kind == "replay":
        _check_replay(spec, i, source, greedy=greedy)
    stop = (spec.stop,) if isinstance(spec.stop, str) else tuple(spec.stop) if spec.stop is not None else None
    entry = ModelEntry(
        label=label,
        name=name,
        kind=kind,
        base_url=base_url,
        key_env=key_env,
        # What has to be sent is part of what the model is.
        settings=Settings(
            max_tokens=spec.max_tokens or (TOKENS if kind == "anthropic" else None), stop=stop, extra=spec.extra
        ),
        generations=generations,
        concurrency=spec.max_concurrent or concurrency,
        requests_per_minute=spec.requests_per_minute,
        tokens_per_minute=spec.tokens_per_minute,
        timeout=spec.timeout,
        choices=min(spec.choices or CHOICES[kind], CHOICES[kind]) if kind in CHOICES else spec.choices,
        price=spec.price,
        mode=spec.mode,
    )
    replace = msgspec.structs.replace
    for suffix, temperature, top_p in _grid(spec, i, source):
        settings = replace(entry.settings, temperature=temperature, top_p=top_p)
        yield replace(entry, label=label + suffix, settings=settings)
    if greedy:
        # Greedy decoding is another model: temperature 0, one generation, and no nucleus to cut.
        settings = replace(entry.settings, temperature=0.0)
        yield replace(entry, label=f"{label}:greedy", settings=settings, generations=1)


def _grid(spec: ModelLine, i: int, source: Source) -> Iterator[tuple[str, float | None, float | None]]:
    """(what the label says, temperature, top_p) for each combination of the values that are lists."""
    varied = [name for name in ("temperature", "top_p") if isinstance(getattr(spec, name), list)]
    for name in varied:
        if not getattr(spec, name):
            source.fail("an empty list", "models", i, name, remedy="give values, or leave the key out")
    values = {
        name: value if isinstance(value := getattr(spec, name), list) else [value] for name in ("temperature", "top_p")
    }
    for temperature, top_p in product(values["temperature"], values["top_p"]):
        point = {"temperature": temperature, "top_p": top_p}
        told = ",".join(f"{name}={point[name]:g}" for name in varied)
        yield (f":{told}" if told else ""), temperature, top_p


def _address(spec: ModelLine, i: int, source: Source) -> tuple[Kind, str, str, str]:
    """Kind, name there, base URL and key variable of a model."""
    prefix, _, rest = spec.model.partition("/")
    if spec.base_url is None and spec.dialect is not None:
        remedy = "say with base_url where it is spoken, or remove dialect"
        source.fail("a dialect without an address", "models", i, "dialect", remedy=remedy)
    if spec.base_url is None and prefix in KINDS and rest:
        if spec.key_env is not None:
            source.fail(f"a {KINDS[prefix]} model has no key", "models", i, "key_env", remedy="remove key_env")
        return KINDS[prefix], rest, "", ""
    if spec.base_url is None:
        if prefix in VENDORS and rest:
            dialect, address, key_env = VENDORS[prefix]
            return DIALECTS[dialect], rest, address, spec.key_env or key_env
        if rest and _is_provider(prefix):
            return "provider", spec.model, "", spec.key_env or ""
        source.fail(
            f"no endpoint is known for the model {spec.model!r}",
            "models",
            i,
            remedy=f'give it one: {{model: {spec.model}, base_url: "http://localhost:8000/v1"}}, '
            "or use simulated/NAME, openai/NAME, anthropic/NAME, gemini/NAME or another provider's",
        )
    base_url = spec.base_url.strip().rstrip("/").removesuffix("/chat/completions")
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        remedy = "write it as http://localhost:8000/v1"
        source.fail(f"{spec.base_url!r} is not the address of an endpoint", "models", i, "base_url", remedy=remedy)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        # Not shown: it may be the key.
        remedy = "put a key into an environment variable and name that with key_env"
        source.fail("base_url holds a user, a query or a fragment", "models", i, "base_url", remedy=remedy)
    # "local/" is our way to say whose model it is; other slashes belong to the name that the endpoint knows.
    dialect = spec.dialect or "openai"
    is_vendors = dialect != "openai" and prefix in VENDORS and VENDORS[prefix][0] == dialect
    name = rest if is_vendors and rest else spec.model.removeprefix("local/")
    return DIALECTS[dialect], name, base_url, spec.key_env or ""


def _is_provider(name: str) -> bool:
    from howsure.models.any_llm import is_provider

    return is_provider(name)


def _check_replay(spec: ModelLine, i: int, source: Source, *, greedy: bool) -> None:
    """What was recorded was decoded as it was."""
    for key in ("temperature", "top_p", "max_tokens", "stop", "extra"):
        if getattr(spec, key):
            remedy = "remove it; the recorded generations are drawn from"
            source.fail(f"a recorded model cannot be asked with {key}", "models", i, key, remedy=remedy)
    if greedy:
        source.fail("a recorded model cannot be asked with greedy", "greedy", remedy="remove it")


def _check_extra(spec: ModelLine, i: int, generations: int, source: Source) -> None:
    config = spec.extra.get("generationConfig")
    places: list[tuple[str | int, ...]] = [("models", i, "extra", key) for key in spec.extra]
    if isinstance(config, dict):
        places += [("models", i, "extra", "generationConfig", key) for key in config]
    for place in places:
        key = str(place[-1])
        if key.lower() in SECRETS:
            remedy = "put a key into an environment variable and name it with key_env"
            source.fail(f"extra holds {key!r}", *place, remedy=remedy)
        if key in RESERVED:
            source.fail(f"extra cannot set {key!r}", *place, remedy="the sampler sets it; use the model's own keys")
        if key == "seed" and generations > 1:
            remedy = "remove it: a constant seed makes copies of one generation"
            source.fail("extra sets 'seed' with several generations", *place, remedy=remedy)


if TYPE_CHECKING:
    from howsure.models.batch_client import Batches
    from howsure.models.client import Endpoint


def open_model(
    entry: ModelEntry, benchmark: Benchmark, *, seed: int = 0, environ: Mapping[str, str] = os.environ
) -> Model | Batches:
    """The model that `entry` describes; nothing is sent yet.

    Parameters
    ----------
    seed
        Of a simulated, recorded or local model's generations.
    environ
        Where keys are read.

    Raises
    ------
    InputError
        When there is no such model here, or its key is not in `environ`.
    """
    if entry.kind == "simulated":
        from howsure.models.simulated import SimulatedModel

        return SimulatedModel(entry.name, benchmark, seed=seed)
    if entry.kind == "replay":
        from howsure.models.replay import ReplayModel

        return ReplayModel(entry.name, benchmark, seed=seed)
    if entry.kind == "transformers":
        from howsure.models.local import LocalModel

        return LocalModel(entry.name, seed=seed)
    if entry.kind == "provider":
        from howsure.models.any_llm import Provider

        return Provider(entry.name, key=_key(entry, environ), timeout=entry.timeout, environ=environ)
    if entry.mode == "batch":
        from howsure.models.batch_client import Batches

        return Batches(entry.base_url, entry.name, key=_key(entry, environ))
    return _client(entry.kind)(entry.base_url, entry.name, key=_key(entry, environ), timeout=entry.timeout)


def _client(kind: str) -> type[Endpoint]:
    """What speaks the dialect of an endpoint."""
    if kind == "anthropic":
        from howsure.models.anthropic import Anthropic

        return Anthropic
    if kind == "gemini":
        from howsure.models.gemini import Gemini

        return Gemini
    from howsure.models.client import Endpoint

    return Endpoint


def _key(entry: ModelEntry, environ: Mapping[str, str]) -> str:
    if not entry.key_env:
        return ""
    key = environ.get(entry.key_env, "").strip()
    if not key:
        remedy = f"export {entry.key_env}=..., or name another variable with key_env"
        raise InputError(f"the environment variable {entry.key_env} holds no key", where=entry.label, remedy=remedy)
    if not (key.isascii() and key.isprintable()):
        # The key itself is not shown.
        remedy = "set it again: it holds a line break or a character that no key has"
        raise InputError(f"the key in {entry.key_env} cannot be sent", where=entry.label, remedy=remedy)
    return key
