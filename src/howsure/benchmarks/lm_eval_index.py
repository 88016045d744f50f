"""Find and load tasks of lm-evaluation-harness by name, from an index of its tasks that is built once and kept.

The harness takes many seconds to index its own tasks; the index is a file in the user's cache folder for each version.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import random
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from howsure.benchmarks.downloads import locate_cache
from howsure.errors import InputError, UnknownNameError
from howsure.store.atomic import replace_file

if TYPE_CHECKING:
    from lm_eval.api.task import ConfigurableTask as HarnessTask
    from lm_eval.tasks._index import Entry

#: What stands before the name of a task.
PREFIX = "lm_eval/"
#: First version of the harness whose tasks are loaded, and the first that was not tried.
OLDEST, NEWEST = (0, 4, 13), (0, 5)
GENERATIVE = "generate_until"
#: Ends of the names of tasks that generate, where another task of the same questions compares likelihoods.
_GENERATIVE_ENDS = ("generative", "gen", "cot", "chat", "cot_zeroshot", "generative_n_shot")
#: End of the name of a task with choices, which another task of the same questions does not have.
_CHOICES_END = re.compile(r"_(?:mcq?\d?|n_shot|loglikelihood)$")
#: Words in an error of a task that needs access to something.
_KEY = re.compile(r"\b\w*API_?KEY\w*\b", re.IGNORECASE)

Document = Mapping[str, object]
"""A row of the data set of a task."""


class TaskEntry(NamedTuple):
    """What the index has of a task, group or tag."""

    kind: str
    """"task", "py_task", "group" or "tag"."""
    path: str
    """Its file; empty for a tag."""
    members: tuple[str, ...] = ()
    """Names of the tasks and groups of a group or tag."""
    output_type: str = GENERATIVE
    runs_code: bool = False


class LoadedTask(NamedTuple):
    """A task, and the hash of the files that define it."""

    task: HarnessTask
    digest: str


def find_lm_eval() -> str:
    """Return the version of lm-evaluation-harness that is installed.

    Raises
    ------
    InputError
        When there is none, or not one that is supported.
    """
    remedy = 'pip install "howsure[lm-eval]"'
    try:
        version = metadata.version("lm_eval")
    except metadata.PackageNotFoundError:
        what = "the package lm-eval is missing, which has the tasks of lm-evaluation-harness"
        raise InputError(what, where="benchmark", remedy=remedy) from None
    parts = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    if not OLDEST <= parts < NEWEST:
        oldest, newest = (".".join(map(str, one)) for one in (OLDEST, NEWEST))
        what = f"lm-eval {version} is installed, and tasks are loaded with {oldest} or later, before {newest}"
        raise InputError(what, where="benchmark", remedy=remedy)
    return version


def read_task_index(include_paths: Sequence[Path] = ()) -> dict[str, TaskEntry]:
    """Return the tasks, groups and tags of the harness by name; those of `include_paths` come first.

    Raises
    ------
    InputError
        When the harness or a folder is missing.
    """
    index = dict(_read_own_index(find_lm_eval()))
    for folder in include_paths:
        if not folder.is_dir():
            what = "there is no such folder with tasks"
            remedy = "give the folder with the YAML files: include_path: FOLDER, from the experiment's folder"
            raise InputError(what, where=str(folder), remedy=remedy)
        index |= _build_index(folder)
    return index


@lru_cache(maxsize=1)
def _read_own_index(version: str) -> Mapping[str, TaskEntry]:
    """Return the index of the harness's own tasks, built at its first use and kept in the user's cache folder."""
    spec = util.find_spec("lm_eval")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "tasks"
    place = hashlib.sha256(str(folder).encode()).hexdigest()[:8]  # another environment may have other tasks
    file = locate_cache() / f"lm_eval-{version}-{place}.json"
    try:
        stored = json.loads(file.read_bytes())
        return {name: TaskEntry(kind, path, tuple(names), *rest) for name, (kind, path, names, *rest) in stored.items()}
    except (OSError, ValueError, TypeError):
        pass
    index = _build_index(folder)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(file) as draft:
            draft.write_text(json.dumps(index), encoding="utf-8")
    except OSError:  # a folder that cannot be written costs time only
        pass
    return index


def _build_index(folder: Path) -> dict[str, TaskEntry]:
    """Return the tasks, groups and tags of a folder as the harness indexes them."""
    with silence_harness():
        raw_tasks: Mapping[str, Entry] = importlib.import_module("lm_eval.tasks._index").TaskIndex.build([folder])
    return {name: _summarize_entry(entry) for name, entry in raw_tasks.items()}


def _summarize_entry(entry: Entry) -> TaskEntry:
    """Return what is kept of an entry of the harness's index."""
    kind, config = entry.kind.name.lower(), entry.cfg or {}
    members = sorted(entry.tags) if kind == "tag" else _list_names(config.get("task")) if kind == "group" else []
    path = "" if entry.yaml_path is None else str(entry.yaml_path)
    output_type = str(config.get("output_type", GENERATIVE))
    return TaskEntry(kind, path, tuple(members), output_type, bool(config.get("unsafe_code")))


