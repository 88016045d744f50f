"""The program inside the sandbox: it runs the code of a completion, or the tests of a question, and nothing else.

Two processes run it, each in a sandbox of its own. The *candidate* executes the code of a completion. The *tester*
executes the tests; a function of the candidate is a `RemoteObject` there, and a call of it sends the arguments to the
candidate and gets the result back. Only plain data pass between them: numbers, texts, lists, dictionaries, sets. So the
code under test meets neither the tests nor the expected results, and an object of its own cannot claim to be equal to
them. Only the tester can write the verdict.

The file imports the standard library only, because the sandbox has no package howsure.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import collections
import contextlib
import ctypes
import decimal
import fractions
import json
import os
import platform
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Message = dict[str, Any]
"""A JSON object that one process sends to another."""

#: Longest message, in bytes.
LONGEST_MESSAGE = 8 << 20
_SIZE = struct.Struct(">I")
#: Most items that are read from an iterator of the candidate.
_MOST_ITEMS = 1_000_000


class BrokenChannelError(Exception):
    """The other process has ended, or sent what is no message."""


class Channel:
    """Messages to and from the other process over a socket, each a JSON value behind its length."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, message: object) -> None:
        """Send one message.

        Raises
        ------
        ValueError
            When it is too long.
        BrokenChannelError
            When the other process has ended.
        """
        content = json.dumps(message).encode()
        if len(content) > LONGEST_MESSAGE:
            raise ValueError(f"a value of {len(content):,} bytes is too large")
        try:
            self._connection.sendall(_SIZE.pack(len(content)) + content)
        except OSError:
            raise BrokenChannelError("the other process has ended") from None

    def receive(self) -> Message:
        """Return the next message.

        Raises
        ------
        BrokenChannelError
            When the other process has ended, or what it sent is no message.
        """
        (size,) = _SIZE.unpack(self._read(_SIZE.size))
        if size > LONGEST_MESSAGE:
            raise BrokenChannelError("the message is too long")
        try:
            message = json.loads(self._read(size))
        except (ValueError, RecursionError):
            raise BrokenChannelError("the message cannot be read") from None
        if not isinstance(message, dict):
            raise BrokenChannelError("the message is of another form")
        return message

    def _read(self, size: int) -> bytes:
        """Return so many bytes."""
        parts = []
        while size:
            try:
                part = self._connection.recv(min(size, 1 << 20))
            except OSError:
                part = b""
            if not part:
                raise BrokenChannelError("the other process has ended")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def encode_value(value: object, keep: Callable[[object], int]) -> object:
    """Return a value as JSON: plain data by their content, and every other object by a number.

    Parameters
    ----------
    value
        Any object. Subclasses of plain types are written as those, so that their own methods do not count.
    keep
        Function that stores an object that is no plain data, and returns its number.

    >>> encode_value((1, {"a": b"x"}), id)
    {'tuple': [1, {'dict': [['a', {'bytes': '78'}]]}]}
    """
    if value is None or isinstance(value, bool):
        return value
    for plain, write in _BARE.items():
        if isinstance(value, plain):
            return write(value)
    for name, iterable in _ITERABLES.items():
        if isinstance(value, iterable):
            items = [encode_value(item, keep) for item in iterable.__iter__(value)]
            return items if name == "list" else {name: items}
    if isinstance(value, dict):
        pairs = dict.items(value)
        return {"dict": [[encode_value(key, keep), encode_value(item, keep)] for key, item in pairs]}
    kind = type(value)
    if kind.__module__ == "numpy":
        return _encode_numpy(value, keep)
    return {kind.__name__: _WRITERS[kind](value)} if kind in _WRITERS else {"object": keep(value)}


