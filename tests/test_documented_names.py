"""What pages name exists, and what the program has is named: options, functions, keys, files, anchors, numbers.

Kind of truth: the program itself and the tree. Whole commands and examples are run by test_documentation.py.
"""

import contextlib
import importlib
import inspect
import json
import re
import shlex
import sys
import tomllib
from pathlib import Path

import click
import msgspec
import pytest
import yaml
from helpers.repository_modules import module

import howsure as hs
from howsure.benchmarks import catalogue, lm_eval_tasks, question_file, recorded
from howsure.cli import cli
from howsure.inspect_runs.task_request import TASK_KEYS
from howsure.prompts.dimensions import BUILT_IN_VALUES
from howsure.prompts.space_spec import parse_space
from howsure.prompts.variants import VARIANT_KEYS
from howsure.reporting.glossary import read_columns
from howsure.sample import experiment, judge_config, model_config

ROOT = Path(__file__).resolve().parents[1]
#: A command of the bench that was deleted, with the commit that has it.
OLDER = re.compile(r"`bench/[^`]+`\sat\scommit\s[0-9a-f]{8}")
OUTPUT = module(ROOT / "tools/docs_output.py")
SITE = module(ROOT / "tools/docs_pages.py")
GUIDE = ROOT / "src/howsure/cli/skill.md"
#: Pages of the site, and the others that a reader of the repository opens.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALL_PAGES = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "examples").rglob("*.md")), GUIDE]
#: Options of other programs that pages name.
OPTIONS_OF_OTHERS = {
    *("--action", "--array", "--branch", "--dump-eval-details", "--export", "--log_samples", "--metadata", "--metric"),
    *("--min-delta", "--mode", "--no-deps", "--only-binary", "--parallel", "--parallel-mode", "--prefix", "--requeue"),
    *("--require-hashes", "--sample-shuffle", "--show-missing", "--signal", "--source"),
}
#: Names in code that stand for a reader's own, or are another program's.
NAMES_OF_OTHERS = {
    *("gguf_file", "my_sums", "option_1", "option_2", "parse_body", "pool_variances", "quantization_config", "test_b"),
}


def read(page):
    return page.read_text(encoding="utf-8")


def list_code(text):
    """Return the blocks of code and the inline code of a page."""
    blocks = [block[2] for block in OUTPUT.BLOCK.finditer(text)]
    return blocks + re.findall(r"`([^`\n]+)`", OUTPUT.BLOCK.sub("", text))


def list_options_of_scripts():
    """Return the options of the scripts of the repository."""
    scripts = [path for folder in ("bench", "tools", "examples") for path in (ROOT / folder).rglob("*.py")]
    return {option for path in scripts for option in re.findall(r'"(--[a-z][a-z_-]+)"', read(path))}


def list_options():
    """Return the options of the commands."""
    return {
        option
        for command in cli.commands.values()
        for parameter in command.params
        for option in [*parameter.opts, *parameter.secondary_opts]
    }


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.stem)
def test_every_block_of_code_says_its_language(page):
    """Blocks without one, and commands in indented text, are read by no test."""
    fences = re.findall(r"^ *```(.*)$", read(page), flags=re.MULTILINE)
    assert len(fences) % 2 == 0
    assert [fence for fence in fences[::2] if not fence] == []
    assert re.findall(r"^ {4,}(?:\$ )?howsure .*$", OUTPUT.BLOCK.sub("", read(page)), flags=re.MULTILINE) == []


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.stem)
def test_options_in_sentences_exist(page):
    known = list_options() | list_options_of_scripts() | OPTIONS_OF_OTHERS | {"--help", "--version"}
    named = {option for code in list_code(read(page)) for option in re.findall(r"(?<![\w-])--[a-z][a-z_-]+", code)}
    assert named - known == set()