def _list_names(members: object) -> list[str]:
    """Return the names of the members of a group, some of which are written with settings."""
    names = []
    for member in members if isinstance(members, list) else [members]:
        named = member.get("group", member.get("task")) if isinstance(member, dict) else member
        names += [one for one in (named if isinstance(named, list) else [named]) if isinstance(one, str)]
    return names


def read_task_config(path: Path) -> dict[str, object]:
    """Return the settings in a task file with those that it includes; functions stay names.

    Raises
    ------
    InputError
        When the file is not YAML of a task.
    """
    loader = importlib.import_module("lm_eval.tasks._yaml_loader")
    try:
        config: dict[str, object] = loader.load_yaml(path, resolve_func=False)
    except Exception as error:  # noqa: BLE001  # YAML of others may fail in any way
        remedy = "fix the file; lm-eval reads it the same way"
        raise InputError(f"the task cannot be read: {_first_line(error)}", where=str(path), remedy=remedy) from None
    return config


def load_tasks(
    name: str,
    *,
    include_paths: Sequence[Path] = (),
    task_metadata: Mapping[str, object] | None = None,
    allow_unsafe_code: bool = False,
) -> list[LoadedTask]:
    """Return a task of the harness with its data set, or the tasks of a group or tag.

    Parameters
    ----------
    name
        Name of a task, group or tag, without prefix.
    include_paths
        Folders with tasks of the user's own.
    task_metadata
        What the harness takes as `--metadata`.
    allow_unsafe_code
        Whether tasks that run generated code are loaded.

    Raises
    ------
    UnknownNameError
        When there is no such task.
    InputError
        When a task compares likelihoods, runs code, or cannot be loaded.
    """
    where = f"benchmark {PREFIX}{name}"
    index = read_task_index(include_paths)
    with silence_harness():
        leaves = list_members(name, index)
        if not leaves:
            raise UnknownNameError("task of lm-eval", name, index, where="benchmark")
        _check_members(name, leaves, index, where=where, allow_unsafe_code=allow_unsafe_code)
        module = importlib.import_module("lm_eval.tasks._index")
        try:
            manager = importlib.import_module("lm_eval.tasks").TaskManager(
                include_path=[*include_paths], include_defaults=False, metadata=dict(task_metadata or {}) or None
            )
            # The manager of the supported versions reads its index only; that of its own tasks is the one kept here.
            manager._index = {  # noqa: SLF001  # the harness has no public way to give it an index
                one: module.Entry(
                    one,
                    module.Kind[entry.kind.upper()],
                    Path(entry.path) if entry.path else None,
                    None,
                    {*entry.members},
                )
                for one, entry in index.items()
            }
            tasks: Mapping[str, HarnessTask] = manager.load([name])["tasks"]
        except Exception as error:  # noqa: BLE001  # code and data of a task may fail in any way
            raise describe_failure(error, where) from None
    paths = [leaves.get(task.config.task) or next(iter(leaves.values())) for task in tasks.values()]
    return [LoadedTask(task, _hash_files(Path(path))) for task, path in zip(tasks.values(), paths, strict=True)]


