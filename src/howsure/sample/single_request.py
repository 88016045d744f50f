"""Send single requests to a model outside of a run, with a few attempts each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast

import numpy as np

from howsure.benchmarks.question import Benchmark, Message, Prompt
from howsure.errors import EndpointError, FatalEndpointError, InputError
from howsure.models.model import Choice, Model, Request, Settings
from howsure.sample.model_config import ModelConfig, ModelLine, expand_model_line, open_model
from howsure.sample.retry import compute_wait, is_wait_too_long
from howsure.sample.yaml_source import YamlSource

#: Number of attempts for one request, and number of requests in flight.
ATTEMPTS, MAX_IN_FLIGHT = 5, 4


async def request_choice(
    model: Model,
    identity: str,
    messages: Sequence[Message],
    rng: np.random.Generator,
    sleep: Callable[[float], Awaitable[None]],
) -> Choice | EndpointError:
    """Return the reply to messages, or the last error if several attempts brought no reply."""
    message = Request(
        benchmark="single",
        question=identity,
        variant="single",
        messages=list(messages),
        generations=(1,),
        settings=Settings(),
    )
    attempt = 1
    while True:
        try:
            reply = await model.generate(message)
        except FatalEndpointError:
            raise
        except EndpointError as error:
            if attempt == ATTEMPTS or error.reason in {"bad_request", "too_large"}:
                return error
            if is_wait_too_long(error):
                return error
            await sleep(compute_wait(error, attempt, rng))
            attempt += 1
            continue
        if not reply.choices:
            return EndpointError("it sent no choice", reason="empty")
        choice = reply.choices[0]
        return choice if choice.error is None else EndpointError(choice.error, reason="failed_reply")


def build_writer_config(model: str, base_url: str | None, key_env: str | None, where: str) -> ModelConfig:
    """Return the configuration of a model that writes text."""
    line = ModelLine(model, base_url=base_url, key_env=key_env)
    try:
        config, *_ = expand_model_line(
            line, 0, YamlSource("models: [model]", "model"), generations=1, concurrency=1, greedy=False
        )
    except InputError as error:
        remedy = error.remedy if base_url else "name it openai/NAME or another provider's, or give it a --base-url"
        raise InputError(error.what, where=where, remedy=remedy) from None
    if config.kind in {"simulated", "replay"}:
        remedy = "name a model that writes text: openai/NAME, another provider's, or one with --base-url"
        raise InputError(f"{model} answers questions only", where=where, remedy=remedy)
    return config


def open_live_model(config: ModelConfig, environ: Mapping[str, str]) -> Model:
    """Return the client of a model; the mode of the model is live, so the client is not a BatchClient."""
    no_benchmark = Benchmark("single", [], Prompt(), extract=lambda _: None)
    return cast("Model", open_model(config, no_benchmark, environ=environ))
