from pathlib import Path

import pytest

from agent.health.data_partition import unused_text, why_unused
from agent.health.report import WritableState
from tests.fakes.clock import SteppedClock


def test_a_machine_that_uses_its_data_partition_says_nothing(tmp_path: Path) -> None:
    assert why_unused(tmp_path / "barnacle-aside") == ""


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (b"3 starts ended early\n", "3 starts ended early"),
        (b"", "no reason is recorded"),
        (b"\xff\x00 broken" * 1000, None),
    ],
)
def test_why_it_is_left_alone_is_said_in_one_line(
    tmp_path: Path, written: bytes, why: str | None
) -> None:
    path = tmp_path / "barnacle-aside"
    path.write_bytes(written)
    said = why_unused(path)
    assert said
    assert "\n" not in said
    assert why is None or said == why
    assert said in unused_text(said)


def test_the_status_says_that_nothing_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "barnacle-aside"
    path.write_text("3 starts ended early\n")
    assert "3 starts ended early" in WritableState(tmp_path, SteppedClock(), path).sentence()
    path.unlink()
    assert WritableState(tmp_path, SteppedClock(), path).sentence() == ""
