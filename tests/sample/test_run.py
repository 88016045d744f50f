"""Whole runs against a real server and the embedded model.

Kinds of truth: another program's output (the server's own count of what it answered), and theory (each cell once).
"""

from __future__ import annotations

import asyncio
import json
import warnings
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from helpers.endpoint import Faults, serve
from helpers.long_cases import mark_long
from helpers.scripted_model import ScriptedModel, right, sums

from howsure.benchmarks import load
from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.errors import HowsureError, HowsureWarning, InputError, StoreError, UnknownNameError
from howsure.models.model import Choice, Reply, Settings
from howsure.sample.experiment import ModelConfig, parse_experiment
from howsure.sample.run import run
from howsure.store.responses import RunFolder, read, read_prompts

SHARED = Path(__file__).resolve().parents[2] / "../shared"
SMALL = load("directions-small")
KEY = "sk-planted-0123456789"


def quick(seconds):
    """A hundredth of the wait: the server needs none of it."""
    return asyncio.sleep(seconds / 100)


def sample(text, folder, **keys):
    experiment = text if not isinstance(text, str) else parse_experiment(text)
    return asyncio.run(run(experiment, folder, sleep=quick, **keys))


def endpoint_experiment(base_url, *, generations=3, model="", more="", benchmark="directions-small"):
    return f'{{benchmark: {benchmark}, generations: {generations}, models: [{{model: truth-1, label: m, base_url: "{base_url}"{model}}}] {more}}}'


def rows(folder):
    return read(folder).to_pylist()


def cells(folder):
    return Counter((r["model"], r["question"], r["variant"], r["generation"]) for r in rows(folder))


def assert_complete(folder, wanted):
    assert set(cells(folder).values()) == {1}
    assert len(cells(folder)) == wanted


@pytest.mark.shared
def test_gsm8k_scores_what_the_server_answered(tmp_path):
    file = SHARED / "data/gsm8k/test.jsonl"
    if not file.exists():
        pytest.skip("needs ../shared/data/gsm8k/test.jsonl")
    spec = {"file": str(file), "question": "question", "target": "answer", "target_after": "####", "answer": "numeric"}
    questions = load(spec).questions
    assert len(questions) == 1319
    with serve(questions, seed=1) as server:
        outcome = sample(
            endpoint_experiment(server.base_url, generations=2, benchmark=json.dumps(spec)), tmp_path / "r"
        )
    assert (outcome.done, outcome.failed, outcome.is_complete, outcome.warnings) == (2638, 0, True, ())
    assert_complete(tmp_path / "r", 2638)
    assert sum(r["score"] for r in rows(tmp_path / "r")) == sum(sent.right for sent in server.log)
    # And question by question, not only in all.
    by_question = Counter()
    for row in rows(tmp_path / "r"):
        by_question[row["question"]] += row["score"]
    told = Counter()
    for sent in server.log:
        told[sent.question] += sent.right
    assert by_question == told
    assert server.most_in_flight <= 64


@pytest.mark.parametrize("kind", mark_long(["server", "malformed", "cut", "reset", "shape", "empty"], after=2))
def test_a_question_that_always_fails_is_recorded_and_tried_again_later(tmp_path, kind):
    with serve(SMALL.questions) as server:
        bad = SMALL.questions[0].id
        server._fault = lambda question: kind if question == bad else ""
        # Few at a time, so that others succeed after its first failure: otherwise the endpoint may be at fault.
        text = endpoint_experiment(server.base_url, model=", max_concurrent: 4")
        outcome = sample(text, tmp_path / "r", clock=hurried())
        assert (outcome.done, outcome.failed, outcome.is_complete) == (297, 3, False)
        assert_complete(tmp_path / "r", 300)
        failures = [r for r in rows(tmp_path / "r") if r["status"] == "error"]
        assert {(r["question"], r["score"], r["completion"]) for r in failures} == {(bad, None, None)}
        assert {r["attempts"] for r in failures} == {8}
        assert all(r["error"].split(":")[0] in {"server", "malformed", "connection", "empty"} for r in failures)
        # The server is mended: the same command asks for nothing, and --retry failed for those three only.
        server._fault = lambda _: ""
        before = len(server.bodies)
        outcome = sample(text, tmp_path / "r")
        assert (outcome.done, outcome.is_complete, outcome.models[0].lost) == (0, False, 3)
        outcome = sample(text, tmp_path / "r", retry=True)
        assert (outcome.done, outcome.is_complete, len(server.bodies) - before) == (3, True, 1)
    assert_complete(tmp_path / "r", 300)
    assert {r["status"] for r in rows(tmp_path / "r")} == {"ok"}


