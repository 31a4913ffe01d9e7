from pathlib import Path

import pytest

from agent.schedule.trust import is_trusted
from agent.system.clock import RELEASED_S

DAY_S = 86_400.0


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """Root of a machine whose clock the network is to set."""
    (tmp_path / "run/systemd/timesync").mkdir(parents=True)
    return tmp_path


def synchronize(root: Path) -> None:
    (root / "run/systemd/timesync/synchronized").touch()


def shows(root: Path, text: str) -> None:
    """The machine has a clock with a battery, which says this."""
    clock = root / "sys/class/rtc/rtc0"
    clock.mkdir(parents=True, exist_ok=True)
    (clock / "since_epoch").write_text(text)


def test_a_time_before_this_program_is_trusted_only_from_the_network(waiting: Path) -> None:
    assert not is_trusted(100.0, waiting)
    synchronize(waiting)
    assert is_trusted(100.0, waiting)


def test_a_machine_without_that_service_is_believed(tmp_path: Path) -> None:
    assert is_trusted(RELEASED_S, tmp_path)
    assert not is_trusted(RELEASED_S - 1, tmp_path)


def test_the_time_when_systemd_was_made_is_not_believed(waiting: Path) -> None:
    made_s = RELEASED_S + 100 * DAY_S
    assert not is_trusted(made_s, waiting)
    # As on a Pi 5 without a battery
    shows(waiting, "946684812\n")
    assert not is_trusted(made_s, waiting)
    synchronize(waiting)
    assert is_trusted(made_s, waiting)


def test_a_clock_with_a_battery_is_believed_before_the_network_is_there(waiting: Path) -> None:
    now_s = RELEASED_S + 100 * DAY_S
    # Local time, as beside another system
    shows(waiting, f"{now_s + 14 * 3600:.0f}\n")
    assert is_trusted(now_s, waiting)
    shows(waiting, f"{now_s + 2 * DAY_S:.0f}\n")
    assert not is_trusted(now_s, waiting)


@pytest.mark.parametrize("text", ["", "soon", "1e"])
def test_a_clock_that_says_nothing_is_none(waiting: Path, text: str) -> None:
    shows(waiting, text)
    assert not is_trusted(RELEASED_S + DAY_S, waiting)
