"""Ratings of a judge as numbers: a table of replies, and the scores of a scripted judge."""

from __future__ import annotations

import pytest
from helpers.scored_runs import response, run_of

import howsure as hs
from howsure.errors import InputError
from howsure.judging import judge_run
from howsure.judging.verdict_prompts import load_prompt, parse_verdict
from howsure.models.model import Choice, Reply
from howsure.sample.experiment import BudgetConfig
from howsure.sample.judge_config import parse_judge
from howsure.sample.yaml_source import YamlSource

TEMPLATE = "Rate the answer from 1 to 10.\n{question}\n{completion}"


@pytest.mark.parametrize(
    ("reply", "scale", "expected"),
    [
        ("Clear.\nVerdict: 7.5", (0, 10), "7.5"),
        ("Verdict: 7/10", (0, 10), "7"),
        ("**Rating: 7 / 10**", (1, 10), "7"),
        ("Verdict: 85 of 100", (0, 100), "85"),
        ("Verdict: 85 out of 100.", (0, 100), "85"),
        ("Verdict: 85 %", (0, 100), "85"),
        ("Verdict: 8 (clear and short)", (1, 10), "8"),
        ("Verdict: 8 because it is clear", (1, 10), "8"),
        ("Good.\n\n8.50", (0, 10), "8.5"),
        ("9/10", (0, 10), "9"),
        ('{"verdict": 7.5}', (0, 10), "7.5"),
        ('{"reason": "short", "verdict": "7/10"}', (0, 10), "7"),
        ("Verdict: 4\nOn reflection:\nVerdict: 6", (0, 10), "6"),
        ("Verdict: 10", (0, 10), "10"),
        # outside the scale, or of another scale
        ("Verdict: 11", (0, 10), None),
        ("Verdict: 0", (1, 10), None),
        ("Verdict: -7", (0, 10), None),
        ("Verdict: \u22127", (0, 10), None),
        ("Verdict: \u20137", (0, 10), None),
        ("Verdict: >7", (0, 10), None),
        ("Score: 7", (0, 10), "7"),
        ("Verdict: 85 of 100", (0, 10), None),
        ("Verdict: 4/5", (0, 10), None),
        ("Verdict: 8 %", (0, 10), None),
        # no single number
        ("Verdict: 7-8", (0, 10), None),
        ("Verdict: 7 to 8", (0, 10), None),
        ("Verdict: 7,5", (0, 10), None),
        ("Verdict: 1.2.3", (0, 10), None),
        ("Verdict: 7 or 8", (0, 10), None),
        ("Verdict: 7, but I am not sure", (0, 10), None),
        ("Verdict: 7 if it is about Rome", (0, 10), None),
        ("Verdict: seven", (0, 10), None),
        # a number that is no verdict
        ("The answer names 3 cities.", (0, 10), None),
        ("It lists 3 of 10 cities, which is not enough.", (0, 10), None),
        ("Verdict: GOOD", (0, 10), None),
        ("", (0, 10), None),
    ],
)
def test_rating_of_a_reply(reply, scale, expected):
    assert parse_verdict(reply, (), scale) == expected


class Rater:
    """Gives the rating that stands in the completion, as it stands there."""

    async def generate(self, request):
        text = request.messages[-1]["content"]
        rating = text.partition("says ")[2].partition("\n")[0]
        return Reply(tuple(Choice(f"Verdict: {rating}", "stop") for _ in request.generations), "r", "judge", None, 9, 5)

    async def close(self):
        pass


def make_judge(tmp_path, keys):
    (tmp_path / "rate.txt").write_text(TEMPLATE)
    return parse_judge(YamlSource(f"{{model: simulated/large, {keys}}}", "judge.yaml"), base=tmp_path)


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_scores_are_ratings_by_the_highest_one(tmp_path):
    """What is outside the scale is missing, and the demanded form names the scale."""
    ratings = {"q1": "7.5", "q2": "7/10", "q3": "1", "q4": "10 of 10", "q5": "12", "q6": "0"}
    prompt = [{"role": "user", "content": "Write a line."}]
    run = run_of(
        tmp_path / "run",
        [response(q, completion=f"It says {text}", status="unscored") for q, text in ratings.items()],
        prompts=[("b", q, "default", prompt, "", None) for q in ratings],
    )
    judge = make_judge(tmp_path, "template: rate.txt, scale: [1, 10]")
    written = load_prompt(judge).write("Write a line.", "", completion="It says 7")
    assert written.endswith("this line, and nothing after it:\nVerdict: N, where N is a number from 1 to 10")
    code, scorer = judge_run.judge_folder(run, judge, BudgetConfig(), is_default=True, open_model=lambda *_: Rater())
    assert code == 0
    [cells] = hs.read(run).cells()
    scores = dict(zip(cells.questions, cells.total[0].tolist(), strict=True))
    assert scores == pytest.approx({"q1": 0.75, "q2": 0.7, "q3": 0.1, "q4": 1, "q5": 0, "q6": 0})
    assert cells.failed[0].tolist() == [0, 0, 0, 0, 1, 1]
    assert judge_run.find_judge(run, scorer).judge.choices["7.5"] == 0.75
    assert hs.score(run)["score"].tolist() == pytest.approx([(0.75 + 0.7 + 0.1 + 1) / 4])


def test_a_simulated_judge_rates(tmp_path):
    """Its verdicts are the ends of the scale."""
    judge = make_judge(tmp_path, "template: rate.txt, scale: 100")
    assert (judge.scale, judge.choices) == ((0, 100), {"100": 1, "0": 0})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("template: correct, scale: 10", "template of your own"),
        ("template: rate.txt, scale: 10, choices: {GOOD: 1, BAD: 0}", "template of your own"),
        ("template: rate.txt, scale: 0", "the scale is"),
        ("template: rate.txt, scale: [10, 1]", "the scale is"),
        ("template: rate.txt, scale: [-1, 1]", "the scale is"),
        ("template: rate.txt", "has no verdicts"),
    ],
)
def test_what_is_no_scale_is_refused(tmp_path, keys, message):
    with pytest.raises(InputError, match=message):
        make_judge(tmp_path, keys)
