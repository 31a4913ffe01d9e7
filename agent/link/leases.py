"""Outputs that this agent holds, as bits of the wire format's masks.

Only what was switched on in this session is ever renewed: a lease that ended stays ended.
"""

import asyncio
from collections.abc import Callable, Mapping

from agent.link.base import Value
from agent.link.devices.device_table import by_capability
from agent.link.manifest import BoardPin, Manifest, Method
from agent.link.value_codec import pin_bits

# A lease is renewed this many times while it runs, so that three may be lost
RENEWALS_PER_LEASE = 4
# What a pin can do that has a lease
_OUTPUTS = by_capability()
MOVING = frozenset(_OUTPUTS)
# A board that asks for more is renewed no faster: its link could do nothing else
MIN_LEASE_MS = 200


class Leases:
    """The outputs held in one session.

    Args:
        on_change: is told whether any is held.
    """

    def __init__(self, on_change: Callable[[bool], None] = lambda _: None) -> None:
        self.held = 0
        self._on_change = on_change
        self._is_held = asyncio.Event()

    def hold(self, bits: int) -> None:
        self._change(self.held | bits)

    def drop(self, bits: int) -> None:
        self._change(self.held & ~bits)

    def note(
        self,
        manifest: Manifest,
        method: Method,
        arguments: Mapping[str, Value],
        result: Mapping[str, Value],
    ) -> None:
        """A write that the board has done: hold what it moved, or put down what is safe again."""
        bits = pin_bits(manifest, method, arguments)
        if _rests(manifest, bits, method, arguments, result):
            self.drop(bits)
        else:
            self.hold(bits)

    def note_wish(self, manifest: Manifest, method: Method, arguments: Mapping[str, Value]) -> None:
        """A write that is about to be sent: should it fail, a lease ends what was to be safe."""
        bits = pin_bits(manifest, method, arguments)
        if method.lease and _rests(manifest, bits, method, arguments, {}):
            self.drop(bits)

    def drop_all(self) -> None:
        self._change(0)

    async def until_held(self) -> None:
        """Wait while there is nothing to renew."""
        await self._is_held.wait()

    def renewed(self, asked: int, granted: int) -> int:
        """Keep what the board granted of what it was asked; the bits that were lost."""
        lost = asked & ~granted & self.held
        self._change(self.held & ~lost)
        return lost

    def _change(self, held: int) -> None:
        self.held = held
        if held:
            self._is_held.set()
        else:
            self._is_held.clear()
        self._on_change(bool(held))


def _rests(
    manifest: Manifest,
    bits: int,
    method: Method,
    arguments: Mapping[str, Value],
    result: Mapping[str, Value],
) -> bool:
    named = [pin for pin in manifest.pins if bits & 1 << pin.index]
    return bool(named) and all(is_at_rest(pin, method, arguments, result) for pin in named)


def is_at_rest(
    pin: BoardPin, method: Method, arguments: Mapping[str, Value], result: Mapping[str, Value]
) -> bool:
    """Return true if a write set the pin to its safe value, which needs no lease."""
    setting = method.arguments[-1]
    value = arguments.get(setting.name)
    row = _OUTPUTS.get(next((field.pins for field in method.arguments if field.pins), ""))
    if row is not None and row.at_rest is not None:
        name, number = row.at_rest
        return arguments.get(name, result.get(name)) == number
    if row is not None and not setting.choices:
        return value == pin.safe
    return pin.safe < len(setting.choices) and value == setting.choices[pin.safe]


def renewal_interval_s(manifest: Manifest, lease_ms: int) -> float:
    """Return the renewal interval that keeps the shortest lease of any output."""
    outputs = [pin.lease_ms for pin in manifest.pins if not MOVING.isdisjoint(pin.can)]
    shortest_ms = max(MIN_LEASE_MS, min([lease_ms, *outputs]))
    return shortest_ms / 1000 / RENEWALS_PER_LEASE
