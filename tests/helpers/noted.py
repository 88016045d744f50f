"""The notes that a block issues, as values."""

import warnings
from contextlib import contextmanager

from howsure.notes import list_warned


@contextmanager
def noted():
    """Yield a list that has the notes of the block after its end."""
    notes = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += list_warned(caught)
