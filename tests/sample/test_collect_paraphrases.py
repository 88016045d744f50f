"""`howsure init --paraphrase`. Kinds of truth: written by hand (replies, files and lines); theory (requests are counted)."""

from __future__ import annotations

import asyncio
import json
import tomllib

import numpy as np
import pytest
from aiohttp import web
from helpers.scripted_model import ScriptedModel
from helpers.servers import serving

from howsure.cli import main
from howsure.errors import EndpointError, FatalEndpointError, InputError, UnknownNameError
from howsure.models.model import Choice, Reply
from howsure.prompts import Instruction
from howsure.prompts.instructions import load_packaged, parse_instructions, require_reviewed
from howsure.sample.collect_paraphrases import (
    ATTEMPTS,
    collect_paraphrases,
    load_instructions,
    request_paraphrases,
)

TWO = """
[[instruction]]
id = "plain"
style = "imperative"
asks = "label"
text = "Give the label: {labels}."
reviewed = true

[[instruction]]
id = "fresh"
text = "Nobody has read this."
"""
PLAIN = Instruction("plain", "Answer the question.", reviewed=True)
TERSE = Instruction("terse", "Answer:", reviewed=True)


def said(text, reason="stop"):
    return Reply((Choice(text, reason),))


def asked(script, of=(PLAIN,), n=2, existing=None):
    """What `ask` makes of a scripted model, the model, and the seconds that were waited."""
    model, waited = ScriptedModel(script), []

    async def sleep(seconds):
        waited.append(seconds)

    existing = of if existing is None else existing
    found = asyncio.run(request_paraphrases(model, of, n, existing=existing, rng=np.random.default_rng(1), sleep=sleep))
    return found, model, waited


class Written:
    """A file for `paraphrase`, and where it writes."""

    def __init__(self, folder, text=TWO):
        self.source, self.output = folder / "mine.toml", folder / "more.toml"
        self.source.write_text(text)

    def __call__(self, reply, **how):
        self.model = ScriptedModel(lambda _: reply)
        how = {"open_model": lambda _: self.model} | how
        return collect_paraphrases(str(self.source), "openai/m", self.output, **how)


@pytest.fixture
def written(tmp_path):
    return Written(tmp_path)


def test_the_file_holds_the_old_ones_and_the_new_ones_to_review(written):
    found = written(said("1. Reply with {labels}.\n2. Which of {labels}?\n3. Which label?"), n=3)
    assert [(e.text, e.style, e.asks, e.marks) for e in found.phrasings] == [
        ("Reply with {labels}.", "imperative", "label", ()),
        ("Which of {labels}?", "imperative", "label", ()),
    ]
    assert found.refused == ("plain: it has other fields in braces: 'Which label?'",)
    assert str(found).startswith("2 new phrasings to review\nrefused 1:")
    text = written.output.read_text()
    assert [(t["text"], t["reviewed"]) for t in tomllib.loads(text)["instruction"]] == [
        ("Give the label: {labels}.", True),
        ("Nobody has read this.", False),
        ("Reply with {labels}.", False),
        ("Which of {labels}?", False),
    ]
    assert text.startswith("# Phrasings with `reviewed = false` came from the model openai/m and nobody")
    with pytest.raises(InputError, match="not reviewed: fresh, plain-"):
        require_reviewed(parse_instructions(text))
    # Only what was read is rephrased: one request, and the model is closed.
    assert [r.question for r in written.model.requests] == ["plain"]
    assert "Write 3 other ways" in written.model.requests[0].messages[0]["content"]
    assert written.model.closed


def test_nothing_is_asked_when_the_file_is_there(written):
    written.output.write_text("mine")
    with pytest.raises(InputError, match=r"more.toml: the file is there already; name another, or add --force"):
        written(said("1. Which of {labels}?"))
    assert written.model.requests == []
    assert written.output.read_text() == "mine"
    written(said("1. Which of {labels}?"), force=True)
    assert len(parse_instructions(written.output.read_text())) == 3


def test_nothing_is_written_when_nothing_came(written):
    with pytest.raises(
        InputError, match=r"openai/m: no new phrasing was accepted: plain: .*not a line of the list: 'Sorry"
    ):
        written(said("Sorry, no."))
    assert written.model.closed
    refusing = ScriptedModel(fails(FatalEndpointError("wrong key", reason="unauthorized")))
    with pytest.raises(FatalEndpointError, match="wrong key"):
        written(None, open_model=lambda _: refusing)
    assert refusing.closed
    assert not written.output.exists()


