"""Statements in other languages than English. Kind of truth: hand-read cases; a long text for the time."""

from __future__ import annotations

import pytest
from helpers.cpu_time import LONGEST, measure_best

from howsure.extraction.languages import find_foreign_markers
from howsure.extraction.multiple_choice import read_choice
from howsure.extraction.statements import find_statement

STATED_B = """
答案：B | 答案是B。 | 答案是 B选项。 | 正确答案是：**B** | 因此，选B。 | 故选：B | 所以答案为（B） | 正確答案為 B
答えはBです。 | 答え：B | 正解はBです | 正解は「B」です。 | 정답: B | 정답은 B입니다. | 정답은 **B**입니다. | 답: B
คำตอบ: B | คำตอบที่ถูกต้องคือ B | คำตอบคือ ข้อ B | الإجابة: B | الإجابة الصحيحة هي B. | الجواب هو B
উত্তর: B | সঠিক উত্তর হল B | সঠিক উত্তর হলো (B) | సమాధానం: B | సరైన సమాధానం B | उत्तर: B | सही उत्तर B है। | सही उत्तर है: B
Jibu: B | Jibu sahihi ni B. | La respuesta correcta es B | La respuesta correcta es la opción B. | La respuesta es la B.
Die richtige Antwort ist B. | Die richtige Antwort lautet **B**. | Antwort: B | La bonne réponse est la B. | La bonne réponse est : **B**
Réponse : B | Réponse finale : B) Paris | La risposta corretta è B. | Risposta: B | A resposta correta é a alternativa B. | Resposta: B
Правильный ответ: В | Правильный ответ — В. | Правильный вариант ответа: В | Ответ: вариант В | Ответ: В) Париж | Ответ: (В) | Правильный ответ (B) является лучшим. | Ответ: B
Ответом является вариант B. | Jawaban: B | Cevap: B | Đáp án: B | Antwoord: B | Odpowiedź: B | Відповідь: B
"""
CASES = [case.strip() for line in STATED_B.strip().split("\n") for case in line.split(" | ")]
NOT_STATED = (
    "La respuesta no es 5.",
    "Die Antwort ist nicht 5.",
    "La réponse n'est pas 5.",
    "Ответ не равен 5.",
    "คำตอบไม่คือ 5",
    "答案不是5",
)
# The headings of worked examples in MGSM, after which reasoning follows and no answer.
HEADINGS = (
    "Schritt-für-Schritt-Antwort: Roger beginnt mit 5 Bällen.",
    "Réponse étape par étape : Roger commence avec 5 balles.",
    "Jibu la Hatua kwa Hatua: Roger alianza na mipira 5.",
    "คำตอบทีละขั้นตอน: โรเจอร์เริ่มต้นด้วยลูกบอล 5 ลูก",
    "ধাপে ধাপে উত্তর: রজারের প্রথমে 5টি বল ছিল।",
    "దశలవారీగా సమాధానం: రోజర్ వద్ద మొదట్లో 5 బంతులు ఉన్నాయి.",
    "ステップごとの答え：ロジャーは最初に5個のボールを持っていました。",
)


@pytest.mark.parametrize("form", ["{}", "Rome A, Oslo C.\n\n{}\n\nWell."], ids=["alone", "within"])
def test_labels_are_read_in_many_languages(form):
    choices = ("Rome", "Париж", "Oslo", "Bern")
    readings = [(text, read_choice(form.format(text), "ABCD", choices, expects_label=True)[0]) for text in CASES]
    assert [(text, index) for text, index in readings if index != 1] == []
    assert [text for text in CASES if find_statement(text) is None] == []


@pytest.mark.parametrize("text", NOT_STATED)
def test_a_denied_answer_is_not_stated(text):
    statement = find_statement(text)
    assert statement is None or statement.startswith("not ")


@pytest.mark.parametrize("text", HEADINGS)
def test_a_heading_before_reasoning_states_nothing(text):
    assert not find_foreign_markers(text)


@pytest.mark.parametrize(
    "unit",
    ["ответ ", "答案", "答え", "respuesta final ", "réponse ", "คำตอบ", "الإجابة الصحيحة ", "উত্তর ", "Antwort daher "],
)
def test_hostile_text_takes_bounded_time(unit):
    assert measure_best(find_statement, unit * (100_000 // len(unit))) < LONGEST
