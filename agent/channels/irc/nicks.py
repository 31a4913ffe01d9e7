"""Record of who wrote under which nick, so that what is for them goes to nobody else.

A nick belongs to whoever has it. A reminder is said days later, and an answer after a minute.
"""

from collections.abc import Sequence
from pathlib import Path

from agent.channels.cursor import CursorFile
from agent.channels.irc.inbound import ACCOUNT, NAME, IrcLine, folded
from agent.errors import ChannelUnavailable, MessageRefused

# People whom the agent knows; the one who has been silent for longest is forgotten
MAX_KNOWN = 200
_IS_THERE, _IS_LOGGED_IN = "311", "330"
_ASKED_TOO_OFTEN = "263"


class NickOwners:
    """People whom the agent knows, by nick."""

    def __init__(self, path: Path) -> None:
        self._file = CursorFile(path, dict[str, str], NAME)
        self._known: dict[str, str] | None = None

    async def note(self, nick: str, sender: str) -> None:
        known = await self._loaded()
        before = known.pop(folded(nick), None)
        known[folded(nick)] = sender
        if before == sender:
            return
        while len(known) > MAX_KNOWN:
            del known[next(iter(known))]
        await self._file.write(known)

    async def owner(self, nick: str) -> str:
        """Return the sender who wrote under it; empty if nobody whom the agent knows did."""
        return (await self._loaded()).get(folded(nick), "")

    async def _loaded(self) -> dict[str, str]:
        if self._known is None:
            read = await self._file.read() or {}
            # Another message may have been quicker
            self._known = read if self._known is None else self._known
        return self._known


def check_owner(nick: str, owner: str, heard: Sequence[IrcLine]) -> None:
    """Check by the server's answer to WHOIS that the nick is still theirs.

    Raises:
        MessageRefused: it is somebody else's, or nobody's.
        ChannelUnavailable: the server does not say now.
    """
    about = [line for line in heard if folded(line.parameter(1)) == folded(nick)]
    there = next((line for line in about if line.command == _IS_THERE), None)
    if there is None:
        if any(line.command == _ASKED_TOO_OFTEN for line in heard):
            raise ChannelUnavailable(f"the IRC server does not say now who {nick} is")
        raise MessageRefused(f"{nick} is not there")
    accounts = [line.parameter(2) for line in about if line.command == _IS_LOGGED_IN]
    is_theirs = (
        folded(owner.removeprefix(ACCOUNT)) in map(folded, accounts)
        if owner.startswith(ACCOUNT)
        else owner.partition("!")[2] == f"{there.parameter(2)}@{there.parameter(3)}"
    )
    if not is_theirs:
        raise MessageRefused(
            f"{nick} is somebody else by now, so this is for nobody there: whoever it was for "
            "writes to the agent again, and where there are accounts logs in first"
        )