def fails(*errors, then=None):
    """A script that raises the errors one after another, the last for ever unless there is a reply."""
    left = list(errors)

    def script(_):
        if then is not None and not left:
            return then
        raise left.pop(0) if len(left) > 1 or then is not None else left[0]

    return script


def test_wrong_use(written, tmp_path):
    good = said("1. Which of {labels}?")
    for how, message in [
        ({"n": 0}, "paraphrase: 0 phrasings; ask for 1 to 100"),
        ({"only": ["fresh"]}, "mine.toml: none of the instructions was reviewed; read them"),
        ({"only": ["plan"]}, "mine.toml: unknown instruction 'plan'; did you mean 'plain'?"),
    ]:
        with pytest.raises(InputError) as caught:
            written(good, **how)
        assert message in str(caught.value)
    assert written.model.requests == []
    written.output = tmp_path / "absent" / "more.toml"
    with pytest.raises(InputError, match="absent: there is no such folder; create it first"):
        written(good)
    for model, how, message in [
        ("simulated/medium", {}, "--model: simulated/medium answers questions only and cannot rephrase; name a"),
        ("replay/m", {}, "--model: replay/m answers questions only and cannot rephrase"),
        ("m", {}, "--model: no endpoint is known for the model 'm'; name it openai/NAME or another"),
        ("m", {"base_url": "ftp://h"}, "--model: 'ftp://h' is not the address of an endpoint; write it as http://"),
        ("openai/m", {}, "openai/m: the environment variable OPENAI_API_KEY has no key; export"),
        ("m", {"base_url": "http://h/v1", "key_env": "MINE"}, "m: the environment variable MINE has no key"),
    ]:
        with pytest.raises(InputError) as caught:
            collect_paraphrases("open", model, tmp_path / "x.toml", environ={}, **how)
        assert message in str(caught.value)
    assert not (tmp_path / "x.toml").exists()


