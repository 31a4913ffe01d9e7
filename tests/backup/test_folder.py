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
    assert [path.name for path in remove_old(tmp_path, "house", 2)] == names[:3]
    assert {path.name for path in tmp_path.iterdir()} == {*names[3:], *others}
    assert remove_old(tmp_path, "house", 2) == []
