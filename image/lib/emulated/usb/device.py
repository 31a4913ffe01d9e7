"""Seam of a USB device: its descriptors, and its answers to requests."""

import struct
from dataclasses import dataclass
from typing import Protocol

BULK, INTERRUPT = 2, 3
IN = 0x80
_DEVICE, _CONFIGURATION, _STRING = 1, 2, 3
_GET_DESCRIPTOR, _GET_STATUS, _CLEAR_FEATURE = 6, 0, 1
# English of the United States, which hosts ask for
_LANGUAGE = 0x0409


class Stalled(Exception):
    """The device does not know this request."""


class Unplugged(Exception):
    """The device is gone: its power went, or it has started something else."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Apart from the one for requests; `address` has IN set for what goes to the computer."""

    address: int
    kind: int
    size: int
    interface: int

    @property
    def descriptor(self) -> bytes:
        interval = 16 if self.kind == INTERRUPT else 0
        return struct.pack("<BBBBHB", 7, 5, self.address, self.kind, self.size, interval)


@dataclass(frozen=True, slots=True)
class Interface:
    """One function of the device; `more` are descriptors of its class, `name` one of its texts."""

    triple: tuple[int, int, int]
    endpoints: tuple[Endpoint, ...] = ()
    more: bytes = b""
    name: int = 0

    def descriptor(self, number: int) -> bytes:
        count = len(self.endpoints)
        head = struct.pack("<BBBBBBBBB", 9, 4, number, 0, count, *self.triple, self.name)
        return head + self.more + b"".join(one.descriptor for one in self.endpoints)


@dataclass(frozen=True, slots=True)
class Face:
    """Everything that a computer reads of a device before it uses it."""

    vendor: int
    product: int
    triple: tuple[int, int, int]
    interfaces: tuple[Interface, ...]
    names: tuple[str, ...]

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return tuple(one for each in self.interfaces for one in each.endpoints)

    @property
    def descriptors(self) -> bytes:
        """Return what the kernel keeps of it: the device's own and its configuration."""
        return self._described(_DEVICE, 0) + self._described(_CONFIGURATION, 0)

    def answer(self, request: int, value: int, length: int) -> bytes:
        """A request that every device knows; raises Stalled for another."""
        if request == _GET_DESCRIPTOR:
            return self._described(value >> 8, value & 0xFF)[:length]
        if request == _GET_STATUS:
            return bytes(2)
        if request == _CLEAR_FEATURE:
            return b""
        raise Stalled

    def _described(self, kind: int, index: int) -> bytes:
        if kind == _DEVICE:
            head = struct.pack("<BBHBBBB", 18, 1, 0x0200, *self.triple, 64)
            return head + struct.pack("<HHHBBBB", self.vendor, self.product, 0x0200, 1, 2, 3, 1)
        if kind == _CONFIGURATION:
            parts = b"".join(one.descriptor(at) for at, one in enumerate(self.interfaces))
            count = len(self.interfaces)
            # Powered by the bus, 100 mA
            return struct.pack("<BBHBBBBB", 9, 2, 9 + len(parts), count, 1, 0, 0x80, 50) + parts
        if kind == _STRING and index <= len(self.names):
            text = self.names[index - 1].encode("utf-16-le") if index else b""
            text = text or struct.pack("<H", _LANGUAGE)
            return bytes((2 + len(text), _STRING)) + text
        raise Stalled


class Device(Protocol):
    """A device that a cable connects."""

    face: Face

    def fileno(self) -> int:
        """Readable when there may be something for the computer; -1 where there never is."""
        ...

    def request(self, kind: int, request: int, value: int, index: int, data: bytes) -> bytes:
        """Answer a request of its class or its maker.

        Raises:
            Stalled: it does not know it.
            Unplugged: it is gone.
        """
        ...

    def take(self, endpoint: int, data: bytes) -> None:
        """Receive bytes from the computer."""
        ...

    def give(self, most_bytes: int) -> bytes:
        """Return bytes for the computer; empty if there are none yet."""
        ...
