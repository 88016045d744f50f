"""errorbar: error bars for evaluations of language models.

>>> import errorbar as eb
>>> cells = eb.Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], [[[1, 1], [1, 0]], [[0, 1], [0, 0]]])
>>> eb.compare(cells, "a", "b").columns()["difference"].tolist()
[0.5]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from errorbar import figures as figures
    from errorbar import perturb as perturb
    from errorbar.analysis import combine as combine
    from errorbar.analysis import compare as compare
    from errorbar.analysis import pairs as pairs
    from errorbar.analysis import plan as plan
    from errorbar.analysis import rank as rank
    from errorbar.analysis import repeats as repeats
    from errorbar.analysis import score as score
    from errorbar.errors import ErrorbarError as ErrorbarError
    from errorbar.errors import ErrorbarWarning as ErrorbarWarning
    from errorbar.errors import InputError as InputError
    from errorbar.prompts import effects as effects
    from errorbar.prompts import swaps as swaps
    from errorbar.prompts import variants as variants
    from errorbar.readers.paths import read as read
    from errorbar.readers.paths import read_cubes as read_cubes
    from errorbar.readers.paths import read_runs as read_runs
    from errorbar.stats.cells import Cells as Cells
    from errorbar.stats.cube import Cube as Cube
    from errorbar.stats.suspects import audit as audit

__version__ = "0.1.0"

# Where the public names live; each is imported when it is first asked for, so that --help is quick.
_HOMES = {
    "read": "errorbar.readers.paths",
    "Cells": "errorbar.stats.cells",
    "score": "errorbar.analysis",
    "compare": "errorbar.analysis",
    "pairs": "errorbar.analysis",
    "rank": "errorbar.analysis",
    "repeats": "errorbar.analysis",
    "combine": "errorbar.analysis",
    "plan": "errorbar.analysis",
    "read_runs": "errorbar.readers.paths",
    "read_cubes": "errorbar.readers.paths",
    "Cube": "errorbar.stats.cube",
    "variants": "errorbar.prompts",
    "effects": "errorbar.prompts",
    "swaps": "errorbar.prompts",
    "ErrorbarError": "errorbar.errors",
    "ErrorbarWarning": "errorbar.errors",
    "InputError": "errorbar.errors",
    "audit": "errorbar.stats.suspects",
}
# Modules that are public as they are.
_MODULES = ("figures", "perturb")

__all__ = [  # noqa: PLE0604  # the names of _HOMES, which `from errorbar import *` and dir() resolve lazily
    *_HOMES,
    *_MODULES,
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"errorbar.{name}")
    raise AttributeError(f"module 'errorbar' has no attribute {name!r}")
