"""What all points of a space share: its dimensions, its templates, its pool, and how answers are read."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from howsure.benchmarks.question import Question
from howsure.errors import InputError, UnknownNameError
from howsure.perturb.dimension import KNOWN, Dimension, Value

__all__ = ["Terms"]


def _unbound(_: str) -> str | None:
    remedy = "bind the space first: space.bind(benchmark)"
    raise InputError("the space does not know how answers are read", where="space", remedy=remedy)


@dataclass(frozen=True)
class Terms:
    """A space as its points and checks see it; see `space.Space` for the parameters."""

    name: str
    dimensions: tuple[Dimension, ...]
    layout: str = "{question_marker}{question}\n{choices}\n{answer_marker}"
    head: str = "{instruction}"
    system: str = ""
    pool: tuple[Question, ...] = ()
    extract: Callable[[str], str | None] = _unbound

    def __post_init__(self) -> None:
        for name, count in Counter(d.name for d in self.dimensions).items():
            if count > 1:
                raise InputError(f"two dimensions are called {name!r}", where="space", remedy="rename one")

    @property
    def size(self) -> int:
        """Number of points; a shuffle or a choice of demonstrations counts once, however many it can be."""
        return math.prod(len(d.values) for d in self.dimensions)

    def dimension(self, name: str) -> Dimension:
        """One dimension by name.

        Raises
        ------
        UnknownNameError
            When there is none.
        """
        if name not in self._by_name:
            raise UnknownNameError("dimension", name, self._by_name)
        return self._by_name[name]

    def taken(self, name: str) -> tuple[Value, ...]:
        """Values that a built-in dimension takes: those that are drawn, or its default."""
        return self._by_name[name].values if name in self._by_name else (self.defaults[name],)

    @cached_property
    def defaults(self) -> Mapping[str, Value]:
        """Value of each built-in dimension where a space does not draw it."""
        return {name: values[0] for name, values in KNOWN.items() if values} | {"layout": Value("own", self.layout)}

    @cached_property
    def pool_hash(self) -> str:
        """Content of the pool."""
        said = json.dumps([(q.id, q.text, q.target, q.choices) for q in self.pool], ensure_ascii=False)
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @cached_property
    def _by_name(self) -> dict[str, Dimension]:
        return {d.name: d for d in self.dimensions}
