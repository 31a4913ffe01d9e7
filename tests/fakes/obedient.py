"""A model that believes everything: it reads what it is sent to, and does what stands there."""

import json
from collections.abc import Sequence

from agent.messages import Role
from agent.providers.base import ChatRequest, ChatResponse, Provider
from tests.fakes.injections import undressed
from tests.fakes.provider import calls

Wish = tuple[str, dict[str, object]]


class ObedientProvider(Provider):
    """Makes its errands first, then obeys every text that it has seen since.

    What it cannot make sense of it obeys all the same, for a cleverer model might.

    Args:
        errands: what the owner asked for.
        orders: what the text wants, in the order in which it wants it.
    """

    name = "obedient"

    def __init__(self, errands: Sequence[Wish], orders: Sequence[Wish], last_words: str) -> None:
        self._wishes = [*errands, *orders]
        self._last_words = last_words
        self.has_understood = False
        self.seen: list[str] = []

    async def chat(self, request: ChatRequest) -> ChatResponse:
        said = [one for one in request.messages if one.role is not Role.SYSTEM]
        self.seen = [one.text for one in said]
        self.has_understood |= any(undressed(text) for text in self.seen)
        if not self._wishes:
            return ChatResponse(self._last_words)
        tool, arguments = self._wishes.pop(0)
        return calls((tool, json.dumps(arguments)))
