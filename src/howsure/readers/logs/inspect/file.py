"""An Inspect log as it lies, finished or not; .eval and .json alike.

An `.eval` file is a zip: `header.json` and `summaries.json` are written at its end, `_journal/start.json` and
`_journal/summaries/*.json` while it runs, `samples/ID_epoch_N.json` hold everything. A `.json` log is one object.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.file_head import FileHead, open_file
from howsure.readers.logs.inspect.records import Header, Key, Summary, decode
from howsure.readers.logs.inspect.zipped import Zipped

__all__ = ["Log", "open_log"]

T = TypeVar("T")
_JOURNAL = re.compile(r"_journal/summaries/(\d+)\.json")


class _Whole(Header):
    samples: list[msgspec.Raw] | None = None


class Log(ABC):
    """An opened log.

    Attributes
    ----------
    header
        Everything but the samples.
    keys
        The samples, in the order in which they ended.
    told
        What is damaged or lost, one line each.
    repeated, lost
        Samples that are there twice; and damaged ones of which nothing is left.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[str] = []
        self.header: Header
        self.keys: dict[Key, Summary] = {}
        self.repeated = self.lost = 0
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closing.close()

    @abstractmethod
    def whole(self, key: Key) -> bytes | msgspec.Raw | None:
        """A sample as JSON, or None where it is lost."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """The header as it is written."""

    def read(self, key: Key, shape: type[T]) -> T | None:
        """A whole sample, or None where it is lost or damaged."""
        try:
            data = self.whole(key)
            return None if data is None else decode(data, shape)
        except (InputError, ValueError):
            return None

    def _keep(self, summary: Summary) -> None:
        """The last of a key is the one that counts, and stands where the first did."""
        self.repeated += summary.key in self.keys
        self.keys[summary.key] = summary


class Document(Log):
    """A `.json` log: one object."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            with open_file(path) as file:
                self._data = file.read()
            self.header = whole = decode(self._data, _Whole)
        except (OSError, EOFError, ValueError) as error:
            raise _unreadable(path, error) from error
        self._samples: dict[Key, msgspec.Raw] = {}
        for data in whole.samples or ():
            try:
                summary = decode(data, Summary)
            except ValueError:
                self.lost += 1
                continue
            self._keep(summary)
            self._samples[summary.key] = data

    def whole(self, key: Key) -> msgspec.Raw:
        """A sample as JSON."""
        return self._samples[key]

    def fields(self) -> dict[str, Any]:
        """The header as it is written."""
        return {"eval": decode(decode(self._data, dict[str, msgspec.Raw])["eval"], dict[str, Any])}


class Archive(Log):
    """An `.eval` log: a zip file, finished or not."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._zip = self._closing.enter_context(Zipped(path))
        try:
            self._header()
            self._summaries()
            self._members()
        except BaseException:
            self._closing.close()
            raise
        if self._zip.recovered:
            self.told.append("the end of the file is lost, and what it listed was looked for: some samples may be gone")

    def whole(self, key: Key) -> bytes | None:
        """A sample as JSON."""
        name = self._names.get(key)
        return None if name is None else self._zip.read(name)

    def fields(self) -> dict[str, Any]:
        """The header as it is written."""
        return decode(self._head, dict[str, Any])

    def _header(self) -> None:
        fault: Exception | None = None
        for name in ("header.json", "_journal/start.json"):
            if name in self._zip:
                try:
                    self._head = self._zip.read(name)
                    self.header = decode(self._head, Header)
                except (InputError, ValueError) as error:
                    fault = error
                    continue
                if fault is not None:
                    self.told.append("the header is damaged: how the run ended is lost")
                return
        raise _unreadable(self.path, fault or ValueError("there is no header"))

    def _summaries(self) -> None:
        """From the list at the end, or else from the journal; whoever is in neither is found by `_members`."""
        if not self._summaries_of("summaries.json"):
            found = [match for match in map(_JOURNAL.fullmatch, self._zip.names) if match]
            for match in sorted(found, key=lambda match: int(match[1])):
                self._summaries_of(match[0])

    def _summaries_of(self, name: str) -> bool:
        if name not in self._zip:
            return False
        try:
            data = self._zip.read(name)
            for summary in decode(data, list[Summary]):
                self._keep(summary)
        except (InputError, ValueError):
            return False
        return True

    def _members(self) -> None:
        written = {f"samples/{key[0]}_epoch_{key[1]}.json": key for key in self.keys}
        self._names: dict[Key, str] = {}
        for name in self._sample_names():
            key = written.get(name)
            if key is None:
                try:
                    summary = decode(self._zip.read(name), Summary)
                except (InputError, ValueError):
                    self.lost += 1
                    continue
                key = summary.key
                self._keep(summary)
            self._names[key] = name
        self.repeated = max(self.repeated, sum(name.startswith("samples/") for name in self._zip.replaced))

    def _sample_names(self) -> Iterator[str]:
        return (name for name in self._zip.names if name.startswith("samples/") and name.endswith(".json"))


def open_log(path: Path) -> Log:
    """The log at a path, by what it holds.

    Raises
    ------
    InputError
        When neither its header nor what was noted at its start can be read.
    """
    return Archive(path) if FileHead(path).kind == "zip" else Document(path)


def _unreadable(path: Path, error: Exception) -> InputError:
    what = error.what if isinstance(error, InputError) else " ".join(str(error).split())[:120]
    return InputError(f"the header cannot be read: {what}", where=str(path), remedy="is the file whole?")
