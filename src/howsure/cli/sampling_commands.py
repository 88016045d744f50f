"""Define commands that plan and sample: plan, run, benchmarks."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from howsure.api.choices import OutputFormat
from howsure.cli.declared import PATH, DeclaredCommand, DeclaredValue
from howsure.cli.options import (
    CommandInputs,
    add_borrow,
    add_format,
    add_reading,
    add_unsafe_code,
    find_width,
    print_result,
    print_rows,
    split_values,
)
from howsure.errors import InputError
from howsure.notes import ignore_notes
from howsure.safe_text import escape_json
from howsure.stats.core.claims import check_choice

if TYPE_CHECKING:
    from howsure.sample.drawn_prompts import DrawnPrompt
    from howsure.stats.core.cells import Cells
    from howsure.stats.planning.cost import Cost

#: Exit code of a command that was interrupted, and of `run --check` where a check found a problem.
INTERRUPTED, NOT_READY = 130, 1
#: Line between prompts.
_RULE = "\n\n" + "-" * 80 + "\n"


@click.command(
    cls=DeclaredCommand, of="plan", omit="fewest max_generations every power", names={"available": "questions"}
)
@add_reading(cluster=True, required=False, variants=True)
@add_borrow
@add_format
@click.option(
    "--cost",
    "prices",
    metavar="NAME=N,...",
    callback=split_values,
    help="prompt_tokens, completion_tokens, input_price and output_price (per million), generations_per_request, in "
    "place of the pilot's. verdict: plan verdicts of the pilot's judge at this cost beside completions at 1 each.",
)
def plan(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    borrow: list[Cells] | None,
    detect: float | None,
    width: float | None,
    se: float | None,
    budget: float | None,
    like: str | None,
    prices: dict[str, float],
    **options: DeclaredValue,
) -> None:
    """Plan questions, variants and generations.

    The design is the cheapest for a target error, or the best for a budget.

    PATHS are the results of a pilot. Without them the noise is that of a published benchmark (--like math500), assumed
    from --accuracy, or estimated from --borrow. If the pilot has several prompt variants, the plan is for new
    variants, too.

    Without a goal, --like NAME,NAME or --like all prints the standard errors of published benchmarks, for one
    generation per question; those of your own results at PATHS are measured and listed first.
    """
    import howsure as hs

    if not inputs.paths and "cluster" in inputs.columns:
        raise InputError("--cluster without results", remedy="give the results of a pilot, whose column it names")
    pilot = inputs.results if inputs.paths else None
    verdict_cost = prices.pop("verdict", None)
    options |= {"cost": _build_cost(prices), "borrow": borrow, "like": like}
    targets = {"--detect": detect, "--width": width, "--se": se, "--budget": budget}
    goals = [name for name, value in targets.items() if value is not None]
    if like is not None and not goals:
        names = None if like == "all" else like.split(",")
        noise = hs.noise(pilot, like=names, accuracy=options["accuracy"], every_column=form == "wide")
        print_result(noise, form)
        return
    if verdict_cost is not None:
        if pilot is None or budget is None or goals != ["--budget"]:
            remedy = "give the run folder of a pilot, --budget, and no other goal"
            raise InputError("--cost verdict=N without a judged pilot and a budget", remedy=remedy)
        from howsure.api.judged_results import plan_verdicts

        designs = plan_verdicts(
            pilot, budget=budget, verdict_cost=verdict_cost, model=options["a"], questions=options["available"]
        )
        print_result(designs, form)
        return
    if len(goals) != 1:
        what = f"{' and '.join(goals)} together" if goals else "no goal"
        remedy = "give one of --detect (a difference to find), --width (of an interval), --se and --budget"
        raise InputError(what, where="plan", remedy=remedy)
    result = hs.plan(pilot, detect=detect, width=width, se=se, budget=budget, every=form == "wide", **options)
    print_result(result, form)


def _build_cost(prices: dict[str, float]) -> Cost:
    """Return the cost of the names and values of --cost."""
    import howsure as hs

    names = [one.name for one in dataclasses.fields(hs.Cost)]
    for name, value in prices.items():
        check_choice("name", name, [*names, "verdict"], where="--cost")
        if name == "generations_per_request" and value != int(value):
            raise InputError(f"--cost {name}={value:g}", remedy="give a whole number")
    values: dict[str, DeclaredValue] = {**prices}
    if (n := prices.get("generations_per_request")) is not None:
        values["generations_per_request"] = int(n)
    return hs.Cost(**values)


@click.command()
@click.argument("experiment", type=PATH, required=False)
@click.option("--model", "models", multiple=True, metavar="NAME", help="Without EXPERIMENT: a model to run.")
@click.option("--benchmark", metavar="NAME|FILE", help="Without EXPERIMENT: a benchmark by name, or questions.")
@click.option("-n", "--generations", type=click.IntRange(min=1), metavar="N", help="Answers per question; default: 5.")
@click.option("-o", "--output", type=PATH, help="Run folder; default: the experiment's name without its suffix.")
@click.option("--retry", type=click.Choice(["failed"]), help="Request again what failed in earlier sessions.")
@click.option("--shard", metavar="I/N", help="Only the I-th of N parts of the questions; give each its own folder.")
@click.option("--dry-run", is_flag=True, help="Only print what the run needs: requests, tokens, money, time.")
@click.option(
    "--simulate",
    is_flag=True,
    help="Put simulated models in place of all models: the whole experiment without a key, a request or a cost.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Only check whether it can run, with one request to each model, or none with --dry-run; exit code 1 where a "
    "line says problem.",
)
@click.option(
    "--show-prompts",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only print N prompts, drawn at random, as they would be sent, with the right answers.",
)
@click.option("--json-lines", is_flag=True, help="Print progress and result for a program, an object per line.")
@click.option("--live", is_flag=True, help="Serve the report on 127.0.0.1 as the run goes on; the address is printed.")
@add_unsafe_code
@add_format
def run(
    experiment: Path | None,
    output: Path | None,
    *,
    models: Sequence[str],
    benchmark: str | None,
    generations: int | None,
    retry: str | None,
    shard: str | None,
    dry_run: bool,
    simulate: bool,
    check: bool,
    show_prompts: int | None,
    json_lines: bool,
    live: bool,
    form: OutputFormat,
) -> None:
    """Sample, score and store what a YAML file describes.

    With --model and --benchmark in place of EXPERIMENT the file is written first: exp.yaml, or beside --output.
    Running it again continues where it stopped; more generations, models or variants are added to the same folder.
    The first interrupt (Ctrl-C) waits for the requests in flight, a second one drops them.
    """
    import howsure as hs
    from howsure.api.run_folders import name_folder, sample_experiment
    from howsure.store.responses import read as read_rows

    if experiment is None:
        experiment = _write_experiment(output, models, benchmark, generations)
    elif models or benchmark is not None or generations is not None:
        remedy = "write them into the file, or leave the file out"
        raise InputError("--model, --benchmark or --generations beside a file", where=str(experiment), remedy=remedy)
    if check or show_prompts is not None:
        if simulate or retry or shard or live or json_lines or (check and show_prompts is not None):
            remedy = "keep --check, with --output and --dry-run if wanted, or --show-prompts alone"
            raise InputError("options that do not go together", where="run", remedy=remedy)
        if show_prompts is not None:
            _print_prompts(experiment, show_prompts, form)
            return
        checks = hs.doctor(experiment, output, offline=dry_run)
        print_result(checks, form)
        sys.exit(0 if checks.is_ready else NOT_READY)
    folder = output or name_folder(experiment, simulate=simulate)
    if dry_run:
        _print_estimate(experiment, folder, retry=retry is not None, shard=shard, simulate=simulate, form=form)
        return
    lines = sys.stdout if json_lines else None
    with _serve_live(folder) if live else contextlib.nullcontext():
        code, reference, claim, level = sample_experiment(
            experiment, folder, retry=retry is not None, shard=shard, simulate=simulate, lines=lines
        )
    if not json_lines and code != INTERRUPTED and read_rows(folder, ["model"]).num_rows:
        with ignore_notes("run-warning"):  # printed by this run, or by an earlier one
            result = hs.score(folder, borrow=reference, claim=claim, level=level)
        print_result(result, form)
    sys.exit(code)


def _write_experiment(
    output: Path | None, models: Sequence[str], benchmark: str | None, generations: int | None
) -> Path:
    """Write the experiment that the options of `run` describe, and return its file; refuse to write over one."""
    import howsure as hs

    if not models or benchmark is None:
        remedy = "give a file, or --model NAME and --benchmark NAME: howsure benchmarks lists them"
        raise InputError("nothing says what to run", where="run", remedy=remedy)
    path = Path("exp.yaml") if output is None else output.with_name(f"{output.name}.yaml")
    if path.exists():
        remedy = f"howsure run {path} runs it; -o NAME writes NAME.yaml"
        raise InputError("exists already", where=str(path), remedy=remedy)
    path.parent.mkdir(parents=True, exist_ok=True)
    hs.init(path, models=models, benchmark=benchmark, generations=generations or 5)
    print(f"howsure: wrote {path}", file=sys.stderr)
    return path


def _print_estimate(
    experiment: Path, folder: Path, *, retry: bool, shard: str | None, simulate: bool, form: OutputFormat
) -> None:
    """Print what a run needs, and what that figure leaves out."""
    from howsure.sample import estimate
    from howsure.sample.budget import load_spending
    from howsure.sample.run import load_shard

    described = load_shard(experiment, shard)
    if simulate:
        from howsure.sample.simulated_experiment import simulate_models

        described = simulate_models(described)
    estimated = estimate.dry_run(described, folder, retry=retry)
    print_result(estimated, form)
    if any(isinstance(part.variants, dict) and "reference" in part.variants for part in described.parts):
        text = "models other than the reference are asked in n_star variants: these figures are upper limits"
        print(f"howsure: {text}", file=sys.stderr)
    spent = load_spending(folder)
    for what, limit, used, needed in (
        ("cost", described.budget.cost, spent.cost, None if estimated.cost is None else estimated.cost / 1e12),
        ("calls", described.budget.calls, spent.calls, sum(estimated["requests"])),
    ):
        left = None if limit is None else max(limit - (used / 1e12 if what == "cost" else used), 0)
        if left is not None and needed is not None and needed > left:
            remaining = f", of which {left:.4g} is left," if used else ""
            text = f"budget {{{what}: {limit:g}}}{remaining} is below the estimate: it ends the run after about"
            print(f"howsure: {text} {100 * left / needed:.0f} % of what is missing", file=sys.stderr)
    if described.judge is not None:
        judge, n = described.judge.model, int(sum(estimated["cells"]))
        text = f"up to {n * judge.generations:,} verdicts of {judge.label} come on top and are not in these figures"
        print(f"howsure: {text}", file=sys.stderr)


def _print_prompts(experiment: Path, n: int, form: OutputFormat) -> None:
    """Print prompts of an experiment, drawn at random."""
    from howsure.sample import drawn_prompts

    drawn = drawn_prompts.draw_prompts(experiment, n)
    if form == "json":
        print(escape_json(json.dumps([dataclasses.asdict(prompt) for prompt in drawn], ensure_ascii=False, indent=2)))
    else:
        print(_RULE.join(drawn_prompts.format_prompt(prompt) for prompt in drawn))


@contextlib.contextmanager
def _serve_live(folder: Path) -> Iterator[None]:
    """Serve the report of a run in progress while the context lasts, and print its address on stderr."""
    from howsure.api.run_folders import build_live_page
    from howsure.web.live_page import serve_live_page

    with serve_live_page(folder, functools.partial(build_live_page, str(folder))) as url:
        print(f"howsure: the report as it grows: {url}", file=sys.stderr, flush=True)
        yield


@click.command()
@click.argument("name", required=False)
@click.option("--show", "n", type=int, default=0, metavar="N", help="Print N whole prompts of NAME, with answers.")
@click.option("--shots", type=int, help="Show this number of other questions with their answers before each one.")
@click.option("--path", help="Folder with the files of NAME, in place of the cache and the network.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "wide", "json", "csv"]),
    default="text",
    show_default=True,
    help="Print lines that fit the terminal, whole lines, or rows for a program; csv has no prompts.",
)
def benchmarks(name: str | None, *, n: int, shots: int | None, path: str | None, form: str) -> None:
    """List the benchmarks that can be named, or describe one of them.

    With --show the questions are fetched, unless they are on this disk, and N of them are printed as a run would send
    them. NAME may be lm_eval/TASK: a task of lm-evaluation-harness, with --path as its include_path.
    """
    from howsure.benchmarks import describe_benchmarks

    rows = describe_benchmarks(name, path=path)
    drawn: list[DrawnPrompt] = []
    if n or shots is not None or path is not None:
        if name is None:
            raise InputError("--show without a benchmark", remedy="name one: howsure benchmarks gsm8k --show 3")
        from howsure.sample.drawn_prompts import draw_benchmark_prompts

        # Tasks of lm-evaluation-harness have its names for these options.
        keys = ("num_fewshot", "include_path") if name.startswith("lm_eval/") else ("shots", "path")
        options = {key: value for key, value in zip(keys, (shots, path), strict=True) if value is not None}
        drawn = draw_benchmark_prompts({"name": name, **options}, n or 1)
    if form == "json":
        of_prompts = {"prompts": [dataclasses.asdict(prompt) for prompt in drawn]} if drawn else {}
        print(escape_json(json.dumps([row | of_prompts for row in rows], ensure_ascii=False, indent=2)))
        return
    if form == "csv":
        names = list(dict.fromkeys(name for row in rows for name in row))
        print_rows(names, [[row.get(name, "") for name in names] for row in rows])
        return
    _print_benchmarks(rows, drawn, None if form == "wide" else find_width())


def _print_benchmarks(rows: Sequence[Mapping[str, object]], drawn: Sequence[DrawnPrompt], width: int | None) -> None:
    """Print a line for each benchmark, of a width if there is one; of a single one all that is known, and prompts."""
    from howsure.sample.drawn_prompts import format_prompt
    from howsure.stats.core.text_table import wrap_text

    if len(rows) == 1:
        print(
            "\n".join(
                f"{key.replace('_', ' '):<10} {_write_value(value)}" for key, value in rows[0].items() if value != ""
            )
        )
        if drawn:
            print(_RULE.lstrip("\n") + _RULE.join(map(format_prompt, drawn)))
        return
    names = ["name", "questions", "on_disk", *(["scorer"] if width is None else []), "title"]
    table = [[name.replace("_", " ") for name in names], *([_write_value(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(names) - 1)]
    for each in table:
        cells = [
            cell.rjust(n) if i == 1 else cell.ljust(n) for i, (cell, n) in enumerate(zip(each, widths, strict=False))
        ]
        line = "  ".join([*cells, each[-1]])
        print(line if width is None or len(line) <= width else f"{line[: width - 1].rstrip()}…")
    if width is not None:
        print(wrap_text("--format wide prints whole lines, howsure benchmarks NAME describes one", width))


def _write_value(value: object) -> str:
    """Return a value as a word or number."""
    return (
        {True: "yes", False: "no"}[value]
        if isinstance(value, bool)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )
