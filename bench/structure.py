"""The structure of the code in figures: size, imports, names and signatures.

    python bench/structure.py [ROOT]

ROOT is a checkout with `src/<package>` and `tests` (default: this one), so that two versions can be compared. Nothing
of it is run: imports and names are read from the source.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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


def find_package(root: Path) -> Path:
    """Return the folder of the package below `root`/src."""
    return next(path.parent for path in sorted(root.glob("src/*/__init__.py")))


def read_modules(package: Path) -> list[Module]:
    """Return the modules of a package, sorted by name."""
    modules = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        text = path.read_text(encoding="utf-8")
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules.append(Module(name, path, ast.parse(text), text.count("\n")))
    return modules


def read_exports(modules: list[Module]) -> dict[str, dict[str, str]]:
    """Return, for each package, the module of the package tree from which its `__init__` imports a name."""
    names = {module.name for module in modules}
    exports: dict[str, dict[str, str]] = defaultdict(dict)
    for module in modules:
        if module.stem == "__init__":
            for node in ast.walk(module.tree):
                if isinstance(node, ast.ImportFrom) and node.module in names:
                    exports[module.name] |= {alias.asname or alias.name: str(node.module) for alias in node.names}
    return exports


def read_imports(modules: list[Module]) -> set[tuple[str, str]]:
    """Return (importer, imported) for every import of a module of the package by another, also within functions.

    A name that a package imports from one of its modules counts as that module, whoever imports it from the package;
    the package itself counts as no importer.
    """
    names, exports = {module.name for module in modules}, read_exports(modules)
    arrows = set()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                targets = []
                for alias in node.names:
                    place, name = node.module, alias.name
                    while name in exports.get(place, {}) and f"{place}.{name}" not in names:
                        place = exports[place][name]
                    targets.append(f"{place}.{name}" if f"{place}.{name}" in names else place)
            else:
                continue
            if module.stem == "__init__":  # a face exports; what its own functions use is counted below
                targets = [target for target in targets if not target.startswith(f"{module.name}.")]
            arrows |= {(module.name, target) for target in targets if target in names and target != module.name}
    return arrows


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

    The same role in sibling packages below a package is no repetition: `logs.inspect.records` and
    `logs.lm_eval.records`, `report.charts.noise` and `report.sections.noise`.
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


def count_tests(root: Path) -> tuple[int, int]:
    """Return the number of Python files below `root`/tests and of their lines."""
    files = sorted((root / "tests").rglob("*.py"))
    return len(files), sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def measure(root: Path) -> list[tuple[str, str]]:
    """Return the figures of a checkout."""
    modules = read_modules(find_package(root))
    arrows = read_imports(modules)
    importers = Counter(target for _, target in arrows)
    packages = {module.name: module.name.split(".")[1] if "." in module.name else "" for module in modules}
    between = {(packages[a], packages[b]) for a, b in arrows if packages[a] != packages[b]}
    inside = sum(packages[a] == packages[b] for a, b in arrows)
    proper = [module for module in modules if module.stem not in {"__init__", "__main__"}]
    signatures = public_signatures_with_any(modules)
    forbidden = forbidden_names(modules)
    distinct = {entry.rsplit(" ", 1)[1] for entry in forbidden}
    classes = {name: places for name, places in public_classes(modules).items() if len(places) > 1}
    local = sum(
        isinstance(inner, ast.Import | ast.ImportFrom)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
    )
    text = [module.path.read_text(encoding="utf-8") for module in modules]
    tests, test_lines = count_tests(root)
    return [
        ("modules in src", f"{len(modules)}"),
        ("of them without __init__ and __main__", f"{len(proper)}"),
        ("lines in src", f"{sum(module.lines for module in modules):,}"),
        ("modules in tests", f"{tests}"),
        ("lines in tests", f"{test_lines:,}"),
        ("modules with a single importer", f"{sum(importers[module.name] == 1 for module in proper)}"),
        ("modules of fewer than 80 lines", f"{sum(module.lines < 80 for module in proper)}"),
        ("imports between packages (pairs of packages)", f"{len(between)}"),
        ("imports inside packages (pairs of modules)", f"{inside}"),
        ("imports within functions", f"{local}"),
        ("definitions of forbidden identifiers", f"{len(forbidden):,}"),
        ("distinct forbidden identifiers", f"{len(distinct)}"),
        ("public class names with several meanings", f"{len(classes)}"),
        ("file stems that several files share", f"{len(repeated_stems(modules))}"),
        ("public signatures with Any", f"{len(signatures)}"),
        ("noqa and type: ignore", f"{sum(len(re.findall('# (?:noqa|type: ignore)', one)) for one in text)}"),
    ]


def main(*arguments: str) -> None:
    """Print the figures of one checkout, or of several side by side; with --list, the names that are at fault."""
    roots = [Path(one) for one in arguments if not one.startswith("-")] or [Path(__file__).resolve().parents[1]]
    columns = [measure(root) for root in roots]
    width = max(len(name) for name, _ in columns[0])
    for rows in zip(*columns, strict=True):
        print(f"{rows[0][0]:<{width}}", *(f"{value:>9}" for _, value in rows))
    if "--list" in arguments:
        for root in roots:
            modules = read_modules(find_package(root))
            print("\n".join(["", *forbidden_names(modules), *public_signatures_with_any(modules)]))
            for places in (repeated_stems(modules), public_classes(modules)):
                print("\n".join(f"{name}: {', '.join(where)}" for name, where in places.items() if len(where) > 1))


if __name__ == "__main__":
    main(*sys.argv[1:])
