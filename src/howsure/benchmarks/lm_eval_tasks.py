"""Sample tasks of lm-evaluation-harness: its prompts, generation settings, filters and metrics.

In an experiment::

    benchmark: lm_eval/gsm8k
    benchmark: {name: lm_eval/gsm8k, filter: flexible-extract, num_fewshot: 5}
    benchmark: {name: lm_eval/my_task, include_path: tasks}
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from howsure.benchmarks.lm_eval_index import (
    PREFIX,
    Document,
    LoadedTask,
    describe_failure,
    find_lm_eval,
    load_tasks,
    read_task_config,
    read_task_index,
    seed_harness,
    silence_harness,
)
from howsure.benchmarks.lm_eval_scorer import TaskDocument, TaskScore, build_task_scorer, choose_score
from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.errors import InputError, UnknownNameError
from howsure.notes import Note, warn

if TYPE_CHECKING:
    from lm_eval.api.task import ConfigurableTask as HarnessTask

#: Keys of an experiment, with the harness's own names where it has one.
OPTIONS = (
    *("filter", "metric", "num_fewshot", "system_instruction", "apply_chat_template", "fewshot_as_multiturn"),
    *("fewshot_random_seed", "gen_kwargs", "include_path", "metadata", "confirm_run_unsafe_code"),
)
_TYPES: dict[str, tuple[type, ...]] = {
    "filter": (str,),
    "metric": (str,),
    "num_fewshot": (int,),
    "system_instruction": (str,),
    "apply_chat_template": (bool,),
    "fewshot_as_multiturn": (bool,),
    "fewshot_random_seed": (int,),
    "gen_kwargs": (dict,),
    "include_path": (str, list),
    "metadata": (dict,),
    "confirm_run_unsafe_code": (bool,),
}
#: The harness's default seed of the draws of demonstrations.
_FEWSHOT_SEED = 1234
#: Names of the harness for settings, and ours; the first that is given counts.
_LENGTHS = ("max_tokens", "max_gen_toks", "max_new_tokens", "max_completion_tokens")
#: Largest number of other answers of a question.
_MOST_ALTERNATIVES = 4
_STOPS = ("until", "stop")


def is_task_name(name: str) -> bool:
    """Return whether a name of a benchmark is that of a task of the harness.

    >>> is_task_name("lm_eval/gsm8k"), is_task_name("gsm8k")
    (True, False)
    """
    return name.startswith(PREFIX) or name == PREFIX.rstrip("/")


def describe_task(name: str, *, include_paths: Sequence[Path] = ()) -> dict[str, object]:
    """Return what the harness's files say about a task, without its data set.

    Parameters
    ----------
    name
        Such as `lm_eval/gsm8k`.
    include_paths
        Folders with tasks of the user's own.

    Raises
    ------
    UnknownNameError
        When no task or group has this name.
    InputError
        When lm-eval is missing.
    """
    version, task = find_lm_eval(), name.removeprefix(PREFIX)
    index = read_task_index(include_paths)
    if task not in index:
        raise UnknownNameError("task of lm-eval", task, index, where="benchmark")
    entry = index[task]
    if entry.kind in {"group", "tag"}:
        return {"name": name, "title": f"a {entry.kind} of lm-eval {version}", "tasks": ", ".join(entry.members)}
    config = read_task_config(Path(entry.path))
    filters = cast("list[dict[str, object]]", config.get("filter_list") or [{"name": "none"}])
    metrics = cast("list[dict[str, object]]", config.get("metric_list") or [{"metric": "exact_match"}])
    own = config.get("metadata")
    row: dict[str, object] = {
        "name": name,
        "title": f"a task of lm-eval {version}",
        "output": config.get("output_type", "generate_until"),
        "data": " ".join(str(config[key]) for key in ("dataset_path", "dataset_name") if config.get(key)),
        "filters": ", ".join(str(one["name"]) for one in filters),
        "metrics": ", ".join(str(one["metric"]) for one in metrics),
        "shots": config.get("num_fewshot") or 0,
        "generation": json.dumps(config.get("generation_kwargs") or {}, default=str),
        "version": str(own.get("version", "")) if isinstance(own, dict) else "",
        "runs code": bool(config.get("unsafe_code")),
    }
    return row


def load_task(name: str, options: Mapping[str, object], *, base: Path = Path()) -> Benchmark:
    """Return a task of the harness, or the tasks of a group, as a benchmark.

    Parameters
    ----------
    name
        `lm_eval/` and the name of a task, group or tag.
    options
        Any of `OPTIONS`: `filter` and `metric` (which of them is the score; by default the first ones), `num_fewshot`,
        `system_instruction`, `apply_chat_template` (messages for a chat model, by default true; false: one plain text),
        `fewshot_as_multiturn` (demonstrations as turns, by default true), `fewshot_random_seed` (1234), `gen_kwargs`
        (generation settings that replace those of the task; null removes one), `include_path` (folder of tasks, or a
        list), `metadata`, and `confirm_run_unsafe_code` (allows tasks that run generated code).
    base
        Folder to which a relative `include_path` refers.

    Raises
    ------
    UnknownNameError
        When there is no such task, option, filter or metric.
    InputError
        When lm-eval is missing, the task cannot be loaded, or is none that can be sampled.
    """
    task_name = name.removeprefix(PREFIX)
    where = f"benchmark {name}"
    _check_options(name, options)
    version = find_lm_eval()
    questions: list[Question] = []
    documents: dict[str, TaskDocument] = {}
    strata: list[str] = []
    scores: dict[str, TaskScore] = {}
    with silence_harness(), seed_harness():
        loaded = load_tasks(
            task_name,
            include_paths=_find_include_paths(options, base),
            task_metadata=cast("dict[str, object] | None", options.get("metadata")),
            allow_unsafe_code=bool(options.get("confirm_run_unsafe_code")),
        )
        for one in loaded:
            label = one.task.config.task
            at = where if len(loaded) == 1 else f"{where}, {label}"
            _apply_options(one.task, options)
            scores[label] = choose_score(
                one.task,
                cast("str | None", options.get("filter")),
                cast("str | None", options.get("metric")),
                at,
                probes=not one.task.config.unsafe_code or bool(options.get("confirm_run_unsafe_code")),
            )
            added = _build_questions(one.task, scores[label], options, documents, at)
            questions += added
            strata += [label] * len(added)
    _warn_of_choices(name, loaded, scores, options)
    decoding = _read_decoding(loaded, where)
    scorer = build_task_scorer(documents, loaded, version)
    return Benchmark(
        name=name,
        questions=questions,
        prompt=Prompt(),
        extract=lambda text: text.strip() or None,
        scorer=scorer,
        strata={"task": strata} if len(loaded) > 1 else {},
        decoding=decoding,
        source=_build_source(name, options, loaded, scores, version, questions, scorer.name),
    )


def _check_options(name: str, options: Mapping[str, object]) -> None:
    """Raise an error for an unknown option, or a value of another kind."""
    for key, value in options.items():
        if key not in OPTIONS:
            raise UnknownNameError(f"option of benchmark {name}", str(key), OPTIONS)
        is_boolean = isinstance(value, bool)
        if not isinstance(value, _TYPES[key]) or (is_boolean and bool not in _TYPES[key]):
            kinds = {
                str: "text",
                int: "a whole number",
                bool: "true or false",
                dict: "keys with values",
                list: "a list",
            }
            remedy = "give " + " or ".join(kinds[kind] for kind in _TYPES[key])
            raise InputError(f"{key} is {value!r}", where=f"benchmark {name}", remedy=remedy)
        if key == "num_fewshot" and cast("int", value) < 0:
            raise InputError(f"num_fewshot is {value}", where=f"benchmark {name}", remedy="give 0 or more")


def _find_include_paths(options: Mapping[str, object], base: Path) -> list[Path]:
    """Return the folders with tasks of the user's own."""
    given = options.get("include_path", [])
    return [base / str(one) for one in (given if isinstance(given, list) else [given])]


