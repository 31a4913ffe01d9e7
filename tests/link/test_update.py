from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from agent.errors import CallRefused, LinkLost
from agent.link.image import FirmwareImage, ImageDescription
from agent.link.update import UpdateFailed, Updater
from tests.fakes.flash import NativeFlash
from tests.fakes.updatable_board import IDENTITY, UpdatableBoard
from tests.fakes.virtual_time import LoopClock, in_virtual_time
from tests.firmware.update_on_cpython import BOARD, Board, board_with, image

STATE, WRITE, FINISH, CONFIRM = 0, 2, 3, 4
NEW = FirmwareImage(ImageDescription(BOARD, 2, (0, 2, 0)), image(2))


@pytest.fixture
def hardware() -> Iterator[Board]:
    with board_with(NativeFlash()) as made:
        yield made


async def updated(board: UpdatableBoard, content: FirmwareImage = NEW) -> tuple[str, list[int]]:
    sent: list[int] = []
    said = await Updater(board, content, LoopClock(), lambda at, _total: sent.append(at)).run()
    return said, sent


@in_virtual_time
async def test_the_new_version_is_sent_tried_and_confirmed(hardware: Board) -> None:
    said, sent = await updated(UpdatableBoard(hardware))
    assert said == "garden runs firmware 0.2.0 (build 2)"
    assert sent == sorted(sent)
    assert sent[-1] == len(NEW.content)
    assert (hardware.power_on(), hardware.slots.trial, hardware.build()) == (1, False, 2)


@in_virtual_time
async def test_a_transfer_that_is_cut_goes_on(hardware: Board) -> None:
    board = UpdatableBoard(hardware, lose=(7, 9, 14))
    _said, sent = await updated(board)
    assert hardware.build() == 2
    assert len(sent) < 2 * len(NEW.content) / 200


class Uncounted(UpdatableBoard):
    """Has the same boot count after each reset."""

    def _come_back(self) -> None:
        super()._come_back()
        self.identity = replace(self.identity, boot_count=IDENTITY.boot_count)


@pytest.mark.parametrize("kind", [UpdatableBoard, Uncounted])
@in_virtual_time
async def test_the_same_build_can_be_put_there_once_more(
    hardware: Board, kind: type[UpdatableBoard]
) -> None:
    again = FirmwareImage(ImageDescription(BOARD, 1), image(1))
    await updated(kind(hardware), again)
    assert (hardware.power_on(), hardware.slots.trial, hardware.build()) == (1, False, 1)


@in_virtual_time
async def test_a_confirmation_whose_answer_is_lost_counts(hardware: Board) -> None:
    class Deaf(UpdatableBoard):
        """Does what it is asked to; the first answer to a confirmation is lost on the way."""

        confirmations = 0

        async def exchange(self, method: int, arguments: bytes) -> bytes:
            answer = await super().exchange(method, arguments)
            if arguments[0] == CONFIRM:
                self.confirmations += 1
                if self.confirmations == 1:
                    raise LinkLost("unplugged")
            return answer

    board = Deaf(hardware)
    await updated(board)
    assert (board.confirmations, hardware.power_on(), hardware.build()) == (1, 1, 2)


@in_virtual_time
async def test_firmware_for_another_board_is_not_sent(hardware: Board) -> None:
    board = UpdatableBoard(hardware)
    with pytest.raises(UpdateFailed, match="for kitchen"):
        await updated(board, FirmwareImage(ImageDescription("kitchen", 2), NEW.content))
    assert board.exchanges == []


@in_virtual_time
async def test_what_does_not_fit_is_not_begun(hardware: Board) -> None:
    board = UpdatableBoard(hardware)
    with pytest.raises(UpdateFailed, match=r"7936 bytes free .* scripts/flash"):
        await updated(board, FirmwareImage(ImageDescription(BOARD, 2), bytes(20_000)))
    assert len(board.exchanges) == 1


@in_virtual_time
async def test_a_board_that_cannot_says_so(hardware: Board) -> None:
    hardware.store.CLASS = 0
    hardware.boot()
    with pytest.raises(UpdateFailed, match="cannot hold two versions"):
        await updated(UpdatableBoard(hardware))


@in_virtual_time
async def test_an_output_that_is_on_refuses_it(hardware: Board) -> None:
    hardware.outputs.held = 1
    with pytest.raises(UpdateFailed, match="an output is on"):
        await updated(UpdatableBoard(hardware))


@in_virtual_time
async def test_a_version_that_never_answers_is_told_as_such(hardware: Board) -> None:
    class Mute(UpdatableBoard):
        def restart(self) -> None:
            self.is_away = True

    with pytest.raises(UpdateFailed, match="returns to the old one"):
        await updated(Mute(hardware))


