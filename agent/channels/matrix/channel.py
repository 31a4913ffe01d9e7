"""Matrix as a channel: its parts put together, and what is only a courtesy kept quiet."""

import logging
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent.channels import worded
from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Mark, Pulse, Question
from agent.channels.incoming import IncomingFiles
from agent.channels.matrix import words
from agent.channels.matrix.api import MatrixApi, quoted
from agent.channels.matrix.listening import Ears, Listening
from agent.channels.matrix.position import Position
from agent.channels.matrix.rooms import Rooms
from agent.channels.matrix.sending import Sending
from agent.channels.matrix.understanding import NAME, Groups
from agent.channels.place import Place
from agent.channels.rest import UPLOAD_TIMEOUT_S
from agent.clock import Clock
from agent.errors import ChannelError
from agent.messages import Address, Inbound, Outbound

if TYPE_CHECKING:
    from agent.channels.matrix.encryption.encryption import Encryption

_log = logging.getLogger(__name__)

# The server is told to show it somewhat longer
TYPING_EVERY_S = 20.0
TYPING_MS = 30_000
# All files of a message; nothing else is heard meanwhile
FETCH_TIMEOUT_S = 45.0
# Messages that have a sign which another one will replace
MAX_SIGNS = 200
HINT = "Your answer is shown in Matrix: Markdown is fine, but no tables and no headings."
_SIGNS = {Mark.SEEN: "👀", Mark.DONE: "👍", Mark.FAILED: "😢"}


class MatrixChannel(Channel):
    """One account on its homeserver.

    Args:
        crypt: reads and writes in encrypted rooms; None where nothing is installed for it.
    """

    name = NAME
    abilities = Abilities(
        hint=HINT,
        typing_every_s=TYPING_EVERY_S,
        upload_s=UPLOAD_TIMEOUT_S,
        shows_drafts=True,
        shows_marks=True,
        takes_files=True,
        asks=True,
    )

    def __init__(
        self,
        api: MatrixApi,
        crypt: "Encryption | None",
        groups: Groups,
        place: Place,
        clock: Clock,
    ) -> None:
        self._crypt = crypt
        self.pulse: Pulse = Pulse(clock)
        self._api = api
        position = Position(place.folder / "position.json")
        self._sending = Sending(api, Rooms(api), position, self._crypt, clock)
        self._questions = OpenQuestions()
        files = IncomingFiles(place.transcriber, self.pulse.beat, FETCH_TIMEOUT_S)
        ears = Ears(self._questions, files, place.keeping, place.knows, groups)
        self._listening = Listening(api, ears, self._sending, self.pulse, clock)
        # The event of the sign on a message
        self._signs: OrderedDict[str, str] = OrderedDict()
        self._typing: set[str] = set()

    async def listen(self, deliver: Deliver) -> None:
        await self._listening.run(deliver)

    async def send(self, message: Outbound) -> None:
        await self._sending.send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return words.parts(text)

    async def draft(self, inbound: Inbound, text_so_far: str) -> None:
        if text_so_far.strip():
            self._sending.drafts.show(inbound, text_so_far)

    async def ask(self, address: Address, question: Question) -> Answer:
        return await worded.ask(self._questions, address, question, self.send)

    async def typing(self, inbound: Inbound) -> None:
        self._typing.add(inbound.reply_target)
        await self._type(inbound.reply_target, {"typing": True, "timeout": TYPING_MS})

    async def mark(self, inbound: Inbound, mark: Mark) -> None:
        room, event = inbound.reply_target, inbound.message_id
        at = f"/rooms/{quoted(room)}"
        if mark is Mark.SEEN:
            await self._courtesy("POST", f"{at}/receipt/m.read/{quoted(event)}", {})
        elif room in self._typing:
            self._typing.discard(room)
            await self._type(room, {"typing": False})
        if before := self._signs.pop(event, ""):
            path = f"{at}/redact/{quoted(before)}/{secrets.token_hex(8)}"
            await self._courtesy("PUT", path, {})
        about = {"rel_type": "m.annotation", "event_id": event, "key": _SIGNS[mark]}
        path = f"{at}/send/m.reaction/{secrets.token_hex(8)}"
        self._signs[event] = await self._courtesy("PUT", path, {"m.relates_to": about})
        if len(self._signs) > MAX_SIGNS:
            self._signs.popitem(last=False)

    async def aclose(self) -> None:
        await self._sending.drafts.aclose()
        if self._crypt is not None:
            await self._crypt.aclose()

    async def _type(self, room: str, told: Mapping[str, object]) -> None:
        path = f"/rooms/{quoted(room)}/typing/{quoted(self._sending.account)}"
        await self._courtesy("PUT", path, told)

    async def _courtesy(self, method: str, path: str, body: Mapping[str, object]) -> str:
        """Do something optional and return its event's id, if any; an answer never waits for it."""
        try:
            told = await self._api.call(method, path, body)
        except ChannelError as err:
            _log.info("%s", err)
            return ""
        return str(told.get("event_id") or "")
