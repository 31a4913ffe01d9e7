import contextlib
import struct
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from agent.errors import LinkLost
from agent.link import board_peripherals
from agent.link import frame as wire
from agent.link.base import BoardState
from agent.link.configuration import wire_of
from agent.link.pin_configuration import PinConfiguration
from agent.link.pin_settings import PinSettings
from agent.link.settings import BoardSettings
from agent.storage.lineage import Lineage
from tests.fakes.linked_board import LinkedBoard, linked
from tests.fakes.peer import ScriptedBoard
from tests.fakes.ports import CutPort
from tests.fakes.virtual_time import elapse, in_virtual_time

TIGHT = {"valve": PinSettings(pin="PB9", max_on_s=5.0)}
LOOSE = {"valve": PinSettings(pin="PB9", max_on_s=50.0)}
CONFIGURING = {
    wire.METHOD_CONFIG_BEGIN,
    wire.METHOD_CONFIG_WRITE,
    wire.METHOD_CONFIG_COMMIT,
    wire.METHOD_CONFIG_READ,
}


@contextlib.asynccontextmanager
async def wired(
    peer: ScriptedBoard, folder: Path, pins: Mapping[str, PinSettings]
) -> AsyncIterator[LinkedBoard]:
    async with linked(peer, folder, settings=BoardSettings(pins=dict(pins))) as link:
        await link.until(BoardState.READY)
        yield link


def asked(peer: ScriptedBoard) -> set[int]:
    return {method for method, _ in peer.requests} & CONFIGURING


def names(link: LinkedBoard) -> list[str]:
    assert link.board.manifest is not None
    return [pin.name for pin in link.board.manifest.pins]


@in_virtual_time
async def test_a_board_without_a_configuration_gets_it_and_its_pins_work(tmp_path: Path) -> None:
    peer = ScriptedBoard()
    async with wired(peer, tmp_path, TIGHT) as link:
        assert peer.configuration == wire_of(TIGHT)
        assert names(link)[-1] == "valve"
        assert link.board.status.trouble == ""
        await link.board.call("gpio_write", {"pin": "valve", "value": "on"})
        assert peer.outputs[5] == 1


@in_virtual_time
async def test_the_same_configuration_is_not_sent_again(tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=wire_of(TIGHT))
    async with wired(peer, tmp_path, TIGHT) as link:
        assert asked(peer) == set()
        assert names(link)[-1] == "valve"


@in_virtual_time
async def test_nothing_wanted_and_nothing_there_is_nothing_to_do(tmp_path: Path) -> None:
    peer = ScriptedBoard()
    async with wired(peer, tmp_path, {}):
        assert asked(peer) == set()


@in_virtual_time
async def test_what_is_tighter_is_put_in_place_at_once(tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=wire_of(LOOSE))
    async with wired(peer, tmp_path, TIGHT) as link:
        assert peer.configuration == wire_of(TIGHT)
        assert link.board.pending == ()


@in_virtual_time
async def test_what_is_looser_waits_for_the_owner(tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=wire_of(TIGHT))
    async with wired(peer, tmp_path, LOOSE) as link:
        assert peer.configuration == wire_of(TIGHT)
        words = "valve may be on at most 50000 ms instead of at most 5000 ms"
        assert link.board.pending == (words,)
        assert words in link.board.status.trouble
        assert "barnacle board configure --yes" in link.board.status.trouble
        # This side uses what the board uses
        assert link.board.manifest is not None
        assert link.board.manifest.pins[-1].max_on_ms == 5000
        link.board.agree()
        await link.until(BoardState.CONNECTING, "being activated")
        await link.until(BoardState.READY)
        assert peer.configuration == wire_of(LOOSE)
        assert (link.board.pending, link.board.status.trouble) == ((), "")
        assert link.board.manifest.pins[-1].max_on_ms == 50_000


@in_virtual_time
async def test_pins_that_nobody_wants_any_more_wait_for_the_owner_too(tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=wire_of(TIGHT))
    async with wired(peer, tmp_path, {}) as link:
        assert link.board.pending == ("valve is no longer configured",)
        assert names(link)[-1] == "valve"
        link.board.agree()
        await link.until(BoardState.CONNECTING)
        await link.until(BoardState.READY)
        assert "valve" not in names(link)
        assert b'"pins":[]' in peer.configuration
    peer.requests.clear()
    async with wired(peer, tmp_path, {}) as link:
        assert link.board.pending == ()
        assert wire.METHOD_CONFIG_COMMIT not in asked(peer)


