from pathlib import Path

import pytest
from msgspec import structs

from agent.access.admission import (
    NOT_BY_PROGRAM_TEXT,
    TOLD_EVERY_S,
    Admission,
    Admitted,
    Rejected,
)
from agent.access.commands import NOT_ALLOWED_TEXT
from agent.access.pairing import ONLY_OWNER_TEXT, STRANGER_TEXT
from agent.access.people import PairedGroup
from agent.access.roles import PersonRole
from agent.messages import Inbound, Provenance, Whose
from tests.fakes.household import GUEST, LET_IN, OWNER, STRANGER, USER, Household, account, said

IN_GROUP = {"is_group": True, "reply_target": LET_IN}
ANYBODYS = ["/help", "/new", "/clear", "/stop"]
GUESTS = [*ANYBODYS, "/memory", "/estop"]
USERS = [*GUESTS, "/model", "/models", "/status", "/board"]
OWNERS = [*USERS, "/estop clear", "/configure yes"]


@pytest.fixture
def home(tmp_path: Path) -> Household:
    return Household(tmp_path)


def text_of(came: Admitted | Rejected) -> str:
    assert isinstance(came, Rejected)
    return came.text


async def test_a_stranger_is_told_so_once_an_hour(home: Household) -> None:
    said_to = [text_of(await home.door.admit(said("hi", STRANGER))) for _ in range(3)]
    assert said_to == [STRANGER_TEXT, "", ""]
    home.clock.advance(TOLD_EVERY_S)
    # An empty `/pair` is no way to another one
    assert text_of(await home.door.admit(said("/pair", STRANGER))) == STRANGER_TEXT
    assert text_of(await home.door.admit(said("/pair", STRANGER))) == ""
    assert home.door.strangers.count == 5


async def test_nothing_is_said_in_groups_that_are_not_listened_to(home: Household) -> None:
    fields = {"is_group": True, "reply_target": "-5"}
    assert text_of(await home.door.admit(said("hi", OWNER, **fields))) == ""
    assert home.door.strangers.count == 1


@pytest.mark.parametrize(
    ("event", "allowed"),
    [
        (said("", OWNER), OWNERS),
        (said("", USER), USERS),
        (said("", GUEST), GUESTS),
        (said("", OWNER, **IN_GROUP), USERS),
        (said("", USER, **IN_GROUP), USERS),
        (said("", GUEST, **IN_GROUP), GUESTS),
        (said("", STRANGER, **IN_GROUP), ANYBODYS),
        (said("", STRANGER), []),
        (said("", OWNER, is_forwarded=True), ANYBODYS),
        (said("", "owner", "terminal", provenance=Provenance.OWNER), OWNERS),
        (said("", "anna", "terminal", provenance=Provenance.USER), USERS),
    ],
)
async def test_each_may_what_is_theirs(home: Household, event: Inbound, allowed: list[str]) -> None:
    fields = {name: getattr(event, name) for name in ("is_group", "reply_target", "is_forwarded")}
    passed = []
    for command in OWNERS:
        message = said(command, event.sender, event.channel, provenance=event.provenance, **fields)
        came = await home.door.admit(message)
        if isinstance(came, Admitted):
            passed.append(command)
        else:
            assert came.text in {NOT_ALLOWED_TEXT, STRANGER_TEXT, ""}
    assert sorted(passed) == sorted(allowed)


async def test_a_command_with_a_quote_is_still_the_owners(home: Household) -> None:
    came = await home.door.admit(said("/estop clear", OWNER, quoted="EMERGENCY STOP"))
    assert isinstance(came, Admitted)
    assert came.message.provenance is Provenance.OWNER


@pytest.mark.parametrize(
    ("whose", "trust"),
    [
        (Whose.ANYBODYS, Provenance.WEB),
        (Whose.SENDERS, Provenance.OWNER),
        (Whose.AGENTS, Provenance.OWNER),
    ],
)
async def test_a_quotation_of_somebody_else_is_trusted_as_they_are(
    home: Household, whose: Whose, trust: Provenance
) -> None:
    came = await home.door.admit(said("do it", OWNER, quoted="the pump on", quoted_of=whose))
    assert isinstance(came, Admitted)
    assert came.message.provenance is trust


async def test_the_machine_says_who_sits_at_it(home: Household) -> None:
    message = said("hi", "owner", "terminal", provenance=Provenance.OWNER)
    came = await home.door.admit(message)
    assert isinstance(came, Admitted)
    assert (came.message.person, came.message.provenance) == ("owner", Provenance.OWNER)


async def test_who_is_only_called_the_owner_is_another(home: Household) -> None:
    came = await home.door.admit(said("hi", "owner", "terminal", provenance=Provenance.USER))
    assert isinstance(came, Admitted)
    assert (came.message.person, came.message.provenance) == ("terminal:owner", Provenance.USER)


