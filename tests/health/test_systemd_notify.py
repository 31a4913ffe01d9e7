import os
import secrets
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.health.systemd_notify import USUAL_WATCHDOG_S, SystemdNotifier
from tests.fakes.service_manager import ServiceManager

SYSTEMD_NOTIFY = shutil.which("systemd-notify") or ""


def test_assignments_go_in_one_datagram(tmp_path: Path) -> None:
    with ServiceManager(tmp_path / "s") as manager:
        notify = SystemdNotifier(manager.environ)
        notify.send("READY=1", "STATUS=all is well")
        assert notify.is_wanted
        assert manager.news() == ["READY=1", "STATUS=all is well"]


def test_an_abstract_socket_is_reached_too() -> None:
    with ServiceManager(f"@barnacle-test-{secrets.token_hex(8)}") as manager:
        SystemdNotifier(manager.environ).send("READY=1")
        assert manager.news() == ["READY=1"]


@pytest.mark.skipif(not SYSTEMD_NOTIFY, reason="systemd-notify is not installed")
def test_systemd_s_own_program_says_the_same(tmp_path: Path) -> None:
    with ServiceManager(tmp_path / "s") as manager:
        command = [SYSTEMD_NOTIFY, "--no-block", "--ready", "--status=Grüße"]
        subprocess.run(command, env={**os.environ, **manager.environ}, check=True, timeout=10)
        theirs = manager.news()
        SystemdNotifier(manager.environ).send("READY=1", "STATUS=Grüße")
        assert sorted(manager.news()) == sorted(theirs)


def test_what_is_told_begins_no_assignment_of_its_own(tmp_path: Path) -> None:
    with ServiceManager(tmp_path / "s") as manager:
        SystemdNotifier(manager.environ).send("STATUS=a name\nWATCHDOG=1")
        assert manager.news() == ["STATUS=a name\\nWATCHDOG=1"]


@pytest.mark.parametrize("named", ["", "vsock:2:1234", "nonsense"])
def test_without_a_socket_nothing_is_told(named: str) -> None:
    notify = SystemdNotifier({"NOTIFY_SOCKET": named})
    notify.send("READY=1")
    assert not notify.is_wanted


def test_a_manager_that_is_gone_is_complained_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notify = SystemdNotifier({"NOTIFY_SOCKET": str(tmp_path / "nothing")})
    notify.send("WATCHDOG=1")
    notify.send("WATCHDOG=1")
    assert len(caplog.records) == 1


def test_a_manager_that_reads_nothing_holds_nobody(tmp_path: Path) -> None:
    with ServiceManager(tmp_path / "s") as manager:
        notify = SystemdNotifier(manager.environ)
        for _ in range(5000):
            notify.send("WATCHDOG=1")
        assert manager.news()


@pytest.mark.parametrize(
    ("environ", "expected_s"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "1500000", "WATCHDOG_PID": str(os.getpid())}, 1.5),
        ({"WATCHDOG_USEC": "1500000", "WATCHDOG_PID": "1"}, USUAL_WATCHDOG_S),
        ({"WATCHDOG_USEC": "often"}, USUAL_WATCHDOG_S),
        ({"WATCHDOG_USEC": "0"}, USUAL_WATCHDOG_S),
        ({}, USUAL_WATCHDOG_S),
    ],
)
def test_the_time_is_the_one_that_is_meant_for_us(
    environ: dict[str, str], expected_s: float
) -> None:
    assert SystemdNotifier(environ).watchdog_s == expected_s
