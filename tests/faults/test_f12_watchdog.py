"""F12: the host hangs; the service manager is told nothing good of it, and starts it anew."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.blocking import BLOCK_S
from tests.fakes.chat_process import ChatProcess
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.service_manager import ServiceManager
from tests.waits import stays_sync, wait_until_sync

WATCHDOG_S = 0.9
BLOCKING = '[hooks]\nmodules = ["tests.fakes.blocking:BlockingHook"]\n'


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[ServiceManager]:
    with ServiceManager(tmp_path / "notify", WATCHDOG_S) as listening:
        yield listening


def test_a_stopped_agent_gives_no_sign_of_life(tmp_path: Path, manager: ServiceManager) -> None:
    with DaemonProcess(tmp_path, **manager.environ) as daemon:
        told = manager.wait_for("WATCHDOG=1")
        assert any(one.startswith("STATUS=board: absent") for one in told)
        assert told.index("READY=1") < told.index("WATCHDOG=1")
        daemon.signal(signal.SIGSTOP)
        daemon.wait_for_state("T")
        # What was under way
        manager.news()
        stays_sync(lambda: manager.news() == [], 2 * WATCHDOG_S)
        daemon.signal(signal.SIGCONT)
        manager.wait_for("WATCHDOG=1")
        assert daemon.stop() == 0
        assert "STOPPING=1" in manager.news()


def test_a_loop_that_is_held_gives_no_sign_of_life(tmp_path: Path, manager: ServiceManager) -> None:
    with DaemonProcess(tmp_path, BLOCKING, **manager.environ):
        manager.wait_for("WATCHDOG=1")
        with ChatProcess(tmp_path, BLOCKING) as chat:
            # It is attached when it has an answer
            chat.say("/jobs")
            chat.tell("what time is it?")
            assert longest_silence_s(manager, BLOCK_S + 5) >= BLOCK_S - WATCHDOG_S
            assert chat.hear()


def longest_silence_s(manager: ServiceManager, patience_s: float) -> float:
    """Between two signs of life, the second of which ends the looking when it comes late."""
    begun_s = last_s = time.monotonic()
    longest_s = 0.0

    def is_over() -> bool:
        nonlocal longest_s, last_s
        if "WATCHDOG=1" in manager.news():
            longest_s = max(longest_s, time.monotonic() - last_s)
            last_s = time.monotonic()
        return longest_s >= BLOCK_S / 2 or last_s >= begun_s + patience_s

    wait_until_sync(is_over, 2 * patience_s)
    return longest_s
