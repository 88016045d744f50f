"""Functions that descriptions of programs in `specs/` name: of a field, of a file's records, and of a path.

A function of a field takes the value of a path, and `.` gives it the whole record. A function of records takes the
records of the file, what all of them share, the path and the builder of rows, and yields records; names that begin with
`$` are fields that it adds.
"""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from howsure.errors import InputError
from howsure.logs.base import RowBuilder, as_mapping, encode_text, format_choice, get_field, list_messages, parse_score
from howsure.logs.file_formats import FileHead, read_json, read_json_lines
from howsure.logs.record_reader import find_last_reply, get_number, get_text, hash_text, parse_records

_Record = Mapping[str, Any]
_Records = Iterable[_Record]
_Shared = dict[str, Any]

# --- functions of a field ---


def messages(value: object) -> tuple[dict[str, str], ...] | None:
    """Return the messages of a prompt; a prompt of another shape is one message of the user."""
    if isinstance(value, Mapping):
        return list_messages(encode_text(value))
    return list_messages(value)


def reply(value: object) -> str | None:
    """Return a text, or the last text of the assistant in a list of messages."""
    return value if isinstance(value, str) else find_last_reply(value)


def hashed(value: object) -> str | None:
    """Return the hash of a text."""
    return None if value is None else hash_text(encode_text(value))


def number(value: object) -> float | None:
    """Return a number, also of a text; None for anything else."""
    try:
        return float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        return None


def thousandth(value: object) -> float | None:
    """Return milliseconds as seconds."""
    return None if number(value) is None else (number(value) or 0.0) / 1000


def time(value: object) -> float | None:
    """Return an ISO time as seconds since the epoch."""
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def duration(record: _Record) -> float | None:
    """Return the seconds between the start and the end of a trial."""
    for start, end in (("trial_started_at", "trial_ended_at"), ("started_at", "finished_at")):
        first, last = time(record.get(start)), time(record.get(end))
        if first is not None and last is not None:
            return last - first
    return None


def single(value: object) -> str | None:
    """Return the only value of a mapping as a text, or several with their names."""
    values = {name: one for name, one in as_mapping(value).items() if one is not None}
    if not values:
        return None
    return encode_text(next(iter(values.values())) if len(values) == 1 else values)


def mean(value: object) -> float | None:
    """Return the mean of a list of verdicts."""
    each = value if isinstance(value, list) else []
    return sum(map(bool, each)) / len(each) if each else None


def slashes(value: object) -> object:
    """Return a name in which slashes were written as two hyphens."""
    return value.replace("--", "/") if isinstance(value, str) else value


def alternatives(value: object) -> str | None:
    """Return right answers, of which each counts."""
    return " | ".join(map(encode_text, value)) if isinstance(value, list) else None


