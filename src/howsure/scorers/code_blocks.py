"""Find the Python code that a completion gives: in fences, as a whole program, or as the rest of a function.

The code is never run here; `ast.parse` decides what is Python.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

#: Longest completion that is read, in characters; what is longer is cut.
LONGEST = 200_000

_FENCE = re.compile(r"^(?P<before>.*?)(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w.+#-]*)[^`\n]*$")
_PYTHON = re.compile(r"(?:python|py|ipython|pycon)?[\d.]*", re.IGNORECASE)
_CODE_LINE = re.compile(r"^(?:(?:from|import|def|class|async def)\b|@|\w+ = )", re.MULTILINE)
_MARKED = re.compile(r"\[(?:BEGIN|ANSWER|PYTHON)\](.*?)(?:\[/?(?:DONE|END|ANSWER|PYTHON)\]|\Z)", re.DOTALL)
_ANSWER_LINE = re.compile(r"^[\s*_#>]*(?:final )?answer[*_]*\s*(?::|=|is)[*_]*\s*(.*)$", re.IGNORECASE)


class CodeAnswer(NamedTuple):
    """The code of a completion, and where it was found: "code block", "program", "continuation" or "text"."""

    code: str | None
    rule: str


def extract_code(completion: str, names: Sequence[str], prompt: str = "") -> CodeAnswer:
    r"""Return the code of a completion that should define names.

    Parameters
    ----------
    completion
        The completion, without thoughts.
    names
        Names that the tests use. Of several blocks the last one that defines one of them counts, with the blocks
        before it that define something else, such as a helper.
    prompt
        The beginning of a program that the completion may continue, such as a signature and its documentation; empty
        if there is none. Code that is whole follows it, so that its imports and helpers exist.

    Returns
    -------
    CodeAnswer
        The program, or None with the reason.

    Examples
    --------
    >>> extract_code("Sure:\n```python\ndef f(x):\n    return x\n```\nDone.", ["f"]).code
    'def f(x):\n    return x\n'
    >>> extract_code("    return x", ["f"], "def f(x):\n").code
    'def f(x):\n    return x'
    """
    text = completion[:LONGEST].replace("\r\n", "\n")
    if not text.strip():
        return CodeAnswer(None, "empty")
    preamble = f"{prompt}\n\n" if prompt and parse_python(prompt) is not None else ""
    blocks = _find_blocks(text)
    if blocks:
        chosen = _choose_block(blocks, names)
        if chosen is None and prompt and (program := _continue(prompt, blocks[-1])) is not None:
            return CodeAnswer(program, "continuation")
        return CodeAnswer(preamble + ("\n\n".join(blocks) if chosen is None else chosen), "code block")
    start = _CODE_LINE.search(text)
    is_indented = bool(prompt) and text.lstrip("\n")[0] in " \t"
    program = None if is_indented or start is None else _choose_block([text[start.start() :]], names)
    if program is not None:
        return CodeAnswer(preamble + program, "program")
    program = _continue(prompt, text) if prompt else None
    return CodeAnswer(program, "no code" if program is None else "continuation")


def defined_names(code: str) -> list[str]:
    r"""Return the functions, classes and variables that a program defines at its top level; none if it is no Python.

    >>> defined_names("import re\ndef f(): pass\nx = y = 1"), defined_names("def f(")
    (['f', 'x', 'y'], [])
    """
    tree = parse_python(code)
    names: list[str] = []
    for node in tree.body if tree else []:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


def parse_python(code: str) -> ast.Module | None:
    """Return the syntax tree of a program; None if it is no Python."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _find_blocks(text: str) -> list[str]:
    """Return the blocks of Python between fences or markers; one without an end reaches to the end of the text."""
    if marked := _MARKED.findall(text):
        inner = marked[-1]
        return _find_blocks(inner) or [textwrap.dedent(inner).strip("\n")]
    blocks: list[str] = []
    lines: list[str] | None = None
    fence = ""
    is_python = False
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if lines is None:
            if match and (not match["before"].strip() or match["language"]):
                lines, fence = [], match["fence"]
                is_python = _PYTHON.fullmatch(match["language"]) is not None
        elif match and not match["language"] and match["fence"].startswith(fence) and not match["before"].strip():
            if is_python:
                blocks.append(textwrap.dedent("\n".join(lines)) + "\n")
            lines = None
        else:
            lines.append(line)
    if lines is not None and is_python and any(line.strip() for line in lines):
        blocks.append(textwrap.dedent("\n".join(lines)) + "\n")
    return [block for block in blocks if block.strip()]


