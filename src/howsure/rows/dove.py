"""Read the DOVE data set: one generation for each of thousands of prompt variants, in very large Parquet files.

It reads the flat form of DOVE_Lite and the nested form of the whole data set. DuckDB runs all operations, and only
counts are returned. A variant is the hash of its values on the five dimensions. If several rows repeat a question under
a variant, the first one is kept, as the authors of DOVE do (the model's quantization is not part of their key).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

__all__ = ["DIMENSIONS", "is_dove", "to_tidy"]

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


def is_dove(columns: Iterable[str]) -> bool:
    """Return whether a table with these columns is from DOVE.

    >>> is_dove(["instance", "model", "prompt_config", "output", "evaluation"]), is_dove(["model", "score"])
    (True, False)
    """
    names = set(columns)
    return names >= _NESTED_COLUMNS or names >= {name.strip('"') for name in _FLAT.values()}


def to_tidy(
    rows: duckdb.DuckDBPyRelation, note: Callable[[str], None]
) -> tuple[duckdb.DuckDBPyRelation, tuple[str, ...]]:
    """Return the rows with howsure's column names, once per question and variant, and the names of the dimensions.

    Parameters
    ----------
    rows
        A table for which `is_dove` is true.
    note
        A function that is called with remarks on dropped rows and missing repeats.

    Returns
    -------
    rows
        Columns benchmark, model, question, variant, the `DIMENSIONS`, and score as it is there; all others as text.
    dimensions
        `DIMENSIONS`.
    """
    source = _FLAT if {name.strip('"') for name in _FLAT.values()} <= set(rows.columns) else _NESTED
    raw = {name: column for name, column in source.items() if name != "score"}
    text = {name: f"CAST({column} AS VARCHAR)" for name, column in raw.items()}
    text |= {name: _write_visible_sql(text[name]) for name in DIMENSIONS}
    # The instruction is long; DuckDB hashes it once for each text of a dictionary.
    joined = ", ".join(f"md5({text[name]})" if name == "instruction" else text[name] for name in DIMENSIONS)
    text["variant"] = f"left(md5(concat_ws(chr(31), {joined})), 12)"
    order = ("benchmark", "model", "question", "variant", *DIMENSIONS)
    columns = [f'{text[name]} AS "{name}"' for name in order]
    columns += [f"{source['score']} AS score", f'hash({", ".join(raw.values())}) AS "{_HASH}"']
    numbered = rows.project(", ".join([*columns, f'row_number() OVER () AS "{_ROW}"']))
    n, n_distinct = numbered.aggregate(f'count(*), count(DISTINCT "{_HASH}")').fetchall()[0]
    note(f"one generation under each variant: the noise of prompts and of sampling cannot be separated ({n} rows)")
    if n_distinct < n:
        numbered = _drop_repeats(numbered, note)
    return numbered.project(", ".join(f'"{name}"' for name in (*order, "score"))), DIMENSIONS


def _drop_repeats(numbered: duckdb.DuckDBPyRelation, note: Callable[[str], None]) -> duckdb.DuckDBPyRelation:
    """Return the first row of each question under each variant; only rows with equal hashes are compared in full."""
    equal = numbered.aggregate(f'"{_HASH}", count(*) AS times', f'"{_HASH}"').filter("times > 1").project(f'"{_HASH}"')
    groups = numbered.join(equal.set_alias("equal"), f'"{_HASH}"', how="semi").aggregate(
        f'list("{_ROW}" ORDER BY "{_ROW}") AS rows, min(score) IS DISTINCT FROM max(score) AS differ', _KEY
    )
    repeated = groups.filter("len(rows) > 1")
    n_dropped, n_differ = repeated.aggregate("coalesce(sum(len(rows) - 1), 0), count(*) FILTER (differ)").fetchall()[0]
    if not n_dropped:
        return numbered
    scored = f"; {n_differ} questions had other scores there" if n_differ else ""
    note(f"{n_dropped} rows repeat a question under a variant and are dropped, as DOVE's authors do{scored}")
    dropped = repeated.project(f'unnest(rows[2:]) AS "{_ROW}"').set_alias("dropped")
    return numbered.join(dropped, f'"{_ROW}"', how="anti")


def _write_visible_sql(text: str) -> str:
    """Return SQL that makes a value visible: a new line is backslash n, a value of spaces only is (space)."""
    lines = f"replace({text}, chr(10), '\\n')"
    return (
        f"CASE WHEN {text} IS NULL OR {text} = '' THEN '(none)' WHEN trim({text}) = '' THEN '(space)' ELSE {lines} END"
    )
