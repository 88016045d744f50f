"""Modules of the repository that are no packages."""

import importlib.util
import sys
from functools import cache
from pathlib import Path


@cache
def module(path: Path):
    """The module in a file, loaded once."""
    location = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(location)
    sys.modules.setdefault(path.stem, made)
    location.loader.exec_module(made)
    return made
