"""Name the models, benchmarks and prompt variants of several logs, so that only repeats of one thing share a name.

Logs of one benchmark are compared by the conditions that their metadata state and by the texts of their questions:

- other decoding settings, arguments of the model, solver, agent or grader make another model, by its label;
- logs of one program with other scorers are read by one that all have, or else are other models;
- equal question ids with other targets, or with other texts under another data set, are another benchmark;
- equal question ids with other texts or other prompts are other prompt variants;
- of the tries of one run (a run that was continued), each sample is read once, from the last try that has it.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import ClassVar, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.logs.base import DigestPart, LogInfo, LogReader, LogRow, QuestionDigest, ReadOptions, encode_text
from howsure.logs.identical_texts import DIFFERING_SHARE, N_FEWEST
from howsure.logs.settings import DECODING, is_harmless
from howsure.store.manifest import Manifest, ModelRecord

__all__ = ["DistinctLog", "LogNames", "distinguish_logs", "label_models", "label_run_models"]

#: Largest share of common questions with other targets for which the data are still the same, with other questions.
_MAX_OTHER_QUESTIONS = 0.05
#: Longest value in a name.
_MAX_VALUE = 40
#: Largest number of groups that a line names.
_N_NAMED = 3

_DigestKey = tuple[str, str, str]
_QuestionKey = tuple[str, str]
_Digests = Mapping[tuple[str, str, str], QuestionDigest]


@dataclass(frozen=True)
class LogNames:
    """The names under which the rows of one log are read; what has no entry keeps its name."""

    models: Mapping[str, str] = field(default_factory=dict)
    """Labels, by the label in the log."""
    benchmarks: Mapping[str, str] = field(default_factory=dict)
    """Benchmarks, by the name in the log."""
    variants: Mapping[str, str] = field(default_factory=dict)
    """What distinguishes the prompts of the log from those of other logs, by the benchmark in the log."""
    questions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Questions, by benchmark and question in the log."""

    def rename(self, row: LogRow) -> LogRow:
        """Return the row under its new names."""
        changes: dict[str, str] = {}
        if (label := self.models.get(row.model, row.model)) != row.model:
            changes["model"] = label
        if row.benchmark in self.variants:
            changes["variant"] = _join_variant(row.variant, self.variants[row.benchmark])
        if (row.benchmark, row.question) in self.questions:
            changes["question"] = self.questions[row.benchmark, row.question]
        if row.benchmark in self.benchmarks:
            changes["benchmark"] = self.benchmarks[row.benchmark]
        return msgspec.structs.replace(row, **changes) if changes else row


class DistinctLog(NamedTuple):
    """A log that is read: a file or folder, its reader, its metadata, and how its rows are read and named."""

    reader: LogReader
    path: Path
    info: LogInfo
    options: ReadOptions = ReadOptions()
    names: LogNames = LogNames()

    def describe_benchmarks(self) -> dict[str, dict[str, object]]:
        """Return the metadata of the benchmarks by their new names."""
        return {self.names.benchmarks.get(name, name): source for name, source in self.info.benchmarks.items()}


def distinguish_logs(logs: Sequence[DistinctLog]) -> tuple[list[DistinctLog], list[str]]:
    """Return logs with the names under which they are read, and lines on what was told apart and what are repeats.

    Parameters
    ----------
    logs
        Logs of different runs, in the order in which they are read, without new names.

    Returns
    -------
    logs
        The same logs, with `names`, and with `options.superseded` where a later try of the run has the samples.
    notes
        At most one line for each kind: tries of one run, other data, other prompts, repeats.
    """
    notes, lines = _Notes(), list[str]()
    logs, first_try = _supersede_tries(logs, lines)
    logs = _choose_common_scorers(logs, notes)
    digests = _digest_logs(logs)
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for i, each in enumerate(digests):
        for name in dict.fromkeys(benchmark for benchmark, *_ in each):
            groups[name].append(i)
    benchmarks: list[dict[str, str]] = [{} for _ in logs]
    variants: list[dict[str, str]] = [{} for _ in logs]
    questions: list[dict[tuple[str, str], str]] = [{} for _ in logs]
    own_conditions = [dict(log.info.conditions) for log in logs]
    for benchmark, members in groups.items():
        comparison = _BenchmarkComparison(benchmark, {i: (logs[i], digests[i]) for i in members})
        comparison.note_other_order(notes)
        for i, name in comparison.name_data(notes).items():
            benchmarks[i][benchmark] = name
        for i, names in comparison.rename_questions(notes).items():
            questions[i].update({(benchmark, question): name for question, name in names.items()})
        for i, conditions in comparison.list_conditions().items():
            own_conditions[i].update(conditions)
        for i, name in comparison.name_variants(notes).items():
            variants[i][benchmark] = name
    infos = [
        msgspec.structs.replace(log.info, conditions=conditions)
        for log, conditions in zip(logs, own_conditions, strict=True)
    ]
    labels = label_models(infos)
    distinct = [
        log._replace(names=LogNames(labels[i], benchmarks[i], variants[i], questions[i])) for i, log in enumerate(logs)
    ]
    _note_repeats(distinct, digests, first_try, notes)
    return distinct, [*lines, *notes.lines()]


