"""Compare what the code gives today with the state that is recorded in tests/recorded, and print what differs.

    python tools/recorded.py                     print what differs; exit with 1 if anything does
    python tools/recorded.py results --only csv  one part, and only the inputs with "csv" in their names
    python tools/recorded.py --record            record anew; tests/recorded/changes.md says why

The record holds digests and a few plain facts: of the cells and cubes of tables and logs (`results`), each file by
itself and each folder of them; of what is read from stored completions (`completions`), with two bytes for each, so
that a later run counts how many changed; and of each section, figure and table of ten reports (`reports`). Rows of the
data folder beside the clone are neither compared nor recorded where it is absent.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import gzip
import hashlib
import io
import json
import math
import re
import signal
import string
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
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
#: Seconds that an input may take.
LIMIT = 60
#: Part of the record -> its columns.
COLUMNS = {
    "results": ["input", "content", "status", "named", "bare", "sums", "further", "facts"],
    "completions": ["input", "n", "mean", "unscored", "unread", "digest", "each"],
    "reports": ["input", "sections"],
}
#: Folders of the data folder with tables and logs.
_TABLES = "livebench gsm8k prompt_formats prompt_paraphrases all_the_noises logs logs_cases result_files bug_reports"
RESULT_FOLDERS = ("tests", "examples", *(f"{SHARED}/{name}" for name in _TABLES.split()))
NO_RESULTS = {".py", ".pyc", ".js", ".md", ".sh", ".sbatch", ".yml", ".yaml", ".txt"}
#: Inputs with the options that a user gives with them.
WITH_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    *((f"{SHARED}/livebench/livebench_13012025.parquet", {"columns": {"benchmark": b}}) for b in ("task", "category")),
    (f"{SHARED}/logs_cases/tables/metr_all_runs_head.jsonl", {"columns": {"score": "score_binarized"}}),
    *((f"{SHARED}/prompt_paraphrases/{name}", {"shape": "variants"}) for name in ("BBH", "LMentry")),
    (f"{SHARED}/all_the_noises/main/input_table_gsm8k.csv", {"benchmark": "g"}),
    ("tests/logs/examples/lm_eval", {"benchmarks": ["tiny_gen"]}),
    *(("examples/logs", options) for options in ({"generations": 1}, {"benchmark": "all"})),
)
#: What ten reports are on: logs, simulated runs of the examples, and frames of `make_frame`.
REPORTED = (
    *("examples logs", "log lm_eval", "log inspect/finished.eval", "log helm/gen", "log harbor"),
    *("simulated directions", "simulated prompts", "frame repeats", "frame variants", "frame benchmarks"),
)
#: Times of runs, which differ each time.
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?)?")
#: Elements of a page that are recorded each by itself.
_IDS = re.compile(r"<(?:section|figure|article|table|main|aside|script)\b[^>]*? id=\"([^\"]+)\"[^>]*>")
#: Type of an answer -> its scorer, and what the completions of the data folder without a type need.
_SCORERS = {"number": "numeric", "yesno": "yes-no", "open": "contains"}
_TYPES = {"bbh_words": "class", **dict.fromkeys(("gsm8k_cot", "math", "mgsm", "svamp_cot"), "number")}
_STOPS = {"bbh_choice": ["\nQ:"], "bbh_words": ["\nQ:"], "mmlu_pro": ["\nQuestion:"]}

Row = dict[str, str]
IsWanted = Callable[[str], bool]


def read_parts(path: Path, options: Mapping[str, Any]) -> list[Any]:
    """Return the cells and the cubes at a path: all that this command knows of reading."""
    results = hs.read(path, **options)
    return [*results.cells(), *results.cubes()]


def digest(lines: Iterable[str], length: int = 8) -> str:
    """Return the first letters of the SHA-256 of lines, whatever their order."""
    return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogatepass")).hexdigest()[:length]


def shorten(text: str, length: int) -> str:
    """Return the first printable characters of a text, in one line."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))[:length]


class TooSlowError(BaseException):
    """An input takes longer than the limit; no `Exception`, so that no reader takes it for a fault of a file."""


