"""Messages of tools: those that a tool sends, and short notices of tool calls and thoughts.

Messages go to the outbox first. Notices are a courtesy: they are not stored.
"""

import asyncio
import logging

from agent.errors import StorageFull
from agent.messages import Inbound, Outbound, ToolCall
from agent.messaging.delivery import Delivery
from agent.security.redact import Redactor
from agent.text.printable import printable_line, printable_text
from agent.tools.search import TOOL_SEARCH
from agent.tools.send_message import Addressee

_log = logging.getLogger(__name__)

_NOT_KEPT = "the message could not be stored, so it may not arrive; do not repeat it"

# The tool call waits for its notice, so that the notice comes before the result
NOTICE_TIMEOUT_S = 5.0
# A line or two on a telephone
MAX_NOTICE_CHARS = 200
# Thoughts run to pages: the beginning is shown
MAX_THOUGHT_CHARS, _MOST_THOUGHT_CHARS = 1500, 30_000
# Read before shortening: links and secrets are taken out of it
_MAX_READ_CHARS = 20 * MAX_NOTICE_CHARS


class ToolMessages:
    """Sends messages of tools; open while the channels run."""

    def __init__(self) -> None:
        self._delivery: Delivery | None = None
        self._tasks: asyncio.TaskGroup | None = None

    def open(self, delivery: Delivery, tasks: asyncio.TaskGroup) -> None:
        self._delivery, self._tasks = delivery, tasks

    async def __call__(self, to: Addressee, text: str) -> bool:
        """Queue a message; return true if its channel is running.

        Raises:
            StorageFull: the message could not be stored.
        """
        if self._delivery is None or self._tasks is None:
            raise StorageFull("no channel is running yet")
        message = await self._delivery.announce(to.channel, to.target, text)
        if message is None:
            raise StorageFull(_NOT_KEPT)
        if not self._delivery.attends(message):
            return False
        self._tasks.create_task(self._delivery.send(message))
        return True


class _Notices:
    """Messages beside the answer to one message, until one is not taken."""

    def __init__(self, delivery: Delivery, message: Inbound) -> None:
        self._delivery = delivery
        self._inbound = message
        self._is_taken = True

    async def tell(self, text: str) -> None:
        if not self._is_taken:
            return
        to = self._inbound
        # Answers no message, so a draft of the answer is not replaced
        message = Outbound(0, to.channel, to.reply_target, text, "", to.thread)
        self._is_taken = self._delivery.attends(message) and await self._sent(message)

    async def _sent(self, message: Outbound) -> bool:
        try:
            async with asyncio.timeout(NOTICE_TIMEOUT_S):
                return await self._delivery.send_unrecorded(message)
        except TimeoutError:
            _log.info("notices: timed out (channel=%s)", message.channel)
            return False


class ToolNotices(_Notices):
    """Tells the conversation of each tool call as it begins."""

    async def __call__(self, call: ToolCall, redactor: Redactor) -> None:
        # A search for tools is not an action of the agent
        if call.name != TOOL_SEARCH:
            await self.tell(in_words(call, redactor))


class ThoughtNotices(_Notices):
    """Tells the conversation what the model thought before an answer."""

    async def __call__(self, thoughts: str, redactor: Redactor) -> None:
        read = printable_text(thoughts, _MOST_THOUGHT_CHARS).strip()
        shown = _without_links(redactor.redact(read).replace("`", "'"))
        if len(shown) > MAX_THOUGHT_CHARS:
            shown = f"{shown[: MAX_THOUGHT_CHARS - 1]}…"
        if shown:
            await self.tell(f"```\n{shown}\n```")


def in_words(call: ToolCall, redactor: Redactor) -> str:
    """Return the call on one line, as code and without secrets."""
    line = printable_line(f"{call.name} {call.arguments_json}", _MAX_READ_CHARS)
    shown = _without_links(redactor.redact(line).replace("`", "'"))
    if len(shown) > MAX_NOTICE_CHARS:
        shown = f"{shown[: MAX_NOTICE_CHARS - 1]}…"
    return f"`{shown}`"


def _without_links(text: str) -> str:
    from agent.text.links import without_links  # noqa: PLC0415 - no start needs its patterns

    return without_links(text)
