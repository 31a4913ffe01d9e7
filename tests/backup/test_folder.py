from pathlib import Path

from agent.backup.folder import remove_old


def test_of_one_device_the_newest_are_kept(tmp_path: Path) -> None:
    names = [f"house-2027010{day}T033000Z.barnacle-backup" for day in range(1, 6)]
    others = [
        "house-2-20270101T033000Z.barnacle-backup",
        "house.barnacle-backup",
        "house-20270101T033000Z.txt",
    ]
    for name in (*names, *others):
        (tmp_path / name).touch()
    made = tmp_path / names[-1]
    assert [path.name for path in remove_old(tmp_path, "house", 2, made)] == names[:3]
    assert {path.name for path in tmp_path.iterdir()} == {*names[3:], *others}
    assert remove_old(tmp_path, "house", 2, made) == []


def test_those_of_a_clock_that_was_ahead_go_first(tmp_path: Path) -> None:
    ahead = [f"house-2037010{day}T033000Z.barnacle-backup" for day in range(1, 3)]
    names = [f"house-2027010{day}T033000Z.barnacle-backup" for day in range(1, 3)]
    for name in (*ahead, *names):
        (tmp_path / name).touch()
    made = tmp_path / names[-1]
    assert [path.name for path in remove_old(tmp_path, "house", 3, made)] == ahead[:1]
    assert [path.name for path in remove_old(tmp_path, "house", 1, made)] == [ahead[1], names[0]]


def test_the_last_whole_one_stays_beside_those_that_are_kept(tmp_path: Path) -> None:
    names = [f"house-2027010{day}T033000Z.barnacle-backup" for day in range(1, 6)]
    for name in names:
        (tmp_path / name).touch()
    removed = remove_old(tmp_path, "house", 2, tmp_path / names[-1], tmp_path / names[1])
    assert [path.name for path in removed] == [names[0], names[2]]
