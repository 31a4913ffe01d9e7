"""The page of the channels, and the code that links an account of Signal, in each state."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.access.people import Person
from agent.access.roles import PersonRole
from agent.app.console.reception import ConsoleView
from agent.errors import BadArguments
from tests.console.test_qr_code import TEXT, modules_of
from tests.fakes.console_home import ConsoleHome, console_home

CHANNEL: dict[str, Any] = {"name": "signal", "state": "refused", "is_well": False, "gap": ""}
CHANNEL |= {"trouble": "no account yet", "heard_s": None, "last_s": 0.0, "waiting": 0, "lost": 0}
WELL = {**CHANNEL, "state": "listening", "is_well": True, "trouble": ""}
LINK: dict[str, Any] = {"is_offered": True, "step": "none", "number": 1, "uri": ""}
LINK |= {"account": "", "trouble": ""}
SHOWN = {**LINK, "step": "shown", "uri": TEXT, "number": 3}
PART = {"hx-request": "true"}


class PlayedSignal:
    """The agent's side, in one state."""

    def __init__(self, link: dict[str, Any], *channels: dict[str, Any]) -> None:
        self.told, self.channels = link, list(channels)
        self.begun = 0
        self.refuses = ""

    async def look(self, person: Person, arguments: Mapping[str, str]) -> Any:
        return self.channels

    async def read(self, person: Person, arguments: Mapping[str, str]) -> Any:
        return self.told

    async def begin(self, person: Person, arguments: Mapping[str, str]) -> Any:
        if self.refuses:
            raise BadArguments(self.refuses)
        self.begun += 1
        return {}

    def join(self, home: ConsoleHome) -> None:
        home.agent.views["channels"] = ConsoleView(PersonRole.OWNER, self.look)
        home.agent.views["signal_link"] = ConsoleView(PersonRole.OWNER, self.read)
        home.agent.acts["signal_link"] = ConsoleView(PersonRole.OWNER, self.begin)


@pytest.mark.parametrize(
    ("link", "channel", "sentence"),
    [
        (LINK, CHANNEL, "Have the account"),
        (LINK, WELL, "The agent has a Signal account"),
        ({**LINK, "step": "asking"}, CHANNEL, "Fetching a code"),
        (SHOWN, CHANNEL, "Settings, Linked devices, Link new device"),
        ({**LINK, "step": "linked", "account": "+49 <1>"}, CHANNEL, "Linked: +49 &lt;1&gt;"),
        ({**LINK, "step": "over"}, CHANNEL, "The code ran out"),
        ({**LINK, "step": "failed", "trouble": "it <fell>"}, CHANNEL, "it &lt;fell&gt;"),
    ],
)
async def test_each_state_has_its_sentence(
    tmp_path: Path, link: dict[str, Any], channel: dict[str, Any], sentence: str
) -> None:
    async with console_home(tmp_path) as home:
        PlayedSignal(link, channel).join(home)
        page = await home.get("/channels", await home.session())
        assert page.status == 200
        assert sentence in page.text
        is_open = link["step"] in {"asking", "shown"}
        # While a link is open the page looks again, by a script or by hand; else there is a button
        assert ('hx-trigger="every 2s" hx-target="#signal-link"' in page.text) == is_open
        assert ('<noscript><p><a class="button" href="/channels#signal">' in page.text) == is_open
        assert ('action="/channels/signal"' in page.text) != is_open
        assert ('class="qr"' in page.text) == (link["step"] == "shown")


async def test_the_code_is_the_one_that_the_agent_told_and_is_kept_nowhere(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played = PlayedSignal(SHOWN, CHANNEL)
        played.join(home)
        session = await home.session()
        whole = await home.get("/channels", session)
        part = await home.get("/channels?seen=2", session, **PART)
        for page in (whole, part):
            assert page.header("cache-control") == "no-store"
            assert modules_of(page.text)
            # As a picture alone: nothing to copy into a chat by mistake
            assert "sgnl" not in page.text
        assert "<html" not in part.text
        assert (await home.get("/channels?seen=3", session, **PART)).status == 204


async def test_nobody_but_the_owner_sees_or_begins_it(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played = PlayedSignal(SHOWN, CHANNEL)
        played.join(home)
        for role in ("user", "guest"):
            session = await home.session(role)
            for page in (
                await home.get("/channels", session),
                await home.get("/channels?seen=0", session, **PART),
                await home.post("/channels/signal", session),
                await home.post_form("/channels/signal", session),
            ):
                assert page.status == 403
                assert "qr" not in page.text
        for page in (
            await home.get("/channels", "a" * 43),
            await home.get("/channels?seen=0", "a" * 43, **PART),
            await home.post("/channels/signal", "a" * 43),
        ):
            assert page.status in {401, 404}
            assert "qr" not in page.text
        assert played.begun == 0


async def test_the_owner_begins_a_link_by_a_form_of_their_own_page(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played = PlayedSignal(LINK, CHANNEL)
        played.join(home)
        owner = await home.session()
        assert (await home.post("/channels/signal", owner, token="x")).status == 403
        assert (await home.get("/channels/signal", owner)).status == 405
        headers = {**home.headers(owner), "origin": "http://elsewhere.example"}
        headers["content-type"] = "application/x-www-form-urlencoded"
        assert (await home.ask("POST", "/channels/signal", headers, b"token=x")).status == 403
        assert played.begun == 0
        page = await home.post_form("/channels/signal", owner)
        assert (page.status, page.header("location")) == (303, "/channels#signal")
        assert played.begun == 1


async def test_without_signal_of_this_machine_nothing_is_offered(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        played = PlayedSignal({**LINK, "is_offered": False}, {**CHANNEL, "name": "telegram"})
        played.join(home)
        played.refuses = "no signal-cli of this machine is configured"
        session = await home.session()
        assert "signal" not in (await home.get("/channels", session)).text.lower()
        assert (await home.post_form("/channels/signal", session)).status == 403
