"""SWE-bench: submissions to its leaderboard, per_instance_details.json, and reports of its harness.

A submission is one attempt at each question, whose patch is the completion. Its label is the folder's name, which
the leaderboard keeps unique; names in metadata.yaml are not. results.json lists what was resolved and not what was
asked: the questions are those that the file, all_preds.jsonl, logs/ or trajs/ name, or else those that the submissions
beside it name. There are no records, so `columns` have nothing to point at.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from howsure.errors import InputError
from howsure.readers.logs.base import LogInfo, LogRow, Note, ReadOptions
from howsure.readers.logs.file_head import FileHead, open_file
from howsure.readers.logs.json_files import read_json, read_json_lines
from howsure.store.manifest import Model

__all__ = ["NAME", "describe", "members", "recognises", "rows"]

NAME = "SWE-bench"

#: Questions of each part; bash-only is the verified part with one agent.
_SIZES = {"lite": 300, "verified": 500, "test": 2294, "multilingual": 300}
_PARTS = {**{part: part for part in (*_SIZES, "multimodal")}, "bash-only": "verified"}
_ID = re.compile(r"(?:(?!__)[\w.-])+__(?:(?!__)[\w.-])+-\d+", re.ASCII)
#: Lists of results.json and of a report, by what they say of a question; the first list that names it decides.
_VERDICTS = {
    "resolved": "resolved",
    "resolved_ids": "resolved",
    "infra_failure_ids": "infra_failure: the environment failed, and not the patch",
    "unresolved_ids": "unresolved",
    "no_generation": "no_generation: no patch was submitted",
    "empty_patch_ids": "no_generation: the patch is empty",
    "no_logs": "no_logs: its evaluation left no log",
    "install_fail": "install_fail: the repository could not be set up",
    "reset_failed": "reset_failed: the repository could not be set up",
    "error_ids": "error: its evaluation failed",
    "incomplete_ids": "incomplete: no prediction was submitted",
    "no_apply": "unresolved",
    "test_errored": "unresolved",
    "test_timeout": "unresolved",
    "applied": "unresolved",
    "with_logs": "unresolved",
    "generated": "unresolved",
    "completed_ids": "unresolved",
    "submitted_ids": "unresolved",
}
_RESULTS = {"no_generation", "no_logs", "generated", "with_logs", "applied"}


class _Metadata(NamedTuple):
    name: str = ""
    models: Sequence[object] = ()
    attempts: str = "1"


class _Prediction(msgspec.Struct):
    instance_id: str
    model_patch: str | None = None


class _Detail(msgspec.Struct):
    resolved: bool


class _Log(NamedTuple):
    file: Path
    folder: Path
    """Of the submission; of a lone file, its own."""
    label: str
    part: str | None


def recognises(head: FileHead) -> bool:
    """By the names in the folder, or by the lists or ids that are the file's keys."""
    if head.kind == "folder":
        results = head.path / "results" / "results.json"
        return "per_instance_details.json" in head.keys or (
            "results" in head.keys and results.is_file() and _is_results(FileHead(results).keys)
        )
    return head.kind == "json" and (_is_results(head.keys) or _is_report(head.keys) or _is_details(head.keys))


def _is_results(keys: frozenset[str]) -> bool:
    return "resolved" in keys and bool(_RESULTS & keys)


def _is_report(keys: frozenset[str]) -> bool:
    return {"resolved_ids", "submitted_ids"} <= keys


def _is_details(keys: frozenset[str]) -> bool:
    return bool(keys) and all(_ID.fullmatch(key) for key in keys)


def members(path: Path) -> Sequence[Path]:
    """The file with the verdicts."""
    return [_log(path).file]


def describe(path: Path) -> LogInfo:
    """The submission by its label; `name` is what metadata.yaml calls it."""
    log = _log(path)
    metadata, _ = _metadata(log.folder)
    settings: dict[str, object] = {"models": list(metadata.models)} if metadata.models else {}
    with open_file(log.file) as file:
        run = hashlib.sha256(file.read()).hexdigest()[:16]
    model = Model(name=metadata.name or log.label, kind=NAME, settings={**settings, "attempts": metadata.attempts})
    return LogInfo(run=run, models={log.label: model}, benchmarks={_benchmark(log): {"part": log.part}})


