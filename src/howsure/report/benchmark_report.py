"""What is known of a benchmark beside its cells, and the room that its texts have; any of it may be absent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from howsure.report.elements import Figure, Listing, Section, Sheet
from howsure.report.sections import score_table
from howsure.report.sections.comparisons import DRAWN, PAIRS, comparisons, disagreement_figure
from howsure.report.sections.data_map import map_section
from howsure.report.sections.distributions import distributions_section
from howsure.report.sections.generations import convergence_section
from howsure.report.sections.heatmap import questions
from howsure.report.sections.noise import noise, noise_section
from howsure.report.sections.prompt_variants import Prompts, enough_section, spread_section
from howsure.report.sections.question_browser import BUDGET, OneQuestion, Said, question_section
from howsure.report.sections.rejected_questions import rejected_section
from howsure.report.sections.repeats import repeats_of, repeats_section
from howsure.report.sentences.formatting import format_count, join_names
from howsure.report.sentences.prompt_variants import CLAIM_OVER_PROMPTS, collect_benchmark_score_warnings
from howsure.report.sentences.repeats import collect_repeat_warnings
from howsure.report.sentences.summary import collect_warnings, describe_verdict, find_best_models, judge_pairs
from howsure.report.sentences.unparsed_answers import describe_parser_warning
from howsure.report.texts import Texts
from howsure.stats.comparisons import Pairs, pairs, rank
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import CLAIM_TEXTS
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Columns
from howsure.stats.questions import AnswerCounts, find_label_errors
from howsure.stats.scores import Scores, score


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Of one benchmark.

    Attributes
    ----------
    cube
        Its cells by prompt variant.
    unparsed
        Answers that could not be read, in the shape of the cube; they are among its `n` and score 0.
    runs
        Runs of the same thing, in order.
    answers
        How often each model gave each answer.
    texts
        Where prompts and generations of single questions come from.
    verdicts
        What reviewers said, by question.
    whole
        The cells with the questions that a review rejected, where they were left out.
    """

    cube: Cube | None = None
    unparsed: IntArray | None = None
    runs: Sequence[Cells] = ()
    answers: AnswerCounts | None = None
    texts: Texts | None = None
    verdicts: Mapping[str, Said] = field(default_factory=dict)
    whole: Cells | None = None


@dataclass(frozen=True, kw_only=True)
class Room:
    """Bytes of texts that the page may hold, its file's name, and how many pages beside it there may be."""

    budget: int = BUDGET
    page: str = "report.html"
    most_siblings: int = 0


#: How intervals of scores are made, in words.
_METHODS = {
    "posterior": "the posterior of a proportion worth as many independent answers",
    "wilson-effective": "Wilson's for as many independent answers",
    "t": "Student's t",
    "clt": "normal (central limit theorem)",
}


