"""A random sample of judged completions for people to label, and the file of their labels.

Strata are the model and the judge's score (right, wrong, between, none). Each model has the same number of completions;
half of them are shared out over its strata by their sizes and half equally, so that rare verdicts are checked as well.
Refusals, empty completions and tool calls score 0 without a judge: none is drawn.
Within a stratum the completions stand question by question in random order, and every n-th is drawn from a random
start: all have the same probability to be drawn, which is stored, and they are spread over the questions.

The file has a line for each drawn completion, and one for each label: later lines are appended, none is changed.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from howsure.errors import InputError
from howsure.judging.judge_run import find_judge, read_prompt_texts, read_target
from howsure.notes import Note, warn
from howsure.rows.formats import read_rows
from howsure.stats.judges import LabelAgreement, measure_agreement
from howsure.store import responses, scorer_files
from howsure.store.schema import KEY, CompletionKey

#: The generation of a label that does not state it.
_NO_GENERATION = -1


class Label(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A drawn completion (without verdict and score), or what a person says of it.

    A label that was made elsewhere may leave out what the run has only one of: the empty text, or generation -1.

    Examples
    --------
    >>> one = Label(benchmark="b", model="m", question="q", variant="v", generation=1, verdict="CORRECT", score=1.0)
    >>> one.completion_key
    ('b', 'm', 'q', 'v', 1)
    """

    question: str
    benchmark: str = ""
    model: str = ""
    variant: str = ""
    generation: int = _NO_GENERATION
    inclusion: float | None = None
    """Probability with which the completion was drawn."""
    scorer: str = ""
    """The judge whose verdicts made the strata."""
    verdict: str = ""
    score: float | None = None
    reviewer: str = ""
    when: str = ""

    @property
    def completion_key(self) -> CompletionKey:
        """The key of the completion."""
        return self.benchmark, self.model, self.question, self.variant, self.generation


#: Endings of tables of labels, the columns that are read, the columns of a table that may be people's scores, and the
#: words in these that are scores.
_TABLES = frozenset({".csv", ".tsv"})
_FIELDS = frozenset(Label.__struct_fields__)
_SCORES = ("human", "label", "score")
_TRUTH = {"true": 1.0, "false": 0.0}
#: Fields of a label that are numbers, and what to write there.
_NUMBERS: Mapping[str, tuple[type, str]] = {
    "score": (float, "give a number such as 0 or 1, or the judge's word as verdict"),
    "generation": (int, "give the whole number of the generation, counted from 1, or all from 0"),
    "inclusion": (float, "give the probability with which the completion was drawn, or leave it out"),
}


class LabelTask(NamedTuple):
    """A completion as a person is shown it."""

    label: Label
    question: str
    target: str
    completion: str


