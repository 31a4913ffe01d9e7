"""F31: a child gets a fixed environment and its three streams; nothing of ours reaches it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.config import Secret, decode
from agent.errors import CommandRefused, ConfigRefused
from agent.security.environment import ADDABLE, child_environment, complaint_about_server
from agent.security.policy import Autonomy
from agent.security.sandbox.base import Sandbox, SandboxJob
from agent.security.sandbox.systemd import SystemdSandbox
from agent.settings import Settings, surroundings
from agent.tools.helper_program import output_of
from agent.tools.mcp.server import McpServer
from tests.canaries import secret
from tests.fakes.clock import SteppedClock
from tests.fakes.mcp_household import garden
from tests.fakes.sandbox import activated, bubblewrap, no_activation, no_bubblewrap
from tests.fakes.workspace import workspace_in

CANARY = secret("ours")
FORBIDDEN = [
    *("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GCONV_PATH", "MALLOC_TRACE", "NLSPATH"),
    *("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PYTHONWARNINGS"),
    *("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "IFS", "CDPATH"),
    *("NODE_OPTIONS", "NODE_PATH", "PERL5OPT", "PERL5LIB", "RUBYOPT", "JAVA_TOOL_OPTIONS"),
    *("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "GIT_DIR", "GIT_PAGER"),
    *("PATH", "HOME", "LANG", "PAGER", "EDITOR", "LESSOPEN", "SHELL", "TMPDIR", "http_proxy"),
    *("BARNACLE_CONFIG", "SSH_AUTH_SOCK", "GREP_OPTIONS", "ld_preload", "LC_ALL", "", "A=B"),
]
# What the child prints: its environment, and every descriptor that it has
PRINTS = "env; echo --; ls /proc/self/fd"


@pytest.fixture(params=["bubblewrap", "systemd"])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    reason = no_bubblewrap() if request.param == "bubblewrap" else no_activation()
    if reason:
        pytest.skip(reason)
    workspace = workspace_in(tmp_path)
    if request.param == "bubblewrap":
        yield bubblewrap(workspace)
        return
    with activated(tmp_path / "socket"):
        yield SystemdSandbox(workspace, tmp_path / "socket")


@contextmanager
def held_open(folder: Path) -> Iterator[None]:
    """Descriptors of ours that a child could inherit: a file, a pipe and a socket's neighbour."""
    handles = [os.open(folder, os.O_RDONLY), *os.pipe()]
    for handle in handles:
        os.set_inheritable(handle, True)  # noqa: FBT003 - it takes no name
    try:
        yield
    finally:
        for handle in handles:
            os.close(handle)


async def test_a_child_has_what_was_named_and_nothing_else(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "workspace"
    for name in (*ADDABLE, "LD_LIBRARY_PATH", "BARNACLE_SECRET"):
        monkeypatch.setenv(name, CANARY)
    environment = child_environment(workspace, {"TZ": "Europe/Berlin"})
    with held_open(tmp_path):
        done = await sandbox.run(SandboxJob(("sh", "-c", PRINTS), environment, "."))
    variables, _, descriptors = done.stdout.decode().partition("--\n")
    # PWD is the shell's own
    assert dict(line.split("=", 1) for line in variables.splitlines()) == {
        "HOME": str(workspace),
        "LANG": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "PWD": str(workspace),
        "TZ": "Europe/Berlin",
    }
    # The fourth is the folder that ls itself looks at
    assert descriptors.split() == ["0", "1", "2", "3"]


async def test_a_reader_of_documents_has_no_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BARNACLE_SECRET", CANARY)
    program = tmp_path / "program.py"
    program.write_text("import os\nprint(dict(os.environ), os.listdir('/proc/self/fd'))")
    with held_open(tmp_path):
        told = (await output_of(str(program), [], b"", 10.0)).decode()
    assert CANARY not in told
    assert told.endswith("['0', '1', '2', '3']\n")


@pytest.mark.parametrize("name", FORBIDDEN)
def test_no_configuration_adds_what_makes_programs_load_or_run_something(name: str) -> None:
    with pytest.raises(CommandRefused):
        child_environment(Path("/"), {name: "x"})
    text = f'[shell.environment]\n"{name}" = "x"\n'
    with pytest.raises(ConfigRefused, match="environment"):
        decode(text, Settings, Path("barnacle.toml"))


@pytest.mark.parametrize("name", [*FORBIDDEN, "UV_INDEX_URL", "NPM_CONFIG_REGISTRY", "TOKEN\n"])
def test_no_configuration_gives_an_mcp_server_what_makes_it_load_or_run_something(
    name: str,
) -> None:
    assert complaint_about_server(name)
    quoted = name.replace("\n", "\\n")
    text = f'[mcp.garden]\ncommand = ["garden"]\nenv = {{"{quoted}" = "x"}}\n'
    with pytest.raises(ConfigRefused, match=r"mcp\.garden"):
        decode(text, Settings, Path("barnacle.toml"))


async def test_an_mcp_server_has_what_was_named_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the SDK itself would pass on, and what loads code
    for name in ("LOGNAME", "SHELL", "TERM", "USER", "NODE_OPTIONS", "BARNACLE_SECRET"):
        monkeypatch.setenv(name, CANARY)
    settings = garden(env={"GARDEN_TOKEN": Secret(secret("mcp"))})
    server = McpServer("garden", settings, tmp_path / "home", SteppedClock())
    with held_open(tmp_path):
        given = next(one for one in await server.offers() if one.tool == "given")
        told = (await server.call("given", given.digest, {})).text
    await server.aclose()
    assert CANARY not in told
    variables, _, rest = told.partition("\ncwd ")
    assert variables.splitlines() == [
        f"GARDEN_TOKEN={secret('mcp')}",
        f"HOME={tmp_path / 'home'}",
        "LANG=C.UTF-8",
        "PATH=/usr/bin:/bin",
        # The sandbox's own
        f"PWD={tmp_path / 'home'}",
    ]
    assert rest.startswith(str(tmp_path / "home"))
    assert str(tmp_path) not in rest.partition("handles")[2]


@pytest.mark.parametrize("zone", ["/etc/shadow", ":/etc/shadow", "../../x", "a\nb", "x" * 129])
def test_what_may_be_added_is_no_path_and_one_short_line(zone: str) -> None:
    with pytest.raises(CommandRefused, match="TZ"):
        child_environment(Path("/"), {"TZ": zone})


def test_what_may_be_added_only_changes_how_things_look() -> None:
    assert not {name for name in ADDABLE if name in FORBIDDEN or name.startswith(("LD_", "GIT_"))}
    added = child_environment(Path("/w"), {"LC_TIME": "de_DE.UTF-8"})
    assert added == {
        "HOME": "/w",
        "LANG": "C.UTF-8",
        "LC_TIME": "de_DE.UTF-8",
        "PATH": "/usr/bin:/bin",
    }


def test_nothing_in_our_own_environment_weakens_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "barnacle.toml"
    config.write_text('[agent]\nautonomy = "readonly"\n')
    before, _ = surroundings(os.environ, str(config), str(tmp_path))
    for name in ("AUTONOMY", "AGENT_AUTONOMY", "SHELL_PROGRAMS", "RULES", "SANDBOX", "UNSAFE"):
        for prefix in ("", "BARNACLE_"):
            monkeypatch.setenv(prefix + name, "full")
    after, _ = surroundings(os.environ, str(config), str(tmp_path))
    assert after == before
    assert after.agent.policy.autonomy is Autonomy.READONLY
