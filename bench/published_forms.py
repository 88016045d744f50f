"""What the published forms get wrong, beside ours, and two of the papers' tables remade; for docs/guarantees.md.

The last two are of math500 (published_results.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import special

from checked_tables import Checks
from howsure.stats.comparisons import compare
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import StoppingRule
from howsure.stats.repeats import convergence, repeats, run_gap
from howsure.stats.scores import score
from howsure.stats.sequential import check_stopping
from published_results import load_published

Array = NDArray[np.float64]


def cells_of(p: Array, k: int, rng: np.random.Generator) -> Cells:
    """One evaluation a row: k generations of each question."""
    total = rng.binomial(k, p).astype(float)
    models, questions = (tuple(map(str, range(size))) for size in p.shape)
    return Cells("simulated", models, questions, np.full(p.shape, k), total, total)


def plugin(trials: int) -> str:
    """GEN's squared error over the true one."""
    lines = ["| k | GEN's plug-in | ours |", "|---:|---:|---:|"]
    for k in (2, 5, 50):
        rng = np.random.default_rng(k)
        # Beta(.6, .4): Var(p) = E[p(1-p)] = .6 .4 / 2
        true = 0.12 * (1 + 1 / k) / 500
        cells = cells_of(rng.beta(0.6, 0.4, (trials, 500)), k, rng)
        published, ours = (float(np.mean(score(cells, method=m).variance)) / true for m in ("plugin", None))
        lines.append(f"| {k} | {published:.3f} | {ours:.3f} |")
    return "\n".join(lines)


def prediction_intervals(trials: int) -> str:
    """Width and coverage of the interval for the mean of as many further runs."""
    lines = [
        "| runs | run means, as published: width | coverage | pooled: width | coverage | published / pooled |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for n in (2, 3, 5, 10):
        rng = np.random.default_rng(n)
        p = rng.beta(0.6, 0.4, (trials, 100))
        runs = [cells_of(p, 1, rng) for _ in range(n)]
        future = np.mean([cells_of(p, 1, rng).mean.mean(axis=1) for _ in range(n)], axis=0)
        rows = []
        for method in ("run-means", "pooled"):
            result = repeats(runs, method=method, alpha=0)
            # As published: not cut at 0 and 1, and of no width where all runs are equal.
            half = special.stdtrit(result.df, 0.975) * np.sqrt(result.variance)
            covered = float(np.mean(np.abs(future - result.mean) <= half))
            rows.append((float(np.mean(2 * half)), covered))
        (wide, c1), (narrow, c2) = rows
        lines.append(f"| {n} | {wide:.4f} | {c1:.3f} | {narrow:.4f} | {c2:.3f} | {wide / narrow:.1f} |")
    return "\n".join(lines)


def stopping(trials: int, width: float, n_rounds: int, checks: Checks) -> str:
    """Runs of 100 questions until an interval is narrower than `width`, and whether it has the truth in it."""
    rules: tuple[StoppingRule, ...] = ("prediction", "run-means", "pooled", "sequence")
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 0.4, (trials, 100))
    truth = p.mean(axis=1)
    stopped = {rule: np.zeros(trials) for rule in rules}
    missed = {rule: np.zeros(trials, dtype=bool) for rule in rules}
    ever = {rule: np.zeros(trials, dtype=bool) for rule in rules}
    runs: list[Cells] = []
    so_far: Cells | None = None
    for t in range(1, n_rounds + 1):
        run = cells_of(p, 1, rng)
        runs.append(run)
        so_far = run if so_far is None else _added(so_far, run)
        if t < 2:
            continue
        for rule in rules:
            open_ = stopped[rule] == 0
            if not open_.any():
                continue
            now = check_stopping(runs if rule in {"prediction", "run-means"} else so_far, width, rule=rule)
            wrong = (truth < now.score - now.half) | (truth > now.score + now.half)
            ever[rule] |= open_ & wrong
            ends = open_ & now.stop
            stopped[rule][ends] = t
            missed[rule][ends] = wrong[ends]
    names = {
        "prediction": "PI's, prediction interval of run means",
        "run-means": "confidence interval of run means",
        "pooled": "pooled variance (default of a width)",
        "sequence": "confidence sequence (default of a difference)",
    }
    rounds = {rule: np.median(np.where(stopped[rule] > 0, stopped[rule], n_rounds)) for rule in rules}
    miss = missed["pooled"].mean()
    checks.check(miss <= 0.06 + 3 * np.sqrt(0.06 / trials), f"width {width}: the pooled rule misses {miss:.3f}")
    checks.check(1.4 * rounds["pooled"] <= rounds["sequence"], f"width {width}: rounds are {rounds}")
    lines = [
        f"| rule | truth missed at the stop | at any look | median rounds | not stopped in {n_rounds} |",
        "|---|---:|---:|---:|---:|",
    ]
    for rule in rules:
        done = stopped[rule] > 0
        at_stop = f"{missed[rule][done].mean():.3f}" if done.any() else "–"
        ever_missed, left = f"{ever[rule].mean():.3f}", f"{np.mean(~done):.2f}"
        lines.append(f"| {names[rule]} | {at_stop} | {ever_missed} | {rounds[rule]:.0f} | {left} |")
    return "\n".join(lines)


