"""One model's worker against scripted endpoints, in virtual time. Kind of truth: theory (what must happen is counted)."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.scripted_model import ScriptedModel, VirtualTime, right, sums

from howsure.errors import EndpointError, FatalEndpointError, StoreError
from howsure.prompts.variants import FixedPrompt
from howsure.sample.budget import Budget
from howsure.sample.model_config import ModelConfig
from howsure.sample.model_job import ModelJob
from howsure.sample.resume import find_missing_cells
from howsure.sample.worker import Worker


class Ran:
    """A worker that has run over `questions` x `generations`, and what it kept."""

    def __init__(self, script, *, questions=10, generations=1, concurrency=4, seed=0, add=None):
        self.time = VirtualTime()
        self.model = ScriptedModel(script if not isinstance(script, type) else script(self.time))
        self.rows = []
        self.drawn = self.most_open = 0
        benchmark = sums(questions)
        self.config = ModelConfig("m", "m-1", "endpoint", generations=generations, concurrency=concurrency)

        async def go():
            self.job = ModelJob(
                self.config,
                benchmark,
                benchmark.questions,
                [FixedPrompt(benchmark, benchmark.prompt)],
                SimpleNamespace(add=add or self.rows.extend),
                budget=Budget(clock=self.time.clock),
            )
            self.worker = Worker(
                self.job,
                self.model,
                sleep=self.time.sleep,
                clock=self.time.clock,
                rng=np.random.default_rng(seed),
            )
            ids = [question.id for question in benchmark.questions]
            units = find_missing_cells(ids, self.job.variant_ids, generations, {}).tasks(
                ids, self.job.variant_ids, generations
            )
            await self.worker.run(self._counted(units))

        self.time.run(go())

    async def _counted(self, units):
        for unit in units:
            self.drawn += 1
            self.most_open = max(self.most_open, self.drawn - len({row.question for row in self.rows}))
            yield unit

    @property
    def notes(self):
        """The notes but that on equal texts, which the scripts send."""
        return [note for note in self.job.notes if not note.startswith("not one of")]

    @property
    def cells(self):
        return Counter((row.question, row.generation) for row in self.rows)

    def assert_each_cell_once(self, questions, generations):
        wanted = {(f"q{i}", g) for i in range(1, questions + 1) for g in range(1, generations + 1)}
        assert set(self.cells) == wanted
        assert set(self.cells.values()) == {1}


def fail(reason, **keys):
    return EndpointError("no", reason=reason, **keys)


def times(n, error, then=right):
    """Fail the first n requests of each question."""
    seen = Counter()

    def script(request):
        seen[request.question] += 1
        if seen[request.question] <= n:
            raise error
        return then(request)

    return script


def test_every_cell_arrives_once_with_slots_respected():
    class Slow:
        def __init__(self, time):
            self.time = time

        async def __call__(self, request):
            await self.time.sleep(1 + int(request.question[1:]) % 3)
            return right(request)

    ran = Ran(Slow, questions=50, generations=3, concurrency=4)
    ran.assert_each_cell_once(50, 3)
    assert ran.model.most_in_flight == 4
    assert ran.most_open <= 2 * 4 + 1  # the plan is drawn lazily
    assert {len(request.generations) for request in ran.model.requests} == {3}
    assert (ran.job.done, ran.job.failed, ran.job.stopped, ran.notes) == (150, 0, None, [])
    assert ran.job.versions == {("m-1", "f")}
    there = ran.job.tally.cells("sums", "m")
    assert there.n.tolist() == [[3] * 50]
    assert there.total.tolist() == [[3.0] * 50]


def test_a_request_that_always_fails_is_a_row_after_eight_attempts():
    def script(request):
        if request.question == "q3":
            raise fail("malformed")
        return right(request)

    # q3 is tried before others succeed: success is what shows that the fault is its own.
    class Script:
        def __init__(self, time):
            self.time = time

        async def __call__(self, request):
            await self.time.sleep(10)
            return script(request)

    ran = Ran(Script, questions=60, generations=2, concurrency=4)
    ran.assert_each_cell_once(60, 2)
    bad = [row for row in ran.rows if row.status == "error"]
    assert [(row.question, row.generation, row.score, row.error, row.attempts) for row in bad] == [
        ("q3", g, None, "malformed: no", 8) for g in (1, 2)
    ]
    assert sum(request.question == "q3" for request in ran.model.requests) == 8
    assert (ran.job.done, ran.job.failed) == (118, 2)


def test_waiting_work_holds_no_slot_and_retry_after_is_obeyed():
    at = {}

    class Script:
        def __init__(self, time):
            self.time = time
            self.first = True

        def __call__(self, request):
            at[request.question] = self.time.now
            if request.question == "q1" and self.first:
                self.first = False
                raise fail("rate_limit", retry_after=100.0)
            return right(request)

    ran = Ran(Script, questions=10, concurrency=1)
    ran.assert_each_cell_once(10, 1)
    assert all(at[f"q{i}"] == 0 for i in range(2, 11))
    assert 100 <= at["q1"] <= 100.5
    assert next(row.attempts for row in ran.rows if row.question == "q1") == 2


def test_a_day_to_wait_stops_the_model():
    ran = Ran(times(1, fail("rate_limit", retry_after=86_400.0)))
    assert ran.job.stopped == "the endpoint asks to wait 86,400 s: no"
    assert ran.rows == []
    assert ran.time.now == 0


def test_what_is_in_flight_when_a_long_wait_is_asked_for_is_kept():
    """Requests take a second; one is refused at once with 20 minutes to wait, 15 others are on their way."""

    class Script:
        def __init__(self, time):
            self.time = time

        async def __call__(self, request):
            if request.question == "q16":
                raise fail("rate_limit", retry_after=1200.0)
            await self.time.sleep(1)
            return right(request)

    ran = Ran(Script, questions=100, generations=3, concurrency=16)
    assert ran.job.stopped == "the endpoint asks to wait 1,200 s: no"
    assert (ran.job.done, ran.job.failed) == (45, 0)


def test_waits_that_are_asked_for_do_not_count_towards_giving_up():
    """Every request is refused for 590 s, as often as it is sent before that."""

    class Script:
        def __init__(self, time):
            self.time = time

        async def __call__(self, request):
            if 10 < self.time.now < 600:
                raise fail("rate_limit", status=429, retry_after=600 - self.time.now)
            await self.time.sleep(1)
            return right(request)

    ran = Ran(Script, questions=100, concurrency=4)
    ran.assert_each_cell_once(100, 1)
    assert ran.job.failed == 0


def test_an_endpoint_that_asks_for_waits_without_end_is_given_up():
    ran = Ran(times(10**9, fail("rate_limit", status=429, retry_after=200.0)), questions=100, concurrency=8)
    assert ran.job.stopped.startswith("no success for ")
    assert ran.rows == []
    assert ran.time.now < 3600


@pytest.mark.parametrize("generations", [1, 7])
def test_a_dead_endpoint_leaves_no_failed_rows(generations):
    """It dies after 200 seconds, with requests in every state; nothing that was in flight is a failed row."""

    class Script:
        def __init__(self, time):
            self.time, self.rng = time, np.random.default_rng(3)

        async def __call__(self, request):
            await self.time.sleep(1 + 9 * self.rng.random())
            if self.time.now > 200 or self.rng.random() < 0.1:
                raise fail("connection")
            return right(request)

    ran = Ran(Script, questions=5000, generations=generations, concurrency=64)
    assert ran.job.stopped.startswith("no success for ")
    assert ran.job.failed == 0
    assert ran.job.done > 500


def test_a_dead_endpoint_at_the_end_leaves_rows_that_the_next_session_requests_again():
    class Script:
        def __init__(self, time):
            self.time = time

        async def __call__(self, request):
            await self.time.sleep(1)
            if self.time.now > 3.5:
                raise fail("connection")
            return right(request)

    ran = Ran(Script, questions=40, concurrency=10)
    ran.assert_each_cell_once(40, 1)
    failed = [row for row in ran.rows if row.score is None]
    assert failed
    assert {row.error for row in failed} == {"outage: connection: no"}
    (note,) = ran.notes
    assert (
        note == f"{len(failed)} generations failed while no other request succeeded; the next run requests them again"
    )


@pytest.mark.parametrize(("status", "reason"), [(401, "unauthorized"), (404, "not_found"), (302, "not_found")])
def test_one_fatal_failure_among_many_successes_passes(status, reason):
    """A gateway with one bad host: two failures in a row after 200 successes."""
    count = 0

    def script(request):
        nonlocal count
        count += 1
        if count in {200, 201}:
            raise FatalEndpointError("not now", reason=reason, status=status)
        return right(request)

    ran = Ran(script, questions=300, concurrency=4)
    ran.assert_each_cell_once(300, 1)
    assert (ran.job.stopped, ran.job.failed) == (None, 0)


@pytest.mark.parametrize(("reason", "most"), [("unauthorized", 20), ("quota", 8)])
def test_a_key_that_is_revoked_in_the_middle_stops_the_model_soon(reason, most):
    count = 0

    def script(request):
        nonlocal count
        count += 1
        if count > 200:
            raise FatalEndpointError("no more", reason=reason, status=401)
        return right(request)

    ran = Ran(script, questions=300, concurrency=4)
    assert ran.job.stopped == "no more"
    assert (ran.job.done, ran.job.failed) == (200, 0)
    assert count <= 200 + most


@pytest.mark.parametrize(("reason", "status"), [("bad_request", 400), ("bad_request", 422), ("server", 500)])
def test_several_generations_refused_without_a_word_about_n(reason, status):
    """The endpoint takes one generation only, and does not say so."""

    def script(request):
        if len(request.generations) > 1:
            raise fail(reason, status=status)
        return right(request)

    ran = Ran(script, questions=30, generations=5, concurrency=8)
    ran.assert_each_cell_once(30, 5)
    assert (ran.job.stopped, ran.job.failed) == (None, 0)
    assert sum("refuses 4 generations per request; one at a time" in note for note in ran.notes) == 1
    assert len(ran.model.requests) < 150 + 8 * 10


def test_failures_at_the_start_do_not_teach_that_several_generations_are_refused():
    """For the first 20 requests the server fails whatever is asked; then it takes any number."""
    count = 0

    def script(request):
        nonlocal count
        count += 1
        if count <= 20:
            raise fail("server", status=500)
        return right(request)

    ran = Ran(script, questions=30, generations=5, concurrency=4)
    ran.assert_each_cell_once(30, 5)
    assert (ran.job.size.learned_limit, ran.notes) == (None, [])


def test_a_bad_prompt_with_several_generations_is_asked_for_one_and_is_a_row():
    """Nothing succeeds before it, so that it might be the number of generations."""

    def script(request):
        if request.question == "q1":
            raise fail("bad_request", status=400)
        return right(request)

    ran = Ran(script, questions=10, generations=4, concurrency=1)
    ran.assert_each_cell_once(10, 4)
    assert {row.question for row in ran.rows if row.status == "error"} == {"q1"}
    assert ran.job.size.learned_limit is None


@pytest.mark.parametrize("questions", [1, 3, 100])
@pytest.mark.parametrize("reason", ["connection", "server", "malformed"])
def test_an_endpoint_that_is_down_ends_within_a_minute_and_leaves_no_rows(questions, reason):
    ran = Ran(times(10**9, fail(reason)), questions=questions, concurrency=64)
    assert 30 <= ran.time.now <= 60
    assert ran.rows == []
    assert ran.job.stopped.startswith(f"no success for {ran.time.now:.0f} s and ")
    assert len(ran.model.requests) < 20 * questions + 20


@pytest.mark.parametrize(("minutes", "survives"), [(4, True), (6, False)])
def test_an_outage_in_the_middle_is_waited_out_for_five_minutes(minutes, survives):
    class Script:
        def __init__(self, time):
            self.time = time

        async def __call__(self, request):
            await self.time.sleep(1)
            if 5.5 < self.time.now < 5.5 + 60 * minutes:
                raise fail("connection")
            return right(request)

    ran = Ran(Script, questions=100, concurrency=4)
    assert ran.job.failed == 0
    if survives:
        ran.assert_each_cell_once(100, 1)
    else:
        assert ran.job.stopped is not None
        assert ran.time.now < 5 + 300 + 60
        # What arrived in the first five seconds is kept: one request alone, then four times four.
        assert len(ran.rows) == ran.job.done == 17


@pytest.mark.parametrize("bad", [1, 10])
def test_requests_that_fail_to_the_end_are_rows_and_not_an_outage(bad):
    """The last ones have no success beside them that would tell them from an endpoint that is down."""

    class Script:
        def __init__(self, time):
            self.time = time

        async def __call__(self, request):
            await self.time.sleep(1)
            if int(request.question[1:]) > 40 - bad:
                raise fail("server")
            return right(request)

    ran = Ran(Script, questions=40, concurrency=20)
    ran.assert_each_cell_once(40, 1)
    assert {row.question for row in ran.rows if row.status == "error"} == {f"q{i}" for i in range(41 - bad, 41)}
    assert ran.job.stopped is None
    assert ran.time.now < 400


def test_a_slow_start_is_not_taken_for_an_endpoint_that_is_down():
    class Script:
        def __init__(self, time):
            self.time = time
            self.busy = 0

        async def __call__(self, request):
            if self.time.now < 100 and self.busy >= 4:
                raise fail("server")
            self.busy += 1
            await self.time.sleep(120)
            return right(request)

    ran = Ran(Script, questions=40, concurrency=40)
    ran.assert_each_cell_once(40, 1)
    assert ran.job.stopped is None


def test_a_fatal_failure_stops_at_once():
    ran = Ran(times(10**9, FatalEndpointError("wrong key", reason="unauthorized", status=401)), questions=100)
    assert ran.job.stopped == "wrong key"
    assert ran.rows == []
    assert len(ran.model.requests) <= 4
    assert ran.time.now == 0


def test_a_403_among_successes_is_about_one_prompt():
    def script(request):
        if request.question == "q7":
            raise FatalEndpointError("flagged", reason="unauthorized", status=403)
        return right(request)

    ran = Ran(script, questions=10, concurrency=1)
    ran.assert_each_cell_once(10, 1)
    assert [(r.question, r.error) for r in ran.rows if r.error] == [("q7", "unauthorized: flagged")]


@pytest.mark.parametrize("first", [True, False])
def test_one_refused_prompt_is_a_row_and_is_not_tried_again(first):
    refused = "q1" if first else "q9"

    def script(request):
        if request.question == refused:
            raise fail("bad_request", status=400)
        return right(request)

    ran = Ran(script, questions=10, generations=3, concurrency=1)
    ran.assert_each_cell_once(10, 3)
    assert {row.question for row in ran.rows if row.status == "error"} == {refused}
    # Before anything succeeded, three generations may be what is refused: one is asked for.
    assert sum(request.question == refused for request in ran.model.requests) == (2 if first else 1)


@pytest.mark.parametrize("questions", [1, 5, 1000])
def test_when_every_request_is_refused_the_model_is_stopped_without_rows(questions):
    ran = Ran(times(10**9, fail("bad_request", status=400)), questions=questions, concurrency=16)
    assert ran.job.stopped == "every request was refused: no"
    assert ran.rows == []
    assert len(ran.model.requests) <= 64


@pytest.mark.parametrize(("said", "sizes"), [(None, {1}), (3, {3, 1}), (9, {1}), (0, {1})])
def test_n_that_is_rejected_is_learnt_and_said_once(said, sizes):
    """`most` of 9 or 0 makes no sense for 7 generations: one at a time then."""

    def script(request):
        if len(request.generations) > (said if said == 3 else 1):
            raise fail("n_rejected", status=400, most=said)
        return right(request)

    ran = Ran(script, questions=30, generations=7, concurrency=4)
    ran.assert_each_cell_once(30, 7)
    assert {len(r.generations) for r in ran.model.requests} == sizes | {7}
    assert sum(len(r.generations) == 7 for r in ran.model.requests) <= 4
    assert len(ran.notes) == 1
    assert {row.attempts for row in ran.rows} == {1}


def test_an_endpoint_that_ignores_n_is_asked_for_one_at_a_time():
    ran = Ran(lambda request: right(request, 1), questions=20, generations=5, concurrency=4)
    ran.assert_each_cell_once(20, 5)
    # Each reply was used: not one request more than generations.
    assert len(ran.model.requests) == 100
    assert ran.notes == ["the endpoint sends one generation per request; more requests are made instead"]


def test_one_short_reply_does_not_lower_what_is_asked_for():
    short = iter([True])
    ran = Ran(lambda r: right(r, 4 if next(short, False) else None), questions=20, generations=5, concurrency=1)
    ran.assert_each_cell_once(20, 5)
    assert Counter(len(r.generations) for r in ran.model.requests) == {5: 20, 1: 1}
    assert ran.notes == []


def test_after_a_timeout_half_as_many_are_asked_for():
    def script(request):
        if len(request.generations) > 2:
            raise fail("timeout")
        return right(request)

    ran = Ran(script, questions=6, generations=8, concurrency=2)
    ran.assert_each_cell_once(6, 8)
    assert Counter(len(r.generations) for r in ran.model.requests) == {8: 6, 4: 12, 2: 24}


def test_a_model_that_replies_without_choices_has_failed():
    ran = Ran(lambda request: right(request, 0), questions=3)
    assert ran.rows == []
    assert ran.job.stopped.endswith("failed requests: a reply without choices")
    assert ran.time.now <= 60


def test_an_endpoint_that_answers_with_something_else_is_given_up_sooner():
    """Such as a web page: each reply may be billed."""
    ran = Ran(times(10**9, fail("malformed", status=200)), questions=50)
    assert "no success for" in ran.job.stopped
    assert len(ran.model.requests) <= 30
    assert ran.rows == []


def test_trouble_shows_the_last_failure_until_it_is_over():
    ran = Ran(times(10**9, fail("connection")), questions=1)
    assert ran.job.trouble == "connection: no; without any success it is given up after 30 s"
    assert Ran(times(1, fail("connection")), questions=1).job.trouble is None


def test_a_folder_that_cannot_be_written_ends_the_run():
    def add(_):
        raise StoreError("disk full")

    with pytest.raises(ExceptionGroup) as caught:
        Ran(right, questions=3, add=add)
    assert caught.group_contains(StoreError, match="disk full")


def test_cancelling_drops_what_is_in_flight_and_keeps_what_arrived():
    class Script:
        def __init__(self, time):
            self.time = time

        async def __call__(self, request):
            await self.time.sleep(1)
            if int(request.question[1:]) > 8:
                raise asyncio.CancelledError
            return right(request)

    ran = Ran(Script, questions=12, concurrency=4)
    assert len(ran.rows) == 8
