"""Results in several prompt variants as pairs of question and variant, so that a gate compares like with like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np

from howsure.stats.core.cells import Cells, IntArray
from howsure.stats.core.cube import Cube

__all__ = ["find_common_variants", "has_own_variants", "list_variants", "split_by_variant"]

#: Share of the questions on which both sides must have variants that the other lacks, where questions drew their own.
_LEAST_DIFFERENT = 0.25


def list_variants(cube: Cube, model: str) -> tuple[str, ...]:
    """Return the prompt variants in which a model answered, in the order of the cube.

    Examples
    --------
    >>> cube = Cube.from_scores("demo", ["a"], ["q"], ["v1", "v2"], [[[[1, 0], []]]])
    >>> list_variants(cube, "a")
    ('v1',)
    """
    there = np.any(cube.n[cube.index(model)] > 0, axis=0)
    return tuple(variant for variant, is_there in zip(cube.variants, there, strict=True) if is_there)


def find_common_variants(cube: Cube, candidate: str, other: Cube, baseline: str) -> tuple[str, ...]:
    """Return the prompt variants in which both models answered; none where each question has variants of its own."""
    if has_own_variants(cube, candidate, other, baseline):
        return ()
    answered = set(list_variants(other, baseline))
    return tuple(variant for variant in list_variants(cube, candidate) if variant in answered)


def has_own_variants(cube: Cube, candidate: str, other: Cube, baseline: str) -> bool:
    """Return whether each question drew prompt variants of its own, so that pairs of both sides are no others' answer.

    Parameters
    ----------
    cube, candidate
        The benchmark by variant, and the model in it.
    other, baseline
        The same of the baseline.

    Returns
    -------
    bool
        Whether variants are nested in questions; or more than half of the baseline's questions have one number of
        variants, fewer than the baseline has in all, and on a quarter or more of the common questions each side has a
        variant that the other lacks. Generations that failed leave unequal numbers; and a candidate that leaves out
        what it cannot answer has no variant that the baseline lacks.

    Examples
    --------
    >>> old = Cube.from_scores("demo", ["a"], ["p", "q"], ["v", "w"], [[[[1], []], [[], [0]]]])
    >>> new = Cube.from_scores("demo", ["a"], ["p", "q"], ["v", "w"], [[[[], [1]], [[], [0]]]])
    >>> has_own_variants(new, "a", old, "a"), has_own_variants(old, "a", old, "a")
    (True, False)
    """
    if cube.nested or other.nested:
        return True
    drawn, reference = _list_question_variants(cube, candidate), _list_question_variants(other, baseline)
    common = drawn.keys() & reference.keys()
    if not common:
        return False
    number, often = Counter(map(len, reference.values())).most_common(1)[0]
    if number == len(list_variants(other, baseline)) or 2 * often <= len(reference):
        return False
    different = sum(bool(drawn[name] - reference[name] and reference[name] - drawn[name]) for name in common)
    return different >= _LEAST_DIFFERENT * len(common)


def _list_question_variants(cube: Cube, model: str) -> dict[str, frozenset[str]]:
    """Return the prompt variants in which a model answered each question that it answered."""
    there = cube.n[cube.index(model)] > 0
    return {
        question: frozenset(cube.variants[s] for s in np.flatnonzero(row).tolist())
        for question, row in zip(cube.questions, there, strict=True)
        if np.any(row)
    }


def split_by_variant(cube: Cube, cells: Cells, variants: Collection[str]) -> Cells:
    """Return the cells of each question in each prompt variant, named `question [variant]`.

    Parameters
    ----------
    cube
        The benchmark by variant.
    cells
        The same, pooled over variants: its failed generations are those of the variants with the fewest scores.
    variants
        Prompt variants that are taken.

    Returns
    -------
    Cells
        Those with a generation of any model. Questions are the clusters, or the clusters of the questions.

    Examples
    --------
    >>> cube = Cube.from_scores("demo", ["a"], ["q"], ["v1", "v2"], [[[[1, 0], [1]]]])
    >>> pairs = split_by_variant(cube, cube.cells(), cube.variants)
    >>> pairs.questions, pairs.n.tolist(), pairs.clusters
    (('q [v1]', 'q [v2]'), [[2, 1]], ('q', 'q'))
    """
    M, N, S = cube.n.shape
    failed = _divide_failures(cube, cells)
    names = tuple(f"{question} [{variant}]" for question in cube.questions for variant in cube.variants)
    own = cube.questions if cube.clusters is None else cube.clusters
    flat = Cells(
        cube.benchmark,
        cube.models,
        names,
        cube.n.reshape(M, N * S),
        cube.total.reshape(M, N * S),
        cube.total_sq.reshape(M, N * S),
        clusters=tuple(np.repeat(np.array(own, dtype=object), S).tolist()),
        minimum=None if cube.minimum is None else cube.minimum.reshape(M, N * S),
        maximum=None if cube.maximum is None else cube.maximum.reshape(M, N * S),
        failed=failed.reshape(M, N * S),
    )
    there = np.any((cube.n > 0) | (failed > 0), axis=0) & np.isin(cube.variants, list(variants))
    return flat.select(questions=[name for name, is_there in zip(names, there.ravel(), strict=True) if is_there])


def _divide_failures(cube: Cube, cells: Cells) -> IntArray:
    """Return the failed generations of each cell of the cube, shape (M, N, S): where scores are fewest, and then first.

    A source counts failures of a question over all its variants.
    """
    divided = np.zeros(cube.n.shape, dtype=np.int64)
    if cells.failed is None:
        return divided
    aligned = cells.select(cube.models)
    for i, j in np.argwhere(np.asarray(aligned.failed) > 0).tolist():
        question = aligned.questions[j]
        if question not in cube.questions:
            continue
        place, left = cube.questions.index(question), int(np.asarray(aligned.failed)[i, j])
        used = np.any(cube.n[i] > 0, axis=0)
        lacking = np.where(used, np.max(cube.n[i]) - cube.n[i, place], 0)
        for s in np.argsort(-lacking, kind="stable").tolist():
            divided[i, place, s] = min(left, int(lacking[s]))
            left -= int(divided[i, place, s])
        divided[i, place, int(np.argmax(used))] += left
    return divided
