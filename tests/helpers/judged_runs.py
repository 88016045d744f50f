"""Run folders that a scripted judge has scored."""

from __future__ import annotations

import warnings
from pathlib import Path

from howsure.judging import judge_run
from howsure.models.model import Choice, Reply, Request
from howsure.sample.experiment import BudgetConfig
from howsure.sample.judge_config import parse_judge
from howsure.sample.yaml_source import YamlSource
from howsure.store import manifest
from howsure.store.responses import RunFolder
from howsure.store.schema import Response


class YesJudge:
    """Says CORRECT of completions with "yes" in them, and nothing readable of those with "mumble"."""

    async def generate(self, request: Request) -> Reply:
        shown = request.messages[-1]["content"].partition("Answer to check:")[2]
        word = "CORRECT" if "yes" in shown.partition("<<end")[0] else "INCORRECT"
        reply = "I cannot say." if "mumble" in shown.partition("<<end")[0] else f"Verdict: {word}"
        choices = tuple(Choice(reply, "stop") for _ in request.generations)
        return Reply(choices, "r", "yes-judge", None, 10, 5)

    async def close(self) -> None:
        pass


def write_judged_run(
    path: Path,
    *,
    n_questions: int,
    generations: int,
    wrong: dict[str, int],
    refused: int = 0,
    unreadable: int = 0,
    is_default: bool = True,
) -> Path:
    """A run of the models in `wrong` of whose completions so many, the first ones, are judged wrong.

    Of each model the last `refused` completions are refusals, and the verdicts on the `unreadable` before are none.
    """
    questions = [f"q{i}" for i in range(n_questions)]
    with RunFolder(path) as folder:
        manifest.begin(path, manifest.Manifest(seed=0, benchmarks={"facts": {"kind": "file"}}))
        folder.put_prompts(
            ("facts", q, "default", [{"role": "user", "content": f"Question {q[1:]}?"}], "yes", None) for q in questions
        )
        rows = []
        for model, n_wrong in wrong.items():
            for i, (q, g) in enumerate((q, g) for q in questions for g in range(1, generations + 1)):
                text = f"no {i}" if i < n_wrong else f"yes {i}"
                left = n_questions * generations - i
                status = "refused" if left <= refused else "unscored"
                if refused < left <= refused + unreadable:
                    text = f"mumble {i}"
                rows.append(
                    Response("facts", model, q, "default", g, None, status, completion=text, target="yes", created=1.0)
                )
        folder.append(rows)
        manifest.finish(path)
    judge = parse_judge(YamlSource("{model: simulated/large}", "judge.yaml"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code, _ = judge_run.judge_folder(
            path, judge, BudgetConfig(), is_default=is_default, open_model=lambda *_: YesJudge()
        )
    assert code == 0
    return path
