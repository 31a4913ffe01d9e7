"""What holds the agent's loop, as a careless piece of code would."""

import time

from agent.messages import ToolCall
from agent.turn.hooks import Cancel, Hook

# Far beyond several passes of a watchdog that a test makes quick
BLOCK_S = 5.0


class BlockingHook(Hook):
    """A call of a tool that does not let go of the loop."""

    async def before_tool_call(self, call: ToolCall) -> ToolCall | Cancel:
        time.sleep(BLOCK_S)  # noqa: ASYNC251 - the fault
        return call
