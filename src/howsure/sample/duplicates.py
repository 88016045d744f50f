"""Whether K generations are really K: copies within a reply, replies that repeat, a model that is another one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from howsure.models.model import Reply

__all__ = ["Repeats", "Watch", "is_same_model", "repeating"]

#: Prompts that are watched, the first of them: questions come in random order, so these are a fair sample.
MOST = 1 << 18
#: Characters from which on an identical text is evidence; the same short answer twice is none.
LONG = 200
#: A text of so many characters comes twice with chance 1/e: 0.01 nats per token, a tenth of what sharp models have.
PER_NAT = 400.0
#: Below WARM texts repeat more, in proportion; up to COLD they are expected to.
WARM, COLD = 0.5, 0.05
#: Prompts, and share of them, that must repeat before it is said.
FEW, SHARE = 5, 0.2
#: Prompts and repeats without any difference after which it is said whatever the length.
PROMPTS, REPEATS = 100, 500
#: Names and fingerprints that are kept, and shown; and characters of each.
KEPT, SHOWN, LETTERS = 100, 4, 80

Ints = NDArray[np.integer]


@dataclass(frozen=True)
class Repeats:
    """Prompts whose later texts equal their first one."""

    same: int
    """Prompts of which at least every second later text is the first again."""
    prompts: int
    """Prompts that could tell: compared at all, with a long text that no other question got."""
    always: bool
    """Whether on those that are the same every later text was."""


class Watch:
    """Looks at every reply of one model and says in the end what makes its generations fewer than they seem.

    Of each prompt (question and variant) it keeps the hash of the first text, and counts how many texts beside it in
    its reply, and how many first texts of later replies, equal it: 36 bytes for each of at most `MOST` prompts.

    Parameters
    ----------
    questions, variants
        How many there are.
    temperature
        As asked for; None where it is left to the endpoint.
    asked_name
        The model's name as the endpoint was asked for it.
    """

    def __init__(self, questions: int, variants: int, *, temperature: float | None, asked_name: str) -> None:
        self.temperature, self.asked_name = temperature, asked_name
        self.replies = self.cached = 0
        self._variants, self._prompts = variants, min(questions * variants, MOST)
        # Hashes of the first text and of its reply's id, 0 where there is none; characters of the text.
        self._text, self._id = np.zeros((2, self._prompts), np.int64)
        self._length, self._beside, self._copies, self._later, self._again = np.zeros((5, self._prompts), np.int32)
        # An item of a memoryview comes in a third of the time that one of an array takes.
        hashes, counts = (self._text, self._id), (self._length, self._beside, self._copies, self._later, self._again)
        self._items = tuple(memoryview(column) for column in (*hashes, *counts))  # type: ignore[arg-type]  # a buffer
        self._replays = self._clashes = 0
        self._names: dict[str, list[int]] = {}
        self._fingerprints: dict[str, list[int]] = {}

    def saw(self, question: int, variant: int, reply: Reply) -> None:
        """Take note of one reply to `question` under `variant`, both counted from 0."""
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
        first_text, first_id, length, beside, copies, later, again = self._items
        text = choices[0].text or ""
        code = hash(text) or 1
        known = first_text[prompt]
        if not known:
            first_text[prompt] = code
            first_id[prompt] = hash(reply.request or "")
            length[prompt] = min(len(text), 0x7FFFFFFF)
        else:
            later[prompt] += 1
            again[prompt] += code == known
            if reply.request and hash(reply.request) == first_id[prompt]:
                if code == known:
                    self._replays += 1
                else:
                    self._clashes += 1
        if len(choices) > 1:
            beside[prompt] += len(choices) - 1
            copies[prompt] += [choice.text for choice in choices].count(choices[0].text) - 1

    def notes(self) -> list[str]:
        """What the reader of the scores should know so far, one line for each kind; none when all is well."""
        return [*self._repeats(), *self._canned(), *self._replayed(), *self._named(), *self._versions()]

    def _count(self, seen: dict[str, list[int]], value: str) -> None:
        """Count a value as [replies, the first of them]; those beyond `KEPT` as one, under the empty name."""
        if (found := seen.get(value)) is None:
            value = value[:LETTERS]
            found = seen.get(value) or seen.setdefault(value if len(seen) < KEPT else "", [0, self.replies])
        found[0] += 1

    def _repeats(self) -> Iterator[str]:
        repeats, same = int(self._beside.sum() + self._later.sum()), int(self._copies.sum() + self._again.sum())
        if self.temperature is not None and self.temperature <= COLD:
            if repeats:
                yield (
                    f"temperature {self.temperature:g}: repeats measure the endpoint's nondeterminism, not sampling; "
                    f"{same:,} of {repeats:,} repeats were the same text"
                )
            return
        told = list(self._copied())
        yield from told
        prompts = np.count_nonzero(self._beside + self._later)
        enough = prompts >= PROMPTS and repeats >= REPEATS and len(np.unique(self._text)) > 2
        is_warm = self.temperature is None or self.temperature >= WARM
        if not told and enough and same == repeats and is_warm:
            yield (
                f"not one of {repeats:,} repeats on {prompts:,} prompts gave another text than the first: "
                f"{self._cause()}, or a model without any doubt; these repeats told nothing new"
            )

    def _copied(self) -> Iterator[str]:
        asked = np.arange(self._prompts) // max(self._variants, 1)
        found = repeating(asked, self._text, self._length, self._beside, self._copies, temperature=self.temperature)
        if found is not None:
            yield (
                f"{found.same:,} of {found.prompts:,} prompts with several generations in one reply got the same text "
                f"{_often(found)}: the endpoint copies one generation, or {self._cause()}; copies are not generations"
            )
        found = repeating(asked, self._text, self._length, self._later, self._again, temperature=self.temperature)
        if found is not None:
            yield (
                f"{found.same:,} of {found.prompts:,} prompts with several requests got the same text {_often(found)}: "
                f"{self._cause()}; copies are not generations"
            )

    def _cause(self) -> str:
        if self.temperature is None:
            return "a fixed seed, a cache, or the endpoint's own temperature is near 0 (none was asked for)"
        if self.temperature < WARM:
            return f"a fixed seed, a cache, or the low temperature {self.temperature:g}"
        return "a fixed seed or a cache"

    def _canned(self) -> Iterator[str]:
        """One long text for most questions is no answer to them."""
        asked = np.flatnonzero(self._length >= LONG)
        if not len(asked):
            return
        _, which, counts = np.unique(self._text[asked], return_inverse=True, return_counts=True)
        most = asked[which == counts.argmax()]
        n, questions = (len(np.unique(prompts // self._variants)) for prompts in (most, np.flatnonzero(self._text)))
        if n >= max(FEW, questions / 2):
            yield f"one text of {self._length[most[0]]:,} characters is the reply to {n:,} of {questions:,} questions"

    def _replayed(self) -> Iterator[str]:
        if self.cached:
            yield f"{self.cached:,} of {self.replies:,} replies came from a cache; a replayed one is no new generation"
        known = np.flatnonzero(self._id)
        ids, where, which = np.unique(self._id[known], return_index=True, return_inverse=True)
        # An id that came with two texts is not one: some servers send a constant, or a small random number.
        text = self._text[known]
        unique = not self._clashes and bool((text == text[where][which]).all())
        replays = self._replays + len(known) - len(ids)
        if unique and replays >= FEW:
            yield (
                f"{replays:,} of {self.replies:,} replies had the id and the text of an earlier one: "
                "a cache replays it, and a replayed one is no new generation"
            )

    def _named(self) -> Iterator[str]:
        others = {name: n for name, n in self._names.items() if not is_same_model(self.asked_name, name)}
        if others:
            replies = sum(n for n, _ in others.values())
            yield (
                f"asked for {_shown(self.asked_name)}, answered as {_listed(others)} in {replies:,} of "
                f"{self.replies:,} replies"
            )

    def _versions(self) -> Iterator[str]:
        if not all(is_same_model(one, other) for one, other in combinations(self._names, 2)):
            yield f"the model's name changed during the run: {_history(self._names)}; scores may mix models"
        if len(self._fingerprints) > 1:
            yield f"system_fingerprint changed during the run: {_history(self._fingerprints)}; scores may mix versions"


def repeating(
    question: Ints, text: Ints, length: Ints, compared: Ints, equal: Ints, *, temperature: float | None = None
) -> Repeats | None:
    """Whether more prompts repeat their text than a sampled model would; None when they do not.

    At least `FEW` prompts and a share `SHARE` of those that can tell must repeat, and three standard deviations more
    than a model whose text of L characters comes twice with chance exp(-L / `PER_NAT`), L / `PER_NAT` in proportion
    to the temperature below `WARM`. A text that several questions got, such as a refusal, says nothing of repeats.

    Parameters
    ----------
    question
        Which question each of P prompts asks, (P,).
    text, length
        Hash and characters of its first text, (P,).
    compared, equal
        Later texts of the prompt, and how many of them equal the first, (P,).
    temperature
        None is an unknown one, taken as warm.

    >>> p = np.arange(20)
    >>> repeating(p, p + 1, np.full(20, 900), np.full(20, 4), np.full(20, 4))
    Repeats(same=20, prompts=20, always=True)
    >>> repeating(p, p + 1, np.full(20, 90), np.full(20, 4), np.full(20, 4))
    """
    _, which = np.unique(text, return_inverse=True)
    lowest, highest = np.full(len(text), len(question)), np.full(len(text), -1)
    np.minimum.at(lowest, which, question)
    np.maximum.at(highest, which, question)
    telling = (compared > 0) & (length >= LONG) & (lowest == highest)[which]
    same = telling & (2 * equal >= compared)
    warmth = 1.0 if temperature is None else min(temperature / WARM, 1.0)
    chance = np.exp(-length[telling] / PER_NAT * warmth)
    expected = chance.sum() + 3 * np.sqrt((chance * (1 - chance)).sum())
    n, prompts = int(same.sum()), int(telling.sum())
    if n < max(FEW, SHARE * prompts) or n <= expected:
        return None
    return Repeats(n, prompts, bool((equal == compared)[same].all()))


def is_same_model(asked: str, told: str) -> bool:
    """Whether two names mean one model: up to the provider before it, and a date or version that only one has.

    >>> is_same_model("openai/gpt-4o-mini", "gpt-4o-mini-2024-07-18"), is_same_model("gpt-4o", "gpt-4o-mini")
    (True, False)
    """
    one, other = _bare(asked), _bare(told)
    undated, undated_other = _VERSION.sub("", one), _VERSION.sub("", other)
    if one != undated and other != undated_other:
        undated, undated_other = one, other
    # Some clouds write the provider with a dot: us.anthropic.claude-...
    return undated == undated_other or undated.endswith("." + undated_other) or undated_other.endswith("." + undated)


#: A date (2024-07-18, 20240718), or at the end of a name a month (0613, 2407) or a revision (002, v1:0).
_VERSION = re.compile(r"[-@_](20\d\d-?\d\d-?\d\d)(?=\W|$)(-v\d+)?(:\d+$)?|[-@:](\d{3,4}|v\d+(:\d+)?)$")
#: What says how a router serves the model, or that it is the newest.
_SERVED = re.compile(r":(free|nitro|floor|beta|extended)$|[-:@]latest$")


def _bare(name: str) -> str:
    """A name without what stands before it, and as files are called."""
    last = name.strip().lower().replace("\\", "/").rstrip("/").rpartition("/")[2]
    return _SERVED.sub("", last.removesuffix(".gguf"))


def _often(found: Repeats) -> str:
    return "every time" if found.always else "at least every second time"


def _shown(name: str) -> str:
    """Foreign text, safe to print."""
    return "".join(c if c.isprintable() else "?" for c in name[:LETTERS]) or "others"


def _listed(names: dict[str, list[int]]) -> str:
    rest = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(map(_shown, list(names)[:SHOWN])) + rest


def _history(seen: dict[str, list[int]]) -> str:
    """Values in the order in which they came."""
    parts = [f"{_shown(name)} (from reply {first:,}, {n:,} in all)" for name, (n, first) in list(seen.items())[:SHOWN]]
    rest = [f"{len(seen) - SHOWN:,} more"] if len(seen) > SHOWN else []
    return f"{len(seen):,} values: " + ", ".join(parts + rest)
