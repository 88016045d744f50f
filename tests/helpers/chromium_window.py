"""One headless Chromium for all tests in `browser/`, and the pages it is shown; a plugin of the tests."""

import asyncio
from pathlib import Path

import pytest
from helpers.chromium_pages import PAGES
from helpers.repository_modules import module

ROOT = Path(__file__).resolve().parents[2]
#: Where `.ci/run` has npm put it: npm install --prefix .venv/npm axe-core
AXE = ROOT / ".venv/npm/node_modules/axe-core/axe.min.js"

#: Pages with the most dangerous elements, and with the most kinds of them. A test shows the first that it has every day;
#: the others are shown by `make test-all`.
EVERYDAY = ("hostile", "prompts")
LOOKS = {"light": {}, "dark": {"dark": True}, "phone": {"width": 390, "height": 844}}


def mark_pages(names):
    """Parameters of tests: the names of pages, marked long where they are not shown every day."""
    everyday = next((name for name in EVERYDAY if name in names), None)
    kinds = {name: (pytest.mark.long,) for name in names if name != everyday}
    if "math500" in kinds:
        kinds["math500"] += (pytest.mark.shared,)
    return [pytest.param(name, marks=kinds.get(name, ())) for name in names]


def mark_looks():
    """Parameters of tests: how a page is shown; in light every day."""
    return [
        pytest.param(look, id=name, marks=() if name == "light" else pytest.mark.long) for name, look in LOOKS.items()
    ]


class Window:
    """A tab that is asked without waiting, and the page it shows."""

    def __init__(self, runner, tab):
        self.tab, self._runner = tab, runner
        self._read, self._missing = None, []
        #: How far things moved while the page was read: the value of each shift, and what moved.
        self.shifts = []

    def __getattr__(self, name):
        asked = getattr(self.tab, name)
        return (lambda *a, **b: self._runner.run(asked(*a, **b))) if asyncio.iscoroutinefunction(asked) else asked

    def show(self, url, *, network=False, **look):
        """Open a page, without a network unless it is served, and have the probes at hand."""
        self._read = None
        self.use_network(network=network)
        self.open(url, **look)
        self.value((ROOT / "tests/browser/probes.js").read_text(encoding="utf-8"))

    def use_network(self, *, network):
        """Give the tab a network, or take it away."""
        self.call("Network.enable")
        as_it_is = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.call("Network.emulateNetworkConditions", offline=not network, **as_it_is)

    def read(self, url, **look):
        """Show a page and scroll through it, unless it is what was read last; figures that are not drawn."""
        if self._read != (url, look):
            self.show(url, **look)
            self._missing = self.probe("readThrough")
            self.shifts = self.probe("shift")  # before a test opens details or changes the width
            self._read = (url, look)
        self.look(**look)
        return self._missing

    def probe(self, name):
        return self.value(f"probes.{name}()")

    def axe(self, *, only=None):
        """Serious and critical findings of axe-core, a line each."""
        if not AXE.exists():
            pytest.skip("axe-core is not installed: npm install --prefix .venv/npm axe-core")
        if not self.value("!!window.axe"):
            self.value(AXE.read_text(encoding="utf-8") + "; 0")
        asked = {"resultTypes": ["violations"]} | ({"runOnly": only} if only else {})
        return self.value(_FINDINGS.replace("ASKED", str(asked).replace("None", "null")))


_FINDINGS = """axe.run(document, ASKED).then(({ violations }) => violations
  .filter(({ impact }) => impact === "serious" || impact === "critical")
  .flatMap(({ id, nodes }) => nodes.slice(0, 5).map((n) => `${id}: ${n.target.join(" ")}: ${n.failureSummary.replaceAll("\\n", " ")}`)))
"""


@pytest.fixture(scope="session")
def window():
    picture = module(ROOT / "docs" / "picture.py")
    if picture.chromium() is None:
        pytest.skip("chromium is not installed")
    with asyncio.Runner() as runner:
        browser = picture.browser()
        tab = runner.run(browser.__aenter__())
        yield Window(runner, tab)
        runner.run(browser.__aexit__(None, None, None))


@pytest.fixture(scope="session", params=mark_pages(PAGES))
def made(request, tmp_path_factory):
    """Address of a page of each data set, or of those that a test names: `parametrize("made", [...], indirect=True)`."""
    path = tmp_path_factory.mktemp(request.param) / "report.html"
    path.write_text(PAGES[request.param](), encoding="utf-8")
    return path.as_uri()
