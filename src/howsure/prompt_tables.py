"""Results on prompt variants, one part for each benchmark, and the table that a person reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from howsure.stats import prompts as prompt_stats
from howsure.stats.core.results import Columns, Result, Results, format_table

__all__ = ["Prompted"]

#: Characters of a printed line.
WIDTH = 120
_NAMES = frozenset({"benchmark", "model", "model_a", "model_b", "proxy", "dimension", "value", "component", "moment"})
#: Nearer to 0 than this is 0: -0.0000 is no score.
_ROUNDING = 1e-9
#: Columns that are read together stand together.
_TOGETHER = dict.fromkeys(("min", "q25", "median", "q75", "max", "default"), "quantiles")
_COUNTS = frozenset(
    {"n_star", "n_star_proxy", "n_star_space", "n_star_space_corrected", "corrected_low", "corrected_high"}
)


@dataclass(frozen=True)
class Prompted(Results):
    """Results on prompt variants, one of each benchmark in `parts`.

    `n_star` is NaN where it is not below the number of reference variants: so many are enough by construction. The
    printed table then says "not reached"; it has six digits for variances, and puts what does not fit on a line below.
    """

    def of(self, attribute: str) -> Prompted:
        """A result that each part holds: `moments`, `components` or `enough` of `variants`."""
        parts = [part for part in self.parts if isinstance(part, prompt_stats.VariantSummary)]
        return Prompted(tuple(_Of(part.cube.benchmark, getattr(part, attribute)) for part in parts))

    def columns(self) -> Columns:
        """Rows of all parts, one below the other."""
        columns = super().columns()
        for name in columns.keys() & {"n_star", "n_star_proxy"}:
            reached = columns[name] < columns["n_variants"]
            columns[name] = prompt_stats.to_integers(np.where(reached, columns[name], np.nan))
        return columns

    def __str__(self) -> str:
        columns = self.columns()
        return _broken({name: [_told(columns, name, row) for row in range(len(columns[name]))] for name in columns})


@dataclass(frozen=True, eq=False)
class _Of(Result):
    """A result with the benchmark that it is of."""

    benchmark: str
    result: Result

    def columns(self) -> Columns:
        columns = self.result.columns()
        return {"benchmark": np.full(len(columns["model"]), self.benchmark, dtype=object), **columns}


def _told(columns: Columns, name: str, row: int) -> Any:
    """A value as a person reads it, where `format_table` would make something else of it."""
    value = columns[name][row]
    if not isinstance(value, float):
        return value
    if abs(value) < _ROUNDING and not name.startswith("p_"):
        return 0.0
    if np.isnan(value):
        return "not reached" if name in {"n_star", "n_star_proxy"} and columns["n_variants"][row] > 1 else value
    limits = name in {"low", "high"}
    if name in _COUNTS or (limits and "moment" in columns):
        return f"{value:.0f}"
    if name.startswith("var") or name == "value" or (limits and "component" in columns):
        return f"{value:.6f}"
    return f"{value:g}" if name in {"epsilon", "delta", "quantile"} else value


def _broken(columns: Mapping[str, Sequence[Any]]) -> str:
    """The table; what is wider than `WIDTH` comes below it, again with the names of its rows."""
    rows = len(columns["benchmark"])

    def lines(names: Sequence[str]) -> list[str]:
        return format_table({name: columns[name] for name in names}).split("\n")

    whole = lines(list(columns))
    if rows < 2 or _widest(whole[: rows + 1]) <= WIDTH:
        return "\n".join(whole)
    shown = whole[0].split()
    names = [name for name in shown if name in _NAMES]
    parts = [[*names, *(["note"] if "note" in columns else [])]]
    bare = len(parts[0])
    others = (name for name in shown if name not in names)
    for _, unit in groupby(others, lambda name: "variances" if name[:3] == "var" else _TOGETHER.get(name, name)):
        more = list(unit)
        if len(parts[-1]) > bare and _widest(lines([*parts[-1], *more])[: rows + 1]) > WIDTH:
            parts.append(list(names))
            bare = len(names)
        parts[-1] += more
    tables = ["\n".join(lines(part)[: rows + 1]) for part in parts]
    return "\n\n".join([*tables, "\n".join(whole[rows + 1 :])])


def _widest(lines: Sequence[str]) -> int:
    return max(map(len, lines))