def _apply_options(task: HarnessTask, options: Mapping[str, object]) -> None:
    """Change a task as the harness changes it for the options of its command line."""
    if given := options.get("gen_kwargs"):
        task.set_config("generation_kwargs", {**cast("dict[str, object]", given)}, update=True)
    wanted, own = options.get("num_fewshot"), task.get_config("num_fewshot")
    # A task that sets 0 keeps it.
    if wanted is not None and own != 0:
        task.set_config("num_fewshot", wanted)
    elif own is None:
        task.set_config("num_fewshot", 0)
    task.set_fewshot_seed(cast("int", options.get("fewshot_random_seed", _FEWSHOT_SEED)))


def _build_questions(
    task: HarnessTask,
    score: TaskScore,
    options: Mapping[str, object],
    documents: dict[str, TaskDocument],
    where: str,
) -> list[Question]:
    """Return the questions of a task with their messages, and add its rows to `documents`."""
    questions = []
    try:
        # Demonstrations are drawn one question after the other, so the order is that of the harness.
        for place, document in enumerate(task.eval_docs):
            turns = _build_turns(task, document, place, options, where)
            name, number = _hash_document(document), 1
            key = name
            while key in documents:
                number += 1
                key = f"{name}-{number}"
            documents[key] = TaskDocument(task, document, place, score)
            text = task.doc_to_text(document)
            targets = _read_targets(task, document)
            questions.append(
                Question(
                    key,
                    text if isinstance(text, str) and text.strip() else turns[-1][1],
                    targets[0],
                    accepted=tuple(dict.fromkeys(targets[1:])),
                    stratum=task.config.task,
                    turns=turns,
                )
            )
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001  # code of a task may raise anything
        raise describe_failure(error, where) from None
    if not questions:
        raise InputError("its data set has no questions", where=where, remedy="give a split with rows")
    return _add_alternatives(questions)


