"""Copies and retries in the scores. Kinds of truth: theory (exact chances by enumeration and shuffling); by construction
(planted copies and retries); simulation (false alarms)."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.long_cases import mark_long
from helpers.noted import noted

import howsure
from howsure.errors import HowsureWarning, InputError
from howsure.notes import Note
from howsure.stats.comparisons.providers import providers
from howsure.stats.core.cells import MOST_OUTCOMES, Cells
from howsure.stats.repeats.independence import (
    CHANCE,
    _multiple_bound,
    _ordinal,
    bound_equal_texts,
    bound_uniform_replies,
    describe_dependence,
    find_copied_generations,
    find_multiples,
    find_retries,
    find_shared_noise,
    find_unvaried,
)
from howsure.stats.repeats.prediction_intervals import repeats


def of(scores):
    """Cells of scores of shape (M, N, k), or of ragged lists."""
    scores = [[list(cell) for cell in row] for row in scores]
    return Cells.from_scores(
        "b", [f"m{i}" for i in range(len(scores))], [str(j) for j in range(len(scores[0]))], scores
    )


def drawn(rng, p, k, models=1):
    return (rng.random((models, len(p), k)) < np.asarray(p)[:, None]).astype(float)


def until_right(rng, p, most):
    """Attempts at each question: the last one is right, or the `most`-th."""
    tries = [(rng.random(most) < each).tolist() for each in p]
    return [[float(x) for x in (t[: t.index(True) + 1] if True in t else t)] for t in tries]


def said(cells):
    return list(describe_dependence([cells], cells))


def test_outcomes_are_digits_in_the_order_of_generations():
    cells = of([[[1, 0, 1], [0], []]])
    assert cells.outcomes.tolist() == [[2 + 4 + 2 * 16, 1, 0]]
    assert of([[[1] * (MOST_OUTCOMES + 1)]]).outcomes is None
    assert (cells + cells).outcomes is None
    assert cells.select(questions=["1", "0"]).outcomes.tolist() == [[1, 38]]
    apart = Cells.from_scores("b", ["m0"], ["3"], [[[1]]])
    assert (cells + apart).outcomes.tolist() == [[38, 1, 0, 2]]


def test_two_shuffled_generations_agree_as_often_as_said():
    """Theory: all orders of each question's scores, of which the share is counted in which two generations agree."""
    rights = [1, 2, 1, 3]
    agree = [
        np.mean([order[0] == order[1] for order in itertools.permutations([1] * right + [0] * (4 - right))])
        for right in rights
    ]
    n, right = np.full(4, 4), np.array(rights)
    assert 1 - 2 * right * (n - right) / (n * (n - 1)) == pytest.approx(agree)


def test_copies_among_generations_are_found_and_named():
    rng = np.random.default_rng(0)
    scores = drawn(rng, rng.beta(0.6, 0.4, 100), 4)
    assert find_copied_generations(of(scores).outcomes[0]) == []
    scores[0, :, 3] = scores[0, :, 1]
    assert find_copied_generations(of(scores).outcomes[0]) == [(1, 3)]
    [note] = said(of(scores))
    assert note.code == "copied-generations"
    assert note.text.startswith("the 2nd and the 4th generation of m0 on b have the same score on all questions")
    missing = of([[row[: 4 if j % 3 else 3] for j, row in enumerate(scores[0].tolist())]])
    assert find_copied_generations(missing.outcomes[0]) == [(1, 3)]
    scores[0, 7, 3] = 1 - scores[0, 7, 3]
    assert find_copied_generations(of(scores).outcomes[0]) == []


