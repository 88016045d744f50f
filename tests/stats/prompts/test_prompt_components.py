"""Components of crossed and nested prompt variants: independent slow versions, theory, simulation, real tables."""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from oracles import variants as oracle
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.claims import PROMPT_CLAIMS, PROMPT_COMPONENTS
from howsure.stats.core.cube import Cube
from howsure.stats.core.intervals import chi_square_factors, variance_factors, variance_limits
from howsure.stats.planning.pilot import components_from_cube
from howsure.stats.planning.plan import plan
from howsure.stats.prompts.components import _nested_terms, _two_way_error, estimate_components
from howsure.stats.prompts.moments import summarize_variants
from howsure.stats.prompts.sample_size import required_variants
from howsure.stats.scores.clusters import cluster_excess, cluster_means

SHARED = Path(__file__).resolve().parents[3] / "../shared/data"


def letters(n, prefix):
    return [f"{prefix}{i}" for i in range(n)]


def cube_of(*scores, **more):
    N, S = len(scores[0]), len(scores[0][0])
    return Cube.from_scores("b", letters(len(scores), "m"), letters(N, "q"), letters(S, "v"), scores, **more)


def drawn(seed, N=6, S=4, K=3):
    rng = np.random.default_rng(seed)
    y = 0.5 + rng.normal(0, 0.3, (N, 1, 1)) + rng.normal(0, 0.2, (1, S, 1)) + rng.normal(0, 0.2, (N, S, 1))
    return (y + rng.normal(0, 0.3, (N, S, K))).tolist()


def holes(y, seed, most=3, least=1):
    rng = np.random.default_rng(seed)
    return [[cell[: rng.integers(least, most + 1)] if rng.random() > 0.2 else [] for cell in row] for row in y]


