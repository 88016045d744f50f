"""A real HTTP server on 127.0.0.1 that speaks chat completions, knows the truth, and misbehaves on command.

It answers each question right with its own known chance: the k-th generation that it ever writes for a question is
right or wrong by a hash of (seed, question, k), so what it wrote is known without looking at what a client received.

In a test: `with serve(questions, faults=Faults(...)) as server: ... server.base_url ... server.log`.
By hand: `python tests/endpoint.py --port 0 --benchmark directions-small --fault server=0.1` prints its URL.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from errorbar.benchmarks import Question, load

#: Faults that strike a share of all requests, one at most for each request.
KINDS = ("rate_limit", "server", "hang", "cut", "reset", "malformed", "shape", "fewer", "empty", "filtered", "huge")


@dataclass(frozen=True)
class Faults:
    """How to misbehave: `rates` of `KINDS`, the rest always."""

    rates: dict[str, float] = field(default_factory=dict)
    latency: float = 0.0
    """Seconds before each answer."""
    retry_after: str | None = None
    """Header of a 429."""
    most: int | None = None
    """A larger n is answered with 400."""
    most_text: str = "n must be at most {most}"
    ignores_n: bool = False
    """One choice, whatever n."""
    extra_choices: int = 0
    """More choices than asked for."""
    key: str | None = None
    """Anything else is answered with 401, and what was sent is echoed."""
    model: str | None = None
    """Any other is answered with 404."""
    refuses: str | None = None
    """A question with this in it is answered with 400."""
    always: tuple[int, str] | None = None
    """(status, body) of every answer."""

    def __post_init__(self) -> None:
        assert set(self.rates) <= set(KINDS), self.rates
        assert sum(self.rates.values()) <= 1 + 1e-9


@dataclass(frozen=True)
class Sent:
    """One generation that was written in a whole reply."""

    question: str
    right: bool
    request: int


class Server:
    """What it is asked and what it answered."""

    def __init__(self, questions: Sequence[Question], *, seed: int = 0, faults: Faults | None = None) -> None:
        self.questions = {question.text: question for question in questions}
        self.seed, self.faults = seed, faults or Faults()
        self.base_url = ""
        self.log: list[Sent] = []
        self.asked: Counter[int] = Counter()
        """Requests by their n."""
        self.struck: Counter[str] = Counter()
        """Requests by the fault that struck them; "" for none."""
        self.bodies: list[dict[str, object]] = []
        self.most_in_flight = 0
        self._in_flight = 0
        self._occurrence: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()
        self._found: dict[str, Question | None] = {}
        self._closing = asyncio.Event()

    def chance(self, question: str) -> float:
        """True P(correct) of a question: between 0.2 and 0.95."""
        return 0.2 + 0.75 * self._uniform("chance", question)

    def _uniform(self, *of: object) -> float:
        digest = hashlib.sha256("\0".join(map(str, (self.seed, *of))).encode()).digest()
        return int.from_bytes(digest[:8]) / 2**64

    def _question(self, content: str) -> Question | None:
        if content not in self._found:
            asked = self.questions.get(content)
            self._found[content] = asked or next((q for t, q in self.questions.items() if t in content), None)
        return self._found[content]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            return await self._answer(request)
        finally:
            self._in_flight -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:  # noqa: PLR0911  one line for each refusal
        faults = self.faults
        body = json.loads(await request.read())
        self.bodies.append(body)
        n = body.get("n", 1)
        self.asked[n] += 1
        if faults.latency:
            await asyncio.sleep(faults.latency)
        if faults.always:
            return web.Response(status=faults.always[0], text=faults.always[1], content_type="application/json")
        sent_key = request.headers.get("Authorization", "")
        if faults.key is not None and sent_key != f"Bearer {faults.key}":
            return refuse(401, f"Incorrect API key provided: {sent_key}", "invalid_api_key")
        if faults.model is not None and body["model"] != faults.model:
            return refuse(404, f"The model `{body['model']}` does not exist", "model_not_found")
        if faults.most is not None and n > faults.most:
            return refuse(400, faults.most_text.format(most=faults.most), "invalid_request_error")
        content = body["messages"][-1]["content"]
        question = self._question(content)
        if question is None:
            return refuse(400, "not one of my questions", "invalid_request_error")
        if faults.refuses is not None and faults.refuses in content:
            return refuse(400, "This model's maximum context length is 10 tokens", "context_length_exceeded")
        self._requests[question.id] += 1
        fault = self._fault(question.id)
        self.struck[fault] += 1
        return await self._strike(request, question, n, fault)

    def _fault(self, question: str) -> str:
        u = self._uniform("fault", question, self._requests[question])
        for kind, rate in self.faults.rates.items():
            if u < rate:
                return kind
            u -= rate
        return ""

    async def _strike(  # noqa: PLR0911  one line for each fault
        self, request: web.Request, question: Question, n: int, fault: str
    ) -> web.StreamResponse:
        if fault == "rate_limit":
            headers = {"Retry-After": self.faults.retry_after} if self.faults.retry_after else {}
            return refuse(429, "Rate limit reached", "rate_limit_exceeded", headers)
        if fault == "server":
            return refuse(500, "The server had an error", "server_error")
        if fault == "hang":
            await self._closing.wait()
            return refuse(503, "closing", "server_error")
        if fault == "reset":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if fault == "malformed":
            return web.Response(text='{"choices": [', content_type="application/json")
        if fault == "shape":
            return web.json_response({"choices": {"text": "18"}})
        if fault == "empty":
            return web.json_response({"id": "e", "choices": []})
        if fault == "huge":
            return await pour(request, b'{"choices": [' + b" " * 2**20, 100)
        count = 1 if self.faults.ignores_n else max(1, n // 2) if fault == "fewer" else n
        reply = json.dumps(
            self._reply(
                question,
                count + self.faults.extra_choices,
                filtered=fault == "filtered",
                keep=count,
                whole=fault != "cut",
            )
        )
        if fault == "cut":
            return await pour(request, reply.encode()[: len(reply) // 2], 1, length=len(reply))
        return web.Response(text=reply, content_type="application/json")

    def _reply(self, question: Question, count: int, *, filtered: bool, keep: int, whole: bool) -> dict[str, object]:
        number = len(self.bodies)
        choices = []
        for i in range(count):
            self._occurrence[question.id] += 1
            right = self._uniform("answer", question.id, self._occurrence[question.id]) < self.chance(question.id)
            text = f"Let me think.\n#### {question.target if right else wrong(question)}"
            if whole and i < keep:
                self.log.append(Sent(question.id, right and not filtered, number))
            message = {"role": "assistant", "content": None if filtered else text}
            choices.append({"index": i, "message": message, "finish_reason": "content_filter" if filtered else "stop"})
        return {
            "id": f"r-{number}",
            "object": "chat.completion",
            "model": "truth-1",
            "system_fingerprint": "fp-1",
            "choices": choices,
            "usage": {"prompt_tokens": 10, "completion_tokens": 5 * count},
        }


def wrong(question: Question) -> str:
    """An answer that is not the target."""
    if question.alternatives:
        return question.alternatives[0]
    try:
        return str(int(question.target) + 1)
    except ValueError:
        return "7" if question.target != "7" else "8"


def refuse(status: int, message: str, code: str, headers: dict[str, str] | None = None) -> web.Response:
    """An error as vendors write it."""
    return web.json_response({"error": {"message": message, "code": code}}, status=status, headers=headers)


async def pour(request: web.Request, piece: bytes, times: int, *, length: int | None = None) -> web.StreamResponse:
    """Send a piece so often, and hang up before the promised length."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = length or len(piece) * times + 1
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        for _ in range(times):
            await response.write(piece)
    if request.transport is not None:
        request.transport.close()
    return response


