from pathlib import Path

import pytest

from agent.access.people import PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.errors import ConfigRefused
from agent.gateway.assistants.wyoming.clients import NAME, exact, place_of, probe
from agent.gateway.settings import WyomingSettings
from agent.system.clock import SystemClock


def settings(listen: str = "127.0.0.1:10700", *clients: str) -> WyomingSettings:
    return WyomingSettings(listen=listen, clients=clients)


def test_only_this_machine_comes_without_a_list() -> None:
    place = place_of(settings())
    assert (place.address, place.port, place.in_words) == ("127.0.0.1", 10700, "127.0.0.1:10700")
    assert place.admits("127.0.0.1")
    assert place.admits("::1")
    assert not place.admits("192.168.1.10")


def test_where_others_can_come_a_list_says_who() -> None:
    place = place_of(settings("0.0.0.0:10700", "192.168.1.10", "::ffff:192.168.1.11"))
    assert place.admits("192.168.1.10")
    assert place.admits("192.168.1.11")
    # Not even this machine, unless it is listed
    assert not place.admits("127.0.0.1")
    assert not place.admits("192.168.1.1")
    assert place_of(settings("[::]:10700", "fd00::1")).in_words == "[::]:10700"


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (settings("0.0.0.0:10700"), "list the address of Home Assistant in wyoming.clients"),
        (settings("192.168.1.5:10700"), "others can reach"),
        (settings("1.2.3:10700"), "invalid wyoming.listen"),
        (settings("127.0.0.1:99999"), "at most 65535"),
        (settings("127.0.0.1:10700", "unix"), "invalid wyoming.clients"),
    ],
)
def test_what_would_let_anybody_in_is_refused(wanted: WyomingSettings, told: str) -> None:
    with pytest.raises(ConfigRefused, match=told):
        place_of(wanted)


def test_an_address_has_one_form() -> None:
    assert exact("[FD00::0001%eth0]") == "fd00::1"
    assert exact("::ffff:10.0.0.1") == "10.0.0.1"


async def test_doctor_says_who_is_missing(tmp_path: Path) -> None:
    people = PeopleStore(tmp_path / "people.json", SystemClock())
    both = settings("0.0.0.0:10700", "192.168.1.10", "192.168.1.11")
    with pytest.raises(ConfigRefused, match=r"pair --wyoming 127\.0\.0\.1"):
        await probe(settings(), people)
    account = PersonAccount(channel=NAME, sender="192.168.1.10", target="")
    people.let_in(PersonRole.GUEST, account, "kitchen")
    with pytest.raises(ConfigRefused, match=r"pair --wyoming 192\.168\.1\.11"):
        await probe(both, people)
    assert "for 192.168.1.10" in await probe(settings(), people)
