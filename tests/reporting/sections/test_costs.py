"""The section on costs. Truth: costs and scores made so that each sentence is true, and so that it is false."""

import numpy as np
import pytest

from howsure.reporting.elements import ElementBuilder
from howsure.reporting.sections.costs import build_cost_section, describe_costs, list_models_with_costs
from howsure.stats.core.cells import Cells
from howsure.stats.planning import ModelUsage, compare_costs

NAMES = ("ann", "bob", "cy")


def scores_of(*shares, questions=60):
    """One generation of 0 or 1 on each of 60 questions; such a share is right, None: no generation at all."""
    right = [[] if share is None else [1.0] * round(share * questions) for share in shares]
    scores = [
        [[] for _ in range(questions)] if share is None else [[1.0]] * len(ones) + [[0.0]] * (questions - len(ones))
        for share, ones in zip(shares, right, strict=True)
    ]
    names = NAMES[: len(shares)] if len(shares) <= len(NAMES) else [f"m{i:02d}" for i in range(len(shares))]
    return Cells.from_scores("b", names, [f"q{i}" for i in range(questions)], scores)


def caption(shares, tokens, *, n_drawn=60):
    """The caption, for such mean numbers of tokens of a generation (None: not recorded)."""
    cells = scores_of(*shares)
    usage = {
        name: ModelUsage(60, 60, tokens=60 * mean)
        for name, mean in zip(cells.models, tokens, strict=True)
        if mean is not None
    }
    result = compare_costs(cells, usage)
    return describe_costs(result, list_models_with_costs(result, cells.models)[:n_drawn])


def test_the_cheapest_and_the_dearest_model_are_named():
    text = caption((0.5, 0.5, 0.5), (120, 45, 300))
    assert text.startswith("A generation cost from 45 tokens (bob) to 300 tokens (cy) on average.")


@pytest.mark.parametrize(("tokens", "expected"), [((100, 100), "cost 100 tokens."), ((100, 100.2), "cost about 100")])
def test_costs_that_only_print_alike_are_about_alike(tokens, expected):
    assert f"A generation of each model {expected}" in caption((0.5, 0.5), tokens)


def test_a_model_is_beaten_by_one_that_costs_no_more_and_scores_distinguishably_higher():
    """By hand: 54 against 12 of 60 on nested questions is far above the error; 30 against 27 is not."""
    text = caption((0.2, 0.9), (300, 45))
    assert "For 1 of 2 models another costs no more and scores clearly higher" in text
    assert "(Holm): ann (bob)." in text
    dearer = caption((0.2, 0.9), (45, 300))
    assert "another costs no more" not in dearer
    assert "No model is clearly better than one that costs as much or more" in dearer
    assert "No model is clearly better" in caption((0.5, 0.45), (45, 300))


def test_the_others_are_spoken_of_where_there_are_two():
    text = caption((0.2, 0.9, 0.5), (300, 200, 45))
    assert "(Holm): ann (bob and 1 more)." in text or "(Holm): ann (bob and cy)." in text
    assert "Among the other 2 a lower cost goes with a score that is lower, or cannot be told apart." in text
    assert "Among the other" not in caption((0.2, 0.9), (300, 200))


def test_models_without_costs_without_scores_and_beyond_the_drawn_ones_are_counted():
    text = caption((0.5, 0.6, 0.7), (100, None, 200))
    assert "1 model without recorded costs is left out." in text
    assert "without a score" not in text
    assert "Drawn for" not in text
    text = caption((0.5, None, 0.7), (100, 100, 200))
    assert "1 model without a score is left out." in text
    assert "without recorded costs" not in text
    text = caption((0.5, 0.6, 0.7, 0.5, None, 0.6), (100, 110, 120, 130, 140, None), n_drawn=3)
    assert text.endswith(
        "1 model without recorded costs is left out. 1 model without a score is left out. Drawn for 3 of 4 models."
    )


def test_the_table_has_dollars_for_a_thousand_generations():
    cells = scores_of(0.5, 0.75)
    usage = {"ann": ModelUsage(60, 60, 6000, cost=0.012), "bob": ModelUsage(60, 60, 6000, cost=0.6)}
    section = build_cost_section(compare_costs(cells, usage), ["bob", "ann"], ElementBuilder("b1"))
    figure, table = section.items
    assert "from $0.0002 (ann) to $0.01 (bob)" in figure.caption
    rows = {row[0]: dict(zip(table.headings, row, strict=True)) for row in table.rows}
    assert [rows[name]["$ per 1,000 generations"] for name in ("bob", "ann")] == ["10", "0.2"]
    assert float(rows["bob"]["Score"]) == pytest.approx(0.75, abs=0.005)


def test_calls_that_are_alike_are_no_costs():
    usage = {"ann": ModelUsage(60, 60), "bob": ModelUsage(60, 60)}
    section = build_cost_section(compare_costs(scores_of(0.5, 0.75), usage), NAMES[:2], ElementBuilder("b1"))
    assert section.items == ()
    assert "equally many calls" in section.left_out[0]
    alone = compare_costs(scores_of(0.5, 0.75), {"ann": ModelUsage(60, 60, np.nan)})
    assert "fewer than two models" in build_cost_section(alone, NAMES[:2], ElementBuilder("b1")).left_out[0]
