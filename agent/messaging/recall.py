"""Recall for one message: the memories that its turn is shown."""

import logging

from agent.errors import MemoryUnavailable
from agent.memory.base import Catalogued, Chronicled, Foresighted, Memory, MemoryEntry, Scope
from agent.memory.settings import MemorySettings
from agent.messages import Inbound
from agent.turn.prompt import recalled

_log = logging.getLogger(__name__)


def expect(message: Inbound, memory: Memory) -> None:
    """Have the memory begin with what `recall` will ask."""
    if isinstance(memory, Foresighted):
        memory.expect(message.text)


async def recall(message: Inbound, memory: Memory, settings: MemorySettings) -> list[MemoryEntry]:
    """Return the pinned memories and those worth showing; none if the memory cannot be had."""
    # What everybody in a group may know is recalled there besides what is the person's own
    group = message.address.chat if message.is_group else None
    scope = Scope(message.who, message.conversation, group)
    asked = (message.text, settings.recall_limit, scope)
    try:
        pinned = await memory.pinned(scope) if isinstance(memory, Catalogued) else []
        if group is not None:
            from agent.tools import memory_group  # noqa: PLC0415 - groups alone need it

            found = await memory_group.recall(memory, *asked)
            pinned = memory_group.told_there(pinned, message.conversation)
        else:
            found = await memory.recall(*asked)
            if isinstance(memory, Chronicled):
                found = await memory.with_former(found, message.text)
    except MemoryUnavailable as err:
        _log.warning("memory: not available for this turn (error=%s)", err)
        return []
    return recalled(found, settings.min_score, pinned)
