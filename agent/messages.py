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


class Whose(enum.Enum):
    """Whose words a message quotes, by what the platform itself says of them."""

    # Anybody's: nobody vouches for them
    ANYBODYS = "anybody"
    # Those of the one who quotes them
    SENDERS = "sender"
    # The agent's, which may have been told them
    AGENTS = "agent"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that comes or goes with a message.

    Args:
        path: a file of ours; what a platform calls it is never part of it.
        name: what its sender calls it, cleaned; only shown.
    """

    path: str
    media_type: str
    name: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """Where a person is reached; `message_id` is what is answered to, empty where nothing is."""

    channel: str
    target: str
    person: str
    thread: str | None = None
    message_id: str = ""

    @property
    def chat(self) -> str:
        """The chat as a whole, whoever is in it: what is remembered for a group is under it."""
        return f"{self.channel}:{self.target}"


@dataclass(frozen=True, slots=True)
class Inbound:
    """A message from a person, as a channel understood it.

    Args:
        message_id: the platform's own id; with `channel` it is what duplicates are known by.
        sender: the platform's stable id of the person, never a display name.
        reply_target: where the answer goes (chat, room, group).
        received_at_s: seconds since the epoch.
        provenance: WEB from every platform: who the sender is to us is not the platform's to say.
        is_group: others read the answer, and wrote what stands around the message.
        sender_name: what the sender is called there, cleaned; only shown.
        quoted: the message that this one answers, cleaned and capped; nobody's order.
        quoted_of: who wrote what is quoted.
        strand: begins a conversation of its own in the same place, such as a job's.
        sent_at_s: when the platform says it was written, seconds since the epoch; None for now.
        is_forwarded: the sender passes on what somebody else wrote.
        person: who the sender is to us, on whatever channel; only the door says it.
    """

    message_id: str
    channel: str
    sender: str
    reply_target: str
    text: str
    received_at_s: float
    provenance: Provenance
    thread: str | None = None
    is_group: bool = False
    sender_name: str = ""
    quoted: str = ""
    strand: str | None = None
    sent_at_s: float | None = None
    attachments: tuple[Attachment, ...] = ()
    is_forwarded: bool = False
    person: str = ""
    quoted_of: Whose = Whose.ANYBODYS

    @property
    def who(self) -> str:
        """Whose memories and orders these are, the same on every channel."""
        return self.person or self.sender

    @property
    def address(self) -> Address:
        """Where its answer goes."""
        return Address(self.channel, self.reply_target, self.sender, self.thread, self.answers)

    @property
    def answers(self) -> str:
        """The platform's message that its answer belongs to; empty where a person wrote none."""
        return "" if self.strand else self.message_id

    @property
    def conversation(self) -> str:
        """The key of the conversation that this message belongs to."""
        parts = [self.channel, self.reply_target, self.thread, self.strand, self.sender]
        return "_".join(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class Outbound:
    """A message to a person, or one part of it where a platform takes no longer ones.

    Args:
        outbox_id: what its delivery is recorded by.
        text: Markdown; the channel makes of it what its platform can show.
        part: 0 for the first; a draft of the answer becomes that one.
        files: go with the last part.
        was_left: whether an earlier try may have sent it, and nobody knows.
    """

    outbox_id: int
    channel: str
    recipient: str
    text: str
    in_reply_to: str
    thread: str | None = None
    part: int = 0
    files: tuple[Attachment, ...] = ()
    was_left: bool = field(default=False, compare=False)


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
