"""The real Home Assistant with a few entities, and its own voice integration, as one process.

Runs in the environment that holds it: `python tests/oracles/home_assistant FOLDER PORT`. It prints
its tokens; then each line of its input is a sentence for a Wyoming server, and the answer is told.
"""

import asyncio
import json
import sys
import types
from datetime import timedelta
from typing import Any

# Sound has libraries of its own, which not every machine has; nothing here makes a sound
for _name, _parts in (("pymicro_vad", ("MicroVad",)), ("pyspeex_noise", ("AudioProcessor",))):
    _silent = types.ModuleType(_name)
    for _part in _parts:
        setattr(_silent, _part, type(_part, (), {}))
    sys.modules.setdefault(_name, _silent)

from homeassistant import auth, bootstrap, loader  # noqa: E402 - after the silent libraries
from homeassistant.auth.const import GROUP_ID_ADMIN, GROUP_ID_USER  # noqa: E402 - as above
from homeassistant.auth.models import TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN  # noqa: E402 - as above
from homeassistant.components import conversation  # noqa: E402 - as above
from homeassistant.components.wyoming.conversation import (  # noqa: E402 - as above
    WyomingConversationEntity,
)
from homeassistant.components.wyoming.data import WyomingService  # noqa: E402 - as above
from homeassistant.config_entries import ConfigEntries  # noqa: E402 - as above
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


async def _said(hass: HomeAssistant, port: int, text: str, talk: str | None) -> dict[str, Any]:
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


async def _main(folder: str, port: str) -> None:
    hass = await _started(folder, int(port))
    tokens = {
        "token": await _token(hass, "barnacle", GROUP_ID_ADMIN),
        "plain_token": await _token(hass, "guest", GROUP_ID_USER),
    }
    print(json.dumps(tokens), flush=True)  # noqa: T201 - what its caller waits for
    while line := await asyncio.to_thread(sys.stdin.readline):
        wanted = json.loads(line)
        told = await _said(hass, wanted["port"], wanted["text"], wanted.get("conversation"))
        print(json.dumps(told), flush=True)  # noqa: T201 - as above
    await hass.async_stop(force=True)


asyncio.run(_main(*sys.argv[1:]))
