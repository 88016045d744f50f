"""Pages of the documentation site that are made from the program: a hook of MkDocs (mkdocs.yml names it).

commands.md is made from the options of the commands, guarantee_tables.md from docs/guarantees, glossary.md from the
list of columns, api.md and stats_api.md name what mkdocstrings describes, and changelog.md is CHANGELOG.md. Links to
files beside `docs`, such as examples, lead to copies of these files on the site. In
pages, comments are replaced by tables:

    <!-- rows of guarantees.md "TITLE": FIRST CELL; FIRST CELL -->    these rows of a table of docs/guarantees
    <!-- columns of a run folder -->                                    the columns of a response
"""

from __future__ import annotations

import csv
import importlib
import inspect
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
#: A link to a file of the repository that is no page: its target without the leading "../".
OUTSIDE = re.compile(r"\]\(((?:\.\./)+)((?:examples|action\.yml|README\.md|CONTRIBUTING\.md|src|bench)[^)#\s]*)\)")
#: A comment that stands for rows of a table of docs/guarantees.
ROWS = re.compile(r'<!-- rows of guarantees\.md "([^"]+)": (.+?) -->')

_COMMANDS = """# Commands

Every command and option, as `howsure COMMAND --help` prints them. What a column of a table means is in the
[glossary](glossary.md), and `howsure explain COLUMN` prints it.

Exit codes: 0 done, 2 wrong use or unreadable input (one line on the error stream says what, where, and how to fix it),
130 interrupted with everything kept. `howsure gate` also has 1 for fail and 3 for inconclusive, and
`howsure run --check` 1 for a problem.
"""
_AGENTS = """# For coding agents

`howsure explain agents` prints this guide as a skill file, and the file `llms.txt` of the site lists its pages.
Commands print rows for programs with `--format json`; a number that the data cannot say is null, and `note` says why.

## The guide
"""
_GLOSSARY = """# Columns and terms

Every column that a command prints or a result of Python has; `howsure explain COLUMN` prints the same. A column means
the same in all commands but those that are named in its row.
"""
_STATISTICS = """# Statistics on arrays

`howsure.stats` takes arrays and returns frozen results; it needs numpy and scipy only. What `hs` has itself is
described with the [Python functions](api.md).
"""


def list_commands() -> Iterator[tuple[str, click.Command]]:
    """Yield the commands of the program in the order of its help, each with its name."""
    from howsure.cli import cli

    yield from sorted(cli.commands.items())


def describe_commands() -> str:
    """Return the page of all commands and their options."""
    parts = [_COMMANDS]
    for name, command in list_commands():
        parts.append("\n".join(_describe_command(name, command)))
    return "\n".join(parts)


def _describe_command(name: str, command: click.Command) -> Iterator[str]:
    """Yield the lines of the section of a command."""
    with click.Context(command, info_name=f"howsure {name}") as context:
        yield f"## howsure {name}\n"
        yield inspect.cleandoc(command.help or "").replace("\b\n", "") + "\n"
        yield f"```text\n{' '.join(command.get_usage(context).split())}\n```\n"
        yield "| option | meaning |"
        yield "|---|---|"
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and isinstance(parameter, click.Option):
                names, meaning = (_escape_cell(part) for part in record)
                yield f"| `{names}` | {meaning} |"
        yield ""


def _escape_cell(text: str) -> str:
    """Return a text on one line, without the marks that end a cell of a table or begin HTML."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def list_public_objects() -> dict[str, list[str]]:
    """Return the full paths of the objects of `howsure.__all__`, by the module that defines them."""
    import howsure

    groups: dict[str, list[str]] = {}
    for name in sorted(howsure.__all__):
        value = getattr(howsure, name)
        module = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
        if module is None or not module.startswith("howsure"):
            continue
        path = module if inspect.ismodule(value) else f"{module}.{value.__qualname__}"
        groups.setdefault(module, []).append(path)
    return groups


def describe_functions() -> str:
    """Return the page of the public functions of `import howsure as hs`."""
    parts = ["# Python functions\n", "All that `import howsure as hs` has, by the module that defines it.\n"]
    for module, paths in sorted(list_public_objects().items()):
        document = (importlib.import_module(module).__doc__ or "").strip().splitlines()[0]
        parts.append(f"## {document.rstrip('.').replace('`', '')}\n")
        parts += [f"::: {path}\n" for path in paths]
    return "\n".join(parts)


def describe_statistics() -> str:
    """Return the page of the public functions of `howsure.stats`, package by package."""
    import howsure.stats

    parts = [_STATISTICS]
    described = {path for paths in list_public_objects().values() for path in paths}
    for folder in sorted(Path(howsure.stats.__file__ or "").parent.iterdir()):
        if not (folder / "__init__.py").exists():
            continue
        package = importlib.import_module(f"howsure.stats.{folder.name}")
        parts.append(f"## stats.{folder.name}\n")
        parts.append((package.__doc__ or "").strip().splitlines()[0] + "\n")
        for name, value in sorted(vars(package).items()):
            if name.startswith("_") or not getattr(value, "__module__", "").startswith("howsure"):
                continue
            path = f"{value.__module__}.{value.__qualname__}"
            if path not in described:
                described.add(path)
                parts.append(f"::: {path}\n")
    return "\n".join(parts)


def describe_columns() -> str:
    """Return the page of all columns that a command prints."""
    from howsure.reporting.glossary import TERMS, read_columns

    parts = [_GLOSSARY, "| column | meaning | unit | more |", "|---|---|---|---|"]
    for name, column in read_columns().items():
        meaning = [column.meaning, *(f"*{command}*: {text}" for command, text in column.also.items())]
        formula = [f"`{column.formula}`"] if column.formula else []
        text = "<br>".join(part.replace("|", "\\|") for part in [*meaning, *formula])
        title = column.page.removesuffix(".md").rpartition("/")[2].replace("_", " ")
        parts.append(f'| <span id="{name}">`{name}`</span> | {text} | {column.unit} | [{title}]({column.page}) |')
    parts += ["", "## Terms", ""]
    parts += [f"**{term.replace('*', chr(92) + '*')}**: {meaning}\n" for term, meaning in TERMS.items()]
    return "\n".join(parts)


def read_table(file: str) -> list[list[str]]:
    """Return the rows of a table of docs/guarantees, the names of its columns first."""
    with (ROOT / "docs/guarantees" / file).open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def format_rows(rows: list[list[str]]) -> str:
    """Return a table, its head first, in Markdown."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def select_rows(heading: str, names: list[str]) -> str:
    """Return rows of a table of docs/guarantees, by its title and their first cells.

    >>> select_rows("At a glance", ["t, new-questions"]).splitlines()[1]
    '|---|---|---|---|---|'
    """
    files = {title: file for title, file, *_ in read_table("index.csv")}
    if heading not in files:
        raise ValueError(f"docs/guarantees has no table {heading!r}")
    head, *rows = read_table(files[heading])
    if lost := [name for name in names if name not in [row[0] for row in rows]]:
        raise ValueError(f"docs/guarantees, {heading!r}, has no row {lost[0]!r}")
    return format_rows([head, *(row for row in rows if row[0] in names)])


