"""The pages around a report: the index of a site, and the review app. Truths: Chromium, and axe-core."""

import os
import re
import subprocess

import pytest
from helpers.chromium_pages import HOSTILE, HOWSURE, planted_run, simulated
from helpers.chromium_window import mark_looks
from helpers.long_cases import mark_long

from howsure.reporting.report_data import ReportData
from howsure.reporting.site import write_report


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """A site of three benchmarks, one of which is no friend."""
    runs = [
        simulated(["large", "small", "medium"], 40, 4),
        simulated(["large", "small"], 30, 2, seed=2, benchmark="sums"),
        simulated(HOSTILE[:3], 12, 3, seed=3, benchmark="</title><script>window.planted = 1</script>"),
    ]
    return write_report(tmp_path_factory.mktemp("site") / "site", ReportData(runs))


@pytest.mark.parametrize("look", mark_looks())
def test_the_index_of_a_site(window, index, look):
    window.show(index.as_uri(), **look)
    assert window.complaints() == []
    assert window.probe("wide") == []
    assert window.value("typeof window.planted") == "undefined"
    assert window.axe() == []


def test_a_site_is_walked_by_its_links(window, index):
    window.show(index.as_uri())
    links = window.value("[...document.querySelectorAll('main a[href$=\".html\"]')].map(a => a.href)")
    assert len(set(links)) == 3
    assert all(link.startswith(index.parent.as_uri()) for link in links)
    for link in sorted(set(links)):
        window.show(link)
        assert window.probe("readThrough") == []
        assert window.complaints() == []
        assert window.value("typeof window.planted") == "undefined"
        assert index.as_uri() in window.value("[...document.querySelectorAll('a')].map(a => a.href)")


@pytest.fixture(scope="module")
def review(tmp_path_factory):
    """Address of a review, as the command prints it; its questions, choices and completions carry scripts."""
    pytest.importorskip("uvicorn", reason="the review is an extra")
    run = tmp_path_factory.mktemp("review")
    planted_run(run / "run")
    command = ["review", run / "run", "--verdicts", run / "verdicts.jsonl", "--port", "0", "--no-browser"]
    how = {"stdout": subprocess.PIPE, "text": True, "env": os.environ | {"PYTHONUNBUFFERED": "1"}}
    with subprocess.Popen([*HOWSURE, *command], **how) as served:
        yield next(found[0] for line in served.stdout if (found := re.search(r"http://\S+", line)))
        served.terminate()
        served.stdout.read()


@pytest.mark.parametrize("look", mark_looks())
@pytest.mark.parametrize("question", mark_long([None, "hostile", "wrong label", "hard"], after=2))
def test_the_pages_of_the_review(window, review, look, question):
    window.show(review, network=True, **look)
    if question:
        window.show(review.split("?")[0] + f"question?benchmark=planted&question={question}", network=True, **look)
    asked = [e["params"]["request"]["url"] for e in window.events if e["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith((review.split("?")[0], "data:"))] == []
    assert [text for text in window.complaints() if not text.startswith("request to")] == []
    assert window.value("document.title").endswith("howsure review")  # planted scripts would call it otherwise
    assert window.value("[...document.images].length + document.querySelectorAll('main script').length") == 0
    assert window.probe("wide") == []
    window.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert window.axe() == []
