"""Compare several sources of one benchmark, which may be copies or shards of one run, and merge their cubes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import groupby, zip_longest
from operator import add, attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from howsure.errors import InputError, StoreError, UnknownNameError
from howsure.notes import Note
from howsure.rows.to_cells import EXTREMES, SUMS
from howsure.stats.core.cells import Cells, merge_clusters
from howsure.stats.core.cube import Cube
from howsure.stats.repeats import CHANCE, compute_request_p_value
from howsure.store.manifest import Manifest

if TYPE_CHECKING:
    import pyarrow as pa

    from howsure.rows.source import Source

#: The type of the parts that are merged: cells or cubes.
Part = TypeVar("Part", Cells, Cube)
SourceT = TypeVar("SourceT")

#: Columns of a run folder whose values together identify a generation.
MARKS = ("request", "created")
#: Columns that say what was asked.
_PROMPT = ("question", "variant")
#: Requests of models in this process have the hash of their content as id, so an equal id is the same generation.
_IN_PROCESS = "^(simulated|replay|local)-"


class _Dimension(msgspec.Struct):
    nested: bool = False


class _Space(msgspec.Struct):
    dimensions: dict[str, _Dimension] = {}


class _VariantInfo(msgspec.Struct, rename={"spec": "asked"}):
    """The description of the variants of a benchmark in a manifest."""

    space: _Space | None = None
    default: str | None = None
    spec: dict[str, object] = {}


def mark_rows(table: pa.Table) -> pa.Array:
    """Return a mark for each row: rows of two run folders with equal marks are copies of one generation.

    An endpoint may give all its requests the same id, but it does not answer two in the same microsecond. The mark of a
    row without a date is null.

    Parameters
    ----------
    table
        Rows with the columns `MARKS`.
    """
    import pyarrow as pa
    from pyarrow import compute

    request, created = table["request"], table["created"].cast(pa.string())
    in_process = compute.fill_null(compute.match_substring_regex(request, _IN_PROCESS), fill_value=False)
    dated = compute.binary_join_element_wise(compute.fill_null(request, ""), created, "@")
    return compute.if_else(in_process, request, dated)


def pool_requests(table: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return rows with one for each request, of its mean score, where a model's requests differ by more than chance.

    Generations of one request share what the request has: the deployment that a router chose, or a seed. Where the
    scores show that (`compute_request_p_value`, at a level of `CHANCE`), a request is one generation.

    Parameters
    ----------
    table
        Rows with the columns of the key, score and request.

    Returns
    -------
    table, models
        The rows, and the models whose requests are units now.
    """
    import pyarrow as pa
    from pyarrow import compute

    has_both = compute.and_(compute.is_valid(table["request"]), compute.is_valid(table["score"]))
    if compute.count_distinct(table["request"]).as_py() >= table.num_rows:
        return table, []
    rows = table.filter(has_both)
    code = {name: rows[name].combine_chunks().dictionary_encode() for name in ("benchmark", "model", *_PROMPT)}
    codes = {name: column.indices.to_numpy(zero_copy_only=False) for name, column in code.items()}
    score, request = rows["score"].to_numpy(), rows["request"].combine_chunks().dictionary_encode().indices.to_numpy()
    pooled: list[tuple[str, str]] = []
    benchmarks, models = (code[name].dictionary.to_pylist() for name in ("benchmark", "model"))
    for b, m in sorted(set(zip(codes["benchmark"].tolist(), codes["model"].tolist(), strict=True))):
        here = (codes["benchmark"] == b) & (codes["model"] == m)
        cell = np.unique(np.stack([codes[name][here] for name in _PROMPT]), axis=1, return_inverse=True)[1].ravel()
        if compute_request_p_value(cell, request[here], score[here]) < CHANCE:
            pooled.append((benchmarks[b], models[m]))
    if not pooled:
        return table, []
    name_of = compute.binary_join_element_wise(table["benchmark"], table["model"], "\0")
    is_pooled = compute.and_(compute.is_in(name_of, pa.array(["\0".join(each) for each in pooled])), has_both)
    key = ["benchmark", "model", *_PROMPT, "request"]
    others = [name for name in table.column_names if name not in {*key, "score", "generation"}]
    merges = [("score", "mean"), ("generation", "min"), *((name, "first") for name in others)]
    units = table.filter(is_pooled).group_by(key, use_threads=False).aggregate(merges)
    units = units.rename_columns([*key, "score", "generation", *others]).select(table.column_names)
    units = units.cast(table.schema)
    return pa.concat_tables([table.filter(compute.invert(is_pooled)), units]), sorted({m for _, m in pooled})


