"""Find the records in a value of JSON."""

from __future__ import annotations

import json
from collections import Counter

from howsure.errors import InputError, first_line
from howsure.rows.words import ALIASES, find_alias


def decode_json(text: str, place: str) -> object:
    """Return a value of JSON; a key that stands twice is an error."""

    def make_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(result := dict(pairs)) < len(pairs):
            raise ValueError(f"duplicate key {Counter(key for key, _ in pairs).most_common(1)[0][0]!r}")
        return result

    try:
        return json.loads(text, object_pairs_hook=make_object)
    except (ValueError, RecursionError) as error:
        remedy = "correct or remove the line; the last one is torn where a program was stopped"
        raise InputError(f"not JSON: {first_line(error)}", where=place, remedy=remedy) from None


def list_records(value: object, where: str) -> list[dict[str, object]]:
    """Return the records of a JSON value.

    It is an array of records; an object with one such array, whose texts beside it are those of all records; an object
    of records by their ids; or an object of columns, as pandas writes it.

    Raises
    ------
    InputError
        When it is anything else.

    Examples
    --------
    >>> list_records({"model": "a", "mean": 1.0, "results": [{"id": 1, "score": 1}]}, "run.json")
    [{'model': 'a', 'id': 1, 'score': 1}]
    """
    if isinstance(value, list) and _are(value, dict):
        return value
    fields = value if isinstance(value, dict) else {}
    each = list(fields.values())
    lists = [key for key, one in fields.items() if _are(one, dict)]
    if isinstance(fields.get("columns"), list) and _are(fields.get("data"), list):  # a frame, split
        return [dict(zip(map(str, fields["columns"]), row, strict=False)) for row in fields["data"]]
    if len(lists) == 1:
        texts = {key: one for key, one in fields.items() if one is None or isinstance(one, str)}
        # What else has one of our names is about the file, and not about its records.
        ours = [name for name in ALIASES if name not in {"benchmark", "model"}]
        others = {key for key in texts if any(find_alias(name, [key]) for name in ours)}
        return [{**{key: texts[key] for key in texts if key not in others}, **row} for row in fields[lists[0]]]
    if _are(each, list) and not lists and len(set(map(len, each))) == 1:
        return [dict(zip(fields, row, strict=True)) for row in zip(*each, strict=True)]
    if _are(each, dict) and each[0]:
        if all(list(one) == [str(i) for i in range(len(each[0]))] for one in each):
            return [{name: one[row] for name, one in fields.items()} for row in each[0]]
        # Numbers alone do not say whether models or questions are the keys.
        if any(isinstance(cell, str | list | dict) for one in each for cell in one.values()):
            return [{"id": key, **one} for key, one in fields.items()]
    what = f"JSON of another shape, with the keys {', '.join(fields)[:80]}" if fields else "JSON without records"
    remedy = "write an array of records such as [{...}, {...}], each with model, question and score"
    raise InputError(what, where=where, remedy=remedy, code="json-shape")


def _are(values: object, kind: type) -> bool:
    """Return whether a value is a list of one or more values of this type."""
    return isinstance(values, list) and bool(values) and all(isinstance(one, kind) for one in values)
