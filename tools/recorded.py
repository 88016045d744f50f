"""Compare what the code gives today with the state that is recorded in tests/recorded, and print what differs.

    python tools/recorded.py                     print what differs from the record; exit with 1 if anything does
    python tools/recorded.py results --only csv  only one part, and only what has "csv" in its name
    python tools/recorded.py --record            record anew; tests/recorded/changes.md says why

The record holds digests and a few plain facts, in one table for each part:

results
    Cells and cubes of the tables and logs in the tests, the examples and the data folder, each file by itself and each
    folder of them.
completions
    What is read from stored completions, with two bytes for each, so that a later run counts how many changed.
reports
    The numbers and texts of each section of ten reports.

Rows of the data folder beside the clone are neither compared nor recorded where it is absent.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import csv
import gzip
import hashlib
import io
import json
import os
import re
import signal
import string
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import howsure as hs
from howsure.errors import HowsureError

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests/recorded"
#: How the record names the data folder.
SHARED = "../shared/data"
#: Seconds that one input may take when it is recorded.
LIMIT = 60
Row = dict[str, str]

# ---- results: cells and cubes of tables and logs

RESULT_FOLDERS = (
    *("tests", "examples", f"{SHARED}/livebench", f"{SHARED}/gsm8k", f"{SHARED}/prompt_formats"),
    *(f"{SHARED}/prompt_paraphrases", f"{SHARED}/all_the_noises", f"{SHARED}/logs", f"{SHARED}/logs_cases"),
    *(f"{SHARED}/result_files", f"{SHARED}/bug_reports"),
)
#: Endings of files that are neither tables nor logs.
NO_RESULTS = {".py", ".js", ".md", ".sh", ".sbatch", ".yml", ".yaml", ".txt", ".pyc"}
#: Inputs with the options that a user gives with them.
WITH_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    (f"{SHARED}/livebench/livebench_13012025.parquet", {"columns": {"benchmark": "task"}}),
    (f"{SHARED}/livebench/livebench_13012025.parquet", {"columns": {"benchmark": "category"}}),
    (f"{SHARED}/logs_cases/tables/metr_all_runs_head.jsonl", {"columns": {"score": "score_binarized"}}),
    *((f"{SHARED}/prompt_paraphrases/BBH/{name}.csv", {"wide": True}) for name in ("snarks", "navigate")),
    (f"{SHARED}/prompt_paraphrases/LMentry", {"wide": True}),
    (f"{SHARED}/all_the_noises/main/input_table_gsm8k.csv", {"benchmark": "g"}),
    ("tests/readers/logs/examples/lm_eval", {"benchmarks": ["tiny_gen"]}),
    ("examples/logs", {"generations": 1}),
    ("examples/logs", {"benchmark": "all"}),
)


class TooSlowError(BaseException):
    """An input takes longer than the limit; no `Exception`, so that no reader takes it for a fault of a file."""


def read_parts(path: Path, options: Mapping[str, Any]) -> list[Any]:
    """Return the cells and the cubes at a path. All that this command knows of reading stands here."""
    results = hs.read(path, **options)
    return [*results.cells(), *results.cubes()]


def digest(text: str, length: int = 8) -> str:
    """Return the first letters of a text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def shorten(text: str, length: int) -> str:
    """Return the first printable characters of a text, in one line."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))[:length]


def list_cells(part: Any) -> Iterator[tuple[str, str, str, str]]:
    """Yield model, question and variant, sums, and further numbers of each cell that has a generation."""
    missing = getattr(part, "failed", None)
    missing = np.zeros(part.n.shape, int) if missing is None else missing
    for at in zip(*(axis.tolist() for axis in np.nonzero((part.n > 0) | (missing > 0))), strict=True):
        variant = part.variants[at[2]] if len(at) > 2 else ""
        cluster = part.clusters[at[1]] if part.clusters else ""
        sums, further = (
            " ".join(
                "" if array is None else f"{round(float(array[at]), 9) + 0.0:.9f}"
                for array in (getattr(part, name) for name in names)
            )
            for names in (("n", "total", "total_sq"), ("minimum", "maximum"))
        )
        yield part.models[at[0]], f"{part.questions[at[1]]}\t{variant}", sums, f"{further} {missing[at]} {cluster}"


def state_facts(parts: list[Any]) -> str:
    """Return what lets a person see what changed: numbers of everything, and the first models' scores."""
    cells = [part for part in parts if part.n.ndim == 2]
    variants = max((part.n.shape[2] for part in parts if part.n.ndim == 3), default=0)
    scores = sorted(
        (one.benchmark, model, float(np.mean(one.mean[m][one.answered[m]])) if one.answered[m].any() else float("nan"))
        for one in cells
        for m, model in enumerate(one.models)
    )
    missing = sum(int(one.failed.sum()) for one in cells if one.failed is not None)
    means = "; ".join(f"{shorten(model, 40)} {mean + 0.0:.6f}" for _, model, mean in scores[:4])
    return (
        f"{len(cells)} benchmarks, {len({model for _, model, _ in scores})} models, "
        f"{sum(len(one.questions) for one in cells)} questions, {variants} variants, "
        f"{sum(int(one.n.sum()) for one in cells)} generations, {missing} missing: {means}"
    )


