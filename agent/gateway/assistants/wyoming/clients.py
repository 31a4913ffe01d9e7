"""Clients of Wyoming: the protocol knows no password, so a client is known by its address."""

import ipaddress
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from agent.access.people import PeopleStore, Person
from agent.errors import ConfigRefused
from agent.gateway.settings import WyomingSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "wyoming"
_MAX_PORT = 65535


class WyomingCaller(Struct, frozen=True):
    """Client as a paired caller.

    Args:
        sender: its address, which is its account.
        headers: the name of the request, where the client gives it one.
    """

    person: Person
    sender: str
    headers: "Mapping[str, str]" = field(default_factory=dict)


class WyomingPlace(Struct, frozen=True):
    """Address to listen at, and the addresses that may connect."""

    address: str
    port: int
    clients: frozenset[str]

    @property
    def in_words(self) -> str:
        shown = f"[{self.address}]" if ":" in self.address else self.address
        return f"{shown}:{self.port}"

    def admits(self, client: str) -> bool:
        """Return true if the address may connect."""
        return client in self.clients or (not self.clients and _is_here(client))


def place_of(wanted: WyomingSettings) -> WyomingPlace:
    """Return the place from the settings.

    Raises:
        ConfigRefused: others could connect, and nothing says who may.
    """
    host, _, port = wanted.listen.rpartition(":")
    try:
        address = exact(host)
        number = int(port)
    except ValueError as err:
        raise ConfigRefused(
            f"invalid wyoming.listen {wanted.listen!r}: expected an address and a port such as "
            "127.0.0.1:10700"
        ) from err
    if number > _MAX_PORT:
        raise ConfigRefused(f"invalid wyoming.listen: a port is at most {_MAX_PORT}")
    clients = _clients(wanted.clients)
    if not clients and not _is_here(address):
        raise ConfigRefused(
            f"wyoming.listen is {address}, which others can reach, and the protocol asks for no "
            'password: list the address of Home Assistant in wyoming.clients, or use "127.0.0.1"'
        )
    return WyomingPlace(address, number, clients)


def exact(address: str) -> str:
    """Return the one form of an address; an IPv4 mapped into IPv6 is the IPv4.

    Raises:
        ValueError: it is no address.
    """
    found = ipaddress.ip_address(address.strip().strip("[]").partition("%")[0])
    return str(getattr(found, "ipv4_mapped", None) or found)


def person_at(people: PeopleStore, client: str) -> Person | None:
    """Return the person whose words a client's are; None without one."""
    return people.find(NAME, client)


async def probe(wanted: WyomingSettings, people: PeopleStore) -> str:
    """Return how it is, in a sentence.

    Raises:
        ConfigRefused: it cannot be used so.
    """
    place = place_of(wanted)
    paired = {
        account.sender
        for person in people.everyone()
        for account in person.accounts
        if account.channel == NAME
    }
    if missing := sorted(place.clients - paired) if place.clients else _nobody(paired):
        raise ConfigRefused(" ".join(map(unpaired_text, missing)))
    return f"listens at {place.in_words}, for {', '.join(sorted(paired))}"


def _nobody(paired: set[str]) -> list[str]:
    return [] if paired else ["127.0.0.1"]


def unpaired_text(client: str) -> str:
    """Return the way in, for a client that has no access."""
    return (
        f"{client} has no access yet: run `barnacle pair --wyoming {client}` where the agent runs."
    )


def _clients(listed: Sequence[str]) -> frozenset[str]:
    try:
        return frozenset(map(exact, listed))
    except ValueError as err:
        raise ConfigRefused(f"invalid wyoming.clients: {err}") from err


def _is_here(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback
