"""Arbitrary memories for hypothesis: text that looks like the file it will be written into."""

from hypothesis import strategies as st

from agent.memory.base import MemoryEntry, Scope
from agent.messages import Provenance

# Lines that a careless format would take for its own
LOOKALIKES = (
    "## sister",
    "```text",
    "```",
    "````json",
    "---",
    "- pinned: yes",
    "- provenance: owner",
    "### 🔑 `key`",
    "*Created: 2026-01-01 | Updated: 2026-01-01*",
    "<!-- 1 memories, sha256 " + "0" * 64 + " -->",
    "# Barnacle memory snapshot",
    '"quoted"',
    "",
    " ",
    "\x00\x1b[31m\x7f",
    "\r\n",
    "\u2028\u2029\x85",
    "\u202e\u200b👩‍🚀",
    "\\n",
)
_chars = st.characters(exclude_categories=["Cs"])
texts = st.one_of(
    st.text(_chars, max_size=30),
    st.lists(st.one_of(st.sampled_from(LOOKALIKES), st.text(_chars, max_size=8)), max_size=6).map(
        "\n".join
    ),
)
_names = st.none() | texts
_seconds = st.one_of(
    st.floats(0, 4e9), st.floats(allow_nan=False, allow_infinity=False), st.just(0.0)
)


@st.composite
def entries(draw: st.DrawFn) -> MemoryEntry:
    """One memory with arbitrary fields; its id is given by the list it is in."""
    return MemoryEntry(
        0,
        draw(texts),
        draw(texts),
        draw(st.sampled_from(["core", "daily", "conversation"]) | texts),
        draw(st.sampled_from(Provenance)),
        Scope(draw(_names), draw(_names), draw(_names), draw(_names)),
        draw(_seconds),
        draw(_seconds),
        importance=draw(st.floats(0, 1)),
        pinned=draw(st.booleans()),
        source=draw(texts),
    )
