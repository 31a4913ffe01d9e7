"""Answer for a voice: plain text, in pieces that end where a sentence does."""

import re

from agent.channels.render.plain import to_plain

# The end of a line, or of a sentence
_END = re.compile(r"\n|(?<=[.!?\u3002\uff01\uff1f])(?: |(?<=[\u3002\uff01\uff1f]))")
# Where one of these has begun, only a line's end is sure to be outside of it
_MARKS = frozenset("*_`[~")


class SpokenText:
    """Markdown that grows, as the plain text that is said."""

    def __init__(self) -> None:
        self._waiting = ""
        self._told: list[str] = []
        # What stood between what was said and what follows
        self._gap = ""

    @property
    def whole(self) -> str:
        """Return all that was said."""
        return "".join(self._told)

    def grow(self, markdown: str) -> str:
        """Return what can be said by now; empty while no sentence is over."""
        self._waiting += markdown
        ends = [one.end() for one in _END.finditer(self._waiting) if self._is_sure(one)]
        return self._say(ends[-1]) if ends else ""

    def end(self) -> str:
        """Return the rest."""
        return self._say(len(self._waiting))

    def _is_sure(self, end: re.Match[str]) -> bool:
        if end[0] == "\n":
            # A block of code goes on over lines
            return self._waiting[: end.end()].count("```") % 2 == 0
        return _MARKS.isdisjoint(self._waiting[: end.end()])

    def _say(self, end: int) -> str:
        ready, self._waiting = self._waiting[:end], self._waiting[end:]
        plain = to_plain(ready).strip()
        if not plain:
            return ""
        said = f"{self._gap}{plain}" if self._told else plain
        self._told.append(said)
        self._gap = ready[-1] if ready[-1].isspace() else ""
        return said
