import asyncio
from pathlib import Path

import pytest

from agent.access.pairing import (
    HOW_TEXT,
    IN_GROUP_TEXT,
    ONLY_OWNER_TEXT,
    OUT_OF_GROUP_TEXT,
    PROGRAM_TEXT,
    SPENT_IN_GROUP_TEXT,
    STRANGER_TEXT,
    WRONG_TEXT,
    is_pairing,
)
from agent.access.pairing_codes import CODE_TTL_S, FIRST_WAIT_S, FREE_TRIES, Invitation
from agent.access.roles import PersonRole
from agent.messages import Inbound
from tests.fakes.household import GUEST, LET_IN, OWNER, STRANGER, USER, Household, said

RIGHT = Invitation(role="user")
GROUP = {"is_group": True, "reply_target": "-300"}


@pytest.fixture
def home(tmp_path: Path) -> Household:
    return Household(tmp_path)


async def told(home: Household, message: Inbound) -> str:
    person = home.people.find(message.channel, message.sender)
    return await home.pairing.obey(message, person.rank if person else None)


async def test_nobody_calls_themselves_as_the_configuration_calls_somebody(
    home: Household,
) -> None:
    home.pairing.reserved = ("anna",)
    code = home.codes.make(Invitation(role="guest"))
    assert "Welcome, Anna 2." in await told(home, said(f"/pair {code}", "1", sender_name="Anna"))
    # What the owner calls somebody counts
    code = home.codes.make(Invitation(role="guest", name="Anna"))
    assert "Welcome, Anna." in await told(home, said(f"/pair {code}", "2", sender_name="xX"))


@pytest.mark.parametrize(
    "text", ["/pair", "／pair 7QK2M-X9D4T", " /PAIR  X ", "/pair@my_bot A-B", "/pair new user"]
)
def test_what_may_hold_a_code_goes_no_further(text: str) -> None:
    assert is_pairing(text)


@pytest.mark.parametrize("text", ["pair", "/pairs", "/repair", "say /pair", ""])
def test_the_rest_is_no_pairing(text: str) -> None:
    assert not is_pairing(text)


async def test_the_first_who_has_the_first_code_is_the_owner(tmp_path: Path) -> None:
    home = Household(tmp_path, is_empty=True)
    code = await home.pairing.first_code()
    assert "You are my owner" in await told(home, said(f"/pair {code}", STRANGER))
    owner = home.people.owner()
    assert owner is not None
    assert owner.accounts[0].sender == STRANGER
    # There is no second first one
    assert await home.pairing.first_code() is None


async def test_a_code_works_once_and_in_time(home: Household) -> None:
    code = home.codes.make(RIGHT)
    assert "Welcome" in await told(home, said(f"/pair {code}", "1"))
    assert await told(home, said(f"/pair {code}", "2")) == WRONG_TEXT
    late = home.codes.make(RIGHT)
    home.clock.advance(CODE_TTL_S)
    assert await told(home, said(f"/pair {late}", "2")) == WRONG_TEXT


async def test_a_person_is_called_as_the_owner_says_or_as_the_platform_does(
    home: Household,
) -> None:
    named = home.codes.make(Invitation(role="user", name="Anna"))
    unnamed = home.codes.make(RIGHT)
    assert "Anna" in await told(home, said(f"/pair {named}", "1", sender_name="xX"))
    assert "Bert" in await told(home, said(f"/pair {unnamed}", "2", sender_name="Bert"))


async def test_a_group_gets_no_code_to_work_and_the_code_is_spent(home: Household) -> None:
    code = home.codes.make(RIGHT)
    assert await told(home, said(f"/pair {code}", STRANGER, **GROUP)) == SPENT_IN_GROUP_TEXT
    assert home.people.find("telegram", STRANGER) is None
    assert await told(home, said(f"/pair {code}", STRANGER)) == WRONG_TEXT
    assert await told(home, said("/pair nonsense", STRANGER, **GROUP)) == ""
    assert await told(home, said("/pair", STRANGER, **GROUP)) == ""


