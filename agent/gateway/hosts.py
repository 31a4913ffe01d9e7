"""Names by which a server of ours is called, in one spelling, however they are configured."""

import ipaddress
import re
from collections.abc import Iterable

_PORT = re.compile(r":[0-9]{1,5}\Z")
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,62}[a-z0-9_])?\.)*[a-z0-9_][a-z0-9_-]{0,62}")
_V6 = re.compile(r"\[[0-9a-f:.]{2,45}\]")


def check(hosts: Iterable[str]) -> None:
    """Check configured hosts.

    Raises:
        ValueError: no request could name one of them.
    """
    for listed in hosts:
        host = called(listed)
        is_address = _V6.fullmatch(host) and host == called(host.strip("[]"))
        if not is_address and _NAME.fullmatch(host) is None:
            raise ValueError(
                f"hosts: {listed} is no host: write a name or an address, such as "
                "barnacle.local, 192.168.1.7 or [fd00::7]"
            )


def called(listed: str) -> str:
    """Return a host as requests name it, without a port; an IPv6 address is in brackets."""
    host = listed.lower()
    if host.count(":") > 1:
        inner = _PORT.sub("", host) if host.startswith("[") else host
        try:
            return f"[{ipaddress.IPv6Address(inner.strip('[]'))}]"
        except ValueError:
            return host
    return _PORT.sub("", host).rstrip(".")
