"""`howsure review` as a person meets it: in a browser, by the keyboard; and how it starts and ends."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from helpers.planted_review import TOKEN, folder, session

import howsure.web
from howsure.errors import InputError
from howsure.review.queue import RunTexts
from howsure.review.verdicts import load
from howsure.web import form_pages, review_pages
from howsure.web.review_pages import create_review_app

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def served(review):
    """Address of a review that is served meanwhile."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        app = create_review_app(review, port=port, token=TOKEN)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def picture(monkeypatch):
    location = importlib.util.spec_from_file_location("picture", ROOT / "docs" / "picture.py")
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    if module.chromium() is None:
        pytest.skip("chromium is not installed")
    # It may talk to this machine, and to nobody else.
    monkeypatch.setattr(
        module, "_FLAGS", [*module._FLAGS[:-1], "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    )
    return module


class Keyboard:
    """A tab that is operated by keys."""

    def __init__(self, tab, home):
        self.tab, self.home = tab, home

    async def open(self, path, *, width=1280):
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.tab.call(f"{domain}.enable")
        await self.tab.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        await self.tab.call("Page.navigate", url=self.home + path)
        await self.tab.wait_for("document.readyState === 'complete' && document.querySelector('main')")

    async def press(self, key, until):
        named = {"Tab": ("\t", 9), "Escape": ("\x1b", 27), "Enter": ("\r", 13)}
        text, code = named.get(key, (key, ord(key[0].upper())))
        await self.tab.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
        await self.tab.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        await self.tab.wait_for(f"document.readyState === 'complete' && ({until})")

    async def write(self, text):
        await self.tab.call("Input.insertText", text=text)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    return RunTexts([folder(tmp_path_factory.mktemp("planted") / "run")])


def at(question):
    return f"[...document.querySelectorAll('h1, #name')].some((one) => one.innerText === '{question}')"


# the way through, by keys alone


def test_a_review_by_the_keyboard(tmp_path, texts, picture):
    review = session(tmp_path, texts, blind=True)

    def words():
        return {one.question: (one.verdict, one.note) for one in load(review.file).values()}

    async def work(home):
        async with picture.browser() as tab:
            keys = Keyboard(tab, home)
            await keys.open(f"/?token={TOKEN}")
            assert await tab.value("location.href") == f"{home}/"  # the token stays in no history
            await keys.press("j", at("hostile"))
            await keys.press("t", "document.getElementById('target')")
            await keys.press("n", "document.activeElement.id === 'note'")
            await keys.write("1 2 3 u")  # keys in a note are text
            await keys.press("Escape", "document.activeElement.id !== 'note'")
            await keys.press("2", at("wrong label"))
            assert words() == {"hostile": ("ambiguous", "1 2 3 u")}
            await keys.press("u", at("hostile"))
            assert words() == {}
            await keys.press("1", at("wrong label"))
            await keys.press("3", at("Questions to look at"))
            assert words() == {"hostile": ("mislabeled", ""), "wrong label": ("fine", "")}
            await keys.open("/question?benchmark=planted&question=hostile&state=any")
            await keys.press("j", at("wrong label"))
            await keys.press("k", at("hostile"))
            await keys.press("0", "document.querySelector('header').innerText.includes('has no verdict now')")
            assert set(words()) == {"wrong label"}
            await keys.press("q", at("Questions to look at"))
            # Single keys may be switched off, and stay so.
            await tab.value("document.getElementById('keys').click()")
            await keys.open("/question?benchmark=planted&question=hostile")
            await keys.press("3", "!document.getElementById('keys').checked")
            assert set(words()) == {"wrong label"}
            # The first stop is the skip link, and focus can be seen.
            await keys.press("Tab", "document.activeElement.className === 'skip'")
            assert await tab.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            assert await tab.value("document.activeElement.getBoundingClientRect().left >= 0")
            return [told for told in tab.complaints() if not told.startswith(f"request to {home}/")]

    with served(review) as home:
        assert asyncio.run(work(home)) == []


def test_hostile_text_does_nothing_and_390_pixels_are_enough(tmp_path, texts, picture):
    async def look(home):
        async with picture.browser() as tab:
            keys = Keyboard(tab, home)
            await keys.open(f"/?token={TOKEN}", width=390)
            widths = []
            for path in (
                "/?show=all&state=any",
                "/question?benchmark=planted&question=hostile",
                "/question?benchmark=planted&question=hard",
            ):
                await keys.open(path, width=390)
                widths.append(await tab.value("document.documentElement.scrollWidth"))
                assert "owned" not in await tab.value("document.title")
                assert await tab.value("document.querySelectorAll('img, script:not([src])').length") == 0
            return widths, [told for told in tab.complaints() if not told.startswith(f"request to {home}/")]

    with served(session(tmp_path, texts)) as home:
        widths, complaints = asyncio.run(look(home))
    assert max(widths) <= 390
    assert complaints == []


# how it starts and ends


def test_it_tells_its_address_and_ends_with_ctrl_c(tmp_path):
    folder(tmp_path / "run")
    code = (
        "import sys; from pathlib import Path; from howsure.web.review_pages import serve_review\n"
        "serve_review([sys.argv[1]], verdicts=Path(sys.argv[2]), port=0, open_browser=False, write_line=lambda line: print(line, flush=True))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "run"), str(tmp_path / "v.jsonl")]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        first, second = process.stdout.readline(), process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=120)
    assert first == f"2 suspected label errors among 7 questions; verdicts go to {tmp_path / 'v.jsonl'}\n"
    assert second.startswith("open http://127.0.0.1:")
    assert "?token=" in second
    assert errors == ""
    assert rest == "ended; every verdict is stored\n"
    assert process.returncode == 0


def test_the_browser_is_opened_at_a_private_page_that_leads_to_the_address(tmp_path, texts, monkeypatch):
    """Every user of the machine reads the command line of the browser, which therefore must not have the token."""
    opened, pages, modes, told = [], [], [], []
    has_opened = threading.Event()

    def open_slowly(url):
        opened.append(url)
        path = Path(url.removeprefix("file://"))
        pages.append(path.read_text())
        modes.extend(one.stat().st_mode & 0o777 for one in (path, path.parent))
        has_opened.set()
        threading.Event().wait(60)  # a browser on the terminal returns when it is closed; nobody waits for it

    monkeypatch.setattr("webbrowser.open", open_slowly)

    async def listening(_, sockets):
        assert sockets[0].getsockname()[0] == "127.0.0.1"
        assert not told  # nobody hears of an address before it answers

    def interrupted(server, sockets):
        asyncio.run(server.startup(sockets))
        assert has_opened.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "startup", listening)
    monkeypatch.setattr(uvicorn.Server, "run", interrupted)
    review_pages.serve_review(texts.folders, verdicts=tmp_path / "v.jsonl", port=0, write_line=told.append)
    address = re.search(r"http://127[^ ]*", told[1])[0]
    assert address in pages[0]
    assert "token" not in opened[0]
    assert modes == [0o600, 0o700]
    assert not Path(opened[0].removeprefix("file://")).exists()
    assert told[-1] == "ended; every verdict is stored"


def test_the_private_page_leads_a_browser_into_the_review(tmp_path, texts, window):
    """From a file a browser sends no strict cookie with a redirect, which a person would meet as a refusal."""
    with served(session(tmp_path, texts)) as address:
        page = form_pages._write_redirect(tmp_path, f"{address}/?token={TOKEN}")
        window.use_network(network=True)  # another test may have left the tab without one
        window.open(page.as_uri())
        window.wait_for(f"location.href === '{address}/'")
        window.wait_for("document.body.innerText.includes('wrong label')")


def test_a_port_that_is_taken_is_one_line(tmp_path, texts):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}: Address already in use; name another with --port"):
            review_pages.serve_review(texts.folders, verdicts=tmp_path / "v.jsonl", port=port, open_browser=False)
    with pytest.raises(InputError, match="port 99999: "):
        review_pages.serve_review(texts.folders, verdicts=tmp_path / "v.jsonl", port=99999, open_browser=False)


def test_a_missing_extra_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(InputError, match=r"the review or the live page needs uvicorn; pip install 'howsure\[web\]'"):
        importlib.reload(howsure.web)


def test_a_user_without_a_name_signs_with_none(monkeypatch):
    def nobody():
        raise KeyError

    monkeypatch.setattr("getpass.getuser", nobody)
    assert form_pages.get_user() == ""
