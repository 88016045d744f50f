"""Name the benchmark and the model of tables whose columns do not, from the names of their files and folders.

Files of one model each, whose question ids agree, are one benchmark: the file, or its folder, names the model. Files
with other questions, or other targets of the same ids, are benchmarks of their own. Files of completions need no
scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from howsure.errors import InputError
from howsure.tables.read_table import TableNames, describe_table
from howsure.tables.table_files import is_glob, match_pattern, name_table

if TYPE_CHECKING:
    from howsure.readers.sources import TableSource

__all__ = ["list_files_of_models", "name_tables"]

#: Smallest share of question ids that two files have in common if they are of one benchmark; of ids that are numbers,
#: which may be those of any benchmark, more.
_SHARE, _SHARE_OF_NUMBERS = 0.5, 0.9
#: Largest number of names in a note.
_N_NAMED = 5


@dataclass(frozen=True, slots=True)
class _File:
    """A table in a file whose columns do not name its benchmark; `models` is None where none names the model."""

    source: TableSource
    path: Path
    models: frozenset[str] | None
    questions: frozenset[str]
    targets: frozenset[tuple[str, str]]

    @property
    def stem(self) -> str:
        return name_table(self.path)

    @property
    def folder(self) -> str:
        return self.path.resolve().parent.name or "table"


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
    names: dict[Path, tuple[str, str]] = {}
    for group in _group_files(files):
        names |= _name_group(group, files)
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


def list_files_of_models(pattern: str, columns: Mapping[str, str]) -> list[Path]:
    """Return the files that a pattern matches if no column of the first names the model, so that each is of a model.

    Parameters
    ----------
    pattern
        A glob of tables, or any other name.
    columns
        Our column names to the tables'.

    Returns
    -------
    list of Path
        Empty where the files are one table.
    """
    files = match_pattern(pattern) if is_glob(pattern) else []
    if len(files) < 2 or "model" in columns:
        return []
    try:
        content = describe_table(files[0], columns, TableNames(model=""))
    except InputError:
        return []
    return [] if "model" in content.columns else [Path(file) for file in files]


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
    return _File(source, path, models, frozenset(content.questions), content.targets)


def _group_files(files: Sequence[_File]) -> list[list[_File]]:
    """Return groups of files with the same questions and different models; most are alone."""
    groups: list[list[_File]] = []
    for file in files:
        for group in groups:
            if _have_same_questions(file, group[0]) and all(_have_other_models(file, one) for one in group):
                group.append(file)
                break
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
    are_numbers = all(question.isdecimal() for question in (*a.questions, *b.questions))
    share = _SHARE_OF_NUMBERS if are_numbers else _SHARE
    return common >= share * len(a.questions | b.questions)


def _have_other_models(a: _File, b: _File) -> bool:
    """Return whether two files have no model in common; files without models differ in their folder or stem."""
    if a.models is None and b.models is None:
        # gpt/gsm8k.csv and gpt/mmlu.csv beside llama/gsm8k.csv: the stem is the benchmark
        return a.path.parent == b.path.parent or a.stem == b.stem
    return a.models is None or b.models is None or a.models.isdisjoint(b.models)


def _name_group(group: Sequence[_File], files: Sequence[_File]) -> Mapping[Path, tuple[str, str]]:
    """Return the benchmark and the model of each file of a group."""
    stems = {file.stem for file in group}
    folders = {file.path.resolve().parent for file in group}
    if len(group) == 1:
        [file] = group
        return {file.path: _name_single(file, files)}
    if len(stems) == 1:
        parent = next(iter(folders)).parent.name or group[0].stem
        is_only = all(file.stem in stems for file in files)
        benchmark = parent if is_only and _is_general(group[0].stem) else group[0].stem
        return {file.path: (benchmark, file.folder) for file in group}
    benchmark = next(iter(folders)).name if len(folders) == 1 else _name_common(folders)
    return {file.path: (benchmark or "table", file.stem) for file in group}


def _name_single(file: _File, files: Sequence[_File]) -> tuple[str, str]:
    """Return the benchmark and the model of a file that shares its questions with no other."""
    without = [one for one in files if one.models is None]
    beside = [one for one in without if one.path.parent == file.path.parent and one is not file]
    if file.models is None and beside and not any(_have_same_questions(a, b) for a, b in combinations(beside, 2)):
        return file.stem, file.folder  # a folder of a model, with a file for each benchmark
    if file.models is None and beside:
        return file.folder, file.stem
    return file.stem, file.stem


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
        models = [names[file.path][1] for file in group]
        more = f" and {len(models) - _N_NAMED} more" if len(models) > _N_NAMED else ""
        line += f", with a model for each: {', '.join(models[:_N_NAMED])}{more}"
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
        more = f", and so have {len(pairs) - 1} more files" if len(pairs) > 2 else ""
        more = ", and so has 1 more file" if len(pairs) == 2 else more
        yield (
            f"{first.path} and {second.path} have the same name, model ({name}) and questions{more}: their scores are "
            "read as generations of one model. If they are of two providers or settings, read each folder alone "
            "(howsure providers --other compares two)"
        )
