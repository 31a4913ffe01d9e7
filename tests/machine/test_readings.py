from pathlib import Path

from agent.machine.file_system import Card
from agent.machine.network import Network
from agent.machine.readings import Readings


def test_a_machine_without_any_of_it_is_no_trouble(tmp_path: Path) -> None:
    readings = Readings(tmp_path, tmp_path / "nothing")
    assert readings.load_1min() is None
    assert readings.uptime_s() is None
    assert readings.temperature_c() is None
    assert readings.throttled() is None
    assert readings.memory_mb() == {}
    assert readings.wireless() == []
    assert readings.card() == Card()
    assert readings.network() == Network()


def test_this_machine_is_read_too(tmp_path: Path) -> None:
    readings = Readings(tmp_path)
    assert readings.load_1min() is not None
    assert readings.memory_mb()["MemTotal"] > 0
    found = readings.room()
    assert found is not None
    assert 0 <= found.free_mb <= found.total_mb
    assert found.kind
