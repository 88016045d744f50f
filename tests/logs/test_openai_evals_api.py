"""Output items of OpenAI's evals API: the scores are those of the graders, by hand."""

import json
from pathlib import Path

import pytest

import howsure as hs

EXAMPLE = Path(__file__).parent / "examples/openai_evals_api/output_items.json"

pytestmark = pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")


def write(path, form):
    """Write the items of the example as a page, an array or lines; return the path."""
    page = json.loads(EXAMPLE.read_text())
    texts = {
        "page": json.dumps(page),
        "array": json.dumps(page["data"]),
        "lines": "\n".join(map(json.dumps, page["data"])),
    }
    path.write_text(texts[form])
    return path


@pytest.mark.parametrize("form", ["page", "array", "lines"])
def test_items_are_scored_by_the_graders(tmp_path, form):
    """Item 2 of 4 fails; the file was refused as completions without scores."""
    path = write(tmp_path / "items.json", form)
    [cells] = hs.read(path)
    assert (cells.benchmark, cells.models) == ("eval_sums", ("gpt-4o-mini-2024-07-18",))
    assert dict(zip(cells.questions, cells.total[0].tolist(), strict=True)) == {"0": 1, "1": 1, "2": 0, "3": 1}
    [other] = hs.read(path, scorer="Short")
    assert other.total.tolist() == [[1, 1, 1, 1]]


def test_a_page_of_several_is_said_to_be_one():
    results = hs.read(EXAMPLE)
    results.cells()
    assert any("one page of several" in note.text for note in results.notes())


def test_an_item_with_an_error_is_missing(tmp_path):
    path = write(tmp_path / "items.json", "array")
    items = json.loads(path.read_text())
    items[0]["sample"]["error"] = {"code": "rate_limit", "message": "too many requests"}
    path.write_text(json.dumps(items))
    [cells] = hs.read(path)
    assert (cells.n.tolist(), cells.failed.tolist()) == ([[0, 1, 1, 1]], [[1, 0, 0, 0]])
