"""Simulated results under prompt variants, with a planted effect of the prompt and a planted parser failure."""

import numpy as np

from howsure.stats.core.cube import Cube

N, S, K = 80, 20, 3
STYLES = tuple(("roman", "capitals", "greek", "lower")[s % 4] for s in range(S))
WRAPPERS = tuple(("dot", "round")[s % 3 % 2] for s in range(S))


def planted(*, effect=0.0, failing=0.0, background=0.0, models=2, seed=1):
    """Variants shift P(correct) by +-effect; roman enumerators are unread with chance `failing`, all by `background`."""
    rng = np.random.default_rng(seed)
    shift = effect * np.where(np.arange(S) % 3 == 0, 1, -1)
    p = np.clip(rng.uniform(0.3, 0.7, N)[None, :, None] + shift, 0, 1)
    chance = np.where(np.array(STYLES) == "roman", failing, background)
    n = np.full((models, N, S), K)
    lost = rng.binomial(n, np.broadcast_to(chance, n.shape))
    right = rng.binomial(n - lost, np.broadcast_to(p, n.shape)).astype(float)
    names = (f"m{i}" for i in range(models)), (f"q{i}" for i in range(N)), (f"v{i:02d}" for i in range(S))
    values = {"enumerator": STYLES, "wrapper": WRAPPERS}
    return Cube("b", *map(tuple, names), n, right, right, values, 0), lost
