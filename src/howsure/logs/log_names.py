"""Name the models, benchmarks and prompt variants of several logs, so that only repeats of one thing share a name.

Logs of one benchmark are compared by the conditions that their metadata state and by the texts of their questions:

- other decoding settings, arguments of the model, solver, agent or grader make another model, by its label;
- logs of one program with other scorers are read by one that all have, or else are other models;
- equal question ids with other targets, or with other texts under another data set, are another benchmark;
- equal question ids with other texts or other prompts are other prompt variants;
- of the tries of one run (a run that was continued), each sample is read once, from the last try that has it;
- a model that no log names is named by its path, see `rows.naming`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    DIFFERING_SHARE,
    N_FEWEST,
    DigestPart,
    LogInfo,
    LogReader,
    LogRow,
    QuestionDigest,
    ReadOptions,
)
from howsure.logs.settings import DECODING, is_harmless
from howsure.notes import Note
from howsure.rows.naming import FileFacts, Layout, format_settings, label_by_settings, list_differing, name_files
from howsure.store.manifest import Manifest, ModelRecord

#: Largest number of cases that a note names.
_N_NAMED = 3

#: Question and variant.
_Key = tuple[str, str]
_Digests = Mapping[tuple[str, str, str], QuestionDigest]
#: What is said of the logs, by the code of the note.
_Cases = defaultdict[str, list[str]]


@dataclass(frozen=True)
class LogNames:
    """The names under which the rows of one log are read; what has no entry keeps its name."""

    models: Mapping[str, str] = field(default_factory=dict)
    """Labels, by the label in the log."""
    benchmarks: Mapping[str, str] = field(default_factory=dict)
    """Benchmarks, by the name in the log."""
    variants: Mapping[str, str] = field(default_factory=dict)
    """What distinguishes the prompts of the log from those of other logs, by the benchmark in the log."""

    def rename(self, row: LogRow) -> LogRow:
        """Return the row under its new names."""
        variant = self.variants.get(row.benchmark, "")
        changes = {
            "model": self.models.get(row.model, row.model),
            "benchmark": self.benchmarks.get(row.benchmark, row.benchmark),
            "variant": ", ".join(filter(None, [row.variant, variant]))
            if row.variant != "default"
            else variant or row.variant,
        }
        changes = {name: value for name, value in changes.items() if value != getattr(row, name)}
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


def distinguish_logs(
    logs: Sequence[DistinctLog], layout: Layout | None = None, labels: Sequence[str] = ()
) -> tuple[list[DistinctLog], list[Note]]:
    """Return logs with the names under which they are read, and notes on what was told apart and what are repeats.

    Parameters
    ----------
    logs
        Logs of different runs, in the order in which they are read, without new names.
    layout
        Parts of paths that the user named; see `rows.naming`.
    labels
        The NAME of each log that was given as `NAME=PATH`; empty where none was.

    Returns
    -------
    logs
        The same logs, with `names`, and with `options.superseded` where a later try of the run has the samples.
    notes
        At most one for each code.
    """
    if not logs:
        return [], []
    notes: _Cases = defaultdict(list)
    logs, first_try = _supersede_tries(logs, notes)
    logs = _choose_common_scorers(logs, notes)
    places, named = _name_by_path(logs, layout, labels or [""] * len(logs))
    digests = _digest_logs(logs)
    conditions = [dict(log.info.conditions) for log in logs]
    benchmarks: list[dict[str, str]] = [{} for _ in logs]
    variants: list[dict[str, str]] = [{} for _ in logs]
    for name in dict.fromkeys(benchmark for own in digests for benchmark, *_ in own):
        members = {i: log for i, log in enumerate(logs) if any(benchmark == name for benchmark, *_ in digests[i])}
        comparison = _Comparison(name, members, digests, notes)
        for i, new in comparison.name_data().items():
            benchmarks[i][name] = new
        names, further = comparison.name_variants()
        for i in members:
            conditions[i] |= further.get(i, {})
            variants[i] |= {name: names[i]} if i in names else {}
    infos = [
        msgspec.structs.replace(
            log.info,
            conditions=own,
            models={place.get(label, label): model for label, model in log.info.models.items()},
        )
        for log, own, place in zip(logs, conditions, places, strict=True)
    ]
    distinct = []
    for i, (log, place, labelled) in enumerate(zip(logs, places, label_models(infos), strict=True)):
        models = {label: labelled[place.get(label, label)] for label in log.info.models}
        distinct.append(log._replace(names=LogNames(models, benchmarks[i], variants[i])))
    _note_repeats(distinct, digests, first_try, notes)
    for code, cases in notes.items():
        listed = ", ".join(cases[:_N_NAMED]) + ", ..." * (len(cases) > _N_NAMED)
        named.append(Note(code, n=len(cases), facts={"cases": listed}))
    return distinct, named


def label_models(logs: Sequence[LogInfo]) -> list[dict[str, str]]:
    """Return a label for each model of each log, by the old one, so that one under other conditions has another label.

    A label is the old one, followed by the decoding settings and the other conditions (arguments of the model, solver,
    grader) in which logs of the same benchmark differ.

    Examples
    --------
    >>> from howsure.store.manifest import ModelRecord
    >>> cold, hot = (ModelRecord(name="m", kind="log", settings={"temperature": t, "seed": t}) for t in (0, 1))
    >>> logs = [LogInfo(run=str(i), models={"m": model}, benchmarks={"b": {}}) for i, model in enumerate((cold, hot))]
    >>> label_models(logs)
    [{'m': 'm (temperature=0)'}, {'m': 'm (temperature=1)'}]
    """
    settings = []
    for log in logs:
        own = {name: value for name, value in log.conditions.items() if _is_relevant(name) and value is not None}
        settings.append({label: own | _list_decoding(model) for label, model in log.models.items()})
    return label_by_settings([tuple(log.benchmarks) for log in logs], settings)


def label_run_models(runs: Sequence[Manifest | None], *, benchmark: str | None = None) -> list[dict[str, str]]:
    """Return a label for each model of each run folder that changes, so that one at other settings has another label.

    The name of the model at its endpoint is one of the settings: the same label may stand for two models.

    Parameters
    ----------
    runs
        The manifest of each run folder; None where it is not known.
    benchmark
        One name for the benchmarks of all folders; None where they keep their names.

    Examples
    --------
    >>> from howsure.store.manifest import ModelRecord
    >>> one, other = (ModelRecord(name=name, kind="openai") for name in ("gpt-4o", "gpt-5"))
    >>> label_run_models([Manifest(models={"m": model}, benchmarks={"b": {}}) for model in (one, other)])
    [{'m': 'm (model=gpt-4o)'}, {'m': 'm (model=gpt-5)'}]
    """
    manifests = [run or Manifest() for run in runs]
    benchmarks = [tuple(run.benchmarks) if benchmark is None else (benchmark,) for run in manifests]
    settings: list[dict[str, dict[str, object]]] = [{} for _ in manifests]
    for run, own in zip(manifests, settings, strict=True):
        for label, model in run.models.items():
            extra = model.settings.get("extra")
            further = extra if isinstance(extra, dict) else {}
            relevant = {name: value for name, value in further.items() if _is_relevant(name)}
            own[label] = {"model": model.name, **relevant, **_list_decoding(model)}
    labels = label_by_settings(benchmarks, settings)
    return [{label: new for label, new in each.items() if new != label} for each in labels]


def _list_decoding(model: ModelRecord) -> dict[str, object]:
    """Return the settings of a model that influence its completions."""
    return {name: value for name, value in model.settings.items() if name in DECODING and value is not None}


def _is_relevant(name: str) -> bool:
    """Return whether a condition says what was run, and not how much or where."""
    return not is_harmless(name)


def _supersede_tries(logs: Sequence[DistinctLog], notes: _Cases) -> tuple[list[DistinctLog], list[int]]:
    """Return logs that leave out samples which a later try of the same run has, and for each log its first try."""
    tries_of: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for i, log in enumerate(logs):
        if log.info.task_id:
            tries_of[log.reader.name, log.info.task_id].append(i)
    result, first_try = list(logs), list(range(len(logs)))
    for members in tries_of.values():
        order = sorted(members, key=lambda i: (logs[i].info.created, str(logs[i].path)))
        samples = {i: logs[i].reader.list_samples(logs[i].path) for i in order if len(order) > 1}
        ids = Counter(uuid for each in samples.values() for uuid in each.values() if uuid)
        if not samples or (logs[order[0]].info.is_complete and all(n == 1 for n in ids.values())):
            continue  # several complete runs of one task are repeats
        later: set[tuple[str, int]] = set()
        for i in reversed(order):
            options = msgspec.structs.replace(logs[i].options, superseded=frozenset(later & samples[i].keys()))
            result[i], first_try[i] = logs[i]._replace(options=options), order[0]
            later |= samples[i].keys()
        notes["continued-run"].append(f"{len(order)} tries, the last in {logs[order[-1]].path}")
    return result, first_try


def _choose_common_scorers(logs: Sequence[DistinctLog], notes: _Cases) -> list[DistinctLog]:
    """Return logs of a benchmark that would be read by other scorers with one that all have, else as a condition."""
    result = list(logs)
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, log in enumerate(logs):
        if log.options.scorer is None and log.info.scorers and len(log.info.benchmarks) == 1:
            groups[log.reader.name, *log.info.benchmarks].append(i)
    for (_, benchmark), members in groups.items():
        scorers = [logs[i].info.scorers for i in members]
        first = list(dict.fromkeys(names[0] for names in scorers))
        if len(first) < 2:
            continue
        common = next((name for name in (*first, *scorers[0]) if all(name in names for names in scorers)), None)
        names = ", ".join(map(repr, [common] if common else first[:_N_NAMED])) + ", ..." * (len(first) > _N_NAMED)
        notes["common-scorer" if common else "other-scorers"].append(f"{names} of {benchmark}")
        for i in members:
            info = logs[i].info
            conditions = info.conditions if common else {**info.conditions, "scorer": info.scorers[0]}
            options = msgspec.structs.replace(logs[i].options, scorer=common)
            result[i] = logs[i]._replace(options=options, info=msgspec.structs.replace(info, conditions=conditions))
    return result


def _name_by_path(
    logs: Sequence[DistinctLog], layout: Layout | None, labels: Sequence[str]
) -> tuple[list[dict[str, str]], list[Note]]:
    """Return for each log the new label of a model that it does not state, or that the user named, and notes."""
    new: list[dict[str, str]] = [{} for _ in logs]
    places = [
        i
        for i, log in enumerate(logs)
        if len(log.info.models) == 1 and (layout or labels[i] or log.info.is_named_by_path)
    ]
    facts = [
        FileFacts(str(logs[i].path), benchmarks=frozenset(logs[i].info.benchmarks), label=labels[i]) for i in places
    ]
    parts = {role: part for role, part in (layout or {}).items() if role != "benchmark"}
    names, notes = name_files(facts, layout=parts, is_repeated=True)
    if not (layout or any(labels) or any(name.run for name in names) or len({name.model for name in names}) > 1):
        return new, []  # nothing in the paths tells them apart
    for i, name in zip(places, names, strict=True):
        new[i] = {label: name.model or label for label in logs[i].info.models}
    return new, notes


def _digest_logs(logs: Sequence[DistinctLog]) -> list[_Digests]:
    """Return the digests of the questions of each log that shares a benchmark with another one; none of the others."""
    n_logs = Counter(benchmark for log in logs for benchmark in log.info.benchmarks)
    result: list[_Digests] = []
    for log in logs:
        is_compared = "benchmark" in log.options.columns or any(n_logs[name] > 1 for name in log.info.benchmarks)
        digests: _Digests = {}
        if is_compared and len(logs) > 1:
            try:
                digests = log.reader.digest_questions(log.path, log.options)
            except InputError:
                digests = {}  # reading it reports what is wrong
            digests = digests or {(name, "", "default"): QuestionDigest() for name in log.info.benchmarks}
        result.append(digests)
    return result


class _Comparison:
    """Compares the logs of one benchmark by their data, their conditions and their prompts."""

    def __init__(
        self, benchmark: str, logs: Mapping[int, DistinctLog], digests: Sequence[_Digests], notes: _Cases
    ) -> None:
        self._benchmark, self._logs, self._notes = benchmark, logs, notes
        self._digests = {i: {key[1:]: one for key, one in digests[i].items() if key[0] == benchmark} for i in logs}
        #: The logs of each data set, and its questions as the first log has them.
        self._data: list[tuple[list[int], dict[_Key, QuestionDigest]]] = []
        for i in logs:
            self._add(i)
        self._note_other_order()

    def _add(self, i: int) -> None:
        """Add a log to the first data set with the same questions, or to a new one."""
        own = self._digests[i]
        for members, questions in self._data:
            common = own.keys() & questions.keys()
            n_other = sum(own[key].is_other_question(questions[key]) for key in common)
            stated = [_state_data(self._logs[k], self._benchmark) for k in (i, members[0])]
            if all(stated) and stated[0] != stated[1]:
                n_other += sum(own[key].differs(questions[key], "input") for key in common)
            if not n_other:
                members.append(i)
                questions |= {key: own[key] for key in own.keys() - questions.keys()}
                return
        self._data.append(([i], dict(own)))

    def _note_other_order(self) -> None:
        """Note a log with the texts of the first under other ids, as of questions without ids that were shuffled."""
        first, *others = ({one.input: key for key, one in own.items() if one.input} for own in self._digests.values())
        for each in others:
            n_moved = sum(each[text] != key for text, key in first.items() if text in each)
            if n_moved >= N_FEWEST and 2 * n_moved > len(each):
                self._notes["shuffled-questions"].append(self._benchmark)
                return

    def _classify(self, members: Sequence[int], part: DigestPart) -> dict[int, int]:
        """Return for each log the number of its class: logs in a class have the same texts for common questions."""
        classes: list[dict[_Key, int]] = []
        place: dict[int, int] = {}
        for i in members:
            texts = {key: text for key, one in self._digests[i].items() if (text := one.get(part))}
            fitting = (
                n for n, others in enumerate(classes) if all(others.get(k, text) == text for k, text in texts.items())
            )
            place[i] = next(fitting, len(classes))
            classes += [{}] * (place[i] == len(classes))
            classes[place[i]] = classes[place[i]] | texts
        return place

    def name_data(self) -> dict[int, str]:
        """Return the name of the benchmark for each log, where logs have other data under one name."""
        firsts = [self._logs[members[0]] for members, _ in self._data]
        arguments = [log.info.prompts for log in firsts]
        by_arguments = [format_settings(own, _list_relevant(arguments)) for own in arguments]
        by_source = [" ".join(_state_data(log, self._benchmark)) for log in firsts]
        texts = [f"data {number}" for number in range(1, len(firsts) + 1)]
        for own in (by_source, by_arguments):
            texts = own if all(own) and len(set(own)) == len(own) else texts
        if len(texts) < 2:
            return {}
        named = [f"{self._benchmark} ({text})" for text in texts]
        for name in named:
            self._notes["other-data"].append(name)
        return {i: name for (members, _), name in zip(self._data, named, strict=True) for i in members}

    def name_variants(self) -> tuple[dict[int, str], dict[int, dict[str, object]]]:
        """Return the prompt variant of each log of other prompts, and the arguments that belong to labels of models.

        Arguments belong to the label where the prompts are known and equal.
        """
        variants: dict[int, str] = {}
        conditions: dict[int, dict[str, object]] = {}
        for members, _ in self._data:
            prompts_of = {i: self._logs[i].info.prompts for i in members}
            arguments = _list_relevant(list(prompts_of.values()))
            inputs, prompts = self._classify(members, "input"), self._classify(members, "prompt")
            sent = [{key for key, one in self._digests[i].items() if one.prompt} for i in members]
            if len({*inputs.values()}) == len({*prompts.values()}) == 1 and all(own & sent[0] for own in sent):
                conditions |= {i: {name: prompts_of[i].get(name) for name in arguments} for i in members}
                arguments = []
            by_model: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
            for i in members:
                by_model[tuple(self._logs[i].info.models)].append(i)
            prompts = {i: n for own in by_model.values() for i, n in self._classify(own, "prompt").items()}
            keys = {i: (format_settings(prompts_of[i], arguments), inputs[i], prompts[i]) for i in members}
            names: dict[tuple[str, int, int], str] = {}
            for key in keys.values():
                number = 1 + sum(other[0] == key[0] for other in names)
                names.setdefault(key, ", ".join(filter(None, [key[0], f"prompt {number}" * (number > 1)])))
            if len(names) > 1:
                variants |= {i: names[key] for i, key in keys.items() if names[key]}
                listed = "; ".join(name or "default" for name in list(names.values())[:_N_NAMED])
                self._notes["prompt-variants"].append(
                    f"{self._benchmark} ({listed}{'; ...' * (len(names) > _N_NAMED)})"
                )
        return variants, conditions


def _list_relevant(arguments: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the names of arguments that say what was run, and that are not the same everywhere."""
    return [name for name in list_differing(arguments) if _is_relevant(name)]


