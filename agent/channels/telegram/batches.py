"""A batch of updates in the order in which it is worked off, with albums put together.

Buttons and what stops the agent go first: they are no use behind ten pictures.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from agent.channels.telegram.updates import Callback, Message, Update
from agent.channels.urgency import is_urgent


def presses(updates: Sequence[Update]) -> Iterator[Callback]:
    for update in updates:
        if update.callback_query is not None:
            yield update.callback_query


def messages(updates: Sequence[Update]) -> list[tuple[Message, ...]]:
    """The messages; those of an album are one."""
    found = [update.message for update in updates if update.message is not None]
    albums = [tuple(group) for _, group in groupby(found, key=_album)]
    return sorted(albums, key=lambda album: not is_urgent(album[0].text))


def urgent(updates: Sequence[Update]) -> list[Message]:
    """Return the messages that stop the agent."""
    found = [update.message for update in updates if update.message is not None]
    return [message for message in found if is_urgent(message.text)]


def ends_in_album(updates: Sequence[Update]) -> bool:
    """Return true if more of the last message may still be on its way."""
    last = updates[-1].message if updates else None
    return last is not None and bool(last.media_group_id)


def _album(message: Message) -> tuple[int, str]:
    return message.chat.id, message.media_group_id or str(message.message_id)
