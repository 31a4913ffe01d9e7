"""Numbers of people who may hide them later, and numbers that people have left.

Everybody has an id beside the number. Whoever takes a user name may be known by the id alone from
then on, and is still who they were: another number has another id. A number that was left may be
anybody's: until the agent knows who has it, nothing goes there that was for the one before.
"""

from pathlib import Path

import msgspec

from agent.channels.cursor import CursorFile

# People; whoever was noted first is forgotten first
MAX_PEOPLE = 500


class _Kept(msgspec.Struct):
    # Ids are those of one business
    number_id: str
    numbers: dict[str, str] = {}
    left: list[str] = []


class HiddenNumbers:
    """Numbers by ids, kept over restarts.

    Args:
        number_id: whose people they are.
    """

    def __init__(self, path: Path, number_id: str) -> None:
        self._file = CursorFile(path, _Kept, "whatsapp")
        self._number_id = number_id
        self._kept: _Kept | None = None

    async def find(self, user_id: str) -> str:
        """Return the number that came with an id; empty if none has."""
        return (await self._all()).numbers.get(user_id, "")

    async def note(self, user_id: str, number: str) -> None:
        """Remember a number, which belongs to one id."""
        kept = await self._all()
        if kept.numbers.get(user_id) == number:
            return
        others = {one: known for one, known in kept.numbers.items() if known != number}
        newest = [*others.items(), (user_id, number)][-MAX_PEOPLE:]
        kept.numbers = dict(newest)
        await self._file.write(kept)

    async def leave(self, number: str) -> None:
        """Remember that its person has another number now."""
        kept = await self._all()
        kept.numbers = {one: known for one, known in kept.numbers.items() if known != number}
        kept.left = [*(one for one in kept.left if one != number), number][-MAX_PEOPLE:]
        await self._file.write(kept)

    async def take(self, number: str) -> None:
        """Remember that somebody whom the agent knows has it."""
        kept = await self._all()
        if number in kept.left:
            kept.left = [one for one in kept.left if one != number]
            await self._file.write(kept)

    async def is_left(self, number: str) -> bool:
        return number in (await self._all()).left

    async def _all(self) -> _Kept:
        if self._kept is None:
            read = await self._file.read()
            is_ours = read is not None and read.number_id == self._number_id
            self._kept = read if read is not None and is_ours else _Kept(self._number_id)
        return self._kept
