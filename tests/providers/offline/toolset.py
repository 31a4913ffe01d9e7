"""Tools as the agent has them with a board: names, words, schemas, and results they would give."""

import json
from collections.abc import Mapping
from typing import Any

from agent.messages import Effect, ToolSpec
from tests.fakes.said import spec_of


def spec(
    name: str,
    description: str,
    properties: Mapping[str, Any] | None = None,
    *,
    required: tuple[str, ...] | None = None,
    effect: Effect = Effect.READ,
) -> ToolSpec:
    properties = properties or {}
    return spec_of(
        name,
        description,
        {
            "type": "object",
            "properties": properties,
            "required": list(properties if required is None else required),
            "additionalProperties": False,
        },
        effect,
    )


def choice(*names: str) -> dict[str, Any]:
    return {"enum": list(names)}


GPIO_WRITE = spec(
    "board_gpio_write",
    "Set an output; it returns to its safe value when the lease ends.",
    {"pin": choice("led", "pump", "relay"), "value": choice("off", "on")},
    effect=Effect.ACTUATE,
)
GPIO_READ = spec(
    "board_gpio_read",
    "Read a pin as on or off.",
    {"pin": choice("led", "pump", "relay", "button")},
)
ADC_READ = spec(
    "board_adc_read",
    "Read a voltage.",
    {"pin": choice("a0", "moisture", "light")},
)
MCU_TEMPERATURE = spec("board_mcu_temperature", "The microcontroller's own temperature.")
BOARD_INFO = spec("board_info", "What board is connected, its state, its pins and what it can do.")
MEMORY_STORE = spec(
    "memory_store",
    "Remember something for good, when the person asks for it or tells a lasting fact.",
    {
        "content": {"type": "string", "minLength": 1, "maxLength": 8000},
        "key": {"type": "string", "default": ""},
        "category": {"enum": ["core", "daily", "conversation"], "default": "core"},
    },
    required=("content",),
    effect=Effect.WRITE,
)
MEMORY_RECALL = spec(
    "memory_recall",
    "Search what was remembered earlier; an empty query lists the newest.",
    {
        "query": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
    },
    required=("query",),
)
MEMORY_FORGET = spec(
    "memory_forget",
    "Forget one memory by its key.",
    {"key": {"type": "string"}},
    effect=Effect.WRITE,
)
TIME_NOW = spec("time_now", "The date and the time of day where the device is.")
SYSTEM_INFO = spec(
    "system_info",
    "How this computer is doing: load, memory, disk, temperature, throttling, uptime.",
)
FILE_LIST = spec(
    "file_list",
    "List a folder of the workspace.",
    {"path": {"type": "string", "default": "."}},
    required=(),
)
FILE_READ = spec(
    "file_read",
    "Read lines of a text file in the workspace.",
    {
        "path": {"type": "string"},
        "first_line": {"type": "integer", "minimum": 1, "default": 1},
        "lines": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 200},
    },
    required=("path",),
)
FILE_WRITE = spec(
    "file_write",
    "Write a text file in the workspace; an existing one is replaced.",
    {"path": {"type": "string"}, "content": {"type": "string"}},
    effect=Effect.WRITE,
)

BOARD = (GPIO_WRITE, GPIO_READ, ADC_READ, MCU_TEMPERATURE, BOARD_INFO)
AGENT = (
    MEMORY_STORE,
    MEMORY_RECALL,
    MEMORY_FORGET,
    TIME_NOW,
    SYSTEM_INFO,
    FILE_LIST,
    FILE_READ,
    FILE_WRITE,
)
TOOLS = (*BOARD, *AGENT)


def compact(result: Mapping[str, Any]) -> str:
    return json.dumps(result, ensure_ascii=False, separators=(",", ":"))


