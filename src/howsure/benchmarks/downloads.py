"""Fetch the files of published data sets: from a hub, from an address with a known hash, or from a local folder.

Files of a hub are cached by `huggingface_hub`, in its own cache, with its tokens, mirrors (`HF_ENDPOINT`) and offline
mode (`HF_HUB_OFFLINE`). A file with an address is fetched from there, or by its name from `HOWSURE_MIRROR`. A pinned
revision that is complete in the cache is read without a network. The revision and the hash of each of its files are
kept in the cache of howsure (`HOWSURE_CACHE`, by default `~/.cache/howsure`), and a file that changed later is refused.
A data set without a pinned revision stays at the one that was fetched first.
"""

from __future__ import annotations

import fnmatch
import hashlib
import logging
import os
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.store.atomic import replace_file

_SUFFIXES = ("parquet", "jsonl", "csv", "json")
_SHARD = re.compile(r"-of-(\d{5})\.")
#: Seconds that an address may take until it sends something.
_TIMEOUT = 60
#: Seconds in which a hub answers a first small request.
_TIMEOUT_OF_HUB = 10
#: Largest file that is fetched from an address, in bytes.
_MOST_BYTES = 1 << 30


class DataSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the questions of a benchmark are published.

    Examples
    --------
    >>> find_patterns(DataSource(hub="openai/gsm8k", config="main"), "test")[0]
    'main/test-*.parquet'
    """

    hub: str = ""
    """Id of the data set on the hub; empty if it has an address."""
    revision: str = ""
    """Commit to which the hub's files are pinned; empty if it is not known yet."""
    config: str = ""
    split: str = "test"
    files: dict[str, list[str]] = {}
    """Patterns of files by split, where they have names of their own; of several patterns the first that fits."""
    subsets: list[str] = []
    """Splits, each perhaps in a folder of its name, that are read one after the other in place of `split`; each row has
    the name of its split in the field `subset`."""
    url: str = ""
    sha256: str = ""


def find_patterns(source: DataSource, split: str) -> list[str]:
    """Return the patterns of the files of a split, the most likely first."""
    if split in source.files:
        return source.files[split]
    own = split if split in source.subsets else source.config
    folders = [f"{own}/"] if own else []
    folders += ["data/", "", *([f"{own}/"] if own else [])]
    patterns = [f"{folder}{split}{end}.{suffix}" for suffix in _SUFFIXES for folder in folders for end in ("-*", "")]
    return list(dict.fromkeys(patterns))


def fetch_files(
    name: str, source: DataSource, splits: Sequence[str], path: Path | None = None
) -> dict[str, list[Path]]:
    """Return the files of each split.

    Parameters
    ----------
    name
        Name of the benchmark, for errors and for the record of hashes.
    source
        Where its files are published.
    splits
        The splits that are needed.
    path
        A local folder of the same layout, or a single file; None to fetch the files.

    Returns
    -------
    dict
        Files of each split, in the order of their names.

    Raises
    ------
    InputError
        When the files cannot be fetched, some are missing, or one was changed since it was fetched.
    """
    if path is not None:
        return _find_local(name, source, splits, path)
    if source.url:
        fetched = _fetch_address(name, source)
        return {split: [fetched] for split in splits}
    if cached := find_cached_files(name, source, splits):
        return cached
    patterns = [pattern for split in splits for pattern in find_patterns(source, split)]
    folder = _download_snapshot(name, source, read_revision(name, source), patterns)
    files = _match_files(name, source, splits, folder)
    _record_hashes(name, source, folder, (file for group in files.values() for file in group))
    return files


def read_revision(name: str, source: DataSource) -> str:
    """Return the revision of a data set of the hub: the pinned one, or the one that was fetched first; else empty.

    >>> read_revision("gsm8k", DataSource(hub="openai/gsm8k", revision="cc7b047b"))
    'cc7b047b'
    """
    return source.revision or _read_record(name, source).revision


def find_cached_files(name: str, source: DataSource, splits: Sequence[str]) -> dict[str, list[Path]] | None:
    """Return the files of each split if all of them are on this disk; None if one has to be fetched.

    Raises
    ------
    InputError
        When a file was changed since it was fetched.
    """
    if source.url:
        file = _place_of_address(source)
        return {split: [file] for split in splits} if file.is_file() else None
    recorded = _read_record(name, source)
    if not recorded.files:
        return None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(
            snapshot_download(
                source.hub,
                repo_type="dataset",
                revision=recorded.revision,
                allow_patterns=[pattern for split in splits for pattern in find_patterns(source, split)],
                local_files_only=True,
            )
        )
        files = _match_files(name, source, splits, folder)
    except (LocalEntryNotFoundError, InputError):
        return None
    for file in (file for group in files.values() for file in group):
        recorded_hash = recorded.files.get(file.relative_to(folder).as_posix())
        if recorded_hash is None:
            return None
        if recorded_hash != hashlib.sha256(file.read_bytes()).hexdigest():
            remedy = "remove it, and it is fetched again"
            raise InputError("the file was changed since it was fetched", where=str(file), remedy=remedy)
    return files


