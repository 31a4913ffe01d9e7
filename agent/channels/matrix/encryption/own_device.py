"""Cross-signing of this device: without it, Element shares no room keys.

Made once. The keys of another program take their place only with the account's password: the
account is the agent's alone.
"""

import logging
from typing import Any

from msgspec import Struct
from vodozemac import Account

from agent.channels.matrix.client import MatrixApi, MatrixRefused
from agent.channels.matrix.encryption.signatures import is_signed, signed
from agent.channels.matrix.encryption.vault import KeyVault, KeyVaultSession

ALGORITHMS = ("m.olm.v1.curve25519-aes-sha2", "m.megolm.v1.aes-sha2")
# Each lets one device begin; a day's newcomers take a few
MOST_KEYS = 50
FEWEST_KEYS = 25


class OwnDevice(Struct, frozen=True):
    """User, device and public keys of ourselves."""

    user: str
    device: str
    curve: str
    ed: str


def ourselves(shelf: KeyVaultSession, user: str, device: str) -> OwnDevice:
    """Return our identity; leftovers of another device, or unreadable ones, are dropped."""
    if (shelf.told("user"), shelf.told("device")) != (user, device) or not _is_readable(shelf):
        shelf.empty()
        shelf.tell("user", user)
        shelf.tell("device", device)
        keep(shelf, Account())
    account = account_of(shelf)
    return OwnDevice(
        user, device, account.curve25519_key.to_base64(), account.ed25519_key.to_base64()
    )


def account_of(shelf: KeyVaultSession) -> Account:
    return Account.from_pickle(shelf.told("account"), shelf.key)


def keep(shelf: KeyVaultSession, account: Account) -> None:
    shelf.tell("account", account.pickle(shelf.key))


def device_keys(shelf: KeyVaultSession, us: OwnDevice) -> dict[str, Any]:
    """Return the device's keys for others."""
    keys = {f"curve25519:{us.device}": us.curve, f"ed25519:{us.device}": us.ed}
    told = {
        "user_id": us.user,
        "device_id": us.device,
        "algorithms": list(ALGORITHMS),
        "keys": keys,
    }
    return signed(told, us.user, us.device, account_of(shelf).sign)


def more_keys(
    shelf: KeyVaultSession, us: OwnDevice, left: int, *, has_fallback: bool
) -> dict[str, Any]:
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


def shown(shelf: KeyVaultSession) -> None:
    """Mark all keys as published."""
    account = account_of(shelf)
    account.mark_keys_as_published()
    keep(shelf, account)


def _fallback(account: Account) -> dict[str, Any]:
    found: dict[str, Any] = account.fallback_key  # type: ignore[attr-defined]  # the stubs miss it
    return found


def _is_readable(shelf: KeyVaultSession) -> bool:
    try:
        account_of(shelf)
    except ValueError:
        return False
    return True


_log = logging.getLogger(__name__)

_NOT_OURS = (
    "matrix: another program owns the signing keys of the account; Element shares no room keys "
    "until they are reset at the server and the agent is restarted (device=%s)"
)
_MASTER, _DEVICES, _PEOPLE = _USES = ("master", "self_signing", "user_signing")


async def prove(api: MatrixApi, vault: KeyVault, us: OwnDevice, told: dict[str, Any]) -> None:
    """Have the account sign this device.

    Args:
        told: what the server says of the account's keys.
    """
    signer = _public(told, "self_signing_keys", us.user)
    if signer and is_signed(_device(told, us), us.user, signer, signer):
        return
    keys = await vault.transact(lambda shelf: _keys(shelf, us))
    signed_device = await vault.look(lambda shelf: _signed_device(shelf, us))
    proof = api.proof(us.user)
    try:
        if signer != _name_of(keys["self_signing_key"]):
            if signer and not proof:
                _log.warning(_NOT_OURS, us.device)
                return
            await api.call("POST", "/keys/device_signing/upload", {**keys, **proof})
        body = {us.user: {us.device: signed_device}}
        await api.call("POST", "/keys/signatures/upload", body)
    except MatrixRefused as err:
        _log.warning(_NOT_OURS, us.device)
        _log.info("matrix: server refused the signing keys (reason=%s)", err)


def _keys(shelf: KeyVaultSession, us: OwnDevice) -> dict[str, Any]:
    """Return the account's three public keys; make them if they are missing."""
    signers = {use: _signer(shelf, use) for use in _USES}
    master = signers[_MASTER]
    name = master.ed25519_key.to_base64()
    body: dict[str, Any] = {}
    for use, signer in signers.items():
        public = signer.ed25519_key.to_base64()
        told = {"user_id": us.user, "usage": [use], "keys": {f"ed25519:{public}": public}}
        if use == _MASTER:
            told = signed(told, us.user, us.device, account_of(shelf).sign)
        else:
            told = signed(told, us.user, name, master.sign)
        body[f"{use}_key"] = told
    return body


def _signed_device(shelf: KeyVaultSession, us: OwnDevice) -> dict[str, Any]:
    signer = _signer(shelf, _DEVICES)
    name = signer.ed25519_key.to_base64()
    return signed(device_keys(shelf, us), us.user, name, signer.sign)


def _signer(shelf: KeyVaultSession, use: str) -> Account:
    """Return a signing key; of the library's account nothing else is used."""
    name = f"signer {use}"
    if kept := shelf.told(name):
        return Account.from_pickle(kept, shelf.key)
    signer = Account()
    shelf.tell(name, signer.pickle(shelf.key))
    return signer


def _name_of(key: dict[str, Any]) -> str:
    [public] = key["keys"].values()
    return str(public)


def _device(told: dict[str, Any], us: OwnDevice) -> dict[str, Any]:
    by_user = told.get("device_keys")
    devices = by_user.get(us.user) if isinstance(by_user, dict) else None
    one = devices.get(us.device) if isinstance(devices, dict) else None
    return one if isinstance(one, dict) else {}


def _public(told: dict[str, Any], which: str, user: str) -> str:
    """Return the only public key of an entry; empty if there is none."""
    by_user = told.get(which)
    one = by_user.get(user) if isinstance(by_user, dict) else None
    keys = one.get("keys") if isinstance(one, dict) else None
    found = list(keys.values()) if isinstance(keys, dict) else []
    return found[0] if len(found) == 1 and isinstance(found[0], str) else ""
