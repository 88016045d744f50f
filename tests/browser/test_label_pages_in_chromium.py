"""The pages on which a person labels judged completions, by the keyboard and read by axe-core. Truth: Chromium."""

import os
import re
import subprocess

import pytest
from helpers.chromium_pages import HOWSURE
from helpers.chromium_window import mark_looks
from helpers.judged_runs import write_judged_run

from howsure.judging.random_labels import read_labels
from howsure.store.responses import RunFolder

#: A completion and a question that try to be more than text, and are long.
SCRIPT = "</pre><script>document.title = 'owned'; window.planted = 1</script><img src=x onerror='window.planted = 2'>"


@pytest.fixture
def labelling(tmp_path):
    """Address of a labelling session, as the command prints it, and its file of labels."""
    pytest.importorskip("uvicorn", reason="the review is an extra")
    run = write_judged_run(tmp_path / "run", n_questions=3, generations=1, wrong={"m": 1, "n": 2})
    with RunFolder(run) as folder:
        long = [{"role": "user", "content": f"{SCRIPT} {'word ' * 300}{'x' * 300}"}]
        folder.put_prompts([("facts", "q0", "default", long, SCRIPT, None)])
    file = tmp_path / "labels.jsonl"
    command = ["review", run, "--random", "6", "--verdicts", file, "--reviewer", "ann", "--port", "0", "--no-browser"]
    how = {"stdout": subprocess.PIPE, "text": True, "env": os.environ | {"PYTHONUNBUFFERED": "1"}}
    with subprocess.Popen([*HOWSURE, *command], **how) as served:
        yield next(match[0] for line in served.stdout if (match := re.search(r"http://\S+", line))), file
        served.terminate()
        served.stdout.read()


def press(window, key):
    """Press a key that stands on the page, and wait for the next page."""
    window.value("document.body.dataset.old = '1'; 0")
    window.press(key, code=ord(key.upper()), text=key)
    window.wait_for("document.readyState === 'complete' && document.body && !document.body.dataset.old")


def test_labels_are_given_and_taken_back_by_keys(window, labelling):
    address, file = labelling
    window.show(address, network=True)
    assert window.value("document.querySelector('h1').innerText") == "Completion 1"
    for key in "121212":
        press(window, key)
    assert window.value("document.querySelector('h1').innerText") == "All completions have your label"
    labels = read_labels(file)
    assert sorted(one.verdict for one in labels.labels.values()) == ["CORRECT"] * 3 + ["INCORRECT"] * 3
    assert {one.reviewer for one in labels.labels.values()} == {"ann"}
    press(window, "k")
    assert window.value("document.querySelector('h1').innerText") == "Completion 6"
    assert window.value("document.querySelector('[aria-pressed=true]').value") == "INCORRECT"
    press(window, "0")
    assert len(read_labels(file).labels) == 5
    press(window, "1")
    assert sorted(one.verdict for one in read_labels(file).labels.values()).count("CORRECT") == 4


@pytest.mark.long
@pytest.mark.parametrize("look", mark_looks())
def test_the_pages_can_be_read_by_everyone(window, labelling, look):
    address, _ = labelling
    window.show(address, network=True, **look)
    home = address.split("?")[0]
    n_hostile = 0
    for place in ("?n=1", "?n=2", "?n=3", "?n=4", "?n=5", "?n=6", "?n=7"):
        window.show(home + place, network=True, **look)
        n_hostile += window.value("document.body.innerText.includes('owned')")
        assert window.value("document.title").endswith("howsure review")
        assert window.value("typeof window.planted") == "undefined"
        assert window.value("[...document.images].length + document.querySelectorAll('main script').length") == 0
        assert window.probe("wide") == []
        assert window.axe() == []
    assert n_hostile  # the planted question was on a page
    requests = [e["params"]["request"]["url"] for e in window.events if e["method"] == "Network.requestWillBeSent"]
    assert [url for url in requests if not url.startswith((home, "data:"))] == []
