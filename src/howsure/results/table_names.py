"""Name the benchmark and the model of tables whose columns do not, from the names of their files and folders.

Files of one model each, whose question ids agree, are one benchmark: the file, or its folder, names the model. Files
with other questions, or other targets of the same ids, are benchmarks of their own. Several benchmarks in one folder
have the names that their files share. Files of completions need no scores.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from os.path import commonpath
from pathlib import Path
from typing import TYPE_CHECKING

from howsure.errors import InputError
from howsure.rows.formats import is_glob, match_pattern, name_table
from howsure.rows.read_table import TableNames, describe_table
from howsure.rows.wide import find_repeats

if TYPE_CHECKING:
    from howsure.results.sources import TableSource

__all__ = ["is_running_number", "list_files_of_models", "name_tables"]

#: Smallest share of question ids that two files have in common if they are of one benchmark; of ids that are numbers,
#: which may be those of any benchmark, more.
_SHARE, _SHARE_OF_NUMBERS = 0.5, 0.9
#: Largest number of names in a note.
_N_NAMED = 5
#: Numbers, perhaps behind a word for a question.
_RUNNING_NUMBER = re.compile(
    r"(?:(?:q|question|id|idx|ex|example|item|sample|task|doc|row|problem|case|prompt|test|n|no)[ _./#-]?)?\d+",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^ _.-]+")
_SEPARATORS = " _.-"
_NAME_BENCHMARKS = (
    "if they are one benchmark, name it with --as-benchmark NAME; if not, add a column 'benchmark', or put the files "
    "of each benchmark into a folder of its own"
)
#: Words that tell models and settings apart, and no benchmarks.
_MODEL_VARIANT = re.compile(
    r"v?\d+|(?:\d+x)?\d+[bmk]|a\d+b|base|chat|instruct|it|sft|dpo|rlhf|tiny|nano|mini|small|medium|large|xl|xxl|turbo|pro|"
    r"flash|lite|max|plus|preview|latest|thinking|reasoning|cot|zero|few|one|\d*shots?|zeroshot|fewshot|greedy|low|high|"
    r"int\d+|fp\d+|bf16|awq|gptq|gguf|q\d|opus|sonnet|haiku|lora|(?:t|temp|seed|run|step|epoch|rep|trial)\d*",
    re.IGNORECASE,
)


#: Benchmarks whose names in those of files say that these are of several benchmarks, whatever the question ids.
_BENCHMARK = re.compile(
    r"(?<![a-z0-9])(?:mmlu(?:[ _.-]?(?:pro|redux))?|[cm]mmlu|gsm8k|gsm[ _.-]?(?:hard|plus|symbolic)|mgsm|svamp|"
    r"math[ _.-]?500|aime(?:[ _.-]?(?:20)?2\d)?|arc[ _.-](?:challenge|easy)|hella[ _.-]?swag|winogrande|piqa|siqa|"
    r"truthful[ _.-]?qa|bool[ _.-]?q|trivia[ _.-]?qa|open[ _.-]?book[ _.-]?qa|common[ _.-]?sense[ _.-]?qa|"
    r"simple[ _.-]?qa|gpqa(?:[ _.-]?diamond)?|human[ _.-]?eval(?:\+|[ _.-]?plus)?|mbpp(?:\+|[ _.-]?plus)?|"
    r"crux[ _.-]?eval|bbh|bigbench|agieval|lambada|if[ _.-]?eval|musr|squad|swe[ _.-]?bench|"
    r"live[ _.-]?(?:code[ _.-]?)?bench|big[ _.-]?code[ _.-]?bench)(?![a-z0-9])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _File:
    """A table in a file whose columns do not name its benchmark; `models` is None where none names the model."""

    source: TableSource
    path: Path
    parent: Path
    """The folder that says what the file is of: without folders that number runs or may be those of any results."""
    stem: str
    """The name that says what the file is of, which may be that of a folder."""
    models: frozenset[str] | None
    questions: frozenset[str]
    targets: frozenset[tuple[str, str]]

    @property
    def folder(self) -> str:
        return self.parent.name or "table"

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(_WORD.findall(self.stem))

    @property
    def has_running_numbers(self) -> bool:
        return all(map(is_running_number, self.questions))


def is_running_number(question: str) -> bool:
    """Return whether an id counts the questions of any benchmark, and so is no sign of which question it is.

    >>> [is_running_number(question) for question in ("12", "q12", "gsm8k-12")]
    [True, True, False]
    """
    return _RUNNING_NUMBER.fullmatch(question) is not None


def name_tables(sources: Sequence[TableSource], *, benchmark: str | None, model: str | None) -> Iterator[str]:
    """Set the names of tables, and yield a line on each group of files that their names describe.

    Parameters
    ----------
    sources
        Tables in files. Names are set where no column states them.
    benchmark, model
        Names that the user gave.
    """
    files = []
    for source in sources:
        path = Path(str(source.path))
        source.names = source.names._replace(
            benchmark=benchmark or name_table(path), model=model or name_table(path), is_model_of_file=model is None
        )
        if len(sources) > 1 and (file := _describe(source, path)) is not None:
            files.append(file)
    files = _place_files(files)
    groups = [part for group in _group_files(files) for part in _split_known_benchmarks(group)]
    names = {path: name for group in groups for path, name in _name_group(group, files).items()}
    if benchmark is None:
        groups = _separate_benchmarks(groups, names)
    for group in groups:
        for file in group:
            chosen_benchmark, chosen_model = names[file.path]
            label = model or chosen_model
            file.source.names = file.source.names._replace(
                benchmark=benchmark or chosen_benchmark,
                model=label,
                is_model_of_file=len(group) == 1 and model is None,
            )
        if len(group) > 1 and benchmark is None:
            yield _describe_group(group, names)
    if benchmark is None:
        yield from _find_added_files(files, names)


def list_files_of_models(pattern: str, columns: Mapping[str, str]) -> tuple[list[Path], str]:
    """Return the files that a pattern matches if no column of the first names the model, so that each is of a model.

    Parameters
    ----------
    pattern
        A glob of tables, or any other name.
    columns
        Our column names to the tables'.

    Returns
    -------
    files
        Empty where the files are one table.
    note
        A line on files that are one table although no column names the benchmark; empty for others.
    """
    files = match_pattern(pattern) if is_glob(pattern) else []
    if len(files) < 2:
        return [], ""
    try:
        content = describe_table(files[0], columns, TableNames(model=""))
    except InputError:
        return [], ""
    if "model" not in content.columns:
        return [Path(file) for file in files], ""
    if "benchmark" in content.columns:
        return [], ""
    return [], (
        f"{pattern}: {len(files)} files are read as one table of one benchmark, {name_table(pattern)!r}; if they are "
        "of several benchmarks, give the files one by one, as the shell does without quotes around the pattern "
        "(--as-benchmark gives the one another name)"
    )


def _describe(source: TableSource, path: Path) -> _File | None:
    """Return what the columns of a file state; None where they name the benchmark, or cannot be read."""
    table = source.table if isinstance(source.table, (str, Path)) else path
    try:
        content = describe_table(table, source.columns, source.names._replace(model="", is_model_of_file=False))
    except InputError:
        return None  # reading it says what is wrong
    if "benchmark" in content.columns or not content.questions:
        return None
    models = frozenset(content.models) if "model" in content.columns else None
    return _File(
        source, path, path.resolve().parent, name_table(path), models, frozenset(content.questions), content.targets
    )


def _place_files(files: Sequence[_File]) -> list[_File]:
    """Return files with the folder and the name that say what they are of, such as a model and a benchmark.

    Numbers of runs (run1, gpt_run2) and names that any file of results may have are left out of their paths.
    """
    if len(files) < 2:
        return list(files)
    root = Path(commonpath([file.parent for file in files]))
    paths = [(*file.parent.relative_to(root).parts, file.stem) for file in files]
    runs = find_repeats(sorted({part for path in paths for part in path}), has_numbers=False)
    left = [
        tuple(name for part in path if (name := runs[part].model if part in runs else part) and not _is_general(name))
        for path in paths
    ]
    # What is left out must not be what tells two files apart, other than as runs.
    n_different = len({(path, *sorted(runs.keys() & set(parts))) for path, parts in zip(left, paths, strict=True)})
    is_flat = len({file.parent for file in files}) == 1
    # Nothing links files of which no two have a folder or a name in common: they stay as they are.
    places = set(left)
    is_unlinked = len({path[:-1] for path in places}) == len({path[-1:] for path in places}) == len(places) > 1
    if left == paths or is_unlinked or n_different < len(files) or not (all(left) or (not any(left) and not is_flat)):
        return list(files)
    return [
        replace(file, parent=root.joinpath(*path[:-1]), stem=path[-1] if path else root.name)
        for file, path in zip(files, left, strict=True)
    ]


def _split_known_benchmarks(group: Sequence[_File]) -> list[list[_File]]:
    """Return a group for each benchmark that the names of files with the same numbers as ids name, if all name one."""
    benchmarks = [{match[0].lower() for match in _BENCHMARK.finditer(file.stem)} for file in group]
    if any(
        len(names) != 1 or file.targets or not file.has_running_numbers
        for names, file in zip(benchmarks, group, strict=True)
    ):
        return [list(group)]
    parts: defaultdict[str, list[_File]] = defaultdict(list)
    for [name], file in zip(benchmarks, group, strict=True):
        parts[name].append(file)
    return list(parts.values())


def _group_files(files: Sequence[_File]) -> list[list[_File]]:
    """Return groups of files with the same questions and different models; most are alone."""
    groups: list[list[_File]] = []
    for file in files:
        fitting = [
            group
            for group in groups
            if _have_same_questions(file, group[0])
            and all(_have_other_models(file, one) or _are_runs(file, one) for one in group)
        ]
        if fitting:
            # Where the ids are those of several groups, the names of the files tell them apart.
            max(fitting, key=lambda group: len(set(file.words) & set(group[0].words))).append(file)
        else:
            groups.append([file])
    return groups


def _have_same_questions(a: _File, b: _File) -> bool:
    """Return whether the question ids of two files agree, and their targets where both have them."""
    common = len(a.questions & b.questions)
    if a.targets and b.targets and len(a.targets & b.targets) < _SHARE * common:
        return False  # ids that are counted in each benchmark
    if common == len(a.questions | b.questions):
        return True
    share = _SHARE_OF_NUMBERS if a.has_running_numbers and b.has_running_numbers else _SHARE
    return common >= share * len(a.questions | b.questions)


def _have_other_models(a: _File, b: _File) -> bool:
    """Return whether two files have no model in common; files without models differ in their folder or stem."""
    if a.models is None and b.models is None:
        # gpt/gsm8k.csv and gpt/mmlu.csv beside llama/gsm8k.csv: the stem is the benchmark
        are_benchmarks = all(map(_BENCHMARK.fullmatch, (a.stem, b.stem)))
        return (a.parent == b.parent and not are_benchmarks) or a.stem == b.stem
    return a.models is None or b.models is None or a.models.isdisjoint(b.models)


def _are_runs(a: _File, b: _File) -> bool:
    """Return whether two files of a folder are runs of the same models by their names, such as run1 and run2."""
    runs = find_repeats([a.stem, b.stem], has_numbers=False)
    is_same = a.stem == b.stem or len({run.model for run in runs.values()}) == 1
    return a.models == b.models and a.parent == b.parent and is_same


def _name_group(group: Sequence[_File], files: Sequence[_File]) -> Mapping[Path, tuple[str, str]]:
    """Return the benchmark and the model of each file of a group."""
    stems = {file.stem for file in group}
    folders = {file.parent for file in group}
    if len(group) == 1:
        [file] = group
        return {file.path: _name_single(file, files)}
    if len(stems) == 1:
        parent = _name_common({folder.parent for folder in folders}) or group[0].stem
        is_only = all(file.stem in stems for file in files)
        benchmark = parent if is_only and _is_general(group[0].stem) else group[0].stem
        return {file.path: (benchmark, file.folder) for file in group}
    benchmark = (next(iter(folders)).name if len(folders) == 1 else _name_common(folders)) or "table"
    runs = find_repeats(sorted(stems), has_numbers=False)
    if len(folders) == 1 and len(runs) == len(stems):
        return {file.path: (benchmark, runs[file.stem].model or benchmark) for file in group}
    return {file.path: (benchmark, file.stem) for file in group}


def _name_single(file: _File, files: Sequence[_File]) -> tuple[str, str]:
    """Return the benchmark and the model of a file that shares its questions with no other."""
    without = [one for one in files if one.models is None]
    beside = [one for one in without if one.parent == file.parent and one is not file]
    if (
        file.models is None
        and beside
        and not any(_have_same_questions(a, b) and _have_other_models(a, b) for a, b in combinations(beside, 2))
    ):
        return file.stem, file.folder  # a folder of a model, with a file for each benchmark
    if file.models is None and beside:
        return file.folder, file.stem
    return file.stem, file.stem


def _separate_benchmarks(groups: Sequence[list[_File]], names: dict[Path, tuple[str, str]]) -> list[list[_File]]:
    """Give the benchmarks of one folder names of their own in `names`, and return a group of files for each.

    Raises
    ------
    InputError
        Where neither the ids of the questions nor the names of the files tell the benchmarks apart.
    """
    pooled: defaultdict[str, list[list[_File]]] = defaultdict(list)
    rest = []
    for group in groups:
        _refuse_grid_of_names(group)
        name = names[group[0].path][0]
        has_one_stem = len({file.stem for file in group}) == 1
        if has_one_stem and (len(group) > 1 or name == group[0].stem):
            rest.append(group)
        else:
            pooled[name].append(group)
    separate = []
    for of in pooled.values():
        folders = {file.parent for group in of for file in group}
        beside = [one for one in rest if len(one) == 1 and one[0].parent in folders]
        rest = [one for one in rest if one not in beside]
        separate += _name_separately(_join_groups(of), beside, names)
    return [*separate, *rest]


def _join_groups(groups: Sequence[list[_File]]) -> list[list[_File]]:
    """Return groups of which no two have ids in common that are more than running numbers."""
    joined: list[list[_File]] = []
    for group in groups:
        own = _list_questions(group)
        for other in joined:
            common = own & _list_questions(other)
            is_same = len(common) >= _SHARE * min(len(own), len(_list_questions(other)))
            if is_same and not all(map(is_running_number, common)):
                other.extend(group)
                break
        else:
            joined.append(list(group))
    return joined


def _list_questions(group: Sequence[_File]) -> frozenset[str]:
    """Return the ids of the questions of all files of a group."""
    return frozenset().union(*(file.questions for file in group))


def _name_separately(
    groups: Sequence[list[_File]], beside: Sequence[list[_File]], names: dict[Path, tuple[str, str]]
) -> list[list[_File]]:
    """Name the groups of a folder by the words that their files share, else by a file, and return a group for each.

    Parameters
    ----------
    groups
        Groups that have the name of the folder.
    beside
        Files of the folder, each in a group of its own, that have the name of their file.
    names
        Benchmark and model of each file; changed.
    """
    several = [group for group in groups if len(group) > 1]
    singles = [*(group for group in groups if len(group) == 1), *beside]
    if not several or (not singles and len(several) == 1):
        return [*groups, *beside]
    shared, is_last = _find_shared_words(several, singles)
    if _are_repeats(several, shared):
        return [[file for group in several for file in group], *singles]
    words_of = [
        _find_words(single, [one for one in (*several, *singles) if one is not single], is_last=is_last)
        for single in singles
    ]
    if len(several) == 1 and all(len(words) == len(one[0].words) for one, words in zip(singles, words_of, strict=True)):
        shared = [()]  # nothing in the other names says that these words name the benchmark
    n_several = len(several)
    for single, words in zip(singles, words_of, strict=True):
        homes = zip(several[:n_several], shared, strict=False)
        home = next((group for group, own in homes if _belongs(single[0], group, own, is_last=is_last)), None)
        if home is not None:
            home.extend(single)
        else:
            several.append(single)
            shared.append(words)
    unnamed = [group for group, words in zip(several, shared, strict=True) if not words]
    _refuse_equal_numbers(unnamed)
    for group, words in zip(several, shared, strict=True):
        for file in group:
            if words:
                benchmark, model = _divide_name(file.stem, len(words), is_last=is_last)
                names[file.path] = benchmark, model or names[file.path][1]
            elif len(unnamed) > 1:
                names[file.path] = group[0].stem, names[file.path][1]
    return several


def _find_shared_words(
    groups: Sequence[Sequence[_File]], singles: Sequence[Sequence[_File]]
) -> tuple[list[tuple[str, ...]], bool]:
    """Return the words that name the benchmark of each group, none where others have the same, and if they are last."""
    candidates = []
    for is_last in (False, True):
        shared = [
            _find_words(group, [one for one in (*groups, *singles) if one is not group], is_last=is_last)
            for group in groups
        ]
        candidates.append([words if shared.count(words) == 1 else () for words in shared])
    is_last = sum(map(bool, candidates[1])) > sum(map(bool, candidates[0]))
    return candidates[is_last], is_last


def _are_repeats(groups: Sequence[Sequence[_File]], shared: Sequence[Sequence[str]]) -> bool:
    """Return whether groups of the same questions differ in the number of a run or a day, such as _run1 and _run2."""
    if len(groups) < 2 or not all(_have_same_questions(group[0], groups[0][0]) for group in groups):
        return False
    names = ["_".join(words) for words in shared]
    return len(find_repeats(names)) == len(names) or all(word.isdecimal() for words in shared for word in words or "-")


def _find_words(group: Sequence[_File], others: Sequence[Sequence[_File]], *, is_last: bool) -> tuple[str, ...]:
    """Return the first or last words that all names of a group share, without those that name models of others too."""
    step = -1 if is_last else 1
    shared: list[str] = []
    for words in zip(*(file.words[::step] for file in group), strict=False):
        if len(set(words)) > 1:
            break
        shared.append(words[0])
    elsewhere = {word for other in others for file in other for word in file.words}
    while len(shared) > 1 and shared[-1] in elsewhere:
        shared.pop()
    return tuple(shared[::step])


def _belongs(file: _File, group: Sequence[_File], words: Sequence[str], *, is_last: bool) -> bool:
    """Return whether a file with some of the questions of a group is of its benchmark, as a run that did not finish."""
    if file.questions.isdisjoint(_list_questions(group)) or not all(_have_other_models(file, one) for one in group):
        return False
    if not words:
        return file.models is None
    n = len(words)
    own, others = (file.words[-n:], file.words[:-n]) if is_last else (file.words[:n], file.words[n:])
    of_models = {word for model in file.models or () for word in _WORD.findall(model)}
    return own == tuple(words) and (file.models is None or of_models.issuperset(others))


def _divide_name(stem: str, n: int, *, is_last: bool) -> tuple[str, str]:
    """Return the benchmark that the first or last `n` words of a name are, and the model that the other words name."""
    words = list(_WORD.finditer(stem))
    place = words[-n].start() if is_last else words[n - 1].end()
    first, last = (part.strip(_SEPARATORS) for part in (stem[:place], stem[place:]))
    return (last, first) if is_last else (first, last)


def _refuse_equal_numbers(groups: Sequence[Sequence[_File]]) -> None:
    """Raise if two groups without names of their own have the same running numbers as ids."""
    for a, b in combinations(groups, 2):
        if _list_questions(a) & _list_questions(b):
            what = (
                f"files with the same numbers as question ids, as {b[0].path} and others have too: neither the ids "
                "nor the names of the files say whether they are one benchmark"
            )
            raise InputError(what, where=f"{a[0].path}", remedy=_NAME_BENCHMARKS)


def _refuse_grid_of_names(group: Sequence[_File]) -> None:
    """Raise if names such as math_a, math_b, law_a, law_b may be two benchmarks with the same running numbers."""
    if not all(file.words for file in group) or any(
        file.models is not None or file.targets or not file.has_running_numbers for file in group
    ):
        return
    names = _strip_common_words([file.words for file in group])
    for place in (0, -1):
        rests: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
        for words in filter(None, names):
            rests[words[place]].add(words[1:] if place == 0 else words[:-1])
        if not rests:
            return
        [first, *others] = rests.values()
        is_grid = len(rests) > 1 and len(first) > 1 and all(rest == first for rest in others)
        sides: list[list[tuple[str, ...]]] = [[(word,) for word in rests], list(first)]
        if is_grid and not any(all(map(_MODEL_VARIANT.fullmatch, (w for one in side for w in one))) for side in sides):
            listed = ", ".join(sorted(rests)[:_N_NAMED])
            what = (
                f"{len(group)} files with the same numbers as question ids, and no column for the model or the "
                f"benchmark: their names do not say whether {listed} are benchmarks or models"
            )
            raise InputError(what, where=str(group[0].path.parent), remedy=_NAME_BENCHMARKS)


def _strip_common_words(names: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return names without the first and last words that all of them have, such as results."""
    result = list(names)
    for place, rest in ((0, slice(1, None)), (-1, slice(None, -1))):
        while all(result) and len({words[place] for words in result}) == 1:
            result = [words[rest] for words in result]
    return result


