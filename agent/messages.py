"""The values that cross the agent's seams: all frozen, none knows where it is going.

Text in them is untrusted unless `Provenance` says otherwise. No I/O, no imports of ours.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Provenance(enum.IntEnum):
    """Where text came from, ordered by trust: the lowest one seen decides a turn."""

    # A page, a file or a person nobody vouched for
    WEB = 0
    # What a tool returned
    TOOL = 1
    # What a model concluded by itself
    MODEL = 2
    # A reading of our own board
    SENSOR = 3
    # A person whom the owner paired
    USER = 4
    # The person who owns the device
    OWNER = 5


class Effect(enum.Enum):
    """What a tool can do to the world; the gate decides by it."""

    # Looks, changes nothing
    READ = "read"
    # Changes files or memories of the agent
    WRITE = "write"
    # Moves an output that is harmless within its limits
    ACTUATE = "actuate"
    # Moves an output that can hurt somebody or something
    HAZARD = "hazard"
    # Starts a program
    EXECUTE = "execute"
    # Sends something over the network
    NETWORK = "network"
    # Costs money
    SPEND = "spend"
    # Deletes in number what cannot be brought back
    ERASE = "erase"


class Role(enum.Enum):
    """Who speaks in a message of a conversation."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Inbound:
    """A message from a person, as a channel understood it.

    Args:
        message_id: the platform's own id; with `channel` it is what duplicates are known by.
        sender: the platform's stable id of the person, never a display name.
        reply_target: where the answer goes (chat, room, group).
        received_at_s: seconds since the epoch.
    """

    message_id: str
    channel: str
    sender: str
    reply_target: str
    text: str
    received_at_s: float
    provenance: Provenance
    thread: str | None = None

    @property
    def conversation(self) -> str:
        """The key of the conversation that this message belongs to."""
        parts = [self.channel, self.reply_target, self.thread, self.sender]
        return "_".join(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class Outbound:
    """A message to a person; `outbox_id` is what its delivery is recorded by."""

    outbox_id: int
    channel: str
    recipient: str
    text: str
    in_reply_to: str
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to use a tool; `arguments_json` is text exactly as the model wrote it."""

    call_id: str
    name: str
    arguments_json: str


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool; `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, object]
    effect: Effect


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a tool call: failures are results too, never exceptions.

    Args:
        text: for the model; a JSON object where the result has fields.
        provenance: trust of the text; None when it carries no words from outside,
            such as a number with a unit from our own board.
        source: where its words come from (a URL, a file); empty when that has no name.
    """

    success: bool
    text: str
    provenance: Provenance | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Echo:
    """What a model service wants back word for word while its tool calls are answered.

    Thinking with its signature, for one. Only the wire format and model that sent it read it.
    """

    wire: str
    model: str
    content_json: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for a model; `data_base64` is the whole file."""

    media_type: str
    data_base64: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation with a model."""

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = field(default=())
    # Set on TOOL messages: which call this answers, and which tool gave it
    call_id: str = ""
    tool_name: str = ""
    # Set on TOOL messages: the text says what went wrong
    is_error: bool = False
    # Set on USER messages just before they are sent; a history holds markers in the text instead
    images: tuple[Image, ...] = field(default=())
    # Set on ASSISTANT messages of the turn that is going on, never kept in a history
    echo: Echo | None = None

    @classmethod
    def system(cls, text: str) -> "ChatMessage":
        return cls(Role.SYSTEM, text)

    @classmethod
    def user(cls, text: str) -> "ChatMessage":
        return cls(Role.USER, text)

    @classmethod
    def assistant(
        cls, text: str, tool_calls: tuple[ToolCall, ...] = (), echo: Echo | None = None
    ) -> "ChatMessage":
        return cls(Role.ASSISTANT, text, tool_calls, echo=echo)

    @classmethod
    def tool(cls, call: ToolCall, text: str, *, is_error: bool = False) -> "ChatMessage":
        return cls(Role.TOOL, text, call_id=call.call_id, tool_name=call.name, is_error=is_error)
