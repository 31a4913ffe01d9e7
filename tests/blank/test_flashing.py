"""MicroPython written through the boot loader: Debian's own dfu-util against a board of ours."""

import hashlib
import io
import json
import random
from pathlib import Path

import pytest

from agent.blank import flashing
from agent.blank.carried import DfuEntry, NotCarried
from agent.blank.dfu import INDEX, BadDfu, Element
from agent.blank.flashing import DfuUtil, FlashingFailed, Progress, flash
from image.lib.emulated.usb.boot_loader import BASE, BootLoaderDevice
from tests.fakes.dfu_file import dfu_file
from tests.fakes.usb_bus import PORT, UsbBus, missing, usb_bus

# Two pieces, as MicroPython has them: the table of interrupts, and the program behind its files
PIECES = (
    Element(BASE, random.Random(1).randbytes(5_000)),
    Element(BASE + 0x20000, random.Random(2).randbytes(9_001)),
)
# Two sectors erased, three blocks and five
OPERATIONS = 10

real = pytest.mark.skipif(bool(missing()), reason=missing() or "it runs")


def card(folder: Path, content: bytes, name: str = "nucleo_f411re") -> Path:
    (folder / f"{name}.dfu").write_bytes(content)
    entry = DfuEntry(hashlib.sha256(content).hexdigest(), len(content))
    (folder / INDEX).write_text(json.dumps({name: {"sha256": entry.sha256, "bytes": entry.bytes}}))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return card(tmp_path, dfu_file(PIECES))


def on_bus(bus: UsbBus) -> list[str]:
    """The real program on that bus: it is told of nothing else."""
    told = [f"{name}={bus.environment[name]}" for name in ("UMOCKDEV_DIR", "LD_PRELOAD")]
    return ["env", *told, "dfu-util"]


def install(device: BootLoaderDevice, folder: Path) -> list[Progress]:
    told: list[Progress] = []
    with usb_bus(device) as bus:
        flash("nucleo_f411re", DfuUtil(PORT, told.append, on_bus(bus)), folder)
    return told


def has_all(device: BootLoaderDevice) -> bool:
    return all(device.flash[one.address - BASE :].startswith(one.content) for one in PIECES)


@real
def test_every_byte_is_written_compared_and_started(folder: Path) -> None:
    device = BootLoaderDevice()
    told = install(device, folder)
    assert has_all(device)
    assert device.started_at == BASE
    assert device.operations == OPERATIONS
    steps = [one.step for one in told]
    assert list(dict.fromkeys(steps)) == ["erasing", "writing", "comparing"]
    assert [one.percent for one in told if one.step == "comparing"].count(100) >= len(PIECES)


@real
@pytest.mark.parametrize("cut", range(OPERATIONS))
def test_cut_at_any_block_it_can_be_begun_again(folder: Path, cut: int) -> None:
    device = BootLoaderDevice(cut_after=cut)
    with pytest.raises(FlashingFailed, match=r"dfu-util: .*start over"):
        install(device, folder)
    assert device.started_at is None
    assert not has_all(device)
    # The power is there again, and the boot loader is in ROM
    again = BootLoaderDevice(device.flash)
    install(again, folder)
    assert has_all(again)
    assert again.started_at == BASE


class WornDevice(BootLoaderDevice):
    """One bit of its flash stays at 0."""

    def _change(self, start: int, data: bytes) -> None:
        super()._change(start, data)
        self.flash[0x20100] &= 0x7F if PIECES[1].content[0x100] & 0x80 else 0xFE


@real
def test_what_the_flash_did_not_take_is_not_started(folder: Path) -> None:
    device = WornDevice()
    assert PIECES[1].content[0x100] & 0x81
    with pytest.raises(FlashingFailed, match="0x08020000 is not what was written"):
        install(device, folder)
    assert device.started_at is None


@real
def test_without_a_board_it_says_so(folder: Path) -> None:
    with (
        usb_bus(BootLoaderDevice()) as bus,
        pytest.raises(FlashingFailed, match="No DFU capable USB device"),
    ):
        flash("nucleo_f411re", DfuUtil("1-7", lambda _: None, on_bus(bus)), folder)


def test_a_file_that_changed_since_the_card_was_made_is_not_written(folder: Path) -> None:
    path = folder / "nucleo_f411re.dfu"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(BadDfu, match="damaged"):
        flash("nucleo_f411re", DfuUtil(PORT, lambda _: None, ["false"]), folder)


def test_a_board_that_the_card_has_no_file_for_is_named(folder: Path) -> None:
    with pytest.raises(NotCarried, match=r"no MicroPython for pyboard_v11.*image/build --board"):
        flash("pyboard_v11", DfuUtil(PORT, lambda _: None, ["false"]), folder)


def test_a_program_that_hangs_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flashing, "STEP_LIMIT_S", 0.2)
    hung = ["sh", "-c", "exec sleep 60", "sh"]
    with pytest.raises(FlashingFailed, match="did not end within"):
        flash("nucleo_f411re", DfuUtil(PORT, lambda _: None, hung), folder)


def test_a_program_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(FlashingFailed, match="dfu-util cannot be started"):
        flash("nucleo_f411re", DfuUtil(PORT, lambda _: None, ["/no/such/program"]), folder)


@pytest.mark.parametrize(
    "words", [[], ["nucleo_f411re"], ["../etc", PORT], ["nucleo_f411re", "-D /etc/passwd"]]
)
def test_the_program_takes_a_board_and_a_port_and_nothing_else(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("" if words else "x\n"))
    assert flashing.main(words) == 1
    assert "name a board of the card" in json.loads(capsys.readouterr().out)["failed"]