@pytest.mark.parametrize("seed", range(3))
def test_balanced_against_mean_squares(seed):
    """A slow version: textbook mean squares."""
    y = drawn(seed)
    ours, slow = estimate_components(cube_of(y)), oracle.balanced_crossed(y)
    for name in PROMPT_COMPONENTS:
        assert getattr(ours, name)[0] == pytest.approx(slow[name], abs=1e-12)
    assert ours.mean[0] == pytest.approx(slow["mean"])
    for claim, key in zip(PROMPT_CLAIMS, ("se_these", "se_new_questions", "se_new_variants", "se_both"), strict=True):
        if claim != "new-questions-and-variants" or (ours.question[0] > 0 and ours.variant[0] > 0):
            assert np.sqrt(ours.variance(claim)[0]) == pytest.approx(slow[key], rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_missing_cells_and_unequal_generations_against_projections(seed):
    """A slow version: quadratic forms from projection matrices, their expectations solved."""
    y = holes(drawn(seed), seed + 10)
    ours, slow = estimate_components(cube_of(y, drawn(seed + 50))), oracle.crossed(y)
    for name in (*PROMPT_COMPONENTS, "residual"):
        assert getattr(ours, name)[0] == pytest.approx(slow[name], abs=1e-10)
    assert ours.fit.variant_score[0] == pytest.approx(oracle.fitted_scores(y))
    n_missing = sum(not cell for row in y for cell in row)
    assert f"{n_missing} of 24 cells are missing and are filled" in ours.note[0]


def test_scores_of_whole_benchmarks_are_named_beside_one_question():
    """A table with a row per model and variant has no question."""
    whole = Cube.from_means("b", ["a"], ["v1", "v2", "v3"], np.array([[0.5, 0.6, 0.7]]))
    assert estimate_components(whole).note[0].startswith("one question, or scores of whole benchmarks: ")


def test_missing_cells_are_counted_among_those_of_the_model():
    """By hand: the first model has all 3 x 3 cells, the second lacks one of 9, the third a variant and one of 6."""
    n = np.full((3, 3, 3), 2)
    n[1, 0, 0] = n[2, 1, 1] = 0
    n[2, :, 2] = 0
    scores = n * np.linspace(0.2, 0.8, 27).reshape(n.shape)
    note = estimate_components(Cube("b", tuple("abc"), tuple("pqr"), ("1", "2", "3"), n, scores, scores)).note
    assert "missing" not in note[0]
    assert all("1 of 6 to 9 cells are missing and are filled" in each for each in note[1:])


def test_one_generation_leaves_interaction_and_generation_as_one():
    y = [[cell[:1] for cell in row] for row in holes(drawn(3), 1)]
    ours, slow = estimate_components(cube_of(y)), oracle.crossed(y)
    for name in ("question", "variant", "residual"):
        assert getattr(ours, name)[0] == pytest.approx(slow[name], abs=1e-10)
    assert np.isnan([ours.interaction[0], ours.generation[0], ours.variance("these")[0]]).all()
    assert "one generation per cell" in ours.note[0]
    assert np.isfinite(ours.variance()[0])


@pytest.mark.parametrize("seed", range(3))
def test_nested_against_expectations(seed):
    """A slow version; the claim is the same for new variants and new questions."""
    y = holes(drawn(seed), seed)
    ours, slow = estimate_components(cube_of(y, nested=True)), oracle.nested(y)
    for name in ("question", "variant", "generation"):
        assert getattr(ours, name)[0] == pytest.approx(slow[name], abs=1e-10)
    assert np.isnan(ours.interaction[0])
    assert np.isfinite([ours.variance(claim)[0] for claim in PROMPT_CLAIMS]).all()
    low, high = ours.limits("variant")
    assert low[0] <= max(ours.variant[0], 0) <= high[0]
    single = estimate_components(cube_of([[cell[:1] for cell in row] for row in y], nested=True))
    assert "together with the variant" in single.note[0]
    assert ours.residual[0] == pytest.approx(slow["variant"] + slow["generation"])


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_square_within_questions_has_the_df_of_its_deviations_by_a_loop(seed):
    """Satterthwaite's 2 v^2 / Var(v) of v, where the variance of a sum over questions is that of its terms."""
    y = holes(drawn(seed, N=8), seed)
    cube = cube_of(y, nested=True)
    terms = _nested_terms(cube.layout)
    squares, counts = [], []
    for row in y:
        means = [np.mean(cell) for cell in row if cell]
        squares.append(sum((mean - np.mean(means)) ** 2 for mean in means) if means else 0)
        counts.append(len(means))
    N, n = sum(count > 0 for count in counts), sum(counts)
    mean_square = sum(squares) / (n - N)
    deviations = [square - mean_square * max(count - 1, 0) for square, count in zip(squares, counts, strict=True)]
    variance = sum(deviation**2 for deviation in deviations) * N / (N - 1) / (n - N) ** 2
    share = (N - 1) / (n - sum(count**2 for count in counts) / n)
    assert terms.within_square_df[0] == pytest.approx(2 * terms.within_square[0] ** 2 / (variance * share**2))


def test_clusters_of_questions_with_variants_of_their_own_add_what_their_means_say():
    """A benchmark whose questions each have their own prompts, in clusters: the excess of the means of questions."""
    y = drawn(3, N=8)
    cube = cube_of(y, nested=True)
    clusters = tuple("aabbccdd")
    alone, together = estimate_components(cube), estimate_components(replace(cube, clusters=clusters))
    means = np.array([[np.mean(row) for row in y]])
    assert (together.parts - alone.parts)[0] == pytest.approx(cluster_excess(means, clusters) / 8)
    assert together.clustered.variance == pytest.approx(cluster_means(means, clusters).variance)


def test_differences_of_two_models():
    """A slow version; swapping the models changes nothing but the sign of the mean."""
    a, b = drawn(1), drawn(2)
    cube = cube_of(a, b)
    ours, slow = estimate_components(cube.difference("m0", "m1")), oracle.crossed_difference(a, b)
    for name in PROMPT_COMPONENTS:
        assert getattr(ours, name)[0] == pytest.approx(slow[name], abs=1e-12)
    other = estimate_components(cube.difference(["m1"], ["m0"]))
    assert other.mean[0] == pytest.approx(-ours.mean[0])
    assert other.variant[0] == pytest.approx(ours.variant[0])


@pytest.mark.parametrize(("missing", "seed"), [(0.0, 1), (0.15, 2)])
def test_unbiased_and_covering(missing, seed):
    """A guarantee by seeded simulation: 300 cubes of right and wrong answers with known components."""
    rng = np.random.default_rng(seed)
    T, N, S, K = 300, 60, 10, 3
    p = (
        0.5
        + rng.uniform(-0.25, 0.25, (T, N, 1))
        + rng.uniform(-0.1, 0.1, (T, 1, S))
        + rng.uniform(-0.12, 0.12, (T, N, S))
    )
    n = np.where(rng.random(p.shape) < missing, 0, K)
    total = rng.binomial(n, p).astype(float)
    names = (tuple(map(str, range(size))) for size in p.shape)
    ours = estimate_components(Cube("b", *names, n, total, total))
    truth = {"question": 0.25**2 / 3, "variant": 0.1**2 / 3, "interaction": 0.12**2 / 3}
    truth["generation"] = 0.25 - sum(truth.values())
    for name, true in truth.items():
        off = getattr(ours, name) - true
        assert abs(off.mean()) < 4 * off.std() / np.sqrt(T), name
        low, high = ours.limits(name)
        assert np.mean((low <= true) & (true <= high)) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / T), name
    for claim in ("new-questions-and-variants",):
        between = ours.interval(claim)
        assert np.mean((between.low <= 0.5) & (between.high >= 0.5)) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / T)


