"""Change the statistics in one place at a time, and count how many of the changes their tests notice.

    python tools/mutation.py scores/score gate/exact_tests      60 changes of each module, drawn with seed 1
    python tools/mutation.py repeats --sample 30                 each module of a package
    python tools/mutation.py scores/score --folder /tmp/m        keeps the copy of the tree, to look at

mutmut makes the changes (another operator, a number plus 1, None for an argument, an argument left out) in a copy of
the tree and runs the tests that call the changed function, each change in a process of its own. Changes of texts and
of the arguments of errors and warnings are left out, as tests assert numbers and keys, and so are tests slower than
--slowest seconds: what these alone notice counts as survived. mutmut changes no decorated function, so no property. A
change that does not end counts as killed. The changes of a seed are the same until the module changes. What survived
is printed as a difference, then a table with a line for each module.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATS = "src/howsure/stats"
NO_MUTANT = "none"
#: What a person reads: a text, or an argument of an error, a warning or a note.
TEXT = re.compile(r"""[a-z]*"(?:[^"\\]|\\.)*"|[a-z]*'(?:[^'\\]|\\.)*'""")
MESSAGE = re.compile(r"\b(raise|InputError|warn|Warning|where=|remedy=|stacklevel=|category=)")


def module_paths(names: list[str]) -> list[str]:
    """Return the paths of modules, and of all modules of packages, in the tree."""
    paths = []
    for name in names:
        file = ROOT / STATS / f"{name}.py"
        files = [file] if file.is_file() else sorted((ROOT / STATS / name).glob("[!_]*.py"))
        if not files:
            sys.exit(f"{name}: no module and no package in {STATS}; for example scores/score, or scores")
        paths += [str(each.relative_to(ROOT)) for each in files]
    return paths


def copy_tree(folder: Path, paths: list[str], tests: list[str], expression: str) -> None:
    """Copy sources, tests and the results that some of them read into a folder, with settings of mutmut."""
    for name in ("src", "tests", "bench/data"):
        shutil.copytree(
            ROOT / name, folder / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "browser")
        )
    settings = {
        "source_paths": ["src/howsure"],
        "also_copy": ["bench"],
        "only_mutate": paths,
        "pytest_add_cli_args_test_selection": tests,
        "pytest_add_cli_args": ["-p", "no:cacheprovider", "-n0", "-k", expression],
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    text = (ROOT / "pyproject.toml").read_text() + "\n[tool.mutmut]\ntrack_dependencies = false\n" + "\n".join(lines)
    (folder / "pyproject.toml").write_text(text + "\n")


def run_mutmut(folder: Path, *arguments: str, allowed: str | None = None) -> str:
    """Return what mutmut prints in a folder; it may fail with the message that is allowed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    if done.returncode and (allowed is None or allowed not in done.stderr):
        sys.exit(f"mutmut {arguments[0]} failed\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def read_results(folder: Path) -> dict[str, str]:
    """Return the status of each mutant."""
    lines = run_mutmut(folder, "results", "--all", "true").splitlines()
    return dict(line.strip().rsplit(": ", 1) for line in lines if ": " in line)


def drop_slow_tests(folder: Path, seconds: float) -> None:
    """Take tests that are slower than a limit from the tests that mutmut runs."""
    file = folder / "mutants" / "mutmut-stats.json"
    stats = json.loads(file.read_text())
    slow = {test for test, duration in stats["duration_by_test"].items() if duration > seconds}
    by_function = stats["tests_by_mangled_function_name"]
    stats["tests_by_mangled_function_name"] = {name: sorted(set(each) - slow) for name, each in by_function.items()}
    file.write_text(json.dumps(stats))


@functools.cache
def read_functions(path: str) -> dict[str, list[str]]:
    """Return the lines of each function of a module with mutants, in the folder that is current."""
    text = Path("mutants", path).read_text()
    lines = text.splitlines()
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    # without the name, by which a change and the original differ
    return {
        f.name: [line.replace(f"def {f.name}(", "def (") for line in lines[f.lineno - 1 : f.end_lineno]]
        for f in functions
    }


def read_difference(mutant: str, path: str) -> list[str]:
    """Return the lines of a module that a mutant changes, in the folder that is current."""
    functions, name = read_functions(path), mutant.rsplit(".", 1)[-1]
    before = functions[f"{name.rsplit('__mutmut_', 1)[0]}__mutmut_orig"]
    lines = list(difflib.unified_diff(before, functions[name], lineterm="", n=0))[2:]
    return [line for line in lines if line[0] in "+-"]


def changes_numbers(difference: list[str]) -> bool:
    """Return whether a difference is in what is computed, and not in what a person reads."""
    if any(MESSAGE.search(line) for line in difference):
        return False
    without = [TEXT.sub("", line[1:]) for line in difference]
    return without[: len(without) // 2] != without[len(without) // 2 :]


def draw_mutants(folder: Path, path: str, names: list[str], sample: int, seed: int) -> dict[str, list[str]]:
    """Return the differences of mutants of a module, drawn at random."""
    module = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    candidates = [name for name in names if name.startswith(f"{module}.x")]
    random.Random(f"{seed} {module}").shuffle(candidates)
    drawn: dict[str, list[str]] = {}
    os.chdir(folder)
    for name in candidates:
        if len(drawn) == sample:
            break
        difference = read_difference(name, path)
        if changes_numbers(difference):
            drawn[name] = difference
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("modules", nargs="+", help=f"modules or packages below {STATS}, such as scores/score or gate")
    parser.add_argument("--sample", type=int, default=60, help="changes of each module")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slowest", type=float, default=2.0, help="seconds of a test that is still run")
    parser.add_argument("--tests", nargs="+", help="tests to run; those of the packages unless given")
    parser.add_argument("-k", default="", help="expression of pytest that selects among the tests")
    parser.add_argument("--folder", type=Path, help="a copy of the tree that is kept; a temporary one unless given")
    options = parser.parse_args()
    paths = module_paths(options.modules)
    tests = options.tests or sorted({f"tests/stats/{Path(path).parent.name}" for path in paths})
    folder = options.folder or Path(tempfile.mkdtemp(prefix="mutation-"))
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "mutants", ignore_errors=True)
    copy_tree(folder, paths, tests, options.k)
    # A name that no mutant has: mutmut writes the mutants, notes which test calls which function, and ends.
    run_mutmut(folder, "run", NO_MUTANT, allowed="nothing matches")
    drop_slow_tests(folder, options.slowest)
    names = sorted(read_results(folder))
    table = []
    for path in paths:
        drawn = draw_mutants(folder, path, names, options.sample, options.seed)
        if drawn:
            run_mutmut(folder, "run", "--max-children", "1", *drawn)
        status = {name: each for name, each in read_results(folder).items() if name in drawn}
        counts = Counter(status.values())
        for name, each in sorted(status.items()):
            if each not in {"killed", "timeout"}:
                print(f"{each}: {name}", *drawn[name], sep="\n", flush=True)
        table.append((path.removeprefix(f"{STATS}/"), len(drawn), counts["killed"] + counts["timeout"]))
        print(f"| {table[-1][0]} | {table[-1][1]} | {table[-1][2]} |", flush=True)
    print("\n| module | changes | killed |\n|---|---|---|")
    for module, tried, killed in table:
        print(f"| {module} | {tried} | {killed} |")
    if not options.folder:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
