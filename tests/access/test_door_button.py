import asyncio

from agent.access.door_button import WINDOW_S, DoorButton, DoorPress
from agent.approvals.button import NoButton
from tests.fakes.console_home import PressedByHand
from tests.fakes.virtual_time import elapse, in_virtual_time


class Door:
    """A browser at the door."""

    is_open = False

    def let_in(self) -> None:
        self.is_open = True


@in_virtual_time
async def test_a_long_press_opens_to_the_one_that_asked() -> None:
    hand, door = PressedByHand(), Door()
    button = DoorButton(hand)
    assert button.is_there
    assert button.ask("a", door.let_in) is DoorPress.WAITING
    # A page that is loaded again asks again
    assert button.ask("a", door.let_in) is DoorPress.WAITING
    await elapse(1)
    await hand.hold()
    assert door.is_open


@in_virtual_time
async def test_two_that_ask_keep_each_other_out() -> None:
    hand, doors = PressedByHand(), [Door(), Door(), Door()]
    button = DoorButton(hand)
    button.ask("a", doors[0].let_in)
    await elapse(1)
    assert button.ask("b", doors[1].let_in) is DoorPress.CROWDED
    await hand.hold()
    assert [door.is_open for door in doors] == [False, False, False]
    # Whoever comes alone after that is let in
    assert button.ask("c", doors[2].let_in) is DoorPress.WAITING
    await elapse(1)
    await hand.hold()
    assert [door.is_open for door in doors] == [False, False, True]


@in_virtual_time
async def test_a_press_after_the_window_opens_nothing() -> None:
    hand, door = PressedByHand(), Door()
    button = DoorButton(hand)
    button.ask("a", door.let_in)
    await elapse(WINDOW_S + 1)
    await hand.hold()
    assert not door.is_open
    # And keeps nobody else waiting
    assert button.ask("b", door.let_in) is DoorPress.WAITING
    await asyncio.sleep(0)


async def test_without_a_button_nobody_waits_for_one() -> None:
    button = DoorButton(NoButton())
    assert not button.is_there
    assert button.ask("a", Door().let_in) is DoorPress.NO_BUTTON
