"""F31 for every child: wherever the agent starts a program, its environment holds no secret.

The places are found in the code: one that is new needs a case here.
"""

import ast
import asyncio
import os
import socket
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from agent.access.people import Person
from agent.app.console.first_start import FirstStart
from agent.app.console.settings_program import ask_program
from agent.app.console.settings_request import SettingsRequest
from agent.backup.nightly import run_apart
from agent.blank.flashing import DfuUtil, FlashingFailed
from agent.blank.install import by_child
from agent.channels.voice.alsa import Microphone
from agent.cli.signal import link_by_program
from agent.errors import BrowserFailed, ChannelUnavailable, ConfigRefused
from agent.health.checks import service
from agent.health.repairs import service as service_repair
from agent.machine.readings import Readings
from agent.memory.base import CORE
from agent.memory.lucid_tool import LucidTool
from agent.messages import Provenance
from agent.net.http import HttpClient
from agent.security.environment import SANDBOX_HOME
from agent.security.redact import Redactor
from agent.security.sandbox import runner as sandbox_runner
from agent.security.sandbox.base import SandboxJob, SandboxOutcome
from agent.security.sandbox.bubblewrap import Bubblewrap
from agent.security.sandbox.process import LimitedProcess
from agent.security.web_addresses import WebRules
from agent.settings import Paths
from agent.system.programs import run_program
from agent.tools.base import NoArguments, ToolContext
from agent.tools.browser.process import BrowserProcess, BrowserSetup
from agent.tools.mcp.confinement import Confinement
from agent.tools.mcp.server import McpServer
from agent.tools.picture_program import Album, taken
from agent.tools.screenshot import find_display
from agent.tools.system import SystemInfoTool
from agent.tools.web import Web
from tests.canaries import INHERITED, is_in, secret
from tests.fakes.children import children
from tests.fakes.clock import SteppedClock
from tests.fakes.mcp_household import garden
from tests.structure.sources import ROOT, modules, parsed

