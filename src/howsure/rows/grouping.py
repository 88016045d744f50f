"""Reduce rows to cells with narwhals expressions, and check the rows.

Expressions run on the engine that holds the rows; only grouped rows come back. Duplicate keys are found in the same
pass from the sum of 2^generation: the sum has as many bits that are 1 as it has terms exactly if no two terms are
equal. This holds in double precision too, in any order of adding, for exponents up to 52. Two equal terms are replaced
by one bit of the next place, which leaves fewer bits than terms, and rounding never adds a bit.

Where there are no more than 26 generations, the sum of 4^generation is used instead, with the term twice for a score
above 0.5. Its digits to base 4 are the scores of the single generations, and again it has as many digits other than 0
as there are rows only if no two generations are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import MOST_OUTCOMES

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa
    from narwhals.typing import IntoLazyFrame

__all__ = [
    "CELL",
    "COLUMNS",
    "OUTCOMES",
    "VariantNames",
    "group_cells",
    "keep_first_generations",
    "list_distinct_rows",
    "pool_variants",
    "read_clusters",
    "read_values",
    "read_variants",
    "split_generations",
    "sum_groups",
]

CELL = ("benchmark", "model", "question")
_SUMS = ("n", "total", "total_sq")
#: Columns of grouped rows, and the function that merges two groups.
COLUMNS = {**dict.fromkeys((*_SUMS, "failed", "unparsed"), "sum"), "minimum": "min", "maximum": "max"}
#: Column with the scores of single generations (`Cells.outcomes`), which do not add up.
OUTCOMES = "outcomes"
#: Bits of a double, and the largest number of such words for which their sums are faster than a second pass.
_BITS, _MAX_WORDS = 53, 4
#: Column with the rank of a generation among those of its cell.
_RANK = "generation rank"
#: Cells of single variants are grouped before they are pooled if there are at most so many.
_MAX_VARIANT_CELLS = 5_000_000
#: Columns that say which model has which variant.
_OF_MODEL = ("benchmark", "model", "variant")
#: Rows that are grouped by generation at a time.
_MAX_RUN_ROWS = 500_000


class _GenerationRange(NamedTuple):
    """The number of rows, and the range of their generations; None if these are not whole numbers."""

    rows: int
    first: int | None = None
    last: int | None = None

    @property
    def span(self) -> int:
        return 1 if self.first is None or self.last is None else self.last - self.first + 1


class VariantNames(NamedTuple):
    """The prompt variants of each benchmark, and those under which each model of it has a score."""

    of_benchmark: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    of_model: Mapping[str, Mapping[str, frozenset[str]]] = MappingProxyType({})


def pool_variants(rows: nw.LazyFrame[IntoLazyFrame], where: str) -> tuple[pa.Table, VariantNames]:
    """Return one row per cell, pooled over variants, and the variants of each benchmark.

    Up to `_MAX_VARIANT_CELLS` cells are grouped by variant and added up here: one pass finds cells, variants and
    duplicate keys.
    """
    names = rows.collect_schema().names()
    if "variant" not in names:
        return group_cells(rows, CELL, where), VariantNames()
    from pyarrow import compute

    generations = _find_range(rows)
    if "n" not in names and generations.rows <= _MAX_VARIANT_CELLS * generations.span:
        table = group_cells(rows, (*CELL, "variant"), where, generations, required=CELL)
        has_score = compute.greater(table["n"], 0)
        distinct = table.select([*_OF_MODEL]).append_column("has_score", has_score)
        variants = _list_variants(distinct.group_by(distinct.column_names).aggregate([]))
        table = sum_groups(_keep_first_outcomes(table), CELL)
    else:
        table = group_cells(rows, CELL, where, generations)
        variants = read_variants(rows)
    return table, variants


def _keep_first_outcomes(table: pa.Table) -> pa.Table:
    """Return the table with outcomes of the first variant of each benchmark, and 0 elsewhere, which can be added up."""
    import pyarrow as pa

    if OUTCOMES not in table.column_names:
        return table
    columns = (table[name].combine_chunks().dictionary_encode("encode") for name in ("benchmark", "variant"))
    (benchmark, _), (variant, names) = ((one.indices.to_numpy(), one.dictionary.to_pylist()) for one in columns)
    if len(names) == 1:
        return table
    rank = np.argsort(np.argsort(np.array(["" if name is None else str(name) for name in names])))[variant]
    first = np.full(benchmark.max() + 1, len(names))
    np.minimum.at(first, benchmark, rank)
    outcomes = np.where(rank == first[benchmark], table[OUTCOMES].to_numpy(), 0.0)
    return table.set_column(table.column_names.index(OUTCOMES), OUTCOMES, pa.array(outcomes))


def read_variants(rows: nw.LazyFrame[IntoLazyFrame]) -> VariantNames:
    """Return the prompt variants of each benchmark, and those of each model."""
    import narwhals as nw

    names = rows.collect_schema().names()
    if "variant" not in names:
        return VariantNames()
    has_score = nw.col("n") > 0 if "n" in names else ~nw.col("score").is_null()
    distinct = rows.select(*_OF_MODEL, has_score.alias("has_score")).unique()
    return _list_variants(distinct.collect(backend="pyarrow").to_native())


def _list_variants(table: pa.Table) -> VariantNames:
    """Return the variants in rows of benchmark, model, variant, and whether there is a score."""
    names: dict[str, set[str]] = {}
    scored: dict[str, dict[str, set[str]]] = {}
    columns = [["" if v is None else str(v) for v in table[name].to_pylist()] for name in _OF_MODEL]
    for benchmark, model, variant, has_score in zip(*columns, table["has_score"].to_pylist(), strict=True):
        names.setdefault(benchmark, set()).add(variant)
        own = scored.setdefault(benchmark, {}).setdefault(model, set())
        if has_score:
            own.add(variant)
    return VariantNames(
        {benchmark: tuple(sorted(each)) for benchmark, each in names.items()},
        {benchmark: {model: frozenset(own) for model, own in each.items()} for benchmark, each in scored.items()},
    )


def group_cells(
    rows: nw.LazyFrame[IntoLazyFrame],
    by: Sequence[str],
    where: str,
    generations: _GenerationRange | None = None,
    *,
    required: Sequence[str] = (*CELL, "variant"),
) -> pa.Table:
    """Return one row per group with n, total and total_sq, and of single scores minimum, maximum, failed and unparsed.

    Parameters
    ----------
    rows
        A lazy narwhals frame.
    by
        Columns of a group.
    where
        Name of the source, for messages.
    generations
        As `_find_range` returns it, where it is known.
    required
        Columns of a group that may not be empty.

    Raises
    ------
    InputError
        Where there are no rows, an empty name, a score that is not finite, or a key that comes twice.
    """
    import narwhals as nw
    from pyarrow import compute

    names = rows.collect_schema().names()
    key = [name for name in (*CELL, "variant", *(["generation"] if "n" not in names else [])) if name in names]
    unique = "n" in names or "generation" in names
    beyond = set(key) - set(by)
    words: dict[str, Any] = {}
    terms: dict[str, Any] = {}
    aggregates = {"rows": nw.len()}
    if "n" in names:
        aggregates |= {name: nw.col(name).sum() for name in _SUMS}
    else:
        score = nw.col("score").cast(nw.Float64)
        terms = {"total": score, "total_sq": score * score}
        if "answer" in names:
            terms["unparsed"] = (~score.is_null() & nw.col("answer").is_null()).cast(nw.Int64)
        if unique and beyond == {"generation"}:
            words = _build_mark_terms(generations or _find_range(rows), score)
        terms |= words
        aggregates |= {"n": nw.col("total").count(), **{name: nw.col(name).sum() for name in terms}}
        aggregates |= {"minimum": nw.col("total").min(), "maximum": nw.col("total").max()}
    alone = unique and (not beyond or bool(words))
    if unique and not alone:
        _check_unique(rows, key, where)
    rows_with_terms = rows.with_columns(**terms) if terms else rows
    table: pa.Table = rows_with_terms.group_by(*by).agg(**aggregates).collect(backend="pyarrow").to_native()
    if table.num_rows == 0:
        raise InputError("no rows", where=where, remedy="give a table with at least one score")
    _check_values(table, [name for name in by if name in required], where)
    if alone and np.any(_count_different(table, words) != table["rows"].to_numpy()):
        _check_unique(rows, key, where)
    if "n" not in names:
        table = table.append_column("failed", compute.subtract(table["rows"], table["n"]))
    return table.select([name for name in table.column_names if name in (*COLUMNS, OUTCOMES) or name in by])


def keep_first_generations(
    rows: nw.LazyFrame[IntoLazyFrame], most: int | None, where: str
) -> nw.LazyFrame[IntoLazyFrame]:
    """Return the rows of the `most` lowest generations of each cell and variant; None returns all rows.

    Parameters
    ----------
    rows
        A lazy narwhals frame.

    Raises
    ------
    InputError
        When `most` is below 1, or generations are not whole numbers.
    """
    import narwhals as nw

    if most is None:
        return rows
    if most < 1:
        raise InputError(f"--generations {most}", where=where, remedy="allowed: 1 or more")
    schema = rows.collect_schema()
    if "generation" not in schema.names() or not schema["generation"].is_integer():
        what = "there is no column 'generation' of whole numbers, so the first generations are not known"
        raise InputError(what, where=where, remedy="name it with --columns generation=COLUMN, or leave rows out")
    cell = [name for name in (*CELL, "variant") if name in schema.names()]
    rank = nw.col("generation").rank("dense").over(*cell)
    return rows.with_columns(rank.alias(_RANK)).filter(nw.col(_RANK) <= most).drop(_RANK)


def keep_first_rows(table: pa.Table, most: int | None, where: str) -> pa.Table:
    """Return the rows of the `most` lowest generations of each cell and variant of an Arrow table."""
    if most is None or not len(table):
        return table
    if most < 1:
        raise InputError(f"--generations {most}", where=where, remedy="allowed: 1 or more")
    columns = (table[name].combine_chunks().dictionary_encode("encode") for name in (*CELL, "variant"))
    codes = [column.indices.to_numpy() for column in columns]
    generation = table["generation"].to_numpy()
    order = np.lexsort((generation, *codes))
    is_cell = np.zeros(len(order), bool)  # whether a cell begins in this row
    is_cell[0] = True
    for code in codes:
        is_cell[1:] |= code[order][1:] != code[order][:-1]
    is_new = is_cell.copy()  # whether a generation begins in this row
    is_new[1:] |= generation[order][1:] != generation[order][:-1]
    count = np.cumsum(is_new)
    rank = count - count[np.maximum.accumulate(np.where(is_cell, np.arange(len(order)), 0))]
    return table.take(np.sort(order[rank < most]))


def split_generations(rows: nw.LazyFrame[IntoLazyFrame]) -> list[nw.LazyFrame[IntoLazyFrame]]:
    """Return the rows in parts of so many successive generations that each part has about `_MAX_RUN_ROWS` rows.

    Grouping by generation takes some 500 bytes for each row. Rows whose generations are not numbered are one part.
    """
    import narwhals as nw

    generations = _find_range(rows)
    if generations.first is None or generations.first < 0 or generations.rows <= _MAX_RUN_ROWS:
        return [rows]
    number = nw.col("generation")
    counts = rows.group_by("generation").agg(times=nw.len()).collect(backend="pyarrow").to_native().to_pylist()
    if any(one["generation"] is None for one in counts):
        return [rows]
    parts, size = [], _MAX_RUN_ROWS
    for one in sorted(counts, key=itemgetter("generation")):
        if size + one["times"] > _MAX_RUN_ROWS:
            parts.append([one["generation"], one["generation"]])
            size = 0
        parts[-1][1], size = one["generation"], size + one["times"]
    return [rows.filter(number.is_between(first, last)) for first, last in parts]


def _find_range(rows: nw.LazyFrame[IntoLazyFrame]) -> _GenerationRange:
    """Return the number of rows and the range of their generations."""
    import narwhals as nw

    schema = rows.collect_schema()
    is_numbered = "generation" in schema.names() and schema["generation"].is_integer()
    generation = nw.col("generation")
    aggregates = {"rows": nw.len(), **({"first": generation.min(), "last": generation.max()} if is_numbered else {})}
    extremes = rows.select(**aggregates).collect(backend="pyarrow").to_native().to_pylist()[0]
    first, last = (None if extremes.get(name) is None else int(extremes[name]) for name in ("first", "last"))
    return _GenerationRange(int(extremes["rows"]), first, last)


def _build_mark_terms(generations: _GenerationRange, score: Any) -> dict[str, Any]:
    """Return terms whose sums show whether all generations of a group differ, by column.

    `OUTCOMES` where there are at most 26: 4^generation, twice for a score above 0.5. Else 2^generation as doubles of
    53 bits each; none where generations are too far apart, or no whole numbers.
    """
    import narwhals as nw

    if generations.first is None or generations.span > _BITS * _MAX_WORDS:
        return {}
    place = (nw.col("generation").cast(nw.Int64) - generations.first).cast(nw.Float64)
    if generations.span <= MOST_OUTCOMES:
        return {OUTCOMES: nw.lit(2.0) ** (2 * place + (score > 0.5).fill_null(value=False).cast(nw.Float64))}
    words = {}
    for start in range(0, generations.span, _BITS):
        within = nw.col("generation").is_between(generations.first + start, generations.first + start + _BITS - 1)
        power = nw.lit(2.0) ** (place - start)
        words[f"word {start}"] = (
            power if generations.span <= _BITS else nw.when(within).then(power).otherwise(nw.lit(0.0))
        )
    return words


def _count_different(table: pa.Table, words: Mapping[str, Any]) -> NDArray[np.integer]:
    """Return the number of different generations of each group, from the sums of `words`; 1 without words."""
    if not words:
        return np.ones(len(table), np.int64)
    count = _count_digits if OUTCOMES in words else _count_bits
    return np.asarray(np.sum([count(table[name].to_numpy()) for name in words], axis=0))


def _count_bits(sums: NDArray[np.float64]) -> NDArray[np.integer]:
    """Return the number of bits of sums of 2^0 to 2^52; 0 for larger sums, in which a term occurs twice, and NaN."""
    exact = np.where((sums >= 0) & (sums < 2.0**_BITS), sums, 0.0)  # False for NaN
    return np.bitwise_count(exact.astype(np.uint64)).astype(np.int64)


def _count_digits(sums: NDArray[np.float64]) -> NDArray[np.integer]:
    """Return the number of base-4 digits other than 0; 0 for sums too large for 26 generations, and for NaN."""
    exact = np.where((sums >= 0) & (sums < 4.0**MOST_OUTCOMES), sums, 0.0).astype(np.uint64)  # False for NaN
    digits = (exact | exact >> np.uint64(1)) & np.uint64(0x5555555555555555)
    return np.asarray(np.bitwise_count(digits), np.int64)


def _check_values(table: pa.Table, names: Sequence[str], where: str) -> None:
    """Raise InputError for an empty name or a score that is not finite."""
    import pyarrow as pa
    from pyarrow import compute

    for name in names:
        text = compute.utf8_trim(table[name].unique().cast(pa.string()), " ")
        if text.null_count or compute.any(compute.equal(text, "")).as_py():
            raise InputError(f"the {name} is empty", where=where, remedy="fill it in")
    some = table["n"].to_numpy() > 0  # the total of no scores is null
    if not np.all(np.isfinite(table["total"].to_numpy().astype(float)[some])):
        raise InputError("a score is not a finite number", where=where, remedy="fix the value, or leave it empty")


def _check_unique(rows: nw.LazyFrame[IntoLazyFrame], key: Sequence[str], where: str) -> None:
    """Raise InputError for a key that occurs twice."""
    import narwhals as nw

    twice = rows.group_by(*key).agg(times=nw.len()).filter(nw.col("times") > 1)
    number = int(twice.select(nw.len()).collect(backend="pyarrow").to_native()[0][0].as_py())
    if number:
        first = twice.sort(*key).head(1).collect(backend="pyarrow").to_native().to_pylist()[0]
        times = first.pop("times")
        raise InputError(
            f"{number} duplicate key{'s' * (number > 1)}, the first "
            + ", ".join(f"{k} {(str(v) if k in CELL else v)!r}" for k, v in first.items()),
            where=where,
            remedy=f"it occurs {times} times: keep one row each, or number the repeats in a column 'generation'",
        )


def sum_groups(table: pa.Table, by: Sequence[str]) -> pa.Table:
    """Return grouped rows added up to coarser groups; of the outcomes in a group all but one must be 0."""
    merge = {name: how for name, how in {**COLUMNS, OUTCOMES: "sum"}.items() if name in table.column_names}
    added = table.group_by(list(by)).aggregate([*merge.items()])
    return added.select([*by, *(f"{name}_{how}" for name, how in merge.items())]).rename_columns([*by, *merge])


def list_distinct_rows(rows: nw.LazyFrame[IntoLazyFrame], columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the distinct rows of some columns as text, sorted; none where the last column is missing."""
    if columns[-1] not in rows.collect_schema().names():
        return []
    return _sort_rows(rows.select(*columns).unique().collect(backend="pyarrow").to_native().select(list(columns)))


