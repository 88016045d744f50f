"""The examples of README.md and docs run as they are printed, and their commands, options and links exist.

Kind of truth: the program itself, run as a reader would run it.
"""

import difflib
import json
import math
import re
import shlex
import tomllib
from pathlib import Path

import msgspec
import pytest
from helpers.repository_modules import module

import howsure as hs
from howsure.cli import cli
from howsure.logs.spec import Spec, SpecReader
from howsure.sample.experiment import load_experiment
from howsure.stats import scores

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OUTPUT = module(ROOT / "tools/docs_output.py")


def list_python(file):
    return re.findall(r"```python\n(.*?)```", (ROOT / file).read_text(encoding="utf-8"), flags=re.DOTALL)


def run_blocks(file):
    for block in list_python(file):
        exec(compile(block, file, "exec"), {})


def test_readme(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{model},q{q},{(q + (model == 'b')) % 3 > 0:d}\n" for model in "ab" for q in range(20))
    Path("results.csv").write_text(f"model,question,score\n{rows}")
    run_blocks("README.md")
    assert "model" in capsys.readouterr().out
    assert Path("report.html").exists()


@pytest.mark.parametrize("page", ["scores", "differences"])
def test_the_default_intervals_by_hand_are_those_of_the_commands(page):
    """The page's own code asserts it."""
    text = (ROOT / f"docs/methods/{page}.md").read_text()
    assert text.count("```python") == 1
    assert re.findall(r"^assert .*found\[|^assert .*scores\[", text, flags=re.MULTILINE)
    run_blocks(f"docs/methods/{page}.md")


def test_the_fall_of_the_page_on_repeats_is_found(capsys):
    run_blocks("docs/methods/repeats.md")
    [block] = list_python("docs/methods/repeats.md")
    assert capsys.readouterr().out.strip() == re.findall(r"print.*  # (.*)", block)[0]


def test_prompts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    question = {
        "question": "Which city is in Norway?",
        "choices": ["Bern", "Oslo", "Rome"],
        "target": "B",
        "answer": "B",
    }
    Path("exam.jsonl").write_text(json.dumps(question) + "\n")
    run_blocks("docs/prompts.md")
    assert len(capsys.readouterr().out.splitlines()) >= 20


def test_the_truth_of_simulated_models_is_what_the_page_says():
    """A line that ends in a comment with a number has this value."""
    [block] = list_python("docs/experiments.md")
    names = {}
    exec(block, names)
    lines = re.findall(r"^(\S.*?)  # .*: ([\d.]+)$", block, flags=re.MULTILINE)
    assert len(lines) == 2
    assert {code: f"{eval(code, names):.3f}" for code, _ in lines} == dict(lines)


def test_the_parquet_of_a_run_is_read_as_formats_say(tmp_path, monkeypatch, howsure):
    monkeypatch.chdir(tmp_path)
    Path("exp.yaml").write_text("benchmark: directions-small\nmodels: [simulated/small]\nlimit: 5\ngenerations: 2\n")
    assert howsure("run", "exp.yaml")[0] == 0
    [block] = list_python("docs/formats.md")
    names = {}
    exec(block, names)
    assert names["rows"].num_rows == 10


def test_the_test_of_the_page_on_the_gate_passes():
    """Truth: the page says after how many successes in a row."""
    text = (ROOT / "docs/gate.md").read_text(encoding="utf-8")
    [block] = list_python("docs/gate.md")
    calls = []

    def assistant(prompt):
        calls.append(prompt)
        return "I cannot."

    names = {"assistant": assistant}
    exec(block, names)
    names["test_the_assistant_refuses"]()
    assert f"{len(calls)} successes in a row show .9" in text.replace("\n", " ")


def test_the_reader_and_the_description_that_the_page_on_logs_shows_read_a_log(tmp_path, monkeypatch):
    samples = [{"id": f"q{i}", "text": "A", "score": i % 2, "passed": bool(i % 2)} for i in range(10)]
    log = {"my_version": 1, "id": "r", "task": "sums", "model": "m", "samples": samples, "config": {"model": "m"}}
    (tmp_path / "log.json").write_text(json.dumps(log))
    [block] = [block for block in list_python("docs/logs.md") if "class MyReader" in block]
    names = {}
    exec(block, names)
    [text] = re.findall(
        "```toml\n(.*?my_version.*?)```", (ROOT / "docs/logs.md").read_text(encoding="utf-8"), re.DOTALL
    )
    spec = msgspec.convert(tomllib.loads(text), Spec)
    monkeypatch.setattr("howsure.logs._list_plugins", lambda: {"mine": "mine"})
    for reader in (names["MyReader"](), SpecReader(spec)):
        monkeypatch.setattr("howsure.logs._load", lambda _, reader=reader: reader)
        assert hs.score(tmp_path / "log.json")["score"].tolist() == [0.5]


def test_the_scorer_that_the_page_on_logs_shows_scores():
    [block] = [block for block in list_python("docs/logs.md") if "def mentions" in block]
    names = {}
    exec(block, names)
    assert [names["mentions"]("It is Oslo.", target) for target in ("oslo", "Bern")] == [1.0, 0.0]


@pytest.mark.long
def test_the_tasks_of_the_page_on_inspect_can_be_made():
    pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.solver import generate

    blocks = list_python("docs/inspect.md")
    assert len(blocks) == 2
    names = {"dataset": MemoryDataset([Sample(input="1 + 1", target="2")]), "solver": generate()}
    for block in blocks:
        exec(block, names)


@pytest.mark.parametrize("page", [page.relative_to(ROOT).as_posix() for page in OUTPUT.list_pages()])
def test_commands_print_what_the_page_says(page):
    """`python tools/docs_output.py --write` writes what they print now."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [*difflib.unified_diff(text.splitlines(), OUTPUT.rewrite_page(text).splitlines(), lineterm="", n=0)] == []


def test_each_extra_stands_on_the_page_of_the_installation():
    """Truth: pyproject.toml."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    text = (ROOT / "docs/installation.md").read_text("utf-8")
    assert [extra for extra in extras if extra != "dev" and f"`{extra}`" not in text] == []


def list_command_lines(text):
    """Yield the command lines of howsure in blocks of code and in inline code, each as words."""
    code = [line.removeprefix("$ ") for block in OUTPUT.BLOCK.finditer(text) for line in block[2].splitlines()]
    code += re.findall(r"`(howsure [^`\n]+)`", text)
    for line in code:
        if re.match(r"howsure [a-z]+( |$)", line):
            part = re.split(r"[;|>]|&&", line)[0]
            try:
                yield shlex.split(part, comments=True)[1:]
            except ValueError:  # a quotation that goes on in the next line
                continue


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_options_of_pages_exist(page):
    from howsure.cli import cli

    for name, *words in list_command_lines(page.read_text(encoding="utf-8")):
        assert name in cli.commands, f"howsure {name}"
        options = {option for parameter in cli.commands[name].params for option in parameter.opts} | {"--help", "-h"}
        given = {word.partition("=")[0].rstrip(",.:") for word in words if re.match(r"--[a-z]", word)}
        assert given <= options, f"howsure {name}: {sorted(given - options)}"


def test_every_option_is_in_the_reference_of_commands():
    from howsure.cli import cli

    text = module(ROOT / "tools/docs_pages.py").describe_commands()
    for name, command in cli.commands.items():
        section = text.split(f"## howsure {name}\n")[1].split("\n## ")[0]
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert option in section, f"howsure {name} {option}"


def test_the_columns_of_a_run_folder_are_described_as_those_of_one_generation():
    """Some of them mean something else in other tables: the page had the error of a judge and the score of a model."""
    rows = module(ROOT / "tools/docs_pages.py").list_stored_columns().splitlines()
    meanings = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", "\n".join(rows), flags=re.MULTILINE))
    assert meanings["score"].startswith("Score of the generation")
    assert meanings["answer"] == "The answer that was extracted."
    assert meanings["error"].startswith("Why the generation has no completion")


def test_sources_that_pages_and_references_name_are_in_the_bibliography():
    """An author and a year, as in "Holm (1979)" or "Chen et al. 2021"; the pages say that all of them are there."""
    listed = (ROOT / "docs/bibliography.md").read_text(encoding="utf-8").split("\n")
    named = set()
    for page in PAGES:
        text = " ".join(page.read_text(encoding="utf-8").split())
        named |= set(re.findall(r"\b([A-Z][\w-]+)(?: et al\.|'s)?,? \(?((?:19|20)\d\d)\b", text))
    for path in (ROOT / "src/howsure").rglob("*.py"):
        named |= set(
            re.findall(r"\.\. \[\d\] ([A-Z][\w-]+)[^\n]*? \(((?:19|20)\d\d)\)", path.read_text(encoding="utf-8"))
        )
    sources = {(name, year) for name, year in named if name not in {"AIME", "III", "November"}}
    assert len(sources) > 50
    missing = [(name, year) for name, year in sources if not any(name in one and f"({year})" in one for one in listed)]
    assert sorted(missing) == []


def test_files_that_pages_link_to_exist():
    """Links within the site are checked by `make docs`, which also knows the generated pages."""
    generated = set(module(ROOT / "tools/docs_pages.py").GENERATED)
    for page in PAGES:
        text = OUTPUT.BLOCK.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" not in target and not target.startswith("mailto:"):
                path = (page.parent / target).resolve()
                assert path.exists() or path.name in generated, f"{page.name}: {target}"


def test_rows_of_guarantees_that_pages_show_are_there():
    pages = module(ROOT / "tools/docs_pages.py")
    shown = [comment for page in PAGES for comment in pages.ROWS.findall(page.read_text(encoding="utf-8"))]
    assert len(shown) >= 4
    for heading, names in shown:
        assert len(pages.select_rows(heading, names.split("; ")).splitlines()) >= 3
    with pytest.raises(ValueError, match="no row"):
        pages.select_rows("At a glance", ["an interval that nobody made"])


def test_every_figure_of_a_report_is_explained(tmp_path, monkeypatch):
    """The files that `--figures` writes for a run with prompts, and for the example logs."""
    pytest.importorskip("altair")
    text = (ROOT / "docs/figures.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`([a-z-]+(?:-\d)?)`", text))
    import howsure as hs

    monkeypatch.chdir(ROOT)
    hs.report("examples/logs", tmp_path / "r.html", figures=tmp_path / "figures", static_figures=False)
    written = {path.stem for path in (tmp_path / "figures").glob("*.csv")}
    assert len(written) > 8
    assert written <= names