#: Plain types, and what writes them: methods of these types, since a subclass may have others.
_BARE: dict[type, Callable[[Any], object]] = {int: int.__int__, float: float.__float__, str: str.__str__}
_ITERABLES: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "frozenset": frozenset,
    "set": set,
    "deque": collections.deque,
}
_WRITERS: dict[type, Callable[[Any], object]] = {
    bytes: bytes.hex,
    bytearray: bytearray.hex,
    complex: lambda value: [value.real, value.imag],
    decimal.Decimal: str,
    fractions.Fraction: str,
    range: lambda value: [value.start, value.stop, value.step],
}
_READERS: dict[str, Callable[[Any], object]] = {
    "bytes": bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "complex": lambda content: complex(*content),
    "Decimal": decimal.Decimal,
    "Fraction": fractions.Fraction,
    "range": lambda content: range(*content),
}


def _encode_numpy(value: Any, keep: Callable[[object], int]) -> object:
    """Return a number of numpy as a plain one, and an array by its type and its list."""
    import numpy as np

    if type(value) is np.ndarray and value.dtype.kind in "biufc":
        return {"array": [value.dtype.str, encode_value(value.tolist(), keep)]}
    if isinstance(value, np.bool_ | np.number):
        return encode_value(value.item(), keep) if type(value.item()).__module__ != "numpy" else float(value)
    return {"object": keep(value)}


def decode_value(content: object, find: Callable[[int], object]) -> object:
    """Return the value that `encode_value` wrote.

    Parameters
    ----------
    content
        A JSON value.
    find
        Function from the number of an object to the object.

    Raises
    ------
    BrokenChannelError
        When the content has another form.

    >>> decode_value(json.loads('{"tuple": [1, {"set": [2]}]}'), id)
    (1, {2})
    """
    try:
        return _decode(content, find)
    except (TypeError, ValueError, KeyError, IndexError, ArithmeticError, RecursionError, AttributeError) as error:
        raise BrokenChannelError(f"a value cannot be read: {error}") from None


def _decode(content: Any, find: Callable[[int], object]) -> object:  # noqa: PLR0911  # one for each kind
    """Return the value that a JSON value stands for."""
    if isinstance(content, list):
        return [_decode(item, find) for item in content]
    if not isinstance(content, dict):
        return content
    ((name, inner),) = content.items()
    if name in _ITERABLES:
        return _ITERABLES[name](_decode(item, find) for item in inner)
    if name == "dict":
        return {_decode(key, find): _decode(item, find) for key, item in inner}
    if name in _READERS:
        return _READERS[name](inner)
    if name == "array":
        import numpy as np

        if np.dtype(inner[0]).kind not in "biufc":
            raise ValueError("the array holds no numbers")
        return np.array(_decode(inner[1], find), dtype=inner[0])
    if name == "object":
        return find(inner)
    raise ValueError(f"unknown kind {name!r}")


class RemoteObject:
    """A function or another object of the candidate, as the tester has it: it can be called, read and iterated over.

    It is equal to itself only, whatever the candidate's own object says.
    """

    def __init__(self, channel: Channel, number: int) -> None:
        self._channel, self._number = channel, number

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Return the result of the candidate's function; lists that it changed are changed here too."""
        message = {
            "call": self._number,
            "args": [encode_value(value, _find_number) for value in args],
            "kwargs": {name: encode_value(value, _find_number) for name, value in kwargs.items()},
        }
        reply = self._exchange(message)
        for place, content in reply.get("changed", {}).items():
            _change_in_place(args[int(place)], decode_value(content, self._find))
        return decode_value(reply["value"], self._find)

    def __getattr__(self, name: str) -> object:
        """Return an attribute of the candidate's object; one with an underscore in front does not exist."""
        if name.startswith("_"):
            raise AttributeError(name)
        return decode_value(self._exchange({"attribute": self._number, "name": name})["value"], self._find)

    def __iter__(self) -> Iterator[object]:
        """Return an iterator over what the candidate's object gives."""
        items = decode_value(self._exchange({"items": self._number})["value"], self._find)
        if not isinstance(items, list):
            raise BrokenChannelError("the items are no list")
        return iter(items)

    def _exchange(self, message: dict[str, object]) -> dict[str, Any]:
        """Return the reply of the candidate; raise its exception, if it is one of Python, under the same name."""
        self._channel.send(message)
        reply = self._channel.receive()
        if "raised" in reply:
            name, text = map(str, reply["raised"])
            kind = getattr(builtins, name, None)
            if isinstance(kind, type) and issubclass(kind, Exception):
                try:
                    error = kind(text)
                except TypeError:  # a few need other arguments than a text
                    error = RuntimeError(f"{name}: {text}")
                raise error
            raise RuntimeError(f"{name}: {text}")
        if "value" not in reply:
            raise BrokenChannelError("the reply has no value")
        return reply

    def _find(self, number: int) -> object:
        """Return the object of the candidate with a number."""
        return RemoteObject(self._channel, int(number))


