"""Models that run in this process by transformers: `transformers/ORG/NAME`, or a folder. The extra is `transformers`.

The settings mean what they mean at an endpoint: temperature 1, no top_k and no top_p where neither the experiment nor
the model's own generation config says otherwise. One request runs at a time, its generations side by side.
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

__all__ = ["LocalModel", "cell_seed"]

#: Tokens of a completion where the experiment sets no max_tokens.
TOKENS = 1024


def cell_seed(seed: int, model: str, request: Request) -> int:
    """The seed of a request, from everything that it is: the same request is answered alike in every session.

    >>> cell_seed(0, "m", Request("b", "q", "v", [], (1, 2), Settings())) < 2**63
    True
    """
    parts = (seed, model, request.benchmark, request.question, request.variant, request.generations[0])
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest()[:8]) >> 1


class LocalModel:
    """A causal language model in this process; it is loaded when the first request comes.

    Parameters
    ----------
    name
        As `from_pretrained` takes it: a name on the hub, or a folder. With HF_HUB_OFFLINE=1 nothing is fetched. Code
        that comes with a model is never run.
    seed
        Of the experiment.

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
        self._turn = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r})"

    async def generate(self, request: Request) -> Reply:
        """`len(request.generations)` generations, in a thread of their own; at temperature 0 copies of one.

        Raises
        ------
        EndpointError
            When the prompt does not fit, or memory runs out (n_rejected: with fewer at a time it may do).
            `FatalEndpointError` when the model cannot be loaded.
        """
        return await asyncio.to_thread(self._generate, request)

    async def close(self) -> None:
        """Give its memory back."""
        await asyncio.to_thread(self._drop)

    def _drop(self) -> None:
        with self._turn:
            self._loaded = None

    def _generate(self, request: Request) -> Reply:
        torch = import_module("torch")
        # A cancelled request still runs in its thread; the next one waits for it.
        with self._turn, torch.random.fork_rng(), torch.inference_mode():
            model, tokenizer = self._loaded = self._loaded or _load(self.name)
            started = time.perf_counter()
            try:
                encoded = _encoded(tokenizer, request).to(model.device)
                size = encoded["input_ids"].shape[1]
                asked = _asked(model, tokenizer, request, size)
                seed = cell_seed(self.seed, self.name, request)
                torch.manual_seed(seed)
                whole = model.generate(**encoded, **asked)
            except torch.OutOfMemoryError:
                raise _too_large(len(request.generations)) from None
            except (ValueError, TypeError, IndexError, RuntimeError, ArithmeticError) as error:
                why = shorten(str(error))
                raise EndpointError(f"the model cannot answer: {why}", reason="bad_request") from None
        ends = asked["eos_token_id"]
        told = [_choice(tokenizer, row[size:].tolist(), ends, request.settings) for row in whole]
        copies = len(request.generations) // len(told)
        return Reply(
            choices=tuple(choice for choice, _ in told) * copies,
            request=f"local-{seed:x}",
            model=self.name,
            fingerprint=getattr(model.config, "_commit_hash", None),
            prompt_tokens=size,
            completion_tokens=sum(count for _, count in told) * copies,
            seconds=time.perf_counter() - started,
        )


def _load(name: str) -> tuple[Any, Any]:
    """Model and tokenizer, on the accelerator if there is one."""
    torch, transformers = import_module("torch"), import_module("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype="auto").to(device).eval()
    except Exception as error:  # noqa: BLE001  a model's files may be wrong in any way; other models go on
        what = f"{name!r} cannot be loaded: {shorten(str(error))}"
        raise FatalEndpointError(what, reason="not_found") from None
    return model, tokenizer


def _encoded(tokenizer: Any, request: Request) -> Any:
    """The prompt as the model's chat template writes it; without a template, the messages one after the other."""
    if getattr(tokenizer, "chat_template", None):
        return tokenizer.apply_chat_template(
            request.messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
    return tokenizer("\n\n".join(message["content"] for message in request.messages), return_tensors="pt")


def _asked(model: Any, tokenizer: Any, request: Request, size: int) -> dict[str, Any]:
    """Arguments of `generate` for a prompt of `size` tokens."""
    settings, own = request.settings, model.generation_config
    room = getattr(model.config, "max_position_embeddings", None)
    most = settings.max_tokens or TOKENS
    if room is not None and size >= room:
        raise ValueError(f"the prompt has {size} tokens, the model takes {room}")
    ends = own.eos_token_id if own.eos_token_id is not None else tokenizer.eos_token_id
    ends = ends if isinstance(ends, list) else [] if ends is None else [ends]
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else ends[0] if ends else 0
    asked: dict[str, Any] = {
        "max_new_tokens": most if room is None else min(most, room - size),
        "eos_token_id": ends,
        "pad_token_id": pad,
        "num_beams": 1,
        "do_sample": settings.temperature != 0,
    }
    if settings.stop:
        asked["stopping_criteria"] = [_stopping(tokenizer, settings.stop, size)]
    if settings.temperature != 0:
        said = own.to_diff_dict()
        # transformers fills in a top_k of 50 where nobody asked for one.
        plain = {"temperature": 1.0, "top_p": 1.0, "top_k": 0}
        given = {name: getattr(settings, name) for name in ("temperature", "top_p")}
        asked |= plain | {name: said[name] for name in plain if said.get(name) is not None}
        asked |= {name: value for name, value in given.items() if value is not None}
        asked["num_return_sequences"] = len(request.generations)
    return asked | settings.extra


def _choice(tokenizer: Any, tokens: list[int], ends: list[int], settings: Settings) -> tuple[Choice, int]:
    """One generation, and how many tokens it took; the text ends before the first of its stop strings."""
    end = next((i for i, token in enumerate(tokens) if token in ends), None)
    text = tokenizer.decode(tokens[:end], skip_special_tokens=True)
    stops = [at for stop in settings.stop or () if (at := text.find(stop)) >= 0]
    if stops:
        # Beside others that go on it was filled up.
        count = bisect_left(
            range(len(tokens)), True, key=lambda i: _stops(tokenizer.decode(tokens[:i]), settings.stop or ())
        )
        return Choice(text[: min(stops)], "stop"), count
    return Choice(text, "length" if end is None else "stop"), len(tokens) if end is None else end + 1


def _stops(text: str, stops: tuple[str, ...]) -> bool:
    return any(stop in text for stop in stops)


def _stopping(tokenizer: Any, stops: tuple[str, ...], size: int) -> Callable[..., Any]:
    """Which rows have just completed a stop string after `size` tokens; transformers' way fails for some tokenizers."""
    # A token is a byte at least; some more, lest a character or a word is cut at the beginning.
    tail = max(len(stop.encode()) for stop in stops) + 4

    def stopped(tokens: Any, _scores: Any, **_: Any) -> Any:
        ended = [_stops(tokenizer.decode(row[-tail:]), stops) for row in tokens[:, size:].tolist()]
        return import_module("torch").tensor(ended, device=tokens.device)

    return stopped


def _too_large(n: int) -> EndpointError:
    if n > 1:
        return EndpointError(f"no memory for {n} generations at a time", reason="n_rejected", most=n // 2)
    return EndpointError("no memory for this prompt", reason="too_large")
