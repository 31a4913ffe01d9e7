"""Names of callers: one for each, in whatever form the address is written.

A limit is kept by this name, so that another way to write an address is not another caller.
"""

import ipaddress
from collections.abc import Container, Sequence

from msgspec import Struct

UNIX = "unix"
UNKNOWN = "unknown"
# What one household or one rented server has of IPv6: each address in it is the same caller
_IPV6_PREFIX_BITS = 64
# More hops than any honest chain of proxies
MAX_HOPS = 16
_FORWARDED = (b"x-forwarded-for", b"forwarded", b"x-real-ip", b"x-forwarded-host")

Headers = Sequence[tuple[bytes, bytes]]


class Caller(Struct, frozen=True):
    """Caller; `is_known` if a right token was shown."""

    who: str
    is_known: bool = False


def exact(text: str) -> str:
    """Return the one form of an address; an IPv4 mapped into IPv6 is the IPv4."""
    try:
        address = ipaddress.ip_address(text.strip().strip("[]").partition("%")[0])
    except ValueError:
        return UNIX if text == UNIX else UNKNOWN
    return str(getattr(address, "ipv4_mapped", None) or address)


def normal(text: str) -> str:
    """Return the caller's name for an address."""
    found = exact(text)
    if ":" not in found or ipaddress.ip_address(found).is_loopback:
        return found
    return str(ipaddress.ip_network((found, _IPV6_PREFIX_BITS), strict=False))


def is_forwarded(headers: Headers) -> bool:
    """Return true if a proxy sends the request for somebody else."""
    return any(name in _FORWARDED for name, _ in headers)


def caller(peer: str, headers: Headers, trusted: Container[str]) -> str | None:
    """Return the caller's name; None if the proxy is not trusted.

    Args:
        peer: the exact address of who has the connection.
        trusted: exact addresses of proxies; nobody else in their networks is one.
    """
    if peer not in trusted:
        return None if is_forwarded(headers) else normal(peer)
    told = b",".join(value for name, value in headers if name == b"x-forwarded-for")
    hops = [exact(hop) for hop in told.decode("latin-1").split(",")[-MAX_HOPS:] if hop.strip()]
    # From the right: each of them vouches for the one before it, the first stranger for nobody
    return normal(next((hop for hop in reversed(hops) if hop not in trusted), peer))
