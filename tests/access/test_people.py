import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.access import people as module
from agent.access.people import OWNER_ID, PairedGroup, PeopleStore
from agent.access.roles import PersonRole
from agent.errors import BadArguments, StorageFull
from tests.fakes.clock import SteppedClock
from tests.fakes.household import GUEST, LET_IN, OWNER, USER, Household, account

if TYPE_CHECKING:
    from tinydb import TinyDB


@pytest.fixture
def home(tmp_path: Path) -> Household:
    return Household(tmp_path)


def test_nobody_is_let_in_by_default(tmp_path: Path) -> None:
    people = PeopleStore(tmp_path / "people.json", SteppedClock())
    assert list(people.everyone()) == []
    assert people.owner() is None
    assert people.find("telegram", OWNER) is None
    assert not people.listens_in("telegram", LET_IN)
    assert not (tmp_path / "people.json").exists()


def test_people_are_known_by_channel_and_id_together(home: Household) -> None:
    found = home.people.find("telegram", USER)
    assert found is not None
    assert (found.name, found.rank) == ("user", PersonRole.USER)
    assert home.people.find("signal", USER) is None


def test_the_owner_is_one_person_on_every_channel(home: Household) -> None:
    home.people.let_in(PersonRole.OWNER, account("uuid-1", "signal"), "Another name")
    owner = home.people.owner()
    assert owner is not None
    assert (owner.person_id, owner.name) == (OWNER_ID, OWNER_ID)
    assert [one.channel for one in owner.accounts] == ["telegram", "signal"]
    assert home.people.find("signal", "uuid-1") == owner
    assert len(home.people.everyone()) == 3


def test_a_further_account_keeps_the_person(home: Household) -> None:
    guest = home.people.named("guest")
    home.people.let_in(PersonRole.USER, account("uuid-2", "signal"), "", guest.person_id)
    found = home.people.find("signal", "uuid-2")
    assert found is not None
    assert (found.person_id, found.rank) == (guest.person_id, PersonRole.GUEST)


def test_no_further_account_for_somebody_who_is_gone(home: Household) -> None:
    guest = home.people.named("guest")
    home.people.revoke(guest)
    with pytest.raises(BadArguments, match="no longer has access"):
        home.people.let_in(PersonRole.GUEST, account("uuid-2", "signal"), "", guest.person_id)


def test_an_account_is_one_persons(home: Household) -> None:
    home.people.let_in(PersonRole.GUEST, account(USER), "New")
    found = home.people.find("telegram", USER)
    assert found is not None
    assert found.rank is PersonRole.GUEST
    assert "user" not in {one.name for one in home.people.everyone()}


def test_what_another_process_revokes_counts_from_the_next_look(
    home: Household, tmp_path: Path
) -> None:
    assert home.people.find("telegram", GUEST) is not None
    elsewhere = PeopleStore(tmp_path / "people.json", SteppedClock())
    elsewhere.revoke(elsewhere.named("GUEST"))
    assert home.people.find("telegram", GUEST) is None
    assert home.people.find("telegram", USER) is not None


def test_nobody_of_that_name_is_a_sentence(home: Household, tmp_path: Path) -> None:
    with pytest.raises(BadArguments, match="owner, user, guest"):
        home.people.named("nemo")
    with pytest.raises(BadArguments, match="nobody yet"):
        PeopleStore(tmp_path / "none.json", SteppedClock()).named("nemo")


def test_names_are_cleaned_and_nobody_takes_anothers(home: Household) -> None:
    names = ["Anna\n\x1b[31m", "anna [31m", "owner", home.people.named("user").person_id, "\u202e"]
    got = [
        home.people.let_in(PersonRole.USER, account(f"2{number}"), name).name
        for number, name in enumerate(names)
    ]
    assert got[:3] == ["Anna [31m", "anna [31m 2", "owner 2"]
    assert got[3].endswith(" 2")
    assert got[4] == "somebody"


@pytest.mark.parametrize(
    ("name", "got"),
    [
        ("\u0410nna", "\u0410nna 2"),  # a Cyrillic A
        ("\u0391nna", "\u0391nna 2"),  # a Greek one
        ("\uff21nna", "\uff21nna 2"),  # one of full width
        ("Anna\u3164", "Anna 2"),  # a letter without a shape
        ("An\u200dna", "Anna 2"),
        ("An\u034fna", "Anna 2"),
        ("Anna\u0332", "Anna\u0332 2"),
        ("Ann\u0430", "Ann\u0430 2"),
        ("\u041ewner", "\u041ewner 2"),
        ("0wner", "0wner 2"),
        ("Jose\u0301", "Jos\u00e9 2"),
        ("lvan", "lvan 2"),
        ("\u3164\u200d", "somebody"),
        ("Anne", "Anne"),
        ("Jose", "Jose"),
    ],
)
def test_nobody_takes_a_name_that_looks_like_anothers(home: Household, name: str, got: str) -> None:
    for number, known in enumerate(("Anna", "Jos\u00e9", "Ivan")):
        home.people.let_in(PersonRole.USER, account(f"1{number}"), known)
    assert home.people.let_in(PersonRole.GUEST, account("2"), name).name == got


