"""A message whose files are refused still says all that it can."""

import pytest
from msgspec.structs import replace

from agent.channels.delivery_steps import DeliverySteps
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Attachment, Outbound

FILES = tuple(Attachment(f"{name}.pdf", "application/pdf", f"{name}.pdf", 9) for name in "ab")
MESSAGE = Outbound(1, "fake", "chat", "Here they are.", "", files=FILES)


class Place:
    """A chat that refuses files of these names, and words too where it is closed."""

    def __init__(self, *refused: str, is_closed: bool = False) -> None:
        self.shown: list[str] = []
        self.trouble: Exception | None = None
        self._refused = refused
        self._is_closed = is_closed

    async def say(self, message: Outbound) -> None:
        if self._is_closed:
            raise MessageRefused("the bot was kicked")
        self.shown.append(message.text)

    async def give(self, _message: Outbound, file: Attachment) -> None:
        if self.trouble is not None:
            raise self.trouble
        if file.name in self._refused:
            raise MessageRefused("not enough rights to send documents")
        self.shown.append(file.name)


async def test_a_file_that_is_refused_is_told_and_the_next_one_goes() -> None:
    place = Place("a.pdf")
    await DeliverySteps().go_on(MESSAGE, place.say, place.give)
    told = "cannot be sent here: not enough rights to send documents.)"
    assert place.shown == ["Here they are.", f"(a.pdf was to come with this and {told}", "b.pdf"]


async def test_where_nothing_can_be_said_the_message_is_refused() -> None:
    place = Place(is_closed=True)
    with pytest.raises(MessageRefused):
        await DeliverySteps().go_on(MESSAGE, place.say, place.give)


async def test_a_file_that_cannot_go_now_repeats_nothing() -> None:
    place, steps = Place(), DeliverySteps()
    place.trouble = ChannelUnavailable("no network")
    with pytest.raises(ChannelUnavailable):
        await steps.go_on(MESSAGE, place.say, place.give)
    place.trouble = None
    await steps.go_on(MESSAGE, place.say, place.give)
    assert place.shown == ["Here they are.", "a.pdf", "b.pdf"]


async def test_what_is_not_tried_again_leaves_nothing_behind_for_the_next_of_its_kind() -> None:
    """All that is not kept in the outbox has the same number: it is tried once."""
    place, steps = Place(), DeliverySteps()
    place.trouble = ChannelUnavailable("no network")
    with pytest.raises(ChannelUnavailable):
        await steps.go_on(replace(MESSAGE, outbox_id=0), place.say, place.give)
    place.trouble = None
    question = Outbound(0, "fake", "chat", "How long shall it run?", "")
    await steps.go_on(question, place.say, place.give)
    assert place.shown == ["Here they are.", "How long shall it run?"]


async def test_words_about_a_refused_file_take_the_place_of_no_others() -> None:
    """Matrix, XMPP and ntfy know a message by its number and part: the same again is the same."""
    parts: list[int] = []

    async def say(message: Outbound) -> None:
        parts.append(message.part)

    for _ in range(2):
        await DeliverySteps().go_on(MESSAGE, say, Place("a.pdf", "b.pdf").give)
    assert parts == [0, 1, 2] * 2
