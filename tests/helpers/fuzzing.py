"""Cases that a fuzzer makes (experiments, command lines, tables, logs, run folders), and what the command owes to each.

Whatever it is given, the command ends within a time, with exit code 0, 1 or 2, without a traceback, and prints lines
without control characters. Where it fails it says so in a line of bounded length. Each case has a seed, by which it is
made again.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import random
import re
import shutil
import signal
import sqlite3
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from howsure.cli import main

#: Seconds after which a case counts as hanging.
LONGEST = 60
#: Longest line on stderr, in characters.
LONGEST_LINE = 2500
ODD_TEXTS = [
    *(
        "",
        " ",
        "0",
        "-1",
        "1e999",
        "nan",
        "inf",
        "-inf",
        "9" * 400,
        "null",
        "true",
        "~",
        "[]",
        "{}",
        "[[]]",
        "a" * 3000,
    ),
    *("\x00", "\x1b[2J", "\x9b31m", "\ud800", "\ufffe", "é", "😀", "\u202e", "'", '"', "=1+1", "{question}", "{", "}"),
    *("%s", "%n", "../../x", "/dev/zero", "/dev/null", "/", ".", "..", "~", "file:///etc/passwd", "http://127.0.0.1:1"),
    *(
        "s3://b/k",
        "2147483648",
        "-2147483649",
        "18446744073709551616",
        "0x10",
        "1_000",
        "1:30",
        "2026-01-01",
        "<<",
        "*a",
    ),
    *("&a", "!!set", "!!python/name:os.system", "|", ">", "?", "- ", "#", ",", ";", "\t", "\r\n", "\n", "NA", "None"),
]
EXPERIMENTS = [
    "benchmark: directions-small\nmodels: [simulated/medium]\ngenerations: 2\nlimit: 3\n",
    (
        "benchmark: directions-small\nmodels:\n  - simulated/small\n  - {model: simulated/large, label: l, temperature: 0.5}\n"
        "generations: 2\nlimit: 4\nseed: 7\nbudget: {calls: 100}\nconcurrency: 4\n"
    ),
    (
        "benchmark: directions-small\nmodels: [simulated/medium]\nlimit: 2\ngenerations: 3\n"
        "variants: {space: open, sample: 3, seed: 1}\n"
    ),
    "benchmark: directions-small\nmodels: [simulated/medium]\nlimit: 3\ngenerations: 4\nuntil: {width: 0.2}\n",
    (
        "benchmark: {file: questions.jsonl, question: question, target: answer, name: mine}\n"
        "models:\n  - {model: m, base_url: 'http://127.0.0.1:9/v1', key_env: NO_KEY, max_tokens: 5, extra: {top_k: 3}}\n"
        "variants:\n  - {template: 'Q: {question}'}\n  - {system: s}\ngenerations: 1\n"
    ),
]


@dataclass
class Outcomes:
    """What became of the cases."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        total = self.counts.total()
        return f"{total:,} cases: " + ", ".join(f"{n:,} {name}" for name, n in self.counts.most_common())


@dataclass
class Ran:
    """How a command ended, and what it printed."""

    code: int | None
    out: str
    err: str
    fault: str = ""


