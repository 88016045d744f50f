"""What to sample: an experiment file to a checked, frozen `Experiment`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from errorbar.benchmarks.question import Prompt
from errorbar.errors import InputError
from errorbar.sample.model import Settings
from errorbar.sample.source import Source

__all__ = ["Experiment", "ModelEntry", "Variant", "load_experiment", "parse_experiment"]

OPENAI = "https://api.openai.com/v1"
#: Keys that the design promises and this version does not have yet.
LATER = {"until": "stopping early", "budget": "a budget"}
#: Fields of a request body that the sampler itself decides.
RESERVED = ("model", "messages", "n", "stream", "temperature", "top_p", "max_tokens", "stop")
SECRETS = ("api_key", "apikey", "api-key", "key", "authorization", "password", "secret", "token")

Count = Annotated[int, msgspec.Meta(ge=1)]
Temperature = Annotated[float, msgspec.Meta(ge=0, le=100)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt variant of the file; what it does not name is the benchmark's own."""

    system: str | None = None
    template: str | None = None

    def prompt(self, own: Prompt) -> Prompt:
        """The variant's prompt, where `own` is the benchmark's."""
        return Prompt(
            system=own.system if self.system is None else self.system,
            template=own.template if self.template is None else self.template,
        )


class ModelEntry(msgspec.Struct, frozen=True):
    """One model to sample: everything but its key, which stays in the environment variable `key_env`."""

    label: str
    name: str
    """As the endpoint, or the simulator, knows it."""
    kind: Literal["simulated", "endpoint"]
    base_url: str = ""
    key_env: str = ""
    """Name of the environment variable that holds the key; empty when none is needed."""
    settings: Settings = Settings()
    generations: int = 1
    """Per question and variant."""
    concurrency: int = 64
    """Requests in flight at most."""


class Experiment(msgspec.Struct, frozen=True):
    """What to sample: benchmark x variants x models x generations."""

    benchmark: str | dict[str, object]
    models: tuple[ModelEntry, ...]
    """With the greedy ones, if they were asked for."""
    variants: tuple[Variant, ...] = (Variant(),)
    limit: int | None = None
    """Ask only this many questions, a seeded sample: a larger limit later keeps those and adds to them."""
    seed: int = 0
    base: Path = Path()
    """Folder that the paths in the file start from."""


class _Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: str
    label: str | None = None
    base_url: str | None = None
    key_env: str | None = None
    temperature: Temperature | None = None
    top_p: Share | None = None
    max_tokens: Count | None = None
    stop: str | list[str] | None = None
    max_concurrent: Count | None = None
    extra: dict[str, object] = {}


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    benchmark: str | dict[str, object]
    models: list[str | _Model]
    generations: Count = 5
    greedy: bool = False
    variants: list[Variant] | None = None
    limit: Count | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 64


