"""What a results file of promptfoo holds: its rows, and what only all of them together say."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import Note
from howsure.readers.logs.file_head import FileHead
from howsure.readers.logs.json_files import read_json, read_json_lines

__all__ = ["Log", "Response", "Result", "Survey", "load", "survey"]

#: `failureReason` of a row whose provider, and not whose answer, failed.
_ERROR = 2
#: The longest label of a prompt that is a variant's name, and characters of the hash that is one otherwise.
_LABEL, _ID = 60, 12


class _Provider(msgspec.Struct, frozen=True):
    id: str = ""
    label: str | None = None


class _Prompt(msgspec.Struct, frozen=True):
    raw: object = ""
    label: str | None = None


class Response(msgspec.Struct, frozen=True, rename="camel"):
    """What the provider gave back; all of it is optional."""

    output: object = None
    cached: object = False
    token_usage: object = None
    finish_reason: object = None


class _Test(msgspec.Struct, frozen=True, rename={"asserts": "assert"}):
    description: str | None = None
    asserts: object = None


class _Grading(msgspec.Struct, frozen=True, rename="camel"):
    component_results: object = None


class Result(msgspec.Struct, rename="camel"):
    """One row: one answer of one provider to one prompt with one test's vars."""

    vars: dict[str, object]
    provider: _Provider | str
    score: object
    success: object = None
    prompt: _Prompt = _Prompt()
    prompt_id: str | None = None
    prompt_idx: int | None = None
    test_idx: int | None = None
    test_case: _Test | None = None
    named_scores: dict[str, object] | None = None
    grading_result: _Grading | None = None
    response: Response | str | None = None
    failure_reason: int | None = None
    error: object = None
    latency_ms: object = None

    @property
    def provider_name(self) -> str:
        """The label that the user gave, or else the id."""
        if isinstance(self.provider, str):
            return self.provider
        return self.provider.label or self.provider.id

    @property
    def prompt_hash(self) -> str:
        """What tells prompts apart."""
        return self.prompt_id or (_hash(self.prompt.label) if self.prompt.label else "default")

    @property
    def output(self) -> str | None:
        """The answer; of one that is no text, its JSON."""
        found = self.response.output if isinstance(self.response, Response) else self.response
        return found if found is None or isinstance(found, str) else msgspec.json.encode(found).decode()

    @property
    def is_cached(self) -> bool:
        """Whether the answer came from promptfoo's cache."""
        return isinstance(self.response, Response) and self.response.cached is True

    @property
    def has_failed(self) -> bool:
        """Whether the provider failed, and not its answer."""
        if self.failure_reason is not None:
            return self.failure_reason == _ERROR
        return bool(self.error) and self.output is None

    @property
    def is_judged(self) -> bool:
        """Whether anything was asserted: promptfoo passes a row without an assertion, whatever it says."""
        graded = self.grading_result is not None and self.grading_result.component_results
        return bool(graded or (self.test_case is not None and self.test_case.asserts) or not self.success)

    @property
    def question(self) -> str:
        """The start of a text that a person knows the test by, and a hash of its vars and description."""
        asked = {name: value for name, value in self.vars.items() if not name.startswith("_") and name != "sessionId"}
        description = self.test_case.description if self.test_case else None
        shown = description or next((value for value in asked.values() if isinstance(value, str)), "")
        key = _hash(msgspec.json.encode([asked, description], order="sorted").decode())[:8]
        return f"{' '.join(shown.split())[:32]} {key}".strip()

    def column(self, place: int) -> Any:
        """What a row that was run again shares with its elder; nothing where promptfoo did not write it."""
        return place if self.test_idx is None else (self.prompt_idx, self.test_idx, self.provider_name)


class _Results(msgspec.Struct):
    results: list[Any]
    timestamp: str = ""


class _Config(msgspec.Struct, frozen=True):
    description: str | None = None
    providers: object = None


