"""Name the benchmark, the model and the run of files: by what they state, by their questions, and by their paths.

A name in a file beats its path. Of the parts of the paths only one that differs between the files can tell benchmarks,
models or runs apart, and it is a run only where it is, or ends in, one of `words.RUN_WORDS` with a number. Files with
the same ids and targets are of one benchmark, files with other ids of others. Files that count their questions alike,
and have neither targets nor inputs, may be either: they are refused, unless a part of their paths goes with the number
of questions and is crossed with another. A refusal names the option that reads the files. Nothing here reads one.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations, takewhile
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

import msgspec

from howsure.errors import InputError
from howsure.notes import Note
from howsure.rows.formats import name_table
from howsure.rows.words import RUN_WORDS

#: The words of runs; the two short ones only at the end of a name.
_LONG, _SHORT = "|".join(RUN_WORDS[:-2]), "|".join(RUN_WORDS[-2:])
_RUN = re.compile(rf"(?:^|[ _.-])(?:(?:{_LONG})[ _.-]?(\d+)(?=[ _.-]|$)|(?:{_SHORT})[ _.-]?(\d+)$)", re.IGNORECASE)
#: A name that ends in a number, and a number, perhaps behind a short word of runs, that is a piece of a name.
_NUMBERED = re.compile(r"(.+?)([ _-])\(?(\d+)\)?")
_NUMBER = re.compile(rf"(?<![^\W_])(?:(?:{_SHORT})(?=\d)|(?<!\d\.)|(?=0))(\d+)(?![^\W_])", re.IGNORECASE)
#: A date, a number or a hash, which names neither a model nor a benchmark.
_OPAQUE = re.compile(r"[\d\W_TZ]+|(?=.*\d)[0-9a-f-]{7,}")
#: An id that counts questions: a number, perhaps behind a word.
_RUNNING_ID = re.compile(r"[^\W\d_]*[ _./:#-]*\d+(?:\.0)?")
_SEPARATORS = " _.-"
_ROLES = ("model", "benchmark")
#: Largest number of names in a note or an error, and of characters of a value in a label.
_N_NAMED, _MAX_VALUE = 4, 40
#: Share of equal texts below which files are of other benchmarks; above, some questions have two targets.
_MOSTLY = 0.9
#: Length of an id that says which question it is, such as a hash or the question itself.
_LONG_ID = 16

_T = TypeVar("_T")

Layout: TypeAlias = Mapping[str, int | str | tuple[int, ...]]
"""Parts of paths by our names, counted from the file: `{"model": 1, "generation": 0}`."""


@dataclass(frozen=True)
class FileFacts:
    """What a file states, and where it is."""

    path: str
    """The path as it was found."""
    models: frozenset[str] | None = None
    """The models that it states; None where it states none."""
    benchmarks: frozenset[str] | None = None
    questions: frozenset[str] = frozenset()
    """The ids of its questions."""
    keys: frozenset[Hashable] = frozenset()
    """Question, variant and generation of its rows; empty where it has neither variants nor generations."""
    targets: Mapping[str, Hashable] = field(default_factory=dict)
    """Targets, or digests of them, by question; empty where it has none."""
    inputs: Mapping[str, Hashable] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings that are not known to be harmless."""
    content: str = ""
    """A digest of its bytes; empty where it is not known."""
    label: str = ""
    """The NAME of `NAME=PATH`."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the path from the file: its name without ending, its folder, and so on."""
        path = Path(self.path).absolute()
        return (name_table(path), *(folder.name for folder in path.parents if folder.name))


class FileName(NamedTuple):
    """The names of a file; None where it states them, and `renames` has new labels of models that it states."""

    benchmark: str | None
    model: str | None
    renames: Mapping[str, str] = {}
    run: int | None = None


def is_running_number(question: str) -> bool:
    """Return whether an id counts the questions of any benchmark, and so does not say which question it is.

    >>> [is_running_number(question) for question in ("12", "question 12", "gsm8k-12")]
    [True, True, False]
    """
    return _RUNNING_ID.fullmatch(question) is not None


