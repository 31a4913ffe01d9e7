"""The contract of channels, as far as there is anything of it at a program that pushes.

There is no call by name in a group, no file and no poll whose age could tell that nothing is heard.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.contracts import channel
from tests.contracts.listener import answer, listening
from tests.fakes.webhook_platform import WebhookPlatform, running

ABSENT = {
    channel.a_group_hears_only_who_calls,
    channel.a_file_is_kept_before_its_message_is_heard,
    channel.the_pulse_tells_when_the_platform_was_heard,
}
CHECKS = [check for check in channel.CHECKS if check not in ABSENT]


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[WebhookPlatform]:
    async with running(tmp_path) as made:
        yield made


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_webhook(
    check: Callable[[WebhookPlatform], Awaitable[None]], platform: WebhookPlatform
) -> None:
    await check(platform)


async def test_a_message_in_a_group_says_so(platform: WebhookPlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("dinner?", is_group=True)
        [heard] = await listener.first()
        assert (heard.is_group, heard.reply_target, heard.sender) == (True, "kitchen", "alice")
        await platform.channel.send(answer(heard, "Soup."))
        assert platform.shown(heard) == ["Soup."]
