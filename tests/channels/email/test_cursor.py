from pathlib import Path

from agent.channels.email.cursor import EmailCursor


async def test_what_an_earlier_version_kept_is_read_and_its_letters_get_a_series(
    tmp_path: Path,
) -> None:
    path = tmp_path / "position.json"
    path.write_text('{"account":"anna@example.org","validity":7,"uid":42}')
    first, second = (EmailCursor(path, "anna@example.org") for _ in range(2))
    await first.load()
    await second.load()
    assert (first.is_known, first.validity, first.uid) == (True, 7, 42)
    assert first.series == second.series


async def test_another_folder_is_begun_anew_and_goes_on_with_its_series(tmp_path: Path) -> None:
    path = tmp_path / "position.json"
    first = EmailCursor(path, "anna@example.org")
    await first.load()
    await first.advance(7, 42)
    other, same = EmailCursor(path, "anna@example.org", "Agent"), EmailCursor(path, first._account)
    await other.load()
    await same.load()
    assert (other.is_known, other.uid, other.series) == (False, 0, first.series)
    assert (same.is_known, same.uid) == (True, 42)


async def test_the_folder_of_an_earlier_version_is_the_one_that_is_set(tmp_path: Path) -> None:
    path = tmp_path / "position.json"
    path.write_text('{"account":"anna@example.org","validity":7,"uid":42,"series":"ab"}')
    cursor = EmailCursor(path, "anna@example.org", "Agent")
    await cursor.load()
    assert (cursor.is_known, cursor.uid) == (True, 42)