def measure_result(path: Path, options: Mapping[str, Any]) -> Row:
    """Return the digests of what is read at a path, or the beginning of the refusal."""
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(LIMIT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = read_parts(path, options)
    except TooSlowError:
        return {"status": "slow", "facts": f"more than {LIMIT} s"}
    except HowsureError as error:
        text = str(error).replace(str(path), "PATH").replace(str(path.parent), "FOLDER")
        return {"status": "refused", "facts": shorten(text, 100)}
    except Exception as error:  # noqa: BLE001  # a crash is a state, too
        return {"status": "crashed", "facts": shorten(f"{type(error).__name__}: {error}", 100)}
    finally:
        signal.alarm(0)
    named, bare, sums, further = [], [], [], []
    for part in parts:
        each = list(list_cells(part))
        by_model: dict[str, list[str]] = {}
        for model, question, total, others in each:
            name = f"{part.n.ndim}\t{part.benchmark}\t{model}\t{question}\t"
            named.append(name + total)
            further.append(name + others)
            sums.append(f"{part.n.ndim}\t{total}")
            by_model.setdefault(model, []).append(f"{question}\t{total}")
        bare += [digest(f"{part.n.ndim}\n" + "\n".join(sorted(lines)), 16) for lines in by_model.values()]
    digests = {"named": named, "bare": bare, "sums": sums, "further": further}
    return {
        "status": "read",
        **{name: digest("\n".join(sorted(lines))) for name, lines in digests.items()},
        "facts": state_facts(parts),
    }


def _stop(number: int, frame: object) -> None:
    """Stop an input that takes too long."""
    raise TooSlowError


def list_results(data: Path) -> Iterator[tuple[str, Path]]:
    """Yield the inputs by their names: files, and folders without code below them."""
    for name in RESULT_FOLDERS:
        base = locate(name, data)
        for path in sorted(base.rglob("*")) if base.exists() else ():
            if RECORD in (path, *path.parents) or "__pycache__" in path.parts or path.suffix in NO_RESULTS:
                continue
            if path.is_file() or (files := list_files(path)) and not any(file.suffix == ".py" for file in files):
                yield f"{name}/{path.relative_to(base).as_posix()}", path
        if name != "tests" and name != "examples" and base.exists():
            yield name, base


def list_files(folder: Path) -> list[Path]:
    """Return the files below a folder."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def hash_content(path: Path) -> str:
    """Return the digest of a file, or of the names and contents of the files of a folder."""
    total = hashlib.sha256()
    for file in list_files(path) if path.is_dir() else [path]:
        total.update(f"{file.relative_to(path).as_posix()}\n".encode() + file.read_bytes())
    return total.hexdigest()[:8]


def measure_results(data: Path, is_wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Yield the rows of the part `results`."""
    inputs = [(name, path, {}) for name, path in list_results(data)]
    inputs += [(name, locate(name, data), options) for name, options in WITH_OPTIONS]
    for name, path, options in inputs:
        key = f"{name} {json.dumps(options)}" if options else name
        if path.exists() and is_wanted(key):
            yield {"input": key, "content": hash_content(path), **measure_result(path, options)}


def compare_results(old: Row, new: Row) -> str | None:
    """Return how a result differs, or None."""
    if old["status"] != new["status"]:
        return f"{old['status']} -> {new['status']}: {old['facts']} -> {new['facts']}"
    if old["status"] != "read":
        return None if old["facts"] == new["facts"] else f"other words: {old['facts']} -> {new['facts']}"
    facts = f": {old['facts']} -> {new['facts']}" if old["facts"] != new["facts"] else ", the facts are the same"
    kinds = {"sums": "numbers", "bare": "names of questions or variants", "named": "names of benchmarks or models"}
    for name, kind in (kinds | {"further": "extremes, missing or clusters", "facts": "facts"}).items():
        if old[name] != new[name]:
            return kind + facts
    return None


# ---- completions: what is read from stored completions

#: Kinds of the data folder without a type of their own.
_NUMBERS = {"gsm8k_cot", "math", "mgsm", "svamp_cot"}
_STOPS = {"bbh_choice": ("\nQ:",), "bbh_words": ("\nQ:",), "mmlu_pro": ("\nQuestion:",)}
_SCORERS = {
    **{"number": "numeric", "yesno": "yes-no", "open": "normalised", "maths": "maths", "list": "list"},
    **{"words": "list:ordered", "direction": "direction"},
}


def read_completion(row: Mapping[str, Any], scorers: dict[str, Any]) -> tuple[str | None, float | None]:
    """Return the answer that is read from a completion, and its score; None where it cannot be scored."""
    from howsure.extraction.completion_context import CompletionContext
    from howsure.extraction.multiple_choice import read_choice
    from howsure.scorers.registry import build_scorer
    from howsure.scorers.scorer_parts import ScoringItem

    kind, text = row.get("kind", ""), row.get("completion", row.get("text")) or ""
    question = str(row.get("question") or row.get("prompt") or "")
    if "type" not in row and kind.startswith("bbh"):
        question = question[question.rfind("\nQ:") + 3 :].strip()
    choices = row.get("choices") or row.get("options") or re.findall(r"(?m)^\([A-Z]\) (.*)$", question)
    gold = next((row[name] for name in ("gold", "answer", "target", "truth") if row.get(name) is not None), "")
    gold = gold if isinstance(gold, str) else json.dumps(gold)
    stops = row.get("stops") or ("type" not in row and _STOPS.get(kind)) or ()
    context = CompletionContext(
        question, tuple(choices), row.get("truncated", False), tuple(stops), row.get("language", "")
    )
    sort = row.get("type") or ("class" if kind == "bbh_words" else "number" if kind in _NUMBERS else "choice")
    words = {choice.lower() for choice in choices}
    if sort == "class" and words in ({"yes", "no"}, {"north", "south", "east", "west"}):
        sort = "yesno" if "yes" in words else "direction"
    if sort in {"choice", "class"}:
        labels = row.get("labels") or string.ascii_uppercase[: len(choices)]
        place, _ = read_choice(text, labels, choices, expects_label=sort == "choice", context=context)
        answer = None if place is None else labels[place] if sort == "choice" else choices[place]
        return answer, float((answer or "").casefold() == gold.strip("() ").casefold())
    if sort not in scorers:
        scorers[sort] = build_scorer(_SCORERS[sort], "recorded")
    try:
        scored = scorers[sort].score(text, ScoringItem("b", "q", "v", gold, context))
    except ValueError as error:
        return shorten(str(error), 60), None
    return scored.answer, scored.score


def load_completions(data: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the stored completions by file, those of the data folder by file and kind."""
    for file in sorted((ROOT / "tests/extraction").glob("*.jsonl")):
        yield f"tests/extraction/{file.name}", _load_lines(file.read_bytes())
    for file in sorted([*data.glob("completions/*.jsonl"), *data.glob("completions_unseen/*.gz")]):
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        by_kind: dict[str, list[dict[str, Any]]] = {}
        for row in _load_lines(content):
            by_kind.setdefault(row["kind"], []).append(row)
        for kind, rows in by_kind.items():
            yield f"{SHARED}/{file.parent.name}/{file.name} {kind}", rows


def _load_lines(content: bytes) -> list[dict[str, Any]]:
    """Return the objects of JSON lines."""
    return [json.loads(line) for line in content.decode("utf-8").split("\n") if line]


def measure_completions(data: Path, is_wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Yield the rows of the part `completions`."""
    scorers: dict[str, Any] = {}
    for name, rows in load_completions(data):
        if not is_wanted(name):
            continue
        readings = [read_completion(row, scorers) for row in rows]
        scores = [score for _, score in readings if score is not None]
        unread = sum(answer in {None, "", "[]"} for answer, _ in readings)
        each = b"".join(hashlib.sha256(repr(reading).encode("utf-8", "replace")).digest()[:2] for reading in readings)
        yield {
            "input": name,
            "n": str(len(rows)),
            "mean": f"{np.mean(scores):.6f}" if scores else "",
            "unscored": str(len(rows) - len(scores)),
            "unread": f"{unread / len(rows):.4f}",
            "digest": digest("\n".join(map(repr, readings))),
            "each": base64.b64encode(each).decode(),
        }
    for scorer in scorers.values():
        scorer.close()


def compare_completions(old: Row, new: Row) -> str | None:
    """Return how the readings of a file differ, or None."""
    if old["digest"] == new["digest"]:
        return None
    before, now = (np.frombuffer(base64.b64decode(row["each"]), "u2") for row in (old, new))
    changed = f"{np.sum(before != now)} of {len(now)} readings" if len(before) == len(now) else "other completions"
    facts = (f"{name} {old[name]} -> {new[name]}" for name in ("n", "mean", "unscored", "unread"))
    return f"{changed}: {', '.join(facts)}"


# ---- reports: the numbers and texts of the sections of ten reports

_LOGS = "tests/readers/logs/examples"
REPORTED = ("examples/logs", *(f"{_LOGS}/{name}" for name in ("lm_eval", "inspect/finished.eval", "helm/gen", "harbor")))
SIMULATED = ("directions", "prompts")
#: Times of runs, which differ each time.
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|\+00:00)?)?")


