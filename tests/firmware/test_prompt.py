"""The way to a board's prompt: what is in the way is said, and a reset is none of it."""

import os
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
import serial

from firmware.host import flash_command, prompt
from firmware.host.wire import Silence


@pytest.fixture
def terminal() -> Iterator[tuple[int, str]]:
    """A pseudo-terminal: our end, and the path of the other."""
    master, slave = os.openpty()
    try:
        yield master, os.ttyname(slave)
    finally:
        os.close(master)
        os.close(slave)


def reached(port: str) -> tuple[str, list[str]]:
    """Return why the prompt is not reached, and what was hinted."""
    hints: list[str] = []
    with pytest.raises(prompt.NoPrompt) as refused:
        prompt.reach(port, hints.append, limit_s=prompt.HINT_AFTER_S + 0.5)
    return str(refused.value), hints


def test_a_port_that_another_program_has_is_told_while_it_can_be_stopped(
    terminal: tuple[int, str],
) -> None:
    # As the agent holds it
    with serial.Serial(terminal[1], prompt.BAUDRATE, exclusive=True):
        why, hints = reached(terminal[1])
    assert hints == [f"another program uses {terminal[1]}: stop it first"]
    assert hints[0] in why


def test_a_port_that_is_none_or_not_there_is_told(tmp_path: Path) -> None:
    file, gone = tmp_path / "file", tmp_path / "gone"
    file.touch()
    assert f"{file} is not a serial port" in reached(str(file))[0]
    assert f"{gone} not found: is the board plugged in?" in reached(str(gone))[0]


def test_where_nothing_answers_the_button_is_asked_for(terminal: tuple[int, str]) -> None:
    why, hints = reached(terminal[1])
    assert "Is MicroPython on the board at all?" in why
    assert [hint.partition(" ")[0] for hint in hints] == ["Press"]


@pytest.mark.parametrize("call", ["tcsetattr", "tcflush"])
def test_a_reset_while_the_port_is_opened_is_no_failure(
    terminal: tuple[int, str], monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr(termios, call, unplugged)
    assert "no MicroPython prompt" in reached(terminal[1])[0]


def test_nor_is_one_while_the_greeting_is_waited_for(
    terminal: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(termios, "tcflush", unplugged)
    monkeypatch.setattr(flash_command, "START_LIMIT_S", 0.1)
    with pytest.raises(Silence, match="does not answer"):
        flash_command._greeted(terminal[1])


def unplugged(*_arguments: object) -> None:
    """In the place of a call of pyserial's: what the kernel answers when a USB board goes."""
    raise termios.error(5, "Input/output error")
