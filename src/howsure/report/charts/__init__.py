"""One function per figure: results in, an Altair chart out. Figures only draw; statistics come from `stats`."""

from __future__ import annotations

from howsure.report.charts.base import TOLD_APART, Chart
from howsure.report.charts.comparisons import forest, matrix, pair_errors
from howsure.report.charts.enough import convergence
from howsure.report.charts.noise import components, effects, sources
from howsure.report.charts.prompts import spread, unparsed, unparsed_values
from howsure.report.charts.questions import LEVELS, MARKS, difficulty, digits, question_bins

__all__ = [
    "LEVELS",
    "MARKS",
    "TOLD_APART",
    "Chart",
    "components",
    "convergence",
    "difficulty",
    "digits",
    "effects",
    "forest",
    "matrix",
    "pair_errors",
    "question_bins",
    "sources",
    "spread",
    "unparsed",
    "unparsed_values",
]
