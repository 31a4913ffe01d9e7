"""Curves of a benchmark as one SVG: a small panel for each, all against the same number."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

_COLUMNS = 3
_WIDTH_PX, _HEIGHT_PX, _MARGIN_PX = 260, 150, 34
_STYLE = "font:11px sans-serif;fill:#444"
_LINE = 'fill="none" stroke="#2b6cb0" stroke-width="2"'


@dataclass(frozen=True, slots=True)
class Curve:
    """Quantity that is measured, and its values at each of these numbers."""

    name: str
    at: Sequence[float]
    values: Sequence[float]


def drawn(curves: Sequence[Curve]) -> str:
    """Return the picture; every axis begins at zero."""
    rows = -(-len(curves) // _COLUMNS)
    width, height = _COLUMNS * _WIDTH_PX, rows * _HEIGHT_PX
    panels = "\n".join(line for place, one in enumerate(curves) for line in _panel(place, one))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="What a long life costs">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{panels}\n</svg>\n'
    )


def _panel(place: int, curve: Curve) -> Iterator[str]:
    left = place % _COLUMNS * _WIDTH_PX + _MARGIN_PX
    bottom = (place // _COLUMNS + 1) * _HEIGHT_PX - _MARGIN_PX
    wide, high = _WIDTH_PX - 2 * _MARGIN_PX, _HEIGHT_PX - 2 * _MARGIN_PX
    last, most = max(curve.at) or 1, max(curve.values) or 1
    points = " ".join(
        f"{left + at / last * wide:.1f},{bottom - value / most * high:.1f}"
        for at, value in zip(curve.at, curve.values, strict=True)
    )
    yield f'<path d="M{left} {bottom - high}V{bottom}h{wide}" fill="none" stroke="#999"/>'
    yield f'<polyline points="{points}" {_LINE}/>'
    top = f"{escape(curve.name)}: {curve.values[0]:.3g} to {curve.values[-1]:.3g}"
    yield f'<text x="{left}" y="{bottom - high - 10}" style="{_STYLE}">{top}</text>'
    yield f'<text x="{left + wide}" y="{bottom + 14}" text-anchor="end" style="{_STYLE}">'
    yield f"{last:,.0f} messages</text>"