def test_options_of_other_programs_are_named_somewhere():
    text = "".join(read(page) for page in ALL_PAGES)
    assert {option for option in OPTIONS_OF_OTHERS if option not in text} == set()
    assert {name for name in NAMES_OF_OTHERS if name not in text} == set()


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.stem)
def test_values_of_options_exist(page):
    """Of options with a closed set of values; words in capitals stand for a value."""
    wrong = []
    for code in list_code(read(page)):
        for line in code.splitlines():
            found = re.match(r"(?:\$ )?howsure ([a-z]+)( .*)", line)
            if found is None or found[1] not in cli.commands:
                continue
            for parameter in cli.commands[found[1]].params:
                if isinstance(parameter.type, click.Choice):
                    names = "|".join(map(re.escape, parameter.opts))
                    for value in re.findall(rf" (?:{names})[ =]([a-z][\w-]*)", found[2]):
                        wrong += [line] * (value not in parameter.type.choices)
    for option, value in re.findall(r"`(--[a-z-]+) ([a-z][\w-]*)`", read(page)):
        wrong += [f"{option} {value}"] * (not is_a_value(option, value))
    assert wrong == []


@pytest.mark.parametrize(
    "page", [page for page in ALL_PAGES if "$ howsure" in read(page) or page == GUIDE], ids=lambda page: page.stem
)
def test_commands_have_the_arguments_that_they_take(page):
    """Each line of a block of commands is parsed by its command, which is not run."""
    for block in OUTPUT.BLOCK.finditer(read(page)):
        for line in block[2].splitlines() if block[1] in {"console", "sh", "bash"} else ():
            if found := re.match(r"(?:\$ )?howsure ([a-z]+)((?: .*)?)", line):
                words = shlex.split(re.split(r" [|;>]|&&", found[2])[0], comments=True)
                with contextlib.suppress(click.exceptions.Exit):
                    cli.commands[found[1]].make_context(found[1], words)


def test_every_command_stands_on_a_page_beside_the_reference():
    text = "".join(read(page) for page in PAGES)
    assert [name for name in cli.commands if f"howsure {name}" not in text and f"`{name}`" not in text] == []


def test_every_option_of_a_command_has_a_help():
    missing = [
        (name, parameter.name)
        for name, command in cli.commands.items()
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert missing == []


def is_a_value(option, value):
    """Return whether some command takes this value of an option, or the option is another program's."""
    found = [one for command in cli.commands.values() for one in command.params if option in one.opts]
    for parameter in found:
        with contextlib.suppress(click.BadParameter):
            parameter.type.convert(value, parameter, None)
            return True
    return not found


def find_object(path):
    """Return the object of a dotted path below howsure, or None."""
    found = hs
    done = "howsure"
    for name in path.split("."):
        done += f".{name}"
        if not hasattr(found, name):
            try:
                importlib.import_module(done)
            except ImportError:
                return None
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.stem)
def test_functions_and_their_arguments_exist(page):
    pytest.importorskip("altair")
    wrong = []
    for code in list_code(read(page)):
        for start, path, arguments in re.findall(
            r"(?<![\w./-])(hs|howsure|figures)\.([a-zA-Z_][\w.]*)(\([^()]*\))?", code
        ):
            if path in {"log_readers", "NAME"} or (start == "howsure" and path.endswith((".md", ".xml"))):
                continue
            value = find_object(f"figures.{path}" if start == "figures" else path.rstrip("."))
            if value is None:
                wrong.append(f"{start}.{path}")
                continue
            for name in re.findall(r"[(,] *(\w+)=", arguments) if callable(value) else ():
                parameters = inspect.signature(value).parameters
                if name not in parameters and not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
                    wrong.append(f"{start}.{path}({name}=)")
    assert wrong == []


