from pathlib import Path

from agent.schedule.trust import RELEASED_S, is_trusted


def test_a_time_before_this_program_is_trusted_only_from_the_network(tmp_path: Path) -> None:
    mark = tmp_path / "synchronized"
    assert not is_trusted(100.0, mark)
    assert is_trusted(RELEASED_S, mark)
    mark.touch()
    assert is_trusted(100.0, mark)
