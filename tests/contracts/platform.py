"""A platform with a server of its own, as the checks of every channel use it."""

from collections.abc import Mapping
from typing import Protocol

from agent.channels.base import Answer, Channel, Question
from agent.messages import Inbound


class Platform(Protocol):
    """A platform's server with one private chat and one group, and a channel to it."""

    channel: Channel
    repeats_what_was_not_confirmed: bool
    # Why something cannot be shown of it, by the name of the check; empty for most
    cannot: Mapping[str, str]

    def restarted(self) -> Channel:
        """Another channel on the same account and folder."""

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        """Somebody writes; in the group they call the agent by its name, unless told not to."""

    async def write_in_thread(self, text: str) -> bool:
        """The same in a topic of the group; False where there are none."""

    async def write_with_file(self, text: str, content: bytes) -> None:
        """Somebody sends a file."""

    async def repeat(self) -> None:
        """The platform delivers the last message once more."""

    def shown(self, inbound: Inbound) -> list[str]:
        """The answers that stand where that message was written."""

    def files(self) -> list[bytes]:
        """What the agent has sent as files."""

    def marks(self) -> int:
        """How many signs were put on messages."""

    def typings(self) -> int:
        """How often it was shown that an answer is worked on."""

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        """The next message meets a server in trouble, or one that wants to be left alone."""

    def cut_listening(self) -> None:
        """The connection that messages come by ends."""

    async def answer_question(self, question: Question, answer: Answer) -> None:
        """The person who was asked says it, however the platform lets them."""
