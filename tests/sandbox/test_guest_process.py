"""The program inside the sandbox, run here by two threads: values, replies and the filter of system calls."""

from __future__ import annotations

import json
import socket
import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.sandbox.guest_process import (
    LONGEST_MESSAGE,
    BrokenChannelError,
    Channel,
    RemoteObject,
    build_filter,
    decode_value,
    encode_value,
    run_statements,
    run_tests,
    serve_candidate,
)

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.sets(st.integers())
    ),
    max_leaves=20,
)


def refuse(value):
    raise TypeError(f"{value} is no plain data")


def judge(code, tests, names=("f",), prelude=""):
    """Return the verdict of tests on code, both run by threads of this process."""
    here, there = socket.socketpair()
    with here, there:
        job = {"code": code, "tests": tests, "names": list(names), "prelude": prelude}
        candidate = threading.Thread(target=serve_candidate, args=(job, Channel(there)))
        candidate.start()
        verdict = run_tests(job, Channel(here))
        here.shutdown(socket.SHUT_RDWR)
        candidate.join(10)
        assert not candidate.is_alive()
    return verdict


@given(PLAIN)
def test_plain_values_come_through_json_as_they_are(value):
    content = json.loads(json.dumps(encode_value(value, refuse)))
    decoded = decode_value(content, refuse)
    assert decoded == value
    assert type(decoded) is type(value)


def test_subclasses_are_written_as_what_they_are_made_of():
    class Number(int):
        def __eq__(self, other):
            return True

        def __int__(self):
            return 99

        __hash__ = int.__hash__

    class Text(str):
        __slots__ = ()

        def __str__(self):
            return "other"

    assert encode_value(Number(3), refuse) == 3
    assert type(encode_value(Number(3), refuse)) is int
    assert encode_value(Text("own"), refuse) == "own"
    assert encode_value(object(), lambda _: 7) == {"object": 7}


@pytest.mark.parametrize(
    "content",
    [
        {"unknown": 1},
        {"set": [[1]]},
        {"tuple": 3},
        {"dict": [1]},
        {"bytes": "xy"},
        {"range": [1, 2, 0]},
        {"array": ["O", [1]]},
        {"array": ["<f8", "a"]},
        {"Fraction": "1/0"},
        {"a": 1, "b": 2},
        {},
    ],
)
def test_content_of_another_form_is_refused(content):
    with pytest.raises(BrokenChannelError):
        decode_value(content, refuse)


@pytest.mark.parametrize(
    ("code", "tests", "expected"),
    [
        ("def f(x): return x + 1", "assert f(1) == 2", {"passed": True}),
        ("def f(x): return x", "assert f(1) == 2, 'no'", {"passed": False, "error": "AssertionError: no"}),
        ("def f(x): return x", "raise SystemExit(0)", {"passed": False, "error": "SystemExit: 0"}),
        ("def f(x): raise KeyError(x)", "f(1)", {"passed": False, "error": "KeyError: '1'"}),
        ("def f(x): raise SystemExit(0)", "f(1)", {"passed": False, "error": "RuntimeError: SystemExit: 0"}),
        ("class E(Exception): pass\ndef f(x): raise E('a')", "f(1)", {"passed": False, "error": "RuntimeError: E: a"}),
        ("def f(x): return UnicodeDecodeError", "f(1)()", {"passed": False}),
        ("x = 1", "f(1)", {"passed": False, "error": "NameError: name 'f' is not defined"}),
        ("1 / 0", "f(1)", {"passed": False, "error": "ZeroDivisionError: division by zero"}),
        ("def f(", "f(1)", {"passed": False}),
        ("def f(x): return 3", "for _ in f(1): pass", {"passed": False}),
        ("def f(x): return object()", "f(1).no", {"passed": False}),
        ("def f(x): return object()", "f(1)._channel", {"passed": True}),
        ("def f(x): return object()", "f(1).__len__", {"passed": False}),
        ("def f(x): return 3", "f(print)", {"passed": False}),
        ("def f(x): return 'x' * (9 << 20)", "f(1)", {"passed": False}),
        ("def f(x): x[1] = 2\ndef g(x): x.add(5)", "a = {}; f(a); b = {1}; g(b); assert a == {1: 2} and b == {1, 5}", {"passed": True}),
        ("from __future__ import annotations\ndef f(x: No) -> Such: return x", "f(1)", {"passed": True}),
    ],
)  # fmt: skip
def test_verdicts(code, tests, expected):
    verdict = judge(code, tests, ("f", "g") if "def g" in code else ("f",))
    assert {key: verdict[key] for key in expected} == expected