def list_cells(part: Any, m: int) -> Iterator[tuple[str, str, str]]:
    """Yield question and variant, sums, and further numbers of each cell of a model that has a generation."""
    failed = getattr(part, "failed", None)
    failed = np.zeros(part.n[m].shape, int) if failed is None else failed[m]
    arrays = [getattr(part, name) for name in ("n", "total", "total_sq", "minimum", "maximum")]
    for at in zip(*np.nonzero((part.n[m] > 0) | (failed > 0)), strict=True):
        variant = part.variants[at[1]] if len(at) > 1 else ""
        cluster = part.clusters[at[0]] if part.clusters else ""
        # Rounded twice, so that ties fall to one side in whichever order the scores were added.
        texts = ["" if a is None else f"{round(round(float(a[m][at]), 12), 9) + 0.0:.9f}" for a in arrays]
        yield f"{part.questions[at[0]]}\t{variant}", "\t".join(texts[:3]), f"{texts[3:]} {failed[at]} {cluster}"


def state_facts(parts: list[Any]) -> str:
    """Return what lets a person see what changed: numbers of everything, and the first models' scores."""
    cells = [part for part in parts if part.n.ndim == 2]
    rows = [(one.benchmark, model, one.mean[m][one.n[m] > 0]) for one in cells for m, model in enumerate(one.models)]
    counts = {
        "benchmarks": len(cells),
        "models": len({model for _, model, _ in rows}),
        "questions": sum(len(one.questions) for one in cells),
        "variants": max((part.n.shape[2] for part in parts if part.n.ndim == 3), default=0),
        "generations": sum(int(one.n.sum()) for one in cells),
        "missing": sum(int(one.failed.sum()) for one in cells if one.failed is not None),
    }
    means = (
        f"{shorten(model, 40)} {round(math.fsum(row) / max(1, len(row)), 9):.6f}"
        for _, model, row in sorted(rows, key=lambda row: row[:2])[:4]
    )
    return f"{', '.join(f'{n} {name}' for name, n in counts.items())}: {'; '.join(means)}"


def measure_result(path: Path, options: Mapping[str, Any]) -> Row:
    """Return the digests of what is read at a path, or the beginning of the refusal."""

    def stop(*_: object) -> None:
        raise TooSlowError

    signal.signal(signal.SIGALRM, stop)
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
    found: dict[str, list[str]] = {"named": [], "bare": [], "sums": [], "further": []}
    for part, m in ((one, m) for one in parts for m in range(len(one.models))):
        cells, name = list(list_cells(part, m)), f"{part.n.ndim}\t{part.benchmark}\t{part.models[m]}"
        found["named"] += [f"{name}\t{one}\t{sums}" for one, sums, _ in cells]
        found["bare"].append(f"{part.n.ndim}" + digest([f"{one}\t{sums}" for one, sums, _ in cells], 16))
        found["sums"] += [f"{part.n.ndim}\t{sums}" for _, sums, _ in cells]
        found["further"] += [f"{name}\t{one}\t{further}" for one, _, further in cells]
    return {"status": "read", **{key: digest(lines) for key, lines in found.items()}, "facts": state_facts(parts)}


def list_files(path: Path) -> list[Path]:
    """Return the files below a folder, or the file."""
    return sorted(file for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file())


def list_results(data: Path) -> Iterator[tuple[str, Path]]:
    """Yield tables and logs by their names: files, and folders without code below them."""
    for name in RESULT_FOLDERS:
        base = locate(name, data)
        for path in sorted(base.rglob("*")):
            files = list_files(path)
            is_code = path.suffix in NO_RESULTS or "__pycache__" in path.parts or any(f.suffix == ".py" for f in files)
            if files and not is_code and RECORD not in (path, *path.parents):
                yield f"{name}/{path.relative_to(base).as_posix()}", path
        if name.startswith(SHARED) and base.exists():
            yield name, base