def label_models(logs: Sequence[LogInfo]) -> list[dict[str, str]]:
    """Return a label for each model of each log, so that a model under other conditions has another label.

    A label is the old one, followed by the decoding settings and the other conditions (arguments of the model, solver,
    grader) in which logs of the same benchmark differ.

    Parameters
    ----------
    logs
        What the readers state of the logs.

    Returns
    -------
    list of dict of str to str
        For each log the new labels, by the old ones.

    Examples
    --------
    >>> from howsure.store.manifest import ModelRecord
    >>> cold, hot = (ModelRecord(name="m", kind="log", settings={"temperature": t, "seed": t}) for t in (0, 1))
    >>> logs = [LogInfo(run=str(i), models={"m": model}, benchmarks={"b": {}}) for i, model in enumerate((cold, hot))]
    >>> label_models(logs)
    [{'m': 'm (temperature=0)'}, {'m': 'm (temperature=1)'}]
    """
    conditions = [{label: _list_model_conditions(log, label) for label in log.models} for log in logs]
    return _label_by_conditions([tuple(log.benchmarks) for log in logs], conditions)


def label_run_models(runs: Sequence[Manifest | None], *, benchmark: str | None = None) -> list[dict[str, str]]:
    """Return a label for each model of each run folder, so that a model at other settings has another label.

    The name of the model at its endpoint is one of the settings: the same label may stand for two models.

    Parameters
    ----------
    runs
        The manifest of each run folder; None where it is not known.
    benchmark
        One name for the benchmarks of all folders; None where they keep their names.

    Returns
    -------
    list of dict of str to str
        For each folder the new labels, by the old ones; only those that change.

    Examples
    --------
    >>> from howsure.store.manifest import ModelRecord
    >>> one, other = (ModelRecord(name=name, kind="openai") for name in ("gpt-4o", "gpt-5"))
    >>> label_run_models([Manifest(models={"m": model}, benchmarks={"b": {}}) for model in (one, other)])
    [{'m': 'm (model=gpt-4o)'}, {'m': 'm (model=gpt-5)'}]
    """
    manifests = [run or Manifest() for run in runs]
    benchmarks = [tuple(run.benchmarks) if benchmark is None else (benchmark,) for run in manifests]
    conditions = [{label: _list_settings(model) for label, model in run.models.items()} for run in manifests]
    labels = _label_by_conditions(benchmarks, conditions)
    return [{label: new for label, new in each.items() if new != label} for each in labels]


def _list_settings(model: ModelRecord) -> dict[str, object]:
    """Return the name of a model of a run folder, and its settings that influence completions."""
    settings = {name: value for name, value in model.settings.items() if name in DECODING}
    extra = model.settings.get("extra")
    further = {name: value for name, value in extra.items() if _is_relevant(name)} if isinstance(extra, dict) else {}
    return {"model": model.name, **further, **settings}


def _label_by_conditions(
    benchmarks: Sequence[Sequence[str]], conditions: Sequence[Mapping[str, dict[str, object]]]
) -> list[dict[str, str]]:
    """Return the label of each model of each source, with the conditions in which sources of a benchmark differ."""
    conditions_of: defaultdict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
    for names, models in zip(benchmarks, conditions, strict=True):
        for benchmark, label in product(names, models):
            conditions_of[benchmark, label].append(models[label])
    differing: defaultdict[str, set[str]] = defaultdict(set)
    for (_, label), each in conditions_of.items():
        differing[label].update(_list_differing(each))
    return [
        {label: _append_conditions(label, own, sorted(differing[label])) for label, own in models.items()}
        for models in conditions
    ]


