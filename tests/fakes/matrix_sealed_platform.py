"""Matrix with every room encrypted: Anna writes and reads by the library that Element uses."""

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.fakes.element_program import Element
from tests.fakes.matrix_platform import MatrixPlatform
from tests.fakes.relay import Relay
from tests.fakes.synapse import Synapse, until_joined

_ENCRYPTION = {
    "type": "m.room.encryption",
    "state_key": "",
    "content": {"algorithm": "m.megolm.v1.aes-sha2"},
}


class SealedMatrixPlatform(MatrixPlatform):
    """The same rooms and people, and nothing in them that the server can read."""

    cannot: Mapping[str, str] = MappingProxyType({})
    state: Sequence[Mapping[str, object]] = (_ENCRYPTION,)

    def __init__(self, server: Synapse, relay: Relay, folder: Path) -> None:
        super().__init__(server, relay, folder)
        self.element = Element(self.anna)
        self._known = itertools.count(1)

    async def send(self, room: str, content: dict[str, object]) -> str:
        await until_joined(self.anna, room, self.agent.id)
        self._last = (room, content, f"s{next(self._known)}")
        return await asyncio.to_thread(self.element.say, *self._last)

    async def repeat(self) -> None:
        await asyncio.to_thread(self.element.say, *self._last)

    async def write_with_file(self, text: str, content: bytes) -> None:
        await until_joined(self.anna, self.chat, self.agent.id)
        told = (self.chat, text, "sheet.pdf", content)
        await asyncio.to_thread(self.element.give, *told)

    def files(self) -> list[bytes]:
        told = [content for _, content in self._ours(self.chat, "m.room.message")]
        return [self.element.take(one["file"]) for one in told if "file" in one]

    def _ours(self, room: str, kind: str) -> list[tuple[str, dict[str, Any]]]:
        # Signs on messages are no secret: no program seals them
        if kind == "m.reaction":
            return super()._ours(room, kind)
        found = [one for one in self.element.events(room) if one["sender"] == self.agent.id]
        for one in found:
            # What is in clear words could be read by anybody
            assert one["sealed"] or one["type"] != kind, one
        return [(one["event_id"], _whole(one)) for one in found if one["type"] == kind]


def _whole(event: dict[str, Any]) -> dict[str, Any]:
    about = {"m.relates_to": event["about"]} if event.get("about") else {}
    return {**event["content"], **about}
