"""Success of several attempts at a question, and how hard each question is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from howsure.api.result_selection import CellsLike, count_passes, list_first
from howsure.errors import HowsureWarning, InputError
from howsure.notes import Note, warn
from howsure.results.evaluations import Evaluations, open_or_list, to_answers, to_cells
from howsure.results.sources import Data
from howsure.stats import questions as question_statistics
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import (
    BETA_ROWS,
    CLAIMS,
    QUESTION_PRIORS,
    QUESTION_ROWS,
    BetaRows,
    Claim,
    QuestionPrior,
    QuestionRows,
    check_choice,
    check_level,
)
from howsure.stats.core.results import Result, Results
from howsure.stats.questions import AnswerCounts
from howsure.stats.scores import fit_beta, pool_by_score

#: The result of one benchmark.
OneResult = TypeVar("OneResult", bound=Result)

#: Numbers of attempts that `attempts` takes unless it is told others, as far as there are so many generations.
_NUMBERS_OF_ATTEMPTS = (1, 2, 5, 10, 20, 50, 100)


def attempts(
    data: CellsLike,
    *,
    k: int | Sequence[int] | None = None,
    majority: bool = False,
    claim: Claim = "new-questions",
    level: float = 0.95,
    pass_at: float | None = None,
) -> Results:
    r"""Estimate how often one of k attempts at a question is right (pass@k), and all of them (pass^k).

    Parameters
    ----------
    data
        As for `howsure.score`.
    k
        Number of attempts, or several; by default 1, 2, 5, 10, 20, 50 and 100 as far as some question has so many
        generations.
    majority
        Also estimate majority@k, the chance that the most frequent of k answers is right. Needs answers: run folders
        and logs that have them.
    claim
        ``"new-questions"``: for new questions like these; ``"these-questions"``: for these, asked again.
    level
        Coverage of the intervals, between 0 and 1.
    pass_at
        An attempt is right if its score is so much or more. By default graded scores from 0 to 1 are right at 1,
        which a note says, and no others are taken.

    Returns
    -------
    Results
        A row per benchmark, model, measure and k, with ``score``, ``se``, ``low`` and ``high``. Questions with fewer
        than k generations are left out and counted in ``n_short``.

    Raises
    ------
    InputError
        If no benchmark has scores from 0 to 1, an argument is not allowed, or there are no answers for `majority`.

    Notes
    -----
    With c right generations of n, the unbiased estimates for a question are [1]_ [2]_

    .. math::

        1 - \binom{n-c}{k} / \binom{n}{k}, \qquad \binom{c}{k} / \binom{n}{k}

    and majority@k is the share of all subsets of k generations whose most frequent answer is right [3]_, ties broken at
    random.

    References
    ----------
    .. [1] Chen et al. (2021), Evaluating large language models trained on code.
    .. [2] Yao et al. (2024), tau-bench: a benchmark for tool-agent-user interaction in real-world domains.
    .. [3] Wang et al. (2023), Self-consistency improves chain of thought reasoning in language models.

    Examples
    --------
    >>> import howsure as hs
    >>> cells = hs.Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0, 0, 0], [1, 1, 1, 1]]])
    >>> result = hs.attempts(cells, k=2)
    >>> list(zip(result["measure"].tolist(), result["score"].tolist()))
    [('pass@k', 0.75), ('pass^k', 0.5)]
    """
    check_choice("claim", claim, CLAIMS)
    check_level(level)
    numbers = None if k is None else [k] if isinstance(k, int) else list(k)

    def estimate(cells: Cells) -> Result:
        chosen = _choose_numbers(int(cells.n.max(initial=1)), numbers)
        return question_statistics.estimate_pass_at_k(cells, chosen, claim=claim, level=level)

    def estimate_majority(answers: AnswerCounts) -> Result:
        chosen = _choose_numbers(int(answers.n_cell.max(initial=1)), numbers)
        return question_statistics.estimate_majority_of_answers(answers, chosen, claim=claim, level=level)

    if majority and pass_at is not None:
        raise InputError("majority with pass_at", remedy="leave one out: an answer is right or wrong")
    results = apply_to_binary(_count_right(data, pass_at), estimate, "pass@k")
    if majority:
        results += [estimate_majority(answers) for answers in _require_answers(data)]
    return Results(tuple(results))


def questions(
    data: CellsLike, *, by: QuestionRows = "question", level: float = 0.95, prior: QuestionPrior = "hierarchical"
) -> Results:
    r"""Describe each question: how hard it is, how it separates models, and P(correct) of each model on it.

    Parameters
    ----------
    data
        As for `howsure.score`; scores must be 0 and 1.
    by
        ``"question"``: a row per question, over all models. ``"model"``: a row per model and question.
    level
        Probability of the intervals of P(correct), between 0 and 1.
    prior
        Of P(correct), with ``by="model"``. ``"hierarchical"``: the Beta distribution of the model's questions, its
        parameters averaged over their posterior; ``"fitted"``: at their maximum likelihood; ``"uniform"`` and
        ``"jeffreys"``: the same for all models.

    Returns
    -------
    Results
        By question: the mean ``score`` over models, ``n_solved`` (models that answered it right at least once),
        ``difficulty`` and ``se`` in logits (1PL model), ``discrimination`` (correlation with the score on the other
        questions), ``tau`` with its ``p_value`` (exact for fewer than ten models). By model: ``score``, ``p_correct``
        with ``low`` and ``high``, and ``logit``.

    Raises
    ------
    InputError
        If no benchmark has scores of 0 and 1, or an argument is not allowed.

    Notes
    -----
    The 1PL model says P(correct) = 1 / (1 + exp(-(t - b))) for the ability t of a model and the difficulty b of a
    question [1]_ [2]_. `tau` is Kendall's tau-b between the models' means on the question and on all others; where it
    is clearly negative, better models do worse on the question, and its label may be wrong.

    References
    ----------
    .. [1] Rasch (1960), Probabilistic models for some intelligence and attainment tests.
    .. [2] Zhang et al. (2025), Beyond the Singular, section 3.1 and appendix B.

    Examples
    --------
    >>> import howsure as hs
    >>> scores = [[[1, 1], [1, 0], [0, 0]], [[1, 1], [0, 0], [1, 0]]]
    >>> cells = hs.Cells.from_scores("demo", ["a", "b"], ["q1", "q2", "q3"], scores)
    >>> hs.questions(cells)["score"].tolist(), hs.questions(cells, by="model")["p_correct"].shape
    ([0.25, 0.25, 1.0], (6,))
    """
    check_choice("by", by, QUESTION_ROWS)
    check_choice("prior", prior, QUESTION_PRIORS)
    check_level(level)
    if by == "model":
        return Results(
            tuple(
                apply_to_binary(
                    data,
                    lambda cells: question_statistics.estimate_p_correct(cells, prior=prior, level=level),
                    "P(correct)",
                )
            )
        )
    return Results(tuple(apply_to_binary(data, question_statistics.describe_questions, "difficulty")))


def beta_fits(
    data: CellsLike,
    *,
    by: BetaRows = "model",
    zero: bool = False,
    edges: Sequence[float] = (0, 0.2, 0.4, 0.6, 0.8, 1),
) -> Results:
    r"""Fit Beta distributions to P(correct) over the questions of each model, or of models of similar score together.

    Parameters
    ----------
    data
        As for `howsure.score`; scores must be 0 and 1, with several generations of a question.
    by
        ``"model"``: a row per model. ``"score"``: a row per range of scores, fitted to all generations of its models.
    zero
        Whether questions that are never answered right have a probability of their own, the mass at 0.
    edges
        With `by` ``"score"``: limits of the ranges, which increase and hold the score of every model; a range is closed
        below and open above, the last closed.

    Returns
    -------
    Results
        A row per benchmark and model or range: ``mean`` and ``concentration`` of the Beta distribution, ``a`` and
        ``b``, the mass at 0 (``zero``) and ``log_likelihood``.

    Raises
    ------
    InputError
        If no benchmark has scores of 0 and 1, or an argument is not allowed.

    Notes
    -----
    Maximum likelihood of c of k right generations of each question [1]_

    .. math::

        P(c) = z \, 1\{c = 0\} + (1 - z) \binom{k}{c} \frac{B(a + c, b + k - c)}{B(a, b)}

    With a + b = 1 the error of a difference is that of the Beta theory, sqrt(p(1-p)/N). `howsure.figures.beta_fits`
    draws the fits over the observed means.

    References
    ----------
    .. [1] "NOISE" in docs/statistics.md, section 4.2.1 and appendix B.

    Examples
    --------
    >>> import howsure as hs
    >>> cells = hs.Cells.from_scores("demo", ["a"], list("pqrs"), [[[1, 1, 1], [1, 0, 1], [0, 0, 0], [0, 1, 0]]])
    >>> hs.beta_fits(cells)["mean"].round(2).tolist()
    [0.5]
    """
    check_choice("by", by, BETA_ROWS)

    def fit(cells: Cells) -> Result:
        return fit_beta(pool_by_score(cells, edges) if by == "score" else cells, zero=zero)

    return Results(tuple(apply_to_binary(data, fit, "a Beta fit")))


def apply_to_binary(data: CellsLike, compute: Callable[[Cells], OneResult], what: str) -> list[OneResult]:
    """Return the results of models with scores of 0 and 1; warn of others, raise InputError where there are none."""
    binary: list[Cells] = []
    others: list[str] = []
    for cells in to_cells(data):
        models = cells.models if cells.binary else [model for model in cells.models if cells.select([model]).binary]
        some = cells if len(models) == len(cells.models) else cells.select(models)
        if some.answered.any():
            binary.append(some)
            others += [f"for {model} on {cells.benchmark}" for model in cells.models if model not in models]
        else:
            others.append(f"on {cells.benchmark}")
    if others:
        line = f"{what} needs scores of 0 and 1; not so {list_first(others)}"
        if not binary:
            more = ", or the least score that is right with --pass-at" if what == "pass@k" else ""
            raise InputError(line, remedy=f"choose a scorer that gives 0 or 1 with --scorer{more}")
        warn(Note("not-binary", facts={"what": what, "others": list_first(others)}), stacklevel=3)
    return [compute(cells) for cells in binary]


def _count_right(data: CellsLike, pass_at: float | None) -> CellsLike:
    """Return results whose scores say whether an attempt is right; graded ones from 0 to 1 are so at 1 by default."""
    opened = open_or_list(data)
    if pass_at is not None or not isinstance(opened, Evaluations):
        return count_passes(opened, pass_at)
    cells = opened.cells()
    graded = [one.benchmark for one in cells if one.unit and not one.binary]
    if not graded:
        return opened
    warn(Note("right-at-1", benchmarks=tuple(graded), facts={"names": list_first(graded)}), stacklevel=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)  # reading the cells has raised the same warnings
        at_1 = {one.benchmark: one for one in opened.count_passes(1).cells()}
    return [at_1[one.benchmark] if one.benchmark in graded else one for one in cells]


def _require_answers(data: CellsLike) -> list[AnswerCounts]:
    """Return the answers of each benchmark; raise InputError where there are none."""
    is_cells = isinstance(data, Cells) or (
        isinstance(data, (list, tuple)) and any(isinstance(one, Cells) for one in data)
    )
    answers = [] if is_cells else [one for one in to_answers(cast("Data", data)).values() if one.parsed.any()]
    if not answers:
        remedy = (
            "give run folders or logs that have answers, name the column of a table that has those of the models with "
            "--columns answer=COLUMN (a column 'answer' may be the right one), or leave majority out"
        )
        raise InputError("there are no answers, which majority@k needs", remedy=remedy)
    return answers


def _choose_numbers(most: int, numbers: Sequence[int] | None) -> list[int]:
    """Return the numbers of attempts, by default those that `most` generations allow."""
    return [k for k in _NUMBERS_OF_ATTEMPTS if k <= most] if numbers is None else list(numbers)
