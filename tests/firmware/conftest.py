"""A simulated board for all tests of the firmware, and a plain client of its wire format."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.firmware.bench import configure


@pytest.fixture(scope="session")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoardSim]:
    """One board for everybody: a new session makes its outputs safe."""
    with simulated(tmp_path_factory.mktemp("board")) as started:
        yield started


@pytest.fixture
def wire(board: BoardSim) -> Iterator[Wire]:
    """A fresh session with the shared board, which nobody may configure."""
    with Wire(str(board.port)) as opened:
        opened.greet()
        opened.clear()
        opened.greet()  # with every count at its beginning
        assert not any(opened.configuration_hash), "an earlier test should take its own board"
        yield opened


@pytest.fixture
def own_board(tmp_path: Path) -> Iterator[BoardSim]:
    """A board of the test's own, for what would disturb others."""
    with simulated(tmp_path) as started:
        yield started


@pytest.fixture(scope="session")
def sensor_board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoardSim]:
    """A board for the tests of single sensors, each of which configures and sets what it needs."""
    with simulated(tmp_path_factory.mktemp("sensors")) as started:
        yield started


@pytest.fixture(scope="session")
def bench_board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoardSim]:
    """A board with one device of every kind."""
    with simulated(tmp_path_factory.mktemp("bench")) as started:
        with Wire(str(started.port)) as wire:
            wire.greet()
            configure(wire)
        yield started


@pytest.fixture
def bench(bench_board: BoardSim) -> Iterator[Wire]:
    """A fresh session with it."""
    with Wire(str(bench_board.port)) as wire:
        wire.greet()
        yield wire


def simulated(
    folder: Path, world: Mapping[str, Any] | None = None, flash: Path | None = None
) -> BoardSim:
    """A board in that folder; skips, with the reason, where there is no MicroPython."""
    reason = unavailable_reason()
    if reason is not None:
        pytest.skip(reason)
    return BoardSim(folder, world, flash)
