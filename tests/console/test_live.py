"""What an open page is told: answers as they grow, questions, pins that change, and the end."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from agent.access.people import BROWSERS
from agent.channels.base import Answer, Question
from agent.console.conversation import Draft
from agent.console.open_pages import MOST_OF_ONE
from tests.fakes.console_home import HOME, ConsoleHome, EventReader, console_home
from tests.waits import wait_until

ASKED = Question("shell", '{"command":"reboot"}', "it can do harm", always="reboot")


async def said(home: ConsoleHome, session: str, text: str = "hello") -> None:
    assert (await home.post("/say", session, text=text)).status == 204


async def asked(events: EventReader) -> str:
    """Return the number of the question that the page shows."""
    text = await events.until("questions", "reboot")
    return text.partition('name="question" value="')[2].partition('"')[0]


async def test_an_answer_grows_on_the_page_and_stays(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("chat", session) as events:
            await events.until("home")
            await said(home, session)
            await events.until("talk", "hello")
            await home.agent.channel.draft(home.agent.heard[-1], "It is **warm")
            await events.until("draft", "It is")
            await home.agent.answer("It is **warm**.")
            await events.until("talk", "<b>warm</b>")


async def test_an_answer_that_came_while_its_page_was_on_the_way_is_shown(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("home", session) as events:
            await events.until("home")
            await said(home, session)
            page = (await home.get("/chat", session)).text
            made = page.partition("/live?page=")[2].partition('"')[0].replace("&amp;", "&")
            await home.agent.answer("It is warm.")
            async with home.live(made, session) as chat:
                await chat.until("talk", "warm")


async def test_drafts_that_nobody_could_read_hold_up_no_answer(tmp_path: Path) -> None:
    """A fast model writes more often than a page is drawn."""
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("chat", session) as events:
            await events.until("home")
            await said(home, session)
            await events.until("talk", "hello")
            conversation = home.application._conversations.of(session)
            for count in range(1, 61):
                conversation._tell(Draft("1", "word " * count))
            await home.agent.answer("It is warm.")
            drawn = await events.count("draft", before="talk", part="warm")
            # The newest, and that it is over
            assert drawn <= 2


async def test_a_question_is_answered_on_any_page_of_the_browser(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("chat", session) as chat, home.live("board", session) as board:
            await chat.until("home")
            await said(home, session)
            address = home.agent.heard[-1].address
            asking = asyncio.ensure_future(home.agent.channel.ask(address, ASKED))
            number = await asked(chat)
            assert await asked(board) == number
            await home.post("/answer", session, question=number, answer="yes")
            assert await asking is Answer.YES
            await chat.until("questions", " ")
            # Once only
            asking = asyncio.ensure_future(home.agent.channel.ask(address, ASKED))
            later = await asked(board)
            await home.post("/answer", session, question=number, answer="yes")
            assert not asking.done()
            await home.post("/answer", session, question=later, answer="no")
            assert await asking is Answer.NO


async def test_a_word_that_is_no_answer_is_none(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("chat", session) as chat:
            await chat.until("home")
            await said(home, session)
            address = home.agent.heard[-1].address
            asking = asyncio.ensure_future(home.agent.channel.ask(address, ASKED))
            await home.post("/answer", session, question=await asked(chat), answer="perhaps")
            assert await asking is Answer.NONE


async def test_nobody_else_answers_a_question(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session, other = await home.session(), await home.session("user")
        async with home.live("chat", session) as chat, home.live("chat", other) as theirs:
            await chat.until("home")
            await theirs.until("home")
            await said(home, session)
            address = home.agent.heard[-1].address
            asking = asyncio.ensure_future(home.agent.channel.ask(address, ASKED))
            number = await asked(chat)
            await home.post("/answer", other, question=number, answer="yes")
            assert not asking.done()
            assert "reboot" not in theirs.shown.get("questions", "")
            await home.post("/answer", session, question=number, answer="no")
            assert await asking is Answer.NO


async def test_a_pin_that_changes_is_shown_and_one_that_does_not_is_not_told(
    tmp_path: Path,
) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("board", session) as events:
            await events.until("pin-0-led", "off")
            home.agent.pin = {**home.agent.pin, "value": "on", "held": True}
            await events.until("pin-0-led", "held by the agent")
            home.agent.pin = {**home.agent.pin, "name": "pump"}
            await events.until("anew")


async def test_a_board_that_changes_before_the_page_is_open_is_shown_anew(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        page = (await home.get("/board", session)).text
        made = page.partition("/live?page=")[2].partition('"')[0].replace("&amp;", "&")
        home.agent.pin = {**home.agent.pin, "name": "pump"}
        async with home.live(made, session) as events:
            await events.until("anew")


async def test_an_emergency_stop_is_on_every_page(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("board", session) as events:
            await events.until("pin-0-led")
            home.agent.home = {**HOME, "stopped": "by Ann on telegram"}
            text = await events.until("state", "by Ann")
            assert "/release" in text


async def test_a_revoked_browser_sees_nothing_more(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session("user")
        async with home.live("board", session) as events:
            await events.until("pin-0-led")
            await said(home, session)
            account = home.agent.heard[-1].sender
            home.agent.people.forget_account(BROWSERS, account)
            await events.until("out")
        assert (await home.post("/say", session, text="turn it on")).status == 401
        assert len(home.agent.heard) == 1


async def test_a_page_goes_on_when_the_agent_is_back(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("chat", session) as events:
            await events.until("home")
            there, home.client._path = home.client._path, tmp_path / "nothing.sock"
            home.client.close()
            await events.until("link", "does not answer")
            home.client._path = there
            await events.until("link", " ")


async def test_a_page_that_lost_its_stream_is_told_what_was_said_meanwhile(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("chat", session) as events:
            await events.until("home")
            await said(home, session)
            await events.until("talk", "hello")
        async with home.live("board", session) as other:
            await other.until("pin-0-led")
            await home.agent.answer("It is warm.")
            await other.until("talk", "warm")
        async with home.live("chat&again=yes", session) as events:
            await events.until("talk", "warm")


async def test_a_browser_keeps_connections_for_what_is_pressed(tmp_path: Path) -> None:
    """It has six to one host: with six pages open STOP would not leave it."""
    async with console_home(tmp_path) as home, contextlib.AsyncExitStack() as stack:
        session, other = await home.session(), await home.session("user")
        theirs = await stack.enter_async_context(home.live("chat", other))
        await theirs.until("home")
        streams = []
        for _ in range(MOST_OF_ONE + 2):
            streams.append(await stack.enter_async_context(home.live("chat", session)))
            await streams[-1].until("home")
        for oldest in streams[:2]:
            await oldest.until("rest")
        await wait_until(lambda: home.application.streams == MOST_OF_ONE + 1)
        await said(home, session)
        for newer in streams[2:]:
            await newer.until("talk", "hello")


async def test_a_page_asks_whether_it_may_have_another_stream(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        script = {"hx-request": "true"}
        assert (await home.get("/live?page=chat", session, **script)).status == 204
        assert (await home.get("/live?page=chat", "", **script)).status == 401
        assert home.application.streams == 0
        home.client._path = tmp_path / "nothing.sock"
        home.client.close()
        assert (await home.get("/live?page=chat", session, **script)).status == 503


async def test_a_page_hears_that_its_stream_lives_while_nothing_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.console.live.ALIVE_S", 0.05)
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("chat", session) as events:
            await events.until("alive")


async def test_a_page_hears_that_its_stream_lives_among_what_it_does_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.console.live.ALIVE_S", 0.5)
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("board", session) as events:
            for number in range(40):
                value = "off" if number % 2 else "on"
                home.agent.pin = {**home.agent.pin, "value": value}
                await events.until("pin-0-led", f"value {value}")
            assert "alive" in events.shown


async def test_a_conversation_is_left_some_time_after_its_last_page(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("chat", session) as events:
            await events.until("home")
        conversation = home.application._conversations.of(session)
        await wait_until(lambda: conversation._leaving is not None)
        conversation._leave()
        await wait_until(lambda: not home.agent.channel._sessions)
        assert len(home.application._conversations) == 0


async def test_an_answer_to_a_closed_question_is_said_not_to_count(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        async with home.live("chat", session) as chat:
            await chat.until("home")
            await said(home, session)
            address = home.agent.heard[-1].address
            asking = asyncio.ensure_future(home.agent.channel.ask(address, ASKED))
            number = await asked(chat)
            asking.cancel()
            await chat.until("questions")
            late = await home.post("/answer", session, question=number, answer="yes")
            assert (late.status, "did not count" in late.text) == (409, True)
            late = await home.post_form("/answer", session, question=number, answer="yes")
            assert (late.status, "did not count" in late.text) == (409, True)


async def test_a_sensor_on_the_first_page_is_as_it_is_now(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        assert 'data-part="reading-tank"' in (await home.get("/", session)).text
        (tank,) = HOME["readings"]
        async with home.live("home", session) as page:
            assert "21.5" in await page.until("reading-tank")
            home.agent.home["readings"] = [{**tank, "value": 35.0}]
            await page.until("reading-tank", "35 °C")
            # Nothing has come of it for long
            home.agent.home["readings"] = []
            await page.until("reading-tank", "–")