async def start(server: Server, port: int) -> web.AppRunner:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.base_url = f"http://{host}:{port}/v1"
    return runner


@contextlib.contextmanager
def serve(
    questions: Sequence[Question], *, seed: int = 0, faults: Faults | None = None, port: int = 0
) -> Iterator[Server]:
    """Run a server in a thread of this process."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def make() -> tuple[Server, web.AppRunner]:
        server = Server(questions, seed=seed, faults=faults)
        return server, await start(server, port)

    async def end(server: Server, runner: web.AppRunner) -> None:
        server._closing.set()
        await runner.cleanup()

    server, runner = asyncio.run_coroutine_threadsafe(make(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(end(server, runner), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="A chat completions server with known truth, on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--benchmark", default="directions-small", help="a name, or a JSON mapping as in an experiment")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--most", type=int, help="refuse a larger n")
    parser.add_argument("--key")
    parser.add_argument("--fault", action="append", default=[], metavar="KIND=RATE", help=", ".join(KINDS))
    given = parser.parse_args()
    spec = json.loads(given.benchmark) if given.benchmark.startswith("{") else given.benchmark
    rates = {kind: float(rate) for kind, _, rate in (fault.partition("=") for fault in given.fault)}

    async def forever() -> None:
        faults = Faults(rates, latency=given.latency, most=given.most, key=given.key)
        server = Server(load(spec, base=Path()).questions, seed=given.seed, faults=faults)
        runner = await start(server, given.port)
        print(server.base_url, flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(forever())


if __name__ == "__main__":
    main()
