"""Answers that are cut out of sentences. Kind of truth: cases written and judged by hand, most of them traps."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.awkward_answers import read_table, score_or_none

from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.open_candidates import find_candidate, list_shorter_answers, widen_answer
from howsure.scorers.normalised import normalize_answer
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import ScoringItem

RIGHT = [
    (
        "Who directed the film?",
        "Sofia Coppola",
        "The film (2003) was directed by Sofia Coppola, daughter of a director.",
    ),
    ("who is the ceo of apple", "Tim Cook", "As of my last update in 2023, the CEO of Apple is Tim Cook."),
    ("Who discovered radium?", "Marie Curie", "Radium was discovered in 1898 by the physicist Marie Curie in Paris."),
    (
        "who played Hermione Granger",
        "Emma Watson",
        "Hermione was portrayed by the English actress Emma Watson in all films.",
    ),
    (
        "What is the deepest lake?",
        "Lake Baikal",
        "Lake Baikal, in southern Siberia, Russia, is the deepest lake. It is old.",
    ),
    (
        "In which country is the city of Turin?",
        "Italy",
        "Turin is a city in northern Italy, capital of the Piedmont region.",
    ),
    ("Of which country is Santiago the capital?", "Chile", "Santiago is the capital of Chile."),
    (
        "In what year did it sink?",
        "1912",
        "It sank in the early hours of April 15, 1912, and over 1,500 of 2,224 people died.",
    ),
    ("When did the wall fall?", "1989", "The wall fell on November 9, 1989."),
    ("When was the constitution written?", "1787", "It was written in 1787, and ratified in 1788."),
    ("How many bones has an adult?", "206", "An adult has 206 bones, while babies are born with about 270 bones."),
    ("How many continents are there?", "seven", "There are seven continents."),
    (
        "What was St Petersburg called?",
        "Leningrad",
        "At that time it was called Leningrad. (Earlier it was Petrograd.)",
    ),
    ("Who painted it?", "Leonardo da Vinci", "Leonardo da Vinci, between 1503 and 1519."),
    ("What is the capital of Thailand?", "Bangkok", "กรุงเทพ (Bangkok)"),
    ("¿Cuál es la capital de España?", "Madrid", "La capital de España es Madrid."),
    ("Qui a écrit ce livre ?", "Victor Hugo", "C'est Victor Hugo qui a écrit ce livre."),
    ("中国的首都是哪里？", "北京", "中国的首都是北京，是一座古老的城市。"),
    (
        "What is the capital of Vietnam?",
        "Hanoi",
        "Ho Chi Minh City is the largest city of Vietnam. But the capital is Hanoi.",
    ),
    ("Where was radium discovered?", "Paris", "Radium was discovered in 1898 by the physicist Marie Curie in Paris."),
    (
        "In which year was radium discovered?",
        "1898",
        "Radium was discovered in 1898 by the physicist Marie Curie in Paris.",
    ),
    ("Who killed Lincoln?", "John Wilkes Booth", "Lincoln was killed by John Wilkes Booth at Ford's Theatre."),
    ("When did World War I start?", "1914", "World War I started in 1914 and ended in 1918."),
    ("When did World War I end?", "1918", "World War I started in 1914 and ended in 1918."),
    ("How many moons does Mars have?", "2", "Mars has two moons, Phobos and Deimos."),
    ("What is the capital of Canada?", "Ottawa", "Toronto is the largest city in Canada, but Ottawa is the capital."),
    (
        "Who was the first person on the Moon?",
        "Neil Armstrong",
        "Neil Armstrong was the first, followed by Buzz Aldrin.",
    ),
    (
        "What is the largest planet?",
        "Jupiter",
        "Jupiter is the largest planet in the Solar System, about 11 times the size of Earth.",
    ),
    ("Where is the Eiffel Tower?", "Paris", "The Eiffel Tower is in Paris, the capital of France."),
    ("What element has symbol Au?", "gold", "Au is the symbol for gold, from Latin aurum."),
    ("What is the chemical symbol of gold?", "Au", "Gold's chemical symbol is Au, from the Latin aurum."),
    ("Who painted Guernica?", "Pablo Picasso", "Guernica is a 1937 painting by Spanish artist Pablo Picasso."),
    (
        "Who directed Jaws?",
        "Steven Spielberg",
        "Jaws is a film directed by Steven Spielberg and produced by Richard D. Zanuck.",
    ),
    (
        "Who produced Jaws?",
        "Richard D. Zanuck",
        "Jaws is a film directed by Steven Spielberg and produced by Richard D. Zanuck.",
    ),
    ("When was Mozart born?", "1756", "Mozart was born in 1756 and died in 1791."),
    (
        "How many players are on a soccer team?",
        "11",
        "A soccer team has 11 players, including a goalkeeper, and up to 5 substitutes.",
    ),
    ("Who did Brutus kill?", "Caesar", "Caesar was killed by Brutus."),
    ("Who taught Aristotle?", "Plato", "Aristotle was taught by Plato, and taught Alexander."),
    (
        "Who defeated Napoleon at Waterloo?",
        "Duke of Wellington",
        "Napoleon was defeated by the Duke of Wellington at Waterloo.",
    ),
    ("What is the currency of Japan?", "yen", "The currency of Japan is the yen, which is subdivided into 100 sen."),
]
WRONG = [
    ("Who directed the film?", "Sofia Coppola", "The film was not directed by Sofia Coppola at that time of her life."),
    ("Who wrote the book?", "Jane Austen", "The book, which appeared in London in 1811, was dedicated to Jane Austen."),
    ("Who wrote the book?", "Jane Austen", "The book, which appeared in London in 1811, was inspired by Jane Austen."),
    ("Who wrote Emma?", "Mary Shelley", "Emma appeared in 1815, and Mary Shelley admired it greatly for its wit."),
    ("What is the capital of Australia?", "Sydney", "Many people think that the capital of Australia is Sydney."),
    ("What is the capital of Australia?", "Sydney", "Sydney is the largest city of Australia, and it lies by the sea."),
    (
        "What is the capital of Australia?",
        "Sydney",
        "Sydney, contrary to common belief, is not the capital of Australia.",
    ),
    ("Who invented the lamp?", "Edison", "Edison competed with Swan, who invented the lamp before him in England."),
    ("Who invented the lamp?", "Edison", "If Edison had invented the lamp, we would know it from his notes."),
    ("In what year did the war end?", "1939", "The war that began in 1939 ended in 1945, after six long years."),
    ("How many legs has it?", "4", "The table has 4 chairs, and it has 6 legs under the board."),
    ("Who won the race?", "Ann Lee", "Ann Lee finished second, and nobody says who won the race that day."),
    ("Which state?", "New York", "New York State"),
    ("Who painted it?", "Monet", "Monet, or perhaps Manet."),
    ("Who painted it?", "Monet", "Monet, according to some."),
    ("Who painted it?", "Monet", "Manet (not Monet)"),
    ("Who wrote Hamlet?", "Christopher Marlowe", "Hamlet was written by a rival of Christopher Marlowe."),
    ("Who wrote Hamlet?", "Christopher Marlowe", "Hamlet was not written by Christopher Marlowe."),
    ("Who killed Lincoln?", "Ford's Theatre", "Lincoln was killed by John Wilkes Booth at Ford's Theatre."),
    ("When did World War I end?", "1914", "World War I started in 1914 and ended in 1918."),
    ("How many moons does Mars have?", "4", "Mars is the 4th planet; it has two moons."),
    ("What is the capital of Canada?", "Toronto", "Toronto is the largest city in Canada, but Ottawa is the capital."),
    ("Who was the first person on the Moon?", "Buzz Aldrin", "Buzz Aldrin was the second person on the Moon."),
    ("Who was the first president of the US?", "John Adams", "John Adams was the second president of the US."),
    ("What is the largest planet?", "Saturn", "Saturn is the second largest planet."),
    ("Which country has the most people?", "China", "India has overtaken China as the country with the most people."),
    ("Where is the Eiffel Tower?", "France", "It is not in Lyon, it is in Paris."),
    ("Who painted Guernica?", "Georges Braque", "Guernica is a painting by a friend of Georges Braque."),
    (
        "Who produced Jaws?",
        "Steven Spielberg",
        "Jaws is a film directed by Steven Spielberg and produced by Richard D. Zanuck.",
    ),
    ("When was Mozart born?", "1791", "Mozart was born in 1756 and died in 1791."),
    ("When did Mozart die?", "1756", "Mozart (born 1756) died in Vienna in 1791."),
    ("Who did Brutus kill?", "Brutus", "Caesar was killed by Brutus."),
    ("Who taught Aristotle?", "Alexander", "Aristotle taught Alexander the Great."),
    ("Who defeated Napoleon at Waterloo?", "Napoleon", "Napoleon was defeated by the Duke of Wellington at Waterloo."),
    ("Who beat Federer in 2008?", "Federer", "Federer lost to Nadal in 2008."),
]


@pytest.mark.parametrize(("question", "target", "completion"), RIGHT)
def test_answer_of_a_sentence_is_read(question, target, completion):
    assert score_or_none("normalised", completion, target, question) == 1


@pytest.mark.parametrize(("question", "target", "completion"), WRONG)
def test_what_a_sentence_does_not_give_is_not_right(question, target, completion):
    assert score_or_none("normalised", completion, target, question) in {0, None}


#: Words of the completions that are the answer in other words than the target.
SAME_ANSWERS = {"กรุงเทพ", "two", "two moons"}


@pytest.mark.parametrize(("question", "target", "completion"), RIGHT)
def test_other_words_of_a_completion_are_not_right_and_do_not_change_what_is_read(question, target, completion):
    """Each run of one to four words of the completion as the target; those that share a word with the answer are left out."""
    scorer = build_scorer("normalised", "test")
    own = set(normalize_answer(target).split())
    words = [word for part in completion.split() if (word := part.strip(".,;:!?()*\"'"))]
    runs = {" ".join(words[i : i + n]) for i in range(len(words)) for n in range(1, 5)}
    others = [
        run
        for run in runs - SAME_ANSWERS
        if own.isdisjoint(normalize_answer(run).split()) and normalize_answer(target) not in normalize_answer(run)
    ]
    scores = {
        run: scorer.score(completion, ScoringItem("b", "q", "v", run, CompletionContext(question))) for run in others
    }
    assert [run for run, scored in scores.items() if scored.score] == []
    assert len({scored.answer for scored in scores.values()}) <= 1


NAMED = [
    ("What color was used for the anniversary?", "The color gold was used for the anniversary.", "gold"),
    ("Which planet is closest to the sun?", "The planet Mercury is closest to the sun of all planets.", "Mercury"),
    ("What city is the capital of Peru?", "The city Lima is the capital of Peru.", "Lima"),
    ("Which city is the largest in the US?", "The city New York is the largest in the US.", "New York"),
    ("What metal was used for the statue?", "The metal green bronze was used for the statue.", "green bronze"),
]
UNNAMED = [
    ("What color was used for the logo?", "The color that was used for the logo is known."),
    ("What color was used for the logo?", "The color chosen was used for the logo."),
    ("What color was used for the logo?", "The color mostly was used for the logo."),
    ("Which team was first in the league?", "The team captain was happy to be first in the league."),
    ("Which planet is the largest of the system?", "The planet Mercury is the smallest of the system."),
    ("Which city was founded in the year 1900?", "The city council was dissolved, founded in the year 1900."),
]


@pytest.mark.parametrize(("question", "completion", "answer"), NAMED)
def test_name_behind_the_noun_of_the_question_is_read(question, completion, answer):
    assert find_candidate([completion], question) == answer


@pytest.mark.parametrize(("question", "completion"), UNNAMED)
def test_words_behind_the_noun_that_are_no_name_are_not_read(question, completion):
    answer = find_candidate([completion], question)
    assert answer is None or answer.lower() not in {"that", "chosen", "mostly", "captain", "mercury", "council"}


@pytest.mark.parametrize(
    ("number", "answer"), [("26", "26"), ("twenty-six", "twenty-six"), ("twenty", "twenty"), ("thirty", "thirty")]
)
def test_number_in_words_is_read_as_a_whole(number, answer):
    question = "How many bones does the human foot have?"
    assert find_candidate([f"The human foot has {number} bones in all."], question) == answer


def test_clause_that_shares_too_little_has_no_candidate():
    assert find_candidate(["Paris is a fine city.", "Rome is old."], "Who wrote the longest novel of France?") is None
    assert find_candidate([], "Who wrote it?") is None


def test_shorter_answers_keep_what_denies():
    assert list(list_shorter_answers("Sydney, not Canberra", "What is the capital?")) == []
    assert list(list_shorter_answers("1945 years", "In what year did it end?")) == []
    assert list(list_shorter_answers("the Nile River", "Which river is the longest?")) == ["the Nile"]


def test_an_answer_that_is_doubted_or_one_of_two_is_not_right():
    """Kind of truth: replies written and judged by hand, beside ones whose doubt is about something else."""
    rows = read_table(Path(__file__).with_name("doubted_answers.tsv"), 4)
    misread = {
        (score, target, question, completion, reason)
        for score, target, question, completion, reason in rows
        if bool(score_or_none("normalised", completion, target, question)) != bool(int(score))
    }
    assert misread == {row for row in rows if row[4]}


def test_two_names_are_one_answer():
    sentences = ["Emma was written by **Jane Austen** or Mary Shelley."]
    assert widen_answer("Mary Shelley", sentences) == "Jane Austen or Mary Shelley"
    assert widen_answer("1918", ["It ended in 1917 or 1918, or in **1918**."]) == "1918"
    assert widen_answer("Ottawa", ["The capital is near Ottawa."], "What is the capital?") is None
    assert widen_answer("Ottawa", ["The town is near Ottawa."], "Where is the town?") == "Ottawa"
