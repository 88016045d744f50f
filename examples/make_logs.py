"""Make examples/logs: two logs of Inspect, of simulated assistants on questions of `directions-small`, three epochs.

The second assistant is truly better by about .05, and two questions have a wrong target. `python examples/make_logs.py`
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from howsure.benchmarks import load

FOLDER = Path(__file__).parent / "logs"
EPOCHS = 3
#: Questions whose target is made wrong.
WRONG = (17, 58)
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}
PHRASES = ("{}", "The answer is {}.", "You are facing {}.", "**{}**")


def main() -> None:
    """Write the two logs."""
    questions = [question for question in load("directions-small").questions if str(question.target) in OPPOSITE][:80]
    rng = np.random.default_rng(9)
    easy = rng.beta(0.9, 0.6, len(questions))
    FOLDER.mkdir(exist_ok=True)
    for number, gain in ((1, 0.0), (2, 0.05)):
        chance = np.clip(easy + gain, 0, 1)
        samples = []
        for i, question in enumerate(questions):
            right = str(question.target)
            target = OPPOSITE[right] if i in WRONG else right
            for epoch in range(1, EPOCHS + 1):
                wrong = sorted(set(OPPOSITE) - {right})[int(rng.integers(3))]
                said = right if i in WRONG or rng.random() < chance[i] else wrong
                text = PHRASES[int(rng.integers(len(PHRASES)))].format(said)
                sample = {
                    "id": question.id,
                    "epoch": epoch,
                    "input": question.text,
                    "target": target,
                    "messages": [],
                    "output": {"model": f"lab/assistant-{number}", "completion": text},
                    "scores": {"match": {"value": "C" if said == target else "I", "answer": said}},
                    "uuid": f"{number}-{i}-{epoch}",
                }
                samples.append(sample)
        spec = {
            "task": "directions",
            "model": f"lab/assistant-{number}",
            "eval_id": f"assistant-{number}",
            "task_id": f"directions-{number}",
            "created": f"2026-11-2{number}T10:00:00+00:00",
            "dataset": {"name": "directions", "samples": len(questions)},
            "config": {"epochs": EPOCHS},
            "model_generate_config": {"temperature": 0.7},
        }
        log = {"version": 2, "status": "success", "eval": spec, "plan": {"steps": []}, "samples": samples}
        path = FOLDER / f"2026-11-2{number}_directions_assistant-{number}.json"
        path.write_text(json.dumps(log, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
