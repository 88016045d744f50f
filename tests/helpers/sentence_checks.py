"""What each sentence of a report says, computed again with numpy and scipy alone from the scores as planted.

`COMPUTED` has a pattern of each sentence and the check of its numbers and names; `STATIC` lists those that say nothing
of the data.
"""

import re

import numpy as np
import pytest
from helpers.planted_scores import NUMBER, SHARE, is_share, names_in, near, number, rounds_to
from scipy import stats

# the first sentences


def check_interval(x, name, low, high):
    """One generation per question: Jeffreys' interval; several: near Wilson's for as many independent answers."""
    m = x.names.index(name)
    p, N = x.score[m], int(np.sum(x.k[m] > 0))
    if x.binary and np.all(x.k[m] <= 1):
        right = round(p * N)
        law = stats.beta(right + 0.5, N - right + 0.5)
        ends = (0.0 if right == 0 else law.ppf(0.025), 1.0 if right == N else law.ppf(0.975))
        return near(low, ends[0]) and near(high, ends[1])
    se = np.sqrt(np.nanvar(x.mean[m], ddof=1) / N) if N > 1 else 0.0
    if se == 0:
        return number(low) <= p <= number(high)
    if N < 10:
        return number(low) < p < number(high)
    half = stats.t.ppf(0.975, N - 1) * se
    return abs((number(high) - number(low)) / 2 - half) < 0.25 * half and number(low) < p < number(high)


def check_widths_of_scores(x, least, most):
    """Within a tenth of those of drawn Dirichlet weights, with half a question at 0 and half at 1."""
    by_score = np.argsort(-np.nan_to_num(x.score, nan=-np.inf), kind="stable")
    rng, bounds = np.random.default_rng(0), []  # the smallest and the largest width that each model may have
    for m in by_score[:60]:  # the models that are drawn
        values = x.mean[m][x.k[m] > 0]
        if len(values) == 0:
            continue
        if {*values} <= {0.0} or {*values} <= {1.0}:
            width = 1 - 0.025 ** (1 / len(values))  # Clopper and Pearson's
        else:
            weights = rng.standard_gamma([1] * len(values) + [0.5, 0.5], (4000, len(values) + 2))
            drawn = weights @ [*values, 0, 1] / weights.sum(axis=1)
            width = np.diff(np.quantile(drawn, [0.025, 0.975]))[0]
        bounds.append((0.9 * width, 1.1 * width))  # two digits are printed
    smallest, largest = np.array(bounds).T
    assert smallest.min() <= float(least) <= largest.min()
    assert smallest.max() <= float(most or least) <= largest.max()


def check_highest(x, name, value, low, high):
    assert name == x.best
    assert near(value, np.nanmax(x.score))
    assert check_interval(x, name, low, high)


def check_shared(x, names, value):
    top = {n for n, s in zip(x.names, x.score, strict=True) if s > np.nanmax(x.score) - 1e-12}
    assert set(names_in(names, x.names)) <= top
    assert len(top) > 1
    assert near(value, np.nanmax(x.score))


def check_single(x, name, value, low, high):
    assert x.names == [name]
    check_highest(x, name, value, low, high)


def check_all_below(x, *_):
    assert len(x.against(x.best, x.rejected()[0])) == len(x.names) - 1


def check_none_below(x, *_):
    assert not x.against(x.best, x.rejected()[0])


def groups_of_best(x):
    """The models by the verdict on the model with the highest score against them, by score."""
    below, best = x.against(x.best, x.rejected()[0]), x.names.index(x.best)
    groups = {"below": [], "above": [], "open": [], "untestable": []}
    for m in np.argsort(-np.nan_to_num(x.score, nan=-np.inf), kind="stable"):
        parts = x.parts_of_pair(best, m)
        if m == best:
            continue
        if np.isnan(parts["p"]):
            groups["untestable"].append(x.names[m])
        elif x.names[m] in below:
            groups["below" if parts["d"] > 0 else "above"].append(x.names[m])
        else:
            groups["open"].append(x.names[m])
    return groups


def check_names(x, text, expected):
    """The names of a sentence are the first of those expected, and all of them or "and N more"."""
    names = names_in(text.partition(" and more")[0], x.names)
    more = re.search(r"and ([\d,]+) more", text)
    assert names == expected[: len(names)]
    assert len(names) + (number(more[1]) if more else 0) == len(expected)


