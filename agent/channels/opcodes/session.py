"""Gateway session, kept over restarts so that missed events are sent again.

Losing it loses what was written while nobody listened; a session of another bot is none of ours.
"""

from pathlib import Path

import msgspec

from agent.channels.cursor import CursorFile


class ResumableSession(msgspec.Struct):
    """Session of a gateway, with the committed position in it.

    Args:
        url: where it is to be taken up; empty where that is the gateway's own address.
        me: the bot's id.
    """

    account: str
    session_id: str
    me: str
    url: str = ""
    seq: int = 0


class GatewaySession:
    """Session on disk; `begun` is None if it must begin anew.

    Args:
        account: which bot it is of, and what that bot hears.
    """

    def __init__(self, path: Path, account: str) -> None:
        self._file = CursorFile(path, ResumableSession, "gateway session")
        self.account = account
        self.begun: ResumableSession | None = None

    async def load(self) -> None:
        """Load once: later this process knows better."""
        if self.begun is None:
            begun = await self._file.read()
            self.begun = begun if begun is not None and begun.account == self.account else None

    async def save(self) -> None:
        if self.begun is not None:
            await self._file.write(self.begun)

    async def forget(self) -> None:
        """Forget the session, as the gateway has."""
        self.begun = None
        await self._file.remove()