class LabelFile(NamedTuple):
    """The lines of a file of labels."""

    path: Path
    sample: tuple[Label, ...]
    labels: dict[tuple[CompletionKey, str], Label]
    """The newest label of each completion by each reviewer; without those that were undone."""

    def resolve(self, keys: Collection[CompletionKey], choices: Mapping[str, float]) -> LabelFile:
        """Return the labels with whole keys and with scores.

        Parameters
        ----------
        keys
            The completions of the run. A label that leaves out a field is of the one completion that has its others.
        choices
            The score of each verdict, for labels without a score.

        Raises
        ------
        InputError
            When several completions have the fields of a label, its verdict is none of the choices, or only some
            labels have an inclusion probability.
        """
        score_of = {word.casefold(): score for word, score in choices.items()}
        places: dict[tuple[bool, ...], dict[tuple[object, ...], list[CompletionKey]]] = {}

        def find_fields(one: Label) -> dict[str, Any]:
            """Return the whole key of the completion that has the fields of a label, by field."""
            key = one.completion_key
            matches = [key]
            if key not in keys:
                given = tuple(value not in {"", _NO_GENERATION} for value in key)
                if given not in places:
                    places[given] = defaultdict(list)
                    for each in keys:
                        places[given][tuple(compress(each, given))].append(each)
                matches = places[given].get(tuple(compress(key, given)), matches)
            if len(matches) > 1:
                fields = [name for i, name in enumerate(KEY) if len({each[i] for each in matches}) > 1]
                remedy = f"add {' and '.join(fields)} to the labels"
                remedy += " (generations are counted from 1, or all from 0)" if "generation" in fields else ""
                what = f"{len(matches)} completions have the fields of this label"
                raise InputError(what, where=f"{self.path}, question {one.question!r}", remedy=remedy)
            return dict(zip(KEY, matches[0], strict=True))

        labels: dict[tuple[CompletionKey, str], Label] = {}
        for (_, reviewer), one in self.labels.items():
            fields = find_fields(one)
            score = score_of.get(one.verdict.casefold()) if one.score is None else one.score
            if score is None:
                where = f"{self.path}, question {one.question!r}"
                remedy = f"give a score, or one of the judge's verdicts: {', '.join(choices)}"
                raise InputError(f"a label without score, and the verdict {one.verdict!r}", where=where, remedy=remedy)
            resolved_label = msgspec.structs.replace(one, **fields, score=score)
            labels[resolved_label.completion_key, reviewer] = resolved_label
        sample = [
            one if one.inclusion is None else msgspec.structs.replace(one, **find_fields(one)) for one in self.sample
        ]
        resolved = self._replace(sample=tuple(sample), labels=labels)
        resolved.check_inclusion(keys)
        return resolved

    def check_inclusion(self, keys: Collection[CompletionKey]) -> None:
        """Raise `InputError` if some labels of these completions have an inclusion probability and others have none."""
        inclusion = self.inclusion()
        without = [key for key, _ in self.labels if key in keys and key not in inclusion]
        if inclusion and without:
            what = f"question {without[0][2]!r} has a label without inclusion, and other labels have it"
            remedy = "give each label the probability with which its completion was drawn, or leave it out everywhere"
            raise InputError(what, where=str(self.path), remedy=remedy)

    def warn_of_others(self, keys: Collection[CompletionKey], path: Path | str) -> None:
        """Raise a warning if some labels, which have whole keys, are of none of the completions at a path."""
        others = [key for key, _ in self.labels if key not in keys]
        if others:
            names = [
                f"{name} {value!r}"
                for name, value in zip(KEY, others[0], strict=True)
                if value not in {"", _NO_GENERATION}
            ]
            facts = {"total": len(self.labels), "path": str(path), "names": ", ".join(names)}
            warn(Note("labels-of-others", str(self.path), n=len(others), facts=facts), stacklevel=4)

    def inclusion(self) -> dict[CompletionKey, float]:
        """Return the inclusion probability of each drawn completion, of its own line or of its label."""
        lines = (*self.sample, *self.labels.values())
        return {one.completion_key: one.inclusion for one in lines if one.inclusion is not None}

    def scores(self) -> dict[CompletionKey, float]:
        """Return the mean score that people gave each completion."""
        scores: defaultdict[CompletionKey, list[float]] = defaultdict(list)
        for (key, _), label in self.labels.items():
            if label.score is not None:
                scores[key].append(label.score)
        return {key: float(np.mean(values)) for key, values in scores.items()}

    def agreements(self, *, level: float = 0.95) -> list[LabelAgreement]:
        """Return the agreement of each pair of reviewers that labelled the same completions."""
        reviewers = sorted({reviewer for _, reviewer in self.labels})
        pairs = [(a, b) for i, a in enumerate(reviewers) for b in reviewers[i + 1 :]]
        return [one for pair in pairs if (one := self._agreement(pair, level)) is not None]

    def _agreement(self, pair: tuple[str, str], level: float) -> LabelAgreement | None:
        """Return the agreement of two reviewers; None without a completion that both labelled."""
        first, second = ({key: one.verdict for (key, who), one in self.labels.items() if who == name} for name in pair)
        common = sorted(first.keys() & second.keys())
        if not common:
            return None
        verdicts = [[one[key] for key in common] for one in (first, second)]
        return measure_agreement(*verdicts, reviewers=pair, level=level)


