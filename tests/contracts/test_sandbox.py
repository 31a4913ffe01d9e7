"""Both sandboxes keep the same promises; only what systemd adds around its runner is not here."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.security.sandbox import Sandbox
from agent.security.sandbox_systemd import SystemdSandbox
from tests.contracts.sandbox import SandboxContract
from tests.fakes.sandbox import activated, bubblewrap, no_activation, no_bubblewrap
from tests.fakes.workspace import workspace_in


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return workspace_in(tmp_path)


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
class TestBubblewrap(SandboxContract):
    @pytest.fixture
    def sandbox(self, workspace: Path) -> Sandbox:
        return bubblewrap(workspace)


@pytest.mark.skipif(bool(no_activation()), reason=no_activation())
class TestSystemdsRunner(SandboxContract):
    @pytest.fixture
    def sandbox(self, workspace: Path, tmp_path: Path) -> Iterator[Sandbox]:
        with activated(tmp_path / "socket"):
            yield SystemdSandbox(workspace, tmp_path / "socket")
