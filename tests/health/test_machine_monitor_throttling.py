from pathlib import Path

import pytest

from agent.health import machine_monitor
from agent.machine.readings import Readings
from tests.fakes.kernel import write

FIRMWARE = "sys/devices/platform/soc/soc:firmware/get_throttled"


def on(folder: Path) -> Readings:
    return Readings(folder, folder)


def test_a_machine_that_does_not_tell_is_not_judged(tmp_path: Path) -> None:
    assert machine_monitor.judge_throttling(on(tmp_path), is_on=False) is None


@pytest.mark.parametrize(
    ("bits", "said"), [("0", ""), ("1", ""), ("e0000", ""), ("6", "frequency capped, throttled")]
)
def test_what_slows_the_processor_is_named(tmp_path: Path, bits: str, said: str) -> None:
    write(tmp_path, FIRMWARE, bits)
    sentence = machine_monitor.judge_throttling(on(tmp_path), is_on=False)
    assert said in (sentence or "")
    assert bool(sentence) is bool(said)
