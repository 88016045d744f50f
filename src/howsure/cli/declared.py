"""Make the options of a command from the signature and the docstring of a public function.

The module of the function is read as text and never imported here, so that the help of a command is fast.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

import click

import howsure
from howsure.api import choices
from howsure.errors import InputError
from howsure.stats.core import claims

PATH = click.Path(path_type=Path)
#: Value of an option that a declaration made; the public function checks it.
DeclaredValue: TypeAlias = Any


class Parameter(NamedTuple):
    """A parameter of a public function: its name, its types as they are written, its default, and its description."""

    name: str
    types: tuple[str, ...]
    default: Any
    text: str


class Declaration(NamedTuple):
    """What the source of a public function says: its first sentence, and its parameters that have defaults."""

    summary: str
    parameters: tuple[Parameter, ...]


@functools.cache
def read_declaration(name: str) -> Declaration:
    """Return the declaration of a public function; "As for `score`." is replaced by what `score` says.

    >>> read_declaration("rank").parameters[1][:3]
    ('level', ('float',), 0.95)
    """
    spec = find_spec(vars(howsure)["_MODULE_OF"][name])
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    function = next(one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name)
    described = ast.get_docstring(function) or ""
    texts = _read_parameters(described)
    given = function.args
    first = [*given.args[len(given.args) - len(given.defaults) :], *given.kwonlyargs]
    parameters = []
    for one, default in zip(first, [*given.defaults, *given.kw_defaults], strict=True):
        if one.annotation is not None and default is not None:
            types = tuple(part.strip() for part in ast.unparse(one.annotation).split(" | "))
            text = texts[one.arg]
            if text.startswith("As for --"):
                other, _, rest = text.removeprefix("As for --").partition(".")
                text = {same.name: same.text for same in read_declaration(other).parameters}[one.arg] + rest
            # Calls of other modules have no option; a name that has one and is no literal raises here.
            value = None if _NOT_GIVEN & {*types} else ast.literal_eval(default)
            parameters.append(Parameter(one.arg, types, value, text))
    return Declaration(described.partition("\n")[0], tuple(parameters))


def _read_parameters(docstring: str) -> dict[str, str]:
    """Return the first paragraph on each parameter of a docstring in numpydoc form, as plain text."""
    _, _, section = docstring.partition("\nParameters\n----------\n")
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line.startswith("--"):  # the name of the next section was the line before
            break
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
            texts |= dict.fromkeys(names, "")
        for name in names if line.startswith(" ") else ():
            texts[name] = f"{texts[name]} {line.strip()}".strip()
    return {name: _write_plain(text) for name, text in texts.items()}


def _write_plain(text: str) -> str:
    """Return a text of a docstring with the names of parameters as options, and without marks.

    >>> _write_plain('``"t"`` with `pass_at` [1]_, by `howsure.read`.')
    't with --pass-at, by howsure.read.'
    """
    for i in range(1, 10):
        text = text.replace(f" [{i}]_", "")
    parts = text.replace('``"', "").replace('"``', "").replace("``", "").split("`")
    parts[1::2] = [name if "." in name else f"--{_write_option(name)}" for name in parts[1::2]]
    return "".join(parts)


def _write_option(name: str) -> str:
    """Return the name of the option of a parameter."""
    return name.replace("_", "-")


class ReadingOption(click.Option):
    """An option on how PATHS are read."""


class DeclaredCommand(click.Command):
    """A command with an option for each parameter of a public function that has a default, beside its own options.

    Parameters
    ----------
    of
        Names of the public functions, separated by spaces; a parameter that several have is one option.
    omit
        Parameters that get no option, separated by spaces.
    names
        Options of parameters whose option has another name, such as ``{"n_future": "future"}``.
    """

    _is_declared: bool

    def __init__(
        self, *args: Any, of: str = "", omit: str = "", names: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        self._of, self._omit, self._names = of.split(), set(omit.split()), dict(names or {})
        super().__init__(*args, **kwargs)

    @property
    def params(self) -> list[click.Parameter]:
        """The arguments and options; the source is read when they are used, as the help of all commands needs none."""
        if not self._is_declared:
            self._is_declared = True
            parameters: dict[str, Parameter] = {}
            for function in self._of:
                parameters = {one.name: one for one in read_declaration(function).parameters} | parameters
            taken = self._omit | {one.name for one in self._params}
            chosen = [one for name, one in parameters.items() if name not in taken and not _NOT_GIVEN & {*one.types}]
            self._params += [_make_option(one, self._names.get(one.name)) for one in chosen]
            for one in self._params:  # a text names a parameter by its option
                for name, option in self._names.items() if isinstance(one, click.Option) else ():
                    one.help = (one.help or "").replace(f"--{_write_option(name)}", f"--{option}") or None
        return self._params

    @params.setter
    def params(self, own: list[click.Parameter]) -> None:
        self._params, self._is_declared = own, False

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the command, those that many commands share, and those on how PATHS are read."""
        own = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        own.sort(key=lambda one: one.name in {"form", "verbose", "help"})
        for title in ("Options", "Options on how PATHS are read"):
            chosen = [one for one in own if isinstance(one, ReadingOption) == (title != "Options")]
            if rows := [row for one in chosen if (row := one.get_help_record(ctx)) is not None]:
                with formatter.section(title):
                    formatter.write_dl(rows)


