"""Detect generations that are not independent: copies in a reply, repeated replies, replies of another model.

Generations of one reply and those of different replies to the same prompt are draws from the same distribution, so
equal texts must be as frequent among both. A difference shows that a reply repeats itself (copies, or one seed for all
its generations), or that replies repeat each other (a fixed seed, or a cache), whatever the length of the texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from howsure.models.model import Reply
from howsure.stats.repeats import bound_equal_texts, bound_uniform_replies

#: Only the first prompts of a run are examined. Questions are in random order, so these are a fair sample.
MOST_PROMPTS = 1 << 18
#: Equal texts of at least this many characters are evidence of copies; two equal short answers are not.
LONG_TEXT = 200
#: A text of this many characters is assumed to occur twice with probability 1/e: 0.01 nats per token, a tenth of the
#: entropy of models with sharp distributions.
CHARACTERS_PER_NAT = 400.0
#: Below the temperature WARM texts repeat more often, in proportion; at COLD or below they are expected to repeat.
WARM, COLD = 0.5, 0.05
#: A note is made if at least this number and this share of the prompts repeat their text.
FEWEST, SHARE = 5, 0.2
#: If so many prompts and repeats are all equal, a note is made for texts of any length (of a model that differs in .03
#: of its generations in .03 of evaluations); with fewer, if that is less probable for their length than `DIFFERENT_P`.
MANY_PROMPTS, MANY_REPEATS, FEWEST_EQUAL = 40, 100, 20
#: The shares of equal texts within and across replies differ if Student's t of their difference over prompts has a
#: smaller two-sided p-value than this, and the difference is at least so large.
DIFFERENT_P, SMALLEST_DIFFERENCE = 1e-6, 0.02
#: The tokens of prompts changed if at least `FEWEST` prompts and this share of those that came again have others.
CHANGED_SHARE = 0.5
#: How many names and fingerprints are counted and how many are printed, and the largest number of characters of each.
MOST_COUNTED, MOST_PRINTED, MOST_CHARACTERS = 100, 4, 80

Ints = NDArray[np.integer]


@dataclass(frozen=True)
class RepeatedTexts:
    """Counts of prompts whose later texts equal their first text."""

    same: int
    """Number of prompts for which at least half of the later texts equal the first text."""
    prompts: int
    """Number of prompts that were compared; their first text is long and no other question has it."""
    always: bool
    """Whether every later text of those prompts equals the first."""


class DuplicateDetector:
    """Examine every reply of one model, and report signs that its generations are not independent.

    For each prompt (question and variant) it stores the hash of the first text. It counts how many other texts of the
    same reply, and how many first texts of later replies, are equal to it. This takes 36 bytes for each of at most
    `MOST_PROMPTS` prompts.

    Parameters
    ----------
    questions, variants
        The number of questions and the number of variants.
    temperature
        The temperature that was requested; None for the default of the endpoint.
    requested_name
        The model's name in requests.
    prompt_tokens
        Tokens of prompts in earlier sessions, by (index of the question, index of the variant).

    Examples
    --------
    >>> from howsure.models.model import Choice
    >>> detector = DuplicateDetector(200, 1, temperature=1.0, requested_name="m")
    >>> for question in range(200):
    ...     detector.record_reply(question, 0, Reply((Choice(f"{question} " * 100),) * 2, model="m"))
    >>> detector.notes()[0].partition(" prompts")[0]
    '200 of 200'
    """

    def __init__(
        self,
        questions: int,
        variants: int,
        *,
        temperature: float | None,
        requested_name: str,
        prompt_tokens: Mapping[tuple[int, int], int] | None = None,
    ) -> None:
        self.temperature, self.requested_name = temperature, requested_name
        self.replies = self.cached = 0
        self._variants, self._prompts = variants, min(questions * variants, MOST_PROMPTS)
        # Hashes of the first text and of the id of its reply (0 where there is none), and the length of the text.
        self._text, self._id, self._last = np.zeros((3, self._prompts), np.int64)
        self._length, self._n_beside, self._n_copies, self._n_later, self._n_repeated, self._n_again = np.zeros(
            (6, self._prompts), np.int32
        )
        # Access to an item of a memoryview takes a third of the time of an item of an array.
        hashes, counts = (
            (self._text, self._id, self._last),
            (self._length, self._n_beside, self._n_copies, self._n_later, self._n_repeated, self._n_again),
        )
        self._items = tuple(column.data for column in (*hashes, *counts))
        self._replays = self._clashes = 0
        # The tokens of each prompt when it was first sent; 0 is unknown, and negative if other tokens came later.
        self._prompt_tokens = np.zeros(self._prompts, np.int32)
        self._compared_tokens = np.zeros(self._prompts, bool)
        for (question, variant), tokens in (prompt_tokens or {}).items():
            if (prompt := question * variants + variant) < self._prompts:
                self._prompt_tokens[prompt] = min(tokens, 0x7FFFFFFF)
        self._names: dict[str, list[int]] = {}
        self._fingerprints: dict[str, list[int]] = {}

    def record_reply(self, question: int, variant: int, reply: Reply) -> None:
        """Count one reply to `question` under `variant`, both counted from 0."""
        self.replies += 1
        if reply.cached:
            self.cached += 1
        if reply.model:
            self._count(self._names, reply.model)
        if reply.fingerprint:
            self._count(self._fingerprints, reply.fingerprint)
        choices = reply.choices
        prompt = question * self._variants + variant
        if not choices or prompt >= self._prompts:
            return
        if reply.prompt_tokens:
            self._compare_prompt_tokens(prompt, min(reply.prompt_tokens, 0x7FFFFFFF))
        first_text, first_id, last, length, n_beside, n_copies, n_later, n_repeated, n_again = self._items
        text = choices[0].text or ""
        code = hash(text) or 1
        first_code = first_text[prompt]
        if not first_code:
            first_text[prompt] = code
            first_id[prompt] = hash(reply.request or "")
            length[prompt] = min(len(text), 0x7FFFFFFF)
        else:
            n_later[prompt] += 1
            n_repeated[prompt] += code == first_code
            n_again[prompt] += code == last[prompt]
            if reply.request and hash(reply.request) == first_id[prompt]:
                if code == first_code:
                    self._replays += 1
                else:
                    self._clashes += 1
        last[prompt] = code
        if len(choices) > 1:
            n_beside[prompt] += len(choices) - 1
            n_copies[prompt] += [choice.text for choice in choices].count(choices[0].text) - 1

    def _compare_prompt_tokens(self, prompt: int, tokens: int) -> None:
        """Record the tokens of a prompt, or whether they differ from those when it was first sent."""
        first = int(self._prompt_tokens[prompt])
        if not first:
            self._prompt_tokens[prompt] = tokens
            return
        self._compared_tokens[prompt] = True
        # Some servers report the tokens of a prompt once for each generation.
        if first > 0 and tokens % first and first % tokens:
            self._prompt_tokens[prompt] = -first

    def find_longest_prompts(self) -> tuple[int, list[int]]:
        """Return the largest number of tokens of a prompt, and the first thousand prompts that have it."""
        tokens = np.abs(self._prompt_tokens)
        most = int(tokens.max(initial=0))
        return most, np.flatnonzero(tokens == most)[:1000].tolist() if most else []

    def compare_repeats(self) -> tuple[float, float, float]:
        """Return the share of equal texts within replies, the share across replies, and the difference in errors.

        Only prompts with both kinds of pairs are used, with equal weights. The third value is the mean difference over
        prompts, divided by its standard error; NaN with fewer than two such prompts.

        Notes
        -----
        For a prompt whose texts have the probabilities p_i, both shares estimate the sum of p_i squared, as long as
        generations are independent. Within a reply, the first text is compared with the others of that reply; across
        replies, with the first text of each later reply.
        """
        both = (self._n_beside > 0) & (self._n_later > 0)
        n = int(both.sum())
        if not n:
            return math.nan, math.nan, math.nan
        within = self._n_copies[both] / self._n_beside[both]
        across = self._n_repeated[both] / self._n_later[both]
        difference = within - across
        error = float(difference.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
        mean = float(difference.mean())
        # Where all prompts differ alike, as with copies of long texts, the error is that of one text among them all.
        z = mean / max(error, 1 / n) if n > 1 else math.nan
        return float(within.mean()), float(across.mean()), z

    def notes(self) -> list[str]:
        """Return one sentence for each kind of problem that matters for the interpretation of the scores."""
        return [
            *self._note_repeats(),
            *self._note_prompt_tokens(),
            *self._note_same_text(),
            *self._note_caches(),
            *self._note_other_names(),
            *self._note_changes(),
        ]

    def _count(self, counts: dict[str, list[int]], value: str) -> None:
        """Count a value as [replies, the first of them]; further values count under ""."""
        if (count := counts.get(value)) is None:
            value = value[:MOST_CHARACTERS]
            name = value if len(counts) < MOST_COUNTED else ""
            count = counts.get(value) or counts.setdefault(name, [0, self.replies])
        count[0] += 1

    def _note_repeats(self) -> Iterator[str]:
        repeats, same = (
            int(self._n_beside.sum() + self._n_later.sum()),
            int(self._n_copies.sum() + self._n_repeated.sum()),
        )
        if self.temperature is not None and self.temperature <= COLD:
            if repeats:
                yield (
                    f"temperature {self.temperature:g}: repeats measure the endpoint's nondeterminism, not sampling; "
                    f"{same:,} of {repeats:,} repeats were the same text as the first"
                )
            # Only the reply after the first one differs from the one before it.
            several = self._n_later > 1
            n = int((several & (self._n_repeated == 0) & (self._n_again == self._n_later - 1)).sum())
            if n >= max(FEWEST, several.sum() / 2):
                yield (
                    f"the first reply to {n:,} of {several.sum():,} prompts differs from the later ones, which are "
                    "equal: the endpoint computes a prompt that it has cached in another way; leave generation 1 out"
                )
            return
        notes = list(self._note_copies()) or list(self._note_unequal_repeats()) or list(self._note_uniform_replies())
        yield from notes
        prompts = np.count_nonzero(self._n_beside + self._n_later)
        are_many = (prompts >= MANY_PROMPTS and repeats >= MANY_REPEATS) or self._are_equal_texts_unlikely()
        is_warm = self.temperature is None or self.temperature >= WARM
        if not notes and same == repeats and is_warm and are_many and len(np.unique(self._text)) > 2:
            yield (
                f"not one of {repeats:,} repeats on {prompts:,} prompts gave another text than the first: "
                f"{self._describe_cause()}, or a model without any doubt; these repeats added no information"
            )

    def _are_equal_texts_unlikely(self) -> bool:
        """Return whether a sampling model gives the same text to all repeats of each prompt with a tiny probability."""
        repeats = self._n_beside + self._n_later
        compared = np.flatnonzero(repeats)
        _, first = np.unique(self._text[compared], return_index=True)  # a text of several questions is one
        distinct = compared[first]
        log_p = bound_equal_texts(self._length[distinct] / CHARACTERS_PER_NAT, repeats[distinct] + 1)
        return len(distinct) >= FEWEST_EQUAL and float(log_p.sum()) < math.log(DIFFERENT_P)

    def _note_copies(self) -> Iterator[str]:
        question = np.arange(self._prompts) // max(self._variants, 1)
        repeats = find_repeated_texts(
            question, self._text, self._length, self._n_beside, self._n_copies, temperature=self.temperature
        )
        if repeats is not None:
            yield (
                f"{repeats.same:,} of {repeats.prompts:,} prompts with several generations in one reply got the same "
                f"text {_describe_frequency(repeats)}: the endpoint copies one generation, or "
                f"{self._describe_cause()}; copies are not generations"
            )
        repeats = find_repeated_texts(
            question, self._text, self._length, self._n_later, self._n_repeated, temperature=self.temperature
        )
        if repeats is not None:
            yield (
                f"{repeats.same:,} of {repeats.prompts:,} prompts with several requests got the same text "
                f"{_describe_frequency(repeats)}: {self._describe_cause()}; copies are not generations"
            )
            return
        repeats = find_repeated_texts(
            question,
            self._text,
            self._length,
            self._n_later,
            self._n_repeated,
            temperature=self.temperature,
            are_few_enough=True,
        )
        if repeats is not None:
            yield (
                f"{repeats.same:,} of {repeats.prompts:,} prompts with several requests got their first text again, "
                f"beside others: {self._describe_cause()}, such as a cache with several texts for each prompt; copies "
                "are not generations"
            )

    def _note_uniform_replies(self) -> Iterator[str]:
        """Yield a note if replies to the same prompt differ, and each of them holds one text only."""
        replies = self._n_later + 1
        differ = (self._n_repeated < self._n_later) & (self._n_beside >= replies)
        if not differ.any() or (self._n_copies[differ] < self._n_beside[differ]).any():
            return
        log_p = bound_uniform_replies(replies[differ], self._n_beside[differ] // replies[differ] + 1)
        if log_p.sum() < math.log(DIFFERENT_P):
            yield (
                f"{differ.sum():,} prompts got other texts in later replies, and each reply to them holds one text in "
                "all its generations: the endpoint copies one generation, or gives all of a request one seed; copies "
                "are not generations; ask for one at a time (choices: 1)"
            )

    def _note_unequal_repeats(self) -> Iterator[str]:
        """Yield a note if equal texts are more frequent within replies than across them, or less."""
        within, across, z = self.compare_repeats()
        df = int(((self._n_beside > 0) & (self._n_later > 0)).sum()) - 1
        if df < 1 or abs(z) < stdtrit(df, 1 - DIFFERENT_P / 2) or abs(within - across) < SMALLEST_DIFFERENCE:
            return
        shares = (
            f"{within:.1%} of the generations of a reply equal its first, {across:.1%} of those of later replies do"
        )
        if z > 0:
            yield (
                f"generations of one reply repeat each other: {shares} ({z:.0f} standard errors); they are not "
                "independent, and intervals for these questions are too narrow; ask for one at a time (choices: 1)"
            )
        else:
            yield (
                f"replies repeat each other: {shares} ({-z:.0f} standard errors): {self._describe_cause()}; "
                "they are not independent, and intervals for these questions are too narrow"
            )

    def _note_prompt_tokens(self) -> Iterator[str]:
        """Yield a note if the same prompts have other numbers of tokens than when they were first sent."""
        changed, compared = int((self._prompt_tokens < 0).sum()), int(self._compared_tokens.sum())
        if changed >= FEWEST and changed >= CHANGED_SHARE * compared:
            yield (
                f"{changed:,} of {compared:,} prompts that were sent again had other numbers of tokens than before: "
                f"another model or prompt template may answer as {_clean(self.requested_name)} now (or the endpoint "
                "leaves cached tokens out); scores may mix models"
            )

    def _describe_cause(self) -> str:
        """Return the possible causes of repeated texts."""
        if self.temperature is None:
            return "a fixed seed, a cache, or the endpoint's own temperature is near 0 (none was asked for)"
        if self.temperature < WARM:
            return f"a fixed seed, a cache, or the low temperature {self.temperature:g}"
        return "a fixed seed or a cache"

    def _note_same_text(self) -> Iterator[str]:
        """Yield a note if one long text is the reply to most questions."""
        long = np.flatnonzero(self._length >= LONG_TEXT)
        if not len(long):
            return
        _, which, counts = np.unique(self._text[long], return_inverse=True, return_counts=True)
        most = long[which == counts.argmax()]
        n, questions = (len(np.unique(prompts // self._variants)) for prompts in (most, np.flatnonzero(self._text)))
        if n >= max(FEWEST, questions / 2):
            yield f"one text of {self._length[most[0]]:,} characters is the reply to {n:,} of {questions:,} questions"

    def _note_caches(self) -> Iterator[str]:
        """Yield notes on replies that came from a cache."""
        if self.cached:
            yield f"{self.cached:,} of {self.replies:,} replies came from a cache; a replayed one is no new generation"
        with_id = np.flatnonzero(self._id)
        ids, where, which = np.unique(self._id[with_id], return_index=True, return_inverse=True)
        # An id that came with two texts does not identify a reply: some servers send a constant or a small number.
        text = self._text[with_id]
        is_unique = not self._clashes and bool((text == text[where][which]).all())
        replays = self._replays + len(with_id) - len(ids)
        if is_unique and replays >= FEWEST:
            yield (
                f"{replays:,} of {self.replies:,} replies had the id and the text of an earlier one: "
                "a cache replays it, and a replayed one is no new generation"
            )

    def _note_other_names(self) -> Iterator[str]:
        """Yield a note if replies state the name of another model."""
        others = {name: n for name, n in self._names.items() if not is_same_model(self.requested_name, name)}
        if others:
            replies = sum(n for n, _ in others.values())
            yield (
                f"asked for {_clean(self.requested_name)}, answered as {_join_names(others)} in {replies:,} of "
                f"{self.replies:,} replies"
            )

    def _note_changes(self) -> Iterator[str]:
        """Yield notes if the name or the fingerprint of the model changed."""
        if not all(is_same_model(one, other) for one, other in combinations(self._names, 2)):
            yield f"the model's name changed during the run: {_join_history(self._names)}; scores may mix models"
        if len(self._fingerprints) > 1:
            history = _join_history(self._fingerprints)
            yield (
                f"system_fingerprint or provider changed during the run: {history}; scores may mix versions, and "
                "generations of one request share theirs: pin one (extra: {provider: ...}), or set choices: 1"
            )


def find_repeated_texts(
    question: Ints,
    text: Ints,
    length: Ints,
    compared: Ints,
    equal: Ints,
    *,
    temperature: float | None = None,
    are_few_enough: bool = False,
) -> RepeatedTexts | None:
    """Return the counts of prompts that repeat their text, or None if no more repeat than with a sampling model.

    At least `FEWEST` prompts and a share `SHARE` of those that were compared must repeat, and three standard deviations
    more than with a model whose text of L characters occurs twice with probability exp(-L / `CHARACTERS_PER_NAT`);
    below `WARM` the exponent is proportional to the temperature. A text that several questions have, such as a refusal,
    is not counted.

    Parameters
    ----------
    question
        Index of the question of each of P prompts, shape (P,).
    text, length
        Hash and number of characters of its first text, shape (P,).
    compared, equal
        Number of later texts of the prompt, and how many of them equal the first, shape (P,).
    temperature
        None is unknown and treated as warm.
    are_few_enough
        Whether one later text that equals the first is enough for a prompt to repeat its text, and not half of them.
        Of k later texts one does with probability 1 - (1 - p)^k at most.

    >>> p = np.arange(20)
    >>> find_repeated_texts(p, p + 1, np.full(20, 900), np.full(20, 4), np.full(20, 4))
    RepeatedTexts(same=20, prompts=20, always=True)
    >>> find_repeated_texts(p, p + 1, np.full(20, 90), np.full(20, 4), np.full(20, 4))
    """
    _, which = np.unique(text, return_inverse=True)
    lowest, highest = np.full(len(text), len(question)), np.full(len(text), -1)
    np.minimum.at(lowest, which, question)
    np.maximum.at(highest, which, question)
    usable = (compared > 0) & (length >= LONG_TEXT) & (lowest == highest)[which]
    same = usable & ((equal > 0) if are_few_enough else (2 * equal >= compared))
    warmth = 1.0 if temperature is None else min(temperature / WARM, 1.0)
    chance = np.exp(-length[usable] / CHARACTERS_PER_NAT * warmth)
    if are_few_enough:
        chance = 1 - (1 - chance) ** compared[usable]
    expected = chance.sum() + 3 * np.sqrt((chance * (1 - chance)).sum())
    n, prompts = int(same.sum()), int(usable.sum())
    if n < max(FEWEST, SHARE * prompts) or n <= expected:
        return None
    return RepeatedTexts(n, prompts, bool((equal == compared)[same].all()))


def is_same_model(requested: str, reported: str) -> bool:
    """Return whether two names mean the same model: they may differ in the provider, or in a date that only one has.

    >>> is_same_model("openai/gpt-4o-mini", "gpt-4o-mini-2024-07-18"), is_same_model("gpt-4o", "gpt-4o-mini")
    (True, False)
    """
    one, other = _normalize(requested), _normalize(reported)
    undated, undated_other = _VERSION.sub("", one), _VERSION.sub("", other)
    if one != undated and other != undated_other:
        undated, undated_other = one, other
    # Some clouds write the provider with a dot: us.anthropic.claude-...
    return undated == undated_other or undated.endswith("." + undated_other) or undated_other.endswith("." + undated)


#: A date (2024-07-18, 20240718), or at the end of a name a month (0613, 2407) or a revision (002, v1:0).
_VERSION = re.compile(r"[-@_](20\d\d-?\d\d-?\d\d)(?=\W|$)(-v\d+)?(:\d+$)?|[-@:](\d{3,4}|v\d+(:\d+)?)$")
#: Suffixes for how a router serves the model, or for its newest version.
_SERVED = re.compile(r":(free|nitro|floor|beta|extended)$|[-:@]latest$")


def _normalize(name: str) -> str:
    """Return a name without path, provider and file type."""
    last = name.strip().lower().replace("\\", "/").rstrip("/").rpartition("/")[2]
    return _SERVED.sub("", last.removesuffix(".gguf"))


def _describe_frequency(repeats: RepeatedTexts) -> str:
    """Return a phrase that says how often the first text was repeated."""
    return "every time" if repeats.always else "at least every second time"


def _clean(name: str) -> str:
    """Return text of an endpoint, safe to print."""
    return "".join(c if c.isprintable() else "?" for c in name[:MOST_CHARACTERS]) or "others"


def _join_names(names: dict[str, list[int]]) -> str:
    """Return the first names as a list in words."""
    rest = f" and {len(names) - MOST_PRINTED:,} more" if len(names) > MOST_PRINTED else ""
    return ", ".join(map(_clean, list(names)[:MOST_PRINTED])) + rest


def _join_history(counts: dict[str, list[int]]) -> str:
    """Return the values in the order in which they came, with their counts."""
    parts = [
        f"{_clean(name)} (from reply {first:,}, {n:,} in all)"
        for name, (n, first) in list(counts.items())[:MOST_PRINTED]
    ]
    rest = [f"{len(counts) - MOST_PRINTED:,} more"] if len(counts) > MOST_PRINTED else []
    return f"{len(counts):,} values: " + ", ".join(parts + rest)
