from agent.channels.matrix.encryption.own_device import (
    MOST_KEYS,
    device_keys,
    more_keys,
    ourselves,
    shown,
)
from agent.channels.matrix.encryption.signatures import is_signed
from agent.channels.matrix.encryption.vault import KeyVaultSession
from tests.channels.matrix.encryption.conftest import Parties


def test_a_device_is_the_same_after_a_restart(party: Parties) -> None:
    us = party("@us:x", "ONE")
    assert ourselves(us.shelf, "@us:x", "ONE") == us.us


def test_another_device_begins_with_nothing(party: Parties) -> None:
    us = party("@us:x", "ONE")
    us.shelf.tell("more", "x")
    other = ourselves(us.shelf, "@us:x", "TWO")
    assert other.curve != us.us.curve
    assert us.shelf.told("more") == ""


def test_keys_that_cannot_be_unsealed_are_as_lost(party: Parties) -> None:
    us = party("@us:x", "ONE")
    assert ourselves(KeyVaultSession(us.shelf.db, b"x" * 32), "@us:x", "ONE").curve != us.us.curve


def test_a_device_signs_what_it_shows(party: Parties) -> None:
    us = party("@us:x", "ONE")
    told = device_keys(us.shelf, us.us)
    assert is_signed(told, "@us:x", "ONE", us.us.ed)
    keys = more_keys(us.shelf, us.us, 0, has_fallback=False)
    assert len(keys["one_time_keys"]) == MOST_KEYS
    assert [one["fallback"] for one in keys["fallback_keys"].values()] == [True]
    for one in (keys["one_time_keys"] | keys["fallback_keys"]).values():
        assert is_signed(one, "@us:x", "ONE", us.us.ed)


def test_an_upload_that_was_cut_is_made_again_with_the_same_keys(party: Parties) -> None:
    us = party("@us:x")
    keys = more_keys(us.shelf, us.us, 0, has_fallback=False)
    assert more_keys(us.shelf, us.us, 0, has_fallback=False) == keys
    shown(us.shelf)
    assert more_keys(us.shelf, us.us, MOST_KEYS, has_fallback=True) == {}
    others = more_keys(us.shelf, us.us, 20, has_fallback=True)
    assert len(others["one_time_keys"]) == 30
    assert not keys["one_time_keys"].keys() & others["one_time_keys"].keys()
