"""The guards that hold for every test do hold: a test that leaves the machine fails."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.structure.sources import ROOT


def run_test(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    """The outcome of one small test under the project's conftest."""
    file = folder / "test_small.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    file.write_text(
        f"import asyncio, os, socket\nimport pytest\n\n\ndef test_it(tmp_path):\n{lines}"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-c", "/dev/null"]
    return subprocess.run(
        [*command, "--rootdir", folder, "-p", "no:cacheprovider", file],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "SOME_API_KEY": "key", "HTTPS_PROXY": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "body",
    [
        "socket.create_connection(('192.0.2.1', 80), timeout=0.1)",
        "socket.getaddrinfo('barnacle.invalid', 80)",
        "socket.gethostbyname('barnacle.invalid')",
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
        "asyncio.run(asyncio.open_connection('192.0.2.1', 80))",
    ],
)
def test_leaving_the_machine_fails(tmp_path: Path, body: str) -> None:
    done = run_test(tmp_path, body)
    assert done.returncode == 1
    assert "a test tried to reach" in done.stdout


def test_swallowing_the_refusal_fails_too(tmp_path: Path) -> None:
    body = "try:\n    socket.getaddrinfo('barnacle.invalid', 80)\nexcept Exception:\n    pass"
    done = run_test(tmp_path, body)
    assert done.returncode == 1
    assert "the test tried to leave this machine" in done.stdout


@pytest.mark.parametrize(
    "body",
    [
        (
            "with socket.create_server(('127.0.0.1', 0)) as server:\n"
            "    socket.create_connection(server.getsockname()).close()"
        ),
        (
            "with socket.create_server(('127.0.0.1', 0)) as server:\n"
            "    socket.create_connection(('localhost', server.getsockname()[1])).close()"
        ),
        "a, b = socket.socketpair()\na.sendall(b'x')\nassert b.recv(1) == b'x'",
        (
            "with socket.socket(socket.AF_UNIX) as end:\n"
            "    with pytest.raises(FileNotFoundError):\n"
            "        end.connect(str(tmp_path / 'nobody'))"
        ),
        "assert not [name for name in os.environ if name in ('SOME_API_KEY', 'HTTPS_PROXY')]",
    ],
)
def test_staying_on_the_machine_passes(tmp_path: Path, body: str) -> None:
    done = run_test(tmp_path, body)
    assert done.returncode == 0, done.stdout


def test_a_skipped_test_is_listed_with_its_reason(tmp_path: Path) -> None:
    done = run_test(tmp_path, "pytest.skip('the moon is full')")
    assert "skipped: 1" in done.stdout
    assert "test_small.py::test_it: the moon is full" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 skipped")
