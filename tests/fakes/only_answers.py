"""A channel whose platform takes so many answers to what a person wrote, and then none."""

from agent.channels.base import Abilities
from agent.errors import ChannelUnavailable
from agent.messages import Outbound
from tests.fakes.channel import FakeChannel


class OnlyAnswers(FakeChannel):
    """`left` may go; a test adds to it when somebody has written."""

    abilities = Abilities(answers_only=True)

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left
        self.tried = 0

    def attends(self, message: Outbound) -> bool:
        return self.left > 0

    async def send(self, message: Outbound) -> None:
        self.tried += 1
        if not self.left:
            raise ChannelUnavailable("nobody has written")
        self.left -= 1
        await super().send(message)

    def parts(self, text: str) -> tuple[str, ...]:
        return tuple(text.split("|"))
