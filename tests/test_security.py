"""What a file, a server's visitor or a model must not bring about, each tried.

Kinds of truth: a guarantee, shown by trying: planted formulas and escapes are searched for in what is printed and
written, archives are built here to expand beyond any bound, and both web servers are asked by strangers.
"""

from __future__ import annotations

import csv
import gzip
import http.client
import io
import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from helpers.planted_review import folder, session
from helpers.servers import LONG

import howsure as hs
from howsure.errors import InputError
from howsure.logs.inspect.zip_file import ZipArchive
from howsure.review.queue import RunTexts
from howsure.rows import formats
from howsure.rows.formats import open_unpacked
from howsure.store.responses import RunFolder, read
from howsure.store.schema import Response
from howsure.web.live_page import LivePage, create_live_app
from howsure.web.review_pages import create_review_app
from howsure.web.server import bind_port, serve_in_thread

ROOT = Path(__file__).resolve().parents[1]
TOKEN = "planted-token-0123456789"
ESCAPES = "\x1b]0;title\x07\x1b[2J\x9b31m\r\u202e"


# archives


def bomb(path, megabytes):
    """A gzip file of this many megabytes of one line, which expands a thousandfold."""
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(megabytes):
            file.write(b'{"model": "m"}\n' + b" " * ((1 << 20) - 15))
    return path


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz", "log.json.gz"])
def test_an_archive_that_expands_like_no_results_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(formats, "FREE_EXPANSION", 1 << 20)
    path = bomb(tmp_path / name, 24)
    assert path.stat().st_size < 30_000
    with pytest.raises(InputError, match="expands to more than 200 times its size|no reader recognises"):
        hs.score(path)
    with pytest.raises(OSError, match="expands to more than 200 times"), open_unpacked(path) as file:
        file.read()


def test_results_that_compress_well_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "FREE_EXPANSION", 1 << 12)
    lines = "".join(f"m,q{i},{i % 2}\n" for i in range(20_000))
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("model,question,score\n" + lines)
    assert hs.score(tmp_path / "t.csv.gz")["n_questions"].tolist() == [20_000]


def test_a_member_of_a_log_that_expands_like_no_results_is_refused(tmp_path):
    with (
        zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as file,
        file.open("header.json", "w") as one,
    ):
        for _ in range(300):
            one.write(b" " * (1 << 20))
    with ZipArchive(tmp_path / "log.eval") as archive, pytest.raises(InputError, match="more than 200 times its size"):
        archive.read("header.json")


# what reaches a terminal or a spreadsheet


@pytest.fixture
def planted(tmp_path):
    """A table whose names would be run by a spreadsheet or obeyed by a terminal."""
    models = ["=cmd|' /C calc'!A0", "@SUM(1+1)", "+1+cmd", "-2+3+cmd", f"a{ESCAPES}b", "new\nline", "plain"]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "question", "benchmark", "score"])
        for i, model in enumerate(models):
            writer.writerows([model, f"q{q}", f"b{ESCAPES}", (q + i) % 2] for q in range(6))
    return path


