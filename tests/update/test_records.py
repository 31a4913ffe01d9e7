"""The owner hears once what came of an update."""

from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.update.records import UpdateNews, UpdateOutcome, UpdateRecords, sentence_of
from tests.fakes.clock import SteppedClock

KEPT = UpdateOutcome("0.2.0", "0.1.0", is_kept=True, at_s=1.0)
RETURNED = UpdateOutcome(
    "0.3.0", "0.2.0", is_kept=False, at_s=2.0, reason="barnacle.service failed"
)


class Over(Exception):
    """Looked often enough."""


class ShortClock(SteppedClock):
    """Ends whoever sleeps for the third time."""

    async def sleep(self, duration_s: float) -> None:
        await super().sleep(duration_s)
        if len(self.slept_s) == 3:
            raise Over


class Owner:
    """Hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def tell(self, text: str) -> None:
        self.heard.append(text)


@pytest.fixture
def owner() -> Owner:
    return Owner()


async def some_looks(records: UpdateRecords, told: Path, owner: Owner) -> None:
    with pytest.raises(Over):
        await UpdateNews(records, told, ShortClock()).run(owner.tell)


async def test_each_outcome_is_told_once_also_after_a_restart(tmp_path: Path, owner: Owner) -> None:
    records = UpdateRecords(tmp_path / "update")
    await some_looks(records, tmp_path / "told", owner)
    assert owner.heard == []
    for outcome in (KEPT, RETURNED):
        records.write(outcome)
        for _ in range(2):
            await some_looks(records, tmp_path / "told", owner)
    assert owner.heard == [sentence_of(KEPT), sentence_of(RETURNED)]


async def test_without_room_it_is_told_once_in_this_life(
    tmp_path: Path, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_path: Path, _content: bytes) -> None:
        raise StorageFull("no room")

    records = UpdateRecords(tmp_path / "update")
    records.write(KEPT)
    monkeypatch.setattr("agent.update.records.write_atomic", full)
    await some_looks(records, tmp_path / "told", owner)
    assert owner.heard == [sentence_of(KEPT)]


def test_what_is_said_names_both_versions_and_why() -> None:
    assert "I now run version 0.2.0" in sentence_of(KEPT)
    assert (
        sentence_of(RETURNED)
        == "Version 0.3.0 is not kept: barnacle.service failed. I run 0.2.0 again."
    )
