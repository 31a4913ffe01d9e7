"""Topics of the descriptions that a broker keeps for us, in a file.

A broker keeps them for ever. A pin that is removed while the agent is away would stay at Home
Assistant as a switch that nothing moves.
"""

import asyncio
import json
import logging
from collections.abc import Iterable
from pathlib import Path

from agent.channels.mqtt.home_assistant import CONFIG
from agent.errors import StorageFull
from agent.storage.files import write_atomic

_log = logging.getLogger(__name__)


class DescribedTopics:
    """Topics that were described, read at the first use; a damaged file counts as none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: frozenset[str] | None = None

    async def every(self) -> frozenset[str]:
        if self._known is None:
            self._known = await asyncio.to_thread(self._read)
        return self._known

    async def add(self, topics: Iterable[str]) -> None:
        """Keep these as well, before they are published: a cut forgets none."""
        await self._keep(await self.every() | _descriptions(topics))

    async def keep_only(self, topics: Iterable[str]) -> None:
        """Forget all others, which were taken back."""
        await self._keep(_descriptions(topics))

    async def _keep(self, topics: frozenset[str]) -> None:
        if topics == await self.every():
            return
        self._known = topics
        try:
            await asyncio.to_thread(write_atomic, self._path, json.dumps(sorted(topics)).encode())
        except StorageFull as err:
            # What is shown matters more than what would be taken back some day
            _log.warning("mqtt: descriptions not kept (reason=%s)", err)

    def _read(self) -> frozenset[str]:
        try:
            told = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return frozenset()
        named = told if isinstance(told, list) else ()
        return _descriptions(one for one in named if isinstance(one, str))


def _descriptions(topics: Iterable[str]) -> frozenset[str]:
    return frozenset(topic for topic in topics if topic.endswith(CONFIG))
