"""What a worker is to run for one model, from an experiment whose benchmark is a task of Inspect.

benchmark: inspect/inspect_evals/gsm8k
benchmark: {name: inspect/tasks/mine.py@arithmetic, args: {level: 3}, scorer: match, message_limit: 20}
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import msgspec

from howsure.benchmarks import INSPECT_PREFIX
from howsure.errors import InputError, UnknownNameError
from howsure.sample.experiment import Experiment, PromptLine
from howsure.sample.model_config import ModelConfig

#: Keys of a benchmark that is a task of Inspect.
TASK_KEYS = ("name", "args", "scorer", "message_limit", "token_limit", "time_limit")
#: Name of the provider under which Inspect addresses an endpoint with an address of its own.
SERVICE = "openai-api/howsure"


class TaskRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker runs; it contains the name of the variable with the key, not the key.

    Examples
    --------
    >>> TaskRequest(task="inspect_evals/gsm8k", model="mockllm/model", log_folder="logs", epochs=2).limits
    {}
    """

    task: str
    """Name of the task, PACKAGE/TASK, or FILE.py@TASK with an absolute path."""
    model: str
    log_folder: str
    epochs: int
    args: dict[str, object] = {}
    base_url: str = ""
    key_env: str = ""
    settings: dict[str, object] = {}
    """Decoding settings by the names of Inspect."""
    limit: int | None = None
    seed: int = 0
    limits: dict[str, int] = {}
    """Limits of each sample by the names of Inspect."""
    is_quiet: bool = False
    """Whether Inspect prints nothing."""
    retry: bool = False
    """Whether samples that failed are run again."""


def check_experiment(experiment: Experiment) -> None:
    """Raise InputError for what a task of Inspect does not take, or if Inspect is not installed.

    Parameters
    ----------
    experiment
        Whose benchmark is a task of Inspect.

    Raises
    ------
    InputError
        With the key, and what to do instead.
    """
    if importlib.util.find_spec("inspect_ai") is None:
        remedy = 'pip install "howsure[inspect]"'
        raise InputError("a task of Inspect needs Inspect, which is not installed", where="benchmark", remedy=remedy)
    _check_spec(_get_spec(experiment))
    if experiment.more:
        remedy = "give it an experiment and a run folder of its own"
        raise InputError("a task of Inspect beside other benchmarks", where="benchmark", remedy=remedy)
    budget = experiment.budget
    refused = {
        "variants": (experiment.variants != (PromptLine(),), "a task of Inspect writes its own prompts; vary its args"),
        "until": (
            experiment.stopping is not None,
            "give the task early_stopping=IntervalStopping(...)",
        ),
        "allocate": (experiment.allocate != "even", "every sample has as many epochs"),
        "budget": (
            any(getattr(budget, name) is not None for name in budget.__struct_fields__),
            "Inspect limits samples, not runs: give the benchmark token_limit, message_limit or time_limit",
        ),
        "judge": (experiment.judge is not None, "the task has its own scorers, such as model_graded_qa"),
        "--shard": (experiment.shard != (1, 1), "Inspect runs all samples of a task"),
    }
    for key, (is_given, remedy) in refused.items():
        if is_given:
            raise InputError(f"{key} has no effect on a task of Inspect", where=key, remedy=f"remove it: {remedy}")
    for config in experiment.models:
        _check_model(config)


def _check_spec(spec: dict[str, object]) -> None:
    """Raise an error for a key or a value that a task of Inspect does not have."""
    for key in spec:
        if key not in TASK_KEYS:
            raise UnknownNameError("key", str(key), TASK_KEYS, where="benchmark")
    if not isinstance(spec.get("args", {}), dict):
        raise InputError("args is not a mapping", where="benchmark", remedy="write args: {NAME: VALUE}")
    for key in ("message_limit", "token_limit", "time_limit"):
        value = spec.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise InputError(f"{key} is {value!r}", where="benchmark", remedy="allowed: a whole number above 0")


