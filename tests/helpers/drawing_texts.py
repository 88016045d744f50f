"""Where the texts of a drawing in SVG stand, how large they are, and which of them are cut or on top of each other."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import NamedTuple

#: Widths of Helvetica in units of the font size, of the letters that differ from .556 (Adobe's font metrics).
WIDTHS = {
    **dict.fromkeys("ijl'|", 0.222),
    **dict.fromkeys("ft./,:;! I[]\\", 0.278),
    **dict.fromkeys('r-()`"', 0.333),
    **dict.fromkeys("cksvxyzJ", 0.5),
    **dict.fromkeys("+−=<>", 0.584),
    **dict.fromkeys("TFZ", 0.611),
    **dict.fromkeys("ABEKPSVXY&", 0.667),
    **dict.fromkeys("CDHNRUw", 0.722),
    **dict.fromkeys("GOQ", 0.778),
    **dict.fromkeys("mM", 0.833),
    "%": 0.889,
    "W": 0.944,
    "…": 1.0,
    "@": 1.015,
}

Matrix = tuple[float, float, float, float, float, float]


class DrawnText(NamedTuple):
    """A text with its size and its box, in points."""

    text: str
    size: float
    left: float
    top: float
    right: float
    bottom: float


def multiply(a: Matrix, b: Matrix) -> Matrix:
    return (
        a[0] * b[0] + a[2] * b[1],
        a[1] * b[0] + a[3] * b[1],
        a[0] * b[2] + a[2] * b[3],
        a[1] * b[2] + a[3] * b[3],
        a[0] * b[4] + a[2] * b[5] + a[4],
        a[1] * b[4] + a[3] * b[5] + a[5],
    )


def parse_transform(text: str | None) -> Matrix:
    matrix: Matrix = (1, 0, 0, 1, 0, 0)
    for name, arguments in re.findall(r"(\w+)\(([^)]*)\)", text or ""):
        x, *more = (float(part) for part in re.split(r"[ ,]+", arguments.strip()))
        if name == "translate":
            step: Matrix = (1, 0, 0, 1, x, more[0] if more else 0)
        elif name == "rotate":
            turn = math.radians(x)
            step = (math.cos(turn), math.sin(turn), -math.sin(turn), math.cos(turn), 0, 0)
        elif name == "scale":
            step = (x, 0, 0, more[0] if more else x, 0, 0)
        else:
            raise ValueError(text)
        matrix = multiply(matrix, step)
    return matrix


def list_texts(element: ET.Element, matrix: Matrix = (1, 0, 0, 1, 0, 0)) -> Iterator[DrawnText]:
    """Yield the visible texts below an element."""
    matrix = multiply(matrix, parse_transform(element.get("transform")))
    if element.get("opacity") == "0":
        return
    lines = ["".join(line.itertext()) for line in element if line.tag.endswith("}tspan")] or [
        "".join(element.itertext())
    ]
    if element.tag.endswith("}text") and any(line.strip() for line in lines):
        size = float(element.get("font-size", "0").removesuffix("px"))
        bold = 1.06 if element.get("font-weight") == "bold" else 1
        width = max(bold * size * sum(WIDTHS.get(letter, 0.556) for letter in line) for line in lines)
        start = {"middle": -width / 2, "end": -width}.get(element.get("text-anchor", ""), 0)
        top, bottom = -0.72 * size, size * (1.15 * (len(lines) - 1) + 0.2)
        corners = [
            (matrix[0] * x + matrix[2] * y + matrix[4], matrix[1] * x + matrix[3] * y + matrix[5])
            for x in (start, start + width)
            for y in (top, bottom)
        ]
        xs, ys = zip(*corners, strict=True)
        scale = math.sqrt(abs(matrix[0] * matrix[3] - matrix[1] * matrix[2]))
        yield DrawnText(" ".join(lines), size * scale, min(xs), min(ys), max(xs), max(ys))
    for child in element:
        yield from list_texts(child, matrix)


def find_faults(svg: str, *, smallest: float, largest: float, width: float) -> list[str]:
    """Return what is wrong with the texts of a drawing that is to be `width` points wide; 1.5 points are no fault."""
    root = ET.fromstring(svg)  # a drawing of ours
    left, top, wide, high = (float(part) for part in root.get("viewBox", "").split())
    texts = list(list_texts(root))
    faults = [f"{wide:.0f} points wide"] if wide > width else []
    faults += [f"{one.text!r} has {one.size:.1f} points" for one in texts if not smallest <= one.size <= largest]
    faults += [
        f"{one.text!r} is cut"
        for one in texts
        if one.left < left - 1.5
        or one.right > left + wide + 1.5
        or one.top < top - 1.5
        or one.bottom > top + high + 1.5
    ]
    for i, one in enumerate(texts):
        for other in texts[:i]:
            across = min(one.right, other.right) - max(one.left, other.left)
            down = min(one.bottom, other.bottom) - max(one.top, other.top)
            if across > 1.5 and down > 1.5:
                faults.append(f"{one.text!r} is on {other.text!r}")
    return faults