def hurried():
    """A clock that runs as fast as `quick` makes waits short."""
    import time

    return lambda: time.monotonic() * 100


@pytest.mark.parametrize(
    ("faults", "warning"),
    [
        (Faults(most=2), "m: the endpoint takes at most 2 generations per request; more requests are made instead"),
        (Faults(most=1, most_text="n is wrong"), "m: the endpoint refuses 5 generations per request; one at a time"),
        (Faults(ignores_n=True), "m: the endpoint sends one generation per request; more requests are made instead"),
        (Faults(extra_choices=1), "m: the endpoint sent more generations than requested; the surplus was dropped"),
    ],
)
def test_what_endpoints_do_with_n(tmp_path, faults, warning):
    with serve(SMALL.questions, faults=faults) as server:
        outcome = sample(endpoint_experiment(server.base_url, generations=5), tmp_path / "r")
    assert_complete(tmp_path / "r", 500)
    assert len(outcome.warnings) == 1
    assert outcome.warnings[0].startswith(warning)
    kept = json.loads((tmp_path / "r/manifest.json").read_text())
    # How many go into a request changes no number, so whoever reads the folder is not warned of it.
    assert outcome.warnings[0] in kept["notes" if "per request" in warning else "warnings"]
    assert len(kept["warnings"]) == ("per request" not in warning)
    assert sum(r["score"] for r in rows(tmp_path / "r")) == sum(sent.right for sent in server.log)


def test_a_run_grows_by_generations_variants_models_and_questions(tmp_path):
    folder = tmp_path / "r"
    with serve(SMALL.questions) as server:

        def grown(**keys):
            outcome = sample(endpoint_experiment(server.base_url, **keys), folder)
            assert outcome.is_complete
            return outcome.done

        assert grown(generations=2, more=", limit: 40") == 80
        assert grown(generations=2, more=", limit: 40") == 0
        assert grown(generations=5, more=", limit: 40") == 120
        assert grown(generations=5) == 300
        assert grown(generations=5, more=", variants: [{}, {system: Think.}]") == 500
        said = r"also has results of 1 other prompt variant \(.*the mean over all its variants; use another folder"
        with pytest.warns(HowsureWarning, match=said):  # whose template was edited gets a mixture of both prompts
            assert grown(generations=5, more=", greedy: true") == 100
        assert grown(generations=3, more=", variants: [{}, {system: Think.}]") == 0
    assert_complete(folder, 1100)
    prompts = read_prompts(folder).to_pylist()
    assert len(prompts) == 200
    assert {p["target"] for p in prompts} == {q.target for q in SMALL.questions}
    systems = Counter(json.loads(p["messages"])[0]["content"] for p in prompts)
    assert systems == {SMALL.prompt.system: 100, "Think.": 100}
    greedy = [body for body in server.bodies if body.get("temperature") == 0]
    assert len(greedy) == 100
    assert all("n" not in body for body in greedy)


