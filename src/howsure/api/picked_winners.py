"""The best of several models, prompt variants or checkpoints, scored for fresh questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from howsure.api.choices import CANDIDATES, Candidates
from howsure.api.prompt_studies import CubesLike
from howsure.api.result_selection import CellsLike, warn_of_unparsed
from howsure.errors import InputError
from howsure.results.evaluations import to_cells, to_cubes
from howsure.stats import comparisons
from howsure.stats.comparisons import order_checkpoints
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import check_choice, check_level
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Results


def winner(data: CellsLike | CubesLike, *, of: Candidates = "models", level: float = 0.95) -> Results:
    """Score the best of several candidates for fresh questions, without the luck for which it was picked.

    Parameters
    ----------
    data
        As for `howsure.score`; all candidates that were tried, also those that were given up.
    of
        What the best one is picked from: ``"models"``, the ``"variants"`` of the prompt of each model, or the
        ``"checkpoints"`` of each training run.
    level
        Coverage of the interval, between 0 and 1.

    Returns
    -------
    Results
        A row for each pick: its ``score`` on these questions; ``corrected``, its score on fresh ones, with the limits
        ``low`` and ``high``; ``luck``, the difference; and its lead over the mean of the others on these questions
        (``lead``) and on fresh ones (``lead_corrected``).

    Raises
    ------
    InputError
        If there is nothing to pick from, or each question was asked with its own variants.

    See Also
    --------
    rank : Which of the models may truly be the best.

    References
    ----------
    Andrews, Kitagawa and McCloskey (2024), Inference on winners, Quarterly Journal of Economics 139, for the interval.

    Examples
    --------
    >>> import howsure as hs
    >>> import numpy as np
    >>> scores = np.random.default_rng(1).integers(0, 2, (30, 200, 1)).tolist()
    >>> cells = hs.Cells.from_scores("demo", [f"m{i}" for i in range(30)], [f"q{i}" for i in range(200)], scores)
    >>> best = hs.winner(cells)
    >>> best["score"].round(2).tolist(), best["corrected"].round(2).tolist()
    ([0.56], [0.51])
    """
    check_level(level)
    check_choice("of", of, CANDIDATES)
    if of == "variants":
        picked = [one for cube in to_cubes(cast("CubesLike", data)) for one in _split_variants(cube)]
    else:
        benchmarks = to_cells(cast("CellsLike", data))
        warn_of_unparsed(benchmarks)
        picked = [cells for cells in benchmarks if len(cells.models) > 1]
        if of == "checkpoints":
            picked = [cells.select(names) for cells in benchmarks for names in order_checkpoints(cells.models)[0]]
    if not picked:
        what = {"models": "only one model", "variants": "only one variant of the prompt"}.get(of, "no two checkpoints")
        raise InputError(what, where="winner", remedy="give the results of all that it was picked from")
    return Results(tuple(comparisons.pick_winner(cells, level=level) for cells in picked))


def _split_variants(cube: Cube) -> Iterator[Cells]:
    """Yield the prompt variants of each model as candidates of their own."""
    if cube.nested or cube.drawn_questions:
        remedy = "a pick needs all variants on the same questions"
        raise InputError("each question has its own variants", where=cube.benchmark, remedy=remedy)
    if cube.is_whole:
        remedy = "give the scores of single questions"
        raise InputError("the scores are those of whole benchmarks", where=cube.benchmark, remedy=remedy)
    for m, model in enumerate(cube.models):
        n, total, total_sq = (array[m].T for array in (cube.n, cube.total, cube.total_sq))
        low, high = (None if array is None else array[m].T for array in (cube.minimum, cube.maximum))
        named = f"{cube.benchmark}, {model}", cube.variants, cube.questions
        cells = Cells(*named, n, total, total_sq, clusters=cube.clusters, minimum=low, maximum=high)
        scored = [name for name, there in zip(cube.variants, cells.answered.tolist(), strict=True) if any(there)]
        if len(scored) > 1:
            yield cells.select(scored)
