"""Read simple-evals' `*_allresults.json`: a list of examples times repeats, without ids of the questions.

The score of an example is in its metadata or, for most benchmarks, only in the HTML page made of it, under the heading
"Results". The heading occurs once in a page, because texts of models and data are escaped. The mean of the scores is
compared with the mean that the file states. A question is the hash of its prompt without system messages and without
the order of its choices, so that repeats and models agree on it; examples of one question are generations, in the order
of the file.

The record of `--columns` is an example: `metadata` as its benchmark wrote it, `convo`, and `index`.
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
from howsure.logs.base import (
    COUNTED_AS_WRONG,
    LogInfo,
    LogReader,
    LogRow,
    PromptFields,
    RowBuilder,
    RowKey,
    ScoreFields,
    encode_text,
    get_field,
)
from howsure.logs.file_formats import FileHead, open_file, read_json
from howsure.safe_text import inflect_text
from howsure.store.manifest import ModelRecord

#: EVAL_MODEL[_DATE][_DEBUG][_allresults], where healthbench has subsets.
_FILE_NAME = re.compile(
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
#: The text that its samplers return instead of an answer when the endpoint refuses the request.
_REFUSED = "No response (bad request)."
#: Names under which benchmarks keep the id of a question.
_IDS = ("prompt_id", "question_id", "example_id", "id")


class _Turn(msgspec.Struct):
    role: Any = None
    content: Any = None


class _Metadata(msgspec.Struct):
    example_level_metadata: list[Any] | None = None


class _Results(msgspec.Struct):
    htmls: list[str | None]
    score: Any = None
    convos: list[list[_Turn] | None] | None = None
    metadata: _Metadata | None = None


class _Example:
    """One generation: its place in the file, its page, conversation and metadata, and fields derived from them."""

    def __init__(self, index: int, page: str | None, convo: list[_Turn] | None, metadata: Any) -> None:
        self.index, self.page, self.convo, self.metadata = index, page, convo, metadata
        turns = [(_text_of(turn.role), _text_of(turn.content)) for turn in (convo or [])[:-1]]
        #: Role and text of the turns before the completion.
        self.turns = turns
        #: The same without system messages.
        self.prompt = [turn for turn in turns if turn[0] not in ("system", "developer")]
        self.completion = _text_of(convo[-1].content) if convo else None
        self.choices = _parse_choices(self.prompt)
        self.question = self._identify_question()
        #: Hash of the prompt, which differs for prompts that have the same choices in another order.
        self.prompt_hash = _hash_turns(self.prompt)

    def _identify_question(self) -> str:
        """Return the benchmark's own id, or a hash of the prompt."""
        if isinstance(self.metadata, dict):
            for name in _IDS:
                if isinstance(self.metadata.get(name), (str, int)):
                    return str(self.metadata[name])
        if not self.prompt:
            return str(self.index)
        *before, (role, text) = self.prompt
        if self.choices:
            # A choice may have several lines; whatever the order of the choices, the prompt has the same lines.
            text = "\n".join(sorted(_LETTER.sub("", line) for line in text.split("\n")))
        return _hash_turns([*before, (role, text)])


class _FileName(NamedTuple):
    benchmark: str
    model: str
    created: str
    is_complete: bool


