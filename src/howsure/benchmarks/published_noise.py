"""Noise levels of published benchmarks, from question-level results that others published.

The file `published_noise.csv` beside this module says where its numbers come from.
"""

from __future__ import annotations

import csv
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from howsure.errors import UnknownNameError
from howsure.stats.planning import BenchmarkNoise

FILE = Path(__file__).with_suffix(".csv")
_SOURCE = (
    "published question-level results (Wang 2025, Measuring all the noises of LLM evals, all-the-noises.github.io)"
)


@lru_cache(maxsize=1)
def read_published_noise() -> BenchmarkNoise:
    """Return the noise of the published benchmarks, one row each.

    Returns
    -------
    BenchmarkNoise
        Variances per question; the standard deviations of variances over models and pairs are those of the standard
        errors times twice the error.

    Examples
    --------
    >>> noise = read_published_noise()
    >>> len(noise), noise.select("math500_cot").n_questions.tolist()
    (29, [500])
    """
    lines = FILE.read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    columns = {name: [row[name] for row in rows] for name in rows[0]}

    def parse(name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array([float(text) if text else np.nan for text in columns[name]])

    n = parse("n_questions")
    values: dict[str, Any] = {}
    for name in (
        "se",
        "se_data",
        "se_prediction",
        "difference",
        "difference_data",
        "difference_prediction",
    ):
        mean, sd = parse(name), parse(f"{name}_sd")
        field = {"se": "score", "se_data": "score_data", "se_prediction": "score_prediction"}.get(name, name)
        values[field] = n * (mean**2 + sd**2)  # mean of the squares
        values[f"{field}_sd"] = n * 2 * mean * sd
    for name in ("n_questions", "n_models", "n_pairs", "n_unsolved", "n_negative_tau"):
        values[name] = parse(name).astype(np.int64)
    return BenchmarkNoise(
        benchmarks=tuple(columns["benchmark"]),
        temperature=parse("temperature"),
        n_different=parse("n_different"),
        correlation=parse("correlation"),
        sources=(_SOURCE,) * len(rows),
        **values,
    )


def find_benchmarks(name: str) -> list[str]:
    """Return the names of the published benchmarks that a name means, those of several temperatures together.

    Parameters
    ----------
    name
        As published (`math500_cot`), or as this package, other programs or people write it (`math-500`, `MATH500`).

    Raises
    ------
    UnknownNameError
        When no benchmark has such a name.

    Examples
    --------
    >>> find_benchmarks("math-500"), find_benchmarks("cruxeval-output")
    (['math500_cot'], ['CRUXEval-output-T0.2', 'CRUXEval-output-T0.8'])
    """
    names = read_published_noise().benchmarks
    if name in names:
        return [name]
    wanted = _simplify(name)
    same = [one for one in names if _simplify(one) == wanted]
    if same:
        return same
    if len(wanted) >= 3 and (longer := [one for one in names if _simplify(one).startswith(wanted)]):
        return longer
    raise UnknownNameError("benchmark with published noise", name, names)


def _simplify(name: str) -> str:
    """Return a name in small letters and digits."""
    return re.sub(r"[^a-z0-9.]", "", name.lower().replace("+", "plus"))
