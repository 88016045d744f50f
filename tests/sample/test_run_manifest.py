"""Remarks on the models of a run. Kind of truth: written by hand."""

from types import SimpleNamespace

from howsure.sample.run_manifest import list_notes


def job(label, *notes, size="", benchmark="math"):
    return SimpleNamespace(
        config=SimpleNamespace(label=label),
        benchmark=SimpleNamespace(name=benchmark),
        notes=(*notes, *([size] if size else [])),
        size=SimpleNamespace(note=size),
    )


def test_the_same_remark_on_several_models_is_one_line():
    jobs = [
        ("cool", job("cool", "asked for m, answered as n in 40 of 40 replies", size="n is 4 at most")),
        ("hot", job("hot", "asked for m, answered as n in 40 of 40 replies", "slow")),
        ("hot on b", job("hot", "asked for m, answered as n in 39 of 40 replies", size="n is 4 at most")),
    ]
    assert list(list_notes(jobs)) == [
        ("cool, hot: asked for m, answered as n in 40 of 40 replies", ("math",), False),
        ("cool, hot: n is 4 at most", ("math",), True),
        ("hot: slow", ("math",), False),
        ("hot on b: asked for m, answered as n in 39 of 40 replies", ("math",), False),
    ]


def test_a_remark_names_each_benchmark_that_it_is_of_once():
    jobs = [
        ("hot on math", job("hot", "slow", size="n is 4 at most")),
        ("cool on math", job("cool", "slow")),
        ("hot on law", job("hot", "slow", size="n is 4 at most", benchmark="law")),
    ]
    assert list(list_notes(jobs)) == [
        ("hot on math, cool on math, hot on law: slow", ("math", "law"), False),
        ("hot: n is 4 at most", ("math", "law"), True),
    ]
