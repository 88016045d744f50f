"""Define the command on verdicts for automatic checks: gate."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from howsure.api.choices import TEXT_FORMATS, OutputFormat
from howsure.cli.declared import PATH, DeclaredCommand, DeclaredValue
from howsure.cli.messages import flush_notes
from howsure.cli.options import (
    CommandInputs,
    add_format,
    add_reading,
    fit_sentences,
    print_result,
)
from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.claims import GateVerdict

if TYPE_CHECKING:
    from howsure.api.regression_gate import GateResult
    from howsure.results.evaluations import Evaluations


@click.command(cls=DeclaredCommand, of="gate")
@add_reading()
@add_format
@click.option("--baseline", multiple=True, metavar="PATH", help="Results of the baseline; PATHS are the candidate's.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Score that is gated, as --scorer names one; several get a verdict each, and one for all.",
)
@click.option(
    "--inconclusive",
    type=click.Choice(["pass", "fail"]),
    help="Exit as if it passed, or failed, where neither is shown; default: exit code 3.",
)
@click.option("--output", type=PATH, metavar="FOLDER", help="Run folder of a candidate that is sampled.")
@click.option("--markdown", type=PATH, metavar="FILE", help="Write a short text for a pull request; - prints it.")
@click.option("--junit", type=PATH, metavar="FILE", help="Write the verdicts as JUnit XML.")
@click.option(
    "--questions",
    "list_questions",
    is_flag=True,
    help="Print the questions that are right less often than before, those with the smallest p-value first.",
)
@click.option("--self-test", is_flag=True, help="Count how often halves of the baseline's own generations fail.")
def gate(
    inputs: CommandInputs,
    form: OutputFormat,
    *,
    baseline: tuple[str, ...],
    a: str | None,
    b: str | None,
    metrics: tuple[str, ...],
    inconclusive: GateVerdict | None,
    output: Path | None,
    markdown: Path | None,
    junit: Path | None,
    list_questions: bool,
    self_test: bool,
    **options: DeclaredValue,
) -> None:
    """Decide whether a candidate is worse than a baseline.

    BASE CANDIDATE are two paths to results of the same questions; or one path with --a (candidate) and --b (baseline);
    or an experiment file with --baseline PATH, whose candidate is sampled until the verdict is clear or the generations
    or the budget of the file are spent. The exit code is 0 for pass, 1 for fail, 3 if neither is shown, and 2 for wrong
    use.
    """
    import howsure as hs
    from howsure.api.regression_gate import EXIT_CODES, check_experiment, sample_until_decided
    from howsure.stats.gate import check_gate

    margin, at_least, alpha = (options[name] for name in ("margin", "at_least", "alpha"))
    _check_options(inputs, metrics, self_test=self_test, list_questions=list_questions, at_least=at_least)
    candidate, old = _divide(inputs, baseline, a, b, at_least, self_test=self_test)
    if self_test:
        data, label = (old or candidate).results, b if b is not None or old is not None else a
        print_result(hs.measure_false_alarms(data, b=label, margin=margin, alpha=alpha, claim=options["claim"]), form)
        return

    if str(markdown) == "-" and form not in TEXT_FORMATS:
        what = f"--markdown - and --format {form} both print, and no program reads the two together"
        raise InputError(what, where="gate", remedy="write the markdown to a file: --markdown FILE")
    for path in (markdown, junit):
        _check_writable(path)

    file = Path(candidate.paths[0])
    is_experiment = file.suffix in {".yaml", ".yml"}
    folder = output or file.with_suffix("")

    def judge(data: Evaluations | dict[str, Evaluations], share: float) -> GateResult:
        baseline = None if old is None else _read_metrics(old, metrics)
        return hs.gate(data, baseline=baseline, a=a, b=b, **options | {"alpha": share})

    if is_experiment:
        if len(candidate.paths) > 1 or (old is None and at_least is None):
            what = f"{file} is an experiment, and nothing to compare it with"
            raise InputError(what, where="gate", remedy="give --baseline PATH, or --at-least SCORE")
        check_gate(margin, alpha, bar=0.0 if at_least is None else at_least)
        if old is not None:
            _check_baseline(old, folder, b, metrics, margin=margin, alpha=alpha)
            check_experiment(file, old.results, a=a, b=b)
        flush_notes(stop_waiting=True)
        result = sample_until_decided(file, folder, judge, label=a, metrics=metrics, alpha=alpha, stream=sys.stderr)
    else:
        result = judge(_read_metrics(candidate, metrics), alpha)
    try:
        _print_verdict(result, form, list_questions=list_questions)
        sys.stdout.flush()
    except BrokenPipeError:  # what reads the output has enough of it, and the verdict is in the exit code
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    # After the verdict has been printed, which a file that cannot be written must not hide.
    _write(result, markdown, junit, inconclusive or "inconclusive")
    verdict = result.verdict if result.verdict != "inconclusive" or inconclusive is None else inconclusive
    sys.exit(EXIT_CODES[verdict])


def _check_options(
    inputs: CommandInputs,
    metrics: tuple[str, ...],
    *,
    self_test: bool,
    list_questions: bool,
    at_least: float | None,
) -> None:
    """Raise InputError for options that exclude each other."""
    if metrics and (inputs.scorer is not None or self_test or len(set(metrics)) < len(metrics)):
        remedy = "name each score once, with --metric alone; --self-test takes --scorer"
        raise InputError("--metric", where="gate", remedy=remedy)
    if list_questions and at_least is not None:
        what = "--questions lists questions that are right less often than before, and --at-least has no baseline"
        raise InputError(what, where="gate", remedy="leave out --questions, or give a baseline in place of --at-least")


def _check_baseline(
    inputs: CommandInputs, folder: Path, label: str | None, metrics: tuple[str, ...], *, margin: float, alpha: float
) -> None:
    """Refuse, before anything is paid for, a baseline that the results of an experiment could not be judged against."""
    from howsure.stats.gate import check_gate

    baseline = inputs.results
    benchmarks = baseline.cells()
    for metric in metrics:
        replace(inputs, scorer=metric).results.cells()  # raises for a score that the baseline does not have
    models = sorted({model for cells in benchmarks for model in cells.models})
    if label is not None and label not in models:
        raise UnknownNameError("model", label, models, where="--b")
    check_gate(margin, alpha, is_unit=all(cells.unit for cells in benchmarks))
    if any(Path(source.path).resolve() == folder.resolve() for source in baseline.sources):
        what = "the baseline is the folder in which the candidate is sampled"
        raise InputError(what, where=str(folder), remedy="give another folder for the candidate: --output FOLDER")


def _print_verdict(result: GateResult, form: OutputFormat, *, list_questions: bool) -> None:
    """Print the verdicts, below the questions where these are listed."""
    if list_questions or form not in TEXT_FORMATS:
        print_result(result.questions if list_questions else result, form)
    flush_notes()
    if form in TEXT_FORMATS:
        print(fit_sentences(_escape_lines(str(result)), form))


def _read_metrics(inputs: CommandInputs, metrics: tuple[str, ...]) -> Evaluations | dict[str, Evaluations]:
    """Return the results; by name, with each metric as the score, where metrics are named."""
    if not metrics:
        return inputs.results
    return {metric: replace(inputs, scorer=metric).results for metric in metrics}


def _divide(
    inputs: CommandInputs,
    baseline: tuple[str, ...],
    a: str | None,
    b: str | None,
    at_least: float | None,
    *,
    self_test: bool,
) -> tuple[CommandInputs, CommandInputs | None]:
    """Return the results of the candidate and of the baseline; None where both are in the same."""
    if baseline:
        if at_least is not None:
            raise InputError("--at-least and --baseline", where="gate", remedy="keep one of them")
        return inputs, replace(inputs, paths=baseline)
    is_one_label = a is not None and a == b and len(inputs.paths) == 2  # the same model at both paths
    if at_least is not None or self_test or (b is not None and not is_one_label):
        return inputs, None
    if len(inputs.paths) != 2:
        what = f"{len(inputs.paths)} path{'s' * (len(inputs.paths) != 1)}, and no baseline"
        raise InputError(what, where="gate", remedy="give BASE and CANDIDATE, or --baseline PATH, or --a and --b")
    return replace(inputs, paths=inputs.paths[1:]), replace(inputs, paths=inputs.paths[:1])


def _check_writable(path: Path | None) -> None:
    """Raise OSError, before any work is done, if a file cannot be written."""
    if path is not None and str(path) != "-":
        existed = path.exists()
        with path.open("a"):
            pass
        if not existed:
            path.unlink()


def _write(result: GateResult, markdown: Path | None, junit: Path | None, inconclusive: GateVerdict) -> None:
    """Write the verdicts to files, and to the summary of a step of GitHub Actions where there is one."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(result.to_markdown(inconclusive=inconclusive))
    if markdown is not None and str(markdown) == "-":
        print(result.to_markdown(inconclusive=inconclusive))
    elif markdown is not None:
        markdown.write_text(result.to_markdown(inconclusive=inconclusive), encoding="utf-8")
    if junit is not None:
        junit.write_text(result.to_junit(inconclusive=inconclusive), encoding="utf-8")


def _escape_lines(text: str) -> str:
    """Return a text whose names cannot control a terminal."""
    from howsure.safe_text import escape_control_characters

    return escape_control_characters(text, keep="\n")
