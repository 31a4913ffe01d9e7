from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.channels.whatsapp import hidden_numbers
from agent.channels.whatsapp.hidden_numbers import HiddenNumbers
from agent.errors import MessageRefused
from agent.messages import NOT_KEPT, Outbound
from tests.contracts.listener import answer, listening
from tests.fakes.whatsapp_platform import WhatsAppPlatform, running
from tests.fakes.whatsapp_server import ANNA, NUMBER_ID
from tests.waits import wait_until


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[WhatsAppPlatform]:
    async with running(tmp_path) as made:
        yield made


def hidden(platform: WhatsAppPlatform, text: str) -> dict[str, Any]:
    """As it comes from somebody who has taken a user name."""
    message = platform.server.message("text", text={"body": text})
    del message["from"]
    return message


async def test_who_hides_the_number_by_now_is_still_who_they_were(
    platform: WhatsAppPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("lamp on")
        await listener.first()
    async with listening(platform.restarted()) as listener:
        await platform.server.tell(hidden(platform, "/estop"))
        [heard] = await listener.first()
        assert (heard.text, heard.sender, heard.reply_target) == ("/estop", ANNA, ANNA)
        await platform.channel.send(answer(heard, "All is still."))
        assert platform.shown(heard) == ["All is still."]


async def test_who_never_showed_one_is_known_by_the_id(platform: WhatsAppPlatform) -> None:
    async with listening(platform.channel) as listener:
        message = hidden(platform, "hello")
        await platform.server.tell(message)
        [heard] = await listener.first()
        assert heard.sender == message["from_user_id"]


def changed(platform: WhatsAppPlatform, kind: str = "user_changed_number") -> dict[str, Any]:
    """As the platform says it: the old number is the sender's."""
    told = {"body": "User Anna changed from 1 to 2", "wa_id": "4915119999999", "type": kind}
    return platform.server.message("system", system=told)


@pytest.mark.parametrize("kind", ["user_changed_number", "customer_changed_number"])
async def test_a_number_that_its_person_has_left_is_nobodys(
    kind: str, platform: WhatsAppPlatform
) -> None:
    reminder = Outbound(7, "whatsapp", ANNA, "Take your medicine.", "")
    async with listening(platform.channel) as listener:
        await platform.write("lamp on")
        [heard] = await listener.first()
        await platform.server.tell(changed(platform, kind))
        assert platform.left == [("whatsapp", ANNA)]
        assert not platform.channel.attends(reminder)
    platform.knows = False
    async with listening(platform.restarted()) as listener:
        # Somebody else has it by now, and writes
        await platform.write("hello")
        [stranger] = await listener.first()
        for late in (reminder, answer(heard, "The lamp is on.", 8)):
            with pytest.raises(MessageRefused, match="another number"):
                await platform.channel.send(late)
        await platform.channel.send(answer(stranger, "I do not know you.", NOT_KEPT))
        # Whoever was let in by it has it
        platform.knows = True
        await platform.write("me again")
        await platform.channel.send(reminder)
        assert platform.shown(heard) == ["I do not know you.", "Take your medicine."]


@pytest.mark.parametrize(
    "told",
    [
        {"type": "user_changed_user_id", "user_id": "DE.2"},
        {"type": "user_changed_number", "wa_id": ANNA},
        {},
    ],
)
async def test_other_notices_of_the_platform_change_nobody(
    told: dict[str, str], platform: WhatsAppPlatform
) -> None:
    async with listening(platform.channel) as listener:
        await platform.server.tell(platform.server.message("system", system=told))
        await platform.server.tell(changed(platform) | {"type": "text", "text": {"body": "hello"}})
        await listener.first()
    assert platform.left == []


async def test_a_change_that_finds_no_room_is_told_again(platform: WhatsAppPlatform) -> None:
    platform.has_no_room = True
    async with listening(platform.channel):
        await platform.server.tell(changed(platform))
        await wait_until(lambda: platform.left)
        platform.has_no_room = False
        await wait_until(lambda: len(platform.left) > 1)


async def test_of_strangers_nothing_is_kept(platform: WhatsAppPlatform, tmp_path: Path) -> None:
    platform.knows = False
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        await listener.first()
    assert not (tmp_path / "whatsapp" / "numbers.json").exists()


async def test_a_number_is_its_latest_holders(tmp_path: Path) -> None:
    numbers = HiddenNumbers(tmp_path / "numbers.json", NUMBER_ID)
    await numbers.note("DE.1", ANNA)
    await numbers.note("DE.2", ANNA)
    again = HiddenNumbers(tmp_path / "numbers.json", NUMBER_ID)
    assert (await again.find("DE.1"), await again.find("DE.2")) == ("", ANNA)


async def test_ids_of_another_business_are_nobodys(tmp_path: Path) -> None:
    await HiddenNumbers(tmp_path / "numbers.json", NUMBER_ID).note("DE.1", ANNA)
    assert not await HiddenNumbers(tmp_path / "numbers.json", "1").find("DE.1")


async def test_not_everybody_is_kept_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden_numbers, "MAX_PEOPLE", 2)
    numbers = HiddenNumbers(tmp_path / "numbers.json", NUMBER_ID)
    for number in range(3):
        await numbers.note(f"DE.{number}", f"{number}")
    assert [await numbers.find(f"DE.{number}") for number in range(3)] == ["", "1", "2"]
