"""URLs as browsers and lenient programs read them: one spelling of each place.

The agent's own tools refuse what is not written plainly. A tool of another program takes it, and a
rule of the owner has to hold for it all the same. As in the URL standard of browsers (WHATWG).
"""

import contextlib
import ipaddress
import re
import socket
from urllib.parse import unquote

_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443"}
# One slash is enough to a browser, and none as well; a backslash is one
_BEGIN = re.compile(r"(https?|wss?):[/\\]*", re.IGNORECASE)
# Ends host and port
_END = re.compile(r"[/\\?#]")
# Before and behind a URL nobody sees them, and inside of it they are left out
_EDGES = "".join(map(chr, range(0x21)))
_LEFT_OUT = str.maketrans("", "", "\t\r\n")
_SLASHED = str.maketrans("\\", "/")
_WITH_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*):([^:\[\]]*)")
# Whole numbers, octal and hexadecimal ones, each for as many bytes as are left
_NUMBERS = re.compile(r"(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]+|[0-9]+)){0,3}")


def read_loosely(told: str) -> tuple[str, str] | None:
    """Return scheme, host and port of a URL of the web, and what follows; None if it is none."""
    plain = told.strip(_EDGES).translate(_LEFT_OUT)
    begin = _BEGIN.match(plain)
    if begin is None:
        return None
    scheme, after = begin[1].lower(), plain[begin.end() :]
    end = _END.search(after)
    at = end.start() if end else len(after)
    # Whoever signs in does so at the same place
    authority = after[:at].rpartition("@")[2]
    host, port = _parted(authority)
    is_usual = port in {"", _PORTS[scheme]}
    # What is asked, or names a part of the page, is taken as it is
    path = re.split("[?#]", after[at:], maxsplit=1)[0]
    rest = path.translate(_SLASHED) + after[at + len(path) :]
    return f"{scheme}://{_host(host)}{'' if is_usual else f':{port}'}", rest


def _parted(authority: str) -> tuple[str, str]:
    """Return host and port; the port without zeros before it."""
    found = _WITH_PORT.fullmatch(authority)
    if found is None:
        return authority, ""
    host, port = found.groups()
    return host, port.lstrip("0") if port.isdecimal() else port


def _host(told: str) -> str:
    if told.startswith("["):
        return _newer(told)
    host = unquote(told)
    # Letters of other scripts, and other signs for a dot; else it is no name that anybody looks up
    with contextlib.suppress(UnicodeError):
        host = host.encode("idna").decode()
    host = host.lower().rstrip(".")
    if not _NUMBERS.fullmatch(host):
        return host
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return host


def _newer(told: str) -> str:
    """Return an IPv6 address in its shortest form; one that holds an IPv4 as that."""
    try:
        address = ipaddress.IPv6Address(told.strip("[]").partition("%")[0])
    except ValueError:
        return told.lower()
    return str(address.ipv4_mapped or f"[{address}]")
