"""What several sources are to each other: copies, which count once; strangers, and other questions of one name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from howsure.errors import StoreError
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.store import responses

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MARKS", "Described", "mark", "marks", "strangers", "with_same_clusters"]

#: Cells or cubes.
Part = TypeVar("Part", Cells, Cube)

#: Columns of a run folder by which one generation is told from every other.
MARKS = ("request", "created")
#: Requests of models in this process are named by what was asked, so the same name is the same draw, whenever it came.
DRAWN = "^(simulated|replay|local)-"


class Described(Protocol):
    """A source that may say what it is made of."""

    @property
    def path(self) -> str | Path:
        """Where it is."""

    def manifest(self) -> dict[str, object] | None:
        """What it says of itself."""


def mark(table: pa.Table) -> pa.Array:
    """One mark for each row: rows of two run folders with the same mark are one generation, kept twice; null: unknown.

    An endpoint may name all its requests alike, but it does not answer two in the same microsecond.

    Parameters
    ----------
    table
        With the columns `MARKS`.
    """
    import pyarrow as pa
    from pyarrow import compute

    request, created = table["request"], table["created"].cast(pa.string())
    drawn = compute.fill_null(compute.match_substring_regex(request, DRAWN), fill_value=False)
    dated = compute.binary_join_element_wise(compute.fill_null(request, ""), created, "@")
    return compute.if_else(drawn, request, dated)


def marks(path: Path) -> pa.Array:
    """The marks of a run folder, each once."""
    from pyarrow import compute

    return compute.unique(mark(responses.stream(path, MARKS).read_all()))


def strangers(parts: Sequence[Sequence[Cells]], found: Sequence[Described]) -> Iterator[str]:
    """What is to be said of sources that call their benchmarks alike, a line each.

    Programs may name the same questions differently; run folders know the content of their benchmarks, so that the
    shards of one run, which have no question in common, are no strangers.
    """
    if len(found) < 2:
        return
    seen: dict[str, tuple[set[str], Described, Mapping[str, object]]] = {}
    for source, part in zip(found, parts, strict=True):
        for one in part:
            its = _made_of(source, one.benchmark)
            questions, first, known = seen.setdefault(one.benchmark, (set(one.questions), source, its))
            is_alike = known.get("sha256") is not None and known.get("sha256") == its.get("sha256")
            if questions.isdisjoint(one.questions) and not is_alike:
                yield (
                    f"{source.path}: no question of {one.benchmark} is one of {first.path}: are they the same "
                    "benchmark? Two programs may name the same questions differently: --columns question=FIELD"
                )
            elif _differ(its, known, "sha256"):
                yield f"{source.path}: {one.benchmark} is not what it was in {first.path}: other questions or targets"
            elif _differ(its, known, "seed") and questions != set(one.questions):
                yield (
                    f"{source.path}: its questions were drawn with seed {its['seed']}, those of {first.path} with "
                    f"{known['seed']}: shards of one run have one seed"
                )
            questions.update(one.questions)


def with_same_clusters(parts: Sequence[Part]) -> tuple[list[Part], list[str]]:
    """Parts of several sources, each benchmark with clusters in all of its parts or in none; and what was left out.

    A run folder keeps the clusters of its questions, and another source of the same benchmark may not: it takes the
    clusters from the folder where that knows all of its questions, and otherwise they are not used, and a line says so.
    """
    known: dict[str, dict[str, str]] = {}
    for part in parts:
        known.setdefault(part.benchmark, {}).update(zip(part.questions, part.clusters or (), strict=False))
    left_out = set()
    for part in parts:
        of = known[part.benchmark]
        if of and not of.keys() >= set(part.questions):
            left_out.add(part.benchmark)
    found = []
    for part in parts:
        of = {} if part.benchmark in left_out else known[part.benchmark]
        clusters = tuple(of[question] for question in part.questions) if of else None
        found.append(replace(part, clusters=clusters) if (part.clusters is None) == bool(of) else part)
    line = "only some of its sources know the clusters of its questions: they are not used"
    return found, [f"{name}: {line}" for name in sorted(left_out)]


def _made_of(source: Described, benchmark: str) -> dict[str, object]:
    try:
        told = source.manifest() or {}
    except StoreError:
        # The source itself says that it is damaged.
        told = {}
    benchmarks = told.get("benchmarks")
    its = benchmarks.get(benchmark) if isinstance(benchmarks, dict) else None
    return {"seed": told.get("seed"), **(its if isinstance(its, dict) else {})}


def _differ(one: Mapping[str, object], other: Mapping[str, object], name: str) -> bool:
    """Whether both say it, and not the same."""
    return None not in {one.get(name), other.get(name)} and one[name] != other[name]
