"""A model that does what a test taught it, and goes away."""

from collections.abc import Mapping

from agent.errors import TransientProviderError
from agent.messages import Role
from agent.providers.base import ChatRequest, ChatResponse, Provider
from tests.fakes.provider import calls


class LeavingModel(Provider):
    """Makes the calls that a sentence is taught with, until it `is_away`."""

    name = "leaving"

    def __init__(self, taught: Mapping[str, tuple[tuple[str, str], ...]]) -> None:
        self._taught = taught
        self.is_away = False

    async def chat(self, request: ChatRequest) -> ChatResponse:
        if self.is_away:
            raise TransientProviderError("no route to the service")
        last = request.messages[-1]
        if last.role is Role.USER and (wanted := self._taught.get(last.text)):
            return calls(*wanted)
        return ChatResponse("Done." if last.role is Role.TOOL else "I see.")
