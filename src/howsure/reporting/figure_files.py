"""Write the figures of a report as SVG, PNG or PDF, drawn without a browser, and their numbers as CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from howsure.errors import InputError, UnknownNameError, require_modules
from howsure.reporting.assets import VEGA_LITE
from howsure.reporting.charts import SHORT_LABEL, SHORT_NAME, count_fitting, shorten_label
from howsure.reporting.elements import Figure

FigureFormat = Literal["svg", "png", "pdf"]
FigureTheme = Literal["light", "dark"]

#: File formats of figures.
FIGURE_FORMATS: tuple[str, ...] = get_args(FigureFormat)

#: Themes of figures, and the ground of each.
FIGURE_THEMES: tuple[str, ...] = get_args(FigureTheme)
_GROUNDS = {"light": "white", "dark": "#14171c"}

#: Characters that XML, and so SVG, does not have, and marks that change the direction of text.
_FORBIDDEN = re.compile(
    r"[\u202a-\u202e\u2066-\u2069]"
    r"|[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]|[\U0001fffe\U0001ffff]"
)
#: Width of a figure in pixels, and pixels of a PNG for each of them.
WIDTH, PNG_DPI = 640, 300

#: Lines of text that a row takes of a figure with a given height, and that its axis, legend and margins do.
_LINES_PER_ROW, _LINES_AROUND = 1.25, 9.0

#: Size of the labels of all charts, in pixels.
FONT_SIZE = 12.0


@dataclass(frozen=True, kw_only=True)
class FigureStyle:
    """Size and look of exported figures; a pixel of a drawing is a point of a PDF, 1/72 inch.

    Parameters
    ----------
    width, height
        Size in inches; None is 640 pixels wide, and as high as the rows of the figure need. A height at which the names
        of the rows would overlap is raised; that of a figure with a panel for each model is not changed.
    font_size
        Size of labels and titles in points.
    theme
        `"light"`: dark text, which suits white paper; `"dark"`: light text on a dark ground.

    Raises
    ------
    InputError
        If a size is out of range.

    Examples
    --------
    >>> FigureStyle(width=3.3, font_size=8).pixels
    238
    """

    width: float | None = None
    height: float | None = None
    font_size: float = FONT_SIZE
    theme: FigureTheme = "light"

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("figure width", self.width, 2, 40),
            ("figure height", self.height, 1, 40),
            ("font size", self.font_size, 4, 40),
        ):
            if value is not None and not low <= value <= high:
                unit = "points" if name == "font size" else "inches"
                raise InputError(f"{value:g}", where=name, remedy=f"give {low} to {high} {unit}")
        if self.theme not in FIGURE_THEMES:
            raise UnknownNameError("theme", self.theme, FIGURE_THEMES, where="figure theme")

    @property
    def pixels(self) -> int:
        """Width in pixels."""
        return WIDTH if self.width is None else round(72 * self.width)


def parse_style(text: str) -> FigureStyle:
    """Return the style of a text of names and values.

    >>> parse_style("width=3.3,theme=dark")
    FigureStyle(width=3.3, height=None, font_size=12.0, theme='dark')
    """
    pairs = (pair.replace(" ", "").partition("=")[::2] for pair in text.split(",") if pair.strip())
    try:
        values: dict[str, Any] = {name: value if name == "theme" else float(value) for name, value in pairs}
        return FigureStyle(**values)
    except (TypeError, ValueError) as error:
        remedy = "write it as width=3.3,height=4,font_size=8,theme=dark"
        raise InputError(f"{text!r}", where="figure style", remedy=remedy) from error


def write_figures(
    folder: str | Path,
    figures: Sequence[Figure],
    *,
    file_format: str = "svg",
    background: str | None = None,
    style: FigureStyle | None = None,
) -> list[Path]:
    """Write each figure and its numbers to a folder.

    Parameters
    ----------
    folder
        Folder for `NAME.svg` and `NAME.csv` of each figure, created if it is missing. NAME is the id of the figure on
        the page; when all figures belong to one benchmark, without the prefix of the benchmark.
    figures
        Figures of a `Page`.
    file_format
        One of `FIGURE_FORMATS`. A PNG has two pixels for each pixel of the page.
    background
        CSS colour, or "transparent"; default: that of the theme.
    style
        Size, font size and theme.

    Returns
    -------
    list of Path
        The drawings, in the order of the page.

    Raises
    ------
    InputError
        If the format is unknown or a file cannot be written.
    """
    if file_format not in FIGURE_FORMATS:
        raise UnknownNameError("format", file_format, FIGURE_FORMATS, where="--format")
    one_benchmark = len({figure.id.partition("-")[0] for figure in figures}) == 1
    folder, paths = Path(folder), []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for figure in figures:
            name = figure.id.partition("-")[2] if one_benchmark else figure.id
            paths.append(folder / f"{name}.{file_format}")
            paths[-1].write_bytes(render_spec(figure.spec, file_format=file_format, background=background, style=style))
            (folder / f"{name}.csv").write_text(format_csv(figure.columns), encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(error.filename or folder)) from error
    return paths


def render_spec(
    spec: Mapping[str, object],
    *,
    file_format: str = "svg",
    background: str | None = None,
    style: FigureStyle | None = None,
) -> bytes:
    """Draw a Vega-Lite specification and return the bytes of the file; `background` defaults to that of the theme."""
    style = style or FigureStyle()
    require_modules("the report", "report", "vl_convert")
    import vl_convert

    convert = getattr(vl_convert, f"vegalite_to_{file_format}")
    scale = {"ppi": PNG_DPI} if file_format == "png" else {}
    # No base URL is allowed, so that a specification cannot load anything.
    drawing = convert(
        _replace_forbidden(fix_width(spec, background or _GROUNDS[style.theme], style=style)),
        vl_version=VEGA_LITE,
        allowed_base_urls=[],
        **scale,
    )
    return drawing.encode() if isinstance(drawing, str) else bytes(drawing)


#: Tags of a drawing, and what a page does not need in them: the page describes the drawing as a whole.
_TAG = re.compile(r"<[^<>]*>")
_UNUSED = re.compile(
    r' (?:aria-[a-z]+|role|class|pointer-events|font-family|xmlns(?::xlink)?|version)="[^"]*"'
    r'| (?:stroke-|fill-)?opacity="1"'
)
_EMPTY = re.compile(r'<path d="(?:M0,0h0v0h0Z)?"(?: display="none")?/>|<g></g>')
_ID = re.compile(r'(?<= id=")\w+')
_SIZE = re.compile(r'viewBox="0 0 (\d+)[\d.]* (\d+)[\d.]*"')
#: Pixels left of a drawing in a page.
_MARGIN = 24
_LONG_NUMBER = re.compile(r"(?<=\d\.\d\d)\d+")


def draw_page_svg(figure: Figure) -> str:
    """Draw a figure as SVG for a page whose scripts are off, or have not drawn it yet."""
    if figure.renderer != "svg":
        return ""
    svg = render_spec(figure.spec, background="transparent").decode()
    # vl-convert numbers ids over all drawings of a process; here they begin anew with each figure.
    names = {name: f"{figure.id}-{i}" for i, name in enumerate(dict.fromkeys(_ID.findall(svg)))}

    def shorten(match: re.Match[str]) -> str:
        tag = _LONG_NUMBER.sub("", _UNUSED.sub("", match[0]))
        return re.sub(r'((?<= id=")|(?<=url\(#))\w+', lambda name: names.get(name[0], name[0]), tag)

    shortened = _EMPTY.sub("", _TAG.sub(shorten, svg))
    # A reader's font may be a little wider than the one that the drawing was laid out with.
    width, height = (int(size) for size in _SIZE.findall(shortened)[0])
    start_tag = (
        f'<svg class="static" font-family="Liberation Sans, Arial, Helvetica, sans-serif" width="{width + _MARGIN}" '
        f'height="{height}" viewBox="-{_MARGIN} 0 {width + _MARGIN} {height}">'
    )
    return re.sub("<svg[^>]*>", start_tag, shortened, count=1)


def _replace_forbidden(value: Any) -> Any:
    """Return a value with U+FFFD for what no drawing may hold; vl-convert ends the process at what is not XML."""
    if isinstance(value, str):
        return _FORBIDDEN.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_replace_forbidden(name): _replace_forbidden(part) for name, part in value.items()}
    return [_replace_forbidden(part) for part in value] if isinstance(value, list | tuple) else value


def fix_width(
    spec: Mapping[str, object], background: str, width: int | None = None, *, style: FigureStyle | None = None
) -> dict[str, object]:
    """Return the specification with the settings that page.js otherwise chooses for the width of the page."""
    style = style or FigureStyle()
    width = width or style.pixels
    size = style.font_size
    most = max(90, min(260, 0.34 * width))
    usermeta: Any = spec.get("usermeta", {})
    names = usermeta.get("names", ())
    inside = shorten_label(count_fitting(0.4 * width, size, names), names)
    given: Mapping[str, Any] = _shorten_labels(spec, most, size, inside)
    config = dict(given.get("config", {}))
    # vl-convert contains this font: the drawing is the same on every machine.
    config |= {"background": background, "font": "Liberation Sans, sans-serif"}
    # Of letters wider than others a name of so many characters takes more.
    config["axisY"] = {"labelLimit": 1.15 * most, **config.get("axisY", {})}
    if "labelLimit" in config.get("legend", {}):
        config["legend"] = {**config["legend"], "labelLimit": max(80, width - 90)}
    if longest := given.get("usermeta", {}).get("longest"):
        columns = max(1, int(width // (7 / FONT_SIZE * size * longest + 44)))
        config["legend"] = {**config.get("legend", {}), "columns": columns}
    if size != FONT_SIZE:
        config |= _scale_text(config, size)
    if style.theme == "dark":
        config |= _colour_text(config, "#e6e9ee")
    fixed = {**given, "config": config}
    if fixed.get("width") == "container":
        fixed["width"] = min(width, given.get("usermeta", {}).get("widest", width))
    if "spec" in fixed:
        fixed["spec"] = {**fixed["spec"], "width": width - 60}
    elif style.height is not None:
        fit = {"type": "fit", "contains": "padding"}
        rows = _count_row_names(spec)
        least = (_LINES_PER_ROW * rows + _LINES_AROUND) * size if rows > 1 else 0
        least += most if "above" in usermeta else 0  # names above the columns
        fixed |= {"height": round(max(72 * style.height, least)), "autosize": fit}
    return fixed


def _count_row_names(value: Any) -> int:
    """Return the largest number of names on a vertical axis of a specification; 0 without such an axis."""
    if isinstance(value, list | tuple):
        return max(map(_count_row_names, value), default=0)
    if not isinstance(value, Mapping):
        return 0
    domain = ((value.get("y") or {}).get("scale") or {}).get("domain") if isinstance(value.get("y"), Mapping) else None
    here = len(domain) if isinstance(domain, list) and all(isinstance(name, str) for name in domain) else 0
    return max(here, *(_count_row_names(part) for name, part in value.items() if name != "datasets"), 0)


def _scale_text(config: Mapping[str, Any], size: float) -> dict[str, Any]:
    """Return the settings of a configuration with another size of labels, titles and texts."""
    both = {"labelFontSize": size, "titleFontSize": size}
    sized = {part: {**config.get(part, {}), **both} for part in ("axis", "legend", "header")}
    title = {"fontSize": size + 1, "subtitleFontSize": size}
    return sized | {
        part: {**config.get(part, {}), **new} for part, new in (("title", title), ("text", {"fontSize": size}))
    }


def _colour_text(config: Mapping[str, Any], colour: str) -> dict[str, Any]:
    """Return the settings of a configuration with another colour of labels, titles and texts."""
    both = {"labelColor": colour, "titleColor": colour}
    coloured = {part: {**config.get(part, {}), **both} for part in ("axis", "legend", "header")}
    title = {"color": colour, "subtitleColor": colour}
    return coloured | {
        part: {**config.get(part, {}), **new} for part, new in (("title", title), ("text", {"fill": colour}))
    }


def _shorten_labels(value: Any, width: float, size: float, inside: str) -> Any:
    """Return a specification whose names are cut to the room that axes have, and by `inside` in the drawing."""
    if isinstance(value, list | tuple):
        return [_shorten_labels(part, width, size, inside) for part in value]
    if not isinstance(value, Mapping):
        return value
    changed = {
        name: part if name == "datasets" else _shorten_labels(part, width, size, inside) for name, part in value.items()
    }
    if value.get("expr") == SHORT_NAME:
        changed["expr"] = inside.replace("datum.label", "datum.model")
    axis = value.get("axis")
    if isinstance(axis, Mapping) and axis.get("labelExpr") == SHORT_LABEL:
        domain = (value.get("scale") or {}).get("domain")
        names = domain if isinstance(domain, list) else ()
        label = shorten_label(count_fitting(width, size, names), names)
        changed["axis"] = {**axis, "labelExpr": label}
    return changed


def format_csv(columns: Mapping[str, Sequence[object]]) -> str:
    """Format columns as comma-separated values in which no text can be read as a spreadsheet formula.

    >>> format_csv({"model": ["=1+1", "a, b"], "score": [0.5, None]}).splitlines()
    ['model,score', "'=1+1,0.5", '"a, b",']
    """
    rows: Iterator[Sequence[object]] = zip(*columns.values(), strict=True)
    return "".join(",".join(map(_format_csv_field, row)) + "\r\n" for row in [tuple(columns), *rows])


def _format_csv_field(value: object) -> str:
    """Return one field, quoted where CSV requires it."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.9g}"
    text = str(value)
    if isinstance(value, str) and text.startswith(("=", "+", "-", "@", "\t", "\r")):
        text = f"'{text}"
    return '"{}"'.format(text.replace('"', '""')) if set(text) & set(',"\r\n') else text
