"""True main effects of the dimensions of a prompt space on the score of a simulated model, which an analysis must find."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from howsure.models.generating_process import CROSSED_SD, RESIDUAL_SD, Array, answer_shares
from howsure.models.model import Settings
from howsure.models.simulated import UNREADABLE, SimulatedModel, check_uncut, read_decoding

__all__ = ["main_effects"]


def main_effects(
    model: SimulatedModel, values: Mapping[str, Sequence[str]], *, settings: Settings | None = None
) -> dict[str, dict[str, float]]:
    """True main effect of each dimension's values on the score of these questions; exact to 1e-4.

    The mean P(correct) over the points of a space that have the value, less the mean over the dimension's values: what
    `stats.effects` estimates. The residuals and interactions of points are averaged over their law.

    Parameters
    ----------
    values
        Dimension to the names of its values, all of them: `{d.name: [v.name for v in d.values] for d in
        space.dimensions}`.

    Returns
    -------
    Dimension to value to effect; the effects of a dimension add up to 0.

    Raises
    ------
    InputError
        As `truth`.
    """
    settings = settings or Settings()
    temperature, top_p = read_decoding(settings)
    check_uncut(model, settings)
    logits = {d: {name: model.process.effect(d, name) for name in names} for d, names in values.items()}
    reach = sum(max(map(abs, each.values())) for each in logits.values()) + 0.02
    shifts = np.linspace(-reach, reach, 2 * math.ceil(reach / 0.01) + 1)
    curve = _curve(model, shifts, temperature, top_p)
    found = {}
    for dimension, own in logits.items():
        score = curve
        for other in (each for d, each in logits.items() if d != dimension):
            score = np.mean([np.interp(shifts + e, shifts, score) for e in other.values()], axis=0)
        of = {name: float(np.interp(e, shifts, score)) for name, e in own.items()}
        found[dimension] = {name: x - math.fsum(of.values()) / len(of) for name, x in of.items()}
    return found


def _curve(model: SimulatedModel, shifts: Array, temperature: float, top_p: float) -> Array:
    """Mean P(correct) over the questions where the values of a point add up to each of `shifts`."""
    base, wrong = model.process.base, model.process.wrong
    # residual and interaction, as one normal
    sd, step = math.hypot(CROSSED_SD, RESIDUAL_SD), 0.004
    tail = math.ceil(6 * sd / step)
    noise = np.exp(-0.5 * (np.arange(-tail, tail + 1) * step / sd) ** 2)
    z = np.arange(base.min() + shifts[0] - 7 * sd, base.max() + shifts[-1] + 7 * sd, step)
    curve = np.zeros_like(shifts)
    kinds, of = np.unique(wrong, axis=0, return_inverse=True)
    for kind, logits in enumerate(kinds):
        right = answer_shares(z, np.broadcast_to(logits, (z.size, logits.size)), temperature, top_p)[:, 0]
        smooth = np.convolve(right, noise / noise.sum(), mode="same")
        for question in base[of.ravel() == kind]:
            curve += np.interp(question + shifts, z, smooth)
    return curve / base.size * (1 - UNREADABLE if temperature else 1.0)
