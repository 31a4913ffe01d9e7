"""Grammar of one git command: words that only look, and words that change something."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from agent.security.grammars.base import Grammar


class GitCommand(Struct, frozen=True):
    """A git command with a grammar for looking and one for changing.

    Args:
        beneath: commands of its own, by the first word after it.
    """

    looking: Grammar | None = None
    writing: Grammar | None = None
    beneath: Mapping[str, "GitCommand"] = field(default_factory=dict)

    def only_looks(self, words: Sequence[str]) -> bool:
        if words and words[0] in self.beneath:
            return self.beneath[words[0]].only_looks(words[1:])
        return self.looking is not None and not self.looking.complaint(words)

    def complaint(self, words: Sequence[str]) -> str:
        """Return the reason to refuse these words; "" if they are allowed."""
        if words and words[0] in self.beneath:
            return self.beneath[words[0]].complaint(words[1:])
        if self.only_looks(words):
            return ""
        return (self.writing or self.looking or Grammar()).complaint(words)
