"""Reports for `/memory` and `/board`, made without a model."""

from collections import Counter
from collections.abc import Sequence

from agent.errors import MemoryUnavailable
from agent.link.base import Board, BoardState
from agent.memory.base import CONVERSATION, Memory, MemoryEntry, Scope
from agent.messages import Inbound
from agent.text.printable import printable_line
from agent.tools.memory_sources import SAID_BY, day_of

# Fits one screen of a telephone
_LISTED = 10
# A fact is a sentence; the rest is asked for in words
_SHOWN_CHARS = 160
# Enough to count by source; more than that is said to be more
_COUNTED = 1000
IN_A_GROUP_TEXT = "Others can read this chat. Ask me in our private chat what I remember about you."

NONE_TEXT = "There is no board."


async def memory_report(memory: Memory, message: Inbound) -> str:
    """Return the newest memories of the person who asks, and a count by source."""
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
    # Conversation entries are counted, not listed
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


def board_report(boards: Sequence[Board]) -> str:
    """Return the state of each board and its pins."""
    return "\n".join(line for board in boards for line in _board_lines(board)) or NONE_TEXT


def _board_lines(board: Board) -> list[str]:
    status = board.status
    known = status.identity
    if status.state is BoardState.READY and known is not None:
        said = f"{known.board} on {status.port}, firmware {known.firmware}"
    else:
        said = status.state.value
    trouble = f" ({status.trouble})" if status.trouble else ""
    lines = [f"{board.name}: {said}{trouble}."]
    pins = board.manifest.pins if board.manifest else ()
    lines += [f"- {pin.name} ({pin.pin}): {', '.join(pin.can)}" for pin in pins]
    if status.state is BoardState.READY:
        lines.append(f"Link: {board.counters.in_words()}.")
    return lines
