"""Verdicts for automatic checks: a candidate against a baseline or a bar, in words, markdown and JUnit XML."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO
from xml.etree import ElementTree as ET

import msgspec
import numpy as np

from howsure.api.result_selection import check_two_models, list_first
from howsure.errors import InputError, UnknownNameError
from howsure.notes import Note, ignore_notes, warn
from howsure.results.evaluations import Evaluations, open_or_list, read, to_cells
from howsure.results.sources import check_no_mapping
from howsure.safe_text import escape_control_characters
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import CLAIM_TEXTS, GATE_VERDICTS, GateVerdict, MeanClaim, MissingRule, check_choice
from howsure.stats.core.results import Result, Results, RowNotes
from howsure.stats.gate import (
    AbsoluteGate,
    AnyGate,
    RateTest,
    RegressionGate,
    compare_with_bar,
    compare_with_baseline,
    decide,
    find_common_variants,
    has_own_variants,
    hold_undecided,
    list_variants,
    split_baseline,
    split_by_variant,
)

if TYPE_CHECKING:
    from howsure.api.result_selection import CellsLike
    from howsure.sample.experiment import Experiment
    from howsure.sample.model_config import ModelConfig
    from howsure.stats.core.cube import Cube

#: Exit codes by verdict; 2 is wrong use or unreadable input.
EXIT_CODES: dict[GateVerdict, int] = {"pass": 0, "fail": 1, "inconclusive": 3}
#: Questions that are listed by name at most.
_MOST_LISTED = 10


@dataclass(frozen=True)
class GateResult(Results):
    """The verdicts on each benchmark and model, and the one for all.

    Attributes
    ----------
    parts
        A gate for each benchmark and model.
    n_analyses
        Number of interim analyses among which alpha was shared; 1 without sampling.
    """

    n_analyses: int = 1

    @property
    def gates(self) -> tuple[AnyGate, ...]:
        """The parts."""
        return tuple(part for part in self.parts if isinstance(part, RegressionGate | AbsoluteGate))

    @property
    def verdict(self) -> GateVerdict:
        """Fail if any part fails, pass if all of them pass, otherwise inconclusive."""
        verdicts = {gate.verdict for gate in self.gates}
        return "fail" if "fail" in verdicts else "inconclusive" if "inconclusive" in verdicts else "pass"

    @property
    def exit_code(self) -> int:
        """0 for pass, 1 for fail, 3 for inconclusive."""
        return EXIT_CODES[self.verdict]

    @property
    def questions(self) -> Results:
        """Questions that are answered less often right than before, a row each."""
        return Results(tuple(gate.questions for gate in self.gates if isinstance(gate, RegressionGate)))

    def __bool__(self) -> bool:
        raise InputError(
            f"a gate has three verdicts and is neither true nor false; this one is {self.verdict}",
            where="gate",
            remedy="compare .verdict with 'pass', 'fail' or 'inconclusive'",
        )

    def describe(self) -> list[str]:
        """Return the verdicts in words, one line for each statement; control characters of names are escaped."""
        lines = [line for gate in self.gates for line in describe_gate(gate, self.n_analyses)]
        return [escape_control_characters(line) for line in lines]

    def __str__(self) -> str:
        return "\n".join([f"{self.verdict.upper()}", *self.describe()])

    def to_markdown(self, *, inconclusive: GateVerdict = "inconclusive") -> str:
        """Return the verdicts as Markdown for a pull request: a table of the parts, and the questions that got worse.

        Parameters
        ----------
        inconclusive
            What an inconclusive verdict counts as. ``"pass"`` and ``"fail"`` add a sentence that says so, and the
            verdict stays as it is.

        Returns
        -------
        str
            Lines that each end in a line break. Names are escaped, so that none of them is read as Markdown or HTML.

        Examples
        --------
        >>> import howsure as hs
        >>> cells = hs.Cells.from_scores("demo", ["a"], ["p", "q", "r"], [[[1], [1], [1]]])
        >>> hs.gate(cells, at_least=0.9).to_markdown(inconclusive="pass").splitlines()[2]
        'Inconclusive counts as pass here (`--inconclusive pass`).'
        """
        return "".join(f"{line}\n" for line in _write_markdown(self, inconclusive))

    def to_junit(self, *, inconclusive: GateVerdict = "inconclusive") -> str:
        """Return the verdicts as JUnit XML: a test for each benchmark and model, and for each broken question.

        Parameters
        ----------
        inconclusive
            What an inconclusive verdict counts as: a failure, a pass, or a test that was skipped.
        """
        return _write_junit(self, inconclusive)


def gate(
    data: CellsLike | Mapping[str, CellsLike],
    *,
    baseline: CellsLike | Mapping[str, CellsLike] | None = None,
    a: str | None = None,
    b: str | None = None,
    margin: float = 0.02,
    at_least: float | None = None,
    alpha: float = 0.05,
    claim: MeanClaim = "these-questions",
    missing: MissingRule = "bounds",
) -> GateResult:
    r"""Decide whether a candidate is worse than a baseline, or whether its score is at least a bar.

    Parameters
    ----------
    data
        Results of the candidate, as for `howsure.score`; without `baseline`, those of both models. A mapping has the
        results of several metrics by their names, such as ``{"accuracy": read(path, scorer="accuracy"), ...}``.
    baseline
        Results of the baseline on the same questions; a mapping with the same names where `data` is one. It is given by
        this name only, since two results in a row do not say which is the baseline.
    a, b
        Labels of the candidate and of the baseline; by default the only model of its side, or each label that both
        have.
    margin
        Largest loss, in units of the score, that is not called worse, at least 0.
    at_least
        Bar instead of a baseline: the lowest score that passes.
    alpha
        Probability, above 0 and below .5, that a candidate that is the baseline fails, on all benchmarks together, and
        that one that is worse by the margin passes.
    claim
        ``"these-questions"``: the expected score on these questions, asked again; ``"new-questions"``: on new questions
        like these.
    missing
        ``"bounds"``: pass even if all missing generations of the candidate were wrong and those of the baseline right,
        fail even if it were the other way round. ``"as-zero"``: they are wrong. ``"as-missing"``: they are left out.

    Returns
    -------
    GateResult
        A row per benchmark and model, with ``verdict``, ``difference``, its one-sided limits ``low`` and ``high``, and
        the p-values of the mean and of single questions; ``.verdict`` and ``.exit_code`` of all; ``.questions`` has the
        questions that are answered less often right; ``.to_markdown()`` and ``.to_junit()``.

    Raises
    ------
    InputError
        If an argument is out of range, or candidate and baseline have no benchmark or no model in common; with
        `at_least` and without `a`, if several of the paths and frames in `data` have answers of one model to the same
        questions, one of which may be meant as baseline.
    UnknownNameError
        If there is no model `a` or `b`.

    Notes
    -----
    With d the difference candidate minus baseline, paired by question: *pass* where its lower limit at 1 - alpha is
    above -margin; *fail* where a loss of the mean is shown that is not within the margin, or where a single question is
    shown to have got worse; otherwise *inconclusive*. Scores of 0 and 1 are tested exactly, given the number of right
    generations of each question [1]_, single questions with the joint distribution of their smallest p-value [2]_.
    Where more than .5 % of the answers of a model are unread, the verdict has to be the same with all of these right,
    of the candidate, of the baseline and of both; else it is *inconclusive*.

    References
    ----------
    .. [1] Fisher (1935), The logic of inductive inference, Journal of the Royal Statistical Society 98.
    .. [2] Westfall and Wolfinger (1997), Multiple tests with discrete distributions, The American Statistician 51.

    Examples
    --------
    >>> import howsure as hs
    >>> questions = [f"q{i}" for i in range(40)]
    >>> scores = [[[1, 1, 1, 1, 1]] * 40, [[0, 0, 0, 0, 0]] + [[1, 1, 1, 1, 1]] * 39]
    >>> cells = hs.Cells.from_scores("demo", ["old", "new"], questions, scores)
    >>> result = hs.gate(cells, a="new", b="old", margin=0.05)
    >>> result.verdict, result.exit_code, result.questions["question"].tolist()
    ('fail', 1, ['q0'])
    """
    if at_least is not None:
        if baseline is not None or b is not None:
            raise InputError("a bar and a baseline", where="gate", remedy="give at_least or a baseline, not both")
        metrics = _list_metrics(data, None)
        benchmarks = [
            replace(cells, benchmark=_name_metric(cells.benchmark, metric))
            for metric, results, _ in metrics
            for cells in to_cells(results)
        ]
        if a is None:
            _check_one_candidate(metrics[0][1])
        return GateResult(tuple(_compare_with_bars(benchmarks, a, at_least, alpha=alpha, claim=claim, missing=missing)))
    pairs = [
        pair._replace(cells=replace(pair.cells, benchmark=_name_metric(pair.cells.benchmark, metric)))
        for metric, results, reference in _list_metrics(data, baseline)
        for pair in _match_pairs(results, reference, a, b)
    ]

    def decide_all(each: Sequence[Cells]) -> list[RegressionGate]:
        return decide(
            [
                compare_with_baseline(
                    cells,
                    pair.candidate,
                    pair.baseline,
                    margin=margin,
                    alpha=alpha,
                    claim=claim,
                    missing=missing,
                    n_variants=pair.n_variants,
                    own_variants=pair.own_variants,
                )
                for cells, pair in zip(each, pairs, strict=True)
            ]
        )

    names = [(pair.candidate, pair.baseline) for pair in pairs]
    return GateResult(tuple(hold_undecided([pair.cells for pair in pairs], names, decide_all)))


def _list_metrics(
    data: CellsLike | Mapping[str, CellsLike], baseline: CellsLike | Mapping[str, CellsLike] | None
) -> list[tuple[str, CellsLike, CellsLike | None]]:
    """Return the name of each metric, '' for the only one, with the results of candidate and baseline."""
    if not isinstance(data, Mapping) and not isinstance(baseline, Mapping):
        return [("", open_or_list(data), None if baseline is None else open_or_list(baseline))]
    for side in (data, baseline):
        if isinstance(side, Mapping) and any(map(_holds_numbers, side.values())):
            check_no_mapping(side)  # of columns: its keys are no metrics
    new = data if isinstance(data, Mapping) else {}
    old = dict.fromkeys(new) if baseline is None else baseline if isinstance(baseline, Mapping) else {}
    if new.keys() != old.keys() or not new:
        named = [list_first([*side]) or "none" for side in (new, old)]
        what = f"metrics {named[0]} of the candidate and {named[1]} of the baseline"
        raise InputError(what, where="gate", remedy="give results of the same metrics for both, or one result each")
    return [(name, *_list_metrics(new[name], old[name])[0][1:]) for name in new]


def _holds_numbers(values: object) -> bool:
    """Return whether these are values of a column, and not paths, frames or cells."""
    return isinstance(values, (list, tuple, np.ndarray)) and any(
        isinstance(value, (int, float, np.generic)) for value in values
    )


def _name_metric(benchmark: str, metric: str) -> str:
    """Return the name of a benchmark with that of the metric, if there are several."""
    return f"{benchmark}, {metric}" if metric else benchmark


class _Pair(NamedTuple):
    """Cells of a benchmark, the labels of candidate and baseline in them, and the variants they are split into."""

    cells: Cells
    candidate: str
    baseline: str
    n_variants: int = 1
    own_variants: bool = False


def _check_one_candidate(data: CellsLike) -> None:
    """Refuse several paths with answers of a model to the same questions: one of them may be meant as baseline.

    A model that has other settings in each path is read as several models, and is not refused here.
    """
    pooled = data.find_pooled_paths() if isinstance(data, Evaluations) else None
    if pooled is not None:
        model, *paths = pooled
        first, second = paths if paths[0] != paths[1] else (f"{paths[0]} given first", "a later one")
        what = f"{first} and {second} both have answers of {model} to the same questions, and would be pooled"
        remedy = (
            f"give the candidate alone, or compare it with a baseline instead of a bar; --a {shlex.quote(model)} "
            f"(in Python a={model!r}) pools them"
        )
        raise InputError(what, where="gate with a bar", remedy=remedy)


def _compare_with_bars(
    benchmarks: Sequence[Cells], label: str | None, bar: float, *, alpha: float, claim: MeanClaim, missing: MissingRule
) -> list[AnyGate]:
    """Return the gate of each benchmark and model, or of the model of this label."""
    _list_models(benchmarks, label)
    chosen = [(cells, model) for cells in benchmarks for model in cells.models if label in {None, model}]
    models = [model for _, model in chosen]

    def decide_all(each: Sequence[Cells]) -> list[AbsoluteGate]:
        n = len(chosen)
        return [
            compare_with_bar(cells, model, bar, alpha=alpha, claim=claim, missing=missing, n_together=n)
            for cells, model in zip(each, models, strict=True)
        ]

    return hold_undecided([cells for cells, _ in chosen], [[model] for model in models], decide_all)


def _match_pairs(data: CellsLike, baseline: CellsLike | None, a: str | None, b: str | None) -> Iterator[_Pair]:
    """Yield the cells of both of each benchmark and model, and the labels of candidate and baseline in them."""
    if baseline is None:
        for cells, new_label, old_label in _match_in_one(to_cells(data), a, b):
            yield _join(data, cells, new_label, data, cells, old_label)
        return
    new, old = _name_alike(list(to_cells(data)), list(to_cells(baseline)))
    _warn_of_other_questions(data, baseline)
    label_pairs = _match_labels(_list_models(new, a), _list_models(old, b), a, b)
    is_named = a is not None or b is not None
    _warn_of_left_out(new, old, _list_models(new, a) if is_named else [label for label, _ in label_pairs])
    by_name = {cells.benchmark: cells for cells in new}
    common = [cells for cells in old if any(name in cells.models for _, name in label_pairs)]
    if absent := [cells.benchmark for cells in common if cells.benchmark not in by_name]:
        raise _build_absence_error(absent, [cells.benchmark for cells in common], [*by_name])
    for cells in common:
        for new_label, old_label in label_pairs:
            if old_label in cells.models:
                yield _join(data, _require(by_name[cells.benchmark], new_label), new_label, baseline, cells, old_label)


def _build_absence_error(absent: Sequence[str], old: Sequence[str], new: Sequence[str]) -> InputError:
    """Return the error of a candidate without some benchmarks, by the names that baseline and candidate have."""
    remedy = "run the candidate on it, or give a baseline without it"
    if len(old) == len(new) == 1:
        remedy += "; --as-benchmark NAME calls both alike"
    elif common := [name for name in old if name in new]:
        remedy = f"run the candidate on it, or gate the others alone: {_list_options(common)}"
    what = f"the candidate has no result on {list_first(absent)}, the baseline has"
    return InputError(what, where="gate", remedy=remedy)


def _list_options(benchmarks: Sequence[str]) -> str:
    """Return the options that select benchmarks."""
    return " ".join(f"--benchmark {shlex.quote(name)}" for name in benchmarks)


def check_experiment(experiment: Path, baseline: Evaluations, *, a: str | None = None, b: str | None = None) -> None:
    """Raise if results of an experiment could not be judged against a baseline, before anything is sampled.

    Parameters
    ----------
    experiment
        YAML file of the experiment.
    baseline
        Results of the baseline.
    a, b
        As for `gate`.

    Raises
    ------
    InputError
        If the experiment lacks a model, a benchmark or all questions of one that the baseline has. Benchmarks of
        Inspect are not checked, because their names are known only once they run.
    """
    from howsure.benchmarks import is_inspect_task
    from howsure.sample.experiment import load_experiment
    from howsure.sample.sampling_plan import load_benchmark

    plan = load_experiment(experiment)
    models = list(dict.fromkeys(config.label for part in plan.parts for config in part.models))
    if a is not None and a not in models:
        raise UnknownNameError("model", a, models, where=str(experiment))
    if any(is_inspect_task(part.benchmark) for part in plan.parts):
        return
    old = baseline.cells()
    pairs = _match_labels(models, _list_models(old, b), a, b)
    labels_of: dict[str, set[str]] = {}
    questions_of: dict[str, set[str]] = {}
    for part in plan.parts:
        benchmark = load_benchmark(part)
        labels_of.setdefault(benchmark.name, set()).update(config.label for config in part.models)
        questions_of.setdefault(benchmark.name, set()).update(question.id for question in benchmark.questions)
    if len(labels_of) == len(old) == 1 and not set.union(*questions_of.values()).isdisjoint(old[0].questions):
        return  # one benchmark under two names; see `_name_alike`
    common = [cells.benchmark for cells in old if any(name in cells.models for _, name in pairs)]
    absent = [name for name in common if not any(label in labels_of.get(name, ()) for label, _ in pairs)]
    if absent:
        raise _build_absence_error(absent, common, [*labels_of])
    for cells in old:
        if cells.benchmark in common and questions_of[cells.benchmark].isdisjoint(cells.questions):
            what = f"no question of {cells.benchmark} in the experiment occurs in the baseline"
            remedy = "give the questions of the baseline, with the same ids, or sample a baseline with the experiment's"
            raise InputError(what, where=str(experiment), remedy=remedy)


def _name_alike(new: list[Cells], old: list[Cells]) -> tuple[list[Cells], list[Cells]]:
    """Return both; where each has one benchmark and question ids agree, under the name that the baseline has."""
    if len(new) == len(old) == 1 and new[0].benchmark != old[0].benchmark:
        common = len(set(new[0].questions) & set(old[0].questions))
        if common:
            facts = {"first": f"{new[0].benchmark} of the candidate", "second": f"{old[0].benchmark} of the baseline"}
            warn(Note("compared-as-one", n=common, facts=facts), stacklevel=5)
            return [replace(new[0], benchmark=old[0].benchmark)], old
    return new, old


def _match_in_one(benchmarks: Sequence[Cells], a: str | None, b: str | None) -> Iterator[tuple[Cells, str, str]]:
    """Yield the cells of each benchmark, and the labels of candidate and baseline, both in the same results."""
    if a is None or b is None:
        remedy = "give a baseline, or name both models: a and b"
        raise InputError("only one of candidate and baseline", where="gate", remedy=remedy)
    check_two_models(a, b, where="gate")
    for name in (a, b):
        _list_models(benchmarks, name)
    for cells in benchmarks:
        if b in cells.models:
            yield _require(cells, a), a, b


def _list_models(benchmarks: Sequence[Cells], name: str | None) -> list[str]:
    """Return the labels of all models; raise UnknownNameError if `name` is none of them."""
    models = sorted({model for cells in benchmarks for model in cells.models})
    if name is not None and name not in models:
        raise UnknownNameError("model", name, models)
    return models


def _require(cells: Cells, label: str) -> Cells:
    """Return the cells; raise InputError if the candidate has none of this benchmark."""
    if label not in cells.models:
        what = f"{label!r} has no result on {cells.benchmark}, the baseline has"
        raise InputError(what, where="gate", remedy="run the candidate on it, or give a baseline without it")
    return cells


def _match_labels(new: Sequence[str], old: Sequence[str], a: str | None, b: str | None) -> list[tuple[str, str]]:
    """Return the labels of candidate and baseline that are compared."""
    if a is not None or b is not None:
        own = a if a is not None else b if b in new else new[0] if len(new) == 1 else None
        other = b if b is not None else a if a in old else old[0] if len(old) == 1 else None
        if own is None or other is None:
            side, labels = ("candidate", new) if own is None else ("baseline", old)
            what = f"the {side} has several models: {list_first(labels)}"
            raise InputError(what, where="gate", remedy="name one with " + ("--a" if own is None else "--b"))
        return [(own, other)]
    if len(new) == 1 and len(old) == 1:
        return [(new[0], old[0])]
    if absent := [label for label in old if label not in new]:
        what = f"the candidate has no model {absent[0]!r}, the baseline has"
        remedy = "name one model of each with --a and --b, or run it"
        raise InputError(what, where="gate", remedy=remedy)
    return [(label, label) for label in old]


def _join(data: CellsLike, new: Cells, new_label: str, baseline: CellsLike, old: Cells, old_label: str) -> _Pair:
    """Return the cells of both under labels that differ, by prompt variant where both have several."""
    new, old, n_variants, own_variants = _pair_variants(data, new, new_label, baseline, old, old_label)
    renamed = f"{old_label} (baseline)" if old_label == new_label else old_label
    candidate, reference = new.select([new_label]), replace(old.select([old_label]), models=(renamed,))
    if (candidate.clusters is None) != (reference.clusters is None):
        candidate, reference = replace(candidate, clusters=None), replace(reference, clusters=None)
    return _Pair(candidate + reference, new_label, renamed, n_variants, own_variants)


def _pair_variants(
    data: CellsLike, new: Cells, new_label: str, baseline: CellsLike, old: Cells, old_label: str
) -> tuple[Cells, Cells, int, bool]:
    """Return both with a row per question and prompt variant of the baseline, and how many variants both have.

    The last is whether each question of each side has variants of its own.
    As they are, with a warning where something is left to be known, if variants cannot be paired.
    """
    if len({*new.variants, *old.variants}) < 2:
        return new, old, 1, False
    cubes = [_find_cube(source, cells) for source, cells in ((data, new), (baseline, old))]
    if cubes[0] is None or cubes[1] is None:
        if set(new.variants) != set(old.variants):
            _warn_of_variants("unknown-variants", old.benchmark)
        return new, old, 1, False
    if new_label not in cubes[0].models or old_label not in cubes[1].models:  # every generation of it failed
        return new, old, 1, False
    sides = list_variants(cubes[0], new_label), list_variants(cubes[1], old_label)
    common = find_common_variants(cubes[0], new_label, cubes[1], old_label)
    if not common:
        is_own = False
        if sides[0] and sides[1]:
            is_own = has_own_variants(cubes[0], new_label, cubes[1], old_label)
            if is_own:
                _warn_of_variants("own-variants", old.benchmark)
            else:
                names = {"candidate": list_first(sides[0]), "baseline": list_first(sides[1])}
                _warn_of_variants("no-common-variant", old.benchmark, **names)
        return new, old, 1, is_own
    more = _warn_of_one_sided(sides[0], sides[1], old.benchmark)
    if len(sides[1]) < 2 and not more:
        return new, old, 1, False
    first = replace(split_by_variant(cubes[0], new, sides[1]), benchmark=old.benchmark)
    return first, split_by_variant(cubes[1], old, sides[1]), len(common), False


def _warn_of_one_sided(candidate: Sequence[str], baseline: Sequence[str], benchmark: str) -> bool:
    """Warn of prompt variants that one side has alone; return whether the candidate has some."""
    only = {
        "variants-of-candidate-only": [name for name in candidate if name not in baseline],
        "variants-of-baseline-only": [name for name in baseline if name not in candidate],
    }
    for code, names in only.items():
        if names:
            warn(Note(code, benchmark, (benchmark,), len(names), {"variants": list_first(names)}), stacklevel=8)
    return not set(candidate) <= set(baseline)


def _find_cube(data: CellsLike, cells: Cells) -> Cube | None:
    """Return the results of a benchmark by prompt variant; None where they are not at hand."""
    if not isinstance(data, Evaluations):
        return None
    cubes = data.cubes()
    named = [cube for cube in cubes if cube.benchmark == cells.benchmark]
    return (named or cubes)[0] if named or len(cubes) == 1 else None


def _warn_of_variants(code: str, benchmark: str, **facts: object) -> None:
    """Warn that scores are compared over all variants of each side."""
    warn(Note(code, benchmark, (benchmark,), facts=facts), stacklevel=8)


def _warn_of_other_questions(data: CellsLike, baseline: CellsLike) -> None:
    """Warn where run folders say that a benchmark of both has other questions or targets, and of equal paths."""
    if not isinstance(data, Evaluations) or not isinstance(baseline, Evaluations):
        return
    paths = {_resolve(source.path) for source in baseline.sources} & {_resolve(source.path) for source in data.sources}
    same = [Note("same-path", path) for path in sorted(paths - {""})]
    for note in [*same[:1], *data.list_differences(baseline)]:
        warn(note, stacklevel=4)


def _resolve(path: str | Path) -> str:
    """Return the absolute path of a file or folder that exists, or ''."""
    return str(Path(path).resolve()) if path and Path(path).exists() else ""


def _warn_of_left_out(new: Sequence[Cells], old: Sequence[Cells], labels: Sequence[str]) -> None:
    """Warn of benchmarks that the baseline does not have, and of the candidate's models that are not in `labels`."""
    old_names = {cells.benchmark for cells in old}
    benchmarks = [cells.benchmark for cells in new if cells.benchmark not in old_names]
    models = sorted({model for cells in new for model in cells.models}.difference(labels))
    for kind, names in (("benchmark", benchmarks), ("model", models)):
        if names:
            warn(Note("not-in-baseline", facts={"kind": kind, "names": list_first(names)}), stacklevel=5)