def describe_variants(
    cubes: Iterable[Cube], manifest: Manifest, dimensions: Sequence[str] = (), *, where: str
) -> list[Cube]:
    """Add to the cubes of a run folder the values of the variants, the default variant, and whether they are nested.

    Variants that the space does not describe, such as the default prompt, have the value ''.

    Raises
    ------
    InputError
        When the manifest describes variants in a form that is not known.
    UnknownNameError
        When no cube has one of the `dimensions`.
    """
    described = [_describe(cube, manifest, where) for cube in cubes]
    for name in dimensions:
        if not any(name in cube.values for cube in described):
            names = {dimension for cube in described for dimension in cube.values}
            raise UnknownNameError("dimension", name, names, where=where)
    return described


def _describe(cube: Cube, manifest: Manifest, where: str) -> Cube:
    """Return one cube with its variants described."""
    # Importing the benchmarks takes 0.1 s, which only run folders need.

    try:
        about = msgspec.convert(manifest.variants.get(cube.benchmark, {}), type=_VariantInfo)
    except msgspec.ValidationError as error:
        raise InputError(
            f"damaged manifest ({error})", where=where, remedy="restore manifest.json from a copy"
        ) from error
    from howsure.benchmarks.question import strip_draw_key  # the catalogue of benchmarks takes a while to import

    values_of = [manifest.prompts.get(variant, {}) for variant in cube.variants]
    space = about.space.dimensions if about.space else {}
    names = space or dict.fromkeys(name for values in values_of for name in values)
    default = cube.variants.index(about.default) if about.default in cube.variants else None
    # All shuffles count as one value, because the orders that were drawn differ.
    values = {name: tuple(strip_draw_key(one.get(name, "")) for one in values_of) for name in names}
    # Variants that no two questions share have no values; a space may also state that its variants are nested.
    nested = cube.nested or (bool(space) and all(dimension.nested for dimension in space.values()))
    return replace(
        cube,
        values={} if cube.nested else values,
        default=default,
        nested=nested,
        drawn_questions="questions_per_variant" in about.spec,
    )


def compare_sources(parts: Sequence[Sequence[Cells]], sources: Sequence[Source]) -> Iterator[Note]:
    """Yield a note on each source whose benchmark differs from the one with this name in an earlier source.

    Programs may name the same questions differently. The manifests of run folders describe the content of their
    benchmarks, so shards of one run are recognised, although they have no question in common.
    """
    if len(sources) < 2:
        return
    first_of: dict[str, tuple[set[str], Source, Mapping[str, object]]] = {}
    for source, part in zip(sources, parts, strict=True):
        for cells in part:
            about = _describe_benchmark(source, cells.benchmark)
            default = (set(cells.questions), source, about)
            questions, first, first_about = first_of.setdefault(cells.benchmark, default)
            is_same = first_about.get("sha256") is not None and first_about.get("sha256") == about.get("sha256")
            facts: dict[str, object] = {"benchmark": cells.benchmark, "first": str(first.path)}
            if questions.isdisjoint(cells.questions) and not is_same:
                yield Note("no-common-question", str(source.path), (cells.benchmark,), facts=facts)
            elif _differ(about, first_about, "sha256"):
                yield Note("other-questions", str(source.path), (cells.benchmark,), facts=facts)
            elif _differ(about, first_about, "seed") and questions != set(cells.questions):
                facts |= {"seed": about["seed"], "first_seed": first_about["seed"]}
                yield Note("other-seed", str(source.path), (cells.benchmark,), facts=facts)
            questions.update(cells.questions)


