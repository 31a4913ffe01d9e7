"""A channel without buttons: it asks in words, and takes the answers out of what it hears."""

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals
from agent.channels.base import Answer, Question
from agent.messages import Address, Inbound
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import Running
from tests.waits import wait_until


class AskingChannel(FakeChannel):
    """Asks as the platforms without buttons do."""

    def __init__(self) -> None:
        super().__init__()
        self.open = OpenApprovals()

    async def ask(self, address: Address, question: Question) -> Answer:
        self.questions.append(question)
        return await approvals.ask(self.open, address, question, self.send)

    async def hear(self, agent: Running, said: Inbound) -> None:
        """Take a message as a listening platform does."""
        if not self.open.answer(said):
            await agent.dispatcher.deliver(said, agent.tasks)

    async def until_asked(self, count: int = 1) -> str:
        """Return the id of the latest question, once it can be seen."""
        await wait_until(lambda: self._shown() >= count)
        return self.questions[-1].question_id

    def _shown(self) -> int:
        return len([one for one in self.open._open.values() if one.shown_s is not None])
