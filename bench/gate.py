"""False alarms and power of `howsure gate`, beside the rules and packages that answer the same question.

A suite of N questions is answered K times by a baseline and K times by a candidate. The table gives the share of data
sets on which each gate fails. `no change` is the share of false alarms. The planted regressions are:

- a loss of 2 or 5 points of the mean: P(correct) of every question is multiplied by the same factor;
- one broken case: a question with P(correct) of .9 or more is never right any more;
- 5 % degraded: for 5 % of the questions, at least one, P(correct) falls to 30 % of what it was.

There are two kinds of suites: *mixed* has 60 % questions that are always right, 20 % with P(correct) = .95 and 20 %
with P(correct) between .2 and .8; in *Beta(.8, .5)* P(correct) of each question is drawn from that distribution.

`python bench/gate.py --others PYTHON` adds statgate, regressgate and evalsig, if that interpreter has them
(`bench/other_gates.py`); the commands of the packages and of howsure are run on the files of some data sets, and
must say what their functions say. Then (`--part recorded`) the generations of published models are split into two
halves that differ by chance alone: at most alpha of the splits may fail.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from checked_tables import markdown_table
from howsure.stats.core.cells import Cells
from howsure.stats.gate import compare_with_baseline, split_baseline
from other_gates import GATES
from published_results import load_published

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

ALPHA = 0.05
QUESTIONS = (20, 100, 500)
GENERATIONS = (1, 5, 10)
SUITES = ("mixed", "Beta(.8, .5)")
SCENARIOS = ("no change", "mean -2 points", "mean -5 points", "one broken case", "5 % degraded")
#: Data sets of each cell of the table that the other packages are asked about before they go on to the next cell.
ROUND = 10
#: Published results that are split, and how many of their generations per question at most.
RECORDED = {"math500_cot": 1100, "aime2024_cot": 1100, "CRUXEval-output-T0.8": 10}
#: Models of each of them, from the first to the last.
MODELS = 8
NAIVE = ("any drop", "drop of more than 5 points")
#: What counts as a failure of each gate.
FAILURES = """\
Fails means: howsure: exit code 1, with the default margin of .02 and with --margin 0; any drop, and a drop of more than
5 points: of the observed mean; statgate: BLOCK, by default (margin .02, two-sided level .05), and at margin 0 and alpha
.1, which is 5 % one-sided; regressgate: regression; evalsig: REJECT with --min-delta 0.005, which also means that no
improvement was shown although it would have been; evalsig, exchanged: ALLOW with baseline and candidate exchanged.
Every gate gets all generations, evalsig as the mean of a question."""


def draw_suite(suite: str, N: int, rng: np.random.Generator) -> Array:
    """Return P(correct) of N questions, shape (N,)."""
    if suite != "mixed":
        return rng.beta(0.8, 0.5, N)
    p = np.ones(N)
    p[round(0.6 * N) : round(0.8 * N)] = 0.95
    p[round(0.8 * N) :] = rng.uniform(0.2, 0.8, N - round(0.8 * N))
    return p


def plant(scenario: str, p: Array, rng: np.random.Generator) -> Array:
    """Return P(correct) of the candidate, shape (N,)."""
    if scenario.startswith("mean"):
        loss = -int(scenario.split()[1]) / 100
        return np.asarray(p * (1 - loss / p.mean()))
    worse: Array = p.copy()
    if scenario == "one broken case":
        easy = np.flatnonzero(p >= min(0.9, p.max()))
        worse[rng.choice(easy)] = 0
    elif scenario == "5 % degraded":
        worse[rng.choice(len(p), max(1, round(0.05 * len(p))), replace=False)] *= 0.3
    return worse


def draw_counts(suite: str, N: int, K: int, scenario: str, repetitions: int, *, seed: int = 0) -> Counts:
    """Return numbers of right generations of baseline and candidate, shape (2, repetitions, N)."""
    rng = np.random.default_rng([seed, SUITES.index(suite), N, K, SCENARIOS.index(scenario)])
    counts = np.zeros((2, repetitions, N), dtype=np.int64)
    for i in range(repetitions):
        p = draw_suite(suite, N, rng)
        counts[:, i] = rng.binomial(K, np.stack([p, plant(scenario, p, rng)]))
    return counts


def make_cells(n: int | Counts, right: Counts) -> Cells:
    """Return the cells of a baseline and a candidate; `right` has shape (2, N)."""
    total = right.astype(float)
    questions = tuple(f"q{i}" for i in range(right.shape[1]))
    return Cells("simulated", ("baseline", "candidate"), questions, np.broadcast_to(n, right.shape), total, total)


def decide_ours(K: int, counts: Counts) -> dict[str, list[bool]]:
    """Return whether howsure and the naive rules fail, for each data set of one cell of the table."""
    fails: dict[str, list[bool]] = {"howsure": [], "howsure, margin 0": []}
    for i in range(counts.shape[1]):
        cells = make_cells(K, counts[:, i])
        for name, margin in (("howsure", 0.02), ("howsure, margin 0", 0.0)):
            verdict = compare_with_baseline(cells, "candidate", "baseline", margin=margin, alpha=ALPHA).verdict
            fails[name].append(verdict == "fail")
    drop = (counts[0] - counts[1]).mean(axis=1) / K
    return fails | dict(zip(NAIVE, [(drop > 0).tolist(), (drop > 0.05 + 1e-12).tolist()], strict=True))


def run_ours(K: int, counts: Counts) -> list[bool]:
    """Return whether the command `howsure gate` fails on files of the first data sets."""
    fails = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(counts.shape[1]):
            paths = [str(Path(folder) / f"{name}.csv") for name in ("base", "candidate")]
            for path, right in zip(paths, counts[:, i].tolist(), strict=True):
                with Path(path).open("w", newline="") as file:
                    writer = csv.writer(file)
                    writer.writerow(["benchmark", "model", "question", "generation", "score"])
                    writer.writerows(
                        ("demo", "m", f"q{q}", k + 1, int(k < x)) for q, x in enumerate(right) for k in range(K)
                    )
            command = [sys.executable, "-m", "howsure", "gate", *paths]
            fails.append(subprocess.run(command, capture_output=True, check=False).returncode == 1)
    return fails


def ask_others(python: str | None, kept: Path, data: dict[str, Counts]) -> dict[str, NDArray[np.bool_]]:
    """Return what other_gates.py says of the data sets, in rounds of some of each cell; `python` None: what is kept.

    A round that was answered before is not answered again, so a command that was interrupted can be repeated.
    """
    kept.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    script = Path(__file__).resolve().parent / "other_gates.py"
    largest = max(counts.shape[1] for counts in data.values())
    rounds: list[tuple[str, Path]] = []
    for number, start in enumerate(range(0, largest, ROUND)):
        for key, counts in data.items():
            drawn = counts[:, start : start + ROUND]
            path = kept / f"{number:02}_{re.sub('[^a-z0-9]+', '_', key.lower())}.npz"
            if drawn.shape[1]:
                _keep_question(path, int(key.split("/")[1]), drawn, commands=key.endswith("/commands"))
                rounds.append((key, path.with_suffix(".answer.npz")))
    if python is not None and subprocess.run([python, str(script), str(kept)], env=environment, check=False).returncode:
        sys.exit(f"{script.name} did not run with {python}: does it have the packages?")
    answers: dict[str, list[NDArray[np.bool_]]] = {}
    for key, path in rounds:
        if path.exists():
            with np.load(path) as answer:
                for name in answer.files:
                    answers.setdefault(key if name == "fails" else f"{key}/{name}", []).append(answer[name])
    return {key: np.concatenate(parts, axis=-1) for key, parts in answers.items()}


def _keep_question(path: Path, K: int, counts: Counts, *, commands: bool) -> None:
    """Write the data sets that the other gates are asked about, unless they are there; other data's answer goes."""
    if path.exists():
        with np.load(path) as kept:
            if np.array_equal(kept["counts"], counts):
                return
    path.with_suffix(".answer.npz").unlink(missing_ok=True)
    np.savez(path, K=K, counts=counts, commands=commands)


