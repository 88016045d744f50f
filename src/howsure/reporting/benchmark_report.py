"""The report on one benchmark: its statistics and the sections that show them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from howsure.reporting.elements import ElementBuilder, Figure, Section
from howsure.reporting.formatting import format_count
from howsure.reporting.prompt_analysis import PromptAnalysis
from howsure.reporting.report_data import BenchmarkData, ReportData, ReportOptions
from howsure.reporting.sections.comparisons import MAX_PAIRS, build_comparison_section
from howsure.reporting.sections.corrected_scores import correct_scores, describe_corrected_verdict, describe_few_labels
from howsure.reporting.sections.costs import build_cost_section
from howsure.reporting.sections.data_map import build_data_map_section
from howsure.reporting.sections.distributions import build_distributions_section
from howsure.reporting.sections.generations import build_generations_section
from howsure.reporting.sections.heatmap import build_heatmap_section
from howsure.reporting.sections.judges import build_judge_section
from howsure.reporting.sections.noise import build_noise_section
from howsure.reporting.sections.prompt_variants import build_spread_section
from howsure.reporting.sections.question_browser import QuestionBrowser, TextLimits, build_question_browser
from howsure.reporting.sections.repeats import build_repeats_section, collect_repeat_warnings, compute_repeats
from howsure.reporting.sections.sample_sizes import build_sample_size_section
from howsure.reporting.sections.score_table import (
    MAX_MODELS,
    build_rejected_section,
    build_score_figure,
    build_score_table,
    order_models,
    split_greedy_runs,
    tabulate_questions,
)
from howsure.reporting.sections.summary import (
    CLAIM_OVER_PROMPTS,
    collect_benchmark_score_warnings,
    collect_warnings,
    describe_claim,
    describe_verdict,
    find_best_models,
)
from howsure.reporting.sections.training_curves import build_training_section
from howsure.reporting.sections.unparsed_answers import describe_parser_warning
from howsure.stats.comparisons import Pairs, pairs, range_ranks
from howsure.stats.core.cells import FloatArray, IntArray, list_greedy_runs
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Columns
from howsure.stats.planning import compare_costs
from howsure.stats.questions import find_label_errors
from howsure.stats.scores import Scores, score

#: Names of the interval methods in sentences.
_METHODS = {
    "bayesian-bootstrap": "the Bayesian bootstrap with half a question at 0 and half at 1",
    "wilson-effective": "Wilson's for as many independent answers",
    "exact": "the exact one of as many binomial answers",
    "t": "Student's t",
    "clt": "normal (central limit theorem)",
}

#: Sections whose figures are open at first.
_OPEN_SECTIONS = {"rejected-part", "pairs", "training-part", "questions-part"}

#: Said of comparisons on a page whose scores are corrected by people's labels.
JUDGE_COMPARED = "These are the judge's own scores; howsure compare --calibrate corrects the difference of two models."

#: Columns of the table of pairs that are compared prompt by prompt.
_COLUMNS_OVER_PROMPTS = (
    *("benchmark", "model_a", "model_b", "n_variants", "score_a", "score_b", "difference", "se", "low", "high"),
    *("p_value", "p_holm", "q_bh", "detectable", "method", "df"),
)


class BenchmarkReport:
    """Everything that the page shows of one benchmark, as plain text, tables and figures.

    Attributes
    ----------
    score_figure
        Figure of the scores with their intervals; None for a single model.
    sections
        Sections in the order of the page; those that the data do not allow have no items.
    question_browser
        The section in which each question can be opened; None when only scores of the whole benchmark are known.

    Examples
    --------
    >>> from howsure.stats.core.cells import Cells
    >>> scores = [[[1, 1], [1, 0]], [[0, 1], [0, 0]]]
    >>> [data] = ReportData([Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], scores)]).benchmarks()
    >>> report = BenchmarkReport(data, "b1", ReportOptions())
    >>> report.order, report.count_distinguishable()
    (['a', 'b'], '0 of 1')
    """

    def __init__(
        self, data: BenchmarkData, id_: str, options: ReportOptions, text_limits: TextLimits | None = None
    ) -> None:
        self.data, self.id, self.level = data, id_, options.level
        #: A greedy run is a mark in the row of its model, and no model of its own on the page.
        self.cells, self.greedy = split_greedy_runs(data.cells)
        self.cube, self.unparsed = _drop_greedy_runs(data)
        #: False when only scores of the whole benchmark are known.
        self.has_questions = self.cube is None or not self.cube.is_whole
        self.scores: Scores = score(self.cells, level=self.level)
        several = len(self.cells.models) > 1
        by_question = pairs(self.cells, level=self.level) if several and self.has_questions else None
        self.order = order_models(self.scores, by_question)
        self.prompts = self._analyse_prompts(options)
        self.pairs: Pairs | None = by_question
        if several and by_question is None:
            compared = self.cells if self.prompts is None else self.prompts.build_prompt_cells()
            self.pairs = pairs(compared, level=self.level)
        #: The judge's scores as people's labels correct them; None without a judge or labels.
        self.corrected = correct_scores(data.judge, self.scores)
        self.verdict = (
            describe_verdict(
                self.scores,
                self.pairs,
                limits=self._prompt_limits(),
                claim_over_prompts=None if self.has_questions else CLAIM_OVER_PROMPTS,
            )
            if self.corrected is None
            else describe_corrected_verdict(self.corrected)
        )
        self.warnings = self._collect_warnings()
        self.reference, self.is_reference_named = self._choose_reference(options.reference)
        self.claim = describe_claim(self.scores) if self.has_questions else CLAIM_OVER_PROMPTS
        self.builder = ElementBuilder(id_)
        if self.corrected is None:
            self.score_table = build_score_table(
                self.scores,
                self.order,
                ranks=None if by_question is None else range_ranks(by_question),
                prompts=None if self.prompts is None else self.prompts.summary.components,
                limits=self._prompt_limits(),
                greedy=self.greedy,
            )
            scores, order, limits = self.scores, self.order, self._prompt_limits()
        else:
            self.claim += ", as people would have scored it"
            scores, limits = self.corrected.scores, self.corrected.limits
            order = order_models(scores)
            self.score_table = build_score_table(scores, order, limits=limits, judge_scores=self.corrected.judge_scores)
        self.score_figure = build_score_figure(scores, order, self.builder, claim=self.claim, limits=limits)
        self.sections: tuple[Section, ...] = tuple(map(_fold_figures, self._build_sections()))
        self.question_browser: QuestionBrowser | None = None
        if self.has_questions:
            self.question_browser = build_question_browser(
                data.cells,
                id_,
                texts=data.texts,
                label_errors=self._describe_label_errors(),
                verdicts=data.verdicts,
                limits=text_limits or TextLimits(),
            )

    @property
    def figures(self) -> list[Figure]:
        """Figures of all sections in the order of the page."""
        first = [] if self.score_figure is None else [self.score_figure]
        return first + [item for section in self.sections for item in section.items if isinstance(item, Figure)]

    @property
    def packed_tables(self) -> dict[str, str]:
        """The numbers behind figures and tables, by id, as JSON."""
        return self.builder.packed_tables

    def _build_sections(self) -> Iterator[Section]:
        """Yield the sections in the order of the page, after the tables that several of them use."""
        builder, cells = self.builder, self.cells
        scores = score(self.data.cells, level=self.level) if self.greedy else self.scores
        builder.add_table("scores", scores.columns(), has_own_notes=True)
        builder.add_table("questions", tabulate_questions(cells))
        if self.pairs is not None:
            builder.add_table("pairs", self._tabulate_pairs(self.pairs))
        repeats = compute_repeats(self.data.repeats, level=self.level)
        if repeats is not None:
            self.warnings += collect_repeat_warnings(repeats)
        has_questions = self.has_questions
        yield build_rejected_section(cells, self.scores, self.data.unreviewed_cells, self.order, builder)
        compared = build_comparison_section(
            self.pairs,
            self.order,
            self.reference,
            builder,
            chosen_by_scores=not self.is_reference_named,
            over_prompts=not has_questions,
        )
        yield compared if self.corrected is None else replace(compared, lead=f"{JUDGE_COMPARED} {compared.lead}")
        if has_questions and (training := build_training_section(cells, builder, level=self.level)) is not None:
            yield training
        if self.data.usage and has_questions:
            yield build_cost_section(compare_costs(cells, self.data.usage, level=self.level), self.order, builder)
        yield build_noise_section(self.scores, self.order, self.prompts, builder, has_questions=has_questions)
        yield build_judge_section(self.data.judge, self.order, builder, level=self.level)
        yield build_spread_section(self.prompts, builder, cells, self.cube)
        yield build_sample_size_section(self.prompts, builder)
        if has_questions:
            yield build_generations_section(cells, self.scores, self.order, builder, cube=self.cube, greedy=self.greedy)
            yield build_heatmap_section(cells, self.order, builder)
            yield build_data_map_section(self.data.answers, builder)
            yield build_distributions_section(cells, self.order, builder)
        yield build_repeats_section(repeats, self.data.repeats, cells, self.order, builder)

    def _analyse_prompts(self, options: ReportOptions) -> PromptAnalysis | None:
        """Return the results over prompt variants; None with fewer than two variants."""
        cube = self.cube
        if cube is None or len(cube.drawn.variants) < 2:
            return None
        models = tuple(model for model in self.order if model in cube.models)
        answers = self.data.variant_answers
        return PromptAnalysis(cube, self.unparsed, models, self.level, options.epsilon, options.delta, answers)

    def _collect_warnings(self) -> list[str]:
        """Return the warnings about the scores and about answers that could not be parsed."""
        if self.has_questions:
            warnings = list(collect_warnings(self.cells, cube=self.cube, has_prompt_section=self.prompts is not None))
        else:
            warnings = list(collect_benchmark_score_warnings(self.cells))
        effect = None if self.prompts is None else self.prompts.unparsed_effect
        if effect is not None and effect.varies.any():
            warnings.append(describe_parser_warning(effect))
        if self.corrected is not None and self.data.judge is not None:
            warnings += describe_few_labels(self.data.judge, self.corrected.scores)
        return warnings

    def _choose_reference(self, reference: str | None) -> tuple[str, bool]:
        """Return the reference model, and whether it was named: the model with the highest score was not."""
        if reference is not None and reference not in self.cells.models:
            is_greedy = reference in self.data.cells.models
            why = "is a mark in the row of its model" if is_greedy else "was not run on this benchmark"
            self.warnings.append(f"{reference} {why}: the reference is the highest score.")
            reference = None
        return reference or next(iter(find_best_models(self.scores)), self.order[0]), reference is not None

    def _prompt_limits(self) -> tuple[FloatArray, FloatArray] | None:
        """Return intervals over prompts when only scores of the whole benchmark are known."""
        if self.has_questions or self.prompts is None:
            return None
        moments = self.prompts.summary.moments
        at = [moments.models.index(model) for model in self.cells.models]
        return moments.low[at], moments.high[at]

    def _describe_label_errors(self) -> dict[str, str]:
        """Return the questions whose label may be wrong, the strongest evidence first, each with the reason."""
        if self.data.answers is None:
            return {}
        errors = find_label_errors(self.data.answers)
        errors = errors.select(errors.suspected)
        rows = zip(
            errors.questions, errors.models_agreeing.tolist(), errors.n_models.tolist(), errors.answer, strict=True
        )
        return {
            question: f"{agreeing} of {format_count(models, 'model')} prefer{'s' if agreeing == 1 else ''} another "
            + (f"answer: {answer[:60]}" if answer else "answer")
            for question, agreeing, models, answer in rows
        }

    def _tabulate_pairs(self, pairs: Pairs) -> Columns:
        """Return the table of pairs; of very many, those among the first models and with the reference."""
        columns = pairs.columns()
        if not self.has_questions:
            columns["n_variants"] = columns.pop("n_questions")
            columns = {name: columns[name] for name in _COLUMNS_OVER_PROMPTS}
        else:
            note = columns.pop("note")
            needed = pairs.questions_for_power
            columns |= {"wins_a": pairs.wins_a, "wins_b": pairs.wins_b, "questions_for_power": needed, "note": note}
        if len(pairs.a) <= MAX_PAIRS:
            return columns
        first = set(self.order[:MAX_MODELS])
        selected = np.array(
            [
                {a, b} <= first or self.reference in {a, b}
                for a, b in zip(columns["model_a"].tolist(), columns["model_b"].tolist(), strict=True)
            ]
        )
        self.warnings.append(
            f"{len(pairs.a):,} pairs are too many for one page: its table of pairs has those among the first "
            f"{MAX_MODELS} models and with {self.reference}."
        )
        return {name: values[selected] for name, values in columns.items()}

    def list_facts(self) -> Iterator[tuple[str, str]]:
        """Yield the names and values of the header: models, questions, generations, prompts and scores."""
        cells, cube = self.cells, self.cube
        yield "Models", f"{len(cells.models):,}"
        if self.greedy:
            yield "Greedy runs", f"{len(self.greedy):,}"
        counts = cells.n[cells.answered]
        if self.has_questions:
            yield "Questions", f"{len(cells.questions):,}"
            yield "Generations scored", f"{int(cells.n.sum()):,}"
        else:
            yield "Questions", "not recorded"
        if len(counts) and self.has_questions:
            low, high = int(counts.min()), int(counts.max())
            yield "Generations per question", f"{low:,}" if low == high else f"{low:,} to {high:,}"
        drawn = cells.variants if cube is None else cube.drawn.variants
        if drawn:
            each = " per question" if cube is not None and cube.nested else ""
            default = "" if cube is None or cube.drawn is cube else ", and the default prompt"
            yield f"Prompt variants{each}", f"{len(drawn):,}{default}"
        yield "Scores", "0 or 1" if cells.binary else "between 0 and 1" if cells.unit else "any number"

    def describe_methods(self) -> str:
        """Return how the intervals of the scores were made."""
        if self.corrected is not None:
            return "the judge's scores corrected by people's labels (PPI++), with Student's t"
        if not self.has_questions:
            return "Student's t over the prompts"
        interval = self.scores.interval()
        available = ~np.isnan(interval.low)
        counts = {name: int(np.sum((interval.method == name) & available)) for name in np.unique(interval.method)}
        parts = [f"{_METHODS.get(name, name)} for {format_count(n, 'model')}" for name, n in counts.items() if n]
        return "; ".join(parts) or "none: no standard error is known"

    def count_pairs(self) -> tuple[int, int]:
        """Return the numbers of distinguishable pairs and of all pairs, of corrected scores where there are some."""
        if self.corrected is not None:
            return self.corrected.count_pairs()
        verdicts = [] if self.pairs is None else list(self.pairs.verdict)
        return verdicts.count("distinguishable"), len(verdicts)

    def count_distinguishable(self) -> str:
        """Return the number of distinguishable pairs out of all pairs."""
        decided, n_pairs = self.count_pairs()
        return f"{decided:,} of {n_pairs:,}" if n_pairs else "–"

    def list_left_out(self) -> list[str]:
        """Return what the data say nothing about, each with the reason."""
        reasons = [reason for section in self.sections for reason in section.left_out]
        if self.question_browser is None:
            return [*reasons, "everything on single questions (scores of the whole benchmark)"]
        return [*reasons, *self.question_browser.left_out]


def _fold_figures(section: Section) -> Section:
    """Return a section behind the comparisons with its figures folded, so that a page has about five screens."""
    if section.name in _OPEN_SECTIONS:
        return section
    items = (replace(item, is_folded=True) if isinstance(item, Figure) else item for item in section.items)
    return replace(section, items=tuple(items))


def _drop_greedy_runs(data: BenchmarkData) -> tuple[Cube | None, IntArray | None]:
    """Return the cells by prompt variant, and the counts of unparsed answers, without greedy runs of other models."""
    cube, greedy = data.cube, set(list_greedy_runs(data.cells.models))
    if cube is None or not greedy & set(cube.models):
        return cube, data.unparsed
    rows = [i for i, model in enumerate(cube.models) if model not in greedy]
    return cube.select([cube.models[i] for i in rows]), None if data.unparsed is None else data.unparsed[rows]


def build_benchmark_reports(
    data: ReportData, options: ReportOptions, text_limits: TextLimits | None = None
) -> list[BenchmarkReport]:
    """Return the report on each benchmark that has a model and a question."""
    data.check_reference(options.reference)
    numbered = [(i, cells.benchmark) for i, cells in enumerate(data.cells, 1) if cells.models and cells.questions]
    limits = (text_limits or TextLimits()).divide(sum(1 for cells in data.cells if cells.models))
    return [
        BenchmarkReport(benchmark, f"b{i}", options, limits)
        for (i, _), benchmark in zip(numbered, data.benchmarks(), strict=True)
    ]
