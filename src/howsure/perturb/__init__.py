"""A question to its prompt variants: points of a space, drawn by hash; pure and seeded."""

from __future__ import annotations

from howsure.perturb.checks import bind, check
from howsure.perturb.dimensions import Dimension, Value, dimension
from howsure.perturb.instructions import Instruction, Paraphrases, paraphrases, request
from howsure.perturb.space import Point, Space
from howsure.perturb.space_spec import SPACES, space
from howsure.perturb.unitxt import Imported, from_templates
from howsure.perturb.variants import Own, Sampled, hold_out, sampled

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
    "bind",
    "check",
    "dimension",
    "from_templates",
    "hold_out",
    "paraphrases",
    "request",
    "sampled",
    "space",
]
