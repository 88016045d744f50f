"""Are copies of generations and retries until right noticed by the commands that compute errors? On planted tables.

Small tables (columns model, question, generation, answer, score) go through `howsure score`, `compare` and `rank`, and
the lines on stderr that speak of copies or of retries are counted.

Honest tables: three models, 100 questions, k generations that are drawn independently. P(correct) is Beta(.6, .4); or
the models are nearly deterministic: each generation gives the model's own answer of the question with chance .98.
Wrong answers are spread over a few options (multiple choice) or over many numbers.

Copies: 5 generations that are stored twice; 4 runs that are two runs and their copies; a run and its copy; the same of
one model out of three; copies of 80 % of the questions; copies whose generation numbers are shuffled within each
question. Retries: a question is asked again until its answer is right, at most 5 or 2 times. Beside them stand honest
tables with generations left out at random, also of hard questions, which leave few right answers.
"""

from __future__ import annotations

import csv
import io
import re
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np

from designs.data import Ints
from designs.engine import ALPHA, Table, guarantee, slack
from howsure.cli import main as howsure_command

MODELS, QUESTIONS = 3, 100
COMMANDS: dict[str, tuple[str, ...]] = {"score": (), "compare": ("--a", "m0", "--b", "m1"), "rank": ()}
PATTERNS = {
    "repeated generations": re.compile(
        r"\bcop(y|ies|ied)\b|identical|stored twice|repeated generations", re.IGNORECASE
    ),
    "retries": re.compile(r"(?i)\bretr(y|ies|ied)\b|until (it is |they are )?(right|correct)"),
}
COPIES, RETRIES = PATTERNS
KINDS = ("free answers", "multiple choice", "nearly deterministic")
#: Answers of M models to N questions in k generations, 0 = right, -1 = not there; shape (M, N, k).
Make = Callable[[str, np.random.Generator], Ints]


def honest(k: int) -> Make:
    """Return draws of answers that are independent."""

    def make(kind: str, rng: np.random.Generator) -> Ints:
        shape, options = (MODELS, QUESTIONS, k), 4 if "choice" in kind else 1000
        p = rng.beta(0.6, 0.4, shape[:2])
        if "deterministic" in kind:  # nearly always the model's own answer
            own = np.where(rng.random(shape[:2]) < p, 0, rng.integers(1, options, shape[:2]))[..., None]
            return np.where(rng.random(shape) < 0.98, own, rng.integers(0, options, shape))
        wrong = 1 + np.floor((options - 1) * rng.random(shape) ** 4).astype(np.int64)  # few of them are frequent
        return np.where(rng.random(shape) < p[..., None], 0, wrong)

    return make


def change(k: int, how: Callable[[Ints, np.random.Generator], Ints]) -> Make:
    """Return draws of k honest generations that something was done to."""
    return lambda kind, rng: how(honest(k)(kind, rng), rng)


def leave_out(answers: Ints, rng: np.random.Generator) -> Ints:
    """Leave out all but the first r of each question, r uniform from 1 to k."""
    k = answers.shape[2]
    return np.where(np.arange(k) < rng.integers(1, k + 1, answers.shape[:2])[..., None], answers, -1)


def leave_out_hard(answers: Ints, rng: np.random.Generator) -> Ints:
    """Leave out generations of weak models, whose P(correct) is about .05."""
    return leave_out(np.where((answers == 0) & (rng.random(answers.shape) < 0.9), 1, answers), rng)


def retry(answers: Ints, _: np.random.Generator) -> Ints:
    """Stop where the first answer is right."""
    return np.where(np.cumsum(answers == 0, axis=2) - (answers == 0) == 0, answers, -1)


def copy(answers: Ints, _: np.random.Generator) -> Ints:
    return np.tile(answers, (1, 1, 2))


def copy_one(answers: Ints, _: np.random.Generator) -> Ints:
    """Make the second half of the first model's generations copies of the first half."""
    k = answers.shape[2] // 2
    answers[0, :, k:] = answers[0, :, :k]
    return answers


def copy_part(answers: Ints, rng: np.random.Generator) -> Ints:
    """Do so for 80 % of the questions of all models."""
    k, part = answers.shape[2] // 2, rng.random(QUESTIONS) < 0.8
    answers[:, part, k:] = answers[:, part, :k]
    return answers


class Case(NamedTuple):
    """What is made, what it may be taken for, and the share of tables whose warning is promised: at most, at least."""

    name: str
    make: Make
    what: str
    at_most: float = 1.0
    at_least: float = 0.0


