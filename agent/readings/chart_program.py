"""Program that draws a chart, in its own process: the agent keeps none of its memory.

Reads a chart as JSON from standard input and writes a PNG to standard output. Imports nothing of
the agent: it is started by its path.
"""

import io
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

# Legible on a telephone held upright, and small
WIDTH, HEIGHT = 900, 560
BAR_HEIGHT = 34
# Drawn larger and made smaller: lines without steps
SCALE = 2
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 24, 64, 52
_FONTS = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
_TEXT, _TITLE = 22, 27
_LINE = 3
_Y_STEPS = 5
# Of what is over and under the curve, so that it touches no edge
_MARGIN_SHARE = 0.08
_COLOURS = 64
_LIGHT = {
    "paper": "#ffffff",
    "ink": "#1d2733",
    "grid": "#dde3ea",
    "curve": "#1768c4",
    "band": "#bcd6f2",
    "bar": "#e08a1e",
    "limit": "#c62f3b",
    "gap": "#f0f1f3",
}
_DARK = {
    "paper": "#11161d",
    "ink": "#e6edf5",
    "grid": "#2c3642",
    "curve": "#5aa9ff",
    "band": "#21405f",
    "bar": "#f0a63c",
    "limit": "#ff6b74",
    "gap": "#1a212a",
}


class Canvas:
    """Picture with the scales of a chart."""

    def __init__(self, chart: dict[str, Any]) -> None:
        self.chart = chart
        self.colours = _DARK if chart["dark"] else _LIGHT
        self.bars = chart["bars"]
        height = HEIGHT + BAR_HEIGHT * len(self.bars)
        self.image = Image.new("RGB", (WIDTH * SCALE, height * SCALE), self.colours["paper"])
        self.pen = ImageDraw.Draw(self.image)
        self.text_font, self.title_font = _font(_TEXT * SCALE), _font(_TITLE * SCALE)
        self.bottom = (HEIGHT - _BOTTOM) * SCALE
        self.low, self.high, self.step = _range_of(chart)

    def x(self, at: float) -> float:
        begin, end = float(self.chart["begin"]), float(self.chart["end"])
        return (_LEFT + (at - begin) / (end - begin) * (WIDTH - _LEFT - _RIGHT)) * SCALE

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        height: float = self.bottom - _TOP * SCALE
        return self.bottom - share * height

    def label(self, place: tuple[float, float], text: str, anchor: str, colour: str) -> None:
        font = self.title_font if anchor == "lt" else self.text_font
        self.pen.text(place, text, font=font, anchor=anchor, fill=self.colours[colour])


def draw(chart: dict[str, Any]) -> bytes:
    """Return the chart as a PNG."""
    canvas = Canvas(chart)
    runs = list(_runs(chart["points"], chart["gap_s"]))
    _draw_gaps(canvas, runs)
    _draw_grid(canvas)
    for run in runs:
        _draw_run(canvas, run)
    for limit in chart["limits"]:
        if canvas.low <= limit <= canvas.high:
            _draw_limit(canvas, limit)
    _draw_bars(canvas)
    canvas.label((_LEFT * SCALE, 18 * SCALE), chart["title"], "lt", "ink")
    small = canvas.image.reduce(SCALE).quantize(_COLOURS, method=Image.Quantize.FASTOCTREE)
    written = io.BytesIO()
    small.save(written, "PNG", optimize=True)
    return written.getvalue()


def _draw_grid(canvas: Canvas) -> None:
    pen, right = canvas.pen, (WIDTH - _RIGHT) * SCALE
    value = math.ceil(canvas.low / canvas.step) * canvas.step
    while value <= canvas.high:
        y = canvas.y(value)
        pen.line([(_LEFT * SCALE, y), (right, y)], fill=canvas.colours["grid"], width=SCALE)
        text = f"{value:.{_digits(canvas.step)}f}"
        canvas.label(((_LEFT - 10) * SCALE, y), text, "rm", "ink")
        value += canvas.step
    for at, text in canvas.chart["ticks"]:
        x = canvas.x(at)
        line = [(x, _TOP * SCALE), (x, canvas.bottom)]
        pen.line(line, fill=canvas.colours["grid"], width=SCALE)
        canvas.label((x, canvas.bottom + 12 * SCALE), text, "mt", "ink")


