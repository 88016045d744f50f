"""What a run folder has. Kind of truth: an independent slow version, row by row."""

from __future__ import annotations

import random

import pytest

from howsure.sample.resume import WantedCells, read_stored_cells
from howsure.sample.snapshot import Tally
from howsure.store import database, parquet_files
from howsure.store.responses import RunFolder, read
from howsure.store.schema import Response


def some_rows(rng):
    rows = []
    for model in ("m", "n"):
        for question in ("q0", "q1", "q2", "other"):
            for variant in ("v", "w", "unknown"):
                for generation in rng.sample(range(1, 12), rng.randint(0, 8)):
                    lost = rng.random() < 0.2
                    rows.append(
                        Response(
                            benchmark=rng.choice(["b", "b", "c"]), model=model, question=question, variant=variant,
                            generation=generation, score=None if lost else rng.choice([0.0, 1.0]),
                            error="x: y" if lost else None, request=None if lost else f"{rng.randint(1, 3)}",
                            created=float(rng.randint(1, 2)), attempts=rng.randint(1, 2),
                            prompt_tokens=rng.choice([None, 5]), completion_tokens=rng.choice([None, 2.0]),
                        )
                    )  # fmt: skip
    rng.shuffle(rows)
    return rows


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("costs", [False, True])
def test_each_row_counts_once_however_the_rows_are_divided(tmp_path, monkeypatch, compacted, costs):
    monkeypatch.setattr(database, "FETCHED", 3)
    monkeypatch.setattr(database, "BATCH_ROWS", 5)
    monkeypatch.setattr(parquet_files, "GROUP_ROWS", 7)
    monkeypatch.setattr(parquet_files, "READ_ROWS", 7)
    rows = some_rows(random.Random(7))
    with RunFolder(tmp_path) as run:
        run.append(rows[: len(rows) // 2])
        if compacted:
            run.compact()
        run.append(rows[len(rows) // 2 :])
    questions, variants = ["q2", "q0", "q1"], ["w", "v"]
    tallies = {label: Tally(questions, 2, 11) for label in ("n", "m")}
    found = read_stored_cells(tmp_path, {"b": WantedCells(tallies, variants)}, costs=costs)["b"]
    for label, tally in tallies.items():
        present, failed, calls, prompt, completion, total = {}, {}, 0, 0, 0.0, 0.0
        before = None
        for row in read(tmp_path).to_pylist():
            mine = row["benchmark"] == "b" and row["model"] == label
            request = row["request"], row["created"]
            if mine:
                calls += row["attempts"] * (request != before)
                prompt += row["prompt_tokens"] or 0
                completion += row["completion_tokens"] or 0
            before = request
            if mine and row["question"] in questions and row["variant"] in variants:
                key = row["question"], row["variant"]
                present[key] = present.get(key, 0) + 2 ** row["generation"]
                if row["score"] is None:
                    failed[key] = failed.get(key, 0) + 2 ** row["generation"]
                total += row["score"] or 0
        assert (found[label].present, found[label].failed) == (present, failed)
        assert found[label][2:5] == ((calls, prompt, completion) if costs else (0, 0, 0))
        assert tally._arrays(None)[0].sum() == total
