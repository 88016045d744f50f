"""Find what a question itself demands of its answer or says of a text of its own, which no prompt can contradict.

A question may rule out an explanation or demand one, demand a form of its own ("Respond in JSON."), an answer that is
no label ("Answer yes or no."), or the answer and nothing else. English, and the commonest phrases of other languages.
"""

from __future__ import annotations

import re

__all__ = [
    "asks_for_letter",
    "demands_explanation",
    "demands_nothing_else",
    "demands_own_answer",
    "demands_own_form",
    "has_own_text",
    "is_plain",
    "refers_to_another_question",
    "rules_out_explanation",
]

_NO_EXPLANATION = re.compile(
    r"\b(?:explain nothing|no explanations?|no (?:reasoning|justification)|nothing else"
    r"|without (?:any |giving |further )*(?:explanations?|explaining|reasoning|justifications?|comments?|working)"
    r"|(?:do not|don['’]t|need not) (?:explain|justify|show(?! up)|give reasons))\b"
    # German, French, Spanish, Italian, Russian, Chinese, Japanese and Korean.
    r"|\bohne (?:rechenweg|erklärung|begründung|rechnung|lösungsweg)\b"
    r"|\bsans (?:explication|justification|justifier|expliquer|détailler)"
    r"|\bsenza (?:spiega|giustifica|svolgimento|passaggi)"
    r"|\bsin (?:explica|justifica|procedimiento|desarrollo)|\bбез (?:объяснени|пояснени|обосновани)"
    r"|(?:不要|无需|不用|不必)(?:写|写出|给出)?(?:解释|说明|过程|理由)|説明(?:は)?(?:不要|せず|なし)|설명 ?없이",
    re.IGNORECASE,
)
_BEGINS = r"(?:^|[.?!:;,\n]\s*|\b(?:please|and|but|then|must|should|be)\s+)"
_ANSWER_VERB = r"(?:respond|reply|answer|return|output|print|write|give|state|name|say)"
_LISTING_VERB = r"(?:cite|list|provide|supply|enter|specify|indicate|report|submit|mention|quote|tell me)"
# "Give the year only.", "Output only the query", "in one word: ...", "Antworte nur mit Ja oder Nein".
_NOTHING_ELSE = re.compile(
    rf"{_BEGINS}(?:{_ANSWER_VERB}|{_LISTING_VERB})(?:(?: with| in| using)? only (?:the|your|an?|one)\b"
    r"|(?: [\w'’-]+){1,6} only(?=\s*(?:[,.;:!?]|$))|(?: with| in| using)? (?:exactly|just) (?:the|one)\b)"
    r"|\bno other (?:text|words?)\b|\band nothing (?:else|more)\b(?! than)"
    r"|(?:^|[.?!\n]\s*)(?:just|only) the \w+\s*[.!]?\s*$"
    r"|(?:^|[.?!\n]\s*)in (?:one|a single) (?:word|line|sentence|phrase)\s*[:,]"
    r"|\b(?:antworten? sie|antworte|gib|geben sie|schreibe?|schreiben sie|nenne|nennen sie)(?: \w+){0,3} nur\b"
    r"|\b(?:réponds|répondez|donne|donnez|écris|écrivez)(?: \w+){0,3} (?:seulement|uniquement)\b"
    r"|\b(?:responde|responda|contesta|escribe|escriba|da)(?: \w+){0,3} (?:solo|sólo|solamente|únicamente)\b"
    r"|\b(?:rispondi|rispondete|scrivi|scrivete|dai|date)(?: \w+){0,3} (?:solo|soltanto|solamente|unicamente)\b"
    r"|\b(?:ответьте|ответь|напишите|напиши|укажите)(?: \w+){0,3} только\b|只(?:回答|写|给出|输出|用)"
    r"|(?:だけ|のみ)(?:を)?(?:答え|書)|만 (?:답|쓰)"
    # "Answer with a single letter", "Use at most five words", "in ten words or fewer", "Reply in one sentence."
    rf"|{_BEGINS}{_ANSWER_VERB}\b[^.?!:\n]{{0,20}}?\b(?:in|with|using)\s+(?:just |exactly |only )?"
    r"(?:an?|one|two|three|four|five|\d+) (?:single )?(?:word|letter|number|digit|integer|character|emoji)s?\b"
    rf"|{_BEGINS}(?:respond|reply|answer)\b[^.?!:\n]{{0,20}}?\bin (?:just |exactly |only )?(?:one|an?)"
    r" (?:\w+ )?sentence\b"
    r"|\b(?:in|within|using|use|with) (?:at most|no more than|up to|fewer than|less than|under) \w+ words?\b"
    r"|\b(?:in|within|using|use) \w+ words (?:or (?:fewer|less)|at most)\b"
    r"|\bantworte\w*\b[^.?!\n]{0,15}\b(?:in|mit) (?:nur |genau )?eine[mr] (?:einzigen )?"
    r"(?:wort|zahl|ziffer|buchstaben|satz)\b(?! ergänz)"
    r"|\b(?:répond|écri)\w+\b[^.?!\n]{0,25}\b(?:en|par|avec) une? (?:seule? )?"
    r"(?:mot|phrase|nombre|lettre)\b(?! complète)"
    r"|\b(?:respond|contest|escrib)\w+\b[^.?!\n]{0,25}\b(?:en|con) una? (?:sol[ao] |únic[ao] )?"
    r"(?:palabra|frase|número|letra)\b(?! completa)"
    r"|\b(?:rispond|scriv)\w+\b[^.?!\n]{0,25}\b(?:in|con) una? (?:sol[ao] |singol[ao] )?"
    r"(?:parola|frase|numero|lettera)\b(?! completa)"
    r"|\bодн(?:им|ой) (?:словом|числом|цифрой|буквой|фразой|предложением)\b(?=\s*(?:[.:,!?]|$))"
    r"|用(?:一个|1个|一)(?:词|字|单词|数字|句话)(?:来)?(?:回答|作答)|一言で(?:答|述べ|書)|한 (?:단어|마디)로",
    re.IGNORECASE | re.MULTILINE,
)
# "Explain briefly.", "Justify your answer", but not "Explain nothing" and "Which law explains the tides?".
_EXPLAIN = re.compile(
    r"(?:^|[.?!:;,\n]\s*|\b(?:please|and|then|but)\s+)(?:(?:briefly|shortly)\s+)?"
    r"(?:explain(?=\s*[.!]|\s+(?:briefly|shortly|why|how|your|in|each|every|the reason)\b)"
    r"|justify(?:\s+your)?|give (?:a|your|the) reasons?\b"
    r"|show (?:your|all|the) (?:\w+ )?(?:reasoning|work|working|steps)\b)"
    r"|\bwhy or why not\b|(?:[.?!]\s+|\band )why(?: not)?\?\s*\Z"
    # German, French, Spanish, Italian, Russian, Chinese and Japanese.
    r"|(?:^|[.?!:;,\n]\s*)(?:begründen?|erklären?|erläutern?|justifiez?|expliquez?|justifi(?:ca|que)|expli(?:ca|que)"
    r"|giustifica|spiega|объясните|поясните|обоснуйте)\b(?! nicht)"
    r"|写出(?:解题|计算|推理|求解)?过程|说明理由|请(?:简要)?(?:解释|说明)|理由を(?:述べ|説明|書)|説明し(?:なさい|てください)",
    re.IGNORECASE | re.MULTILINE,
)
# "Respond in JSON.", "Return valid XML", "as a JSON object", but neither "Given the JSON ..." nor "reads a JSON file";
# tables and lists; boxes, tags and backticks; a beginning, an end or a last line that the question words; lines; whole
# sentences, or a number of them.
_OWN_FORM = re.compile(
    rf"{_BEGINS}(?:(?:{_ANSWER_VERB}|written|format\w*|express\w*)\b[^.?!\n]{{0,80}}?\b(?:in|as|using)"
    r"|(?:respond|reply|answer|return|output)(?: only)?(?: with)?)"
    r"\s+(?:(?:an?|the|one|single|valid|plain|markdown|html|latex)\s+){0,3}"
    r"(?:(?:json|yaml|xml|csv)\b(?!\s+(?:file|above|below))"
    r"|(?:table|(?:bullet(?:ed)?|numbered) (?:list|points?)|bullet points)\b)"
    rf"|{_BEGINS}(?:put|place|enclose|box|{_ANSWER_VERB})\b[^.?!\n]{{0,60}}?\b(?:in|within|inside)"
    r"\s+(?:an? )?\$?\\boxed"
    r"|\blast line of (?:your|the) (?:reply|answer|response|output) (?:must|should|has to|is to)\b"
    rf"|{_BEGINS}(?:end|finish|conclude|begin|start) your (?:reply|answer|response|output) (?:with|by)\b"
    rf"|(?:^|\n)\s*format:"
    r"|\b(?:answer|reply|respond|return|write|give|use)\b[^.?!\n]{0,30}\b(?:complete|full|whole) sentences?\b"
    r"|\b(?:answer|reply|respond|describe|explain|summari[sz]e|say|write)\b[^.?!\n]{0,60}\bin "
    r"(?:(?:one|two|three|four|five|a few|\d)(?:(?: or |-)(?:two|three|four|five|\d))?|at most \w+)"
    r" (?:short |brief |simple |complete )?sentences?\b"
    rf"|{_BEGINS}(?:put|place|enclose|wrap|{_ANSWER_VERB})\b[^.?!\n]{{0,60}}?\b(?:in|within|inside|between|using) "
    r"(?:(?:the|a|xml|html|square|curly|double|single|pair of) )*"
    r"(?:tags?|backticks|brackets|parentheses|braces|quotation marks|quotes|asterisks)(?! of)\b"
    r"|(?:^|[.?!\n]\s*)(?:start|begin|end|finish) with [\"“'‘«„]"
    r"|\bone (?:\w+ )?per line\b|\b(?:each|every one|all) on (?:a|its own|their own) (?:new |separate )?lines?\b"
    r"|\bon separate lines\b|\bin the (?:form|format) [\"“'‘]|\b(?:answer|solution|result):[^\n]*_{2,}\s*\Z"
    r"|\b(?:antworten? (?:sie )?|schreibe?n? (?:sie )?)[^.?!\n]{0,20}(?:ganzen|vollständigen) S[aä]tz"
    r"|\b(?:réponds|répondez|écris|écrivez)[^.?!\n]{0,20}\bphrases? complètes?\b"
    r"|\b(?:responde|responda|contesta|escribe)[^.?!\n]{0,20}\b(?:frase|oración) completa\b"
    r"|\b(?:rispondi|rispondete|scrivi|scrivete)[^.?!\n]{0,20}\bfrase completa\b",
    re.IGNORECASE,
)
_LANGUAGES = (
    r"(?:Arabic|Chinese|Dutch|English|French|German|Greek|Hebrew|Hindi|Italian|Japanese|Korean|Latin|Polish|Portuguese"
    r"|Russian|Spanish|Swedish|Turkish)"
)
# "Answer yes or no.", "Reply in one word", "Answer in French", "the full text of the option": no label.
_OWN_ANSWER = re.compile(
    rf"{_BEGINS}(?:answer|reply|respond|say|write)\b[^.?!\n]{{0,15}}\b(?:yes or no|true or false|yes/no|true/false)\b"
    rf"|{_BEGINS}(?:answer|reply|respond|say|write)\b[^.?!\n]{{0,15}}\b(?:one|two|three|a single|a few) words?\b"
    rf"|{_BEGINS}(?:answer|reply|respond)\b[^.?!\n]{{0,15}}\b(?:an?|one|a single) (?:number|integer|digit)\b"
    # "(Answer: left / right)"; a box, unless it is one for the letter.
    r"|\((?:answer|choose|write|circle):? [^()/]+/[^()]+\)"
    rf"|{_BEGINS}(?:put|place|enclose|box|write|give)\b(?![^.?!\n]*\b(?:letter|label)\b)[^.?!\n]{{0,60}}\\boxed"
    rf"|{_BEGINS}(?:answer|reply|respond)(?: only)? in {_LANGUAGES}\b"
    r"|\b(?:full|complete|whole|exact) (?:text|wording) of (?:the|your) (?:\w+ )?(?:option|choice|answer)\b"
    r"|\bnot (?:with |by )?(?:its|the) (?:letter|label)\b"
    r"|\bantworte\w*\b[^.?!\n]{0,15}\bja oder nein\b|\bréponde?z?s?\b[^.?!\n]{0,15}\boui ou (?:par )?non\b"
    r"|\b(?:responde|contesta)\w*\b[^.?!\n]{0,15}\bsí o no\b|\brispond\w+\b[^.?!\n]{0,15}\bsì o no\b",
    re.IGNORECASE,
)
# "Just the letter.", "Answer with the letter of the option"
_ASKS_FOR_LETTER = re.compile(
    rf"{_BEGINS}(?:just|only|{_ANSWER_VERB}|choose|select|circle)\b[^.?!\n]{{0,30}}\bletter"
    r"(?=\s*(?:[.?!,;]|$|of (?:the|your)\b|only\b|alone\b))",
    re.IGNORECASE,
)
# A question that speaks of a text of its own, beside which an unrelated passage would be mistaken for it.
_OWN_TEXT = re.compile(
    r"\bpassages?\b|\b(?:the|this|following|above) (?:\w+ )?(?:text|paragraph|story|article|extract|excerpt|poem"
    r"|report|dialogue|conversation|context|scenario)\b|\b(?:text|paragraph)s? (?:above|below)\b"
    r"|^\s*(?:context|text|paragraph|story|background)\s*:"
    r"|\b(?:im|der|folgende[rnm]?) (?:text|textes|abschnitt)\b|\b(?:le|du|ce) texte\b|\b(?:el|del|este) texto\b"
    r"|\b(?:il|nel|del|questo) testo\b|\bтекст|短文|文章|下文|上文",
    re.IGNORECASE | re.MULTILINE,
)

