"""What an Inspect log of 25,000 samples costs from file to rows: seconds, CPU-seconds and peak memory.

The log is made here as Inspect writes it: a zip of Zstandard members, one of about 8 kB for each sample. Each run is a
process of its own; imports are not counted. `--quick` is a tenth of it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from backports import zstd

EPOCHS = 5
AT = "2026-11-20T21:11:12.345255+00:00"


def records(samples: int) -> Iterator[tuple[str, object]]:
    """Members of the log by name, in the order in which Inspect writes them."""
    questions = samples // EPOCHS
    spec = {
        "eval_id": "bench", "run_id": "bench", "task_id": "bench", "task": "sums", "created": AT,
        "dataset": {"name": "sums", "samples": questions, "sample_ids": [f"sum-{q}" for q in range(questions)]},
        "model": "mockllm/model", "config": {"epochs": EPOCHS}, "packages": {}, "scorers": [],
    }  # fmt: skip
    plan = {"name": "plan", "steps": [], "config": {"temperature": 0.7}}
    yield "_journal/start.json", {"version": 2, "eval": spec, "plan": plan}
    summaries = []
    for i in range(samples):
        sample = make_sample(f"sum-{i % questions}", i // questions + 1, i)
        summary = {key: sample[key] for key in ("id", "epoch", "input", "target", "metadata", "model_usage", "uuid")}
        summary |= {"scores": sample["scores"], "total_time": 1.5, "working_time": 1.0, "completed": True, "retries": 0}
        summaries.append(summary | {"started_at": sample["started_at"], "completed_at": sample["completed_at"]})
        yield f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample
    yield "summaries.json", summaries
    metrics = {"accuracy": {"name": "accuracy", "value": 2 / 3, "params": {}}}
    results = {
        "total_samples": samples,
        "completed_samples": samples,
        "scores": [{"name": "match", "scorer": "match", "metrics": metrics, "params": {}}],
    }
    stats = {"started_at": spec["created"], "completed_at": spec["created"], "model_usage": {}}
    head = {"version": 2, "status": "success", "eval": spec, "plan": plan, "results": results, "stats": stats}
    yield "header.json", head


def make_sample(name: str, epoch: int, i: int) -> dict[str, object]:
    """A sample, with a question of 300 characters, a completion of 1,000, and events."""
    question = f"Box {name} holds {i * 7 % 93} red and {i * 3 % 71} blue pencils, and some are given away. " * 4
    text = f"Step {i}: count what is left, and then count it again to be sure. " * 15 + f"ANSWER: {i % 10}"
    message = {"id": f"a{i}", "content": text, "source": "generate", "role": "assistant", "model": "model"}
    user_message = {"id": f"q{i}", "content": question, "source": "input", "role": "user"}
    usage = {"input_tokens": 90, "output_tokens": 250, "total_tokens": 340}
    output = {
        "model": "model",
        "choices": [{"message": message, "stop_reason": "stop"}],
        "completion": text,
        "usage": usage,
    }
    event = {"uuid": f"e{i}", "timestamp": AT, "working_start": 1.0, "event": "info", "data": "x" * 200}
    return {
        "id": name, "epoch": epoch, "input": question, "target": str(i % 10), "messages": [user_message, message],
        "output": output, "metadata": {"level": i % 5}, "store": {}, "events": [event] * 12, "uuid": f"u{i}",
        "scores": {"match": {"value": "C" if i % 3 else "I", "answer": str(i % 10), "explanation": text}},
        "model_usage": {"mockllm/model": usage}, "started_at": AT, "completed_at": AT, "total_time": 1.5,
        "working_time": 1.0, "error_retries": [], "attachments": {f"{i:032x}": question},
    }  # fmt: skip


def write(path: Path, members: Iterable[tuple[str, object]]) -> None:
    """A zip of Zstandard members (method 93), which Python's own module writes from 3.14 on."""
    directory = bytearray()
    with path.open("wb") as file:
        n = 0
        for name, record in members:
            data = json.dumps(record).encode()
            packed, label = zstd.compress(data), name.encode()
            sizes = struct.pack(
                "<HHHHHIIIHH", 63, 0, 93, 0, 33, zlib.crc32(data), len(packed), len(data), len(label), 0
            )
            at = file.tell()
            directory += b"PK\x01\x02" + struct.pack("<H", 63) + sizes + struct.pack("<HHHII", 0, 0, 0, 0, at) + label
            file.write(b"PK\x03\x04" + sizes + label + packed)
            n += 1
        at = file.tell()
        most = 0xFFFF
        end = struct.pack("<QHHIIQQQQ", 44, 63, 63, 0, 0, n, n, len(directory), at)
        locator = struct.pack("<IQI", 0, at + len(directory), 1)
        file.write(directory + b"PK\x06\x06" + end + b"PK\x06\x07" + locator)
        file.write(b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, min(n, most), min(n, most), len(directory), at, 0))


def cells(path: Path) -> None:
    """The same of `howsure.read`, which is what commands call: generations, seconds, CPU-seconds, MB."""
    import pyarrow.compute  # noqa: F401  before the clock starts
    from backports import zstd  # noqa: F401  the same

    from howsure.logs import find_reader
    from howsure.results.evaluations import read

    find_reader(Path(__file__))  # imports every reader
    used, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    [source] = read(path)
    seconds, now = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    n = int(source.n.sum())
    assert int(source.total.sum()) == n - -(-n // 3)
    print(n, seconds, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, now.ru_maxrss / 1024)


def ours(path: Path, *, texts: bool) -> None:
    """Measured in a process of its own: rows, seconds, CPU-seconds, MB."""
    from backports import zstd  # noqa: F401  before the clock starts

    from howsure.logs.base import ReadOptions
    from howsure.logs.inspect.reader import InspectReader

    used, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    n = right = 0
    for row in InspectReader().rows(path, ReadOptions(texts=texts), print):
        n += 1
        right += row.score == 1
    seconds, now = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    assert right == n - -(-n // 3)
    print(n, seconds, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, now.ru_maxrss / 1024)


def measured(command: list[str]) -> list[float]:
    """What a process says of itself."""
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet)
    assert not done.returncode, done.stderr
    return [float(value) for value in done.stdout.split()[-4:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", nargs=2, metavar=("FILE", "WHAT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        path = Path(arguments.one[0])
        if arguments.one[1] == "cells":
            cells(path)
        else:
            ours(path, texts=arguments.one[1] == "texts")
        return
    samples = 2_500 if arguments.quick else 25_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.eval"
        write(path, records(samples))
        print(f"an Inspect log of {samples:,} samples, {path.stat().st_size / 1e6:.1f} MB")
        print(f"{'':34}{'rows':>8}{'seconds':>9}{'CPU s':>8}{'MB':>7}")
        for name, command in {
            "rows": [sys.executable, __file__, "--one", str(path), "none"],
            "cells, by howsure.read": [sys.executable, __file__, "--one", str(path), "cells"],
            "rows with texts": [sys.executable, __file__, "--one", str(path), "texts"],
        }.items():
            n, seconds, cpu, peak = measured(command)
            assert n == samples
            print(f"{name:34}{n:8,.0f}{seconds:9.2f}{cpu:8.2f}{peak:7.0f}")
            if name.startswith("cells"):
                assert cpu < 2.0, "cells of 25,000 samples should take under 2 CPU-seconds"
            if name == "rows":
                assert cpu < 1.0, "rows of 25,000 summaries should take under 1 CPU-second"


if __name__ == "__main__":
    main()