def load_experiment(path: Path | str) -> Experiment:
    """Read an experiment file.

    Raises
    ------
    InputError
        When it cannot be read, is not YAML, or asks for what does not exist; names the line.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        why = e.strerror if isinstance(e, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read the experiment: {why}", where=str(path), remedy="give a YAML file") from None
    return parse_experiment(text, where=str(path), base=path.parent)


def parse_experiment(text: str, *, where: str = "experiment", base: Path = Path()) -> Experiment:
    """Read an experiment from YAML text; `where` names it in errors.

    >>> parse_experiment("{benchmark: directions, models: [simulated/medium]}").models[0].label
    'simulated/medium'
    """
    source = Source(text, where)
    _not_yet(source)
    file = source.read(_File, {"models": _Model, "variants": Variant})
    if not file.models:
        source.fail("no models", "models", remedy="list at least one, such as simulated/medium")
    variants = tuple(file.variants) if file.variants is not None else (Variant(),)
    if not variants:
        source.fail("no variants", "variants", remedy="leave the key out to ask with the benchmark's own prompt")
    for i, variant in enumerate(variants):
        if variant.template is not None and "{question}" not in variant.template:
            remedy = "write {question} where the question goes"
            source.fail("the template has no place for the question", "variants", i, "template", remedy=remedy)
        if variant in variants[:i]:
            source.fail("the same variant twice", "variants", i, remedy="remove one")
    models: list[ModelEntry] = []
    for i, given in enumerate(file.models):
        for entry in _entries(given, i, file, source):
            if any(entry.label == other.label for other in models):
                remedy = "give each its own label: {model: ..., label: ...}"
                source.fail(f"two models are called {entry.label!r}", "models", i, remedy=remedy)
            models.append(entry)
    return Experiment(
        benchmark=file.benchmark,
        models=tuple(models),
        variants=variants,
        limit=file.limit,
        seed=file.seed,
        base=base,
    )


def _entries(given: str | _Model, i: int, file: _File, source: Source) -> Iterator[ModelEntry]:
    """One line of `models` to the model, and to its greedy twin when asked for."""
    spec = _Model(given) if isinstance(given, str) else given
    label = spec.label if spec.label is not None else spec.model
    if not label.strip() or not label.isprintable() or not spec.model.strip():
        source.fail("a model without a readable name", "models", i, remedy="write for example simulated/medium")
    _check_extra(spec, i, file, source)
    prefix, _, rest = spec.model.partition("/")
    simulated = prefix == "simulated" and spec.base_url is None
    name, base_url, key_env = (rest, "", "") if simulated else _address(spec, i, source)
    if simulated and spec.key_env is not None:
        source.fail("a simulated model has no key", "models", i, "key_env", remedy="remove key_env")
    stop = (spec.stop,) if isinstance(spec.stop, str) else tuple(spec.stop) if spec.stop is not None else None
    entry = ModelEntry(
        label=label,
        name=name,
        kind="simulated" if simulated else "endpoint",
        base_url=base_url,
        key_env=key_env,
        settings=Settings(spec.temperature, spec.top_p, spec.max_tokens, stop, spec.extra),
        generations=file.generations,
        concurrency=spec.max_concurrent or file.concurrency,
    )
    yield entry
    if file.greedy:
        # Greedy decoding is another model: temperature 0, one generation, and no nucleus to cut.
        settings = msgspec.structs.replace(entry.settings, temperature=0.0, top_p=None)
        yield msgspec.structs.replace(entry, label=f"{label}:greedy", settings=settings, generations=1)


def _address(spec: _Model, i: int, source: Source) -> tuple[str, str, str]:
    """Name at the endpoint, base URL and key variable of a model that is not simulated."""
    prefix, _, rest = spec.model.partition("/")
    if spec.base_url is None:
        if prefix != "openai" or not rest:
            source.fail(
                f"no endpoint is known for the model {spec.model!r}",
                "models",
                i,
                remedy=f'give it one: {{model: {spec.model}, base_url: "http://localhost:8000/v1"}}, '
                "or use simulated/NAME or openai/NAME",
            )
        return rest, OPENAI, spec.key_env or "OPENAI_API_KEY"
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
    return spec.model.removeprefix("local/"), base_url, spec.key_env or ""


def _check_extra(spec: _Model, i: int, file: _File, source: Source) -> None:
    for key in spec.extra:
        place = ("models", i, "extra", key)
        if key.lower() in SECRETS:
            source.fail(
                f"extra holds {key!r}", *place, remedy="put a key into an environment variable and name it with key_env"
            )
        if key in RESERVED:
            source.fail(f"extra cannot set {key!r}", *place, remedy="the sampler sets it; use the model's own keys")
        if key == "seed" and file.generations > 1:
            remedy = "remove it: a constant seed makes copies of one generation"
            source.fail("extra sets 'seed' with several generations", *place, remedy=remedy)


def _not_yet(source: Source) -> None:
    """Say so when the file asks for what this version does not have."""
    data = source.data
    if not isinstance(data, dict):
        return
    for key, what in LATER.items():
        if key in data:
            source.fail(f"{what} is not available in this version", key, remedy=f"remove {key!r}")
    if isinstance(data.get("variants"), dict):
        remedy = "list the prompts: variants: [{system: ..., template: ...}]"
        source.fail("a space of variants is not available in this version", "variants", remedy=remedy)
