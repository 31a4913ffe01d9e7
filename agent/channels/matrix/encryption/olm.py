"""Requests to the server about devices: their list, their keys, and our messages to them.

A device that has no key to begin with is left alone for a while: it gets what is said later.
"""

import json
import secrets
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any

from msgspec import Struct
from vodozemac import AnyOlmMessage, Curve25519PublicKey, PreKeyMessage, Session

from agent.channels.matrix.client import MatrixApi
from agent.channels.matrix.encryption import devices
from agent.channels.matrix.encryption.devices import MatrixDevice, is_key
from agent.channels.matrix.encryption.own_device import (
    ALGORITHMS,
    OwnDevice,
    account_of,
    device_keys,
    keep,
)
from agent.channels.matrix.encryption.signatures import is_signed, unpadded, unpadded_bytes
from agent.channels.matrix.encryption.vault import KeyVault, KeyVaultSession
from agent.channels.matrix.events import MatrixEvent, is_id
from agent.system.clock import Clock

OLM = ALGORITHMS[0]
# Of one device with another; a third beginning is somebody's trouble with a backup
MAX_PAIRS = 5
_BEGINNING = 0


class OlmDecryptError(Exception):
    """Message that cannot be read, or is not what it claims.

    Args:
        curve: of the device to begin anew with; empty where that does not help.
    """

    def __init__(self, reason: str, curve: str = "") -> None:
        super().__init__(reason)
        self.curve = curve


class OlmMessage(Struct, frozen=True):
    """Message of a device to ours.

    Args:
        curve, ed: keys of the device; the second one is only what it says.
    """

    kind: str
    content: dict[str, Any]
    sender: str
    curve: str
    ed: str


def hear(shelf: KeyVaultSession, us: OwnDevice, event: MatrixEvent, now_s: float) -> OlmMessage:
    """Decrypt an event to this device.

    Raises:
        Unheard: nothing that can be used.
    """
    curve = event.text("sender_key")
    by_key = event.content.get("ciphertext")
    mine = by_key.get(us.curve) if isinstance(by_key, dict) else None
    if event.text("algorithm") != OLM or not isinstance(mine, dict):
        raise OlmDecryptError("it is not for this device")
    kind, body = mine.get("type"), mine.get("body")
    is_named = is_key(curve) and is_id(event.sender)
    # Whatever it is: no set would have it
    if kind not in (0, 1) or not isinstance(body, str) or not is_named:
        raise OlmDecryptError("it is in no form that is known")
    try:
        plain = _opened(shelf, curve, int(kind), body, now_s)
        told = json.loads(plain)
    except (ValueError, RecursionError) as err:
        raise OlmDecryptError(str(err), curve) from err
    return _checked(us, event.sender, curve, told)


def begin(shelf: KeyVaultSession, device: MatrixDevice, told: object, now_s: float) -> bool:
    """Start a session with the server's key of the device; return false if it is invalid."""
    for one in told.values() if isinstance(told, dict) else ():
        if not isinstance(one, dict) or not isinstance(one.get("key"), str):
            continue
        if not is_signed(one, device.user, device.device, device.ed):
            continue
        try:
            theirs = Curve25519PublicKey.from_base64(device.curve)
            once = Curve25519PublicKey.from_base64(one["key"])
            account = account_of(shelf)
            session = account.create_outbound_session(theirs, once)
        except ValueError:
            continue
        _keep(shelf, device.curve, session, now_s)
        return True
    return False


def has_pair(shelf: KeyVaultSession, device: MatrixDevice) -> bool:
    query = "SELECT 1 FROM pairs WHERE curve = ? LIMIT 1"
    return shelf.db.execute(query, (device.curve,)).fetchone() is not None


