"""Run Inspect for one model, in a process of its own: ``python -m howsure.inspect_runs.task_worker REQUEST REPLY``.

The request is a file with a `TaskRequest`. The reply is a file that is written at the end: the status of the log, or
the error. Inspect's display goes to stderr.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from howsure.errors import HowsureError, InputError, UnknownNameError, first_line
from howsure.inspect_runs.task_request import SERVICE, TaskRequest

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog
    from inspect_ai.model import Model
    from inspect_ai.util import SandboxEnvironmentSpec


class TaskReply(msgspec.Struct, frozen=True):
    """How a worker ended.

    Examples
    --------
    >>> TaskReply("success").error
    ''
    """

    status: str
    """Of the log: success, error, cancelled; "failed" where there is no log."""
    error: str = ""


def run_request(request: TaskRequest) -> TaskReply:
    """Run what is missing, and return how it ended.

    Parameters
    ----------
    request
        What to run. Samples that the logs in its folder have are kept: those of a run that was killed, and, with more
        epochs than before, all of them.

    Raises
    ------
    InputError
        When there is no such task, Inspect refuses it, or the log that is to be retried names another task or model.
    """
    import inspect_ai
    from inspect_ai.log import list_eval_logs, read_eval_log
    from inspect_ai.model import GenerateConfig, get_model

    _check_task(request.task)
    display: Literal["none", "plain"] = "none" if request.is_quiet else "plain"
    key = os.environ.get(request.key_env, "") if request.key_env else ""
    if not key and request.model.startswith(SERVICE):
        key = "none"  # a local server that needs no key
    model = get_model(
        request.model,
        config=GenerateConfig.model_validate(request.settings),
        base_url=request.base_url or None,
        api_key=key or None,
        memoize=False,
    )
    if request.retry and (stored := list_eval_logs(request.log_folder, descending=True)):
        _check_log(read_eval_log(stored[0], header_only=True), request, model)
        [log] = inspect_ai.eval_retry(stored[0], log_dir=request.log_folder, display=display, fail_on_error=False)
        return _describe_end(log)
    ended, logs = inspect_ai.eval_set(
        request.task,
        log_dir=request.log_folder,
        retry_attempts=0,
        retry_immediate=False,
        model=model,
        task_args=request.args,
        epochs=request.epochs,
        limit=request.limit,
        sample_shuffle=None if request.limit is None else request.seed,
        fail_on_error=False,
        display=display,
        message_limit=request.limits.get("message_limit"),
        token_limit=request.limits.get("token_limit"),
        time_limit=request.limits.get("time_limit"),
    )
    if ended:
        return TaskReply("success")
    return _describe_end(logs[0]) if logs else TaskReply("error")


def _describe_end(log: EvalLog) -> TaskReply:
    """Return the status and the error of a log."""
    return TaskReply(log.status, "" if log.error is None else first_line(Exception(log.error.message)))


def _check_log(log: EvalLog, request: TaskRequest, model: Model) -> None:
    """Raise InputError unless a log is of the task and the model of the request.

    A retry by Inspect loads the task file, the solver and the model that the log names, and takes its sandbox and its
    approval of tool calls in place of the task's: those of a stranger's run folder would run his code, send a key to
    his server, or run tools on this machine that the task keeps in a container.
    """
    spec, (file, at, task) = log.eval, request.task.partition("@")
    name = spec.task_registry_name or spec.task
    is_file = file.endswith((".py", ".ipynb"))
    # Inspect names a file relative to the working folder, and runs it from there.
    stored = str(Path(spec.task_file).resolve()) if spec.task_file else ""
    differs = {
        "task": (stored, name if at or not is_file else "")
        != ((str(Path(file).resolve()), task) if is_file else ("", request.task)),
        "model": spec.model != str(model),
        "address": (spec.model_base_url or "") not in {request.base_url, model.api.base_url or ""},
        "solver": spec.solver is not None,
        "model arguments": bool(spec.model_args or spec.model_roles),
        "sandbox": spec.sandbox is not None and not _is_own_sandbox(spec.sandbox, request, model),
        "approval": spec.config.approval is not None,
    }
    if different := [key for key, is_different in differs.items() if is_different]:
        what = f"{spec.task_file}@{name}" if spec.task_file else name
        raise InputError(
            f"its log is of {what} with {spec.model}, not of {request.task} with {request.model} "
            f"(different: {', '.join(different)})",
            where=log.location,
            remedy="run from the same working folder, or name another run folder with --output",
        )


def _is_own_sandbox(stored: SandboxEnvironmentSpec, request: TaskRequest, model: Model) -> bool:
    """Return whether the sandbox of a log is the one that the task of the request has by itself."""
    try:
        # Private: no public function of Inspect returns a task by its name without running it.
        from inspect_ai._eval.loader import resolve_tasks
    except ImportError:
        return False
    each = [one.sandbox for one in resolve_tasks(request.task, dict(request.args), model, None, None, None)]
    file = request.task.partition("@")[0]
    folder = Path(file).parent if file.endswith((".py", ".ipynb")) else Path()
    return any(one is not None and _describe_sandbox(one, folder) == _describe_sandbox(stored, folder) for one in each)


def _describe_sandbox(sandbox: SandboxEnvironmentSpec, folder: Path) -> tuple[str, str]:
    """Return the type of a sandbox and its configuration; a file may be named relative to the task's folder."""
    from pydantic import BaseModel  # a dependency of Inspect

    config = sandbox.config
    if isinstance(config, str):
        return sandbox.type, str((folder / config).resolve())
    return sandbox.type, repr(config.model_dump() if isinstance(config, BaseModel) else config)