def compare_gates(python: str | None, kept: Path | None, repetitions: int) -> Iterator[str]:
    """Yield the tables of false alarms and power."""
    cells = [(suite, K, N, scenario) for suite in SUITES for K in GENERATIONS for N in QUESTIONS
             for scenario in SCENARIOS]  # fmt: skip
    data = {
        f"{suite}/{K}/{N}/{scenario}": draw_counts(
            suite, N, K, scenario, repetitions * (2 if scenario == SCENARIOS[0] else 1)
        )
        for suite, K, N, scenario in cells
    }
    checked = {
        f"mixed/{K}/20/{scenario}/commands": draw_counts("mixed", 20, K, scenario, 1, seed=1)
        for K in GENERATIONS
        for scenario in SCENARIOS[2:]
    }
    with ProcessPoolExecutor(2) as pool:
        ours = dict(zip(data, pool.map(decide_ours, [int(key.split("/")[1]) for key in data], data.values()),
                        strict=True))  # fmt: skip
    others: dict[str, NDArray[np.bool_]] = {}
    if python is None and kept is None:
        yield "Other packages are not measured: give --others PYTHON, an interpreter that has them."
    else:
        with tempfile.TemporaryDirectory() as scratch:
            others = ask_others(python, kept or Path(scratch), data | checked)
        yield check_commands(checked, others)
    yield FAILURES
    fails: dict[tuple[str, str], Array] = {}
    for key in data:
        for name, row in ours[key].items():
            fails[key, name] = np.array(row, dtype=float)
        for name, answers in zip(GATES, others.get(key, ()), strict=key in others):
            fails[key, name] = answers.astype(float)
    answered = sum(others[key].shape[1] for key in data if key in others)
    if others and answered < sum(counts.shape[1] for counts in data.values()):
        yield f"Not finished: the other packages have answered {answered:,} data sets, in each cell the first ones."
    names = list(dict.fromkeys(name for _, name in fails))
    for scenario in SCENARIOS:
        rows = [
            [suite, str(N), str(K), *(_print_share(fails[f"{suite}/{K}/{N}/{scenario}", name])
                                      for name in names)]
            for suite in SUITES for N in QUESTIONS for K in GENERATIONS
        ]  # fmt: skip
        yield f"### Fails: {scenario}\n\n" + markdown_table(["suite", "N", "K", *names], rows)
    yield from summarize(fails, list(data), names)


