"""Run the shards of an experiment as tasks of Dask or Ray, and print the score of all of them.

    python submit_shards.py exp.yaml /shared/exp --shards 4 --scheduler tcp://host:8786
    python submit_shards.py exp.yaml /shared/exp --shards 4 --with ray --scheduler host:6379

Without `--scheduler` a cluster of two processes is started on this machine. A task that fails, or whose worker dies, is
run again up to twice and continues in its folder. Needs `pip install "dask[distributed]"` or `pip install ray` on each
machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

RETRIES = 2


def run_shard(experiment: str, out: str, i: int, n: int) -> str:
    """Run shard i of n in a process of its own, and return its folder."""
    folder = f"{out}/shard-{i}-of-{n}"
    command = [sys.executable, "-m", "howsure", "run", experiment, "--shard", f"{i}/{n}", "-o", folder]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(f"shard {i}/{n} ended with exit code {done.returncode}: {lines[-1] if lines else ''}")
    return folder


def submit_to_dask(experiment: str, out: str, n: int, scheduler: str | None) -> list[str]:
    """Run the shards on workers of Dask, and return their folders."""
    from dask.distributed import Client, LocalCluster

    cluster = scheduler or LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
    with Client(cluster) as client:
        # pure=False: the same shard submitted again is run again, and continues in its folder.
        tasks = [client.submit(run_shard, experiment, out, i, n, retries=RETRIES, pure=False) for i in range(1, n + 1)]
        return list(client.gather(tasks))


def submit_to_ray(experiment: str, out: str, n: int, scheduler: str | None) -> list[str]:
    """Run the shards on workers of Ray, and return their folders."""
    import ray

    if scheduler:
        ray.init(address=scheduler)
    else:
        ray.init(num_cpus=2, include_dashboard=False)
    # Without retry_exceptions Ray runs a task again only where its worker died.
    task = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=True)(run_shard)
    try:
        return list(ray.get([task.remote(experiment, out, i, n) for i in range(1, n + 1)]))
    finally:
        ray.shutdown()


def main() -> None:
    """Submit the shards, wait for all of them, and print the score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("out", type=Path, help="a folder that all machines see")
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--with", dest="program", choices=("dask", "ray"), default="dask")
    parser.add_argument("--scheduler", help="address of a scheduler; default: two processes on this machine")
    options = parser.parse_args()

    submit = submit_to_dask if options.program == "dask" else submit_to_ray
    folders = submit(str(options.experiment.resolve()), str(options.out.resolve()), options.shards, options.scheduler)
    subprocess.run([sys.executable, "-m", "howsure", "score", *folders], check=True)


if __name__ == "__main__":
    main()
