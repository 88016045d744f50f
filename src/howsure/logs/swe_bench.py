"""Make a record of each question of SWE-bench that a submission, a report of its harness or its details name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from howsure.errors import InputError
from howsure.logs.base import RowBuilder
from howsure.logs.file_formats import FileHead
from howsure.logs.record_functions import Records, Shared
from howsure.logs.values import Record, as_mapping, get_field, get_text, is_list
from howsure.rows.formats import name_table

#: Questions of each part; bash-only is the verified part with one agent.
_SIZES = {"lite": 300, "verified": 500, "test": 2294, "multilingual": 300}
_PARTS = {**{part: part for part in (*_SIZES, "multimodal")}, "bash-only": "verified"}
_ID = re.compile(r"(?:(?!__)[\w.-])+__(?:(?!__)[\w.-])+-\d+", re.ASCII)
#: Verdict of each list of results.json and of a report; the first list that names a question determines its verdict.
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
    **dict.fromkeys(("no_apply", "test_errored", "test_timeout", "applied", "with_logs", "generated"), "unresolved"),
    **dict.fromkeys(("completed_ids", "submitted_ids"), "unresolved"),
}
_DETAILS = "per_instance_details.json"


def is_submission(head: FileHead) -> bool:
    """Return whether a folder has the files of a submission."""
    results = FileHead(head.path / "results" / "results.json")
    return _DETAILS in head.keys or (results.path.is_file() and is_list_file(results))


def is_list_file(head: FileHead) -> bool:
    """Return whether these are lists: of results.json, an older final_report.json, or a report of a harness."""
    lists = {"no_generation", "no_logs", "generated", "with_logs", "applied"}
    is_results = "resolved" in head.keys and (bool(lists & head.keys) or head.keys >= {"stats", "resolved_per_project"})
    return is_results or ("submitted_ids" in head.keys and bool({"resolved_ids", "resolved"} & head.keys))


def is_details(head: FileHead) -> bool:
    """Return whether all keys are ids of questions."""
    return bool(head.keys) and all(_ID.fullmatch(key) for key in head.keys)


def find_files(path: Path) -> Sequence[Path]:
    """Return the file with the verdicts."""
    if not path.is_dir():
        return [path]
    return [path / _DETAILS if (path / _DETAILS).is_file() else path / "results" / "results.json"]


def list_verdicts(records: Records, shared: Shared, path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the questions, each with whether it was resolved, or why nothing was evaluated."""
    report = as_mapping(records[0])
    folder = path.parent.parent if path.parent.name == "results" else path.parent
    shared["$model"], part, build.is_named_by_path = _name_submission(path, folder, report)
    metadata = shared["$metadata"] = _read_metadata(folder, build)
    shared["$attempts"] = attempts = get_text(metadata, "tags.system.attempts") or "1"
    if attempts != "1":
        build.note("log-attempts", attempts=attempts)
    shared["$part"] = part
    if part is None:
        build.note("log-part-unknown", benchmark="swe-bench")
    if is_details(FileHead(path)):
        verdicts = _read_details(report, path)
    else:
        verdicts = _merge_lists(report, path)
        _check_counts(report, verdicts, path, build)
    total = _SIZES.get(part or "", 0)
    if total > len(verdicts):
        build.note("log-unnamed-questions", total - len(verdicts), total=total, part=part)
    resolved, n = report.get("resolved_instances"), report.get("total_instances")
    shared["$share"] = resolved / n if isinstance(resolved, int) and isinstance(n, int) and n else None
    for question, verdict in sorted(verdicts.items()):
        is_evaluated = verdict in ("resolved", "unresolved")
        yield {"id": question, "resolved": verdict == "resolved", "failure": None if is_evaluated else verdict}


def _name_submission(path: Path, folder: Path, report: Mapping[str, Any]) -> tuple[str, str | None, bool]:
    """Return label and part of a submission, and whether only its path names it."""
    if "submitted_ids" in report and path.parent.name != "results":
        # The harness calls it MODEL.RUN.json, and writes neither name inside: the names of several say what a run is.
        return path.stem.rpartition(".")[0] or path.stem, None, True
    if report.keys() == {path.parent.name}:
        # RUN/MODEL/ID/report.json of one question.
        return path.parent.parent.name, None, False
    is_named = path.name in ("results.json", _DETAILS, "final_report.json")
    if not (folder / "metadata.yaml").is_file() and not is_named:
        return name_table(path), None, True
    return folder.resolve().name, _PARTS.get(folder.resolve().parent.name), False


def _read_metadata(folder: Path, build: RowBuilder) -> Mapping[str, object]:
    """Return what metadata.yaml states; nothing where it is not there or cannot be read."""
    import yaml

    file = folder / "metadata.yaml"
    try:
        return as_mapping(yaml.safe_load(file.read_bytes())) if file.is_file() else {}
    except (yaml.YAMLError, OSError, ValueError, RecursionError):
        build.note("log-no-metadata", file=file.name, names="the model")
        return {}


def _read_details(report: Mapping[str, Any], path: Path) -> dict[str, str]:
    """Return the verdict of each question of per_instance_details.json."""
    is_resolved = {name: get_field(detail, "resolved") for name, detail in report.items()}
    if not all(isinstance(one, bool) for one in is_resolved.values()):
        what = "it does not say of each question whether it was resolved"
        raise InputError(what, where=str(path), remedy="is the file complete?")
    return {name: "resolved" if one else "unresolved" for name, one in is_resolved.items()}


def _merge_lists(lists: Mapping[str, Any], file: Path) -> dict[str, str]:
    """Return the verdict of the first list that names a question, by question."""
    verdicts: dict[str, str] = {}
    for key, verdict in _VERDICTS.items():
        names = lists.get(key) or []
        if not is_list(names) or not all(isinstance(name, str) for name in names):
            raise InputError(f"{key!r} is no list of questions", where=str(file), remedy="is the file complete?")
        for name in names:
            verdicts.setdefault(name, verdict)
    return verdicts


def _check_counts(report: Mapping[str, Any], verdicts: Mapping[str, str], path: Path, build: RowBuilder) -> None:
    """Note counts that the lists do not give; refuse lists without the questions that were not resolved."""
    if "submitted_ids" not in report and "generated" not in report:
        n_attempted = get_field(report, "stats.generated")
        of = f" of {n_attempted} questions" if isinstance(n_attempted, int) else ""
        what = f"it lists {len(verdicts)}{of} as resolved or not evaluated, and nothing lists which were not resolved"
        raise InputError(what, where=str(path), remedy=f"give {_DETAILS} or the report of the harness")
    own = {"questions": len(verdicts), "resolved questions": sum(one == "resolved" for one in verdicts.values())}
    for (what, n), name in zip(own.items(), ("total_instances", "resolved_instances"), strict=True):
        if isinstance(report.get(name), int) and report[name] != n:
            build.note("log-counts-differ", stated=report[name], what=what, own=n)
    if is_list(ambiguous := report.get("ambiguous_failure_ids")) and ambiguous:
        build.note("log-ambiguous", len(ambiguous))
