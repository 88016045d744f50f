"""Find and load tasks of lm-evaluation-harness by name, without the 20 seconds that its own index of all tasks takes.

A scan of the task files finds the file of a task, or those of a group and its members; only their folders are indexed.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import metadata, util
from pathlib import Path
from typing import NamedTuple, Protocol

from howsure.errors import InputError, UnknownNameError

#: What stands before the name of a task.
PREFIX = "lm_eval/"
#: First version of the harness whose tasks are loaded, and the first that was not tried.
OLDEST, NEWEST = (0, 4, 13), (0, 5)
GENERATIVE = "generate_until"
#: Words in the names of tasks that generate, where another task of the same questions compares likelihoods.
_GENERATIVE_WORDS = {"generative", "gen", "cot", "chat", "instruct", "generation", "seq2seq", "fewshot", "llama"}
#: Words that names of two tasks with the same questions may differ in.
_FORM_WORDS = {"mc", "mc1", "mc2", "mcq", "n", "shot", "zeroshot", "loglikelihood", "5shot", "0shot"}
_NAME = re.compile(r"""^["']?(task|group)["']?[ \t]*:[ \t]*["']?([^\s"'#\[\]]+)""", re.MULTILINE)
_CLASS = re.compile(r"""^["']?class["']?[ \t]*:""", re.MULTILINE)
#: Words in an error of a task that needs access to something.
_KEY = re.compile(r"\b\w*API_?KEY\w*\b", re.IGNORECASE)

Document = Mapping[str, object]
"""A row of the data set of a task."""


class HarnessConfig(Protocol):
    """The settings of a task of the harness, as far as they are read."""

    task: str
    dataset_path: str | None
    generation_kwargs: dict[str, object] | None
    num_fewshot: int | None
    metric_list: list[dict[str, object]] | None
    repeats: int
    unsafe_code: bool
    metadata: Mapping[str, object] | None
    doc_to_choice: object
    fewshot_delimiter: str


class HarnessTask(Protocol):
    """A task of the harness, as far as it is used."""

    config: HarnessConfig
    VERSION: object
    OUTPUT_TYPE: str | None
    eval_docs: Sequence[Document]
    _filters: list[HarnessFilter]

    def get_config(self, key: str) -> object:
        """Return a setting."""
        ...

    def set_config(self, key: str, value: object, update: bool = False) -> None:
        """Change a setting."""
        ...

    def set_fewshot_seed(self, seed: int) -> None:
        """Seed the draws of demonstrations."""
        ...

    def doc_to_text(self, doc: Document) -> object:
        """Return the question of a row."""
        ...

    def doc_to_target(self, doc: Document) -> object:
        """Return the target of a row."""
        ...

    def doc_to_choice(self, doc: Document) -> Sequence[str]:
        """Return the choices of a row."""
        ...

    def doc_to_prefix(self, doc: Document) -> str | None:
        """Return the text with which a completion begins."""
        ...

    def fewshot_context(self, doc: Document, **options: object) -> object:
        """Return the whole prompt of a row."""
        ...

    def construct_requests(self, **options: object) -> object:
        """Return the requests of a row."""
        ...

    def process_results(self, doc: Document, results: list[object]) -> Mapping[str, object]:
        """Return the metrics of the filtered completions of a row."""
        ...

    def aggregation(self) -> Mapping[str, Callable[[list[object]], object]]:
        """Return the function that aggregates each metric."""
        ...

    def higher_is_better(self) -> Mapping[str, bool]:
        """Return whether a higher value of each metric is better."""
        ...


class HarnessRequest(Protocol):
    """A request of the harness, as far as it is read."""

    request_type: str
    args: tuple[object, ...]


class HarnessFilter(Protocol):
    """The filters of a task that together have a name."""

    name: str

    def apply(self, instances: list[object]) -> None:
        """Add the filtered completions to each instance."""
        ...


class TaskFile(NamedTuple):
    """Where a task or group is defined."""

    kind: str
    """"task" or "group"."""
    path: Path


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


def list_task_files(include_paths: Sequence[Path] = ()) -> dict[str, TaskFile]:
    """Return the file of each task and group of the harness by name; those of `include_paths` come first.

    Raises
    ------
    InputError
        When the harness or a folder is missing.
    """
    find_lm_eval()
    files = dict(_list_own_names(_find_own_folder()))
    for folder in include_paths:
        if not folder.is_dir():
            what = "there is no such folder with tasks"
            remedy = "give the folder with the YAML files: include_path: FOLDER, from the experiment's folder"
            raise InputError(what, where=str(folder), remedy=remedy)
        files |= _list_names(_read_texts(folder))
    return files


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
    files = list_task_files(include_paths)
    with silence_harness():
        leaves = list_members(name, files, include_paths)
        if not leaves:
            raise UnknownNameError("task of lm-eval", name, files, where="benchmark")
        _check_members(name, leaves, files, where=where, allow_unsafe_code=allow_unsafe_code)
        tasks = _load_members(name, leaves, include_paths, task_metadata, where)
    return [LoadedTask(task, _hash_files(_find_path(task, leaves, files))) for task in tasks]


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


def _find_own_folder() -> Path:
    """Return the folder with the harness's own tasks, without importing it."""
    spec = util.find_spec("lm_eval")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "tasks"


@lru_cache(maxsize=1)
def _read_own_texts(folder: Path) -> Mapping[Path, str]:
    """Return the texts of the harness's own task files."""
    return _read_texts(folder)


@lru_cache(maxsize=1)
def _list_own_names(folder: Path) -> Mapping[str, TaskFile]:
    """Return the harness's own tasks and groups by name."""
    return _list_names(_read_own_texts(folder))


def _read_texts(folder: Path) -> dict[Path, str]:
    """Return the text of each YAML file in a folder; templates that others include may have no suffix."""
    paths = sorted(path for path in folder.rglob("*") if path.name.endswith(("yaml", "yml")) and path.is_file())
    return {path: path.read_text(encoding="utf-8", errors="replace") for path in paths}


def _list_names(texts: Mapping[Path, str]) -> dict[str, TaskFile]:
    """Return the tasks and groups that files define, by name."""
    files: dict[str, TaskFile] = {}
    for path, text in texts.items():
        if path.suffix == ".yaml":
            matches = {match[1]: match[2] for match in _NAME.finditer(text)}
            # The file of a group has the key `task` too, for its members; a task with a class may name its group.
            order = ("task", "group") if _CLASS.search(text) else ("group", "task")
            if kind := next((kind for kind in order if kind in matches), None):
                files.setdefault(matches[kind], TaskFile(kind, path))
    return files


def list_members(
    name: str, files: Mapping[str, TaskFile], include_paths: Sequence[Path] = (), groups: frozenset[str] = frozenset()
) -> dict[str, Path]:
    """Return the file of each task of a group or tag by name, or of the task itself; empty if there is none.

    Parameters
    ----------
    name
        Name of a task, group or tag, without prefix.
    files
        Files of all tasks and groups, as from `list_task_files`.
    include_paths
        Folders with tasks of the user's own.
    groups
        Groups in which the name is a member, so that a group that contains itself ends.
    """
    entry = files.get(name)
    if entry is None:
        return _find_tagged(name, files, include_paths)
    if entry.kind == "task" or name in groups:
        return {name: entry.path}
    members = read_task_config(entry.path).get("task")
    leaves: dict[str, Path] = {}
    for member in members if isinstance(members, list) else [members]:
        inner = member
        if isinstance(member, dict):
            inner = member.get("group") if member.get("group") in files else member.get("task")
        for one in inner if isinstance(inner, list) else [inner]:
            if isinstance(one, str):
                # A member that is defined in the file of the group itself has no file of its own.
                leaves |= list_members(one, files, include_paths, groups | {name}) or {one: entry.path}
    return leaves


def _find_tagged(name: str, files: Mapping[str, TaskFile], include_paths: Sequence[Path]) -> dict[str, Path]:
    """Return the file of each task with a tag by name: of those that mention it, or include a file that does."""
    texts = dict(_read_own_texts(_find_own_folder()))
    for folder in include_paths:
        texts |= _read_texts(folder)
    mentioned = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    matches = {path for path, text in texts.items() if mentioned.search(text)}
    added = matches
    while added:
        names = re.compile("|".join(rf"(?<![\w-]){re.escape(path.name)}(?![\w.])" for path in added))
        included = re.compile(rf"^include:.*(?:{names.pattern})", re.MULTILINE)
        added = {path for path, text in texts.items() if "include:" in text and included.search(text)} - matches
        matches |= added
    leaves = {}
    for task, entry in files.items():
        if entry.kind == "task" and entry.path in matches:
            tags = read_task_config(entry.path).get("tag")
            if name in (tags if isinstance(tags, list) else [tags]):
                leaves[task] = entry.path
    return leaves


def _check_members(
    name: str, leaves: Mapping[str, Path], files: Mapping[str, TaskFile], *, where: str, allow_unsafe_code: bool
) -> None:
    """Raise InputError, before any data set is loaded, if a task compares likelihoods or runs generated code."""
    configs = {task: read_task_config(path) for task, path in leaves.items() if task in files}
    types = {task: str(config.get("output_type", GENERATIVE)) for task, config in configs.items()}
    others = {task: kind for task, kind in types.items() if kind != GENERATIVE}
    if others:
        kind = next(iter(others.values()))
        verb = "compares the likelihoods of given texts" if len(leaves) == 1 else "compare likelihoods of given texts"
        subject = "the task" if len(leaves) == 1 else f"{len(others)} of its {len(leaves)} tasks"
        what = f"{subject} {verb} ({kind}), so there are no completions to sample"
        twins = _find_twins(name, files)
        remedy = (
            "choose a task that generates: " + ", ".join(PREFIX + twin for twin in twins)
            if twins
            else "choose a task of output type generate_until, or run lm-eval and give its logs to howsure"
        )
        raise InputError(what, where=where, remedy=remedy)
    unsafe = [task for task, config in configs.items() if config.get("unsafe_code")]
    if unsafe and not allow_unsafe_code:
        what = "its metric runs the generated code in this process, without a sandbox"
        remedy = "add confirm_run_unsafe_code: true and set HF_ALLOW_CODE_EVAL=1 to allow it"
        raise InputError(what, where=where, remedy=remedy)


def _find_twins(name: str, files: Mapping[str, TaskFile]) -> list[str]:
    """Return names of tasks that generate answers to the same questions, the most similar first; at most three."""
    words = re.split(r"[_-]", name)
    core = [word for word in words if word not in _FORM_WORDS]
    ranked = []
    for other in files:
        rest = re.split(r"[_-]", other)
        if not {*core} <= {*rest}:
            continue
        extra = {*rest} - {*core}
        if extra & _GENERATIVE_WORDS and extra <= _GENERATIVE_WORDS | _FORM_WORDS and rest[: len(core)] == core:
            ranked.append((len(extra), len(other), other))
    twins = []
    for _, _, other in sorted(ranked):
        members = list_members(other, files)
        kinds = {read_task_config(path).get("output_type", GENERATIVE) for path in list(members.values())[:3]}
        if kinds == {GENERATIVE}:
            twins.append(other)
        if len(twins) == 3:
            break
    return twins


def _load_members(
    name: str,
    leaves: Mapping[str, Path],
    include_paths: Sequence[Path],
    task_metadata: Mapping[str, object] | None,
    where: str,
) -> list[HarnessTask]:
    """Return the tasks, loaded by the harness from an index of the folders in which they are defined."""
    files = list_task_files(include_paths)
    folders = {path.parent for path in leaves.values()}
    if name in files:
        folders.add(files[name].path.parent)
    own = _find_own_folder()
    ordered = sorted(folders, key=lambda folder: (own not in folder.parents, str(folder)))
    try:
        manager = importlib.import_module("lm_eval.tasks").TaskManager(
            include_path=ordered, include_defaults=False, metadata=dict(task_metadata) if task_metadata else None
        )
        wanted = [name] if name in manager.all_tasks and name in files else sorted(leaves)
        tasks: Mapping[str, HarnessTask] = manager.load(wanted)["tasks"]
    except Exception as error:  # noqa: BLE001  # code and data of a task may fail in any way
        raise describe_failure(error, where) from None
    return list(tasks.values())


def _find_path(task: HarnessTask, leaves: Mapping[str, Path], files: Mapping[str, TaskFile]) -> Path:
    """Return the file that defines a task."""
    name = task.config.task
    if name in leaves:
        return leaves[name]
    return files[name].path if name in files else next(iter(leaves.values()))


def _hash_files(path: Path) -> str:
    """Return the hash of the settings of a task, and of the Python files beside it."""
    config = json.dumps(read_task_config(path), sort_keys=True, default=str)
    digest = hashlib.sha256(config.encode())
    for file in sorted(path.parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
