"""Where the components that a plan needs come from: a pilot, or theory when there is none."""

from __future__ import annotations

import math

from errorbar.errors import InputError, UnknownNameError
from errorbar.stats import components as single
from errorbar.stats import pairs
from errorbar.stats.cells import Cells
from errorbar.stats.clusters import IN_CLUSTERS, NEW_CLUSTERS, with_clusters
from errorbar.stats.crossed import crossed
from errorbar.stats.cube import Cube
from errorbar.stats.design import Components, within
from errorbar.stats.intervals import FEW_DF

__all__ = ["CLAIMS", "assumed", "components_of", "components_of_variants"]

#: Claims that can be planned for; the noise of a single run is a plan with `max_generations=1`.
CLAIMS = ("new-questions", "these-questions")


def components_of(
    cells: Cells,
    a: str,
    b: str | None = None,
    *,
    paired: bool = True,
    claim: str = "new-questions",
) -> Components:
    """Components of a pilot: of the difference of two models, or of the score of one.

    Parameters
    ----------
    cells
        The pilot, with two or more generations of some questions: else only single generations can be planned.
    a, b
        Two models, or one.
    paired
        Whether both models will answer the same questions. If not, each has N of its own and their variances add.
    claim
        `"new-questions"`, or `"these-questions"`: the mean over the questions of the pilot, of which fewer may be
        asked (finite population).

    With clusters of questions and the claim "new-questions", the data variance is N times the clustered squared error,
    less what sampling adds to it: the plan is for new clusters of the sizes of the pilot's, and the note says so.

    A data variance below 0 is taken as 0, and the note says so. As everywhere, var() over questions divides by N, so
    that the plan of the pilot's own design has the pilot's standard error.
    """
    if claim not in CLAIMS:
        raise UnknownNameError("claim", claim, CLAIMS, where="plan")
    if b is None:
        found: list[single.Scores | pairs.Comparison] = [single.score(cells.select([a]))]
    elif paired:
        found = [pairs.compare(cells, a, b)]
    else:
        found = [single.score(cells.select([model])) for model in (a, b)]
    D, E, T = (sum(float(getattr(one, name)[0]) for one in found) for name in ("data", "prediction", "total"))
    told = dict.fromkeys(part for one in found for part in str(one.columns()["note"][0]).split("; ") if part)
    told.pop(FEW_DF, None)  # of an interval, which a plan has none of
    if cells.clusters is not None and claim == "new-questions":
        D, T, note = with_clusters(cells, [name for name in (a, b) if name is not None], D, T, paired=paired)
        told = {note: None, **told}
        told.pop(IN_CLUSTERS, None)
    if D < 0:
        told["it is planned as 0"] = None
    return Components(
        question=max(D, 0.0),  # NaN stays: max returns its first argument
        generation=E,
        total=T if math.isnan(T) else max(T, 0.0),
        population=math.inf if claim == "new-questions" else len(cells.questions),
        models=1 if b is None else 2,
        benchmark=cells.benchmark,
        note="; ".join(told),
    )


def components_of_variants(cube: Cube, a: str, b: str | None = None, *, claim: str = "new-questions") -> Components:
    """Components of a pilot with several prompt variants, of a score or of a paired difference.

    Parameters
    ----------
    cube
        The pilot, of which `cube.drawn` counts. With one generation per cell, designs of single generations can be
        planned, of any number of questions and variants.
    a, b
        Two models, or one.
    claim
        As in `components_of`; always in new variants of the space, of which the plan chooses the number.

    Negative variances are planned as 0, and the note says so. Unlike those of `components_of`, they are unbiased:
    divided by degrees of freedom.
    """
    if claim not in CLAIMS:
        raise UnknownNameError("claim", claim, CLAIMS, where="plan")
    drawn = cube.drawn
    found = crossed(drawn.select([a]) if b is None else drawn.difference(a, b))
    if b is not None and not found.fit.cells[0] > 0:
        what = f"{a} and {b} answered no question in the same variant"
        raise InputError(what, where=cube.benchmark, remedy="ask both models in the same variants")
    names = ("question", "variant", "interaction", "generation", "residual")
    values = {name: float(getattr(found, name)[0]) for name in names}
    told = dict.fromkeys(part for part in str(found.note[0]).split("; ") if part)
    if found.clustered is not None and claim == "new-questions":
        values["question"] = float(found.parts[0, 0] * found.fit.questions[0])
        told[NEW_CLUSTERS] = None
    if below := [name for name in names[:4] if values[name] < 0]:
        told[f"{' and '.join(below)} below 0: planned as 0"] = None
    each = {name: max(value, 0.0) for name, value in values.items()}  # NaN stays: max returns its first argument
    if cube.nested:
        # variants within a question: no main effect, and S of them average out
        each |= {"interaction": each["variant"], "variant": 0.0}
    return Components(
        **each,
        population=math.inf if claim == "new-questions" else len(cube.questions),
        models=1 if b is None else 2,
        benchmark=cube.benchmark,
        note="; ".join(told),
    )


def assumed(
    accuracy: float,
    *,
    models: int = 2,
    paired: bool = True,
    data_share: float | None = None,
    benchmark: str = "assumed",
) -> Components:
    """Components for scores of 0 and 1 without a pilot: question difficulty ~ Beta(p, 1-p) at accuracy p.

    The theory (NOISE 4.2.1 and appendix B) says: a score has D = E = p(1-p)/2, two models on questions of their own
    twice that, and a pair that shares questions and their difficulty a total variance p(1-p), all of it prediction.

    Parameters
    ----------
    accuracy
        p, strictly between 0 and 1.
    models, paired
        1 for a score; 2 for a difference, on the same questions if `paired`.
    data_share
        D / (D + E). None: 0.5 as in theory, but 0.2 for a paired difference, where the theory's 0 would say that any
        error can be reached by generations alone; published pairs of models within .05 of each other have .05 to .35.
    """
    if not 0 < accuracy < 1:
        raise InputError(f"accuracy is {accuracy!r}", remedy="allowed: strictly between 0 and 1")
    share = (0.2 if models == 2 and paired else 0.5) if data_share is None else data_share
    within("data_share", share, 0, 1)
    total = accuracy * (1 - accuracy) * (2 if models == 2 and not paired else 1)
    return Components(
        question=share * total,
        generation=(1 - share) * total,
        models=models,
        benchmark=benchmark,
        note=f"assumed, not measured: difficulty ~ Beta({accuracy:g}, {1 - accuracy:g}), "
        f"{share:.0%} of the total variance {total:.4g} is data noise",
    )