def test_a_stopped_run_has_asked_a_fair_sample_and_whole_questions(tmp_path):
    """With limit N the questions asked are those of every larger run, whatever the benchmark's order."""
    sample("{benchmark: directions-small, generations: 1, limit: 30, models: [simulated/small]}", tmp_path / "a")
    sample("{benchmark: directions-small, generations: 1, limit: 60, models: [simulated/small]}", tmp_path / "b")
    first, second = ({r["question"] for r in rows(tmp_path / name)} for name in "ab")
    assert len(first) == 30
    assert first < second
    assert first != {q.id for q in SMALL.questions[:30]}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("models: [simulated/small]", "models: [{model: simulated/small, temperature: 0.5}]", "model simulated/small"),
        ("models: [simulated/small]", "models: [{model: simulated/large, label: simulated/small}]", "model simulated"),
        ("models: [simulated/small]", "models: [simulated/small], seed: 3", "seed"),
    ],
)
def test_the_same_label_for_something_else_is_refused(tmp_path, before, after, told):
    start = "{benchmark: directions-small, generations: 1, limit: 5, "
    sample(start + before + "}", tmp_path / "r")
    held = rows(tmp_path / "r")
    with pytest.raises(InputError, match=told) as error:
        sample(start + after + "}", tmp_path / "r")
    assert "use another folder" in str(error.value)
    assert rows(tmp_path / "r") == held


def test_a_changed_benchmark_is_refused(tmp_path):
    def ask(benchmark):
        entry = ModelConfig("m", "m", "endpoint")
        experiment = msgspec.structs.replace(parse_experiment("{benchmark: x, models: [simulated/a]}"), models=(entry,))
        return sample(experiment, tmp_path / "r", benchmark=benchmark, open_model=lambda *_: ScriptedModel(right))

    assert ask(sums(3)).done == 3
    with pytest.raises(InputError, match="benchmark sums"):
        ask(sums(4))


