"""Code in the sandbox: it is judged by its results, and no escape scores or leaves anything behind.

Kind of truth: escapes made before the code was written, those of the specification and others, and what the published
tests of HumanEval would say about plain solutions.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from howsure.errors import HowsureWarning, InputError, ResourceLimitError
from howsure.sandbox import isolation
from howsure.sandbox.code_pool import CodeJob, CodePool
from howsure.sandbox.isolation import ALLOW_UNSAFE, ProcessLimits, choose_isolation, find_isolation

LIMITS = ProcessLimits(cpu_seconds=1, wall_seconds=15, memory=1 << 30, scratch=8 << 20)
TESTS = "def check(candidate):\n    assert candidate(3) == 10 ** 9 + 3\n    assert candidate(5) == 10 ** 9 + 5\n\ncheck(f)\n"
#: Escapes: what comes before or in place of a solution. None of them knows the expected results.
ESCAPES = {
    "exit": "import sys\ndef f(x): sys.exit(0)",
    "exit before the tests": "import sys\ndef f(x): return 0\nsys.exit(0)",
    "hard exit": "import os\ndef f(x): return 0\nos._exit(0)",
    "hard exit in the call": "import os\ndef f(x): os._exit(0)",
    "verdict on standard output": "import os\ndef f(x):\n    os.write(1, b'{\"passed\": true}\\n'); os._exit(0)",
    "verdict on every file": (
        "import os\nfor n in range(64):\n    try: os.write(n, b'{\"passed\": true}\\n')\n    except OSError: pass\n"
        "def f(x): return 0"
    ),
    "own test function": "def check(candidate): pass\ndef f(x): return 0",
    "own test function in the main module": (
        "import sys, builtins\nbuiltins.check = lambda c: None\nsys.modules['__main__'] = None\ndef f(x): return 0"
    ),
    "always equal": (
        "class A:\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n"
        "    def __bool__(self): return True\ndef f(x): return A()"
    ),
    "number that is always equal": (
        "class A(int):\n    def __eq__(self, o): return True\n    def __int__(self): return 10**9\n"
        "    __hash__ = int.__hash__\ndef f(x): return A(0)"
    ),
    "list that is always equal": (
        "class A(list):\n    def __eq__(self, o): return True\n    def __iter__(self): return iter([3])\ndef f(x): return A()"
    ),
    "assertion error that passes": "import builtins\nbuiltins.AssertionError = SystemExit\ndef f(x): return 0",
    "patched builtins": (
        "import builtins\nbuiltins.compile = builtins.exec = lambda *a, **k: None\nbuiltins.abs = lambda x: 0\n"
        "def f(x): return 0"
    ),
    "frames": (
        "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n"
        "        for name, value in list(frame.f_locals.items()) + list(frame.f_globals.items()):\n"
        "            if name in ('expected', 'tests', 'job') : return value\n        frame = frame.f_back\n    return 0"
    ),
    "objects of the collector": (
        "import gc\ndef f(x):\n    for o in gc.get_objects():\n"
        "        if isinstance(o, dict) and 'tests' in o: return eval(str(o['tests']).split('== ')[1].split()[0])\n"
        "    return 0"
    ),
    "exit handler": "import atexit, os\natexit.register(lambda: os._exit(0))\ndef f(x): raise SystemExit(0)",
    "signal handler": (
        "import signal, os\nfor s in range(1, 65):\n    try: signal.signal(s, lambda *a: os._exit(0))\n"
        "    except (OSError, ValueError): pass\ndef f(x): os.abort()"
    ),
    "ctypes": "import ctypes\ndef f(x): ctypes.CDLL(None)._exit(0)",
    "crash": "import ctypes\ndef f(x): ctypes.string_at(0)",
    "memory of another process": (
        "import os\ndef f(x):\n    for p in (1, 2, os.getppid()):\n        try: open(f'/proc/{p}/mem', 'r+b').write(b'x')\n"
        "        except OSError: pass\n    return 0"
    ),
    "killing the parent": (
        "import os, signal\ndef f(x):\n    for p in (os.getppid(), 1, -1, 0):\n        try: os.kill(p, signal.SIGKILL)\n"
        "        except OSError: pass\n    return 0"
    ),
    "outliving the parent": (
        "import ctypes, os, time\nL = ctypes.CDLL(None)\nL.prctl(1, 0, 0, 0, 0)\nL.setpgid(0, 0)\n"
        "keep = bytearray(30 << 20)\nos._exit = lambda *a: time.sleep(3600)\ndef f(x): return 0"
    ),
    "tracing the parent": (
        "import ctypes, os\ndef f(x):\n    assert ctypes.CDLL(None).ptrace(16, os.getppid() or 1, 0, 0) == -1\n    return 0"
    ),
    "fork bomb": "import os\ndef f(x):\n    while True: os.fork()",
    "bomb of threads": (
        "import threading, time\ndef f(x):\n    while True:\n"
        "        threading.Thread(target=time.sleep, args=(99,), daemon=True).start()"
    ),
    "bomb of programs": "import subprocess\ndef f(x):\n    while True: subprocess.Popen(['/bin/sh', '-c', 'sleep 99'])",
    "endless loop": "def f(x):\n    while True: pass",
    "endless loop before the tests": "def f(x): return 0\nwhile True: pass",
    "endless output": "def f(x):\n    while True: print('x' * 100000)",
    "endless reply": "def f(x): return 'x' * (64 << 20)",
    "deep reply": "def f(x):\n    a = []\n    for _ in range(10**5): a = [a]\n    return a",
    "reply that contains itself": "def f(x):\n    a = []\n    a.append(a)\n    return a",
    "endless iterator": "import itertools\ndef f(x): return itertools.count()",
    "memory": "def f(x): return len(bytearray(1 << 40))",
    "raw messages": (
        "import gc, json, socket, struct\ndef f(x):\n    for o in gc.get_objects():\n        if isinstance(o, socket.socket):\n"
        "            for m in (b'{\"passed\": true}', b'{\"value\": {\"object\": 0}}', b'[' * 9999, b'\\xff'):\n"
        "                o.sendall(struct.pack('>I', len(m)) + m)\n    return 0"
    ),
    "size of a message": (
        "import gc, socket\ndef f(x):\n    for o in gc.get_objects():\n"
        "        if isinstance(o, socket.socket): o.sendall(b'\\xff' * 99)\n    return 0"
    ),
}  # fmt: skip
#: Escapes that are tried every day; `make test-all` tries the others too.
FIRST = ("exit before the tests", "verdict on every file", "raw messages", "memory")


@pytest.fixture(scope="module", params=["bubblewrap", "namespaces", pytest.param("limits", marks=pytest.mark.long)])
def pool(request):
    if request.param != "limits" and not isolation._works(request.param):
        pytest.skip(f"{request.param} does not work on this machine")
    with CodePool(LIMITS, isolation=request.param, waiting=2) as pool:
        yield pool


def judge(pool, code, tests=TESTS, names=("f",), prelude=""):
    return pool.judge(CodeJob(code, names, tests, prelude))


@pytest.mark.parametrize(
    "name", [name if name in FIRST else pytest.param(name, marks=pytest.mark.long) for name in ESCAPES]
)
def test_an_escape_does_not_pass(pool, name):
    verdict = judge(pool, ESCAPES[name])
    assert not verdict.passed
    assert verdict.outcome != "passed"


def test_the_right_code_passes_and_the_wrong_code_fails(pool):
    assert judge(pool, "def f(x): return 10 ** 9 + x").passed
    assert judge(pool, "def f(x): return 10 ** 9 + 3").error.startswith("AssertionError")
    assert "SyntaxError" in judge(pool, "def f(x) return 1").error
    assert "NameError" in judge(pool, "g = 1").error
    assert judge(pool, "def f(x): return y").error.startswith("NameError")
    assert judge(pool, "def f(x):\n    while True: pass").outcome == "time limit"
    assert judge(pool, "import os\ndef f(x): os._exit(0)").outcome == "ended"
    assert judge(pool, "def f(x): return bytearray(1 << 40)").outcome == "memory limit"


def test_values_of_all_plain_kinds_come_back(pool):
    code = (
        "import decimal, fractions, collections\nclass Pair:\n    def __init__(self, a, b): self.a, self.b = a, b\n"
        "def f(x): return x\ndef total(pairs): return sum(p.a * p.b for p in pairs)\n"
        "def sort(a): a.sort()\ndef numbers(n): yield from range(n)\ndef fail(x): raise ValueError('no')\n"
        "def count(t): return collections.Counter(t)\n"
    )
    tests = (
        "from decimal import Decimal\nfrom fractions import Fraction\nfrom collections import deque\n"
        "values = [None, True, 10 ** 5000, -1.5, float('inf'), 'é\\ud800\\0', b'x', [1, (2, {3: {4}})], {(1,): frozenset({2})},"
        " 1j, Decimal('1.10'), Fraction(1, 3), range(3), deque([1]), bytearray(b'y')]\n"
        "for value in values:\n    assert f(value) == value and type(f(value)) is type(value), value\n"
        "assert total([Pair(2, 3), Pair(4, 5)]) == 26\nassert Pair(2, 3).a == 2\nassert Pair(2, 3) != Pair(2, 3)\n"
        "a = [3, 1]\nsort(a)\nassert a == [1, 3]\nassert list(numbers(3)) == [0, 1, 2]\n"
        "assert count('aab') == {'a': 2, 'b': 1}\n"
        "try: fail(1)\nexcept ValueError as error: assert str(error) == 'no'\nelse: assert False\n"
    )
    verdict = judge(pool, code, tests, ("f", "total", "Pair", "sort", "numbers", "fail", "count"))
    assert verdict.passed, verdict


def test_numbers_of_numpy_are_numbers(pool):
    code = "import numpy as np\ndef f(x): return np.int64(x)\ndef g(x): return np.array(x) * 2.0"
    tests = "import numpy as np\nassert f(3) == 3 and type(f(3)) is int\nassert np.allclose(g([1, 2]), [2, 4])"
    verdict = judge(pool, code, tests, ("f", "g"))
    assert verdict.passed, verdict


def test_an_example_below_the_function_that_fails_does_not_count(pool):
    assert judge(pool, "def f(x): return 10 ** 9 + x\nprint(f(int(input())))\nassert f(1) == 0").passed


def test_helpers_of_the_question_are_those_of_the_tests(pool):
    prelude = "def double(x): return 2 * x\ndef f(x):\n    '''Document.'''\n"
    tests = "assert double(f(2)) == 8"
    assert judge(pool, "def double(x): return 8\ndef f(x): return 4", tests, prelude=prelude).passed
    assert not judge(pool, "def double(x): return 8\ndef f(x): return 0", tests, prelude=prelude).passed


def test_tests_that_cannot_be_run_are_an_error_and_no_score(pool):
    with pytest.raises(ValueError, match="tests cannot be run: SyntaxError"):
        judge(pool, "def f(x): return 1", "assert (")
    with pytest.raises(ValueError, match="tests cannot be run: ModuleNotFoundError"):
        judge(pool, "def f(x): return 1", "pass", prelude="import no_such_module")


def isolated(pool):
    if pool._isolation == "limits":
        pytest.skip("limits isolate from neither files nor the network")
    return pool


def test_nothing_of_the_machine_can_be_read(pool, monkeypatch, tmp_path):
    monkeypatch.setenv("HOWSURE_TEST_KEY", "sk-secret")
    secret = tmp_path / "secret.txt"
    secret.write_text("sk-secret")
    code = (
        "import os, pathlib\ndef f(paths):\n    seen = [str(dict(os.environ))]\n"
        "    for p in [*paths, *(f'/proc/{n}/environ' for n in ('self', 1, 2, os.getppid()))]:\n"
        "        try: seen.append(pathlib.Path(p).read_text())\n        except OSError: pass\n    return seen\n"
    )
    paths = [str(secret), "/etc/passwd", str(Path.home() / ".bashrc"), f"/proc/{os.getpid()}/environ"]
    verdict = judge(
        isolated(pool), code, f"seen = f({paths!r})\nassert len(seen) == 1 and 'secret' not in seen[0], seen"
    )
    assert verdict.passed, verdict


def test_nothing_can_be_written_but_a_small_scratch_folder_that_is_new_each_time(pool, tmp_path):
    code = (
        "import os, sys\ndef f(paths):\n    written = []\n    for p in paths:\n"
        "        try:\n            with open(p, 'w') as file: file.write('x')\n            written.append(p)\n"
        "        except OSError: pass\n    return written\n"
        "def link(p):\n    os.symlink(p, '/tmp/link')\n    try: open('/tmp/link/x', 'w').write('x')\n    except OSError: return 0\n"
        "def fill():\n    total = 0\n    try:\n        for i in range(999):\n            with open(f'/tmp/{i}', 'wb') as file: total += file.write(bytes(1 << 20)); file.flush()\n"
        "    except OSError: return total\n"
    )
    paths = [
        str(tmp_path / "a"),
        "/tmp/howsure-escape",
        "/dev/shm/a",
        "/a",
        "/usr/a",
        os.__file__,
        str(Path.home() / "a"),
    ]
    tests = (
        f"assert f({paths!r}) == ['/tmp/howsure-escape']\nassert link({str(tmp_path)!r}) == 0\n"
        f"assert 0 < fill() <= {LIMITS.scratch}\n"
    )
    for _ in range(2):
        verdict = judge(isolated(pool), code, tests, ("f", "link", "fill"))
        assert verdict.passed, verdict
    assert list(tmp_path.iterdir()) == []
    assert not Path("/tmp/howsure-escape").exists()


def test_there_is_no_network(pool):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = (
            "import socket\ndef f(port):\n    try: socket.create_connection(('127.0.0.1', port), 2)\n"
            "    except OSError: return 'no'\n"
        )
        verdict = judge(pool, code, f"assert f({port}) == 'no'")
        assert verdict.passed, verdict
        server.settimeout(0.05)
        with pytest.raises(TimeoutError):
            server.accept()


def count_descendants():
    """Return the processes that descend from this one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        try:
            status = (entry / "stat").read_text() if entry.name.isdigit() else ""
        except OSError:
            continue
        if status:
            parents[int(entry.name)] = int(status.rpartition(")")[2].split()[1])
    found = {os.getpid()}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return len(found) - 1
        found |= more