def test_tests_that_cannot_be_run_are_unusable():
    assert "unusable" in judge("def f(x): return x", "assert (")
    assert "unusable" in judge("def f(x): return x", "pass", prelude="1 / 0")


def test_an_exception_without_a_text_has_its_name():
    code = "class E(Exception):\n    def __str__(self): raise ValueError\ndef f(x): raise E"
    assert judge(code, "f(1)")["error"] == "RuntimeError: E: "
    assert run_statements("raise SystemExit(3)", {}) == "SystemExit: 3"
    assert run_statements("(" * 1000, {}) is not None


@pytest.mark.parametrize(
    "sent",
    [b"", b"\0\0", struct.pack(">I", 5) + b"abc", struct.pack(">I", LONGEST_MESSAGE + 1), struct.pack(">I", 2) + b"[]", struct.pack(">I", 2) + b"\xff["],
)  # fmt: skip
def test_what_is_no_message_breaks_the_channel(sent):
    here, there = socket.socketpair()
    with here:
        there.sendall(sent)
        there.close()
        with pytest.raises(BrokenChannelError):
            Channel(here).receive()
        with pytest.raises(BrokenChannelError):
            Channel(here).send({"a": "x" * 1_000_000})


@pytest.mark.parametrize("reply", [{}, {"value": {"no": 1}}, {"value": 3, "changed": {"0": {"no": 1}}}])
def test_replies_of_another_form_break_the_channel(reply):
    here, there = socket.socketpair()
    with here, there:
        Channel(there).send(reply)
        with pytest.raises(BrokenChannelError):
            RemoteObject(Channel(here), 0)([1])


def decide(program, number, *args, architecture=0xC000003E):
    """Return what a filter says about a call: a slow reading of its instructions (linux/filter.h)."""
    words = {0: number, 4: architecture}
    for place, arg in enumerate(args):
        words[16 + 8 * place], words[20 + 8 * place] = arg & 0xFFFFFFFF, arg >> 32
    instructions = list(struct.iter_unpack("=HBBI", program))
    place = value = 0
    while True:
        code, if_true, if_false, operand = instructions[place]
        place += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            value = words.get(operand, 0)
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
            place += if_true if holds else if_false


def test_the_filter_refuses_what_reaches_out_and_allows_the_rest():
    allow, refuse_call, kill = 0x7FFF0000, 0x00050001, 0x80000000
    program = build_filter(1234)
    assert [decide(program, number) for number in (0, 1, 9, 12, 202, 231, 60, 39)] == [allow] * 8
    assert [decide(program, number) for number in (57, 59, 101, 41, 62, 200, 272, 322)] == [refuse_call] * 8
    assert decide(program, 1, architecture=0x40000003) == kill  # calls of 32 bits
    assert decide(program, 0x40000001) == kill  # x32
    assert decide(program, 56, 0x11) == refuse_call  # clone of a process
    assert decide(program, 56, 0x3D0F00) == allow  # clone of a thread
    assert decide(program, 435) == 0x00050026  # clone3 is missing
    assert decide(program, 109, 0, 0) == refuse_call  # a group of its own
    assert [decide(program, 157, one, 0) for one in (1, 15)] == [refuse_call, allow]  # outliving its parent, a name
    asked = [decide(program, 72, 3, one) for one in (8, 10, 15, 1, 3)]  # signals of files for another, flags
    assert asked == [refuse_call] * 3 + [allow] * 2
    assert decide(program, 234, 1234) == allow
    assert decide(program, 234, 1) == refuse_call
    assert decide(program, 302, 0, 7, 0) == allow
    assert [decide(program, 302, 0, 7, pointer) for pointer in (1, 1 << 32, (1 << 32) + 1)] == [refuse_call] * 3
