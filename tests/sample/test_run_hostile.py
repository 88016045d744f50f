"""`howsure run` against an endpoint that means harm: memory, files outside the folder, the key, other questions' cells.

Kind of truth: a guarantee, shown by trying. Each run is the command in a process of its own, with a home, a temporary
folder and a working directory that are looked at before and after; the server is the test's.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import resource
import subprocess
import sys
import time
import traceback
import zlib
from collections import Counter

import pytest
from aiohttp import web
from helpers.endpoint import Faults, Telling, serve
from helpers.servers import serving

from howsure.benchmarks import load
from howsure.errors import EndpointError, HowsureError
from howsure.models.client import Endpoint
from howsure.sample.experiment import parse_experiment
from howsure.sample.run import run
from howsure.store.responses import read, read_prompts

#: With the characters that JSON writers escape, and long enough to be nothing else.
KEY = "sk-planted/0123456789+abc=xyz"
MB = 1 << 20
#: Address space of the command: a test that fails must not take the machine with it.
CEILING = 3 << 30
#: What the command may hold in memory at most, whatever it is sent.
ALLOWED_MB = 500
COMMAND = """
import sys
from howsure.cli import main
try:
    main(sys.argv[2:])
finally:
    with open("/proc/self/status") as status, open(sys.argv[1], "w") as peak:
        peak.write(next(line for line in status if line.startswith("VmHWM")).split()[1])