def _describe_benchmark(source: Source, benchmark: str) -> dict[str, object]:
    """Return the description of a benchmark in the manifest of a source, and the seed of the run."""
    try:
        about = source.manifest() or {}
    except StoreError:
        # The source itself reports that it is damaged.
        about = {}
    benchmarks = about.get("benchmarks")
    own = benchmarks.get(benchmark) if isinstance(benchmarks, dict) else None
    return {"seed": about.get("seed"), **(own if isinstance(own, dict) else {})}


def _differ(one: Mapping[str, object], other: Mapping[str, object], name: str) -> bool:
    """Return whether both mappings have a value under this name and the values differ."""
    return None not in {one.get(name), other.get(name)} and one[name] != other[name]


def share_clusters(parts: Sequence[Part]) -> tuple[list[Part], list[Note]]:
    """Return the parts so that each benchmark has clusters in all of its parts or in none.

    A run folder stores the clusters of its questions, while another source of the same benchmark may have none. That
    source uses the clusters of the folder if the folder has all of its questions; otherwise no clusters are used.

    Returns
    -------
    parts
        The parts with clusters, or without them.
    notes
        A note on each benchmark whose clusters are not used.
    """
    clusters_of: dict[str, dict[str, str]] = {}
    for part in parts:
        clusters_of.setdefault(part.benchmark, {}).update(zip(part.questions, part.clusters or (), strict=False))
    left_out = set()
    for part in parts:
        cluster_of = clusters_of[part.benchmark]
        if cluster_of and not cluster_of.keys() >= set(part.questions):
            left_out.add(part.benchmark)
    shared = []
    for part in parts:
        cluster_of = {} if part.benchmark in left_out else clusters_of[part.benchmark]
        clusters = tuple(cluster_of[question] for question in part.questions) if cluster_of else None
        shared.append(replace(part, clusters=clusters) if (part.clusters is None) == bool(cluster_of) else part)
    return shared, [Note("clusters-of-some-sources", name, (name,)) for name in sorted(left_out)]


def find_shared_cells(
    parts: Sequence[Sequence[Cells | Cube]], sources: Sequence[SourceT]
) -> Iterator[tuple[str, SourceT, SourceT]]:
    """Yield a model and two sources for each question of which both have scores of it."""
    first_of: dict[tuple[str, str, str], SourceT] = {}
    for source, part in zip(sources, parts, strict=True):
        for one in part:
            has_scores = one.n.reshape(len(one.models), len(one.questions), -1).any(axis=2)
            for m, q in np.argwhere(has_scores):
                first = first_of.setdefault((one.benchmark, one.models[m], one.questions[q]), source)
                if first is not source:
                    yield one.models[m], first, source


def join_runs(parts: Sequence[Sequence[Cells]]) -> dict[str, list[Cells]]:
    """Return the runs of each benchmark, of the runs of each source.

    Sources with other questions of the same models, such as a table in two files, hold parts of the same runs: the
    first run of one is joined with the first of the other, and so on. Where they share a question of a model, each has
    runs of its own.
    """
    groups_of: defaultdict[str, list[tuple[list[Cells], dict[str, set[str]]]]] = defaultdict(list)
    for part in parts:
        for benchmark in dict.fromkeys(run.benchmark for run in part):
            own = [run for run in part if run.benchmark == benchmark]
            answered = _list_answered(own)
            groups = groups_of[benchmark]
            for i, (runs, before) in enumerate(groups):
                common = before.keys() & answered.keys()
                if common and all(before[model].isdisjoint(answered[model]) for model in common):
                    joined = [reduce(add, [run for run in both if run is not None]) for both in zip_longest(runs, own)]
                    groups[i] = joined, _list_answered(joined)
                    break
            else:
                groups.append((own, answered))
    return {benchmark: [run for runs, _ in groups for run in runs] for benchmark, groups in groups_of.items()}


