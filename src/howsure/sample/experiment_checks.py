"""Check an experiment before it runs: its file, benchmarks, disk, limits, keys, and one request to each model."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import shutil
import tempfile
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from howsure.benchmarks import is_inspect_task
from howsure.benchmarks.built_in import directions_small
from howsure.benchmarks.question import Benchmark, Message
from howsure.errors import EndpointError, HowsureError, HowsureWarning, InputError
from howsure.models.batch_client import BatchClient
from howsure.models.failures import shorten
from howsure.models.model import Model, Reply, Request
from howsure.safe_text import escape_control_characters, mask_address
from howsure.sample.estimate import Estimate, estimate_plans
from howsure.sample.experiment import Experiment, load_experiment
from howsure.sample.model_config import LOCAL_KINDS, ModelConfig, find_key, open_model
from howsure.sample.model_job import RequestSize, build_request
from howsure.sample.prices import format_dollars
from howsure.sample.progress import format_duration
from howsure.sample.sampling_plan import SamplingPlan, build_plans
from howsure.sample.scored_rows import score_reply
from howsure.stats.core.results import Columns, Result, make_columns

#: What a check says: all is well; something to know; the run cannot start, or would waste what it costs.
CheckState = Literal["ok", "note", "problem"]

#: Bytes on the disk: of a row without its completion, and of each token of a completion. An upper estimate: stored
#: blocks are compressed, the write-ahead log is not.
BYTES_PER_ROW, BYTES_PER_TOKEN = 500, 8
#: Generations of the request that is sent to each model: the smallest number that shows whether `n` is honoured.
TRIAL_GENERATIONS = 2
#: Open files that a process needs beside its connections.
OTHER_FILES = 64


class ExperimentCheck(NamedTuple):
    """One line: what was checked, what was found, and what to do about it."""

    check: str
    state: CheckState
    result: str
    remedy: str = ""


@dataclass(frozen=True, repr=False)
class ExperimentChecks(Result):
    """What `check_experiment` found, a row for each check.

    Attributes
    ----------
    checks
        In the order in which they are printed.
    n_requests
        Requests that were sent to models.
    """

    checks: tuple[ExperimentCheck, ...]
    n_requests: int = 0

    @property
    def is_ready(self) -> bool:
        """Whether no check found a problem."""
        return all(check.state != "problem" for check in self.checks)

    def columns(self) -> Columns:
        """Return check, state, result and remedy."""
        return make_columns(
            len(self.checks),
            check=[one.check for one in self.checks],
            state=[one.state for one in self.checks],
            result=[one.result for one in self.checks],
            remedy=[one.remedy for one in self.checks],
        )

    def format_rows(self, width: int | None) -> str:
        """Return a line for each check, and a last one on all of them."""
        indent = max(len(check.check) for check in self.checks) + 11
        lines = []
        for check in self.checks:
            text = f"{check.result}; {check.remedy}" if check.remedy else check.result
            head = f"{check.state:<7}  {check.check}".ljust(indent)
            lines += textwrap.wrap(
                head + escape_control_characters(text),
                width or 80,
                subsequent_indent=" " * indent,
                break_on_hyphens=False,
                break_long_words=False,
                drop_whitespace=True,
            )
        return "\n".join([*lines, self._summarise()])

    def _summarise(self) -> str:
        """Return the last line: whether the experiment can run, and what was sent."""
        n = sum(check.state == "problem" for check in self.checks)
        sent = (
            f"{self.n_requests} request{'s' * (self.n_requests != 1)} sent" if self.n_requests else "nothing was sent"
        )
        return f"{'ready' if not n else f'{n} problem' + 's' * (n != 1)}; {sent}"


def check_experiment(
    path: Path | str,
    folder: Path | None = None,
    *,
    sends: bool = True,
    environ: Mapping[str, str] = os.environ,
) -> ExperimentChecks:
    """Check whether an experiment can run, with one request to each model.

    Parameters
    ----------
    path
        YAML file of the experiment.
    folder
        Run folder; None takes the name of the experiment without its suffix.
    sends
        False sends nothing.
    environ
        Environment variables, from which keys are read.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "exp.yaml")
    >>> _ = file.write_text("{benchmark: directions-small, models: [simulated/medium], generations: 2}")
    >>> checks = check_experiment(file)
    >>> checks.is_ready, checks.n_requests
    (True, 0)
    """
    from howsure.sample.run import run_coroutine

    path = Path(path)
    folder = folder or path.with_suffix("")
    checks = [_check_versions()]
    try:
        experiment = load_experiment(path)
    except InputError as error:
        return ExperimentChecks((*checks, _describe_error("experiment", error)))
    checks.append(_describe_experiment(experiment, path))
    plans, of_questions = _build_plans(experiment)
    checks += of_questions
    estimate: Estimate | None = None
    if plans:
        try:
            estimate = estimate_plans(plans, folder)
        except HowsureError as error:
            checks.append(_describe_error("run folder", error))
        else:
            checks.append(_describe_estimate(estimate))
    checks += [_check_disk(folder, estimate), *_check_open_files(experiment)]
    trials = _list_trials(experiment, plans, estimate)
    each = [_check_model(trial, sends=sends, environ=environ) for trial in trials]

    async def check_all() -> list[_ModelChecks]:
        return list(await asyncio.gather(*each))

    of_models = run_coroutine(check_all())
    for model in of_models:
        checks += model.checks
    return ExperimentChecks(tuple(checks), sum(model.n_requests for model in of_models))


def _describe_error(check: str, error: HowsureError) -> ExperimentCheck:
    """Return the line of an error, with its remedy apart where it has one."""
    if isinstance(error, InputError):
        where = f"{error.where}: " if error.where else ""
        return ExperimentCheck(check, "problem", f"{where}{error.what}", error.remedy or "")
    return ExperimentCheck(check, "problem", str(error))


def _check_versions() -> ExperimentCheck:
    """Return the versions of what a run uses."""
    from importlib.metadata import version

    python = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "pyarrow", "aiohttp"))
    return ExperimentCheck("versions", "ok", f"howsure {version('howsure')}, {python}, {libraries}")


def _describe_experiment(experiment: Experiment, path: Path) -> ExperimentCheck:
    """Return what the file describes."""
    labels = list(dict.fromkeys(config.label for part in experiment.parts for config in part.models))
    named = ", ".join(labels[:4]) + (f" and {len(labels) - 4} more" if len(labels) > 4 else "")
    judge = f"; judge {experiment.judge.model.label}" if experiment.judge else ""
    return ExperimentCheck("experiment", "ok", f"{path.name}: {named}{judge}")


def _build_plans(experiment: Experiment) -> tuple[list[SamplingPlan], list[ExperimentCheck]]:
    """Return the plan of each benchmark, and the lines about them; tasks of Inspect are planned when they run."""
    names = [part.benchmark for part in experiment.parts if is_inspect_task(part.benchmark)]
    if names:
        result = "a task of Inspect, whose questions are read when it runs"
        return [], [ExperimentCheck("benchmark", "note", result, "howsure run reports what it lacks")]
    checks = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HowsureWarning)
        try:
            plans = build_plans(experiment)
            for plan in plans:
                if plan.benchmark.scorer is not None:
                    plan.benchmark.scorer.prepare()  # such as the sandbox of generated code
        except InputError as error:
            plans = []
            checks.append(_describe_error("benchmark", error))
        finally:
            for plan in plans:
                if plan.benchmark.scorer is not None:
                    plan.benchmark.scorer.close()
    for plan in plans:
        prompts = f"{len(plan.variants)} prompt variant{'s' * (len(plan.variants) != 1)}"
        result = f"{plan.benchmark.name}: {len(plan.questions):,} questions in {prompts}"
        checks.append(ExperimentCheck("benchmark", "ok", result))
    checks += [
        ExperimentCheck("benchmark", "note", str(one.message))
        for one in caught
        if issubclass(one.category, HowsureWarning)
    ]
    return plans, checks


def _describe_estimate(estimate: Estimate) -> ExperimentCheck:
    """Return what the missing generations need."""
    models = estimate.models
    missing, wanted = sum(model.missing for model in models), sum(model.cells for model in models)
    cost = "cost unknown" if estimate.cost is None else f"about {format_dollars(estimate.cost)}"
    requests = sum(model.requests for model in models)
    result = f"{missing:,} of {wanted:,} generations to sample in {requests:,} requests, {cost}"
    unpriced = [model.model for model in models if model.cost is None]
    remedy = f"give {unpriced[0]} a price to know the cost" if unpriced else ""
    return ExperimentCheck("requests", "note" if unpriced else "ok", result, remedy)


def _check_disk(folder: Path, estimate: Estimate | None) -> ExperimentCheck:
    """Return whether the run folder can be written, and has room for the missing generations."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        return ExperimentCheck("disk", "problem", f"{place} is a file, not a folder", "name another folder with -o")
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        remedy = "change its permissions, or name another folder with -o"
        what = f"{place.resolve()} cannot be written: {error.strerror or error}"
        return ExperimentCheck("disk", "problem", what, remedy)
    free = shutil.disk_usage(place).free
    if estimate is None:
        return ExperimentCheck("disk", "ok", f"{_format_bytes(free)} free at {place.resolve()}")
    needed = sum(BYTES_PER_ROW * model.missing + BYTES_PER_TOKEN * model.completion_tokens for model in estimate.models)
    result = f"{_format_bytes(free)} free at {place.resolve()}, about {_format_bytes(needed)} needed"
    if free < needed:
        return ExperimentCheck("disk", "problem", result, "free some space, or name another folder with -o")
    return ExperimentCheck("disk", "ok", result)