def _is_general(stem: str) -> bool:
    """Return whether the name of a file says nothing about its benchmark."""
    general = {"results", "result", "scores", "score", "output", "outputs", "samples", "predictions", "eval", "data"}
    return stem.lower() in general


def _name_common(folders: set[Path]) -> str:
    """Return the name of the nearest folder above all others."""
    paths = [folder.parts for folder in folders]
    common = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return Path(*common).name if common else ""


def _describe_group(group: Sequence[_File], names: Mapping[Path, tuple[str, str]]) -> str:
    """Return a line on files that are one benchmark."""
    benchmark = names[group[0].path][0]
    line = f"{len(group)} files have the same question ids and are read as one benchmark, {benchmark!r}"
    if all(file.models is None for file in group):
        models = list(dict.fromkeys(names[file.path][1] for file in group))
        more = f" and {len(models) - _N_NAMED} more" if len(models) > _N_NAMED else ""
        of = "a model for each:" if len(models) == len(group) else "runs of"
        line += f", with {of} {', '.join(models[:_N_NAMED])}{more}"
    return f"{line} (--as-benchmark and --model give other names)"


def _find_added_files(files: Sequence[_File], names: Mapping[Path, tuple[str, str]]) -> Iterator[str]:
    """Yield a line on files of one name that have scores of the same model and questions, such as two providers'."""
    first_of: dict[tuple[str, str], _File] = {}
    pairs: dict[Path, tuple[_File, _File, str]] = {}
    for file in files:
        benchmark, model = names[file.path]
        for name in sorted(file.models or {model}):
            first = first_of.setdefault((benchmark, name), file)
            if first is not file and not first.questions.isdisjoint(file.questions):
                pairs.setdefault(file.path, (first, file, name))
    if pairs:
        first, second, name = next(iter(pairs.values()))
        alone = "file" if first.path.parent == second.path.parent else "folder"
        more = f", and so have {len(pairs) - 1} more files" if len(pairs) > 2 else ""
        more = ", and so has 1 more file" if len(pairs) == 2 else more
        yield (
            f"{first.path} and {second.path} have the same benchmark, model ({name}) and questions{more}: their scores "
            f"are read as generations of one model. If they are of two providers or settings, read each {alone} alone "
            "(howsure providers --other compares two)"
        )
