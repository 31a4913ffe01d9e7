"""Reading position in a topic, kept over restarts.

Losing it only brings messages again that the server still has, which are known by their ids.
"""

import asyncio
import json
import logging
import re
from pathlib import Path

_log = logging.getLogger(__name__)

_PLACE = re.compile(r"[-_A-Za-z0-9]{1,64}")


class Position:
    """An id or a time, as the server takes them; empty where nothing was read yet."""

    def __init__(self, path: Path, topic: str) -> None:
        self._path = path
        self._topic = topic
        self.since = ""

    async def load(self) -> None:
        self.since = self.since or await asyncio.to_thread(self._read)

    async def advance(self, since: str) -> None:
        """Everything up to there is committed."""
        self.since = since
        await asyncio.to_thread(self._write)

    def _read(self) -> str:
        try:
            told = json.loads(self._path.read_bytes())
            topic, since = str(told["topic"]), str(told["since"])
        except (OSError, ValueError, TypeError, KeyError):
            return ""
        return since if topic == self._topic and _PLACE.fullmatch(since) else ""

    def _write(self) -> None:
        temp = self._path.with_name(f"{self._path.name}.part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temp.write_text(json.dumps({"topic": self._topic, "since": self.since}))
            temp.replace(self._path)
        except OSError as err:
            _log.warning("how far ntfy was read is not kept: %s", err.strerror)
