"""Parts that a channel shares with the rest of the agent."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.channels.received_files import Knows, ReceivedFiles

if TYPE_CHECKING:
    from agent.channels.speech.base import Recogniser


# The channel, the old and the new place
GroupMoved = Callable[[str, str, str], Awaitable[None]]
# The channel, and whose account it was there; StorageFull where that cannot be recorded
AccountLeft = Callable[[str, str], Awaitable[None]]


async def nobody_left(channel: str, sender: str) -> None:
    """Leave it: where no agent is there is no list of people."""


async def nothing_follows(channel: str, target: str, now_at: str) -> None:
    """Leave it: where no agent is there is no list of groups."""


class ChannelContext(Struct, frozen=True):
    """Folder of a channel, and the people that it listens to.

    Args:
        folder: for what has to outlive a restart.
        knows: whose files are fetched.
        account_left: is told the channel and the account of a person who has another one by now.
        group_moved: is told the channel, the old and the new place of a group that moved.
        commands: what can be typed, with what it does, where the platform shows a list.
    """

    folder: Path
    keeping: ReceivedFiles
    knows: Knows
    recogniser: "Recogniser | None" = None
    commands: Sequence[tuple[str, str]] = ()
    group_moved: GroupMoved = nothing_follows
    account_left: AccountLeft = nobody_left