@pytest.mark.parametrize("claim", PROMPT_CLAIMS)
def test_intervals_hold_their_means(claim):
    cube = cube_of(drawn(1), drawn(2))
    for data in (cube, cube.difference("m0", "m1"), replace(cube, nested=True)):
        found = estimate_components(data)
        between = found.interval(claim)
        assert np.all((between.low <= found.mean) & (found.mean <= between.high))


def test_corners():
    one_variant = estimate_components(cube_of([[cell[0]] for cell in drawn(1)]))
    assert np.isnan(one_variant.variant[0])
    assert "one variant" in one_variant.note[0]
    one_question = summarize_variants(cube_of(drawn(1)[:1]))
    assert "one question" in one_question.columns()["note"][0]
    assert np.isnan(one_question.components.limits("generation")[1][0])
    same = summarize_variants(cube_of([[[1.0, 1.0]] * 4] * 5))
    assert same.components.variant[0] == 0
    assert all(np.isnan(end[0]) for name in PROMPT_COMPONENTS for end in same.components.limits(name))
    means = summarize_variants(Cube.from_means("b", ["m"], ["v", "w"], np.array([[0.4, 0.7]]))).moments
    assert (means.low[0], means.high[0]) == (0, 1)  # t with one degree of freedom goes beyond both
    apart = estimate_components(cube_of([[[1.0, 0.0], []], [[], [1.0, 1.0]]]))
    assert "share too few variants" in apart.note[0]
    nothing = estimate_components(cube_of([[[], []], [[], []]]))
    assert nothing.note[0] == "no scores"
    assert np.isnan(nothing.mean[0])
    with pytest.raises(UnknownNameError, match="claim"):
        apart.variance("x")
    with pytest.raises(UnknownNameError, match="component"):
        apart.limits("x")


def test_table_of_components():
    columns = estimate_components(cube_of(drawn(1), drawn(2))).columns()
    assert columns["component"].tolist() == [*PROMPT_COMPONENTS] * 2
    assert np.all(columns["low"] <= np.maximum(columns["variance"], 0))


