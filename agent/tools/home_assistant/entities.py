"""Rules for entities: what the owner allows with each, and which services exist for its kind.

An entity that no pattern covers is not there. A lock, a cover, a heater and whatever else can hurt
or let somebody in is a hazard, also where the owner wrote a lesser word for many at once; only the
word `actuate_even_so` says otherwise.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from msgspec import Struct

from agent.messages import Effect
from agent.tools.settings import Danger

_ON_OFF = ("turn_on", "turn_off", "toggle")
_PRESS = ("press",)
# What may be called on one entity. Services that take other entities, addresses or files are none
SERVICES: Mapping[str, tuple[str, ...]] = {
    "alarm_control_panel": (
        *("alarm_arm_away", "alarm_arm_home", "alarm_arm_night", "alarm_arm_vacation"),
        *("alarm_disarm", "alarm_trigger"),
    ),
    "automation": (*_ON_OFF, "trigger"),
    "button": _PRESS,
    "climate": (
        *_ON_OFF,
        *("set_fan_mode", "set_humidity", "set_hvac_mode", "set_preset_mode", "set_swing_mode"),
        "set_temperature",
    ),
    "cover": (
        *("close_cover", "open_cover", "set_cover_position", "stop_cover", "toggle"),
        *("close_cover_tilt", "open_cover_tilt", "set_cover_tilt_position", "stop_cover_tilt"),
    ),
    "fan": (*_ON_OFF, "oscillate", "set_direction", "set_percentage", "set_preset_mode"),
    "humidifier": (*_ON_OFF, "set_humidity", "set_mode"),
    "input_boolean": _ON_OFF,
    "input_button": _PRESS,
    "input_number": ("set_value",),
    "input_select": ("select_option",),
    "lawn_mower": ("dock", "pause", "start_mowing"),
    "light": _ON_OFF,
    "lock": ("lock", "open", "unlock"),
    "media_player": (
        *("turn_on", "turn_off", "media_next_track", "media_pause", "media_play"),
        *("media_previous_track", "media_stop", "select_source"),
        *("volume_down", "volume_mute", "volume_set", "volume_up"),
    ),
    "number": ("set_value",),
    "scene": ("turn_on",),
    "script": ("turn_on", "turn_off"),
    "select": ("select_option",),
    "siren": _ON_OFF,
    "switch": _ON_OFF,
    "timer": ("cancel", "finish", "pause", "start"),
    "vacuum": ("pause", "return_to_base", "start", "stop"),
    "valve": ("close_valve", "open_valve", "set_valve_position", "stop_valve", "toggle"),
    "water_heater": ("turn_on", "turn_off", "set_operation_mode", "set_temperature"),
}
# They let somebody in, burn, flood, hurt, or do what only Home Assistant knows
HAZARDOUS = frozenset(
    {
        *("alarm_control_panel", "automation", "button", "climate", "cover", "input_button"),
        *("lawn_mower", "lock", "scene", "script", "siren", "valve", "water_heater"),
    }
)
# A plug may be named after what hangs on it
_HAZARDOUS_NAMES = re.compile(
    r"(?:^|[._])(?:alarm|boiler|door|furnace|garage|gate|grill|heat|heater|heating|iron|kettle|lock"
    r"|oven|radiator|sauna|siren|stove|valve)(?![a-z])"
)
# What a service leaves behind where all went well
_AFTER: Mapping[str, str] = {
    "lock": "locked",
    "unlock": "unlocked",
    "alarm_disarm": "disarmed",
}
_SWITCHED = frozenset(
    {"automation", "fan", "humidifier", "input_boolean", "light", "siren", "switch"}
)


class EntityRules(Struct, frozen=True):
    """Rules of the owner, by patterns of entities."""

    patterns: Mapping[str, Danger]

    def danger_of(self, entity: str) -> Danger | None:
        """Return the owner's word for an entity; None where no pattern covers it."""
        if entity in self.patterns:
            return self.patterns[entity]
        found = [one for one in self.patterns if fnmatchcase(entity, one)]
        # The one that says most of it; of two that say as much the stricter
        best = max(found, key=lambda one: (_known(one), _strict(self.patterns[one])), default="")
        return self.patterns.get(best)

    def effect_of(self, entity: str) -> Effect | None:
        """Return the effect of a call on an entity; None where none is allowed."""
        danger = self.danger_of(entity)
        if danger is None or danger == "read":
            return None
        if danger == "actuate_even_so":
            return Effect.ACTUATE
        is_hazard = danger == "hazard" or is_hazardous(entity)
        return Effect.HAZARD if is_hazard else Effect.ACTUATE


def is_hazardous(entity: str) -> bool:
    """Return true if an entity is a hazard by its kind or its name."""
    is_kind = domain_of(entity) in HAZARDOUS
    return is_kind or _HAZARDOUS_NAMES.search(entity) is not None


def domain_of(entity: str) -> str:
    return entity.partition(".")[0]


def state_after(entity: str, service: str) -> str:
    """Return the state that a service is to leave; empty where that cannot be told."""
    if service in {"turn_on", "turn_off"}:
        return service.removeprefix("turn_") if domain_of(entity) in _SWITCHED else ""
    return _AFTER.get(service, "")


def _known(pattern: str) -> int:
    return len(pattern) - pattern.count("*") - pattern.count("?")


def _strict(danger: Danger) -> int:
    order: tuple[Danger, ...] = ("actuate_even_so", "actuate", "hazard", "read")
    return order.index(danger)
