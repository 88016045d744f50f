"""Request paraphrases of instructions from a model, and write them to a file (`howsure init --paraphrase`).

A run never does this itself, because it uses only phrasings that a person has reviewed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from howsure.benchmarks.question import Benchmark, Message, Prompt
from howsure.errors import EndpointError, FatalEndpointError, InputError, UnknownNameError
from howsure.models.model import Choice, Model, Request, Settings
from howsure.prompts.instructions import (
    FILES,
    Instruction,
    format_instructions,
    load_packaged,
    parse_instructions,
)
from howsure.prompts.paraphrases import (
    build_meaning_question,
    build_paraphrase_request,
    parse_meaning_verdict,
    parse_paraphrases,
)
from howsure.sample.model_config import ModelConfig, ModelLine, expand_model_line, open_model
from howsure.sample.retry import compute_wait, is_wait_too_long
from howsure.sample.yaml_source import YamlSource
from howsure.store.atomic import replace_file

#: Number of attempts for one instruction, and number of requests in flight.
ATTEMPTS, MAX_IN_FLIGHT = 5, 4
HEADER = """\
# Phrasings with `reviewed = false` came from the model {model} and nobody has read them yet; `marks` are what a
# judge said against one, and `of` names its instruction. Read each: set `reviewed = true`, or remove it. A run takes
# the file (variants: {{space: ..., instructions: FILE}}) once each says `reviewed = true`.
"""


class CollectedParaphrases(NamedTuple):
    """New phrasings, and the reasons why other phrasings are missing."""

    phrasings: tuple[Instruction, ...]
    """New phrasings; nobody has reviewed them yet."""
    refused: tuple[str, ...]
    """Reasons why other phrasings were not accepted, each with the id of its instruction."""
    failed: tuple[str, ...]
    """Instructions that got no reply, each with the reason."""

    def __str__(self) -> str:
        """Return the counts, and a line for each phrasing that is missing."""
        marked = [entry for entry in self.phrasings if entry.marks]
        lines = [f"{len(self.phrasings)} new phrasings to review"]
        if marked:
            lines.append(f"marked {len(marked)}, because they may ask for something else:")
            lines += [f"  {entry.text!r}: {'; '.join(entry.marks)}" for entry in marked]
        for what, each in (("refused", self.refused), ("no reply for", self.failed)):
            if each:
                lines += [f"{what} {len(each)}:", *(f"  {line}" for line in each)]
        return "\n".join(lines)


def collect_paraphrases(
    source: str,
    model: str,
    output: Path,
    *,
    n: int = 5,
    only: Sequence[str] = (),
    base_url: str | None = None,
    key_env: str | None = None,
    force: bool = False,
    judge: str | None = None,
    open_model: Callable[[ModelConfig], Model] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> CollectedParaphrases:
    """Request n phrasings of each instruction, and write them to a TOML file after the existing ones.

    Parameters
    ----------
    source
        A built-in space, or a TOML file of instructions.
    model, base_url, key_env
        As for a model of an experiment.
    only
        Ids of the instructions to rephrase; by default all reviewed ones.
    force
        Overwrite an existing file.
    judge
        A model, named as `model` is, that says of each phrasing whether it asks for the same; one that does not is
        marked with its reason.
    open_model
        Opens the model; by default `model_config.open_model`.

    Raises
    ------
    InputError
        Before anything is sent, if the instructions, the model or its key do not exist, the model cannot rephrase, or
        the file exists; after it, if no phrasing was accepted. Nothing is written then.
    EndpointError
        When no request to the model can succeed.
    """
    if output.exists() and not force:
        raise InputError("the file is there already", where=str(output), remedy="name another, or add --force")
    if not output.parent.is_dir():
        raise InputError("there is no such folder", where=str(output.parent), remedy="create it first")
    existing = load_instructions(source)
    chosen = _choose_instructions(existing, only, source)
    build_paraphrase_request("?", n)  # n is checked before a model is opened
    config = build_writer_config(model, base_url, key_env)
    judge_config = None if judge is None else build_writer_config(judge, base_url, key_env, "--judge")

    def open_client(one: ModelConfig) -> Model:
        return open_model(one) if open_model else open_live_model(one, environ)

    client = open_client(config)
    judge_client = None if judge_config is None else open_client(judge_config)

    async def request_all() -> CollectedParaphrases:
        rng = np.random.default_rng()
        try:
            collected = await request_paraphrases(client, chosen, n, existing=existing, rng=rng)
            if judge_client is None:
                return collected
            judged = await judge_paraphrases(judge_client, existing, collected.phrasings, rng=rng)
            return collected._replace(phrasings=judged)
        finally:
            for one in (client, judge_client):
                if one is not None:
                    await one.close()

    collected = asyncio.run(request_all())
    if not collected.phrasings:
        why = (*collected.refused, *collected.failed)[0]
        raise InputError(f"no new phrasing was accepted: {why}", where=model, remedy="try again, or use another model")
    with replace_file(output) as path:
        path.write_text(
            HEADER.format(model=model) + "\n" + format_instructions((*existing, *collected.phrasings)), encoding="utf-8"
        )
    return collected


async def request_paraphrases(
    model: Model,
    instructions: Sequence[Instruction],
    n: int,
    *,
    existing: Sequence[Instruction] = (),
    rng: np.random.Generator,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> CollectedParaphrases:
    """Request n phrasings of each instruction.

    Parameters
    ----------
    existing
        Phrasings that no new one may repeat.
    rng, sleep
        Jitter and waits between the attempts after a failure.

    Raises
    ------
    FatalEndpointError
        When no request to the model can succeed.
    """
    slots = asyncio.Semaphore(MAX_IN_FLIGHT)

    async def request_one(instruction: Instruction) -> Choice | EndpointError:
        async with slots:
            messages = build_paraphrase_request(instruction.text, n)
            return await request_choice(model, instruction.id, messages, rng, sleep)

    replies = await asyncio.gather(*(request_one(instruction) for instruction in instructions))
    accepted, refused, failed = list(existing), [], []
    new: list[Instruction] = []
    # Replies are checked in the order of the instructions, so that the network does not decide which is a repetition.
    for instruction, reply in zip(instructions, replies, strict=True):
        if isinstance(reply, EndpointError):
            failed.append(f"{instruction.id}: {reply}")
            continue
        text = reply.text or ""
        if reply.finish_reason == "length":
            text, _, cut = text.rpartition("\n")
            refused.append(f"{instruction.id}: cut off at the model's limit of tokens: {cut[:80]!r}")
        try:
            parsed = parse_paraphrases(text, instruction, accepted)
        except InputError as error:
            refused.append(f"{instruction.id}: {error.what}")
            continue
        accepted += parsed.phrasings
        new += parsed.phrasings
        refused += [f"{instruction.id}: {line}" for line in parsed.refused]
    return CollectedParaphrases(tuple(new), tuple(refused), tuple(failed))


async def judge_paraphrases(
    model: Model,
    originals: Sequence[Instruction],
    phrasings: Sequence[Instruction],
    *,
    rng: np.random.Generator,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> tuple[Instruction, ...]:
    """Return phrasings with a mark on each that a model holds to ask for something else, or says nothing of.

    Parameters
    ----------
    originals
        The instructions that were rephrased; those that phrasings name by `of` must be among them.
    rng, sleep
        Jitter and waits between the attempts after a failure.

    Raises
    ------
    FatalEndpointError
        When no request to the model can succeed.
    """
    slots = asyncio.Semaphore(MAX_IN_FLIGHT)
    texts = {entry.id: entry.text for entry in originals}

    async def judge_one(phrasing: Instruction) -> Instruction:
        async with slots:
            question = build_meaning_question(texts[phrasing.of], phrasing.text)
            reply = await request_choice(model, phrasing.id, question, rng, sleep)
        if isinstance(reply, EndpointError):
            mark = f"the judge sent no verdict: {reply}"
        else:
            verdict = parse_meaning_verdict(reply.text or "")
            if verdict.is_same:
                return phrasing
            what = "no verdict" if verdict.is_same is None else "it differs"
            mark = f"the judge says {what}: {verdict.reason}"
        return replace(phrasing, marks=(*phrasing.marks, mark))

    return tuple(await asyncio.gather(*(judge_one(phrasing) for phrasing in phrasings)))


async def request_choice(
    model: Model,
    identity: str,
    messages: Sequence[Message],
    rng: np.random.Generator,
    sleep: Callable[[float], Awaitable[None]],
) -> Choice | EndpointError:
    """Return the reply to messages, or the last error if several attempts brought no reply."""
    message = Request(
        benchmark="paraphrase",
        question=identity,
        variant="paraphrase",
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


def load_instructions(name: str) -> tuple[Instruction, ...]:
    """Return the instructions of a built-in space, or of a TOML file.

    Raises
    ------
    UnknownNameError
        When it is neither.
    InputError
        When the file cannot be read.
    """
    if name in FILES:
        return load_packaged(name)
    path = Path(name)
    if not path.exists() and path.suffix != ".toml":
        raise UnknownNameError("space or file", name, FILES)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        remedy = f"give a TOML file, or a space: {', '.join(FILES)}"
        raise InputError(f"cannot read the instructions: {why}", where=name, remedy=remedy) from None
    return parse_instructions(text, where=name)


def _choose_instructions(existing: Sequence[Instruction], only: Sequence[str], where: str) -> list[Instruction]:
    """Return the instructions to rephrase: only reviewed ones, because others may have another meaning."""
    by_id = {instruction.id: instruction for instruction in existing}
    for name in only:
        if name not in by_id:
            raise UnknownNameError("instruction", name, by_id, where=where)
    chosen = [instruction for instruction in existing if instruction.id in only or not only]
    if not (reviewed := [instruction for instruction in chosen if instruction.reviewed]):
        remedy = "read them and set reviewed = true before you request paraphrases of them"
        raise InputError("none of the instructions was reviewed", where=where, remedy=remedy)
    return reviewed


def build_writer_config(model: str, base_url: str | None, key_env: str | None, where: str = "--model") -> ModelConfig:
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
        raise InputError(f"{model} answers questions only and cannot rephrase", where=where, remedy=remedy)
    return config


def open_live_model(config: ModelConfig, environ: Mapping[str, str]) -> Model:
    """Return the client of a model; the mode of the model is live, so the client is not a BatchClient."""
    no_benchmark = Benchmark("paraphrase", [], Prompt(), extract=lambda _: None)
    return cast("Model", open_model(config, no_benchmark, environ=environ))
