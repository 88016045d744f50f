"""Every sentence of pages of different data, computed again with numpy and scipy alone, from the scores as planted.

The sentences are read from the page. One that fits no pattern of `helpers.sentence_checks` is a failure, so that no new
sentence goes unchecked.
"""

import re
from functools import cache

import numpy as np
import pytest
from helpers.planted_scores import (
    Planted,
    PlantedReview,
    PlantedWithCosts,
    PlantedWithGreedy,
    check_sentences,
    draw,
    sentences,
)
from helpers.sentence_checks import COMPUTED, STATIC, check_widths_of_scores

from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData

RNG = np.random.default_rng(20)
DIFFICULTY = RNG.beta(0.8, 0.8, 120)
SKILLS = np.linspace(1.0, 0.6, 6)[:, None]
ROWS = [[1, 1, 0, 1]] * 10 + [[0, 0, 1, 0]] * 15 + [[1, 1, 1, 1]] * 10 + [[0, 0, 0, 0]] * 5
PAGES = {
    "two models, one generation": Planted(draw(np.stack([DIFFICULTY, 0.8 * DIFFICULTY]), 1)),
    "an exact tie": Planted([[[1], [0], [1]] * 20, [[0], [1], [1]] * 20]),
    "one model": Planted(draw(DIFFICULTY[None], 5)),
    "many models, unequal k": Planted(
        draw(np.linspace(1, 0.5, 16)[:, None] * DIFFICULTY, RNG.integers(2, 7, (16, 1)), seed=3)
    ),
    "all right": Planted([[[1, 1]] * 40, [[1, 1]] * 40]),
    "all wrong": Planted([[[0, 0]] * 40, [[0, 0]] * 40, [[0, 0]] * 40]),
    "three questions": Planted(draw(np.array([[0.9, 0.5, 0.2], [0.4, 0.4, 0.6]]), 6, seed=4)),
    "six models, several generations": Planted(draw(SKILLS * DIFFICULTY, 4, seed=5)),
    "mostly prediction noise": Planted(draw(np.full((3, 80), 0.5), 3, seed=6)),
    "less noise of data than none": Planted(
        [
            [[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1]] * 16 + [[1, 1, 1], [0, 0, 0]] * 8,
            [[1, 0, 0], [1, 1, 0]] * 32 + [[0, 1, 0], [0, 0, 0], [1, 1, 1], [0, 0, 0]] * 4,
        ]
    ),
    "equal models": Planted([[[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0]] * 12] * 2),
    "all right and all wrong": Planted([[[1, 1]] * 30, [[0, 0]] * 30]),
    "graded scores": Planted([[RNG.beta(2, 2, 3) * q for q in DIFFICULTY] for _ in range(3)]),
    "missing generations": Planted(draw(SKILLS * DIFFICULTY, np.where(RNG.random((6, 120)) < 0.3, 0, 2), seed=7)),
    "few common questions": Planted(
        draw(SKILLS[:4] * DIFFICULTY, np.array([[1] * 120, [1] * 120, [1] * 20 + [0] * 100, [1] * 120]), seed=8)
    ),
}


def share_some(p, k, starts, size):
    """Scores of models that each answered `size` questions from the one of `starts` on."""
    counts = np.zeros(p.shape, int)
    for row, start in zip(counts, starts, strict=True):
        row[start : start + size] = k
    return draw(p, counts, seed=31)