def name_files(
    files: Sequence[FileFacts],
    *,
    benchmark: str | None = None,
    model: str | None = None,
    layout: Layout | None = None,
    is_repeated: bool = False,
) -> tuple[list[FileName], list[Note]]:
    """Return the names of each file, and notes on what their paths were taken for.

    Parameters
    ----------
    files
        Files that are read together, in the order in which they are read.
    benchmark, model
        Names that the user gave.
    layout
        The parts of the paths that the user named.
    is_repeated
        Whether files of one model with the same questions are repeats whatever their paths, as logs are.

    Raises
    ------
    InputError
        When two files are the same, or it cannot be decided what a part of the paths names; `options` reads them.

    Examples
    --------
    >>> places = ["acr-run-1/report.json", "acr-run-2/report.json", "acr-val-sbfl/report.json"]
    >>> names, _ = name_files([FileFacts(place, benchmarks=frozenset({"swe-bench"})) for place in places])
    >>> [(name.model, name.run) for name in names]
    [('acr', 1), ('acr', 2), ('acr-val-sbfl', None)]
    """
    return _Naming(files, benchmark, model, dict(layout or {}), is_repeated).name_all() if files else ([], [])


class _Naming:
    """Names the files that are read together."""

    def __init__(
        self,
        files: Sequence[FileFacts],
        benchmark: str | None,
        model: str | None,
        layout: dict[str, int | str | tuple[int, ...]],
        is_repeated: bool,
    ) -> None:
        self._files, self._layout, self._is_repeated = files, layout, is_repeated
        self._notes: list[Note] = []
        #: The parts of each path without the numbers of runs, and these numbers.
        self._parts = [list(file.parts) for file in files]
        self._runs: list[tuple[int, ...]] = [()] * len(files)
        #: The parts that differ, the farthest from the file first; and those that are dates, numbers or hashes.
        self._differing: list[int] = []
        self._opaque: list[int] = []
        self._read_paths()
        #: The parts before a benchmark is cut off.
        self._originals = [tuple(parts) for parts in self._parts]
        named = self._read_layout()
        self._models = [one.get("model") or model or file.label or None for one, file in zip(named, files, strict=True)]
        self._benchmarks = [one.get("benchmark") or benchmark for one in named]

    def name_all(self) -> tuple[list[FileName], list[Note]]:
        """Return the names of each file, and the notes."""
        self._refuse_equal_files()
        keys = self._name_benchmarks()
        labels = self._name_models(keys)
        named = [[label] if label else sorted(file.models or ()) for label, file in self._pair(labels)]
        settings = [dict.fromkeys(own, file.settings) for own, file in self._pair(named)]
        renamed = label_by_settings([_as_names(key) for key in keys], settings)
        self._refuse_repeated_keys(keys, renamed)
        runs = sorted(set(self._runs))
        result = []
        for i, (label, file) in enumerate(self._pair(labels)):
            new = renamed[i]
            if label and file.models:  # a name that the user gave beats those in the file
                new = {old: new[label] + f" {old}" * (len(file.models) > 1) for old in file.models}
            run = self._runs[i]
            number = None if not run else run[0] if len(run) == 1 else runs.index(run) + 1
            changed = {old: name for old, name in new.items() if old not in {name, label}}
            result.append(FileName(self._benchmarks[i], renamed[i][label] if label else None, changed, number))
        if any(label and not given for label, given in zip(labels, self._models, strict=True)):
            benchmarks = _list({name.benchmark for name in result if name.benchmark}) or "as stated"
            models = _list({name.model for name in result if name.model})
            n_runs = len(set(self._runs) - {()})
            facts = {"benchmarks": benchmarks, "models": models, "runs": f", in {n_runs} runs" * bool(n_runs)}
            self._notes.append(Note("paths-name-files", n=len(result), facts=facts))
        return result, self._notes

    def _pair(self, values: Sequence[_T]) -> Iterator[tuple[_T, FileFacts]]:
        """Return a value of each file with the file."""
        return zip(values, self._files, strict=True)

    # Parts of paths

    def _read_paths(self) -> None:
        """Find the parts of the paths that differ, and the numbers of runs."""
        folders_above = zip(*(parts[:0:-1] for parts in self._parts), strict=False)
        n_shared = len(list(takewhile(lambda names: len(set(names)) == 1, folders_above)))
        own = [parts[: len(parts) - n_shared] for parts in self._parts]
        if len({*map(len, own)}) > 1:  # folders at several depths are one part, without those of runs
            for i, parts in enumerate(own):
                folders = [(part, *split_run(part)) for part in reversed(parts[1:])]
                self._runs[i] = tuple(n for _, base, numbers in folders if not base for n in numbers)
                own[i] = [parts[0], "/".join(part for part, base, _ in folders if base)]
                self._parts[i][: len(parts)] = own[i]
        for part in range(len(own[0])):
            others = [(*parts[:part], *parts[part + 1 :]) for parts in own]
            bases = self._split_runs([parts[part] for parts in own], others)
            for parts, base in zip(self._parts, bases, strict=True):
                parts[part] = base
            if len(set(bases)) > 1:
                is_opaque = all(_OPAQUE.fullmatch(base) for base in bases if base)
                (self._opaque if is_opaque else self._differing).insert(0, part)

    def _split_runs(self, values: Sequence[str], others: Sequence[tuple[str, ...]]) -> list[str]:
        """Return the values of a part without the numbers of runs, which are kept.

        Numbers without a word are runs where `_` is before them, all names have the same, counted from 0 or 1, and the
        names form a grid with all that else differs.
        """
        split = [split_run(value) for value in values]
        numbered = [_NUMBERED.fullmatch(base) for base, _ in split]
        if len(set(values)) > 1 and "generation" not in str(self._layout) and all(m and m[2] == "_" for m in numbered):
            bare = [(match[1], (int(match[3]),)) for match in numbered if match]
            groups = _group(bare)
            first = next(iter(groups.values()))
            n_cells = len({(base, other) for (base, _), other in zip(bare, others, strict=True)})
            is_grid = (
                len(groups) > 1 and all(of == first for of in groups.values()) and _are_counted(n for (n,) in first)
            )
            if is_grid and n_cells * len(first) == len(values) > n_cells:
                self._notes.append(Note("numbers-are-runs", n=len(values), facts={"name": values[0]}))
                split = [(base, run + n) for (_, run), (base, n) in zip(split, bare, strict=True)]
        self._runs = [run + n for run, (_, n) in zip(self._runs, split, strict=True)]
        return [base for base, _ in split]

    def _read_layout(self) -> list[dict[str, str]]:
        """Return the names of each file that the user's layout gives, and set the numbers of runs."""
        named: list[dict[str, str]] = [{} for _ in self._files]
        for role, given in self._layout.items():
            own = _list_parts(given)
            for i, file in enumerate(self._files):
                if any(not 0 <= one < len(file.parts) for one in own):
                    raise InputError(f"there is no part {given} of the path", where=file.path, remedy="change --map")
                texts = [(file.parts if role == "generation" else self._parts[i])[one] for one in own]
                named[i][role] = "/".join(texts)
        ordinals = sorted({names.get("generation", "") for names in named})
        for i, names in enumerate(named):
            if (text := names.get("generation")) is not None:
                numbers = split_run(text)[1] or tuple(map(int, re.findall(r"\d+", text)))
                self._runs[i] = numbers if len(numbers) == 1 else (ordinals.index(text) + 1,)
        return named

    def _find_constant(self, places: Sequence[int] = (), *, is_model: bool = False) -> str:
        """Return the nearest part of the paths that files share, and that names something.

        A model is rather named by a part that differs in the number of a run alone.
        """
        own = [self._parts[i] for i in places or range(len(self._parts))]
        first = self._files[places[0] if places else 0].parts
        columns = list(zip(*own, strict=False))
        numbered = [column for part, column in enumerate(columns) if is_model and column[0] != first[part]]
        for values in (*numbered, *columns):
            if len(set(values)) == 1 and values[0] and not _OPAQUE.fullmatch(values[0]):
                return str(values[0])
        return own[0][0] or "table"

    def _list_axes(self, places: Sequence[int]) -> dict[int, list[str]]:
        """Return the parts that differ between some files, and that the layout does not name, with their values."""
        used = {part for given in self._layout.values() for part in _list_parts(given)}
        axes = {part: [self._parts[i][part] for i in places] for part in self._differing if part not in used}
        return {part: values for part, values in axes.items() if len(set(values)) > 1}

    # Benchmarks

    def _name_benchmarks(self) -> list[Hashable]:
        """Name the benchmark of each file that states none, and return a key of the benchmark of each file."""
        keys: list[Hashable] = [name or file.benchmarks for name, file in self._pair(self._benchmarks)]
        places = [i for i, key in enumerate(keys) if key is None]
        classes, trust, is_disjoint = _find_classes([self._files[i] for i in places], self._find_constant())
        if len(set(classes)) > 1:
            names = self._find_benchmarks(places, classes, trust, is_disjoint)
        else:
            self._check_agreement(places, trust)
            names = [self._find_constant(places)] * len(places)
        for i, name in zip(places, names, strict=True):
            keys[i] = self._benchmarks[i] = name
        return keys

    def _check_agreement(self, places: Sequence[int], trust: int) -> None:
        """Raise where files with the same ids may be of several benchmarks: neither texts nor paths tell."""
        axes = self._list_axes(places)
        models = [self._key_model(i) for i in places]
        left = {part: values for part, values in axes.items() if not _depends(values, models)}
        is_known = None not in models
        if trust == 2 or not axes or (is_known and not left):
            return
        is_crossed = any(not (_depends(a, b) or _depends(b, a)) for a, b in combinations(axes.values(), 2))
        if trust == 1 and not is_crossed and not any(map(_is_grid, axes.values())):
            return
        names = _list({value for values in left.values() for value in values})
        what = f"{len(places)} files have the same question ids, and no targets that say whether these are the same"
        # A model that has files with several names, each of which is also of another model, is on several benchmarks.
        is_shared = all(len(set(values)) < len(set(zip(values, models, strict=True))) for values in left.values())
        roles = ["benchmark", "model"] if is_shared else ["model", "benchmark"]
        self._refuse(f"{what}: {names} may be models or benchmarks", left, roles if is_known else ())

    def _key_model(self, i: int) -> Hashable:
        """Return what tells the model of a file from others; None where it is not known."""
        file = self._files[i]
        return self._models[i] or ((file.models, repr(sorted(file.settings.items()))) if file.models else None)

    def _find_benchmarks(
        self, places: Sequence[int], classes: Sequence[int], trust: int, is_disjoint: bool
    ) -> list[str]:
        """Return the name of the benchmark of each file: what goes with the questions, of the parts or of the name."""
        axes = self._list_axes(places)
        models = [self._key_model(i) for i in places]
        has_models = None not in models
        free = [values for values in axes.values() if not _depends(values, classes)]
        others = _join([*free, [str(model) for model in models]] if has_models else free)
        own_roles = ["benchmark"] * has_models

        def is_sure(rest: Sequence[str]) -> bool:
            """Return whether files with the same ids are of one benchmark, and those with others of others."""
            own = [{v for v, one in zip(rest, classes, strict=True) if one == number} for number in set(classes)]
            n_most, n_least = max(map(len, own)), min(map(len, own))
            is_crossed = n_most < 2 or bool(set.intersection(*own))
            return is_crossed and (is_disjoint or n_least > 1)

        for size in range(1, len(axes) + 1):
            fitting = [one for one in combinations(axes, size) if _are_same(_join(axes[k] for k in one), classes)]
            if fitting and is_sure(others or [""] * len(places)):
                names = _join(axes[k] for k in fitting[0])
                is_numbered = len({name.rstrip("0123456789") for name in names}) == 1  # rank0 and rank1 may be parts
                if (len(fitting) > 1 and not others and not has_models) or is_numbered or _has_doubtful_numbers(names):
                    self._refuse(f"{_list(set(names))} may be models or benchmarks", axes, own_roles)
                return names
        for part in axes:
            cut = _cut(_drop_shared(axes[part], "_"), classes)
            if cut and is_sure(cut[1]):
                for i, rest in zip(places, _drop_shared(cut[1], "_"), strict=True):
                    self._parts[i][part] = rest
                return _drop_shared(cut[0], _SEPARATORS)
        what = f"{len(places)} files have {len(set(classes))} sets of question ids, which no part of their paths names"
        if not is_disjoint or not trust:
            what = f"{len(places)} files have ids in common, and no targets that say whether the questions are the same"
        return self._refuse(what, axes, own_roles)

    # Models

    def _name_models(self, keys: Sequence[Hashable]) -> list[str | None]:
        """Return the label of each file that states no model: the fewest parts that tell files of a benchmark apart."""
        labels = list(self._models)
        places = [i for i, (label, file) in enumerate(self._pair(labels)) if label is None and file.models is None]
        own = [keys[i] for i in places]
        axes = {part: values for part, values in self._list_axes(places).items() if not _depends(values, own)}
        n_needed = len(set(zip(own, _join(axes.values()) or own, strict=True)))
        for size in range(len(axes) + 1 if places else 0):
            joined = [(one, _join(axes[k] for k in one) or [""] * len(places)) for one in combinations(axes, size)]
            fitting = [one for one in joined if len(set(zip(own, one[1], strict=True))) == n_needed]
            if fitting:
                fitting.sort(key=lambda one: len(set(one[1])))
                parts, names = fitting[0]
                rivals = [other for _, other in fitting if len(set(other)) == len(set(names))]
                if _has_doubtful_numbers(names) or not all(_are_same(other, names) for other in rivals):
                    what = f"{_list(set(names))} may be models, or runs of fewer"
                    self._refuse(what, {part: axes[part] for part in parts}, ["model", "generation"])
                for i, name in zip(places, names, strict=True):
                    labels[i] = name or self._find_constant(places, is_model=True)
                break
        return labels

    # Refusals

    def _refuse_equal_files(self) -> None:
        """Raise where two files have the same bytes."""
        owner: dict[str, int] = {}
        for i, file in enumerate(self._files):
            first = owner.get(file.content) if file.content else None
            owner[file.content] = i
            if first is None:
                continue
            one, parts = self._files[first].path, list(self._list_axes([i, first]))
            if self._layout or self._runs[i] != self._runs[first]:
                self._notes.append(Note("equal-runs", file.path, facts={"other": one}))
                continue
            way = ["--map", _write_layout({"model": parts})] if parts else []
            remedy = "give one of them" + f", or say that they are two: {shlex.join(way)}" * bool(way)
            what = f"it has the same rows as {one}"
            if file.models is not None:  # a copy of the same models
                way = ["score", *(other.path for other in self._files if other is not file)]
            raise InputError(what, where=file.path, remedy=remedy, code="equal-files", options=way)

    def _refuse_repeated_keys(self, keys: Sequence[Hashable], renamed: Sequence[Mapping[str, str]]) -> None:
        """Raise where files have the same benchmark, model and questions, and no number of a run tells them apart."""
        groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for i, key in enumerate(keys):
            for benchmark in _as_names(key):
                for name in renamed[i].values():
                    groups[benchmark, name].append(i)
        for (_, name), members in groups.items() if not self._is_repeated else ():
            keyed = [self._files[i].keys for i in members]
            if _are_disjoint(keyed if all(keyed) else [self._files[i].questions for i in members]):
                continue
            axes = self._list_axes(members)
            runs = [self._runs[i] for i in members]
            if all(runs) and len(set(runs)) == len(runs) and not axes:
                continue
            one, other = (self._files[i] for i in members[:2])
            what = (
                f"{len(members)} files have scores of {name} on the same questions, such as {one.path} and {other.path}"
            )
            differing = [k for k, (a, b) in enumerate(zip(one.parts, other.parts, strict=False)) if a != b]
            if axes:
                self._refuse(what, axes, ["model", "generation"])
            if differing:
                self._refuse(what, dict.fromkeys(self._opaque or differing[:1], ()), ["generation"])
            raise InputError(what, remedy="give one of them, or give each a name: NAME=PATH", code="equal-files")

    def _refuse(self, what: str, axes: Mapping[int, Sequence[str]], roles: Sequence[str] = ()) -> NoReturn:
        """Raise with the likeliest layout first, and the others.

        Parameters
        ----------
        what
            What is wrong.
        axes
            The parts that are in doubt, with their values.
        roles
            What they may name, the likeliest first; empty where they may be models and benchmarks.
        """
        given = dict(self._layout)
        if self._opaque and "generation" not in given and "generation" not in roles:
            cells = Counter(
                (*(own[part] for part in self._differing), run)
                for own, run in zip(self._parts, self._runs, strict=True)
            )
            given |= {"generation": self._opaque[0]} if max(cells.values()) > 1 else {}
        parts = [part for part in axes if part not in self._opaque] or list(axes)
        is_grid = any(_is_grid([own[part] for own in self._originals]) for part in parts)
        layouts: list[dict[str, object]] = [{role: parts} for role in roles]
        if len(parts) == 2 and not (roles or is_grid):
            layouts = [dict(zip(way, parts, strict=True)) for way in permutations(_ROLES)]
        commands = [["--map", _write_layout({**given, **layout})] for layout in layouts]
        if not commands and is_grid:
            remedy = "put the files of each benchmark into a folder, BENCHMARK/MODEL.csv, or give one of them at a time"
            raise InputError(what, remedy=remedy, code="names")
        if not commands:
            commands = [["--as-benchmark", self._find_constant()]]
            commands += [["--map", _write_layout({**given, "benchmark": part})] for part in axes]
        remedy = "say what they are: " + ", or ".join(shlex.join(command) for command in commands)
        raise InputError(what, remedy=remedy, code="names", options=commands[0])