def read_labels(path: Path, *, missing: bool = False, first_generation: int | None = None) -> LabelFile:
    """Read a file of labels.

    Parameters
    ----------
    path
        The file.
    missing
        Whether a file that does not exist is read as one without lines.
    first_generation
        The lowest number of a generation in the table that is labelled; None for run folders, which count from 1.

    Raises
    ------
    InputError
        When it cannot be read, or a line is no label; the message names the line.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        if missing and isinstance(error, FileNotFoundError):
            return LabelFile(path, (), {})
        remedy = "howsure review --random N makes such a file"
        raise InputError(f"cannot be read: {error.strerror}", where=str(path), remedy=remedy) from None
    sample: dict[CompletionKey, Label] = {}
    labels: dict[tuple[CompletionKey, str], Label] = {}
    n_replaced = 0
    lines = list(_read_lines(path, content))
    # A table whose generations are numbered from 0 is read as one from 1, and so are labels.
    is_from_0 = first_generation == 0 or any(one.generation == 0 for _, one in lines)
    for place, line in lines:
        has_generation = is_from_0 and line.generation != _NO_GENERATION
        one = msgspec.structs.replace(line, generation=line.generation + 1) if has_generation else line
        if one.inclusion is not None and not 0 < one.inclusion <= 1:
            remedy = "it is the probability with which the completion was drawn, above 0 and at most 1"
            raise InputError(f"inclusion is {one.inclusion:g}", where=f"{path}, {place}", remedy=remedy)
        if not one.verdict and one.score is None:
            sample[one.completion_key] = one
        elif one.verdict == "undone":
            labels.pop((one.completion_key, one.reviewer), None)
        else:
            verdict = one.verdict or f"{one.score:g}"
            earlier = labels.get((one.completion_key, one.reviewer))
            n_replaced += earlier is not None and not one.reviewer and earlier.verdict != verdict
            labels[one.completion_key, one.reviewer] = msgspec.structs.replace(one, verdict=verdict)
    if n_replaced:
        warn(Note("labels-replaced", str(path), n=n_replaced), stacklevel=3)
    return LabelFile(path, tuple(sample.values()), labels)


def _read_lines(path: Path, content: bytes) -> Iterator[tuple[str, Label]]:
    """Yield the labels of a file of JSON lines or csv, each with its place.

    A last JSON line that a crash cut off is left out.
    """
    remedy = (
        "a label has question and score (or verdict), and benchmark, model, variant, generation and reviewer where "
        "there are several"
    )
    if path.suffix.lower() in _TABLES:
        for place, row in read_rows(path):
            row["score"] = _find_score(row, f"{path}, {place}")
            given = {name: value for name, value in row.items() if name in _FIELDS and value not in {"", None}}
            try:
                yield place, msgspec.convert(given, Label, strict=False)
            except msgspec.ValidationError as error:
                _check_numbers(given, f"{path}, {place}", strict=False)
                raise InputError(f"no label: {error}", where=f"{path}, {place}", remedy=remedy) from None
        return
    decoder = msgspec.json.Decoder(Label)
    lines = content.splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield f"line {number}", decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            is_whole = isinstance(error, msgspec.ValidationError)
            if number == len(lines) and not is_whole:
                continue
            if is_whole and isinstance(fields := msgspec.json.decode(line), dict):
                _check_numbers(fields, f"{path}, line {number}", strict=True)
            raise InputError(f"no label: {error}", where=f"{path}, line {number}", remedy=remedy) from None


def _check_numbers(fields: Mapping[str, object], where: str, *, strict: bool) -> None:
    """Raise `InputError` for the first field that should be a number and is none."""
    for name, (kind, remedy) in _NUMBERS.items():
        if fields.get(name) is not None:
            try:
                msgspec.convert(fields[name], kind, strict=strict)
            except msgspec.ValidationError:
                raise InputError(f"{name} is {fields[name]!r}", where=where, remedy=remedy) from None


def _find_score(row: Mapping[str, Any], where: str) -> Any:
    """Return the score that a person gave in a row of a table; None without one.

    Beside a column `human`, the columns `score` and `label` are not a person's: they may be the judge's.
    """
    named = [name for name in _SCORES if name in row]
    if named == ["label", "score"]:
        remedy = "call the column of people's scores human"
        raise InputError("the columns label and score could both be people's scores", where=where, remedy=remedy)
    value = row[named[0]] if named else None
    value = _TRUTH.get(str(value).strip().casefold(), value)
    try:
        float(value or 0)
    except ValueError:
        what = f"the column {named[0]} has {value!r}, which is no number"
        remedy = "give a score such as 0 or 1, or the judge's word in a column verdict"
        raise InputError(what, where=where, remedy=remedy) from None
    return value


def append_lines(path: Path, lines: Sequence[Label]) -> None:
    """Append lines to a file of labels, durably.

    A last line that a crash cut off is removed first; one that lacks only its line break is completed.

    Raises
    ------
    InputError
        When the file cannot be written.
    """
    try:
        with path.open("a+b") as file:
            file.seek(0)
            content = file.read()
            tail = content[content.rfind(b"\n") + 1 :]
            if tail and not _is_label(tail):
                file.truncate(len(content) - len(tail))
                tail = b""
            file.write(b"\n" * bool(tail) + b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise InputError(what, where=str(path), remedy="name a file with --verdicts") from None


def _is_label(line: bytes) -> bool:
    """Return whether a line is a whole label."""
    try:
        msgspec.json.decode(line, type=Label)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def draw_sample(path: Path, scorer: str, n: int, *, seed: int = 0) -> list[Label]:
    """Draw completions that a judge scored, for people to label, in random order.

    Parameters
    ----------
    path
        The run folder.
    scorer
        The scorer of the judge.
    n
        Number of completions over all models; more where a stratum needs one, at most all.
    seed
        Seed of the draw.

    Raises
    ------
    InputError
        When the judge has scored no completion.
    """
    if find_judge(path, scorer).judge.models is not None:
        remedy = "draw from the scores of a judge of single completions"
        raise InputError(f"{scorer} judges pairs, and labels are of single completions", where=str(path), remedy=remedy)
    strata: defaultdict[tuple[str, str], defaultdict[str, list[Label]]] = defaultdict(lambda: defaultdict(list))
    for row in responses.iterate_rows(scorer_files.stream_rows(path, [*KEY, "score", "answer"], scorer)):
        if row.score is not None and row.answer is not None:
            one = Label(
                benchmark=row.benchmark,
                model=row.model,
                question=row.question,
                variant=row.variant,
                generation=row.generation,
                scorer=scorer,
            )
            kind = f"{row.score:g}" if row.score in {0, 1} else "between"
            strata[f"{one.benchmark}\0{one.model}", kind][one.question].append(one)
    if not strata:
        raise InputError(f"{scorer} has scored no completion", where=str(path), remedy="judge the run first")
    rng = np.random.default_rng([seed, int.from_bytes(hashlib.sha256(scorer.encode()).digest()[:4])])
    sample: list[Label] = []
    models = sorted({model for model, _ in strata})
    for place, model in enumerate(models):
        sizes = {kind: sum(map(len, strata[name, kind].values())) for name, kind in sorted(strata) if name == model}
        of_model = (n + place) // len(models)  # the sum over models is n
        for kind, share in _share_out(sizes, of_model).items():
            sample += _draw_systematically(strata[model, kind], share, rng)
    return [sample[i] for i in rng.permutation(len(sample))]


def _share_out(sizes: dict[str, int], n: int) -> dict[str, int]:
    """Return how many are drawn of each stratum: half by size, half equally, at least one, at most all, n in total."""
    total = sum(sizes.values())
    ideal = {kind: n * (0.5 * size / total + 0.5 / len(sizes)) for kind, size in sizes.items()}
    shares = {kind: min(max(int(share), 1), sizes[kind]) for kind, share in ideal.items()}
    while sum(shares.values()) < min(n, total):
        kind = max((one for one in shares if shares[one] < sizes[one]), key=lambda one: ideal[one] - shares[one])
        shares[kind] += 1
    return shares


def _draw_systematically(questions: dict[str, list[Label]], n: int, rng: np.random.Generator) -> list[Label]:
    """Return n completions of a stratum, spread over its questions, with their inclusion probability."""
    names = list(questions)
    listed = [
        questions[names[i]][j] for i in rng.permutation(len(names)) for j in rng.permutation(len(questions[names[i]]))
    ]
    step = len(listed) / n
    places = np.minimum((rng.random() + np.arange(n)) * step, len(listed) - 1).astype(int)
    return [msgspec.structs.replace(listed[i], inclusion=n / len(listed)) for i in places.tolist()]


def read_tasks(path: Path, sample: Sequence[Label]) -> list[LabelTask]:
    """Return the drawn completions of a run folder with their questions and targets.

    Raises
    ------
    InputError
        When the run does not have all of them.
    """
    texts = read_prompt_texts(path)
    wanted = {one.completion_key for one in sample}
    rows: dict[CompletionKey, tuple[str, str]] = {}
    for row in responses.iterate_rows(responses.stream(path, [*KEY, "completion", "target"])):
        if row.key in wanted:
            rows[row.key] = row.completion or "", row.target or ""
    if missing := [one for one in sample if one.completion_key not in rows]:
        what = f"{len(missing)} of {len(sample)} drawn completions are not in this run, such as {missing[0].question!r}"
        raise InputError(what, where=str(path), remedy="give the run of these labels, or another file with --verdicts")
    tasks = []
    for one in sample:
        completion, target = rows[one.completion_key]
        question, own_target = texts.get((one.benchmark, one.question, one.variant), ("", ""))
        tasks.append(LabelTask(one, question, read_target(target or own_target), completion))
    return tasks
