"""Borrowed scores: against regressions refitted without each question, all subsets of a small population, and draws."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import howsure as hs
from howsure.errors import InputError, UnknownNameError
from howsure.stats import borrowing, comparisons
from howsure.stats import scores as scoring
from howsure.stats.borrowing import factors
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import MEAN_CLAIMS
from howsure.stats.sequential.stopping_rules import check_stopping


def population(M=12, N=120, seed=0):
    """P(correct) of M models on N questions: abilities, difficulties, and some spread of its own."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(0, 1, (M, 1)) + rng.normal(0, 1.5, N) + rng.normal(0, 0.5, (M, N))
    return 1 / (1 + np.exp(-logit))


def cells_of(p, k, rng, names=None, where=None):
    """Cells of k generations each; `where` (M, N) says which questions were asked."""
    n = np.broadcast_to(k, p.shape) * (1 if where is None else where)
    total = rng.binomial(n, p).astype(float)
    models = tuple(names or (f"m{i}" for i in range(len(p))))
    return Cells("b", models, tuple(f"q{i}" for i in range(p.shape[1])), n, total, total)


def asked(draws, N, n, rng):
    where = np.zeros((draws, N), np.int64)
    for row in where:
        row[rng.choice(N, n, replace=False)] = 1
    return where


def new_and_reference(n=60, k=1, draws=1, seed=0, **kwargs):
    p, rng = population(seed=seed, **kwargs), np.random.default_rng(seed + 1)
    reference = cells_of(p[1:], 1, rng)
    own = np.repeat(p[:1], draws, axis=0)
    new = cells_of(own, k, rng, [f"new{i}" for i in range(draws)], asked(draws, p.shape[1], n, rng))
    return new, reference, p


# ---- the regression


def ridge(Z, y, penalty):
    """Intercept and slopes of a ridge regression, the intercept not shrunk."""
    center = Z.mean(axis=0)
    A = Z - center
    slope = np.linalg.solve(A.T @ A + penalty * np.eye(Z.shape[1]), A.T @ (y - y.mean()))
    return lambda z: y.mean() + (z - center) @ slope


def test_the_regression_is_the_one_that_is_refitted_without_each_question():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(40, 3))
    some = np.sort(rng.choice(40, 25, replace=False))
    y = Z[some] @ [1.0, -0.5, 0.2] + rng.normal(0, 0.3, 25)
    top = np.linalg.svd(Z[some] - Z[some].mean(axis=0))[1][0] ** 2
    found = factors.regress(Z, some, y)
    slow = {}
    for share in factors._PENALTIES[1:]:
        # One penalty for all refits: the share is of the largest singular value with all questions.
        residual, others = [], []
        rest = [q for q in range(40) if q not in some]
        for i, q in enumerate(some):
            keep = np.arange(25) != i
            # Without a question the mean moves too; a ridge of centred columns is refitted from scratch by hand.
            X = np.column_stack([np.ones(25), Z[some]])[keep]
            B = np.linalg.solve(X.T @ X + share * top * np.diag([0, 1, 1, 1]), X.T @ y[keep])
            residual.append(y[i] - np.r_[1, Z[q]] @ B)
            others.append(np.column_stack([np.ones(15), Z[rest]]) @ B)
        slow[share] = (np.sum(np.square(residual)), residual, np.mean(others, axis=0).sum())
    best = min(slow, key=lambda share: slow[share][0])
    _, residual, predicted = slow[best]
    assert found.residual == pytest.approx(np.multiply(residual, 24 / 25), rel=1e-8)
    assert found.estimate == pytest.approx((y.sum() + predicted + 15 * np.mean(residual)) / 40, rel=1e-8)