COMMANDS = [["score"], ["compare"], ["rank"], ["variants"], ["audit"], ["compare", "--a", "plain", "--b", "new\nline"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one[0])
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_names_of_a_table_steer_no_terminal_and_run_in_no_spreadsheet(howsure, planted, command, form):
    _, out, err = howsure(*command, planted, "--format", form)
    for text in (out, err):
        assert all(c.isprintable() or c == "\n" for c in text)
    if form == "csv" and out:
        for row in csv.reader(io.StringIO(out)):
            for cell in row:
                is_number = cell[:1] == "-" and cell[1:2].isdigit() and not cell.endswith("cmd")
                assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")) or is_number


@pytest.mark.parametrize("what", ["header", "path", "key", "model", "manifest"])
def test_messages_steer_no_terminal(howsure, tmp_path, what):
    path = tmp_path / "t.csv"
    path.write_text("model,question,score\nm,q,1\n")
    arguments = ["score", path]
    if what == "header":
        path.write_text(f"model,question,sc{ESCAPES}ore\nm,q,1\n")
    elif what == "path":
        arguments = ["score", tmp_path / f"no{ESCAPES}file.csv"]
    elif what == "key":
        (tmp_path / "e.yaml").write_text(json.dumps({"benchmark": "directions", "models": ["x"], f"k{ESCAPES}": 1}))
        arguments = ["run", tmp_path / "e.yaml"]
    elif what == "model":
        arguments = ["compare", path, "--a", f"no{ESCAPES}", "--b", "m"]
    else:
        with RunFolder(tmp_path / "run") as run:
            run.append([Response("b", f"m{ESCAPES}", f"q{i}", "v", 1, score=i % 2) for i in range(4)])
        (tmp_path / "run/manifest.json").write_text(json.dumps({"warnings": [f"beware {ESCAPES}"]}))
        arguments = ["score", tmp_path / "run"]
    _, out, err = howsure(*arguments)
    assert out + err
    for text in (out, err):
        assert all(c.isprintable() or c == "\n" for c in text)


# the run folder


def test_a_run_folder_is_its_owners_alone(tmp_path):
    before = os.umask(0o022)
    try:
        with RunFolder(tmp_path / "run") as run:
            run.append([Response("b", "m", "q", "v", 1, score=1.0)])
            run.compact()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700
    (tmp_path / "run").chmod(0o750)  # shared on purpose
    with RunFolder(tmp_path / "run"):
        pass
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o750
    assert read(tmp_path / "run", ["score"])["score"].to_pylist() == [1.0]


# the web servers


@pytest.fixture(params=["review", "live"])
def address(request, tmp_path):
    """Port of one of the two applications, served for the test."""
    with bind_port(0, remedy="") as bound:
        port = bound.getsockname()[1]
        if request.param == "review":
            app = create_review_app(session(tmp_path, RunTexts([folder(tmp_path / "run")])), port=port, token=TOKEN)
        else:
            app = create_live_app(LivePage(tmp_path, str, None), port=port, token=TOKEN)
        with serve_in_thread(app, bound):
            yield port


def ask(port, path="/", *, method="GET", headers=()):
    """Status and headers of a reply to exactly these headers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        reply = connection.getresponse()
        reply.read()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}
    finally:
        connection.close()


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"])
def test_both_servers_answer_their_own_page_only(address, method):
    own, path = ("Host", f"127.0.0.1:{address}"), f"/?token={TOKEN}"
    strangers = [
        [("Host", "evil.example")],
        [("Host", f"evil.example:{address}")],
        [("Host", "127.0.0.1")],
        [("Host", f"127.0.0.1:{address}.evil.example")],
        [("Host", f"0.0.0.0:{address}")],
        [own, ("Host", "evil.example")],
        [own, ("Origin", "https://evil.example")],
        [own, ("Origin", "null")],
        [own, ("Origin", f"http://127.0.0.1:{address + 1}")],
        [own, ("Origin", f"http://127.0.0.1:{address}"), ("Origin", "http://evil.example")],
    ]
    for headers in strangers:
        status, got = ask(address, path, method=method, headers=headers)
        assert status in {400, 403, 421}, headers
        assert "set-cookie" not in got
    for wrong in ("/", "/?token=", "/?token=planted", "/state", "/page"):
        assert ask(address, wrong, method=method, headers=[own])[0] == 403
    status, got = ask(address, path, headers=[own])
    assert status == 303
    assert TOKEN not in str(got)
    assert "HttpOnly" in got["set-cookie"]
    assert "SameSite=strict" in got["set-cookie"]


def test_no_token_is_in_a_log(tmp_path):
    """Also with every logger of the process at its most talkative, and after requests that fail."""
    code = f"""
import http.client, logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
from pathlib import Path
from howsure.web.live_page import LivePage, create_live_app
from howsure.web.server import bind_port, serve_in_thread
with bind_port(0, remedy="") as bound:
    port = bound.getsockname()[1]
    with serve_in_thread(create_live_app(LivePage(Path({str(tmp_path)!r}), str, None), port=port, token={TOKEN!r}), bound):
        for path in ("/?token={TOKEN}", "/nowhere?token={TOKEN}", "/state?token={TOKEN}"):
            for host in (f"127.0.0.1:{{port}}", "evil"):
                connection = http.client.HTTPConnection("127.0.0.1", port)
                connection.request("GET", path, headers={{"Host": host}})
                connection.getresponse().read()
                connection.close()
"""
    environ = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONASYNCIODEBUG": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert TOKEN not in done.stdout + done.stderr
    assert "planted" not in done.stdout + done.stderr
