"""What other gates say of the data sets of bench/gate.py: statgate 0.1.1, regressgate 0.1.0 and evalsig 0.1.2.

`bench/gate.py --others PYTHON` starts this file with the interpreter that has these packages, so it imports nothing of
howsure. It answers the files NAME.npz of a folder (counts of right answers) with NAME.answer.npz (whether each gate
fails), and passes over those that have an answer.

A gate fails where its command exits with its code for a regression: 1 for all three (`BLOCK`, `regression`, `REJECT`).
evalsig asks whether the candidate is better, so it is asked a second time with the roles exchanged, where `ALLOW`
says that the baseline is better.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

#: Draws of the bootstraps and permutations of the other packages; their defaults are 10,000.
DRAWS = 2000
#: Exit code of each command for a regression.
FAILED = 1


def make_statgate(**options: float) -> Callable[..., bool]:
    """Return the function of statgate, with its options; a score per question is the mean of the generations."""
    from statgate.config import GateSettings
    from statgate.records import EvalRecord
    from statgate.verdict import evaluate_gate

    settings = GateSettings(resamples=DRAWS, permutations=100, seed=0, **options)

    def fails(K: int, base: np.ndarray, head: np.ndarray) -> bool:
        sides = [
            [EvalRecord.model_construct(case_id=f"q{i}", score=x / K, run_index=0) for i, x in enumerate(right)]
            for right in (base.tolist(), head.tolist())
        ]
        return bool(evaluate_gate(*sides, settings).verdict.value == "BLOCK")

    return fails


def make_regressgate() -> Callable[..., bool]:
    """Return the function of regressgate; numpy draws its permutations, which it draws one by one in Python."""
    from regressgate import gate
    from regressgate.gate_statistics import CaseCounts, PermutationResult
    from regressgate.run_report import CaseResult, RunReport, Trial

    outcome = {passed: Trial(passed=passed, latency_s=0.0) for passed in (False, True)}

    def permute(
        base: list[CaseCounts], head: list[CaseCounts], *, permutations: int = 10_000, seed: int = 0
    ) -> PermutationResult:
        """Return what `permutation_test` returns, from other draws of the same distribution."""
        n, k = base[0].trials, head[0].trials
        m = np.array([b.passes + h.passes for b, h in zip(base, head, strict=True)])
        x = sum(h.passes for h in head)
        observed = (x / k - (m.sum() - x) / n) / len(m)
        rng = np.random.default_rng(seed)
        drawn = np.zeros(permutations)
        for right, often in zip(*np.unique(m, return_counts=True), strict=True):
            size = (permutations, often)
            drawn += rng.hypergeometric(right, n + k - right, k, size=size).sum(axis=1)
        worse, better = np.count_nonzero(drawn <= x), np.count_nonzero(drawn >= x)
        p = [(1 + count) / (1 + permutations) for count in (worse, better)]
        return PermutationResult(float(observed), p[0], p[1], permutations)

    gate.permutation_test = permute
    config = gate.GateConfig(permutations=DRAWS)

    def report(K: int, right: np.ndarray) -> RunReport:
        cases = [
            CaseResult.model_construct(id=f"q{i}", trials=[outcome[True]] * x + [outcome[False]] * (K - x))
            for i, x in enumerate(right.tolist())
        ]
        return RunReport.model_construct(
            regressgate_version="0", created_at="", target="", repeats=K, cases=cases, schema_version=1
        )

    def fails(K: int, base: np.ndarray, head: np.ndarray) -> bool:
        return bool(gate.compare_reports(report(K, base), report(K, head), config).failed)

    return fails


def make_evalsig(*, exchanged: bool) -> Callable[..., bool]:
    """Return the function of evalsig; a score per question is the mean of the generations."""
    from evalsig import gate
    from evalsig.types import ItemResult, RunFrame

    def frame(K: int, right: np.ndarray) -> RunFrame:
        items = [ItemResult(f"q{i}", x / K) for i, x in enumerate(right.tolist())]
        return RunFrame("run", "model", "task", "accuracy", items)

    def fails(K: int, base: np.ndarray, head: np.ndarray) -> bool:
        first, second = (head, base) if exchanged else (base, head)
        verdict = gate(frame(K, first), frame(K, second), min_delta=0.005, n_resamples=DRAWS).verdict.value
        return bool(verdict == ("ALLOW" if exchanged else "REJECT"))

    return fails


#: Names of the columns of the table, in its order.
GATES: dict[str, Callable[[], Callable[..., bool]]] = {
    "statgate": make_statgate,
    "statgate, margin 0, alpha .1": lambda: make_statgate(margin=0.0, alpha=0.1),
    "regressgate": make_regressgate,
    "evalsig": lambda: make_evalsig(exchanged=False),
    "evalsig, exchanged": lambda: make_evalsig(exchanged=True),
}


def run_commands(folder: Path, K: int, base: np.ndarray, head: np.ndarray) -> dict[str, bool]:
    """Return whether the command of each package fails on files with these counts."""
    for name, right in (("base", base.tolist()), ("head", head.tolist())):
        write_files(folder, name, K, right)
    (folder / "regressgate.yaml").write_text(f"gate:\n  permutations: {DRAWS}\n")
    programs = Path(sys.executable).parent

    def exits(program: str, *arguments: str) -> int:
        command = [str(programs / program), *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode

    def compare(program: str, *options: str) -> int:
        return exits(program, "compare", f"base.{program}", f"head.{program}", *options)

    def gate(first: str, second: str) -> int:
        files = ("--baseline", f"{first}.evalsig", "--candidate", f"{second}.evalsig")
        return exits(
            "evalsig", "gate", *files, "--format", "runframe", "--min-delta", "0.005", "--resamples", str(DRAWS)
        )

    fixed = ("--adapter", "jsonl", "--seed", "0", "--resamples", str(DRAWS), "--permutations", "100")
    return {
        "statgate": compare("statgate", *fixed) == FAILED,
        "statgate, margin 0, alpha .1": compare("statgate", *fixed, "--margin", "0", "--alpha", "0.1") == FAILED,
        "regressgate": compare("regressgate") == FAILED,
        "evalsig": gate("base", "head") == FAILED,
        "evalsig, exchanged": gate("head", "base") == 0,
    }


def write_files(folder: Path, name: str, K: int, right: list[int]) -> None:
    """Write the counts of one run as each package reads them: every generation, for evalsig the mean of a question."""
    outcomes = [(f"q{i}", j, j < x) for i, x in enumerate(right) for j in range(K)]
    lines = [json.dumps({"case_id": q, "score": float(ok), "passed": ok, "run_index": j}) for q, j, ok in outcomes]
    (folder / f"{name}.statgate").write_text("\n".join(lines) + "\n")
    cases = [
        {"id": f"q{i}", "trials": [{"passed": j < x, "latency_s": 0.0} for j in range(K)]} for i, x in enumerate(right)
    ]
    report = {"regressgate_version": "0.1.0", "created_at": "", "target": "demo", "repeats": K, "cases": cases}
    (folder / f"{name}.regressgate").write_text(json.dumps(report))
    items = [{"item_id": f"q{i}", "score": x / K} for i, x in enumerate(right)]
    run = {"run_id": name, "model_id": name, "task_id": "demo", "metric_name": "accuracy", "items": items}
    (folder / f"{name}.evalsig").write_text(json.dumps(run))


def main(folder: Path) -> None:
    """Write the answer to each file of data sets in the folder that has none, in the order of their names."""
    functions = {name: make() for name, make in GATES.items()}
    for path in sorted(folder.glob("*.npz")):
        written = path.with_suffix(".answer.npz")
        if path.suffixes[-2:] == [".answer", ".npz"] or written.exists():
            continue
        with np.load(path) as data:
            K, (base, head), with_commands = int(data["K"]), data["counts"], bool(data["commands"])
        verdicts = [[fails(K, b, h) for b, h in zip(base, head, strict=True)] for fails in functions.values()]
        answers = {"fails": np.array(verdicts)}
        if with_commands:
            with tempfile.TemporaryDirectory() as scratch:
                ran = [run_commands(Path(scratch), K, b, h) for b, h in zip(base, head, strict=True)]
            answers["ran"] = np.array([[one[name] for one in ran] for name in functions])
        unfinished = written.with_suffix(".part")
        with unfinished.open("wb") as file:
            np.savez(file, **answers)  # type: ignore[arg-type]  # the stub has allow_pickle among the names
        unfinished.replace(written)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