def test_over_all_subsets_the_mean_estimate_is_the_mean_of_the_population(monkeypatch):
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(9, 2)), rng.random(9)
    monkeypatch.setattr(factors, "_PENALTIES", np.array([np.inf, 1e-9]))
    monkeypatch.setattr(factors, "_MARGIN", -np.inf)
    monkeypatch.setattr(np, "argmin", lambda _: 1)  # least squares always: only then is it linear
    each = [factors.regress(Z, np.array(s), y[list(s)]).estimate for s in itertools.combinations(range(9), 5)]
    assert np.mean(each) == pytest.approx(y.mean(), rel=1e-6)
    assert np.std(each) > 0.01


def test_nothing_to_learn_leaves_the_plain_mean_and_its_variance():
    rng = np.random.default_rng(1)
    y = rng.random(50)
    found = factors.regress(np.zeros((80, 0)), np.arange(50), y)
    assert found.estimate == pytest.approx(y.mean())
    assert found.residual == pytest.approx(y - y.mean())
    assert found.df == pytest.approx(49)


def test_missing_cells_of_an_additive_table_are_filled_with_what_they_were():
    rng = np.random.default_rng(2)
    full = 0.5 + rng.uniform(-0.2, 0.2, (8, 1)) + rng.uniform(-0.2, 0.2, 50)
    n = np.ones(full.shape, np.int64)
    n[rng.random(full.shape) < 0.2] = 0
    whole = Cells("b", tuple("abcdefgh"), tuple(map(str, range(50))), np.ones_like(n), full, full**2)
    holes = replace(whole, n=n, total=full * n, total_sq=full**2 * n)
    assert factors.extract_factors(holes).mean == pytest.approx(factors.extract_factors(whole).mean, abs=1e-4)


def test_more_models_than_questions_give_the_same_factors_either_way():
    p = population(M=30, N=35)
    wide = cells_of(p, 1, np.random.default_rng(0))
    C = wide.mean - wide.mean.mean(axis=1, keepdims=True)
    _, d, Vt = np.linalg.svd(C, full_matrices=False)
    for reference in (wide, cells_of(p[:, :25], 1, np.random.default_rng(0))):
        found = factors.extract_factors(reference).scores
        assert found.shape == (len(reference.questions), 20)
        assert np.abs(found).max() == 1
    found = factors.extract_factors(wide).scores
    expected = Vt[:20].T * d[:20] ** 2
    assert np.abs(found) == pytest.approx(np.abs(expected / np.abs(expected).max()), abs=1e-9)


# ---- scores


def test_the_variance_is_the_one_of_the_formulas():
    new, reference, _ = new_and_reference(k=3)
    rows = np.flatnonzero(new.answered[0])
    n, N = 60, 120
    found = factors.regress(factors.extract_factors(reference).scores, rows, new.mean[0, rows])
    e, y = found.residual, new.mean[0, rows]
    open_part = (1 / n - 1 / N) * np.sum((e - e.mean()) ** 2) / found.df
    these = borrowing.score(new, reference, claim="these-questions")
    assert these.score == pytest.approx(found.estimate)
    assert these.variance == pytest.approx(open_part + np.mean(new.within[0, rows] / 3) / N)
    assert borrowing.score(new, reference).variance == pytest.approx(open_part + np.var(y, ddof=1) / N)


def test_the_plain_score_stands_beside_it():
    new, reference, _ = new_and_reference()
    row, plain = borrowing.score(new, reference).columns(), scoring.score(new).columns()
    for name in ("score", "se"):
        assert row[f"{name}_plain"] == pytest.approx(plain[name])
    assert row["n_reference"].tolist() == [11]
    assert row["n_all"].tolist() == [120]
    assert row["se"][0] < plain["se"][0]


