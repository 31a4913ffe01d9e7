"""An answer that is still growing, shown as it will be said: no leavings, links as in the end.

A part of it only ever becomes more. How often a platform shows it is the channel's business.
"""

import re
from collections.abc import Awaitable, Callable

from agent.messages import Provenance
from agent.turn.artifacts import without_artifacts
from agent.turn.untrusted_links import TRUSTED, without_strange_links

_NOTES = ("[used tool", "[tool call", "[tool result", "[tool use")


def certain(text: str) -> int:
    """Return how many of its characters nothing that follows can take away."""
    line = text.rfind("\n") + 1
    begun = text[line:].lstrip(" \t")[: max(map(len, _NOTES))].lower()
    may_be_note = bool(begun) and any(
        begun.startswith(note) or note.startswith(begun) for note in _NOTES
    )
    return line if may_be_note else len(text)


# Of a long text a word more is not worth another look at all of it
_PARTS = 64
# A word, and after it a link of Markdown, whose end is yet to come
_OPEN_WORD = re.compile(r"\S+\Z")
_OPEN_LINK = re.compile(r"!?\[[^\[\]\n]{0,500}(?:\](?:\([^()\n]*)?)?\Z")


class StreamedDraft:
    """Receiver of a turn's text so far.

    Args:
        said: what the person wrote.
    """

    def __init__(self, show: Callable[[str], Awaitable[None]], said: str) -> None:
        self._show = show
        self._said = said
        self._next_chars = 0
        self._shown = ""

    async def __call__(self, text: str, trust: Provenance, used_tools: bool) -> None:  # noqa: FBT001 - called through a seam
        if len(text) < self._next_chars:
            return
        self._next_chars = len(text) + len(text) // _PARTS
        fit = text[: certain(text)]
        fit = without_artifacts(fit, used_tools=used_tools)
        if trust < TRUSTED:
            fit = _OPEN_LINK.sub("", _OPEN_WORD.sub("", fit))
            fit = without_strange_links(fit, trust, self._said)
        # Empty lines may go with what comes after them
        fit = fit.rstrip()
        if fit and fit != self._shown:
            self._shown = fit
            await self._show(fit)
