from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.channels.base import Question
from agent.channels.push_ledger import MAX_MESSAGES
from agent.channels.whatsapp.events import verify_token
from agent.messages import Whose
from tests.contracts.listener import listening
from tests.fakes.whatsapp_platform import WhatsAppPlatform, running
from tests.fakes.whatsapp_server import APP_SECRET, body_of

QUESTION = Question("board_gpio_write", '{"pin":"led"}', "it moves something", always="the led")
VERIFY = verify_token(APP_SECRET)


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[WhatsAppPlatform]:
    async with running(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "about", "quoted"),
    [
        (
            "location",
            {"latitude": 52.52, "longitude": 13.405, "name": "Lab", "address": "Street 1"},
            "[a place: 52.520000, 13.405000 (Lab, Street 1)]",
        ),
        (
            "contacts",
            [{"name": {"formatted_name": "Bob"}, "phones": [{"phone": "+1555"}]}],
            "[a contact: Bob, +1555]",
        ),
    ],
)
async def test_what_is_shown_of_others_is_quoted_and_no_word_of_the_senders(
    platform: WhatsAppPlatform, kind: str, about: object, quoted: str
) -> None:
    async with listening(platform.channel) as listener:
        await platform.server.tell(platform.server.message(kind, **{kind: about}))
        [heard] = await listener.first()
    assert heard.text == "[something that is shown, as it is quoted above]"
    assert (heard.quoted, heard.quoted_of) == (quoted, Whose.ANYBODYS)


async def test_no_crowd_of_strangers_keeps_a_known_person_from_stopping(
    platform: WhatsAppPlatform,
) -> None:
    server = platform.server
    async with listening(platform.channel) as listener:
        platform.knows = False
        crowd = [server.message("text", text={"body": "hi"}) for _ in range(MAX_MESSAGES)]
        await server.post(body_of({"messages": crowd}))
        another = server.message("text", text={"body": "one more"})
        late = body_of({"messages": [another]})
        refused = await server.ask("POST", "/whatsapp", late, server.signature(late))
        assert refused.status == 429
        platform.knows = True
        await server.say("/estop")
        assert server.answers == [200, 200]
        assert [one.text for one in listener.heard[MAX_MESSAGES:]] == ["/estop"]
