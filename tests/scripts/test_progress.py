"""Steps: their output in a log, the end of it in front of the person when they fail."""

import os
import sys
from pathlib import Path

import pytest

from scripts.lib.progress import Progress, StepFailed


def run(folder: Path, program: str) -> None:
    Progress(folder).run(
        "make a thing",
        [sys.executable, "-c", program],
        environment=dict(os.environ),
        remedy="Buy a bigger disk.",
    )


def test_a_step_is_one_line_and_its_output_is_in_the_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, "print('many words')")
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == ["barnacle: make a thing ...", "barnacle: make a thing: done, 0 s"]
    assert (tmp_path / "make-a-thing.log").read_text() == "many words\n"


def test_a_failed_step_shows_the_end_of_its_log_and_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(StepFailed) as failure:
        run(tmp_path, "for n in range(100): print('line', n)\nraise SystemExit(3)")
    told = str(failure.value)
    assert "line 99" in told
    assert "line 80" not in told
    assert "exit status 3" in told
    assert told.endswith("Buy a bigger disk.")


def test_a_step_reads_nothing_of_what_the_chat_is_to_read(tmp_path: Path) -> None:
    run(tmp_path, "import sys; assert sys.stdin.read() == ''")