class HangError(BaseException):
    """A case takes too long; no handler of the code under test catches it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise HangError in this thread after so many seconds."""

    def stop(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run_command(arguments: list[str]) -> Ran:
    """Run the command in this process; `fault` says what it did that it must never do."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    code: int | None = None
    fault = ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        try:
            with time_limit(LONGEST):
                main(arguments)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
        except HangError:
            fault = f"hangs: {_last_place(traceback.format_exc())}"
        except BaseException as error:  # noqa: BLE001  anything that escapes is what is searched for
            fault = f"{type(error).__name__}: {str(error)[:200]} {_last_place(traceback.format_exc())}"
    out.flush()
    err.flush()
    printed = [one.buffer.getvalue().decode("utf-8", "replace") for one in (out, err)]
    ran = Ran(code, *printed, fault)
    if not fault:
        ran.fault = _find_fault(ran)
    return ran


def _find_fault(ran: Ran) -> str:
    """Return what is wrong with how a command ended; empty if nothing is."""
    if ran.code not in {0, 1, 2, 130}:
        return f"exit code {ran.code}"
    for text in (ran.out, ran.err):
        if bad := next((c for c in text if not c.isprintable() and c not in "\n\t"), None):
            return f"prints {bad!r}"
    longest = max(map(len, ran.err.splitlines()), default=0)
    if longest > LONGEST_LINE:
        return f"a line of {longest:,} characters: {ran.err[:200]!r}"
    if "Traceback" in ran.err:
        return "prints a traceback"
    if ran.code == 2 and not ran.err.strip():
        return "fails without a word"
    return ""


def _last_place(text: str) -> str:
    """Return the last line of the package in a traceback."""
    places = re.findall(r'File ".*?/(howsure/[^"]*)", line (\d+), in (\w+)', text)
    return ":".join(places[-1]) if places else ""


def try_cases(n: int, make: Callable[[random.Random], list[str] | None], outcomes: Outcomes, *, first: int = 0) -> None:
    """Make and run cases `first` to `first + n - 1`; `make` returns the arguments of the command, or None for no case."""
    for seed in range(first, first + n):
        arguments = make(random.Random(seed))
        if arguments is None:
            continue
        ran = run_command(arguments)
        outcomes.counts["faults" if ran.fault else "refused" if ran.code else "read"] += 1
        if ran.fault:
            outcomes.failures.append(f"seed {seed}: {ran.fault}: {' '.join(arguments)[:300]!r}")


# experiments


def mutate_text(text: str, rng: random.Random) -> str:
    """Return a text with one to four changes: words, lines, characters and indentation."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        kind = rng.randrange(9)
        words = list(re.finditer(r"[^\s,:\[\]{}]+", text))
        lines = text.splitlines(keepends=True) or [""]
        if kind <= 2 and words:
            word = rng.choice(words)
            text = text[: word.start()] + rng.choice(ODD_TEXTS) + text[word.end() :]
        elif kind == 3:
            at = rng.randrange(len(lines))
            text = "".join(lines[:at] + [lines[at]] * rng.randint(0, 3) + lines[at + 1 :])
        elif kind == 4:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(ODD_TEXTS) + text[at:]
        elif kind == 5 and text:
            at = rng.randrange(len(text))
            text = text[:at] + text[at + rng.randint(1, 8) :]
        elif kind == 6:
            at = rng.randrange(len(lines))
            lines[at] = " " * rng.randint(0, 5) + lines[at].lstrip()
            text = "".join(lines)
        elif kind == 7 and len(words) > 1:
            a, b = sorted(rng.sample(range(len(words)), 2))
            first, second = words[a], words[b]
            text = (
                text[: first.start()] + second[0] + text[first.end() : second.start()] + first[0] + text[second.end() :]
            )
        else:
            keys = [
                "until",
                "variants",
                "budget",
                "greedy",
                "allocate",
                "extra",
                "limit",
                "seed",
                "models",
                "benchmark",
            ]
            value = rng.choice([rng.choice(ODD_TEXTS), "{width: 0.1}", "[1, 2]", "{a: {b: [c]}}", "adaptive", "true"])
            text += f"{rng.choice(keys)}: {value}\n"
    return text


ODD_VALUES: list[object] = [
    *ODD_TEXTS[:40],
    *(None, True, False, 0, 1, 2, 3, -1, 0.5, 1e300, -0.0, 2**31, 2**53, 2**63, 10**30, 1_000_000),
    *(
        [],
        {},
        [[]],
        [1, 2],
        {"a": 1},
        [None],
        {"": ""},
        ["simulated/small"],
        {"file": "questions.jsonl"},
        {"width": 0.3},
    ),
    *(
        {"space": "maths", "sample": 2},
        {"calls": 5, "tokens": 10},
        {"headers": {"a": "b"}},
        "simulated/large",
        "adaptive",
    ),
]


def mutate_values(text: str, rng: random.Random) -> str:
    """Return YAML with one or two values replaced, removed or added, which is YAML again."""
    data = yaml.safe_load(text)
    for _ in range(rng.randint(1, 2)):
        holders: list[Any] = []
        waiting = [data]
        while waiting:
            one = waiting.pop()
            if isinstance(one, dict | list) and one:
                holders.append(one)
                waiting += list(one.values()) if isinstance(one, dict) else one
        if not holders:
            break
        holder = rng.choice(holders)
        at = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
        if rng.random() < 0.15:
            del holder[at]
        elif rng.random() < 0.25 and isinstance(holder, dict):
            names = [
                "until",
                "variants",
                "extra",
                "limit",
                "temperature",
                "label",
                "template",
                "system",
                "choices",
                "stop",
            ]
            names += [
                "mode",
                "budget",
                "greedy",
                "allocate",
                "skip_invalid",
                "scorer",
                "price",
                "top_p",
                "max_concurrent",
            ]
            holder[rng.choice(names)] = copy.deepcopy(rng.choice(ODD_VALUES))
        else:
            holder[at] = copy.deepcopy(rng.choice(ODD_VALUES))
    return json.dumps(data) if rng.random() < 0.5 else str(yaml.safe_dump(data))


def make_experiment(folder: Path, rng: random.Random) -> list[str]:
    """Write a mutated experiment; return the arguments of a dry run."""
    (folder / "questions.jsonl").write_text(
        '{"question": "1+1?", "answer": "2"}\n{"question": "2+2?", "answer": "4"}\n'
    )
    text = rng.choice(EXPERIMENTS)
    text = mutate_values(text, rng) if rng.random() < 0.6 else mutate_text(text, rng)
    (folder / "e.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    command = ["run", str(folder / "e.yaml"), "--show-prompts", "2"] if rng.random() < 0.2 else None
    return command or ["run", str(folder / "e.yaml"), "-o", str(folder / "no-run"), "--dry-run"]


# command lines


def list_commands() -> dict[str, list[tuple[str, bool, list[str]]]]:
    """Return the options of each command that serves no page and sends nothing: name, whether a flag, its choices."""
    from howsure.cli import cli

    found = {}
    for name, command in cli.commands.items():
        if name == "review":
            continue
        found[name] = [
            (option.opts[0], option.is_flag, list(getattr(option.type, "choices", [])))
            for option in command.params
            if hasattr(option, "is_flag") and option.name not in {"instructions", "review", "check"}
        ]
    return found


def make_command_line(folder: Path, inputs: list[str], rng: random.Random) -> list[str]:
    """Return a command with random options and values, on some of the inputs."""
    commands = list_commands()
    name = rng.choice(sorted(commands))
    arguments = [name]
    if name == "run":
        arguments.append("--dry-run")
    # No command line has NUL, and what is no UTF-8 comes as surrogates of the second kind.
    possible = [
        "\udcff",
        *(text for text in ODD_TEXTS if "/dev/" not in text and text != "/" and not {*text} & {"\0", "\ud800"}),
    ]
    arguments += rng.choices([*inputs, *possible], k=rng.randint(0, 2))
    if rng.random() < 0.7:
        arguments.append(rng.choice(inputs))
    for option, is_flag, choices in rng.sample(commands[name], min(len(commands[name]), rng.randint(0, 4))):
        if option in {"-o", "--output", "--figures", "--exclude", "--verdicts"}:
            arguments += [option, str(folder / f"out{rng.randrange(3)}")]
        elif is_flag:
            arguments.append(option)
        else:
            values = [*choices, *choices, "0.9", "1", "3", "0.5", "model=model", "m0", "m1", *inputs]
            arguments += [option, rng.choice(values if rng.random() < 0.7 else possible)]
    return arguments


# tables


def make_table(folder: Path, rng: random.Random) -> list[str]:
    """Write a table with odd columns and cells, then damage its bytes in one case of three; return a command on it."""
    names = ["model", "question", "score", "benchmark", "generation", "variant", "count", "mean", "correct", "answer"]
    columns = ["model", "question", "score", *rng.sample(names, rng.randint(0, 3))]
    if rng.random() < 0.15:
        columns[rng.randrange(len(columns))] = rng.choice(ODD_TEXTS)
    rows = []
    for i in range(rng.choice([0, 1, 2, 12])):
        row = []
        for name in columns:
            plain = {"model": f"m{i % 2}", "question": f"q{i // 2}", "score": str(i % 2), "generation": "1"}
            row.append(rng.choice(ODD_TEXTS) if rng.random() < 0.03 else plain.get(name, rng.choice(["1", "0", "1"])))
        rows.append(row)
    suffix = rng.choice(["csv", "jsonl", "tsv", "parquet"])
    path = folder / f"t.{suffix}"
    if suffix == "jsonl":
        odd = [None, [], {}, {"a": 1}, [1], 1e308, -1, 2**70, True, "\ud800", "x" * 5000]
        text = "".join(
            json.dumps({n: rng.choice(odd) if rng.random() < 0.02 else v for n, v in zip(columns, row, strict=True)})
            + "\n"
            for row in rows
        )
        data = text.encode("utf-8", "surrogatepass")
    elif suffix == "parquet":
        data = write_parquet(columns, rows, rng)
    else:
        mark = "," if suffix == "csv" else "\t"
        text = "\n".join(mark.join(row) for row in [columns, *rows]) + "\n" * rng.randint(0, 2)
        data = text.encode(rng.choice(["utf-8"] * 8 + ["utf-16", "utf-8-sig"]), "surrogatepass")
    if rng.random() < 0.25:
        data = damage_bytes(data, rng)
    path.write_bytes(data)
    commands = [
        ["score"],
        ["score"],
        ["score", "--claim", "these-questions"],
        ["compare"],
        ["variants"],
        ["repeats"],
        ["rank"],
    ]
    more = ["--columns", "score=mean"] if "mean" in columns and rng.random() < 0.5 else []
    return [*rng.choice(commands), str(path), "--format", rng.choice(["table", "csv", "json"]), *more]


def write_parquet(columns: list[str], rows: list[list[str]], rng: random.Random) -> bytes:
    """Return rows as Parquet, with numbers in the column of scores."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def convert(name: str, value: str) -> object:
        try:
            return float(value) if name in {"score", "mean", "count"} and rng.random() < 0.99 else value
        except ValueError:
            return None

    names = [f"c{i}" if not name.isprintable() else name for i, name in enumerate(columns)]
    values = [
        [convert(names[i], row[i].encode("utf-8", "replace").decode()) for row in rows] for i in range(len(names))
    ]
    arrays = []
    for column in values:
        try:
            arrays.append(pa.array(column))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            arrays.append(pa.array(list(map(str, column))))
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, names=names), sink)
    return sink.getvalue()


def damage_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with one to three injuries: cut, turned bits, lost, doubled, zeroed and inserted ones."""
    damaged = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        if not damaged:
            break
        at, length = rng.randrange(len(damaged)), rng.randint(1, 64)
        kind = rng.randrange(6)
        if kind == 0:
            del damaged[at:]
        elif kind == 1:
            damaged[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del damaged[at : at + length]
        elif kind == 3:
            damaged[at:at] = damaged[at : at + length]
        elif kind == 4:
            damaged[at : at + length] = bytes(len(damaged[at : at + length]))
        else:
            damaged[at:at] = rng.randbytes(rng.randint(1, 16))
    return bytes(damaged)


# logs


def make_log(folder: Path, examples: list[Path], rng: random.Random) -> list[str]:
    """Copy an example of a log, a file or a folder, with one damaged file; return a command on it."""
    example = rng.choice(examples)
    place = folder / "log"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    if example.is_dir():
        shutil.copytree(example, place / example.name)
    else:
        shutil.copy(example, place)
    files = sorted(file for file in place.rglob("*") if file.is_file())
    file = rng.choice(files)
    data = file.read_bytes()
    is_text = data[:1] in {b"{", b"["}
    file.write_bytes(
        mutate_text(data.decode("utf-8", "replace"), rng).encode("utf-8", "surrogatepass")
        if is_text and rng.random() < 0.5
        else damage_bytes(data, rng)
    )
    return [rng.choice(["score", "score", "audit", "repeats", "compare"]), str(place)]


# run folders


def damage_run(whole: Path, folder: Path, rng: random.Random) -> str:
    """Copy a run folder to `folder` and damage one of its files; return what was done."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != ".lock")
    file = rng.choice(files)
    kind = rng.choice(["bytes", "bytes", "bytes", "text", "remove", "empty", "foreign", "folder", "swap", "sql"])
    if kind == "bytes":
        file.write_bytes(damage_bytes(file.read_bytes(), rng))
    elif kind == "text":
        file = folder / "manifest.json"
        text = mutate_text(file.read_text(encoding="utf-8"), rng)
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
    elif kind == "remove":
        file.unlink()
    elif kind == "empty":
        file.write_bytes(b"")
    elif kind == "foreign":
        file.write_bytes(
            rng.choice([b"PAR1", b"SQLite format 3\0" + bytes(84), b"{}", b"[]", b"null", rng.randbytes(99)])
        )
    elif kind == "folder":
        file.unlink()
        file.mkdir()
    elif kind == "swap":
        file.write_bytes(rng.choice(files).read_bytes())
    else:
        file = folder / "responses.sqlite"
        damage_sql(file, rng)
    return f"{kind} {file.name}"


def damage_sql(file: Path, rng: random.Random) -> None:
    """Change the content of the database with SQL: values of other types, tables that are gone, other versions."""
    statements = [
        "UPDATE packs SET shared = ?",
        "UPDATE packs SET completion = ?",
        "UPDATE packs SET question = ?",
        "UPDATE moved SET rows = ?",
        "UPDATE prompts SET messages = ?",
        "UPDATE prompts SET record = ?",
        "DROP TABLE packs -- ?",
        "DROP TABLE moved -- ?",
        "DROP TABLE prompts -- ?",
        "DELETE FROM packs -- ?",
        "PRAGMA user_version = 99 -- ?",
        "PRAGMA application_id = 99 -- ?",
    ]
    values = [b"", b"\x90", b"\x91\xc0", b"\x28\xb5\x2f\xfd\xa0\xff\xff\xff\xff", b"\x91" * 5000, "text", 5, -1.5, None]
    statement = rng.choice(statements)
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute(statement.replace(" -- ?", ""), () if "-- ?" in statement else (rng.choice(values),))
        connection.commit()
