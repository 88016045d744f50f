"""Define commands that plan and sample: plan, noise, run, benchmarks, prompts, paraphrase."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import shlex
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
)
from howsure.errors import InputError
from howsure.notes import ignore_notes
from howsure.safe_text import escape_json

if TYPE_CHECKING:
    from howsure.perturb.instructions import Instruction
    from howsure.perturb.paraphrases import Decision
    from howsure.sample.drawn_prompts import DrawnPrompt
    from howsure.stats.core.cells import Cells
    from howsure.stats.core.results import Results

#: Options of `plan` that hold what a `Cost` states.
_PRICES = ("prompt_tokens", "completion_tokens", "input_price", "output_price")
#: Exit code of a command that was interrupted.
INTERRUPTED = 130


@click.command(cls=DeclaredCommand, of="plan frontier", omit="fewest max_generations", names={"available": "questions"})
@add_reading(cluster=True, required=False, variants=True)
@add_borrow
@add_format
@click.option("--frontier", is_flag=True, help="Print the best design for the --budget, for half of it, a quarter, ...")
@click.option("--prompt-tokens", type=float, help="Tokens of a prompt.")
@click.option("--completion-tokens", type=float, help="Tokens of a completion.")
@click.option("--input-price", type=float, help="Money per million prompt tokens.")
@click.option("--output-price", type=float, help="Money per million completion tokens.")
@click.option(
    "--generations-per-request", type=int, help="Generations that one request returns; default: the pilot's, else 1."
)
@click.option(
    "--verdict-cost",
    type=float,
    metavar="COST",
    help="With a pilot whose judge gave repeated verdicts, and a --budget: trade completions, which cost 1 each, "
    "against verdicts at this cost.",
)
@click.option(
    "--questions-file",
    type=PATH,
    metavar="FILE",
    help="With --borrow: write the ids of the questions to sample, drawn at random, one a line.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed of that draw; a run with the same seed and limit: N samples the same questions.",
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
    every: bool,
    frontier: bool,
    generations_per_request: int | None,
    verdict_cost: float | None,
    questions_file: Path | None,
    seed: int,
    **options: DeclaredValue,
) -> None:
    """Plan questions, variants and generations.

    The design is the cheapest for a target error, or the best for a budget.

    PATHS are the results of a pilot. Without them the noise is that of a published benchmark (--like math500), assumed
    from --accuracy, or estimated from --borrow. If the pilot has several prompt variants, the plan is for new
    variants, too.
    """
    import howsure as hs

    prices = {name: options.pop(name) for name in _PRICES}
    cost_fields = {name: value for name, value in prices.items() if value is not None}
    cost = hs.Cost(generations_per_request=generations_per_request, **cost_fields)
    if not inputs.paths and "cluster" in inputs.columns:
        raise InputError("--cluster without results", remedy="give the results of a pilot, whose column it names")
    if questions_file is not None and (not borrow or len(borrow) > 1 or frontier):
        what = "--questions-file draws from one benchmark of --borrow, for one plan"
        raise InputError(what, remedy="give --borrow with one benchmark, without --frontier")
    pilot = inputs.results if inputs.paths else None
    targets = {"--detect": detect, "--width": width, "--se": se, "--budget": budget}
    goals = [name for name, value in targets.items() if value is not None]
    if verdict_cost is not None:
        if pilot is None or budget is None or goals != ["--budget"]:
            remedy = "give the run folder of a pilot, --budget, and no other goal"
            raise InputError("--verdict-cost without a judged pilot and a budget", remedy=remedy)
        from howsure.api.judged_results import plan_verdicts

        designs = plan_verdicts(
            pilot, budget=budget, verdict_cost=verdict_cost, model=options["a"], questions=options["available"]
        )
        print_result(designs, form)
        return
    options |= {"cost": cost, "borrow": borrow}
    if frontier:
        if budget is None:
            raise InputError("--frontier without --budget", remedy="give --budget, the largest amount to spend")
        if goals != ["--budget"]:
            raise InputError("--frontier with another goal", remedy="give --budget alone")
        result = hs.frontier(pilot, budget=budget, **options)
    else:
        if len(goals) != 1:
            what = f"{' and '.join(goals)} together" if goals else "no goal"
            remedy = "give one of --detect (a difference to find), --width (of an interval), --se and --budget"
            raise InputError(what, where="plan", remedy=remedy)
        result = hs.plan(pilot, detect=detect, width=width, se=se, budget=budget, every=every, **options)
    print_result(result, form)
    if questions_file is not None and borrow:
        _write_questions(result, borrow[0], questions_file, seed)


@click.command(cls=DeclaredCommand, of="noise")
@add_reading(required=False)
@add_format
def noise(inputs: CommandInputs, form: OutputFormat, **options: DeclaredValue) -> None:
    """Look up the standard errors of published benchmarks.

    Of one generation per question: se is that of a score; se_difference that of the difference of two close models,
    which comes from the questions (se_data) and from sampling the answers (se_prediction); detectable is the smallest
    difference found with a power of .8. The noise of your own results at PATHS is measured and listed first.
    """
    import howsure as hs

    published = [str(path) for path in inputs.paths if not Path(path).exists() and _is_published(str(path))]
    if published:
        likes = " ".join(f"--like {shlex.quote(name)}" for name in published)
        what = "a published benchmark, and no file or folder"
        raise InputError(what, where=", ".join(published), remedy=f"howsure noise {likes}")
    data = inputs.results if inputs.paths else None
    print_result(hs.noise(data, **options), form)


def _is_published(name: str) -> bool:
    """Return whether the noise of a benchmark of this name is published."""
    import howsure as hs

    try:
        hs.noise(like=name)
    except InputError:
        return False
    return True


def _write_questions(result: Results, reference: Cells, file: Path, seed: int) -> None:
    """Write the ids of the questions of the best design, one a line."""
    import howsure as hs
    from howsure.stats.planning import StudyPlan

    best = next((part.best for part in result.parts if isinstance(part, StudyPlan)), None)
    if best is None:
        raise InputError("there is no design, so no questions to write", where=str(file), remedy="change the goal")
    questions = hs.draw_questions(reference, best.n_questions, seed=seed)
    if any("\n" in question for question in questions):
        raise InputError("a question id has a line break", where=str(file), remedy="give questions other ids")
    try:
        file.write_text("".join(f"{question}\n" for question in questions), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", where=str(file), remedy="name another file") from None
    print(f"{len(questions)} of {len(reference.questions)} questions, drawn with seed {seed}: {file}", file=sys.stderr)


@click.command()
@click.argument("experiment", type=PATH)
@click.option("-o", "--output", type=PATH, help="Run folder; default: the experiment's name without its suffix.")
@click.option("--retry", type=click.Choice(["failed"]), help="Request again what failed in earlier sessions.")
@click.option("--shard", metavar="I/N", help="Only the I-th of N parts of the questions; give each its own folder.")
@click.option("--dry-run", is_flag=True, help="Only print what the run needs: requests, tokens, money, time.")
@click.option(
    "--simulate",
    is_flag=True,
    help="Put simulated models in place of all models: the whole experiment without a key, a request or a cost.",
)
@click.option("--json-lines", is_flag=True, help="Print progress and result for a program, an object per line.")
@click.option("--live", is_flag=True, help="Serve the report on 127.0.0.1 as the run goes on; the address is printed.")
@add_unsafe_code
@add_format
def run(
    experiment: Path,
    output: Path | None,
    *,
    retry: str | None,
    shard: str | None,
    dry_run: bool,
    simulate: bool,
    json_lines: bool,
    live: bool,
    form: OutputFormat,
) -> None:
    """Sample, score and store what a YAML file describes.

    Running it again continues where it stopped; more generations, models or variants are added to the same folder.
    The first interrupt (Ctrl-C) waits for the requests in flight, a second one drops them.
    """
    import howsure as hs
    from howsure.api.run_folders import name_folder, sample_experiment
    from howsure.store.responses import read as read_rows

    folder = output or name_folder(experiment, simulate=simulate)
    if dry_run:
        from howsure.sample import estimate
        from howsure.sample.budget import load_spending
        from howsure.sample.run import load_shard

        described = load_shard(experiment, shard)
        if simulate:
            from howsure.sample.simulated_experiment import simulate_models

            described = simulate_models(described)
        estimated = estimate.dry_run(described, folder, retry=retry is not None)
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


@contextlib.contextmanager
def _serve_live(folder: Path) -> Iterator[None]:
    """Serve the report of a run in progress while the context lasts, and print its address on stderr."""
    from howsure.api.run_folders import build_live_page
    from howsure.web.live_page import serve_live_page

    with serve_live_page(folder, functools.partial(build_live_page, str(folder))) as url:
        print(f"howsure: the report as it grows: {url}", file=sys.stderr, flush=True)
        yield


@click.command()
@click.argument("instructions", metavar="FILE_OR_SPACE")
@click.option("-m", "--model", help="Model that writes, as an experiment names models: openai/NAME, ...")
@click.option("--base-url", help="Address of its endpoint.")
@click.option("--key-env", metavar="VAR", help="Environment variable that holds its key.")
@click.option("-n", type=int, default=5, show_default=True, help="Phrasings to request of each instruction.")
@click.option("--only", multiple=True, metavar="ID", help="Only this instruction; several times for several.")
@click.option("--judge", metavar="MODEL", help="Model to ask of each phrasing whether it asks for exactly the same.")
@click.option("-o", "--output", type=PATH, help="The TOML file to write.")
@click.option("--force", is_flag=True, help="Write over a file that exists.")
@click.option("--dry-run", is_flag=True, help="Print the requests, tokens and cost; send nothing.")
@click.option(
    "--review", is_flag=True, help="Show the phrasings of FILE one by one beside their instruction, to decide."
)
def paraphrase(
    instructions: str,
    model: str | None,
    output: Path | None,
    *,
    base_url: str | None,
    key_env: str | None,
    n: int,
    only: Sequence[str],
    judge: str | None,
    force: bool,
    dry_run: bool,
    review: bool,
) -> None:
    """Request more phrasings of instructions, and review them.

    The instructions are those of a built-in space (multiple-choice, open, maths) or of a TOML file. New phrasings are
    marked as not reviewed, and no run uses them before somebody has reviewed them (--review). Those that may ask for
    something else than their instruction carry the reason.
    """
    from howsure.sample import collect_paraphrases as paraphrases

    if review:
        if model is not None or output is not None or judge is not None or dry_run:
            raise InputError("--review together with options of a request", remedy="give only the file: FILE --review")
        print(paraphrases.review_paraphrases(Path(instructions), _prompt_decision))
        return
    if model is None:
        raise InputError("no model is named", where="--model", remedy="add -m openai/NAME, or review a file: --review")
    if dry_run:
        print(
            paraphrases.estimate_paraphrases(
                instructions, model, base_url=base_url, key_env=key_env, n=n, only=only, judge=judge
            )
        )
        return
    if output is None:
        raise InputError("no file is named", where="--output", remedy="add -o FILE.toml")
    print(
        paraphrases.collect_paraphrases(
            instructions, model, output, base_url=base_url, key_env=key_env, n=n, only=only, judge=judge, force=force
        )
    )
    print(output)


def _prompt_decision(text: str, phrasing: Instruction) -> tuple[Decision, str]:
    """Return what a person at the terminal decides about a phrasing, and the text that they give it."""
    from howsure.perturb.paraphrases import DECISIONS

    print(f"\n{text}")
    choice = click.prompt(
        "[a]ccept, [e]dit, [r]emove, [l]ater, [s]top",
        type=click.Choice([decision[0] for decision in DECISIONS]),
        show_choices=False,
    )
    decision = next(decision for decision in DECISIONS if decision[0] == choice)
    return decision, click.prompt("Text", default=phrasing.text) if decision == "edit" else ""


@click.command()
@click.argument("experiment", type=PATH)
@click.option("-n", type=int, default=20, show_default=True, help="Prompts to print.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the draw.")
@click.option("--question", metavar="ID", help="Only prompts of this question.")
@click.option(
    "--replaced", is_flag=True, help="Only prompts in which a value was replaced or a choice keeps its place."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Print text for a person, or a list of objects for a program.",
)
def prompts(experiment: Path, *, n: int, seed: int, question: str | None, replaced: bool, form: str) -> None:
    """Print prompts of an experiment, drawn at random, to read them.

    Each is printed as it would be sent, with the values that were drawn, those that did not fit the question and were
    replaced, and the right answer. Nothing is sent.
    """
    from howsure.sample import drawn_prompts

    drawn = drawn_prompts.draw_prompts(experiment, n, seed=seed, question=question, replaced=replaced)
    if form == "json":
        print(escape_json(json.dumps([dataclasses.asdict(prompt) for prompt in drawn], ensure_ascii=False, indent=2)))
    else:
        rule = "\n\n" + "-" * 80 + "\n"
        print(rule.join(drawn_prompts.format_prompt(prompt) for prompt in drawn))


@click.command()
@click.argument("name", required=False)
@click.option("--show", "n", type=int, default=0, metavar="N", help="Print N whole prompts of NAME, with answers.")
@click.option("--shots", type=int, help="Show this number of other questions with their answers before each one.")
@click.option("--path", help="Folder with the files of NAME, in place of the cache and the network.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the draw of --show.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "wide", "json", "csv"]),
    default="text",
    show_default=True,
    help="Print lines that fit the terminal, whole lines, or rows for a program; csv has no prompts.",
)
def benchmarks(name: str | None, *, n: int, shots: int | None, path: str | None, seed: int, form: str) -> None:
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
        drawn = draw_benchmark_prompts({"name": name, **options}, n or 1, seed=seed)
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
        rule = "\n\n" + "-" * 80 + "\n"
        if drawn:
            print(rule.lstrip("\n") + rule.join(map(format_prompt, drawn)))
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
