"""Find run folders, logs of other programs and tables at and below paths, and recognise them by content."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeAlias, cast

from howsure import notes
from howsure.errors import InputError, StoreError
from howsure.logs import find_reader, is_companion
from howsure.logs.base import LogReader, ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.log_names import DistinctLog, distinguish_logs, label_run_models
from howsure.logs.log_source import LogSource
from howsure.notes import Note, note_omission
from howsure.results.run_source import RunSource
from howsure.results.table_log import TableLogReader, identify_table
from howsure.results.table_source import TableSource, list_files_of_models, name_tables
from howsure.rows.columns import TableOptions
from howsure.rows.formats import SUFFIXES, find_table_parts, is_glob, is_remote, is_table, sniff_format
from howsure.rows.frames import FrameLike, is_frame
from howsure.rows.mapping import GivenMap, Shape, TableMap, read_map
from howsure.rows.naming import Layout
from howsure.rows.source import Source
from howsure.rows.table import describe_table, open_table
from howsure.safe_text import mask_address
from howsure.store.manifest import LogIdentity, Manifest, load
from howsure.store.responses import is_run

#: The inputs that can be read: a path, a glob, an address, a frame, or several of these.
Data: TypeAlias = str | PathLike[str] | FrameLike | Iterable[str | PathLike[str] | FrameLike]

#: Kinds of files that may be logs; a warning names those that no reader recognises.
_LOG_KINDS = ("json", "zip", "parquet")
#: Endings of experiments.
_YAML_SUFFIXES = frozenset({".yaml", ".yml"})
#: The first bytes of compressed files that are not read: zstd, bzip2, xz, 7z and zip.
_PACKED = (b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"PK\x03\x04")
#: The first bytes of a pickle.
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
#: Files and folders that only an environment of Python has: of venv, and of conda.
_ENVIRONMENT = frozenset({"pyvenv.cfg", "conda-meta"})
#: Columns that only tables have which `howsure convert` writes: of generations, and of counts.
_EXPORT_COLUMNS = (
    frozenset({"benchmark", "model", "question", "variant", "generation", "score", "status", "fingerprint", "created"}),
    frozenset({"benchmark_id", "model", "example_id", "pass1", "count"}),
)
#: Files beside logs that hold no scores of their own.
_COMPANIONS = frozenset({"run_metadata.json", "eval-set.json", "logs.json", "listing.json"})
#: Keys that only the first lines of verdicts and of labels have together.
_REVIEW_KEYS = (frozenset({"question", "key", "verdict", "when"}), frozenset({"question", "inclusion", "scorer"}))
_REMEDY = f"give a run folder, logs, or tables ({', '.join(SUFFIXES)})"
#: Largest number of files that the warning names.
_N_NAMED = 3
#: Largest size in bytes of a JSON file of no program in a folder that is tried as a table.
_MOST_JSON = 1 << 28


def find_sources(
    given: Data,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    map: GivenMap | None = None,  # noqa: A002  # as the option --map
    shape: Shape | None = None,
    scorer: str | None = None,
    generations: int | None = None,
    benchmark: str | None = None,
    selects: bool = False,
    model: str | None = None,
    scale: float | None = None,
    layout: Layout | None = None,
) -> list[Source]:
    """Return each source at the given paths and frames once, in the order given.

    Parameters
    ----------
    selects
        Whether benchmarks are selected by the names of the files before they get that of `benchmark`.
    layout
        Parts of the paths of files that name models, benchmarks and generations; see `rows.naming`.

    The other parameters are those of `results.evaluations.read`.

    Raises
    ------
    InputError
        When there is nothing to read at a path, or it cannot be decided what the paths name.

    Warns
    -----
    HowsureWarning
        When files without names of benchmarks are read as one benchmark, when several logs are of the same run, of
        which only the first is read, or when no reader recognises a file.
    """
    if generations is not None and generations < 1:
        raise InputError(f"--generations {generations}", remedy="allowed: 1 or more")
    table_map = (TableMap() if map is None else read_map(map)).with_columns(columns or {})
    if shape is not None:
        table_map = replace(table_map, shape=shape)
    layout = layout or table_map.files or None
    table_options = TableOptions(table_map, benchmark, model, scorer=scorer, scale=scale)
    options = _Options(table_options, generations, layout)
    check_no_mapping(given)
    is_one = isinstance(given, (str, PathLike)) or is_frame(given)
    each = [cast("str", given)] if is_one else list(cast("Iterable[str]", given))
    if not each:
        raise InputError("no data is given", remedy="give paths, frames or cells")
    candidates = _list_candidates(each, options)
    tables = [item.table for item in candidates if item.table is not None and item.place is not None]
    for note in name_tables(tables, benchmark=None if selects else benchmark, model=model, layout=layout):
        notes.warn(note, stacklevel=2)
    return _construct_sources(candidates, options)


def check_no_mapping(data: object) -> None:
    """Raise InputError for a mapping, such as one of columns, whose names would be read as paths."""
    if isinstance(data, Mapping):
        names = _list_first(list(map(str, data)))
        remedy = (
            "make a frame of a mapping of columns: pandas.DataFrame(data), polars.DataFrame(data), pyarrow.table(data)"
        )
        raise InputError(f"a mapping with the keys {names} is no frame", where="data", remedy=remedy)


def _list_candidates(each: Sequence[object], options: _Options) -> list[_Candidate]:
    """Return each candidate at the given paths once, and frames, in the order given."""
    candidates: list[_Candidate] = []
    visited: set[Path] = set()
    for i, one in enumerate(each):
        if is_frame(one):
            frame = _open_table_source(one, options)
            frame.given_at = i
            candidates.append(_Candidate(None, frame, given_at=i))
            continue
        if not isinstance(one, (str, PathLike)):
            check_no_mapping(one)
            raise InputError(f"data of type {type(one).__name__} cannot be read", remedy="give paths or frames")
        label, name = _split_label(str(one))
        if is_remote(name) or is_glob(name):
            files = list_files_of_models(
                name, TableOptions(options.table.map), has_benchmark=options.table.benchmark is not None
            )
            items = [_Candidate(file, _open_table_source(file, options)) for file in files]
            items = items or [_Candidate(None, _open_table_source(name, options))]
        else:
            items = _Finder(options).find_at(Path(name))
        for item in items:
            if item.place is not None and item.path.resolve() in visited:
                continue
            if item.place is not None:
                visited.add(item.path.resolve())
            if item.table is not None:
                item.table.label, item.table.given_at = label, i
            candidates.append(item._replace(given_at=i, label=label))
    return candidates


def _split_label(given: str) -> tuple[str, str]:
    """Return the NAME and the PATH of `NAME=PATH`; no name for other paths."""
    name, sign, path = given.partition("=")
    is_label = sign and name and "/" not in name and not is_remote(given) and not Path(given).exists()
    return (name, path) if is_label and (is_glob(path) or Path(path).exists()) else ("", given)


class _Options(NamedTuple):
    """The options with which all sources are read; see `find_sources`."""

    table: TableOptions
    generations: int | None
    layout: Layout | None

    @property
    def columns(self) -> dict[str, str]:
        """Our names to fields of logs."""
        return {name: ",".join(columns) for name, columns in self.table.map.columns.items()}


class _Candidate(NamedTuple):
    """A path to read: a log with its reader, a run folder, or a table, which is already a source."""

    place: Path | None
    table: TableSource | None = None
    reader: LogReader | None = None
    is_optional: bool = False
    """Whether it is one of the files of a folder, so that it is left out where it cannot be read."""
    given_at: int = 0
    """Index of the path or frame that was given and that it was found at."""
    label: str = ""
    """The NAME of `NAME=PATH`."""
    log: DistinctLog | None = None
    """The log with what it states of itself, once that is read."""

    @property
    def path(self) -> Path:
        assert self.place is not None
        return self.place

    @property
    def is_folder(self) -> bool:
        """Whether it is a run folder."""
        return self.table is None and self.reader is None


def _construct_sources(candidates: Sequence[_Candidate], options: _Options) -> list[Source]:
    """Return the sources of distinct candidates, whose models at other settings have other labels."""
    tables: list[Source] = [item.table for item in candidates if item.table is not None]
    if len(tables) == len(candidates):
        return tables
    places = [item.path for item in candidates if item.is_folder]
    manifests = {place: _load_manifest(place) for place in places} if len(candidates) > 1 else dict.fromkeys(places)
    candidates = _drop_copies(candidates, manifests, options)
    labels_of_logs = [item.label for item in candidates if item.log is not None]
    logs, noted = distinguish_logs(
        [item.log for item in candidates if item.log is not None],
        options.layout,
        labels_of_logs if any(labels_of_logs) else (),
    )
    for note in noted:
        notes.warn(note, stacklevel=3)
    waiting = iter(logs)
    labels = _label_folders(manifests, options)
    sources: list[Source] = []
    folders: list[RunSource] = []
    for item in candidates:
        source: Source
        if item.table is not None:
            source = item.table
        elif item.log is not None:
            source = LogSource(next(waiting), most_generations=options.generations, is_optional=item.is_optional)
        else:
            source = RunSource(
                item.path,
                columns=options.columns,
                scorer=options.table.scorer,
                most_generations=options.generations,
                earlier=folders,
                labels=labels[item.path],
            )
            folders.append(source)
        source.given_at = item.given_at
        sources.append(source)
    if folders:
        _refuse_exports(sources, folders)
    return sources


def _drop_copies(
    candidates: Sequence[_Candidate], manifests: Mapping[Path, Manifest | None], options: _Options
) -> list[_Candidate]:
    """Return the candidates, logs with what they state, and each run once.

    Left out with a note are logs and tables that a run folder among them was converted from, further logs of a run, and
    optional logs that cannot be described.
    """
    converted = {
        log if log.reader != TableLogReader.name else log.run: path
        for path, about in manifests.items()
        for log in (about.converted if about else ())
        if log.run
    }
    has_tables = any(isinstance(key, str) for key in converted)
    read_options = ReadOptions(scorer=options.table.scorer, columns=options.columns)
    distinct: list[_Candidate] = []
    first_of: dict[LogIdentity, Path] = {}
    left_out: list[Note] = []
    faults: list[InputError] = []
    for item in candidates:
        key, log = cast("LogIdentity | str", ""), None
        if item.reader is not None:
            try:
                info = item.reader.describe(item.path)
            except InputError as error:
                if not item.is_optional:
                    raise
                faults.append(error)
                continue
            key, log = info.identify(item.reader.name), DistinctLog(item.reader, item.path, info, read_options)
        elif has_tables and item.table is not None and item.place is not None and item.place.is_file():
            key = identify_table(item.place)
        if key in converted:
            left_out.append(Note("converted-to-folder", str(item.path), facts={"folder": converted[key]}))
        elif isinstance(key, LogIdentity) and first_of.setdefault(key, item.path) != item.path:
            left_out.append(Note("same-run", str(item.path), facts={"other": first_of[key]}))
        else:
            distinct.append(item._replace(log=log))
    if faults and len(faults) == len(candidates):
        raise faults[0]
    _warn_all([*left_out, *map(_note_fault, faults)])
    return distinct


def _refuse_exports(sources: Sequence[Source], folders: Sequence[RunSource]) -> None:
    """Raise InputError for a table that `convert` wrote of models that a run folder beside it has, too."""
    for source in sources:
        path = source.path
        if not isinstance(source, TableSource) or not isinstance(path, Path) or not path.is_file():
            continue
        try:
            with open_table(path) as rows:
                is_export = any(columns <= set(rows.columns) for columns in _EXPORT_COLUMNS)
                models = {str(name) for (name,) in rows.project("model").distinct().fetchall()} if is_export else set()
        except InputError:  # its source says so when it is read
            continue
        folder = next((one for one in folders if is_export and models <= one.models), None)
        if folder is not None:
            what = f"it has the columns that howsure convert writes, and the models of the run folder {folder.path}"
            raise InputError(what, where=str(path), remedy="give one of them; of both, generations would count twice")


def _label_folders(manifests: Mapping[Path, Manifest | None], options: _Options) -> dict[Path, dict[str, str]]:
    """Return the labels of models of each run folder that change, so that models at other settings are kept apart."""
    if len(manifests) < 2:
        return {path: {} for path in manifests}
    labels = label_run_models(list(manifests.values()), benchmark=options.table.benchmark)
    differences: list[Note] = []
    first_of: dict[str, tuple[Path, str]] = {}
    pooled: dict[str, tuple[Path, Manifest]] = {}
    for (path, run), names in zip(manifests.items(), labels, strict=True):
        if run is None:
            continue
        for label in run.models:
            name = names.get(label, label)
            if label in names:
                first, first_name = first_of.setdefault(label, (path, name))
                if name != first_name:
                    facts = {"path": path, "first": first, "label": label, "name": name, "other": first_name}
                    differences.append(Note("folders-at-settings", facts=facts))
            earlier, about = pooled.setdefault(name, (path, run))
            for code, facts in _list_pooled_differences(about, run, label):
                differences.append(Note(code, facts={"path": path, "first": earlier, "name": name, **facts}))
    _warn_all(differences)
    return dict(zip(manifests, labels, strict=True))


def _list_pooled_differences(first: Manifest, other: Manifest, label: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the code of a note on each difference of two run folders that are read as one model, and its facts."""
    addresses = [mask_address(run.models[label].base_url) for run in (first, other) if label in run.models]
    if len(addresses) == 2 and all(addresses) and addresses[0] != addresses[1]:
        yield "pooled-addresses", {"address": addresses[1], "first_address": addresses[0]}
    is_other_prompt = first.prompts.keys().isdisjoint(other.prompts) and bool(first.prompts and other.prompts)
    if is_other_prompt and first.benchmarks.keys() & other.benchmarks.keys():
        yield "pooled-prompts", {}


