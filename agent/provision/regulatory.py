"""Tells the kernel in which country its radio speaks, over netlink: on which channels it may.

No program of the image does that. Where there is no radio, nothing happens.
"""

import os
import socket
import struct

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
