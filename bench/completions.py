"""How real completions are read: scores, unread shares, agreement with harnesses and people, errors, and times.

The completions lie beside the clone, in `../shared/data/completions` and `../shared/data/completions_unseen`; where
they are absent the command says so and ends. One line for each kind:

n, unread       completions, and the share of which no answer is read
score           mean score of what is read against the published target
harness         share that is read as the harness that published the completion reads it, of those with its reading
people          share whose score is the verdict of a person, of those with one
judged          completions with readings that a careful reader accepts; `right` of them are read so, `accepts` are
                read as an answer that they do not give, and `rejects` give an answer and are not read
us, x           median microseconds of CPU for a completion, and the time of all as a multiple of that of one plain
                search for "answer is X" in the same texts, which depends less on the machine

The last line is the number of completions that are read in a second of CPU.

`--half 0` and `--half 1` select one half of the unseen questions, by a hash of kind and question, so that rules can be
written with one half in view and be measured on the other.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import itertools
import json
import re
import statistics
import string
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.multiple_choice import read_choice
from howsure.scorers.numerals import canonical_number
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import Scorer, ScoringItem

DATA = Path(__file__).resolve().parents[1] / "../shared/data"
JUDGEMENTS = Path(__file__).with_name("judged_completions.tsv")
#: Kind of the first set of completions -> the sort of its answers; all others are choices.
SORTS = {"gsm8k_cot": "number", "mgsm": "number", "svamp_cot": "number", "math": "maths"}
#: Kind -> the text with which its prompts begin a further question.
STOPS = {"bbh_choice": "\nQ:", "bbh_words": "\nQ:", "mmlu_pro": "\nQuestion:"}
#: Sort of answers -> the scorer that reads them.
SCORERS = {"number": "numeric", "yesno": "yes-no", "maths": "maths", "list": "list", "open": "contains"}
#: What the baseline of the times searches.
_PLAIN = re.compile(r"answer is (\S+)", re.IGNORECASE)
Row = dict[str, Any]


class Reading(NamedTuple):
    """What is read from a completion: its answer, the score, and the rule."""

    answer: str | None
    score: float
    rule: str | None


def load_rows(folder: str, half: int | None = None) -> Iterator[Row]:
    """Yield the completions of a folder, in one form."""
    if folder == "completions_unseen":
        with gzip.open(DATA / folder / "completions.jsonl.gz", "rt", encoding="utf-8") as file:
            for row in map(json.loads, file):
                question = f"{row['kind'].split('_')[0]} {str(row['id']).partition('/')[0]} {row['question']}"
                if half is None or hashlib.sha256(question.encode()).digest()[0] % 2 == half:
                    yield row
        return
    judgements = load_judgements()
    for path in sorted((DATA / folder).glob("*.jsonl")):
        for row in map(json.loads, filter(None, path.read_text("utf-8").split("\n"))):
            if path.stem != "judged":
                yield complete_row(row, judgements)


def load_judgements() -> dict[tuple[str, str, str], list[str | None]]:
    """Return the judged answers by kind, model and question; None where a completion gives none."""
    lines = (line.split("\t") for line in JUDGEMENTS.read_text("utf-8").splitlines()[1:])
    return {(kind, model, question): [answer or None] for kind, model, question, answer in lines}


def complete_row(row: Row, judgements: dict[tuple[str, str, str], list[str | None]]) -> Row:
    """Return a completion of the first set in the form of the second."""
    kind, text = row["kind"], str(row.get("question") or row.get("prompt") or "")
    text = text[text.rfind("\nQ:") + 3 :].strip() if kind.startswith("bbh") else text
    choices = row.get("choices") or re.findall(r"(?m)^\([A-Z]\) (.*)$", text)
    words = [choice.lower() for choice in choices]
    sort = SORTS.get(kind) or ("yesno" if set(words) == {"yes", "no"} else "choice")
    sort = "number" if sort == "maths" and normalize("number", row["gold"]) else sort
    stops = [STOPS[kind]] if kind in STOPS else []
    new = row | {"question": text, "choices": choices if sort == "choice" else [], "type": sort, "stops": stops}
    letters: dict[str, str] = {}
    if kind == "bbh_words" and sort == "choice":
        letters = {word: string.ascii_uppercase[place] for place, word in enumerate(words)}
        new |= {
            "gold": letters[str(row["gold"]).lower()],
            "harness": letters.get(str(row["harness"]).strip(" .").lower()),
        }
        new["words"] = True
    if (key := (kind, row["model"], str(row["id"]))) in judgements:
        answer = judgements[key][0]
        new["judged"] = [letters.get(str(answer).lower()) if "words" in new else answer]
    return new


class Readers:
    """What reads completions, by the sort of their answers."""

    def __init__(self) -> None:
        self._scorers: dict[str, Scorer] = {}

    def read(self, row: Row) -> Reading:
        """Return what is read from a completion."""
        sort, text, choices = row["type"], row.get("completion") or "", tuple(row.get("choices") or ())
        gold = row["gold"] if isinstance(row["gold"], str) else json.dumps(row["gold"])
        context = CompletionContext(
            row["question"], choices, stops=tuple(row.get("stops") or ()), language=row.get("language") or ""
        )
        if sort == "choice":
            labels = string.ascii_uppercase[: len(choices)]
            is_labelled = not row.get("words") and not row["kind"].endswith("words")
            place, rule = read_choice(text, labels, choices, expects_label=is_labelled, context=context)
            answer = None if place is None else labels[place]
            return Reading(answer, float(answer == normalize("choice", gold)), rule)
        if sort not in self._scorers:
            self._scorers[sort] = build_scorer(SCORERS[sort], "bench")
        try:
            scored = self._scorers[sort].score(text, ScoringItem(row["kind"], str(row["id"]), "", gold, context))
        except ValueError as error:
            return Reading(None, 0.0, str(error))
        return Reading(scored.answer, scored.score, scored.rule)

    def close(self) -> None:
        """End the processes of the scorers."""
        for scorer in self._scorers.values():
            scorer.close()


def normalize(sort: str, text: object) -> str | None:
    """Return a published or judged reading in the form in which ours is written."""
    if text is None:
        return None
    written = str(text).strip()
    if sort == "choice":
        match = re.fullmatch(r"\W*([A-Z])\W*", written)
        return match[1] if match else None
    if sort == "number":
        return canonical_number(written.strip(" $.").replace(",", ""))
    return written.strip(" .*").lower() or None


def measure_kind(rows: list[Row], readers: Readers) -> tuple[dict[str, float], list[Reading]]:
    """Return the figures of the completions of one kind, and what is read from each."""
    for row in rows[:3]:
        readers.read(row)
    readings, times, bare = [], [], 0.0
    for row in rows:
        start = time.process_time()
        readings.append(readers.read(row))
        end = time.process_time()
        _PLAIN.findall(row.get("completion") or "")
        times.append(end - start)
        bare += time.process_time() - end
    n, counts = len(rows), defaultdict[str, float](float)
    for row, reading in zip(rows, readings, strict=True):
        counts["unread"] += reading.answer is None
        counts["score"] += reading.score
        if "human" in row:
            counts["verdicts"] += 1
            counts["people"] += (reading.score >= 0.5) == row["human"]
            counts["people accept"] += reading.score >= 0.5 and not row["human"]
            counts["people reject"] += reading.score < 0.5 and row["human"]
        if row["type"] in ("choice", "number", "yesno") and row.get("harness") is not None:
            counts["readings"] += 1
            counts["harness"] += normalize(row["type"], row["harness"]) == reading.answer
        if "judged" in row:
            accepted = [normalize(row["type"], one) for one in row["judged"]]
            counts["judged"] += 1
            counts["right"] += reading.answer in accepted
            counts["accepts"] += reading.answer is not None and reading.answer not in accepted
            counts["rejects"] += reading.answer is None and None not in accepted
    figures: dict[str, float] = {"n": n, "unread": counts["unread"] / n, "score": counts["score"] / n}
    figures |= {"us": 1e6 * statistics.median(times), "seconds": sum(times), "x": sum(times) / bare}
    for name, total in (("harness", "readings"), ("people", "verdicts")):
        figures[name] = counts[name] / counts[total] if counts[total] else float("nan")
    for name in ("people accept", "people reject"):
        figures[name] = counts[name] / counts["verdicts"] if counts["verdicts"] else float("nan")
    return figures | {name: counts[name] for name in ("judged", "right", "accepts", "rejects")}, readings


def count_reversed(rows: list[Row], readings: list[Reading]) -> tuple[int, int]:
    """Return the number of pairs of models that the scores order otherwise than people do, and of all pairs."""
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row, reading in zip(rows, readings, strict=True):
        sums[row["model"]][0] += reading.score
        sums[row["model"]][1] += row["human"]
    pairs = list(itertools.combinations(sums.values(), 2))
    return sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in pairs), len(pairs)


def print_line(name: str, figures: dict[str, float]) -> None:
    """Print the line of one kind."""
    shares = "".join(f"{figures[key]:>9.1%}" for key in ("unread", "score", "harness", "people"))
    counts = "".join(f"{figures[key]:>8.0f}" for key in ("judged", "right", "accepts", "rejects", "us", "x"))
    print(f"{name:<34}{figures['n']:>6.0f}{shares.replace('nan%', '    ')}{counts}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--only", default="", help="names of kinds, with commas")
    args = parser.parse_args()
    folders = [name for name in ("completions", "completions_unseen") if (DATA / name).is_dir()]
    if not folders:
        print(f"no completions in {DATA}: nothing was measured")
        return
    total_n, total_seconds = 0.0, 0.0
    readers = Readers()
    print(f"{'kind':<34}{'n':>6}{'unread':>9}{'score':>9}{'harness':>9}{'people':>9}", end="")
    print(f"{'judged':>8}{'right':>8}{'accepts':>8}{'rejects':>8}{'us':>8}{'x':>8}")
    for folder in folders:
        groups: defaultdict[str, list[Row]] = defaultdict(list)
        for row in load_rows(folder, args.half):
            if not args.only or any(part in row["kind"] for part in args.only.split(",")):
                groups[f"{folder.removeprefix('completions_')}/{row['kind']}/{row['type']}"].append(row)
        for name, rows in groups.items():
            figures, readings = measure_kind(rows, readers)
            print_line(name.replace("completions/", "seen/"), figures)
            if "human" in rows[0]:
                n, total = count_reversed(rows, readings)
                errors = f"{figures['people accept']:.1%} false accepts, {figures['people reject']:.1%} false rejects"
                print(f"    {errors}; {n} of {total} pairs of models in another order than people's")
            total_n, total_seconds = total_n + figures["n"], total_seconds + figures["seconds"]
    readers.close()
    print(f"{total_n / total_seconds:,.0f} completions a second of CPU")


if __name__ == "__main__":
    main()