def test_cube_adds_up_and_checks():
    cube = cube_of(holes(drawn(1), 1), drawn(2), default=1, values={"sep": ["a", "b", "a", "b"]})
    pooled = cube.cells()
    assert pooled.n.tolist() == cube.n.sum(axis=2).tolist()
    assert pooled.variants == cube.variants
    assert cube.select(["m1"]).mean.tolist() == cube.mean[1:].tolist()
    with pytest.raises(UnknownNameError, match="model 'x'"):
        cube.select(["x"])
    with pytest.raises(InputError, match="n has shape"):
        replace(cube, n=cube.n[:1])
    with pytest.raises(InputError, match="variant 'v0' is there twice"):
        replace(cube, variants=("v0",) * 4)
    with pytest.raises(InputError, match="1 values of 'sep' for 4 variants"):
        replace(cube, values={"sep": ("a",)})
    with pytest.raises(InputError, match="default is 4 of 4 variants"):
        replace(cube, default=4)
    with pytest.raises(InputError, match="cells, not models x questions x variants"):
        Cube.from_scores("b", ["m"], ["q"], ["v", "w"], [[[[1]]]])
    with pytest.raises(InputError, match="scores have shape"):
        Cube.from_means("b", ["m"], ["v", "w"], np.zeros(3))


def test_moments_of_complete_cells():
    """Theory: the mean square over variants less the noise of each score."""
    y = drawn(4)
    found = summarize_variants(cube_of(y))
    scores = np.mean(y, axis=(0, 2))
    slow = oracle.balanced_crossed(y)
    m = found.moments
    assert m.scores[0] == pytest.approx(scores)
    assert m.variance[0] == pytest.approx(scores.var())
    assert np.isnan(m.default[0])
    assert m.corrected[0] == pytest.approx(slow["variant"] + slow["interaction"] / 6)
    columns = m.columns()
    assert columns["max"][0] == pytest.approx(scores.max())
    assert m.variance_low[0] < m.variance[0] < m.variance_high[0]
    assert found.columns()["n_variants"][0] == 4
    nested = summarize_variants(cube_of(y, nested=True))
    assert np.isnan(nested.columns()["n_star"][0])
    with pytest.raises(InputError, match="level is 2"):
        summarize_variants(cube_of(y), level=2)


def test_no_limit_of_a_variance_of_scores_from_0_to_1_is_above_a_quarter():
    """Three variants, one of which fails always: the limit by chi-squared is above .5."""
    rng = np.random.default_rng(3)
    scores = (rng.random((1, 40, 3, 2)) < np.array([0.9, 0.8, 0.0])[:, None]).astype(float)
    m = summarize_variants(
        Cube.from_scores("demo", ["a"], [f"q{i}" for i in range(40)], ["x", "y", "z"], scores)
    ).moments
    assert variance_limits(np.var(m.scores, axis=1, ddof=1), m.scores, 0.95)[1][0] > 0.25
    assert m.variance_high.tolist() == [0.25]


@pytest.mark.parametrize("n", [4, 5, 6, 11, 40])
def test_variance_limits_against_the_formula(n):
    """A slow version: Bonett's formula with Python's statistics and scipy's trimmed mean; missing values change nothing."""
    x = np.random.default_rng(n).standard_t(4, n)
    low, high = variance_limits(np.array([x.var(ddof=1)]), np.append(x, [np.nan] * 3)[None], 0.9)
    assert (low[0], high[0]) == pytest.approx(oracle.variance_limits(x.tolist(), 0.9))


def test_variance_factors_of_few_values():
    """A printed table: quantiles of chi-square, for three values and for 9 degrees of freedom."""
    x = np.array([[1.0, 2, 4, np.nan], [3.3, 3.3, 3.3, 3.3], [1, np.nan, np.nan, np.nan]])
    few = variance_factors(x, 0.95)
    assert (few.low[0], few.high[0]) == pytest.approx((2 / 7.37776, 2 / 0.0506356), rel=1e-4)
    assert np.isnan(few.low[1:]).all()
    nine = chi_square_factors(9, 0.95)
    assert (float(nine.low), float(nine.high)) == pytest.approx((9 / 19.0228, 9 / 2.70039), rel=1e-4)