def check_some_below(x, count, others, rest):
    groups = groups_of_best(x)
    assert (int(count or 0), number(others or str(len(x.names) - 1))) == (len(groups["below"]), len(x.names) - 1)
    parts = dict.fromkeys(groups, "")
    for part in rest.split("; "):
        for kind, words in (
            ("open", "cannot be told apart"),
            ("above", "did better"),
            ("untestable", "no test was possible"),
        ):
            parts[kind] += part if words in part.lower() else ""
    for kind in ("open", "above", "untestable"):
        check_names(x, re.sub(rf"^{x.best} ", "", parts[kind]), groups[kind])
    common = [x.parts_of_pair(x.names.index(x.best), i)["N"] for i in range(len(x.names)) if x.names[i] != x.best]
    for name, few in re.findall(r"([A-Z][a-z]+) \((\d+) common questions?\)", rest):
        N = x.parts_of_pair(x.names.index(x.best), x.names.index(name))["N"]
        assert int(few) == N
        assert max(common) > 2 * N


def check_lead(x, value, name, low, high, alone):
    """The difference from the best of the others, and an interval of its width that holds 0 where p is above .05."""
    others = {n: s for n, s in zip(x.names, x.score, strict=True) if n != x.best and not np.isnan(s)}
    pair = x.parts_of_pair(x.names.index(x.best), x.names.index(name))
    low, high = number(low), number(high)
    assert others[name] == max(others.values())
    assert near(value, pair["d"])
    assert low <= number(value) <= high
    assert bool(alone) == (len(x.names) > 2)
    if high < 1 and pair["N"] > 9 and (not x.binary or np.any(x.k > 1)):  # else it is an exact one
        assert abs((high - low) / 2 - pair["half"]) < 0.25 * pair["half"] + 1e-3
    assert low <= 1e-3 if pair["p"] > 0.06 else low >= -1e-3 or pair["p"] > 0.04


def check_ahead_on_common_questions(x, names):
    """The models that are ahead on common questions without a test that shows it, though another score is higher."""
    best = x.names.index(x.best)
    shown = groups_of_best(x)["above"]
    ahead = [name for m, name in enumerate(x.names) if x.parts_of_pair(best, m)["d"] < -1e-12 and name not in shown]
    check_names(x, names, ahead)
    assert ahead


# warnings


def check_missing(x, models, share):
    assert int(models) == int(np.sum(np.any(x.k == 0, axis=1)))
    assert near(share, 100 * np.mean(x.k == 0))


def check_all_once(x):
    assert x.k.max() == 1


def check_few_questions(x, count):
    assert int(count) == x.k.shape[1] < 30


def check_failed(x, count, share):
    failed, scored = x.of_cells["failed"].sum(), x.k.sum()
    assert number(count) == failed
    assert near(share, 100 * failed / (failed + scored))


def check_bounds_of_unparsed(x, listed):
    bounds = re.findall(r"(\w+) ([\d.]+) in place of ([\d.]+)", listed)
    with_them = {model for model, unparsed in zip(x.names, x.of_cells["unparsed"], strict=True) if unparsed.sum()}
    assert {model for model, *_ in bounds} == with_them
    for model, high, low in bounds:
        i = list(x.names).index(model)
        n, total = x.cells.n[i], x.cells.total[i]
        assert near(low, np.mean(total / n))
        assert near(high, np.mean((total + x.of_cells["unparsed"][i]) / n))


def check_unparsed(x, count, share):
    unparsed = x.of_cells["unparsed"].sum()
    assert number(count) == unparsed
    assert near(share, 100 * unparsed / x.k.sum())


def check_no_score(x, names):
    assert names_in(names, x.names) == [name for name, row in zip(x.names, x.k, strict=True) if not row.any()]


def check_questions(x, count):
    assert int(count) == np.sum(np.any(x.k > 0, axis=0))


def check_one_pair_in(x, every):
    assert int(every) == np.ceil(len(x.pairs) / 12_000) > 1


def check_too_many_pairs(x, pairs, reference):
    assert number(pairs) == len(x.pairs) > 12_000
    assert reference == x.best


# notes of the numbers


def check_pairs(x, where, expected, perhaps=()):
    """A note is of these pairs, and of any of those that are `perhaps`: their number, or the models of a single one."""
    first = set(np.argsort(-np.nan_to_num(x.score, nan=-1), kind="stable")[:60].tolist())
    if counts := re.fullmatch(r"([\d,]+) of ([\d,]+) pairs? in the table", where):
        listed = [
            pair
            for pair in x.pairs
            if len(x.pairs) <= 12_000 or x.best in (x.names[m] for m in pair) or {*pair} <= first
        ]
        assert number(counts[2]) == len(listed)
        assert 0 <= number(counts[1]) - len({*expected} & {*listed}) <= len({*perhaps} & {*listed})
    else:
        assert [tuple(sorted(x.names.index(name) for name in names_in(where, x.names)))] == expected


def check_no_difference(x, where):
    parts = {pair: x.parts_of_pair(*pair) for pair in x.pairs}
    alike = [p for p in x.pairs if parts[p]["N"] and np.allclose(*x.mean[list(p)][:, np.all(x.k[list(p)] > 0, axis=0)])]
    check_pairs(x, where, alike)