def make_frame(name: str) -> pa.Table:
    """Return simulated scores: models with repeated generations and clusters, prompt variants, or two benchmarks."""
    rng = np.random.default_rng(20261128)
    n_variants, n_benchmarks = (6, 1) if name == "variants" else (1, 2 if name == "benchmarks" else 1)
    rows = []
    for b in range(n_benchmarks):
        difficulty = rng.normal(0, 1.5, 40)
        for m in range(4):
            for v in range(n_variants):
                shift = rng.normal(0, 0.3) if n_variants > 1 else 0
                for q, hard in enumerate(difficulty):
                    scores = rng.random(3) < 1 / (1 + np.exp(hard - m / 2 - shift))
                    row = {"benchmark": f"b{b}", "model": f"m{m}", "question": f"q{q}"}
                    row |= {"cluster": f"c{q // 4}"} if name == "repeats" else {}
                    row |= {"variant": f"v{v}"} if n_variants > 1 else {}
                    rows += [row | {"generation": k + 1, "score": float(score)} for k, score in enumerate(scores)]
    return pa.Table.from_pylist(rows)


class SectionParser(HTMLParser):
    """The JSON of each script and the text of each element with an id, without the texts of such elements in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self._open: list[tuple[str, str | None]] = [("", "page")]
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element; a script without an id, and a style, is not kept."""
        given = dict(attrs)
        name = None if tag == "style" or given.get("http-equiv") else given.get("id") or self._open[-1][1]
        if tag == "script":
            name = given.get("id")
        self._open.append((tag, name))

    def handle_endtag(self, tag: str) -> None:
        """Close an element, and those in it that have no end."""
        place = max((i for i, (name, _) in enumerate(self._open) if name == tag), default=len(self._open))
        del self._open[place:]

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        if (name := self._open[-1][1]) and data.strip():
            self.texts.setdefault(name, []).append(data)


