"""Kind of truth: sentences of exams that a reader judged, and prompts that such a reader would find contradictory."""

from __future__ import annotations

import itertools
import re
import warnings

import pytest

from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.perturb import draw_variants, question_demands
from howsure.perturb.dimensions import ENUMERATORS
from howsure.perturb.fitting_values import find_label_conflict
from howsure.perturb.option_references import find_option_references
from howsure.perturb.rendering import remove_own_markers
from howsure.perturb.surface_noise import apply_spacing, is_about_spelling, starts_with_block

SENTENCES = [
    (
        "demands_nothing_else",
        (
            "Give the year only, no other text. When?",
            "Reply with the surname only.",
            "Output only the query: all names.",
            "Respond with valid XML only: <a>.</a>",
            "In one word: what is it?",
            "Which is an insect? Just the letter.",
            "Antworte nur mit Ja oder Nein: regnet es?",
            "Ответьте только числом: 2 + 2?",
            "2 加 2？只写答案。",
            "Answer with a single letter (T or F): is it?",
            "Cite the article number only: which?",
            "Solve it and nothing more: who?",
            "Give a one-word answer: who?",
            "Write a title. Nothing else.",
            "Answer only with the year: when?",
            "Wie viele? Nur die Zahl.",
            "数字だけで答えてください。",
            "Wer? Ein Wort genügt.",
            "¿Cuántos? Solo el número.",
            "Think, but reply with one word. Who?",
            "Antworte mit einer Zahl.",
            "Écris ta réponse en un seul mot : qui ?",
            "Responde con una sola palabra.",
            "Назовите автора одним словом.",
            "用一个词回答：是什么？",
            "一言で答えてください。",
            "한 단어로 답하세요.",
            "Quel animal ? (un seul mot)",
            "Welches Tier? (ein Wort)",
            "2 + 2? Final answer only.",
            "¿Cuánto es? Basta el número.",
            "Quanto vale x? Basta il numero.",
            "某数是多少？写出答案即可。",
            "2 + 2? The number is enough.",
        ),
        (
            "Give the only real root.",
            "Which animal eats only grass?",
            "Name the bone that only birds have.",
            "In one word the king ruled it.",
            "Only the brave win. Who said so?",
            "Write the only even prime.",
            "Only one of them is lying. Who?",
            "Write the number in words.",
            "Answer with the option that fits.",
            "Nothing more than feldspar?",
            "Which bone is named in one word?",
            "Which animal lives only in the sea?",
            "The final answer only came later. When?",
            "Does the number suffice?",
            "Wie viele Buchstaben sind in einem Wort?",
        ),
    ),
    (
        "demands_short_text",
        (
            "Use at most five words: what is it?",
            "Sum it up in ten words or fewer: it froze.",
            "Antworte in einem Satz.",
            "Justify your answer in one sentence.",
            "Explain in two or three sentences why.",
            "Explain why in one line.",
            "Explique en une phrase pourquoi.",
            "请用一句话说明什么是光年。",
            "Antworte in höchstens drei Wörtern: wer?",
            "Réponds en trois mots maximum.",
            "Responde en menos de cinco palabras.",
            "In al massimo tre parole: chi?",
            "Не более трёх слов: кто?",
            "请在二十字以内回答。",
            "不超过10个字",
        ),
        (
            "In how many words or less did he say it?",
            "Which line is in the poem?",
            "What is wrong in the sentence?",
            "How many points lie in one line?",
        ),
    ),
    (
        "rules_out_explanation",
        (
            "Do not show your working: 2 + 2?",
            "Give the year only. When?",
            "Explain nothing.",
            "Antworte ohne Rechenweg.",
            "Réponds sans justifier.",
            "Responde sin explicaciones.",
            "不要解释。",
        ),
        ("A quarter of the guests don't show up. How many come?", "Is there no reason to worry?"),
    ),
    (
        "demands_own_answer",
        (
            "Is 51 prime? Answer yes or no.",
            "Reply in one word: who?",
            "Answer in French: who?",
            "Answer with the full text of the option.",
            "Name it, not its letter.",
            "Réponds par oui ou par non : pleut-il ?",
            "Which is heavier? (Answer: left / right)",
            "Answer with a number from the list: how many?",
            "Choose one and put it in \\boxed{}.",
            "Antworte mit einem Wort: richtig?",
            "Respond with the option text verbatim: who?",
            'Name it. Answer as "It is X."',
        ),
        (
            "True or false: 51 is prime.",
            "What is the answer in French law?",
            "Which word means yes or no?",
            "Which of these words is longest?",
            "In how many words did he answer?",
            "Write the letter of the option in \\boxed{}.",
            "The ratio (profit / cost) is",
            "Which is a number?",
        ),
    ),
    (
        "demands_own_form",
        (
            "Write your answer as a bulleted list: two rivers.",
            "Give your answer as a markdown table.",
            "Put the result in \\boxed{}.",
            "The last line of your reply must be the number.",
            "Fill in the gaps and return the whole sentence.",
            "Describe rain in one sentence.",
            "Responde en una frase completa: ¿llueve?",
            "Format: city, country. Where is it?",
            "Return it in the tags <a></a>.",
            'Which sea? Start with "It is".',
            "Name three, one per line.",
            "Put it between backticks.",
            "Explain in one short sentence: why?",
            "Antworte in einem Satz.",
            "请用一句话说明什么是光年。",
            "Find dy/dx. Answer: dy/dx = ___",
            "State it in the form 'X because Y'.",
            "Reply in the same JSON style.",
            '{"q": "capital?"} Reply in the same JSON style.',
            "Which is it? Write your choice in the box [ ].",
            "Schreibe am Ende ja oder nein.",
            "Nombra tres ríos, uno por línea.",
            "Nenne drei, einen pro Zeile.",
            "Cite trois fleuves, un par ligne.",
            "每行一个。",
            "Назовите три реки, по одной в строке.",
            "Name three. Number them 1 to 3.",
            'Name it. Answer as "It is X."',
        ),
        (
            "Which table lists the results?",
            "How many people sat at the table?",
            "What is in the box?",
            "Which answer is given in the table below?",
            "Who wrote the last line?",
            "In which sentence is there an adverb?",
            'Which words start with "un"?',
            "What stands between the brackets?",
            "Give the answer in the form a + bi.",
            "How many trains run on one line?",
        ),
    ),
    (
        "demands_explanation",
        (
            "Show your reasoning. Which is larger?",
            "Which is larger? Show your work.",
            "Explain why in two sentences.",
            "Is it true? Why or why not?",
            "It rains. Why?",
            "Multiply and explain each step.",
            "Show every step: 2 + 2?",
            "Resuelve y explica cada paso.",
            "Begründe deine Antwort.",
            "请写出过程。",
            "Explica tu respuesta.",
            "Halla x. Muestra los pasos.",
            "Zeige deinen Rechenweg.",
            "Montre les étapes.",
            "Mostra i passaggi.",
            "Найдите x. Покажите решение.",
            "写出计算步骤。",
            "Think step by step: which is heavier?",
        ),
        (
            "Which animals show the same reasoning?",
            "Need not show your working: 2 + 2?",
            "Why is the sky blue?",
            "Qui explique la pluie ?",
            "¿Qué muestra el proceso?",
            "Erkläre nicht: 2 + 2?",
        ),
    ),
    (
        "has_own_text",
        (
            "According to the passage, who left?",
            "Context: Ann left. Who left?",
            "What does the text above say?",
            "Was sagt der Text?",
            'Who wrote it?\n\n"Dear Sir, my cow has gone."',
            "Read the poem.",
        ),
        ("Who wrote Emma?", "Which command prints a text?", "What is the letter after C?"),
    ),
    (
        "refers_to_another_question",
        (
            "The previous question was on fish. Is this one?",
            "Use the result of the problem above.",
            "In der vorigen Frage ging es um Fische.",
        ),
        ("Who asked the question last?", "What did the previous king question?"),
    ),
    (
        "asks_only_why",
        (
            "Begründe kurz, warum Eis schwimmt.",
            "Explain why ice floats.",
            "Explica por qué llueve.",
            "Объясните, почему лёд не тонет.",
            "请解释为什么下雨。",
        ),
        ("Which floats? Explain why.", "Explain it."),
    ),
    (
        "asks_for_letter",
        ("Which is a fish? Just the letter.", "Answer with the letter of the option."),
        ("Which word begins with the letter S?", "Write the letter that follows C."),
    ),
]