def check_nothing_common(x, where):
    check_pairs(x, where, [pair for pair in x.pairs if x.parts_of_pair(*pair)["N"] == 0])


def check_partly_common(x, where):
    common = {pair: x.parts_of_pair(*pair)["N"] for pair in x.pairs}
    each = np.sum(x.k > 0, axis=1)
    check_pairs(x, where, [p for p in x.pairs if common[p] > 0 and min(common[p] - each[list(p)]) < 0])


def check_single_in_pairs(x, where):
    single = [p for p in x.pairs if any(x.k[m].max() == 1 for m in p) and x.parts_of_pair(*p)["N"]]
    check_pairs(x, where, single)


def check_undetectable(x, where):
    sizes = {pair: x.parts_of_pair(*pair) for pair in x.pairs}
    check_pairs(x, where, [p for p in x.pairs if x.binary and sizes[p].get("detectable", 0) > 1])


# comparisons


def check_forest(x, reference, text):
    groups = groups_of_best(x)
    assert reference == x.best
    words = {
        "below": "clearly below",
        "above": "clearly above",
        "open": "cannot be told apart",
        "untestable": "cannot be tested",
    }
    counts = {what: int(n) for n, what in re.findall(rf"(\d+) models? (?:is |are )?({'|'.join(words.values())})", text)}
    assert counts == {words[kind]: len(names) for kind, names in groups.items() if names}


def check_adjusted(x, tests, single):
    _, by_itself, count = x.rejected()
    assert (number(tests), int(single)) == (count, len(x.against(x.best, by_itself)))


def check_detectable(x, value, median, _):
    m, tests = x.names.index(x.best), x.rejected()[2]
    sizes = [x.parts_of_pair(m, j, 1 - 0.05 / tests)["detectable"] for j in range(len(x.names)) if j != m]
    assert bool(median) == (sum(size > 0 for size in sizes) > 1)
    sizes = [size for size in sizes if not (x.binary and size > 1)]  # larger than scores allow
    assert rounds_to(value, np.nanmedian(sizes))


def check_bars(x, tests=None):
    assert tests is None or number(tests) == x.rejected()[2]


def check_matrix(x, decided, pairs, untestable):
    assert (number(decided), number(pairs)) == (len(x.rejected()[0]), len(x.pairs))
    assert number(untestable or "0") == len(x.pairs) - x.rejected()[2]


def check_median_error(x, value):
    each = [x.parts_of_pair(*pair) for pair in x.pairs]
    errors = [np.sqrt(one["T"] / one["N"]) for one in each if one["N"] > 1]
    assert rounds_to(value, np.median([se for se in errors if se > 1e-9]))


def check_unvaried_pairs(x, count, pairs):
    errors = [np.sqrt(one["T"] / one["N"]) for pair in x.pairs if (one := x.parts_of_pair(*pair))["N"] > 1]
    assert (number(count), number(pairs)) == (sum(se <= 1e-9 for se in errors), len(errors))


def check_correlated(x, positive, pairs):
    r = np.array([x.parts_of_pair(*pair).get("r", np.nan) for pair in x.pairs])
    assert (number(positive), number(pairs)) == (int(np.sum(r > 0)), int(np.sum(~np.isnan(r))))


def thresholds(x):
    z = stats.norm.ppf(0.975)
    each = [one for pair in x.pairs if (one := x.parts_of_pair(*pair))["N"]]
    return each, np.array([z * np.sqrt(one["disagree"] / (one["N"] + z**2)) for one in each])


def check_above_curve(x, above, pairs):
    each, limit = thresholds(x)
    d = np.array([abs(one["d"]) for one in each])
    assert number(pairs) == len(each)
    disagree = np.array([one["disagree"] for one in each]) > 1e-12  # without a difference there is no p-value of .05
    near = disagree & (np.abs(d - limit) < 1e-9)
    assert abs(number(above) - np.sum(disagree & (d >= limit))) <= np.sum(near)


