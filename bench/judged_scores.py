"""Scores that a judge gave, corrected by people's labels: what the intervals cover, and beside two other packages.

A simulated judge with a known sensitivity and specificity judges every completion; people label a random sample. Rows:
scores of a model and differences of two, with questions in clusters, several completions per question, few labels, and
a judge that favours one of the models. The judge's raw score must fail where the judge errs, Rogan-Gladen where it errs
differently on the models, and PPI++ nowhere.

    python bench/judged_scores.py [--quick]        the tables
    python bench/judged_scores.py --packages       beside truescore and cje-eval, in an environment that has them
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checked_tables import LOWEST, Checks, markdown, print_sections
from howsure.stats.core.claims import CALIBRATION_METHODS, CalibrationMethod
from howsure.stats.judges import (
    JudgedCompletions,
    VerdictTable,
    calibrate,
    calibrate_difference,
    examine_judge,
    measure_judge_noise,
)

__all__ = ["sections"]

Array = NDArray[np.float64]


class Setting(NamedTuple):
    """One simulated evaluation by a judge."""

    name: str
    N: int = 300
    k: int = 1
    labels: int = 100
    score: float = 0.6
    sensitivity: float = 0.9
    specificity: float = 0.85
    favour: float = 0.0
    """What the judge adds to the probability of a verdict "right" for the first model."""
    clustered: bool = False
    unbalanced: bool = False
    """Whether the second model has answered only a third of the questions, and has a quarter of the labels."""
    stratified: bool = False
    """Whether completions judged right and wrong are labelled in equal numbers, with their inclusion probabilities."""
    often: int | None = None
    """The verdict whose completions are labelled 8 times as often, with their inclusion probabilities."""
    refused: float = 0.0
    """Share of completions that are refused: they score 0 without a judge, and nobody labels them."""


SETTINGS = (
    Setting("100 labels"),
    Setting("50 labels", labels=50),
    Setting("20 labels", labels=20),
    Setting("10 labels", labels=10),
    Setting("5 completions per question", N=100, k=5),
    Setting("questions in clusters of 5", clustered=True),
    Setting("unbalanced models", unbalanced=True),
    Setting("score .9", score=0.9),
    Setting("good judge", sensitivity=0.98, specificity=0.98),
    Setting("lenient judge", specificity=0.6),
    Setting("useless judge", sensitivity=0.5, specificity=0.5),
    Setting("labels stratified by verdict", score=0.85, stratified=True),
    Setting("judged right: labelled 8 times as often", labels=60, specificity=0.9, often=1),
    Setting("the same, score .95", labels=60, score=0.95, specificity=0.9, often=1),
    Setting("the same, 20 labels", labels=20, specificity=0.9, often=1),
    Setting("judged wrong: labelled 8 times as often, score .2", labels=60, score=0.2, specificity=0.9, often=0),
    Setting("30 % refused, errors of 15 %", N=200, sensitivity=0.85, specificity=0.85, refused=0.3),
    Setting("30 % refused, errors of 30 %", N=200, sensitivity=0.7, specificity=0.7, refused=0.3),
    Setting("favours one model by .1", favour=0.1),
    Setting("favours one model by .1, 30 labels", favour=0.1, labels=30),
)


def draw(setting: Setting, rng: np.random.Generator) -> JudgedCompletions:
    """Return two models of equal true score on the same questions, judged, with labels on a sample of each."""
    N, k = setting.N, setting.k
    population = rng.beta(2 * setting.score, 2 * (1 - setting.score), N)
    if setting.clustered:
        population = np.repeat(population[: -(-N // 5)], 5)[:N]
    columns = []
    for model in (0, 1):
        here = N // 3 if setting.unbalanced and model else N
        question = np.repeat(np.arange(here), k)
        right = rng.random(here * k) < population[question]
        favour = setting.favour if model == 0 else 0.0
        says_right = np.where(right, setting.sensitivity + favour, 1 - setting.specificity + favour)
        judged = (rng.random(here * k) < says_right).astype(float)
        known = rng.random(len(right)) < setting.refused if setting.refused else np.zeros(len(right), dtype=bool)
        judged[known] = 0
        n = setting.labels // 4 if setting.unbalanced and model else setting.labels
        inclusion = np.full(len(right), n / np.sum(~known))
        if setting.stratified:
            for verdict in (0, 1):
                stratum = (judged == verdict) & ~known
                inclusion[stratum] = min(n / 2 / max(stratum.sum(), 1), 1)
        if setting.often is not None:
            weight = np.where(judged == setting.often, 8, 1)
            inclusion = np.minimum(n * weight / weight.sum(), 1)
        chosen = np.zeros(len(right), dtype=bool)
        for share in np.unique(inclusion):
            stratum = np.flatnonzero((inclusion == share) & ~known)
            chosen[rng.choice(stratum, round(share * len(stratum)), replace=False)] = True
        label = np.where(chosen, right, np.nan)
        columns.append((np.full(len(right), model), question, judged, label, inclusion, known))
    models, question, judged, label, inclusion, is_known = map(np.concatenate, zip(*columns, strict=True))
    clusters = tuple(str(q // 5) for q in range(N)) if setting.clustered else None
    return JudgedCompletions(
        "simulated",
        ("a", "b"),
        tuple(map(str, range(N))),
        *(models, question, judged, label, inclusion, clusters),
        is_known=is_known if setting.refused else None,
    )


class Coverage(NamedTuple):
    """Coverage and mean width of one method, for the score of the first model and for the difference."""

    score: float
    width: float
    difference: float
    width_difference: float


def measure(setting: Setting, trials: int) -> dict[CalibrationMethod, Coverage]:
    """Return the coverage of each method; an interval that is not there covers nothing."""
    rng = np.random.default_rng([len(setting.name), setting.N, setting.labels, round(100 * setting.favour)])
    rows: dict[CalibrationMethod, list[tuple[bool, float, bool, float]]] = {m: [] for m in CALIBRATION_METHODS}
    for _ in range(trials):
        data = draw(setting, rng)
        for method, results in rows.items():
            one = calibrate(data, method=method).interval()
            two = calibrate_difference(data, "a", "b", method=method).interval()
            results.append(
                (
                    bool(one.low[0] <= setting.score * (1 - setting.refused) <= one.high[0]),
                    float(one.high[0] - one.low[0]),
                    bool(two.low[0] <= 0 <= two.high[0]),
                    float(two.high[0] - two.low[0]),
                )
            )
    return {method: Coverage(*_mean_columns(results)) for method, results in rows.items()}


def _mean_columns(results: list[tuple[bool, float, bool, float]]) -> list[float]:
    """Return the mean of each column, without what is NaN."""
    table = np.array(results, dtype=float)
    return [float(np.mean(column[~np.isnan(column)])) if np.any(~np.isnan(column)) else np.nan for column in table.T]


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield the tables; raise AssertionError at the end where a claim does not hold."""
    checks, trials = Checks(), 300 if quick else 2000
    lowest = LOWEST - 3 * np.sqrt(LOWEST * (1 - LOWEST) / trials)
    lines = []
    for setting in SETTINGS:
        measured = measure(setting, trials)
        for method, coverage in measured.items():
            lines.append([setting.name, method, *(f"{value:.3f}" for value in coverage)])
        ppi, raw = measured["ppi"], measured["raw"]
        checks.check(min(ppi.score, ppi.difference) >= lowest, f"{setting.name}: PPI++ covers {ppi}")
        if setting.favour:
            checks.check(raw.difference < 0.8, f"{setting.name}: the raw difference covers {raw.difference}")
            biased = measured["rogan-gladen"].difference
            checks.check(biased < LOWEST, f"{setting.name}: Rogan-Gladen covers the difference {biased}")
        if setting.name in {"lenient judge", "useless judge"}:
            checks.check(raw.score < 0.8, f"{setting.name}: the raw score covers {raw.score}")
    header = ["setting", "method", "score covered", "width", "difference covered", "width"]
    yield "Scores that a judge gave, corrected by people", markdown(header, lines, 2)
    yield "Tests of a judge", _measure_tests(checks, 100 if quick else 1000)
    yield "The judge's noise", _measure_flips(checks, 200 if quick else 2000)
    checks.finish()