def describe_gate(gate: AnyGate, n_analyses: int = 1) -> Iterator[str]:
    r"""Yield the lines that say in words what a gate shows.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["p", "q", "r"], [[[1], [1], [1]]])
    >>> print(*describe_gate(compare_with_bar(cells, "a", 0.9)), sep="\n")
    demo, a: inconclusive
      The score is 1.000; with 95 % confidence each, it is at least 0.368 and at most 1.000; the bar is 0.9.
      To decide: more questions or generations; how many is not known, because no answer was seen to vary.
      One generation per question: the error is that of new questions, which is no smaller.
    """
    yield f"{gate.benchmark}, {gate.candidate}: {gate.verdict}"
    confidence = f"{100 * (1 - gate.alpha):.4g} %"
    shared = f" (alpha is shared among {n_analyses} interim analyses)" if n_analyses > 1 else ""
    if isinstance(gate, AbsoluteGate):
        above = f"{100 * (1 - gate.alpha / gate.n_together):.4g} %"
        limits = f"with {confidence} confidence each{shared}, it is at least {gate.low:.3f} and at most {gate.high:.3f}"
        if gate.n_together > 1:
            limits = (
                f"it is at least {gate.low:.3f} with {confidence} confidence{shared}, and at most {gate.high:.3f} with "
                f"{above}, because {gate.n_together} scores are gated together"
            )
        if np.isnan(gate.low) or np.isnan(gate.high):
            limits = "no limits can be given"
        yield f"  The score is {gate.value:.3f}; {limits}; the bar is {gate.bar:g}."
    else:
        c = gate.comparison
        yield (
            f"  The score is {float(c.score_a[0]):.3f}, that of {gate.baseline} {float(c.score_b[0]):.3f}, on "
            f"{_count(int(c.n_questions[0]), 'common ' + _name_unit(gate))}: a difference of {gate.difference:+.3f}."
        )
        limits = f"the difference is at least {gate.low:+.3f} and at most {gate.high:+.3f}"
        if np.isnan(gate.low) or np.isnan(gate.high):
            limits = "no limits of the difference can be given"
        yield f"  With {confidence} confidence each{shared}, {limits}; the margin is {gate.margin:g}."
        yield f"  The limits are for {CLAIM_TEXTS[c.claim]} (--claim)."
        yield from _describe_failure(gate)
        if gate.verdict == "inconclusive" and gate.high < 0:
            yield (
                "  The upper limit is below 0, and yet no loss is shown: over all tests that are made here, the p-value"
                f" is {gate.p_fail:.3g}, above {gate.alpha:g}."
            )
    if gate.verdict == "inconclusive":
        yield from _describe_need(gate)
    if gate.n_missing_candidate:
        how = {
            "bounds": "counted as wrong for a pass, and as right for a failure",
            "as-zero": "counted as wrong",
            "as-missing": "left out, so a candidate that fails on hard questions looks better than it is",
        }[gate.missing]
        verb = "generation of the candidate is" if gate.n_missing_candidate == 1 else "generations of the candidate are"
        yield f"  {gate.n_missing_candidate:,} {verb} missing, {how}."
    if isinstance(gate, RegressionGate) and gate.n_missing_baseline:
        how = {
            "bounds": "counted as right for a pass, and as wrong for a failure",
            "as-zero": "counted as wrong",
            "as-missing": "left out",
        }[gate.missing]
        verb = "generation of the baseline is" if gate.n_missing_baseline == 1 else "generations of the baseline are"
        yield f"  {gate.n_missing_baseline:,} {verb} missing, {how}."
    for reason in RowNotes(gate.reasons).sentences:
        yield f"  {reason[0].upper()}{reason[1:]}."