"""


class Ran:
    """What a command did: its code, what it printed, its peak in MB, and the files that changed around it."""

    def __init__(self, root, arguments, **environ):
        self.root = root
        for name in ("work", "home", "temporary", "outside"):
            (root / name).mkdir(exist_ok=True)
        env = {
            **os.environ,
            "HOME": str(root / "home"),
            "TMPDIR": str(root / "temporary"),
            "XDG_CACHE_HOME": str(root / "home/cache"),
            "PYTHONASYNCIODEBUG": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            **environ,
        }
        before = snapshot(root)
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, str(root / "peak"), *map(str, arguments)],
            cwd=root / "work",
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (CEILING, CEILING)),
        )
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.peak = int((root / "peak").read_text()) / 1024
        (root / "peak").unlink()
        after = snapshot(root)
        self.changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def snapshot(root):
    """Every path below `root` and a hash of what is there."""
    found = {}
    for path in root.rglob("*"):
        is_file = path.is_file() and not path.is_symlink()
        found[str(path.relative_to(root))] = hashlib.sha256(path.read_bytes()).hexdigest() if is_file else "no file"
    return found


@contextlib.contextmanager
def hostile(answer):
    """A server; `answer(request, body)` is what it does. Yields its base URL."""

    async def respond(request):
        return await answer(request, json.loads(await request.read()))

    app = web.Application(client_max_size=64 * MB)
    app.router.add_post("/v1/chat/completions", respond)
    with serving(app) as base_url:
        yield base_url


def sample(tmp_path, base_url, *, generations=5, limit=100, concurrency=64, label="m", more=""):
    """Run the command on the small benchmark."""
    model = json.dumps({"model": "m", "label": label, "base_url": base_url, "key_env": "PLANTED"})
    text = (
        f"{{benchmark: directions-small, generations: {generations}, limit: {limit}, concurrency: {concurrency}, "
        f"models: [{model}] {more}}}"
    )
    (tmp_path / "experiment.yaml").write_text(text)
    arguments = ["run", tmp_path / "experiment.yaml", "-o", tmp_path / "work/run"]
    return Ran(tmp_path, arguments, PLANTED=KEY)


def quick(seconds):
    """A hundredth of the wait, on a clock that is a hundred times as fast."""
    return asyncio.sleep(seconds / 100)


def choices(n, text="#### north"):
    return [{"index": i, "message": {"content": text}, "finish_reason": "stop"} for i in range(n)]


def reply(n, text="#### north", **more):
    return {"id": "r", "model": "m", "choices": choices(n, text), "usage": {"completion_tokens": n}} | more


async def pour(request, piece, *, status=200, headers=None, times=None):
    """Send a piece so often (None: until the other side hangs up)."""
    response = web.StreamResponse(status=status, headers={"Content-Type": "application/json", **(headers or {})})
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        while times is None or times > 0:
            await response.write(piece)
            times = times and times - 1
    return response


def bomb():
    """A gigabyte of blanks in about a megabyte of deflate."""
    squeezer = zlib.compressobj(9)
    blanks = b" " * MB
    return b"".join([squeezer.compress(b'{"choices": ['), *(squeezer.compress(blanks) for _ in range(1024))])


async def endless(request, _):
    return await pour(request, b'{"choices": [' + b" " * MB)


async def endless_refusal(request, _):
    return await pour(request, b"no " * MB, status=400)


async def endless_header(request, _):
    with contextlib.suppress(ConnectionError):
        request.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        while not request.transport.is_closing():
            request.transport.write(b"X-More: " + b"x" * 4000 + b"\r\n")
            await asyncio.sleep(0)
    return web.Response()


@pytest.mark.parametrize(
    ("answer", "generations"),
    [
        (endless, 1),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in ((endless, 50), (endless_refusal, 1), (endless_refusal, 50))
        ),
    ],
)
def test_a_body_without_end_is_not_kept(tmp_path, answer, generations):
    with hostile(answer) as base_url:
        ran = sample(tmp_path, base_url, generations=generations)
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert ran.peak < ALLOWED_MB


@pytest.mark.long
def test_a_bomb_is_not_unpacked(tmp_path):
    packed = bomb()

    async def answer(request, _):
        return await pour(request, packed, headers={"Content-Encoding": "deflate"}, times=1)

    with hostile(answer) as base_url:
        ran = sample(tmp_path, base_url, generations=1)
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert ran.peak < ALLOWED_MB


@pytest.mark.long
@pytest.mark.parametrize("generations", [1, 5])
def test_ten_thousand_choices_of_a_kilobyte(tmp_path, generations):
    """One is asked for, or five; both in 64 requests at once."""
    body = json.dumps(reply(10_000, "x" * 1000 + "#### north")).encode()

    async def answer(*_):
        return web.Response(body=body, content_type="application/json")

    with hostile(answer) as base_url:
        ran = sample(tmp_path, base_url, generations=generations)
    assert "Traceback" not in ran.err
    assert ran.peak < ALLOWED_MB
    # Whether ten megabytes are read for one generation or refused, nothing but what was asked for is kept.
    table = read(tmp_path / "work/run", ["question", "generation", "completion"]).to_pylist()
    times = Counter((row["question"], row["generation"]) for row in table)
    assert len(times) == len(table) <= 100 * generations
    assert max((generation for _, generation in times), default=1) <= generations
    if ran.code == 0:
        assert len(table) == 100 * generations
    else:
        assert "longer than" in ran.err


@pytest.mark.long
def test_what_an_endpoint_calls_itself_does_not_pile_up(tmp_path):
    """Fingerprint, model, id and reason of 150 kB each time, and each time others: 600 MB in all."""
    count = 0

    async def answer(*_):
        nonlocal count
        count += 1
        name = f"{count:08d}" + "y" * 150_000
        told = reply(1, id=name, model=name, system_fingerprint=name)
        told["choices"][0]["finish_reason"] = name
        return web.json_response(told)

    with hostile(answer) as base_url:
        ran = sample(tmp_path, base_url, generations=10)
    assert count >= 1000
    assert ran.code == 0
    assert ran.peak < ALLOWED_MB
    assert len(ran.out) + len(ran.err) < 100_000
    assert (tmp_path / "work/run/manifest.json").stat().st_size < MB
    assert read(tmp_path / "work/run", ["score"]).num_rows == 1000


def test_a_header_without_end_is_a_failure_like_others():
    with hostile(endless_header) as base_url, pytest.raises(EndpointError) as caught:
        asyncio.run(one(base_url))
    assert caught.value.reason in {"malformed", "connection"}
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "body",
    [
        '{"choices": ' + "[" * 200_000,
        '{"error": ' + "[" * 200_000 + "]" * 200_000 + "}",
        '{"choices": [{"message": {"content": ' + '{"a": ' * 200_000,
        '{"unknown": ' + "[" * 200_000 + "]" * 200_000 + ', "choices": []}',
    ],
)
def test_deep_json_is_a_failure_like_others(body):
    async def answer(*_):
        return web.Response(text=body, content_type="application/json")

    with hostile(answer) as base_url, pytest.raises(EndpointError) as caught:
        asyncio.run(one(base_url))
    assert len(str(caught.value)) < 500


async def one(base_url, **keys):
    """One reply, through the client alone."""
    from howsure.models.model import Request, Settings

    endpoint = Endpoint(base_url, "m", key=KEY, **keys)
    try:
        return await endpoint.generate(Request("b", "q", "v", [{"role": "user", "content": "?"}], (1,), Settings()))
    finally:
        await endpoint.close()


@pytest.mark.parametrize("tokens", [2**70, -1, -(2**70), 10**400, 1.5, "1e400", True])
def test_impossible_counts_of_tokens_do_not_end_the_run(tmp_path, tokens):
    """They are refused, or kept out of the rows; the other model's rows are kept."""
    number = tokens if isinstance(tokens, str) else json.dumps(tokens)

    async def answer(_, body):
        told = json.dumps(reply(body.get("n", 1)))
        return web.Response(
            text=told.replace('"usage": {', f'"usage": {{"prompt_tokens": {number}, "total_tokens": {number}, '),
            content_type="application/json",
        )

    experiment = "{{benchmark: directions-small, limit: 30, generations: 2, models: [simulated/medium, {{model: m, base_url: '{}'}}]}}"
    with hostile(answer) as base_url:
        parsed = parse_experiment(experiment.format(base_url))
        outcome = asyncio.run(run(parsed, tmp_path / "r", sleep=quick, clock=lambda: 100 * time.monotonic()))
    table = read(tmp_path / "r", ["model", "prompt_tokens"]).to_pylist()
    assert Counter(row["model"] for row in table)["simulated/medium"] == 60
    assert all(0 <= (row["prompt_tokens"] or 0) < 2**53 for row in table)
    theirs = outcome.models[1]
    assert theirs.stopped or theirs.done + theirs.failed == 60


