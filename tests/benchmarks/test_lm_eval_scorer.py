"""Kind of truth: another program's output: the harness's own tasks, on rows of the layout of their data sets.

The rows are local, because the tests have no network; all else is the task as the harness has it.
"""

from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path

import pytest
from helpers.lm_eval_tasks import evaluate
from helpers.long_cases import mark_long

from howsure.benchmarks import load
from howsure.errors import HowsureWarning
from howsure.scorers.scorer_parts import ScoringItem

pytest.importorskip("lm_eval", reason="the extra lm-eval is not installed")

TASKS = Path(importlib.util.find_spec("lm_eval").origin).parent / "tasks"

GSM8K = [
    {"question": f"Ann has {i} eggs and {i} more. How many?", "answer": f"{i}+{i}={2 * i}\n#### {2 * i}"}
    for i in range(11, 19)
]
PRO = [
    {
        "question_id": i,
        "question": f"What is {i} times 3?",
        "options": [str(3 * i + shift) for shift in (1, 0, 2, 5)],
        "answer": "B",
        "answer_index": 1,
        "cot_content": f"A: Let's think step by step. {i} times 3 is {3 * i}. The answer is (B).",
        "category": "math",
        "src": "made",
    }
    for i in range(6)
]
GPQA = [
    {
        "Question": f"Which gas number {i}?",
        "Correct Answer": f"Argon {i}",
        "Incorrect Answer 1": f"Neon {i}",
        "Incorrect Answer 2": f"Xenon {i}",
        "Incorrect Answer 3": f"Radon {i}",
    }
    for i in range(6)
]
NOTHING = {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": []}
DROP = [
    {
        "query_id": f"d{i}",
        "passage": "The Bears scored 14 points and the Lions 7.",
        "question": question,
        "answer": {**NOTHING, **answer},
        "validated_answers": {
            "number": [answer.get("number", "")],
            "date": [NOTHING["date"]],
            "spans": [answer.get("spans", [])],
        },
    }
    for i, (question, answer) in enumerate(
        [
            ("How many points did the Bears score?", {"number": "14"}),
            ("Who won?", {"spans": ["Bears"]}),
            ("Which teams played?", {"spans": ["Bears", "Lions"]}),
            ("How many points more?", {"number": "7"}),
        ]
    )
]
TRIVIA = [
    {"question": "Who wrote Emma", "answer": {"aliases": ["Jane Austen", "Austen"], "value": "Jane Austen"}},
    {"question": "Capital of Peru", "answer": {"aliases": ["Lima"], "value": "Lima"}},
    {
        "question": "Largest ocean",
        "answer": {"aliases": ["Pacific", "Pacific Ocean", "The Pacific"], "value": "Pacific Ocean"},
    },
]
OPEN = [
    {"question": "who wrote emma", "answer": ["Jane Austen"]},
    {"question": "capital of peru", "answer": ["Lima"]},
    {"question": "first month", "answer": ["January"]},
]
BBH = [
    {"input": "not ( True ) and ( True ) is", "target": "False"},
    {"input": "True or False is", "target": "True"},
    {"input": "False or False is", "target": "False"},
]
AIME = [{"ID": f"2024-{i}", "Problem": f"Find {i} plus 100.", "Solution": "-", "Answer": i + 100} for i in range(1, 5)]
MATH = [
    {
        "problem": "What is one half?",
        "solution": r"It is $\boxed{\frac{1}{2}}$.",
        "level": "Level 1",
        "type": "Algebra",
    },
    {"problem": "What is 2+2?", "solution": r"It is $\boxed{4}$.", "level": "Level 1", "type": "Algebra"},
    {"problem": "Give the interval.", "solution": r"It is $\boxed{[2,5)}$.", "level": "Level 2", "type": "Algebra"},
]
#: Task, its file, rows by split, filter, metric, and forms of completions; {i} is the place of the row.
CASES = [
    (
        "gsm8k",
        "gsm8k/gsm8k.yaml",
        {"test": GSM8K, "train": GSM8K},
        "strict-match",
        "exact_match",
        ["#### {n}", "It is {n}.", "", "#### 5"],
    ),
    (
        "gsm8k",
        "gsm8k/gsm8k.yaml",
        {"test": GSM8K, "train": GSM8K},
        "flexible-extract",
        "exact_match",
        ["#### {n}", "It is ${n}.", "", "no"],
    ),
    (
        "gsm8k_cot",
        "gsm8k/gsm8k-cot.yaml",
        {"test": GSM8K},
        "strict-match",
        "exact_match",
        ["The answer is {n}.", "the answer is {n}", "The answer is 3."],
    ),
    (
        "bbh_cot_zeroshot_boolean_expressions",
        "bbh/cot_zeroshot/boolean_expressions.yaml",
        {"test": BBH},
        "flexible-extract",
        "exact_match",
        ["so it is False", "The answer is True.", ""],
    ),
    (
        "mmlu_pro_math",
        "mmlu_pro/mmlu_pro_math.yaml",
        {"test": PRO, "validation": PRO[:5]},
        "custom-extract",
        "exact_match",
        ["the answer is (B).", "answer is C", "", "B"],
    ),
    (
        "gpqa_main_cot_zeroshot",
        "gpqa/cot_zeroshot/gpqa_main_cot_zeroshot.yaml",
        {"train": GPQA},
        "flexible-extract",
        "exact_match",
        ["(A)", "The answer is (B).", "I say Argon {i}", "(C) or (D)"],
    ),
    (
        "drop",
        "drop/default.yaml",
        {"train": DROP, "validation": DROP},
        "none",
        "f1",
        [" 14", " The Bears", " Bears and Lions", "", " seven"],
    ),
    ("drop", "drop/default.yaml", {"train": DROP, "validation": DROP}, "none", "em", [" 14", " Bears", " 7 points"]),
    (
        "triviaqa",
        "triviaqa/default.yaml",
        {"train": TRIVIA, "validation": TRIVIA},
        "remove_whitespace",
        "exact_match",
        [" Jane Austen", " lima!", " pacific", ""],
    ),
    (
        "nq_open",
        "nq_open/nq_open.yaml",
        {"train": OPEN, "validation": OPEN},
        "remove_whitespace",
        "exact_match",
        [" Jane Austen", " ['Lima']", " the january"],
    ),
    (
        "aime24",
        "aime/aime24.yaml",
        {"train": AIME},
        "none",
        "exact_match",
        [r"so \boxed{{m}}", "$ {m} $", r"\boxed{5}", ""],
    ),
    (
        "hendrycks_math_algebra",
        "hendrycks_math/hendrycks_math_algebra.yaml",
        {"train": MATH, "test": MATH},
        "none",
        "exact_match",
        [r"\boxed{\frac12}", "$4$", r"$[2,5)$", "no"],
    ),
]


def write_task(folder, name, file, rows):
    """Write a task that is the harness's own with local rows."""
    tasks = folder / "tasks"
    tasks.mkdir(parents=True, exist_ok=True)
    for split, content in rows.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in content))
    files = {split: str(folder / f"{split}.jsonl") for split in rows}
    (tasks / "local.yaml").write_text(
        f"include: {TASKS / file}\ntask: {name}\ndataset_path: json\ndataset_name: null\n"
        f"dataset_kwargs: {json.dumps({'data_files': files})}\n"
    )
    return tasks


