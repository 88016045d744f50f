"""Published benchmarks by name: a TOML file each says where the questions are, and how they are asked and scored.

A file has the keys of `benchmark: {file: ...}` under `[benchmark]`, the source under `[source]`, the split of the
demonstrations under `[shots]`, and under `[lm_eval]` the keys that make the prompt that of a task of
lm-evaluation-harness. No code of a data set is run.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import msgspec

from howsure.benchmarks.downloads import DataSource, fetch_files, find_cached_files, read_revision
from howsure.benchmarks.question import Benchmark
from howsure.benchmarks.question_file import build_benchmark, parse_file_spec
from howsure.errors import InputError, UnknownNameError
from howsure.notes import Note, warn
from howsure.rows.formats import PlacedRow, read_rows

__all__ = ["CatalogueEntry", "describe", "is_on_disk", "list_names", "load_entry", "load_published"]

_FOLDER = Path(__file__).parent
#: Keys of an experiment that change how a published benchmark is asked.
OPTIONS = (
    *("path", "shots", "where", "system", "template", "scorer", "shuffle", "skip_invalid", "per_stratum", "prompt"),
)
#: The value of the option `prompt` that asks for the harness's prompt.
_HARNESS_PROMPT = "lm-eval"


class CatalogueEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One published benchmark.

    Examples
    --------
    >>> entry = load_entry("gsm8k")
    >>> entry.questions, entry.source.hub
    (1319, 'openai/gsm8k')
    """

    title: str
    questions: int
    """Number of questions that are expected."""
    citation: str
    licence: str
    source: DataSource
    benchmark: dict[str, object]
    """Keys of `benchmark: {file: ...}`, without `file`."""
    shots: dict[str, object] = {}
    """`split` of the demonstrations, and their keys without `shots_`: `by`, `answer`, `replace`."""
    remark: str = ""
    lm_eval: dict[str, object] = {}
    """`task`, the name of a task of lm-evaluation-harness, and the keys with which the prompt is that of the task."""

    @property
    def scorer(self) -> str:
        """How answers are read and scored."""
        has_choices = "choices" in self.benchmark or "correct" in self.benchmark
        name = str(self.benchmark.get("scorer", "choice" if has_choices else "contains"))
        without_choices = self.benchmark.get("scorer_without_choices")
        return name if without_choices is None else f"{name}, {without_choices}"

    @property
    def splits(self) -> list[str]:
        """The splits that are asked."""
        return self.source.subsets or [self.source.split]


def list_names() -> list[str]:
    """Return the names of all published benchmarks.

    >>> "gsm8k" in list_names()
    True
    """
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


@lru_cache
def load_entry(name: str) -> CatalogueEntry:
    """Return what the catalogue says about a benchmark.

    Raises
    ------
    UnknownNameError
        When it has none of this name.
    """
    if name not in list_names():
        raise UnknownNameError("benchmark", name, list_names())
    content = tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return msgspec.convert(content, CatalogueEntry)


def describe(name: str) -> dict[str, object]:
    """Return what `howsure benchmarks` prints about a benchmark of the catalogue.

    >>> describe("gsm8k")["questions"]
    1319
    """
    entry = load_entry(name)
    return {
        "name": name,
        "questions": entry.questions,
        "scorer": entry.scorer,
        "on_disk": is_on_disk(name),
        "title": entry.title,
        "citation": entry.citation,
        "licence": entry.licence,
        "data": entry.source.hub or entry.source.url,
        "revision": _describe_revision(name, entry),
        "remark": entry.remark,
    }


def _describe_revision(name: str, entry: CatalogueEntry) -> str:
    """Return the pinned revision or hash of a benchmark, or that it has none, with the one that was fetched first."""
    if entry.source.revision:
        return entry.source.revision
    if entry.source.sha256:
        return f"sha256 {entry.source.sha256[:12]}"
    first = read_revision(name, entry.source)
    return f"not pinned; {first} was fetched first" if first else "not pinned: the first one that is fetched is kept"


def is_on_disk(name: str) -> bool:
    """Return whether the questions of a benchmark are in the cache, so that no network is needed."""
    entry = load_entry(name)
    try:
        return find_cached_files(name, entry.source, entry.splits) is not None
    except (InputError, ImportError):
        return False


