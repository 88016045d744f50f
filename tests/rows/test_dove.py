"""DOVE: rows of both forms, against the drop of duplicates that its authors do, in pandas."""

import random

import duckdb
import pandas as pd
import pytest

from howsure.rows import dove

COLUMNS = [
    "dimensions_1: enumerator",
    "dimensions_2: separator",
    "dimensions_3: choices_order",
    "dimensions_4: instruction_phrasing_text",
    "dimensions_5: shots",
]
KEY = ["dataset", "model", "sample_index", *COLUMNS]


def made(n=400, seed=3):
    rng = random.Random(seed)
    return pd.DataFrame(
        {
            "dataset": rng.choice(["mmlu.law", "mmlu.art"]),
            "sample_index": rng.randrange(3),
            "model": rng.choice(["m/a", "m/b"]),
            COLUMNS[0]: rng.choice(["capitals", "roman"]),
            COLUMNS[1]: rng.choice(["\n", " ", ", ", ""]),
            COLUMNS[2]: rng.choice(["none", "reverse"]),
            COLUMNS[3]: rng.choice(["Answer: it's {q}", "Choose."]),
            COLUMNS[4]: rng.choice([0, 5]),
            "score": rng.random() < 0.5,
        }
        for _ in range(n)
    )


def tidy(frame):
    told = []
    with duckdb.connect() as connection:
        connection.register("frame", frame)
        rows, dimensions = dove.to_tidy(connection.table("frame"), told.append)
        return rows.df(), dimensions, told


def nested(frame):
    return pd.DataFrame(
        {
            "evaluation_id": "e",
            "model": {"model_info": {"name": row["model"]}, "inference_settings": {"quantization": {"bit_precision": "none"}}},
            "prompt_config": {"dimensions": {
                "enumerator": row[COLUMNS[0]], "separator": row[COLUMNS[1]], "choices_order": {"method": row[COLUMNS[2]]},
                "instruction_phrasing": {"name": "n", "text": row[COLUMNS[3]]}, "shots": row[COLUMNS[4]],
            }},
            "instance": {"sample_identifier": {"dataset_name": row["dataset"], "hf_index": row["sample_index"]}},
            "output": {"response": "r"},
            "evaluation": {"score": row["score"]},
        }
        for row in frame.to_dict("records")
    )  # fmt: skip


# --- another program's output: pandas' drop_duplicates on the authors' key ---


def test_duplicates_are_dropped_as_the_authors_do():
    frame = made()
    kept = frame.drop_duplicates(subset=KEY).reset_index(drop=True)
    assert len(kept) < len(frame)
    rows, dimensions, told = tidy(frame)
    assert list(rows.columns) == ["benchmark", "model", "question", "variant", *dimensions, "score"]
    # the order of a table is not promised: compare what belongs to each key
    left = sorted(
        zip(
            rows["benchmark"],
            rows["model"],
            rows["question"],
            rows["choices_order"],
            rows["shots"],
            rows["enumerator"],
            rows["score"],
            strict=True,
        )
    )
    right = sorted(
        zip(
            kept["dataset"],
            kept["model"],
            kept["sample_index"].astype(str),
            kept[COLUMNS[2]],
            kept[COLUMNS[4]].astype(str),
            kept[COLUMNS[0]],
            kept["score"],
            strict=True,
        )
    )
    assert left == right
    scores = frame.groupby(KEY)["score"].nunique()
    assert told == [
        "one generation under each variant: the noise of prompts and of sampling cannot be separated (400 rows)",
        f"{len(frame) - len(kept)} rows repeat a question under a variant and are dropped, as DOVE's authors do; {(scores > 1).sum()} questions had other scores there",
    ]


def test_a_variant_is_its_five_values():
    frame = made()
    rows, dimensions, _ = tidy(frame)
    values = rows.groupby("variant")[list(dimensions)].nunique()
    assert (values == 1).all().all()
    assert rows["variant"].nunique() == len(frame[COLUMNS].drop_duplicates())
    assert rows["variant"].str.fullmatch("[0-9a-f]{12}").all()
    assert not rows.duplicated(["benchmark", "model", "question", "variant"]).any()
    assert set(rows["separator"]) == {"\\n", "(space)", ", ", "(none)"}


def test_without_duplicates_nothing_is_dropped():
    frame = made().drop_duplicates(subset=KEY)
    rows, _, told = tidy(frame)
    assert len(rows) == len(frame)
    assert len(told) == 1


def test_duplicates_that_agree():
    frame = made(40).drop_duplicates(subset=KEY)
    rows, _, told = tidy(pd.concat([frame, frame.iloc[:3]]))
    assert len(rows) == len(frame)
    assert told[1] == "3 rows repeat a question under a variant and are dropped, as DOVE's authors do"


def test_both_forms_read_the_same():
    frame = made(100)
    flat, _, told = tidy(frame)
    deep, _, told_deep = tidy(nested(frame))
    key = ["benchmark", "model", "question", "variant"]
    pd.testing.assert_frame_equal(flat.sort_values(key, ignore_index=True), deep.sort_values(key, ignore_index=True))
    assert told == told_deep


# --- theory ---


@pytest.mark.parametrize(
    ("columns", "known"),
    [
        ([*KEY, "score", "raw_input"], True),
        (["model", "prompt_config", "instance", "output", "evaluation"], True),
        (KEY, False),
        (["model", "question", "score"], False),
        ([], False),
    ],
)
def test_what_is_recognised(columns, known):
    assert dove.is_dove(columns) is known


def test_a_false_alarm_of_the_hash_drops_nothing():
    frame = made(30).drop_duplicates(subset=KEY)
    with duckdb.connect() as connection:
        connection.register("frame", frame)
        told = []
        numbered = connection.sql(
            'SELECT dataset AS benchmark, model, sample_index AS question, row_number() OVER () AS variant, score, 1 AS "dove hash", row_number() OVER () AS "dove row" FROM frame'
        )
        assert len(dove._drop_repeats(numbered, told.append).df()) == len(frame)
    assert told == []