def split_run(part: str) -> tuple[str, tuple[int, ...]]:
    """Return a part of a path without words of runs and their numbers, and these numbers.

    >>> split_run("gsm8k-rs2"), split_run("run_3"), split_run("llama-3")
    (('gsm8k', (2,)), ('', (3,)), ('llama-3', ()))
    """
    numbers = tuple(int(a or b) for a, b in _RUN.findall(part))
    return (_RUN.sub("", part).strip(_SEPARATORS) if numbers else part), numbers


def _group(split: Iterable[tuple[str, tuple[int, ...]]]) -> dict[str, set[tuple[int, ...]]]:
    """Return the numbers of each name."""
    groups: defaultdict[str, set[tuple[int, ...]]] = defaultdict(set)
    for base, numbers in split:
        groups[base].add(numbers)
    return groups


def _are_counted(numbers: Iterable[int]) -> bool:
    """Return whether numbers are counted from 0 or from 1."""
    own = sorted(numbers)
    return own in (list(range(len(own))), list(range(1, len(own) + 1)))


def _blank_numbers(names: Iterable[str]) -> list[str]:
    """Return names with `{generation}` for a number in which they differ, if it may be a run's; else as they are.

    Numbers behind a hyphen that are not counted from 0 or 1, and versions such as 3.1, belong to names.

    >>> _blank_numbers(["gpt_1", "gpt_2"]), _blank_numbers(["llama-2", "llama-3"])
    (['gpt_{generation}', 'gpt_{generation}'], ['llama-2', 'llama-3'])
    """
    names, best = list(names), list[str]()
    most = max((len(_NUMBER.findall(name)) for name in names), default=0)
    for k in (*range(-1, -1 - most, -1), *range(most)):
        groups: defaultdict[str, set[int]] = defaultdict(set)
        blank = []
        for name in names:
            matches = list(_NUMBER.finditer(name))
            match = matches[k] if -len(matches) <= k < len(matches) else None
            blank.append(name[: match.start(1)] + "{generation}" + name[match.end(1) :] if match else name)
            groups[blank[-1]] |= {int(match[1])} if match else set()
        doubtful = 0
        for text, numbers in groups.items():
            before, _, after = text.partition("{generation}")
            is_copy = bool(numbers) and (before + after).strip(" _.-()") in names
            doubtful += (len(numbers) > 1 or is_copy) and (before[-1:] != "-" or _are_counted(numbers))
        if doubtful == len(groups):
            return blank
        best = best or blank * (doubtful > 0)
    return best or names


