"""Numbers, names and counts as they are written in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

import numpy as np

from howsure.stats.core.text_table import choose_decimals


def format_error(se: float, places: int) -> str:
    """Format a standard error with at least two significant digits, and at least as many decimals as given.

    >>> format_error(0.0123, 3), format_error(0.0005, 3), format_error(0.0, 3), format_error(float("nan"), 3)
    ('0.012', '0.00050', '0.000', '–')
    """
    return format_number(se, max(places, choose_decimals(np.array([se]))) if se > 0 else places)


def format_number(value: float, places: int, *, sign: bool = False) -> str:
    """Format a number with a minus sign; an en dash if it is unknown.

    >>> format_number(-0.0312, 3), format_number(0.02, 2, sign=True)
    ('−0.031', '+0.02')
    >>> format_number(float("nan"), 2), format_number(-0.0001, 2)
    ('–', '0.00')
    """
    if math.isnan(value):
        return "–"
    text = f"{value:{'+' if sign else ''},.{places}f}"
    if not any(c in "123456789" for c in text):
        text = text.lstrip("+-")
    return text.replace("-", "−")


def format_range(low: float, high: float, places: int) -> str:
    """Format the ends of an interval; an en dash if they are unknown.

    >>> format_range(0.5, 0.625, 2), format_range(float("nan"), 1, 2)
    ('0.50 to 0.62', '–')
    """
    return "–" if math.isnan(low + high) else f"{format_number(low, places)} to {format_number(high, places)}"


def format_each(values: Iterable[float], places: int = 0, *, sign: bool = False) -> list[str]:
    """Format the numbers of a column of a table.

    >>> format_each([1200, 3]), format_each([0.25, float("nan")], 1, sign=True)
    (['1,200', '3'], ['+0.2', '–'])
    """
    return [format_number(float(value), places, sign=sign) for value in values]


def format_ranges(low: Iterable[float], high: Iterable[float], places: int) -> list[str]:
    """Format the intervals of a column of a table."""
    return [format_range(float(a), float(b), places) for a, b in zip(low, high, strict=True)]


def format_shares(values: Iterable[float]) -> list[str]:
    """Format the shares of a column of a table."""
    return [format_share(float(value)) for value in values]


def format_significant(value: float, digits: int = 2) -> str:
    """Format a positive number with so many significant digits, without an exponent.

    >>> [format_significant(value) for value in (0.01234, 0.00005, 153.2, 12345.0, 0.0)]
    ['0.012', '0.00005', '150', '12,000', '0']
    """
    if not math.isfinite(value) or value == 0:
        return "–" if math.isnan(value) else f"{value:g}"
    text = format(Decimal(f"{value:.{digits - 1}e}"), ",f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_count(count: int, one: str, many: str | None = None) -> str:
    """Format a count with its noun.

    >>> format_count(1, "question"), format_count(1136, "question")
    ('1 question', '1,136 questions')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def join_names(names: Sequence[str], most: int = 4) -> str:
    """Join names for a sentence.

    >>> join_names(["a"]), join_names(["a", "b"]), join_names(["a", "b", "c"], most=2)
    ('a', 'a and b', 'a, b and 1 more')
    """
    if len(names) <= 1:
        return "".join(names)
    first, rest = (names, 0) if len(names) <= most else (names[:most], len(names) - most)
    if rest:
        return f"{', '.join(first)} and {rest:,} more"
    return f"{', '.join(first[:-1])} and {first[-1]}"


def format_level(level: float) -> str:
    """Format a level as a percentage, as it was given."""
    return f"{100 * level:g}%"


def is_or_are(count: int) -> str:
    """Return the verb for a count."""
    return "is" if count == 1 else "are"


def format_share(part: float) -> str:
    """Format a share as a percentage, with a decimal if it is small; 0% and 100% are exact.

    >>> [format_share(part) for part in (0.0, 0.0004, 0.0041, 0.0123, 0.345, 0.999, 1.0, float("nan"))]
    ['0%', '<0.1%', '0.4%', '1%', '34%', '>99%', '100%', '–']
    """
    if math.isnan(part):
        return "–"
    if 0 < part < 0.001:
        return "<0.1%"
    if 0.995 <= part < 1:
        return ">99%"
    return f"{100 * part:.1f}%" if 0 < part < 0.00995 else f"{100 * part:.0f}%"


def format_p_value(p: float) -> str:
    """Format a p-value for a sentence or a table.

    >>> format_p_value(0.0312), format_p_value(2e-7), format_p_value(0.5), format_p_value(float("nan"))
    ('0.031', '<0.001', '0.50', '–')
    """
    if np.isnan(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def describe_drawn(n_drawn: int, n_models: int, rest: str = "") -> str:
    """Return for how many models a figure is drawn, and `rest`; empty where it is drawn for all.

    >>> describe_drawn(4, 60, ", spread over their order"), describe_drawn(4, 4)
    (' Drawn for 4 of 60 models, spread over their order.', '')
    """
    return f" Drawn for {n_drawn:,} of {n_models:,} models{rest}." if n_drawn < n_models else ""