CASES = (
    *(Case(f"honest, k = {k}", honest(k), COPIES, at_most=0.05) for k in (2, 3, 5, 10)),
    Case("5 generations stored twice", change(5, copy), COPIES, at_least=0.95),
    Case("2 runs, each stored twice", change(2, copy), COPIES, at_least=0.95),
    Case("a run stored twice", change(1, copy), COPIES, at_least=0.95),
    # No promise: two equal runs of 100 questions may be those of a model that hardly varies, as far as scores can tell.
    Case("one of three models: a run stored twice", change(2, copy_one), COPIES),
    Case("one of three models: 2 runs, each stored twice", change(4, copy_one), COPIES, at_least=0.95),
    Case("80 % of the questions: 2 runs, each stored twice", change(4, copy_part), COPIES),
    Case("5 stored twice, numbers shuffled", change(5, lambda a, rng: rng.permuted(copy(a, rng), axis=2)), COPIES),
    *(Case(f"honest, k = {k}", honest(k), RETRIES, at_most=0.05) for k in (2, 5)),
    Case("honest, left out at random, k = 5", change(5, leave_out), RETRIES, 0.05),
    Case("honest and hard, left out at random", change(5, leave_out_hard), RETRIES, 0.05),
    Case("retries until right, up to 5", change(5, retry), RETRIES, at_least=0.95),
    Case("retries until right, up to 2", change(2, retry), RETRIES, at_least=0.95),
)


def notice(answers: Ints, what: str, commands: list[str]) -> dict[str, int]:
    """Return for each command the number of lines on stderr that speak of it."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["model", "question", "generation", "answer", "score"])
            rows.writerows(
                [f"m{m}", f"q{q}", j, f"{q % 7 + 10 * answer}", int(answer == 0)]
                for (m, q, j), answer in np.ndenumerate(answers) if answer >= 0
            )  # fmt: skip
        for command in commands:
            errors = io.StringIO()
            with warnings.catch_warnings(), redirect_stderr(errors), redirect_stdout(io.StringIO()):
                warnings.simplefilter("always")
                try:
                    howsure_command([command, str(path), *COMMANDS[command]])
                except SystemExit as ended:
                    if ended.code:
                        raise ValueError(errors.getvalue()) from ended
            found[command] = sum(bool(PATTERNS[what].search(line)) for line in errors.getvalue().splitlines())
    return found


@guarantee(
    {"Repeated generations and retries until right: share of tables with a warning":
     "table | answers | warning of | promised | tables | score | compare | rank | most lines of one table"},
    quick={"trials": 1},
    full={"trials": 6},
)  # fmt: skip
def copies(table: Table, trials: int) -> None:
    """Twice as many honest tables; the first of each also goes through the other commands.

    Copies of nearly deterministic models are no promise: two honest runs of one are equal with chance .98^200 = .02.
    """
    alarms: dict[str, list[tuple[int, int]]] = {what: [] for what in PATTERNS}
    for i, case in enumerate(CASES):
        for kind in KINDS if trials > 1 else KINDS[i % 2 : i % 2 + 1]:
            is_planted = "honest" not in case.name
            unclear = is_planted and "deterministic" in kind
            if unclear and case.what == RETRIES:
                continue  # what is right at once or never leaves no retries
            rng, found = np.random.default_rng([i, len(kind)]), []
            for trial in range(trials if is_planted else 2 * trials):
                commands = list(COMMANDS) if trial < 1 and (is_planted or trials > 1) else ["score"]
                found.append(notice(case.make(kind, rng), case.what, commands))
            counts = {command: [one[command] for one in found if command in one] for command in COMMANDS}
            shares = {command: float(np.mean(np.array(lines) > 0)) for command, lines in counts.items() if lines}
            at_least = 0.0 if unclear else case.at_least
            for command, share in shares.items():
                error = slack(ALPHA, len(counts[command]))
                is_kept = at_least - error <= share <= case.at_most + error
                table.check(is_kept, f"{case.what} noticed, {case.name}, {kind}: {command} in {share:.2f}")
            if not is_planted:
                alarms[case.what].append((sum(lines > 0 for lines in counts["score"]), len(found)))
            promised = f"<= {case.at_most}" if case.at_most < 1 else f">= {at_least}" if at_least else "-"
            texts = (f"{shares[command]:.2f}" if command in shares else "-" for command in COMMANDS)
            most = max(max(one.values()) for one in found)
            table.add(case.name, kind, case.what, promised, len(found), *texts, most)
    for what, each in alarms.items():
        warned, n = np.sum(each, axis=0).tolist()
        table.add(f"all honest tables: {warned} warnings", "all", what, "<= 0.05", n, warned / n, "-", "-", "-")
        table.check(warned / n <= ALPHA + slack(ALPHA, n), f"{what} noticed by score in {warned} of {n} honest tables")