@in_virtual_time
async def test_a_version_that_fails_its_own_test_is_told_as_such(hardware: Board) -> None:
    hardware.slots.gc.mem_free = lambda: 100
    with pytest.raises(UpdateFailed, match="too little memory"):
        await updated(UpdatableBoard(hardware))


@in_virtual_time
async def test_a_board_that_stays_away_ends_it(hardware: Board) -> None:
    class Gone(UpdatableBoard):
        def _come_back(self) -> None:
            pass

    with pytest.raises(UpdateFailed, match="was disconnected"):
        await updated(Gone(hardware, lose=(5,)))


class Stumbles(UpdatableBoard):
    """Is gone at one place of the transfer, however often it comes to it."""

    PLACE = 1_000

    def __init__(self, hardware: Board, times: int) -> None:
        super().__init__(hardware)
        self.times = times

    async def exchange(self, method: int, arguments: bytes) -> bytes:
        is_there = arguments[0] == WRITE and arguments[1:5] == self.PLACE.to_bytes(4, "little")
        if is_there and self.times and not self.is_away:
            self.times -= 1
            self._go_away()
            raise LinkLost("it restarted")
        return await super().exchange(method, arguments)


@in_virtual_time
async def test_a_transfer_that_gets_no_further_ends(hardware: Board) -> None:
    board = Stumbles(hardware, times=1_000)
    with pytest.raises(UpdateFailed, match=r"stays at byte 1000 .*: it restarted"):
        await updated(board)
    assert 1_000 - board.times <= 6
    assert hardware.build() == 1


@in_virtual_time
async def test_a_transfer_that_gets_over_a_bad_place_goes_on(hardware: Board) -> None:
    await updated(Stumbles(hardware, times=4))
    assert hardware.build() == 2


class LosesOne(UpdatableBoard):
    """The first exchange of one action is lost before it is done, or its answer after it."""

    def __init__(self, hardware: Board, action: int, *, is_done: bool) -> None:
        super().__init__(hardware)
        self._action = action
        self._is_done = is_done
        self.lost = 0

    async def exchange(self, method: int, arguments: bytes) -> bytes:
        if arguments[0] != self._action or self.lost:
            return await super().exchange(method, arguments)
        self.lost += 1
        if self._is_done:
            await super().exchange(method, arguments)
        raise LinkLost("unplugged")


@in_virtual_time
async def test_a_board_that_goes_before_anything_was_sent_ends_it(hardware: Board) -> None:
    with pytest.raises(UpdateFailed, match="was disconnected: unplugged"):
        await updated(LosesOne(hardware, STATE, is_done=False))
    assert hardware.build() == 1


@pytest.mark.parametrize("action", [FINISH, CONFIRM])
def test_an_answer_that_is_lost_at_the_end_is_shown_by_what_comes_back(
    hardware: Board, action: int
) -> None:
    @in_virtual_time
    async def update() -> None:
        board = LosesOne(hardware, action, is_done=True)
        said, _sent = await updated(board)
        assert said == "garden runs firmware 0.2.0 (build 2)"
        assert board.lost == 1

    update()
    assert (hardware.power_on(), hardware.slots.trial, hardware.build()) == (1, False, 2)


@in_virtual_time
async def test_firmware_that_is_on_trial_itself_is_not_replaced(hardware: Board) -> None:
    class NeverConfirms(UpdatableBoard):
        async def exchange(self, method: int, arguments: bytes) -> bytes:
            if arguments[0] == CONFIRM:
                raise CallRefused("busy", "not now")
            return await super().exchange(method, arguments)

    board = NeverConfirms(hardware)
    with pytest.raises(UpdateFailed, match="not now"):
        await updated(board)
    with pytest.raises(UpdateFailed, match="on trial itself"):
        await updated(board)


@in_virtual_time
async def test_what_arrived_damaged_is_refused_at_the_end(hardware: Board) -> None:
    damaged = FirmwareImage(NEW.about, NEW.content[:-1] + b"?")
    with pytest.raises(UpdateFailed, match="rejects"):
        await updated(UpdatableBoard(hardware), WronglyNamed(damaged.about, damaged.content))
    assert hardware.build() == 1


class WronglyNamed(FirmwareImage):
    """Announced with the hash of another."""

    @property
    def digest(self) -> bytes:
        return bytes(32)


@in_virtual_time
async def test_an_answer_without_sense_ends_it(hardware: Board) -> None:
    class Mumbles(UpdatableBoard):
        async def exchange(self, method: int, arguments: bytes) -> bytes:
            return b""

    with pytest.raises(UpdateFailed, match="cannot read"):
        await updated(Mumbles(hardware))
