"""The line of each value of a YAML text. Kind of truth: counted by hand in texts written here."""

from itertools import pairwise

import pytest

from howsure.errors import InputError
from howsure.sample.yaml_source import YamlSource

TEXT = """\
# a comment
benchmark: b
models:
  - simulated/small
  - model: m
    extra:
      seed: 4
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("benchmark",), "e.yaml:2: benchmark"),
        (("models", 0), "e.yaml:4: models[0]"),
        (("models", 1, "model"), "e.yaml:5: models[1].model"),
        (("models", 1, "extra", "seed"), "e.yaml:7: models[1].extra.seed"),
    ],
)
def test_the_place_of_a_value(path, place):
    assert YamlSource(TEXT, "e.yaml").at(*path) == place


def test_the_values_are_those_of_the_text():
    source = YamlSource(TEXT, "e.yaml")
    assert source.data == {"benchmark": "b", "models": ["simulated/small", {"model": "m", "extra": {"seed": 4}}]}
    assert source.read(dict[str, object]) == source.data


@pytest.mark.parametrize(
    ("text", "line"), [("a: 1\nb: 2\na: 3\n", 3), ("a:\n  b: 1\n  c:\n    - {d: 1, d: 2}\n", 4), ("a: [1\nb: 2\n", 2)]
)
def test_a_key_twice_and_broken_syntax_name_their_line(text, line):
    with pytest.raises(InputError) as error:
        YamlSource(text, "e.yaml")
    assert error.value.where == f"e.yaml:{line}"


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_text_is_refused(text):
    with pytest.raises(InputError, match="the file is empty"):
        YamlSource(text, "e.yaml")


def test_fail_raises_at_the_place():
    with pytest.raises(InputError) as error:
        YamlSource(TEXT, "e.yaml").fail("too many", "models", 1, remedy="remove one")
    assert (error.value.what, error.value.where, error.value.remedy) == (
        "too many",
        "e.yaml:5: models[1]",
        "remove one",
    )


def aliases(levels, form):
    """A text of few lines whose aliases stand for 9 ** levels values."""
    names = [f"x{i}" for i in range(levels + 1)]
    lines = [f"{names[0]}: &{names[0]} {{k: v}}"]
    for before, name in pairwise(names):
        lines.append(f"{name}: &{name} " + form.format(", ".join([f"*{before}"] * 9)))
    return "\n".join([*lines, f"extra: *{names[-1]}"])


@pytest.mark.parametrize("form", ["[{}]", "{{<<: [{}]}}", "{{a: [{}]}}"])
def test_aliases_that_explode_are_refused_at_once(form):
    with pytest.raises(InputError, match="aliases stand for more than 1,000,000 values; write fewer aliases"):
        YamlSource(aliases(9, form), "e.yaml")
    assert YamlSource(aliases(2, form), "e.yaml").data


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: &a [[[*a]]]"])
def test_an_alias_that_contains_itself_is_refused(text):
    with pytest.raises(InputError, match="e.yaml:1: an alias contains itself; remove it"):
        YamlSource(text, "e.yaml")


def test_aliases_and_merged_keys_of_usual_size_are_read():
    text = "base: &base {temperature: 0.5, top_p: 1}\nm: {<<: *base, top_p: 0.9}\nn: *base\n"
    assert YamlSource(text, "e.yaml").data["m"] == {"temperature": 0.5, "top_p": 0.9}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("!!set {a, b}", "a value of the type 'set'"),
        ("!!omap [a: 1]", "a value of the type 'omap'"),
        ("!!binary aGk=", "a value of the type 'binary'"),
        ("2026-01-01", "a value of the type 'timestamp'"),
        ("!!python/object/apply:os.system [ls]", "a value of the type 'python/object/apply:os.system'"),
        ('"\\ud800"', "a text has a character that no file can hold"),
        ('"a\\0"', "a text has a character that no file can hold"),
        ("{[1]: 2}", "a key is a list or a mapping"),
        ("{? {a: b} : 2}", "a key is a list or a mapping"),
    ],
)
def test_what_json_lacks_is_refused_with_its_line(value, expected):
    with pytest.raises(InputError) as error:
        YamlSource(f"seed: 1\na: {value}\n", "e.yaml")
    assert str(error.value).startswith(f"e.yaml:2: {expected}")


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000, "a: " + "9" * 5000, "- " * 5000, "!" * 100, "&a " * 50])
def test_deep_and_huge_texts_are_one_line(text):
    with pytest.raises(InputError) as error:
        YamlSource(text, "e.yaml").read(dict[str, int])
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1000