def list_guarantees() -> str:
    """Return the page of all tables of docs/guarantees."""
    parts = ["# Tables of guarantees", "How to read them: [what the intervals keep](guarantees.md)."]
    for title, file, _, note in read_table("index.csv")[1:]:
        parts += [f"## {title}", *([note] if note else []), format_rows(read_table(file))]
    return "\n\n".join(parts) + "\n"


def list_stored_columns() -> str:
    """Return a table of the columns of a response; what they mean of one generation is what `howsure show` prints."""
    from howsure.reporting.glossary import read_columns
    from howsure.store.schema import COLUMNS

    columns = {name: read_columns()[name] for name in COLUMNS}
    rows = [f"| `{name}` | {column.also.get('show', column.meaning)} |" for name, column in columns.items()]
    return "\n".join(["| column | meaning |", "|---|---|", *rows])


def describe_skill() -> str:
    """Return the page of what `howsure explain agents` prints, below its front matter."""
    text = (ROOT / "src/howsure/cli/skill.md").read_text(encoding="utf-8").split("---\n", 2)[2]
    body = text.replace("# howsure\n", "", 1).replace("## ", "### ").strip()
    return f"{_AGENTS}\n{body}\n"


def copy_changelog() -> str:
    """Return CHANGELOG.md with its links as those of the site."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")


#: Pages that are made, by their names.
GENERATED = {
    "commands.md": describe_commands,
    "glossary.md": describe_columns,
    "api.md": describe_functions,
    "stats_api.md": describe_statistics,
    "changelog.md": copy_changelog,
    "agents.md": describe_skill,
    "guarantee_tables.md": list_guarantees,
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the files outside `docs` that pages link to (a hook of MkDocs)."""
    from mkdocs.structure.files import File

    for name, make in GENERATED.items():
        files.append(File.generated(config, name, content=make()))
    linked: set[str] = set()
    for file in files.documentation_pages():
        linked.update(target for _, target in OUTSIDE.findall(file.content_string))
    for target in sorted(linked):
        source = ROOT / target
        if source.is_file():
            files.append(File.generated(config, f"files/{target}", content=source.read_text(encoding="utf-8")))
    return files


#: Title, address and first paragraph of each page of this build.
_PAGES: list[tuple[str, str, str]] = []


def on_page_content(html: str, page: Page, **_: object) -> None:
    """Note the title, the address and the first paragraph of a page (a hook of MkDocs)."""
    first = re.search(r"<p>(.*?)</p>", html, flags=re.DOTALL)
    text = " ".join(re.sub(r"<[^>]+>", "", first[1]).split()) if first else ""
    if not page.url.startswith("files/"):
        _PAGES.append((str(page.title), page.url, text))


def on_post_build(config: MkDocsConfig) -> None:
    """Write llms.txt, the list of pages for programs that read (a hook of MkDocs)."""
    lines = ["# howsure", "", f"> {config.site_description}", "", "## Pages", ""]
    lines += [f"- [{title}]({url}): {text}" for title, url, text in _PAGES]
    Path(config.site_dir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _PAGES.clear()


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Return the text of a page whose links to files outside `docs` lead to their copies (a hook of MkDocs)."""
    up = posixpath.relpath(".", posixpath.dirname(page.file.src_uri) or ".")
    markdown = ROWS.sub(lambda comment: select_rows(comment[1], comment[2].split("; ")), markdown)
    markdown = markdown.replace("<!-- columns of a run folder -->", list_stored_columns())
    return OUTSIDE.sub(lambda link: f"]({posixpath.normpath(f'{up}/files/{link[2]}')})", markdown)