def rows(path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
    """A row per question: 1.0 where it was resolved, 0.0 where not, an error where nothing was evaluated.

    Raises
    ------
    InputError
        When the file cannot be read, or does not say which questions were not resolved.
    """
    log = _log(path)
    metadata, fault = _metadata(log.folder)
    if fault:
        tell(f"metadata.yaml cannot be read: {fault}")
    if metadata.attempts != "1":
        tell(f"each question had {metadata.attempts} attempts, of which the best counts: it is no single generation")
    if asked.columns:
        tell("--columns name fields of records, of which this log has none")
    if log.part is None:
        tell(f"it does not say which part of SWE-bench it is: the benchmark is called {_benchmark(log)!r}")
    verdicts = _verdicts(log, tell)
    _check_size(log, verdicts, tell)
    patches = _patches(log.folder, tell) if asked.texts else {}
    for question, verdict in sorted(verdicts.items()):
        judged = verdict in ("resolved", "unresolved")
        yield LogRow(
            benchmark=_benchmark(log),
            model=log.label,
            question=question,
            variant="default",
            generation=1,
            score=float(verdict == "resolved") if judged else None,
            status="ok" if judged else "error",
            error=None if judged else verdict,
            completion=patches.get(question),
        )


def _log(path: Path) -> _Log:
    if path.is_dir():
        details = path / "per_instance_details.json"
        path = details if details.is_file() else path / "results" / "results.json"
    keys = FileHead(path).keys
    if _is_report(keys):
        # The harness calls it MODEL.RUN.json, and writes neither name inside.
        return _Log(path, path.parent, path.stem.rpartition(".")[0] or path.stem, None)
    if _is_details(keys) and keys == {path.parent.name}:
        return _Log(path, path.parent, path.parent.parent.name, None)  # RUN/MODEL/ID/report.json of one question
    folder = path.parent.parent if path.parent.name == "results" else path.parent
    if not (folder / "metadata.yaml").is_file() and path.name not in ("results.json", "per_instance_details.json"):
        return _Log(path, folder, path.stem, None)
    return _Log(path, folder, folder.resolve().name, _PARTS.get(folder.resolve().parent.name))


def _benchmark(log: _Log) -> str:
    return f"swe-bench-{log.part}" if log.part else "swe-bench"


def _metadata(folder: Path) -> tuple[_Metadata, str]:
    """What metadata.yaml says, in its older form or the newer, and what is wrong with it."""
    file = folder / "metadata.yaml"
    if not file.is_file():
        return _Metadata(), ""
    try:
        found = yaml.safe_load(file.read_bytes())
    except (yaml.YAMLError, OSError, ValueError, RecursionError) as error:
        return _Metadata(), " ".join(str(error).split())[:120]
    said = _mapping(found)
    tags = _mapping(said.get("tags"))
    models = tags.get("model")
    return _Metadata(
        str(_mapping(said.get("info")).get("name") or said.get("name") or ""),
        models if isinstance(models, list) else [models] if models else [],
        str(_mapping(tags.get("system")).get("attempts") or "1"),
    ), ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _verdicts(log: _Log, tell: Note) -> dict[str, str]:
    keys = FileHead(log.file).keys
    if _is_details(keys):
        details = read_json(log.file, dict[str, _Detail])
        return {name: "resolved" if detail.resolved else "unresolved" for name, detail in details.items()}
    found = read_json(log.file, dict[str, Any])
    verdicts = _of_lists(found, log.file)
    if _is_report(keys):
        _compare(found, verdicts, tell)
    elif "generated" not in found:
        for name in _universe(log, verdicts, tell):
            verdicts.setdefault(name, "unresolved")
    if n := sum(verdict not in ("resolved", "unresolved") for verdict in verdicts.values()):
        tell(f"{n} questions have no evaluated patch, and the leaderboard counts them as unresolved: --missing as-zero")
    return verdicts


def _of_lists(found: Mapping[str, Any], file: Path) -> dict[str, str]:
    verdicts: dict[str, str] = {}
    for key, verdict in _VERDICTS.items():
        listed = found.get(key) or []
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise InputError(f"{key!r} is no list of questions", where=str(file), remedy="is the file whole?")
        for name in listed:
            verdicts.setdefault(name, verdict)
    return verdicts


def _compare(found: Mapping[str, Any], verdicts: Mapping[str, str], tell: Note) -> None:
    """The report's own counts with what its lists name."""
    total = found.get("total_instances")
    if isinstance(total, int) and total != len(verdicts):
        tell(f"the report counts {total} questions and names {len(verdicts)}")
    resolved = found.get("resolved_instances")
    named = sum(verdict == "resolved" for verdict in verdicts.values())
    if isinstance(resolved, int) and resolved != named:
        tell(f"the report counts {resolved} resolved questions and names {named}")
    if ambiguous := found.get("ambiguous_failure_ids"):
        tell(
            f"{len(ambiguous)} failures may be the environment's: the harness and howsure count them as it judged them"
        )


def _universe(log: _Log, verdicts: Mapping[str, str], tell: Note) -> set[str]:
    """The questions that were asked, from what lies beside results.json."""
    for source, names in _sources(log, tell):
        if asked := set(names) - set(verdicts):
            tell(f"results.json does not list what was asked: {len(asked)} unresolved questions are named by {source}")
            return asked
    raise InputError(
        "it lists what was resolved, and nothing lists what was not: its score is unknown",
        where=str(log.file),
        remedy="put all_preds.jsonl, logs/ or trajs/ beside metadata.yaml, or other submissions beside its folder",
    )


def _sources(log: _Log, tell: Note) -> Iterator[tuple[str, Iterable[str]]]:
    if (log.folder / "all_preds.jsonl").is_file():
        yield "all_preds.jsonl", (one.instance_id for one in _predictions(log.folder, tell))
    for name in ("logs", "trajs"):
        if (log.folder / name).is_dir():
            found = (_ID.match(child.name) for child in (log.folder / name).iterdir())
            yield f"{name}/", [match[0] for match in found if match]
    others = [*log.folder.resolve().parent.glob("*/results/results.json")]
    yield f"{len(others)} submissions", (name for file in others for name in _of_lists(_mapping(_try(file)), file))


def _try(file: Path) -> object:
    """Another submission's lists; one that cannot be read has none to give."""
    try:
        return read_json(file, dict[str, list[str]])
    except InputError:
        return None


def _check_size(log: _Log, verdicts: Mapping[str, str], tell: Note) -> None:
    size = _SIZES.get(log.part or "", 0)
    if len(verdicts) < size:
        tell(
            f"{size - len(verdicts)} of the {size} questions of SWE-bench {log.part} are named nowhere: "
            "if they are unresolved, the score is too high without them"
        )


def _predictions(folder: Path, tell: Note) -> Iterator[_Prediction]:
    return read_json_lines(folder / "all_preds.jsonl", _Prediction, lambda said: tell(f"all_preds.jsonl: {said}"))


def _patches(folder: Path, tell: Note) -> dict[str, str | None]:
    if not (folder / "all_preds.jsonl").is_file():
        tell("there are no patches: all_preds.jsonl is not beside metadata.yaml")
        return {}
    return {one.instance_id: one.model_patch for one in _predictions(folder, tell)}
