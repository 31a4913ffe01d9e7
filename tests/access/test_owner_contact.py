from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.access import owner_contact as module
from agent.access.owner_contact import ASKED_WITHIN_S, MAX_ASKED
from agent.access.roles import PersonRole
from agent.channels.base import Abilities, Answer, Question
from agent.errors import ChannelUnavailable
from agent.messages import Address, Attachment, Inbound, Outbound
from agent.system.activity import Activity
from tests.fakes.channel import FakeChannel, LocalChannel
from tests.fakes.household import LET_IN, OWNER, STRANGER, USER, Household, account, said
from tests.fakes.owners_places import LOCAL, places_of

QUESTION = Question("pump_on", "{}", "it moves something")
TELEGRAM, SIGNAL = Address("telegram", OWNER, OWNER), Address("signal", "uuid", "uuid")


class EmptyRoom(FakeChannel):
    """A terminal at which nobody sits."""

    def attends(self, message: Outbound) -> bool:
        return False


class UnreachableChannel(FakeChannel):
    """Cannot ask anybody now."""

    async def ask(self, address: Address, question: Question) -> Answer:
        raise ChannelUnavailable("not now")


class PictureChannel(FakeChannel):
    """Takes files."""

    abilities = Abilities(takes_files=True)


class PicturelessChannel(PictureChannel):
    """Says that it takes files, and takes none now."""

    async def send(self, message: Outbound) -> None:
        raise ChannelUnavailable("not now")


@pytest.fixture
def home(tmp_path: Path) -> Household:
    home = Household(tmp_path)
    home.people.let_in(PersonRole.OWNER, account("uuid", "signal"))
    return home


def asked(channel: FakeChannel) -> list[Question]:
    """The questions as they came, without the hook that the places add."""
    return [replace(one, takes_word=QUESTION.takes_word) for one in channel.questions]


def by(sender: str, **fields: object) -> Inbound:
    person = {OWNER: "owner"}.get(sender, f"p{sender}")
    return said("go", sender, person=person, **fields)


def test_the_owner_is_where_they_paired_and_first_of_all_at_the_machine(home: Household) -> None:
    every = {"telegram": FakeChannel(), "signal": FakeChannel(), "terminal": FakeChannel()}
    assert places_of(home, every).places == (LOCAL, TELEGRAM, SIGNAL)
    every["terminal"] = EmptyRoom()
    assert places_of(home, every).places == (TELEGRAM, SIGNAL)
    assert places_of(home, {}).places == ()


def test_a_channel_that_hears_nothing_is_tried_last(home: Household) -> None:
    activity = Activity()
    activity.note_trouble("telegram", "nothing was heard for 90 s")
    found = places_of(home, {"telegram": FakeChannel(), "signal": FakeChannel()}, activity)
    assert found.places == (SIGNAL, TELEGRAM)


def test_what_nobody_takes_waits_where_the_owner_paired(home: Household, tmp_path: Path) -> None:
    assert places_of(home, {}).waiting_place == TELEGRAM
    assert places_of(Household(tmp_path / "2", is_empty=True), {}).waiting_place == LOCAL


async def test_the_owner_is_asked_where_they_speak(home: Household) -> None:
    telegram, signal = FakeChannel(Answer.YES), FakeChannel(Answer.NO)
    found = places_of(home, {"telegram": telegram, "signal": signal})
    assert await found.ask(by(OWNER), QUESTION) is Answer.YES
    assert asked(telegram) == [QUESTION]
    assert signal.questions == []


async def test_pictures_go_before_their_question_where_files_can_go(home: Household) -> None:
    picture = Attachment("/tmp/watering.png", "image/png", "watering.png")
    question = replace(QUESTION, files=(picture,))
    for channel, sent in ((PictureChannel(Answer.YES), 1), (FakeChannel(Answer.YES), 0)):
        found = places_of(home, {"telegram": channel})
        assert await found.ask(by(OWNER), question) is Answer.YES
        assert [one.files for one in channel.sent] == [(picture,)] * sent


async def test_a_picture_that_cannot_be_sent_keeps_no_question_back(home: Household) -> None:
    question = replace(QUESTION, files=(Attachment("/tmp/a.png", "image/png", "a.png"),))
    channel = PicturelessChannel(Answer.YES)
    found = places_of(home, {"telegram": channel})
    assert await found.ask(by(OWNER), question) is Answer.YES
    assert len(channel.questions) == 1


