"""Scores that a judge gave, corrected by people's labels: what the intervals cover, and the tests of a judge.

A simulated judge with a known sensitivity and specificity judges every completion; people label a random sample. Rows:
scores of a model and differences of two, with questions in clusters, several completions per question, few labels, and
a judge that favours one of the models. The judge's raw score must fail where the judge errs, Rogan-Gladen where it errs
differently on the models, and PPI++ nowhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from designs.data import names
from designs.engine import ALPHA, LOWEST, Table, guarantee, slack
from howsure.stats.core.claims import CALIBRATION_METHODS
from howsure.stats.judges import (
    JudgedCompletions,
    VerdictTable,
    calibrate,
    calibrate_difference,
    examine_judge,
    measure_judge_noise,
)


class Setting(NamedTuple):
    """One simulated evaluation by a judge."""

    name: str
    N: int = 300
    k: int = 1
    labels: int = 100
    score: float = 0.6
    sensitivity: float = 0.9
    specificity: float = 0.85
    favour: float = 0.0  # what the judge adds to the probability of a verdict "right" for the first model
    clustered: bool = False
    unbalanced: bool = False  # the second model has a third of the questions, and a quarter of the labels
    stratified: bool = False  # completions judged right and wrong are labelled in equal numbers
    often: int | None = None  # the verdict whose completions are labelled 8 times as often
    refused: float = 0.0  # share of completions that score 0 without a judge, and that nobody labels


SETTINGS = (
    *(Setting(f"{n} labels", labels=n) for n in (100, 50, 20, 10)),
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
    model_of, question, judged, label, inclusion, is_known = map(np.concatenate, zip(*columns, strict=True))
    clusters = tuple(str(q // 5) for q in range(N)) if setting.clustered else None
    return JudgedCompletions("simulated", ("a", "b"), names(N), model_of, question, judged, label, inclusion, clusters,
                             is_known=is_known if setting.refused else None)  # fmt: skip


@guarantee(
    {"Scores that a judge gave, corrected by people":
     "setting | method | score covered | width | difference covered | width"},
    quick={"trials": 300},
    full={"trials": 2000},
)  # fmt: skip
def corrected(table: Table, trials: int) -> None:
    """An interval that is not there covers nothing."""
    lowest = LOWEST - slack(LOWEST, trials)
    for setting in SETTINGS:
        rng = np.random.default_rng([len(setting.name), setting.N, setting.labels, round(100 * setting.favour)])
        found = np.empty((len(CALIBRATION_METHODS), trials, 4))
        for trial in range(trials):
            data = draw(setting, rng)
            for i, method in enumerate(CALIBRATION_METHODS):
                one = calibrate(data, method=method).interval()
                two = calibrate_difference(data, "a", "b", method=method).interval()
                right = one.low[0] <= setting.score * (1 - setting.refused) <= one.high[0]
                same = two.low[0] <= 0 <= two.high[0]
                found[i, trial] = right, one.high[0] - one.low[0], same, two.high[0] - two.low[0]
        shares = dict(zip(CALIBRATION_METHODS, np.nanmean(found, axis=1).tolist(), strict=True))
        for method, row in shares.items():
            table.add(setting.name, method, *row)
        (of_score, _, of_difference, _), raw = shares["ppi"], shares["raw"]
        table.check(min(of_score, of_difference) >= lowest, f"{setting.name}: PPI++ covers {shares['ppi']}")
        if setting.favour:
            biased = shares["rogan-gladen"][2]
            table.check(raw[2] < 0.8, f"{setting.name}: the raw difference covers {raw[2]}")
            table.check(biased < LOWEST, f"{setting.name}: Rogan-Gladen covers the difference {biased}")
        if setting.name in {"lenient judge", "useless judge"}:
            table.check(raw[0] < 0.8, f"{setting.name}: the raw score covers {raw[0]}")


@guarantee(
    {"Tests of a judge": "100 labels per model | self-preference | length"},
    quick={"trials": 100},
    full={"trials": 1000},
)
def tests(table: Table, trials: int) -> None:
    """Share of samples in which the tests of self-preference and of length reject, at 5 %."""
    for setting, slope in (
        (Setting("no effect"), 0.0),
        (Setting("no effect, clusters", clustered=True), 0.0),
        (Setting("favours one model by .1", favour=0.1), 0.0),
        (Setting("says right more often by .05 per doubled length"), 0.05),
    ):
        rng, rejected = np.random.default_rng(len(setting.name)), []
        for _ in range(trials):
            data = draw(setting, rng)
            doublings = rng.uniform(0, 5, len(data.judged))
            flipped = (rng.random(len(doublings)) < slope * doublings) & (data.judged == 0)
            judged = np.where(flipped, 1.0, data.judged)
            p = examine_judge(replace(data, judged=judged, length=np.exp2(5 + doublings)))["p_value"]
            rejected.append([p[0] < ALPHA, p[-1] < ALPHA])
        share = np.mean(rejected, axis=0)
        table.add(setting.name, *share.tolist())
        if "no effect" in setting.name:
            table.check(np.all(share < 0.075 + slack(ALPHA, trials)), f"{setting.name}: size {share}")


@guarantee(
    {"The judge's noise": "design | flip rate | covered | width"},
    quick={"trials": 200},
    full={"trials": 2000},
)
def noise(table: Table, trials: int) -> None:
    """Coverage of the interval of the flip rate."""
    for N, k, r, (a, b) in ((50, 1, 2, (4, 1)), (100, 2, 3, (4, 1)), (300, 1, 2, (20, 1)), (100, 5, 5, (0.5, 0.5))):
        rng, limits = np.random.default_rng([N, k, r]), np.empty((2, trials))
        true = 2 * a * b / ((a + b) * (a + b + 1))
        for trial in range(trials):
            n = rng.binomial(r, np.repeat(rng.beta(a, b, N), k))
            at = np.arange(N * k)
            counts = np.stack([n, r - n], axis=1)
            model, values = np.zeros(N * k, dtype=np.int64), np.array([1.0, 0.0])
            verdicts = VerdictTable(
                "s", ("a",), names(N), model=model, question=at // k, unit=at, counts=counts, values=values
            )
            between = measure_judge_noise(verdicts).interval()
            limits[:, trial] = between.low[0], between.high[0]
        covered = float(np.mean((limits[0] <= true) & (true <= limits[1])))
        width = float(np.nanmean(limits[1] - limits[0]))
        table.add(f"{N} questions, {k} completions, {r} verdicts", true, covered, width)
        table.check(covered >= LOWEST - slack(LOWEST, trials), f"{N} x {k} x {r}: covers {covered:.3f}")