def _has_doubtful_numbers(names: Iterable[str]) -> bool:
    """Return whether names differ in a number that may be a run's: gpt_1 and gpt_2, results and results (1)."""
    names = list(names)
    return _blank_numbers(names) != names


def _depends(values: Sequence[Hashable], on: Sequence[Hashable]) -> bool:
    """Return whether each of the second values goes with one of the first."""
    return len(set(zip(values, on, strict=True))) == len(set(on))


def _are_same(one: Sequence[Hashable], other: Sequence[Hashable]) -> bool:
    """Return whether two lists of values tell the same files apart."""
    return _depends(one, other) and _depends(other, one)


def _are_disjoint(sets: Sequence[frozenset[Any]]) -> bool:
    """Return whether no value is in two sets."""
    return sum(map(len, sets)) == len(frozenset().union(*sets))


def _join(columns: Iterable[Sequence[str]]) -> list[str]:
    """Return the parts of each file as one name."""
    return ["/".join(filter(None, parts)) for parts in zip(*columns, strict=True)]


def _as_names(key: Hashable) -> list[str]:
    """Return the benchmarks of a file."""
    return [key] if isinstance(key, str) else sorted(key) if isinstance(key, frozenset) else []


def _list_parts(given: int | str | Sequence[int]) -> list[int]:
    """Return the parts of paths that the user gave for a name; "name" is that of the file."""
    own = [given] if isinstance(given, int | str) else list(given)
    return [0 if one == "name" else one if isinstance(one, int) else -1 for one in own]


