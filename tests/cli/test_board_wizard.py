"""`barnacle board wizard` with somebody who types, and the simulated board."""

import os
import signal
import threading
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.cli.wiring import WiringQuestions, checked, draw, kinds_at, wires
from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.fakes.typist import Typist, typing

# Nobody looks for 1-Wire, or for a bus
NONE = ("", "")


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[BoardSim]:
    if reason := unavailable_reason():
        pytest.skip(reason)
    with BoardSim(tmp_path) as started:
        yield started


def _config(home: Path) -> Path:
    return home / ".config/barnacle/barnacle.toml"


def _wizard(simulator: BoardSim, monkeypatch: pytest.MonkeyPatch, *answers: str) -> int:
    typing(monkeypatch, *answers)
    return main(["board", "wizard", "--port", str(simulator.port)])


def test_what_answers_is_proposed_tried_and_written(
    home: Path,
    simulator: BoardSim,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers = ["garden", "pa11", "pa12", "PA15"]
    # 0x38, 0x3c, 0x40, 0x44, 0x48, 0x50 and 0x62; 0x40 and the memory at 0x50 are left out
    answers += ["air", "panel", "ina219", "", "sht3x", "room", "ads1115", "2", "soil", "", ""]
    answers += ["co2"]
    answers += ["cellar", "attic"]
    answers += ["pb2", "output", "5", "fan", "", "y", "y", "y", "y"]
    assert _wizard(simulator, monkeypatch, *answers) == exits.OK, capsys.readouterr().out
    board = tomllib.loads(_config(home).read_text())["board"]
    bus = {"pin": "PA11", "sda": "PA12"}
    assert board["name"] == "garden"
    assert board["pins"] == {
        "air": {"kind": "aht20", **bus},
        "panel": {"kind": "ssd1306", **bus},
        "room": {"kind": "sht3x", **bus},
        "soil": {"kind": "ads1115", **bus, "channel": 2},
        "co2": {"kind": "scd4x", **bus},
        "cellar": {"kind": "ds18b20", "pin": "PA15", "serial": 0x0B00_0001},
        "attic": {"kind": "ds18b20", "pin": "PA15", "serial": 0x0B00_0005},
        "fan": {"kind": "output", "pin": "PB2", "max_on_s": 5.0},
    }
    assert [value for value, _ in simulator.changes("fan")] == [0, 1, 0]
    picture = ET.parse(_config(home).with_name("wiring.svg")).getroot()
    assert "fan (output): output" in "".join(picture.itertext())
    assert "Written." in capsys.readouterr().out
    # The board has it, and needs nobody's word any more
    assert main(["board", "configure", "--port", str(simulator.port)]) == exits.OK


def test_nothing_is_tried_without_a_yes_and_who_leaves_changes_nothing(
    home: Path,
    simulator: BoardSim,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fan = ("", *NONE, "pb2", "output", "", "fan", "")
    # No to the second of the fan, then gone at the question whether to write
    assert _wizard(simulator, monkeypatch, *fan, "y", "n") == exits.INTERRUPTED
    assert [value for value, _ in simulator.changes("fan")] == [0]
    assert _wizard(simulator, monkeypatch, *fan, "n") == exits.FAILED
    assert "Nothing was written." in capsys.readouterr().out
    assert not _config(home).exists()
    # The board has none of it either
    assert main(["board", "configure", "--port", str(simulator.port)]) == exits.OK


@pytest.mark.usefixtures("home")
def test_who_leaves_at_a_trial_is_not_kept_until_a_line_is_typed(
    simulator: BoardSim,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    typist = Typist("", *NONE, "pb2", "output", "", "fan", "", "y")
    typed = threading.Event()

    def interrupted(question: str = "") -> str:
        if typist.answers:
            return typist(question)
        os.kill(os.getpid(), signal.SIGINT)
        # A terminal waits on for its line
        typed.wait(60)
        left.append(question)
        return "n"

    left: list[str] = []
    typing(monkeypatch)
    monkeypatch.setattr("builtins.input", interrupted)
    assert main(["board", "wizard", "--port", str(simulator.port)]) == exits.INTERRUPTED
    assert not left
    typed.set()
    assert "Nothing was written." in capsys.readouterr().out
    assert main(["board", "configure", "--port", str(simulator.port)]) == exits.OK


def test_what_the_board_refuses_is_told_and_not_written(
    home: Path,
    simulator: BoardSim,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        _wizard(simulator, monkeypatch, "", *NONE, "pb12", "pwm", "", "fan", "", "y")
        == exits.FAILED
    )
    assert "PB12 cannot be used for that" in capsys.readouterr().out
    assert not _config(home).exists()


def test_a_name_that_the_settings_would_refuse_is_asked_for_again(
    home: Path,
    simulator: BoardSim,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    board = ("Green House", "greenhouse_of_the_garden", "greenhouse")
    fan = ("pb2", "output", "", "f" * 25, "F", "f" * 24, "", "y", "n", "y")
    assert _wizard(simulator, monkeypatch, *board, *NONE, *fan) == exits.OK
    said = capsys.readouterr().out
    assert said.count("! a board has a name of 1 to 16 lower-case letters") == 2
    assert "! a name has at most 24 characters" in said
    written = tomllib.loads(_config(home).read_text())["board"]
    assert (written["name"], list(written["pins"])) == ("greenhouse", ["f" * 24])


def test_without_a_terminal_the_file_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    assert main(["board", "wizard"]) == exits.USAGE
    assert "[board.pins.<name>]" in capsys.readouterr().err
    assert not _config(home).exists()


def test_an_address_proposes_every_kind_that_can_have_it() -> None:
    assert kinds_at(0x76) == ("bme280",)
    assert kinds_at(0x44) == ("sht3x", "ina219")
    assert kinds_at(0x40) == ("ina219", "pca9685")
    assert kinds_at(0x1D) == ()


class Person:
    """Somebody who types these lines."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.said: list[str] = []
        self.asked: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def ask(self, question: str) -> str:
        self.asked.append(question)
        return self._lines.pop(0)

    ask_secret = ask


BUS = {"pin": "PB6", "sda": "PB7"}


def test_what_no_driver_knows_is_said_to_be_unknown() -> None:
    person = Person()
    WiringQuestions(person, {}).of_address(0x1D, BUS)
    assert person.said == ["At 0x1d answers something that no driver knows."]


def test_what_is_no_pin_is_asked_again() -> None:
    person = Person("pump", "PA1", "", "d5", "pa2", "p", "", "pb", "", "pa15")
    questions = WiringQuestions(person, {})
    assert questions.bus() == {"pin": "PA1", "sda": "PA2"}
    assert questions.line() == {}
    questions.of_pins()
    assert questions.line() == {"pin": "PA15"}
    told = [text for text in person.said if "called as on the chip: PB0 or PC13" in text]
    assert len(told) == 5


def test_a_thermometer_on_a_line_is_known_by_its_family() -> None:
    person = Person("cellar", "attic", "alone")
    questions = WiringQuestions(person, {})
    line = {"pin": "PA15"}
    questions.of_serial("28-00000b000001", line, is_alone=False)
    questions.of_serial("22-00000b000005", line, is_alone=False)
    questions.of_serial("26-00000b000007", line, is_alone=False)
    questions.of_serial("22-00000b000005", {"pin": "PA12"}, is_alone=True)
    sensor = {"kind": "ds18b20", **line}
    assert questions.pins == {
        "cellar": {**sensor, "serial": 0x0B00_0001},
        "attic": {**sensor, "family": 0x22, "serial": 0x0B00_0005},
        "alone": {"kind": "ds18b20", "pin": "PA12"},
    }
    assert "is a DS1822" in person.said[1]
    assert "no driver knows" in person.said[2]
    checked(questions.pins)


def test_a_device_with_further_wires_and_channels_is_asked_for_all_of_them() -> None:
    """A PCA9685 is 16 outputs: each has a channel, a limit and a name of its own."""
    person = Person("y", "pb8", "0", "5", "fan", "16", "3", "", "lamp", "")
    questions = WiringQuestions(person, {})
    questions.of_address(0x60, BUS)
    chip = {"kind": "pca9685", **BUS, "address": 0x60, "oe": "PB8"}
    fan, lamp = {**chip, "channel": 0, "max_on_s": 5.0}, {**chip, "channel": 3}
    assert questions.pins == {"fan": fan, "lamp": lamp}
    assert person.said[1:] == ["! 16 is not one of them"]
    checked(questions.pins)


def test_what_may_be_several_kinds_is_asked_until_it_is_one_of_them() -> None:
    person = Person("pca9685", "mcp23017in", "pb9", "7", "door", "")
    questions = WiringQuestions(person, {})
    questions.of_address(0x20, BUS)
    chip = {"kind": "mcp23017in", **BUS, "reset": "PB9", "channel": 7}
    assert questions.pins == {"door": chip}
    assert person.said[1:] == ["! it is one of mcp23017, mcp23017in"]


def test_the_second_device_of_a_kind_has_an_address_of_its_own() -> None:
    first, second = ("pb6", "bme280", "", "pb7", "room"), ("pb6", "bme280", "0x77", "pb7", "attic")
    person = Person(*first, *second, "")
    questions = WiringQuestions(person, {})
    questions.of_pins()
    chip = {"kind": "bme280", **BUS}
    assert questions.pins == {"room": chip, "attic": {**chip, "address": 0x77}}
    assert "Its I2C address, 0x76 to 0x77 [0x76] " in person.asked


def test_the_picture_has_a_wire_for_each_pin_and_no_markup_of_others() -> None:
    pins = checked(
        {
            "gate": {"kind": "motor", "pin": "PA6", "forward": "PB0", "backward": "PB1"},
            "led": {"pin": "PC13"},
        }
    )
    assert [pin for pin, *_ in wires(pins)] == ["PA6", "PB0", "PB1", "PC13"]
    root = ET.fromstring(draw("<b>garden</b>", pins))
    assert len([one for one in root if one.tag.endswith("line")]) == 4
    assert "<b>garden</b>" in [one.text for one in root if one.tag.endswith("text")]
