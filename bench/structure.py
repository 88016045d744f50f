"""The size of the code beside its budget, and its names and signatures.

    python bench/structure.py            print each figure of budget.toml: measured, ceiling, target
    python bench/structure.py --lower    lower the ceilings to what is measured; none is ever raised
    python bench/structure.py --list     print the names and signatures that break the rules of CONTRIBUTING.md

The source is parsed, not run; only the options are those of the installed program.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / "budget.toml"
SOURCE = "src/howsure/"
#: Functions of `re` that take a pattern.
PATTERN_FUNCTIONS = frozenset(
    ("compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
)
#: Strings from which a literal collection is a word list.
WORD_LIST = 8
#: Commands from which an option that they share counts once.
SHARED = 8

#: Words that no identifier may contain: private language, or nouns that say nothing (CONTRIBUTING.md, "Words").
FORBIDDEN = frozenset(
    re.findall(
        r"\w+",
        "lane pace refusals bucket patience recall foresee asked asking told telling said shown kept found owed looks "
        "swaps suspects votes freedom law embedded apart packs weighed blotted mend house room door",
    )
)
#: Words that no identifier may be alone.
FORBIDDEN_ALONE = frozenset(
    re.findall(
        r"\w+",
        "grid watch entries opening rounds stages until enough dense floor made counted known whole united decoded "
        "filled blanked read_ got had gone seen heard",
    )
)


class Module(NamedTuple):
    """A module of a package."""

    name: str
    """Dotted, with the package."""
    path: Path
    tree: ast.Module
    lines: int

    @property
    def stem(self) -> str:
        """Return the name of the file, without its suffix."""
        return self.path.stem


def read_modules(package: Path) -> list[Module]:
    """Return the modules of a package, sorted by name."""
    modules = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        text = path.read_text(encoding="utf-8")
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules.append(Module(name, path, ast.parse(text), text.count("\n")))
    return modules


def split_words(identifier: str) -> list[str]:
    """Return the words of an identifier, in lower case, split at underscores and humps."""
    return re.findall(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*|\d+", identifier.replace("_", " "))


@functools.cache
def is_forbidden(identifier: str) -> bool:
    """Return whether an identifier is private language."""
    bare = identifier.strip("_").lower()
    return bare in FORBIDDEN_ALONE or any(word.lower() in FORBIDDEN for word in split_words(identifier))


def defined_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the identifiers that a module defines, and their lines: what is assigned, bound, imported or passed."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias() if node.asname:
                yield node.asname, node.lineno


def forbidden_names(modules: list[Module]) -> list[str]:
    """Return "file:line name" for each definition of a forbidden identifier, and for each file of such a name."""
    places = []
    for module in modules:
        place = module.path.as_posix()
        if is_forbidden(module.stem):
            places.append(f"{place}:0 {module.stem}")
        names = sorted(set(defined_names(module.tree)), key=lambda item: (item[1], item[0]))
        places += [f"{place}:{line} {name}" for name, line in names if is_forbidden(name)]
    return places


def public_classes(modules: list[Module]) -> dict[str, list[str]]:
    """Return the modules that define each public class name."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.name)
    return places


