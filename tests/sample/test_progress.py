"""A snapshot to text. Kinds of truth: written by hand, rich's own layout."""

from __future__ import annotations

import contextlib
import io
import math
import os
import pty
import re
import sys
import types

import msgspec
import pytest

from howsure.sample.progress import Progress, format_lines
from howsure.sample.snapshot import ModelState, RecentRate, Snapshot


@pytest.fixture(autouse=True)
def _prices(monkeypatch):
    """How money is written is tested where it is written."""
    prices = types.ModuleType("howsure.sample.prices")
    prices.format_dollars = lambda pico: f"${pico / 1e12:.2f}"
    monkeypatch.setitem(sys.modules, "howsure.sample.prices", prices)


def snapshot(*models, seconds=10.0, final=False):
    return Snapshot(seconds=seconds, models=models, final=final)


HALF = ModelState(label="m", wanted=1000, there=100, done=400, failed=3, mean=0.61234, low=0.57784, high=0.64684)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (HALF, "m  500/1,000 50%  score 0.6123 ± 0.0345 (new questions, 95 %)  3 failed  40 per s  13s left"),
        (ModelState(label="m", wanted=10), "m  0/10 0%"),
        (ModelState(label="m", wanted=1000, done=999), "m  999/1,000 99%  100 per s  1s left"),
        (ModelState(label="m", wanted=10, done=10, mean=1.0), "m  10/10 100%  score 1.0000"),
        (ModelState(label="m", wanted=10, done=8, failed=2), "m  8/10 all tried  2 failed"),
        (ModelState(label="m", wanted=5, there=5), "m  5/5 100%"),
        (ModelState(label="m", wanted=5, trouble="no key"), "m  0/5 0%  (no key)"),
        (ModelState(label="m", wanted=5, trouble="a\nb\x1b[2J"), "m  0/5 0%  (a b [2J)"),
        (ModelState(label="m", wanted=5, done=2, failed=1, is_over=True), "m  2/5 40%  1 failed"),
        (ModelState(label="m", wanted=5, done=2, failed=1, rate=0.0), "m  2/5 40%  1 failed"),
        (ModelState(label="m", wanted=5, done=2, rate=3.0), "m  2/5 40%  3.0 per s  1s left"),
        (ModelState(label="m", wanted=0), "m  0/0 100%"),
        (
            ModelState(label="m", wanted=90, done=50, cost=1_500_000_000_000, note="round 6", may_stop=True),
            "m  50/90 55%  5.0 per s  at most 8s left  $1.50  round 6",
        ),
    ],
)
def test_a_line(model, told):
    assert format_lines(snapshot(model)) == told


def test_no_time_has_passed():
    assert format_lines(snapshot(ModelState(label="m", wanted=5, done=1), seconds=0.0)) == "m  1/5 20%"


def test_the_last_lines_tell_of_all_models_together():
    """By hand: models run side by side, so the slowest says how long; what one costs is not known."""
    fast = ModelState(label="f", wanted=100, done=50, failed=2, cost=2_000_000_000_000, tokens=5)
    slow = ModelState(label="s", wanted=100, there=10, done=10, may_stop=True)
    over = ModelState(label="o", wanted=100, done=1, is_over=True, cost=500_000_000_000)
    *_, total = format_lines(snapshot(fast, slow, over, final=True)).splitlines()
    assert total == "3 models  71/300 23%  2 failed  at most 1m 20s left  at least $2.50"
    assert len(format_lines(snapshot(fast, slow)).splitlines()) == 2
    assert len(format_lines(snapshot(fast, final=True)).splitlines()) == 1


@pytest.mark.parametrize("width", [60, 80, 120])
def test_bars_show_foreign_text_as_it_is_in_one_line_each(width):
    stream = io.StringIO()
    foreign = ModelState(label="[bold]x[/bold]", wanted=1, trouble="[red]no\x1b[2J" * 30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        with Progress(stream, live=True) as show:
            show(snapshot(HALF, foreign))
    shown = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip() for line in stream.getvalue().splitlines()]
    drawn = [line for line in shown if line.startswith("[bold]x[/bold]")]
    assert drawn
    assert all(len(line) <= width for line in shown)
    assert any(line.startswith("m") and "500/1,000 50%" in line for line in shown)
    assert "[red]no [2J" in drawn[-1] or width < 80


