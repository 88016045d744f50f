"""Define options that several commands share, read the results that they name, and print results."""

from __future__ import annotations

import functools
import math
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.core import ParameterSource

from howsure.api.choices import OUTPUT_FORMATS, TEXT_FORMATS, Candidates, OutputFormat
from howsure.cli.declared import PATH, ReadingOption
from howsure.cli.messages import add_verbose, flush_notes
from howsure.errors import InputError
from howsure.rows.mapping import SHAPES, Shape
from howsure.safe_text import escape_control_characters, escape_json, neutralise_formula

if TYPE_CHECKING:
    from howsure.results.evaluations import Evaluations
    from howsure.stats.core.cells import Cells
    from howsure.stats.core.results import Columns, Result

#: Characters of pictures for a terminal whose encoding lacks them.
_PLAIN_PICTURES = str.maketrans("├─┼●┤", "|-+o|")
#: Function that is registered as a command.
Command: TypeAlias = Callable[..., None]
#: Decorator that adds options to a command.
Decorator: TypeAlias = Callable[[Command], Command]


#: Largest number of models that an error lists.
_MOST_MODELS = 12
add_format = click.option(
    "--format",
    "form",
    type=click.Choice(OUTPUT_FORMATS),
    default="table",
    show_default=True,
    help="Print a table that fits the terminal, one with all columns, rows for a program, or a table for a document.",
)
_reading_option = functools.partial(click.option, cls=ReadingOption)
#: Options for what the columns of tables do not state.
_NAME_OPTIONS = (
    _reading_option(
        "--as-benchmark",
        "benchmark",
        metavar="NAME",
        help="One name for the benchmark of everything that is read, or that --benchmark selects: equal question "
        "ids are the same questions.",
    ),
    _reading_option(
        "--model",
        metavar="NAME",
        help="Model of tables without a column that names it; default: the name of the file, or of its folder.",
    ),
    _reading_option(
        "--scale",
        type=float,
        metavar="N",
        help="Divide the scores of tables by N; default: scores from 0 to 100 are percent, which a line says.",
    ),
)
#: Options for the shape of tables.
_MAP_OPTIONS = (
    _reading_option(
        "--map",
        "table_map",
        multiple=True,
        metavar="FILE|YAML",
        help="Mapping of tables and files: a file that `preview -o` writes, or YAML such as 'header: [0, 1]'.",
    ),
    _reading_option(
        "--shape",
        type=click.Choice(SHAPES),
        help="What the columns of a table are: a column per model, per repeat, ...; default: found by the columns.",
    ),
)
_READ_OPTIONS = (
    _reading_option(
        "--benchmark",
        "benchmarks",
        multiple=True,
        metavar="NAME",
        help="Read only this benchmark; several can be named. Default: all.",
    ),
    _reading_option(
        "--columns",
        multiple=True,
        metavar="NAME=COLUMN",
        help="Column of a table, or field of a log, that holds NAME (model, question, score, ...). Several columns "
        "make one name: model=strategy,method.",
    ),
    *_MAP_OPTIONS,
    _reading_option(
        "--scorer", metavar="NAME", help="Which of several scores is read; of run folders, a scorer of howsure rescore."
    ),
    *_NAME_OPTIONS,
    _reading_option(
        "--generations",
        type=click.IntRange(min=1),
        metavar="N",
        help="Read only the first N generations of each question, as for logs that retry until an answer is right.",
    ),
    _reading_option(
        "--exclude", type=PATH, metavar="FILE", help="Leave out the questions that the verdicts in this file reject."
    ),
    add_verbose,
)
_VARIANT_OPTIONS = (
    _reading_option(
        "--dimension",
        "dimensions",
        multiple=True,
        metavar="COLUMN",
        help="Column of a table with the variants' values on a dimension; several can be named. Without a column for "
        "the variant, each combination of values is one.",
    ),
)
_CLUSTER_OPTION = _reading_option(
    "--cluster",
    metavar="COLUMN",
    help="Column of a table, or field of a log, that states which questions belong together (a passage, a repository). "
    "The clusters of a run folder are used without it.",
)


