"""Try result files on `howsure score`: which are read right, read wrongly, or refused with a command that works.

    python tools/try_files.py                     all cases: tests/rows/cases.yaml and the shared data, where they are
    python tools/try_files.py --only NAME ...     the cases whose names begin so
    python tools/try_files.py --data FOLDER       where the shared data are
    python tools/try_files.py --verbose           what was printed for each case that did not end well

Each case runs in a new folder with its files. It ends in one of `ENDS`: a mean or a number of generations that is not
the file's is WRONG, with a note or without. The command that a refusal prints is run, up to three of them. The exit
code is 1 if a case is WRONG, also by such a command, or a crash.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shlex
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from file_cases import SHARED, Case, read_cases

from howsure.cli import main

#: How a case ends. ALLOWED is a refusal without a command of what somebody could read; of REFUSED nobody could.
AT_ONCE, BY_COMMAND, REFUSED, ALLOWED = "right at once", "right with the command", "refused rightly", "refused, allowed"
OTHER_NAMES, NO_COMMAND, WRONG, CRASH = "other names", "no command that works", "WRONG", "crash"
WRONG_COMMAND = "WRONG by its command"
ENDS = (AT_ONCE, BY_COMMAND, REFUSED, ALLOWED, OTHER_NAMES, NO_COMMAND, WRONG_COMMAND, WRONG, CRASH)
GOOD = ENDS[:4]
RIGHT = "right"
#: Largest difference of two means that are one: expected.json has six decimals.
_TOLERANCE = 1e-5
_MOST_COMMANDS = 3


def run_command(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Run a command in this process, and return its exit code (-1 for a crash), and what it wrote."""
    out, err = io.StringIO(), io.StringIO()
    code = -1
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))  # and not click's CliRunner: this function prints the errors, and is as fast
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        except Exception:  # noqa: BLE001  a crash is a result here
            traceback.print_exc()
    return code, out.getvalue(), err.getvalue()


def find_command(out: str, err: str) -> list[str]:
    """Return the command that a refusal prints, in its JSON or at the end of its line; [] without one."""
    command = ""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        command = json.loads(out)["error"]["command"]
    if not command and ": howsure " in (line := (err.strip().splitlines() or [""])[-1]):
        command = "howsure " + line.rpartition(": howsure ")[2]
    with contextlib.suppress(ValueError):
        words = shlex.split(command)
        return words[1:] if words[:1] == ["howsure"] and words[1:2] in (["score"], ["rescore"]) else []
    return []


def try_case(case: Case) -> tuple[str, str]:
    """Return how a case ends, and what was seen."""
    with tempfile.TemporaryDirectory() as parent, contextlib.chdir(parent):
        folder = Path("project")  # a name that is the same each time: folders may name models
        folder.mkdir()
        os.chdir(folder)
        arguments = ["score", *case.write(Path()), *case.options, "--format", "json"]
        for step in range(_MOST_COMMANDS + 1):
            code, out, err = run_command(arguments)
            shown = f"$ howsure {shlex.join(arguments)}\n{err}"
            if code == -1:
                return CRASH, shown
            if code == 0:
                end, why = judge(case.expect, json.loads(out), is_confirmed=step > 0)
                if step > 0:
                    end = {RIGHT: BY_COMMAND, WRONG: WRONG_COMMAND}.get(end, end)
                return AT_ONCE if end == RIGHT else end, f"{shown}{why}"
            command = find_command(out, err)
            if not command or command == arguments:
                break
            arguments = command if "--format" in command else [*command, "--format", "json"]
        if not case.expect.get("refuse"):
            return NO_COMMAND, shown
        return ALLOWED if "means" in case.expect else REFUSED, shown


def judge(expect: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], *, is_confirmed: bool) -> tuple[str, str]:
    """Return RIGHT, OTHER_NAMES or WRONG for the rows of `score`, and why."""
    read = [{**row, "n_questions": row.get("n_questions", row.get("n_scored"))} for row in rows]
    read = [{**row, "score": row.get("score", row.get("mean_score")), "model": str(row["model"])} for row in read]
    seen = "; ".join(f"{row['benchmark']} {row['model']}: {row['score']} ({row['n_questions']})" for row in read)
    end, why = _compare(expect, read) if "means" in expect else (WRONG, "it should be refused")
    others = [*expect.get("also", ()), *(expect.get("by_command", ()) if is_confirmed else ())]
    if end != RIGHT and any(_compare(one, read)[0] == RIGHT for one in others):
        return RIGHT, f"right in another way: {seen}"
    return end, f"{why}: {seen}"