async def test_guesses_are_limited_for_each_and_the_right_one_comes_too_late(
    home: Household,
) -> None:
    code = home.codes.make(RIGHT)
    answers = [await told(home, said("/pair 00000-00000", STRANGER)) for _ in range(20)]
    assert answers == [*[WRONG_TEXT] * FREE_TRIES, *[""] * (20 - FREE_TRIES)]
    assert await told(home, said(f"/pair {code}", STRANGER)) == ""
    assert await told(home, said(f"/pair {code}", STRANGER, **GROUP)) == ""
    # The code is as good as before, for who waits
    home.clock.advance(FIRST_WAIT_S)
    assert "Welcome" in await told(home, said(f"/pair {code}", STRANGER))


async def test_many_guesses_at_once_are_no_more(home: Household) -> None:
    guesses = [told(home, said(f"/pair {number}", STRANGER)) for number in range(50)]
    answers = await asyncio.gather(*guesses)
    assert answers.count(WRONG_TEXT) == FREE_TRIES


@pytest.mark.parametrize("sender", [USER, GUEST])
async def test_only_the_owner_makes_codes(home: Household, tmp_path: Path, sender: str) -> None:
    for text in ("/pair new", "/pair new owner", "/pair new guest"):
        assert await told(home, said(text, sender)) == ONLY_OWNER_TEXT
    assert not (tmp_path / "codes.json").exists()


async def test_a_code_makes_what_its_owner_said_and_nothing_more(home: Household) -> None:
    for words, role in (("", "user"), (" guest Carla", "guest"), (" USER Dora", "user")):
        text = await told(home, said(f"/pair new{words}", OWNER))
        code = text.split("`")[1]
        # What whoever uses it adds to it is no part of it
        await told(home, said(f"{code} owner", f"9{role}"))
        await told(home, said(code, f"8{role}{words}"))
        found = home.people.find("telegram", f"8{role}{words}")
        assert found is not None
        assert found.role == role
    assert await told(home, said("/pair new king", OWNER)) == HOW_TEXT


async def test_another_account_of_the_owner_is_the_owner(home: Household) -> None:
    text = await told(home, said("/pair new owner", OWNER))
    assert "another account of yours" in text
    await told(home, said(text.split("`")[1], "uuid", "signal"))
    found = home.people.find("signal", "uuid")
    assert found is not None
    assert found.rank is PersonRole.OWNER


@pytest.mark.parametrize(("sender", "role"), [(OWNER, "owner"), (USER, "user"), (GUEST, "guest")])
async def test_who_is_let_in_uses_up_no_code(home: Household, sender: str, role: str) -> None:
    code = home.codes.make(Invitation(role="owner"))
    answer = await told(home, said(f"/pair {code}", sender))
    assert role in answer
    # How others are let in is the owner's to know
    assert (HOW_TEXT in answer) is (sender == OWNER)
    assert home.codes.spend(code) is not None


async def test_a_group_is_told_how_it_stops_the_agent_where_a_word_is_not_enough(
    home: Household,
) -> None:
    home.pairing.group_stops = {"telegram": "Mention me with /stop.", "slack": "No."}
    answer = await told(home, said("/pair group", OWNER, **GROUP))
    assert answer == f"{IN_GROUP_TEXT}\n\nMention me with /stop."
    assert await told(home, said("/pair group off", OWNER, **GROUP)) == OUT_OF_GROUP_TEXT


async def test_the_owner_alone_lets_a_group_in_and_out(home: Household) -> None:
    assert await told(home, said("/pair group", STRANGER, **GROUP)) == ""
    assert await told(home, said("/pair group", USER, **GROUP)) == ONLY_OWNER_TEXT
    assert not home.people.listens_in("telegram", "-300")
    assert await told(home, said("/pair group", OWNER, **GROUP)) == IN_GROUP_TEXT
    assert home.people.listens_in("telegram", "-300")
    assert await told(home, said("/pair Group Off", OWNER, **GROUP)) == OUT_OF_GROUP_TEXT
    assert not home.people.listens_in("telegram", "-300")
    # In a private chat there is no group to let in
    assert HOW_TEXT in await told(home, said("/pair group", OWNER))
    assert home.people.listens_in("telegram", LET_IN)


