"""The size of the code stays below budget.toml.

Kind of truth: the files themselves, and small sources that are counted by hand.
"""

import ast
import tomllib
from collections import Counter
from pathlib import Path

from helpers.repository_modules import module

structure = module(Path(__file__).resolve().parents[1] / "bench/structure.py")


def test_nothing_is_above_its_ceiling():
    budget = tomllib.loads(structure.BUDGET.read_text("utf-8"))
    figures = structure.measure(budget)
    assert structure.find_excess(figures, budget) == []
    assert set(figures) == set(budget["packages"] | budget["totals"])


def test_an_excess_names_the_figure_its_ceiling_and_the_places():
    budget = {"packages": {"rows": {"now": 9}}, "totals": {"modules": {"now": 2}}}
    figures = {"rows": Counter({"a.py": 2, "b.py": 8}), "modules": Counter(rows=2), "no package": Counter({"c.py": 1})}
    assert structure.find_excess(figures, budget) == [
        "rows: 10, the ceiling is 9; most in b.py (8), a.py (2)",
        "no package: 1, the ceiling is 0; most in c.py (1)",
    ]


def test_a_ceiling_is_lowered_and_never_raised():
    text = '# now = 9\n"rows" = { now = 1_500, target = 5 }\n"word lists" = { now = 3 }\n'
    figures = {"rows": Counter(a=1_234), "word lists": Counter(a=4)}
    assert structure.lower_ceilings(text, figures) == text.replace("1_500", "1_234")


def test_each_pattern_counts_once():
    source = (
        "A = re.compile('a')\nB = [re.compile(x) for x in 'ab']\ndef f(s): return re.sub('b', '', s), s.split('c')\n"
    )
    assert structure.count_patterns(ast.parse(source)) == 3


def test_word_lists_are_long_literals_of_module_level():
    eight = [f"w{i}" for i in range(8)]
    lists = [
        f"A = {eight}",
        f"B: frozenset[str] = frozenset({tuple(eight)})",
        f"C = {dict.fromkeys(eight, eight[:7])}",
        f"D = {' '.join(eight)!r}.split()",
    ]
    others = [f"E = {eight[:7]}", f"F = {list(range(8))}", f"def f(): return {eight}", f"G = {' '.join(eight)!r}"]
    assert structure.count_word_lists(ast.parse("\n".join(lists + others))) == len(lists)
    assert structure.count_word_lists(ast.parse(f"H = {{'a': {eight}, 'b': {eight}}}")) == 2