@contextmanager
def silence_harness() -> Iterator[None]:
    """Keep warnings of the harness and its libraries, and progress bars, out of the output."""
    loggers = [logging.getLogger(name) for name in ("lm_eval", "datasets", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not sys.stderr.isatty() and util.find_spec("datasets") is not None:
            importlib.import_module("datasets").disable_progress_bars()
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


@contextmanager
def seed_harness() -> Iterator[None]:
    """Seed the global generators as the harness does before it loads tasks, some of which shuffle choices."""
    import numpy as np

    # The code of lm-eval's tasks draws from numpy's global generator; a np.random.Generator of ours would not reach it.
    numbers = random.getstate()
    arrays = np.random.get_state()  # noqa: NPY002  # the global generator is the one that tasks draw from: it is kept
    random.seed(0)
    np.random.seed(1234)  # noqa: NPY002  # the seed that the harness gives the global generator, from which tasks draw
    try:
        yield
    finally:
        random.setstate(numbers)
        np.random.set_state(arrays)  # noqa: NPY002  # the caller's global generator is as it was


def describe_failure(error: Exception, where: str) -> InputError:
    """Return in one line why a task, its data set or its metrics cannot be had, and what helps."""
    text = _first_line(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        what = f"the task needs the package {error.name.partition('.')[0]}"
        return InputError(what, where=where, remedy=f"pip install {error.name.partition('.')[0]}: lm-eval asks for it")
    if isinstance(error, ImportError) or (isinstance(error, AssertionError) and "pip install" in str(error)):
        return InputError(
            f"a package of the task is missing, or has another version: {text}", where=where, remedy="install it"
        )
    if key := _KEY.search(str(error)):
        what = f"the task needs a key of its own: {text}"
        return InputError(what, where=where, remedy=f"export {key[0].upper()}=..., or choose a task without a judge")
    kind = type(error).__name__
    if kind == "GatedRepoError" or "gated" in text.lower():
        remedy = "ask for access on the data set's page, and set HF_TOKEN"
        return InputError(f"access to its data set has to be granted first: {text}", where=where, remedy=remedy)
    if isinstance(error, OSError) or kind in {"DatasetNotFoundError", "DataFilesNotFoundError"}:
        remedy = "check the network and HF_TOKEN; files that the task names in data_files start from the current folder"
        return InputError(f"its data set cannot be loaded: {text}", where=where, remedy=remedy)
    remedy = "see whether lm-eval itself can load it; a task of your own may have to be fixed"
    return InputError(f"the harness cannot load the task: {kind}: {text}", where=where, remedy=remedy)


def _first_line(error: Exception) -> str:
    """Return the first line of an error, cut to 200 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__


def list_members(name: str, index: Mapping[str, TaskEntry], groups: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the file of each task of a group or tag by name, or of the task itself; empty if there is none.

    Parameters
    ----------
    name
        Name of a task, group or tag, without prefix.
    index
        All tasks, groups and tags, as from `read_task_index`.
    groups
        Groups in which the name is a member, so that a group that contains itself ends.
    """
    entry = index.get(name)
    if entry is None:
        return {}
    if entry.kind not in {"group", "tag"} or name in groups:
        return {name: entry.path}
    leaves: dict[str, str] = {}
    for member in entry.members:
        # A member that is defined in the file of the group itself has no file of its own.
        leaves |= list_members(member, index, groups | {name}) or {member: entry.path}
    return leaves


def _check_members(
    name: str, leaves: Mapping[str, str], index: Mapping[str, TaskEntry], *, where: str, allow_unsafe_code: bool
) -> None:
    """Raise InputError, before any data set is loaded, if a task compares likelihoods or runs generated code."""
    tasks = [index[task] for task in leaves if task in index]
    others = [entry.output_type for entry in tasks if entry.output_type != GENERATIVE]
    if others:
        verb = "compares the likelihoods of given texts" if len(leaves) == 1 else "compare likelihoods of given texts"
        subject = "the task" if len(leaves) == 1 else f"{len(others)} of its {len(leaves)} tasks"
        what = f"{subject} {verb} ({others[0]}), so there are no completions to sample"
        stems = (name, _CHOICES_END.sub("", name))
        twins = dict.fromkeys(f"{stem}_{end}" for stem in stems for end in _GENERATIVE_ENDS if f"{stem}_{end}" in index)
        remedy = (
            "choose a task that generates: " + ", ".join(PREFIX + twin for twin in twins)
            if twins
            else "choose a task of output type generate_until, or run lm-eval and give its logs to howsure"
        )
        raise InputError(what, where=where, remedy=remedy)
    if any(entry.runs_code for entry in tasks) and not allow_unsafe_code:
        what = "its metric runs the generated code in this process, without a sandbox"
        remedy = "add confirm_run_unsafe_code: true and set HF_ALLOW_CODE_EVAL=1 to allow it"
        raise InputError(what, where=where, remedy=remedy)


def _hash_files(path: Path) -> str:
    """Return the hash of the settings of a task, and of the Python files beside it."""
    config = json.dumps(read_task_config(path), sort_keys=True, default=str)
    digest = hashlib.sha256(config.encode())
    for file in sorted(path.parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
