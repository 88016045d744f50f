"""What a generation costs from request to scored and stored row, beside a bare aiohttp loop that only posts and reads.

Each measured run is a process of its own; the server is another (`fast_endpoint`). CPU is that of all threads of the
client, imports not counted; opening the folder, scoring, writing to the disk and compaction are. Completions are of
`--size` characters, questions of about 200. `--quick` is a tenth of it, in half a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fast_endpoint import endpoint

ALL = 12_000
"""Questions of the largest run; it asks each 50 times."""


@dataclass(frozen=True)
class Case:
    """One row of the table: so many requests with n generations each."""

    name: str
    n: int
    requests: int
    in_flight: int
    latency: float = 0.0
    per_cpu: float = 0.0
    """Target: generations per CPU-second."""
    share: float = 0.0
    """Target: of concurrency / latency."""
    seconds: float = 0.0
    megabytes: float = 0.0


CASES = (
    Case("n = 50, no latency", 50, 3_000, 64, per_cpu=40_000),
    Case("n = 50, no latency", 50, 3_000, 512, per_cpu=40_000),
    Case("n = 1, no latency", 1, 12_000, 64, per_cpu=3_000),
    Case("n = 1, no latency", 1, 12_000, 512, per_cpu=3_000),
    Case("n = 50, 0.75 s", 50, 12 * 512, 512, 0.75, per_cpu=40_000),
    Case("n = 1, 0.75 s", 1, 20 * 512, 512, 0.75, per_cpu=3_000, share=0.85),
    Case("600,000, n = 50, 1.5 s", 50, ALL, 512, 1.5, per_cpu=40_000, seconds=60, megabytes=200),
)


def written(folder: Path, case: Case, base_url: str, *, limit: int) -> Path:
    """The experiment of a case, with its questions beside it, and one more of them."""
    questions = folder / "questions.jsonl"
    if not questions.exists():
        with questions.open("w") as file:
            for i in range(limit + 1):
                story = (
                    f"In box {i} are {i * 7 % 93} red and {i * 3 % 71} blue pencils, and some of them are given away. "
                )
                row = {"question": story * 2 + "What is the last digit of what is left?", "answer": f"#### {i % 10}"}
                file.write(json.dumps(row) + "\n")
    benchmark = {"file": str(questions), "question": "question", "target": "answer", "target_after": "####"}
    model = {"model": "fast", "label": "m", "base_url": base_url}
    experiment: dict[str, object] = {
        "benchmark": {**benchmark, "answer": "numeric"},
        "limit": limit,
        "generations": case.n,
        "concurrency": case.in_flight,
        "models": [model],
    }
    path = folder / "experiment.yaml"
    path.write_text(json.dumps(experiment))
    return path


def peak() -> float:
    """Most memory that this process has held, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # not what the parent held before the exec, which getrusage remembers
        figures = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(figures.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cpu() -> float:
    """CPU seconds of this process and its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def bare(case: Case, base_url: str, _: Path) -> dict[str, float]:
    """Post and read, and nothing else."""
    import aiohttp

    messages = [{"role": "user", "content": "x" * 200}]
    body = json.dumps({"model": "fast", "messages": messages, **({"n": case.n} if case.n > 1 else {})}).encode()
    left = iter(range(case.requests))
    headers = {"Content-Type": "application/json"}

    async def go() -> None:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=4)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout()) as session:

            async def post() -> None:
                for _ in left:
                    async with session.post(f"{base_url}/chat/completions", data=body, headers=headers) as response:
                        assert response.status == 200
                        await response.read()

            await asyncio.gather(*(post() for _ in range(case.in_flight)))

    used, started = cpu(), time.perf_counter()
    asyncio.run(go())
    return {"seconds": time.perf_counter() - started, "cpu": cpu() - used, "peak": peak()}


def sampled(case: Case, base_url: str, folder: Path) -> dict[str, float]:
    """`howsure run`, to the last row in Parquet."""
    import aiohttp  # noqa: F401  before the clock starts
    import pyarrow.parquet  # noqa: F401

    from howsure.sample.experiment import load_experiment
    from howsure.sample.run import run
    from howsure.store.responses import read

    experiment = load_experiment(written(folder, case, base_url, limit=case.requests))
    used, started = cpu(), time.perf_counter()
    outcome = asyncio.run(run(experiment, folder / "run", on_progress=lambda _: None))
    figures = {"seconds": time.perf_counter() - started, "cpu": cpu() - used, "peak": peak()}
    assert outcome.is_complete, outcome
    assert outcome.failed == 0
    assert read(folder / "run", ["score"]).num_rows == case.n * case.requests
    return figures


class Instant:
    """Answers at once and without a network; tells when it was first asked, and may leave one generation out."""

    def __init__(self, *, leave: str | None = None) -> None:
        self.leave, self.first = leave, 0.0
        self.left = asyncio.Event()

    async def generate(self, request: Any) -> Any:
        """All that is asked for, save the last generation of the question that is left."""
        from howsure.models.model import Choice, Reply

        self.first = self.first or time.perf_counter()
        count = len(request.generations)
        if request.question == self.leave:
            if count == 1:
                self.left.set()
                await asyncio.Event().wait()
            count -= 1
        await asyncio.sleep(0)
        texts = (f"We count ({request.question}, {g}).\n#### {g % 10}" for g in request.generations[:count])
        return Reply(tuple(Choice(text, "stop") for text in texts), model="fast", prompt_tokens=60)

    async def close(self) -> None:
        """Nothing is open."""


def fill_folder(case: Case, base_url: str, folder: Path) -> dict[str, float]:
    """A run that was cancelled when one cell was missing."""
    from howsure.benchmarks import load
    from howsure.sample.experiment import load_experiment
    from howsure.sample.resume import sample_questions as shuffled
    from howsure.sample.run import run

    experiment = load_experiment(written(folder, case, base_url, limit=case.requests))
    questions = load(experiment.benchmark).questions
    last = shuffled(questions, seed=experiment.seed, limit=case.requests)[-1].id

    async def go() -> None:
        model = Instant(leave=last)
        running = asyncio.create_task(run(experiment, folder / "run", open_model=lambda *_: model))
        await asyncio.wait([running, asyncio.create_task(model.left.wait())], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(1)  # for what is written twice a second
        running.cancel()
        await asyncio.wait([running])

    def missing() -> int:
        from howsure.store.responses import stream

        return case.requests * case.n - sum(len(batch) for batch in stream(folder / "run", ["generation"]))

    asyncio.run(go())
    assert missing() == 1
    return {}


def resumed(case: Case, base_url: str, folder: Path) -> dict[str, float]:
    """Seconds from the call to the first request; then the rest, and compaction."""
    import aiohttp  # noqa: F401  before the clock starts
    import pyarrow.parquet  # noqa: F401

    from howsure.sample.experiment import load_experiment
    from howsure.sample.run import run

    experiment = load_experiment(written(folder, case, base_url, limit=case.requests))

    async def go() -> float:
        model = Instant()
        started = time.perf_counter()
        outcome = await run(experiment, folder / "run", on_progress=lambda _: None, open_model=lambda *_: model)
        assert outcome.is_complete
        return model.first - started

    used = cpu()
    return {"seconds": asyncio.run(go()), "cpu": cpu() - used, "peak": peak()}


KINDS = {kind.__name__: kind for kind in (bare, sampled, fill_folder, resumed)}


def alone(kind: str, case: Case, base_url: str, folder: Path) -> dict[str, float]:
    """Run it in a process of its own."""
    order = json.dumps({"kind": kind, "case": asdict(case), "base_url": base_url, "folder": str(folder)})
    figures = subprocess.run([sys.executable, __file__, "--alone", order], stdout=subprocess.PIPE, check=True).stdout
    result: dict[str, float] = json.loads(figures)
    return result


def row(case: Case, size: int) -> None:
    """Measure both and print what they took, beside the targets."""
    with endpoint(latency=case.latency, size=size) as base_url, tempfile.TemporaryDirectory() as folder:
        loop = alone("bare", case, base_url, Path(folder))
        ours = alone("sampled", case, base_url, Path(folder))
    generations = case.n * case.requests
    rates = [generations / figures["cpu"] for figures in (loop, ours)]
    walls = [generations / figures["seconds"] for figures in (loop, ours)]
    print(f"{case.name}, {case.in_flight} in flight: {generations:,} generations")
    print(f"  {'':28}{'bare loop':>12}{'howsure':>12}{'ratio':>8}   target")
    against("generations per CPU-second", rates, case.per_cpu)
    against("generations per second", walls, 0)
    if case.latency:
        ideal = case.in_flight * case.n / case.latency
        against("share of concurrency/latency", [wall / ideal for wall in walls], case.share, form=".3f")
    against("seconds", [loop["seconds"], ours["seconds"]], case.seconds, form=".1f", at_most=True)
    against("peak MB", [loop["peak"], ours["peak"]], case.megabytes, at_most=True)


def against(name: str, both: list[float], target: float, *, form: str = ",.0f", at_most: bool = False) -> None:
    """A line with the bare loop, howsure, their ratio and the target."""
    line = f"  {name:28}{format(both[0], form):>12}{format(both[1], form):>12}{both[1] / both[0]:8.2f}"
    print(line + verdict(both[1], target, form=form, at_most=at_most), flush=True)


def verdict(value: float, target: float, *, form: str, at_most: bool) -> str:
    """The target and whether it was missed; empty when there is none."""
    if not target:
        return ""
    missed = value > target if at_most else value < target
    return f"   {'at most' if at_most else 'at least'} {format(target, form)}{' (missed)' if missed else ''}"


def resume(case: Case) -> None:
    """The folder of a run of which one cell is missing, and of a complete one that gets one more question."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        alone("fill_folder", case, "http://127.0.0.1:1/v1", place)
        print(f"resume of {case.n * case.requests:,} cells, seconds until the first request")
        live = alone("resumed", case, "http://127.0.0.1:1/v1", place)
        more = Case(case.name, case.n, case.requests + 1, case.in_flight)
        compacted = alone("resumed", more, "http://127.0.0.1:1/v1", place)
    for name, figures in (("one cell missing, cancelled", live), ("one question more, compacted", compacted)):
        text = verdict(figures["seconds"], 4.0, form=".0f", at_most=True)
        print(f"  {name:28}{figures['seconds']:24.2f}{'':8}{text}   (peak {figures['peak']:.0f} MB)", flush=True)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100, help="characters of a completion")
    parser.add_argument("--quick", action="store_true", help="a tenth of the requests")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        order = json.loads(given.alone)
        figures = KINDS[order["kind"]](Case(**order["case"]), order["base_url"], Path(order["folder"]))
        print(json.dumps(figures))
        return 0
    print(f"completions of {given.size} characters; client and server on one machine")
    share = 10 if given.quick else 1
    for case in CASES:
        row(Case(**{**asdict(case), "requests": case.requests // share}), given.size)
    resume(Case("resume", 50, ALL // share, 512))
    return 0


if __name__ == "__main__":
    sys.exit(main())
