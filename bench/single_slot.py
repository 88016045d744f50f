"""Generations a minute at a server that answers one request at a time, with the defaults and with two in flight.

The server is a process of its own on 127.0.0.1. It writes answers of 5 to 60 tokens one after another, `--seconds` each
on average, ignores `n`, and goes on writing where a client has gone, as small servers do. It waits and computes
nothing, so a busy machine changes little. With the defaults of 64 in flight and 64 s, a run without a search would
queue 64 requests and lose those that wait longer than the timeout.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from howsure.stats.core.results import format_table
from howsure.store.responses import read

#: Keys of the model for each row.
SETTINGS = {"defaults": "", "max_concurrent: 2": ", max_concurrent: 2", "max_concurrent: 1": ", max_concurrent: 1"}
EXPERIMENT = """
benchmark: {{file: questions.jsonl, id: id, question: question, target: target, scorer: numeric}}
generations: {generations}
models: [{{model: slow, base_url: "http://127.0.0.1:{port}/v1", max_tokens: 40{keys}}}]
"""


def serve(pipe: Connection, seconds: float) -> None:
    """Answer one request at a time until the process is stopped; `pipe` receives the port."""
    from aiohttp import web

    slot, rng = asyncio.Lock(), random.Random(1)

    async def answer(request: web.Request) -> web.Response:
        await request.read()

        async def write() -> int:
            async with slot:
                tokens = rng.randint(5, 60)
                await asyncio.sleep(seconds * tokens / 32.5)
                return tokens

        tokens = await asyncio.shield(asyncio.create_task(write()))
        choice = {"index": 0, "message": {"content": f"#### {rng.randint(1, 9)}"}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 20, "completion_tokens": tokens}
        return web.json_response({"model": "slow", "choices": [choice], "usage": usage})

    async def start() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        pipe.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(start())


def measure(keys: str, *, questions: int, generations: int, seconds: float) -> dict[str, float]:
    """Run against a new server, and return what the table shows."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs, seconds), daemon=True)
    server.start()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            rows = [{"id": f"q{i}", "question": f"How many is {i}?", "target": 5} for i in range(questions)]
            (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
            text = EXPERIMENT.format(generations=generations, port=ours.recv(), keys=keys)
            (folder / "e.yaml").write_text(text)
            command = [sys.executable, "-m", "howsure", "run", str(folder / "e.yaml"), "-o", str(folder / "run")]
            started = time.perf_counter()
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            took = time.perf_counter() - started
            attempts = read(folder / "run", ["attempts"]).column("attempts").to_pylist()
        per_minute = 60 * len(attempts) / took
        timeouts = run.stderr.count("timed out")
        return {"per minute": per_minute, "attempts per row": sum(attempts) / len(attempts), "timeout lines": timeouts}
    finally:
        server.terminate()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="of an answer on average")
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--generations", type=int, default=4)
    options = parser.parse_args()
    sizes = {"questions": options.questions, "generations": options.generations, "seconds": options.seconds}
    figures = {name: measure(keys, **sizes) for name, keys in SETTINGS.items()}
    columns = ["per minute", "attempts per row", "timeout lines"]
    print(f"{options.questions * options.generations} generations, {options.seconds:g} s each on average")
    table: dict[str, list[object]] = {
        "setting": list(figures),
        **{c: [row[c] for row in figures.values()] for c in columns},
    }
    print(format_table(table))


if __name__ == "__main__":
    main()