async def test_where_the_owners_channel_cannot_ask_another_one_does(home: Household) -> None:
    signal = FakeChannel(Answer.YES)
    for first in (FakeChannel(Answer.NONE), UnreachableChannel()):
        found = places_of(home, {"telegram": first, "signal": signal})
        assert await found.ask(by(OWNER), QUESTION) is Answer.YES
    found = places_of(home, {"telegram": UnreachableChannel()})
    assert await found.ask(by(OWNER), QUESTION) is Answer.NONE


async def test_what_runs_by_itself_asks_where_the_owner_is(home: Household) -> None:
    telegram, signal = FakeChannel(Answer.NO), FakeChannel(Answer.YES)
    activity = Activity()
    activity.note_trouble("telegram", "deaf")
    found = places_of(home, {"telegram": telegram, "signal": signal}, activity)
    assert await found.ask(by(OWNER, strand="job-1"), QUESTION) is Answer.YES


async def test_what_another_wants_is_asked_of_the_owner_with_who_it_was(home: Household) -> None:
    telegram = FakeChannel(Answer.YES)
    found = places_of(home, {"telegram": telegram})
    assert await found.ask(by(USER), QUESTION) is Answer.YES
    assert "user (user) asked for it on telegram" in telegram.questions[0].reason


async def test_in_a_group_everybodys_wish_is_asked_in_private(home: Household) -> None:
    telegram = FakeChannel(Answer.YES)
    asked: list[Address] = []

    async def ask(address: Address, question: Question) -> Answer:
        asked.append(address)
        telegram.questions.append(question)
        return Answer.YES

    telegram.ask = ask  # type: ignore[method-assign]  # notes the address besides
    found = places_of(home, {"telegram": telegram})
    for sender in (OWNER, STRANGER):
        group = by(sender, is_group=True, reply_target=LET_IN)
        assert await found.ask(group, QUESTION) is Answer.YES
    assert asked == [TELEGRAM, TELEGRAM]
    assert "owner (owner) asked for it on telegram, in a group" in telegram.questions[0].reason
    assert f"somebody ({STRANGER})" in telegram.questions[1].reason


async def test_nobody_makes_the_owners_telephone_ring_all_day(
    home: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    telegram = FakeChannel(Answer.NO)
    found = places_of(home, {"telegram": telegram})
    answers = [await found.ask(by(USER), QUESTION) for _ in range(MAX_ASKED + 3)]
    assert answers == [*[Answer.NO] * MAX_ASKED, *[Answer.NONE] * 3]
    assert await found.ask(by(STRANGER), QUESTION) is Answer.NO
    monkeypatch.setattr(module, "MAX_ASKERS", 2)
    assert await found.ask(by("9999"), QUESTION) is Answer.NONE
    home.clock.advance(ASKED_WITHIN_S)
    assert await found.ask(by("9999"), QUESTION) is Answer.NO


async def test_who_was_revoked_in_their_turn_says_yes_no_more(home: Household) -> None:
    telegram, signal = FakeChannel(Answer.YES), FakeChannel(Answer.NO)
    found = places_of(home, {"telegram": telegram, "signal": signal})
    home.people.revoke(home.people.named("owner"))
    assert await found.ask(by(OWNER), QUESTION) is Answer.NONE
    home.people.let_in(PersonRole.OWNER, account("uuid", "signal"))
    assert await found.ask(by(OWNER), QUESTION) is Answer.NO
    assert telegram.questions == []


async def test_with_no_owner_nobody_says_yes(tmp_path: Path) -> None:
    found = places_of(Household(tmp_path, is_empty=True), {"telegram": FakeChannel(Answer.YES)})
    assert await found.ask(by(USER), QUESTION) is Answer.NONE


async def test_the_owner_at_the_machine_says_yes_there(home: Household) -> None:
    screen = LocalChannel(Answer.YES)
    found = places_of(home, {"terminal": screen})
    inbound = said("go", "owner", "terminal", person="owner", reply_target="local")
    assert await found.ask(inbound, QUESTION) is Answer.YES
    assert await found.confirm(QUESTION) is Answer.YES
    assert asked(screen) == [QUESTION, QUESTION]
