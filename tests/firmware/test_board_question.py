"""A board that describes itself: the real program at the real prompt, and the file that follows.

The stand-in for the hardware is after ST's documents; the board file that people wrote for the same
board is what the answer is held against.
"""

import asyncio
import os
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from agent.link.board_description import BoardFacts, board_name, board_table, read_facts
from agent.link.port import open_port
from agent.link.prompt import Prompt, prompt_program
from agent.provision.toml_text import dumps
from firmware.host import board_folder
from firmware.host.bundle import board_file, every_board_name
from firmware.host.image import image
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.prompt_board import prompt_board

# What a slow machine may need for two kilobytes, echoed piece by piece
LIMIT_S = 60.0


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


def test_a_board_whose_flash_has_no_name_tells_the_room_of_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MicroPython for a B-L475E-IOT01A has /flash and no `pyb.Flash`: it was said to have none."""
    for module in ("machine", "pyb"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    monkeypatch.setattr(os, "statvfs", lambda _path: (512, 512, 987, 985))
    functions: dict[str, Any] = {}
    exec(prompt_program("board_question.py").removesuffix("main()\n"), functions)
    assert functions["_blocks"]() == 987


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
