"""The command `howsure paraphrase`: asks a model for more phrasings of instructions, and writes a file to review.

Never part of a run: a run asks only what a person has read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from howsure.benchmarks.question import Benchmark, Prompt
from howsure.errors import EndpointError, FatalEndpointError, InputError, UnknownNameError
from howsure.models.model import Choice, Model, Request, Settings
from howsure.perturb.instructions import (
    FILES,
    Instruction,
    build_paraphrase_request,
    format_instructions,
    load_packaged,
    parse_instructions,
    parse_paraphrases,
)
from howsure.sample.model_config import ModelEntry, ModelLine, entries, open_model
from howsure.sample.retry import LONGEST_WAIT, backoff
from howsure.sample.yaml_source import Source
from howsure.store.atomic import replace_file

__all__ = ["Paraphrased", "ask", "instructions_of", "paraphrase"]

#: Attempts for one instruction, and requests in flight.
ATTEMPTS, AT_ONCE = 5, 4
HEADER = """\
# Phrasings marked `reviewed = false` came from the model {model} and nobody has read them yet. A run takes the file
# (variants: {{space: ..., instructions: FILE}}) once each says `reviewed = true`, or is removed.
"""


class Paraphrased(NamedTuple):
    """What became of it."""

    entries: tuple[Instruction, ...]
    """New phrasings, none of them reviewed."""
    refused: tuple[str, ...]
    """Why others that came were not taken, each with the id of its instruction."""
    failed: tuple[str, ...]
    """Instructions for which no reply came, with the reason."""

    def __str__(self) -> str:
        """Counts, and a line for each that is missing."""
        lines = [f"{len(self.entries)} new phrasings to review"]
        for what, each in (("refused", self.refused), ("no reply for", self.failed)):
            if each:
                lines += [f"{what} {len(each)}:", *(f"  {line}" for line in each)]
        return "\n".join(lines)


def paraphrase(
    of: str,
    model: str,
    output: Path,
    *,
    n: int = 5,
    only: Sequence[str] = (),
    base_url: str | None = None,
    key_env: str | None = None,
    force: bool = False,
    open_model: Callable[[ModelEntry], Model] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Paraphrased:
    """Ask for n phrasings of each instruction, and write them to a TOML file behind those that there are.

    Parameters
    ----------
    of
        A built-in space, or a TOML file of instructions.
    model, base_url, key_env
        As a model of an experiment.
    only
        Ids of the instructions to rephrase; by default all that were reviewed.
    force
        Write over a file that is there.
    open_model
        Makes the model; by default `opening.open_model`.

    Raises
    ------
    InputError
        Before anything is sent, when the instructions, the model or its key do not exist, the model cannot write, or
        the file is there already; after it, when no phrasing could be taken. Nothing is written then.
    EndpointError
        When the model cannot be asked at all.
    """
    if output.exists() and not force:
        raise InputError("the file is there already", where=str(output), remedy="name another, or add --force")
    if not output.parent.is_dir():
        raise InputError("there is no such folder", where=str(output.parent), remedy="make it first")
    known = instructions_of(of)
    chosen = _chosen(known, only, of)
    build_paraphrase_request("?", n)  # n is checked before a model is opened
    entry = _entry(model, base_url, key_env)
    opened = open_model(entry) if open_model else _opened(entry, environ)

    async def asked() -> Paraphrased:
        try:
            return await ask(opened, chosen, n, known=known, rng=np.random.default_rng())
        finally:
            await opened.close()

    found = asyncio.run(asked())
    if not found.entries:
        why = (*found.refused, *found.failed)[0]
        raise InputError(f"no new phrasing came: {why}", where=model, remedy="ask again, or another model")
    with replace_file(output) as path:
        path.write_text(
            HEADER.format(model=model) + "\n" + format_instructions((*known, *found.entries)), encoding="utf-8"
        )
    return found


async def ask(
    model: Model,
    of: Sequence[Instruction],
    n: int,
    *,
    known: Sequence[Instruction] = (),
    rng: np.random.Generator,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Paraphrased:
    """Ask for n phrasings of each instruction.

    Parameters
    ----------
    known
        Further entries that no phrasing may repeat.
    rng, sleep
        How attempts after a failure wait.

    Raises
    ------
    FatalEndpointError
        When no request to the model can succeed.
    """
    room = asyncio.Semaphore(AT_ONCE)

    async def one(instruction: Instruction) -> Choice | EndpointError:
        async with room:
            return await _choice(model, instruction, n, rng, sleep)

    replies = await asyncio.gather(*(one(instruction) for instruction in of))
    taken, refused, failed = list(known), [], []
    new: list[Instruction] = []
    # In their order, whichever came first: what counts as a repetition does not depend on the network.
    for instruction, reply in zip(of, replies, strict=True):
        if isinstance(reply, EndpointError):
            failed.append(f"{instruction.id}: {reply}")
            continue
        text = reply.text or ""
        if reply.finish_reason == "length":
            text, _, cut = text.rpartition("\n")
            refused.append(f"{instruction.id}: cut off at the model's limit of tokens: {cut[:80]!r}")
        try:
            found = parse_paraphrases(text, instruction, taken)
        except InputError as error:
            refused.append(f"{instruction.id}: {error.what}")
            continue
        taken += found.phrasings
        new += found.phrasings
        refused += [f"{instruction.id}: {line}" for line in found.refused]
    return Paraphrased(tuple(new), tuple(refused), tuple(failed))


async def _choice(
    model: Model,
    instruction: Instruction,
    n: int,
    rng: np.random.Generator,
    sleep: Callable[[float], Awaitable[None]],
) -> Choice | EndpointError:
    """The reply for one instruction, or why there is none after several attempts."""
    wanted = Request(
        benchmark="paraphrase",
        question=instruction.id,
        variant="paraphrase",
        messages=build_paraphrase_request(instruction.text, n),
        generations=(1,),
        settings=Settings(),
    )
    attempt = 1
    while True:
        try:
            reply = await model.generate(wanted)
        except FatalEndpointError:
            raise
        except EndpointError as error:
            if attempt == ATTEMPTS or error.reason in {"bad_request", "too_large"}:
                return error
            waited = error.retry_after if error.retry_after is not None else backoff(attempt, rng)
            if waited > LONGEST_WAIT:
                return error
            await sleep(waited)
            attempt += 1
            continue
        return reply.choices[0] if reply.choices else EndpointError("it sent no choice", reason="empty")


def instructions_of(name: str) -> tuple[Instruction, ...]:
    """The instructions of a built-in space, or of a TOML file.

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