def _sort_rows(table: pa.Table) -> list[tuple[str, ...]]:
    """Return the rows of a table as text, sorted."""
    columns = (["" if v is None else str(v) for v in table[name].to_pylist()] for name in table.column_names)
    return sorted(zip(*columns, strict=True))


def read_clusters(rows: nw.LazyFrame[IntoLazyFrame], where: str) -> dict[tuple[str, str], str]:
    """Return the cluster of each (benchmark, question); some benchmarks may have no clusters."""
    cluster_of: dict[tuple[str, str], str] = {}
    without: set[str] = set()
    for benchmark, question, cluster in list_distinct_rows(rows, ("benchmark", "question", "cluster")):
        if not cluster.strip(" "):
            without.add(benchmark)
        elif cluster_of.setdefault((benchmark, question), cluster) != cluster:
            what = f"question {question!r} is in cluster {cluster_of[benchmark, question]!r} and in {cluster!r}"
            raise InputError(what, where=where, remedy="a question has one cluster")
    if without and (not cluster_of or not without.isdisjoint(benchmark for benchmark, _ in cluster_of)):
        raise InputError("the cluster is empty", where=where, remedy="fill it in")
    return cluster_of


def read_values(rows: nw.LazyFrame[IntoLazyFrame], dimension: str, where: str) -> dict[tuple[str, str], str]:
    """Return the value of each (benchmark, variant) on a dimension."""
    value_of: dict[tuple[str, str], str] = {}
    for benchmark, variant, value in list_distinct_rows(rows, ("benchmark", "variant", dimension)):
        if value_of.setdefault((benchmark, variant), value) != value:
            what = f"variant {variant!r} has {dimension} {value_of[benchmark, variant]!r} and {value!r}"
            raise InputError(what, where=where, remedy="a variant has one value on each dimension")
    return value_of
