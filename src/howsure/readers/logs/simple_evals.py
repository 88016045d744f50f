"""OpenAI's simple-evals: `*_allresults.json`, one list of examples x repeats without ids of the questions.

An example's own score is in its metadata or, for most benchmarks, only in the page made of it, under the heading
"Results", which stands once: what models and data wrote above it was escaped. The mean of the scores that were read is
checked against the file's own. A question is the hash of its prompt without system messages and without the order of
its choices, so that repeats and models meet; equal prompts are generations in the order of the file.

Dots of `--columns` start at an example: `metadata` as its benchmark wrote it, `convo`, and `index`.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import (
    UNSCORED,
    LogInfo,
    LogRow,
    MappedColumns,
    Note,
    ReadOptions,
    choose_scorer,
    get_field,
    parse_score,
)
from howsure.readers.logs.copies import Copies
from howsure.readers.logs.file_head import FileHead, open_file
from howsure.readers.logs.json_files import read_json
from howsure.store.manifest import Model

__all__ = ["NAME", "describe", "members", "recognises", "rows"]

NAME = "simple-evals"

#: eval_model[_date][_DEBUG][_allresults], where healthbench has subsets.
_NAME = re.compile(
    r"(?P<eval>healthbench_(?:hard|consensus|meta)|[^_]+)_(?P<model>.+?)(?:_(?P<date>\d{8})_(?P<time>\d{6}))?"
    r"(?:_DEBUG)?(?:_allresults)?"
)
_RESULTS = re.compile(
    r"<h3>Results</h3>\s*(?:<p>Correct Answer: (?P<target>.*?)</p>\s*)?<p>Extracted Answer: (?P<answer>.*?)</p>\s*"
    r"<p>Score: (?P<score>[^<]*)</p>",
    re.DOTALL,
)
_CHOICE = re.compile(r"([A-Z])[).] (.*)")
_LETTER = re.compile(r"^[A-Z][).] ")
#: What its samplers return in place of an answer when the endpoint refuses the request.
_REFUSED = "No response (bad request)."
#: Names under which benchmarks keep a question's own id.
_IDS = ("prompt_id", "question_id", "example_id", "id")


class _Turn(msgspec.Struct):
    role: Any = None
    content: Any = None


class _Metadata(msgspec.Struct):
    example_level_metadata: list[Any] | None = None


class _File(msgspec.Struct):
    htmls: list[str | None]
    score: Any = None
    metrics: Any = None
    convos: list[list[_Turn] | None] | None = None
    metadata: _Metadata | None = None


class _Example(NamedTuple):
    """One generation, as the file holds it."""

    at: int
    page: str | None
    convo: list[_Turn] | None
    metadata: Any


def recognises(head: FileHead) -> bool:
    """By its keys; `convos`, which follows what may be very long, is not waited for."""
    return head.kind == "json" and {"score", "metrics", "htmls"} <= head.keys


def members(path: Path) -> Sequence[Path]:
    """The file itself."""
    return [path]


def describe(path: Path) -> LogInfo:
    """Who and what, from the file's name: nothing inside says it."""
    with open_file(path) as file:
        try:
            run = hashlib.file_digest(file, "sha256").hexdigest()[:16]  # type: ignore[arg-type]  # as read by opened
        except (OSError, EOFError) as error:
            raise InputError(f"cannot be read: {error}", where=str(path), remedy="is the file whole?") from error
    named = _named(path)
    return LogInfo(
        run=run,
        models={named.model: Model(name=named.model, kind=NAME)},
        benchmarks={named.benchmark: {}},
        created=named.created,
    )


