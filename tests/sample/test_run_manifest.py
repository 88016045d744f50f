"""Remarks on the models of a run. Kind of truth: written by hand."""

from types import SimpleNamespace

from howsure.sample.run_manifest import list_notes


def job(label, *notes, size=""):
    return SimpleNamespace(
        config=SimpleNamespace(label=label), notes=(*notes, *([size] if size else [])), size=SimpleNamespace(note=size)
    )


def test_the_same_remark_on_several_models_is_one_line():
    jobs = [
        ("cool", job("cool", "asked for m, answered as n in 40 of 40 replies", size="n is 4 at most")),
        ("hot", job("hot", "asked for m, answered as n in 40 of 40 replies", "slow")),
        ("hot on b", job("hot", "asked for m, answered as n in 39 of 40 replies", size="n is 4 at most")),
    ]
    assert dict(list_notes(jobs)) == {
        "cool, hot: asked for m, answered as n in 40 of 40 replies": False,
        "cool, hot: n is 4 at most": True,
        "hot: slow": False,
        "hot on b: asked for m, answered as n in 39 of 40 replies": False,
    }