def locate_cache() -> Path:
    """Return the folder in which howsure keeps what it fetched."""
    if own := os.environ.get("HOWSURE_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "howsure"


def _find_local(name: str, source: DataSource, splits: Sequence[str], path: Path) -> dict[str, list[Path]]:
    """Return the files of each split in a local folder, or the file itself."""
    if path.is_file():
        if len(splits) > 1:
            remedy = f"give a folder with the files of {', '.join(splits)}"
            raise InputError(f"a file for {len(splits)} splits", where=str(path), remedy=remedy)
        return {splits[0]: [path]}
    if not path.is_dir():
        raise InputError("there is no such folder", where=str(path), remedy=f"give the folder with the files of {name}")
    if source.url:
        file = path / source.url.rpartition("/")[2]
        if not file.is_file():
            raise InputError(
                f"the folder has no {file.name}", where=str(path), remedy=f"put it there, from {source.url}"
            )
        return {split: [file] for split in splits}
    return _match_files(name, source, splits, path)


def _match_files(name: str, source: DataSource, splits: Sequence[str], folder: Path) -> dict[str, list[Path]]:
    """Return the files of a folder that fit the patterns of each split; all parts of it are there."""
    present = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    by_split = {}
    for split in splits:
        patterns = find_patterns(source, split)
        matches = next(filter(None, (fnmatch.filter(present, pattern) for pattern in patterns)), [])
        if not matches:
            has = ", ".join(file for file in present if file.endswith(_SUFFIXES))[:300] or "no data files"
            what = f"no file of the split {split!r} of {name}; there is: {has}"
            raise InputError(what, where=str(folder), remedy=f"the files are named like {patterns[0]}")
        parts = {int(match[1]) for file in matches if (match := _SHARD.search(file))}
        if parts and max(parts) != len(matches):
            what = f"{len(matches)} of {max(parts)} parts of the split {split!r}"
            raise InputError(what, where=str(folder), remedy="fetch the others, or remove the folder")
        by_split[split] = [folder / file for file in matches]
    return by_split


def _download_snapshot(name: str, source: DataSource, revision: str, patterns: Sequence[str]) -> Path:
    """Return the folder with the files of a revision that fit the patterns, after fetching those that are not there."""
    try:
        import huggingface_hub
    except ImportError:
        remedy = 'pip install "howsure[hub]", or give a folder with its files: {name: ' + name + ", path: FOLDER}"
        raise InputError("the package huggingface_hub is missing", where=f"benchmark {name}", remedy=remedy) from None
    from huggingface_hub import errors
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    where = f"benchmark {name}, {source.hub}"
    local = f"or give a folder with its files: {{name: {name}, path: FOLDER}}"
    reasons: dict[type[Exception], tuple[str, str]] = {
        errors.GatedRepoError: (
            "access has to be granted first",
            f"ask for it on the data set's page and set HF_TOKEN, {local}",
        ),
        errors.RevisionNotFoundError: (f"the hub has no revision {revision}", local[3:]),
        errors.RepositoryNotFoundError: ("the hub has no such data set, or it is private", f"set HF_TOKEN, {local}"),
        errors.OfflineModeIsEnabled: ("it is not in the cache, and HF_HUB_OFFLINE is set", f"unset it once, {local}"),
        errors.LocalEntryNotFoundError: (
            "the hub cannot be reached, and the cache has not got it",
            f"try later, {local}",
        ),
    }
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.ERROR)  # a line for each attempt of a request; what became of it is said below
    try:
        return Path(
            huggingface_hub.snapshot_download(
                source.hub,
                repo_type="dataset",
                revision=revision or None,
                allow_patterns=list(patterns),
                endpoint=os.environ.get("HF_ENDPOINT") or None,
                library_name="howsure",
                local_files_only=not _is_hub_reached(source.hub),
            )
        )
    except tuple(reasons) as error:
        what, remedy = next(reason for kind, reason in reasons.items() if isinstance(error, kind))
        if isinstance(error, errors.LocalEntryNotFoundError):
            if huggingface_hub.constants.HF_HUB_OFFLINE:
                what, remedy = reasons[errors.OfflineModeIsEnabled]
            elif hasattr(error.__cause__, "response"):
                what = _describe_error(error.__cause__)
        raise InputError(what, where=where, remedy=remedy) from None
    except Exception as error:  # noqa: BLE001  # errors of the network come from several libraries
        raise InputError(_describe_error(error), where=where, remedy=f"try again, {local}") from None
    finally:
        logger.setLevel(level)


