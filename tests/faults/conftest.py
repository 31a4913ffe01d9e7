"""What the cases share: a simulated board with the real firmware, in a world that stands still."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.board_sim import BoardSim

WORLD = {"values": {"temperature": 24.5, "a0": 1.5, "light": 2.0, "button": 0}, "script": []}


@pytest.fixture
def sim(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BoardSim]:
    request.getfixturevalue("micropython_command")
    with BoardSim(tmp_path, WORLD) as started:
        yield started
