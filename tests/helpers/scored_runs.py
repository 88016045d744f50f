"""Run folders to score again, and the place of a scorer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from howsure.scorers.base import Asked, Place
from howsure.scorers.registry import scorer
from howsure.store.manifest import Manifest
from howsure.store.responses import RunFolder
from howsure.store.schema import Response


def response(question="q", generation=1, *, completion, target="18", model="m", benchmark="b", **rest) -> Response:
    return Response(
        benchmark=benchmark,
        model=model,
        question=question,
        variant=rest.pop("variant", "default"),
        generation=generation,
        completion=completion,
        target=target,
        **rest,
    )


def run_of(path: Path, rows, prompts=(), manifest: Manifest | None = None) -> Path:
    with RunFolder(path) as run:
        (manifest or Manifest()).save(path)
        run.append(list(rows))
        run.put_prompts(list(prompts))
    return path


def place(path: Path = Path(), benchmarks: Mapping | None = None, base: Path | None = None) -> Place:
    return Place(path, benchmarks or {}, base)


def judged(spec: str, completion: str, target: str, where: Place | None = None):
    """(score, answer) of one completion."""
    chosen = scorer(spec, where or place())
    try:
        found = chosen.score(completion, Asked("b", "q", "default", target))
    finally:
        chosen.close()
    return found.score, found.answer
