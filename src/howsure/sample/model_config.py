"""Expand each line of `models` in an experiment into model configurations, and open the models they describe."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from howsure.benchmarks.question import Benchmark
from howsure.errors import InputError
from howsure.models.anthropic import BASE_URL as ANTHROPIC
from howsure.models.anthropic import DEFAULT_MAX_TOKENS
from howsure.models.client import find_max_tokens, list_body_fields
from howsure.models.gemini import BASE_URL as GEMINI
from howsure.models.gemini import MAX_CANDIDATES
from howsure.models.model import Model, Settings
from howsure.safe_text import find_secret_fields, mask_address, resembles_secret
from howsure.sample.yaml_source import YamlSource

#: Fields of a request body that the sampler sets itself, by their names in each dialect.
RESERVED = {
    *("model", "messages", "prompt", "n", "temperature", "top_p", "max_tokens", "stop"),
    *("system", "stop_sequences"),
    *("contents", "systemInstruction", "topP", "maxOutputTokens", "stopSequences", "candidateCount"),
}
#: A name of an environment variable, which cannot be mistaken for the key itself.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: Fields of `extra` that multiply the completions of a request.
MULTIPLIERS = ("best_of", "num_return_sequences", "num_beams", "beam_width")
#: Names of the number of generations of a request, which `extra` cannot set but an object in it might.
COUNTS = ("n", "candidateCount")
Count = Annotated[int, msgspec.Meta(ge=1, le=10**12)]
Rate = Annotated[float, msgspec.Meta(gt=0)]
Temperature = Annotated[float, msgspec.Meta(ge=0, le=100)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Kind = Literal["simulated", "replay", "transformers", "endpoint", "completions", "anthropic", "gemini", "provider"]
#: Prefixes of models that run in this process, unless there is a base_url.
LOCAL_KINDS: dict[str, Kind] = {"simulated": "simulated", "replay": "replay", "transformers": "transformers"}
#: Kind of model for each dialect; most endpoints have the API of OpenAI's chat completions.
DIALECTS: dict[str, Kind] = {
    "openai": "endpoint",
    "completions": "completions",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
#: Dialect, address and key variable of the vendor for each prefix of a model name.
VENDORS = {
    "openai": ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": ("anthropic", ANTHROPIC, "ANTHROPIC_API_KEY"),
    "gemini": ("gemini", GEMINI, "GEMINI_API_KEY"),
    "google": ("gemini", GEMINI, "GEMINI_API_KEY"),
}
#: Largest number of generations per request, for dialects with a known limit.
MAX_CHOICES: dict[Kind, int] = {"anthropic": 1, "gemini": MAX_CANDIDATES}


class PriceLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dollars per million tokens."""

    prompt: Dollars
    completion: Dollars


class ModelLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys that a line of `models` may have."""

    model: str
    label: str | None = None
    base_url: str | None = None
    dialect: Literal["openai", "completions", "anthropic", "gemini"] | None = None
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
    prompt_stops: bool = True
    extra: dict[str, object] = {}


class ModelConfig(msgspec.Struct, frozen=True):
    """One model to sample. The secret key is not stored here, but stays in the environment variable `key_env`."""

    label: str
    name: str
    """The model's name at the endpoint."""
    kind: Kind
    base_url: str = ""
    key_env: str = ""
    """Environment variable that holds the key; empty if none is needed."""
    settings: Settings = Settings()
    generations: int = 1
    """Generations per question and variant."""
    concurrency: int = 64
    """Largest number of requests in flight."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float | None = None
    """Seconds that a request may take; None for a time that depends on max_tokens."""
    choices: int | None = None
    """Largest number of generations per request; None if the limit is learned from replies."""
    price: PriceLine | None = None
    mode: Literal["live", "batch"] = "live"
    prompt_stops: bool = True
    """Whether the marker of a question is sent as a stop string with prompts that show it several times."""

    @property
    def is_billed(self) -> bool:
        """Whether an endpoint runs the model, and not this process."""
        return self.kind not in LOCAL_KINDS.values()

    @property
    def max_completion_tokens(self) -> int | None:
        """The largest number of tokens of a completion, or None if there is no limit."""
        if self.kind in {"simulated", "replay"}:
            return 64 if self.settings.max_tokens is None else self.settings.max_tokens
        return find_max_tokens(self.settings)


def find_multipliers(settings: Settings) -> list[str]:
    """Return the fields of `extra` that make an endpoint write, and bill, more completions than are requested.

    >>> find_multipliers(Settings(extra={"best_of": 20, "top_k": 5}))
    ['best_of']
    """
    return [
        name
        for fields in list_body_fields(settings.extra)
        for name in (MULTIPLIERS if fields is settings.extra else (*MULTIPLIERS, *COUNTS))
        if fields.get(name) is not None and str(fields[name]) not in {"0", "1"}
    ]


def expand_model_line(
    line: str | ModelLine,
    i: int,
    source: YamlSource,
    *,
    generations: int,
    concurrency: int,
    greedy: bool,
    any_provider: bool = False,
) -> Iterator[ModelConfig]:
    """Yield the configurations of line i: one for each combination of settings, and a greedy one if `greedy`.

    With `any_provider`, the prefix of a model may be a provider that another program knows.
    """
    spec = ModelLine(line) if isinstance(line, str) else line
    label = spec.label if spec.label is not None else spec.model
    if not label.strip() or not label.isprintable() or not spec.model.strip():
        source.fail("a model without a readable name", "models", i, remedy="write for example simulated/medium")
    _check_extra(spec, i, source)
    has_seed = _check_seed(spec, i, generations, source)
    if spec.key_env is not None and (not _VARIABLE.fullmatch(spec.key_env) or resembles_secret(spec.key_env)):
        remedy = "write the name of the variable, such as MY_KEY, and export MY_KEY=... in the shell"
        source.fail("key_env is not the name of an environment variable", "models", i, "key_env", remedy=remedy)
    kind, name, base_url, key_env = _find_address(spec, i, source, any_provider=any_provider)
    if spec.mode == "batch" and kind != "endpoint":
        remedy = "remove mode, or name an endpoint that has OpenAI's batch API"
        source.fail(f"{label} has no batch mode", "models", i, "mode", remedy=remedy)
    if kind == "completions" and spec.max_tokens is None:
        remedy = "set max_tokens: without it most servers write 16 tokens"
        source.fail("text completions need max_tokens", "models", i, remedy=remedy)
    if kind == "replay":
        _check_replay(spec, i, source, greedy=greedy)
    stop = (spec.stop,) if isinstance(spec.stop, str) else tuple(spec.stop) if spec.stop is not None else None
    config = ModelConfig(
        label=label,
        name=name,
        kind=kind,
        base_url=base_url,
        key_env=key_env,
        # If the API requires max_tokens, its value is part of the settings, and so it is in the manifest.
        settings=Settings(
            max_tokens=spec.max_tokens or (DEFAULT_MAX_TOKENS if kind == "anthropic" else None),
            stop=stop,
            extra=spec.extra,
        ),
        generations=generations,
        concurrency=spec.max_concurrent or concurrency,
        requests_per_minute=spec.requests_per_minute,
        tokens_per_minute=spec.tokens_per_minute,
        timeout=spec.timeout,
        # Repeats with one seed are requests of their own: those of one request may differ by its place in it.
        choices=1
        if has_seed
        else min(spec.choices or MAX_CHOICES[kind], MAX_CHOICES[kind])
        if kind in MAX_CHOICES
        else spec.choices,
        price=spec.price,
        mode=spec.mode,
        prompt_stops=spec.prompt_stops,
    )
    replace = msgspec.structs.replace
    for suffix, temperature, top_p in _expand_settings(spec, i, source):
        settings = replace(config.settings, temperature=temperature, top_p=top_p)
        yield replace(config, label=label + suffix, settings=settings)
    if greedy:
        # Greedy decoding counts as another model: temperature 0, one generation, no top_p.
        settings = replace(config.settings, temperature=0.0)
        yield replace(config, label=f"{label}:greedy", settings=settings, generations=1)


def _expand_settings(spec: ModelLine, i: int, source: YamlSource) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield (suffix of the label, temperature, top_p) for each combination of the values that are lists."""
    varied = [name for name in ("temperature", "top_p") if isinstance(getattr(spec, name), list)]
    for name in varied:
        if not getattr(spec, name):
            source.fail("an empty list", "models", i, name, remedy="give values, or leave the key out")
    values = {
        name: value if isinstance(value := getattr(spec, name), list) else [value] for name in ("temperature", "top_p")
    }
    for temperature, top_p in product(values["temperature"], values["top_p"]):
        point = {"temperature": temperature, "top_p": top_p}
        suffix = ",".join(f"{name}={point[name]:g}" for name in varied)
        yield (f":{suffix}" if suffix else ""), temperature, top_p


