"""Define commands of the first minute: init, explain."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from howsure.api.choices import OutputFormat
from howsure.cli.declared import PATH
from howsure.cli.options import add_format, print_result
from howsure.errors import InputError


@click.command()
@click.argument("experiment", type=PATH, default=Path("exp.yaml"))
@click.option("--benchmark", metavar="NAME|FILE", help="A benchmark by name, or a file of questions.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="A model; several times for several.")
@click.option("--generations", type=click.IntRange(min=1), metavar="N", help="Sampled answers per question.")
@click.option("--base-url", help="Address of an endpoint with OpenAI's API, such as http://localhost:8000/v1.")
@click.option("--key-env", metavar="VAR", help="Environment variable that holds its key.")
@click.option("--force", is_flag=True, help="Write over a file that exists.")
def init(
    experiment: Path,
    *,
    benchmark: str | None,
    models: Sequence[str],
    generations: int | None,
    base_url: str | None,
    key_env: str | None,
    force: bool,
) -> None:
    """Write an experiment file, by three questions or by options.

    Which benchmark, which models, how many generations: what no option says is asked. Without a terminal an answer is
    a line of the input, and what is missing there takes the default.
    """
    import howsure as hs

    if experiment.exists() and not force:
        remedy = "name another file, or write over it with --force"
        raise InputError("exists already", where=str(experiment), remedy=remedy)
    benchmark = benchmark or _ask("Benchmark: a name (howsure benchmarks) or a file of questions", "directions-small")
    models = models or _ask("Models, separated by commas", "simulated/medium").replace(",", " ").split()
    answer = _ask("Generations per question", "5") if generations is None else str(generations)
    if not answer.isdecimal() or int(answer) < 1:
        raise InputError(f"{answer!r} generations", where="--generations", remedy="give a whole number from 1")
    path = hs.init(
        experiment,
        benchmark=benchmark,
        models=models,
        generations=int(answer),
        base_url=base_url,
        key_env=key_env,
        replace=force,
    )
    print(path)
    quoted = f'"{path}"' if " " in str(path) else str(path)
    print(f"next: howsure run {quoted} --check, then howsure run {quoted}", file=sys.stderr)


def _ask(question: str, default: str) -> str:
    """Return the answer of a person at the terminal, or the next line of the input, or the default."""
    if sys.stdin is not None and sys.stdin.isatty():
        return str(click.prompt(question, default=default, err=True)).strip() or default
    line = sys.stdin.readline().strip() if sys.stdin is not None else ""
    print(f"{question}: {line or default}", file=sys.stderr)
    return line or default


@click.command()
@click.pass_context
def mcp(context: click.Context) -> None:
    """Serve the commands that read results to an assistant (MCP).

    For a client of the Model Context Protocol, which starts it: {"command": "howsure", "args": ["mcp"]}. Its tools are
    score, compare, rank, plan, preview and the other commands that only read; none samples or writes.
    """
    from howsure.extras.mcp_server import COMMANDS, serve

    group = context.find_root().command
    assert isinstance(group, click.Group)
    serve({name: group.commands[name].help or "" for name in COMMANDS})


@click.command()
@click.argument("columns", nargs=-1, metavar="[COLUMN|TERM|CODE]...")
@add_format
def explain(columns: Sequence[str], form: OutputFormat) -> None:
    """Explain columns of tables, terms, and codes of notes: meaning, unit, formula.

    Without a name, all columns that a command prints are listed. Terms are those of the glossary, such as "data noise".
    Codes are those that --verbose prints; "notes" lists all of them. The page under "more" is part of the
    documentation. "agents" prints a short guide for coding agents: howsure explain agents > skills/howsure/SKILL.md.
    """
    import howsure as hs

    if columns == ("agents",):
        print(Path(__file__).with_name("skill.md").read_text(encoding="utf-8"), end="")
        return
    print_result(hs.explain_columns(columns), form)
