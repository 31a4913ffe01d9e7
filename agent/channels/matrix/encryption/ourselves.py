"""This device: its account of the library, and the keys that others take to begin with it.

A key is kept before anybody is shown it, and shown before it counts as shown.
"""

from dataclasses import dataclass
from typing import Any

from vodozemac import Account

from agent.channels.matrix.encryption.signing import signed
from agent.channels.matrix.encryption.vault import Shelf

ALGORITHMS = ("m.olm.v1.curve25519-aes-sha2", "m.megolm.v1.aes-sha2")
# Each lets one device begin; a day's newcomers take a few
MOST_KEYS = 50
FEWEST_KEYS = 25


@dataclass(frozen=True, slots=True)
class Ourselves:
    """The account and device that we are, and its public keys."""

    user: str
    device: str
    curve: str
    ed: str


def ourselves(shelf: Shelf, user: str, device: str) -> Ourselves:
    """Return our identity; leftovers of another device, or unreadable ones, are dropped."""
    if (shelf.told("user"), shelf.told("device")) != (user, device) or not _is_readable(shelf):
        shelf.empty()
        shelf.tell("user", user)
        shelf.tell("device", device)
        keep(shelf, Account())
    account = account_of(shelf)
    return Ourselves(
        user, device, account.curve25519_key.to_base64(), account.ed25519_key.to_base64()
    )


def account_of(shelf: Shelf) -> Account:
    return Account.from_pickle(shelf.told("account"), shelf.key)


def keep(shelf: Shelf, account: Account) -> None:
    shelf.tell("account", account.pickle(shelf.key))


def device_keys(shelf: Shelf, us: Ourselves) -> dict[str, Any]:
    """The device as others are told of it."""
    keys = {f"curve25519:{us.device}": us.curve, f"ed25519:{us.device}": us.ed}
    told = {
        "user_id": us.user,
        "device_id": us.device,
        "algorithms": list(ALGORITHMS),
        "keys": keys,
    }
    return signed(told, us.user, us.device, account_of(shelf).sign)


def more_keys(shelf: Shelf, us: Ourselves, left: int, *, has_fallback: bool) -> dict[str, Any]:
    """Return the keys to upload so that others can begin; empty if enough are there."""
    account = account_of(shelf)
    # Those that an interrupted upload left are shown again
    if left < FEWEST_KEYS and not account.one_time_keys:
        account.generate_one_time_keys(MOST_KEYS - left)
    if not has_fallback and not _fallback(account):
        account.generate_fallback_key()  # type: ignore[attr-defined]  # the stubs miss it
    keep(shelf, account)

    def shown(keys: dict[str, Any], **more: object) -> dict[str, Any]:
        return {
            f"signed_curve25519:{name}": signed(
                {"key": key.to_base64(), **more}, us.user, us.device, account.sign
            )
            for name, key in keys.items()
        }

    body = {}
    if account.one_time_keys:
        body["one_time_keys"] = shown(account.one_time_keys)
    if fallback := _fallback(account):
        body["fallback_keys"] = shown(fallback, fallback=True)
    return body


def shown(shelf: Shelf) -> None:
    """The server has every key that was made."""
    account = account_of(shelf)
    account.mark_keys_as_published()
    keep(shelf, account)


def _fallback(account: Account) -> dict[str, Any]:
    found: dict[str, Any] = account.fallback_key  # type: ignore[attr-defined]  # the stubs miss it
    return found


def _is_readable(shelf: Shelf) -> bool:
    try:
        account_of(shelf)
    except ValueError:
        return False
    return True