@in_virtual_time
async def test_agreeing_to_nothing_changes_nothing(tmp_path: Path) -> None:
    async with wired(ScriptedBoard(), tmp_path, {}) as link:
        link.board.agree()
        await elapse(1)
        assert link.board.status.state is BoardState.READY


@in_virtual_time
async def test_what_the_board_had_is_read_once_and_then_known(tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=wire_of(TIGHT))
    async with wired(peer, tmp_path, LOOSE):
        assert wire.METHOD_CONFIG_READ in asked(peer)
    peer.requests.clear()
    async with wired(peer, tmp_path, LOOSE) as link:
        assert asked(peer) == set()
        assert link.board.pending


@in_virtual_time
async def test_a_refusal_names_the_entry_and_the_board_goes_on(tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=wire_of(LOOSE))
    peer.overrides[wire.METHOD_CONFIG_COMMIT] = (wire.OUT_OF_RANGE, b"valve: PB9 is used twice")
    async with wired(peer, tmp_path, TIGHT) as link:
        assert "rejects its configuration: valve: PB9 is used twice" in link.board.status.trouble
        assert link.board.manifest is not None
        assert link.board.manifest.pins[-1].max_on_ms == 50_000
        await link.board.call("gpio_read", {"pin": "led"})


CLASHING = {
    "fan": PinSettings(pin="PA6", kind="pwm"),
    "heater": PinSettings(pin="PB4", kind="pwm"),
}