def _load_manifest(path: Path) -> Manifest | None:
    """Return the manifest of a run folder; None where there is none that can be read, which its source notes."""
    try:
        return load(path)
    except StoreError:
        return None


def _note_fault(error: InputError) -> Note:
    """Return the note on a file that is left out, with its place."""
    return replace(note_omission(error), where=error.where)


def _warn_all(several: Sequence[Note]) -> None:
    """Issue notes, those of one code as one."""
    for note in notes.merge_notes(list(several)):
        notes.warn(note, stacklevel=5)


class _Finder:
    """Finds the candidates at a path that the user gave.

    Attributes
    ----------
    unknown, outside
        Names of files that no reader recognises, and of links that lead out of the folder that is searched.
    faults
        Errors of logs and tables that cannot be read.
    """

    def __init__(self, options: _Options) -> None:
        self._options = options
        self.unknown: list[str] = []
        self.outside: list[str] = []
        self.faults: list[InputError] = []

    def find_at(self, path: Path) -> list[_Candidate]:
        """Return the candidates at a path; raise an error if there is nothing to read."""
        if path.is_dir():
            candidates = list(self._find_below(path))
            if self.faults and not candidates:
                raise self.faults[0]
            _warn_all([_note_fault(fault) for fault in self.faults])
            for code, files in (("unknown-files", self.unknown), ("links-outside", self.outside)):
                facts = {"names": _list_first(files)}
                _warn_all([Note(code, str(path), n=len(files), facts=facts)] if files else [])
            if not candidates:
                raise InputError("no run folder, no log and no table here", where=str(path), remedy=_REMEDY)
            return candidates
        if not path.exists():
            raise InputError("no such file or folder", where=str(path), remedy=_REMEDY)
        if not path.is_file():
            remedy = "write what it gives to a file, and name that"
            raise InputError("a pipe or a device, not a file", where=str(path), remedy=remedy)
        if (logs := _find_logs(path)) is not None:
            return logs
        is_yaml = path.suffix.lower() in _YAML_SUFFIXES  # a comma in its comments makes no table of it
        if is_table(path) or (not is_yaml and sniff_format(path) is not None):
            return [_Candidate(path, _open_table_source(path, self._options))]
        raise _build_unknown_file_error(path)

    def _find_below(self, path: Path) -> Iterator[_Candidate]:
        """Yield the candidates at and below a path, sorted by name.

        Hidden files and folders are left out, and so are environments of Python below the path, whose packages hold
        tables, and files that belong to a log beside them.
        """
        waiting, visited, root = [path], set[tuple[int, int]](), Path(os.path.realpath(path))
        while waiting:
            one = waiting.pop()
            try:
                state = one.stat()
                place, is_folder = (state.st_dev, state.st_ino), stat.S_ISDIR(state.st_mode)
                if is_folder and place in visited:  # a link that leads to a folder above or beside it
                    continue
                children = self._list_children(one, root, is_below=one != path) if is_folder else []
            except OSError:  # a link to nothing or to itself, or a folder that may not be read
                self.unknown.append(one.name)
                continue
            if is_folder and is_run(one):
                yield _Candidate(one)
            elif is_folder:
                logs = self._try_logs(one)
                parts = self._find_parts(one) if logs is None else []
                yield from (item._replace(is_optional=True) for item in logs or parts or ())
                waiting += children if parts is None else []
                visited.add(place)
            elif stat.S_ISREG(state.st_mode):
                yield from self._try_file(one)
            else:  # a pipe would be waited for without end
                self.unknown.append(one.name)

    def _try_file(self, path: Path) -> list[_Candidate]:
        """Return the logs or the table in a file of a folder; none if there are none."""
        logs = self._try_logs(path)
        if logs is not None:
            return [log._replace(is_optional=True) for log in logs]
        if is_table(path) and (path.suffix != ".json" or _has_results(path, self._options)):
            return [_Candidate(path, _open_table_source(path, self._options, is_optional=True))]
        if path.name not in _COMPANIONS and (
            FileHead(path).kind in _LOG_KINDS or _read_start(path).startswith(_PACKED)
        ):
            self.unknown.append(path.name)
        return []

    def _list_children(self, folder: Path, root: Path, *, is_below: bool) -> list[Path]:
        """Return the files and folders of a folder that may hold results, by name from the last to the first."""
        children = sorted(folder.iterdir(), reverse=True)
        if is_below and not _ENVIRONMENT.isdisjoint(child.name for child in children):
            return []
        children = [child for child in children if not child.name.startswith(".")]
        away = [c for c in children if c.is_symlink() and not Path(os.path.realpath(c)).is_relative_to(root)]
        self.outside += [child.name for child in away]
        return [child for child in children if child not in away]

    def _find_parts(self, folder: Path) -> list[_Candidate] | None:
        """Return the table that Spark or Dask wrote in parts, none if it cannot be read, None for other folders."""
        try:
            parts = find_table_parts(folder)
        except InputError as error:
            self.faults.append(error)
            return []
        if parts is None:
            return None
        if (folder / "_temporary").is_dir():
            notes.warn(Note("table-unfinished", str(folder)), stacklevel=5)
        return [_Candidate(folder, _open_table_source(parts, self._options, str(folder), is_optional=True))]

    def _try_logs(self, path: Path) -> list[_Candidate] | None:
        """Return the logs of a file or folder, none if they cannot be read or belong to another; else None."""
        is_review = path.suffix == ".jsonl" and any(keys <= FileHead(path).keys for keys in _REVIEW_KEYS)
        if is_review or is_companion(path):
            return []
        try:
            return _find_logs(path) or None
        except InputError as error:
            self.faults.append(error)
            return []


