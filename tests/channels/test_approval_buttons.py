import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.approval_buttons import OUTCOMES, ApprovalButtons, button_values, pieces
from agent.channels.approvals import OpenApprovals
from agent.channels.base import Answer, Question
from agent.errors import ChannelUnavailable
from agent.messages import Address
from agent.text.printable import spelled_out

HERE = Address("told", "chat", "anna")
QUESTION = Question("shell", "{}", "it runs a program", always="every call", question_id="abcd")


class PressedAtOnce(ApprovalButtons):
    """Whoever is asked presses before the platform has answered."""

    def __init__(self, pressed: str, *, is_cut: bool = False) -> None:
        super().__init__(OpenApprovals())
        self.taken: bool | None = None
        self.outcomes: list[tuple[str, str]] = []
        self._pressed = pressed
        self._is_cut = is_cut

    def _fits(self, question: Question) -> bool:
        return len(question.arguments_json) < 10

    async def _put(self, address: Address, question: Question) -> str:
        self.taken = self._is_taken(address, self._pressed)
        if self._is_cut:
            raise ChannelUnavailable("cut")
        return "message"

    async def _close(
        self, address: Address, question: Question, message_id: str, outcome: str
    ) -> None:
        if self._is_cut:
            raise ChannelUnavailable("cut")
        self.outcomes.append((message_id, outcome))


async def test_a_quick_thumb_finds_the_question_open_and_its_outcome_is_written() -> None:
    channel = PressedAtOnce("always:abcd")
    assert await channel.ask(HERE, QUESTION) is Answer.ALWAYS
    await channel.aclose()
    assert channel.outcomes == [("message", OUTCOMES[Answer.ALWAYS])]


async def test_what_does_not_fit_is_not_asked() -> None:
    channel = PressedAtOnce("yes:abcd")
    assert await channel.ask(HERE, Question("shell", "{" * 10, "why")) is Answer.NONE
    assert channel.taken is None


async def test_a_question_that_could_not_be_put_is_trouble_and_its_end_is_none() -> None:
    channel = PressedAtOnce("yes:other", is_cut=True)
    with pytest.raises(ChannelUnavailable):
        await channel.ask(HERE, QUESTION)
    await channel.aclose()
    assert (channel.taken, channel.outcomes) == (False, [])


@given(st.text(max_size=40))
async def test_a_button_that_was_not_ours_is_nothing(pressed: str) -> None:
    assert not PressedAtOnce("")._is_taken(HERE, pressed)


@given(st.text(max_size=300), st.integers(1, 40))
def test_every_byte_that_acts_is_in_the_pieces(arguments: str, size: int) -> None:
    told = pieces(Question("shell", arguments, "it runs a program"), size)
    assert spelled_out(arguments) in "".join(told)
    assert all(0 < len(piece) <= size for piece in told)


def test_a_button_carries_its_answer_and_the_question() -> None:
    assert button_values(QUESTION) == {
        Answer.YES: "yes:abcd",
        Answer.NO: "no:abcd",
        Answer.ALWAYS: "always:abcd",
    }
    assert Answer.ALWAYS not in button_values(Question("shell", "{}", "why"))