@pytest.mark.long
@pytest.mark.parametrize("p", [0.002, 0.02, 0.2, 0.5], ids=str)
@pytest.mark.parametrize("k", [3, 4, 10])
def test_independent_generations_are_seldom_taken_for_copies(p, k):
    """Simulation: 800 models that are nearly deterministic, or not, on 40 questions; .001 of them at most."""
    rng = np.random.default_rng(k)
    side = np.where(np.arange(40) < 20, p, 1 - p)
    cells = of(drawn(rng, side, k, models=800).tolist())
    found = np.array([bool(find_copied_generations(row)) for row in cells.outcomes])
    assert found.sum() <= 800 * CHANCE + 3 * math.sqrt(800 * CHANCE)
    assert np.sum(find_multiples(cells) > 1) <= 800 * CHANCE + 3 * math.sqrt(800 * CHANCE)
    assert not find_retries(cells).any()


@pytest.mark.parametrize(("n", "c"), [(4, 2), (6, 2), (6, 3), (10, 2), (10, 5), (50, 2)])
def test_the_chance_of_a_multiple_is_bounded(n, c):
    """Theory: binomial probabilities at 2,000 values of p."""
    p = np.linspace(1e-4, 1 - 1e-4, 2000)[:, None]
    t = np.arange(1, n)
    weight = [math.comb(n, x) for x in t] * p**t * (1 - p) ** (n - t)
    share = weight[:, t % c == 0].sum(axis=1) / weight.sum(axis=1)
    assert share.max() <= _multiple_bound(n, c) + 1e-6
    assert _multiple_bound(n, c) < 0.75
    assert _multiple_bound(4, 2) == pytest.approx(3 / 7)


def test_the_order_of_copies_is_known_by_few_questions():
    """Theory: 5 generations stored twice, three questions with 2 of 5 right: 2 (10/210)^3 < .001 < 2 (10/210)^2."""
    fresh = [[0, 1, 0, 0, 1], [1, 0, 0, 1, 0], [0, 0, 0, 1, 1], [0] * 5, [1] * 5]
    for repeat in (lambda row: row * 2, lambda row: [x for x in row for _ in range(2)]):
        cells = of([[repeat(row) for row in fresh]])
        assert find_multiples(cells).tolist() == [2]
        assert find_multiples(cells.select(questions=["0", "1", "3", "4"])).tolist() == [1]
        assert find_multiples(Cells("b", cells.models, cells.questions, cells.n, cells.total, cells.total_sq)) == [1]
    orders = list(itertools.permutations([1, 1, 0, 0]))  # of 2 right in 4, blocks repeat in C(2, 1) of C(4, 2)
    assert np.mean([order[:2] == order[2:] for order in orders]) == pytest.approx(2 / 6)


def test_generations_that_are_stored_an_odd_number_of_times():
    """By hand: 0, 2 or 4 of 4 generations are right, stored three times: all counts are multiples of 6, and 3 is found."""
    fresh = [[1, 1, 0, 0], [1, 0, 0, 1], [0, 1, 0, 1], [0] * 4, [1] * 4]
    for repeat in (lambda row: row * 3, lambda row: [x for x in row for _ in range(3)]):
        assert find_multiples(of([[repeat(row) for row in fresh]])).tolist() == [3]


def test_ordinal_numbers():
    numbers = (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 111, 112, 113, 121)
    assert " ".join(map(_ordinal, numbers)) == ("1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 23rd 111th 112th 113th 121st")


def test_generations_that_are_stored_several_times():
    rng = np.random.default_rng(1)
    scores = drawn(rng, rng.beta(0.6, 0.4, 60), 5)
    twice = of(np.concatenate([scores, scores], axis=2))
    assert find_multiples(of(scores)).tolist() == [1]
    assert find_multiples(twice).tolist() == [2]
    assert find_multiples(of(np.concatenate([scores] * 6, axis=2))).tolist() == [6]
    facts = {"models": "m0", "benchmark": "b", "times": 2}
    assert said(twice) == [Note("stored-several-times", benchmarks=("b",), facts=facts)]
    # the same file read twice as if it were two
    [note] = describe_dependence([of(scores), of(scores)], of(scores) + of(scores))
    assert (note.code, note.facts["times"]) == ("stored-several-times", 2)
    few = drawn(rng, [0.5] * 4, 2)
    assert said(of(np.concatenate([few, few], axis=2))) == []  # too few questions vary


