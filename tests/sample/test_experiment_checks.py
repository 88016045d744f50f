"""`howsure run --check` against servers that misbehave in one way each: what each line says is what the server was told to do.

Kind of truth: written by hand; the endpoint of helpers/endpoint.py knows what it was sent and what it refused.
"""

import json
import re
import resource

import pytest
from helpers.endpoint import Faults, serve

import howsure as hs
from howsure.benchmarks import load
from howsure.sample.experiment_checks import OTHER_FILES, check_experiment

QUESTIONS = load("directions-small").questions


def write(folder, base_url, *, model="", more=""):
    path = folder / "exp.yaml"
    path.write_text(
        f'{{benchmark: directions-small, models: [{{model: m, base_url: "{base_url}"{model}}}], generations: 4{more}}}'
    )
    return path


def lines(checks):
    """(check, state) -> text of its result and remedy."""
    return {(row["check"], row["state"]): f"{row['result']}; {row['remedy']}" for row in checks}


def check(folder, faults, **options):
    with serve(QUESTIONS, faults=faults) as server:
        checks = check_experiment(write(folder, server.base_url, **options))
    return lines(checks), checks, server


def test_a_server_that_does_all_that_is_requested(tmp_path):
    found, checks, server = check(tmp_path, Faults())
    assert checks.is_ready
    assert checks.n_requests == len(server.bodies) == 1
    assert server.asked == {2: 1}
    assert "2 of 2 generations" in found["n", "ok"]
    assert re.search(r"the 100 requests of the run would take \d+[smh]", found["endpoint", "ok"])
    assert ("answer", "ok") in found
    assert "400 of 400 generations" in found["requests", "note"]
    assert not (tmp_path / "exp").exists()


def test_a_server_that_ignores_n(tmp_path):
    found, checks, _ = check(tmp_path, Faults(ignores_n=True))
    assert checks.is_ready
    assert "1 of 2 generations" in found["n", "note"]
    assert "the 400 requests of the run would take" in found["endpoint", "ok"]  # 100 questions, 4 generations of each


def test_a_server_that_refuses_n_is_sent_a_second_request(tmp_path):
    found, checks, server = check(tmp_path, Faults(most=1))
    assert checks.is_ready
    assert checks.n_requests == len(server.bodies) == 2
    assert "refuses 2 generations" in found["n", "note"]
    assert ("endpoint", "ok") in found


@pytest.mark.parametrize(
    ("faults", "options", "words"),
    [
        (Faults(key="right"), {"model": ", key_env: HOWSURE_TEST_KEY"}, ("401", "export the right key")),
        (Faults(model="other"), {}, ("does not exist", "correct the model's name")),
        (Faults(always=(404, "<h1>Not Found</h1>")), {}, ("404", "/v1")),
        (Faults(always=(500, "{}")), {}, ("500", "server's own log")),
        (Faults(always=(402, '{"error": {"message": "no credit"}}')), {}, ("402", "credit")),
        (Faults(rates={"malformed": 1}), {}, ("dialect",)),
    ],
)
def test_an_endpoint_that_refuses_is_a_problem_with_its_remedy(tmp_path, monkeypatch, faults, options, words):
    monkeypatch.setenv("HOWSURE_TEST_KEY", "sk-wrong-0123456789abcdef")
    found, checks, _ = check(tmp_path, faults, **options)
    assert not checks.is_ready
    text = found["endpoint", "problem"]
    assert all(word in text for word in words), text
    assert "0123456789abcdef" not in str(checks)


def test_a_server_that_fails_once_is_no_problem(tmp_path):
    """The first request for the question is answered with 500, and its repetition is not."""
    found, checks, server = check(tmp_path, Faults(rates={"server": 0.7}))
    assert checks.is_ready
    assert checks.n_requests == len(server.bodies) == 2
    assert "500" in found["endpoint", "note"]
    assert ("endpoint", "ok") in found


def test_a_server_that_is_not_there(tmp_path):
    checks = check_experiment(write(tmp_path, "http://127.0.0.1:9/v1"))
    assert "start the server" in lines(checks)["endpoint", "problem"]


