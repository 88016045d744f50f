"""Real completions that a person, or harness and gold alike, read so, and traps that give no answer.

Kind of truth: judged by people (`completions.jsonl` is a sample of those that are read right, of every kind that
`bench/completions.py` measures; `traps.tsv` was written to mislead). What is misread, and how often, the command says.
"""

from __future__ import annotations

import json
import string
from pathlib import Path

import pytest

from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.directions import extract_direction
from howsure.scorers.item_list import read_items
from howsure.scorers.multiple_choice import read_choice
from howsure.scorers.numbers import extract_number
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import ScoringItem
from howsure.scorers.yes_no import read_yes_no

FOLDER = Path(__file__).parent
ROWS = [json.loads(line) for line in (FOLDER / "completions.jsonl").read_text("utf-8").split("\n") if line]
TRAPS = [line.split("\t") for line in (FOLDER / "traps.tsv").read_text("utf-8").split("\n")[1:] if line]
LEAST_TRAPS = 200


def read(kind, text, labels, context, *, expects_label=True):
    """What is read from a completion; None where it gives nothing."""
    if kind == "choice":
        place, _ = read_choice(text, labels, context.choices, expects_label=expects_label, context=context)
        return None if place is None else labels[place]
    readers = {"number": extract_number, "direction": extract_direction}
    if kind in readers:
        return readers[kind](text, context=context)
    return read_yes_no(text, context)[0] if kind == "yesno" else ", ".join(read_items(text, context)[0]) or None


@pytest.mark.parametrize("kind", sorted({row["kind"] for row in ROWS if "score" not in row}))
def test_real_completions_are_read_as_people_read_them(kind):
    rows = [row for row in ROWS if row["kind"] == kind and "score" not in row]
    for row in rows:
        choices = tuple(row.get("choices", ()))
        stops = tuple(row.get("stops", ()))
        context = CompletionContext(row["question"], choices, stops=stops, language=row.get("language", ""))
        labels = string.ascii_uppercase[: len(choices)]
        found = read(row["type"], row["completion"], labels, context, expects_label="words" not in row)
        assert found == row["reads"], row["completion"]


@pytest.mark.parametrize(("kind", "spec"), [("open", "contains"), ("maths", "maths")])
def test_real_completions_are_scored_as_people_score_them(kind, spec):
    if spec == "maths":
        pytest.importorskip("math_verify")
    scorer = build_scorer(spec, "test")
    try:
        for row in (row for row in ROWS if row["type"] == kind):
            context = CompletionContext(row["question"], language=row.get("language", ""))
            item = ScoringItem("b", "q", "v", row["target"], context)
            assert scorer.score(row["completion"], item).score == row["score"], row["completion"]
    finally:
        scorer.close()


def test_traps_stay_unparsed():
    assert len(TRAPS) >= LEAST_TRAPS
    read_wrongly = []
    for kind, question, choices, labels, known, completion in TRAPS:
        texts = tuple(choices.split("¦")) if choices else ()
        language = known.removeprefix("cut").strip()
        context = CompletionContext(question, texts, known.startswith("cut"), language=language)
        found = read(kind, completion.replace("⏎", "\n"), labels.split("¦"), context)
        if found is not None:
            read_wrongly.append((kind, completion, found))
    assert read_wrongly == []
