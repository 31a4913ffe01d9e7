"""The real Home Assistant with a few entities, its voice and its MQTT integration, as one process.

Runs in the environment that holds it: `python tests/oracles/home_assistant FOLDER PORT`. It prints
its tokens; then each line of its input is a step, and its outcome is told.
"""

import asyncio
import importlib
import json
import logging
import sys
import types
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

# Sound has libraries of its own, which not every machine has; nothing here makes a sound
for _name, _parts in (("pymicro_vad", ("MicroVad",)), ("pyspeex_noise", ("AudioProcessor",))):
    _silent = types.ModuleType(_name)
    for _part in _parts:
        setattr(_silent, _part, type(_part, (), {}))
    sys.modules.setdefault(_name, _silent)

import voluptuous as vol  # noqa: E402 - after the silent libraries
from homeassistant import auth, bootstrap, loader  # noqa: E402 - after the silent libraries
from homeassistant.auth.const import GROUP_ID_ADMIN, GROUP_ID_USER  # noqa: E402 - as above
from homeassistant.auth.models import TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN  # noqa: E402 - as above
from homeassistant.components import conversation  # noqa: E402 - as above
from homeassistant.components.mqtt.schemas import MQTT_ORIGIN_INFO_SCHEMA  # noqa: E402 - as above
from homeassistant.components.sensor.const import (  # noqa: E402 - as above
    DEVICE_CLASS_STATE_CLASSES,
    DEVICE_CLASS_UNITS,
)
from homeassistant.components.wyoming.conversation import (  # noqa: E402 - as above
    WyomingConversationEntity,
)
from homeassistant.components.wyoming.data import WyomingService  # noqa: E402 - as above
from homeassistant.config_entries import (  # noqa: E402 - as above
    ConfigEntries,
    ConfigEntry,
    ConfigEntryState,
)
from homeassistant.core import Context, HomeAssistant  # noqa: E402 - as above
from homeassistant.helpers import area_registry, entity_registry  # noqa: E402 - as above
from homeassistant.setup import async_setup_component  # noqa: E402 - as above

_LAMP = {"entity_id": "input_boolean.lamp"}
_ON = {"service": "input_boolean.turn_on", "target": _LAMP}
_OFF = {"service": "input_boolean.turn_off", "target": _LAMP}
_IS_ON = "{{ is_state('input_boolean.lamp', 'on') }}"
_BOLT = {"entity_id": "input_boolean.bolt"}
# In this order: what a later one needs is there by then
_PARTS = ("homeassistant", "http", "api", "config", "input_boolean", "light", "lock", "cover")


def _configuration(port: int) -> dict[str, Any]:
    lights = {
        "desk": {"value_template": _IS_ON, "turn_on": _ON, "turn_off": _OFF, "unique_id": "desk"},
        # It says that it was switched, and was not
        "stuck": {"value_template": "{{ false }}", "turn_on": [], "turn_off": []},
    }
    lock = {
        "platform": "template",
        "name": "Front door",
        "value_template": "{{ is_state('input_boolean.bolt', 'on') }}",
        "lock": {"service": "input_boolean.turn_on", "target": _BOLT},
        "unlock": {"service": "input_boolean.turn_off", "target": _BOLT},
    }
    garage = {"value_template": _IS_ON, "open_cover": _ON, "close_cover": _OFF}
    return {
        "homeassistant": {},
        "http": {"server_host": ["127.0.0.1"], "server_port": port},
        "api": {},
        "config": {},
        "input_boolean": {"lamp": {"name": "Lamp"}, "bolt": {"name": "Bolt", "initial": True}},
        "light": [{"platform": "template", "lights": lights}],
        "lock": [lock],
        "cover": [{"platform": "template", "covers": {"garage": garage}}],
    }


async def _token(hass: HomeAssistant, name: str, group: str) -> str:
    user = await hass.auth.async_create_user(name, group_ids=[group])
    refresh = await hass.auth.async_create_refresh_token(
        user,
        client_name=name,
        token_type=TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN,
        access_token_expiration=timedelta(days=1),
    )
    return str(hass.auth.async_create_access_token(refresh))


async def _started(folder: str, port: int) -> HomeAssistant:
    hass = HomeAssistant(folder)
    hass.config.skip_pip = True
    hass.config_entries = ConfigEntries(hass, {})
    loader.async_setup(hass)
    await bootstrap.async_load_base_functionality(hass)
    hass.auth = await auth.auth_manager_from_config(hass, [], [])
    configuration = _configuration(port)
    for part in _PARTS:
        assert await async_setup_component(hass, part, configuration), part
    await hass.async_block_till_done()
    area = area_registry.async_get(hass).async_create("Office")
    entity_registry.async_get(hass).async_update_entity("light.desk", area_id=area.id)
    await hass.async_start()
    return hass


