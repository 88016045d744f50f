"""One question in the page: what is kept of it, which pages it goes to, and what a browser makes of it."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.parsed_page import Page
from helpers.planted_texts import (
    HOSTILE,
    MODELS,
    NAMES,
    PlantedPrompt,
    PlantedTexts,
    cells,
    index,
    planted,
    row,
    section,
    text,
)

from howsure.reporting.assets import build_policy
from howsure.reporting.sections import question_browser as made
from howsure.reporting.sections import question_browser as texts_of
from howsure.reporting.sections.question_browser import (
    MAX_COMPLETION,
    MAX_GENERATIONS,
    MAX_GROUPS,
    MAX_MESSAGE,
    MAX_SHORT,
    MAX_VARIANTS,
    TextLimits,
    build_question_browser,
    describe_question,
    fill_pages,
    score_variance,
)
from howsure.stats.core.cells import Cells

# theory: groups, shares, and what is shown of them


def test_groups_stand_by_share_over_models_then_what_has_none():
    some = [row("q", "much", g, answer="B", score=0.0) for g in range(1, 9)]
    some += [row("q", "one", 1, answer="A", score=1.0), row("q", "two", 1, answer="A", score=1.0)]
    some += [
        row("q", "much", 9, status="unparsed", score=0.0),
        row("q", "much", 10, status="error", error="timeout: x"),
    ]
    found = describe_question(SimpleNamespace(question=text("q", {}).question, generations=some))
    assert [(g["kind"], g["answer"], g["n"], g["right"]) for g in found["groups"]] == [
        ("answer", "A", 2, True),
        ("answer", "B", 8, False),
        ("unparsed", None, 1, False),
        ("failed", None, 1, False),
    ]
    assert [g["share"] for g in found["groups"]] == pytest.approx([2 / 3, 8 / 27, 1 / 27, 0], abs=1e-4)
    assert found["groups"][1]["models"] == [["much", 8]]
    assert found["status"] == {"ok": 10, "unparsed": 1, "error": 1}
    assert found["generations"] == 12


def test_scores_say_what_is_right_and_the_target_where_there_are_none():
    some = [row("q", "m", 1, answer="1/2", score=1.0), row("q", "m", 2, answer="0.5", score=1.0)]
    some += [
        row("q", "m", 3, answer="A"),
        row("q", "m", 4, answer="B"),
        row("q", "m", 5, answer="C", status="unscored"),
    ]
    found = {
        g["answer"]: g["right"]
        for g in describe_question(SimpleNamespace(question=text("q", {}).question, generations=some))["groups"]
    }
    assert found == {"1/2": True, "0.5": True, "A": True, "B": False, None: False}


def test_generations_shown_are_of_each_answer_and_each_model_in_turn():
    some = [row("q", f"m{m}", g, answer="B" if g <= 30 else "C", score=0.0) for m in range(3) for g in range(1, 35)]
    first, second = describe_question(SimpleNamespace(question=text("q", {}).question, generations=some))["groups"]
    assert len(first["shown"]) + len(second["shown"]) == MAX_GENERATIONS
    assert len(first["shown"]) == len(second["shown"]) == MAX_GENERATIONS // 2
    assert [(one["model"], one["generation"]) for one in first["shown"][:4]] == [
        ("m0", 1),
        ("m1", 1),
        ("m2", 1),
        ("m0", 2),
    ]
    assert [one["generation"] for one in second["shown"][:3]] == [31, 31, 31]


def test_what_is_long_is_cut_and_counted():
    million = "x" * 1_000_000
    prompts = [PlantedPrompt(f"v{i}", (("user", "m" * (MAX_MESSAGE + 5)),)) for i in range(MAX_VARIANTS + 4)]
    one = text("q", {"m": "B"}, said=million + "{}", target=million, prompts=tuple(prompts))
    found = describe_question(one)
    (shown,) = found["groups"][0]["shown"]
    assert shown["text"] == ["x" * MAX_COMPLETION, 1_000_001 - MAX_COMPLETION]
    assert found["target"] == ["x" * MAX_SHORT, 1_000_000 - MAX_SHORT]
    assert found["variants"][0]["messages"] == [["user", ["m" * MAX_MESSAGE, 5]]]
    assert [v["name"] for v in found["variants"]] == ["v0", "v2", "v1", *(f"v{i}" for i in range(3, MAX_VARIANTS + 1))]
    assert found["more_variants"] == 3
    many = [row("q", "m", g, answer=f"a{g:03d}", score=0.0) for g in range(1, MAX_GROUPS + 6)]
    assert describe_question(SimpleNamespace(question=one.question, generations=many))["more_groups"] == [5, 5]


def test_variants_that_were_answered_come_before_others():
    prompts = [PlantedPrompt(f"v{i}", (("user", str(i)),)) for i in range(20)]
    rows = (row("q", "m", 1, variant="v17", answer="A"),)
    asked = SimpleNamespace(question="q", choices=(), target=None, prompts=prompts)
    names = [v["name"] for v in describe_question(SimpleNamespace(question=asked, generations=rows))["variants"]]
    assert names == ["v0", "v17", *(f"v{i}" for i in range(1, MAX_VARIANTS))]


def test_what_is_not_known_is_left_away():
    (group,) = describe_question(
        SimpleNamespace(question=text("q", {}).question, generations=(row("q", "m", 1, answer="A"),))
    )["groups"]
    assert group["shown"] == [{"model": "m", "variant": "v1", "generation": 1}]
    assert describe_question(text("q", {}, prompts=()))["groups"] == []


# an independent slow version: variance of a score drawn from a model at random, then from its generations


def test_disagreement_is_the_variance_of_a_score():
    scores = [[[1, 0, 0], [1, 1], []], [[0.25], [1], []]]
    found = score_variance(Cells.from_scores("b", ["m1", "m2"], ["q1", "q2", "q3"], scores))
    weights, values = [1 / 6, 1 / 6, 1 / 6, 1 / 2], [1, 0, 0, 0.25]
    mean = sum(w * v for w, v in zip(weights, values, strict=True))
    assert found[0] == pytest.approx(sum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True)))
    assert found[1] == 0
    assert math.isnan(found[2])


# which questions, in which order, on which page


def test_suspects_come_first_then_those_that_divide_the_most():
    scores = [[[1, 1], [1, 0], [0, 0], [], [1, 1, 1, 0]]]
    some = Cells.from_scores("planted", ["m"], ["sure", "half", "wrong", "nobody", "three of four"], scores)
    one = build_question_browser(some, "b1", label_errors={"wrong": "why", "is not there": "why"})
    told = index(one)
    assert told["names"] == ["wrong", "half", "three of four", "sure", "nobody"]
    assert told["suspects"] == {"0": "why"}
    assert told["n"] == [[2, 2, 4, 2, 0]]
    assert told["total"] == [[0, 1, 3, 2, 0]]
    assert told["score"] == [0, 0.5, 0.75, 1, None]
    assert one.lead.endswith(
        "(no texts were read). Questions come in this order: suspected label errors first, then those on which generations agree least."
    )
    assert one.left_out == ("prompts and generations of 5 questions (no texts were read)",)
    assert not one.text_files


def test_the_index_has_verdicts_and_counts_of_what_failed():
    told = index(section())
    assert told["names"][0] == NAMES[0]
    assert told["verdicts"] == {"0": ["mislabeled", f"five {HOSTILE}", "ada", "2026-01-02"]}
    assert told["unparsed"] == told["failed"] == {"0": 1}
    assert told["models"] == list(MODELS)


def test_many_cells_leave_only_the_mean_over_models(monkeypatch):
    monkeypatch.setattr(made, "_MAX_CELLS", 10)
    told = index(section())
    assert told["n"] is told["total"] is None
    assert len(told["score"]) == len(NAMES)


def test_texts_fill_the_page_and_then_pages_beside_it():
    whole = section()
    sizes = [len(whole.scripts[f"question-b1-{i}"]) for i in (0, 1, 2, 4)]
    assert "of 4 of 5 questions in this page; of 1 question only the scores of the models" in whole.lead
    assert len(whole.left_out) == 1
    one = section(
        limits=TextLimits(
            page_bytes=sizes[0] + sizes[1], file_bytes=max(sizes[2:]), max_files=5, file_name="my report.html"
        )
    )
    assert [i for i in range(5) if f"question-b1-{i}" in one.scripts] == [0, 1]
    assert list(one.text_files) == ["my report_files/b1-1.html", "my report_files/b1-2.html"]
    assert index(one)["page"] == {"0": 0, "1": 0, "2": 1, "4": 2}
    assert index(one)["files"] == ["", "my%20report_files/b1-1.html", "my%20report_files/b1-2.html"]
    assert (
        "of 2 of 5 questions in this page, of 2 more in 2 files beside it (my report_files); of 1 question only"
        in one.lead
    )
    beside = Page(one.text_files["my report_files/b1-1.html"])
    assert beside.json("questions-b1")["files"] == ["../my%20report.html", "b1-1.html", "b1-2.html"]
    assert beside.json("questions-b1")["here"] == 1
    assert beside.json("question-b1-2") == json.loads(whole.scripts["question-b1-2"])
    assert {"..", "#"} >= {a["href"][:2].replace("#b", "#") for t, a in beside.tags if t == "a"}
    # only as many as were asked for, and the page says what is missing
    few = section(limits=TextLimits(page_bytes=sizes[0], file_bytes=max(sizes[2:]), max_files=1))
    assert list(few.text_files) == ["report_files/b1-1.html"]
    assert "of 3 questions" in few.left_out[0]


def test_reading_stops_when_the_pages_are_full(monkeypatch):
    monkeypatch.setattr(texts_of, "_BATCH", 2)
    source = planted()
    found = fill_pages(source, "planted", NAMES, [1])
    assert found == [{}]
    assert source.lots == [2]
    assert [list(one) for one in fill_pages(planted(), "planted", NAMES, [10**7])] == [list(NAMES[:4])]
    # a page beside is never empty, whatever the size of a question
    assert [len(one) for one in fill_pages(planted(), "planted", NAMES, [1, 1, 1])] == [0, 1, 1]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (PlantedTexts([]), "not in this page (none are stored, or the page has no space for one)"),
        (PlantedTexts([text("only", {"m": "A"})]), "grouped by answer, of the one question. Questions"),
    ],
)
def test_the_lead_is_right_at_the_edges(source, told):
    one = build_question_browser(Cells.from_scores("planted", ["m"], ["only"], [[[1]]]), "b1", texts=source)
    assert told in one.lead


def test_all_questions_are_told_as_all():
    some = Cells.from_scores("planted", ["m"], ["a", "b"], [[[1], [0]]])
    one = build_question_browser(some, "b1", texts=PlantedTexts([text("a", {"m": "A"}), text("b", {"m": "B"})]))
    assert "of all 2 questions." in one.lead
    assert one.left_out == ()


# safety, as a parser sees it


def test_hostile_texts_are_json_that_no_parser_leaves():
    html = made.render_text_file(section(), "report.html")
    html.encode()  # no lone surrogate stands in it
    read = Page(html)  # asserts that tags are balanced
    assert sum(tag == "script" for tag, _ in read.tags) == html.count("<script") == html.count("</script") == 1 + 1 + 4
    assert "<!--" not in html
    assert not set("\u2028\u2029\x00\u202e\ud83d") & set(html)
    assert not [tag for tag, _ in read.tags if tag == "img"]
    found = read.json("question-b1-0")
    assert found["variants"][0]["messages"][0][1] == f"Be brief. {HOSTILE}"
    assert read.json("questions-b1")["names"] == index(section())["names"]


def test_the_policy_allows_what_is_there_and_nothing_else():
    assert build_policy([""], [""]) == (  # printed: the digest of nothing
        "default-src 'none'; script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; "
        "style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; base-uri 'none'; form-action 'none'"
    )
    read = Page(made.render_text_file(section(), "report.html"))
    for tag, attrs in read.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert not attrs.get("src")
        assert "style" not in attrs
    ids = [a["id"] for _, a in read.tags if "id" in a]
    assert len(set(ids)) == len(ids)
    script = (Path(made.__file__).parents[1] / "templates" / "question.js").read_text()
    assert not [
        word for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(") if word in script
    ]


def test_the_numbers_of_a_page_are_those_of_the_cells():
    some = cells()
    told = index(section())
    at = [some.questions.index(name) for name in told["names"]]
    n = np.array([row if isinstance(row, list) else [row] * len(at) for row in told["n"]])
    np.testing.assert_array_equal(n, some.n[:, at])
    np.testing.assert_array_equal(np.array(told["total"]), some.total[:, at])
