"""Build the wheel and the source archive, and try the wheel as somebody does who has nothing else.

    python tools/release_check.py             exits with 1 where something does not work
    python tools/release_check.py --lowest    with the lowest versions that pyproject.toml allows of what the core needs

The wheel is built from the source archive and installed into an empty environment in a folder whose name has a space.
Commands run there, in a folder without the sources, in lines of 60 characters, without colour, into a pipe. What is
printed: seconds and megabytes of the installation, the licence and the megabytes of each package, and a line per
command. Another version of Python is tried by running this file with it.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MIB = 2**20
#: Prints name, version, megabytes and licence of all that is installed.
LICENCES = """
from importlib.metadata import distributions
for each in sorted(distributions(), key=lambda each: each.name.lower()):
    data = each.metadata
    kinds = [line.split("::")[-1].strip() for line in data.get_all("Classifier", []) if line.startswith("License ::")]
    licence = data.get("License-Expression") or ", ".join(kinds) or (data.get("License") or "not said").split("\\n")[0]
    files = [file.locate() for file in each.files or ()]
    size = sum(file.stat().st_size for file in files if file.is_file()) / 2**20
    print(f"{each.name} {each.version} ({size:.0f} MB): {licence}")
"""
#: A licence that asks more than to be named.
RESTRICTIVE = re.compile(r"\bA?GPL|GNU (Affero )?General Public|not said", flags=re.IGNORECASE)
#: Two models that answer 30 questions.
SCORES = "question,model,score\n" + "".join(
    f"q{i},{model},{(i * step) % 3 % 2}\n" for i in range(30) for model, step in (("a", 1), ("b", 2))
)
#: What is run, and the exit code.
COMMANDS = (
    (("--version",), 0),
    (("--help",), 0),
    (("score", "scores.csv"), 0),
    (("compare", "scores.csv", "--a", "a", "--b", "b"), 0),
    (("rank", "scores.csv", "--format", "json"), 0),
    (("preview", "scores.csv"), 0),
    (("run", "experiment.yaml"), 0),
    (("score", "experiment"), 0),
    (("explain", "se"), 0),
    (("score", "nothing.csv"), 2),
    (("report", "scores.csv"), 2),  # the extra `report` is not installed: one line says how to install it
)
EXPERIMENT = "benchmark: directions-small\nmodels: [simulated/medium]\ngenerations: 3\n"


def run(command: list[str], folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Return the end of a command that runs in a folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(command, cwd=folder, env=kept | settings, capture_output=True, text=True, check=False)


def must(command: list[str], folder: Path, **settings: str) -> str:
    """Return what a command prints, and end where it fails."""
    done = run(command, folder, **settings)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def lowest_versions() -> list[str]:
    """Return the requirements of the core with the lowest version that each allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [re.sub(r">=([^,]+).*", r"==\1", each) for each in project["dependencies"]]


def count_bytes(folder: Path) -> int:
    """Return the bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main(is_lowest: bool) -> int:
    """Build, install, run; return the exit code."""
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="howsure release ") as folder:
        place = Path(folder)
        tools, empty = place / "tools", place / "empty environment"
        venv.create(tools, with_pip=True)
        must([str(tools / "bin/python"), "-m", "pip", "install", "--quiet", "build"], place)
        # The wheel is built from the source archive: what is missing in the archive is missing in the wheel.
        must([str(tools / "bin/python"), "-m", "build", "--outdir", str(place / "dist"), str(ROOT)], place)
        (wheel,) = (place / "dist").glob("*.whl")
        (archive,) = (place / "dist").glob("*.tar.gz")
        print(f"{archive.name} {archive.stat().st_size / MIB:.1f} MB, {wheel.name} {wheel.stat().st_size / MIB:.1f} MB")
        venv.create(empty, with_pip=True)
        before = count_bytes(empty)
        start = time.monotonic()
        pip = [str(empty / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
        must([*pip, *(lowest_versions() if is_lowest else [])], place)
        seconds, size = time.monotonic() - start, count_bytes(empty) - before
        print(f"Python {platform.python_version()}: installed in {seconds:.0f} s, {size / MIB:.0f} MB")
        for line in must([str(empty / "bin/python"), "-c", LICENCES], place).splitlines():
            asks = bool(RESTRICTIVE.search(line.partition(": ")[2]))
            wrong += asks
            print(("READ ITS LICENCE  " if asks else "  ") + line)
        work = place / "my evaluations"
        work.mkdir()
        (work / "scores.csv").write_text(SCORES, "utf-8")
        (work / "experiment.yaml").write_text(EXPERIMENT, "utf-8")
        for arguments, expected in COMMANDS:
            done = run([str(empty / "bin/howsure"), *arguments], work, COLUMNS="60", NO_COLOR="1")
            is_right = done.returncode == expected and "Traceback" not in done.stderr and "\x1b" not in done.stdout
            is_right = is_right and (expected == 0 or len(done.stderr.strip().splitlines()) == 1)
            wrong += not is_right
            print(f"{'right' if is_right else 'WRONG'}  howsure {' '.join(arguments)}")
            if not is_right:
                print(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lowest", action="store_true", help="install the lowest versions that pyproject.toml allows")
    sys.exit(main(parser.parse_args().lowest))
