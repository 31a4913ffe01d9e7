"""The page of updates and backups in each of its states."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.access.people import Person
from agent.access.roles import PersonRole
from agent.app.console.reception import ConsoleView
from tests.fakes.console_home import console_home

LAST: dict[str, Any] = {
    "made_at_s": 1e9,
    "where": "/media/usb/rosa.barnacle-backup",
    "size_bytes": 5_000_000,
    "tried_at_s": 1e9,
    "trouble": "",
    "verified_at_s": 0.0,
    "verify_trouble": "",
}
BACKUP: dict[str, Any] = {"is_wanted": True, "is_making": False, "at": "03:30", "last": LAST}
BACKUP["files"] = [{"name": "rosa.barnacle-backup", "size_bytes": 5_000_000, "at_s": 1e9}]
UPDATE: dict[str, Any] = {"version": "0.2.0", "slot": "A", "trial": None, "held": None}
UPDATE |= {"outcome": None, "sentence": ""}
TRIAL = {"slot": "B", "version": "0.3.0", "from_version": "0.2.0", "phase": "written"}


class PlayedUpkeep:
    """The agent's side, in one state."""

    def __init__(self, update: Any, backup: Any) -> None:
        self.told = {"version": "0.2.0", "update": update, "backup": backup}
        self.begun = 0

    async def read(self, person: Person, arguments: Mapping[str, str]) -> Any:
        return self.told

    async def back_up(self, person: Person, arguments: Mapping[str, str]) -> Any:
        self.begun += 1
        return {"is_making": True}


@pytest.mark.parametrize(
    ("update", "backup", "sentence"),
    [
        (None, BACKUP, "does not run a Barnacle card"),
        (UPDATE, BACKUP, "No other version"),
        ({**UPDATE, "trial": TRIAL}, BACKUP, "0.3.0 is verified and waits"),
        ({**UPDATE, "trial": {**TRIAL, "slot": "A"}}, BACKUP, "on trial"),
        ({**UPDATE, "held": {"slot": "B", "version": "0.1.0"}}, BACKUP, "update rollback"),
        (
            {**UPDATE, "outcome": {**TRIAL, "is_kept": False, "at_s": 1e9, "reason": "it <fell>"}},
            BACKUP,
            "not kept: it &lt;fell&gt;",
        ),
        (None, {**BACKUP, "is_wanted": False, "last": None, "files": []}, "No backup is made"),
        (None, {**BACKUP, "last": None, "files": []}, "No backup was made yet"),
        (None, {**BACKUP, "last": {**LAST, "trouble": "the disk is full"}}, "the disk is full"),
        (None, {**BACKUP, "is_making": True}, "A backup is being made"),
        (None, BACKUP, "not yet"),
        (None, {**BACKUP, "last": {**LAST, "verify_trouble": "1 of 9 parts"}}, "1 of 9 parts"),
    ],
)
async def test_each_state_has_its_sentence(
    tmp_path: Path, update: Any, backup: Any, sentence: str
) -> None:
    async with console_home(tmp_path) as home:
        played = PlayedUpkeep(update, backup)
        home.agent.views["upkeep"] = ConsoleView(PersonRole.OWNER, played.read)
        session = await home.session()
        page = await home.get("/upkeep", session)
        assert page.status == 200
        assert sentence in page.text


async def test_a_backup_is_begun_by_the_owner_and_followed(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played = PlayedUpkeep(None, {**BACKUP, "is_making": True})
        home.agent.views["upkeep"] = ConsoleView(PersonRole.OWNER, played.read)
        home.agent.acts["upkeep_backup"] = ConsoleView(PersonRole.OWNER, played.back_up)
        owner, user = await home.session(), await home.session("user")
        assert (await home.get("/upkeep", user)).status == 403
        assert (await home.post("/upkeep/backup", user)).status == 403
        assert (await home.post("/upkeep/backup", owner, token="x")).status == 403
        assert played.begun == 0
        page = await home.post("/upkeep/backup", owner)
        assert (page.status, page.header("location"), played.begun) == (303, "/upkeep", 1)
        part = await home.get("/upkeep", owner, **{"hx-request": "true"})
        assert part.text.startswith('<div id="backup" hx-get="/upkeep" hx-trigger="every 2s"')
        assert "<html" not in part.text