def measure_results(data: Path, is_wanted: IsWanted) -> Iterator[Row]:
    """Yield the rows of the part `results`."""
    inputs: list[tuple[str, Path, dict[str, Any]]] = [(name, path, {}) for name, path in list_results(data)]
    inputs += [(f"{name} {json.dumps(options)}", locate(name, data), options) for name, options in WITH_OPTIONS]
    for name, path, options in inputs:
        if path.exists() and is_wanted(name):
            content = hashlib.sha256(json.dumps(options).encode())
            for file in list_files(path):
                content.update(f"{file.relative_to(path).as_posix()}\n".encode() + file.read_bytes())
            yield {"input": name, "content": content.hexdigest()[:8], **measure_result(path, options)}


def compare_results(old: Row, new: Row) -> str | None:
    """Return how a result differs, or None."""
    facts = f"{old['facts']} -> {new['facts']}" if old["facts"] != new["facts"] else "the facts are the same"
    if old["status"] != new["status"]:
        return f"{old['status']} -> {new['status']}: {facts}"
    if old["status"] != "read":
        return None if old["facts"] == new["facts"] else f"other words: {facts}"
    kinds = {"sums": "numbers", "bare": "names of questions or variants", "named": "names of benchmarks or models"}
    kinds |= {"further": "extremes, missing or clusters", "facts": "facts"}
    return next((f"{kind}: {facts}" for key, kind in kinds.items() if old[key] != new[key]), None)


def read_completion(row: Mapping[str, Any], scorers: dict[str, Any]) -> tuple[str | None, float | None]:
    """Return the answer that is read from a completion, and its score; None where it cannot be scored."""
    from howsure.scorers.completion_text import CompletionContext
    from howsure.scorers.multiple_choice import read_choice
    from howsure.scorers.registry import build_scorer
    from howsure.scorers.scorer_parts import ScoringItem

    kind, text = row.get("kind", ""), row.get("completion", row.get("text")) or ""
    question = str(row.get("question") or row.get("prompt") or "")
    if "type" not in row and kind.startswith("bbh"):
        question = question[question.rfind("\nQ:") + 3 :].strip()
    choices = row.get("choices") or row.get("options") or re.findall(r"(?m)^\([A-Z]\) (.*)$", question)
    gold = next((row[name] for name in ("gold", "answer", "target", "truth") if row.get(name) is not None), "")
    gold = gold if isinstance(gold, str) else json.dumps(gold)
    stops = row.get("stops", () if "type" in row else _STOPS.get(kind, ()))
    truncated, language = row.get("truncated", False), row.get("language", "")
    context = CompletionContext(question, tuple(choices), truncated, tuple(stops), language)
    sort, words = row.get("type") or _TYPES.get(kind, "choice"), {choice.lower() for choice in choices}
    if sort == "class" and words in ({"yes", "no"}, {"north", "south", "east", "west"}):
        sort = "yesno" if "yes" in words else "direction"
    if sort in {"choice", "class"}:
        labels = row.get("labels") or string.ascii_uppercase[: len(choices)]
        place, _ = read_choice(text, labels, choices, expects_label=sort == "choice", context=context)
        answer = None if place is None else labels[place] if sort == "choice" else choices[place]
        return answer, float((answer or "").casefold() == gold.strip("() ").casefold())
    scorers[sort] = scorers.get(sort) or build_scorer(_SCORERS.get(sort, sort), "recorded")
    try:
        scored = scorers[sort].score(text, ScoringItem("b", "q", "v", gold, context))
    except ValueError as error:
        return shorten(str(error), 60), None
    return scored.answer, scored.score


def measure_completions(data: Path, is_wanted: IsWanted) -> Iterator[Row]:
    """Yield the rows of the part `completions`, one for each file and kind."""
    files = [*(ROOT / "tests/scorers").glob("*.jsonl"), *data.glob("completions*/*.jsonl*")]
    scorers: dict[str, Any] = {}
    for file in sorted(files):
        folder, kind = ("tests", "type") if ROOT / "tests" in file.parents else (SHARED, "kind")
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        rows_by_name: dict[str, list[Any]] = {}
        for row in (json.loads(line) for line in content.split(b"\n") if line):
            name = f"{folder}/{file.parent.name}/{file.name} {row.get(kind, 'choice')}"
            rows_by_name.setdefault(name, []).append(row)
        for name, rows in rows_by_name.items():
            if is_wanted(name):
                yield {"input": name, **describe_readings([read_completion(row, scorers) for row in rows])}
    for scorer in scorers.values():
        scorer.close()