def _find_address(spec: ModelLine, i: int, source: YamlSource, *, any_provider: bool) -> tuple[Kind, str, str, str]:
    """Return the kind of a model, its name at the endpoint, its base URL and its key variable."""
    prefix, _, rest = spec.model.partition("/")
    if spec.base_url is None and spec.dialect is not None:
        remedy = "add the base_url of an endpoint with this dialect, or remove dialect"
        source.fail("a dialect needs a base_url", "models", i, "dialect", remedy=remedy)
    if spec.base_url is None and prefix in LOCAL_KINDS and rest:
        if spec.key_env is not None:
            source.fail(f"a {LOCAL_KINDS[prefix]} model has no key", "models", i, "key_env", remedy="remove key_env")
        return LOCAL_KINDS[prefix], rest, "", ""
    if spec.base_url is None:
        if prefix in VENDORS and rest:
            dialect, address, key_env = VENDORS[prefix]
            return DIALECTS[dialect], rest, address, spec.key_env or key_env
        if rest and (any_provider or _is_provider(prefix)):
            return "provider", spec.model, "", spec.key_env or ""
        source.fail(
            f"no endpoint is known for the model {spec.model!r}",
            "models",
            i,
            remedy=f'give it one: {{model: {spec.model}, base_url: "http://localhost:8000/v1"}}, '
            "or use simulated/NAME, openai/NAME, anthropic/NAME, gemini/NAME or another provider's",
        )
    base_url = spec.base_url.strip().rstrip("/").removesuffix("/chat/completions").removesuffix("/completions")
    _check_address(base_url, i, source)
    # The prefix "local/" only marks a model as local; any other prefix is part of the name at the endpoint.
    dialect = spec.dialect or "openai"
    is_vendors = dialect != "openai" and prefix in VENDORS and VENDORS[prefix][0] == dialect
    name = rest if is_vendors and rest else spec.model.removeprefix("local/")
    return DIALECTS[dialect], name, base_url, spec.key_env or ""


def _check_address(base_url: str, i: int, source: YamlSource) -> None:
    """Raise InputError if this is not the address of an endpoint, or contains a key."""
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        remedy = "write it as http://localhost:8000/v1"
        source.fail(
            f"{mask_address(base_url)!r} is not the address of an endpoint", "models", i, "base_url", remedy=remedy
        )
    # The messages do not repeat the address, because it may contain the key.
    remedy = "put a key into an environment variable and name that with key_env"
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        source.fail("base_url contains a user, a query or a fragment", "models", i, "base_url", remedy=remedy)
    if resembles_secret(parts.path) or re.search(r";[^/]*=", parts.path):
        source.fail("base_url contains a key in its path", "models", i, "base_url", remedy=remedy)


def _is_provider(name: str) -> bool:
    """Return whether any-llm has a provider of this name."""
    from howsure.models.any_llm import is_provider

    return is_provider(name)


def _check_replay(spec: ModelLine, i: int, source: YamlSource, *, greedy: bool) -> None:
    """Raise InputError if a recorded model is configured with decoding settings."""
    for key in ("temperature", "top_p", "max_tokens", "stop", "extra"):
        if getattr(spec, key):
            remedy = "remove it; generations are drawn from the recorded ones"
            source.fail(f"a recorded model does not take {key}", "models", i, key, remedy=remedy)
    if greedy:
        source.fail("a recorded model does not take greedy", "greedy", remedy="remove it")