def _choose_block(blocks: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the last block that defines one of the names, after earlier blocks with helpers; None if none does."""
    readable = [block if parse_python(block) is not None else _cut_to_python(block) for block in blocks]
    places = [i for i, block in enumerate(readable) if set(names) & set(defined_names(block))]
    if not places:
        return None
    place = places[-1]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    trees = [parse_python(block) if i not in places else None for i, block in enumerate(readable[:place])]
    is_helper = [tree is not None and any(isinstance(node, kinds) for node in tree.body) for tree in trees]
    return "\n\n".join([*itertools.compress(readable, is_helper), readable[place]])


def _cut_to_python(text: str) -> str:
    """Return the longest beginning of a text, in lines, that is Python, as far as its errors tell."""
    lines = text.split("\n")
    while lines:
        try:
            ast.parse("\n".join(lines))
        except SyntaxError as error:
            lines = lines[: max(0, min(error.lineno or 1, len(lines)) - 1)]
        except (ValueError, RecursionError, MemoryError):
            return ""
        else:
            break
    return "\n".join(lines)


def _continue(prompt: str, text: str) -> str | None:
    """Return the program that begins with a prompt and goes on with a text; None if no line of the text goes on."""
    prompt = prompt if prompt.endswith("\n") else prompt + "\n"
    body = text.lstrip("\n")
    forms = [body, "    " + body.lstrip(), textwrap.indent(textwrap.dedent(body), "    ")]
    programs = [_cut_to_python(prompt + form) for form in forms]
    best = max(programs, key=len)
    added = best[len(prompt) :]
    statements = [line for line in added.split("\n") if line.startswith(" ") and not line.strip().startswith("#")]
    return best if any(line.strip() for line in statements) else None


def extract_expression(completion: str, function: str) -> str | None:
    r"""Return the expression that a completion states as its answer, without a comparison or an assertion around it.

    Parameters
    ----------
    completion
        The completion; the answer is between `[ANSWER]` and `[/ANSWER]`, after "Answer:", in a fence, or the last
        line. Of "f(1) == 2" the whole comparison is returned.
    function
        Name of the function of the question.

    Examples
    --------
    >>> extract_expression("It doubles.\nAnswer: `[2, 4]`", "f")
    '[2, 4]'
    >>> extract_expression("[ANSWER]assert f(1) == 2[/ANSWER]", "f")
    'f(1) == 2'
    """
    text = completion[:LONGEST].strip()
    lines = text.split("\n")
    answers = [i for i, line in enumerate(lines) if _ANSWER_LINE.match(line)]
    places = _MARKED.findall(text)[-1:]
    for i in answers[-1:]:
        stated = _ANSWER_LINE.sub(r"\1", lines[i])
        places += ["\n".join([stated, *lines[i + 1 :]]), stated]
    places += [*_find_blocks(text)[-1:], *[line for line in lines if f"{function}(" in line][-1:], lines[-1]]
    read = (_read_expression((_find_blocks(place) or [place])[-1]) for place in places)
    return next((expression for expression in read if expression is not None), None)


def _read_expression(text: str) -> str | None:
    """Return the last expression of a text, out of markup and without `assert`; None if there is none."""
    bare = text.strip("*\n\t ").removesuffix(".").strip()
    for form in (bare, bare.strip("` "), *re.findall(r"`([^`\n]+)`", bare)[-1:], bare.split("\n")[0].strip("`* ")):
        tree = parse_python(form)
        last = tree.body[-1] if tree is not None and tree.body else None
        if isinstance(last, ast.Assert | ast.Expr):
            return ast.get_source_segment(form, last.test if isinstance(last, ast.Assert) else last.value)
    return None