def describe_readings(readings: list[tuple[str | None, float | None]]) -> Row:
    """Return the facts and digests of what was read."""
    scores = [score for _, score in readings if score is not None]
    each = [hashlib.sha256(repr(reading).encode("utf-8", "replace")).digest() for reading in readings]
    return {
        "n": str(len(readings)),
        "mean": f"{math.fsum(scores) / len(scores):.6f}" if scores else "",
        "unscored": str(len(readings) - len(scores)),
        "unread": f"{sum(answer in {None, '', '[]'} for answer, _ in readings) / len(readings):.4f}",
        "digest": hashlib.sha256(b"".join(each)).hexdigest()[:8],
        "each": base64.b64encode(b"".join(one[:2] for one in each)).decode(),
    }


def compare_completions(old: Row, new: Row) -> str | None:
    """Return how the readings of a file differ, or None."""
    if old["digest"] == new["digest"]:
        return None
    before, now = (np.frombuffer(base64.b64decode(row["each"]), "u2") for row in (old, new))
    changed = f"{np.sum(before != now)} of {len(now)} readings" if len(before) == len(now) else "other completions"
    return f"{changed}: " + ", ".join(f"{key} {old[key]} -> {new[key]}" for key in COLUMNS["completions"][1:5])


def make_frame(name: str) -> pa.Table:
    """Return simulated scores of four models: three generations in clusters, under six variants, or two benchmarks."""
    rng = np.random.default_rng(20261128)
    n_variants, n_benchmarks = (6 if name == "variants" else 1), (2 if name == "benchmarks" else 1)
    rows = []
    for b, m, v, q, k in product(range(n_benchmarks), range(4), range(n_variants), range(40), range(3)):
        chance = 1 / (1 + np.exp(math.sin(7 * q + b) * 3 - m / 2 - math.sin(5 * v + m) / 2))
        row = {"benchmark": f"b{b}", "model": f"m{m}", "question": f"q{q}", "generation": k + 1}
        row |= {"cluster": f"c{q // 4}"} if name == "repeats" else {}
        rows.append(row | {"variant": f"v{v}", "score": float(rng.random() < chance)})
    return pa.Table.from_pylist(rows)


def digest_page(html: str) -> str:
    """Return the digest of what stands between one id of a page and the next; numbers are rounded, times left out."""
    html = re.sub(r"<(script|style)>.*?</\1>", "", html, flags=re.DOTALL)
    names = ["page", *_IDS.findall(html)]
    texts: dict[str, str] = dict.fromkeys(names, "")
    for name, part in zip(names, _IDS.split(html)[::2], strict=True):
        own, is_script, rest = part.partition("</script>")
        texts[name] += own
        texts["page"] += rest if is_script else ""
    for name, text in texts.items():
        texts[name] = _TIME.sub("TIME", " ".join(re.sub(r"<[^>]*>", " ", text).split()))
        with contextlib.suppress(ValueError):
            texts[name] = str(json.loads(texts[name], parse_float=lambda number: f"{float(number):.7g}"))
    return " ".join(f"{name}={digest([text], 6)}" for name, text in texts.items())


def measure_reports(data: Path, is_wanted: IsWanted) -> Iterator[Row]:
    """Yield the rows of the part `reports`, one for each page; none is of the data folder."""
    del data
    for name in filter(is_wanted, REPORTED):
        kind, _, rest = name.partition(" ")
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given: Any = ROOT / "examples" / rest
            if kind == "log":  # the folder of the tests' logs may move
                given = next(path for path in sorted((ROOT / "tests").rglob(f"examples/{rest}")))
            elif kind == "frame":
                given = hs.read(make_frame(rest), columns={"cluster": "cluster"} if rest == "repeats" else None)
            elif kind == "simulated":
                with contextlib.redirect_stderr(io.StringIO()):
                    given = hs.run(ROOT / f"examples/{rest}.yaml", Path(folder, rest), simulate=True)
            hs.report(given, Path(folder, "report"), static_figures=False)
            for page in sorted(Path(folder, "report").rglob("*.html")):
                yield {"input": f"{name} {page.name}", "sections": digest_page(page.read_text("utf-8"))}