@pytest.mark.parametrize("k", [1, 5])
def test_borrowing_helps_and_covers(k):
    plain, borrowed, best, inside = [], [], [], []
    n, N = 60, 400
    for seed in range(12):
        new, reference, p = new_and_reference(n=n, k=k, draws=40, seed=seed, M=40, N=N)
        found = borrowing.score(new, reference, claim="these-questions")
        between, truth = found.interval(), p[0].mean()
        plain.append(np.mean((found.plain.score - truth) ** 2))
        borrowed.append(np.mean((found.score - truth) ** 2))
        best.append(np.mean(p[0] * (1 - p[0])) / k / n)  # were every P(correct) known
        inside.append(np.mean((between.low <= truth) & (truth <= between.high)))
    # Most of what can be gained at all is gained: what is left of the errors that are not of sampling is under half.
    assert np.sum(borrowed) - np.sum(best) < 0.5 * (np.sum(plain) - np.sum(best))
    assert np.mean(inside) > 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / 480)


@pytest.mark.parametrize("kind", ["random", "shuffled", "constant"])
def test_a_model_unlike_the_others_is_not_harmed(kind):
    rng = np.random.default_rng(5)
    p = population(M=20)
    own = {"random": np.full(120, 0.4), "shuffled": rng.permutation(p[0]), "constant": np.ones(120)}[kind]
    draws = 600
    new = cells_of(np.repeat(own[None], draws, axis=0), 1, rng, where=asked(draws, 120, 60, rng))
    reference = replace(cells_of(p[1:], 1, rng), models=tuple(f"other{i}" for i in range(19)))
    found = borrowing.score(new, reference, claim="these-questions")
    plain, borrowed = (np.mean((x - own.mean()) ** 2) for x in (found.plain.score, found.score))
    assert borrowed <= plain * 1.05
    between = found.interval()
    has_interval = ~np.isnan(between.low)
    assert has_interval.mean() > 0.975  # .01 of the random subsets look easier or harder
    assert np.all((between.low >= 0) & (between.low < between.high) & (between.high <= 1), where=has_interval)


def test_reversed_difficulty_is_as_good_as_difficulty():
    new, reference, _ = new_and_reference(k=5)
    turned = replace(new, total=new.n - new.total, total_sq=new.n - new.total)
    found, mirrored = borrowing.score(new, reference), borrowing.score(turned, reference)
    assert mirrored.score == pytest.approx(1 - found.score)
    assert mirrored.variance == pytest.approx(found.variance)


def test_its_own_answers_in_the_reference_change_nothing():
    new, reference, p = new_and_reference()
    own = cells_of(p[:1], 1, np.random.default_rng(9), ["new0"])
    row, without = (borrowing.score(new, one).columns() for one in (reference + own, reference))
    assert row["score"] == pytest.approx(without["score"])
    assert row["low"] == pytest.approx(without["low"])
    assert "left out of the reference: new0" in row["note"][0]


def test_rows_without_enough_to_borrow_keep_the_plain_score():
    new, reference, p = new_and_reference(n=29)
    whole = cells_of(p[:1], 1, np.random.default_rng(9), ["all"])
    five = reference.select(reference.models[:4]) + cells_of(p[:1], 1, np.random.default_rng(9), ["all"])
    for cells, given, said in (
        (new, reference, "fewer than 30 answered questions"),
        (whole, reference, "all questions of the reference are answered"),
        (whole.select(questions=whole.questions[:50]), five, "fewer than 5 other models"),
    ):
        row, plain = borrowing.score(cells, given).columns(), scoring.score(cells).columns()
        for name in ("score", "se", "low", "high", "method"):
            assert row[name].tolist() == plain[name].tolist()
        assert row["n_reference"].tolist() == [0]
        assert said in row["note"][0]


def test_a_model_without_answers_has_no_score():
    new, reference, _ = new_and_reference(draws=2)
    n = new.n.copy()
    n[1] = 0
    row = borrowing.score(replace(new, n=n, total=new.total * (n > 0), total_sq=new.total_sq * (n > 0)), reference)
    assert np.isnan(row.columns()["score"][1])
    assert "no scores" in row.columns()["note"][1]


