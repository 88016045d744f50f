"""100,000 verdicts of a judge over an endpoint that fails in many ways, killed on the way and continued: none is lost.

A run folder gets completions of two models. A judge of known sensitivity and specificity stands behind an HTTP server
of its own process, which refuses, cuts, garbles and shortens replies. The command that asks for the verdicts is killed
(SIGKILL) twice and started again. In the end every completion must have its verdicts, each exactly once, and the share
that is judged right must be the one that the judge's error rates make of the true one.

    python bench/many_verdicts.py [--verdicts 100000] [--kills 2]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

from aiohttp import web

from howsure.judging.judge_run import find_judge_folders, read_completions
from howsure.store import manifest
from howsure.store.responses import RunFolder, read
from howsure.store.schema import Response

#: Shares of requests that fail, by kind.
FAULTS = {"busy": 0.02, "error": 0.02, "cut": 0.01, "garbled": 0.01, "short": 0.02}
SENSITIVITY, SPECIFICITY, UNREADABLE = 0.92, 0.85, 0.01
#: Share of completions that are right.
RIGHT = 0.7


def _serve(pipe: Connection) -> None:
    """Answer as a judge until the process ends; send the port first."""
    rng = random.Random(5)

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        text = body["messages"][-1]["content"]
        shown = re.search(r"answer number \d+ is (right|wrong)", text)
        assert shown is not None
        draw = rng.random()
        name = ""
        for kind, share in FAULTS.items():
            if 0 <= draw < share:
                name = kind
            draw -= share
        if name == "busy":
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "0.2"})
        if name == "error":
            return web.json_response({"error": {"message": "overloaded"}}, status=503)
        if name == "garbled":
            return web.Response(text='{"choices": [{"message": {"content": "Ver', content_type="application/json")
        n = int(body.get("n") or 1)
        choices = []
        for i in range(max(1, n // 2) if name == "short" else n):
            says_right = rng.random() < (SENSITIVITY if shown[1] == "right" else 1 - SPECIFICITY)
            verdict = "I cannot tell." if rng.random() < UNREADABLE else f"Verdict: {'' if says_right else 'IN'}CORRECT"
            choices.append({"index": i, "message": {"role": "assistant", "content": verdict}, "finish_reason": "stop"})
        reply = {
            "id": hashlib.sha256(os.urandom(8)).hexdigest()[:16],
            "model": "judge",
            "choices": choices,
            "usage": {"prompt_tokens": 200, "completion_tokens": 5 * len(choices), "total_tokens": 200},
        }
        if name == "cut":
            response = web.StreamResponse(headers={"Content-Length": "4000", "Content-Type": "application/json"})
            await response.prepare(request)
            await response.write(json.dumps(reply).encode()[:80])
            assert request.transport is not None
            request.transport.close()
            return response
        return web.json_response(reply)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    import asyncio

    async def main() -> None:
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        pipe.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(main())


def write_run(path: Path, completions: int) -> None:
    """Write a run folder with completions of two models, right with probability `RIGHT`."""
    rng = random.Random(3)
    questions = [f"q{i}" for i in range(completions // 10)]
    with RunFolder(path) as folder:
        manifest.begin(path, manifest.Manifest(seed=0, benchmarks={"facts": {"kind": "file"}}))
        folder.put_prompts(
            ("facts", q, "default", [{"role": "user", "content": f"Question {q}?"}], "right", None) for q in questions
        )
        number = 0
        for model in ("a", "b"):
            for q in questions:
                rows = []
                for generation in range(1, 6):
                    number += 1
                    text = f"answer number {number} is {'right' if rng.random() < RIGHT else 'wrong'}"
                    rows.append(
                        Response("facts", model, q, "default", generation, None, "unscored", completion=text,
                                 target="right", created=1.0)
                    )  # fmt: skip
                folder.append(rows)
        folder.compact()
        manifest.finish(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--verdicts", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=2)
    options = parser.parse_args()
    repeats = 2
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    with tempfile.TemporaryDirectory() as base:
        run, judge = Path(base, "run"), Path(base, "judge.yaml")
        write_run(run, options.verdicts // repeats)
        judge.write_text(
            f"model: {{model: judge, base_url: 'http://127.0.0.1:{port}/v1', timeout: 30}}\nrepeats: {repeats}\n"
            "concurrency: 64\n"
        )
        command = [sys.executable, "-m", "howsure", "rescore", str(run), "--judge", str(judge), "--retry", "failed"]
        start, sessions = time.perf_counter(), 0
        for kill in range(options.kills + 1):
            sessions += 1
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if kill < options.kills:
                time.sleep(15)
                process.send_signal(signal.SIGKILL)
                process.wait()
            else:
                _, err = process.communicate()
                print(err.splitlines()[-1] if err else "", file=sys.stderr)
        seconds = time.perf_counter() - start
        (folder,) = find_judge_folders(run)
        rows = read(folder, ["question", "generation", "status", "answer", "attempts", "score"]).to_pylist()
        keys = Counter((row["question"], row["generation"]) for row in rows)
        units = {unit for ids in read_completions(folder)[1]["units"].to_pylist() for unit in ids}
        wanted = {(unit, g) for unit in units for g in range(1, repeats + 1)}
        status = Counter(row["status"] for row in rows)
        readable = [row["score"] for row in rows if row["score"] is not None]
        expected = RIGHT * SENSITIVITY + (1 - RIGHT) * (1 - SPECIFICITY)
        mean = sum(readable) / len(readable)
    server.kill()
    print(f"{len(rows):,} verdicts on {len(units):,} completions in {seconds:.0f} s and {sessions} sessions")
    print(f"missing {len(wanted - keys.keys())}, doubled {sum(n > 1 for n in keys.values())}, status {dict(status)}")
    print(f"retried {sum(row['attempts'] > 1 for row in rows):,}")
    print(f"judged right {mean:.4f}, expected {expected:.4f}; unreadable {status['unparsed'] / len(rows):.4f}")
    print(f"exit code {process.returncode}")
    failed = len(wanted - keys.keys()) or len(rows) != len(keys) or status["error"] or abs(mean - expected) > 0.01
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
