"""Browsers at the door: let in by a code or by the owner, known by a cookie, gone in time."""

import asyncio
from pathlib import Path

import pytest

from agent.access.browser_sessions import (
    KNOCK_TTL_S,
    MAX_KNOCKS,
    MAX_KNOCKS_OF_ONE,
    BrowserSessions,
    digest,
)
from agent.access.door_button import DoorButton, DoorPress
from agent.access.owner_contact import OwnerContact
from agent.access.pairing import (
    BROWSER_TEXT,
    NO_BROWSER_TEXT,
    ONLY_OWNER_TEXT,
    is_pairing,
)
from agent.access.pairing_codes import FREE_TRIES, Invitation
from agent.access.people import BROWSER_SESSION_S, BROWSERS, MAX_BROWSERS
from agent.access.roles import PersonRole
from agent.console.wording import LANGUAGES, wording
from agent.messages import Address
from agent.system.activity import Activity
from tests.fakes.console_home import PressedByHand
from tests.fakes.household import GUEST, LET_IN, OWNER, USER, Household, said

DOOR, OTHER_DOOR = "d" * 43, "e" * 43


@pytest.fixture
def home(tmp_path: Path) -> Household:
    return Household(tmp_path)


@pytest.fixture
def button() -> PressedByHand:
    return PressedByHand()


@pytest.fixture
def sessions(home: Household, button: PressedByHand) -> BrowserSessions:
    made = BrowserSessions(home.pairing, home.clock, DoorButton(button))
    home.pairing.let_browser_in = made.let_in
    return made


async def obeyed(home: Household, text: str, sender: str, **more: object) -> str:
    message = said(text, sender, **more)
    person = home.people.find(message.channel, message.sender)
    return await home.pairing.obey(message, person.rank if person else None)


async def test_a_code_gives_a_session_once(home: Household, sessions: BrowserSessions) -> None:
    code = home.codes.make(Invitation(role="user", name="Anna"))
    session = await sessions.enter(code, "10.0.0.2")
    person = sessions.person(session)
    assert person is not None
    assert (person.name, person.rank) == ("Anna", PersonRole.USER)
    assert await sessions.enter(code, "10.0.0.3") == ""
    assert any("console" in one for one in home.told)


async def test_only_the_hash_of_a_cookie_is_kept(
    home: Household, sessions: BrowserSessions, tmp_path: Path
) -> None:
    session = await sessions.enter(home.codes.make(Invitation(role="user")), "10.0.0.2")
    kept = (tmp_path / "people.json").read_text()
    assert session not in kept
    assert digest(session) in kept


@pytest.mark.parametrize("cookie", ["", "x", "A" * 43, "A" * 500])
def test_a_strangers_cookie_is_nobodys(sessions: BrowserSessions, cookie: str) -> None:
    assert sessions.person(cookie) is None


async def test_guesses_make_their_address_wait_and_nobody_else(
    home: Household, sessions: BrowserSessions
) -> None:
    for _ in range(FREE_TRIES):
        assert await sessions.enter("WRONG-CODE1", "10.0.0.6") == ""
    assert sessions.wait_s("10.0.0.6") > 0
    code = home.codes.make(Invitation(role="user"))
    assert await sessions.enter(code, "10.0.0.6") == ""
    assert sessions.wait_s("10.0.0.7") == 0
    assert await sessions.enter(code, "10.0.0.7")


@pytest.mark.parametrize("code", LANGUAGES)
async def test_the_owner_lets_a_browser_in_by_the_sentence_on_its_screen(
    home: Household, sessions: BrowserSessions, code: str
) -> None:
    shown = sessions.knock(DOOR, "10.0.0.2")
    sentence = wording(code)("door.sentence", code=shown)
    assert is_pairing(sentence)
    assert await sessions.claim(DOOR) == ""
    assert await obeyed(home, sentence, OWNER) == BROWSER_TEXT
    session = await sessions.claim(DOOR)
    person = sessions.person(session)
    assert person is not None
    assert person.rank is PersonRole.OWNER
    # Neither the door's own cookie nor the same word again is worth anything
    assert sessions.person(DOOR) is None
    assert await sessions.claim(DOOR) == ""
    assert await obeyed(home, sentence, OWNER) == NO_BROWSER_TEXT


