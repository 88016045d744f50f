"""Ranks of models from battles: tables whose rows say which of two models was preferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from howsure.errors import InputError
from howsure.notes import Note, warn
from howsure.rows.table import open_table
from howsure.rows.words import find_alias
from howsure.stats.comparisons import Battles, rank_battles
from howsure.stats.core.claims import check_level
from howsure.stats.core.results import Results

if TYPE_CHECKING:
    import pyarrow as pa

#: What a battle's winner is called, beside the names of the models themselves.
_FIRST, _SECOND = ("model_a", "a"), ("model_b", "b")
_TIES = ("tie", "tie (bothbad)", "bothbad", "both_bad", "draw")


def battles(
    data: str | Path | Sequence[str | Path], *, level: float = 0.95, columns: Mapping[str, str] | None = None
) -> Results:
    r"""Rank models by battles, in which a judge or a person prefers one of two models.

    Parameters
    ----------
    data
        Tables with a row per battle: ``model_a``, which was shown first, ``model_b`` and ``winner``, which is
        ``model_a``, ``model_b``, ``tie`` or the name of the model. A column of questions makes battles on one question
        a cluster.
    level
        Coverage of the intervals and of the range of ranks of each model, between 0 and 1.
    columns
        Columns of the table that are called otherwise, by our names.

    Returns
    -------
    Results
        A row per table and model: its ``rating`` on the scale of chess with a mean of 1,000, the standard error and the
        limits, ``rank`` and its range, and ``win_share``, ties counting half.

    Raises
    ------
    InputError
        If a column is missing, a winner is none of these, or the battles do not connect the models.

    Notes
    -----
    With the strengths s and the advantage g of the place, model i, shown first, beats j with probability

    .. math:: 1 / (1 + \exp(-(s_i - s_j + g)))

    References
    ----------
    Bradley and Terry (1952), Rank analysis of incomplete block designs, Biometrika 39.

    Examples
    --------
    >>> import howsure as hs
    >>> hs.battles("battles.csv")  # doctest: +SKIP
    """
    check_level(level)
    if not isinstance(data, (str, Path, list, tuple)):
        remedy = "write it to a file, such as battles.parquet, and give its path"
        raise InputError(f"battles are read from files, not from {type(data).__name__}", where="battles", remedy=remedy)
    paths = [data] if isinstance(data, (str, Path)) else list(data)
    return Results(tuple(rank_battles(_read(path, columns or {}), level=level) for path in paths))


def _read(path: str | Path, columns: Mapping[str, str]) -> Battles:
    """Return the battles of a table; rows without a winner are left out, with a note."""
    import pyarrow as pa
    import pyarrow.compute as pc

    where = str(path)
    with open_table(path) as rows:
        names = {name.lower(): name for name in rows.columns}
        chosen = {}
        for ours in ("model_a", "model_b", "winner"):
            name = columns.get(ours, ours)
            if name.lower() not in names:
                remedy = f"name it with --columns {ours}=COLUMN; the table has {', '.join(rows.columns[:12])}"
                raise InputError(f"no column {name!r}", where=where, remedy=remedy)
            chosen[ours] = names[name.lower()]
        question = columns.get("question") or find_alias("question", rows.columns, taken=chosen.values())
        if question is not None:
            if question not in rows.columns:
                raise InputError(f"no column {question!r}", where=where, remedy="name a column of the table")
            chosen["question"] = question
        listed = ", ".join(
            f'CAST("{name.replace(chr(34), chr(34) * 2)}" AS VARCHAR) AS {ours}' for ours, name in chosen.items()
        )
        table: pa.Table = rows.project(listed).to_arrow_table()
    is_whole = pc.and_(pc.and_(table["model_a"].is_valid(), table["model_b"].is_valid()), table["winner"].is_valid())
    if n_blank := len(table) - int(pc.sum(is_whole).as_py() or 0):
        warn(Note("battles-without-winner", where, n=n_blank))
    table = table.filter(is_whole)
    codes, models = _encode(pa.chunked_array([*table["model_a"].chunks, *table["model_b"].chunks], pa.string()))
    first, second = codes[: len(table)], codes[len(table) :]
    winner, values = _encode(table["winner"])
    row_of = {name: i for i, name in enumerate(models)}
    result = np.full(len(table), np.nan)
    for code, value in enumerate(values):
        own, word = winner == code, value.strip().lower()
        if value in row_of:
            result[own & (first == row_of[value])], result[own & (second == row_of[value])] = 1, 0
        elif word in (*_FIRST, *_SECOND, *_TIES):
            result[own] = 1 if word in _FIRST else 0 if word in _SECOND else 0.5
    if np.isnan(result).any():
        row = int(np.argmax(np.isnan(result)))
        what = f"winner {values[int(winner[row])]!r} of {models[int(first[row])]} and {models[int(second[row])]}"
        raise InputError(what, where=where, remedy="allowed: model_a, model_b, tie, or the name of one of the two")
    cluster = _number_questions(table["question"]) if "question" in chosen else None
    return Battles(Path(where).stem, tuple(models), first, second, result, cluster)


def _number_questions(column: pa.ChunkedArray) -> np.ndarray | None:
    """Return the number of the question of each battle, a blank one by itself; None where all are blank."""
    if column.null_count == len(column):
        return None
    numbers, is_blank = _encode(column)[0], column.is_null().to_numpy()
    numbers[is_blank] = numbers.max() + 1 + np.arange(int(is_blank.sum()))
    return numbers


def _encode(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """Return the number of each text, and the texts in alphabetical order."""
    encoded = column.combine_chunks().dictionary_encode()
    texts = [str(text) for text in encoded.dictionary.to_pylist()]
    order = np.argsort(np.array(texts, object), kind="stable")
    place = np.empty(len(texts), np.int64)
    place[order] = np.arange(len(texts))
    codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return (place[codes] if texts else codes.astype(np.int64)), [texts[i] for i in order]