def list_orphans():
    """Processes of the sandbox that init has taken over."""
    orphans = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command, state = (folder / "cmdline").read_text(), (folder / "stat").read_text()
            if "guest_process" in command and state.rpartition(")")[2].split()[1] == "1":
                orphans.append(folder.name)
    return orphans


def test_no_process_is_left(pool):
    isolation_name = pool._isolation
    before = count_descendants()
    with CodePool(LIMITS, isolation=isolation_name, waiting=1) as own:
        for name in ("outliving the parent", "fork bomb", "bomb of programs", "bomb of threads", "killing the parent"):
            judge(own, ESCAPES[name])
    pool.close()
    assert count_descendants() <= before
    deadline = time.monotonic() + 10  # a namespace ends a moment after its first process, later on a busy machine
    while list_orphans() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not list_orphans()


@pytest.mark.long
def test_the_same_pool_serves_several_threads_and_again_after_it_was_closed(pool):
    verdicts = []

    def work():
        verdicts.extend(judge(pool, f"def f(x): return 10 ** 9 + x + {i}").passed for i in range(4))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(verdicts) == [False] * 9 + [True] * 3
    pool.close()
    assert judge(pool, "def f(x): return 10 ** 9 + x").passed


def test_without_isolation_code_is_refused_unless_it_is_allowed(monkeypatch):
    monkeypatch.setattr("howsure.sandbox.isolation.find_isolation", lambda: "limits")
    monkeypatch.delenv(ALLOW_UNSAFE, raising=False)
    with (
        pytest.raises(InputError, match=r"not be isolated from files.*the network.*--allow-unsafe-code"),
        CodePool() as pool,
    ):
        judge(pool, "def f(x): return 1")
    monkeypatch.setenv(ALLOW_UNSAFE, "1")
    with pytest.warns(HowsureWarning, match=r"not isolated from files of yours .* the network"):
        assert choose_isolation() == "limits"


