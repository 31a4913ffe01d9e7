"""Approval buttons as Discord components."""

import logging
from functools import partial

from agent.channels import approval_buttons
from agent.channels.approval_buttons import ApprovalButtons
from agent.channels.approvals import OpenApprovals, put
from agent.channels.base import Answer, Question
from agent.channels.discord.client import DiscordApi
from agent.channels.discord.events import DiscordInteraction
from agent.channels.discord.inbound import NAME
from agent.channels.discord.markup import literal
from agent.channels.discord.threads import messages_in
from agent.errors import ChannelError
from agent.messages import Address

_log = logging.getLogger(__name__)

# Twice as many where every sign has to be escaped, and room for the fence
PIECE_CHARS = 900
# A call that takes more messages than this to show is asked about at the terminal
MAX_MESSAGES = 6
# Kinds of answers to an interaction, and the mark of what only its person sees
SAID, TAKEN, ONLY_TO_THEM = 4, 6, 1 << 6
# Kinds of components: a row, and a button in it by its colour
_ROW, _BUTTON = 1, 2
_LABELS = {Answer.YES: ("Yes", 3), Answer.NO: ("No", 4), Answer.ALWAYS: ("Always", 2)}


class DiscordApprovals(ApprovalButtons):
    """Approval questions in Discord channels."""

    def __init__(self, api: DiscordApi, questions: OpenApprovals) -> None:
        super().__init__(questions)
        self._api = api

    def press(self, told: DiscordInteraction) -> None:
        """Handle a pressed button; the platform waits 3 s for our confirmation."""
        if self._is_theirs(told):
            self._begin(self.reply(told, {"type": TAKEN}))
        else:
            self.say_to_them(told, approval_buttons.NOT_OPEN)

    def say_to_them(self, told: DiscordInteraction, text: str) -> None:
        """Show a line to the person who pressed or chose, and to nobody else."""
        data = {"content": text, "flags": ONLY_TO_THEM, "allowed_mentions": {"parse": []}}
        self._begin(self.reply(told, {"type": SAID, "data": data}))

    async def reply(self, told: DiscordInteraction, body: dict[str, object]) -> None:
        try:
            await self._api.call("POST", f"/interactions/{told.id}/{told.token}/callback", body)
        except ChannelError as err:
            _log.info("discord: interaction not answered (reason=%s)", err)

    def _is_theirs(self, told: DiscordInteraction) -> bool:
        person = told.person
        if person is None:
            return False
        thread_of = told.channel.thread_of if told.channel is not None else ""
        thread = told.channel_id if thread_of else None
        address = Address(NAME, thread_of or told.channel_id, person.id, thread)
        return self._is_taken(address, told.data.custom_id)

    def _fits(self, question: Question) -> bool:
        return len(pieces(question)) <= MAX_MESSAGES

    async def _put(self, address: Address, question: Question) -> str:
        path = messages_in(address.target, address.thread)
        *before, last = pieces(question)
        for text in before:
            # A long one is more than the platform takes at once
            await put(partial(self._api.call, "POST", path, literal(text)))
        whole = literal(last) | {"components": rows(question)}
        shown = await put(partial(self._api.call, "POST", path, whole))
        number = shown.get("id") if isinstance(shown, dict) else None
        return number if isinstance(number, str) and number.isdigit() else ""

    async def _close(
        self, address: Address, question: Question, message_id: str, outcome: str
    ) -> None:
        path = f"{messages_in(address.target, address.thread)}/{message_id}"
        row = {"type": _ROW, "components": [_button(outcome, 2, "over")]}
        await self._api.call("PATCH", path, {"components": [row]})


def pieces(question: Question) -> list[str]:
    """Split the question into messages."""
    return approval_buttons.pieces(question, PIECE_CHARS)


def rows(question: Question) -> list[dict[str, object]]:
    """Return one row of buttons."""
    known = approval_buttons.button_values(question)
    return [{"type": _ROW, "components": [_button(*_LABELS[key], known[key]) for key in known]}]


def _button(label: str, style: int, known: str) -> dict[str, object]:
    is_over = {"disabled": True} if known == "over" else {}
    return {"type": _BUTTON, "style": style, "label": label, "custom_id": known, **is_over}