def _print_share(fails: Array) -> str:
    """Return a share in percent with its Monte-Carlo standard error."""
    share = float(fails.mean())
    error = np.sqrt(max(share * (1 - share), 0.25 / len(fails)) / len(fails))
    return f"{100 * share:.0f} ± {100 * error:.0f}"


def keeps_level(false_alarms: list[Array]) -> bool:
    """Return whether no cell of the table has more false alarms than alpha and three standard errors of it."""
    return all(float(one.mean()) <= ALPHA + 3 * float(np.sqrt(ALPHA * (1 - ALPHA) / len(one))) for one in false_alarms)


def summarize(fails: dict[tuple[str, str], Array], keys: list[str], names: list[str]) -> Iterator[str]:
    """Yield the false alarms and mean power of each gate, and where one that keeps its level beats howsure."""
    unchanged = [key for key in keys if key.endswith(SCENARIOS[0])]
    changed = [key for key in keys if not key.endswith(SCENARIOS[0])]
    holds = {name: keeps_level([fails[key, name] for key in unchanged]) for name in names}
    rows = [
        [
            name,
            f"{100 * np.mean([fails[key, name].mean() for key in unchanged]):.1f}",
            f"{100 * max(fails[key, name].mean() for key in unchanged):.1f}",
            "yes" if holds[name] else "no",
            *(
                f"{100 * np.mean([fails[key, name].mean() for key in changed if key.endswith(scenario)]):.1f}"
                for scenario in SCENARIOS[1:]
            ),
        ]
        for name in names
    ]
    header = ["gate", "false alarms, mean", "largest", "keeps 5 %", *SCENARIOS[1:]]
    yield "### Over all suites, in percent\n\n" + markdown_table(header, rows)
    beaten = []
    for key in changed:
        for name in names:
            best = max(("howsure", "howsure, margin 0"), key=lambda ours: float(fails[key, ours].mean()))
            gain = fails[key, name] - fails[key, best][: len(fails[key, name])]
            error = float(gain.std() / np.sqrt(len(gain)))
            if holds[name] and gain.mean() > 2 * error and gain.mean() > 0:
                suite, K, N, scenario = key.split("/")
                beaten.append(
                    [suite, N, K, scenario, name, _print_share(fails[key, name]), _print_share(fails[key, best])]
                )
    if beaten:
        header = ["suite", "N", "K", "regression", "gate", "its power", "howsure"]
        yield "### Where another gate that keeps its level has more power\n\n" + markdown_table(header, beaten)
    else:
        yield "No other gate that keeps its level has more power anywhere by two standard errors of the difference."