# "The previous question was about mammals", beside which an example would be taken for that question.
_ANOTHER_QUESTION = re.compile(
    r"\b(?:previous|preceding|earlier|foregoing|last) (?:question|problem|exercise|task)s?\b"
    r"|\b(?:question|problem|exercise|task|example)s? above\b"
    r"|\b(?:vorige|vorherige|letzte)[nrs]? (?:frage|aufgabe)|\b(?:question|problème|exercice) précédente?\b"
    r"|\b(?:pregunta|ejercicio|problema) anterior\b|\b(?:domanda|esercizio|problema) precedente\b"
    r"|\bпредыдущ\w+ (?:вопрос|задач)|上一[题个道]|前の問",
    re.IGNORECASE,
)


def rules_out_explanation(text: str) -> bool:
    """Return whether a question demands an answer without an explanation, so that no prompt can ask for reasoning.

    >>> rules_out_explanation("Is 91 prime? Do not explain."), rules_out_explanation("Can you explain Ohm's law?")
    (True, False)
    """
    return _NO_EXPLANATION.search(text) is not None or demands_nothing_else(text)


def demands_nothing_else(text: str) -> bool:
    """Return whether a question demands the answer and nothing else, so that no prompt can demand a form around it.

    >>> demands_nothing_else("Give the year only. When did it end?"), demands_nothing_else("Give the only root.")
    (True, False)
    """
    return _NOTHING_ELSE.search(text) is not None


