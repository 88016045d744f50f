"""What pages are made of: templates, styles, scripts, and the hashes that a content security policy allows."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from howsure.errors import InputError

__all__ = ["bundle", "environment", "hashed", "template_text"]

_TEMPLATES = Path(__file__).parent / "templates"


def hashed(text: str) -> str:
    """The text's place in a policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def template_text(name: str) -> str:
    """A file of the templates as it is."""
    return (_TEMPLATES / name).read_text(encoding="utf-8")


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, of the version that Altair writes for."""
    try:
        import altair as alt
        import jinja2  # noqa: F401  told here with the others
        import vl_convert
    except ModuleNotFoundError as error:
        raise InputError(f"the report needs {error.name}", remedy="pip install 'howsure[report]'") from error
    release = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    code: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", release)
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r", "")


def environment() -> Any:
    """Of the templates; everything is escaped."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_without_turns,
    )


#: Marks that turn the direction of the text after them.
_TURNS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")


def _without_turns(value: Any) -> Any:
    return value.translate(_TURNS) if isinstance(value, str) else value