def _measure_tests(checks: Checks, trials: int) -> str:
    """Return the share of samples in which the tests of self-preference and of length reject, at 5 %."""
    lines = []
    for name, setting, slope in (
        ("no effect", Setting("no effect"), 0.0),
        ("no effect, clusters", Setting("no effect, clusters", clustered=True), 0.0),
        ("favours one model by .1", Setting("favour", favour=0.1), 0.0),
        ("says right more often by .05 per doubled length", Setting("length"), 0.05),
    ):
        rng = np.random.default_rng(len(name))
        rejected = []
        for _ in range(trials):
            data = draw(setting, rng)
            doublings = rng.uniform(0, 5, len(data.judged))
            flipped = (rng.random(len(doublings)) < slope * doublings) & (data.judged == 0)
            judged = np.where(flipped, 1.0, data.judged)
            with_length = JudgedCompletions(
                "s",
                data.models,
                data.questions,
                data.model,
                data.question,
                judged,
                data.label,
                data.inclusion,
                data.clusters,
                np.exp2(5 + doublings),
            )
            p_values = examine_judge(with_length)["p_value"]
            rejected.append([p_values[0] < 0.05, p_values[-1] < 0.05])
        share = np.mean(rejected, axis=0)
        lines.append([name, *(f"{value:.3f}" for value in share)])
        if "no effect" in name:
            checks.check(np.all(share < 0.075 + 3 * np.sqrt(0.05 * 0.95 / trials)), f"tests of a judge: size {share}")
    return markdown(["100 labels per model", "self-preference", "length"], lines)


