"""Cells of models that were sampled in stages: the stages told apart, and each weighed as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from howsure.stats.core.cells import Cells
from howsure.stats.sequential.staged import merged
from howsure.store.dense import SUMS, codes
from howsure.store.reduce import CELL, summed
from howsure.store.stages import Plans

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["by_stage", "complete", "weighed"]


def by_stage(table: pa.Table, plans: Plans, by: Sequence[str]) -> pa.Table:
    """Summed over the generations of a stage; what is beyond the plan was there before it, and is a stage too."""
    import pyarrow as pa

    names, code = zip(*(codes(table, name) for name in CELL), strict=True)
    keys, row = np.unique(np.ravel_multi_index(code, tuple(map(len, names))), return_inverse=True)
    stages = max(len(plan.stages) for models in plans.values() for plan in models.values())
    last = np.full((len(keys), stages), np.iinfo(np.int64).max)  # of each stage, where there is a plan
    for i, (b, m, q) in enumerate(zip(*np.unravel_index(keys, tuple(map(len, names))), strict=True)):
        if plan := plans.get(names[0][b], {}).get(names[1][m]):
            last[i, : len(plan.stages)] = plan.ends(names[2][q])
    stage = np.sum(table["generation"].to_numpy()[:, None] > last[row], axis=1)
    return summed(table.append_column("stage", pa.array(stage.astype(str))), (*by, "stage"))


def weighed(whole: Cells, each: Sequence[Cells], labels: Iterable[str]) -> Cells:
    """The whole with the models of `labels` merged by their stages."""
    staged = [model for model in whole.models if model in set(labels)]
    mine = [stage.select([model for model in staged if model in stage.models]) for stage in each]
    if not staged:
        return whole
    together = merged([stage for stage in mine if stage.models])
    column = {question: j for j, question in enumerate(whole.questions)}
    rows = np.array([whole.index(model) for model in together.models])
    place = np.ix_(rows, np.array([column[question] for question in together.questions]))
    arrays = {name: getattr(whole, name).copy() for name in SUMS}
    for name, array in arrays.items():
        array[place] = getattr(together, name)
    return replace(whole, **arrays)


def complete(table: pa.Table, plans: Plans) -> pa.Table:
    """Without the generations of a staged model that its plan does not give to every question."""
    last = {
        (benchmark, model): min(plan.ends(question)[-1] for question in plan.stages[0])
        for benchmark, models in plans.items()
        for model, plan in models.items()
    }
    names = zip(*(table[name].to_pylist() for name in ("benchmark", "model", "generation")), strict=True)
    return table.filter([g <= last.get((benchmark, model), g) for benchmark, model, g in names])
