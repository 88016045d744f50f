"""Serve a model file (GGUF) on 127.0.0.1 as a small local server does: one request at a time, chat and plain text.

    python examples/local_server.py 8105 SmolLM2-135M-Instruct.Q4_1.gguf

It needs ik-llama-cpp-python and numpy. `GET /v1/models` answers when the model is loaded; `n` up to 8 is honoured,
its generations are decoded together. Sampling is plain: temperature and nothing else. Chats are written in the format
ChatML, which is that of SmolLM2, Qwen and others.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import ik_llama_cpp._ctypes_api as llama
import numpy as np
from ik_llama_cpp._internals import IkContext, IkModel

#: Tokens of a sequence, generations of a request, and tokens of a prompt that are computed together: with the
#: quantisation Q4_1 and this library, 32 and more at a time give wrong results on some processors.
LENGTH, CHOICES, CHUNK = 1024, 8, 16


class Generator:
    """A model in memory, which computes one request after another."""

    def __init__(self, path: str, seed: int | None) -> None:
        self.model = IkModel(path)
        options: dict[str, Any] = {"n_ctx": LENGTH * CHOICES, "n_threads": 1, "flash_attn": False}
        self.context = IkContext(self.model, n_seq_max=CHOICES, **options)
        self.rng = np.random.default_rng(seed)
        self.lock = threading.Lock()

    def generate(self, prompt: str, body: dict[str, Any]) -> tuple[list[tuple[str, str]], int, int]:
        """Return the text and the finish reason of each generation, and the tokens of the prompt and of all texts."""
        n, most, stops = int(body.get("n") or 1), int(body.get("max_tokens") or 256), body.get("stop") or []
        stops = [stops] if isinstance(stops, str) else stops
        tokens = self.model.tokenize(prompt, add_bos=not prompt.startswith("<|im_start|>"), special=True)
        if not 1 <= n <= CHOICES or len(tokens) + most > LENGTH:
            raise ValueError(f"n must be 1 to {CHOICES}, and prompt and max_tokens at most {LENGTH} tokens together")
        temperature = 1.0 if body.get("temperature") is None else float(body["temperature"])
        rng = self.rng if body.get("seed") is None else np.random.default_rng(int(body["seed"]))
        self.context.kv_cache_clear()
        for start in range(0, len(tokens), CHUNK):
            chunk = tokens[start : start + CHUNK]
            entries = [(token, start + i, range(n)) for i, token in enumerate(chunk)]
            logits = self.decode(entries, wanted=[len(chunk) - 1])
        written: list[list[int]] = [[] for _ in range(n)]
        rows, ends = dict.fromkeys(range(n), logits[-1]), dict.fromkeys(range(n), "length")
        for step in range(most):
            drawn = {i: self.sample(row, temperature, rng) for i, row in rows.items()}
            for i, token in drawn.items():
                written[i].append(token)
                text = self.model.detokenize(written[i])
                if llama.llama_token_is_eog(self.model.model, token) or any(stop in text for stop in stops):
                    ends[i] = "stop"
            going = [i for i in drawn if ends[i] == "length"]
            if not going or step == most - 1:
                break
            rows = dict(zip(going, self.decode([(drawn[i], len(tokens) + step, [i]) for i in going]), strict=True))
        texts = [self.model.detokenize(t) for t in written]
        texts = [min((text.partition(stop)[0] for stop in stops), key=len, default=text) for text in texts]
        return [(text, ends[i]) for i, text in enumerate(texts)], len(tokens), sum(map(len, written))

    def decode(self, entries: list[tuple[int, int, Any]], wanted: list[int] | None = None) -> list[Any]:
        """Compute tokens, each with its position and its sequences; return the logits after those that are wanted."""
        wanted = list(range(len(entries))) if wanted is None else wanted
        batch = llama.llama_batch_init(len(entries), 0, CHOICES)
        batch.n_tokens = len(entries)
        for i, (token, position, sequences) in enumerate(entries):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, position, len(sequences)
            batch.logits[i] = i in wanted
            for j, sequence in enumerate(sequences):
                batch.seq_id[i][j] = sequence
        failed = self.context.decode(batch)
        llama.llama_batch_free(batch)
        if failed:
            raise RuntimeError(f"the model could not compute {len(entries)} tokens: {failed}")
        shape = (self.model.n_vocab,)
        return [np.array(np.ctypeslib.as_array(self.context.get_logits(i), shape)) for i in wanted]

    @staticmethod
    def sample(logits: Any, temperature: float, rng: np.random.Generator) -> int:
        """Return a token: the most probable one at temperature 0, else one drawn (the largest of Gumbel variables)."""
        return int(np.argmax(logits if temperature == 0 else logits / temperature + rng.gumbel(size=logits.size)))


def write_chat(messages: list[dict[str, str]]) -> str:
    """Return the messages in ChatML."""
    turns = [f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages]
    return "".join(turns) + "<|im_start|>assistant\n"


class Handler(BaseHTTPRequestHandler):
    """Answer the requests of the API; `generator` and `name` are set when the server starts."""

    protocol_version = "HTTP/1.1"
    generator: Generator
    name: str

    def do_GET(self) -> None:
        """List the model."""
        self.answer(200, {"object": "list", "data": [{"id": self.name, "object": "model"}]})

    def do_POST(self) -> None:
        """Complete a chat or a text."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_chat = self.path.endswith("/chat/completions")
        try:
            prompt = write_chat(body["messages"]) if is_chat else body["prompt"]
            with self.generator.lock:
                texts, prompt_tokens, tokens = self.generator.generate(prompt, body)
        except (KeyError, ValueError) as error:
            self.answer(400, {"error": {"message": str(error), "type": "invalid_request_error"}})
            return
        choices = [
            {"index": i, "finish_reason": end}
            | ({"message": {"role": "assistant", "content": text}} if is_chat else {"text": text})
            for i, (text, end) in enumerate(texts)
        ]
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": tokens, "total_tokens": prompt_tokens + tokens}
        self.answer(200, {"object": "completion", "model": self.name, "choices": choices, "usage": usage})

    def answer(self, status: int, content: dict[str, Any]) -> None:
        """Send JSON."""
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Print nothing for each request."""


def main() -> None:
    """Load the model and serve until the process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("port", type=int, help="0: a free one, which is printed")
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--name", help="name of the model; by default that of the file")
    parser.add_argument("--seed", type=int, help="the same sequence of generations after every start")
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input is closed")
    options = parser.parse_args()
    if options.with_parent:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    Handler.generator = Generator(options.model, options.seed)
    Handler.name = options.name or Path(options.model).stem
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    print(f"serving {Handler.name} on http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
