"""`/memory`: what is known of the person who asks, with where it came from; no model is asked."""

from collections import Counter

from agent.errors import MemoryUnavailable
from agent.memory.base import CONVERSATION, Memory, MemoryEntry, Scope
from agent.messages import Inbound
from agent.text.printable import printable_line
from agent.tools.memory_sources import SAID_BY, day_of

# One screen of a telephone
_LISTED = 10
# A fact is a sentence; the rest is asked for in words
_SHOWN_CHARS = 160
# Enough to count by source; more than that is said to be more
_COUNTED = 1000
IN_A_GROUP_TEXT = "Others can read this chat. Ask me in our private chat what I remember about you."


async def memory_report(memory: Memory, message: Inbound) -> str:
    """The newest of what is known, and of everything how much is whose word."""
    if message.is_group:
        return IN_A_GROUP_TEXT
    scope = Scope(message.who)
    try:
        count = await memory.count(scope)
        known = await memory.list(scope, limit=_COUNTED)
    except MemoryUnavailable as err:
        return f"The memory cannot be read now: {err}"
    if not known:
        return "I remember nothing about you yet."
    # What was only said in passing is counted, not listed
    facts = [entry for entry in known if entry.category != CONVERSATION] or known
    things = "1 thing" if count == 1 else f"{count} things"
    lines = [f"I remember {things} for you. The newest:"]
    lines += [_line(entry) for entry in facts[:_LISTED]]
    sources = Counter(SAID_BY[entry.provenance] for entry in known)
    lines += [f"{number} × {said}" for said, number in sources.most_common()]
    lines.append('Say "forget ..." for one of them, or "who told you that?".')
    return "\n".join(lines)


def _line(entry: MemoryEntry) -> str:
    content = printable_line(entry.content, _SHOWN_CHARS)
    source = f", {printable_line(entry.source, _SHOWN_CHARS)}" if entry.source else ""
    return f"- {content} ({day_of(entry.updated_at_s)}{source})"