@pytest.mark.parametrize(("n", "lowest"), [(5, 0.95), (10, 0.91), (30, 0.89)])
def test_variance_limits_cover(n, lowest):
    """A guarantee by seeded simulation: 4,000 samples; normal as promised, t with 5 degrees of freedom not far below."""
    rng = np.random.default_rng(n)
    for draws, least in ((rng.standard_normal((4000, n)), 0.937), (rng.standard_t(5, (4000, n)) * 0.6**0.5, lowest)):
        low, high = variance_limits(draws.var(axis=1, ddof=1), draws, 0.95)
        assert np.mean((low <= 1) & (high >= 1)) > least


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_nested_components_are_unbiased_and_cover(missing):
    """A guarantee by seeded simulation: 300 cubes in which each question draws its own variants."""
    rng = np.random.default_rng(3)
    T, N, S, K = 300, 60, 4, 3
    p = 0.5 + rng.uniform(-0.2, 0.2, (T, N, 1)) + rng.uniform(-0.15, 0.15, (T, N, S))
    n = np.where(rng.random(p.shape) < missing, 0, K)
    total = rng.binomial(n, p).astype(float)
    names = (tuple(map(str, range(size))) for size in p.shape)
    ours = estimate_components(Cube("b", *names, n, total, total, nested=True))
    truth = {"question": 0.2**2 / 3, "variant": 0.15**2 / 3}
    truth["generation"] = 0.25 - sum(truth.values())
    for name, true in truth.items():
        off = getattr(ours, name) - true
        assert abs(off.mean()) < 4 * off.std() / np.sqrt(T), name
        low, high = ours.limits(name)
        assert np.mean((low <= true) & (true <= high)) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / T), name
    between = ours.interval()
    assert np.mean((between.low <= 0.5) & (between.high >= 0.5)) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / T)


def test_planning_with_variants():
    """The plan of the pilot's own design has the pilot's standard error, and more variants pay here."""
    cube = cube_of(drawn(1, N=30, S=5))
    noise = components_from_cube(cube, "m0")
    found = estimate_components(cube)
    assert noise.variance(30, 3, 5) == pytest.approx(found.variance()[0])
    best = plan(noise, budget=900, max_variants=30, max_generations=5).best
    assert best.n_variants > 1
    assert best.calls <= 900
    single = components_from_cube(cube_of([[c[:1] for c in row] for row in drawn(1, N=30)]), "m0")
    assert np.isnan(single.generation)
    assert single.has_variants
    planned = plan(single, budget=900, max_variants=30, assurance=None).best
    assert planned.n_generations == 1
    assert planned.n_variants > 1
    assert planned.se**2 == pytest.approx(
        single.question / planned.n_questions
        + single.variant / planned.n_variants
        + single.residual / (planned.n_questions * planned.n_variants)
    )
    pair = components_from_cube(cube_of(drawn(1), drawn(2)), "m0", "m1", claim="these-questions")
    assert (pair.models, pair.population) == (2, 6)
    nested = components_from_cube(cube_of(drawn(1), nested=True), "m0")
    assert nested.variant == 0
    flat = components_from_cube(cube_of([[[0.5, 0.7], [0.5, 0.7]], [[0.5, 0.7], [0.5, 0.7]]]), "m0")
    assert "planned as 0" in flat.note
    with pytest.raises(UnknownNameError, match="claim"):
        components_from_cube(cube, "m0", claim="x")
    apart = cube_of([[[1, 0], []], [[0, 1], []]], [[[], [1, 1]], [[], [0, 1]]])
    with pytest.raises(InputError, match="b: m0 and m1 answered no question in the same variant; ask both"):
        components_from_cube(apart, "m0", "m1")


@pytest.mark.shared
def test_published_formats():
    """Ten templates x three seeds of the demonstrations, 2 and 4 shots: a score is the mean over the test set."""
    path = SHARED / "prompt_formats/non_ensemble_runs.csv"
    if not path.exists():
        pytest.skip("needs ../shared/data/prompt_formats")
    with path.open(newline="") as lines:
        rows = [
            row
            for row in csv.DictReader(lines)
            if (row["dataset"], row["template_seed"], row["prediction_method"], row["selection_method"])
            == ("agnews", "59", "direct_False", "random")
            and row["n_shots"] != "0"
        ]
    models = sorted({row["model"] for row in rows})
    asked = sorted({(row["seed"], row["n_shots"]) for row in rows})
    assert len(asked) == 6
    y = np.full((len(models), 6, 10), np.nan)
    for row in rows:
        y[models.index(row["model"]), asked.index((row["seed"], row["n_shots"]))] = json.loads(row["scores"])
    found = estimate_components(
        Cube.from_means("agnews", models, letters(10, "t"), y, questions=[" ".join(a) for a in asked])
    )
    for i in range(len(models)):
        slow = oracle.crossed([[[v] for v in line] for line in y[i].tolist()])
        for name in ("question", "variant", "residual"):
            assert getattr(found, name)[i] == pytest.approx(slow[name], abs=1e-12)
    assert required_variants(tuple(models), found.fit.variant_score).n_star.shape == (20, 2)