# What boards and agents with more to them have besides
FAN = spec(
    "board_pwm_write",
    "Set an output's share of on-time. Frequency 0 keeps the one it has.",
    {
        "pin": choice("strip", "fan"),
        "frequency": {"type": "integer", "minimum": 0, "maximum": 20000, "description": "in Hz"},
        "duty": {"type": "number", "minimum": 0, "maximum": 100, "description": "in %"},
    },
    effect=Effect.ACTUATE,
)
HEATER = spec(
    "board_heater_set",
    "Set the temperature to heat to.",
    {"temperature": {"type": "number", "minimum": 5, "maximum": 30, "description": "in °C"}},
    effect=Effect.ACTUATE,
)
PULSE = spec(
    "board_pulse",
    "Switch an output on for a time.",
    {
        "pin": choice("led", "pump"),
        "duration": {"type": "integer", "minimum": 1, "maximum": 60000, "description": "in ms"},
    },
    effect=Effect.ACTUATE,
)
SERVO = spec(
    "board_servo_write",
    "Turn a servo to an angle; -1 releases it.",
    {
        "pin": choice("servo"),
        "angle": {"type": "number", "minimum": -1, "maximum": 180, "description": "in °"},
    },
    effect=Effect.ACTUATE,
)
CLIMATE = spec(
    "board_climate_read",
    "Measure temperature and relative humidity, and air pressure where it can.",
    {"pin": choice("climate")},
)
FORGET = spec(
    "memory_forget",
    "Delete a memory for good, or everything that came from one source.",
    {"key": {"type": "string"}, "source": {"type": "string"}},
    required=(),
    effect=Effect.WRITE,
)
MEMORY_LIST = spec(
    "memory_list",
    "List what is remembered of this person, with its sources.",
    {"source": {"type": "string"}},
    required=(),
)
MEMORY_SOURCE = spec(
    "memory_source", "Tell who said a memory, where and when.", {"key": {"type": "string"}}
)
DATASHEETS = spec(
    "datasheet_search",
    "Search the datasheets and notes that the owner put into the documents folder.",
    {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": 20}},
    required=("query",),
)
WATCH_ADD = spec(
    "watch_add",
    "Watch a reading of the board from now on: tell the owner when it goes above or below a limit.",
    {
        "name": {"type": "string"},
        "pin": {"type": "string"},
        "above": {"type": "number"},
        "below": {"type": "number"},
        "becomes": {"type": "string"},
        "say": {"type": "string"},
    },
    required=("name", "pin"),
    effect=Effect.WRITE,
)
WATCH_LIST = spec("watch_list", "What is being watched for the owner.")
WATCH_REMOVE = spec(
    "watch_remove", "Stop a watch by its name.", {"name": {"type": "string"}}, effect=Effect.WRITE
)
RICH = (
    *(tool for tool in TOOLS if tool is not MEMORY_FORGET),
    *(FAN, HEATER, PULSE, SERVO, CLIMATE, FORGET, MEMORY_LIST, MEMORY_SOURCE, DATASHEETS),
    *(WATCH_ADD, WATCH_LIST, WATCH_REMOVE),
)

_MEMORY = {
    "key": "k1",
    "content": "my sister is called Mei · 我妹妹叫小美 · 妹の名前はメイ · 내 여동생 이름은 메이 · "
    "meine Schwester heißt Mei · mi hermana se llama Mei",
    "provenance": "owner",
    "date": "2026-11-20",
}
RICH_RESULTS: dict[str, Any] = {
    "board_gpio_write": dict,
    "board_pwm_write": dict,
    "board_servo_write": dict,
    "board_heater_set": lambda arguments: {"value": arguments["temperature"], "unit": "°C"},
    "board_mcu_temperature": {"value": 24.5, "unit": "°C"},
    "memory_recall": {"memories": [_MEMORY]},
    "memory_list": {"memories": [_MEMORY]},
    "file_read": {"path": "notes.txt", "text": "turn on the pump"},
    "watch_list": {"watches": []},
}
