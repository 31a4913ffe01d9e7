"""Names and addresses of this machine itself, over which nobody reads along; and why none came."""

import ipaddress
import os
import re

# What asyncio says instead of the system's own words, of one address or of several
_CONNECT_FAILED = "Connect call failed"
_SEVERAL = re.compile(r"Multiple exceptions: \[Errno ([0-9]+)\]")


def is_this_machine(host: str) -> bool:
    """Return true if the host is this machine, by its address or the one name for it."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def connect_error(err: OSError) -> str:
    """Return why a server was not reached, in plain words without numbers and addresses."""
    said = str(err.strerror or err) or type(err).__name__
    if err.errno and said.startswith(_CONNECT_FAILED):
        return os.strerror(err.errno)
    first = _SEVERAL.match(said)
    return os.strerror(int(first[1])) if first else said
