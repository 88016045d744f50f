"""Read SWE-bench: submissions to its leaderboard, per_instance_details.json, and reports of its harness.

A submission is one attempt at each question, and its patch is the completion. Its label is the name of the folder,
which is unique on the leaderboard; names in metadata.yaml are not. results.json lists which questions were resolved and
not which were attempted: the questions are those that the file, all_preds.jsonl, logs/ or trajs/ name, or else those
that the submissions beside it name. There are no records, so that `--columns` has no fields to name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.logs.base import RowBuilder, as_mapping, get_field
from howsure.logs.file_formats import FileHead, read_json, read_json_lines
from howsure.logs.record_reader import Record, RecordedRun, RecordReader, ReportedMean, get_text
from howsure.rows.naming import name_alone

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
_DETAILS, _PREDICTIONS = "per_instance_details.json", "all_preds.jsonl"


class _Prediction(msgspec.Struct):
    instance_id: str
    model_patch: str | None = None


class _Submission(NamedTuple):
    file: Path
    folder: Path
    """The folder of the submission, or of a single file."""
    label: str
    part: str | None
    is_named_by_path: bool = False


class SweBenchReader(RecordReader):
    """Reads a submission to SWE-bench, one row for each question: 1.0 where it was resolved."""

    name = "SWE-bench"

    def recognises(self, head: FileHead) -> bool:
        """Return whether a folder has these files, or the keys of a file are these lists, or ids of questions."""
        if head.kind == "folder":
            results = head.path / "results" / "results.json"
            return _DETAILS in head.keys or (results.is_file() and _is_results(FileHead(results).keys))
        return head.kind == "json" and (_is_results(head.keys) or _is_report(head.keys) or _is_details(head.keys))

    def members(self, path: Path) -> Sequence[Path]:
        """Return the file with the verdicts."""
        return [_find_submission(path).file]

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the questions with their verdicts; a failure where nothing was evaluated."""
        submission = _find_submission(path)
        build.is_named_by_path = submission.is_named_by_path
        metadata = _read_metadata(submission.folder, build)
        models, attempts = get_field(metadata, "tags.model"), get_text(metadata, "tags.system.attempts") or "1"
        if attempts != "1":
            build.note("log-attempts", attempts=attempts)
        benchmark = f"swe-bench-{submission.part}" if submission.part else "swe-bench"
        if submission.part is None:
            build.note("log-part-unknown", benchmark=benchmark)
        report = as_mapping(read_json(submission.file, dict[str, Any]))
        verdicts = _read_verdicts(submission, report, build)
        if (n_unnamed := _SIZES.get(submission.part or "", 0) - len(verdicts)) > 0:
            total = _SIZES[str(submission.part)]
            build.note("log-unnamed-questions", n_unnamed, total=total, part=submission.part)
        resolved, total_instances = report.get("resolved_instances"), report.get("total_instances")
        share = None
        if isinstance(resolved, int) and isinstance(total_instances, int) and total_instances:
            share = resolved / total_instances
        patches = _read_patches(submission.folder, build) if build.texts else {}
        records = [
            Record(
                question=question,
                scores={"resolved": verdict == "resolved"},
                source={},
                failure="" if verdict in ("resolved", "unresolved") else verdict,
                completion=patches.get(question),
            )
            for question, verdict in sorted(verdicts.items())
        ]
        settings = {"models": models if isinstance(models, list) else [models]} if models else {}
        return RecordedRun(
            benchmark=benchmark,
            model=submission.label,
            model_name=get_text(metadata, "info.name", "name") or "",
            records=records,
            scorers=("resolved",),
            has_named_score=False,
            settings={**settings, "attempts": attempts},
            source={"part": submission.part},
            reported=[ReportedMean(name="a resolved share of", value=share, scorer="resolved")],
        )


def _is_results(keys: frozenset[str]) -> bool:
    """Return whether these are the keys of a results.json, or of an older final_report.json."""
    lists = {"no_generation", "no_logs", "generated", "with_logs", "applied"}
    return "resolved" in keys and (bool(lists & keys) or keys >= {"stats", "resolved_per_project"})


def _is_report(keys: frozenset[str]) -> bool:
    """Return whether these are the keys of a report of the harness, or of Multi-SWE-bench."""
    return "submitted_ids" in keys and ("resolved_ids" in keys or "resolved" in keys)


def _is_details(keys: frozenset[str]) -> bool:
    """Return whether these are ids of questions."""
    return bool(keys) and all(_ID.fullmatch(key) for key in keys)


def _find_submission(path: Path) -> _Submission:
    """Return the submission of a file or folder."""
    if path.is_dir():
        path = path / _DETAILS if (path / _DETAILS).is_file() else path / "results" / "results.json"
    keys = FileHead(path).keys
    if _is_report(keys) and path.parent.name != "results":
        # The harness calls it MODEL.RUN.json, and writes neither name inside: the names of several say what a run is.
        return _Submission(path, path.parent, path.stem.rpartition(".")[0] or path.stem, None, is_named_by_path=True)
    if _is_details(keys) and keys == {path.parent.name}:
        # RUN/MODEL/ID/report.json of one question.
        return _Submission(path, path.parent, path.parent.parent.name, None)
    folder = path.parent.parent if path.parent.name == "results" else path.parent
    is_named = path.name in ("results.json", _DETAILS, "final_report.json")
    if not (folder / "metadata.yaml").is_file() and not is_named:
        return _Submission(path, folder, name_alone(path), None, is_named_by_path=True)
    return _Submission(path, folder, folder.resolve().name, _PARTS.get(folder.resolve().parent.name))


