"""How real completions are read: false accepts and false rejects of ours and of other programs' filters.

Every completion that ours reads otherwise than the harness that published it, or does not read, was judged by a
language model; `judged_completions.tsv` holds what it says, or nothing where no answer can be read from it. A
completion that is not listed there says what both read. *False accepts* are completions that are read as an answer that
they do not give, *false rejects* those that give an answer and are not read, both as shares of all completions of a
kind. *Not judged* are completions that are read otherwise than the harness and are not in the file, because the code
changed; they count as false until somebody reads them (`--list` prints those and all false ones).

Beside ours stand the filters of lm-evaluation-harness 0.4.13 on the same completions: the patterns of its tasks gsm8k
(strict-match, flexible-extract), gsm8k_cot (strict-match), mmlu_pro (custom-extract), gpqa (flexible-extract) and bbh.
Below are the completions that an early version of ours misread, judged in `judged.jsonl` of the data folder. Needs the
data folder beside the clone.
"""

from __future__ import annotations

import csv
import json
import re
import string
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.multiple_choice import read_choice
from howsure.extraction.numbers import canonical_number, extract_number
from howsure.scorers.yes_no import read_yes_no

DATA = Path(__file__).resolve().parents[1] / "../shared/data/completions"
JUDGEMENTS = Path(__file__).with_name("judged_completions.tsv")
#: Kind of completions -> the text with which its prompts begin a further question.
CHOICES = {
    "aqua_cot": "",
    "bbh_choice": "\nQ:",
    "date_cot": "",
    "mmlu_pro": "\nQuestion:",
    "mmlu_stated": "",
    "thinking": "",
}
NUMBERS = ("gsm8k_cot", "math", "mgsm", "svamp_cot")
#: Kinds whose choices have no labels.
WORDS = {"bbh_words": "\nQ:"}
#: Kind of an answer -> its kinds of completions.
SORTS = {"choice": tuple(CHOICES), "number": NUMBERS, "words": tuple(WORDS)}
#: Filter -> (pattern, whether the last match counts, the kinds of answers that it reads).
FILTERS = {
    "gsm8k strict": (r"#### (\-?[0-9\.\,]+)", False, ("number",)),
    "gsm8k_cot strict": (r"The answer is (\-?[0-9\.\,]+).", False, ("number",)),
    "gsm8k flexible": (r"(-?[$0-9.,]{2,})|(-?[0-9]+)", True, ("number",)),
    "mmlu_pro custom": (r"answer is \(?([ABCDEFGHIJ])\)?", False, ("choice",)),
    "gpqa flexible": (r"(\([A-Z]\))", True, ("choice",)),
    "bbh": (r"(?<=the answer is )(.*)(?=.)", False, ("choice", "words")),
}
Row = dict[str, Any]
Reader = Callable[[Row], str | None]


def load(kind: str) -> list[Row]:
    """The completions of one kind, with their choices and the question alone."""
    rows = [json.loads(line) for line in (DATA / f"{kind}.jsonl").read_text("utf-8").split("\n") if line]
    for row in rows:
        text = str(row.get("question") or row.get("prompt") or "")
        row["text"] = text[text.rfind("\nQ:") + 3 :].strip() if row["kind"].startswith("bbh") else text
        if "choices" not in row:
            row["choices"] = re.findall(r"^\([A-Z]\) (.*)$", row["text"], re.MULTILINE)
    return rows


def load_judgements() -> dict[tuple[str, str, str], str | None]:
    """The judged answers by kind, model and question; None where a completion gives none."""
    with JUDGEMENTS.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {(row["kind"], row["model"], row["id"]): row["answer"] or None for row in rows}


def find_letter(text: object) -> str | None:
    """The letter that a text is, in brackets or not."""
    match = re.fullmatch(r"\W*([A-Z])\W*", str(text or ""))
    return match[1] if match else None


def read_number(text: object) -> str | None:
    """The number that a text is, in canonical form."""
    cleaned = str(text or "").strip(" $.").replace(",", "")
    try:
        return canonical_number(cleaned) or str(Fraction(cleaned))
    except (ValueError, ZeroDivisionError):
        return None


def find_word(text: object) -> str | None:
    """The word that a text is, in lower case."""
    return str(text or "").strip(" .*").lower() or None


PARSERS: dict[str, Callable[[object], str | None]] = {"choice": find_letter, "number": read_number, "words": find_word}