def test_names_in_code_are_names_of_the_program():
    """A word with an underscore in code is a column, key, function or file: a misspelt one is nowhere else."""
    folders = ("src", "bench", "tests", "tools", "examples")
    texts = [read(path) for folder in folders for path in (ROOT / folder).rglob("*.py")]
    texts += [read(path) for path in (ROOT / "src").rglob("*.toml")]
    texts += [path.name for folder in (*folders, "docs") for path in (ROOT / folder).rglob("*")]
    known = set(re.findall(r"[A-Za-z]\w*", "\n".join(texts)))
    missing = {
        f"{page.name}: {word}"
        for page in ALL_PAGES
        if page.name not in {"log_files.md", "logs.md"}  # names of files and columns of others
        for code in re.findall(r"`([^`\n]+)`", OLDER.sub("", OUTPUT.BLOCK.sub("", read(page))))
        for word in re.findall(r"(?<![\w$])[A-Za-z][a-z0-9]*(?:_[a-z0-9]+)+", code)
        if word not in known | NAMES_OF_OTHERS
    }
    assert missing == set()


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.stem)
def test_files_of_the_repository_that_pages_name_exist(page):
    """A run folder beside an experiment counts, too: `howsure run FILE.yaml` makes FILE. Files of older commits do not."""
    text = OLDER.sub("", read(page))
    code = " ".join(list_code(text))
    files = set(re.findall(r"(?<![\w/.-])((?:bench|docs|examples|src|tests|tools)/[\w/.*-]+)", code))
    files |= set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text))
    places = (ROOT, ROOT / "src/howsure", ROOT / "src/howsure/stats", ROOT / "tests")
    own = {
        "src/howsure/a/b.py",
        "tests/a/test_b.py",
        "tests/extraction/SET.jsonl",
        "tests/logs/test_my_program.py",
    }
    wanted = {file.rstrip(".") for file in files - own if "NAME" not in file}
    assert {
        one for one in wanted if not any(list(place.glob(one)) + list(place.glob(f"{one}.yaml")) for place in places)
    } == set()


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.stem)
def test_targets_of_make_and_extras_exist(page):
    targets = set(re.findall(r"^([\w-]+):", read(ROOT / "Makefile"), flags=re.MULTILINE))
    code = "\n".join(list_code(read(page)))
    assert set(re.findall(r"(?:^|\$ )make ([a-z][a-z-]*)", code, flags=re.MULTILINE)) - targets == set()
    extras = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    assert {name for names in re.findall(r"howsure\[([\w, -]+)\]", code) for name in names.split(",")} - set(
        extras
    ) == set()


def list_anchors(page):
    """Return the anchors of the headings of a page, as MkDocs and GitHub make them."""
    headings = re.findall(r"^#+ (.*)$", OUTPUT.BLOCK.sub("", read(page)), flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)) for heading in headings]
    return {re.sub(r"[\s-]+", "-", text.strip().lower()) for text in plain}


