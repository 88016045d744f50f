"""Runs an experiment in a child process and kills it: one line of JSON in, one out.

In: {"folder", "base_url", "acknowledged", "after"}; the child is killed with SIGKILL after so many seconds (null: never).
Out: seconds that the child lived. What the store acknowledged stands in the file `acknowledged`, a line per row.
Imports happen once; each child is a fork.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import aiohttp  # noqa: F401  imported before the fork, once

from errorbar.sample import run
from errorbar.sample.experiment import parse_experiment
from errorbar.store.responses import RunFolder

EXPERIMENT = """
benchmark: directions-small
generations: 6
concurrency: 16
models: [{{model: m, base_url: "{base_url}"}}]
"""


def child(order):
    acknowledged = os.open(order["acknowledged"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    append = RunFolder.append

    def telling(self, rows):
        append(self, rows)
        os.write(acknowledged, "".join(f"{r.question} {r.generation} {r.request}\n" for r in rows).encode())

    RunFolder.append = telling
    run.BATCH = 25
    experiment = parse_experiment(EXPERIMENT.format(base_url=order["base_url"]))
    asyncio.run(run.run(experiment, Path(order["folder"])))


def main():
    for line in sys.stdin:
        order = json.loads(line)
        started = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            try:
                child(order)
            finally:
                os._exit(0)
        if order["after"] is not None:
            time.sleep(order["after"])
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        print(time.perf_counter() - started, flush=True)


if __name__ == "__main__":
    main()
