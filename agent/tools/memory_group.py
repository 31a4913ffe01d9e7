"""Memories of a group: all members recall them; nobody changes those of a more trusted person."""

from collections.abc import Sequence

from agent.memory.base import Chronicled, Memory, MemoryEntry, Scope
from agent.tools.base import ToolContext

NO_GROUP_TEXT = "this is not a group: store it without `for_group`"
NOT_THEIRS_TEXT = "a more trusted person told the group this memory, so it stays"

# Most of what fits may be private: more is looked at before that is left out
_GROUP_SEARCH = 8
# What says the same is found first
_LIKE_IT = 5


def scope_of(context: ToolContext) -> Scope:
    """Return a scope that belongs to the group, not to the person."""
    return Scope(None, context.conversation, context.group)


async def recall(memory: Memory, query: str, limit: int, scope: Scope) -> list[MemoryEntry]:
    """Return the most relevant of what everybody in the scope's group may read.

    What is the group's or everybody's is searched by itself, so that nothing private crowds it out.

    Raises:
        MemoryUnavailable: nobody knows now.
    """
    shared = await _found(memory, query, limit, Scope(None, scope.session, scope.group))
    persons = await _found(memory, query, limit * _GROUP_SEARCH, scope)
    once = {entry.memory_id: entry for entry in (*persons, *shared)}
    ordered = sorted(once.values(), key=lambda entry: entry.score or 0.0, reverse=True)
    return ordered[:limit]


async def _found(memory: Memory, query: str, limit: int, scope: Scope) -> list[MemoryEntry]:
    found = await memory.recall(query, limit, scope)
    if isinstance(memory, Chronicled):
        found = await memory.with_former(found, query)
    return told_there(found, scope.session or "")


def told_there(entries: Sequence[MemoryEntry], conversation: str) -> list[MemoryEntry]:
    """Return what everybody in a group may read: not what a person has told elsewhere."""
    return [
        entry
        for entry in entries
        if entry.scope.person is None or entry.scope.session == conversation
    ]


async def may_store(memory: Memory, key: str, content: str, context: ToolContext) -> bool:
    """Return true if storing replaces nothing that is trusted more than this turn.

    Raises:
        MemoryUnavailable: nobody knows now.
    """
    if key:
        return await _may_change(memory, key, context)
    # Without a key of its own it replaces what says the same
    found = await memory.recall(content, _LIKE_IT, scope_of(context))
    return not any(one.content == content and _is_above(one, context) for one in found)


async def forget(memory: Memory, key: str, context: ToolContext) -> bool:
    """Forget the memory; return true if the group had it.

    Raises:
        MemoryUnavailable: nothing was forgotten.
    """
    if context.group is None or not await _may_change(memory, key, context):
        return False
    return await memory.forget(key, scope_of(context))


async def _may_change(memory: Memory, key: str, context: ToolContext) -> bool:
    entry = await memory.get(key, scope_of(context))
    return entry is None or not _is_above(entry, context)


def _is_above(entry: MemoryEntry, context: ToolContext) -> bool:
    is_groups = entry.scope.owner == scope_of(context).owner
    return is_groups and entry.provenance > context.provenance