def say(
    shelf: KeyVaultSession,
    us: OwnDevice,
    device: MatrixDevice,
    kind: str,
    content: dict[str, object],
) -> dict[str, object] | None:
    """Encrypt an event for that device; None without a session."""
    query = "SELECT pickle, used_s FROM pairs WHERE curve = ? ORDER BY used_s DESC LIMIT 1"
    row = shelf.db.execute(query, (device.curve,)).fetchone()
    if row is None:
        return None
    session = Session.from_pickle(row[0], shelf.key)
    told = {
        "type": kind,
        "content": content,
        "sender": us.user,
        "keys": {"ed25519": us.ed},
        "recipient": device.user,
        "recipient_keys": {"ed25519": device.ed},
        "sender_device_keys": device_keys(shelf, us),
    }
    number, body = session.encrypt(json.dumps(told).encode()).to_parts()
    _keep(shelf, device.curve, session, row[1])
    sealed = {device.curve: {"type": number, "body": unpadded(body)}}
    return {"algorithm": OLM, "sender_key": us.curve, "ciphertext": sealed}


def _opened(shelf: KeyVaultSession, curve: str, kind: int, body: str, now_s: float) -> bytes:
    message = AnyOlmMessage.from_parts(kind, unpadded_bytes(body))
    beginning = message.to_pre_key()
    query = "SELECT pickle FROM pairs WHERE curve = ? ORDER BY used_s DESC"
    for (pickle,) in shelf.db.execute(query, (curve,)).fetchall():
        session = Session.from_pickle(pickle, shelf.key)
        if beginning is not None and not session.session_matches(beginning):
            continue
        try:
            plain = session.decrypt(message)
        except ValueError:
            if beginning is not None:
                raise
            continue
        _keep(shelf, curve, session, now_s)
        return plain
    if beginning is None:
        raise ValueError("nothing was begun with that device")
    return _begun(shelf, curve, beginning, now_s)


def _begun(shelf: KeyVaultSession, curve: str, beginning: PreKeyMessage, now_s: float) -> bytes:
    account = account_of(shelf)
    theirs = Curve25519PublicKey.from_base64(curve)
    session, plain = account.create_inbound_session(theirs, beginning)
    keep(shelf, account)
    _keep(shelf, curve, session, now_s)
    return plain


def _keep(shelf: KeyVaultSession, curve: str, session: Session, used_s: float) -> None:
    row = (session.session_id, curve, session.pickle(shelf.key), used_s)
    shelf.db.execute("INSERT OR REPLACE INTO pairs VALUES (?, ?, ?, ?)", row)
    shelf.db.execute(
        "DELETE FROM pairs WHERE curve = ? AND session NOT IN "
        "(SELECT session FROM pairs WHERE curve = ? ORDER BY used_s DESC LIMIT ?)",
        (curve, curve, MAX_PAIRS),
    )


def _checked(us: OwnDevice, sender: str, curve: str, told: Any) -> OlmMessage:
    whom = told if isinstance(told, dict) else {}
    keys, ours = whom.get("keys"), whom.get("recipient_keys")
    ed = keys.get("ed25519") if isinstance(keys, dict) else None
    is_ours = isinstance(ours, dict) and ours.get("ed25519") == us.ed
    kind, content = whom.get("type"), whom.get("content")
    if whom.get("sender") != sender or whom.get("recipient") != us.user or not is_ours:
        raise OlmDecryptError("it was written by or for somebody else")
    if not (isinstance(ed, str) and isinstance(kind, str) and isinstance(content, dict)):
        raise OlmDecryptError("it is in no form that is known")
    if not is_key(ed):
        raise OlmDecryptError("its key is none")
    return OlmMessage(kind, content, sender, curve, ed)


# What the server waits for servers of others
ASK_OTHERS_MS = 8000
# Of one request; each device takes about 3 KB of it
MOST_AT_ONCE = 20
MOST_PEOPLE_AT_ONCE = 100
# A device without keys is asked for one this often
BARREN_S = 600.0
# Devices that are remembered to have none
MAX_BARREN = 1000


