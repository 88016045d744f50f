"""DOVE: one generation for each of thousands of prompt variants, in Parquet files that may be hundreds of gigabytes.

Both forms are read: the flat one of DOVE_Lite, and the nested one of the whole data set. All runs inside DuckDB; only
counts come back. A variant is the hash of its values on the five dimensions. Rows that repeat a question under a
variant are dropped but for the first, as the authors of DOVE do (the model's quantization is no part of their key).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

__all__ = ["DIMENSIONS", "NAME", "as_tidy", "recognises"]

NAME = "DOVE"

#: Our names of the dimensions of a prompt, in the order of DOVE.
DIMENSIONS = ("enumerator", "separator", "choices_order", "instruction", "shots")

_FLAT = {
    "benchmark": '"dataset"',
    "model": '"model"',
    "question": '"sample_index"',
    "enumerator": '"dimensions_1: enumerator"',
    "separator": '"dimensions_2: separator"',
    "choices_order": '"dimensions_3: choices_order"',
    "instruction": '"dimensions_4: instruction_phrasing_text"',
    "shots": '"dimensions_5: shots"',
    "score": '"score"',
}
_NESTED = {
    "benchmark": '"instance"."sample_identifier"."dataset_name"',
    "model": '"model"."model_info"."name"',
    "question": '"instance"."sample_identifier"."hf_index"',
    "enumerator": '"prompt_config"."dimensions"."enumerator"',
    "separator": '"prompt_config"."dimensions"."separator"',
    "choices_order": '"prompt_config"."dimensions"."choices_order"."method"',
    "instruction": '"prompt_config"."dimensions"."instruction_phrasing"."text"',
    "shots": '"prompt_config"."dimensions"."shots"',
    "score": '"evaluation"."score"',
}
_NESTED_COLUMNS = frozenset({"instance", "model", "prompt_config", "evaluation"})
_KEY = "benchmark, model, question, variant"
_ROW, _HASH = "dove row", "dove hash"


def recognises(columns: Iterable[str]) -> bool:
    """Whether a table with these columns is DOVE's.

    >>> recognises(["instance", "model", "prompt_config", "output", "evaluation"]), recognises(["model", "score"])
    (True, False)
    """
    there = set(columns)
    return there >= _NESTED_COLUMNS or there >= {name.strip('"') for name in _FLAT.values()}


def as_tidy(
    rows: duckdb.DuckDBPyRelation, tell: Callable[[str], None]
) -> tuple[duckdb.DuckDBPyRelation, tuple[str, ...]]:
    """The rows under tidy names, each question once under each variant, and the names of the dimensions.

    Parameters
    ----------
    rows
        A table that `recognises` knows.
    tell
        Hears how many rows were dropped, and that there are no repeats.

    Returns
    -------
        Columns benchmark, model, question, variant, the `DIMENSIONS`, and score as it is there; all others as text.
    """
    source = _FLAT if {name.strip('"') for name in _FLAT.values()} <= set(rows.columns) else _NESTED
    raw = {name: column for name, column in source.items() if name != "score"}
    text = {name: f"CAST({column} AS VARCHAR)" for name, column in raw.items()}
    text |= {name: _shown(text[name]) for name in DIMENSIONS}
    # The long one is hashed by itself, which DuckDB does once for each text of a dictionary.
    joined = ", ".join(f"md5({text[name]})" if name == "instruction" else text[name] for name in DIMENSIONS)
    text["variant"] = f"left(md5(concat_ws(chr(31), {joined})), 12)"
    order = ("benchmark", "model", "question", "variant", *DIMENSIONS)
    columns = [f'{text[name]} AS "{name}"' for name in order]
    columns += [f"{source['score']} AS score", f'hash({", ".join(raw.values())}) AS "{_HASH}"']
    numbered = rows.project(", ".join([*columns, f'row_number() OVER () AS "{_ROW}"']))
    n, distinct = numbered.aggregate(f'count(*), count(DISTINCT "{_HASH}")').fetchall()[0]
    tell(f"one generation under each variant: the noise of prompts and of sampling cannot be told apart ({n} rows)")
    if distinct < n:
        numbered = _without_repeats(numbered, tell)
    return numbered.project(", ".join(f'"{name}"' for name in (*order, "score"))), DIMENSIONS


def _without_repeats(numbered: duckdb.DuckDBPyRelation, tell: Callable[[str], None]) -> duckdb.DuckDBPyRelation:
    """The first row of each question under each variant; only the few that may be repeats are compared in full."""
    suspects = (
        numbered.aggregate(f'"{_HASH}", count(*) AS times', f'"{_HASH}"').filter("times > 1").project(f'"{_HASH}"')
    )
    groups = numbered.join(suspects.set_alias("suspects"), f'"{_HASH}"', how="semi").aggregate(
        f'list("{_ROW}" ORDER BY "{_ROW}") AS found, min(score) IS DISTINCT FROM max(score) AS differ', _KEY
    )
    repeated = groups.filter("len(found) > 1")
    dropped, differ = repeated.aggregate("coalesce(sum(len(found) - 1), 0), count(*) FILTER (differ)").fetchall()[0]
    if not dropped:
        return numbered
    scored = f"; {differ} questions had other scores there" if differ else ""
    tell(f"{dropped} rows repeat a question under a variant and are dropped, as DOVE's authors do{scored}")
    again = repeated.project(f'unnest(found[2:]) AS "{_ROW}"').set_alias("again")
    return numbered.join(again, f'"{_ROW}"', how="anti")


def _shown(text: str) -> str:
    """A value that can be read where it is white: a new line as backslash n, only spaces as (space)."""
    lines = f"replace({text}, chr(10), '\\n')"
    return (
        f"CASE WHEN {text} IS NULL OR {text} = '' THEN '(none)' WHEN trim({text}) = '' THEN '(space)' ELSE {lines} END"
    )
