"""Evidence that generations are not independent: copies of each other, or retries until one is right.

Every error that this package reports takes the generations of a question for independent draws. A cache, a fixed seed
or temperature 0 makes copies: k of them are worth one, and errors for these questions are too small. A program that
asks again until an answer is right makes the score too high: a question then has at most one right answer, its last.
A seed that the questions of a repetition share makes their scores rise and fall together, which no error includes.

Each sign is one that independent generations show with a probability of at most `CHANCE` for a model on a benchmark,
whatever the probabilities of its answers are; the one exception is `find_unvaried`, whose Notes state what it assumes.
The test of shared noise, which is exact where the others are bounds, is adjusted for the number of models.
Few questions that vary are not enough for any sign. Drawn anew from published question means, 20 times for each of 129
models with 2, 3, 4, 5 and 10 generations, nothing showed a sign. Of results stored twice .98 and more were found on
math500_cot (500 questions), all on CRUXEval-output (800), but .04 to .64 on aime2024_cot (30); of retries up to 5 times
all, all and .56. Two generations that are copies of one model show no sign on 30 questions: only their texts can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.notes import Note
from howsure.stats.core.cells import Cells, FloatArray, IntArray, is_binary
from howsure.stats.core.intervals import log_choose
from howsure.stats.repeats.runs import align_runs, compare_run_totals, find_copied_runs

__all__ = [
    "CHANCE",
    "SHARE",
    "bound_equal_texts",
    "bound_uniform_replies",
    "compute_request_p_value",
    "describe_dependence",
    "find_copied_generations",
    "find_multiples",
    "find_retries",
    "find_shared_noise",
    "find_unvaried",
]

#: Largest probability that independent generations show a sign, for each model of a benchmark and each sign.
CHANCE = 1e-3
#: Smallest share of p(1-p) that the variance from sampling has in published results at a temperature above 0: .10 (of
#: gpt-4-0613 on CRUXEval-output; 129 models on math500_cot, aime2024_cot and CRUXEval-output, .29 for the next lowest).
SHARE = 0.1
#: A model is assumed to vary at least this part as much as the median of the other models.
_OF_MEDIAN = 1 / 3
#: Smallest variance of the score sum of a generation for which its distribution is near enough to a normal one.
_LEAST_VARIANCE = 5.0
#: Questions of a model that are compared before all are.
_FIRST_LOOK = 100
#: Scores that are compared between sources at most.
_MOST = 50_000_000
#: Fewest prompts with several requests, scores that differ, and a request of several generations.
_FEWEST_CELLS = 20
_ODD, _EVEN = np.uint64(0xAAAAAAAAAAAAAAAA), np.uint64(0x5555555555555555)


def find_unvaried(cells: Cells) -> NDArray[np.bool_]:
    """Find models whose generations of each question all score the same, too unlikely by chance, shape (M,).

    Scores have to be 0 and 1. Questions of one generation do not count.

    Notes
    -----
    With v_q = p_q (1 - p_q), k_q >= 2 generations of a question score the same with probability p_q^k_q + (1 - p_q)^k_q
    <= (1 - 2 v_q)^(k_q / 2) <= exp(-k_q v_q), and all questions do with at most exp(-sum_q k_q v_q). The scores alone
    do not say what v_q is where nothing varied: it is assumed to be h p (1 - p) on average, with p the score and h the
    larger of `SHARE` and a third of the median of E / (p (1 - p)) over the other models, E their prediction variance.
    Where no model varied, the probabilities with h = `SHARE` are multiplied: all models are found or none. A model that
    varies less (temperature 0 in the limit) is found more often, and rightly so: its generations are copies.
    """
    several = cells.n > 1
    is_binary_model = _binary(cells)
    alike: NDArray[np.bool_] = is_binary_model & np.all(
        ~several | (cells.total == 0) | (cells.total == cells.n), axis=1
    )
    if not alike.any():
        return alike
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.sum(cells.mean, axis=1, where=several) / np.sum(several, axis=1)
        variance = p * (1 - p)
        share = np.sum(np.nan_to_num(cells.within), axis=1, where=several) / np.sum(several, axis=1) / variance
    # log of 1 over the probability that all generations are alike, for h = 1
    evidence = np.nan_to_num(variance * np.sum(cells.n, axis=1, where=several))
    if np.array_equal(alike, is_binary_model) and SHARE * evidence.sum(where=alike) > -np.log(CHANCE):
        return np.asarray(alike & (evidence > 0))
    is_copied = np.zeros(len(cells.models), bool)
    for m in np.flatnonzero(alike):
        others = np.delete(share, m)[np.delete(is_binary_model, m)]
        others = others[np.isfinite(others)]
        least_share = max(SHARE, _OF_MEDIAN * float(np.median(others))) if len(others) else SHARE
        is_copied[m] = least_share * evidence[m] > -np.log(CHANCE)
    return is_copied


def find_multiples(cells: Cells) -> IntArray:
    """Find how often each generation seems to be stored, shape (M,); 1 without evidence of more.

    A c of which every count of generations and every count of right answers is a multiple, where chance would hardly
    make it so. Scores have to be 0 and 1.

    Notes
    -----
    Where the order of the generations is known, they may repeat as a block or one by one: given t right ones of n, a
    question does either by chance in C(n/c, t/c) of C(n, t) orders.

    Else: given that some but not all of the n generations of a question are right, a binomial number of right answers
    is a multiple of c with a probability that is below 1 for every p: its largest value over p, multiplied over the
    questions, bounds the chance. For n = 4 and c = 2 it is 3/7.
    """
    multiple = np.ones(len(cells.models), np.int64)
    has_counts = _binary(cells) & np.all(cells.total == np.rint(cells.total), axis=1)
    for m in np.flatnonzero(has_counts):
        n, total = cells.n[m], cells.total[m].astype(np.int64)
        c = int(np.gcd.reduce(np.gcd(n, total)))
        inner = n[(total > 0) & (total < n)]
        if c > 1 and cells.outcomes is not None and (times_stored := _repeating(cells.outcomes[m], n, total, c)) > 1:
            multiple[m] = times_stored
        elif c > 1 and inner.size:
            sizes, times = np.unique(inner, return_counts=True)
            bounds = np.array([_multiple_bound(int(size), c) for size in sizes])
            multiple[m] = c if float(times @ np.log(bounds)) < np.log(CHANCE) else 1
    return multiple


def _repeating(outcomes: NDArray[np.uint64], n: IntArray, total: IntArray, largest: int) -> int:
    """Return how often generations repeat as a block or one by one, a divisor of `largest`; 1 if chance may do so."""
    digits = _digits(outcomes)
    for c in range(largest, 1, -1):
        if largest % c or len(digits) % c:
            continue
        chance = np.sum(log_choose(n // c, total // c) - log_choose(n, total))
        blocks, singly = digits.reshape(c, -1, digits.shape[1]), digits.reshape(-1, c, digits.shape[1])
        repeats = np.all(blocks == blocks[:1]) or np.all(singly == singly[:, :1])
        if repeats and chance + np.log(2) < np.log(CHANCE):
            return c
    return 1


@lru_cache(maxsize=1024)
def _multiple_bound(n: int, c: int) -> float:
    """Return the largest probability over p that a binomial number from 1 to n - 1 is a multiple of c."""
    t = np.arange(1, n)
    logit = np.linspace(-12, 12, 241)[:, None]
    # Binomial terms up to a factor that does not depend on t
    log = log_choose(n, t) + t * logit
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    return float(np.max(np.sum(weight[:, t % c == 0], axis=1) / np.sum(weight, axis=1)))


def find_copied_generations(outcomes: NDArray[np.uint64]) -> list[tuple[int, int]]:
    """Find pairs of generations of one model that agree on all questions, too unlikely by chance.

    Parameters
    ----------
    outcomes
        Scores of the model's generations in their order, shape (N,), as `Cells.outcomes` has them.

    Returns
    -------
    Places of the generations from 0 on, the lower one first.

    Notes
    -----
    If the generations of a question are as good as shuffled, two given ones agree with the share of its pairs that do,
    1 - 2 t (n - t) / (n (n - 1)) for t right ones of n: given the counts, the probability that they agree on all
    questions is exactly the product, and it is multiplied by the number of pairs (Bonferroni). Two generations in all
    have no third one to distinguish copies from a model that does not vary: see `find_unvaried`.
    """
    one, right = _count_bits(outcomes & _EVEN), _count_bits(outcomes & _ODD)
    n = one + right
    varied = np.flatnonzero((one > 0) & (right > 0) & (n > 2))
    if not varied.size:
        return []
    is_there = _present(outcomes).any(axis=1)
    look = varied[:: -(-varied.size // _FIRST_LOOK)]
    if varied.size > look.size:
        may_agree = _agreeing(outcomes[look], n[look], right[look])[0]
        # a generation that no question of the first look has is not known to differ
        if may_agree.size == is_there.size**2 and not np.triu(may_agree[np.ix_(is_there, is_there)], 1).any():
            return []
    agree, log_chance = _agreeing(outcomes, n, right)
    pairs = int(np.sum(is_there))
    is_unlikely = log_chance < np.log(CHANCE) - np.log(max(pairs * (pairs - 1) / 2, 1))
    return [(int(i), int(j)) for i, j in np.argwhere(np.triu(agree & is_unlikely, 1))]


def find_shared_noise(outcomes: NDArray[np.uint64]) -> tuple[float, float]:
    """Test whether the scores of generations with the same number rise and fall together over the questions.

    Independent generations of different questions do not. They do where all questions share a seed in each repetition
    (a server that restarts its sequence of seeds, a program that sets the seed to the number of the repetition), and
    where the model or its settings changed between repetitions. No error over questions includes such noise.

    Parameters
    ----------
    outcomes
        Scores of the model's generations in their order, shape (N,), as `Cells.outcomes` has them.

    Returns
    -------
    p, factor
        The chance that independent generations differ so much from one number to the next, and how many times too small
        the error of the score for these questions is. NaN where the scores vary too little to tell.

    Notes
    -----
    The test is that of `check_drift`, with generations of the same number as runs. For complete data its statistic,
    divided by its degrees of freedom, is the variance of the means of the runs over the one that independence gives, so
    the factor is the square root of that.

    Examples
    --------
    >>> seeds = np.random.default_rng(1).random(4)  # one for each number, shared by 40 questions
    >>> right = seeds < np.linspace(0.2, 0.8, 40)[:, None]
    >>> p, factor = find_shared_noise(((1 + right) * 4 ** np.arange(4)).sum(axis=1).astype(np.uint64))
    >>> p < 1e-6, factor > 3
    (True, True)
    """
    digits = _digits(outcomes)
    k, total = (digits > 0).astype(float), (digits == 2).astype(float)
    n, right = k.sum(axis=0), total.sum(axis=0)
    variance = np.divide(right * (n - right), n * np.maximum(n - 1, 1), out=np.zeros(n.shape), where=n > 1)
    common = (k @ variance) >= _LEAST_VARIANCE
    if common.sum() < 2:
        return np.nan, np.nan
    total, k = total[common], k[common]
    statistic, df, _ = compare_run_totals(k, total, total.sum(axis=0))
    return (float(special.chdtrc(df, statistic)), float(np.sqrt(statistic / df))) if df else (np.nan, np.nan)


def compute_request_p_value(cell: IntArray, request: IntArray, score: FloatArray) -> float:
    """Test whether generations of one request score more alike than those of several requests for one prompt.

    They do where a router sends requests to deployments that differ, or where a reply's choices share a seed.

    Parameters
    ----------
    cell, request
        Index of the prompt and of the request of each generation of a model, shape (R,).
    score
        Its score, shape (R,).

    Returns
    -------
    p
        One-sided p-value; NaN where too few prompts have several requests of which one has several generations.

    Notes
    -----
    If the n scores of a prompt, with the unbiased variance s^2, are put into its R requests at random, the sum over
    requests of n_r (mean_r - mean)^2 is (R - 1) s^2 on average. The p-value is that of Student's t for the sum of the
    deviations from it over prompts, each scaled by itself.

    Examples
    --------
    >>> cell, request = np.repeat(np.arange(99), 4), np.repeat(np.arange(198), 2)
    >>> right = (np.random.default_rng(1).random(198) < 0.5).astype(float)  # both choices of a reply score the same
    >>> compute_request_p_value(cell, request, right[request]) < 1e-6
    True
    """
    place = np.unique(np.stack([cell, request]), axis=1, return_inverse=True)[1].ravel()
    per_request, of_cell = np.bincount(place).astype(float), np.zeros(place.max(initial=-1) + 1, np.int64)
    of_cell[place] = cell
    n, R = np.bincount(cell).astype(float), np.bincount(of_cell, minlength=cell.max(initial=-1) + 1).astype(float)
    centred = score - (np.bincount(cell, weights=score) / np.maximum(n, 1))[cell]
    square = np.bincount(cell, weights=centred**2) / np.maximum(n - 1, 1)
    sums = np.bincount(place, weights=centred)
    between = np.bincount(of_cell, weights=sums**2 / per_request, minlength=len(n))
    tells = (R > 1) & (n > R) & (square > 0)
    excess = (between - (R - 1) * square)[tells]
    size = np.sqrt(np.sum(excess**2))
    if len(excess) < _FEWEST_CELLS or not size:
        return np.nan
    return float(special.stdtr(len(excess), -excess.sum() / size))


def _count_bits(values: NDArray[np.uint64]) -> IntArray:
    """Return the number of bits that are set."""
    return np.bitwise_count(values).astype(np.int64)


def _digits(outcomes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return base-4 digits, shape (26, N), for as many generations as there are."""
    top = int(outcomes.max(initial=np.uint64(0))).bit_length()
    return (outcomes >> np.arange(0, max(top, 1), 2, dtype=np.uint64)[:, None]) & np.uint64(3)