def _is_hub_reached(repository: str) -> bool:
    """Return whether the hub answers anything; without a network `snapshot_download` would try for half a minute."""
    import huggingface_hub
    from huggingface_hub import errors

    api = huggingface_hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, library_name="howsure")
    try:
        api.dataset_info(repository, timeout=_TIMEOUT_OF_HUB)
    except (errors.HfHubHTTPError, errors.OfflineModeIsEnabled):
        return True  # `snapshot_download` meets it again, and its error is described
    except Exception:  # noqa: BLE001  # version 1 of huggingface_hub raises errors of httpx, version 2 those of httpx2
        return False
    return True


def _describe_error(error: Any) -> str:
    """Return what went wrong in a download: the status of the hub, or the first line of the error."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status == 429:
        return "the hub limits requests (429)"
    lines = str(error).strip().splitlines()
    first = lines[0][:200] if lines else type(error).__name__
    return f"the hub answered {status}" if status else f"the download failed: {first}"


def _place_of_address(source: DataSource) -> Path:
    """Return where the file of an address is cached."""
    return locate_cache() / "files" / source.sha256[:16] / source.url.rpartition("/")[2]


def _fetch_address(name: str, source: DataSource) -> Path:
    """Return the file of an address, fetched unless it is in the cache; its hash is checked each time."""
    place = _place_of_address(source)
    where = f"benchmark {name}, {source.url}"
    remedy = f"try again, or give a folder with it: {{name: {name}, path: FOLDER}}"
    content = place.read_bytes() if place.is_file() else b""
    if hashlib.sha256(content).hexdigest() == source.sha256:
        return place
    mirror = os.environ.get("HOWSURE_MIRROR", "").rstrip("/")
    address = f"{mirror}/{place.name}" if mirror else source.url
    try:
        with urllib.request.urlopen(  # noqa: S310  # any scheme is harmless: only content with the published hash is kept
            address, timeout=_TIMEOUT
        ) as reply:
            content = reply.read(_MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = f"the server answered {error.code}" if isinstance(error, urllib.error.HTTPError) else str(error)[:200]
        raise InputError(f"it cannot be fetched: {reason}", where=where, remedy=remedy) from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != source.sha256:
        what = f"the file is not the published one: its SHA-256 is {digest[:12]}..., not {source.sha256[:12]}..."
        raise InputError(what, where=where, remedy=remedy)
    place.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(place) as new:
        new.write_bytes(content)
    return place


class _Record(msgspec.Struct, frozen=True):
    """What was fetched of a data set: the revision, and the SHA-256 of each file by its name on the hub."""

    revision: str = ""
    files: dict[str, str] = {}


def _place_of_record(name: str, source: DataSource) -> Path:
    """Return the file with the record of a benchmark."""
    return locate_cache() / "benchmarks" / f"{name}-{source.revision[:12] or 'unpinned'}.json"


def _read_record(name: str, source: DataSource) -> _Record:
    """Return what was fetched of a benchmark; an empty record before that."""
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return msgspec.json.decode(_place_of_record(name, source).read_bytes(), type=_Record)
    return _Record()


def _record_hashes(name: str, source: DataSource, folder: Path, files: Iterable[Path]) -> None:
    """Record the revision and the hashes of files that were fetched; a folder that cannot be written is no error.

    Raises
    ------
    InputError
        When a file is not the one that was fetched first.
    """
    place, before = _place_of_record(name, source), _read_record(name, source)
    hashes = {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    for file, digest in hashes.items():
        if before.files.get(file, digest) != digest:
            what = f"{file} is not the file that was fetched first: its SHA-256 was {before.files[file][:12]}..."
            raise InputError(
                f"{what} and is {digest[:12]}...",
                where=f"benchmark {name}, {source.hub}",
                remedy=f"remove {place} to take the other file",
            )
    # The folder of a snapshot is named after its commit.
    record = _Record(source.revision or before.revision or folder.name, {**before.files, **hashes})
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(place) as new:
            new.write_bytes(msgspec.json.format(msgspec.json.encode(record)))