def _list(names: Iterable[str]) -> str:
    """Return the first names."""
    own = sorted(names)
    return ", ".join(own[:_N_NAMED]) + f" and {len(own) - _N_NAMED} more" * (len(own) > _N_NAMED)


def _write_layout(layout: Mapping[str, object]) -> str:
    """Return the YAML of a layout.

    >>> _write_layout({"model": [2, 1], "benchmark": [0]})
    'files: {model: [2, 1], benchmark: 0}'
    """
    plain = {role: own[0] if isinstance(own, list) and len(own) == 1 else own for role, own in layout.items()}
    return "files: {" + ", ".join(f"{role}: {own!r}" for role, own in plain.items()) + "}"


def _find_classes(files: Sequence[FileFacts], name: str) -> tuple[list[int], int, bool]:
    """Return the number of the benchmark of each file by its questions, how far to trust it, and whether all differ.

    That files are of one benchmark can be trusted by 2 where their targets or inputs agree, by 1 where long ids agree,
    and by 0 where short ids agree. Benchmarks differ if they have no id in common, or other targets.
    """
    classes: list[dict[str, FileFacts]] = []
    having: defaultdict[str, list[int]] = defaultdict(list)
    numbers, trust, is_disjoint = list[int](), 2, True
    for file in files:
        shared = Counter(number for question in file.questions for number in having.get(question, ()))
        for number, n_common in shared.most_common():
            own = _compare(file, classes[number], name)
            is_equal = len(file.questions) == n_common == len(classes[number])
            if own == 0 and not is_equal and all(map(is_running_number, file.questions)):
                is_disjoint = False  # fewer of the same questions, or others
            elif own is not None:
                trust = min(trust, own)
                break
        else:
            number = len(classes)
            classes.append({})
        for question in file.questions - classes[number].keys():
            classes[number][question] = file
            having[question].append(number)
        numbers.append(number)
    return numbers, trust, is_disjoint


