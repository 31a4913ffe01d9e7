"""Runner of the commands that a person types; no model is asked."""

from collections.abc import Callable

from agent.access.commands import ChatCommand, help_text
from agent.access.roles import PersonRole
from agent.errors import StorageFull
from agent.messages import Inbound
from agent.messaging.conversation import Conversations
from agent.messaging.delivery import Delivery
from agent.messaging.inbox import Accepted
from agent.messaging.worker import STOPPED_TEXT, Desk, unrecorded

NOTHING_TO_STOP_TEXT = "There is nothing to stop."


class CommandRunner:
    """Runs commands, each as soon as it comes.

    Args:
        stop: cancels the turn of a conversation; true if there was one.
    """

    def __init__(
        self,
        conversations: Conversations,
        delivery: Delivery,
        desk: Desk,
        stop: Callable[[str], bool],
    ) -> None:
        self._conversations = conversations
        self._delivery = delivery
        self._desk = desk
        self._stop = stop

    async def run(self, accepted: Accepted, command: ChatCommand | str) -> None:
        """Run the command and send its result; it needs no model and waits for no turn."""
        try:
            text = await self._result_of(command, accepted.message)
            await self._delivery.send(await self._conversations.finish(accepted, text))
        except StorageFull as err:
            await self._delivery.send_unrecorded(unrecorded(accepted, f"I cannot do that: {err}"))

    async def _result_of(self, command: ChatCommand | str, message: Inbound) -> str:
        conversation = message.conversation
        match command:
            case ChatCommand.HELP:
                return help_text(PersonRole.of(message.provenance))
            case ChatCommand.NEW | ChatCommand.CLEAR:
                removed = await self._conversations.forget(conversation)
                return f"A new conversation. {removed} messages are gone; memories stay."
            case ChatCommand.STOP:
                return STOPPED_TEXT if self._stop(conversation) else NOTHING_TO_STOP_TEXT
            case ChatCommand.ESTOP | ChatCommand.ESTOP_CLEAR | ChatCommand.CONFIGURE:
                return await self._desk.oversight.obey(command, message)
            case ChatCommand():
                return await self._shown(command, message)
            case _:
                known = help_text(PersonRole.of(message.provenance))
                return f"I do not know {command}.\n{known}"

    async def _shown(self, command: ChatCommand, message: Inbound) -> str:
        if command is ChatCommand.STATUS:
            return await self._desk.report(message.conversation)
        if command is ChatCommand.BOARD:
            from agent.hardware import board_report  # noqa: PLC0415 - for those who ask

            return board_report.board_report(self._desk.oversight.boards)
        if command is ChatCommand.MEMORY:
            return await self._conversations.known(message)
        if command is ChatCommand.JOBS:
            return await self._conversations.jobs(message)
        return await self._conversations.model(command, message)