def _format_bytes(number: int) -> str:
    """Return a number of bytes in units of a thousand.

    >>> _format_bytes(999), _format_bytes(1_500_000)
    ('1 kB', '1.5 MB')
    """
    size, units = number / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.1f} {units[0]}" if 1 < size < 10 else f"{max(size, number > 0):.0f} {units[0]}"


def _check_open_files(experiment: Experiment) -> Iterator[ExperimentCheck]:
    """Yield a line if the requests in flight may need more open files than this process may have."""
    if importlib.util.find_spec("resource") is None:
        return
    import resource

    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(sum(config.concurrency for config in part.models if config.is_billed) for part in experiment.parts)
    if allowed != resource.RLIM_INFINITY and most + OTHER_FILES > allowed:
        result = f"up to {most:,} connections at once, and this process may open {allowed:,} files"
        yield ExperimentCheck("limits", "problem", result, f"ulimit -n {most + OTHER_FILES}, or a lower concurrency")


class _Trial(NamedTuple):
    """One model with the plan whose first question it is asked; None where there is no question."""

    config: ModelConfig
    others: int
    """Further configurations of the same model, which only differ in their decoding settings."""
    plan: SamplingPlan | None
    n_requests: int = 0
    """Requests that the run sends to this model, in all its settings, if it honours `n`; 0 where they are unknown."""
    n_generations: int = 0
    """Generations that the run requests of this model, in all its settings; 0 where they are unknown."""