def _compare(file: FileFacts, others: Mapping[str, FileFacts], name: str) -> int | None:
    """Return how far to trust that a file is of one benchmark with others, see `_find_classes`; None if it is not."""
    common = file.questions & others.keys()
    for kind in ("targets", "inputs"):
        pairs = [(getattr(file, kind).get(q), getattr(others[q], kind).get(q), others[q].path) for q in common]
        pairs = [pair for pair in pairs if None not in pair]
        differing = [path for own, other, path in pairs if own != other]
        are_others = len(differing) > (1 - _MOSTLY) * len(pairs)
        if are_others and kind == "targets":
            return None
        if differing:  # other texts under the same ids may be parts of one benchmark, each of which counts anew
            what = f"{len(differing)} of {len(pairs)} questions have other {kind} than in {differing[0]}"
            remedy = "give ids that differ, or say that both are one benchmark: --as-benchmark NAME"
            options = () if are_others else ("--as-benchmark", name)
            raise InputError(what, where=file.path, remedy=remedy, code=f"other-{kind}", options=options)
        if len(pairs) == 1 or len({own for own, *_ in pairs}) > 1:  # one target of all questions says nothing
            return 2
    return int(min(map(len, common)) >= _LONG_ID)


def _cut(names: Sequence[str], classes: Sequence[int]) -> tuple[list[str], list[str]] | None:
    """Return the first or the last pieces of names, which go with the classes, and the other pieces; None if none do.

    >>> _cut(["law_gpt-4", "law_o3", "tax_o3"], [0, 0, 1])
    (['law', 'law', 'tax'], ['gpt-4', 'o3', 'o3'])
    """
    of_class: defaultdict[int, set[str]] = defaultdict(set)
    for name, number in zip(names, classes, strict=True):
        of_class[number].add(name)
    largest = max(of_class.values(), key=len)
    for is_last in (False, True):
        divided = {name: _divide(name, is_last=is_last) for name in names}
        for head in divided[min(largest)]:
            rests = {divided[name].get(head) for name in largest}
            heads = {name: [one for one, rest in divided[name].items() if rest in rests] for name in divided}
            if None in rests or any(len(own) != 1 for own in heads.values()):
                continue
            firsts = [heads[name][0] for name in names]
            if _are_same(firsts, classes):
                left = [divided[name][first] for name, first in zip(names, firsts, strict=True)]
                return firsts, left
    return None


