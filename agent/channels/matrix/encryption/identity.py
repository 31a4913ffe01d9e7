"""The account's signature under this device: without one, Element and others share nothing.

Made once. The keys of another program take their place only with the account's password: the
account is the agent's alone.
"""

import logging
from typing import Any

from vodozemac import Account

from agent.channels.matrix.api import MatrixApi, MatrixRefused
from agent.channels.matrix.encryption.ourselves import Ourselves, account_of, device_keys
from agent.channels.matrix.encryption.signing import is_signed, signed
from agent.channels.matrix.encryption.vault import Shelf, Vault

_log = logging.getLogger(__name__)

_NOT_OURS = (
    "another program has made the signing keys of this Matrix account: Element will not let the "
    "device %s read until they are reset at the server and the agent is started again"
)
_MASTER, _DEVICES, _PEOPLE = _USES = ("master", "self_signing", "user_signing")


async def prove(api: MatrixApi, vault: Vault, us: Ourselves, told: dict[str, Any]) -> None:
    """Have this device signed by the account.

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
        _log.info("the server does not take signing keys: %s", err)


def _keys(shelf: Shelf, us: Ourselves) -> dict[str, Any]:
    """The three public keys of the account, made where they are not."""
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


def _signed_device(shelf: Shelf, us: Ourselves) -> dict[str, Any]:
    signer = _signer(shelf, _DEVICES)
    name = signer.ed25519_key.to_base64()
    return signed(device_keys(shelf, us), us.user, name, signer.sign)


def _signer(shelf: Shelf, use: str) -> Account:
    """A key that signs; of the library's account nothing else is used."""
    name = f"signer {use}"
    if kept := shelf.told(name):
        return Account.from_pickle(kept, shelf.key)
    signer = Account()
    shelf.tell(name, signer.pickle(shelf.key))
    return signer


def _name_of(key: dict[str, Any]) -> str:
    [public] = key["keys"].values()
    return str(public)


def _device(told: dict[str, Any], us: Ourselves) -> dict[str, Any]:
    by_user = told.get("device_keys")
    devices = by_user.get(us.user) if isinstance(by_user, dict) else None
    one = devices.get(us.device) if isinstance(devices, dict) else None
    return one if isinstance(one, dict) else {}


def _public(told: dict[str, Any], which: str, user: str) -> str:
    """The one key that stands there; empty where there is none."""
    by_user = told.get(which)
    one = by_user.get(user) if isinstance(by_user, dict) else None
    keys = one.get("keys") if isinstance(one, dict) else None
    found = list(keys.values()) if isinstance(keys, dict) else []
    return found[0] if len(found) == 1 and isinstance(found[0], str) else ""