def test_a_name_of_the_configuration_is_kept_free_of_look_alikes(home: Household) -> None:
    person = home.people.let_in(PersonRole.GUEST, account("2"), "\u0410nna", reserved=("Anna",))
    assert person.name == "\u0410nna 2"


def test_people_are_found_by_what_the_owner_can_type(home: Household) -> None:
    jose = home.people.let_in(PersonRole.USER, account("2"), "Jos\u00e9")
    anna = home.people.let_in(PersonRole.USER, account("3"), "\u0410nna")
    for typed, found in (
        ("Jose\u0301", jose),
        ("JOS\u00c9", jose),
        ("anna", anna),
        ("Anna ", anna),
    ):
        assert home.people.named(typed) == found


def test_of_two_who_look_the_same_the_owner_names_one_by_id(
    home: Household, tmp_path: Path
) -> None:
    # As an earlier version let them in
    for sender, name in (("2", "\u0410nna"), ("3", "Anna-2")):
        home.people.let_in(PersonRole.USER, account(sender), name)
    path = tmp_path / "people.json"
    path.write_text(path.read_text().replace("Anna-2", "\u0391nna"))
    with pytest.raises(
        BadArguments, match=r"look like 'Anna': use one of the ids p\w+ \(user\), p"
    ):
        home.people.named("Anna")
    assert home.people.named("\u0391nna").accounts[0].sender == "3"