async def test_a_stranger_without_a_code_hears_how_it_goes(home: Household) -> None:
    assert await told(home, said("/pair", STRANGER)) == STRANGER_TEXT
    assert await told(home, said("/pair new owner", STRANGER)) == WRONG_TEXT


async def test_a_disk_that_takes_nothing_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    home = Household(tmp_path / "file", is_empty=True)
    answer = await home.pairing.obey(said("/pair new user", OWNER), PersonRole.OWNER)
    assert answer.startswith("That did not work: ")


async def test_the_owner_is_told_who_was_let_in_where_and_as_what(home: Household) -> None:
    code = home.codes.make(RIGHT)
    await told(home, said(f"/pair {code}", "1", "signal", sender_name="[A](http://x) `b`"))
    found = home.people.find("signal", "1")
    assert found is not None
    [announced] = home.told
    assert announced.startswith("`[A](http://x) 'b'` has access now as user, over signal.")
    assert f"`barnacle revoke {found.person_id}`" in announced
    await told(home, said("/pair nonsense", "2"))
    assert len(home.told) == 1


async def test_the_owner_is_told_of_another_account_and_not_of_the_first(tmp_path: Path) -> None:
    home = Household(tmp_path, is_empty=True)
    await told(home, said(f"/pair {await home.pairing.first_code()}", "1"))
    assert home.told == []
    code = home.codes.make(Invitation(role="owner"))
    await told(home, said(f"/pair {code}", "2", "signal"))
    assert home.told[0].startswith("Another account of yours has access now, over signal.")


async def test_what_a_code_is_for_is_said_with_it(home: Household) -> None:
    for wanted, what in (("user", "a new user"), ("guest Bo", "a new guest"), ("", "a new user")):
        told_of = await told(home, said(f"/pair new {wanted}", OWNER))
        assert told_of.startswith(f"For {what}: write `/pair ")
    assert "another account of yours" in await told(home, said("/pair new owner", OWNER))
    assert await told(home, said("/pair new emperor", OWNER)) == HOW_TEXT


async def test_a_wrong_code_costs_its_sender_a_try_and_a_right_one_none(home: Household) -> None:
    await told(home, said("/pair 00000-00000", "1"))
    assert home.pairing.attempts._of["telegram 1"].wrong == 1
    code = home.codes.make(Invitation(role="guest"))
    await told(home, said(f"/pair {code}", "1"))
    assert "telegram 1" not in home.pairing.attempts._of


async def test_a_stranger_in_a_group_hears_nothing_of_groups(home: Household) -> None:
    for text, answers in (("/pair group", ("", ONLY_OWNER_TEXT)), ("/pair", ("", ""))):
        stranger = said(text, "6666", **{**GROUP, "reply_target": "-5"})
        assert await told(home, stranger) == answers[0]
        guest = said(text, GUEST, **{**GROUP, "reply_target": "-5"})
        assert await told(home, guest) == answers[1]
    assert not home.people.listens_in("telegram", "-5")


@pytest.mark.parametrize(
    "wanted", [Invitation(role="owner"), Invitation(role="user", person_id="owner")]
)
async def test_no_program_becomes_the_owner_by_a_code(home: Household, wanted: Invitation) -> None:
    code = home.codes.make(wanted)
    program = said(f"/pair {code}", STRANGER)
    assert await home.pairing.obey(program, None, PersonRole.USER) == PROGRAM_TEXT
    assert home.people.find(program.channel, STRANGER) is None
    # It was shown to a program
    assert await told(home, said(f"/pair {code}", "1")) == WRONG_TEXT
    code = home.codes.make(RIGHT)
    program = said(f"/pair {code}", STRANGER)
    assert "Welcome" in await home.pairing.obey(program, None, PersonRole.USER)
