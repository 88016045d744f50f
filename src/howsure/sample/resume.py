"""Find the generations that a run still needs: read which cells a folder has, and order the missing ones.

A cell is one generation of one question under one prompt variant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.benchmarks.question import Question
from howsure.sample.snapshot import Tally
from howsure.store import responses
from howsure.store.row_blocks import find_valid, to_numpy
from howsure.store.schema import UNSCORED

if TYPE_CHECKING:
    import pyarrow as pa

#: Reason of a row whose request failed to the end while no other succeeded: the next session sends it again.
OUTAGE = "outage"
#: The largest generation number that is used; each cell takes one bit of memory for each smaller number.
MOST = 1 << 17


class PromptTask(NamedTuple):
    """Generations of one prompt that one model has to sample.

    Examples
    --------
    >>> PromptTask(question=0, variant=0, generations=(2, 3)).generations
    (2, 3)
    """

    question: int
    """Index among the questions of the run."""
    variant: int
    """Index among the variants of the run."""
    generations: tuple[int, ...]


class MissingCells(NamedTuple):
    """The missing cells of one model, and their number."""

    wanted: int
    """Number of all generations, stored or missing."""
    there: int
    """Number of those generations that need not be sampled."""
    masks: dict[tuple[str, str], int]
    """Maps (question, variant) to the stored generations (bit g is generation g); without pairs that have none."""
    failed: int = 0
    """Number of stored generations that failed and are not tried again."""
    outage: int = 0
    """Number of missing generations that have a row, because they failed while the endpoint did not answer."""
    questions_of: Mapping[str, AbstractSet[str]] = {}
    """Maps a variant to the questions that it asks; a variant that is not in it asks all of them."""

    def tasks(
        self, questions: Sequence[str], variants: Sequence[str], generations: int, *, first: int = 1
    ) -> Iterator[PromptTask]:
        """Yield the missing generations question by question, all variants of a question together.

        Parameters
        ----------
        generations, first
            Only generations with numbers from `first` to `generations` are returned.
        """
        all_generations = tuple(range(first, generations + 1))
        for i, question in enumerate(questions):
            for j, variant in enumerate(variants):
                if variant in self.questions_of and question not in self.questions_of[variant]:
                    continue
                mask = self.masks.get((question, variant), 0)
                missing = tuple(g for g in all_generations if not mask >> g & 1) if mask else all_generations
                if missing:
                    yield PromptTask(i, j, missing)


def find_missing_cells(
    questions: Sequence[str],
    variants: Sequence[str],
    generations: int,
    present: Mapping[tuple[str, str], int],
    failed: Mapping[tuple[str, str], int] | None = None,
    *,
    retry: bool = False,
    is_even: bool = True,
    outage: Mapping[tuple[str, str], int] | None = None,
    questions_of: Mapping[str, AbstractSet[str]] | None = None,
) -> MissingCells:
    """Return the cells that are missing if `present` is stored; stored cells that are not needed stay as they are.

    Parameters
    ----------
    present, failed
        Map (question, variant) to the stored generations, and to those that failed; bit g is generation g.
    retry
        Whether failed generations are sampled again.
    outage
        Maps (question, variant) to those of the failed ones that are sampled again in any case.
    is_even
        Whether every question gets equally many; if not, `generations` is their mean, and each stored one counts.
    questions_of
        Maps a variant to the questions that it asks; a variant that is not in it asks all of them.

    >>> list(find_missing_cells(["q"], ["v", "w"], 2, {("q", "v"): 0b10000010}).tasks(["q"], ["v", "w"], 2))
    [PromptTask(question=0, variant=0, generations=(2,)), PromptTask(question=0, variant=1, generations=(1, 2))]
    """
    question_set, of_variant = set(questions), questions_of or {}
    questions_by_variant = {
        variant: question_set & of_variant[variant] if variant in of_variant else question_set for variant in variants
    }
    wanted = (1 << generations + 1) - 2 if is_even else -2
    masks = {key: mask for key, mask in present.items() if key[0] in questions_by_variant.get(key[1], ())}
    failed_masks = {key: mask for key, mask in (failed or {}).items() if key in masks}
    again = {key: mask for key, mask in (outage or {}).items() if key in masks}
    if again:
        masks = {key: mask & ~again.get(key, 0) for key, mask in masks.items()}
        failed_masks = {key: mask & ~again.get(key, 0) for key, mask in failed_masks.items()}
    if retry:
        masks = {key: mask & ~failed_masks.get(key, 0) for key, mask in masks.items()}
        failed_masks = {}
    there, n_failed, n_outage = (
        sum((mask & wanted).bit_count() for mask in each.values()) for each in (masks, failed_masks, again)
    )
    n_prompts = sum(map(len, questions_by_variant.values()))
    return MissingCells(n_prompts * generations, there, masks, n_failed, n_outage, of_variant)


def order_key(question: str, *, seed: int) -> bytes:
    """Return the sort key of a question id in the seeded random order in which questions are sampled."""
    return hashlib.blake2b(f"{seed}\0{question}".encode(), digest_size=16).digest()


def sample_questions(
    questions: Sequence[Question], *, seed: int, limit: int | None = None, shard: tuple[int, int] = (1, 1)
) -> list[Question]:
    """Return the first `limit` questions of a seeded random order, or the i-th of n shards of these.

    So a run that stops early has a random sample of the questions. The place of a question depends only on the seed and
    its id, so a larger limit adds questions and drops none. Every shard (i, n) is a random sample too, and the shards
    together contain all questions.
    """
    i, n = shard
    return sorted(questions, key=lambda question: order_key(question.id, seed=seed))[:limit][i - 1 :: n]


class StoredCells(NamedTuple):
    """The cells of one model in a run folder, and their cost.

    Examples
    --------
    >>> stored = StoredCells({("q1", "default"): 3}, {}, 1, 20, 60, outage={}, tokens_of_prompts={})
    >>> stored.present["q1", "default"]
    3
    """

    present: dict[tuple[str, str], int]
    """Maps (question, variant) to the generations that have a row; bit g is generation g."""
    failed: dict[tuple[str, str], int]
    """Maps (question, variant) to those of them that failed."""
    calls: int
    """Number of requests that brought the rows, as far as the rows show it."""
    prompt_tokens: int
    completion_tokens: int
    outage: dict[tuple[str, str], int]
    """Maps (question, variant) to those of the failed ones that failed while the endpoint did not answer."""
    tokens_of_prompts: dict[tuple[int, int], int]
    """Maps (index of the question, index of the variant) to the tokens of the prompt in the first of its rows."""


class WantedCells(NamedTuple):
    """What is read of one benchmark in a run folder."""

    tallies: Mapping[str, Tally]
    """Tallies by the label of the model, which receive the stored scores; all have the same questions."""
    variants: Sequence[str]
    """Ids of the variants. Of rows with other questions and variants only the cost is counted."""


def read_stored_cells(
    folder: Path, wanted: Mapping[str, WantedCells], *, costs: bool = True
) -> dict[str, dict[str, StoredCells]]:
    """Read the stored cells of each benchmark and model in one pass, and add their scores to the tallies.

    Parameters
    ----------
    wanted
        Maps a benchmark to what is read of it.
    costs
        Whether calls and tokens are needed; if not, they are 0, and the rows are read in half the time.

    Returns
    -------
    dict
        Maps a benchmark and then the label of a model to its cells.
    """
    readers = {benchmark: _CellReader(each) for benchmark, each in wanted.items()}
    columns = ["benchmark", "model", "question", "variant", "generation", "score", "status", "error", "prompt_tokens"]
    columns += ["completion_tokens", "request", "created", "attempts"] if costs else []
    previous: object = None
    for batch in responses.stream(folder, columns):
        starts_request = None
        if costs:
            starts_request, previous = _find_request_starts(batch, previous)
        for benchmark in set(batch["benchmark"].dictionary_encode().dictionary.to_pylist()) & readers.keys():
            is_ours = _find_indices(batch, "benchmark", {benchmark: 0}) == 0
            readers[benchmark].read(batch, is_ours, starts_request)
    return {benchmark: reader.stored for benchmark, reader in readers.items()}


class _CellReader:
    """Collect the stored cells of the models on one benchmark."""

    def __init__(self, wanted: WantedCells) -> None:
        self.tallies, self.variants = wanted.tallies, wanted.variants
        self.questions = next(iter(self.tallies.values())).questions
        self.question_index = {name: i for i, name in enumerate(self.questions)}
        self.variant_index = {name: i for i, name in enumerate(self.variants)}
        self.labels = {label: i for i, label in enumerate(self.tallies)}
        self.stored = {label: StoredCells({}, {}, 0, 0, 0, {}, {}) for label in self.tallies}

    def read(self, batch: pa.RecordBatch, is_ours: NDArray[np.bool_], starts_request: NDArray[np.bool_] | None) -> None:
        """Add the rows of this benchmark; `starts_request` marks the first row of each request, or is None."""
        model = np.where(is_ours, _find_indices(batch, "model", self.labels), -1)
        question = _find_indices(batch, "question", self.question_index)
        variant = _find_indices(batch, "variant", self.variant_index)
        generation, score = to_numpy(batch["generation"]), to_numpy(batch["score"])
        is_scored = find_valid(batch["score"]) & ~find_valid(batch["error"])
        # Completions that wait for a judge have no score and did not fail; verdicts that cannot be read did.
        is_failed = ~is_scored & ~_starts_with(batch["status"], UNSCORED)
        is_outage = is_failed & _starts_with(batch["error"], f"{OUTAGE}:")
        prompt_tokens = _read_numbers(batch, "prompt_tokens")
        if starts_request is not None:
            calls = np.where(starts_request, _read_numbers(batch, "attempts"), 0)
            tokens = [prompt_tokens, _read_numbers(batch, "completion_tokens")]
        for label, i in self.labels.items():
            rows = model == i
            old = self.stored[label]
            if starts_request is not None:
                self.stored[label] = old._replace(
                    calls=old.calls + int(calls[rows].sum()),
                    prompt_tokens=old.prompt_tokens + round(tokens[0][rows].sum()),
                    completion_tokens=old.completion_tokens + round(tokens[1][rows].sum()),
                )
            rows &= (question >= 0) & (variant >= 0) & (generation >= 1) & (generation < MOST)
            self.tallies[label].load(*(each[rows & is_scored] for each in (question, generation, score)))
            for chosen, masks in (
                (rows, old.present),
                (rows & is_failed, old.failed),
                (rows & is_outage, old.outage),
            ):
                _set_bits(masks, question[chosen], variant[chosen], generation[chosen], self.questions, self.variants)
            _add_prompt_tokens(old.tokens_of_prompts, rows, question, variant, prompt_tokens)


def _add_prompt_tokens(
    tokens_of_prompts: dict[tuple[int, int], int],
    rows: NDArray[np.bool_],
    question: NDArray[np.int64],
    variant: NDArray[np.int64],
    prompt_tokens: NDArray[np.float64],
) -> None:
    """Add the tokens of each prompt, in the first of its rows that has them."""
    chosen = np.flatnonzero(rows & (prompt_tokens > 0))
    if not len(chosen):
        return
    prompts = np.stack([question[chosen], variant[chosen]])
    each, first = np.unique(prompts, axis=1, return_index=True)
    for (i, j), tokens in zip(each.T.tolist(), prompt_tokens[chosen[first]].tolist(), strict=True):
        tokens_of_prompts.setdefault((i, j), int(tokens))


def _find_indices(batch: pa.RecordBatch, column: str, index: Mapping[str, int]) -> NDArray[np.int64]:
    """Return the index of each row's value; -1 for a value that is not in `index`."""
    encoded = batch[column].dictionary_encode()
    each = np.array([index.get(name, -1) for name in encoded.dictionary.to_pylist()], dtype=np.int64)
    return each[to_numpy(encoded.indices)] if len(each) else np.zeros(0, np.int64)


