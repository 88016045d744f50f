"""The studies of examples/studies with simulated models: their tables by numpy from the stored rows, by the papers' formulas."""

import warnings

import numpy as np
import pytest
from helpers.study_files import STUDIES, write_study
from scipy import stats

import howsure as hs
from howsure.errors import HowsureWarning
from howsure.sample.experiment import load_experiment, parse_experiment
from howsure.sample.simulated_experiment import simulate_models
from howsure.store.responses import read as read_rows

pytestmark = pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")


def run_study(name, folder, **options):
    """The results of a small study with simulated models, and its scores[benchmark][model][question] as lists."""
    path = write_study(name, folder, **options)
    results = hs.run(path, simulate=True)
    scores = {}
    for row in read_rows(
        folder / f"{name}-simulated", ["benchmark", "model", "question", "variant", "generation", "score"]
    ).to_pylist():
        cell = scores.setdefault(row["benchmark"], {}).setdefault(row["model"], {}).setdefault(row["question"], {})
        cell[row["variant"], row["generation"]] = row["score"]
    return results, scores


def test_every_study_is_an_experiment_without_a_real_model():
    paths = sorted(STUDIES.glob("*.yaml"))
    assert len(paths) >= 6
    for path in paths:
        simulated = simulate_models(load_experiment(path))
        assert simulated.judge is None
        for part in simulated.parts:
            assert {config.kind for config in part.models} == {"simulated"}
            assert all(config.label.startswith("simulated ") for config in part.models)


def test_table_1_of_beyond_the_singular(tmp_path):
    """GEN, table 1: n, greedy with sqrt(p(1-p)/n), sampled with sqrt((p - p^2 - s^2)/(nk) + s^2/n)."""
    results, scores = run_study("beyond_the_singular", tmp_path, generations=6)
    table = hs.greedy(results)
    assert len(table) == 16
    for row in table:
        if row["benchmark"] == "musr":
            continue  # questions of one story are a cluster, whose error is not that of the paper
        sampled = np.array([list(one.values()) for one in scores[row["benchmark"]][row["model"]].values()])
        greedy = np.array([list(one.values()) for one in scores[row["benchmark"]][f"{row['model']}:greedy"].values()])
        n, k = sampled.shape
        assert (row["n_questions"], row["n_generations"], greedy.shape) == (n, k, (n, 1))
        assert row["greedy"] == pytest.approx(greedy.mean())
        assert row["se_greedy"] == pytest.approx(np.sqrt(greedy.mean() * (1 - greedy.mean()) / n))
        assert row["sampled"] == pytest.approx(sampled.mean())
        # The plug-in of the paper counts the prediction variance twice; ours is that of the question means.
        assert row["se_sampled"] == pytest.approx(sampled.mean(axis=1).std() / np.sqrt(n))


def test_figure_1_and_2_of_reproducible_evaluation(tmp_path):
    """PI, eq. 3 with n' = n: mean ± t s sqrt(2/n) of the means of the first n runs; the fixed arm never differs."""
    results, scores = run_study("reproducible_evaluation", tmp_path, generations=5)
    widths = hs.run_widths(results, method="run-means").to_frame().set_index(["benchmark", "model", "n_runs"])
    for benchmark, models in scores.items():
        runs = np.array([[one[key] for key in sorted(one)] for one in models["simulated gpt-4o default"].values()])
        for n in range(2, 6):
            means = runs[:, :n].mean(axis=0)
            half = stats.t.ppf(0.975, n - 1) * means.std(ddof=1) * np.sqrt(2 / n)
            expected = min(means.mean() + half, 1) - max(means.mean() - half, 0)
            assert widths.loc[(benchmark, "simulated gpt-4o default", n), "width"] == pytest.approx(expected)
    for row in hs.determinism(results):
        assert (row["n_varied"] == 0) == row["model"].endswith("fixed")


