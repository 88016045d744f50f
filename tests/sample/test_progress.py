"""A snapshot to text. Kinds of truth: written by hand, rich's own layout."""

from __future__ import annotations

import contextlib
import io
import math
import os
import pty
import sys
import types

import msgspec
import pytest
from rich.console import Console

from howsure.sample.progress import Progress, build_table, format_lines
from howsure.sample.snapshot import ModelProgress, RecentRate, Snapshot


@pytest.fixture(autouse=True)
def _prices(monkeypatch):
    """How money is written is tested where it is written."""
    prices = types.ModuleType("howsure.sample.prices")
    prices.format_dollars = lambda pico: f"${pico / 1e12:.2f}"
    monkeypatch.setitem(sys.modules, "howsure.sample.prices", prices)


def snapshot(*models, seconds=10.0, final=False):
    return Snapshot(seconds=seconds, models=models, final=final)


HALF = ModelProgress(label="m", wanted=1000, there=100, done=400, failed=3, mean=0.61234, low=0.57784, high=0.64684)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (HALF, "m  500/1,000 50%  score 0.6123 ± 0.0345 (new questions, 95 %)  3 failed  40 per s  13s left"),
        (ModelProgress(label="m", wanted=10), "m  0/10 0%"),
        (ModelProgress(label="m", wanted=1000, done=999), "m  999/1,000 99%  100 per s  1s left"),
        (ModelProgress(label="m", wanted=10, done=10, mean=1.0), "m  10/10 100%  score 1.0000"),
        (ModelProgress(label="m", wanted=10, done=8, failed=2), "m  8/10 all tried  2 failed"),
        (ModelProgress(label="m", wanted=5, there=5), "m  5/5 100%"),
        (ModelProgress(label="m", wanted=5, trouble="no key"), "m  0/5 0%  (no key)"),
        (ModelProgress(label="m", wanted=5, trouble="a\nb\x1b[2J"), "m  0/5 0%  (a b [2J)"),
        (ModelProgress(label="m", wanted=5, done=2, failed=1, is_over=True), "m  2/5 40%  1 failed"),
        (ModelProgress(label="m", wanted=5, done=2, failed=1, rate=0.0), "m  2/5 40%  1 failed"),
        (ModelProgress(label="m", wanted=5, done=2, rate=3.0), "m  2/5 40%  3.0 per s  1s left"),
        (ModelProgress(label="m", wanted=0), "m  0/0 100%"),
        (
            ModelProgress(label="m", wanted=90, done=50, cost=1_500_000_000_000, note="round 6", may_stop=True),
            "m  50/90 55%  5.0 per s  at most 8s left  $1.50  round 6",
        ),
    ],
)
def test_a_line(model, told):
    assert format_lines(snapshot(model)) == told


def test_no_time_has_passed():
    assert format_lines(snapshot(ModelProgress(label="m", wanted=5, done=1), seconds=0.0)) == "m  1/5 20%"


def test_the_last_lines_tell_of_all_models_together():
    """By hand: models run side by side, so the slowest says how long; what one costs is not known."""
    fast = ModelProgress(label="f", wanted=100, done=50, failed=2, cost=2_000_000_000_000, tokens=5)
    slow = ModelProgress(label="s", wanted=100, there=10, done=10, may_stop=True)
    over = ModelProgress(label="o", wanted=100, done=1, is_over=True, cost=500_000_000_000)
    *_, total = format_lines(snapshot(fast, slow, over, final=True)).splitlines()
    assert total == "3 models  71/300 23%  2 failed  6.2 per s  at most 1m 20s left  at least $2.50"
    *_, total = format_lines(snapshot(fast, over, final=True)).splitlines()
    assert total == "2 models  51/200 25%  2 failed  5.2 per s  10s left  $2.50"
    *_, total = format_lines(snapshot(fast, msgspec.structs.replace(slow, rate=0.0), final=True)).splitlines()
    assert total == "2 models  70/200 35%  2 failed  5.2 per s  at least $2.00"
    *_, total = format_lines(
        snapshot(over, msgspec.structs.replace(over, label="p", cost=None), final=True)
    ).splitlines()
    assert total == "2 models  2/200 1%  at least $0.50"
    assert len(format_lines(snapshot(fast, slow)).splitlines()) == 2
    assert len(format_lines(snapshot(fast, final=True)).splitlines()) == 1


FULL = (
    ModelProgress(
        label="openai/gpt-4o-mini", wanted=60935, there=12000, done=21840, failed=12, mean=0.7421, low=0.7343, high=0.7499,
        tokens=8_412_333, cost=1_870_000_000_000, in_flight=61, window=64, note="round 6", may_stop=True,
        trouble="rate_limit: HTTP 429: Rate limit reached for gpt-4o-mini on tokens per min: Limit 200000",
    ),
    ModelProgress(label="openai/gpt-4o-mini:greedy", wanted=12187, done=12187, mean=0.7466, low=0.7389, high=0.7543),
    ModelProgress(
        label="together/meta-llama/Llama-3.1-70B-Instruct-Turbo", wanted=60935, done=9400, mean=0.6911,
        low=0.6799, high=0.7023, tokens=5_100_000, in_flight=256, window=300, note="round 2",
    ),
)  # fmt: skip


def drawn(told, width, height=40):
    """What rich makes of it where nothing may be wider."""
    console = Console(file=io.StringIO(), width=width, height=height)
    console.print(build_table(told, width=width, height=height))
    return [text.rstrip() for text in console.file.getvalue().splitlines()]


