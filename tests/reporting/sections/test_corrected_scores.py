"""Headline and table of a judge's scores corrected by labels.

Kind of truth: completions of which it is known what people say, and the figures of `calibrate` on the same.
"""

import re

import numpy as np
import pytest

from howsure.reporting.benchmark_report import BenchmarkReport
from howsure.reporting.report_data import JudgeSummary, ReportData, ReportOptions
from howsure.reporting.sections.corrected_scores import correct_scores, describe_corrected_verdict
from howsure.stats.core.cells import Cells
from howsure.stats.judges import JudgedCompletions, calibrate, compare_corrected
from howsure.stats.scores import score

N = 200
NAMES = tuple(f"q{i}" for i in range(N))


def judged_run(truth, judged, *, n_labels=100, unlabelled=()):
    """Cells and completions of models: shares that are right, and what the judge says of each completion.

    `truth` has the share that people say is right, `judged` the one that the judge says is right, by model; the first
    so many questions of each are labelled.
    """
    models = tuple(truth)
    people = np.array([np.arange(N) % 10 < round(10 * truth[model]) for model in models], dtype=float)
    verdict = np.array([np.arange(N) % 10 < round(10 * judged[model]) for model in models], dtype=float)
    label = np.where(np.arange(N) < n_labels, people, np.nan)
    label[[models.index(model) for model in unlabelled]] = np.nan
    data = JudgedCompletions(
        "demo",
        models,
        NAMES,
        np.repeat(range(len(models)), N),
        np.tile(range(N), len(models)),
        verdict.ravel(),
        label.ravel(),
    )
    cells = Cells.from_scores("demo", list(models), list(NAMES), verdict[:, :, None])
    return cells, JudgeSummary(model="the-judge", template="correct", completions=data)


def report(cells, summary):
    [data] = ReportData([cells], judges={"demo": summary}).benchmarks()
    return BenchmarkReport(data, "b1", ReportOptions())


def describe(cells, summary):
    return describe_corrected_verdict(correct_scores(summary, score(cells)))


REVERSED = ({"a": 0.3, "b": 0.6}, {"a": 0.8, "b": 0.6})


def test_headline_table_and_figure_have_the_corrected_scores_where_their_order_is_another_one():
    """The judge says a is right of 80 % and b of 60 %; people say 30 % and 60 %."""
    cells, summary = judged_run(*REVERSED)
    page = report(cells, summary)
    expected, limits = calibrate(summary.completions), calibrate(summary.completions).interval()
    assert page.verdict.startswith(
        f"Corrected by people's labels, b has the highest score, {expected.score[1]:.3f} (95% interval "
        f"{limits.low[1]:.3f} to {limits.high[1]:.3f}); the judge's own score of it is 0.600."
    )
    assert "b clearly differs from the other model." in page.verdict
    assert page.verdict.endswith("By the judge's own scores, a is the highest, 0.800.")
    rows = page.score_table.rows
    assert [row.model for row in rows] == ["b", "a"]
    assert [row.judge_score for row in rows] == ["0.600", "0.800"]
    assert [row.score for row in rows] == [f"{expected.score[i]:.3f}" for i in (1, 0)]
    assert [row.interval for row in rows] == [f"{limits.low[i]:.3f} to {limits.high[i]:.3f}" for i in (1, 0)]
    assert [row.se for row in rows] == [f"{expected.se[i]:.3f}" for i in (1, 0)]
    assert page.score_table.has_judge_scores
    assert page.order == ["a", "b"], "the sections below are of the judge's own scores"
    assert [section.lead for section in page.sections if "compare --calibrate" in section.lead]
    assert "PPI++" in page.describe_methods()
    assert page.count_pairs() == (1, 1)


@pytest.mark.parametrize(("n_labels", "n_warnings"), [(19, 1), (20, 0)])
def test_a_page_warns_of_corrected_scores_by_fewer_than_20_labels(n_labels, n_warnings):
    page = report(*judged_run(*REVERSED, n_labels=n_labels))
    assert page.corrected is not None
    assert sum("Fewer than 20 labels of a and b" in line for line in page.warnings) == n_warnings


