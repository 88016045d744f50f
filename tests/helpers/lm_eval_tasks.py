"""Tasks of lm-evaluation-harness with local rows, completions for them, and the harness's own scores of these.

The harness scores through `simple_evaluate`, with a model that replays completions; nothing of howsure takes part.
"""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path

SUMS = [{"question": f"What is {i} + {i + 7}?", "answer": f"We add them. #### {2 * i + 7}"} for i in range(1, 13)]
SHOTS = [{"question": f"What is {i} + 100?", "answer": f"It is easy. #### {i + 100}"} for i in range(1, 9)]
CITIES = [
    {"q": f"Which of these has {n} letters?", "choices": ["Oslo", "Paris", "Berlin"], "right": "ABC"[n - 4]}
    for n in (4, 5, 6)
] + [{"q": "Which is in Norway?", "choices": ["Oslo", "Paris", "Berlin"], "right": "A"}]
ESSAYS = [{"topic": topic, "words": words} for topic, words in (("sea", 4), ("rain", 6), ("moon", 3), ("mill", 5))]

UTILS = """
def process_results(doc, results):
    text = results[0]
    words = text.split()
    return {
        "share": min(len(words) / doc["words"], 1.0),
        "no_comma": "," not in text,
        "pair": (text, doc["topic"]),
        "length": len(words),
    }


def count_hits(items):
    return sum(topic in text for text, topic in items) / len(items)


def starts_well(references, predictions, **kwargs):
    return float(predictions[0][:1] == references[0][:1])


def process_docs(dataset):
    return dataset.map(lambda doc: {"letters": "".join("ABC"[i] + ". " + text + "\\n" for i, text in enumerate(doc["choices"]))})
"""

TASKS = {
    "local_sums": """
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS/sums.jsonl, train: ROWS/shots.jsonl}}
output_type: generate_until
training_split: train
fewshot_split: train
test_split: test
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: "{{answer}}"
num_fewshot: 3
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    regexes_to_ignore: [",", "\\\\$", "(?s).*#### ", "\\\\.$"]
generation_kwargs: {until: ["Question:", "</s>"], do_sample: false, temperature: 0.0, max_gen_toks: 200}
filter_list:
  - name: strict
    filter:
      - {function: regex, regex_pattern: "#### (\\\\-?[0-9\\\\.\\\\,]+)"}
      - {function: take_first}
  - name: flexible
    filter:
      - {function: regex, group_select: -1, regex_pattern: "(-?[$0-9.,]{2,})|(-?[0-9]+)"}
      - {function: take_first}
metadata: {version: 3.0}
""",
    "local_choice": """
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS/cities.jsonl}}
output_type: generate_until
test_split: test
process_docs: !function utils.process_docs
description: "Answer with a letter.\\n\\n"
doc_to_text: "{{q}}\\n{{letters}}"
doc_to_target: "({{right}})"
gen_prefix: "The answer is"
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true, ignore_punctuation: true}
generation_kwargs: {until: ["\\n\\n"], max_gen_toks: 32}
filter_list:
  - name: letter
    filter:
      - {function: multi_choice_regex, group_select: 0, regex_pattern: "(\\\\([A-Z]\\\\))", ignore_case: true, ignore_punctuation: true}
      - {function: take_first}
metadata: {version: 1.0}
""",
    "local_essay": """
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS/essays.jsonl}}
output_type: generate_until
test_split: test
doc_to_text: "Write about the {{topic}}."
doc_to_target: "{{topic}}"
process_results: !function utils.process_results
metric_list:
  - {metric: share, aggregation: mean, higher_is_better: true}
  - {metric: no_comma, aggregation: mean, higher_is_better: true}
  - {metric: pair, aggregation: !function utils.count_hits, higher_is_better: true}
generation_kwargs: {until: ["</s>"], temperature: 0.6, top_p: 0.9, do_sample: true, top_k: 20}
""",
    "local_starts": """
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS/essays.jsonl}}
output_type: generate_until
test_split: test
doc_to_text: "Name the topic of {{topic}}."
doc_to_target: "{{topic}}"
metric_list:
  - {metric: !function utils.starts_well, aggregation: mean, higher_is_better: true}
generation_kwargs: {until: ["</s>"], temperature: 0.6}
""",
    "local_names": """
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS/names.jsonl}}
output_type: generate_until
test_split: test
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: names
num_fewshot: 0
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true, ignore_punctuation: true}
filter_list:
  - name: clean
    filter:
      - {function: remove_whitespace}
      - {function: lowercase}
      - {function: take_first}
generation_kwargs: {until: ["\\n", ".", ","]}
metadata: {version: 2}
""",
    "local_corpus": """
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS/essays.jsonl}}
output_type: generate_until
test_split: test
doc_to_text: "Translate {{topic}}."
doc_to_target: "{{topic}}"
metric_list:
  - {metric: bleu}
  - {metric: chrf}
generation_kwargs: {until: ["\\n"]}
""",
    "local_likelihood": """
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS/cities.jsonl}}
output_type: multiple_choice
test_split: test
doc_to_text: "{{q}}"
doc_to_choice: choices
doc_to_target: "{{right}}"
""",
    "local_likelihood_generative": """
include: local_names.yaml
task: local_likelihood_generative
""",
    "local_code": """
include: local_names.yaml
task: local_code
unsafe_code: true
""",
    "local_votes": """
include: local_names.yaml
task: local_votes
repeats: 8
filter_list:
  - name: maj@8
    filter:
      - {function: take_first_k, k: 8}
      - {function: majority_vote}
      - {function: take_first}
  - name: first
    filter:
      - {function: take_first}
""",
}
GROUPS = {
    "local_group": "group: local_group\ntask: [local_names, local_same]\naggregate_metric_list: [{metric: exact_match, aggregation: mean, weight_by_size: true}]\n",
    "local_same": 'include: local_names.yaml\ntask: local_same\ndoc_to_text: "Tell me: {{question}}"\ntag: [local_tag]\n',
}
NAMES = [
    {"question": "Capital of Chile?", "names": ["Santiago", "santiago de chile"]},
    {"question": "Capital of France?", "names": ["Paris"]},
    {"question": "Capital of Peru?", "names": ["Lima", "Ciudad de los Reyes"]},
]
#: Completions that the filters read in different ways, by task; some right, wrong, empty, and odd.
COMPLETIONS = {
    "local_sums": [
        "#### {x}",
        "The sum is {x}.",
        "#### {y}",
        "It is {y}, no, ${x}",
        "",
        "none",
        "#### {x}\n#### {y}",
        "<think>{y}</think> #### {x}",
    ],
    "local_choice": [" (A)", "(b), I think", "Berlin", "", " (C).", "Oslo or (B)", "the letter is a"],
    "local_essay": [
        "the sea, the sea",
        "rain rain rain rain rain rain",
        "",
        "moon",
        "a, b, c, d, e, f, g",
        "   ",
        "mill, mill",
    ],
    "local_starts": ["sea", "rain", "moon", "mill", "", "Sea", "x"],
    "local_names": [
        "Santiago",
        " paris ",
        "Lima!",
        "LIMA",
        "",
        "Ciudad de los Reyes",
        "I do not know",
        "Paris, France",
    ],
}