def _list_first(names: Sequence[str]) -> str:
    """Return the first of several names."""
    return ", ".join(names[:_N_NAMED]) + ", ..." * (len(names) > _N_NAMED)


def _build_unknown_file_error(path: Path) -> InputError:
    """Return the error of a file that holds no results."""
    what, remedy = "no reader recognises this file, and it is no table", _REMEDY
    if path.suffix.lower() in _YAML_SUFFIXES:
        what = "an experiment or another YAML file, which has no results"
        folder, file = shlex.quote(str(path.with_suffix(""))), shlex.quote(str(path))
        remedy = f"howsure run {file} runs an experiment, and with --check tries it; then give {folder}"
    elif _PICKLE.match(_read_start(path)):
        what = "a pickle, which is not read since it may run code"
        remedy = "write the data frame with frame.to_parquet('rows.parquet'), or give the frame to howsure.read"
    elif _read_start(path).startswith(_PACKED):
        what = "a compressed file, which is not read"
        remedy = "unpack it, and give what is inside; of tables, gzip is read (.csv.gz)"
    return InputError(what, where=str(path), remedy=remedy)


def _read_start(path: Path) -> bytes:
    """Return the first bytes of a file; none if it cannot be opened."""
    try:
        with path.open("rb") as content:
            return content.read(6)
    except OSError:
        return b""


def _has_results(path: Path, options: _Options) -> bool:
    """Return whether a JSON file, which may be of any program, is a table with scores, or completions and targets."""
    if path.stat().st_size > _MOST_JSON:
        return False
    try:
        content = describe_table(path, options.table)
    except InputError:
        return False
    return not content.needs_scores or "target" in content.columns


def _open_table_source(
    table: str | Path | FrameLike, options: _Options, path: str | None = None, *, is_optional: bool = False
) -> TableSource:
    """Return a file or a frame as a source, read with the options of all sources."""
    return TableSource(table, options.table, path=path, most_generations=options.generations, is_optional=is_optional)


def _find_logs(path: Path) -> list[_Candidate] | None:
    """Return the logs of a file or folder; None if no reader recognises it."""
    reader = find_reader(path)
    return None if reader is None else [_Candidate(member, None, reader) for member in reader.members(path)]
