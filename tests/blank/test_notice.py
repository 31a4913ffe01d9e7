"""Blank boards noticed by the agent: the owner's yes, and what follows it at a real prompt."""

import asyncio
import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.blank.carried import MAIN
from agent.blank.dfu import INDEX, Element
from agent.blank.flashing import FlashingFailed, OnProgress, Progress
from agent.blank.install import InstallationStep, unfinished
from agent.blank.notice import BlankBoards, BlankPlaces
from agent.channels.base import Answer, Question
from agent.link.base import BoardState, BoardStatus
from agent.link.discovery import PortIdentity
from agent.link.image import read_archive
from agent.link.port import Port, open_port
from agent.link.settings import START_BAUD, BoardSettings
from agent.system.clock import Clock
from firmware.host import interpreter
from firmware.host.bundle import BundledFile
from firmware.host.image import joined
from tests.fakes.board import FakeBoard
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.clock import HastyClock
from tests.fakes.dfu_file import dfu_file
from tests.fakes.prompt_board import prompt_board

pytestmark = pytest.mark.skipif(bool(unavailable_reason()), reason=str(unavailable_reason()))

NAME = "nucleo_f411re"
LAYOUT = "@Internal Flash  /0x08000000/04*016Kg,01*064Kg,03*128Kg"
AT_PROMPT = "a MicroPython prompt answers at /dev/fake-board, not the Barnacle firmware"


class BlankLink(FakeBoard):
    """A link on which our firmware greets as soon as it is on the board and the port is free."""

    def __init__(self, flash: Path) -> None:
        super().__init__()
        self.port_use = asyncio.Lock()
        self._flash = flash
        self.trouble = "no board found on USB"

    @property
    def status(self) -> BoardStatus:
        self.plugged_in = (self._flash / MAIN).exists() and not self.port_use.locked()
        return super().status


class PromptPorts:
    """The one port of a board at its prompt."""

    def __init__(self, path: str) -> None:
        self._path = path

    async def find(self) -> str | None:
        return self._path

    def identity(self, path: str) -> PortIdentity | None:
        return (path, 1, 2, 3)

    def missing(self) -> str:
        return ""

    async def changed(self, at_most_s: float) -> None:
        raise AssertionError(at_most_s)

    def close(self) -> None:
        return

    async def open(self, _path: str) -> Port:
        return await open_port(self._path, START_BAUD)


