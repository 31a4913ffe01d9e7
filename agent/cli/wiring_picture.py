"""Picture of a board's wires: an SVG with a line from each pin to what hangs there."""

from collections.abc import Iterator, Mapping
from html import escape

from agent.link.devices.device_table import BY_KIND
from agent.link.pin_settings import PinSettings

_ROW_PX, _MARGIN_PX, _TEXT_PX = 26, 24, 14
_BOARD_PX, _WIRE_PX, _PART_PX = 150, 190, 330
# Told apart by people who see few colours, too
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56606b")
_STYLE = "font-family='DejaVu Sans, Arial, sans-serif'"


def wires(pins: Mapping[str, PinSettings]) -> list[tuple[str, str, str, str]]:
    """Return pin of the microcontroller, name, kind and purpose of each wire, by name."""
    found = []
    for name in sorted(pins):
        settings = pins[name]
        row = BY_KIND[settings.kind]
        found.append((settings.pin, name, settings.kind, row.pin))
        found += [
            (getattr(settings, one.name), name, settings.kind, one.about) for one in row.lines
        ]
    return found


def draw(board: str, pins: Mapping[str, PinSettings]) -> str:
    """Return the SVG."""
    rows = wires(pins)
    height = 2 * _MARGIN_PX + (len(rows) + 2) * _ROW_PX
    width = 2 * _MARGIN_PX + _BOARD_PX + _WIRE_PX + _PART_PX
    body = "\n".join([*_board(board, height), *_lines(rows)])
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}' role='img'>\n"
        f"<title>{escape(board)}: {len(rows)} wires</title>\n"
        f"<rect width='{width}' height='{height}' fill='#ffffff'/>\n{body}\n</svg>\n"
    )


def _board(board: str, height: int) -> Iterator[str]:
    inner = height - 2 * _MARGIN_PX
    yield (
        f"<rect x='{_MARGIN_PX}' y='{_MARGIN_PX}' width='{_BOARD_PX}' height='{inner}' rx='8' "
        "fill='#eef2f5' stroke='#56606b'/>"
    )
    yield _text(_MARGIN_PX + 12, _MARGIN_PX + _ROW_PX, board, "#16181d")


def _lines(rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    names = list(dict.fromkeys(name for _, name, _, _ in rows))
    edge = _MARGIN_PX + _BOARD_PX
    far = edge + _WIRE_PX
    for at, (pin, name, kind, purpose) in enumerate(rows):
        y = _MARGIN_PX + (at + 2) * _ROW_PX + _ROW_PX // 2
        colour = _COLOURS[names.index(name) % len(_COLOURS)]
        yield _text(edge - 50, y + 5, pin, "#16181d")
        yield f"<line x1='{edge}' y1='{y}' x2='{far}' y2='{y}' stroke='{colour}' stroke-width='3'/>"
        yield _text(far + 10, y + 5, f"{name} ({kind}): {purpose}", colour)


def _text(x: int, y: int, text: str, colour: str) -> str:
    return (
        f"<text x='{x}' y='{y}' {_STYLE} font-size='{_TEXT_PX}' fill='{colour}'>"
        f"{escape(text)}</text>"
    )