def test_questions_that_the_reference_does_not_have_are_left_out_and_named():
    new, reference, _ = new_and_reference()
    fewer = reference.select(questions=[q for q in reference.questions if q != new.questions[np.argmax(new.n[0])]])
    row = borrowing.score(new, fewer).columns()
    assert row["n_questions"].tolist() == [59]
    assert "1 answered questions are not in the reference: left out" in row["note"][0]
    other = replace(reference, questions=tuple(f"x{i}" for i in range(120)))
    with pytest.raises(InputError, match="no answered question is in the reference"):
        borrowing.score(new, other)


def test_wrong_use_is_one_line():
    new, reference, _ = new_and_reference()
    with pytest.raises(InputError, match="4 models of the reference answered half"):
        borrowing.score(new, reference.select(reference.models[:4]))
    with pytest.raises(UnknownNameError, match="single-run"):
        borrowing.score(new, reference, claim="single-run")
    with pytest.raises(InputError, match="'bootstrap' does not go with borrow"):
        borrowing.score(new, reference, method="bootstrap")
    with pytest.raises(InputError, match="missing is 'bounds' with borrow"):
        hs.score(new, missing="bounds", borrow=reference)
    with pytest.raises(InputError, match="0 of the 2 benchmarks of the reference are named 'b'"):
        hs.score(new, borrow=[replace(reference, benchmark=name) for name in "xy"])


def test_asked_questions_that_are_easier_are_told_and_have_no_interval():
    p, rng = population(M=12), np.random.default_rng(4)
    reference = cells_of(p[1:], 1, rng)
    easy = np.zeros((1, 120), np.int64)
    easy[0, np.argsort(-reference.mean.mean(axis=0))[:60]] = 1
    row = borrowing.score(cells_of(p[:1], 5, rng, ["new"], easy), reference).columns()
    assert "the asked questions are easier than a random subset" in row["note"][0]
    assert np.isnan([row["se"][0], row["low"][0], row["high"][0], row["se_plain"][0]]).all()
    assert abs(row["score"][0] - p[0].mean()) < 0.3 * abs(row["score_plain"][0] - p[0].mean())
    fair, reference, _ = new_and_reference(draws=200)
    notes = borrowing.score(fair, reference).columns()["note"]
    assert np.mean(["random subset" in note for note in notes]) < 0.04  # .01 is its size


@pytest.mark.parametrize("claim", MEAN_CLAIMS)
def test_the_first_questions_of_the_reference_have_no_interval(claim):
    """Theory: a random subset is a prefix with the chance 1/C(N, n); so too where nothing is borrowed."""
    p, rng = population(M=12), np.random.default_rng(4)
    p = p[:, np.argsort(rng.random(120))]
    reference, first = cells_of(p[1:], 1, rng), np.broadcast_to(np.arange(120) < 60, (2, 120)).astype(int)
    strange = np.stack([p[0], rng.permutation(p[0])])  # nothing predicts the second
    new = cells_of(strange, 3, rng, ["new", "strange"], first)
    row = borrowing.score(new, reference, claim=claim).columns()
    difference = borrowing.compare(new, "new", "strange", reference, claim=claim).columns()
    for found in (row, difference):
        assert all("the first 60 of the reference's 120 questions" in note for note in found["note"])
        assert all("corrects for that" not in note for note in found["note"])
        for name in ("se", "low", "high", "se_plain"):
            assert np.isnan(found[name]).all()
    assert np.isfinite(row["score"]).all()
    assert np.isnan(difference["p_value"]).all()


def test_one_generation_says_that_the_error_is_an_upper_bound():
    new, reference, _ = new_and_reference()
    these, fresh = (borrowing.score(new, reference, claim=claim) for claim in ("these-questions", "new-questions"))
    assert "the error is an upper bound" in these.columns()["note"][0]
    assert "upper bound" not in fresh.columns()["note"][0]
    assert these.variance < fresh.variance


