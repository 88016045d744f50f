"""Functions that make records of the records of one program, which its description in `specs/` names.

A function takes the records of the file, what all of them share, the path and the builder of rows, and yields records;
names that begin with `$` are fields that it adds.
"""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

from howsure.errors import InputError
from howsure.logs.base import RowBuilder
from howsure.logs.file_formats import read_json, read_json_lines
from howsure.logs.spec_functions import HARBOR_JOB
from howsure.logs.values import (
    Record,
    as_mapping,
    encode_text,
    format_choice,
    get_field,
    get_number,
    get_text,
    hash_text,
    is_list,
    parse_number,
    parse_records,
    parse_score,
)

Records: TypeAlias = Sequence[Record]
Shared: TypeAlias = dict[str, Any]


def note_pages(records: Records, shared: Shared, _path: Path, build: RowBuilder) -> Records:
    """Note that a page of an API is one of several."""
    file = shared.get("$file")
    n_pages = get_field(file, "meta.totalPages")
    if get_field(file, "has_more") is True or (isinstance(n_pages, int) and n_pages > 1):
        build.note("log-page")
    return records


def langfuse(records: Records, shared: Shared, path: Path, build: RowBuilder) -> Iterator[Record]:
    """Leave out scores without a trace or a name, and note traces that are no items of a data set.

    The value of a category is its text, because its number is only that of its place.
    """
    traces: dict[tuple[str | None, str | None], bool] = {}
    items = ("datasetItemId", "metadata.datasetItemId", "metadata.dataset_item_id", "trace.metadata.dataset_item_id")
    for score in note_pages(records, shared, path, build):
        if not get_text(score, "traceId") or not get_text(score, "name"):
            build.note("log-left-out", 1, what="trace or name")
            continue
        item = get_text(score, *items)
        traces.setdefault((get_text(score, "traceId"), get_text(score, "observationId")), item is not None)
        category = score.get("stringValue") if score.get("dataType") == "CATEGORICAL" else None
        yield {**score, "$item": item, "$value": category or score.get("value")}
    if n := sum(not has_item for has_item in traces.values()):
        build.note("log-traces", n, total=len(traces))