def _add_alternatives(questions: Sequence[Question]) -> list[Question]:
    """Return the questions with the targets of those that follow as other answers, which simulated models give."""
    targets = [*dict.fromkeys(question.target for question in questions if question.target)]
    places = {target: place for place, target in enumerate(targets)}
    completed = []
    for question in questions:
        start = places.get(question.target, -1) + 1
        others = [targets[(start + step) % len(targets)] for step in range(min(_MOST_ALTERNATIVES, len(targets)))]
        right = {question.target, *question.accepted}
        completed.append(replace(question, alternatives=tuple(one for one in others if one not in right)))
    return completed


def _build_turns(
    task: HarnessTask, document: Document, place: int, options: Mapping[str, object], where: str
) -> tuple[tuple[str, str], ...]:
    """Return the messages of a question as (role, content), as the harness sends them."""
    is_chat = bool(options.get("apply_chat_template", True))
    context = task.fewshot_context(
        document,
        num_fewshot=task.config.num_fewshot or 0,
        system_instruction=options.get("system_instruction"),
        apply_chat_template=is_chat,
        fewshot_as_multiturn=bool(options.get("fewshot_as_multiturn", True)),
        chat_template=_write_messages if is_chat else None,
        gen_prefix=task.doc_to_prefix(document),
    )
    requested = task.construct_requests(
        doc=document,
        ctx=context,
        metadata=(task.config.task, place, task.config.repeats),
        apply_chat_template=is_chat,
        chat_template=_write_messages if is_chat else None,
    )
    requests = requested if isinstance(requested, list) else [requested]
    kinds = sorted({str(request.request_type) for request in requests})
    if len(requests) != 1 or kinds != ["generate_until"]:
        what = f"it sends {len(requests)} requests for a question ({', '.join(kinds)}), not one that generates"
        raise InputError(
            what, where=where, remedy="choose a task that only generates, or give lm-eval's logs to howsure"
        )
    arguments = requests[0].args
    if len(arguments) > 2:
        what = "its questions have images or sound, which are not sent"
        raise InputError(what, where=where, remedy="choose a task of texts")
    if not is_chat:
        return (("user", str(arguments[0])),)
    try:
        messages = json.loads(str(arguments[0]))
    except ValueError:
        what = "the task changes its prompt after the chat messages are built"
        raise InputError(what, where=where, remedy="add apply_chat_template: false") from None
    return tuple((str(message["role"]), str(message["content"])) for message in messages)


def _write_messages(messages: object, *, add_generation_prompt: bool = True) -> str:
    """Return chat messages as JSON, in place of the template of a tokenizer."""
    del add_generation_prompt
    return json.dumps(messages, ensure_ascii=False)


def _hash_document(document: Document) -> str:
    """Return the hash by which the harness's logs name a row, so that runs can be compared with logs."""
    utils = importlib.import_module("lm_eval.utils")
    text = json.dumps(document, indent=2, default=utils.handle_non_serializable, ensure_ascii=False)
    return str(utils.hash_string(text))


def _read_targets(task: HarnessTask, document: Document) -> list[str]:
    """Return the right answers of a row as texts."""
    target = task.doc_to_target(document)
    if task.config.doc_to_choice is not None and isinstance(target, int):
        choices = task.doc_to_choice(document)
        target = choices[target] if 0 <= target < len(choices) else target
    targets = list(target) if isinstance(target, list | tuple) else [target]
    return [str(one) for one in targets if one is not None] or [""]