def test_scores_of_any_scale_and_ragged_counts():
    rng = np.random.default_rng(8)
    p = population()
    N = p.shape[1]
    n = np.where(asked(1, N, 70, rng) > 0, rng.integers(1, 6, (1, N)), 0)
    draws = [[rng.normal(100 * q, 30, k) for q, k in zip(p[0], n[0], strict=True)]]
    new = Cells.from_scores("b", ["new"], [f"q{i}" for i in range(N)], draws)
    values = 100 * p[1:] + rng.normal(0, 5, p[1:].shape)
    reference = Cells(
        "b", tuple(f"m{i}" for i in range(11)), new.questions, np.ones(values.shape, int), values, values**2
    )
    for claim in MEAN_CLAIMS:
        row = borrowing.score(new, reference, claim=claim).columns()
        assert row["method"].tolist() == ["t"]
        assert row["se"][0] < row["se_plain"][0]
        assert row["low"][0] < 100 * p[0].mean() < row["high"][0]


def test_clusters_widen_the_claim_about_new_questions_only():
    new, reference, _ = new_and_reference()
    clustered = replace(new, clusters=tuple(str(i // 20) for i in range(120)))
    found, plain = borrowing.score(clustered, reference), borrowing.score(new, reference)
    excess = scoring.score(clustered).variance - scoring.score(new).variance
    assert found.variance - plain.variance == pytest.approx(excess)
    assert found.df == pytest.approx(scoring.score(borrowing.align_questions(clustered, reference)).df)
    these = (borrowing.score(one, reference, claim="these-questions").variance for one in (clustered, new))
    assert next(these) == pytest.approx(next(these))


# ---- differences


def two(n=60, k=2, seed=0, M=12, *, all_of_b=False):
    p, rng = population(M=M, seed=seed), np.random.default_rng(seed)
    where = np.repeat(asked(1, 120, n, rng), 2, axis=0)
    if all_of_b:
        where[1] = 1
    return cells_of(p[:2], k, rng, ["a", "b"], where), cells_of(p[2:], 1, rng), p


def test_a_difference_is_the_regression_of_differences():
    cells, reference, _ = two()
    rows = np.flatnonzero(cells.answered[0])
    d = cells.mean[0, rows] - cells.mean[1, rows]
    expected = factors.regress(factors.extract_factors(reference).scores, rows, d)
    row = borrowing.compare(cells, "a", "b", reference).columns()
    assert row["difference"] == pytest.approx(expected.estimate)
    assert row["difference_plain"] == pytest.approx(d.mean())
    assert row["se_plain"] == pytest.approx(comparisons.compare(cells, "a", "b").columns()["se"])
    turned = borrowing.compare(cells, "b", "a", reference).columns()
    assert turned["difference"] == pytest.approx(-row["difference"])
    assert turned["low"] == pytest.approx(-row["high"])


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_where_one_answered_all_only_the_other_is_predicted(names):
    cells, reference, _ = two(all_of_b=True)
    rows = np.flatnonzero(cells.answered[0])
    known = factors.extract_factors(reference + cells.select(["b"]))
    expected = factors.regress(known.scores, rows, cells.mean[0, rows]).estimate - cells.mean[1].mean()
    found = borrowing.compare(cells, *names, reference)
    assert found.difference == pytest.approx(expected if names[0] == "a" else -expected)
    # new questions add the variance of the differences over the N, not that of the other one's answers
    regression, n, N = factors.regress(known.scores, rows, cells.mean[0, rows]), len(rows), cells.n.shape[1]
    d, e = cells.mean[0, rows] - cells.mean[1, rows], regression.residual
    left = (1 / n - 1 / N) * np.sum((e - e.mean()) ** 2) / regression.df
    assert found.variance == pytest.approx(left + np.var(d, ddof=1) / N)
    # b may be in the reference already
    again = borrowing.compare(cells, *names, reference + cells.select(["b"]))
    assert again.difference == pytest.approx(found.difference)


@pytest.mark.long
@pytest.mark.parametrize("all_of_b", [False, True])
def test_differences_cover(all_of_b):
    inside, plain, borrowed = [], [], []
    for seed in range(250):
        cells, reference, p = two(seed=seed, M=40, all_of_b=all_of_b)
        found = borrowing.compare(cells, "a", "b", reference, claim="these-questions")
        truth, between = p[0].mean() - p[1].mean(), found.interval()
        inside.append(between.low[0] <= truth <= between.high[0])
        plain.append((found.plain.difference[0] - truth) ** 2)
        borrowed.append((found.difference[0] - truth) ** 2)
    assert np.mean(inside) > 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / 250)
    assert np.mean(plain) / np.mean(borrowed) > (1.3 if all_of_b else 0.9)


def test_what_is_detectable_goes_with_the_interval():
    """Theory: the limits of the interval are t_{.975} standard errors from the difference; detectable adds t_{.8}."""
    cells, reference, _ = two(all_of_b=True)
    for method in (None, "clt"):
        found = borrowing.compare(cells, "a", "b", reference, claim="these-questions", method=method)
        assert found.n_reference[0] > 0
        half = (found.interval().high - found.interval().low)[0] / 2
        df = np.inf if method == "clt" else found.df[0]
        ratio = 1 + stats.t.ppf(0.8, df) / stats.t.ppf(0.975, df)
        assert found.columns()["detectable"][0] == pytest.approx(half * ratio, rel=1e-9)


def test_a_row_that_does_not_borrow_has_the_df_of_its_own_interval():
    cells, reference, _ = new_and_reference(n=20)
    result = borrowing.score(cells, reference)
    own = replace(result.plain, method=result.method).interval()
    assert result.n_reference.tolist() == [0]
    np.testing.assert_array_equal(result.interval().df, own.df)
    np.testing.assert_array_equal(result.columns()["df"], own.df)


def test_models_that_answer_alike_get_an_interval():
    cells, reference, _ = two()
    same = replace(cells, total=np.repeat(cells.total[:1], 2, axis=0), total_sq=np.repeat(cells.total[:1], 2, axis=0))
    row = borrowing.compare(same, "a", "b", reference).columns()
    assert row["difference"].tolist() == [0]
    assert row["low"][0] < 0 < row["high"][0]
    assert np.isnan(row["detectable"][0])
    with pytest.raises(InputError, match="a and b are both 'a'"):
        borrowing.compare(cells, "a", "a", reference)


# ---- plans and stopping


def test_the_plan_of_the_pilots_own_design_has_the_pilots_error():
    new, reference, _ = new_and_reference(k=3)
    for claim in MEAN_CLAIMS:
        noise = borrowing.components_of(reference, new, "new0", claim=claim)
        assert float(noise.variance(60, 3)) == pytest.approx(borrowing.score(new, reference, claim=claim).variance[0])
    single, reference, _ = new_and_reference(k=1)
    for claim in MEAN_CLAIMS:
        noise = borrowing.components_of(reference, single, "new0", claim=claim)
        assert float(noise.variance(60, 1)) == pytest.approx(
            borrowing.score(single, reference, claim=claim).variance[0]
        )


def test_plans_ask_fewer_questions_than_without():
    new, reference, _ = new_and_reference(k=3, N=400)
    borrowed = hs.plan(new, se=0.03, claim="these-questions", borrow=reference).parts[0].best
    alone = hs.plan(new, se=0.03, claim="these-questions", available=400).parts[0].best
    assert borrowed.calls < alone.calls
    assert borrowed.n_questions < 400
    no_pilot = hs.plan(None, se=0.03, claim="these-questions", borrow=reference)
    assert no_pilot.parts[0].best.n_questions < 400
    assert "80% of 11 have no more" in no_pilot.columns()["note"][0]
    assert hs.plan(None, detect=0.2, borrow=reference).parts[0].components.models == 2
    few, reference, _ = new_and_reference(n=20)
    with pytest.raises(InputError, match="the pilot answered 20 questions of the reference"):
        hs.plan(few, se=0.03, borrow=reference)
    with pytest.raises(InputError, match="accuracy with borrow"):
        hs.plan(None, accuracy=0.5, se=0.03, borrow=reference)


def test_planned_errors_are_kept():
    """The error that a plan promises is exceeded in at most some of the plans, by what the pilot did not show."""
    promised, true = [], []
    for seed in range(8):
        new, reference, p = new_and_reference(n=40, k=2, N=400, seed=seed)
        best = hs.plan(new, se=0.03, claim="these-questions", borrow=reference, max_generations=4).parts[0].best
        rng = np.random.default_rng(seed)
        again = cells_of(
            np.repeat(p[:1], 80, axis=0), best.n_generations, rng, [f"new{i}" for i in range(80)],
            asked(80, 400, best.n_questions, rng),
        )  # fmt: skip
        found = borrowing.score(again, reference, claim="these-questions")
        promised.append(best.se**2)
        true.append(np.mean((found.score - p[0].mean()) ** 2))
    assert np.sum(true) < 1.1 * np.sum(promised)
    assert np.sum(true) > 0.3 * np.sum(promised)


def test_stopping_looks_at_the_borrowed_score_and_its_error():
    new, reference, _ = new_and_reference(k=40)
    found = borrowing.score(new, reference, claim="these-questions")
    look = check_stopping(new, 0.1, rule="pooled", reference=reference)
    assert look.score == pytest.approx(found.score)
    from scipy import stats

    assert look.half == pytest.approx(stats.t.ppf(0.975, found.df) * np.sqrt(found.variance))
    # Rounds without end leave what was not asked.
    assert look.least < 2 * look.half
    assert look.least > 1.8 * look.half * np.sqrt(0.5)
    assert not check_stopping(new, float(look.least[0]) * 0.99, rule="pooled", reference=reference).reachable[0]
    assert check_stopping(new, 0.1, rule="sequence", reference=reference).half > look.half
    fresh = check_stopping(new, 0.1, rule="pooled", claim="new-questions", reference=reference)
    expected = borrowing.score(new, reference)
    assert fresh.half == pytest.approx(stats.t.ppf(0.975, expected.df) * np.sqrt(expected.variance))
    with pytest.raises(InputError, match="rule 'prediction' cannot borrow"):
        check_stopping([new, new], 0.1, rule="prediction", reference=reference)


def test_stopping_on_a_pair_looks_at_the_borrowed_difference():
    cells, reference, _ = two(k=5)
    look = check_stopping(cells, 0.1, rule="pooled", pair=("a", "b"), reference=reference)
    found = borrowing.compare(cells, "a", "b", reference, claim="these-questions")
    assert look.score == pytest.approx(found.difference)
    from scipy import stats

    assert look.half == pytest.approx(stats.t.ppf(0.975, found.df) * np.sqrt(found.variance))


def test_a_reference_of_several_benchmarks_is_chosen_by_name():
    rng = np.random.default_rng(3)
    one = cells_of(population(M=3, N=5), 1, rng)
    other = replace(one, benchmark="other")
    assert factors.match_reference("other", [one, other]) is other
    assert factors.match_reference("any", [other]) is other
    with pytest.raises(InputError, match="0 of the 2 benchmarks of the reference are named 'any'"):
        factors.match_reference("any", [one, other])


def test_clusters_add_what_they_add_to_a_plain_difference():
    """Theory: the variance in clusters exceeds that without by as much with and without borrowing."""
    rng = np.random.default_rng(4)
    p = population(M=12, N=120)
    reference = cells_of(p[:10], 1, rng)
    where = np.ones((2, 120), np.int64)
    where[:, ::2] = 0
    new = cells_of(p[10:], 1, rng, names=("x", "y"), where=where)
    inside = tuple(f"c{i // 6}" for i in range(120))
    plain, clustered = (
        borrowing.compare(each, "x", "y", ref, claim="new-questions")
        for each, ref in (
            (new, reference),
            (replace(new, clusters=inside), replace(reference, clusters=inside)),
        )
    )
    assert clustered.difference == pytest.approx(plain.difference)
    added = clustered.plain.variance - plain.plain.variance
    assert added[0] != 0
    assert clustered.variance - plain.variance == pytest.approx(added)
    assert clustered.df[0] == min(plain.df[0], clustered.plain.df[0])


def test_differences_of_graded_scores_have_no_pseudo_questions():
    graded = Cells.from_scores("b", ["x", "y"], ["p", "q"], [[[0.5], [0.2]], [[0.1], [0.9]]])
    assert borrowing.borrowed_scores._unit_variance(comparisons.compare(graded, "x", "y"), 2).tolist() == [0]


def test_a_reference_with_few_questions_makes_no_plan():
    few = cells_of(population(M=5, N=4), 1, np.random.default_rng(5))
    with pytest.raises(InputError, match="questions in the reference"):
        borrowing.components_of_reference(few)


def test_a_pilot_needs_30_questions_of_the_reference():
    new, reference, _ = new_and_reference(k=2)
    questions = [question for question, there in zip(new.questions, new.answered[0], strict=True) if there]
    components = borrowing.components_of(reference, new.select(questions=questions[:30]), "new0")
    assert np.isfinite(components.total)
    with pytest.raises(InputError, match="the pilot answered 29 questions of the reference"):
        borrowing.components_of(reference, new.select(questions=questions[:29]), "new0")


def test_a_plan_from_the_reference_alone_is_for_one_model_unless_two_are_named():
    reference = cells_of(population(M=8, N=80), 2, np.random.default_rng(5))
    alone = borrowing.components_of_reference(reference)
    assert alone == borrowing.components_of_reference(reference, models=1)
    assert alone.total != borrowing.components_of_reference(reference, models=2).total


def test_factors_of_models_that_missed_questions_by_a_slow_version():
    """Effects by alternating means over loops, what is missing filled with them, and singular values by numpy."""
    whole = cells_of(population(M=7, N=40), 2, np.random.default_rng(8))
    is_there = np.random.default_rng(9).random(whole.n.shape) < 0.8
    arrays = {name: np.where(is_there, getattr(whole, name), 0) for name in ("n", "total", "total_sq")}
    reference = replace(whole, **arrays, minimum=None, maximum=None, outcomes=None)
    score = {(m, q): whole.mean[m, q] for m in range(7) for q in range(40) if is_there[m, q]}
    model, question = [0.0] * 7, [0.0] * 40
    for _ in range(20):
        for m in range(7):
            model[m] = np.mean([score[m, q] - question[q] for q in range(40) if (m, q) in score])
        for q in range(40):
            question[q] = np.mean([score[m, q] - model[m] for m in range(7) if (m, q) in score])
        question = [one - np.mean(question) for one in question]
    filled = np.array(
        [[score[m, q] - model[m] if (m, q) in score else question[q] for q in range(40)] for m in range(7)]
    )
    _, d, v = np.linalg.svd(filled, full_matrices=False)
    expected = v.T @ np.diag(d**4) @ v
    found = factors.extract_factors(reference).scores
    kernel = found @ found.T
    assert kernel / kernel.max() == pytest.approx(expected / expected.max(), abs=1e-9)


def test_one_question_has_its_own_score():
    new, reference, _ = new_and_reference(k=3)
    question = new.questions[int(np.flatnonzero(new.answered[0])[0])]
    one = new.select(questions=[question])
    assert borrowing.score(one, reference).score.tolist() == one.mean[0].tolist()