def test_the_skill_says_commands_that_run(tmp_path, monkeypatch, capsys):
    """Each command of the guide, on the example logs; a gate may pass, fail or be inconclusive."""
    from howsure.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "exp.yaml").write_text(
        "benchmark: directions-small\nmodels: [simulated/small]\ngenerations: 2\nlimit: 10\n"
    )
    words = {"RESULTS": str(ROOT / "examples/logs"), "EXPERIMENT": "exp.yaml"}
    words |= dict.fromkeys(["A", "NEW"], "lab/assistant-2") | dict.fromkeys(["B", "OLD"], "lab/assistant-1")
    with pytest.raises(SystemExit):
        main(["explain", "agents"])
    text = capsys.readouterr().out
    lines = [line for block in OUTPUT.BLOCK.findall(text) for line in block[1].splitlines() if line]
    assert len(lines) >= 17
    for line in lines:
        arguments = [words.get(word, word) for word in shlex.split(line, comments=True)]
        assert arguments[0] == "howsure"
        with pytest.raises(SystemExit) as ended:
            main(arguments[1:])
        assert ended.value.code in ({0, 1, 3} if arguments[1] == "gate" else {0}), line
        assert capsys.readouterr().out, line


def list_experiments():
    """The whole experiments that pages show: blocks with a benchmark and with models."""
    for page in PAGES:
        blocks = [content for kind, content in OUTPUT.BLOCK.findall(page.read_text()) if kind == "yaml"]
        whole = [block for block in blocks if {"benchmark", "models"} <= set(re.findall(r"^\w+", block, re.MULTILINE))]
        yield from (pytest.param(block, id=f"{page.stem}-{i}") for i, block in enumerate(whole))