@pytest.mark.parametrize("n_labels", [0, 1])
def test_without_labels_or_with_too_few_the_scores_are_the_judges(n_labels):
    cells, summary = judged_run(*REVERSED, n_labels=n_labels)
    page = report(cells, summary)
    assert page.corrected is None
    assert page.verdict.startswith("a has the highest score, 0.8")
    assert not page.score_table.has_judge_scores
    assert not any("compare --calibrate" in section.lead for section in page.sections)


def test_a_model_whose_score_cannot_be_corrected_has_no_test_and_a_reason():
    """Nobody labelled c; no judge scored d."""
    cells, summary = judged_run({**REVERSED[0], "c": 0.9}, {**REVERSED[1], "c": 0.9}, unlabelled=["c"])
    cells = Cells.from_scores(
        "demo", [*cells.models, "d"], list(NAMES), np.concatenate([cells.total, np.ones((1, N))])[:, :, None]
    )
    page = report(cells, summary)
    assert page.verdict.startswith("Corrected by people's labels, b has the highest score")
    assert "b clearly differs from a. No test was possible against c and d." in page.verdict
    assert [row.model for row in page.score_table.rows] == ["b", "a", "c", "d"]
    assert [row.interval for row in page.score_table.rows[2:]] == ["–", "–"]
    assert any("too few to correct" in note for note in page.score_table.notes)
    assert any("no judge scored it" in note for note in page.score_table.notes)
    assert not any("Fewer than 20 labels" in line for line in page.warnings), "only a, b have a corrected score"
    assert page.count_pairs() == (1, 6)


def test_one_of_several_models_with_a_corrected_score_is_not_called_the_highest():
    """Nobody labelled a, which is first by the judge."""
    cells, summary = judged_run(*REVERSED, unlabelled=["a"])
    text = describe(cells, summary)
    assert re.match(r"Corrected by people's labels, b scores 0\.\d+ \(95% interval", text)
    assert "No other model has a corrected score." in text
    assert "b has the highest" not in text
    assert "No test" not in text
    assert text.endswith("By the judge's own scores, a is the highest, 0.800.")


def test_models_that_the_labels_do_not_tell_apart_are_not_called_distinguishable():
    cells, summary = judged_run({"a": 0.5, "b": 0.6, "c": 0.2}, {"a": 0.5, "b": 0.6, "c": 0.2}, n_labels=40)
    p_holm = compare_corrected(summary.completions)
    assert p_holm[1, 0] > 0.05 > p_holm[1, 2]
    assert "b clearly differs from 1 of the 2 others, and not from a." in describe(cells, summary)
    cells, summary = judged_run({"a": 0.5, "b": 0.6}, {"a": 0.5, "b": 0.6}, n_labels=40)
    text = describe(cells, summary)
    assert "b cannot be told apart from the other model at this number of labels." in text
    assert "By the judge" not in text, "its first model is the same"


def test_models_that_share_the_highest_corrected_score_are_both_named():
    cells, summary = judged_run({"a": 0.5, "b": 0.5}, {"a": 0.5, "b": 0.5})
    assert describe(cells, summary).startswith("Corrected by people's labels, a and b share the highest score, 0.500.")


def test_models_that_the_judge_puts_first_together_are_both_named():
    cells, summary = judged_run({"a": 0.2, "b": 0.6, "c": 0.3}, {"a": 0.8, "b": 0.6, "c": 0.8})
    assert describe(cells, summary).endswith("By the judge's own scores, a and c share the highest score, 0.800.")


def test_of_one_model_the_headline_has_both_scores():
    cells, summary = judged_run({"a": 0.3}, {"a": 0.8})
    assert re.fullmatch(
        r"Corrected by people's labels, a scores 0\.3\d+ \(95% interval 0\.\d+ to 0\.\d+\); "
        r"the judge's own score is 0\.800\.",
        describe(cells, summary),
    )
