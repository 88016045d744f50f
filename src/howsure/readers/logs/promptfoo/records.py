"""Define the records of a results file of promptfoo, and compute names that depend on all records."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import Note, encode_text
from howsure.readers.logs.file_head import FileHead
from howsure.readers.logs.json_files import read_json, read_json_lines

#: `failureReason` of a row if the provider failed, in contrast to a wrong answer.
_ERROR = 2
#: The longest label of a prompt that names a variant, and the number of characters of the hash that names it otherwise.
_N_LABEL, _N_HASH = 60, 12


class _Provider(msgspec.Struct, frozen=True):
    id: str = ""
    label: str | None = None


class _Prompt(msgspec.Struct, frozen=True):
    raw: object = ""
    label: str | None = None


class ProviderResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The reply of the provider, all of it optional."""

    output: object = None
    cached: object = False
    token_usage: object = None
    finish_reason: object = None


class _Test(msgspec.Struct, frozen=True, rename={"assertions": "assert"}):
    description: str | None = None
    assertions: object = None


class _Grading(msgspec.Struct, frozen=True, rename="camel"):
    component_results: object = None


class PromptfooResult(msgspec.Struct, rename="camel"):
    """A row: the answer of one provider to one prompt with the vars of one test."""

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
    response: ProviderResponse | str | None = None
    failure_reason: int | None = None
    error: object = None
    latency_ms: object = None

    @property
    def provider_name(self) -> str:
        """The label that the user set, or else the id."""
        if isinstance(self.provider, str):
            return self.provider
        return self.provider.label or self.provider.id

    @property
    def prompt_hash(self) -> str:
        """Different for different prompts."""
        return self.prompt_id or (_hash_text(self.prompt.label) if self.prompt.label else "default")

    @property
    def output(self) -> str | None:
        """The answer as a text, or as JSON."""
        output = self.response.output if isinstance(self.response, ProviderResponse) else self.response
        return None if output is None else encode_text(output)

    @property
    def is_cached(self) -> bool:
        """Whether the answer came from promptfoo's cache."""
        return isinstance(self.response, ProviderResponse) and self.response.cached is True

    @property
    def has_failed(self) -> bool:
        """Whether the provider failed, and not its answer."""
        if self.failure_reason is not None:
            return self.failure_reason == _ERROR
        return bool(self.error) and self.output is None

    @property
    def is_judged(self) -> bool:
        """Whether it has an assertion: promptfoo passes a row without one, whatever the answer is."""
        graded = self.grading_result is not None and self.grading_result.component_results
        return bool(graded or (self.test_case is not None and self.test_case.assertions) or not self.success)

    @property
    def question(self) -> str:
        """The start of a text by which a person recognises the test, and a hash of its vars and description."""
        own_vars = {
            name: value for name, value in self.vars.items() if not name.startswith("_") and name != "sessionId"
        }
        description = self.test_case.description if self.test_case else None
        text = description or next((value for value in own_vars.values() if isinstance(value, str)), "")
        key = _hash_text(msgspec.json.encode([own_vars, description], order="sorted").decode())[:8]
        return f"{' '.join(text.split())[:32]} {key}".strip()

    def identify(self, place: int) -> int | tuple[int | None, int, str]:
        """Return the key that a row shares with an earlier run of the same row; its place if it has no key."""
        return place if self.test_idx is None else (self.prompt_idx, self.test_idx, self.provider_name)


class _Results(msgspec.Struct):
    results: list[Any]
    timestamp: str = ""


class _Config(msgspec.Struct, frozen=True):
    description: str | None = None
    providers: object = None


class _Options(msgspec.Struct, frozen=True):
    repeat: int | None = None


class _Content(msgspec.Struct, rename="camel"):
    results: _Results
    eval_id: str = ""
    config: _Config = _Config()
    runtime_options: _Options | None = None