def check_typical(x, share, needed):
    each, limit = thresholds(x)
    disagreement = [one["disagree"] for one in each]
    middle = int(np.argsort(disagreement, kind="stable")[len(each) // 2])
    assert is_share(share, disagreement[middle])
    assert rounds_to(needed, limit[middle])


def check_prompts_of_their_own(x):
    """`thresholds` counts a question whose prompts are mixed: the expected shares of one prompt are others."""
    assert len(x.cube.variants) > 1


# noise


def check_larger(x, data, prediction, models, *_):
    parts = [x.components(m)[:2] for m in range(len(x.names))]
    known = [(E, D) for E, D in parts if not np.isnan(E)]
    assert (int(data), int(prediction), int(models)) == (
        sum(D > E + 1e-12 for E, D in known),
        sum(D < E - 1e-12 for E, D in known),
        len(known),
    )


def check_larger_at_hand(x, data, prediction):
    shares = []
    for m in range(len(x.names)):
        there, several = x.k[m] > 0, x.k[m] > 1
        E = x.components(m)[0]
        if np.isnan(E):
            continue
        sampling = (np.where(several, x.within[m], E)[there] / x.k[m, there]).mean()
        variance = x.mean[m, there].var()
        if variance > 0 or sampling > 0:
            shares.append(1 - min(sampling / variance, 1) if variance > 0 else 0.0)
    assert abs(int(data) - sum(s > 0.5 for s in shares)) <= sum(abs(s - 0.5) < 0.02 for s in shares)
    assert abs(int(prediction) - sum(s < 0.5 for s in shares)) <= sum(abs(s - 0.5) < 0.02 for s in shares)


def check_settle(x, name, low, high, k, low_k, high_k):
    m = x.names.index(name)
    E, N, z = x.components(m)[0], int(np.sum(x.k[m] > 0)), stats.norm.ppf(0.975)
    assert int(k) == int(np.median(x.k[m][x.k[m] > 0]))
    for count, ends in ((1, (low, high)), (int(k), (low_k, high_k))):
        half = z * np.sqrt(E / (N * count))
        ours = (x.score[m] - half, x.score[m] + half)
        ours = np.clip(ours, 0, 1) if x.binary or np.nanmax(x.mean) <= 1 else ours
        assert near(ends[0], ours[0], 1e-6)
        assert near(ends[1], ours[1], 1e-6)


def check_greedy(x, name, value, side):
    """A greedy run against the range of runs of one generation per question, sqrt(E/N) about the score."""
    m, score = x.names.index(name), x.greedy[name].mean()
    assert near(value, score)
    half = stats.norm.ppf(0.975) * np.sqrt(x.components(m)[0] / np.sum(x.k[m] > 0))
    distance = score - x.score[m]
    assert side == ("within" if abs(distance) <= half else "above" if distance > 0 else "below")


def check_no_range(x, name):
    assert x.components(x.names.index(name))[0] == 0


def check_widths(x, first, last, mostly, narrower):
    m = x.names.index(x.best)
    E, D, _ = x.components(m)
    range_of_runs = 2 * stats.norm.ppf(0.975) * np.sqrt(E / np.sum(x.k[m] > 0) / np.median(x.k[m][x.k[m] > 0]))
    assert bool(narrower) == (number(last) < 0.998 * range_of_runs)
    assert not narrower or D < 0
    k = np.median(x.k[m][x.k[m] > 0])
    if np.ptp(x.k[m]) == 0 and D > 0:  # the widths are as the standard errors, where no end is cut
        assert number(first) / number(last) <= np.sqrt((D + E) / (D + E / k)) * 1.02
    assert not mostly or E / k < D


def error_of_run(x, m):
    """The error of the table of scores; where data noise is estimated below 0, what sampling alone makes it."""
    (E, D, _), there = x.components(m), x.k[m] > 0
    noise = np.where(x.k[m] > 1, x.within[m], E)[there] / x.k[m][there]
    return np.sqrt((max(D, 0) + noise.mean()) / there.sum())


def check_table_error(x, name, value):
    m = x.names.index(name)
    assert x.components(m)[1] < 0
    assert near(value, np.sqrt(np.nanvar(x.mean[m]) / np.sum(x.k[m] > 0)), 1e-9)


def check_standard_errors(x, name, one, now, k, _, least):
    m = x.names.index(name)
    (E, D, _), N = x.components(m), int(np.sum(x.k[m] > 0))
    assert near(one, np.sqrt((max(D, 0) + E) / N), 1e-9)
    assert near(now, error_of_run(x, m), 1e-9)
    assert near(least, np.sqrt(max(D, 0) / N), 1e-9)
    assert number(k) == pytest.approx(x.k[m][x.k[m] > 0].mean(), rel=0.01)


def check_run_cost(x, calls, failed, se):
    m = x.names.index(x.best)
    assert number(failed or "0") == (0 if "failed" not in x.of_cells else x.of_cells["failed"][m].sum())
    n = x.k[m][x.k[m] > 0]
    assert number(calls) == n.sum()
    assert rounds_to(se, error_of_run(x, m))


def check_designs(x, text):
    E, D, _ = x.components(x.names.index(x.best))
    for se, questions, k in re.findall(
        r"([\d.]+)(?: with [\w\s,]+)? \(([\d,]+) questions? × ([\d,]+) generations?\)", text
    ):
        assert rounds_to(se, np.sqrt((max(D, 0) + E / number(k)) / number(questions)))
        assert number(questions) * number(k) <= x.k[x.names.index(x.best)].sum()


def check_solved(x, never, questions, always):
    p = [[v for v in column if not np.isnan(v)] for column in x.mean.T]
    assert (number(never), number(questions), number(always)) == (
        sum(all(v == 0 for v in column) for column in p if column),
        sum(bool(column) for column in p),
        sum(all(v == 1 for v in column) for column in p if column),
    )


def check_none_solved(x, questions):
    check_solved(x, "0", questions, "0")


def check_means(x, name, below, questions, above):
    p = x.mean[x.names.index(name)]
    p = p[~np.isnan(p)]
    assert is_share(below, np.mean(p < 0.05))
    assert is_share(above, np.mean(p >= 0.95))
    assert int(questions) == len(p)


def check_beta(x, name, a, b):
    """The parameters of the fit that maximizes the likelihood, in two digits."""
    assert [float(a), float(b)] == pytest.approx(x.fit_beta(x.names.index(name)), rel=0.07)


def check_stable(x, name, fails, solves, questions):
    m = x.names.index(name)
    near_0, near_1 = x.stable_shares(m)
    assert is_share(fails, near_0, slack=0.002)
    assert is_share(solves, near_1, slack=0.002)
    assert int(questions) == np.sum(x.k[m] > 0)


def shares_of_chance(x):
    """What is left to chance, of each model with a fitted Beta."""
    fitted = [m for m in drawn_models(x) if x.fit_beta(m)]
    return {x.names[m]: 1 - sum(x.stable_shares(m)) for m in fitted}


def drawn_models(x):
    """Models with several generations of a question, up to 12, spread over their order by score."""
    several = [m for m in np.argsort(-np.nan_to_num(x.score, nan=-1), kind="stable") if x.k[m].max() > 1]
    return [several[i] for i in np.unique(np.linspace(0, len(several) - 1, min(12, len(several))).astype(int))]


def check_chance(x, least, share_of_least, most, share_of_most):
    chance = shares_of_chance(x)
    assert is_share(share_of_least, min(chance.values()), slack=0.002)
    assert is_share(share_of_most, max(chance.values()), slack=0.002)
    assert chance[least] == pytest.approx(min(chance.values()), abs=0.002)
    assert chance[most] == pytest.approx(max(chance.values()), abs=0.002)
    assert chance[most] > chance[least]


def check_farthest(x, share):
    assert is_share(share, max(x.distance_of_beta(m) for m in drawn_models(x) if x.fit_beta(m)), slack=0.002)


def check_equal_models(x, names, how_many):
    """They have the same numbers of generations and the same sums on every question, ten or more that differ."""
    rows = [[(len(q), round(sum(q), 9)) for q in x.scores[x.names.index(name)]] for name in names_in(names, x.names)]
    assert len(rows) > 1
    assert (len(rows) == 2 and "more" not in names) == (how_many == "two")
    assert all(row == rows[0] for row in rows)
    answered = [total / k for k, total in rows[0] if k]
    assert len(answered) >= 10
    assert len(set(answered)) > 1


def check_no_variance(x):
    assert all(len({score for q in row for score in q}) == 1 for row in x.scores)


def check_exact_fit(x):
    assert x.k.max() == 2
    assert max(x.distance_of_beta(m) for m in drawn_models(x) if x.fit_beta(m)) < 0.002


def check_no_beta(x, names):
    without = [x.names[m] for m in drawn_models(x) if not x.fit_beta(m)]
    more = re.search(r"and (\d+) more", names or "")
    assert set(names_in(names or "", x.names)) <= set(without)
    assert names is None or len(names_in(names, x.names)) + (int(more[1]) if more else 0) == len(without)
    assert without


def check_equally_hard(x, name):
    assert sum(x.fit_beta(x.names.index(name))) > 400


def check_no_noise_left(x, name, one, _, now, *__):
    E, D, _ = x.components(x.names.index(name))
    assert D <= 1e-12
    assert now is None or near(now, error_of_run(x, x.names.index(name)), 1e-9)
    assert near(one, np.sqrt(E / np.sum(x.k[x.names.index(name)] > 0)), 1e-9)


def check_drawn(x, drawn, models):
    assert int(drawn) < int(models.replace(",", "")) <= len(x.names)


def check_no_interval(x, count):
    assert int(count) == sum(np.sum(row > 0) == 1 for row in x.k)


def check_left_out(x, count):
    assert int(count) == sum(row.max() == 1 for row in x.k)


def is_cost(x, text, value):
    """The printed cost is this one: dollars in two significant digits, tokens in three."""
    unit, digits = ("$", 2) if text.startswith("$") else ("tokens", 3)
    exact = float(f"{value:.{digits - 1}e}")
    return unit == x.unit and number(text.strip("$ tokens")) == pytest.approx(exact, rel=1e-9)


def check_cost_range(x, low, cheapest, high, dearest):
    cost = {name: value for name, value in x.cost.items() if not np.isnan(x.score[x.names.index(name)])}
    assert is_cost(x, low, min(cost.values()))
    assert is_cost(x, high, max(cost.values()))
    assert (cost[cheapest], cost[dearest]) == (min(cost.values()), max(cost.values()))
    assert min(cost.values()) < max(cost.values())


def check_equal_costs(x, about, text):
    values = list(x.cost.values())
    assert all(is_cost(x, text, value) for value in values)
    assert bool(about) == (len(set(values)) > 1)


def check_beaten(x, count, models, text):
    beaten = {name: others for name in x.cost if (others := x.cheaper_and_better(name))}
    assert (int(count), int(models)) == (len(beaten), len(x.cost))
    pairs = dict(re.findall(r"(\w+) \(([^()]+)\)", text))
    assert set(pairs) <= set(beaten)
    assert len(beaten) > 4 or set(pairs) == set(beaten)
    for name, others in pairs.items():
        more = re.search(r"and (\d+) more", others)
        listed = names_in(others, x.names)
        assert set(listed) <= set(beaten[name])
        assert len(listed) + (int(more[1]) if more else 0) == len(beaten[name])


def check_unbeaten(x, count):
    rest = [name for name in x.cost if not x.cheaper_and_better(name)]
    assert int(count) == len(rest)
    for i, j in x.rejected()[0]:
        better, worse = (i, j) if x.score[i] > x.score[j] else (j, i)
        if {x.names[better], x.names[worse]} <= set(rest):
            assert x.cost[x.names[better]] > x.cost[x.names[worse]]


def check_no_cheaper(x):
    assert not any(x.cheaper_and_better(name) for name in x.cost)


def check_without_costs(x, count):
    assert int(count) == len(x.names) - len(x.cost)


def check_names_without_costs(x, names):
    assert names_in(names, x.names) == [name for name in x.names if name not in x.cost]


def check_rejected(x, count, questions, change, moved):
    old, new = x.every.score, x.score
    assert number(questions) == x.every.k.shape[1]
    assert number(count) == x.every.k.shape[1] - x.k.shape[1]
    largest = np.nanmax(np.abs(new - old))
    assert largest < 1e-12 if change == "no score changes" else near(change.rpartition(" ")[2], largest, 1e-9)
    passed = {
        m
        for i, j in x.pairs
        for m in (i, j)
        if (old[i] - old[j]) * (new[i] - new[j]) < 0 and abs(new[i] - new[j]) > 1e-12
    }
    assert (0 if moved == "no two" else int(moved)) == len(passed)


COST = r"(\$[\d.,]+|[\d.,]+ tokens)"
COMPUTED = [
    (rf"A generation cost from {COST} \((\w+)\) to {COST} \((\w+)\) on average\.", check_cost_range),
    (rf"A generation of each model cost (about )?{COST}\.", check_equal_costs),
    (
        r"For (\d+) of (\d+) models another costs no more and scores clearly higher, adjusted for all pairs \(Holm\): (.+)\.",
        check_beaten,
    ),
    (
        r"Among the other (\d+) a lower cost goes with a score that is lower, or cannot be told apart\.",
        check_unbeaten,
    ),
    (
        r"No model is clearly better than one that costs as much or more, adjusted for all pairs \(Holm\)\.",
        check_no_cheaper,
    ),
    (r"(.+): the use of this model is not recorded\.", check_names_without_costs),
    (r"(\d+) models? without recorded costs (?:is|are) left out\.", check_without_costs),
    (
        r"([\d,]+) questions? of ([\d,]+) (?:is|are) left out; (no score changes|scores change by at most \S+), and (no two|\d+) models change places\.",
        check_rejected,
    ),
    (rf"(\w+) has the highest score, {NUMBER} \(95% interval {NUMBER} to {NUMBER}\)\.", check_highest),
    (rf"(.+) share the highest score, {NUMBER}\.", check_shared),
    (rf"(\w+) scores {NUMBER} \(95% interval {NUMBER} to {NUMBER}\)\.", check_single),
    (r"\w+ is clearly better than (each of )?(the other model|the \d+ others)\.", check_all_below),
    (
        r"\w+ cannot be told apart from (any of )?(the other model|the \d+ others) at this sample size\.",
        check_none_below,
    ),
    (
        (
            r"(?:\w+ is clearly better than ([\d,]+) of (?:the other model|the ([\d,]+) others); )?"
            r"((?:(?:\w+) cannot be told apart at this|(?:On|on) the questions that both|(?:N|n)o test was possible) .+)\."
        ),
        check_some_below,
    ),
    (
        rf"It is {NUMBER} ahead of (\w+) \(95% interval {NUMBER} to {NUMBER}(; this pair by itself)?\)\.",
        check_lead,
    ),
    (r"On the questions that it answered too, (.+) scored higher\.", check_ahead_on_common_questions),
    (
        rf"(\d+) models? did not answer every question: of all pairs of a model and a question, {NUMBER}% are without a score\.",
        check_missing,
    ),
    (
        (
            r"(.+) have the same scores on every question: if these are results of one model under (two|several) names, their "
            r"differences say nothing\."
        ),
        check_equal_models,
    ),
    (r"One generation per question: data and prediction noise cannot be separated\.", check_all_once),
    (
        r"Only (\d+) questions?: intervals and tests assume scores that are roughly normal over questions\.",
        check_few_questions,
    ),
    (
        rf"Bars are 95% intervals for the expected score on new questions like these, {NUMBER}(?: to {NUMBER})? wide\.",
        check_widths_of_scores,
    ),
    (r"Compared with (\w+): (.+)\.", check_forest),
    (
        (
            r"Verdicts are adjusted for all ([\d,]+) pairs \(Holm\), because the scores chose the reference; each tested by "
            r"itself, (\d+) differs?\."
        ),
        check_adjusted,
    ),
    (
        (
            rf"A true difference of {NUMBER}( \(median over models\))? would be found with 80% power (or more by these tests|by "
            r"this test)\."
        ),
        check_detectable,
    ),
    (
        (
            r"Thick bars are 95% intervals of single differences(?:; thin bars hold for all ([\d,]+) tests at once "
            r"\(Bonferroni\))?\."
        ),
        check_bars,
    ),
    (
        r"([\d,]+) of ([\d,]+) pairs? can be told apart, adjusted for all pairs \(Holm\)(?:; ([\d,]+) cannot be tested)?\.",
        check_matrix,
    ),
    (rf"With one generation per question the median standard error of a difference is {NUMBER}\.", check_median_error),
    (r"In ([\d,]+) of ([\d,]+) pairs? no variation was seen, so that the error is unknown\.", check_unvaried_pairs),
    (
        r"In ([\d,]+) of ([\d,]+) pairs? the scores of the two models are positively correlated over questions: .+",
        check_correlated,
    ),
    (
        (
            r"([\d,]+) of ([\d,]+) pairs? (?:is|are) on or above the curve: a difference of that size in one generation per "
            r"question has p ≤ 0\.05 by the normal law, for this pair alone; with few questions that differ the test of the "
            r"table needs more\."
        ),
        check_above_curve,
    ),
    (
        rf"Models that differ on {SHARE} of the questions, as a typical pair here, need a difference of {NUMBER}\.",
        check_typical,
    ),
    (r"The two generations are each in a prompt of its own\.", check_prompts_of_their_own),
    (
        (
            r"Of the variance of one generation per question, data noise \(which questions\) is the larger part for (\d+) and "
            r"prediction noise \(sampling again\) for (\d+) of (\d+) models?( whose parts are known)?\."
        ),
        check_larger,
    ),
    (
        r"No two generations of (\w+) on a question scored differently: the range of its runs is unknown\.",
        check_no_range,
    ),
    (
        (
            rf"On these questions, 95% of the runs of (\w+) with one generation per question score from {NUMBER} to {NUMBER}, "
            rf"with (\d+) from {NUMBER} to {NUMBER} \(inner band\)\."
        ),
        check_settle,
    ),
    (
        rf"Greedy decoding of (\w+) scores {NUMBER}, (within|above|below) the range of runs with one sampled generation per question\.",
        check_greedy,
    ),
    (
        (
            rf"The interval for new questions \(outer band\) goes from a width of {NUMBER} to one of {NUMBER}"
            r"(: the rest is mostly data noise)?(, by chance less than the range of runs, because data noise is estimated below 0)?\."
        ),
        check_widths,
    ),
    (
        (
            rf"(\w+) has a standard error of {NUMBER} with one generation per question, {NUMBER} with {NUMBER}( \(the point\))? "
            rf"and {NUMBER} with any number of them: only more questions go below\."
        ),
        check_standard_errors,
    ),
    (
        (
            rf"The data noise of (\w+) is estimated below 0 and counts as 0 here; the table of scores, whose error contains the "
            rf"estimate, has {NUMBER}\."
        ),
        check_table_error,
    ),
    (
        rf"This run took {NUMBER} calls(?: that gave a score \(([\d,]+) more (?:has|have) none\))? for a standard error of {NUMBER} \(cross\)\.",
        check_run_cost,
    ),
    (
        r"For as much, the best with equally many generations for every question is (.+)\.",
        check_designs,
    ),
    (
        r"Every generation of every model that answered scored 0 on ([\d,]+) of ([\d,]+) questions?, and 1 on ([\d,]+)\.",
        check_solved,
    ),
    (
        r"On none of ([\d,]+) questions? did all generations of all models score 0, and on none did all score 1\.",
        check_none_solved,
    ),
    (
        rf"For (\w+), the mean score is below 0\.05 on {SHARE} of (\d+) questions and at least 0\.95 on {SHARE}\.",
        check_means,
    ),
    (
        rf"For (\w+) it is Beta\({NUMBER}, {NUMBER}\)\.",
        check_beta,
    ),
    (
        (
            rf"(\w+) almost always fails {SHARE} and almost always solves {SHARE} of (\d+) questions? \(P\(correct\) within "
            r"0\.1 of 0 or 1, sampling noise taken out\); the others depend on chance\."
        ),
        check_stable,
    ),
    (
        rf"Chance decides least for (\w+) \({SHARE} of the questions\) and most for (\w+) \({SHARE}\)\.",
        check_chance,
    ),
    (
        rf"The fitted Beta is never farther than {SHARE} of the questions from what was observed\.",
        check_farthest,
    ),
    (
        r"Some Beta fits nearly any means of two generations exactly, so that the fit is no evidence for it\.",
        check_exact_fit,
    ),
    (r"No Beta can be fitted for (.+)\.", check_no_beta),
    (r"No two scores of a model differ, so that there is no variance to draw\.", check_no_variance),
    (r"Only the observed means are drawn for (.+), to which no Beta can be fitted\.", check_no_beta),
    (
        (
            r"No Beta (distribution) can be fitted to these scores, so that their distribution without that noise is not "
            r"known\."
        ),
        lambda x, _: check_no_beta(x, None),
    ),
    (r"For (\w+) all questions are about equally hard\.", check_equally_hard),
    (
        (
            rf"(\w+) has a standard error of {NUMBER} with one generation per question(, {NUMBER} with \S+( \(the point\))?)?, and "
            r"no noise remains that generations could not remove\."
        ),
        check_no_noise_left,
    ),
    (
        r"Drawn for (\d+) of ([\d,]+) models(?:, spread over their order|(?:, the first of their order)?; the \w+ are over all)?\.",
        check_drawn,
    ),
    (r"(\d+) models? (?:has|have) no interval\.", check_no_interval),
    (
        rf"([\d,]+) generations? (?:has|have) no score \({NUMBER}% of those in the data\) and (?:is|are) left out, not scored 0\.",
        check_failed,
    ),
    (
        rf"No answer could be extracted from ([\d,]+) generations? \({NUMBER}% of those scored\); (?:it scores|they score) 0\.",
        check_unparsed,
    ),
    (r"With all of them right, scores would be higher: (.+)\.", check_bounds_of_unparsed),
    (r"No score at all: (.+)\.", check_no_score),
    (r"Drawn for one pair in ([\d,]+)\.", check_one_pair_in),
    (
        (
            r"([\d,]+) pairs are too many for one page: its table of pairs has those among the first 60 models and with "
            r"(\w+)\."
        ),
        check_too_many_pairs,
    ),
    (
        (
            r"([^:]+): no question differs: the interval rests on two pseudo-questions"
            r"(?:, which differ by 1, the most that scores from 0 to 1 can)?\."
        ),
        check_no_difference,
    ),
    (r"([^:]+): no question in common\.", check_nothing_common),
    (r"([^:]+): on the questions that both answered\.", check_partly_common),
    (r"([^:]+): one generation per question: data and prediction noise cannot be separated\.", check_single_in_pairs),
    (r"([^:]+): no difference of scores from 0 to 1 is found with 80% power\.", check_undetectable),
    (r"(\d+) questions?, from the lowest mean score to the highest\.", check_questions),
    (r"(\d+) models? with one generation per question (?:is|are) left out\.", check_left_out),
]

#: What a sentence without a number of the data may say.
STATIC = [
    r"Bars are 95% intervals of the scores\.",
    r"The models that cost no more than a model and score clearly higher stand beside it\.",
    r"A review that begins with suspected labels sees mostly questions that models fail: .+",
    r"How many labels are wrong is said by the verdicts on random questions .+",
    r"Bars of two models that overlap do not mean that the models are alike: see their difference\.",
    r"The interval is for the expected score on new questions.+",
    r"A score is over the questions that the model answered; a difference is over those that both did\.",
    r"Blue: the row's model scores higher; orange: lower; a grey dot: cannot be told apart or not tested\.",
    r"Pairs have different numbers of common questions; the curves are for the median number\.",
    r"Pairs have different numbers of common questions: the curve is for the median, the count for each\.",
    r"More generations per question shrink the prediction part only\.",
    r"A negative estimate of data noise is drawn as 0\.",
    r"The bars are the variance of one generation on one question\.",
    r"With one generation per question its parts, data and prediction, cannot be separated\.",
    r"Thin bars: the same with the generations at hand, the shares of the table of scores\.",
    r"No design of 30 questions is cheaper\.",
    r"Each point is the best design for its budget\.",
    r"Where a model has no score the cell is grey\.",
    r"Colours are rounded to 21 levels\.",
    r"Grey: the observed means, which sampling spreads; blue: their distribution without that noise\.",
    r"Grey: the observed means, which sampling spreads\.",
    r"Pink lines: what the fitted Beta distribution expects of means of as many generations\.",
]