class _Options(msgspec.Struct, frozen=True):
    repeat: int | None = None


class _File(msgspec.Struct, rename="camel"):
    results: _Results
    eval_id: str = ""
    config: _Config = _Config()
    runtime_options: _Options | None = None


class Log(NamedTuple):
    """A results file."""

    path: Path
    file: _File | None
    """None of a file with a row per line."""
    benchmark: str

    @property
    def repeats(self) -> int | None:
        """How often each test was run; None where an older version did not write it."""
        return self.file.runtime_options.repeat if self.file and self.file.runtime_options else None

    def results(self, tell: Note) -> Iterator[tuple[Any, Result]]:
        """Records and what is read of them."""
        records = read_json_lines(self.path, dict[str, Any], tell) if self.file is None else self.file.results.results
        bad, first = 0, ""
        for record in records:
            try:
                yield record, msgspec.convert(record, Result)
            except msgspec.ValidationError as error:
                bad, first = bad + 1, first or str(error)[:120]
        if bad:
            tell(f"{bad} rows are no results of promptfoo and are left out; {first}")


class Survey(NamedTuple):
    """What only all rows together say."""

    newest: dict[tuple[int, int], int]
    """Place of the last row of each column and test: a test that was run again is written again."""
    scorers: list[str]
    labels: dict[int | None, dict[str, str]]
    """Model by column of promptfoo's table and provider."""
    variants: dict[str, str]
    """Variant by hash of the prompt."""
    replays: set[str]
    """Providers whose cache holds one answer per prompt and not one per repeat."""


def load(path: Path) -> Log:
    """The file, or of one with a row per line where it is."""
    if "results" not in FileHead(path).keys:
        return Log(path, None, path.stem)
    file = read_json(path, _File)
    return Log(path, file, (file.config.description or path.stem).strip() or path.stem)


def survey(log: Log) -> Survey:
    """A first pass over the rows."""
    newest: dict[Any, int] = {}
    scorers = {"score": None, "success": None}
    columns: dict[int | None, dict[str, str]] = {}
    prompts: dict[str, str] = {}
    cached: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    place = -1
    for place, (_, result) in enumerate(log.results(lambda _: None)):
        newest[result.column(place)] = place
        scorers.update(dict.fromkeys(result.named_scores or ()))
        columns.setdefault(result.prompt_idx, {})[result.provider_name] = result.prompt_hash
        prompts.setdefault(result.prompt_hash, " ".join((result.prompt.label or "").split()))
        if result.is_cached and result.output is not None:
            cached[result.provider_name, result.prompt_hash, result.question].add(result.output)
    if place < 0:
        raise InputError("it holds no result", where=str(log.path), remedy="did the evaluation run?")
    # One answer per prompt in the cache: no cell shows two texts. Newer versions keep one per repeat.
    several = {provider for (provider, *_), texts in cached.items() if len(texts) > 1}
    replays = {provider for provider, *_ in cached} - several
    return Survey(newest, list(scorers), _labels(columns), _variants(prompts), replays)


def _labels(columns: Mapping[int | None, Mapping[str, str]]) -> dict[int | None, dict[str, str]]:
    """Providers' names, told apart where several columns of one name have the same prompt: `name`, `name (2)`."""
    seen: Counter[tuple[str, str]] = Counter()
    labels: dict[int | None, dict[str, str]] = {}
    for index in sorted(columns, key=lambda index: -1 if index is None else index):
        for name, prompt in columns[index].items():
            seen[name, prompt] += 1
            n = seen[name, prompt]
            labels.setdefault(index, {})[name] = f"{name} ({n})" if n > 1 else name
    return labels


def _variants(prompts: Mapping[str, str]) -> dict[str, str]:
    often = Counter(prompts.values())
    return {
        key: label if label and often[label] == 1 and len(label) <= _LABEL else key[:_ID]
        for key, label in prompts.items()
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
