"""Make examples/logs: two logs of Inspect, of simulated assistants on questions of `directions-small`, three epochs.

The second assistant is truly better by about .05 and reasons longer, and two questions have a wrong target. Tokens are
a quarter of the characters. `python examples/make_logs.py`
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from howsure.benchmarks import load

FOLDER = Path(__file__).parent / "logs"
EPOCHS = 3
#: Questions whose target is made wrong.
WRONG = (17, 58)
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}
#: Mean number of tokens of reasoning per answer, by the number of the assistant.
REASONING = {1: 90, 2: 240}
PHRASES = ("{}", "The answer is {}.", "You are facing {}.", "**{}**")


def main() -> None:
    """Write the two logs."""
    questions = [question for question in load("directions-small").questions if str(question.target) in OPPOSITE][:80]
    rng, token_rng = np.random.default_rng(9), np.random.default_rng(10)
    easy = rng.beta(0.9, 0.6, len(questions))
    FOLDER.mkdir(exist_ok=True)
    for number, gain in ((1, 0.0), (2, 0.05)):
        chance = np.clip(easy + gain, 0, 1)
        samples, means = [], []
        started = datetime(2026, 11, 20 + number, 10, tzinfo=UTC)
        usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, "reasoning_tokens": 0}
        for i, question in enumerate(questions):
            right = str(question.target)
            target = OPPOSITE[right] if i in WRONG else right
            n_correct = 0
            for epoch in range(1, EPOCHS + 1):
                wrong = sorted(set(OPPOSITE) - {right})[int(rng.integers(3))]
                said = right if i in WRONG or rng.random() < chance[i] else wrong
                text = PHRASES[int(rng.integers(len(PHRASES)))].format(said)
                n_correct += said == target
                tokens = count_tokens(question.text, text, int(token_rng.poisson(REASONING[number])))
                usage = {name: n + tokens[name] for name, n in usage.items()}
                model = f"lab/assistant-{number}"
                seconds = round(0.4 + tokens["output_tokens"] / 60, 3)
                begin = started + timedelta(seconds=5 * (EPOCHS * i + epoch - 1))
                sample = {
                    "id": question.id,
                    "epoch": epoch,
                    "input": question.text,
                    "target": target,
                    "messages": [],
                    "output": {"model": model, "completion": text},
                    "scores": {"match": {"value": "C" if said == target else "I", "answer": said}},
                    "model_usage": {model: tokens},
                    "started_at": begin.isoformat(),
                    "completed_at": (begin + timedelta(seconds=seconds)).isoformat(),
                    "total_time": seconds,
                    "uuid": f"{number}-{i}-{epoch}",
                }
                samples.append(sample)
            means.append(n_correct / EPOCHS)
        spec = {
            "task": "directions",
            "model": model,
            "eval_id": f"assistant-{number}",
            "task_id": f"directions-{number}",
            "created": started.isoformat(),
            "dataset": {"name": "directions", "samples": len(questions)},
            "config": {"epochs": EPOCHS},
            "model_generate_config": {"temperature": 0.7},
        }
        metrics = {"accuracy": np.mean(means), "stderr": np.std(means, ddof=1) / np.sqrt(len(means))}
        log = {
            "version": 2,
            "status": "success",
            "eval": spec,
            "plan": {"steps": []},
            "results": {
                "total_samples": len(samples),
                "completed_samples": len(samples),
                "scores": [
                    {
                        "name": "match",
                        "scorer": "match",
                        "scored_samples": len(questions),
                        "unscored_samples": 0,
                        "params": {},
                        "metrics": {
                            name: {"name": name, "value": float(v), "params": {}} for name, v in metrics.items()
                        },
                    }
                ],
            },
            "stats": {
                "started_at": samples[0]["started_at"],
                "completed_at": samples[-1]["completed_at"],
                "model_usage": {model: usage},
            },
            "samples": samples,
        }
        path = FOLDER / f"2026-11-2{number}_directions_assistant-{number}.json"
        path.write_text(json.dumps(log, separators=(",", ":")) + "\n", encoding="utf-8")


def count_tokens(prompt: str, text: str, n_reasoning: int) -> dict[str, int]:
    """Return the usage of a request in the form of Inspect, where tokens of reasoning are part of the output."""
    n_read, n_written = -(-len(prompt) // 4), -(-len(text) // 4) + n_reasoning
    return {
        "input_tokens": n_read,
        "output_tokens": n_written,
        "total_tokens": n_read + n_written,
        "reasoning_tokens": n_reasoning,
    }


if __name__ == "__main__":
    main()
