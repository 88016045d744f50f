"""How long a failed request waits, and when a model is given up. Kinds of truth: theory, and a seeded simulation."""

import numpy as np
import pytest

from howsure.errors import EndpointError
from howsure.sample.resume import PromptTask
from howsure.sample.retry import PendingRequest, RetryPolicy, compute_backoff, compute_wait, is_wait_too_long


def failure(reason="server", *, status=500, retry_after=None):
    return EndpointError("no", reason=reason, status=status, retry_after=retry_after)


@pytest.mark.parametrize("attempts", [1, 2, 5, 7, 64])
def test_a_backoff_is_uniform_up_to_half_a_second_doubled_each_time_and_30_seconds(attempts):
    rng = np.random.default_rng(attempts)
    waits = np.array([compute_backoff(attempts, rng) for _ in range(4000)])
    most = min(30.0, 0.5 * 2 ** (attempts - 1))
    assert waits.min() >= 0
    assert waits.max() < most
    # The mean of 4,000 uniform numbers is within five standard errors, most / sqrt(12 * 4000).
    assert abs(waits.mean() - most / 2) < 5 * most / np.sqrt(12 * 4000)


@pytest.mark.parametrize("asked_seconds", [0.0, 0.25, 7.0, 600.0])
def test_a_request_is_never_sent_before_its_retry_after(asked_seconds):
    rng = np.random.default_rng(0)
    waits = [compute_wait(failure("rate_limit", status=429, retry_after=asked_seconds), 3, rng) for _ in range(500)]
    assert min(waits) >= asked_seconds
    assert max(waits) < asked_seconds + 2.0


def test_without_retry_after_the_wait_is_the_backoff():
    a, b = (np.random.default_rng(5) for _ in range(2))
    assert [compute_wait(failure(), n, a) for n in range(1, 9)] == [compute_backoff(n, b) for n in range(1, 9)]


@pytest.mark.parametrize(("seconds", "expected"), [(None, False), (0.0, False), (600.0, False), (600.1, True)])
def test_a_wait_of_more_than_ten_minutes_is_too_long(seconds, expected):
    assert is_wait_too_long(failure(retry_after=seconds)) is expected


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def policy_after(*, sent=0, succeeded=0, failed=0, reason="server", status=500):
    clock = Clock()
    policy = RetryPolicy(clock)
    pending = [PendingRequest(PromptTask(0, 0, (i + 1,))) for i in range(sent)]
    for each in pending:
        policy.record_sent(each)
        policy.record_returned(each)
    for _ in range(succeeded):
        policy.record_success()
    for _ in range(failed):
        policy.record_failure(failure(reason, status=status))
    return policy, clock, pending


def test_twenty_replies_that_are_no_completions_give_a_model_up():
    """Each may be billed, so that no time is a bound."""
    policy, _, _ = policy_after(sent=20, failed=20, reason="malformed", status=200)
    assert policy.should_give_up(20)
    for other in ({"failed": 19}, {"failed": 20, "succeeded": 1}):
        policy, _, _ = policy_after(sent=20, reason="malformed", status=200, **other)
        assert not policy.should_give_up(20)


def test_a_request_is_exhausted_after_eight_attempts_if_others_succeed():
    policy, clock, [pending] = policy_after(sent=1)
    pending.attempts, pending.first_sent = 8, 1.0
    assert not policy.is_exhausted(pending, failure())
    clock.now = 2.0
    policy.record_success()
    assert policy.is_exhausted(pending, failure())
    assert not policy.is_exhausted(pending, failure("rate_limit", status=429))
    pending.attempts = 64
    assert policy.is_exhausted(pending, failure("rate_limit", status=429))
