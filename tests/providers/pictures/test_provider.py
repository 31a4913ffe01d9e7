import base64
import json
from pathlib import Path

import pytest

from agent.app.providers import with_pictures
from agent.config import Secret
from agent.embeddings.none import NoEmbedder
from agent.messages import ChatMessage, Image, Role, ToolCall
from agent.net.http import HttpClient
from agent.providers.base import Capabilities, ChatRequest
from agent.providers.create import chain
from agent.providers.offline.provider import OfflineProvider
from agent.providers.pictures.provider import SHOWN_TURNS, PicturesProvider
from agent.providers.section import MainProviderSettings
from agent.settings import Paths, Settings
from tests.canaries import secret
from tests.fakes.clock import SteppedClock
from tests.fakes.llm_server import running, streamed
from tests.fakes.provider import ScriptedProvider
from tests.fakes.said import assistant_said, system_said, tool_said, user_said
from tests.providers.pictures.test_kinds import PNG


class SeeingProvider(ScriptedProvider):
    """Sees pictures, or does not."""

    def __init__(self, *, sees: bool = True) -> None:
        super().__init__(*["I see."] * 9)
        self._sees = sees

    def capabilities(self, model: str | None = None) -> Capabilities:
        return Capabilities(vision=self._sees)


class NamedPictures:
    """Has a picture of every name but those that begin with `no`; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def load(self, reference: str) -> Image | str:
        self.asked.append(reference)
        return "there is none" if reference.startswith("no") else Image("image/png", reference)


async def shown(
    *messages: ChatMessage, limit: int = 4, sees: bool = True, remote: bool = False
) -> tuple[ChatMessage, ...]:
    """What the model gets of these messages."""
    inner = SeeingProvider(sees=sees)
    pictures = NamedPictures()
    provider = PicturesProvider(inner, pictures, pictures if remote else None, limit)
    await provider.chat(ChatRequest(messages))
    return inner.requests[0].messages


def names(message: ChatMessage) -> list[str]:
    return [image.data_base64 for image in message.images]


async def test_a_marker_becomes_a_picture() -> None:
    (message,) = await shown(user_said("what is [IMAGE:a/lamp.png] and [image: b.png ]?"))
    assert message.text == "what is [picture: lamp.png] and [picture: b.png]?"
    assert names(message) == ["a/lamp.png", "b.png"]


async def test_a_conversation_without_markers_is_sent_as_it_is() -> None:
    said = (user_said("what [is] an [IMAGE:] or [IMAGE: \n]?"),)
    assert await shown(*said) == said


async def test_only_what_a_person_says_is_followed() -> None:
    call = ToolCall("c", "file_read", "{}")
    said = (
        system_said("You remember [IMAGE:secret.png]"),
        user_said("hi"),
        assistant_said("look: [IMAGE:secret.png]", (call,)),
        tool_said(call, "[IMAGE:secret.png]"),
        user_said("[IMAGE:mine.png]"),
    )
    got = await shown(*said)
    assert got[:-1] == said[:-1]
    assert names(got[-1]) == ["mine.png"]


async def test_the_newest_are_shown_where_there_are_many() -> None:
    first, last = await shown(
        user_said("[IMAGE:1.png][IMAGE:2.png]"),
        user_said("[IMAGE:3.png][IMAGE:4.png]"),
        limit=3,
    )
    assert (names(first), names(last)) == (["2.png"], ["3.png", "4.png"])
    assert first.text == "[picture 1.png, not shown: only the newest 3 are][picture: 2.png]"


async def test_those_of_earlier_turns_are_only_named() -> None:
    said = [user_said(f"[IMAGE:{n}.png]") for n in range(SHOWN_TURNS + 1)]
    earlier, *new = await shown(*said, limit=16)
    assert (earlier.text, names(earlier)) == ("[picture 0.png, not shown: shown earlier]", [])
    assert [names(message) for message in new] == [["1.png"], ["2.png"], ["3.png"]]


async def test_the_same_picture_is_sent_once() -> None:
    first, last = await shown(user_said("[IMAGE:a.png]"), user_said("[IMAGE:a.png]"))
    assert (names(first), names(last)) == ([], ["a.png"])


async def test_what_cannot_be_shown_is_told_and_takes_no_place() -> None:
    (message,) = await shown(user_said("[IMAGE:a.png][IMAGE:no.png]"), limit=1)
    assert message.text == "[picture: a.png][picture no.png, not shown: there is none]"


async def test_a_model_that_sees_nothing_is_told_so_and_nothing_is_read() -> None:
    (message,) = await shown(user_said("[IMAGE:a.png]"), sees=False)
    assert message == user_said("[picture a.png, not shown: this model cannot see pictures]")


@pytest.mark.parametrize("url", ["https://e.org/a.png", "http://e.org/a.png", "file:///a.png"])
async def test_nothing_is_fetched_unless_that_is_allowed(url: str) -> None:
    (message,) = await shown(user_said(f"[IMAGE:{url}]"))
    assert message.images == ()
    assert "provider.fetch_images is off" in message.text
    (message,) = await shown(user_said(f"[IMAGE:{url}]"), remote=True)
    assert names(message) == [url]


async def test_an_address_is_told_without_what_it_carries() -> None:
    (message,) = await shown(user_said("[IMAGE:https://e.org/a.png?key=secret]"))
    assert "secret" not in message.text


async def test_a_stream_has_the_pictures_too() -> None:
    inner = SeeingProvider()
    provider = PicturesProvider(inner, NamedPictures(), None, 4)
    items = [item async for item in provider.stream(ChatRequest((user_said("[IMAGE:a]"),)))]
    assert len(items) == 2
    assert inner.requests[0].messages[0].role is Role.USER
    assert names(inner.requests[0].messages[0]) == ["a"]


async def test_a_picture_of_the_workspace_travels_to_the_service(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "lamp.png").write_bytes(PNG)
    http = HttpClient()
    async with running(streamed("a lamp")) as server:
        wanted = MainProviderSettings(
            base_url=server.base_url, api_key=Secret(secret("provider")), model="m", vision="yes"
        )
        settings = Settings(provider=wanted)
        answers = chain(wanted, {}, {}, http, SteppedClock())
        seen = with_pictures(answers, settings, Paths(None, tmp_path), http)
        await seen.chat(ChatRequest((user_said("[IMAGE:lamp.png]"),)))
    await http.aclose()
    (request,) = server.requests
    assert base64.b64encode(PNG).decode() in json.dumps(request.body)


async def test_without_a_service_markers_stay_as_they_are(tmp_path: Path) -> None:
    offline = OfflineProvider(NoEmbedder())
    assert with_pictures(offline, Settings(), Paths(None, tmp_path), HttpClient()) is offline
