import os
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.security.sandbox.base import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_PROCESSES,
    SandboxJob,
    SandboxRoom,
    limited,
)

WRITE = ("/bin/sh", "-c", "trap '' XFSZ; printf x > written; echo $?")


def limits_of(job: SandboxJob) -> dict[str, str]:
    words = limited(job)
    return dict(one.removeprefix("--").split("=") for one in words[1 : words.index("--")])


@pytest.mark.parametrize(("writes", "content"), [(False, b""), (True, b"x")])
def test_a_job_that_only_reads_can_write_nothing_whatever_is_mounted(
    tmp_path: Path, *, writes: bool, content: bytes
) -> None:
    # The systemd sandbox has the workspace open for writing: this limit is all that there is
    done = subprocess.run(
        limited(SandboxJob(WRITE, writes=writes)),
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert (tmp_path / "written").read_bytes() == content
    assert (done.stdout == b"0\n") is writes


def test_a_job_may_map_freely_and_have_more_processes_and_files() -> None:
    room = SandboxRoom(processes=200, files=2000, maps_freely=True)
    limits = limits_of(SandboxJob(("x",), memory_bytes=1000, room=room))
    assert (limits["data"], limits["nproc"], limits["nofile"]) == ("1000", "200", "2000")
    assert "as" not in limits


def test_every_limit_of_a_job_is_lowered() -> None:
    assert limits_of(SandboxJob(("x",), cpu_s=0.2, memory_bytes=1000)) == {
        "data": "1000",
        "as": "4000",
        "cpu": "1",
        "nproc": str(MAX_PROCESSES),
        "nofile": str(MAX_FILES),
        "fsize": "0",
        "core": "0",
    }
    assert limits_of(SandboxJob(("x",), writes=True, cpu_s=2.5))["fsize"] == str(MAX_FILE_BYTES)
    assert limits_of(SandboxJob(("x",), cpu_s=2.5))["cpu"] == "3"


def test_the_limits_are_those_of_a_small_device() -> None:
    job = SandboxJob(("x",))
    assert (job.timeout_s, job.cpu_s, job.writes, job.stream_bytes) == (60.0, 60.0, False, 1 << 20)
    assert limits_of(replace(job, writes=True)) == {
        "data": str(64 << 20),
        "as": str(256 << 20),
        "cpu": "60",
        "nproc": "64",
        "nofile": "256",
        "fsize": str(16 << 20),
        "core": "0",
    }