def _describe_failure(gate: RegressionGate) -> Iterator[str]:
    """Yield what is shown to be worse, and which questions."""
    together = f"because {gate.n_together} scores are gated together"
    if gate.is_mean_worse and gate.n_together > 1:
        both = " and because single questions are tested too" if gate.p_any_of_mean > gate.p_mean else ""
        adjusted = f"{_format_p(gate.p_fail_of_mean)}, one-sided, adjusted {together}{both}"
        yield f"  The mean is worse: {adjusted}; up to {gate.alpha:.2g} it is a failure."
    elif gate.is_mean_worse:
        level = f"{gate.alpha_of_mean:.2g}"
        yield f"  The mean is worse: {_format_p(gate.p_mean)}, one-sided; up to {level} it is a failure."
    elif gate.verdict == "pass" and gate.difference < 0 and gate.n_together * gate.p_mean <= gate.alpha:
        adjusted = f", adjusted {together}" if gate.n_together > 1 else ""
        surely = f"{_format_p(gate.n_together * gate.p_mean)}, one-sided{adjusted}"
        yield f"  The mean is surely lower ({surely}), and within the margin."
    if gate.verdict != "fail" and gate.p_any <= gate.alpha:
        adjusted = f"adjusted {together}, {_format_p(gate.p_fail)} is above {gate.alpha:.2g}"
        yield f"  Alone this would be a failure ({_format_p(gate.p_any)}); {adjusted}."
    rows = gate.questions
    broken = [i for i, kind in enumerate(rows.kinds) if kind == "broken"]
    if broken:
        family = f"for all questions, and {together}" if gate.n_together > 1 else "for all questions"
        number = f"{len(broken)} of {_count(len(gate.comparison.cells.questions), _name_unit(gate))}"
        yield f"  {number} {'is' if len(broken) == 1 else 'are'} broken (exact tests, adjusted {family}):"
        for i in broken[:_MOST_LISTED]:
            p = min(1.0, float(rows.p_adjusted[i]) * gate.factor_of_others)
            yield (
                f"    {rows.questions[i]}: {rows.right_baseline[i]:,} of {rows.n_baseline[i]:,} right before, now "
                f"{rows.right_candidate[i]:,} of {rows.n_candidate[i]:,} (adjusted {_format_p(p)})"
            )
        if len(broken) > _MOST_LISTED:
            yield f"    and {len(broken) - _MOST_LISTED} more"


