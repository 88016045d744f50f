"""Audit, report and review count the same generations. Kind of truth: counted by hand from planted rows."""

import warnings
from collections import Counter

import pytest
from helpers.lm_eval_log import harness

import howsure as hs
from howsure.errors import HowsureWarning, InputError
from howsure.reporting.sections.question_browser import describe_question
from howsure.results.answers import group_answers
from howsure.results.texts import QuestionTexts
from howsure.review.queue import RunTexts
from howsure.store.responses import RunFolder
from howsure.store.schema import Response

#: Model, answer, score and status: an error, a completion without a score, an answer that could not be parsed.
ROWS = [
    ("m", "A", 1.0, "ok"),
    ("m", "A", 1.0, "length"),
    ("m", None, 0.0, "unparsed"),
    ("m", None, None, "error"),
    ("m", "C", None, "unscored"),
    ("n", "B", 0.0, "ok"),
    ("n", "B", None, "filtered"),
    ("n", None, None, "error"),
]
COUNTED = Counter({("m", "A"): 2, ("m", None): 1, ("n", "B"): 2})


def folder_of(path, rows, *, first=1, request=None):
    with RunFolder(path) as run:
        run.append([
            Response("b", model, "q", "v", first + i, score, status, answer, target="A", created=float(i), request=request)
            for i, (model, answer, score, status) in enumerate(rows)
        ])  # fmt: skip
    return path


def of_audit(evaluations):
    [answers] = evaluations.answers().values()
    return count_each(answers)


def count_each(answers):
    entries = zip(answers.model, answers.answer, answers.n.tolist(), strict=True)
    return Counter({(answers.models[m], answers.answers[a] if a >= 0 else None): n for m, a, n in entries})


def of_report(evaluations):
    [question] = evaluations.texts().read("b", ["q"])
    groups = [group for group in describe_question(question)["groups"] if group["kind"] in ("answer", "unparsed")]
    return Counter({(model, group["answer"]): n for group in groups for model, n in group["models"]})


def of_review(*paths):
    return count_each(RunTexts(paths).count_answers("b"))


def test_a_folder_with_errors_refusals_and_unparsed_answers(tmp_path):
    path = folder_of(tmp_path / "run", ROWS)
    evaluations = hs.read(path)
    assert of_audit(evaluations) == of_report(evaluations) == of_review(path) == COUNTED
    [question] = evaluations.texts().read("b", ["q"])
    groups = {(group.kind, group.answer): group for group in group_answers(question.generations, "A")}
    assert list(groups) == [
        ("answer", "B"), ("answer", "A"), ("unparsed", None), ("unscored", None), ("failed", None)
    ]  # fmt: skip
    # shares are of the generations that count: 2 of 3 and none, none and 2 of 2
    assert groups["answer", "A"].share == pytest.approx(1 / 3)
    assert groups["answer", "B"].share == pytest.approx(1 / 2)
    assert groups["failed", None].share == groups["unscored", None].share == 0


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_copies_and_first_generations_count_alike(tmp_path):
    paths = [
        folder_of(tmp_path / "1", ROWS, request="r"),
        folder_of(tmp_path / "2", [*ROWS, ("m", "D", 0.0, "ok")], first=1, request="r"),
    ]
    evaluations = hs.read(paths)
    once = COUNTED + Counter({("m", "D"): 1})
    assert of_audit(evaluations) == of_report(evaluations) == of_review(*paths) == once
    first = hs.read(paths[0], generations=2)
    assert of_audit(first) == of_report(first) == Counter({("m", "A"): 2, ("n", "B"): 2})
    assert sum(one.n.sum() for one in first.cells()) == 3  # one of the four has no score
    for read in (hs.Evaluations.cells, hs.Evaluations.cubes, hs.Evaluations.answers):
        with pytest.raises(InputError, match="generations of m on the same questions: which are first is not known"):
            read(hs.read(paths, generations=2))


def test_a_log_agrees_with_the_folder_that_it_is_converted_to(tmp_path):
    harness(tmp_path / "log")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        evaluations = hs.read(tmp_path / "log")
        [answers] = evaluations.answers().values()
        texts = QuestionTexts(evaluations.sources)
        groups = [
            group
            for one in texts.read(answers.benchmark, answers.questions)
            for group in group_answers(one.generations, one.question.target)
        ]
        review = RunTexts([tmp_path / "log"]).count_answers(answers.benchmark)
    counted = sum(len(group.rows) for group in groups if group.kind in ("answer", "unparsed"))
    assert counted == answers.n.sum() == review.n.sum()
