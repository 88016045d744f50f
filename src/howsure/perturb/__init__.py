"""A question to its prompt variants: points of a space, drawn by hash; pure and seeded."""

from __future__ import annotations

from howsure.benchmarks.choices import read
from howsure.perturb.checks import check
from howsure.perturb.demonstrations import hold_out
from howsure.perturb.dimension import Dimension, Value, dimension
from howsure.perturb.instructions import Instruction
from howsure.perturb.own import Own
from howsure.perturb.paraphrase import Paraphrases, paraphrases, request
from howsure.perturb.point import Point
from howsure.perturb.sampled import Sampled, sampled
from howsure.perturb.space import Space
from howsure.perturb.spaces import SPACES, space
from howsure.perturb.templates import Imported, from_templates

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
