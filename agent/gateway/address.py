"""Address of the gateway, and the checks before it may listen."""

import contextlib
import errno
import ipaddress
import itertools
import logging
import re
import socket
import stat
from pathlib import Path

from msgspec import Struct

from agent.errors import ConfigRefused
from agent.gateway.callers import UNKNOWN, exact
from agent.gateway.hosts import called
from agent.gateway.settings import GatewaySettings

# What 32 random bytes are, written in hex and in Base64
HEX_CHARS, BASE64_CHARS = 64, 43
# Random tokens have more: of 100,000 the poorest had 12 in hex and 22 in Base64
LEAST_HEX_KINDS, LEAST_BASE64_KINDS = 10, 16
# Share of groups of three that are there once; of 100,000 random tokens the lowest was 0.88
LEAST_NEW = 0.75
# Share of pairs that follow each other in a row; of 100,000 random tokens the highest was 0.42
MOST_IN_ROWS = 0.55
_HEX = re.compile(r"[0-9a-fA-F]+")
_KEYBOARD = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "azertyuiop")
_NEXT = frozenset(a + b for row in _KEYBOARD for a, b in itertools.pairwise(row))
_GROUP = 3


def weakness_of(token: str) -> str:
    """Return the reason why the token is not random; empty if none is seen."""
    is_hex = _HEX.fullmatch(token) is not None
    least = HEX_CHARS if is_hex else BASE64_CHARS
    if len(token) < least:
        return f"it has {len(token)} characters, and {least} are needed"
    if len(set(token)) < (LEAST_HEX_KINDS if is_hex else LEAST_BASE64_KINDS):
        return f"it has only {len(set(token))} different characters"
    groups = [token[at : at + _GROUP] for at in range(len(token) - _GROUP + 1)]
    if len(set(groups)) < LEAST_NEW * len(groups):
        return "it repeats itself"
    if _in_rows(token.lower()) > MOST_IN_ROWS:
        return "its characters follow each other as on a keyboard or in the alphabet"
    return ""


def _in_rows(token: str) -> float:
    pairs = list(itertools.pairwise(token))
    hits = (abs(ord(a) - ord(b)) <= 1 or a + b in _NEXT or b + a in _NEXT for a, b in pairs)
    return sum(hits) / len(pairs)


_log = logging.getLogger(__name__)

SOCKET_NAME = "gateway.sock"
# ip(7), IP_FREEBIND; it is for IPv6 too
_FREEBIND = 15
# Connections that the kernel holds until they are accepted. Where it holds none any more, a caller
# tries again only a second later
_BACKLOG = 1024
# What the address of a Unix socket has room for
_MAX_PATH_BYTES = 107
_LISTEN = re.compile(r"(?P<host>[0-9.]+|\[[0-9a-fA-F:.]+\]):(?P<port>[0-9]{1,5})")
_MAX_PORT = 65535
_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


class GatewayAddress(Struct, frozen=True):
    """Address to listen at: `path` for a Unix socket, otherwise an address and a port.

    Args:
        hosts: what the Host header may name, in lower case and without a port.
    """

    hosts: frozenset[str]
    path: Path | None = None
    address: str = ""
    port: int = 0

    @property
    def in_words(self) -> str:
        if self.path is not None:
            return str(self.path)
        return f"[{self.address}]:{self.port}" if ":" in self.address else self._dotted

    @property
    def _dotted(self) -> str:
        return f"{self.address}:{self.port}"


def gateway_address(wanted: GatewaySettings, state_dir: Path, token: str) -> GatewayAddress:
    """Return the address from the settings.

    Raises:
        ConfigRefused: others could reach it, and something that this needs is not there.
    """
    if token and (weakness := weakness_of(token)):
        raise ConfigRefused(
            f"gateway.token is not random: {weakness}. Make one with `openssl rand -hex 32`"
        )
    if wanted.trusted_proxies and not token:
        raise ConfigRefused(
            "gateway.trusted_proxies makes the gateway reachable for others, so it needs a "
            "token: set gateway.token_file to a file with the output of `openssl rand -hex "
            "32`"
        )
    if odd := [one for one in wanted.trusted_proxies if exact(one) == UNKNOWN]:
        raise ConfigRefused(
            f"gateway.trusted_proxies has {odd[0]!r}, which is no address: write the proxy's whole "
            "IP address, such as 192.168.1.7, or unix"
        )
    named = frozenset(map(called, wanted.hosts))
    if wanted.listen == "unix" or wanted.listen.startswith("/"):
        path = state_dir / SOCKET_NAME if wanted.listen == "unix" else Path(wanted.listen)
        return GatewayAddress(named | _LOOPBACK_HOSTS, path)
    return _address_of(wanted, named, token)