class Room:
    """An agent's surroundings: the USB tree, the files of the card, the owner."""

    def __init__(self, folder: Path, path: str, answer: Answer) -> None:
        self.flash = folder / "flash"
        self.usb = folder / "usb"
        self.record = folder / "board-install.json"
        self.link = BlankLink(self.flash)
        self.written: list[tuple[str, str]] = []
        self.fault = ""
        self.asked: list[Question] = []
        self.told: list[str] = []
        self.answer = answer
        self._ports = PromptPorts(path)
        self._places = BlankPlaces(self.record, self.usb, folder / "carried", folder / "boards")
        self.blank = self.started()

    def started(self) -> BlankBoards:
        """The agent after its next start."""

        def ports_of(_settings: BoardSettings, _clock: Clock) -> PromptPorts:
            return self._ports

        links, settings = (self.link,), (BoardSettings(),)
        return BlankBoards(links, settings, self._places, HastyClock(), self._write, ports_of)

    async def _write(self, board: str, port: str, on_progress: OnProgress) -> None:
        self.written.append((board, port))
        on_progress(Progress("writing", 50))
        if self.fault:
            raise FlashingFailed(self.fault)

    async def confirm(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answer

    async def tell(self, text: str) -> None:
        self.told.append(text)

    def look(self) -> None:
        asyncio.run(self.blank.look(self.confirm, self.tell))

    def plug_boot_loader(self, devnum: int = 4, layout: str = LAYOUT) -> None:
        device = self.usb / "1-1"
        (device / "1-1:1.0").mkdir(parents=True, exist_ok=True)
        told = {"idVendor": "0483", "idProduct": "df11", "devnum": str(devnum), "serial": "ABC"}
        for name, text in told.items():
            (device / name).write_text(f"{text}\n")
        (device / "1-1:1.0" / "interface").write_text(f"{layout}\n")


def carry(folder: Path, address: int = 0x08000000) -> None:
    (folder / "flash").mkdir()
    carried, boards = folder / "carried", folder / "boards"
    carried.mkdir()
    boards.mkdir()
    asked = "import sys; print(sys.implementation._machine)"
    machine = subprocess.check_output([*interpreter.find(), "-c", asked], text=True).strip()
    about = {"board": "simulated", "build": 1, "frozen_build": 2, "version": [0, 2, 0]}
    image = joined([BundledFile("about.json", json.dumps(about).encode())])
    (carried / f"{NAME}.fw").write_bytes(image)
    start = {"about.json": json.dumps({"machines": [machine]}).encode(), "slot_head": b"\xff" * 256}
    start |= {"boot.py": b"1\n", "slots.mpy": b"M", MAIN: b"2\n"}
    files = [BundledFile(name, content) for name, content in start.items()]
    (carried / f"{NAME}.start").write_bytes(joined(files))
    dfu = dfu_file([Element(address, b"x" * 4000)])
    (boards / f"{NAME}.dfu").write_bytes(dfu)
    entry = {"sha256": hashlib.sha256(dfu).hexdigest(), "bytes": len(dfu)}
    (boards / INDEX).write_text(json.dumps({NAME: entry}))


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    carry(tmp_path)
    with prompt_board(tmp_path / "flash") as path:
        yield Room(tmp_path, path, Answer.YES)


def test_a_yes_writes_micropython_and_the_firmware_and_tries_the_pins(room: Room) -> None:
    room.plug_boot_loader()
    room.look()
    (question,) = room.asked
    assert json.loads(question.arguments_json) == {"board": NAME}
    assert "in its boot loader is plugged in (USB port 1-1)" in question.reason
    assert "whatever is on it is lost" in question.words
    assert room.written == [(NAME, "1-1")]
    assert {path.name for path in room.flash.iterdir()} == {
        *("slot_a", "boot.py", "slots.mpy", "main.py"),
        # Of the stand-in
        "reset",
    }
    assert room.told == [
        "Done: simulated runs firmware 0.2.0 (build 1); 5 of 5 pins answer, the light switches."
    ]
    # Nothing but the light moved
    assert {name for name, _ in room.link.record} == {"led"}
    assert unfinished(room.record) is None


def test_another_board_at_its_prompt_is_not_taken_for_the_new_one(
    room: Room, tmp_path: Path
) -> None:
    start = tmp_path / "carried" / f"{NAME}.start"
    files = dict(read_archive(start.read_bytes(), 10_000))
    files["about.json"] = json.dumps({"machines": ["NUCLEO_F411RE"]}).encode()
    start.write_bytes(joined([BundledFile(*file) for file in files.items()]))
    room.plug_boot_loader()
    room.look()
    assert room.written == [(NAME, "1-1")]
    assert not any(room.flash.iterdir())
    assert "another board answers at" in room.told[-1]


def test_a_no_writes_nothing_and_is_not_asked_again_until_it_is_plugged_in_anew(
    room: Room,
) -> None:
    room.answer = Answer.NO
    room.plug_boot_loader()
    room.look()
    room.look()
    assert (len(room.asked), room.written, room.told) == (1, [], [])
    room.plug_boot_loader(devnum=5)
    room.look()
    assert len(room.asked) == 2
    assert not any(room.flash.iterdir())


def test_while_nobody_can_be_asked_it_waits_for_an_owner(room: Room) -> None:
    room.answer = Answer.NONE
    room.plug_boot_loader()
    room.look()
    room.look()
    assert len(room.asked) == 2
    assert (room.written, room.told) == ([], [])
    # Somebody has paired
    room.answer = Answer.YES
    room.look()
    assert room.told[0].startswith("Done:")


def test_a_disk_that_fails_is_told_and_ends_nothing(room: Room) -> None:
    room.record.mkdir()
    room.plug_boot_loader()
    room.look()
    (told,) = room.told
    assert told.startswith("The board was not installed: ")
    assert room.written == []


def test_a_bare_micropython_gets_the_firmware(room: Room) -> None:
    status = BoardStatus(BoardState.CONNECTING, "/dev/fake-board", trouble=AT_PROMPT)
    room.link.trouble = status.trouble
    room.look()
    (question,) = room.asked
    assert "runs MicroPython without our firmware is at /dev/fake-board" in question.reason
    assert room.written == []
    assert (room.flash / MAIN).exists()
    assert room.told[0].startswith("Done: simulated runs firmware 0.2.0")


def test_a_card_without_a_file_for_it_says_what_to_do_once(room: Room, tmp_path: Path) -> None:
    (tmp_path / "boards" / INDEX).unlink()
    room.plug_boot_loader()
    room.look()
    room.look()
    assert room.asked == []
    (told,) = room.told
    assert "this card has no MicroPython for it" in told
    assert "image/build --board NAME=FILE" in told


def test_what_its_flash_has_no_room_for_is_not_offered(room: Room) -> None:
    room.plug_boot_loader(layout="@Internal Flash  /0x08000000/01*002Kg")
    room.look()
    assert room.asked == []


def test_a_damaged_file_is_not_offered(room: Room, tmp_path: Path) -> None:
    (tmp_path / "boards" / f"{NAME}.dfu").write_bytes(b"DfuSe")
    room.plug_boot_loader()
    room.look()
    assert room.asked == []


def test_an_installation_that_was_cut_is_begun_again_with_a_new_yes(room: Room) -> None:
    room.plug_boot_loader()
    room.fault = "dfu-util: device is gone"
    room.look()
    assert room.told == ["The board was not installed: dfu-util: device is gone."]
    left = unfinished(room.record)
    assert left is not None
    assert left.step is InstallationStep.MICROPYTHON
    # The Pi lost its power, too, and the board with it
    room.fault = ""
    room.blank = room.started()
    for path in (room.usb / "1-1").glob("*"):
        if path.is_file():
            path.unlink()
    room.look()
    assert "hold BOOT0" in room.told[-1]
    room.plug_boot_loader(devnum=7)
    room.look()
    assert "an installation was cut short before" in room.asked[-1].reason
    assert room.told[-1].startswith("Done:")
    assert unfinished(room.record) is None


def test_another_firmware_on_the_link_is_not_called_done(room: Room, tmp_path: Path) -> None:
    about = {"board": "simulated", "build": 7, "frozen_build": 8, "version": [0, 2, 0]}
    image = joined([BundledFile("about.json", json.dumps(about).encode())])
    (tmp_path / "carried" / f"{NAME}.fw").write_bytes(image)
    room.plug_boot_loader()
    room.look()
    assert room.told == ["The board was not installed: build 1 answers, not build 7: start over."]
    left = unfinished(room.record)
    assert left is not None
    assert left.step is InstallationStep.GREETING
