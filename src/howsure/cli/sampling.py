"""Commands that ask models."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import click

from howsure.cli.live import watched
from howsure.cli.options import FORMAT, PATH, show
from howsure.errors import HowsureWarning

__all__ = ["INTERRUPTED", "paraphrase", "run"]

INTERRUPTED = 130


@click.command()
@click.argument("experiment", type=PATH)
@click.option("-o", "--output", type=PATH, help="Run folder; default: the experiment's name without its suffix.")
@click.option("--retry", type=click.Choice(["failed"]), help="Try again what failed in earlier sessions.")
@click.option("--shard", metavar="I/N", help="Only the I-th of N parts of the questions; give each its own folder.")
@click.option("--dry-run", is_flag=True, help="Only print what it would take: requests, tokens, money, time.")
@click.option("--json-lines", is_flag=True, help="Progress and result on stdout for a program, an object per line.")
@click.option("--live", is_flag=True, help="Serve the report on 127.0.0.1 as the run goes on; the address is printed.")
@FORMAT
def run(
    experiment: Path,
    output: Path | None,
    *,
    retry: str | None,
    shard: str | None,
    dry_run: bool,
    json_lines: bool,
    live: bool,
    form: str,
) -> None:
    """Sample, score and store what EXPERIMENT.yaml asks for.

    Running it again continues where it stopped; more generations, models or variants are added to the same folder.
    The first interrupt (Ctrl-C) waits for the requests in flight, a second one drops them.
    """
    import howsure as hs
    from howsure.readers.evaluations import read
    from howsure.sample.run import asked_for, run_experiment
    from howsure.store.responses import read as rows

    folder = output or experiment.with_suffix("")
    asked = asked_for(experiment, shard)
    if dry_run:
        from howsure.sample.estimate import foresee

        show(foresee(asked, folder, retry=retry is not None), form)
        return
    borrow = asked.until.borrow if asked.until is not None else None
    reference = read(_beside(asked.base, borrow)).cells() if borrow is not None else None
    lines = sys.stdout if json_lines else None
    with watched(folder, live=live):
        code = run_experiment(asked, folder, retry=retry is not None, reference=reference, lines=lines)
    if not json_lines and code != INTERRUPTED and rows(folder, ["model"]).num_rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HowsureWarning)  # the run has just said them
            cells = read(folder).cells()
        show(hs.score(cells, borrow=reference), form)
    sys.exit(code)


def _beside(base: Path, path: str) -> str:
    """A path of the experiment file, from the folder of that file; addresses such as s3://... stay."""
    return path if "://" in path else str(base / path)


@click.command()
@click.argument("instructions", metavar="FILE_OR_SPACE")
@click.option("-m", "--model", required=True, help="Who writes, as an experiment names models: openai/NAME, ...")
@click.option("--base-url", help="Its endpoint.")
@click.option("--key-env", metavar="VAR", help="Environment variable that holds its key.")
@click.option("-n", type=int, default=5, show_default=True, help="Phrasings to ask for, of each instruction.")
@click.option("--only", multiple=True, metavar="ID", help="Only of this instruction; several times for several.")
@click.option("-o", "--output", required=True, type=PATH, help="The TOML file to write.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def paraphrase(instructions: str, model: str, output: Path, **asked: Any) -> None:
    """Ask a model for more phrasings of instructions, to review.

    Of a built-in space (multiple-choice, open, maths) or of a TOML file. What comes back is marked as not reviewed,
    and no run asks it before somebody has read it.
    """
    from howsure.sample import collect_paraphrases as room

    print(room.paraphrase(instructions, model, output, **asked))
    print(output)
