"""A snapshot to text. Kinds of truth: written by hand, and numpy-free arithmetic for the interval."""

from __future__ import annotations

import io
import math
import statistics

import msgspec
import numpy as np
import pytest
from rich.console import Console

from errorbar.sample.progress import ModelProgress, Progress, Snapshot, line, mean_and_half_width, table


def snapshot(*models, seconds=10.0, final=False):
    return Snapshot(seconds=seconds, models=models, final=final)


HALF = ModelProgress(label="m", wanted=1000, there=100, done=400, failed=3, mean=0.61234, half_width=0.0345)


def test_mean_and_half_width_against_the_statistics_module():
    rng = np.random.default_rng(0)
    n = rng.integers(0, 6, size=50).tolist()
    total = [float(rng.integers(0, k + 1)) for k in n]
    means = [t / k for t, k in zip(total, n, strict=True) if k]
    mean, half = mean_and_half_width(n, total)
    assert mean == pytest.approx(statistics.fmean(means))
    assert half == pytest.approx(1.96 * statistics.stdev(means) / math.sqrt(len(means)))


@pytest.mark.parametrize(("n", "total", "mean"), [([0], [0.0], math.nan), ([2], [1.0], 0.5), ([1, 1], [1.0, 1.0], 1.0)])
def test_what_the_data_cannot_say_is_nan(n, total, mean):
    got, half = mean_and_half_width(n, total)
    assert got == pytest.approx(mean, nan_ok=True)
    assert math.isnan(half)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (HALF, "m  500/1,000 50%  score 0.6123 ± 0.0345  3 failed  40 per s  13s left"),
        (ModelProgress(label="m", wanted=10), "m  0/10 0%"),
        (ModelProgress(label="m", wanted=1000, done=999), "m  999/1,000 99%  100 per s  1s left"),
        (ModelProgress(label="m", wanted=10, done=10, mean=1.0), "m  10/10 100%  score 1.0000"),
        (ModelProgress(label="m", wanted=10, done=8, failed=2), "m  8/10 all tried  2 failed"),
        (ModelProgress(label="m", wanted=5, there=5), "m  5/5 100%"),
        (ModelProgress(label="m", wanted=5, trouble="no key"), "m  0/5 0%  (no key)"),
    ],
)
def test_a_line(model, told):
    assert line(snapshot(model)) == told


def test_no_time_has_passed():
    assert line(snapshot(ModelProgress(label="m", wanted=5, done=1), seconds=0.0)) == "m  1/5 20%"


def test_the_table_shows_foreign_text_as_it_is():
    console = Console(file=io.StringIO(), width=200)
    console.print(table(snapshot(HALF, ModelProgress(label="[bold]x[/bold]", wanted=1, trouble="[red]no"))))
    shown = console.file.getvalue()
    assert "500/1,000 50%" in shown
    assert "0.6123 ± 0.0345" in shown
    assert "[bold]x[/bold]" in shown
    assert "[red]no" in shown


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


def test_a_model_that_has_not_moved_is_not_told_again_until_the_end():
    stream = io.StringIO()
    still, other = msgspec.structs.replace(HALF, label="still", half_width=0.5), ModelProgress(label="o", wanted=9)
    with Progress(stream, every=0) as show:
        for done in range(3):
            show(snapshot(still, msgspec.structs.replace(other, done=done)))
        show(snapshot(still, msgspec.structs.replace(other, done=2)))
        show(snapshot(still, msgspec.structs.replace(other, done=2), final=True))
    assert [text.split()[0] for text in stream.getvalue().splitlines()] == ["still", "o", "o", "o", "still", "o"]


def test_on_a_terminal_the_table_stays_in_place():
    stream = io.StringIO()
    with Progress(stream, live=True) as show:
        show(snapshot(HALF))
        show(snapshot(HALF, final=True))
    assert "\x1b[" in stream.getvalue()
    assert "500/1,000" in stream.getvalue()


def test_a_stream_that_is_no_terminal_gets_plain_lines():
    assert Progress(io.StringIO()).live is False
