"""An experiment file: what it says, and one line for each way to get it wrong. Kind of truth: written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.benchmarks import Prompt, load
from howsure.errors import InputError
from howsure.models.model import Settings
from howsure.sample.estimate import dry_run
from howsure.sample.experiment import BudgetConfig, ModelConfig, load_experiment, parse_experiment

FULL = """\
benchmark: {file: test.jsonl, question: question, target: answer}
models:
  - simulated/medium
  - {model: openai/gpt-4o-mini, temperature: 0.7, top_p: 1.0}
  - model: local/llama-3.1-8b
    label: llama
    base_url: "http://localhost:8000/v1/"
    max_tokens: 512
    stop: ["\\n\\n"]
    max_concurrent: 8
    extra: {min_p: 0.05}
  - {model: meta/llama, base_url: "https://host/api/chat/completions", key_env: MY_KEY, stop: END}
generations: 10
greedy: true
variants:
  - {}
  - {system: "Be brief."}
  - {system: "", template: "Q: {question}\\nA:"}
limit: 100
seed: 7
concurrency: 32
"""


def test_every_field_arrives():
    experiment = parse_experiment(FULL, base=Path("here"))
    assert experiment.benchmark == {"file": "test.jsonl", "question": "question", "target": "answer"}
    assert (experiment.limit, experiment.seed, experiment.base) == (100, 7, Path("here"))
    own = Prompt("Own system.", "Own: {question}")
    assert [variant.prompt(own) for variant in experiment.variants] == [
        own,
        Prompt("Be brief.", "Own: {question}"),
        Prompt("", "Q: {question}\nA:"),
    ]
    assert [(m.label, m.name, m.kind, m.base_url, m.key_env) for m in experiment.models[::2]] == [
        ("simulated/medium", "medium", "simulated", "", ""),
        ("openai/gpt-4o-mini", "gpt-4o-mini", "endpoint", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("llama", "llama-3.1-8b", "endpoint", "http://localhost:8000/v1", ""),
        ("meta/llama", "meta/llama", "endpoint", "https://host/api", "MY_KEY"),
    ]
    assert [m.concurrency for m in experiment.models[::2]] == [32, 32, 8, 32]
    assert experiment.models[4].settings == Settings(max_tokens=512, stop=("\n\n",), extra={"min_p": 0.05})
    assert experiment.models[6].settings == Settings(stop=("END",))


def test_greedy_adds_a_model_that_decodes_greedily_once():
    models = parse_experiment(FULL).models
    assert [m.label for m in models[1::2]] == [f"{m.label}:greedy" for m in models[::2]]
    assert {m.generations for m in models[::2]} == {10}
    assert {m.generations for m in models[1::2]} == {1}
    assert models[3].settings == Settings(temperature=0.0)
    assert models[5].settings == Settings(temperature=0.0, max_tokens=512, stop=("\n\n",), extra={"min_p": 0.05})


def test_limits_budget_and_until_arrive():
    text = """
benchmark: b
models:
  - {model: m, base_url: "http://h/v1", requests_per_minute: 60, tokens_per_minute: 9000, timeout: 20, max_tokens: 100,
     price: {prompt: 0.15, completion: 0.6}}
  - {model: replay/gpt, label: r}
  - {model: transformers/org/name, max_tokens: 5}