class _ModelChecks(NamedTuple):
    """The lines about one model, and how many requests it was sent."""

    checks: list[ExperimentCheck]
    n_requests: int = 0


def _list_trials(experiment: Experiment, plans: Sequence[SamplingPlan], estimate: Estimate | None) -> list[_Trial]:
    """Return each model at each address once, with the configuration that requests the most generations."""
    groups: dict[tuple[str, ...], list[tuple[ModelConfig, SamplingPlan | None]]] = {}
    sources: list[tuple[tuple[ModelConfig, ...], SamplingPlan | None]]
    sources = [(plan.experiment.models, plan) for plan in plans]
    if not plans:
        sources = [(part.models, None) for part in experiment.parts]
    for models, of_models in sources:
        for config in models:
            key = (config.kind, config.base_url, config.name, config.key_env, config.mode)
            groups.setdefault(key, []).append((config, of_models))
    requests: Counter[str] = Counter()
    generations: Counter[str] = Counter()
    for row in estimate.models if estimate is not None else ():
        requests[row.model] += row.requests
        generations[row.model] += row.missing
    trials = []
    for group in groups.values():
        config, chosen = max(group, key=lambda pair: pair[0].generations)
        labels = {other.label for other, _ in group}
        n_requests, n_generations = (sum(each[label] for label in labels) for each in (requests, generations))
        trials.append(_Trial(config, len(labels) - 1, chosen, n_requests, n_generations))
    if experiment.judge is not None:
        trials.append(_Trial(experiment.judge.model, 0, None))
    return trials


