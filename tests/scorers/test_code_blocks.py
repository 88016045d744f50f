"""Code in completions: what a person would copy from them; written before the reader."""

import pytest

from howsure.scorers.code_blocks import defined_names, extract_code, extract_expression

PROMPT = 'from typing import List\n\ndef f(x: int) -> List[int]:\n    """ Return x twice. """\n'
WHOLE = "def f(x: int) -> List[int]:\n    return [x, x]\n"
#: Completion to PROMPT -> where its code is found; all are right.
RIGHT = {
    "    return [x, x]\n": "continuation",
    "    return [x, x]": "continuation",
    "return [x, x]": "continuation",
    "\n    y = x\n    return [x, y]\n\n\ndef g(): pass\n\nprint(f(1))": "continuation",
    "y = x\n    return [x, y]": "continuation",
    "    return [x, x]\n\nThis returns the number twice, isn't it?": "continuation",
    WHOLE: "program",
    PROMPT + "    return [x, x]": "program",
    f"```python\n{WHOLE}```": "code block",
    f"```\n{WHOLE}```": "code block",
    f"```py\n{WHOLE}": "code block",
    f"Sure! Here it is:\n\n```Python\n{WHOLE}```\nIt works.": "code block",
    f"~~~python\n{WHOLE}~~~": "code block",
    f"````python\n{WHOLE}````": "code block",
    "1. The code:\n   ```python\n   def f(x):\n       return [x, x]\n   ```": "code block",
    f"Here is the code: ```python\n{WHOLE}```": "code block",
    f"```python\n{WHOLE}```\r\n".replace("\n", "\r\n").replace("\r\r", "\r"): "code block",
    f"First try:\n```python\ndef f(x): return x\n```\nBetter:\n```python\n{WHOLE}```": "code block",
    f"```python\n{WHOLE}```\nUse it so:\n```python\nprint(f(3))\n```\n```bash\npip install f\n```": "code block",
    f"```python\n{WHOLE}```\nOutput:\n```text\ndef f(x): no\n```": "code block",
    "```python\ndef twice(x):\n    return [x, x]\n```\nand\n```python\ndef f(x):\n    return twice(x)\n```": "code block",
    "```python\n    return [x, x]\n```": "continuation",
    "```python\nreturn [x, x]\n```": "continuation",
    f"The function is\n\n{WHOLE}\nI hope that this helps!": "program",
    f"{WHOLE}\nif __name__ == '__main__':\n    f(1)": "program",
    "class A:\n    pass\n\nf = lambda x: [x, x]": "program",
    f"[BEGIN]\n{WHOLE}[DONE]\nmore": "code block",
    f"```python\n{WHOLE}\nassert f(1) == [1, 1]\n# cut here: f(": "code block",
    "```python\n'''A text with ``` in it.'''\ndef f(x):\n    return [x, x]\n```": "code block",
}


@pytest.mark.parametrize("completion", RIGHT)
def test_code_is_found_and_runs(completion):
    answer = extract_code(completion, ["f"], PROMPT)
    assert answer.rule == RIGHT[completion]
    namespace = {"__name__": "other"}
    exec(answer.code, namespace)
    assert namespace["f"](3) == [3, 3]


@pytest.mark.parametrize(
    ("completion", "rule"),
    [("", "empty"), (" \n ", "empty"), ("I cannot help with that.", "no code")],
)
def test_what_is_no_code(completion, rule):
    assert extract_code(completion, ["f"]) == (None, rule)


def test_code_that_is_cut_off_is_read_as_far_as_it_goes():
    text = "```python\ndef g(x):\n    return x\n\ndef f(x):\n    y = [x,"
    assert "def g" in extract_code(text, ["f"]).code
    assert extract_code("    return [x, x]\n", ["f"], "def f(x):").code == "def f(x):\n    return [x, x]\n"


def test_defined_names():
    code = "import os\nasync def a(): pass\nclass B: pass\nc: int = 1\nd = e = 2\nf.g = 3"
    assert defined_names(code) == ["a", "B", "c", "d", "e"]


@pytest.mark.parametrize(
    ("completion", "expected"),
    [
        ("Answer: [1, 2]", "[1, 2]"),
        ("**Answer:** `'abc'`", "'abc'"),
        ("It is so.\n\nFinal answer: {'a': 1}.", "{'a': 1}"),
        ("[THOUGHT]f adds[/THOUGHT]\n[ANSWER]\nassert f(17) == 18\n[/ANSWER]", "f(17) == 18"),
        ("```python\nassert f('x') == 'xx'\n```", "f('x') == 'xx'"),
        ("Answer:\n```python\n'xx'\n```", "'xx'"),
        ("So f(2) returns 4:\nf(2) == 4", "f(2) == 4"),
        ("Answer: f(1, key='v')", "f(1, key='v')"),
        ("", None),
        ("I do not know what it is", None),
    ],
)
def test_expressions(completion, expected):
    assert extract_expression(completion, "f") == expected
