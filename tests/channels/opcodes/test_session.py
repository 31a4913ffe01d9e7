from pathlib import Path

from agent.channels.opcodes.session import Begun, Session


async def test_what_was_saved_is_there_for_the_same_bot_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "session.json"
    begun = Session(path, "bot 1")
    begun.begun = Begun("bot 1", "s-1", "me", "wss://a", 7)
    await begun.save()
    again, other = Session(path, "bot 1"), Session(path, "bot 2")
    await again.load()
    await other.load()
    assert again.begun == Begun("bot 1", "s-1", "me", "wss://a", 7)
    assert other.begun is None


async def test_what_this_process_knows_is_newer_than_the_file(tmp_path: Path) -> None:
    session = Session(tmp_path / "session.json", "bot")
    session.begun = Begun("bot", "s-1", "me")
    await session.save()
    session.begun = Begun("bot", "s-2", "me")
    await session.load()
    assert session.begun.session_id == "s-2"


async def test_a_session_that_is_forgotten_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    session = Session(path, "bot")
    session.begun = Begun("bot", "s-1", "me")
    await session.save()
    await session.forget()
    await session.save()
    assert (session.begun, path.exists()) == (None, False)


async def test_a_folder_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    session = Session(tmp_path / "file" / "session.json", "bot")
    session.begun = Begun("bot", "s-1", "me")
    await session.save()
    await session.load()
    assert session.begun is not None
