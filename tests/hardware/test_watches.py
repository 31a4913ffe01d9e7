import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from agent.errors import BadArguments, StorageFull
from agent.hardware.watches import MAX_WATCHES, BoardWatcher
from agent.link.settings import WatchSettings
from agent.messages import Provenance
from tests.fakes.clock import SteppedClock
from tests.fakes.events import TalkingBoard
from tests.fakes.owner import ListeningOwner
from tests.waits import stays, wait_until

DRY = WatchSettings(pin="a0", below=0.8, say="Dry: {value}.")
SEVERAL = 4


@contextlib.asynccontextmanager
async def watching(
    folder: Path, board: TalkingBoard, own: dict[str, WatchSettings] | None = None
) -> AsyncIterator[tuple[BoardWatcher, ListeningOwner]]:
    watcher = BoardWatcher(board, own or {}, folder / "watches.json", SteppedClock())
    owner = ListeningOwner()
    running = asyncio.create_task(watcher.run(owner))
    await wait_until(lambda: len(watcher.listed()) >= len(own or {}))
    try:
        yield watcher, owner
    finally:
        running.cancel()
        await asyncio.wait([running])


def full(*_: object) -> None:
    raise StorageFull("no room")


class SlowOwner(ListeningOwner):
    """Owner who is told when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_telling, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def tell(self, text: str) -> None:
        self.is_telling.set()
        await self.may_go_on.wait()
        await super().tell(text)


# Long enough for an event to go all its way
SETTLED_S = 0.05


async def test_a_watch_of_the_configuration_tells_the_owner(tmp_path: Path) -> None:
    board = TalkingBoard()
    async with watching(tmp_path, board, {"dry": DRY}) as (_, owner):
        board.tell("a0", 0.75, unit="V")
        await wait_until(lambda: owner.told == ["Dry: 0.75 V."])


async def test_a_watch_may_begin_a_turn_instead(tmp_path: Path) -> None:
    board = TalkingBoard()
    own = {"door": WatchSettings(pin="button", becomes="on", ask="Who is it?")}
    async with watching(tmp_path, board, own) as (_, owner):
        board.tell("button", "off")
        board.tell("button", "on")
        await wait_until(lambda: owner.begun == [("door", "Who is it?")])
        assert owner.told == []


async def test_what_a_chat_has_added_outlives_a_restart_and_is_not_told_again(
    tmp_path: Path,
) -> None:
    board = TalkingBoard()
    async with watching(tmp_path, board) as (watcher, owner):
        await watcher.add("dry", DRY, Provenance.OWNER)
        board.tell("a0", 0.75)
        kept = tmp_path / "watches.json"
        await wait_until(lambda: '"is_beyond": true' in kept.read_text())
        assert owner.told == ["Dry: 0.75."]
    again = TalkingBoard()
    async with watching(tmp_path, again) as (watcher, owner):
        await wait_until(watcher.listed)
        # As a board does on a new subscription: which side it is on
        again.tell("a0", 0.74)
        await stays(lambda: owner.told == [], SETTLED_S)
        again.tell("a0", 0.9)
        again.tell("a0", 0.7)
        await wait_until(lambda: owner.told == ["Dry: 0.7."])


@pytest.mark.parametrize(
    "changed",
    [
        structs.replace(DRY, pin="a1"),
        structs.replace(DRY, below=None, above=0.7),
        structs.replace(DRY, below=0.76),
    ],
)
async def test_a_watch_whose_reading_or_limit_was_changed_tells_of_it_anew(
    tmp_path: Path, changed: WatchSettings
) -> None:
    board = TalkingBoard()
    async with watching(tmp_path, board, {"dry": DRY}) as (_, owner):
        board.tell("a0", 0.75)
        kept = tmp_path / "watches.json"
        await wait_until(lambda: kept.exists() and '"is_beyond": true' in kept.read_text())
    again = TalkingBoard()
    async with watching(tmp_path, again, {"dry": changed}) as (_, owner):
        # As a board does on a new subscription: which side it is on
        again.tell(changed.pin, 0.75)
        await wait_until(lambda: owner.told == ["Dry: 0.75."])


async def test_a_watch_of_the_configuration_that_stays_is_not_told_again(tmp_path: Path) -> None:
    board = TalkingBoard()
    async with watching(tmp_path, board, {"dry": DRY}) as (_, owner):
        board.tell("a0", 0.75)
        kept = tmp_path / "watches.json"
        await wait_until(lambda: kept.exists() and '"is_beyond": true' in kept.read_text())
    again = TalkingBoard()
    own = {"dry": structs.replace(DRY, say="Thirsty: {value}.")}
    async with watching(tmp_path, again, own) as (_, owner):
        again.tell("a0", 0.74)
        await stays(lambda: owner.told == [], SETTLED_S)


async def test_a_removed_watch_is_silent_and_forgotten(tmp_path: Path) -> None:
    board = TalkingBoard()
    async with watching(tmp_path, board) as (watcher, owner):
        await watcher.add("dry", DRY, Provenance.OWNER)
        assert await watcher.remove("dry")
        assert not await watcher.remove("dry")
        board.tell("a0", 0.7)
        await stays(lambda: (owner.told, watcher.listed()) == ([], []), SETTLED_S)
    async with watching(tmp_path, TalkingBoard()) as (watcher, _):
        await stays(lambda: watcher.listed() == [], SETTLED_S)


async def test_adding_a_name_again_replaces_it(tmp_path: Path) -> None:
    board = TalkingBoard()
    async with watching(tmp_path, board) as (watcher, owner):
        await watcher.add("dry", DRY, Provenance.OWNER)
        await watcher.add("dry", WatchSettings(pin="a0", above=3.0, say="Wet."), Provenance.OWNER)
        board.tell("a0", 0.7)
        board.tell("a0", 3.1)
        await wait_until(lambda: owner.told == ["Wet."])


async def test_a_watch_stays_at_work_when_the_one_that_replaces_it_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = TalkingBoard()
    async with watching(tmp_path, board) as (watcher, owner):
        await watcher.add("dry", DRY, Provenance.OWNER)
        with monkeypatch.context() as patch:
            patch.setattr("agent.storage.documents.write_atomic", full)
            with pytest.raises(StorageFull):
                await watcher.add("dry", WatchSettings(pin="a0", below=0.5), Provenance.OWNER)
        assert [one["below"] for one in watcher.listed()] == [0.8]
        board.tell("a0", 0.7)
        await wait_until(lambda: owner.told == ["Dry: 0.7."])


async def test_a_watch_that_is_not_forgotten_stays_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = TalkingBoard()
    async with watching(tmp_path, board) as (watcher, owner):
        await watcher.add("dry", DRY, Provenance.OWNER)
        with monkeypatch.context() as patch:
            patch.setattr("agent.storage.documents.write_atomic", full)
            with pytest.raises(StorageFull):
                await watcher.remove("dry")
        board.tell("a0", 0.7)
        await wait_until(lambda: owner.told == ["Dry: 0.7."])
        assert await watcher.remove("dry")


async def test_a_watch_that_is_removed_while_it_is_told_does_not_come_back(tmp_path: Path) -> None:
    board, owner = TalkingBoard(), SlowOwner()
    watcher = BoardWatcher(board, {}, tmp_path / "watches.json", SteppedClock())
    running = asyncio.create_task(watcher.run(owner))
    await watcher.add("dry", DRY, Provenance.OWNER)
    board.tell("a0", 0.7)
    await owner.is_telling.wait()
    assert await watcher.remove("dry")
    owner.may_go_on.set()
    await wait_until(lambda: owner.told == ["Dry: 0.7."])
    # What is kept comes one after the other
    await watcher.add("wet", DRY, Provenance.OWNER)
    assert '"dry"' not in (tmp_path / "watches.json").read_text()
    running.cancel()
    await asyncio.wait([running])


async def test_a_kept_watch_that_makes_no_sense_is_left_out(tmp_path: Path) -> None:
    async with watching(tmp_path, TalkingBoard()) as (watcher, _):
        await watcher.add("dry", DRY, Provenance.OWNER)
        await watcher.add("wet", DRY, Provenance.OWNER)
    kept = tmp_path / "watches.json"
    kept.write_text(kept.read_text().replace('"below": 0.8', '"below": "cold"', 1))
    async with watching(tmp_path, TalkingBoard()) as (watcher, _):
        await wait_until(lambda: [str(one["name"]) for one in watcher.listed()] == ["wet"], 2.0)


async def test_what_keeps_a_watch_from_being_watched_is_listed(tmp_path: Path) -> None:
    board = TalkingBoard()
    async with watching(tmp_path, board, {"dry": DRY}) as (watcher, _):
        board.go_away()
        (listed,) = watcher.listed()
        assert str(listed["name"]) == "dry"
        assert listed["below"] == 0.8
        assert "not connected" in str(listed["trouble"])


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (WatchSettings(pin="moon"), "no reading 'moon'"),
        (WatchSettings(pin="button", becomes="open"), "off or on"),
        (WatchSettings(pin="a0", becomes="on"), "a number"),
    ],
)
async def test_what_cannot_be_watched_is_refused(
    tmp_path: Path, wanted: WatchSettings, words: str
) -> None:
    async with watching(tmp_path, TalkingBoard()) as (watcher, _):
        with pytest.raises(BadArguments, match=words):
            await watcher.add("one", wanted, Provenance.OWNER)


async def test_names_of_the_configuration_are_left_alone(tmp_path: Path) -> None:
    async with watching(tmp_path, TalkingBoard(), {"dry": DRY}) as (watcher, _):
        with pytest.raises(BadArguments, match="another name"):
            await watcher.add("dry", DRY, Provenance.OWNER)
        with pytest.raises(BadArguments, match=r"board\.watch\.dry"):
            await watcher.remove("dry")


async def test_a_watch_of_another_board_is_told_with_its_name(tmp_path: Path) -> None:
    board, owner = TalkingBoard(), ListeningOwner()
    own = {"door": WatchSettings(pin="button", becomes="on", ask="Who is it?")}
    watcher = BoardWatcher(board, own, tmp_path / "garden.json", SteppedClock(), "garden")
    assert watcher.prefix == "garden_"
    running = asyncio.create_task(watcher.run(owner))
    await wait_until(watcher.listed)
    with pytest.raises(BadArguments, match=r"boards\.garden\.watch\.door"):
        await watcher.remove("door")
    board.tell("button", "on")
    await wait_until(lambda: owner.begun == [("garden_door", "Who is it?")])
    running.cancel()
    await asyncio.wait([running])


async def test_there_is_an_end_to_watching(tmp_path: Path) -> None:
    async with watching(tmp_path, TalkingBoard()) as (watcher, _):
        for number in range(MAX_WATCHES):
            await watcher.add(f"w{number}", DRY, Provenance.OWNER)
        with pytest.raises(BadArguments, match="remove one"):
            await watcher.add("more", DRY, Provenance.OWNER)


async def test_without_a_board_ever_nothing_can_be_added(tmp_path: Path) -> None:
    async with watching(tmp_path, TalkingBoard(manifest=None)) as (watcher, _):
        with pytest.raises(BadArguments, match="no board"):
            await watcher.add("dry", DRY, Provenance.OWNER)


async def test_several_at_once_are_all_told_and_kept(tmp_path: Path) -> None:
    board = TalkingBoard()
    own = {f"w{number}": WatchSettings(pin="a0", below=0.8) for number in range(SEVERAL)}
    async with watching(tmp_path, board, own) as (_, owner):
        for value in (0.7, 0.9, 0.6):
            board.tell("a0", value)
        await wait_until(lambda: len(owner.told) == 2 * SEVERAL)
        kept = tmp_path / "watches.json"
        await wait_until(lambda: kept.read_text().count('"is_beyond": true') == SEVERAL)
    again = TalkingBoard()
    async with watching(tmp_path, again, own) as (_, owner):
        again.tell("a0", 0.5)
        await stays(lambda: owner.told == [], SETTLED_S)


async def test_what_holds_now_is_known_and_listened_to_and_nothing_of_a_board_that_is_gone(
    tmp_path: Path,
) -> None:
    board = TalkingBoard()
    own = {"dry": DRY, "any": WatchSettings(pin="button")}
    async with watching(tmp_path, board, own) as (watcher, _):
        heard: list[bool | None] = []
        watcher.listen(lambda: heard.append(watcher.raised()["dry"]))
        assert watcher.raised() == {"dry": None}
        board.tell("a0", 0.75)
        board.tell("a0", 0.95)
        await wait_until(lambda: len(heard) == 2)
        assert heard == [True, False]
        board.go_away()
        assert watcher.raised() == {"dry": None}