class DeviceRequests:
    """Client for requests about devices."""

    def __init__(self, api: MatrixApi, vault: KeyVault, clock: Clock) -> None:
        self._api = api
        self._vault = vault
        self._clock = clock
        # Until when
        self._barren: dict[tuple[str, str], float] = {}

    async def ask(self, user: str) -> dict[str, Any]:
        """Return the server's answer about one person's keys."""
        return await self._api.call("POST", "/keys/query", {"device_keys": {user: []}})

    async def fresh(self, users: Iterable[str]) -> None:
        """Update the device lists of these people."""
        known = tuple(users)
        stale = await self._vault.transact(lambda shelf: devices.track(shelf, known))
        for some in _by(MOST_PEOPLE_AT_ONCE, stale):
            body = {"device_keys": {user: [] for user in some}, "timeout": ASK_OTHERS_MS}
            told = await self._api.call("POST", "/keys/query", body)
            asked = {user: stale[user] for user in some}
            await self._vault.transact(partial(_found, told=told, asked=asked))

    async def fresh_again(self, user: str) -> None:
        await self._vault.transact(lambda shelf: devices.changed(shelf, [user]))
        await self.fresh([user])

    async def begin(self, wanted: Sequence[MatrixDevice], *, anew: bool = False) -> None:
        """Start a session with each device that can have one."""
        now_s = self._clock.monotonic_s()
        self._barren = {one: until for one, until in self._barren.items() if until > now_s}

        def lacking(shelf: KeyVaultSession) -> list[MatrixDevice]:
            return [one for one in wanted if anew or not has_pair(shelf, one)]

        asked = [
            one
            for one in await self._vault.look(lacking)
            if (one.user, one.device) not in self._barren
        ]
        for some in _by(MOST_PEOPLE_AT_ONCE, asked):
            for one in await self._claim(some):
                self._barren[(one.user, one.device)] = now_s + BARREN_S
        while len(self._barren) > MAX_BARREN:
            self._barren.pop(next(iter(self._barren)))

    async def tell(
        self, us: OwnDevice, kind: str, content: dict[str, object], wanted: Sequence[MatrixDevice]
    ) -> list[MatrixDevice]:
        """Send each device a message; return the devices that got one."""
        told: list[MatrixDevice] = []
        for some in _by(MOST_AT_ONCE, wanted):
            sealed = await self._vault.transact(
                partial(_sealed, us=us, kind=kind, content=content, some=some)
            )
            messages: dict[str, dict[str, object]] = {}
            for one, event in sealed:
                messages.setdefault(one.user, {})[one.device] = event
            if messages:
                path = f"/sendToDevice/m.room.encrypted/barnacle-{secrets.token_hex(8)}"
                await self._api.call("PUT", path, {"messages": messages})
            told += [one for one, _ in sealed]
        return told

    async def _claim(self, some: Sequence[MatrixDevice]) -> list[MatrixDevice]:
        """Start a session with each; return the devices without one-time keys."""
        wanted: dict[str, dict[str, str]] = {}
        for one in some:
            wanted.setdefault(one.user, {})[one.device] = "signed_curve25519"
        body = {"one_time_keys": wanted, "timeout": ASK_OTHERS_MS}
        told = (await self._api.call("POST", "/keys/claim", body)).get("one_time_keys")
        now_s = self._clock.wall_s()

        def without_key(shelf: KeyVaultSession) -> list[MatrixDevice]:
            return [
                one for one in some if not begin(shelf, one, _at(told, one.user, one.device), now_s)
            ]

        return await self._vault.transact(without_key)


def _found(shelf: KeyVaultSession, told: dict[str, Any], asked: dict[str, int]) -> None:
    away = told.get("failures")
    for user, number in asked.items():
        if not (isinstance(away, dict) and user.partition(":")[2] in away):
            devices.found(shelf, user, _at(told, "device_keys", user), number)


def _sealed(
    shelf: KeyVaultSession,
    us: OwnDevice,
    kind: str,
    content: dict[str, object],
    some: Sequence[MatrixDevice],
) -> list[tuple[MatrixDevice, dict[str, object]]]:
    sealed = [(one, say(shelf, us, one, kind, content)) for one in some]
    return [(one, event) for one, event in sealed if event is not None]


def _at(told: Any, *names: str) -> Any:
    for name in names:
        told = told.get(name) if isinstance(told, dict) else None
    return told


def _by(most: int, those: Iterable[Any]) -> Iterable[list[Any]]:
    rest = iter(those)
    while some := list(islice(rest, most)):
        yield some
