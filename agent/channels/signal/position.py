"""Last handled event, kept over restarts, for daemons that number theirs.

Such a daemon keeps the last thousand events for whoever was away. Losing the number only brings
some of them again, which are known by their ids; so it costs no flush of the disk.
"""

import asyncio
import json
import logging
from pathlib import Path

_log = logging.getLogger(__name__)

# A number that is longer was not written by us
MAX_FILE_BYTES = 4096


class Position:
    """The id to go on after; empty where the daemon has not numbered anything yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._account = ""
        self.after = ""

    async def load(self, account: str) -> None:
        """Begin where the account was left."""
        if account != self._account:
            self._account = account
            self.after = await asyncio.to_thread(self._read)

    async def advance(self, event_id: str) -> None:
        """Everything up to this event is committed."""
        if event_id and event_id != self.after:
            self.after = event_id
            await asyncio.to_thread(self._write)

    def _read(self) -> str:
        try:
            with self._path.open("rb") as file:
                told = json.loads(file.read(MAX_FILE_BYTES))
            is_ours = told["account"] == self._account
            return str(told["after"]) if is_ours else ""
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return ""

    def _write(self) -> None:
        temp = self._path.with_name(f"{self._path.name}.part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temp.write_text(json.dumps({"account": self._account, "after": self.after}))
            temp.replace(self._path)
        except OSError as err:
            _log.warning("how far Signal was read is not kept: %s", err.strerror)
