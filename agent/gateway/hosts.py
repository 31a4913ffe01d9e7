"""Names by which a server of ours is called, in one spelling, however they are configured."""

import ipaddress
import re

_PORT = re.compile(r":[0-9]{1,5}\Z")


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
