"""Where the gateway listens, and what has to be there before it may: absence is denial."""

import contextlib
import ipaddress
import re
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

from agent.errors import ConfigRefused
from agent.gateway.settings import GatewaySettings
from agent.gateway.strength import weakness_of

SOCKET_NAME = "gateway.sock"
# Connections that the kernel holds until they are accepted. Where it holds none any more, a caller
# tries again only a second later
_BACKLOG = 1024
# What the address of a Unix socket has room for
_MAX_PATH_BYTES = 107
_LISTEN = re.compile(r"(?P<host>[0-9.]+|\[[0-9a-fA-F:.]+\]):(?P<port>[0-9]{1,5})")
_MAX_PORT = 65535
_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen: `path` for a Unix socket, otherwise an address and a port.

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


def place_of(wanted: GatewaySettings, state_dir: Path, token: str) -> Place:
    """Where these settings let it listen.

    Raises:
        ConfigRefused: others could reach it, and something that this needs is not there.
    """
    if token and (weakness := weakness_of(token)):
        raise ConfigRefused(
            f"gateway.token is not random: {weakness}. Make one by `openssl rand -hex 32`"
        )
    if wanted.trusted_proxies and not token:
        raise ConfigRefused(
            "gateway.trusted_proxies lets others reach the gateway, so it needs a token: set "
            "gateway.token_file to a file with what `openssl rand -hex 32` prints"
        )
    named = frozenset(host.lower() for host in wanted.hosts)
    if wanted.listen == "unix" or wanted.listen.startswith("/"):
        path = state_dir / SOCKET_NAME if wanted.listen == "unix" else Path(wanted.listen)
        return Place(named | _LOOPBACK_HOSTS, path)
    return _address_of(wanted, named, token)


def open_socket(place: Place) -> socket.socket:
    """A socket that listens there; whoever holds the state folder's lock may call it.

    Raises:
        ConfigRefused: there cannot be one.
    """
    try:
        return _unix_socket(place.path) if place.path else _tcp_socket(place.address, place.port)
    except OSError as err:
        raise ConfigRefused(
            f"gateway.listen: nothing can listen at {place.in_words}: {err.strerror}"
        ) from err


def _address_of(wanted: GatewaySettings, named: frozenset[str], token: str) -> Place:
    found = _LISTEN.fullmatch(wanted.listen)
    try:
        address = ipaddress.ip_address(found["host"].strip("[]") if found else "")
    except ValueError:
        address = None
    if found is None or address is None or int(found["port"]) > _MAX_PORT:
        raise ConfigRefused(
            f"gateway.listen is {wanted.listen!r}: give an address and a port such as "
            "127.0.0.1:8475, or unix, or the path of a socket"
        )
    mapped = getattr(address, "ipv4_mapped", None)
    if not (mapped or address).is_loopback:
        _refuse_public(wanted, address, named, token)
        return Place(named | _own_host(address), None, str(address), int(found["port"]))
    return Place(named | _LOOPBACK_HOSTS, None, str(address), int(found["port"]))


def _refuse_public(
    wanted: GatewaySettings,
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
    named: frozenset[str],
    token: str,
) -> None:
    if str(address) not in wanted.public:
        raise ConfigRefused(
            f"gateway.listen is {address}, which others can reach: listen at 127.0.0.1, or put "
            f'"{address}" into gateway.public and give it a token'
        )
    if not token:
        raise ConfigRefused(
            f"gateway.listen is {address}, which others can reach, and there is no token: set "
            "gateway.token_file to a file with what `openssl rand -hex 32` prints"
        )
    if address.is_unspecified and not named:
        raise ConfigRefused(
            f"gateway.listen is {address}, every address of this machine: say in gateway.hosts "
            "by what names it is called"
        )


def _own_host(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> frozenset[str]:
    if address.is_unspecified:
        return frozenset()
    is_short = address.version == 4  # noqa: PLR2004 - the version of the protocol
    return frozenset({str(address) if is_short else f"[{address}]"})


def _unix_socket(path: Path) -> socket.socket:
    if len(str(path).encode()) > _MAX_PATH_BYTES:
        raise OSError(0, f"its name is longer than {_MAX_PATH_BYTES} bytes")
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


def _tcp_socket(address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(_BACKLOG)
    except OSError:
        made.close()
        raise
    made.settimeout(0)
    return made
