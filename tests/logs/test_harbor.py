"""Harbor: its mean counts a trial without reward as 0; here it is missing, and the mean of the job is compared."""

import json
import shutil
from pathlib import Path

import pytest

from howsure.errors import InputError
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.results.sources import find_sources

JOB = Path(__file__).parent / "examples" / "harbor" / "2025-12-01__10-00-00"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


@pytest.fixture
def job(tmp_path):
    return Path(shutil.copytree(JOB, tmp_path / JOB.name))


def edit(file, **fields):
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def test_trials_are_generations():
    read_rows, notes = rows(JOB)
    assert [(row.question, row.generation, row.score) for row in read_rows] == [
        ("crypto", 1, 0.0), ("crypto", 2, 1.0), ("fix-git", 1, 1.0), ("fix-git", 2, 0.0), ("sqlite", 1, 1.0), ("sqlite", 2, None),
    ]  # fmt: skip
    assert {(row.benchmark, row.model) for row in read_rows} == {("terminal-bench", "terminus-2 anthropic/claude-x")}
    assert (read_rows[0].prompt_tokens, read_rows[0].completion_tokens, read_rows[0].seconds) == (1200, 300, 270)
    assert read_rows[-1].error == "EnvironmentStartTimeoutError: took too long"
    # 3 of 6, as the job says.
    assert any("the log says mean 0.5, " in note and "counts 1 missing generation as 0" in note for note in notes)


def test_a_trial_that_ran_out_of_time_keeps_the_reward_that_it_was_given():
    assert [row.score for row in rows(JOB)[0] if row.question == "crypto"] == [0.0, 1.0]


def test_the_job_is_one_log_by_its_folder_or_its_file():
    for path in (JOB, JOB / "result.json", JOB.parent):
        assert [source.path for source in find_sources(path)] == [JOB]


def test_a_single_trial(job):
    read_rows, _ = rows(job / "fix-git__aaa" / "result.json")
    assert [(row.question, row.score) for row in read_rows] == [("fix-git", 1.0)]


def test_trials_that_are_not_there_and_another_mean_are_noted(job):
    shutil.rmtree(job / "fix-git__bbb")
    (job / "crypto__eee" / "result.json").write_text("{")
    _, notes = rows(job)
    assert "2 of the 6 trials of the job are not there" in notes
    assert "the log says mean 0.5, and its scores give 1" in notes
    assert any("1 trial has a result.json that cannot be read, and is left out: crypto__eee" in note for note in notes)


def test_several_rewards_are_scorers(job):
    edit(job / "fix-git__aaa" / "result.json", verifier_result={"rewards": {"quality": 0.5, "reward": 1}})
    assert find_reader(job).describe(job).scorers == ("reward", "quality")


def test_a_job_without_trials_is_refused(job):
    for folder in job.glob("*__*"):
        shutil.rmtree(folder)
    with pytest.raises(InputError, match="holds no trial"):
        rows(job)
