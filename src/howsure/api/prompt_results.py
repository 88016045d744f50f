"""Results on prompt variants, one part for each benchmark, and their printed table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from howsure.errors import UnknownNameError
from howsure.stats.core.results import Columns, Result, Results, format_table, notes, to_integers
from howsure.stats.core.text_table import elide_names, wrap_text
from howsure.stats.prompts import ProxyCheck, VariantSummary

#: Characters of a printed line.
WIDTH = 120
#: Columns that name a row; they are repeated where a table continues below.
_NAME_COLUMNS = frozenset(
    {"benchmark", "model", "model_a", "model_b", "proxy", "dimension", "value", "component", "moment"}
)
#: Results that a summary of prompt variants holds.
_PARTS = ("moments", "components", "sample_size")
#: Smaller absolute values are printed as 0, so that rounding errors do not show as -0.0000.
_ROUNDING = 1e-9
#: Columns of one group are printed in the same part of a table.
_GROUPS = {
    **dict.fromkeys(("min", "q25", "median", "q75", "max", "default"), "quantiles"),
    **dict.fromkeys(("low", "high"), "interval"),
}
_COUNTS = frozenset(
    {"n_star", "n_star_proxy", "n_star_space", "n_star_space_corrected", "corrected_low", "corrected_high"}
)


@dataclass(frozen=True, repr=False)
class PromptResults(Results):
    """Results on prompt variants of several benchmarks; `parts` holds the result of each.

    `n_star` is NaN if it equals the number of variants that it was estimated from, which suffice by construction; the
    printed table says "not reached" there. Variances are printed with six decimals. Columns that do not fit on a line
    of 120 characters are printed below the others.
    """

    def of(self, attribute: str) -> PromptResults:
        """Return what each part holds under this name: moments, components or sample_size."""
        if attribute not in _PARTS:
            raise UnknownNameError("part", attribute, _PARTS)
        parts = [part for part in self.parts if isinstance(part, VariantSummary)]
        return PromptResults(tuple(_WithBenchmark(part.cube.benchmark, getattr(part, attribute)) for part in parts))

    def columns(self) -> Columns:
        """Return the rows of all parts, one below the other."""
        columns = super().columns()
        for name in columns.keys() & {"n_star", "n_star_proxy"}:
            is_reached = columns[name] < columns["n_variants"]
            columns[name] = to_integers(np.where(is_reached, columns[name], np.nan))
        return columns

    def __str__(self) -> str:
        return self._wrap_columns(WIDTH)

    def fit_text(self, width: int | None) -> str:
        """Return the printed table in lines of at most `width` characters, or as it is printed without a width."""
        if width is None:
            return str(self)
        return wrap_text(self._wrap_columns(width), width)

    def _wrap_columns(self, width: int) -> str:
        """Return the table, with columns that do not fit in the width below the others."""
        columns = self.columns()
        texts = {name: [_format_value(columns, name, row) for row in range(len(columns[name]))] for name in columns}
        return _wrap_table(texts, width)


@dataclass(frozen=True, eq=False)
class _WithBenchmark(Result):
    """A result with the name of its benchmark as the first column."""

    benchmark: str
    result: Result

    def columns(self) -> Columns:
        columns = self.result.columns()
        return {"benchmark": np.full(len(columns["model"]), self.benchmark, dtype=object), **columns}


@dataclass(frozen=True, eq=False)
class ProxyChecks(Result):
    """Whether n* of one model, the proxy, was enough for each other model; see `stats.prompts.check_proxy`."""

    benchmark: str
    checks: tuple[ProxyCheck, ...]
    epsilon: float
    delta: float

    def columns(self) -> Columns:
        """Return one row per model; `bounded` is yes, no, or unknown if n* of the proxy is not reached."""
        checks, rows = self.checks, len(self.checks)
        is_reached = [check.n_star_cheap < check.n_variants for check in checks]
        is_bounded = np.where([check.bounded for check in checks], "yes", "no").astype(object)
        return {
            "benchmark": np.full(rows, self.benchmark, dtype=object),
            "proxy": np.array([check.cheap for check in checks], dtype=object),
            "model": np.array([check.costly for check in checks], dtype=object),
            "n_variants": np.array([check.n_variants for check in checks]),
            "n_star_proxy": np.array([check.n_star_cheap for check in checks]),
            "n_star": np.array([check.n_star_costly for check in checks]),
            "chance": np.where(is_reached, [check.chance for check in checks], np.nan),
            "bounded": np.where(is_reached, is_bounded, "unknown"),
            "epsilon": np.full(rows, self.epsilon),
            "delta": np.full(rows, self.delta),
            "note": notes(
                {
                    "n_star of the proxy is not reached: it bounds nothing": ~np.array(is_reached),
                    "n_star_proxy is of the variants that both models have, which are fewer than those of the proxy: "
                    "whether its n_star of all its variants is enough takes the other model's answers in all of them": (
                        np.array([check.n_variants < check.n_variants_cheap for check in checks])
                    ),
                }
            ),
        }


def _format_value(columns: Columns, name: str, row: int) -> Any:
    """Return a value as text if `format_table` would write it with too few or too many digits."""
    value = columns[name][row]
    if not isinstance(value, float):
        return value
    if abs(value) < _ROUNDING and not name.startswith("p_"):
        return 0.0
    if np.isnan(value):
        return "not reached" if name in {"n_star", "n_star_proxy"} and columns["n_variants"][row] > 1 else value
    is_limit = name in {"low", "high"}
    if name in _COUNTS or (is_limit and "moment" in columns):
        return f"{value:.0f}"
    if name.startswith("var") or name == "value" or (is_limit and "component" in columns):
        return f"{value:.6f}"
    return f"{value:g}" if name in {"epsilon", "delta", "quantile"} else value


def _wrap_table(columns: Mapping[str, Sequence[Any]], width: int) -> str:
    """Return the table; columns beyond the width continue below, beside the names of their rows again."""
    rows = len(columns["benchmark"])

    def format_lines(names: Sequence[str]) -> list[str]:
        return format_table({name: columns[name] for name in names}).split("\n")

    lines = format_lines(list(columns))
    if rows < 2 or _max_width(lines[: rows + 1]) <= width:
        return "\n".join(lines)
    header = lines[0].split()
    names = [name for name in header if name in _NAME_COLUMNS]
    # Long names take less than two thirds of a line, so that each part of the table has room for its numbers.
    long = [name for name in names if name in {"benchmark", "model", "model_a", "model_b", "proxy"}]
    columns = {**columns, **{name: elide_names(columns[name], width * 5 // 8 // len(names) - 2) for name in long}}
    parts = [[*names, *(["note"] if "note" in columns else [])]]
    n_names = len(parts[0])
    others = (name for name in header if name not in names)
    for _, group in groupby(others, lambda name: "variances" if name[:3] == "var" else _GROUPS.get(name, name)):
        more = list(group)
        is_too_wide = _max_width(format_lines([*names, *more])[: rows + 1]) > width
        for piece in [[name] for name in more] if is_too_wide else [more]:
            if len(parts[-1]) > n_names and _max_width(format_lines([*parts[-1], *piece])[: rows + 1]) > width:
                parts.append(list(names))
                n_names = len(names)
            parts[-1] += piece
    tables = ["\n".join(format_lines(part)[: rows + 1]) for part in parts]
    return "\n\n".join([*tables, "\n".join(lines[rows + 1 :])])


def _max_width(lines: Sequence[str]) -> int:
    """Return the number of characters of the longest line."""
    return max(map(len, lines))
