"""The public functions: each asks one question of every benchmark that it is given; `howsure` lists them."""

import os
from importlib import import_module
from typing import Any

from howsure.stats.core.printed_width import PRINTING


def read_printed_width() -> int | None:
    """Return the width that the variable COLUMNS states, 40 at least; None without it, which prints all columns."""
    value = os.environ.get("COLUMNS", "")
    return max(int(value), 40) if value.isdecimal() and value.isascii() and int(value) else None


def _describe(result: object) -> Any:
    """Return the sentences on a result; the module that makes them is imported when the first one is printed."""
    return import_module("howsure.api.result_sentences").describe_result(result)


PRINTING.find_width, PRINTING.describe = read_printed_width, _describe
PRINTING.draw = lambda result: import_module("howsure.api.result_sentences").draw_result(result)