def repeated_stems(modules: list[Module]) -> dict[str, list[str]]:
    """Return the stems that several files share.

    The same role in sibling packages below a package is no repetition: `logs.inspect.reader` and
    `logs.lm_eval.reader`, `report.charts.noise` and `report.sections.noise`.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        if module.stem not in {"__init__", "__main__"}:
            places[module.stem].append(module.name)
    repeated = {}
    for stem, names in places.items():
        above = {name.rsplit(".", 2)[0] for name in names}
        if len(names) > 1 and (len(above) > 1 or "." not in above.pop()):
            repeated[stem] = names
    return repeated


def public_signatures_with_any(modules: list[Module]) -> list[str]:
    """Return "file:line function" for each public function or method with `Any` in its signature.

    Public is what no underscore begins: the function, its class and its module.
    """
    places = []

    def visit(body: list[ast.stmt], module: Module, prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                visit(node.body, module, f"{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                arguments = node.args
                given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                given += [one for one in (arguments.vararg, arguments.kwarg) if one]
                annotations = [one.annotation for one in given if one.annotation] + [node.returns]
                names = {
                    inner.id if isinstance(inner, ast.Name) else getattr(inner, "attr", "")
                    for annotation in annotations
                    if annotation
                    for inner in ast.walk(annotation)
                }
                if "Any" in names:
                    places.append(f"{module.path.as_posix()}:{node.lineno} {prefix}{node.name}")

    for module in modules:
        if not any(part.startswith("_") and part != "__init__" for part in module.name.split(".")):
            visit(module.tree.body, module, "")
    return places


def count_patterns(tree: ast.Module) -> int:
    """Return the number of calls of `re` that take a pattern, whether they compile it or use it at once."""
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    attributes = [one for one in functions if isinstance(one, ast.Attribute) and one.attr in PATTERN_FUNCTIONS]
    return sum(isinstance(one.value, ast.Name) and one.value.id == "re" for one in attributes)


def count_word_lists(tree: ast.Module) -> int:
    """Return the number of literal collections of many strings that module-level assignments hold.

    A collection is a list, a tuple, a set, the keys of a dictionary, or a text that is split; one within another
    counts too.
    """

    def is_word_list(node: ast.AST) -> bool:
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) | ast.Dict(keys=items):
                return sum(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in items) >= WORD_LIST
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="split" | "splitlines")):
                return len(text.split()) >= WORD_LIST
        return False

    values = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
    return sum(is_word_list(node) for value in values for node in ast.walk(value))


def count_options() -> Counter[str]:
    """Return the number of options of each command; one that many commands share counts once, for all of them."""
    import click

    from howsure.cli import cli

    commands: dict[str, list[str]] = defaultdict(list)
    for name, command in cli.commands.items():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                commands[max(parameter.opts, key=len)].append(name)
    places: Counter[str] = Counter()
    for names in commands.values():
        places.update(["shared"] if len(names) >= SHARED else names)
    return places


def count_lines(paths: Iterable[Path]) -> Counter[str]:
    """Return the number of lines of each file."""
    return Counter({path.relative_to(ROOT).as_posix(): path.read_bytes().count(b"\n") for path in paths})


def is_below(place: str, folders: Iterable[str]) -> bool:
    """Return whether a file of the source is one of these files, or in one of these folders."""
    return any(f"{place}/".startswith(f"{SOURCE}{folder}/") for folder in folders)


def measure(budget: dict[str, Any]) -> dict[str, Counter[str]]:
    """Return what each figure of the budget counts, by file, package or command; the total is the figure."""
    modules = {module.path.relative_to(ROOT).as_posix(): module for module in read_modules(ROOT / SOURCE)}
    packages: dict[str, Counter[str]] = {name: Counter() for name in budget["packages"]}
    folders = {folder: name for name, entry in budget["packages"].items() for folder in entry["paths"]}
    for place, module in modules.items():
        folder = max((one for one in folders if is_below(place, [one])), key=len, default="")
        packages.setdefault(folders.get(folder, "no package of budget.toml"), Counter())[place] = module.lines
    other = count_lines(
        path for path in (ROOT / SOURCE).rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}
    )
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return packages | {
        "lines of source": Counter({name: lines.total() for name, lines in packages.items()}),
        "modules": Counter({name: len(lines) for name, lines in packages.items()}),
        "lines of TOML, templates and scripts": Counter(
            {place: lines for place, lines in other.items() if not is_below(place, budget["data"]["paths"])}
        ),
        "compiled patterns": Counter({place: count_patterns(module.tree) for place, module in modules.items()}),
        "word lists": Counter({place: count_word_lists(module.tree) for place, module in modules.items()}),
        "public options": count_options(),
        "lines of tests": count_lines(path for kind in ("py", "yaml") for path in (ROOT / "tests").rglob(f"*.{kind}")),
        "lines of bench": count_lines((ROOT / "bench").rglob("*.py")),
        "words of docs": Counter({path.name: len(path.read_text("utf-8").split()) for path in pages}),
    }


def find_excess(figures: dict[str, Counter[str]], budget: dict[str, Any]) -> list[str]:
    """Return a line for each figure above its ceiling, with the places that have most of it."""
    ceilings = {name: entry["now"] for name, entry in (budget["packages"] | budget["totals"]).items()}
    return [
        f"{name}: {places.total():,}, the ceiling is {ceilings.get(name, 0):,}; most in "
        + ", ".join(f"{place} ({count:,})" for place, count in places.most_common(5))
        for name, places in figures.items()
        if places.total() > ceilings.get(name, 0)
    ]


def lower_ceilings(text: str, figures: dict[str, Counter[str]]) -> str:
    """Return the text of the budget with each ceiling lowered to its figure; none is raised."""

    def lower(found: re.Match[str]) -> str:
        return f"{found[1]}{min(int(found[3]), figures[found[2]].total()):_}"

    return re.sub(r'^("(.+)" = \{ now = )([\d_]+)', lower, text, flags=re.MULTILINE)


def main(*arguments: str) -> None:
    """Print the figures beside their budget, lower the ceilings, or list the names that are at fault."""
    if "--list" in arguments:
        modules = read_modules(ROOT / SOURCE)
        repeated = (repeated_stems(modules) | public_classes(modules)).items()
        faults = [*forbidden_names(modules), *public_signatures_with_any(modules)]
        for line in faults + [f"{name}: {', '.join(where)}" for name, where in repeated if len(where) > 1]:
            print(line)
        return
    text = BUDGET.read_text("utf-8")
    figures = measure(tomllib.loads(text))
    if "--lower" in arguments:
        text = lower_ceilings(text, figures)
        BUDGET.write_text(text, "utf-8")
    budget = tomllib.loads(text)
    print(f"{'lines of each package, and totals':<37} measured  ceiling   target")
    for name, entry in (budget["packages"] | budget["totals"]).items():
        target = f"{entry['target']:,}" if "target" in entry else ""
        print(f"{name:<37} {figures[name].total():>8,} {entry['now']:>8,} {target:>8}")
    for line in find_excess(figures, budget):
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