@pytest.mark.parametrize(("name", "demanding", "others"), SENTENCES, ids=[row[0] for row in SENTENCES])
def test_what_a_reader_says_that_a_question_demands(name, demanding, others):
    is_demanded = getattr(question_demands, name)
    assert [text for text in demanding if not is_demanded(text)] == []
    assert [text for text in others if is_demanded(text)] == []


def draw(questions, space, dimensions, **spec):
    benchmark = Benchmark("demands", questions, Prompt(template="{question}"), extract=lambda text: text or None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values that do not fit are what is tested
        return draw_variants({"space": space, "sample": 40, "seed": 3, "dimensions": dimensions, **spec}, benchmark)


FORMS = {"answer_form": ["unstated", "line", "json", "boxed"], "reasoning": ["none", "plan"]}


def test_no_label_is_asked_for_where_the_question_demands_another_answer():
    plain = [Question(f"p{i}", f"Which city is number {i}?", "A", choices=("Rome", "Oslo")) for i in range(4)]
    question = Question("own", "Is 51 a prime number? Answer yes or no.", "B", choices=("yes", "no"))
    drawn = draw([*plain, question], "multiple-choice", FORMS | {"demonstrations": [0, 1]}, hold_out=2)
    (question,) = [one for one in drawn.benchmark.questions if one.id == "own"] or [question]
    for variant in drawn.variants:
        prompt = variant.messages(question)[-1]["content"]
        assert not re.search(r"label|letter|<|mark one choice", prompt, re.IGNORECASE), prompt
        if variant.values["demonstrations"].startswith("1"):
            assert re.search(r"\n(?:Rome|Oslo)\n", prompt), prompt
        assert variant.read(question, "no").answer == "B"


def test_a_question_with_a_demand_of_its_own_is_no_demonstration():
    plain = [Question(f"p{i}", f"What is {i} + 1?", str(i + 1)) for i in range(4)]
    own = [Question(f"o{i}", f"What is {i} + 2? Answer with one word.", "two") for i in range(4)]
    spaced = draw([*plain, *own], "open", {"demonstrations": [2], "markers": ["Q/A"]}, hold_out=7)
    shown = {one for v in spaced.variants for one in v.record(spaced.benchmark.questions[0])["demonstrations"]}
    held = {question.id for question in spaced.space.pool}
    assert shown == {one for one in held if one.startswith("p")} < held


def test_no_form_stands_around_a_text_whose_length_the_question_limits():
    question = Question("q", "Antworte in höchstens drei Wörtern: who?", "Ann")
    for variant in draw([question], "open", FORMS).variants:
        assert not re.search("<answer>|alone", variant.messages(question)[-1]["content"])


def test_a_text_that_is_to_be_rewritten_has_no_noise():
    assert is_about_spelling("Rewrite in the passive voice: The cat ate the fish.")
    assert not is_about_spelling("Who rewrote the constitution?")


def test_no_form_stands_around_an_explanation():
    question = Question("q", "Explain briefly why ice floats.", "It is less dense than water.")
    for variant in draw([question], "open", FORMS).variants:
        assert "<answer>" not in variant.messages(question)[-1]["content"]


def test_examples_have_the_same_markers_though_one_has_its_own():
    questions = [Question(f"q{i}", f"Q: What is {i} + 1? A:", str(i + 1)) for i in range(4)]
    dimensions = {"demonstrations": [1], "markers": ["none"], "turns": ["text", "chat"]}
    drawn = draw([*questions, Question("p", "What is 7 + 7?", "14")], "open", dimensions, hold_out=2)
    for variant, question in itertools.product(drawn.variants, drawn.benchmark.questions):
        assert not re.search("[QA]:", str(variant.messages(question)))


@pytest.mark.parametrize(
    ("text", "placement", "is_clear"),
    [
        ("What is it?", "before", True),
        ("What is it?", "after", False),
        ("<ul>\n<li>a\n</ul>", "before", False),
        ("2 + 2 =", "system", True),
        ("One line.\n\nAnother?", "before", False),
        ("Add 2 + 2 and name it", "system", False),
    ],
)
def test_examples_have_markers_where_nothing_else_tells_their_answers_from_questions(text, placement, is_clear):
    """By hand: an answer of its own line after markup, or between two blank lines, reads as a part of a question."""
    questions = [Question(f"q{i}", f"No. {i}\n{text}", f"it {i}") for i in range(3)]
    dimensions = {
        "demonstrations": [0, 1],
        "markers": ["none"],
        "placement": [placement],
        "answer_form": ["unstated", "json"],
        "turns": ["text", "chat"],
        "language": ["en", "de"],
    }
    drawn = draw(questions, "open", dimensions, hold_out=2)
    for variant in drawn.variants:
        values, prompt = variant.values, str(variant.messages(questions[-1]))
        shown = values["demonstrations"].startswith("1") and values["turns"] == "text"
        shown &= placement == "after" or values["answer_form"] == "unstated"
        assert bool(re.search("(?:Question|Frage):", prompt, re.IGNORECASE)) == (shown and not is_clear)
        assert ("markers" in variant.record(questions[-1]).get("replaced", {})) == (shown and not is_clear)


def test_examples_with_choices_have_markers_where_their_answers_would_stand_after_an_instruction():
    questions = [Question(f"q{i}", f"Which is {i}?", "A", choices=("tea", "milk")) for i in range(3)]
    dimensions = {
        "demonstrations": [1],
        "markers": ["none"],
        "placement": ["after"],
        "casing": ["as-is"],
        "language": ["en"],
    }
    drawn = draw(questions, "multiple-choice", dimensions, hold_out=2)
    for variant in drawn.variants:
        assert "Answer: " in variant.messages(questions[-1])[-1]["content"]


def test_no_marker_is_a_speaker_of_a_question():
    speakers = [
        Question(f"q{i}", f"No. {i}\nA: Are you coming?\nB: I have an exam.\nDoes B come?", "no") for i in range(3)
    ]
    dimensions = {
        "demonstrations": [0, 1],
        "markers": ["Q/A"],
        "answer_form": ["unstated", "line", "sentence"],
        "language": ["en", "de", "ru"],
    }
    drawn = draw(speakers, "open", dimensions, hold_out=2)
    for variant in drawn.variants:
        prompt, names = str(variant.messages(speakers[-1])).upper(), variant.values
        is_english = names["language"] in ("en", "de")
        assert prompt.count("A:") == prompt.count("COMING?")
        replaced = variant.record(speakers[-1]).get("replaced", {})
        assert not is_english or replaced["markers"]["reason"] == "'A:' begins a line of the question 'No. 2'"


def test_examples_without_markers_get_none_that_is_a_speaker_of_a_question():
    """The first markers of the space are "Q: " and "A:", which would be those of a dialogue in the questions."""
    speakers = [Question(f"q{i}", f"No. {i}\nA: Are you coming?\nB: No.\nWho is coming?", "B") for i in range(3)]
    dimensions = {"demonstrations": [1], "markers": ["none", "Q/A"], "placement": ["after"], "turns": ["text"]}
    for variant in draw(speakers, "open", dimensions, hold_out=2).variants:
        replaced = variant.record(speakers[-1])["replaced"]["markers"]
        assert replaced["used"] == "Question/Answer"


@pytest.mark.parametrize(
    ("placement", "markers", "context", "has_colon"),
    [
        ("before", "Q/A", "none", True),
        ("before", "Q/A", "passage", False),
        ("after", "Q/A", "none", False),
        ("after", "none", "none", True),
        ("system", "none", "none", False),
    ],
)
def test_an_instruction_ends_with_a_colon_where_the_question_or_the_answer_follows(
    placement, markers, context, has_colon
):
    question = Question("q", "Which river is the longest?", "Nile")
    dimensions = {
        "instruction": ["terse-plain"],
        "casing": ["as-is"],
        "placement": [placement],
        "markers": [markers],
        "context": [context],
        "language": ["en"],
    }
    for variant in draw([question], "open", dimensions).variants:
        assert ("Answer briefly:" in str(variant.messages(question))) == has_colon


def test_no_marker_follows_a_marked_place_for_the_answer():
    question = Question("q", "Find dy/dx if y = x². Answer: dy/dx = ___", "2x")
    for variant in draw([question], "maths", {"markers": ["Question/Answer", "lines"]}).variants:
        assert variant.messages(question)[-1]["content"].lower().count("answer:") <= 1


def test_a_form_stands_at_the_end_of_a_reply_that_explains():
    question = Question("q", "Which is larger? Explain briefly.", "B", choices=("four", "nine"))
    drawn = draw([question], "multiple-choice", {"answer_form": ["line", "json", "bare"]})
    for variant in drawn.variants:
        assert re.search(r"End your reply|on the last line", variant.messages(question)[-1]["content"])


@pytest.mark.parametrize("text", ["Give the year only. When did it end?", "Output only the query: all names."])
def test_nothing_is_demanded_around_an_answer_that_stands_alone(text):
    question = Question("q", text, "1918")
    for variant in draw([question], "open", FORMS).variants:
        prompt = variant.messages(question)[-1]["content"]
        assert not re.search(r"plan|in this form|JSON|boxed", prompt)


def test_no_unrelated_passage_stands_before_a_question_on_a_text():
    own, other = Question("own", "Who left, according to the passage?", "Ann"), Question("other", "Who left?", "Ann")
    for variant in draw([own, other], "open", {"context": ["passage"]}).variants:
        assert "\n\n" not in variant.messages(own)[0]["content"].split("passage?")[0].partition("\n\n")[2]
        assert variant.record(own)["replaced"]["context"]["used"] == "none"
        assert "replaced" not in variant.record(other)


def test_no_demonstration_has_two_markers_of_its_answer():
    questions = [Question(f"q{i}", f"What is {i} + 1?", f"it is {i + 1}.") for i in range(4)]
    markers = ["none", "Q/A", "lines", "Question/Answer"]
    dimensions = {
        "markers": markers,
        "answer_form": ["line", "sentence"],
        "demonstrations": [1],
        "language": ["en", "es", "ru"],
    }
    drawn = draw(questions, "open", dimensions, hold_out=2)
    for variant in drawn.variants:
        prompt = variant.messages(drawn.benchmark.questions[0])[-1]["content"]
        two = r"^(?:A|R|О|Answer|Respuesta|Ответ):\s*(?:Answer|Respuesta|(?:Правильный )?ответ):"
        assert not re.search(two, prompt, re.IGNORECASE | re.MULTILINE), prompt
        assert ".." not in prompt  # the stop of the sentence is that of the answer


def test_markers_leave_the_first_line_of_a_list_or_a_table_alone():
    """By hand: what a person would set on a line of its own."""
    blocks = ["# Task\nName it.", "1. Name it.\n2. Name the other.", "Item,Price\npen,2\n", "a;b\n1;2", "- tea\n- milk"]
    assert all(starts_with_block(text) for text in blocks)
    assert not any(starts_with_block(text) for text in ("Who, when?\nSay it.", "1. e4 e5", "A: Hi.\nB: Hello."))
    question = Question("q", "+---+\n| X |\n+---+\nHow many cells?", "1")
    table = Question("t", "  +---+\n  | X |\n  +---+\nHow many cells?", "1")
    for variant in draw([question, table], "open", {"markers": ["Question/Answer"], "language": ["zh", "en"]}).variants:
        assert re.search(r"[:：]\n  \+---\+\n", variant.messages(table)[-1]["content"])


def test_markers_of_a_question_are_removed_on_the_same_line_too():
    assert remove_own_markers("Q: What's the capital of Mali? A:") == "What's the capital of Mali?"
    assert remove_own_markers("**Question:** who?") == "who?"
    assert remove_own_markers("Problem: a bat costs $1. How much is it?") == "a bat costs $1. How much is it?"
    assert remove_own_markers("Which vitamin is A:") == "Which vitamin is A:"


@pytest.mark.parametrize(
    "language",
    ["auf Englisch: Wie heißt sie?", "Réponds en anglais : qui ?", "Responde en inglés: ¿quién?", "用英文回答：谁？"],
)
def test_a_question_that_names_the_language_of_its_answer_is_answered_in_that(language):
    question = Question("q", f"Antworte {language}", "Ann")
    for variant in draw([question], "open", {"language": ["de", "zh"]}).variants:
        assert not re.search(r"Sprache der Frage|问题所用的语言", variant.messages(question)[-1]["content"])


@pytest.mark.parametrize(
    ("choices", "order"),
    [
        (("7", "11", "The sum of the two numbers above", "17"), (1, 0, 2, 3)),
        (("Income tax", "A poll tax", "Same as A, but only above a threshold"), (0, 1, 2)),
        (("Floors above the third", "One degree above zero"), (1, 0)),
    ],
)
def test_choices_that_count_or_repeat_those_above_keep_their_place(choices, order):
    """By hand: the order of a reversed list in which every choice still means the same."""
    found = find_option_references(Question("q", "Which?", "A", choices=choices))
    assert found.pin_order(range(len(choices) - 1, -1, -1)) == order


def test_no_example_stands_before_a_question_on_another_one():
    plain = [Question(f"p{i}", f"What is {i} + 1?", str(i + 1)) for i in range(4)]
    question = Question("own", "The previous question was on fish. Is a whale one?", "no")
    drawn = draw([*plain, question], "open", {"demonstrations": [1], "context": ["passage"]}, hold_out=2)
    for variant in drawn.variants:
        (message,) = variant.messages(question)
        assert "+ 1" not in message["content"]
        assert variant.record(question)["replaced"]["demonstrations"]["used"] == "0"


def test_an_instruction_does_not_follow_the_marker_of_an_answer():
    question = Question("q", "Q: What's the capital of Mali? A:", "Bamako")
    for variant in draw([question], "open", {"placement": ["before", "after"], "markers": ["none"]}).variants:
        prompt = variant.messages(question)[0]["content"]
        assert prompt.endswith("A:") or ("A:" not in prompt and variant.values["placement"] == "after")


def test_messages_of_errors_keep_their_spaces():
    text = "Why is this?\n\nTraceback (most recent call last):\nNameError: name y is not defined"
    assert apply_spacing(text, "double") == text.replace("Why is this", "Why  is  this")


def test_a_whole_sentence_is_no_answer_to_show():
    questions = [Question(f"q{i}", f"What is {i}?", f"It is {i} of them." if i % 2 else f"{i}") for i in range(8)]
    drawn = draw(questions, "open", {"demonstrations": [2], "answer_form": ["sentence"]}, hold_out=7)
    for variant in drawn.variants:
        prompt = variant.messages(drawn.benchmark.questions[0])[-1]["content"]
        assert "The answer is It" not in prompt


@pytest.mark.parametrize(
    ("labels", "text", "choices", "fits"),
    [
        ("digits", "How many?", ("Four", "One"), False),
        ("digits", "Which?", ("tea", "milk"), True),
        ("digits", "¿Cuántos?", ("tres", "dos"), False),
        ("capitals", "How many?", ("Four", "One"), True),
        ("roman", "ST elevation in leads II and aVF?", ("left", "right"), False),
        ("roman", "ST elevation?", ("left", "right"), True),
    ],
)
def test_no_label_is_read_as_a_number_beside_it(labels, text, choices, fits):
    """By hand: "2" may be the label of the choice "Four", or the number two."""
    question = Question("q", text, "A", choices=choices)
    assert (find_label_conflict(ENUMERATORS[labels][:2], question) == "") == fits


@pytest.mark.parametrize(
    ("text", "choices", "order"),
    [
        ("Какой город на Волге?", ("Самара", "Омск", "Оба города", "Ни один из этих городов"), (1, 0, 2, 3)),
        ("Welche Stadt?", ("Bonn", "Rom", "Beide Städte"), (1, 0, 2)),
        ("哪一个？", ("北京", "上海", "两者都是"), (1, 0, 2)),
        ("Two are synonyms. Which one is the last of them in the list?", ("a", "b", "c"), (0, 1, 2)),
        ("Which apply?", ("red", "green", "blue", "The first two, but not the third"), (0, 1, 2, 3)),
        ("Who?", ("Both hands of the clock move", "Ann"), (1, 0)),
    ],
)
def test_choices_for_both_and_places_in_the_list_keep_their_place(text, choices, order):
    found = find_option_references(Question("q", text, "A", choices=choices))
    assert found.pin_order(range(len(choices) - 1, -1, -1)) == order