def _read_decoding(loaded: Sequence[LoadedTask], where: str) -> dict[str, object]:
    """Return the generation settings that the tasks share, by the names of `models.Settings`."""
    by_task = {one.task.config.task: _convert_settings(one.task.config.generation_kwargs or {}) for one in loaded}
    first = next(iter(by_task.values()))
    if other := next((task for task, settings in by_task.items() if settings != first), None):
        what = f"the tasks {next(iter(by_task))} and {other} have different generation settings"
        remedy = "run them as benchmarks of their own, or give settings for all with gen_kwargs"
        raise InputError(what, where=where, remedy=remedy)
    return first


def _convert_settings(given: Mapping[str, object]) -> dict[str, object]:
    """Return generation settings of the harness as it sends them to a chat endpoint."""
    # Without a temperature the harness decodes greedily; do_sample concerns only models that it runs itself.
    settings: dict[str, object] = {"temperature": given.get("temperature", 0.0)}
    length = next((given[name] for name in _LENGTHS if given.get(name) is not None), None)
    if length is not None:
        settings["max_tokens"] = int(cast("int", length))
    stops = next((given[name] for name in _STOPS if given.get(name) is not None), None)
    if stops is not None:
        texts = [stops] if isinstance(stops, str) else list(cast("list[str]", stops))
        settings["stop"] = [text for text in texts if text][:4]
    if given.get("top_p") is not None:
        settings["top_p"] = float(cast("float", given["top_p"]))
    named = {*_LENGTHS, *_STOPS, "temperature", "top_p", "do_sample"}
    settings["extra"] = {key: value for key, value in given.items() if key not in named and value is not None}
    return {key: value for key, value in settings.items() if value not in (None, [], {})}


def _warn_of_choices(
    name: str, loaded: Sequence[LoadedTask], scores: Mapping[str, TaskScore], options: Mapping[str, object]
) -> None:
    """Say which filter and metric give the score where the task has several, and what differs."""
    first = next(iter(scores.values()))
    open_choices = [
        (key, chosen, others)
        for key, chosen, others in (
            ("filter", first.filter, [one for one in first.filters if one != first.filter]),
            ("metric", first.metric, [one for one in first.metrics if one != first.metric]),
        )
        if others and key not in options
    ]
    for key, chosen, others in open_choices:
        facts = {"key": key, "chosen": chosen, "others": " or ".join(others)}
        warn(Note("task-choice", name, facts=facts), stacklevel=3)
    if not first.higher_is_better:
        warn(Note("lower-is-better", name, facts={"metric": first.metric}), stacklevel=3)
    if options.get("num_fewshot") and all(one.task.config.num_fewshot == 0 for one in loaded):
        warn(Note("zero-shot-task", name), stacklevel=3)
    repeats = max(one.task.config.repeats for one in loaded)
    if repeats > 1:
        warn(Note("task-repeats", name, n=repeats), stacklevel=3)


def _build_source(
    name: str,
    options: Mapping[str, object],
    loaded: Sequence[LoadedTask],
    scores: Mapping[str, TaskScore],
    version: str,
    questions: Sequence[Question],
    scorer: str,
) -> dict[str, str]:
    """Return what the manifest says about the benchmark."""
    content = json.dumps([(question.id, question.turns, question.stored_target) for question in questions])
    # The manifest has no folders of this machine.
    folders = [path.name if path.is_absolute() else path.as_posix() for path in _find_include_paths(options, Path())]
    spec = {"name": name, **options} | ({"include_path": folders} if folders else {})
    versions = {one.task.config.task: str(one.task.VERSION) for one in loaded}
    chosen = {task: f"{score.filter}/{score.metric}" for task, score in scores.items()}
    shots = {str(one.task.config.num_fewshot or 0) for one in loaded}
    source = {
        "kind": "lm_eval",
        "name": name,
        "scorer": scorer,
        "score_of": next(iter(chosen.values())) if len({*chosen.values()}) == 1 else json.dumps(chosen),
        "filters": ", ".join(next(iter(scores.values())).filters),
        "metrics": ", ".join(next(iter(scores.values())).metrics),
        "data": ", ".join(dict.fromkeys(str(one.task.config.dataset_path) for one in loaded)),
        "task_version": next(iter(versions.values())) if len(loaded) == 1 else json.dumps(versions),
        "lm_eval": version,
        "config": hashlib.sha256("".join(one.digest for one in loaded).encode()).hexdigest()[:12],
        "num_fewshot": ", ".join(sorted(shots)),
        "generation": json.dumps(loaded[0].task.config.generation_kwargs, default=str, ensure_ascii=False),
        "spec": json.dumps(spec, ensure_ascii=False),
        "sha256": hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest(),
    }
    return {key: value for key, value in source.items() if value}