async def _say(
    hass: HomeAssistant, port: int, text: str, talk: str | None = None
) -> dict[str, Any]:
    """Say it as Home Assistant does, by its own integration."""
    service = await WyomingService.create("127.0.0.1", port)
    assert service is not None
    entry = types.SimpleNamespace(entry_id="entry")
    entity = WyomingConversationEntity(entry, service)
    entity.hass = hass
    asked = conversation.ConversationInput(
        text=text,
        context=Context(),
        conversation_id=talk,
        device_id=None,
        language="en",
        agent_id="conversation.barnacle",
    )
    result = await entity.async_process(asked)
    told = result.as_dict()
    return {
        "name": entity.name if isinstance(entity.name, str) else entity._attr_name,
        "languages": entity.supported_languages,
        "type": told["response"]["response_type"],
        "speech": told["response"]["speech"].get("plain", {}).get("speech", ""),
        "conversation": told["conversation_id"],
    }


async def _validate(hass: HomeAssistant, messages: dict[str, Any]) -> dict[str, Any]:
    """Return what the schemas of its MQTT platforms find wrong with discovery messages."""
    del hass
    wrong = {}
    for topic, payload in messages.items():
        _, kind, _ = topic.split("/", 2)
        platform = importlib.import_module(f"homeassistant.components.mqtt.{kind}")
        origin = payload.pop("origin")
        with _Complaints() as heard:
            try:
                MQTT_ORIGIN_INFO_SCHEMA(origin)
                platform.DISCOVERY_SCHEMA(dict(payload))
                # The strict one: that of discovery removes whatever it does not know
                checked = platform.PLATFORM_SCHEMA_MODERN(payload)
            except vol.Invalid as err:
                heard.said.append(str(err))
            else:
                heard.said += _odd(kind, checked)
        if heard.said:
            wrong[topic] = heard.said
    return wrong


def _odd(kind: str, checked: dict[str, Any]) -> list[str]:
    """Return what a sensor's class does not allow."""
    about = checked.get("device_class")
    if kind != "sensor" or about is None:
        return []
    units = DEVICE_CLASS_UNITS.get(about, {None})
    unit = checked.get("unit_of_measurement")
    classes = DEVICE_CLASS_STATE_CLASSES.get(about, set())
    state = checked.get("state_class")
    return [
        *([f"{about} is not measured in {unit}"] if unit not in units else []),
        *([f"{about} has no state of class {state}"] if state and state not in classes else []),
    ]


class _Complaints(logging.Handler):
    """Collects what is warned of meanwhile, beside what its user adds."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)


async def _join(hass: HomeAssistant, port: int) -> dict[str, Any]:
    """Use a broker from now on, as an owner sets it up."""
    assert await async_setup_component(hass, "file_upload", {})
    entry = ConfigEntry(
        data={"broker": "127.0.0.1", "port": port},
        discovery_keys=MappingProxyType({}),
        domain="mqtt",
        minor_version=2,
        options={},
        source="user",
        subentries_data=None,
        title="broker",
        unique_id=None,
        version=1,
    )
    await hass.config_entries.async_add(entry)
    return {"is_loaded": entry.state is ConfigEntryState.LOADED}


async def _look(hass: HomeAssistant) -> dict[str, Any]:
    """Return the entities that came by MQTT, by name."""
    await hass.async_block_till_done()
    registry = entity_registry.async_get(hass)
    found = {}
    for entity in registry.entities.values():
        state = hass.states.get(entity.entity_id)
        if entity.platform != "mqtt" or state is None:
            continue
        found[f"{entity.domain} {entity.original_name}"] = {
            "entity": entity.entity_id,
            "state": state.state,
            "class": entity.original_device_class,
            "category": entity.entity_category,
            "attributes": json.loads(json.dumps(dict(state.attributes), default=str)),
        }
    return found


async def _call(
    hass: HomeAssistant, domain: str, service: str, data: dict[str, Any]
) -> dict[str, Any]:
    """Call a service, as a button of its page does."""
    await hass.services.async_call(domain, service, data, blocking=True)
    return {}


_STEPS = {"say": _say, "validate": _validate, "join": _join, "look": _look, "call": _call}


async def _main(folder: str, port: str) -> None:
    hass = await _started(folder, int(port))
    tokens = {
        "token": await _token(hass, "barnacle", GROUP_ID_ADMIN),
        "plain_token": await _token(hass, "guest", GROUP_ID_USER),
    }
    print(json.dumps(tokens), flush=True)  # noqa: T201 - what its caller waits for
    while line := await asyncio.to_thread(sys.stdin.readline):
        step = json.loads(line)
        told = await _STEPS[step.pop("do")](hass, **step)
        print(json.dumps(told), flush=True)  # noqa: T201 - as above
    await hass.async_stop(force=True)


# Some integrations look there for more
Path(sys.argv[1], "configuration.yaml").touch()
asyncio.run(_main(*sys.argv[1:]))
