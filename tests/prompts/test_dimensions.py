"""Kinds of truth: prompts written by hand; identities that must hold for every value (draws, ids, write and read)."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from dataclasses import replace

import pytest
from helpers.long_cases import mark_long
from helpers.prompt_questions import CITIES, benchmark, open_benchmark

from howsure.benchmarks.question import Question
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.prompts import check_space, draw_variants, parse_space
from howsure.prompts.dimensions import BUILT_IN_VALUES, LANGUAGES
from howsure.scorers.numbers import extract_number

PLAIN = {
    "instruction": [{"mine": "Give the label."}],
    "enumerator": ["capitals"],
    "wrapper": ["A."],
    "separator": ["newline"],
    "order": ["original"],
}
QUESTION = "Which city is number 0?\nA. Rome\nB. Paris\nC. Oslo\nD. Bern"
PLAN = "First make a plan for finding the answer, then carry it out."
NEW = ("placement", "demonstration_order", "reasoning", "answer_form", "language")


def only(asked=None, **dimensions):
    """Return the only variant of a space with one value on each dimension, and the first question."""
    spec = {"space": "multiple-choice", "sample": 1, "dimensions": {**PLAIN, **dimensions}}
    found = draw_variants(spec, asked or benchmark())
    return found.variants[0], found.benchmark.questions[0]


def names(dimension):
    return [value.name for value in BUILT_IN_VALUES[dimension]]


def test_new_dimensions_change_no_id_and_no_draw_of_another():
    plain = parse_space("multiple-choice").sample(100, 7)
    spec = {"space": "multiple-choice", "dimensions": {name: names(name) for name in NEW if name != "language"}}
    more = parse_space(spec).sample(100, 7)
    for old, new in zip(plain, more, strict=True):
        assert old.values == {name: new.values[name] for name in old.values}
    defaults = {name: names(name)[:1] for name in NEW}
    same = parse_space({"space": "multiple-choice", "dimensions": defaults}).sample(100, 7)
    assert [point.id for point in same] == [point.id for point in plain]
    # Ids that version 0.1 gave: a run folder of it goes on.
    ids = "".join(point.id for point in parse_space("multiple-choice").sample(300, 7))
    assert hashlib.sha256(ids.encode()).hexdigest().startswith("3c6a8922510e69b2")
    assert len({point.id for point in more}) == 100
    assert {point.id for point in more}.isdisjoint(point.id for point in plain) or sum(
        a.id == b.id for a, b in zip(plain, more, strict=True)
    ) < 5


PROMPTS = [
    ({"placement": "before"}, [("user", f"Give the label.\n\n{QUESTION}")]),
    ({"placement": "after"}, [("user", f"{QUESTION}\n\nGive the label.")]),
    ({"placement": "system"}, [("system", "Give the label."), ("user", QUESTION)]),
    ({"placement": "after", "markers": "Q/A"}, [("user", f"Q: {QUESTION}\n\nGive the label.\n\nA:")]),
    ({"reasoning": "step-by-step"}, [("user", f"Give the label. Let's think step by step.\n\n{QUESTION}")]),
    ({"answer_form": "line"}, [("user", f"Give the label. Give your answer in this form:\nAnswer: <label>\n\n{QUESTION}")]),
    ({"answer_form": "bare"}, [("user", f"Give the label. Reply with the label alone.\n\n{QUESTION}")]),
    (
        {"answer_form": "bare", "reasoning": "step-by-step", "casing": "upper"},
        [("user", f"GIVE THE LABEL. LET'S THINK STEP BY STEP. WRITE THE LABEL ALONE ON THE LAST LINE.\n\n{QUESTION}")],
    ),
    (
        {"answer_form": "json", "casing": "lower", "placement": "system"},
        [
            ("system", 'give the label. give your answer as a json object in this form:\n{"answer": "<label>"}'),
            ("user", QUESTION),
        ],
    ),
    (
        {"answer_form": "boxed", "reasoning": "plan"},
        [
            (
                "user",
                f"Give the label. {PLAN} End your reply with your answer in this form:\n\\boxed{{<label>}}\n\n{QUESTION}",
            )
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("values", "expected"), PROMPTS)
def test_prompts_as_they_are_sent(values, expected):
    variant, question = only(**{name: [value] for name, value in values.items()})
    assert [(m["role"], m["content"]) for m in variant.messages(question)] == expected


def test_a_colon_before_another_sentence_is_a_full_stop():
    variant, question = only(instruction=["terse-plain"], reasoning=["step-by-step"])
    assert variant.messages(question)[0]["content"].startswith("Pick one label. Let's think step by step.")
    plain, _ = only(instruction=["terse-plain"])
    assert plain.messages(question)[0]["content"].startswith("Pick one label:\n\n")


def test_demonstrations_have_the_demanded_form_and_the_instruction_after_them_too():
    spec = {
        "space": "multiple-choice", "sample": 1, "hold_out": 1,
        "dimensions": {**PLAIN, "demonstrations": [1], "markers": ["Question/Answer"], "answer_form": ["line"], "placement": ["after"], "answer": ["text"]},
    }  # fmt: skip
    found = draw_variants(spec, benchmark())
    (message,) = found.variants[0].messages(found.benchmark.questions[0])
    label = found.space.pool[0].target
    demand = "Give the label. Give your answer in this form:\nAnswer: <label>"
    assert message["content"].count(demand) == 2
    assert f"{demand}\n\nAnswer: {label}\n\nQuestion: " in message["content"]
    assert message["content"].endswith(demand)
    spec["dimensions"] |= {"turns": ["chat"], "answer_form": ["json"]}
    chat = draw_variants(spec, benchmark()).variants[0].messages(found.benchmark.questions[0])
    assert [m["role"] for m in chat] == ["user", "assistant", "user"]
    assert json.loads(chat[1]["content"]) == {"answer": label}


def test_the_order_of_demonstrations_is_drawn_apart_from_their_selection():
    spec = {
        "space": "multiple-choice", "sample": 40, "hold_out": 5,
        "dimensions": {**PLAIN, "demonstrations": [{"fixed": 4}], "demonstration_order": names("demonstration_order")},
    }  # fmt: skip
    found = draw_variants(spec, benchmark(n=12))
    shown = {variant.id: variant.record(found.benchmark.questions[0])["demonstrations"] for variant in found.variants}
    assert len({frozenset(ids) for ids in shown.values()}) == 1
    by_kind = {}
    for variant in found.variants:
        by_kind.setdefault(variant.values["demonstration_order"].split()[0], []).append(tuple(shown[variant.id]))
    assert set(by_kind) == set(names("demonstration_order"))
    assert set(by_kind["reversed"]) == {by_kind["drawn"][0][::-1]}
    assert len(set(by_kind["shuffle"])) > 2
    lengths = {question.id: len(question.text) for question in found.space.pool}
    assert [lengths[i] for i in by_kind["short-first"][0]] == sorted(lengths[i] for i in by_kind["short-first"][0])


def test_selected_demonstrations_are_those_of_a_space_without_the_order():
    dimensions = {**PLAIN, "demonstrations": [3]}
    spec = {"space": "multiple-choice", "sample": 20, "hold_out": 5, "seed": 3}
    one = draw_variants(spec | {"dimensions": dimensions}, benchmark(n=12))
    other = draw_variants(spec | {"dimensions": {**dimensions, "demonstration_order": ["shuffle"]}}, benchmark(n=12))
    question = one.benchmark.questions[0]
    for a, b in zip(one.variants, other.variants, strict=True):
        assert sorted(a.record(question)["demonstrations"]) == sorted(b.record(question)["demonstrations"])


CHATTER = ("{}", "I looked at each of them.\n\n{}", "**{}**", "Some say it is another one.\n{}\n", "{}.")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", names("answer_form"))
def test_what_is_written_in_a_demanded_form_is_read(form, language):
    for enumerator, reasoning, placement in itertools.product(
        names("enumerator"), ("none", "step-by-step"), ("before", "after")
    ):
        variant, question = only(
            answer_form=[form], language=[language], enumerator=[enumerator], reasoning=[reasoning],
            placement=[placement], order=["reversed"], instruction=["none"],
        )  # fmt: skip
        for letter in "ABCD":
            answer = variant.write_answer(question, letter)
            for said in CHATTER:
                if said == "{}." and form == "json":
                    continue
                completion = said.format(answer)
                assert variant.read(question, completion).answer == letter, (completion, enumerator)


def read_whole(text):
    return " ".join(text.split()).casefold()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", names("answer_form")[1:])
def test_open_answers_in_a_demanded_form_are_read(form, language):
    for extract, answers in ((extract_number, ("7", "-3", "12.5")), (read_whole, ("Jane Austen", 'the "Origin"'))):
        base = open_benchmark()
        asked = type(base)(base.name, base.questions, base.prompt, extract)
        spec = {
            "space": "open", "sample": 1,
            "dimensions": {"instruction": ["none"], "markers": ["none"], "casing": ["as-is"], "answer_form": [form], "language": [language]},
        }  # fmt: skip
        found = draw_variants(spec, asked)
        question = found.benchmark.questions[0]
        for answer in answers:
            written = found.variants[0].write_answer(question, answer)
            for said in (written, f"Two and 2 are four.\n{written}", f"  {written}\n"):
                read = found.variants[0].read(question, said).answer
                assert read == extract(answer) or (form == "sentence" and read == extract(answer.strip('"'))), said


def test_a_later_correction_is_read_and_not_the_form():
    variant, question = only(answer_form=["line"])
    assert variant.read(question, "Answer: B\nNo, wait. The answer is C.").answer == "C"
    assert variant.read(question, "I think it is Paris.").answer == "B"
    assert variant.read(question, "Answer: none of these").answer is None


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_the_language_changes_all_that_is_said_around_the_question(language):
    translated = {"instruction": [{"mine": {"en": "Give one of {labels}.", language: "¿ {labels} ?"}}]}
    values = {"markers": ["Question/Answer"], "separator": ["or"], "reasoning": ["plan"], "answer_form": ["json"]}
    variant, question = only(**translated, **values, language=[language])
    text = variant.messages(question)[0]["content"]
    rest = text.replace(question.text, "").replace('{"answer": "', "").replace("JSON", "")
    for city in CITIES:
        rest = rest.replace(city, "")
    english, _ = only(**translated, **values)
    words = set(english.messages(question)[0]["content"].replace(question.text, "").split()) - {"A.", "B.", "C.", "D."}
    assert {w for w in words & set(rest.split()) if w.isalpha() and len(w) > 2} <= {"JSON", "forma:", "plan"}
    assert variant.id != english.id


BAD = [
    ({"placement": ["behind"]}, "unknown placement value 'behind'; known: after, before, system"),
    ({"answer_form": [{"mine": "x"}]}, "dimension answer_form, mine: new values are not allowed"),
    ({"language": ["xx"]}, "unknown language value 'xx'"),
    ({"demonstrations": [{"fixed": 0}]}, "0 fixed demonstrations; write {fixed: 5}"),
    ({"reasoning": [{"mine": {"de": "Denk nach."}}]}, "the English content is missing; add en"),
    ({"reasoning": [{"mine": {"en": "Think.", "xx": "?"}}]}, "unknown language 'xx'"),
]  # fmt: skip


@pytest.mark.parametrize(("dimensions", "message"), BAD)
def test_values_that_do_not_exist(dimensions, message):
    with pytest.raises((InputError, UnknownNameError), match=message):
        parse_space({"space": "multiple-choice", "dimensions": dimensions})


UNFIT = [
    ({"placement": ["after"], "instruction": [{"mine": "Answer the question below."}]}, {}, "instruction 'mine': it says 'below', and placement puts it after the question; add after"),
    ({"placement": ["after"]}, {"system": "{instruction}", "head": ""}, "dimension placement: the instruction is part of the system message; move"),
    ({"language": ["de"], "instruction": [{"mine": "Answer."}]}, {}, "instruction 'mine': it has no translation into de; write translations.de"),
    ({"language": ["de", "zh"], "instruction": ["terse-plain"], "tone": [{"warm": "Take your time."}]}, {"head": "{tone}{instruction}"}, "tone 'warm': it has no translation into de, zh; write {NAME: {en: ..., de: ...}}"),
    ({"reasoning": ["plan"]}, {"head": "Hello."}, "no template has a place for it; write {instruction}"),
]  # fmt: skip


@pytest.mark.parametrize(("dimensions", "templates", "message"), UNFIT)
def test_texts_that_do_not_fit_are_refused(dimensions, templates, message):
    fixed = PLAIN | ({"instruction": ["none"]} if "reasoning" in dimensions else {})
    spec = {"space": "multiple-choice", "sample": 1, "dimensions": {**fixed, **dimensions}, **templates}
    with pytest.raises(InputError, match=re.escape(message)):
        draw_variants(spec, benchmark())


def test_translations_of_own_texts_are_used():
    tone = [{"warm": {"en": "Take your time.", "de": "Nimm dir Zeit."}}]
    spec = {
        "space": "multiple-choice", "sample": 1, "head": "{instruction} {tone}",
        "dimensions": {**PLAIN, "instruction": [{"id": "x", "text": "Pick.", "translations": {"de": "Wähle {labels}."}}], "tone": tone, "language": ["de"]},
    }  # fmt: skip
    found = draw_variants(spec, benchmark())
    text = found.variants[0].messages(found.benchmark.questions[0])[0]["content"]
    assert text.startswith("Wähle A, B, C oder D. Nimm dir Zeit.\n\nWhich")


@pytest.mark.parametrize("space", ["multiple-choice", "open", "maths"])
def test_every_packaged_instruction_has_each_language_and_place(space):
    dimensions = {name: names(name) for name in ("language", "placement", "reasoning", "answer_form")}
    made = parse_space({"space": space, "dimensions": dimensions})
    asked = benchmark() if space == "multiple-choice" else open_benchmark()
    check_space(made, asked.questions)
    texts = [value.translations for value in made.dimension("instruction").values]
    for code in LANGUAGES[1:]:
        assert len({by_code[code] for by_code in texts}) == len(texts)
        script = {"ru": r"[а-яё]", "zh": r"[\u4e00-\u9fff]"}.get(code, "[a-zäéèñß]")
        assert all(re.search(script, by_code[code]) for by_code in texts)
        for value in made.dimension("instruction").values:
            fields = ("{labels}" in str(value.content), "{labels}" in value.translations[code])
            assert fields[0] == fields[1]


def open_prompt(space, *, text="", **dimensions):
    """Return the prompt of the first question of an open space, with another text if one is given."""
    fixed = {
        "instruction": [{"id": "x", "text": "Go.", "asks": "brief", "translations": {"de": "Los."}}],
        "markers": ["Q/A"],
        "casing": ["as-is"],
    }
    spec = {"space": space, "sample": 1, "hold_out": 1, "dimensions": fixed | dimensions}
    found = draw_variants(spec, open_benchmark())
    question = found.benchmark.questions[0]
    question = replace(question, text=text) if text else question
    prompt = found.variants[0].messages(question)[-1]["content"]
    return prompt.partition("\n\nQ:")[0].partition("\n\nF:")[0]


def test_sentences_that_keep_a_prompt_free_of_contradictions():
    working = [{"id": "x", "text": "Go.", "asks": "working", "translations": {"de": "Los."}}]
    step = {"reasoning": ["step-by-step"]}
    assert open_prompt("open", **step) == (
        "Go. This applies to the final answer; the reasoning before it may be longer. Let's think step by step."
    )
    assert open_prompt("open", demonstrations=[1]) == "Go."
    assert open_prompt("open", demonstrations=[1], **step).endswith("The examples show the final answers only.")
    assert open_prompt("open", language=["de"]) == "Los. Antworte in der Sprache der Frage."
    assert open_prompt("maths", instruction=working, language=["de"]) == "Los."
    shown = open_prompt("maths", instruction=working, demonstrations=[1], answer_form=["bare"])
    assert shown == "Go. The examples show the final answers only. Write the answer alone on the last line."


def test_a_demonstration_repeats_no_marker_and_keeps_apart_from_the_form():
    base = {
        **PLAIN,
        "demonstrations": [1],
        "answer_form": ["line"],
        "markers": ["Question/Answer"],
        "casing": ["upper"],
    }
    for changes, expected in (
        ({}, "\nAnswer: B\n\nQUESTION:"),
        ({"answer_form": ["unstated"], "markers": ["none"], "placement": ["after"]}, "\n\nANSWER: B\n\nQUESTION:"),
        ({"language": ["zh"], "instruction": ["none"], "answer_form": ["json"]}, '\n答案：{"answer": "B"}\n\n问题：'),
        ({"markers": ["none"], "placement": ["after"]}, "Answer: <label>\n\nAnswer: B\n\n"),
    ):
        spec = {"space": "multiple-choice", "sample": 1, "hold_out": 1, "seed": 2, "dimensions": base | changes}
        found = draw_variants(spec, benchmark())
        (message,) = found.variants[0].messages(found.benchmark.questions[0])
        assert expected.replace("B", found.space.pool[0].target) in message["content"]
    # A target that begins as the marker is no form.
    asked, pool = open_benchmark(), [Question("p", "Which grade?", "A: very good")]
    spec = {
        "space": "open",
        "sample": 1,
        "dimensions": {"demonstrations": [1], "markers": ["Q/A"], "casing": ["as-is"]},
    }
    (message,) = draw_variants(spec, asked, pool=pool).variants[0].messages(asked.questions[0])
    assert "Q: Which grade?\nA: A: very good\n\nQ:" in message["content"]


HARD = (
    ("Which is a vitamin?", ("Vitamin A", "Vitamin B", "a carrot", "water")),
    ("What does the code print?", ("$x$", "a || b", '{"answer": "A"}', "\\boxed{B}")),
    ("Which sentence is short?", ("Answer: B", "The answer is A.", "Oslo or Rome", "None of the above")),
    ("Which one is quoted?", ('say "no"', "it's", "<b>", "`x`")),
    ("Which fraction?", ("1/3", "2/3", "\\frac{1}{2}", "1.5")),
    ("Какая буква?", ("а", "б", "в", "г")),
    ("哪一个？", ("北京", "上海", "或", "答案")),
    ("How many?", ("3 apples", "two", "4,000", "none")),
)


@pytest.mark.parametrize(
    "nested",
    mark_long(
        [(one,) for one in ((), ("answer_form", "language", "placement"), (*NEW, "order", "markers", "context"))],
        after=1,
    ),
)
def test_hard_choices_are_read_back_under_every_value(nested):
    """Whatever is drawn, crossed or nested, the answer that is written for a choice is read as this choice."""
    hard = [Question(f"h{i}", text, "A", choices=choices) for i, (text, choices) in enumerate(HARD)]
    # The space is refused where more than 1 in 20 questions do not fit it.
    questions = [*hard, *(Question(f"e{i}", f"City {i}?", "A", choices=CITIES[:4]) for i in range(80))]
    asked = replace(benchmark(), questions=questions)
    dimensions = {name: names(name) for name in (*NEW, "order", "markers", "context", "casing", "turns")}
    spec = {
        "space": "multiple-choice", "sample": 60, "seed": 5, "nested": list(nested),
        "dimensions": dimensions | {"demonstrations": [0, 1]},
    }  # fmt: skip
    pool = [Question("p", "Which city is in a pool?", "A", choices=CITIES[:4])]
    with pytest.warns(HowsureWarning, match="do not fit every value"):
        found = draw_variants(spec, asked, pool=pool)
    assert len({variant.id for variant in found.variants}) == 60
    for variant, question in itertools.product(found.variants, hard):
        for letter in "ABCD":
            assert variant.read(question, variant.write_answer(question, letter)).answer == letter
        last = variant.messages(question)[-1]["content"]
        assert question.text in last
        assert all(choice.removesuffix(".") in last for choice in question.choices)


REPLIES = [
    ("line", "en", ("**Answer: B**", "Answer: B) Paris", "Answer: <B>", "Answer: (B)", "**Answer:** B", "answer: b", "> Answer: B", "Answer: Paris")),
    ("json", "en", ('{"answer":"B"}', '```json\n{\n  "answer": "B"\n}\n```\n', '{"reasoning": "It is {x}.", "answer": "B"}', '{"answer": "B) Paris"}', '{"answer": "B"}\n\nParis is it.')),
    ("boxed", "en", ("\\boxed{B}", "$\\boxed{B}$", "\\[\\boxed{\\text{B}}\\]", "The answer is \\boxed{B}.", "\\boxed{B. Paris}", "$$\n\\boxed{B}\n$$", "\\boxed{<B>}")),
    ("sentence", "fr", ("La réponse est **B**.", "La réponse est (B).", "La réponse est B. Paris", "La réponse est : B.", "La réponse est Paris.")),
    ("line", "zh", ("答案：B", "答案: B", "**答案：B**", "答案：B. Paris", "答案是B")),
    ("line", "ru", ("Ответ: B", "**Ответ:** B", "Ответ: B.")),
]  # fmt: skip
NO_ANSWERS = (
    "Answer: none of these", '{"answer": null}', '{"answer": "A or B"}', "\\boxed{}", "The answer is not B.",
    "Answer: <label>", '{"answer": "<label>"}', "\\boxed{<label>}", "Answer: A or B", "The answer is <label>.",
)  # fmt: skip


@pytest.mark.parametrize(("form", "language", "replies"), REPLIES)
def test_replies_as_models_write_them_are_read(form, language, replies):
    variant, question = only(answer_form=[form], language=[language], instruction=["none"])
    assert question.choices[1] == "Paris"
    for reply in replies:
        assert variant.read(question, f"Paris lies on the Seine.\n\n{reply}").answer == "B", reply
    for reply in NO_ANSWERS:
        assert variant.read(question, reply).answer is None, reply