def _added(a: Cells, b: Cells) -> Cells:
    total = a.total + b.total
    return Cells(a.benchmark, a.models, a.questions, a.n + b.n, total, total)


def components_on_math500(trials: int) -> str:
    """Relative RMS error of the paired components against N and K, as NOISE figure 5."""
    cells = load_published("math500_cot")
    pair = ("qwen2.5-coder-14b-instruct", "deepseek_r1_distill_llama_8b")
    p = cells.select(pair).mean
    d = p[0] - p[1]
    true = {
        "total": d.var() + np.sum(p * (1 - p), axis=0).mean(),
        "data": d.var(),
        "prediction": np.sum(p * (1 - p), axis=0).mean(),
    }
    rng = np.random.default_rng(5)
    lines = [
        f"{pair[0]} against {pair[1]}: D {true['data']:.4f}, E {true['prediction']:.4f}.",
        "",
        "| N | K | total | data | data, uncorrected | prediction | prediction, uncorrected |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for N, K in [(N, 10) for N in (50, 100, 250, 500)] + [(500, K) for K in (2, 5, 20, 50)]:
        off: dict[str, list[float]] = {
            name: [] for name in ("total", "data", "plain data", "prediction", "plain prediction")
        }
        for _ in range(trials):
            drawn = cells_of(p[:, rng.integers(0, 500, N)], K, rng)
            row = compare(drawn, "0", "1")
            observed = drawn.mean
            plain = {
                "data": (observed[0] - observed[1]).var(),
                "prediction": np.sum(observed * (1 - observed), axis=0).mean(),
            }
            for name in ("total", "data", "prediction"):
                off[name].append(float(getattr(row, name)[0]) / true[name] - 1)
            for name, value in plain.items():
                off[f"plain {name}"].append(float(value) / true[name] - 1)
        rms = {name: float(np.sqrt(np.mean(np.square(values)))) for name, values in off.items()}
        lines.append(
            f"| {N} | {K} | {rms['total']:.2f} | {rms['data']:.2f} | {rms['plain data']:.2f} "
            f"| {rms['prediction']:.3f} | {rms['plain prediction']:.3f} |"
        )
    return "\n".join(lines)


def scores_on_math500() -> str:
    """GEN table 1 in form: score, its error, the gap between best and worst single run, convergence with k."""
    cells = load_published("math500_cot")
    chosen = cells.select(["qwen3-32b", "qwen2.5-coder-14b-instruct", "llama-3.1-8B-instruct", "qwen2-0.5b-instruct"])
    scores, gap = score(chosen), run_gap(chosen, runs=50)
    grown = convergence(chosen, method="resampled", trials=1000)
    sizes = (1, 2, 5, 10, 20, 50)
    lines = [
        "| model | score (SE) | gap of best and worst of 50 single runs | "
        + " | ".join(f"SE at k = {k}" for k in sizes)
        + " |",
        "|---|---:|---:|" + "---:|" * len(sizes),
    ]
    for m, model in enumerate(chosen.models):
        errors = " | ".join(f"{grown.se[m, k - 1]:.4f}" for k in sizes)
        lines.append(
            f"| {model} | {scores.score[m]:.4f} ({np.sqrt(scores.variance[m]):.4f}) | {gap.gap[m]:.3f} | {errors} |"
        )
    return "\n".join(lines)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Title and table of each."""
    yield "GEN's plug-in variance over the true one", plugin(50 if quick else 2000)
    yield "PI's prediction interval", prediction_intervals(200 if quick else 5000)
    checks = Checks()
    for width, most in ((0.06, 20),) if quick else ((0.02, 200), (0.06, 40)):
        title = "Stopping when the interval is narrow" + ("" if width == 0.02 else f": width {width}")
        yield title, stopping(100 if quick else 600, width, most, checks)
    yield (
        "Relative RMS error of a pair's components on math500 (NOISE figure 5)",
        components_on_math500(20 if quick else 400),
    )
    yield "math500 in the form of GEN table 1", scores_on_math500()
    checks.finish()
