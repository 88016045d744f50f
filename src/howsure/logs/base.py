"""The base of all log readers: what a reader implements, the rows that it yields, and what all readers share.

A reader is a subclass of `LogReader`. It recognises the files of its program, describes them, and turns their records
into rows with the help of a `RowBuilder`, which numbers the generations, applies `--columns`, parses scores, finds
copies and collects notes. docs/logs.md shows how to add one; most programs need no class, only a file in `specs/`.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Protocol, TypedDict, Unpack

import msgspec

from howsure.errors import InputError, UnknownNameError
from howsure.logs.file_formats import FileHead
from howsure.logs.values import encode_text, get_field, parse_number, parse_score
from howsure.notes import Note
from howsure.store.manifest import LogIdentity, ModelRecord
from howsure.store.schema import UNSCORED, Response

#: Codes of notes that do not hold of the scores that a log's completions are given later.
OF_OWN_SCORES = ("log-several-scorers", "log-scorer-each", "log-first-scored")

#: Largest difference between a mean that a program states, perhaps rounded, and that of its scores.
_TOLERANCE = 6e-4
#: Number of rows whose questions are compared with those of other logs.
N_DIGESTED = 1000


#: Number of questions that are compared, and smallest number with identical texts that is reported.
N_COMPARED, N_FEWEST = 100, 3
#: Largest share of questions with different texts for which the others are still reported.
DIFFERING_SHARE = 0.05
#: Length in characters from which identical texts are evidence of copies; short answers are often equal by chance.
N_LONG = 200


class LogRow(Response, frozen=True, kw_only=True, omit_defaults=False):
    """A generation of a log: a row of the store, and fields that the store keeps in other tables.

    Completion, target, messages and choices are None or empty unless `ReadOptions.texts` is set.
    """

    messages: tuple[dict[str, str], ...] | None = None
    """The prompt: role and content of each message that was sent."""
    choices: tuple[str, ...] = ()
    """The choices of a multiple-choice question, in the order of the prompt."""
    cluster: str | None = None
    """The cluster of the question, where `--columns` maps a field to it."""


class RowFields(TypedDict, total=False):
    """Fields of a `LogRow` that a reader may give to `RowBuilder.row`; see `store.schema.Response`."""

    score: float | None
    status: str
    error: str | None
    answer: str | None
    target: str | None
    messages: tuple[dict[str, str], ...] | None
    choices: tuple[str, ...]
    attempts: int
    prompt_tokens: int | None
    completion_tokens: float | None
    created: float | None
    seconds: float | None
    finish_reason: str | None
    endpoint_model: str | None


class RowKey(NamedTuple):
    """The key of a row, without the number of its generation."""

    benchmark: str
    model: str
    question: str
    variant: str = "default"
    cluster: str | None = None


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options with which a log is read."""

    scorer: str | None = None
    """Name of the score that is read; None for the first one, or the one that the program reports first."""
    texts: bool = False
    """Whether completions, targets and prompts are read, which may be slower."""
    columns: Mapping[str, str] = {}
    """Our names (benchmark, model, question, variant, cluster) to fields of a record of the log, with dots between the
    steps, such as `metadata.passage`. Each reader states what its records are."""
    superseded: frozenset[tuple[str, int]] = frozenset()
    """Samples that are left out because a later log of the run has them too; see `LogReader.list_samples`."""


class LogInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Models, benchmarks and scorers of a log, which can be read quickly."""

    run: str
    """Id of the run, which is equal for two logs of the same run: the id of the program, or a hash."""
    models: dict[str, ModelRecord]
    """Models by label; `kind` is the name of the reader, `settings` are the decoding settings in the log."""
    benchmarks: dict[str, dict[str, object]]
    """Benchmarks by name, with the source that the log states: data set, version, arguments."""
    scorers: tuple[str, ...] = ()
    """Allowed values of `ReadOptions.scorer`, the default first; empty where the only score has no name."""
    created: str = ""
    """When the run was started, as ISO 8601; empty where the log does not state it."""
    conditions: Mapping[str, object] = {}
    """What distinguishes runs of a model beside its decoding settings, by name: arguments of the model, its revision,
    solver, agent, limits or grader. Logs that differ in them hold different models, with the differences in their
    labels; see `logs.settings`."""
    prompts: Mapping[str, object] = {}
    """What may distinguish the prompts of runs, by name: arguments of the task, number of examples."""
    task_id: str = ""
    """Id that the tries of one run share, where a run that was stopped can be continued in another log."""
    is_complete: bool = True
    """Whether the run ended as it should."""
    is_named_by_path: bool = False
    """Whether the only model has the name of the file, which states none: the paths of several logs name them."""

    def identify(self, reader: str) -> LogIdentity:
        """Return what is equal for two logs of the same run; files of one run may hold a benchmark each."""
        benchmarks, models = tuple(sorted(self.benchmarks)), tuple(sorted(self.models))
        return LogIdentity(reader=reader, run=self.run, benchmarks=benchmarks, models=models)


#: A part of a `QuestionDigest`.
DigestPart = Literal["input", "target", "prompt", "completion"]


class QuestionDigest(NamedTuple):
    """Hashes of the texts of a question, which show whether logs mean the same by one id; 0 where one is not known."""

    input: int = 0
    target: int = 0
    prompt: int = 0
    """Of the messages that were sent."""
    completion: int = 0
    """Of the first completion."""
    is_choice: bool = False
    """Whether the target is a letter of choices that are not known, whose order may differ between logs."""

    def get(self, part: DigestPart) -> int:
        """Return the hash of a part; 0 where it is not known."""
        return int(getattr(self, part))

    def differs(self, other: QuestionDigest, part: DigestPart) -> bool:
        """Return whether both know a part, and it differs."""
        one, two = self.get(part), other.get(part)
        return one != two and 0 not in (one, two)

    def is_other_question(self, other: QuestionDigest) -> bool:
        """Return whether the targets differ, and not only because the choices are in another order."""
        if not self.differs(other, "target"):
            return False
        is_same_text = self.input == other.input != 0
        return not (self.is_choice and other.is_choice and is_same_text)


class LogForm(Protocol):
    """What a file may look like; see `spec.Form`."""

    def matches(self, head: FileHead) -> bool:
        """Return whether a file has this form."""


class LogReader(ABC):
    """Reads the logs of one program.

    A subclass implements `describe` and `read`; that of another package sets `name` and implements `recognises` too. An
    instance holds no state.
    """

    name: str
    """Name of the program in messages, such as "Inspect"."""
    forms: Sequence[LogForm] = ()
    """The forms of its files, for programs of `specs/`."""
    has_answers_with_texts: ClassVar[bool] = False
    """Whether a log may keep answers that are read only together with the texts."""

    def recognises(self, head: FileHead) -> bool:
        """Return whether a file or folder is a log of this program, by its content and not by its name."""
        return any(form.matches(head) for form in self.forms)

    def members(self, path: Path) -> Sequence[Path]:
        """Return the logs at a path: the path itself, or, for a file of totals, the files of its samples."""
        return [path]

    @abstractmethod
    def describe(self, path: Path) -> LogInfo:
        """Return models, benchmarks and scorers of the log; raise InputError where it cannot be read."""

    def digest_questions(self, path: Path, options: ReadOptions) -> dict[tuple[str, str, str], QuestionDigest]:
        """Return digests by benchmark, question and variant, of all questions or of those in the first rows.

        They are compared between logs of one benchmark (see `log_names`). Without texts there are keys only.
        """
        digests: dict[tuple[str, str, str], QuestionDigest] = {}
        options = msgspec.structs.replace(options, texts=True, superseded=frozenset())
        for row in islice(self.rows(path, options, lambda _: None), N_DIGESTED):
            key = row.benchmark, row.question, row.variant
            if key not in digests:
                digests[key] = _digest_row(row)
        return digests

    def list_samples(self, path: Path) -> Mapping[tuple[str, int], str]:
        """Return the id of each sample by question and generation, where logs of one run may repeat samples."""
        del path
        return {}

    @abstractmethod
    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield each generation once, in the order of the log, as `build.row` returns it.

        What the log does not contain, or could not be read, is reported to `build.note`; raise InputError where the
        file cannot be read, or holds no record.
        """

    def rows(self, path: Path, options: ReadOptions, note: Callable[[Note], None]) -> Iterator[LogRow]:
        """Yield each generation of one of `members` once; callers use this method, readers implement `read`.

        The function `note` is called after the last row, with each note on what the log does not contain, or could not
        be read.
        """
        build = RowBuilder(path, options)
        yield from self.read(path, build)
        for one in build.notes():
            note(one)


