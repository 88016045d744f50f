"""A run folder that is exported, its rows and its cells."""

from __future__ import annotations

import numpy as np

from howsure.rows import to_cells
from howsure.stats.core.cells import Cells
from howsure.store import manifest
from howsure.store.manifest import ModelRecord
from howsure.store.responses import RunFolder, read
from howsure.store.schema import Response

SECRET = "sk-a-very-secret-key-0123456789"


def row(question="q", generation=1, **rest):
    values = {"benchmark": "b", "model": "m", "variant": "v", "score": 1.0, **rest}
    return Response(question=question, generation=generation, **values)


def rows_of(benchmark, models="xy", scale=1.0):
    return [
        row(
            f"q{i}",
            g,
            benchmark=benchmark,
            model=m,
            variant=v,
            score=None if (i, g) == (3, 2) else scale * ((i * 7 + g * 3 + ord(m)) % 2),
            error="timeout: x" if (i, g) == (3, 2) else None,
            status="error" if (i, g) == (3, 2) else "ok",
            answer="4",
            completion=f"It is {i}, “so to speak”.",
            request="req-17",
        )
        for m in models
        for i in range(6)
        for v in "vw"
        for g in (1, 2, 3)
    ]


def same(first: Cells, second: Cells, *names: str, exactly=True):
    assert (first.benchmark, first.models, first.questions) == (second.benchmark, second.models, second.questions)
    for name in names:
        a, b = getattr(first, name), getattr(second, name)
        assert (a == b).all() if exactly else np.allclose(a, b, rtol=1e-14)


def stored(path):
    found = to_cells.make_cells(read(path, ["benchmark", "model", "question", "variant", "score"]))
    return {one.benchmark: one for one in found}


# theory: a round trip changes nothing


def write_run(path):
    """Write a run folder of two benchmarks whose manifest names an inner host, a key and a secret; return its path."""
    with RunFolder(path) as folder:
        model = ModelRecord(
            name="x",
            kind="made",
            base_url="http://inner.host/v1",
            key_env="MADE_KEY",
            settings={"api_key": "k", "eos_token": "e"},
        )
        manifest.begin(path, manifest.Manifest(models={"x": model}, notes=(f"it said {SECRET}",)))
        folder.append([*rows_of("sums"), *rows_of("a/b", scale=0.5)])
        folder.put_prompts(
            ("sums", f"q{i}", "v", [{"role": "user", "content": f"{i}?"}], "4", {"cluster": f"c{i % 2}"})
            for i in range(6)
        )
        folder.compact()
    return path
