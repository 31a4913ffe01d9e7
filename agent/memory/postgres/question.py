"""Question to the shared brain."""

from functools import cached_property

from msgspec import Struct

from agent.embeddings.base import PassageReading
from agent.memory.base import Scope
from agent.memory.text import asked_tokens

# Longer questions are searched by their first telling words: each one costs a look at the index
MAX_ASKED_TOKENS = 32


class PostgresQuestion(Struct, frozen=True, dict=True):
    """A question with its asker.

    Args:
        reading: of the model; None if words must do.
        now_s: when it is asked; None where that does not matter.
    """

    text: str
    scope: Scope
    reading: PassageReading | None = None
    model: str = ""
    now_s: float | None = None

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """Return its telling tokens."""
        return tuple(asked_tokens(self.text, MAX_ASKED_TOKENS))
