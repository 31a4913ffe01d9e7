"""The values that cross the agent's seams: all frozen, none knows where it is going.

What a model is shown is a `Passage`, which has its origin in its type. No I/O.
"""

import enum
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from agent.passage import Passage

# Most know it from here
from agent.passage import Provenance as Provenance  # noqa: PLC0414


class Effect(enum.Enum):
    """Effect of a tool on the world; the gate decides by it."""

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
    """Speaker of a message in a conversation."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Whose(enum.Enum):
    """Author of quoted words, as the platform itself reports it."""

    # Anybody's: nobody vouches for them
    ANYBODYS = "anybody"
    # Those of the one who quotes them
    SENDERS = "sender"
    # The agent's, which may have been told them
    AGENTS = "agent"


class Attachment(Struct, frozen=True):
    """A file that comes or goes with a message.

    Args:
        path: a file of ours; what a platform calls it is never part of it.
        name: what its sender calls it, cleaned; only shown.
        place: its path in the workspace; empty while it is not there.
        is_voice: it goes as a voice message.
    """

    path: str
    media_type: str
    name: str = ""
    size_bytes: int = 0
    place: str = ""
    is_voice: bool = False


class Address(Struct, frozen=True):
    """Place where a person is reached; `message_id` is the message answered, empty for none."""

    channel: str
    target: str
    person: str
    thread: str | None = None
    message_id: str = ""

    @property
    def chat(self) -> str:
        """The chat as a whole, whoever is in it: what is remembered for a group is under it."""
        return f"{self.channel}:{self.target}"


class Inbound(Struct, frozen=True):
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
        subject: on one line, of a letter that says more; nobody's order.
        strand: begins a conversation of its own in the same place, such as a job's.
        sent_at_s: when the platform says it was written, seconds since the epoch; None for now.
        is_time_sure: false where `sent_at_s` is only the earliest time at which it may be written.
        is_forwarded: the sender passes on what somebody else wrote.
        person: who the sender is to us, on whatever channel; only the door says it.
        beside: what the program of the sender sent along, such as instructions; nobody's order.
        notes: what became of files that cannot be used, in sentences for the person; no orders.
        is_spoken: it was said aloud, and an engine wrote down the words.
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
    subject: str = ""
    beside: str = ""
    notes: tuple[str, ...] = ()
    is_spoken: bool = False
    is_time_sure: bool = True

    @property
    def is_only_notes(self) -> bool:
        """True if it says nothing but that it could not be had or heard."""
        is_silent = all(file.media_type.startswith("audio/") for file in self.attachments)
        return bool(self.notes) and not self.text.strip() and is_silent

    @property
    def who(self) -> str:
        """Return the person whose memories and orders these are, the same on every channel."""
        return self.person or self.sender

    @property
    def address(self) -> Address:
        """Return the address for the answer."""
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


# The number of what the journal does not keep, coming or going: there was no room, or a question
NOT_KEPT = 0


class Outbound(Struct, frozen=True):
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
    was_left: bool = False


class ToolCall(Struct, frozen=True):
    """A model's wish to use a tool; `arguments_json` is text exactly as the model wrote it."""

    call_id: str
    name: str
    arguments_json: str


class ToolSpec(Struct, frozen=True):
    """Description of a tool for a model; `parameters` is a JSON Schema of type object.

    Args:
        about: its trust is that of the name and the schema as well.
    """

    name: str
    about: Passage
    parameters: Mapping[str, object]
    effect: Effect

    @property
    def description(self) -> str:
        return self.about.text


class ToolResult(Struct, frozen=True):
    """Result of a tool call: failures are results too, never exceptions.

    Args:
        words: for the model; a JSON object where the result has fields.
        files: paths in the workspace of what this very call made for whoever asked.
    """

    success: bool
    words: Passage
    files: tuple[str, ...] = ()

    @classmethod
    def done(cls, words: Passage, files: tuple[str, ...] = ()) -> "ToolResult":
        return cls(success=True, words=words, files=files)

    @classmethod
    def failed(cls, words: Passage) -> "ToolResult":
        return cls(success=False, words=words)

    @property
    def text(self) -> str:
        return self.words.text

    @property
    def provenance(self) -> Provenance:
        return self.words.provenance

    @property
    def source(self) -> str:
        return self.words.source

    def saying(self, text: str) -> "ToolResult":
        """Another text that was made of this one alone; as little trusted."""
        return replace(self, words=self.words.saying(text))


class Echo(Struct, frozen=True):
    """Data that a model service wants back word for word while its tool calls are answered.

    Thinking with its signature, for one. Only the wire format and model that sent it read it.
    """

    wire: str
    model: str
    content_json: str


class Image(Struct, frozen=True):
    """A picture for a model; `data_base64` is the whole file."""

    media_type: str
    data_base64: str


class ChatMessage(Struct, frozen=True):
    """One message of a conversation with a model."""

    role: Role
    words: Passage
    tool_calls: tuple[ToolCall, ...] = ()
    # Set on TOOL messages: which call this answers, and which tool gave it
    call_id: str = ""
    tool_name: str = ""
    # Set on TOOL messages: the text says what went wrong
    is_error: bool = False
    # Set on USER messages just before they are sent; a history holds markers in the text instead
    images: tuple[Image, ...] = ()
    # Set on ASSISTANT messages of the turn that is going on, never kept in a history
    echo: Echo | None = None
    # A memory below the owner's trust stands in it, or stood beside it when it was said
    is_recalled: bool = False
    # Set on USER messages that are our own within a turn, never kept in a history
    is_aside: bool = False

    @property
    def text(self) -> str:
        return self.words.text

    @property
    def begins_turn(self) -> bool:
        """Return true for what a person said."""
        return self.role is Role.USER and not self.is_aside

    def saying(self, text: str) -> "ChatMessage":
        """Another text that was made of this one alone; as little trusted."""
        return replace(self, words=self.words.saying(text))

    @classmethod
    def system(cls, words: Passage) -> "ChatMessage":
        return cls(Role.SYSTEM, words)

    @classmethod
    def user(cls, words: Passage) -> "ChatMessage":
        return cls(Role.USER, words)

    @classmethod
    def assistant(
        cls, words: Passage, tool_calls: tuple[ToolCall, ...] = (), echo: Echo | None = None
    ) -> "ChatMessage":
        return cls(Role.ASSISTANT, words, tool_calls, echo=echo)

    @classmethod
    def tool(cls, call: ToolCall, words: Passage, *, is_error: bool = False) -> "ChatMessage":
        return cls(Role.TOOL, words, call_id=call.call_id, tool_name=call.name, is_error=is_error)
