"""What a scorer is: a name, a version that changes with its rules, and what a completion is worth."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from howsure.benchmarks.question import Benchmark

__all__ = ["Asked", "Place", "Scored", "Scorer", "rules"]


class Asked(NamedTuple):
    """What a completion answers."""

    benchmark: str
    question: str
    variant: str
    target: str


class Scored(NamedTuple):
    """What a completion is worth; without an answer the score is 0."""

    score: float
    answer: str | None
    rule: str | None


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Scorer:
    """A way to score completions.

    Attributes
    ----------
    name, version
        Of its column.
    score
        (completion, asked) to what it is worth; raises where it cannot be scored, for the row's `error`, but InputError
        where nothing can be.
    close
        Ends what it started.
    """

    name: str
    version: str
    score: Callable[[str, Asked], Scored]
    close: Callable[[], None] = _nothing


class Place(NamedTuple):
    """Where a scorer finds what rows do not hold."""

    run: Path
    benchmarks: Mapping[str, Benchmark]
    """By name, where the folder itself does not lead to one."""
    base: Path | None
    """Folder of the benchmark's file."""


#: Folder of the package, whose code decides versions.
_PACKAGE = Path(__file__).parents[1]


def rules(*modules: str) -> str:
    """Return the version of these modules of howsure: a hash of their code, of a package that of all its modules."""
    digest = hashlib.sha256()
    for name in modules:
        path = _PACKAGE.joinpath(*name.split("."))
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:8]
