"""Greeting of a board: the fields of HELLO_ACK."""

import struct
from dataclasses import dataclass

from agent.link.base import BoardIdentity
from agent.link.frame import HELLO_ACK_FORMAT, HELLO_FORMAT, PROTOCOL_VERSION
from agent.printable import printable_line

MIN_PROTOCOL = PROTOCOL_VERSION
MAX_PROTOCOL = PROTOCOL_VERSION
# As long as a name that is shown in one line
MAX_BOARD_NAME_CHARS = 48

_RESET_CAUSES = (
    "unknown",
    "power-on",
    "reset pin",
    "watchdog",
    "brown-out",
    "software",
    "deep sleep",
)
_FLASH_CLASSES = ("none", "fat-16k", "littlefs", "raw-ab")


@dataclass(frozen=True, slots=True)
class Greeting:
    """A HELLO_ACK: who answers, and what its receive buffer and its manifest are."""

    nonce: int
    identity: BoardIdentity
    window_bytes: int
    manifest_hash: bytes
    configuration_hash: bytes

    @property
    def is_understood(self) -> bool:
        """True if both sides speak a common version of the protocol."""
        return MIN_PROTOCOL <= self.identity.protocol <= MAX_PROTOCOL

    @property
    def refusal(self) -> str:
        """Sentence about a board that speaks no common version."""
        return (
            f"the firmware {self.identity.firmware} on the board does not speak version "
            f"{MAX_PROTOCOL} of the link: flash the firmware that came with this agent"
        )


def hello_payload(nonce: int) -> bytes:
    return struct.pack(HELLO_FORMAT, MIN_PROTOCOL, MAX_PROTOCOL, nonce)


def read_greeting(payload: bytes) -> Greeting | None:
    """The greeting, or None when it is too short to be one."""
    fixed = struct.calcsize(HELLO_ACK_FORMAT)
    if len(payload) < fixed:
        return None
    nonce, protocol, major, minor, patch, build, cause, boots, window, flash, *rest = (
        struct.unpack_from(HELLO_ACK_FORMAT, payload)
    )
    manifest_hash, configuration_hash, unique_id, name_bytes = rest
    name = payload[fixed : fixed + name_bytes].decode(errors="replace")
    identity = BoardIdentity(
        board=printable_line(name, MAX_BOARD_NAME_CHARS),
        unique_id=unique_id.hex(),
        firmware=f"{major}.{minor}.{patch}",
        build=build,
        protocol=protocol,
        reset_cause=_RESET_CAUSES[cause] if cause < len(_RESET_CAUSES) else _RESET_CAUSES[0],
        boot_count=boots,
        flash_class=_FLASH_CLASSES[flash] if flash < len(_FLASH_CLASSES) else _FLASH_CLASSES[0],
    )
    return Greeting(nonce, identity, window, manifest_hash, configuration_hash)
