"""Openings that a change of the configuration makes: each is asked about once more, in words.

Tighter limits open nothing. What is not named here changes how the agent works and not who reaches
what.
"""

import math
from collections.abc import Sequence
from typing import Any

from agent.app.console.settings_request import Opening
from agent.app.reload import differences, looser_limits
from agent.peripherals.settings import I2cSettings, PiPinSettings
from agent.settings import Settings

# By the beginning of a key; `*` stands for a name of a person's own
_OPENED_BY = (
    ("gateway", Opening.WAYS_IN),
    ("wyoming", Opening.WAYS_IN),
    ("console", Opening.WAYS_IN),
    ("channels", Opening.WAYS_IN),
    ("devices", Opening.WAYS_IN),
    ("board.approve_button", Opening.WAYS_IN),
    ("boards.*.approve_button", Opening.WAYS_IN),
    ("mcp", Opening.PROGRAMS),
    ("shell", Opening.PROGRAMS),
    ("hooks", Opening.PROGRAMS),
    ("browser", Opening.PROGRAMS),
    ("memory.lucid_program", Opening.PROGRAMS),
    ("provider.program", Opening.PROGRAMS),
    ("providers.*.program", Opening.PROGRAMS),
    ("web", Opening.REACH),
    ("home_assistant", Opening.REACH),
    ("provider.kind", Opening.REACH),
    ("provider.base_url", Opening.REACH),
    ("provider.fetch_images", Opening.REACH),
    ("providers", Opening.REACH),
    ("embeddings", Opening.REACH),
    ("memory.postgres_url", Opening.REACH),
    ("memory.postgres_url_file", Opening.REACH),
    ("agent.workspace", Opening.SHARED),
    ("memory.documents", Opening.SHARED),
    ("workspace", Opening.SHARED),
    ("agents", Opening.SHARED),
    ("backup", Opening.BACKUPS),
)
# From the least that may be done to the most
_WRITES = ("never", "hazard", "actuate")
_NOT_WRITTEN = I2cSettings()


def openings(before: Settings, after: Settings) -> tuple[Opening, ...]:
    """Return what the change opens, each once; a table that goes closes something."""
    changed = (key for key in differences(before, after) if not _is_gone(after, key))
    found = {_opened_by(key) for key in changed}
    if looser_limits(before.agent, after.agent):
        found.add(Opening.LIMITS)
    if _are_pins_looser(before, after):
        found.add(Opening.PINS)
    return tuple(one for one in Opening if one in found)


def _are_pins_looser(before: Settings, after: Settings) -> bool:
    """Return true for this machine's own pins; of a board's the board itself asks."""
    return any(
        _is_pin_looser(before.pins.get(name), pin) for name, pin in after.pins.items()
    ) or any(
        _WRITES.index(one.write) > _WRITES.index(before.i2c.get(name, _NOT_WRITTEN).write)
        for name, one in after.i2c.items()
    )


def _is_pin_looser(before: PiPinSettings | None, after: PiPinSettings) -> bool:
    if before is None:
        return after.danger != "hazard" and after.kind == "output"
    was_s, is_s = before.max_on_s or math.inf, after.max_on_s or math.inf
    is_safe_off = before.safe == "off" and after.safe == "on"
    return is_s > was_s or is_safe_off or (before.danger == "hazard" and after.danger != "hazard")


def _is_gone(settings: Settings, key: str) -> bool:
    held: Any = settings
    for step in key.split("."):
        held = held.get(step) if isinstance(held, dict) else getattr(held, step, None)
    return held is None


def _opened_by(key: str) -> Opening | None:
    steps = key.split(".")
    return next((opening for name, opening in _OPENED_BY if _fits(name.split("."), steps)), None)


def _fits(wanted: Sequence[str], steps: Sequence[str]) -> bool:
    """Return true for a key below the wanted one, and for a new table that may hold it."""
    return all(name in {"*", step} for name, step in zip(wanted, steps, strict=False))