until: {detect: 0.01, models: [m, r], level: 0.9}
budget: {calls: 10, tokens: 1000, minutes: 1.5, cost: 2.5}
"""
    experiment = parse_experiment(text)
    first, second, third = experiment.models
    assert (first.requests_per_minute, first.tokens_per_minute, first.timeout) == (60, 9000, 20)
    assert (first.price.prompt, first.price.completion, first.max_completion_tokens, first.is_billed) == (
        0.15,
        0.6,
        100,
        True,
    )
    assert (second.kind, second.name, second.is_billed) == ("replay", "gpt", False)
    assert (third.kind, third.name, third.max_completion_tokens) == ("transformers", "org/name", 5)
    assert (experiment.stopping.detect, experiment.stopping.models, experiment.stopping.level) == (
        0.01,
        ("m", "r"),
        0.9,
    )
    assert experiment.budget == BudgetConfig(10, 1000, 1.5, 2.5)


def test_defaults():
    experiment = parse_experiment("benchmark: directions-small\nmodels: [simulated/small]\n")
    assert experiment.models == (
        ModelConfig("simulated/small", "small", "simulated", settings=Settings(), generations=5, concurrency=64),
    )
    assert len(experiment.variants) == 1
    assert (experiment.limit, experiment.seed) == (None, 0)


START = "benchmark: directions-small\nmodels:\n  - simulated/medium\n"
WRONG = [
    ("", "e.yaml: the file is empty; write at least one key"),
    ("# nothing\n", "e.yaml: the file is empty; write at least one key"),
    ("models: [a\n", "e.yaml:2: not YAML: "),
    ("a: 'x\n", "e.yaml:2: not YAML: found unexpected end of stream; fix the syntax on or above it"),
    ("a: \x00\n", "e.yaml: not YAML: special characters are not allowed; fix"),
    ("a: *b\n", "e.yaml:1: not YAML: found undefined alias 'b'"),
    ("a: 2020-99-99\n", "e.yaml:1: a value of the type 'timestamp'; write text (in quotes), a number"),
    ("a: &a [*a]\n", "e.yaml:1: an alias contains itself; remove it"),
    ("[1, 2]\n", "e.yaml:1: a list is not allowed; give a mapping"),
    ("models: [simulated/medium]\n", "e.yaml:1: no 'benchmark'; add the key 'benchmark'"),
    (START + "genrations: 3\n", "e.yaml:4: genrations: unknown key 'genrations'; did you mean 'generations'?"),
    (START + "seed: 1\nseed: 2\n", "e.yaml:5: the key 'seed' occurs twice; remove one"),
    (START + "generations: 0\n", "e.yaml:4: generations: 0 is not allowed; give a whole number >= 1"),
    (START + "generations: many\n", "e.yaml:4: generations: 'many' is not allowed; give a whole number"),
    (START + "generations: true\n", "e.yaml:4: generations: True is not allowed; give a whole number"),
    (START + "greedy: 1\n", "e.yaml:4: greedy: 1 is not allowed; give true or false"),
    (START + "concurrency: 0\n", "e.yaml:4: concurrency: 0 is not allowed; give a whole number >= 1"),
    (START + "limit: -1\n", "e.yaml:4: limit: -1 is not allowed; give a whole number >= 1"),
    (START + "1: 2\n", "e.yaml:4: 1: unknown key '1'"),
    (
        START + "  - {model: replay/m, temperature: 0.5}\n",
        "e.yaml:4: models[1].temperature: a recorded model does not take temperature; remove it",
    ),
    (
        START + "  - replay/m\ngreedy: true\n",
        "e.yaml:5: greedy: a recorded model does not take greedy; remove it",
    ),
    (START + "until: {width: 0}\n", "e.yaml:4: until.width: 0 is not allowed; give a number > 0"),
    (START + "until: {detect: .nan}\n", "e.yaml:4: until.detect: nan is not allowed"),
    (START + "until: {width: 0.1, level: 1}\n", "e.yaml:4: until.level: 1 is not allowed; give a number < 1"),
    (START + "until: {detect: 0.1, power: 0.3}\n", "e.yaml:4: until.power: 0.3 is not allowed; give a number >= 0.5"),
    (START + "until: {width: 0.1, claim: single-run}\n", "e.yaml:4: until.claim: unknown claim 'single-run'; known"),
    (START + "until: {}\n", "e.yaml:4: until: give either width or detect"),
    (START + "until: {wdth: 1}\n", "e.yaml:4: until.wdth: unknown key 'wdth'; did you mean 'width'?"),
    (
        START + "until: {width: 0.02, rule: sequences}\n",
        "e.yaml:4: until.rule: unknown rule 'sequences'; did you mean 'sequence'",
    ),
    (START + "until: {detect: 0.01}\n", "e.yaml:4: until: detect with 1 models; name the pair"),
    (
        START + "until: {detect: 0.01, models: [simulated/medium, simulated/larg]}\n",
        "e.yaml:4: until: unknown model 'simulated/larg'",
    ),
    (
        START + "until: {width: 0.1, rule: prediction}\nallocate: adaptive\n",
        "e.yaml:4: until: rule 'prediction' needs rounds in which all questions are sampled, and adaptive allocation has none; use",
    ),
    (START + "allocate: some\n", "e.yaml:4: allocate: unknown allocate 'some'; known: adaptive, even"),
    (START + "budget: {cost: 0}\n", "e.yaml:4: budget.cost: 0 is not allowed; give a number > 0"),
    (START + "budget: {dollars: 5}\n", "e.yaml:4: budget.dollars: unknown key 'dollars'"),
    (
        START + "  - {model: m, base_url: 'http://h'}\nbudget: {tokens: 9}\n",
        "e.yaml:5: budget: completions of m have no bound, so a budget of tokens or money cannot be enforced; give the model max_tokens",
    ),
    (
        START + "  - {model: simulated/small, temperature: []}\n",
        "e.yaml:4: models[1].temperature: an empty list; give values",
    ),
    (
        START + "  - {model: simulated/small, mode: batch}\n",
        "e.yaml:4: models[1].mode: simulated/small has no batch mode; remove mode",
    ),
    (
        START + "  - {model: m, base_url: 'http://h', mode: batch}\nuntil: {width: 0.1}\n",
        "e.yaml:5: until: answers of a batch arrive all at once, too late to decide when to stop; remove 'until', or the mode of m",
    ),
    (
        START + "variants: {space: multiple-choice, sampel: 20}\n",
        "e.yaml:4: variants.sampel: unknown key 'sampel'; did you mean 'sample'?",
    ),
    (
        START + "  - {model: anthropic/c, dialect: anthropic}\n",
        "e.yaml:4: models[1].dialect: a dialect needs a base_url; add the base_url of an endpoint",
    ),
    (START + "variants: []\n", "e.yaml:4: variants: no variants; leave the key out"),
    (START + "variants:\n  - {}\n  - {}\n", "e.yaml:6: variants[1]: the same variant twice; remove one"),
    (
        START + "variants:\n  - template: hello\n",
        "e.yaml:5: variants[0].template: the template has no place for the question; write {question}",
    ),
    (START + "variants:\n  - sytem: x\n", "e.yaml:5: variants[0].sytem: unknown key 'sytem'; did you mean 'system'?"),
    ("benchmark: 3\nmodels: [simulated/m]\n", "e.yaml:1: benchmark: 3 is not allowed; give text or a mapping"),
    ("benchmark: b\nmodels: []\n", "e.yaml:2: models: no models; list at least one"),
    ("benchmark: b\nmodels: simulated/m\n", "e.yaml:2: models: 'simulated/m' is not allowed; give a list"),
    ("benchmark: b\nmodels:\n  - 4\n", "e.yaml:3: models[0]: 4 is not allowed; give text or a mapping"),
    ("benchmark: b\nmodels:\n  - ''\n", "e.yaml:3: models[0]: a model without a readable name"),
    ("benchmark: b\nmodels:\n  - {label: x}\n", "e.yaml:3: models[0]: no 'model'; add the key 'model'"),
    (START + "  - simulated/medium\n", "e.yaml:4: models[1]: two models are called 'simulated/medium'; give each"),
    ("benchmark: b\nmodels:\n  - gpt-4o\n", "e.yaml:3: models[0]: no endpoint is known for the model 'gpt-4o'; give"),
    ("benchmark: b\nmodels:\n  - openai/\n", "e.yaml:3: models[0]: no endpoint is known for the model 'openai/'"),
    (START + "  - {model: a, temprature: 1}\n", "models[1].temprature: unknown key 'temprature'; did you mean 'temp"),
    (START + "  - {model: simulated/x, key_env: K}\n", "models[1].key_env: a simulated model has no key; remove"),
]


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_what_is_wrong_is_told_in_one_line_with_its_place(text, told):
    with pytest.raises(InputError) as error:
        parse_experiment(text, where="e.yaml")
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_files(tmp_path):
    (tmp_path / "e.yaml").write_text("benchmark: b\nmodels: [simulated/small]\n")
    assert load_experiment(tmp_path / "e.yaml").base == tmp_path
    with pytest.raises(InputError, match="none.yaml: cannot read the experiment: No such file"):
        load_experiment(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"benchmark: \xff\n")
    with pytest.raises(InputError, match="cannot read the experiment: it is not UTF-8 text; give a YAML file"):
        load_experiment(tmp_path / "latin.yaml")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("generations: 2147483648", "generations: 2147483648 is not allowed; give a whole number <= 1000000"),
        ("generations: 99999999999999999999999999", "generations: "),
        ("variants: {sample: 2147483648}", "variants: sample is 2147483648; give at most 100,000"),
        ("limit: 99999999999999999999999999", "limit: "),
        ("concurrency: 1.0e300", "concurrency: "),
        ("budget: {calls: 99999999999999999999999999}", "calls: "),
    ],
)
def test_numbers_that_no_machine_holds_are_refused(tmp_path, line, expected):
    path = tmp_path / "e.yaml"
    path.write_text(f"benchmark: directions-small\nmodels: [simulated/m]\n{line}\n")
    with pytest.raises(InputError) as error:
        dry_run(load_experiment(path), tmp_path / "run")
    assert expected in str(error.value)


@pytest.mark.parametrize("name", ["/dev/zero", "a\0b", "x" * 300, "\ud800", "/", "."])
def test_a_path_that_is_no_experiment_is_one_line(name):
    with pytest.raises(InputError, match="cannot read the experiment|longer than 16,777,216 bytes"):
        load_experiment(name)


def test_a_device_is_no_benchmark(tmp_path):
    path = tmp_path / "e.yaml"
    path.write_text("benchmark: {file: zero.jsonl, question: q, target: t}\nmodels: [simulated/m]\n")
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="cannot read the benchmark: a pipe or a device, not a file"):
        load(load_experiment(path).benchmark, base=tmp_path)