def test_limits_of_crossed_components_by_loops():
    """Textbook formulas: two-way clustered squares for the interaction, modified large samples for the questions.

    Two equal generations per cell, so that nothing is noise of generations.
    """
    y = np.array(
        [[0.9, 0.4, 0.7, 0.1], [0.3, 0.8, 0.2, 0.6], [1.0, 0.5, 0.1, 0.9], [0.2, 0.1, 0.8, 0.3], [0.6, 1.0, 0, 0]]
    )
    ours = estimate_components(cube_of([[[value] * 2 for value in row] for row in y.tolist()]))
    N, S = y.shape
    r = y - y.mean(axis=1, keepdims=True) - y.mean(axis=0) + y.mean()
    square = float(np.sum(r**2)) / ((N - 1) * (S - 1))
    assert ours.interaction[0] == pytest.approx(square)
    d = r**2 - np.mean(r**2)
    v_q = sum(sum(d[q, s] for s in range(S)) ** 2 for q in range(N)) * N / (N - 1)
    v_s = sum(sum(d[q, s] for q in range(N)) ** 2 for s in range(S)) * S / (S - 1)
    v = max(v_q + v_s - sum(value**2 for value in d.ravel()), v_q, v_s)
    df = v**2 / (v_q**2 / (N - 1) + v_s**2 / (S - 1))
    error = v / ((N - 1) * (S - 1)) ** 2
    assert df > 1
    far = stats.t.ppf(0.975, df) * math.sqrt(error)
    assert [each[0] for each in ours.limits("interaction")] == pytest.approx([max(square - far, 0), square + far])
    scores = y.mean(axis=1)
    first, second = float(np.var(scores, ddof=1)), square / S
    f, g = variance_factors(scores[None], 0.95), chi_square_factors(np.array([max(2 * square**2 / error, 1)]), 0.95)
    low = first - second - math.hypot((1 - f.low[0]) * first, (g.high[0] - 1) * second)
    high = first - second + math.hypot((f.high[0] - 1) * first, (1 - g.low[0]) * second)
    assert [each[0] for each in ours.limits("question")] == pytest.approx([max(low, 0), high])


def test_two_way_errors_by_hand():
    """Sums by row 3.5, 0, 1.5 and by column 6, -1, 0; squares of cells add up to 38.5. Then all 2, 1, 1, 2."""
    rows = np.array([[[1, 2, 0.5], [3, -4, 1], [2, 1, -1.5]]])
    v, df = _two_way_error(rows, np.array([2.0]), nested=False)
    assert v[0] == pytest.approx(55.5 / 4)  # 21.75 + 55.5 - 38.5 is less than 55.5
    assert df[0] == pytest.approx(2 * 55.5**2 / (21.75**2 + 55.5**2))
    even = np.array([[[2.0, 1], [1, 2]]])
    v, df = _two_way_error(even, np.array([1.0]), nested=False)
    assert (v[0], df[0]) == (62, pytest.approx(62**2 / (36**2 + 36**2)))
    v, df = _two_way_error(even, np.array([1.0]), nested=True)
    assert (v[0], df[0]) == (36, 1)
    assert np.isnan(_two_way_error(np.array([[[2.0, 1]]]), np.array([1.0]), nested=False)[0][0])


