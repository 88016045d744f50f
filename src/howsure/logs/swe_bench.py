"""Read SWE-bench: submissions to its leaderboard, per_instance_details.json, and reports of its harness.

A submission is one attempt at each question, and its patch is the completion. Its label is the name of the folder,
which is unique on the leaderboard; names in metadata.yaml are not. results.json lists which questions were resolved and
not which were attempted: the questions are those that the file, all_preds.jsonl, logs/ or trajs/ name, or else those
that the submissions beside it name. There are no records, so that `--columns` has no fields to name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    LogInfo,
    LogReader,
    LogRow,
    RowBuilder,
    RowKey,
    ScoreFields,
    as_mapping,
)
from howsure.logs.file_formats import FileHead, open_file, read_json, read_json_lines
from howsure.rows.naming import name_alone
from howsure.store.manifest import ModelRecord

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
    "no_apply": "unresolved",
    "test_errored": "unresolved",
    "test_timeout": "unresolved",
    "applied": "unresolved",
    "with_logs": "unresolved",
    "generated": "unresolved",
    "completed_ids": "unresolved",
    "submitted_ids": "unresolved",
}
_RESULTS_KEYS = {"no_generation", "no_logs", "generated", "with_logs", "applied"}
#: Keys of an older final_report.json, which counts the attempted questions and lists the resolved ones.
_SUMMARY_KEYS = {"stats", "resolved", "resolved_per_project"}


#: Names of files that say nothing about the submission, which is named by its folder.
_FILES = ("results.json", "per_instance_details.json", "final_report.json")
#: Beside metadata.yaml.
_PREDICTIONS = "all_preds.jsonl"


class _Metadata(NamedTuple):
    name: str = ""
    models: Sequence[object] = ()
    attempts: str = "1"


class _Prediction(msgspec.Struct):
    instance_id: str
    model_patch: str | None = None


class _Detail(msgspec.Struct):
    resolved: bool


class _Submission(NamedTuple):
    file: Path
    folder: Path
    """The folder of the submission, or of a single file."""
    label: str
    part: str | None
    is_named_by_path: bool = False

    @property
    def benchmark(self) -> str:
        """The name of the benchmark."""
        return f"swe-bench-{self.part}" if self.part else "swe-bench"


class SweBenchReader(LogReader):
    """Reads a submission to SWE-bench, one row for each question: 1.0 where it was resolved."""

    name = "SWE-bench"

    def recognises(self, head: FileHead) -> bool:
        """Return whether a folder has these files, or the keys of a file are these lists, or ids of questions."""
        if head.kind == "folder":
            results = head.path / "results" / "results.json"
            return "per_instance_details.json" in head.keys or (
                "results" in head.keys and results.is_file() and _is_results(FileHead(results).keys)
            )
        return head.kind == "json" and (_is_results(head.keys) or _is_report(head.keys) or _is_details(head.keys))

    def members(self, path: Path) -> Sequence[Path]:
        """Return the file with the verdicts."""
        return [_find_submission(path).file]

    def describe(self, path: Path) -> LogInfo:
        """Return the submission under its label; the model's name is that of metadata.yaml."""
        submission = _find_submission(path)
        metadata, _ = _read_metadata(submission.folder)
        settings: dict[str, object] = {"models": list(metadata.models)} if metadata.models else {}
        settings["attempts"] = metadata.attempts
        with open_file(submission.file) as file:
            run = hashlib.sha256(file.read()).hexdigest()[:16]
        return LogInfo(
            run=run,
            models={
                submission.label: ModelRecord(name=metadata.name or submission.label, kind=self.name, settings=settings)
            },
            benchmarks={submission.benchmark: {"part": submission.part}},
            is_named_by_path=submission.is_named_by_path,
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield one row for each question; an error where nothing was evaluated."""
        submission = _find_submission(path)
        metadata, fault = _read_metadata(submission.folder)
        if fault:
            build.note(f"metadata.yaml cannot be read: {fault}")
        if metadata.attempts != "1":
            build.note(
                f"each question had {metadata.attempts} attempts, of which the best counts: it is no single generation"
            )
        if build.options.columns:
            build.note("--columns name fields of records, of which this log has none")
        if submission.part is None:
            build.note(
                f"it does not state which part of SWE-bench it is: the benchmark is called {submission.benchmark!r}"
            )
        verdicts = _read_verdicts(submission, build)
        build.expect_mean("a resolved share of", _find_share(submission.file))
        n_expected = _SIZES.get(submission.part or "", 0)
        if len(verdicts) < n_expected:
            build.note(
                f"{n_expected - len(verdicts)} of the {n_expected} questions of SWE-bench {submission.part} are named "
                "nowhere: if they are unresolved, the score is too high without them"
            )
        patches = _read_patches(submission.folder, build) if build.texts else {}
        for question, verdict in sorted(verdicts.items()):
            score: ScoreFields = {"status": "error", "error": verdict}
            if verdict in ("resolved", "unresolved"):
                score = {"score": float(verdict == "resolved")}
            key = RowKey(submission.benchmark, submission.label, question)
            yield build.row(key, completion=patches.get(question), **score)


def _is_results(keys: frozenset[str]) -> bool:
    """Return whether these are the keys of a results.json, or of an older final_report.json."""
    return "resolved" in keys and (bool(_RESULTS_KEYS & keys) or keys >= _SUMMARY_KEYS)


def _is_report(keys: frozenset[str]) -> bool:
    """Return whether these are the keys of a report of the harness, or of Multi-SWE-bench."""
    return "submitted_ids" in keys and ("resolved_ids" in keys or "resolved" in keys)


def _is_details(keys: frozenset[str]) -> bool:
    """Return whether these are ids of questions."""
    return bool(keys) and all(_ID.fullmatch(key) for key in keys)


def _find_submission(path: Path) -> _Submission:
    """Return the submission of a file or folder."""
    if path.is_dir():
        details = path / "per_instance_details.json"
        path = details if details.is_file() else path / "results" / "results.json"
    keys = FileHead(path).keys
    if _is_report(keys) and path.parent.name != "results":
        # The harness calls it MODEL.RUN.json, and writes neither name inside: the names of several say what a run is.
        return _Submission(path, path.parent, path.stem.rpartition(".")[0] or path.stem, None, True)
    if _is_details(keys) and keys == {path.parent.name}:
        # RUN/MODEL/ID/report.json of one question.
        return _Submission(path, path.parent, path.parent.parent.name, None)
    folder = path.parent.parent if path.parent.name == "results" else path.parent
    if not (folder / "metadata.yaml").is_file() and path.name not in _FILES:
        return _Submission(path, folder, name_alone(path), None, True)
    return _Submission(path, folder, folder.resolve().name, _PARTS.get(folder.resolve().parent.name))


def _read_metadata(folder: Path) -> tuple[_Metadata, str]:
    """Return what metadata.yaml states, in its older or newer form, and what is wrong with it."""
    import yaml

    file = folder / "metadata.yaml"
    if not file.is_file():
        return _Metadata(), ""
    try:
        content = as_mapping(yaml.safe_load(file.read_bytes()))
    except (yaml.YAMLError, OSError, ValueError, RecursionError) as error:
        return _Metadata(), " ".join(str(error).split())[:120]
    tags = as_mapping(content.get("tags"))
    models = tags.get("model")
    return _Metadata(
        str(as_mapping(content.get("info")).get("name") or content.get("name") or ""),
        models if isinstance(models, list) else [models] if models else [],
        str(as_mapping(tags.get("system")).get("attempts") or "1"),
    ), ""


def _read_verdicts(submission: _Submission, build: RowBuilder) -> dict[str, str]:
    """Return the verdict on each question: resolved, unresolved, or why nothing was evaluated."""
    keys = FileHead(submission.file).keys
    if _is_details(keys):
        details = read_json(submission.file, dict[str, _Detail])
        return {name: "resolved" if detail.resolved else "unresolved" for name, detail in details.items()}
    lists = read_json(submission.file, dict[str, Any])
    verdicts = _merge_lists(lists, submission.file)
    if _is_report(keys):
        _check_counts(lists, verdicts, build)
    elif "generated" not in lists:
        for name in _find_unresolved(submission, verdicts, lists.get("stats"), build):
            verdicts.setdefault(name, "unresolved")
    if n := sum(verdict not in ("resolved", "unresolved") for verdict in verdicts.values()):
        build.count(
            "[question has|questions have] no evaluated patch, and the leaderboard counts [it|them] as unresolved: "
            "--missing as-zero",
            n,
        )
    return verdicts


def _find_share(file: Path) -> float | None:
    """Return the share of resolved questions that the counts of a report state."""
    report = read_json(file, dict[str, Any])
    resolved, total = report.get("resolved_instances"), report.get("total_instances")
    return resolved / total if isinstance(resolved, int) and isinstance(total, int) and total else None


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


def _check_counts(report: Mapping[str, Any], verdicts: Mapping[str, str], build: RowBuilder) -> None:
    """Compare the counts of a report with what its lists name."""
    total, resolved = report.get("total_instances"), report.get("resolved_instances")
    if isinstance(total, int) and total != len(verdicts):
        build.note(f"the report counts {total} questions and names {len(verdicts)}")
    n_resolved = sum(verdict == "resolved" for verdict in verdicts.values())
    if isinstance(resolved, int) and resolved != n_resolved:
        build.note(f"the report counts {resolved} resolved questions and names {n_resolved}")
    if isinstance(ambiguous := report.get("ambiguous_failure_ids"), list) and ambiguous:
        build.count(
            "[failure|failures] may be the environment's: the harness and howsure count [it|them] "
            "as it judged [it|them]",
            len(ambiguous),
        )


def _find_unresolved(
    submission: _Submission, verdicts: Mapping[str, str], stats: object, build: RowBuilder
) -> set[str]:
    """Return the attempted questions that results.json does not list, from the other files of the submission."""
    for source, names in _list_attempted(submission, build):
        if unresolved := set(names) - set(verdicts):
            build.note(
                f"{submission.file.name} does not list the questions: {len(unresolved)} unresolved ones are named by "
                f"{source}"
            )
            return unresolved
    n_resolved, n_attempted = len(verdicts), as_mapping(stats).get("generated")
    what = "it lists what was resolved, and nothing lists what was not: its score is unknown"
    if isinstance(n_attempted, int) and n_attempted >= n_resolved > 0:
        share = f"{n_resolved / n_attempted:.3g}"
        what = f"it lists {n_resolved} of {n_attempted} questions as resolved ({share}), and nothing lists the others"
    raise InputError(
        what,
        where=str(submission.file),
        remedy="put all_preds.jsonl, logs/ or trajs/ beside metadata.yaml, or other submissions beside its folder",
    )


def _list_attempted(submission: _Submission, build: RowBuilder) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield each source that names questions, with its questions."""
    folder = submission.folder
    if (folder / _PREDICTIONS).is_file():
        yield _PREDICTIONS, (prediction.instance_id for prediction in _read_predictions(folder, build))
    for name in ("logs", "trajs"):
        if (folder / name).is_dir():
            matches = (_ID.match(child.name) for child in (folder / name).iterdir())
            yield f"{name}/", [match[0] for match in matches if match]
    others = [*folder.resolve().parent.glob("*/results/results.json")]
    yield f"{len(others)} submissions", (name for file in others for name in _merge_lists(_read_lists(file), file))


def _read_lists(file: Path) -> Mapping[str, list[str]]:
    """Return the lists of another submission; none where they cannot be read."""
    try:
        return read_json(file, dict[str, list[str]])
    except InputError:
        return {}


def _read_predictions(folder: Path, build: RowBuilder) -> Iterator[_Prediction]:
    """Yield the predictions of a submission."""
    return read_json_lines(folder / _PREDICTIONS, _Prediction, lambda line: build.note(f"{_PREDICTIONS}: {line}"))


def _read_patches(folder: Path, build: RowBuilder) -> dict[str, str | None]:
    """Return the patches by question."""
    if not (folder / _PREDICTIONS).is_file():
        build.note(f"there are no patches: {_PREDICTIONS} is not beside metadata.yaml")
        return {}
    return {prediction.instance_id: prediction.model_patch for prediction in _read_predictions(folder, build)}
