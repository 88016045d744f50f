"""A team reviews a run in the browser: own queues, blind, agreement, a final verdict, random questions. Truth: Chromium, axe."""

import os
import re
import subprocess
from contextlib import contextmanager

import pytest
from helpers.chromium_pages import HOWSURE, planted_run

from howsure.review.verdicts import load

pytest.importorskip("uvicorn", reason="the review is an extra")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("team") / "run"
    planted_run(path)
    return path


@contextmanager
def reviewing(run, file, reviewer, *options):
    """Address of a review, as the command prints it to this reviewer."""
    command = ["review", run, "--verdicts", file, "--reviewer", reviewer, "--port", "0", "--no-browser", *options]
    how = {"stdout": subprocess.PIPE, "text": True, "env": os.environ | {"PYTHONUNBUFFERED": "1"}}
    with subprocess.Popen([*HOWSURE, *command], **how) as served:
        try:
            yield next(match[0] for line in served.stdout if (match := re.search(r"http://\S+", line)))
        finally:
            served.terminate()
            served.stdout.read()


def enter(window, address, question=None, *, look=None, more=""):
    """Open the review with its token, and then a question of it."""
    window.show(address, network=True, **(look or {}))
    if question:
        home = address.split("?")[0]
        window.show(f"{home}question?benchmark=planted&question={question}{more}", network=True, **(look or {}))


def text(window):
    return window.value("document.body.innerText")


def judge(window, verdict, *, answer="", note=""):
    """Fill in the form of a question and press the button of the verdict."""
    window.value(
        f"document.getElementById('answer').value = {answer!r}; document.getElementById('note').value = {note!r}; 0"
    )
    window.value("document.body.dataset.old = '1'; 0")
    window.value(f"document.querySelector('button[name=verdict][value={verdict}]').click()")
    window.wait_for("document.readyState === 'complete' && document.body && !document.body.dataset.old")


@pytest.mark.long
def test_two_reviewers_and_a_final_verdict(window, run, tmp_path):
    """Ada and Bob differ on one question and agree on another; Eve decides. None sees what the other said before."""
    file = tmp_path / "verdicts.jsonl"
    with reviewing(run, file, "ada", "--blind") as address:
        enter(window, address, "hostile")
        assert window.value("document.getElementById('target')") is None  # hidden at first
        enter(window, address, "hostile", more="&reveal=1")
        assert window.value("document.getElementById('target').innerText") == "B"
        judge(window, "mislabeled", answer="A", note="the other one")
        enter(window, address, "wrong label")
        judge(window, "fine")
        enter(window, address)
        assert "2 of 2 suspected label errors have your verdict, 1 rejected" in text(window)
    with reviewing(run, file, "bob") as address:
        enter(window, address)
        assert "0 of 2 suspected label errors have your verdict" in text(window)
        enter(window, address, "hostile")
        assert "the other one" not in text(window)
        assert "ada" not in window.value("document.querySelector('main').innerText").lower().split()
        judge(window, "fine")
        enter(window, address, "wrong label")
        judge(window, "fine")
    decision = next(one for one in load(file).values() if one.question == "hostile")
    assert (decision.basis, decision.is_rejected) == ("disagreement", False)
    with reviewing(run, file, "eve", "--adjudicate") as address:
        enter(window, address)
        page = text(window)
        assert "0 of 1 questions have a final verdict" in page
        # by hand: one of two verdicts alike; Wilson's interval of 1 of 2 is 0.095 to 0.905
        assert re.search(r"ada and bob agree on 0\.500 \[0\.09\d, 0\.90\d\] of 2 questions", page)
        assert window.axe() == []
        enter(window, address, "hostile")
        page = text(window)
        assert re.search(r"ada: mislabeled right answer: A", page)
        assert re.search(r"bob: fine", page)
        assert "the other one" in page
        assert window.axe() == []
        judge(window, "mislabeled", answer="A")
        assert "All of them have a final verdict" in text(window) or "1 of 1" in text(window)
    decision = next(one for one in load(file).values() if one.question == "hostile")
    assert (decision.basis, decision.verdict, decision.answer) == ("adjudication", "mislabeled", "A")


@pytest.mark.long
@pytest.mark.parametrize("look", [{}, {"dark": True}, {"width": 390, "height": 844}], ids=["light", "dark", "phone"])
def test_random_questions_give_the_share_of_wrong_labels(window, run, tmp_path, look):
    file = tmp_path / "verdicts.jsonl"
    with reviewing(run, file, "ada") as address:
        enter(window, address, look=look)
        home = address.split("?")[0]
        window.show(f"{home}?show=random", network=True, **look)
        assert window.probe("wide") == []
        assert window.axe() == []
        links = window.value("[...document.querySelectorAll('main a[href*=\"question=\"]')].map(a => a.href)")
        assert len(set(links)) == 7  # all questions of the planted run, drawn whatever the models answered
        for link, verdict in zip(dict.fromkeys(links), ["mislabeled", "fine", "unsure", "ambiguous"], strict=False):
            window.show(link, network=True, **look)
            assert window.probe("wide") == []
            judge(window, verdict)
        window.show(f"{home}?show=random", network=True, **look)
        # Clopper and Pearson's interval of 1 of 4, from their tables
        said = "1 of the first 4 random questions is mislabeled, an estimate of 25.0% of all labels (95% interval "
        said += "0.6% to 80.6%)."
        assert said in text(window)


@pytest.mark.long
def test_a_right_answer_that_cannot_be_says_why(window, run, tmp_path):
    with reviewing(run, tmp_path / "verdicts.jsonl", "ada") as address:
        enter(window, address, "wrong label")
        judge(window, "fine", answer="B")
        assert "A right answer goes with the verdict mislabeled, not with fine" in text(window)
        assert window.axe() == []