def _check_task(name: str) -> None:
    """Raise InputError if there is no such task."""
    import inspect_ai

    file, at, task = name.partition("@")
    if file.endswith((".py", ".ipynb")):
        names = [info.name for info in inspect_ai.list_tasks(Path(file).name, root_dir=Path(file).parent)]
        if not names:
            raise InputError("the file has no task", where=file, remedy="mark a function with @task")
        if at and task not in names:
            raise UnknownNameError("task", task, names, where=file)
        return
    # Private, and only for the message: Inspect itself prints a traceback for a name that it does not know.
    with contextlib.suppress(ImportError, AttributeError):
        from inspect_ai._util.registry import registry_find, registry_info, registry_lookup

        if registry_lookup("task", name) is not None:
            return
        package = name.partition("/")[0]
        names = [registry_info(one).name for one in registry_find(lambda info: info.type == "task")]
        mine = [one for one in names if one.startswith(f"{package}/")]
        if mine:
            raise UnknownNameError("task", name, mine, where="benchmark")
        remedy = f"pip install the package that has it; is {package!r} spelt right?"
        raise InputError(f"no package {package!r} with tasks of Inspect is installed", where="benchmark", remedy=remedy)


def _end_with_parent(parent: int) -> None:
    """End as by Ctrl-C when the process that started this one has gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGINT)


def main(request_file: str, reply_file: str) -> None:
    """Run the request of a file, and write the reply to another.

    Parameters
    ----------
    request_file, reply_file
        Paths of the JSON files.
    """
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    # Inspect prints to stdout, which belongs to the results.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    request = msgspec.json.decode(Path(request_file).read_bytes(), type=TaskRequest)
    try:
        reply = run_request(request)
    except HowsureError as error:
        reply = TaskReply("failed", str(error))
    except KeyboardInterrupt:
        reply = TaskReply("cancelled")
    except Exception as error:  # noqa: BLE001  # whatever Inspect or the user's task raises is one line for the user
        reply = TaskReply("failed", f"{type(error).__name__}: {first_line(error)}")
    Path(reply_file).write_bytes(msgspec.json.encode(reply))


if __name__ == "__main__":
    main(*sys.argv[1:])
