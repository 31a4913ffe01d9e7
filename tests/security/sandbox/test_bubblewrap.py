import asyncio
import os
import time
from pathlib import Path

import pytest

from agent.errors import SandboxBroken
from agent.security.environment import PATH
from agent.security.sandbox import bubblewrap as sandbox_bubblewrap
from agent.security.sandbox import process as sandbox_process
from agent.security.sandbox.base import SandboxJob, SandboxRoom
from agent.security.sandbox.bubblewrap import Bubblewrap
from tests.fakes.sandbox import bubblewrap, no_bubblewrap


def test_a_program_that_hangs_is_no_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = script_in(tmp_path, "exec sleep 30")
    monkeypatch.setattr(sandbox_bubblewrap, "PROBE_TIMEOUT_S", 0.2)
    begun_s = time.monotonic()
    assert Bubblewrap(tmp_path, hanging).trouble() == "TimeoutExpired"
    assert time.monotonic() - begun_s < 5


def test_it_says_in_its_own_words_why_it_cannot(tmp_path: Path) -> None:
    refusing = script_in(tmp_path, "echo no namespaces for you >&2; exit 1")
    assert Bubblewrap(tmp_path, refusing).trouble() == "no namespaces for you"
    silent = script_in(tmp_path, "exit 9")
    assert Bubblewrap(tmp_path, silent).trouble() == "status 9"
    assert Bubblewrap(tmp_path, "/nowhere/bwrap").trouble() == "FileNotFoundError"


async def test_without_its_program_nothing_is_run(tmp_path: Path) -> None:
    job = sandbox_bubblewrap.SandboxJob(("touch", "x"), {}, ".", writes=True)
    with pytest.raises(SandboxBroken, match="cannot be started"):
        await Bubblewrap(tmp_path / "w", "/nowhere/bwrap").run(job)
    assert not (tmp_path / "w" / "x").exists()


def test_folders_of_the_system_are_links_or_folders_as_they_are_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "lib").mkdir()
    names = tuple(str(tmp_path / name) for name in ("bin", "lib", "lib64"))
    monkeypatch.setattr(sandbox_bubblewrap, "_SYSTEM", names)
    command = Bubblewrap(tmp_path, "bwrap").command(sandbox_bubblewrap.SandboxJob(("true",)))
    assert command[command.index(names[0]) - 2 :][:2] == ["--symlink", "usr/bin"]
    assert command[command.index(names[1]) - 1] == "--ro-bind"
    assert names[2] not in command


def test_results_that_are_kept_are_hidden_where_there_are_any(tmp_path: Path) -> None:
    job = sandbox_bubblewrap.SandboxJob(("true",), folder=".")
    hidden = str(tmp_path / ".results")
    assert hidden not in Bubblewrap(tmp_path, "bwrap").command(job)
    Path(hidden).mkdir()
    command = Bubblewrap(tmp_path, "bwrap").command(job)
    assert command[command.index(hidden) - 1] == "--tmpfs"
    assert command.index(hidden) > command.index(str(tmp_path))


async def test_what_it_cannot_end_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something that holds the output open outlives the group that was killed."""
    escaping = script_in(tmp_path, "setsid sleep 3 & exit 0")
    monkeypatch.setattr(sandbox_process, "END_TIMEOUT_S", 0.2)
    job = sandbox_bubblewrap.SandboxJob(("true",), {"PATH": os.environ["PATH"]}, timeout_s=0.2)
    with pytest.raises(SandboxBroken, match="could not end"):
        await Bubblewrap(tmp_path, escaping).run(job)


def script_in(folder: Path, body: str) -> str:
    file = folder / f"program-{len(body)}"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


def test_a_program_has_no_rights_no_terminal_and_no_life_of_its_own() -> None:
    words = " ".join(sandbox_bubblewrap._APART)
    for one in (
        *("--unshare-all", "--unshare-user", "--disable-userns", "--uid 65534", "--gid 65534"),
        # Without a session of its own it could type into the terminal that the agent runs in
        *("--cap-drop ALL", "--new-session", "--die-with-parent", "--hostname sandbox"),
    ):
        assert one in words


def test_of_the_system_programs_and_libraries_are_shown_and_nothing_else() -> None:
    command = Bubblewrap(Path("/nowhere"), "bwrap").command(
        sandbox_bubblewrap.SandboxJob(("true",))
    )
    mounts = command[: command.index("--")]
    for folder in filter(os.path.lexists, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32")):
        at = len(mounts) - 1 - mounts[::-1].index(folder)
        assert mounts[at - 2] == ("--symlink" if Path(folder).is_symlink() else "--ro-bind")
    tried = [mounts[at + 1 : at + 3] for at, word in enumerate(mounts) if word == "--ro-bind-try"]
    assert tried == [
        [file, file] for file in ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")
    ]
    assert "--bind" not in mounts
    assert mounts[-2:] == ["--remount-ro", "/"]
    sized = [mounts[at + 1] for at, word in enumerate(mounts) if word == "--size"]
    assert sized == [str(16 << 20)] * 2


@pytest.mark.parametrize(("writes", "kind"), [(True, "--bind"), (False, "--ro-bind")])
def test_the_workspace_is_open_for_writing_only_where_it_may_be(
    tmp_path: Path, kind: str, *, writes: bool
) -> None:
    job = sandbox_bubblewrap.SandboxJob(
        ("true",), folder="notes", writes=writes, needs=(Path("/opt"),)
    )
    command = Bubblewrap(tmp_path, "bwrap").command(job)
    home = str(tmp_path)
    assert command[command.index(home) - 1 :][:3] == [kind, home, home]
    assert command[command.index("/opt") - 1 :][:3] == ["--ro-bind", "/opt", "/opt"]
    assert command[command.index("--chdir") + 1] == f"{home}/notes"


def test_a_program_that_needs_room_has_what_its_job_says() -> None:
    room = SandboxRoom(scratch_bytes=12345)
    command = Bubblewrap(Path("/w"), "bwrap").command(SandboxJob(["true"], room=room))
    sizes = [command[at + 1] for at, word in enumerate(command) if word == "--size"]
    assert sizes == ["12345", "12345"]


def test_folders_that_no_machine_has_all_of_are_known() -> None:
    assert sandbox_bubblewrap._SYSTEM == ("/bin", "/sbin", "/lib", "/lib64", "/lib32")
    assert sandbox_bubblewrap.PROBE_TIMEOUT_S == 5.0


async def test_a_job_without_a_folder_makes_none(tmp_path: Path) -> None:
    with pytest.raises(SandboxBroken):
        await Bubblewrap(tmp_path / "w", "/nowhere/bwrap").run(
            sandbox_bubblewrap.SandboxJob(("true",))
        )
    assert not (tmp_path / "w").exists()


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
@pytest.mark.parametrize("is_online", [True, False])
async def test_the_network_is_there_only_for_a_job_that_has_it(
    tmp_path: Path, *, is_online: bool
) -> None:
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        script = ("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port} && ls /etc")
        job = sandbox_bubblewrap.SandboxJob(script, {"PATH": PATH}, is_online=is_online)
        done = await bubblewrap(tmp_path).run(job)
    assert (done.exit == 0) is is_online
    assert (b"resolv.conf" in done.stdout) is is_online
    assert b"shadow" not in done.stdout