def evalplus(records: Records, shared: Shared, _path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the samples of each task.

    A slash in the name of a model is two hyphens in the name of the file. EvalPlus counts a sample as right where it
    passes both sets of tests.
    """
    name = get_text(shared, "$name.model")
    shared["$model"] = name.replace("--", "/") if name else None
    for record in records:
        task = record["$key"]
        dataset = str(task).partition("/")[0].lower()
        for sample in parse_records(record.get("value"), build.note):
            statuses = {name: get_text(sample, f"{name}_status") for name in ("plus", "base")}
            passed = {name: status.lower() in ("pass", "success") for name, status in statuses.items() if status}
            if "plus" in passed:
                passed["plus"] = passed["plus"] and passed.get("base") is not False
            benchmark = f"{dataset}plus" if dataset in ("humaneval", "mbpp") else "evalplus"
            yield {"task_id": task, **sample, "$key": task, "$scores": passed, "$benchmark": benchmark}


def mlflow(records: Records, shared: Shared, _path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the rows of a table of columns and data, each with the failure of the score that is read.

    Scores of the text itself come last.
    """
    columns = as_mapping(shared["$file"]).get("columns")
    names = [encode_text(name) for name in columns] if is_list(columns) else []
    about_text = ("latency", "token_count", "flesch_kincaid", "ari_grade", "toxicity")
    scorers = sorted((name for name in names if name.endswith("/score")), key=lambda name: name.startswith(about_text))
    first = next((name.removesuffix("/score") for name in scorers if not name.startswith(about_text)), "")
    wanted = build.options.scorer
    for record in records:
        values = record.get("value")
        if not is_list(values) or len(values) != len(names):
            build.note("log-left-out", 1, what=f"{len(names)} values")
            continue
        row = dict(zip(names, values, strict=True))
        is_read = bool(first) and row[f"{first}/score"] is None and (wanted is None or wanted in first)
        yield {
            **row,
            "$key": record["$key"],
            "$scores": {name.removesuffix("/score"): row[name] for name in scorers},
            # The justification of another metric is no reason why the metric that is read has no score.
            "$failure": row.get(f"{first}/justification") if is_read else None,
        }


#: Columns of ragas that may be numbers and are no metrics.
_NO_METRICS = (
    *("", "index", "unnamed: 0", "id", "latency*", "time", "query_length", "contexts_count", "num_contexts", "tokens"),
    *("cost", "category", "user_input", "question", "response", "answer", "reference", "ground_truth*", "model*"),
)


def ragas(records: Records, _shared: Shared, path: Path, _build: RowBuilder) -> Iterator[Record]:
    """Yield the rows with their metrics: columns that are numbers or missing in all rows, and not always missing."""
    names = dict.fromkeys(name for record in records for name in record)
    metrics = []
    for name in names:
        values = [record[name] for record in records if record.get(name) is not None]
        is_number = all(parse_number(value) is not None or str(value).lower() == "nan" for value in values)
        if values and is_number and not any(fnmatchcase(name.lower(), pattern) for pattern in _NO_METRICS):
            metrics.append(name)
    if records and not metrics:
        raise InputError("no metric has a number for any record", where=str(path), remedy="is the file complete?")

    for record in records:
        yield {**record, "$scores": {name: record[name] for name in metrics if name in record}}


_ONE_TURN = re.compile(
    r"\[Question\]\n(?P<question>.*?)\n\n(?:\[The Start of Reference.*?)?"
    r"\[The Start of Assistant's Answer\]\n(?P<answer>.*)\n\[The End of Assistant's Answer\]",
    re.DOTALL,
)


def mt_bench(records: Records, _shared: Shared, _path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield judgments with completion and prompt from what the judge was sent, and the failure of a rating of -1."""
    for record in records:
        text, score = str(record.get("user_prompt") or ""), record.get("score")
        is_failed = isinstance(score, (int, float)) and score < 0
        added: dict[str, Any] = {"$failure": "the judge's reply has no rating that can be read" if is_failed else None}
        if match := _ONE_TURN.search(text):
            added |= {"$completion": match["answer"], "$messages": match["question"]}
        else:
            # Of the conversation after the reference answers: speaker and text by turns.
            talk = text.rpartition("<|The Start of Assistant A's Conversation with User|>")[2]
            parts = re.split(
                r"^### (User|Assistant A|Reference answer):\n", talk.partition("<|The End of")[0], flags=re.MULTILINE
            )
            roles = ["user" if one == "User" else "assistant" for one in parts[1::2]]
            turns = [{"role": role, "content": one.strip()} for role, one in zip(roles, parts[2::2], strict=True)]
            if turns:
                added |= {"$completion": turns[-1]["content"], "$messages": turns[:-1]}
        if record.get("model") is None or record.get("turn") is None:
            build.note("log-left-out", 1, what="model or turn")
            continue
        yield {**record, **added}


def olmes(records: Records, shared: Shared, path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the questions with their metrics and, where choices were compared, the letters of answer and target."""
    file = path.with_name(path.name.removesuffix(".gz").replace("-predictions.", "-requests."))
    prompts = {}
    if build.texts and file != path and file.is_file():
        requests = read_json_lines(file, dict[str, Any], build.note)
        prompts = {get_text(one, "doc_id"): get_field(one, "request.context") for one in requests}
    no_metrics = ("predicted_index*", "correct_choice", "num_*", "*_corr", "no_answer", "*logits*", "*bits_per_byte*")
    comparisons = {"acc_per_char": "per_char", "acc_per_token": "per_token", "acc_uncond": "uncond"}
    compared = comparisons.get(str(get_field(shared["$metrics"], "task_config.primary_metric")), "raw")
    for line in records:
        metrics, label, outputs = as_mapping(line.get("metrics")), line.get("label"), line.get("model_output")
        index = get_number(metrics, f"predicted_index_{compared}")
        if is_list(outputs) and len(outputs) > 1 and isinstance(label, int) and 0 <= label < 26:
            label = format_choice(label)
        yield {
            **line,
            "$scores": {
                name: value
                for name, value in metrics.items()
                if not any(fnmatchcase(name.lower(), pattern) for pattern in no_metrics)
            },
            "$messages": prompts.get(get_text(line, "doc_id")),
            # The letter of the most likely choice under the primary metric.
            "$answer": format_choice(int(index)) if index is not None and 0 <= index < 26 else None,
            "$target": label,
        }


def tau_bench(records: Records, shared: Shared, path: Path, _build: RowBuilder) -> Records:
    """Find the domain, by the tools that the expected actions call or by the name of the file."""
    words = {
        "airline": ("reservation", "flight", "send_certificate"),
        "retail": ("order", "modify_user_address", "find_user_id_by_"),
    }
    actions = [get_field(trial, "info.task.actions") for trial in records[:50]]
    names = [str(get_field(one, "name")) for of in actions for one in (of if is_list(of) else ())]
    match = [domain for name in names for domain, parts in words.items() if any(part in name for part in parts)]
    match += [domain for domain in words if domain in str(path).lower()]
    if match:
        shared["$domain"] = match[0]
    return sorted(records, key=lambda trial: get_number(trial, "trial") or 0.0)


def tau2_bench(records: Records, shared: Shared, _path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the simulations with the instructions of their tasks, and why one could not be judged.

    The label says beside the model another agent than the plain one, and the simulated user.
    """
    info = get_field(shared["$file"], "info")
    tasks = {get_text(one, "id"): one for one in parse_records(get_field(shared["$file"], "tasks"), build.note)}
    model, agent = get_text(info, "agent_info.llm"), get_text(info, "agent_info.implementation")
    user = get_text(info, "user_info.llm")
    if model:
        shared["$model"] = model + f" {agent}" * (agent not in (None, "llm_agent")) + f" (user {user})" * bool(user)
    for one in sorted(records, key=lambda simulation: get_number(simulation, "trial") or 0.0):
        wanted = get_field(tasks.get(get_text(one, "task_id")), "user_scenario.instructions")
        text = get_text(wanted, "task_instructions", "reason_for_call")
        end, reward = one.get("termination_reason"), get_field(one, "reward_info.reward")
        is_judged = end not in ("infrastructure_error", "context_window_exceeded")
        is_judged = is_judged and (end != "unexpected_error" or reward is not None)
        why = get_text(one, "info.error", "reward_info.info.note") or "it was not judged"
        yield {
            **one,
            "$messages": text or (wanted if isinstance(wanted, str) else None),
            "$failure": None if is_judged else f"{end}: {why}",
        }


def _find_error(line: Record) -> str | None:
    """Return the error of a rollout of verifiers."""
    error = line.get("error")
    return (get_text(error, "error_chain_repr", "error") or encode_text(error)) if error else None


def verifiers(records: Records, shared: Shared, _path: Path, _build: RowBuilder) -> Iterator[Record]:
    """Yield rollouts with the values of their reward functions, in fields of their own or among the metrics."""
    no_scores = {"example_id", "generation_ms", "scoring_ms", "total_ms", "is_truncated", "is_completed", "num_turns"}
    names = dict.fromkeys(["reward", *(name for line in records for name in as_mapping(line.get("metrics")))])
    for line in records:
        names |= dict.fromkeys(name for name in line if name not in no_scores and get_number(line, name) is not None)
    shared["$first_task"] = get_text(records[0], "task") if records else None
    # Environments that are groups number the examples of each of their tasks from 0.
    is_group = len({get_text(line, "task") for line in records}) > 1
    for line in records:
        values = {**as_mapping(line.get("metrics")), **line}
        task = line.get("task") if is_group else None
        yield {
            **line,
            "$scores": {name: values.get(name) for name in names},
            "$task": task,
            "$failure": _find_error(line),
        }


def verifiers_episodes(records: Records, _shared: Shared, _path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the episodes with one trace; the reward is the weighted sum of what the reward functions gave."""
    for episode in records:
        traces = list(parse_records(episode.get("traces"), build.note))
        if len(traces) != 1:
            build.note("log-left-out", 1, what="trace, or several")
            continue
        (trace,) = traces
        rewards = {
            name: None
            if reward is None
            else (get_number(reward, "score") or 0.0) * (1.0 if (w := get_number(reward, "weight")) is None else w)
            for name, reward in as_mapping(trace.get("rewards")).items()
        }
        # Nothing was scored where no reward function ran.
        total = sum(value or 0.0 for value in rewards.values()) if rewards else None
        task = as_mapping(get_field(trace, "task.data"))
        error = get_text(trace, "errors.0.message", "errors.0") or get_text(episode, "errors.0.message", "errors.0")
        error = (error or "the rollout is not marked as ok") if trace.get("ok") is False else None
        yield {
            **episode,
            "$question": get_text(task, "id", "name", "idx") or hash_text(task),
            "$scores": {"reward": total, **{name: value for name, value in rewards.items() if name != "reward"}},
            "$model": get_text(trace, "calls.0.model", "agent.config.model"),
            "$failure": error or _find_error(episode),
            "$nodes": [get_field(node, "message") for node in parse_records(trace.get("nodes"), build.note)],
            "$prompt": task.get("prompt"),
        }


def harbor(records: Records, shared: Shared, path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the trials of a job, which a folder has in folders of their own, or a file has inside."""
    trials = list(records)
    job = shared.get("$file", {})
    if path.is_dir():
        file = path / "result.json"
        job = shared["$file"] = read_json(file, dict[str, Any]) if file.is_file() else {}
        if file.is_file() and not job.keys() >= HARBOR_JOB:
            remedy = "give the result.json of trials"
            raise InputError("its result.json is not that of a job", where=str(path), remedy=remedy)
        for each in sorted(path.glob("*/result.json")):
            try:
                trials.append(read_json(each, dict[str, Any]))
            except InputError:
                build.note("log-unreadable", 1, example=each.parent.name)
        trials = trials or list(parse_records(job.get("trial_results"), build.note))
        if not job:
            build.note("log-no-metadata", file="result.json", names="the planned number of trials")
    if not trials:
        raise InputError("it holds no trial", where=str(path), remedy="give the folder of a job, with its trials")
    planned = get_number(job, "n_total_trials")
    if planned is not None and planned > len(trials):
        build.note("log-planned", int(planned) - len(trials), total=int(planned))
    # The mean of a job is that of its only agent, model and data set.
    evaluations = as_mapping(get_field(job, "stats.evals"))
    shared["$mean"] = get_number(next(iter(evaluations.values())), "metrics.0.mean") if len(evaluations) == 1 else None
    names = ("exception_info.exception_type", "exception_info.exception_message")
    for trial in trials:
        yield {**trial, "$failure": ": ".join(text for name in names if (text := get_text(trial, name)))}


def waza(records: Records, shared: Shared, _path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the runs of the tasks, and those of the baseline without the skill that is kept in the same file."""
    yield from (_score_waza_run(run) for run in records)
    baseline = get_field(shared["$file"], "baseline_outcome.tasks")
    for task in parse_records(baseline, build.note):
        for run in parse_records(task.get("runs"), build.note):
            yield {**_score_waza_run(run), "$parent": task, "$baseline": "baseline"}


def _score_waza_run(run: Record) -> Record:
    """Return a run with its scores: whether it passed, the weighted mean of its validations, and each of them."""
    validations, status = as_mapping(run.get("validations")), run.get("status")
    pairs = [
        (score, weight if (weight := get_number(one, "weight") or 0.0) > 0 else 1.0)
        for one in validations.values()
        if (score := get_number(one, "score")) is not None
    ]
    total = sum(weight for _, weight in pairs)
    scores = {
        "passed": float(status.lower() == "passed") if isinstance(status, str) and status else status,
        "score": sum(score * weight for score, weight in pairs) / total if pairs else None,
        **{name: get_field(one, "score") if isinstance(one, Mapping) else one for name, one in validations.items()},
    }
    failure = get_text(run, "error_msg") or (status if status in ("error", "skipped", "n/a") else None)
    return {**run, "$scores": scores, "$failure": failure}


def deepeval(records: Records, shared: Shared, _path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the test cases, each with its scores: the value of each metric, whether it passed, and whether all did."""
    file = records[0]
    run = as_mapping(file.get("testRunData")) or file
    hyperparameters = as_mapping(run.get("hyperparameters"))
    parameters = {"".join(filter(str.isalnum, name)).lower(): value for name, value in hyperparameters.items()}
    names = ("model", "modelname", "llm", "llmmodel", "generator", "generationmodel")
    model = next((parameters[name] for name in names if parameters.get(name)), None)
    settings = ("temperature", "topp", "topk", "maxtokens", "seed", "n", "reasoningeffort")
    shared["$model"] = get_text(model, "name") if isinstance(model, Mapping) else model
    shared["$settings"] = {name: parameters[name] for name in settings if name in parameters}
    shared["$run"] = run
    # The file of the latest run is another file with the same run.
    shared["$digest"] = hash_text(run.get("testCases"), run.get("conversationalTestCases"), hyperparameters)
    shared["$test_file"] = Path(str(run["testFile"])).stem if run.get("testFile") else None
    if not isinstance(model, (str, Mapping)):
        build.note("log-no-model")
    cases = [
        one for name in ("testCases", "conversationalTestCases") for one in parse_records(run.get(name), build.note)
    ]
    again = Counter(str(case.get("name")) for case in cases)
    if run.get("testFile") and (n := sum(k - 1 for name, k in again.items() if name.startswith("test_"))):
        build.note("log-reruns", n)
    for case in cases:
        turns: Any = case["turns"] if is_list(case.get("turns")) else []
        wanted = case.get("input")
        if wanted is None:
            wanted = case.get("scenario") or (turns[0] if turns else case.get("name", ""))
        expected = case.get("expectedOutput") or case.get("expectedOutcome")
        completion, before = case.get("actualOutput"), None if case.get("input") is None else encode_text(wanted)
        if turns:
            completion, before = get_text(turns[-1], "content"), turns[:-1]
        yield {
            **case,
            "$question": hash_text(wanted, expected, case.get("context")),
            "$scores": _list_deepeval_scores(case, build),
            "$completion": completion if isinstance(completion, str) else None,
            "$messages": before,
            "$target": expected,
        }


def _list_deepeval_scores(case: Record, build: RowBuilder) -> dict[str, object]:
    """Return the scores of a test case; the error of a metric is its score, and that of the case."""
    listed = case.get("metricsData")
    metrics = parse_records(case.get("metricsMetadata") if listed is None else listed, build.note)
    values: dict[str, object] = {}
    passed: dict[str, object] = {}
    error = None
    for metric in metrics:
        name, fault = str(metric.get("name") or metric.get("metric")), get_text(metric, "error")
        error = error or (ValueError(fault[:200]) if fault else None)
        values[name] = ValueError(fault[:200]) if fault else metric.get("score")
        passed[f"{name}/success"] = ValueError(fault[:200]) if fault else metric.get("success")
    return {**values, **passed, "success": error or case.get("success")}


_BFCL_NAME = re.compile(r"(?P<category>.*?)_?(?P<number>\d+)(?:-.*)?")


def bfcl(records: Records, shared: Shared, path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the questions that a score file lists, which are the wrong ones, and the right ones: the other numbers."""
    header, *wrong = list(records) or [{}]
    total = get_number(header, "total_count")
    if total is None or "accuracy" not in header:
        raise InputError("its first line has no 'total_count'", where=str(path), remedy="is the file complete?")
    stem = re.sub(r"^BFCL_v\d+_", "", path.name.partition("_score.json")[0])
    category = next((text for one in wrong if (text := get_text(one, "test_category"))), None) or stem
    groups = ("non_live", "live", "multi_turn", "agentic", "memory", "format_sensitivity", "kv", "vector", "rec_sum")
    folder = next((one for one in path.resolve().parents if one.name not in groups), path.parent)
    named = next((text for one in wrong if (text := get_text(one, "model_name"))), None)
    shared["$model"] = named or (folder.name if folder.parent.name == "score" else None)
    shared |= {"$category": category, "$accuracy": header["accuracy"]}
    wrong_of = {name: one for one in wrong if (name := _name_bfcl_question(one, category)) is not None}
    if len(wrong_of) < len(wrong):
        build.note("log-left-out", len(wrong) - len(wrong_of), what="question of its own")
    prefixes = {name.rpartition("_")[0] for name in wrong_of} or {category}
    largest = max((int(name.rpartition("_")[2]) for name in wrong_of), default=0)
    if len(prefixes) > 1 or largest >= total or len(wrong_of) > total:
        what = f"it lists the {len(wrong_of)} wrong ones of {total:g} questions, and not which are the others"
        remedy = "give a table with a row for each question of the file in BFCL's folder result/"
        raise InputError(what, where=str(path), remedy=remedy)
    names = [f"{next(iter(prefixes))}_{number}" for number in range(int(total))]
    build.note("log-right-unlisted", len(names) - len(wrong_of), total=len(names))
    for name in names:
        one = wrong_of.get(name, {})
        text = get_text(one, "model_result_raw", "model_result")
        wanted = get_field(one, "prompt.question")
        if is_list(wanted):  # newer versions have a list of turns, each of which is a list of messages
            wanted = [message for turn in wanted for message in (turn if is_list(turn) else [turn])]
        is_failed = (text or "").startswith("Error during inference:")
        added = {
            "$question": name,
            "$score": not one,
            "$messages": wanted,
            "$failure" if is_failed else "$completion": text,
        }
        yield {"id": name, "valid": not one, **one, **added}


def _name_bfcl_question(record: Record, category: str) -> str | None:
    """Return category and number of a question, which older files count from 1; None where it states none."""
    value = record.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{category}_{value - 1}"
    match = _BFCL_NAME.fullmatch(value) if isinstance(value, str) else None
    return f"{match['category'] or category}_{int(match['number'])}" if match else None


def opencompass(records: Records, shared: Shared, path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the repeats of each question; a repeat is an element of the lists of its detail."""
    names = ("correct", "is_correct", "cascade_correct", "exact_match", "score")
    folder = path.resolve().parent
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    first, _, part = stem.rpartition("_")
    if not (part.isdecimal() and all(path.with_name(f"{first}_{i}.json").is_file() for i in (0, 1))):
        first, part = stem, ""
    shared |= {"$dataset": first, "$folder": folder.name}
    if folder.parent.name not in ("results", "predictions"):
        build.note("log-names-model", model=folder.name)
    means = {name: value for name, value in as_mapping(shared["$file"]).items() if name.startswith("accuracy")}
    shared["$accuracy"] = means[min(means)] if means else None
    result: list[dict[str, Any]] = []
    for record in records:
        if "value" in record:
            if record["$key"] != "type":
                build.note("log-no-record", 1)
            continue
        verdicts = next((record[name] for name in names if name in record), None)
        # Of repeats, each field is a list; an answer may be a list for one repeat too.
        for place, verdict in enumerate(verdicts) if isinstance(verdicts, list) else [(None, verdicts)]:
            question = get_text(record, "example_abbr") or record["$key"]
            one = None if place is None else 0
            result.append(
                {
                    "index": record["$key"],
                    **record,
                    # Each part of predictions numbers its questions from 0.
                    "$question": f"{part}/{question}" if part else question,
                    "$score": verdict,
                    "$target": _pick(record, ("references", "answer", "gold", "reference"), one),
                    "$answer": _pick(record, ("predictions", "pred"), place),
                    "$completion": _pick(record, ("origin_prediction", "prediction"), place),
                    "$messages": _list_opencompass_turns(record.get("prompt", record.get("origin_prompt"))),
                }
            )
    shared["$unscored"] = all(one["$score"] is None for one in result)
    yield from result


def _pick(record: Record, names: Sequence[str], place: int | None) -> str | None:
    """Return the first of these fields as a text; of repeats the one at a place."""
    value = next((record[name] for name in names if record.get(name) is not None), None)
    if place is not None and is_list(value):
        value = value[place] if place < len(value) else None
    return None if value is None else encode_text(value)


def _list_opencompass_turns(prompt: object) -> object:
    """Return the messages of a prompt, whose turns are `{"role": "HUMAN", "prompt": ...}`."""
    roles = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
    if not is_list(prompt):
        return prompt
    turns = [(get_text(turn, "role") or "HUMAN", get_text(turn, "prompt")) for turn in prompt]
    return [{"role": roles.get(role, role.lower()), "content": text or ""} for role, text in turns]


_RESULTS = re.compile(
    r"<h3>Results</h3>\s*(?:<p>Correct Answer: (?P<target>.*?)</p>\s*)?<p>Extracted Answer: (?P<answer>.*?)</p>\s*"
    r"<p>Score: (?P<score>[^<]*)</p>",
    re.DOTALL,
)
_CHOICE = re.compile(r"([A-Z])[).] (.*)")


def simple_evals(records: Records, shared: Shared, path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the examples, whose score is in their metadata or on the HTML page under the heading "Results".

    A question is the hash of its prompt without system messages and without the order of its choices, so that repeats
    and models agree on it. A heading of a page is no text of a model, because those are escaped. The score that the
    file states is no mean where healthbench clipped it to 0 or 1.
    """
    date, clock = get_text(shared, "$name.date"), get_text(shared, "$name.time")
    if date and clock:
        shared["$created"] = f"{date[:4]}-{date[4:6]}-{date[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}"
    is_clipped = str(get_field(shared, "$name.eval")).startswith("healthbench") and records[0].get("score") in (0, 1)
    shared["$mean"] = None if is_clipped else records[0].get("score")
    places = ("htmls", "convos", "metadata.example_level_metadata")
    columns = [get_field(records[0], place) or [] for place in places]
    n = max(len(each) if isinstance(each, list) else 0 for each in columns)
    if not n or any(not isinstance(each, list) or len(each) not in (0, n) for each in columns):
        what = "pages, conversations and metadata of its examples do not fit together" if n else "it holds no example"
        raise InputError(what, where=str(path), remedy="is the file as simple-evals wrote it?")
    pages, convos, metadata = (each if is_list(each) and each else [None] * n for each in columns)
    examples = [_parse_example(i, *each) for i, each in enumerate(zip(pages, convos, metadata, strict=True))]
    prompts = defaultdict(set)
    for one in examples:
        prompts[one["$question"]].add(one.pop("$prompt_hash"))
    reordered = {question for question, hashes in prompts.items() if len(hashes) > 1}
    sizes = Counter(Counter(one["$question"] for one in examples).values())
    if len(sizes) > 1:
        (usual, most), total = sizes.most_common(1)[0], sizes.total()
        build.note("log-uneven", total - most, total=total, usual=usual)
    if reordered:
        build.note("log-reordered", len(reordered))
    for one in examples:
        choices = one.pop("$letters")
        if one["$question"] in reordered:
            # The choices are in another order in each prompt, so a letter has no fixed meaning.
            one |= {name: choices.get(str(one[name]), one[name]) for name in ("$target", "$answer")}
        yield one


def _parse_example(index: int, page: object, convo: object, metadata: object) -> dict[str, Any]:
    """Return one example with its question, score, answer and texts."""
    turns = [
        (str(turn.get("role") or ""), encode_text(turn.get("content") or ""))
        for turn in (convo if is_list(convo) else ())
        if isinstance(turn, Mapping)
    ]
    completion = turns[-1][1] if turns else None
    prompt = [turn for turn in turns[:-1] if turn[0] not in ("system", "developer")]
    lines = prompt[-1][1].split("\n") if prompt else []
    choices = {match[1]: match[2] for match in map(_CHOICE.fullmatch, lines) if match}
    question = get_text(metadata, "prompt_id", "question_id", "example_id", "id") or str(index)
    if question == str(index) and prompt:
        # A choice may have several lines; whatever the order of the choices, the prompt has the same lines.
        text = "\n".join(sorted(re.sub(r"^[A-Z][).] ", "", line) for line in lines)) if choices else prompt[-1][1]
        question = hash_text(*prompt[:-1], (prompt[-1][0], text))
    match = _RESULTS.search(page) if isinstance(page, str) else None
    fields = {
        name: None if match is None or match[name] in (None, "None") else html.unescape(match[name].strip())
        for name in ("target", "answer", "score")
    }
    score = get_field(metadata, "score")
    score = fields["score"] if score is None else score
    is_refused = completion == "No response (bad request)." and score not in (None, "None")
    return {
        "index": index,
        "metadata": metadata,
        "convo": convo,
        "$question": question,
        "$prompt_hash": hash_text(*prompt),
        "$letters": choices,
        "$score": None if score == "None" else score,
        "$status": "unparsed" if match and match["answer"] == "None" else None,
        "$failure": "bad_request: the endpoint refused the request" if is_refused else None,
        "$completion": completion,
        "$answer": fields["answer"],
        "$target": fields["target"],
        "$messages": [{"role": role, "content": text} for role, text in turns[:-1]] if turns else None,
        "$choices": tuple(choices.values()),
    }


def every_eval_ever(records: Records, shared: Shared, _path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield each text of each row; of scores that were reduced over epochs, none is the score of an epoch.

    The converter of Inspect writes the mean over the epochs into the row of each epoch. If all epochs of all samples
    have one score, and it is a fraction somewhere although the texts differ, it is such a mean.
    """
    stated = get_number(shared["$totals"], "detailed_evaluation_results.total_rows")
    if stated is not None and stated != len(records):
        build.note("log-counts-differ", stated=int(stated), what="records", own=len(records))
    each = [line for line in records if line.get("model_id") and line.get("sample_id") is not None]
    if len(each) < len(records):
        build.note("log-left-out", len(records) - len(each), what="model or sample")
    epochs: defaultdict[tuple[str, ...], list[tuple[float, tuple[str | None, ...]]]] = defaultdict(list)
    rows = []
    for line in each:
        raw = get_field(line, "output.raw")
        talk = line["messages"] if isinstance(line.get("messages"), list) else None
        listed = raw if isinstance(raw, list) else [raw]
        if raw is None and talk:
            listed = [get_field(talk[-1], "content")]
        texts = tuple(text if isinstance(text, str) else None for text in listed) or (None,)
        rows.append((line, texts, talk))
        try:
            score = parse_score(get_field(line, "evaluation.score"))
        except ValueError:
            score = None
        if score is not None and get_text(line, "metadata.epoch"):
            names = ("evaluation_name", "model_id", "sample_id", "evaluation_result_id")
            epochs[tuple(str(line.get(name)) for name in names)].append((score, texts))
    repeated = [of for of in epochs.values() if len(of) > 1]
    is_same = bool(repeated) and all(len({score for score, _ in of}) == 1 for of in repeated)
    is_reduced = is_same and any(of[0][0] not in (0, 1) and len({texts for _, texts in of}) > 1 for of in repeated)
    if is_reduced or (is_same and len(repeated) > 2):
        build.note("log-reduced" if is_reduced else "log-perhaps-reduced", total=len(repeated))
    for line, texts, talk in rows:
        last = [one for one in parse_records(line.get("answer_attribution"), build.note) if one.get("is_terminal")]
        reference = get_field(line, "input.reference")
        common = {
            **line,
            "$messages": talk[:-1] if talk else get_text(line, "input.formatted", "input.raw"),
            "$target": " | ".join(map(encode_text, reference)) if isinstance(reference, list) else None,
            "$texts": encode_text(texts),
            "$failure": f"harness: {get_text(line, 'error')}" if line.get("error") is not None else None,
        }
        for place, text in enumerate(texts):
            answer = get_field(last[-1], "extracted_value") if last and not place and not common["$failure"] else None
            yield {
                **common,
                "$completion": text,
                "$answer": answer if isinstance(answer, str) else None,
                "$unscored": bool(place) or is_reduced,
                "$nth": place,
            }