class ResultsFile(NamedTuple):
    """An opened results file."""

    path: Path
    file: _Content | None
    """None for a file with a row per line."""
    benchmark: str

    @property
    def repeats(self) -> int | None:
        """How often each test was run; None where an older version did not write it."""
        return self.file.runtime_options.repeat if self.file and self.file.runtime_options else None

    def read(self, note: Note) -> Iterator[tuple[Mapping[str, object], PromptfooResult]]:
        """Yield the rows, each as its record and as what is read of it."""
        records = read_json_lines(self.path, dict[str, Any], note) if self.file is None else self.file.results.results
        n_left_out, first = 0, ""
        for record in records:
            try:
                yield record, msgspec.convert(record, PromptfooResult)
            except msgspec.ValidationError as error:
                n_left_out, first = n_left_out + 1, first or str(error)[:120]
        if n_left_out:
            note(f"{n_left_out} rows are no results of promptfoo and are left out; {first}")


def open_results(path: Path) -> ResultsFile:
    """Open a results file, or one with a row per line.

    Raises
    ------
    InputError
        When it cannot be read.
    """
    if "results" not in FileHead(path).keys:
        return ResultsFile(path, None, path.stem)
    file = read_json(path, _Content)
    return ResultsFile(path, file, (file.config.description or path.stem).strip() or path.stem)


class ResultSurvey:
    """The result of a first pass over the rows.

    Attributes
    ----------
    last
        Place of the last row by `Result.identify`: the row of a test that was run again is written again.
    scorers
        Names of the scores.
    labels
        Label of the model by column of promptfoo's table and name of the provider.
    variants
        Variant by hash of the prompt.
    replaying
        Providers whose cache holds one answer per prompt and not one per repeat.
    """

    def __init__(self, results: ResultsFile) -> None:
        self.last: dict[Any, int] = {}
        scorers = {"score": None, "success": None}
        columns: dict[int | None, dict[str, str]] = {}
        prompts: dict[str, str] = {}
        cached: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        for place, (_, result) in enumerate(results.read(lambda _: None)):
            self.last[result.identify(place)] = place
            scorers.update(dict.fromkeys(result.named_scores or ()))
            columns.setdefault(result.prompt_idx, {})[result.provider_name] = result.prompt_hash
            prompts.setdefault(result.prompt_hash, " ".join((result.prompt.label or "").split()))
            if result.is_cached and result.output is not None:
                cached[result.provider_name, result.prompt_hash, result.question].add(result.output)
        if not self.last:
            raise InputError("it holds no result", where=str(results.path), remedy="did the evaluation run?")
        self.scorers = list(scorers)
        self.labels = _label_providers(columns)
        self.variants = _name_variants(prompts)
        # A cache of one answer per prompt never has two texts for a cell. Newer versions cache one per repeat.
        several = {provider for (provider, *_), texts in cached.items() if len(texts) > 1}
        self.replaying = {provider for provider, *_ in cached} - several


def _label_providers(columns: Mapping[int | None, Mapping[str, str]]) -> dict[int | None, dict[str, str]]:
    """Return labels of providers; where columns of one name have the same prompt they are `name`, `name (2)`."""
    n_columns: Counter[tuple[str, str]] = Counter()
    labels: dict[int | None, dict[str, str]] = {}
    for index in sorted(columns, key=lambda index: -1 if index is None else index):
        for name, prompt in columns[index].items():
            n_columns[name, prompt] += 1
            n = n_columns[name, prompt]
            labels.setdefault(index, {})[name] = f"{name} ({n})" if n > 1 else name
    return labels


def _name_variants(prompts: Mapping[str, str]) -> dict[str, str]:
    """Return the names of variants by hash of the prompt: a short label that no other prompt has, or the hash."""
    n_labels = Counter(prompts.values())
    return {
        key: label if label and n_labels[label] == 1 and len(label) <= _N_LABEL else key[:_N_HASH]
        for key, label in prompts.items()
    }


def _hash_text(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
