"""Read reviewed paraphrases of questions, and choose unrelated passages that stand before a question."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from howsure.benchmarks.question import Question
from howsure.errors import InputError
from howsure.prompts.dimensions import draw_below, draw_permutation
from howsure.rows.formats import read_regular_file, read_rows

_REVIEWED = {"true": True, "false": False, "1": True, "0": False}


def load_question_paraphrases(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the paraphrases of each question, by the id of the question.

    Parameters
    ----------
    path
        A file (jsonl, csv or parquet) with a row for each paraphrase: `id` of the question, `text`, and `reviewed`.

    Raises
    ------
    InputError
        When the file cannot be read, a row has no id or text, nobody has reviewed a paraphrase, or a question has the
        same one twice.
    """
    where = path.name
    try:
        read_regular_file(path)
    except OSError as e:
        remedy = "give a file with id, text and reviewed"
        raise InputError(f"cannot read the paraphrases: {e.strerror}", where=str(path), remedy=remedy) from None
    paraphrases: dict[str, tuple[str, ...]] = {}
    for place, row in read_rows(path, where):
        for key in ("id", "text"):
            if not str(row.get(key) or "").strip():
                raise InputError(f"the row has no {key}", where=f"{where}, {place}", remedy=f"add {key}")
        identity, text = str(row["id"]), str(row["text"]).strip()
        if _REVIEWED.get(str(row.get("reviewed")).lower()) is not True:
            remedy = "read it and set reviewed to true, or remove the row"
            what = f"nobody has reviewed this paraphrase of question {identity}"
            raise InputError(what, where=f"{where}, {place}", remedy=remedy)
        if text in paraphrases.get(identity, ()):
            what = f"question {identity} has this paraphrase twice"
            raise InputError(what, where=f"{where}, {place}", remedy="remove one")
        paraphrases[identity] = (*paraphrases.get(identity, ()), text)
    if not paraphrases:
        raise InputError("no paraphrases in the file", where=where, remedy="give a row for each, or leave it out")
    return paraphrases


def hash_paraphrases(paraphrases: Mapping[str, Sequence[str]]) -> str:
    """Return the hash of the texts of all paraphrases."""
    text = json.dumps(sorted((key, list(texts)) for key, texts in paraphrases.items()), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def choose_wording(question: Question, texts: Sequence[str], key: str) -> str:
    """Return one of the paraphrases of a question, drawn by the key; its own text if it has none."""
    return texts[draw_below(len(texts), key, question.id)] if texts else question.text


def choose_passage(question: Question, passages: Sequence[str], key: str) -> str:
    """Return the first passage, in an order drawn by the key, that shares no word with the answers of a question.

    Words of three letters or more and numbers count. The text is empty if every passage shares one.
    """
    answers = {word for text in (*question.choices, question.target, *question.alternatives) for word in _words(text)}
    drawn = (passages[i] for i in draw_permutation(len(passages), key, question.id))
    return next((passage for passage in drawn if not answers & set(_words(passage))), "")


def _words(text: str) -> list[str]:
    """Return the words of three letters or more and the numbers of a text, in lower case; common words are left out."""
    return [word for word in re.findall(r"\d+|[^\W\d_]{3,}", text.casefold()) if word not in _COMMON]


_COMMON = frozenset(
    {"and", "are", "but", "for", "from", "had", "has", "its", "not", "that", "the", "them", "was", "with"}
)
