"""Each command that docs/papers.md names for a method runs on small data, and prints what the row says it has.

Kind of truth: the columns and words are those of the papers' methods, written from the table before the commands were run.
"""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml
from helpers.study_files import STUDIES, write_study

import howsure as hs

pytestmark = pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")

ROOT = Path(__file__).resolve().parents[2]
SMALL, LARGE = "'simulated llama-3.1-8b-instruct'", "'simulated llama-3.1-70b-instruct'"
PAIR = f"--a {SMALL} --b {LARGE}"
#: A command of the table: what it is called with, and words of its output. Names in capitals are results and experiments.
COMMANDS = {
    "attempts --k": ("GEN --k 1,2,4", "pass@k pass^k"),
    "attempts --majority": ("GEN --majority", "majority@k"),
    "audit": ("GEN", "question"),
    "audit --consistency plugin": ("GEN --consistency plugin --data-map", "consistency"),
    "audit --data-map": ("GEN --data-map", "p_correct consistency n_sets"),
    "audit --data-map --model": (f"GEN --data-map --model {SMALL}", "p_correct consistency n_sets"),
    "audit --sets": ("GEN --sets equal --every", "question"),
    "benchmarks": ("", "humaneval math-500 cruxeval mmlu gsm8k aime-2024 mbpp"),
    "benchmarks directions-large": ("", "5,760"),
    "benchmarks directions-small": ("", "100"),
    "benchmarks directions-small --show 3": ("", "yapping"),
    "benchmarks gpqa-diamond": ("", "198"),
    "benchmarks gsm8k": ("", "1,319"),
    "benchmarks ifeval": ("", "541"),
    "benchmarks mmlu": ("", "14,042"),
    "benchmarks mmlu-pro": ("", "12,032"),
    "benchmarks musr": ("", "756"),
    "benchmarks simpleqa": ("", "4,326"),
    "compare --weight": (f"NOISES --a {SMALL} --b {LARGE} --weight questions", "z"),
    "compare --greedy": ("GEN --greedy", "n_questions greedy se_greedy sampled se_sampled gap"),
    "compare --format wide": ("GEN --format wide", "p_sign wins_a wins_b ties se_rule_of_thumb se_independent"),
    "compare": (f"GEN {PAIR}", "se_data se_prediction"),
    "compare --a --b": (f"GEN --a {SMALL} --b {SMALL}", "se_data"),
    "compare --method clt": (f"GEN {PAIR} --method clt", "z p_value"),
    "compare --unpaired": (f"GEN {PAIR} --unpaired", "se_paired variance_ratio"),
    "convert --to": ("GEN --to eval-arena -o OUT", ""),
    "curve": ("STEPS", "step"),
    "plan --like all": ("--like all --format wide", "math500_cot se_data se_prediction"),
    "plan": (f"GEN --a {SMALL} --width .2", "questions generations"),
    "plan --like": ("--like math500 --accuracy .7 --detect .03", "n_questions"),
    "run --show-prompts": ("SPACE --show-prompts 20", "separator enumerator"),
    "compare --method run-means": (
        f"PI {PAIR.replace('llama-3.1-8b-instruct', 'gpt-4o default').replace('llama-3.1-70b-instruct', 'gpt-4o fixed')} --method run-means",
        "difference p_value",
    ),
    "questions": ("GEN", "difficulty"),
    "questions --beta score": ("GEN --beta score", "a b concentration"),
    "questions --beta score --zero": ("GEN --beta score --zero", "zero"),
    "questions --by model": ("GEN --by model", "p_correct"),
    "rank": ("GEN", "rank"),
    "rank --k": ("GEN --k 1", "p_above"),
    "repeats": ("PI", "mean sd worst best low high n_runs"),
    "repeats --show determinism": ("PI --show determinism", "n_varied share"),
    "repeats --show runs": ("PI --show runs", "run"),
    "repeats --method run-means": ("PI --method run-means", "low high run-means"),
    "repeats --method run-means --future": ("PI --method run-means --future 1", "n_future"),
    "repeats --show widths": ("PI --show widths --method run-means", "n_runs width is_narrow"),
    "report": ("GEN NOISES -o SITE", "SITE/index.html"),
    "rescore --scorer": ("GEN --scorer numeric", "numeric"),
    "run": ("EXPERIMENT --simulate -o OUT", "score"),
    "run --dry-run": ("EXPERIMENT --dry-run", "requests"),
    "score": ("GEN", "se_total se_data se_prediction"),
    "score --cluster": ("STEPS --cluster passage", "clusters"),
    "score --exclude": ("STEPS --exclude VERDICTS", "29"),
    "score --method bayesian-bootstrap": ("GEN --method bayesian-bootstrap", "bayesian-bootstrap"),
    "score --method plugin": ("GEN --method plugin", "clt se_data se_prediction"),
    "variants": ("REL", "mean variance n_star"),
    "variants --epsilon --delta": ("REL --epsilon .2 --delta .2", "epsilon 0.2"),
    "variants --show order": ("REL --show order", "model_a model_b swapped kendall_w"),
    "variants --show prompts": ("REL --show prompts", "mean variance unparsed"),
    "variants --show reference": ("REL --show reference", "n_star n_star_proxy bounded quantile"),
}
#: Commands that need more than a process: what tests them instead.
ELSEWHERE = {
    "benchmarks gsm8k --show 3": "downloads the questions: tests/benchmarks/test_downloads.py",
    "review": "serves pages: tests/browser/test_review_team_in_chromium.py",
}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Results and experiments by the names in COMMANDS."""
    folder = tmp_path_factory.mktemp("methods")

    def run(study, name, benchmarks, **options):
        (folder / name).mkdir()
        path = write_study(study, folder / name, **options)
        experiment = yaml.safe_load(path.read_text())
        experiment["benchmark"] = [one for one in experiment["benchmark"] if one["name"] in benchmarks]
        path.write_text(yaml.safe_dump(experiment))
        hs.run(path, simulate=True)
        return str(folder / name / f"{study}-simulated"), str(path)

    gen, experiment = run("beyond_the_singular", "gen", ["gsm8k"], generations=4)
    noises, _ = run("beyond_the_singular", "noises", ["mmlu-pro", "ifeval"], generations=3)
    pi, _ = run("reproducible_evaluation", "pi", ["directions-small"], generations=4)
    rel, space = run("reliable_eval", "rel", ["gpqa-diamond"], generations=1, sample=8, epsilon=0.2)
    draw = np.random.default_rng(4)
    steps = folder / "steps.csv"
    lines = [
        f"m-step{step},q{q},p{q // 2},{g},{int(draw.random() < 0.2 + step / 1000)}"
        for step in (100, 200, 300)
        for q in range(30)
        for g in range(2)
    ]
    steps.write_text("\n".join(["model,question,passage,generation,score", *lines]) + "\n")
    verdicts = folder / "verdicts.jsonl"
    verdict = {
        "benchmark": "steps",
        "question": "q3",
        "key": "",
        "verdict": "mislabeled",
        "when": "2026-11-20T08:00:00.000000Z",
    }
    verdicts.write_text(json.dumps(verdict) + "\n")
    return {
        "GEN": gen,
        "NOISES": noises,
        "PI": pi,
        "REL": rel,
        "SPACE": space,
        "EXPERIMENT": experiment,
        "STEPS": str(steps),
        "VERDICTS": str(verdicts),
    }


def test_every_command_of_the_table_is_tried():
    text = (ROOT / "docs/papers.md").read_text(encoding="utf-8").split("\n## Beside")[0]
    table = "\n".join(line for line in text.splitlines() if re.match(r"\| \d+ \|", line))
    assert set(re.findall(r"`howsure ([^`]+)`", table)) == {*COMMANDS, *ELSEWHERE}


@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=pytest.mark.long) if each == "report" else each for each in COMMANDS]
)
def test_a_command_runs_and_prints_what_its_rows_say(howsure, names, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    arguments, words = COMMANDS[command]
    name, *fixed = shlex.split(command)
    line = [names.get(word, word) for word in shlex.split(arguments)] or fixed
    assert [word for word in fixed if word not in line] == []
    if "wide" not in line and name not in {"benchmarks", "convert", "plan", "report", "rescore", "run"}:
        line += ["--format", "wide"]
    code, out, err = howsure(name, *line)
    assert code == 0, err
    assert "error" not in err.casefold()
    assert not [word for word in words.split() if word not in out], out


def test_the_keys_that_rows_name_are_keys_of_the_studies():
    """ "`howsure run` with KEY, KEY": a study has the key, or the reference of experiments explains it."""
    text = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    keys = {
        key
        for row in re.findall(r"`howsure (?:run|prompts)` with ([^|;]+)", text)
        for key in re.findall(r"[a-z_]{4,}", row)
    }
    reference = (ROOT / "docs/experiment_keys.md").read_text(encoding="utf-8") + (ROOT / "docs/prompts.md").read_text(
        encoding="utf-8"
    )
    studies = "".join(path.read_text(encoding="utf-8") for path in STUDIES.glob("*.yaml"))
    assert {
        key for key in keys if key not in studies and f"`{key}" not in reference and f"{key}:" not in reference
    } == set()