def compare_reports(old: Row, new: Row) -> str | None:
    """Return the sections of a page that differ, or None."""
    before, now = (dict(part.split("=") for part in row["sections"].split(" ")) for row in (old, new))
    kinds = {"gone": before.keys() - now.keys(), "new": now.keys() - before.keys()}
    kinds["other"] = {name for name in before.keys() & now.keys() if before[name] != now[name]}
    return "; ".join(f"{kind}: {', '.join(sorted(names))}" for kind, names in kinds.items() if names) or None


PARTS = {
    "results": (measure_results, compare_results),
    "completions": (measure_completions, compare_completions),
    "reports": (measure_reports, compare_reports),
}


def locate(name: str, data: Path) -> Path:
    """Return the path of a name of the record."""
    return data / name.removeprefix(f"{SHARED}/") if name.startswith(SHARED) else ROOT / name


def run_part(part: str, data: Path, only: str, *, is_recording: bool) -> Counter[str]:
    """Print what differs in a part, or record it; return how many inputs are the same, differ, and are new."""
    (measure, compare), file, columns = PARTS[part], RECORD / f"{part}.tsv", COLUMNS[part]
    lines = file.read_text("utf-8").split("\n")[1:-1] if file.exists() else []
    recorded = {line.partition("\t")[0]: dict(zip(columns, line.split("\t"), strict=True)) for line in lines}
    scope = {name: row for name, row in recorded.items() if only in name and (SHARED not in name or data.exists())}
    slow = {name for name, row in scope.items() if row.get("status") == "slow" and not is_recording}
    new = {row["input"]: row for row in measure(data, lambda name: only in name and name not in slow)}
    if is_recording:
        rows = [*(row for name, row in recorded.items() if name not in scope), *new.values()]
        lines = sorted("\t".join(row.get(name, "") for name in columns) for row in rows)
        file.write_text("\n".join(["\t".join(columns), *lines, ""]), "utf-8")
    counts = Counter(new=len(new.keys() - recorded.keys()))
    moved = {row["content"]: row for name, row in new.items() if name not in recorded and "content" in row}
    kinds: Counter[str] = Counter()
    for name in sorted(scope.keys() - slow):
        before, now = scope[name], new.get(name) or moved.get(scope[name].get("content", ""))
        difference = "gone" if now is None else compare(before, {**dict.fromkeys(before, ""), **now})
        counts["differ" if difference else "same"] += 1
        if difference:
            kinds[difference.partition(":")[0]] += part == "results"
            place = f" (now {now['input']})" if now and now["input"] != name else ""
            content = "other content, " if now and now.get("content") != before.get("content") else ""
            print(f"{part}: {name}{place}: {content}{difference}")
    more = f", {len(slow)} too slow" * bool(slow) + f"; {SHARED} is not here" * (not data.exists())
    more += "".join(f"; {n} {kind}" for kind, n in kinds.most_common() if n)
    print(f"{part}: {counts['same']} as recorded, {counts['differ']} differ, {counts['new']} not recorded{more}")
    return counts


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default: all")
    parser.add_argument("--record", action="store_true", help="record anew")
    parser.add_argument("--only", default="", metavar="TEXT", help="only inputs with this text in their names")
    parser.add_argument("--data", type=Path, default=ROOT / SHARED, metavar="FOLDER", help="the data folder")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - PARTS.keys():
        parser.error(f"unknown part {min(unknown)}; the parts are {', '.join(PARTS)}")
    parts, data = given.parts or list(PARTS), given.data.resolve()
    counts = [run_part(part, data, given.only, is_recording=given.record) for part in parts]
    return 0 if given.record else int(any(one["differ"] for one in counts))


if __name__ == "__main__":
    sys.exit(main())
