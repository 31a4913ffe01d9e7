"""Tool that writes to a paired person on any channel.

Who that is say the addressees alone: no number, address or chat that a model names is written to.
"""

from collections.abc import Sequence
from typing import Annotated, Protocol

from msgspec import Meta, Struct
from msgspec.structs import replace

from agent.errors import BadArguments
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, configured, echo, fields, own
from agent.security.act import Dependence, Pattern
from agent.security.shares import NOTHING_PRIVATE
from agent.text.printable import printable_line
from agent.tools.base import Arguments, Tool, ToolContext

MAX_TEXT_CHARS = 4000
# Of those who could be meant, in an error
_MAX_NAMED = 20
_MAX_NAME_CHARS = 64
NOBODY = "nobody is paired who can get messages; the owner pairs people"


class Addressee(Struct, frozen=True):
    """A person who may be written to.

    Args:
        name: what they are called here; no two have the same.
    """

    name: str
    channel: str
    target: str


class Addressees(Protocol):
    """List of the people whom the owner let in."""

    def everyone(self) -> Sequence[Addressee]:
        """Return the current addressees."""


class TextSender(Protocol):
    """Keeps a text and sends it."""

    async def __call__(self, to: Addressee, text: str) -> bool:
        """Return true if it is on its way; false if it waits for the channel.

        Raises:
            StorageFull: it could not be kept.
        """


class NobodyPaired:
    """Empty list of addressees."""

    def everyone(self) -> Sequence[Addressee]:
        return ()


class SendArguments(Arguments, frozen=True):
    """Addressee and text."""

    to: Annotated[str, Meta(description="Name of a paired person", max_length=_MAX_NAME_CHARS)]
    text: Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_CHARS)]


class SendMessageTool(Tool[SendArguments]):
    """Sends a text that is not an answer."""

    reads = Provenance.WEB
    name = "send_message"
    description = own("Write to another paired person, or to one on another channel.")
    effect = Effect.NETWORK
    shown = NOTHING_PRIVATE
    arguments_type = SendArguments

    def __init__(self, addressees: Addressees, post: TextSender) -> None:
        self._addressees = addressees
        self._post = post

    def parse(self, arguments_json: str) -> SendArguments:
        """Parse the arguments; raise BadArguments also for an unknown name."""
        arguments = super().parse(arguments_json)
        # By their own name, which the owner's rules know them by
        return replace(arguments, to=self._find(arguments.to).name)

    def in_words(self, arguments: SendArguments) -> str:
        to = self._find(arguments.to)
        where = printable_line(f"{to.channel} ({to.target})", _MAX_NAME_CHARS * 2)
        return f"write to {printable_line(to.name, _MAX_NAME_CHARS)} on {where}"

    def binds_to(self, arguments: SendArguments) -> Dependence:
        """Bind the approval to the address: a name that leads elsewhere is another act."""
        to = self._find(arguments.to)
        return Dependence(environment={"channel": to.channel, "target": to.target})

    def always_for(self, arguments: SendArguments) -> Pattern:
        to = self._find(arguments.to)
        fixed = {"channel": to.channel, "target": to.target}
        return Pattern(fixed, f"any message to {to.name} on {to.channel}")

    async def execute(self, arguments: SendArguments, context: ToolContext) -> ToolResult:
        to = self._find(arguments.to)
        is_on_its_way = await self._post(to, arguments.text)
        channel = configured(to.channel)
        state = own("on its way") if is_on_its_way else own("kept until {} is connected", channel)
        return ToolResult.done(fields({"to": echo(to.name), "channel": channel, "state": state}))

    def _find(self, name: str) -> Addressee:
        everyone = self._addressees.everyone()
        if not everyone:
            raise BadArguments(own(NOBODY))
        for one in everyone:
            if one.name.casefold() == name.casefold().strip():
                return one
        known = ", ".join(one.name for one in everyone[:_MAX_NAMED])
        raise BadArguments(f"nobody is called {name!r}; there are {known}")
