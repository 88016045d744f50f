"""Cubes of run folders and tables: values, default and nesting of the variants; several sources as one."""

import json

import numpy as np
import pytest
from helpers.stored_rows import open_run
from helpers.tables import read_cubes

import howsure as hs
from howsure.errors import HowsureWarning, InputError, StoreError
from howsure.store.manifest import AdaptivePlan, save_plan
from howsure.store.schema import Response

SPACE = {"dimensions": {"tone": {"preserving": True, "nested": False}, "order": {"preserving": True, "nested": True}}}
PROMPTS = {
    "v": {"tone": "kind", "order": "shuffled"},
    "w": {"tone": "cold", "order": "original"},
    "own": {"system": "", "template": "{question}"},
}


def run(folder, manifest=None, questions=("q1", "q2"), variants=("own", "v", "w"), generations=1):
    with open_run(folder) as held:
        held.append(
            [
                Response(benchmark="b", model="m", question=q, variant=v, generation=g, score=float(v == "w"))
                for q in questions
                for v in variants
                for g in range(1, generations + 1)
            ]
        )
    if manifest is not None:
        (folder / "manifest.json").write_text(json.dumps({"schema": 2, **manifest}))
    return folder


def test_a_run_folder_says_what_its_variants_are(tmp_path):
    manifest = {"prompts": PROMPTS, "variants": {"b": {"space": SPACE, "default": "own"}}}
    [cube] = hs.read(run(tmp_path / "run", manifest)).cubes()
    assert (cube.variants, cube.default, cube.nested) == (("own", "v", "w"), 0, False)
    # the space does not describe the default prompt
    assert cube.values == {"tone": ("", "kind", "cold"), "order": ("", "shuffled", "original")}
    assert cube.mean.tolist() == [[[0, 0, 1], [0, 0, 1]]]


def test_a_space_that_is_nested_whole(tmp_path):
    nested = {"dimensions": {"order": {"preserving": True, "nested": True}}}
    manifest = {"prompts": PROMPTS, "variants": {"b": {"space": nested, "default": None}}}
    with pytest.warns(HowsureWarning, match="b: each question has variants of its own"):
        [cube] = hs.read(run(tmp_path / "run", manifest)).cubes()
    assert cube.nested
    assert cube.default is None


def test_a_run_that_says_less(tmp_path):
    [cube] = hs.read(run(tmp_path / "plain", {"prompts": dict.fromkeys(("own", "v", "w"), PROMPTS["own"])})).cubes()
    assert cube.values == {"system": ("", "", ""), "template": ("{question}",) * 3}
    [cube] = hs.read(run(tmp_path / "killed")).cubes()
    assert (cube.values, cube.default) == ({}, None)
    run(tmp_path / "broken")
    (tmp_path / "broken" / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match=r"manifest.json: damaged .*; restore it from a copy"):
        hs.read(tmp_path / "broken").cubes()
    with pytest.raises(InputError, match="plain: unknown dimension 'tone'"):
        hs.read(tmp_path / "plain", dimensions=["tone"]).cubes()


def test_shards_of_a_run_are_the_run_and_a_table_joins(tmp_path):
    manifest = {"prompts": PROMPTS, "variants": {"b": {"space": SPACE, "default": "own"}}}
    [whole] = hs.read(run(tmp_path / "whole", manifest)).cubes()
    run(tmp_path / "shards" / "1", manifest, questions=["q1"])
    run(tmp_path / "shards" / "2", manifest, questions=["q2"])
    (tmp_path / "shards" / "more.csv").write_text("benchmark,model,question,variant,score\nb,n,q3,x,1\n")
    [both] = hs.read(tmp_path / "shards").cubes()
    assert both.select(["m"]).n[:, :2, :3].tolist() == whole.n.tolist()
    assert (both.default, both.values["tone"]) == (0, ("", "kind", "cold", ""))
    assert (both.models, both.questions, both.variants) == (("m", "n"), ("q1", "q2", "q3"), ("own", "v", "w", "x"))
    assert both.n[1].sum() == both.n[1, 2, 3] == 1


def test_what_does_not_go_together(tmp_path):
    def told(folder, tone, default):
        prompts = PROMPTS | {"v": {"tone": tone, "order": "shuffled"}}
        manifest = {"prompts": prompts, "variants": {"b": {"space": SPACE, "default": default}}}
        return run(tmp_path / folder, manifest)

    one, other, cold = told("one", "kind", "own"), told("other", "kind", "w"), told("cold", "cold", "own")
    with pytest.raises(InputError, match="b: the default prompt is 'own' and 'w'"):
        hs.read([one, other]).cubes()
    with pytest.raises(InputError, match="b: variant 'v' has tone 'kind' and 'cold'"):
        hs.read([one, cold]).cubes()
    own = "benchmark,model,question,variant,score\nb,m,q1,x,1\nb,m,q1,y,0\nb,m,q2,z,1\n"
    (tmp_path / "a.csv").write_text(own)
    with pytest.raises(InputError, match="some variants are nested in questions, others are not"):
        hs.read([one, tmp_path / "a.csv"]).cubes()
    (tmp_path / "b.csv").write_text(own.replace("q1", "q0").replace(",1\n", ",0\n"))
    with pytest.raises(InputError, match="2 files have scores of m on the same questions"):
        hs.read([tmp_path / "a.csv", tmp_path / "b.csv"]).cubes()
    (tmp_path / "b.csv").write_text(own.replace("q1", "q0").replace("q2", "q9"))
    with pytest.warns(HowsureWarning, match="variants of its own"):
        [cube] = hs.read([tmp_path / "a.csv", tmp_path / "b.csv"]).cubes()
    assert cube.questions == ("q0", "q1", "q2", "q9")
    assert cube.variants == ("1", "2")


