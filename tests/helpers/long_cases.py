"""Which of the cases of a test run every day."""

import pytest


def mark_long(cases, *, after):
    """Parameters of a test: the first cases run every day, those after them are marked long; a tuple has several values."""
    each = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*case, marks=pytest.mark.long if i >= after else ()) for i, case in enumerate(each)]