def test_the_rate_is_of_the_last_30_seconds():
    """By hand: 1 per s for 100 s, then 5 per s; 30 s later nothing of the slow start is left."""
    recent = RecentRate()
    rates = {}
    for half in range(261):
        seconds = half / 2
        done = int(seconds if seconds <= 100 else 100 + 5 * (seconds - 100))
        told = recent.add_rates(snapshot(ModelState(label="m", wanted=10**6, there=500, done=done), seconds=seconds))
        rates[seconds] = told.models[0].rate
    assert math.isnan(rates[0.0])
    assert rates[10.0] == 1.0
    assert rates[100.0] == 1.0
    assert rates[115.0] == pytest.approx(3.0)
    assert rates[130.0] == pytest.approx(5.0)
    assert len(recent._past) <= 32
    last = recent.add_rates(snapshot(ModelState(label="m", wanted=10**6, done=260), seconds=130.0, final=True))
    assert last.models[0].rate == 2.0


def test_a_model_that_comes_later_starts_from_nothing():
    recent = RecentRate()
    for seconds in range(5):
        recent.add_rates(snapshot(seconds=float(seconds)))
    told = recent.add_rates(snapshot(ModelState(label="m", wanted=9, done=5), seconds=5.0))
    assert told.models[0].rate == 1.0


def test_plain_lines_come_every_two_seconds_and_at_the_end():
    now = [0.0]
    stream = io.StringIO()
    with Progress(stream, clock=lambda: now[0]) as show:
        for tick in range(41):
            now[0] = tick / 10
            show(snapshot(msgspec.structs.replace(HALF, done=tick)))
        assert stream.getvalue().count("\n") == 3  # at 0, 2 and 4 s
        now[0] += 0.01
        show(snapshot(HALF, final=True))
    assert stream.getvalue().count("\n") == 4
    assert "\x1b" not in stream.getvalue()


def test_lines_that_stand_above_are_not_repeated_at_the_end():
    stream = io.StringIO()
    with Progress(stream, every=0) as show:
        show(snapshot(ModelState(label="m", wanted=5)))
        show(snapshot(ModelState(label="m", wanted=5, trouble="no key"), final=True))
    assert stream.getvalue().splitlines() == ["m  0/5 0%", "m  0/5 0%  (no key)"]
    stream = io.StringIO()
    one, other = ModelState(label="m", wanted=5, there=5), ModelState(label="n", wanted=5, there=5)
    with Progress(stream, every=0) as show:
        show(snapshot(one))
        show(snapshot(one, final=True))
    assert stream.getvalue() == "m  5/5 100%\n"
    with Progress(stream, every=0) as show:
        show(snapshot(one, other))
        show(snapshot(one, other, final=True))
    lines = stream.getvalue().splitlines()[1:]
    assert lines[:2] == ["m  5/5 100%", "n  5/5 100%"]
    assert lines[2].startswith("2 models")
    assert len(lines) == 3


def test_a_model_that_has_not_moved_is_not_told_again_until_the_end():
    stream = io.StringIO()
    still, other = msgspec.structs.replace(HALF, label="still", low=0, high=1), ModelState(label="o", wanted=9)
    with Progress(stream, every=0) as show:
        for done in range(3):
            show(snapshot(still, msgspec.structs.replace(other, done=done)))
        show(snapshot(still, msgspec.structs.replace(other, done=2)))
        show(snapshot(still, msgspec.structs.replace(other, done=2), final=True))
    assert [text.split()[0] for text in stream.getvalue().splitlines()] == ["still", "o", "o", "o", "still", "o", "2"]


def test_on_a_terminal_the_table_stays_in_place():
    stream = io.StringIO()
    with Progress(stream, live=True) as show:
        show(snapshot(HALF))
        show(snapshot(HALF, final=True))
    assert "\x1b[" in stream.getvalue()
    assert "500/1,000" in stream.getvalue()


def test_a_terminal_is_known_by_itself_and_left_as_it_was():
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as stream, Progress(stream) as show:
        assert show.live
        show(snapshot(HALF, final=True))
    shown = ""
    with contextlib.suppress(OSError):  # the end of what a terminal was shown
        while piece := os.read(leader, 65536):
            shown += piece.decode()
    os.close(leader)
    assert "500/1,000 50%" in shown
    # The cursor comes back.
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")


def test_a_stream_that_is_no_terminal_gets_plain_lines():
    assert Progress(io.StringIO()).live is False