def test_scores_that_never_vary():
    rng = np.random.default_rng(2)
    first = (rng.random((1, 200, 1)) < 0.5).astype(float)
    same = of(np.repeat(first, 2, axis=2))
    assert find_unvaried(same).all()
    assert [note.code for note in said(same)] == ["equal-generations"]
    varied = np.repeat(first, 2, axis=2)
    varied[0, 0, 0] = 1 - varied[0, 0, 0]
    for nothing in (of(varied), of(first), of(np.zeros((1, 500, 3))), of(np.repeat(first[:, :30], 2, axis=2))):
        assert said(nothing) == []
    assert said(of(np.repeat(0.3 * first, 2, axis=2))) == []


@pytest.mark.long
def test_models_that_vary_as_little_as_published_ones_seldom_never_vary():
    """Simulation: sampling has a tenth of p(1-p), two generations of the fewest questions that can be noted."""
    p = np.array([0.5 - math.sqrt(0.225)] * 70 + [0.5 + math.sqrt(0.225)] * 70)  # p (1 - p) = .025 each
    assert np.mean(p * (1 - p)) == pytest.approx(0.1 * 0.25)
    cells = of(drawn(np.random.default_rng(3), p, 2, models=1500).tolist())
    assert find_unvaried(cells).sum() <= 1500 * CHANCE + 3 * math.sqrt(1500 * CHANCE)
    assert find_unvaried(of(np.repeat(drawn(np.random.default_rng(3), p, 1), 2, axis=2))).all()


def test_a_run_and_its_copy_of_100_questions_are_found_together():
    """Each of three models alone is no evidence (exp(-4.8) for h = .1); the three together are exp(-14)."""
    rng = np.random.default_rng(4)
    p = rng.beta(0.6, 0.4, 100)
    copied = np.repeat(drawn(rng, p, 1, models=3), 2, axis=2)
    assert find_unvaried(of(copied)).tolist() == [True, True, True]
    assert find_unvaried(of(copied[:1])).tolist() == [False]
    independent = drawn(rng, p, 2, models=3)
    assert not find_unvaried(of(independent)).any()


def test_a_model_that_does_not_vary_is_found_sooner_beside_others_that_do():
    rng = np.random.default_rng(5)
    p = rng.beta(2, 2, 100)  # E / (p (1 - p)) is .8: a third of it is more than .1
    scores = drawn(rng, p, 2, models=4)
    scores[0, :, 1] = scores[0, :, 0]
    assert find_unvaried(of(scores)).tolist() == [True, False, False, False]
    assert find_unvaried(of(scores[:1])).tolist() == [False]


def test_retries_until_right():
    rng = np.random.default_rng(4)
    cells = of([until_right(rng, rng.beta(0.6, 0.6, 60), 5)])
    assert find_retries(cells).all()
    assert [(note.code, note.facts["models"]) for note in said(cells)] == [("retries-until-right", "m0")]
    unordered = Cells("b", cells.models, cells.questions, cells.n, cells.total, cells.total_sq)
    assert find_retries(unordered).all()  # the counts alone show it
    mixed = of([[row[::-1] for row in until_right(rng, [0.5] * 60, 5)]])
    assert not find_retries(mixed).any()  # the right answer comes first
    both = of([until_right(rng, rng.beta(0.6, 0.6, 60), 5), drawn(rng, [0.5] * 60, 3)[0].tolist()])
    assert find_retries(both).tolist() == [True, False]


@pytest.mark.long
@pytest.mark.parametrize("p", [0.02, 0.1, 0.3], ids=str)
def test_counts_that_do_not_depend_on_answers_are_seldom_taken_for_retries(p):
    """Simulation: one to five generations of each of 12 hard questions, so that one right answer or none is usual."""
    rng = np.random.default_rng(5)
    models = [
        [(rng.random(rng.choice([1, 5], p=[0.2, 0.8])) < p).astype(float) for _ in range(12)] for _ in range(2000)
    ]
    cells = of(models)
    allowed = 1000 * CHANCE + 3 * math.sqrt(1000 * CHANCE)
    assert find_retries(cells).sum() <= allowed
    unordered = Cells("b", cells.models, cells.questions, cells.n, cells.total, cells.total_sq)
    assert find_retries(unordered).sum() <= allowed


