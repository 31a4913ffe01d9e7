"""One suite for every board: the simulated one by default, a real one with --port."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim, unavailable_reason


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("board")
    group.addoption("--port", help="a real board's port; without it a board is simulated")
    group.addoption(
        "--loopback",
        metavar="OUT,IN",
        help="two pins of the board that are connected by a wire, such as d2,d4",
    )


@pytest.fixture(scope="session")
def simulated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BoardSim | None]:
    """The simulated board, or None when a real one is tested."""
    if request.config.getoption("--port"):
        yield None
        return
    if reason := unavailable_reason():
        pytest.skip(reason)
    with BoardSim(tmp_path_factory.mktemp("board")) as board:
        yield board


@pytest.fixture
def wire(request: pytest.FixtureRequest, simulated: BoardSim | None) -> Iterator[Wire]:
    """A fresh session with the board; its outputs are safe before and after."""
    with Wire(str(simulated.port if simulated else request.config.getoption("--port"))) as opened:
        opened.greet()
        opened.clear()
        yield opened
        opened.greet()
        opened.clear()


@pytest.fixture
def manifest(wire: Wire) -> dict[str, Any]:
    """What the board says it can do."""
    described: dict[str, Any] = json.loads(wire.manifest())
    return described