# Where the agent itself finds secrets, where libraries do, and where people leave them
TELLING = (
    *("BARNACLE_API_KEY", "API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"),
    *(
        "PGPASSWORD",
        "HTTPS_PROXY",
        "LD_LIBRARY_PATH",
        "NPM_TOKEN",
        "SSH_AUTH_SOCK",
        "XAUTHLOCALHOST",
    ),
)
# Called so they start a program whoever they belong to
_STARTERS = frozenset(
    {
        *("create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "Popen"),
        *("subprocess_shell", "posix_spawn", "posix_spawnp", "fork", "forkpty", "open_process"),
        *("run_process", "Process", "ProcessPoolExecutor"),
    }
)
# Functions of these modules that start a program under a name that others have too
_OF_MODULES = {
    "subprocess": ("run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"),
    "os": ("system", "popen", "exec", "spawn"),
    "pty": ("spawn",),
}
TELL = 'env >"$0.env"'


@pytest.fixture(autouse=True)
def _secrets_all_around(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(INHERITED) <= set(os.environ)
    for name in TELLING:
        monkeypatch.setenv(name, secret(name.lower()))


def script(folder: Path, name: str, rest: str = "") -> Path:
    """A program that writes its environment into a file beside it."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{TELL}\n{rest}\n")
    path.chmod(0o755)
    return path


def told(program: Path) -> str:
    return Path(f"{program}.env").read_text()


async def told_to_signal_cli(folder: Path) -> str:
    code = "sgnl://linkdevice?uuid=Q2hlY2tlZA%3D%3D&pub_key=BQabcdefgh"
    program = script(folder, "signal-cli", f"echo '{code}'\necho 'Associated with: +4917'")
    await link_by_program([str(program)], "Barnacle", lambda _: None)
    return told(program)


async def told_to_vcgencmd(folder: Path) -> str:
    (folder / "dev").mkdir()
    (folder / "dev/vcio").touch()
    program = script(folder, "vcgencmd", "echo throttled=0x0")
    context = ToolContext("terminal", "owner", Provenance.OWNER)
    await SystemInfoTool(Readings(folder, folder), program).execute(NoArguments(), context)
    return told(program)


async def told_to_a_backup(folder: Path) -> str:
    program = script(folder, "backup")
    assert await run_apart([str(program)]) == (0, "")
    return told(program)


async def told_to_systemd_analyze(folder: Path) -> str:
    program = script(folder, "systemd-analyze")
    await service.asked(program)
    return told(program)


async def told_to_systemctl(folder: Path) -> str:
    program = script(folder, "systemctl")
    assert await service_repair.asked(program, "restart", "barnacle.service")
    return told(program)


async def told_to_a_program_of_the_system(folder: Path) -> str:
    program = script(folder, "mount")
    assert (await asyncio.to_thread(run_program, [str(program)], 10.0)).returncode == 0
    return told(program)


async def told_to_a_camera(folder: Path) -> str:
    program = script(folder, "snap")
    await taken(Album(folder, SteppedClock()), "camera", [str(program)])
    return told(program)


async def told_to_lucid(folder: Path) -> str:
    program = script(folder, "lucid")
    await LucidTool(str(program), SteppedClock()).store("content", CORE)
    return told(program)


async def told_to_an_mcp_server(folder: Path) -> str:
    server = McpServer("garden", garden(), folder / "home", SteppedClock())
    given = next(one for one in await server.offers() if one.tool == "given")
    answer = await server.call("given", given.digest, {})
    await server.aclose()
    return answer.text


async def told_to_a_bridge(folder: Path) -> str:
    server = McpServer("garden", garden(), folder / "home", SteppedClock())
    await server.offers()
    (bridge,) = (one for one in children() if b"agent.tools.mcp.bridge" in file_of(one, "cmdline"))
    environment = file_of(bridge, "environ")
    await server.aclose()
    return environment.replace(b"\0", b"\n").decode()


def file_of(process: int, name: str) -> bytes:
    return Path(f"/proc/{process}/{name}").read_bytes()


async def told_to_a_process_with_limits(_: Path) -> str:
    # It may write no file
    done = await LimitedProcess().run(SandboxJob(["env"], {"PATH": "/usr/bin:/bin"}))
    return done.stdout.decode()


async def told_to_a_trial_of_a_confinement(folder: Path) -> str:
    program = script(folder, "bwrap-for-mcp")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("agent.tools.mcp.confinement.find_program", lambda: str(program))
        assert await asyncio.to_thread(Confinement(socket=folder / "none").trouble) == ""
    return told(program)


async def told_to_a_trial_of_bubblewrap(folder: Path) -> str:
    program = script(folder, "bwrap")
    assert await asyncio.to_thread(Bubblewrap(folder, str(program)).trouble) == ""
    return told(program)


async def told_by_the_runner(folder: Path) -> str:
    program = script(folder, "program")
    await asyncio.to_thread(run_by_the_runner, program)
    return told(program)


def run_by_the_runner(program: Path) -> None:
    asked = f'{{"argv": ["{program}"], "environment": {{"LANG": "C"}}, "folder": "/usr"}}\n'
    client, server = socket.socketpair()
    runner = threading.Thread(target=sandbox_runner.main, args=((), server))
    with client, server, Path(os.devnull).open("r+b", buffering=0) as nothing:
        # The runner closes what it has been given, and it has been given copies
        socket.send_fds(client, [asked.encode()], [nothing.fileno()] * 3)
        runner.start()
        runner.join()
        assert client.recv(4096) == b'{"exit": 0}\n'


async def told_to_a_browser(folder: Path) -> str:
    program = script(folder, "browser")
    sandbox = PassingSandbox(folder)
    setup = BrowserSetup(str(program), sandbox, Web(HttpClient(), WebRules()), 256, lambda: 4096)
    process = BrowserProcess(setup)
    with pytest.raises(BrowserFailed):
        await process.start()
    await process.close()
    return told(program)


class PassingSandbox:
    """Keeps nothing apart: the launcher runs as it is, in what environment it is given."""

    name = "none"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def run(self, job: SandboxJob) -> SandboxOutcome:
        # A profile of its own, which a sandbox has by itself
        home = str(self._folder / "home")
        words = tuple(one.replace(f"={SANDBOX_HOME}/", f"={home}/") for one in job.argv)
        return await LimitedProcess().run(replace(job, argv=words, file_bytes=1024))


async def told_to_what_writes_settings(folder: Path) -> str:
    """The program, in place of Python."""
    program = script(folder, "python")
    asked = SettingsRequest(("agent",), "", {})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.executable", str(program))
        with pytest.raises(ConfigRefused):
            await ask_program(folder / "barnacle.toml", asked)
    return told(program)


async def told_to_a_first_start(folder: Path) -> str:
    """The program that asks, in place of Python."""
    program = script(folder, "python")
    around: Any = SimpleNamespace(
        paths=Paths(folder / "barnacle.toml", folder), redactor=Redactor()
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.executable", str(program))
        await FirstStart(around).begin(
            Person(role="owner", person_id="1", name="Ann"), {"browser": "mine"}
        )
    return told(program)


async def told_to_a_microphone(folder: Path) -> str:
    program = script(folder, "arecord")
    with pytest.raises(ChannelUnavailable):
        await anext(Microphone("default", os.environ, folder).blocks())
    return told(program)


async def told_to_what_writes_a_board(folder: Path) -> str:
    """The program, in place of Python."""
    program = script(folder, "python")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.executable", str(program))
        with pytest.raises(FlashingFailed):
            await by_child("a_board", "1-1", lambda _progress: None)
    return told(program)


async def told_to_dfu_util(folder: Path) -> str:
    program = script(folder, "dfu-util")
    await asyncio.to_thread(DfuUtil("1-1", lambda _progress: None, [str(program)]).write, folder)
    return told(program)


CASES: dict[str, Callable[[Path], Awaitable[str]]] = {
    "agent/app/console/first_start.py: begin": told_to_a_first_start,
    "agent/app/console/settings_program.py: ask_program": told_to_what_writes_settings,
    "agent/backup/nightly.py: run_apart": told_to_a_backup,
    "agent/blank/flashing.py: _run": told_to_dfu_util,
    "agent/blank/install.py: by_child": told_to_what_writes_a_board,
    "agent/channels/voice/alsa.py: started": told_to_a_microphone,
    "agent/cli/signal.py: link_by_program": told_to_signal_cli,
    "agent/system/programs.py: run_program": told_to_a_program_of_the_system,
    "agent/health/checks/service.py: asked": told_to_systemd_analyze,
    "agent/health/repairs/service.py: asked": told_to_systemctl,
    "agent/memory/lucid_tool.py: _answer": told_to_lucid,
    "agent/security/sandbox/bubblewrap.py: trouble": told_to_a_trial_of_bubblewrap,
    "agent/security/sandbox/process.py: run_here": told_to_a_process_with_limits,
    "agent/security/sandbox/runner.py: main": told_by_the_runner,
    "agent/tools/browser/launcher.py: main": told_to_a_browser,
    "agent/tools/mcp/confinement.py: trouble": told_to_a_trial_of_a_confinement,
    "agent/tools/mcp/bridge_process.py: _launched": told_to_a_bridge,
    "agent/tools/mcp/transport.py: _started": told_to_an_mcp_server,
    "agent/tools/picture_program.py: _output_of": told_to_a_camera,
    "agent/tools/system.py: _ask_firmware": told_to_vcgencmd,
}


@pytest.mark.parametrize("place", CASES)
async def test_no_child_is_told_a_secret(place: str, tmp_path: Path) -> None:
    said = await CASES[place](tmp_path)
    # It did tell, and what it has was given to it
    assert "=" in said
    assert not is_in(said)


def test_what_takes_pictures_of_the_screen_is_told_of_the_screen_alone(tmp_path: Path) -> None:
    script(tmp_path, "grim")
    display = find_display({**os.environ, "WAYLAND_DISPLAY": "wayland-1"}, str(tmp_path))
    assert "wayland-1" in display.passed.values()
    assert not is_in(str(display.passed))


def test_every_place_where_a_child_is_started_has_a_case() -> None:
    found = {
        f"{module}: {name}" for module in modules("agent") for name in starts(parsed(ROOT / module))
    }
    assert found == set(CASES)


@pytest.mark.parametrize(
    "code",
    [
        "await asyncio.create_subprocess_exec('x')",
        "await asyncio.create_subprocess_shell('x')",
        "subprocess.run(['x'])",
        "from subprocess import check_output",
        "os.execvpe('x', [], {})",
        "os.system('x')",
        "from os import spawnv",
        "multiprocessing.Process()",
        "Popen('x')",
    ],
)
def test_a_new_place_is_seen(code: str) -> None:
    assert starts(ast.parse(f"async def begin():\n    {code}")) == {"begin"}


def test_what_starts_nothing_is_no_place() -> None:
    code = "def begin():\n    runner.run(x)\n    os.path.join(x)\n    asyncio.run(x)\n"
    assert starts(ast.parse(code)) == set()


def starts(tree: ast.AST, function: str = "") -> set[str]:
    """The functions in which a program is started, or that begin to use what does so."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if _is_start(node):
            found.add(function)
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        found |= starts(node, node.name if is_function else function)
    return found


def _is_start(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        names = (alias.name for alias in node.names)
        return any(_belongs(node.module or "", name) for name in names)
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Name):
        return function.id in _STARTERS
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    return function.attr in _STARTERS or _belongs(owner, function.attr)


def _belongs(module: str, name: str) -> bool:
    return name.startswith(_OF_MODULES.get(module, ()))
