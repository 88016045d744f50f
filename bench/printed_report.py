"""Pages of a printed report, and how many of them are nearly empty. Needs chromium and pypdf.

Where the published table of 48 models is not at hand, a simulated one of the same size stands in. The example logs are
those of the documentation.

python bench/printed_report.py [REPORT.html ...]
"""

from __future__ import annotations

import asyncio
import importlib.util
import io
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pypdf

ROOT = Path(__file__).resolve().parents[1]

#: Share of the height between the margins that a page has marks on, at least, unless it is nearly empty.
_FILLED = 1 / 3
#: Sides of the margins of a sheet in points: 14 mm above and below.
_MARGIN = 14 / 25.4 * 72
#: Drawings of at least this share of the sheet in both directions are its background.
_BACKGROUND = 0.8

#: Operators of a content stream that paint the path before them, and that end it without painting.
_PAINTS, _ENDS = {b"f", b"F", b"f*", b"S", b"s", b"B", b"B*", b"b", b"b*"}, {b"n"}
#: Operators that add points to the path, and those that show text.
_POINTS, _TEXTS = {b"m", b"l", b"c", b"v", b"y"}, {b"Tj", b"TJ", b"'", b'"'}


def measure_heights(pdf: bytes) -> list[float]:
    """Return for each page the height down to its lowest mark, as a share of that between the margins."""
    heights = []
    for page in pypdf.PdfReader(io.BytesIO(pdf)).pages:
        top, bottom = float(page.mediabox.height) - _MARGIN, _MARGIN
        lowest = min((y for y in _list_marks(page) if bottom <= y <= top), default=top)
        heights.append((top - lowest) / (top - bottom))
    return heights


def count_nearly_empty(heights: Sequence[float]) -> int:
    """Return the number of pages with marks on less than a third of their height; the last page ends where it may.

    >>> count_nearly_empty([0.9, 0.1, 0.34, 0.2])
    1
    """
    return sum(height < _FILLED for height in heights[:-1])


def _list_marks(page: pypdf.PageObject) -> Iterator[float]:
    """Yield the lower edge of each text and drawing of a page, in points from its lower edge."""
    width, height = float(page.mediabox.width), float(page.mediabox.height)
    path: list[tuple[float, float]] = []
    marks: list[float] = []

    def visit(operator: bytes, operands: Any, transform: Sequence[float], text_matrix: Sequence[float]) -> None:
        a, b, c, d, e, f = transform
        if operator == b"re":
            x, y, w, h = (float(value) for value in operands)
            corners = [(x, y), (x + w, y), (x, y + h), (x + w, y + h)]
            path.extend((a * x + c * y + e, b * x + d * y + f) for x, y in corners)
        elif operator in _POINTS:
            numbers = [float(value) for value in operands]
            path.extend(
                (a * x + c * y + e, b * x + d * y + f) for x, y in zip(numbers[::2], numbers[1::2], strict=True)
            )
        elif operator in _PAINTS and path:
            (left, low), (right, high) = (tuple(map(one, zip(*path, strict=True))) for one in (min, max))
            if right - left < _BACKGROUND * width or high - low < _BACKGROUND * height:
                marks.append(low)
            path.clear()
        elif operator in _ENDS or operator in _PAINTS:
            path.clear()
        elif operator in _TEXTS:
            x, y = text_matrix[4:]
            marks.append(b * x + d * y + f)
        elif operator == b"Do":
            marks.append(min(f, f + d, f + b, f + b + d))

    page.extract_text(visitor_operand_before=visit)
    yield from marks


async def print_report(address: str) -> bytes:
    """Return a report as a PDF, after all its figures were drawn."""
    picture = _load_module(ROOT / "docs" / "picture.py")
    async with picture.browser() as tab:
        await tab.open(address)
        await tab.draw_all()
        pdf: bytes = await tab.paper()
        return pdf


def _load_module(file: Path) -> Any:
    """Return the module in a file of the repository that is no package."""
    location = importlib.util.spec_from_file_location(file.stem, file)
    assert location is not None
    assert location.loader is not None
    module = importlib.util.module_from_spec(location)
    sys.modules[file.stem] = module
    location.loader.exec_module(module)
    return module


def _write_reports(folder: Path) -> Iterator[Path]:
    """Yield reports on the example logs and on a table of 48 models, written to the folder."""
    import howsure as hs
    from howsure.reporting.page import build_page
    from howsure.reporting.report_data import ReportData

    yield hs.report(str(ROOT / "examples" / "logs"), folder / "example-logs.html")
    cells, source = _load_module(ROOT / "bench" / "report.py").taken("math500")
    file = folder / f"48-models-{source}.html"
    build_page(ReportData([cells]), file_name=file.name).save(file)
    yield file


def main() -> None:
    """Print pages and nearly empty pages of each report."""
    print("| report | pages | nearly empty |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        for file in map(Path, sys.argv[1:]) if sys.argv[1:] else _write_reports(Path(scratch)):
            heights = measure_heights(asyncio.run(print_report(file.resolve().as_uri())))
            print(f"| {file.stem} | {len(heights)} | {count_nearly_empty(heights)} |", flush=True)


if __name__ == "__main__":
    main()
