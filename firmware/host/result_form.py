"""Form in which somebody with a real board sends the result of these tests."""

import platform
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class TriedBoard(NamedTuple):
    """Greeting of the board that was tested."""

    name: str
    firmware: str
    build: int
    port: str


class TrialOutcome(NamedTuple):
    """Result of one test; `reason` of a failure or of one that was left out."""

    test: str
    result: str
    reason: str = ""


# In the order in which they matter to whoever reads the form
RESULTS = ("failed", "error", "skipped", "passed")
_ASKED = (
    "Board and its revision (printed on it):",
    "MicroPython (version, stock or frozen):",
    "Cable, hub, power supply:",
    "What was wired, and anything that you saw, heard or smelt:",
)


class Measurement(NamedTuple):
    """Time that a second board has measured, with what was expected of it."""

    what: str
    measured_ms: float
    expected: str


def form(
    board: TriedBoard | None,
    outcomes: Sequence[TrialOutcome],
    options: Mapping[str, str],
    measured: Sequence[Measurement] = (),
) -> str:
    """Return the form as Markdown; what only a person knows is left open."""
    lines = ["## Result of hardware-tests", ""]
    if board is None:
        lines.append("* board: none answered")
    else:
        lines.append(f"* board: {board.name}, firmware {board.firmware} (build {board.build})")
        lines.append(f"* port: {board.port}")
    lines.append(
        f"* computer: {platform.system()} {platform.machine()}, {platform.python_version()}"
    )
    lines += [f"* {name}: {value}" for name, value in options.items() if value]
    lines.append("* " + ", ".join(f"{_count(outcomes, one)} {one}" for one in RESULTS))
    lines += ["", "| test | result | reason |", "|---|---|---|"]
    for result in RESULTS:
        lines += [_row(one) for one in outcomes if one.result == result]
    if measured:
        lines += ["", "| measured by the second board | ms | expected |", "|---|---|---|"]
        lines += [f"| {one.what} | {one.measured_ms:.0f} | {one.expected} |" for one in measured]
    lines += ["", "Please fill in:", "", *(f"* {question}" for question in _ASKED)]
    return "\n".join(lines)


def _count(outcomes: Sequence[TrialOutcome], result: str) -> int:
    return sum(one.result == result for one in outcomes)


def _row(one: TrialOutcome) -> str:
    reason = " ".join(one.reason.split()).replace("|", "\\|")
    return f"| {one.test} | {one.result} | {reason} |"