def _present(outcomes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return whether each generation exists, shape (26, N)."""
    return _digits(outcomes) > 0


def _agreeing(outcomes: NDArray[np.uint64], n: IntArray, right: IntArray) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which generations agree on all common questions, and the log probability of it, shape (G, G) each."""
    digits = _digits(outcomes)
    there = (digits > 0).astype(float)
    signs = np.where(digits == 2, 1.0, -there)
    share = 1 - 2 * right * (n - right) / np.maximum(n * (n - 1), 1)
    log = np.log(np.where(share > 0, share, 1))  # where no pair agrees, none is counted as agreeing below
    return signs @ signs.T == there @ there.T, (there * log) @ there.T


def find_retries(cells: Cells) -> NDArray[np.bool_]:
    """Find models whose questions seem to be repeated until an answer is right, shape (M,).

    That is where no question has more than one right answer, questions without one have the most generations, others
    have fewer, and the right answer is the last one wherever the order is known.

    Notes
    -----
    If counts do not depend on answers, more generations have more right answers, so the F questions without one have
    the highest count by chance with at most the hypergeometric probability C(A, F) / C(N, F), where A of N questions
    have that count. Given counts and answers, the single right one of n is the last with probability 1/n. The product
    of both is at most `CHANCE`.
    """
    single = _binary(cells) & np.all((cells.total == 0) | (cells.total == 1), axis=1)
    is_retried = np.zeros(len(cells.models), bool)
    for m in np.flatnonzero(single):
        answered = cells.answered[m]
        n, solved = cells.n[m][answered], cells.total[m][answered] == 1
        most = n == n.max(initial=0)
        if not (np.any(solved & ~most) and np.all(most[~solved])):
            continue
        unsolved = np.sum(~solved)
        log = float(log_choose(np.sum(most), unsolved) - log_choose(np.array(len(n)), unsolved))
        if cells.outcomes is not None and np.all(is_last_known := cells.outcomes[m][answered][solved] > 0):
            last = np.frexp(cells.outcomes[m][answered][solved].astype(float))[1] % 2 == 0  # the first digit is 2
            if not np.all(last & is_last_known):
                continue
            log -= float(np.sum(np.log(n[solved])))
        is_retried[m] = log < np.log(CHANCE)
    return is_retried


def _binary(cells: Cells) -> NDArray[np.bool_]:
    """Return which models have scores of 0 and 1 only, and several generations of some question, shape (M,)."""
    nothing = [None] * len(cells.models)
    extremes = (nothing if each is None else each for each in (cells.minimum, cells.maximum))
    rows = zip(cells.n, cells.total, cells.total_sq, *extremes, strict=True)
    return np.array([bool(np.any(row[0] > 1) and np.all(is_binary(*row))) for row in rows], bool)


def describe_dependence(parts: Sequence[Cells], merged: Cells) -> Iterator[Note]:
    """Yield a note for each sign that generations of a benchmark are not independent.

    Parameters
    ----------
    parts
        Cells of each source; the outcomes of its generations are compared within it, and sources with each other.
    merged
        Their sum.

    Yields
    ------
    A note for each sign: models, benchmark, evidence, and how to read the data without it.
    """
    again = find_retries(merged)
    if names := _named(merged, again):
        yield _make_note("retries-until-right", merged, names)
    same = find_unvaried(merged) & ~again
    if names := _named(merged, same):
        yield _make_note("equal-generations", merged, names)
    times = np.where(again | same, 1, find_multiples(merged))
    for c in np.unique(times[times > 1]).tolist():
        yield _make_note("stored-several-times", merged, _named(merged, times == c), times=c)
    explained = {merged.models[m] for m in np.flatnonzero(again | same | (times > 1))}
    for part in parts:
        yield from _within(part, explained)
    if len(parts) > 2 and merged.n.size * len(parts) <= _MOST:
        sums, each = align_runs(parts)
        if names := _named(
            sums, find_copied_runs(sums, each, CHANCE) & [model not in explained for model in sums.models]
        ):
            yield _make_note("equal-sources", merged, names)


def _make_note(code: str, cells: Cells, models: str, **facts: object) -> Note:
    """Return a note on models of a benchmark."""
    facts |= {"models": models, "benchmark": cells.benchmark}
    return Note(code, benchmarks=(cells.benchmark,), facts=facts)


def _within(part: Cells, explained: set[str]) -> Iterator[Note]:
    """Yield notes on generations of one source that are copies of each other."""
    if part.outcomes is None:
        return
    for model, outcomes in zip(part.models, part.outcomes, strict=True):
        if model in explained:
            continue
        if not (pairs := find_copied_generations(outcomes)):
            p, factor = find_shared_noise(outcomes)
            M = len(part.models)
            if M * p < CHANCE:  # of many models one is far off by chance
                evidence = f"p {M * p:.1g}" + (f", adjusted for {M} models" if M > 1 else "")
                yield _make_note("shared-noise", part, model, evidence=evidence, factor=factor)
            continue
        more = f" and {len(pairs) - 1} more pairs" if len(pairs) > 1 else ""
        i, j = pairs[0]
        facts = {"first": _ordinal(i + 1), "second": _ordinal(j + 1), "more": more}
        yield _make_note("copied-generations", part, model, **facts)


def _ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, ..."""
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _named(cells: Cells, where: NDArray[np.bool_]) -> str:
    """Return the names of up to three models, and the number of the others."""
    names = [cells.models[m] for m in np.flatnonzero(where)]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more models" if len(names) > 3 else "")


def bound_equal_texts(nats: FloatArray, n_texts: IntArray) -> FloatArray:
    """Bound the log probability that all texts of a prompt are equal, though they are independent draws.

    Parameters
    ----------
    nats
        For each prompt -log of the probability that two of its texts are equal (its collision entropy, in nats), at
        least 0, shape (P,).
    n_texts
        Number of its texts, at least 2, shape (P,).

    Returns
    -------
    FloatArray
        Natural logarithm of the largest probability, shape (P,); 0 where it is 1.

    Notes
    -----
    With text probabilities p_i, two texts are equal with q = sum p_i^2 = exp(-nats). No p_i exceeds q^(1/2), so that
    k >= 2 texts are equal with sum p_i^k <= max p_i^(k - 2) q <= q^(k/2).

    Examples
    --------
    >>> bound_equal_texts(np.array([2.0, 2.0]), np.array([2, 5])).tolist()
    [-2.0, -5.0]
    """
    return np.asarray(-np.asarray(nats, float) * n_texts / 2)


def bound_uniform_replies(n_replies: IntArray, n_texts: IntArray) -> FloatArray:
    """Bound the log probability that each reply to a prompt holds one text only, given that their first texts differ.

    Parameters
    ----------
    n_replies
        Number of replies to each prompt, at least 2, shape (P,).
    n_texts
        Number of texts in each of its replies, at least 1, shape (P,).

    Returns
    -------
    FloatArray
        Natural logarithm of the bound for independent draws of all texts, at most 0, shape (P,).

    Notes
    -----
    If one of the r replies of n texts holds another text than the others, and all r n texts are put into the replies
    at random, each reply holds one text with probability r / C(r n, n). Given that the first texts of the replies
    differ, twice that is taken. The exact probability of texts with the probabilities p_i is
    ((sum p_i^n)^r - sum p_i^(r n)) / (1 - sum p_i^r); the tests compare it with the bound.

    Examples
    --------
    >>> np.exp(bound_uniform_replies(np.array([2, 2]), np.array([2, 5]))).round(4).tolist()
    [0.6667, 0.0159]
    """
    r, n = np.asarray(n_replies, float), np.asarray(n_texts, float)
    return np.asarray(np.minimum(np.log(2 * r) - log_choose(r * n, n), 0))