def test_instructions_are_those_of_a_space_or_a_file(tmp_path):
    assert load_instructions("maths") == load_packaged("maths")
    (tmp_path / "own.toml").write_text(TWO)
    assert [i.id for i in load_instructions(str(tmp_path / "own.toml"))] == ["plain", "fresh"]
    with pytest.raises(UnknownNameError, match="unknown space or file 'mats'; did you mean 'maths'"):
        load_instructions("mats")
    with pytest.raises(InputError, match=r"none.toml: cannot read the instructions: No such file.*; give a TOML file"):
        load_instructions(str(tmp_path / "none.toml"))
    (tmp_path / "latin.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="it is not UTF-8 text; give a TOML file, or a space: multiple-choice, open"):
        load_instructions(str(tmp_path / "latin.toml"))


def test_a_phrasing_is_taken_once_in_the_order_of_the_instructions():
    async def slow(request):
        await asyncio.sleep(0.02 if request.question == "plain" else 0)
        return said("1. What is it?\n2. Answer!")

    found, model, _ = asked(slow, of=(PLAIN, TERSE))
    assert [e.id.rpartition("-")[0] for e in found.phrasings] == ["plain"]
    assert found.refused[0] == "plain: there already: 'Answer!'"
    assert found.refused[1].startswith("terse: the reply has no new phrasing: there already: 'What is it?'")
    assert found.failed == ()
    assert model.most_in_flight == 2


def test_few_requests_are_in_flight():
    async def slow(_):
        await asyncio.sleep(0.001)
        return said("1. What is it?")

    _, model, _ = asked(slow, of=[Instruction(f"i{k}", f"Answer {k}.", reviewed=True) for k in range(20)])
    assert len(model.requests) == 20
    assert model.most_in_flight == 4


def test_the_last_line_of_a_reply_that_was_cut_is_not_taken():
    found, *_ = asked(lambda _: said("1. What is it?\n2. Please ans", "length"))
    assert [e.text for e in found.phrasings] == ["What is it?"]
    assert found.refused == ("plain: cut off at the model's limit of tokens: '2. Please ans'",)


def test_a_passing_failure_is_tried_again_and_a_lasting_one_told():
    busy, slow = (EndpointError("busy", reason="rate_limit", retry_after=t) for t in (7.0, None))
    found, model, waited = asked(fails(busy, slow, then=said("1. What is it?")))
    assert [e.text for e in found.phrasings] == ["What is it?"]
    assert len(model.requests) == 3
    assert 7.0 < waited[0] < 7.5  # Retry-After, and the back-off after one attempt
    assert 0 <= waited[1] <= 1

    for error, attempts in [
        (EndpointError("down", reason="server"), ATTEMPTS),
        (EndpointError("no", reason="bad_request"), 1),
        (EndpointError("later", reason="rate_limit", retry_after=7200.0), 1),
    ]:
        found, model, waited = asked(fails(error))
        assert found.failed == (f"plain: {error}",)
        assert str(found) == f"0 new phrasings to review\nno reply for 1:\n  plain: {error}"
        assert len(model.requests) == attempts
        assert len(waited) == attempts - 1
    found, *_ = asked(lambda _: Reply(()))
    assert found.failed == ("plain: it sent no choice",)
    found, *_ = asked(lambda _: said(None))
    assert found.refused == ("plain: the reply has no new phrasing: it is empty",)


@pytest.fixture
def endpoint():
    """A server that writes two phrasings of whatever it is asked, to those who have the key; and what it was sent."""
    bodies = []

    async def answer(request):
        if request.headers.get("Authorization") != "Bearer s3cret":
            return web.json_response({"error": {"message": "no"}}, status=401)
        bodies.append(await request.json())
        k = len(bodies)
        message = {"role": "assistant", "content": f"1. Way {k} to ask.\n2. Another way, number {k}.\nDone!"}
        return web.json_response({"model": "w", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    with serving(app) as base_url:
        yield base_url, bodies


def command(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["init", *arguments])
    return ended.value.code


def test_the_command_against_an_endpoint(endpoint, tmp_path, monkeypatch, capsys):
    base_url, bodies = endpoint
    monkeypatch.setenv("MINE", "s3cret")
    output = tmp_path / "mine.toml"
    arguments = [str(output), "--paraphrase", "open", "--model", "w", "--base-url", base_url, "--key-env", "MINE"]
    arguments += ["--generations", "2", "--only", "terse-plain", "--only", "role-expert"]
    assert command(*arguments) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "4 new phrasings to review"
    assert "refused 2:" in told
    assert "  terse-plain: not a line of the list: 'Done!'" in told
    assert told[-1] == str(output)
    assert [(body["model"], body.get("n", 1)) for body in bodies] == [("w", 1)] * 2
    entries = parse_instructions(output.read_text())
    assert entries[: len(load_packaged("open"))] == load_packaged("open")
    new = entries[len(load_packaged("open")) :]
    assert {e.text for e in new} == {t for k in (1, 2) for t in (f"Way {k} to ask.", f"Another way, number {k}.")}
    assert not any(e.reviewed for e in new)
    assert "s3cret" not in output.read_text()

    assert command(*arguments) == 2
    assert capsys.readouterr().err.startswith(f"howsure: {output}: the file is there already")
    monkeypatch.setenv("MINE", "wrong")
    assert command(*arguments, "--force") == 2
    assert "401" in capsys.readouterr().err
    assert parse_instructions(output.read_text()) == entries
    assert len(bodies) == 2


def test_a_judge_marks_what_asks_for_something_else(tmp_path, capsys, monkeypatch):
    """A model writes a text that names a letter and two that do not, in a fence of JSON; another judges them."""
    texts = [
        "State the letter.",
        "Which choice is right? State its label.",
        "Answer with the label of the right choice.",
    ]
    bodies = []

    async def answer(request):
        body = await request.json()
        bodies.append(body)
        prompt = body["messages"][0]["content"]
        if body["model"] == "judge":
            content = "different. It names a letter." if "letter" in prompt.split("<second>")[1] else "same. Fine."
        else:
            content = "```json\n" + json.dumps(texts) + "\n```"
        message = {"role": "assistant", "content": content}
        return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    output = tmp_path / "new.toml"
    monkeypatch.setenv("MINE", "s3cret-key")
    with serving(app) as base_url:
        arguments = [str(output), "--paraphrase", "multiple-choice", "--only", "terse-label", "--generations", "10"]
        assert command(*arguments, "--model", "w", "--base-url", base_url, "--key-env", "MINE", "--judge", "judge") == 0
    assert [body["model"] for body in bodies] == ["w", *["judge"] * 3]
    assert "3 new phrasings to review\nmarked 1, because" in capsys.readouterr().out
    new = {e.text: e.marks for e in parse_instructions(output.read_text()) if not e.reviewed}
    assert new == {texts[0]: ("the judge says it differs: It names a letter.",), texts[1]: (), texts[2]: ()}


def test_options_that_do_not_go_together(capsys):
    for arguments, message in (
        (["--paraphrase", "open"], "--paraphrase: phrasings need one model"),
        (["--paraphrase", "open", "--model", "openai/m"], "exp.yaml: phrasings are written to a TOML file"),
        (["x.toml", "--paraphrase", "open", "--model", "openai/m", "--judge", "simulated/medium"], "--judge: simul"),
    ):
        assert command(*arguments) == 2
        assert message in capsys.readouterr().err
