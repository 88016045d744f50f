"""Define the scorer `own`, which applies a benchmark's own extraction and grading to a run that howsure sampled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from howsure.benchmarks import BENCHMARKS, load
from howsure.benchmarks.lm_eval_tasks import is_task_name
from howsure.benchmarks.question import Benchmark, Question
from howsure.benchmarks.question_rows import ANSWERS
from howsure.benchmarks.recorded import extract_score
from howsure.errors import InputError
from howsure.rescoring.run_context import PromptChoices, PromptIndex, RunContext
from howsure.sandbox.isolation import is_unsafe_code_allowed
from howsure.scorers.completion_text import CompletionContext, ContextExtractor, accept_context
from howsure.scorers.multiple_choice import read_choice
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.store import manifest

#: How the folder of a benchmark's files is named.
_BASE = "--base FOLDER (base= in Python)"

#: Keys of a source in the manifest that are not part of the spec that `benchmarks.load` takes.
_EXTRA_KEYS = ("kind", "questions", "sha256", "held_out", "held_out_seed")


class _Grading(NamedTuple):
    """The functions with which a benchmark reads and grades answers."""

    extract: ContextExtractor
    grade: Callable[[str, str], float]
    questions: Mapping[str, Question]
    """Questions by id, if the answers are choices; otherwise empty."""


def build_own_scorer(spec: str, context: RunContext) -> Scorer:
    """Return the scorer `own`.

    Raises
    ------
    InputError
        When the manifest does not lead to a benchmark, or the benchmark's file is missing or was changed.
    """
    gradings = {name: _grading(benchmark) for name, benchmark in context.benchmarks.items()}
    for name, source in manifest.load(context.run).benchmarks.items():
        if name not in gradings:
            gradings[name] = _load_grading(name, source, context)
    scorers = [grading for grading in gradings.values() if isinstance(grading, Scorer)]
    needs_prompts = any(isinstance(grading, _Grading) and grading.questions for grading in gradings.values())
    prompts = PromptIndex(context.run) if needs_prompts else None

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        if item.benchmark not in gradings:
            raise _unknown_benchmark(item.benchmark, context)
        grading = gradings[item.benchmark]
        if isinstance(grading, Scorer):
            return grading.score(completion, item)
        return _grade(grading, completion, item, prompts)

    def close() -> None:
        for scorer in scorers:
            scorer.close()

    def prepare() -> None:
        for scorer in scorers:
            scorer.prepare()

    waits = any(scorer.in_subprocess for scorer in scorers)
    own_targets = [grading for grading in gradings.values() if isinstance(grading, Scorer) and grading.reads_all_texts]
    version = hash_code("scorers", "rescoring.own_benchmark")
    # Tasks of another program have versions of their own.
    version = "+".join([version, *sorted({scorer.version for scorer in own_targets})])
    reads_all_texts = bool(own_targets) and len(own_targets) == len(gradings)
    return Scorer(
        *(spec, version, score, close),
        reads_all_texts=reads_all_texts,
        prepare=prepare,
        in_subprocess=waits,
        has_own_targets=any(scorer.has_own_targets for scorer in scorers),
    )


def _grade(grading: _Grading, completion: str, item: ScoringItem, prompts: PromptIndex | None) -> ScoredAnswer:
    """Return the score of a completion by the functions of its benchmark."""
    question = grading.questions.get(item.question)
    # As in a run: the stored prompt has the words of the instruction and of the choices, too.
    context = item.context if question is None else replace(item.context, question=question.text)
    choices = prompts.find_choices(item.benchmark, item.question, item.variant) if prompts and question else None
    if question is not None and choices is not None:
        answer, rule = _read_choice(completion, question, choices, context)
    elif grading.questions:
        raise ValueError("the benchmark does not have this question, or the run not its prompt")
    else:
        answer, rule = grading.extract(completion, context=item.context), "benchmark"
    return ScoredAnswer(0.0 if answer is None else float(grading.grade(answer, item.target)), answer, rule)


def _read_choice(
    completion: str, question: Question, choices: PromptChoices, context: CompletionContext
) -> tuple[str | None, str]:
    """Return the original letter of the choice that a completion gives, and the rule."""
    texts = [question.choices[i] for i in choices.order]
    expects_label = bool(choices.record.get("labels_asked"))
    place, rule = read_choice(completion, choices.labels, texts, expects_label=expects_label, context=context)
    return (None if place is None else chr(ord("A") + choices.order[place])), rule


def _load_grading(name: str, source: Mapping[str, object], context: RunContext) -> _Grading | Scorer:
    """Return the grading of a benchmark, from its source in the manifest."""
    kind = source.get("kind")
    if kind == "replay":
        return _Grading(accept_context(extract_score), lambda answer, _: float(answer), {})
    if kind in ("file", "catalogue") and "choices" not in source:
        scorer = str(source["scorer"])
        _refuse_code(scorer, name, context)
        if scorer not in ANSWERS:
            return build_scorer(scorer, "--scorer")
        return _Grading(accept_context(ANSWERS[scorer][0]), lambda answer, target: float(answer == target), {})
    spec: dict[str, object] = {key: value for key, value in source.items() if key not in _EXTRA_KEYS}
    if kind in ("file", "lm_eval"):
        benchmark = (
            load_harness_benchmark(source, context)
            if kind == "lm_eval"
            else load(parse_recorded_spec(name, source, context), base=find_benchmark_folder(name, source, context))
        )
        return _grading(benchmark)
    if kind == "catalogue":
        folder = {"path": str(context.base)} if context.base else {}
        benchmark = load(parse_recorded_spec(name, source, context) | folder)
        if benchmark.source.get("sha256") != source.get("sha256"):
            remedy = f"name the folder with the files of the run: {_BASE}"
            raise InputError(f"the files of {name!r} were changed after the run", where=str(context.run), remedy=remedy)
        return _grading(benchmark)
    if kind == "built-in" and spec.get("name") in BENCHMARKS:
        _refuse_code(spec, name, context)
        numbers = {key: int(str(value)) for key, value in spec.items() if str(value).isdecimal()}
        return _grading(load(spec | numbers))
    raise _unknown_benchmark(name, context)


def parse_recorded_spec(name: str, source: Mapping[str, object], context: RunContext) -> dict[str, object]:
    """Return what a manifest gives `benchmarks.load`; raise InputError where that is of another kind, or names code."""
    spec = json.loads(str(source["spec"]))
    kind = source.get("kind")
    is_of_kind = isinstance(spec, dict) and (
        "file" in spec if kind == "file" else is_task_name(str(spec.get("name"))) == (kind == "lm_eval")
    )
    if not is_of_kind or (kind != "file" and {"file", "replay"} & set(spec)):
        raise _unknown_benchmark(name, context)
    _refuse_code(spec, name, context)
    return dict(spec)


def _refuse_code(content: object, name: str, context: RunContext) -> None:
    """Raise InputError for a scorer `python:...`: a run folder may come from somebody else, and must not name code."""
    if isinstance(content, str) and content.strip().casefold().startswith("python:"):
        what = f"answers to {name!r} are scored by code: {content}"
        raise InputError(what, where=str(context.run), remedy=f"name it if it is yours: --scorer {content}")
    parts = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    for part in parts:
        _refuse_code(part, name, context)


def build_lm_eval_scorer(spec: str, context: RunContext) -> Scorer:
    """Return the scorer `lm_eval:FILTER/METRIC` of a run of tasks of lm-evaluation-harness.

    Either part may be left out, which keeps that of the run: `lm_eval:flexible-extract`, `lm_eval:/acc`.

    Raises
    ------
    UnknownNameError
        When a task of the run has no such filter or metric.
    InputError
        When the run has no tasks of the harness, or they cannot be loaded.
    """
    filter_name, _, metric = spec.partition(":")[2].partition("/")
    options = {key: value for key, value in (("filter", filter_name), ("metric", metric)) if value}
    scorers = {}
    for name, source in manifest.load(context.run).benchmarks.items():
        if source.get("kind") == "lm_eval":
            benchmark = load_harness_benchmark(source, context, options)
            assert benchmark.scorer is not None
            scorers[name] = benchmark.scorer
    if not scorers:
        what = "the run has no tasks of lm-evaluation-harness"
        raise InputError(what, where=str(context.run), remedy="name another scorer; lm_eval is for lm_eval/TASK")

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        if item.benchmark not in scorers:
            raise ValueError(f"{item.benchmark} is no task of lm-evaluation-harness")
        return scorers[item.benchmark].score(completion, item)

    version = "+".join(sorted({scorer.version for scorer in scorers.values()}))
    return Scorer(spec, version, score, reads_all_texts=True, has_own_targets=True)


def load_harness_benchmark(
    source: Mapping[str, object], context: RunContext, options: Mapping[str, object] | None = None
) -> Benchmark:
    """Return the benchmark of a task of the harness as a manifest describes it; its questions must be the same."""
    spec = parse_recorded_spec(str(source.get("name")), source, context) | dict(options or {})
    given = spec.get("include_path", [])
    folders = [str(folder) for folder in (given if isinstance(given, list) else [given])]
    if spec.get("confirm_run_unsafe_code") and not is_unsafe_code_allowed():
        what = f"{spec.get('name')} runs generated code in this process"
        raise InputError(what, where=str(context.run), remedy="accept that with --allow-unsafe-code")
    if folders and context.base is None:
        what = f"the tasks of the run are in {', '.join(folders)}, and tasks may hold code"
        raise InputError(what, where=str(context.run), remedy=f"name the folder that has it, if you trust it: {_BASE}")
    base = context.base or Path()
    if any(not (base / folder).resolve().is_relative_to(base.resolve()) for folder in folders):
        what = f"{', '.join(folders)}, the folder of the tasks, is not inside {base}"
        raise InputError(what, where=str(context.run), remedy=f"name the folder that has it: {_BASE}")
    if not all((base / folder).is_dir() for folder in folders):
        what = f"{', '.join(folders)}, the folder of the tasks, is not in {base}"
        raise InputError(what, where=str(context.run), remedy=f"name the folder that has it: {_BASE}")
    benchmark = load(spec, base=base)
    if benchmark.source.get("sha256") != source.get("sha256"):
        what = f"the questions or prompts of {source.get('name')} were changed after the run"
        remedy = f"use lm-eval {source.get('lm_eval')} and the same data set"
        raise InputError(what, where=str(context.run), remedy=remedy)
    return benchmark


def _unknown_benchmark(name: str, context: RunContext) -> InputError:
    """Return the error for a benchmark that the manifest does not describe."""
    remedy = "name a scorer such as numeric; from Python, pass benchmarks={name: benchmark}"
    return InputError(
        f"the manifest does not state how answers to {name!r} are read", where=str(context.run), remedy=remedy
    )


def _grading(benchmark: Benchmark) -> _Grading | Scorer:
    """Return the grading of a benchmark, or the scorer of its open answers."""
    if benchmark.scorer is not None and not any(question.choices for question in benchmark.questions):
        return benchmark.scorer
    questions = {question.id: question for question in benchmark.questions if question.choices}
    return _Grading(benchmark.extract_in_context, benchmark.grade, questions)


def find_benchmark_folder(name: str, source: Mapping[str, object], context: RunContext) -> Path:
    """Return the folder of the benchmark's file with the content of the run; the manifest has only its name."""
    file = str(source["file"])
    candidates = [context.base] if context.base else [context.run, *context.run.absolute().parents[:3], Path()]
    folders = [folder for folder in candidates if (folder / file).is_file()]
    for folder in folders:
        if hashlib.sha256((folder / file).read_bytes()).hexdigest() == source.get("sha256"):
            return folder
    what = f"{file}, the file of {name!r}, {'was changed after the run' if folders else 'is not near the run folder'}"
    raise InputError(what, where=str(context.run), remedy=f"name the folder that has the unchanged file: {_BASE}")
