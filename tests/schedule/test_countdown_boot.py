from pathlib import Path

from agent.schedule.countdown import boot_id


def test_a_run_of_the_machine_has_a_name(tmp_path: Path) -> None:
    path = tmp_path / "boot_id"
    path.write_text("7f3a\n")
    assert boot_id(path) == "7f3a"


def test_a_machine_that_does_not_tell_has_none(tmp_path: Path) -> None:
    assert boot_id(tmp_path / "none") == ""
