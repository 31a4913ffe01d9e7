"""The session with the gateway, kept over restarts: what was said meanwhile is then said again.

Losing it loses what was written while nobody listened; a session of another bot is none of ours.
"""

import asyncio
import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path

_log = logging.getLogger(__name__)

_WORDS = ("account", "session_id", "url", "me", "application")


@dataclass(slots=True)
class Begun:
    """What the gateway told at the beginning, and how far everything is committed."""

    account: str
    session_id: str
    url: str
    me: str
    application: str
    seq: int = 0


class Session:
    """`begun` is None where it has to begin anew.

    Args:
        account: which bot it is of, and what that bot hears.
    """

    def __init__(self, path: Path, account: str) -> None:
        self._path = path
        self.account = account
        self.begun: Begun | None = None

    async def load(self) -> None:
        """Once: what this process knows is newer."""
        if self.begun is None:
            self.begun = await asyncio.to_thread(self._read)

    async def save(self) -> None:
        await asyncio.to_thread(self._write)

    async def forget(self) -> None:
        """The gateway has."""
        self.begun = None
        await asyncio.to_thread(self._path.unlink, missing_ok=True)

    def _read(self) -> Begun | None:
        try:
            told = json.loads(self._path.read_bytes())
            words = {name: str(told[name]) for name in _WORDS}
            begun = Begun(**words, seq=int(told["seq"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return begun if begun.account == self.account else None

    def _write(self) -> None:
        if self.begun is None:
            return
        temp = self._path.with_name(f"{self._path.name}.part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temp.write_text(json.dumps(asdict(self.begun)))
            temp.replace(self._path)
        except OSError as err:
            _log.warning("the session with Discord is not kept: %s", err.strerror)