def test_more_people_than_a_household_are_refused(
    home: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PEOPLE", 3)
    with pytest.raises(StorageFull, match="3 people"):
        home.people.let_in(PersonRole.USER, account("9"))


def test_groups_are_listened_to_until_they_are_not(home: Household) -> None:
    group = PairedGroup(channel="telegram", target=LET_IN)
    assert home.people.groups() == [group]
    home.people.listen_in(group, wanted=True)
    assert home.people.groups() == [group]
    home.people.listen_in(group, wanted=False)
    assert not home.people.listens_in("telegram", LET_IN)
    assert home.people.find("telegram", OWNER) is not None


@pytest.mark.parametrize(
    "row",
    [
        {"person_id": "p1", "name": "Mallory", "role": "admin"},
        {"name": "Mallory", "role": "owner"},
        {"person_id": "p1", "name": "Mallory", "role": "owner", "accounts": [{"sender": "1"}]},
        "Mallory",
    ],
)
def test_what_cannot_be_read_of_somebody_makes_them_nobody(
    home: Household, tmp_path: Path, row: object
) -> None:
    path = tmp_path / "people.json"
    tables = json.loads(path.read_bytes())
    tables["people"]["99"] = row
    path.write_text(json.dumps(tables))
    assert {one.role for one in home.people.everyone()} == {"owner", "user", "guest"}


def test_what_cannot_be_read_of_somebody_outlasts_changes_of_others(
    home: Household, tmp_path: Path
) -> None:
    path = tmp_path / "people.json"
    tables = json.loads(path.read_bytes())
    tables["people"]["2"]["role"] = "Guest"
    slip = tables["people"]["2"]
    path.write_text(json.dumps(tables))
    home.people.let_in(PersonRole.USER, account("9"), "Ben")
    home.people.revoke(home.people.named("guest"))
    assert home.people.find("telegram", USER) is None
    kept = json.loads(path.read_bytes())["people"]
    (number,) = [number for number, row in kept.items() if row == slip]
    kept[number]["role"] = "guest"
    path.write_text(json.dumps({"people": kept}))
    found = home.people.find("telegram", USER)
    assert found is not None
    assert found.name == "user"
    assert {one.name for one in home.people.everyone()} == {"owner", "user", "Ben"}


@pytest.mark.parametrize("table", ["people", "groups"])
def test_a_list_that_a_person_wrote_outlasts_changes_and_lets_nobody_in(
    home: Household, tmp_path: Path, table: str
) -> None:
    path = tmp_path / "people.json"
    tables = json.loads(path.read_bytes())
    written = [*tables["people"].values()]
    path.write_text(json.dumps({**tables, table: written}))
    for number in ("8", "9"):
        home.people.let_in(PersonRole.USER, account(number), f"Ben {number}")
        home.people.listen_in(PairedGroup(channel="telegram", target="-5"), wanted=True)
    kept = json.loads(path.read_bytes())
    assert [rows for rows in kept.values() if isinstance(rows, list)] == [written]
    is_gone = table == "people"
    assert (home.people.find("telegram", USER) is None) is is_gone


def test_a_person_without_an_account_stays_when_others_come(home: Household) -> None:
    guest = home.people.named("guest")
    assert home.people.forget_account("telegram", GUEST)
    home.people.let_in(PersonRole.USER, account("9"), "Ben")
    again = home.people.let_in(PersonRole.GUEST, account("3"), "", guest.person_id)
    assert again.person_id == guest.person_id


@pytest.mark.parametrize("content", ["[]", '{"people": []}', "not JSON at all", ""])
def test_a_file_that_is_none_of_ours_lets_nobody_in(tmp_path: Path, content: str) -> None:
    path = tmp_path / "people.json"
    path.write_text(content)
    assert list(PeopleStore(path, SteppedClock()).everyone()) == []


def test_a_file_that_may_not_be_read_lets_nobody_in(tmp_path: Path) -> None:
    (tmp_path / "people.json").mkdir()
    people = PeopleStore(tmp_path / "people.json", SteppedClock())
    assert people.find("telegram", OWNER) is None


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    people = PeopleStore(tmp_path / "file" / "people.json", SteppedClock())
    with pytest.raises(StorageFull, match="cannot be written"):
        people.let_in(PersonRole.OWNER, account("1"))


def test_as_many_as_a_large_household_are_let_in_and_no_more(tmp_path: Path) -> None:
    home = Household(tmp_path / "large")
    everyone = [*home.people.everyone()]
    path = tmp_path / "large" / "people.json"
    tables = json.loads(path.read_bytes())
    for number in range(200 - len(everyone)):
        tables["people"][f"1{number}"] = {
            "person_id": f"px{number}",
            "name": f"n{number}",
            "role": "guest",
            "accounts": [{"channel": "telegram", "sender": f"7{number}", "target": "7"}],
        }
    path.write_text(json.dumps(tables))
    assert len([*home.people.everyone()]) == 200
    with pytest.raises(StorageFull, match="200 people"):
        home.people.let_in(PersonRole.USER, account("9"))


def test_what_another_process_has_written_is_seen_at_once(home: Household, tmp_path: Path) -> None:
    other = PeopleStore(tmp_path / "people.json", home.clock)
    group = PairedGroup(channel="telegram", target="-77")
    other.listen_in(group, wanted=True)
    assert home.people.listens_in("telegram", "-77")
    other.listen_in(group, wanted=False)
    assert not home.people.listens_in("telegram", "-77")
    other.revoke(other.named("guest"))
    assert home.people.find("telegram", GUEST) is None


def test_what_is_changed_in_place_is_seen_though_it_is_as_long(
    home: Household, tmp_path: Path
) -> None:
    path = tmp_path / "people.json"
    found = home.people.find("telegram", GUEST)
    assert found is not None
    assert found.rank is PersonRole.GUEST
    before = path.stat()
    text = path.read_text()
    # As an editor does it that writes into the same file
    path.write_text(
        text.replace(f'"sender":"{GUEST}"', '"sender":"9009"').replace(
            f'"sender": "{GUEST}"', '"sender": "9009"'
        )
    )
    assert (path.stat().st_ino, path.stat().st_size) == (before.st_ino, before.st_size)
    assert home.people.find("telegram", GUEST) is None
    assert home.people.find("telegram", "9009") is not None


def test_a_name_is_no_longer_than_a_name(home: Household) -> None:
    found = home.people.let_in(PersonRole.USER, account("8"), "x" * 500)
    assert len(found.name) == 40
    assert len(found.person_id) == len("p12345678")


def test_groups_are_listed_by_channel_and_then_by_place(home: Household) -> None:
    for channel, target in (("matrix", "1"), ("signal", "0"), ("matrix", "0")):
        home.people.listen_in(PairedGroup(channel=channel, target=target), wanted=True)
    listed = [(one.channel, one.target) for one in home.people.groups()]
    assert listed == [("matrix", "0"), ("matrix", "1"), ("signal", "0"), ("telegram", LET_IN)]


def test_another_file_of_the_same_time_and_size_is_another_file(
    home: Household, tmp_path: Path
) -> None:
    path, other = tmp_path / "people.json", tmp_path / "other.json"
    assert home.people.find("telegram", GUEST) is not None
    text = path.read_text()
    assert len(GUEST) == 4
    other.write_text(text.replace(GUEST, "9009"))
    found = path.stat()
    os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
    other.replace(path)
    assert path.stat().st_size == found.st_size
    assert home.people.find("telegram", GUEST) is None


def test_a_file_that_has_not_changed_is_read_once(
    home: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home.people.owner() is not None
    opened: list[Path] = []
    open_documents = module.open_documents

    def open_and_count(path: Path) -> "TinyDB":
        opened.append(path)
        return open_documents(path)

    monkeypatch.setattr(module, "open_documents", open_and_count)
    for _ in range(3):
        assert home.people.owner() is not None
    assert opened == []
    home.people.listen_in(PairedGroup(channel="matrix", target="1"), wanted=True)
    opened.clear()
    assert home.people.listens_in("matrix", "1")
    assert len(opened) == 1
