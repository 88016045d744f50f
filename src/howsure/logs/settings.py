"""Which settings of a run tell systems apart: all of them, but those that are known to be harmless.

`LogInfo.conditions` has the settings of a log that `list_conditions` keeps. Logs of one model that differ in one of
them are logs of two systems, with the value in the label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

#: Settings that influence the completions of a model, by the names that readers give them in `ModelRecord.settings`.
DECODING = frozenset(
    {
        *("temperature", "top_p", "top_k", "min_p", "do_sample", "num_beams", "stop", "until"),
        *("max_tokens", "max_completion_tokens", "max_gen_toks", "max_new_tokens"),
        *("frequency_penalty", "presence_penalty", "repetition_penalty"),
        *("reasoning_effort", "reasoning_tokens", "effort", "system_message", "system_instruction"),
    }
)
#: Settings of requests that are kept although they tell no systems apart, or that few programs have.
_FURTHER = ("seed", "n", "num_choices", "logprobs", "top_logprobs", "max_output_tokens", "reasoning")
#: The one list of settings that say how much was run, when and where, and not what; and of those that may be secret.
_HARMLESS = (
    # seeds, counts, and what was picked
    *("seed", "*_seed", "shuffle", "sample_shuffle", "limit", "n", "num_samples", "sample_id", "sample_ids", "samples"),
    *("epochs", "epochs_reducer", "n_repeats", "repeats", "num_trials", "runs_per_test", "bootstrap_iters", "random"),
    *("max_samples", "max_eval_instances", "num_train_trials", "num_choices", "num_outputs", "n_attempts"),
    *("rollouts_per_example", "num_examples", "logprobs", "top_logprobs"),
    # machines, speed and connections
    *("device", "device_map", "batch", "batch_size", "max_batch_size", "gpu_memory_utilization", "parallelize"),
    *("*_parallel_size", "num_concurrent", "n_concurrent*", "max_connections", "adaptive_connections", "max_tasks"),
    *("max_subprocesses", "max_sandboxes", "max_retries", "retry_on_error", "fail_on_error", "continue_on_fail"),
    *("timeout", "attempt_timeout", "*_retries", "use_cache", "cache", "cache_prompt", "quiet", "orchestrator"),
    *("force_build", "delete", "sandbox_cleanup", "cleanup", "no_cleanup", "no_rebuild", "local"),
    # paths, dates, names of runs, what is logged
    *("output_dir", "log_dir", "logs_dir", "jobs_dir", "cache_dir", "download_dir", "output_path", "log_path", "path"),
    *("dataset_path", "base_url", "api_url", "model_id", "run_id", "job_id", "eval_id", "id", "uuid"),
    *("*_time", "date", "created*", "timestamp", "username"),
    *(
        "log_*",
        "score_display",
        "verbose",
        "debug",
        "trust_remote_code",
        "tags",
        "metadata",
        "livestream",
        "commit_hash",
    ),
    # keys and environments
    *("*key", "*_token", "*secret*", "*password*", "env", "*headers"),
)
#: Factors that are 1 where nobody set them.
_FACTOR = "*multiplier"


def is_harmless(name: str) -> bool:
    """Return whether a setting, whose name may have the names around it before dots, says how much was run or where.

    >>> is_harmless("config.seed"), is_harmless("message_limit")
    (True, False)
    """
    last = name.rpartition(".")[2].lower()
    return any(fnmatchcase(last, pattern) for pattern in _HARMLESS)


def list_decoding(settings: object) -> dict[str, object]:
    """Return the settings that influence the completions of a model; others may be secret keys.

    >>> list_decoding({"temperature": 0, "api_key": "k", "seed": 1})
    {'temperature': 0, 'seed': 1}
    """
    each = settings.items() if isinstance(settings, Mapping) else ()
    return {name: value for name, value in each if name in DECODING or name in _FURTHER}


def list_conditions(settings: object, *, without: Sequence[str] = (), prefix: str = "") -> dict[str, object]:
    """Return the settings of nested mappings that tell systems apart, by their dotted names.

    Parameters
    ----------
    settings
        The mapping; anything else has no settings.
    without
        Names, or patterns of names, of further settings that are left out, such as those that the label has already.
    prefix
        What the names begin with.

    Examples
    --------
    >>> list_conditions({"limits": {"messages": 5, "time": None}, "seed": 1, "agent": "react"}, without=["agent"])
    {'limits.messages': 5}
    """
    return dict(_list_pairs(settings, tuple(without), prefix))


def _list_pairs(settings: object, without: tuple[str, ...], prefix: str) -> Iterator[tuple[str, object]]:
    """Yield name and value of each setting that is kept."""
    for key, value in settings.items() if isinstance(settings, Mapping) else ():
        name = f"{prefix}{key}"
        if is_harmless(name) or any(fnmatchcase(name, pattern) for pattern in without):
            continue
        if isinstance(value, Mapping):
            yield from _list_pairs(value, without, f"{name}.")
        elif value not in (None, "", [], False) and not (value == 1 and fnmatchcase(name, _FACTOR)):
            yield name, value
