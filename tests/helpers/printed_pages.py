"""Pages of a printed report: how far down each has marks, and how many are nearly empty. Needs pypdf."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

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
    import pypdf

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


def _list_marks(page: Any) -> Iterator[float]:
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
