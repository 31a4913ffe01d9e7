"""The board's button as a key to the door: whoever can press it stands at the device.

One browser at a time may ask for it. Where two do, neither is let in: nobody could say whose press
it was.
"""

import asyncio
import enum
from collections.abc import Callable

from agent.approvals.button import Presence

# Long enough to walk over to the board
WINDOW_S = 60.0


class DoorPress(enum.Enum):
    """State of a browser that asks to be let in by the button."""

    # A long press lets it in
    WAITING = "waiting"
    # Another browser asks as well; both have to begin anew
    CROWDED = "crowded"
    # There is no button, or its board is away
    NO_BUTTON = "no_button"


class DoorButton:
    """Waits for the press that lets a browser in."""

    def __init__(self, button: Presence) -> None:
        self._button = button
        self._waiting: dict[str, asyncio.Task[None]] = {}

    @property
    def is_there(self) -> bool:
        return not self._button.trouble

    def ask(self, browser: str, let_in: Callable[[], None]) -> DoorPress:
        """Call `let_in` at a long press within `WINDOW_S`, unless another one asks meanwhile."""
        if not self.is_there:
            return DoorPress.NO_BUTTON
        if any(name != browser for name in self._waiting):
            for task in self._waiting.values():
                task.cancel()
            return DoorPress.CROWDED
        if browser not in self._waiting:
            task = asyncio.create_task(self._wait(let_in))
            self._waiting[browser] = task
            task.add_done_callback(lambda _: self._waiting.pop(browser, None))
        return DoorPress.WAITING

    async def _wait(self, let_in: Callable[[], None]) -> None:
        try:
            async with asyncio.timeout(WINDOW_S):
                await self._button.held()
        except TimeoutError:
            return
        let_in()
