"""What every sandbox does, whatever it is made of: a mixin for the tests of each."""

import asyncio
import os
import sys
import time
from pathlib import Path
from subprocess import run

import pytest

from agent.errors import SandboxBroken
from agent.security.environment import SANDBOX_HOME, child_environment
from agent.security.sandbox import disk as sandbox_disk
from agent.security.sandbox.base import MAX_STREAM_BYTES, Sandbox, SandboxJob, SandboxOutcome
from tests.waits import PATIENCE_S, wait_until

PYTHON = (sys.executable, "-I", "-S", "-c")
NEEDS = (Path(sys.prefix), Path(sys.base_prefix))
NAP_S = 987.5


def sleeping() -> bool:
    """Whether the nap of a test is still being taken by anybody."""
    return run(["pgrep", "-f", f"^sleep {NAP_S}"], capture_output=True, check=False).returncode == 0


def home_in(folder: Path) -> Path:
    """Make a folder that is no workspace."""
    home = folder / "homes" / "mine"
    home.mkdir(parents=True)
    return home


class SandboxContract:
    """Asks the fixtures `sandbox` and `workspace` of the class that inherits it."""

    async def test_a_program_runs_in_the_workspace(self, sandbox: Sandbox, workspace: Path) -> None:
        job = SandboxJob(("cat", "plan.txt"), child_environment(workspace), ".")
        assert await sandbox.run(job) == SandboxOutcome(0, b"pump 5 s\nlamp 30 min\n", b"")
        below = SandboxJob(("cat", "today.md"), child_environment(workspace), "notes")
        assert (await sandbox.run(below)).stdout.startswith(b"water the basil")

    async def test_what_is_given_is_read_and_cannot_be_changed(
        self, sandbox: Sandbox, workspace: Path
    ) -> None:
        words = b"given " * 100_000
        job = SandboxJob(("wc", "-c"), child_environment(workspace), given=words)
        assert (await sandbox.run(job)).stdout.strip() == b"600000"
        changing = SandboxJob(
            ("sh", "-c", "echo x >/proc/self/fd/0"), {"PATH": "/usr/bin:/bin"}, given=b"y"
        )
        assert (await sandbox.run(changing)).exit != 0
        with (workspace / "plan.txt").open("rb") as file:
            file.read()
            job = SandboxJob(("head", "-n1"), child_environment(workspace), given=file)
            assert (await sandbox.run(job)).stdout == b"pump 5 s\n"

    async def test_status_and_complaints_are_told(self, sandbox: Sandbox, workspace: Path) -> None:
        job = SandboxJob(
            ("sh", "-c", "echo out; echo err >&2; exit 7"), child_environment(workspace), "."
        )
        assert await sandbox.run(job) == SandboxOutcome(7, b"out\n", b"err\n")
        assert (await sandbox.run(SandboxJob(("no-such-program",), {"PATH": "/bin"}))).exit == 127

    async def test_it_writes_only_where_it_may(self, sandbox: Sandbox, workspace: Path) -> None:
        script = ("sh", "-c", "echo new > made.txt")
        environment = child_environment(workspace)
        done = await sandbox.run(SandboxJob(script, environment, ".", writes=True))
        assert done.exit == 0
        assert (workspace / "made.txt").read_text() == "new\n"
        looking = await sandbox.run(
            SandboxJob(("sh", "-c", "echo more >> made.txt"), environment, ".")
        )
        assert looking.exit != 0
        assert (workspace / "made.txt").read_text() == "new\n"

    async def test_what_it_prints_is_heard_as_it_comes(
        self, sandbox: Sandbox, tmp_path: Path
    ) -> None:
        home = home_in(tmp_path)
        script = (
            "sh",
            "-c",
            "echo one; until [ -e go ]; do sleep 0.01; done; echo two; echo x >&2",
        )
        pieces: list[bytes] = []

        def heard(piece: bytes) -> None:
            pieces.append(piece)
            (home / "go").touch()

        job = SandboxJob(script, child_environment(home), home=home, heard=heard)
        done = await sandbox.run(job)
        assert (done.exit, pieces) == (0, [b"one\n", b"two\n"])
        assert done.stdout == b"one\ntwo\n"

    async def test_a_home_is_its_own_to_fill(self, sandbox: Sandbox, tmp_path: Path) -> None:
        home = home_in(tmp_path)
        script = ("sh", "-c", 'pwd; head -c 9000 /dev/zero > "$HOME/kept"')
        environment = child_environment(home)
        done = await sandbox.run(SandboxJob(script, environment, home=home, file_bytes=10_000))
        assert (done.exit, done.stdout) == (0, f"{home}\n".encode())
        assert (home / "kept").stat().st_size == 9000
        for file_bytes in (0, 4000):
            job = SandboxJob(script, environment, home=home, file_bytes=file_bytes)
            assert (await sandbox.run(job)).exit != 0
            assert (home / "kept").stat().st_size == file_bytes

    async def test_what_others_write_ends_no_program_with_a_home(
        self, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It may answer for minutes, while an update is written beside it."""
        home = home_in(tmp_path)
        free = iter(range(1 << 40, 0, -(1 << 30)))
        monkeypatch.setattr(sandbox_disk, "free_bytes", lambda _: next(free))
        monkeypatch.setattr(sandbox_disk, "LOOK_S", 0.01)
        job = SandboxJob(("sleep", "0.2"), child_environment(home), home=home)
        assert await sandbox.run(job) == SandboxOutcome(0, b"", b"")

    async def test_it_is_ended_when_it_takes_too_long(
        self, sandbox: Sandbox, workspace: Path
    ) -> None:
        script = ("sh", "-c", f"echo begun; sleep {NAP_S} & sleep {NAP_S}")
        begun_s = time.monotonic()
        done = await sandbox.run(
            SandboxJob(script, child_environment(workspace), ".", timeout_s=0.5)
        )
        assert time.monotonic() - begun_s < 8
        assert (done.exit, done.stdout, done.ended) == (
            None,
            b"begun\n",
            "it took longer than 0.5 s",
        )
        assert not sleeping()

    async def test_what_it_has_started_ends_with_it(
        self, sandbox: Sandbox, workspace: Path
    ) -> None:
        script = ("sh", "-c", f"sleep {NAP_S} & echo done")
        done = await sandbox.run(SandboxJob(script, child_environment(workspace), "."))
        assert (done.exit, done.stdout) == (0, b"done\n")
        assert not sleeping()

    async def test_it_is_ended_when_nobody_waits_any_more(
        self, sandbox: Sandbox, workspace: Path
    ) -> None:
        job = SandboxJob(("sleep", str(NAP_S)), child_environment(workspace), ".")
        waiting = asyncio.ensure_future(sandbox.run(job))
        async with asyncio.timeout(PATIENCE_S):
            await wait_until(sleeping)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await wait_until(lambda: not sleeping())

    @pytest.mark.parametrize("stream", [1, 2])
    async def test_it_is_ended_when_it_prints_too_much(
        self, sandbox: Sandbox, workspace: Path, stream: int
    ) -> None:
        script = ("sh", "-c", f"yes >&{stream}")
        done = await sandbox.run(SandboxJob(script, child_environment(workspace), "."))
        printed = (done.stdout, done.stderr)[stream - 1]
        assert len(printed) == MAX_STREAM_BYTES
        assert (done.exit, done.truncated) == (None, True)
        assert done.ended == "it printed too much"

    @pytest.mark.parametrize(
        "code", ["bytearray(100 << 20)", "__import__('mmap').mmap(-1, 300 << 20)"]
    )
    async def test_it_has_little_memory(self, sandbox: Sandbox, code: str) -> None:
        done = await sandbox.run(SandboxJob((*PYTHON, code), {}, needs=NEEDS))
        assert done.exit == 1
        assert b"MemoryError" in done.stderr or b"Cannot allocate" in done.stderr

    async def test_it_cannot_fill_the_disk(
        self, sandbox: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Many files, each of them within the limit of one."""
        monkeypatch.setattr(sandbox_disk, "MAX_WRITTEN_BYTES", 8 << 20)
        filling = "i=0; while :; do head -c 1000000 /dev/zero >f$i; i=$((i+1)); sleep 0.01; done"
        environment = child_environment(SANDBOX_HOME)
        done = await sandbox.run(SandboxJob(("sh", "-c", filling), environment, ".", writes=True))
        assert done.exit is None
        assert done.ended == "it wrote more than 8 MB; what it wrote is still there"
        # As far as somebody else does not fill the same disk just now
        written = (file.stat().st_size for file in workspace.glob("f*"))  # noqa: ASYNC240 - few
        assert sum(written) < 400 << 20

    async def test_nothing_that_writes_begins_on_a_full_disk(
        self, sandbox: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sandbox_disk, "free_bytes", lambda _: 5 << 20)
        environment = child_environment(SANDBOX_HOME)
        with pytest.raises(SandboxBroken, match="5 MB left"):
            await sandbox.run(SandboxJob(("touch", "x"), environment, ".", writes=True))
        assert (await sandbox.run(SandboxJob(("cat", "plan.txt"), environment, "."))).exit == 0

    async def test_a_file_that_is_also_elsewhere_is_not_reached(
        self, sandbox: Sandbox, workspace: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "outside.txt").write_text("not yours")
        job = SandboxJob(("cat", "linked.txt"), child_environment(SANDBOX_HOME), ".")
        (workspace / "linked.txt").hardlink_to(tmp_path / "outside.txt")
        with pytest.raises(SandboxBroken, match=r"linked\.txt' is a hard link"):
            await sandbox.run(job)
        (workspace / "linked.txt").unlink()
        (workspace / "linked.txt").hardlink_to(workspace / "plan.txt")
        assert (await sandbox.run(job)).stdout.startswith(b"pump")

    @pytest.mark.parametrize("writes", [True, False])
    async def test_it_leaves_no_dump_of_its_memory(
        self, sandbox: Sandbox, workspace: Path, *, writes: bool
    ) -> None:
        script = ("sh", "-c", "ulimit -Hc; ulimit -Sc")
        job = SandboxJob(script, child_environment(SANDBOX_HOME), ".", writes=writes)
        assert (await sandbox.run(job)).stdout == b"0\n0\n"

    async def test_no_descriptor_is_left_open(self, sandbox: Sandbox, workspace: Path) -> None:
        job = SandboxJob(("true",), child_environment(workspace), ".", given=b"x")
        await sandbox.run(job)
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a folder of the kernel's
        for _ in range(3):
            await sandbox.run(job)
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a folder of the kernel's
