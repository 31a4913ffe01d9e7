import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


# Half a minute of work, which takes ten times as long where others want both cores
@pytest.mark.timeout(600)
def test_the_whole_record_is_measured(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "scripts/lib",
        "bench.readings",
        "--days",
        "2",
        "--kills",
        "2",
        "--cuts",
        "6",
        "--noticed",
        "0",
        "--rehearsals",
        "2",
        "--conflicts",
        "20",
    ]
    ended = subprocess.run(
        [*command, "--folder", str(tmp_path)],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    # The bars are not for a machine that runs other tests
    assert ended.returncode in {0, 1}, ended.stderr
    cut = next(line for line in ended.stdout.splitlines() if "6 cuts on paper" in line)
    assert "0 lost, 0 twice, 0 wrong, 0 damaged" in cut or "strace" in cut
    for row in (
        "written a month and sensor",
        "a day of one sensor",
        "a drawing, CPU",
        "2 kill -9",
        "6 cuts",
    ):
        assert row in ended.stdout
    assert "2 of 2" in ended.stdout
    assert "0 missed, 0 invented, 0 wrong counterexamples" in ended.stdout
    assert "0 lost, 0 twice, 0 wrong" in ended.stdout
