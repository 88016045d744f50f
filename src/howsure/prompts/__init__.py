"""Define spaces of prompt variants, and draw variants from them by a hash of a seed."""

from __future__ import annotations

from howsure.prompts.checks import bind_space, check_space
from howsure.prompts.dimensions import Dimension, Value, parse_dimension
from howsure.prompts.instructions import Instruction
from howsure.prompts.space import PromptPoint, Space
from howsure.prompts.space_spec import SPACES, parse_space
from howsure.prompts.variants import DrawnVariants, FixedPrompt, draw_variants, hold_out

__all__ = [
    "SPACES",
    "Dimension",
    "DrawnVariants",
    "FixedPrompt",
    "Instruction",
    "PromptPoint",
    "Space",
    "Value",
    "bind_space",
    "check_space",
    "draw_variants",
    "hold_out",
    "parse_dimension",
    "parse_space",
]