def read_ours(row: Row) -> str | None:
    """What we read."""
    stop = (CHOICES | WORDS).get(row["kind"], "")
    context = CompletionContext(row.get("text", ""), tuple(row["choices"]), stops=(stop,) if stop else ())
    if row["kind"] in NUMBERS:
        return extract_number(row["completion"], context=context)
    words = [choice.lower() for choice in row["choices"]]
    if row["kind"] in WORDS and set(words) == {"yes", "no"}:
        return read_yes_no(row["completion"], context)[0]
    labels = string.ascii_uppercase[: len(words)]
    has_labels = row["kind"] in CHOICES
    place, _ = read_choice(row["completion"], labels, row["choices"], expects_label=has_labels, context=context)
    return None if place is None else (labels if has_labels else words)[place]


def read_filtered(name: str, row: Row) -> str | None:
    """What a filter of lm-evaluation-harness reads."""
    pattern, is_last, _ = FILTERS[name]
    matches = [
        next((part for part in match.groups() if part), match[0]) for match in re.finditer(pattern, row["completion"])
    ]
    if not matches:
        return None
    answer = matches[-1 if is_last else 0].strip()
    sort = next(sort for sort, kinds in SORTS.items() if row["kind"] in kinds)
    return PARSERS[sort](answer)


def list_readers(sort: str) -> dict[str, Reader]:
    """Ours and the filters that read a sort of answers, by name."""
    readers: dict[str, Reader] = {"howsure": read_ours}
    for name in (name for name, filtered in FILTERS.items() if sort in filtered[2]):
        readers[name] = lambda row, name=name: read_filtered(name, row)  # type: ignore[misc]  # binds the name
    return readers


def count_errors(readings: list[str | None], truths: list[str | None]) -> tuple[int, int]:
    """The numbers of false accepts and of false rejects."""
    pairs = list(zip(readings, truths, strict=True))
    wrong = sum(reading is not None and reading != truth for reading, truth in pairs)
    return wrong, sum(reading is None and truth is not None for reading, truth in pairs)


def print_kind(kind: str, sort: str, judgements: dict[tuple[str, str, str], str | None], *, is_listed: bool) -> None:
    """Print the lines of one kind of completions."""
    parse = PARSERS[sort]
    rows = [row for row in load(kind) if (row["choices"] if sort != "number" else parse(row["gold"]))]
    harness = [parse(row.get("harness")) for row in rows]
    keys = [(kind, row["model"], row["id"]) for row in rows]
    truths = [parse(judgements[key]) if key in judgements else one for key, one in zip(keys, harness, strict=True)]
    for name, read in list_readers(sort).items():
        start = time.process_time()
        readings = [read(row) for row in rows]
        seconds = (time.process_time() - start) / len(rows)
        count = len(rows)
        same = sum(one == other for one, other in zip(readings, harness, strict=True))
        right = sum(one == parse(row["gold"]) for one, row in zip(readings, rows, strict=True))
        accepts, rejects = count_errors(readings, truths)
        unjudged = sum(
            one != other and key not in judgements for one, other, key in zip(readings, harness, keys, strict=True)
        )
        print(
            f"{kind:<13}{name:<18}{count:>5}{sum(key in judgements for key in keys):>8}{same / count:>9.1%}"
            f"{right / count:>7.1%}{readings.count(None) / count:>8.1%}{accepts / count:>9.2%}{rejects / count:>9.2%}"
            + (f"{unjudged:>8}" if name == "howsure" else f"{'':>8}")
            + f"{seconds * 1e6:>6.0f}"
        )
        if is_listed and name == "howsure":
            for reading, truth, key in zip(readings, truths, keys, strict=True):
                if reading != truth:
                    remark = "" if key in judgements else " (not judged)"
                    print(f"    {key[1]} {key[2]}: {reading}, not {truth}{remark}")


def main() -> None:
    """Print the tables."""
    if not DATA.exists():
        print(f"no completions at {DATA}")
        return
    judgements = load_judgements()
    print(f"{'kind':<13}{'read by':<18}{'n':>5}{'judged':>8}{'harness':>9}{'right':>7}{'unread':>8}", end="")
    print(f"{'accepts':>9}{'rejects':>9}{'not j.':>8}{'µs':>6}")
    for sort, kinds in SORTS.items():
        for kind in kinds:
            print_kind(kind, sort, judgements, is_listed="--list" in sys.argv)
    early = load("judged")
    print(f"\n{'misread by an early version':<32}{'n':>5}{'wrong':>8}{'unread':>8}")
    for sort, kinds in SORTS.items():
        cases = [row for row in early if row["kind"] in kinds]
        truths = [PARSERS[sort](row["truth"]) for row in cases]
        for name, read in list_readers(sort).items() if cases else ():
            wrong, unread = count_errors([read(row) for row in cases], truths)
            print(f"{sort:<14}{name:<18}{len(cases):>5}{wrong:>8}{unread:>8}")


if __name__ == "__main__":
    main()