class Benchmark:
    """What the template shows of one benchmark; all text is plain."""

    def __init__(
        self,
        cells: Cells,
        id_: str,
        *,
        level: float,
        reference: str | None,
        beside: Beside | None = None,
        room: Room | None = None,
        epsilon: float = 0.01,
        delta: float = 0.1,
    ) -> None:
        self.cells, self.id, self.level = cells, id_, level
        self.beside, self.room = beside or Beside(), room or Room()
        self.cube = cube = self.beside.cube
        self.scores: Scores = score(cells, level=level)
        self.pairs: Pairs | None = pairs(cells, level=level) if len(cells.models) > 1 else None
        self.order = score_table.ordered(self.scores)
        self.verdict = describe_verdict(self.scores, self.pairs)
        self.prompts: Prompts | None = None
        if cube is not None and len(cube.drawn.variants) > 1:
            kept = tuple(model for model in self.order if model in cube.models)
            self.prompts = Prompts(cube, self.beside.unparsed, kept, level, epsilon, delta)
        self.whole = cube is not None and cube.is_whole
        self.warnings = list(
            collect_benchmark_score_warnings(cells)
            if self.whole
            else collect_warnings(cells, shown_below=self.prompts is not None)
        )
        if self.prompts is not None and self.prompts.unread is not None and self.prompts.unread.varies.any():
            self.warnings.append(describe_parser_warning(self.prompts.unread))
        if reference is not None and reference not in cells.models:
            self.warnings.append(f"{reference} was not run on this benchmark: the reference is the highest score.")
            reference = None
        self.reference = reference or next(iter(find_best_models(self.scores)), self.order[0])
        self.answer = score_table.table(
            self.scores,
            self.order,
            ranking=rank(cells, level=level, draws=1) if len(cells.models) > 1 and not self.whole else None,
            prompts=None if self.prompts is None else self.prompts.variants.components,
            limits=self._over_prompts(),
        )
        self.claim = CLAIM_OVER_PROMPTS if self.whole else CLAIM_TEXTS[self.scores.claim]
        self.sheet = Sheet(id_)
        self.sheet.table("scores", self.scores.columns())
        self.sheet.table("questions", score_table.questions(cells))
        if self.pairs is not None:
            self.sheet.table("pairs", self._pair_rows(self.pairs))
        repeated = repeats_of(self.beside.runs, level=level)
        if repeated is not None:
            self.warnings += collect_repeat_warnings(repeated)
        #: In the order of the page; without items where the data do not say.
        self.sections: tuple[Section, ...] = (
            rejected_section(cells, self.scores, self.beside.whole, self.order, self.sheet),
            self._comparisons(),
            self._noise(),
            self._spread(),
            self._enough(),
            *(() if self.whole else self._of_questions()),
            repeats_section(repeated, self.order, self.sheet),
        )
        #: None where scores are of the whole benchmark.
        self.question: OneQuestion | None = None
        if not self.whole:
            self.question = question_section(
                cells,
                id_,
                texts=self.beside.texts,
                suspects=self._suspects(),
                verdicts=self.beside.verdicts,
                budget=self.room.budget,
                page=self.room.page,
                most_siblings=self.room.most_siblings,
            )

    def _of_questions(self) -> Iterator[Section]:
        yield convergence_section(self.cells, self.scores, self.order, self.sheet, cube=self.cube)
        yield self._questions()
        yield map_section(self.beside.answers, self.sheet)
        yield distributions_section(self.cells, self.order, self.sheet)

    def _over_prompts(self) -> tuple[FloatArray, FloatArray] | None:
        """Intervals of scores of the whole benchmark: nothing else is known of how they vary."""
        if not self.whole or self.prompts is None:
            return None
        moments = self.prompts.variants.moments
        at = [moments.models.index(model) for model in self.cells.models]
        return moments.low[at], moments.high[at]

    def _suspects(self) -> dict[str, str]:
        """Questions whose label may be wrong, the most suspicious first, each with the reason."""
        if self.beside.answers is None:
            return {}
        found = find_label_errors(self.beside.answers)
        found = found.select(found.suspected)
        told = zip(found.questions, found.models_agreeing.tolist(), found.n_models.tolist(), found.answer, strict=True)
        return {
            question: f"{agreeing} of {format_count(models, 'model')} prefer another answer"
            + (f": {answer[:60]}" if answer else "")
            for question, agreeing, models, answer in told
        }

    def _comparisons(self) -> Section:
        found: list[Figure] = []
        if self.pairs is not None and not self.whole:
            most = PAIRS
            found += comparisons(self.cells, self.pairs, self.order, self.reference, self.sheet, most=most)
            found += disagreement_figure(self.pairs, self.sheet, most=most)
        lead = (
            "Two models are compared on the questions that both answered, question by question: a difference is surer "
            "than two separate scores suggest when the models find the same questions hard."
        )
        why = "only one model" if self.pairs is None else "their scores on single questions are not known"
        left_out = () if found else (f"who beats whom ({why})",)
        return Section("pairs", "Who beats whom", "Who beats whom", lead, tuple(found), left_out)

    def _noise(self) -> Section:
        found = list(noise(self.scores, self.order, self.sheet, pooled=self.prompts is not None))
        lead = (
            "A score would change on other questions (data noise) and if the model were sampled again (prediction "
            "noise). Variances add up; standard errors do not."
        )
        why = "scores of the whole benchmark" if self.whole else "one question, answered once"
        left_out = [] if found else [f"noise of questions and sampling ({why})"]
        if self.prompts is not None:
            found += noise_section(self.prompts, self.sheet)
            lead += (
                " With several prompts the score would also change in others: effects are of the score over all "
                "questions; other dimensions are fitted beside, or are noise where prompts are too few for that."
            )
            left_out += self._effects_left_out(self.prompts)
        title = "Where the noise comes from"
        return Section("noise-part", title, title, lead, tuple(found), tuple(left_out))

    def _spread(self) -> Section:
        found = [] if self.prompts is None else list(spread_section(self.prompts, self.sheet))
        lead = (
            "The same questions in other words. A prompt's score is the mean over the questions; missing ones are "
            "filled in from question and prompt."
        )
        title = "Spread over prompts"
        return Section("prompts-part", title, title, lead, tuple(found), tuple(self._spread_left_out(found)))

    def _enough(self) -> Section:
        found = [] if self.prompts is None else list(enough_section(self.prompts, self.sheet))
        lead = (
            "A sample of prompts is enough when the mean and the variance of the score over it are within ε of what "
            "they are over all, with probability 1 − δ."
        )
        return Section("enough-part", "How many prompts are enough", "How many prompts", lead, tuple(found))

    def _questions(self) -> Section:
        means = "P(correct) is" if self.cells.binary else "What follows is"
        lead = f"{means} the mean score of a model on a question over its generations."
        found = tuple(questions(self.cells, self.order, self.sheet))
        return Section("questions-part", "The questions", "Questions", lead, found)

    @property
    def tables(self) -> dict[str, str]:
        """The numbers behind everything, by id, as JSON with each word of a column once."""
        return self.sheet.packed

    def _pair_rows(self, pairs: Pairs) -> Columns:
        columns = pairs.columns()
        if len(pairs.a) <= PAIRS:
            return columns
        first = set(self.order[:DRAWN])
        kept = np.array(
            [
                {a, b} <= first or self.reference in {a, b}
                for a, b in zip(columns["model_a"].tolist(), columns["model_b"].tolist(), strict=True)
            ]
        )
        self.warnings.append(
            f"{len(pairs.a):,} pairs are too many for one page: its table of pairs has those among the first {DRAWN} "
            f"models and with {self.reference}."
        )
        return {name: values[kept] for name, values in columns.items()}

    def facts(self) -> Iterator[tuple[str, str]]:
        """What was run, in counts."""
        cells = self.cells
        yield "Models", f"{len(cells.models):,}"
        counts = cells.n[cells.answered]
        if self.whole:
            yield "Questions", "not told apart"
        else:
            yield "Questions", f"{len(cells.questions):,}"
            yield "Generations scored", f"{int(cells.n.sum()):,}"
        if len(counts) and not self.whole:
            low, high = int(counts.min()), int(counts.max())
            yield "Generations per question", f"{low:,}" if low == high else f"{low:,} to {high:,}"
        drawn = cells.variants if self.cube is None else self.cube.drawn.variants
        if drawn:
            each = " per question" if self.cube is not None and self.cube.nested else ""
            beside = "" if self.cube is None or self.cube.drawn is self.cube else ", and the default prompt"
            yield f"Prompt variants{each}", f"{len(drawn):,}{beside}"
        yield "Scores", "0 or 1" if cells.binary else "between 0 and 1" if cells.unit else "any number"

    def methods(self) -> str:
        """How the intervals of the scores were made."""
        if self.whole:
            return "Student's t over the prompts"
        between = self.scores.interval()
        counts = {m: int(np.sum((between.method == m) & ~np.isnan(between.low))) for m in np.unique(between.method)}
        told = [f"{_METHODS.get(m, m)} for {format_count(count, 'model')}" for m, count in counts.items() if count]
        return "; ".join(told) or "none: no standard error is known"

    def decided(self) -> str:
        """Decided pairs out of all."""
        if self.pairs is None:
            return "–"
        words = judge_pairs(self.pairs)
        return f"{words.count('distinguishable'):,} of {len(words):,}"

    def left_out(self) -> list[str]:
        """What these data say nothing about, each with the reason."""
        told = [reason for section in self.sections for reason in section.left_out]
        if self.question is None:
            return [*told, "everything on single questions (scores of the whole benchmark)"]
        return [*told, *self.question.left_out]

    def _spread_left_out(self, found: Sequence[Figure | Listing]) -> Iterator[str]:
        if self.prompts is None:
            one = self.cube is not None or len(self.cells.variants) == 1
            why = "one prompt variant" if one else "scores by prompt variant are not known"
            why += " beside the default prompt" if self.cube is not None and len(self.cube.variants) > 1 else ""
            yield f"effects of the prompt, spread over prompts and how many prompts are enough ({why})"
            return
        if not found:
            why = "each question has variants of its own" if self.prompts.cube.nested else "no model has two scores"
            yield f"spread over prompts and how many prompts are enough ({why})"
        elif self.prompts.counts is None:
            yield "answers that could not be read, by prompt (not recorded)"
        if len(self.prompts.scored) == 1:
            yield "order of models under each prompt (only one model)"

    def _effects_left_out(self, prompts: Prompts) -> Iterator[str]:
        if not prompts.scored or not prompts.cube.values:
            nested = "each question has variants of its own" if prompts.cube.nested else "no model has two scores"
            why = "the values of the variants are not recorded" if prompts.scored else nested
            yield f"effects of the dimensions of the prompt ({why})"
        else:
            for names, why in prompts.untold():
                yield f"effects of {join_names(names, most=len(names))} ({why})"