def test_a_run_in_stages_says_so(tmp_path):
    """The weighing itself is in tests/rows/test_to_cells.py."""
    folder = run(tmp_path / "run", generations=3)
    save_plan(folder, "b", "m", AdaptivePlan(generations=3, allocations=({"q1": 2, "q2": 2}, {"q1": 1, "q2": 1})))
    with pytest.warns(HowsureWarning, match=r"m sampled in stages .*each stage has a weight as a whole"):
        [cube] = hs.read(folder).cubes()
    assert cube.mean.tolist() == [[[0, 0, 1], [0, 0, 1]]]


def test_dimensions_of_a_table(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(
        "model,question,variant,template,n_shots,score\n"
        "m,q1,a,plain,0,1\nm,q2,a,plain,0,0\nm,q1,b,plain,4,1\nm,q2,b,plain,4,1\nm,q1,c,,4,0\n"
    )
    [cube] = hs.read(table, dimensions=["template", "n_shots"]).cubes()
    assert cube.variants == ("a", "b", "c")
    assert cube.values == {"template": ("plain", "plain", "(empty)"), "n_shots": ("0", "4", "4")}
    clash = write(tmp_path, "model,question,variant,tone,score\nm,q,c,kind,1\nn,q,c,cold,1\n")
    with pytest.raises(InputError, match="t.csv: variant 'c' has tone 'cold' and 'kind'"):
        hs.read(clash, dimensions=["tone"]).cubes()


def write(folder, text, name="t.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_combinations_of_dimensions_are_variants(tmp_path):
    text = "model,question,template,n_shots,score\nm,q,A,0,1\nm,q,A,4,0\nm,q,B,0,1\nm,q,B,4,1\n"
    [cube] = hs.read(write(tmp_path, text), dimensions=["template", "N_shots"]).cubes()
    assert cube.variants == (
        "template=A, N_shots=0",
        "template=A, N_shots=4",
        "template=B, N_shots=0",
        "template=B, N_shots=4",
    )
    assert cube.values["N_shots"] == ("0", "4", "0", "4")
    [one] = hs.read(write(tmp_path, "model,question,n_shots,score\nm,q,0,1\nm,q,4,0\n"), dimensions=["n_shots"]).cubes()
    assert one.variants == ("0", "4")


def test_scores_of_whole_benchmarks(tmp_path):
    text = "model,prompt,score\nm,a,0.5\nm,b,0.75\nn,a,0.25\n"
    [cube] = hs.read(write(tmp_path, text, "bench.csv")).cubes()
    expected = hs.Cube.from_means("bench", ["m", "n"], ["a", "b"], np.array([[0.5, 0.75], [0.25, np.nan]]))
    assert (cube.benchmark, cube.models, cube.questions, cube.variants) == ("bench", ("m", "n"), ("all",), ("a", "b"))
    for name in ("n", "total", "total_sq"):
        assert np.array_equal(getattr(cube, name), getattr(expected, name))
    seeds = "model,prompt,seed,score\nm,a,1,0.5\nm,a,2,0.7\n"
    [cube] = hs.read(write(tmp_path, seeds)).cubes()
    assert cube.n.tolist() == [[[2]]]


BAD = {
    "a question that was overlooked": (
        "model,exercise,prompt,score\nm,1,a,1\nm,2,a,0\n", {},
        "2 scores of benchmark 't', model 'm', variant 'a', and no column for the question; name it with --columns question=",
    ),
    "no variant and no question": ("model,score\nm,1\nm,0\n", {}, "2 scores of benchmark 't', model 'm', and no column"),
    "a mean without its question": ("model,pass1,count,prompt\nm,1,2,a\n", {}, "no column for the question"),
    "a wide table": ("prompt,m,n\na,1,1\n", {}, "no column for the score"),
    "an empty variant": ("model,question,variant,score\nm,q,a,1\nm,q,,1\n", {}, "line 3, column 'variant': the variant is empty; fill it in"),
    "a dimension that is not there": ("model,question,variant,score\nm,q,a,1\n", {"dimensions": ["tone"]}, "unknown column 'tone'"),
    "a dimension that is none": ("model,question,variant,score\nm,q,a,1\n", {"dimensions": ["Model"]}, "--dimension 'Model': it is not a dimension of a prompt"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_told_in_one_line(tmp_path, case):
    text, asked, message = BAD[case]
    with pytest.raises(InputError) as told:
        read_cubes(write(tmp_path, text), **asked)
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_repeats_without_a_generation_are_told(tmp_path):
    text = "model,question,variant,score\nm,q,a,1\nm,q,a,0\nm,q,b,0\nm,r,b,0\n"
    with pytest.warns(HowsureWarning, match="1 cell has several rows"):
        [cube] = hs.read(write(tmp_path, text)).cubes()
    assert cube.n.tolist() == [[[2, 1], [0, 1]]]


def test_cells_of_the_eval_arena_shape_under_several_variants(tmp_path):
    text = "benchmark_id,model,example_id,prompt,pass1,count\nb,m,1,a,0.5,2\nb,m,1,b,1,3\n"
    [cube] = hs.read(write(tmp_path, text)).cubes()
    assert (cube.n.tolist(), cube.total.tolist()) == ([[[2, 3]]], [[[1.0, 3.0]]])
    [cells] = hs.read(tmp_path / "t.csv")
    assert (cells.n.tolist(), cells.total.tolist()) == ([[5]], [[4.0]])
