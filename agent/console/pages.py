"""Pages as HTML: templates with the wording of a language, and the words for numbers and times."""

import html
import json
import re
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from agent.channels.render.html import to_html_telegram
from agent.console import static_files
from agent.console.chat_files import is_picture
from agent.console.wording import Wording
from agent.text.printable import spelled_out

_FOLDER = Path(__file__).with_name("templates")
_LINK = re.compile(r'<a href="(?P<to>[^"]*)">')
_SAFE_LINK = re.compile(r"https?://|mailto:", re.IGNORECASE)
# The height and width of a curve's box, in its own units
_CURVE_WIDTH, _CURVE_HEIGHT = 100.0, 24.0
_DAY_S, _HOUR_S, _MINUTE_S = 86_400, 3600, 60


class Visitor(Struct, frozen=True):
    """Somebody who was let in, as far as a page needs it.

    Args:
        token: goes with every form, and is known to this browser's pages alone.
    """

    name: str
    role: str
    token: str

    @property
    def is_owner(self) -> bool:
        return self.role == "owner"

    @property
    def is_guest(self) -> bool:
        return self.role == "guest"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "words": words,
        "number": number,
        "clock": clock,
        "day": day,
        "span": span,
        "curve": curve,
        "spelled": spelled_out,
        "size": size,
        "fields": fields,
    }
    made.globals["static"] = static_files.address
    made.tests["picture"] = is_picture
    return made


def rendered(name: str, wording: Wording, **values: Any) -> str:
    """Return a page or a part of one; whatever is put in is escaped."""
    return _environment().get_template(f"{name}.html").render(t=wording, **values)


def words(markdown: str) -> Markup:
    """Return an answer as HTML: few tags, everything else escaped, no link to a script."""
    return Markup(_LINK.sub(_safe, to_html_telegram(markdown)))  # noqa: S704 - escaped by the renderer


def _safe(found: re.Match[str]) -> str:
    if not _SAFE_LINK.match(html.unescape(found["to"])):
        return "<a>"
    return f'<a rel="noopener noreferrer nofollow" target="_blank" href="{found["to"]}">'


def number(value: float | str | None, unit: str = "") -> str:
    """Return a reading as a person reads it."""
    if value is None or isinstance(value, str):
        return value or "–"
    # What rounds to a thousand would have an exponent with three digits: 1e+03
    shown = f"{value:.0f}" if abs(value) >= 999.5 else f"{value:.3g}"  # noqa: PLR2004 - see above
    return f"{shown} {unit}".strip()


def clock(at_s: float) -> str:
    """Return a time of the last day as a time, an older one with its day."""
    if not at_s:
        return "–"
    is_today = time.localtime(at_s)[:3] == time.localtime()[:3]
    return time.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M", time.localtime(at_s))


def day(at_s: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at_s))


def span(duration_ms: float) -> str:
    """Return a duration in its largest units."""
    left_s = duration_ms / 1000
    if left_s < _MINUTE_S:
        return f"{left_s:g} s"
    whole = int(left_s)
    parts = [
        (whole // _DAY_S, "d"),
        (whole % _DAY_S // _HOUR_S, "h"),
        (whole % _HOUR_S // _MINUTE_S, "min"),
        (whole % _MINUTE_S, "s"),
    ]
    return " ".join([f"{count} {unit}" for count, unit in parts if count][:2])


def size(size_bytes: int) -> str:
    """Return the size of a file as a person reads it."""
    kilobytes = size_bytes / 1000
    return f"{kilobytes / 1000:.1f} MB" if kilobytes >= 1000 else f"{max(1, round(kilobytes))} kB"  # noqa: PLR2004 - a thousand


def fields(text: str) -> str:
    """Return the names and values of a flat JSON object in a line; any other text as it is."""
    try:
        told = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return text
    if not isinstance(told, dict) or any(isinstance(one, dict | list) for one in told.values()):
        return text
    return ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in told.items()
    )


def curve(values: Sequence[float]) -> str:
    """Return the points of a line through the values, for a box of 100 by 24."""
    low, high = min(values), max(values)
    step = _CURVE_WIDTH / max(1, len(values) - 1)
    scale = (_CURVE_HEIGHT - 4) / (high - low) if high > low else 0.0
    middle = 0.0 if scale else _CURVE_HEIGHT / 2 - 2
    return " ".join(
        f"{at * step:.1f},{_CURVE_HEIGHT - 2 - middle - (value - low) * scale:.1f}"
        for at, value in enumerate(values)
    )


def troubles(home: Mapping[str, Any]) -> list[str]:
    """Return the sentences of what needs a look."""
    found = [
        f"{board['name']}: {board['trouble']}"
        for board in home.get("boards", ())
        if board["trouble"] and (board["is_ready"] or board["state"] == "refused")
    ]
    found += [f"{name}: {text}" for name, text in home.get("troubles", {}).items()]
    found += [home[name] for name in ("provider_trouble", "memory") if home.get(name)]
    return [*found, *home.get("machine", ())]
