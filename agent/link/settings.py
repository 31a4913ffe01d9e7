"""The `[board]` table: which board, on which port."""

from typing import Annotated

import msgspec

from agent.config import Section


class BoardSettings(Section, frozen=True):
    """Where the board is; what is wired to it is the board's own to say."""

    # First word of the names of its tools: board_gpio_write
    name: Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_]{0,15}$")] = "board"
    # A device path; empty: /dev/barnacle-board, else a USB port that looks like such a board
    port: Annotated[str, msgspec.Meta(max_length=255)] = ""
    baud: Annotated[int, msgspec.Meta(ge=9_600, le=2_000_000)] = 115_200
    # Outputs are held four times within this time, or within the board's own lease if shorter
    lease_ms: Annotated[int, msgspec.Meta(ge=200, le=10_000)] = 2_000