def check_commands(checked: dict[str, Counts], others: dict[str, NDArray[np.bool_]]) -> str:
    """Return on how many data sets the commands say what the functions say; exit where howsure's do not."""
    agree = {name: [0, 0] for name in ["howsure", *GATES]}

    def count(name: str, function: object, command: object) -> None:
        agree[name][0] += function == command
        agree[name][1] += 1

    for key, counts in checked.items():
        K = int(key.split("/")[1])
        for function, command in zip(decide_ours(K, counts)["howsure"], run_ours(K, counts), strict=True):
            count("howsure", function, command)
        if key not in others:
            continue
        for name, functions, commands in zip(GATES, others[key], others[f"{key}/ran"], strict=True):
            for function, command in zip(functions.tolist(), commands.tolist(), strict=True):
                count(name, function, command)
    if agree["howsure"][0] < agree["howsure"][1]:
        sys.exit("howsure gate and compare_with_baseline disagree on the same data")
    return "Command and function agree on: " + "; ".join(f"{name}: {a} of {n}" for name, (a, n) in agree.items()) + "."


def split_recorded(splits: int) -> Iterator[str]:
    """Yield the table of false alarms on halves of recorded generations."""
    rows: list[list[object]] = []
    above = 0
    for name, K in RECORDED.items():
        cells = load_published(name)
        for place in np.linspace(0, len(cells.models) - 1, MODELS).astype(int).tolist():
            result = split_baseline(take_generations(cells, place, K), cells.models[place], splits=splits, margin=0.0)
            low, high = result.interval()
            above += low > ALPHA
            limits = f"{100 * low:.1f} to {100 * high:.1f}"
            rows.append([name, cells.models[place], str(K), f"{100 * result.rate:.1f}", limits])
    header = ["benchmark", "model", "generations", "fails, %", "95 % interval"]
    title = f"### Halves of recorded generations, {splits:,} splits each, margin 0"
    yield f"{title}\n\n{markdown_table(header, rows)}"
    yield f"Above {100 * ALPHA:g} %: {above} of {len(rows)} intervals. A margin makes fewer of them fail."


def take_generations(cells: Cells, place: int, K: int) -> Cells:
    """Return at most K recorded generations of each question of one model, drawn without replacement."""
    rng = np.random.default_rng([place, K])
    n, right = cells.n[place], np.rint(cells.total[place]).astype(np.int64)
    taken = np.minimum(n, K)
    total = rng.hypergeometric(right, n - right, taken).astype(float)[None]
    return Cells(cells.benchmark, (cells.models[place],), cells.questions, taken[None], total, total)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--others", metavar="PYTHON", help="interpreter that has statgate, regressgate and evalsig")
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        type=Path,
        help="folder of what the other packages answered: a command that was interrupted goes on from there, and "
        "without --others it prints what is there",
    )
    parser.add_argument("--repetitions", type=int, default=100, help="data sets per cell; twice as many without change")
    parser.add_argument("--splits", type=int, default=1000, help="splits of recorded generations")
    parser.add_argument("--part", choices=["compared", "recorded"], help="one of the two parts alone")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[], Iterator[str]]] = {
        "compared": lambda: compare_gates(arguments.others, arguments.keep, arguments.repetitions),
        "recorded": lambda: split_recorded(arguments.splits),
    }
    for name, part in parts.items():
        for text in part() if arguments.part in {None, name} else ():
            print(text, end="\n\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
