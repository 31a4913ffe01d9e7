"""Answering one message: history and memories in, one turn, and what it said kept.

Knows nothing of channels' queues; the dispatcher decides when it runs.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.access.commands import ChatCommand
from agent.errors import StorageFull
from agent.memory.settings import MemorySettings
from agent.messages import (
    NOT_KEPT,
    Attachment,
    ChatMessage,
    Effect,
    Inbound,
    Outbound,
    Role,
    ToolCall,
    ToolResult,
)
from agent.messaging import inbox, outbox
from agent.messaging.conversation_parts import ConversationParts
from agent.messaging.inbox import Accepted
from agent.messaging.journal import InboxState
from agent.messaging.recall import MessageRecall
from agent.passage import Passage
from agent.system import logs
from agent.tools.base import ToolContext
from agent.turn import history, model_choice
from agent.turn.attachments import kept, spoken, without_markers
from agent.turn.history import HistoryCache
from agent.turn.hooks import Cancel, GuardFailure
from agent.turn.outcome import says_nothing
from agent.turn.progress import TurnScope
from agent.turn.prompt import (
    PromptSetting,
    changing_prompt,
    owners_memories,
    stable_prompt,
    untrusted_context,
)
from agent.turn.seams import OnText, TurnSeams
from agent.turn.settings import AgentSettings

if TYPE_CHECKING:
    from agent.approvals.questions import Ask
    from agent.turn.learner import Learner
    from agent.turn.model_choice import ModelChoices
    from agent.turn.outcome import TurnOutcome
    from agent.turn.output_filter import AnswerFilter

_log = logging.getLogger(__name__)

# Longest message that is read: a longer one is answered with a sentence
MAX_MESSAGE_CHARS = 64 * 1024
TOO_LONG_TEXT = f"That message is longer than {MAX_MESSAGE_CHARS} characters; I did not read it."
# What the strand of a job's own conversation begins with
JOB_STRAND = "job-"
# A full disk is told of this often
TOLD_EVERY_S = 3600.0
NOT_KEPT_TEXT = "(My storage is full or read-only: I answer, but I store nothing of this.)"
# A turn that changed something and was cut is reported, not repeated
INTERRUPTED_TEXT = (
    "I was interrupted while working on your message, after I had begun to change something. "
    "I do not repeat it by myself: check the present state, and ask again if needed."
)
# A guard of the owner's broke: the log says why
UNREAD_TEXT = (
    "I did not read your message: a guard hook of the owner failed. The log has the details."
)
WITHHELD_TEXT = (
    "I do not send my answer: a guard hook of the owner failed. The log has the details."
)


# The history, the model that was chosen, what was said with its files, and what the owner wrote
_Read = tuple[history.History, str | None, Passage, tuple[Passage, ...]]


class Conversations:
    """Answers accepted messages, one at a time per conversation."""

    def __init__(
        self, parts: ConversationParts, agent: AgentSettings, memory: MemorySettings, workspace: str
    ) -> None:
        self._parts = parts
        self._agent = agent
        self._memory_settings = memory
        self.workspace = workspace
        self.histories = HistoryCache(
            lambda: self._agent.summaries and parts.runner.provider.name != "offline"
        )
        self._recall = MessageRecall(parts.memory, parts.clock)
        self._preparing = asyncio.Lock()
        self._is_prepared = False
        # When a full disk is told of next
        self._next_told_s = 0.0

    def adopt(self, agent: AgentSettings, memory: MemorySettings) -> None:
        """Go by these from now on; a turn that has begun ends with the time it was given."""
        self._agent, self._memory_settings = agent, memory
        self._parts.runner.gate.adopt(agent.policy, frozenset(agent.presence_for))

    def offer(self, models: "ModelChoices") -> None:
        """Let conversations choose from these models from now on."""
        self._parts = replace(self._parts, offer=models)

    @property
    def interrupts(self) -> bool:
        """True if a new message interrupts the turn on the one before it."""
        return self._agent.interrupt

    @property
    def shows(self) -> tuple[bool, bool]:
        """Return if tool calls and thoughts are told in the conversation, from the next turn on."""
        return self._agent.show_tool_calls, self._agent.show_thoughts

    def expect(self, message: Inbound) -> None:
        """Begin with what a turn on this message will ask, while it is being committed."""
        self._recall.expect(message, self._memory_settings)

    async def answer(self, accepted: Accepted, seams: TurnSeams) -> Outbound | None:
        """The answer, committed to the outbox together with the history of the turn.

        None where a turn that nobody waits for had nothing to say, or a hook cancelled it.
        """
        if accepted.acted:
            return await self.finish(accepted, INTERRUPTED_TEXT, state=InboxState.FAILED)
        if len(accepted.message.text) > MAX_MESSAGE_CHARS:
            return await self.finish(accepted, TOO_LONG_TEXT)
        if accepted.message.is_only_notes:
            return await self.finish(accepted, " ".join(accepted.message.notes))
        if not accepted.has_begun:
            await self._parts.journal.transact(lambda db: inbox.begin(db, accepted.inbox_id))
        message = await self._parts.hooks.received(accepted.message)
        if isinstance(message, Cancel):
            return await self._cancelled(accepted, message, UNREAD_TEXT)
        if not self._parts.audience_of(message).is_owner_alone:
            # Only the owner may name a file of the workspace for a model to look at
            message = replace(message, text=without_markers(message.text))
        await self._parts.hooks.turn_starts(message)
        try:
            about = logs.about(conversation=message.conversation, message_id=message.message_id)
            with about, self._parts.activity.thinking():
                async with asyncio.timeout(self._agent.turn_timeout_s):
                    outcome = await self._turn(message, seams)
        except TimeoutError:
            given_up = f"I gave up after {self._agent.turn_timeout_s} s without an answer."
            return await self.finish(accepted, given_up, state=InboxState.FAILED)
        return await self._say(accepted, message, outcome, seams)

    async def _say(
        self,
        accepted: Accepted,
        message: Inbound,
        outcome: "TurnOutcome",
        seams: TurnSeams,
    ) -> Outbound | None:
        """Commit the answer of a turn; None if there is nothing to send."""
        if message.strand and says_nothing(outcome.text):
            await self.close_quietly(accepted)
            return None
        may_go = partial(_may_go, self._parts, message, outcome, seams)
        worded = await self._saying.worded(outcome, message, seams.abilities, may_go)
        told = "\n\n".join(filter(None, (*message.notes, worded.text)))
        text = await self._parts.hooks.sending(message, told)
        if isinstance(text, Cancel):
            return await self._cancelled(accepted, text, WITHHELD_TEXT)
        if not (text.strip() or worded.files):
            _log.info("hooks: answer emptied, not sent (message=%s)", message.message_id)
            await self.close_quietly(accepted)
            return None
        answer = await self.finish(
            accepted,
            text,
            self._said(message, outcome),
            InboxState.ANSWERED if outcome.is_answer else InboxState.FAILED,
            files=worded.files,
            was_too_long=outcome.was_too_long,
        )
        await self._parts.hooks.turn_ended(message, text)
        if not accepted.also:
            await self._learner.turn_ended(message, outcome)
        return answer

    def _said(self, message: Inbound, outcome: "TurnOutcome") -> history.History:
        """Return what the history keeps of a turn: nothing where it was begun anew meanwhile."""
        if message.conversation in self.histories.begun_anew:
            return history.NOTHING_SAID
        said = (ChatMessage.user(kept(message)), *self._saying.kept(outcome).added)
        if outcome.is_recalled:
            said = tuple(replace(one, is_recalled=True) for one in said)
        return history.History(said, outcome.provenance)

    async def finish(
        self,
        accepted: Accepted,
        text: str,
        said: history.History = history.NOTHING_SAID,
        state: InboxState = InboxState.ANSWERED,
        *,
        files: Sequence[Attachment] = (),
        was_too_long: bool = False,
    ) -> Outbound:
        """Commit an answer and what belongs to the history; without room it is only said."""
        if accepted.inbox_id == NOT_KEPT:
            return self._not_kept(accepted, text, files)

        def commit(db: sqlite3.Connection) -> Outbound:
            conversation = accepted.message.conversation
            history.append(db, conversation, said)
            if was_too_long:
                self.histories.halve(db, conversation)
            self.histories.bound(db, conversation, self._agent.history_tokens)
            inbox.close(db, accepted.inbox_id, state)
            for said_before in accepted.also:
                inbox.close(db, said_before, InboxState.MERGED)
            return outbox.add(db, accepted, text, files)

        try:
            answer = await self._parts.journal.transact(commit)
        except StorageFull as err:
            _log.error("outbox: answer not stored (error=%s)", err)
            return self._not_kept(accepted, text, files)
        self._parts.answered()
        return answer

    def _not_kept(self, accepted: Accepted, text: str, files: Sequence[Attachment]) -> Outbound:
        now_s, message = self._parts.clock.monotonic_s(), accepted.message
        if now_s >= self._next_told_s:
            self._next_told_s = now_s + TOLD_EVERY_S
            text = f"{text}\n\n{NOT_KEPT_TEXT}"
        to, about = message.reply_target, message.answers
        kept = tuple(files)
        return Outbound(NOT_KEPT, message.channel, to, text, about, message.thread, files=kept)

    async def _cancelled(self, accepted: Accepted, cancel: Cancel, text: str) -> Outbound | None:
        """Say nothing where a hook wants it so, and `text` where a guard broke."""
        if isinstance(cancel, GuardFailure):
            return await self.finish(accepted, text, state=InboxState.FAILED)
        await self.close_quietly(accepted)
        return None

    async def close_quietly(self, accepted: Accepted) -> None:
        """Close a message without an answer; no later turn reads it again."""

        def close(db: sqlite3.Connection) -> None:
            for inbox_id in (accepted.inbox_id, *accepted.also):
                inbox.close(db, inbox_id, InboxState.ANSWERED)

        await self._parts.journal.transact(close)

    async def forget(self, conversation: str) -> int:
        """Begin the conversation anew; the number of messages that are gone."""
        self.histories.begun_anew.add(conversation)
        clear = partial(self.histories.clear, conversation=conversation)
        return await self._parts.journal.transact(clear)

    async def prepare(self) -> None:
        """Load what turns need; once, and the loop goes on meanwhile."""
        async with self._preparing:
            if not self._is_prepared:
                from agent.messaging import first_turn  # noqa: PLC0415 - no start needs it

                await asyncio.to_thread(first_turn.load, self._parts.registry)
                self._is_prepared = True

    async def settle(self) -> None:
        """Wait for what is being learnt from the last turns, and end what no turn has asked for."""
        await self._recall.aclose()
        # Nobody learns before the first message
        if "_learner" in vars(self):
            await self._learner.settle()

    def growing(self, show: Callable[[str], Awaitable[None]], message: Inbound) -> OnText:
        """Return what shows the answer to it while it is written."""
        from agent.messaging.growing_answers import growing  # noqa: PLC0415 - a message needs it, no start

        return growing(show, message, self._parts.hooks)

    async def known(self, message: Inbound) -> str:
        """Return the memories of whoever asks, in words."""
        from agent.messaging.command_reports import memory_report  # noqa: PLC0415 - for those who ask

        return await memory_report(self._parts.memory, message)

    async def jobs(self, message: Inbound) -> str:
        """Return the jobs of whoever asks, in words."""
        return await self._parts.jobs_of(message.who)

    async def model(self, command: ChatCommand, message: Inbound) -> str:
        """Return the answer to `/model` or `/models`."""
        from agent.messaging.model_commands import ModelCommands  # noqa: PLC0415 - for those who ask

        parts = self._parts
        models = ModelCommands(parts.journal, parts.runner.provider, parts.offer)
        return await models.obey(command, message)

    async def use_tool(self, message: Inbound, call: ToolCall, ask: "Ask", turn: str) -> ToolResult:
        """Run a tool call of a caller outside, who has a model of their own."""
        from agent.messaging.outside_calls import use_tool  # noqa: PLC0415 - for those who are lent it

        return await use_tool(self._parts, message, call, ask, turn, self._agent.turn_timeout_s)

    @cached_property
    def _learner(self) -> "Learner":
        return self._parts.open_learner()

    @cached_property
    def _saying(self) -> "AnswerFilter":
        from agent.turn.output_filter import AnswerFilter  # noqa: PLC0415 - the first answer needs it

        return AnswerFilter(Path(self.workspace))

    async def _turn(self, message: Inbound, seams: TurnSeams) -> "TurnOutcome":
        self.histories.begun_anew.discard(message.conversation)
        seams = replace(seams, hooks=self._parts.hooks)
        # Three files: none waits for another
        memories, (earlier, model, said, briefing), _ = await asyncio.gather(
            self._recall.of(message, self._memory_settings),
            self._read(message),
            self._learner.heard(message),
        )
        place = (self._agent.name, self.workspace, message.channel)
        setting = PromptSetting(*place, self._has_hardware(), briefing, seams.abilities)
        messages = (
            ChatMessage.system(stable_prompt(setting)),
            ChatMessage.system(
                changing_prompt(
                    self._parts.clock.wall_s(),
                    owners_memories(memories),
                    earlier.digest,
                    self._parts.machine(),
                )
            ),
            *(untrusted := untrusted_context(memories)),
            *earlier.messages,
            ChatMessage.user(said),
        )
        # The model reads all of this again, so all of it counts
        trust = min(said.provenance, earlier.provenance, *(m.words.provenance for m in untrusted))
        # What runs by itself orders nothing that runs by itself
        is_job = (message.strand or "").startswith(JOB_STRAND)
        context = ToolContext(
            message.conversation,
            message.who,
            trust,
            place=None if is_job else message.address,
            is_group=message.is_group,
            is_spoken=message.is_spoken,
            audience=self._parts.audience_of(message),
            shares=self._parts.shares,
            holds_private=bool(memories or earlier.messages or earlier.digest),
        )
        ends_s = asyncio.get_running_loop().time() + self._agent.turn_timeout_s
        within, runner = TurnScope(ends_s=ends_s), self._parts.runner
        return await runner.run(messages, context, said.provenance, seams, model, within)

    async def _read(self, message: Inbound) -> _Read:
        key = message.conversation

        def read(db: sqlite3.Connection) -> _Read:
            earlier, model = self.histories.history(db, key), model_choice.chosen(db, key)
            own = (one.text for one in earlier.messages if one.role is Role.ASSISTANT)
            # Files are read, for which this thread is as good as another
            return earlier, model, spoken(message, own), self._parts.briefing()

        return await self._parts.journal.look(read)

    def _has_hardware(self) -> bool:
        moving = (Effect.ACTUATE, Effect.HAZARD)
        return any(spec.effect in moving for spec in self._parts.registry.specs())


async def _may_go(
    parts: ConversationParts, message: Inbound, outcome: "TurnOutcome", seams: TurnSeams, path: str
) -> str:
    """Return why a file does not go along with the answer; empty where it does."""
    from agent.turn.answer_files import complaint_about  # noqa: PLC0415 - few answers have files

    context = ToolContext(
        message.conversation,
        message.who,
        outcome.provenance,
        outcome.source,
        audience=parts.audience_of(message),
        shares=parts.shares,
    )
    return await complaint_about(path, context, parts.runner.gate, seams.ask)