def open_socket(place: GatewayAddress) -> socket.socket:
    """Open a listening socket there; the caller holds the state folder's lock.

    Raises:
        ConfigRefused: there cannot be one.
    """
    try:
        return _unix_socket(place.path) if place.path else tcp_socket(place.address, place.port)
    except OSError as err:
        raise ConfigRefused(
            f"gateway.listen: cannot listen at {place.in_words}: {err.strerror}"
        ) from err


def _address_of(wanted: GatewaySettings, named: frozenset[str], token: str) -> GatewayAddress:
    found = _LISTEN.fullmatch(wanted.listen)
    try:
        address = ipaddress.ip_address(found["host"].strip("[]") if found else "")
    except ValueError:
        address = None
    if found is None or address is None or int(found["port"]) > _MAX_PORT:
        raise ConfigRefused(
            f"invalid gateway.listen {wanted.listen!r}: expected an address and a port such "
            "as 127.0.0.1:8475, or unix, or the path of a socket"
        )
    mapped = getattr(address, "ipv4_mapped", None)
    if not (mapped or address).is_loopback:
        _refuse_public(wanted, address, named, token)
        return GatewayAddress(named | _own_host(address), None, str(address), int(found["port"]))
    return GatewayAddress(named | _LOOPBACK_HOSTS, None, str(address), int(found["port"]))


def _refuse_public(
    wanted: GatewaySettings,
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
    named: frozenset[str],
    token: str,
) -> None:
    if str(address) not in wanted.public:
        raise ConfigRefused(
            f"gateway.listen is {address}, which others can reach: use 127.0.0.1, or add "
            f'"{address}" to gateway.public and set a token'
        )
    if not token:
        raise ConfigRefused(
            f"gateway.listen is {address}, which others can reach, and there is no token: set "
            "gateway.token_file to a file with the output of `openssl rand -hex 32`"
        )
    if address.is_unspecified and not named:
        raise ConfigRefused(
            f"gateway.listen is {address}, every address of this machine: list in "
            "gateway.hosts the names by which it is called"
        )


def _own_host(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> frozenset[str]:
    if address.is_unspecified:
        return frozenset()
    is_short = address.version == 4  # noqa: PLR2004 - the version of the protocol
    return frozenset({str(address) if is_short else f"[{address}]"})


def _unix_socket(path: Path) -> socket.socket:
    if len(str(path).encode()) > _MAX_PATH_BYTES:
        raise OSError(0, f"its path is longer than {_MAX_PATH_BYTES} bytes")
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(0, "something else is there")
        path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(str(path))
        # Nobody can connect before `listen`; a reverse proxy is in the agent's group
        path.chmod(0o660)
        made.listen(_BACKLOG)
    except OSError:
        made.close()
        raise
    made.settimeout(0)
    return made


def tcp_socket(address: str, port: int) -> socket.socket:
    """Return a socket that listens there.

    Raises:
        OSError: there cannot be one.
    """
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _bind(made, address, port)
        made.listen(_BACKLOG)
    except OSError:
        made.close()
        raise
    made.settimeout(0)
    return made


def _bind(made: socket.socket, address: str, port: int) -> None:
    try:
        made.bind((address, port))
    except OSError as err:
        if err.errno != errno.EADDRNOTAVAIL:
            raise
        # A router starts more slowly than this machine; once the address is there, so is the port
        made.setsockopt(socket.IPPROTO_IP, _FREEBIND, 1)
        made.bind((address, port))
        _log.warning("gateway: not this machine's address yet (address=%s, port=%d)", address, port)