def _compare(expect: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return how rows of `score` agree with one right reading."""
    means = {str(name): float(Fraction(str(mean))) for name, mean in expect["means"].items()}
    n_generations = sum(row.get("n_generations") or row["n_questions"] for row in rows)
    groups, is_named = _group_systems(rows, means)
    found = [_pool(each) for each in groups] if all(row["score"] is not None for row in rows) else []
    if len(found) != len(means) or any(abs(a - b) > _TOLERANCE for a, b in zip(found, means.values(), strict=True)):
        return WRONG, f"not {means}"
    if expect.get("generations") not in {None, n_generations}:
        return WRONG, f"{n_generations} generations, not {expect['generations']}"
    questions = {sum(row["n_questions"] for row in each) for each in groups}
    if expect.get("questions") is not None and questions != {expect["questions"]}:
        return WRONG, f"{questions} questions, not {expect['questions']}"
    if expect.get("benchmarks") not in {None, len({row["benchmark"] for row in rows})}:
        return OTHER_NAMES, f"not {expect['benchmarks']} benchmarks"
    return (RIGHT, "right") if is_named else (OTHER_NAMES, f"not {', '.join(means)}")


def _group_systems(
    rows: Sequence[Mapping[str, Any]], means: Mapping[str, float]
) -> tuple[list[list[Mapping[str, Any]]], bool]:
    """Return the rows of each expected system, in their order, and whether their names say which they are.

    Rows without the names are those of systems whose means are in the same order: by model, or by benchmark and model.
    """
    named = {name: [row for row in rows if _match(row, means) == name] for name in means}
    n_named = sum(len(each) for each in named.values())
    if n_named == len(rows) and all(len({row["model"] for row in each}) == 1 for each in named.values()):
        return [*named.values()], True
    groups: dict[str, list[Mapping[str, Any]]] = {}
    are_models = len({row["model"] for row in rows}) == len(means)
    for row in rows:
        groups.setdefault(row["model"] if are_models else f"{row['benchmark']} {row['model']}", []).append(row)
    if len(groups) != len(means) or any(row["score"] is None for row in rows):
        return [], False
    by_mean = sorted(groups.values(), key=_pool)
    order = sorted(range(len(means)), key=[*means.values()].__getitem__)
    return [by_mean[order.index(i)] for i in range(len(means))], False


def _match(row: Mapping[str, Any], names: Mapping[str, float]) -> str:
    """Return the expected name whose words a row has, in its label or also in its benchmark; the longest of several."""
    for text in (row["model"], f"{row['model']} {row['benchmark']}"):
        fits = [name for name in names if name == "*" or all(word in text.lower() for word in name.lower().split())]
        if fits:
            return max(fits, key=len)
    return ""


def _pool(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the mean over the questions of all benchmarks."""
    return float(sum(row["score"] * row["n_questions"] for row in rows) / sum(row["n_questions"] for row in rows))


def try_all() -> int:
    """Try the cases that the arguments name, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    os.environ.pop("COLUMNS", None)
    results = [(case, *try_case(case)) for case in read_cases(given.data.resolve(), given.only)]
    for case, end, shown in results:
        print(f"{end:24}{case.name}{' (not at once)' if case.at_once and end != AT_ONCE else ''}")
        if given.verbose and end not in GOOD:
            print("    " + "\n    ".join(shown.splitlines()))
    counts = Counter(end for _, end, _ in results)
    print(f"\n{len(results)} cases")
    for end in ENDS:
        print(f"{counts[end]:6}  {end}")
    usual = [end == AT_ONCE for case, end, _ in results if case.at_once]
    print(f"usual files read right at once: {sum(usual)} of {len(usual)}")
    return int(counts[WRONG] + counts[WRONG_COMMAND] + counts[CRASH] > 0)


if __name__ == "__main__":
    sys.exit(try_all())