def _divide(name: str, *, is_last: bool) -> dict[str, str]:
    """Return the other pieces of a name by its first (or last) ones, few first."""
    places = [match.span() for match in re.finditer(r"[ _.-]+", name) if match.start() > 0 and match.end() < len(name)]
    divided = [(name[:start], name[end:]) for start, end in places]
    return {second: first for first, second in reversed(divided)} if is_last else dict(divided)


def _drop_shared(names: Sequence[str], separators: str) -> list[str]:
    """Return names without the first and the last pieces that all of them have."""
    pieces = [re.split(f"([{separators}]+)", name) for name in names]
    for start, stop in ((0, 2), (-2, None)):
        while (
            len(set(names)) > 1 and min(map(len, pieces)) > 2 and len({tuple(own[start:stop]) for own in pieces}) == 1
        ):
            pieces = [own[2:] if not start else own[:-2] for own in pieces]
    return ["".join(own) for own in pieces]


def _is_grid(names: Sequence[str]) -> bool:
    """Return whether names have two pieces that differ, and each of the one goes with each of the other.

    >>> _is_grid(["law_gpt", "law_o3", "tax_gpt", "tax_o3"]), _is_grid(["gpt-4", "gpt-5"])
    (True, False)
    """
    blank = _blank_numbers(names)
    bare = sorted({re.sub(rf"[ _.-]?\(?(?:{_SHORT})?{{generation}}\)?", "", name).strip(_SEPARATORS) for name in blank})
    for separator in "_-. ":
        rows = _drop_shared(bare, separator)
        firsts = [row.partition(separator)[0] for row in rows]
        cut = _cut(rows, [firsts.index(first) for first in firsts]) if len(set(firsts)) > 1 else None
        if cut and len(set(cut[0])) * len(set(cut[1])) == len(bare) and len(set(cut[1])) > 1:
            return True
    return False