def _list_model_conditions(log: LogInfo, label: str) -> dict[str, object]:
    """Return the conditions under which a model of a log answered, by name."""
    settings = {name: value for name, value in log.models[label].settings.items() if name in DECODING}
    conditions = {name: value for name, value in log.conditions.items() if _is_relevant(name)}
    return {name: value for name, value in {**conditions, **settings}.items() if value is not None}


def _is_relevant(name: str) -> bool:
    """Return whether a condition says what was run, and not how much or where."""
    return not is_harmless(name)


def _list_differing(conditions: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the names of conditions that are not the same everywhere."""
    names = sorted(set().union(*conditions))
    return [name for name in names if len({repr(each.get(name)) for each in conditions}) > 1]


def _append_conditions(label: str, conditions: Mapping[str, object], names: Sequence[str]) -> str:
    """Return the label with the named conditions in parentheses."""
    text = _format_conditions(conditions, names)
    return f"{label} ({text})" if text else label


def _format_conditions(conditions: Mapping[str, object], names: Sequence[str]) -> str:
    """Return `name=value, name=value`; a long value is cut, with a hash of the whole."""
    parts = []
    for name in names:
        value = conditions.get(name)
        text = "default" if value is None else " ".join(encode_text(value).split())
        if len(text) > _MAX_VALUE:
            digest = hashlib.sha256(encode_text(value).encode()).hexdigest()[:6]
            text = f"{text[: _MAX_VALUE - 9]}… #{digest}"
        parts.append(f"{name}={text}")
    return ", ".join(parts)


def _join_variant(variant: str, name: str) -> str:
    """Return the name of a variant of a log that has a name of its own among the logs."""
    return name if variant == "default" else f"{variant}, {name}"


def _supersede_tries(logs: Sequence[DistinctLog], lines: list[str]) -> tuple[list[DistinctLog], list[int]]:
    """Return logs that leave out samples which a later try of the same run has, and for each log its first try."""
    tries_of: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for i, log in enumerate(logs):
        if log.info.task_id:
            tries_of[log.reader.name, log.info.task_id].append(i)
    result, first_try = list(logs), list(range(len(logs)))
    continued: list[tuple[int, Path]] = []
    for members in tries_of.values():
        if len(members) < 2:
            continue
        order = sorted(members, key=lambda i: (logs[i].info.created, str(logs[i].path)))
        samples = {i: logs[i].reader.list_samples(logs[i].path) for i in order}
        ids = Counter(uuid for each in samples.values() for uuid in each.values() if uuid)
        if logs[order[0]].info.is_complete and not any(n > 1 for n in ids.values()):
            continue  # several complete runs of one task are repeats
        later: set[tuple[str, int]] = set()
        for i in reversed(order):
            result[i] = logs[i]._replace(
                options=msgspec.structs.replace(logs[i].options, superseded=frozenset(later & samples[i].keys()))
            )
            later |= samples[i].keys()
            first_try[i] = order[0]
        continued.append((len(order), logs[order[-1]].path))
    if continued:
        runs = "one run that was" if len(continued) == 1 else f"{len(continued)} runs that were"
        n_tries = sum(n for n, _ in continued)
        lines.append(
            f"{n_tries} logs are tries of {runs} continued, and each sample is read once, from the last try that has "
            f"it: {continued[0][1]}"
        )
    return result, first_try


def _choose_common_scorers(logs: Sequence[DistinctLog], notes: _Notes) -> list[DistinctLog]:
    """Return logs of a benchmark that would be read by other scorers with one that all have, else as a condition."""
    result = list(logs)
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, log in enumerate(logs):
        if log.options.scorer is None and log.info.scorers:
            groups[log.reader.name, *log.info.benchmarks].append(i)
    for (_, *benchmarks), members in groups.items():
        scorers = [logs[i].info.scorers for i in members]
        first = dict.fromkeys(names[0] for names in scorers)
        if len(benchmarks) != 1 or len(first) < 2:
            continue
        common = next((name for name in (*first, *scorers[0]) if all(name in names for names in scorers)), None)
        if common is not None:
            notes.add("common scorer", f"{common!r} of {benchmarks[0]}")
        else:
            names = ", ".join(map(repr, list(first)[:_N_NAMED])) + ", ..." * (len(first) > _N_NAMED)
            notes.add("other scorers", f"{names} of {benchmarks[0]}")
        for i in members:
            log = logs[i]
            options = msgspec.structs.replace(log.options, scorer=common)
            conditions = log.info.conditions if common else {**log.info.conditions, "scorer": log.info.scorers[0]}
            result[i] = log._replace(options=options, info=msgspec.structs.replace(log.info, conditions=conditions))
    return result


def _digest_logs(logs: Sequence[DistinctLog]) -> list[_Digests]:
    """Return the digests of the questions of each log that shares a benchmark with another one; none of the others."""
    n_logs = Counter(benchmark for log in logs for benchmark in log.info.benchmarks)
    is_compared = [
        len(logs) > 1 and ("benchmark" in log.options.columns or any(n_logs[name] > 1 for name in log.info.benchmarks))
        for log in logs
    ]
    return [_digest_log(log) if compared else {} for log, compared in zip(logs, is_compared, strict=True)]


def _digest_log(log: DistinctLog) -> _Digests:
    """Return the digests of the questions of a log; none of one that cannot be read, which reading it reports."""
    try:
        digests = log.reader.digest_questions(log.path, log.options)
    except InputError:
        digests = {}
    return digests or {(benchmark, "", "default"): QuestionDigest() for benchmark in log.info.benchmarks}


class _BenchmarkComparison:
    """Compares the logs of one benchmark by their data, their conditions and their prompts."""

    def __init__(self, benchmark: str, logs: Mapping[int, tuple[DistinctLog, _Digests]]) -> None:
        self._benchmark = benchmark
        self._logs = {i: log for i, (log, _) in logs.items()}
        self._digests = {
            i: {key[1:]: digest for key, digest in digests.items() if key[0] == benchmark}
            for i, (_, digests) in logs.items()
        }
        #: Members of each data set, in the order of the logs, and the digests of its questions: one for each version.
        self._data: list[list[int]] = []
        self._versions: list[dict[_QuestionKey, list[QuestionDigest]]] = []
        #: Number of the version of each question that is not the first one of the data set, by log.
        self._later_versions: dict[int, dict[str, int]] = {}
        for i in self._logs:
            self._add_to_data(i)
        self._inputs = {i: place for data in self._data for i, place in self._classify(data, "input").items()}

    def _add_to_data(self, i: int) -> None:
        """Add a log to the first data set with the same questions, or to a new one."""
        digests = self._digests[i]
        for data, versions in zip(self._data, self._versions, strict=True):
            common = digests.keys() & versions.keys()
            other = {key for key in common if digests[key].is_other_question(versions[key][0])}
            rephrased = {key for key in common - other if digests[key].differs(versions[key][0], "input")}
            if _state_other_data(self._logs[i], self._logs[data[0]], self._benchmark):
                other, rephrased = other | rephrased, set()
            if len(other) <= _MAX_OTHER_QUESTIONS * len(common):
                if len(rephrased) <= _MAX_OTHER_QUESTIONS * len(common):
                    other |= rephrased
                self._later_versions[i] = {key[0]: _find_version(digests[key], versions[key]) for key in sorted(other)}
                data.append(i)
                for key in digests.keys() - common:
                    versions[key] = [digests[key]]
                return
        self._data.append([i])
        self._versions.append({key: [digest] for key, digest in digests.items()})

    def _classify(self, members: Sequence[int], part: DigestPart) -> dict[int, int]:
        """Return for each log the number of its class: logs in a class have the same texts for common questions."""
        classes: list[dict[_QuestionKey, int]] = []
        place: dict[int, int] = {}
        for i in members:
            left_out = self._later_versions.get(i, {})
            texts = {
                key: text
                for key, digest in self._digests[i].items()
                if key[0] not in left_out and (text := digest.get(part))
            }
            for number, others in enumerate(classes):
                if all(others.get(key, text) == text for key, text in texts.items()):
                    place[i] = number
                    break
            else:
                place[i] = len(classes)
                classes.append({})
            classes[place[i]].update(texts)
        return place

    def note_other_order(self, notes: _Notes) -> None:
        """Note a log with the texts of the first under other ids, as of questions without ids that were shuffled."""
        first, *others = (
            {digest.input: key for key, digest in each.items() if digest.input} for each in self._digests.values()
        )
        for each in others:
            n_moved = sum(each[text] != key for text, key in first.items() if text in each)
            if n_moved >= N_FEWEST and 2 * n_moved > len(each):
                notes.add("order", self._benchmark)
                return

    def name_data(self, notes: _Notes) -> dict[int, str]:
        """Return the name of the benchmark for each log, where logs have other data under one name."""
        if len(self._data) < 2:
            return {}
        firsts = [self._logs[data[0]] for data in self._data]
        arguments = [log.info.prompts for log in firsts]
        names = [name for name in _list_differing(arguments) if _is_relevant(name)]
        texts = [_format_conditions(each, names) for each in arguments]
        if len(set(texts)) < len(texts):
            texts = [" ".join(_state_data(log, self._benchmark)) for log in firsts]
        if len(set(texts)) < len(texts) or not all(texts):
            texts = [f"data {number}" for number in range(1, len(firsts) + 1)]
        named = [f"{self._benchmark} ({text})" for text in texts]
        notes.add("data", f"{', '.join(named[:_N_NAMED])}{', ...' if len(named) > _N_NAMED else ''}")
        return {i: name for data, name in zip(self._data, named, strict=True) for i in data}

    def rename_questions(self, notes: _Notes) -> dict[int, dict[str, str]]:
        """Return new names of single questions that differ from those of earlier logs under the same id."""
        names = {}
        for i, versions in self._later_versions.items():
            if versions:
                names[i] = {question: f"{question} (version {number})" for question, number in versions.items()}
                notes.add("questions", f"{len(versions)} of {self._benchmark} in {self._logs[i].path}")
        return names

    def list_conditions(self) -> dict[int, dict[str, object]]:
        """Return arguments of the task that differ while the prompts are equal, which belong to the model's label."""
        conditions: dict[int, dict[str, object]] = {}
        for data in self._data:
            if (names := self._list_arguments(data)) and self._has_equal_prompts(data):
                conditions |= {i: {name: self._logs[i].info.prompts.get(name) for name in names} for i in data}
        return conditions

    def _list_arguments(self, data: Sequence[int]) -> list[str]:
        """Return the names of the arguments in which logs of one data set differ."""
        return [name for name in _list_differing([self._logs[i].info.prompts for i in data]) if _is_relevant(name)]

    def _has_equal_prompts(self, data: Sequence[int]) -> bool:
        """Return whether the prompts of logs are known and equal."""
        prompts = {i: {key for key, digest in self._digests[i].items() if digest.prompt} for i in data}
        return (
            len({self._inputs[i] for i in data}) == 1
            and all(prompts[i] & prompts[data[0]] for i in data)
            and len(set(self._classify(data, "prompt").values())) == 1
        )

    def name_variants(self, notes: _Notes) -> dict[int, str]:
        """Return the name of the prompt variant for each log, where logs of one data set have other prompts."""
        result: dict[int, str] = {}
        for data in self._data:
            arguments = [] if self._has_equal_prompts(data) else self._list_arguments(data)
            by_model: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
            for i in data:
                by_model[tuple(self._logs[i].info.models)].append(i)
            prompts = {i: n for members in by_model.values() for i, n in self._classify(members, "prompt").items()}
            texts = {i: _format_conditions(self._logs[i].info.prompts, arguments) for i in data}
            classes = dict.fromkeys((texts[i], self._inputs[i], prompts[i]) for i in data)
            if len(classes) < 2:
                continue
            n_named: Counter[str] = Counter()
            names: dict[tuple[str, int, int], str] = {}
            for key in classes:
                n_named[key[0]] += 1
                number = f"prompt {n_named[key[0]]}" if n_named[key[0]] > 1 else ""
                names[key] = ", ".join(filter(None, [key[0], number]))
            result |= {i: name for i in data if (name := names[texts[i], self._inputs[i], prompts[i]])}
            variants = [name or "default" for name in names.values()]
            more = "; ..." if len(variants) > _N_NAMED else ""
            notes.add("variants", f"{self._benchmark} ({'; '.join(variants[:_N_NAMED])}{more})")
        return result


def _find_version(digest: QuestionDigest, versions: list[QuestionDigest]) -> int:
    """Return the number of the version of a question from 1; a version that is new is added."""
    for number, version in enumerate(versions, 1):
        if not (digest.is_other_question(version) or digest.differs(version, "input")):
            return number
    versions.append(digest)
    return len(versions)


class _Notes:
    """Collects lines by kind, so that one line states all cases of a kind."""

    _TEXTS: ClassVar[Mapping[str, str]] = {
        "common scorer": "of several scorers the one is read that all logs have (--scorer reads another)",
        "other scorers": "logs have no scorer in common, and their scores may not be comparable",
        "order": (
            "logs have the same texts under other question ids, as after a shuffle of questions without ids "
            "(--columns question=input reads each text as a question)"
        ),
        "data": "logs have other questions under the same ids, and are read as other benchmarks",
        "questions": "questions have another text or target than in an earlier log, and are read as other questions",
        "variants": "logs have other prompts for the same questions, and are read as prompt variants",
        "repeats": "logs are read as repeats",
        "copies": (
            "repeats have the same texts (a copy, a fixed seed, a cache, temperature 0, or answers too short to "
            "differ); copies are no generations of their own"
        ),
    }

    def __init__(self) -> None:
        self._cases: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, kind: str, case: str) -> None:
        """Add a case of a kind."""
        self._cases[kind].append(case)

    def lines(self) -> list[str]:
        """Return a line for each kind that has a case."""
        return [
            f"{text}: {', '.join(cases[:_N_NAMED])}{f', and {len(cases) - _N_NAMED} more' * (len(cases) > _N_NAMED)}"
            for kind, text in self._TEXTS.items()
            if (cases := self._cases[kind])
        ]