def test_everything_is_checked_before_anything_is_sent_or_written(tmp_path, monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    with serve(SMALL.questions) as server:
        two = (
            f'{{model: m, base_url: "{server.base_url}"}}, {{model: o, base_url: "{server.base_url}", key_env: MY_KEY}}'
        )
        with pytest.raises(InputError, match="the environment variable MY_KEY has no key"):
            sample(f"{{benchmark: directions-small, models: [{two}]}}", tmp_path / "r")
        assert server.bodies == []
    with pytest.raises(UnknownNameError, match="simulated/mediun.*did you mean 'simulated/medium'"):
        sample("{benchmark: directions-small, models: [simulated/mediun]}", tmp_path / "r")
    with pytest.raises(UnknownNameError, match="directions-smal"):
        sample("{benchmark: directions-smal, models: [simulated/medium]}", tmp_path / "r")
    same = json.dumps([{}, {"template": SMALL.prompt.template}])
    with pytest.raises(InputError, match="variants: two variants have the same words; remove one"):
        sample(f"{{benchmark: directions-small, models: [simulated/medium], variants: {same}}}", tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("faults", [Faults(key="another"), Faults(key=KEY), Faults(key=KEY, rates={"server": 0.3})])
def test_a_key_enters_neither_folder_nor_message(tmp_path, monkeypatch, capsys, faults):
    monkeypatch.setenv("MY_KEY", KEY)
    with serve(SMALL.questions, faults=faults) as server, warnings.catch_warnings(record=True) as said:
        outcome = sample(
            endpoint_experiment(server.base_url, model=", key_env: MY_KEY", more=", limit: 20"),
            tmp_path / "r",
            clock=hurried(),
        )
    shown = repr(outcome) + str(said) + "".join(capsys.readouterr()) + str(rows(tmp_path / "r"))
    if faults.key == KEY:
        assert outcome.is_complete
    else:
        assert (outcome.done, outcome.failed, outcome.exit_code) == (0, 0, 2)
        assert outcome.models[0].stopped == "HTTP 401: Incorrect API key provided: Bearer ***"
    assert "planted" not in shown
    for file in (tmp_path / "r").rglob("*"):
        assert b"planted" not in file.read_bytes(), file


def test_one_model_that_cannot_be_had_does_not_hold_up_the_others(tmp_path):
    with serve(SMALL.questions, faults=Faults(model="good")) as server:
        models = ", ".join(f'{{model: {name}, base_url: "{server.base_url}"}}' for name in ("bad", "good"))
        outcome = sample(f"{{benchmark: directions-small, models: [{models}]}}", tmp_path / "r")
    bad, good = outcome.models
    assert bad.stopped == "HTTP 404: The model `bad` does not exist"
    assert (bad.done, bad.failed) == (0, 0)
    assert (good.done, good.stopped) == (500, None)
    assert outcome.exit_code == 2
    assert {r["model"] for r in rows(tmp_path / "r")} == {"good"}


def test_progress_counts_and_remembers(tmp_path):
    text = "{benchmark: directions-small, generations: %d, models: [simulated/medium]}"
    sample(text % 3, tmp_path / "r")
    shown = []
    outcome = sample(text % 5, tmp_path / "r", on_progress=shown.append)
    first, last = shown[0].models[0], shown[-1].models[0]
    scores = {}
    for row in rows(tmp_path / "r"):
        scores.setdefault(row["question"], []).append((row["generation"], row["score"]))
    means = [sum(s for g, s in of if g <= 3) / 3 for of in scores.values()]
    assert first.mean == pytest.approx(sum(means) / 100)
    means = [sum(s for _, s in of) / 5 for of in scores.values()]
    assert last.mean == pytest.approx(sum(means) / 100)
    assert (first.wanted, first.there, first.done) == (500, 300, 0)
    assert (last.wanted, last.there, last.done, last.failed) == (500, 300, 200, 0)
    assert [s.final for s in shown] == [False] * (len(shown) - 1) + [True]
    assert outcome.models[0].there == 300


def test_a_folder_is_not_continued_with_other_choices(tmp_path):
    """Theory: a benchmark made in Python is known by all that is asked of it, its choices too."""

    def asked(*choices):
        question = Question("q1", "Which is red?", "A", choices=choices)
        return Benchmark("colours", [question], Prompt("", "{question}"), lambda text: text or None)

    experiment = parse_experiment("{benchmark: directions-small, models: [simulated/small], generations: 1}")

    def go(benchmark):
        model = ScriptedModel(lambda _: Reply((Choice("A", "stop"),)))
        return asyncio.run(run(experiment, tmp_path / "r", benchmark=benchmark, open_model=lambda *_: model))

    go(asked("ruby", "moss"))
    go(asked("ruby", "moss"))
    with pytest.raises(InputError, match="benchmark colours: its questions or their targets have changed: sha256 was"):
        go(asked("ruby", "sky"))


def test_the_manifest_repeats_the_run(tmp_path):
    with serve(SMALL.questions) as server:
        model = ", temperature: 0.7, max_tokens: 99, extra: {min_p: 0.1}"
        sample(
            endpoint_experiment(server.base_url, generations=2, model=model, more=", limit: 10, seed: 4"),
            tmp_path / "r",
        )
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    assert manifest["seed"] == 4
    assert manifest["models"]["m"] == {
        "name": "truth-1",
        "kind": "endpoint",
        "base_url": server.base_url,
        "settings": {"temperature": 0.7, "max_tokens": 99, "extra": {"min_p": 0.1}},
        "key_env": "",
        "generations": 2,
        "choices": None,
        "price": None,
    }
    source = manifest["benchmarks"]["directions-small"]
    assert source["questions"] == 100
    assert len(source["sha256"]) == 64
    assert manifest["prompts"][SMALL.prompt.id] == {"system": SMALL.prompt.system, "template": SMALL.prompt.template}
    (session,) = manifest["sessions"]
    assert session["started"] <= session["finished"]
    assert "m: answered as model truth-1, fingerprint fp-1" in manifest["notes"]
    assert any("only the first 10 of them" in note for note in manifest["notes"])
    assert {r["endpoint_model"] for r in rows(tmp_path / "r")} == {"truth-1"}


def test_many_fingerprints_are_counted_and_not_all_listed(tmp_path):
    entry = ModelConfig("m", "m", "endpoint")
    experiment = msgspec.structs.replace(parse_experiment("{benchmark: x, models: [simulated/a]}"), models=(entry,))

    def script(request):
        return msgspec.structs.replace(right(request), fingerprint=request.question)

    sample(experiment, tmp_path / "r", benchmark=sums(50), open_model=lambda *_: ScriptedModel(script))
    notes = json.loads((tmp_path / "r/manifest.json").read_text())["notes"]
    assert "m: answered under 50 names and fingerprints; the rows have them all" in notes
    assert sum("answered as" in note for note in notes) == 20


def test_a_folder_in_use_is_refused(tmp_path):
    with RunFolder(tmp_path / "r"), pytest.raises(StoreError, match="writing"):
        sample("{benchmark: directions-small, models: [simulated/medium]}", tmp_path / "r")


def test_a_full_disk_ends_the_run_with_one_error_and_closes_all(tmp_path, monkeypatch):
    def full(*_):
        raise StoreError("disk full; free space and run again")

    monkeypatch.setattr(RunFolder, "append", full)
    model = ScriptedModel(right)
    entry = ModelConfig("m", "m", "endpoint", settings=Settings(), generations=50, concurrency=4)
    experiment = msgspec.structs.replace(parse_experiment("{benchmark: x, models: [simulated/a]}"), models=(entry,))
    with pytest.raises(StoreError, match="disk full"):
        sample(experiment, tmp_path / "r", benchmark=sums(100), open_model=lambda *_: model)
    assert model.closed
    assert len(model.requests) < 100
    monkeypatch.undo()
    assert (
        sample(experiment, tmp_path / "r", benchmark=sums(100), open_model=lambda *_: ScriptedModel(right)).done == 5000
    )


def test_a_bug_in_a_model_is_not_hidden(tmp_path):
    def script(_):
        raise ZeroDivisionError

    entry = ModelConfig("m", "m", "endpoint")
    experiment = msgspec.structs.replace(parse_experiment("{benchmark: x, models: [simulated/a]}"), models=(entry,))
    with pytest.raises(ExceptionGroup) as caught:
        sample(experiment, tmp_path / "r", benchmark=sums(1), open_model=lambda *_: ScriptedModel(script))
    assert caught.group_contains(ZeroDivisionError)


def test_our_own_error_of_a_model_comes_out_plain(tmp_path):
    def script(_):
        raise InputError("top_p is 3")

    entry = ModelConfig("m", "m", "endpoint")
    experiment = msgspec.structs.replace(parse_experiment("{benchmark: x, models: [simulated/a]}"), models=(entry,))
    with pytest.raises(HowsureError, match="top_p is 3"):
        sample(experiment, tmp_path / "r", benchmark=sums(1), open_model=lambda *_: ScriptedModel(script))


def test_two_models_share_the_time(tmp_path):
    """Lanes run side by side: neither waits for the other to end."""
    order = []

    class Slow(ScriptedModel):
        async def generate(self, request):
            order.append(self)
            await asyncio.sleep(0)
            return await super().generate(request)

    models = [Slow(right), Slow(right)]
    entries = tuple(ModelConfig(f"m{i}", "m", "endpoint", concurrency=2) for i in range(2))
    experiment = msgspec.structs.replace(parse_experiment("{benchmark: x, models: [simulated/a]}"), models=entries)
    given = iter(models)
    sample(experiment, tmp_path / "r", benchmark=sums(50), open_model=lambda *_: next(given))
    assert {id(m) for m in order[:50]} == {id(m) for m in models}


def test_a_run_with_stop_strings_is_continued(tmp_path):
    text = "{{benchmark: directions-small, limit: 3, generations: {}, models: [{{model: simulated/medium, stop: ['###', '@@']}}]}}"
    sample(text.format(2), tmp_path / "run")
    sample(text.format(4), tmp_path / "run")
    assert_complete(tmp_path / "run", 12)
