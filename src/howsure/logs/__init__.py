"""Readers of the logs of other evaluation programs, and the registry that finds the reader of a file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

from howsure.errors import HowsureWarning
from howsure.logs.base import LogReader
from howsure.logs.file_formats import FileHead

__all__ = ["LOG_READERS", "find_reader", "is_companion", "list_readers"]

#: The class of each reader, in the order in which they are tried. Packages add theirs by entry points of this group.
ENTRY_POINTS = "howsure.log_readers"
LOG_READERS = {
    "inspect": "howsure.logs.inspect.reader:InspectReader",
    "lm_eval_results": "howsure.logs.lm_eval.results_with_samples:LmEvalResultsReader",
    "lm_eval": "howsure.logs.lm_eval.reader:LmEvalReader",
    "helm": "howsure.logs.helm:HelmReader",
    "lighteval": "howsure.logs.lighteval:LightevalReader",
    "promptfoo": "howsure.logs.promptfoo:PromptfooReader",
    "openai_evals": "howsure.logs.openai_evals:OpenAIEvalsReader",
    "openai_evals_api": "howsure.logs.openai_evals_api:OpenAIEvalsAPIReader",
    "simple_evals": "howsure.logs.simple_evals:SimpleEvalsReader",
    "swe_bench": "howsure.logs.swe_bench:SweBenchReader",
    "terminal_bench": "howsure.logs.terminal_bench:TerminalBenchReader",
    "deepeval": "howsure.logs.deepeval:DeepEvalReader",
    "tau_bench": "howsure.logs.tau_bench:TauBenchReader",
    "tau2_bench": "howsure.logs.tau2_bench:Tau2BenchReader",
    "evalplus": "howsure.logs.evalplus:EvalPlusReader",
    "bfcl": "howsure.logs.bfcl:BfclReader",
    "alpaca_eval": "howsure.logs.alpaca_eval:AlpacaEvalReader",
    "mt_bench": "howsure.logs.mt_bench:MtBenchReader",
    "olmes": "howsure.logs.olmes:OlmesReader",
    "harbor": "howsure.logs.harbor:HarborReader",
    "verifiers": "howsure.logs.verifiers:VerifiersReader",
    "opencompass": "howsure.logs.opencompass:OpenCompassReader",
    "mlflow": "howsure.logs.mlflow:MlflowReader",
    "langfuse": "howsure.logs.langfuse:LangfuseReader",
    "langsmith": "howsure.logs.langsmith:LangsmithReader",
    "ragas": "howsure.logs.ragas:RagasReader",
    "every_eval_ever": "howsure.logs.every_eval_ever:EveryEvalEverReader",
}


#: Names of files that belong to logs and are none themselves, by the names of the logs that they lie beside.
_COMPANIONS = {
    "run_metadata.json": ("results.json",),
    "metadata.json": ("results.jsonl",),
    "*-metrics.json": ("*-predictions.jsonl",),
    "*-requests.jsonl": ("*-predictions.jsonl",),
    "*-recorded-inputs.jsonl": ("*-predictions.jsonl",),
    "eval-set.json": ("*.eval", "*.json"),
    "logs.json": ("*.eval",),
    "listing.json": ("*.eval",),
}


def is_companion(path: Path) -> bool:
    """Return whether a file belongs to a log beside it, whose reader uses it, or which does not need it.

    >>> is_companion(Path("results.json"))
    False
    """
    if path.parent.parent.name == "predictions":
        # OpenCompass: details of the results have the predictions too, which may be in parts.
        results = path.parent.parent.parent / "results" / path.parent.name
        names = {path.name, re.sub(r"_\d+\.json$", ".json", path.name)}
        return any("details" in FileHead(results / name).keys for name in names if (results / name).is_file())
    patterns = next((beside for name, beside in _COMPANIONS.items() if path.match(name)), ())
    return any(other != path for pattern in patterns for other in path.parent.glob(pattern))


def find_reader(path: Path) -> LogReader | None:
    """Return the reader of a file or folder; None if no reader recognises it."""
    head = FileHead(path)
    return next((reader for reader in list_readers() if reader.recognises(head)), None)


def list_readers() -> Iterator[LogReader]:
    """Yield one reader of each program: those of howsure, then those of other installed packages."""
    for place in LOG_READERS.values():
        yield _load_reader(place)  # each is loaded when needed: the first readers recognise most logs
    for name, place in _list_plugins().items():
        if name not in LOG_READERS:
            yield _load_reader(place)


@cache
def _load_reader(place: str) -> LogReader:
    """Return an instance of the class at `module:name`."""
    reader: LogReader = resolve_name(place)()
    return reader


@cache
def _list_plugins() -> dict[str, str]:
    """Return the places of the readers of other packages, without those that cannot be imported."""
    from importlib.metadata import entry_points  # this takes 30 ms, and most files are recognised before it is needed

    places = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            _load_reader(entry.value)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            line = f"the log reader {entry.name!r} ({entry.value}) cannot be loaded: {error}"
            warnings.warn(line, HowsureWarning, stacklevel=4)
        else:
            places[entry.name] = entry.value
    return places
