"""Rows to cells, runs and cubes."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from howsure.errors import InputError
from howsure.rows import to_cells
from howsure.stats.core.cells import Cells
from howsure.stats.scores import score
from howsure.stats.sequential.adaptive_allocation import merge_stages
from howsure.store.manifest import AdaptivePlan

ROWS = {
    "benchmark": ["b", "b", "b", "a", "b", "b"],
    "model": ["m2", "m1", "m1", "x", "m1", "m1"],
    "question": ["q1", "q1", "q1", "q1", "q2", "q2"],
    "variant": ["v1", "v1", "v2", "v1", "v1", "v1"],
    "generation": [1, 1, 1, 1, 1, 2],
    "score": [1.0, 0.5, 1.0, 0.25, None, 0.0],
    "answer": ["A", "B", "A", "A", None, None],
}


@pytest.mark.parametrize("make", [pa.table, pl.LazyFrame])
def test_cells_of_rows(make):
    a, b = to_cells.make_cells(make(ROWS))
    assert (a.benchmark, a.models, a.total.tolist()) == ("a", ("x",), [[0.25]])
    assert (b.benchmark, b.models, b.questions, b.variants) == ("b", ("m1", "m2"), ("q1", "q2"), ("v1", "v2"))
    assert b.n.tolist() == [[2, 1], [1, 0]]
    assert b.total.tolist() == [[1.5, 0.0], [1.0, 0.0]]
    assert b.total_sq.tolist() == [[1.25, 0.0], [1.0, 0.0]]
    assert b.failed.tolist() == [[0, 1], [0, 0]]
    assert b.unparsed.tolist() == [[0, 1], [0, 0]]


def test_duplicate_keys_are_refused():
    twice = ROWS | {"variant": ["v1"] * 6, "generation": [1] * 6}
    with pytest.raises(InputError, match="rows: 2 duplicate keys, the first benchmark 'b', model 'm1', question 'q1'"):
        to_cells.make_cells(pa.table(twice), where="rows")


def test_no_rows():
    with pytest.raises(InputError, match="the table: no rows"):
        to_cells.make_cells(pa.table(ROWS).slice(0, 0))


def test_whole_number_scores_do_not_overflow_and_merge_adds():
    rows = {name: ROWS[name][:2] for name in ("benchmark", "model", "question")} | {"score": [4_000_000_000, 1]}
    [cells] = to_cells.make_cells(pa.table(rows))
    assert cells.total_sq.max() == 1.6e19
    [both] = to_cells.merge_cells([cells, cells])
    assert np.array_equal(both.n, 2 * cells.n)


PLAN = AdaptivePlan(generations=3, allocations=({"q1": 2, "q2": 2}, {"q1": 1, "q2": 3}))


def staged_rows():
    """q1: 1, 0 | 1; q2: 1, 1 | 0, 1, 1; and another model, of which nothing was planned."""
    scores = {("m", "q1"): [1, 0, 1], ("m", "q2"): [1, 1, 0, 1, 1], ("n", "q1"): [1], ("n", "q3"): [0, 1]}
    return pa.table({
        "benchmark": ["b" for _, each in scores.items() for _ in each],
        "model": [m for (m, _), each in scores.items() for _ in each],
        "question": [q for (_, q), each in scores.items() for _ in each],
        "variant": ["v" for _, each in scores.items() for _ in each],
        "generation": [g for each in scores.values() for g in range(1, len(each) + 1)],
        "score": [float(s) for each in scores.values() for s in each],
    })  # fmt: skip


def test_stages_are_weighed_as_wholes():
    """An independent version: the stages cut by hand."""
    [cells] = to_cells.make_cells(staged_rows(), plans={"b": {"m": PLAN}})
    first = Cells.from_scores("b", ["m"], ["q1", "q2"], [[[1, 0], [1, 1]]])
    second = Cells.from_scores("b", ["m"], ["q1", "q2"], [[[1], [0, 1, 1]]])
    expected = merge_stages([first, second])
    assert cells.models == ("m", "n")
    assert cells.questions == ("q1", "q2", "q3")
    assert cells.mean[0, :2] == pytest.approx(expected.mean[0])
    assert cells.n.tolist() == [[*expected.n[0].tolist(), 0], [1, 0, 2]]
    assert cells.total[1].tolist() == [1, 0, 1]
    assert cells.variants == ("v",)
    assert cells.failed.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_what_is_beyond_the_plan_is_a_stage_too():
    plan = AdaptivePlan(generations=2, allocations=({"q1": 2, "q2": 2},))
    [cells] = to_cells.make_cells(staged_rows(), plans={"b": {"m": plan}})
    [other] = to_cells.make_cells(staged_rows(), plans={"b": {"m": PLAN}})
    assert cells.mean[0, :2] == pytest.approx(other.mean[0, :2])


def test_plans_of_others_change_nothing():
    [plain] = to_cells.make_cells(staged_rows())
    for plans in ({"b": {"x": PLAN}}, {"c": {"m": PLAN}}):
        [cells] = to_cells.make_cells(staged_rows(), plans=plans)
        assert cells.n.tolist() == plain.n.tolist()
        assert cells.total.tolist() == plain.total.tolist()


def test_runs_of_a_staged_model_are_the_generations_that_all_questions_have():
    runs = to_cells.make_runs(staged_rows(), plans={"b": {"m": PLAN}})["b"].values()
    assert [run.n.sum() for run in runs] == [4, 3, 2]
    assert "m" in [*runs][2].models
    assert [run.n.sum() for run in to_cells.make_runs(staged_rows())["b"].values()] == [4, 3, 2, 1, 1]


def test_cubes_of_rows():
    frame = pa.table(ROWS | {"tone": ["kind", "kind", "cold", "kind", "kind", "kind"]})
    with duckdb.connect() as connection:
        a, b = to_cells.make_cubes(connection.from_arrow(frame), dimensions=["tone"])
    assert (a.benchmark, a.models, a.variants, a.total.tolist()) == ("a", ("x",), ("v1",), [[[0.25]]])
    assert (b.models, b.questions, b.variants) == (("m1", "m2"), ("q1", "q2"), ("v1", "v2"))
    assert b.n.tolist() == [[[1, 1], [1, 0]], [[1, 0], [0, 0]]]
    assert b.total.tolist() == [[[0.5, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]]
    assert b.total_sq.tolist() == [[[0.25, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]]
    assert dict(b.values) == {"tone": ("kind", "cold")}
    assert not b.nested


def test_a_cube_without_a_variant_has_one_and_pools_to_the_cells():
    rows = {name: values for name, values in ROWS.items() if name != "variant"} | {"generation": [1, 1, 2, 1, 1, 2]}
    _, cube = to_cells.make_cubes(pa.table(rows))
    _, cells = to_cells.make_cells(pa.table(rows))
    assert cube.variants == ("default",)
    assert np.array_equal(cube.cells().n, cells.n)
    assert np.array_equal(cube.cells().total, cells.total)


def test_cells_of_variants_in_a_table_of_counts():
    rows = {"benchmark": ["b"] * 3, "model": ["m"] * 3, "question": ["q", "q", "r"], "variant": ["v", "w", "v"]}
    rows |= {"n": [2, 3, 4], "total": [1.0, 3.0, 0.0], "total_sq": [1.0, 3.0, 0.0]}
    [cube] = to_cells.make_cubes(pa.table(rows))
    assert cube.n.tolist() == [[[2, 3], [4, 0]]]
    [cells] = to_cells.make_cells(pa.table(rows))
    assert (cells.n.tolist(), cells.total.tolist()) == ([[5, 4]], [[4.0, 0.0]])


def test_variants_that_no_two_questions_share_are_nested():
    rows = {"benchmark": ["b"] * 5, "model": ["m", "m", "m", "m", "n"], "question": ["q1", "q1", "q2", "q2", "q2"]}
    rows |= {"variant": ["c", "a", "b", "d", "d"], "score": [1.0, 0.0, 0.5, 0.25, 0.75], "tone": ["x"] * 5}
    [cube] = to_cells.make_cubes(pa.table(rows), dimensions=["tone"])
    assert cube.nested
    assert (cube.variants, dict(cube.values)) == (("1", "2"), {})
    assert cube.total.tolist() == [[[0.0, 1.0], [0.5, 0.25]], [[0.0, 0.0], [0.0, 0.75]]]


def test_a_variant_has_one_value_on_a_dimension():
    with pytest.raises(InputError, match="t: variant 'v1' has tone 'cold' and 'kind'; a variant has one value"):
        to_cells.make_cubes(pa.table(ROWS | {"tone": ["kind"] * 5 + ["cold"]}), where="t", dimensions=["tone"])


def test_a_prompt_of_its_own_for_nearly_every_question_is_no_variant(monkeypatch):
    monkeypatch.setattr(to_cells, "_MAX_CELLS", 1000)
    rows = {"benchmark": ["b"] * 41, "model": ["m"] * 41, "question": [f"q{i}" for i in range(41)]}
    rows |= {"variant": [f"{i % 40}" for i in range(41)], "score": [1.0] * 41}
    with pytest.raises(
        InputError, match="b: 1 models x 41 questions x 40 variants are 1,640 cells; a variant is one way"
    ):
        to_cells.make_cubes(pa.table(rows))


def test_stages_of_a_cube_are_weighed_as_wholes():
    """An independent version: the stages cut by hand, each cell a question of its own."""
    scores = {
        ("q1", "v"): [1, 0, 1],
        ("q2", "v"): [1, 1, 0, 1, 1],
        ("q1", "w"): [0, 0, 1],
        ("q2", "w"): [0, 1, 0, 1, 0],
    }
    keys = [(q, v, g) for (q, v), each in scores.items() for g in range(1, len(each) + 1)]
    names = {name: [key[i] for key in keys] for i, name in enumerate(("question", "variant", "generation"))}
    rows = pa.table(
        {"benchmark": ["b"] * 16, "model": ["m"] * 16, **names, "score": [scores[q, v][g - 1] for q, v, g in keys]}
    )
    [cube] = to_cells.make_cubes(rows, plans={"b": {"m": PLAN}})
    first = [[scores[key][:2] for key in sorted(scores)]]
    second = [[scores[key][2:] for key in sorted(scores)]]
    expected = merge_stages([Cells.from_scores("b", ["m"], ["1", "2", "3", "4"], each) for each in (first, second)])
    assert cube.mean.ravel() == pytest.approx(expected.mean[0])
    assert cube.n.ravel().tolist() == expected.n[0].tolist()
    [plain] = to_cells.make_cubes(rows, plans={"b": {"x": PLAN}})
    assert plain.total.ravel().tolist() == [2, 1, 4, 2]


def test_adaptive_counts_do_not_bias_the_cells_of_a_cube():
    """A guarantee by seeded simulation: questions that varied at first are asked four times more, pooled means say so."""
    rng = np.random.default_rng(0)
    N, S = 400, 3
    p = rng.beta(0.6, 0.4, (N, 1)) * np.array([0.7, 0.85, 1.0])
    first = rng.random((N, S, 2)) < p[:, :, None]
    varied = first.any(axis=(1, 2)) & ~first.all(axis=(1, 2))
    more = np.where(varied, 5, 1)
    second = rng.random((N, S, 5)) < p[:, :, None]
    q, v, g = (axis.ravel() for axis in np.meshgrid(np.arange(N), np.arange(S), np.arange(7), indexing="ij"))
    asked = g < 2 + more[q]
    score = np.concatenate([first, second], axis=2).ravel()[asked].astype(float)
    rows = {"benchmark": ["b"] * len(score), "model": ["m"] * len(score), "question": [f"q{i:03}" for i in q[asked]]}
    rows |= {"variant": [f"v{i}" for i in v[asked]], "generation": (g[asked] + 1).tolist(), "score": score.tolist()}
    ids = [f"q{i:03}" for i in range(N)]
    plan = AdaptivePlan(generations=4, allocations=(dict.fromkeys(ids, 2), dict(zip(ids, more.tolist(), strict=True))))
    [weighed] = to_cells.make_cubes(pa.table(rows), plans={"b": {"m": plan}})
    error = np.sqrt(np.mean(p * (1 - p)) / 3 / N)
    assert np.abs(weighed.mean[0].mean(axis=0) - p.mean(axis=0)).max() < 3 * error
    assert weighed.n.sum() > 2 * N * S


@pytest.mark.parametrize("most", [1, 7, 40, 1000])
def test_runs_read_in_parts_are_the_runs(monkeypatch, most):
    """Each run has the scores of its generation, written by loops, however many rows are grouped at a time."""
    rng = np.random.default_rng(0)
    scores = {
        (b, m, q, g): float(rng.random() < 0.5) if b == "x" else float(rng.normal())
        for b in "xy"
        for m in "mn"
        for q in "abcde"
        for g in (1, 2, 3, 12)
        if rng.random() < 0.8
    }
    names = dict(zip(("benchmark", "model", "question", "generation"), zip(*scores, strict=True), strict=True))
    frame = pa.table({**{name: list(values) for name, values in names.items()}, "score": list(scores.values())})
    monkeypatch.setattr(to_cells, "_MAX_RUN_ROWS", most)
    runs = to_cells.make_runs(frame)
    assert list(runs) == ["x", "y"]
    for benchmark, each in runs.items():
        for g, run in zip((1, 2, 3, 12), each.values(), strict=True):
            there = {(m, q): s for (b, m, q, of), s in scores.items() if (b, of) == (benchmark, g)}
            assert run.models == tuple(sorted({m for m, _ in there}))
            assert run.questions == tuple(sorted({q for _, q in there}))
            assert run.n.sum() == len(there)
            for (m, q), s in there.items():
                at = run.models.index(m), run.questions.index(q)
                assert (run.total[at], run.minimum[at], run.maximum[at]) == (s, s, s)
                assert run.total_sq[at] == pytest.approx(s * s)


def test_the_note_of_each_model_has_its_own_number_of_variants():
    """Hand-made rows: a has scores under three variants, b under two and a failure under the third, c under one."""
    rows = [
        {"benchmark": "x", "model": model, "question": question, "variant": variant, "score": score}
        for model, variants in (("a", "uvw"), ("b", "uvw"), ("c", "u"))
        for question in "12"
        for variant in variants
        for score in [None if (model, variant) == ("b", "w") else float(question == "1")]
    ]
    for shards in ([rows], [rows[:5], rows[5:9], rows[9:]]):
        [cells] = to_cells.merge_cells(
            [part for each in shards for part in to_cells.make_cells(pa.Table.from_pylist(each))]
        )
        notes = dict(zip(*(score(cells).columns()[name].tolist() for name in ("model", "note")), strict=True))
        assert "averaged over 3 prompt variants" in notes["a"]
        assert "averaged over 2 prompt variants" in notes["b"]
        assert "variants" not in notes["c"]
    [pooled] = [cube.cells() for cube in to_cells.make_cubes(pa.Table.from_pylist(rows))]
    assert [pooled.count_variants(model) for model in "abc"] == [3, 2, 1]
