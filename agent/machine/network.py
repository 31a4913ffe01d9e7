"""Address and default route of this machine, from files of the kernel."""

import ipaddress
import socket
import struct

from msgspec import Struct

from agent.machine.kernel import Kernel

# A route that is up and leads through a router
_UP, _GATEWAY = 0x1, 0x2
_ROUTE_FIELDS = 4
_IPV6_FIELDS = 10
_EVERYWHERE6 = "0" * 32
_ADDRESS6_FIELDS = 6
_LOOPBACK = "lo"
# Of what a site is given at most; a shorter one is the way through a tunnel
_LEAST_PREFIX6 = 48
# Of what a home is given as a rule (RIPE-690); its router makes networks of it, for guests too
_HOME_PREFIX6 = 56

IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


class Network(Struct, frozen=True):
    """Network state of the machine.

    Args:
        linked: interfaces with a cable or a radio connection.
        unlinked: those without.
        addresses: that others may reach; none of this machine alone.
        routers: of the default routes, `address on interface`.
    """

    linked: tuple[str, ...] = ()
    unlinked: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    routers: tuple[str, ...] = ()

    @property
    def is_up(self) -> bool:
        return bool(self.addresses and self.routers)


def network(kernel: Kernel) -> Network:
    names = [path.rpartition("/")[2] for path in kernel.matches("sys/class/net/*")]
    names = [name for name in names if name != _LOOPBACK]
    linked = [name for name in names if kernel.word(f"sys/class/net/{name}/carrier") == "1"]
    return Network(
        tuple(linked),
        tuple(name for name in names if name not in linked),
        (
            *addresses4(kernel.text("proc/net/fib_trie")),
            *addresses6(kernel.text("proc/net/if_inet6")),
        ),
        (*routers4(kernel.text("proc/net/route")), *routers6(kernel.text("proc/net/ipv6_route"))),
    )


def networks_here(kernel: Kernel | None = None) -> list[IpNetwork]:
    """Return this machine's own addresses, and the IPv6 networks of its home.

    In IPv6 every machine at home has an address that looks like any other in the Internet.
    """
    kernel = kernel or Kernel()
    own = map(ipaddress.IPv4Network, addresses4(kernel.text("proc/net/fib_trie")))
    return [*own, *networks6(kernel.text("proc/net/ipv6_route"))]


def leads_out4(kernel: Kernel | None = None) -> bool:
    """Return true if this machine has a way to the Internet by IPv4, or nobody knows."""
    text = (kernel or Kernel()).text("proc/net/route")
    return not text or any(_leads_everywhere(line.split()) for line in text.splitlines()[1:])


def name_servers(kernel: Kernel) -> list[str]:
    """Return the configured name servers."""
    lines = (line.split() for line in kernel.text("etc/resolv.conf").splitlines())
    return [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]


def addresses4(text: str) -> list[str]:
    """Return this machine's IPv4 addresses from the kernel's tree of routes."""
    found: dict[str, None] = {}
    leaf = ""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["|--"] and len(words) > 1:
            leaf = words[1]
        elif words[:3] == ["/32", "host", "LOCAL"] and not leaf.startswith("127."):
            found[leaf] = None
    return list(found)


def addresses6(text: str) -> list[str]:
    """Return the IPv6 addresses that are not link-local."""
    found: list[str] = []
    for fields in map(str.split, text.splitlines()):
        if len(fields) < _ADDRESS6_FIELDS:
            continue
        try:
            address = ipaddress.IPv6Address(bytes.fromhex(fields[0]))
        except ValueError:
            continue
        if not (address.is_link_local or address.is_loopback):
            found.append(str(address))
    return found


def routers4(text: str) -> list[str]:
    found: list[str] = []
    for fields in map(str.split, text.splitlines()[1:]):
        if len(fields) < _ROUTE_FIELDS or fields[1] != "0" * 8:
            continue
        try:
            # As the machine's own bytes are ordered
            router, flags = struct.pack("=I", int(fields[2], 16)), int(fields[3], 16)
        except (ValueError, struct.error):
            continue
        if flags & _UP and flags & _GATEWAY:
            found.append(f"{socket.inet_ntoa(router)} on {fields[0]}")
    return found


def _leads_everywhere(fields: list[str]) -> bool:
    try:
        is_up = bool(int(fields[3], 16) & _UP)
    except (IndexError, ValueError):
        return False
    return is_up and fields[1] == "0" * 8


def routers6(text: str) -> list[str]:
    found: list[str] = []
    for fields in map(str.split, text.splitlines()):
        if len(fields) < _IPV6_FIELDS or fields[0] != _EVERYWHERE6 or fields[1] != "00":
            continue
        try:
            router, flags = ipaddress.IPv6Address(bytes.fromhex(fields[4])), int(fields[8], 16)
        except ValueError:
            continue
        if flags & _UP and flags & _GATEWAY:
            found.append(f"{router} on {fields[9]}")
    return found


def networks6(text: str) -> list[ipaddress.IPv6Network]:
    """Return the homes that the networks of routes without a router are of, each once."""
    found: dict[ipaddress.IPv6Network, None] = {}
    for fields in map(str.split, text.splitlines()):
        if len(fields) < _IPV6_FIELDS:
            continue
        try:
            prefix, flags = int(fields[1], 16), int(fields[8], 16)
            home = min(prefix, _HOME_PREFIX6)
            network6 = ipaddress.IPv6Network((bytes.fromhex(fields[0]), home), strict=False)
        except ValueError:
            continue
        if prefix >= _LEAST_PREFIX6 and not flags & _GATEWAY:
            found[network6] = None
    return list(found)
