"""Hypothesis strategies for evaluations: small grids of scores, nasty where evaluations are.

A grid is `scores[model][question]`, a list of individual scores, empty where the model missed the question.
Every model answers at least one question; two models may have no question in common.
"""

from __future__ import annotations

from hypothesis import strategies as st

Grid = list[list[list[float]]]

#: What a score may be. "partial" stays within [0, 1]; "real" does not.
SCORES = {
    "binary": st.sampled_from([0.0, 1.0]),
    "zeros": st.just(0.0),
    "ones": st.just(1.0),
    "partial": st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.9, 1.0]),
    "real": st.integers(-1000, 1000).map(lambda hundredths: hundredths / 100),
}


@st.composite
def score_grids(
    draw: st.DrawFn,
    *,
    kind: str | None = None,
    min_models: int = 1,
    max_models: int = 5,
    max_questions: int = 12,
    max_generations: int = 6,
    ragged: bool | None = None,
    missing: bool | None = None,
) -> Grid:
    """Grids of scores; each argument left None is drawn, so that every case comes up often.

    Parameters
    ----------
    kind
        A name of `SCORES` for all models, or None: each model takes its own, binary half of the time.
    ragged
        True: each cell draws its count; False: one count per model.
    missing
        True: any cell may be missing; False: every model answers every question.
    """
    n_models = draw(st.integers(min_models, max_models))
    n_questions = draw(st.just(1) | st.integers(1, max_questions))
    ragged = draw(st.booleans()) if ragged is None else ragged
    missing = draw(st.booleans()) if missing is None else missing
    counts = st.just(1) | st.integers(1, max_generations)
    grid: Grid = []
    for _ in range(n_models):
        score = SCORES[kind or draw(st.sampled_from(["binary", "binary", "binary", *sorted(SCORES)]))]
        count = draw(counts)
        always = draw(st.integers(0, n_questions - 1))
        model: list[list[float]] = []
        for question in range(n_questions):
            gone = missing and question != always and draw(st.booleans())
            k = 0 if gone else draw(counts) if ragged else count
            model.append([draw(score) for _ in range(k)])
        grid.append(model)
    return grid
