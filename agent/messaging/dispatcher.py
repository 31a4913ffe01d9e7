"""Dispatcher: accepts each message once and has messages answered in order.

Messages of one conversation wait for each other; conversations do not. Commands overtake.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agent.access.admission import Rejected
from agent.access.commands import LOOSENING, ChatCommand, command_of, help_text
from agent.access.roles import PersonRole
from agent.channels.base import Answer, Channel, Question
from agent.errors import StorageFull
from agent.memory.base import HeardMessage
from agent.messages import NOT_KEPT, Inbound, Outbound, ToolCall, ToolResult
from agent.messaging import inbox
from agent.messaging.backlog import Backlog
from agent.messaging.conversation import Conversations
from agent.messaging.delivery import Delivery
from agent.messaging.inbox import Accepted
from agent.messaging.journal import InboxState
from agent.messaging.queue import MessageQueues
from agent.messaging.worker import Desk, MessageWorker, unrecorded
from agent.storage.worker import DatabaseWorker
from agent.system.crash_points import crash_point
from agent.text.typed import begins_with_stop

if TYPE_CHECKING:
    from agent.approvals.questions import Ask
    from agent.messaging.personal_files import PersonalFiles
    from agent.messaging.user_questions import QuestionReminders, UserQuestions


_log = logging.getLogger(__name__)

NOTHING_TO_STOP_TEXT = "There is nothing to stop."
COMMAND_FAILED_TEXT = "An error occurred while I did this. The log has the details."
# More messages than a platform repeats at once
MAX_UNKEPT = 1000


class Dispatcher:
    """Accepts messages from channels and has each answered once."""

    def __init__(
        self,
        journal: DatabaseWorker,
        conversations: Conversations,
        channels: Mapping[str, Channel],
        delivery: Delivery,
        desk: Desk,
    ) -> None:
        self._journal = journal
        self._conversations = conversations
        self._channels = channels
        self._delivery = delivery
        self._desk = desk
        # Set when recovery is done: a self-started message is not mistaken for a recovered one
        self.resumed = asyncio.Event()
        worker = MessageWorker(
            journal, conversations, channels, delivery, desk, lambda: self._user_questions
        )
        self._queues = MessageQueues(len(channels), worker, interrupts=conversations.interrupts)
        self._unkept: deque[tuple[str, str]] = deque(maxlen=MAX_UNKEPT)
        self._backlog = Backlog(journal, delivery, channels)
        # Open, and not answered by this agent: whoever waits for answers does not wait for these
        self._left: frozenset[int] = frozenset()
        # Called at once if the stop is already engaged, as after a restart
        desk.oversight.stop.listen(self._queues.stop_all)

    async def deliver(self, message: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Accept a message from a channel if its sender has access; see `take`."""
        await self._delivery.make_way(message, tasks)
        came = await self._desk.admit(message)
        if not isinstance(came, Rejected):
            await self.take(came.message, tasks)
        elif came.text:
            # Not stored: it may hold a pairing code or a stranger's words
            told = Outbound(
                0,
                message.channel,
                message.reply_target,
                came.text,
                message.message_id,
                message.thread,
            )
            tasks.create_task(self._delivery.send_unrecorded(told))

    async def begin(self, message: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Accept a self-started message (job, alarm) once recovery of the previous run is done."""
        await self.resumed.wait()
        await self.take(message, tasks)

    async def take(self, message: Inbound, tasks: asyncio.TaskGroup) -> None:
        """Accept a message; on return it is committed, or it was a duplicate.

        A channel may be ended meanwhile, as one that has gone deaf is. What is committed by then is
        known when it comes again, so that it is answered now or after a restart.
        """
        taking = tasks.create_task(self._outcome(message, tasks))
        if (failure := await asyncio.shield(taking)) is not None:
            raise failure

    async def _outcome(self, message: Inbound, tasks: asyncio.TaskGroup) -> Exception | None:
        """Return the error instead of raising it, which would end all tasks of the agent."""
        try:
            await self._take(message, tasks)
        except Exception as err:  # noqa: BLE001 - it is raised to the channel
            return err
        return None

    async def _take(self, message: Inbound, tasks: asyncio.TaskGroup) -> None:
        command = command_of(message.text)
        if command is ChatCommand.ESTOP:
            # Before anything that can fail or wait
            await self._desk.oversight.engage(message)
        message = self._delivery.received(message)
        begins = command is None and self._queues.is_free_for(message.conversation)
        if begins:
            self._conversations.expect(message)
        # Claimed before the first await: only one of two quick messages is the answer
        is_said = command is None and not begins_with_stop(message.text)
        with self._user_questions.claimed(message.conversation if is_said else "") as asker:
            accepted = await self._accept(message, begins=begins)
            is_answer = accepted is not None and asker.hear(accepted.message)
        crash_point("inbox.accepted")
        if accepted is None:
            _log.info(
                "inbox: duplicate dropped (channel=%s, message=%s)",
                message.channel,
                message.message_id,
            )
        elif is_answer:
            self._close(accepted)
        else:
            self._go_on(accepted, tasks)

    async def _accept(self, message: Inbound, *, begins: bool) -> Accepted | None:
        if message.attachments:
            # From now on they are the person's, under the path that is committed
            message = await asyncio.to_thread(self._files.take_over, message)
        try:
            came = await self._journal.transact(lambda db: inbox.accept(db, message, begins=begins))
        except StorageFull as err:
            # Not stored, so duplicates are known only from memory
            known = (message.channel, message.message_id)
            if known in self._unkept:
                return None
            self._unkept.append(known)
            _log.error("inbox: message not stored (message=%s, error=%s)", message.message_id, err)
            return Accepted(NOT_KEPT, message, has_begun=True)
        if came is not None and came.inbox_id % inbox.TRIM_EVERY == 0:
            self._journal.later(inbox.trim)
            self._journal.later(self._conversations.histories.trim)
        return came

    def _go_on(self, accepted: Accepted, tasks: asyncio.TaskGroup) -> None:
        """Run a command at once, queue a message for its turn, report an old message."""
        command = command_of(accepted.message.text)
        is_for_now = command is None or command in LOOSENING
        # What has acted is reported as such, however late
        if is_for_now and not accepted.acted and self._backlog.is_old(accepted.message):
            self._backlog.add(accepted, tasks)
        elif command is None and self._desk.questions.takes(accepted.message):
            # An answer that does not count: as a message it would only be misunderstood
            self._close(accepted)
            self._reminders.tell(accepted.message, tasks)
        elif command is None:
            if begins_with_stop(accepted.message.text):
                # Whatever else it wants stopped: that is for its own turn
                self.stop(accepted.message.conversation)
            if self._queues.add(accepted, tasks) and self._desk.questions.holds(accepted.message):
                self._reminders.tell_lately(accepted.message, tasks)
        else:
            tasks.create_task(self._commands.run(accepted, command))

    def _close(self, accepted: Accepted) -> None:
        """Note that it needs no answer of its own, such as the answer to a question."""
        inbox_id = accepted.inbox_id
        self._journal.later(lambda db: inbox.close(db, inbox_id, InboxState.ANSWERED))

    async def resume(self, tasks: asyncio.TaskGroup) -> None:
        """Resume after a restart: send unsent answers, then answer the open messages."""
        for answer in await self._delivery.left_over():
            tasks.create_task(self._delivery.send(answer))
        await self._journal.transact(inbox.excuse_cuts)
        open_ids, readable = await self._journal.transact(
            lambda db: (inbox.open_ids(db), inbox.unanswered(db))
        )
        ours = [one for one in readable if one.message.channel in self._channels]
        self._left = open_ids - {one.inbox_id for one in ours}
        for accepted in ours:
            self._go_on(accepted, tasks)
        self.resumed.set()

    async def answered_since(self, after_id: int, limit: int) -> list[HeardMessage]:
        """Return answered messages with greater ids, oldest first; see `inbox.answered_since`."""
        return await inbox.answered_since(self._journal, after_id, limit, self._left)

    async def catch_up(self, channel: str, recipient: str, tasks: asyncio.TaskGroup) -> None:
        """Send the messages that waited for an absent recipient."""
        await self._delivery.catch_up(channel, recipient, tasks)

    async def abandon(self, channel: str) -> int:
        """Close the open messages of a channel without people; return their number.

        Messages that answer nothing stay for the next person.
        """
        left = await self._journal.transact(
            lambda db: inbox.close_all(db, channel, InboxState.ABANDONED)
        )
        for answer in await self._delivery.left_over():
            if answer.channel == channel and answer.in_reply_to:
                await self._delivery.give_up(answer)
        return left

    async def use_tool(
        self, message: Inbound, call: ToolCall, turn: str, first: "Ask | None" = None
    ) -> ToolResult:
        """Run a tool call of a caller outside, which the message stands for.

        Args:
            first: is asked for approval before the owner's own chat.
        """

        async def ask(question: Question) -> Answer:
            answer = Answer.NONE if first is None else await first(question)
            return answer if answer is not Answer.NONE else await self._desk.ask(message, question)

        return await self._conversations.use_tool(message, call, ask, turn)

    def stop(self, conversation: str) -> bool:
        """Cancel the turn of a conversation; return true if there was one."""
        return self._queues.stop(conversation)

    def withdraw(self, channel: str, message_id: str) -> None:
        """Cancel the turn on one message, whether it has begun or not."""
        self._queues.withdraw(channel, message_id)

    @cached_property
    def _files(self) -> "PersonalFiles":
        from agent.messaging.personal_files import PersonalFiles  # noqa: PLC0415 - as below

        return PersonalFiles(Path(self._conversations.workspace))

    @cached_property
    def _user_questions(self) -> "UserQuestions":
        from agent.messaging.user_questions import UserQuestions  # noqa: PLC0415 - no start needs it

        return UserQuestions(self._delivery, self._desk.questions)

    @cached_property
    def _reminders(self) -> "QuestionReminders":
        from agent.messaging.user_questions import (  # noqa: PLC0415 - as above
            QuestionReminders,
        )

        return QuestionReminders(self._delivery, self._desk.questions)

    @cached_property
    def _commands(self) -> "CommandRunner":
        return CommandRunner(
            self._conversations, self._delivery, self._desk, self.stop, self._close
        )


class CommandRunner:
    """Runs commands, each as soon as it comes.

    Args:
        stop: cancels the turn of a conversation; returns true if there was one.
        close: closes a command that something else answers, when there is room.
    """

    def __init__(
        self,
        conversations: Conversations,
        delivery: Delivery,
        desk: Desk,
        stop: Callable[[str], bool],
        close: Callable[[Accepted], None],
    ) -> None:
        self._conversations = conversations
        self._delivery = delivery
        self._desk = desk
        self._stop = stop
        self._close = close

    async def run(self, accepted: Accepted, command: ChatCommand | str) -> None:
        """Run the command and send its result; it needs no model and waits for no turn."""
        try:
            if command is ChatCommand.PLOT:
                await self._plot(accepted)
                return
            text = await self._tried(self._result_of(command, accepted.message))
            if not text:
                self._close(accepted)
                return
            told = await self._conversations.finish(accepted, text)
            await self._delivery.answer(accepted, told)
        except StorageFull as err:
            told = unrecorded(accepted, f"I cannot do that: {err}")
            await self._delivery.answer(accepted, told, InboxState.FAILED)

    async def _tried(self, told: Awaitable[str]) -> str:
        """Return what is said; a command that breaks would be begun again by each start."""
        try:
            return await told
        except StorageFull:
            raise
        except Exception:  # noqa: BLE001 - as of a turn: one message must not end the others
            _log.exception("command: failed")
            return COMMAND_FAILED_TEXT

    async def _result_of(self, command: ChatCommand | str, message: Inbound) -> str:
        """Return what is said; "" where something else says it."""
        conversation = message.conversation
        match command:
            case ChatCommand.HELP:
                known = help_text(PersonRole.of(message.provenance))
                there = self._delivery.abilities(message.channel).group_stop
                return f"{known}\n\n{there}" if there and message.is_group else known
            case ChatCommand.NEW | ChatCommand.CLEAR:
                removed = await self._conversations.forget(conversation)
                return f"A new conversation. {removed} messages are gone; memories stay."
            case ChatCommand.STOP:
                # The message whose turn it was is answered with the stop
                return "" if self._stop(conversation) else NOTHING_TO_STOP_TEXT
            case ChatCommand.ESTOP | ChatCommand.ESTOP_CLEAR | ChatCommand.CONFIGURE:
                return await self._desk.oversight.obey(command, message)
            case ChatCommand():
                return await self._shown(command, message)
            case _:
                known = help_text(PersonRole.of(message.provenance))
                return f"I do not know {command}.\n{known}"

    async def _plot(self, accepted: Accepted) -> None:
        """Answer with a picture, or with a line of blocks where no files can go."""
        from agent.turn.answer_files import enclosed  # noqa: PLC0415 - for those who ask

        message = accepted.message
        takes = self._delivery.abilities(message.channel).takes_files
        told = await self._tried(self._desk.plot(message, takes_files=takes))
        workspace = Path(self._conversations.workspace)
        answer = await asyncio.to_thread(enclosed, told, workspace, takes_files=takes)
        sent = await self._conversations.finish(accepted, answer.text, files=answer.files)
        await self._delivery.answer(accepted, sent)

    async def _shown(self, command: ChatCommand, message: Inbound) -> str:
        if command is ChatCommand.STATUS:
            return await self._desk.report(message.conversation)
        if command is ChatCommand.BOARD:
            from agent.messaging.command_reports import board_report  # noqa: PLC0415 - for those who ask

            return board_report(self._desk.oversight.boards)
        if command is ChatCommand.MEMORY:
            return await self._conversations.known(message)
        if command is ChatCommand.FILES:
            from agent.messaging.personal_files import PersonalFiles  # noqa: PLC0415 - as above

            files = PersonalFiles(Path(self._conversations.workspace))
            return await asyncio.to_thread(files.listing, message)
        if command is ChatCommand.JOBS:
            return await self._conversations.jobs(message)
        return await self._conversations.model(command, message)
