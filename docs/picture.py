# ruff: noqa: INP001  docs is not a package
"""Make docs/report.png: the top of a small report as a browser shows it. Needs chromium; run from anywhere.

python docs/picture.py [REPORT.html [PICTURE.png]]
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData
from howsure.stats.core.cells import Cells

#: The first two screens.
HEIGHT = 1800

#: The browser talks to nobody but this machine.
_FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


def chromium() -> str | None:
    """Where the browser is, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class NavigatedError(RuntimeError):
    """The page went away while it was asked."""


class Tab:
    """One tab over the DevTools protocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._id = socket, 0
        self.events: list[dict[str, Any]] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one command; events that come meanwhile are kept."""
        self._id += 1
        await self._socket.send_str(json.dumps({"id": self._id, "method": method, "params": params}))
        while True:
            message = json.loads((await self._socket.receive(timeout=60)).data)
            if message.get("id") == self._id:
                if "error" in message:
                    text = message["error"]["message"]
                    navigated_away = "navigated" in text or "context" in text
                    raise (NavigatedError if navigated_away else RuntimeError)(f"{method}: {text}")
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    async def value(self, expression: str) -> Any:
        """Value of an expression, awaited."""
        result = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        return result["result"].get("value")

    async def open(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False, scale: int = 1) -> None:
        """Load a page at a window size, and wait for it; what earlier pages told is forgotten."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        await self.look(width=width, height=height, dark=dark, scale=scale)
        await self.call("Page.navigate", url="about:blank")  # so that the next page is known by its address
        await self.wait_for("location.protocol === 'about:'")
        self.events.clear()
        await self.call("Page.navigate", url=url)
        await self.wait_for("document.readyState === 'complete' && location.protocol !== 'about:'")

    async def look(self, *, width: int = 1280, height: int = 900, dark: bool = False, scale: int = 1) -> None:
        """Size and colour scheme of the window."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        # The page learns it a moment later; one that is opened before is drawn at the old size first, and then moves.
        await self.wait_for(f"innerWidth === {width} && innerHeight === {height}")

    async def press(self, key: str, *, code: int, text: str = "", shift: bool = False) -> None:
        """Press and release a key; `code` is the one that Windows gives it, `text` what it types."""
        pressed = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 8 * shift}
        await self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **pressed)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **pressed)

    async def paper(self) -> bytes:
        """The page as a PDF, as `Print` makes it."""
        pdf = await self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        return base64.b64decode(pdf["data"])

    async def wait_for(self, condition: str, *, tries: int = 600) -> None:
        """Wait until an expression is true; a page that is left in the middle of the question gives no answer."""
        for _ in range(tries):
            with suppress(NavigatedError):
                if await self.value(f"!!({condition})"):
                    return
            await asyncio.sleep(0.05)
        raise TimeoutError(condition)

    async def draw_all(self) -> None:
        """Have every figure drawn, as printing would."""
        await self.wait_for("!document.body.matches('.packed:not(.ready)')")
        await self.value("window.dispatchEvent(new Event('beforeprint'))")
        await self.wait_for("[...document.querySelectorAll('.drawing')].every(d => d.querySelector('svg, canvas'))")

    async def picture(self, *, height: int | None = None) -> bytes:
        """The top of the page, or all of it, as PNG."""
        box = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": box["width"], "height": height or box["height"], "scale": 1}
        shot = await self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def complaints(self) -> list[str]:
        """Errors and warnings of the console and of the content security policy, exceptions, and requests but files."""
        text = []
        for event in self.events:
            params = event.get("params", {})
            if event["method"] == "Log.entryAdded" and params["entry"]["level"] in {"error", "warning"}:
                text.append(params["entry"]["text"])
            elif event["method"] == "Runtime.exceptionThrown":
                text.append(str(params["exceptionDetails"]))
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning"}:
                text.append(str([argument.get("value", argument.get("description")) for argument in params["args"]]))
            elif event["method"] == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "data:", "blob:")):
                    text.append(f"request to {url}")
        return text


@asynccontextmanager
async def browser() -> AsyncIterator[Tab]:
    """A fresh browser with one tab; it ends with the context."""
    program = chromium()
    if program is None:
        raise SystemExit("chromium is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        nothing = asyncio.subprocess.DEVNULL
        arguments = [*_FLAGS, f"--user-data-dir={folder}", "about:blank"]
        process = await asyncio.create_subprocess_exec(program, *arguments, stdout=nothing, stderr=nothing)
        try:
            for _ in range(600):
                if (port := _port(Path(folder, "DevToolsActivePort"))) is not None:
                    break
                await asyncio.sleep(0.05)
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as reply:
                    tabs = await reply.json()
                url = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
                async with session.ws_connect(url, max_msg_size=0) as socket:
                    yield Tab(socket)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


def _port(file: Path) -> int | None:
    """What the browser wrote when it was ready."""
    lines = file.read_text().split("\n") if file.exists() else []
    return int(lines[0]) if len(lines) > 1 else None


def example(seed: int = 3, n_questions: int = 100, generations: int = 10) -> Cells:
    """Two simulated models, one also greedy: difficulty Beta(.7, .5), the large one a little better."""
    rng = np.random.default_rng(seed)
    medium = rng.beta(0.7, 0.5, n_questions)
    large = np.clip(medium + 0.06 + 0.12 * (rng.random(n_questions) - 0.5), 0, 1)

    def sampled(p: np.ndarray) -> list[list[float]]:
        return (rng.random((n_questions, generations)) < p[:, None]).astype(float).tolist()

    greedy = [[float(p > 0.5)] for p in large]
    questions = [f"q{i:03d}" for i in range(1, n_questions + 1)]
    return Cells.from_scores(
        "directions", ["medium", "large", "large:greedy"], questions, [sampled(medium), sampled(large), greedy]
    )


async def _picture(url: str) -> bytes:
    async with browser() as tab:
        await tab.open(url, height=HEIGHT)
        await tab.draw_all()
        return await tab.picture(height=HEIGHT)


if __name__ == "__main__":
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_name("report.png")
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch, "report.html")
        if len(sys.argv) == 1:
            build_page(ReportData([example()]), file_name=Path(source).name).save(source)
        target.write_bytes(asyncio.run(_picture(source.resolve().as_uri())))