async def test_nobody_else_lets_a_browser_in(home: Household, sessions: BrowserSessions) -> None:
    shown = sessions.knock(DOOR, "10.0.0.2")
    for sender in (USER, GUEST):
        assert await obeyed(home, f"/pair browser {shown}", sender) == ONLY_OWNER_TEXT
    await obeyed(home, f"let this browser in: {shown}", "6666")
    group = {"is_group": True, "reply_target": LET_IN}
    assert await obeyed(home, f"let this browser in: {shown}", OWNER, **group) == ""
    assert await sessions.claim(DOOR) == ""


async def test_a_knock_is_over_in_time(home: Household, sessions: BrowserSessions) -> None:
    shown = sessions.knock(DOOR, "10.0.0.2")
    assert sessions.knock(DOOR, "10.0.0.2") == shown
    home.clock.advance(KNOCK_TTL_S)
    assert await obeyed(home, f"/pair browser {shown}", OWNER) == NO_BROWSER_TEXT


async def test_one_address_crowds_out_nobody(sessions: BrowserSessions) -> None:
    shown = sessions.knock(DOOR, "10.0.0.2")
    for number in range(MAX_KNOCKS * 2):
        sessions.knock(f"{number:043d}", "10.0.0.66")
    assert len(sessions._knocks) == 1 + MAX_KNOCKS_OF_ONE
    assert await sessions.let_in(shown.lower())


async def test_a_session_ends_after_a_month_and_by_the_owners_word(
    home: Household, sessions: BrowserSessions
) -> None:
    first = await sessions.enter(home.codes.make(Invitation(role="user")), "a")
    second = await sessions.enter(home.codes.make(Invitation(role="user")), "a")
    assert await sessions.end(first)
    assert sessions.person(first) is None
    assert not await sessions.end(first)
    home.clock.advance(BROWSER_SESSION_S - 1)
    assert sessions.person(second) is not None
    home.clock.advance(1)
    assert sessions.person(second) is None
    assert home.people.find("telegram", OWNER) is not None


async def test_a_person_has_so_many_browsers_and_no_more(sessions: BrowserSessions) -> None:
    made = []
    for number in range(MAX_BROWSERS + 2):
        sessions.knock(f"{number:043d}", str(number))
        await sessions.let_in(sessions.knock(f"{number:043d}", str(number)))
        made.append(await sessions.claim(f"{number:043d}"))
    assert [sessions.person(one) is None for one in made] == [True, True, *[False] * MAX_BROWSERS]


async def test_nothing_is_kept_for_a_browser_that_may_never_come_back(
    home: Household, sessions: BrowserSessions
) -> None:
    await sessions.let_in(sessions.knock(DOOR, "a"))
    await sessions.claim(DOOR)
    local = Address("terminal", "local", "owner")
    contact = OwnerContact(home.people, {}, Activity(), home.clock, local)
    assert contact.waiting_place == Address("telegram", OWNER, OWNER)
    assert [one.channel for one in contact._known()] == ["terminal", "telegram", BROWSERS]


async def test_who_presses_the_button_opens_to_the_browser_that_waits(
    sessions: BrowserSessions, button: PressedByHand
) -> None:
    sessions.knock(DOOR, "10.0.0.2")
    sessions.knock(OTHER_DOOR, "10.0.0.3")
    assert sessions.press(DOOR) is DoorPress.WAITING
    await asyncio.sleep(0)
    assert await sessions.claim(DOOR) == ""
    await button.hold()
    # The other one had asked for nothing
    assert await sessions.claim(OTHER_DOOR) == ""
    person = sessions.person(await sessions.claim(DOOR))
    assert person is not None
    assert person.rank is PersonRole.OWNER
    assert await sessions.claim(DOOR) == ""


async def test_a_door_that_was_forgotten_meanwhile_stays_shut(
    home: Household, sessions: BrowserSessions, button: PressedByHand
) -> None:
    sessions.knock(DOOR, "10.0.0.2")
    sessions.press(DOOR)
    await asyncio.sleep(0)
    home.clock.advance(KNOCK_TTL_S + 1)
    sessions.knock(OTHER_DOOR, "10.0.0.3")
    await button.hold()
    assert await sessions.claim(DOOR) == ""