def preference(value: object) -> object:
    """Return AlpacaEval's preference minus 1, where 0 was a draw in older versions."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return 0.5 if value == 0 else value - 1 if 1 <= value <= 2 else ValueError(f"{value} is no preference from 1 to 2")


def evalplus_benchmark(task: object) -> str | None:
    """Return the name of the data set that a task is from."""
    name = str(task).partition("/")[0].lower()
    return f"{name}plus" if name in ("humaneval", "mbpp") else "evalplus"


def langfuse_value(score: _Record) -> object:
    """Return the value of a score; the text of a category, because its number is only that of its place."""
    return (score.get("stringValue") if score.get("dataType") == "CATEGORICAL" else None) or score.get("value")


def olmes_answer(line: _Record) -> str | None:
    """Return the letter of the most likely choice under the primary metric, or the answer that was extracted."""
    comparisons = {"acc_per_char": "per_char", "acc_per_token": "per_token", "acc_uncond": "uncond"}
    primary = str(get_field(line, "$metrics.task_config.primary_metric"))
    index = get_number(line.get("metrics"), f"predicted_index_{comparisons.get(primary, 'raw')}")
    return format_choice(int(index)) if index is not None and 0 <= index < 26 else None


def olmes_label(line: _Record) -> str | None:
    """Return the right answer: the letter of a choice where several choices were compared."""
    label, outputs = line.get("label"), line.get("model_output")
    if isinstance(outputs, list) and len(outputs) > 1 and isinstance(label, int) and 0 <= label < 26:
        return format_choice(label)
    return None if label is None else encode_text(label)


def tau2_agent(info: _Record) -> str:
    """Return what a label says beside the model: another agent than the plain one, and the simulated user."""
    agent, user = get_text(info, "agent_info.implementation"), get_text(info, "user_info.llm")
    return f" {agent}" * (agent not in (None, "llm_agent")) + f" (user {user})" * (user is not None)


def text(value: object) -> str | None:
    """Return a text; None for anything else."""
    return value if isinstance(value, str) else None


def simple_evals_created(record: _Record) -> str | None:
    """Return the date and time in the name of a file."""
    date, clock = get_text(record, "$name.date"), get_text(record, "$name.time")
    if date is None or clock is None:
        return None
    return f"{date[:4]}-{date[4:6]}-{date[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}"


def simple_evals_mean(record: _Record) -> object:
    """Return the score of the file; None where healthbench clipped it to 0 or 1."""
    score = get_field(record, "$file.score")
    is_clipped = str(get_field(record, "$name.eval")).startswith("healthbench") and score in (0, 1)
    return None if is_clipped else score


def tau2_failure(simulation: _Record) -> str | None:
    """Return why a simulation could not be judged."""
    end, reward = simulation.get("termination_reason"), get_field(simulation, "reward_info.reward")
    if end in ("infrastructure_error", "context_window_exceeded") or (end == "unexpected_error" and reward is None):
        return f"{end}: {get_text(simulation, 'info.error', 'reward_info.info.note') or 'it was not judged'}"
    return None


def terminal_bench_failure(trial: _Record) -> str | None:
    """Return a failure of the harness, in contrast to those of the agent."""
    mode = trial.get("failure_mode")
    is_harness = mode in ("unknown", "unknown_harness_error", "parse_error", "agent_installation_failed")
    return f"{mode}: the harness failed" if is_harness and not trial.get("is_resolved") else None


def harbor_failure(trial: _Record) -> str | None:
    """Return the exception of a trial that has no reward."""
    names = ("exception_info.exception_type", "exception_info.exception_message")
    return ": ".join(text for name in names if (text := get_text(trial, name))) or None


def verifiers_failure(line: _Record) -> str | None:
    """Return the error of a rollout."""
    error = line.get("error")
    return (get_text(error, "error_chain_repr", "error") or encode_text(error)) if error else None


def waza_score(run: _Record) -> float | None:
    """Return the weighted mean of the validations of a run."""
    pairs = [
        (score, weight if (weight := get_number(one, "weight") or 0.0) > 0 else 1.0)
        for one in as_mapping(run.get("validations")).values()
        if (score := get_number(one, "score")) is not None
    ]
    return sum(score * weight for score, weight in pairs) / sum(weight for _, weight in pairs) if pairs else None


# --- checks of a file, and the logs at a path ---


def is_ragas(head: FileHead) -> bool:
    """Return whether there are questions and answers."""
    names = {name.strip() for name in head.keys}
    return not names.isdisjoint(("user_input", "question")) and not names.isdisjoint(("response", "answer"))


def is_numbered(head: FileHead) -> bool:
    """Return whether the keys are numbers of questions, as of the predictions of OpenCompass."""
    return bool(head.keys) and all(name.isdecimal() for name in head.keys) and not head.has_text("[")


def is_in_results(head: FileHead) -> bool:
    """Return whether a file lies in the folder of a model in one of results."""
    return head.path.resolve().parent.parent.name == "results"


_HARBOR_JOB, _HARBOR_TRIAL = {"id", "n_total_trials", "stats"}, {"task_name", "trial_name", "agent_info"}


def is_harbor_job(head: FileHead) -> bool:
    """Return whether a folder has the result of a job."""
    return FileHead(head.path / "result.json").keys >= _HARBOR_JOB


def has_harbor_trials(head: FileHead) -> bool:
    """Return whether the folders in a folder, which has no result of a job, are trials."""
    first = next((one for one in sorted(head.path.glob("*__*/result.json"))), None)
    return first is not None and FileHead(first).keys >= _HARBOR_TRIAL


def find_harbor_logs(path: Path) -> Sequence[Path]:
    """Return the folder of a job, or the file of a trial outside of a job."""
    return [path.parent] if path.name == "result.json" and FileHead(path).keys >= _HARBOR_JOB else [path]


def find_deepeval_logs(path: Path) -> Sequence[Path]:
    """Return the file itself; of the folder `.deepeval`, the file of the latest run, the complete one first."""
    names = (".latest_run_full.json", ".latest_test_run.json")
    return [next(path / name for name in names if (path / name).is_file())] if path.is_dir() else [path]


def find_every_eval_logs(path: Path) -> Sequence[Path]:
    """Return the file of samples; for a file of totals, that beside it if it exists."""
    beside = path.with_name(f"{path.name.removesuffix('.json')}_samples.jsonl")
    is_totals = "sample_id" not in FileHead(path).keys
    return [beside] if is_totals and beside.is_file() else [path]


# --- functions of records ---


def note_pages(records: _Records, shared: _Shared, _path: Path, build: RowBuilder) -> Iterator[_Record]:
    """Note that a page of an API is one of several."""
    file = shared.get("$file")
    n_pages = get_field(file, "meta.totalPages")
    if get_field(file, "has_more") is True or (isinstance(n_pages, int) and n_pages > 1):
        build.note("log-page")
    yield from records


def langfuse(records: _Records, shared: _Shared, path: Path, build: RowBuilder) -> Iterator[_Record]:
    """Leave out scores without a trace or a name, and note traces that are no items of a data set."""
    traces: dict[tuple[str | None, str | None], bool] = {}
    for score in note_pages(records, shared, path, build):
        if not get_text(score, "traceId") or not get_text(score, "name"):
            build.note("log-left-out", 1, what="trace or name")
            continue
        item = get_text(score, "datasetItemId", "metadata.datasetItemId", "metadata.dataset_item_id") or get_text(
            score, "trace.metadata.dataset_item_id"
        )
        traces.setdefault((get_text(score, "traceId"), get_text(score, "observationId")), item is not None)
        yield {**score, "$item": item}
    if n := sum(not has_item for has_item in traces.values()):
        build.note("log-traces", n, total=len(traces))


def evalplus(records: _Records, shared: _Shared, _path: Path, build: RowBuilder) -> Iterator[_Record]:
    """Yield the samples of each task, in the newer form or in the older one, `{"base": [...], "plus": [...]}`."""
    shared["$n"] = 1
    for record in records:
        value, task = record.get("value", record), record["$key"]
        if isinstance(value.get("base") if isinstance(value, Mapping) else None, list):
            base, plus = value["base"], value.get("plus")
            others = plus if isinstance(plus, list) and len(plus) == len(base) else [None] * len(base)
            samples: list[_Record] = [
                {f"{name}_status": one[0] if isinstance(one, list) and one else None for name, one in pair}
                for pair in ((("base", one), ("plus", other)) for one, other in zip(base, others, strict=True))
            ]
        else:
            samples = list(parse_records(value, build))
        shared["$n"] = max(shared["$n"], len(samples))
        for sample in samples:
            passed = {
                name: None if not isinstance(status, str) or not status else status.lower() in ("pass", "success")
                for name, status in ((name, sample.get(f"{name}_status")) for name in ("plus", "base"))
            }
            # EvalPlus counts a sample as right where it passes both sets of tests.
            if passed["plus"] is not None:
                passed["plus"] = passed["plus"] and passed["base"] is not False
            scores = {name: value for name, value in passed.items() if value is not None}
            yield {"task_id": task, **sample, "$key": task, "$scores": scores}


def mlflow(records: _Records, shared: _Shared, _path: Path, build: RowBuilder) -> Iterator[_Record]:
    """Yield the rows of a table of columns and data, each with the failure of the score that is read."""
    columns = as_mapping(shared["$file"]).get("columns")
    names = [encode_text(name) for name in columns] if isinstance(columns, list) else []
    about_text = ("latency", "token_count", "flesch_kincaid", "ari_grade", "toxicity")
    judged = [name for name in names if name.endswith("/score") and not name.startswith(about_text)]
    wanted = build.options.scorer
    for record in records:
        values = record.get("value")
        if not isinstance(values, list) or len(values) != len(names):
            build.note("log-left-out", 1, what=f"{len(names)} values")
            continue
        row = dict(zip(names, values, strict=True))
        first = judged[0].removesuffix("/score") if judged else ""
        is_read = bool(first) and row[f"{first}/score"] is None and (wanted is None or wanted in first)
        # The justification of another metric is no reason why the metric that is read has no score.
        yield {**row, "$failure": row.get(f"{first}/justification") if is_read else None}


_ONE_TURN = re.compile(
    r"\[Question\]\n(?P<question>.*?)\n\n(?:\[The Start of Reference.*?)?"
    r"\[The Start of Assistant's Answer\]\n(?P<answer>.*)\n\[The End of Assistant's Answer\]",
    re.DOTALL,
)


def mt_bench(records: _Records, _shared: _Shared, _path: Path, build: RowBuilder) -> Iterator[_Record]:
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


def tau_bench(records: _Records, shared: _Shared, path: Path, _build: RowBuilder) -> Iterator[_Record]:
    """Find the domain, by the tools that the expected actions call or by the name of the file."""
    each = list(records)
    words = {
        "airline": ("reservation", "flight", "send_certificate"),
        "retail": ("order", "modify_user_address", "find_user_id_by_"),
    }
    actions = [get_field(trial, "info.task.actions") for trial in each[:50]]
    names = [str(get_field(one, "name")) for of in actions for one in (of if isinstance(of, list) else ())]
    match = [domain for name in names for domain, parts in words.items() if any(part in name for part in parts)]
    match += [domain for domain in words if domain in str(path).lower()]
    if match:
        shared["$domain"] = match[0]
    shared["$n"] = 1 + max((int(get_number(trial, "trial") or 0) for trial in each), default=0)
    yield from each


def verifiers(records: _Records, shared: _Shared, _path: Path, _build: RowBuilder) -> Iterator[_Record]:
    """Yield rollouts with the values of their reward functions, in fields of their own or among the metrics."""
    each = list(records)
    no_scores = {"example_id", "generation_ms", "scoring_ms", "total_ms", "is_truncated", "is_completed", "num_turns"}
    names = dict.fromkeys(["reward", *(name for line in each for name in as_mapping(line.get("metrics")))])
    for line in each:
        names |= dict.fromkeys(name for name in line if name not in no_scores and get_number(line, name) is not None)
    shared["$first_task"] = get_text(each[0], "task") if each else None
    # Environments that are groups number the examples of each of their tasks from 0.
    is_group = len({get_text(line, "task") for line in each}) > 1
    for line in each:
        values = {**as_mapping(line.get("metrics")), **line}
        scores = {name: values.get(name) for name in names}
        yield {**line, "$scores": scores, "$task": line.get("task") if is_group else None}


def verifiers_episodes(records: _Records, _shared: _Shared, _path: Path, build: RowBuilder) -> Iterator[_Record]:
    """Yield the episodes with one trace; the reward is the weighted sum of what the reward functions gave."""
    for episode in records:
        traces = list(parse_records(episode.get("traces"), build))
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
        yield {
            **episode,
            "$question": get_text(task, "id", "name", "idx") or hash_text(task),
            "$scores": {"reward": total, **{name: value for name, value in rewards.items() if name != "reward"}},
            "$model": get_text(trace, "calls.0.model", "agent.config.model"),
            "$failure": (error or "the rollout is not marked as ok") if trace.get("ok") is False else None,
            "$nodes": [get_field(node, "message") for node in parse_records(trace.get("nodes"), build)],
            "$prompt": task.get("prompt"),
        }


def harbor(records: _Records, shared: _Shared, path: Path, build: RowBuilder) -> Iterator[_Record]:
    """Yield the trials of a job, which a folder has in folders of their own, or a file has inside."""
    trials = list(records)
    job = shared.get("$file", {})
    if path.is_dir():
        file = path / "result.json"
        job = shared["$file"] = read_json(file, dict[str, Any]) if file.is_file() else {}
        if file.is_file() and not job.keys() >= _HARBOR_JOB:
            remedy = "give the result.json of trials"
            raise InputError("its result.json is not that of a job", where=str(path), remedy=remedy)
        for each in sorted(path.glob("*/result.json")):
            try:
                trials.append(read_json(each, dict[str, Any]))
            except InputError:
                build.note("log-unreadable", 1, example=each.parent.name)
        trials = trials or list(parse_records(job.get("trial_results"), build))
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
    yield from trials


def waza(records: _Records, shared: _Shared, _path: Path, build: RowBuilder) -> Iterator[_Record]:
    """Yield the runs of the tasks, and those of the baseline without the skill that is kept in the same file."""
    yield from records
    baseline = get_field(shared["$file"], "baseline_outcome.tasks")
    for task in parse_records(baseline, build):
        yield from ({**run, "$parent": task, "$baseline": "baseline"} for run in parse_records(task.get("runs"), build))


def deepeval(records: _Records, shared: _Shared, _path: Path, build: RowBuilder) -> Iterator[_Record]:
    """Yield the test cases, each with its scores: the value of each metric, whether it passed, and whether all did."""
    file = as_mapping(next(iter(records), {}))
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
    cases = [*parse_records(run.get("testCases"), build), *parse_records(run.get("conversationalTestCases"), build)]
    again = Counter(str(case.get("name")) for case in cases)
    if run.get("testFile") and (n := sum(k - 1 for name, k in again.items() if name.startswith("test_"))):
        build.note("log-reruns", n)
    for case in cases:
        turns: Any = case["turns"] if isinstance(case.get("turns"), list) else []
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


def _list_deepeval_scores(case: _Record, build: RowBuilder) -> dict[str, object]:
    """Return the scores of a test case; the error of a metric is its score, and that of the case."""
    listed = case.get("metricsData")
    metrics = parse_records(case.get("metricsMetadata") if listed is None else listed, build)
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


def bfcl(records: _Records, shared: _Shared, path: Path, build: RowBuilder) -> Iterator[_Record]:
    """Yield the questions that a score file lists, which are the wrong ones, and the right ones.

    These are the others of the result file that belongs to it, or the numbers that are not listed.
    """
    header, *wrong = list(records) or [{}]
    remedy = "put BFCL's folder result/ beside its folder score/"
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
    completions = _read_bfcl_completions(path, category, build)
    names = list(completions)
    if not names:
        prefixes = {name.rpartition("_")[0] for name in wrong_of} or {category}
        largest = max((int(name.rpartition("_")[2]) for name in wrong_of), default=0)
        if len(prefixes) > 1 or largest >= total or len(wrong_of) > total:
            what = f"it lists the {len(wrong_of)} wrong ones of {total:g} questions, and not which are the others"
            raise InputError(what, where=str(path), remedy=remedy)
        names = [f"{next(iter(prefixes))}_{number}" for number in range(int(total))]
        build.note("log-right-unlisted", len(names) - len(wrong_of), total=len(names))
    if unknown := [name for name in wrong_of if name not in set(names)]:
        what = f"{len(unknown)} wrong questions, such as {unknown[0]!r}, are none of the {len(names)} questions"
        raise InputError(what, where=str(path), remedy=remedy)
    for name in names:
        one = wrong_of.get(name, {})
        text = completions.get(name) or get_text(one, "model_result_raw", "model_result")
        wanted = get_field(one, "prompt.question")
        if isinstance(wanted, list):  # newer versions have a list of turns, each of which is a list of messages
            wanted = [message for turn in wanted for message in (turn if isinstance(turn, list) else [turn])]
        is_failed = (text or "").startswith("Error during inference:")
        remaining = {"$failure": text} if is_failed else {"$completion": text}
        yield {
            "id": name,
            "valid": not one,
            **one,
            "$question": name,
            "$score": not one,
            "$messages": wanted,
            **remaining,
        }


def _name_bfcl_question(record: _Record, category: str) -> str | None:
    """Return category and number of a question, which older files count from 1; None where it states none."""
    value = record.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{category}_{value - 1}"
    match = _BFCL_NAME.fullmatch(value) if isinstance(value, str) else None
    return f"{match['category'] or category}_{int(match['number'])}" if match else None


def _read_bfcl_completions(path: Path, category: str, build: RowBuilder) -> dict[str, str]:
    """Return the completions by question, from the result file that belongs to a score file."""
    parts = list(path.resolve().parts)
    places = [place for place, part in enumerate(parts) if part == "score"]
    file = Path(*parts[: places[-1]], "result", *parts[places[-1] + 1 : -1]) if places else path.parent
    file /= path.name.replace("_score.", "_result.")
    completions: dict[str, str] = {}
    if places and file.is_file():
        for record in read_json_lines(file, dict[str, object], build.note):
            name = _name_bfcl_question(record, category)
            if name is None or name in completions:
                build.note("log-left-out", 1, what="question of its own")
            else:
                completions[name] = encode_text(record.get("result"))
    return completions


def opencompass(records: _Records, shared: _Shared, path: Path, build: RowBuilder) -> Iterator[_Record]:
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
            result.append(
                {
                    "index": record["$key"],
                    **record,
                    # Each part of predictions numbers its questions from 0.
                    "$question": f"{part}/{question}" if part else question,
                    "$score": verdict,
                    "$target": _pick(
                        record, ("references", "answer", "gold", "reference"), None if place is None else 0
                    ),
                    "$answer": _pick(record, ("predictions", "pred"), place),
                    "$completion": _pick(record, ("origin_prediction", "prediction"), place),
                    "$messages": _list_opencompass_turns(record.get("prompt", record.get("origin_prompt"))),
                }
            )
    shared["$unscored"] = all(one["$score"] is None for one in result)
    yield from result


def _pick(record: _Record, names: Sequence[str], place: int | None) -> str | None:
    """Return the first of these fields as a text; of repeats the one at a place."""
    value = next((record[name] for name in names if record.get(name) is not None), None)
    if place is not None and isinstance(value, list):
        value = value[place] if place < len(value) else None
    return None if value is None else encode_text(value)


def _list_opencompass_turns(prompt: object) -> object:
    """Return the messages of a prompt, whose turns are `{"role": "HUMAN", "prompt": ...}`."""
    roles = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
    if not isinstance(prompt, list):
        return prompt
    turns = [(get_text(turn, "role") or "HUMAN", get_text(turn, "prompt")) for turn in prompt]
    return [{"role": roles.get(role, role.lower()), "content": text or ""} for role, text in turns]


_RESULTS = re.compile(
    r"<h3>Results</h3>\s*(?:<p>Correct Answer: (?P<target>.*?)</p>\s*)?<p>Extracted Answer: (?P<answer>.*?)</p>\s*"
    r"<p>Score: (?P<score>[^<]*)</p>",
    re.DOTALL,
)
_CHOICE = re.compile(r"([A-Z])[).] (.*)")


def simple_evals(records: _Records, _shared: _Shared, path: Path, build: RowBuilder) -> Iterator[_Record]:
    """Yield the examples, whose score is in their metadata or on the HTML page under the heading "Results".

    A question is the hash of its prompt without system messages and without the order of its choices, so that repeats
    and models agree on it. A heading of a page is no text of a model, because those are escaped.
    """
    file = as_mapping(next(iter(records), {}))
    places = ("htmls", "convos", "metadata.example_level_metadata")
    pages, convos, metadata = columns = [cast("Any", get_field(file, place)) or [] for place in places]
    n = max(len(each) if isinstance(each, list) else 0 for each in columns)
    if not n or any(not isinstance(each, list) or len(each) not in (0, n) for each in columns):
        what = "pages, conversations and metadata of its examples do not fit together" if n else "it holds no example"
        raise InputError(what, where=str(path), remedy="is the file as simple-evals wrote it?")
    examples = [_parse_example(i, *(each[i] if each else None for each in (pages, convos, metadata))) for i in range(n)]
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
        for turn in (convo if isinstance(convo, list) else ())
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


def every_eval_ever(records: _Records, shared: _Shared, _path: Path, build: RowBuilder) -> Iterator[_Record]:
    """Yield each text of each row; of scores that were reduced over epochs, none is the score of an epoch.

    The converter of Inspect writes the mean over the epochs into the row of each epoch. If all epochs of all samples
    have one score, and it is a fraction somewhere although the texts differ, it is such a mean.
    """
    lines = list(records)
    shared["$n_records"] = len(lines)
    each = [line for line in lines if line.get("model_id") and line.get("sample_id") is not None]
    if len(each) < len(lines):
        build.note("log-left-out", len(lines) - len(each), what="model or sample")
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
    shared["$is_reduced"] = is_reduced
    for line, texts, talk in rows:
        last = [one for one in parse_records(line.get("answer_attribution"), build) if one.get("is_terminal")]
        common = {
            **line,
            "$messages": talk[:-1] if talk else get_text(line, "input.formatted", "input.raw"),
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
