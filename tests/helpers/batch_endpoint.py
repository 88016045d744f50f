"""A real HTTP server on 127.0.0.1 with a batch API in OpenAI's dialect that misbehaves on command.

It answers "What is i+i?" with "= 2i", for as many generations as asked for.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from aiohttp import web
from helpers.servers import serving

NUMBERS = itertools.count(1)


def right(body: dict) -> dict:
    """What a chat completions endpoint would answer."""
    number = int(body["messages"][-1]["content"].split("+")[1].rstrip("?"))
    n = body.get("n", 1)
    choice = {"message": {"role": "assistant", "content": f"= {2 * number}"}, "finish_reason": "stop"}
    return {
        "id": f"c{next(NUMBERS)}",
        "model": "m-1",
        "system_fingerprint": "f",
        "choices": [{"index": i} | choice for i in range(n)],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5 * n},
    }


def answered(custom_id: str, body: dict, status: int = 200) -> dict:
    """A line of results."""
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": custom_id, "response": response, "error": None}


def troubled(custom_id: str, code: str) -> dict:
    """A line about a request that got no response."""
    return {"id": "b", "custom_id": custom_id, "response": None, "error": {"code": code, "message": "it did not run"}}


@dataclass
class BatchServer:
    """How it behaves, and what happened."""

    answer: Callable[[int, dict], dict | bytes | None] = lambda _, line: answered(
        line["custom_id"], right(line["body"])
    )
    """(number of the batch from 1, line of input) to a line of results; None: none at all."""
    status: Callable[[int], str] = lambda _: "completed"
    """How a batch ends."""
    looks: int = 2
    """How often a batch is looked at until it has ended."""
    extra: list[dict | bytes] = field(default_factory=list)
    """More lines of results."""
    errors: list[dict] = field(default_factory=list)
    """Why a batch failed."""
    refuses: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """Path to answers (status, text) that come first; (0, "") hangs up, having done what was asked."""
    retry_after: str | None = None
    """Header of those that refuse."""
    cut: int = 0
    """So many downloads break off in the middle."""
    key: str = ""
    base_url: str = ""
    batches: dict[str, dict] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    looked: Counter = field(default_factory=Counter)
    asked: Counter = field(default_factory=Counter)
    """custom_id, and how often it was submitted."""
    calls: list[str] = field(default_factory=list)

    def lines(self, batch: int) -> list[dict]:
        """The input of a batch, by its number from 1."""
        file = list(self.batches.values())[batch - 1]["input_file_id"]
        return [json.loads(line) for line in self.files[file].splitlines()]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/v1")
        call = f"{request.method} {path.split('/')[1]}" + ("/content" if path.endswith("/content") else "")
        self.calls.append(call)
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            told = {"error": {"message": f"wrong key {request.headers.get('Authorization')}, not {self.key}"}}
            return web.json_response(told, status=401)
        status, text = self.refuses[call].pop(0) if self.refuses.get(call) else (None, "")
        if status:
            headers = {"Retry-After": self.retry_after} if self.retry_after else None
            return web.Response(status=status, text=text, headers=headers)
        handlers = {
            "POST files": self._upload,
            "POST batches": self._create,
            "GET batches": self._look,
            "GET files/content": self._download,
        }
        reply = await handlers[call](request)
        if status == 0:
            assert request.transport is not None
            request.transport.close()
        return reply

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        assert form["purpose"] == "batch"
        name = f"file-{len(self.files) + 1}"
        self.files[name] = form["file"].file.read()
        return web.json_response({"id": name, "object": "file", "bytes": len(self.files[name])})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        sent = await request.json()
        assert (sent["endpoint"], sent["completion_window"]) == ("/v1/chat/completions", "24h")
        name = f"batch_{len(self.batches) + 1}"
        self.batches[name] = {"id": name, "object": "batch", "status": "validating", **sent}
        for line in self.lines(len(self.batches)):
            assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
            self.asked[line["custom_id"]] += 1
        return web.json_response(self.batches[name])

    async def _look(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/v1")
        if path == "/batches":
            names = list(self.batches)[::-1]
            start = names.index(request.query["after"]) + 1 if "after" in request.query else 0
            # Pages of two, whatever was asked for.
            page = [self.batches[name] for name in names[start : start + 2]]
            return web.json_response({"object": "list", "data": page, "has_more": start + 2 < len(names)})
        name = path.split("/")[2]
        batch = self.batches[name]
        self.looked[name] += 1
        if self.looked[name] >= self.looks and batch["status"] == "validating":
            self._end(batch)
        elif batch["status"] == "validating" and self.looked[name] > 1:
            return web.json_response(batch | {"request_counts": {"total": 9, "completed": 4, "failed": 1}})
        return web.json_response(batch)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        body = self.files[request.path.split("/")[3]]
        response = web.StreamResponse()
        await response.prepare(request)
        if self.cut:
            self.cut -= 1
            await response.write(body[: 2 * len(body) // 3])
            assert request.transport is not None
            request.transport.close()
            return response
        with contextlib.suppress(ConnectionError):
            for start in range(0, len(body), 1000):
                await response.write(body[start : start + 1000])
            await response.write_eof()
        return response

    def _end(self, batch: dict) -> None:
        number = int(batch["id"].removeprefix("batch_"))
        batch["status"] = self.status(number)
        if batch["status"] == "failed":
            batch["errors"] = {"object": "list", "data": self.errors}
            return
        told = [line for sent in self.lines(number) if (line := self.answer(number, sent)) is not None] + self.extra
        random.Random(number).shuffle(told)
        good = [line for line in told if isinstance(line, bytes) or (line["response"] or {}).get("status_code") == 200]
        for name, lines in (("output", good), ("error", [line for line in told if line not in good])):
            if lines:
                file = f"{name}-{number}"
                whole = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
                self.files[file] = b"\n".join(whole) + b"\n"
                batch[f"{name}_file_id"] = file


@contextlib.contextmanager
def serve(server: BatchServer) -> Iterator[BatchServer]:
    """Run it in a thread of this process."""
    app = web.Application(client_max_size=1 << 28)
    app.router.add_route("*", "/v1/{tail:.*}", server.handle)
    with serving(app) as base_url:
        server.base_url = base_url
        yield server