EXPERIMENTS = list(list_experiments())


@pytest.mark.parametrize("block", EXPERIMENTS)
def test_experiments_of_pages_load(block, tmp_path, monkeypatch):
    """Whole files; keys of parts of a file are tried where they are read. Three pages had a budget that is refused."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "exp.yaml"
    path.write_text(block)
    assert load_experiment(path).models


def test_pages_show_whole_experiments():
    assert len(EXPERIMENTS) >= 12


def test_the_comparison_page_has_what_its_command_prints():
    """The rows that need no package of others; a score's error in Inspect and lm-eval is that of a mean of questions."""
    logs, new, old, names = (
        str(ROOT / "examples/logs"),
        "lab/assistant-2",
        "lab/assistant-1",
        ("low", "high", "p_value"),
    )
    rows = {}
    for words, claim in (("questions like these", "new-questions"), ("these, asked again", "these-questions")):
        result = hs.compare(logs, new, old, claim=claim)
        rows[f"howsure compare, {words}"] = [float(result[name][0]) for name in ("difference", "se", *names)]
    [cells] = hs.read(logs).cells()
    means = cells.select([new, old]).mean
    difference, se = means[0].mean() - means[1].mean(), (means.var(axis=1, ddof=1).sum() / means.shape[1]) ** 0.5
    p = math.erfc(abs(difference) / se / math.sqrt(2))
    unpaired = [difference, se, difference - 1.96 * se, difference + 1.96 * se, p]
    rows["two errors of Inspect or lm-eval, unpaired"] = unpaired
    lines = [f"| {name} | {' | '.join(f'{number:.3f}' for number in row)} |" for name, row in rows.items()]
    assert "\n".join(lines) in (ROOT / "docs/comparison.md").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation_of_the_site():
    """A page that nothing leads to ends `make docs`; this is the quick form of it."""
    listed = set(re.findall(r"- ([\w/]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert listed == pages | set(module(ROOT / "tools/docs_pages.py").GENERATED)


def list_methods():
    """The rows of docs/papers.md: status, and where the method is."""
    text = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    return [
        tuple(cell.strip() for cell in line.strip("|").split(" | "))
        for line in text.splitlines()
        if re.match(r"\| \d+ \|", line)
    ]


def test_the_table_of_the_papers_has_every_method_and_counts_them():
    """115 methods: 32 of GEN, 29 of REL, 33 of NOISE, 21 of PI, as a comparison with their texts counted."""
    rows = list_methods()
    assert [int(number.strip("| ")) for number, *_ in rows] == [i + 1 for n in (32, 29, 33, 21) for i in range(n)]
    counts = {status: sum(row[2] == status for row in rows) for status in ("works", "differs")}
    assert sum(counts.values()) == 115
    text = (ROOT / "docs/papers.md").read_text(encoding="utf-8").replace("\n", " ")
    assert f"{counts['works']} are here as published, {counts['differs']} differ" in text
    assert all(";" in row[3] or row[3].startswith(("report", "docs/")) for row in rows if row[2] == "differs")


def test_every_method_of_the_papers_has_a_way_in_that_a_test_takes():
    tests = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)
    )
    for number, method, status, where in list_methods():
        ways = re.findall(r"`howsure ([a-z]+)|`(hs|figures)\.(\w+)", where)
        files = re.findall(r"(?:examples|docs)/[\w/]+\.\w+", where)
        in_python = re.findall(r"howsure\.stats\.scores\.(\w+)", where)
        assert ways or files or in_python or where.startswith("report"), (number, method, status)
        assert all((ROOT / file).exists() for file in files), where
        for command, package, function in ways:
            name = command or function
            module_of = hs.figures if package == "figures" else hs
            assert command in cli.commands if command else hasattr(module_of, function), where
            assert re.search(rf"[\"'. ]{name}\b", tests), f"no test takes {name}"
        assert all(hasattr(scores, name) and name in tests for name in in_python), where