def _find_number(value: object) -> int:
    """Return the number of an object of the candidate; other objects of the tests cannot be sent."""
    if isinstance(value, RemoteObject):
        return value._number  # noqa: SLF001  # the number is for this module only
    raise TypeError(f"an argument of type {type(value).__name__} cannot be sent to the code under test")


def _change_in_place(target: Any, value: Any) -> None:
    """Give a list, dictionary or set of the tests the content that the candidate gave it."""
    if isinstance(target, list) and isinstance(value, list):
        target[:] = value
    elif isinstance(target, dict | set) and type(target) is type(value):
        target.clear()
        target.update(value)


def serve_candidate(job: Message, channel: Channel) -> None:
    """Execute the code of a completion, and answer the calls of the tester until the tester ends.

    Parameters
    ----------
    job
        `code`, and the `names` that the tests use.
    channel
        To the tester.
    """
    namespace: dict[str, object] = {"__name__": "candidate", "__builtins__": builtins}
    error = run_statements(str(job["code"]), namespace)
    objects: list[object] = [namespace.get(name) for name in job["names"]]
    start = {"defined": [name for name in job["names"] if name in namespace], "error": error}

    def keep(value: object) -> int:
        objects.append(value)
        return len(objects) - 1

    with contextlib.suppress(BrokenChannelError):
        channel.send(start)
        while True:
            message = channel.receive()
            reply: Mapping[str, object]
            try:
                reply = _answer(message, objects, keep)
            except BaseException as raised:  # noqa: BLE001  # code under test may raise anything, also SystemExit
                reply = _describe_exception(raised)
            try:
                channel.send(reply)
            except (ValueError, RecursionError, TypeError, MemoryError) as failure:
                channel.send(_describe_exception(failure))


def _describe_exception(error: BaseException) -> dict[str, list[str]]:
    """Return the reply for an exception of the code under test."""
    try:
        text = str(error)[:300]
    except BaseException:  # noqa: BLE001  # an exception of the code may have any methods
        text = ""
    return {"raised": [type(error).__name__, text]}


def _answer(message: Mapping[str, Any], objects: list[object], keep: Callable[[object], int]) -> dict[str, object]:
    """Return the reply to a call, or to a question for an attribute or for items."""
    find = objects.__getitem__
    if "attribute" in message:
        return {"value": encode_value(getattr(find(message["attribute"]), message["name"]), keep)}
    if "items" in message:
        items = [item for item, _ in zip(find(message["items"]), range(_MOST_ITEMS), strict=False)]
        return {"value": encode_value(items, keep)}
    args = [decode_value(value, find) for value in message["args"]]
    kwargs = {name: decode_value(value, find) for name, value in message["kwargs"].items()}
    function: Any = find(message["call"])
    value = encode_value(function(*args, **kwargs), keep)
    changed = {
        str(place): content
        for place, arg in enumerate(args)
        if isinstance(arg, list | dict | set) and (content := encode_value(arg, keep)) != message["args"][place]
    }
    return {"value": value, "changed": changed} if changed else {"value": value}


def run_statements(code: str, namespace: dict[str, object]) -> str | None:
    r"""Execute the statements of a program one by one, and return the first error.

    A statement that fails does not keep the next ones from running, so that a function counts although an example
    below it reads from a keyboard or fails.

    >>> run_statements("def f(): return 1\nprint(1 / 0)", {})
    'ZeroDivisionError: division by zero'
    """
    error = None
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as failure:
        return f"{type(failure).__name__}: {failure}"
    flags = 0
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
        try:
            exec(  # noqa: S102  # this is what the sandbox is for
                compile(ast.Module([statement], []), "<code>", "exec", flags=flags, dont_inherit=True), namespace
            )
        except BaseException as failure:  # noqa: BLE001  # code under test may raise anything, also SystemExit
            error = error or ": ".join(map(str, _describe_exception(failure)["raised"]))
    return error


