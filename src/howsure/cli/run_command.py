"""Define the command run."""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import click

from howsure.api.choices import OutputFormat
from howsure.cli.options import PATH, add_format, print_result
from howsure.errors import HowsureWarning

#: Exit code of a command that was interrupted.
INTERRUPTED = 130


@click.command()
@click.argument("experiment", type=PATH)
@click.option("-o", "--output", type=PATH, help="Run folder; default: the experiment's name without its suffix.")
@click.option("--retry", type=click.Choice(["failed"]), help="Request again what failed in earlier sessions.")
@click.option("--shard", metavar="I/N", help="Only the I-th of N parts of the questions; give each its own folder.")
@click.option("--dry-run", is_flag=True, help="Only print what the run needs: requests, tokens, money, time.")
@click.option("--json-lines", is_flag=True, help="Print progress and result for a program, an object per line.")
@click.option("--live", is_flag=True, help="Serve the report on 127.0.0.1 as the run goes on; the address is printed.")
@add_format
def run(
    experiment: Path,
    output: Path | None,
    *,
    retry: str | None,
    shard: str | None,
    dry_run: bool,
    json_lines: bool,
    live: bool,
    form: OutputFormat,
) -> None:
    """Sample, score and store what a YAML file describes.

    Running it again continues where it stopped; more generations, models or variants are added to the same folder.
    The first interrupt (Ctrl-C) waits for the requests in flight, a second one drops them.
    """
    import howsure as hs
    from howsure.api.run_folders import sample_experiment
    from howsure.store.responses import read as read_rows

    folder = output or experiment.with_suffix("")
    if dry_run:
        from howsure.sample import estimate
        from howsure.sample.run import load_shard

        print_result(estimate.dry_run(load_shard(experiment, shard), folder, retry=retry is not None), form)
        return
    lines = sys.stdout if json_lines else None
    with _serve_live(folder) if live else contextlib.nullcontext():
        code, reference = sample_experiment(experiment, folder, retry=retry is not None, shard=shard, lines=lines)
    if not json_lines and code != INTERRUPTED and read_rows(folder, ["model"]).num_rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HowsureWarning)  # the run has just printed them
            result = hs.score(folder, borrow=reference)
        print_result(result, form)
    sys.exit(code)


@contextlib.contextmanager
def _serve_live(folder: Path) -> Iterator[None]:
    """Serve the report of a run in progress while the context lasts, and print its address on stderr."""
    from howsure.api.run_folders import build_live_page
    from howsure.web.live_page import serve_live_page

    with serve_live_page(folder, functools.partial(build_live_page, str(folder))) as url:
        print(f"howsure: the report as it grows: {url}", file=sys.stderr, flush=True)
        yield
