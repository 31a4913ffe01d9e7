"""Wi-Fi of the device: the connection for NetworkManager, and the country of the radio."""

import os
import socket
import struct
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from agent.storage.files import write_atomic

if TYPE_CHECKING:
    from agent.provision.settings import WifiSettings

# From linux/genetlink.h and linux/nl80211.h
_GENERIC, _CONTROL_FAMILY = 16, 16
_GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 3, 1, 2
_REQUEST_SET_REGION, _ALPHA2 = 27, 33
_REQUEST, _ACKNOWLEDGE = 1, 4
_IS_ERROR = 2
_HEADER, _GENERIC_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBH"), 4
# The kernel answers at once
_ANSWER_S = 5.0
_MAX_ANSWER_BYTES = 65536


def set_country(country: str) -> bool:
    """Tell the kernel the country; return false if it has no radio.

    Raises:
        OSError: it may not be asked.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _GENERIC) as kernel:
        kernel.settimeout(_ANSWER_S)
        kernel.bind((0, 0))
        asked = _message(_CONTROL_FAMILY, _GET_FAMILY, _FAMILY_NAME, b"nl80211\0")
        kernel.sendall(asked)
        family = _family(kernel.recv(_MAX_ANSWER_BYTES))
        if family is None:
            return False
        kernel.sendall(_message(family, _REQUEST_SET_REGION, _ALPHA2, country.encode() + b"\0"))
        return _error(kernel.recv(_MAX_ANSWER_BYTES)) == 0


def _message(family: int, command: int, attribute: int, value: bytes) -> bytes:
    length = _ATTRIBUTE + len(value)
    body = _GENERIC_HEADER.pack(command, 1, 0)
    body += struct.pack("=HH", length, attribute) + value + bytes(-length % 4)
    flags = _REQUEST | (_ACKNOWLEDGE if family != _CONTROL_FAMILY else 0)
    return _HEADER.pack(_HEADER.size + len(body), family, flags, 1, os.getpid()) + body


def _error(answer: bytes) -> int | None:
    """The error's number, 0 for "done"; None for an answer of another kind."""
    _, kind, *_ = _HEADER.unpack_from(answer)
    if kind != _IS_ERROR:
        return None
    return int(-struct.unpack_from("=i", answer, _HEADER.size)[0])


def _family(answer: bytes) -> int | None:
    if _error(answer) is not None:
        return None
    at = _HEADER.size + _GENERIC_HEADER.size
    while at + _ATTRIBUTE <= len(answer):
        length, attribute = struct.unpack_from("=HH", answer, at)
        if attribute == _FAMILY_ID:
            return int(struct.unpack_from("=H", answer, at + _ATTRIBUTE)[0])
        at += max(length + -length % 4, _ATTRIBUTE)
    return None


NAME = "barnacle-wifi.nmconnection"
# Names made of a network's name are the same on every start
_NAMESPACE = uuid.UUID("ba12ac1e-0001-5d5a-9e0b-000000000001")
_PSK = "psk="


def connect(folder: Path, wifi: "WifiSettings") -> None:
    """Have NetworkManager join the network, from its next start on.

    Raises:
        StorageFull: what was there before still is.
    """
    write_atomic(folder / NAME, connection(wifi).encode())


def connection(wifi: "WifiSettings") -> str:
    """The file of a connection."""
    ssid = wifi.ssid.encode()
    lines = [
        "# Written by Barnacle from barnacle.toml or `barnacle setup`",
        "[connection]",
        "id=barnacle-wifi",
        f"uuid={uuid.uuid5(_NAMESPACE, ssid.hex())}",
        "type=wifi",
        "",
        "[wifi]",
        "mode=infrastructure",
        # As numbers: whatever the name holds, it is nothing but a name
        f"ssid={''.join(f'{byte};' for byte in ssid)}",
        *(["hidden=true"] if wifi.hidden else []),
        "",
    ]
    if wifi.password:
        # NetworkManager takes WPA3 with it where the network has that
        lines += ["[wifi-security]", "key-mgmt=wpa-psk"]
        lines += [_PSK + wifi.password.reveal().replace("\\", "\\\\"), ""]
    lines += ["[ipv4]", "method=auto", "", "[ipv6]", "method=auto", ""]
    return "\n".join(lines)


def password_kept(folder: Path) -> str:
    """Return the stored password; empty if there is none."""
    try:
        lines = (folder / NAME).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return ""
    psk = next((line.removeprefix(_PSK) for line in lines if line.startswith(_PSK)), "")
    return psk.replace("\\\\", "\\")