def _name_unit(gate: RegressionGate) -> str:
    """Return what is compared one by one: a question, or a question in a prompt variant."""
    return "question-variant pair" if gate.n_variants > 1 else "question"


def _count(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _format_p(p: float) -> str:
    """Return a p-value, or that it is smaller than can be computed."""
    return "p < 1e-12" if p <= 1e-12 else f"p = {p:.2g}"


def _describe_need(gate: AnyGate) -> Iterator[str]:
    """Yield what would decide an inconclusive gate."""
    if gate.missing == "bounds" and gate.n_missing_candidate:
        yield "  To decide: first ask for what is missing again; what else it takes can be said then."
        return
    generations, questions = gate.needed_generations, gate.needed_questions
    if isinstance(gate, RegressionGate):
        if np.isfinite(gate.detectable) and gate.detectable > 0:
            yield f"  A loss of {gate.detectable:.2g} would have been found with a probability of 80 %."
        elif gate.is_undetectable:
            yield "  No loss that is possible would have been found with a probability of 80 %."
        if gate.margin == 0 and gate.difference >= 0:
            yield "  With a margin of 0 only an improvement passes: equal models are never shown to be equal."
        observed = "the difference"
    else:
        observed = "the score"
    ways = []
    if np.isfinite(generations):
        both = " of both" if isinstance(gate, RegressionGate) else ""
        unit = _name_unit(gate) if isinstance(gate, RegressionGate) else "question"
        ways.append(f"{_count(int(generations), 'generation')} per {unit}{both}")
    if np.isfinite(questions):
        unit = _name_unit(gate) if isinstance(gate, RegressionGate) else "question"
        ways.append(f"{_count(int(questions), unit)} like these")
    if ways:
        yield f"  To decide with a probability of 80 %, if {observed} is as observed: {', or '.join(ways)}."
    elif np.isnan(generations) or np.isnan(questions) or np.isnan(gate.low):
        yield ("  To decide: more questions or generations; how many is not known, because no answer was seen to vary.")
    else:
        yield f"  If {observed} is exactly as observed, no number of questions or generations decides it."


_SIGNS: dict[GateVerdict, str] = {"pass": "✅", "fail": "❌", "inconclusive": "❔"}


def _write_markdown(result: GateResult, inconclusive: GateVerdict) -> Iterator[str]:
    """Yield the lines of the text for a pull request."""
    yield f"### {_SIGNS[result.verdict]} howsure gate: {result.verdict}"
    yield ""
    if result.verdict == "inconclusive" and inconclusive != "inconclusive":
        yield f"Inconclusive counts as {inconclusive} here (`--inconclusive {inconclusive}`)."
        yield ""
    yield "| benchmark | model | verdict | score | difference | at least | at most | questions |"
    yield "|---|---|---|---:|---:|---:|---:|---:|"
    for gate in result.gates:
        if isinstance(gate, RegressionGate):
            score, n = float(gate.comparison.score_a[0]), int(gate.comparison.n_questions[0])
            difference = f"{gate.difference:+.3f}"
            limits = f"{gate.low:+.3f} | {gate.high:+.3f}".replace("+nan", "–")
        else:
            score, n, difference = gate.value, int(gate.scores.n_questions[0]), "–"
            limits = f"{gate.low:.3f} | {gate.high:.3f}".replace("nan", "–")
        names = f"{_escape(gate.benchmark)} | {_escape(gate.candidate)}"
        yield f"| {names} | {gate.verdict} | {score:.3f} | {difference} | {limits} | {n:,} |"
    yield ""
    for gate in result.gates:
        lines = list(describe_gate(gate, result.n_analyses))
        yield f"**{_escape(lines[0])}**"
        yield ""
        for line in lines[1:]:
            indent = "  - " if line.startswith("    ") else "- "
            yield indent + _escape(line.strip())
        yield ""


def _escape(text: str) -> str:
    """Return a text that neither a terminal nor markdown obeys."""
    text = escape_control_characters(text)
    for character in "\\`*_[]<>|#":
        text = text.replace(
            character, f"\\{character}" if character not in "<>" else {"<": "&lt;", ">": "&gt;"}[character]
        )
    return text


def _write_junit(result: GateResult, inconclusive: GateVerdict) -> str:
    """Return the verdicts as JUnit XML, where an inconclusive one counts as another."""
    root = ET.Element("testsuites", name="howsure gate")
    for gate in result.gates:
        lines = [escape_control_characters(line) for line in describe_gate(gate, result.n_analyses)]
        suite = ET.SubElement(root, "testsuite", name=escape_control_characters(gate.benchmark))
        cases: list[tuple[str, GateVerdict, str]] = [
            (escape_control_characters(gate.candidate), gate.verdict, "\n".join(lines[1:]))
        ]
        if isinstance(gate, RegressionGate):
            rows = gate.questions
            cases += [
                (escape_control_characters(f"{gate.candidate}: {name}"), "fail", "right less often than before")
                for name, kind in zip(rows.questions, rows.kinds, strict=True)
                if kind == "broken"
            ]
        outcomes = [inconclusive if verdict == "inconclusive" else verdict for _, verdict, _ in cases]
        for (name, verdict, text), counts_as in zip(cases, outcomes, strict=True):
            case = ET.SubElement(suite, "testcase", classname=suite.attrib["name"], name=name)
            if counts_as != "pass":
                kind = "failure" if counts_as == "fail" else "skipped"
                ET.SubElement(case, kind, message=verdict).text = text
        suite.set("tests", str(len(cases)))
        suite.set("failures", str(outcomes.count("fail")))
        suite.set("skipped", str(outcomes.count("inconclusive")))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def sample_until_decided(
    experiment: Path,
    folder: Path,
    judge: Callable[[Evaluations | dict[str, Evaluations], float], GateResult],
    *,
    label: str | None = None,
    metrics: Sequence[str] = (),
    alpha: float = 0.05,
    stream: TextIO | None = None,
) -> GateResult:
    """Sample a candidate in rounds until its verdict is clear, its generations are there, or its budget is spent.

    Parameters
    ----------
    experiment
        YAML file of the experiment; its number of generations is the largest that is sampled.
    folder
        Run folder. What it holds already is used: after an interruption, each look sees the generations that it would
        have seen.
    judge
        Function from the results so far, by metric where several are named, and an alpha to a result, such as one that
        calls `gate`.
    label
        Label of the candidate; None samples every model of the experiment.
    metrics
        Scores that are judged, as ``scorer`` of `howsure.read` names one; empty for the first.
    alpha
        As for `gate`, over all looks together.
    stream
        Where each look is reported; None reports nothing.

    Returns
    -------
    GateResult
        That of the last look.

    Raises
    ------
    InputError
        If the experiment has no model of this label; before anything is sampled, if the folder holds models or
        benchmarks that the experiment does not name, whose results would be judged in place of the candidate's.

    Notes
    -----
    Looks are after 1, 2, 4, ... generations per question, and alpha is divided by their number (Bonferroni), which with
    doubling rounds asks for less than a confidence sequence, whose interval at a look holds at all others, too.
    """
    from howsure.sample.experiment import load_experiment
    from howsure.sample.run import run_experiment

    plan = load_experiment(experiment)
    models = [config.label for part in plan.parts for config in part.models]
    if label is not None and label not in models:
        raise UnknownNameError("model", label, models, where=str(experiment))
    if plan.judge is not None or plan.stopping is not None:
        key = "judge" if plan.judge is not None else "until"
        raise InputError(f"the gate samples in rounds of its own: {key}", where=str(experiment), remedy=f"remove {key}")
    _refuse_other_results(folder, plan, experiment, label)
    most = max(config.generations for part in plan.parts for config in part.models)
    sizes = [1 << i for i in range(most.bit_length()) if 1 << i < most] + [most]
    result: GateResult | None = None
    messages: set[str] = set()
    n_before = -1
    for k in sizes:
        code = run_experiment(_limit_generations(plan, k, label), folder)
        with ignore_notes(texts=messages):
            results: Evaluations | dict[str, Evaluations] = (
                {metric: read(folder, scorer=metric, generations=k) for metric in metrics}
                if metrics
                else read(folder, generations=k)
            )
            first = next(iter(results.values())) if isinstance(results, dict) else results
            n_there = sum(int(cells.n.sum() + (0 if cells.failed is None else cells.failed.sum())) for cells in first)
            result = replace(judge(results, alpha / len(sizes)), n_analyses=len(sizes))
        if n_there == n_before:  # the budget is spent: nobody was asked again
            break
        n_before = n_there
        if stream is not None:
            print(f"howsure: after {k} generation{'s' * (k > 1)} per question: {result.verdict}", file=stream)
        if code or result.verdict != "inconclusive":
            break
    assert result is not None
    return result


def _refuse_other_results(folder: Path, plan: Experiment, file: Path, label: str | None) -> None:
    """Raise InputError for a folder with benchmarks or, if none is named, models that the experiment does not name."""
    from howsure.benchmarks import is_inspect_task
    from howsure.sample.sampling_plan import load_benchmark
    from howsure.store import manifest

    if not (folder / manifest.NAME).is_file():
        return
    stored = manifest.load(folder)
    models = {config.label for part in plan.parts for config in part.models}
    other = [] if label is not None else [name for name in stored.models if name not in models]
    remedy = "give another folder with --output" + (", or name the candidate with --a" if other else "")
    if not other and not any(is_inspect_task(part.benchmark) for part in plan.parts):  # its name is known once it runs
        benchmarks = {load_benchmark(part).name for part in plan.parts}
        other = [name for name in stored.benchmarks if name not in benchmarks]
    if other:
        what = f"the run folder has results of {list_first(other)}, which {file.name} does not name"
        raise InputError(f"{what}: they would be judged as the candidate's", where=str(folder), remedy=remedy)


def _limit_generations(experiment: Experiment, k: int, label: str | None) -> Experiment:
    """Return the experiment with at most k generations of each model, and the model of this label alone."""

    def limit(models: Sequence[ModelConfig]) -> tuple[ModelConfig, ...]:
        return tuple(
            msgspec.structs.replace(config, generations=min(k, config.generations))
            for config in models
            if label in {None, config.label}
        )

    more = tuple(msgspec.structs.replace(part, models=limit(part.models)) for part in experiment.more)
    return msgspec.structs.replace(experiment, models=limit(experiment.models), more=more)


def measure_false_alarms(
    data: CellsLike,
    *,
    b: str | None = None,
    margin: float = 0.02,
    alpha: float = 0.05,
    claim: MeanClaim = "these-questions",
    splits: int = 1000,
) -> Results:
    """Compare random halves of the baseline's generations with each other, and count how often the gate fails.

    Parameters
    ----------
    data
        Results of the baseline with two or more generations per question, scores of 0 and 1.
    b
        Label of the baseline; None takes every model.
    margin, alpha, claim
        As for `gate`.
    splits
        Number of random splits.

    Returns
    -------
    Results
        A row per benchmark and model: ``rate``, the share of splits that fail, with its interval, and ``alpha``, which
        it should not exceed.

    Raises
    ------
    InputError
        If there is nothing to split, or an argument is out of range.
    UnknownNameError
        If there is no model `b`.

    Examples
    --------
    >>> import howsure as hs
    >>> scores = [[[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 0], [1, 0, 0, 1]]]
    >>> cells = hs.Cells.from_scores("demo", ["a"], ["p", "q", "r", "s"], scores)
    >>> hs.measure_false_alarms(cells, splits=50)["n_splits"].tolist()
    [50]
    """
    benchmarks = to_cells(data)
    _list_models(benchmarks, b)
    parts: list[Result] = [
        split_baseline(cells, model, splits=splits, margin=margin, alpha=alpha, claim=claim)
        for cells in benchmarks
        for model in (_list_repeated(cells) if b is None else cells.models)
        if b in {None, model}
    ]
    return Results(tuple(parts))


def _list_repeated(cells: Cells) -> list[str]:
    """Return the models with several generations of a question, which greedy runs have not; all where none has."""
    return [model for model, n in zip(cells.models, cells.n, strict=True) if np.any(n > 1)] or list(cells.models)


def at_least(
    trial: Callable[[], object],
    rate: float,
    *,
    budget: int = 100,
    alpha: float = 0.05,
    inconclusive: GateVerdict = "fail",
) -> RateTest:
    """Call a function until the rate at which it succeeds is shown to be above or below a bar; for tests.

    Parameters
    ----------
    trial
        Function without arguments that returns whether it succeeded. An AssertionError counts as a failure, any other
        exception ends the test.
    rate
        Bar, above 0 and below 1.
    budget
        Calls at most, 1 or more.
    alpha
        Probability, over all calls, of passing where the rate is at most the bar, and of failing where it is at least
        the bar.
    inconclusive
        ``"fail"`` or ``"pass"``: what happens if the budget is spent and neither is shown.

    Returns
    -------
    RateTest
        The numbers of trials and successes, and the interval of the rate.

    Raises
    ------
    AssertionError
        If the rate is shown to be below the bar, or if neither is shown; the message has the interval.
    InputError
        If an argument is out of range.

    References
    ----------
    Robbins (1970), Statistical methods related to the law of the iterated logarithm.

    Examples
    --------
    >>> import howsure as hs
    >>> hs.at_least(lambda: True, 0.9).n_trials
    43
    """
    check_choice("inconclusive", inconclusive, [one for one in GATE_VERDICTS if one != "inconclusive"])
    if not callable(trial):
        raise InputError(f"{trial!r} cannot be called", where="at_least", remedy="give a function without arguments")
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise InputError(f"budget is {budget!r}", where="at_least", remedy="allowed: whole numbers from 1 on")
    test = RateTest(rate, alpha)
    while test.n_trials < budget and test.verdict == "inconclusive":
        try:
            success = bool(trial())
        except AssertionError:
            success = False
        test = test.add(success)
    low, high = test.interval()
    evidence = (
        f"{test.n_successes} of {test.n_trials} trials succeeded; the rate is at least {low:.3f} and at most "
        f"{high:.3f}, each with {100 * (1 - alpha):.4g} % confidence"
    )
    if test.verdict == "fail":
        raise AssertionError(f"the rate is below {rate:g}: {evidence}")
    if test.verdict == "inconclusive" and inconclusive == "fail":
        what = f"it is not shown whether the rate is above or below {rate:g}"
        raise AssertionError(f"after {budget} trials {what}: {evidence}")
    return test
