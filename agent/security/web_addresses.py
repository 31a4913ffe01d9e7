"""Destinations of web requests: which addresses are public.

A URL is taken apart strictly, an address is public or it is refused. What a name means is looked
up once, and the address that was checked is the one to connect to. Nothing here sends anything.
"""

import ipaddress
import re
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from agent.errors import AddressRefused
from agent.machine.network import IpNetwork, leads_out4, networks_here
from agent.security.loose_urls import read_loosely

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# What servers and proxies take
MAX_URL_CHARS = 2048
MAX_HOST_CHARS = 253
_OLDER = 4
_PORTS = {"http": 80, "https": 443}
# Below it live mail, printers and name servers, which may be talked to by accident
_FIRST_FREE_PORT = 1024
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# The last part of a name that browsers take for a number: then all of it has to be an address
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PRINTABLE = re.compile(r"[!-~]+")
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_ESCAPED_SLASH = "%2F"
# Mean the same with and without an escape
_UNRESERVED = re.compile("[A-Za-z0-9._~-]")
# Not those of a URL that stands in the path of an archive's
_SLASHES = re.compile("(?<!:)/{2,}")
# Names that mean this machine or this network, wherever they are looked up
_NAMES_AT_HOME = (
    *("localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp"),
    *("private", "test", "invalid", "example", "onion", "arpa"),
)
# The global unicast space; what is not in it is special, or not given out yet
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")
# Parts of it that lead elsewhere though Python counts them as global: Teredo and other protocols,
# 6to4, and what was set aside for documentation since
_SPECIAL_6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2002::/16", "3fff::/20")))
# IPv4 behind a translator; IPv4 written as IPv6
_HOLDING_4 = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::ffff:0:0/96")))
# Protocol assignments, 6to4 relays, and a cloud's own control address among public ones
_SPECIAL_4 = tuple(
    map(ipaddress.IPv4Network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32"))
)


class WebPlace(Struct, frozen=True):
    """Destination of a URL; `host` is a lower-case name, or an address without brackets."""

    url: str
    scheme: str
    host: str
    port: int

    @property
    def is_address(self) -> bool:
        """Return true if the URL names an address instead of a host name."""
        return _as_address(self.host) is not None

    @property
    def origin(self) -> str:
        """Return scheme, host and port, to which a credential belongs."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Return the value of the `Host` header."""
        return self._bracketed if self.port == _PORTS[self.scheme] else self.spot

    @property
    def spot(self) -> str:
        """Return host and port, as `[web] local` names a machine at home."""
        return f"{self._bracketed}:{self.port}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


class WebRules(Struct, frozen=True):
    """The owner's rules for hosts.

    Args:
        allow: names, the only ones that may be reached; `*.example.org` is everything beneath it.
            None means any that is public.
        local: machines at home that may be reached, each with its port: `192.168.1.20:8080`.
        networks: finds the networks of this machine, whose addresses may look public.
        leads_out4: finds out if an IPv4 address can be reached from here.
    """

    allow: Sequence[str] = ()
    local: Sequence[str] = ()
    networks: Callable[[], Sequence[IpNetwork]] = networks_here
    leads_out4: Callable[[], bool] = leads_out4

    def lists(self, place: WebPlace) -> bool:
        """Return true if the owner allows this host, or limits none."""
        if not self.allow:
            return True
        beneath = place.host.partition(".")[2].split(".")
        wild = {f"*.{'.'.join(beneath[at:])}" for at in range(len(beneath))}
        return place.host in self.allow or not wild.isdisjoint(self.allow)

    def is_at_home(self, place: WebPlace) -> bool:
        return place.spot in map(_plain_spot, self.local)

    def place_of(self, url: str) -> WebPlace:
        """Return the destination of a URL.

        Raises:
            AddressRefused: nowhere, or where nothing of ours may go.
        """
        place = _taken_apart(url)
        if self.is_at_home(place):
            return place
        if not self.lists(place):
            raise AddressRefused(f"{place.host} is not in [web] allow")
        if place.port < _FIRST_FREE_PORT and place.port not in _PORTS.values():
            raise AddressRefused(f"port {place.port} is not a web port")
        address = _as_address(place.host)
        if address is not None:
            self._refuse_unless_public(place, address)
        elif "." not in place.host or place.host.endswith(_dotted(_NAMES_AT_HOME)):
            raise AddressRefused(f"{place.host} is a name of this machine or network")
        return place

    def checked(self, place: WebPlace, found: Sequence[str]) -> Address:
        """Return the address to connect to, out of those found for a name.

        Raises:
            AddressRefused: one of them is not public: then none of them is used.
        """
        addresses = [_plain_address(text) for text in found]
        if not addresses:
            raise AddressRefused(f"{place.host} has no address")
        if not self.is_at_home(place):
            for address in addresses:
                self._refuse_unless_public(place, address)
        older = [one for one in addresses if one.version == _OLDER]
        newer = [one for one in addresses if one.version != _OLDER]
        # Where both are given, some networks only pretend to have the newer kind, and some have no
        # other; at home what serves one of them mostly serves the older
        wants_older = not newer or self.is_at_home(place) or self.leads_out4()
        return older[0] if older and wants_older else newer[0]

    def _refuse_unless_public(self, place: WebPlace, address: Address) -> None:
        meant = _meant(address)
        if not is_public(meant) or any(meant in one for one in self.networks()):
            raise AddressRefused(
                f"{place.host} leads to an address of this machine or network; the owner can allow "
                f'it in [web] local: "{place.spot}"'
            )


def spelled(url: str) -> str:
    """Return a URL in its one spelling: scheme, host and port, and `spelled_path`.

    Raises:
        AddressRefused: it is none.
    """
    return f"{_taken_apart(url).origin}{spelled_path(_parted(url)[1])}"


def spelled_alike(told: str) -> str:
    """Return the URL of a rule, which may end in `*`, or of another program in the same spelling.

    What is no URL stays as it is.
    """
    if (read := read_loosely(told)) is not None:
        place, rest = read
    elif "://" in told:
        host, rest = _parted(told)
        place = f"{told.partition('://')[0].lower()}://{host.lower()}"
    else:
        return told
    is_open = not rest and place.endswith("*")
    return place if is_open else f"{place}{spelled_path(rest)}"


def _parted(url: str) -> tuple[str, str]:
    """Return host and port of a URL, and what follows them."""
    rest = url.partition("://")[2]
    begin = min((rest.find(mark) for mark in "/?#" if mark in rest), default=len(rest))
    return rest[:begin], rest[begin:]


def spelled_path(rest: str) -> str:
    """Return what follows host and port of a URL in the one spelling that rules compare.

    Servers read "/%70" as "/p", "/a/../p" and mostly "//p" as "/p" (RFC 3986, 6.2.2), and a path
    that was left out as "/". Many read "%2F" as "/" before they look for one, so that it hides
    neither a folder nor dots. No server is told what follows "#": all of it is one page.
    """
    plain = _ESCAPE.sub(_unescaped, rest.partition("#")[0])
    path, mark, query = plain.partition("?")
    path = path.replace(_ESCAPED_SLASH, "/")
    parts: list[str] = []
    for part in _SLASHES.sub("/", path).removeprefix("/").split("/"):
        if part == "..":
            del parts[-1:]
        elif part != ".":
            parts.append(part)
    if path.endswith(("/.", "/..")):
        parts.append("")
    return f"/{'/'.join(parts)}{mark}{query}"


def is_public(address: Address) -> bool:
    """Return true for the address of one machine in the public Internet."""
    address = _meant(address)
    if isinstance(address, ipaddress.IPv6Address):
        is_special = any(address in network for network in _SPECIAL_6)
        return address in _UNICAST_6 and not is_special and address.is_global
    is_special = any(address in network for network in _SPECIAL_4)
    return address.is_global and not (address.is_multicast or address.is_reserved or is_special)


def _meant(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 one holds; any other as it is."""
    if any(address in network for network in _HOLDING_4):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _taken_apart(url: str) -> WebPlace:
    if len(url) > MAX_URL_CHARS:
        raise AddressRefused(f"the URL is longer than {MAX_URL_CHARS} characters")
    # Readers of URLs disagree about everything else: what one skips another follows
    if not _PRINTABLE.fullmatch(url) or "\\" in url:
        raise AddressRefused("the URL has a space, a backslash or a character that is not ASCII")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as err:
        raise AddressRefused("the URL is invalid") from err
    if parts.scheme not in _PORTS or not url.lower().startswith(f"{parts.scheme}://"):
        raise AddressRefused("only http:// and https:// are accepted")
    if "@" in parts.netloc or port == 0:
        raise AddressRefused("the URL has a user name or an invalid port")
    host = _host_of(parts.netloc)
    return WebPlace(url.partition("#")[0], parts.scheme, host, port or _PORTS[parts.scheme])


def _unescaped(found: re.Match[str]) -> str:
    character = chr(int(found[1], 16))
    return character if _UNRESERVED.fullmatch(character) else found[0].upper()


def _host_of(netloc: str) -> str:
    if netloc.startswith("["):
        address = _plain_address(netloc[1:].partition("]")[0])
        return str(getattr(address, "ipv4_mapped", None) or address)
    host = netloc.partition(":")[0].lower()
    if len(host) > MAX_HOST_CHARS or not all(map(_LABEL.fullmatch, host.split("."))):
        raise AddressRefused("the URL has no valid host")
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return str(_plain_address(host))
    return host


def _plain_spot(told: str) -> str:
    """Return host and port with an address in its one form, in which every URL has it."""
    host, _, port = told.rpartition(":")
    address = _as_address(host.strip("[]"))
    return f"[{address}]:{port}" if address is not None and address.version != _OLDER else told


def _as_address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _plain_address(text: str) -> Address:
    """Return an address in its one plain form: no zone, no octal, nothing left out."""
    address = _as_address(text)
    if address is None or "%" in text:
        raise AddressRefused("the URL has an address in an unusual form: write it plainly")
    return address


def _dotted(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f".{name}" for name in names)
