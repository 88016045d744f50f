"""Are copies of generations and retries until right noticed by the commands that compute errors? On planted tables.

Small tables (columns model, question, generation, answer, score) go through `howsure score`, `compare`, `rank` and
`compare`, and the lines on stderr that speak of copies or of retries are counted.

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
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checked_tables import Checks, markdown, print_sections
from howsure.cli import main as howsure_command

Array = NDArray[np.float64]
Answers = NDArray[np.int64]

MODELS, QUESTIONS = 3, 100
COMMANDS: dict[str, tuple[str, ...]] = {
    "score": (),
    "compare": ("--a", "m0", "--b", "m1"),
    "rank": (),
}
SCORE: dict[str, tuple[str, ...]] = {"score": ()}
COPIES = re.compile(r"\bcop(y|ies|ied)\b|identical|stored twice|repeated generations", re.IGNORECASE)
RETRIES = re.compile(r"\bretr(y|ies|ied)\b|until (it is |they are )?(right|correct)", re.IGNORECASE)


class Table(NamedTuple):
    """Answers of M models to N questions in k generations, 0 = right, -1 = not there; shape (M, N, k)."""

    answers: Answers

    def write(self, path: Path) -> None:
        """Write the rows that are there."""
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["model", "question", "generation", "answer", "score"])
            for (m, q, j), answer in np.ndenumerate(self.answers):
                if answer >= 0:
                    rows.writerow([f"m{m}", f"q{q}", j, f"{q % 7 + 10 * answer}", int(answer == 0)])


def honest(k: int, kind: str, rng: np.random.Generator) -> Answers:
    """Return answers that are drawn independently."""
    shape = (MODELS, QUESTIONS, k)
    options = 4 if "choice" in kind else 1000
    p = rng.beta(0.6, 0.4, shape[:2])
    if "deterministic" in kind:  # nearly always the model's own answer
        own = np.where(rng.random(shape[:2]) < p, 0, rng.integers(1, options, shape[:2]))[..., None]
        return np.where(rng.random(shape) < 0.98, own, rng.integers(0, options, shape))
    # Few wrong answers are frequent ones.
    wrong = 1 + np.floor((options - 1) * rng.random(shape) ** 4).astype(np.int64)
    return np.where(rng.random(shape) < p[..., None], 0, wrong)


def left_out(answers: Answers, rng: np.random.Generator) -> Answers:
    """Return the answers with all but the first r of each question left out, r uniform from 1 to k."""
    k = answers.shape[2]
    return np.where(np.arange(k) < rng.integers(1, k + 1, answers.shape[:2])[..., None], answers, -1)


def retried(k: int, kind: str, rng: np.random.Generator) -> Answers:
    """Return answers to questions that are asked until the answer is right, at most k times."""
    answers = honest(k, kind, rng)
    before = np.cumsum(answers == 0, axis=2) - (answers == 0)
    return np.where(before == 0, answers, -1)


def hard_left_out(k: int, kind: str, rng: np.random.Generator) -> Answers:
    """Return honest answers of weak models (P(correct) about .05) with generations left out at random."""
    answers = honest(k, kind, rng)
    return left_out(np.where((answers == 0) & (rng.random(answers.shape) < 0.9), 1, answers), rng)


def copied(k: int, times: int, kind: str, rng: np.random.Generator) -> Answers:
    """Return k generations that are stored so many times."""
    return np.tile(honest(k, kind, rng), (1, 1, times))


def copied_of_one(k: int, kind: str, rng: np.random.Generator) -> Answers:
    """Return 2k generations, of which those of the first model are k and their copies."""
    answers = honest(2 * k, kind, rng)
    answers[0, :, k:] = answers[0, :, :k]
    return answers


def copied_in_part(k: int, kind: str, rng: np.random.Generator) -> Answers:
    """Return 2k generations that are k and their copies for 80 % of the questions."""
    answers = honest(2 * k, kind, rng)
    part = rng.random(QUESTIONS) < 0.8
    answers[:, part, k:] = answers[:, part, :k]
    return answers


def copied_and_shuffled(k: int, kind: str, rng: np.random.Generator) -> Answers:
    """Return k generations stored twice, their numbers shuffled within each question."""
    return rng.permuted(copied(k, 2, kind, rng), axis=2)


def run(arguments: list[str]) -> str:
    """Return what a command that succeeds writes to stderr."""
    errors = io.StringIO()
    with warnings.catch_warnings(), redirect_stderr(errors), redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            howsure_command(arguments)
            code: object = 0
        except SystemExit as ended:
            code = ended.code
    assert not code, errors.getvalue()
    return errors.getvalue()


def noticed(table: Table, pattern: re.Pattern[str], commands: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """Return for each command the number of lines on stderr that match."""
    notes_of_kind = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        table.write(path)
        for command, more in commands.items():
            errors = run([command, str(path), *more])
            notes_of_kind[command] = sum(bool(pattern.search(line)) for line in errors.splitlines())
    return notes_of_kind


class Case(NamedTuple):
    """What is made, the pattern, and the share of tables whose warning is promised: at most, at least, or nothing."""

    name: str
    make: Callable[[str, np.random.Generator], Answers]
    pattern: re.Pattern[str]
    at_most: float = 1.0
    at_least: float = 0.0


CASES = (
    *(Case(f"honest, k = {k}", partial(honest, k), COPIES, at_most=0.05) for k in (2, 3, 5, 10)),
    Case("5 generations stored twice", lambda kind, rng: copied(5, 2, kind, rng), COPIES, at_least=0.95),
    Case("2 runs, each stored twice", lambda kind, rng: copied(2, 2, kind, rng), COPIES, at_least=0.95),
    Case("a run stored twice", lambda kind, rng: copied(1, 2, kind, rng), COPIES, at_least=0.95),
    # No promise: two equal runs of 100 questions may be those of a model that hardly varies, as far as scores can tell.
    Case("one of three models: a run stored twice", lambda kind, rng: copied_of_one(1, kind, rng), COPIES),
    Case(
        "one of three models: 2 runs, each stored twice",
        lambda kind, rng: copied_of_one(2, kind, rng),
        COPIES,
        at_least=0.95,
    ),
    Case("80 % of the questions: 2 runs, each stored twice", lambda kind, rng: copied_in_part(2, kind, rng), COPIES),
    Case("5 stored twice, numbers shuffled", lambda kind, rng: copied_and_shuffled(5, kind, rng), COPIES),
    *(Case(f"honest, k = {k}", partial(honest, k), RETRIES, at_most=0.05) for k in (2, 5)),
    Case("honest, left out at random, k = 5", lambda kind, rng: left_out(honest(5, kind, rng), rng), RETRIES, 0.05),
    Case("honest and hard, left out at random", lambda kind, rng: hard_left_out(5, kind, rng), RETRIES, 0.05),
    Case("retries until right, up to 5", lambda kind, rng: retried(5, kind, rng), RETRIES, at_least=0.95),
    Case("retries until right, up to 2", lambda kind, rng: retried(2, kind, rng), RETRIES, at_least=0.95),
)
KINDS = ("free answers", "multiple choice", "nearly deterministic")


def slack(n: int) -> float:
    """Return three Monte-Carlo standard errors of a share of .05 or .95 of n tables."""
    return float(3 * np.sqrt(0.05 * 0.95 / n))


def table(trials: int, other_commands: int, checks: Checks) -> str:
    """Return shares of tables with a warning; `other_commands` tables also go through the other three commands.

    Twice as many honest tables. Copies of nearly deterministic models are no promise: two honest runs of one are equal
    with chance .98^200 = .02 by themselves.
    """
    rows = []
    false_alarms: dict[str, list[int]] = {"repeated generations": [], "retries": []}
    for i, case in enumerate(CASES):
        for kind in KINDS if trials > 1 else KINDS[i % 2 : i % 2 + 1]:
            planted = "honest" not in case.name
            unclear = planted and "deterministic" in kind
            if unclear and case.pattern is RETRIES:
                continue  # what is right at once or never leaves no retries
            rng = np.random.default_rng([i, len(kind)])
            hits, times = dict.fromkeys(COMMANDS, 0), dict.fromkeys(COMMANDS, 0)
            lines = 0
            for trial in range(trials if planted else 2 * trials):
                commands = COMMANDS if trial < other_commands and (planted or trials > 1) else SCORE
                for command, count in noticed(Table(case.make(kind, rng)), case.pattern, commands).items():
                    hits[command] += count > 0
                    times[command] += 1
                    lines = max(lines, count)
            what = "repeated generations" if case.pattern is COPIES else "retries"
            if not planted:
                false_alarms[what] += [hits["score"], times["score"]]
            at_least = 0.0 if unclear else case.at_least
            broken = [
                f"{command} {hits[command]} of {n}"
                for command, n in times.items()
                if n and not at_least - slack(n) <= hits[command] / n <= case.at_most + slack(n)
            ]
            checks.check(not broken, f"{what} noticed, {case.name}, {kind}: {', '.join(broken)}")
            promised = f"<= {case.at_most}" if case.at_most < 1 else f">= {at_least}" if at_least else "-"
            shares = (f"{hits[command] / times[command]:.2f}" if times[command] else "-" for command in COMMANDS)
            rows.append((case.name, kind, what, promised, times["score"], *shares, lines))
    for what, counts in false_alarms.items():
        alarms, n = sum(counts[::2]), sum(counts[1::2])
        rows.append((f"all honest tables: {alarms} warnings", "all", what, "<= 0.05", n, f"{alarms / n:.3f}", *"----"))
        checks.check(alarms / n <= 0.05 + slack(n), f"{what} noticed by score in {alarms} of {n} honest tables")
    columns = ("table", "answers", "warning of", "promised", "tables", *COMMANDS, "most lines of one table")
    return markdown(columns, rows, 4)


def sections(*, quick: bool) -> Iterator[tuple[str, str]]:
    """Yield the title and the table; raise AssertionError at the end where a claim does not hold."""
    checks = Checks()
    yield (
        "Repeated generations and retries until right: share of tables with a warning",
        table(1 if quick else 6, 1, checks),
    )
    checks.finish()


if __name__ == "__main__":
    print_sections(sections)
