from pathlib import Path

from agent.memory.generations import KEY_NAME, MAX_SEALS, SEALS_NAME, Seals


def test_only_what_was_noted_here_is_ours(tmp_path: Path) -> None:
    here, there = Seals(tmp_path / "here"), Seals(tmp_path / "there")
    assert not here.is_ours("a")
    here.note("a")
    there.note("b")
    assert here.is_ours("a")
    assert Seals(tmp_path / "here").is_ours("a")
    assert not here.is_ours("b")
    assert not there.is_ours("a")


def test_the_codes_of_another_device_are_none_here(tmp_path: Path) -> None:
    here, there = Seals(tmp_path / "here"), Seals(tmp_path / "there")
    here.note("a")
    there.note("b")
    (tmp_path / "here" / SEALS_NAME).write_bytes((tmp_path / "there" / SEALS_NAME).read_bytes())
    assert not here.is_ours("b")


def test_the_key_is_for_us_alone_and_no_link(tmp_path: Path) -> None:
    seals, key = Seals(tmp_path), tmp_path / KEY_NAME
    seals.note("a")
    assert key.stat().st_mode & 0o077 == 0
    key.chmod(0o640)
    assert not seals.is_ours("a")
    key.chmod(0o600)
    assert seals.is_ours("a")
    key.rename(tmp_path / "elsewhere")
    key.symlink_to(tmp_path / "elsewhere")
    assert not seals.is_ours("a")


def test_a_damaged_key_or_list_believes_nothing_and_is_made_anew(tmp_path: Path) -> None:
    seals = Seals(tmp_path)
    seals.note("a")
    (tmp_path / KEY_NAME).write_bytes(b"short")
    assert not seals.is_ours("a")
    seals.note("b")
    assert seals.is_ours("b")
    (tmp_path / SEALS_NAME).write_bytes(b"\xff\x00 \n\n")
    assert not seals.is_ours("b")


def test_old_ones_are_forgotten_and_the_same_one_writes_nothing(tmp_path: Path) -> None:
    seals = Seals(tmp_path)
    for number in range(MAX_SEALS + 1):
        seals.note(str(number))
    assert not seals.is_ours("0")
    assert seals.is_ours("1")
    before = (tmp_path / SEALS_NAME).stat().st_mtime_ns
    seals.note("1")
    assert (tmp_path / SEALS_NAME).stat().st_mtime_ns == before