def _state_data(log: DistinctLog, benchmark: str) -> list[str]:
    """Return what the log states of the data set: names, and the last part of a path, which machines share."""
    source = log.info.benchmarks.get(benchmark, {})
    values = [source.get(name) for name in ("dataset", "location", "dataset_path", "dataset_name")]
    return [value.replace("\\", "/").rstrip("/").rpartition("/")[2] for value in values if isinstance(value, str)]


def _note_repeats(
    logs: Sequence[DistinctLog], digests: Sequence[_Digests], first_try: Sequence[int], notes: _Cases
) -> None:
    """Note which logs are read as repeats: several logs, or runs of several tries, with a common question."""
    groups: defaultdict[tuple[str, ...], dict[int, set[tuple[str, str, str]]]] = defaultdict(dict)
    for i, log in enumerate(logs):
        for benchmark, model in product(dict.fromkeys(key[0] for key in digests[i]), log.info.models):
            names = log.names
            key = names.benchmarks.get(benchmark, benchmark), names.models.get(model, model)
            own = {one for one in digests[i] if one[0] == benchmark and one[1]}
            of = groups[*key, names.variants.get(benchmark, ""), benchmark]
            of[first_try[i]] = of.get(first_try[i], set()) | own
    for (name, model, variant, benchmark), members in groups.items():
        if len(members) < 2 or len(set().union(*members.values())) == sum(map(len, members.values())):
            continue
        case = f"{len(members)} logs of {model} on {name}{f' ({variant})' * bool(variant)}"
        notes["repeated-logs"].append(case)
        each = [digests[i] for i in members]
        common = [key for key in set.intersection(*map(set, each)) if key[0] == benchmark]
        texts = [{own[key].completion for own in each} for key in common if all(own[key].completion for own in each)]
        if len(texts) >= N_FEWEST and sum(len(own) == 1 for own in texts) >= (1 - DIFFERING_SHARE) * len(texts):
            notes["equal-texts"].append(case)
