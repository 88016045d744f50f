"""The documentation site from a disk, without a network. Truth: Chromium, and the strict build of MkDocs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site; a dead link or anchor, or a page outside the navigation, ends the build."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("a site")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_pages_fetch_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>]*>", text)
        fetched += [tag for tag in re.findall(r"<link\b[^>]*>", text) if re.search(r"href=[\"']?(?:https?:)?//", tag)]
        assert fetched == [], page.name


def test_search_finds_pages_without_a_server(site, window):
    window.show((site / "index.html").as_uri())
    window.call("Emulation.setFocusEmulationEnabled", enabled=True)  # the search begins when its field has the focus
    window.value(
        "(() => { const field = document.querySelector('.md-search__input'); field.focus(); field.value = 'Manski';"
        " field.dispatchEvent(new Event('keyup', {bubbles: true})); return 0; })()"
    )
    window.wait_for("document.querySelectorAll('.md-search-result__link').length > 0")
    links = window.value("[...document.querySelectorAll('.md-search-result__link')].map((link) => link.href).join(' ')")
    assert "gate.html" in links
