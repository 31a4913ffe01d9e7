from pathlib import Path

import pytest

from agent.health.base import Patient
from tests.fakes.embedders import AbsentEmbedder


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    state = tmp_path / "state"
    return Patient(
        state_dir=state,
        databases=(state / "agent.db", state / "memory" / "brain.db"),
        model_dir=state / "model",
        status_file=state / "status.json",
        embedder=AbsentEmbedder(),
        find_service=lambda: None,
    )