def load_local(name, tasks, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        return load({"name": f"lm_eval/{name}", "include_path": str(tasks), **options})


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.parametrize(("name", "file", "rows", "filter_name", "metric", "forms"), mark_long(CASES, after=3))
def test_the_harnesss_own_tasks_give_its_own_prompts_and_scores(tmp_path, name, file, rows, filter_name, metric, forms):
    tasks = write_task(tmp_path, name, file, rows)
    benchmark = load_local(name, tasks, filter=filter_name, metric=metric)
    shown = set()
    for turn in range(len(forms)):
        completions = [
            forms[(turn + place) % len(forms)]
            .replace("{n}", str(2 * (place + 11)))
            .replace("{m}", str(place + 101))
            .replace("{i}", str(place))
            for place in range(len(benchmark.questions))
        ]
        _, samples = evaluate(name, tasks, completions, apply_chat_template=True)
        expected = {
            one["doc_hash"]: (float(one[metric]), json.loads(one["arguments"][0][0]))
            for one in samples
            if one["filter"] == filter_name
        }
        ours = {
            question.id: (
                benchmark.scorer.score(
                    completion, ScoringItem(benchmark.name, question.id, "", question.stored_target)
                ).score,
                benchmark.prompt.messages(question),
            )
            for question, completion in zip(benchmark.questions, completions, strict=True)
        }
        assert ours == expected
        shown |= {score for score, _ in ours.values()}
    assert len(shown) > 1  # the completions tell right from wrong


def test_choices_that_a_task_shuffles_have_the_same_order_each_time(tmp_path):
    tasks = write_task(
        tmp_path, "gpqa_main_cot_zeroshot", "gpqa/cot_zeroshot/gpqa_main_cot_zeroshot.yaml", {"train": GPQA}
    )
    first, second = (load_local("gpqa_main_cot_zeroshot", tasks) for _ in range(2))
    assert first.source["sha256"] == second.source["sha256"]
    assert {question.target for question in first.questions} > {"(A)"}
