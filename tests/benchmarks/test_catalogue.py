"""Published benchmarks: rows of the form in which each is published, its prompts, and how completions are scored."""

import functools
import importlib.util
import json
import pathlib
import re
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from helpers.code_problems import PROBLEMS, needs_isolation

from howsure.benchmarks import catalogue, describe_benchmarks, load
from howsure.benchmarks.question_file import parse_file_spec
from howsure.errors import InputError, UnknownNameError
from howsure.models.model import Choice, Reply, Request, Settings
from howsure.prompts.variants import FixedPrompt
from howsure.sample.scored_rows import score_reply
from howsure.scorers.scorer_parts import ScoringItem

END = 'Think step by step. Finish with a line of the form "Answer: X", where X is the letter of the right choice.'

#: Functions in the form of CRUXEval, with an input each.
CRUXEVAL_ROWS = [
    {"id": f"sample_{i}", "code": code, "input": given, "output": output}
    for i, (code, given, output) in enumerate(
        [
            ("def f(nums):\n    return nums[::-1]", "[1, 2, 3]", "[3, 2, 1]"),
            ("def f(text, n):\n    return text[:n]", "'hello', 2", "'he'"),
            ("def f(d):\n    return {v: k for k, v in d.items()}", "{'a': 1}", "{1: 'a'}"),
            ("def f(x):\n    return x * 2, x > 1", "3", "(6, True)"),
            ("def f(s):\n    return s.split(',')", "'a,b'", "['a', 'b']"),
            ("def f(a):\n    a.sort()\n    return a", "[2, 1]", "[1, 2]"),
            ("def f(s):\n    return s.replace('{', '\\\\')", "'{x}'", "'\\\\x}'"),
            ("def f(n):\n    return None if n else 0", "1", "None"),
            ("def f(s):\n    return ''.join(sorted(set(s)))", "'hello'", "'ehlo'"),
            ("def f(*xs):\n    return sum(xs)", "1, 2", "3"),
        ]
    )
]
#: A question of each task of BBH: its name, question, choices and target.
BBH_ROWS = [
    ("boolean_expressions", "not ( True ) and ( True ) is", [], "False"),
    ("causal_judgement", "Did Al cause the fire?", [], "No"),
    ("date_understanding", "Yesterday was April 30, 2021. What is the date today in MM/DD/YYYY?", ["05/01/2021", "03/11/2021"], "A"),
    ("dyck_languages", "Complete the rest of the sequence, making sure that the parentheses are closed properly. Input: [ ( {", [], "} ) ]"),
    ("formal_fallacies", "All As are Bs. Is the argument deductively valid or invalid?", [], "invalid"),
    ("multistep_arithmetic_two", "((-5 + 9) - (4 * 7)) =", [], "-24"),
    ("navigate", "Take 2 steps. Turn around. Take 2 steps. Do you return to the starting point?", [], "Yes"),
    ("object_counting", "I have two cats, a dog, and five plums. How many animals do I have?", [], "3"),
    ("sports_understanding", "Is the following sentence plausible? Ann Lee scored a goal.", [], "yes"),
    ("web_of_lies", "Al lies. Bo says Al tells the truth. Does Bo tell the truth?", [], "No"),
    ("word_sorting", "Sort the following words alphabetically: List: bee cat apple", [], "apple bee cat"),
    *((name, f"Which is the second of {name}?", ["first", "second", "third"], "B") for name in (
        *("disambiguation_qa", "geometric_shapes", "hyperbaton", "logical_deduction_five_objects"),
        *("logical_deduction_seven_objects", "logical_deduction_three_objects", "movie_recommendation", "penguins_in_a_table"),
        *("reasoning_about_colored_objects", "ruin_names", "salient_translation_error_detection", "snarks", "temporal_sequences"),
        *("tracking_shuffled_objects_five_objects", "tracking_shuffled_objects_seven_objects"),
        "tracking_shuffled_objects_three_objects",
    )),
]  # fmt: skip
#: Rows in the form of each benchmark: (file below the folder, rows). Questions are ours, in the published fields.
ROWS = {
    "gsm8k": {
        "main/test-00000-of-00001.parquet": [
            {"question": "Tom has 3 boxes of 4 pens. How many pens has he?", "answer": "He has 3*4=<<3*4=12>>12 pens.\n#### 12"},
            {"question": "A car costs $12,000 and loses a tenth. What is it worth?", "answer": "It is worth $<<12000*.9=10800>>10,800.\n#### 10,800"},
        ],
        "main/train-00000-of-00001.parquet": [
            {"question": f"What is {i} + 1?", "answer": f"{i}+1=<<{i}+1={i + 1}>>{i + 1}\n#### {i + 1}"} for i in range(7)
        ],
    },
    "math-500": {
        "test.jsonl": [
            {"problem": "What is $\\frac12+\\frac14$?", "solution": "...", "answer": "\\frac{3}{4}", "subject": "Prealgebra", "level": 1, "unique_id": "test/prealgebra/1.json"},
            {"problem": "Solve $x^2=2$ for $x>0$.", "solution": "...", "answer": "\\sqrt{2}", "subject": "Algebra", "level": 2, "unique_id": "test/algebra/2.json"},
        ]
    },
    "simpleqa": {
        "simple_qa_test_set.csv": [
            {"metadata": "{'topic': 'Geography', 'answer_type': 'Place', 'urls': ['https://a.example/b']}", "problem": "In which town was the first bridge over the Foo built?", "answer": "Bar"},
            {"metadata": "{'topic': 'Music', 'answer_type': 'Date', 'urls': []}", "problem": 'When did "Quux, 2" come out?', "answer": "3 May 1971"},
        ]
    },
    "simpleqa-verified": {
        "data/train-00000-of-00001.parquet": [
            {"original_index": 5, "problem": "Who built the Foo?", "answer": "Ann Bar", "topic": "Art", "answer_type": "Person", "multi_step": False},
            {"original_index": 9, "problem": "How long is it?", "answer": "12 km (acceptable range: 11 to 13)", "topic": "Geography", "answer_type": "Number", "multi_step": True},
        ]
    },
    "aime-2024": {"aime_2024_problems.parquet": [{"ID": "2024-I-1", "Problem": "Find n.", "Solution": "...", "Answer": 204}, {"ID": "2024-I-2", "Problem": "Find m.", "Solution": "...", "Answer": 25}]},
    "aime-2025": {"test.jsonl": [{"id": "0", "problem": "Find b.", "answer": "70"}, {"id": "1", "problem": "Find c.", "answer": "016"}]},
    "mmlu": {
        "all/test-00000-of-00001.parquet": [
            {"question": "Which planet is the largest?", "subject": "astronomy", "choices": ["Mars", "Jupiter", "Venus", "Earth"], "answer": 1},
            {"question": "Where is the femur?", "subject": "anatomy", "choices": ["arm", "leg", "leg", "head"], "answer": 1},
            {"question": "Where is the femur?", "subject": "anatomy", "choices": ["arm", "leg", "leg", "head"], "answer": 1},
        ],
        "all/dev-00000-of-00001.parquet": [
            {"question": f"{subject} {i}?", "subject": subject, "choices": ["a", "b", "c", "d"], "answer": i % 4}
            for subject in ("anatomy", "astronomy")
            for i in range(5)
        ],
        "all/validation-00000-of-00001.parquet": [{"question": "no", "subject": "anatomy", "choices": ["a", "b"], "answer": 0}],
    },
    "mmlu-pro": {
        "data/test-00000-of-00001.parquet": [
            {"question_id": 70, "question": "Which gas?", "options": [f"gas {i}" for i in range(10)], "answer": "I", "answer_index": 8, "cot_content": "", "category": "chemistry", "src": "x"},
            {"question_id": 71, "question": "Which law?", "options": ["one", "two", "three"], "answer": "A", "answer_index": 0, "cot_content": "", "category": "law", "src": "x"},
        ],
        "data/validation-00000-of-00001.parquet": [
            {"question_id": i, "question": f"v{i}?", "options": ["p", "q"], "answer": "B", "answer_index": 1, "cot_content": f"A: Let's think step by step. It is q, as {i}. The answer is (B).", "category": category, "src": "x"}
            for i, category in enumerate(["chemistry", "law"] * 5)
        ],
    },
    "gpqa-diamond": {
        "gpqa_diamond.csv": [
            {"Question": f"Question {i}?", "Correct Answer": f"right {i}", "Incorrect Answer 1": f"a{i}", "Incorrect Answer 2": f"b{i}", "Incorrect Answer 3": f"c{i}", "Record ID": f"rec{i}", "High-level domain": "Physics", "Subdomain": "Optics"}
            for i in range(40)
        ]
    },
    "gpqa": {
        "gpqa_main.csv": [
            {"Question": f"Question {i}?", "Correct Answer": f"right {i}", "Incorrect Answer 1": f"a{i}", "Incorrect Answer 2": f"b{i}", "Incorrect Answer 3": f"c{i}", "Record ID": f"rec{i}", "High-level domain": "Physics", "Subdomain": "Optics"}
            for i in range(40)
        ],
        "gpqa_diamond.csv": [{"Question": "no"}],
    },
    "musr": {
        "murder_mystery.csv": [
            {"narrative": "The knife was in the study.", "question": "Who is the most likely murderer?", "choices": "['Ann', \"Bob O'Neil\"]", "answer_index": 1, "answer_choice": "Bob O'Neil"}
        ],
        "object_placements.csv": [
            {"narrative": "Eve put the key under the mat. {Then} she left.", "question": f"Where would {who} look for the key?", "choices": "['mat', 'shelf', 'drawer']", "answer_index": i, "answer_choice": ""}
            for i, who in enumerate(("Eve", "Dan"))
        ],
        "team_allocation.csv": [
            {"narrative": "Cooking and cleaning.", "question": "How should the team work?", "choices": "['Cooking: Al, cleaning: Bo', 'Cooking: Bo, cleaning: Al']", "answer_index": 0, "answer_choice": ""}
        ],
    },
    "arc-challenge": {
        "ARC-Challenge/test-00000-of-00001.parquet": [
            {"id": "M_1", "question": "What melts?", "choices": {"text": ["ice", "rock", "sand", "wood"], "label": ["A", "B", "C", "D"]}, "answerKey": "A"},
            {"id": "M_2", "question": "What burns?", "choices": {"text": ["ice", "water", "wood", "sand"], "label": ["1", "2", "3", "4"]}, "answerKey": "3"},
        ],
        "ARC-Easy/test-00000-of-00001.parquet": [{"id": "no", "question": "no", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": "A"}],
        "ARC-Challenge/validation-00000-of-00001.parquet": [{"id": f"V{i}", "question": f"v{i}?", "choices": {"text": ["x", "y"], "label": ["A", "B"]}, "answerKey": "B"} for i in range(5)],
    },
    "hellaswag": {
        "data/validation-00000-of-00001.parquet": [
            {"ind": 1, "activity_label": "Cooking", "ctx": "A man cuts an onion. He", "endings": ["flies.", "puts it in a pan.", "eats the pan.", "sings it."], "label": "1", "source_id": "a"},
            {"ind": 2, "activity_label": "Cooking", "ctx": "She boils water and", "endings": ["adds the tea.", "burns.", "runs.", "reads."], "label": "0", "source_id": "b"},
        ]
    },
    "winogrande": {
        "winogrande_xl/validation-00000-of-00001.parquet": [
            {"sentence": "The cup did not fit into the box, as the _ was too big.", "option1": "cup", "option2": "box", "answer": "1"},
            {"sentence": "The cup did not fit into the box, as the _ was too small.", "option1": "cup", "option2": "box", "answer": "2"},
        ],
        "winogrande_xs/validation-00000-of-00001.parquet": [{"sentence": "no _", "option1": "a", "option2": "b", "answer": "1"}],
    },
    "ifeval": {
        "ifeval_input_data.jsonl": [
            {"key": 1000, "prompt": "Name two colours. Use no commas.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]},
            {"key": 1001, "prompt": "Write 3 words or more in quotes.", "instruction_id_list": ["length_constraints:number_words", "startend:quotation"], "kwargs": [{"num_words": 3, "relation": "at least"}, {}]},
        ]
    },
    "humaneval": {
        "openai_humaneval/test-00000-of-00001.parquet": [problem.row for problem in PROBLEMS],
    },
    "humaneval-plus": {"data/test-00000-of-00001.parquet": [problem.row | {"test": "import numpy as np\n" + problem.test} for problem in PROBLEMS]},
    "mbpp": {
        "sanitized/test-00000-of-00001.parquet": [
            {"source_file": "own", "task_id": i, "prompt": f"Write a function to multiply a number by {i}.", "code": f"def times(x):\n    return {i} * x", "test_imports": ["import math"] if i % 2 else [], "test_list": [f"assert times(2) == {2 * i}", f"assert times(-1) == {-i}", "assert times(0) == 0"]}
            for i in range(2, 14)
        ],
        "full/test-00000-of-00001.parquet": [{"task_id": 1, "text": "no", "code": "", "test_list": [], "test_setup_code": "", "challenge_test_list": []}],
    },
    "cruxeval-output": {"test.jsonl": CRUXEVAL_ROWS},
    "cruxeval-input": {"test.jsonl": CRUXEVAL_ROWS},
    "drop": {
        "drop_validation.parquet": [
            {"section_id": "nfl_1", "query_id": f"q{i}", "passage": "The Foxes led 14-3, and Ann Lee scored from 12 yards in St. Bar.", "question": question,
             "answer": {"number": number, "date": {"day": day, "month": month, "year": year}, "spans": spans, "worker_id": "", "hit_id": ""},
             "validated_answers": {"number": [other], "date": [{"day": "", "month": "", "year": ""}], "spans": [[]], "worker_id": [""], "hit_id": [""]}}
            for i, (question, number, day, month, year, spans, other) in enumerate([
                ("How many points did the Foxes lead by?", "11", "", "", "", [], "11"),
                ("Who scored?", "", "", "", "", ["Ann Lee"], ""),
                ("Which teams scored?", "", "", "", "", ["Foxes", "Baltimore Ravens"], ""),
                ("When was it?", "", "3", "May", "1971", [], ""),
                ("How many yards?", "12", "", "", "", [], "12.0"),
                ("Where?", "", "", "", "", ["St. Bar"], ""),
                ("Which share, in per cent?", "3.5", "", "", "", [], "4"),
                ("How many field goals?", "0", "", "", "", [], ""),
                ("Which year?", "", "", "", "1914", [], ""),
                ("Who lost?", "", "", "", "", ["the Old Bears"], ""),
            ])
        ],
        "drop_train.parquet": [{"query_id": "no"}],
    },
    "bbh": {
        f"{subset}/{subset}-00000-of-00001.parquet": [{"question": question, "choices": {"label": [f"({'ABC'[i]})" for i in range(len(choices))], "text": choices}, "target": target} if choices else {"question": question, "target": target}]
        for subset, question, choices, target in BBH_ROWS
    },
    "truthfulqa-mc": {
        "multiple_choice/validation-00000-of-00001.parquet": [
            {"question": f"Myth {i}?", "mc1_targets": {"choices": [f"true {i}", f"false {i}", f"wrong {i}"], "labels": [1, 0, 0]}, "mc2_targets": {"choices": ["x"], "labels": [1]}}
            for i in range(40)
        ]
    },
}  # fmt: skip


def write_layout(folder, name):
    """Write the files of a benchmark as they are published."""
    for file, rows in ROWS[name].items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        else:
            import csv

            with path.open("w", newline="", encoding="utf-8") as file_object:
                writer = csv.DictWriter(file_object, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
    return folder


@pytest.fixture
def published(tmp_path):
    def load_it(name, **options):
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            benchmark = load({"name": name, "path": str(write_layout(tmp_path, name)), **options})
        load_it.warnings = [str(warning.message) for warning in raised]
        return benchmark

    return load_it


def scores(benchmark, i, *texts):
    """Score completions to a question as a live run does."""
    question = benchmark.questions[i]
    variant = FixedPrompt(benchmark, benchmark.prompt)
    generations = tuple(range(1, len(texts) + 1))
    request = Request(benchmark.name, question.id, variant.id, [], generations, Settings(), prompt_variant=variant)
    rows = score_reply(benchmark, question, "m", request, Reply(tuple(Choice(text, "stop") for text in texts)))
    return [row.score for row in rows]


def test_every_entry_can_be_asked():
    """Each entry has keys that exist, a template with its fields, and a source."""
    assert set(ROWS) == set(catalogue.list_names())
    for name in catalogue.list_names():
        entry = catalogue.load_entry(name)
        parsed = parse_file_spec({"file": name, **entry.benchmark})
        assert parsed.keys["template"].startswith(("{question}", "Which ", "Complete the Python", "```python")), name
        assert bool(entry.source.hub) != bool(entry.source.url)
        assert re.search(r"\d{4}", entry.citation)
        assert re.fullmatch(r"[0-9a-f]{40}|", entry.source.revision), name


def test_gsm8k(published):
    benchmark = published("gsm8k")
    assert [question.target for question in benchmark.questions] == ["12", "10800"]
    assert benchmark.prompt.messages(benchmark.questions[0]) == [
        {
            "role": "user",
            "content": "Tom has 3 boxes of 4 pens. How many pens has he?\n\nThink step by step. Finish with a line of "
            'the form "Answer: N", where N is the result as a number.',
        }
    ]
    texts = [
        "3 boxes of 4.\nAnswer: 12",
        "**Answer: 12 pens**",
        "Answer: $12.00",
        "So 12.\nAnswer: 11",
        "Answer:",
        "I do not know.",
    ]
    assert scores(benchmark, 0, *texts) == [1, 1, 1, 0, 0, 0]
    assert scores(benchmark, 1, "Answer: 10,800", "Answer: $10800", "Answer: 10.8") == [1, 1, 0]


def test_gsm8k_with_five_shots_shows_solutions_in_the_form_that_is_asked_for(published):
    benchmark = published("gsm8k", shots=5)
    messages = benchmark.prompt.messages(benchmark.questions[0])
    assert [message["role"] for message in messages] == ["user", "assistant"] * 5 + ["user"]
    assert messages[1]["content"] == "0+1=1\nAnswer: 1"
    with pytest.raises(InputError, match="7 questions for 8 shots"):
        published("gsm8k", shots=8)


def test_math_500(published):
    benchmark = published("math-500")
    assert benchmark.strata == {"subject": ["Prealgebra", "Algebra"], "level": ["1", "2"]}
    assert benchmark.questions[0].id == "test/prealgebra/1.json"
    texts = ["\\boxed{\\frac{3}{4}}", "It is $\\boxed{0.75}$.", "\\boxed{3/4}", "\\boxed{\\frac{4}{3}}", "no idea"]
    assert scores(benchmark, 0, *texts) == [1, 1, 1, 0, 0]
    benchmark.scorer.close()


@pytest.mark.parametrize(("name", "target"), [("aime-2024", "204"), ("aime-2025", "70")])
def test_aime(published, name, target):
    benchmark = published(name)
    assert benchmark.questions[0].target == target
    assert scores(benchmark, 0, f"Answer: {target}", f"\\boxed{{{target}}}", "Answer: 203", "") == [1, 1, 0, 0]


def test_mmlu_keeps_what_stands_in_it_twice(published):
    benchmark = published("mmlu")
    assert published.warnings == [
        "mmlu: kept, but odd: 2 with two equal choices (row 2, row 3); 1 that repeat a question (row 3)",
        "mmlu: 3 questions in place of 14,042: this is not the whole published set",
    ]
    first, second, third = benchmark.questions
    assert (first.target, second.target, third.id) == ("B", "B", f"{second.id}-2")
    assert benchmark.prompt.messages(first)[0]["content"] == (
        f"Which planet is the largest?\n\nA. Mars\nB. Jupiter\nC. Venus\nD. Earth\n\n{END}"
    )
    texts = [
        "Answer: B",
        "Answer: **B. Jupiter**",
        "It is Jupiter.\n\nAnswer: (B)",
        "Answer: A",
        "Mars or Jupiter",
        "Answer: E",
    ]
    assert scores(benchmark, 0, *texts) == [1, 1, 1, 0, 0, 0]


def test_mmlu_shows_questions_of_the_same_subject(published):
    benchmark = published("mmlu", shots=5, where={"subject": "anatomy"})
    assert not any("whole" in warning for warning in published.warnings)
    messages = benchmark.prompt.messages(benchmark.questions[0])
    assert len(messages) == 11
    assert all(message["content"].startswith("anatomy") for message in messages[:-1:2])
    assert messages[1] == {"role": "assistant", "content": "Answer: A"}


def test_so_many_questions_of_each_stratum(published, monkeypatch):
    """Each stratum keeps its number, more of them keep the fewer ones, and the order of rows does not matter."""

    def sample(count):
        rows = [
            {
                "question": f"{i}?",
                "subject": f"subject {min(i % 5, 3) if i < 15 else i % 3}",
                "choices": ["a", "b", "c", "d"],
                "answer": 1,
            }
            for i in range(99)
        ]
        rows = [row for row in rows if row["subject"] != "subject 3" or row["question"] in ("3?", "8?", "13?")]
        monkeypatch.setitem(ROWS, "mmlu", {"all/test-00000-of-00001.parquet": rows})
        return published("mmlu", per_stratum=count)

    fewer, more = sample(5), sample(8)
    assert not any("whole" in warning for warning in published.warnings)
    subjects = [f"subject {i}" for i in range(4)]
    assert [fewer.strata["subject"].count(subject) for subject in subjects] == [5, 5, 5, 3]
    assert [more.strata["subject"].count(subject) for subject in subjects] == [8, 8, 8, 3]
    assert {question.id for question in fewer.questions} < {question.id for question in more.questions}
    for count in (0, -1, "5"):
        with pytest.raises(InputError, match="per_stratum is"):
            sample(count)
    with pytest.raises(InputError, match="benchmark has no strata"):
        published("gsm8k", per_stratum=5)


def test_mmlu_pro(published):
    benchmark = published("mmlu-pro", shots=5)
    first, second = benchmark.questions
    assert (first.id, first.target, len(first.choices), second.target) == ("70", "I", 10, "A")
    assert benchmark.prompt.messages(second)[1]["content"] == "Let's think step by step. It is q, as 1.\nAnswer: B"
    assert scores(benchmark, 0, "The answer is (I).", "Answer: I", "Answer: J", "I do not know") == [1, 1, 0, 0]


@pytest.mark.parametrize("name", ["gpqa-diamond", "gpqa"])
def test_gpqa_shuffles_the_choices(published, name):
    benchmark = published(name)
    letters = [question.target for question in benchmark.questions]
    assert {letter: letters.count(letter) >= 3 for letter in "ABCD"} == dict.fromkeys("ABCD", True)
    for i, question in enumerate(benchmark.questions):
        assert question.choices[ord(question.target) - ord("A")] == f"right {i}"
        assert question.id == f"rec{i}"
    assert scores(benchmark, 0, f"Answer: {letters[0]}", "The answer is right 0.", "a0")[:2] == [1, 1]


def test_musr_asks_with_its_narrative(published):
    benchmark = published("musr")
    murder, eve, dan, _ = benchmark.questions
    content = benchmark.prompt.messages(murder)[0]["content"]
    assert content.startswith(
        "The knife was in the study.\n\nWho is the most likely murderer?\n\nA. Ann\nB. Bob O'Neil\n"
    )
    assert eve.id != dan.id
    assert "{Then} she left." in benchmark.prompt.messages(eve)[0]["content"]
    assert benchmark.clusters[1] == benchmark.clusters[2] != benchmark.clusters[0]
    assert benchmark.strata["subset"] == ["murder_mysteries", *["object_placements"] * 2, "team_allocation"]
    assert scores(benchmark, 0, "Answer: B", "Answer: Bob O'Neil", "Answer: A") == [1, 1, 0]
    one = published("musr", where={"subset": "object_placements"})
    assert [question.id for question in one.questions] == [eve.id, dan.id]


def test_arc_reads_labels_that_are_numbers(published):
    benchmark = published("arc-challenge")
    assert [question.target for question in benchmark.questions] == ["A", "C"]
    assert scores(benchmark, 1, "Answer: C", "wood", "Answer: A") == [1, 1, 0]


def test_hellaswag_and_winogrande(published):
    benchmark = published("hellaswag")
    assert [question.target for question in benchmark.questions] == ["B", "A"]
    assert "A man cuts an onion. He\n\nA. flies." in benchmark.prompt.messages(benchmark.questions[0])[0]["content"]
    benchmark = published("winogrande")
    assert [question.target for question in benchmark.questions] == ["A", "B"]
    assert scores(benchmark, 1, "Answer: B", "box", "cup") == [1, 1, 0]


def test_drop(published):
    benchmark = published("drop")
    assert [question.stored_target for question in benchmark.questions] == [
        *("11", "Ann Lee", "Foxes; Baltimore Ravens", "3 May 1971", '["12", "12.0"]', "St. Bar", '["3.5", "4"]', "0"),
        *("1914", "the Old Bears"),
    ]
    assert len(set(benchmark.clusters)) == 1
    content = benchmark.prompt.messages(benchmark.questions[1])[0]["content"]
    assert content == (
        "The Foxes led 14-3, and Ann Lee scored from 12 yards in St. Bar.\n\nWho scored?\n\nThink step by step. Finish "
        'with a line of the form "Answer: X", where X is a number, a date or the shortest words of the text that answer '
        "the question. Separate several parts with semicolons."
    )
    texts = [
        ("14 - 3 = 11.\nAnswer: 11", 1), ("Answer: 12", 0), ("Answer: 11 points", 0.67), ("**Answer:** **11**", 1),
    ]  # fmt: skip
    assert scores(benchmark, 0, *(text for text, _ in texts)) == [score for _, score in texts]
    assert scores(benchmark, 1, "Answer: Ann Lee.", "It was Ann Lee.", "Answer: Lee", "Answer:") == [1, 0.67, 0.67, 0]
    # Two spans: the words of "Ravens" are half of those of the target's, F1 2/3, so that the mean is (1 + 2/3) / 2.
    spans = ["Answer: Baltimore Ravens; Foxes", "Answer: the Foxes; Ravens", "Answer: Foxes", "I cannot know."]
    assert scores(benchmark, 2, *spans) == [1, 0.83, 0.5, 0]
    assert scores(benchmark, 3, "Answer: May 3, 1971", "Answer: 4 May 1971", "Answer: 1971") == [1, 0.67, 0.5]
    assert scores(benchmark, 4, "Answer: 12", "Answer: 12.0", "Answer: 12-yard", "Answer: twelve") == [1, 1, 0.67, 0]
    assert scores(benchmark, 5, "Answer: St. Bar", "Answer: in St. Bar") == [1, 0.8]
    assert scores(benchmark, 6, "Answer: 3.5%", "Answer: 4", "Answer: 35") == [1, 1, 0]
    assert scores(benchmark, 7, "Answer: 0", "Answer: none") == [1, 0]
    exact = published("drop", scorer="drop:exact")
    assert scores(exact, 2, "Answer: Baltimore Ravens; Foxes", "Answer: the Foxes; Ravens") == [1, 0]


def test_bbh_has_questions_with_choices_and_without(published):
    benchmark = published("bbh")
    assert not any("left out" in warning for warning in published.warnings)
    by_task = dict(zip(benchmark.strata["subset"], range(27), strict=True))
    assert set(by_task) == set(catalogue.load_entry("bbh").source.subsets)
    for name, question, choices, target in BBH_ROWS:
        asked = benchmark.questions[by_task[name]]
        assert (asked.text, list(asked.choices), asked.target) == (question, choices, target)
    content = benchmark.prompt.messages(benchmark.questions[by_task["snarks"]])[0]["content"]
    assert content.startswith("Which is the second of snarks?\n\nA. first\nB. second\nC. third\n\nThink step by step.")
    content = benchmark.prompt.messages(benchmark.questions[by_task["object_counting"]])[0]["content"]
    assert content == (
        "I have two cats, a dog, and five plums. How many animals do I have?\n\nThink step by step. Finish with a line of "
        'the form "Answer: X", where X is the letter of the right choice, or the answer itself if there are no choices.'
    )
    completions = {
        "snarks": {"Answer: B": 1, "Answer: (B) second": 1, "second": 1, "Answer: C": 0, "A or B": 0},
        "boolean_expressions": {"Answer: False": 1, "Answer: **False**": 1, "Answer: True": 0, "Answer: not": 0},
        "dyck_languages": {"Answer: } ) ]": 1, "Answer: })]": 1, "Answer: ] ) }": 0, "Answer: } )": 0},
        "formal_fallacies": {"Answer: invalid": 1, "Answer: Invalid.": 1, "Answer: valid": 0, "It is hard.": 0},
        "multistep_arithmetic_two": {"So -24.\nAnswer: -24": 1, "Answer: 24": 0, "Answer: -24.0": 1, "Answer:": 0},
        "navigate": {"Answer: Yes": 1, "Answer: No": 0, "Answer: yes.": 1},
        "object_counting": {"2 + 1 = 3.\nAnswer: 3": 1, "Answer: three": 1, "Answer: 8": 0},
        "word_sorting": {"Answer: apple bee cat": 1, "Answer: apple, bee, cat": 1, "Answer: bee apple cat": 0},
    }  # fmt: skip
    for name, expected in completions.items():
        assert scores(benchmark, by_task[name], *expected) == list(expected.values()), name
    one = published("bbh", where={"subset": "navigate"})
    assert [question.target for question in one.questions] == ["Yes"]


def read_published_bbh():
    """Return the three questions of each task that lm-evaluation-harness shows, with choices, target and solution."""
    spec = importlib.util.find_spec("lm_eval")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the extra lm-eval is not installed")

    class Loader(yaml.SafeLoader):
        """Reads the tags of the harness as None."""

    Loader.add_multi_constructor("!", lambda *_: None)
    folder = pathlib.Path(spec.submodule_search_locations[0], "tasks", "bbh", "cot_fewshot")
    rows = {}
    for file in sorted(folder.glob("*.yaml")):
        config = yaml.load(file.read_text(encoding="utf-8"), Loader)  # a subclass of the safe loader
        for sample in config.get("fewshot_config", {}).get("samples", ()) if "dataset_name" in config else ():
            question, _, options = sample["input"].partition("Options:")
            choices = re.findall(r"^\s*(\([A-Z]\)) (.*)$", options, re.MULTILINE)
            solution, _, target = sample["target"].rstrip(".").rpartition("o the answer is ")
            row = {
                "question": (question if choices else sample["input"]).strip(),
                "target": target.strip("()") if choices else target,
            }
            if choices:
                row["choices"] = {"label": [label for label, _ in choices], "text": [text for _, text in choices]}
            rows.setdefault(config["dataset_name"], []).append((row, solution))
    return rows  # fmt: skip


def test_published_questions_of_bbh_with_their_published_solutions(tmp_path):
    """81 questions of the 27 tasks; each solution is right for its own question and wrong for other targets."""
    published_rows = read_published_bbh()
    for name, rows in published_rows.items():
        path = tmp_path / name / f"{name}-00000-of-00001.parquet"
        path.parent.mkdir()
        pq.write_table(pa.Table.from_pylist([row for row, _ in rows]), path)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        benchmark = load({"name": "bbh", "path": str(tmp_path)})
    assert not any("left out" in str(warning.message) for warning in raised)
    assert len(benchmark.questions) == sum(map(len, published_rows.values())) == 81
    places = {}
    for i, name in enumerate(benchmark.strata["subset"]):
        places.setdefault(name, []).append(i)
    wrong = []
    for name, rows in published_rows.items():
        for i, (row, _) in zip(places[name], rows, strict=True):
            completions, expected = [], []
            for other, solution in rows:
                label = f"({other['target']})" if "choices" in other else other["target"]
                completions += [
                    f"{solution}o the answer is {label}.",
                    f"{solution}o we are done.\n\n**Answer:** {label}",
                    f"{solution}o:\nAnswer: {other['target']}",
                ]
                expected += [float(other["target"] == row["target"])] * 3
            wrong += [
                (name, row["target"], text[-80:])
                for text, score, truth in zip(completions, scores(benchmark, i, *completions), expected, strict=True)
                if score != truth
            ]
    assert wrong == []


def test_rows_of_bbh_that_cannot_be_read_are_left_out_and_said(published, monkeypatch):
    bad = {"question": "Which?", "choices": {"label": ["(A)", "(B)"], "text": ["one", "two"]}, "target": "C"}
    rows = {**ROWS["bbh"], "ruin_names/ruin_names-00000-of-00001.parquet": [bad]}
    monkeypatch.setitem(ROWS, "bbh", rows)
    assert len(published("bbh").questions) == 26
    assert published.warnings[0] == (
        "bbh: 1 of 27 rows are left out: 1 with a target that is none of the choices "
        "(ruin_names-00000-of-00001.parquet, row 1)"
    )


@needs_isolation
@pytest.mark.parametrize("name", [pytest.param("humaneval", marks=pytest.mark.long), "humaneval-plus"])
def test_humaneval_runs_the_tests_of_the_question(published, name):
    benchmark = published(name)
    problem = PROBLEMS[1]
    assert benchmark.questions[1].id == "Own/count_vowels"
    assert benchmark.prompt.messages(benchmark.questions[1])[0]["content"] == (
        "Complete the Python function. Give the whole function with its imports in one block of code.\n\n```python\n"
        f"{problem.prompt}\n```"
    )
    for i in range(0, len(PROBLEMS), 1 if name == "humaneval" else 7):
        problem = PROBLEMS[i]
        texts = [f"```python\n{problem.prompt}{problem.solution}```", problem.broken[0], "I cannot."]
        assert scores(benchmark, i, *texts) == [1, 0, 0]
    benchmark.scorer.close()


@pytest.mark.long
@needs_isolation
def test_mbpp_shows_its_tests_and_runs_them(published):
    benchmark = published("mbpp")
    assert benchmark.prompt.messages(benchmark.questions[0])[0]["content"] == (
        "Write a function to multiply a number by 2.\n\nThe code has to pass these tests:\n\n```python\n"
        "assert times(2) == 4\nassert times(-1) == -2\nassert times(0) == 0\n```\n\nGive the code in one block."
    )
    for i, question in enumerate(benchmark.questions):
        factor = int(question.id)
        texts = [
            f"```python\ndef times(x):\n    return {factor} * x\n```",
            "def times(x): return 2 + x",
            "import sys; sys.exit(0)",
        ]
        assert scores(benchmark, i, *texts) == [1, 0, 0]
    benchmark.scorer.close()


@pytest.mark.long
@needs_isolation
def test_cruxeval_compares_values(published):
    benchmark = published("cruxeval-output")
    assert benchmark.prompt.messages(benchmark.questions[1])[0]["content"] == (
        "```python\ndef f(text, n):\n    return text[:n]\n\nf('hello', 2)\n```\n\nWhich value does the call return? Think "
        'step by step. Finish with a line of the form "Answer: VALUE", where VALUE is a literal of Python.'
    )
    for i, row in enumerate(CRUXEVAL_ROWS):
        assert scores(benchmark, i, f"It is so.\nAnswer: {row['output']}", "Answer: 'other'") == [1, 0]
    benchmark.scorer.close()
    benchmark = published("cruxeval-input")
    assert benchmark.prompt.messages(benchmark.questions[1])[0]["content"] == (
        "```python\ndef f(text, n):\n    return text[:n]\n\nf(...) == 'he'\n```\n\nWith which arguments does the call return "
        "that value? Several may; give one. Think step by step. Finish with a line of the form "
        '"Answer: f(ARGUMENTS)".'
    )
    for i, row in enumerate(CRUXEVAL_ROWS):
        assert scores(benchmark, i, f"Answer: f({row['input']})", "Answer: f('no', 'such', 'thing')") == [1, 0]
    benchmark.scorer.close()


def test_truthfulqa_shuffles_the_choices(published):
    benchmark = published("truthfulqa-mc")
    for i, question in enumerate(benchmark.questions):
        assert question.choices[ord(question.target) - ord("A")] == f"true {i}"
    assert len({question.target for question in benchmark.questions}) == 3


def test_ifeval_checks_all_instructions_or_the_share_of_them(published):
    benchmark = published("ifeval")
    assert benchmark.prompt.messages(benchmark.questions[0])[0]["content"] == "Name two colours. Use no commas."
    assert [question.id for question in benchmark.questions] == ["1000", "1001"]
    assert scores(benchmark, 0, "red and blue", "red, blue", "") == [1, 0, 0]
    assert scores(benchmark, 1, '"one two three"', "one two three", '"one"') == [1, 0, 0]
    share = published("ifeval", scorer="ifeval:loose-share")
    assert scores(share, 1, "one two three", 'Here:\n"one two three"') == [0.5, 1]


@functools.cache
def read_task_files(folder):
    """Return the text of each file of the harness that names a task, by the first task of each."""
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.yaml"), reverse=True))
    return {named[1]: text for text in texts if (named := re.search(r"^task: (\S+)$", text, re.MULTILINE))}


@pytest.mark.parametrize("name", [n for n in catalogue.list_names() if catalogue.load_entry(n).lm_eval])
def test_the_prompt_of_the_harness_is_that_of_its_task(published, name):
    """Another program: the harness's own template, filled with the published row."""
    tasks = pathlib.Path(pytest.importorskip("lm_eval").__file__).parent / "tasks"
    from lm_eval.utils import apply_template

    task = catalogue.load_entry(name).lm_eval["task"]
    text = read_task_files(tasks)[task]
    if "doc_to_text" not in text:  # it includes the file that has it
        text = (tasks / "hendrycks_math" / re.search(r"^include: (.*)$", text, re.MULTILINE)[1]).read_text()
    written = re.search(r"^doc_to_text: (.*)$", text, re.MULTILINE)[1]
    template = json.loads(written) if written.startswith('"') else f"{{{{{written}}}}}"
    benchmark = published(name, prompt="lm-eval")
    (rows, *_) = ROWS[name].values()
    for question, row in zip(benchmark.questions, rows, strict=True):
        assert benchmark.prompt.messages(question) == [{"role": "user", "content": apply_template(template, row)}]
    assert json.loads(benchmark.source["spec"])["prompt"] == "lm-eval"
    if benchmark.scorer is not None:
        benchmark.scorer.close()


def test_shots_beside_the_prompt_of_the_harness_have_its_answers(published):
    messages = published("gsm8k", prompt="lm-eval", shots=2).prompt.messages
    turns = [turn["content"] for turn in messages(published("gsm8k").questions[0])]
    assert turns[:2] == ["Question: What is 0 + 1?\nAnswer:", "0+1=<<0+1=1>>1\n#### 1"]
    benchmark = published("gsm8k", prompt="lm-eval")
    assert scores(benchmark, 0, "3*4=12\n#### 12", " 12", "#### 13") == [1, 1, 0]


def test_a_prompt_that_the_catalogue_does_not_have(published):
    with pytest.raises(InputError, match=r"benchmark mmlu: .*lm_eval/TASK; it is there for aime-2024, .*gsm8k"):
        published("mmlu", prompt="lm-eval")
    with pytest.raises(InputError, match="prompt is 'helm'; write prompt: lm-eval"):
        published("gsm8k", prompt="helm")
    with pytest.raises(InputError, match="prompt beside template; keep one of them"):
        published("gsm8k", prompt="lm-eval", template="{question}")


def test_options_and_names_that_do_not_exist(published, tmp_path):
    with pytest.raises(UnknownNameError, match="unknown option of benchmark gsm8k 'shot'; did you mean 'shots'"):
        load({"name": "gsm8k", "shot": 5})
    with pytest.raises(UnknownNameError, match="unknown benchmark 'gsm-8k'; did you mean 'gsm8k'"):
        load("gsm-8k")
    with pytest.raises(InputError, match="math-500 has no questions to show"):
        load({"name": "math-500", "shots": 5, "path": str(tmp_path)})
    benchmark = published("gsm8k", template="Q: {question}", system="Be brief.")
    assert [turn["content"] for turn in benchmark.prompt.messages(benchmark.questions[0])] == [
        "Be brief.",
        "Q: Tom has 3 boxes of 4 pens. How many pens has he?",
    ]


def test_what_the_manifest_keeps_says_where_questions_come_from_and_no_folder(published, tmp_path):
    source = published("gsm8k", shots=2).source
    assert source["data"] == "openai/gsm8k"
    assert source["revision"].startswith("cc7b047b")
    assert json.loads(source["spec"]) == {"name": "gsm8k", "shots": 2}
    assert str(tmp_path) not in str(source)


def test_descriptions():
    rows = describe_benchmarks()
    assert {"directions-small", "gsm8k", "gpqa-diamond"} <= {row["name"] for row in rows}
    (row,) = describe_benchmarks("mmlu")
    assert (row["questions"], row["scorer"], row["data"]) == (14042, "choice", "cais/mmlu")


def test_questions_for_a_judge_have_their_topics_and_no_score_of_their_own(published):
    benchmark = published("simpleqa")
    assert [question.target for question in benchmark.questions] == ["Bar", "3 May 1971"]
    assert benchmark.strata == {"metadata.topic": ["Geography", "Music"], "metadata.answer_type": ["Place", "Date"]}
    assert benchmark.scorer.name == "judge"
    with pytest.raises(InputError, match="--judge FILE"):
        benchmark.scorer.score("Bar", ScoringItem("simpleqa", "q", "v", "Bar"))
    verified = published("simpleqa-verified")
    assert [question.id for question in verified.questions] == ["5", "9"]
    assert verified.strata["topic"] == ["Art", "Geography"]