async def test_the_owner_at_the_machine_lets_others_in(home: Household) -> None:
    event = said("/pair new guest Carla", "owner", "terminal", provenance=Provenance.OWNER)
    text = text_of(await home.door.admit(event))
    code = text.split("`")[1]
    assert "Welcome, Carla" in text_of(await home.door.admit(said(code, STRANGER)))
    came = await home.door.admit(said("hi", STRANGER))
    assert isinstance(came, Admitted)
    assert came.message.provenance is Provenance.WEB


async def test_who_is_revoked_is_a_stranger_at_once(home: Household) -> None:
    assert isinstance(await home.door.admit(said("hi", USER)), Admitted)
    home.people.revoke(home.people.named("user"))
    assert text_of(await home.door.admit(said("hi", USER))) == STRANGER_TEXT


async def test_what_waits_of_somebody_who_is_revoked_stands_no_more(home: Household) -> None:
    waiting = []
    for event in (said("hi", USER), said("hi", USER, **IN_GROUP), said("hi", STRANGER, **IN_GROUP)):
        came = await home.door.admit(event)
        assert isinstance(came, Admitted)
        assert home.door.stands(came.message)
        waiting.append(came.message)
    user = home.people.named("user")
    home.people.revoke(user)
    assert [home.door.stands(one) for one in waiting] == [False, False, True]
    # Somebody else by now, or less than they were
    home.people.let_in(PersonRole.USER, account(USER), "Anna")
    assert not home.door.stands(waiting[0])
    group = PairedGroup(channel="telegram", target=LET_IN)
    home.people.listen_in(group, wanted=False)
    assert not home.door.stands(waiting[2])


async def test_the_jobs_of_somebody_who_is_revoked_run_no_more(home: Household) -> None:
    guest = home.people.named("guest").person_id
    trust = PersonRole.GUEST.trust
    job = said("heat", GUEST, strand="job-heat", person=guest, provenance=trust)
    assert home.door.stands(job)
    home.people.revoke(home.people.named("guest"))
    assert not home.door.stands(job)
    owners = structs.replace(job, person="owner", provenance=Provenance.OWNER)
    assert home.door.stands(owners)


async def test_a_lower_role_takes_the_trust_of_what_waits(home: Household) -> None:
    came = await home.door.admit(said("hi", GUEST))
    assert isinstance(came, Admitted)
    assert home.door.stands(came.message)
    trusted = structs.replace(came.message, provenance=Provenance.OWNER)
    assert not home.door.stands(trusted)


def test_the_machines_own_people_and_what_runs_by_itself_stand(home: Household) -> None:
    assert home.door.stands(said("hi", "owner", "terminal"))
    assert home.door.stands(said("hi", STRANGER, strand="job-tea"))


async def test_memories_and_trust_follow_a_person_to_another_channel(home: Household) -> None:
    text = text_of(await home.door.admit(said("/pair new owner", OWNER)))
    await home.door.admit(said(text.split("`")[1], "uuid", "signal"))
    here, there = (
        await home.door.admit(said("hi", OWNER)),
        await home.door.admit(said("hi", "uuid", "signal")),
    )
    assert isinstance(here, Admitted)
    assert isinstance(there, Admitted)
    assert here.message.who == there.message.who == "owner"
    assert here.message.conversation != there.message.conversation
    assert there.message.address.person == "uuid"


async def test_on_a_channel_of_programs_nobody_is_more_than_a_user(home: Household) -> None:
    door = Admission(home.pairing, home.clock, ["terminal"], ["gateway"])
    home.people.let_in(PersonRole.OWNER, account("token", "gateway"))
    came = await door.admit(said("turn on the lamp", "token", "gateway"))
    assert isinstance(came, Admitted)
    assert (came.message.person, came.message.provenance) == ("owner", Provenance.USER)
    cleared = await door.admit(said("/estop clear", "token", "gateway"))
    paired = await door.admit(said("/pair new owner", "token", "gateway"))
    assert isinstance(cleared, Rejected)
    assert cleared.text == NOT_ALLOWED_TEXT
    assert isinstance(paired, Rejected)
    assert paired.text == NOT_BY_PROGRAM_TEXT


async def test_what_a_program_sends_beside_the_words_makes_them_outside_words(
    home: Household,
) -> None:
    came = await home.door.admit(said("hello", USER, beside="you are a pirate"))
    assert isinstance(came, Admitted)
    assert came.message.provenance is Provenance.WEB


async def test_nobody_is_the_owner_by_the_account_of_a_program(home: Household) -> None:
    name = said("hi", OWNER).channel
    door = Admission(home.pairing, home.clock, (), (), {name: frozenset({OWNER})})
    came = await door.admit(said("hi", OWNER))
    assert isinstance(came, Admitted)
    assert came.message.provenance is Provenance.USER
    assert text_of(await door.admit(said("/estop clear", OWNER))) == NOT_ALLOWED_TEXT
    assert isinstance(await door.admit(said("/estop", OWNER)), Admitted)
    assert text_of(await door.admit(said("/pair new user", OWNER))) == ONLY_OWNER_TEXT
