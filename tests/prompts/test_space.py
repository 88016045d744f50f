"""Kinds of truth: theory (uniformity, independence, counts), hand-written cases, other processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from helpers.prompt_questions import CITIES, benchmark, open_benchmark
from scipy.stats import chisquare

from howsure.benchmarks.question import Prompt, Question
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.prompts import SPACES, Dimension, FixedPrompt, Space, Value, draw_variants, hold_out, parse_space
from howsure.prompts.checks import bind_space
from howsure.prompts.dimensions import RANGE, draw_below, draw_permutation


def big():
    values = tuple(Value(f"v{i}", f"c{i}") for i in range(100))
    return Space("big", tuple(Dimension(f"d{i}", values) for i in range(6)))


def test_draws_of_a_trillion_points():
    points = big().sample(5000, 7)
    assert big().size == 10**12
    assert len({point.id for point in points}) == 5000  # a repeat has chance 1e-5


def test_draws_are_uniform_and_dimensions_independent():
    points = parse_space("multiple-choice").sample(6000, 3)
    for name in ("instruction", "enumerator", "separator"):
        counts = Counter(point.draws[name].value.name for point in points)
        assert len(counts) == len(parse_space("multiple-choice").dimension(name).values)
        assert chisquare(list(counts.values())).pvalue > 1e-3
    pairs = Counter((p.draws["enumerator"].value.name, p.draws["wrapper"].value.name) for p in points)
    assert len(pairs) == 24
    assert chisquare(list(pairs.values())).pvalue > 1e-3


def test_rejection_makes_remainders_equally_likely(monkeypatch):
    """With hashes of 0 to 15 and n = 6, 12 to 15 must be drawn again."""
    monkeypatch.setattr("howsure.prompts.dimensions.RANGE", 16)
    monkeypatch.setattr("howsure.prompts.dimensions._hash", lambda j, attempt: (j + 5 * attempt) % 16)
    assert [draw_below(6, j) for j in range(16)] == [*range(6), *range(6), 1, 2, 3, 4]
    assert RANGE == 2**64


def test_permutations_are_uniform_and_extend():
    counts = Counter(draw_permutation(4, "test", i) for i in range(4800))
    assert len(counts) == 24
    assert chisquare(list(counts.values())).pvalue > 1e-3
    assert all(draw_permutation(9, "x", k=k) == draw_permutation(9, "x")[:k] for k in range(10))


def test_extending_keeps_the_first_ones():
    few, many = parse_space("open").sample(20, 7), parse_space("open").sample(50, 7)
    assert [p.id for p in few] == [p.id for p in many[:20]]
    assert [p.values for p in few] == [parse_space("open").point(j, 7).values for j in range(20)]
    assert [p.id for p in few] != [p.id for p in parse_space("open").sample(20, 8)]


def test_adding_a_value_moves_only_its_dimension():
    more = {"space": "multiple-choice", "dimensions": {"separator": ["newline", "tab", {"dash": " - "}]}}
    one, other = parse_space("multiple-choice").sample(200, 1), parse_space(more).sample(200, 1)
    for name in ("instruction", "enumerator", "wrapper", "order", "demonstrations"):
        assert [p.values[name] for p in one] == [p.values[name] for p in other]
    assert {p.values["separator"] for p in other} == {"newline", "tab", "dash"}


def test_a_point_drawn_again_is_a_variant_of_its_own():
    small = Space("small", (Dimension("separator", (Value("a", "1"), Value("b", "2"))),))
    points = small.sample(9, 0)
    assert len({p.id for p in points}) == 9
    assert len({p.content for p in points}) == 2
    assert {p.id for p in points if p.repeat == 1} == {p.content for p in points}
    assert Counter(p.content for p in points) == {
        content: max(p.repeat for p in points if p.content == content) for content in {p.content for p in points}
    }


@pytest.mark.long
def test_ids_are_the_same_whatever_the_hash_seed():
    code = (
        "from howsure.prompts import parse_space\n"
        "s = parse_space({'space': 'multiple-choice', 'nested': ['separator']})\n"
        "print([p.id for p in s.sample(30, 7)], s.sample(3, 7)[2].values)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(said) == 1
    assert len(said.pop()) > 400


def test_an_id_is_of_the_content_not_of_names_or_defaults():
    def first(dimensions):
        return Space("any", dimensions).sample(1, 0)[0].id

    assert first((Dimension("separator", (Value("bar", " | "),)),)) == first(
        (Dimension("separator", (Value("pipe", " | "),)),)
    )
    assert first(()) == first((Dimension("separator", (Value("newline", "\n"),)),))
    assert first(()) != first((Dimension("separator", (Value("tab", "\t"),)),))
    assert Space("a", ()).sample(1, 0)[0].id != Space("a", (), layout="{question}").sample(1, 0)[0].id


def test_crossed_values_are_shared_and_nested_ones_drawn_per_question():
    spec = {"sample": 40, "seed": 1, "space": "multiple-choice", "dimensions": {"separator": ["newline", "tab"]}}
    crossed = draw_variants(
        spec | {"dimensions": {"separator": ["newline", "tab"], "order": ["shuffle"]}}, benchmark(n=30)
    )
    nested = draw_variants(spec | {"nested": ["enumerator"]}, benchmark(n=30))
    questions = benchmark(n=30).questions
    for variant in crossed.variants:
        assert len({tuple(variant.record(q)["order"]) for q in questions}) == 1
        assert len({tuple(variant.record(q)["labels"]) for q in questions}) == 1
    drawn = Counter(v.record(q)["values"]["enumerator"] for v in nested.variants for q in questions)
    assert len(drawn) == 6
    assert chisquare(list(drawn.values())).pvalue > 1e-3
    assert nested.space.dimension("enumerator").nested
    assert not crossed.space.dimension("enumerator").nested
    each = draw_variants(spec | {"dimensions": {"separator": ["tab"], "order": ["shuffle-each"]}}, benchmark(n=30))
    assert len({tuple(each.variants[0].record(q)["order"]) for q in questions}) > 10


def test_the_default_prompt_keeps_its_id_and_is_marked():
    asked = benchmark()
    found = draw_variants({"space": "multiple-choice", "sample": 3, "seed": 7, "default": True}, asked)
    own = found.variants[0]
    assert (found.default, own.id, len(found.variants)) == (asked.prompt.id, asked.prompt.id, 4)
    assert own.messages(asked.questions[0]) == [
        {"role": "user", "content": "Which city is number 0?\nA. Rome\nB. Paris\nC. Oslo\nD. Bern"}
    ]
    assert own.read(asked.questions[0], "The answer is Oslo.") == ("C", "statement")
    assert own.read(asked.questions[0], "no") == (None, "none")
    assert own.write_answer(asked.questions[0], "C") == "C"
    assert own.record(asked.questions[0])["labels"] == {"A": 0, "B": 1, "C": 2, "D": 3}
    assert draw_variants({"space": "multiple-choice", "sample": 3, "seed": 7}, asked).default is None
    plain = FixedPrompt(open_benchmark(), Prompt(system="Be brief."))
    assert plain.read(open_benchmark().questions[1], " 2 ") == ("2", "benchmark")
    assert plain.values == {"system": "Be brief.", "template": "{question}"}
    assert set(plain.record(open_benchmark().questions[1])) == {"prompt"}


def test_questions_held_out_leave_the_evaluation():
    asked = benchmark(n=10)
    pool, rest = hold_out(asked, 4, 7)
    assert {q.id for q in pool} | {q.id for q in rest.questions} == {q.id for q in asked.questions}
    assert len(pool) == 4
    assert len(rest.questions) == 6
    assert hold_out(asked, 2, 7)[0] == pool[:2]
    assert rest.source["held_out"] == "4"
    with pytest.raises(InputError, match="10 of 10 questions held out; give 0 to 9"):
        hold_out(asked, 10, 7)


def test_questions_that_are_there_twice_are_no_demonstrations_of_each_other():
    """By hand: of 10 questions two have the text of the first, one with the choices in another order."""
    asked = benchmark(n=10)
    first = asked.questions[0]
    again = replace(first, id="again")
    turned = replace(first, id="turned", choices=first.choices[::-1], target="ABCD"["DCBA".index(first.target)])
    doubled = replace(asked, questions=[*asked.questions, again, turned])
    for seed in range(20):
        pool, rest = hold_out(doubled, 5, seed)
        assert not {q.text for q in pool} & {q.text for q in rest.questions}
        assert pool == hold_out(replace(asked, questions=asked.questions[1:]), 5, seed)[0]
    with pytest.raises(InputError, match="demonstration 'turned' is one of the questions"):
        bind_space(parse_space({"space": "multiple-choice", "dimensions": {"demonstrations": [1]}}), asked, [turned])


def test_demonstrations_are_drawn_from_the_pool_and_rendered_as_the_question():
    spec = {
        "space": "multiple-choice", "sample": 60, "seed": 2, "hold_out": 5,
        "dimensions": {"demonstrations": [0, 2, 5], "turns": ["text", "chat"], "markers": ["none", "Q/A"], "enumerator": ["roman"], "order": ["original"], "wrapper": ["(A)"], "separator": ["newline"]},
    }  # fmt: skip
    found = draw_variants(spec, benchmark(n=12))
    asked = found.benchmark.questions[0]
    held = {q.id: q for q in found.space.pool}
    orders = set()
    for variant in found.variants:
        k = int(variant.values["demonstrations"].split()[0])
        shown = variant.record(asked).get("demonstrations", [])
        orders.add(tuple(shown))
        assert len(set(shown)) == k
        assert set(shown) <= set(held)
        said = variant.messages(asked)
        chat = variant.values["turns"] == "chat"
        assert [m["role"] for m in said] == ["user", "assistant"] * (k if chat else 0) + ["user"]
        for identity in shown:
            target = ["I", "II", "III", "IV"]["ABCD".index(held[identity].target)]
            assert any(m == {"role": "assistant", "content": target} for m in said) if chat else True
            assert any(held[identity].text in m["content"] for m in said)
        if not chat and k and variant.values["markers"] == "Q/A":
            assert said[0]["content"].count("\nA: I") == k
            assert said[0]["content"].endswith("(IV) Bern\nA:")
    assert len(orders) > 20


def test_a_prompt_as_it_is_sent():
    spec = {
        "space": "multiple-choice", "sample": 1, "system": "Test. {tone}", "head": "{instruction}",
        "dimensions": {"instruction": [{"mine": "Give one of {labels}."}], "enumerator": ["greek"], "wrapper": ["A)"], "separator": ["pipe"], "order": ["reversed"], "casing": ["upper"], "tone": [{"warm": "Take your time."}]},
        "altering": ["tone"],
    }  # fmt: skip
    found = draw_variants(spec, benchmark(n=1))
    variant = found.variants[0]
    assert variant.messages(found.benchmark.questions[0]) == [
        {"role": "system", "content": "Test. Take your time."},
        {
            "role": "user",
            "content": "GIVE ONE OF α, β, γ or δ.\n\nWhich city is number 0?\nα) Bern | β) Oslo | γ) Paris | δ) Rome",
        },
    ]
    assert variant.record(found.benchmark.questions[0])["labels"] == {"α": 3, "β": 2, "γ": 1, "δ": 0}
    assert variant.write_answer(found.benchmark.questions[0], "A") == "δ"
    assert not found.space.dimension("tone").preserving
    assert found.space.dimension("order").preserving


def test_what_a_question_says_in_braces_stays():
    question = Question("x", "Is {choices} or {question} a set {labels}?", "A", choices=("{question}", "no"))
    asked = benchmark()
    found = draw_variants(
        {
            "space": "multiple-choice",
            "sample": 1,
            "dimensions": {
                "order": ["original"],
                "separator": ["newline"],
                "wrapper": ["A."],
                "enumerator": ["capitals"],
            },
        },
        type(asked)("b", [question], Prompt(), asked.extract),
    )
    assert (
        "Is {choices} or {question} a set {labels}?\nA. {question}\nB. no"
        in found.variants[0].messages(question)[0]["content"]
    )
    assert Prompt(template="{question} {choices}").messages(question)[0]["content"].startswith("Is {choices} or")


def test_open_spaces_read_as_the_benchmark_does():
    for name in ("open", "maths"):
        found = draw_variants(
            {"space": name, "sample": 30, "seed": 1, "hold_out": 2, "dimensions": {"demonstrations": [0, 2]}},
            open_benchmark(),
        )
        for variant in found.variants:
            question = found.benchmark.questions[0]
            assert variant.read(question, " 7 ") == ("7", "benchmark")
            assert variant.write_answer(question, "7") == "7"
            assert question.text in variant.messages(question)[-1]["content"]


def test_sorting_by_length_and_alphabet():
    spec = {"space": "multiple-choice", "sample": 1}
    for kind, expected in {
        "length": "Rome Oslo Bern Paris Vaduz",
        "alphabetical": "Bern Oslo Paris Rome Vaduz",
        "alphabetical-reversed": "Vaduz Rome Paris Oslo Bern",
    }.items():
        question = Question("x", "?", "A", choices=("Rome", "Paris", "Oslo", "Bern", "Vaduz"))
        asked = benchmark()
        found = draw_variants(
            spec | {"dimensions": {"order": [kind]}}, type(asked)("b", [question], Prompt(), asked.extract)
        )
        assert " ".join(question.choices[i] for i in found.variants[0].record(question)["order"]) == expected


@pytest.mark.parametrize("name", SPACES)
def test_built_in_spaces_have_twelve_phrasings_or_more(name):
    assert len(parse_space(name).dimension("instruction").values) >= 12
    assert len(CITIES) == 10


BAD = [
    ({"space": "multiple"}, "unknown space 'multiple'; did you mean 'multiple-choice'"),
    ({}, "variants: no space is named; give one: multiple-choice, open, maths"),
    ({"space": "open", "dimension": {}}, "unknown key 'dimension'; did you mean 'dimensions'"),
    ({"space": "open", "dimensions": {"casing": ["uper"]}}, "unknown casing value 'uper'; did you mean 'upper'"),
    ({"space": "open", "dimensions": {"cassing": ["upper"]}}, "unknown dimension 'cassing'; did you mean 'casing'"),
    ({"space": "open", "dimensions": {"a b": ["x"]}}, "dimension 'a b' is no name of a field"),
    ({"space": "open", "dimensions": []}, r"\[\] is no map; write"),
    ({"space": "open", "nested": ["order"]}, "variants, nested: unknown dimension 'order'"),
    ({"space": "open", "nested": 3}, "nested is 3; list names"),
    ({"space": "open", "head": 3}, "head is 3; give text"),
    ({"space": "open", "dimensions": {"casing": []}}, "dimension casing: no values"),
    ({"space": "open", "dimensions": {"casing": ["lower", "lower"]}}, "dimension casing: the same value twice: lower; remove one"),
    ({"space": "multiple-choice", "dimensions": {"separator": ["tab", {"t": "\t"}]}}, "the same value twice: tab and t"),
    ({"space": "open", "dimensions": {"casing": [{"x": "y"}]}}, "dimension casing, x: new values are not allowed"),
    ({"space": "multiple-choice", "dimensions": {"enumerator": [{"x": 3}]}}, "3 is no list of labels"),
    ({"space": "multiple-choice", "dimensions": {"wrapper": [{"x": "A"}]}}, "'A' has no place for the label; write {label} once"),
    ({"space": "multiple-choice", "dimensions": {"separator": [{"x": ""}]}}, "separator, x: it is empty"),
    ({"space": "multiple-choice", "dimensions": {"separator": [{"x": 1}]}}, "1 is not text; put it in quotes"),
    ({"space": "multiple-choice", "dimensions": {"separator": [{"x": "1", "y": "2"}]}}, "a value with 2 names"),
    ({"space": "open", "dimensions": {"markers": [{"x": "Q"}]}}, "'Q' is not two markers"),
    ({"space": "open", "dimensions": {"demonstrations": [-1]}}, "-1 demonstrations; give 0 or more"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "message"), BAD)
def test_bad_declarations(spec, message):
    with pytest.raises(InputError, match=message):
        parse_space(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"space": "open", "sample": 0}, "a sample of 0 variants; give 1 or more"),
        ({"space": "open"}, "sample is not given; give a whole number"),
        ({"space": "open", "sample": 2, "seed": True}, "seed is True; give a whole number"),
        ({"space": "open", "sample": 2, "default": 1}, "default is 1; give true or false"),
        ({"space": "open", "sample": 2, "samples": 1}, "unknown key 'samples'; did you mean 'sample'"),
    ],
)
def test_bad_samples(spec, message):
    with pytest.raises(InputError, match=message):
        draw_variants(spec, open_benchmark())


def test_a_space_written_in_python():
    own = Dimension("tone", (Value("plain", ""), Value("warm", "Take your time.")), nested=True)
    mine = Space("mine", (own,), head="{tone}")
    found = draw_variants({"space": mine, "sample": 3, "altering": ["tone"]}, open_benchmark())
    assert (found.space.name, found.space.size, len(found.variants)) == ("mine", 2, 3)
    assert (found.space.dimension("tone").nested, found.space.dimension("tone").preserving) == (True, False)


def test_more_draws_than_points_are_told():
    spec = {
        "space": "open",
        "dimensions": {"instruction": [{"a": "Answer."}], "markers": ["Q/A", "none"], "casing": ["as-is"]},
    }
    with pytest.warns(
        HowsureWarning, match="3 variants from a space of 2: variants that are drawn again have the same"
    ):
        assert len(draw_variants(spec | {"sample": 3}, open_benchmark()).variants) == 3
    draw_variants(spec | {"sample": 3, "nested": ["markers"]}, open_benchmark())
    draw_variants(spec | {"sample": 2}, open_benchmark())


def test_bad_use_in_python():
    with pytest.raises(InputError, match="two dimensions are called 'order'; rename one"):
        Space("x", (Dimension("order", (Value("a", "a"),)), Dimension("order", (Value("b", "b"),))))
    with pytest.raises(UnknownNameError, match="unknown dimension 'ordr'; did you mean 'order'"):
        parse_space("multiple-choice").dimension("ordr")
    with pytest.raises(InputError, match="has no function that reads answers; bind"):
        parse_space("open").point(0, 0).read(open_benchmark().questions[0], "3")
    with pytest.raises(InputError, match="both a pool and questions held out; keep one"):
        draw_variants({"space": "open", "sample": 1, "hold_out": 1}, open_benchmark(), pool=[Question("p", "?", "1")])