@pytest.fixture
def clashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pins of `CLASHING` are of one channel on the scripted board."""
    monkeypatch.setattr(board_peripherals, "_CHANNELS", {"scripted": "PA6:3.1 PB4:3.1"})


CLASH = "fan and heater both need timer 3: use another pin or timer for one of them"


@pytest.mark.usefixtures("clashing")
@in_virtual_time
async def test_pins_that_meet_inside_the_board_are_not_sent(tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=wire_of(TIGHT))
    async with wired(peer, tmp_path, {**TIGHT, **CLASHING}) as link:
        assert link.board.status.trouble == f"its configuration is not activated: {CLASH}"
        assert peer.configuration == wire_of(TIGHT)
        assert names(link)[-1] == "valve"
        # A yes to what is looser is none to this
        link.board.agree()
        await elapse(2)
        assert peer.configuration == wire_of(TIGHT)


@pytest.mark.usefixtures("clashing")
@in_virtual_time
async def test_pins_that_meet_and_are_in_force_stay_and_are_told(tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=wire_of(CLASHING))
    async with wired(peer, tmp_path, CLASHING) as link:
        assert link.board.status.trouble == f"its configuration is unsafe: {CLASH}"
        assert names(link)[-2:] == ["fan", "heater"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((wire.NOT_SUPPORTED, b""), "its firmware stores no configuration;"),
        ((wire.IO, b""), ": io"),
    ],
)
def test_a_refusal_without_words_is_told_too(
    tmp_path: Path, answer: tuple[int, bytes], words: str
) -> None:
    @in_virtual_time
    async def refuse() -> None:
        peer = ScriptedBoard()
        peer.overrides[wire.METHOD_CONFIG_BEGIN] = answer
        async with wired(peer, tmp_path, TIGHT) as link:
            assert words in link.board.status.trouble

    refuse()


@pytest.mark.parametrize(
    "answer",
    [
        (wire.NOT_SUPPORTED, b""),
        (0, b"\x01"),
        (0, struct.pack("<I", 99_999) + b"x"),
        (0, struct.pack("<I", 50)),
        (0, struct.pack("<I", 3) + b"abc"),
    ],
)
def test_a_board_that_does_not_give_what_it_announced_is_refused(
    tmp_path: Path, answer: tuple[int, bytes]
) -> None:
    @in_virtual_time
    async def refuse() -> None:
        peer = ScriptedBoard(configuration=wire_of(TIGHT))
        peer.overrides[wire.METHOD_CONFIG_READ] = answer
        async with linked(peer, tmp_path) as link:
            await link.until(BoardState.REFUSED, "the configuration on the board")

    refuse()


@pytest.mark.parametrize("cut_after", range(800, 2400, 160))
def test_an_upload_that_is_cut_begins_again(
    tmp_path: Path, cut_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = {f"valve_{number}": PinSettings(pin=f"PD{number}") for number in range(10)}

    @in_virtual_time
    async def cut() -> None:
        peer = ScriptedBoard()
        monkeypatch.setattr(CutPort, "bytes_left", cut_after)
        async with linked(peer, tmp_path, CutPort, settings=BoardSettings(pins=many)) as link:
            await link.until(BoardState.CONNECTING, "unplugged")
            # Whole or not at all
            assert peer.configuration in {b"", wire_of(many)}
            monkeypatch.setattr(CutPort, "bytes_left", 1_000_000)
            await link.until(BoardState.READY)
            assert peer.configuration == wire_of(many)

    cut()


@in_virtual_time
async def test_what_cannot_be_read_is_replaced_once_the_owner_has_agreed(tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=b'{"v":9,"pins":[]}')
    async with linked(peer, tmp_path, settings=BoardSettings(pins=TIGHT)) as link:
        await link.until(BoardState.REFUSED, "has version 9")
        link.board.agree()
        await link.until(BoardState.READY)
        assert peer.configuration == wire_of(TIGHT)


@in_virtual_time
async def test_a_refusal_after_a_yes_leaves_what_was_there(tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=wire_of(TIGHT))
    async with wired(peer, tmp_path, LOOSE) as link:
        peer.overrides[wire.METHOD_CONFIG_COMMIT] = (wire.IO, b"the flash did not take it")
        link.board.agree()
        await link.until(BoardState.CONNECTING)
        await link.until(BoardState.READY, "the flash did not take it")
        assert link.board.manifest is not None
        assert link.board.manifest.pins[-1].max_on_ms == 5000


@in_virtual_time
async def test_an_absent_board_is_remembered_with_its_pins(tmp_path: Path) -> None:
    peer = ScriptedBoard()
    async with wired(peer, tmp_path, TIGHT):
        await elapse(1)
    async with linked(ScriptedBoard(is_silent=True), tmp_path) as link:
        assert names(link)[-1] == "valve"


def test_what_was_remembered_and_makes_no_sense_is_forgotten(tmp_path: Path) -> None:
    wiring = PinConfiguration({}, tmp_path)
    wiring._seen.put(b'{"v":9,"pins":[]}')
    assert wiring.remembered().entries == ()


OLD_CARD, RESTORED = Lineage("greenhouse"), Lineage("greenhouse", 1)


@pytest.mark.usefixtures("clashing")
@in_virtual_time
async def test_an_old_card_leaves_it_alone_whatever_its_pins_are(tmp_path: Path) -> None:
    stored = wire_of(TIGHT, RESTORED)
    peer = ScriptedBoard(configuration=stored)
    own = BoardSettings(pins=CLASHING)
    async with linked(peer, tmp_path, settings=own, lineage=OLD_CARD) as link:
        await link.until(BoardState.REFUSED, "this is the old card")


@in_virtual_time
async def test_an_old_card_leaves_the_board_of_its_restored_copy_alone(tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=wire_of(TIGHT, RESTORED))
    async with linked(peer, tmp_path, settings=BoardSettings(pins=LOOSE), lineage=OLD_CARD) as link:
        await link.until(BoardState.REFUSED, "this is the old card")
        await elapse(30)
        assert asked(peer) == {wire.METHOD_CONFIG_READ}
        with pytest.raises(LinkLost):
            await link.board.call("gpio_write", {"pin": "led", "value": "on"})
        link.board.agree()
        await link.until(BoardState.READY)
    assert peer.configuration == wire_of(LOOSE)


@in_virtual_time
@pytest.mark.parametrize("other", [Lineage("shed", 1), OLD_CARD], ids=["another", "its own past"])
async def test_a_board_that_others_configured_is_taken(other: Lineage, tmp_path: Path) -> None:
    peer = ScriptedBoard(configuration=wire_of(TIGHT, other))
    async with linked(peer, tmp_path, settings=BoardSettings(pins=TIGHT), lineage=RESTORED) as link:
        await link.until(BoardState.READY)
    assert peer.configuration == wire_of(TIGHT, RESTORED)


@in_virtual_time
async def test_a_restored_device_without_pins_leaves_its_lineage_on_the_board(
    tmp_path: Path,
) -> None:
    peer = ScriptedBoard()
    async with linked(peer, tmp_path, lineage=RESTORED) as link:
        await link.until(BoardState.READY)
        assert link.board.status.trouble == ""
    async with linked(peer, tmp_path / "old", lineage=OLD_CARD) as link:
        await link.until(BoardState.REFUSED, "this is the old card")


@in_virtual_time
async def test_a_board_that_keeps_nothing_is_no_trouble_for_who_wired_nothing(
    tmp_path: Path,
) -> None:
    peer = ScriptedBoard()
    peer.overrides[wire.METHOD_CONFIG_BEGIN] = (wire.NOT_SUPPORTED, b"")
    async with linked(peer, tmp_path, lineage=RESTORED) as link:
        await link.until(BoardState.READY)
        assert link.board.status.trouble == ""