def _draw_gaps(canvas: Canvas, runs: Sequence[Sequence[Sequence[float]]]) -> None:
    """Shade the time of which nothing is known."""
    if not canvas.chart["points"]:
        return
    edges = [canvas.chart["begin"]]
    for run in runs:
        edges += [run[0][0], run[-1][0]]
    edges.append(canvas.chart["end"])
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        if end - begin > canvas.chart["gap_s"]:
            box = (canvas.x(begin), _TOP * SCALE, canvas.x(end), canvas.bottom)
            canvas.pen.rectangle(box, fill=canvas.colours["gap"])


def _draw_run(canvas: Canvas, run: Sequence[Sequence[float]]) -> None:
    upper = [(canvas.x(at), canvas.y(high)) for at, _, _, high in run]
    lower = [(canvas.x(at), canvas.y(low)) for at, low, _, _ in run]
    middle = [(canvas.x(at), canvas.y(mean)) for at, _, mean, _ in run]
    if len(run) > 1:
        if upper != lower:
            canvas.pen.polygon([*upper, *reversed(lower)], fill=canvas.colours["band"])
        colour = canvas.colours["curve"]
        canvas.pen.line(middle, fill=colour, width=_LINE * SCALE, joint="curve")
    else:
        x, y = middle[0]
        radius = 2 * _LINE * SCALE
        box = (x - radius, y - radius, x + radius, y + radius)
        canvas.pen.ellipse(box, fill=canvas.colours["curve"])


def _draw_limit(canvas: Canvas, limit: float) -> None:
    y, dash = canvas.y(limit), 14 * SCALE
    for x in range(_LEFT * SCALE, (WIDTH - _RIGHT) * SCALE, 2 * dash):
        end = min(x + dash, (WIDTH - _RIGHT) * SCALE)
        canvas.pen.line([(x, y), (end, y)], fill=canvas.colours["limit"], width=2 * SCALE)


def _draw_bars(canvas: Canvas) -> None:
    """Draw outputs under the curve: a bar for the time that each was on."""
    for number, bar in enumerate(canvas.bars):
        top = (HEIGHT + number * BAR_HEIGHT) * SCALE
        middle = top + BAR_HEIGHT * SCALE / 2 - 4 * SCALE
        begin, end = canvas.x(canvas.chart["begin"]), canvas.x(canvas.chart["end"])
        canvas.pen.line([(begin, middle), (end, middle)], canvas.colours["grid"], SCALE)
        for on, off in bar["spans"]:
            width = max(canvas.x(off), canvas.x(on) + 2 * SCALE)
            box = (canvas.x(on), top, width, top + (BAR_HEIGHT - 10) * SCALE)
            canvas.pen.rectangle(box, fill=canvas.colours["bar"])
        canvas.label(((_LEFT - 10) * SCALE, middle), _beside(canvas, bar["name"]), "rm", "ink")


def _beside(canvas: Canvas, name: str) -> str:
    """Return as much of a name as there is room for left of the chart."""
    while canvas.pen.textlength(name, font=canvas.text_font) > (_LEFT - 14) * SCALE:
        name = name[:-1]
    return name


def _runs(points: Sequence[Sequence[float]], gap_s: float) -> Iterator[Sequence[Sequence[float]]]:
    """Yield the points that belong together: a gap is drawn as a gap."""
    begin = 0
    for at in range(1, len(points) + 1):
        if at == len(points) or points[at][0] - points[at - 1][0] > gap_s:
            if at > begin:
                yield points[begin:at]
            begin = at


def _range_of(chart: dict[str, Any]) -> tuple[float, float, float]:
    """Return the ends of the scale, and a step that a person counts in."""
    lows = [point[1] for point in chart["points"]] or [0.0]
    highs = [point[3] for point in chart["points"]] or [1.0]
    low, high = min(lows), max(highs)
    if high - low < 1e-9:  # noqa: PLR2004 - of a line that is flat
        low, high = low - 1, high + 1
    margin = (high - low) * _MARGIN_SHARE
    low, high = low - margin, high + margin
    rough = (high - low) / _Y_STEPS
    power = 10 ** math.floor(math.log10(rough))
    step = next(one * power for one in (1, 2, 5, 10) if one * power >= rough)
    return low, high, step


def _digits(step: float) -> int:
    return max(0, -math.floor(math.log10(step)))


def _font(size: int) -> Any:
    if _FONTS.exists():
        return ImageFont.truetype(str(_FONTS), size)
    return ImageFont.load_default(size)


if __name__ == "__main__":
    sys.stdout.buffer.write(draw(json.load(sys.stdin)))