def write_tasks(folder: Path) -> Path:
    """Write the tasks and their rows, and return the folder with the tasks."""
    rows, tasks = folder / "rows", folder / "tasks"
    for one in (rows, tasks):
        one.mkdir(parents=True, exist_ok=True)
    for name, content in (("sums", SUMS), ("shots", SHOTS), ("cities", CITIES), ("essays", ESSAYS), ("names", NAMES)):
        (rows / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in content))
    (tasks / "utils.py").write_text(UTILS)
    for name, text in TASKS.items():
        head = "" if "\ntask:" in text else f"task: {name}\n"
        (tasks / f"{name}.yaml").write_text(head + text.lstrip().replace("ROWS", str(rows)))
    for name, text in GROUPS.items():
        (tasks / f"{name}.yaml").write_text(text)
    return tasks


def complete(task: str, place: int, generation: int) -> str:
    """Return a completion of a row, another one for each generation."""
    forms = COMPLETIONS[task]
    form = forms[(3 * place + 5 * generation) % len(forms)]
    return form.replace("{x}", str(2 * (place + 1) + 7)).replace("{y}", str(place + 31))


def evaluate(task: str, tasks: Path | None, completions: list[str], **options: object) -> tuple[dict, list[dict]]:
    """Return the harness's own results of a task on completions (one for each row), and its samples."""
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    class Replay(LM):
        tokenizer_name = "none"

        def generate_until(self, requests, **_):
            return [completions[request.doc_id] for request in requests]

        def loglikelihood(self, requests):
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

        def apply_chat_template(self, chat_history, **_):
            return json.dumps(chat_history, ensure_ascii=False)

        def chat_template(self, *_):
            return "none"

    logging.getLogger("lm_eval").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        manager = TaskManager(include_path=str(tasks), include_defaults=False)
        output = simple_evaluate(
            Replay(), tasks=[task], task_manager=manager, bootstrap_iters=0, log_samples=True, verbosity=None, **options
        )
    return output["results"][task], output["samples"][task]
