"""The table that a benchmark prints: one row for each bar."""

from collections.abc import Sequence
from dataclasses import dataclass

_TITLES = ("what", "bar", "measured", "baseline of this run", "verdict")
# Of a row that is there to be looked at
NO_BAR = "-"


@dataclass(frozen=True, slots=True)
class Row:
    """A bar and what was found; `held` is None where nothing was measured, or without a bar."""

    what: str
    bar: str
    measured: str
    baseline: str
    held: bool | None

    @property
    def cells(self) -> tuple[str, ...]:
        verdict = {True: "held", False: "MISSED", None: "not run"}[self.held]
        if self.bar == NO_BAR:
            verdict = NO_BAR
        return (self.what, self.bar, self.measured, self.baseline, verdict)


def show(rows: Sequence[Row]) -> None:
    """Print them as a table that Markdown understands."""
    cells = [_TITLES, *(row.cells for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_TITLES))]
    for number, line in enumerate(cells):
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print(f"| {' | '.join(padded)} |")
        if number == 0:
            print(f"|{'|'.join('-' * (width + 2) for width in widths)}|")
