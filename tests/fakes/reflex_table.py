"""The table of rules of a board, in memory, as its wire format has it."""

import struct
from dataclasses import dataclass, field

from agent.errors import CallRefused
from agent.link import frame as wire


@dataclass
class ReflexTable:
    """Takes every rule and runs none.

    Args:
        keeping: what the board says about storing them.
        rules: by slot; state, fired, refused, code, seconds to wait, and the rule.
    """

    keeping: int = 0
    rules: dict[int, tuple[int, int, int, int, int, bytes]] = field(default_factory=dict)

    def __call__(self, arguments: bytes) -> bytes:
        action, rest = arguments[0], arguments[1:]
        if action == 0:
            return bytes([self.keeping, wire.REFLEXES_MOST]) + b"".join(
                struct.pack(wire.REFLEX_STATE_FORMAT, *self.rules.get(slot, (0,) * 6)[:5])
                for slot in range(wire.REFLEXES_MOST)
            )
        if action == 2:
            slot = min(set(range(wire.REFLEXES_MOST)) - set(self.rules))
            self.rules[slot] = (1, 0, 0, 0, 0, rest[1:])
            return bytes([slot])
        if rest[0] not in self.rules:
            raise CallRefused("out_of_range", "there is no such reflex")
        if action == 1:
            return self.rules[rest[0]][5]
        if action == 3:
            del self.rules[rest[0]]
        if action == 4:
            self.rules[rest[0]] = (1 if rest[1] else 2, *self.rules[rest[0]][1:])
        return b""

    def happen(self, slot: int, *state: int) -> None:
        """What the rule has been through: state, fired, refused, code, seconds to wait."""
        happened = (*state, self.rules[slot][5])
        assert len(happened) == 6
        self.rules[slot] = happened
