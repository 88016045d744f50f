"""Define commands of the first minute, and those that say how to use the others: init, doctor, explain, ..."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from howsure.api.choices import SHELLS, OutputFormat, Shell
from howsure.cli.declared import PATH
from howsure.cli.options import add_format, print_result
from howsure.errors import InputError

#: Exit code of `doctor` where a check found a problem.
NOT_READY = 1


@click.command()
@click.argument("experiment", type=PATH, default=Path("exp.yaml"))
@click.option("--benchmark", metavar="NAME|FILE", help="A benchmark by name, or a file of questions.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="A model; several times for several.")
@click.option("--generations", type=click.IntRange(min=1), help="Sampled answers per question.")
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
    print(f"next: howsure doctor {quoted}, then howsure run {quoted}", file=sys.stderr)


def _ask(question: str, default: str) -> str:
    """Return the answer of a person at the terminal, or the next line of the input, or the default."""
    if sys.stdin is not None and sys.stdin.isatty():
        return str(click.prompt(question, default=default, err=True)).strip() or default
    line = sys.stdin.readline().strip() if sys.stdin is not None else ""
    print(f"{question}: {line or default}", file=sys.stderr)
    return line or default


@click.command()
@click.argument("experiment", type=PATH)
@click.option("-o", "--output", type=PATH, help="Run folder; default: the experiment's name without its suffix.")
@click.option("--offline", is_flag=True, help="Send nothing to the models.")
@add_format
def doctor(experiment: Path, output: Path | None, *, offline: bool, form: OutputFormat) -> None:
    """Check whether an experiment can run, with one request to each model.

    A line for each of: versions, file, benchmarks, requests and cost, disk, open files, keys, endpoints, whether n is
    honoured, limits, and whether an answer is read. The exit code is 1 where a line says problem.
    """
    import howsure as hs

    checks = hs.doctor(experiment, output, offline=offline)
    print_result(checks, form)
    if not checks.is_ready:
        sys.exit(NOT_READY)


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: Shell) -> None:
    """Print what completes commands and options in a shell.

    For bash: echo 'eval "$(howsure completion bash)"' >> ~/.bashrc
    """
    from howsure.cli import cli

    kind = get_completion_class(shell)
    assert kind is not None
    print(kind(cli, {}, "howsure", "_HOWSURE_COMPLETE").source())


def _complete_names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the columns, terms and codes of notes that begin so, for a shell that completes them."""
    from howsure.notes import read_templates
    from howsure.reporting.glossary import TERMS, read_columns

    return [name for name in (*read_columns(), *TERMS, *read_templates(), "notes") if name.startswith(incomplete)]


@click.command()
@click.argument("columns", nargs=-1, metavar="[COLUMN|TERM|CODE]...", shell_complete=_complete_names)
@add_format
def explain(columns: Sequence[str], form: OutputFormat) -> None:
    """Explain columns of tables, terms, and codes of notes: meaning, unit, formula.

    Without a name, all columns that a command prints are listed. Terms are those of the glossary, such as "data noise".
    Codes are those that --verbose prints; "notes" lists all of them.
    The page under "more" is part of the documentation.
    """
    import howsure as hs

    print_result(hs.explain_columns(columns), form)


@click.command()
def skill() -> None:
    """Print a short guide for coding agents.

    Save it where your agent looks for skills, such as howsure skill > skills/howsure/SKILL.md.
    """
    print(Path(__file__).with_name("skill.md").read_text(encoding="utf-8"), end="")