def _list_answered(runs: Sequence[Cells]) -> dict[str, set[str]]:
    """Return the questions that each model answered in any run."""
    answered: defaultdict[str, set[str]] = defaultdict(set)
    for run in runs:
        for model, row in zip(run.models, run.answered, strict=True):
            answered[model].update(run.questions[i] for i in np.flatnonzero(row))
    return dict(answered)


def merge_cubes(parts: Iterable[Cube]) -> list[Cube]:
    """Add up cubes of the same benchmark, such as those of several files or shards; names are sorted."""
    by_name = sorted(parts, key=attrgetter("benchmark"))
    return [_merge_benchmark(list(same)) for _, same in groupby(by_name, key=attrgetter("benchmark"))]


def _merge_benchmark(cubes: Sequence[Cube]) -> Cube:
    """Return the sum of the cubes of one benchmark."""
    first = cubes[0]
    if len(cubes) == 1:
        return first
    if len({cube.nested for cube in cubes}) > 1:
        remedy = "read them one at a time"
        raise InputError("some variants are nested in questions, others are not", where=first.benchmark, remedy=remedy)
    n_questions = len({question for cube in cubes for question in cube.questions})
    if first.nested and first.variants[0] == "1" and n_questions < sum(len(cube.questions) for cube in cubes):
        what = "questions with variants of their own are in several tables"
        raise InputError(what, where=first.benchmark, remedy="put them in one table")
    names = [
        tuple(sorted({name for cube in cubes for name in getattr(cube, axis)}))
        for axis in ("models", "questions", "variants")
    ]
    models, questions, variants = names
    places = [{name: i for i, name in enumerate(axis)} for axis in names]
    shape = tuple(map(len, names))
    arrays: dict[str, Any] = {name: np.zeros(shape, getattr(first, name).dtype) for name in SUMS}
    arrays |= {name: np.full(shape, np.nan) for name in EXTREMES}
    for cube in cubes:
        axes = (cube.models, cube.questions, cube.variants)
        at = np.ix_(*([place[name] for name in axis] for place, axis in zip(places, axes, strict=True)))
        for name in SUMS:
            arrays[name][at] += getattr(cube, name)
        for name, merge in EXTREMES.items():
            if (values := getattr(cube, name)) is not None:
                arrays[name][at] = merge(arrays[name][at], values)
    defaults = {cube.variants[cube.default] for cube in cubes if cube.default is not None}
    if len(defaults) > 1:
        what = f"the default prompt is {' and '.join(map(repr, sorted(defaults)))}"
        raise InputError(what, where=first.benchmark, remedy="read them one at a time")
    return Cube(
        first.benchmark,
        models,
        questions,
        variants,
        **arrays,
        values=_merge_values(cubes, variants),
        default=variants.index(defaults.pop()) if defaults else None,
        nested=first.nested,
        clusters=merge_clusters(cubes, questions),
        drawn_questions=any(cube.drawn_questions for cube in cubes),
    )


def _merge_values(cubes: Sequence[Cube], variants: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the value of each variant on each dimension; '' where it is not known."""
    merged: dict[str, dict[str, str]] = {}
    for cube in cubes:
        for dimension, values in cube.values.items():
            value_of = merged.setdefault(dimension, {})
            for variant, value in zip(cube.variants, values, strict=True):
                if value and value_of.setdefault(variant, value) != value:
                    what = f"variant {variant!r} has {dimension} {value_of[variant]!r} and {value!r}"
                    raise InputError(what, where=cube.benchmark, remedy="give different variants different names")
    return {
        dimension: tuple(value_of.get(variant, "") for variant in variants) for dimension, value_of in merged.items()
    }
