"""Notice to whoever writes to the agent by an address that it does not know as its own.

Such a letter is dropped, because anybody who has it can hand it in. Its author may not know why:
they are told, once, by words that are the same for all.
"""

from pathlib import Path

import msgspec

from agent.channels.cursor import CursorFile

NOTICE = (
    "A letter of yours reached me, and neither To nor Cc names an address of mine. I did not read "
    "it: somebody else could have passed it on.\n\n"
    "If you wrote it to me, use the address that this comes from, or add the one that you used to "
    "aliases in [channels.email] and restart the agent. I say this once."
)
# People with access; whoever was told first is forgotten first
MAX_TOLD = 100


class _Kept(msgspec.Struct):
    told: list[str] = []


class AliasNotice:
    """People who were told, kept over restarts."""

    def __init__(self, path: Path) -> None:
        self._file = CursorFile(path, _Kept, "email")
        self._kept: _Kept | None = None

    async def is_due(self, sender: str) -> bool:
        return sender not in (await self._all()).told

    async def note(self, sender: str) -> None:
        """Remember that they were told."""
        kept = await self._all()
        kept.told = [*kept.told, sender][-MAX_TOLD:]
        await self._file.write(kept)

    async def _all(self) -> _Kept:
        if self._kept is None:
            self._kept = await self._file.read() or _Kept()
        return self._kept
