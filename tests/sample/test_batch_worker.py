"""One model's batches against a real server on 127.0.0.1. Kind of truth: theory (what must happen is counted)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.batch_endpoint import BatchServer, answered, right, serve, troubled
from helpers.scripted_model import sums

from howsure.benchmarks import Prompt
from howsure.errors import StoreError
from howsure.models.batch_client import BatchClient
from howsure.models.model import Settings
from howsure.prompts.variants import FixedPrompt
from howsure.sample import batch_worker
from howsure.sample import batch_worker as module
from howsure.sample.batch_files import RequestIds
from howsure.sample.batch_worker import BatchWorker
from howsure.sample.budget import Budget
from howsure.sample.experiment import parse_experiment
from howsure.sample.model_config import ModelConfig, open_model
from howsure.sample.model_job import ModelJob
from howsure.sample.prices import Price
from howsure.sample.resume import PromptTask, find_missing_cells
from howsure.sample.run import run

KEY = "sk-planted-0123456789"


class Killed(BaseException):
    """The process is gone."""


class Runs:
    """Sessions of one run folder; `rows` are those on the disk, `taken` those that were only handed over."""

    def __init__(self, server, folder, *, questions=5, generations=2, prompts=None, settings=None, key="", **keys):
        self.server, self.folder, self.key, self.keys = server, folder, key, keys
        self.benchmark = sums(questions)
        self.prompts = [FixedPrompt(self.benchmark, prompt) for prompt in prompts or [self.benchmark.prompt]]
        self.generations = generations
        self.config = ModelConfig(
            "m", "m-1", "endpoint", generations=generations, mode="batch", settings=settings or Settings(), **keys
        )
        self.rows, self.taken, self.slept = [], [], []

    def flush(self):
        self.rows += self.taken
        self.taken.clear()

    def session(self, client=BatchClient, sleep=None, worker=BatchWorker, **keys):
        """Ask for what has no row yet."""

        async def nap(seconds):
            self.slept.append(seconds)

        async def go():
            api = client(self.server.base_url, "m-1", key=self.key)
            ran = worker(
                ModelJob(
                    self.config,
                    self.benchmark,
                    self.benchmark.questions,
                    self.prompts,
                    SimpleNamespace(add=self.taken.extend, flush=self.flush),
                    **keys,
                ),
                api,
                folder=self.folder,
                sleep=sleep or nap,
                rng=np.random.default_rng(0),
            )
            present = {}
            for row in self.rows:
                if row.score is not None:
                    place = row.question, row.variant
                    present[place] = present.get(place, 0) | 1 << row.generation
            ids = [question.id for question in self.benchmark.questions]

            async def units():
                for unit in find_missing_cells(ids, ran.job.variant_ids, self.generations, present).tasks(
                    ids, ran.job.variant_ids, self.generations
                ):
                    yield unit

            try:
                await ran.run(units())
            finally:
                await api.close()
            return ran

        self.taken = []
        self.worker = None
        self.worker = asyncio.run(go())
        return self.worker

    @property
    def cells(self):
        return Counter((row.question, row.variant, row.generation) for row in self.rows if row.score is not None)

    def assert_complete(self):
        wanted = {
            (question.id, prompt.id, g)
            for question in self.benchmark.questions
            for prompt in self.prompts
            for g in range(1, self.generations + 1)
        }
        assert set(self.cells) == wanted, self.worker.job.stopped
        assert set(self.cells.values()) == {1}
        assert {row.score for row in self.rows if row.score is not None} == {1.0}
        assert not list(self.folder.iterdir())


def test_all_that_is_owed_comes_in_one_batch_in_any_order(tmp_path):
    prompts = [Prompt(), Prompt(system="Be brief.")]
    settings = Settings(temperature=0.5, top_p=0.9, max_tokens=9, stop=("END",), extra={"top_k": 3})
    with serve(BatchServer(key=KEY)) as server:
        runs = Runs(server, tmp_path, prompts=prompts, settings=settings, key=KEY, generations=3)
        worker = runs.session()
    runs.assert_complete()
    assert (worker.job.done, worker.job.failed, worker.job.stopped, worker.job.notes, worker.job.trouble) == (
        30,
        0,
        None,
        [],
        None,
    )
    assert worker.job.versions == {("m-1", "f")}
    assert len(server.batches) == 1
    assert len(server.lines(1)) == 10
    wanted = {"model": "m-1", "temperature": 0.5, "top_p": 0.9, "max_tokens": 9, "stop": ["END"], "top_k": 3, "n": 3}
    assert all(wanted.items() <= line["body"].items() for line in server.lines(1))
    assert (worker.job.prompt_tokens, worker.job.completion_tokens, worker.job.saved_tokens, worker.n_requests) == (
        100,
        150,
        200,
        10,
    )
    assert worker.job.tally.pooled_cells("sums", "m").mean.tolist() == [[1.0] * 5]
    assert all(row.attempts == 1 and row.prompt_tokens in {10, None} for row in runs.rows)


def test_names_are_short_safe_and_say_what_was_asked():
    questions = sums(50).questions
    names = RequestIds(questions, [Prompt().id, Prompt(system="s").id])
    for unit in (
        PromptTask(0, 1, (1,)),
        PromptTask(49, 0, (3, 4, 9)),
        PromptTask(7, 1, tuple(range(100_000, 100_064))),
    ):
        name = names.encode(unit)
        assert names.decode(name) == unit
        assert len(name) <= 64
        assert name.replace("-", "").isalnum()
    # Another order of the questions, or others beside them, change no name.
    turned = RequestIds(questions[::-1], [Prompt(system="s").id])
    assert turned.decode(names.encode(PromptTask(49, 1, (2,)))) == PromptTask(0, 0, (2,))
    assert turned.decode(names.encode(PromptTask(49, 0, (2,)))) is None
    assert names.decode("../../etc/passwd") is None


def test_large_runs_are_cut_at_the_limits_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "REQUESTS", 4)
    with serve(BatchServer()) as server:
        runs = Runs(server, tmp_path, questions=10)
        runs.session()
        runs.assert_complete()
        assert [len(server.lines(i)) for i in (1, 2, 3)] == [4, 4, 2]
        monkeypatch.setattr(module, "BYTES", 250)
        runs = Runs(server, tmp_path, questions=4)
        runs.session()
    runs.assert_complete()
    # A line has about 200 bytes: the second passes the limit and is the last.
    assert [len(server.lines(i)) for i in (4, 5)] == [2, 2]


def test_looks_come_less_often_the_longer_it_takes(tmp_path):
    with serve(BatchServer(looks=14)) as server:
        runs = Runs(server, tmp_path)
        runs.session()
    runs.assert_complete()
    assert 4 <= runs.slept[0] <= 6
    assert all(270 <= wait <= 330 for wait in runs.slept[-2:])
    assert len(runs.slept) == 13


def test_a_killed_run_finds_its_batch_and_buys_nothing_twice(tmp_path):
    async def killed(_):
        raise Killed

    with serve(BatchServer()) as server:
        runs = Runs(server, tmp_path)
        with pytest.raises(Killed):
            runs.session(sleep=killed)
        assert not runs.rows
        runs.session()
    runs.assert_complete()
    assert len(server.batches) == 1


@pytest.mark.parametrize("others", [0, 5])
def test_a_kill_between_the_submission_and_its_note_buys_nothing_twice(tmp_path, others):
    class Dies(BatchClient):
        async def create(self, file, token):
            await super().create(file, token)
            raise Killed

    with serve(BatchServer()) as server:
        runs = Runs(server, tmp_path)
        with pytest.raises(Killed):
            runs.session(Dies)
        assert len(server.batches) == 1
        # Later batches of others push ours onto another page of the list.
        for i in range(others):
            server.batches[f"other_{i}"] = {"id": f"other_{i}", "status": "completed", "metadata": {"howsure": "x"}}
        runs.session()
    runs.assert_complete()
    assert len(server.batches) == 1 + others


def test_a_kill_before_the_submission_leaves_all_owed(tmp_path):
    class Dies(BatchClient):
        async def create(self, *_):
            raise Killed

    with serve(BatchServer()) as server:
        runs = Runs(server, tmp_path)
        with pytest.raises(Killed):
            runs.session(Dies)
        runs.session()
    runs.assert_complete()
    assert len(server.batches) == 1
    assert batch_worker.LISTED_AFTER in runs.slept, "it looked a second time before it submitted again"


def test_a_kill_before_the_rows_are_on_the_disk_collects_them_again(tmp_path):
    class Dies(BatchWorker):
        async def _store_results(self, record, batch):
            def flush():
                raise Killed

            self.job.writer.flush = flush
            await super()._store_results(record, batch)

    with serve(BatchServer()) as server:
        runs = Runs(server, tmp_path)
        with pytest.raises(Killed):
            runs.session(worker=Dies)
        assert not runs.rows
        runs.session()
    runs.assert_complete()
    assert len(server.batches) == 1


def test_more_that_is_wanted_later_is_asked_for_beside_the_batch_that_runs(tmp_path):
    async def killed(_):
        raise Killed

    with serve(BatchServer()) as server:
        runs = Runs(server, tmp_path, generations=2)
        with pytest.raises(Killed):
            runs.session(sleep=killed)
        runs.generations = 5
        runs.session()
    runs.assert_complete()
    assert len(server.batches) == 2
    assert [line["body"].get("n") for line in server.lines(2)] == [3] * 5


def test_what_is_no_longer_wanted_is_dropped_and_told(tmp_path):
    async def killed(_):
        raise Killed

    with serve(BatchServer()) as server:
        runs = Runs(server, tmp_path, questions=5)
        with pytest.raises(Killed):
            runs.session(sleep=killed)
        runs.benchmark = sums(3)
        worker = runs.session()
    runs.assert_complete()
    assert "not needed" in worker.job.notes[0]


def test_an_answer_that_is_lost_does_not_submit_twice(tmp_path):
    with serve(BatchServer(refuses={"POST batches": [(0, "")]})) as server:
        runs = Runs(server, tmp_path)
        runs.session()
    runs.assert_complete()
    assert len(server.batches) == 1


def test_trouble_on_the_way_is_tried_again(tmp_path):
    refuses = {
        "POST files": [(500, "oops"), (429, "slow down")],
        "POST batches": [(503, "later")],
        "GET batches": [(502, "gateway"), (200, "not JSON")],
        "GET files/content": [(500, "oops")],
    }
    with serve(BatchServer(refuses=refuses, cut=2)) as server:
        runs = Runs(server, tmp_path, questions=30)
        worker = runs.session()
    runs.assert_complete()
    assert (worker.job.stopped, worker.job.notes) == (None, [])
    assert len(server.batches) == 1


def test_lines_that_failed_or_are_missing_are_asked_for_again_and_fail_in_the_end(tmp_path):
    def answer(batch, line):
        number = int(line["body"]["messages"][-1]["content"].split("+")[1].rstrip("?"))
        if number == 1 and batch == 1:
            return answered(line["custom_id"], {"error": {"message": "oops"}}, 500)
        if number == 2 and batch <= 2:
            return None
        if number == 3:
            return answered(line["custom_id"], {"error": {"message": "overloaded"}}, 503)
        if number == 4:
            return answered(line["custom_id"], {"error": {"message": "this prompt is too long"}}, 400)
        return answered(line["custom_id"], right(line["body"]))

    with serve(BatchServer(answer=answer)) as server:
        runs = Runs(server, tmp_path)
        worker = runs.session()
    assert (worker.job.done, worker.job.failed, worker.job.stopped) == (6, 4, None)
    told = {(row.question, row.status, row.attempts, (row.error or "").partition(":")[0]) for row in runs.rows}
    assert told == {
        ("q1", "ok", 2, ""),
        ("q2", "ok", 3, ""),
        ("q3", "error", 3, "server"),
        ("q4", "error", 1, "bad_request"),
        ("q5", "ok", 1, ""),
    }
    assert [len(server.lines(i)) for i in (1, 2, 3)] == [5, 3, 2]


def test_what_came_of_an_expired_batch_is_kept_and_the_rest_asked_for_again(tmp_path):
    def answer(batch, line):
        if batch == 1 and "1+1" not in line["body"]["messages"][0]["content"]:
            return troubled(line["custom_id"], "batch_expired")
        return answered(line["custom_id"], right(line["body"]))

    with serve(BatchServer(answer=answer, status=lambda batch: "expired" if batch == 1 else "completed")) as server:
        runs = Runs(server, tmp_path)
        worker = runs.session()
    runs.assert_complete()
    assert worker.job.stopped is None
    assert [len(server.lines(i)) for i in (1, 2)] == [5, 4]


def test_a_batch_that_always_expires_ends_in_failures(tmp_path):
    with serve(BatchServer(answer=lambda *_: None, status=lambda _: "expired")) as server:
        runs = Runs(server, tmp_path)
        worker = runs.session()
    assert (worker.job.done, worker.job.failed) == (0, 10)
    assert len(server.batches) == 3
    assert {row.error for row in runs.rows} == {"empty: the batch expired without an answer"}


def test_a_cancelled_batch_stops_the_model_and_the_next_run_goes_on(tmp_path):
    def answer(batch, line):
        return None if batch == 1 and "1+1" in str(line) else answered(line["custom_id"], right(line["body"]))

    with serve(BatchServer(answer=answer, status=lambda b: "cancelled" if b == 1 else "completed")) as server:
        runs = Runs(server, tmp_path)
        worker = runs.session()
        assert "batch_1 was cancelled; run again" in worker.job.stopped
        assert (worker.job.done, worker.job.failed) == (8, 0)
        runs.session()
    runs.assert_complete()
    assert len(server.lines(2)) == 1


def test_a_batch_that_failed_as_a_whole_stops_the_model(tmp_path):
    errors = [{"code": "invalid_json_line", "message": "line 1 is wrong", "line": 1}]
    with serve(BatchServer(status=lambda _: "failed", errors=errors)) as server:
        runs = Runs(server, tmp_path)
        worker = runs.session()
    assert worker.job.stopped == "the batch batch_1 failed: invalid_json_line: line 1 is wrong"
    assert not runs.rows
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("times", [1, 9])
def test_too_much_at_a_time_is_submitted_again_later(tmp_path, times):
    errors = [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]
    status = lambda batch: "failed" if batch <= times else "completed"  # noqa: E731
    with serve(BatchServer(status=status, errors=errors)) as server:
        runs = Runs(server, tmp_path)
        worker = runs.session()
    if times == 1:
        runs.assert_complete()
        assert 600 in runs.slept
    else:
        assert "Enqueued token limit" in worker.job.stopped
        assert len(server.batches) == 3


def test_malformed_foreign_and_doubled_lines_harm_nothing(tmp_path):
    def answer(batch, line):
        if batch == 1 and "2+2" in str(line):
            return b'{"custom_id": "cut'
        body = right(line["body"])
        if batch == 1 and "3+3" in str(line):
            body = {"choices": "none"}
        return answered(line["custom_id"], body)

    foreign = answered("ffffffffffff-ffffffffffff-1-1", right({"messages": [{"content": "What is 9+9?"}]}))
    server = BatchServer(answer=answer, extra=[foreign, b"", b"[1, 2]", b"\xff\xfe"])
    with serve(server):
        runs = Runs(server, tmp_path)
        worker = runs.session()
    runs.assert_complete()
    assert sorted(worker.job.notes) == [
        "a batch's results contained answers that were not requested; those were dropped",
        "some lines of a batch's results could not be read; those generations are requested again",
    ]


def test_the_first_of_two_answers_counts(tmp_path):
    def answer(_, line):
        whole = json.dumps(answered(line["custom_id"], right(line["body"]))).encode()
        return whole + b"\n" + whole

    with serve(BatchServer(answer=answer)) as server:
        runs = Runs(server, tmp_path)
        runs.session()
    runs.assert_complete()


def test_fewer_choices_are_made_up_for(tmp_path):
    def answer(_, line):
        return answered(line["custom_id"], right(line["body"] | {"n": 1}))

    with serve(BatchServer(answer=answer)) as server:
        runs = Runs(server, tmp_path, generations=4)
        worker = runs.session()
    runs.assert_complete()
    assert worker.job.size.learned_limit == 1
    assert len(server.batches) == 2
    assert [len(server.lines(i)) for i in (1, 2)] == [5, 15]


def test_n_that_is_refused_is_not_asked_again(tmp_path):
    def answer(batch, line):
        if line["body"].get("n", 1) > 2:
            return answered(line["custom_id"], {"error": {"message": "n must be at most 2"}}, 400)
        return answered(line["custom_id"], right(line["body"] | {"n": line["body"].get("n", 1) + (batch == 3)}))

    with serve(BatchServer(answer=answer)) as server:
        runs = Runs(server, tmp_path, generations=4)
        worker = runs.session()
    runs.assert_complete()
    assert "takes at most 2 generations per request" in worker.job.notes[0]
    assert [len(server.lines(i)) for i in (1, 2)] == [5, 10]


def test_a_surplus_is_told(tmp_path):
    with serve(
        BatchServer(answer=lambda _, line: answered(line["custom_id"], right(line["body"] | {"n": 3})))
    ) as server:
        runs = Runs(server, tmp_path, generations=2)
        worker = runs.session()
    runs.assert_complete()
    assert any("more generations than requested" in note for note in worker.job.notes)


@pytest.mark.parametrize(("status", "told"), [(400, "bad temperature"), (404, "no such model")])
def test_when_every_request_is_refused_the_model_is_stopped_without_rows(tmp_path, status, told):
    answer = lambda _, line: answered(line["custom_id"], {"error": {"message": told}}, status)  # noqa: E731
    with serve(BatchServer(answer=answer)) as server:
        runs = Runs(server, tmp_path)
        worker = runs.session()
    assert worker.job.stopped == f"every request was refused: HTTP {status}: {told}"
    assert not runs.rows
    assert len(server.batches) == 1


def test_an_empty_account_stops_the_model_and_keeps_what_came(tmp_path):
    def answer(_, line):
        if "1+1" in str(line):
            return answered(line["custom_id"], right(line["body"]))
        return answered(line["custom_id"], {"error": {"message": "pay", "code": "insufficient_quota"}}, 429)

    with serve(BatchServer(answer=answer)) as server:
        runs = Runs(server, tmp_path)
        worker = runs.session()
    assert (worker.job.done, worker.job.failed) == (2, 0)
    assert worker.job.stopped == "HTTP 429: pay"


def test_a_wrong_key_stops_the_model_and_is_nowhere(tmp_path):
    with serve(BatchServer(key="another")) as server:
        runs = Runs(server, tmp_path, key=KEY)
        worker = runs.session()
    assert "HTTP 401" in worker.job.stopped
    assert KEY not in worker.job.stopped
    assert all(KEY not in file.read_text() for file in tmp_path.iterdir())


def test_a_key_in_the_results_is_blanked(tmp_path):
    def answer(_, line):
        whole = json.dumps(answered(line["custom_id"], right(line["body"])))
        return whole.replace('"= ', f'"my key is {KEY} = ').encode()

    with serve(BatchServer(answer=answer, key=KEY)) as server:
        runs = Runs(server, tmp_path, key=KEY)
        runs.session()
    runs.assert_complete()
    assert all(row.completion.startswith("my key is ***") for row in runs.rows)


def test_nobody_there_is_tried_for_long_and_then_told(tmp_path):
    server = BatchServer(base_url="http://127.0.0.1:9/v1")
    runs = Runs(server, tmp_path)
    worker = runs.session()
    assert worker.job.stopped.startswith("connection: ")
    assert len(runs.slept) == batch_worker.ATTEMPTS - 1


@pytest.mark.parametrize(("seconds", "stops"), [("17", False), ("7200", True)])
def test_a_wait_that_is_asked_for_is_kept_unless_it_is_hours(tmp_path, seconds, stops):
    with serve(BatchServer(refuses={"POST files": [(429, "slow down")]}, retry_after=seconds)) as server:
        runs = Runs(server, tmp_path)
        worker = runs.session()
    if stops:
        assert worker.job.stopped == "rate_limit: HTTP 429: slow down"
        assert not runs.slept
    else:
        runs.assert_complete()
        assert 17 <= runs.slept[0] <= 47


def test_a_line_without_end_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 50_000)
    with serve(BatchServer(extra=[b"x" * 1_000_000])) as server:
        runs = Runs(server, tmp_path)
        worker = runs.session()
    assert "longer than 50,000 bytes" in worker.job.stopped


def test_told_to_finish_it_leaves_the_batch_for_the_next_run(tmp_path):
    with serve(BatchServer(looks=5)) as server:
        runs = Runs(server, tmp_path)

        class Finishes(BatchWorker):
            async def _collect(self, waiting):
                asyncio.get_running_loop().call_later(0.05, self.stop)
                self.calls.sleep = asyncio.sleep
                await super()._collect(waiting)

        worker = runs.session(worker=Finishes)
        assert (worker.job.done, worker.job.stopped, worker.in_flight) == (0, None, 0)
        asyncio.run(worker.wait_until_idle())
        runs.session()
    runs.assert_complete()
    assert len(server.batches) == 1


def test_the_budget_bounds_what_is_submitted_and_is_settled(tmp_path):
    budget = Budget(calls=7)
    with serve(BatchServer()) as server:
        runs = Runs(server, tmp_path, questions=10)
        worker = runs.session(budget=budget, price=Price(2, 3))
    assert worker.job.done == 14
    assert "7 of 7 calls" in worker.job.spent
    assert worker.job.cost == 7 * (10 * 2 + 10 * 3)
    assert budget.spent == budget.recorded_spending
    assert (budget.spent.calls, budget.spent.tokens) == (7, 140)


def test_a_budget_of_tokens_is_spent_in_several_batches(tmp_path):
    # The worst case of a request is much more than it takes: what is left over pays for another batch.
    budget = Budget(tokens=1000)
    with serve(BatchServer()) as server:
        runs = Runs(server, tmp_path, questions=10, settings=Settings(max_tokens=100))
        worker = runs.session(budget=budget)
    runs.assert_complete()
    assert worker.job.spent is None
    assert len(server.batches) > 1
    assert budget.spent.tokens == 200


def test_usage_that_is_not_told_is_paid_in_full(tmp_path):
    def answer(_, line):
        return answered(line["custom_id"], right(line["body"]) | {"usage": None})

    budget = Budget(tokens=100_000)
    with serve(BatchServer(answer=answer)) as server:
        runs = Runs(server, tmp_path, settings=Settings(max_tokens=100))
        worker = runs.session(budget=budget)
    runs.assert_complete()
    assert worker.job.cost is None
    assert budget.spent.tokens >= 5 * 2 * 100


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "cannot be read; search the provider"),
        ('{"version": 99, "benchmark": "sums", "model": "m", "token": "t"}', "newer howsure"),
        ('{"benchmark": "sums", "model": "m", "token": "../t"}', "give the file its old name"),
    ],
)
def test_a_note_that_cannot_be_read_is_an_error(tmp_path, content, told):
    (tmp_path / "batch-t.json").write_text(content)
    with serve(BatchServer()) as server:
        with pytest.raises(StoreError, match=told):
            Runs(server, tmp_path).session()
        assert not server.calls


def test_batches_of_other_models_are_left_alone(tmp_path):
    (tmp_path / "batch-t.json").write_text('{"benchmark": "sums", "model": "other", "token": "t"}')
    with serve(BatchServer()) as server:
        runs = Runs(server, tmp_path)
        runs.session()
    assert [file.name for file in tmp_path.iterdir()] == ["batch-t.json"]
    assert len(runs.cells) == 10


def test_a_full_disk_is_told(tmp_path):
    with serve(BatchServer()) as server:
        runs = Runs(server, tmp_path / "gone")
        with pytest.raises(StoreError, match="free space and run again"):
            runs.session()
    assert "BatchClient(" in repr(BatchClient(server.base_url, "m", key=KEY))
    assert KEY not in repr(BatchClient(server.base_url, "m", key=KEY))


def test_a_whole_run_in_batch_mode_is_complete_and_leaves_nothing_behind(tmp_path):
    with serve(BatchServer(key=KEY)) as server:
        text = (
            f"{{benchmark: sums, generations: 3, models: [{{model: m-1, base_url: '{server.base_url}', mode: batch,"
            " key_env: PLANTED}]}"
        )
        experiment = parse_experiment(text)
        opened = lambda entry, benchmark: open_model(entry, benchmark, environ={"PLANTED": KEY})  # noqa: E731

        async def nap(_):
            return None

        folder = tmp_path / "run"
        outcome = asyncio.run(run(experiment, folder, benchmark=sums(4), open_model=opened, sleep=nap))
        assert (outcome.done, outcome.failed, outcome.is_complete) == (12, 0, True)
        again = asyncio.run(run(experiment, folder, benchmark=sums(4), open_model=opened, sleep=nap))
    assert again.done == 0
    assert len(server.batches) == 1
    assert not list(folder.glob("batch-*"))
    assert all(KEY.encode() not in file.read_bytes() for file in folder.iterdir())
