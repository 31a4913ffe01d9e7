"""Both sandboxes keep the same promises; only what systemd adds around its runner is not here."""

import os
from collections.abc import Iterator
from pathlib import Path
from subprocess import run

import pytest

from agent.security.sandbox.base import Sandbox, SandboxJob
from agent.security.sandbox.systemd import SystemdSandbox
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


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_who_is_not_root_starts_no_more_processes_than_it_may(workspace: Path) -> None:
    """Root is exempt from this limit, whatever it is called inside: doctor says so."""
    script = "for n in $(seq 200); do sleep 5 & done; echo all"
    command = bubblewrap(workspace).command(SandboxJob(("sh", "-c", script)))
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    environment = {"PATH": "/usr/bin:/bin"}
    done = run([*nobody, *command], capture_output=True, check=False, env=environment, timeout=15)
    assert b"all" not in done.stdout
    assert b"fork" in done.stderr