async def _check_model(trial: _Trial, *, sends: bool, environ: Mapping[str, str]) -> _ModelChecks:
    """Return the lines about one model: its key, its endpoint, and what its reply to one request shows."""
    config = trial.config
    label = config.label + (f" (and {trial.others} other setting{'s' * (trial.others > 1)})" if trial.others else "")
    if config.kind == "transformers":
        return _ModelChecks([_check_libraries(label)])
    if config.kind in LOCAL_KINDS.values():
        return _ModelChecks([ExperimentCheck("model", "ok", f"{label}: runs in this process, without an endpoint")])
    try:
        find_key(config, environ)
    except InputError as error:
        return _ModelChecks([_describe_error("key", error)])
    key = f"{config.key_env} is set" if config.key_env else "none needed"
    checks = [ExperimentCheck("key", "ok", f"{label}: {key}")]
    address = mask_address(config.base_url) or "its provider"
    if not sends or config.mode == "batch":
        why = "--offline" if not sends else "mode: batch, whose replies take up to a day"
        return _ModelChecks([*checks, ExperimentCheck("endpoint", "note", f"{label}: {address} not tried ({why})")])
    try:
        model: Model | BatchClient = open_model(config, _find_benchmark(trial), environ=environ)
    except HowsureError as error:
        return _ModelChecks([*checks, _describe_error("endpoint", error)])
    try:
        tried, n_requests = await _try_model(trial, label, model)
    finally:
        await model.close()
    return _ModelChecks([*checks, *tried], n_requests)


def _check_libraries(label: str) -> ExperimentCheck:
    """Return whether the libraries of a local model are installed."""
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        remedy = "pip install 'howsure[transformers]'"
        return ExperimentCheck("model", "problem", f"{label}: {' and '.join(missing)} not installed", remedy)
    return ExperimentCheck("model", "ok", f"{label}: runs in this process; its weights are loaded when it runs")


def _find_benchmark(trial: _Trial) -> Benchmark:
    """Return the benchmark of a trial, or any where it has none, which endpoints do not look at."""
    return trial.plan.benchmark if trial.plan is not None else directions_small()


def _build_trial_request(trial: _Trial, n: int) -> Request:
    """Return a request for n generations of the first question of the run, or of a sum where there is none."""
    generations = tuple(range(1, n + 1))
    if trial.plan is None:
        messages: list[Message] = [{"role": "user", "content": "What is 1 + 1? Answer with a number."}]
        return Request("check", "sum", "default", messages, generations, trial.config.settings)
    variant = trial.plan.variants[0]
    name, question = trial.plan.benchmark.name, trial.plan.questions[0]
    return build_request(trial.config, name, question, variant, variant.id, generations)


async def _try_model(
    trial: _Trial, label: str, model: Model | BatchClient, *, n_tries: int = 3
) -> tuple[list[ExperimentCheck], int]:
    """Return the lines about the replies to one request, and the number of requests.

    There is a second one where several generations are refused, and up to `n_tries` where the server has an error.
    """
    assert not isinstance(model, BatchClient)
    n = min(TRIAL_GENERATIONS, trial.config.generations, RequestSize(trial.config).limit)
    request = _build_trial_request(trial, n)
    checks: list[ExperimentCheck] = []
    n_requests = 1
    try:
        try:
            reply = await model.generate(request)
        except EndpointError as error:
            if error.reason != "n_rejected":
                raise
            remedy = "nothing to do: the run sends more requests, each with the prompt; choices: 1 saves the attempt"
            checks.append(ExperimentCheck("n", "note", f"{label}: refuses {n} generations in a request", remedy))
            n_requests = 2
            request = _build_trial_request(trial, 1)
            reply = await model.generate(request)
    except EndpointError as error:
        result = f"{label}: {error}"
        if error.reason == "server" and n_tries > 1:
            # The run repeats such a request too: one failure says little of the next.
            repeated, n_more = await _try_model(trial, label, model, n_tries=n_tries - 1)
            if all(check.state != "problem" for check in repeated):
                remedy = "nothing to do: the run repeats such requests"
                repeated = [ExperimentCheck("endpoint", "note", f"{result}; repeated, and answered", remedy), *repeated]
            return [*checks, *repeated], n_requests + n_more
        return [*checks, ExperimentCheck("endpoint", "problem", result, _find_remedy(error))], n_requests
    return [*checks, *_describe_reply(trial, label, request, reply)], n_requests


#: What helps against each reason of a failed request; the run itself repeats those that may pass.
_REMEDIES = {
    "connection": "start the server, or correct base_url",
    "timeout": "give the model a longer timeout, or fewer max_tokens",
    "rate_limit": "wait, or lower requests_per_minute",
    "server": "look at the server's own log; the run repeats such requests",
    "malformed": "is base_url the address of an API with this dialect?",
    "empty": "is base_url the address of an API with this dialect?",
    "bad_request": "remove the setting that it refuses",
    "unauthorized": "export the right key, or name its variable with key_env",
    "not_found": "correct the model's name or base_url",
    "quota": "add credit to the account",
}