def test_a_wide_table_has_it_all():
    assert drawn(snapshot(*FULL, seconds=312.0), 120) == [
        "model                               done            score  failed  per s       left     cost  tokens  in flight",
        "openai/gpt-4o-mini     33,840/60,935 55%  0.7421 ± 0.0078      12     70   ≤ 6m 27s    $1.87   8.41M      61/64  round 6",
        "openai/gpt…ni:greedy  12,187/12,187 100%  0.7466 ± 0.0077",
        "together/m…uct-Turbo    9,400/60,935 15%  0.6911 ± 0.0112             30    28m 31s             5.1M    256/300  round 2",
        "3 models              55,427/134,057 41%                       12    100  ≤ 28m 31s  ≥ $1.87   13.5M",
        "openai/gpt-4o-mini: rate_limit: HTTP 429: Rate limit reached for gpt-4o-mini on tokens per min: Limit 200000",
    ]


def test_a_narrow_table_leaves_out_what_matters_least():
    assert drawn(snapshot(*FULL, seconds=312.0), 80) == [
        "model                          done            score  failed       left     cost",
        "openai/gpt-4o-mini     55% of 60.9k  0.7421 ± 0.0078      12   ≤ 6m 27s    $1.87",
        "openai/gpt…ni:greedy  100% of 12.2k  0.7466 ± 0.0077",
        "together/m…uct-Turbo   15% of 60.9k  0.6911 ± 0.0112            28m 31s",
        "3 models                41% of 134k                       12  ≤ 28m 31s  ≥ $1.87",
        "openai/gpt-4o-mini: rate_limit: HTTP 429: Rate limit reached for gpt-4o-mini on…",
    ]


@pytest.mark.parametrize("width", [40, 44, 50, 60, 70, 90, 100, 150, 200])
def test_a_table_is_never_wider_than_its_terminal_and_keeps_the_score(width):
    told = drawn(snapshot(*FULL, seconds=312.0), width)
    assert max(map(len, told)) <= width
    assert len(told) == 6
    assert "0.6911 ± 0.0112" in told[3]
    headings = told[0].split()
    # Less important columns are never there without the more important ones.
    order = ["model", "done", "score", "failed", "left", "cost", "per", "tokens", "in"]
    assert {heading in headings for heading in order[: sum(heading in headings for heading in order)]} == {True}


def test_a_low_terminal_shows_the_models_that_run():
    models = [ModelProgress(label=f"m{i}", wanted=9, done=9 if i < 50 else i % 9) for i in range(60)]
    told = drawn(snapshot(*models), 80, height=10)
    assert [text.split()[0] for text in told] == ["model", *(f"m{i}" for i in range(50, 56)), "60", "..."]
    assert told[-1] == "... and 54 more models"


def test_more_troubles_than_fit_are_counted():
    models = [ModelProgress(label=f"m{i}", wanted=9, trouble="down") for i in range(8)]
    assert drawn(snapshot(*models), 80)[-2:] == ["m4: down", "... and 3 more with trouble"]


def test_one_model_has_no_total_and_empty_columns_are_left_out():
    assert drawn(snapshot(ModelProgress(label="m", wanted=10)), 80) == [
        "model     done  score  left",
        "m      0/10 0%            ?",
    ]


def test_the_table_shows_foreign_text_as_it_is():
    console = Console(file=io.StringIO(), width=200)
    console.print(
        build_table(snapshot(HALF, ModelProgress(label="[bold]x[/bold]", wanted=1, trouble="[red]no\x1b[2J")))
    )
    shown = console.file.getvalue()
    assert "500/1,000 50%" in shown
    assert "0.6123 ± 0.0345" in shown
    assert "[bold]x[/bold]" in shown
    assert "[bold]x[/bold]: [red]no [2J" in shown


def test_the_rate_is_of_the_last_30_seconds():
    """By hand: 1 per s for 100 s, then 5 per s; 30 s later nothing of the slow start is left."""
    recent = RecentRate()
    rates = {}
    for half in range(261):
        seconds = half / 2
        done = int(seconds if seconds <= 100 else 100 + 5 * (seconds - 100))
        told = recent.add_rates(snapshot(ModelProgress(label="m", wanted=10**6, there=500, done=done), seconds=seconds))
        rates[seconds] = told.models[0].rate
    assert math.isnan(rates[0.0])
    assert rates[10.0] == 1.0
    assert rates[100.0] == 1.0
    assert rates[115.0] == pytest.approx(3.0)
    assert rates[130.0] == pytest.approx(5.0)
    assert len(recent._past) <= 32
    last = recent.add_rates(snapshot(ModelProgress(label="m", wanted=10**6, done=260), seconds=130.0, final=True))
    assert last.models[0].rate == 2.0


def test_a_model_that_comes_later_starts_from_nothing():
    recent = RecentRate()
    for seconds in range(5):
        recent.add_rates(snapshot(seconds=float(seconds)))
    told = recent.add_rates(snapshot(ModelProgress(label="m", wanted=9, done=5), seconds=5.0))
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
        show(snapshot(ModelProgress(label="m", wanted=5)))
        show(snapshot(ModelProgress(label="m", wanted=5, trouble="no key"), final=True))
    assert stream.getvalue().splitlines() == ["m  0/5 0%", "m  0/5 0%  (no key)"]
    stream = io.StringIO()
    one, other = ModelProgress(label="m", wanted=5, there=5), ModelProgress(label="n", wanted=5, there=5)
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
    still, other = msgspec.structs.replace(HALF, label="still", low=0, high=1), ModelProgress(label="o", wanted=9)
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
