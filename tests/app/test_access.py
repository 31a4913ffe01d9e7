import asyncio
import logging
from pathlib import Path
from typing import cast

import msgspec
import pytest
from msgspec import structs

from agent.access.admission import Admitted, Rejected
from agent.access.owner import ReachedOwner
from agent.access.pairing_codes import Invitation
from agent.access.people import PairedGroup, PersonAccount
from agent.access.roles import PersonRole
from agent.app.access import AccessControl
from agent.backup.aftermath import RestoreNote, write_note
from agent.errors import StorageFull
from agent.messages import Inbound
from agent.messaging import outbox
from agent.messaging.delivery import Delivery
from agent.messaging.journal import open_agent_db
from agent.settings import Paths, Settings
from agent.system.activity import Activity
from agent.tools.send_message import Addressee
from tests.fakes.channel import FakeChannel, LocalChannel
from tests.fakes.clock import SteppedClock
from tests.fakes.household import said
from tests.fakes.sending import NeverTakes


@pytest.fixture
def doorway(tmp_path: Path) -> AccessControl:
    return AccessControl(Paths(None, tmp_path), SteppedClock())


def account(channel: str, sender: str) -> PersonAccount:
    return PersonAccount(channel=channel, sender=sender, target=f"chat of {sender}")


def test_until_somebody_is_paired_the_owner_is_written_to_at_the_machine(
    doorway: AccessControl,
) -> None:
    assert list(doorway.everyone()) == [Addressee("owner", "terminal", "local")]


def test_everybody_is_written_to_by_name_and_their_first_account_by_the_plain_one(
    doorway: AccessControl,
) -> None:
    doorway.people.let_in(PersonRole.OWNER, account("telegram", "1"))
    doorway.people.let_in(PersonRole.OWNER, account("signal", "u"))
    doorway.people.let_in(PersonRole.GUEST, account("telegram", "2"), "Anna")
    assert {(one.name, one.channel, one.target) for one in doorway.everyone()} == {
        ("owner", "telegram", "chat of 1"),
        ("owner (signal)", "signal", "chat of u"),
        ("Anna", "telegram", "chat of 2"),
    }