def _read_metadata(folder: Path, build: RowBuilder) -> Mapping[str, object]:
    """Return what metadata.yaml states; nothing where it is not there or cannot be read."""
    import yaml

    file = folder / "metadata.yaml"
    try:
        return as_mapping(yaml.safe_load(file.read_bytes())) if file.is_file() else {}
    except (yaml.YAMLError, OSError, ValueError, RecursionError):
        build.note("log-no-metadata", file=file.name, names="the model")
        return {}


def _read_verdicts(submission: _Submission, report: Mapping[str, Any], build: RowBuilder) -> dict[str, str]:
    """Return the verdict on each question: resolved, unresolved, or why nothing was evaluated."""
    keys = FileHead(submission.file).keys
    if _is_details(keys):
        is_resolved = {name: get_field(detail, "resolved") for name, detail in report.items()}
        if not all(isinstance(one, bool) for one in is_resolved.values()):
            what = "it does not say of each question whether it was resolved"
            raise InputError(what, where=str(submission.file), remedy="is the file complete?")
        return {name: "resolved" if one else "unresolved" for name, one in is_resolved.items()}
    verdicts = _merge_lists(report, submission.file)
    if _is_report(keys):
        own = {"questions": len(verdicts), "resolved questions": sum(one == "resolved" for one in verdicts.values())}
        for (what, n), name in zip(own.items(), ("total_instances", "resolved_instances"), strict=True):
            if isinstance(report.get(name), int) and report[name] != n:
                build.note("log-counts-differ", stated=report[name], what=what, own=n)
        if isinstance(ambiguous := report.get("ambiguous_failure_ids"), list) and ambiguous:
            build.note("log-ambiguous", len(ambiguous))
    elif "generated" not in report:
        for name in _find_unresolved(submission, verdicts, report.get("stats"), build):
            verdicts.setdefault(name, "unresolved")
    return verdicts


def _merge_lists(lists: Mapping[str, Any], file: Path) -> dict[str, str]:
    """Return the verdict of the first list that names a question, by question."""
    verdicts: dict[str, str] = {}
    for key, verdict in _VERDICTS.items():
        names = lists.get(key) or []
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError(f"{key!r} is no list of questions", where=str(file), remedy="is the file complete?")
        for name in names:
            verdicts.setdefault(name, verdict)
    return verdicts


def _find_unresolved(
    submission: _Submission, verdicts: Mapping[str, str], stats: object, build: RowBuilder
) -> set[str]:
    """Return the attempted questions that results.json does not list, from the other files of the submission."""
    for source, names in _list_attempted(submission, build):
        if unresolved := names - set(verdicts):
            build.note("log-unresolved-by", len(unresolved), file=submission.file.name, source=source)
            return unresolved
    n_attempted = as_mapping(stats).get("generated")
    what = "it lists what was resolved, and nothing lists what was not: its score is unknown"
    if isinstance(n_attempted, int) and n_attempted >= len(verdicts) > 0:
        share = f"{len(verdicts) / n_attempted:.3g}"
        what = (
            f"it lists {len(verdicts)} of {n_attempted} questions as resolved ({share}), and nothing lists the others"
        )
    raise InputError(
        what,
        where=str(submission.file),
        remedy="put all_preds.jsonl, logs/ or trajs/ beside metadata.yaml, or other submissions beside its folder",
    )


def _list_attempted(submission: _Submission, build: RowBuilder) -> Iterator[tuple[str, set[str]]]:
    """Yield each source that names questions, with its questions."""
    folder = submission.folder
    if (folder / _PREDICTIONS).is_file():
        yield _PREDICTIONS, {one.instance_id for one in read_json_lines(folder / _PREDICTIONS, _Prediction, build.note)}
    for name in ("logs", "trajs"):
        if (folder / name).is_dir():
            yield f"{name}/", {match[0] for child in (folder / name).iterdir() if (match := _ID.match(child.name))}
    names: set[str] = set()
    others = [*folder.resolve().parent.glob("*/results/results.json")]
    for file in others:
        try:
            names |= _merge_lists(read_json(file, dict[str, list[str]]), file).keys()
        except InputError:
            continue
    yield f"{len(others)} submissions", names


def _read_patches(folder: Path, build: RowBuilder) -> dict[str, str | None]:
    """Return the patches by question."""
    if not (folder / _PREDICTIONS).is_file():
        build.note("log-no-texts", file=_PREDICTIONS)
        return {}
    return {one.instance_id: one.model_patch for one in read_json_lines(folder / _PREDICTIONS, _Prediction, build.note)}
