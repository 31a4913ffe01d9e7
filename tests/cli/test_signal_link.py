import asyncio
from pathlib import Path

import pytest

from agent.cli import signal
from agent.cli.signal import link_by_program
from agent.errors import ChannelRefused, ChannelUnavailable
from tests.fakes.signal_daemon import NUMBER

URI = "sgnl://linkdevice?uuid=Q2hlY2tlZA%3D%3D&pub_key=BQabcdefgh"


def program(folder: Path, script: str) -> list[str]:
    path = folder / "signal-cli"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return [str(path), "--config", "somewhere"]


async def test_the_program_shows_its_code_and_says_whom_it_linked(tmp_path: Path) -> None:
    shown: list[str] = []
    command = program(
        tmp_path, f'echo "$@" >{tmp_path}/asked\necho "{URI}"\necho "Associated with: {NUMBER}"'
    )
    assert await link_by_program(command, "The greenhouse", shown.append) == NUMBER
    assert shown == [URI]
    asked = await asyncio.to_thread((tmp_path / "asked").read_text)
    assert asked == "--config somewhere link -n The greenhouse\n"


@pytest.mark.parametrize(
    ("script", "clue"),
    [
        ("echo 'no network\x1b[2J' >&2; exit 3", r"no network\[2J"),
        (f"echo '{URI}'; echo 'Link request timed out' >&2; exit 1", "timed out"),
        ("exit 0", "without a reason"),
        ("echo 'sgnl://linkdevice?\x1b]0;x'", "no code to scan"),
        ("head -c 100000 /dev/zero", "line that is too long"),
    ],
)
async def test_a_program_that_fails_says_why(tmp_path: Path, script: str, clue: str) -> None:
    with pytest.raises(ChannelRefused, match=clue):
        await link_by_program(program(tmp_path, script), "Barnacle", lambda _: None)


async def test_a_program_that_never_ends_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "SCAN_TIMEOUT_S", 0.2)
    command = program(tmp_path, f"echo '{URI}'; echo $$ >{tmp_path}/id; exec sleep 60")
    with pytest.raises(ChannelUnavailable, match="not scanned in time"):
        await link_by_program(command, "Barnacle", lambda _: None)
    number = (await asyncio.to_thread((tmp_path / "id").read_text)).strip()
    assert not await asyncio.to_thread(Path(f"/proc/{number}").exists)
