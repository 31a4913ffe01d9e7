"""Tool calls told in the conversation as they begin, each as a short message of its own.

A courtesy: it is kept nowhere, waited for briefly, and left out once the platform did not take one.
"""

import asyncio
import logging

from agent.messages import Inbound, Outbound, ToolCall
from agent.messaging.delivery import Delivery
from agent.security.redact import Redactor
from agent.text.links import without_links
from agent.text.printable import printable_line
from agent.tools.search import TOOL_SEARCH

_log = logging.getLogger(__name__)

# The call waits meanwhile, so that what is told comes before what comes of it
NOTICE_TIMEOUT_S = 5.0
# A line or two on a telephone
MAX_NOTICE_CHARS = 200
# What is looked at before it is made short: much more than is shown, for what is taken out of it
_MAX_READ_CHARS = 20 * MAX_NOTICE_CHARS


class ToolNotices:
    """Tells of the calls in the turn of one message."""

    def __init__(self, delivery: Delivery, message: Inbound) -> None:
        self._delivery = delivery
        self._inbound = message
        self._is_taken = True

    async def __call__(self, call: ToolCall, redactor: Redactor) -> None:
        # What only looks for tools is nothing that the agent does
        if not self._is_taken or call.name == TOOL_SEARCH:
            return
        to = self._inbound
        # It answers nothing: a draft of the answer stays one
        message = Outbound(0, to.channel, to.reply_target, in_words(call, redactor), "", to.thread)
        self._is_taken = self._delivery.attends(message) and await self._sent(message)

    async def _sent(self, message: Outbound) -> bool:
        try:
            async with asyncio.timeout(NOTICE_TIMEOUT_S):
                return await self._delivery.send_unrecorded(message)
        except TimeoutError:
            _log.info("notices: timed out (channel=%s)", message.channel)
            return False


def in_words(call: ToolCall, redactor: Redactor) -> str:
    """The call on one line, as code: nothing in it is formatted, and no secret is cut in two."""
    line = printable_line(f"{call.name} {call.arguments_json}", _MAX_READ_CHARS)
    shown = without_links(redactor.redact(line).replace("`", "'"))
    if len(shown) > MAX_NOTICE_CHARS:
        shown = f"{shown[: MAX_NOTICE_CHARS - 1]}…"
    return f"`{shown}`"
