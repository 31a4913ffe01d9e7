"""Channel of callers who speak by requests: each message is a request, each answer its response.

A caller is the person whose token is shown. What a program says there is never more than a user's
word, and no question about a tool is put there: a model would answer it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from agent.channels.base import Abilities, Channel, Deliver
from agent.errors import ChannelUnavailable
from agent.gateway.assistants.pending import PendingAnswers
from agent.gateway.tokens import NAME
from agent.messages import Address, Inbound, Outbound, ToolCall, ToolResult

if TYPE_CHECKING:
    from agent.approvals.questions import Ask

HINT = "Your answer is handed to another assistant or program: plain Markdown, no questions."


# Call and its turn for a message; the last is asked for approval before the owner's own chat
UseTool = Callable[[Inbound, ToolCall, str, "Ask | None"], Awaitable[ToolResult]]
# Channel and id of a message whose turn is not wanted any more
Withdraw = Callable[[str, str], None]


class AssistantChannel(Channel):
    """Channel of the gateway's paired callers."""

    name = NAME
    abilities = Abilities(hint=HINT, shows_drafts=True, answers_only=True, is_relayed=True)

    def __init__(self) -> None:
        self.answers = PendingAnswers()
        # Runs a tool call of a caller; there while the agent is at work
        self.use_tool: UseTool | None = None
        # Ends the turn on a message of a caller; likewise
        self.withdraw: Withdraw | None = None
        self._deliver: Deliver | None = None

    async def listen(self, deliver: Deliver) -> None:
        self._deliver = deliver
        try:
            await asyncio.Event().wait()
        finally:
            self._deliver = None

    async def hand_over(self, message: Inbound) -> None:
        """Return when the message is accepted, or was before.

        Raises:
            ChannelUnavailable: nobody takes messages now.
        """
        if self._deliver is None:
            raise ChannelUnavailable("the agent takes no messages now")
        await self._deliver(message)

    def attends(self, message: Outbound) -> bool:
        # An answer is kept for whoever asks the same again; the rest waits for their next request
        return bool(message.in_reply_to or self.answers.of_recipient(message.recipient))

    async def send(self, message: Outbound) -> None:
        if message.in_reply_to:
            if (pending := self.answers.find(message.in_reply_to)) is not None:
                pending.end(message.text)
            return
        if not any(one.note(message.text) for one in self.answers.of_recipient(message.recipient)):
            raise ChannelUnavailable("no request of theirs is open")

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if (pending := self.answers.find(inbound.message_id)) is not None:
            pending.grow(text_so_far)

    async def inquire(self, address: Address, question: str) -> str | None:
        raise ChannelUnavailable(
            "a caller of the gateway cannot be asked in the middle of a request: "
            "end with the question, and the next request answers it"
        )
