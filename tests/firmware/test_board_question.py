"""A board that describes itself: the real program at the real prompt, and the file that follows.

The stand-in for the hardware is after ST's documents; the board file that people wrote for the same
board is what the answer is held against.
"""

import asyncio
import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from agent.link.board_description import BoardFacts, board_name, board_table, read_facts
from agent.link.image import read_image
from agent.link.port import open_port
from agent.link.prompt import Prompt, prompt_program
from agent.provision.toml_text import dumps
from firmware.host import board_folder, flash_command
from firmware.host.bundle import board_file, every_board_name
from firmware.host.image import image
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.prompt_board import prompt_board

# What a slow machine may need for two kilobytes, echoed piece by piece
LIMIT_S = 60.0


def asking(
    monkeypatch: pytest.MonkeyPatch,
    registers: Mapping[str, int] | None = None,
    memory: Mapping[int, int] | None = None,
) -> dict[str, Any]:
    """The functions of the program that asks, on a chip with these registers."""
    made = {name: ModuleType(name) for name in ("machine", "pyb", "stm")}
    vars(made["stm"]).update(registers or {})
    vars(made["machine"])["mem32"] = memory
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    functions: dict[str, Any] = {}
    exec(prompt_program("board_question.py").removesuffix("main()\n"), functions)
    return functions


def asked() -> BoardFacts:
    async def ask(path: str) -> str:
        port = await open_port(path, 115200)
        try:
            async with asyncio.timeout(LIMIT_S):
                prompt = Prompt(port)
                await prompt.reach(lambda _hint: None)
                return await prompt.run(prompt_program("board_question.py"))
        finally:
            await port.aclose()

    if reason := unavailable_reason():
        pytest.skip(reason)
    with prompt_board() as path:
        return read_facts(asyncio.run(ask(path)).strip().splitlines()[-1])


@pytest.fixture(scope="module")
def facts() -> BoardFacts:
    # The interpreter's own name is that of this computer
    return msgspec.structs.replace(asked(), board="NUCLEO-F411RE with STM32F411xE")


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BARNACLE_CONFIG", str(tmp_path / "barnacle.toml"))
    (tmp_path / "boards").mkdir()
    return tmp_path / "boards"


def test_what_a_board_says_agrees_with_the_file_that_people_wrote(facts: BoardFacts) -> None:
    written = board_file("nucleo_f411re")
    usable = board_table(facts)["usable"]
    for pin, uses in usable.items():
        # A timer's function need not be a channel: MicroPython refuses that one when it is made
        assert set(uses.split()) - {"pwm"} == set(written.USABLE[pin].split()) - {"pwm"}, pin
        assert set(uses.split()) >= set(written.USABLE[pin].split()), pin
    asked_about = {f"P{name}" for name in facts.pins}
    # PA11 and PA12 lead to a USB socket that a Nucleo does not have
    assert asked_about & set(written.USABLE) - {"PA11", "PA12"} == set(usable)


def test_a_pin_that_may_get_the_dead_mans_timer_is_for_no_pwm(facts: BoardFacts) -> None:
    """PB9 has channels of timers 4 and 11, and MicroPython chooses by itself."""
    assert (facts.timer, facts.pins["B9"].timers) == (11, ("TIM4", "TIM11"))
    assert board_table(facts)["usable"]["PB9"] == "gpio"


@pytest.mark.parametrize(
    ("timer", "pin", "uses"),
    [
        (11, "PB9", "gpio"),
        (11, "PF7", "gpio"),
        (17, "PA7", "gpio"),
        (17, "PB9", "gpio"),
        (14, "PA4", "gpio"),
        # Of another timer
        (11, "PA7", "gpio pwm"),
        (17, "PB8", "gpio pwm"),
        (7, "PB9", "gpio pwm"),
    ],
)
def test_a_file_of_an_earlier_description_gives_no_pwm_the_dead_mans_timer(
    facts: BoardFacts, own_folder: Path, timer: int, pin: str, uses: str
) -> None:
    """It says `pwm` where the pin has a channel of another timer as well."""
    table = board_table(facts) | {"deadman_timer": timer, "usable": {pin: "gpio pwm"}}
    (own_folder / "my_board.toml").write_text(dumps(table))
    usable = board_file("my_board").USABLE
    assert usable == {pin: uses}


def test_led_button_and_link_are_those_of_the_board(facts: BoardFacts) -> None:
    table, written = board_table(facts), board_file("nucleo_f411re")
    assert tuple(table["link"]) == written.LINK
    rows = {row["name"]: row for row in table["pins"]}
    for name, of_file in {row["name"]: row for row in written.PINS}.items():
        if of_file["pin"][1:] in facts.pins:
            assert rows[name]["pin"] == of_file["pin"], name
            assert rows[name].get("active_low", False) == of_file.get("active_low", False), name
            assert set(rows[name]["can"]) == set(of_file["can"]), name
    for key in ("flash_class", "is_small", "deadman_timer", "has_mcu_temperature", "supply_mv"):
        assert table[key] == getattr(written, key.upper()), key


