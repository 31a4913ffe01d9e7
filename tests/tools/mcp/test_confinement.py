"""A real program of a server, kept apart: it reaches neither the chat nor what the agent keeps."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from agent.errors import McpAway
from agent.tools.mcp.confinement import UNITS_HOME, Confinement
from agent.tools.mcp.lines import ServerSetup
from agent.tools.mcp.server import McpServer
from agent.tools.mcp.settings import McpSettings
from agent.tools.mcp.transport import start_service_process
from tests.fakes.clock import SteppedClock
from tests.fakes.sandbox import activated, no_activation, no_bubblewrap

needs_bubblewrap = pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
LOOKS = """
import json, os, socket, sys
told = {"uid": os.getuid(), "processes": [one for one in os.listdir("/proc") if one.isdigit()]}
for path in sys.argv[1:]:
    try:
        near = socket.socket(socket.AF_UNIX)
        near.connect(path)
        told[path] = "connected"
    except OSError as err:
        told[path] = type(err).__name__
told["state"] = os.listdir(os.path.dirname(sys.argv[1]))
told["run"] = os.listdir("/run")
open("mine.txt", "w").write("kept")
print(json.dumps(told))
"""


@needs_bubblewrap
def test_a_program_sees_no_socket_no_state_and_no_other_process(tmp_path: Path) -> None:
    state = tmp_path / "state"
    folder = state / "mcp" / "garden"
    folder.mkdir(parents=True)
    (state / "secrets.txt").write_text("a key")
    place = state / "chat.sock"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(place))
        made.listen()
        confinement = Confinement((state,), tmp_path / "no-socket")
        assert confinement.trouble() == ""
        command = (sys.executable, "-c", LOOKS, str(place), "/run/barnacle/chat.sock")
        setup = confinement.setup(command, {"PATH": "/usr/bin:/bin"}, folder)
        done = subprocess.run(
            setup.command, env=setup.environment, capture_output=True, check=True, timeout=10
        )
    told = json.loads(done.stdout)
    assert told[str(place)] == "FileNotFoundError"
    assert told["/run/barnacle/chat.sock"] == "FileNotFoundError"
    assert told["uid"] == 65534
    assert told["state"] == ["mcp"]
    assert "barnacle" not in told["run"]
    assert str(os.getpid()) not in told["processes"] or len(told["processes"]) < 4
    assert (folder / "mine.txt").read_text() == "kept"


@needs_bubblewrap
def test_a_program_that_is_named_in_a_hidden_folder_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (tmp_path / "server.py").write_text("print('here')")
    command = (sys.executable, str(tmp_path / "server.py"))
    setup = Confinement((tmp_path,), tmp_path / "no-socket").setup(command, {}, folder)
    done = subprocess.run(setup.command, env={}, capture_output=True, check=True, timeout=10)
    assert done.stdout == b"here\n"


def test_without_anything_that_keeps_apart_it_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.tools.mcp.confinement.find_program", lambda: None)
    said = Confinement(socket=tmp_path / "none").trouble()
    assert "apt install bubblewrap" in said
    assert 'sandbox = "none"' in said
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho no namespaces >&2; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr("agent.tools.mcp.confinement.find_program", lambda: str(broken))
    assert "(no namespaces)" in Confinement(socket=tmp_path / "none").trouble()
    monkeypatch.setattr("agent.tools.mcp.confinement.find_program", lambda: "/nowhere/bwrap")
    assert "(FileNotFoundError)" in Confinement(socket=tmp_path / "none").trouble()


async def test_a_server_that_nothing_keeps_apart_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.tools.mcp.confinement.find_program", lambda: None)
    settings = McpSettings(command=(sys.executable, "-c", "pass"))
    server = McpServer("garden", settings, tmp_path / "home", SteppedClock())
    server.confine(Confinement(socket=tmp_path / "none"))
    with pytest.raises(McpAway, match="no isolation is available"):
        await server.offers()


@pytest.mark.skipif(bool(no_activation()), reason=no_activation())
async def test_the_service_runs_it_with_the_streams_of_a_child(tmp_path: Path) -> None:
    address = tmp_path / "socket"
    script = "read line; echo heard $line; echo trouble >&2; pwd"
    with activated(address):
        assert Confinement(socket=address).trouble() == ""
        wanted = Confinement(socket=address).setup(("/bin/sh", "-c", script), {}, tmp_path)
        assert (wanted.folder, wanted.socket) == (str(UNITS_HOME), str(address))
        program = await start_service_process(msgspec.structs.replace(wanted, folder=str(tmp_path)))
        program.stdin.write(b"hello\n")
        await program.stdin.drain()
        assert await program.stdout.readline() == b"heard hello\n"
        assert await program.stdout.readline() == f"{tmp_path}\n".encode()
        assert await program.stderr.readline() == b"trouble\n"
        program.stdin.close()
        await program.wait()
    with pytest.raises(FileNotFoundError):
        await start_service_process(ServerSetup(("x",), {}, "/", socket=str(tmp_path / "nowhere")))