class SimpleEvalsReader(LogReader):
    """Reads the results of simple-evals, one row for each example."""

    name = "simple-evals"

    def recognises(self, head: FileHead) -> bool:
        """Return whether it has the keys before `convos`, which may come after very long pages."""
        return head.kind == "json" and {"score", "metrics", "htmls"} <= head.keys

    def describe(self, path: Path) -> LogInfo:
        """Return benchmark, model and date from the file's name, since nothing inside states them."""
        digest = hashlib.sha256()
        try:
            with open_file(path) as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
        except (OSError, EOFError) as error:
            raise InputError(f"cannot be read: {error}", where=str(path), remedy="is the file complete?") from error
        name = _parse_name(path)
        return LogInfo(
            run=digest.hexdigest()[:16],
            models={name.model: ModelRecord(name=name.model, kind=self.name)},
            benchmarks={name.benchmark: {}},
            created=name.created,
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield one row for each example."""
        if build.options.scorer is not None:
            build.choose_scorer(())
        results, name = read_json(path, _Results), _parse_name(path)
        examples = _list_examples(results, path)
        if not name.is_complete:
            build.note(
                "only a name such as EVAL_MODEL_DATE_allresults.json states what was run: taken as "
                f"{name.benchmark!r} by {name.model!r}"
            )
        prompts = defaultdict(set)
        for example in examples:
            prompts[example.question].add(example.prompt_hash)
        reordered = {question for question, hashes in prompts.items() if len(hashes) > 1}
        scores: list[float] = []
        for example in examples:
            key = RowKey(name.benchmark, name.model, example.question)
            if build.options.columns:
                convo = msgspec.to_builtins(example.convo)
                key = build.map_columns(key, {"index": example.index, "metadata": example.metadata, "convo": convo})
            match = _RESULTS.search(example.page or "")
            target, answer = _unescape(match, "target"), _unescape(match, "answer")
            score = _score_example(example, match, build, scores)
            if score.get("score") is not None and match and match["answer"] == "None":
                score["status"] = "unparsed"
            if example.question in reordered:
                # The choices are in another order in each prompt, so a letter has no fixed meaning.
                target, answer = example.choices.get(target or "", target), example.choices.get(answer or "", answer)
            yield build.row(
                key,
                completion=example.completion,
                answer=answer,
                **score,
                **(_prompt_fields(example, target) if build.texts else PromptFields()),
            )
        _note_counts(build, name.benchmark, results.score, scores)
        if reordered:
            build.note(
                f"the choices of {len(reordered)} "
                f"{inflect_text('[question|questions]', len(reordered))} are in another "
                "order each time: that noise is part of the noise between generations"
            )


def _list_examples(results: _Results, path: Path) -> list[_Example]:
    """Return the examples of the lists in the file, which must have one length."""
    pages = results.htmls
    convos = results.convos if results.convos is not None else [None] * len(pages)
    metadata = results.metadata.example_level_metadata if results.metadata else None
    if not pages:
        # Completions that were sampled to be graded later have no pages.
        pages = [None] * len(convos)
    metadata = metadata or [None] * len(pages)
    if not pages:
        raise InputError("it holds no example", where=str(path))
    if not len(pages) == len(convos) == len(metadata):
        what = (
            f"{len(pages)} pages, {len(convos)} conversations and metadata of {len(metadata)} examples do not fit "
            "together"
        )
        raise InputError(what, where=str(path), remedy="is the file as simple-evals wrote it?")
    return [_Example(*each) for each in zip(range(len(pages)), pages, convos, metadata, strict=True)]


def _parse_name(path: Path) -> _FileName:
    """Return what the name of the file states; the model is the whole name where it has another form."""
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    match = _FILE_NAME.fullmatch(stem)
    if match is None:
        return _FileName(SimpleEvalsReader.name, stem, "", is_complete=False)
    date, time = match["date"], match["time"]
    created = f"{date[:4]}-{date[4:6]}-{date[6:]}T{time[:2]}:{time[2:4]}:{time[4:]}" if date else ""
    return _FileName(match["eval"], match["model"], created, is_complete=stem.endswith("_allresults"))


def _score_example(
    example: _Example, match: re.Match[str] | None, build: RowBuilder, scores: list[float]
) -> ScoreFields:
    """Return the score of the metadata or else of the page, and add it to `scores`."""
    value = get_field(example.metadata, "score")
    if value is None and match:
        value = html.unescape(match["score"]).strip()
    fields = build.score_fields(None if value == "None" else value)
    build.count("[example holds|examples hold] a completion and no score", value in (None, "None"))
    if (score := fields.get("score")) is not None:
        scores.append(score)
        if example.completion == _REFUSED:
            build.count(f"[error|errors] that the harness {COUNTED_AS_WRONG}")
            return {"status": "error", "error": "bad_request: the endpoint refused the request"}
    return fields


def _note_counts(build: RowBuilder, benchmark: str, total: Any, scores: Sequence[float]) -> None:
    """Note questions with an unusual number of generations, and a mean that is not the file's own."""
    sizes = Counter(build.n_generations.values())
    if len(sizes) > 1:
        (usual, n), n_questions = sizes.most_common(1)[0], sizes.total()
        of = inflect_text(f"{usual} [generation|generations]", usual)
        build.note(f"{n_questions - n} of {n_questions} questions have other than {of}: equal prompts are one question")
    if not isinstance(total, (int, float)) or not scores:
        return
    mean = sum(scores) / len(scores)
    # Healthbench clips its mean to 0 and 1.
    is_clipped = benchmark.startswith("healthbench") and total in (0, 1)
    if abs(total - mean) > 1e-9 and not is_clipped:
        build.note(
            f"the file states a score of {total:.6g}, and its examples have a mean of {mean:.6g}: some are damaged"
        )


def _prompt_fields(example: _Example, target: str | None) -> PromptFields:
    """Return target, choices and messages."""
    messages = tuple({"role": role, "content": text} for role, text in example.turns)
    return {
        "target": target,
        "messages": messages if example.convo is not None else None,
        "choices": tuple(example.choices.values()),
    }


def _hash_turns(turns: Sequence[tuple[str, str]]) -> str:
    """Return a hash of roles and texts."""
    return hashlib.sha256(msgspec.json.encode(turns)).hexdigest()[:12]


def _parse_choices(turns: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the texts of the choices by their letters, in the order of the prompt."""
    matches = (_CHOICE.fullmatch(line) for line in (turns[-1][1].split("\n") if turns else ()))
    return {match[1]: match[2] for match in matches if match}


def _unescape(match: re.Match[str] | None, name: str) -> str | None:
    """Return a field of the page; None where Python's None was written."""
    value = match[name] if match else None
    return None if value is None or value == "None" else html.unescape(value)


def _text_of(value: object) -> str:
    """Return a text, empty for None, and any other value as JSON."""
    return "" if value is None else encode_text(value)