#: Ten kinds of data more, planned before anyone looked at what the page says of them.
PAGES |= {
    "one to nine generations": Planted(draw(SKILLS[:3] * DIFFICULTY[:50], RNG.integers(1, 10, (3, 50)), seed=30)),
    "models that share few or no questions": Planted(share_some(SKILLS[:4] * DIFFICULTY, 3, (0, 30, 50, 80), 40)),
    "one score on different questions": Planted([np.roll(ROWS, shift, axis=0).tolist() for shift in (0, 7, 16)]),
    "one finds hard what the other finds easy": Planted(
        draw(np.stack([DIFFICULTY[:40], 1 - DIFFICULTY[:40]]), 3, seed=32)
    ),
    "one question": Planted(draw(np.array([[0.7], [0.4]]), 8, seed=33)),
    "two questions": Planted(draw(np.array([[0.7, 0.2], [0.4, 0.9], [0.5, 0.5]]), 5, seed=34)),
    "nothing of one model": Planted(draw(SKILLS[:3] * DIFFICULTY[:60], np.array([[3], [0], [3]]), seed=35)),
    "failures and unread answers": Planted(
        draw(SKILLS[:2] * DIFFICULTY[:50], np.array([[2] * 50, [2] * 40 + [0] * 10]), seed=36),
        failed=np.array([[0] * 50, [0] * 40 + [2] * 10]),
        unparsed=np.array([[1] + [0] * 49, [0] * 50]),
    ),
    "question means closer than sampling allows": Planted([[[-20 + e, 80 - e, 50 + e] for e in RNG.normal(0, 2, 40)]]),
    "scores of any size": Planted([[250 * RNG.normal(1, 2, 3) + skill for _ in range(40)] for skill in (0, 50, 900)]),
    "half points": Planted([[RNG.choice([0, 0.5, 1], 4) for _ in range(45)] for _ in range(3)]),
    "two hundred models": Planted(
        draw(np.linspace(1, 0.4, 200)[:, None] * DIFFICULTY[:30], 2, seed=37),
        [f"M{a}{b}" for a in "abcdefghijklmnopqrst" for b in "abcdefghij"],
    ),
    "names that are more than a word": Planted(draw(SKILLS[:4] * DIFFICULTY[:60], 3, seed=38)),
    "as many right as wrong": Planted([[[0, 1]] * 40, [[1, 0]] * 40]),
    "few that are worse": Planted(draw(np.stack([DIFFICULTY, DIFFICULTY, 0.1 * DIFFICULTY]), 1, seed=39)),
}
GREEDY = np.random.default_rng(41)
PAGES |= {
    "greedy runs beside sampled ones": PlantedWithGreedy(
        draw(SKILLS[:4] * DIFFICULTY, np.array([[5], [5], [3], [2]]), seed=40),
        {"Ada": GREEDY.random(120) < DIFFICULTY, "Bob": DIFFICULTY > 0.2, "Dan": DIFFICULTY > 0.95},
    ),
    "costs of which a lower one goes with a higher score": PlantedWithCosts(
        draw(SKILLS[:5] * DIFFICULTY, 3, seed=43),
        dict(zip(["Ada", "Bob", "Cleo", "Dan"], [36_000, 50_000, 80_000, 20_000], strict=True)),
    ),
    "dollars that a higher score costs": PlantedWithCosts(
        draw(np.array([[1.0], [0.5], [0.2]]) * DIFFICULTY, 2, seed=44),
        {"Ada": 9000, "Bob": 9000, "Cleo": 9000},
        {"Ada": 3.0, "Bob": 0.3, "Cleo": 0.03},
    ),
    "costs that print alike": PlantedWithCosts(
        draw(np.array([[1.0], [0.2]]) * DIFFICULTY, 2, seed=45), {"Ada": 24_000, "Bob": 24_001}
    ),
    "questions that reviewers rejected": PlantedReview(
        draw(np.array([[0.8], [0.79], [0.78], [0.3]]) * DIFFICULTY, 2, seed=46), set(range(20, 50))
    ),
    "one question of many rejected": PlantedReview([[[1]] * 500 + [[0]] * 501, [[1]] * 300 + [[0]] * 701], {1000}),
    "a greedy run above all": PlantedWithGreedy(draw(SKILLS[:2] * DIFFICULTY, 3, seed=42), {"Bob": np.ones(120)}),
}
PAGES["names that are more than a word"].shown_as = {
    "Ada": "Ada, Bob and 3 more",
    "Bob": "<b>Bob</b> & co. Inc. 2",
    "Cleo": "the 3 others; no model",
    "Dan": "a.b (95% interval 0 to 1)",
}


@cache
def html_of(name):
    return build_page(ReportData([PAGES[name].cells], **PAGES[name].report)).html


#: Every third page is checked every day.
NAMES = [pytest.param(name, marks=pytest.mark.long) if i % 3 else name for i, name in enumerate(PAGES)]
NAMES_OF_SEVERAL = [one for one, x in zip(NAMES, PAGES.values(), strict=True) if len(x.names) > 1]


@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_is_true(name):
    check_sentences(html_of(name), PAGES[name], COMPUTED, STATIC)


@pytest.mark.parametrize("name", NAMES_OF_SEVERAL)
def test_no_width_of_scores_goes_unchecked(name):
    """The check refuses widths of a third and of three times those of the page, whatever the data."""
    pattern = next(pattern for pattern, check in COMPUTED if check is check_widths_of_scores)
    page = html_of(name)
    (widths,) = [match.groups() for sentence in sentences(page) if (match := re.fullmatch(pattern, sentence))]
    for factor in (1 / 3, 3):
        with pytest.raises(AssertionError):
            check_widths_of_scores(PAGES[name], *(w and str(factor * float(w)) for w in widths))
