"""Run the shards of an experiment as tasks of Dask, and print the score of all of them.

    python dask_shards.py exp.yaml /shared/exp --shards 4 --scheduler tcp://host:8786

Without `--scheduler` a cluster of two processes is started on this machine. A task that fails, or whose worker dies, is
run again by Dask and continues in its folder. Needs `pip install "dask[distributed]"` on each machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path


def run_shard(experiment: str, out: str, i: int, n: int) -> str:
    """Run shard i of n in a process of its own, and return its folder."""
    folder = f"{out}/shard-{i}-of-{n}"
    command = [sys.executable, "-m", "howsure", "run", experiment, "--shard", f"{i}/{n}", "-o", folder]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(f"shard {i}/{n} ended with exit code {done.returncode}: {lines[-1] if lines else ''}")
    return folder


def main() -> None:
    """Submit the shards, wait for all of them, and print the score."""
    from dask.distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("out", type=Path, help="a folder that all machines see")
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--scheduler", help="address of a Dask scheduler; default: two processes on this machine")
    options = parser.parse_args()

    experiment, out = str(options.experiment.resolve()), str(options.out.resolve())
    cluster = options.scheduler or LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    )
    with Client(cluster) as client:
        shards = range(1, options.shards + 1)
        # pure=False: the same shard submitted again is run again, and continues in its folder.
        tasks = [client.submit(run_shard, experiment, out, i, options.shards, retries=2, pure=False) for i in shards]
        folders = client.gather(tasks)
    subprocess.run([sys.executable, "-m", "howsure", "score", *folders], check=True)


if __name__ == "__main__":
    main()
