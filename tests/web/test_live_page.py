"""The page of a run in progress: when it is made, who may see it, and that a browser keeps its place."""

import asyncio
import base64
import hashlib
import http.client
import importlib.util
import json
import re
import socket
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from helpers.servers import LONG, until

from howsure.errors import InputError
from howsure.notes import Note
from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData
from howsure.stats.core.cells import Cells
from howsure.web.live_page import LivePage, serve_live_page

ROOT = Path(__file__).resolve().parents[2]


class Here:
    """Calls at once, where it is."""

    def submit(self, call):
        done = Future()
        try:
            done.set_result(call())
        except Exception as error:  # noqa: BLE001  as executors do
            done.set_exception(error)
        return done

    def shutdown(self, **_):
        pass


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def get(url, path="", *, method="GET", host=None, access=True):
    """Status, headers and body of a path of the application, with or without the cookie of its address."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=LONG)
    try:
        headers = {} if host is None else {"Host": host}
        if access:
            connection.request("GET", f"/?{parts.query}")
            reply = connection.getresponse()
            reply.read()
            headers["Cookie"] = reply.getheader("Set-Cookie", "").partition(";")[0]
        connection.request(method, f"/{path}", headers=headers)
        reply = connection.getresponse()
        return reply.status, {name.title(): value for name, value in reply.getheaders()}, reply.read()
    finally:
        connection.close()


def has_a_page(url):
    return json.loads(get(url, "state")[2])["number"] > 0


def test_a_page_is_made_when_files_change_and_not_otherwise(tmp_path):
    made, clock = [], Clock()

    def build():
        clock.now += 3
        made.append(len(made))
        return f"page {len(made)}"

    live = LivePage(tmp_path / "run", build, Here(), clock=clock)
    assert live.update() == 0  # no folder yet
    assert (live.number, live.message, made) == (0, "Waiting for the first answers.", [])
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "responses.sqlite").write_text("1")
    assert live.update() == 3
    assert live.update() == 0
    (tmp_path / "run" / "responses.sqlite-shm").write_text("read")  # readers touch it
    assert live.update() == 0
    assert (live.number, live.message, live.html) == (1, "", "page 1")
    (tmp_path / "run" / "responses.sqlite-wal").write_text("2")
    live.finish()
    assert (live.number, live.is_over, live.html) == (2, True, "page 2")


def test_what_befalls_the_page_is_told_and_the_last_one_stays(tmp_path):
    (tmp_path / "rows").write_text("1")
    wrong = [InputError("nothing yet"), None, MemoryError("full"), None]

    def build():
        if (error := wrong.pop(0)) is not None:
            raise error
        return "made"

    live = LivePage(tmp_path, build, Here())
    live.update()
    assert (live.number, live.message) == (0, "nothing yet")
    for turn, (number, told) in enumerate([(1, ""), (1, "This page could not be built: MemoryError: full"), (2, "")]):
        (tmp_path / "rows").write_text("more" * (turn + 1))
        live.update()
        assert (live.number, live.message, live.html) == (number, told, "made")


def test_a_browser_is_waited_for_until_it_has_the_last_page(tmp_path):
    clock = Clock()
    live = LivePage(tmp_path, str, Here(), clock=clock)
    assert not live.is_watched
    assert live.get_state() == {"number": 0, "message": "Waiting for the first answers.", "over": False}
    assert live.is_watched
    clock.now = 6.9
    assert live.is_watched
    clock.now = 7.1
    assert not live.is_watched
    live.get_page()
    assert not live.last_page_sent.is_set()
    live.finish()
    live.get_state()  # there is no page to wait for
    assert live.last_page_sent.is_set()
    (tmp_path / "rows").write_text("1")
    other = LivePage(tmp_path, str, Here())
    other.finish()
    other.get_state()
    assert not other.last_page_sent.is_set()
    other.get_page()
    assert other.last_page_sent.is_set()


@pytest.fixture
def served(tmp_path):
    (tmp_path / "rows").write_text("1")
    with serve_live_page(tmp_path, lambda: "<p>the page", every=0.01, linger=0, executor=Here()) as url:
        until(lambda: has_a_page(url))
        yield url


def test_frame_state_and_page_are_served_with_their_policies(served):
    status, headers, body = get(served)
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", body.decode(), flags=re.DOTALL)
        assert f"{tag}-src 'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    assert json.loads(get(served, "state")[2]) == {"number": 1, "message": "", "over": False}
    status, headers, body = get(served, "page?1")
    assert (status, body) == (200, b"<p>the page")
    assert headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "SAMEORIGIN"
    assert "Server" not in headers


def test_only_who_has_the_address_is_answered(served):
    parts = urlsplit(served)
    for path in ("", "state", "page", "wrong/state", "%ff%00/state", "/"):
        assert get(served, path, access=False)[0] == 403
    assert get(f"http://{parts.netloc}/?token=wrong", "state")[0] == 403
    for path in ("other", "page/x", "../../x"):
        assert get(served, path)[0] == 404
    for host in ("evil.example", "127.0.0.1", f"evil.example:{parts.port}", "127.0.0.1:1"):
        assert get(served, host=host)[0] == 421
    assert get(served, host=f"localhost:{parts.port}")[0] == 200
    for method in ("POST", "PUT", "DELETE"):
        assert get(served, method=method)[0] == 403
    with socket.create_connection((parts.hostname, parts.port)) as talk:  # HTTP/1.0 has no Host
        talk.sendall(b"GET /state HTTP/1.0\r\n\r\n")
        assert b" 421 " in talk.recv(100)
    with socket.create_connection((parts.hostname, parts.port)) as talk:
        talk.sendall(f"GET /é/state HTTP/1.0\r\nHost: {parts.netloc}\r\n\r\n".encode())
        assert b" 40" in talk.recv(100)
    with socket.create_connection((parts.hostname, parts.port)):
        pass  # and goes away without a word
    assert get(served)[0] == 200


def test_a_port_that_is_taken_is_told(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        with (
            pytest.raises(InputError, match=f"--live: port {number}: "),
            serve_live_page(tmp_path, str, port=number, executor=Here()),
        ):
            pass
    with pytest.raises(InputError, match="port 70000"), serve_live_page(tmp_path, str, port=70_000, executor=Here()):
        pass


def test_the_last_page_is_made_when_somebody_watches(tmp_path):
    (tmp_path / "rows").write_text("1")
    pages = []
    with serve_live_page(tmp_path, lambda: pages.append(1) or "x", every=1000, linger=0.01, executor=Here()) as url:
        until(lambda: has_a_page(url))
        (tmp_path / "rows").write_text("22")
    assert len(pages) == 2
    with pytest.raises(ConnectionRefusedError):
        get(url)


def test_a_run_that_fails_ends_the_page_at_once(tmp_path):
    def failing_run():
        with serve_live_page(tmp_path, str, executor=Here()) as url:
            asked.append(url)
            get(url, "state")
            raise KeyError("run")

    asked = []
    with pytest.raises(KeyError, match="run"):
        failing_run()
    with pytest.raises(ConnectionRefusedError):
        get(asked[0])


def test_pages_are_made_by_another_process_that_ends_with_it(tmp_path):
    (tmp_path / "rows").write_text("1")
    with serve_live_page(tmp_path, sys.getdefaultencoding, every=0.05, linger=0) as url:
        until(lambda: has_a_page(url))
        assert get(url, "page")[2] == b"utf-8"


@pytest.mark.long
def test_a_browser_keeps_its_place_when_the_page_changes(tmp_path):
    location = importlib.util.spec_from_file_location("picture", ROOT / "docs" / "picture.py")
    picture = importlib.util.module_from_spec(location)
    location.loader.exec_module(picture)
    if picture.chromium() is None:
        pytest.skip("chromium is not installed")
    # it may ask this machine, by number, and nobody else
    picture._FLAGS = [f"{flag}, EXCLUDE 127.0.0.1" if "resolver" in flag else flag for flag in picture._FLAGS]
    rng, turn = np.random.default_rng(1), []

    def build():
        turn.append(1)
        n = np.full((3, 40), 5 + len(turn))
        total = rng.binomial(n, 0.6).astype(float)
        cells = Cells("b", ("a", "<b>", "c"), tuple(map(str, range(40))), n, total, total.copy())
        return build_page(ReportData([cells], source_notes=[Note("no-samples")] * len(turn))).html

    async def look(url):
        async with picture.browser() as tab:
            frame, figure = "document.querySelector('iframe:not(.next)')", "contentDocument.getElementById('b1-noise')"
            await tab.call("Page.enable")
            await tab.call("Runtime.enable")
            await tab.call("Log.enable")
            await tab.call("Page.navigate", url=url)
            await tab.wait_for("document.getElementById('status').textContent.includes('Waiting')")
            (tmp_path / "rows").write_text("1")
            await tab.wait_for(f"{frame}?.{figure}")
            await tab.value(f"{frame}.{figure}.querySelector('details').open = true")
            await tab.value(f"{frame}.{figure}.scrollIntoView()")
            await tab.wait_for(f"{frame}.{figure}.querySelector('.drawing > *')")
            place, before = f"{frame}.{figure}.getBoundingClientRect().top", None
            while (now := await tab.value(place)) != before:  # figures above it are still drawn
                before = now
                await asyncio.sleep(0.3)
            first = await tab.value(f"{frame}.src")
            (tmp_path / "rows").write_text("22")
            await tab.wait_for(f"{frame}.src !== {first!r}")
            after, open_ = await tab.value(place), await tab.value(f"{frame}.{figure}.querySelector('details').open")
            return before, after, open_, await tab.value("document.title"), tab.complaints()

    with ThreadPoolExecutor(1) as worker, serve_live_page(tmp_path, build, every=0.1, linger=0, executor=worker) as url:
        before, after, is_open, title, complaints = asyncio.run(look(url))
    assert complaints == []
    assert after == pytest.approx(before, abs=3)
    assert is_open
    assert title == "Live: b – howsure"