def run_tests(job: Message, channel: Channel) -> dict[str, object]:
    """Return the verdict of the tests on the candidate.

    Parameters
    ----------
    job
        `prelude`, a program that defines what the tests use; `names` of the candidate; and `tests`, a program that
        raises an exception when a test fails.
    channel
        To the candidate.

    Returns
    -------
    dict
        `passed`, and otherwise `error` with the exception, or the reason why the candidate could not be called.
    """
    namespace: dict[str, object] = {"__name__": "tests", "__builtins__": builtins}
    try:
        exec(compile(job["prelude"], "<prelude>", "exec", dont_inherit=True), namespace)  # noqa: S102  # for the sandbox
        program = compile(job["tests"], "<tests>", "exec", dont_inherit=True)
    except Exception as error:  # noqa: BLE001  # a test that cannot be run says nothing about the completion
        return {"passed": False, "unusable": f"{type(error).__name__}: {error}"[:300]}
    try:
        start = channel.receive()
        defined = start.get("defined")
        for number, name in enumerate(job["names"]):
            if isinstance(defined, list) and name in defined:
                namespace[name] = RemoteObject(channel, number)
            else:
                namespace.pop(name, None)
                if start.get("error"):
                    return {"passed": False, "error": str(start["error"])[:300]}
        exec(program, namespace)  # noqa: S102  # this is what the sandbox is for
    except BrokenChannelError as error:
        return {"passed": False, "error": f"ended: {error}"}
    except BaseException as error:  # noqa: BLE001  # a test may end with any exception, also SystemExit
        return {"passed": False, "error": f"{type(error).__name__}: {error}"[:300]}
    return {"passed": True}


def set_limits(limits: Mapping[str, int]) -> None:
    """Set the limits of this process: seconds of processor time, bytes of memory and files, open files, processes."""
    import resource

    sys.set_int_max_str_digits(0)
    for name, value in limits.items():
        hard = value + 1 if name == "RLIMIT_CPU" else value
        resource.setrlimit(getattr(resource, name), (value, hard))


#: Calls of the system that code under test has no need of, with their numbers on x86-64 (Linux, syscall_64.tbl).
_DENIED = {
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "fork": 57,
    "vfork": 58,
    "setpgid": 109,
    "unshare": 272,
    "setns": 308,
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "chroot": 161,
    "kill": 62,
    "tkill": 200,
    "pidfd_open": 434,
    "pidfd_send_signal": 424,
    "pidfd_getfd": 438,
    "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297,
    "socket": 41,
    "bpf": 321,
    "perf_event_open": 298,
    "keyctl": 250,
    "add_key": 248,
    "request_key": 249,
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "init_module": 175,
    "finit_module": 313,
    "delete_module": 176,
    "kexec_load": 246,
    "kexec_file_load": 320,
    "reboot": 169,
    "swapon": 167,
    "swapoff": 168,
    "open_by_handle_at": 304,
    "name_to_handle_at": 303,
    "execve": 59,
    "execveat": 322,
    "shmget": 29,
    "msgget": 68,
    "semget": 64,
    "mq_open": 240,
    "memfd_create": 319,
    "setrlimit": 160,
    "mount_setattr": 442,
    "move_mount": 429,
    "open_tree": 428,
    "fsopen": 430,
    "setsid": 112,
}
_CLONE, _CLONE3, _TGKILL, _PRLIMIT, _PRCTL, _FCNTL = 56, 435, 234, 302, 157, 72
_ARCHITECTURE, _X32 = 0xC000003E, 0x40000000
_ALLOW, _REFUSE, _END, _MISSING = 0x7FFF0000, 0x00050001, 0x80000000, 0x00050026