@pytest.mark.parametrize("page", [*ALL_PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings(page):
    """`make docs` checks those of the site, with the generated pages; this the others too, and faster."""
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", OUTPUT.BLOCK.sub("", read(page))):
        if "://" in target or target.startswith("mailto:") or Path(target).name in SITE.GENERATED:
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        assert not anchor or anchor in list_anchors(path), f"{target}#{anchor}"


@pytest.mark.parametrize("page", sorted((ROOT / "docs/methods").glob("*.md")), ids=lambda page: page.stem)
def test_the_page_of_a_method_has_its_parts(page):
    """The commands, a formula, what is assumed, rows of the guarantees or a link to them, and the sources."""
    text = read(page)
    assert re.search(r"^(`howsure |`--)", text, flags=re.MULTILINE)
    assert "**Assumptions.**" in text
    assert "**What it keeps.**" in text
    assert "guarantee" in text
    assert re.search(r"^ {4}\S.* .*[=<(]|^ {4}[a-zP].{6,}$", text, flags=re.MULTILINE), "no formula"
    assert "(../bibliography.md)" in text


def list_fragments():
    """The blocks of YAML that are parts of an experiment, with what makes them whole."""
    for page in PAGES:
        for number, block in enumerate(block[2] for block in OUTPUT.BLOCK.finditer(read(page)) if block[1] == "yaml"):
            content = yaml.safe_load(block)
            yield pytest.param(
                {"benchmark": "directions-small", "models": ["simulated/small"]} | content, id=f"{page.stem}-{number}"
            )


FRAGMENTS = list(list_fragments())


@pytest.mark.parametrize("content", FRAGMENTS)
def test_keys_of_parts_of_experiments_exist(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("exp.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    experiment.load_experiment("exp.yaml")
    for benchmark in content["benchmark"] if isinstance(content["benchmark"], list) else [content["benchmark"]]:
        if isinstance(benchmark, dict) and "name" in benchmark:
            own = {"name", "label", "limit", "generations", "variants"}
            assert set(benchmark) - own <= list_keys_of_benchmarks(benchmark["name"])
    if isinstance(space := content.get("variants"), dict) and "space" in space:
        parse_space({key: value for key, value in space.items() if key in {"space", "dimensions", "nested"}})


def list_keys_of_benchmarks(name):
    if name.startswith("lm_eval/"):
        return set(lm_eval_tasks.OPTIONS)
    return {"size", "seed"} if name == "population" else set(catalogue.OPTIONS)


def test_there_are_such_parts():
    assert len(FRAGMENTS) >= 17


def list_fields(struct):
    """Return the keys of a part of an experiment."""
    return {field.encode_name for field in msgspec.structs.fields(struct)}


KEYS = {
    "experiment_keys.md": {
        *list_fields(experiment._ExperimentFile),
        *list_fields(experiment._OwnKeys),
        *list_fields(experiment.StoppingConfig),
        *list_fields(judge_config.BudgetConfig),
        *list_fields(model_config.ModelLine),
        *list_fields(model_config.PriceLine),
        *question_file.FILE_KEYS,
        *recorded._KEYS,
        *catalogue.OPTIONS,
        *lm_eval_tasks.OPTIONS,
    },
    "prompts.md": set(VARIANT_KEYS),
    "judges.md": list_fields(judge_config.JudgeLine),
    "inspect.md": set(TASK_KEYS),
}


@pytest.mark.parametrize("page", KEYS)
def test_every_key_of_an_experiment_is_explained(page):
    """In code that is more than a value: `key`, `key: ...` or a list such as `until: {level, claim}`."""
    code = " ; ".join(re.findall(r"`([^`\n]+)`", OUTPUT.BLOCK.sub("", read(ROOT / "docs" / page))))
    assert {key for key in KEYS[page] if not re.search(rf"(?<![\w.-]){key}(?![\w./-])", code)} == set()


@pytest.mark.parametrize("page", KEYS)
def test_keys_that_tables_explain_exist(page):
    """Tables whose first column is headed "key" or "option"; of `key: value` the key."""
    table = r"^\| (?:key|option)[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)+)"
    cells = [
        row.split("|")[1]
        for rows in re.findall(table, read(ROOT / "docs" / page), flags=re.MULTILINE)
        for row in rows.splitlines()
    ]
    assert len(cells) >= 4
    keys = [re.sub(r": *[^{ ,}][^,}]*", "", code) for cell in cells for code in re.findall(r"`([^`]+)`", cell)]
    known = set().union(*KEYS.values()) if page == "experiment_keys.md" else KEYS[page]
    assert {key for code in keys for key in re.findall(r"[a-z_]{2,}", code)} - known == set()


def test_environment_variables_are_those_of_the_program():
    pattern = r"HOWSURE_[A-Z_]+"
    used = {name for path in (ROOT / "src").rglob("*.py") for name in re.findall(pattern, read(path))}
    named = {name for page in ALL_PAGES for name in re.findall(pattern, read(page))}
    assert named - {"HOWSURE_RECORD", "HOWSURE_COMPLETE"} == used  # the latter is click's


def test_the_table_of_benchmarks_is_that_of_the_catalogue():
    """Truth: the catalogue, its numbers of questions and its scorers."""
    rows = re.findall(
        r"^\| (`[^|]+) \| ([^|]+) \| [^|]+ \| ([^|]+) \|$", read(ROOT / "docs/experiments.md"), flags=re.MULTILINE
    )
    sizes = {}
    for first, second, _ in rows:
        names, numbers = re.findall(r"`([\w-]+)`", first), re.findall(r"\d[\d,]*", second)
        if numbers and set(names) <= {*catalogue.list_names(), "directions-small", "directions-large"}:
            sizes |= dict(zip(names, (numbers * len(names))[: len(names)], strict=True))
    expected = {name: f"{catalogue.load_entry(name).questions:,}" for name in catalogue.list_names()}
    assert sizes == expected | {"directions-small": "100", "directions-large": "5,760"}


def test_the_table_of_dimensions_has_all_built_in_values():
    """Truth: the built-in values; those of `instruction` are files, and numbers are given by the reader."""
    section = read(ROOT / "docs/prompts.md").partition("| dimension | values |")[2].partition("\n\n")[0]
    rows = [line.strip("|").partition(" | ") for line in section.splitlines() if line.startswith("| `")]
    values = {name: cell for first, _, cell in rows for name in re.findall(r"`(\w+)`", first)}
    assert set(values) == set(BUILT_IN_VALUES) - {"layout"}
    free = {"instruction", "demonstrations", "typos"}
    missing = [
        (name, value.name)
        for name in set(values) - free
        for value in BUILT_IN_VALUES[name]
        if value.name not in values[name]
    ]
    assert missing == []


def test_the_number_of_published_benchmarks_is_that_of_the_table():
    [number] = set(
        re.findall(
            r"(\d+) (?:published )?benchmarks whose|on (\d+) published benchmarks", read(ROOT / "docs/methods/plans.md")
        )
    )
    numbers = {number for page in PAGES for number in re.findall(r"\b(\d+) published benchmarks", read(page))}
    assert {*numbers, number[0]} == {str(len(set(hs.noise()["benchmark"])))}


def test_the_tables_of_checks_and_of_statuses_have_all():
    """Truth: the names of checks in the source, and the statuses of the glossary."""
    page = read(ROOT / "docs/experiment_keys.md")
    source = read(ROOT / "src/howsure/sample/experiment_checks.py")
    checks = set(re.findall(r'(?:ExperimentCheck|_describe_error)\(\s*"([a-z ]+)"', source))
    table = page.partition("| check | what is looked at |")[2].partition("\n\n")[0]
    named = {name for cell in re.findall(r"^\| ([a-z, ]+) \|", table, flags=re.MULTILINE) for name in cell.split(", ")}
    assert checks == named
    table = page.partition("| status | the reply | score |")[2].partition("\n\n")[0]
    named = {
        name
        for cell in re.findall(r"^\| (`[^|]+) \|", table, flags=re.MULTILINE)
        for name in re.findall(r"`([\w-]+)`", cell)
    }
    assert named | {"unscored"} == set(re.findall(r"[\w-]+", read_columns()["status"].meaning)) - {"or"}  # of logs


def test_the_fields_of_json_lines_are_those_of_the_page(tmp_path, monkeypatch, howsure):
    monkeypatch.chdir(tmp_path)
    Path("exp.yaml").write_text("benchmark: directions-small\nmodels: [simulated/small]\nlimit: 5\n")
    code, out, _ = howsure("run", "exp.yaml", "--json-lines")
    assert code == 0
    lines = [json.loads(line) for line in out.splitlines()]
    page = re.sub(r" \([^()]*\)", "", read(ROOT / "docs/experiment_keys.md"))
    of_models = ""
    for event in ("progress", "end"):
        cell = re.search(rf"^\| `{event}`[^|]*\|(.*)\|$", page, flags=re.MULTILINE)[1]
        line = [line for line in lines if line["event"] == event][-1]
        own, _, listed = cell.partition("of each")
        of_models = listed or of_models  # those of `end` are those of `progress`
        assert set(re.findall(r"`(\w+)`", own)) - {"error"} == set(line) - {"event"}
        assert set(re.findall(r"`(\w+)`", of_models)) == set(line["models"][0])


sys.path.append(str(ROOT / "bench"))  # whose modules the next one imports
PAGE_FIGURES = module(ROOT / "bench/page_figures.py")


@pytest.mark.parametrize(
    ("page", "figure"),
    [
        pytest.param(page, figure, marks=() if figure in PAGE_FIGURES.EXACT else pytest.mark.long, id=figure.__name__)
        for page, figure in PAGE_FIGURES.FIGURES
    ],
)
def test_pages_have_the_figures_that_their_command_prints(page, figure):
    """`python bench/page_figures.py` prints the words of the pages."""
    assert figure() in " ".join(read(ROOT / "docs" / page).split())


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load(read(ROOT / "CITATION.cff"))
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    papers = {part["identifiers"][0]["value"].removeprefix("arXiv:") for part in citation["references"]}
    assert len(papers) == 4
    assert [paper for paper in papers if paper not in read(ROOT / "docs/bibliography.md")] == []


def test_the_page_on_the_gate_names_the_inputs_of_the_action():
    action = yaml.safe_load(read(ROOT / "action.yml"))
    sentence = re.search(r"is the action: (.*?)\n\n", read(ROOT / "docs/gate.md"), flags=re.DOTALL)[1]
    assert set(re.findall(r"`(\w+)`", sentence)) == {*action["inputs"], *action["outputs"]}
