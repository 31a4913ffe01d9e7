"""Offer to other assistants: which tools of the agent they may call, and what they may read."""

import json
from collections.abc import Sequence
from urllib.parse import unquote

from msgspec import Struct

from agent.gateway.assistants.mcp.content import JSON
from agent.messages import Effect, ToolSpec

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
    """Resource, or a template of resources, that is read by a tool.

    Args:
        uri: in that of a template one argument of the tool stands in braces.
        media: of what is read; words that are no plain text are JSON.
    """

    uri: str
    name: str
    about: str
    tool: str
    arguments_json: str = "{}"
    media: str = JSON

    @property
    def is_template(self) -> bool:
        return "{" in self.uri

    def described(self) -> dict[str, object]:
        """Return it as it is listed."""
        return {
            "uriTemplate" if self.is_template else "uri": self.uri,
            "name": self.name,
            "description": self.about,
            "mimeType": self.media,
        }

    def arguments_for(self, uri: str) -> dict[str, object] | None:
        """Return the tool's arguments that an address stands for; None if it is another's."""
        arguments: dict[str, object] = json.loads(self.arguments_json)
        before, _, rest = self.uri.partition("{")
        name, _, after = rest.partition("}")
        if not self.is_template:
            return arguments if uri == self.uri else None
        value = uri.removeprefix(before).removesuffix(after)
        if uri != f"{before}{value}{after}" or not value or "/" in value:
            return None
        return {**arguments, name: unquote(value)}


class Offer(Struct, frozen=True):
    """Offer: the beginnings of the tools' names, and the resources."""

    families: tuple[str, ...]
    resources: tuple[OfferedResource, ...]

    def has(self, name: str) -> bool:
        """Return true if callers outside may use the tool."""
        return name.startswith(self.families)

    def tools_of(self, specs: Sequence[ToolSpec]) -> list[dict[str, object]]:
        """Return the tools as they are listed."""
        return [_ASKING, *(_described(one) for one in specs if self.has(one.name))]

    def listed(
        self, specs: Sequence[ToolSpec], *, templates: bool = False
    ) -> list[dict[str, object]]:
        """Return the resources whose tools are there, or the templates of such."""
        known = {one.name for one in specs}
        return [
            one.described()
            for one in self.resources
            if one.tool in known and one.is_template is templates
        ]

    def found(self, uri: str) -> tuple[OfferedResource, dict[str, object]] | None:
        """Return the resource at an address and its tool's arguments; None if there is none."""
        for one in self.resources:
            if (arguments := one.arguments_for(uri)) is not None:
                return one, arguments
        return None


_READINGS = "barnacle://readings"
# What the hand is: the board and pins, readings, memory, and what is done at a time. Files,
# programs and the network are the agent's own business
OF_DEVICE = Offer(
    (
        *("board_", "cron_", "gpio_", "i2c_", "memory_", "readings_", "reflex_", "reminder_"),
        *("system_info", "time_now", "timer_", "watch_"),
    ),
    (
        OfferedResource(_READINGS, "readings", "Every recorded reading", "readings_list"),
        OfferedResource("barnacle://memory", "memory", "The caller's memories", "memory_list"),
        OfferedResource("barnacle://board", "board", "The board and its pins", "board_info"),
        OfferedResource("barnacle://jobs", "jobs", "Jobs and their next times", "cron_list"),
        OfferedResource(
            f"{_READINGS}/{{reading}}",
            "reading",
            "One reading over the last day",
            "readings_query",
            '{"hours": 24}',
        ),
        OfferedResource(
            f"{_READINGS}/{{reading}}/curve",
            "curve",
            "The curve of one reading over the last day; the owner is asked, as it makes a file",
            "readings_draw",
            '{"hours": 24}',
            "image/png",
        ),
    ),
)


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