def test_a_missing_key_sends_nothing(tmp_path, monkeypatch):
    monkeypatch.delenv("HOWSURE_TEST_KEY", raising=False)
    found, checks, server = check(tmp_path, Faults(), model=", key_env: HOWSURE_TEST_KEY")
    assert not checks.is_ready
    assert checks.n_requests == len(server.bodies) == 0
    assert "HOWSURE_TEST_KEY has no key" in found["key", "problem"]


def test_offline_sends_nothing(tmp_path):
    with serve(QUESTIONS) as server:
        checks = hs.doctor(write(tmp_path, server.base_url), offline=True)
    assert server.bodies == []
    assert "not tried" in lines(checks)["endpoint", "note"]


def test_settings_of_one_model_are_one_request(tmp_path):
    found, checks, server = check(tmp_path, Faults(), model=", temperature: [0.2, 0.7]", more=", greedy: true")
    assert len(server.bodies) == checks.n_requests == 1
    assert "(and 2 other settings)" in found["endpoint", "ok"]


def test_a_completion_that_is_cut_off_and_one_without_an_answer(tmp_path):
    for text, finish, expected in (("The way is", "length", "cut off"), ("I cannot say.", "stop", "no answer")):
        body = {"choices": [{"message": {"content": text}, "finish_reason": finish}] * 2}
        found, checks, _ = check(tmp_path, Faults(always=(200, json.dumps(body))))
        assert expected in found["answer", "note"]
        assert "does not count its tokens" in found["tokens", "note"]
        assert checks.is_ready


def test_a_file_that_is_no_experiment_names_its_line(tmp_path):
    path = tmp_path / "exp.yaml"
    path.write_text("benchmark: directions-small\nmodels: [simulated/medium]\ngeneration: 4\n")
    checks = check_experiment(path)
    assert not checks.is_ready
    assert "exp.yaml:3" in lines(checks)["experiment", "problem"]


def test_an_unknown_benchmark_leaves_the_models_to_be_tried(tmp_path):
    with serve(QUESTIONS) as server:
        path = write(tmp_path, server.base_url)
        path.write_text(path.read_text().replace("directions-small", "direction-small"))
        found = lines(check_experiment(path))
    assert "directions-small" in found["benchmark", "problem"]
    assert len(server.bodies) == 1


def test_a_folder_that_cannot_be_written_and_a_file_in_its_place(tmp_path):
    path = tmp_path / "exp.yaml"
    path.write_text("{benchmark: directions-small, models: [simulated/medium]}")
    (tmp_path / "taken").write_text("")
    assert "is a file" in lines(check_experiment(path, tmp_path / "taken"))["disk", "problem"]
    assert "cannot be written" in lines(check_experiment(path, type(path)("/proc/exp")))["disk", "problem"]


def test_too_few_open_files(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    path = write(tmp_path, "http://127.0.0.1:9/v1", model=f", max_concurrent: {min(soft, 9000)}")
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 9000), hard))
        found = lines(hs.doctor(path, offline=True))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert f"ulimit -n {min(soft, 9000) + OTHER_FILES}" in found["limits", "problem"]


def test_what_a_folder_has_is_not_requested_again(tmp_path):
    path = tmp_path / "exp.yaml"
    path.write_text("{benchmark: directions-small, models: [simulated/medium], generations: 2}")
    hs.run(path)
    assert "0 of 200 generations" in lines(check_experiment(path))["requests", "ok"]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_lines_fit_the_terminal(tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    text = str(check_experiment(write(tmp_path, "http://127.0.0.1:9/v1")))
    # A path is not broken: it may stand on a line of its own.
    assert [line for line in text.splitlines() if len(line) > width and len(line.split()) > 1] == []


def test_multiple_choice_without_choices_is_a_note(tmp_path):
    rows = "".join(f"What is the capital of country {i}?,{letter}\n" for i, letter in enumerate("ABCD"))
    (tmp_path / "q.csv").write_text(f"question,answer\n{rows}")
    file = tmp_path / "exp.yaml"
    file.write_text(
        "{benchmark: {file: q.csv, question: question, target: answer}, models: [simulated/small], generations: 1}"
    )
    checks = check_experiment(file)
    assert [one.state for one in checks.checks if "choices: [A, B, C, D]" in one.result] == ["note"]