def digest_page(html: str) -> dict[str, str]:
    """Return the digest of each section, figure and table of a page; numbers are rounded, times left out."""
    sections = {}
    for name, texts in SectionParser(html).texts.items():
        text = _TIME.sub("TIME", " ".join("".join(texts).split()))
        with contextlib.suppress(ValueError):
            text = json.dumps(json.loads(text, parse_float=lambda number: f"{float(number):.7g}"), sort_keys=True)
        sections[name] = digest(text, 6)
    return sections


def measure_reports(data: Path, is_wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Yield the rows of the part `reports`: one for each page."""
    del data  # reports are of what is in the repository
    frames = ("repeats", "variants", "benchmarks")
    for name in (*REPORTED, *(f"simulated {one}" for one in SIMULATED), *(f"frame {one}" for one in frames)):
        if not is_wanted(name):
            continue
        kind, _, rest = name.partition(" ")
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind == "simulated":
                with contextlib.redirect_stderr(io.StringIO()):
                    given: Any = hs.run(ROOT / f"examples/{rest}.yaml", Path(folder, rest), simulate=True)
            else:
                given = make_frame(rest) if kind == "frame" else ROOT / name
            hs.report(given, Path(folder, "report"), static_figures=False)
            for page in sorted(Path(folder, "report").rglob("*.html")):
                sections = digest_page(page.read_text("utf-8"))
                texts = " ".join(f"{section}={value}" for section, value in sections.items())
                yield {"input": f"{name} {page.name}", "sections": texts}


def compare_reports(old: Row, new: Row) -> str | None:
    """Return the sections of a page that differ, or None."""
    before, now = (dict(part.split("=") for part in row["sections"].split(" ")) for row in (old, new))
    words = {"other": before.keys() & now.keys(), "gone": before.keys() - now.keys(), "new": now.keys() - before.keys()}
    words["other"] = {name for name in words["other"] if before[name] != now[name]}
    return "; ".join(f"{word}: {', '.join(sorted(names))}" for word, names in words.items() if names) or None


# ---- the command

PARTS = {
    "results": (measure_results, compare_results),
    "completions": (measure_completions, compare_completions),
    "reports": (measure_reports, compare_reports),
}
COLUMNS = {
    "results": ("input", "content", "status", "named", "bare", "sums", "further", "facts"),
    "completions": ("input", "n", "mean", "unscored", "unread", "digest", "each"),
    "reports": ("input", "sections"),
}


def locate(name: str, data: Path) -> Path:
    """Return the path of a name of the record."""
    return data / name.removeprefix(SHARED).lstrip("/") if name.startswith(SHARED) else ROOT / name


def load_record(part: str) -> dict[str, Row]:
    """Return the recorded rows of a part by input."""
    file = RECORD / f"{part}.tsv"
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["input"]: row for row in rows}


def write_record(part: str, rows: Iterable[Row]) -> None:
    """Write the rows of a part."""
    with (RECORD / f"{part}.tsv").open("w", encoding="utf-8", newline="") as file:
        file.write("\t".join(COLUMNS[part]) + "\n")
        for row in sorted(rows, key=lambda row: row["input"]):
            file.write("\t".join(row.get(name, "") for name in COLUMNS[part]) + "\n")


def pair_rows(old: Mapping[str, Row], new: Mapping[str, Row]) -> Iterator[tuple[str, Row, Row | None]]:
    """Yield the recorded rows and what they are now; a file that was moved is found by its content."""
    moved = {row["content"]: row for name, row in new.items() if name not in old and "content" in row}
    for name, row in old.items():
        found = new.get(name) or moved.get(row.get("content", ""))
        yield name if found is None or found["input"] == name else f"{name} (now {found['input']})", row, found


def run_part(part: str, data: Path, only: str, *, is_recording: bool) -> Counter[str]:
    """Print what differs in a part, or record it; return the numbers of inputs that are the same and that differ."""
    measure, compare = PARTS[part]
    recorded = load_record(part)
    is_here = data.exists()
    scope = {name: row for name, row in recorded.items() if only in name and (is_here or SHARED not in name)}
    slow = {name for name, row in scope.items() if row.get("status") == "slow"} if not is_recording else set()
    new = {}
    for row in measure(data, lambda name: only in name and name not in slow):
        new[row["input"]] = row
    if is_recording:
        write_record(part, [*(row for name, row in recorded.items() if name not in scope), *new.values()])
    counts: Counter[str] = Counter()
    for name, before, now in pair_rows({name: row for name, row in scope.items() if name not in slow}, new):
        difference = "gone" if now is None else compare({**dict.fromkeys(COLUMNS[part], ""), **before}, now)
        if now is not None and before.get("content") != now.get("content") and difference:
            difference = f"other content, {difference}"
        counts["same" if difference is None else "differ"] += 1
        if difference:
            print(f"{part}: {name}: {difference}")
    counts["new"] = len(new.keys() - recorded.keys())
    skipped = f", {len(slow)} too slow" * bool(slow) + f", {SHARED} is not here" * (not is_here)
    print(f"{part}: {counts['same']} as recorded, {counts['differ']} differ, {counts['new']} not in the record{skipped}")
    return counts


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="results, completions, reports; default: all")
    parser.add_argument("--record", action="store_true", help="record anew")
    parser.add_argument("--only", default="", help="only inputs with this text in their names")
    parser.add_argument("--data", type=Path, default=ROOT / SHARED, help="the data folder")
    given = parser.parse_args(arguments)
    data = Path(os.path.realpath(given.data))
    parts = given.parts or list(PARTS)
    counts = [run_part(part, data, given.only, is_recording=given.record) for part in parts]
    return 0 if given.record else int(any(one["differ"] for one in counts))


if __name__ == "__main__":
    sys.exit(main())