def _chosen(known: Sequence[Instruction], only: Sequence[str], where: str) -> list[Instruction]:
    """Those to rephrase: nobody's eyes have seen the others, and what they ask may have drifted."""
    by_id = {instruction.id: instruction for instruction in known}
    for name in only:
        if name not in by_id:
            raise UnknownNameError("instruction", name, by_id, where=where)
    chosen = [instruction for instruction in known if instruction.id in only or not only]
    if not (read := [instruction for instruction in chosen if instruction.reviewed]):
        remedy = "read them and set reviewed = true before more is made of them"
        raise InputError("none of the instructions was reviewed", where=where, remedy=remedy)
    return read


def _entry(model: str, base_url: str | None, key_env: str | None) -> ModelEntry:
    line = ModelLine(model, base_url=base_url, key_env=key_env)
    try:
        found, *_ = entries(line, 0, Source("models: [model]", "model"), generations=1, concurrency=1, greedy=False)
    except InputError as error:
        remedy = error.remedy if base_url else "name it openai/NAME or another provider's, or give it a --base-url"
        raise InputError(error.what, where="--model", remedy=remedy) from None
    if found.kind in {"simulated", "replay"}:
        remedy = "name one that writes: openai/NAME, another provider's, or one with --base-url"
        raise InputError(f"{model} answers questions only and cannot rephrase", where="--model", remedy=remedy)
    return found


def _opened(entry: ModelEntry, environ: Mapping[str, str]) -> Model:
    nothing = Benchmark("paraphrase", [], Prompt(), extract=lambda _: None)
    model: Model = open_model(entry, nothing, environ=environ)  # type: ignore[assignment]  # no batch: mode is live
    return model