def build_filter(process: int) -> bytes:
    """Return the program of a seccomp filter that refuses the calls of `_DENIED`, new processes and new limits.

    Notes
    -----
    An instruction is (code, jump if true, jump if false, value): 0x20 loads a word of the call (0 its number, 4 the
    architecture, 16 + 8 i the argument i), 0x15 compares it, 0x35 is "at least", 0x45 tests bits, 0x06 returns.
    """
    load, equal, at_least, has_bits, give = 0x20, 0x15, 0x35, 0x45, 0x06
    program = [(load, 0, 0, 4), (equal, 1, 0, _ARCHITECTURE), (give, 0, 0, _END)]
    program += [(load, 0, 0, 0), (at_least, 0, 1, _X32), (give, 0, 0, _END)]
    for number in _DENIED.values():
        program += [(equal, 0, 1, number), (give, 0, 0, _REFUSE)]
    # Without clone3 the C library falls back to clone, whose flags (the first argument) a filter can read.
    program += [(equal, 0, 1, _CLONE3), (give, 0, 0, _MISSING)]
    program += [(equal, 0, 4, _CLONE), (load, 0, 0, 16), (has_bits, 0, 1, 0x10000), (give, 0, 0, _ALLOW)]
    program += [(give, 0, 0, _REFUSE)]
    program += [(equal, 0, 4, _TGKILL), (load, 0, 0, 16), (equal, 0, 1, process), (give, 0, 0, _ALLOW)]
    program += [(give, 0, 0, _REFUSE)]
    # Its parent's end is its own (PR_SET_PDEATHSIG); no signal of a file goes to another (F_SETOWN, F_SETSIG).
    program += [(equal, 0, 4, _PRCTL), (load, 0, 0, 16), (equal, 0, 1, 1), (give, 0, 0, _REFUSE), (give, 0, 0, _ALLOW)]
    program += [(equal, 0, 6, _FCNTL), (load, 0, 0, 24), (equal, 2, 0, 8), (equal, 1, 0, 10), (equal, 0, 1, 15)]
    program += [(give, 0, 0, _REFUSE), (give, 0, 0, _ALLOW)]
    # The new limit of prlimit64 is its third argument; 0 only reads.
    program += [(equal, 0, 6, _PRLIMIT), (load, 0, 0, 32), (equal, 0, 3, 0), (load, 0, 0, 36), (equal, 0, 1, 0)]
    program += [(give, 0, 0, _ALLOW), (give, 0, 0, _REFUSE)]
    program += [(give, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def filter_calls() -> bool:
    """Refuse calls of the system for the rest of this process; return False where no filter can be set."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    program = build_filter(os.getpid())
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    if library.prctl(no_new_privileges, 1, 0, 0, 0):
        return False
    return bool(library.prctl(set_seccomp, filter_mode, ctypes.create_string_buffer(header, len(header)), 0, 0) == 0)


def main(arguments: Sequence[str]) -> None:  # pragma: no cover  in the sandbox, where nothing is measured
    """Run one job as the candidate or the tester: role, number of the channel's file, settings as JSON."""
    role, descriptor, settings = arguments[0], int(arguments[1]), json.loads(arguments[2])
    sys.path += settings["path"]
    channel = Channel(socket.socket(fileno=descriptor))
    verdicts = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # end with the process that started this one
    set_limits(settings["limits"])
    filter_calls()
    is_tester = role == "tester"
    if is_tester:
        # Only the tester can reach the host: it says when both processes have started.
        if channel.receive() == {"started": True}:
            print(json.dumps({"started": True}), file=verdicts, flush=True)
    else:
        verdicts.close()
        channel.send({"started": True})
    job = json.loads(sys.stdin.buffer.read())
    os.dup2(null, 0)
    if is_tester:
        print(json.dumps(run_tests(job, channel)), file=verdicts, flush=True)
    else:
        sys.modules.pop("__main__")  # the code under test has its own
        serve_candidate(job, channel)
    os._exit(0)


if __name__ == "__main__":  # pragma: no cover  in the sandbox
    main(sys.argv[1:])
