import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from agent.cli.service_environment import STATE, adopt
from agent.health.status import AgentStatus, start_ticks_of, write_status
from tests.fakes.kernel import write

NOBODY = Namespace()


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine with the service; its agent does not run."""
    write(tmp_path, "usr/lib/systemd/system/barnacle.service", "[Service]\n")
    write(tmp_path, "run/credentials/barnacle.service/api_key", "sk-1\n")
    return tmp_path


def test_root_looks_at_the_service_with_its_secrets(machine: Path) -> None:
    environ: dict[str, str] = {}
    assert adopt(environ, NOBODY, machine, uid=0)
    assert environ["STATE_DIRECTORY"] == "/var/lib/barnacle"
    assert environ["CREDENTIALS_DIRECTORY"] == str(machine / "run/credentials/barnacle.service")
    assert "sk-1" in environ.values()
    assert "BARNACLE_MODEL_DIR" not in environ


def test_the_model_of_the_image_is_found(machine: Path) -> None:
    (machine / "usr/share/barnacle/model").mkdir(parents=True)
    environ: dict[str, str] = {}
    adopt(environ, NOBODY, machine, uid=0)
    assert environ["BARNACLE_MODEL_DIR"].endswith("/usr/share/barnacle/model")


@pytest.mark.parametrize(
    ("environ", "arguments", "uid"),
    [
        ({}, NOBODY, 1000),
        ({"BARNACLE_STATE_DIR": "/srv/state"}, NOBODY, 0),
        ({}, Namespace(state_dir="/tmp/state"), 0),
    ],
)
def test_who_is_not_root_or_names_another_looks_there(
    machine: Path, environ: dict[str, str], arguments: Namespace, uid: int
) -> None:
    before = dict(environ)
    assert not adopt(environ, arguments, machine, uid)
    assert environ == before


def test_without_the_service_root_is_a_person_like_others(tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    assert not adopt(environ, NOBODY, tmp_path, uid=0)
    assert environ == {}


def test_the_folder_of_the_service_may_be_named(machine: Path) -> None:
    assert adopt({}, Namespace(state_dir=str(STATE)), machine, uid=0)


def test_what_the_running_one_was_told_counts(machine: Path) -> None:
    told = {"BARNACLE_MODEL_DIR": "/srv/model", "OTHER": "x", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        command, env=told, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdout is not None
        # It has begun, so that what it was told is its own
        agent.stdout.readline()
        folder = machine / "var/lib/barnacle"
        folder.mkdir(parents=True)
        ticks = start_ticks_of(agent.pid)
        assert ticks is not None
        write_status(folder / "status.json", AgentStatus(agent.pid, ticks, 0.0))
        environ = {"BARNACLE_LOG": "mine"}
        adopt(environ, NOBODY, machine, uid=0)
        agent.kill()
    assert environ["BARNACLE_MODEL_DIR"] == "/srv/model"
    assert environ["BARNACLE_LOG"] == "mine"
    assert "OTHER" not in environ
