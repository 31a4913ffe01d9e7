"""Visitors at the real server: strangers at the door, people at their pages."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from agent.access.pairing_codes import FREE_TRIES, Invitation
from agent.access.people import Person
from agent.access.roles import PersonRole
from agent.app.console.reception import ConsoleView
from agent.console.guards import DOOR_COOKIE, SESSION_COOKIE, secured
from agent.console.request import form_token
from tests.fakes.console_home import FORM, ConsoleHome, Page, console_home
from tests.fakes.household import said
from tests.waits import wait_until

DOOR = "d" * 43


async def entered(home: ConsoleHome, code: str, door: str = DOOR, origin: str = "") -> Page:
    headers = {**home.headers(), "cookie": f"{DOOR_COOKIE}={door}", "content-type": FORM}
    headers |= {"origin": origin} if origin else {}
    form = urlencode({"token": form_token(door), "code": code}).encode()
    return await home.ask("POST", "/door/enter", headers, form)


async def test_a_stranger_sees_the_name_and_the_door(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        page = await home.get("/")
        assert page.status == 401
        assert "Greenhouse" in page.text
        assert "simulated" not in page.text
        assert "offline" not in page.text
        lines = [value for name, value in page.headers if name == "set-cookie"]
        assert len(lines) == 1
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(lines[0].split("; "))
        for name in ("content-security-policy", "x-frame-options", "referrer-policy"):
            assert page.header(name)
        assert "unsafe" not in page.header("content-security-policy")


async def test_a_code_opens_and_the_cookie_is_a_new_one(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        code = home.agent.codes.make(Invitation(role="owner"))
        page = await entered(home, f"/pair {code}")
        assert page.status == 303
        session = page.cookies()[SESSION_COOKIE]
        assert session != DOOR
        assert page.cookies()[DOOR_COOKIE] == ""
        given = next(value for name, value in page.headers if "session" in value)
        assert "Max-Age=2592000" in given
        assert (await home.get("/", session)).status == 200
        # What was planted before is nobody's
        assert (await home.get("/", DOOR)).status == 401


async def test_who_came_by_tls_once_is_let_in_without_it_as_well(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        first = home.agent.codes.make(Invitation(role="owner"))
        host = f"127.0.0.1:{home.port}"
        by_tls = await entered(home, first, origin=f"https://{host}")
        secure = secured(SESSION_COOKIE)
        given = next(value for name, value in by_tls.headers if f"{secure}=" in value)
        assert {"Secure", "Path=/"} <= set(given.split("; "))
        assert by_tls.cookies()[SESSION_COOKIE] == ""
        old = {"cookie": f"{secure}={by_tls.cookies()[secure]}"}
        assert (await home.ask("GET", "/people", {**home.headers(), **old})).status == 200
        # A browser takes no cookie of that name without TLS
        plain = await entered(home, home.agent.codes.make(Invitation(role="owner")))
        assert plain.cookies()[SESSION_COOKIE]
        assert plain.cookies()[secure] == ""
        assert (await home.get("/people", plain.cookies()[SESSION_COOKIE])).status == 200


async def test_a_wrong_code_is_told_in_words_and_then_waited_for(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        assert "wrong" in (await entered(home, "AAAAA-AAAAA")).text
        for _ in range(FREE_TRIES):
            page = await entered(home, "AAAAA-AAAAA")
        assert "Try again in" in page.text
        assert (await entered(home, home.agent.codes.make(Invitation(role="user")))).status == 401


async def test_the_owner_opens_from_a_chat(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        page = await home.get("/")
        door = page.cookies()[DOOR_COOKIE]
        sentence = re.search(r"<code>(let this browser in: \w{5})</code>", page.text)
        assert sentence is not None
        asks = {**home.headers(), "cookie": f"{DOOR_COOKIE}={door}", "hx-request": "true"}
        assert not (await home.ask("GET", "/door", asks)).cookies()
        await home.agent.door.admit(said(sentence[1], "1"))
        page = await home.ask("GET", "/door", asks)
        assert page.header("hx-redirect") == "/"
        assert (await home.get("/people", page.cookies()[SESSION_COOKIE])).status == 200
        assert SESSION_COOKIE not in (await home.ask("GET", "/door", asks)).cookies()


async def test_somebody_at_the_device_opens_with_the_boards_button(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        page = await home.get("/")
        assert 'action="/door/press"' in page.text
        door = page.cookies()[DOOR_COOKIE]
        cookie = {**home.headers(), "cookie": f"{DOOR_COOKIE}={door}"}
        # Another site cannot have it asked for
        forged = urlencode({"token": form_token("x")}).encode()
        asks = {**cookie, "content-type": FORM}
        assert (await home.ask("POST", "/door/press", asks, forged)).status == 403
        form = urlencode({"token": form_token(door)}).encode()
        page = await home.ask("POST", "/door/press", asks, form)
        assert (page.status, "three seconds" in page.text) == (401, True)
        assert not (await home.ask("GET", "/door", cookie)).cookies()
        await home.agent.button.hold()
        page = await home.ask("GET", "/door", cookie)
        assert (await home.get("/people", page.cookies()[SESSION_COOKIE])).status == 200


async def test_without_a_button_the_door_offers_none(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        home.agent.button.trouble = "the board is not connected"
        page = await home.get("/")
        assert "/door/press" not in page.text
        door = page.cookies()[DOOR_COOKIE]
        asks = {**home.headers(), "cookie": f"{DOOR_COOKIE}={door}", "content-type": FORM}
        form = urlencode({"token": form_token(door)}).encode()
        assert "not connected" in (await home.ask("POST", "/door/press", asks, form)).text


async def test_everybody_sees_what_their_role_may_see(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        statuses = {}
        for role in ("owner", "user", "guest"):
            session = await home.session(role)
            paths = ("/", "/chat", "/board", "/people", "/nothing")
            statuses[role] = [(await home.get(path, session)).status for path in paths]
        assert statuses["owner"] == [200, 200, 200, 200, 404]
        assert statuses["user"] == [200, 200, 200, 403, 404]
        assert statuses["guest"] == [200, 200, 403, 403, 404]


async def test_what_is_said_is_the_visitors_word(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session("user")
        assert (await home.post("/say", session, text="turn the led on")).status == 204
        [heard] = home.agent.heard
        person = home.agent.sessions.person(session)
        assert person is not None
        assert (heard.text, heard.person) == ("turn the led on", person.person_id)
        assert heard.provenance is person.rank.trust
        assert heard.channel == "console"


async def test_a_switch_and_the_stop_are_sentences(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        board = (await home.get("/board", session)).text
        assert 'value="turn led on"' in board
        assert "1 min" in board
        await home.post("/say", session, text="turn led on")
        await home.post("/stop", session)
        await home.post("/release", session)
        assert [one.text for one in home.agent.heard] == ["turn led on", "/estop", "/estop clear"]


async def test_a_refusal_reaches_the_visitor(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        home.agent.refuses = "there is no room"
        page = await home.post("/say", session, text="hello")
        assert (page.status, page.text) == (409, "there is no room")


async def test_whoever_signs_out_is_a_stranger(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        page = await home.post("/leave", session)
        assert page.cookies()[SESSION_COOKIE] == ""
        assert (await home.get("/", session)).status == 401
        assert home.agent.sessions.person(session) is None


async def test_a_page_without_scripts_goes_back_to_itself(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        form = {"token": form_token(session), "text": "hi", "page": "chat"}
        headers = {**home.headers(session), "content-type": FORM}
        page = await home.ask("POST", "/say", headers, urlencode(form).encode())
        assert (page.status, page.header("location")) == (303, "/chat")
        # A place is one of ours
        form["page"] = "/evil.example"
        page = await home.ask("POST", "/say", headers, urlencode(form).encode())
        assert page.header("location") == "/"


async def test_an_agent_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        home.client._path = tmp_path / "nothing.sock"
        home.client.close()
        page = await home.get("/", session)
        assert page.status == 503
        assert "does not answer" in page.text


async def test_the_language_is_the_browsers(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        page = await home.get("/", session, **{"accept-language": "de-DE,de;q=0.9"})
        assert "Alles in Ordnung" in page.text


async def test_nothing_is_held_for_cookies_that_are_nobodys(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        for number in range(5):
            stranger = f"{number:043d}"
            for path in ("/say", "/break", "/answer", "/stop"):
                fields = {"text": "hi", "question": "1", "answer": "yes"}
                await home.post(path, stranger, **fields)
            await home.get("/live", stranger)
        assert len(home.application._conversations) == 0
        assert home.agent.heard == []


async def test_nothing_is_held_for_them_while_the_agent_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.console.conversation.LINGER_S", 0.05)
    async with console_home(tmp_path) as home:
        home.client._path = tmp_path / "nothing.sock"
        home.client.close()
        for number in range(5):
            assert (await home.post("/say", f"{number:043d}", text="hi")).status == 503
        await wait_until(lambda: len(home.application._conversations) == 0)


async def test_nothing_is_left_when_a_browser_has_gone(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        for _ in range(5):
            async with home.live("board", session) as events:
                await events.until("pin-0-led")
        await wait_until(lambda: home.application.streams == 0)
        assert len(home.agent.channel._sessions) <= 1


async def test_somebody_who_is_in_and_follows_a_link_of_another_site_is_let_on(
    tmp_path: Path,
) -> None:
    """A browser leaves the strict cookie out there, and sends it with what the door asks."""
    async with console_home(tmp_path) as home:
        session = await home.session()
        abroad = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
        door = (await home.get("/chat", **abroad)).cookies()[DOOR_COOKIE]
        cookies = {"cookie": f"{DOOR_COOKIE}={door}; {SESSION_COOKIE}={session}"}
        page = await home.ask("GET", "/door", {**home.headers(), **cookies, "hx-request": "true"})
        assert page.header("hx-redirect") == "/"
        page = await home.ask("GET", "/door", {**home.headers(), **cookies})
        assert (page.status, page.header("location")) == (303, "/")
        assert SESSION_COOKIE not in page.cookies()
        # One that has ended opens nothing
        await home.post("/leave", session)
        page = await home.ask("GET", "/door", {**home.headers(), **cookies, "hx-request": "true"})
        assert (page.status, page.header("hx-redirect")) == (204, "")


async def test_all_sensors_may_be_chosen_together(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        asked: list[Mapping[str, str]] = []

        async def show(_person: Person, arguments: Mapping[str, str]) -> Any:
            asked.append(arguments)
            return {"series": [], "curves": []}

        home.agent.views["readings"] = ConsoleView(PersonRole.USER, show)
        session = await home.session()
        names = [f"bench:greenhouse_{number}.temperature" for number in range(60)]
        query = urlencode([*(("name", name) for name in names), ("span", "7d")])
        page = await home.get(f"/readings?{query}", session)
        assert page.status == 200
        assert (asked[-1]["names"].split(","), asked[-1]["span"]) == (names, "7d")


async def test_an_address_with_too_much_in_it_is_refused(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        assert (await home.get(f"/log?{'level=all&' * 50}", session)).status == 400


async def test_a_form_that_meets_no_agent_is_not_asked_for_as_a_page(tmp_path: Path) -> None:
    """A page that loads itself anew would ask for the form's address, where no page is."""
    async with console_home(tmp_path) as home:
        session = await home.session()
        home.client._path = tmp_path / "nothing.sock"
        home.client.close()
        page = await home.post_form("/settings/check", session, section="agent")
        assert page.status == 503
        assert "may have been done" in page.text
        assert 'http-equiv="refresh"' not in page.text
        assert 'http-equiv="refresh"' in (await home.get("/settings", session)).text


async def test_what_is_refused_is_told_in_words(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        guest = await home.session("guest")
        script = {"hx-request": "true"}
        assert "not for you" in (await home.get("/board", guest, **script)).text
        page = await home.get("/settings/check", guest)
        assert (page.status, "nothing here" in page.text) == (405, True)


async def test_words_that_are_sent_again_by_the_same_form_are_one_message(tmp_path: Path) -> None:
    """An answer that is lost on its way leaves the words in the form, and its sender unsure."""
    async with console_home(tmp_path) as home:
        session = await home.session()
        page = (await home.get("/chat", session)).text
        form = page.partition('name="form" value="')[2].partition('"')[0]
        for text in ("water for 5 s", "water for 5 s", "water for 6 s"):
            assert (await home.post("/say", session, text=text, form=form)).status == 204
        first, again, other = (one.message_id for one in home.agent.heard)
        assert first == again != other
        page = (await home.get("/chat", session)).text
        assert f'value="{form}"' not in page