@dataclass(frozen=True)
class CommandInputs:
    """Paths, and the options with which they are read; nothing is read before it is used.

    Attributes
    ----------
    paths
        Run folders, logs and tables.
    columns
        Columns of tables or fields of logs, by our column names.
    table_map
        Mapping of tables and files, a file or YAML.
    shape, scorer, generations, dimensions, benchmark, benchmarks, model, scale
        As for `howsure.read`.
    exclude
        File of verdicts whose rejected questions are left out.

    Examples
    --------
    >>> CommandInputs(["scores.csv"], columns=parse_columns(["question=task_id"])).columns
    {'question': 'task_id'}
    """

    paths: Sequence[str]
    columns: Mapping[str, str] = field(default_factory=dict)
    table_map: Sequence[str] = ()
    shape: Shape | None = None
    scorer: str | None = None
    generations: int | None = None
    exclude: Path | None = None
    dimensions: Sequence[str] = ()
    benchmark: str | None = None
    benchmarks: Sequence[str] = ()
    model: str | None = None
    scale: float | None = None

    @cached_property
    def results(self) -> Evaluations:
        """Return the results at the paths, without the questions that a review rejected."""
        from howsure.api.result_selection import open_results
        from howsure.results.evaluations import read

        names = ("columns", "shape", "scorer", "generations", "dimensions", "benchmark", "benchmarks", "model", "scale")
        options: dict[str, Any] = {name: getattr(self, name) for name in names}
        results = read(self.paths, map=self.table_map or None, **options)
        return open_results(results, self.exclude)

    @property
    def models(self) -> list[str]:
        """Return the models of the results."""
        return list(dict.fromkeys(model for cells in self.results.cells() for model in cells.models))

    def read_reference(self, paths: Sequence[str]) -> list[Cells]:
        """Return the cells at other paths, read with the same options but without clusters."""
        reference = CommandInputs(
            paths,
            columns={name: column for name, column in self.columns.items() if name != "cluster"},
            scorer=self.scorer,
            exclude=self.exclude,
            benchmark=self.benchmark,
            benchmarks=self.benchmarks,
            scale=self.scale,
        ).results.cells()
        if self.exclude is not None and self.paths:
            names = {cells.benchmark for cells in self.results.cells()}
            if other := [cells.benchmark for cells in reference if cells.benchmark not in names]:
                what = f"--exclude: the reference is of {other[0]!r}, the results are of {', '.join(sorted(names))}"
                raise InputError(what, remedy="name the benchmark alike, or leave the questions out of both")
        return reference


def parse_columns(pairs: Sequence[str]) -> dict[str, str]:
    """Return the columns of the values of --columns, NAME=COLUMN each, by name."""
    columns: dict[str, str] = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        if not equals or not column:
            raise InputError(f"--columns {pair!r}", remedy="write NAME=COLUMN, such as --columns question=task_id")
        if columns.get(name, column) != column:
            remedy = "; where files name it differently, convert each with its own --columns"
            remedy += ", and read the folders together with --as-benchmark NAME"
            raise InputError(
                f"--columns {name} is given twice, {columns[name]!r} and {column!r}", remedy=f"give one column{remedy}"
            )
        columns[name] = column
    return columns


def split_values(_context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, float]:
    """Return the numbers of an option that holds NAME=NUMBER,..., by name."""
    values = {}
    for pair in (value or "").split(",") if value else ():
        name, _, number = pair.partition("=")
        try:
            values[name.strip()] = float(number)
        except ValueError:
            option = parameter.opts[0]
            raise InputError(f"{option} {pair!r}", remedy=f"write {option} NAME=NUMBER,NAME=NUMBER") from None
    return values


