"""Problems in the form of HumanEval, with solutions and broken ones; written for these tests."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from howsure.sandbox.isolation import find_isolation

#: Mark of tests that run code, which nothing isolates on some machines.
needs_isolation = pytest.mark.skipif(find_isolation() == "limits", reason="neither bubblewrap nor namespaces work here")


class CodeProblem(NamedTuple):
    """A prompt, its solution, its test, and solutions that are broken."""

    entry_point: str
    prompt: str
    solution: str
    test: str
    broken: tuple[str, ...]

    @property
    def row(self):
        """Return the row as it is published."""
        return {
            "task_id": f"Own/{self.entry_point}",
            "prompt": self.prompt,
            "canonical_solution": self.solution,
            "test": self.test,
            "entry_point": self.entry_point,
        }


def make(signature, documentation, body, asserts, broken, head=""):
    """Return a problem; bodies are written without their indentation."""
    name = signature.partition("(")[0]
    lines = "\n".join(f"    assert {one}" for one in asserts)

    def indent(text):
        return "".join(f"    {line}\n" if line else "\n" for line in text.split("\n"))

    return CodeProblem(
        name,
        f'{head}\n\ndef {signature}:\n    """ {documentation}\n    """\n',
        indent(body),
        f"\n\nMETADATA = {{'author': 'own'}}\n\n\ndef check(candidate):\n{lines}\n",
        tuple(indent(one) for one in broken),
    )


TYPING = "from typing import List, Dict, Tuple, Optional\n"
PROBLEMS = [
    make("add_all(numbers: List[int]) -> int", "Return the sum.", "return sum(numbers)", ["candidate([1, 2]) == 3", "candidate([]) == 0"], ["return sum(numbers) + 1", "return numbers", "return max(numbers)"], TYPING),
    make("count_vowels(text: str) -> int", "Count the vowels.", "return sum(c in 'aeiou' for c in text.lower())", ["candidate('Queue') == 4", "candidate('') == 0"], ["return sum(c in 'aeiou' for c in text)[0]", "return len(text)", "pass"]),
    make("is_sorted(values)", "Return whether values ascend.", "return all(a <= b for a, b in zip(values, values[1:]))", ["candidate([1, 1, 2]) is True", "candidate([2, 1]) is False"], ["return True", "return values == sorted(values, reverse=True)"]),
    make("halves(n: int) -> Tuple[int, int]", "Return two parts that differ by 1 at most, the smaller first.", "return n // 2, n - n // 2", ["candidate(5) == (2, 3)", "candidate(4) == (2, 2)"], ["return [n // 2, n - n // 2]", "return n - n // 2, n // 2", "return n / 2, n / 2 + 1"], TYPING),
    make("word_lengths(text: str) -> Dict[str, int]", "Map words to lengths.", "return {word: len(word) for word in text.split()}", ["candidate('a bb') == {'a': 1, 'bb': 2}", "candidate('') == {}"], ["return {}", "return {word: 1 for word in text.split()}"], TYPING),
    make("root(x: float) -> float", "Return the square root.", "return math.sqrt(x)", ["abs(candidate(2.0) - 1.41421356) < 1e-6", "candidate(0) == 0"], ["return math.inf", "return float('nan')", "return x / 2"], "import math\n"),
    make("evaluate_root(coefficients: list)", "Find a zero of the polynomial between -10 and 10.", "low, high = -10.0, 10.0\nfor _ in range(200):\n    middle = (low + high) / 2\n    if evaluate(coefficients, low) * evaluate(coefficients, middle) <= 0:\n        high = middle\n    else:\n        low = middle\nreturn low", ["abs(evaluate([-2, 1], candidate([-2, 1]))) < 1e-6", "abs(evaluate([-8, 0, 0, 1], candidate([-8, 0, 0, 1]))) < 1e-4"], ["return 0.0", "return None"], "def evaluate(coefficients: list, x: float):\n    return sum(c * x ** i for i, c in enumerate(coefficients))\n"),
    make("unique(items)", "Return items once, in their order.", "return list(dict.fromkeys(items))", ["candidate([3, 1, 3]) == [3, 1]", "candidate('aba') == ['a', 'b']"], ["return set(items)", "return sorted(set(items))", "return items"]),
    make("fibonacci(n: int) -> int", "Return the n-th number of Fibonacci.", "a, b = 0, 1\nfor _ in range(n):\n    a, b = b, a + b\nreturn a", ["candidate(10) == 55", "candidate(0) == 0", "candidate(100) == 354224848179261915075"], ["return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 1)", "return round(1.618033988749895 ** n / 5 ** .5)"]),
    make("flatten(nested)", "Flatten lists in lists.", "out = []\nfor item in nested:\n    if isinstance(item, list):\n        out.extend(flatten(item))\n    else:\n        out.append(item)\nreturn out", ["candidate([1, [2, [3]], []]) == [1, 2, 3]"], ["return nested", "return sum(nested, [])", "return flatten(nested)"]),
    make("first_repeat(text: str) -> Optional[str]", "Return the first character that comes again, or None.", "seen = set()\nfor c in text:\n    if c in seen:\n        return c\n    seen.add(c)\nreturn None", ["candidate('abcb') == 'b'", "candidate('abc') is None"], ["return text[0]", "return ''", "raise ValueError('no')"], TYPING),
    make("transpose(matrix)", "Exchange rows and columns.", "return [list(row) for row in zip(*matrix)]", ["candidate([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]", "candidate([]) == []"], ["return matrix", "return list(zip(*matrix))"]),
    make("caesar(text: str, shift: int) -> str", "Shift small letters.", "return ''.join(chr((ord(c) - 97 + shift) % 26 + 97) if c.islower() else c for c in text)", ["candidate('xyz a', 3) == 'abc d'", "candidate('b', -1) == 'a'"], ["return text", "return ''.join(chr(ord(c) + shift) for c in text)"]),
    make("primes(n: int)", "Return the primes below n.", "return [p for p in range(2, n) if all(p % d for d in range(2, int(p ** .5) + 1))]", ["candidate(12) == [2, 3, 5, 7, 11]", "candidate(2) == []"], ["return [p for p in range(1, n) if all(p % d for d in range(2, p))]", "return [2, 3, 5, 7]", "return (p for p in range(n))"]),
    make("common(a, b)", "Return what is in both.", "return set(a) & set(b)", ["candidate([1, 2], [2, 3]) == {2}", "candidate([], [1]) == set()"], ["return set(a) | set(b)", "return list(set(a) & set(b))", "return {}"]),
    make("rotate(items: list, k: int)", "Move k items from the front to the end.", "k %= len(items) or 1\nreturn items[k:] + items[:k]", ["candidate([1, 2, 3], 1) == [2, 3, 1]", "candidate([], 3) == []"], ["return items[k:] + items[:k] + [0]", "return items[-k:] + items[:-k]"]),
    make("sort_in_place(items: list) -> None", "Sort the list itself.", "items.sort()", ["(lambda a: candidate(a) is None and a == [1, 2])([2, 1])"], ["return sorted(items)", "items = sorted(items)"]),
    make("roman(n: int) -> str", "Write n in Roman numerals.", "out = ''\nfor value, sign in ((10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')):\n    while n >= value:\n        out += sign\n        n -= value\nreturn out", ["candidate(14) == 'XIV'", "candidate(9) == 'IX'"], ["return 'I' * n", "while True:\n    n += 1"]),
    make("balanced(text: str) -> bool", "Return whether parentheses are balanced.", "depth = 0\nfor c in text:\n    depth += {'(': 1, ')': -1}.get(c, 0)\n    if depth < 0:\n        return False\nreturn depth == 0", ["candidate('(())')", "not candidate(')(')", "not candidate('(')"], ["return text.count('(') == text.count(')')", "return False", "return 'yes'"]),
    make("mean(values: List[float]) -> float", "Return the mean.", "return sum(values) / len(values)", ["candidate([1.0, 2.0]) == 1.5", "abs(candidate([.1, .2]) - .15) < 1e-9"], ["return sum(values)", "return sum(values) / 0", "return sum(values) // len(values)"], TYPING),
]  # fmt: skip
