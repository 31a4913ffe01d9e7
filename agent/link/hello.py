"""Reply of a board to a greeting, and clues about a device that does not reply."""

import struct

from msgspec import Struct

from agent.link.base import BoardIdentity
from agent.link.frame import HELLO_ACK_FORMAT, HELLO_FORMAT, PROTOCOL_VERSION
from agent.text.printable import printable_line

# A sign may arrive in two reads: so much of the latest bytes is looked at again
_KEPT_BYTES = 64
_AT_PROMPT = "a MicroPython prompt answers at "
# What each kind of stranger writes, and what to tell the person
_STRANGERS = (
    (
        (b">>>", b"raw REPL", b"Traceback (most recent call last)", b"MicroPython"),
        (
            _AT_PROMPT + "{path}, not the Barnacle firmware: "
            "install it with `barnacle board install --port {path}`, or close the program that "
            "stopped it"
        ),
    ),
    ((b"login:", b"Password:"), "a login prompt answers at {path}: choose another port"),
)


class UnknownDevice:
    """Bytes of a device that has not greeted back."""

    def __init__(self) -> None:
        self.is_echo = False
        self._latest = b""
        # Once seen, for good: a prompt that echoes our greetings soon says nothing else
        self._stranger = ""

    def add(self, data: bytes) -> None:
        heard = self._latest + data
        if not self._stranger:
            self._stranger = _stranger_of(heard)
        self._latest = heard[-_KEPT_BYTES:]

    def sentence(self, path: str) -> str:
        """Return why there is no session, as a sentence for a person."""
        # First: a prompt may echo a greeting whole
        if self._stranger:
            return self._stranger.format(path=path)
        if self.is_echo:
            return (
                f"{path} echoes everything that is sent: is its receive pin connected to its "
                "own output?"
            )
        if not self._latest:
            return f"nothing answers at {path}: is the Barnacle firmware on the board?"
        return f"{path} sends data that is not the link protocol: wrong device or wrong baud rate"


def is_at_prompt(trouble: str) -> bool:
    """Return true if that sentence says that MicroPython answers instead of our firmware."""
    return trouble.startswith(_AT_PROMPT)


def _stranger_of(heard: bytes) -> str:
    for signs, sentence in _STRANGERS:
        if any(sign in heard for sign in signs):
            return sentence
    return ""


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


class BoardHello(Struct, frozen=True):
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
            f"firmware {self.identity.firmware} on the board does not support version "
            f"{MAX_PROTOCOL} of the link protocol: flash the firmware of this agent"
        )


def hello_payload(nonce: int) -> bytes:
    return struct.pack(HELLO_FORMAT, MIN_PROTOCOL, MAX_PROTOCOL, nonce)


def read_hello(payload: bytes) -> BoardHello | None:
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
    return BoardHello(nonce, identity, window, manifest_hash, configuration_hash)
