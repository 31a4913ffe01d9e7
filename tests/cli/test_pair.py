import json
import os
import re
from pathlib import Path

import pytest

from agent.access.pairing_codes import Invitation
from agent.access.people import BROWSERS, PairedGroup, PersonAccount
from agent.access.roles import PersonRole
from agent.app.access import AccessControl
from agent.cli import exits
from agent.cli.main import main
from agent.settings import Paths
from agent.system.clock import SystemClock

CODE = re.compile(r"/pair ([0-9A-Z]{5}-[0-9A-Z]{5})")


@pytest.fixture
def doorway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AccessControl:
    """Of an agent that runs beside the commands."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    return AccessControl(Paths(None, tmp_path), SystemClock())


def account(sender: str) -> PersonAccount:
    return PersonAccount(channel="telegram", sender=sender, target=sender)


def made(doorway: AccessControl, out: str) -> Invitation:
    found = CODE.search(out)
    assert found is not None
    invitation = doorway.codes.spend(found[1])
    assert invitation is not None
    return invitation


def test_the_first_code_is_the_owners_and_later_ones_a_users(
    doorway: AccessControl, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pair"]) == exits.OK
    out = capsys.readouterr().out
    assert "the owner, who may do everything" in out
    assert "No chat platform is configured yet" in out
    assert made(doorway, out) == Invitation(role="owner")
    doorway.people.let_in(PersonRole.OWNER, account("1"))
    assert main(["pair", "--name", "Anna"]) == exits.OK
    assert made(doorway, capsys.readouterr().out) == Invitation(role="user", name="Anna")
    assert main(["pair", "--role", "guest"]) == exits.OK
    assert made(doorway, capsys.readouterr().out) == Invitation(role="guest")


def test_a_program_gets_the_code_as_json(
    doorway: AccessControl, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pair", "--json"]) == exits.OK
    told = json.loads(capsys.readouterr().out)
    assert told["role"] == "owner"
    assert doorway.codes.spend(told["code"]) is not None


def test_another_account_of_somebody_who_is_there(
    doorway: AccessControl, capsys: pytest.CaptureFixture[str]
) -> None:
    anna = doorway.people.let_in(PersonRole.GUEST, account("2"), "Anna")
    assert main(["pair", "--for", "anna"]) == exits.OK
    out = capsys.readouterr().out
    assert "Anna, with another account" in out
    assert made(doorway, out).person_id == anna.person_id
    assert main(["pair", "--for", "owner"]) == exits.OK
    assert made(doorway, capsys.readouterr().out) == Invitation(role="owner")
    assert main(["pair", "--for", "nemo"]) == exits.USAGE
    assert main(["pair", "--for", "anna", "--role", "owner"]) == exits.USAGE


def test_people_and_groups_are_listed(
    doorway: AccessControl, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["people"]) == exits.OK
    assert "no people paired" in capsys.readouterr().out
    doorway.people.let_in(PersonRole.OWNER, account("1"))
    doorway.people.listen_in(PairedGroup(channel="telegram", target="-5"), wanted=True)
    assert main(["people"]) == exits.OK
    out = capsys.readouterr().out
    assert re.search(r"owner +owner +telegram:1 +since 20", out)
    assert "listens in the group telegram:-5" in out
    guest = doorway.people.let_in(PersonRole.GUEST, account("2"), "Anna")
    doorway.people.forget_account("telegram", "2")
    assert main(["people"]) == exits.OK
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "Anna" in line]
    assert line.split() == ["Anna", "guest", "no", "account", guest.person_id]
    assert main(["people", "--json"]) == exits.OK
    told = json.loads(capsys.readouterr().out)
    assert told["people"][0]["accounts"][0]["sender"] == "1"
    assert told["groups"] == [{"channel": "telegram", "target": "-5"}]


def test_who_is_revoked_is_nobody_to_a_running_agent(
    doorway: AccessControl, capsys: pytest.CaptureFixture[str]
) -> None:
    doorway.people.let_in(PersonRole.OWNER, account("1"))
    doorway.people.let_in(PersonRole.USER, account("2"), "Anna")
    assert doorway.people.find("telegram", "2") is not None
    assert main(["revoke", "ANNA"]) == exits.OK
    assert doorway.people.find("telegram", "2") is None
    assert "Anna (user) no longer has access" in capsys.readouterr().out
    assert main(["revoke", "anna"]) == exits.USAGE
    assert "known: owner" in capsys.readouterr().err
    assert main(["revoke", "owner"]) == exits.OK
    assert "the device has no owner now" in capsys.readouterr().out


def test_a_browser_is_revoked_by_the_beginning_of_its_id(
    doorway: AccessControl, capsys: pytest.CaptureFixture[str]
) -> None:
    for browser in ("abcd1", "abcd2", "ffff"):
        there = PersonAccount(channel=BROWSERS, sender=browser, target=browser)
        doorway.people.let_in(PersonRole.OWNER, there)
    assert main(["revoke", "--browser", "abcd"]) == exits.USAGE
    assert "names 2 browsers" in capsys.readouterr().err
    assert main(["revoke", "--browser", "nothing"]) == exits.USAGE
    assert "known: abcd1, abcd2, ffff" in capsys.readouterr().err
    assert main(["revoke", "--browser", "console:ffff"]) == exits.OK
    owner = doorway.people.owner()
    assert owner is not None
    assert [one.sender for one in owner.accounts] == ["abcd1", "abcd2"]


def test_a_group_is_revoked_by_what_the_list_calls_it(
    doorway: AccessControl, capsys: pytest.CaptureFixture[str]
) -> None:
    doorway.people.listen_in(PairedGroup(channel="telegram", target="-5"), wanted=True)
    assert main(["revoke", "--group", "telegram:-6"]) == exits.USAGE
    assert "telegram:-5" in capsys.readouterr().err
    assert main(["revoke", "--group", "telegram:-5"]) == exits.OK
    assert doorway.people.groups() == []


def test_what_an_administrator_makes_belongs_to_the_agent(
    doorway: AccessControl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, int] = {}

    def chown(path: Path, uid: int, _gid: int, *, follow_symlinks: bool) -> None:
        assert not follow_symlinks
        given[path.name] = uid

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", chown)
    assert main(["pair"]) == exits.OK
    owner = tmp_path.stat().st_uid
    assert given == {"codes.json": owner, "codes.json.lock": owner}
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    given.clear()
    assert main(["pair"]) == exits.OK
    assert given == {}
    assert doorway.people.owner() is None


def test_a_voice_assistant_is_let_in_by_its_address(
    doorway: AccessControl, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pair", "--wyoming", "::ffff:192.168.1.10"]) == exits.OK
    assert "192.168.1.10 counts as the words of voice, a guest" in capsys.readouterr().out
    person = doorway.people.find("wyoming", "192.168.1.10")
    assert person is not None
    assert person.rank is PersonRole.GUEST
    told = ["pair", "--wyoming", "192.168.1.11", "--role", "user", "--name", "bath", "--json"]
    assert main(told) == exits.OK
    made = json.loads(capsys.readouterr().out)
    assert made == {"person": "bath", "role": "user", "address": "192.168.1.11"}


@pytest.mark.parametrize(
    "wrong", [["kitchen"], ["10.0.0.1", "--role", "owner"], ["10.0.0.1", "--for", "owner"]]
)
def test_no_room_is_the_owner_and_no_name_an_address(
    doorway: AccessControl, capsys: pytest.CaptureFixture[str], wrong: list[str]
) -> None:
    assert main(["pair", "--wyoming", *wrong]) != exits.OK
    assert "--wyoming" in capsys.readouterr().err
    assert doorway.people.everyone() == ()


def test_a_device_is_let_in_by_its_name_and_is_never_the_owner(
    doorway: AccessControl, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pair", "--device", "kitchen"]) == exits.OK
    assert "kitchen, a user" in capsys.readouterr().out
    person = doorway.people.find("devices", "kitchen")
    assert person is not None
    assert person.role == "user"
    assert main(["pair", "--device", "attic", "--role", "owner"]) != exits.OK