def rows(path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
    """A row per example.

    Raises
    ------
    InputError
        When the file cannot be read, holds no example, or its lists differ in length.
    """
    if asked.scorer is not None:
        choose_scorer((), asked.scorer, where=str(path), tell=tell)
    file, named = read_json(path, _File), _named(path)
    examples = _examples(file, path)
    if named.is_guessed:
        tell(
            f"only a name such as EVAL_MODEL_DATE_allresults.json says what was run: taken as {named.benchmark!r} by "
            f"{named.model!r}"
        )
    reading = _Reading(named, asked, str(path), examples)
    for example in examples:
        yield reading.row(example)
    for text in reading.told(file.score):
        tell(text)


def _examples(file: _File, path: Path) -> list[_Example]:
    n = len(file.htmls)
    metadata = (file.metadata.example_level_metadata if file.metadata else None) or [None] * n
    convos = file.convos if file.convos is not None else [None] * n
    if not n and convos:  # completions that were sampled for a later grading
        n, metadata = len(convos), metadata or [None] * len(convos)
        file.htmls = [None] * n
    if not n:
        raise InputError("it holds no example", where=str(path))
    if not n == len(convos) == len(metadata):
        what = f"{n} pages, {len(convos)} conversations and metadata of {len(metadata)} examples do not fit together"
        raise InputError(what, where=str(path), remedy="is the file as simple-evals wrote it?")
    return [_Example(*each) for each in zip(range(n), file.htmls, convos, metadata, strict=True)]


class _Named(NamedTuple):
    benchmark: str
    model: str
    created: str
    is_guessed: bool


def _named(path: Path) -> _Named:
    """What the file's name says, or the name for all of it."""
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    found = _NAME.fullmatch(stem)
    if found is None:
        return _Named(NAME, stem, "", is_guessed=True)
    date, time = found["date"], found["time"]
    created = f"{date[:4]}-{date[4:6]}-{date[6:]}T{time[:2]}:{time[2:4]}:{time[4:]}" if date else ""
    return _Named(found["eval"], found["model"], created, is_guessed=not stem.endswith("_allresults"))


class _Reading:
    """Examples to rows, and what is to be told in the end."""

    def __init__(self, named: _Named, asked: ReadOptions, where: str, examples: list[_Example]) -> None:
        self._named, self._texts = named, asked.texts
        self._mapped = MappedColumns(asked.columns, where=where)
        self._questions = [_question(example) for example in examples]
        prompts = defaultdict(set)
        for question, example in zip(self._questions, examples, strict=True):
            prompts[question].add(_hash(_asked(example.convo)))
        self._reordered = {question for question, orders in prompts.items() if len(orders) > 1}
        self._generations: Counter[tuple[str, ...]] = Counter()
        self._copies = Copies()
        self._count: Counter[str] = Counter()
        self._scores: list[float] = []
        self._fault = ""

    def row(self, example: _Example) -> LogRow:
        """One example."""
        keys: dict[str, Any] = {
            "benchmark": self._named.benchmark,
            "model": self._named.model,
            "question": self._questions[example.at],
            "variant": "default",
            "cluster": None,
        }
        if self._mapped:
            record = {"index": example.at, "metadata": example.metadata, "convo": msgspec.to_builtins(example.convo)}
            keys = {name: self._mapped.of(record, name) or value for name, value in keys.items()}
        key = tuple(str(keys[name]) for name in ("benchmark", "model", "question", "variant"))
        self._generations[key] += 1
        completion = _completion(example.convo)
        self._copies.add(key, completion)
        choices = _choices(_asked(example.convo))
        found = _RESULTS.search(example.page or "")
        target, answer = (_said(found, name) for name in ("target", "answer"))
        made = self._score(example, found, completion)
        if made.get("score") is not None and answer is None and found and found["answer"] == "None":
            made["status"] = "unparsed"
        if self._questions[example.at] in self._reordered:
            # The letter means another text each time.
            target, answer = choices.get(target or "", target), choices.get(answer or "", answer)
        return LogRow(
            **keys,
            **made,
            generation=self._generations[key],
            answer=answer,
            completion=completion if self._texts else None,
            target=target if self._texts else None,
            messages=_messages(example.convo) if self._texts else None,
            choices=tuple(choices.values()) if self._texts else (),
        )

    def _score(self, example: _Example, found: re.Match[str] | None, completion: str | None) -> dict[str, Any]:
        own = get_field(example.metadata, "score")
        value = own if own is not None else html.unescape(found["score"]).strip() if found else None
        try:
            score = parse_score(None if value == "None" else value)
        except ValueError as error:
            self._count["unreadable"] += 1
            self._fault = self._fault or str(error)[:80]
            return {"status": "error", "error": f"scoring: {str(error)[:200]}"}
        if score is None:
            self._count["unscored"] += 1
            return {"status": UNSCORED}
        self._scores.append(score)
        if completion == _REFUSED:
            self._count["refused"] += 1
            return {"status": "error", "error": "bad_request: the endpoint refused the request"}
        return {"score": score}

    def told(self, said: Any) -> Iterator[str]:
        """What the file cannot say, and what was left out."""
        for name, text in _TOLD.items():
            if self._count[name]:
                yield text.format(self._count[name], self._fault)
        times = Counter(self._generations.values())
        if len(times) > 1:
            (most, n), rare = times.most_common(1)[0], times.total()
            yield f"{rare - n} of {rare} questions have other than {most} generations: equal prompts are one question"
        if self._reordered:
            yield (
                f"the choices of {len(self._reordered)} questions are in another order each time: that noise is part "
                "of the noise between generations"
            )
        yield from filter(None, (self._difference(said), self._copies.told()))

    def _difference(self, said: Any) -> str | None:
        """The file's own score against the mean of those that were read; healthbench clips its mean to 0 and 1."""
        if not isinstance(said, (int, float)) or not self._scores:
            return None
        mean = sum(self._scores) / len(self._scores)
        if abs(said - mean) <= 1e-9 or (self._named.benchmark.startswith("healthbench") and said in (0, 1)):
            return None
        return f"the file says a score of {said:.6g}, and its examples have a mean of {mean:.6g}: some are damaged"


#: What was counted, and how it is told; the second is the first fault.
_TOLD = {
    "unreadable": "{} scores are no numbers: {}",
    "unscored": "{} examples hold a completion and no score",
    "refused": "{} errors that the harness counted as wrong are missing here; --missing as-zero counts them as 0",
}


def _question(example: _Example) -> str:
    """The benchmark's own id, or a hash of what was asked."""
    if isinstance(example.metadata, dict):
        for name in _IDS:
            if isinstance(example.metadata.get(name), (str, int)):
                return str(example.metadata[name])
    turns = _asked(example.convo)
    if not turns:
        return str(example.at)
    *before, (role, text) = turns
    if _choices(turns):
        # Choices may have several lines; whatever their order, the prompt has the same lines.
        text = "\n".join(sorted(_LETTER.sub("", line) for line in text.split("\n")))
    return _hash([*before, (role, text)])


def _hash(turns: Sequence[tuple[str, str]]) -> str:
    return hashlib.sha256(msgspec.json.encode(turns)).hexdigest()[:12]


def _asked(convo: list[_Turn] | None) -> list[tuple[str, str]]:
    """The turns before the completion, without what the system says."""
    turns = [(_text(turn.role), _text(turn.content)) for turn in (convo or [])[:-1]]
    return [turn for turn in turns if turn[0] not in ("system", "developer")]


def _completion(convo: list[_Turn] | None) -> str | None:
    return _text(convo[-1].content) if convo else None


def _messages(convo: list[_Turn] | None) -> tuple[dict[str, str], ...] | None:
    if convo is None:
        return None
    return tuple({"role": _text(turn.role), "content": _text(turn.content)} for turn in convo[:-1])


def _choices(turns: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Texts by their letters, in the order shown."""
    found = (_CHOICE.fullmatch(line) for line in (turns[-1][1].split("\n") if turns else ()))
    return {match[1]: match[2] for match in found if match}


def _said(found: re.Match[str] | None, name: str) -> str | None:
    """A field of the page; Python's None is none."""
    value = found[name] if found else None
    return None if value is None or value == "None" else html.unescape(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else msgspec.json.encode(value).decode()