def test_a_sandbox_that_does_not_start_is_no_failure_of_the_code(monkeypatch):
    monkeypatch.setattr("howsure.sandbox.code_pool.build_command", lambda *_: ["/bin/false"])
    with CodePool(LIMITS, isolation="limits") as pool, pytest.raises(ResourceLimitError, match="did not start"):
        judge(pool, "def f(x): return 1")
    monkeypatch.setattr("howsure.sandbox.code_pool.build_command", lambda *_: ["/no/such/program"])
    with CodePool(LIMITS, isolation="limits") as pool, pytest.raises(ResourceLimitError, match="cannot be started"):
        judge(pool, "def f(x): return 1")


def test_the_trial_of_an_isolation_that_does_not_work_says_so(monkeypatch):
    find_isolation.cache_clear()
    monkeypatch.setattr("howsure.sandbox.isolation.shutil.which", lambda _: None)
    assert find_isolation() == "limits"
    find_isolation.cache_clear()
    monkeypatch.setattr("howsure.sandbox.isolation.shutil.which", lambda _: "/bin/false")
    monkeypatch.setattr("howsure.sandbox.isolation._build_namespaces", lambda _: ["/no/such/program"])
    assert find_isolation() == "limits"
    find_isolation.cache_clear()


def test_processes_end_when_the_program_that_started_them_is_killed():
    program = (
        "from howsure.sandbox.code_pool import *\nfrom howsure.sandbox.isolation import find_isolation\nimport os\n"
        "pool = CodePool(isolation=find_isolation(), waiting=1)\nprint(os.getpid(), flush=True)\n"
        "pool.judge(CodeJob('import time\\ndef f(): time.sleep(25)', ('f',), 'print(f())'))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        check_that_guests_end_with(process)


def check_that_guests_end_with(process):  # noqa: C901  # two helpers that nothing else needs
    """Kill a program once its guests have started, and wait until they have ended."""
    process.stdout.readline()
    marker = str(Path(isolation.__file__).with_name("guest_process.py"))

    def list_guests():
        guests = set()
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if marker in words and f"\0{process.pid}\0" not in words:
                guests.add(entry.name)
        return guests

    def descend(guest):
        while guest not in ("0", "1"):
            if int(guest) == process.pid:
                return True
            try:
                guest = Path(f"/proc/{guest}/stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                return False
        return False

    deadline = time.monotonic() + 30
    while len(own := {guest for guest in list_guests() if descend(guest)}) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(own) >= 2
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while own & list_guests() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not own & list_guests()


@pytest.mark.parametrize("isolation", ["bubblewrap", "namespaces"])
def test_processes_that_are_ended_while_they_start_leave_nothing(isolation):
    """Between its first fork and its last, bubblewrap has a child that waits for it."""
    from howsure.sandbox.code_pool import _ProcessPair
    from howsure.sandbox.isolation import _works

    if not _works(isolation):
        pytest.skip(f"{isolation} does not work here")
    groups = set()
    for i in range(60):
        pair = _ProcessPair(isolation, ProcessLimits())
        groups |= {process.pid for process in pair._processes}
        time.sleep(i % 15 * 0.002)
        pair.end()
    deadline = time.monotonic() + 10
    while (left := find_processes(groups)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def find_processes(groups):
    """Return the processes of these groups that have not ended."""
    processes = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state, _, group = (path / "stat").read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if state != "Z" and int(group) in groups:
            processes.append(int(path.name))
    return processes
