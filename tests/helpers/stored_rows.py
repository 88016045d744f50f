"""Rows for the tests of the store, and what a run folder should hold after them, by a plain dictionary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import asdict

from howsure.store import manifest
from howsure.store.responses import RunFolder, read
from howsure.store.schema import KEY, Response

#: Sorted differently by UTF-8 and UTF-16; with NUL, quotes, and what LIKE and SQL would take for their own.
NAMES = ["", "a", "a\0b", "A b/c", "007", "null", "%_'\"--", "é", "z", "ﬀ", "\U0001f600", "名前"]


def row(question="q", generation=1, *, benchmark="b", model="m", variant="v", score=1.0, **rest) -> Response:
    return Response(
        benchmark=benchmark,
        model=model,
        question=question,
        variant=variant,
        generation=generation,
        score=score,
        **rest,
    )


@contextmanager
def open_run(path: Path) -> Iterator[RunFolder]:
    """A run folder with a manifest that says nothing."""
    with RunFolder(path) as folder:
        if not (path / manifest.NAME).exists():
            (path / manifest.NAME).write_bytes(msgspec.json.encode(manifest.Manifest()))
        yield folder


def batch(number: int, size: int = 20) -> list[Response]:
    """A batch that anybody can make again from its number; texts that do not compress to nothing."""
    rows = []
    for i in range(size):
        mark = hashlib.sha256(f"{number} {i}".encode()).hexdigest()
        text = " ".join(mark[j : j + 5] for j in range(60)) * (1 + i % 5)
        rows.append(row(f"q{(number * 7919) % 1000:03d}-{i:03d}", number + 1, score=float(i % 2), completion=text))
    return rows


def key(response: Response) -> tuple[object, ...]:
    return tuple(getattr(response, name) for name in KEY)


def expected(rows: Iterable[Response]) -> list[dict[str, object]]:
    """The rule in its plainest form: the first that did not fail stays, else the last; then sorted by key."""
    kept: dict[tuple[object, ...], Response] = {}
    for one in rows:
        old = kept.get(key(one))
        if old is None or old.score is None or old.error is not None:
            kept[key(one)] = one
    return [asdict(kept[k]) for k in sorted(kept)]


def held(path) -> list[dict[str, object]]:
    return read(path).to_pylist()
