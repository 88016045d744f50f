"""Every page, every form, and every refusal."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl

import msgspec
import pytest
from helpers.planted_review import HOME, HOSTILE, PORT, TOKEN, post, row, session, stranger, visitor
from starlette.exceptions import HTTPException
from starlette.websockets import WebSocketDisconnect

import howsure
from howsure.errors import InputError
from howsure.review.queue import PromptText, QuestionView, QueueFilter, RunTexts
from howsure.review.verdicts import NOTE_LENGTH, Verdict, append, content_key, load, moment
from howsure.stats.questions import AnswerCounts
from howsure.store.responses import RunFolder
from howsure.web import review_pages
from howsure.web.form_pages import BODY_LENGTH
from howsure.web.review_pages import ReviewSession
from howsure.web.server import POLICY

SUSPECTS = ["hostile", "wrong label"]
HARD = {"benchmark": "planted", "question": "hard"}


@pytest.fixture
def review(tmp_path, texts):
    return session(tmp_path, texts)


@pytest.fixture
def client(review):
    return visitor(review)


def listed(page):
    return re.findall(r'<th scope="row"><a href="[^"]*"><bdi>([^<]*)</bdi>', page)


def links(page):
    return {
        key: at.replace("&amp;", "&") for at, key in re.findall(r'<a [^>]*?href="([^"]*)"[^>]*data-key="(.)"', page)
    }


# a stranger's requests: what must be refused, one by one


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", "localhost:9999", "[::1]:8765", ""]
)
def test_another_host_is_refused(client, host):
    reply = client.get("/", headers={"Host": host})
    assert reply.status_code == 421
    assert "suspected" not in reply.text


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:9999", f"https://127.0.0.1:{PORT}", f"{HOME}.evil.example"],
)
def test_another_origin_is_refused(client, review, origin):
    assert post(client, "/verdict", HARD | {"verdict": "fine"}, origin=origin).status_code == 403
    assert client.get("/", headers={"Origin": origin}).status_code == 403
    assert not review.file.exists()


def test_a_post_without_origin_is_refused(client, review):
    assert post(client, "/verdict", HARD | {"verdict": "fine"}, origin=None).status_code == 403
    assert not review.file.exists()


def test_localhost_is_this_machine(review):
    client = stranger(review)
    client.base_url = f"http://localhost:{PORT}"
    assert client.get("/", params={"token": TOKEN}).status_code == 303
    assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/question?benchmark=planted&question=hard",
        "/static/keys.js",
        "/?token=wrong",
        "/?token=",
        f"/question?token={TOKEN}",
    ],
)
def test_nothing_is_shown_without_the_token(review, path):
    reply = stranger(review).get(path)
    assert reply.status_code == 403
    assert "set-cookie" not in reply.headers


@pytest.mark.parametrize("cookie", ["x", "", TOKEN, '"', "é".encode()])
def test_a_wrong_cookie_is_refused(review, cookie):
    value = cookie if isinstance(cookie, bytes) else cookie.encode()
    headers = {b"Cookie": f"howsure-{PORT}=".encode() + value}
    assert stranger(review).get("/", headers=headers).status_code == 403


def test_verdicts_that_cannot_be_written_are_refused_before_the_page_opens(texts, tmp_path):
    """The server would wait for Ctrl-C, and the first verdict would be lost."""
    file = tmp_path / "no folder" / "v.jsonl"
    with pytest.raises(InputError, match=r"v.jsonl: cannot be written: No such file.*; name a file with --verdicts"):
        review_pages.serve_review(texts.folders, verdicts=file, port=0, open_browser=False)


def test_a_malformed_cookie_is_refused(review):
    assert stranger(review).get("/", headers={"Cookie": "a,b{}[]=;;=\x01"}).status_code == 403


def test_the_token_becomes_a_cookie_that_only_this_app_sees(review):
    reply = stranger(review).get("/", params={"token": TOKEN})
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert reply.headers["location"] == "/"


def test_a_post_needs_the_secret_of_the_pages_and_not_only_the_cookie(client, review):
    cookie = next(iter(client.cookies.values()))
    for wrong in ("", "x", "é", cookie, TOKEN):
        assert post(client, "/verdict", HARD | {"verdict": "fine", "secret": wrong}).status_code == 403
        assert post(client, "/undo", {"secret": wrong}).status_code == 403
    assert not review.file.exists()


def test_every_answer_has_the_headers_and_none_opens_the_app_to_others(client, review):
    replies = [client.get("/"), client.get("/nothing"), client.get("/static/keys.js"), stranger(review).get("/"),
               client.get("/", headers={"Host": "evil.example"}), client.options("/", headers={"Origin": HOME})]  # fmt: skip
    assert [reply.status_code for reply in replies] == [200, 404, 200, 403, 421, 405]
    for reply in replies:
        assert reply.headers["content-security-policy"] == POLICY
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
        assert not [name for name in reply.headers if name.startswith("access-control")]
    assert "unsafe" not in POLICY


def test_pages_have_no_script_and_no_style_of_their_own(client):
    for path in ("/", "/?show=all&state=any", "/question?benchmark=planted&question=hostile"):
        page = client.get(path).text
        assert re.findall(r"<script[^>]*>[^<]*</script>", page) == ['<script src="/static/keys.js" defer></script>']
        assert not re.search(r"<style|\sstyle=|<[^>]*\son\w+=|javascript:", page)


def test_files_outside_static_are_not_served(client):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/"):
        assert client.get(path).status_code == 404


def test_what_is_no_http_is_not_answered(client):
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/"):
        pass


# bad forms


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"question": "none"}, 404),
        ({"benchmark": "none"}, 404),
        ({"verdict": "wrong"}, 422),
        ({"verdict": ""}, 422),
        ({"note": "x" * (NOTE_LENGTH + 1)}, 413),
        ({"note": "x" * (BODY_LENGTH + 1)}, 413),
        ({f"more{i}": "x" for i in range(30)}, 400),
    ],
)
def test_a_bad_form_changes_nothing_and_says_why(client, review, fields, status):
    reply = post(client, "/verdict", HARD | {"verdict": "fine"} | fields)
    assert reply.status_code == status
    assert 'role="alert"' in reply.text
    assert not review.file.exists()


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b"{}", 415),
        ("multipart/form-data; boundary=x", b"--x--", 415),
        ("application/x-www-form-urlencoded", b"note=%ff", 400),
        ("application/x-www-form-urlencoded", b"note=\xff", 400),
        ("application/x-www-form-urlencoded; charset=utf-8", b"", 403),
    ],
)
def test_other_bodies_are_refused(client, kind, body, status):
    assert client.post("/verdict", content=body, headers={"Origin": HOME, "Content-Type": kind}).status_code == status


def test_a_body_without_a_length_is_bounded(client):
    def parts():
        for _ in range(100):
            yield b"note=" + b"x" * 10_000

    headers = {"Origin": HOME, "Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/verdict", content=parts(), headers=headers).status_code == 413


def test_an_unknown_question_or_page_is_not_found(client):
    for path in ("/question", "/question?benchmark=planted&question=%3Cscript%3E", "/nothing"):
        reply = client.get(path)
        assert reply.status_code == 404
        assert "<script>" not in reply.text


@pytest.mark.parametrize("path", ["/verdict", "/undo"])
def test_a_verdict_is_never_given_by_a_link(client, path):
    assert client.get(path).status_code == 405


# hostile texts


def test_what_models_wrote_is_text(client):
    page = client.get("/question", params={"benchmark": "planted", "question": "hostile"}).text
    shown = HOSTILE.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;").replace('"', "&#34;")
    assert page.count(shown) >= 12 + 2  # generations, the question and a choice
    assert HOSTILE not in page
    assert "49" not in re.sub(r'name="secret" value="\w+"', "", page)  # {{ 7 * 7 }}
    assert "<img" not in page


def test_what_a_reviewer_wrote_is_text(client):
    post(client, "/verdict", HARD | {"verdict": "fine", "note": f"</textarea>{HOSTILE}"})
    page = client.get("/question", params=HARD).text
    assert page.count("&lt;/textarea&gt;") == 2
    assert page.count("</textarea>") == 2
    assert "<img" not in page


def test_what_a_reader_looks_for_is_text(client):
    page = client.get("/", params={"find": '"><script>', "within": "<b>", "state": "<i>", "page": "<u>"}).text
    assert not re.search(r"<b>|<i>|<u>|<script>", page)


# the queue


def test_the_queue_shows_suspects_first_and_all_on_demand(client):
    assert listed(client.get("/").text) == SUSPECTS
    everything = listed(client.get("/?show=all").text)
    assert everything[:3] == [*SUSPECTS, "hard"]
    assert len(everything) == 7


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("show=all&find=EASY", {"easy 1", "easy 2", "easy 3"}),
        ("show=all&find=berlin", {"a/b?c=d&amp;e"}),
        ("within=planted", set(SUSPECTS)),
        ("within=other", set()),
        ("state=fine", set()),
        ("state=any", set(SUSPECTS)),
        ("page=99", set(SUSPECTS)),
        ("page=0", set(SUSPECTS)),
        ("page=9999999999", set(SUSPECTS)),
        ("show=nonsense&state=nonsense", set(SUSPECTS)),
    ],
)
def test_the_queue_is_filtered(client, query, expected):
    reply = client.get(f"/?{query}")
    assert reply.status_code == 200
    assert set(listed(reply.text)) == expected


def test_a_long_queue_has_pages(client, monkeypatch):
    monkeypatch.setattr(review_pages, "PAGE", 3)
    pages = [client.get(f"/?show=all&page={i}").text for i in (1, 2, 3)]
    assert [len(listed(page)) for page in pages] == [3, 3, 1]
    assert [("Previous page" in page, "Next page" in page) for page in pages] == [
        (False, True),
        (True, True),
        (True, False),
    ]
    assert "Page 2 of 3, 7 questions" in pages[1]


def test_progress_and_the_end_of_the_queue(client):
    assert "0 of 2 suspected label errors have your verdict" in client.get("/").text
    post(client, "/verdict", {"benchmark": "planted", "question": "hostile", "verdict": "ambiguous"})
    assert "1 of 2 suspected label errors has your verdict, 1 rejected" in client.get("/").text
    last = post(client, "/verdict", {"benchmark": "planted", "question": "wrong label", "verdict": "fine"})
    assert last.headers["location"] == "/"
    page = client.get("/").text
    assert "2 of 2 suspected label errors have your verdict, 1 rejected" in page
    assert "All of them have your verdict" in page
    assert listed(client.get("/?state=ambiguous").text) == ["hostile"]


def test_a_run_without_suspects_says_so(tmp_path):
    with RunFolder(tmp_path / "run") as run:
        run.append([row("q1", score=1.0, answer="A"), row("q2", benchmark="other", score=1.0)])
    client = visitor(ReviewSession(RunTexts([tmp_path / "run"]), tmp_path / "v.jsonl", blind=False, reviewer=""))
    assert "No label error is suspected" in client.get("/").text
    page = client.get("/?show=all").text
    assert set(listed(page)) == {"q1", "q2"}
    assert listed(client.get("/?show=all&within=other").text) == ["q2"]
    one = client.get("/question?benchmark=other&question=q2").text
    assert "No prompt was stored" in one
    assert "No completion was stored" in one
    assert "not known" in one
    assert "1 of 1: " in one


# one question


def test_a_question_shows_what_there_is_to_know(client):
    page = client.get("/question", params=HARD).text
    assert '<bdi id="target">C</bdi>' in page
    assert "no answer was extracted" in page
    assert "timeout: no answer &lt;b&gt;at all&lt;/b&gt;" in page
    assert page.count('<details class="generation" open>') == 3
    assert "generation 7 · unscored" in page
    assert 'class="target">three' in page


def test_next_and_previous_keep_the_choice_and_odd_names_come_through(client):
    at, seen = links(client.get("/?show=all").text)["j"], []
    while at:
        page = client.get(at)
        assert page.status_code == 200
        seen.append(re.search(r'<bdi id="name">(.*?)</bdi>', page.text)[1])
        assert "show=all" in links(page.text)["q"]
        at, last = links(page.text).get("j"), page
    assert sorted(seen) == sorted(["hostile", "wrong label", "hard", "a/b?c=d&amp;e", "easy 1", "easy 2", "easy 3"])
    back = client.get(links(last.text)["k"]).text
    assert re.search(r'<bdi id="name">(.*?)</bdi>', back)[1] == seen[-2]


def test_control_characters_and_marks_of_direction_are_replaced(tmp_path):
    """N15: an answer could be shown reversed to the person who judges it; the form still names its question."""
    hostile = "q\u202e1\x1b[2J"
    with RunFolder(tmp_path / "run") as run:
        run.append([row(hostile, score=1.0, answer="\u202eABC\x07", completion="\u2066east\x00")])
    client = visitor(ReviewSession(RunTexts([tmp_path / "run"]), tmp_path / "v.jsonl", blind=False, reviewer=""))
    for page in (client.get("/?show=all").text, client.get(links(client.get("/?show=all").text)["j"]).text):
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page)
        assert "\ufffd" in page


def test_blind_mode_shows_the_target_only_when_asked(tmp_path, texts):
    client = visitor(session(tmp_path, texts, blind=True))
    queue = client.get("/?show=all").text
    assert "Other answer" not in queue
    assert "0.08" not in queue
    page = client.get("/question", params=HARD).text
    for telling in ('id="target"', 'class="target"', "Other answer", "P(correct)", "Evidence", ">right<", "part right"):
        assert telling not in page
    shown = client.get(links(page)["t"]).text
    for telling in ('<bdi id="target">C</bdi>', 'class="target"', ">right<", "part right"):
        assert telling in shown


class Made:
    """Texts from nowhere: many generations, many prompts, a long completion."""

    def questions(self):
        return [QuestionView("b", "q", content_key("text", "A"), "text", (), "A")]

    def count_answers(self, benchmark):
        return AnswerCounts.from_generations(benchmark, {"large": {"q": ["A"] * 31}}, {"q": "A"})

    def prompts(self, _, __):
        return [PromptText(f"v{i}", (("user", f"way {i}"),)) for i in range(15)]

    def generations(self, _, question):
        rows = [
            row(question, g, variant="v0", score=1.0, answer="A", completion=f"said {g};" + "x" * 20_000 * (g == 1))
            for g in range(1, 31)
        ]
        return [*rows, row(question, 1, variant="v1", score=1.0, answer="A", completion="")]


def test_many_generations_and_prompts_are_bounded_and_told(tmp_path):
    client = visitor(ReviewSession(Made(), tmp_path / "v.jsonl", blind=False, reviewer=""))
    page = client.get("/question?benchmark=b&question=q&show=all").text
    assert "Show all 31 generations with this answer" in page
    assert "said 12;" in page
    assert "said 13;" not in page
    assert "7 more characters are not shown" in page
    assert "Under 14 other prompts" in page
    assert "and 4 more that are not shown" in page
    assert "variant v0 · generation 2" in page
    whole = client.get(re.search(r'href="([^"]*)#g0"', page)[1].replace("&amp;", "&")).text
    assert "said 30;" in whole
    assert "The completion is empty" in whole


# verdicts


def test_a_verdict_is_kept_with_its_note_and_the_next_question_comes(client, review):
    reply = post(
        client,
        "/verdict",
        {"benchmark": "planted", "question": "hostile", "verdict": "mislabeled", "note": " see\r\nit "},
    )
    assert reply.status_code == 303
    assert reply.headers["location"] == "/question?benchmark=planted&question=wrong+label"
    (line,) = review.file.read_text().splitlines()
    view = next(entry.view for entry in review.queue if entry.view.question == "hostile")
    assert msgspec.json.decode(line) == {
        "benchmark": "planted", "question": "hostile", "key": view.key, "verdict": "mislabeled", "note": "see\nit",
        "reviewer": "ada", "answer": "", "role": "review", "when": "2027-01-15T08:00:00.000000Z",
    }  # fmt: skip
    page = client.get("/question?benchmark=planted&question=hostile").text
    assert 'class="now" aria-pressed="true"><kbd>1</kbd> mislabeled' in page
    assert "ada" in page
    assert "see\nit</textarea>" in page


def test_undo_brings_back_what_was_there_before(client, review):
    def words():
        return [one.verdict for one in load(review.file).values()]

    for word in ("fine", "mislabeled"):
        post(client, "/verdict", HARD | {"verdict": word, "note": word})
    assert words() == ["mislabeled"]
    assert (
        post(client, "/undo", {"show": "all"}).headers["location"]
        == "/question?benchmark=planted&question=hard&show=all"
    )
    assert words() == ["fine"]
    assert "fine</textarea>" in client.get("/question", params=HARD).text
    post(client, "/undo", {})
    assert words() == []
    nothing = post(client, "/undo", {})
    assert nothing.status_code == 409
    assert "No verdict of this session is left to undo" in nothing.text
    assert len(review.file.read_text().splitlines()) == 4


def test_a_verdict_is_withdrawn_and_the_question_stays(client, review):
    post(client, "/verdict", HARD | {"verdict": "fine"})
    reply = post(client, "/verdict", HARD | {"verdict": "undone"})
    assert reply.headers["location"] == "/question?benchmark=planted&question=hard"
    assert load(review.file) == {}
    assert "has no verdict now" in client.get("/").text
    post(client, "/undo", {})
    assert [one.verdict for one in load(review.file).values()] == ["fine"]


def add_verdict(review, question, verdict, *, reviewer="grace", key=None, **fields):
    """Append a verdict of another reviewer to the file."""
    key = key or next(entry.view.key for entry in review.queue if entry.view.question == question)
    here = {"benchmark": "planted", "question": question, "reviewer": reviewer, "when": moment(0)}
    append(review.file, Verdict(key=key, verdict=verdict, **here | fields))


def test_verdicts_of_others_are_hidden(review):
    add_verdict(review, "hard", "ambiguous", note="both of them")
    add_verdict(review, "hostile", "mislabeled", answer="A")
    add_verdict(review, "hard", "mislabeled", key="other")
    client = visitor(review)
    page = client.get("/question", params=HARD).text
    assert not re.search("grace|both of them|aria-pressed|1970", page)
    queue = client.get("/").text
    assert "0 of 2 suspected label errors have your verdict" in queue
    assert not re.search("grace|state mislabeled", queue)
    add_verdict(review, "hard", "mislabeled", key="other", reviewer=review.reviewer)
    page = client.get("/question", params=HARD).text
    assert "The question had another text or target when it was called mislabeled on 1970-01-01" in page


def test_reviewers_have_queues_of_their_own_and_change_no_verdict_of_others(tmp_path, texts, review, client):
    post(client, "/verdict", HARD | {"verdict": "mislabeled", "answer": "b", "note": "it is two"})
    bob = visitor(session(tmp_path, texts, reviewer="bob"))
    assert "hard" in listed(bob.get("/?show=all").text)
    assert "it is two" not in bob.get("/question", params=HARD).text
    post(bob, "/verdict", HARD | {"verdict": "fine"})
    post(bob, "/undo", {})
    post(bob, "/verdict", HARD | {"verdict": "undone"})
    (decision,) = load(review.file).values()
    assert (decision.basis, decision.verdict, decision.answer) == ("one vote", "mislabeled", "B")
    assert 'class="now"' in client.get("/question", params=HARD).text
    post(bob, "/verdict", HARD | {"verdict": "unsure"})
    (decision,) = load(review.file).values()
    assert (decision.basis, decision.is_rejected) == ("one vote", True)


def test_the_place_in_the_queue_is_said(client):
    page = client.get("/question?benchmark=planted&question=wrong+label").text
    assert "question 2 of 2" in page
    assert "question 2 of 7" in client.get("/question?benchmark=planted&question=wrong+label&show=all").text
    assert " of 2<" not in client.get("/question", params=HARD).text  # it is not in this selection
    post(client, "/verdict", {"benchmark": "planted", "question": "hostile", "verdict": "fine"})
    assert "question 2 of 2" in client.get("/question?benchmark=planted&question=wrong+label").text


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"verdict": "fine", "answer": "A"}, "A right answer goes with the verdict mislabeled, not with fine"),
        ({"verdict": "mislabeled", "answer": "D"}, "one of A, B, C"),
        ({"verdict": "mislabeled", "answer": "AB"}, "one of A, B, C"),
        ({"verdict": "mislabeled", "answer": "c"}, "The right answer is the target"),
        ({"verdict": "mislabeled", "answer": HOSTILE}, "one of A, B, C"),
    ],
)
def test_a_right_answer_that_cannot_be_is_refused(client, review, fields, what):
    reply = post(client, "/verdict", HARD | fields)
    assert reply.status_code == 422
    assert what in reply.text
    assert not review.file.exists()


@pytest.mark.parametrize(
    ("choices", "target", "right", "wrong"),
    [
        (("Lima", "New  York", "Rome"), "Lima", {"New York": "New  York", "Rome": "Rome"}, ["B", "Oslo", "lima"]),
        (("Lima", "Oslo", "Rome"), "0", {"2": "2", "Rome": "Rome"}, ["B", "4", "London"]),
        (("4", "18", "20"), "18", {"20": "20", "4": "4"}, ["5", "B", "2"]),
        (("Lima", "Oslo", "Rome"), "Paris", {"Bonn": "Bonn"}, []),
    ],
)
def test_a_right_answer_names_a_choice_as_the_target_does(choices, target, right, wrong):
    view = QuestionView("b", "q", "key", "text", choices, target)
    assert {text: review_pages._parse_answer(text, "mislabeled", view) for text in right} == right
    for text in wrong:
        with pytest.raises(HTTPException, match="of one of its choices"):
            review_pages._parse_answer(text, "mislabeled", view)


def test_an_adjudication_shows_both_verdicts_and_takes_a_final_one(tmp_path, texts, review):
    add_verdict(review, "hard", "mislabeled", answer="B", note=HOSTILE)
    add_verdict(review, "hard", "fine", reviewer=f"b {HOSTILE}")
    add_verdict(review, "hostile", "mislabeled")
    add_verdict(review, "hostile", "mislabeled", reviewer="bob")
    chief = visitor(session(tmp_path, texts, reviewer="chief", adjudicates=True))
    queue = chief.get("/").text
    assert listed(queue) == ["hard"]
    assert "0 of 1 questions have a final verdict" in queue
    assert "bob and grace agree on 1.000 [0.207, 1.000] of 1 questions" in queue  # Wilson: 1/(1 + 1.96²)
    page = chief.get("/question", params=HARD).text
    assert 'grace</bdi>: <span class="state mislabeled">' in page
    assert "<img" not in page
    assert 'value="unsure"' not in page
    assert post(chief, "/verdict", HARD | {"verdict": "unsure"}).status_code == 422
    other = {"benchmark": "planted", "question": "hostile"}
    assert post(chief, "/verdict", other | {"verdict": "fine"}).status_code == 409
    assert chief.get("/question", params=other).status_code == 404
    assert post(chief, "/verdict", HARD | {"verdict": "mislabeled", "answer": "B"}).headers["location"] == "/?show=all"
    decision = next(one for one in load(review.file).values() if one.question == "hard")
    assert (decision.basis, decision.verdict, decision.answer) == ("adjudication", "mislabeled", "B")
    assert "All of them have a final verdict" in chief.get("/").text
    post(chief, "/undo", {})
    decision = next(one for one in load(review.file).values() if one.question == "hard")
    assert (decision.basis, decision.is_rejected) == ("disagreement", False)


def test_a_reference_solution_is_text_and_hidden_with_the_target(tmp_path):
    with RunFolder(tmp_path / "run") as run:
        run.put_prompts(
            [("planted", "hard", "v", [{"role": "user", "content": "?"}], "4", {"solution": f"2 + 2 {HOSTILE}"})]
        )
        run.append([row("hard", score=1.0, answer="4", completion="4", target="4")])
    texts = RunTexts([tmp_path / "run"])
    page = visitor(session(tmp_path, texts)).get("/question", params=HARD).text
    assert 'id="solution"' in page
    assert "2 + 2 &lt;/script&gt;" in page
    assert "<img" not in page
    blind = visitor(session(tmp_path, texts, blind=True))
    assert "2 + 2" not in blind.get("/question", params=HARD).text
    assert "2 + 2" in blind.get("/question", params=HARD | {"reveal": "1"}).text


def test_an_adjudication_without_differences_says_so(tmp_path, texts):
    chief = visitor(session(tmp_path, texts, reviewer="chief", adjudicates=True))
    assert "Reviewers differ on no question" in chief.get("/").text


def test_a_damaged_file_is_told_on_the_page(client, review):
    post(client, "/verdict", HARD | {"verdict": "fine"})
    with review.file.open("a") as file:
        file.write('{"torn')
    assert "line 2: 1 line is no verdict and is left out: the line is cut off" in client.get("/").text
    review.file.write_text("something else\n")
    reply = client.get("/")
    assert reply.status_code == 500
    assert "no line is a verdict" in reply.text


# theory: addresses


def test_a_choice_comes_back_out_of_its_address():
    choice = QueueFilter("all", "fine", "a&b", "x=y é")
    assert QueueFilter.of(dict(parse_qsl(choice.address("/").removeprefix("/?")))) == choice
    assert QueueFilter().address("/") == "/"


def test_the_colours_are_those_of_the_report():
    here = Path(howsure.__file__).parent
    ours, theirs = ((here / part).read_text() for part in ("web/static/review.css", "reporting/templates/page.css"))
    first = theirs[theirs.index(":root") : theirs.index("* {")]
    assert first in ours


def test_the_page_of_random_questions_says_when_its_share_holds(client):
    """A share is estimated on this page alone, and so the condition is said here alone."""
    at_random, others = client.get("/?show=random").text, client.get("/?show=all").text
    for words in ("fix before the first verdict", "<i>unsure</i> count as not wrong"):
        assert words in at_random
        assert words not in others