#: Types of parameters that no option holds.
_NOT_GIVEN = {"CellsLike", "PilotLike", "Cost", "Callable[[str], None]"}


def _make_option(parameter: Parameter, option: str | None) -> click.Option:
    """Return the click option of a parameter."""
    name, types, default, text = parameter
    flag = f"--{option or _write_option(name)}"
    kind = types[0]
    if kind == "bool":
        words = flag if option or not default else f"--no-{_write_option(name)}"
        text = text.removeprefix("Whether to ") if not default else f"By default {text.removeprefix('Whether ')}"
        text = text[:1].upper() + text[1:]
        return click.Option([words, name], is_flag=True, default=default, flag_value=not default, help=text)
    default = None if isinstance(default, tuple) else default  # the function has it, as its docstring says
    shared: dict[str, Any] = {"help": text, "default": default, "show_default": default is not None}
    if values := tuple(value for one in types for value in _list_values(one)):
        shared["type"] = click.Choice(values)
    elif kind == "Names":
        shared = {"help": text, "multiple": True, "metavar": "NAME"}
    elif "Sequence[int]" in types or "Sequence[float]" in types:
        number = int if "Sequence[int]" in types else float
        shared |= {"callback": functools.partial(_split_numbers, number), "metavar": "N,N,..."}
    elif "Sequence[str]" in types:
        shared |= {"callback": _split_names, "metavar": "NAME,NAME,..."}
    elif "Path" in types:
        shared |= {"type": PATH, "metavar": "FILE"}
    elif kind in {"int", "float"}:
        shared |= {"type": {"int": int, "float": float}[kind], "metavar": "N"}
    else:
        shared["metavar"] = "NAME"
    return click.Option([flag, name], **shared)


def _list_values(kind: str) -> tuple[str, ...]:
    """Return the values of a `Literal` type of `claims` or `choices`; none for another type."""
    return get_args(getattr(claims, kind, None) or getattr(choices, kind, None))


def _split_numbers(
    number: type[int | float], _context: click.Context, parameter: click.Parameter, value: str | None
) -> list[float] | None:
    """Return the numbers of an option that takes several."""
    try:
        return None if value is None else [number(part) for part in value.split(",")]
    except ValueError:
        option = parameter.opts[0]
        remedy = (
            f"write {'whole ' * (number is int)}numbers, such as {option} {'1,5,10' if number is int else '0,0.5,1'}"
        )
        raise InputError(f"{option} {value!r}", remedy=remedy) from None


def _split_names(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str] | None:
    """Return the names of an option that takes several."""
    return None if value is None else [name.strip() for name in value.split(",")]
