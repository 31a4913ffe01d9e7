"""Seam to ask the person of the turn a question."""

from typing import Protocol

from msgspec import Struct

from agent.messages import Provenance


class InquiryAnswer(Struct, frozen=True):
    """Answer of a person and its trust.

    Args:
        is_spoken: it was said aloud, and may have been heard wrongly.
    """

    text: str
    provenance: Provenance
    is_spoken: bool = False


class Inquiry(Protocol):
    """Sends a question to the conversation and waits for the next message there."""

    async def __call__(self, question: str, trust: Provenance = Provenance.MODEL) -> InquiryAnswer:
        """Return the answer; wait until cancelled. Links stay in what the owner's own word is.

        Raises:
            ChannelError: nobody can be asked, or it could not be sent.
        """
