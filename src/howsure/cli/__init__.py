"""One function per command: parse, call, print. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

from howsure.cli import answers, files, sampling
from howsure.cli.sampling import INTERRUPTED
from howsure.errors import HowsureError, HowsureWarning

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; a wrong use or an unreadable input is one line on stderr and exit code 2."""
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", HowsureWarning)
    try:
        code = cli.main(args=arguments, standalone_mode=False)
    except click.exceptions.Abort:
        _say("interrupted")
        code = INTERRUPTED
    except KeyboardInterrupt:
        _say("interrupted")
        code = INTERRUPTED
    except click.ClickException as error:
        _say(" ".join(error.format_message().split()))
        code = 2
    except HowsureError as error:
        _say(str(error))
        code = 2
    except BrokenPipeError:  # the reader of a pipe, such as head, has enough
        with contextlib.suppress(OSError):
            sys.stdout.close()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _say(line: str) -> None:
    print(f"howsure: {line}", file=sys.stderr)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, HowsureWarning):
        _say(f"warning: {message}")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="howsure", message="%(prog)s %(version)s")
def cli() -> None:
    """Error bars for evaluations of language models.

    What a score is, how sure one can be, where the noise comes from, and which differences are real. PATHS are run
    folders, logs of other programs (Inspect, lm-evaluation-harness, HELM, lighteval, promptfoo, ...) and tidy tables
    (csv, parquet, jsonl), several at once; a folder is searched for all of them.
    """


for command in (
    *(sampling.run, answers.score, answers.compare, answers.pairs, answers.rank, answers.repeats, answers.variants),
    *(answers.combine, answers.plan, answers.audit, sampling.paraphrase),
    *(files.convert, files.rescore, files.report, files.review),
):
    cli.add_command(command)