@pytest.mark.long
def test_the_recipe_of_reliable_eval(tmp_path):
    """REL: the others are asked in the first n* of the pool, where n* is the smallest n that independent subsets confirm."""
    results, scores = run_study("reliable_eval", tmp_path, generations=1, sample=12, epsilon=0.08)
    saved = [str(note) for note in results.notes()]
    for benchmark, models in scores.items():
        variants = {model: {key[0] for one in questions.values() for key in one} for model, questions in models.items()}
        pool = variants["simulated llama-3.1-8b-instruct"]
        asked = variants["simulated llama-3.1-70b-instruct"]
        assert len(pool) == 12
        assert asked < pool
        questions = models["simulated llama-3.1-8b-instruct"]
        means = np.array([np.mean([one[variant, 1] for one in questions.values()]) for variant in sorted(pool)])
        rng = np.random.default_rng(0)
        subsets = np.array([rng.permutation(means) for _ in range(20_000)])
        running = np.cumsum(subsets, axis=1) / np.arange(1, 13)
        exceeded = np.quantile(np.abs(running - means.mean()), 0.95, axis=0)
        n_star = next(n for n in range(1, 13) if exceeded[n - 1] <= 0.08 + 1e-9)
        assert abs(len(asked) - max(n_star, 2)) <= 1, (benchmark, len(asked), n_star, saved)


@pytest.mark.long
def test_a_second_run_of_the_recipe_asks_nothing(tmp_path):
    path = write_study("reliable_eval", tmp_path, generations=1, sample=6, epsilon=0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HowsureWarning)
        hs.run(path, simulate=True)
    assert any("which saves" in str(one.message) for one in caught)
    folder = tmp_path / "reliable_eval-simulated"
    before = read_rows(folder).num_rows
    hs.run(path, simulate=True)
    assert read_rows(folder).num_rows == before


@pytest.mark.long
def test_two_temperatures_of_all_the_noises(tmp_path):
    """NOISE eq. 1-2 and 15: se_total^2 = se_data^2 + se_prediction^2, and the pair's prediction part is a sum of two."""
    results, scores = run_study("all_the_noises", tmp_path, generations=4)
    each = hs.score(results).to_frame().set_index(["benchmark", "model"])
    assert len(each) == 12
    for row in hs.pairs(results):
        E = [
            np.mean([np.var(list(one.values()), ddof=1) for one in scores[row["benchmark"]][row[m]].values()])
            for m in ("model_a", "model_b")
        ]
        assert row["se_prediction"] == pytest.approx(np.sqrt(sum(E) / row["n_questions"]))
    beside = hs.noise(results, like=["math500", "aime-2024"])
    assert beside["benchmark"].tolist() == ["aime-2024", "math-500", "math500_cot", "aime2024_cot"]


@pytest.mark.parametrize("name", ["temperatures", "reliable_eval_simpleqa"])
def test_the_other_studies_run(tmp_path, name):
    options = {"sample": 4, "questions_per_variant": 10} if name.startswith("reliable") else {}
    results, scores = run_study(name, tmp_path, generations=3, **options)
    assert len(hs.score(results)) == sum(len(models) for models in scores.values())


def test_labels_and_settings_of_what_is_simulated():
    text = """
benchmark: gsm8k
models:
  - {model: openai/a, temperature: [0.2, 1.0], max_tokens: 9, extra: {top_k: 3}}
  - {model: openai/b, mode: batch}
greedy: true
until: {detect: 0.1, models: ["openai/a:temperature=0.2", openai/b]}
budget: {calls: 10}
"""
    with pytest.raises(hs.InputError):
        parse_experiment(text)  # batches cannot stop early
    simulated = simulate_models(parse_experiment(text.replace(", mode: batch", "")))
    labels = [config.label for config in simulated.models]
    assert labels[:3] == [
        "simulated openai/a:temperature=0.2",
        "simulated openai/a:temperature=1",
        "simulated openai/a:greedy",
    ]
    assert len({config.name for config in simulated.models[:3]}) == 1
    assert simulated.models[0].name != simulated.models[3].name
    assert (simulated.models[0].settings.temperature, simulated.models[0].settings.max_tokens) == (0.2, None)
    assert simulated.stopping.models == ("simulated openai/a:temperature=0.2", "simulated openai/b")
    assert simulated.budget.calls is None
