"""Sentences on prompts, on hand-made cubes: what they must say, worked out by hand from the scores."""

import numpy as np
import pytest

from howsure.reporting.formatting import format_share
from howsure.reporting.sections.noise import describe_effects, describe_variance_components
from howsure.reporting.sections.prompt_variants import describe_concordance, describe_spread
from howsure.reporting.sections.sample_sizes import describe_convergence, describe_sample_sizes
from howsure.reporting.sections.summary import collect_warnings
from howsure.stats.core.cube import Cube
from howsure.stats.prompts.components import estimate_components
from howsure.stats.prompts.effects import estimate_effects
from howsure.stats.prompts.moments import summarize_variants
from howsure.stats.prompts.prompt_agreement import estimate_concordance
from howsure.stats.prompts.sample_size import required_variants
from howsure.stats.prompts.unparsed import estimate_unparsed_effect

NAMES = ("large", "small")


def cube(means, *, n_questions=40, default=None, values=None):
    """Every question of a variant has the same mean, of two generations: `means[model][variant]` in {0, .5, 1}."""
    scores = [
        [[[1, 1] if m == 1 else [0, 0] if m == 0 else [1, 0] for m in row] for _ in range(n_questions)] for row in means
    ]
    variants_ = [f"v{s}" for s in range(len(means[0]))]
    questions = [f"q{i}" for i in range(n_questions)]
    return Cube.from_scores("b", NAMES[: len(means)], questions, variants_, scores, default=default, values=values)


def test_range_default_and_unread_of_the_spread():
    made = cube([[1, 1, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5]], default=0)
    found = summarize_variants(made)
    text = describe_spread(found, 2, None)
    assert "Over 3 prompts the score of large goes from 0.50 to 1.00, the widest range of all models" in text
    assert "a range grows with the number of prompts" in text
    # ties do not count: 2 of the 3 drawn are below 1.0, none below .5
    assert "not drawn, scores higher than half of those that were drawn for 1 of 2 models." in text
    assert "could be read" not in text
    nothing = estimate_unparsed_effect(made, np.zeros(made.n.shape, dtype=int))
    assert "Every answer could be read: none of this spread is the parser's." in describe_spread(found, 2, nothing)
    assert "Drawn for 1 of 2 models" in describe_spread(found, 1, None)
    alone = describe_spread(summarize_variants(cube([[1, 1, 0.5, 0.5]], default=0)), 1, None)
    assert "half of those that were drawn for 1 of 1 model." in alone
    assert "of all models" not in alone


def test_components_add_up_to_a_whole():
    made = cube([[1, 1, 0.5, 0.5, 0, 0]], n_questions=30)
    text = describe_variance_components(estimate_components(made))
    # by hand: no question noise; variant scores 1, 1, .5, .5, 0, 0 have variance .2 less the sampling's;
    # generations: .5 in two of six variants is 1/6
    assert "the question 0%, the prompt 55%" in text
    assert "sampling again 45%" in text
    assert "the choice of prompts is 100%." in text


def test_a_model_whose_answers_all_score_the_same_has_no_part_in_the_median():
    varied, constant = [1, 1, 0.5, 0.5, 0, 0], [0, 0, 0, 0, 0, 0]
    alone = describe_variance_components(estimate_components(cube([varied], n_questions=30)))
    both = describe_variance_components(estimate_components(cube([varied, constant], n_questions=30)))
    parts = "the question 0%, the prompt 55%, prompts that suit one question and not another 0% and sampling again 45%."
    assert alone.startswith(f"Of the variance of one generation: {parts} In")
    assert both.startswith(f"Of the variance of one generation: {parts} ")
    assert "–" not in both
    none = describe_variance_components(estimate_components(cube([constant], n_questions=30)))
    assert none.startswith("Every answer of a model scored the same: there is no variance to divide.")


def test_components_of_one_generation_and_of_nothing():
    one = Cube.from_scores("b", ["a"], ["q1", "q2"], ["v1", "v2"], [[[[1], [0]], [[1], [1]]]])
    assert "are one component" in describe_variance_components(estimate_components(one))
    none = Cube.from_scores("b", ["a"], ["q1"], ["v1", "v2"], [[[[], []]]])
    assert describe_variance_components(estimate_components(none)).startswith(
        "These data do not separate the components."
    )
    nested = Cube.from_scores("b", ["a"], ["q1", "q2"], ["1", "2"], [[[[1, 0], [0, 0]], [[1, 1], [1, 0]]]], nested=True)
    assert describe_variance_components(estimate_components(nested)).startswith("Each question has variants of its own")


def _effects(scores, styles):
    return estimate_effects("b", NAMES[: len(scores)], np.array(scores), {"style": styles})


