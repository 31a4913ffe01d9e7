import asyncio
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.security import estop
from agent.security.estop import FILE_NAME, HOW_TO_CLEAR, LOOK_S, EmergencyStop
from agent.system.clock import SystemClock


async def test_it_is_set_at_once_and_after_a_restart(tmp_path: Path) -> None:
    heard: list[object] = []
    stop = EmergencyStop(tmp_path)
    stop.listen(lambda: heard.append("set"), lambda: heard.append("clear"))
    assert (stop.is_set, stop.sentence) == (False, "")
    assert await stop.engage("by Ada in the terminal")
    assert heard == ["set"]
    again = EmergencyStop(tmp_path)
    assert again.is_set
    assert again.sentence == f"the emergency stop is set (by Ada in the terminal); {HOW_TO_CLEAR}"


async def test_who_listens_to_a_stop_that_is_set_is_told_at_once(tmp_path: Path) -> None:
    estop.record(tmp_path, "before")
    heard: list[object] = []
    EmergencyStop(tmp_path).listen(lambda: heard.append("set"))
    assert heard == ["set"]


async def test_the_listeners_are_told_before_the_disk_is_touched(tmp_path: Path) -> None:
    stop = EmergencyStop(tmp_path)
    was_on_disk: list[object] = []
    stop.listen(lambda: was_on_disk.append((tmp_path / FILE_NAME).exists()))
    await stop.engage("now")
    assert was_on_disk == [False]


async def test_cleared_is_cleared_for_the_next_start_too(tmp_path: Path) -> None:
    heard: list[object] = []
    stop = EmergencyStop(tmp_path)
    stop.listen(lambda: heard.append("set"), lambda: heard.append("clear"))
    await stop.engage("x")
    await stop.clear()
    assert heard == ["set", "clear"]
    assert not stop.is_set
    assert not EmergencyStop(tmp_path).is_set


async def test_clearing_what_is_not_set_tells_nobody(tmp_path: Path) -> None:
    heard: list[object] = []
    stop = EmergencyStop(tmp_path)
    stop.listen(lambda: heard.append("set"), lambda: heard.append("clear"))
    await stop.clear()
    assert heard == []


async def test_what_another_process_does_is_taken_over(tmp_path: Path) -> None:
    heard: list[object] = []
    stop = EmergencyStop(tmp_path)
    stop.listen(lambda: heard.append("set"), lambda: heard.append("clear"))
    stop.look()
    estop.record(tmp_path, "by `barnacle estop`")
    stop.look()
    stop.look()
    assert stop.reason == "by `barnacle estop`"
    assert estop.remove(tmp_path)
    stop.look()
    assert not stop.is_set
    assert heard == ["set", "clear"]


async def test_our_own_clearing_is_no_news_from_outside(tmp_path: Path) -> None:
    heard: list[str] = []
    stop = EmergencyStop(tmp_path)
    stop.listen(lambda: heard.append("set"), lambda: heard.append("clear"))
    await stop.engage("x")
    clearing = asyncio.create_task(stop.clear())
    while not clearing.done():
        was_set = stop.is_set
        stop.look()
        assert stop.is_set == was_set
        await asyncio.sleep(0)
    assert heard == ["set", "clear"]
    stop.look()
    assert heard == ["set", "clear"]


async def test_a_full_disk_stops_it_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(path: Path, content: bytes) -> None:
        raise StorageFull(f"{path}: {len(content)} bytes")

    monkeypatch.setattr(estop, "write_atomic", no_room)
    stop = EmergencyStop(tmp_path)
    # A name needs no room for content
    assert await stop.engage("x")
    assert EmergencyStop(tmp_path).reason == "for a reason that was not recorded"


async def test_what_cannot_be_recorded_holds_while_the_agent_lives(tmp_path: Path) -> None:
    stop = EmergencyStop(tmp_path / "gone")
    (tmp_path / "gone").write_text("no folder can be here")
    assert not await stop.engage("x")
    stop.look()
    assert stop.is_set


async def test_a_file_that_cannot_be_removed_keeps_the_stop(tmp_path: Path) -> None:
    stop = EmergencyStop(tmp_path)
    (tmp_path / FILE_NAME).mkdir()
    stop.look()
    assert stop.is_set
    with pytest.raises(StorageFull, match="stays"):
        await stop.clear()
    assert stop.is_set


@pytest.mark.parametrize("kind", ["folder", "loop", "folder that is a file"])
async def test_a_file_that_cannot_be_read_is_a_stop(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "state"
    if kind == "folder that is a file":
        folder.write_text("")
    elif kind == "loop":
        folder.mkdir()
        (folder / FILE_NAME).symlink_to(FILE_NAME)
    else:
        (folder / FILE_NAME).mkdir(parents=True)
    assert estop.read_reason(folder) == "for a reason that was not recorded"
    stop = EmergencyStop(folder)
    assert stop.is_set
    # Nor is it taken for one that somebody has removed
    stop.look()
    assert stop.is_set


async def test_a_file_that_becomes_unreadable_stops_what_is_at_work(tmp_path: Path) -> None:
    stop = EmergencyStop(tmp_path)
    (tmp_path / FILE_NAME).symlink_to(FILE_NAME)
    stop.look()
    assert stop.reason == "for a reason that was not recorded"


def test_removing_nothing_says_so(tmp_path: Path) -> None:
    assert not estop.remove(tmp_path)


async def test_engaging_again_tells_the_listeners_again(tmp_path: Path) -> None:
    heard: list[object] = []
    stop = EmergencyStop(tmp_path)
    stop.listen(lambda: heard.append("set"), lambda: heard.append("clear"))
    await stop.engage("x")
    await stop.engage("y")
    assert heard == ["set", "set"]


async def test_a_stop_that_left_no_file_is_not_cleared_by_its_absence(tmp_path: Path) -> None:
    state = tmp_path / "state"
    stop = EmergencyStop(state)
    # Whoever looks for the folder finds nothing at all
    state.symlink_to(tmp_path / "gone" / "state")
    assert not await stop.engage("x")
    stop.look()
    assert stop.is_set


async def test_a_reason_is_as_long_as_a_sentence(tmp_path: Path) -> None:
    stop = EmergencyStop(tmp_path)
    await stop.engage("x" * 1000)
    assert len(stop.reason) == 200
    assert len(estop.read_reason(tmp_path) or "") == 200


async def test_a_stop_that_is_cleared_stays_cleared_after_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = EmergencyStop(tmp_path)
    await stop.engage("x")
    synced: list[Path] = []
    monkeypatch.setattr(estop, "sync_folder", synced.append)
    await stop.clear()
    assert synced == [tmp_path]


async def test_a_change_of_the_file_is_told(tmp_path: Path) -> None:
    changes = EmergencyStop(tmp_path).changes(SystemClock())
    await changes.wait()
    estop.record(tmp_path, "by another program")
    # Ten seconds, if nobody told
    async with asyncio.timeout(LOOK_S * 20):
        await changes.wait()
    changes.close()