def label_by_settings(
    benchmarks: Sequence[Sequence[str]], settings: Sequence[Mapping[str, Mapping[str, object]]]
) -> list[dict[str, str]]:
    """Return the label of each model of each source, with the settings in which sources of one benchmark differ.

    >>> label_by_settings([["b"], ["b"]], [{"m": {"top_k": k}} for k in (1, 2)])
    [{'m': 'm (top_k=1)'}, {'m': 'm (top_k=2)'}]
    """
    of_model: defaultdict[tuple[str, str], list[Mapping[str, object]]] = defaultdict(list)
    for names, models in zip(benchmarks, settings, strict=True):
        for name in names:
            for label, own in models.items():
                of_model[name, label].append(own)
    differing: defaultdict[str, set[str]] = defaultdict(set)
    for (_, label), each in of_model.items():
        differing[label].update(list_differing(each))
    texts = [{m: format_settings(own, sorted(differing[m])) for m, own in models.items()} for models in settings]
    return [{label: f"{label} ({text})" if text else label for label, text in own.items()} for own in texts]


def list_differing(settings: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the names of settings that are not the same everywhere."""
    names = sorted(set().union(*settings))
    return [name for name in names if len({repr(each.get(name)) for each in settings}) > 1]


def format_settings(settings: Mapping[str, object], names: Sequence[str]) -> str:
    """Return `name=value, name=value`; a long value is cut, with a hash of the whole."""
    parts = []
    for name in names:
        value = settings.get(name)
        long = value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()
        text = "default" if value is None else " ".join(long.split())
        if len(text) > _MAX_VALUE:
            text = f"{text[: _MAX_VALUE - 9]}… #{hashlib.sha256(long.encode()).hexdigest()[:6]}"
        parts.append(f"{name}={text}")
    return ", ".join(parts)
