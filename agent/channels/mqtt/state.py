"""State that outlives a restart: the client id, and the ids of the last messages.

A broker says again what it was not told of; the same message must be known by the same id then.
MQTT gives none: a number that is used again, with a flag. So the ids that we gave are kept until
their numbers are used for something else.
"""

import asyncio
import hashlib
import json
import secrets
from collections import OrderedDict
from pathlib import Path

from agent.storage.files import write_atomic

# More than a broker is allowed to have under way to us at once
MAX_RECENT = 64


class MqttState:
    """State of one device at one broker."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._client_id = ""
        # By the broker's number of a message: what it was, and the id that we gave it
        self._recent: OrderedDict[int, tuple[str, str]] = OrderedDict()

    async def client_id(self) -> str:
        """Return the device's client id, made at the first use."""
        if not self._client_id:
            await asyncio.to_thread(self._load)
        return self._client_id

    async def message_id(self, number: int, topic: str, payload: bytes, *, is_again: bool) -> str:
        """Return the id of a message without one.

        Raises:
            StorageFull: it cannot be kept, so that the message must not be confirmed.
        """
        digest = hashlib.sha256(topic.encode() + b"\0" + payload).hexdigest()
        known = self._recent.get(number)
        if is_again and known is not None and known[0] == digest:
            return known[1]
        given = secrets.token_hex(8)
        self._recent.pop(number, None)
        self._recent[number] = (digest, given)
        while len(self._recent) > MAX_RECENT:
            self._recent.popitem(last=False)
        await asyncio.to_thread(self._write)
        return given

    def _load(self) -> None:
        try:
            told = json.loads(self._path.read_bytes())
            recent = [(int(number), (str(one), str(two))) for number, one, two in told["recent"]]
            self._recent = OrderedDict(recent[-MAX_RECENT:])
            self._client_id = str(told["client_id"])
        except (OSError, ValueError, TypeError, KeyError):
            self._client_id = f"barnacle-{secrets.token_hex(4)}"
            self._write()

    def _write(self) -> None:
        recent = [(number, *told) for number, told in self._recent.items()]
        told = {"client_id": self._client_id, "recent": recent}
        write_atomic(self._path, json.dumps(told).encode())
