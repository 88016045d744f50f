"""What a result says, in sentences: above its printed table the answer, below it the claim.

A result is described by the columns that it has, so that every result with these columns is described alike.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.reporting.formatting import format_count, join_names
from howsure.safe_text import escape_control_characters
from howsure.stats.comparisons.battles import BattleRanking
from howsure.stats.comparisons.pairs import POWER, Comparison, Pairs
from howsure.stats.comparisons.pairs import pairs as compare_pairs
from howsure.stats.comparisons.ranking import fit_common_scores
from howsure.stats.comparisons.slices import Slices
from howsure.stats.comparisons.winner import Winner
from howsure.stats.core.claims import CLAIM_TEXTS, Claim
from howsure.stats.core.multiplicity import group_by_letters, holm
from howsure.stats.core.printed_width import Description
from howsure.stats.core.results import Columns, Result, Results, make_columns
from howsure.stats.core.text_table import choose_decimals
from howsure.stats.scores import count_missing, fill_missing, score

if TYPE_CHECKING:
    from howsure.stats.comparisons import Curve, SmoothedSeries
    from howsure.stats.core.cells import Cells
    from howsure.stats.planning import StudyPlan
    from howsure.stats.prompts import VariantSummary
    from howsure.stats.repeats import Repeats

Row: TypeAlias = dict[str, Any]
#: Sentences on the rows of one benchmark.
Sentences: TypeAlias = Iterator[str]

#: How often a detectable difference is found.
_OFTEN = f"{100 * POWER:g} % of cases"
#: What each goal of a plan asks of a design.
_GOALS = {
    "detect": f"find a difference of {{:g}} in {_OFTEN}",
    "width": "give an interval of {} that is at most {:g} wide",
    "se": "give a standard error of {} of at most {:g}",
    "budget": "be bought for {:g}",
}
#: What the claims of means over prompts are about.
_PROMPT_CLAIMS = {
    "new-questions-and-variants": "the mean over new prompts and new questions like these",
    "new-variants": "the mean over new prompts like these, on these very questions",
}
#: Columns of which a table says nothing where all rows have one value.
_UNLESS_VARIED = {"benchmark", "score_bound", "n_missing", "n_variants", "tokens", "cost"}
#: Most benchmarks that sentences are about, most sentences on each, and most models whose pairs are printed.
_MOST_BENCHMARKS, _MOST_SENTENCES, _MOST_MODELS = 4, 6, 5
#: Probability from which a sudden change of a curve is reported; see `make guarantees` for its false reports.
_LIKELY = 0.8
#: Characters of the picture of an interval, by itself and in a table.
_WIDE, _NARROW = 44, 17


def describe_result(result: Result) -> Description | None:
    """Return what stands above and below the printed table of a result, and the table in place of all its columns.

    Examples
    --------
    >>> import howsure as hs
    >>> scores = [[[1]] * 20, [[0]] * 16 + [[1]] * 4]
    >>> cells = hs.Cells.from_scores("sums", ["a", "b"], [f"q{i}" for i in range(20)], scores)
    >>> describe_result(hs.compare(cells, "b", "a")).above[0]
    'a is better than b on sums: +0.80 (95 % interval 0.49 to 0.96, p < .001)'
    """
    parts = result.parts if isinstance(result, Results) else (result,)
    plans = tuple(replace(cast("StudyPlan", one), remedy="") for one in parts if _is(one, "StudyPlan"))  # said above it
    columns = (Results(plans) if plans else result).to_columns()
    kind = next((kind for kind in _KINDS if kind[0] <= columns.keys()), None)
    if kind is None or not len(result):
        return None
    _, say, chosen = kind
    above: list[str] = []
    for part in parts[:_MOST_BENCHMARKS]:
        own = list(itertools.islice(say(part, part.to_dicts()), _MOST_SENTENCES + 1)) if len(part) else []
        above += own[:_MOST_SENTENCES] + ["... and more, in the table"] * (len(own) > _MOST_SENTENCES)
    if len(parts) > _MOST_BENCHMARKS:
        above.append(f"... and {len(parts) - _MOST_BENCHMARKS:,} more benchmarks, in the table")
    compared = [part for part in parts if isinstance(part, Pairs)]
    # Where models are grouped, the method of the differences is not that of the scores beside them.
    below = list(_describe_claim({name: columns[name] for name in columns if name != "method" or not compared}))
    tables: list[Columns] | None
    if compared:
        tables = [_tabulate_groups(compared)]
        if all(len(part.models) <= _MOST_MODELS for part in compared) and len(columns["model_a"]):
            tables.append(_tabulate_pairs(columns))
            below.append("low_all and high_all hold for all pairs at once, and are a little wider than the tests.")
        else:
            below.append("--format wide prints all pairs, with intervals that cover all differences at once.")
    elif _is(parts[0], "VariantSummary"):
        prompts = tabulate_prompts(cast("Sequence[VariantSummary]", parts))
        tables = [_choose(columns, chosen), _choose(prompts, " ".join(prompts))]
    elif len(result) == 1 and say is say_comparison:
        above += _draw_difference(result[0])
        tables = [{"note": columns["note"]}] if "note" in columns else []
    else:
        tables = [_choose(columns, chosen)] if chosen else None
    if len(result) == 1 and say is say_comparison:  # as the sentence says it
        columns = _put_leaders_first(columns)
    documents = tables if tables and compared else [_choose(columns, chosen) if chosen else columns]
    exported = [{name: values for name, values in one.items() if name != "interval"} for one in documents]
    return Description([escape_control_characters(one) for one in above], tables, below, exported)


def draw_result(result: Result) -> object:
    """Return the chart of `howsure.figures` that belongs to a result; raise InputError where there is none."""
    from howsure import figures

    part = result.parts[0] if isinstance(result, Results) and result.parts else result
    if (chosen := _FIGURES.get(type(part).__name__)) is None:
        remedy = "howsure.figures draws the results themselves: figures.scores(data), figures.forest(data), ..."
        raise InputError(f"{type(part).__name__} has no chart of its own", where="plot", remedy=remedy)
    return getattr(figures, chosen)(result)


def _is(part: Result, name: str) -> bool:
    """Return whether a result is of a class, without the import of its module."""
    return type(part).__name__ == name


def _choose(columns: Columns, chosen: str) -> Columns:
    """Return the columns of the printed table, with a picture of the intervals; a sentence says what all rows share."""
    table: Columns = {}
    for name in chosen.split():
        if name == "interval" and {"low", "high"} <= columns.keys():
            center = columns.get("score", columns.get("mean", columns.get("difference")))
            if len(columns["low"]) > 1 and center is not None:
                table[name] = _draw_intervals(columns["low"], center, columns["high"])
        elif name == "sampling" and {"se_data", "se_prediction", "se"} <= columns.keys():
            with np.errstate(divide="ignore", invalid="ignore"):
                share = 1 - np.square(columns["se_data"]) / np.square(columns["se"])
            table[name] = np.array(
                ["–" if math.isnan(x) else f"{100 * max(x, 0):.0f} %" for x in share.tolist()], dtype=object
            )
        elif name == "score_common":  # where models answered other questions, ranks are those of common ones
            if name in columns and not np.allclose(columns[name], columns["score"], equal_nan=True):
                table[name] = columns[name]
        elif name in columns and name in _UNLESS_VARIED:
            values = {*map(str, columns[name].tolist())}
            if len(values) > 1 or not (name == "benchmark" or values <= {"nan", "0", "1", "0.0"}):
                table[name] = columns[name]
        elif name in columns:
            table[name] = columns[name]
    return table


def _draw_intervals(low: NDArray[Any], center: NDArray[Any], high: NDArray[Any]) -> NDArray[np.object_]:
    """Return a picture of each interval, all on one scale; '' where a limit is unknown."""
    is_known = np.isfinite(low) & np.isfinite(high) & np.isfinite(center)
    if not is_known.any():
        return np.full(len(low), "", dtype=object)
    ends = float(low[is_known].min()), float(high[is_known].max())
    rows = zip(low.tolist(), center.tolist(), high.tolist(), is_known.tolist(), strict=True)
    return np.array([_draw(*row[:3], *ends, _NARROW) if row[3] else "" for row in rows], dtype=object)


def _draw(low: float, center: float, high: float, left: float, right: float, width: int) -> str:
    """Return an interval and its center as characters, on a scale from `left` to `right`."""
    scale = (width - 1) / (right - left) if right > left else 0.0
    places = [round((x - left) * scale) for x in (low, center, high)]
    line = [" "] * width
    line[places[0] : places[2] + 1] = "─" * (places[2] - places[0] + 1)
    for place, mark in zip((places[0], places[2], places[1]), "├┤●", strict=True):
        line[place] = mark
    return "".join(line).rstrip()


def _draw_difference(row: Row) -> Iterator[str]:
    """Yield a picture of a difference beside 0, and the scores behind it."""
    low, center, high = (float(row[name]) for name in ("low", "difference", "high"))
    if center < 0:
        low, center, high = -high, -center, -low
    if math.isfinite(low) and math.isfinite(high):
        left, right = min(low, 0.0), max(high, 0.0)
        zero = round(-left * (_WIDE - 1) / (right - left)) if right > left else 0
        line = _draw(low, center, high, left, right, _WIDE).ljust(_WIDE)
        if line[zero] in " ─":
            line = f"{line[:zero]}{'|' if line[zero] == ' ' else '┼'}{line[zero + 1 :]}"
        yield f"    {' ' * zero}0"
        yield f"    {line.rstrip()}"
    scores = [f"{row[f'model_{one}']} {_number(row[f'score_{one}'])}" for one in "ab" if f"score_{one}" in row]
    texts = [", ".join(scores)] if not math.isnan(row.get("score_a", math.nan)) else []
    if "n_questions" in row:
        texts.append(f"{format_count(row['n_questions'], 'question')} in common")
    if math.isfinite(row.get("detectable", math.nan)):
        texts.append(f"a difference of {_number(row['detectable'])} is found in {_OFTEN}")
    if "judge_difference" in row:
        texts.append(f"the judge's own difference is {_number(row['judge_difference'], sign=True)}")
    if texts:
        yield "; ".join(texts)


def _number(value: float, width: float = math.nan, *, sign: bool = False) -> str:
    """Return a score with the decimals that its interval deserves, three where nothing is known of it."""
    places = 3 if not width > 0 else min(max(choose_decimals(np.array([width / 4])), 1), 4)
    return "unknown" if math.isnan(value) else f"{round(value, places) + 0.0:{'+' if sign else ''}.{places}f}"


def _limits(row: Row, level: float, what: str = "interval") -> str:
    """Return the interval of a row in words."""
    low, high = float(row["low"]), float(row["high"])
    if math.isnan(low) or math.isnan(high):
        return f"no {100 * level:g} % {what}"
    return f"{100 * level:g} % {what} {_number(low, high - low)} to {_number(high, high - low)}"


def _p(p: float) -> str:
    """Return a p-value after its letter."""
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("= 0.", "= .")


def _say_missing(cells: Cells, difference: float) -> Sentences:
    """Say how many generations of two models are missing, and whether the first would be ahead with them as wrong."""
    if cells.failed is None or not cells.failed.any():
        return
    missing, n = count_missing(cells).sum(axis=1), cells.n.sum(axis=1)
    rows = [i for i in np.argsort(-missing, kind="stable").tolist() if missing[i]]
    shares = [f"{missing[i]:,} of {n[i] + missing[i]:,} answers of {cells.models[i]}" for i in rows]
    text = f"{' and '.join(shares)} are missing and left out"
    if cells.unit and len(cells.models) == 2:
        as_zero = score(fill_missing(cells, 0.0)).score
        if (as_zero[0] - as_zero[1]) * difference < 0:
            text += f"; counted as wrong, {cells.models[int(np.argmax(as_zero))]} would be ahead"
    yield f"{text} (--missing)"


def say_comparison(part: Result, rows: Sequence[Row]) -> Sentences:
    """Say which of two models is better, by how much, and whether the data show it."""
    yield from _say_difference(rows)
    if isinstance(part, Comparison):
        models = list(dict.fromkeys((rows[0]["model_a"], rows[0]["model_b"])))
        yield from _say_missing(part.cells.select(models), float(rows[0]["difference"]))


def _say_difference(rows: Sequence[Row]) -> Sentences:
    """Say which of two models is better, by how much, and whether the data show it."""
    for row in rows:
        a, b, on = row["model_a"], row["model_b"], row["benchmark"]
        difference, low, high = (float(row[name]) for name in ("difference", "low", "high"))
        level, p = row["level"], float(row.get("p_value", math.nan))
        if difference < 0:
            a, b, difference, low, high = b, a, -difference, -high, -low
        has_p = "p_value" in row
        if math.isnan(difference) or math.isnan(low) or (has_p and math.isnan(p)):
            yield f"no test of {a} and {b} is possible on {on}"
            continue
        text = _number(difference, high - low, sign=True)
        limits = f"({_limits({'low': low, 'high': high}, level)}{f', {_p(p)}' if has_p else ''})"
        ahead = f"{a} is ahead by {text.lstrip('+')}" if difference else "both scored the same"
        if row.get("verdict") == "undecided":
            yield f"unread answers decide whether {a} or {b} is better on {on}: as scored, {ahead} {limits}"
        elif a != b and difference > 0 and (p < 1 - level if has_p else low > 0):
            yield f"{a} is better than {b} on {on}: {text} {limits}"
        elif a == b:
            yield f"{a} on {on}, two runs of it: they differ by {text.lstrip('+')} {limits}"
        else:
            yield f"{a} and {b} cannot be told apart on {on}: {ahead} {limits}"


def _say_together(_part: Result, rows: Sequence[Row]) -> Sentences:
    """Say which of two models is better on several benchmarks together, by the mean of their differences."""
    *parts, row = rows
    a, b, difference, p = row["model_a"], row["model_b"], float(row["difference"]), float(row["p_value"])
    used = sum(part["weight"] > 0 for part in parts)
    on = f"on {format_count(used, 'benchmark')} together"
    if used < 2 or math.isnan(p):
        yield f"no test of {a} and {b} on several benchmarks together is possible"
        return
    significant = [one for one in parts if one["p_value"] < 0.05 / len(parts) and one["weight"] > 0]
    better: dict[str, list[str]] = {}
    for one in significant:
        where = f"{one['benchmark']} ({_number(abs(one['difference']), sign=True)})"
        better.setdefault(a if one["difference"] > 0 else b, []).append(where)
    if len(better) == 2:
        clauses = [f"{model} is better on {join_names(on_these, 3)}" for model, on_these in better.items()]
        yield f"no model is better on all benchmarks: {', and '.join(clauses)}"
    a, b = (b, a) if difference < 0 else (a, b)
    mean = f"{_number(abs(difference), 4 * row['se'])} (standard error {_number(row['se'], 4 * row['se'])}, {_p(p)})"
    if p < 0.05 and difference:
        yield f"{a} is better than {b} {on}: by {mean} in the weighted mean"
    else:
        ahead = (
            f"{a} is ahead in the weighted mean by"
            if abs(difference) > 1e-12
            else "the weighted mean of the differences is"
        )
        yield f"{a} and {b} cannot be told apart {on}: {ahead} {mean}"


def say_pairs(part: Result, _rows: Sequence[Row]) -> Sentences:
    """Say which models may be the best, and how many questions would separate the first two."""
    assert isinstance(part, Pairs)
    order, _, common = _group(part)
    scores = score(part.cells, claim=part.claim).score
    names = [part.models[i] for i in order]
    if len(names) < 2:
        yield f"{'only one' if names else 'no'} model has a score on {part.benchmark}"
        return
    first, on = names[0], part.benchmark
    highest = part.models[int(np.nanargmax(scores))]
    if highest != first and scores[order[0]] < np.nanmax(scores) - 1e-12:
        yield f"{highest} has the highest score on {on}, on questions of its own: the order is by common questions"
    sign = np.where(part.verdict == "distinguishable", np.sign(part.difference), 0.0)
    beside = np.zeros((len(part.models),) * 2)  # 1 where the model of the row is better
    beside[part.a, part.b], beside[part.b, part.a] = sign, -sign
    alike, ahead = ([part.models[i] for i in order[1:] if beside[order[0], i] == which] for which in (0, -1))
    if ahead:
        yield f"{first} is first on {on} over all models, but {join_names(ahead)} did better on questions in common"
    elif alike:
        tied = [part.models[i] for i in order if math.isclose(common[i], common[order[0]], abs_tol=1e-12)]
        is_first = f"{join_names(tied)} share the first place" if len(tied) > 1 else f"{first} is first"
        rest = [model for model in alike if model not in tied]
        it = "it" if len(tied) == 1 else "them"
        yield f"{is_first} on {on}" + (f"; {join_names(rest, 2)} cannot be told apart from {it}" if rest else "")
    else:
        others = "the other model" if len(names) == 2 else f"each of the {len(names) - 1} others"
        yield f"{first} is better than {others} on {on}"
    at = [{*two} == {*order[:2]} for two in zip(part.a.tolist(), part.b.tolist(), strict=True)].index(True)
    needed = part.questions_for_power[at]
    if names[1] in alike and math.isfinite(needed):
        alone = ", compared by themselves," if len(names) > 2 else ""
        condition = "if they differ as much as here"
        yield f"about {needed:,.0f} questions would separate the first two{alone} in {_OFTEN}, {condition}"


def _group(part: Pairs) -> tuple[list[int], list[str], NDArray[np.float64]]:
    """Return the models with a score, the best on common questions first, the letters of each, and what decides."""
    scores = score(part.cells, claim=part.claim).score
    answered = part.cells.answered[~np.isnan(scores)]
    if not np.all(answered == answered[:1]):  # of models that answered other questions, those in common decide
        common = fit_common_scores(compare_pairs(part.cells))[0]
        scores = np.where(np.isnan(common), scores - 2 * np.nanmax(np.abs(scores)) - 1, common)
    order = [int(i) for i in np.argsort(-scores, kind="stable") if not math.isnan(scores[i])]
    place = {model: i for i, model in enumerate(order)}
    differs = part.verdict == "distinguishable"
    pairs = zip(part.a[differs].tolist(), part.b[differs].tolist(), strict=True)
    return order, group_by_letters(len(order), [(place[a], place[b]) for a, b in pairs]), scores


def _tabulate_groups(compared: Sequence[Pairs]) -> Columns:
    """Return the models of each benchmark with the letters of their groups and the intervals of their scores."""
    tables = []
    for part in compared:
        order, letters, _ = _group(part)
        columns = score(part.cells, claim=part.claim, level=part.level).columns()
        of = {name: i for i, name in enumerate(columns["model"].tolist())}
        rows = [of[part.models[i]] for i in order]
        own = {name: values[rows] for name, values in columns.items()}
        tables.append({"benchmark": own["benchmark"], "group": np.array(letters, dtype=object), **own})
    joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    return _choose(joined, "benchmark group model score low high interval sampling")


def _tabulate_pairs(columns: Columns) -> Columns:
    """Return the pairs by their p-values, the better model first, with intervals that cover all of them at once."""
    order = np.argsort(np.nan_to_num(columns["p_holm"], nan=2.0) - 1e-9 * np.abs(columns["difference"]), kind="stable")
    chosen = "benchmark model_a model_b difference low_all high_all p_holm note"
    return {name: values[order] for name, values in _choose(_put_leaders_first(columns), chosen).items()}


def _put_leaders_first(columns: Columns) -> Columns:
    """Return differences with the model that is ahead as model_a, so that none is below 0."""
    is_less = columns["difference"] < 0
    turned = dict(columns)
    for one, other, sign in (("model_a", "model_b", 1), ("low", "high", -1), ("low_all", "high_all", -1)):
        for name, opposite in ((one, other), (other, one)):
            if name in columns:
                turned[name] = np.where(is_less, columns[opposite] if sign > 0 else -columns[opposite], columns[name])
    for name in {"difference", "judge_difference"} & columns.keys():
        turned[name] = np.where(is_less, -columns[name], columns[name]) + 0.0
    return turned


def tabulate_prompts(summaries: Sequence[VariantSummary]) -> Columns:
    """Return the prompts of each model, the best first, with their scores and what they were drawn to be."""
    dimensions = list(dict.fromkeys(name for part in summaries for name in part.cube.values))
    rows: list[Row] = []
    for part in summaries:
        cube = part.cube
        for model, scores in zip(cube.models, part.all_scores, strict=True):
            for i in np.argsort(-scores, kind="stable").tolist():
                drawn = {name: cube.values[name][i] if name in cube.values else "" for name in dimensions}
                variant = "default" if drawn and not any(drawn.values()) else cube.variants[i]
                names = {"benchmark": cube.benchmark, "model": model, "variant": variant}
                rows.append(names | {"score": float(scores[i])} | drawn)
    columns = make_columns(len(rows), **{name: [row[name] for row in rows] for name in rows[0]})
    return columns | {"score": columns["score"].astype(float)}


def say_scores(_part: Result, rows: Sequence[Row]) -> Sentences:
    """Say what a model scores, or which score is the highest; of intervals beside each other no model is better."""
    scored = [row for row in rows if not math.isnan(row["score"])]
    if not scored:
        yield f"no model has a score on {rows[0]['benchmark']}"
        return
    best = max(scored, key=lambda row: float(row["score"]))
    ties = [row["model"] for row in scored if math.isclose(row["score"], best["score"], abs_tol=1e-12)]
    width = best["high"] - best["low"]
    text = f"{_number(best['score'], width)} ({_limits(best, best['level'])})"
    if len(rows) == 1:
        yield f"{best['model']} scores {text} on {best['benchmark']}"
    elif len(ties) > 1:
        yield f"{join_names(ties)} share the highest score on {best['benchmark']}, {text}"
    else:
        yield f"{best['model']} has the highest score on {best['benchmark']}, {text}"


def say_ranking(_part: Result, rows: Sequence[Row]) -> Sentences:
    """Say which models may be the best."""
    ranked = [row for row in rows if not math.isnan(row["rank"])]
    first = [row["model"] for row in ranked if row["rank_low"] == 1]
    on = rows[0]["benchmark"]
    if not ranked:
        yield f"no model can be ranked on {on}"
    elif len(first) == 1 and all(row["rank_high"] == 1 for row in ranked if row["model"] == first[0]):
        best = next(row for row in ranked if row["model"] == first[0])
        is_sure = best.get("rank_high_all", 1) == 1
        more = "" if is_sure else ", by its own comparisons; adjusted for all pairs others may be"
        yield f"{first[0]} is the best of {len(ranked)} models on {on}{more}"
    elif len(first) == len(ranked):
        yield f"each of the {len(ranked)} models may be the best on {on}"
    else:
        yield f"{len(first)} of {len(ranked)} models may be the best on {on}: {join_names(first, 3)}"


def say_variants(part: VariantSummary, rows: Sequence[Row]) -> Sentences:
    """Say how far the prompts of each model are apart, and what one prompt in place of all would cost."""
    from howsure.stats.planning import components_from_cube

    for i, row in enumerate(rows):
        scores = part.moments.scores[i]
        drawn = scores[~np.isnan(scores)]
        if len(drawn) < 2:
            continue
        worst, best = (f"{_number(end)} ({name})" for name, end in (("worst", drawn.min()), ("best", drawn.max())))
        text = f"{row['model']} on {row['benchmark']}: {len(drawn)} prompts score from {worst} to {best}"
        if not math.isnan(row["var_variant"]):
            sd = math.sqrt(max(row["var_variant"], 0))
            text += f"; sd {_number(sd)} between prompts once sampling noise is taken out"
        yield text
        N, K = float(part.components.fit.questions[i]), float(np.mean(part.cube.drawn.n[i]))
        if N > 1 and K >= 1 and row["var_variant"] > 0:
            pilot = components_from_cube(part.cube, row["model"])
            one, every = (math.sqrt(float(pilot.variance(N, K, S))) for S in (1, len(drawn)))
            if math.isfinite(one + every):
                count = len(drawn)
                yield (
                    f"the mean over {count} prompts has a standard error of {_number(every)}; one prompt alone would "
                    f"have {_number(one)}"
                )


def say_repeats(part: Repeats, rows: Sequence[Row]) -> Sentences:
    """Say since when daily scores fell, where the mean of future runs will be, and whether the runs drifted."""
    for model, fall in part.falls.items():
        limits = "" if fall.first == fall.last else f" (between {fall.first} and {fall.last})"
        text = f"{model} on {part.benchmark} fell by {_number(fall.size)} since {fall.since}{limits}"
        yield f"{text}; alarm on {fall.alarm}, at one false alarm a year"
    adjusted = holm([row["drift_p"] for row in rows]).tolist()
    over = f" (Holm over {len(rows)} models)" if len(rows) > 1 else ""
    for row, drift in zip(rows, adjusted, strict=True):
        n = row["n_future"]
        runs = "of further runs without end" if math.isinf(n) else f"of {format_count(int(n), 'further run')}"
        tail = "" if math.isnan(drift) else f"; no drift is seen{over}"
        if math.isnan(row["low"]):
            yield f"{row['model']} on {row['benchmark']}: {format_count(row['n_runs'], 'run')} cannot predict others"
        elif drift < 1 - row["level"]:
            mean = f"their mean of {_number(row['mean'])} does not say what further runs score"
            yield f"the runs of {row['model']} on {row['benchmark']} drifted{over}: {mean}"
        else:
            width = row["high"] - row["low"]
            limits = f"between {_number(row['low'], width)} and {_number(row['high'], width)}"
            what = f"the mean {runs} of {row['model']} on {row['benchmark']}"
            yield f"{what} will be {limits} ({100 * row['level']:g} %){tail}"


def say_attempts(_part: Result, rows: Sequence[Row]) -> Sentences:
    """Say how often the most attempts of each model are right at least once, always, and by majority."""
    words = {"pass@k": "at least one is right", "pass^k": "all are right", "majority@k": "the most frequent is right"}
    for model, own in groupby(rows, lambda row: str(row["model"])):
        of_model = list(own)
        k = max(row["k"] for row in of_model)
        if k == 1:
            width = of_model[0]["high"] - of_model[0]["low"]
            text = f"{_number(of_model[0]['score'], width)} ({_limits(of_model[0], of_model[0]['level'])})"
            yield f"{model} has one attempt at each question of {of_model[0]['benchmark']}, and scores {text}"
            continue
        shares = [
            f"{words[row['measure']]} on {100 * row['score']:.1f} %"
            for row in of_model
            if row["k"] == k and row["measure"] in words and not math.isnan(row["score"])
        ]
        if shares:
            of = f"of {format_count(k, 'attempt')} at a question of {of_model[0]['benchmark']}"
            yield f"{model}, {of}: {', '.join(shares)}"


def _say_plan(part: StudyPlan, rows: Sequence[Row]) -> Sentences:
    """Say which design is the best, whether it reaches the goal, and what it takes."""
    design, (name, value) = part.best, part.goal
    of = "the difference" if part.components.models == 2 else "the score"
    goal = _GOALS.get(name, "{:g}").format(*([of] if name in {"se", "width"} else []), value)
    on = f" of {rows[0]['benchmark']}" if rows[0]["benchmark"] not in {"", "assumed"} else ""
    if design is None:
        questions, prompts = (max(row[column] for row in rows) for column in ("n_questions", "n_variants"))
        by = f" x {format_count(prompts, 'prompt')}" if prompts > 1 else ""
        if part.reason.startswith("no number of generations"):
            yield f"{format_count(questions, 'question')}{on}{by} cannot {goal}, however often they are answered"
            if part.remedy:
                yield part.remedy
            if plain := part.plain:
                questions, each = (
                    format_count(plain.n_questions, "question"),
                    format_count(plain.n_generations, "generation"),
                )
                limit = f"the upper {100 * part.assurance:g} % limit of the noise"
                yield f"this is planned with {limit}; as estimated, {questions} x {each} do"
        else:
            yield f"no design{on} can {goal}"
        return
    by = f" x {format_count(design.n_variants, 'prompt')}" if design.n_variants > 1 else ""
    what = f"{format_count(design.n_questions, 'question')}{by} x {format_count(design.n_generations, 'generation')}"
    if name == "budget":
        goal = f"give a standard error of {of} of {_number(design.se_assured)}"
        if part.components.models == 2 and math.isfinite(design.detectable):
            goal = f"find a difference of {_number(design.detectable)} in {_OFTEN}"
    yield f"{what} ({design.calls:,} calls) {goal}" + (f", with the noise{on}" if on else "")


def say_audit(_part: Result, rows: Sequence[Row]) -> Sentences:
    """Say how many questions are worth a look."""
    suspected = [row for row in rows if row["suspected_by"]]
    on = rows[0]["benchmark"]
    if not suspected:
        yield f"no question of {on} is suspected"
        return
    questions = f"{format_count(len(suspected), 'question')} of {on}"
    if "evidence" in rows[0]:
        yield f"{questions} may have a wrong label: look at the first ones first"
        yield "answers cannot tell a wrong label from a right one that all models miss in the same way"
    else:
        patterns = Counter(row["suspected_by"] for row in suspected)
        clauses = [f"{n} {pattern}" for pattern, n in patterns.most_common()]
        yield f"{questions} have scores that a wrong label, a hard question or chance makes: {join_names(clauses)}"


def say_questions(_part: Result, rows: Sequence[Row]) -> Sentences:
    """Say how many questions nobody answers, everybody answers, and better models answer worse."""
    scored = [row for row in rows if not math.isnan(row["score"])]
    never, always = (sum(row["score"] == end for row in scored) for end in (0, 1))
    text = f"of {format_count(len(scored), 'question')} of {rows[0]['benchmark']}, "
    text += f"{never} {'is' if never == 1 else 'are'} never answered right and {always} always"
    reversed_ = sum(row["tau"] < 0 and row["p_value"] < 0.05 for row in scored)
    yield text + (f"; on {reversed_} better models do worse (p < .05 each)" if reversed_ else "")


def say_curve(part: Curve, rows: Sequence[Row]) -> Sentences:
    """Say which checkpoint is the best, whether the score jumped, and which ones differ from the reference."""
    if not isinstance(part.smoothed, str):
        yield from _say_smoothed(part, part.smoothed)
    reference = [row["checkpoint"] for row in rows if row["difference"] == 0 and math.isnan(row["p_value"])]
    if len(reference) != 1:
        return
    beside: dict[str, list[str]] = {"better": [], "worse": [], "not told apart": []}
    for row in rows:
        if row["checkpoint"] != reference[0] and not math.isnan(row["difference"]):
            is_clear = row["p_holm"] < 1 - row["level"]
            word = ("better" if row["difference"] > 0 else "worse") if is_clear else "not told apart"
            beside[word].append(row["checkpoint"])
    clauses = [f"{join_names(names)} {word}" for word, names in beside.items() if names]
    yield f"on {rows[0]['benchmark']}, beside {reference[0]}: {'; '.join(clauses)}"


def say_battles(part: Result, rows: Sequence[Row]) -> Sentences:
    """Say which models may be the best by their battles, and what the place is worth."""
    assert isinstance(part, BattleRanking)
    yield from say_ranking(part, rows)
    if not math.isnan(part.place):
        first = 1 / (1 + math.exp(-part.place))
        what = "which the battles show" if part.is_place_clear else "which may be chance"
        yield f"of two equal models the first wins {100 * first:.0f} % of battles on {part.name}, {what}"


def say_winner(part: Result, rows: Sequence[Row]) -> Sentences:
    """Say what the best of several scores on fresh questions, and how much of its lead is luck."""
    assert isinstance(part, Winner)
    for row in rows:
        best, on, k = row["model"], row["benchmark"], row["n_models"]
        if math.isnan(row["score"]):
            yield f"no question of {on} was answered by all {k}: none of them can be called the best"
            continue
        width = row["high"] - row["low"]
        has = "shares" if part.n_tied[0] > 1 else "has"
        text = f"{best} {has} the highest score of {k} on {on}, {_number(row['score'], width)}"
        if math.isnan(row["low"]):
            yield f"{text}; what it scores on fresh questions cannot be said"
            continue
        yield f"{text}: on fresh questions expect {_number(row['corrected'], width)} ({_limits(row, row['level'])})"
        lead, left = row["lead"], row["lead_corrected"]
        if lead > 0:
            share = min(max(1 - left / lead, 0.0), 1.0)
            what = "all" if share == 1 else "nothing" if share == 0 else f"about {100 * share:.0f} %"
            others = "the other" if k == 2 else f"the mean of the {k - 1} others"
            if row["low"] <= row["score"] - lead:
                yield f"its lead of {_number(lead, width)} over {others} may be luck"
            else:
                yield f"of its lead of {_number(lead, width)} over {others}, {what} is luck by this estimate"


def say_slices(part: Result, rows: Sequence[Row]) -> Sentences:
    """Say in which slices two models differ by another amount than on the rest, and where slices and total disagree."""
    assert isinstance(part, Slices)
    a, b, on = part.model_a, part.model_b, part.benchmark
    different = [row for row in rows if row["verdict"] == "different"]
    for row in different:
        width = row["high"] - row["low"]
        here, rest = (_number(row[name], width, sign=True) for name in ("difference", "difference_rest"))
        where = f"{row['by']} {row['slice']} ({format_count(row['n_questions'], 'question')})"
        tail = f"{_p(row['p_all'])}, adjusted for {format_count(len(rows), 'slice')}"
        yield f"{a} - {b} on {on} is {here} on {where} and {rest} on the rest ({tail})"
    if all(row["verdict"] == "not tested" for row in rows):
        yield f"no slice of {on} can be tested"
    elif not different:
        least = min(row["p_all"] for row in rows if not math.isnan(row["p_all"]))
        slices = format_count(len(rows), "slice")
        yield f"no slice of {on} shows another difference of {a} and {b} than the rest ({slices}, least {_p(least)})"
    for by in part.reversed_by:
        ahead, behind = (a, b) if part.score_a > part.score_b else (b, a)
        scores = sorted((part.score_a, part.score_b), reverse=True)
        text = (
            f"{ahead} has the higher score over all that each answered, {_number(scores[0])} and {_number(scores[1])}"
        )
        yield f"{text}, but {behind} has it in every slice of {by} (Simpson's paradox)"


def _say_smoothed(part: Curve, smoothed: SmoothedSeries) -> Sentences:
    """Say which checkpoint is the best on the smooth curve, which others may be, and since when the score jumped."""
    names, level, best = part.checkpoints, part.level, smoothed.best
    text = []
    is_whole = int(np.max(part.total.n_questions)) == smoothed.n_questions  # else the easy ones may have been left out
    these = "these questions" if is_whole else f"the {format_count(smoothed.n_questions, 'question')} in common"
    claims: tuple[tuple[Claim, str], ...] = (("these-questions", these), ("new-questions", "others"))
    for claim, whose in claims[: 1 + is_whole]:
        between = smoothed.interval(level, claim)
        ends = np.array([between.low[best], between.high[best]])
        low, high = np.clip(ends, 0, 1) if part.total.unit else ends
        text.append(f"{_number(low, high - low)} to {_number(high, high - low)} on {whose}")
    best_of = f"best of {len(names)} checkpoints on {part.benchmark}, by a smooth curve: {names[best]}"
    yield f"{best_of}, {_number(smoothed.mean[best])} ({100 * level:g} % interval {', '.join(text)})"
    score = part.total.score
    top = int(np.nanargmax(score))
    luck = float(score[top] - smoothed.mean[top])
    among = np.flatnonzero(smoothed.may_be_best(level))
    of = f"{join_names([names[i] for i in among], 3)} may be the best"
    of = of if len(among) > 1 else f"no other than {names[among[0]]} may be"
    more = f"; the highest score, {_number(score[top])} ({names[top]}), is {_number(luck)} above the curve"
    yield of + (more if luck > 0 and is_whole else "")
    change = smoothed.change
    if change.p >= _LIKELY:
        limits = "" if change.first == change.last else f" ({names[change.first]} to {names[change.last]})"
        what = f"sudden {'fall' if change.size < 0 else 'rise'} of {_number(abs(change.size))} at {names[change.since]}"
        yield f"{what}{limits}, with probability {change.p:.2f}"


def _describe_claim(columns: Columns) -> Iterator[str]:
    """Yield the line that names the level, the claim and the method of the intervals."""
    levels, claims, methods = (_list_values(columns, name) for name in ("level", "claim", "method"))
    limits = next((columns[name] for name in ("low", "rank_low") if name in columns), ())
    if not levels or not np.any(np.isfinite(limits)) or not (claims or methods or "rank_low" in columns):
        return
    kind, texts = "intervals", {**{str(name): text for name, text in CLAIM_TEXTS.items()}, **_PROMPT_CLAIMS}
    if "rank_low" in columns:
        kind = "ranges of ranks"
    if "n_future" in columns:
        kind, claims = "prediction intervals", ["the mean of further runs on these very questions"]
    text = f"{' and '.join(f'{100 * one:g} %' for one in levels)} {kind}"
    text += "".join(f" for {texts.get(claim, claim)}" for claim in claims[:1])
    if methods:
        text += f" ({', '.join(map(str, methods))})"
    if "p_holm" in columns and "model_a" in columns:
        text += ". Models with a common letter cannot be told apart (all pairs, Holm)"
    yield f"{text}."


def _list_values(columns: Columns, name: str) -> list[Any]:
    """Return the different values of a column, without those that are unknown."""
    values: Iterable[Any] = columns[name].tolist() if name in columns else ()
    return list(dict.fromkeys(value for value in values if value != "" and str(value) != "nan"))


#: The figure of each kind of result.
_FIGURES = {
    "Pairs": "forest",
    "Scores": "scores",
    "Curve": "curve",
    "VariantSummary": "spread",
    "RunWidths": "run_widths",
    "CostScores": "costs",
}
#: Columns of a table of scores.
_SCORES = (
    "benchmark model score score_bound score_low score_high score_plain judge_score se se_judge low high interval "
    "sampling n_missing n_labels note"
)
#: Columns of a table of differences.
_DIFFERENCES = "benchmark model_a model_b difference judge_difference low high p_value interval n_questions note"
_COMBINED = "benchmark model_a model_b difference se z p_value weight note"
_CURVE = "benchmark checkpoint score smoothed difference low_difference high_difference p_holm note"
_RANKS = "benchmark model score score_common se rank rank_low rank_high rank_low_all rank_high_all p_best note"
_SLICES = "benchmark by slice n_questions difference low high shrunken p_all note"
_BATTLES = "benchmark model n_battles win_share rating low high rank rank_low rank_high note"
_WINNERS = "benchmark model n_models n_questions score corrected low high lead lead_corrected note"
_DESIGNS = "benchmark n_questions n_variants n_generations se_assured detectable calls tokens cost note"
_QUESTIONS = "benchmark model question n_solved score difficulty tau p_value note"
_LABEL_ERRORS = "benchmark question target answer p_correct evidence suspected_by p_wrong_max note"
#: Columns by which a result is known, what is said of it, and the columns of its table, the first that fits.
_KINDS: tuple[tuple[set[str], Callable[[Any, Sequence[Row]], Sentences], str], ...] = (
    ({"checkpoint", "p_holm"}, say_curve, _CURVE),
    ({"slice", "p_all"}, say_slices, _SLICES),
    ({"model_a", "model_b", "difference", "p_holm"}, say_pairs, ""),
    ({"model_a", "model_b", "difference", "z", "weight"}, _say_together, _COMBINED),
    ({"model_a", "model_b", "difference", "low", "high", "p_value"}, say_comparison, _DIFFERENCES),
    ({"model_a", "model_b", "difference", "low", "high", "judge_difference"}, say_comparison, _DIFFERENCES),
    ({"rating", "rank_low"}, say_battles, _BATTLES),
    ({"rank", "rank_low"}, say_ranking, _RANKS),
    ({"corrected", "lead_corrected"}, say_winner, _WINNERS),
    ({"var_variant", "n_star_space"}, say_variants, "benchmark model mean low high n_variants n_star_space note"),
    ({"n_future", "drift_p"}, say_repeats, "benchmark model n_runs mean sd worst best low high drift_p note"),
    ({"measure", "k", "score"}, say_attempts, "benchmark model measure k score low high interval note"),
    ({"se_assured", "calls"}, _say_plan, _DESIGNS),
    ({"suspected_by", "evidence"}, say_audit, _LABEL_ERRORS),
    ({"suspected_by", "question"}, say_audit, ""),
    ({"difficulty", "tau"}, say_questions, _QUESTIONS),
    ({"model", "score", "low", "high", "n_missing", "level"}, say_scores, _SCORES),
    ({"model", "score", "low", "high", "judge_score"}, say_scores, _SCORES),
)
