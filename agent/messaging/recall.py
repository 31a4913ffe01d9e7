"""Recall for one message: the memories that its turn is shown."""

import logging

from agent.errors import MemoryUnavailable
from agent.memory.base import Chronicled, Memory, MemoryEntry, Scope
from agent.memory.settings import MemorySettings
from agent.messages import Inbound
from agent.turn.prompt import recalled

_log = logging.getLogger(__name__)

# In a group most of what fits may be private: more is looked at before that is left out
_GROUP_SEARCH = 8


async def recall(message: Inbound, memory: Memory, settings: MemorySettings) -> list[MemoryEntry]:
    """Return the memories that are worth showing; none if the memory cannot be had."""
    # What everybody in a group may know is recalled there besides what is the person's own
    group = message.address.chat if message.is_group else None
    scope = Scope(message.who, message.conversation, group)
    try:
        limit = settings.recall_limit * (1 if group is None else _GROUP_SEARCH)
        found = await memory.recall(message.text, limit, scope)
        if isinstance(memory, Chronicled):
            found = await memory.with_former(found, message.text)
    except MemoryUnavailable as err:
        _log.warning("memory: not available for this turn (error=%s)", err)
        return []
    if group is not None:
        from agent.tools.memory_group import told_there  # noqa: PLC0415 - groups alone need it

        found = told_there(found, group, message.conversation)[: settings.recall_limit]
    return recalled(found, settings.min_score)