def _state_data(log: DistinctLog, benchmark: str) -> list[str]:
    """Return what the log states of the data set: names, and the last part of a path, which machines share."""
    source = log.info.benchmarks.get(benchmark, {})
    values = [source.get(name) for name in ("dataset", "location", "dataset_path", "dataset_name")]
    return [value.replace("\\", "/").rstrip("/").rpartition("/")[2] for value in values if isinstance(value, str)]


def _state_other_data(one: DistinctLog, two: DistinctLog, benchmark: str) -> bool:
    """Return whether two logs state different data sets."""
    first, second = _state_data(one, benchmark), _state_data(two, benchmark)
    return bool(first) and bool(second) and first != second


def _note_repeats(
    logs: Sequence[DistinctLog], digests: Sequence[_Digests], first_try: Sequence[int], notes: _Notes
) -> None:
    """Note which logs are read as repeats: several logs, or runs of several tries, with a common question."""
    groups: defaultdict[tuple[str, str, str], dict[int, set[_DigestKey]]] = defaultdict(dict)
    benchmark_in_log: dict[tuple[str, str, str], str] = {}
    for i, log in enumerate(logs):
        for benchmark, model in product(dict.fromkeys(key[0] for key in digests[i]), log.info.models):
            names = log.names
            key = (
                names.benchmarks.get(benchmark, benchmark),
                names.models.get(model, model),
                names.variants.get(benchmark, ""),
            )
            benchmark_in_log[key] = benchmark
            keys = {one for one in digests[i] if one[0] == benchmark and one[1]}
            groups[key].setdefault(first_try[i], set()).update(keys)
    for (benchmark, model, variant), members in groups.items():
        n_keys = sum(map(len, members.values()))
        if len(members) > 1 and len(set().union(*members.values())) < n_keys:
            under = f" ({variant})" if variant else ""
            case = f"{len(members)} logs of {model} on {benchmark}{under}"
            notes.add("repeats", case)
            if _have_same_texts([digests[i] for i in members], benchmark_in_log[benchmark, model, variant]):
                notes.add("copies", case)


def _have_same_texts(digests: Sequence[_Digests], benchmark: str) -> bool:
    """Return whether nearly all common questions whose completions are known have the same one in all logs."""
    common = set.intersection(*(set(each) for each in digests))
    keys = [key for key in common if key[0] == benchmark and all(each[key].completion for each in digests)]
    n_same = sum(len({each[key].completion for each in digests}) == 1 for key in keys)
    return len(keys) >= N_FEWEST and n_same >= (1 - DIFFERING_SHARE) * len(keys)
