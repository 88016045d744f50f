"""The command `howsure`: each command parses its options, calls a public function, and prints the result.

Modules that import much are imported inside the commands, so that ``howsure --help`` is fast.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from itertools import pairwise

import click

from howsure.cli import (
    analysis_commands,
    file_commands,
    gate_commands,
    sampling_commands,
    setup_commands,
)
from howsure.cli.messages import NotePrinter, print_error
from howsure.errors import HowsureError, HowsureWarning


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; wrong use or unreadable input prints one line on stderr and exits with code 2."""
    printer = NotePrinter()
    warnings.showwarning = printer.show_warning
    warnings.simplefilter("always", HowsureWarning)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a character that the terminal's encoding lacks is escaped
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            code = cli.main(args=arguments, standalone_mode=False, obj=printer)
        finally:
            printer.flush()
        if sys.stdout is not None:
            sys.stdout.flush()
    except (click.exceptions.Abort, KeyboardInterrupt):
        print_error("interrupted")
        code = sampling_commands.INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:  # its message is the help, on stderr as click prints it
        error.show()
        code = error.exit_code
    except click.ClickException as error:
        message = " ".join(error.format_message().split())
        message = message.replace("is not a valid float", "is not a number")
        print_error(message.replace("is not a valid integer", "is not a whole number"))
        code = 2
    except HowsureError as error:
        _report_error(error, sys.argv[1:] if arguments is None else arguments)
        code = 2
    except BrokenPipeError:  # the program that reads the output, such as head, has closed the pipe
        _discard_output()
        code = 0
    except (OSError, MemoryError, RuntimeError, ImportError, SystemError) as error:
        _discard_output()
        print_error(_describe_failure(error))
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


#: Bytes of address space that the libraries of a command need.
LEAST_ADDRESS_SPACE = 800 << 20


def _check_address_space() -> None:
    """Raise MemoryError under a limit in which a library would wait for memory without end while it is loaded."""
    if importlib.util.find_spec("resource") is not None:
        import resource

        if 0 <= resource.getrlimit(resource.RLIMIT_AS)[0] < LEAST_ADDRESS_SPACE:
            raise MemoryError


def _describe_failure(error: Exception) -> str:
    """Return a line for an error of the system; raise any other error again."""
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename is not None else "the output cannot be written: "
        return f"{named}{error.strerror or error}; check the path and the space on the disk"
    # A library that cannot be loaded for lack of memory says one of these.
    signs = "start new thread", "failed to map segment", "allocate memory", "error return without exception set"
    if not isinstance(error, MemoryError) and not any(sign in str(error) for sign in signs):
        raise error
    return "the memory or the threads allowed here are not enough; allow more (ulimit -a) and run again"


def _report_error(error: HowsureError, arguments: Sequence[str]) -> None:
    """Print an error with the command that reads the input; with `--format json` a refusal is a record too.

    Its options are added to the command line; where they begin with another command, they are that one.
    """
    options = getattr(error, "options", ())
    given = arguments if options and options[0].startswith("-") else []
    command = shlex.join(["howsure", *given, *options]) if options else ""
    print_error(f"{error}: {command}" if command else str(error))
    is_json = any(pair == ("--format", "json") for pair in pairwise(arguments)) or "--format=json" in arguments
    code = getattr(error, "code", "")
    if is_json and code:
        record = {"code": code, "message": str(error), "command": command}
        click.echo(json.dumps({"error": record}, indent=1))


def _discard_output() -> None:
    """Let what is still buffered for stdout, which cannot be written, go nowhere."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


#: Removed commands by the command that does their work now.
_REMOVED = {
    "compare": "pairs combine providers greedy",
    "run": "doctor prompts",
    "plan": "noise",
    "explain": "skill completion",
}


class _CommandGroup(click.Group):
    """The group of all commands; an option that holds one value is given once, and the next command is printed last."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; print the one that is tried next, if it printed a result for a person."""
        _check_address_space()
        returned: object = super().invoke(ctx)
        if following := ctx.meta.get("howsure.next"):
            print(f"next: {following}")
        return returned

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command and its arguments; raise UsageError where click would take the last of several values."""
        for new, removed in _REMOVED.items():
            if args[0] in removed.split() and not ctx.resilient_parsing:
                raise click.UsageError(f"howsure {new} does what howsure {args[0]} did: howsure {new} --help", ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command is None or ctx.resilient_parsing:
            return name, command, rest
        with click.Context(command, info_name=name, parent=ctx) as context:
            _, _, order = command.make_parser(context).parse_args(list(rest))
        values = [one for one in order if isinstance(one, click.Option) and not one.multiple and not one.is_flag]
        twice = next((one for one in values if values.count(one) > 1 and not one.count), None)
        if twice is not None:
            raise click.UsageError(f"{twice.opts[0]} is given twice, and holds one value: give it once", ctx)
        return name, command, rest


@click.group(cls=_CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="howsure", message="%(prog)s %(version)s")
def cli() -> None:
    """Error bars for evaluations of language models.

    What a score is, how sure one can be, where the noise comes from, and which differences are real. PATHS are run
    folders, logs of other programs (Inspect, lm-evaluation-harness, HELM, lighteval, promptfoo, ...) and tidy tables
    (csv, parquet, jsonl), several at once; a folder is searched for all of them.
    """


for command in (
    setup_commands.init,
    sampling_commands.run,
    analysis_commands.score,
    analysis_commands.compare,
    analysis_commands.rank,
    analysis_commands.repeats,
    analysis_commands.variants,
    analysis_commands.attempts,
    analysis_commands.curve,
    analysis_commands.questions,
    sampling_commands.plan,
    gate_commands.gate,
    analysis_commands.audit,
    analysis_commands.show,
    sampling_commands.benchmarks,
    file_commands.preview,
    file_commands.convert,
    file_commands.rescore,
    file_commands.report,
    file_commands.review,
    setup_commands.explain,
    setup_commands.mcp,
):
    cli.add_command(command)