def _measure_flips(checks: Checks, trials: int) -> str:
    """Return the coverage of the interval of the flip rate."""
    lines = []
    for N, k, r, (a, b) in ((50, 1, 2, (4, 1)), (100, 2, 3, (4, 1)), (300, 1, 2, (20, 1)), (100, 5, 5, (0.5, 0.5))):
        rng = np.random.default_rng([N, k, r])
        true = 2 * a * b / ((a + b) * (a + b + 1))
        covered, widths = [], []
        for _ in range(trials):
            n = rng.binomial(r, np.repeat(rng.beta(a, b, N), k))
            table = VerdictTable(
                "s",
                ("a",),
                tuple(map(str, range(N))),
                model=np.zeros(N * k, dtype=np.int64),
                question=np.repeat(np.arange(N), k),
                unit=np.arange(N * k),
                counts=np.stack([n, r - n], axis=1),
                values=np.array([1.0, 0.0]),
            )
            limits = measure_judge_noise(table).interval()
            covered.append(limits.low[0] <= true <= limits.high[0])
            widths.append(limits.high[0] - limits.low[0])
        lines.append([f"{N} questions, {k} completions, {r} verdicts", f"{true:.3f}", f"{np.mean(covered):.3f}",
                      f"{np.nanmean(widths):.3f}"])  # fmt: skip
        lowest = LOWEST - 3 * np.sqrt(LOWEST * (1 - LOWEST) / trials)
        checks.check(np.mean(covered) >= lowest, f"flip rate, {N} x {k} x {r}: covers {np.mean(covered):.3f}")
    return markdown(["design", "flip rate", "covered", "width"], lines)


def compare_packages(trials: int = 300) -> Iterator[tuple[str, str]]:
    """Yield coverage and width beside truescore and cje-eval on the same data: the first model, one completion each."""
    import cje
    import truescore

    lines = []
    for setting in SETTINGS:
        if setting.refused or setting.k > 1 or setting.clustered or setting.stratified or setting.unbalanced:
            continue
        rng = np.random.default_rng(7)
        results: dict[str, list[tuple[float, float, float]]] = {}
        for _ in range(trials):
            data = draw(setting, rng)
            judged, label = (values.reshape(2, -1) for values in (data.judged, data.label))
            index = [np.flatnonzero(~np.isnan(row)) for row in label]
            ours = calibrate(data)
            limits = ours.interval()
            results.setdefault("howsure ppi", []).append((ours.score[0], limits.low[0], limits.high[0]))
            theirs = truescore.ppi_estimate(judged[0], label[0][index[0]], index[0])
            results.setdefault("truescore ppi", []).append((theirs.point, theirs.low, theirs.high))
            draws = {
                name: [
                    {"prompt_id": str(i), "judge_score": float(f), "oracle_label": None if np.isnan(y) else float(y)}
                    for i, (f, y) in enumerate(zip(judged[m], label[m], strict=True))
                ]
                for m, name in enumerate("ab")
            }
            try:
                fit = cje.analyze_dataset(fresh_draws_data=draws)
                low, high = fit.ci()[0]
                results.setdefault("cje-eval", []).append((float(fit.estimates[0]), float(low), float(high)))
            except Exception as error:  # noqa: BLE001  # a refusal is an interval that covers nothing
                results.setdefault("cje-eval", []).append((np.nan, np.nan, np.nan))
                print(f"cje-eval, {setting.name}: {error}"[:200], file=sys.stderr)
        ours_points = np.array(results["howsure ppi"])[:, 0]
        for name, rows in results.items():
            point, low, high = np.array(rows).T
            covered = np.mean((low <= setting.score) & (setting.score <= high))
            gap = np.nanmedian(np.abs(point - ours_points))
            lines.append([setting.name, name, f"{covered:.3f}", f"{np.nanmean(high - low):.3f}", f"{gap:.4f}"])
    yield "Beside truescore and cje-eval", markdown(["setting", "method", "covered", "width", "gap to ours"], lines, 2)


if __name__ == "__main__":
    if "--packages" in sys.argv:
        for title, text in compare_packages(100 if "--quick" in sys.argv else 300):
            print(f"## {title}\n\n{text}")
    else:
        print_sections(sections)
