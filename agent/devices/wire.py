"""Messages between two devices, sealed by a key that both have; the carrier is not trusted.

The seal says who wrote a message and to whom. That nothing is carried out twice, or late, is what
is in it: an id that the far device keeps, and a time on its own clock.
"""

import enum
import hashlib
import hmac
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from agent.config import Secret

# The largest is an offer: a manifest of a board has some ten kilobytes
MAX_MESSAGE_BYTES = 128 * 1024
MAX_TEXT_CHARS = 16 * 1024
# Of a key, which no person remembers: 32 random bytes in hex are 64
LEAST_KEY_CHARS = 32
_SEAL_BYTES = 32

Id = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
# The name of a board, an underscore and the name of a method
_Short = Annotated[str, Meta(max_length=80)]


class DeviceRefusal(enum.Enum):
    """Reason why a message is not read."""

    # Nobody with the key made it, or it was changed
    FORGED = "its seal is wrong"
    TOO_LONG = "it is too long"
    STRANGE = "it is no message of this version"


class UnreadableMessage(Exception):
    """Message that is dropped."""

    def __init__(self, why: DeviceRefusal) -> None:
        super().__init__(why.value)
        self.why = why


class RequestKind(enum.Enum):
    """Kind of a request."""

    # What is offered, and the time of the far device
    HELLO = "hello"
    # A call that changes nothing, and may be made twice
    LOOK = "look"
    # A call that is made once
    ACT = "act"
    # What became of an act; one that has not come by now never happens
    SETTLE = "settle"


class Outcome(enum.Enum):
    """Outcome of a request, as the far device tells it."""

    OFFER = "offer"
    # It was begun, and has no result yet
    AT_WORK = "at work"
    DONE = "done"
    # Nothing was done: not allowed, not lent, not now
    REFUSED = "refused"
    # It was tried; the text says how it ended
    FAILED = "failed"
    # It was begun, and the far device was cut off before the result
    UNKNOWN = "unknown"
    # It has not happened and never will
    NEVER = "never"
    # It names an earlier start of the far device, or came too late: nothing was done
    STALE = "stale"

    @property
    def is_final(self) -> bool:
        return self is not Outcome.AT_WORK


class DeviceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Request of the near device.

    Args:
        id: of an act, which the far device keeps; of others, what the reply is known by.
        session: start of the far device that the request is meant for.
        until_ms: on the far device's clock; an act that comes later is not begun.
        is_relayed: the words behind it are somebody else's.
    """

    kind: RequestKind
    id: Id
    session: _Short = ""
    until_ms: int = 0
    tool: _Short = ""
    arguments: Annotated[str, Meta(max_length=MAX_TEXT_CHARS)] = "{}"
    is_relayed: bool = False


class OfferedBoard(msgspec.Struct, frozen=True):
    """Board of the far device, with the pins that it lends."""

    name: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,31}\Z")]
    is_there: bool
    manifest: msgspec.Raw


class DeviceReply(msgspec.Struct, frozen=True, kw_only=True):
    """Reply of the far device.

    Args:
        session: of the far device: another one after each start.
        book: of the far device's memory of acts: another one where it was lost.
        clock_ms: of the far device, since its start.
    """

    id: Id
    outcome: Outcome
    session: _Short
    book: _Short
    clock_ms: int
    text: Annotated[str, Meta(max_length=2 * MAX_TEXT_CHARS)] = ""
    boards: Annotated[tuple[OfferedBoard, ...], Meta(max_length=8)] = ()
    has_readings: bool = False


class DeviceMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Message of either way."""

    request: DeviceRequest | None = None
    reply: DeviceReply | None = None


class DeviceSeal(Struct, frozen=True):
    """Seal of the messages between this device and another one; each way has a key of its own.

    Args:
        own, other: names of the devices.
    """

    own: str
    other: str
    secret: Secret

    def sealed(self, message: DeviceMessage) -> bytes:
        body = msgspec.json.encode(message)
        return self._seal(self.own, self.other, body) + body

    def opened(self, payload: bytes) -> DeviceMessage:
        """Return the message of the other device.

        Raises:
            UnreadableMessage: it is none.
        """
        if len(payload) > MAX_MESSAGE_BYTES:
            raise UnreadableMessage(DeviceRefusal.TOO_LONG)
        seal, body = payload[:_SEAL_BYTES], payload[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(self.other, self.own, body)):
            raise UnreadableMessage(DeviceRefusal.FORGED)
        try:
            return msgspec.json.decode(body, type=DeviceMessage)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
            raise UnreadableMessage(DeviceRefusal.STRANGE) from err

    def _seal(self, sender: str, receiver: str, body: bytes) -> bytes:
        about = f"barnacle devices 1: {sender} to {receiver}".encode()
        key = hmac.digest(self.secret.reveal().encode(), about, hashlib.sha256)
        return hmac.digest(key, body, hashlib.sha256)
