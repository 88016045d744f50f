"""Define commands on files: report, preview, convert, rescore, review."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from howsure.api.choices import (
    TEXT_FORMATS,
    ConversionTarget,
    OutputFormat,
)
from howsure.cli.declared import PATH, DeclaredCommand, DeclaredValue
from howsure.cli.messages import flush_notes
from howsure.cli.options import (
    CommandInputs,
    add_format,
    add_mapping,
    add_names,
    add_reading,
    add_unsafe_code,
    parse_columns,
    print_result,
)
from howsure.errors import InputError
from howsure.rows.mapping import Shape


@click.command(
    cls=DeclaredCommand,
    of="report",
    omit="exclude epsilon delta title",
    names={"figure_format": "format", "static_figures": "no-static"},
)
@add_reading(cluster=True, variants=True)
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("report.html"),
    show_default=True,
    help="The HTML file; of several benchmarks, or without .html, a folder with an index and a page for each.",
)
def report(inputs: CommandInputs, output: Path, **options: DeclaredValue) -> None:
    """Write a report that works offline."""
    import howsure as hs

    progress = _print_progress if sys.stderr.isatty() else None
    file = hs.report(inputs.results, output, progress=progress, **options)
    flush_notes()
    if file.parent != output.parent and output.suffix:
        note = f"several benchmarks: each has a page in the folder {file.parent}, and {output} is not written"
        print(f"howsure: {note}", file=sys.stderr)
    print(file)


def _print_progress(step: str) -> None:
    """Print the step of a report that begins, and the time, on stderr."""
    print(f"howsure: {time.strftime('%H:%M:%S')} {step}", file=sys.stderr)


@click.command()
@click.argument("paths", metavar="PATH", nargs=-1, required=True)
@click.option("--columns", multiple=True, metavar="NAME=COLUMN", help="Column of a table that holds NAME.")
@add_mapping
@click.option("--scorer", metavar="NAME", help="Which of several scores is read.")
@click.option("-o", "--output", type=PATH, metavar="FILE", help="Write the mapping by which the table is read.")
@add_names
@add_format
def preview(
    paths: Sequence[str],
    *,
    columns: Sequence[str],
    table_map: Sequence[str],
    shape: Shape | None,
    output: Path | None,
    scorer: str | None,
    form: OutputFormat,
    **names: DeclaredValue,
) -> None:
    """Show how a file is understood, and the command to run next.

    For a table: what each column is taken for and why, and the rows, questions, models and scores that follow. Logs and
    run folders are described in a few lines.
    """
    import howsure as hs

    if len(paths) > 1:
        raise InputError(f"{len(paths)} paths", where="preview", remedy="preview one file or folder at a time")
    options: dict[str, Any] = {"columns": parse_columns(columns), "map": table_map or None, "shape": shape}
    result = hs.preview(paths[0], scorer=scorer, **options, **names)
    print_result(result, form)
    if output is not None:
        if not result.mapping:
            raise InputError("a log or a run folder has no mapping", where=paths[0], remedy="preview a table")
        output.write_text(result.mapping, encoding="utf-8")
        print(
            f"howsure: the mapping is in {output}: howsure score {shlex.quote(paths[0])} --map {output}",
            file=sys.stderr,
        )


@click.command(cls=DeclaredCommand, of="convert")
@add_reading(cluster=True)
@add_format
@click.option("-o", "--output", type=PATH, required=True, help="A folder, or file, that does not exist yet.")
def convert(inputs: CommandInputs, output: Path, *, to: ConversionTarget | None, form: OutputFormat) -> None:
    """Convert logs, tables and run folders to other forms."""
    import howsure as hs

    remedy = "leave it to the commands that read it"
    if inputs.benchmarks:
        remedy_of_names = f"{remedy}, which take --as-benchmark NAME beside it"
        raise InputError("--benchmark: a conversion keeps every benchmark", remedy=remedy_of_names)
    if inputs.exclude:
        raise InputError("--exclude: a conversion keeps every question", remedy=remedy)
    if inputs.generations:
        raise InputError("--generations: a conversion keeps every generation", remedy=remedy)
    print_result(hs.convert(inputs.results, output, to), form)
    if form in TEXT_FORMATS:
        print(output)


@click.command(cls=DeclaredCommand, of="rescore")
@click.argument("paths", nargs=-1, required=True)
@click.option("-o", "--output", type=PATH, help="Of logs: the run folder that they are converted to first.")
@click.option(
    "--columns",
    multiple=True,
    metavar="NAME=COLUMN",
    help="Column of a table that holds NAME (completion, ...).",
)
@add_names
@click.option("--each", is_flag=True, help="Print examples of disagreement instead, a row each.")
@click.option("--judge", type=PATH, metavar="FILE", help="Let a model judge: a YAML file with the keys of judge.")
@click.option(
    "--unparsed-by",
    type=PATH,
    metavar="FILE",
    help="Let such a model judge only what could not be read, by --scorer or as stored; all else keeps its score.",
)
@click.option("--retry", type=click.Choice(["failed"]), help="With a judge: ask again for verdicts that failed.")
@add_unsafe_code
@add_format
def rescore(
    paths: Sequence[str],
    *,
    scorer: str | None,
    output: Path | None,
    columns: Sequence[str],
    base: Path | None,
    each: bool,
    override: Path | None,
    judge: Path | None,
    unparsed_by: Path | None,
    retry: str | None,
    level: float,
    form: OutputFormat,
    **names: DeclaredValue,
) -> None:
    """Score stored completions again.

    Nothing stored is changed: the scores are a new column, which other commands read unless --scorer names another one,
    such as run for the scores of the run itself. The table shows how far they agree with the stored scores. own is the
    run's own benchmark, after its rules were fixed.
    """
    from howsure.export import conversion
    from howsure.store.scorer_files import OWN_SCORES, split_name

    if judge is not None and (scorer is not None or unparsed_by is not None):
        remedy = "such as --judge judge.yaml, or --scorer numeric with or without --unparsed-by judge.yaml"
        raise InputError("give either --judge, or --scorer and --unparsed-by", remedy=remedy)
    is_scored = judge is None and (scorer is not None or unparsed_by is None)
    if override is not None and not is_scored:
        raise InputError("--override is for --scorer, not for a judge", remedy="remove one of them")
    inputs = CommandInputs(paths, columns=parse_columns(columns), **names)
    code = 0
    if is_scored:
        from howsure.api.result_selection import read_corrections

        find_targets = None if override is None else read_corrections(override)
        result, folders = conversion.rescore_sources(
            inputs.results, scorer, output, level=level, base=base, find_targets=find_targets
        )
        for folder, name in folders.items() if scorer is None else ():
            print(f"howsure: {folder}: scored by {split_name(name)[0]}, for its targets", file=sys.stderr)
    if (file := judge or unparsed_by) is not None:
        from howsure.results.evaluations import read
        from howsure.sample.judge_config import load_judge

        code, result, folders = conversion.judge_sources(
            inputs.results if scorer is None else read(list(folders)),
            load_judge(file),
            output if scorer is None else None,
            unparsed_of=None if judge else scorer or OWN_SCORES,
            retry=retry is not None,
            level=level,
        )
    if result.parts:
        print_result(result.of("disagreements") if each else result, form)
    for folder, name in folders.items() if form in TEXT_FORMATS else ():
        command = shlex.join(["howsure", "score", str(folder), "--scorer", split_name(name)[0]])
        print(f"{folder}: {command} reads these scores")
    if code:
        sys.exit(code)


@click.command()
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option(
    "--verdicts",
    type=PATH,
    help="File that verdicts are added to, default: verdicts.jsonl; with --random the sample and its labels, default: "
    "labels.jsonl. A sample that is there is shown again.",
)
@click.option("--port", type=int, default=8765, show_default=True, help="Port of the page; 0 takes any that is free.")
@click.option("--blind", is_flag=True, help="Hide the target until it is requested.")
@click.option("--reviewer", help="Name that signs your verdicts, and whose queue is shown; default: your user name.")
@click.option("--adjudicate", is_flag=True, help="Show the questions on which reviewers differ, for final verdicts.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--random", "n_random", type=click.IntRange(1), metavar="N", help="Label N completions that a judge scored instead."
)
@click.option("--scorer", metavar="NAME", help="With --random: the judge, such as judge:correct; default: the run's.")
@click.option(
    "--corrections",
    type=PATH,
    metavar="FILE",
    help="Write the right answers of --verdicts as a table (CSV) instead, and open no page.",
)
def review(
    paths: Sequence[Path],
    *,
    verdicts: Path | None,
    no_browser: bool,
    n_random: int | None,
    scorer: str | None,
    corrections: Path | None,
    **page: DeclaredValue,
) -> None:
    """Review suspected label errors in the browser.

    Verdicts are added to a file. PATHS are run folders and logs. Each reviewer has an own queue, and sees no verdict of
    others. --exclude of other commands leaves out the questions that reviewers reject; one that some reject and others
    call fine is kept until --adjudicate gives it a final verdict.

    With --random a person labels a random sample of completions that a judge scored, and sees neither its verdict nor
    the model. --calibrate of score and compare corrects the judge's scores by these labels.
    """
    verdicts = verdicts or Path("verdicts.jsonl" if n_random is None else "labels.jsonl")
    if corrections is not None:
        if len(paths) != 1 or n_random is not None:
            what = f"--corrections with {'--random' if n_random is not None else f'{len(paths)} paths'}"
            raise InputError(what, remedy="give one run folder, and --verdicts FILE")
        from howsure.review.corrections import write_corrections

        counts = write_corrections(paths[0], verdicts, corrections)
        print(f"{corrections}: {', '.join(f'{n} {word}' for word, n in counts.items()) or 'no corrections'}")
        return
    if n_random is not None:
        if len(paths) != 1:
            raise InputError(f"--random with {len(paths)} paths", remedy="give one run folder that a judge scored")
        from howsure.api.judged_results import open_sample
        from howsure.web.label_pages import serve_labels

        sample = open_sample(paths[0], n_random, verdicts, scorer=scorer)
        who = {name: page[name] for name in ("port", "reviewer")}
        serve_labels(sample.tasks, sample.choices, verdicts, open_browser=not no_browser, **who)
        for line in sample.describe():
            print(line)
        return
    from howsure.web.review_pages import serve_review

    serve_review(paths, verdicts=verdicts, open_browser=not no_browser, **page)
