"""Decision what is shown of an answer while it is written."""

from collections.abc import Awaitable, Callable

from agent.messages import Inbound
from agent.turn.hooks import OwnerHooks
from agent.turn.seams import OnText


def growing(show: Callable[[str], Awaitable[None]], message: Inbound, hooks: OwnerHooks) -> OnText:
    """Return what shows the answer to a message, where that is anybody's to see yet."""
    # A turn that nobody waits for may end with nothing to say, and a hook may hold it back
    if message.strand or hooks.read_answers:
        return _unseen
    from agent.turn.output_filter import StreamedDraft  # noqa: PLC0415 - a message needs it, no start

    return StreamedDraft(show, "" if message.is_forwarded else message.text)


async def _unseen(*_of_it: object) -> None:
    """Show no part of an unfinished answer."""
