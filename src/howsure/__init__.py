"""howsure: error bars for evaluations of language models.

>>> import howsure as hs
>>> cells = hs.Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], [[[1, 1], [1, 0]], [[0, 1], [0, 0]]])
>>> hs.compare(cells, "a", "b").columns()["difference"].tolist()
[0.5]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from howsure import figures as figures
    from howsure import perturb as perturb
    from howsure.analysis import combine as combine
    from howsure.analysis import compare as compare
    from howsure.analysis import pairs as pairs
    from howsure.analysis import plan as plan
    from howsure.analysis import rank as rank
    from howsure.analysis import repeats as repeats
    from howsure.analysis import score as score
    from howsure.errors import HowsureError as HowsureError
    from howsure.errors import HowsureWarning as HowsureWarning
    from howsure.errors import InputError as InputError
    from howsure.prompts import effects as effects
    from howsure.prompts import swaps as swaps
    from howsure.prompts import variants as variants
    from howsure.readers.paths import read as read
    from howsure.readers.paths import read_cubes as read_cubes
    from howsure.readers.paths import read_runs as read_runs
    from howsure.stats.core.cells import Cells as Cells
    from howsure.stats.core.cube import Cube as Cube
    from howsure.stats.questions import audit as audit

__version__ = "0.1.0"

# Where the public names live; each is imported when it is first asked for, so that --help is quick.
_HOMES = {
    "read": "howsure.readers.paths",
    "Cells": "howsure.stats.core.cells",
    "score": "howsure.analysis",
    "compare": "howsure.analysis",
    "pairs": "howsure.analysis",
    "rank": "howsure.analysis",
    "repeats": "howsure.analysis",
    "combine": "howsure.analysis",
    "plan": "howsure.analysis",
    "read_runs": "howsure.readers.paths",
    "read_cubes": "howsure.readers.paths",
    "Cube": "howsure.stats.core.cube",
    "variants": "howsure.prompts",
    "effects": "howsure.prompts",
    "swaps": "howsure.prompts",
    "HowsureError": "howsure.errors",
    "HowsureWarning": "howsure.errors",
    "InputError": "howsure.errors",
    "audit": "howsure.stats.questions",
}
# Modules that are public as they are.
_MODULES = ("figures", "perturb")

__all__ = [  # noqa: PLE0604  # the names of _HOMES, which `from howsure import *` and dir() resolve lazily
    *_HOMES,
    *_MODULES,
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"howsure.{name}")
    raise AttributeError(f"module 'howsure' has no attribute {name!r}")