def _check_model(config: ModelConfig) -> None:
    """Raise InputError for a model that Inspect cannot run, or a key that it does not have."""
    if config.kind in {"simulated", "replay", "transformers"}:
        remedy = "use a model behind an endpoint, or mockllm/model; Inspect runs local weights as hf/NAME and vllm/NAME"
        raise InputError(f"{config.label}: Inspect has no {config.kind} models", where="models", remedy=remedy)
    refused = {
        "requests_per_minute": config.requests_per_minute is not None,
        "tokens_per_minute": config.tokens_per_minute is not None,
        "price": config.price is not None,
        "mode": config.mode != "live",
    }
    for key, is_given in refused.items():
        if is_given:
            remedy = "remove it; max_concurrent limits the requests in flight"
            raise InputError(f"{config.label}: {key} has no effect on a task of Inspect", where="models", remedy=remedy)


def _get_spec(experiment: Experiment) -> dict[str, object]:
    """Return the benchmark as a mapping."""
    return {"name": experiment.benchmark} if isinstance(experiment.benchmark, str) else dict(experiment.benchmark)


def name_source(experiment: Experiment) -> tuple[str, str | None]:
    """Return the name of the task as Inspect takes it, and the scorer that is read.

    Parameters
    ----------
    experiment
        Whose benchmark is a task of Inspect. A relative file refers to the folder of the experiment.

    Returns
    -------
    tuple
        The name, with an absolute path where it is a file; the scorer, None for the first one.

    Raises
    ------
    InputError
        When the file does not exist.
    """
    spec = _get_spec(experiment)
    name = str(spec["name"]).removeprefix(INSPECT_PREFIX)
    file, at, task = name.partition("@")
    if file.endswith((".py", ".ipynb")):
        path = (experiment.base / Path(file)).resolve()
        if not path.is_file():
            remedy = "write inspect/PATH/FILE.py@TASK, relative to the experiment"
            raise InputError(f"there is no file {file!r}", where="benchmark", remedy=remedy)
        name = f"{path}{at}{task}"
    elif not name or "@" in name:
        remedy = "write inspect/PACKAGE/TASK or inspect/FILE.py@TASK"
        raise InputError(f"{name!r} is no name of a task", where="benchmark", remedy=remedy)
    scorer = spec.get("scorer")
    return name, None if scorer is None else str(scorer)


def build_request(
    experiment: Experiment, config: ModelConfig, log_folder: Path, *, is_quiet: bool = False, retry: bool = False
) -> TaskRequest:
    """Return what the worker of a model runs.

    Parameters
    ----------
    experiment
        Whose benchmark is a task of Inspect.
    config
        One of its models.
    log_folder
        Folder of the logs of this model.
    is_quiet, retry
        As in `TaskRequest`.
    """
    spec, settings = _get_spec(experiment), config.settings
    name = {"anthropic": f"anthropic/{config.name}", "gemini": f"google/{config.name}"}.get(config.kind, config.name)
    if config.kind == "endpoint":
        is_openai = config.base_url == "https://api.openai.com/v1"
        name = f"openai/{config.name}" if is_openai else f"{SERVICE}/{config.name}"
    generate = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": settings.max_tokens,
        "stop_seqs": list(settings.stop) if settings.stop else None,
        "extra_body": settings.extra or None,
        "max_connections": config.concurrency,
        "timeout": None if config.timeout is None else max(int(config.timeout), 1),
    }
    limits = {key: int(str(spec[key])) for key in ("message_limit", "token_limit", "time_limit") if spec.get(key)}
    args = spec.get("args", {})
    return TaskRequest(
        task=name_source(experiment)[0],
        model=name,
        log_folder=str(log_folder),
        epochs=config.generations,
        args=dict(args) if isinstance(args, dict) else {},
        base_url=config.base_url if config.kind == "endpoint" and name.startswith(SERVICE) else "",
        key_env=config.key_env,
        settings={key: value for key, value in generate.items() if value is not None},
        limit=experiment.limit,
        seed=experiment.seed,
        limits=limits,
        is_quiet=is_quiet,
        retry=retry,
    )