def test_best_worst_and_rarely_drawn_values():
    styles = ["a", "a", "a", "b", "b", "b", "c"]
    rows = [[0.70, 0.71, 0.72, 0.50, 0.51, 0.52, 0.95]]
    text = describe_effects(_effects(rows, styles), "style", 1)
    # c was drawn once, and its interval leaves out 0; effects are from the mean over values (.71 + .51 + .95)/3
    assert text.startswith("c scores highest (+0.227) and b lowest (−0.213). ")
    assert "Drawn fewer than 3 times (hollow), to be read with care: c." in text
    assert "where about 0.15 would by chance alone" in text
    assert "mean over models" not in text
    both = describe_effects(_effects([rows[0], [x - 0.1 for x in rows[0]]], styles), "style", 1)
    assert "mean over models" in both
    assert "Drawn for 1 of 2 models" in both


def test_a_value_drawn_once_and_by_no_means_sure_is_neither_best_nor_worst():
    """Theory: means .7, .6 and .9, so effects of -.033, -.133 and +.167; that of c has the error of one score."""
    styles = ["a", "a", "a", "b", "b", "b", "c"]
    text = describe_effects(_effects([[0.5, 0.7, 0.9, 0.4, 0.6, 0.8, 0.9]], styles), "style", 1)
    assert text.startswith("a scores highest (−0.03) and b lowest (−0.13) of those drawn often enough. ")


def test_effects_that_cannot_be_told_are_not_drawn():
    twice = {"style": ["a", "a", "b", "b"], "tone": ["x", "x", "y", "y"]}
    found = estimate_effects("b", ["large"], np.array([[0.1, 0.2, 0.3, 0.4]]), twice)
    assert describe_effects(found, "style", 1) == (
        "Drawn fewer than 3 times (hollow), to be read with care: a and b. "
        "An effect that cannot be separated from others, because of too few draws, is not drawn."
    )


def test_concordance_of_three_models_and_of_two():
    """By hand: ranks 1 2 3, 2 1 3, 1 2 3 and 1 2 3, so W = (12 * 170 - 3 * 16 * 3 * 16) / (16 * 3 * 8) = .8125."""
    scores = [[0.9, 0.5, 0.8, 0.9], [0.7, 0.6, 0.7, 0.8], [0.1, 0.2, 0.3, 0.1]]
    text = describe_concordance(estimate_concordance("b", ("a", "b", "c"), scores))
    assert "Over all 3 models Kendall's W is 0.81 (1: every prompt gives the same order" in text
    assert "the mean rank correlation of two prompts is 0.75." in text
    assert describe_concordance(estimate_concordance("b", ("a", "b"), scores[:2])) == ""


def test_what_the_space_needs():
    # theory: (z sd / eps)^2 with z = 1.96 and a variance of 0, 1, 0, 1, ... over 10 - 1 of 2.5/9: 10671 of the mean
    text = describe_sample_sizes(required_variants(("large",), [[0.0, 1.0] * 5]))
    assert "large needs 10,671 (" in text
    assert "the data have 10." in text
    # two prompts say nothing of how the variance varies: what the mean needs, (1.96 sd/eps)^2 with a variance of .005
    assert describe_sample_sizes(required_variants(("large",), [[0.4, 0.5]])).startswith(
        "For new prompts from the same space, large needs 193 ("
    )
    assert "of all models" not in text
    assert describe_sample_sizes(required_variants(("large",), [[0.5]])) == (
        "Two prompts or more are needed to say how many are enough."
    )


@pytest.mark.parametrize(
    ("part", "told"),
    [(0, "0%"), (0.0005, "<0.1%"), (0.005, "0.5%"), (0.03, "3%"), (0.5, "50%"), (0.996, ">99%"), (1, "100%")],
)
def test_shares(part, told):
    assert format_share(float(part)) == told


def test_variants_warning_points_below():
    text = "".join(collect_warnings(cube([[1, 0.5]]).cells(), has_prompt_section=True))
    assert "is not in the errors of the scores; see Spread over prompts." in text


def test_an_epsilon_above_the_variance_is_said_and_one_prompt_is_not_enough():
    """By hand: scores .5 and 1 in halves have variance .0625; an epsilon of .07 holds for a variance of 0, too."""
    x = [[0.5, 1.0] * 10, [0.74, 0.76] * 10]
    vague = required_variants(NAMES, x, epsilon=0.07)
    text = describe_convergence(vague, "variance", 2)
    assert "ε = 0.07 is not below the variance of large and small" in text
    assert "From n* prompts on" not in text
    assert "ε" not in describe_convergence(vague, "mean", 2)
    clear = describe_convergence(required_variants(NAMES, x, epsilon=0.02), "variance", 2)
    assert "ε = 0.02 is not below the variance of small" in clear
    assert "that over all: large " in clear
