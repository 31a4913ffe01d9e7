from pathlib import Path

import pytest

from agent.health.base import Patient
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.machine.readings import Readings
from agent.system.clock import SystemClock
from tests.fakes.embedders import AbsentEmbedder
from tests.fakes.ports import FakePort, FakePorts, TalkingPeer


@pytest.fixture
def ports() -> FakePorts:
    """A machine without a port; a test may plug something in."""
    machine = FakePorts(lambda: FakePort(TalkingPeer(b"")))
    machine.is_there = False
    return machine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where this machine's kernel has its files; there are none yet."""
    return tmp_path / "root"


@pytest.fixture
def patient(tmp_path: Path, root: Path, ports: FakePorts) -> Patient:
    state = tmp_path / "state"
    return Patient(
        state_dir=state,
        databases=(state / "agent.db", state / "memory" / "brain.db"),
        model_dir=state / "model",
        status_file=state / "status.json",
        embedder=AbsentEmbedder(),
        find_service=lambda: None,
        make_boards=lambda: [
            SerialBoard(BoardSettings(), state / "manifests", SystemClock(), ports)
        ],
        readings=Readings(state, root),
        devices=tmp_path / "dev",
    )