#: What a name must not be taken for: a path out of the folder, one from the root, the end of a C string, a command.
NAMES = (
    "../../outside/a",
    "{root}/outside/b",
    "..\\..\\outside\\c",
    "d\0/../../outside",
    "\x1b]0;x\x07\x1b[31m",
    "-rf",
    "CON",
)


def test_only_the_run_folder_is_written(tmp_path):
    """Whatever question ids, labels, models, fingerprints, request ids, reasons and completions look like."""
    names = [name.format(root=tmp_path) for name in NAMES]
    rows = [{"q": f"Where is {i}?", "a": "north", "id": name} for i, name in enumerate(names)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    count = 0

    async def answer(_, body):
        nonlocal count
        count += 1
        name = names[count % len(names)]
        told = reply(body.get("n", 1), f"{name}\n#### north", id=name, model=name, system_fingerprint=name)
        for choice in told["choices"]:
            choice["finish_reason"] = name
        return web.json_response(told, headers={"X-Request-Id": name.encode("unicode_escape").decode()})

    with hostile(answer) as base_url:
        labels = [name for name in names if name.isprintable()]
        models = [{"model": name, "label": name, "base_url": base_url} for name in labels]
        benchmark = {"file": "questions.jsonl", "question": "q", "target": "a", "answer": "direction", "id": "id"}
        experiment = {"benchmark": {**benchmark, "name": "../../outside/e"}, "generations": 3, "models": models}
        (tmp_path / "experiment.yaml").write_text(json.dumps(experiment))
        ran = Ran(tmp_path, ["run", tmp_path / "experiment.yaml", "-o", "run"])
    assert ran.code == 0, ran.err
    assert ran.changed
    assert {path for path in ran.changed if path != "work/run" and not path.startswith("work/run/")} == set()
    assert {path.count("/") for path in ran.changed} <= {1, 2}
    table = read(tmp_path / "work/run").to_pylist()
    assert {row["question"] for row in table} == set(names)
    assert {row["model"] for row in table} == set(labels)
    for field in ("fingerprint", "endpoint_model", "finish_reason", "request"):
        assert {row[field] for row in table} <= set(names)
    # Nor does the terminal do what they say.
    assert not {"\x1b", "\x07", "\0"} & set(ran.out + ran.err)


class Echo:
    """Ways of sending the key back, one after the other."""

    def __init__(self):
        self.count = Counter()
        self.ways = (
            self.whole,
            self.rate_limit,
            self.server,
            self.bad_request,
            self.at_the_edge,
            self.malformed,
            self.shape,
            self.error_in_200,
            self.escaped,
            self.parts,
            self.packed,
            self.pieces,
            self.cut,
            self.shape_escaped,
        )

    async def __call__(self, request, body):
        sent = request.headers["Authorization"].removeprefix("Bearer ")
        assert sent == KEY
        # Every other one is whole, so that the run gets on.
        asked = self.count.total()
        way = self.ways[asked // 2 % len(self.ways)] if asked % 2 else self.whole
        self.count[way.__name__] += 1
        return await way(request, body.get("n", 1), sent)

    async def whole(self, _, n, key):
        told = reply(n, f"Your key is {key}.\n#### north", id=key, model=key, system_fingerprint=f"fp {key}")
        told["choices"][0]["finish_reason"] = key
        return web.json_response(told, headers={"X-Request-Id": key, "X-RateLimit-Limit-Requests": key})

    async def rate_limit(self, _, __, key):
        return web.json_response(
            {"error": {"message": f"too many of {key}", "code": key}}, status=429, headers={"Retry-After": key}
        )

    async def server(self, _, __, key):
        return web.Response(
            status=500, reason=f"Oops {key}", text=f"<h1>{key}</h1>", headers={"Set-Cookie": f"k={key}"}
        )

    async def bad_request(self, _, __, key):
        return web.json_response({"detail": [{"msg": f"bad {key}", key: key}]}, status=400)

    async def at_the_edge(self, _, __, key):
        # Where so many bytes of an error are read and no more, a part of the key is left.
        return web.Response(status=400, body=b" " * (65536 - len(key) // 2) + key.encode())

    async def malformed(self, _, __, key):
        return web.Response(text=f'{{"choices": ["{key}"', content_type="application/json")

    async def shape(self, _, __, key):
        return web.json_response({"choices": {key: key}, "model": key})

    async def shape_escaped(self, _, __, key):
        told = '{"choices": "' + key.replace("/", "\\/").replace("+", "\\u002b") + '"'
        return web.Response(text=told, content_type="application/json")

    async def error_in_200(self, _, __, key):
        return web.json_response({"error": {"message": f"{key} is wrong", "code": key, "type": key}})

    async def escaped(self, _, n, key):
        # As several writers of JSON do; decoded, it is the key again.
        slashed = key.replace("/", "\\/").replace("+", "\\u002B").replace("s", "\\u0073")
        return web.Response(
            text=json.dumps(reply(n, "KEY\n#### north", id="KEY", model="KEY")).replace("KEY", slashed),
            content_type="application/json",
        )

    async def parts(self, _, n, key):
        told = reply(n)
        for choice in told["choices"]:
            choice["message"]["content"] = [
                {"type": "text", "text": part} for part in (key[:9], key[9:], "\n#### north")
            ]
        return web.json_response(told)

    async def packed(self, _, n, key):
        response = web.json_response(reply(n, f"{key}\n#### north"))
        response.enable_compression(web.ContentCoding.gzip)
        return response

    async def pieces(self, request, n, key):
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for part in json.dumps(reply(n, f"{key}\n#### north")).partition(key[:5]):
            await response.write(part.encode())
            await asyncio.sleep(0.01)
        return response

    async def cut(self, request, _, key):
        request.transport.write(f"HTTP/1.1 200 {key}\r\nContent-Length: 999\r\nX: {key}\r\n\r\n{key}".encode())
        request.transport.close()
        return web.Response()


#: Nothing but the key begins like this, however it is escaped or cut.
MARK = "sk-planted"


def told_by(folder):
    """All that a reader gets out of a run folder, and its bytes."""
    rows, prompts = read(folder).to_pylist(), read_prompts(folder).to_pylist()
    raw = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return repr(rows) + repr(prompts) + raw.decode("latin-1")


def test_the_key_is_nowhere(tmp_path):
    echo = Echo()
    with hostile(echo) as base_url:
        ran = sample(tmp_path, base_url, generations=20, limit=40, concurrency=8)
    assert set(echo.count) == {way.__name__ for way in echo.ways}
    rows = read(tmp_path / "work/run", ["completion", "error", "score"]).to_pylist()
    assert any("***" in (row["completion"] or "") for row in rows)
    assert any("***" in (row["error"] or "") for row in rows)
    for text in (ran.out, ran.err, told_by(tmp_path / "work/run")):
        assert MARK not in text
    assert all(MARK.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.long
@pytest.mark.parametrize("status", [401, 200, 302, 403, 404])
def test_the_key_is_not_told_when_the_model_is_given_up(tmp_path, status):
    async def answer(request, _):
        sent = request.headers["Authorization"]
        headers = {"Location": f"http://127.0.0.1/{sent}", "WWW-Authenticate": sent.replace("\n", "")}
        return web.Response(status=status, headers=headers, reason=sent, text=f"Incorrect API key provided: {sent}")

    with hostile(answer) as base_url:
        ran = sample(tmp_path, base_url, limit=2, generations=1) if status != 200 else None
        if ran is not None:
            assert ran.code == 2
            for text in (ran.out, ran.err, told_by(tmp_path / "work/run")):
                assert MARK not in text
        with pytest.raises(HowsureError) as caught:
            asyncio.run(one(base_url))
    assert MARK not in "".join(traceback.format_exception(caught.value)) + repr(caught.value)


def test_the_key_is_not_logged(caplog):
    caplog.set_level(logging.DEBUG)
    echo = Echo()
    with hostile(echo) as base_url:
        for _ in range(2 * len(echo.ways)):
            with contextlib.suppress(HowsureError):
                asyncio.run(one(base_url), debug=True)
    assert set(echo.count) == {way.__name__ for way in echo.ways}
    assert caplog.records
    client = [record for record in caplog.records if not record.name.startswith("aiohttp.server")]
    assert MARK not in "".join(f"{record.getMessage()} {record.exc_text}" for record in client)


@pytest.mark.parametrize(("fault", "pause"), [("twice", 0.0), ("twice", 0.02)])
def test_an_answer_sent_twice_is_no_answer_to_the_next_request(fault, pause):
    """The second one comes while the connection waits to be used again."""
    from howsure.models.model import Request, Settings

    benchmark = load("directions-small")
    with serve(benchmark.questions, faults=Faults({fault: 1.0})) as server:

        async def ask():
            model = Telling(Endpoint(server.base_url, "m"))
            found = {}
            for question in benchmark.questions[:20]:
                request = Request("b", question.id, "v", benchmark.prompt.messages(question), (1, 2), Settings())
                found[question] = [choice.text for choice in (await model.generate(request)).choices]
                await asyncio.sleep(pause)
            await model.close()
            return found

        found = asyncio.run(ask())
    for question, (first, second) in found.items():
        assert [benchmark.extract(first) == question.target, benchmark.extract(second) == question.target] == [
            server.is_right(question.id, 1),
            server.is_right(question.id, 2),
        ]
        assert ("(1)" in first, "(2)" in second) == (True, True)