def shared(rng, p, k):
    """Each generation has one random number, which all questions share: right where it is below P(correct)."""
    return (rng.random(k) < p[:, None]).astype(float)[None]


@pytest.mark.long
def test_seeds_that_questions_share_are_told_with_the_factor_that_is_true():
    """By construction: with one number for each repetition, the mean of k generations varies by far more than the error
    for these questions says. The factor is compared with the ratio over 400 draws."""
    rng = np.random.default_rng(5)
    p = rng.beta(0.6, 0.6, 150)
    drawn_means, errors, factors = [], [], []
    for _ in range(400):
        cells = of(shared(rng, p, 5))
        drawn_means.append(cells.mean.mean())
        errors.append(np.nanmean(cells.within / 5) / len(p))
        factors.append(find_shared_noise(cells.outcomes[0])[1])
    ratio = np.std(drawn_means) / np.sqrt(np.mean(errors))
    assert ratio > 7
    # NaN where nearly all answers of all repetitions are alike
    assert np.mean(np.isnan(factors)) < 0.2
    assert np.sqrt(np.nanmean(np.square(factors))) == pytest.approx(ratio, rel=0.15)
    notes = [note for seed in range(20) for note in said(of(shared(np.random.default_rng(seed), p, 5)))]
    # Two generations may even be copies of each other.
    assert len(notes) >= 17
    assert sum(note.code == "shared-noise" for note in notes) >= 15


@pytest.mark.parametrize(("n", "k"), mark_long([(40, 2), (100, 5), (150, 20), (600, 3)], after=2))
@pytest.mark.parametrize("kind", mark_long(["beta", "half", "rare"], after=1))
def test_independent_generations_seldom_seem_to_share_seeds(n, k, kind):
    """By simulation: 2,000 draws with a chance of .001 each; more than 8 have a chance of .0003."""
    rng = np.random.default_rng([n, k])
    found = 0
    for _ in range(2000):
        p = {"beta": rng.beta(0.6, 0.6, n), "half": np.full(n, 0.5), "rare": np.full(n, 0.03)}[kind]
        right = rng.random((n, k)) < p[:, None]
        outcomes = ((1 + right.astype(np.uint64)) << (2 * np.arange(k, dtype=np.uint64))).sum(axis=1, dtype=np.uint64)
        found += find_shared_noise(outcomes)[0] < CHANCE
    assert found <= 8


@pytest.mark.long
def test_one_of_many_independent_models_that_is_far_off_by_chance_is_no_sign():
    """A p-value of .0001 to .001 is rare for one model; of 48, one has it in 5 % of all evaluations."""
    rng = np.random.default_rng(11)
    p = rng.beta(0.6, 0.6, 100)
    one = next(
        y for y in (drawn(rng, p, 4) for _ in range(20_000)) if 1e-4 < find_shared_noise(of(y).outcomes[0])[0] < CHANCE
    )
    assert any(note.code == "shared-noise" for note in said(of(one)))
    others = [drawn(rng, p, 4) for _ in range(47)]
    assert not any(note.code == "shared-noise" for note in said(of(np.concatenate([one, *others]))))


def test_a_model_that_changed_between_repetitions_is_told_and_few_questions_tell_nothing():
    rng = np.random.default_rng(2)
    p = rng.beta(2, 2, 300)
    changed = np.concatenate([drawn(rng, p, 2), drawn(rng, p**2, 2)], axis=2)
    assert [note.code for note in said(of(changed))] == ["shared-noise"]
    assert np.isnan(find_shared_noise(of(changed[:, :10]).outcomes[0])).all()


