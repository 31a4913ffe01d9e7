"""Tools as the agent has them with a board: names, words, schemas, and results they would give."""

import json
from collections.abc import Mapping
from typing import Any

from agent.messages import Effect, ToolSpec


def spec(
    name: str,
    description: str,
    properties: Mapping[str, Any] | None = None,
    *,
    required: tuple[str, ...] | None = None,
    effect: Effect = Effect.READ,
) -> ToolSpec:
    properties = properties or {}
    return ToolSpec(
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