def _read_numbers(batch: pa.RecordBatch, column: str) -> NDArray[np.float64]:
    """Return a column with 0 for null."""
    return np.where(find_valid(batch[column]), to_numpy(batch[column]), 0).astype(float)


def _starts_with(column: pa.Array, prefix: str) -> NDArray[np.bool_]:
    """Return a mask of the rows whose text starts with a prefix."""
    if column.null_count == len(column):
        return np.zeros(len(column), bool)
    texts = column.dictionary_encode()
    has_prefix = np.array([name is not None and name.startswith(prefix) for name in texts.dictionary.to_pylist()])
    code = np.where(find_valid(texts.indices), to_numpy(texts.indices), 0)
    return np.asarray(find_valid(column) & has_prefix[code], bool)


def _find_request_starts(batch: pa.RecordBatch, previous: object) -> tuple[NDArray[np.bool_], object]:
    """Return a mask of the rows whose request differs from that of the row before, and the request of the last row.

    Rows of a failed request have no request id; they are recognized by their equal time.
    """
    request = batch["request"].dictionary_encode()
    code = np.where(find_valid(request.indices), to_numpy(request.indices), -1)
    created = _read_numbers(batch, "created")
    if not len(code):
        return np.zeros(0, bool), previous
    names = request.dictionary
    ends = [(names[int(code[i])].as_py() if code[i] >= 0 else None, float(created[i])) for i in (0, -1)]
    starts = np.concatenate([[ends[0] != previous], (code[1:] != code[:-1]) | (created[1:] != created[:-1])])
    return starts, ends[1]


def _set_bits(
    masks: dict[tuple[str, str], int],
    question: NDArray[np.int64],
    variant: NDArray[np.int64],
    generation: NDArray[np.int64],
    questions: Sequence[str],
    variants: Sequence[str],
) -> None:
    """Set bit g of each (question, variant); rows must be grouped by these and sorted by generation."""
    starts = np.flatnonzero(np.diff(question, prepend=-1) | np.diff(variant, prepend=-1))
    ends = [*starts[1:].tolist(), len(question)]
    for start, end in zip(starts.tolist(), ends, strict=False):
        first, last = int(generation[start]), int(generation[end - 1])
        if last - first == end - start - 1:
            mask = (1 << end - start) - 1 << first
        else:
            mask = sum(1 << g for g in generation[start:end].tolist())
        key = questions[question[start]], variants[variant[start]]
        masks[key] = masks.get(key, 0) | mask