def test_sources_that_are_copies_of_each_other():
    rng = np.random.default_rng(6)
    p = rng.beta(0.6, 0.4, 80)
    runs = [of(drawn(rng, p, 1)) for _ in range(3)]
    assert list(describe_dependence(runs, runs[0] + runs[1] + runs[2])) == []
    [note] = describe_dependence([*runs[:2], runs[1]], runs[0] + runs[1] + runs[1])
    assert note.code == "equal-sources"


def rows(scores):
    """A frame with a row per generation; `scores` (N, k) or ragged lists."""
    return pd.DataFrame(
        [
            {"model": "m", "question": f"q{j:03}", "generation": g, "score": float(x)}
            for j, row in enumerate(scores)
            for g, x in enumerate(row)
        ]
    )


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(7)
    p = rng.beta(0.6, 0.4, 150)
    fresh = drawn(rng, p, 3)[0]
    copied = fresh.copy()
    copied[:, 2] = copied[:, 0]
    tried = until_right(rng, p, 5)
    return {"fresh": rows(fresh), "copied": rows(copied), "same": rows(fresh[:, [0, 0]]), "retries": rows(tried)}


SAID = {"copied": "copied-generations", "same": "equal-generations", "retries": "retries-until-right"}


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
@pytest.mark.parametrize("kind", ["fresh", "copied", "same", "retries"])
def test_reading_warns(planted, tmp_path, form, kind):
    frame = given = planted[kind]
    if form != "frame":
        given = tmp_path / f"rows.{form}"
        frame.to_csv(given, index=False) if form == "csv" else frame.to_parquet(given)
    for what in ("cells", "cubes"):
        with noted() as notes:
            getattr(howsure.read(given), what)()
        # a cube has no order of generations, so single copies among them are not seen
        expected = kind in ("same", "retries") or (kind == "copied" and what == "cells")
        assert [note.code for note in notes] == [SAID[kind]] * expected if expected else not notes


def test_of_several_variants_the_first_shows_copies(planted):
    frames = [planted[kind].assign(variant=name) for kind, name in (("fresh", "w"), ("copied", "v"))]
    with pytest.warns(HowsureWarning, match="the 1st and the 3rd generation of m on the frame have"):
        [cells] = howsure.read(pd.concat(frames))
    assert cells.n.tolist() == [[6] * 150]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        howsure.read(pd.concat([planted["fresh"].assign(variant="v"), planted["copied"].assign(variant="w")])).cells()


def test_two_files_of_the_same_results(planted, tmp_path):
    for name in ("monday", "tuesday"):
        planted["fresh"].query("generation == 0").drop(columns="generation").assign(benchmark="b").to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    with pytest.raises(InputError, match="it has the same rows as") as raised:
        howsure.read(tmp_path).cells()
    assert raised.value.code == "equal-files"


@pytest.mark.parametrize("form", ["frame", "csv"])
def test_only_the_first_generations(planted, tmp_path, form):
    given = planted["retries"]
    if form == "csv":
        given.to_csv(tmp_path / "rows.csv", index=False)
        given = tmp_path / "rows.csv"
    [first] = howsure.read(given, generations=1)
    assert first.n.tolist() == [[1] * 150]
    [cube] = howsure.read(given, generations=1).cubes()
    assert cube.n.sum() == 150
    [[run]] = howsure.read(given, generations=1).runs().values()
    assert run.total.sum() == first.total.sum() == planted["retries"].query("generation == 0").score.sum()
    with pytest.raises(InputError, match="allowed: 1 or more"):
        howsure.read(given, generations=0).cells()
    with pytest.raises(InputError, match="there is no column 'generation' of whole numbers"):
        howsure.read(planted["fresh"].drop(columns="generation"), generations=1).cells()