def demands_own_answer(text: str) -> bool:
    """Return whether a question demands an answer that is no label, so that no prompt can ask for a label.

    >>> demands_own_answer("Is 51 prime? Answer yes or no."), demands_own_answer("True or false: 51 is prime.")
    (True, False)
    """
    return _OWN_ANSWER.search(text) is not None


def has_own_text(text: str) -> bool:
    """Return whether a question speaks of a text of its own, so that no unrelated passage can stand before it.

    >>> has_own_text("Who speaks in the passage below?"), has_own_text("Who wrote Emma?")
    (True, False)
    """
    return _OWN_TEXT.search(text) is not None


def is_plain(text: str) -> bool:
    """Return whether a question demands nothing of the form of its answer, so that it can be a demonstration.

    >>> is_plain("Is 51 prime?"), is_plain("Is 51 prime? Explain briefly.")
    (True, False)
    """
    demands = (demands_explanation, demands_own_form, demands_own_answer, rules_out_explanation)
    return not any(is_demanded(text) for is_demanded in (*demands, refers_to_another_question))


def refers_to_another_question(text: str) -> bool:
    """Return whether a question speaks of another one, so that no example can stand before it.

    >>> refers_to_another_question("The last question was on fish. Is this one?"), refers_to_another_question("Who?")
    (True, False)
    """
    return _ANOTHER_QUESTION.search(text) is not None


def demands_explanation(text: str) -> bool:
    """Return whether a question demands an explanation, so that no prompt can ask for a label or a short answer alone.

    >>> demands_explanation("Which is prime? Explain briefly."), demands_explanation("What explains the tides?")
    (True, False)
    """
    return _EXPLAIN.search(text) is not None and not rules_out_explanation(text)


def demands_own_form(text: str) -> bool:
    """Return whether a question demands a form of its own for the answer, so that no prompt can demand another.

    >>> demands_own_form("Name a river. Respond in JSON."), demands_own_form("What does the server return in JSON?")
    (True, False)
    """
    return _OWN_FORM.search(text) is not None


def asks_for_letter(text: str) -> bool:
    """Return whether a question asks for the letter of a choice, so that no labels but letters fit it.

    >>> asks_for_letter("Which is a fish? Just the letter."), asks_for_letter("Which word begins with the letter S?")
    (True, False)
    """
    return _ASKS_FOR_LETTER.search(text) is not None