class IdenticalTexts:
    """Collect completions in any order, and report whether all completions of each question are the same text.

    The `N_COMPARED` questions with the smallest hashes are compared. They are a random sample of the log that is the
    same in every reading. For each question, the hash and the length of its first text are stored, the number of its
    texts, and whether one of them was different. A completion that is None is not compared.

    >>> texts = IdenticalTexts()
    >>> for question in "abc":
    ...     for generation in (1, 2):
    ...         texts.add(question, f"It is {question}.")
    >>> texts.describe()
    {'same': 3, 'total': 3, 'cause': ', temperature 0, or answers too short to differ'}
    """

    def __init__(self) -> None:
        #: By hash of the question: hash and length of its first text, number of texts, whether another one was seen.
        self._questions: dict[int, tuple[int, int, int, bool]] = {}
        self._highest: int | None = None
        #: The question of the last text, and the hash of the question.
        self._last: Hashable = None
        self._place = 0

    def add(self, question: Hashable, completion: str | None) -> None:
        """Add one completion; `question` is what its repeats share, such as (model, question, variant)."""
        if completion is None:
            return
        if question != self._last:  # generations of one question are usually consecutive
            self._last, self._place = question, zlib.crc32(repr(question).encode(errors="surrogatepass"))
        place = self._place
        if self._highest is not None and place > self._highest:
            return
        text = hash(completion)
        first, length, n, differs = self._questions.get(place, (text, len(completion), 0, False))
        self._questions[place] = (first, length, n + 1, differs or text != first)
        if len(self._questions) > N_COMPARED:
            # A question that was dropped cannot return, because the largest stored hash only decreases.
            del self._questions[max(self._questions)]
            self._highest = max(self._questions)

    @property
    def is_decided(self) -> bool:
        """Whether so many questions have different texts that nothing will be reported."""
        return sum(differs for *_, differs in self._questions.values()) > DIFFERING_SHARE * N_COMPARED

    def describe(self) -> dict[str, object] | None:
        """Return the facts of the note if nearly every question with several texts has identical texts, else None."""
        repeated = [(length, differs) for _, length, n, differs in self._questions.values() if n > 1]
        lengths = [length for length, differs in repeated if not differs]
        if len(lengths) < N_FEWEST or len(lengths) < (1 - DIFFERING_SHARE) * len(repeated):
            return None
        is_long = sorted(lengths)[len(lengths) // 2] >= N_LONG
        cause = " or temperature 0" if is_long else ", temperature 0, or answers too short to differ"
        return {"same": len(lengths), "total": len(repeated), "cause": cause}


class RowBuilder:
    """Builds the rows of one log and collects its notes.

    Attributes
    ----------
    path
        The log.
    options
        The options with which the log is read.
    texts
        Whether texts are read; if not, a reader need not prepare them.
    n_generations
        Number of generations that `row` has numbered, by (benchmark, model, question, variant).
    identical
        The comparison of texts, to which `row` adds each completion.
    is_named_by_path
        Whether the path gave the label of a model; see `LogInfo`.

    >>> build = RowBuilder(Path("results.jsonl"), ReadOptions())
    >>> [build.row(RowKey("sums", "m", "q1"), score=score).generation for score in (1.0, 0.0)]
    [1, 2]
    """

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path, self.options, self.texts = path, options, options.texts
        self.n_generations: Counter[tuple[str, ...]] = Counter()
        self.identical = IdenticalTexts()
        #: Notes in the order in which they arose, by code and the facts that tell notes of a code apart.
        self._notes: dict[tuple[str, str], Note] = {}
        self._stated_means: list[_StatedMean] = []
        #: The target of each question that was seen first.
        self._targets: dict[tuple[str, str, str], str] = {}
        self._numbers: set[tuple[object, ...]] = set()
        self._renamed: set[tuple[object, ...]] = set()
        self._is_checked = False
        self.is_named_by_path = False
        for name in options.columns:
            if name not in RowKey._fields:
                raise UnknownNameError("column", name, RowKey._fields, where=str(path))

    def note(self, code: str, n: int = 0, **facts: object) -> None:
        """Add a note; the n of notes with the same code and facts are added up, and the first `example` is kept."""
        if "example" in facts:
            facts["example"] = " ".join(str(facts["example"]).split())
        key = code, repr([fact for fact in facts.items() if fact[0] != "example"])
        before = self._notes.get(key)
        if before is None:
            self._notes[key] = Note(code, n=n, facts=facts)
        elif n:
            self._notes[key] = Note(code, n=before.n + n, facts=before.facts)

    def expect_mean(
        self, name: str, value: object, *, benchmark: str = "", variants: Callable[[str], bool] | None = None
    ) -> None:
        """Compare the mean of the rows with a number that the program states, also in percent; called before them.

        `benchmark` and `variants` say of which rows it is the mean; anything but a number is not compared.
        """
        number = None if isinstance(value, str) else parse_number(value)
        if number is not None and not self.options.superseded:
            self._stated_means.append(_StatedMean(name, number, benchmark, variants))

    @property
    def n_stated_means(self) -> int:
        """Number of means that the program states, which are compared with those of the rows."""
        return len(self._stated_means)

    def notes(self) -> list[Note]:
        """Return all notes in the order in which they arose, and last the note on identical texts of generations."""
        for mean in self._stated_means:
            mean.note_difference(self)
        if (facts := self.identical.describe()) is not None:
            self.note("log-copies", 0, **facts)
        return list(self._notes.values())

    def choose_scorer(self, scorers: Sequence[str]) -> str:
        """Return the scorer to read: the one in the options, by its name or a part of it, or the first.

        A part of a name is the text between commas or slashes: "strict-match" of "exact_match,strict-match".
        """
        wanted = self.options.scorer
        if wanted is None and not scorers:
            raise InputError("it has no score that can be read", where=str(self.path), remedy="is the file complete?")
        if wanted is None:
            if len(scorers) > 1:
                others = ", ".join(map(repr, scorers[1:4])) + (", ..." if len(scorers) > 4 else "")
                self.note("log-several-scorers", scorers=len(scorers), scorer=scorers[0], others=others)
            return scorers[0]
        if wanted in scorers:
            return wanted
        matches = [name for name in scorers if wanted in name.replace("/", ",").split(",")]
        if len(matches) != 1:
            raise UnknownNameError("scorer", wanted, scorers, where=str(self.path))
        return matches[0]

    def map_columns(self, key: RowKey, record: Mapping[str, object], *, check: bool = True) -> RowKey:
        """Return the key with the fields of the record that `--columns` maps to our names.

        The first record must have all of these fields, unless `check` is False, for a damaged record. Where a later one
        lacks a field, the key keeps its value.
        """
        for name, field in self.options.columns.items():
            value = get_field(record, field)
            if value is not None:
                key = key._replace(**{name: encode_text(value) or getattr(key, name)})
            elif check and not self._is_checked:
                raise UnknownNameError("field", field, _field_names(record, field), where=str(self.path))
            else:
                self.note("log-no-field", 1, field=field, name=name)
        self._is_checked = self._is_checked or check
        return key

    def score_fields(self, value: object, scorer: str = "") -> RowFields:
        """Return the score that a program wrote; an error where it wrote none, or one that is not a number."""
        try:
            score = parse_score(value)
        except ValueError as error:
            self.note("log-score-no-number", 1, example=str(error)[:120])
            return {"status": "error", "error": f"scoring: {str(error)[:200]}"}
        if score is not None:
            return {"score": score}
        self.note("log-no-score", 1, of=f" of {scorer!r}" if scorer else "")
        return mark_missing("the log has no score here")

    def row(
        self, key: RowKey, *, completion: str | None = None, generation: int | None = None, **fields: Unpack[RowFields]
    ) -> LogRow:
        """Return a row; raise InputError where its question has another target than before.

        A completion and a target are compared with others although no texts are read, and are in the row only then.
        Without its number, a generation gets the next one of its key. If `--columns` makes one question of several, a
        number that is already used is replaced by the next free one.
        """
        if generation is None:
            self.n_generations[key[:4]] += 1
            generation = self.n_generations[key[:4]]
        elif self.options.columns:
            generation = self._find_free_number(key, generation)
        if completion is not None:
            self.identical.add(key[:4], completion)
        if (target := fields.get("target")) is not None:
            self._check_target(key, target)
            if not self.texts:
                fields["target"] = None
        benchmark, model, question, variant, cluster = key
        row = LogRow(
            benchmark=benchmark,
            model=model,
            question=question,
            variant=variant,
            cluster=cluster,
            generation=generation,
            completion=completion if self.texts else None,
            **fields,
        )
        for mean in self._stated_means:
            mean.add(row)
        return row

    def _check_target(self, key: RowKey, target: str) -> None:
        """Raise InputError where a question has another target than before, so that an id stands for two questions."""
        if "question" in self.options.columns:
            return
        before = self._targets.setdefault((key.benchmark, key.question, key.variant), target)
        if before != target and before.split() != target.split():
            one, other = (" ".join(text.split())[:40] for text in (before, target))
            raise InputError(
                f"question {key.question!r} has the targets {one!r} and {other!r}: the id is of two questions",
                where=str(self.path),
                remedy="--columns question=FIELD names a field that tells them apart",
                code="two-targets",
                options=("--columns", "question=FIELD"),
            )

    def _find_free_number(self, key: RowKey, number: int) -> int:
        """Return the number of a generation, or the next one that no other row of the key has."""
        first = number
        while (*key[:4], number) in self._numbers:
            number += 1
        self._numbers.add((*key[:4], number))
        if number != first:
            self.note("log-renumbered", 1)
        return number

    def rename_duplicate(self, key: RowKey) -> RowKey:
        """Return the key, with the question NAME-2, NAME-3, ... where rows of another question have the same name."""
        name, n = key.question, 1
        while key[:4] in self._renamed:
            n += 1
            key = key._replace(question=f"{name}-{n}")
        self._renamed.add(key[:4])
        if n > 1:
            self.note("log-renamed", 1)
        return key


def digest_text(value: object) -> int:
    """Return a hash of a text without regard to spaces; 0 where there is none.

    >>> digest_text("How  many? ") == digest_text("How many?") != 0 == digest_text("")
    True
    """
    text = " ".join((encode_text(value) if value else "").split())
    return hash(text) or 1 if text else 0


def _digest_row(row: LogRow) -> QuestionDigest:
    """Return the digest of the question of a row."""
    messages = list(takewhile(lambda message: message.get("role") != "assistant", row.messages or ()))
    target, place = row.target, ord(row.target or "?") - ord("A") if len(row.target or "") == 1 else -1
    if 0 <= place < len(row.choices):
        target = row.choices[place]
    return QuestionDigest(
        target=digest_text(target), prompt=digest_text(messages), completion=digest_text(row.completion)
    )


def mark_missing(reason: str) -> RowFields:
    """Return the fields of a generation that should have a score and has none.

    It counts as missing, and `howsure rescore` scores its completion. The status `UNSCORED` is for generations that no
    scorer was to score, such as further completions of a request, which are not missing.

    >>> mark_missing("no verdict")
    {'status': 'error', 'error': 'scoring: no verdict'}
    """
    return {"status": "error", "error": f"scoring: {reason}"}


class _StatedMean:
    """A mean that a program states, and the sums of the rows that it is the mean of."""

    def __init__(self, name: str, value: float, benchmark: str, variants: Callable[[str], bool] | None) -> None:
        self._name, self._value, self._benchmark, self._variants = name, value, benchmark, variants
        #: By question: sum of scores, number of scores, number of missing generations.
        self._sums: dict[str, list[float]] = {}

    def add(self, row: LogRow) -> None:
        """Add a row, if it is among those of the mean."""
        if (
            row.status != UNSCORED
            and self._benchmark in ("", row.benchmark)
            and (self._variants is None or self._variants(row.variant))
        ):
            sums = self._sums.setdefault(row.question, [0.0, 0, 0])
            sums[0] += row.score or 0.0
            sums[1 if row.score is not None else 2] += 1

    def note_difference(self, build: RowBuilder) -> None:
        """Add a note if neither the mean of generations nor that of questions is the one stated.

        Where the stated mean counts missing generations as 0, another note says so.
        """
        scored = [sums for sums in self._sums.values() if sums[1]]
        if not scored or self._equals_mean((total, n) for total, n, _ in scored):
            return
        own = sum(total / n for total, n, _ in scored) / len(scored)
        facts = {"name": self._name, "stated": f"{self._value:.4g}", "own": f"{own:.4g}"}
        n_missing = sum(int(missing) for *_, missing in self._sums.values())
        if n_missing and self._equals_mean((total, n + missing) for total, n, missing in self._sums.values()):
            build.note("log-mean-with-missing", n_missing, **facts)
        else:
            build.note("log-mean-differs", 0, **facts)

    def _equals_mean(self, sums: Iterable[tuple[float, float]]) -> bool:
        """Return whether the mean of questions or of generations is the stated one, perhaps rounded or in percent."""
        each = list(sums)
        means = (
            sum(total / n for total, n in each) / len(each),
            sum(total for total, _ in each) / sum(n for _, n in each),
        )
        return any(
            abs(self._value / unit - mean) <= _TOLERANCE * max(1.0, abs(mean)) for mean in means for unit in (1, 100)
        )


def _field_names(record: Mapping[str, object], field: str) -> list[str]:
    """Return the names at the level of a field that does not exist, for the suggestions of an error."""
    parent, dot, _ = field.rpartition(".")
    inside = get_field(record, parent) if dot else None
    return [f"{parent}.{name}" for name in inside] if isinstance(inside, Mapping) else list(record)