def _check_extra(spec: ModelLine, i: int, source: YamlSource) -> None:
    """Raise InputError if `extra` contains a secret key at any depth, or a field that the sampler sets."""
    for place, name in find_secret_fields(spec.extra, ("models", i, "extra")):
        # The message does not repeat the value.
        remedy = "put a key into an environment variable and name it with key_env: extra is stored with the results"
        source.fail(f"extra contains {name!r}", *place, remedy=remedy)
    for place in _list_extra_places(spec, i):
        key = str(place[-1])
        if key in RESERVED:
            source.fail(f"extra cannot set {key!r}", *place, remedy="the sampler sets it; use the model's own keys")


def _check_seed(spec: ModelLine, i: int, generations: int, source: YamlSource) -> bool:
    """Return whether `extra` sets a seed; raise InputError if it makes copies of generations that should be sampled.

    At temperature 0 repeats with one seed are wanted: they show whether the endpoint is deterministic.
    """
    places = [place for place in _list_extra_places(spec, i) if place[-1] == "seed"]
    for place in places:
        if generations > 1 and spec.temperature != 0:
            remedy = (
                "remove it: a constant seed makes copies of one generation; or set temperature: 0, to see whether the "
                "endpoint is deterministic"
            )
            source.fail("extra sets 'seed' with several generations", *place, remedy=remedy)
    return bool(places)


def _list_extra_places(spec: ModelLine, i: int) -> list[tuple[str | int, ...]]:
    """Return the place in the file of each field of `extra`, and of each field of its generationConfig."""
    config = spec.extra.get("generationConfig")
    places: list[tuple[str | int, ...]] = [("models", i, "extra", key) for key in spec.extra]
    if isinstance(config, dict):
        places += [("models", i, "extra", "generationConfig", key) for key in config]
    return places


if TYPE_CHECKING:
    from howsure.models.batch_client import BatchClient
    from howsure.models.client import Endpoint


def open_model(
    config: ModelConfig, benchmark: Benchmark, *, seed: int = 0, environ: Mapping[str, str] = os.environ
) -> Model | BatchClient:
    """Return the model that `config` describes; no request is sent.

    Parameters
    ----------
    seed
        Seed of the generations of a simulated, recorded or local model.
    environ
        Environment variables, from which keys are read.

    Raises
    ------
    InputError
        When the model does not exist on this machine, or its key is not in `environ`.
    """
    if config.kind == "simulated":
        from howsure.models.simulated import SimulatedModel

        return SimulatedModel(config.name, benchmark, seed=seed)
    if config.kind == "replay":
        from howsure.models.replay import ReplayModel

        return ReplayModel(config.name, benchmark, seed=seed)
    if config.kind == "transformers":
        from howsure.models.local import LocalModel

        return LocalModel(config.name, seed=seed)
    if config.kind == "provider":
        from howsure.models.any_llm import AnyLLMModel

        return AnyLLMModel(config.name, key=find_key(config, environ), timeout=config.timeout, environ=environ)
    if config.mode == "batch":
        from howsure.models.batch_client import BatchClient

        return BatchClient(config.base_url, config.name, key=find_key(config, environ))
    return _find_endpoint_class(config.kind)(
        config.base_url, config.name, key=find_key(config, environ), timeout=config.timeout
    )


def _find_endpoint_class(kind: str) -> type[Endpoint]:
    """Return the class of the client for a dialect."""
    if kind == "anthropic":
        from howsure.models.anthropic import AnthropicEndpoint

        return AnthropicEndpoint
    if kind == "gemini":
        from howsure.models.gemini import GeminiEndpoint

        return GeminiEndpoint
    from howsure.models.client import Endpoint, TextEndpoint

    return TextEndpoint if kind == "completions" else Endpoint


def find_key(config: ModelConfig, environ: Mapping[str, str] = os.environ) -> str:
    """Return the key in the environment variable of a model; "" if it needs none."""
    if not config.key_env:
        return ""
    key = environ.get(config.key_env, "").strip()
    if not key:
        remedy = f"export {config.key_env}=..., or name another variable with key_env"
        raise InputError(f"the environment variable {config.key_env} has no key", where=config.label, remedy=remedy)
    if not (key.isascii() and key.isprintable()):
        # The message does not repeat the key.
        remedy = "set it again: it contains a line break or a character that is not allowed in a key"
        raise InputError(f"the key in {config.key_env} cannot be sent", where=config.label, remedy=remedy)
    return key
