"""Run folders to score again, and the context of a scorer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from howsure.rescoring.rescore import build_run_scorer
from howsure.rescoring.run_context import RunContext
from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.scorer_parts import ScoringItem
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


def context(path: Path = Path(), benchmarks: Mapping | None = None, base: Path | None = None) -> RunContext:
    return RunContext(path, benchmarks or {}, base)


def judged(
    spec: str, completion: str, target: str, where: RunContext | None = None, known: CompletionContext | None = None
):
    """(score, answer) of one completion, of which `known` is known."""
    chosen = build_run_scorer(spec, where or context())
    try:
        found = chosen.score(completion, ScoringItem("b", "q", "default", target, known or CompletionContext()))
    finally:
        chosen.close()
    return found.score, found.answer
