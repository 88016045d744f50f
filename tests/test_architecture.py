"""The names and the structure of the package, read from its source.

Kind of truth: rules of CONTRIBUTING.md. `python bench/structure.py --list` prints what breaks them.
"""

import ast
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from helpers.repository_modules import module

ROOT = Path(__file__).resolve().parents[1]
structure = module(ROOT / "bench/structure.py")


@pytest.fixture(scope="module")
def modules():
    return structure.read_modules(ROOT / "src/howsure")


def test_no_identifier_is_private_language(modules):
    assert structure.forbidden_names(modules) == []


def test_a_public_class_name_has_one_meaning(modules):
    assert {name: places for name, places in structure.public_classes(modules).items() if len(places) > 1} == {}


def test_a_file_stem_stands_once_but_for_roles_of_sibling_packages(modules):
    assert structure.repeated_stems(modules) == {}


def test_no_public_signature_takes_or_returns_any(modules):
    assert structure.public_signatures_with_any(modules) == []


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("asked", True),
        ("_AskedRow", True),
        ("n_shown", True),
        ("foundation", False),
        ("until", True),
        ("until_width", False),
        ("flooring", False),
        ("HTTPLane", True),
        ("allowed", False),
    ],
)
def test_words_of_identifiers_are_separated(identifier, expected):
    assert structure.is_forbidden(identifier) is expected


def test_names_of_all_kinds_are_read():
    source = "import os as lane\nclass Asked: pass\ndef f(told, *, kept=1):\n    self.shown = owed = 1\n"
    names = {name for name, _ in structure.defined_names(ast.parse(source))}
    assert {"lane", "Asked", "told", "kept", "shown", "owed"} <= names


def test_any_is_seen_in_arguments_returns_and_methods():
    source = (
        "class A:\n    def f(self, x: dict[str, Any]) -> int: ...\ndef g() -> typing.Any: ...\ndef _h(x: Any): ...\n"
    )
    one = structure.Module("m", Path("m.py"), ast.parse(source), 4)
    assert [entry.split()[1] for entry in structure.public_signatures_with_any([one])] == ["A.f", "g"]


def test_no_test_imports_another():
    places = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"(?<!def )\btest_", text):  # parsing all files takes seconds
            continue
        for node in ast.walk(ast.parse(text)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            places += [f"{path.name}: {name}" for name in names if re.match(r"(.*\.)?test_", name)]
    assert places == []


def test_statistics_read_nothing_of_the_machine():
    """What they return follows from their arguments: no environment, file, clock, process or network."""
    reaching = {"io", "logging", "os", "pathlib", "platform", "random", "shutil", "socket", "subprocess", "sys", "time"}
    for path in sorted((ROOT / "src/howsure/stats").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not reaching & {name.partition(".")[0] for name in names}, path


def test_the_version_is_that_of_the_changelog():
    sections = re.findall(
        r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert sections[0] == metadata.version("howsure")
    assert sections == sorted(sections, key=lambda one: tuple(map(int, one.split("."))), reverse=True)


def test_the_version_stands_in_one_place():
    version = re.escape(metadata.version("howsure"))
    places = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pyproject.toml", *sorted((ROOT / "src").rglob("*.py")))
        if re.search(rf'version\w*\s*(?::\s*str\s*)?=\s*"{version}"', path.read_text(encoding="utf-8"))
    ]
    assert places == ["pyproject.toml"]


def test_only_slow_tests_are_left_out_before_a_change_lands():
    """Truths: the recipe of `make test-all`, and the commands that CI runs."""
    recipes = dict(
        re.findall(r"^([\w-]+): \.venv/\.ready\n\t(.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    )
    left_out = {name: set(re.findall(r"not (\w+)", recipes[name])) for name in ("test", "test-all", "coverage")}
    assert left_out == {"test": {"slow", "long"}, "test-all": {"slow"}, "coverage": set()}
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert re.findall(r"not (\w+)", options["addopts"]) == ["slow"]
    assert re.search("^make test-all$", (ROOT / ".ci/run").read_text(), flags=re.MULTILINE)
    assert "make coverage" in (ROOT / ".github/workflows/check.yml").read_text()
