"""Paths and frames to cells, cubes and runs: of run folders, other programs' logs and tables, several at once."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from howsure.errors import HowsureWarning
from howsure.readers import cubes as described
from howsure.readers.found import Given, Source, find, sources
from howsure.readers.together import strangers, with_same_clusters
from howsure.stats.repeats import describe_dependence
from howsure.tables import rows_to_cells
from howsure.tables.rows_to_cells import flat

if TYPE_CHECKING:
    from howsure.stats.core.cells import Cells
    from howsure.stats.core.cube import Cube

__all__ = ["cells", "cubes", "find", "manifests", "read", "read_cubes", "read_runs", "runs", "sources", "told"]


def read(
    given: Given,
    *,
    columns: Mapping[str, str] | None = None,
    scorer: str | None = None,
    generations: int | None = None,
) -> list[Cells]:
    """Cells of run folders, logs, tables and frames, one per benchmark; those of the same benchmark add up.

    Parameters
    ----------
    given
        Paths and frames, one or several. A folder that is no run and no log is searched for both and for tables; a
        name may be a glob, or an address such as s3://bucket/rows.parquet. Frames are those of pandas, polars, pyarrow,
        DuckDB and PySpark; the latter is reduced where its rows lie.
    columns
        Our names to the tables' columns, where their usual names would not find them (`readers.columns.ALIASES`), or
        to the fields of a log, such as `metadata.passage`.
    scorer
        Which of several scores is read, of logs and of run folders that were scored again.
    generations
        Only the first so many generations of each question are read, those with the lowest numbers in a source; None
        is all.

    Warns of generations that look like copies of each other or like retries until one was right: see
    `stats.independence`. From the cells alone less of that can be seen.
    """
    return cells(sources(given, columns=columns, scorer=scorer, generations=generations))


def read_runs(
    given: Given,
    *,
    columns: Mapping[str, str] | None = None,
    scorer: str | None = None,
    generations: int | None = None,
) -> dict[str, list[Cells]]:
    """Runs of the same thing, by benchmark: each generation of a run folder, log or table, and each of these, is one.

    A table without a column for the generation is one run, whatever it holds.
    """
    return runs(sources(given, columns=columns, scorer=scorer, generations=generations))


def read_cubes(
    given: Given,
    *,
    columns: Mapping[str, str] | None = None,
    scorer: str | None = None,
    generations: int | None = None,
    dimensions: Sequence[str] = (),
    wide: bool = False,
) -> list[Cube]:
    """Cells of each prompt variant, one `Cube` per benchmark; those of the same benchmark add up.

    Parameters
    ----------
    given, columns, scorer, generations
        As for `read`. A table may also hold scores of whole benchmarks, without a column for the question.
    dimensions
        Columns of tables that say the variants' values. Without a column for the variant, each combination of them is
        one. A run folder knows them by itself.
    wide
        Whether tables have a row per variant and a column per model; see `readers.wide`.

    Of a model that was sampled in stages, each stage is weighed as a whole.
    """
    found = sources(given, columns=columns, scorer=scorer, generations=generations)
    return cubes(found, dimensions=dimensions, wide=wide)


def cells(found: Sequence[Source]) -> list[Cells]:
    """Cells of what `sources` found."""
    parts = _first_of_all([source.cells() for source in found], found)
    each, unclustered = with_same_clusters([one for part in parts for one in part])
    whole = rows_to_cells.merge(each)
    _note_doubts(found, parts, whole)
    _tell(found)
    for line in (*strangers(parts, found), *unclustered):
        warnings.warn(line, HowsureWarning, stacklevel=3)
    return whole


def _first_of_all(parts: list[list[Cells]], found: Sequence[Source]) -> list[list[Cells]]:
    """The cells of each source, without those of which earlier sources have as many generations as are wanted.

    A cell of which earlier sources have some, but not all, is left as these have it: sums cannot be divided.
    """
    limits = (getattr(source, name, None) for source in found for name in ("generations", "most_generations"))
    if len(parts) < 2 or not any(isinstance(limit, int) for limit in limits):
        return parts
    seen: dict[tuple[str, str], set[str]] = {}
    kept = []
    for part in parts:
        left = []
        for cells in part:
            n = cells.n.copy()
            for i, model in enumerate(cells.models):
                known = seen.setdefault((cells.benchmark, model), set())
                n[i] *= [question not in known for question in cells.questions]
                known.update(question for question, there in zip(cells.questions, n[i] > 0, strict=True) if there)
            gone = (n == 0) & (cells.n > 0)
            left.append(cells.without(gone) if gone.any() else cells)
        kept.append(left)
    return kept


def runs(found: Sequence[Source]) -> dict[str, list[Cells]]:
    """Runs of what `sources` found."""
    each: defaultdict[str, list[Cells]] = defaultdict(list)
    for source in found:
        for benchmark, some in source.runs().items():
            each[benchmark] += some
    _tell(found)
    return dict(each)


def cubes(found: Sequence[Source], *, dimensions: Sequence[str] = (), wide: bool = False) -> list[Cube]:
    """Cubes of what `sources` found."""
    parts = [source.cubes(dimensions, wide=wide) for source in found]
    # Each question under each variant is asked by itself
    each = [[flat(cube) for cube in part if not cube.whole] for part in parts]
    _note_doubts(found, each, [one for part in each for one in part] if len(found) == 1 else [])
    _tell(found)
    known, unclustered = with_same_clusters([cube for part in parts for cube in part])
    for line in unclustered:
        warnings.warn(line, HowsureWarning, stacklevel=3)
    return described.merge(known)


def manifests(found: Given) -> list[dict[str, object]]:
    """What run folders and logs say of themselves; of paths, or of what `sources` found."""
    there = found if isinstance(found, list) and all(hasattr(one, "manifest") for one in found) else sources(found)
    return [told for source in there if (told := source.manifest()) is not None]


def told(found: Sequence[Source], *, new: bool = False) -> list[str]:
    """What the numbers should be read with: what several sources say is one line. `new`: what nobody has heard yet."""
    where: defaultdict[str, list[str]] = defaultdict(list)
    for source in found:
        for line in source.told[source.heard if new else 0 :]:
            where[line].append(str(source.path))
    return [f"{paths[0]}{f' and {len(paths) - 1} more' * (len(paths) > 1)}: {line}" for line, paths in where.items()]


def _note_doubts(found: Sequence[Source], parts: Sequence[Sequence[Cells]], whole: Sequence[Cells]) -> None:
    """Let the first source of each benchmark say what speaks against independent generations."""
    for one in whole:
        its = [(source, part) for source, each in zip(found, parts, strict=True) for part in each]
        its = [(source, part) for source, part in its if part.benchmark == one.benchmark]
        first = its[0][0]
        lines = describe_dependence([part for _, part in its], one)
        first.told.extend(line for line in lines if line not in first.told)


def _tell(found: Sequence[Source]) -> None:
    for line in told(found, new=True):
        warnings.warn(line, HowsureWarning, stacklevel=3)
    for source in found:
        source.heard = len(source.told)
