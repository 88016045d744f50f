"""The benchmark's own reading, as it is now, for the completions of a run that howsure sampled before."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from howsure.benchmarks import load
from howsure.benchmarks.question import Benchmark, Question, value_of
from howsure.benchmarks.question_file import ANSWERS
from howsure.benchmarks.recorded import extract_score
from howsure.errors import InputError
from howsure.extraction.choices import read_choice
from howsure.perturb.instructions import packaged
from howsure.scorers.base import Asked, Place, Scored, Scorer, rules
from howsure.scorers.choice_scorer import Prompts, Shown
from howsure.store import manifest

__all__ = ["own"]

#: What a manifest says of a source beside the spec that `benchmarks.load` takes.
_ABOUT = ("kind", "questions", "sha256", "held_out", "held_out_seed")


class _Reading(NamedTuple):
    """How a benchmark reads and grades; `questions` by id where answers are choices."""

    extract: Callable[[str], str | None]
    grade: Callable[[str, str], float]
    questions: Mapping[str, Question]


def own(spec: str, place: Place) -> Scorer:
    """The scorer `own`.

    Raises
    ------
    InputError
        When the manifest does not lead to a benchmark, or its file is not there or was changed.
    """
    about = manifest.load(place.run)
    readings = {name: _of(benchmark) for name, benchmark in place.benchmarks.items()}
    for name, source in about.benchmarks.items():
        if name not in readings:
            readings[name] = _reading(name, source, place)
    prompts = Prompts(place.run) if any(reading.questions for reading in readings.values()) else None
    asks = {entry.id: entry.asks for entry in packaged("multiple-choice")}

    def labels_asked(variant: str, record: Mapping[str, Any]) -> bool:
        """As the variant knew it (`perturb.point`); where it kept nothing, phrasings of one's own count as open."""
        if "labels_asked" in record:
            return bool(record["labels_asked"])
        values = {name: value_of(told) for name, told in about.prompts.get(variant, {}).items()}
        values |= record.get("values", {})
        if values.keys() == {"system", "template"}:
            return True
        shown = bool(record.get("demonstrations")) and values.get("answer", "label") != "text"
        return shown or asks.get(values.get("instruction", "none"), "") == "label"

    def score(completion: str, asked: Asked) -> Scored:
        if asked.benchmark not in readings:
            raise _unknown(asked.benchmark, place)
        reading = readings[asked.benchmark]
        question = reading.questions.get(asked.question)
        shown = prompts.shown(asked.benchmark, asked.question, asked.variant) if prompts and question else None
        if question is not None and shown is not None:
            answer, rule = _chosen(completion, question, shown, labels_asked(asked.variant, shown.record))
        elif reading.questions:
            raise ValueError("the benchmark does not have this question, or the run not its prompt")
        else:
            answer, rule = reading.extract(completion), "benchmark"
        return Scored(0.0 if answer is None else float(reading.grade(answer, asked.target)), answer, rule)

    return Scorer(spec, rules("extraction", "scorers.own_benchmark"), score)


def _chosen(completion: str, question: Question, shown: Shown, labels_asked: bool) -> tuple[str | None, str]:
    texts = [question.choices[i] for i in shown.order]
    at, rule = read_choice(completion, shown.labels, texts, labels_asked=labels_asked)
    return (None if at is None else chr(ord("A") + shown.order[at])), rule


def _equal(answer: str, target: str) -> float:
    return float(answer == target)


def _reading(name: str, source: Mapping[str, object], place: Place) -> _Reading:
    """How a benchmark reads, from what the manifest says of it."""
    kind = source.get("kind")
    if kind == "replay":
        return _Reading(extract_score, lambda answer, _: float(answer), {})
    if kind == "file" and "choices" not in source:
        return _Reading(ANSWERS[str(source["answer"])][0], _equal, {})
    spec: dict[str, object] = {key: value for key, value in source.items() if key not in _ABOUT}
    if kind == "file":
        spec["choices"] = str(source["choices"]).split(", ")
        return _of(load(spec, base=_folder(name, source, place)))
    if kind == "built-in":
        whole = {key: int(str(value)) for key, value in spec.items() if str(value).isdecimal()}
        return _of(load(spec | whole))
    raise _unknown(name, place)


def _unknown(name: str, place: Place) -> InputError:
    remedy = "name a scorer such as numeric; from Python, pass benchmarks={name: benchmark}"
    return InputError(f"the run does not say how answers to {name!r} are read", where=str(place.run), remedy=remedy)


def _of(benchmark: Benchmark) -> _Reading:
    questions = {question.id: question for question in benchmark.questions if question.choices}
    return _Reading(benchmark.extract, benchmark.grade, questions)


def _folder(name: str, source: Mapping[str, object], place: Place) -> Path:
    """Where the benchmark's file is, with the content that it had; the manifest has its name only."""
    file = str(source["file"])
    near = [place.base] if place.base else [place.run, *list(place.run.absolute().parents)[:3], Path()]
    found = [folder for folder in near if (folder / file).is_file()]
    for folder in found:
        if hashlib.sha256((folder / file).read_bytes()).hexdigest() == source.get("sha256"):
            return folder
    what = f"{file}, the file of {name!r}, {'was changed since' if found else 'is not near'}"
    raise InputError(what, where=str(place.run), remedy="say in which folder it is as it was: base=FOLDER")