async def test_the_first_start_with_a_platform_says_how_to_become_the_owner(
    doorway: AccessControl, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    screen, platform = LocalChannel(), FakeChannel()
    await doorway.opened({"terminal": screen}, Activity()).greet_nobody()
    assert caplog.text == ""
    opened = doorway.opened({"terminal": screen, "telegram": platform}, Activity())
    await opened.greet_nobody()
    assert "access: no owner yet" in caplog.text
    code = caplog.text.split("`")[1]
    assert isinstance(await opened.admission.admit(said("hello", "7")), Rejected)
    await opened.admission.admit(said(code, "7"))
    came = await opened.admission.admit(said("hello", "7"))
    assert isinstance(came, Admitted)
    assert opened.admission.stands(came.message)
    caplog.clear()
    await opened.greet_nobody()
    assert caplog.text == ""


def test_what_a_stranger_sends_leaves_no_files(doorway: AccessControl) -> None:
    doorway.people.let_in(PersonRole.GUEST, account("telegram", "2"))
    assert doorway.knows(said("", "2"))
    assert not doorway.knows(said("", "3"))
    assert not doorway.knows(said("", "2", "signal"))


async def test_a_group_that_the_platform_moved_is_listened_to_in_its_new_place(
    doorway: AccessControl,
) -> None:
    doorway.people.listen_in(PairedGroup(channel="telegram", target="-5"), wanted=True)
    await doorway.follow_group("telegram", "-5", "-1005")
    await doorway.follow_group("telegram", "-6", "-1006")
    # What was made in the old one, a job for instance, still stands
    heard = [doorway.people.listens_in("telegram", one) for one in ("-5", "-1005", "-1006")]
    assert heard == [True, True, False]


async def test_a_group_that_moves_on_a_full_disk_holds_up_nobody(
    doorway: AccessControl, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_group: PairedGroup, **_wanted: bool) -> None:
        raise StorageFull("no room")

    doorway.people.listen_in(PairedGroup(channel="telegram", target="-5"), wanted=True)
    monkeypatch.setattr(doorway.people, "listen_in", full)
    await doorway.follow_group("telegram", "-5", "-1005")
    assert "`/pair group`" in caplog.text


async def test_who_leaves_an_account_has_no_access_by_it(doorway: AccessControl) -> None:
    told: list[str] = []

    class Owner:
        async def tell(self, text: str) -> None:
            told.append(text)

    doorway.owner = cast(ReachedOwner, Owner())
    doorway.people.let_in(PersonRole.OWNER, account("telegram", "1"))
    doorway.people.let_in(PersonRole.GUEST, account("whatsapp", "49"), "Anna")
    await doorway.account_left("whatsapp", "50")
    assert told == []
    await doorway.account_left("whatsapp", "49")
    assert doorway.people.find("whatsapp", "49") is None
    assert "Anna" in told[0]
    assert "/pair" in told[0]


async def test_the_owner_is_told_of_whoever_pairs(doorway: AccessControl, tmp_path: Path) -> None:
    doorway.people.let_in(PersonRole.OWNER, account("fake", "1"))
    channel = FakeChannel()
    journal = open_agent_db(tmp_path / "agent.db")
    delivery = Delivery(journal, {"fake": channel}, SteppedClock())
    opened = doorway.opened({"fake": channel}, Activity())
    code = doorway.codes.make(Invitation(role="guest"))

    async def take(_: Inbound) -> None:
        """Nothing begins by itself here."""

    async with asyncio.TaskGroup() as tasks:
        doorway.owner = opened.reached(delivery, take, tasks)
        await opened.admission.admit(said(f"/pair {code}", "2", "fake", sender_name="Anna"))
    await journal.aclose()
    assert "`Anna` has access now as guest, over fake" in channel.sent[0].text


@pytest.mark.parametrize("blocked", [("telegram",), ("telegram", "signal")])
async def test_what_the_owners_first_chat_refuses_is_told_in_the_next(
    doorway: AccessControl, tmp_path: Path, blocked: tuple[str, ...]
) -> None:
    """They have blocked the bot, or the account there is gone."""
    names = ("telegram", "signal")
    for name in names:
        doorway.people.let_in(PersonRole.OWNER, account(name, "1"))
    channels = {one: NeverTakes("Leak!") if one in blocked else FakeChannel() for one in names}
    journal = open_agent_db(tmp_path / "agent.db")
    delivery = Delivery(journal, channels, SteppedClock())

    async def take(_: Inbound) -> None:
        """Nothing begins by itself here."""

    async with asyncio.TaskGroup() as tasks:
        doorway.owner = doorway.opened(channels, Activity()).reached(delivery, take, tasks)
        await doorway.owner.tell("Leak!")
    assert [one.text for one in channels["signal"].sent] == ["Leak!"] * (2 - len(blocked))
    # Where all refuse it waits for somebody at the machine
    left = await journal.transact(outbox.undelivered)
    assert [one.text for one in left] == ["Leak!"] * (len(blocked) - 1)
    await journal.aclose()


async def test_who_comes_with_a_name_of_the_configuration_is_not_who_is_meant_there(
    doorway: AccessControl,
) -> None:
    named = msgspec.convert(
        {"workspace": {"shared": {"photos": "Anna"}}, "gateway": {"assistants": ["mcp"]}}, Settings
    ).given_names
    opened = doorway.opened({"fake": FakeChannel()}, Activity(), reserved=named)
    code = doorway.codes.make(Invitation(role="guest"))
    await opened.admission.admit(said(f"/pair {code}", "2", "fake", sender_name="ANNA"))
    assert [one.name for one in doorway.people.everyone()] == ["ANNA 2"]


async def test_after_a_restore_what_was_written_before_it_comes_no_further(
    doorway: AccessControl, tmp_path: Path
) -> None:
    doorway.people.let_in(PersonRole.OWNER, account("fake", "1"))
    note = RestoreNote(
        made_at_s=1.0, device="d", version="0", epoch=1, restored_at_s=1000.0, is_told=True
    )
    write_note(tmp_path, note)
    journal, channel = open_agent_db(tmp_path / "agent.db"), FakeChannel()
    opened = doorway.opened({"fake": channel}, Activity(), journal)
    old, strange = said("pump on", "1"), said("pump on", "9")
    for message in (old, strange):
        came = await opened.admit(structs.replace(message, channel="fake", sent_at_s=999.0))
        assert came == Rejected()
    assert isinstance(
        await opened.admit(structs.replace(old, channel="fake", sent_at_s=1001.0)), Admitted
    )
    delivery = Delivery(journal, {"fake": channel}, SteppedClock())
    async with asyncio.TaskGroup() as tasks:
        opened.reached(delivery, _nothing, tasks)
        running = tasks.create_task(opened.run())
        (text,) = await channel.wait_for(1)
        running.cancel()
    assert "This message was written before my restore" in text
    assert text.count("pump on") == 1
    await journal.aclose()


async def _nothing(_message: Inbound) -> None:
    """Take no message."""
