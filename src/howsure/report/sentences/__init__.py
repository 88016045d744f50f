"""Verdicts, warnings and captions in words, made from the numbers; none says more than they do."""

from __future__ import annotations

from howsure.report.sentences import parser, prompts, repeats
from howsure.report.sentences.captions import components, difficulty, forest, matrix, pair_errors
from howsure.report.sentences.verdicts import FEW, best, verdict, verdicts, warnings
from howsure.report.sentences.words import decimals, listed, number, percent, plural, share

__all__ = [
    "FEW",
    "best",
    "components",
    "decimals",
    "difficulty",
    "forest",
    "listed",
    "matrix",
    "number",
    "pair_errors",
    "parser",
    "percent",
    "plural",
    "prompts",
    "repeats",
    "share",
    "verdict",
    "verdicts",
    "warnings",
]