@pytest.mark.parametrize("nested", [False, True])
def test_models_together_are_each_model_alone(nested):
    """The same estimates, limits and intervals, with other cells missing for each model."""
    scores = [holes(drawn(seed, N=8), seed) for seed in (1, 2, 3)]
    together = estimate_components(cube_of(*scores, nested=nested))
    for m, own in enumerate(scores):
        alone = estimate_components(cube_of(own, nested=nested))
        for name in PROMPT_COMPONENTS:
            assert getattr(together, name)[m] == pytest.approx(getattr(alone, name)[0], nan_ok=True)
            limits = zip(together.limits(name), alone.limits(name), strict=True)
            assert all(ours[m] == pytest.approx(theirs[0], nan_ok=True) for ours, theirs in limits)
        for claim in PROMPT_CLAIMS:
            ours, theirs = together.interval(claim), alone.interval(claim)
            assert (ours.low[m], ours.high[m]) == pytest.approx((theirs.low[0], theirs.high[0]))


def test_degrees_of_freedom_of_each_claim_by_hand():
    """Student's t for scores beyond [0, 1], 6 questions x 4 variants: 5 for new questions, 3 for new variants.

    Those of both are Satterthwaite's, (Vq + Vs)^2/(Vq^2/5 + Vs^2/3), for the variance Vq of new questions and the upper
    limit Vs of the variance of the variants over 4.
    """
    found = estimate_components(cube_of(drawn(4)))
    assert min(found.question[0], found.variant[0]) > 0
    questions, variants = found.variance("new-questions")[0], found.limits("variant", 0.9)[1][0] / 4
    expected = {
        "new-questions": 5,
        "new-variants": 3,
        "new-questions-and-variants": (questions + variants) ** 2 / (questions**2 / 5 + variants**2 / 3),
    }
    for claim, df in expected.items():
        between = found.interval(claim, 0.9)
        half = stats.t.ppf(0.95, df) * np.sqrt(found.variance(claim)[0])
        assert (between.low[0], between.high[0]) == pytest.approx((found.mean[0] - half, found.mean[0] + half))


@pytest.mark.parametrize("missing", [False, True])
def test_sums_of_decimals_leave_no_rounding_in_components(missing):
    """By hand: scores a_q + b_s have no interaction; a real one of .01 stays, also beside scores of a million."""
    a, b = np.arange(12)[:, None] % 4 / 10, np.array([0.1, 0.2, 0.3, 0.7])
    there = np.array([[not missing or (q + s) % 5 > 0 for s in range(4)] for q in range(12)])

    def components(values):
        rows = [
            [
                [[v] * 2 if is_there else [] for v, is_there in zip(*pair, strict=True)]
                for pair in zip(values, there, strict=True)
            ]
        ]
        names = [f"q{q}" for q in range(12)]
        return estimate_components(Cube.from_scores("demo", ["m"], names, ["s0", "s1", "s2", "s3"], rows))

    both = components(a + b)
    assert both.interaction == [0]
    assert both.fit.question_score[0] == pytest.approx((a + b).mean(axis=1))
    assert both.fit.variant_score[0] == pytest.approx((a + b).mean(axis=0))
    assert min(both.question[0], both.variant[0]) > 0.01
    assert [components(a + 0 * b).variant[0], components(0 * a + b).question[0]] == [0, 0]
    effect = 0.01 * np.random.default_rng(0).normal(size=(12, 4))
    at_zero, far = (components(offset + effect).interaction[0] for offset in (0, 1e6))
    assert far == pytest.approx(at_zero, rel=1e-4)
    assert at_zero > 3e-5


def test_one_degree_of_freedom_has_no_interval_of_the_interaction():
    """By hand: 2 x 2 cells have one residual, whose square is the same in all; it had an interval of no width."""
    alike = cube_of([[[1.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]])
    components = estimate_components(alike)
    assert components.interaction.tolist() == [0.25]
    assert np.isnan(components.limits("interaction")).all()
    assert "one degree of freedom of the interaction" in components.note[0]
    more = estimate_components(cube_of([[[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]]))
    low, high = more.limits("interaction")
    assert low[0] < more.interaction[0] < high[0]
    assert "one degree of freedom" not in more.note[0]
