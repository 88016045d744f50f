"""Requests to the simulated model, and its random numbers written again."""

from __future__ import annotations

import asyncio
import hashlib
from statistics import NormalDist

from howsure.models.model import Request, Settings


def ask(model, question, generations, *, variant=None, settings=None, asked=None):
    benchmark = model.benchmark
    variant = variant or (asked and asked.id)
    request = Request(
        benchmark=benchmark.name,
        question=question.id,
        variant=variant or benchmark.prompt.id,
        messages=benchmark.prompt.messages(question),
        generations=tuple(generations),
        settings=settings or Settings(),
        prompt_variant=asked,
    )
    return asyncio.run(model.generate(request))


def normal(benchmark, *parts, skip=0):
    key = "".join(f"{part}\0" for part in (1, 0, benchmark.name, *parts)).encode()
    eight = hashlib.blake2b(key, digest_size=24).digest()[skip : skip + 8]
    return NormalDist().inv_cdf(((int.from_bytes(eight, "big") >> 11) + 0.5) / 2**53)