def load_published(name: str, options: Mapping[str, object], *, base: Path = Path()) -> Benchmark:
    """Return a published benchmark, after fetching it if it is not on this disk.

    Parameters
    ----------
    name
        Name in the catalogue.
    options
        Any of `path` (a local folder with its files), `shots` (number of questions that are shown with their answers),
        `where` (allowed values by field), `system` and `template` (another prompt), `scorer` (another one), `shuffle`
        (seed of the order of the choices), `skip_invalid`, `per_stratum` (most questions of each stratum) and `prompt`
        ("lm-eval": the prompt of lm-evaluation-harness in place of the catalogue's).
    base
        Folder to which a relative `path` refers.

    Raises
    ------
    UnknownNameError
        When there is no such benchmark or option.
    InputError
        When the files cannot be had, or cannot be read.
    """
    entry = load_entry(name)
    for key in options:
        if key not in OPTIONS:
            raise UnknownNameError(f"option of benchmark {name}", str(key), OPTIONS)
    path = options.get("path")
    if path is not None and not isinstance(path, str):
        raise InputError(f"path is {path!r}", where=f"benchmark {name}", remedy="give the folder with its files")
    spec: dict[str, object] = {"file": name, "name": name, **entry.benchmark}
    harness_keys = _find_harness_keys(name, entry, options) if "prompt" in options else {}
    spec |= {key: value for key, value in harness_keys.items() if not key.startswith("shots_")}
    spec |= {key: value for key, value in options.items() if key not in ("path", "prompt")}
    splits = entry.splits
    shots_split = ""
    if spec.get("shots"):
        shots_split = str(entry.shots.get("split", ""))
        if not shots_split:
            raise InputError(f"{name} has no questions to show", where=f"benchmark {name}", remedy="leave shots out")
        spec |= {f"shots_{key}": value for key, value in entry.shots.items() if key != "split"}
        spec |= {key: value for key, value in harness_keys.items() if key.startswith("shots_")}
        spec["shots_file"] = f"{name}, {shots_split}"
    parsed = parse_file_spec(spec)
    wanted = [*splits, *([shots_split] if shots_split else [])]
    files = fetch_files(name, entry.source, wanted, None if path is None else base / path)
    digest = hashlib.sha256()
    with_subset = bool(entry.source.subsets)
    rows = (row for split in splits for row in _read_split(files[split], split, digest, with_subset=with_subset))
    shot_rows = _read_split(files[shots_split], shots_split, hashlib.sha256(), with_subset=False) if shots_split else ()
    benchmark = build_benchmark(parsed, rows, shot_rows=shot_rows)
    _warn_of_number(benchmark, entry, is_whole=not parsed.where and parsed.per_stratum is None)
    source = {key: value for key, value in benchmark.source.items() if key not in ("file", "shots_file")} | {
        "kind": "catalogue",
        "data": entry.source.hub or entry.source.url,
        "revision": "" if path is not None and not entry.source.revision else read_revision(name, entry.source),
        "citation": entry.citation,
        "sha256": digest.hexdigest(),
        # The folder is one of this machine, and does not belong into a manifest.
        "spec": json.dumps({"name": name, **{key: options[key] for key in options if key != "path"}}),
    }
    return replace(benchmark, source={key: value for key, value in source.items() if value})


def _find_harness_keys(name: str, entry: CatalogueEntry, options: Mapping[str, object]) -> dict[str, object]:
    """Return the keys with which the prompt of a benchmark is that of lm-evaluation-harness.

    Raises
    ------
    InputError
        When another prompt is asked for, or the harness has none that is sent as it is.
    """
    where = f"benchmark {name}"
    if options["prompt"] != _HARNESS_PROMPT:
        remedy = f"write prompt: {_HARNESS_PROMPT}, or a prompt of your own as template"
        raise InputError(f"prompt is {options['prompt']!r}", where=where, remedy=remedy)
    if "template" in options:
        raise InputError("prompt beside template", where=where, remedy="keep one of them")
    if not entry.lm_eval:
        names = ", ".join(other for other in list_names() if load_entry(other).lm_eval)
        remedy = f"leave prompt out, or run the harness's own task: lm_eval/TASK; it is there for {names}"
        raise InputError("the catalogue has no prompt of lm-evaluation-harness", where=where, remedy=remedy)
    return {key: value for key, value in entry.lm_eval.items() if key != "task"}


def _read_split(files: list[Path], split: str, digest: hashlib._Hash, *, with_subset: bool) -> Iterator[PlacedRow]:
    """Yield the rows of the files of a split, and add the files to the hash."""
    for file in files:
        content = file.read_bytes()
        digest.update(content)
        for place, row in read_rows(file, file.name):
            full_place = f"{file.name}, {place}" if with_subset or len(files) > 1 else place
            yield full_place, {**row, "subset": split} if with_subset else row


def _warn_of_number(benchmark: Benchmark, entry: CatalogueEntry, *, is_whole: bool) -> None:
    """Warn if the number of questions is not the published one."""
    if is_whole and len(benchmark.questions) != entry.questions:
        facts = {"published": entry.questions}
        warn(Note("not-the-published-set", benchmark.name, n=len(benchmark.questions), facts=facts), stacklevel=3)
