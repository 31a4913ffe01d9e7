import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from serial import SerialException

from firmware.host.wire import Silence, Wire
from tests.fakes.board_sim import PROGRAM, BoardSim
from tests.firmware.conftest import simulated
from tests.firmware.methods import GPIO_READ, OFF, ON, PINS, switch
from tests.waits import stays_sync, wait_until_sync


def board_sim(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, for what makes it end by itself."""
    command = [str(PROGRAM), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=15, check=False)


def test_a_killed_board_is_a_pulled_cable(own_board: BoardSim) -> None:
    terminal = own_board.port.resolve()
    own_board.kill()
    wait_until_sync(lambda: not terminal.exists())
    wait_until_sync(lambda: not own_board.port.is_symlink())


def test_a_killed_board_comes_back_under_its_name_and_counts_its_boots(
    own_board: BoardSim,
) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        first = wire.greeting[7]
    own_board.kill()
    # The count is the second of the start
    second = int(time.time())
    wait_until_sync(lambda: int(time.time()) > second)
    own_board.start()
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        assert wire.greeting[7] > first


def test_a_stopped_board_ends_when_its_outputs_are_safe(own_board: BoardSim) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        switch(wire, "d2", ON)
        assert own_board.stop() == 0
    (_, began_ms), (value, ended_ms) = own_board.changes("d2")
    assert value == 0
    assert 400 <= ended_ms - began_ms <= 450
    assert own_board.record()[-1]["event"] == "stop"
    assert not own_board.port.is_symlink()


def test_a_stopping_board_is_deaf(own_board: BoardSim) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        switch(wire, "led", ON)
        own_board.order({"stop": True})
        # A busy machine may come back to it after the board has gone altogether
        with pytest.raises((Silence, SerialException)):
            wire.answer_to(wire.request(GPIO_READ, PINS["led"])) or silence()


def silence() -> None:
    raise Silence


def test_the_record_tells_every_change_with_both_clocks(own_board: BoardSim) -> None:
    before_ms, before_s = time.monotonic() * 1000, time.time()
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        switch(wire, "pump", ON)
    event = own_board.record()[-1]
    assert {key: event[key] for key in ("event", "name", "pin", "level", "value")} == {
        "event": "pin",
        "name": "pump",
        "pin": "PB0",
        "level": 1,
        "value": 1,
    }
    assert before_ms - 1 <= event["ms"] <= time.monotonic() * 1000 + 1
    assert before_s - 0.1 <= event["wall_s"] <= time.time() + 0.1


def test_a_world_has_a_script(tmp_path: Path) -> None:
    world = {
        "values": {"button": 0, "temperature": {"value": 20, "drift_per_s": 1000, "highest": 30}},
        "script": [{"at_s": 0.1, "set": {"button": 1}}, {"at_s": 0.3, "set": {"button": 0}}],
    }
    simulated(tmp_path / "unused")  # skips where nothing can be simulated
    with BoardSim(tmp_path, world) as board, Wire(str(board.port)) as wire:
        wire.greet()
        wait_until_sync(lambda: wire.call(GPIO_READ, PINS["button"]) == ON)
        wait_until_sync(lambda: wire.call(GPIO_READ, PINS["button"]) == OFF)
        assert board.order({"get": True})["values"]["temperature"] == 30


def test_a_firmware_that_hangs_starves_its_watchdog(own_board: BoardSim) -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        # It is reset before it can answer
        own_board.order({"freeze_ms": 4000})
    wait_until_sync(lambda: [event["event"] for event in own_board.record()].count("boot") == 2)
    ends = [event["event"] for event in own_board.record()]
    assert "watchdog" in ends[: len(ends) - ends[::-1].index("boot")]


def interpreter_of(board: BoardSim) -> int:
    assert board._process is not None
    host = board._process.pid
    (child,) = Path(f"/proc/{host}/task/{host}/children").read_text().split()
    return int(child)


def test_the_record_says_that_the_board_itself_was_stopped(own_board: BoardSim) -> None:
    os.kill(interpreter_of(own_board), signal.SIGSTOP)
    time.sleep(0.6)
    os.kill(interpreter_of(own_board), signal.SIGCONT)
    wait_until_sync(lambda: own_board.record()[-1]["event"] == "stall")
    assert own_board.record()[-1]["late_ms"] >= 600


def test_the_record_says_that_the_board_itself_was_killed(own_board: BoardSim) -> None:
    os.kill(interpreter_of(own_board), signal.SIGKILL)
    wait_until_sync(lambda: own_board.record()[-1]["event"] == "killed")
    assert own_board.record()[-1]["signal"] == signal.SIGKILL


def test_the_watchdog_is_fed_in_time(board: BoardSim) -> None:
    age_s = time.monotonic() - board.record()[0]["ms"] / 1000
    stays_sync(
        lambda: "watchdog" not in {event["event"] for event in board.record()},
        max(0.0, 2.2 - age_s),
    )


def test_orders_that_make_no_sense_are_answered_and_do_nothing(board: BoardSim) -> None:
    before = board.order({"get": True})["values"]
    for order in (
        {"set": {"nothing": 1}},
        {"set": {"a0": "wet"}},
        {"set": {"a0": {"volume": 11}}},
        {"set": 5},
        {"stuck": {"nothing": 1}},
        {"freeze_ms": "long"},
    ):
        assert "error" in board.order(order), order
    assert board.order({"get": True})["values"].keys() == before.keys()


def test_help_teaches() -> None:
    shown = board_sim("--help").stdout
    for word in ("--link", "--record", "--world", "--control", "drift_per_s", "SIGTERM"):
        assert word in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "No such file"), ("{", "is not JSON"), ("[]", "is an object")],
)
def test_a_world_that_cannot_be_read_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    simulated(tmp_path)
    world = tmp_path / "world.json"
    if text is not None:
        world.write_text(text)
    ended = board_sim("--world", str(world))
    assert ended.returncode == 1
    assert str(world) in ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "world",
    [
        {"values": {"nothing": 1}},
        {"values": {"a0": {"volume": 11}}},
        {"values": 3},
        {"script": [{"set": {"button": 1}}]},
        {"script": [{"at_s": 1, "set": {"nothing": 1}}]},
    ],
)
def test_a_world_that_makes_no_sense_is_refused(tmp_path: Path, world: object) -> None:
    simulated(tmp_path)
    (tmp_path / "world.json").write_text(json.dumps(world))
    ended = board_sim("--world", str(tmp_path / "world.json"))
    assert ended.returncode == 1
    assert ended.stderr.startswith("board-sim: the world makes no sense: ")
    assert ended.stderr.count("\n") == 1


def test_a_file_in_the_place_of_the_link_is_not_overwritten(tmp_path: Path) -> None:
    simulated(tmp_path)
    (tmp_path / "precious").write_text("data")
    ended = board_sim("--link", str(tmp_path / "precious"))
    assert ended.returncode == 1
    assert "exists and is no link" in ended.stderr
    assert (tmp_path / "precious").read_text() == "data"


def test_without_an_interpreter_it_says_where_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BARNACLE_MICROPYTHON", str(tmp_path / "nothing"))
    ended = board_sim()
    assert ended.returncode == 1
    assert "no MicroPython 1.24 or newer" in ended.stderr


def test_a_part_is_refused_where_words_have_64_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = tmp_path / "wide"
    wide.write_text(
        '#!/bin/sh\ncase "$2" in *maxsize*) echo 9223372036854775807 ;;\n'
        "*) echo \"(name='micropython', version=(1, 25, 0, ''), _machine='x', _mpy=1)\" ;; esac\n"
    )
    wide.chmod(0o755)
    monkeypatch.setenv("BARNACLE_MICROPYTHON", str(wide))
    done = subprocess.run(
        [str(PROGRAM), "--board", "nucleo_f411re"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "--board nucleo_f411re needs a MicroPython with words of 32 bits" in done.stderr