#: What helps where the message of an endpoint has these words.
_REMEDIES_BY_MESSAGE = {
    "max_completion_tokens": "write extra: {max_completion_tokens: N} in place of max_tokens",
    "temperature": "remove temperature",
    "v1/responses": "chat completions are what is sent: choose a model or a router that takes them",
    "stream": "add to the model extra: {stream: true, stream_options: {include_usage: true}}",
}


def _find_remedy(error: EndpointError) -> str:
    """Return what helps against the failure of a request, by the words of its message or by its reason."""
    if error.reason in {"bad_request", "not_found"}:
        for words, remedy in _REMEDIES_BY_MESSAGE.items():
            if words in str(error).lower():
                return remedy
    return _REMEDIES.get(error.reason, "")


def _describe_reply(trial: _Trial, label: str, request: Request, reply: Reply) -> Iterator[ExperimentCheck]:
    """Yield what a reply shows: time, tokens, honoured `n`, limits, a cache, and whether an answer was read."""
    config, n, received = trial.config, len(request.generations), len(reply.choices)
    seconds = f" in {reply.seconds:.1f} s" if reply.seconds is not None else ""
    of_run = ""
    n_requests = trial.n_requests
    if received < min(TRIAL_GENERATIONS, config.generations, RequestSize(config).limit):  # n is ignored or refused
        n_requests = max(n_requests, trial.n_generations)
    if reply.seconds is not None and n_requests > 1:
        # The dry run assumes requests at once, which a server on a laptop may answer one by one.
        duration = format_duration(n_requests * reply.seconds)
        of_run = f"; the {n_requests:,} requests of the run would take {duration} one by one"
    version = f" as {shorten(reply.model, most=60)}" if reply.model and reply.model != config.name else ""
    address = mask_address(config.base_url) or "its provider"
    yield ExperimentCheck("endpoint", "ok", f"{label}: {address} replied{seconds}{version}{of_run}")
    if n > 1 and received >= n:
        yield ExperimentCheck("n", "ok", f"{label}: {n} of {n} generations in one request")
    elif n > 1:
        remedy = "nothing to do: the run sends more requests, each with the prompt; choices: 1 saves the attempts"
        yield ExperimentCheck("n", "note", f"{label}: {received} of {n} generations in one request", remedy)
    if reply.cached:
        remedy = "switch the cache off: a copy is no new generation"
        yield ExperimentCheck("cache", "problem", f"{label}: the reply came from a cache", remedy)
    if reply.limits is not None:
        limits = {"requests": reply.limits.requests, "tokens": reply.limits.tokens}
        listed = " and ".join(f"{value:,.0f} {name}" for name, value in limits.items() if value is not None)
        if listed:
            yield ExperimentCheck("limits", "ok", f"{label}: {listed} per minute, which the run keeps to")
    if reply.completion_tokens is None:
        remedy = "nothing to do, unless the budget counts tokens or money: then each request counts as its worst case"
        yield ExperimentCheck("tokens", "note", f"{label}: the reply does not count its tokens", remedy)
    if trial.plan is not None and received:
        yield _describe_answer(trial.plan, label, request, reply)


def _describe_answer(plan: SamplingPlan, label: str, request: Request, reply: Reply) -> ExperimentCheck:
    """Return what was read from the first completion of the first question."""
    if plan.benchmark.is_judged:
        return ExperimentCheck("answer", "ok", f"{label}: a completion for the judge")
    row = score_reply(plan.benchmark, plan.questions[0], label, request, reply, attempts=1)[0]
    text = shorten((row.completion or "")[-200:], most=60)
    if row.status == "length":
        result = f"{label}: the first completion was cut off: ...{text!r}"
        return ExperimentCheck("answer", "note", result, "give the model more max_tokens")
    if row.answer is not None and row.score is not None:
        result = f"{label}: read {shorten(str(row.answer), most=40)!r} from the first completion, score {row.score:g}"
        return ExperimentCheck("answer", "ok", result)
    result = f"{label}: no answer was read ({row.status}) from ...{text!r}"
    return ExperimentCheck("answer", "note", result, "howsure run EXPERIMENT --show-prompts 5 prints what is sent")
