"""The public names: one list, which type checkers, `dir` and `help` agree with, and cheap to import."""

import ast
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import howsure as hs


def names_for_type_checkers():
    tree = ast.parse(Path(hs.__file__).read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_type_checkers_see_the_same_names_from_the_same_modules():
    modules = {
        name: module if module != "howsure" else f"howsure.{name}" for name, module in names_for_type_checkers().items()
    }
    assert modules == hs._MODULE_OF


def test_the_list_is_sorted_and_is_what_dir_shows():
    assert hs.__all__ == sorted(hs.__all__)
    assert [name for name in dir(hs) if not name.startswith("__")] == hs.__all__


@pytest.mark.parametrize("name", hs.__all__)
def test_each_is_there_and_documented(name):
    assert inspect.getdoc(getattr(hs, name))


def test_help_lists_every_function():
    text = pydoc.render_doc(hs, renderer=pydoc.plaintext)
    functions = [name for name in hs.__all__ if inspect.isfunction(getattr(hs, name))]
    assert len(functions) > 15
    assert all(f"    {name}(" in text for name in functions)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'howsure' has no attribute 'scores'"):
        hs.scores  # noqa: B018


def test_importing_it_imports_nothing_heavy():
    heavy = {"numpy", "pyarrow", "duckdb", "aiohttp", "click", "msgspec", "howsure.stats", "howsure.api"}
    code = f"import howsure, sys; dir(howsure); print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_scores_of_a_table_import_no_extra(tmp_path):
    (tmp_path / "scores.csv").write_text("model,question,score\na,1,1\na,2,0\nb,1,1\nb,2,1\n")
    extras = ("export", "extras", "inspect_extension", "inspect_runs", "review", "sandbox", "web")
    code = f"""
import sys
import howsure as hs
hs.score({str(tmp_path / "scores.csv")!r})
print(sorted(name for name in sys.modules if name.partition(".")[2].partition(".")[0] in {extras}))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_help_works_without_the_libraries_of_extras():
    code = """
import sys
sys.modules.update(dict.fromkeys(("altair", "jinja2", "pandas", "polars", "starlette", "vl_convert")))
import howsure, pydoc
print("score(" in pydoc.render_doc(howsure, renderer=pydoc.plaintext))
try:
    howsure.figures
except AttributeError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "True\nhowsure.figures needs altair; install it, or pip install 'howsure[report]'\n"