def add_reading(*, cluster: bool = False, required: bool = True, variants: bool = False) -> Decorator:
    """Add PATHS and the options with which they are read; the command gets `CommandInputs` as its first argument.

    `cluster` and `variants` state whether the command also has these options.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def read_and_call(
            paths: Sequence[str], *, columns: Sequence[str], cluster: str | None = None, **options: Any
        ) -> None:
            own = {one.name: options.pop(one.name) for one in fields(CommandInputs) if one.name in options}
            own["columns"] = parse_columns(columns) | ({"cluster": cluster} if cluster else {})
            command(CommandInputs(paths, **own), **options)

        decorated: Command = read_and_call
        for option in reversed((*_READ_OPTIONS, *(_VARIANT_OPTIONS if variants else ()))):
            decorated = option(decorated)
        if cluster:
            decorated = _CLUSTER_OPTION(decorated)
        return click.argument("paths", nargs=-1, required=required)(decorated)

    return decorate


def _set_unsafe_code(_context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # as click calls it
    """Allow code to run without isolation, for the rest of this process."""
    if value:
        os.environ["HOWSURE_ALLOW_UNSAFE_CODE"] = "1"


add_unsafe_code = click.option(
    "--allow-unsafe-code",
    is_flag=True,
    expose_value=False,
    callback=_set_unsafe_code,
    help="Run generated code also where nothing isolates it from your files and the network (scorer unit-tests).",
)


def add_names(command: Command) -> Command:
    """Add the options for what the columns of tables do not state: --as-benchmark, --model and --scale."""
    for option in reversed(_NAME_OPTIONS):
        command = option(command)
    return command


def add_mapping(command: Command) -> Command:
    """Add --map and --shape."""
    for option in reversed(_MAP_OPTIONS):
        command = option(command)
    return command


def add_borrow(command: Command) -> Command:
    """Add --borrow, read with the options of PATHS: the command gets cells of the reference, or None."""

    @functools.wraps(command)
    def read_and_call(inputs: CommandInputs, *, borrow: Sequence[str], **options: object) -> None:
        command(inputs, borrow=inputs.read_reference(borrow) if borrow else None, **options)

    option = click.option(
        "--borrow",
        multiple=True,
        metavar="REFERENCE",
        help="Results of at least five other models on all questions, of which these models answered some: any "
        "readable path, several at once. They show which questions are hard, so that fewer answers are enough.",
    )
    return option(read_and_call)


def add_winner(of: Candidates) -> Decorator:
    """Add --winner, with which a command prints the best of these candidates in place of its own table."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def pick_or_call(inputs: CommandInputs, *, winner: bool, **options: Any) -> None:
            if not winner:
                command(inputs, **options)
                return
            import howsure as hs

            refuse_options("--winner", "level")
            print_result(hs.winner(inputs.results, of=of, level=options["level"]), options["form"])

        text = (
            f"Print instead the best of all {of}, scored for fresh questions without the luck for which it was picked."
        )
        return click.option("--winner", is_flag=True, help=text)(pick_or_call)

    return decorate


def refuse_options(mode: str, *allowed: str, remedy: str = "leave one of them out") -> None:
    """Raise InputError for an option on the command line that a mode of the command does not use.

    Options on how PATHS are read, and how the result is printed, are used by every mode.
    """
    context = click.get_current_context()
    used = {*allowed, "form", "verbose", mode.removeprefix("--").partition(" ")[0]}
    for one in context.command.params:
        is_given = context.get_parameter_source(one.name or "") == ParameterSource.COMMANDLINE
        if is_given and one.name not in used and isinstance(one, click.Option) and not isinstance(one, ReadingOption):
            raise InputError(f"{max(one.opts, key=len)} with {mode}", remedy=remedy)


def build_models_error(inputs: CommandInputs, a: str | None, b: str | None) -> InputError:
    """Return the error of a command whose two models are not both named; the remedy has those that there are."""
    absent = " and ".join(f"--{name}" for name, model in (("a", a), ("b", b)) if model is None)
    others = [shlex.quote(model) for model in inputs.models if model not in {a, b}]
    remedy = f"name two of the models, or none to see all pairs: {', '.join(others[:_MOST_MODELS])}"
    if len(inputs.models) < 2:
        remedy = f"two models are compared, and the results have {' and '.join(inputs.models) or 'none'} alone"
        remedy += ": give the path of another run too"
    return InputError(f"{absent} {'are' if ' and ' in absent else 'is'} missing", remedy=remedy)


def find_width() -> int:
    """Return the width of the terminal, or that of the variable COLUMNS; 80 for a pipe, and 40 at least."""
    return max(shutil.get_terminal_size((80, 24)).columns, 40)