def test_providers_and_repeats_note_copies_and_retries():
    rng = np.random.default_rng(8)
    p = rng.beta(0.6, 0.4, 150)
    fresh = [of(drawn(rng, p, 1)) for _ in range(4)]
    assert "copies" not in providers(fresh[:2], fresh[2:]).columns()["note"][0]
    note = providers(fresh[:2], [fresh[2], fresh[2]]).columns()["note"][0]
    assert "runs of b are copies of each other" in note
    assert "runs of a" not in note
    assert "runs of a are copies" in providers([fresh[0], fresh[1], fresh[1]], fresh[2:]).columns()["note"][0]
    tried = until_right(rng, p, 5)
    attempts = [of([[[row[j]] if j < len(row) else [] for row in tried]]) for j in range(5)]
    assert "the generations of a look like retries" in providers(attempts, fresh[:2]).columns()["note"][0]
    assert "looks like retries until right" in repeats(attempts).columns()["note"][0]


def text_probabilities(rng):
    """Probabilities of texts: a few, many, and one that is nearly certain."""
    for n in (2, 3, 10, 100):
        for spread in (0.02, 0.3, 1, 30):
            yield from rng.dirichlet([spread] * n, 20)
    for rare in (0.3, 0.1, 0.05, 0.01, 1e-4):
        yield np.array([1 - rare, rare])


def test_equal_texts_are_no_more_probable_than_their_bound():
    """Theory: the exact probability of equal texts, sum p^k; equally frequent texts come nearest."""
    for p in text_probabilities(np.random.default_rng(31)):
        nats = -math.log(np.sum(p**2))
        for k in (2, 3, 7):
            bound = bound_equal_texts(np.array([nats]), np.array([k]))[0]
            assert np.sum(p**k) <= math.exp(bound) * (1 + 1e-9)
    assert bound_equal_texts(np.array([0.0, 1.0]), np.array([9, 2])).tolist() == [0, -1]


@pytest.mark.parametrize(("r", "n"), [(2, 1), (2, 2), (2, 5), (2, 20), (3, 2), (3, 4), (5, 2), (10, 10), (50, 2)])
def test_uniform_replies_that_differ_are_no_more_probable_than_their_bound(r, n):
    """Theory: the exact probability, by the probabilities of texts; and a count of the ways to put texts into replies."""
    bound = math.exp(bound_uniform_replies(np.array([r]), np.array([n]))[0])
    assert bound == pytest.approx(min(1, 2 * r / math.comb(r * n, n)))
    for p in text_probabilities(np.random.default_rng(32)):
        differ = 1 - np.sum(p**r)
        uniform = np.sum(p**n) ** r - np.sum(p ** (r * n))
        if differ > 1e-9:
            assert uniform / differ <= bound * (1 + 1e-6) + 1e-15 / differ  # the sums are rounded


def test_the_ways_to_put_texts_into_replies_are_counted():
    """By enumeration: 3 replies of 2 texts, where 2 of all 6 texts are of another kind: uniform in 3 of 15 ways."""
    ways = list(itertools.combinations(range(6), 2))
    uniform = sum(all((2 * i in way) == (2 * i + 1 in way) for i in range(3)) for way in ways)
    assert (uniform, len(ways)) == (3, 15)
    bound = bound_uniform_replies(np.array([3]), np.array([2]))[0]
    assert bound == pytest.approx(math.log(2 * uniform / len(ways)))


def test_many_varied_questions_without_copies_have_none():
    """More questions than are looked at first, none of them with equal generations throughout."""
    rng = np.random.default_rng(21)
    cells = of(drawn(rng, np.full(400, 0.5), 4))
    assert find_copied_generations(cells.outcomes[0]) == []
    longer = cells.outcomes[0].copy()
    longer[1] = of([[[1, 0, 1, 0, 1]]]).outcomes[0, 0]  # a fifth generation, of a question that is not looked at first
    assert find_copied_generations(longer) == []
    planted = drawn(rng, np.full(400, 0.5), 4)
    planted[0, :, 3] = planted[0, :, 1]
    assert find_copied_generations(of(planted).outcomes[0]) == [(1, 3)]
