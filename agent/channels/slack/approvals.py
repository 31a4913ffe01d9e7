"""Approval buttons as Slack blocks."""

import logging
from functools import partial

from agent.channels import approval_buttons
from agent.channels.approval_buttons import ApprovalButtons
from agent.channels.approvals import OpenApprovals, put
from agent.channels.base import Answer, Question
from agent.channels.slack.client import SlackApi
from agent.channels.slack.events import SlackInteraction
from agent.channels.slack.inbound import NAME, is_ts
from agent.channels.slack.markup import QUIET, escaped
from agent.channels.slack.send import in_thread
from agent.errors import ChannelError
from agent.messages import Address
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# A section holds 3000, of whatever is counted
PIECE_CHARS = 1500
# A call that takes more sections than this to show is asked about at the terminal
MAX_PIECES = 20
# What a notification shows, which is all that a telephone in a pocket does
SUMMARY_CHARS = 200
_LABELS = {
    Answer.YES: ("Yes", {"style": "primary"}),
    Answer.NO: ("No", {"style": "danger"}),
    Answer.ALWAYS: ("Always", {}),
}
Block = dict[str, object]


class SlackApprovals(ApprovalButtons):
    """Approval questions in Slack channels."""

    def __init__(self, api: SlackApi, questions: OpenApprovals) -> None:
        super().__init__(questions)
        self._api = api

    def press(self, told: SlackInteraction) -> None:
        """Handle a pressed button."""
        if told.type != "block_actions" or self._is_theirs(told):
            return
        body = {"channel": told.channel.id, "user": told.user.id, "text": approval_buttons.NOT_OPEN}
        self._begin(self._say_to_them({**body, **in_thread(_thread_of(told))}))

    def _is_theirs(self, told: SlackInteraction) -> bool:
        pressed = told.actions[0].value if told.actions else ""
        address = Address(NAME, told.channel.id, told.user.id, _thread_of(told))
        return self._is_taken(address, pressed)

    def _fits(self, question: Question) -> bool:
        return len(sections(question)) <= MAX_PIECES

    async def _put(self, address: Address, question: Question) -> str:
        body = _message(address, question, [*sections(question), row(question)])
        whole = body | in_thread(address.thread)
        shown = await put(partial(self._api.call, "chat.postMessage", whole))
        ts = shown.get("ts")
        return ts if isinstance(ts, str) and is_ts(ts) else ""

    async def _close(
        self, address: Address, question: Question, message_id: str, outcome: str
    ) -> None:
        block: Block = {"type": "context", "elements": [_plain(outcome)]}
        body = _message(address, question, [*sections(question), block])
        await self._api.call("chat.update", {**body, "ts": message_id})

    async def _say_to_them(self, body: dict[str, object]) -> None:
        try:
            await self._api.call("chat.postEphemeral", body)
        except ChannelError as err:
            _log.info("slack: button press not confirmed (reason=%s)", err)


def sections(question: Question) -> list[Block]:
    """Return the question, character by character."""
    told = approval_buttons.pieces(question, PIECE_CHARS)
    return [{"type": "section", "text": _plain(text)} for text in told]


def row(question: Question) -> Block:
    """Return one row of buttons."""
    known = approval_buttons.button_values(question)
    return {"type": "actions", "elements": [_button(answer, known[answer]) for answer in known]}


def _button(answer: Answer, known: str) -> Block:
    label, style = _LABELS[answer]
    return {
        "type": "button",
        "text": _plain(label),
        "action_id": answer.value,
        "value": known,
        **style,
    }


def _plain(text: str) -> Block:
    # No `:word:` in a call becomes a picture
    return {"type": "plain_text", "text": text, "emoji": False}


def _message(address: Address, question: Question, blocks: list[Block]) -> dict[str, object]:
    summary = escaped(printable_line(f"May I use {question.tool}?", SUMMARY_CHARS))
    return {"channel": address.target, "text": summary, "blocks": blocks, **QUIET}


def _thread_of(told: SlackInteraction) -> str | None:
    thread = told.message.thread_ts
    # One that others have answered beneath is the first of its own thread
    return None if thread == told.message.ts else thread
