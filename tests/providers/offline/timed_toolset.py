"""Tools of timers, reminders, a clock and a board, as a request shows them."""

from collections.abc import Sequence
from typing import cast

from agent.messages import ToolSpec
from agent.system.clock import SystemClock
from agent.tools.board import BoardTools
from agent.tools.reminder import Reminders, ReminderSetTool
from agent.tools.system import TimeNowTool
from agent.tools.timer import Timers, timer_tools
from tests.fakes.board import FakeBoard

# Nothing is called: only what they look like counts
TIMED: Sequence[ToolSpec] = tuple(
    tool.spec()
    for tool in (
        *timer_tools(cast("Timers", None)),
        ReminderSetTool(cast("Reminders", None)),
        TimeNowTool(SystemClock()),
        *BoardTools(FakeBoard()).tools(),
    )
)
