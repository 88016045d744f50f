"""A question to its prompt variants: points of a space, drawn by hash; pure and seeded."""

from __future__ import annotations

from errorbar.benchmarks.choices import read
from errorbar.perturb.checks import check
from errorbar.perturb.demonstrations import hold_out
from errorbar.perturb.dimension import Dimension, Value, dimension
from errorbar.perturb.instructions import Instruction
from errorbar.perturb.own import Own
from errorbar.perturb.paraphrase import Paraphrases, paraphrases, request
from errorbar.perturb.point import Point
from errorbar.perturb.sampled import Sampled, sampled
from errorbar.perturb.space import Space
from errorbar.perturb.spaces import SPACES, space
from errorbar.perturb.templates import Imported, from_templates

__all__ = [
    "SPACES",
    "Dimension",
    "Imported",
    "Instruction",
    "Own",
    "Paraphrases",
    "Point",
    "Sampled",
    "Space",
    "Value",
    "check",
    "dimension",
    "from_templates",
    "hold_out",
    "paraphrases",
    "read",
    "request",
    "sampled",
    "space",
]
