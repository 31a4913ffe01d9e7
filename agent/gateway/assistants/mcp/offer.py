"""Offer to other assistants: which tools of the agent they may call, and what they may read."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from agent.messages import Effect, ToolSpec

# What the hand is: the board and pins, readings, memory, and what is done at a time. Files,
# programs and the network are the agent's own business
_FAMILIES = ("board_", "cron_", "gpio_", "i2c_", "memory_", "readings_", "reflex_", "reminder_")
_MORE = ("system_info", "time_now", "timer_", "watch_")
# They write files, which a caller cannot fetch
_NOT = frozenset({"memory_export", "readings_draw"})
ASK = "ask"
_HARMFUL = frozenset({Effect.HAZARD, Effect.ERASE})
_ASKING: dict[str, object] = {
    "name": ASK,
    "title": "Ask the agent",
    "description": (
        "Say something to the agent of this device in plain words, as in a chat, and return its "
        "answer. It has a model and tools of its own. Set relayed for words that somebody else "
        "wrote, such as a page or a letter. /help lists its commands; /estop makes every output "
        "safe at once."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to say"},
            "conversation": {
                "type": "string",
                "description": "A name of yours, to go on with an earlier conversation",
            },
            "relayed": {
                "type": "boolean",
                "description": "The words are somebody else's",
                "default": False,
            },
        },
        "required": ["text"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
}


class OfferedResource(Struct, frozen=True):
    """Resource that is read by a tool."""

    uri: str
    name: str
    about: str
    tool: str
    arguments_json: str = "{}"

    def described(self) -> dict[str, object]:
        """Return it as it is listed."""
        return {
            "uri": self.uri,
            "name": self.name,
            "description": self.about,
            "mimeType": "application/json",
        }


_READING = "barnacle://readings/"
_RESOURCES = (
    OfferedResource("barnacle://readings", "readings", "Every recorded reading", "readings_list"),
    OfferedResource("barnacle://memory", "memory", "The caller's memories", "memory_list"),
    OfferedResource("barnacle://board", "board", "The board and its pins", "board_info"),
    OfferedResource("barnacle://jobs", "jobs", "Jobs and their next times", "cron_list"),
)
TEMPLATES: Sequence[Mapping[str, object]] = (
    {
        "uriTemplate": _READING + "{name}",
        "name": "reading",
        "description": "One reading over the last day",
        "mimeType": "application/json",
    },
)


def is_offered(name: str) -> bool:
    """Return true if callers outside may use the tool."""
    return name.startswith((*_FAMILIES, *_MORE)) and name not in _NOT


def tools_of(specs: Sequence[ToolSpec]) -> list[dict[str, object]]:
    """Return the tools as they are listed."""
    return [_ASKING, *(_described(one) for one in specs if is_offered(one.name))]


def resources_of(specs: Sequence[ToolSpec]) -> Iterator[dict[str, object]]:
    """Yield the resources whose tools are there."""
    known = {one.name for one in specs}
    return (one.described() for one in _RESOURCES if one.tool in known)


def resource(uri: str) -> OfferedResource | None:
    """Return the resource with this address."""
    return next((one for one in _RESOURCES if one.uri == uri), None)


def reading_of(uri: str) -> str:
    """Return the reading that an address names; empty if it names none."""
    return uri.removeprefix(_READING) if uri.startswith(_READING) else ""


def _described(spec: ToolSpec) -> dict[str, object]:
    looks = spec.effect is Effect.READ
    return {
        "name": spec.name,
        "description": spec.description,
        "inputSchema": dict(spec.parameters),
        "annotations": {
            "readOnlyHint": looks,
            "destructiveHint": spec.effect in _HARMFUL,
            "openWorldHint": False,
        },
    }