def test_a_described_board_gets_firmware_like_any_other(
    facts: BoardFacts, own_folder: Path
) -> None:
    (own_folder / "my_board.toml").write_text(dumps({**board_table(facts), "name": "my-board"}))
    assert "my_board" in every_board_name()
    board = board_file("my_board")
    assert (board.NAME, board.LINK) == ("my-board", ("uart", 2, 0))
    assert b"about.json" in image("my_board")[:64]


def test_a_described_board_gets_updates_like_any_other(
    facts: BoardFacts,
    own_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (own_folder / "my_board.toml").write_text(dumps({**board_table(facts), "name": "my-board"}))
    (own_folder / "bad_board.toml").write_text('name = "bad-board"\n')
    carried = tmp_path / "carried"
    monkeypatch.setattr(flash_command, "CARRIED", carried)
    monkeypatch.setattr(flash_command, "board_names", lambda: ["nucleo_f411re"])
    every = ["bad_board", "my_board", "nucleo_f411re"]
    monkeypatch.setattr(flash_command, "every_board_name", lambda: every)
    monkeypatch.setattr("sys.argv", ["flash", "--images"])
    assert flash_command.main() == 0
    assert "no image for bad_board: " in capsys.readouterr().err
    assert sorted(path.name for path in carried.glob("*.fw")) == [
        "my_board.fw",
        "nucleo_f411re.fw",
    ]
    assert read_image(carried / "my_board.fw").about.board == "my-board"


def test_a_board_whose_flash_has_no_name_tells_the_room_of_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MicroPython for a B-L475E-IOT01A has /flash and no `pyb.Flash`: it was said to have none."""
    monkeypatch.setattr(os, "statvfs", lambda _path: (512, 512, 987, 985))
    assert asking(monkeypatch)["_blocks"]() == 987


F411_REGISTERS = {"RTC": 0x40002800, "RTC_BKP0R": 80, "RTC_BKP9R": 116, "RTC_BKP19R": 156}


class ForgetfulMemory(dict[int, int]):
    """Takes writes and keeps none, as backup registers do without their clock."""

    def __missing__(self, _address: int) -> int:
        return 0

    def __setitem__(self, _address: int, _value: int) -> None:
        pass


@pytest.mark.parametrize(
    ("registers", "memory", "found"),
    [
        (F411_REGISTERS, {0x4000289C: 7}, 0x4000289C),
        (F411_REGISTERS, ForgetfulMemory(), 0),
        # An STM32G431 has its backup registers in another peripheral, which `stm` does not name
        ({"RTC": 0x40002800}, {}, 0),
    ],
)
def test_the_last_backup_register_that_keeps_something_is_told(
    registers: dict[str, int],
    memory: dict[int, int],
    found: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = dict(memory)
    functions = asking(monkeypatch, registers, memory)
    assert functions["_backup_register"]() == found
    assert memory == before


def test_a_name_and_pins_that_nobody_has_are_not_believed(facts: BoardFacts) -> None:
    assert board_name(facts) == "nucleo-f411re"
    assert board_name(msgspec.structs.replace(facts, board="../../etc with x")) == "etc"
    said = msgspec.to_builtins(facts)
    for line in ("Traceback", msgspec.json.encode({**said, "pins": {"../a": {}}}).decode()):
        with pytest.raises(Exception, match="board"):
            read_facts(line)


@pytest.mark.parametrize(
    ("change", "trouble"),
    [
        ({"link": ["usb"]}, "link"),
        ({"flash_class": 9}, "flash_class"),
        ({"supply_mv": 5000}, "supply_mv"),
        ({"is_small": 1}, "is_small"),
        ({"usable": {"PB0": "gpio laser"}}, "usable.PB0"),
        ({"usable": {"import os": "gpio"}}, "usable.import os"),
        ({"pins": [{"name": "led", "pin": "PA5"}]}, "`can`"),
        ({"pins": [{"name": "l", "pin": "PA5", "can": ["in"]}] * 2}, "same name"),
    ],
)
def test_a_file_that_is_wrong_says_where(
    facts: BoardFacts, own_folder: Path, change: dict[str, object], trouble: str
) -> None:
    (own_folder / "odd.toml").write_text(dumps(board_table(facts) | change))
    with pytest.raises(board_folder.BadBoardFile, match=trouble) as refused:
        board_file("odd")
    assert "odd.toml" in str(refused.value)


def test_the_file_is_written_with_a_head_and_reads_back(facts: BoardFacts) -> None:
    table = board_table(facts)
    assert tomllib.loads(dumps(table)) == table
