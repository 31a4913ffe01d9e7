from pathlib import Path

from agent.channels.opcodes.session import GatewaySession, ResumableSession


async def test_what_was_saved_is_there_for_the_same_bot_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "session.json"
    begun = GatewaySession(path, "bot 1")
    begun.begun = ResumableSession("bot 1", "s-1", "me", "wss://a", 7)
    await begun.save()
    again, other = GatewaySession(path, "bot 1"), GatewaySession(path, "bot 2")
    await again.load()
    await other.load()
    assert again.begun == ResumableSession("bot 1", "s-1", "me", "wss://a", 7)
    assert other.begun is None


async def test_what_this_process_knows_is_newer_than_the_file(tmp_path: Path) -> None:
    session = GatewaySession(tmp_path / "session.json", "bot")
    session.begun = ResumableSession("bot", "s-1", "me")
    await session.save()
    session.begun = ResumableSession("bot", "s-2", "me")
    await session.load()
    assert session.begun.session_id == "s-2"


async def test_a_session_that_is_forgotten_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    session = GatewaySession(path, "bot")
    session.begun = ResumableSession("bot", "s-1", "me")
    await session.save()
    await session.forget()
    await session.save()
    assert (session.begun, path.exists()) == (None, False)


async def test_a_folder_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    session = GatewaySession(tmp_path / "file" / "session.json", "bot")
    session.begun = ResumableSession("bot", "s-1", "me")
    await session.save()
    await session.load()
    assert session.begun is not None
