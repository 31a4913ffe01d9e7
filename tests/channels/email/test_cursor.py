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
