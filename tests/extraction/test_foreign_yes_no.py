"""Yes and no in other languages, without the word. Kind of truth: readings by hand."""

from __future__ import annotations

import pytest

from howsure.extraction.completion_context import CompletionContext
from howsure.scorers.yes_no import read_yes_no

#: Question, completion, and what it says.
STATEMENTS = [
    ("O Brasil fica na América do Sul?", "O Brasil fica na América do Sul.", "yes"),
    ("Os pinguins podem voar?", "Os pinguins não podem voar.", "no"),
    ("A baleia é um peixe?", "A baleia não é um peixe, é um mamífero.", "no"),
    ("O Brasil fica no sul?", "O Brasil fica no sul.", "yes"),
    ("O Brasil fica no sul?", "O Brasil não fica no sul.", "no"),
    ("¿Pueden volar los pingüinos?", "Son aves. Los pingüinos no pueden volar.", "no"),
    ("¿Es Madrid la capital de España?", "La capital de España es Madrid.", "yes"),
    ("Können Pinguine fliegen?", "Pinguine können nicht fliegen.", "no"),
    ("Ist ein Wal ein Fisch?", "Ein Wal ist kein Fisch, sondern ein Säugetier.", "no"),
    ("Est-ce que la neige est froide ?", "La neige est froide.", "yes"),
    ("La neige est-elle chaude ?", "La neige n'est pas chaude.", "no"),
    ("I pinguini possono volare?", "I pinguini non possono volare.", "no"),
    ("Kunnen pinguïns vliegen?", "Pinguïns kunnen niet vliegen.", "no"),
    ("Умеют ли пингвины летать?", "Пингвины не умеют летать.", "no"),
    ("Чи є кит рибою?", "Кит не є рибою.", "no"),
    ("Czy pies jest ssakiem?", "Pies jest ssakiem.", "yes"),
    ("Apakah paus adalah ikan?", "Paus adalah ikan.", "yes"),
    ("क्या व्हेल एक मछली है?", "व्हेल एक मछली नहीं है।", "no"),
    ("هل الحوت سمكة؟", "الحوت ليس سمكة.", "no"),
    ("Cá voi có phải là cá không?", "Cá voi không phải là cá.", "no"),
    ("太阳从东边升起吗？", "太阳从东边升起。", "yes"),
    ("企鹅会不会飞？", "企鹅不会飞，因为它们的翅膀太小。", "no"),
    ("クジラは魚ですか？", "クジラは魚ではありません。", "no"),
    ("ペンギンは飛べますか？", "ペンギンは飛べません。", "no"),
    ("펭귄은 날 수 있습니까?", "펭귄은 날 수 없습니다.", "no"),
    ("ปลาบินได้ไหม?", "ปลาบินไม่ได้", "no"),
]
#: The same, of sentences that only look like an answer.
OPEN = [
    ("¿No es Madrid la capital?", "Madrid no es la capital."),
    ("Können Fische fliegen?", "Fische können fliegen, wenn sie springen."),
    ("Können Fische fliegen?", "Fische können nur selten fliegen."),
    ("Können Fische fliegen?", "Können Fische fliegen?"),
    ("Ist die Brücke länger als der Tunnel?", "Der Tunnel ist länger als die Brücke."),
    ("O gato comeu o rato?", "O rato comeu o gato."),
    ("¿Ganó Ana a Luis?", "Ana ganó a Luis, según Marta."),
    ("クジラは魚ですか？", "クジラは哺乳類です。"),
    ("企鹅会飞吗？", "企鹅会飞，如果有风。"),
    ("企鹅不会飞吗？", "企鹅不会飞。"),
]
VERDICTS = [
    ("É verdade.", "yes"),
    ("Isso é falso.", "no"),
    ("Não é verdade.", "no"),
    ("Correcto.", "yes"),
    ("Falso. La luna es más pequeña.", "no"),
    ("La afirmación es falsa.", "no"),
    ("Vrai.", "yes"),
    ("C'est faux.", "no"),
    ("Ce n'est pas vrai.", "no"),
    ("Das ist richtig.", "yes"),
    ("Das stimmt nicht.", "no"),
    ("Die Aussage ist wahr.", "yes"),
    ("Non è vero.", "no"),
    ("Это неправда.", "no"),
    ("Верно, он прав.", "yes"),
    ("这是错误的。", "no"),
    ("Vrai ou faux", None),
    ("Vrai ou faux ?", None),
    ("Richtig schwimmen lernt man früh.", None),
    ("Falsch, wenn es regnet.", None),
]


@pytest.mark.parametrize(("question", "completion", "answer"), STATEMENTS)
def test_a_statement_in_the_words_of_the_question_is_read(question, completion, answer):
    assert read_yes_no(completion, CompletionContext(question))[0] == answer


@pytest.mark.parametrize(("question", "completion"), OPEN)
def test_a_statement_that_differs_from_the_question_is_not_read(question, completion):
    assert read_yes_no(completion, CompletionContext(question))[0] is None


@pytest.mark.parametrize(("completion", "answer"), VERDICTS)
def test_a_verdict_is_read(completion, answer):
    assert read_yes_no(completion)[0] == answer