def fit_sentences(text: str, form: OutputFormat) -> str:
    """Return a text for a person: its sentences fit the terminal in a table's format, and are whole in the wide one."""
    from howsure.stats.core.text_table import wrap_text

    return wrap_text(text, find_width()) if form == "table" else text


def print_result(result: Result, form: OutputFormat) -> None:
    """Print a result as a table that fits the terminal, as a table with all columns, as JSON, or as CSV.

    Notes on what was read come first, on stderr.
    """
    flush_notes(as_json=form == "json")
    if form in TEXT_FORMATS:
        lines = result.fit_text(find_width() if form == "table" else None).split("\n")
        text = "\n".join(map(escape_control_characters, lines))
        try:
            text.encode(sys.stdout.encoding or "utf-8")
        except UnicodeEncodeError:
            text = text.translate(_PLAIN_PICTURES)
        print(text)
        click.get_current_context().meta["howsure.next"] = _find_next_command(result)
        return
    if form in {"markdown", "latex"}:
        print(result.to_markdown() if form == "markdown" else result.to_latex())
        return
    columns = result.to_columns()
    if form == "json":
        import msgspec

        rows = [dict(zip(columns, row, strict=True)) for row in _list_rows(columns)]
        text = msgspec.json.format(msgspec.json.encode(rows, enc_hook=str), indent=2).decode()  # NaN becomes null
        if not text.isascii() or "\x7f" in text:  # msgspec escapes the control characters of ASCII but for this one
            text = escape_json(text)
        print(text)
        return
    print_rows(list(columns), _list_rows(columns))


#: The command that is tried next after each; after `score` and `rank` of several models, after `repeats` of one.
_NEXT = """
score compare
compare report
rank compare
repeats plan --width 0.05
attempts questions
questions audit
audit review
"""


def _find_next_command(result: Result) -> str:
    """Return the command that is tried next, on the same paths read in the same way; '' where there is none."""
    context = click.get_current_context()
    following = [line.split() for line in _NEXT.splitlines() if line.startswith(f"{context.info_name} ")]
    _, command, *more = following[0] if following else ("", "")
    is_view = any(context.params.get(name) for name in ("view", "show", "calibrate", "battles"))
    columns = result.to_columns()
    n_models = len(set(columns["model"].tolist())) if "model" in columns else 0
    if context.info_name in {"score", "rank", "repeats"} and (n_models == 1) != (context.info_name == "repeats"):
        return ""
    paths = context.params.get("paths")
    if not command or not paths or is_view or (command == "review" and not any(Path(path).is_dir() for path in paths)):
        return ""
    names = {one.name for one in fields(CommandInputs)} | {"columns"}
    if command == "report" and find_spec("vl_convert") is None:
        return ""
    keeps_claim = command == "compare" and context.params.get("claim") == "these-questions"
    options = ["--claim", "these-questions"] if keeps_claim else []
    for one in context.command.params if command != "review" else ():
        given = context.get_parameter_source(one.name or "") == ParameterSource.COMMANDLINE
        if isinstance(one, ReadingOption) and given and one.name in names:
            value = context.params[one.name or ""]
            for each in value if isinstance(value, tuple) else [value]:
                options += [max(one.opts, key=len), str(each)]
    return shlex.join(["howsure", command, *paths, *options, *more])


def print_rows(names: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print names of columns and rows as CSV."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(_format_name, names))
    writer.writerows(map(_format_csv_row, rows))


def _list_rows(columns: Columns) -> list[tuple[object, ...]]:
    """Return the rows of the columns."""
    return list(zip(*(values.tolist() for values in columns.values()), strict=True))


def _format_csv_row(row: Iterable[object]) -> list[object]:
    """Return a row with nothing for NaN."""
    return ["" if _is_nan(value) else _format_name(value) if isinstance(value, str) else value for value in row]


def _format_name(text: str) -> str:
    """Return a text that neither a spreadsheet runs as a formula nor a terminal obeys; JSON has the text as it is."""
    return escape_control_characters(neutralise_formula(text), keep="\n")


def _is_nan(value: object) -> bool:
    """Return whether the value is a float that is not a number."""
    return isinstance(value, float) and math.isnan(value)
