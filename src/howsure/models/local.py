"""Run a model in this process with transformers (`transformers/ORG/NAME` or a folder; extra `transformers`).

The settings mean the same as at an endpoint: temperature 1, no top_k and no top_p unless the experiment or the
generation config of the model sets them. One request runs at a time, its generations in parallel.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from bisect import bisect_left
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from howsure.errors import EndpointError, FatalEndpointError, InputError
from howsure.models.failures import shorten
from howsure.models.model import Choice, Reply, Request, Settings

#: Largest number of tokens of a completion if the experiment sets no max_tokens.
TOKENS = 1024


def compute_seed(seed: int, model: str, request: Request) -> int:
    """Return the seed of a request, a hash of its contents, so that the same request has the same reply every time.

    >>> compute_seed(0, "m", Request("b", "q", "v", [], (1, 2), Settings())) < 2**63
    True
    """
    parts = (seed, model, request.benchmark, request.question, request.variant, request.generations[0])
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest()[:8]) >> 1


class LocalModel:
    """Run a causal language model in this process; it is loaded with the first request.

    Parameters
    ----------
    name
        The argument of `from_pretrained`: a name on the hub, or a folder. With HF_HUB_OFFLINE=1 nothing is downloaded.
        Code that is part of a model is never run.
    seed
        Seed of the experiment.

    Raises
    ------
    InputError
        When transformers or torch is not installed.
    """

    def __init__(self, name: str, *, seed: int = 0) -> None:
        for library in ("transformers", "torch"):
            if find_spec(library) is None:
                remedy = 'pip install "howsure[transformers]"'
                raise InputError(f"a local model needs {library}", where=name, remedy=remedy)
        self.name, self.seed = name, seed
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r})"

    async def generate(self, request: Request) -> Reply:
        """Return `len(request.generations)` generations, computed in a thread; at temperature 0 they are copies of one.

        Raises
        ------
        EndpointError
            When the prompt is too long, or memory runs out (n_rejected if fewer generations at a time may fit).
            `FatalEndpointError` when the model cannot be loaded.
        """
        return await asyncio.to_thread(self._generate, request)

    async def close(self) -> None:
        """Free the memory of the model."""
        await asyncio.to_thread(self._unload)

    def _unload(self) -> None:
        with self._lock:
            self._loaded = None

    def _generate(self, request: Request) -> Reply:
        torch = import_module("torch")
        # A cancelled request continues in its thread; the next one waits for it.
        with self._lock, torch.random.fork_rng(), torch.inference_mode():
            model, tokenizer = self._loaded = self._loaded or _load(self.name)
            started = time.perf_counter()
            try:
                encoded = _encode_prompt(tokenizer, request).to(model.device)
                size = encoded["input_ids"].shape[1]
                arguments = _build_arguments(model, tokenizer, request, size)
                seed = compute_seed(self.seed, self.name, request)
                torch.manual_seed(seed)
                outputs = model.generate(**encoded, **arguments)
            except torch.OutOfMemoryError:
                raise _build_memory_error(len(request.generations)) from None
            except (ValueError, TypeError, IndexError, RuntimeError, ArithmeticError) as error:
                why = shorten(str(error))
                raise EndpointError(f"the model cannot answer: {why}", reason="bad_request") from None
        ends = arguments["eos_token_id"]
        choices = [_parse_choice(tokenizer, row[size:].tolist(), ends, request.settings) for row in outputs]
        copies = len(request.generations) // len(choices)
        return Reply(
            choices=tuple(choice for choice, _ in choices) * copies,
            request=f"local-{seed:x}",
            model=self.name,
            fingerprint=getattr(model.config, "_commit_hash", None),
            prompt_tokens=size,
            completion_tokens=sum(count for _, count in choices) * copies,
            seconds=time.perf_counter() - started,
        )


def _load(name: str) -> tuple[Any, Any]:
    """Return the model, on an accelerator if there is one, and its tokenizer."""
    torch, transformers = import_module("torch"), import_module("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype="auto").to(device).eval()
    except Exception as error:  # noqa: BLE001  # loading may raise anything; other models continue
        what = f"{name!r} cannot be loaded: {shorten(str(error))}"
        raise FatalEndpointError(what, reason="not_found") from None
    return model, tokenizer


def _encode_prompt(tokenizer: Any, request: Request) -> Any:
    """Return the tokens of the prompt in the model's chat template; without a template join the messages."""
    if getattr(tokenizer, "chat_template", None):
        return tokenizer.apply_chat_template(
            request.messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
    return tokenizer("\n\n".join(message["content"] for message in request.messages), return_tensors="pt")


def _build_arguments(model: Any, tokenizer: Any, request: Request, size: int) -> dict[str, Any]:
    """Return the arguments of `generate` for a prompt of `size` tokens."""
    settings, model_config = request.settings, model.generation_config
    context_length = getattr(model.config, "max_position_embeddings", None)
    most = settings.max_tokens or TOKENS
    if context_length is not None and size >= context_length:
        raise ValueError(f"the prompt has {size} tokens, the model takes {context_length}")
    ends = model_config.eos_token_id if model_config.eos_token_id is not None else tokenizer.eos_token_id
    ends = ends if isinstance(ends, list) else [] if ends is None else [ends]
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else ends[0] if ends else 0
    arguments: dict[str, Any] = {
        "max_new_tokens": most if context_length is None else min(most, context_length - size),
        "eos_token_id": ends,
        "pad_token_id": pad,
        "num_beams": 1,
        "do_sample": settings.temperature != 0,
    }
    if settings.stop:
        arguments["stopping_criteria"] = [_build_stopping_criterion(tokenizer, settings.stop, size)]
    if settings.temperature != 0:
        model_settings = model_config.to_diff_dict()
        # transformers would use a top_k of 50 by default.
        plain = {"temperature": 1.0, "top_p": 1.0, "top_k": 0}
        given = {name: getattr(settings, name) for name in ("temperature", "top_p")}
        arguments |= plain | {name: model_settings[name] for name in plain if model_settings.get(name) is not None}
        arguments |= {name: value for name, value in given.items() if value is not None}
        arguments["num_return_sequences"] = len(request.generations)
    return arguments | settings.extra


def _parse_choice(tokenizer: Any, tokens: list[int], ends: list[int], settings: Settings) -> tuple[Choice, int]:
    """Return one generation, cut before its first stop string, and its number of tokens."""
    end = next((i for i, token in enumerate(tokens) if token in ends), None)
    text = tokenizer.decode(tokens[:end], skip_special_tokens=True)
    stops = [at for stop in settings.stop or () if (at := text.find(stop)) >= 0]
    if stops:
        # The row was padded while other rows continued, so count only the tokens up to the stop string.
        count = bisect_left(
            range(len(tokens)), True, key=lambda i: _contains_stop(tokenizer.decode(tokens[:i]), settings.stop or ())
        )
        return Choice(text[: min(stops)], "stop"), count
    return Choice(text, "length" if end is None else "stop"), len(tokens) if end is None else end + 1


def _contains_stop(text: str, stops: tuple[str, ...]) -> bool:
    """Return whether a text contains one of the stop strings."""
    return any(stop in text for stop in stops)


def _build_stopping_criterion(tokenizer: Any, stops: tuple[str, ...], size: int) -> Callable[..., Any]:
    """Return a criterion that ends rows at a stop string; the one in transformers fails for some tokenizers."""
    # A token is at least one byte. Four tokens are added, so that no character or word is cut at the start.
    tail = max(len(stop.encode()) for stop in stops) + 4

    def stopped(tokens: Any, _scores: Any, **_: Any) -> Any:
        ended = [_contains_stop(tokenizer.decode(row[-tail:]), stops) for row in tokens[:, size:].tolist()]
        return import_module("torch").tensor(ended, device=tokens.device)

    return stopped


def _build_memory_error(n: int) -> EndpointError:
    """Return the error of a request for n generations that do not fit into memory."""
    if n > 1:
        return EndpointError(f"not enough memory for {n} generations at a time", reason="n_rejected", most=n // 2)
    return EndpointError("not enough memory for this prompt", reason="too_large")
