"""What every tool has in common: typed arguments, an effect, a result that is never an exception.

A tool does not decide whether it may run: the gate does, before `execute` is reached.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from agent.errors import BadArguments
from agent.memory.base import FROM_CHAT
from agent.messages import Address, Effect, Provenance, ToolResult, ToolSpec
from agent.passage import Passage, echo, own
from agent.security.access import AT_THE_DEVICE, Audience
from agent.security.binding import NOTHING, Dependence, Pattern
from agent.security.shares import NOTHING_SHARED, Disclosure, Shares, owners
from agent.tools.schema import parameters_of

if TYPE_CHECKING:
    from agent.tools.inquiry import Inquire
    from agent.tools.nested import Nested

# Longest arguments a model may write: as long as a whole answer may be
MAX_ARGUMENTS_BYTES = 1024 * 1024


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every tool's arguments; its fields become the schema that a model sees."""

    def by_name(self) -> dict[str, object]:
        """As the owner's rules see them."""
        plain: dict[str, object] = msgspec.to_builtins(self)
        return plain


class NoArguments(Arguments, frozen=True):
    """For tools that take nothing."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom a tool runs.

    Args:
        person: whose memories and files are meant; the same person on every channel.
        provenance: the lowest trust of anything read in this turn so far.
        source: where the least trusted of it came from.
        nested: the way to another agent within this turn; None where there is none.
        inquire: the way to the person's own words; None where there is none.
        place: where the conversation is; None in a job's own.
        is_group: others are there too.
        audience: everybody who reads the answer.
        shares: what the owner says is shared.
        holds_private: something that is not everybody's was read for this turn.
    """

    conversation: str
    person: str
    provenance: Provenance
    source: str = FROM_CHAT
    nested: "Nested | None" = field(default=None, compare=False, repr=False)
    inquire: "Inquire | None" = field(default=None, compare=False, repr=False)
    place: Address | None = None
    is_group: bool = False
    audience: Audience = AT_THE_DEVICE
    shares: Shares = NOTHING_SHARED
    holds_private: bool = False

    @property
    def group(self) -> str | None:
        """The group that the conversation is in."""
        return self.place.chat if self.place is not None and self.is_group else None


A = TypeVar("A", bound=Arguments)


class Tool(ABC, Generic[A]):
    """Something a model may ask for.

    Args:
        reads: the least trusted words that any result or failure of it may carry; OWNER where it
            reads nothing from outside. Every tool declares it: there is no default.
    """

    name: str
    description: Passage
    effect: Effect
    reads: Provenance
    arguments_type: type[A]
    # It shows parts of a whole that it can go on with: a long result of it is kept nowhere else
    reads_on = False
    # What it shows of whose data; a tool that says nothing shows the owner's
    shown: Disclosure = owners("what this tool knows")
    # A look of it is sent to somebody outside
    sends_out = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not isinstance(getattr(cls, "reads", None), Provenance):
            raise TypeError(f"{cls.__name__} does not declare what it reads: set `reads`")

    @abstractmethod
    async def execute(self, arguments: A, context: ToolContext) -> ToolResult:
        """Do it; what goes wrong in an expected way is a result with `success=False`."""

    def effect_of(self, arguments: A) -> Effect:
        """What this very call can do; a tool whose arguments matter says more than `effect`."""
        del arguments
        return self.effect

    def in_words(self, arguments: A) -> str:
        """What this very call does, for a person who is asked; empty where the arguments say it."""
        del arguments
        return ""

    def shows(self, arguments: A) -> Disclosure:
        """Return whose data this very call shows; one whose arguments matter says more."""
        del arguments
        return self.shown

    def binds_to(self, arguments: A) -> Dependence:
        """What a yes to this call is bound to besides its arguments: folder, files, environment."""
        del arguments
        return NOTHING

    def always_for(self, arguments: A) -> Pattern | None:
        """Which calls an "always" to this one is for; None is the very same call."""
        del arguments
        return None

    def spec(self) -> ToolSpec:
        return ToolSpec(
            self.name, self.description, parameters_of(self.arguments_type), self.effect
        )

    def parse(self, arguments_json: str) -> A:
        """Typed arguments.

        Raises:
            BadArguments: with the path of what does not fit, for the model to repair.
        """
        if len(arguments_json.encode(errors="replace")) > MAX_ARGUMENTS_BYTES:
            raise BadArguments(own("the arguments are longer than {} bytes", MAX_ARGUMENTS_BYTES))
        try:
            return msgspec.json.decode(arguments_json or "{}", type=self.arguments_type)
        except (msgspec.DecodeError, UnicodeError) as err:
            # It names the schema, which the model was shown, and what the model wrote
            raise BadArguments(echo(str(err))) from err
        except RecursionError as err:
            raise BadArguments(own("the arguments are nested too deeply")) from err


# A registry holds tools of every argument type; only `parse` and `execute` of one tool meet
AnyTool = Tool[Any]
