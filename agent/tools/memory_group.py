"""Memories of a group: all members recall them; nobody changes those of a more trusted person."""

from collections.abc import Sequence

from agent.memory.base import Memory, MemoryEntry, Scope
from agent.tools.base import ToolContext

NO_GROUP_TEXT = "this is not a group: store it without `for_group`"
NOT_THEIRS_TEXT = "a more trusted person told the group this memory, so it stays"

# What says the same is found first
_LIKE_IT = 5


def scope_of(context: ToolContext) -> Scope:
    """Return a scope that belongs to the group, not to the person."""
    return Scope(None, context.conversation, context.group)


def told_there(
    entries: Sequence[MemoryEntry], group: str | None, conversation: str
) -> list[MemoryEntry]:
    """Return what everybody in the group may read: not what a person has told elsewhere.

    Outside of a group that is all of it.
    """
    if group is None:
        return list(entries)
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
